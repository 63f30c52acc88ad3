//! Where everything stands in a drawing of the factor graph, whatever it is drawn with: plates are boxes around their members.

use petgraph::Direction;
use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;

use super::layout::{Places, Problem, boxes, lay_out, meet};
use super::{Edge, FactorGraph, NodeKind};

/// Height of a variable, and the distance from its middle to the factor above it.
pub(super) const VARIABLE: f64 = 30.0;
pub(super) const RISE: f64 = 42.0;
pub(super) const SQUARE: f64 = 11.0;
/// How far a box stands from the box inside it: room for its label.
const STEP: f64 = 19.0;
/// More room under the content of the innermost box, for its label.
const FOOT: f64 = 9.0;
/// The least room between two neighbours.
const GAP: f64 = 30.0;
pub(super) const FONT: f64 = 13.0;
pub(super) const SMALL: f64 = 11.0;

/// A variable with its factor: one cell of the grid.
pub(super) struct Unit {
    pub variable: NodeIndex,
    pub factor: Option<NodeIndex>,
}

/// A unit's place in the picture: the middle of its variable, and half its width.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spot {
    pub x: f64,
    pub y: f64,
    pub half: f64,
}

/// A graph with places for all of it.
pub(super) struct Drawing {
    /// Its cells.
    pub units: Vec<Unit>,
    /// First and last row, first and last column of each plate, if anything stands in it.
    pub cells: Vec<Option<[i32; 4]>>,
    /// How far out the border of each plate lies.
    pub levels: Vec<usize>,
    /// Positions.
    pub frame: Frame,
}

impl Drawing {
    /// Lays a graph out.
    pub fn new(graph: &FactorGraph) -> Drawing {
        let units = units(graph);
        let unit_of = |node: NodeIndex| {
            units
                .iter()
                .position(|unit| unit.variable == node || unit.factor == Some(node))
                .unwrap_or_default()
        };
        let mut edges = Vec::new();
        for edge in graph.graph.edge_references() {
            let (from, to) = (unit_of(edge.source()), unit_of(edge.target()));
            if from != to && !edges.contains(&(from, to)) {
                edges.push((from, to));
            }
        }
        let plates = units.iter().map(|unit| graph.graph[unit.variable].plates.clone()).collect();
        let problem = Problem { plates, n_plates: graph.plates.len(), edges };
        let places = lay_out(&problem);
        let cells = boxes(&problem, &places);
        let levels = levels(&cells, graph);
        let frame = Frame::new(graph, &units, &places, &cells, &levels);
        Drawing { units, cells, levels, frame }
    }

    /// The spot of a variable, or of the variable of a factor.
    pub fn spot(&self, node: NodeIndex) -> Spot {
        let place = self.units.iter().position(|unit| unit.variable == node || unit.factor == Some(node));
        place.map_or_else(Spot::default, |place| self.frame.spots[place])
    }
}

fn units(graph: &FactorGraph) -> Vec<Unit> {
    let variables = graph.graph.node_indices().filter(|node| graph.graph[*node].kind != NodeKind::Factor);
    variables
        .map(|variable| {
            let above = graph.graph.edges_directed(variable, Direction::Incoming);
            let factor =
                above.into_iter().find(|edge| *edge.weight() == Edge::Describes).map(|edge| edge.source());
            Unit { variable, factor }
        })
        .collect()
}

/// How far out the border of each plate lies: boxes that meet have different levels, smaller ones the inner.
fn levels(cells: &[Option<[i32; 4]>], graph: &FactorGraph) -> Vec<usize> {
    let area = |cell: &[i32; 4]| (cell[1] - cell[0] + 1) * (cell[3] - cell[2] + 1);
    let depth = |plate: usize| {
        std::iter::successors(graph.plates[plate].parent, |plate| graph.plates[*plate].parent).count()
    };
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by_key(|plate| {
        (cells[*plate].as_ref().map_or(0, area), std::cmp::Reverse(depth(*plate)), *plate)
    });
    let mut levels = vec![0; cells.len()];
    for (index, plate) in order.iter().enumerate() {
        let Some(own) = &cells[*plate] else { continue };
        let inner =
            order[..index].iter().filter(|other| cells[**other].as_ref().is_some_and(|cell| meet(own, cell)));
        levels[*plate] = inner.map(|other| levels[*other] + 1).max().unwrap_or(0);
    }
    levels
}

/// The room between the content of a cell and the border of a plate.
fn padding(level: usize) -> f64 {
    12.0 + STEP * level as f64
}

/// Positions in the picture.
pub(super) struct Frame {
    pub spots: Vec<Spot>,
    /// Left and right end of each column, upper and lower of each row.
    columns: Vec<(f64, f64)>,
    rows: Vec<(f64, f64)>,
    pub width: f64,
    pub height: f64,
}

