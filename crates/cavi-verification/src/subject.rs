//! What is verified.

use cavi_algebra::Equations;
use cavi_model::Model;

/// A program whose names are resolved, and what was derived from it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// What the program says.
    pub model: &'a Model,
    /// What was derived.
    pub equations: &'a Equations,
}
