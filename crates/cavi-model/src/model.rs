//! A program with its names resolved: what is meant.

use std::collections::BTreeSet;

use cavi_algebra::{ArrayId, AxisId, Expression, LetterId, Subscript, Symbols};
use cavi_families::Family;
use cavi_syntax::Span;
use cavi_syntax::ast;

/// A resolved program. Every array of `symbols` has the letters of its own declaration (data, constants) or of the left
/// of its statement (latents); deterministic names are expanded, and kept beside them for who shows the model.
#[derive(Clone, Debug)]
pub struct Model {
    /// The name after `model`, or `model` where there is none.
    pub name: String,
    /// Axes, letters, arrays.
    pub symbols: Symbols,
    /// Where each array is declared (for a latent: the left of its statement).
    pub array_spans: Vec<Span>,
    /// Where each axis is declared.
    pub axis_spans: Vec<Span>,
    /// One for each `~`, in the order of the text.
    pub statements: Vec<Statement>,
    /// Departures from the default factorisation, in the order of the text.
    pub blocks: Vec<BlockSpec>,
    /// For each block and each of its members, the letters (of the member's own dimensions) that number the copies, in
    /// the order of the first member: the p-th letter of every member runs with the p-th of the others.
    pub block_plates: Vec<Vec<Vec<LetterId>>>,
    /// Starts.
    pub init: Vec<InitSpec>,
    /// Deterministic names with what they stand for, in the order of the text. Statements hold their values, not the names.
    pub definitions: Vec<Definition>,
    /// How to fit.
    pub fit: FitSpec,
    /// What to show.
    pub report: Vec<ReportSpec>,
    /// Symbols of the page.
    pub notation: Vec<NotationSpec>,
    /// Constants whose type the program does not state: their support is `Real`, and their sign is not known.
    pub untyped: BTreeSet<ArrayId>,
    /// The statements with their deterministic names; `None` where the program has none.
    pub as_written: Option<AsWritten>,
}

/// The statements of a program with its deterministic names, for who shows them.
#[derive(Clone, Debug)]
pub struct AsWritten {
    /// Axes, letters, arrays, and an array for each deterministic name.
    pub symbols: Symbols,
    /// One for each `~`, in the order of the text.
    pub statements: Vec<Statement>,
}

/// `target ~ Family(arguments)`
#[derive(Clone)]
pub struct Statement {
    /// The variable on the left.
    pub target: ArrayId,
    /// Letters of the left that number independent copies: the dimensions of the target that are no slice, then the groups
    /// of a slice over a ragged axis.
    pub plates: Vec<LetterId>,
    /// Letters of data that the left writes by other names than they are declared with, each with that of the text: of `x[i, j] ~ ...` for
    /// `data x[j, i]` the declared `j` with `i`, and `i` with `j`.
    pub renamed: Vec<(LetterId, LetterId)>,
    /// Letters of the slices on the left.
    pub slices: Vec<LetterId>,
    /// The family.
    pub family: &'static dyn Family,
    /// One for each parameter of the family, in its order; `None` where an optional one is left out.
    pub arguments: Vec<Option<ArgumentSpec>>,
    /// Whether the left is data.
    pub observed: bool,
    /// The whole statement.
    pub span: Span,
}

impl std::fmt::Debug for Statement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Statement")
            .field("target", &self.target)
            .field("family", &self.family.name())
            .field("arguments", &self.arguments)
            .finish_non_exhaustive()
    }
}

/// A deterministic name, `alpha[m, k] = exp(u[m] + v[k])`.
#[derive(Clone, Debug)]
pub struct Definition {
    /// As written.
    pub name: String,
    /// One letter a dimension, as of an array: ancestors of ragged letters are folded into these.
    pub letters: Vec<LetterId>,
    /// Its value over these letters, names in it written out.
    pub value: Expression,
    /// Its line with the names in it, among the symbols of [`AsWritten`].
    pub written: Option<DefinitionAsWritten>,
    /// The place of its name.
    pub span: Span,
}

