//! The best number to add to variables whose level only their priors fix ([`cavi_algebra::Shift`]).
//!
//! # Derivation
//! Where `m_a + u_a c` stands for the means `m_a` of the factors, entropies stay, and so do all expected log-densities but those of the
//! variables' own statements. Where these are Normal they are quadratic in c: `F(c) = F(0) + g c - h c^2 / 2`, with its greatest value at
//! `c = g / h`. With the bound at c = 0, t and -t, `g / h = t (F(t) - F(-t)) / (2 (2 F(0) - F(t) - F(-t)))`. Where they are others, this is a step towards
//! the best number; the bound is compared, and a step that does not raise it is not done.
//!
//! t is so long that the bound's change is more than what its digits hide. This takes four evaluations of the bound where the first t is right. Points have no
//! standard deviation, and a level of points alone is moved, and not warned about.

use cavi_algebra::{ArrayId, BlockId, Equations, Mode, Shift, Statistic};
use cavi_executor::{Bound, Layout, Runner};
use cavi_families::{Extent, posterior, views};
use cavi_model::Model;
use cavi_syntax::Diagnostic;

/// Of the absolute values of the bound, the share that a change has to have.
const SEEN: f64 = 1e-8;
/// How often t is made longer or shorter.
const TRIES: usize = 12;
/// By how much.
const STEP: f64 = 8.0;
/// The move, in standard deviations of the factors, from which on a level counts as not found.
const FAR: f64 = 0.1;

/// The variables of a shift, where they are.
struct Place {
    block: BlockId,
    /// The column of the means, or of the values of a point.
    column: usize,
    /// What is added to it while 1 is added to the first.
    share: f64,
    /// The block's columns where the run is.
    here: Vec<Vec<f64>>,
}

/// Adds the best number: by how much the bound is higher then; 0 where nothing moves.
pub(crate) fn settle(executor: &mut Runner<'_>, shift: &Shift, blocks: &[BlockId]) -> f64 {
    let Some(places) = places(executor, shift, &|block| blocks.contains(&block)) else { return 0.0 };
    let elbo = executor.elbo();
    match best(executor, &places, elbo) {
        Some((by, gain)) => {
            put(executor, &places, by);
            gain
        }
        None => 0.0,
    }
}

/// A warning about the level that a run has found least: the best number to add is far from 0 beside the standard deviations of the factors that a
/// reader sees.
pub(crate) fn not_found(
    model: &Model,
    bound: &Bound,
    executor: &mut Runner<'_>,
    elbo: f64,
    may_move: &dyn Fn(BlockId) -> bool,
) -> Option<Diagnostic> {
    let equations = executor.equations();
    let mut farthest: Option<(f64, f64, &Shift)> = None;
    for shift in &equations.shifts {
        let Some(places) = places(executor, shift, may_move) else { continue };
        let Some((by, _)) = best(executor, &places, elbo) else { continue };
        let of = |place: &Place| Some((by * place.share).abs() / deviation(equations, bound, place)?);
        let far = places.iter().filter_map(of).fold(0.0, f64::max);
        if far >= FAR && farthest.is_none_or(|(known, ..)| far > known) {
            farthest = Some((far, by, shift));
        }
    }
    farthest.map(|(far, by, shift)| warning(model, equations, (far, by), shift))
}

fn warning(model: &Model, equations: &Equations, (far, by): (f64, f64), shift: &Shift) -> Diagnostic {
    let name = |array: ArrayId| format!("`{}`", equations.symbols.array(array).name);
    let names: Vec<String> = shift.moves.iter().map(|(array, _)| name(*array)).collect();
    let (levels, whose) = match names.len() {
        1 => ("the level", "its prior fixes"),
        _ => ("the levels", "their priors fix"),
    };
    let moved = |(place, (_, share)): (usize, &(_, f64))| {
        let by = by * share;
        let way = if by > 0.0 { "higher" } else { "lower" };
        let should = if place == 0 { " should be" } else { "" };
        format!("{}{should} {} {way}", names[place], short(by.abs()))
    };
    let moves: Vec<String> = shift.moves.iter().enumerate().map(moved).collect();
    let message = format!(
        "the fit ended before it found {levels} of {}, which only {whose}: {}, {} standard deviations of a factor",
        joined(&names),
        joined(&moves),
        short(far),
    );
    let warning = Diagnostic::warning("W0812", message).help(
        "write `--accelerate auto`, which moves levels at once, or ask for more sweeps with a smaller `--tol`",
    );
    match model.statement_of(shift.moves[0].0) {
        Some(statement) => {
            warning.at(statement.span, "nothing but priors would change, and the bound be higher")
        }
        None => warning,
    }
}

/// `a, b and c`
fn joined(parts: &[String]) -> String {
    match parts {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => parts.concat(),
    }
}

