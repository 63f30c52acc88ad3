//! The passes over a plan, in their order.

pub mod broadcast;
pub mod masked;
pub mod opened;
pub mod pad;
pub mod pairs;
pub mod places;
pub mod precision;
pub mod row_wise;
pub mod share;
pub mod squares;
pub mod streamed;
pub mod used;

use cavi_algebra::Equations;

use crate::data::Bound;
use crate::plan::{Plan, Precision, Unplanned};

/// What passes know besides the plan.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The equations.
    pub equations: &'a Equations,
    /// The data.
    pub bound: &'a Bound,
    /// How the arrays that a run reads most are stored.
    pub precision: Precision,
    /// The most values that an intermediate array may have.
    pub limit: usize,
}

/// A pass: it changes how steps are computed, never what they mean.
pub struct Pass {
    /// Its name, that of its file.
    pub name: &'static str,
    /// What it does, and why it stands where it stands.
    pub why: &'static str,
    /// Does it.
    pub run: fn(&mut Plan, &Context) -> Result<(), Unplanned>,
}

/// All passes, in their order.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "used",
        why: "Steps that nothing reads are left out; first, so that no pass works on them.",
        run: used::keep_used,
    },
    Pass {
        name: "share",
        why: "A sum that several steps add up, or that never changes, becomes a step of its own; before all that rewrites sums, while equal \
              ones are written alike.",
        run: share::share,
    },
    Pass {
        name: "pairs",
        why: "Sums of symmetric matrices run over the pairs a <= b; before masks are looked for, which then read pairs.",
        run: pairs::pair,
    },
    Pass {
        name: "masked",
        why: "A product with a mask of zeros and ones becomes a sum over lists of places where these are cheaper.",
        run: masked::mask,
    },
    Pass {
        name: "broadcast",
        why: "What is added to every row of a large array alike is added up first; last of those that take sums apart, \
              since what it leaves is no product.",
        run: broadcast::broadcast,
    },
    Pass {
        name: "squares",
        why: "Squares of large data are multiplied where sums read them; after sums that never change have steps of their own, which read \
              them once.",
        run: squares::square,
    },
    Pass {
        name: "streamed",
        why: "Steps of more values than may be kept are worked out a few rows at a time; after all that add steps or \
              replace large ones.",
        run: streamed::stream,
    },
    Pass {
        name: "opened",
        why: "Squares multiplied out are watched where lost digits would show.",
        run: opened::watch,
    },
    Pass {
        name: "precision",
        why: "Factors that passes over entries gather get copies in single precision, if a run asks for it.",
        run: precision::store,
    },
    Pass {
        name: "pad",
        why: "Rows of factors that are gathered often get whole cache lines; after the sums, which know rows without padding.",
        run: pad::pad,
    },
    Pass {
        name: "row_wise",
        why: "Blocks whose rows follow from their own entries alone are found; after all that replaces steps, since it names those that they read.",
        run: row_wise::find,
    },
    Pass {
        name: "places",
        why: "For each axis of the data, steps that sum over it are told from those along it; last, since it has a mark for \
              every step.",
        run: places::place,
    },
];
