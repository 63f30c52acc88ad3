//! Which variables may take a number more or less without any data noticing: those whose level only their own priors fix.
//!
//! # Derivation
//! Let `a -> a + u_a c` for the elements of some real variables, with a number `u_a` for each. The log-density L of every other statement
//! stays what it is, for every c, if its derivative vanishes identically: `sum_a u_a sum_e dL / da_e = 0`, over the elements e of each a. These
//! derivatives are taken in symbols; a vector u on which they vanish is found by elimination, a term of the canonical sums a row.
//! So of differences `d[i] - d[j]` it is u = 1, and of `mu + a[g]` it is (1, -1). The log-densities of the variables' own statements alone
//! depend on c, and the bound is raised by the best one (`accelerate = auto`). Coordinate ascent moves the variables one after another, each held by the
//! others, and takes the more sweeps the more precise data are than priors.
//!
//! A prior that reads another of the variables has to stay what it is as well: with `a[g] ~ Normal(m, 1)` beside `mu + a[g]` there are the shift (1, -1)
//! of a and mu, which m holds, and that of a, m and mu.
//!
//! Each position j of an axis may have a level of its own, as in `d[g, j] - d[h, j]` or `mu[j] + a[g, j]`: `sum_a u_a sum_e dL / da_e` vanishes where
//! e runs over the elements at j alone, for every j. The shift then has one number c for each position of every such axis together. A shift of
//! all positions by one number is a sum of these, and is left out.
//!
//! # Source
//! Gelfand, Sahu and Carlin (1995), Efficient parametrisations for normal linear mixed models; Liu and Wu (1999), parameter expansion.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::successors;

use cavi_algebra::canonical::canonical;
use cavi_algebra::rules::{differentiate, distribute};
use cavi_algebra::{
    ArrayId, ArrayKind, Atom, AxisId, Block, BlockId, Coefficient, Equations, LetterId, Mode, Shift,
    Subscript, Sum, Support, Symbols, Term, dedup,
};

/// Of more variables than this no three are tried together: they have too many choices.
const MANY: usize = 12;
/// In a statement that reads more of them than this no two are.
const VERY_MANY: usize = 64;
/// The letters that a row sums have names from here on, which no program has as many letters for.
const NAMES: usize = 1 << 24;
/// Coefficients below this are left by rounding.
const ROUNDING: f64 = 1e-9;

/// The shifts of a program, none of which is a sum of multiples of others.
pub fn shifts(equations: &Equations) -> Vec<Shift> {
    let ids = (0..equations.blocks.len()).map(BlockId::from);
    let candidates: Vec<ArrayId> = ids.filter_map(|id| moves_alone(equations, equations.block(id))).collect();
    let mut slopes = Slopes {
        equations,
        symbols: equations.symbols.clone(),
        readers: readers(equations, &candidates),
        known: BTreeMap::new(),
    };
    let mut found: Vec<Shift> = Vec::new();
    for chosen in choices(&candidates, &slopes.readers) {
        if let Some(shift) = slopes.vanish_along(&chosen) {
            let says_more =
                |own: &&Shift| shift.along.iter().all(|axis| has_axis(equations, &own.along, *axis));
            let known = found.iter().filter(says_more).chain([&shift]);
            if dependence(known.map(|own| own.moves.iter().copied().collect()).collect()).is_none() {
                found.push(shift);
            }
        }
    }
    found
}

/// Whether one of some axes is this one, or counts through its groups.
fn has_axis(equations: &Equations, axes: &[AxisId], axis: AxisId) -> bool {
    let parent = |axis: &AxisId| equations.symbols.axis(*axis).parent;
    axes.iter().any(|own| successors(Some(*own), parent).any(|own| own == axis))
}

