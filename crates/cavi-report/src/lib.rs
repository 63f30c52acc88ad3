//! What does a page show of a fit?
//!
//! In comes the directory of a fit, out goes one HTML file that needs nothing beside it: what was found in a sentence, the model with its
//! plate diagram, a chart with its table for each latent, the trace of the bound, and the derivation. What is drawn follows from the axes of
//! a latent, their labels, its support and the `report` lines; never from a name. Of several directories the page has the fits beside each
//! other. This crate fits nothing, prints nothing, and writes no file.

mod axes;
mod by;
mod charts;
mod comparison;
mod derivation;
mod figure;
mod fitted;
mod found;
mod html;
mod latents;
pub mod live;
mod mathml;
mod page;
mod policy;
mod shares;

pub use by::Colouring;
pub use comparison::{ComparisonOptions, comparison, comparison_charts, fits_in};
pub use derivation::derivation_html;
pub use figure::{Axes, Figure, Table};
pub use html::escape;
pub use page::{CHART_SCRIPTS, Options, charts, page};
