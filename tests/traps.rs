//! Mistakes that have cost someone a wrong answer, with the numbers of `examples/README.md`. Here are those that no
//! other test covers: joint and factorised factors, shared and refreshed allocations, tiny shapes, boundary modes,
//! the coordinates of a mode, zeros that stay.
//!
//! Tests elsewhere: one multinomial allocation (`straight_line.rs`), latent shapes and concentrations
//! (`rejections.rs`), constants of the data between forms of a model (`identities.rs`), missing entries (`cases.rs`,
//! `straight_line.rs`), ascent inside groups (`ascent.rs`).

use cavi::bind::{Inputs, SetInput, SetValue};
use cavi::{Control, Error, Settings};
use cavi_executor::{Interpreter, Parameters};
use cavi_tests::support::{Matrix, Ready, file_of, matrix_file};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use statrs::function::gamma::ln_gamma;

/// A column as a file.
fn column(name: &str, values: &[f64]) -> cavi::bind::ArrayInput {
    let lines: Vec<String> = values.iter().map(f64::to_string).collect();
    file_of(name, "column.csv", format!("{}\n", lines.join("\n")).into_bytes())
}

fn fit(program: &Ready, settings: Settings) -> Result<cavi::Fit, Error> {
    program.problem().fit(&settings, &mut |_| Control::Continue)
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-10 * expected.abs().max(1.0), "{found} and not {expected}");
}

/// Trap 1: correlated inputs. Both factorisations find the mean of the posterior; only the joint one its spread and the
/// log evidence.
#[test]
fn joint_and_factorised_weights_differ_in_bound_and_spread() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for _ in 0..40 {
        let (a, b): (f64, f64) = (rng.sample(StandardNormal), rng.sample(StandardNormal));
        x.push(vec![a, a + 0.3 * b]);
        y.push(a - b);
    }
    let text = |posterior: &str| {
        format!(
            "axis sample[n]\naxis input[p]\ndata x[n, p] : real\ndata y[n] : real\nw[p] ~ Normal(0, sd = 1)\n\
             y[n] ~ Normal(sum[p](x[n, p] * w[p]), sd = 1)\n{posterior}"
        )
    };
    let end = |posterior: &str| {
        let program = Ready::new(&text(posterior), &[], vec![matrix_file("x", &x, false), column("y", &y)]);
        let mut run = program.run(program.start(1));
        (0..4000).for_each(|_| program.sweep(&mut run));
        let elbo = run.elbo();
        let state = run.parameters();
        let means = program.column(state, "w", 0).to_vec();
        let spreads = program.column(state, "w", 1).to_vec();
        let stated = program.compiled().derivation(cavi::Format::Text);
        (elbo, means, spreads, stated)
    };
    let joint = end("posterior {\n  q(w[:p])\n}\n");
    let apart = end("");
    assert!(joint.0 > apart.0 + 0.5, "{} and {}", joint.0, apart.0);
    for (one, other) in joint.1.iter().zip(&apart.1) {
        close(*one, *other);
    }
    // The variance of the joint factor stands on the diagonal of its covariance; the factorised one is too small.
    assert!(joint.2[0] > 2.0 * apart.2[0] && joint.2[3] > 2.0 * apart.2[1], "{:?}, {:?}", joint.2, apart.2);
    assert!(joint.3.contains("q(w[:p])"), "{}", joint.3);
    assert!(apart.3.contains("q(w[p])"), "{}", apart.3);
}

fn counts(rows: usize, columns: usize, seed: u64) -> Matrix {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..rows).map(|_| (0..columns).map(|_| f64::from(rng.random_range(0..9_u32))).collect()).collect()
}

/// Trap 2: what is shared and which comes first are part of the program.
#[test]
fn schedules_give_different_iterates_and_one_factor_settles_at_once() {
    let data = counts(7, 6, 2);
    let after = |schedule: &str, factors: f64, sweeps: usize| {
        let program = Ready::built_in("nmf_kl", &[("part", factors)], vec![matrix_file("x", &data, false)]);
        let program = program.scheduled(schedule);
        let mut run = program.run(program.start(3));
        (0..sweeps).for_each(|_| program.sweep(&mut run));
        [program.column(run.parameters(), "w", 0), program.column(run.parameters(), "h", 0)].concat()
    };
    let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
    let orders = ["w, h", "(w, h)", "h, w", "(h, w)"];
    for (place, one) in orders.iter().enumerate() {
        for other in &orders[place + 1..] {
            let off = apart(&after(one, 3.0, 1), &after(other, 3.0, 1));
            assert!(off > 1e-3, "{one} and {other}: {off:e}");
        }
        // Coupled points from the same old values would jump between two states for ever.
        let (once, twice) = (after(one, 1.0, 1), after(one, 1.0, 2));
        assert!(apart(&once, &twice) < 1e-12, "{one}");
        let total: f64 = data.iter().flatten().sum();
        let fitted: f64 = once[..7].iter().sum::<f64>() * once[7..].iter().sum::<f64>();
        close(fitted, total);
    }
}

