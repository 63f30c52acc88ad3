//! The factor graph in the DOT language of Graphviz.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use petgraph::visit::EdgeRef;

use super::{Edge, FactorGraph, NodeKind};

/// Draws the factor graph for Graphviz. Plates that nest are clusters; of plates that overlap the larger is one, and
/// the subscripts of the variables tell the rest.
pub fn dot(graph: &FactorGraph) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "digraph {} {{", quoted(&graph.name));
    let _ = writeln!(out, "  rankdir = TB; fontname = \"Helvetica\"; compound = true;");
    let _ = writeln!(out, "  node [fontname = \"Helvetica\", fontsize = 12];");
    let members: Vec<BTreeSet<usize>> = (0..graph.plates.len())
        .map(|plate| {
            let inside = graph.graph.node_indices().filter(|node| graph.graph[*node].plates.contains(&plate));
            inside.map(|node| node.index()).collect()
        })
        .collect();
    let mut order: Vec<usize> = (0..graph.plates.len()).collect();
    order.sort_by_key(|plate| (std::cmp::Reverse(members[*plate].len()), *plate));
    let mut clusters: Vec<usize> = Vec::new();
    for plate in order {
        let fits = clusters.iter().all(|other| {
            members[plate].is_subset(&members[*other]) || members[plate].is_disjoint(&members[*other])
        });
        if fits && !members[plate].is_empty() {
            clusters.push(plate);
        }
    }
    // Larger clusters come first, so the parent of a cluster is the last before it that holds it.
    let parent_of = |place: usize| {
        (0..place).rev().find(|before| members[clusters[place]].is_subset(&members[clusters[*before]]))
    };
    let parents: Vec<Option<usize>> = (0..clusters.len()).map(parent_of).collect();
    let home =
        |node: usize| (0..clusters.len()).rev().find(|place| members[clusters[*place]].contains(&node));
    let homes: Vec<Option<usize>> = graph.graph.node_indices().map(|node| home(node.index())).collect();
    write_level(&mut out, graph, &clusters, &parents, &homes, None, 1);
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

fn write_level(
    out: &mut String,
    graph: &FactorGraph,
    clusters: &[usize],
    parents: &[Option<usize>],
    homes: &[Option<usize>],
    level: Option<usize>,
    depth: usize,
) {
    let indent = "  ".repeat(depth);
    for node in graph.graph.node_indices() {
        if homes[node.index()] != level {
            continue;
        }
        let label = quoted(&graph.graph[node].label);
        let style = match graph.graph[node].kind {
            NodeKind::Latent => "shape = ellipse",
            NodeKind::Observed => "shape = ellipse, style = filled, fillcolor = \"#d4dbe2\"",
            NodeKind::Constant => "shape = plaintext",
            NodeKind::Factor => {
                let _ = writeln!(
                    out,
                    "{indent}n{} [shape = square, style = filled, fillcolor = black, width = 0.12, fixedsize = true, label = \"\", xlabel = {label}];",
                    node.index()
                );
                continue;
            }
        };
        let _ = writeln!(out, "{indent}n{} [{style}, label = {label}];", node.index());
    }
    for (place, plate) in clusters.iter().enumerate() {
        if parents[place] != level {
            continue;
        }
        let _ = writeln!(out, "{indent}subgraph cluster_{plate} {{");
        let label = quoted(&graph.plates[*plate].label());
        let _ = writeln!(out, "{indent}  label = {label}; labelloc = b; labeljust = r; style = rounded;");
        write_level(out, graph, clusters, parents, homes, Some(place), depth + 1);
        let _ = writeln!(out, "{indent}}}");
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
