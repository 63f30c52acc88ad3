//! The whole derivation: model, factorisation, bounds, updates, sweep and bound.

use crate::canonical::canonical;
use crate::equations::{Block, Equations, Mode, Site, StatementEquation};
use crate::expression::{Expression, Subscript};
use crate::statistic::Statistic;
use crate::sum_of_products::{Moment, dedup};
use crate::symbols::{ArrayId, ArrayKind, AxisId, BlockId, LetterId, Support, Symbols};

use super::build::Builder;
use super::counts::Counts;
use super::document::{Item, Part, Printed, Row, Sign, Span, pieces, render, words};
use super::model::{Defined, Stated};
use super::named::Named;
use super::node::{Call, Node};
use super::notation::Notation;
use super::standard::{Formula, Shown, Standard, StandardParameter};
use super::sweep::SweepItem;
use super::words::{is_symbol, plain};
use super::{Columns, Format, Level, Scope};

/// What a derivation is printed from.
#[derive(Clone, Copy)]
pub struct Derivation<'a> {
    /// The derived program.
    pub equations: &'a Equations,
    /// The lines of the program that state the model.
    pub program: &'a [String],
    /// The statements, one for each of the equations, for the formats that are typeset.
    pub stated: &'a [Stated],
    /// The deterministic names of the program, for the same formats.
    pub defined: &'a [Defined],
    /// The same names, in which formulas are shown in every format.
    pub named: &'a [Named],
    /// What the program says about its symbols.
    pub notation: &'a Notation,
    /// How families print.
    pub standard: &'a dyn Standard,
    /// How it is run.
    pub run: &'a Run,
    /// The items of a sweep, where the program has a schedule of its own; else the default order is printed.
    pub schedule: Option<&'a [SweepItem]>,
    /// How much of it is printed.
    pub level: Level,
    /// In how many columns LaTeX is set.
    pub columns: Columns,
    /// What the program says about itself, a line of its opening comment each.
    pub about: &'a [String],
    /// Its factor graph as a TikZ picture.
    pub diagram: Option<&'a str>,
}

/// How a program says that it is run, beside the order of its sweep.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// What q starts from, as the program writes it: `mu = kmeans(x)`.
    pub start: Vec<String>,
    /// From how many starts it is run, the best of which is kept.
    pub restarts: Option<u64>,
    /// What is done before the first sweep, a sentence each.
    pub warmup: Vec<String>,
    /// The relative change of the bound below which it stops, and for how many evaluations running.
    pub stop: Option<(f64, u64)>,
    /// The sites of the equations with allocations by means, where its sweeps take such.
    pub means: Vec<Site>,
    /// Whether these leave out what a unit itself adds to the means.
    pub left_out: bool,
    /// The equations whose sites leave that out, where its sweeps do.
    pub collapsed: Option<Equations>,
    /// Whether its sweeps take other allocations than those at which the bound is largest, and stop when means stop changing.
    pub other_allocations: bool,
    /// After how many sweeps it stops at the latest.
    pub sweeps: Option<u64>,
}

/// The whole derivation in the default order, from equations alone.
pub fn derivation(
    equations: &Equations,
    program: &[String],
    standard: &dyn Standard,
    format: Format,
) -> String {
    let run = &Run::default();
    let level = Level::default();
    let notation = &Notation::default();
    Derivation {
        equations,
        program,
        stated: &[],
        defined: &[],
        named: &[],
        notation,
        standard,
        run,
        schedule: None,
        level,
        columns: Columns::One,
        about: &[],
        diagram: None,
    }
    .print(format)
}

