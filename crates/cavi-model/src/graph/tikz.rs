//! The factor graph as a TikZ picture for LaTeX: the drawing of `svg`, its names set as the derivation sets them.

use std::fmt::Write as _;

use cavi_algebra::print::latex;
use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;

use super::frame::{Drawing, RISE, SQUARE, VARIABLE};
use super::{Edge, FactorGraph, NodeKind, Plate};

/// The length of a unit of the drawing, in points, across and down. Symbols of mathematics are narrower than the names that the drawing has room
/// for, so that it may be drawn closer than its letters are set.
const UNIT: f64 = 0.55;
const DOWN: f64 = 0.48;
/// The height of a variable, in units: letters of ten points with room around them.
const HEIGHT: f64 = 20.0 / DOWN;
/// The widest picture, in points: a little less than the column of an article. A wider one is scaled down as a whole.
const COLUMN: f64 = 335.0;

/// Draws the factor graph for a document that loads tikz and amsmath.
pub fn tikz(graph: &FactorGraph) -> String {
    tikz_within(graph, COLUMN, f64::INFINITY)
}

/// The same, no wider and no higher than so many points.
pub fn tikz_within(graph: &FactorGraph, width: f64, height: f64) -> String {
    let drawing = Drawing::new(graph);
    let mut out = String::from("% needs \\usepackage{tikz,amsmath}\n");
    let frame = &drawing.frame;
    let scale = (width / (UNIT * frame.width)).min(height / (DOWN * frame.height)).min(1.0);
    // Nodes are scaled with the picture, corners are not.
    let corners = 11.0 * scale;
    let scale = if scale < 1.0 { format!("scale = {scale:.2}, transform shape, ") } else { String::new() };
    let _ = writeln!(
        out,
        "\\begin{{tikzpicture}}[{scale}x = {UNIT}pt, y = -{DOWN}pt, line width = 0.6pt, >=stealth,\n    \
         quantity/.style = {{draw, rounded corners = {corners:.1}pt, minimum height = 20pt, minimum width = 24pt}}]"
    );
    write_plates(&mut out, graph, &drawing);
    for edge in graph.graph.edge_references() {
        write_edge(&mut out, graph, &drawing, edge.source(), edge.target(), *edge.weight());
    }
    for place in 0..drawing.units.len() {
        write_unit(&mut out, graph, &drawing, place);
    }
    out.push_str("\\end{tikzpicture}\n");
    out
}

/// The boxes, the outer ones first, with their labels in the lower right corner.
fn write_plates(out: &mut String, graph: &FactorGraph, drawing: &Drawing) {
    let mut order: Vec<usize> = (0..graph.plates.len()).collect();
    order.sort_by_key(|plate| std::cmp::Reverse(drawing.levels[*plate]));
    for plate in order {
        let Some(cell) = &drawing.cells[plate] else { continue };
        let [left, top, right, bottom] = drawing.frame.rectangle(cell, drawing.levels[plate]);
        let label = plate_label(&graph.plates[plate]);
        let _ = writeln!(
            out,
            "  \\draw[rounded corners = 5pt] ({left:.1}, {top:.1}) rectangle ({right:.1}, {bottom:.1}) \
             node[anchor = south east, inner sep = 1.5pt, font = \\scriptsize] {{{label}}};"
        );
    }
}

/// `factor $k$ = 15`
fn plate_label(plate: &Plate) -> String {
    let letter = latex::written(&plate.letter, &[]);
    let size = plate.size.as_ref().map_or_else(String::new, |size| format!(" = {}", latex::plain(size)));
    format!("{} ${letter}${size}", latex::plain(&plate.axis))
}

/// A variable's name and subscripts from `theta[d, :k]`.
fn variable_label(graph: &FactorGraph, label: &str) -> String {
    let (name, rest) = label.split_once('[').unwrap_or((label, ""));
    let inside = rest.strip_suffix(']').unwrap_or(rest);
    let subscripts: Vec<&str> = inside.split(',').map(str::trim).filter(|own| !own.is_empty()).collect();
    latex::written(graph.apart.get(name).map_or(name, String::as_str), &subscripts)
}

fn write_edge(
    out: &mut String,
    graph: &FactorGraph,
    drawing: &Drawing,
    source: NodeIndex,
    target: NodeIndex,
    edge: Edge,
) {
    let (from, to) = (drawing.spot(source), drawing.spot(target));
    if edge == Edge::Describes {
        let (top, bottom) = (from.y - RISE + SQUARE / 2.0, from.y - HEIGHT / 2.0);
        let _ = writeln!(out, "  \\draw[->] ({0:.1}, {top:.1}) -- ({0:.1}, {bottom:.1});", from.x);
        return;
    }
    let factor = graph.graph[target].kind == NodeKind::Factor;
    let (end, head) = if factor { (to.y - RISE - SQUARE / 2.0, "-") } else { (to.y - HEIGHT / 2.0, "->") };
    let dashes = if edge == Edge::Computes { ", dashed" } else { "" };
    let constant = graph.graph[source].kind == NodeKind::Constant;
    let start = from.y + if constant { VARIABLE / 2.0 - 4.0 } else { HEIGHT / 2.0 };
    let bend = ((end - start) * 0.5).max(8.0);
    let _ = writeln!(
        out,
        "  \\draw[{head}{dashes}] ({0:.1}, {start:.1}) .. controls ({0:.1}, {1:.1}) and ({2:.1}, {3:.1}) .. ({2:.1}, {end:.1});",
        from.x,
        start + bend,
        to.x,
        end - bend
    );
}

fn write_unit(out: &mut String, graph: &FactorGraph, drawing: &Drawing, place: usize) {
    let (unit, spot) = (&drawing.units[place], drawing.frame.spots[place]);
    let node = &graph.graph[unit.variable];
    let label = variable_label(graph, &node.label);
    let (x, y) = (spot.x, spot.y);
    if node.kind == NodeKind::Constant {
        let dot = y + VARIABLE / 2.0 - 4.0;
        let _ = writeln!(
            out,
            "  \\fill ({x:.1}, {dot:.1}) circle (2pt) node[above, inner sep = 4pt] {{${label}$}};"
        );
    } else {
        let fill = match node.kind {
            NodeKind::Observed => "black!15",
            NodeKind::Deterministic => "white, double",
            NodeKind::Latent | NodeKind::Constant | NodeKind::Factor => "white",
        };
        let _ = writeln!(out, "  \\node[quantity, fill = {fill}] at ({x:.1}, {y:.1}) {{${label}$}};");
    }
    if let Some(factor) = unit.factor {
        let (top, half) = (y - RISE, SQUARE / 2.0);
        let _ = writeln!(
            out,
            "  \\fill ({:.1}, {:.1}) rectangle ({:.1}, {:.1});",
            x - half,
            top - half,
            x + half,
            top + half
        );
        let family = latex::plain(&graph.graph[factor].label);
        let _ = writeln!(
            out,
            "  \\node[anchor = west, inner sep = 2pt, font = \\scriptsize] at ({:.1}, {top:.1}) {{{family}}};",
            x + half + 2.0
        );
    }
}
