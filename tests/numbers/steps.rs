//! The printed steps of every update are rewrites that keep the value: each has the value of the one before it.
//!
//! As functions of one copy of a block, everything else held: the terms of the log joint that hold the block, the same
//! with logs of sums bounded (which touch from below), the same as products of statistics, and their expectations. A
//! step may drop what does not depend on the copy, so differences are compared: the copy at one value less the copy at
//! another.
//!
//! Values are drawn from the start of q. With q a point mass at them, expectations change nothing and every step is exact.
//! With q spread evenly over a few alternatives for each copy, what is expected is the average over choices of them.
//!
//! Of a point without a closed form the expectations make up its objective, whose derivatives are slopes of it.

use cavi_algebra::evaluate::{Assignment, evaluate, evaluate_atom, for_each_value};
use cavi_algebra::{Ascent, Block, BlockId, Contribution, Sum, Support, Symbols};
use cavi_executor::{Bound, start};
use cavi_families::posterior;
use cavi_tests::support::{Points, Program, Shape, alternatives, programs, random_bound};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Whether a number is at most a limit; what is no number is not.
fn within(value: f64, limit: f64) -> bool {
    value <= limit
}

/// The alternatives of a copy, and one more for the copy that moves.
const ALTERNATIVES: usize = 3;
/// Choices that an expectation is compared with.
const TRIALS: u64 = 120;

/// The steps of one statement's way, each a function of a copy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Selected,
    Bounded,
    Monomials,
    Expected,
}

impl Step {
    fn sum(self, own: &Contribution, symbols: &mut Symbols, block: &Block) -> Sum {
        match self {
            Step::Selected => own.selected.clone(),
            Step::Bounded => own.bounded.clone(),
            Step::Monomials => own.monomials.clone(),
            Step::Expected => own.expected(symbols, block),
        }
    }
}

/// A program, a copy of one of its blocks and what is contributed to it.
struct Copy<'a> {
    program: &'a Program,
    id: BlockId,
    plates: Vec<usize>,
    /// Of a slice over a ragged axis: the group, whose copy is looked at; those of all groups move together.
    group: Vec<usize>,
}

