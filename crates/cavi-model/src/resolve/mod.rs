//! From the tree to the model: every name looked up, every subscript typed by its axis, every argument in its place.
//!
//! A name that cannot be resolved is reported once; whatever depends on it is not reported, so that each message is
//! about a separate mistake.

mod arguments;
mod axes;
mod blocks;
mod data;
mod declarations;
mod elsewhere;
mod entries;
mod expressions;
mod fit;
mod intervals;
mod inverses;
mod kernels;
mod literals;
mod matrices;
mod mixture_arguments;
mod mixtures;
mod names;
mod notation;
mod order;
mod places;
mod reads;
mod statements;
mod substitute;
mod written;

use std::collections::{BTreeMap, BTreeSet};

use cavi_algebra::{ArrayId, ArrayKind, AxisId, Expression, LetterId, Support, Symbols};
use cavi_syntax::ast::{Program, StatementKind};
use cavi_syntax::{Diagnostic, Span, ast};

use crate::model::{AsWritten, FitSpec, Model, ScheduleItem};
use axes::Shape;
use declarations::{Definition, State};
use statements::Draft;

/// Resolves a program. There is a model only if there is no error; warnings and notes may stand beside it. If some
/// lines could not be parsed there is no model either, but the other lines are still checked.
///
/// # Example
/// ```
/// let (program, _) = cavi_syntax::parse("axis item[n]\ndata x[n] : real\nm ~ Normal(0, sd = 1)\nx[n] ~ Normal(m, sd = 2)\n");
/// let (model, diagnostics) = cavi_model::resolve(&program);
/// assert!(diagnostics.is_empty());
/// assert_eq!(model.unwrap().statements.len(), 2);
/// ```
pub fn resolve(program: &Program) -> (Option<Model>, Vec<Diagnostic>) {
    resolve_with(program, &[])
}

/// A constant that gets its value from outside, or an axis its size (`--set`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Set<'a> {
    /// Its name.
    pub name: &'a str,
    /// The number that it is or that fills it; `None` where it comes from a file.
    pub value: Option<f64>,
}

/// As [`resolve`], for a program some of whose constants get their values from outside: whatever the text says, those in
/// `set` have the value given there, or none in the model.
pub fn resolve_with(program: &Program, set: &[Set]) -> (Option<Model>, Vec<Diagnostic>) {
    let mut resolver = Resolver {
        set: set.iter().map(|set| (set.name.to_owned(), set.value)).collect(),
        diagnostics: Vec::new(),
        symbols: Symbols::default(),
        axis_spans: Vec::new(),
        letter_spans: Vec::new(),
        array_spans: Vec::new(),
        names: BTreeMap::new(),
        letters: BTreeMap::new(),
        reported: BTreeSet::new(),
        letters_unknown: program.unread.letters_unknown,
        shapes: Vec::new(),
        facts: Vec::new(),
        definitions: Vec::new(),
        values: Vec::new(),
        drafts: Vec::new(),
        ragged: BTreeMap::new(),
        known: BTreeMap::new(),
        expanded: 0,
    };
    let name = resolver.model_name(program);
    resolver.declare(program);
    let order = resolver.check_order(program);
    resolver.resolve_families();
    resolver.resolve_in_order(&order);
    resolver.resolve_sizes(program);
    let (blocks, block_plates, init) = resolver.resolve_blocks(program);
    let (fit, report) = resolver.resolve_fit(program);
    let notation = resolver.resolve_notation(program);
    // What reads a name may stand in a line that could not be read.
    if program.unread.is_empty() {
        resolver.check_not_empty(program);
        resolver.check_products();
        resolver.check_use();
    }
    let (as_written, written) = resolver.as_written().unzip();
    let mut diagnostics = resolver.diagnostics;
    diagnostics.sort_by_key(|diagnostic| diagnostic.primary.as_ref().map_or(0, |(span, _)| span.start));
    if diagnostics.iter().any(Diagnostic::is_error) || !program.unread.is_empty() {
        return (None, diagnostics);
    }
    // A value from outside replaces what the text says, so that nothing is concluded from the text.
    for array in &mut resolver.symbols.arrays {
        if resolver.set.contains_key(&array.name) {
            array.value = None;
        }
    }
    let statements: Option<Vec<_>> = resolver.drafts.into_iter().map(|draft| draft.statement).collect();
    let statements = statements.expect("a statement that is not resolved has an error of its own");
    let mut statements = statements;
    // Nothing later judges what is set from outside by the text.
    for array in resolver.symbols.arrays.iter_mut().filter(|array| array.kind == ArrayKind::Constant) {
        if let Some(set) = set.iter().rfind(|set| set.name == array.name) {
            array.value = set.value.map(Expression::Number);
        }
    }
    // A size that is no whole number is refused where it is bound.
    for axis in &mut resolver.symbols.axes {
        let given = set.iter().rfind(|set| set.name == axis.name).and_then(|set| set.value);
        if let Some(size) = given.filter(|size| *size >= 0.0 && size.fract() == 0.0 && *size <= 1e15) {
            axis.size = Some(Expression::Number(size));
        }
    }
    literals::name_literals(&mut resolver.symbols, &mut resolver.array_spans, &mut statements);
    let mut init = init;
    matrices::name_matrix_functions(
        &mut resolver.symbols,
        &mut resolver.array_spans,
        &mut statements,
        &mut init,
    );
    matrices::name_matrices(&mut resolver.symbols, &mut resolver.array_spans, &mut statements, &mut init);
    let untyped =
        (0..resolver.facts.len()).filter(|index| resolver.facts[*index].untyped).map(ArrayId::from).collect();
    // Sizes that are set from outside are shown, too.
    let as_written = as_written.map(|own| AsWritten {
        symbols: Symbols { axes: resolver.symbols.axes.clone(), ..own.symbols },
        ..own
    });
    let mut written = written.unwrap_or_default().into_iter();
    let definitions = resolver.definitions.iter().filter_map(|own| own.resolved(written.next())).collect();
    let model = Model {
        name,
        symbols: resolver.symbols,
        array_spans: resolver.array_spans,
        axis_spans: resolver.axis_spans,
        statements,
        blocks,
        block_plates,
        init,
        definitions,
        fit,
        report,
        notation,
        untyped,
        as_written,
    };
    (Some(model), diagnostics)
}

