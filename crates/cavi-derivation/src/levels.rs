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
//! of a and mu, which m holds, and that of a, m and mu. Where each position of an axis has a level of its own, as each j in `d[g, j] - d[h, j]`, one number for all
//! would say little, and there is no shift.
//!
//! # Source
//! Gelfand, Sahu and Carlin (1995), Efficient parametrisations for normal linear mixed models; Liu and Wu (1999), parameter expansion.

use std::collections::{BTreeMap, BTreeSet};

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
        if let Some(moves) = slopes.vanish_along(&chosen) {
            found.push(Shift { moves });
            let all = found.iter().map(|own| own.moves.iter().copied().collect()).collect();
            if dependence(all).is_some() {
                found.pop();
            }
        }
    }
    found
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
        Mode::Point => true,
        Mode::Fixed | Mode::Implicit => false,
    };
    // A copy of weight 0 keeps what it has.
    let moves = moves && !block.is_weighed();
    (moves && own.kind == ArrayKind::Latent && own.support == Support::Real).then_some(member)
}

/// A term of the derivative of a statement, its number apart.
type Row = (usize, Term);

/// An axis, and the letter of the position of it at which something is added; `None` where it is added everywhere.
type At = Option<(AxisId, LetterId)>;

/// The derivatives of the log-densities of statements by the level of a variable.
struct Slopes<'e> {
    equations: &'e Equations,
    symbols: Symbols,
    /// See [`readers`].
    readers: BTreeMap<ArrayId, BTreeSet<usize>>,
    /// Those worked out; `None` where there is none in symbols.
    known: BTreeMap<(ArrayId, usize, At), Option<Sum>>,
}

impl Slopes<'_> {
    /// For each variable what is added to it while c is added to the first, where all statements but their own stay what they are and one reads
    /// each of them.
    fn vanish_along(&mut self, chosen: &[ArrayId]) -> Option<Vec<(ArrayId, f64)>> {
        let others = self.others(chosen);
        let is_read = |array: &ArrayId| others.iter().any(|place| self.readers[array].contains(place));
        if !chosen.iter().all(is_read) {
            return None;
        }
        let moves = dependence(self.columns(chosen, None)?)?;
        let first = moves[0];
        let all_move = moves.iter().all(|own| own.abs() > ROUNDING);
        let moves: Vec<_> = chosen.iter().copied().zip(moves.iter().map(|own| own / first)).collect();
        (all_move && !self.is_by_position(&moves)).then_some(moves)
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
    fn columns(&mut self, chosen: &[ArrayId], at: At) -> Option<Vec<BTreeMap<Row, f64>>> {
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

    /// The derivative of a statement's log-density by what is added to all elements of a variable; or to those at a position of an axis, the
    /// letter of which is then free in it.
    fn slope(&mut self, array: ArrayId, statement: usize, at: At) -> Option<Sum> {
        if let Some(known) = self.known.get(&(array, statement, at)) {
            return known.clone();
        }
        let density = &self.equations.statements[statement].log_density;
        let mut letters = self.symbols.array(array).letters.clone();
        let mut sums = Vec::new();
        for letter in &mut letters {
            match at.filter(|(axis, _)| self.symbols.letter(*letter).axis == *axis) {
                Some((_, free)) => *letter = free,
                None => sums.extend(self.symbols.lineage(*letter)),
            }
        }
        let all = Term { sums: dedup(sums), ..Term::number(1.0) };
        let of_element = differentiate(&mut self.symbols, density, array, &letters);
        let slope = of_element.map(|own| {
            let sum = distribute(&mut self.symbols, &all, &own);
            canonical(&mut self.symbols, &sum)
        });
        self.known.insert((array, statement, at), slope.clone());
        slope
    }

    /// Whether every position of some axis has a level of its own: a number for each may be added, and not only the same for all.
    fn is_by_position(&mut self, moves: &[(ArrayId, f64)]) -> bool {
        let axes = |array: ArrayId| -> Vec<AxisId> {
            let letters = &self.symbols.array(array).letters;
            letters.iter().map(|letter| self.symbols.letter(*letter).axis).collect()
        };
        let is_once =
            |axis: &AxisId, array: ArrayId| axes(array).iter().filter(|own| *own == axis).count() == 1;
        let shared: Vec<AxisId> = axes(moves[0].0)
            .into_iter()
            .filter(|axis| self.symbols.axis(*axis).parent.is_none())
            .filter(|axis| moves.iter().all(|(array, _)| is_once(axis, *array)))
            .collect();
        let chosen: Vec<ArrayId> = moves.iter().map(|(array, _)| *array).collect();
        shared.into_iter().any(|axis| {
            let free = self.symbols.fresh_on(axis);
            let columns = self.columns(&chosen, Some((axis, free)));
            columns.is_some_and(|columns| {
                let mut total: BTreeMap<Row, f64> = BTreeMap::new();
                for (column, (_, share)) in columns.into_iter().zip(moves) {
                    column
                        .into_iter()
                        .for_each(|(row, value)| *total.entry(row).or_default() += share * value);
                }
                total.values().all(|value| value.abs() <= ROUNDING)
            })
        })
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
