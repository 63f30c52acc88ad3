//! Letters of one axis that meet: sums that use a letter of the matrix, pairs of copies that may be one, axes in another order. The
//! answers are worked out by hand or by enumeration.

use cavi::means::mean;
use cavi_executor::{Bound, BoundArray, BoundAxis, Executor, Parameters, start};
use cavi_tests::support::{Program, bound_of, close, column, compile};

const TOLERANCE: f64 = 1e-10;

/// After so many sweeps: the bound, and the parameters.
fn fitted(
    text: &str,
    sizes: &[usize],
    data: &[(&str, &[f64])],
    sweeps: usize,
) -> (Program, Bound, f64, Parameters) {
    let program = compile("meeting", text).unwrap_or_else(|problem| panic!("{problem}"));
    let sizes: Vec<BoundAxis> = sizes.iter().map(|size| BoundAxis::plain(*size)).collect();
    let data: Vec<(&str, BoundArray)> =
        data.iter().map(|(name, values)| (*name, BoundArray::full(values.to_vec()))).collect();
    let bound = bound_of(&program, &sizes, &data);
    let (found, parameters) = {
        let from = start(&program.equations, &bound, 3);
        let mut run = Executor::new(&program.equations, &bound, from, 1)
            .unwrap_or_else(|unplanned| panic!("{}", unplanned.0));
        for _ in 0..sweeps {
            run.sweep(&program.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
        }
        (run.elbo(), run.parameters().clone())
    };
    (program, bound, found, parameters)
}

/// The mean of a variable, in the order of its letters.
fn mean_of(program: &Program, bound: &Bound, parameters: &Parameters, name: &str) -> Vec<f64> {
    let array = program.equations.symbols.find(name).expect("a variable");
    mean(&program.equations, bound, parameters, array).expect("a mean").values
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (own, known) in found.iter().zip(expected) {
        assert!(close(*own, *known, known.abs().max(1.0), TOLERANCE), "{found:?} and not {expected:?}");
    }
}

/// log N(x | 0, var)
fn log_normal(x: f64, var: f64) -> f64 {
    -0.5 * (2.0 * std::f64::consts::PI * var).ln() - 0.5 * x * x / var
}

#[test]
fn a_mean_may_sum_over_the_second_letter_of_the_matrix() {
    // x_0 = u_1 + noise and x_1 = noise, all of variance 1.
    for prec in ["1 * [i == l]", "S[i, l]"] {
        let text = format!(
            "axis dim[i, l] = 2\ndata b[i, l] : real\ndata x[i] : real\nconst S[i, l] : real\n\
             u[:i] ~ MultivariateNormal(0, prec = 1 * [i == l])\n\
             x[:i] ~ MultivariateNormal(sum[l](b[i, l] * u[l]), prec = {prec})\n"
        );
        let data: [(&str, &[f64]); 3] =
            [("b", &[0.0, 1.0, 0.0, 0.0]), ("x", &[1.0, 0.0]), ("S", &[1.0, 0.0, 0.0, 1.0])];
        let (program, _, found, parameters) = fitted(&text, &[2], &data, 1);
        assert_close(&[found], &[log_normal(1.0, 2.0) + log_normal(0.0, 1.0)]);
        assert_close(column(&program, &parameters, "u", 0), &[0.0, 0.5]);
        assert_close(column(&program, &parameters, "u", 1), &[1.0, 0.0, 0.0, 0.5]);
    }
}

#[test]
fn a_letter_that_is_summed_may_have_any_name() {
    let data: [(&str, &[f64]); 2] = [
        ("x", &[0.3, -1.0, 2.0, 0.5, -0.7, 1.1, 0.2, -0.4]),
        ("z", &[1.0, 0.4, -0.3, 2.0, 0.9, -1.2, 0.1, 0.8]),
    ];
    let bounds = ["l", "h"].map(|own| {
        let text = format!(
            "axis row[n]\naxis dim[i, l, h] = 2\ndata x[n, i] : real\ndata z[n, l] : real\n\
             b[i, l] ~ Normal(0, sd = 1)\nlam[:i, :l] ~ Wishart(3, scale = 1 * [i == l])\n\
             x[n, :i] ~ MultivariateNormal(sum[{own}](b[i, {own}] * z[n, {own}]), prec = lam)\n"
        );
        fitted(&text, &[4, 2], &data, 5).2
    });
    assert_close(&bounds[..1], &bounds[1..]);
}

#[test]
fn a_weight_of_pairs_weighs_pairs() {
    let text = "axis node[i, j]\ndata y[i, j] : real\ndata m[i, j] : multiplicity\nu[i] ~ Normal(0, sd = 1)\n\
                y[i, j] ~ Normal(u[i], sd = 1)\n";
    let data: [(&str, &[f64]); 2] = [("y", &[5.0, 1.0, 2.0, 7.0]), ("m", &[4.0, 1.0, 1.0, 4.0])];
    let (program, _, found, parameters) = fitted(text, &[2], &data, 1);
    // Of u[0]: a precision of 1 + 4 + 1, a sum of 4 * 5 + 1; of u[1] 1 + 1 + 4 and 2 + 4 * 7.
    assert_close(column(&program, &parameters, "u", 0), &[3.5, 5.0]);
    assert_close(column(&program, &parameters, "u", 1), &[1.0 / 6.0, 1.0 / 6.0]);
    // sum m y^2 - (sum m y)^2 / (1 + sum m), and a weight of 5 for each u.
    let squares = (101.0 - 21.0 * 21.0 / 6.0) + (200.0 - 30.0 * 30.0 / 6.0);
    let expected = -5.0 * (2.0 * std::f64::consts::PI).ln() - 6.0_f64.ln() - 0.5 * squares;
    assert_close(&[found], &[expected]);
}

#[test]
fn a_weight_of_pairs_of_which_some_are_0_leaves_a_distribution() {
    let text = "axis node[i, j]\ndata y[i, j] : real\ndata m[i, j] : multiplicity\nu[i] ~ Normal(0, sd = 1)\n\
                y[i, j] ~ Normal(u[i], sd = 1)\n";
    let data: [(&str, &[f64]); 2] = [("y", &[5.0, 1.0, 2.0, 7.0]), ("m", &[0.0, 1.0, 1.0, 0.0])];
    let (program, _, found, parameters) = fitted(text, &[2], &data, 1);
    assert_close(column(&program, &parameters, "u", 0), &[0.5, 1.0]);
    assert_close(&[found], &[log_normal(1.0, 2.0) + log_normal(2.0, 2.0)]);
}

/// `E (log p(y, s) - log q(s))` over all values of binary `s[i]` with the prior 0.3, where `y` has these means under unit noise.
fn enumerated(prob: &[f64], log_likelihood: impl Fn(&[f64]) -> f64) -> f64 {
    let log = |s: &[f64], of: &dyn Fn(usize) -> f64| -> f64 {
        (0..s.len()).map(|at| if s[at] == 1.0 { of(at).ln() } else { (1.0 - of(at)).ln() }).sum()
    };
    (0..1 << prob.len())
        .map(|state: usize| {
            let s: Vec<f64> = (0..prob.len()).map(|at| f64::from(u8::from(state >> at & 1 == 1))).collect();
            let log_q = log(&s, &|at| prob[at]);
            log_q.exp() * (log_likelihood(&s) + log(&s, &|_| 0.3) - log_q)
        })
        .sum()
}

#[test]
fn a_product_of_copies_beside_one_that_is_known_apart_has_the_right_spread() {
    let y = [0.0, 1.2, 0.7, 0.4, 0.0, 0.9, 1.1, 0.6, 0.0];
    type Mean = fn(&[f64], usize, usize) -> f64;
    let means: [(&str, Mean); 5] = [
        ("s[i] + s[j]", |s, i, j| s[i] + s[j]),
        ("s[i]^2 + s[j]", |s, i, j| s[i] + s[j]),
        ("2 * s[i]^3 + s[j]^2 * s[i]", |s, i, j| 2.0 * s[i] + s[j] * s[i]),
        ("s[i] * s[j] + s[j]^2 - s[i]", |s, i, j| s[i] * s[j] + s[j] - s[i]),
        ("sum[k](s[k] * s[i]) + s[j]", |s, i, j| s.iter().sum::<f64>() * s[i] + s[j]),
    ];
    for (written, mean) in means {
        let text = format!(
            "axis node[i, j, k]\ndata y[i, j] : real, i != j\ns[i] ~ Bernoulli(0.3)\ny[i, j] ~ Normal({written}, sd = 1)\n"
        );
        for sweeps in [1, 4] {
            let (program, _, found, parameters) = fitted(&text, &[3], &[("y", &y)], sweeps);
            let expected = enumerated(column(&program, &parameters, "s", 0), |s| {
                let pairs = (0..9).map(|at| (at / 3, at % 3)).filter(|(i, j)| i != j);
                pairs.map(|(i, j)| log_normal(y[3 * i + j] - mean(s, i, j), 1.0)).sum()
            });
            assert!(
                close(found, expected, expected.abs(), TOLERANCE),
                "{written}: {found} and not {expected}"
            );
        }
    }
}

#[test]
fn a_product_of_two_letters_beside_a_third_has_the_right_spread() {
    let text = "axis node[i, j, k]\ndata y[i, j, k] : real, i != j\ns[i] ~ Bernoulli(0.3)\n\
                y[i, j, k] ~ Normal(s[i] * s[k] + s[j], sd = 1)\n";
    let y: Vec<f64> = (0..27).map(|at| f64::from(at * 7 % 11) / 5.0 - 0.4).collect();
    for sweeps in [1, 4] {
        let (program, _, found, parameters) = fitted(text, &[3], &[("y", &y)], sweeps);
        let expected = enumerated(column(&program, &parameters, "s", 0), |s| {
            let all = (0..27).map(|at| (at / 9, at / 3 % 3, at % 3)).filter(|(i, j, _)| i != j);
            all.map(|(i, j, k)| log_normal(y[9 * i + 3 * j + k] - s[i] * s[k] - s[j], 1.0)).sum()
        });
        assert!(close(found, expected, expected.abs(), TOLERANCE), "{found} and not {expected}");
    }
}

#[test]
fn members_of_a_joint_factor_may_run_over_an_axis_in_another_order() {
    let text = "axis node[i, j]\ndata y[i, j] : real\na[i, j] ~ Normal(0, sd = 1)\nb[i, j] ~ Normal(0, sd = 1)\n\
                y[i, j] ~ Normal(a[i, j] + b[j, i], sd = 1)\nposterior {\n  q(a[i, j], b[j, i])\n}\n";
    let y = [3.0, 1.0, 0.0, 5.0];
    let (program, bound, found, parameters) = fitted(text, &[2], &[("y", &y)], 1);
    assert_close(&[found], &[y.iter().map(|own| log_normal(*own, 3.0)).sum()]);
    // Each takes a third of its entry.
    assert_close(&mean_of(&program, &bound, &parameters, "a"), &y.map(|own| own / 3.0));
    assert_close(&mean_of(&program, &bound, &parameters, "b"), &[1.0, 0.0, 1.0 / 3.0, 5.0 / 3.0]);
}

#[test]
fn the_size_of_a_group_is_counted_with_its_share() {
    // t is Poisson of w_a (1 + 1) + w_b for two items in a and one in b: no conjugate form, and never `t ~ Poisson(3)`.
    for sum in ["sum[g, u](w[g])", "sum[g, u](w[g] * lam[g, u])", "sum[g, u](w[g] * e[g, u])"] {
        let text = format!(
            "axis group[g]\naxis item[u] in group[g]\ndata y[g, u] : count\ndata e[g, u] : nonnegative\ndata t : count\n\
             w[:g] ~ Dirichlet(1)\nlam[g, u] ~ Gamma(2, rate = 1)\ny[g, u] ~ Poisson(lam[g, u])\nt ~ Poisson({sum})\n"
        );
        let problem = compile("meeting", &text).map(|_| ()).expect_err("a share times the size of its group");
        assert!(problem.contains("E0711") || problem.contains("E0701"), "{sum}\n{problem}");
    }
}
