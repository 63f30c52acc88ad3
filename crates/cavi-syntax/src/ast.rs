//! The tree: what the text says, with its places and comments, before any name is looked up.

use std::collections::BTreeSet;

use crate::span::Span;

/// An identifier as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its letters.
    pub text: String,
    /// Its place.
    pub span: Span,
}

/// A whole program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Statements and blocks in the order of the text.
    pub statements: Vec<Statement>,
    /// Comments after the last statement.
    pub trailing_comments: Vec<Comment>,
    /// What is still known about lines that could not be parsed; empty if there is no error.
    pub unread: Unread,
}

/// What lines that could not be read may declare.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unread {
    /// Lines whose head is clear, in the order of the text.
    pub heads: Vec<Head>,
    /// Whether there may be an axis whose letters could not be read.
    pub letters_unknown: bool,
    /// Every name on the other lines.
    pub names: BTreeSet<String>,
}

/// The head of a line that could not be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// What the line declares.
    pub kind: HeadKind,
    /// Its name.
    pub name: Name,
    /// Its letters, where they can be told.
    pub letters: Option<Vec<Name>>,
}

/// What a line declares by its first word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadKind {
    /// `axis NAME[...]`, whose letters are clear.
    Axis,
    /// `data NAME...`
    Data,
    /// `const NAME...`
    Const,
    /// `NAME... ~` or `NAME... =`
    Left,
}

/// A comment, without its `#` and the blanks around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// The words.
    pub text: String,
    /// Whether an empty line stands before it.
    pub blank_before: bool,
}

/// Comments and blank lines around a line of the program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trivia {
    /// Comments on lines of their own above it.
    pub above: Vec<Comment>,
    /// Whether an empty line stands right above it (below its comments).
    pub blank_before: bool,
    /// The comment at the end of its line.
    pub beside: Option<String>,
}

/// One statement or block, with its place and comments.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// What it says.
    pub kind: StatementKind,
    /// The whole of it, without comments.
    pub span: Span,
    /// Comments that belong to it.
    pub trivia: Trivia,
}

/// A line of a block, with its place and comments.
#[derive(Clone, Debug, PartialEq)]
pub struct Item<T> {
    /// What it says.
    pub kind: T,
    /// The whole line.
    pub span: Span,
    /// Comments that belong to it.
    pub trivia: Trivia,
}

/// The lines of a block in braces.
#[derive(Clone, Debug, PartialEq)]
pub struct Block<T> {
    /// One item a line.
    pub items: Vec<Item<T>>,
    /// Comments after the last item, before the closing brace.
    pub trailing_comments: Vec<Comment>,
    /// The comment at the end of the line of the closing brace.
    pub beside_close: Option<String>,
}

/// The kinds of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// `model lda`
    Model(Name),
    /// `axis feature[j] in view[m] = 3`
    Axis(Axis),
    /// `data x[n, m, j] : real, absent = NA, center over n`
    Data(Data),
    /// `const alpha[k] : positive = 0.1`
    Const(Const),
    /// `theta[d, :k] ~ Dirichlet(alpha)`
    Distribution(Distribution),
    /// `D[i, k] = exp(d[i, k])`
    Definition {
        /// The name and its subscripts.
        target: Reference,
        /// What it stands for.
        value: Expression,
    },
    /// `posterior { ... }`
    Posterior(Block<PosteriorItem>),
    /// `init { ... }`
    Init(Block<InitItem>),
    /// `fit { ... }`
    Fit(Block<FitItem>),
    /// `report { ... }`
    Report(Block<ReportItem>),
    /// `notation { ... }`
    Notation(Block<NotationItem>),
}

/// `axis NAME[LETTERS] (in PARENT([LETTERS])) (= SIZE)`
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The axis.
    pub name: Name,
    /// Its letters, one or more.
    pub letters: Vec<Name>,
    /// The axis it is ragged in, and the letters written there (may be none).
    pub parent: Option<(Name, Vec<Name>)>,
    /// Its size.
    pub size: Option<Expression>,
}

/// `data NAME[LETTERS] (: TYPE) (= EXPRESSION) (, OPTION)*`
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// The array.
    pub name: Name,
    /// Its letters (none for a scalar).
    pub letters: Vec<Name>,
    /// Its type; absent only for derived data.
    pub data_type: Option<DataType>,
    /// For `data y[n] = log(x[n] + 1)`.
    pub value: Option<Expression>,
    /// What follows the commas, in order.
    pub options: Vec<DataOption>,
}

