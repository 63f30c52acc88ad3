//! The plan's values: arrays that follow from one another, each computed once for every state of what it reads.

use std::collections::BTreeMap;

use cavi_algebra::{ArrayId, AxisId, BlockId, Function, SiteId};
use cavi_numerics::Numbers;
use smallvec::SmallVec;

use crate::plan::masked::MaskedSum;

/// A node of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// Its place among the nodes.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What the values of a loop's letter, or the positions of an array's dimension, are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Along {
    /// The positions of an axis.
    Axis(AxisId),
    /// The listed entries of an array.
    Entries(ArrayId),
    /// The pairs `a <= b` of positions of an axis.
    Pairs(AxisId),
    /// Nothing that the program names: the elements of several variables side by side, or rows with padding.
    Plain,
}

/// A letter of a loop, or a dimension of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loop {
    /// How many values it has.
    pub size: usize,
    /// What they are.
    pub along: Along,
}

impl Loop {
    /// A loop whose values the program does not name.
    pub fn plain(size: usize) -> Loop {
        Loop { size, along: Along::Plain }
    }
}

/// A table from the values of one letter to the values of another: coordinates of listed entries, parents of ragged
/// axes, index data, and their compositions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MapId(pub u32);

/// How a dimension of an array is reached from the letters of a loop: by a letter's value, or through a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Index {
    /// Which letter of the loop.
    pub letter: usize,
    /// Through which table.
    pub map: Option<MapId>,
}

impl Index {
    /// A letter's own value.
    pub fn letter(letter: usize) -> Index {
        Index { letter, map: None }
    }
}

/// An array read in a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The array.
    pub node: NodeId,
    /// One index a dimension.
    pub dims: Vec<Index>,
}

/// `output += coefficient * product of operands` over all letters.
#[derive(Clone, Debug, PartialEq)]
pub struct Contraction {
    /// The number in front.
    pub coefficient: f64,
    /// The letters: how many values each has, and what they are.
    pub letters: Vec<Loop>,
    /// What is multiplied.
    pub operands: Vec<Access>,
    /// Where the product is added.
    pub output: Vec<Index>,
}

impl Contraction {
    /// The array of a node as it is, over all its dimensions.
    pub fn copy(node: NodeId, loops: &[Loop]) -> Contraction {
        let all: Vec<Index> = (0..loops.len()).map(Index::letter).collect();
        Contraction {
            coefficient: 1.0,
            letters: loops.to_vec(),
            operands: vec![Access { node, dims: all.clone() }],
            output: all,
        }
    }

    /// The number of values of a letter.
    pub fn size(&self, letter: usize) -> usize {
        self.letters[letter].size
    }

    /// The number of values of each letter.
    pub fn sizes(&self) -> impl Iterator<Item = usize> {
        self.letters.iter().map(|letter| letter.size)
    }

    /// What the values of an index are: those of its letter, or those that its table has for them.
    pub fn along(&self, index: Index, maps: &Maps) -> Along {
        index.map.map_or(self.letters[index.letter].along, |map| maps.to(map))
    }
}

/// What is done to every element of an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Elementwise {
    /// A function of one argument.
    Function(Function),
    /// An integer power.
    Power(i32),
    /// The square root of an expected square.
    Root,
    /// The log of the least positive number or what is above it.
    LogFloored,
    /// `ln Gamma` of a sum over a group; 0 of a group without a member, where nothing is to be normalised.
    LogGammaOfGroup,
    /// `ln Gamma_n`, with this n.
    LogMultivariateGamma(usize),
}

/// A part of a vector in which several variables stand beside each other, or of a matrix over two such vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The array of the part: rows, then the elements of its variables.
    pub node: NodeId,
    /// For each dimension of the whole behind its rows, where the part begins and how long it is.
    pub windows: Vec<(usize, usize)>,
    /// Whether it stands on both sides of the diagonal, half on each.
    pub crossed: bool,
}

