//! The objective never falls, and an update leaves nothing to gain.

use cavi_algebra::{BlockId, Mode, Support};
use cavi_executor::observed::Observed;
use cavi_executor::{Bound, Executor, Interpreter, Item, Layout, Parameters, Schedule, Step, start};
use cavi_families::{Extent, Posterior, views, views_mut};

use super::programs::Program;

/// By how much of the sum of the absolute values of its terms the bound may fall.
const ROUNDING: f64 = 1e-10;

/// Whether the program claims ascent for a block.
fn claims(program: &Program, item: &Item) -> bool {
    !item.reset && item.blocks().iter().all(|block| !program.equations.block(*block).clamp)
}

/// Runs items one by one; after each the executor's bound has not fallen.
///
/// # Errors
///
/// Where it has.
pub fn items_ascend(program: &Program, bound: &Bound, schedule: &Schedule, seed: u64) -> Result<(), String> {
    let from = start(&program.equations, bound, seed);
    let mut executor = Executor::new(&program.equations, bound, from, 1).map_err(|unplanned| unplanned.0)?;
    let mut before = executor.elbo();
    for sweep in 1..=3 {
        for item in &schedule.items {
            let scale = executor.elbo_scale();
            if executor.item(item).is_err() {
                // No proper optimum, which is told.
                return Ok(());
            }
            let after = executor.elbo();
            let allowed = ROUNDING * scale.max(executor.elbo_scale());
            if after.is_nan() || (claims(program, item) && after < before - allowed) {
                return Err(format!(
                    "sweep {sweep}, {item:?}: from {before} to {after}, allowed {allowed:e}"
                ));
            }
            before = after;
        }
    }
    Ok(())
}

/// Runs all blocks as one group; after each member the interpreter's bound at the group's allocations has not fallen.
///
/// # Errors
///
/// Where it has.
pub fn members_ascend(program: &Program, bound: &Bound, seed: u64) -> Result<(), String> {
    let from = start(&program.equations, bound, seed);
    let mut interpreter =
        Interpreter::new(&program.equations, bound, from).map_err(|trouble| trouble.to_string())?;
    for sweep in 1..=2 {
        if interpreter.refresh().is_err() {
            return Ok(());
        }
        let mut before = interpreter.elbo_held();
        for item in &program.one_group().items {
            let Step::Group(members) = &item.step else { unreachable!("one group") };
            for member in members {
                let block = member.blocks()[0];
                if interpreter.update_block(block).is_err() {
                    return Ok(());
                }
                let terms = interpreter.elbo_held_terms();
                // The error of the log of a partition near 1 is the relative error of the partition, which is large
                // relative to the log.
                let allowed = ROUNDING * (terms.iter().map(|term| term.abs()).sum::<f64>() + 1e-3);
                let after = interpreter.elbo_held();
                if after.is_nan() || (claims(program, member) && after < before - allowed) {
                    return Err(format!(
                        "sweep {sweep}, member {block:?}: from {before} to {after}, allowed {allowed:e}"
                    ));
                }
                before = after;
            }
        }
    }
    Ok(())
}

/// The bound at the held allocations, with a block replaced.
fn at(interpreter: &mut Interpreter, block: BlockId, columns: Vec<Vec<f64>>) -> f64 {
    interpreter.set_block(block, columns);
    interpreter.elbo_held()
}

/// At a maximum the bound falls on both sides, by the same amount to leading order.
fn stationary(minus: f64, centre: f64, plus: f64, rounding: f64) -> Result<(), String> {
    let (difference, curvature) = (plus - minus, plus + minus - 2.0 * centre);
    if curvature.is_nan() || curvature > rounding {
        return Err(format!("no maximum: {minus}, {centre}, {plus}"));
    }
    if difference.is_nan() || difference.abs() > 0.05 * curvature.abs() + rounding {
        return Err(format!(
            "a slope: difference {difference:e}, curvature {curvature:e}, rounding {rounding:e}"
        ));
    }
    Ok(())
}

