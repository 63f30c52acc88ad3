//! What does the text say, and how is a problem shown at its place in it?
//!
//! In comes text; out go a tree with places and comments ([`ast`]) and diagnostics. This crate knows no axis, no
//! variable and no family: names are looked up in `cavi-model`.

pub mod ast;
pub mod diagnostic;
pub mod span;

pub use diagnostic::{Diagnostic, Severity};
pub use span::Span;