/// How a node comes by its values.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Data, constants and what follows from them alone: filled once.
    Static(String),
    /// The value of a point: of which block, and of which of its members.
    Point(BlockId, usize),
    /// An expectation of a block, by its place in the family's list.
    Moment(BlockId, usize),
    /// The expected counts of a log term of a site's addend: its weight times the allocation, summed over what the term
    /// does not mention.
    Counts(SiteId, usize, usize),
    /// The values of a node at the last refresh.
    Held(NodeId),
    /// A sum of contractions.
    Contractions(Vec<Contraction>),
    /// A sum over the places where a mask is 1.
    Masked(MaskedSum),
    /// A function of every element.
    Map(Elementwise, NodeId),
    /// A function of two arguments, of the elements of two arrays of one shape.
    Pair(Function, NodeId, NodeId),
    /// Parts put together.
    Whole(Vec<Part>),
    /// A part taken out of its node.
    Taken(Part),
    /// The elements `a <= b` of the symmetric matrices in a dimension and the next, row after row.
    Pairs(NodeId, usize),
    /// The symmetric matrices in a dimension and the next of which a node has the pairs.
    Square(NodeId, usize),
    /// The log-determinant of every matrix.
    LogDeterminant(NodeId),
    /// For each position of the first dimension, the sum over those on one side of it, or over those of its group.
    Beside(Side, Option<Within>, NodeId),
    /// What the log weights of a site's categories at every entry give.
    Site(Allotted, LogWeights),
}

/// The positions among which one is summed beside another: those with the same value in a table, in the order of a second table, or of the positions
/// themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Within {
    /// The groups of the positions.
    pub group: MapId,
    /// Their order in a group.
    pub order: Option<MapId>,
}

/// Which positions a position is summed over: none of them is itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Those before it.
    Before,
    /// Those after it.
    After,
}

/// The log weights of a site: one array an addend, of the entries by its categories.
#[derive(Clone, Debug, PartialEq)]
pub struct LogWeights {
    /// As they are; shares need none.
    pub now: Vec<NodeId>,
    /// As they were at the last refresh; for the bound, as they are.
    pub then: Vec<NodeId>,
    /// How many of their dimensions number the entries: the first ones.
    pub rank: usize,
}

/// What follows from the log weights of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allotted {
    /// The share `exp(l_c - log sum exp l)` of each category of this addend, at the last refresh.
    Shares(usize),
    /// `sum_c phi_c (l_c - log phi_c)`, the shares as they were and the weights as they are: where they are the same,
    /// `log sum_c exp l_c`.
    Partition,
}

/// What the values of a node follow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Data and constants: they never change.
    Given,
    /// The state of a block.
    Block(BlockId),
    /// The last refresh of the allocations.
    Refresh,
    /// Other nodes: those that it reads.
    Nodes,
}

/// What a node reads; more than these few are on the heap.
pub type Reads = SmallVec<[NodeId; 64]>;

/// A node: an array in C order.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where its values come from.
    pub operation: Operation,
    /// Its shape.
    pub shape: Vec<usize>,
    /// What the positions of each dimension are.
    pub dims: Vec<Along>,
}

impl Node {
    /// A node with these dimensions.
    pub fn new(operation: Operation, loops: &[Loop]) -> Node {
        let shape = loops.iter().map(|own| own.size).collect();
        Node { operation, shape, dims: loops.iter().map(|own| own.along).collect() }
    }

    /// Its dimensions.
    pub fn loops(&self) -> Vec<Loop> {
        self.shape.iter().zip(&self.dims).map(|(size, along)| Loop { size: *size, along: *along }).collect()
    }

    /// How many values it has.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What its values follow from.
    pub fn source(&self) -> Source {
        match self.operation {
            Operation::Static(_) => Source::Given,
            Operation::Point(block, _) | Operation::Moment(block, _) => Source::Block(block),
            Operation::Counts(..) | Operation::Held(_) => Source::Refresh,
            Operation::Contractions(_)
            | Operation::Masked(_)
            | Operation::Map(..)
            | Operation::Pair(..)
            | Operation::Whole(_)
            | Operation::Taken(_)
            | Operation::Pairs(..)
            | Operation::Square(..)
            | Operation::LogDeterminant(_)
            | Operation::Beside(..)
            | Operation::Site(..) => Source::Nodes,
        }
    }