/// A data type as written: one of the eight words, `index` with its axis. Unknown words are kept for the resolver.
#[derive(Clone, Debug, PartialEq)]
pub struct DataType {
    /// `real`, `count`, `index`, ...
    pub word: Name,
    /// The axis after `index`.
    pub axis: Option<Name>,
}

/// An option of a data statement.
#[derive(Clone, Debug, PartialEq)]
pub enum DataOption {
    /// `absent = 0`, `absent = NA`, `absent = 0, NA`
    Absent {
        /// `0` is among the words.
        zero: bool,
        /// `NA` is among the words.
        missing: bool,
        /// The option.
        span: Span,
    },
    /// `center over n`
    Center(Name),
    /// `scale over n`
    Scale(Name),
    /// `i != j`
    Different(Name, Name),
    /// `i < j`
    Less(Name, Name),
}

/// `const NAME[LETTERS] (: TYPE) (= EXPRESSION)`
#[derive(Clone, Debug, PartialEq)]
pub struct Const {
    /// The array.
    pub name: Name,
    /// Its letters.
    pub letters: Vec<Name>,
    /// Its type, if written.
    pub data_type: Option<DataType>,
    /// Its value, if written.
    pub value: Option<Expression>,
}

/// `TARGET ~ FAMILY(ARGUMENTS)`
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// The variable on the left.
    pub target: Reference,
    /// The family's name.
    pub family: Name,
    /// Its arguments.
    pub arguments: Vec<Argument>,
}

/// An argument, by position or by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// `rate` in `rate = 3`.
    pub name: Option<Name>,
    /// The value.
    pub value: Expression,
}

/// A name with its subscripts: `w[m, j, :k]`, `mu[z[n], j]`, `tau`.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The name.
    pub name: Name,
    /// The subscripts; `None` where no brackets were written.
    pub subscripts: Option<Vec<Subscript>>,
    /// Name and brackets.
    pub span: Span,
}

/// One subscript.
#[derive(Clone, Debug, PartialEq)]
pub enum Subscript {
    /// `:k`
    Slice(Name),
    /// `k`, `z[n]`, or a bare name: which of letter and array it is, the resolver says.
    Reference(Reference),
}

/// An expression with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// What it is.
    pub kind: ExpressionKind,
    /// Its place.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpressionKind {
    /// A number, with its text as written.
    Number(f64, String),
    /// An array's element or slice.
    Reference(Reference),
    /// `-x`
    Negate(Box<Expression>),
    /// `a + b` and its kin.
    Binary(BinaryOperator, Box<Expression>, Box<Expression>),
    /// `exp(x)`, or a family's name where a kernel stands: `white(sd = 1)`.
    Call(Name, Vec<Argument>),
    /// `sum[k, l](body)`
    Sum(Vec<Name>, Box<Expression>),
    /// `[j == l]`, `[j != l]`, `[j < l]`
    Indicator(Comparison, Name, Name),
}

/// How two letters compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    Different,
    /// `<`
    Less,
}

/// The operators, loosest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `^`
    Power,
}

/// A line of `posterior { }`.
#[derive(Clone, Debug, PartialEq)]
pub enum PosteriorItem {
    /// `q(z[n, :k])`, `q(mu[k, j], tau[k, j])`
    Joint(Vec<Reference>),
    /// `point w[i, k], h`; each element is one block, a bracketed list is one block of several members.
    Point {
        /// The blocks.
        blocks: Vec<Vec<Reference>>,
        /// The bound after `by`.
        by: Option<Name>,
        /// Whether `clamp` stands at the end.
        clamp: Option<Span>,
    },
    /// `fixed w, h`
    Fixed(Vec<Reference>),
    /// `implicit z[d, t]`
    Implicit(Vec<Reference>),
}

/// A line of `init { }`.
#[derive(Clone, Debug, PartialEq)]
pub enum InitItem {
    /// `w[i, k] = expr`, also `z = pca(x)`
    Value {
        /// The variable.
        target: Reference,
        /// Its start.
        value: Expression,
    },
    /// `w[i, k] ~ Gamma(1, rate = 1)`
    Draw(Distribution),
}