/// A deterministic name with the names that its value is written in.
#[derive(Clone, Debug)]
pub struct DefinitionAsWritten {
    /// Its array in [`AsWritten::symbols`], over the letters of its left.
    pub target: ArrayId,
    /// What it stands for.
    pub value: Expression,
}

/// An argument as written.
#[derive(Clone, Debug)]
pub struct ArgumentSpec {
    /// Which spelling of the parameter: 0 is the one the density is written in.
    pub spelling: usize,
    /// The value. A vector parameter has `letters[0]` free in it, a matrix both.
    pub value: Expression,
    /// For a vector parameter the letter of its slice: that of the left where the left has one, else its own; for a matrix
    /// row and column.
    pub letters: Vec<LetterId>,
    /// For a matrix whose inverse the density reads, the element of that; `None` for a diagonal one.
    pub inverse: Option<Expression>,
    /// Its place.
    pub span: Span,
}

/// A line of `posterior { }`, one block.
#[derive(Clone, Debug)]
pub struct BlockSpec {
    /// The members.
    pub members: Vec<ArrayId>,
    /// For each member, the letters (of the array's own dimensions) written as slices, `q(z[n, :k])`. For variables
    /// whose own statement has slices these are among them.
    pub slices: Vec<Vec<LetterId>>,
    /// What kind of factor.
    pub kind: BlockKind,
    /// The bound after `by`, resolved by the derivation.
    pub by: Option<(String, Span)>,
    /// Whether the program says `clamp`.
    pub clamp: bool,
    /// Its place.
    pub span: Span,
}

/// The kinds of lines in `posterior { }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// `q(...)`
    Joint,
    /// `point ...`
    Point,
    /// `fixed ...`
    Fixed,
    /// `implicit ...`
    Implicit,
}

/// A line of `init { }`.
#[derive(Clone, Debug)]
pub struct InitSpec {
    /// The variable.
    pub target: ArrayId,
    /// Its start; letters of the array's own dimensions are free in it.
    pub start: Start,
    /// Its place.
    pub span: Span,
}

/// A start.
#[derive(Clone)]
pub enum Start {
    /// `w[i, k] = expr`
    Value(Expression),
    /// `w[i, k] ~ Family(...)`
    Draw {
        /// The family.
        family: &'static dyn Family,
        /// Its arguments, as in a statement.
        arguments: Vec<Option<ArgumentSpec>>,
    },
    /// `z = pca(x)`
    FromData {
        /// `pca`, ...
        method: String,
        /// The data.
        data: ArrayId,
    },
}

impl std::fmt::Debug for Start {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Start::Value(value) => f.debug_tuple("Value").field(value).finish(),
            Start::Draw { family, arguments } => {
                f.debug_struct("Draw").field("family", &family.name()).field("arguments", arguments).finish()
            }
            Start::FromData { method, data } => f.debug_tuple("FromData").field(method).field(data).finish(),
        }
    }
}

/// The settings of `fit { }`.
#[derive(Clone, Debug, Default)]
pub struct FitSpec {
    /// The schedule, resolved to variables; `None` for the derived one.
    pub sweep: Option<Vec<ScheduleItem>>,
    /// `rel_elbo < tolerance for sweeps`
    pub stop: Option<(f64, u64)>,
    /// `restarts = R`
    pub restarts: Option<u64>,
    /// `seed = S`
    pub seed: Option<u64>,
    /// `sweeps = N`
    pub sweeps: Option<u64>,
    /// `accelerate = auto`
    pub accelerate: bool,
    /// `allocations = collapsed`, with its place; `None` where the program does not say.
    pub allocations: Option<(ast::Allocations, Span)>,
    /// `batch doc in 16`, with its place.
    pub batch: Option<(Batch, Span)>,
    /// Warm-ups in order, with their places.
    pub warmup: Vec<(ast::Warmup, Span)>,
}

/// Shards of an axis, visited one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The name of the axis.
    pub axis: String,
    /// How many shards, if the program says so.
    pub shards: Option<u64>,
}

