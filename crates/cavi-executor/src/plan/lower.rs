//! From sums of products to contractions: letters become loops, sparse arrays drive them, sums move inward.

use std::borrow::Cow;
use std::collections::BTreeMap;

use cavi_algebra::canonical::canonical;
use cavi_algebra::rules::{Substitution, distribute, multiply, rename_apart, substitute};
use cavi_algebra::{
    ArrayId, ArrayKind, Atom, BlockId, Elementary, Equations, ExpectedSquare, Factor, Function, LetterId, Moment,
    Statistic, Subscript, Sum, Symbols, Term,
};
use cavi_families::{Extent, posterior};

use crate::data::{Bound, BoundArray};
use crate::layout::Layout;
use crate::plan::eliminate::eliminate;
use crate::plan::tensor::{Access, Contraction, Elementwise, Index, MapId, Maps, Node, NodeId, Operation};

/// A dimension of a node's domain.
#[derive(Clone, Debug, PartialEq)]
pub enum Dim {
    /// The positions of a letter's axis.
    Letter(LetterId),
    /// The listed entries of an array; each of its coordinates is the value of a letter.
    Entries(ArrayId, Vec<LetterId>),
}

/// Why a program has no plan for these data.
#[derive(Clone, Debug, PartialEq)]
pub struct Unplanned(pub String);

/// What lowering reads and fills.
pub struct Lowering<'a, 'l> {
    /// The equations.
    pub equations: &'a Equations,
    /// Letters are added while expressions are rewritten.
    pub symbols: Symbols,
    /// The data.
    pub bound: &'a Bound,
    /// One for each block.
    pub layouts: &'l [Layout],
    /// The nodes.
    pub nodes: Vec<Node>,
    /// Values of static nodes, those of data as they are bound; empty for the others.
    pub values: Vec<Cow<'a, [f64]>>,
    /// The tables.
    pub maps: Maps,
    /// The most values that an intermediate array may have.
    pub limit: usize,
    known: BTreeMap<String, NodeId>,
}

/// The letters of one term: what each is in the loop.
struct Scope {
    /// The ranges of the loop's letters.
    sizes: Vec<usize>,
    /// Letters of the term that have a value.
    index: BTreeMap<LetterId, Index>,
    /// The dimensions of the output.
    output: Vec<Index>,
    /// The array whose listed entries a loop letter runs over.
    pattern: Vec<(usize, ArrayId, Vec<LetterId>)>,
}

/// A factor on its way to an operand: an array and its subscripts.
struct Pending {
    node: NodeId,
    subscripts: Vec<Subscript>,
}

