//! Expected counts and means, of programs in which a latent index chooses among components: `N[k] = sum_n q(z[n] = k)` and
//! `x_bar[k,j] = sum_n q(z[n] = k) x[n,j] / N[k]`, in which the literature writes the updates of the components.
//!
//! They are found in the coefficients of the statistics, whatever the program is. In a term
//!
//! ```text
//! c * sum[n, j, ...](a(j, k, ...) * b(n, j, k, ...))
//! ```
//!
//! the letters of the copies of the index are summed, and `b` is all that depends on them. Multiplication distributes over
//! addition, so that the term is `c * sum[j, ...](a(j, k, ...) * B(j, k, ...))` with `B = sum[n](b)`. This `B` is
//!
//! - an expected count, if `b` is a product of probabilities of classes, of weights of rows, and of conditions that are 1 or
//!   0: which entries are observed, or which element the data choose;
//! - an expected count times a mean, if `b` has one element of data besides.
//!
//! Any other term stays as it is. Where a count is 0, its product with the mean stands for an empty sum, which is 0.
//!
//! # Source
//! Bishop (2006), Pattern Recognition and Machine Learning, equations 10.51 and 10.52.

use crate::equations::Block;
use crate::expression::Subscript;
use crate::sum_of_products::{Atom, Coefficient, Factor, Sum, Term, dedup};
use crate::symbols::{Array, ArrayId, ArrayKind, AxisId, BlockId, LetterId, Support, Symbols};

use super::build::Builder;
use super::derivation::Derivation;
use super::document::{Item, Row, words};
use super::node::Node;
use super::number::Number;
use super::scope::Scope;
use super::words::plain;

/// What expected counts are called, the first that nothing else is.
const COUNTS: [&str; 4] = ["N", "M", "R", "T"];

/// The expected counts and means of a page, and the updates written in them.
pub(super) struct Counts {
    /// The symbols of the program, then a name for each count and mean.
    pub symbols: Symbols,
    /// The blocks of the program; of those whose coefficients hold counts, with these in them.
    blocks: Vec<Block>,
    defined: Vec<Defined>,
}

/// A sum that has a name.
struct Defined {
    name: ArrayId,
    /// Its letters, in the order of its subscripts.
    letters: Vec<LetterId>,
    /// The letters that are summed.
    sums: Vec<LetterId>,
    /// What is summed.
    factors: Vec<Factor>,
    /// Of a mean, the count that it is divided by, with its letters.
    count: Option<(ArrayId, Vec<LetterId>)>,
}

