//! What is meant: names, plates, supports, the factor graph?
//!
//! In comes the tree; out go a resolved [`Model`] and diagnostics. This crate knows families by what they declare, and
//! no data.

pub mod model;

mod graph;
mod print;
mod resolve;
mod stated;

pub use graph::{Edge, FactorGraph, Node, NodeKind, Plate, dot, factor_graph, svg, tikz, tikz_within};
pub use model::{
    ArgumentSpec, AsWritten, Batch, BlockKind, BlockSpec, Definition, DefinitionAsWritten, FitSpec, InitSpec,
    Model, NotationSpec, ReportSpec, ScheduleItem, ScheduleKind, Start, Statement,
};
pub use print::{expression as text_of, print};
pub use resolve::{Set, resolve, resolve_schedule, resolve_with};
pub use stated::{defined, named, stated};
