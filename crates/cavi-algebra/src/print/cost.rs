//! What a line of the algorithm costs: O(nnz(n) K), from the letters of its equations.
//!
//! # What is counted
//! A coefficient is a sum of products. Its summed letters are taken out one after another, each time the one whose factors
//! have the fewest letters together; taking one out costs the product of the sizes of these letters, and leaves a factor over the
//! others. Where a data array that lists its entries is among the factors, its letters count as the number of entries. A sum over all other copies,
//! `k' != k`, counts as the sum over all: their own share is taken out of a residual that is kept up to date. A letter that data
//! choose, `i = item[t]`, costs nothing beside the `t`. The inverse of a
//! matrix of n rows costs n^3. What remains is an upper bound for the equations as they are printed; the constant, and what a
//! plan saves beyond it (Gram matrices, shared covariances), are not in it.

use std::collections::BTreeSet;

use crate::equations::{Auxiliary, Block, Site};
use crate::expression::Subscript;
use crate::rules::{Substitution, substitute};
use crate::sum_of_products::{Atom, Sum, Term};
use crate::symbols::{ArrayId, AuxiliaryId, AxisId, BlockId, LetterId, SiteId, Symbols};

use super::build::Builder;
use super::derivation::Derivation;
use super::document::{Span, words};
use super::node::{Call, Node};
use super::standard::{Formula, StandardParameter};

/// A product of sizes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Size {
    /// Arrays whose listed entries are counted.
    entries: BTreeSet<ArrayId>,
    /// One axis for each letter that they do not cover, sorted.
    axes: Vec<AxisId>,
}

/// The letters of a factor, and the arrays that list the entries over some of them.
#[derive(Clone, Debug)]
struct Shape {
    letters: BTreeSet<LetterId>,
    listed: BTreeSet<(ArrayId, Vec<LetterId>)>,
}

impl Shape {
    fn join(shapes: &[Shape]) -> Shape {
        Shape {
            letters: shapes.iter().flat_map(|own| own.letters.iter().copied()).collect(),
            listed: shapes.iter().flat_map(|own| own.listed.iter().cloned()).collect(),
        }
    }

    /// The product of its sizes.
    fn size(&self, symbols: &Symbols) -> Size {
        let mut left = self.letters.clone();
        let mut entries = BTreeSet::new();
        for (array, letters) in &self.listed {
            // Of arrays over the same letters the first says how many entries count.
            if letters.iter().all(|letter| left.contains(letter)) && !letters.is_empty() {
                let own: BTreeSet<LetterId> =
                    letters.iter().flat_map(|letter| symbols.lineage(*letter)).collect();
                left.retain(|letter| !own.contains(letter));
                entries.insert(*array);
            }
        }
        // An ancestor of a letter adds nothing to the number of its positions.
        let above: BTreeSet<LetterId> =
            left.iter().flat_map(|letter| symbols.lineage(*letter).split_off(1)).collect();
        let mut axes: Vec<AxisId> = left
            .iter()
            .filter(|letter| !above.contains(letter))
            .map(|letter| symbols.letter(*letter).axis)
            .collect();
        axes.sort();
        Size { entries, axes }
    }

    fn weight(&self, symbols: &Symbols) -> (usize, usize) {
        let size = self.size(symbols);
        (2 * size.axes.len() + 3 * size.entries.len(), self.letters.len())
    }
}

