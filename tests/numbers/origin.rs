//! A shift of the data shifts the means of q by as much and changes nothing else, even if it is so large that the
//! squares of the data would keep no digit of their variance.

use cavi::{Control, Settings};
use cavi_tests::support::{Matrix, Ready, close, file_of, matrix_file};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// 2^30. Data are multiples of 2^-20, which is exact beside it.
const FAR: f64 = 1_073_741_824.0;

/// Name, program, the variables that move with the data, and how well all else agrees. `x` has two columns and 40 rows, `y` 40 numbers, `m0` moves,
/// `group` is one of three for each row, `v` two columns of covariates.
const PROGRAMS: &[(&str, &str, &[&str], f64)] = &[
    (
        "a mean and its precision",
        "m ~ Normal(m0, prec = 0.1 * t)\nt ~ Gamma(1, rate = 1)\ny[n] ~ Normal(m, prec = t)\nposterior { q(m, t) }\n",
        &["m"],
        1e-9,
    ),
    (
        "with missing entries, a mean for each column",
        "m[j] ~ Normal(m0, prec = 0.1 * t[j])\nt[j] ~ Gamma(1, rate = 1)\nholes[n, j] ~ Normal(m[j], prec = t[j])\nposterior { q(m, t) }\n",
        &["m"],
        1e-9,
    ),
    (
        "a mixture, Normal-Gamma",
        "pi[:k] ~ Dirichlet(1)\nz[n] ~ Categorical(pi)\nt[k, j] ~ Gamma(1, rate = 1)\nm[k, j] ~ Normal(m0, prec = 0.1 * t[k, j])\n\
         x[n, j] ~ Normal(m[z[n], j], prec = t[z[n], j])\nposterior { q(m, t) }\ninit { m = kmeans(x) }\n",
        &["m"],
        1e-9,
    ),
    (
        "a mixture, Normal-Wishart",
        "pi[:k] ~ Dirichlet(1)\nz[n] ~ Categorical(pi)\nL[k, :i, :j] ~ Wishart(4, [i == j])\n\
         m[k, :i] ~ MultivariateNormal(m0, prec = 0.1 * L[k])\nx[n, :i] ~ MultivariateNormal(m[z[n]], prec = L[z[n]])\n\
         posterior { q(m, L) }\ninit { m = kmeans(x) }\n",
        &["m"],
        1e-9,
    ),
    (
        "vectors of groups about a common one",
        "L[:i, :j] ~ Wishart(4, [i == j])\nm[:i] ~ MultivariateNormal(m0, prec = 0.1 * [i == j])\n\
         g[c, :i] ~ MultivariateNormal(m, prec = [i == j])\nx[n, :i] ~ MultivariateNormal(g[group[n]], prec = L)\n",
        &["m", "g"],
        1e-9,
    ),
    (
        "a point under a full matrix",
        "L[:i, :j] ~ Wishart(4, [i == j])\nm[:i] ~ MultivariateNormal(m0, prec = 0.1 * [i == j])\n\
         x[n, :i] ~ MultivariateNormal(m, prec = L)\nposterior { point m }\n",
        &["m"],
        1e-9,
    ),
    (
        "a regression with an intercept of its own",
        "b ~ Normal(m0, prec = 0.01)\nw[:p] ~ MultivariateNormal(0, prec = t * [p == r])\nt ~ Gamma(1, rate = 1)\n\
         y[n] ~ Normal(b + sum[p](v[n, p] * w[p]), prec = t)\nposterior { q(w, t) }\n",
        &["b"],
        1e-9,
    ),
    (
        "effects of groups beside an intercept",
        "g[c] ~ Normal(0, sd = 0.5)\nb ~ Normal(m0, prec = 0.01)\nt ~ Gamma(1, rate = 1)\n\
         y[n] ~ Normal(g[group[n]] + b, prec = t)\n",
        &["b"],
        1e-6,
    ),
    (
        "factors beside a mean for each column",
        "b[j] ~ Normal(m0, prec = 0.01)\nw[j, k] ~ Normal(0, sd = 1)\nz[n, k] ~ Normal(0, sd = 1)\nt[j] ~ Gamma(1, rate = 1)\n\
         x[n, j] ~ Normal(b[j] + sum[k](z[n, k] * w[j, k]), prec = t[j])\n",
        &["b"],
        1e-6,
    ),
    // `y - m0` is a difference of large numbers, as it is written.
    (
        "data that another statement reads",
        "m ~ Normal(m0, prec = 0.1 * t)\nt ~ Gamma(1, rate = 1)\na ~ Normal(0, sd = 1)\ny[n] ~ Normal(m, prec = t)\n\
         u[n] ~ Normal(a + y[n] - m0, prec = 4)\nposterior { q(m, t) }\n",
        &["m"],
        1e-7,
    ),
];

