//! The best numbers to add to variables whose levels only their priors fix ([`cavi_algebra::Shift`]).
//!
//! # Derivation
//! Where `m_e + u_a c_j` stands for the means `m_e` of the factors of each variable a, j being the position of the element e along the axes of the shift,
//! entropies stay, and so do all expected log-densities but those of the variables' own statements. These are quadratic: with `eta` for what they
//! contribute to the natural parameters ([`Runner::prior`]), the derivative by `m_e` is `eta_1 + 2 eta_2 m_e` (`eta_1 + 2 eta_2 m` of a vector), so
//! that
//!
//! ```text
//! g_j = dF/dc_j = sum_a u_a sum_(e at j) (eta_1 + 2 eta_2 m)_e,     F(c) = F(0) + g' c - c' H c / 2,     H c = g(0) - g(c)
//! ```
//!
//! with the greatest value where `H c = g(0)`. H is solved by conjugate gradients with the diagonal in front, `-2 sum_a u_a^2 sum_(e at j) (eta_2)_ee`:
//! in one step where the positions do not stand in a common prior, and never below F(0). Then `F(c) - F(0) = c' (g(0) + g(c)) / 2`.
//!
//! Points have no standard deviation, and a level of points alone is moved, and not warned about. Where a prior is flat, nothing holds the level, and it
//! stays where it is.
//!
//! # Source
//! Conjugate gradients: Hestenes and Stiefel (1952).

use cavi_algebra::{
    ArrayId, AxisId, BlockId, Elementary, Equations, LetterId, Mode, Shift, Statistic, Symbols,
};
use cavi_executor::{Bound, Layout, Runner};
use cavi_families::{Extent, Posterior, posterior, views};
use cavi_model::Model;
use cavi_syntax::Diagnostic;

use crate::bind::Labels;

/// The most steps of conjugate gradients.
const STEPS: usize = 50;
/// They end where the derivatives are this share of what they were.
const SOLVED: f64 = 1e-10;
/// The move, in standard deviations of the factors, from which on a level counts as not found.
const FAR: f64 = 0.1;

/// A variable of a shift, where it is.
struct Place {
    block: BlockId,
    /// The column of the means, or of the values of a point.
    column: usize,
    /// What is added to it while 1 is added to the first.
    share: f64,
    /// Whether its own statements change.
    changes: bool,
    /// The block's columns where the run is.
    here: Vec<Vec<f64>>,
    /// For each mean, which number is added to it.
    numbers: Vec<u32>,
    /// How the means stand in copies.
    layout: Layout,
    family: &'static dyn Posterior,
}