/// A line of `fit { }`.
#[derive(Clone, Debug, PartialEq)]
pub enum FitItem {
    /// `sweep theta, (w, h) repeat 3`
    Sweep(Vec<ScheduleItem>),
    /// `stop when rel_elbo < 1e-6 for 3`
    Stop {
        /// The quantity, `rel_elbo`.
        quantity: Name,
        /// The tolerance.
        tolerance: f64,
        /// For how many sweeps running.
        sweeps: Option<u64>,
    },
    /// `restarts = 10`, `seed = 1`, `sweeps = 100`, `accelerate = auto`, `allocations = collapsed`
    Setting {
        /// The setting.
        name: Name,
        /// A number or a word.
        value: Expression,
    },
    /// `warmup means 60`, `warmup collapsed 60`, `warmup shapes 0.6 over 40`
    Warmup(Vec<Warmup>),
    /// `batch doc`, `batch doc in 16`
    Batch {
        /// The axis that is cut into shards.
        axis: Name,
        /// How many shards, if the line says so.
        shards: Option<u64>,
    },
}

/// One warm-up.
#[derive(Clone, Debug, PartialEq)]
pub enum Warmup {
    /// `means 60`
    Means(u64),
    /// `collapsed 60`
    Collapsed(u64),
    /// `shapes 0.6 over 40`
    Shapes(f64, u64),
}

/// What allocations are proportional to, in all sweeps of a fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocations {
    /// The exponentials of the addends' expected logs, at which the bound is tight.
    #[default]
    Ordinary,
    /// The addends' expectations.
    Means,
    /// The addends' expectations, each unit's own share left out of them.
    Collapsed,
}

impl Allocations {
    /// All of them.
    pub const ALL: [Allocations; 3] = [Allocations::Ordinary, Allocations::Means, Allocations::Collapsed];

    /// The word that programs and options have for it.
    pub fn word(self) -> &'static str {
        match self {
            Allocations::Ordinary => "ordinary",
            Allocations::Means => "means",
            Allocations::Collapsed => "collapsed",
        }
    }

    /// The rule of a word.
    pub fn of_word(word: &str) -> Option<Allocations> {
        Allocations::ALL.into_iter().find(|own| own.word() == word)
    }
}

/// An item of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleItem {
    /// What is updated.
    pub kind: ScheduleKind,
    /// `reset` stands before `repeat`.
    pub reset: bool,
    /// `repeat N`; 1 where not written.
    pub repeat: u64,
    /// The item.
    pub span: Span,
}

/// What a schedule's item updates.
#[derive(Clone, Debug, PartialEq)]
pub enum ScheduleKind {
    /// The block that holds this variable.
    Variable(Name),
    /// `(a, b)`: one refresh of the allocations for all.
    Group(Vec<ScheduleItem>),
    /// `[a, b]`: one after another.
    Sequence(Vec<ScheduleItem>),
}

/// A line of `report { }`.
#[derive(Clone, Debug, PartialEq)]
pub enum ReportItem {
    /// `top 10 word in beta[k, v]`
    Top {
        /// How many.
        count: u64,
        /// The axis whose labels are listed.
        axis: Name,
        /// The variable.
        variable: Reference,
    },
    /// `heat w`
    Heat(Reference),
    /// `image pixel = 8 x 8`
    Image {
        /// The axis.
        axis: Name,
        /// Rows of the picture.
        height: u64,
        /// Columns of the picture.
        width: u64,
    },
    /// `bars type in h[k, j]`
    Bars {
        /// The axis along which bars stand.
        axis: Name,
        /// The variable.
        variable: Reference,
    },
    /// `curve week in d[i, k]`
    Curve {
        /// The axis along which it runs.
        axis: Name,
        /// The variable.
        variable: Reference,
    },
    /// `intervals w`
    Intervals(Reference),
    /// `compare z with FILE:COLUMN`
    Compare {
        /// The variable.
        variable: Reference,
        /// The file, with its column behind a colon.
        with: String,
    },
    /// A line that is not known: a warning.
    Unknown(String),
}

/// A line of `notation { }`: `theta.concentration = gamma`, `sigma2 = sigma^2`.
#[derive(Clone, Debug, PartialEq)]
pub struct NotationItem {
    /// The variable.
    pub variable: Name,
    /// The parameter of its factor of q; `None` for the variable itself.
    pub parameter: Option<Name>,
    /// The symbol that stands for it.
    pub symbol: Name,
    /// Whether `^2` follows the symbol.
    pub squared: bool,
}
