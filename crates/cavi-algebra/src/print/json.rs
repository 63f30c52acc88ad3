//! A derivation as JSON: every expression as text, as LaTeX and as a tree.
//!
//! The layout is described where the command line shows it, in `crates/cavi-cli/src/derivation_json.md`; [`VERSION`]
//! counts its changes.

use std::fmt::Write as _;

use crate::equations::{Ascent, Block, Mode, Natural};
use crate::expression::{Expression, Subscript};
use crate::statistic::Elementary;
use crate::sum_of_products::{Atom, Factor, Moment, Sum, Term};
use crate::symbols::{ArrayId, AuxiliaryId, AxisId, BlockId, LetterId, SiteId, StatementId, Symbols};

use super::build::Builder;
use super::counts::Counts;
use super::derivation::Derivation;
use super::left_out::Masses;
use super::node::Node;
use super::overview::Line;
use super::standard::{Formula, Shown};
use super::sweep::{SweepItem, SweepStep};
use super::{Format, latex, text};

/// The version of the layout: it rises when a key changes its meaning or goes.
pub const VERSION: u32 = 1;

/// A JSON value. Numbers are shortest round-trip decimals; infinite ones are strings.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// Keys and values, in this order.
    Object(Vec<(String, Json)>),
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Text(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Json {
        Json::Text(text)
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Json {
        Json::Bool(value)
    }
}

impl From<u32> for Json {
    fn from(value: u32) -> Json {
        Json::Number(f64::from(value))
    }
}

impl From<usize> for Json {
    fn from(value: usize) -> Json {
        Json::Number(value as f64)
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Json {
        value.map_or(Json::Null, Into::into)
    }
}

fn object<const N: usize>(entries: [(&str, Json); N]) -> Json {
    Json::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn list<T: Into<Json>>(items: impl IntoIterator<Item = T>) -> Json {
    Json::List(items.into_iter().map(Into::into).collect())
}

impl std::fmt::Display for Json {
    /// Two spaces a level; a list or an object without lists or objects in it stands on one line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::new();
        write(self, 0, &mut out);
        f.write_str(&out)
    }
}

fn write(value: &Json, depth: usize, out: &mut String) {
    let flat = |value: &Json| !matches!(value, Json::List(_) | Json::Object(_));
    let mut block = |open: char, close: char, entries: &[(Option<&String>, &Json)]| {
        let one_line = entries.iter().all(|(_, value)| flat(value));
        out.push(open);
        for (position, (key, value)) in entries.iter().enumerate() {
            if position > 0 {
                out.push(',');
            }
            if one_line {
                out.push_str(if position > 0 { " " } else { "" });
            } else {
                let _ = write!(out, "\n{}", "  ".repeat(depth + 1));
            }
            if let Some(key) = key {
                quoted(key, out);
                out.push_str(": ");
            }
            write(value, depth + 1, out);
        }
        if !one_line {
            let _ = write!(out, "\n{}", "  ".repeat(depth));
        }
        out.push(close);
    };
    match value {
        Json::List(items) => block('[', ']', &items.iter().map(|item| (None, item)).collect::<Vec<_>>()),
        Json::Object(entries) => {
            block('{', '}', &entries.iter().map(|(key, item)| (Some(key), item)).collect::<Vec<_>>());
        }
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Number(value) if value.fract() == 0.0 && value.abs() < 1e15 => {
            let _ = write!(out, "{value:.0}");
        }
        Json::Number(value) if value.is_finite() => {
            let _ = write!(out, "{value:?}");
        }
        Json::Number(value) => {
            let _ = write!(out, "\"{}\"", if value.is_nan() { "nan".to_owned() } else { value.to_string() });
        }
        Json::Text(text) => quoted(text, out),
    }
}

fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if u32::from(c) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// The names of letters in trees: those of the program, with primes where another letter has the name.
struct Names<'a> {
    symbols: &'a Symbols,
}

impl Names<'_> {
    fn letter(&self, letter: LetterId) -> Json {
        let own = &self.symbols.letter(letter).name;
        let before = self.symbols.letters[..letter.index()].iter().filter(|other| other.name == *own).count();
        Json::Text(format!("{own}{}", "'".repeat(before)))
    }

    fn letters(&self, letters: &[LetterId]) -> Json {
        list(letters.iter().map(|letter| self.letter(*letter)))
    }

    fn array(&self, array: ArrayId) -> Json {
        self.symbols.array(array).name.as_str().into()
    }

    fn subscripts(&self, subscripts: &[Subscript]) -> Json {
        list(subscripts.iter().map(|subscript| self.subscript(subscript)))
    }

    fn subscript(&self, subscript: &Subscript) -> Json {
        match subscript {
            Subscript::Letter(letter) => self.letter(*letter),
            Subscript::Index(array, inner) => {
                object([("index", self.array(*array)), ("subscripts", self.subscripts(inner))])
            }
        }
    }

    fn sum(&self, sum: &Sum) -> Json {
        list(sum.terms.iter().map(|term| self.term(term)))
    }

    fn term(&self, term: &Term) -> Json {
        object([
            ("coefficient", Json::Number(term.coefficient.0)),
            ("sum_over", self.letters(&term.sums)),
            ("factors", list(term.factors.iter().map(|factor| self.factor(factor)))),
        ])
    }

    fn factor(&self, factor: &Factor) -> Json {
        object([("power", Json::Number(f64::from(factor.power))), ("atom", self.atom(&factor.atom))])
    }

    fn atom(&self, atom: &Atom) -> Json {
        let element = |kind: &str, array, subscripts| {
            object([
                ("kind", kind.into()),
                ("array", self.array(array)),
                ("subscripts", self.subscripts(subscripts)),
            ])
        };
        let compared = |kind: &str, left, right| {
            object([("kind", kind.into()), ("left", self.subscript(left)), ("right", self.subscript(right))])
        };
        match atom {
            Atom::Value(array, subscripts) => element("value", *array, subscripts),
            Atom::Observed(array, subscripts) => element("observed", *array, subscripts),
            Atom::Moment(Moment { block, statistic, plates, slots }) => object([
                ("kind", "expectation".into()),
                ("block", block.index().into()),
                (
                    "statistic",
                    list(statistic.0.iter().map(|(member, own)| elementary(usize::from(*member), *own))),
                ),
                ("plates", self.subscripts(plates)),
                ("slots", self.subscripts(slots)),
            ]),
            Atom::Allocation { site, addend, plates, categories } => object([
                ("kind", "allocation".into()),
                ("site", site.index().into()),
                ("addend", (*addend).into()),
                ("plates", self.subscripts(plates)),
                ("categories", self.subscripts(categories)),
            ]),
            Atom::LogPartition { site, plates } => object([
                ("kind", "log_partition".into()),
                ("site", site.index().into()),
                ("plates", self.subscripts(plates)),
            ]),
            Atom::Auxiliary { id, plates } => object([
                ("kind", "auxiliary".into()),
                ("auxiliary", id.index().into()),
                ("plates", self.subscripts(plates)),
            ]),
            Atom::Group(sum) => object([("kind", "group".into()), ("sum", self.sum(sum))]),
            Atom::Apply(function, arguments) => object([
                ("kind", "function".into()),
                ("function", function.name().into()),
                ("arguments", list(arguments.iter().map(|own| self.sum(own)))),
            ]),
            Atom::ExpectedSquare(square) => object([
                ("kind", "expected_square".into()),
                ("of", self.sum(&square.of)),
                ("mean", self.sum(&square.mean)),
                ("spread", self.sum(&square.spread)),
            ]),
            Atom::Equal(left, right) => compared("equal", left, right),
            Atom::Different(left, right) => compared("different", left, right),
            Atom::Less(left, right) => compared("less", left, right),
        }
    }
}