impl Derivation<'_> {
    /// The counts that stand in the updates of the page. A block that has classes itself is left out: its coefficients are
    /// scores of classes and no sums over its own copies.
    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts {
            symbols: self.symbols().clone(),
            blocks: self.equations.blocks.clone(),
            defined: Vec::new(),
        };
        for index in 0..counts.blocks.len() {
            if counts.blocks[index].classes.is_some() {
                continue;
            }
            for place in 0..counts.blocks[index].natural.len() {
                let block = &counts.blocks[index];
                let natural = &block.natural[place];
                let order: Vec<LetterId> = block.plates.iter().chain(&natural.slots).copied().collect();
                let terms = natural.coefficient.terms.clone().into_iter();
                let terms = terms.map(|term| self.counted(&mut counts, term, &order)).collect();
                counts.blocks[index].natural[place].coefficient = Sum { terms };
            }
        }
        counts
    }

    /// What the names stand for: all, or those that the update of one block holds.
    pub(super) fn expected_counts(&self, counts: &Counts, only: Option<BlockId>) -> Vec<Item> {
        let read = |name: ArrayId| match only {
            Some(id) => counts.block(id).natural.iter().any(|own| own.coefficient.mentions(name)),
            None => true,
        };
        let wanted: Vec<&Defined> = counts.defined.iter().filter(|own| read(own.name)).collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        let means = wanted.iter().any(|own| own.count.is_some());
        let text = if means {
            "How many entries are expected in each class, and the means of the data weighted by the probabilities of the \
             classes; the standard forms are written in these:"
        } else {
            "How many entries are expected in each class; the standard forms are written in these:"
        };
        let heading = if means { "Expected counts and means" } else { "Expected counts" };
        let rows = wanted.iter().map(|own| self.definition(counts, own)).collect();
        let mut items = vec![Item::Heading(heading), Item::Paragraph(vec![words(text)]), Item::Rows(rows)];
        if means {
            items.push(Item::Paragraph(vec![words(
                "Where an expected count is 0, so is its product with a mean.",
            )]));
        }
        items
    }

    /// The names that the update of a block reads, means with the counts that they are divided by: each with its element and
    /// the label of its equation.
    pub(super) fn counts_of(&self, counts: &Counts, id: BlockId) -> Vec<(ArrayId, Node, String)> {
        let natural = &counts.block(id).natural;
        let reads = |own: &Defined| natural.iter().any(|one| one.coefficient.mentions(own.name));
        let below = |own: &Defined| {
            let means = counts.defined.iter().filter(|mean| reads(mean));
            means.into_iter().any(|mean| mean.count.as_ref().is_some_and(|(count, _)| *count == own.name))
        };
        let wanted = counts.defined.iter().filter(|own| reads(own) || below(own));
        let one = |own: &Defined| {
            let label = self.label(&format!("count:{}", counts.symbols.array(own.name).name));
            (own.name, self.sides(counts, own).0, label)
        };
        wanted.map(one).collect()
    }

    /// Each name, and what it stands for.
    pub(super) fn definitions(&self, counts: &Counts) -> Vec<(Node, Node)> {
        counts.defined.iter().map(|own| self.sides(counts, own)).collect()
    }

    fn definition(&self, counts: &Counts, own: &Defined) -> Row {
        let (left, right) = self.sides(counts, own);
        let name = &counts.symbols.array(own.name).name;
        Row::equal(left, right).labelled(self.label(&format!("count:{name}")))
    }

    fn sides(&self, counts: &Counts, own: &Defined) -> (Node, Node) {
        let mut builder = Builder::new(self.scope_with(&counts.symbols), &own.letters);
        let subscripts = |letters: &[LetterId]| -> Vec<Subscript> {
            letters.iter().map(|letter| Subscript::Letter(*letter)).collect()
        };
        let left = builder.element(own.name, &subscripts(&own.letters));
        let sum = builder.sum(&Sum::term(Term {
            sums: own.sums.clone(),
            factors: own.factors.clone(),
            coefficient: Coefficient(1.0),
        }));
        let right = match &own.count {
            Some((count, letters)) => {
                let below = builder.element(*count, &subscripts(letters));
                Node::product(Number::one(), vec![sum], vec![below])
            }
            None => sum,
        };
        (left, right)
    }

    /// The term with its sums over the copies of an index by their names, those that have one. `order` has the letters of the
    /// parameter that it contributes to.
    fn counted(&self, counts: &mut Counts, mut term: Term, order: &[LetterId]) -> Term {
        let sums = self.summed_copies(&term);
        let depends = |own: &Factor, letters: &[LetterId]| depends(self.symbols(), own, letters);
        let outside = |own: &&Factor| self.classes_of(own).is_some() && !depends(own, &sums);
        if term.factors.iter().any(|own| outside(&own)) {
            return term;
        }
        let mut rest = sums;
        while let Some(first) = rest.first().copied() {
            // All that hangs together with this letter is one sum: what stands in a factor with it, and what is ragged in it,
            // also where no factor depends on that. A sum over the positions of a group is their number, which belongs
            // to the sum over the groups.
            let symbols = self.symbols();
            let mut own = vec![first];
            let inside = loop {
                let inside: Vec<&Factor> = term.factors.iter().filter(|other| depends(other, &own)).collect();
                let is_nested = |letter: &LetterId| {
                    let above = |one: LetterId, other: LetterId| symbols.lineage(one).contains(&other);
                    own.iter().any(|known| above(*known, *letter) || above(*letter, *known))
                };
                let linked = |letter: &&LetterId| {
                    !own.contains(letter)
                        && (is_nested(letter) || inside.iter().any(|other| depends(other, &[**letter])))
                };
                match rest.iter().find(linked) {
                    Some(more) => own.push(*more),
                    None => break inside.into_iter().cloned().collect::<Vec<Factor>>(),
                }
            };
            rest.retain(|letter| !own.contains(letter));
            let own: Vec<LetterId> =
                term.sums.iter().copied().filter(|letter| own.contains(letter)).collect();
            let Some(names) = self.named(counts, &own, &inside, order) else { continue };
            term.sums.retain(|letter| !own.contains(letter));
            term.factors.retain(|other| !inside.contains(other));
            for (name, letters) in names {
                let atom = Atom::Value(name, letters.into_iter().map(Subscript::Letter).collect());
                match term.factors.iter_mut().find(|other| other.atom == atom) {
                    Some(known) => known.power += 1,
                    None => term.factors.push(Factor::of(atom)),
                }
            }
            term.factors.sort();
        }
        term
    }

    /// The summed letters of the copies that probabilities of classes are about. A letter that is ragged in one of them is
    /// summed within it; an ancestor of one goes along, if nothing else of the term depends on it.
    fn summed_copies(&self, term: &Term) -> Vec<LetterId> {
        let symbols = self.symbols();
        let mut plates = Vec::new();
        for factor in term.factors.iter().filter(|own| self.classes_of(own).is_some()) {
            copies(&factor.atom).iter().for_each(|own| own.letters(&mut plates));
        }
        let mut sums: Vec<LetterId> =
            dedup(plates).into_iter().filter(|own| term.sums.contains(own)).collect();
        loop {
            let within = |letter: &LetterId| {
                !sums.contains(letter) && symbols.lineage(*letter).iter().any(|above| sums.contains(above))
            };
            let Some(more) = term.sums.iter().copied().find(within) else { break };
            sums.push(more);
        }
        loop {
            let alone = |letter: &LetterId| {
                let mut others = term.factors.iter().filter(|own| !depends(symbols, own, &sums));
                let below = |own: &LetterId| {
                    !sums.contains(own) && own != letter && symbols.lineage(*own).contains(letter)
                };
                !others.any(|own| depends(symbols, own, &[*letter])) && !term.sums.iter().any(below)
            };
            let mut above = sums.iter().flat_map(|own| symbols.lineage(*own));
            let joins =
                |letter: &LetterId| term.sums.contains(letter) && !sums.contains(letter) && alone(letter);
            let Some(more) = above.find(joins) else { break };
            sums.push(more);
        }
        sums
    }

    /// The names of a sum over letters of a product: a count, or a count and a mean. None if it is neither.
    fn named(
        &self,
        counts: &mut Counts,
        sums: &[LetterId],
        inside: &[Factor],
        order: &[LetterId],
    ) -> Option<Vec<(ArrayId, Vec<LetterId>)>> {
        let (mut weights, mut data, mut about) = (Vec::new(), Vec::new(), Vec::new());
        for factor in inside {
            match &factor.atom {
                Atom::Moment(_) | Atom::Allocation { .. } if self.classes_of(factor).is_some() => {
                    // The probability that one copy is of two classes is no product.
                    let copy = bare(&factor.atom);
                    if about.contains(&copy) {
                        return None;
                    }
                    about.push(copy);
                    weights.push(factor.clone());
                }
                Atom::Value(array, _) if factor.power == 1 => {
                    let array = (*array, self.symbols().array(*array));
                    match (array.1.kind, array.1.support) {
                        (ArrayKind::Data, Support::Multiplicity) => weights.push(factor.clone()),
                        (ArrayKind::Data, _) => data.push(array.0),
                        _ => return None,
                    }
                }
                Atom::Observed(..) | Atom::Equal(..) | Atom::Different(..) | Atom::Less(..) => {
                    weights.push(factor.clone());
                }
                Atom::Value(..)
                | Atom::Moment(_)
                | Atom::Allocation { .. }
                | Atom::LogPartition { .. }
                | Atom::Auxiliary { .. }
                | Atom::Group(_)
                | Atom::Apply(..)
                | Atom::ExpectedSquare(_) => return None,
            }
        }
        if data.len() > 1 || about.is_empty() {
            return None;
        }
        let count = self.count_of(counts, sums, &weights, order);
        let mean = data.first().map(|data| self.mean_of(counts, sums, inside, *data, count.clone(), order));
        Some([count].into_iter().chain(mean).collect())
    }

    /// Of the probability of a class its letter; of anything else nothing.
    fn classes_of(&self, factor: &Factor) -> Option<LetterId> {
        let class = match &factor.atom {
            Atom::Moment(moment) if self.equations.block(moment.block).classes.is_some() => {
                moment.slots.last()
            }
            Atom::Allocation { site, categories, .. } => {
                let variable = self.equations.implicit(*site)?;
                let is_index = matches!(self.symbols().array(variable).support, Support::Index(_));
                categories.last().filter(|_| is_index && categories.len() == 1)
            }
            _ => None,
        };
        match class {
            Some(Subscript::Letter(letter)) if factor.power == 1 => Some(*letter),
            _ => None,
        }
    }

    /// The name of a count, and the letters that it has here.
    fn count_of(
        &self,
        counts: &mut Counts,
        sums: &[LetterId],
        factors: &[Factor],
        order: &[LetterId],
    ) -> (ArrayId, Vec<LetterId>) {
        if let Some(found) = counts.find(sums, factors, false) {
            return found;
        }
        let letters = self.letters_of_count(sums, factors, order);
        let name = self.free_name(&counts.symbols, &COUNTS.map(str::to_owned));
        let id = counts.name(name, Support::Nonnegative, &letters);
        counts.defined.push(Defined {
            name: id,
            letters: letters.clone(),
            sums: sums.to_vec(),
            factors: factors.to_vec(),
            count: None,
        });
        (id, letters)
    }

    /// The name of the mean of an array, and the letters that it has here.
    fn mean_of(
        &self,
        counts: &mut Counts,
        sums: &[LetterId],
        factors: &[Factor],
        data: ArrayId,
        count: (ArrayId, Vec<LetterId>),
        order: &[LetterId],
    ) -> (ArrayId, Vec<LetterId>) {
        if let Some(found) = counts.find(sums, factors, true) {
            return found;
        }
        let letters = self.letters_of_count(sums, factors, order);
        let name = format!("{}_bar", self.symbols().array(data).name);
        let name = self.free_name(&counts.symbols, &[name]);
        let id = counts.name(name, Support::Real, &letters);
        let own = Defined {
            name: id,
            letters: letters.clone(),
            sums: sums.to_vec(),
            factors: factors.to_vec(),
            count: Some(count),
        };
        counts.defined.push(own);
        (id, letters)
    }

    /// The letters of a count as subscripts: those of the parameter that it contributes to in their order, then groups within
    /// which it counts, classes, and what else it depends on. A ragged letter stands for its ancestors, too.
    fn letters_of_count(&self, sums: &[LetterId], factors: &[Factor], order: &[LetterId]) -> Vec<LetterId> {
        let symbols = self.symbols();
        let groups = sums.iter().flat_map(|own| symbols.lineage(*own).into_iter().skip(1));
        let classes = factors.iter().filter_map(|own| self.classes_of(own));
        let others = factors.iter().flat_map(|own| own.atom.free_letters(symbols));
        let all = dedup(groups.chain(classes).chain(others).collect());
        let mut free: Vec<LetterId> = all.into_iter().filter(|own| !sums.contains(own)).collect();
        free.sort_by_key(|own| order.iter().position(|known| known == own).unwrap_or(order.len()));
        let above =
            |own: &LetterId| free.iter().any(|other| other != own && symbols.lineage(*other).contains(own));
        free.iter().copied().filter(|own| !above(own)).collect()
    }

    /// The first of some names that stands for nothing else, else the first with a number.
    fn free_name(&self, symbols: &Symbols, names: &[String]) -> String {
        let scope = self.scope();
        let is_free = |name: &String| {
            !scope.is_taken(name)
                && symbols.arrays.iter().all(|own| plain(&own.name) != *name)
                && symbols.letters.iter().all(|own| own.name != *name)
                && scope.normaliser() != *name
                && scope.objective() != *name
                && self.is_no_size(scope, name)
        };
        if let Some(name) = names.iter().find(|name| is_free(name)) {
            return name.clone();
        }
        let numbered = (2..).map(|number| format!("{}_{number}", names[0]));
        let known = |name: &String| symbols.arrays.iter().any(|own| plain(&own.name) == *name);
        numbered.into_iter().find(|name| !known(name)).unwrap_or_default()
    }

    /// Whether no axis has this capital as its size. `N` alone is the number of rows and `N_k` that of a class, as everywhere in
    /// the literature, unless sizes have subscripts themselves.
    fn is_no_size(&self, scope: Scope<'_>, name: &str) -> bool {
        (0..self.symbols().axes.len()).map(AxisId::from).all(|axis| {
            let own = scope.capital(axis).as_deref() == Some(name);
            !own || name == COUNTS[0] && self.symbols().axis(axis).parent.is_none()
        })
    }
}

