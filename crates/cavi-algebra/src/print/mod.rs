//! Equations as people read them: text for a terminal, LaTeX for a paper, Markdown for a page.
//!
//! In come sums, blocks and whole [`Equations`](crate::Equations); out goes text. A sum is walked once (`build`), into a
//! tree of notation (`node`), and each format is one exhaustive match on that tree (`text`, `latex`). What this module
//! never knows: a family. How natural parameters become the ones that papers print is told by [`Standard`].
//!
//! - Letters: never two with the same name in one expression; a ragged letter stands behind its ancestors.
//! - `E[x]`, `Var(x)`, `Cov(x, y)` under q; `q(z[n] = c)` for an expected indicator; `phi[d,v,k]` for an allocation.
//! - LaTeX needs `amsmath` and `mathtools`.

mod ascent;
mod bounds;
mod build;
mod collected;
mod cost;
mod counts;
mod curvature;
mod derivation;
mod document;
mod elbo;
mod implicit;
mod json;
pub mod latex;
mod left_out;
mod letters;
mod level;
mod meanings;
mod mode;
mod model;
mod named;
mod node;
mod notation;
mod number;
mod overview;
mod page;
mod parameters;
mod partly_observed;
mod principle;
mod processes;
mod quantities;
mod raises;
mod references;
mod remarks;
mod scope;
mod squares;
mod standard;
mod steps;
mod sweep;
mod table;
#[cfg(test)]
mod tests;
pub mod text;
mod width;
mod words;

pub use derivation::{Derivation, Run, derivation};
pub use document::Printed;
pub use json::{Json, VERSION};
pub use level::Level;
pub use model::{Defined, Stated, StatedArgument, letters_of};
pub use named::Named;
pub use notation::{Chosen, Notation};
pub use references::Source;
pub use scope::Scope;
pub use standard::{Formula, Limit, Standard, StandardParameter};
pub use sweep::{SweepItem, SweepStep};

/// A format of printed equations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Plain text, `sum[j](x[i,j] * phi[i,j,k])`.
    Text,
    /// LaTeX, a fragment for a document that loads amsmath and mathtools.
    Latex,
    /// Markdown with LaTeX between dollars.
    Markdown,
}

/// In how many columns the page is set that a derivation in LaTeX is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// One, as in an article.
    #[default]
    One,
    /// Two, as in proceedings.
    Two,
}