/// Trap 2: inside a group only the bound at the shared allocations is sure to rise. From this start the bound at refreshed
/// ones falls at the second member.
#[test]
fn inside_a_group_the_refreshed_bound_may_fall() {
    let mut fell = 0;
    for seed in 0..40 {
        let data = counts(2, 2, seed);
        let program = Ready::built_in("nmf_em", &[("signature", 2.0)], vec![matrix_file("x", &data, false)]);
        let equations = program.equations();
        let mut slow = Interpreter::new(equations, &program.binding().bound, program.start(seed))
            .unwrap_or_else(|trouble| panic!("{trouble}"));
        for _ in 0..3 {
            slow.refresh().unwrap_or_else(|trouble| panic!("{trouble}"));
            let mut before = (slow.elbo_held(), f64::NEG_INFINITY);
            for block in program.schedule().blocks() {
                slow.update_block(block).unwrap_or_else(|trouble| panic!("{trouble}"));
                let now = (slow.elbo_held(), slow.elbo());
                assert!(now.0 >= before.0 - 1e-10 * before.0.abs().max(1.0));
                // Never below the bound at the shared allocations.
                assert!(now.1 >= now.0 - 1e-10 * now.0.abs().max(1.0));
                fell += usize::from(now.1 < before.1 - 1e-9);
                before = now;
            }
        }
    }
    assert!(fell > 0, "no example");
}

/// Trap 4: with shape and rate of 1e-14, adding E log p and the entropy would lose hundredths of a nat.
#[test]
fn tiny_priors_lose_no_digit_of_the_bound() {
    let text =
        "axis item[n]\ndata x[n] : count\nconst a = 1e-14\nrate ~ Gamma(a, rate = a)\nx[n] ~ Poisson(rate)\n";
    for (x, a) in
        [(vec![3.0, 0.0, 5.0], 1e-14), (vec![0.0, 0.0], 1e-14), (vec![2e6, 1.0], 1e-14), (vec![0.0], 1e-10)]
    {
        let program = Ready::new(text, &[("a", a)], vec![column("x", &x)]);
        let mut run = program.run(program.start(0));
        program.sweep(&mut run);
        let (total, n) = (x.iter().sum::<f64>(), x.len() as f64);
        // log Gamma(a + S) - log Gamma(a), the latter as log Gamma(1 + a) - log a.
        let ratio = if total == 0.0 { 0.0 } else { ln_gamma(total + a) - ln_gamma(1.0 + a) + a.ln() };
        let evidence = ratio + a * (a / (n + a)).ln()
            - total * (n + a).ln()
            - x.iter().map(|x| ln_gamma(x + 1.0)).sum::<f64>();
        let found = run.elbo();
        assert!((found - evidence).abs() <= 1e-12 * evidence.abs().max(1.0), "{found} and not {evidence}");
    }
}

/// Trap 4: the exponential of an expected log of -1000 is 0 in double precision; shares are formed in logs.
#[test]
fn allocations_of_tiny_shapes_add_up() {
    let data = counts(4, 5, 5);
    let program = Ready::built_in(
        "nmf_gamma",
        &[("signature", 2.0), ("a", 1e-3), ("c", 1e-3)],
        vec![matrix_file("x", &data, false)],
    );
    let mut from = program.start(1);
    // psi(1e-3) is -1000.6.
    let shapes = |rows: usize| (0..rows).map(|at| 1e-3 * (1.0 + 1e-3 * at as f64)).collect::<Vec<f64>>();
    program.put(&mut from, "w", &[shapes(8), vec![1.0; 8]]);
    program.put(&mut from, "h", &[shapes(10), vec![1.0; 10]]);
    let mut run = program.run(from);
    program.sweep(&mut run);
    for (i, shapes) in program.column(run.parameters(), "w", 0).chunks(2).enumerate() {
        close(shapes.iter().sum::<f64>() - 2e-3, data[i].iter().sum());
    }
    assert!(run.elbo().is_finite());
}

