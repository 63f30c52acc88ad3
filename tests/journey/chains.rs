//! Entries whose parameters are chosen by classes of classes, or by a class for each value of a summed letter: what is predicted is the
//! average over every configuration of the classes, which is worked out here by going through all of them.

use cavi::bind::{ArrayInput, Inputs};
use cavi_tests::support::{Matrix, file_of, matrix_file};

use super::heldout::{Run, close, inputs_of, run, share};

fn column(name: &str, values: &[f64]) -> ArrayInput {
    let text: String = values.iter().map(|own| format!("{own}\n")).collect();
    file_of(name, &format!("{name}.csv"), format!("{name}\n{text}").into_bytes())
}

/// The density of a Normal with variance 1.
fn density(x: f64, mean: f64) -> f64 {
    (-0.5 * (x - mean).powi(2)).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Calls `visit` with every configuration of `count` classes of so many kinds.
fn configurations(count: usize, kinds: usize, visit: &mut dyn FnMut(&[usize])) {
    for number in 0..kinds.pow(count as u32) {
        let mut rest = number;
        let own: Vec<usize> = (0..count)
            .map(|_| {
                let class = rest % kinds;
                rest /= kinds;
                class
            })
            .collect();
        visit(&own);
    }
}

/// The probability of a configuration under factors that are independent, `kinds` probabilities each.
fn probability(factors: &[f64], kinds: usize, classes: &[usize]) -> f64 {
    classes.iter().enumerate().map(|(place, class)| factors[place * kinds + class]).product()
}

fn spread(n: usize) -> Vec<f64> {
    (0..n).map(|at| ((at * 7919) % 13) as f64 / 2.0 - 3.0).collect()
}

const CHAIN: &str = "axis item[n]\naxis kind[k] = 3\naxis guild[c] = 2\naxis level[l] = 2\n\
    data x[n] : real, absent = NA\ndata y[n] : real\np[:k] ~ Dirichlet(1)\nr[:c] ~ Dirichlet(1)\ns[:l] ~ Dirichlet(1)\n\
    z[n] ~ Categorical(p)\ng[k] ~ Categorical(r)\nh[c] ~ Categorical(s)\nm[k] ~ Normal(0, sd = 2)\nmu[l] ~ Normal(0, sd = 3)\n\
    y[n] ~ Normal(m[z[n]], sd = 1)\nx[n] ~ Normal(mu[h[g[z[n]]]], sd = 1)\nposterior {\n  point m, mu\n}\n";

#[test]
fn classes_of_classes_are_averaged_over_all_of_them() {
    let y = spread(24);
    let x: Vec<f64> = y.iter().enumerate().map(|(at, own)| own / 2.0 + (at % 3) as f64).collect();
    let run = run(CHAIN, &inputs_of(vec![column("x", &x), column("y", &y)], &[]), &[share("x", 0.4)], 9, 1);
    let (z, g, h, mu) = (run.column("z", 0), run.column("g", 0), run.column("h", 0), run.column("mu", 0));
    let part = &run.held.parts[0];
    let mut expected = 0.0;
    for (entry, value) in part.values.iter().enumerate() {
        let n = part.coordinates[0][entry] as usize;
        let mut average = 0.0;
        configurations(3, 2, &mut |guilds| {
            configurations(2, 2, &mut |levels| {
                for kind in 0..3 {
                    let weight = z[3 * n + kind] * probability(g, 2, guilds) * probability(h, 2, levels);
                    average += weight * density(*value, mu[levels[guilds[kind]]]);
                }
            });
        });
        expected += average.ln();
    }
    assert!(part.values.len() > 4);
    let score = run.score();
    close(score.log_predictive, expected, 1e-11);
    assert_eq!(score.standard_error, None);
}

/// The classes of two items of one kind have one guild, and an item is of one kind.
const PAIRS: &str = "axis item[i, j]\naxis kind[k] = 3\naxis guild[c] = 2\ndata x[i] : real\ndata link[i, j] : real, absent = NA\n\
    p[:k] ~ Dirichlet(1)\nr[:c] ~ Dirichlet(1)\nz[i] ~ Categorical(p)\ng[k] ~ Categorical(r)\nm[k] ~ Normal(0, sd = 1)\n\
    mu[c] ~ Normal(0, sd = 3)\nnu[c] ~ Normal(0, sd = 3)\nx[i] ~ Normal(m[z[i]], sd = 1)\n\
    link[i, j] ~ Normal(mu[g[z[i]]] - nu[g[z[j]]], sd = 1)\nposterior {\n  point m, mu, nu\n}\n";

#[test]
fn one_class_that_is_reached_in_two_ways_counts_once() {
    let size = 7;
    let link: Matrix = spread(size * size).chunks(size).map(<[f64]>::to_vec).collect();
    let data = vec![column("x", &spread(size)), matrix_file("link", &link, false)];
    let run = run(PAIRS, &inputs_of(data, &[]), &[share("link", 0.6)], 9, 1);
    let (z, g, mu, nu) = (run.column("z", 0), run.column("g", 0), run.column("mu", 0), run.column("nu", 0));
    let part = &run.held.parts[0];
    let (mut expected, mut with_itself) = (0.0, 0);
    for (entry, value) in part.values.iter().enumerate() {
        let (i, j) = (part.coordinates[0][entry] as usize, part.coordinates[1][entry] as usize);
        with_itself += usize::from(i == j);
        let mut average = 0.0;
        configurations(3, 2, &mut |guilds| {
            configurations(2, 3, &mut |kinds| {
                let of_kinds = match i == j {
                    true if kinds[0] != kinds[1] => return,
                    true => z[3 * i + kinds[0]],
                    false => z[3 * i + kinds[0]] * z[3 * j + kinds[1]],
                };
                let mean = mu[guilds[kinds[0]]] - nu[guilds[kinds[1]]];
                average += of_kinds * probability(g, 2, guilds) * density(*value, mean);
            });
        });
        expected += average.ln();
    }
    assert!(with_itself > 0, "an item with itself is held out");
    close(run.score().log_predictive, expected, 1e-11);
}

/// A class at each of some stations, all of which an entry reads.
fn stations(count: usize) -> String {
    format!(
        "axis item[n]\naxis station[m] = {count}\naxis level[l] = 2\ndata x[n] : real, absent = NA\ndata y[n, m] : real\n\
         s[:l] ~ Dirichlet(1)\nat[n, m] ~ Categorical(s)\nmu[l] ~ Normal(0, sd = 2)\nu[l] ~ Normal(0, sd = 2)\n\
         y[n, m] ~ Normal(u[at[n, m]], sd = 1)\nx[n] ~ Normal(sum[m](mu[at[n, m]]), sd = 1)\nposterior {{\n  point mu, u\n}}\n"
    )
}

fn of_stations(count: usize) -> Inputs {
    let y: Matrix = spread(12 * count).chunks(count).map(<[f64]>::to_vec).collect();
    inputs_of(vec![column("x", &spread(12)), matrix_file("y", &y, false)], &[])
}

fn at_stations(count: usize) -> Run {
    run(&stations(count), &of_stations(count), &[share("x", 0.5)], 9, 1)
}

#[test]
fn a_class_for_each_value_of_a_summed_letter_is_averaged_over_all_configurations() {
    let run = at_stations(4);
    let (at, mu) = (run.column("at", 0), run.column("mu", 0));
    let part = &run.held.parts[0];
    let mut expected = 0.0;
    for (entry, value) in part.values.iter().enumerate() {
        let n = part.coordinates[0][entry] as usize;
        let mut average = 0.0;
        configurations(4, 2, &mut |levels| {
            let mean: f64 = levels.iter().map(|level| mu[*level]).sum();
            average += probability(&at[8 * n..8 * n + 8], 2, levels) * density(*value, mean);
        });
        expected += average.ln();
    }
    close(run.score().log_predictive, expected, 1e-11);
}

/// Sizes alone say it, before a fit.
#[test]
fn too_many_configurations_are_refused_in_words() {
    let (program, data) = (stations(15), of_stations(15));
    let (compiled, _) = cavi::session::open(&program, "stations.cavi", &data).expect("it compiles");
    let refused = compiled.bind_without(&data, &[share("x", 0.5)], Some(3)).expect_err("2^15 configurations");
    let text = refused.text(false);
    assert!(refused.code() == "E0902" && text.contains("selects under a summed letter"), "{text}");
}
