//! Is every line of a printed derivation true?
//!
//! In come a program, its equations and their [`Derivation`](cavi_algebra::print::Derivation); out goes what was found of
//! the lines of the page ([`verify`]). The relations are read back from the text of the page (`read`, `rows`) and evaluated as
//! a reader would (`value`), at random data (`random`), under a q that gives each of two alternatives of every copy the same
//! probability: an expectation is then a finite sum, and what a page says of expectations must hold for this q as for any
//! other. Left sides are log-densities that are written a second time (`density`), from the text of the program alone.
//!
//! What this crate never knows: how an equation was derived. It shares no formula with the algebra and the families; what it
//! takes of them are names, shapes, and the standard form that a family computes from natural parameters in numbers. Its
//! logarithms are those of the standard library, and its special functions those of `statrs`: numbers here are compared, and
//! none reaches a fit.

mod alternatives;
mod checks;
mod density;
mod draws;
mod expectation;
mod page;
mod random;
mod read;
mod rows;
mod subject;
mod tally;
mod value;
mod verify;
mod world;

pub use alternatives::{Latents, alternatives};
pub use density::{Squares, log_density_of, log_joint, log_joint_bounded};
pub use draws::{Draw, draw};
pub use random::{Shape, random_bound};
pub use rows::{Row, rows};
pub use subject::Subject;
pub use tally::Tally;
pub use verify::{Failed, KINDS, Kind, Verified, verify};
pub use world::{Positions, World, apply, inverse_and_determinant};