const MAP_GAMMA: &str = "axis item[n]\ndata x[n] : count\nconst a = 2\nconst b = 1\nrate ~ Gamma(a, rate = b)\n\
                         x[n] ~ Poisson(rate)\nposterior {\n  point rate\n}\n";

/// Trap 6: the mode of a Gamma prior with shape below 1 is infinite at 0, whatever the counts; at shape 1 it is 0.
#[test]
fn a_shape_below_one_is_judged_by_the_prior() {
    let program = |a: f64, x: &[f64]| Ready::new(MAP_GAMMA, &[("a", a)], vec![column("x", x)]);
    let value = |a: f64, x: &[f64]| {
        let program = program(a, x);
        let fit = fit(&program, Settings::default()).unwrap_or_else(|error| panic!("{error:?}"));
        program.column(&fit.parameters, "rate", 0)[0]
    };
    close(value(1.0, &[0.0, 0.0]), 0.0);
    close(value(1.0, &[3.0, 1.0]), 4.0 / 3.0);
    // Refused although counts could make the mode finite: by what the text or an option says, by what a file says.
    let set = [cavi_model::Set { name: "a", value: Some(0.5) }];
    let refused = cavi::compile_with(MAP_GAMMA, "program.cavi", &set);
    assert!(refused.diagnostics.iter().any(|own| own.code == "E0713"), "{:?}", refused.diagnostics);
    let by_item = "axis item[n]\ndata x[n] : count\nconst a[n]\nrate[n] ~ Gamma(a[n], rate = 1)\n\
                   x[n] ~ Poisson(rate[n])\nposterior {\n  point rate\n}\n";
    let shapes = SetValue::Source(column("a", &[0.5, 2.0]).source);
    let set = vec![SetInput { name: "a".to_owned(), group: None, value: shapes }];
    let inputs = Inputs { data: vec![column("x", &[3.0, 1.0])], set, ..Inputs::default() };
    match Ready::prepared(by_item, &inputs).map(|ready| ready.schedule().clone()) {
        Err(error) => assert_eq!(error.code(), "E0713", "{error}"),
        other => panic!("{other:?}"),
    }
}

/// Trap 6: `clamp` takes max(0, shape - 1 + counts) over the rate, and claims no ascent.
#[test]
fn clamp_cuts_at_nought() {
    let text = MAP_GAMMA.replace("point rate", "point rate clamp");
    for (x, expected) in [(vec![3.0, 1.0], 3.5 / 3.0), (vec![0.0, 0.0], 0.0)] {
        let program = Ready::new(&text, &[("a", 0.5)], vec![column("x", &x)]);
        let settings = Settings { sweeps: Some(2), verify: true, ..Settings::default() };
        let fit = fit(&program, settings).unwrap_or_else(|error| panic!("{error:?}"));
        close(program.column(&fit.parameters, "rate", 0)[0], expected);
        assert!(fit.trace[1..].iter().all(|row| row.phase == "clamp"));
    }
}

/// Trap 7: the mode is that of the declared variable: of the rate and not of its logarithm, on the simplex and not of its
/// softmax coordinates.
#[test]
fn a_mode_belongs_to_the_declared_coordinates() {
    let program = Ready::new(MAP_GAMMA, &[("a", 3.0)], vec![column("x", &[3.0, 1.0])]);
    let mut run = program.run(program.start(0));
    program.sweep(&mut run);
    // In the coordinate log rate it would be (3 + 4) / 3.
    close(program.column(run.parameters(), "rate", 0)[0], (3.0 - 1.0 + 4.0) / 3.0);

    let text = "axis item[n]\naxis kind[c]\ndata x[n, c] : count\np[:c] ~ Dirichlet(3)\nx[n, :c] ~ Multinomial(p = p[c])\n\
                posterior {\n  point p\n}\n";
    let program = Ready::new(text, &[], vec![matrix_file("x", &vec![vec![4.0, 0.0, 1.0]], false)]);
    let mut run = program.run(program.start(0));
    program.sweep(&mut run);
    for (found, count) in program.column(run.parameters(), "p", 0).iter().zip([4.0, 0.0, 1.0]) {
        close(*found, (3.0 - 1.0 + count) / (3.0 * 2.0 + 5.0));
    }
}

