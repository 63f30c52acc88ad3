//! Runs of shards of an axis: together they are the run of the whole data.

use cavi_algebra::AxisId;
use cavi_executor::reduce::Reducer;
use cavi_executor::shard::{Part, Sharded, ranges};
use cavi_executor::{Bound, Executor, Parameters, Precision, start};
use cavi_tests::support::{Meeting, Program, Shape, close, farthest, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The bound after each of some sweeps, with the scale of its terms, and the parameters in the end; or what went wrong.
type Outcome = Result<(Vec<(f64, f64)>, Parameters), String>;

const SWEEPS: usize = 3;

fn sweeps(executor: &mut Executor, program: &Program) -> Result<Vec<(f64, f64)>, String> {
    let schedule = program.schedule();
    let mut bounds = vec![(executor.elbo(), executor.elbo_scale())];
    for _ in 0..SWEEPS {
        executor.sweep(&schedule).map_err(|trouble| trouble.to_string())?;
        bounds.push((executor.elbo(), executor.elbo_scale()));
    }
    Ok(bounds)
}

fn whole(program: &Program, bound: &Bound, from: &Parameters) -> Outcome {
    let mut executor = Executor::new(&program.equations, bound, from.clone(), 1).map_err(|own| own.0)?;
    let bounds = sweeps(&mut executor, program)?;
    Ok((bounds, executor.parameters().clone()))
}

/// The same in so many shards, each on a thread, spread over so many states.
fn in_shards(
    program: &Program,
    bound: &Bound,
    axis: AxisId,
    from: &Parameters,
    (shards, states): (usize, usize),
) -> Result<Outcome, String> {
    let sharded =
        Sharded::new(&program.equations, bound, axis, from, Precision::Double).map_err(|own| own.0)?;
    let parts: Vec<Part> =
        ranges(sharded.positions(), shards).into_iter().map(|range| sharded.part(range)).collect();
    let bounds: Vec<Bound> = parts.iter().map(Part::bound).collect();
    let members = Meeting::of(parts.len(), states.min(parts.len()));
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let sharded = &sharded;
        let threads: Vec<_> = parts
            .iter()
            .zip(&bounds)
            .zip(members)
            .map(|((part, bound), member)| {
                scope.spawn(move || -> Outcome {
                    let reducer: Box<dyn Reducer> = Box::new(member);
                    let own = sharded.parameters(part, from);
                    let mut executor = sharded.executor(part, bound, own, 1, reducer).map_err(|own| own.0)?;
                    let bounds = sweeps(&mut executor, program)?;
                    Ok((bounds, executor.parameters().clone()))
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a panic".to_owned())))
            .collect()
    });
    if let Some(why) = outcomes.iter().find_map(|own| own.as_ref().err().filter(|why| why.contains("shard")))
    {
        return Err(why.clone());
    }
    if outcomes.iter().any(Result::is_err) {
        return Ok(Err(outcomes.iter().find_map(|own| own.as_ref().err()).expect("one failed").clone()));
    }
    let mut all = outcomes.into_iter().map(|own| own.expect("none failed"));
    let mut merged = from.clone();
    let (first, own) = all.next().expect("there is a shard");
    sharded.put(&parts[0], &own, &mut merged);
    for (part, (bounds, own)) in parts[1..].iter().zip(all) {
        let bits = |own: &[(f64, f64)]| own.iter().map(|own| own.0.to_bits()).collect::<Vec<_>>();
        if bits(&bounds) != bits(&first) {
            return Err(format!("shards have bounds {first:?} and {bounds:?}"));
        }
        sharded.put(part, &own, &mut merged);
    }
    Ok(Ok((first, merged)))
}

/// Compares the run of the whole with those of 1, 2, 3 and 7 shards of every axis that can be cut.
fn check(shape: Shape, seeds: std::ops::Range<u64>) {
    let (mut wrong, mut cut, mut refused) = (Vec::new(), 0, Vec::new());
    for program in programs() {
        if std::env::var_os("CAVI_TRACE").is_some() {
            eprintln!("{}", program.name);
        }
        for seed in seeds.clone() {
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
                for shards in [1, 2, 3, 7] {
                    let found = in_shards(&program, &bound, axis, &from, (shards, 1));
                    match differs(&program, &one, found) {
                        None => cut += 1,
                        Some(why) => {
                            wrong.push(format!("{}, seed {seed}, {name} in {shards}: {why}", program.name));
                            break;
                        }
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
    check(shape(false), 0..2);
}

#[test]
fn shards_of_sparse_data_are_the_whole() {
    check(shape(true), 2..4);
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
            let found = |states: usize| in_shards(&program, &bound, axis, &from, (7, states));
            let bits = |found: &Outcome| {
                found.as_ref().map_or_else(
                    |why| (vec![why.len() as u64], Vec::new()),
                    |(bounds, own)| {
                        let values = own.blocks.iter().flatten().flatten();
                        let bounds =
                            bounds.iter().flat_map(|(bound, scale)| [bound.to_bits(), scale.to_bits()]);
                        (bounds.collect(), values.map(|value| value.to_bits()).collect::<Vec<u64>>())
                    },
                )
            };
            let one = match found(1) {
                Ok(one) => one,
                Err(why) => panic!("{}: {why}", program.name),
            };
            for states in [2, 3, 7] {
                match found(states) {
                    Ok(other) if bits(&other) == bits(&one) => same += 1,
                    other => wrong.push(format!("{} in {states} states: {:?}", program.name, other.err())),
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
        if let Some(why) = differs(&program, &one, in_shards(&program, &bound, axis, &from, (3, 2))) {
            wrong.push(format!("{}: {why}", program.name));
        }
        seen += 1;
    }
    assert!(wrong.is_empty(), "{} of {seen}\n{}", wrong.len(), wrong.join("\n"));
    assert!(seen > 20 || std::env::var_os("CAVI_PROGRAM").is_some(), "{seen}");
}
