//! The best means of several Normal factors together, where the bound is a quadratic function of all of them ([`Equations::quadratic`]).
//!
//! # Derivation
//! With the natural parameters `eta` of each factor at the means m of all of them, the derivatives of the bound by the means are `g(m) = eta_1(m) + 2 eta_2 m`, and
//! linear in m: `g(m + d) = g(m) - H d`. The best move has `H d = g(m)`. It is found by conjugate gradients with the block diagonal of H in front,
//! `-2 eta_2` of each copy of a factor, by which one update moves it. A step takes as many natural parameters as a sweep does. Allocations
//! and auxiliary variables are held, so that the bound rises by as much as is said, or by more.
//!
//! A sweep is a step of Gauss and Seidel for the same equations. What is left after many of them lies along the few directions in which it is slow, and
//! conjugate gradients need as many steps as there are such directions, or little more.
//!
//! # Source
//! Golub and Van Loan, Matrix Computations, 4th edition (2013), sections 11.2 and 11.5.

use cavi_algebra::{BlockId, Equations, LetterId};
use cavi_executor::Runner;
use cavi_model::Model;
use cavi_syntax::Diagnostic;

use crate::locations::{Locations, Solution, solved};

/// The most steps of conjugate gradients at the end of a sweep.
const STEPS: usize = 12;
/// So many show whether there is something to be gained.
const FIRST: usize = 2;
/// At the end of a fit a step is taken for so many sweeps that it had, and no more than [`STEPS`] twice.
const SWEEPS: usize = 4;
/// The gain, in units of the bound, from which on a fit counts as far from its best means.
const GAIN: f64 = 0.5;
/// The same, in changes of the bound that count as none.
const CHANGES: f64 = 10.0;
/// The move of a mean, in standard deviations of its factor, from which on it is.
const FAR: f64 = 1.0;

/// Moves the means: by how much the bound is higher then, at least, and how many steps that took; 0 where nothing moves.
pub(crate) fn settle(executor: &mut Runner<'_>, set: &[BlockId], blocks: &[BlockId]) -> (f64, usize) {
    let Some(means) = means(executor, set, &|block| blocks.contains(&block)) else { return (0.0, 0) };
    let found = best(executor, &means, STEPS);
    match &found {
        Some(found) => put(executor, &means, Some(&found.numbers)),
        None => put(executor, &means, None),
    }
    found.map_or((0.0, STEPS), |found| (found.gain, found.steps))
}

/// Where a fit ended.
#[derive(Clone, Copy)]
pub(crate) struct Reached {
    /// The bound.
    pub elbo: f64,
    /// Sweeps that it took.
    pub sweeps: usize,
    /// The relative change of the bound at which it was to end.
    pub tolerance: f64,
    /// By how much its last sweep raised the bound.
    pub by_sweep: f64,
}

/// A warning where means would move far together, at the end of a fit, and raise the bound by more than `known`, and by more than some sweeps would. A
/// tolerance of 0 asks for sweeps and for no place to end, and there is none.
pub(crate) fn not_found(
    model: &Model,
    executor: &mut Runner<'_>,
    Reached { elbo, sweeps, tolerance, by_sweep }: Reached,
    known: f64,
    may_move: &dyn Fn(BlockId) -> bool,
) -> Option<Diagnostic> {
    let equations = executor.equations();
    if tolerance == 0.0 {
        return None;
    }
    let more = (sweeps / SWEEPS).min(2 * STEPS);
    let changes = CHANGES * by_sweep.max(tolerance * elbo.abs());
    let least = changes.max(GAIN).max(2.0 * known);
    let mut most: Option<(Solution, Vec<Locations>)> = None;
    for set in &equations.quadratic {
        let Some(means) = means(executor, set, may_move) else { continue };
        // What a few steps do not see is little.
        let seen = best(executor, &means, FIRST).filter(|found| found.gain >= 0.1 * least);
        let found = match seen {
            Some(_) if more > FIRST => best(executor, &means, more),
            seen => seen,
        };
        put(executor, &means, None);
        if let Some(found) = found.filter(|found| found.gain >= least)
            && most.as_ref().is_none_or(|(known, _)| found.gain > known.gain)
        {
            most = Some((found, means));
        }
    }
    let (found, means) = most?;
    let mut rest = found.numbers.as_slice();
    // Of each variable its farthest move, in standard deviations.
    let mut farthest: Vec<(f64, BlockId)> = Vec::new();
    for own in &means {
        let (moves, others) = rest.split_at(own.here.len());
        rest = others;
        let far = own.deviations(executor).map(|deviations| {
            let all = moves.iter().zip(deviations).filter(|(_, deviation)| *deviation > 0.0);
            all.map(|(by, deviation)| by.abs() / deviation).fold(0.0, f64::max)
        });
        farthest.push((far.unwrap_or(f64::INFINITY), own.block));
    }
    farthest.sort_by(|left, right| right.0.total_cmp(&left.0));
    let far = farthest.iter().map(|own| own.0).find(|far| far.is_finite()).unwrap_or(f64::INFINITY);
    (far >= FAR).then(|| warning(model, equations, found.gain, &farthest))
}

