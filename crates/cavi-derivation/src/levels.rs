//! Which variables may take a number more or less without any data noticing: those whose level only their own priors fix.
//!
//! # Derivation
//! Let `a -> a + u_a c` for the elements of some real variables, with a number `u_a` for each. The log-density L of every other statement
//! stays what it is, for every c, if its derivative vanishes identically: `sum_a u_a sum_e dL / da_e = 0`, over the elements e of each a. These
//! derivatives are taken in symbols; a vector u on which they vanish is found by elimination, a term of the canonical sums a row.
//! So of differences `d[i] - d[j]` it is u = 1, and of `mu + a[g]` it is (1, -1). The log-densities of the variables' own statements alone
//! depend on c, and the bound is raised by the best one (`accelerate = auto`): coordinate ascent moves the variables one after another, each held by the
//! others, and takes as many sweeps as data are more precise than priors.
//!
//! # Source
//! Gelfand, Sahu and Carlin (1995), Efficient parametrisations for normal linear mixed models; Liu and Wu (1999), parameter expansion.

use std::collections::BTreeMap;

use cavi_algebra::canonical::canonical;
use cavi_algebra::rules::{differentiate, distribute};
use cavi_algebra::{
    ArrayId, ArrayKind, Block, BlockId, Coefficient, Equations, Mode, Shift, Sum, Support, Symbols, Term,
};

/// How many variables may move together.
const TOGETHER: usize = 3;
/// Of more variables than this only pairs are tried.
const MANY: usize = 12;
/// Coefficients below this are left by rounding.
const ROUNDING: f64 = 1e-9;

/// The shifts of a program, none of which is a sum of multiples of others.
pub fn shifts(equations: &Equations) -> Vec<Shift> {
    let ids = (0..equations.blocks.len()).map(BlockId::from);
    let candidates: Vec<ArrayId> = ids.filter_map(|id| moves_alone(equations, equations.block(id))).collect();
    let mut slopes = Slopes { equations, symbols: equations.symbols.clone(), known: BTreeMap::new() };
    let most = if candidates.len() > MANY { TOGETHER - 1 } else { TOGETHER };
    let mut found: Vec<Shift> = Vec::new();
    for size in 1..=most.min(candidates.len()) {
        for_each_choice(candidates.len(), size, &mut |places| {
            let chosen: Vec<ArrayId> = places.iter().map(|place| candidates[*place]).collect();
            let holds = |own: &Shift| own.moves.iter().all(|(array, _)| chosen.contains(array));
            if found.iter().any(holds) {
                return;
            }
            if let Some(moves) = slopes.vanish_along(&chosen) {
                found.push(Shift { moves });
                let all = found.iter().map(|own| own.moves.iter().copied().collect()).collect();
                if dependence(all).is_some() {
                    found.pop();
                }
            }
        });
    }
    found
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
    (moves && own.kind == ArrayKind::Latent && own.support == Support::Real).then_some(member)
}

/// Calls `visit` with every choice of so many of the first numbers, in ascending order.
fn for_each_choice(of: usize, size: usize, visit: &mut dyn FnMut(&[usize])) {
    fn go(of: usize, size: usize, chosen: &mut Vec<usize>, visit: &mut dyn FnMut(&[usize])) {
        if chosen.len() == size {
            return visit(chosen);
        }
        for next in chosen.last().map_or(0, |last| last + 1)..of {
            chosen.push(next);
            go(of, size, chosen, visit);
            chosen.pop();
        }
    }
    go(of, size, &mut Vec::new(), visit);
}

/// A term of the derivative of a statement, its number apart.
type Row = (usize, Term);

/// The derivatives of the log-densities of statements by the level of a variable.
struct Slopes<'e> {
    equations: &'e Equations,
    symbols: Symbols,
    /// Those worked out; `None` where there is none in symbols.
    known: BTreeMap<(ArrayId, usize), Option<Sum>>,
}

impl Slopes<'_> {
    /// For each variable what is added to it while c is added to the first, where all statements but their own stay what they are and one reads
    /// each of them.
    fn vanish_along(&mut self, chosen: &[ArrayId]) -> Option<Vec<(ArrayId, f64)>> {
        let statements = &self.equations.statements;
        let others: Vec<usize> =
            (0..statements.len()).filter(|place| !chosen.contains(&statements[*place].target)).collect();
        let reads =
            |array: &ArrayId| others.iter().any(|place| statements[*place].log_density.mentions(*array));
        if !chosen.iter().all(reads) {
            return None;
        }
        let mut columns: Vec<BTreeMap<Row, f64>> = Vec::new();
        for array in chosen {
            let mut column = BTreeMap::new();
            for place in &others {
                for mut term in self.slope(*array, *place)?.terms {
                    let value = std::mem::replace(&mut term.coefficient, Coefficient(1.0)).0;
                    *column.entry((*place, term)).or_default() += value;
                }
            }
            columns.push(column);
        }
        let moves = dependence(columns)?;
        let first = moves[0];
        let all_move = moves.iter().all(|own| own.abs() > ROUNDING);
        all_move.then(|| chosen.iter().copied().zip(moves.iter().map(|own| own / first)).collect())
    }

    /// The derivative of a statement's log-density by what is added to all elements of a variable.
    fn slope(&mut self, array: ArrayId, statement: usize) -> Option<Sum> {
        if let Some(known) = self.known.get(&(array, statement)) {
            return known.clone();
        }
        let density = &self.equations.statements[statement].log_density;
        let letters = self.symbols.array(array).letters.clone();
        let of_element = differentiate(&mut self.symbols, density, array, &letters);
        let slope = of_element.map(|own| {
            let mut sums = Vec::new();
            for letter in letters.iter().flat_map(|own| self.symbols.lineage(*own)) {
                if !sums.contains(&letter) {
                    sums.push(letter);
                }
            }
            let all = Term { sums, ..Term::number(1.0) };
            let sum = distribute(&mut self.symbols, &all, &own);
            canonical(&mut self.symbols, &sum)
        });
        self.known.insert((array, statement), slope.clone());
        slope
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