impl Copy<'_> {
    fn block(&self) -> &Block {
        self.program.equations.block(self.id)
    }

    fn at(&self, symbols: &Symbols, points: &Points) -> Assignment {
        let mut assignment = Assignment::new();
        let letters = self.block().copies(symbols);
        for (letter, position) in letters.iter().zip(self.plates.iter().chain(&self.group)) {
            assignment.assign(symbols, points, *letter, *position);
        }
        assignment
    }

    /// The value of a step with the copy at an alternative.
    fn value(&self, contribution: &Contribution, step: Step, points: &Points) -> f64 {
        let mut symbols = self.program.equations.symbols.clone();
        let sum = step.sum(contribution, &mut symbols, self.block());
        // The letters of the copy are free in what is expected, and summed in what stands before and in an objective.
        let of_one_copy = step == Step::Expected && contribution.objective.is_none();
        if !of_one_copy {
            return evaluate(&symbols, &sum, points, &mut Assignment::new());
        }
        let plates = &self.block().plates;
        let mut assignment = Assignment::new();
        for (letter, position) in plates.iter().zip(&self.plates) {
            assignment.assign(&symbols, points, *letter, *position);
        }
        let groups = self.block().copies(&symbols).split_off(plates.len());
        let mut total = 0.0;
        for_each_value(&symbols, points, &groups, &mut assignment, &mut |assignment| {
            total += evaluate(&symbols, &sum, points, assignment);
        });
        total
    }

    /// What the step gains as the copy moves from the first alternative to the last.
    fn gain(&self, contribution: &Contribution, step: Step, points: &Points) -> (f64, f64) {
        let mut points = points.clone();
        points.chosen = Some((self.id, self.plates.clone(), 0));
        points.held = Some(Box::new(points.clone()));
        let before = self.value(contribution, step, &points);
        points.chosen = Some((self.id, self.plates.clone(), ALTERNATIVES));
        let after = self.value(contribution, step, &points);
        (after - before, before.abs().max(after.abs()).max(1.0))
    }

    /// Selected, bounded, monomials, expected, all at the same values.
    fn check_values(&self, contribution: &Contribution, points: &Points) -> Result<(), String> {
        let gains = [Step::Selected, Step::Bounded, Step::Monomials, Step::Expected]
            .map(|step| self.gain(contribution, step, points));
        let scale = gains.iter().fold(0.0_f64, |scale, (_, own)| scale.max(*own));
        let [(selected, _), (bounded, _), (monomials, _), (expected, _)] = gains;
        let slack = 1e-9 * scale;
        let stated = contribution.selected == contribution.bounded;
        if !within(bounded - selected, slack) || stated && !within((bounded - selected).abs(), slack) {
            return Err(format!("bounded gains {bounded}, selected {selected}"));
        }
        if !within((monomials - bounded).abs(), slack) {
            return Err(format!("monomials gain {monomials}, bounded {bounded}"));
        }
        // A bound that the program asks for touches at the old values, and holds for all copies at once.
        if self.block().by.is_none() && !within((expected - monomials).abs(), slack) {
            return Err(format!("expected gains {expected}, monomials {monomials}"));
        }
        Ok(())
    }

    /// The bound touches: near the held values it gains what the selected terms do, to first order.
    fn check_tangent(&self, contribution: &Contribution, near: &Points) -> Result<(), String> {
        let (selected, scale) = self.gain(contribution, Step::Selected, near);
        let (bounded, _) = self.gain(contribution, Step::Bounded, near);
        if !within((selected - bounded).abs(), 1e-2 * selected.abs().max(bounded.abs()) + 1e-9 * scale) {
            return Err(format!("nearby, bounded gains {bounded}, selected {selected}"));
        }
        Ok(())
    }

    /// The average of the monomials over choices is what is expected.
    fn check_expectation(&self, contribution: &Contribution, points: &Points) -> Result<(), String> {
        let mut points = points.clone();
        points.mass = false;
        let (expected, scale) = self.gain(contribution, Step::Expected, &points);
        let (mut sum, mut squares) = (0.0, 0.0);
        for seed in 0..TRIALS {
            points.seed = seed;
            let (gain, _) = self.gain(contribution, Step::Monomials, &points);
            sum += gain - expected;
            squares += (gain - expected).powi(2);
        }
        let count = TRIALS as f64;
        let mean = sum / count;
        let error = ((squares / count - mean * mean).max(0.0) / count).sqrt();
        if !within(mean.abs(), 6.0 * error + 1e-9 * scale) {
            return Err(format!("expected gains {expected}, the average differs by {mean} +- {error}"));
        }
        Ok(())
    }

    /// The objective of a point that ascends is the sum of the contributions; its derivatives are slopes of it, allocations
    /// held, and of each other, in an element of the copy; and they are slopes of what it is at the best allocations.
    fn check_ascent(
        &self,
        ascent: &Ascent,
        contributions: &[Contribution],
        setting: &Setting,
        rng: &mut ChaCha8Rng,
    ) -> Result<(), String> {
        let equations = &self.program.equations;
        let symbols = &equations.symbols;
        let points = Points::new(equations, setting.bound, setting.drawn);
        let at_best = |points: &Points, sum: &Sum| evaluate(symbols, sum, points, &mut Assignment::new());
        let whole = |moved: &Points| {
            let mut held = moved.clone();
            held.held = Some(Box::new(points.clone()));
            at_best(&held, &ascent.objective)
        };
        let parts = contributions.iter().map(|own| self.value(own, Step::Expected, &points));
        let (found, sum) = (whole(&points), parts.sum::<f64>());
        if !within((found - sum).abs(), 1e-9 * found.abs().max(1.0)) {
            return Err(format!("the objective is {found}, its parts add up to {sum}"));
        }
        let number = rng.random_range(0..self.block().members.len());
        let member = self.block().members[number];
        let letters = &symbols.array(member).letters;
        let shape = setting.bound.shape(symbols, member);
        let place = rng.random_range(0..shape.iter().product());
        let mut assignment = Assignment::new();
        let mut rest = place;
        for (letter, size) in letters.iter().zip(&shape).rev() {
            assignment.assign(symbols, &points, *letter, rest % size);
            rest /= size;
        }
        let value = setting.drawn[0][member.index()].as_ref().expect("every latent is drawn")[place];
        let step = 1e-3 * value.abs().clamp(0.1, 10.0);
        // Central differences of fourth order.
        let slope = |at: &dyn Fn(&Points) -> f64| {
            let moved = |by: f64| {
                let mut drawn = setting.drawn.to_vec();
                drawn[0][member.index()].as_mut().expect("every latent is drawn")[place] += by;
                at(&Points::new(equations, setting.bound, &drawn))
            };
            (8.0 * (moved(step) - moved(-step)) - (moved(2.0 * step) - moved(-2.0 * step))) / (12.0 * step)
        };
        let at = |sum: &Sum, points: &Points| evaluate(symbols, sum, points, &mut assignment.clone());
        let first = &ascent.gradient[number];
        let mut checks = vec![("first", at(first, &points), slope(&whole), found)];
        if let Some(tight) = &ascent.tight {
            let found = at_best(&points, tight);
            checks.push((
                "first, at the best allocations,",
                at(first, &points),
                slope(&|own| at_best(own, tight)),
                found,
            ));
        }
        if let Some(second) = &ascent.curvature {
            let found = at(first, &points);
            checks.push(("second", at(second, &points), slope(&|points| at(first, points)), found));
        }
        for (name, stated, slope, size) in checks {
            let allowed = 1e-6 * stated.abs().max(1.0) + 1e-13 * size.abs() / step;
            if !within((stated - slope).abs(), allowed) {
                return Err(format!("the {name} derivative is {stated}, by differences {slope}"));
            }
        }
        Ok(())
    }

    /// Natural parameters are the sums of the contributions, less the base measure and by the weight of a row.
    fn check_natural(&self, contributions: &[Contribution], points: &Points) -> Result<(), String> {
        let symbols = &self.program.equations.symbols;
        let block = self.block();
        let mut assignment = self.at(symbols, points);
        let family = posterior(block.family);
        let weigh = |assignment: &mut Assignment| -> f64 {
            let weights = block.multiplicity.iter();
            weights.map(|atom| evaluate_atom(symbols, atom, points, assignment)).product()
        };
        let weight = weigh(&mut assignment);
        if weight == 0.0 {
            return Ok(());
        }
        let mut length = 0.0;
        for_each_value(symbols, points, &block.slices[0], &mut assignment, &mut |_| length += 1.0);
        let mut base = family.base();
        base.iter_mut().zip(family.base_per_element()).for_each(|(base, each)| *base += length * each);
        for (natural, base) in block.natural.iter().zip(base) {
            let mut worst = (0.0, String::new());
            for_each_value(symbols, points, &natural.slots, &mut assignment, &mut |assignment| {
                let (mut total, mut scale) = (0.0, 1.0_f64);
                for part in contributions.iter().flat_map(|own| &own.parts) {
                    if part.statistic == natural.statistic {
                        let own = evaluate(symbols, &part.coefficient, points, assignment);
                        total += own;
                        scale = scale.max(own.abs());
                    }
                }
                let own = evaluate(symbols, &natural.coefficient, points, assignment);
                let whole = if block.is_point() { own } else { weight * (own + base) };
                let off = (whole - total).abs() / scale.max(own.abs());
                if !within(off, worst.0) {
                    worst = (off, format!("collected {total}, natural parameter {own} and base {base}"));
                }
            });
            if !within(worst.0, 1e-10) {
                return Err(worst.1);
            }
        }
        Ok(())
    }
}

