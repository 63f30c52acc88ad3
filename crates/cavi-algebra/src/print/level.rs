//! How much of a derivation is printed.

/// How much of a derivation is printed. Every relation of a shorter page stands on the longer ones, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// For an appendix: the formulas of the updates, of the algorithm and of the bound, without the way to them.
    Paper,
    /// With the principle, and a reason at each step.
    #[default]
    Full,
    /// With the principle at length and every line between the log joint and an update.
    Lecture,
}