/// A function of a member of a block.
fn elementary(member: usize, own: Elementary) -> Json {
    let (function, power) = match own {
        Elementary::Power(power) => ("power", Json::Number(f64::from(power))),
        Elementary::Log => ("log", Json::Null),
        Elementary::LogComplement => ("log_complement", Json::Null),
        Elementary::LogDeterminant => ("log_determinant", Json::Null),
        Elementary::Contracted(times) => ("contracted", Json::Number(f64::from(times))),
        Elementary::Indicator => ("indicator", Json::Null),
        Elementary::Centred => ("centred", Json::Null),
        Elementary::Mass => ("mass", Json::Null),
        Elementary::MassOfComplement => ("mass_of_complement", Json::Null),
    };
    object([("member", member.into()), ("function", function.into()), ("power", power)])
}

/// A formula over natural parameters and the standard ones before it.
fn formula(own: &Formula) -> Json {
    let one = |kind: &str, inner: &Formula| object([("op", kind.into()), ("of", formula(inner))]);
    let several = |kind: &str, parts: &[Formula]| {
        object([("op", kind.into()), ("of", list(parts.iter().map(formula)))])
    };
    let two = |kind: &str, left: &Formula, right: &Formula| {
        object([("op", kind.into()), ("of", Json::List(vec![formula(left), formula(right)]))])
    };
    match own {
        Formula::Natural(index) => object([("op", "natural".into()), ("number", (*index).into())]),
        Formula::Parameter(index) => object([("op", "parameter".into()), ("number", (*index).into())]),
        Formula::Number(value) => object([("op", "number".into()), ("value", Json::Number(*value))]),
        Formula::Add(parts) => several("add", parts),
        Formula::Negate(inner) => one("negate", inner),
        Formula::Multiply(parts) => several("multiply", parts),
        Formula::Divide(left, right) => two("divide", left, right),
        Formula::LogBesselK(order, argument) => two("log_bessel_k", order, argument),
        Formula::LogBesselKInOrder(order, argument) => two("log_bessel_k_in_order", order, argument),
        Formula::Apply(function, inner) => one(function.name(), inner),
        Formula::PositivePart(inner) => one("positive_part", inner),
        Formula::Digamma(inner) => one("digamma", inner),
        Formula::Normalised(inner) => one("normalised", inner),
        Formula::Total(inner) => one("total", inner),
        Formula::Inverse(inner) => one("inverse", inner),
        Formula::MatrixVector(matrix, vector) => two("matrix_vector", matrix, vector),
        Formula::Outer(left, right) => two("outer", left, right),
        Formula::Symmetric(inner) => one("symmetric", inner),
        Formula::Size => object([("op", "size".into())]),
        Formula::LogDeterminant(inner) => one("log_determinant", inner),
        Formula::LogMultivariateGamma(inner) => one("log_multivariate_gamma", inner),
        Formula::MultivariateDigamma(inner) => one("multivariate_digamma", inner),
    }
}