/// For each variable the statements that read it, its own included.
fn readers(equations: &Equations, candidates: &[ArrayId]) -> BTreeMap<ArrayId, BTreeSet<usize>> {
    fn gather(sum: &Sum, found: &mut BTreeSet<ArrayId>) {
        for factor in sum.terms.iter().flat_map(|term| &term.factors) {
            if let Atom::Value(array, _) = &factor.atom {
                found.insert(*array);
            }
            factor.atom.nested().into_iter().for_each(|inner| gather(inner, found));
        }
    }
    let mut readers: BTreeMap<ArrayId, BTreeSet<usize>> =
        candidates.iter().map(|array| (*array, BTreeSet::new())).collect();
    for (place, statement) in equations.statements.iter().enumerate() {
        let mut read = BTreeSet::new();
        gather(&statement.log_density, &mut read);
        for array in read {
            readers.entry(array).and_modify(|own| _ = own.insert(place));
        }
    }
    readers
}

/// The variables that may move together, few before many: each alone, two that a statement reads together, any three of a few.
fn choices(candidates: &[ArrayId], readers: &BTreeMap<ArrayId, BTreeSet<usize>>) -> Vec<Vec<ArrayId>> {
    let mut choices: Vec<Vec<ArrayId>> = candidates.iter().map(|own| vec![*own]).collect();
    let mut read: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (number, array) in candidates.iter().enumerate() {
        readers[array].iter().for_each(|place| read.entry(*place).or_default().push(number));
    }
    let mut pairs: BTreeSet<[usize; 2]> = BTreeSet::new();
    for own in read.values().filter(|own| own.len() <= VERY_MANY) {
        let each = own.iter().enumerate();
        pairs.extend(each.flat_map(|(place, first)| own[place + 1..].iter().map(|second| [*first, *second])));
    }
    choices.extend(pairs.into_iter().map(|pair| pair.map(|number| candidates[number]).to_vec()));
    if candidates.len() <= MANY {
        for (first, a) in candidates.iter().enumerate() {
            for (second, b) in candidates.iter().enumerate().skip(first + 1) {
                choices.extend(candidates[second + 1..].iter().map(|c| vec![*a, *b, *c]));
            }
        }
    }
    choices
}

/// The variable of a block whose factor stays of its family where a number is added to all elements, or of a point.
fn moves_alone(equations: &Equations, block: &Block) -> Option<ArrayId> {
    let [member] = block.members[..] else { return None };
    let own = equations.symbols.array(member);
    let moves = match block.mode {
        Mode::Distribution => cavi_families::posterior(block.family).location().is_some(),
        // Its own statements are known as a quadratic function.
        Mode::Point => block.ascent.as_ref().is_none_or(|own| own.own_family.is_some()),
        Mode::Fixed | Mode::Implicit => false,
    };
    // A copy of weight 0 keeps what it has.
    let moves = moves && !block.is_weighed();
    (moves && own.kind == ArrayKind::Latent && own.support == Support::Real).then_some(member)
}

/// A term of the derivative of a statement, its number apart.
type Row = (usize, Term);

/// The letters of the positions, one an axis, at which something is added; along other axes it is added everywhere.
type At = [LetterId];

/// The derivatives of the log-densities of statements by the level of a variable.
struct Slopes<'e> {
    equations: &'e Equations,
    symbols: Symbols,
    /// See [`readers`].
    readers: BTreeMap<ArrayId, BTreeSet<usize>>,
    /// Those worked out; `None` where there is none in symbols.
    known: BTreeMap<(ArrayId, usize, Vec<LetterId>), Option<Sum>>,
}