/// Resolves the items of a schedule given apart from the program (`--schedule`).
pub fn resolve_schedule(
    model: &Model,
    items: &[ast::ScheduleItem],
) -> Result<Vec<ScheduleItem>, Vec<Diagnostic>> {
    let mut diagnostics = Vec::new();
    let lookup = |name: &ast::Name| fit::updatable(model, name);
    let resolved = fit::schedule(items, &lookup, &mut diagnostics);
    if diagnostics.is_empty() { Ok(resolved) } else { Err(diagnostics) }
}

/// What a name of the common namespace stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Axis(AxisId),
    Array(ArrayId),
    Definition(usize),
}

/// What the resolver knows of an array beside its symbol.
#[derive(Clone, Debug, Default)]
struct Facts {
    /// Something reads it, or it has a statement.
    used: bool,
    /// A constant whose type the program does not state.
    untyped: bool,
    /// Its support is known (a latent whose family is unknown has none).
    has_support: bool,
    /// The place of the type as written.
    type_span: Option<Span>,
    /// Its statement.
    draft: Option<usize>,
    /// The value that the text gives it.
    value: Option<usize>,
    /// Whether an expression reads its elements. For data with a statement of their own, missing entries are then
    /// latent.
    read: bool,
}

/// The state of the resolution: the arenas being filled, and which names have been reported.
#[derive(Clone)]
struct Resolver<'a> {
    /// What is given from outside, with its number where it is one.
    set: BTreeMap<String, Option<f64>>,
    diagnostics: Vec<Diagnostic>,
    symbols: Symbols,
    axis_spans: Vec<Span>,
    letter_spans: Vec<Span>,
    array_spans: Vec<Span>,
    names: BTreeMap<String, Named>,
    letters: BTreeMap<String, LetterId>,
    /// Names that do not resolve and have been reported.
    reported: BTreeSet<String>,
    /// An axis could not be read, and any letter may be its own.
    letters_unknown: bool,
    /// For each array its subscripts as written; `None` where its declaration has a mistake.
    shapes: Vec<Option<Shape>>,
    facts: Vec<Facts>,
    definitions: Vec<Definition<'a>>,
    /// The values that the text gives to data and constants.
    values: Vec<&'a ast::Expression>,
    /// The `~` statements in the order of the text.
    drafts: Vec<Draft<'a>>,
    /// The letter that runs inside another parent than the declared one.
    ragged: BTreeMap<(LetterId, LetterId), LetterId>,
    /// The values of constants, where the text alone gives them.
    known: BTreeMap<ArrayId, Option<f64>>,
    /// How many parts the expansion of definitions has written.
    expanded: usize,
}