const DATA: &str =
    "axis row[n]\naxis column[i, j]\naxis class[k] = 2\naxis team[c] = 3\naxis covariate[p, r]\nconst m0\n";

/// The data, those that move at this distance from 0.
fn data(offset: f64) -> Vec<(&'static str, &'static str, Matrix)> {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut number = |from: f64, to: f64| (rng.random_range(from..to) * 1_048_576.0).round() / 1_048_576.0;
    let centre = |row: usize| if row.is_multiple_of(2) { -3.0 } else { 3.0 };
    let x: Matrix =
        (0..40).map(|row| (0..2).map(|_| offset + centre(row) + number(-1.0, 1.0)).collect()).collect();
    let mut holes = x.clone();
    (0..40).for_each(|row| holes[row][usize::from(row % 3 == 0)] = f64::NAN);
    (0..40).filter(|row| row % 3 == 2).for_each(|row| holes[row] = x[row].clone());
    let v: Matrix = (0..40).map(|_| (0..2).map(|_| number(-1.0, 1.0)).collect()).collect();
    let y: Matrix = v.iter().map(|v| vec![offset + 2.0 + v[0] - 0.5 * v[1] + number(-0.25, 0.25)]).collect();
    let u: Matrix = (0..40).map(|_| vec![number(-1.0, 1.0)]).collect();
    let group: Matrix = (0..40).map(|row| vec![f64::from(row % 3)]).collect();
    vec![
        ("x", "x[n, j] : real", x),
        ("holes", "holes[n, j] : real, absent = NA", holes),
        ("y", "y[n] : real", y),
        ("v", "v[n, p] : real", v),
        ("u", "u[n] : real", u),
        ("group", "group[n] : index team", group),
    ]
}

/// The program with those of the data and axes that it names.
fn ready(text: &str, offset: f64) -> Ready {
    let used: Vec<_> = data(offset)
        .into_iter()
        .filter(|(name, _, _)| {
            [format!("{name}["), format!("({name})")].iter().any(|own| text.contains(own.as_str()))
        })
        .collect();
    let declared: Vec<&str> = used.iter().map(|(_, declared, _)| *declared).collect();
    let text = format!("{DATA}data {}\n{text}", declared.join("\ndata "));
    let file = |(name, declared, values): &(&str, &str, Matrix)| {
        if declared.contains(", ") && !declared.starts_with("group") {
            return matrix_file(name, values, false);
        }
        let lines: Vec<String> = values.iter().map(|row| row[0].to_string()).collect();
        file_of(name, &format!("{name}.csv"), format!("{name}\n{}\n", lines.join("\n")).into_bytes())
    };
    Ready::new(&text, &[("m0", offset)], used.iter().map(file).collect())
}

#[test]
fn a_shift_moves_the_means_alone() {
    for (name, text, moving, tolerance) in PROGRAMS {
        let (near, far) = (ready(text, 0.0), ready(text, FAR));
        let settings =
            Settings { sweeps: Some(200), tolerance: Some(0.0), verify: true, ..Settings::default() };
        let fit = |ready: &Ready, settings: &Settings| {
            ready
                .problem()
                .fit(settings, &mut |_| Control::Continue)
                .unwrap_or_else(|error| panic!("{name}: {error:?}"))
        };
        let (here, there) = (fit(&near, &settings), fit(&far, &settings));
        let (elbo, shifted) = (here.run().elbo, there.run().elbo);
        assert!(close(elbo, shifted, 1.0, *tolerance), "{name}: {elbo} and {shifted}");
        let equations = near.equations();
        for (number, (own, other)) in here.parameters.blocks.iter().zip(&there.parameters.blocks).enumerate()
        {
            let block = &equations.blocks[number];
            let members: Vec<&str> =
                block.members.iter().map(|member| equations.symbols.array(*member).name.as_str()).collect();
            for (column, (own, other)) in own.iter().zip(other).enumerate() {
                // The first column is the mean, or the point.
                let by = if column == 0 && moving.contains(&members[0]) { FAR } else { 0.0 };
                // Beside 2^30 the last digit is 2^-22.
                let tolerance = if by == 0.0 { *tolerance } else { 1e-6 };
                for (own, other) in own.iter().zip(other) {
                    assert!(
                        close(*own, other - by, 1.0, tolerance),
                        "{name}, {members:?}, column {column}: {own} and {other}"
                    );
                }
            }
        }
        // What it found is a start.
        let blocks = there.parameters.blocks.iter().cloned().map(Some).collect();
        let given = Some(cavi::start::Given { blocks });
        let again = fit(&far, &Settings { sweeps: Some(0), given, ..settings.clone() });
        assert!(close(again.run().elbo, shifted, 1.0, 1e-9), "{name}: {} and {shifted}", again.run().elbo);
    }
}