impl Counts {
    /// The block of an id, its coefficients in counts.
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.index()]
    }

    fn name(&mut self, name: String, support: Support, letters: &[LetterId]) -> ArrayId {
        let id = ArrayId::from(self.symbols.arrays.len());
        let bare = Array::latent(&name, letters.to_vec(), support);
        self.symbols.arrays.push(Array { kind: ArrayKind::Constant, ..bare });
        id
    }

    /// The name that a sum has, and its letters here: the same sum but for the names of letters.
    fn find(&self, sums: &[LetterId], factors: &[Factor], mean: bool) -> Option<(ArrayId, Vec<LetterId>)> {
        let mut own = self.defined.iter().filter(|own| own.count.is_some() == mean);
        own.find_map(|own| {
            if own.sums.len() != sums.len() || own.factors.len() != factors.len() {
                return None;
            }
            let pairs = matched(&self.symbols, &own.factors, factors, &Vec::new())?;
            let pairs = with_positions(&self.symbols, pairs, &own.sums, sums)?;
            let here = |letter: &LetterId| Some(pairs.iter().find(|(from, _)| from == letter)?.1);
            // A sum stays a sum, over letters of the same axes.
            let summed = own.sums.iter().all(|letter| here(letter).is_some_and(|to| sums.contains(&to)));
            let alike = pairs.iter().all(|(from, to)| {
                let axis = |letter: &LetterId| self.symbols.letter(*letter).axis;
                axis(from) == axis(to) && own.sums.contains(from) == sums.contains(to)
            });
            let letters: Option<Vec<LetterId>> = own.letters.iter().map(here).collect();
            letters.filter(|_| summed && alike).map(|letters| (own.name, letters))
        })
    }
}