impl Slopes<'_> {
    /// What may be added to all of these variables, where all statements but their own stay what they are and one reads each of them.
    fn vanish_along(&mut self, chosen: &[ArrayId]) -> Option<Shift> {
        let others = self.others(chosen);
        let is_read = |array: &ArrayId| others.iter().any(|place| self.readers[array].contains(place));
        if !chosen.iter().all(is_read) {
            return None;
        }
        let moves = dependence(self.columns(chosen, &[])?)?;
        let first = moves[0];
        if moves.iter().any(|own| own.abs() <= ROUNDING) {
            return None;
        }
        let moves: Vec<_> = chosen.iter().copied().zip(moves.iter().map(|own| own / first)).collect();
        let along = self.along(&moves);
        let reads_others = |array: &ArrayId| {
            let own = self.equations.statements.iter().enumerate().filter(|(_, own)| own.target == *array);
            own.map(|(place, _)| place).any(|place| self.read_in(chosen, place) > 1)
        };
        let changed = chosen.iter().copied().filter(|array| !reads_others(array)).collect();
        Some(Shift { moves, along, changed })
    }

    /// How many of the variables a statement reads.
    fn read_in(&self, chosen: &[ArrayId], place: usize) -> usize {
        chosen.iter().filter(|array| self.readers[array].contains(&place)).count()
    }

    /// The statements that have to stay what they are: all that read one of the variables, but for priors that read none of the others.
    fn others(&self, chosen: &[ArrayId]) -> BTreeSet<usize> {
        let may_change = |place: &usize| {
            chosen.contains(&self.equations.statements[*place].target) && self.read_in(chosen, *place) == 1
        };
        let all = chosen.iter().flat_map(|array| self.readers[array].iter().copied());
        all.filter(|place| !may_change(place)).collect()
    }

    /// For each variable its slopes in these statements, as [`Slopes::slope`] has them; `None` where one has no derivative in symbols.
    fn columns(&mut self, chosen: &[ArrayId], at: &At) -> Option<Vec<BTreeMap<Row, f64>>> {
        let others = self.others(chosen);
        let mut columns = Vec::new();
        for array in chosen {
            let mut column = BTreeMap::new();
            for place in &others {
                for term in self.slope(*array, *place, at)?.terms {
                    let value = term.coefficient.0;
                    *column.entry((*place, self.row(term))).or_default() += value;
                }
            }
            columns.push(column);
        }
        Some(columns)
    }

    /// The derivative of a statement's log-density by what is added to the elements of a variable at some positions; their letters are free in it.
    fn slope(&mut self, array: ArrayId, statement: usize, at: &At) -> Option<Sum> {
        let key = (array, statement, at.to_vec());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let density = &self.equations.statements[statement].log_density;
        let mut letters = self.symbols.array(array).letters.clone();
        let mut sums = Vec::new();
        for letter in &mut letters {
            let lineage = self.symbols.lineage(*letter);
            let axis = |symbols: &Symbols, letter: LetterId| symbols.letter(letter).axis;
            let held = lineage.iter().enumerate().find_map(|(depth, own)| {
                let free = at.iter().find(|free| axis(&self.symbols, **free) == axis(&self.symbols, *own))?;
                Some((depth, *free))
            });
            let Some((depth, mut inner)) = held else {
                sums.extend(lineage);
                continue;
            };
            // What counts through the groups of a position runs over one of them.
            for own in lineage[..depth].iter().rev() {
                inner = self.symbols.fresh(*own, Some(inner));
                sums.push(inner);
            }
            *letter = inner;
        }
        let all = Term { sums: dedup(sums), ..Term::number(1.0) };
        let of_element = differentiate(&mut self.symbols, density, array, &letters);
        let slope = of_element.map(|own| {
            let sum = distribute(&mut self.symbols, &all, &own);
            canonical(&mut self.symbols, &sum)
        });
        self.known.insert(key, slope.clone());
        slope
    }

    /// The axes each position of which has a level of its own: a number for each may be added, and not only the same for all.
    fn along(&mut self, moves: &[(ArrayId, f64)]) -> Vec<AxisId> {
        let axes = |array: ArrayId| -> Vec<AxisId> {
            let letters = &self.symbols.array(array).letters;
            let all: Vec<LetterId> =
                letters.iter().flat_map(|letter| self.symbols.lineage(*letter)).collect();
            dedup(all).into_iter().map(|letter| self.symbols.letter(letter).axis).collect()
        };
        let is_once =
            |axis: &AxisId, array: ArrayId| axes(array).iter().filter(|own| *own == axis).count() == 1;
        let mut shared = axes(moves[0].0);
        shared.retain(|axis| moves.iter().all(|(array, _)| is_once(axis, *array)));
        // What counts through groups comes before these.
        let depth =
            |axis: &AxisId| successors(Some(*axis), |axis| self.equations.symbols.axis(*axis).parent).count();
        shared.sort_by_key(|axis| (std::cmp::Reverse(depth(axis)), *axis));
        let chosen: Vec<ArrayId> = moves.iter().map(|(array, _)| *array).collect();
        let (mut along, mut at): (Vec<AxisId>, Vec<LetterId>) = Default::default();
        for axis in shared {
            if has_axis(self.equations, &along, axis) {
                continue;
            }
            let free = self.symbols.fresh_on(axis);
            let own: Vec<LetterId> = at.iter().copied().chain(self.symbols.lineage(free)).collect();
            let Some(columns) = self.columns(&chosen, &own) else { continue };
            let mut total: BTreeMap<Row, f64> = BTreeMap::new();
            for (column, (_, share)) in columns.into_iter().zip(moves) {
                column.into_iter().for_each(|(row, value)| *total.entry(row).or_default() += share * value);
            }
            if total.values().all(|value| value.abs() <= ROUNDING) {
                along.push(axis);
                at = own;
            }
        }
        along
    }
}

