//! Runs of shards of an axis: together they are the run of the whole data.

use cavi_algebra::AxisId;
use cavi_executor::reduce::{Exchange, Meeting};
use cavi_executor::shard::{Part, Passes, Sharded, Visits, ranges};
use cavi_executor::{Bound, Executor, Ground, Parameters, Precision, Runner, Spread, start};
use cavi_tests::support::{Neighbour, Program, Shape, close, farthest, programs, random_bound, thorough};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// The bound after each of some sweeps, with the scale of its terms, and the parameters in the end; or what went wrong.
type Outcome = Result<(Vec<(f64, f64)>, Parameters), String>;

const SWEEPS: usize = 3;

fn sweeps(runner: &mut Runner, program: &Program) -> Result<Vec<(f64, f64)>, String> {
    let schedule = program.schedule();
    let mut bounds = vec![(runner.elbo(), runner.elbo_scale())];
    for _ in 0..SWEEPS {
        runner.sweep(&schedule).map_err(|trouble| trouble.to_string())?;
        bounds.push((runner.elbo(), runner.elbo_scale()));
    }
    Ok(bounds)
}

fn whole(program: &Program, bound: &Bound, from: &Parameters) -> Outcome {
    let executor = Executor::new(&program.equations, bound, from.clone(), 1).map_err(|own| own.0)?;
    let mut runner = Runner::Whole(Box::new(executor));
    let bounds = sweeps(&mut runner, program)?;
    Ok((bounds, runner.parameters().clone()))
}

/// The same of one of the processes that so many shards are spread over, on so many threads.
fn in_process(
    program: &Program,
    (bound, from): (&Bound, &Parameters),
    spread: &Spread,
    threads: usize,
) -> Result<Outcome, String> {
    let (equations, precision) = (&program.equations, Precision::Double);
    let ground = Ground::new(equations, bound, precision, Some(spread), from).map_err(|own| own.0)?;
    let run = |mut runner: Runner| -> Outcome {
        let bounds = sweeps(&mut runner, program)?;
        Ok((bounds, runner.parameters().clone()))
    };
    ground.run(from.clone(), threads, run).map_err(|own| own.0)
}

/// The same of all processes, which have the same.
fn in_shards(
    program: &Program,
    bound: &Bound,
    axis: AxisId,
    from: &Parameters,
    (shards, processes, threads): (usize, usize, usize),
) -> Result<Outcome, String> {
    let all: Vec<Option<Arc<dyn Exchange>>> = match processes {
        1 => vec![None],
        several => Neighbour::all(several).into_iter().map(Some).collect(),
    };
    let outcomes: Vec<Result<Outcome, String>> = std::thread::scope(|scope| {
        let begin = |exchange| {
            let spread = Spread { axis, shards, exchange };
            scope.spawn(move || in_process(program, (bound, from), &spread, threads))
        };
        let threads: Vec<_> = all.into_iter().map(begin).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a panic".to_owned())))
            .collect()
    });
    let mut outcomes = outcomes.into_iter();
    let first = outcomes.next().expect("there is a process")?;
    for other in outcomes {
        let other = other?;
        if bits(&first) != bits(&other) {
            return Err(format!("processes have {:?} and {:?}", first.err(), other.err()));
        }
    }
    Ok(first)
}

fn bits(found: &Outcome) -> Result<Vec<u64>, &String> {
    let (bounds, own) = found.as_ref()?;
    let bounds = bounds.iter().flat_map(|(bound, scale)| [*bound, *scale]);
    Ok(bounds.chain(own.blocks.iter().flatten().flatten().copied()).map(f64::to_bits).collect())
}

