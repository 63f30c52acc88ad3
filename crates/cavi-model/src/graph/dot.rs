//! The factor graph in the DOT language of Graphviz.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;

use super::{Edge, FactorGraph, NodeKind};

/// Draws the factor graph for Graphviz. Plates are clusters, which must nest there: of plates that overlap the one with most
/// nodes is drawn whole, and the others as several clusters of one label, a part inside of it and a part outside.
pub fn dot(graph: &FactorGraph) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "digraph {} {{", quoted(&graph.name));
    let _ = writeln!(out, "  rankdir = TB; fontname = \"Helvetica\"; compound = true;");
    let _ = writeln!(out, "  node [fontname = \"Helvetica\", fontsize = 12];");
    let nodes: BTreeSet<NodeIndex> = graph.graph.node_indices().collect();
    let plates: Vec<usize> = (0..graph.plates.len()).collect();
    Writer { graph, out: &mut out, clusters: 0 }.level(&nodes, &plates, 1);
    for edge in graph.graph.edge_references() {
        let style = match edge.weight() {
            Edge::Reads | Edge::Describes => "",
            Edge::Computes => " [style = dashed]",
        };
        let _ = writeln!(out, "  n{} -> n{}{style};", edge.source().index(), edge.target().index());
    }
    out.push_str("}\n");
    out
}

struct Writer<'a> {
    graph: &'a FactorGraph,
    out: &'a mut String,
    /// How many clusters there are so far.
    clusters: usize,
}

impl Writer<'_> {
    /// Some nodes, in clusters of those of the plates that they stand in.
    fn level(&mut self, nodes: &BTreeSet<NodeIndex>, plates: &[usize], depth: usize) {
        let inside = |plate: usize| -> BTreeSet<NodeIndex> {
            nodes.iter().copied().filter(|node| self.graph.graph[*node].plates.contains(&plate)).collect()
        };
        let largest = plates.iter().map(|plate| (inside(*plate), *plate)).filter(|(own, _)| !own.is_empty());
        let largest = largest.max_by_key(|(own, plate)| (own.len(), std::cmp::Reverse(*plate)));
        let Some((own, plate)) = largest else {
            nodes.iter().for_each(|node| self.node(*node, depth));
            return;
        };
        let rest: Vec<usize> = plates.iter().copied().filter(|other| *other != plate).collect();
        let indent = "  ".repeat(depth);
        let label = quoted(&self.graph.plates[plate].label());
        let _ = writeln!(self.out, "{indent}subgraph cluster_{} {{", self.clusters);
        let _ =
            writeln!(self.out, "{indent}  label = {label}; labelloc = b; labeljust = r; style = rounded;");
        self.clusters += 1;
        self.level(&own, &rest, depth + 1);
        let _ = writeln!(self.out, "{indent}}}");
        self.level(&(nodes - &own), &rest, depth);
    }

    fn node(&mut self, node: NodeIndex, depth: usize) {
        let indent = "  ".repeat(depth);
        let label = quoted(&self.graph.graph[node].label);
        let style = match self.graph.graph[node].kind {
            NodeKind::Latent => "shape = ellipse",
            NodeKind::Observed => "shape = ellipse, style = filled, fillcolor = \"#d4dbe2\"",
            NodeKind::Deterministic => "shape = ellipse, peripheries = 2",
            NodeKind::Constant => "shape = plaintext",
            NodeKind::Factor => {
                let _ = writeln!(
                    self.out,
                    "{indent}n{} [shape = square, style = filled, fillcolor = black, width = 0.12, fixedsize = true, label = \"\", xlabel = {label}];",
                    node.index()
                );
                return;
            }
        };
        let _ = writeln!(self.out, "{indent}n{} [{style}, label = {label}];", node.index());
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
