//! Warm-ups: `means` is EM under priors raised by 1, `shapes` is a fit with changing constants, and both work for
//! every program.

use cavi::bind::ArrayInput;
use cavi::start::Given;
use cavi::{Control, Fit, Settings};
use cavi_derivation::collapsed::{with_bound_of, with_collapsed};
use cavi_derivation::warmup::{allocated, shapes, with_free_shapes, with_means};
use cavi_executor::{Parameters, start};
use cavi_syntax::ast::Warmup;
use cavi_tests::support::{
    Matrix, Program, Ready, Shape, file_of, matrix_file, programs, random_bound, runs_agree,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn fit(program: &Ready, settings: &Settings) -> Fit {
    program.problem().fit(settings, &mut |_| Control::Continue).unwrap_or_else(|error| panic!("{error:?}"))
}

/// A fit of no sweeps after a warm-up from a given start.
fn warmed(program: &Ready, from: &Parameters, warmup: Vec<Warmup>) -> Fit {
    let given = Given { blocks: from.blocks.iter().cloned().map(Some).collect() };
    let settings =
        Settings { sweeps: Some(0), warmup: Some(warmup), given: Some(given), ..Settings::default() };
    fit(program, &settings)
}

fn counts(rows: usize, columns: usize, seed: u64) -> Matrix {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let entry =
        |rng: &mut ChaCha8Rng| if rng.random_bool(0.4) { 0.0 } else { f64::from(rng.random_range(1..9)) };
    (0..rows).map(|_| (0..columns).map(|_| entry(&mut rng)).collect()).collect()
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() <= tolerance * expected.abs().max(1e-12),
            "{found} and not {expected}"
        );
    }
}

const GAMMA: &str = "axis row[i]\naxis column[j]\naxis part[k] = 3\ndata x[i, j] : count, absent = 0\nconst a\nconst c\n\
    w[i, k] ~ Gamma(a, rate = 2)\nh[j, k] ~ Gamma(c, rate = 0.5)\nx[i, j] ~ Poisson(0.1 + sum[k](w[i, k] * h[j, k]))\n";

const TOPICS: &str = "axis row[i]\naxis column[j]\naxis part[k] = 3\ndata x[i, j] : count, absent = 0\nconst a\nconst c\n\
    w[i, :k] ~ Dirichlet(a)\nh[k, :j] ~ Dirichlet(c)\nx[i, :j] ~ Multinomial(sum[k](w[i, k] * h[k, j]))\n";

/// The mean of a Gamma or Dirichlet factor: (a + counts) / rate, which is the mode under a + 1.
fn means(program: &Ready, state: &Parameters, name: &str, width: usize) -> Vec<f64> {
    let first = program.column(state, name, 0);
    if width == 0 {
        let rate = program.column(state, name, 1);
        return first.iter().zip(rate).map(|(shape, rate)| shape / rate).collect();
    }
    let rows = first.chunks(width);
    rows.flat_map(|row| row.iter().map(|own| own / row.iter().sum::<f64>()).collect::<Vec<f64>>()).collect()
}

/// With fixed hyper-parameters `means` is EM for the points under shapes and concentrations raised by 1, in every
/// sweep and for every schedule.
#[test]
fn means_are_points_under_priors_raised_by_one() {
    let data = counts(7, 5, 1);
    for (text, widths) in [(GAMMA, [0, 0]), (TOPICS, [3, 5])] {
        for schedule in ["w, h", "(w, h)", "h, w repeat 2"] {
            let of = |text: &str, a: f64, c: f64| {
                let data = vec![matrix_file("x", &data, true)];
                Ready::new(&format!("{text}\nfit {{\n  sweep {schedule}\n}}\n"), &[("a", a), ("c", c)], data)
            };
            let random = of(text, 0.3, 0.05);
            let points = of(&format!("{text}posterior {{\n  point w\n  point h\n}}\n"), 1.3, 1.05);
            let from = random.start(3);
            let mut state = points.start(0);
            for (name, width) in ["w", "h"].iter().zip(widths) {
                points.put(&mut state, name, &[means(&random, &from, name, width)]);
            }
            let mut em = points.run(state);
            for sweep in 1..=6 {
                points.sweep(&mut em);
                let found = warmed(&random, &from, vec![Warmup::Means(sweep)]).parameters;
                for (name, width) in ["w", "h"].iter().zip(widths) {
                    let expected = points.column(em.parameters(), name, 0);
                    close(&means(&random, &found, name, width), expected, 1e-11);
                }
            }
        }
    }
}

/// Implicit factors count as allocations: the tokens of a corpus warm up as its table of counts does.
#[test]
fn implicit_factors_warm_up_as_allocations() {
    let data = counts(6, 4, 2);
    let mut tokens = "row,token,v,m\n".to_owned();
    for (row, entries) in data.iter().enumerate() {
        for (column, count) in entries.iter().enumerate() {
            tokens.push_str(&format!("r{row},t{row}_{column},c{column},{count}\n"));
        }
    }
    let text = "axis row[i]\naxis token[t] in row\naxis column[j] = 4\naxis part[k] = 3\ndata v[i, t] : index column\n\
        data m[i, t] : multiplicity\nw[i, :k] ~ Dirichlet(0.2)\nh[k, :j] ~ Dirichlet(0.1)\nz[i, t] ~ Categorical(w[i, :k])\n\
        v[i, t] ~ Categorical(h[z[i, t], :j])\nposterior {\n  implicit z\n}\nfit {\n  sweep (w, h)\n}\n";
    let columns = |name: &str, place: usize| -> ArrayInput {
        let lines = tokens.lines().map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{},{},{}\n", cells[0], cells[1], cells[place])
        });
        file_of(name, "tokens.csv", lines.collect::<String>().into_bytes())
    };
    let tokens = Ready::new(text, &[], vec![columns("v", 2), columns("m", 3)]);
    let table = Ready::new(
        &format!("{TOPICS}fit {{\n  sweep (w, h)\n}}\n"),
        &[("a", 0.2), ("c", 0.1)],
        vec![matrix_file("x", &data, false)],
    );
    let from = table.start(1);
    let mut same = tokens.start(1);
    for name in ["w", "h"] {
        tokens.put(&mut same, name, &[table.column(&from, name, 0).to_vec()]);
    }
    let warm = || vec![Warmup::Means(5)];
    let (one, other) = (warmed(&table, &from, warm()), warmed(&tokens, &same, warm()));
    for name in ["w", "h"] {
        close(tokens.column(&other.parameters, name, 0), table.column(&one.parameters, name, 0), 1e-11);
    }
}