/// The same of shards by the plan whose sums over the axis are free of what all share, in step.
fn by_the_plan_of_passes(
    program: &Program,
    bound: &Bound,
    axis: AxisId,
    from: &Parameters,
    shards: usize,
) -> Result<Outcome, String> {
    let sharded = Sharded::memoizing(&program.equations, bound, axis, from, Precision::Double);
    let sharded = sharded.map_err(|own| own.0)?;
    let parts: Vec<Part> =
        ranges(sharded.positions(), shards).into_iter().map(|range| sharded.part(range)).collect();
    let bounds: Vec<Bound> = parts.iter().map(Part::bound).collect();
    let meeting = Meeting::new(parts.len(), 0..parts.len(), parts.len(), None);
    let common = sharded.common();
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let (sharded, meeting, common) = (&sharded, &meeting, &common);
        let begin = |(shard, (part, bound)): (usize, (&'_ Part<'_>, &'_ Bound))| {
            let (part, bound): (&Part, &Bound) = (part, bound);
            let own = sharded.parameters(part, from);
            let mut executor = sharded
                .executor(part, bound, own, 1, (Box::new(meeting.member(shard)), common))
                .map_err(|own| own.0)?;
            meeting.enter();
            let schedule = program.schedule();
            let mut trace = vec![(executor.elbo(), executor.elbo_scale())];
            for _ in 0..SWEEPS {
                executor.sweep(&schedule).map_err(|trouble| trouble.to_string())?;
                trace.push((executor.elbo(), executor.elbo_scale()));
            }
            meeting.leave();
            Ok((trace, executor.parameters().clone()))
        };
        let threads: Vec<_> =
            parts.iter().zip(&bounds).enumerate().map(|own| scope.spawn(move || begin(own))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a panic".to_owned())))
            .collect()
    });
    let mut merged = from.clone();
    let mut trace = Vec::new();
    for (part, outcome) in parts.iter().zip(outcomes) {
        let (bounds, own) = match outcome {
            Ok(own) => own,
            Err(why) => return Ok(Err(why)),
        };
        sharded.put(part, &own, &mut merged);
        trace = bounds;
    }
    Ok(Ok((trace, merged)))
}