/// Adds the best numbers: by how much the bound is higher then; 0 where nothing moves.
pub(crate) fn settle(executor: &mut Runner<'_>, shift: &Shift, blocks: &[BlockId]) -> f64 {
    let Some(places) = places(executor, shift, &|block| blocks.contains(&block)) else { return 0.0 };
    match best(executor, &places) {
        Some((numbers, gain)) => {
            put(executor, &places, &numbers);
            gain
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

/// A warning about the level that a run has found least.
pub(crate) fn not_found(
    model: &Model,
    labels: &Labels,
    executor: &mut Runner<'_>,
    may_move: &dyn Fn(BlockId) -> bool,
) -> Option<Diagnostic> {
    let (equations, bound) = (executor.equations(), executor.bound());
    let mut farthest: Option<Missed<'_>> = None;
    for shift in &equations.shifts {
        let Some(places) = places(executor, shift, may_move) else { continue };
        let Some((numbers, _)) = best(executor, &places) else { continue };
        for place in &places {
            let Some(deviations) = deviations(equations, place) else { continue };
            for (number, deviation) in place.numbers.iter().zip(deviations) {
                let (number, by) = (*number as usize, numbers[*number as usize]);
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
    farthest.map(|missed| warning(model, equations, &at(&missed), &missed))
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
    let (equations, bound) = (executor.equations(), executor.bound());
    let missing = |array: ArrayId| {
        bound.arrays[array.index()].as_ref().is_some_and(cavi_executor::BoundArray::has_missing)
    };
    let place = |(array, share): &(_, f64)| {
        let block = equations.block_of(*array)?;
        let own = equations.block(block);
        let climbs = own.ascent.as_ref().and_then(|ascent| ascent.own_family);
        let family = posterior(climbs.unwrap_or(own.family));
        let column = if own.mode == Mode::Point { 0 } else { family.location()? };
        let here = executor.parameters().blocks[block.index()].clone();
        let is_there = may_move(block) && !executor.is_observed(block) && !here[column].is_empty();
        is_there.then(|| Place {
            block,
            column,
            share: *share,
            changes: shift.changed.contains(array),
            numbers: numbers(&equations.symbols, bound, &own.letters_of(0), &shift.along),
            here,
            layout: Layout::new(equations, bound, own, &missing),
            family,
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

/// The run with numbers added.
fn put(executor: &mut Runner<'_>, places: &[Place], numbers: &[f64]) {
    for place in places {
        let mut columns = place.here.clone();
        columns[place.column] = place.moved(numbers);
        executor.replace(place.block, columns);
    }
}

impl Place {
    /// The means with numbers added.
    fn moved(&self, numbers: &[f64]) -> Vec<f64> {
        let all = self.here[self.column].iter().zip(&self.numbers);
        all.map(|(mean, number)| mean + self.share * numbers[*number as usize]).collect()
    }

    /// The coefficients of `x` and of `x^2` or `x x'`, and whether they are those of `x x'`; `None` where the own statements say nothing.
    fn coefficients<'p>(&self, prior: &'p [Vec<f64>]) -> Option<(&'p [f64], &'p [f64], bool)> {
        let place = |statistic: &Statistic| self.family.place_of(statistic);
        let linear = prior.get(place(&Statistic::of(Elementary::Power(1)))?)?;
        if let Some(pairs) = place(&Statistic::outer()) {
            return Some((linear, prior.get(pairs)?, true));
        }
        Some((linear, prior.get(place(&Statistic::of(Elementary::Power(2)))?)?, false))
    }

    /// Adds to each number's derivative that of the own statements at these means.
    fn slopes(&self, prior: &[Vec<f64>], means: &[f64], out: &mut [f64]) {
        let Some((linear, square, is_matrix)) = self.coefficients(prior) else { return };
        let mut add = |element: usize, slope: f64| out[self.numbers[element] as usize] += self.share * slope;
        if !is_matrix {
            for (element, ((linear, square), mean)) in linear.iter().zip(square).zip(means).enumerate() {
                add(element, linear + 2.0 * square * mean);
            }
            return;
        }
        let batch = self.layout.batch();
        for copy in 0..batch.rows {
            let (row, matrix) = (batch.row(copy), &square[batch.matrix(batch.group_of(copy))]);
            let n = row.len();
            for (k, element) in row.clone().enumerate() {
                let pairs = (0..n).map(|l| (matrix[k * n + l] + matrix[l * n + k]) * means[row.start + l]);
                add(element, linear[element] + pairs.sum::<f64>());
            }
        }
    }

    /// Adds to each number's second derivative by itself, negated, those of single elements.
    fn bends(&self, prior: &[Vec<f64>], out: &mut [f64]) {
        let Some((_, square, is_matrix)) = self.coefficients(prior) else { return };
        let mut add = |element: usize, square: f64| {
            out[self.numbers[element] as usize] -= 2.0 * self.share * self.share * square;
        };
        if !is_matrix {
            square.iter().enumerate().for_each(|(element, own)| add(element, *own));
            return;
        }
        let batch = self.layout.batch();
        for copy in 0..batch.rows {
            let (row, matrix) = (batch.row(copy), &square[batch.matrix(batch.group_of(copy))]);
            let n = row.len();
            row.enumerate().for_each(|(k, element)| add(element, matrix[k * n + k]));
        }
    }
}

/// The best numbers and by how much they raise the bound; `None` where none do. No variable stands in its own statement, so that what these
/// contribute stays as it is while the numbers are added.
fn best(executor: &mut Runner<'_>, places: &[Place]) -> Option<(Vec<f64>, f64)> {
    let count = places[0].numbers.iter().max().map_or(0, |most| *most as usize + 1);
    let mut priors = Vec::new();
    for place in places.iter().filter(|place| place.changes) {
        priors.push((place, executor.prior(place.block).ok()?));
    }
    let mut bends = vec![0.0; count];
    priors.iter().for_each(|(place, prior)| place.bends(prior, &mut bends));
    let slopes = |numbers: &[f64]| {
        let mut slopes = vec![0.0; count];
        priors.iter().for_each(|(place, prior)| place.slopes(prior, &place.moved(numbers), &mut slopes));
        slopes
    };
    let start = slopes(&vec![0.0; count]);
    let (numbers, left) = solved(&start, &bends, &slopes)?;
    let gains = numbers.iter().zip(start.iter().zip(&left)).map(|(c, (g, rest))| c * (g + rest));
    let gain = 0.5 * gains.sum::<f64>();
    (gain > 0.0 && gain.is_finite()).then_some((numbers, gain))
}

/// The numbers at which derivatives `at` are 0, which are linear, and `start` at 0; `bends` are minus the derivatives of each by its own number, or
/// about that. With what is left of them there. `None` where the numbers are not finite.
fn solved(start: &[f64], bends: &[f64], at: &dyn Fn(&[f64]) -> Vec<f64>) -> Option<(Vec<f64>, Vec<f64>)> {
    let dot = |left: &[f64], right: &[f64]| left.iter().zip(right).map(|(a, b)| a * b).sum::<f64>();
    // What nothing holds stays.
    let scaled = |rest: &[f64]| -> Vec<f64> {
        rest.iter().zip(bends).map(|(own, bend)| if *bend > 0.0 { own / bend } else { 0.0 }).collect()
    };
    let mut numbers = vec![0.0; start.len()];
    let mut rest = start.to_vec();
    let mut direction = scaled(&rest);
    let first = dot(&rest, &direction);
    let mut length = first;
    for _ in 0..STEPS {
        if length <= SOLVED * SOLVED * first || length.is_nan() {
            break;
        }
        let bent: Vec<f64> = start.iter().zip(at(&direction)).map(|(start, there)| start - there).collect();
        let curvature = dot(&direction, &bent);
        if curvature <= 0.0 || curvature.is_nan() {
            break;
        }
        let step = length / curvature;
        numbers.iter_mut().zip(&direction).for_each(|(own, by)| *own += step * by);
        rest.iter_mut().zip(&bent).for_each(|(own, by)| *own -= step * by);
        let next = scaled(&rest);
        let longer = dot(&rest, &next);
        let keep = longer / length;
        direction.iter_mut().zip(next).for_each(|(own, next)| *own = next + keep * *own);
        length = longer;
    }
    numbers.iter().chain(&rest).all(|own| own.is_finite()).then_some((numbers, rest))
}

/// The standard deviation of each element of a factor; `None` of a point.
fn deviations(equations: &Equations, place: &Place) -> Option<Vec<f64>> {
    if equations.block(place.block).mode == Mode::Point {
        return None;
    }
    let (family, batch) = (place.family, place.layout.batch());
    let which = family.expectation_of(&Statistic::covariance())?;
    let extent = family.expectations()[which].extent;
    let mut covariances = vec![0.0; batch.len(extent)];
    family.expect(&batch, &views(&place.here), which, &mut covariances);
    let mut variances = vec![0.0; place.numbers.len()];
    for copy in 0..batch.rows {
        let row = batch.row(copy);
        let n = row.len();
        let own = match extent {
            Extent::Matrix => &covariances[batch.matrix(batch.group_of(copy))],
            Extent::Pairs => &covariances[batch.pairs(copy)],
            _ => &covariances[row.clone()],
        };
        let step = if own.len() == n { 1 } else { n + 1 };
        row.zip(own.iter().step_by(step)).for_each(|(element, own)| variances[element] = *own);
    }
    Some(variances.into_iter().map(f64::sqrt).collect())
}

#[cfg(test)]
mod tests {
    use super::solved;

    /// `H c = g` of a matrix with a common part and another scale at each position.
    #[test]
    fn positions_with_a_common_prior_are_solved_together() {
        let n = 6;
        let scale = |at: usize| 10f64.powi(at as i32 - 3);
        let h: Vec<Vec<f64>> = (0..n)
            .map(|a| (0..n).map(|b| scale(a) * scale(b) * (0.5 + f64::from(u8::from(a == b)))).collect())
            .collect();
        let wanted: Vec<f64> = (0..n).map(|at| (at as f64 - 2.0) / scale(at)).collect();
        let product = |c: &[f64]| -> Vec<f64> {
            h.iter().map(|row| row.iter().zip(c).map(|(h, c)| h * c).sum()).collect()
        };
        let start = product(&wanted);
        let bends: Vec<f64> = (0..n).map(|at| h[at][at]).collect();
        let at = |c: &[f64]| start.iter().zip(product(c)).map(|(g, hc)| g - hc).collect();
        let (found, _) = solved(&start, &bends, &at).expect("it has a solution");
        for (found, wanted) in found.iter().zip(&wanted) {
            assert!((found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{found} {wanted}");
        }
    }

    #[test]
    fn what_nothing_holds_stays() {
        let at = |c: &[f64]| vec![2.0 - 4.0 * c[0], 0.0];
        assert_eq!(solved(&[2.0, 0.0], &[4.0, 0.0], &at), Some((vec![0.5, 0.0], vec![0.0, 0.0])));
    }
}
