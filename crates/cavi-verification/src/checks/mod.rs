//! What is checked of a page, one kind of line a file.

mod bounds;
mod elbo;
mod joint;
mod overview;
mod remarks;
mod squares;
mod standard;
mod steps;