impl Derivation<'_> {
    /// The whole derivation.
    pub fn print(&self, format: Format) -> String {
        render(&self.document(format), format, self.columns)
    }

    /// The whole derivation piece by piece, each as text on one line.
    pub fn printed(&self, format: Format) -> Vec<Printed> {
        pieces(&self.document(format))
    }

    /// The steps of one block piece by piece ([`Derivation::explain`]), each as text on one line.
    pub fn printed_steps(&self, id: BlockId, format: Format) -> Vec<Printed> {
        pieces(&self.explained(id, format))
    }

    fn document(&self, format: Format) -> Vec<Item> {
        let mut items = vec![Item::Title(format!("Derivation of {}", self.equations.name))];
        items.extend(self.about_the_program());
        items.extend(self.model(format));
        let drawn = self.diagram.filter(|_| format == Format::Latex && self.level != Level::Paper);
        items.extend(drawn.map(|own| Item::Picture(own.to_owned())));
        items.extend(self.overview(format));
        items.extend(self.quantities());
        items.extend(self.data());
        if !self.symbols().axes.is_empty() {
            items.extend([Item::Heading("Indices"), Item::List(self.indices(format))]);
        }
        if self.level != Level::Paper {
            items.extend(self.principle());
        }
        items.push(Item::Heading("Log joint"));
        items.push(Item::Rows(
            self.equations.statements.iter().map(|statement| self.log_density(statement)).collect(),
        ));
        items.extend(self.processes());
        items.push(Item::Heading("Factorisation"));
        let factors = self.equations.blocks.iter().map(|block| self.factor(block, format));
        let implicit = self.implicit().into_iter().map(|site| self.implicit_factor(site));
        items.push(Item::List(factors.chain(implicit).collect()));
        let bounds = self.used_bounds();
        if !bounds.is_empty() {
            items.push(Item::Heading("Bounds"));
            items.extend(bounds.into_iter().flat_map(|id| self.bound(id, format)));
        }
        items.extend(self.expected_squares(None));
        let counts = self.counts();
        items.extend(self.expected_counts(&counts, None));
        items.push(Item::Heading("Updates"));
        for index in 0..self.equations.blocks.len() {
            let id = BlockId::from(index);
            items.extend(self.heading(id, format));
            match self.level {
                Level::Paper => {}
                Level::Full => items.extend(self.steps(id, false, false, format)),
                Level::Lecture => items.extend(self.steps(id, true, false, format)),
            }
            items.extend(self.update(id, &counts));
        }
        items.extend(self.implicit().into_iter().flat_map(|site| self.implicit_update(site, format)));
        if format == Format::Text {
            items.push(Item::Heading("Sweep"));
            items.extend(self.sweep().into_iter().map(Item::Paragraph));
        } else {
            items.extend([Item::Heading("Algorithm"), self.algorithm()]);
        }
        if self.level != Level::Paper {
            items.extend(self.why_it_rises());
            items.extend(self.remarks());
        }
        items.push(Item::Heading(if self.has_distribution() { "Evidence lower bound" } else { "Objective" }));
        items.extend(self.elbo());
        self.one_meaning(&mut items, format);
        // Symbols are told before the first formula of the derivation.
        let meanings = self.meanings(&mut items, format);
        let first = |own: &Item| matches!(own, Item::Heading("Principle" | "Log joint"));
        let place = items.iter().position(first).unwrap_or(items.len());
        items.splice(place..place, meanings);
        self.in_notation(&mut items, format);
        drop_dangling(&mut items);
        items
    }

    /// The statements, in the program's own words or in the notation of mathematics.
    fn model(&self, format: Format) -> Vec<Item> {
        let shown = if format == Format::Text || self.stated.is_empty() {
            Item::Program(self.program.to_vec())
        } else {
            Item::Rows(self.statements())
        };
        if self.program.is_empty() && self.stated.is_empty() {
            return Vec::new();
        }
        vec![Item::Heading("Model"), shown]
    }

    /// What is computed from data, and what is done to data, before the fit.
    fn data(&self) -> Vec<Item> {
        let mut lines = Vec::new();
        for (index, array) in self.symbols().arrays.iter().enumerate() {
            if array.kind == ArrayKind::Constant {
                continue;
            }
            let subscripts: Vec<Subscript> =
                array.letters.iter().map(|letter| Subscript::Letter(*letter)).collect();
            let mut builder = Builder::new(self.scope(), &array.letters);
            let mut line = vec![Span::Math(builder.element(ArrayId::from(index), &subscripts))];
            if let Some(value) = &array.value {
                line.extend([words(" = "), Span::Math(builder.expression(value))]);
            }
            let mut over = |letter: LetterId, what: &str, line: &mut Vec<Span>| {
                line.push(words(what));
                line.extend(builder.letters_of(&[letter]).into_iter().map(Span::Math));
            };
            if let Some(letter) = array.center {
                over(letter, ", less the mean of what is observed over ", &mut line);
            }
            if let Some(letter) = array.scale {
                over(letter, ", divided by the standard deviation over ", &mut line);
            }
            if line.len() > 1 {
                line.push(words("."));
                lines.push(line);
            }
        }
        if lines.is_empty() {
            return Vec::new();
        }
        vec![Item::Heading("Data, before the fit"), Item::List(lines)]
    }

    /// The statements and the deterministic names, in the order of the text.
    fn statements(&self) -> Vec<Row> {
        let row = |(left, node, plates): (Node, Node, Vec<Node>), relation| {
            let note = if plates.is_empty() { None } else { Some(("for each".to_owned(), plates)) };
            Row { left, relation, parts: vec![Part { node, note }], label: None }
        };
        let stated = self.stated.iter();
        let stated = stated.map(|own| (own.line, row(own.nodes(self.scope()), Sign::Distributed)));
        let defined = self.defined.iter();
        let defined = defined.map(|own| (own.line, row(own.nodes(self.scope()), Sign::Equal)));
        let mut rows: Vec<(usize, Row)> = stated.chain(defined).collect();
        rows.sort_by_key(|(line, _)| *line);
        rows.into_iter().map(|(_, row)| row).collect()
    }

    /// How one block comes by its update, step by step: the statements that hold it, their bounds, the products of
    /// statistics in them, expectations, the family, natural and standard parameters.
    pub fn explain(&self, id: BlockId, format: Format) -> String {
        render(&self.explained(id, format), format, self.columns)
    }

    fn explained(&self, id: BlockId, format: Format) -> Vec<Item> {
        let mut items = vec![Item::Paragraph(self.factor(self.equations.block(id), format))];
        items.extend(self.steps(id, true, true, format));
        items.extend(self.expected_squares(Some(id)));
        let counts = self.counts();
        items.extend(self.expected_counts(&counts, Some(id)));
        items.push(Item::Heading("Update"));
        items.extend(self.heading(id, format));
        items.extend(self.update(id, &counts));
        self.one_meaning(&mut items, format);
        // Labels belong to the whole page, which may stand in the same document.
        for item in &mut items {
            if let Item::Rows(rows) = item {
                rows.iter_mut().for_each(|row| row.label = None);
            }
        }
        self.in_notation(&mut items, format);
        items
    }

    pub(super) fn scope(&self) -> Scope<'_> {
        Scope { taken: &self.notation.taken, named: self.named, ..Scope::of(self.equations) }
    }

    /// The deterministic names that formulas are shown in, each with what it stands for, as text.
    pub fn named_in_text(&self) -> Vec<(String, String)> {
        self.named.iter().map(|own| own.in_text(self.scope())).collect()
    }

    pub(super) fn scope_with<'s>(&'s self, symbols: &'s Symbols) -> Scope<'s> {
        Scope { symbols, ..self.scope() }
    }

    pub(super) fn symbols(&self) -> &Symbols {
        &self.equations.symbols
    }

    pub(super) fn name(&self, array: ArrayId) -> Node {
        Node::name(&self.symbols().array(array).name)
    }

    pub(super) fn touches(&self, statement: &StatementEquation, block: &Block) -> bool {
        block
            .members
            .iter()
            .any(|member| statement.target == *member || statement.log_density.mentions(*member))
    }

    pub(super) fn has_distribution(&self) -> bool {
        self.equations.blocks.iter().any(|block| block.mode != Mode::Point) || !self.implicit().is_empty()
    }

    fn indices(&self, format: Format) -> Vec<Vec<Span>> {
        let symbols = self.symbols();
        let line = |index: usize| {
            let axis = &symbols.axes[index];
            let letter = |letter: &LetterId| Span::Math(Node::Letter(symbols.letter(*letter).name.clone()));
            let mut line = separated(axis.letters.iter().map(letter).collect());
            line.push(words(format!(" over {}", axis.name)));
            if let Some(parent) = axis.parent {
                line.push(words(format!(" in {}", symbols.axis(parent).name)));
            }
            let parent = axis.letters.first().and_then(|letter| symbols.letter(*letter).parent);
            if format != Format::Text && self.scope().capital(AxisId::from(index)).is_some() {
                let ancestors = match parent {
                    Some(parent) => Builder::new(self.scope(), &[]).subscripts_of(&[parent]),
                    None => Vec::new(),
                };
                let capital = self.scope().capital(AxisId::from(index));
                line.push(words(", of size "));
                line.push(Span::Math(Node::Size { axis: axis.name.clone(), capital, ancestors }));
            }
            if let Some(Expression::Number(size)) = axis.size {
                line.push(words(format!(" = {size}")));
            }
            line
        };
        (0..symbols.axes.len()).map(line).collect()
    }

    /// `p(x | w, z)`
    pub(super) fn density(&self, statement: &StatementEquation) -> Node {
        let given = (0..self.symbols().arrays.len()).map(ArrayId::from).filter(|array| {
            *array != statement.target
                && self.symbols().array(*array).kind != ArrayKind::Constant
                && self.symbols().array(*array).support != Support::Multiplicity
                && statement.log_density.mentions(*array)
        });
        Node::Density(vec![self.name(statement.target)], given.map(|array| self.name(array)).collect())
    }

    pub(super) fn log_density(&self, statement: &StatementEquation) -> Row {
        let right = Builder::new(self.scope(), &[]).sum(&statement.log_density);
        let target = &self.symbols().array(statement.target).name;
        Row::equal(Node::log(self.density(statement)), right).labelled(self.label(&format!("p:{target}")))
    }

    /// `eq:lda:theta`. What is no variable has one more colon in it, so that no two labels are the same.
    pub(super) fn label(&self, name: &str) -> String {
        plain(&format!("eq:{}:{name}", self.equations.name))
    }

    /// The label of the update of a block.
    pub(super) fn label_of(&self, block: &Block) -> String {
        let names = block.members.iter().map(|member| self.symbols().array(*member).name.as_str());
        self.label(&names.collect::<Vec<_>>().join("-"))
    }

    /// `, for each d, k`
    pub(super) fn for_each(&self, letters: &[LetterId]) -> Vec<Span> {
        let letters = self.with_ancestors(letters);
        if letters.is_empty() {
            return Vec::new();
        }
        let shown = Builder::new(self.scope(), &letters).subscripts_of(&letters);
        let mut line = vec![words(", for each ")];
        line.extend(separated(shown.into_iter().map(Span::Math).collect()));
        line
    }

    /// Letters behind their ancestors.
    pub(super) fn with_ancestors(&self, letters: &[LetterId]) -> Vec<LetterId> {
        dedup(letters.iter().flat_map(|letter| self.symbols().lineage(*letter).into_iter().rev()).collect())
    }

    /// The variables of a block whose parameters print must tell from those of others.
    pub(super) fn owner(&self, block: &Block) -> Option<Vec<String>> {
        let states = |own: &&Block| !own.is_point() || !self.parameters_of(own).is_empty();
        let names = block.members.iter().map(|member| self.symbols().array(*member).name.clone());
        (self.equations.blocks.iter().filter(states).count() > 1).then(|| names.collect())
    }

    pub(super) fn factor(&self, block: &Block, format: Format) -> Vec<Span> {
        let mut line = vec![Span::Math(self.left_of(block))];
        let family = match (block.mode, format) {
            (Mode::Point, _) => vec![words(": a point")],
            (_, Format::Text) => vec![words(format!(": {}", self.standard.name(block.family)))],
            (_, Format::Latex | Format::Markdown) => vec![words(" = "), Span::Math(self.distribution(block))],
        };
        line.extend(family);
        line.push(words(match block.mode {
            Mode::Distribution | Mode::Point => "",
            Mode::Fixed => ", fixed at its start",
            Mode::Implicit => ", always at its optimum and never stored",
        }));
        line.extend(self.for_each(&block.copies(self.symbols())));
        line.extend(self.where_not_observed(block));
        if let Some(bound) = block.by {
            line.push(words(format!(", by {}", self.equations.bound(bound).words.step)));
        }
        if block.clamp {
            line.push(words(", clamped to the boundary where the density is infinite"));
        }
        line
    }

    /// `Normal(mean[n], cov[n])`: the family with its standard parameters, without those that only lead to another.
    fn distribution(&self, block: &Block) -> Node {
        let mut symbols = self.symbols().clone();
        let shown = self.standard_parameters(&mut symbols, block);
        let formulas = self.standard.standard(block.family);
        let leads = |index: usize| {
            let inverted = |own: &StandardParameter| {
                own.formula == Formula::Inverse(Box::new(Formula::Parameter(index)))
            };
            formulas.iter().any(inverted)
        };
        let mut own: Vec<&Shown> =
            shown.iter().enumerate().filter(|(index, _)| !leads(*index)).map(|(_, own)| own).collect();
        // Location before scale.
        own.sort_by_key(|own| own.name != "mean");
        let mut builder = Builder::new(self.scope_with(&symbols), &block.plates);
        // A symbol is told apart from its neighbours by the word for it; mean and covariance are known by their places.
        let worded = own.len() > 1;
        let argument = |own: &Shown| {
            let value = own.whole(&mut builder, &own.slots);
            let parameter =
                formulas.iter().find(|parameter| self.scope().standard(parameter.name) == own.name);
            match parameter.map(|parameter| parameter.name) {
                Some(name)
                    if worded
                        && !matches!(name, "mean" | "cov")
                        && !is_symbol(name)
                        && self.has_symbol(block, name) =>
                {
                    Node::call(Call::Argument(name), value)
                }
                _ => value,
            }
        };
        let arguments = own.into_iter().map(argument).collect();
        // The part of the name behind `over` says what a copy is. The subscripts show that already, so it is left
        // out.
        let name = self.standard.name(block.family);
        let name = name.split(" over ").next().unwrap_or(name);
        Node::Call(Call::Family(name.to_owned()), arguments)
    }

    /// `q(theta[d, :k])`, or the bare element of a point.
    pub(super) fn left_of(&self, block: &Block) -> Node {
        let mut builder = Builder::new(self.scope(), &block.plates);
        match block.mode {
            Mode::Point if block.members.len() == 1 => builder.member(block, 0),
            Mode::Point => {
                let members = (0..block.members.len()).map(|member| builder.member(block, member)).collect();
                Node::Call(Call::Named(String::new()), members)
            }
            Mode::Distribution | Mode::Fixed | Mode::Implicit => builder.q(block),
        }
    }

    fn heading(&self, id: BlockId, format: Format) -> Vec<Item> {
        let block = self.equations.block(id);
        let mut line = vec![Span::Math(self.left_of(block))];
        line.push(words(match (block.mode, format) {
            (Mode::Point, _) => ", a point".to_owned(),
            (_, Format::Text) => format!(" = {}", self.standard.name(block.family)),
            (_, Format::Latex | Format::Markdown) => String::new(),
        }));
        let mut items = vec![Item::Subheading(line)];
        items.extend(self.order(block).map(Item::Paragraph));
        items.extend(self.observed_stay(block).map(Item::Paragraph));
        items
    }

    fn update(&self, id: BlockId, counts: &Counts) -> Vec<Item> {
        let block = self.equations.block(id);
        let mut items = Vec::new();
        if block.mode == Mode::Fixed {
            return items;
        }
        if let Some(ascent) = &block.ascent {
            items.extend(self.ascent(block, ascent));
            return items;
        }
        if self.level != Level::Paper || self.needs_natural(block) {
            let rows = (0..block.natural.len()).map(|index| self.natural(id, block, index)).collect();
            let what = if block.is_point() { "Coefficients:" } else { "Natural parameters:" };
            items.extend([Item::Paragraph(vec![words(what)]), Item::Rows(rows)]);
        }
        items.extend(self.standard_form(id, counts));
        items
    }

    /// Whether something else on the page is written in its natural parameters: the bound, where the entropy is paired with
    /// the prior, or a standard form that is told in words.
    fn needs_natural(&self, block: &Block) -> bool {
        match block.is_point() {
            true => self.standard.mode(block.family).is_none(),
            false => {
                let told = block.members.len() > 1 && self.standard.one_vector(block.family);
                let plain = self.standard.standard(block.family).is_empty();
                told || plain || self.standard.paired(block.family)
            }
        }
    }

    fn order(&self, block: &Block) -> Option<Vec<Span>> {
        match block.mode {
            Mode::Fixed => return Some(vec![words("It keeps its start.")]),
            Mode::Implicit => return Some(vec![words("It is at its optimum whenever it is read.")]),
            Mode::Distribution | Mode::Point => {}
        }
        if !block.in_order.is_empty() {
            let mut line = vec![words("One after another along ")];
            line.extend(self.along(block));
            line.push(words(", each with the newest values of the others, because they share terms."));
            return Some(line);
        }
        let plates = self.with_ancestors(&block.copies(self.symbols()));
        // How a point without a closed form moves is said with its derivatives.
        if block.ascent.is_some() || plates.is_empty() {
            return None;
        }
        let shown = Builder::new(self.scope(), &plates).subscripts_of(&plates);
        let mut line = vec![words("For all ")];
        line.extend(separated(shown.into_iter().map(Span::Math).collect()));
        line.push(words(" at once."));
        Some(line)
    }

    /// The letters along which copies move in order, and those of the groups within which they do.
    pub(super) fn along(&self, block: &Block) -> Vec<Span> {
        let mut builder = Builder::new(self.scope(), &block.plates);
        let shown = builder.letters_of(&block.in_order);
        let ancestors = block.in_order.iter().flat_map(|letter| self.equations.symbols.lineage(*letter));
        let within: Vec<LetterId> =
            dedup(ancestors.filter(|letter| !block.in_order.contains(letter)).collect());
        let mut line = separated(shown.into_iter().map(Span::Math).collect());
        if !within.is_empty() {
            line.push(words(" within each "));
            line.extend(separated(builder.letters_of(&within).into_iter().map(Span::Math).collect()));
        }
        line
    }

    /// The moment whose coefficient a natural parameter is.
    pub(super) fn moment(&self, id: BlockId, statistic: &Statistic, slots: &[LetterId]) -> Moment {
        let letters =
            |letters: &[LetterId]| letters.iter().map(|letter| Subscript::Letter(*letter)).collect();
        Moment {
            block: id,
            statistic: statistic.clone(),
            plates: letters(&self.equations.block(id).plates),
            slots: letters(slots),
        }
    }

    /// `eta(log x[n])`
    pub(super) fn eta(&self, builder: &mut Builder<'_>, id: BlockId, index: usize) -> Node {
        let block = self.equations.block(id);
        let natural = &block.natural[index];
        let statistic = builder.statistic(block, &self.moment(id, &natural.statistic, &natural.slots));
        Node::call(Call::Named(self.scope().natural()), statistic)
    }

    fn natural(&self, id: BlockId, block: &Block, index: usize) -> Row {
        let natural = &block.natural[index];
        let mut symbols = self.symbols().clone();
        let all = canonical(&mut symbols, &natural.coefficient);
        let prior = block.prior.get(index).cloned().unwrap_or_default();
        let prior = canonical(&mut symbols, &prior);
        let rest = canonical(&mut symbols, &all.clone().minus(prior.clone()));
        let letters: Vec<LetterId> = block.plates.iter().chain(&natural.slots).copied().collect();
        let mut builder = Builder::new(self.scope_with(&symbols), &letters);
        let left = self.eta(&mut builder, id, index);
        let mut parts = Vec::new();
        if !prior.is_zero() {
            let node = builder.with_old(self.old(block), |builder| builder.sum(&prior));
            parts.push(Part { node, note: Some(("prior".to_owned(), Vec::new())) });
        }
        if !rest.is_zero() {
            // Its own statement has a part beside the prior where an implicit factor selects in it.
            let has_classes =
                |index: usize| self.equations.elbo.shared.iter().any(|own| own.0.index() == index);
            let others = self.equations.statements.iter().enumerate().filter(|(index, statement)| {
                self.touches(statement, block)
                    && (!block.members.contains(&statement.target)
                        || has_classes(*index) && rest.has_allocation())
            });
            let others = others.map(|(_, statement)| statement);
            let names: Vec<Node> = others.map(|statement| self.name(statement.target)).collect();
            let note = if names.is_empty() { None } else { Some(("from".to_owned(), names)) };
            let node = builder.with_old(self.old(block), |builder| builder.sum(&rest));
            parts.push(Part { node, note });
        }
        if parts.is_empty() {
            parts.push(Part { node: Node::Add(Vec::new()), note: None });
        }
        Row { left, relation: Sign::Equal, parts, label: None }
    }

    /// The variables whose values in the coefficients of a block are those before the update: its own, where a bound that
    /// touches there is asked for.
    pub(super) fn old<'s>(&self, block: &'s Block) -> &'s [ArrayId] {
        if block.by.is_some() { &block.members } else { &[] }
    }
}

/// Leaves out the numbers of equations that have none.
fn drop_dangling(items: &mut [Item]) {
    let mut labels = Vec::new();
    for item in items.iter() {
        if let Item::Rows(rows) = item {
            labels.extend(rows.iter().filter_map(|row| row.label.clone()));
        }
    }
    for item in items {
        let known = |span: &Span| !matches!(span, Span::Reference(label) | Span::Number(label) if !labels.contains(label));
        if let Item::Algorithm(lines) = item {
            lines.iter_mut().for_each(|line| line.text.retain(known));
        } else if let Item::Table(table) = item {
            table.rows.iter_mut().flatten().flatten().for_each(|entry| entry.retain(known));
        }
    }
}

/// Things with commas between them.
pub(super) fn separated(spans: Vec<Span>) -> Vec<Span> {
    let mut out = Vec::with_capacity(2 * spans.len());
    for (position, span) in spans.into_iter().enumerate() {
        if position > 0 {
            out.push(words(", "));
        }
        out.push(span);
    }
    out
}
