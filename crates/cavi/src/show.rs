//! What is derived, as text: graph, equations, factorisation.

use cavi_algebra::print::{Derivation, Run, Source, SweepItem, SweepStep};
use cavi_algebra::{ArrayKind, Equations, LetterId, SiteId, Support};
use cavi_model::Model;
use cavi_syntax::Span;
use cavi_syntax::ast::{Allocations, Program, Statement, StatementKind, Warmup};

use crate::compile::Compiled;
use crate::fit::{PATIENCE, SWEEPS, TOLERANCE};

pub use cavi_algebra::print::{Columns, Format, Level};

/// The widest and the highest diagram of a derivation in one column, in points.
const WIDTH: f64 = 335.0;
const HEIGHT: f64 = 200.0;
/// The widest diagram where the page has two columns.
const NARROW: f64 = 220.0;

impl Compiled {
    /// The factor graph as Graphviz text.
    pub fn dot(&self) -> String {
        cavi_model::dot(&cavi_model::factor_graph(&self.model))
    }

    /// The factor graph as a drawing.
    pub fn svg(&self) -> String {
        cavi_model::svg(&cavi_model::factor_graph(&self.model))
    }

    /// The factor graph as a TikZ picture.
    pub fn tikz(&self) -> String {
        cavi_model::tikz(&cavi_model::factor_graph(&self.model))
    }

    /// The whole derivation, with a reason at each step.
    pub fn derivation(&self, format: Format) -> String {
        self.derivation_at(Level::default(), format)
    }

    /// The whole derivation, in less detail or in more.
    pub fn derivation_at(&self, level: Level, format: Format) -> String {
        self.with_derivation(|derivation| Derivation { level, ..*derivation }.print(format))
    }

    /// The whole derivation in LaTeX for a page of so many columns.
    pub fn derivation_in(&self, level: Level, columns: Columns) -> String {
        let width = if columns == Columns::Two { NARROW } else { WIDTH };
        let diagram = cavi_model::tikz_within(&cavi_model::factor_graph(&self.model), width, HEIGHT);
        let diagram = Some(diagram.as_str());
        self.with_derivation(|own| Derivation { level, columns, diagram, ..*own }.print(Format::Latex))
    }

    /// How one variable comes by its update; `None` if there is no latent of this name.
    pub fn explain(&self, variable: &str, format: Format) -> Option<String> {
        let array = self.equations.symbols.find(variable)?;
        match self.equations.block_of(array) {
            Some(block) => Some(self.with_derivation(|derivation| derivation.explain(block, format))),
            None => self.with_derivation(|derivation| derivation.explain_implicit(array, format)),
        }
    }

    /// The derivation as JSON, of one variable's block only where it is named (of an implicit factor, which has no block,
    /// its site); `None` if there is no latent of this name. The layout is that of [`cavi_algebra::print::Json`].
    pub fn derivation_json(&self, variable: Option<&str>) -> Option<String> {
        let Some(variable) = variable else {
            return Some(self.with_derivation(|derivation| format!("{}\n", derivation.json(|_| true))));
        };
        let array = self.equations.symbols.find(variable)?;
        let block = self.equations.block_of(array);
        if block.is_none() && self.equations.site_of(array).is_none() {
            return None;
        }
        Some(self.with_derivation(|derivation| format!("{}\n", derivation.json(|id| block == Some(id)))))
    }

    /// The chosen factorisation: one line a block.
    pub fn factorisation(&self) -> Vec<String> {
        let Compiled { equations, .. } = self;
        let symbols = &equations.symbols;
        let blocks = equations.blocks.iter().map(|block| cavi_derivation::describe_block(symbols, block));
        let sites = equations.sites.iter().enumerate().filter_map(|(id, site)| {
            let own = equations.implicit(SiteId::from(id))?;
            let array = symbols.array(own);
            let name = |letter: LetterId| symbols.letter(letter).name.clone();
            let lineage = |letter: &LetterId| symbols.lineage(*letter).into_iter().rev().map(name).collect();
            let dimensions: Vec<Vec<String>> = array.letters.iter().map(lineage).collect();
            let subscripts = symbols.written(own, &dimensions);
            let indices =
                if subscripts.is_empty() { String::new() } else { format!("[{}]", subscripts.join(", ")) };
            let family = equations.statements[site.statement.index()].family;
            Some(format!("implicit {}{indices}: {family}", array.name))
        });
        blocks.chain(sites).collect()
    }

    /// The names of the latents.
    pub fn latents(&self) -> Vec<&str> {
        self.names(ArrayKind::Latent)
    }

    /// The names of the data arrays.
    pub fn data(&self) -> Vec<&str> {
        self.names(ArrayKind::Data)
    }

    /// The names of the data that must be bound to files: not those derived from others, and no weights.
    pub fn required_data(&self) -> Vec<&str> {
        let arrays = self.model.symbols.arrays.iter();
        let data = arrays.filter(|array| array.kind == ArrayKind::Data && array.value.is_none());
        data.filter(|array| array.support != Support::Multiplicity).map(|array| array.name.as_str()).collect()
    }

    fn names(&self, kind: ArrayKind) -> Vec<&str> {
        let arrays = self.model.symbols.arrays.iter();
        arrays.filter(|array| array.kind == kind).map(|array| array.name.as_str()).collect()
    }

    /// What the derivation uses that goes back to the literature.
    pub fn sources(&self) -> Vec<Source> {
        self.with_derivation(|derivation| derivation.sources())
    }

