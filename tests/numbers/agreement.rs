//! The interpreter and the executor agree, and the executor with itself on any number of threads.

use cavi_algebra::{ArrayId, ArrayKind, Expression, LetterId};
use cavi_executor::{Bound, BoundArray, BoundAxis, Executor, Parameters, start};
use cavi_tests::support::{
    Program, Shape, bound_of, climbs_stay_together, close, compile, farthest, programs, random_bound,
    runs_agree,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const TOLERANCE: f64 = 1e-12;

/// Programs of which the two runs end at different points, with the reason. Their bounds are compared to 1e-5, and
/// their points are not compared.
const DRIFTING: [(&str, &str); 2] = [
    ("linked_points", "its scale is shared among `a`, `w` and `s`: some sweeps are far from rest"),
    (
        "nmf_gp",
        "far from its optimum after so few sweeps: two smooth processes that trade scale, and a line search that takes another step \
     for a difference in rounding",
    ),
];

fn check(shape: Shape, seeds: std::ops::Range<u64>) {
    let mut wrong = Vec::new();
    for program in programs() {
        if std::env::var_os("CAVI_TRACE").is_some() {
            eprintln!("{}", program.name);
        }
        for seed in seeds.clone() {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let bound = random_bound(&program.model, shape, &mut rng);
            let from = start(&program.equations, &bound, seed + 100);
            for (name, schedule) in [("its sweep", program.schedule()), ("one group", program.one_group())] {
                let attempt = std::panic::AssertUnwindSafe(|| {
                    runs_agree(&program, &bound, &schedule, &from, 5, TOLERANCE)
                });
                let outcome = std::panic::catch_unwind(attempt).unwrap_or_else(|_| Err("a panic".to_owned()));
                if let Err(problem) = outcome {
                    wrong.push(format!("{}, seed {seed}, {name}: {problem}", program.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {shape:?}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn small_dense_data() {
    check(Shape::small(false), 0..2);
}

#[test]
fn small_sparse_data() {
    check(Shape::small(true), 2..4);
}

#[test]
fn axes_of_size_nought_and_one() {
    for sparse in [false, true] {
        check(Shape { smallest: 0, largest: 1, ..Shape::small(sparse) }, 4..8);
    }
}

#[test]
fn everything_missing() {
    for sparse in [false, true] {
        check(Shape { missing: 1.0, ..Shape::small(sparse) }, 8..9);
    }
}

/// Programs whose points climb are compared sweep by sweep above, each from one state. Here both runs go their own way for
/// some sweeps: what differs in rounding must not grow into another result. Points are compared to 1e-6: at an optimum the
/// bound is flat to its rounding within the root of that, about 1e-8, and a visit stops anywhere there.
#[test]
fn climbs_stay_together_over_sweeps() {
    let mut apart = Vec::new();
    let mut seen = 0;
    for program in programs().into_iter().filter(Program::climbs) {
        let reason = DRIFTING.iter().find(|(name, _)| *name == program.name).map(|(_, reason)| reason);
        for seed in 0..2 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let shape = Shape { smallest: 2, largest: 4, ..Shape::small(seed == 1) };
            let bound = random_bound(&program.model, shape, &mut rng);
            let from = start(&program.equations, &bound, seed + 100);
            let found = climbs_stay_together(&program, &bound, &from, 8)
                .unwrap_or_else(|problem| panic!("{}: {problem}", program.name));
            let Some((of_bound, of_points)) = found else { continue };
            seen += 1;
            let allowed = if reason.is_some() { (1e-5, f64::INFINITY) } else { (1e-8, 1e-6) };
            if of_bound > allowed.0 || of_points > allowed.1 {
                apart
                    .push(format!("{}, seed {seed}: bound {of_bound:e}, points {of_points:e}", program.name));
            }
        }
    }
    assert!(apart.is_empty(), "{} of {seen} apart\n{}", apart.len(), apart.join("\n"));
    assert!(seen >= 20, "{seen} runs");
}

/// The documents of the larger data.
const DOCUMENTS: usize = 330;

/// Sparse counts at about two of three places, constants by their numbers.
fn large_bound(program: &Program, seed: u64) -> Bound {
    let symbols = &program.model.symbols;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let size = |name: &str| match name {
        "doc" => DOCUMENTS,
        "word" => 60,
        "time" => 2,
        _ => 27,
    };
    let axes = symbols.axes.iter().map(|axis| BoundAxis::plain(size(&axis.name))).collect();
    let mut bound = Bound { axes, arrays: vec![None; symbols.arrays.len()], ..Bound::default() };
    for (index, array) in symbols.arrays.iter().enumerate() {
        let shape = bound.shape(symbols, ArrayId::from(index));
        let places: usize = shape.iter().product();
        bound.arrays[index] = match (array.kind, &array.value) {
            (ArrayKind::Latent, _) => None,
            (ArrayKind::Constant, Some(Expression::Number(value))) => {
                let values = (0..places).map(|place| value * (1.0 + (place % 7) as f64 / 10.0)).collect();
                Some(BoundArray::full(values))
            }
            (ArrayKind::Constant, _) => panic!("a constant of the test is a number"),
            (ArrayKind::Data, _) => {
                let listed: Vec<usize> = (0..places).filter(|_| rng.random::<f64>() < 2.0 / 3.0).collect();
                let values = listed.iter().map(|_| f64::from(rng.random_range(0..4_u8))).collect();
                let mut indices = vec![Vec::new(); shape.len()];
                for place in listed {
                    let mut rest = place;
                    for (column, size) in indices.iter_mut().zip(&shape).rev() {
                        column.push((rest % size) as u32);
                        rest /= size;
                    }
                }
                Some(BoundArray::Sparse {
                    indices: indices.into_iter().map(Into::into).collect(),
                    values,
                    observed: None,
                    unlisted_zero: true,
                })
            }
        };
    }
    bound
}

/// The values of each document, a part of a column each, in the opposite order.
fn reverse(values: &mut Vec<f64>, documents: usize) {
    let width = values.len() / documents;
    *values = values.chunks(width).rev().flatten().copied().collect();
}

/// Blocks and patterns large enough to be treated in parts (of rows, of entries, of rows and columns): other parts when the
/// documents come in the opposite order, and the same posterior.
#[test]
fn larger_data_in_parts() {
    let head = "axis doc[d]\naxis word[v]\naxis topic[k]\ndata n[d, v] : count, absent = 0\nconst a = 0.3\n";
    let gamma = "b[k] ~ Gamma(a, rate = a)\nw[d, k] ~ Gamma(a, rate = b[k])\nh[k, v] ~ Gamma(a, rate = a)\n";
    let programs = [
        (
            "simplexes",
            "w[d, :k] ~ Dirichlet(a)\nh[k, :v] ~ Dirichlet(a)\nn[d, :v] ~ Multinomial(p = sum[k](w[d, k] * h[k, v]))\n"
                .to_owned(),
        ),
        (
            "columns first",
            format!("{gamma}const e[d] = 2\nn[d, v] ~ Poisson(e[d] * sum[k](h[k, v] * w[d, k]))\n"),
        ),
        (
            "background",
            format!(
                "{gamma}const g[v] = 0.1\nconst e[d] = 2\ns[d] ~ Gamma(a, rate = a)\n\
                 n[d, v] ~ Poisson(s[d] * g[v] + e[d] * sum[k](w[d, k] * h[k, v]))\n"
            ),
        ),
        (
            "two sums",
            format!(
                "{gamma}axis part[p]\nu[d, p] ~ Gamma(a, rate = a)\ng[v, p] ~ Gamma(a, rate = a)\ns[v] ~ Gamma(a, rate = a)\n\
                 n[d, v] ~ Poisson(sum[k](w[d, k] * h[k, v]) + s[v] * sum[p](u[d, p] * g[v, p]))\n"
            ),
        ),
        (
            "three modes",
            format!(
                "{gamma}axis time[t]\ndata m[d, v, t] : count, absent = 0\nc[t, k] ~ Gamma(a, rate = a)\n\
                 n[d, v] ~ Poisson(sum[k](w[d, k] * h[k, v]))\nm[d, v, t] ~ Poisson(sum[k](w[d, k] * h[k, v] * c[t, k]))\n"
            ),
        ),
    ];
    for (name, text) in programs {
        let program = compile(name, &format!("{head}{text}")).unwrap_or_else(|error| panic!("{error}"));
        let (equations, symbols) = (&program.equations, &program.model.symbols);
        let on_documents = |letters: &[LetterId]| {
            let first = letters.first().map(|letter| symbols.letter(*letter).axis);
            first.is_some_and(|axis| symbols.axes[axis.index()].name == "doc")
        };
        let bound = large_bound(&program, 5);
        let mut reversed = bound.clone();
        for (array, own) in reversed.arrays.iter_mut().zip(&symbols.arrays) {
            match array {
                Some(BoundArray::Sparse { indices, values, .. }) => {
                    let mut order: Vec<usize> = (0..values.len()).collect();
                    order.sort_by_key(|entry| std::cmp::Reverse(indices[0][*entry]));
                    indices[0].iter_mut().for_each(|row| *row = DOCUMENTS as u32 - 1 - *row);
                    for column in indices.iter_mut() {
                        *column = order.iter().map(|entry| column[*entry]).collect();
                    }
                    *values = order.iter().map(|entry| values[*entry]).collect();
                }
                Some(BoundArray::Dense { values, .. }) if on_documents(&own.letters) => {
                    reverse(values.to_mut(), DOCUMENTS);
                }
                Some(BoundArray::Dense { .. }) | None => {}
            }
        }
        let turn = |parameters: &mut Parameters| {
            let blocks = parameters.blocks.iter_mut().zip(&equations.blocks);
            for (columns, _) in blocks.filter(|(_, block)| on_documents(&block.plates)) {
                columns.iter_mut().for_each(|column| reverse(column, DOCUMENTS));
            }
        };
        let from = start(equations, &bound, 6);
        let mut turned = from.clone();
        turn(&mut turned);
        let runs = [(&bound, &from, 1), (&bound, &from, 2), (&reversed, &turned, 1)];
        let mut ends = runs.map(|(bound, from, threads)| {
            let mut executor = Executor::new(equations, bound, from.clone(), threads).expect("it has a plan");
            for _ in 0..3 {
                executor.sweep(&program.schedule()).expect("the data are proper");
                executor.elbo();
            }
            (executor.parameters().clone(), executor.elbo(), executor.elbo_scale())
        });
        assert_eq!(ends[0], ends[1], "{name}: threads differ");
        turn(&mut ends[2].0);
        let (distance, block, column) = farthest(equations, &ends[0].0, &ends[2].0);
        assert!(distance <= TOLERANCE, "{name}: block {block}, column {column} differs by {distance:e}");
        assert!(close(ends[0].1, ends[2].1, ends[0].2, TOLERANCE), "{name}: {} and {}", ends[0].1, ends[2].1);
    }
}

/// What the bound takes beside the expectations of a pass has the bits that it has alone: asked a second time, when all
/// expectations are up to date, the bound is the same.
#[test]
fn the_bound_is_the_same_when_asked_twice() {
    for program in programs() {
        for sparse in [false, true] {
            let bound =
                random_bound(&program.model, Shape::small(sparse), &mut ChaCha8Rng::seed_from_u64(11));
            asked_twice(&program, &bound);
        }
    }
    for name in ["lda", "nmf_gamma", "hpf"] {
        let program =
            programs().into_iter().find(|program| program.name == name).expect("a built-in program");
        let shape = Shape { smallest: 90, largest: 200, ..Shape::small(true) };
        asked_twice(&program, &random_bound(&program.model, shape, &mut ChaCha8Rng::seed_from_u64(12)));
    }
}

fn asked_twice(program: &Program, bound: &Bound) {
    let from = start(&program.equations, bound, 3);
    let Ok(mut run) = Executor::new(&program.equations, bound, from, 2) else { return };
    for _ in 0..3 {
        let first = run.elbo();
        let scale = run.elbo_scale();
        assert_eq!(first.to_bits(), run.elbo().to_bits(), "{}: {first}, then another", program.name);
        assert_eq!(scale.to_bits(), run.elbo_scale().to_bits(), "{}: its scale", program.name);
        if run.sweep(&program.schedule()).is_err() {
            return;
        }
    }
}

/// Log weights of more categories than there are data and parameters: they are worked out a few rows at a time.
#[test]
fn allocations_that_are_not_kept() {
    let head = "axis row[n]\naxis column[j]\naxis class[c]\naxis part[k]\ndata x[n, j] : count, absent = 0\n\
                p[:c] ~ Dirichlet(1)\nz[n] ~ Categorical(p)\n";
    let rest = "w[c, k] ~ Gamma(0.8, rate = 0.5)\nh[k, j] ~ Gamma(0.6, rate = 1)\n\
                x[n, j] ~ Poisson(sum[k](w[z[n], k] * h[k, j]))\n";
    let program = compile("not_kept", &format!("{head}{rest}")).expect("it compiles");
    for sparse in [false, true] {
        let (rows, columns) = (45, 60);
        let axes = [rows, columns, 2, 13].map(BoundAxis::plain);
        let values: Vec<f64> = (0..rows * columns).map(|place| ((place * 7) % 5) as f64).collect();
        let listed = || (0..rows * columns).filter(|place| values[*place] > 0.0);
        let x = match sparse {
            false => BoundArray::full(values.clone()),
            true => BoundArray::Sparse {
                indices: vec![
                    listed().map(|place| (place / columns) as u32).collect(),
                    listed().map(|place| (place % columns) as u32).collect(),
                ],
                values: listed().map(|place| values[place]).collect(),
                observed: None,
                unlisted_zero: true,
            },
        };
        // Listed, four fifths of the entries: about as many log weights as there may be.
        let axes = if sparse {
            [axes[0].clone(), axes[1].clone(), BoundAxis::plain(3), axes[3].clone()]
        } else {
            axes
        };
        let bound = bound_of(&program, &axes, &[("x", x)]);
        let from = start(&program.equations, &bound, 3);
        let executor = Executor::new(&program.equations, &bound, from.clone(), 1).expect("it has a plan");
        assert!(executor.plan_text().contains("streamed"), "as large as it is meant to be");
        let schedule = if sparse { program.one_group() } else { program.schedule() };
        runs_agree(&program, &bound, &schedule, &from, 1, TOLERANCE).expect("both runs agree");
    }
}
