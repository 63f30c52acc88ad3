//! Equations as people read them: text for a terminal, LaTeX for a paper, Markdown for a page.
//!
//! In come sums, blocks and whole [`Equations`](crate::Equations); out goes text. A sum is walked once (`build`), into a
//! tree of notation (`node`), and each format is one exhaustive match on that tree (`text`, `latex`). What this module
//! never knows: a family. How natural parameters become the ones that papers print is told by [`Standard`].
//!
//! - Letters: never two with the same name in one expression; a ragged letter stands behind its ancestors.
//! - `E[x]`, `Var(x)`, `Cov(x, y)` under q; `q(z[n] = c)` for an expected indicator; `phi[d,v,k]` for an allocation.
//! - LaTeX needs `amsmath`, `mathtools` and (for the blackboard E) `amssymb`.

mod ascent;
mod build;
mod derivation;
mod document;
pub mod latex;
mod letters;
mod node;
mod number;
mod scope;
mod standard;
#[cfg(test)]
mod tests;
pub mod text;
mod words;

pub use derivation::{Derivation, SweepItem, SweepStep, derivation};
pub use scope::Scope;
pub use standard::{Formula, Standard, StandardParameter};

/// A format of printed equations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Plain text, `sum[j](x[i,j] * phi[i,j,k])`.
    Text,
    /// LaTeX, a fragment for a document that loads amsmath, amssymb and mathtools.
    Latex,
    /// Markdown with LaTeX between dollars.
    Markdown,
}