impl Frame {
    fn new(
        graph: &FactorGraph,
        units: &[Unit],
        places: &Places,
        cells: &[Option<[i32; 4]>],
        levels: &[usize],
    ) -> Frame {
        let n_columns = places.iter().map(|(_, column)| *column as usize + 1).max().unwrap_or(0);
        let n_rows = places.iter().map(|(row, _)| *row as usize + 1).max().unwrap_or(0);
        let mut widths = vec![40.0f64; n_columns];
        let mut halves = Vec::new();
        for (unit, (_, column)) in units.iter().zip(places) {
            let half = half_width(graph, unit);
            halves.push(half);
            widths[*column as usize] = widths[*column as usize].max(2.0 * half);
        }
        // A plate is at least as wide as its label.
        for (plate, cell) in cells.iter().enumerate() {
            let Some(cell) = cell else { continue };
            let needed = text_width(&graph.plates[plate].label(), SMALL) + 8.0 - 2.0 * padding(levels[plate]);
            let span: f64 = (cell[2]..=cell[3]).map(|column| widths[column as usize]).sum();
            if needed > span {
                widths[cell[3] as usize] += needed - span;
            }
        }
        let room = |edge: &dyn Fn(&[i32; 4]) -> i32, at: i32| {
            let each =
                cells.iter().zip(levels).filter_map(|(cell, level)| cell.as_ref().map(|cell| (cell, level)));
            each.filter(|(cell, _)| edge(cell) == at).map(|(_, level)| padding(*level)).fold(0.0, f64::max)
        };
        let mut columns = Vec::new();
        let mut x = 16.0;
        for (column, width) in widths.iter().enumerate() {
            let column = column as i32;
            x += room(&|cell| cell[2], column);
            columns.push((x, x + width));
            x += width + room(&|cell| cell[3], column) + GAP;
        }
        let mut rows = Vec::new();
        let mut y = 16.0;
        for row in 0..n_rows as i32 {
            let members = units.iter().zip(places).filter(|(_, place)| place.0 == row);
            let rise =
                members.map(|(unit, _)| if unit.factor.is_some() { RISE } else { 0.0 }).fold(0.0, f64::max);
            y += room(&|cell| cell[0], row);
            let top = y;
            let bottom = top + (rise + SQUARE / 2.0 + VARIABLE / 2.0).max(VARIABLE) + 2.0;
            rows.push((top, bottom));
            let below = room(&|cell| cell[1], row);
            y = bottom + below + if below > 0.0 { FOOT } else { 0.0 } + GAP;
        }
        let spots = places
            .iter()
            .zip(halves)
            .map(|((row, column), half)| {
                let (left, right) = columns[*column as usize];
                Spot { x: (left + right) / 2.0, y: rows[*row as usize].1 - VARIABLE / 2.0, half }
            })
            .collect();
        Frame { spots, columns, rows, width: x - GAP + 16.0, height: y - GAP + 16.0 }
    }

    /// The rectangle of a plate: left, top, right, bottom.
    pub fn rectangle(&self, cell: &[i32; 4], level: usize) -> [f64; 4] {
        let pad = padding(level);
        [
            self.columns[cell[2] as usize].0 - pad,
            self.rows[cell[0] as usize].0 - pad,
            self.columns[cell[3] as usize].1 + pad,
            self.rows[cell[1] as usize].1 + pad + FOOT,
        ]
    }
}

fn half_width(graph: &FactorGraph, unit: &Unit) -> f64 {
    let node = &graph.graph[unit.variable];
    let own = match node.kind {
        NodeKind::Constant => text_width(&node.label, SMALL) / 2.0 + 2.0,
        NodeKind::Latent | NodeKind::Observed | NodeKind::Deterministic | NodeKind::Factor => {
            pill(&node.label) / 2.0
        }
    };
    let family =
        unit.factor.map_or(0.0, |factor| SQUARE + 2.0 + text_width(&graph.graph[factor].label, SMALL));
    own.max(family)
}

/// The width of a variable.
pub(super) fn pill(label: &str) -> f64 {
    (text_width(label, FONT) + 22.0).max(VARIABLE)
}

/// An upper estimate of how wide a text comes out.
fn text_width(text: &str, size: f64) -> f64 {
    let each = text.chars().map(|letter| match letter {
        'i' | 'j' | 'l' | '.' | ',' | ':' | '[' | ']' | ' ' | '\'' => 0.42,
        'm' | 'w' | 'M' | 'W' => 0.98,
        letter if letter.is_uppercase() => 0.75,
        letter if letter.is_ascii() => 0.64,
        _ => 0.9,
    });
    each.sum::<f64>() * size
}