/// Pairs of letters, of which no two share one.
type Pairs = Vec<(LetterId, LetterId)>;

/// The pairs of letters that turn some factors into others, whatever their order.
fn matched(symbols: &Symbols, left: &[Factor], right: &[Factor], pairs: &Pairs) -> Option<Pairs> {
    let Some((first, rest)) = left.split_first() else { return Some(pairs.clone()) };
    (0..right.len()).find_map(|place| {
        let mut pairs = pairs.clone();
        if !same(symbols, first, &right[place], &mut pairs) {
            return None;
        }
        let others: Vec<Factor> = [&right[..place], &right[place + 1..]].concat();
        matched(symbols, rest, &others, &pairs)
    })
}

/// The pairs, and one for each summed letter that no factor has: the positions of a group are counted in `sum[s, t](q(z[s] = k))`.
fn with_positions(
    symbols: &Symbols,
    mut pairs: Pairs,
    left: &[LetterId],
    right: &[LetterId],
) -> Option<Pairs> {
    let image =
        |pairs: &Pairs, letter: LetterId| pairs.iter().find(|(from, _)| *from == letter).map(|(_, to)| *to);
    let mut open: Vec<LetterId> = left.iter().copied().filter(|own| image(&pairs, *own).is_none()).collect();
    // Ancestors first.
    open.sort_by_key(|letter| symbols.lineage(*letter).len());
    for letter in open {
        let above = |pairs: &Pairs, own: LetterId| {
            let (from, to) = (symbols.lineage(letter), symbols.lineage(own));
            from.len() == to.len()
                && from.iter().zip(&to).skip(1).all(|(from, to)| image(pairs, *from) == Some(*to))
        };
        let fits = |own: &&LetterId| {
            symbols.letter(**own).axis == symbols.letter(letter).axis
                && pairs.iter().all(|(_, to)| to != *own)
                && above(&pairs, **own)
        };
        let own = *right.iter().find(fits)?;
        pairs.push((letter, own));
    }
    Some(pairs)
}