/// Trap 10: a zero stays under an allocation, and is warned about. Where a sum has one category, by the text or by the size
/// of an axis, there is no choice to make, and the zero goes; a prior that speaks for more than 0 lifts it too.
#[test]
fn a_zero_stays_unless_it_stands_alone() {
    let data: Matrix =
        counts(5, 4, 6).into_iter().map(|row| row.into_iter().map(|x| x + 1.0).collect()).collect();
    let several = cavi_tests::support::text_of("nmf_kl");
    let alone = "axis image[i]\naxis pixel[j]\ndata x[i, j] : count\nw[i] ~ Flat(nonnegative)\nh[j] ~ Flat(nonnegative)\n\
                 x[i, j] ~ Poisson(w[i] * h[j])\nposterior {\n  point w\n  point h\n}\n";
    let lifted = several.replace("w[i, k] ~ Flat(nonnegative)", "w[i, :k] ~ Dirichlet(1.5)");
    let lifted = lifted.replace("point w[i, k]", "point w[i, :k]");
    let squares = cavi_tests::support::text_of("nmf_ls");
    let two: Matrix = (0..5).map(|i| if i == 2 { vec![0.0, 1.0] } else { vec![0.4, 0.6] }).collect();
    let one: Matrix = two.iter().map(|row| vec![row[0]]).collect();
    let column_of_one = column("zero", &[1.0, 1.0, 0.0, 1.0, 1.0]);
    let cases = [
        (several, 2, matrix_file("zero", &two, false), true),
        (several, 1, matrix_file("zero", &one, false), false),
        (lifted.as_str(), 2, matrix_file("zero", &two, false), false),
        (alone, 0, column_of_one, false),
        (squares, 2, matrix_file("zero", &two, false), true),
    ];
    for (text, parts, zero, stays) in cases {
        let subscripts = if parts == 0 { "[i]" } else { "[i, k]" };
        let text = format!("{text}const zero{subscripts}\ninit {{\n  w{subscripts} = zero{subscripts}\n}}\n");
        let axis = if text.contains("note[k]") { "note" } else { "part" };
        let size = (axis, f64::from(parts));
        let sizes = if parts == 0 { &[][..] } else { std::slice::from_ref(&size) };
        for sparse in [false, true] {
            if sparse && !text.contains("absent") {
                continue;
            }
            let file = matrix_file("x", &data, sparse);
            let program = Ready::with_constants(&text, sizes, vec![file], vec![zero.clone()]);
            let settings = Settings { sweeps: Some(5), ..Settings::default() };
            let fit = fit(&program, settings).unwrap_or_else(|error| panic!("{error:?}"));
            let w = program.column(&fit.parameters, "w", 0);
            assert_eq!(w[2 * parts.max(1) as usize] == 0.0, stays, "{w:?}");
            let warned = fit.warnings.iter().any(|warning| warning.code == "W0803");
            assert_eq!(warned, stays, "{:?}", fit.warnings);
        }
    }
}

/// Identity 1's condition: proportions of a document without words are undefined; they keep their start, and it is said.
#[test]
fn proportions_without_data_keep_their_start_and_are_reported() {
    let mut data = counts(4, 5, 7);
    data[1].fill(0.0);
    let program = Ready::built_in("plsa", &[("topic", 2.0)], vec![matrix_file("x", &data, false)]);
    let from: Parameters = program.start(0);
    let fit = fit(&program, Settings { restarts: Some(1), ..Settings::default() })
        .unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(program.column(&fit.parameters, "h", 0)[2..4], program.column(&from, "h", 0)[2..4]);
    let warned = fit.warnings.iter().find(|warning| warning.code == "W0804");
    assert!(warned.is_some_and(|warning| warning.message.contains("`h`")), "{:?}", fit.warnings);
}

/// From a table in which all cells are missing, or which has only a header, nothing is learned, and the fit says so.
#[test]
fn data_without_an_observed_entry_are_reported() {
    let text = "axis row[n]\naxis column[j]\ndata x[n, j] : real, absent = NA\nmu[j] ~ Normal(0, sd = 1)\n\
                x[n, j] ~ Normal(mu[j], sd = 1)\n";
    let missing = |rows: usize| vec![vec![f64::NAN; 2]; rows];
    for (data, is_empty) in [(missing(3), true), (vec![vec![0.5, f64::NAN], vec![f64::NAN; 2]], false)] {
        let program = Ready::new(text, &[], vec![matrix_file("x", &data, false)]);
        let settings = Settings { sweeps: Some(3), ..Settings::default() };
        let fit = fit(&program, settings).unwrap_or_else(|error| panic!("{error:?}"));
        let warned = fit.warnings.iter().find(|warning| warning.code == "W0807");
        assert_eq!(warned.is_some_and(|own| own.message.contains("`x`")), is_empty, "{:?}", fit.warnings);
    }
}