impl Resolver<'_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Resolves definitions and statements, each after what it reads. Names on a cycle have been reported, and are
    /// not resolved.
    fn resolve_in_order(&mut self, order: &[Named]) {
        for index in 0..self.definitions.len() {
            if !order.contains(&Named::Definition(index)) {
                self.definitions[index].state = State::Done(None);
            }
        }
        let in_order: BTreeSet<usize> = order
            .iter()
            .filter_map(|named| match named {
                Named::Array(id) => self.facts[id.index()].draft,
                Named::Axis(_) | Named::Definition(_) => None,
            })
            .collect();
        for index in 0..self.drafts.len() {
            self.drafts[index].begun |= !in_order.contains(&index);
        }
        for named in order {
            match named {
                Named::Definition(index) => {
                    self.definition(*index);
                }
                Named::Array(id) => {
                    self.resolve_value(*id);
                    if let Some(draft) = self.facts[id.index()].draft {
                        self.resolve_draft(draft);
                    }
                }
                Named::Axis(_) => {}
            }
        }
    }

    fn model_name(&mut self, program: &Program) -> String {
        let mut first: Option<&ast::Name> = None;
        for statement in &program.statements {
            let StatementKind::Model(name) = &statement.kind else { continue };
            match first {
                None => first = Some(name),
                Some(before) => self.report(
                    Diagnostic::error("E0202", "the program has two `model` lines")
                        .at(name.span, "the second")
                        .also(before.span, "the first")
                        .help("keep one; one file holds one model"),
                ),
            }
        }
        first.map_or_else(|| "model".to_owned(), |name| name.text.clone())
    }

    /// A program without a `~` statement states no model.
    fn check_not_empty(&mut self, program: &Program) {
        if !self.drafts.is_empty() || self.diagnostics.iter().any(Diagnostic::is_error) {
            return;
        }
        let place = program.statements.last().map_or(Span::default(), |statement| statement.span);
        let help = self.first_statements();
        self.report(
            Diagnostic::error("E0220", "the program has no `~` statement: there is nothing to fit")
                .at(
                    place,
                    if program.statements.is_empty() { "nothing is stated" } else { "the program ends here" },
                )
                .possible("a model has data, a prior for each unknown, and a likelihood for the data")
                .help(help),
        );
    }

    /// Two statements about the first data of a program that has none.
    fn first_statements(&self) -> String {
        let number = |array: &&cavi_algebra::Array| {
            array.kind == ArrayKind::Data
                && !matches!(array.support, Support::Index(_) | Support::Multiplicity)
        };
        let m = self.free_name(&["m", "mean", "level"]);
        let Some(data) = self.symbols.arrays.iter().find(number) else {
            let axis = self.free_name(&["item", "unit"]);
            let letter = self.free_name(&["n", "i", "j"]);
            let x = self.free_name(&["x", "y"]);
            return format!(
                "for example `axis {axis}[{letter}]`, `data {x}[{letter}] : real`, `{m} ~ Normal(0, sd = 10)`, `{x}[{letter}] ~ Normal({m}, sd = 1)`"
            );
        };
        let shape = self.names.get(&data.name).and_then(|named| match named {
            Named::Array(id) => self.shapes[id.index()].as_ref(),
            Named::Axis(_) | Named::Definition(_) => None,
        });
        let x = shape.map_or(data.name.clone(), |shape| self.spell(&data.name, shape));
        let (prior, likelihood) = match data.support {
            Support::Count => ("Gamma(1, rate = 1)", format!("Poisson({m})")),
            Support::Binary | Support::Unit => ("Beta(1, 1)", format!("Bernoulli({m})")),
            Support::Positive => ("Gamma(1, rate = 1)", format!("Gamma(2, rate = {m})")),
            _ => ("Normal(0, sd = 10)", format!("Normal({m}, sd = 1)")),
        };
        format!("for example `{m} ~ {prior}` and `{x} ~ {likelihood}`")
    }

    /// Products of sums are opened: there may not be too many.
    fn check_products(&mut self) {
        let statements = self.drafts.iter().filter_map(|draft| draft.statement.as_ref());
        let arguments = statements.flat_map(|statement| statement.arguments.iter().flatten());
        let wide = arguments.filter(|argument| expressions::opens_too_far(&argument.value));
        for span in wide.map(|argument| argument.span).collect::<Vec<Span>>() {
            self.report(
                Diagnostic::error(
                    "E0219",
                    "the program grows too large where these products of sums are opened",
                )
                .at(span, "every product with one addend from each bracket")
                .possible("products of at most 128 addends in all")
                .help("use fewer factors that are sums: a name defined by `=` is opened too; a sum without latents counts as one where it is a constant, `const c = ...`"),
            );
        }
    }

    /// Warns of data and constants that nothing reads.
    fn check_use(&mut self) {
        if self.diagnostics.iter().any(Diagnostic::is_error) {
            return;
        }
        for index in 0..self.symbols.arrays.len() {
            let array = &self.symbols.arrays[index];
            let weight = array.support == Support::Multiplicity;
            if self.facts[index].used || weight {
                continue;
            }
            let (kind, code) = match array.kind {
                ArrayKind::Data => ("data", "W0202"),
                ArrayKind::Constant => ("the constant", "W0203"),
                ArrayKind::Latent => continue,
            };
            let message =
                format!("{kind} `{}` {} never used", array.name, if kind == "data" { "are" } else { "is" });
            let diagnostic = Diagnostic::warning(code, message)
                .at(self.array_spans[index], "declared here, read nowhere")
                .help("use it in a statement, or delete this line");
            self.report(diagnostic);
        }
        for index in 0..self.definitions.len() {
            let definition = &self.definitions[index];
            if !definition.used {
                let diagnostic =
                    Diagnostic::warning("W0203", format!("`{}` is never used", definition.name.text))
                        .at(definition.name.span, "defined here, read nowhere")
                        .help("use it in a statement, or delete this line");
                self.report(diagnostic);
            }
        }
    }
}

/// The fit settings and report lines, resolved.
type FitAndReport = (FitSpec, Vec<crate::model::ReportSpec>);