/// Right after the update of a block nothing is to be gained by a small change of its parameters.
fn rests(program: &Program, bound: &Bound, interpreter: &mut Interpreter, id: BlockId) -> Result<(), String> {
    let block = program.equations.block(id);
    let missing = |array: cavi_algebra::ArrayId| bound.array(array).has_missing();
    let layout = Layout::new(&program.equations, bound, block, &missing);
    // A step of a bound that is asked for by name rises, but need not reach the maximum; nor need the steps of L-BFGS
    // in one visit.
    let climbs = block.by.is_some() || block.ascent.as_ref().is_some_and(|own| own.curvature.is_none());
    if layout.rows == 0 || block.clamp || climbs {
        return Ok(());
    }
    let best = interpreter.parameters().blocks[id.index()].clone();
    let centre = interpreter.elbo_held();
    if !centre.is_finite() {
        return Ok(());
    }
    let rounding = 1e-12 * interpreter.elbo_held_terms().iter().map(|term| term.abs()).sum::<f64>();
    // Of copies that move in order only the last has seen all the others.
    let rows: Vec<usize> =
        if block.in_order.is_empty() { vec![0, layout.rows - 1] } else { vec![layout.rows - 1] };
    let outcome = match block.mode {
        Mode::Point => point_rests(program, interpreter, id, &layout, &best, &rows, centre, rounding),
        Mode::Distribution => match Observed::of(&program.equations, bound, block) {
            None => {
                factor_rests(program, interpreter, id, &layout, &best, &rows, centre, rounding, &|own| own)
            }
            // What was observed is a point mass: of the others each by itself.
            Some(observed) => {
                let mut missing = (0..layout.rows).filter(|row| observed.row(*row).is_none()).take(2);
                missing.try_for_each(|row| {
                    let one = Layout { rows: 1, groups: 1, group: Vec::new(), ..layout.clone() };
                    let part = |column: &Vec<f64>| {
                        let width = column.len() / layout.rows;
                        row * width..(row + 1) * width
                    };
                    let own: Vec<Vec<f64>> =
                        best.iter().map(|column| column[part(column)].to_vec()).collect();
                    let whole = |columns: Vec<Vec<f64>>| {
                        let mut whole = best.clone();
                        for (whole, own) in whole.iter_mut().zip(&columns) {
                            let part = part(whole);
                            whole[part].copy_from_slice(own);
                        }
                        whole
                    };
                    factor_rests(program, interpreter, id, &one, &own, &[0], centre, rounding, &whole)
                })
            }
        },
        Mode::Fixed | Mode::Implicit => Ok(()),
    };
    interpreter.set_block(id, best);
    outcome.map_err(|problem| format!("block {id:?}: {problem}"))
}

#[allow(clippy::too_many_arguments, reason = "the two kinds of blocks share what was worked out above")]
fn point_rests(
    program: &Program,
    interpreter: &mut Interpreter,
    id: BlockId,
    layout: &Layout,
    best: &[Vec<f64>],
    rows: &[usize],
    centre: f64,
    rounding: f64,
) -> Result<(), String> {
    let block = program.equations.block(id);
    let simplex = program.equations.symbols.array(block.members[0]).support == Support::Simplex;
    let real = program.equations.symbols.array(block.members[0]).support == Support::Real;
    let matrix = program.equations.symbols.array(block.members[0]).support == Support::PositiveDefinite;
    let real = real || matrix;
    let width = layout.width();
    for row in rows {
        for element in 0..width {
            let place = row * width + element;
            let value = best[0][place];
            // A symmetric matrix stays one.
            let mirror = row * width + element % layout.n * layout.n + element / layout.n;
            // The next element of the same slice: of a ragged one, within its group.
            let slices = layout.slices_of(0);
            let own = (0..slices.rows).map(|slice| slices.row(slice)).find(|slice| slice.contains(&place));
            let own = own.expect("every element is that of a slice");
            let other = own.start + (place + 1 - own.start) % own.len();
            let moved = |by: f64| {
                let mut columns = best.to_vec();
                columns[0][place] += by;
                if matrix && mirror != place {
                    columns[0][mirror] += by;
                }
                if simplex {
                    columns[0][other] -= by;
                }
                columns
            };
            let step = if real { 1e-3 * value.abs().max(0.1) } else { 1e-3 * value };
            let step = if simplex { step.min(1e-3 * best[0][other]) } else { step };
            if step < 1e-12 || (simplex && place == other) {
                continue;
            }
            let (minus, plus) = (at(interpreter, id, moved(-step)), at(interpreter, id, moved(step)));
            stationary(minus, centre, plus, rounding)
                .map_err(|text| format!("value {place} = {value}: {text}"))?;
        }
    }
    Ok(())
}

