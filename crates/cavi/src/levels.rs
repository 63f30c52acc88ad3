//! The best numbers to add to variables whose levels only their priors fix ([`cavi_algebra::Shift`]).
//!
//! # Derivation
//! Where `m_e + u_a c_j` stands for the means `m_e` of the factors of each variable a, j being the position of the element e along the axes of the shift,
//! entropies stay, and so do all expected log-densities but those of the variables' own statements. These are quadratic: with `eta` for what they
//! contribute to the natural parameters ([`Runner::prior`]),
//!
//! ```text
//! g_j = dF/dc_j = sum_a u_a sum_(e at j) (eta_1 + 2 eta_2 m)_e,     F(c) = F(0) + g' c - c' H c / 2,     H c = g(0) - g(c)
//! ```
//!
//! with the greatest value where `H c = g(0)`. This is solved by conjugate gradients ([`crate::locations::solved`]) with the diagonal in front, in one step where
//! the positions do not stand in a common prior.
//!
//! Points have no standard deviation, and a level of points alone is moved, and not warned about. Where a prior is flat, nothing holds the level, and it
//! stays where it is.

use cavi_algebra::{ArrayId, AxisId, BlockId, Equations, LetterId, Shift, Symbols};
use cavi_executor::{Bound, Runner};
use cavi_model::Model;
use cavi_syntax::Diagnostic;

use crate::bind::Labels;
use crate::locations::{Locations, Solution, solved};

/// The most steps of conjugate gradients.
const STEPS: usize = 50;
/// The move, in standard deviations of the factors, from which on a level counts as not found.
const FAR: f64 = 0.1;

/// A variable of a shift, where it is.
struct Place {
    means: Locations,
    /// What is added to it while 1 is added to the first.
    share: f64,
    /// Whether its own statements change.
    changes: bool,
    /// For each mean, which number is added to it.
    numbers: Vec<u32>,
}

/// Adds the best numbers: by how much the bound is higher then; 0 where nothing moves.
pub(crate) fn settle(executor: &mut Runner<'_>, shift: &Shift, blocks: &[BlockId]) -> f64 {
    let Some(places) = places(executor, shift, &|block| blocks.contains(&block)) else { return 0.0 };
    match best(executor, &places) {
        Some(found) => {
            places.iter().for_each(|place| place.means.put(executor, place.moved(&found.numbers)));
            found.gain
        }
        None => 0.0,
    }
}

/// The level that a run has found least: the best number to add is far from 0 beside the standard deviations of the factors that a reader sees.
struct Missed<'e> {
    /// In standard deviations.
    far: f64,
    by: f64,
    /// Which number of the shift it is.
    number: usize,
    shift: &'e Shift,
}

/// A warning about the level that a run has found least, and by how much all levels would raise the bound.
pub(crate) fn not_found(
    model: &Model,
    labels: &Labels,
    executor: &mut Runner<'_>,
    may_move: &dyn Fn(BlockId) -> bool,
) -> Option<(Diagnostic, f64)> {
    let (equations, bound) = (executor.equations(), executor.bound());
    let mut farthest: Option<Missed<'_>> = None;
    let mut gain = 0.0;
    for shift in &equations.shifts {
        let Some(places) = places(executor, shift, may_move) else { continue };
        let Some(found) = best(executor, &places) else { continue };
        gain += found.gain;
        for place in &places {
            let Some(deviations) = place.means.deviations(executor) else { continue };
            for (number, deviation) in place.numbers.iter().zip(deviations) {
                let (number, by) = (*number as usize, found.numbers[*number as usize]);
                let far = (by * place.share).abs() / deviation;
                if deviation > 0.0 && far >= FAR && farthest.as_ref().is_none_or(|known| far > known.far) {
                    farthest = Some(Missed { far, by, number, shift });
                }
            }
        }
    }
    let at = |missed: &Missed<'_>| {
        let positions = positions(bound, &missed.shift.along, missed.number);
        let name = |(axis, position): (&AxisId, usize)| {
            let label = labels.path(&equations.symbols, bound, *axis, position).join("/");
            format!(" {} = {label}", equations.symbols.axis(*axis).name)
        };
        missed.shift.along.iter().zip(positions).map(name).collect::<Vec<_>>().join(",")
    };
    farthest.map(|missed| (warning(model, equations, &at(&missed), &missed), gain))
}