impl Slopes<'_> {
    /// A term without its number, the letters that it sums in names that depend on their axes and their order alone.
    fn row(&self, mut term: Term) -> Term {
        term.coefficient = Coefficient(1.0);
        let mut met: Vec<LetterId> = Vec::new();
        term.visit_subscripts(&mut |subscript| subscript.letters(&mut met));
        let rank = |letter: &LetterId| {
            let axis = self.symbols.letter(*letter).axis;
            (self.symbols.lineage(*letter).len(), axis, met.iter().position(|own| own == letter))
        };
        let mut letters = term.sums.clone();
        letters.sort_by_key(rank);
        let own = |number: usize| LetterId::from(NAMES + number);
        for (number, letter) in letters.iter().enumerate() {
            term.factors.iter_mut().for_each(|factor| {
                factor.atom.map_subscripts(&mut |subscript| renamed(subscript, *letter, own(number)));
            });
        }
        term.sums = (0..letters.len()).map(own).collect();
        term.factors.sort();
        term
    }
}

/// Puts a letter in the place of another.
fn renamed(subscript: &mut Subscript, from: LetterId, to: LetterId) {
    match subscript {
        Subscript::Letter(own) if *own == from => *own = to,
        Subscript::Letter(_) => {}
        Subscript::Index(_, inner) => inner.iter_mut().for_each(|own| renamed(own, from, to)),
    }
}

/// Numbers, not all 0, by which columns add to 0; `None` where there are none.
fn dependence<K: Ord + Clone>(columns: Vec<BTreeMap<K, f64>>) -> Option<Vec<f64>> {
    /// A column less multiples of those before it: its row, and which multiples.
    struct Reduced<K> {
        pivot: K,
        column: BTreeMap<K, f64>,
        multiples: Vec<f64>,
    }
    let count = columns.len();
    let mut basis: Vec<Reduced<K>> = Vec::new();
    for (place, mut column) in columns.into_iter().enumerate() {
        let mut multiples = vec![0.0; count];
        multiples[place] = 1.0;
        for own in &basis {
            let Some(value) = column.get(&own.pivot) else { continue };
            let share = value / own.column[&own.pivot];
            for (row, value) in &own.column {
                *column.entry(row.clone()).or_default() -= share * value;
            }
            multiples.iter_mut().zip(&own.multiples).for_each(|(left, right)| *left -= share * right);
        }
        column.retain(|_, value| value.abs() > ROUNDING);
        match column.keys().next().cloned() {
            None => return Some(multiples),
            Some(pivot) => basis.push(Reduced { pivot, column, multiples }),
        }
    }
    None
}
