//! What does the text say, and how is a problem shown at its place in it?
//!
//! In comes text; out go a tree with places and comments ([`ast`]) and diagnostics. This crate knows no axis, no
//! variable and no family: names are looked up in `cavi-model`.

pub mod ast;
pub mod diagnostic;
pub mod span;

mod cut_off;
mod erase;
mod explain;
mod foreign;
mod lines;
mod mistakes;
mod parse;
mod print;
mod render;
mod suggest;
mod tokens;
mod tree;
mod unread;

pub use cut_off::{CutOff, cut_off, cut_off_by_name};
pub use diagnostic::{Diagnostic, Severity};
pub use parse::{parse, parse_number_expression, parse_schedule, parse_warmup};
pub use print::{print, print_expression, print_reference};
pub use render::{Places, position, render, render_all};
pub use span::Span;
pub use suggest::nearest;