/// `shapes L over S`: sweep s is one of the program with L (a / L)^((s - 1) / (S - 1)) in the place of each a below L.
#[test]
fn shapes_fall_to_what_the_program_says() {
    let data = counts(7, 5, 4);
    for text in [GAMMA, TOPICS] {
        let of =
            |a: f64, c: f64| Ready::new(text, &[("a", a), ("c", c)], vec![matrix_file("x", &data, true)]);
        let (a, c, least, sweeps) = (0.05, 0.9, 0.6, 7_u64);
        let program = of(a, c);
        let from = program.start(5);
        let mut state = from.clone();
        for sweep in 1..=sweeps {
            let along = (sweep - 1) as f64 / (sweeps - 1) as f64;
            let own = of(least * (a / least).powf(along), c);
            let mut run = own.run(state);
            own.sweep(&mut run);
            state = run.parameters().clone();
        }
        let found = warmed(&program, &from, vec![Warmup::Shapes(least, sweeps)]).parameters;
        for (block, expected) in found.blocks.iter().zip(&state.blocks) {
            block.iter().zip(expected).for_each(|(found, expected)| close(found, expected, 1e-11));
        }
    }
}

/// What the rows before sweep 0 are, and that a given start drops the program's own lines.
#[test]
fn the_trace_counts_up_to_the_fit() {
    let text = format!("{GAMMA}fit {{\n  warmup shapes 0.6 over 2\n  warmup means 3\n}}\n");
    let program =
        Ready::new(&text, &[("a", 0.3), ("c", 0.3)], vec![matrix_file("x", &counts(7, 5, 1), true)]);
    let own = fit(&program, &Settings { sweeps: Some(2), ..Settings::default() });
    let sweeps: Vec<i64> = own.trace.iter().map(|row| row.sweep).collect();
    assert_eq!(sweeps, [-5, -4, -3, -2, -1, 0, 1, 2]);
    for row in &own.trace {
        assert_eq!(row.phase, if row.sweep < 0 { "warmup" } else { "fit" });
        assert_eq!(row.elbo.is_none(), row.sweep < 0);
        assert_eq!(row.rel_change.is_none(), row.sweep < 1);
    }
    assert_eq!(own.run().sweeps, 2);
    let by_hand = warmed(&program, &program.start(0), vec![Warmup::Shapes(0.6, 2), Warmup::Means(3)]);
    assert_eq!(by_hand.trace.last().and_then(|row| row.elbo), own.trace[5].elbo);

    let given = Given { blocks: program.start(0).blocks.into_iter().map(Some).collect() };
    let from_given = fit(&program, &Settings { sweeps: Some(2), given: Some(given), ..Settings::default() });
    assert_eq!(from_given.trace[0].sweep, 0);
}

/// Any program with allocations: interpreter and executor agree on its warm-up, whose blocks are the program's.
#[test]
fn every_program_with_allocations_warms_up() {
    let mut warm_programs = 0;
    let mut wrong = Vec::new();
    for program in programs() {
        let mut versions = Vec::new();
        if !allocated(&program.equations).is_empty() {
            versions.push(("means", with_means(&program.equations)));
            let collapsed = with_collapsed(&program.equations, &|_| true);
            versions.push(("collapsed", with_bound_of(&program.equations, collapsed.clone())));
            versions.push(("collapsed", collapsed));
        }
        let shapes = shapes(&program.model);
        // Where a shape of 1 is absent by its value, no other shape has a closed form; such a program has no allocations.
        let free = with_free_shapes(&program.model, &shapes).filter(|_| !shapes.is_empty());
        assert!(
            free.is_some() || shapes.is_empty() || allocated(&program.equations).is_empty(),
            "{} has no equations with free shapes",
            program.name
        );
        if let Some(free) = free {
            assert_eq!(free.blocks.len(), program.equations.blocks.len() + shapes.len(), "{}", program.name);
            versions.push(("shapes", free));
        }
        for (what, equations) in versions {
            warm_programs += 1;
            let mut rng = ChaCha8Rng::seed_from_u64(6);
            let bound = random_bound(&program.model, Shape::small(true), &mut rng);
            let mut bound = bound;
            bound.arrays.resize(equations.symbols.arrays.len(), None);
            let from = start(&equations, &bound, 7);
            let schedule = program.schedule();
            let warm = Program { equations, ..program.clone() };
            // No bound is claimed of means, but both evaluate the same equations.
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                runs_agree(&warm, &bound, &schedule, &from, 3, 1e-11)
            }));
            if let Err(problem) = outcome.unwrap_or_else(|_| Err("a panic".to_owned())) {
                wrong.push(format!("{} ({what}): {problem}", program.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
    assert!(warm_programs > 60, "only {warm_programs}");
}