fn warning(model: &Model, equations: &Equations, at: &str, missed: &Missed<'_>) -> Diagnostic {
    let Missed { far, by, shift, .. } = *missed;
    let at = if at.is_empty() { String::new() } else { format!(" at{at}") };
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
        "the fit ended before it found {levels} of {}{at}, which only {whose}: {}, {} standard deviations of a factor",
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
pub(crate) fn joined(parts: &[String]) -> String {
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
    let (equations, bound) = (executor.equations(), executor.bound());
    let place = |(array, share): &(_, f64)| {
        let block = equations.block_of(*array)?;
        let letters = equations.block(block).letters_of(0);
        Some(Place {
            means: Locations::of(executor, block, may_move)?,
            share: *share,
            changes: shift.changed.contains(array),
            numbers: numbers(&equations.symbols, bound, &letters, &shift.along),
        })
    };
    shift.moves.iter().map(place).collect()
}

/// For each element over some letters, in C order, the number of its position along some axes, in C order too.
fn numbers(symbols: &Symbols, bound: &Bound, letters: &[LetterId], along: &[AxisId]) -> Vec<u32> {
    // For each letter, what each of its positions contributes.
    let mut all = vec![0];
    for letter in letters {
        let mut parts = vec![0_u32; bound.size_of(symbols, *letter)];
        let mut stride: u32 = 1;
        for axis in along.iter().rev() {
            let lineage = symbols.lineage(*letter);
            if let Some(depth) = lineage.iter().position(|own| symbols.letter(*own).axis == *axis) {
                for (position, part) in parts.iter_mut().enumerate() {
                    *part += stride * above(symbols, bound, &lineage[..depth], position) as u32;
                }
            }
            stride *= bound.size(*axis) as u32;
        }
        all = all.iter().flat_map(|outer| parts.iter().map(move |part| outer + part)).collect();
    }
    all
}

/// The position of an ancestor, from that of the first of some letters, each of which counts through the groups of the next.
fn above(symbols: &Symbols, bound: &Bound, letters: &[LetterId], position: usize) -> usize {
    letters.iter().fold(position, |position, letter| {
        let axis = &bound.axes[symbols.letter(*letter).axis.index()];
        axis.parent.as_ref().map_or(position, |parents| parents[position])
    })
}

/// The positions along axes of a number.
fn positions(bound: &Bound, along: &[AxisId], number: usize) -> Vec<usize> {
    let mut rest = number;
    let mut positions: Vec<usize> = Vec::new();
    for axis in along.iter().rev() {
        positions.push(rest % bound.size(*axis));
        rest /= bound.size(*axis);
    }
    positions.reverse();
    positions
}

impl Place {
    /// The means with numbers added.
    fn moved(&self, numbers: &[f64]) -> Vec<f64> {
        let all = self.means.here.iter().zip(&self.numbers);
        all.map(|(mean, number)| mean + self.share * numbers[*number as usize]).collect()
    }

    /// Adds what belongs to each element to the number that is added to it, times a factor.
    fn add(&self, values: &[f64], factor: f64, out: &mut [f64]) {
        let all = self.numbers.iter().zip(values);
        all.for_each(|(number, value)| out[*number as usize] += factor * value);
    }
}

/// The best numbers and by how much they raise the bound; `None` where none do. No variable stands in its own statement, so that what these
/// contribute stays as it is while the numbers are added.
fn best(executor: &mut Runner<'_>, places: &[Place]) -> Option<Solution> {
    let count = places[0].numbers.iter().max().map_or(0, |most| *most as usize + 1);
    let mut priors = Vec::new();
    for place in places.iter().filter(|place| place.changes) {
        let (linear, square) = place.means.places();
        let mut prior = |which| executor.prior(place.means.block, which).ok();
        // Own statements that say nothing hold nothing.
        if let (Some(linear), Some(square)) = (prior(linear)?, prior(square)?) {
            priors.push((place, linear, square));
        }
    }
    let mut bends = vec![0.0; count];
    for (place, _, square) in &priors {
        place.add(&place.means.diagonal(square), place.share * place.share, &mut bends);
    }
    let mut slopes = |numbers: &[f64]| {
        let mut slopes = vec![0.0; count];
        for (place, linear, square) in &priors {
            let own = place.means.slopes(linear, square, &place.moved(numbers));
            place.add(&own, place.share, &mut slopes);
        }
        Some(slopes)
    };
    let start = slopes(&vec![0.0; count])?;
    let scaled = |rest: &[f64]| {
        let all = rest.iter().zip(&bends);
        all.map(|(own, bend)| if *bend > 0.0 { own / bend } else { 0.0 }).collect()
    };
    solved(&start, STEPS, &scaled, &mut slopes)
}
