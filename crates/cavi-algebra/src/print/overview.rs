//! The factors of q at a glance: a row for each factor, and for what stands between them, with its update, what that reads, and what
//! it costs.
//!
//! What an update reads is collected from its equations: expectations under the other factors, allocations, auxiliary variables, and
//! values of points. Each is shown once, at the letters of the factor that it is an expectation under.

use crate::equations::{Block, Mode};
use crate::expression::Subscript;
use crate::sum_of_products::{Atom, Moment, Sum};
use crate::symbols::{ArrayId, ArrayKind, AuxiliaryId, BlockId, LetterId, SiteId};

use super::Format;
use super::build::Builder;
use super::derivation::Derivation;
use super::document::{Item, Span, words};
use super::node::Node;
use super::squares::written_out;
use super::table::{Cell, Table};

/// A row.
pub(super) struct Line {
    /// What is updated: a factor of q, a point, allocations.
    pub factor: Node,
    /// Its family, or what it is.
    pub family: String,
    /// What its update states: the left sides of its equations.
    pub states: Vec<Node>,
    /// What stands in the place of these where there is no equation.
    pub told: &'static str,
    /// The label of its equations.
    pub label: String,
    /// What it reads.
    pub reads: Vec<Node>,
    /// What it costs.
    pub cost: Option<Node>,
}