/// Data, and alternatives for the values of all latents.
struct Setting<'a> {
    bound: &'a Bound,
    drawn: &'a [Vec<Option<Vec<f64>>>],
}

fn check(program: &Program, seed: u64) -> Result<usize, String> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let shape = Shape { smallest: 2, largest: 3, ..Shape::small(seed % 2 == 1) };
    let bound = random_bound(&program.model, shape, &mut rng);
    let parameters = start(&program.equations, &bound, seed);
    let drawn = alternatives(program.subject(), &bound, &parameters, ALTERNATIVES + 1, &mut rng);
    // For the tangent: the copy that moves is near its first alternative.
    let mut near = drawn.clone();
    near[ALTERNATIVES] = near[0].clone();
    for (index, values) in near[ALTERNATIVES].iter_mut().enumerate() {
        let discrete = matches!(
            program.equations.symbols.arrays[index].support,
            Support::Index(_) | Support::Binary | Support::Count
        );
        values.iter_mut().flatten().filter(|_| !discrete).for_each(|value| *value *= 1.0 + 1e-5);
    }
    let equations = &program.equations;
    let mut points = Points::new(equations, &bound, &drawn);
    points.seed = seed;
    let mut beside = Points::new(equations, &bound, &near);
    beside.seed = seed;
    let mut steps = 0;
    for (index, contributions) in equations.contributions.iter().enumerate() {
        let id = BlockId::from(index);
        let mut rows = Vec::new();
        let plates = equations.block(id).copies(&equations.symbols);
        for_each_value(&equations.symbols, &points, &plates, &mut Assignment::new(), &mut |assignment| {
            rows.push(
                plates.iter().map(|letter| assignment.get(*letter).expect("assigned")).collect::<Vec<_>>(),
            );
        });
        if rows.is_empty() {
            continue;
        }
        let mut plates = rows.swap_remove(rng.random_range(0..rows.len()));
        let group = plates.split_off(equations.block(id).plates.len());
        let copy = Copy { program, id, plates, group };
        let at = |problem: String| {
            let names: Vec<&str> = equations
                .block(id)
                .members
                .iter()
                .map(|own| equations.symbols.array(*own).name.as_str())
                .collect();
            format!("{} at {:?}: {problem}", names.join(", "), copy.plates)
        };
        for contribution in contributions {
            let target = equations.statements[contribution.statement.index()].target;
            let at = |problem| at(format!("from `{}`: {problem}", equations.symbols.array(target).name));
            copy.check_values(contribution, &points).map_err(at)?;
            copy.check_tangent(contribution, &beside).map_err(at)?;
            if equations.block(id).by.is_none() && seed == 0 {
                copy.check_expectation(contribution, &points).map_err(at)?;
            }
            steps += 4;
        }
        match &equations.block(id).ascent {
            Some(ascent) => {
                let setting = Setting { bound: &bound, drawn: &drawn };
                copy.check_ascent(ascent, contributions, &setting, &mut rng).map_err(at)?;
                steps += 2;
            }
            None => copy.check_natural(contributions, &points).map_err(at)?,
        }
    }
    Ok(steps)
}

#[test]
fn each_step_is_worth_what_the_one_before_is() {
    let mut failed = Vec::new();
    let mut steps = 0;
    for program in programs() {
        for seed in 0..2 {
            match check(&program, seed) {
                Ok(number) => steps += number,
                Err(problem) => failed.push(format!("{} (seed {seed}): {problem}", program.name)),
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(steps > 1000, "{steps} steps");
}
