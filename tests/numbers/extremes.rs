//! Tiny priors, large counts, rows of zeros, one factor, one cell: interpreter and executor agree, nothing is NaN, and the
//! bound does not fall.

use cavi_algebra::{ArrayId, ArrayKind};
use cavi_executor::{Bound, BoundArray, BoundAxis, Executor, Interpreter, start};
use cavi_tests::support::{
    Program, Shape, bound_of, close, column, compile, farthest, inline_programs, programs, random_bound,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Both runs agree after each of some sweeps, nothing is NaN, and the bound does not fall. If an update of one has no
/// value, neither has that of the other.
fn check(program: &Program, bound: &Bound, seed: u64, tolerance: f64) -> Result<(), String> {
    let from = start(&program.equations, bound, seed);
    let mut slow =
        Interpreter::new(&program.equations, bound, from.clone()).map_err(|trouble| trouble.to_string())?;
    let mut fast = Executor::new(&program.equations, bound, from, 1).map_err(|unplanned| unplanned.0)?;
    let schedule = program.schedule();
    // Where L-BFGS stops is decided by rounding.
    let tolerance = if program.climbs() { tolerance.max(1e-5) } else { tolerance };
    let claims = schedule.blocks().iter().all(|block| !program.equations.block(*block).clamp);
    let mut before = fast.elbo();
    for sweep in 1..=4 {
        let (one, other) = (slow.sweep(&schedule), fast.sweep(&schedule));
        if one.is_err() || other.is_err() {
            let both = one.is_err() && other.is_err();
            return if both { Ok(()) } else { Err(format!("sweep {sweep}: {one:?}, {other:?}")) };
        }
        let (off, block, column) = farthest(&program.equations, slow.parameters(), fast.parameters());
        if off > tolerance && !program.climbs() {
            return Err(format!("sweep {sweep}: block {block}, column {column} differs by {off:e}"));
        }
        let (elbo, scale) = (fast.elbo(), fast.elbo_scale());
        if elbo.is_nan() || !close(slow.elbo(), elbo, scale, tolerance) {
            return Err(format!("sweep {sweep}: the bound is {} and {elbo}", slow.elbo()));
        }
        let numbers = fast.parameters().blocks.iter().flatten().flatten();
        if numbers.clone().any(|value| value.is_nan()) {
            return Err(format!("sweep {sweep}: a parameter is NaN"));
        }
        if claims && elbo < before - 1e-10 * scale {
            return Err(format!("sweep {sweep}: from {before} to {elbo}"));
        }
        before = elbo;
    }
    Ok(())
}

fn check_all(
    programs: &[Program],
    change: impl Fn(&Program, &mut Bound),
    shape: Shape,
    seed: u64,
    tolerance: f64,
) {
    let mut wrong = Vec::new();
    for program in programs {
        for sparse in [false, true] {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut bound = random_bound(&program.model, Shape { sparse, ..shape }, &mut rng);
            change(program, &mut bound);
            if let Err(problem) = check(program, &bound, seed, tolerance) {
                wrong.push(format!("{}, sparse {sparse}: {problem}", program.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// A sum over pairs that differ is taken as that over all less that over equal ones. Where there is one position no pair differs:
/// what should be 0 is then the rounding of the two, 3e-13 of a standard deviation.
const OF_NO_PAIR: [&str; 1] = ["pairs_without_squares"];

#[test]
fn one_cell_and_one_factor() {
    let shape = Shape { smallest: 1, largest: 1, missing: 0.0, ..Shape::small(false) };
    let mut all = programs();
    all.retain(|program| program.schedule().items.iter().all(|item| !item.reset));
    // One factor as well, where the text has a number.
    let small = |_: &Program, bound: &mut Bound| assert!(bound.axes.iter().all(|axis| axis.size <= 3));
    let (of_no_pair, others): (Vec<Program>, Vec<Program>) =
        all.into_iter().partition(|program| OF_NO_PAIR.contains(&program.name.as_str()));
    assert_eq!(of_no_pair.len(), OF_NO_PAIR.len());
    check_all(&others, small, shape, 41, 1e-10);
    check_all(&of_no_pair, small, shape, 41, 1e-9);
}

/// The programs of this crate with every axis of the text of size one.
#[test]
fn one_factor() {
    let texts = inline_programs().into_iter().map(|program| {
        let text = program.text.replace("] = 3", "] = 1").replace("] = 2", "] = 1");
        compile(&program.name, &text).unwrap_or_else(|problem| panic!("{problem}"))
    });
    let all: Vec<Program> = texts.collect();
    check_all(&all, |_, _| {}, Shape::small(false), 42, 1e-10);
}

#[test]
fn counts_of_a_million() {
    let shape = Shape { scale: 3e5, ..Shape::small(false) };
    check_all(&inline_programs(), |_, _| {}, shape, 43, 1e-10);
}

/// Sets the entries of every array of counts whose first position is `row` to 0, or all.
fn clear(program: &Program, bound: &mut Bound, row: Option<usize>) {
    for (index, array) in program.model.symbols.arrays.iter().enumerate() {
        if !array.absent.zero || array.letters.is_empty() {
            continue;
        }
        let shape = bound.shape(&program.model.symbols, ArrayId::from(index));
        let width: usize = shape[1..].iter().product();
        match &mut bound.arrays[index] {
            Some(BoundArray::Dense { values, .. }) => match row {
                Some(row) => values[row * width..(row + 1) * width].fill(0.0),
                None => values.fill(0.0),
            },
            Some(BoundArray::Sparse { indices, values, .. }) => {
                for (value, own) in values.iter_mut().zip(&indices[0]) {
                    if row.is_none_or(|row| row == *own as usize) {
                        *value = 0.0;
                    }
                }
            }
            None => {}
        }
    }
}

#[test]
fn an_empty_row() {
    check_all(
        &programs(),
        |program, bound| clear(program, bound, Some(0)),
        Shape { smallest: 2, ..Shape::small(false) },
        44,
        1e-10,
    );
}

#[test]
fn nothing_but_zeros() {
    check_all(
        &programs(),
        |program, bound| clear(program, bound, None),
        Shape { smallest: 2, ..Shape::small(false) },
        45,
        1e-10,
    );
}

#[test]
fn tiny_priors() {
    let texts = [
        "axis row[i]\naxis column[j]\naxis factor[k] = 3\ndata x[i, j] : count, absent = 0\n\
         w[i, k] ~ Gamma(1e-14, rate = 1e-14)\nh[k, j] ~ Gamma(1e-14, rate = 1e-14)\n\
         x[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))\n",
        "axis doc[d]\naxis word[v]\naxis topic[k] = 3\ndata n[d, v] : count, absent = 0\n\
         theta[d, :k] ~ Dirichlet(1e-14)\nbeta[k, :v] ~ Dirichlet(1e-14)\n\
         n[d, :v] ~ Multinomial(p = sum[k](theta[d, k] * beta[k, v]))\nfit {\n  sweep (theta, beta)\n}\n",
        "axis sample[n]\naxis view[m]\naxis feature[j] in view[m]\naxis factor[k] = 3\n\
         data x[n, m, j] : real, absent = NA\nz[n, k] ~ Normal(0, sd = 1)\n\
         alpha[m, k] ~ Gamma(shape = 1e-14, rate = 1e-14)\nw[m, j, k] ~ Normal(0, prec = alpha[m, k])\n\
         tau[m] ~ Gamma(shape = 1e-14, rate = 1e-14)\n\
         x[n, m, j] ~ Normal(sum[k](w[m, j, k] * z[n, k]), prec = tau[m])\n\
         posterior {\n  q(z[n, :k])\n  q(w[m, j, :k])\n}\n",
    ];
    let all: Vec<Program> = texts
        .iter()
        .map(|text| compile("tiny", text).unwrap_or_else(|problem| panic!("{problem}")))
        .collect();
    check_all(&all, |_, _| {}, Shape { smallest: 3, ..Shape::small(false) }, 46, 1e-10);
}

/// An axis may have size 0. The posteriors of what depends on it are then the priors, and a distribution over no
/// category adds nothing. What is left of the bound is that of the other axes, 0 here.
#[test]
fn a_simplex_over_nothing_adds_nothing() {
    let text = "axis doc[d]\naxis word[v]\naxis topic[k] = 2\ndata n[d, v] : count, absent = 0\n\
                theta[d, :k] ~ Dirichlet(0.3)\nbeta[k, :v] ~ Dirichlet(0.2)\n\
                n[d, :v] ~ Multinomial(p = sum[k](theta[d, k] * beta[k, v]))\n";
    let program = compile("nothing", text).unwrap_or_else(|problem| panic!("{problem}"));
    for sizes in [[3, 0, 2], [0, 0, 2], [0, 4, 2], [3, 0, 0]] {
        let axes = sizes.into_iter().map(BoundAxis::plain).collect();
        let mut bound =
            Bound { axes, arrays: vec![None; program.model.symbols.arrays.len()], ..Bound::default() };
        let data = program.model.symbols.find("n").expect("the data");
        bound.arrays[data.index()] = Some(BoundArray::full(vec![0.0; sizes[0] * sizes[1]]));
        let constants = program.model.symbols.arrays.iter().enumerate();
        for (index, _) in constants.filter(|(_, own)| own.kind == ArrayKind::Constant) {
            let places = bound.shape(&program.model.symbols, ArrayId::from(index)).iter().product();
            bound.arrays[index] = Some(BoundArray::full(vec![0.3; places]));
        }
        let from = start(&program.equations, &bound, 1);
        let mut fast = Executor::new(&program.equations, &bound, from.clone(), 1)
            .unwrap_or_else(|unplanned| panic!("{}", unplanned.0));
        let mut slow =
            Interpreter::new(&program.equations, &bound, from).unwrap_or_else(|trouble| panic!("{trouble}"));
        fast.sweep(&program.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
        slow.sweep(&program.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
        assert!(fast.elbo().abs() < 1e-12, "{sizes:?}: {}", fast.elbo());
        assert!(slow.elbo().abs() < 1e-12, "{sizes:?}: {}", slow.elbo());
    }
}

/// Data of three factors and little noise or none, whose residual is far smaller than the sums that a square multiplied out
/// has: bounds are those of the interpreter, and never fall, with entries missing and without. Without noise the precision grows
/// until rounding stops it.
#[test]
fn data_with_little_noise_keep_their_digits() {
    let (rows, columns, parts) = (400, 340, 3);
    let text = "axis row[n]\naxis column[j]\naxis part[k]\ndata x[n, j] : real, absent = NA\n\
                z[n, k] ~ Normal(0, sd = 1)\nw[j, k] ~ Normal(0, sd = 1)\ntau ~ Gamma(1e-14, rate = 1e-14)\n\
                x[n, j] ~ Normal(sum[k](w[j, k] * z[n, k]), prec = tau)\n\
                posterior {\n  q(z[n, :k])\n  q(w[j, :k])\n}\nfit {\n  sweep z, w, tau\n}\n";
    let program = compile("little noise", text).unwrap_or_else(|problem| panic!("{problem}"));
    let axes = [rows, columns, parts].map(BoundAxis::plain);
    let value = |row: usize, part: usize| ((row * 7919 + part * 104_729) % 1009) as f64 / 504.5 - 1.0;
    let entry = |row: usize, place: usize, noise: f64| -> f64 {
        let signal: f64 = (0..parts).map(|part| value(row, part) * value(place + 5000, part)).sum();
        signal + noise * value(row * columns + place, 7)
    };
    for (missing, noise) in
        [0, 9].into_iter().flat_map(|missing| [1e-3, 1e-5, 1e-7, 0.0].map(|noise| (missing, noise)))
    {
        let places = || (0..rows * columns).map(|place| (place / columns, place % columns));
        let is_seen = |(row, column): (usize, usize)| missing == 0 || (row * 31 + column * 17) % missing != 0;
        let values = places()
            .map(|(row, column)| f64::from(u8::from(is_seen((row, column)))) * entry(row, column, noise));
        let observed = (missing > 0).then(|| places().map(is_seen).collect());
        let data = BoundArray::Dense { values: values.collect(), observed };
        let bound = bound_of(&program, &axes, &[("x", data)]);
        let from = start(&program.equations, &bound, 1);
        let mut executor = Executor::new(&program.equations, &bound, from, 2)
            .unwrap_or_else(|unplanned| panic!("{}", unplanned.0));
        let schedule = program.schedule();
        let mut last = f64::NEG_INFINITY;
        for sweep in 0..100 {
            executor.sweep(&schedule).unwrap_or_else(|trouble| panic!("{missing}, sweep {sweep}: {trouble}"));
            let elbo = executor.elbo();
            let lost = (last - elbo) / elbo.abs();
            assert!(
                lost < 1e-10,
                "{missing}, noise {noise}, sweep {sweep}: the bound fell from {last} to {elbo}"
            );
            last = elbo;
        }
        let slow = Interpreter::new(&program.equations, &bound, executor.parameters().clone())
            .unwrap_or_else(|trouble| panic!("{trouble}"))
            .elbo();
        let apart = (last - slow).abs() / slow.abs();
        assert!(apart < 1e-10, "{missing}, noise {noise}: {last}, by the interpreter {slow}");
        let tau = column(&program, executor.parameters(), "tau", 0)[0]
            / column(&program, executor.parameters(), "tau", 1)[0];
        let least = if noise > 0.0 { 1.0 / (noise * noise) } else { 1e10 };
        assert!(tau > least, "{missing}, noise {noise}: the precision is {tau}");
    }
}

/// Regressions without noise stop the noise's update while it shares allocations with a count model: what the group reads is
/// there again once the run has gone back to residuals.
#[test]
fn a_group_goes_on_with_residuals() {
    let (rows, columns, parts) = (400, 340, 2);
    let text = "axis row[n]\naxis column[j]\naxis part[k]\naxis doc[d]\naxis word[v]\naxis topic[t]\n\
                data y[n, k] : real\ndata x[n, j] : real\ndata c[d, v] : count, absent = 0\n\
                w[j, k] ~ Flat(real)\ntau ~ Gamma(1e-14, rate = 1e-14)\n\
                x[n, j] ~ Normal(sum[k](y[n, k] * w[j, k]), prec = tau)\n\
                theta[d, :t] ~ Dirichlet(0.5)\nbeta[t, :v] ~ Dirichlet(0.5)\n\
                c[d, :v] ~ Multinomial(p = sum[t](theta[d, t] * beta[t, v]))\n\
                posterior {\n  point w[j, :k]\n}\nfit {\n  sweep w, (tau, theta, beta)\n}\n";
    let program = compile("group", text).unwrap_or_else(|problem| panic!("{problem}"));
    let axes = [rows, columns, parts, 5, 4, 2].map(BoundAxis::plain);
    let value = |place: usize, part: usize| ((place * 7919 + part * 104_729) % 1009) as f64 / 504.5 - 1.0;
    let counts = BoundArray::full((0..20).map(|place| (place * 7 % 5) as f64).collect());
    for shift in 0..8 {
        let y = |row: usize, part: usize| value(row + 31 * shift, part);
        let entry = |row: usize, column: usize| -> f64 {
            (0..parts).map(|part| y(row, part) * value(column + 5000, part)).sum()
        };
        let given = |width: usize, of: &dyn Fn(usize, usize) -> f64| {
            BoundArray::full((0..rows * width).map(|place| of(place / width, place % width)).collect())
        };
        let data = [("y", given(parts, &y)), ("x", given(columns, &entry)), ("c", counts.clone())];
        let bound = bound_of(&program, &axes, &data);
        let from = start(&program.equations, &bound, 1);
        let mut fast = Executor::new(&program.equations, &bound, from.clone(), 1)
            .unwrap_or_else(|unplanned| panic!("{}", unplanned.0));
        assert!(fast.plan_text().contains("squares of the data are multiplied out"), "{}", fast.plan_text());
        let mut slow =
            Interpreter::new(&program.equations, &bound, from).unwrap_or_else(|trouble| panic!("{trouble}"));
        for _ in 0..2 {
            fast.sweep(&program.schedule()).unwrap_or_else(|trouble| panic!("{shift}: {trouble}"));
            slow.sweep(&program.schedule()).unwrap_or_else(|trouble| panic!("{shift}: {trouble}"));
        }
        for name in ["theta", "beta"] {
            let both = [fast.parameters(), slow.parameters()].map(|own| column(&program, own, name, 0));
            let off = both[0].iter().zip(both[1]).map(|(fast, slow)| (fast - slow).abs()).fold(0.0, f64::max);
            assert!(off < 1e-10, "{shift}: {name} is off by {off:e}");
        }
    }
}

/// Slices of no element, of so many copies that others would be updated in parts.
#[test]
fn slices_over_nothing_are_updated() {
    let text = "axis row[n]\naxis column[j]\naxis part[k]\ndata y[n, k] : real\ndata x[n, j] : real\n\
                w[j, k] ~ Normal(0, prec = tau[j])\ntau[j] ~ Gamma(2, rate = 1)\n\
                x[n, j] ~ Normal(sum[k](y[n, k] * w[j, k]), prec = tau[j])\n\
                posterior {\n  q(w[j, :k], tau[j])\n}\n";
    let program = compile("nothing", text).unwrap_or_else(|problem| panic!("{problem}"));
    let axes = [2, 9000, 0].map(BoundAxis::plain);
    let x = BoundArray::full((0..18_000).map(|place| (place % 13) as f64 - 6.0).collect());
    let bound = bound_of(&program, &axes, &[("y", BoundArray::full(Vec::new())), ("x", x)]);
    let from = start(&program.equations, &bound, 1);
    let mut fast = Executor::new(&program.equations, &bound, from.clone(), 2)
        .unwrap_or_else(|unplanned| panic!("{}", unplanned.0));
    let mut slow =
        Interpreter::new(&program.equations, &bound, from).unwrap_or_else(|trouble| panic!("{trouble}"));
    fast.sweep(&program.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
    slow.sweep(&program.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
    let (elbo, scale) = (fast.elbo(), fast.elbo_scale());
    assert!(close(elbo, slow.elbo(), scale, 1e-10), "{elbo} and {}", slow.elbo());
}
