//! What is derived, as text: graph, equations, factorisation.

use cavi_algebra::print::{Derivation, Scope, SweepItem, SweepStep, text};
use cavi_algebra::{ArrayKind, BlockId, Equations, Support};
use cavi_model::Model;
use cavi_syntax::ast::{Program, Statement, StatementKind};

use crate::pipeline::Compiled;

pub use cavi_algebra::print::Format;

/// A derivation in parts, each as text.
#[derive(Clone, Debug)]
pub struct DerivationParts {
    /// The name of the program.
    pub model: String,
    /// One for each block of q.
    pub blocks: Vec<BlockParts>,
    /// `log sum` bounds: the statement's variable, and the addends' expected logs.
    pub bounds: Vec<(String, Vec<String>)>,
    /// The terms of the bound by the variable of their statement.
    pub elbo: Vec<(String, String)>,
    /// The blocks in the order of the default sweep.
    pub sweep: Vec<String>,
}

/// A block of q in parts.
#[derive(Clone, Debug)]
pub struct BlockParts {
    /// Its variables.
    pub variables: Vec<String>,
    /// `q(theta[d, :k]): Dirichlet`
    pub description: String,
    /// Its family.
    pub family: String,
    /// The coefficient of each statistic in the expected log joint.
    pub natural: Vec<String>,
    /// Whether copies are updated in order; else all at once.
    pub in_order: bool,
    /// The whole update, explained.
    pub explanation: String,
}

impl Compiled {
    fn derived(&self) -> (&Model, &Equations) {
        match (&self.model, &self.equations) {
            (Some(model), Some(equations)) => (model, equations),
            _ => panic!("only a program that compiles is shown"),
        }
    }

    /// The factor graph as Graphviz text.
    ///
    /// # Panics
    /// If the program did not compile; so for all methods here.
    pub fn dot(&self) -> String {
        cavi_model::dot(&cavi_model::factor_graph(self.derived().0))
    }

    /// The factor graph as a drawing.
    pub fn svg(&self) -> String {
        cavi_model::svg(&cavi_model::factor_graph(self.derived().0))
    }

    /// The whole derivation.
    pub fn derivation(&self, format: Format) -> String {
        self.with_derivation(|derivation| derivation.print(format))
    }

    /// How one variable comes by its update; `None` if there is no latent of this name.
    pub fn explain(&self, variable: &str, format: Format) -> Option<String> {
        let (_, equations) = self.derived();
        let block = equations.block_of(equations.symbols.find(variable)?)?;
        Some(self.with_derivation(|derivation| derivation.explain(block, format)))
    }

    /// The derivation in parts.
    pub fn derivation_parts(&self) -> DerivationParts {
        let (_, equations) = self.derived();
        let symbols = &equations.symbols;
        let scope = Scope::of(equations);
        let name = |statement: cavi_algebra::StatementId| {
            symbols.array(equations.statements[statement.index()].target).name.clone()
        };
        let blocks = (0..equations.blocks.len()).map(|index| {
            let id = BlockId::from(index);
            let block = equations.block(id);
            BlockParts {
                variables: block.members.iter().map(|member| symbols.array(*member).name.clone()).collect(),
                description: cavi_derivation::describe_block(symbols, block),
                family: block.family.to_owned(),
                natural: block.natural.iter().map(|natural| text::sum(scope, &natural.coefficient)).collect(),
                in_order: !block.in_order.is_empty(),
                explanation: self.with_derivation(|derivation| derivation.explain(id, Format::Text)),
            }
        });
        let bounds = equations.sites.iter().map(|site| {
            let addends = site.addends.iter().map(|addend| text::sum(scope, &addend.log_weight));
            (name(site.statement), addends.collect())
        });
        let elbo =
            equations.elbo.terms.iter().map(|(statement, sum)| (name(*statement), text::sum(scope, sum)));
        let sweep = equations.sweep.iter().map(|block| {
            let members = &equations.block(*block).members;
            members.iter().map(|member| symbols.array(*member).name.as_str()).collect::<Vec<_>>().join(", ")
        });
        DerivationParts {
            model: equations.name.clone(),
            blocks: blocks.collect(),
            bounds: bounds.collect(),
            elbo: elbo.collect(),
            sweep: sweep.collect(),
        }
    }

    /// The chosen factorisation: one line a block.
    pub fn factorisation(&self) -> Vec<String> {
        let (_, equations) = self.derived();
        let lines =
            equations.blocks.iter().map(|block| cavi_derivation::describe_block(&equations.symbols, block));
        lines.collect()
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
        let arrays = self.derived().0.symbols.arrays.iter();
        let data = arrays.filter(|array| array.kind == ArrayKind::Data && array.value.is_none());
        data.filter(|array| array.support != Support::Multiplicity).map(|array| array.name.as_str()).collect()
    }

    fn names(&self, kind: ArrayKind) -> Vec<&str> {
        let arrays = self.derived().0.symbols.arrays.iter();
        arrays.filter(|array| array.kind == kind).map(|array| array.name.as_str()).collect()
    }

    fn with_derivation(&self, print: impl FnOnce(&Derivation<'_>) -> String) -> String {
        let program = model_lines(&self.program);
        let (model, equations) = self.derived();
        let schedule = crate::schedule::of_program(model, equations).schedule;
        let schedule: Vec<SweepItem> = schedule.items.iter().map(sweep_item).collect();
        print(&Derivation {
            equations,
            program: &program,
            standard: &cavi_families::standard(),
            schedule: Some(&schedule),
        })
    }
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
