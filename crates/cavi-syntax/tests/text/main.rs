//! Text to trees and back, and what is said about text that is no program.

mod laws;
mod reading;
mod rejected;
