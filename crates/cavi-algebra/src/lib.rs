//! What is an equation, and when are two of them equal?
//!
//! In come expressions with resolved names; out go sums of products in canonical form and, filled by `cavi-derivation`,
//! the [`Equations`] that the number side runs. This crate knows no family, no text and no data.

pub mod bound;
pub mod canonical;
pub mod contribution;
pub mod equations;
pub mod evaluate;
pub mod expression;
pub mod print;
pub mod rules;
pub mod statistic;
pub mod sum_of_products;
pub mod symbols;

pub use bound::{BoundWords, Inequality, Reference, Side, StatedBound};
pub use contribution::Contribution;
pub use equations::{
    Addend, Ascent, Auxiliary, Block, Collapsed, Elbo, Equations, LeftOut, Mode, Natural, Part, Rotated,
    Rotation, Shift, Site, StatementEquation,
};
pub use expression::{Comparison, Expression, Function, MatrixFunction, Subscript};
pub use statistic::{Elementary, Statistic};
pub use sum_of_products::{Atom, Coefficient, ExpectedSquare, Factor, Moment, Sum, Term, dedup};
pub use symbols::{
    Absent, Array, ArrayId, ArrayKind, AuxiliaryId, Axis, AxisId, BlockId, BoundId, FamilyId, Letter,
    LetterId, Restriction, SiteId, StatementId, Support, Symbols,
};
