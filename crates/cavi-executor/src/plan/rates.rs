//! The time that kernels take: the constants from which `cavi plan` predicts seconds.
//!
//! Seconds of one thread of the machine of the benches: a Xeon of the Sapphire Rapids generation with AVX-512, 48 KiB
//! of L1 and 2 MiB of L2 a core, in a virtual machine of two cores. They are constants and are not measured when a
//! plan is made, so that a plan is the same wherever it is made. Another machine is slower or faster by about one
//! factor for all of them.
//!
//! Measured, or held against runs, by
//!
//! ```sh
//! cargo bench -p cavi-numerics --bench rates      # contractions
//! cargo bench -p cavi-numerics --bench special    # functions, matrices
//! cargo bench -p cavi-numerics --bench passes     # passes over listed entries
//! cargo bench -p cavi-numerics --bench filled     # passes by matrix products
//! cargo bench -p cavi-numerics --bench masked     # sums over masks
//! python tests/bench/predicted.py target/release/cavi    # whole sweeps
//! ```

use crate::plan::masked::LISTED;

/// The kinds of work that steps consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Kind {
    /// A step, whatever it does: stamps looked up, slices made.
    Step,
    /// A call of a contraction or product: its letters simplified, its loops chosen.
    Call,
    /// A multiply-add of a matrix product that packs both sides.
    Packed,
    /// One of a product with a narrow side, padded to whole vectors.
    Narrow,
    /// An element that a product copies or adds one by one.
    Copied,
    /// A place of a list that stands for a mask.
    Listed,
    /// A value of the row that is added there.
    ListedValue,
    /// An offset that is looked up before a run of an innermost loop.
    Row,
    /// A value that a loop over contiguous values reads or adds to.
    Value,
    /// A value that is read or written at a stride.
    Gathered,
    /// One through a table, of an array that stays in L2.
    LookedUp,
    /// One of a larger array.
    LookedUpFar,
    /// A byte of an array beyond L2.
    Far,
    /// A byte of an array of more than 32 MiB.
    Memory,
    /// A value copied, compared, divided: what describing a factor of q or a point takes.
    Plain,
    /// A value of a sum that is cleared and looked through for what is no number.
    Zeroed,
    /// `exp` or `ln`, eight at a time.
    ExpOrLn,
    /// `digamma`, `trigamma` or `log gamma`, eight at a time.
    Special,
    /// A function one value at a time: `log(1 + exp(x))`, `digamma` of a row's sum.
    Scalar,
    /// The normal distribution function or its inverse, and their logs.
    Tail,
    /// The Bessel function.
    Bessel,
    /// The probability of a category: its share of short rows, or its entropy.
    Choice,
    /// A row of an entropy that is paired with its prior, a statistic.
    Paired,
    /// The cube of the size of a matrix that is factorised and inverted: its inner loops.
    Cube,
    /// The square of that size: its outer loops.
    Square,
    /// An element of a matrix that is multiplied by a row's vector.
    Applied,
    /// An entry of a pass, whatever its categories.
    Entry,
    /// A category of an entry and a mode: the factor read for the sum.
    Read,
    /// The same of a factor beyond L2, of which no strip is visited at a time.
    ReadFar,
    /// A category of an entry and a mode: the count added.
    Add,
    /// The same beyond L2.
    AddFar,
    /// An entry of a pass by matrix products: divided, its weight read.
    Place,
    /// A multiply-add of these products.
    Filled,
    /// The logarithm of an entry's sum.
    Logarithm,
    /// A category of an entry in log space.
    Rare,
    /// A category of an allocation that is a step.
    Share,
    /// A node that a step of copies in order works out anew in part.
    Moved,
}

/// The number of kinds.
pub const KINDS: usize = Kind::Moved as usize + 1;

/// The seconds of each.
pub const SECONDS: [(Kind, f64); KINDS] = [
    (Kind::Step, 0.3e-6),
    (Kind::Call, 0.35e-6),
    (Kind::Packed, 0.05e-9),
    (Kind::Narrow, 0.05e-9),
    (Kind::Copied, 0.7e-9),
    (Kind::Listed, LISTED[0]),
    (Kind::ListedValue, LISTED[1]),
    (Kind::Row, 1.7e-9),
    (Kind::Value, 0.08e-9),
    (Kind::Gathered, 0.45e-9),
    (Kind::LookedUp, 1.2e-9),
    (Kind::LookedUpFar, 8e-9),
    (Kind::Far, 0.035e-9),
    (Kind::Memory, 0.09e-9),
    (Kind::Plain, 0.85e-9),
    (Kind::Zeroed, 0.3e-9),
    (Kind::ExpOrLn, 1.4e-9),
    (Kind::Special, 4.0e-9),
    (Kind::Scalar, 15e-9),
    (Kind::Tail, 250e-9),
    (Kind::Bessel, 1e-6),
    (Kind::Choice, 4e-9),
    (Kind::Paired, 8e-9),
    (Kind::Cube, 0.08e-9),
    (Kind::Square, 6e-9),
    (Kind::Applied, 1.5e-9),
    (Kind::Entry, 1.3e-9),
    (Kind::Read, 0.05e-9),
    (Kind::ReadFar, 0.25e-9),
    (Kind::Add, 0.13e-9),
    (Kind::AddFar, 0.4e-9),
    (Kind::Place, 1.2e-9),
    (Kind::Filled, 0.036e-9),
    (Kind::Logarithm, 1.8e-9),
    (Kind::Rare, 20e-9),
    (Kind::Share, 9e-9),
    (Kind::Moved, 3.3e-6),
];

/// What a second thread adds to the speed of a step that is cut into tasks.
pub const SHARED: f64 = 0.7;
