//! The factor graph as SVG, laid out by this crate: plates are rounded boxes around their members.

use std::fmt::Write as _;

use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;

use super::frame::{Drawing, FONT, Frame, RISE, SMALL, SQUARE, Spot, Unit, VARIABLE, pill};
use super::{Edge, FactorGraph, NodeKind};

/// How far the outer border of a deterministic name stands from the inner one.
const RIM: f64 = 3.0;

/// Draws the factor graph.
pub fn svg(graph: &FactorGraph) -> String {
    let drawing = Drawing::new(graph);
    let Drawing { units, cells, levels, frame } = &drawing;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0} {1:.0}\" width=\"{0:.0}\" height=\"{1:.0}\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">",
        frame.width, frame.height
    );
    let _ = writeln!(out, "<title>{}</title>", escape(&graph.name));
    out.push_str(
        "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0.8 L8 4 L0 7.2 z\" fill=\"#333\"/></marker></defs>\n",
    );
    let _ = writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>");
    write_plates(&mut out, graph, frame, cells, levels);
    for edge in graph.graph.edge_references() {
        write_edge(&mut out, graph, &drawing, edge.source(), edge.target(), *edge.weight());
    }
    for (unit, spot) in units.iter().zip(&frame.spots) {
        write_unit(&mut out, graph, unit, *spot);
    }
    write_plate_labels(&mut out, graph, frame, cells, levels);
    out.push_str("</svg>\n");
    out
}

fn write_plates(
    out: &mut String,
    graph: &FactorGraph,
    frame: &Frame,
    cells: &[Option<[i32; 4]>],
    levels: &[usize],
) {
    let mut order: Vec<usize> = (0..graph.plates.len()).collect();
    order.sort_by_key(|plate| std::cmp::Reverse(levels[*plate]));
    for plate in order {
        let Some(cell) = &cells[plate] else { continue };
        let [left, top, right, bottom] = frame.rectangle(cell, levels[plate]);
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"9\" fill=\"{}\" fill-opacity=\"0.05\" stroke=\"{}\" stroke-width=\"1.2\"/>",
            right - left,
            bottom - top,
            color(plate),
            color(plate)
        );
    }
}

fn write_plate_labels(
    out: &mut String,
    graph: &FactorGraph,
    frame: &Frame,
    cells: &[Option<[i32; 4]>],
    levels: &[usize],
) {
    for (plate, cell) in cells.iter().enumerate() {
        let Some(cell) = cell else { continue };
        let [_, _, right, bottom] = frame.rectangle(cell, levels[plate]);
        let label = escape(&graph.plates[plate].label());
        write_rimmed(out, (right - 7.0, bottom - 5.0), SMALL, "end", color(plate), &label);
    }
}

/// Colours that are told apart in print and by most eyes (Wong 2011, darkened).
fn color(plate: usize) -> &'static str {
    const COLORS: &[&str] = &["#00568c", "#a34700", "#00694e", "#8c3c6e", "#6b5b00", "#444444"];
    COLORS[plate % COLORS.len()]
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
    let dashes = if edge == Edge::Computes { " stroke-dasharray=\"4 3\"" } else { "" };
    if edge == Edge::Describes {
        let _ = writeln!(
            out,
            "<path d=\"M{0:.1} {1:.1} L{0:.1} {2:.1}\" stroke=\"#333\" fill=\"none\" marker-end=\"url(#arrow)\"/>",
            from.x,
            from.y - RISE + SQUARE / 2.0,
            from.y - VARIABLE / 2.0
        );
        return;
    }
    let start = from.y + VARIABLE / 2.0;
    let factor = graph.graph[target].kind == NodeKind::Factor;
    let (end, head) = if factor {
        (to.y - RISE - SQUARE / 2.0, "")
    } else {
        (to.y - VARIABLE / 2.0, " marker-end=\"url(#arrow)\"")
    };
    let bend = ((end - start) * 0.5).max(8.0);
    let _ = writeln!(
        out,
        "<path d=\"M{:.1} {start:.1} C{:.1} {:.1} {:.1} {:.1} {:.1} {end:.1}\" stroke=\"#333\" fill=\"none\"{dashes}{head}/>",
        from.x,
        from.x,
        start + bend,
        to.x,
        end - bend,
        to.x
    );
}

fn write_unit(out: &mut String, graph: &FactorGraph, unit: &Unit, spot: Spot) {
    let node = &graph.graph[unit.variable];
    let label = escape(&node.label);
    let Spot { x, y, half } = spot;
    debug_assert!(half > 0.0, "every unit has a width");
    match node.kind {
        NodeKind::Constant => {
            let dot = y + VARIABLE / 2.0 - 4.0;
            let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{dot:.1}\" r=\"3.5\" fill=\"#333\"/>");
            write_text(out, x, dot - 9.0, SMALL, "middle", &label);
        }
        NodeKind::Latent | NodeKind::Observed | NodeKind::Deterministic | NodeKind::Factor => {
            let width = pill(&node.label);
            if node.kind == NodeKind::Deterministic {
                let _ = writeln!(
                    out,
                    "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{:.1}\" fill=\"white\" stroke=\"#111\"/>",
                    x - width / 2.0 - RIM,
                    y - VARIABLE / 2.0 - RIM,
                    width + 2.0 * RIM,
                    VARIABLE + 2.0 * RIM,
                    VARIABLE / 2.0 + RIM
                );
            }
            let fill = if node.kind == NodeKind::Observed { "#cdd5dd" } else { "white" };
            let _ = writeln!(
                out,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{VARIABLE}\" rx=\"{}\" fill=\"{fill}\" stroke=\"#111\" stroke-width=\"1.3\"/>",
                x - width / 2.0,
                y - VARIABLE / 2.0,
                VARIABLE / 2.0
            );
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{:.1}\" font-size=\"{FONT}\" text-anchor=\"middle\">{label}</text>",
                y + FONT * 0.36
            );
        }
    }
    if let Some(factor) = unit.factor {
        let top = y - RISE;
        let _ = writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{SQUARE}\" height=\"{SQUARE}\" fill=\"#111\"/>",
            x - SQUARE / 2.0,
            top - SQUARE / 2.0
        );
        write_text(out, x + SQUARE, top + SMALL * 0.36, SMALL, "start", &escape(&graph.graph[factor].label));
    }
}

/// Text with a white rim.
fn write_text(out: &mut String, x: f64, y: f64, size: f64, anchor: &str, text: &str) {
    write_rimmed(out, (x, y), size, anchor, "#333", text);
}

/// Text with a white rim, so that a line under it does not disturb. The rim is a text of its own under the other one: programs that do
/// not know `paint-order` would draw the rim over the letters.
fn write_rimmed(out: &mut String, (x, y): (f64, f64), size: f64, anchor: &str, color: &str, text: &str) {
    let place = format!("x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\"");
    let rim =
        "fill=\"white\" stroke=\"white\" stroke-width=\"3\" stroke-linejoin=\"round\" aria-hidden=\"true\"";
    let _ = writeln!(out, "<text {place} {rim}>{text}</text>");
    let _ = writeln!(out, "<text {place} fill=\"{color}\">{text}</text>");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
