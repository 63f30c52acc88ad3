//! The factor graph: variables, factors and the plates that they stand in.

mod dot;
mod frame;
mod layout;
mod svg;
mod tikz;

use std::collections::BTreeMap;

use cavi_algebra::print::latex;
use cavi_algebra::{ArrayId, ArrayKind, Expression, LetterId, Support, Symbols};
use petgraph::graph::{DiGraph, NodeIndex};

use crate::model::{DefinitionAsWritten, Model, Statement};
use crate::print;

pub use dot::dot;
pub use svg::svg;
pub use tikz::{tikz, tikz_within};

/// A program as a graph: an edge runs from what is read to the factor that reads it, and from a factor to its variable.
#[derive(Clone, Debug)]
pub struct FactorGraph {
    /// The program's name.
    pub name: String,
    /// Variables and factors.
    pub graph: DiGraph<Node, Edge>,
    /// The plates, one for each letter that numbers copies.
    pub plates: Vec<Plate>,
    /// Names whose symbols would look like others where they are typeset, each with how it is written instead.
    pub apart: BTreeMap<String, String>,
}

/// A variable or a factor.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// For a variable its name with its subscripts; for a factor its family.
    pub label: String,
    /// The plates it stands in, as places in [`FactorGraph::plates`], ancestors first.
    pub plates: Vec<usize>,
}

/// What a node of the factor graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A latent variable.
    Latent,
    /// Data.
    Observed,
    /// A constant.
    Constant,
    /// A deterministic name: it is computed from others.
    Deterministic,
    /// A statement.
    Factor,
}

/// What an edge says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// A factor reads a variable.
    Reads,
    /// A factor is the distribution of a variable.
    Describes,
    /// Data are computed from other data, a deterministic name from what it holds; or data weight a factor's terms.
    Computes,
}

/// A plate: copies numbered by a letter of an axis.
#[derive(Clone, Debug)]
pub struct Plate {
    /// The axis.
    pub axis: String,
    /// The letter.
    pub letter: String,
    /// The size, where the text gives one.
    pub size: Option<String>,
    /// The plate that it is ragged in.
    pub parent: Option<usize>,
}

impl Plate {
    /// What stands in the corner of the plate: `factor k = 15`.
    pub fn label(&self) -> String {
        let size = self.size.as_ref().map_or_else(String::new, |size| format!(" = {size}"));
        format!("{} {}{size}", self.axis, self.letter)
    }
}

/// Builds the factor graph of a model.
pub fn factor_graph(model: &Model) -> FactorGraph {
    let (symbols, statements) = match &model.as_written {
        Some(written) => (&written.symbols, &written.statements),
        None => (&model.symbols, &model.statements),
    };
    let written = model.definitions.iter().filter(|_| model.as_written.is_some());
    let definitions = written.filter_map(|own| own.written.as_ref()).collect();
    let mut builder = Builder {
        symbols,
        definitions,
        graph: DiGraph::new(),
        plates: Vec::new(),
        plate_of: BTreeMap::new(),
        nodes: BTreeMap::new(),
    };
    let mut factors = Vec::new();
    for statement in statements {
        let target = builder.variable(statement.target);
        let plates = builder.graph[target].plates.clone();
        let label = statement.family.name().to_owned();
        let factor = builder.graph.add_node(Node { kind: NodeKind::Factor, label, plates });
        builder.graph.add_edge(factor, target, Edge::Describes);
        factors.push((statement, factor));
    }
    for (statement, factor) in &factors {
        for array in reads(statement) {
            let parent = builder.variable(array);
            builder.graph.update_edge(parent, *factor, Edge::Reads);
        }
    }
    builder.deterministic();
    builder.derived_data();
    for index in 0..symbols.arrays.len() {
        let id = ArrayId::from(index);
        if symbols.array(id).support != Support::Multiplicity {
            continue;
        }
        let weight = builder.variable(id);
        let letters = symbols.plates(id);
        for (statement, factor) in &factors {
            if letters.iter().all(|letter| statement.plates.contains(letter)) {
                builder.graph.update_edge(weight, *factor, Edge::Computes);
            }
        }
    }
    let letters = symbols.letters.iter().map(|own| own.name.as_str());
    let arrays = symbols.arrays.iter().map(|own| own.name.as_str());
    let defined = model.definitions.iter().map(|own| own.name.as_str());
    let apart = latex::apart(letters, arrays.chain(defined));
    FactorGraph { name: model.name.clone(), graph: builder.graph, plates: builder.plates, apart }
}

