//! Bounds: what makes a term tractable by giving something up. One bound a file; each is tight at its optimum.

mod jensen_log_sum;
pub mod lee_seung;

pub use jensen_log_sum::{Bounded, bound_logs, is_complement_of};