/// Whether two factors differ by names of letters only. Ragged letters take the letters that they are ragged in along.
fn same(symbols: &Symbols, left: &Factor, right: &Factor, pairs: &mut Pairs) -> bool {
    let letters = |factor: &Factor| {
        let mut letters = Vec::new();
        factor.atom.visit_subscripts(&mut |own| own.letters(&mut letters));
        letters.into_iter().flat_map(|letter| symbols.lineage(letter)).collect::<Vec<LetterId>>()
    };
    let nameless_one = |factor: &Factor| {
        let mut factor = factor.clone();
        factor.atom.map_subscripts(&mut nameless);
        factor
    };
    let (own, other) = (letters(left), letters(right));
    if nameless_one(left) != nameless_one(right) || own.len() != other.len() {
        return false;
    }
    for (from, to) in own.into_iter().zip(other) {
        match pairs.iter().find(|(known, image)| *known == from || *image == to) {
            Some(pair) if *pair == (from, to) => {}
            Some(_) => return false,
            None => pairs.push((from, to)),
        }
    }
    true
}

/// A subscript without the names of its letters.
fn nameless(subscript: &mut Subscript) {
    match subscript {
        Subscript::Letter(letter) => *letter = LetterId::from(0),
        Subscript::Index(_, inner) => inner.iter_mut().for_each(nameless),
    }
}

/// Which copy of an index a probability is about.
fn copies(atom: &Atom) -> &[Subscript] {
    match atom {
        Atom::Moment(moment) => &moment.plates,
        Atom::Allocation { plates, .. } => plates,
        _ => &[],
    }
}

/// The probability without its class: which index it is about, and which copy of it.
fn bare(atom: &Atom) -> Atom {
    let mut atom = atom.clone();
    match &mut atom {
        Atom::Moment(moment) => moment.slots.clear(),
        Atom::Allocation { categories, .. } => categories.clear(),
        _ => {}
    }
    atom
}

/// Whether a factor depends on one of these letters.
fn depends(symbols: &Symbols, factor: &Factor, letters: &[LetterId]) -> bool {
    let own = factor.atom.free_letters(symbols);
    own.into_iter().flat_map(|letter| symbols.lineage(letter)).any(|letter| letters.contains(&letter))
}