struct Builder<'a> {
    symbols: &'a Symbols,
    definitions: Vec<&'a DefinitionAsWritten>,
    graph: DiGraph<Node, Edge>,
    plates: Vec<Plate>,
    plate_of: BTreeMap<LetterId, usize>,
    nodes: BTreeMap<ArrayId, NodeIndex>,
}

impl Builder<'_> {
    fn variable(&mut self, id: ArrayId) -> NodeIndex {
        if let Some(node) = self.nodes.get(&id) {
            return *node;
        }
        let defined = self.definitions.iter().any(|definition| definition.target == id);
        let kind = match self.symbols.array(id).kind {
            _ if defined => NodeKind::Deterministic,
            ArrayKind::Data => NodeKind::Observed,
            ArrayKind::Constant => NodeKind::Constant,
            ArrayKind::Latent => NodeKind::Latent,
        };
        let letters = self.symbols.plates(id);
        // A slice of a ragged axis still stands in the plates of its ancestors.
        let sliced = self.symbols.slices(id);
        let above = sliced.iter().flat_map(|letter| self.symbols.lineage(*letter).into_iter().skip(1));
        let all: Vec<LetterId> = letters.into_iter().chain(above).collect();
        let mut plates = Vec::new();
        for letter in all {
            self.plate(letter, &mut plates);
        }
        let label = print::written(self.symbols, id);
        let node = self.graph.add_node(Node { kind, label, plates });
        self.nodes.insert(id, node);
        node
    }

    /// Adds the plate of a letter, its ancestors first.
    fn plate(&mut self, letter: LetterId, into: &mut Vec<usize>) {
        let symbols = self.symbols;
        let mut lineage = symbols.lineage(letter);
        lineage.reverse();
        let mut parent = None;
        for letter in lineage {
            let axis = symbols.axis(symbols.letter(letter).axis);
            let place = *self.plate_of.entry(letter).or_insert_with(|| {
                self.plates.push(Plate {
                    axis: axis.name.clone(),
                    letter: print::letter_name(symbols, letter),
                    size: axis.size.as_ref().map(|size| print::expression(symbols, size)),
                    parent,
                });
                self.plates.len() - 1
            });
            if !into.contains(&place) {
                into.push(place);
            }
            parent = Some(place);
        }
    }

    /// Edges to deterministic names, for those that something in the graph reads.
    fn deterministic(&mut self) {
        // A name may read others: each round adds those that the last one found.
        loop {
            let before = self.graph.edge_count();
            for definition in self.definitions.clone() {
                let Some(target) = self.nodes.get(&definition.target).copied() else { continue };
                for source in arrays_in(&definition.value) {
                    let source = self.variable(source);
                    self.graph.update_edge(source, target, Edge::Computes);
                }
            }
            if self.graph.edge_count() == before {
                return;
            }
        }
    }

    /// Edges to data that are computed from other data, for those in the graph already.
    fn derived_data(&mut self) {
        for index in 0..self.symbols.arrays.len() {
            let id = ArrayId::from(index);
            let array = self.symbols.array(id);
            let (Some(value), ArrayKind::Data, true) =
                (&array.value, array.kind, self.nodes.contains_key(&id))
            else {
                continue;
            };
            let target = self.variable(id);
            for source in arrays_in(value) {
                let source = self.variable(source);
                self.graph.update_edge(source, target, Edge::Computes);
            }
        }
    }
}

/// The arrays that a statement reads, in the order of the text.
fn reads(statement: &Statement) -> Vec<ArrayId> {
    let each = statement.arguments.iter().flatten().flat_map(|argument| arrays_in(&argument.value));
    cavi_algebra::dedup(each.collect())
}

fn arrays_in(value: &Expression) -> Vec<ArrayId> {
    let mut arrays = Vec::new();
    value.visit_values(&mut |id, _| arrays.push(id));
    cavi_algebra::dedup(arrays)
}