fn warning(model: &Model, equations: &Equations, gain: f64, farthest: &[(f64, BlockId)]) -> Diagnostic {
    let name =
        |block: BlockId| format!("`{}`", equations.symbols.array(equations.block(block).members[0]).name);
    let names: Vec<String> = farthest.iter().map(|(_, block)| name(*block)).collect();
    let moved = match farthest.first() {
        Some((far, block)) if far.is_finite() => {
            format!(", and `{}` by up to {far:.1} of its standard deviations", name(*block).trim_matches('`'))
        }
        _ => String::new(),
    };
    let message = format!(
        "the fit ended far from the best values of {}: moved together, they raise the ELBO by {gain:.1} or more{moved}",
        crate::levels::joined(&names),
    );
    let array = equations.block(farthest[0].1).members[0];
    // Copies of one variable that read each other's means are one factor as a slice.
    let factor = match farthest {
        [(_, block)] => slice(equations, *block),
        _ => "q(a, b)".to_owned(),
    };
    let warning = Diagnostic::warning("W0813", message).help(format!(
        "write `--accelerate auto`, which moves them together, or make them one factor, `posterior {{ {factor} }}`; of a covariate far from 0, \
         `center over` its rows takes the cause away",
    ));
    match model.statement_of(array) {
        Some(statement) => {
            warning.at(statement.span, "one update after another moves it by little, held by the others")
        }
        None => warning,
    }
}

/// A factor for the copies of a variable together along the letters in which they read each other, as a program writes it.
fn slice(equations: &Equations, block: BlockId) -> String {
    let own = equations.block(block);
    let subscript = |letter: &LetterId| {
        let colon = if own.in_order.contains(letter) || own.slices[0].contains(letter) { ":" } else { "" };
        format!("{colon}{}", equations.symbols.letter(*letter).name)
    };
    let subscripts: Vec<String> = own.letters_of(0).iter().map(subscript).collect();
    format!("q({}[{}])", equations.symbols.array(own.members[0]).name, subscripts.join(", "))
}

/// The means of a set that move; `None` where there are not several numbers that hold each other.
fn means(
    executor: &Runner<'_>,
    set: &[BlockId],
    may_move: &dyn Fn(BlockId) -> bool,
) -> Option<Vec<Locations>> {
    let means: Vec<Locations> =
        set.iter().filter_map(|block| Locations::of(executor, *block, may_move)).collect();
    (means.iter().map(|own| own.here.len()).sum::<usize>() > 1).then_some(means)
}

/// The run with moves added, those of one variable after those of another; or where it was.
fn put(executor: &mut Runner<'_>, means: &[Locations], moves: Option<&[f64]>) {
    let mut rest = moves.unwrap_or_default();
    for own in means {
        let (moves, others) = rest.split_at(own.here.len().min(rest.len()));
        rest = others;
        let mut moved = own.here.clone();
        moved.iter_mut().zip(moves).for_each(|(mean, by)| *mean += by);
        own.put(executor, moved);
    }
}

/// The best moves, as far as so many steps find them; `None` where nothing is gained. The run is somewhere on the way.
fn best(executor: &mut Runner<'_>, means: &[Locations], most: usize) -> Option<Solution> {
    put(executor, means, None);
    let blocks: Vec<BlockId> = means.iter().map(|own| own.block).collect();
    executor.refresh(&blocks).ok()?;
    let mut squares = Vec::new();
    for own in means {
        squares.push(executor.natural(own.block, own.places().1).ok()?);
    }
    let precisions: Vec<_> = means.iter().zip(&squares).map(|(own, square)| own.precisions(square)).collect();
    let mut slopes = |moves: &[f64]| -> Option<Vec<f64>> {
        put(executor, means, Some(moves));
        let mut all = Vec::with_capacity(moves.len());
        for (own, square) in means.iter().zip(&squares) {
            let linear = executor.natural(own.block, own.places().0).ok()?;
            let by = &moves[all.len()..][..own.here.len()];
            let there: Vec<f64> = own.here.iter().zip(by).map(|(mean, by)| mean + by).collect();
            all.extend(own.slopes(&linear, square, &there));
        }
        Some(all)
    };
    let scaled = |rest: &[f64]| -> Vec<f64> {
        let mut all = rest.to_vec();
        let mut left = all.as_mut_slice();
        for (own, precisions) in means.iter().zip(&precisions) {
            let (slopes, others) = left.split_at_mut(own.here.len());
            own.divide(precisions, slopes);
            left = others;
        }
        all
    };
    let count = means.iter().map(|own| own.here.len()).sum();
    let start = slopes(&vec![0.0; count])?;
    solved(&start, most, &scaled, &mut slopes)
}
