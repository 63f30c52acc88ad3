//! A program in which nothing is implicit: what was has a factor of q that is stored, as a prediction of single entries reads it.

use cavi_algebra::Equations;
use cavi_model::{BlockKind, Model};

use super::derive_again;

/// The equations of the program with nothing implicit; `None` where it has none in this form.
pub(crate) fn written_out(model: &Model) -> Option<Equations> {
    let mut model = model.clone();
    let implicit = model.blocks.iter_mut().filter(|spec| spec.kind == BlockKind::Implicit);
    implicit.for_each(|spec| spec.kind = BlockKind::Joint);
    derive_again(&model).ok()
}