impl<'a, 'l> Lowering<'a, 'l> {
    /// Nothing lowered yet.
    pub fn new(equations: &'a Equations, bound: &'a Bound, layouts: &'l [Layout]) -> Lowering<'a, 'l> {
        let data: usize = bound
            .arrays
            .iter()
            .flatten()
            .map(|array| match array {
                BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. } => values.len(),
            })
            .sum();
        let parameters: usize =
            equations.blocks.iter().zip(layouts).map(|(block, layout)| layout.values(block)).sum();
        Lowering {
            equations,
            symbols: equations.symbols.clone(),
            bound,
            layouts,
            nodes: Vec::new(),
            values: Vec::new(),
            maps: Maps::default(),
            limit: (data + parameters).max(1 << 16),
            known: BTreeMap::new(),
        }
    }

    /// Adds a node, or finds the one that computes the same.
    pub fn node(&mut self, operation: Operation, shape: Vec<usize>, values: impl FnOnce() -> Vec<f64>) -> NodeId {
        self.given(operation, shape, || Cow::Owned(values()))
    }

    /// As [`Lowering::node`], for values that may be those of the bound data.
    fn given(&mut self, operation: Operation, shape: Vec<usize>, values: impl FnOnce() -> Cow<'a, [f64]>) -> NodeId {
        let key = format!("{operation:?} {shape:?}");
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let id = NodeId(u32::try_from(self.nodes.len()).expect("a plan has fewer than 2^32 nodes"));
        self.nodes.push(Node { operation, shape });
        self.values.push(values());
        self.known.insert(key, id);
        id
    }

    /// A sum over a domain of letters.
    pub fn sum_over_letters(&mut self, sum: &Sum, letters: &[LetterId]) -> Result<NodeId, Unplanned> {
        let dims: Vec<Dim> = letters.iter().map(|letter| Dim::Letter(*letter)).collect();
        self.sum(sum, &dims, None)
    }

    /// A sum over a domain. `target` is the block whose coefficient it is, if any: its allocations are counts.
    pub fn sum(&mut self, sum: &Sum, domain: &[Dim], target: Option<BlockId>) -> Result<NodeId, Unplanned> {
        let shape = domain.iter().map(|dim| self.size(dim)).collect();
        let sum = self.rewritten(sum);
        let mut parts = Vec::new();
        for term in &sum.terms {
            self.term(term, domain, target, &mut parts)?;
        }
        // An array read as it is needs no copy.
        if let [Contraction { coefficient: 1.0, sizes, operands, output }] = parts.as_slice()
            && let [operand] = operands.as_slice()
            && operand.dims == *output
            && output.iter().enumerate().all(|(place, index)| *index == Index::letter(place))
            && sizes.len() == output.len()
            && self.nodes[operand.node.index()].shape == shape
        {
            return Ok(operand.node);
        }
        Ok(self.node(Operation::Contractions(parts), shape, Vec::new))
    }

    fn size(&self, dim: &Dim) -> usize {
        match dim {
            Dim::Letter(letter) => self.bound.size_of(&self.symbols, *letter),
            Dim::Entries(array, _) => self.entries(*array).len(),
        }
    }

    /// The number of listed entries of an array, as a range.
    fn entries(&self, array: ArrayId) -> std::ops::Range<usize> {
        match self.bound.array(array) {
            BoundArray::Sparse { values, .. } | BoundArray::Dense { values, .. } => 0..values.len(),
        }
    }

    /// Rewrites that make every term a product of arrays: second moments split into means and covariances, `[a != b]` into
    /// `1 - [a = b]`, expected squares opened, masks without a missing entry dropped.
    fn rewritten(&mut self, sum: &Sum) -> Sum {
        let mut queue: Vec<Term> = sum.terms.iter().rev().cloned().collect();
        let mut out = Sum::zero();
        'next: while let Some(mut term) = queue.pop() {
            for position in 0..term.factors.len() {
                let factor = term.factors[position].clone();
                let without = || {
                    let mut rest = term.clone();
                    rest.factors.remove(position);
                    rest
                };
                match &factor.atom {
                    Atom::Moment(moment) => {
                        if let Some(split) = self.split_moment(moment) {
                            let rest = without();
                            let product = distribute(&mut self.symbols, &rest, &split);
                            queue.extend(canonical(&mut self.symbols, &product).terms.into_iter().rev());
                            continue 'next;
                        }
                    }
                    Atom::Different(left, right) => {
                        let rest = without();
                        let mut equal = rest.clone();
                        equal.factors.push(Factor::of(Atom::Equal(left.clone(), right.clone())));
                        let both = Sum::term(rest).minus(Sum::term(equal));
                        queue.extend(canonical(&mut self.symbols, &both).terms.into_iter().rev());
                        continue 'next;
                    }
                    Atom::ExpectedSquare(square) => {
                        let rest = without();
                        let opened = self.open_square(square, &rest);
                        let product = distribute(&mut self.symbols, &rest, &opened);
                        queue.extend(canonical(&mut self.symbols, &product).terms.into_iter().rev());
                        continue 'next;
                    }
                    Atom::Observed(array, _) if !self.bound.array(*array).has_missing() => {
                        term = without();
                        queue.push(term);
                        continue 'next;
                    }
                    Atom::Group(inner) if factor.power == 1 => {
                        let rest = without();
                        let product = distribute(&mut self.symbols, &rest, inner);
                        queue.extend(canonical(&mut self.symbols, &product).terms.into_iter().rev());
                        continue 'next;
                    }
                    Atom::Group(inner) if factor.power == 2 && self.spread_out(inner, &term) => {
                        let rest = without();
                        let square = multiply(&mut self.symbols, inner, inner);
                        let product = distribute(&mut self.symbols, &rest, &square);
                        queue.extend(canonical(&mut self.symbols, &product).terms.into_iter().rev());
                        continue 'next;
                    }
                    Atom::Apply(function, arguments) if arguments.len() == 1 => {
                        if let Some((array, zero)) = self.unlisted(&arguments[0], &term) {
                            // f(x) = f(0) + [listed] (f(x) - f(0)), so that only listed entries are visited.
                            let rest = without();
                            let at_zero =
                                distribute(&mut self.symbols, &rest, &zero.clone().apply(*function));
                            queue.extend(canonical(&mut self.symbols, &at_zero).terms.into_iter().rev());
                            let listed = Atom::Apply(Function::Power, vec![Sum::atom(array), Sum::zero()]);
                            for (inner, sign) in [(arguments[0].clone(), 1.0), (zero, -1.0)] {
                                let inner = canonical(&mut self.symbols, &inner.apply(*function));
                                let guarded = Sum::atom(listed.clone());
                                let inside = multiply(&mut self.symbols, &guarded, &inner);
                                let product = distribute(&mut self.symbols, &rest, &inside);
                                out.terms.extend(product.scaled(sign).terms);
                            }
                            continue 'next;
                        }
                    }
                    Atom::Value(..)
                    | Atom::Allocation { .. }
                    | Atom::LogPartition { .. }
                    | Atom::Group(_)
                    | Atom::Apply(..)
                    | Atom::Observed(..)
                    | Atom::Equal(..)
                    | Atom::Less(..) => {}
                }
            }
            out.terms.push(term);
        }
        out
    }

    /// `E[x_k x_l] = E x_k E x_l + Cov_kl` where the family does not store the product.
    fn split_moment(&self, moment: &Moment) -> Option<Sum> {
        let family = posterior(self.equations.block(moment.block).family)?;
        if family.expectations().iter().any(|own| own.statistic == moment.statistic) {
            return None;
        }
        let second = moment.statistic == Statistic::outer() || moment.statistic == Statistic::square();
        if !second {
            return None;
        }
        let half = if moment.statistic == Statistic::outer() { moment.slots.len() / 2 } else { 0 };
        let mean = |slots: &[Subscript]| {
            Factor::of(Atom::Moment(Moment {
                statistic: Statistic::identity(),
                slots: slots.to_vec(),
                ..moment.clone()
            }))
        };
        let means = Term {
            factors: vec![mean(&moment.slots[..half]), mean(&moment.slots[half..])],
            ..Term::number(1.0)
        };
        let covariance = Moment { statistic: Statistic::covariance(), ..moment.clone() };
        Some(Sum::term(means).plus(Sum::atom(Atom::Moment(covariance))))
    }

    /// `mean^2 + spread`, the square opened where its domain is not that of listed or dense data.
    fn open_square(&mut self, square: &ExpectedSquare, rest: &Term) -> Sum {
        let mean = if self.spread_out(&square.mean, rest) {
            multiply(&mut self.symbols, &square.mean, &square.mean)
        } else {
            cavi_algebra::rules::power(&mut self.symbols, &square.mean, 2)
        };
        mean.plus(square.spread.clone())
    }

    /// Whether a sum's values would fill more than the data do: a sparse array among its addends whose unlisted entries
    /// are zeros, or a domain beyond the limit; and no other factor of the term restricts it to listed entries.
    fn spread_out(&self, sum: &Sum, rest: &Term) -> bool {
        let listed = rest.factors.iter().any(|factor| match &factor.atom {
            Atom::Observed(array, _) => matches!(
                self.bound.array(*array),
                BoundArray::Sparse { unlisted_zero: false, .. }
            ),
            _ => false,
        });
        if listed {
            return false;
        }
        let sparse = sum.terms.iter().flat_map(|term| &term.factors).any(|factor| match &factor.atom {
            Atom::Value(array, _) => self.is_sparse(*array),
            _ => false,
        });
        let letters: Vec<LetterId> = sum.free_letters();
        let innermost = letters.iter().filter(|letter| {
            !letters.iter().any(|other| other != *letter && self.symbols.lineage(*other).contains(letter))
        });
        let size = innermost
            .map(|letter| self.bound.size_of(&self.symbols, *letter))
            .fold(1_usize, |product, size| product.saturating_mul(size));
        sparse || size > self.limit
    }

    fn is_sparse(&self, array: ArrayId) -> bool {
        self.symbols.array(array).kind != ArrayKind::Latent
            && matches!(self.bound.array(array), BoundArray::Sparse { .. })
    }

    /// A sparse array with zeros unlisted whose element (all its letters free) stands in the sum, with the sum where the
    /// element is 0. None where the term is restricted to its listed entries already.
    fn unlisted(&mut self, sum: &Sum, term: &Term) -> Option<(Atom, Sum)> {
        let element = sum.terms.iter().flat_map(|term| term.factors.iter().map(move |factor| (term, factor))).find(
            |(inner, factor)| match &factor.atom {
                Atom::Value(array, subscripts) => {
                    let mut letters = Vec::new();
                    subscripts.iter().for_each(|subscript| subscript.letters(&mut letters));
                    self.symbols.array(*array).kind != ArrayKind::Latent
                        && matches!(self.bound.array(*array), BoundArray::Sparse { unlisted_zero: true, .. })
                        && !letters.iter().any(|letter| inner.sums.contains(letter))
                }
                _ => false,
            },
        )?;
        let atom = element.1.atom.clone();
        let restricted = term.factors.iter().any(|factor| factor.atom == atom || is_listed(factor, &atom));
        if restricted {
            return None;
        }
        let zero = Sum {
            terms: sum
                .terms
                .iter()
                .filter(|term| !term.factors.iter().any(|factor| factor.atom == atom))
                .cloned()
                .collect(),
        };
        Some((atom, zero))
    }

    /// Lowers one rewritten term.
    fn term(
        &mut self,
        term: &Term,
        domain: &[Dim],
        target: Option<BlockId>,
        parts: &mut Vec<Contraction>,
    ) -> Result<(), Unplanned> {
        // The letters of the domain are the output's: summed letters keep apart.
        let mut taken: Vec<LetterId> = Vec::new();
        for dim in domain {
            match dim {
                Dim::Letter(letter) => taken.extend(self.symbols.lineage(*letter)),
                Dim::Entries(_, letters) => letters.iter().for_each(|letter| taken.extend(self.symbols.lineage(*letter))),
            }
        }
        let term = rename_apart(&mut self.symbols, term, &taken);
        let mut scope = self.scope(domain);
        if term.factors.iter().any(|factor| matches!(factor.atom, Atom::Allocation { .. })) {
            let (counts, coefficient) = self.counts(&term, target)?;
            parts.extend(self.finish(&mut scope, coefficient, vec![counts], &[], &[])?);
            return Ok(());
        }
        // The listed entries of a sparse array drive the loop.
        for factor in &term.factors {
            if let Some((array, subscripts)) = self.driver(factor) {
                self.drive(&mut scope, array, &subscripts, &term)?;
            }
        }
        for subscript in wide_indices(&self.symbols, &term) {
            if let Subscript::Index(array, inner) = &subscript {
                self.drive(&mut scope, *array, inner, &term)?;
            }
        }
        let mut pending = Vec::new();
        let mut guards = Vec::new();
        for factor in &term.factors {
            match &factor.atom {
                Atom::Equal(..) | Atom::Less(..) => guards.push(factor.atom.clone()),
                _ => pending.extend(self.factor(&scope, factor, target)?),
            }
        }
        parts.extend(self.finish(&mut scope, term.coefficient.0, pending, &guards, &term.sums)?);
        Ok(())
    }

    fn scope(&mut self, domain: &[Dim]) -> Scope {
        let mut scope =
            Scope { sizes: Vec::new(), index: BTreeMap::new(), output: Vec::new(), pattern: Vec::new() };
        for dim in domain {
            let letter = scope.sizes.len();
            scope.sizes.push(self.size(dim));
            scope.output.push(Index::letter(letter));
            match dim {
                Dim::Letter(id) => self.bind(&mut scope, *id, Index::letter(letter)),
                Dim::Entries(array, letters) => {
                    for (column, id) in letters.iter().enumerate() {
                        let map = self.coordinate(*array, column);
                        self.bind(&mut scope, *id, Index { letter, map: Some(map) });
                    }
                    scope.pattern.push((letter, *array, letters.clone()));
                }
            }
        }
        scope
    }

    /// Gives a letter and its ancestors their values, where they have none.
    fn bind(&mut self, scope: &mut Scope, letter: LetterId, index: Index) {
        scope.index.entry(letter).or_insert(index);
        let mut index = scope.index[&letter];
        let lineage = self.symbols.lineage(letter);
        for pair in lineage.windows(2) {
            let parent = self.parent_map(pair[0]);
            index = Index { letter: index.letter, map: self.maps.compose(index.map, Some(parent)) };
            scope.index.entry(pair[1]).or_insert(index);
        }
    }

    /// From the positions of a ragged letter's axis to those of its parent.
    fn parent_map(&mut self, letter: LetterId) -> MapId {
        let axis = self.symbols.letter(letter).axis;
        let parent_axis = self.symbols.axis(axis).parent.expect("a ragged letter's axis has a parent");
        let bound = self.bound;
        let range = bound.size(parent_axis);
        self.maps.named(&format!("parent {axis:?}"), range, || {
            let parent = bound.axes[axis.index()].parent.as_ref().expect("a ragged axis is bound with its parents");
            parent.iter().map(|value| *value as u32).collect()
        })
    }

    /// From the listed entries of an array to a coordinate.
    pub fn coordinate(&mut self, array: ArrayId, column: usize) -> MapId {
        let bound = self.bound;
        let shape = bound.shape(&self.symbols, array);
        let range = shape[column];
        self.maps.named(&format!("coordinate {array:?} {column}"), range, || match bound.array(array) {
            BoundArray::Sparse { indices, .. } => indices[column].clone(),
            BoundArray::Dense { values, .. } => {
                let inner: usize = shape[column + 1..].iter().product();
                (0..values.len()).map(|entry| ((entry / inner.max(1)) % range.max(1)) as u32).collect()
            }
        })
    }

    /// Whether a factor restricts its letters to the listed entries of a sparse array.
    fn driver(&self, factor: &Factor) -> Option<(ArrayId, Vec<Subscript>)> {
        match &factor.atom {
            Atom::Value(array, subscripts) if self.is_sparse(*array) => Some((*array, subscripts.clone())),
            Atom::Observed(array, subscripts)
                if matches!(self.bound.array(*array), BoundArray::Sparse { unlisted_zero: false, .. }) =>
            {
                Some((*array, subscripts.clone()))
            }
            Atom::Apply(Function::Power, arguments) if arguments[1].is_zero() => {
                match arguments[0].terms.first().map(|term| &term.factors[0].atom) {
                    Some(Atom::Value(array, subscripts)) => Some((*array, subscripts.clone())),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Makes the listed entries of an array a letter of the loop, from which its subscripts follow.
    fn drive(
        &mut self,
        scope: &mut Scope,
        array: ArrayId,
        subscripts: &[Subscript],
        term: &Term,
    ) -> Result<(), Unplanned> {
        let letters: Option<Vec<LetterId>> = subscripts
            .iter()
            .map(|subscript| match subscript {
                Subscript::Letter(letter) => Some(*letter),
                Subscript::Index(..) => None,
            })
            .collect();
        let Some(letters) = letters else { return Ok(()) };
        if scope.pattern.iter().any(|(_, _, known)| letters.iter().all(|letter| known.contains(letter))) {
            return Ok(());
        }
        // Only letters of their own can be replaced: summed ones without a value yet, or plain dimensions of the output.
        let free = |letter: &LetterId| match scope.index.get(letter) {
            None => term.sums.contains(letter),
            Some(index) => index.map.is_none() && !scope.pattern.iter().any(|(own, _, _)| *own == index.letter),
        };
        let distinct = letters.iter().enumerate().all(|(place, letter)| !letters[..place].contains(letter));
        if !distinct || !letters.iter().all(free) {
            return Ok(());
        }
        let entry = scope.sizes.len();
        scope.sizes.push(self.entries(array).len());
        for (column, letter) in letters.iter().enumerate() {
            let map = self.coordinate(array, column);
            let index = Index { letter: entry, map: Some(map) };
            match scope.index.get(letter).copied() {
                Some(old) => self.rebind(scope, old.letter, index),
                None => self.bind(scope, *letter, index),
            }
        }
        scope.pattern.push((entry, array, letters));
        Ok(())
    }

    /// Everything that followed from loop letter `old` follows from `new` instead.
    fn rebind(&mut self, scope: &mut Scope, old: usize, new: Index) {
        let maps = &mut self.maps;
        for index in scope.index.values_mut().chain(&mut scope.output) {
            if index.letter == old {
                *index = Index { letter: new.letter, map: maps.compose(new.map, index.map) };
            }
        }
    }

    /// A factor as arrays with subscripts.
    fn factor(&mut self, scope: &Scope, factor: &Factor, target: Option<BlockId>) -> Result<Vec<Pending>, Unplanned> {
        let (mut node, subscripts) = match &factor.atom {
            Atom::Value(array, subscripts) if self.symbols.array(*array).kind == ArrayKind::Latent => {
                let block = self.equations.block_of(*array).expect("every latent has a block");
                let layout = &self.layouts[block.index()];
                let shape: Vec<usize> = layout.plates.iter().chain(layout.slices.iter().flatten()).copied().collect();
                let block_data = self.equations.block(block);
                let letters = self.symbols.array(*array).letters.clone();
                let ordered = block_data.plates.iter().chain(block_data.slices.iter().flatten());
                let subscripts = ordered
                    .map(|letter| {
                        let place = letters.iter().position(|own| own == letter).expect("a block's letters are its members'");
                        subscripts[place].clone()
                    })
                    .collect();
                (self.node(Operation::Point(block), shape, Vec::new), subscripts)
            }
            Atom::Value(array, subscripts) => match self.on_entries(scope, *array, subscripts) {
                Some(found) => found,
                None => (self.dense(*array)?, subscripts.clone()),
            },
            Atom::Moment(moment) => self.moment(moment)?,
            Atom::Observed(array, subscripts) => match self.mask(scope, *array, subscripts)? {
                Some(found) => found,
                None => return Ok(Vec::new()),
            },
            Atom::Apply(Function::Power, arguments) if arguments[1].is_zero() => return Ok(Vec::new()),
            Atom::Group(inner) => {
                let inner = (**inner).clone();
                let (node, subscripts) = self.inner(scope, &inner, target)?;
                if factor.power == 2 {
                    // Read twice rather than stored once more.
                    let once = Pending { node, subscripts: subscripts.clone() };
                    return Ok(vec![once, Pending { node, subscripts }]);
                }
                (node, subscripts)
            }
            Atom::Apply(function, arguments) => {
                let (inner, subscripts) = self.inner(scope, &arguments[0], target)?;
                let function = match (function, arguments.get(1)) {
                    (Function::Power, Some(exponent)) => match exponent.as_number() {
                        // x^p = exp(p log x)
                        Some(_) | None => {
                            let log = arguments[0].clone().apply(Function::Log);
                            let product = multiply(&mut self.symbols, exponent, &log);
                            let (inner, subscripts) = self.inner(scope, &product, target)?;
                            let shape = self.nodes[inner.index()].shape.clone();
                            let map = Operation::Map(Elementwise::Function(Function::Exp), inner);
                            let node = self.node(map, shape, Vec::new);
                            return Ok(vec![Pending { node: self.power(node, factor.power), subscripts }]);
                        }
                    },
                    (function, _) => *function,
                };
                let shape = self.nodes[inner.index()].shape.clone();
                (self.node(Operation::Map(Elementwise::Function(function), inner), shape, Vec::new), subscripts)
            }
            Atom::ExpectedSquare(_)
            | Atom::Allocation { .. }
            | Atom::LogPartition { .. }
            | Atom::Equal(..)
            | Atom::Different(..)
            | Atom::Less(..) => return Err(Unplanned("a factor in a place where none is expected".to_owned())),
        };
        node = self.power(node, factor.power);
        Ok(vec![Pending { node, subscripts }])
    }

    fn power(&mut self, node: NodeId, power: i32) -> NodeId {
        if power == 1 {
            return node;
        }
        let shape = self.nodes[node.index()].shape.clone();
        self.node(Operation::Map(Elementwise::Power(power), node), shape, Vec::new)
    }

    /// A nested sum as an array over its free letters: over the listed entries where the term runs over them and the sum
    /// has more than one of their letters.
    fn inner(
        &mut self,
        scope: &Scope,
        sum: &Sum,
        target: Option<BlockId>,
    ) -> Result<(NodeId, Vec<Subscript>), Unplanned> {
        let mut letters = sum.free_letters();
        let covered = letters.clone();
        letters.retain(|letter| {
            !covered.iter().any(|other| other != letter && self.symbols.lineage(*other).contains(letter))
        });
        let mut domain = Vec::new();
        let mut subscripts = Vec::new();
        for (_, array, coordinates) in &scope.pattern {
            let own: Vec<LetterId> = letters.iter().copied().filter(|letter| coordinates.contains(letter)).collect();
            if own.len() > 1 {
                letters.retain(|letter| !own.contains(letter));
                domain.push(Dim::Entries(*array, coordinates.clone()));
                // The entry itself is found again by its letters.
                subscripts.push(Subscript::Index(*array, coordinates.iter().map(|l| Subscript::Letter(*l)).collect()));
            }
        }
        for letter in letters {
            domain.push(Dim::Letter(letter));
            subscripts.push(Subscript::Letter(letter));
        }
        let node = self.sum(sum, &domain, target)?;
        let size = self.nodes[node.index()].len();
        if size > self.limit {
            return Err(Unplanned(format!(
                "an intermediate array would hold {size} values, more than the data and the parameters together"
            )));
        }
        Ok((node, subscripts))
    }

    /// The values of a sparse array at the entries that the loop runs over.
    fn on_entries(&mut self, scope: &Scope, array: ArrayId, subscripts: &[Subscript]) -> Option<(NodeId, Vec<Subscript>)> {
        let bound = self.bound;
        let BoundArray::Sparse { indices, values, .. } = bound.array(array) else { return None };
        let letters: Vec<LetterId> = subscripts
            .iter()
            .filter_map(|subscript| match subscript {
                Subscript::Letter(letter) => Some(*letter),
                Subscript::Index(..) => None,
            })
            .collect();
        let (_, driver, coordinates) = scope
            .pattern
            .iter()
            .find(|(_, _, known)| letters.len() == subscripts.len() && letters.iter().all(|l| known.contains(l)))?;
        let entry = Subscript::Index(*driver, coordinates.iter().map(|l| Subscript::Letter(*l)).collect());
        let same = *driver == array && letters == *coordinates;
        let count = self.entries(*driver).len();
        let label = format!("{array:?} {letters:?} on the entries of {driver:?}");
        let label = if same { format!("{array:?}") } else { label };
        if same {
            let node = self.given(Operation::Static(label), vec![count], || Cow::Borrowed(values.as_slice()));
            return Some((node, vec![entry]));
        }
        let aligned = || {
            // Looked up coordinate by coordinate.
            let places: Vec<usize> = letters
                .iter()
                .map(|letter| coordinates.iter().position(|own| own == letter).expect("checked above"))
                .collect();
            let BoundArray::Sparse { indices: driving, .. } = self.bound.array(*driver) else {
                return vec![0.0; count];
            };
            (0..count)
                .map(|entry| {
                    let wanted: Vec<u32> = places.iter().map(|place| driving[*place][entry]).collect();
                    find_entry(indices, &wanted).map_or(0.0, |found| values[found])
                })
                .collect()
        };
        let filled = aligned();
        let node = self.node(Operation::Static(label), vec![count], || filled);
        Some((node, vec![entry]))
    }

    /// An array with all its entries. A sparse one is filled out where that is no more than the limit.
    fn dense(&mut self, array: ArrayId) -> Result<NodeId, Unplanned> {
        let shape = self.bound.shape(&self.symbols, array);
        let size: usize = shape.iter().product();
        let bound = self.bound;
        match bound.array(array) {
            BoundArray::Dense { values, .. } => {
                let label = Operation::Static(format!("{array:?}"));
                Ok(self.given(label, shape, || Cow::Borrowed(values.as_slice())))
            }
            BoundArray::Sparse { indices, values, .. } => {
                if size > self.limit {
                    let name = &self.symbols.array(array).name;
                    return Err(Unplanned(format!(
                        "`{name}` is sparse and would have to be filled out to {size} values; give it as a dense file if it is one"
                    )));
                }
                let filled = || fill_out(&shape, indices, values);
                Ok(self.node(Operation::Static(format!("{array:?} filled out")), shape.clone(), filled))
            }
        }
    }

    /// The mask of an array, unless the loop runs over its observed entries anyway.
    fn mask(
        &mut self,
        scope: &Scope,
        array: ArrayId,
        subscripts: &[Subscript],
    ) -> Result<Option<(NodeId, Vec<Subscript>)>, Unplanned> {
        let ones = |observed: &[bool]| observed.iter().map(|seen| f64::from(u8::from(*seen))).collect::<Vec<f64>>();
        let bound = self.bound;
        match bound.array(array) {
            BoundArray::Dense { values, observed } => {
                let shape = bound.shape(&self.symbols, array);
                let mask = || observed.as_ref().map_or_else(|| vec![1.0; values.len()], |observed| ones(observed));
                let node = self.node(Operation::Static(format!("mask of {array:?}")), shape, mask);
                Ok(Some((node, subscripts.to_vec())))
            }
            BoundArray::Sparse { indices, values, observed, unlisted_zero } => {
                let letters: Vec<LetterId> = subscripts
                    .iter()
                    .filter_map(|subscript| match subscript {
                        Subscript::Letter(letter) => Some(*letter),
                        Subscript::Index(..) => None,
                    })
                    .collect();
                let driven = scope.pattern.iter().any(|(_, own, known)| *own == array && *known == letters);
                if driven {
                    let Some(observed) = observed else { return Ok(None) };
                    let shape = vec![values.len()];
                    let node = self.node(Operation::Static(format!("mask of {array:?}")), shape, || ones(observed));
                    let entry = Subscript::Index(array, subscripts.to_vec());
                    return Ok(Some((node, vec![entry])));
                }
                let shape = bound.shape(&self.symbols, array);
                let size: usize = shape.iter().product();
                if size > self.limit {
                    let name = &self.symbols.array(array).name;
                    return Err(Unplanned(format!("the mask of the sparse `{name}` would have to be filled out")));
                }
                let mask = || {
                    let seen: Vec<f64> = observed.as_ref().map_or_else(|| vec![1.0; values.len()], |seen| ones(seen));
                    let mut full = fill_out(&shape, indices, &seen);
                    if *unlisted_zero {
                        let listed = fill_out(&shape, indices, &vec![1.0; values.len()]);
                        full.iter_mut().zip(listed).for_each(|(value, listed)| *value += 1.0 - listed);
                    }
                    full
                };
                let node = self.node(Operation::Static(format!("filled mask of {array:?}")), shape.clone(), mask);
                Ok(Some((node, subscripts.to_vec())))
            }
        }
    }

    /// An expectation as an array, its shared axes left out.
    fn moment(&mut self, moment: &Moment) -> Result<(NodeId, Vec<Subscript>), Unplanned> {
        let block = self.equations.block(moment.block);
        let layout = &self.layouts[moment.block.index()];
        let family = posterior(block.family).expect("the derivation names families of the registry");
        let which = family
            .expectations()
            .iter()
            .position(|own| own.statistic == moment.statistic)
            .ok_or_else(|| Unplanned("an expectation that its family does not answer".to_owned()))?;
        let extent = family.expectations()[which].extent;
        let slices: Vec<usize> = layout.slices.iter().flatten().copied().collect();
        let (mut shape, mut subscripts) = match extent {
            Extent::Scalar | Extent::Vector => (layout.plates.clone(), moment.plates.clone()),
            Extent::Matrix => {
                let subscripts =
                    layout.group_letters.iter().map(|letter| self.group_subscript(block, moment, *letter)).collect();
                (layout.group_sizes.clone(), subscripts)
            }
        };
        let indicator = moment.statistic.0.iter().any(|(_, elementary)| *elementary == Elementary::Indicator);
        match extent {
            Extent::Scalar => {}
            Extent::Vector if indicator => shape.push(layout.n),
            Extent::Vector => shape.extend(&slices),
            Extent::Matrix => {
                shape.extend(&slices);
                shape.extend(&slices);
            }
        }
        if extent != Extent::Scalar {
            subscripts.extend(moment.slots.iter().cloned());
        }
        Ok((self.node(Operation::Moment(moment.block, which), shape, Vec::new), subscripts))
    }

    /// The value of a group letter (a plate letter of the block, or an ancestor of one) for the copy of a moment.
    fn group_subscript(&self, block: &cavi_algebra::Block, moment: &Moment, letter: LetterId) -> Subscript {
        for (plate, subscript) in block.plates.iter().zip(&moment.plates) {
            let steps = self.symbols.lineage(*plate);
            if let Some(depth) = steps.iter().position(|step| *step == letter) {
                if let Subscript::Letter(own) = subscript {
                    return Subscript::Letter(self.symbols.lineage(*own)[depth]);
                }
                return subscript.clone();
            }
        }
        unreachable!("group letters are plate letters or their ancestors")
    }

    /// The expected counts that a term with an allocation stands for, and the number in front of them.
    fn counts(&mut self, term: &Term, target: Option<BlockId>) -> Result<(Pending, f64), Unplanned> {
        let lost = || Unplanned("an allocation outside the update of a block".to_owned());
        let target = target.ok_or_else(lost)?;
        let (site_id, addend_id, plates, categories) = term
            .factors
            .iter()
            .find_map(|factor| match &factor.atom {
                Atom::Allocation { site, addend, plates, categories } => Some((*site, *addend, plates, categories)),
                _ => None,
            })
            .ok_or_else(lost)?;
        let equations = self.equations;
        let site = equations.site(site_id);
        let addend = &site.addends[addend_id];
        // The substitution from the site's letters to those of the term.
        let mut map = Substitution::new();
        for (letter, subscript) in site.plates.iter().zip(plates).chain(addend.letters.iter().zip(categories)) {
            map.insert(*letter, subscript.clone());
        }
        let block = equations.block(target);
        let slots: Vec<LetterId> = block.slices.concat();
        let wanted: Vec<LetterId> = block.plates.iter().chain(&slots).copied().collect();
        for (number, log) in addend.log_weight.terms.iter().enumerate() {
            let Some(subscripts) = self.log_subscripts(target, log) else { continue };
            // Where does each subscript of the log term go?
            let probe = Term {
                factors: subscripts.iter().map(|own| Factor::of(Atom::Equal(own.clone(), own.clone()))).collect(),
                ..Term::number(1.0)
            };
            let moved = substitute(&mut self.symbols, &probe, &map);
            let moved: Vec<Subscript> = moved
                .factors
                .iter()
                .map(|factor| match &factor.atom {
                    Atom::Equal(left, _) => left.clone(),
                    _ => unreachable!("the probe holds equalities only"),
                })
                .collect();
            let matches = moved.iter().zip(&wanted).all(|(own, letter)| {
                let direct = *own == Subscript::Letter(*letter);
                direct
                    || term.factors.iter().any(|factor| match &factor.atom {
                        Atom::Equal(a, b) => {
                            (a == own && *b == Subscript::Letter(*letter))
                                || (b == own && *a == Subscript::Letter(*letter))
                        }
                        _ => false,
                    })
            });
            if matches {
                let layout = &self.layouts[target.index()];
                let shape: Vec<usize> = layout.plates.iter().chain(layout.slices.iter().flatten()).copied().collect();
                let node = self.node(Operation::Counts(site_id, addend_id, number), shape, Vec::new);
                let subscripts = wanted.iter().map(|letter| Subscript::Letter(*letter)).collect();
                return Ok((Pending { node, subscripts }, log.coefficient.0));
            }
        }
        Err(lost())
    }

    /// The subscripts (plates, then slots) of the element of a block whose log a log term is.
    pub fn log_subscripts(&self, block: BlockId, log: &Term) -> Option<Vec<Subscript>> {
        // A mask in front of the log: planning has seen that no entry is missing.
        let factors: Vec<Factor> =
            log.factors.iter().filter(|factor| !matches!(factor.atom, Atom::Observed(..))).cloned().collect();
        match factors.as_slice() {
            [Factor { atom: Atom::Moment(moment), power: 1 }] if moment.block == block => {
                Some(moment.plates.iter().chain(&moment.slots).cloned().collect())
            }
            [Factor { atom: Atom::Apply(Function::Log, inner), power: 1 }] => {
                let [Term { factors, .. }] = inner[0].terms.as_slice() else { return None };
                let [Factor { atom: Atom::Value(array, subscripts), .. }] = factors.as_slice() else { return None };
                if self.equations.block_of(*array) != Some(block) {
                    return None;
                }
                let letters = &self.symbols.array(*array).letters;
                let own = self.equations.block(block);
                let ordered = own.plates.iter().chain(own.slices.iter().flatten());
                ordered
                    .map(|letter| letters.iter().position(|l| l == letter).map(|place| subscripts[place].clone()))
                    .collect()
            }
            _ => None,
        }
    }

    /// Gives the remaining letters their loops, resolves subscripts, and moves sums inward.
    fn finish(
        &mut self,
        scope: &mut Scope,
        mut coefficient: f64,
        pending: Vec<Pending>,
        guards: &[Atom],
        sums: &[LetterId],
    ) -> Result<Option<Contraction>, Unplanned> {
        // Which summed letters are used at all? (An ancestor is used by its descendants.)
        let mut used: Vec<LetterId> = Vec::new();
        for pending in &pending {
            pending.subscripts.iter().for_each(|subscript| subscript.letters(&mut used));
        }
        for guard in guards {
            guard.visit_subscripts(&mut |subscript| subscript.letters(&mut used));
        }
        let mut extra: Vec<Access> = Vec::new();
        // Descendants first: a ragged letter gives its ancestors their values.
        let mut order: Vec<LetterId> = sums.to_vec();
        order.sort_by_key(|letter| std::cmp::Reverse(self.symbols.lineage(*letter).len()));
        for letter in order {
            if scope.index.contains_key(&letter) {
                continue;
            }
            let size = self.bound.size_of(&self.symbols, letter);
            let parent = self.symbols.letter(letter).parent;
            if !used.contains(&letter) {
                match parent {
                    None => coefficient *= size as f64,
                    Some(parent) if used.contains(&parent) || scope.index.contains_key(&parent) || !sums.contains(&parent) => {
                        // The number of positions in each group of the parent.
                        let axis = self.symbols.letter(letter).axis;
                        let starts = self.bound.axes[axis.index()].starts.as_ref().expect("a ragged axis has groups");
                        let counts: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
                        let shape = vec![counts.len()];
                        let node = self.node(Operation::Static(format!("group sizes of {axis:?}")), shape, || counts);
                        if !scope.index.contains_key(&parent) {
                            let base = scope.sizes.len();
                            scope.sizes.push(self.bound.size_of(&self.symbols, parent));
                            self.bind(scope, parent, Index::letter(base));
                        }
                        extra.push(Access { node, dims: vec![scope.index[&parent]] });
                    }
                    Some(parent) => {
                        // All positions of all groups: the parent is counted with them.
                        coefficient *= size as f64;
                        for step in self.symbols.lineage(parent) {
                            scope.index.insert(step, Index::letter(usize::MAX));
                        }
                    }
                }
                continue;
            }
            let base = scope.sizes.len();
            scope.sizes.push(size);
            if let Some(parent) = parent
                && let Some(bound) = scope.index.get(&parent).copied()
            {
                if bound.map.is_some() {
                    return Err(Unplanned(format!(
                        "two letters that are ragged in `{}` meet in one term",
                        self.symbols.letter(parent).name
                    )));
                }
                let map = self.parent_map(letter);
                self.rebind(scope, bound.letter, Index { letter: base, map: Some(map) });
            }
            self.bind(scope, letter, Index::letter(base));
        }
        for guard in guards {
            if let Some(access) = self.guard(scope, guard)? {
                extra.push(access);
            }
        }
        let mut operands = Vec::new();
        for pending in &pending {
            let dims: Result<Vec<Index>, Unplanned> =
                pending.subscripts.iter().map(|subscript| self.resolve(scope, subscript)).collect();
            operands.push(Access { node: pending.node, dims: dims? });
        }
        operands.extend(extra);
        if coefficient == 0.0 {
            return Ok(None);
        }
        let whole = Contraction {
            coefficient,
            sizes: scope.sizes.clone(),
            operands,
            output: scope.output.clone(),
        };
        Ok(Some(eliminate(self, whole)))
    }

    /// A subscript as an index of the loop.
    fn resolve(&mut self, scope: &Scope, subscript: &Subscript) -> Result<Index, Unplanned> {
        match subscript {
            Subscript::Letter(letter) => scope.index.get(letter).copied().ok_or_else(|| {
                Unplanned(format!("the letter `{}` has no value in a term", self.symbols.letter(*letter).name))
            }),
            Subscript::Index(array, inner) => {
                // The entry of a pattern, found by its letters.
                let letters: Vec<LetterId> = inner
                    .iter()
                    .filter_map(|subscript| match subscript {
                        Subscript::Letter(letter) => Some(*letter),
                        Subscript::Index(..) => None,
                    })
                    .collect();
                let is_index = matches!(self.symbols.array(*array).support, cavi_algebra::Support::Index(_));
                let entry = scope.pattern.iter().find(|(_, own, known)| own == array && *known == letters);
                if let Some((base, _, _)) = entry {
                    if !is_index {
                        return Ok(Index::letter(*base));
                    }
                    let map = self.index_values(*array);
                    return Ok(Index { letter: *base, map: Some(map) });
                }
                match inner.as_slice() {
                    [only] => {
                        let inside = self.resolve(scope, only)?;
                        let map = self.index_values(*array);
                        Ok(Index { letter: inside.letter, map: self.maps.compose(inside.map, Some(map)) })
                    }
                    _ => Err(Unplanned(format!(
                        "the subscripts of `{}` do not follow from one index",
                        self.symbols.array(*array).name
                    ))),
                }
            }
        }
    }

    /// The values of an index array, entry by entry.
    fn index_values(&mut self, array: ArrayId) -> MapId {
        let bound = self.bound;
        let range = match self.symbols.array(array).support {
            cavi_algebra::Support::Index(axis) => bound.size(axis),
            _ => 0,
        };
        self.maps.named(&format!("values {array:?}"), range, || match bound.array(array) {
            BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. } => {
                values.iter().map(|value| *value as u32).collect()
            }
        })
    }

    /// An equality or order of two subscripts: by making them one letter, else as an array of zeros and ones.
    fn guard(&mut self, scope: &mut Scope, guard: &Atom) -> Result<Option<Access>, Unplanned> {
        let (left, right, less) = match guard {
            Atom::Equal(left, right) => (left, right, false),
            Atom::Less(left, right) => (left, right, true),
            _ => return Err(Unplanned("a guard that is none".to_owned())),
        };
        let (left, right) = (self.resolve(scope, left)?, self.resolve(scope, right)?);
        if left == right {
            return Ok(None);
        }
        let plain = |index: Index, scope: &Scope| {
            index.map.is_none() && !scope.pattern.iter().any(|(own, _, _)| *own == index.letter)
        };
        if !less {
            // The output's letter follows from the other.
            if plain(right, scope) && left.letter != right.letter {
                self.rebind(scope, right.letter, left);
                return Ok(None);
            }
            if plain(left, scope) && left.letter != right.letter {
                self.rebind(scope, left.letter, right);
                return Ok(None);
            }
        }
        let value = |maps: &Maps, index: Index, at: usize| index.map.map_or(at as u32, |map| maps.table(map)[at]);
        let hold = |a: u32, b: u32| f64::from(u8::from(if less { a < b } else { a == b }));
        let label = format!("guard {less} {left:?} {right:?} {:?}", scope.sizes);
        if left.letter == right.letter {
            let size = scope.sizes[left.letter];
            let values: Vec<f64> = (0..size)
                .map(|at| hold(value(&self.maps, left, at), value(&self.maps, right, at)))
                .collect();
            let node = self.node(Operation::Static(label), vec![size], || values);
            return Ok(Some(Access { node, dims: vec![Index::letter(left.letter)] }));
        }
        let (rows, columns) = (scope.sizes[left.letter], scope.sizes[right.letter]);
        if rows.saturating_mul(columns) > self.limit.max(1 << 24) {
            return Err(Unplanned(format!("a restriction over {rows} x {columns} pairs does not fit in memory")));
        }
        let mut values = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            let a = value(&self.maps, left, row);
            values.extend((0..columns).map(|column| hold(a, value(&self.maps, right, column))));
        }
        let node = self.node(Operation::Static(label), vec![rows, columns], || values);
        Ok(Some(Access { node, dims: vec![Index::letter(left.letter), Index::letter(right.letter)] }))
    }
}

fn is_listed(factor: &Factor, atom: &Atom) -> bool {
    match (&factor.atom, atom) {
        (Atom::Apply(Function::Power, arguments), atom) if arguments.len() == 2 && arguments[1].is_zero() => {
            arguments[0].terms.first().is_some_and(|term| term.factors.first().is_some_and(|own| own.atom == *atom))
        }
        (Atom::Observed(array, subscripts), Atom::Value(own, other)) => array == own && subscripts == other,
        _ => false,
    }
}

/// Index subscripts with more than one subscript of their own.
fn wide_indices(symbols: &Symbols, term: &Term) -> Vec<Subscript> {
    fn inside(symbols: &Symbols, subscript: &Subscript, out: &mut Vec<Subscript>) {
        if let Subscript::Index(array, inner) = subscript {
            if inner.len() > 1 && symbols.array(*array).kind == ArrayKind::Data {
                out.push(subscript.clone());
            }
            inner.iter().for_each(|inner| inside(symbols, inner, out));
        }
    }
    let mut out = Vec::new();
    term.visit_subscripts(&mut |subscript| inside(symbols, subscript, &mut out));
    out
}

/// The place of an entry among sorted coordinates.
pub fn find_entry(indices: &[Vec<u32>], wanted: &[u32]) -> Option<usize> {
    let count = indices.first().map_or(0, Vec::len);
    let compare = |entry: usize| indices.iter().map(|column| column[entry]).cmp(wanted.iter().copied());
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        match compare(middle) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
            std::cmp::Ordering::Equal => return Some(middle),
        }
    }
    None
}

/// Listed values at their places among zeros.
fn fill_out(shape: &[usize], indices: &[Vec<u32>], values: &[f64]) -> Vec<f64> {
    let mut full = vec![0.0; shape.iter().product()];
    for (entry, value) in values.iter().enumerate() {
        let place = shape.iter().zip(indices).fold(0, |place, (size, column)| place * size + column[entry] as usize);
        full[place] = *value;
    }
    full
}
