//! One statement alone: a program whose posterior is the prior of its variable, from which starts are drawn.

use cavi_algebra::{Equations, Support};
use cavi_model::{FitSpec, Model, Statement};

use super::derive_again;

/// The equations of the statement alone; `None` where its family has no factor of q.
pub(crate) fn prior_alone(model: &Model, statement: Statement) -> Option<Equations> {
    let mut symbols = model.symbols.clone();
    let own = &mut symbols.arrays[statement.target.index()].support;
    // A draw from another family than the prior has the support of that family.
    if let Some(support) = statement.family.latent().filter(|_| !matches!(own, Support::Index(_)))
        && !(own.is_nonnegative() && support == Support::Real)
    {
        *own = support;
    }
    let alone = Model {
        symbols,
        statements: vec![statement],
        blocks: Vec::new(),
        block_plates: Vec::new(),
        init: Vec::new(),
        fit: FitSpec::default(),
        report: Vec::new(),
        ..model.clone()
    };
    derive_again(&alone).ok()
}