/// An item of a schedule.
#[derive(Clone, Debug)]
pub struct ScheduleItem {
    /// What is updated.
    pub kind: ScheduleKind,
    /// `reset`
    pub reset: bool,
    /// How often, 1 by default.
    pub repeat: u64,
    /// Its place (in the text given to the resolver: the program's or the option's).
    pub span: Span,
}

/// What a schedule's item updates.
#[derive(Clone, Debug)]
pub enum ScheduleKind {
    /// The block that holds this variable.
    Variable(ArrayId),
    /// `(a, b)`
    Group(Vec<ScheduleItem>),
    /// `[a, b]`
    Sequence(Vec<ScheduleItem>),
}

/// A line of `report { }`.
#[derive(Clone, Debug)]
pub enum ReportSpec {
    /// `top 10 word in beta[k, v]`
    Top {
        /// How many.
        count: u64,
        /// The axis whose labels are listed.
        axis: AxisId,
        /// The variable.
        variable: ArrayId,
    },
    /// `heat w`
    Heat(ArrayId),
    /// `bars type in h[k, j]`
    Bars {
        /// The axis along which bars stand.
        axis: AxisId,
        /// The variable.
        variable: ArrayId,
    },
    /// `curve week in d[i, k]`
    Curve {
        /// The axis along which it runs.
        axis: AxisId,
        /// The variable.
        variable: ArrayId,
    },
    /// `intervals w`
    Intervals(ArrayId),
    /// `compare z with FILE:COLUMN`
    Compare {
        /// The variable, which has classes.
        variable: ArrayId,
        /// The file, with its column behind a colon.
        with: String,
    },
    /// `image pixel = 8 x 8`
    Image {
        /// The axis.
        axis: AxisId,
        /// Rows of the picture.
        height: u64,
        /// Columns of the picture.
        width: u64,
    },
}

/// A line of `notation { }`.
#[derive(Clone, Debug)]
pub struct NotationSpec {
    /// The variable, or a deterministic name.
    pub variable: String,
    /// The parameter of its factor of q, and its place; `None` for the variable itself.
    pub parameter: Option<(String, Span)>,
    /// The symbol that stands for it.
    pub symbol: String,
    /// Whether `^2` follows the symbol.
    pub squared: bool,
    /// The place of the symbol.
    pub symbol_span: Span,
    /// The place of the line.
    pub span: Span,
}

impl NotationSpec {
    /// What the symbol stands for, as the program writes it: `theta.concentration`.
    pub fn left(&self) -> String {
        match &self.parameter {
            Some((parameter, _)) => format!("{}.{parameter}", self.variable),
            None => self.variable.clone(),
        }
    }

    /// The symbol, with its square: `sigma^2`.
    pub fn shown(&self) -> String {
        format!("{}{}", self.symbol, if self.squared { "^2" } else { "" })
    }
}

impl Model {
    /// A subscript as a program writes it.
    pub fn subscript_text(&self, subscript: &Subscript) -> String {
        crate::print::subscript(&self.symbols, subscript)
    }

    /// The statement of a latent.
    pub fn statement_of(&self, array: ArrayId) -> Option<&Statement> {
        self.statements.iter().find(|statement| statement.target == array)
    }

    /// The element of an array with its own letters as subscripts.
    pub fn element(&self, array: ArrayId) -> Vec<Subscript> {
        self.symbols.array(array).letters.iter().map(|letter| Subscript::Letter(*letter)).collect()
    }

    /// The letter of each dimension of the target, as its statement writes them: data on the left may be written with other
    /// letters of the same axes than they were declared with.
    pub fn target_letters(&self, statement: &Statement) -> Vec<LetterId> {
        let (mut plates, mut slices) = (statement.plates.iter(), statement.slices.iter());
        let array = self.symbols.array(statement.target);
        let written = array.slice.iter().map(|slice| if *slice { slices.next() } else { plates.next() });
        written.zip(&array.letters).map(|(written, declared)| *written.unwrap_or(declared)).collect()
    }
}
