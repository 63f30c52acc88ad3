//! An implicit factor has the same iterates and the same bound as one that is stored, and updated before each block
//! that reads it. Where points climb the bound alone is the same: a visit has the implicit factor at its optimum at
//! every evaluation, and a stored one as it was before the visit.

use cavi_executor::{Bound, BoundArray, BoundAxis, Executor, Item, Parameters, Schedule, start};
use cavi_tests::support::{Program, Shape, bound_of, close, compile, has_implicit, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const TOLERANCE: f64 = 1e-11;

/// The program without its lines `implicit`, and for each of its blocks that of the program.
fn stored(program: &Program) -> (Program, Vec<Option<usize>>) {
    let kept = program.text.lines().filter(|line| !line.trim_start().starts_with("implicit "));
    let text = kept.collect::<Vec<_>>().join("\n");
    let stored = compile(&program.name, &text).expect("what is implicit can be stored");
    let name = |program: &Program, block: usize| {
        program.equations.symbols.array(program.equations.blocks[block].members[0]).name.clone()
    };
    let from = (0..stored.equations.blocks.len())
        .map(|own| {
            (0..program.equations.blocks.len()).find(|block| name(program, *block) == name(&stored, own))
        })
        .collect();
    (stored, from)
}

/// Compares both after each of some sweeps.
fn check(program: &Program, bound: &Bound, seed: u64) -> Result<(), String> {
    let (stored, from) = stored(program);
    let given = start(&program.equations, bound, seed);
    let own = start(&stored.equations, bound, seed);
    let blocks = own.blocks.into_iter().zip(&from).map(|(own, from)| match from {
        Some(from) => given.blocks[*from].clone(),
        None => own,
    });
    let starts = Parameters { blocks: blocks.collect() };
    let unplanned = |unplanned: cavi_executor::Unplanned| format!("no plan: {}", unplanned.0);
    let mut fast = Executor::new(&program.equations, bound, given.clone(), 1).map_err(unplanned)?;
    let mut slow = Executor::new(&stored.equations, bound, starts, 1).map_err(unplanned)?;
    let first: Vec<Item> =
        (0..from.len()).filter(|own| from[*own].is_none()).map(|own| Item::block(own.into())).collect();
    for sweep in 0..4 {
        let items = if program.climbs() { Vec::new() } else { Schedule::of(&program.equations).items };
        for item in items {
            let block = item.blocks()[0];
            let place = from.iter().position(|own| *own == Some(block.index())).ok_or("a block was lost")?;
            let outcome = fast.item(&item);
            let items = first.iter().cloned().chain([Item::block(place.into())]).collect();
            let other = slow.sweep(&Schedule { items });
            match (outcome, other) {
                (Ok(()), Ok(())) => {}
                // Improper for both, which happens where a point has no mode.
                (Err(_), Err(_)) => return Ok(()),
                (one, other) => return Err(format!("implicit {one:?}, stored {other:?}")),
            }
        }
        slow.sweep(&Schedule { items: first.clone() }).map_err(|trouble| trouble.to_string())?;
        let (one, other) = (fast.elbo(), slow.elbo());
        if !close(one, other, fast.elbo_scale(), TOLERANCE) {
            return Err(format!("sweep {sweep}: the bound is {one:.14e}, stored {other:.14e}"));
        }
        for (place, from) in from.iter().enumerate() {
            let Some(from) = from else { continue };
            let columns = fast.parameters().blocks[*from].iter().zip(&slow.parameters().blocks[place]);
            for (one, other) in columns.flat_map(|(one, other)| one.iter().zip(other)) {
                if !close(*one, *other, one.abs().max(other.abs()), 1e-9) {
                    return Err(format!("sweep {sweep}: block {from} has {one:e}, stored {other:e}"));
                }
            }
        }
    }
    Ok(())
}

#[test]
fn implicit_is_stored_and_always_updated() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for program in programs().iter().filter(|program| has_implicit(program)) {
        seen += 1;
        for (seed, sparse) in [(51, false), (52, true), (53, false)] {
            let shape = Shape { smallest: 2, largest: 4, ..Shape::small(sparse) };
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let bound = random_bound(&program.model, shape, &mut rng);
            if let Err(problem) = check(program, &bound, seed) {
                wrong.push(format!("{}, seed {seed}: {problem}", program.name));
            }
        }
    }
    assert!(seen > 0, "no program has an implicit factor");
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// More rows times classes than data and parameters together: nothing of the factor is kept.
fn check_large(text: &str, axes: &[BoundAxis], x: BoundArray) {
    let program = compile("large", text).expect("it compiles");
    let bound = bound_of(&program, axes, &[("x", x)]);
    let from = start(&program.equations, &bound, 1);
    let executor = Executor::new(&program.equations, &bound, from, 1).expect("it has a plan");
    assert!(executor.plan_text().contains("streamed"), "as large as it is meant to be");
    check(&program, &bound, 1).expect("the same iterates");
}

#[test]
fn implicit_is_stored_where_it_is_large() {
    let text = "axis item[n]\naxis class[c]\ndata x[n] : real, absent = NA\np[:c] ~ Dirichlet(1)\nz[n] ~ Categorical(p)\n\
                mu[c] ~ Normal(0, sd = 3)\ntau[c] ~ Gamma(2, rate = 1)\nx[n] ~ Normal(mu[z[n]], prec = tau[z[n]])\n\
                posterior {\n  implicit z[n]\n}\n";
    let rows = 30_000;
    let values = (0..rows).map(|row| ((row * 37) % 101) as f64 / 10.0 - 5.0).collect();
    let observed = (0..rows).map(|row| row % 11 > 0).collect();
    let x = BoundArray::Dense { values, observed: Some(observed) };
    check_large(text, &[BoundAxis::plain(rows), BoundAxis::plain(4)], x);
}

/// A bound inside each class, its shares as many as entries times classes times parts.
#[test]
fn implicit_is_stored_where_bounds_inside_are_large() {
    let text = "axis row[n]\naxis column[j]\naxis class[c]\naxis part[k]\ndata x[n, j] : count, absent = 0\n\
                p[:c] ~ Dirichlet(1)\nz[n] ~ Categorical(p)\nw[c, k] ~ Gamma(0.8, rate = 0.5)\nh[k, j] ~ Gamma(0.6, rate = 1)\n\
                x[n, j] ~ Poisson(sum[k](w[z[n], k] * h[k, j]))\nposterior {\n  implicit z[n]\n}\n";
    let (rows, columns) = (45, 60);
    let values: Vec<f64> = (0..rows * columns).map(|place| ((place * 7) % 5) as f64).collect();
    let listed: Vec<usize> = (0..rows * columns).filter(|place| values[*place] > 0.0).collect();
    let x = BoundArray::Sparse {
        indices: vec![
            listed.iter().map(|place| (place / columns) as u32).collect(),
            listed.iter().map(|place| (place % columns) as u32).collect(),
        ],
        values: listed.iter().map(|place| values[*place]).collect(),
        observed: None,
        unlisted_zero: true,
    };
    check_large(text, &[rows, columns, 4, 13].map(BoundAxis::plain), x);
}