impl Derivation<'_> {
    /// `O(nnz(n) K)` of the update of a block.
    pub(super) fn cost_of_block(&self, id: BlockId) -> Option<Node> {
        let block = self.equations.block(id);
        let mut sizes = BTreeSet::new();
        let natural = block.natural.iter();
        for (sum, letters) in natural.map(|own| (&own.coefficient, own.slots.as_slice())) {
            let kept = block.plates.iter().chain(letters).copied().collect();
            self.of_sum(self.symbols(), sum, &kept, &[], &mut sizes);
        }
        if let Some(ascent) = &block.ascent {
            self.of_sum(self.symbols(), &ascent.objective, &BTreeSet::new(), &[], &mut sizes);
            for (slices, gradient) in block.slices.iter().zip(&ascent.gradient) {
                let kept = block.plates.iter().chain(slices).copied().collect();
                self.of_sum(self.symbols(), gradient, &kept, &[], &mut sizes);
            }
        }
        sizes.extend(self.elements(block));
        sizes.extend(self.of_inverses(block));
        self.big_o(sizes)
    }

    /// `O(nnz(n) K)` of all allocations and auxiliary variables.
    pub(super) fn cost_of_refresh(&self) -> Option<Node> {
        let mut sizes = BTreeSet::new();
        self.equations.sites.iter().for_each(|site| self.of_site(site, &mut sizes));
        self.equations.auxiliaries.iter().for_each(|own| self.of_auxiliary(own, &mut sizes));
        self.big_o(sizes)
    }

    /// `O(nnz(n) K)` of the allocations of a site.
    pub(super) fn cost_of_site(&self, id: SiteId) -> Option<Node> {
        let mut sizes = BTreeSet::new();
        self.of_site(self.equations.site(id), &mut sizes);
        self.big_o(sizes)
    }

    /// `O(nnz(n) K)` of the auxiliary variables of a tangent.
    pub(super) fn cost_of_auxiliary(&self, id: AuxiliaryId) -> Option<Node> {
        let mut sizes = BTreeSet::new();
        self.of_auxiliary(self.equations.auxiliary(id), &mut sizes);
        self.big_o(sizes)
    }

    fn of_site(&self, site: &Site, sizes: &mut BTreeSet<Size>) {
        let listed = listed(self.symbols(), &site.weight);
        for addend in &site.addends {
            let kept = site.plates.iter().chain(&addend.letters).copied();
            let whole = Shape { letters: closed(self.symbols(), kept.clone()), listed: listed.clone() };
            sizes.insert(whole.size(self.symbols()));
            // A weight may be a sum itself, as the square of a vector is. What is the same for all classes need not be known.
            let classes: Vec<LetterId> = addend.letters.clone();
            let differs = |term: &&Term| {
                let free = term.factors.iter().flat_map(|own| own.atom.free_letters(self.symbols()));
                let mut all = free.flat_map(|letter| self.symbols().lineage(letter));
                classes.is_empty() || all.any(|letter| classes.contains(&letter))
            };
            let terms = addend.log_weight.terms.iter().filter(differs).cloned().collect();
            self.of_sum(self.symbols(), &Sum { terms }, &kept.collect(), &[whole], sizes);
        }
    }

    fn of_auxiliary(&self, own: &Auxiliary, sizes: &mut BTreeSet<Size>) {
        let kept = own.plates.iter().copied().collect();
        self.of_sum(self.symbols(), &own.square, &kept, &[], sizes);
    }

    /// How many numbers a block has.
    fn elements(&self, block: &Block) -> Vec<Size> {
        let each = block.slices.iter().map(|slices| {
            let letters = closed(self.symbols(), block.plates.iter().chain(slices).copied());
            Shape { letters, listed: BTreeSet::new() }.size(self.symbols())
        });
        each.collect()
    }

    /// The inverses of matrices that the standard form takes, one for each copy of the matrix.
    fn of_inverses(&self, block: &Block) -> Option<Size> {
        let formulas = self.parameters_of(block);
        let inverted = |own: &StandardParameter| matches!(own.formula, Formula::Inverse(_));
        let place = formulas.iter().position(inverted)?;
        let mut symbols = self.symbols().clone();
        let shown = self.standard_parameters(&mut symbols, block);
        let matrix = shown.get(place)?;
        let row = *matrix.slots.first()?;
        let letters = matrix.plates.iter().flat_map(|letter| symbols.lineage(*letter)).collect();
        let mut size = Shape { letters, listed: BTreeSet::new() }.size(&symbols);
        size.axes.extend([symbols.letter(row).axis; 3]);
        size.axes.sort();
        Some(size)
    }

    /// What a sum costs, for all values of the letters that are kept.
    fn of_sum(
        &self,
        symbols: &Symbols,
        sum: &Sum,
        kept: &BTreeSet<LetterId>,
        above: &[Shape],
        sizes: &mut BTreeSet<Size>,
    ) {
        for term in &sum.terms {
            self.of_term(symbols, term, kept, above, sizes);
        }
    }

    /// The same of a term, whose letters are those of `symbols`.
    fn of_term(
        &self,
        symbols: &Symbols,
        term: &Term,
        kept: &BTreeSet<LetterId>,
        above: &[Shape],
        sizes: &mut BTreeSet<Size>,
    ) {
        // The rest of an expected square is a sum of products with the factors beside it.
        let square = term.factors.iter().position(|own| matches!(own.atom, Atom::ExpectedSquare(_)));
        if let Some(place) = square
            && let Atom::ExpectedSquare(own) = &term.factors[place].atom
        {
            for spread in &own.spread.terms {
                let mut whole = term.clone();
                whole.factors.remove(place);
                whole.factors.extend(spread.factors.iter().cloned());
                whole.sums.extend(spread.sums.iter().copied());
                self.of_term(symbols, &whole, kept, above, sizes);
            }
        }
        // A letter that data choose, `i = item[t]`, has one value for each `t`.
        if let Some((letter, by)) = tied(term) {
            let map = Substitution::from([(letter, by.clone())]);
            let mut bare = term.clone();
            bare.factors.retain(|own| tie(&own.atom) != Some((letter, by.clone())));
            bare.sums.retain(|own| *own != letter);
            let mut kept = kept.clone();
            if kept.remove(&letter) {
                let mut letters = Vec::new();
                by.letters(&mut letters);
                kept.extend(letters.iter().flat_map(|own| symbols.lineage(*own)));
                bare.sums.retain(|own| !kept.contains(own));
            }
            // Summed letters may get new names.
            let mut with_new = symbols.clone();
            let bare = substitute(&mut with_new, &bare, &map);
            return self.of_term(&with_new, &bare, &kept, above, sizes);
        }
        // A condition over entries is one of those that list them.
        let mut shapes: Vec<Shape> = Vec::new();
        let masks: Vec<Shape> = term
            .factors
            .iter()
            .filter_map(|own| shape_of_data(symbols, &own.atom))
            .filter(|own| !own.listed.is_empty())
            .chain(above.iter().cloned())
            .collect();
        for factor in &term.factors {
            let letters = match &factor.atom {
                Atom::Different(..) => continue,
                Atom::LogPartition { site, plates } => {
                    let own = &self.equations.site(*site).addends;
                    let mut letters = Vec::new();
                    plates.iter().for_each(|subscript| subscript.letters(&mut letters));
                    for addend in own {
                        let all = closed(symbols, letters.iter().chain(&addend.letters).copied());
                        sizes.insert(self.masked(all, &masks).size(symbols));
                    }
                    letters
                }
                atom => {
                    let free = atom.free_letters(symbols);
                    for inner in atom.nested() {
                        self.of_sum(symbols, inner, &free.iter().copied().collect(), &masks, sizes);
                    }
                    free
                }
            };
            let own = shape_of_data(symbols, &factor.atom);
            shapes.push(own.unwrap_or_else(|| Shape {
                letters: closed(symbols, letters.into_iter()),
                listed: BTreeSet::new(),
            }));
        }
        let mentioned: BTreeSet<LetterId> =
            shapes.iter().flat_map(|own| own.letters.iter().copied()).collect();
        let mut left: BTreeSet<LetterId> = term
            .sums
            .iter()
            .copied()
            .filter(|letter| mentioned.contains(letter) && !kept.contains(letter))
            .collect();
        let with = |shapes: &[Shape], letter: LetterId| {
            let own: Vec<Shape> =
                shapes.iter().filter(|own| own.letters.contains(&letter)).cloned().collect();
            let joined = Shape::join(&own);
            self.masked(joined.letters, &[own.as_slice(), above].concat())
        };
        while let Some(letter) =
            left.iter().copied().min_by_key(|letter| with(&shapes, *letter).weight(symbols))
        {
            let joined = with(&shapes, letter);
            sizes.insert(joined.size(symbols));
            shapes.retain(|own| !own.letters.contains(&letter));
            let letters: BTreeSet<LetterId> =
                joined.letters.iter().copied().filter(|own| *own != letter).collect();
            let listed = joined.listed.into_iter();
            let listed = listed.filter(|(_, own)| own.iter().all(|own| letters.contains(own))).collect();
            shapes.push(Shape { letters, listed });
            left.remove(&letter);
        }
        let whole = Shape::join(&shapes);
        sizes.insert(self.masked(whole.letters, &[shapes.as_slice(), above].concat()).size(symbols));
    }

    /// Letters with the entries that some factors list over them.
    fn masked(&self, letters: BTreeSet<LetterId>, by: &[Shape]) -> Shape {
        let listed = by.iter().flat_map(|own| own.listed.iter().cloned());
        let listed = listed.filter(|(_, own)| own.iter().all(|own| letters.contains(own))).collect();
        Shape { letters, listed }
    }

    /// `O(...)`: without what is no larger than another.
    fn big_o(&self, sizes: BTreeSet<Size>) -> Option<Node> {
        let all: Vec<&Size> = sizes.iter().collect();
        let larger = |own: &Size| all.iter().any(|other| *other != own && self.is_within(own, other));
        let largest: Vec<&Size> = all.iter().copied().filter(|own| !larger(own)).collect();
        let nodes: Vec<Node> = largest.into_iter().map(|own| self.product(own)).collect();
        (!nodes.is_empty()).then(|| Node::call(Call::Named("O".to_owned()), Node::add(nodes)))
    }

    /// Whether a product of sizes is no larger than another. Each position of an axis has an entry, so that an array lists no
    /// fewer entries than one of its axes has positions; and no more than all of its axes have together.
    fn is_within(&self, own: &Size, other: &Size) -> bool {
        let mut left = other.axes.clone();
        for array in own.entries.difference(&other.entries) {
            let letters = closed(self.symbols(), self.symbols().array(*array).letters.iter().copied());
            let all = Shape { letters, listed: BTreeSet::new() }.size(self.symbols()).axes;
            for axis in all {
                let Some(place) = left.iter().position(|own| *own == axis) else { return false };
                left.remove(place);
            }
        }
        let mut arrays: Vec<ArrayId> = other.entries.difference(&own.entries).copied().collect();
        own.axes.iter().all(|axis| {
            // A group of a ragged axis has a position.
            let same = left.iter().position(|own| own == axis);
            if let Some(place) = same.or_else(|| left.iter().position(|own| self.lies_in(*own, *axis))) {
                left.remove(place);
                return true;
            }
            let letters = |array: &ArrayId| {
                let all = self.symbols().array(*array).letters.iter();
                all.flat_map(|letter| self.symbols().lineage(*letter)).collect::<Vec<_>>()
            };
            let holds = |array: &ArrayId| {
                letters(array).iter().any(|letter| self.symbols().letter(*letter).axis == *axis)
            };
            match arrays.iter().position(holds) {
                Some(place) => {
                    arrays.remove(place);
                    true
                }
                None => false,
            }
        })
    }

    /// Whether an axis is ragged in another, over any number of steps.
    fn lies_in(&self, axis: AxisId, other: AxisId) -> bool {
        let parent = |axis: &AxisId| self.symbols().axis(*axis).parent;
        std::iter::successors(parent(&axis), parent).any(|own| own == other)
    }

    fn product(&self, size: &Size) -> Node {
        let entries =
            size.entries.iter().map(|array| Node::call(Call::Named("nnz".to_owned()), self.name(*array)));
        let mut symbols = self.symbols().clone();
        let mut factors: Vec<Node> = entries.collect();
        let mut rest = size.axes.as_slice();
        while let Some(axis) = rest.first() {
            let count = rest.iter().take_while(|own| *own == axis).count();
            rest = &rest[count..];
            let letter = symbols.fresh_on(*axis);
            let sums = symbols.lineage(letter);
            let term =
                Term { sums, factors: Vec::new(), coefficient: crate::sum_of_products::Coefficient(1.0) };
            let one = Builder::new(self.scope_with(&symbols), &[]).sum(&Sum::term(term));
            factors.push(if count == 1 { one } else { one.raised(Node::number(count as f64)) });
        }
        Node::times(factors)
    }
}

