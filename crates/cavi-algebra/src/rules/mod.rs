//! Rewrites of sums of products. Each keeps the value; each file states its equation.

mod coincidences;
mod complements;
mod differentiate;
mod multiply;
mod push_log_into_product;
mod simplex;
mod substitute;
mod to_sum;

pub use coincidences::coincidences;
pub use complements::{complements, is_complement};
pub use differentiate::differentiate;
pub use multiply::{distribute, divide, multiply, power};
pub use push_log_into_product::{
    has_either_sign, is_negative, is_never_positive, may_be_negative, push_log_into_product,
};
pub use simplex::{sum_simplex, sum_simplex_over};
pub use substitute::{Substitution, refresh, rename_apart, replace_index, substitute};
pub use to_sum::to_sum;