impl Derivation<'_> {
    /// The table.
    pub(super) fn overview(&self, format: Format) -> Vec<Item> {
        let math =
            |nodes: &[Node]| -> Cell { nodes.iter().map(|node| vec![Span::Math(node.clone())]).collect() };
        let row = |line: Line| {
            let update = match format {
                _ if line.states.is_empty() && line.told.is_empty() => Vec::new(),
                _ if line.states.is_empty() => vec![vec![words(line.told)]],
                Format::Latex => vec![vec![Span::Number(line.label)]],
                Format::Text | Format::Markdown => math(&line.states),
            };
            let cost = line.cost.map(|cost| vec![Span::Math(cost)]);
            vec![
                math(&[line.factor]),
                vec![vec![words(line.family)]],
                update,
                math(&line.reads),
                cost.into_iter().collect(),
            ]
        };
        let rows: Vec<Vec<Cell>> = self.lines_of_overview().into_iter().map(row).collect();
        if rows.is_empty() {
            return Vec::new();
        }
        let head = vec!["Factor", "Family", "Update", "Reads", "Cost"];
        vec![Item::Heading("Overview"), Item::Table(Table { head, rows })]
    }

    /// A row for each block, implicit factor, site and auxiliary variable.
    pub(super) fn lines_of_overview(&self) -> Vec<Line> {
        let blocks = (0..self.equations.blocks.len()).map(|index| self.line_of_block(BlockId::from(index)));
        let sites = (0..self.equations.sites.len()).map(|index| self.line_of_site(SiteId::from(index)));
        let tangents =
            (0..self.equations.auxiliaries.len()).map(|own| self.line_of_tangent(AuxiliaryId::from(own)));
        blocks.chain(sites).chain(tangents).collect()
    }

    fn line_of_block(&self, id: BlockId) -> Line {
        let block = self.equations.block(id);
        let name = self.standard.name(block.family);
        let family = match block.mode {
            Mode::Point => "a point",
            Mode::Distribution | Mode::Fixed | Mode::Implicit => name.split(" over ").next().unwrap_or(name),
        };
        let moves = block.mode != Mode::Fixed;
        let reads = match &block.ascent {
            _ if !moves => Vec::new(),
            Some(own) => {
                let objective = own.tight.as_ref().unwrap_or(&own.objective);
                self.read_by([objective].into_iter().chain(&own.gradient).chain(&own.curvature))
            }
            None => self.read_by(block.natural.iter().map(|own| &own.coefficient)),
        };
        let (states, told) = self.states(block);
        Line {
            factor: self.left_of(block),
            family: family.to_owned(),
            states,
            told,
            label: self.label_of(block),
            reads,
            cost: self.cost_of_block(id).filter(|_| moves),
        }
    }

    /// The left sides of the equations of an update, or what is said in their place.
    fn states(&self, block: &Block) -> (Vec<Node>, &'static str) {
        if block.mode == Mode::Fixed {
            return (Vec::new(), "none: it keeps its start");
        }
        if block.ascent.is_some() {
            return (vec![Node::name(&self.scope().objective())], "");
        }
        if block.is_point() {
            return match self.standard.mode(block.family) {
                Some(_) => (vec![self.left_of(block)], ""),
                None => (Vec::new(), "the mode"),
            };
        }
        if block.members.len() > 1 && self.standard.one_vector(block.family) {
            return (Vec::new(), "told below");
        }
        let mut symbols = self.symbols().clone();
        let shown = self.standard_parameters(&mut symbols, block);
        let nodes = self.stated_nodes(block, &symbols, &shown).into_iter();
        let states: Vec<Node> = nodes.map(|(left, _)| left).collect();
        let told = if states.is_empty() { "its natural parameters" } else { "" };
        (states, told)
    }

    fn line_of_site(&self, id: SiteId) -> Line {
        let site = self.equations.site(id);
        let others = self.run.means.get(id.index()).filter(|_| self.run.other_allocations);
        let stated = others.unwrap_or(site);
        let reads = self.read_by(stated.addends.iter().map(|addend| &addend.log_weight));
        let shares = site.addends.iter().enumerate().map(|(number, addend)| {
            let letters: Vec<LetterId> = site.plates.iter().chain(&addend.letters).copied().collect();
            let mut builder = Builder::new(self.scope(), &letters);
            let subscripts = builder.subscripts_of(&letters);
            builder.allocation(id, number, subscripts)
        });
        let shares: Vec<Node> = shares.collect();
        let (factor, family) = match self.equations.implicit(id) {
            Some(_) => {
                (self.implicit_q(id), self.equations.statements[site.statement.index()].family.to_string())
            }
            None => (Node::name(&self.scope().allocation(id)), "allocations".to_owned()),
        };
        let cost = self.cost_of_site(id);
        Line { factor, family, states: shares, told: "", label: self.label_of_site(id), reads, cost }
    }

    fn line_of_tangent(&self, id: AuxiliaryId) -> Line {
        let own = self.equations.auxiliary(id);
        let mut builder = Builder::new(self.scope(), &own.plates);
        let subscripts = builder.subscripts_of(&own.plates);
        let shown = builder.auxiliary(id, subscripts);
        Line {
            factor: Node::name(&self.scope().auxiliary(id)),
            family: "auxiliary".to_owned(),
            states: vec![shown],
            told: "",
            label: self.label_of_auxiliary(id),
            reads: self.read_by([&own.square].into_iter()),
            cost: self.cost_of_auxiliary(id),
        }
    }

    /// What sums read, in the order in which they come to it.
    fn read_by<'s>(&self, sums: impl Iterator<Item = &'s Sum>) -> Vec<Node> {
        let mut nodes = Vec::new();
        for sum in sums {
            self.collect_read(sum, &mut nodes);
        }
        nodes
    }

    fn collect_read(&self, sum: &Sum, out: &mut Vec<Node>) {
        for factor in sum.terms.iter().flat_map(|term| &term.factors) {
            let node = match &factor.atom {
                Atom::Moment(moment) => Some(self.own_moment(moment)),
                Atom::Allocation { site, addend, .. } => {
                    let own = self.equations.site(*site);
                    let letters: Vec<LetterId> =
                        own.plates.iter().chain(&own.addends[*addend].letters).copied().collect();
                    let mut builder = Builder::new(self.scope(), &letters);
                    let subscripts = builder.subscripts_of(&letters);
                    Some(builder.allocation(*site, *addend, subscripts))
                }
                Atom::Auxiliary { id, .. } => {
                    let plates = &self.equations.auxiliary(*id).plates;
                    let mut builder = Builder::new(self.scope(), plates);
                    let subscripts = builder.subscripts_of(plates);
                    Some(builder.auxiliary(*id, subscripts))
                }
                Atom::Value(array, _) => self.value_of_point(*array),
                // What a square reads is what it is written out in.
                Atom::ExpectedSquare(square) => {
                    self.collect_read(&square.mean, out);
                    self.collect_read(&written_out(&square.spread), out);
                    None
                }
                Atom::LogPartition { site, .. } => {
                    let addends = &self.equations.site(*site).addends;
                    addends.iter().for_each(|addend| self.collect_read(&addend.log_weight, out));
                    None
                }
                Atom::Group(_)
                | Atom::Apply(..)
                | Atom::Observed(..)
                | Atom::Equal(..)
                | Atom::Different(..)
                | Atom::Less(..) => None,
            };
            if let Some(node) = node.filter(|node| !out.contains(node)) {
                out.push(node);
            }
            if !matches!(factor.atom, Atom::ExpectedSquare(_)) {
                factor.atom.nested().into_iter().for_each(|inner| self.collect_read(inner, out));
            }
        }
    }

    /// An expectation at the letters of its own factor; two slots that are equal where it is read are so here.
    fn own_moment(&self, moment: &Moment) -> Node {
        let block = self.equations.block(moment.block);
        let mut slots = self.slots_of(block, &moment.statistic);
        for place in 0..slots.len().min(moment.slots.len()) {
            if let Some(first) = moment.slots[..place].iter().position(|own| *own == moment.slots[place]) {
                slots[place] = slots[first];
            }
        }
        let letters: Vec<LetterId> = block.plates.iter().chain(&slots).copied().collect();
        let mut builder = Builder::new(self.scope(), &letters);
        builder.moment(&self.moment(moment.block, &moment.statistic, &slots))
    }

    /// The element of a point.
    fn value_of_point(&self, id: ArrayId) -> Option<Node> {
        let array = self.symbols().array(id);
        if array.kind != ArrayKind::Latent {
            return None;
        }
        let subscripts: Vec<Subscript> = array.letters.iter().copied().map(Subscript::Letter).collect();
        Some(Builder::new(self.scope(), &array.letters).element(id, &subscripts))
    }
}