    fn with_derivation<T>(&self, print: impl FnOnce(&Derivation<'_>) -> T) -> T {
        let Compiled { source, model, equations } = self;
        let program = model_lines(&source.program);
        let schedule = crate::schedule::of_program(model, equations).schedule;
        let schedule: Vec<SweepItem> = schedule.items.iter().map(sweep_item).collect();
        let defined = cavi_model::defined(model, &source.text);
        let named = cavi_model::named(model, &equations.symbols);
        let diagram = cavi_model::tikz_within(&cavi_model::factor_graph(model), WIDTH, HEIGHT);
        print(&Derivation {
            equations,
            program: &program,
            stated: &cavi_model::stated(model, &source.text),
            defined: &defined,
            named: &named,
            notation: &crate::notation::notation(model, &defined),
            standard: &cavi_families::standard(),
            run: &run_of(model, equations, &source.program),
            schedule: Some(&schedule),
            level: Level::default(),
            columns: Columns::One,
            about: &about(&source.program),
            diagram: Some(&diagram),
        })
    }
}

/// How the program says that it is run.
fn run_of(model: &Model, equations: &Equations, program: &Program) -> Run {
    let init = |statement: &&Statement| matches!(statement.kind, StatementKind::Init(_));
    let bare = |statement: &Statement| Statement {
        trivia: cavi_syntax::ast::Trivia::default(),
        ..statement.clone()
    };
    let statements = program.statements.iter().filter(init).map(bare).collect();
    let printed = cavi_syntax::print(&Program { statements, ..Program::default() });
    let inside =
        printed.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "}" && *line != "init {");
    // A comment behind a start is none of it.
    let start = inside.map(|line| line.split('#').next().unwrap_or(line).trim().to_owned());
    let rule = model.fit.allocations.map_or(Allocations::Ordinary, |(rule, _)| rule);
    let other = rule != Allocations::Ordinary;
    let warms = |by: &dyn Fn(&Warmup) -> bool| model.fit.warmup.iter().any(|(own, _)| by(own));
    let left_out = rule == Allocations::Collapsed || warms(&|own| matches!(own, Warmup::Collapsed(_)));
    let means = left_out || other || warms(&|own| matches!(own, Warmup::Means(_)));
    Run {
        start: start.filter(|line| !line.is_empty()).collect(),
        restarts: model.fit.restarts,
        warmup: warmups(model),
        stop: Some(model.fit.stop.unwrap_or((TOLERANCE, PATIENCE))),
        means: if means { cavi_derivation::warmup::with_means(equations).sites } else { Vec::new() },
        left_out,
        collapsed: left_out.then(|| {
            let schedule = crate::schedule::of_program(model, equations).schedule;
            crate::allocations::collapsed(equations, &schedule)
        }),
        other_allocations: other,
        sweeps: Some(model.fit.sweeps.unwrap_or(SWEEPS)),
    }
}

/// The warm-ups in words.
fn warmups(model: &Model) -> Vec<String> {
    let sentence = |(line, _): &(Warmup, Span)| match line {
        Warmup::Means(sweeps) => format!(
            "First come {sweeps} sweeps as a warm-up, in which allocations are proportional to the expectations of \
             the addends and not to the exponentials of their expected logs; they need not raise the bound."
        ),
        Warmup::Collapsed(sweeps) => format!(
            "First come {sweeps} sweeps as a warm-up, in which allocations are proportional to the expectations of \
             the addends, and leave out what an observation itself adds to these expectations; they need not raise the bound."
        ),
        Warmup::Shapes(least, sweeps) => format!(
            "First come {sweeps} sweeps as a warm-up, in which constant prior shapes and concentrations below \
             {least} fall from {least} to their values in equal ratios; they need not raise the bound."
        ),
    };
    let rule = model.fit.allocations.and_then(|(rule, _)| {
        let how = match rule {
            Allocations::Ordinary => return None,
            Allocations::Means => "",
            Allocations::Collapsed => ", and leave out what an observation itself adds to these expectations",
        };
        Some(format!(
            "The sweeps of the fit take allocations that are proportional to the expectations of the addends and not to the exponentials of \
             their expected logs{how}; they need not raise the bound."
        ))
    });
    model.fit.warmup.iter().map(sentence).chain(rule).collect()
}

/// An item of the schedule as the printer takes it.
fn sweep_item(item: &cavi_executor::Item) -> SweepItem {
    let all = |items: &[cavi_executor::Item]| items.iter().map(sweep_item).collect();
    let step = match &item.step {
        cavi_executor::Step::Block(block) => SweepStep::Block(*block),
        cavi_executor::Step::Group(items) => SweepStep::Group(all(items)),
        cavi_executor::Step::Sequence(items) => SweepStep::Sequence(all(items)),
    };
    SweepItem { step, repeat: item.repeat, reset: item.reset }
}

/// The comment that opens a program.
pub(crate) fn about(program: &Program) -> Vec<String> {
    let above = program.statements.first().map(|first| first.trivia.above.as_slice()).unwrap_or_default();
    // What stands behind an empty line is about what follows it.
    let opening =
        above.iter().enumerate().take_while(|(place, comment)| *place == 0 || !comment.blank_before);
    opening.map(|(_, comment)| comment.text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
}

/// The lines that state the model, in canonical form and without comments.
fn model_lines(program: &Program) -> Vec<String> {
    let states = |statement: &&Statement| {
        matches!(statement.kind, StatementKind::Distribution(_) | StatementKind::Definition { .. })
    };
    let statements = program
        .statements
        .iter()
        .filter(states)
        .map(|statement| Statement { trivia: cavi_syntax::ast::Trivia::default(), ..statement.clone() });
    let bare = Program { statements: statements.collect(), ..Program::default() };
    cavi_syntax::print(&bare).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}