#[allow(clippy::too_many_arguments, reason = "the two kinds of blocks share what was worked out above")]
fn factor_rests(
    program: &Program,
    interpreter: &mut Interpreter,
    id: BlockId,
    layout: &Layout,
    best: &[Vec<f64>],
    rows: &[usize],
    centre: f64,
    rounding: f64,
    whole: &dyn Fn(Vec<Vec<f64>>) -> Vec<Vec<f64>>,
) -> Result<(), String> {
    let block = program.equations.block(id);
    let family: &dyn Posterior = cavi_families::posterior(block.family);
    let batch = layout.batch();
    let n = layout.n;
    let statistics = family.statistics();
    let mut natural: Vec<Vec<f64>> = statistics.iter().map(|own| vec![0.0; batch.len(own.extent)]).collect();
    family.natural(&batch, &views(best), &mut views_mut(&mut natural));
    for (which, own) in statistics.iter().enumerate() {
        for row in rows {
            let places: Vec<(usize, usize, f64)> = match own.extent {
                Extent::Scalar => vec![(*row, *row, natural[which][*row].abs())],
                Extent::Vector => (row * n..(row + 1) * n).map(|p| (p, p, natural[which][p].abs())).collect(),
                Extent::Matrix | Extent::Pairs => {
                    let base = batch.group_of(*row) * n * n;
                    let pair = |(i, j): (usize, usize)| {
                        let diagonal = natural[which][base + i * n + i] * natural[which][base + j * n + j];
                        (base + i * n + j, base + j * n + i, diagonal.sqrt())
                    };
                    (0..n).flat_map(|i| (0..=i).map(move |j| (i, j))).map(pair).collect()
                }
            };
            for (place, mirror, size) in places {
                let whole_step = 1e-3 * if size > 1e-9 { size } else { 1.0 };
                let described = |by: f64| {
                    let mut natural = natural.clone();
                    natural[which][place] += by;
                    if mirror != place {
                        natural[which][mirror] += by;
                    }
                    let columns = views(&natural);
                    let mut descriptors = best.to_vec();
                    let outcome = family.describe(&batch, &columns, &mut views_mut(&mut descriptors));
                    outcome.ok().map(|()| whole(descriptors))
                };
                let mut rest = |step: f64| {
                    let (Some(minus), Some(plus)) = (described(-step), described(step)) else {
                        return Ok(f64::INFINITY);
                    };
                    let (minus, plus) = (at(interpreter, id, minus), at(interpreter, id, plus));
                    stationary(minus, centre, plus, rounding).map(|()| 2.0 * centre - plus - minus)
                };
                // A step that is long for a matrix that is near singular shows the third derivative: a short one decides,
                // as long as it shows a curvature.
                if let Err(text) = rest(whole_step)
                    && !rest(whole_step / 30.0).is_ok_and(|curvature| curvature > 10.0 * rounding)
                {
                    return Err(format!("{:?} at {place}: {text}", own.statistic));
                }
            }
        }
    }
    Ok(())
}

/// After a sweep the update of each block, with allocations at their optimum, leaves nothing to gain.
///
/// # Errors
///
/// Where it does.
pub fn updates_rest(program: &Program, bound: &Bound, from: &Parameters) -> Result<(), String> {
    let mut interpreter =
        Interpreter::new(&program.equations, bound, from.clone()).map_err(|trouble| trouble.to_string())?;
    if interpreter.sweep(&program.schedule()).is_err() {
        return Ok(());
    }
    for block in program.equations.sweep.clone() {
        if interpreter.refresh().is_ok() && interpreter.update_block(block).is_ok() {
            rests(program, bound, &mut interpreter, block)?;
        }
    }
    Ok(())
}