impl Derivation<'_> {
    /// A piece of notation in both writings.
    fn in_both(&self, node: &Node) -> Json {
        let in_text = text::node(&self.on_its_own(node, Format::Text));
        object([("text", in_text.into()), ("latex", self.in_latex(node).into())])
    }

    /// A formula in LaTeX, in which no two names look alike.
    fn in_latex(&self, node: &Node) -> String {
        let mut node = self.on_its_own(node, Format::Latex);
        self.tell_apart_in(&mut node);
        latex::node(&node)
    }

    /// A name and what it stands for.
    fn definition_json(&self, (left, right): (Node, Node)) -> Json {
        object([("symbol", self.in_both(&left)), ("value", self.in_both(&right))])
    }

    /// A row of the overview.
    fn overview_json(&self, line: Line) -> Json {
        object([
            ("factor", self.in_both(&line.factor)),
            ("family", line.family.into()),
            ("states", list(line.states.iter().map(|own| self.in_both(own)))),
            ("label", line.label.into()),
            ("reads", list(line.reads.iter().map(|own| self.in_both(own)))),
            ("cost", line.cost.as_ref().map(|own| self.in_both(own)).into()),
        ])
    }

    /// The whole derivation as JSON, with the blocks that are asked for.
    pub fn json(&self, only: impl Fn(BlockId) -> bool) -> Json {
        let equations = self.equations;
        let names = Names { symbols: self.symbols() };
        let counts = self.counts();
        let blocks = (0..equations.blocks.len()).map(BlockId::from);
        let blocks = blocks.filter(|id| only(*id));
        object([
            ("version", VERSION.into()),
            ("model", equations.name.as_str().into()),
            ("axes", list((0..names.symbols.axes.len()).map(|index| self.axis(&names, AxisId::from(index))))),
            ("letters", self.letters_table(&names)),
            (
                "statements",
                list((0..equations.statements.len()).map(|index| self.statement_json(&names, index))),
            ),
            ("blocks", list(blocks.map(|id| self.block_json(&names, id, &counts)))),
            ("counts", list(self.definitions(&counts).into_iter().map(|own| self.definition_json(own)))),
            ("sites", list((0..equations.sites.len()).map(|index| self.site_json(&names, index)))),
            (
                "auxiliaries",
                list((0..equations.auxiliaries.len()).map(|index| self.auxiliary_json(&names, index))),
            ),
            ("overview", list(self.lines_of_overview().into_iter().map(|own| self.overview_json(own)))),
            ("elbo", self.elbo_json(&names)),
            ("schedule", list(self.items().iter().map(|item| self.item_json(item)))),
            ("text", self.print(Format::Text).into()),
        ])
    }

    fn axis(&self, names: &Names<'_>, id: AxisId) -> Json {
        let axis = names.symbols.axis(id);
        object([
            ("name", axis.name.as_str().into()),
            ("letters", names.letters(&axis.letters)),
            ("in", axis.parent.map(|parent| names.symbols.axis(parent).name.as_str()).into()),
        ])
    }

    fn letters_table(&self, names: &Names<'_>) -> Json {
        let symbols = names.symbols;
        let one = |index: usize| {
            let letter = &symbols.letters[index];
            object([
                ("name", names.letter(LetterId::from(index))),
                ("axis", symbols.axis(letter.axis).name.as_str().into()),
                ("in", letter.parent.map(|parent| names.letter(parent)).into()),
            ])
        };
        list((0..symbols.letters.len()).map(one))
    }

    /// A sum in three writings.
    fn expression(&self, names: &Names<'_>, left: &[LetterId], sum: &Sum) -> Json {
        let node = Builder::new(self.scope(), left).sum(sum);
        object([
            ("text", text::node(&self.on_its_own(&node, Format::Text)).into()),
            ("latex", self.in_latex(&node).into()),
            ("tree", names.sum(sum)),
        ])
    }

    fn statement_json(&self, names: &Names<'_>, index: usize) -> Json {
        let own = &self.equations.statements[index];
        object([
            ("variable", names.array(own.target)),
            ("family", own.family.into()),
            ("observed", own.observed.into()),
            ("line", self.stated.get(index).map(|stated| stated.line).into()),
            ("log_density", self.expression(names, &[], &own.log_density)),
        ])
    }

    fn block_json(&self, names: &Names<'_>, id: BlockId, counts: &Counts) -> Json {
        let block = self.equations.block(id);
        let mode = match block.mode {
            Mode::Distribution => "distribution",
            Mode::Point => "point",
            Mode::Fixed => "fixed",
            Mode::Implicit => "implicit",
        };
        let natural = (0..block.natural.len()).map(|index| self.natural_json(names, id, block, index));
        let contributions = self.equations.contributions.get(id.index()).into_iter().flatten();
        let contributions = contributions.map(|own| {
            let parts = own.parts.iter().map(|part| self.part_json(names, id, block, part));
            object([
                ("variable", names.array(self.equations.statements[own.statement.index()].target)),
                ("statement", own.statement.index().into()),
                ("selected", self.expression(names, &[], &own.selected)),
                ("bounded", self.expression(names, &[], &own.bounded)),
                ("monomials", self.expression(names, &[], &own.monomials)),
                ("parts", list(parts)),
                ("objective", own.objective.as_ref().map(|own| self.expression(names, &[], own)).into()),
            ])
        });
        object([
            ("number", id.index().into()),
            ("variables", list(block.members.iter().map(|member| names.array(*member)))),
            ("factor", self.in_both(&self.left_of(block))),
            ("mode", mode.into()),
            ("family", self.standard.name(block.family).into()),
            ("plates", names.letters(&block.plates)),
            ("slices", list(block.slices.iter().map(|letters| names.letters(letters)))),
            ("classes", block.classes.map(|letter| names.letter(letter)).into()),
            ("copies", if block.in_order.is_empty() { "at once" } else { "in order" }.into()),
            ("in_order", names.letters(&block.in_order)),
            ("bound", block.by.map(|bound| self.equations.bound(bound).name).into()),
            ("clamp", block.clamp.into()),
            ("weights", list(block.weights().map(|atom| names.atom(atom)))),
            ("contributions", list(contributions)),
            ("natural", list(natural)),
            ("standard", self.standard_json(names, id, block, counts)),
            ("ascent", block.ascent.as_ref().map(|own| self.ascent_json(names, block, own)).into()),
            ("update", self.explain(id, Format::Text).into()),
        ])
    }

    fn ascent_json(&self, names: &Names<'_>, block: &Block, ascent: &Ascent) -> Json {
        let members = block.slices.iter().zip(&ascent.gradient);
        let gradient = members.map(|(slices, own)| {
            let letters: Vec<LetterId> = block.plates.iter().chain(slices).copied().collect();
            self.expression(names, &letters, own)
        });
        let curvature = ascent.curvature.as_ref().map(|own| self.expression(names, &block.plates, own));
        object([
            ("method", if curvature.is_some() { "newton" } else { "lbfgs" }.into()),
            ("objective", self.expression(names, &[], &ascent.objective)),
            ("tight", ascent.tight.as_ref().map(|own| self.expression(names, &[], own)).into()),
            ("gradient", list(gradient)),
            ("curvature", curvature.into()),
            ("whitened", list(block.members.iter().map(|member| self.covariance_json(names, *member)))),
        ])
    }

    /// The covariance of a variable that moves in whitened coordinates, and the name of the matrix that whitens it.
    fn covariance_json(&self, names: &Names<'_>, member: ArrayId) -> Json {
        let Some(whitening) = self.equations.whitening_of(member) else { return Json::Null };
        let array = self.symbols().array(whitening);
        let Some(Expression::OfMatrix(_, covariance, ..)) = &array.value else { return Json::Null };
        let node = Builder::new(self.scope(), &array.letters).expression(covariance);
        object([
            ("matrix", array.name.clone().into()),
            ("letters", names.letters(&array.letters)),
            ("covariance", self.in_both(&node)),
        ])
    }

    fn part_json(&self, names: &Names<'_>, id: BlockId, block: &Block, part: &Natural) -> Json {
        let letters: Vec<LetterId> = block.plates.iter().chain(&part.slots).copied().collect();
        let moment = self.moment(id, &part.statistic, &part.slots);
        let statistic = Builder::new(self.scope(), &letters).statistic(block, &moment);
        let functions = part.statistic.0.iter().map(|(member, own)| elementary(usize::from(*member), *own));
        object([
            ("statistic", self.in_both(&statistic)),
            ("functions", list(functions)),
            ("slots", names.letters(&part.slots)),
            ("coefficient", self.expression(names, &letters, &part.coefficient)),
        ])
    }

    fn natural_json(&self, names: &Names<'_>, id: BlockId, block: &Block, index: usize) -> Json {
        let natural = &block.natural[index];
        let letters: Vec<LetterId> = block.plates.iter().chain(&natural.slots).copied().collect();
        let mut json = self.part_json(names, id, block, natural);
        if let (Json::Object(entries), Some(prior)) = (&mut json, block.prior.get(index)) {
            entries.push(("prior".to_owned(), self.expression(names, &letters, prior)));
        }
        json
    }

    fn standard_json(&self, names: &Names<'_>, id: BlockId, block: &Block, counts: &Counts) -> Json {
        // A point that ascends has no closed form; several members beside each other are told in words.
        let beside = block.members.len() > 1 && self.standard.one_vector(block.family);
        if block.natural.is_empty() || !block.is_point() && beside {
            return Json::List(Vec::new());
        }
        let mode = block.is_point().then(|| self.mode_of(block));
        if let Some(None) = mode {
            return Json::List(Vec::new());
        }
        let mut symbols = self.symbols().clone();
        let shown = self.standard_parameters(&mut symbols, block);
        let mut with_counts = counts.symbols.clone();
        let printed = self.standard_parameters(&mut with_counts, counts.block(id));
        let printed: Vec<Shown> = printed.iter().map(|own| own.on_page(&with_counts)).collect();
        let stated = self.stated_nodes(block, &symbols, &shown);
        let on_page = self.stated_nodes(counts.block(id), &with_counts, &printed);
        let all = shown.iter().zip(stated).zip(on_page).zip(self.parameters_of(block));
        let own = all.map(|(((shown_one, (left, right)), (_, on_page)), parameter)| {
            object([
                ("name", parameter.name.into()),
                ("symbol", self.in_both(&left)),
                ("slots", names.letters(&shown_one.slots)),
                ("value", self.in_both(&right)),
                ("printed", self.printed_json(&on_page)),
                ("formula", formula(&parameter.formula)),
            ])
        });
        let of_point = mode.flatten().map(|own| {
            let last = |rows: Vec<(Node, Node)>| rows.into_iter().next_back().expect("the point itself");
            let (left, right) = last(self.mode_nodes(id, block, self.symbols().clone(), &own));
            let (_, printed) = last(self.mode_nodes(id, counts.block(id), counts.symbols.clone(), &own));
            object([
                ("name", "value".into()),
                ("symbol", self.in_both(&left)),
                ("value", self.in_both(&right)),
                ("printed", self.printed_json(&printed)),
                ("formula", formula(&own)),
            ])
        });
        list(own.chain(of_point))
    }

    /// A piece of notation in both writings, in the names of the page.
    fn printed_json(&self, node: &Node) -> Json {
        let (in_text, in_latex) = (self.on_page(node, Format::Text), self.on_page(node, Format::Latex));
        object([("text", text::node(&in_text).into()), ("latex", latex::node(&in_latex).into())])
    }

    fn site_json(&self, names: &Names<'_>, index: usize) -> Json {
        let site = self.equations.site(SiteId::from(index));
        let addends = site.addends.iter().enumerate().map(|(number, addend)| {
            let letters: Vec<LetterId> = site.plates.iter().chain(&addend.letters).copied().collect();
            let mut builder = Builder::new(self.scope(), &letters);
            let subscripts = builder.subscripts_of(&letters);
            object([
                ("allocation", self.in_both(&builder.allocation(SiteId::from(index), number, subscripts))),
                ("letters", names.letters(&addend.letters)),
                ("log_weight", self.expression(names, &letters, &addend.log_weight)),
            ])
        });
        object([
            ("statement", site.statement.index().into()),
            ("in", names.array(self.equations.statements[site.statement.index()].target)),
            ("plates", names.letters(&site.plates)),
            ("weight", self.expression(names, &site.plates, &site.weight)),
            ("addends", list(addends)),
            (
                "by_means",
                list(self.by_means(SiteId::from(index)).into_iter().map(|own| self.definition_json(own))),
            ),
            (
                "without_own_unit",
                list(
                    self.without_own(SiteId::from(index), Masses::Natural)
                        .into_iter()
                        .map(|own| self.definition_json(own)),
                ),
            ),
        ])
    }

    fn auxiliary_json(&self, names: &Names<'_>, index: usize) -> Json {
        let own = &self.equations.auxiliaries[index];
        let mut builder = Builder::new(self.scope(), &own.plates);
        let subscripts = builder.subscripts_of(&own.plates);
        let shown = builder.auxiliary(AuxiliaryId::from(index), subscripts);
        object([
            ("statement", own.statement.index().into()),
            ("in", names.array(self.equations.statements[own.statement.index()].target)),
            ("variable", self.in_both(&shown)),
            ("plates", names.letters(&own.plates)),
            ("weight", self.expression(names, &own.plates, &own.weight)),
            ("square", self.expression(names, &own.plates, &own.square)),
            ("slope", self.expression(names, &own.plates, &own.slope)),
        ])
    }

    fn elbo_json(&self, names: &Names<'_>) -> Json {
        let term = |(statement, sum): &(StatementId, Sum)| {
            object([
                ("statement", statement.index().into()),
                ("of", names.array(self.equations.statements[statement.index()].target)),
                ("expression", self.expression(names, &[], sum)),
            ])
        };
        let entropies = (0..self.equations.blocks.len())
            .map(BlockId::from)
            .filter(|id| !self.equations.block(*id).is_point());
        let entropy = |id: BlockId| {
            object([
                ("block", id.index().into()),
                ("paired", self.standard.paired(self.equations.block(id).family).into()),
            ])
        };
        object([
            ("terms", list(self.equations.elbo.terms.iter().map(term))),
            ("entropies", list(entropies.map(entropy))),
        ])
    }

    fn item_json(&self, item: &SweepItem) -> Json {
        let (kind, what) = match &item.step {
            SweepStep::Block(id) => ("block", id.index().into()),
            SweepStep::Group(items) => ("group", list(items.iter().map(|own| self.item_json(own)))),
            SweepStep::Sequence(items) => ("sequence", list(items.iter().map(|own| self.item_json(own)))),
        };
        let reads = item.blocks().iter().any(|id| self.equations.reads_allocation(*id));
        object([
            (kind, what),
            ("repeat", Json::Number(item.repeat as f64)),
            ("reset", item.reset.into()),
            ("reads_allocations", reads.into()),
        ])
    }
}
