//! stub
use crate::model::Model;
/// stub
pub struct FactorGraph;
/// stub
pub struct Drawing;
/// stub
pub fn factor_graph(_m: &Model) -> FactorGraph { FactorGraph }
/// stub
pub fn dot(_m: &FactorGraph) -> String { String::new() }
/// stub
pub fn svg(_m: &FactorGraph) -> String { String::new() }
