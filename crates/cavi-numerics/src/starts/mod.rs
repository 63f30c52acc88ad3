//! Starts from data: principal components and clusters of the rows of a matrix.

mod clusters;
mod components;
mod matrix;

pub use clusters::{Clusters, cluster};
pub use components::{Components, leading_components};
pub use matrix::MatrixView;
pub(crate) use matrix::product;