    /// The nodes it reads.
    pub fn reads(&self) -> Reads {
        match &self.operation {
            Operation::Static(_)
            | Operation::Point(..)
            | Operation::Moment(..)
            | Operation::Counts(..)
            | Operation::Held(_) => Reads::new(),
            Operation::Contractions(parts) => {
                parts.iter().flat_map(|part| part.operands.iter().map(|operand| operand.node)).collect()
            }
            Operation::Masked(sum) => [sum.mask, sum.of].as_slice().into(),
            Operation::Map(_, node)
            | Operation::Pairs(node, _)
            | Operation::Square(node, _)
            | Operation::LogDeterminant(node)
            | Operation::Beside(.., node) => [*node].as_slice().into(),
            Operation::Pair(_, left, right) => [*left, *right].as_slice().into(),
            Operation::Whole(parts) => parts.iter().map(|part| part.node).collect(),
            Operation::Taken(part) => [part.node].as_slice().into(),
            Operation::Site(_, weights) => weights.now.iter().chain(&weights.then).copied().collect(),
        }
    }
}

/// A table of [`Maps`].
#[derive(Clone, Debug)]
struct Table {
    values: Numbers<u32>,
    /// How many values it maps into.
    range: usize,
    from: Along,
    to: Along,
}

/// The tables.
#[derive(Clone, Debug, Default)]
pub struct Maps {
    tables: Vec<Table>,
    composed: BTreeMap<(MapId, MapId), MapId>,
    named: BTreeMap<String, MapId>,
}

impl Maps {
    /// The table of this name, made if there is none: from the values of one kind to those of a loop.
    pub fn named(
        &mut self,
        name: &str,
        (from, to): (Along, Loop),
        make: impl FnOnce() -> Numbers<u32>,
    ) -> MapId {
        if let Some(map) = self.named.get(name) {
            return *map;
        }
        let map = self.push(Table { values: make(), range: to.size, from, to: to.along });
        self.named.insert(name.to_owned(), map);
        map
    }

    fn push(&mut self, table: Table) -> MapId {
        self.tables.push(table);
        MapId(u32::try_from(self.tables.len() - 1).expect("fewer than 2^32 tables"))
    }

    /// The values of a table.
    pub fn table(&self, map: MapId) -> &[u32] {
        &self.tables[map.0 as usize].values
    }

    /// What the values are that a table maps from.
    pub fn from(&self, map: MapId) -> Along {
        self.tables[map.0 as usize].from
    }

    /// What the values are that a table maps into.
    pub fn to(&self, map: MapId) -> Along {
        self.tables[map.0 as usize].to
    }

    /// The values that a table maps into.
    pub fn image(&self, map: MapId) -> Loop {
        Loop { size: self.range(map), along: self.to(map) }
    }

    /// The number of values a table maps into.
    pub fn range(&self, map: MapId) -> usize {
        self.tables[map.0 as usize].range
    }

    /// First `first`, then `second`.
    pub fn compose(&mut self, first: Option<MapId>, second: Option<MapId>) -> Option<MapId> {
        let (Some(first), Some(second)) = (first, second) else { return first.or(second) };
        if let Some(map) = self.composed.get(&(first, second)) {
            return Some(*map);
        }
        let outer = self.table(second);
        let values = self.table(first).iter().map(|value| outer[*value as usize]).collect();
        let Loop { size: range, along: to } = self.image(second);
        let map = self.push(Table { values, range, from: self.from(first), to });
        self.composed.insert((first, second), map);
        Some(map)
    }

    /// The same tables with other values, each with the number of values that it then maps into: `table` has the values of one, what they
    /// are mapped from, and into.
    pub fn rewritten<E>(
        &self,
        mut table: impl FnMut(&Numbers<u32>, Along, Loop) -> Result<(Numbers<u32>, usize), E>,
    ) -> Result<Maps, E> {
        let mut maps = self.clone();
        for own in &mut maps.tables {
            let to = Loop { size: own.range, along: own.to };
            (own.values, own.range) = table(&own.values, own.from, to)?;
        }
        Ok(maps)
    }

    /// Forgets the values of all other tables.
    pub fn keep(&mut self, used: &std::collections::BTreeSet<MapId>) {
        for (index, table) in self.tables.iter_mut().enumerate() {
            if !used.contains(&MapId(index as u32)) {
                table.values = Numbers::default();
            }
        }
    }

    /// The bytes that all tables take of the heap.
    pub fn bytes(&self) -> usize {
        self.tables.iter().map(|table| table.values.heap_bytes()).sum()
    }
}
