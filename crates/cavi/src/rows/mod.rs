//! New rows of data for an earlier fit: what they share keeps its q of the fit, and what is their own is fitted.
//!
//! [`crate::heldout::rows`] scores new rows so, and [`crate::project`] writes their latents.

mod axes;
mod earlier;
mod own;
mod start;

pub(crate) use axes::RowAxes;
pub(crate) use earlier::{Earlier, with_constants};
pub(crate) use own::{fit_own, only};
pub(crate) use start::{grown, start};
