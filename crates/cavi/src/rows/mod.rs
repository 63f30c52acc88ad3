//! New rows of data for an earlier fit: what they share keeps its q of the fit, and what is their own is fitted.
//!
//! [`crate::heldout::rows`] scores new rows so, and [`crate::project`] writes their latents. Rows of data are also taken by themselves (`gathered.rs`)
//! and counted as often as they weigh (`weights.rs`, `entries.rs`, `observations.rs`, `repeated.rs`).

mod axes;
mod earlier;
mod entries;
mod gathered;
mod observations;
mod own;
mod repeated;
mod start;
mod weights;

pub(crate) use axes::RowAxes;
pub(crate) use earlier::{Earlier, with_constants};
pub(crate) use entries::{Entries, Groups, Moments, change_observed};
pub(crate) use gathered::Gathering;
pub(crate) use observations::observations;
pub(crate) use own::{fit_own, only};
pub(crate) use repeated::Repeated;
pub(crate) use start::{Known, grown, start};
pub(crate) use weights::{RowWeights, of_entries};