/// Compares the run of the whole with those of some numbers of shards of every axis that can be cut.
fn check(shape: Shape, seed: u64, numbers: &[usize]) {
    let (mut wrong, mut cut, mut refused) = (Vec::new(), 0, Vec::new());
    for program in programs() {
        if std::env::var_os("CAVI_TRACE").is_some() {
            eprintln!("{}", program.name);
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let bound = random_bound(&program.model, shape, &mut rng);
        let from = start(&program.equations, &bound, seed + 100);
        let Ok(executor) = Executor::new(&program.equations, &bound, from.clone(), 1) else { continue };
        drop(executor);
        let one = whole(&program, &bound, &from);
        for axis in (0..program.equations.symbols.axes.len()).map(AxisId::from) {
            let name = &program.equations.symbols.axis(axis).name;
            let sharded = Sharded::new(&program.equations, &bound, axis, &from, Precision::Double);
            if let Err(why) = sharded {
                refused.push(format!("{}, {name}: {}", program.name, why.0));
                continue;
            }
            for shards in numbers.iter().copied() {
                let found = in_shards(&program, &bound, axis, &from, (shards, 1, 1));
                match differs(&program, &one, found) {
                    None => cut += 1,
                    Some(why) => {
                        wrong.push(format!("{}, {name} in {shards}: {why}", program.name));
                        break;
                    }
                }
            }
        }
    }
    if std::env::var_os("CAVI_TRACE").is_some() {
        refused.dedup();
        eprintln!("{cut} agree, {} refused\n{}", refused.len(), refused.join("\n"));
    }
    assert!(wrong.is_empty(), "{} of {shape:?} ({cut} agree)\n{}", wrong.len(), wrong.join("\n"));
    assert!(cut > 100 || std::env::var_os("CAVI_PROGRAM").is_some(), "{cut}");
}

fn differs(program: &Program, one: &Outcome, found: Result<Outcome, String>) -> Option<String> {
    let found = match found {
        Ok(found) => found,
        Err(why) => return Some(why),
    };
    let (one, found) = match (one, &found) {
        (Ok(one), Ok(found)) => (one, found),
        (Err(_), Err(_)) => return None,
        (one, found) => {
            let why = |own: &Outcome| own.as_ref().err().cloned();
            return Some(format!("whole {:?}, shards {:?}", why(one), why(found)));
        }
    };
    for (sweep, ((whole, scale), (shards, _))) in one.0.iter().zip(&found.0).enumerate() {
        let tolerance = if program.climbs() { 1e-5 } else { 1e-9 };
        if !close(*whole, *shards, *scale, tolerance) {
            return Some(format!("sweep {sweep}: bound {whole} of the whole, {shards} of shards"));
        }
    }
    if program.climbs() {
        return None;
    }
    let (distance, block, column) = farthest(&program.equations, &one.1, &found.1);
    (distance > 1e-7).then(|| format!("block {block}, column {column} differ by {distance:e}"))
}

/// Sizes that leave each of seven shards a position, or some of them one and others two.
fn shape(sparse: bool) -> Shape {
    Shape { smallest: 4, largest: 9, ..Shape::small(sparse) }
}

#[test]
fn shards_of_dense_data_are_the_whole() {
    check(shape(false), 0, if thorough() { &[1, 2, 3, 7] } else { &[2, 7] });
}

#[test]
fn shards_of_sparse_data_are_the_whole() {
    check(shape(true), 2, if thorough() { &[1, 2, 3, 7] } else { &[1, 3] });
}

/// The bits follow from the number of shards, not from who holds which.
#[test]
fn any_spread_of_the_shards_has_the_same_bits() {
    let (mut wrong, mut same) = (Vec::new(), 0);
    for program in programs() {
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let shape = Shape { smallest: 7, largest: 9, ..Shape::small(true) };
        let bound = random_bound(&program.model, shape, &mut rng);
        let from = start(&program.equations, &bound, 109);
        for axis in (0..program.equations.symbols.axes.len()).map(AxisId::from) {
            if Sharded::new(&program.equations, &bound, axis, &from, Precision::Double).is_err() {
                continue;
            }
            let found =
                |processes, threads| in_shards(&program, &bound, axis, &from, (7, processes, threads));
            let one = match found(1, 1) {
                Ok(one) => one,
                Err(why) => panic!("{}: {why}", program.name),
            };
            let spreads: &[(usize, usize)] = match thorough() {
                true => &[(1, 2), (1, 9), (2, 1), (3, 2), (7, 1)],
                false => &[(1, 9), (3, 2), (7, 1)],
            };
            // Each process has a shard.
            for (processes, threads) in spreads.iter().copied().filter(|own| own.0 <= bound.size(axis)) {
                match found(processes, threads) {
                    Ok(other) if bits(&other) == bits(&one) => same += 1,
                    other => wrong.push(format!(
                        "{} in {processes} processes of {threads} threads: {:?}",
                        program.name,
                        other.err()
                    )),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
    assert!(same > 100 || std::env::var_os("CAVI_PROGRAM").is_some(), "{same}");
}

/// Programs whose arrays are so large that a run forgets some, works some out in parts, and follows what changed.
#[test]
fn shards_of_larger_data_are_the_whole() {
    let mut seen = 0;
    let mut wrong = Vec::new();
    for program in programs().into_iter().filter(|own| !own.climbs()) {
        let mut rng = ChaCha8Rng::seed_from_u64(17);
        let shape = Shape { smallest: 60, largest: 70, ..Shape::small(seen % 2 == 0) };
        let axes = &program.equations.symbols.axes;
        // Of ragged axes and of three or more dimensions there are too many positions for a test.
        let widest = program.equations.symbols.arrays.iter().map(|array| array.letters.len()).max();
        if axes.iter().any(|axis| axis.parent.is_some()) || widest > Some(2) {
            continue;
        }
        let bound = random_bound(&program.model, shape, &mut rng);
        let from = start(&program.equations, &bound, 117);
        if Executor::new(&program.equations, &bound, from.clone(), 1).is_err() {
            continue;
        }
        let axis = (0..axes.len())
            .map(AxisId::from)
            .find(|axis| Sharded::new(&program.equations, &bound, *axis, &from, Precision::Double).is_ok());
        let Some(axis) = axis else { continue };
        let one = whole(&program, &bound, &from);
        if let Some(why) = differs(&program, &one, in_shards(&program, &bound, axis, &from, (3, 2, 1))) {
            wrong.push(format!("{}: {why}", program.name));
        }
        seen += 1;
    }
    assert!(wrong.is_empty(), "{} of {seen}\n{}", wrong.len(), wrong.join("\n"));
    assert!(seen > 20 || std::env::var_os("CAVI_PROGRAM").is_some(), "{seen}");
}

/// The bound after each of some memoized passes, with its scale; that of the whole at the parameters in the end, and those.
fn memoized(
    program: &Program,
    bound: &Bound,
    axis: AxisId,
    from: &Parameters,
    shards: usize,
) -> Result<Option<Vec<(f64, f64)>>, String> {
    let sharded = Sharded::memoizing(&program.equations, bound, axis, from, Precision::Double);
    let Ok(sharded) = sharded else { return Ok(None) };
    let parts: Vec<Part> =
        ranges(sharded.positions(), shards).into_iter().map(|range| sharded.part(range)).collect();
    let bounds: Vec<Bound> = parts.iter().map(Part::bound).collect();
    let begun = || {
        Passes::new(&sharded, (&parts, &bounds), from.clone(), &program.schedule(), 1).map_err(|own| own.0)
    };
    let mut passes = begun()?;
    let mut trace = Vec::new();
    for pass in 0..6 {
        let first = Visits { afresh: true, times: 3 };
        let later = Visits { afresh: false, times: 1 };
        let all = |passes: &mut Passes, visits: Visits| {
            (0..parts.len()).try_for_each(|shard| passes.visit(shard, visits))
        };
        let mut outcome = all(&mut passes, if pass == 0 { first } else { later });
        // As a fit does: with the data of some shards alone there may be no update, nor from factors that begin afresh.
        if pass == 0 && outcome.is_err() {
            passes = begun()?;
            outcome = passes.begin(Some(first)).and_then(|()| all(&mut passes, first));
        }
        if pass == 0 && outcome.is_err() {
            passes = begun()?;
            outcome = passes.begin(None).and_then(|()| all(&mut passes, later));
        }
        outcome.map_err(|trouble| format!("pass {pass}: {trouble}"))?;
        trace.push(passes.elbo().map_err(|trouble| trouble.to_string())?);
    }
    let merged = passes.parameters().clone();
    let mut executor = Executor::new(&program.equations, bound, merged, 1).map_err(|own| own.0)?;
    trace.push((executor.elbo(), executor.elbo_scale()));
    Ok(Some(trace))
}

/// The bound of memoized passes never falls, and is that of the whole.
#[test]
fn memoized_passes_raise_the_bound_of_the_whole() {
    let (mut wrong, mut seen, mut refused) = (Vec::new(), 0, Vec::new());
    for (seed, program) in programs().into_iter().flat_map(|own| [(1, own.clone()), (2, own)]) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let bound = random_bound(&program.model, shape(seed % 2 == 0), &mut rng);
        let from = start(&program.equations, &bound, seed + 100);
        let name = |axis: AxisId| program.equations.symbols.axis(axis).name.clone();
        for axis in (0..program.equations.symbols.axes.len()).map(AxisId::from) {
            match Sharded::new(&program.equations, &bound, axis, &from, Precision::Double) {
                Ok(_) => {
                    let own = Sharded::memoizing(&program.equations, &bound, axis, &from, Precision::Double);
                    refused
                        .extend(own.err().map(|why| format!("{}, {}: {}", program.name, name(axis), why.0)));
                }
                Err(_) => continue,
            }
            if Sharded::memoizing(&program.equations, &bound, axis, &from, Precision::Double).is_ok() {
                let one = whole(&program, &bound, &from);
                let found = by_the_plan_of_passes(&program, &bound, axis, &from, 3);
                if let Some(why) = differs(&program, &one, found) {
                    wrong.push(format!("{}, {}, seed {seed}: in step, {why}", program.name, name(axis)));
                }
            }
            let clamps = program.equations.blocks.iter().any(|block| block.clamp);
            match memoized(&program, &bound, axis, &from, 3) {
                Ok(Some(_)) if clamps => {}
                Ok(None) => {}
                Ok(Some(trace)) => {
                    seen += 1;
                    let falls = trace.windows(2).position(|pair| {
                        let ((before, one), (after, other), tolerance) = (pair[0], pair[1], 1e-10);
                        before.is_finite() && before - after > tolerance * one.max(other)
                    });
                    let [.., (settled, scale), (whole, _)] = trace[..] else { continue };
                    if let Some(pass) = falls {
                        wrong.push(format!(
                            "{}, {}, seed {seed}: falls after {pass}, {trace:?}",
                            program.name,
                            name(axis)
                        ));
                    } else if !close(settled, whole, scale, 1e-9) {
                        wrong.push(format!(
                            "{}, {}, seed {seed}: {settled} and {whole}",
                            program.name,
                            name(axis)
                        ));
                    }
                }
                // Where a flat prior meets few data the whole has no update either.
                Err(_) if whole(&program, &bound, &from).is_err() => {}
                Err(why) => wrong.push(format!("{}, {}, seed {seed}: {why}", program.name, name(axis))),
            }
        }
    }
    if std::env::var_os("CAVI_TRACE").is_some() {
        refused.dedup();
        eprintln!("{seen} agree, {} refused\n{}", refused.len(), refused.join("\n"));
    }
    assert!(wrong.is_empty(), "{} ({seen} agree)\n{}", wrong.len(), wrong.join("\n"));
    assert!(seen > 60 || std::env::var_os("CAVI_PROGRAM").is_some(), "{seen}");
}