/// The letter of a condition that data choose, and the element that chooses it.
fn tie(atom: &Atom) -> Option<(LetterId, Subscript)> {
    match atom {
        Atom::Equal(Subscript::Letter(letter), by @ Subscript::Index(..))
        | Atom::Equal(by @ Subscript::Index(..), Subscript::Letter(letter)) => {
            let mut letters = Vec::new();
            by.letters(&mut letters);
            (!letters.contains(letter)).then(|| (*letter, by.clone()))
        }
        _ => None,
    }
}

/// The first letter of a product that data choose.
fn tied(term: &Term) -> Option<(LetterId, Subscript)> {
    term.factors.iter().find_map(|own| tie(&own.atom))
}

/// `, in O(nnz(n) K)`
pub(super) fn costing(cost: Option<Node>) -> Vec<Span> {
    cost.map_or_else(Vec::new, |node| vec![words(", in "), Span::Math(node)])
}

/// The shape of an element of data, with its entries where it lists them.
fn shape_of_data(symbols: &Symbols, atom: &Atom) -> Option<Shape> {
    let (Atom::Value(array, subscripts) | Atom::Observed(array, subscripts)) = atom else { return None };
    let own = symbols.array(*array);
    let mut letters = Vec::new();
    subscripts.iter().for_each(|subscript| subscript.letters(&mut letters));
    let lists =
        (own.absent.zero || own.absent.missing) && letters.len() == subscripts.len() && letters.len() > 1;
    let closed = letters.iter().flat_map(|letter| symbols.lineage(*letter)).collect();
    let listed = if lists { BTreeSet::from([(*array, letters)]) } else { BTreeSet::new() };
    Some(Shape { letters: closed, listed })
}

/// The arrays that list the entries over which a weight is not 0.
fn listed(symbols: &Symbols, weight: &Sum) -> BTreeSet<(ArrayId, Vec<LetterId>)> {
    let [term] = weight.terms.as_slice() else { return BTreeSet::new() };
    let shapes = term.factors.iter().filter_map(|own| shape_of_data(symbols, &own.atom));
    shapes.flat_map(|own| own.listed).collect()
}

/// Letters with their ancestors.
fn closed(symbols: &Symbols, letters: impl Iterator<Item = LetterId>) -> BTreeSet<LetterId> {
    letters.flat_map(|letter| symbols.lineage(letter)).collect()
}
