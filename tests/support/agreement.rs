//! The interpreter and the executor agree, and the executor with itself on any number of threads.

use cavi_executor::{Bound, Executor, Interpreter, Parameters, Schedule};

use super::programs::Program;
use super::{close, farthest};

/// For the bound alone, where points move by L-BFGS: rounding decides where it stops, and along a flat direction that may
/// be far apart. Each sweep is compared from one state, since differences grow from visit to visit; what they come to over
/// sweeps without a break is in [`climbs_stay_together`]. Their gradients are held to differences of the objective elsewhere
/// (`gradients.rs`).
const CLIMBING: f64 = 1e-5;

/// Both runs on their own over some sweeps of a program whose points climb: the largest difference of the bound, by its
/// terms, and of a point, by its size, on the way. `None` where a sweep has no proper outcome.
///
/// # Errors
///
/// Where there is no run, or one of them alone fails.
pub fn climbs_stay_together(
    program: &Program,
    bound: &Bound,
    from: &Parameters,
    sweeps: usize,
) -> Result<Option<(f64, f64)>, String> {
    let (equations, schedule) = (&program.equations, program.schedule());
    let mut fast = Executor::new(equations, bound, from.clone(), 1).map_err(|unplanned| unplanned.0)?;
    let mut slow = Interpreter::new(equations, bound, from.clone()).map_err(|trouble| trouble.to_string())?;
    let (mut of_bound, mut of_points) = (0.0_f64, 0.0_f64);
    for sweep in 1..=sweeps {
        let outcome = (slow.sweep(&schedule), fast.sweep(&schedule));
        match outcome {
            (Ok(()), Ok(())) => {}
            (Err(_), Err(_)) => return Ok(None),
            (slow, fast) => return Err(format!("sweep {sweep}: interpreter {slow:?}, executor {fast:?}")),
        }
        let scale: f64 = slow.elbo_terms().iter().map(|term| term.abs()).sum();
        of_bound = of_bound.max((slow.elbo() - fast.elbo()).abs() / scale.max(1.0));
        of_points = of_points.max(farthest(equations, slow.parameters(), fast.parameters()).0);
    }
    Ok(Some((of_bound, of_points)))
}

/// Compares both runs, on one and on two threads, after each of some sweeps.
///
/// # Errors
///
/// What differs by more than `tolerance`.
pub fn runs_agree(
    program: &Program,
    bound: &Bound,
    schedule: &Schedule,
    from: &Parameters,
    sweeps: usize,
    tolerance: f64,
) -> Result<(), String> {
    let equations = &program.equations;
    let climbs = program.climbs();
    let tolerance = if climbs { CLIMBING } else { tolerance };
    let mut executors = Vec::new();
    for threads in [1, 2] {
        let executor = Executor::new(equations, bound, from.clone(), threads);
        executors.push(executor.map_err(|unplanned| format!("no plan: {}", unplanned.0))?);
    }
    let mut interpreter = Interpreter::new(equations, bound, from.clone())
        .map_err(|trouble| format!("interpreter: {trouble}"))?;
    for sweep in 0..=sweeps {
        if sweep > 0 {
            let slow = interpreter.sweep(schedule);
            for executor in &mut executors {
                let fast = executor.sweep(schedule);
                if slow.is_err() != fast.is_err() {
                    return Err(format!("sweep {sweep}: interpreter {slow:?}, executor {fast:?}"));
                }
            }
            if slow.is_err() {
                // Improper for both, which happens where a flat prior meets no data.
                return Ok(());
            }
        }
        let [one, two] = executors.as_mut_slice() else { unreachable!("two executors") };
        let (elbo, other) = (one.elbo(), two.elbo());
        if elbo.to_bits() != other.to_bits() || one.parameters() != two.parameters() {
            let (distance, block, column) = farthest(equations, one.parameters(), two.parameters());
            return Err(format!(
                "sweep {sweep}: threads differ, {elbo:e} and {other:e}, by {distance:e} in block {block}, column {column}"
            ));
        }
        let terms = interpreter.elbo_terms();
        let scale: f64 = terms.iter().map(|term| term.abs()).sum();
        let (distance, block, column) = farthest(equations, interpreter.parameters(), one.parameters());
        if distance > tolerance && !climbs {
            return Err(format!("sweep {sweep}: block {block}, column {column} differs by {distance:e}"));
        }
        let slow = interpreter.elbo();
        if !close(slow, elbo, scale, tolerance) {
            return Err(format!("sweep {sweep}: the bound is {slow:.14e} and {elbo:.14e}"));
        }
        if climbs {
            interpreter = Interpreter::new(equations, bound, one.parameters().clone())
                .map_err(|trouble| format!("interpreter: {trouble}"))?;
        }
    }
    Ok(())
}
