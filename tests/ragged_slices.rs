//! Slices over a ragged axis: if all groups have the same size, the fit is that of slices over a plain axis.

use cavi_executor::{Bound, BoundArray, BoundAxis, Executor, Parameters, start};
use cavi_tests::support::{Program, bound_of, close, column, compile};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const TOLERANCE: f64 = 1e-12;

const DOCS: usize = 14;
const LANGUAGES: usize = 3;
const WORDS: usize = 5;
const TOPICS: usize = 4;

/// Statements about `theta` over documents and topics and `beta` over languages, topics and words.
const PROGRAMS: [(&str, &str); 4] = [
    (
        "topics",
        "theta[d, :k] ~ Dirichlet(0.2)\nbeta[m, k, :v] ~ Dirichlet(0.3)\n\
         n[d, m, :v] ~ Multinomial(p = sum[k](theta[d, k] * beta[m, k, v]))\n",
    ),
    (
        "rates",
        "eta[m] ~ Gamma(2, rate = 1)\ntheta[d, k] ~ Gamma(0.4, rate = 1)\nbeta[m, k, :v] ~ Dirichlet(eta[m])\n\
         n[d, m, v] ~ Poisson(sum[k](theta[d, k] * beta[m, k, v]))\nposterior {\n  point eta\n}\n",
    ),
    (
        "points",
        "theta[d, :k] ~ Flat(simplex)\nbeta[m, k, :v] ~ Flat(simplex)\n\
         n[d, m, :v] ~ Multinomial(p = sum[k](theta[d, k] * beta[m, k, v]))\n\
         posterior {\n  point theta\n  point beta\n}\n",
    ),
    (
        "weights",
        "data alike[m] : multiplicity\ntheta[d, :k] ~ Dirichlet(0.2)\nbeta[m, k, :v] ~ Dirichlet(0.3)\n\
         n[d, m, :v] ~ Multinomial(p = sum[k](theta[d, k] * beta[m, k, v]))\n",
    ),
];

fn program(name: &str, statements: &str, words: &str) -> Program {
    let text = format!(
        "axis doc[d]\naxis lang[m]\naxis word[v]{words}\naxis topic[k]\ndata n[d, m, v] : count\n{statements}"
    );
    compile(name, &text).unwrap_or_else(|problem| panic!("{problem}"))
}

fn bound(program: &Program, words: BoundAxis, n: &[f64]) -> Bound {
    let axes = [BoundAxis::plain(DOCS), BoundAxis::plain(LANGUAGES), words, BoundAxis::plain(TOPICS)];
    let mut data = vec![("n", BoundArray::full(n.to_vec()))];
    if program.model.symbols.find("alike").is_some() {
        data.push(("alike", BoundArray::full(vec![2.0, 0.0, 1.0])));
    }
    bound_of(program, &axes, &data)
}

/// From languages by topics by words to topics by the words of all languages.
fn turned(values: &[f64]) -> Vec<f64> {
    let place = |k: usize, m: usize, v: usize| (m * TOPICS + k) * WORDS + v;
    let words = (0..LANGUAGES).flat_map(|m| (0..WORDS).map(move |v| (m, v)));
    (0..TOPICS).flat_map(|k| words.clone().map(move |(m, v)| values[place(k, m, v)])).collect()
}

#[test]
fn groups_of_one_length_are_a_plain_axis() {
    for (name, statements) in PROGRAMS {
        let plain = program(name, statements, "");
        let ragged = program(name, statements, " in lang[m]");
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let n: Vec<f64> =
            (0..DOCS * LANGUAGES * WORDS).map(|_| f64::from(rng.random_range(0..6_u32))).collect();
        let plain_bound = bound(&plain, BoundAxis::plain(WORDS), &n);
        let ragged_bound = bound(&ragged, BoundAxis::ragged(&[WORDS; LANGUAGES]), &n);
        let from = start(&plain.equations, &plain_bound, 4);
        // The blocks are the same ones, and all but `beta` are laid out alike.
        let beta = plain.model.symbols.find("beta").expect("a variable");
        let place = plain.equations.block_of(beta).expect("its block").index();
        let mut blocks = from.blocks.clone();
        blocks[place].iter_mut().for_each(|column| *column = turned(column));
        let mut left = Executor::new(&plain.equations, &plain_bound, from, 1)
            .unwrap_or_else(|unplanned| panic!("{}", unplanned.0));
        let mut right = Executor::new(&ragged.equations, &ragged_bound, Parameters { blocks }, 2)
            .unwrap_or_else(|unplanned| panic!("{}", unplanned.0));
        for sweep in 0..12 {
            if sweep > 0 {
                left.sweep(&plain.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
                right.sweep(&ragged.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
            }
            let alike = |found: &[f64], expected: &[f64], what: &str| {
                for (found, expected) in found.iter().zip(expected) {
                    let near = close(*found, *expected, expected.abs().max(1.0), TOLERANCE);
                    assert!(near, "{name}, sweep {sweep}, {what}: {found} and not {expected}");
                }
            };
            alike(&[right.elbo()], &[left.elbo()], "the bound");
            alike(
                column(&ragged, right.parameters(), "theta", 0),
                column(&plain, left.parameters(), "theta", 0),
                "theta",
            );
            let expected = turned(column(&plain, left.parameters(), "beta", 0));
            alike(column(&ragged, right.parameters(), "beta", 0), &expected, "beta");
        }
    }
}