/// A number as a message has it.
fn short(value: f64) -> String {
    if value.abs() >= 0.01 && value.abs() < 1e4 { format!("{value:.2}") } else { format!("{value:.1e}") }
}

/// Where the variables of a shift are; `None` where one does not move.
fn places(executor: &Runner<'_>, shift: &Shift, may_move: &dyn Fn(BlockId) -> bool) -> Option<Vec<Place>> {
    let equations = executor.equations();
    let place = |(array, share): &(_, f64)| {
        let block = equations.block_of(*array)?;
        let own = equations.block(block);
        let column = if own.mode == Mode::Point { 0 } else { posterior(own.family).location()? };
        let here = executor.parameters().blocks[block.index()].clone();
        let is_there = may_move(block) && !executor.is_observed(block) && !here[column].is_empty();
        is_there.then_some(Place { block, column, share: *share, here })
    };
    shift.moves.iter().map(place).collect()
}

/// The run with a number added.
fn put(executor: &mut Runner<'_>, places: &[Place], by: f64) {
    for place in places {
        let mut columns = place.here.clone();
        columns[place.column].iter_mut().for_each(|value| *value += place.share * by);
        executor.replace(place.block, columns);
    }
}

/// The best number and by how much it raises the bound, which is `elbo` here; `None` where none does. The run is where it was.
fn best(executor: &mut Runner<'_>, places: &[Place], elbo: f64) -> Option<(f64, f64)> {
    let mut at = |by: f64| {
        put(executor, places, by);
        executor.elbo()
    };
    let found = vertex(elbo, largest(places), &mut at).and_then(|by| {
        let gain = at(by) - elbo;
        (gain > 0.0 && gain.is_finite()).then_some((by, gain))
    });
    places.iter().for_each(|place| executor.replace(place.block, place.here.clone()));
    found
}

/// The largest mean of the first variable, in absolute value; 1 where all are 0.
fn largest(places: &[Place]) -> f64 {
    let means = &places[0].here[places[0].column];
    let largest = means.iter().fold(0.0, |most: f64, mean| most.max(mean.abs()));
    if largest > 0.0 && largest.is_finite() { largest } else { 1.0 }
}

/// Where a parabola with these values is greatest; `None` where it is none that opens downwards.
fn vertex(here: f64, mut step: f64, at: &mut dyn FnMut(f64) -> f64) -> Option<f64> {
    if !here.is_finite() {
        return None;
    }
    for _ in 0..TRIES {
        let (above, below) = (at(step), at(-step));
        let bend = 2.0 * here - above - below;
        if !bend.is_finite() {
            step /= STEP;
        } else if bend < SEEN * (here.abs() + above.abs() + below.abs()) {
            step *= STEP;
        } else {
            return Some(step * (above - below) / (2.0 * bend));
        }
    }
    None
}

/// The least standard deviation of an element of a factor; `None` of a point.
fn deviation(equations: &Equations, bound: &Bound, place: &Place) -> Option<f64> {
    let block = equations.block(place.block);
    if block.mode == Mode::Point {
        return None;
    }
    let family = posterior(block.family);
    let missing = |array: ArrayId| {
        bound.arrays[array.index()].as_ref().is_some_and(cavi_executor::BoundArray::has_missing)
    };
    let layout = Layout::new(equations, bound, block, &missing);
    let batch = layout.batch();
    let which = family.expectation_of(&Statistic::covariance())?;
    let extent = family.expectations()[which].extent;
    let mut covariances = vec![0.0; batch.len(extent)];
    family.expect(&batch, &views(&place.here), which, &mut covariances);
    let variances: Vec<f64> = match extent {
        Extent::Matrix => {
            let n = batch.n;
            covariances.chunks_exact(n * n).flat_map(|own| own.iter().copied().step_by(n + 1)).collect()
        }
        _ => covariances,
    };
    let least = variances.into_iter().filter(|variance| *variance > 0.0).reduce(f64::min);
    least.map(f64::sqrt)
}

#[cfg(test)]
mod tests {
    use super::vertex;

    #[test]
    fn a_parabola_is_greatest_at_its_vertex_in_every_unit() {
        for unit in [1e-6, 1.0, 1e6] {
            for height in [0.0, -1e6, 1e9] {
                let mut at = |c: f64| height - (c / unit - 3.0).powi(2);
                let found = vertex(at(0.0), 1.0, &mut at).expect("it opens downwards");
                assert!((found / unit - 3.0).abs() < 1e-6, "{unit} {height}: {found}");
            }
        }
    }

    #[test]
    fn a_line_and_what_opens_upwards_have_none() {
        assert_eq!(vertex(1.0, 1.0, &mut |c| 1.0 + c), None);
        assert_eq!(vertex(1.0, 1.0, &mut |c| 1.0 + c * c), None);
        assert_eq!(vertex(f64::NEG_INFINITY, 1.0, &mut |c| c), None);
    }
}
