//! Posteriors that were worked out by hand, of programs in which letters, restrictions, signs and powers meet: what the algebra may and may
//! not do with them.

use std::fs;

use crate::by_hand::{Case, check};
use crate::common::{cavi, scratch, text};

/// A name, declarations, a precision, the files that it reads, and the weights that it gives.
type Powers<'a> = (&'a str, &'a str, &'a str, &'a [usize], [f64; 3]);

/// `y[n] ~ Normal(b f[n], prec = w[n])`, `b ~ Normal(0, prec = prior)`: the mean of b and the log of the evidence.
///
/// With `L = prior + sum w f^2` and `h = sum w f y` the mean is `h / L`, and twice the log of the evidence is
/// `sum (ln w - ln(2 pi) - w y^2) + ln(prior / L) + h^2 / L`.
fn regression(f: &[f64], y: &[f64], w: &[f64], prior: f64) -> (f64, f64) {
    let of = |each: &dyn Fn(usize) -> f64| (0..y.len()).map(each).sum::<f64>();
    let l = prior + of(&|n| w[n] * f[n] * f[n]);
    let h = of(&|n| w[n] * f[n] * y[n]);
    let of_data = of(&|n| w[n].ln() - (2.0 * std::f64::consts::PI).ln() - w[n] * y[n] * y[n]);
    (h / l, 0.5 * (of_data + (prior / l).ln() + h * h / l))
}

/// A program with one latent under a regression; each file is of the name of its data or constant.
fn check_regression(name: &str, program: &str, files: &[(&str, &str)], latent: &str, right: (f64, f64)) {
    let given = files.iter().flat_map(|(file, _)| {
        let name = file.trim_end_matches(".csv");
        let option = if program.contains(&format!("const {name}[")) { "--set" } else { "--data" };
        [option.to_owned(), format!("{name}={file}")]
    });
    let data: Vec<String> = given.collect();
    let arguments: Vec<&str> = data.iter().map(String::as_str).collect();
    check(&Case {
        name,
        program,
        files,
        arguments: &arguments,
        found: &[(&format!("{latent}.mean"), &[right.0])],
        elbo: Some(right.1),
    });
}

const SCHOOLS: &[(&str, &str)] = &[
    ("h.csv", "school,pupil,h\nA,1,A\nA,2,B\nB,1,A\nB,2,A\nB,3,B\nC,1,B\n"),
    ("y.csv", "school,pupil,y\nA,1,2\nA,2,-1\nB,1,0.5\nB,2,1\nB,3,3\nC,1,-2\n"),
    ("x.csv", "school,pupil,x\nA,1,2\nA,2,-1\nB,1,0.5\nB,2,1\nB,3,3\nC,1,-2\n"),
    ("g.csv", "n,g\n1,A\n2,B\n3,B\n4,C\n"),
    ("t.csv", "n,t\n1,1\n2,-1\n3,2\n4,0.5\n"),
];

/// Pupils of a school who belong to another one as well. `sum_s [s = h] f(s) = f(h)` once left the pupils that run inside of s without their
/// school: the variances were .125, .111 and .5 all the same, the means .425, .65 and -1.325.
///
/// A linear model with the matrix `P[r] = e[s(r)] + e[h(r)]`: with `L = 1 + P'P` the means are `L^-1 P'y` and the variances `1 / L_ss`; the bound
/// lies `(sum ln L_ss - ln det L) / 2` below the evidence. Together, q is the posterior.
#[test]
fn an_index_takes_the_place_of_no_letter_that_others_run_inside_of() {
    let program = |blocks: &str| {
        format!(
            "axis school[s]\naxis pupil[p] in school[s]\ndata h[s, p] : index school\ndata y[s, p] : real\n\
             v[s] ~ Normal(0, sd = 1)\ny[s, p] ~ Normal(v[s] + v[h[s, p]], sd = 1)\n{blocks}"
        )
    };
    let means: &[f64] = &[0.368_644, 0.516_949, -1.258_475];
    let arguments = ["--data", "h=h.csv", "--data", "y=y.csv"];
    check(&Case {
        name: "two_schools",
        program: &program(""),
        files: SCHOOLS,
        arguments: &arguments,
        found: &[("v.mean", means), ("v.var", &[0.125, 1.0 / 9.0, 0.5])],
        elbo: Some(-14.372_479),
    });
    check(&Case {
        name: "two_schools_together",
        program: &program("posterior {\n  q(v[:s])\n}\n"),
        files: SCHOOLS,
        arguments: &arguments,
        found: &[("v.mean", means)],
        elbo: Some(-14.272_914),
    });
}

/// The same where no letter stands in the index: `P[n] = e[g(n)] + w` with `w_s = sum_p x_sp`.
#[test]
fn an_index_beside_a_sum_over_groups_keeps_the_letter_of_the_groups() {
    check(&Case {
        name: "sum_over_groups",
        program: "axis school[s]\naxis pupil[p] in school[s]\naxis obs[n]\ndata x[s, p] : real\n\
            data g[n] : index school\ndata t[n] : real\nv[s] ~ Normal(0, sd = 1)\n\
            t[n] ~ Normal(v[g[n]] + sum[s, p](v[s] * x[s, p]), sd = 1)\n",
        files: SCHOOLS,
        arguments: &["--data", "x=x.csv", "--data", "g=g.csv", "--data", "t=t.csv"],
        found: &[
            ("v.mean", &[0.247_364, 0.035_392, -0.072_666]),
            ("v.var", &[0.125, 1.0 / 102.0, 1.0 / 14.0]),
        ],
        elbo: Some(-10.659_331),
    });
}

const DISTANCES: &str = "site,1,2,3\n1,NA,1,2\n2,1,NA,0.5\n3,2,0.5,NA\n";
const THREE: &str = "y\n1\n2\n3\n";

/// What does not exist was read as 0 inside of functions, and counted as `exp(0) = 1` or as infinite.
#[test]
fn a_sum_runs_over_the_entries_that_exist() {
    let d = [[0.0, 1.0, 2.0], [1.0, 0.0, 0.5], [2.0, 0.5, 0.0]];
    let over = |f: &dyn Fn(f64) -> f64| -> Vec<f64> {
        (0..3).map(|i| (0..3).filter(|j| *j != i).map(|j| f(d[i][j])).sum()).collect()
    };
    let start = "axis site[i, j]\ndata d[i, j] : positive, i != j\ndata y[i] : real\nb ~ Normal(0, sd = 1)\n";
    let files = [("d.csv", DISTANCES), ("y.csv", THREE)];
    let (y, one) = ([1.0, 2.0, 3.0], [1.0; 3]);
    let right = |f: &dyn Fn(f64) -> f64| regression(&over(f), &y, &one, 1.0);
    for (name, body, right) in [
        ("exp", "exp(-d[i, j])", right(&|d| (-d).exp())),
        ("quotient", "1 / d[i, j]", right(&|d| 1.0 / d)),
        ("plus", "1 + d[i, j]", right(&|d| 1.0 + d)),
        ("as_it_is", "2 * d[i, j]", right(&|d| 2.0 * d)),
    ] {
        let program = format!("{start}y[i] ~ Normal(b * sum[j]({body}), sd = 1)\n");
        check_regression(&format!("exist_{name}"), &program, &files, "b", right);
        // As data, and by a name.
        let program = format!("{start}data s[i] = sum[j]({body})\ny[i] ~ Normal(b * s[i], sd = 1)\n");
        check_regression(&format!("exist_{name}_data"), &program, &files, "b", right);
        let program = format!("{start}F[i, j] = {body}\ny[i] ~ Normal(b * sum[j](F[i, j]), sd = 1)\n");
        check_regression(&format!("exist_{name}_named"), &program, &files, "b", right);
    }
    // The rate of `a[j]` is 1 more than the sum of `exp(-d[i, j])` over the other places.
    let counts = [("d.csv", DISTANCES), ("y.csv", THREE)];
    check(&Case {
        name: "gravity",
        program: "axis site[i, j]\ndata d[i, j] : positive, i != j\ndata y[i] : count\na[j] ~ Gamma(2, rate = 1)\n\
            y[i] ~ Poisson(sum[j](a[j] * exp(-d[i, j])))\n",
        files: &counts,
        arguments: &["--data", "d=d.csv", "--data", "y=y.csv"],
        found: &[("a.rate", &[1.503_215, 1.974_410, 1.741_866])],
        elbo: None,
    });
}

/// The log of an even power, and of a product of two numbers below 0, was split: NaN.
#[test]
fn logs_of_powers_and_products_of_either_sign() {
    let y = [1.0, 2.0, 3.0];
    let (x, w) = ([0.3_f64, 2.0, 0.5], [0.5_f64, 3.0, 0.2]);
    let files = [
        ("x.csv", "x\n0.3\n2\n0.5\n"),
        ("w.csv", "w\n0.5\n3\n0.2\n"),
        ("u.csv", "u\n0.3\n0.9\n0.2\n"),
        ("c.csv", "c\n-1\n2\n-0.5\n"),
        ("y.csv", THREE),
    ];
    let program = |declared: &str, precision: &str| {
        format!(
            "axis obs[n]\ndata y[n] : real\n{declared}\nm ~ Normal(0, sd = 10)\ny[n] ~ Normal(m, prec = {precision})\n"
        )
    };
    // Quantiles of the normal distribution at 0.3, 0.9 and 0.2, from a table.
    let quantile = [-0.524_400_512_708_041, 1.281_551_565_544_600_4, -0.841_621_233_572_914_3];
    let logs = |n: usize| x[n].ln() * x[n].ln();
    let products = |n: usize| x[n].ln() * w[n].ln();
    let cases: [Powers<'_>; 6] = [
        ("log", "data x[n] : positive", "log(x[n])^2", &[0], [0, 1, 2].map(logs)),
        (
            "logs",
            "data x[n] : positive\ndata w[n] : positive",
            "log(x[n]) * log(w[n])",
            &[0, 1],
            [0, 1, 2].map(products),
        ),
        ("quantile", "data u[n] : unit", "inv_Phi(u[n])^2", &[2], quantile.map(|own| own * own)),
        ("bracket", "data x[n] : positive", "(log(x[n]) + 1)^2", &[0], x.map(|own| (own.ln() + 1.0).powi(2))),
        ("constant", "const c[n]", "c[n]^2", &[3], [1.0, 4.0, 0.25]),
        ("worked_out", "const k = 2 - 4", "k^2", &[], [4.0; 3]),
    ];
    for (name, declared, precision, used, weights) in cases {
        let own: Vec<(&str, &str)> = used.iter().chain(&[4]).map(|place| files[*place]).collect();
        let right = regression(&[1.0; 3], &y, &weights, 0.01);
        check_regression(&format!("even_{name}"), &program(declared, precision), &own, "m", right);
    }
    // A Gamma whose rate is 1 + sum of the factor.
    let rate = 1.0 + (0..3).map(logs).sum::<f64>();
    check(&Case {
        name: "even_poisson",
        program: "axis obs[n]\ndata y[n] : count\ndata x[n] : positive\na ~ Gamma(2, rate = 1)\n\
            y[n] ~ Poisson(a * log(x[n])^2)\n",
        files: &[files[0], files[4]],
        arguments: &["--data", "x=x.csv", "--data", "y=y.csv"],
        found: &[("a.shape", &[8.0]), ("a.rate", &[rate])],
        elbo: None,
    });
}

/// A constant that is a negative number turns the sign: `-e u a` is `3 u a` for `e = -3`.
///
/// The fixed point of `shape = 2 + sum y phi`, `rate = 1 + sum f` with shares proportional to `f exp(psi(shape) - ln rate)`.
#[test]
fn a_negative_constant_turns_the_sign() {
    check(&Case {
        name: "negative_constant",
        program: "axis obs[n]\ndata u[n] : unit\ndata y[n] : count\nconst e = -3\na ~ Gamma(2, rate = 1)\n\
            b ~ Gamma(2, rate = 1)\ny[n] ~ Poisson(-e * u[n] * a + b)\n",
        files: &[("u.csv", "u\n0.5\n1\n0.25\n"), ("y.csv", "y\n3\n1\n4\n")],
        arguments: &["--data", "u=u.csv", "--data", "y=y.csv"],
        found: &[
            ("a.shape", &[4.364_117]),
            ("a.rate", &[6.25]),
            ("b.shape", &[7.635_883]),
            ("b.rate", &[4.0]),
        ],
        elbo: None,
    });
}

/// Powers of negative numbers whose exponent has a name, is large, or comes from a file.
#[test]
fn negative_numbers_have_whole_powers_whatever_writes_them() {
    let y = [1.0, 2.0, 3.0];
    let files = [("x.csv", "x\n-1\n2\n-0.5\n"), ("y.csv", THREE)];
    let program = |declared: &str, mean: &str| {
        format!(
            "axis obs[n]\ndata y[n] : real\ndata x[n] : real\n{declared}a ~ Normal(0, sd = 1)\ny[n] ~ Normal({mean}, sd = 1)\n"
        )
    };
    let by = |power: i32| regression(&[-1.0, 2.0, -0.5].map(|x: f64| x.powi(power)), &y, &[1.0; 3], 1.0);
    check_regression("power_named", &program("const c = 2\n", "a * x[n]^c"), &files, "a", by(2));
    check_regression("power_odd", &program("const c = 3\n", "a * x[n]^c"), &files, "a", by(3));
    check_regression("power_worked_out", &program("const c = 1 + 2\n", "a * x[n]^c"), &files, "a", by(3));
    let small = [("x.csv", "x\n-1\n1.01\n-0.99\n"), ("y.csv", THREE)];
    let large = regression(&[-1.0, 1.01_f64.powi(65), (-0.99_f64).powi(65)], &y, &[1.0; 3], 1.0);
    check_regression("power_large", &program("", "a * x[n]^65"), &small, "a", large);
    let exponents = [("x.csv", "x\n-1\n2\n-0.5\n"), ("e.csv", "e\n3\n2\n1\n"), ("y.csv", THREE)];
    let mixed = regression(&[-1.0, 4.0, -0.5], &y, &[1.0; 3], 1.0);
    check_regression("power_data", &program("data e[n] : count\n", "a * x[n]^e[n]"), &exponents, "a", mixed);
    let precision = "axis obs[n]\ndata y[n] : real\ndata x[n] : real\nconst c = 2\nm ~ Normal(0, sd = 10)\n\
        y[n] ~ Normal(m, prec = x[n]^c)\n";
    let right = regression(&[1.0; 3], &y, &[1.0, 4.0, 0.25], 0.01);
    check_regression("power_precision", precision, &files, "m", right);
}

/// The mode of `-a^2 / 2 - sum (y - a^p)^2 / 2` for `p = 2` and one y = 4, from a negative start: `a + 2 a (a^2 - 4) = 0`, so `a = -sqrt(3.5)`.
#[test]
fn a_point_below_0_has_whole_powers() {
    check(&Case {
        name: "point_power",
        program: "axis obs[n]\ndata y[n] : real\nconst p = 2\na ~ Normal(0, sd = 1)\ny[n] ~ Normal(a^p, sd = 1)\n\
            posterior {\n  point a\n}\ninit {\n  a = -2\n}\n",
        files: &[("y.csv", "y\n4\n")],
        arguments: &["--data", "y=y.csv"],
        found: &[("a.value", &[-1.870_829])],
        elbo: None,
    });
}

/// A summed letter that selects by index data.
///
/// With `X[n, g] = sum of x[n, p] over p of group g`, the fixed point of `shape_g = 2 + sum_n y_n phi_ng`, `rate_g = 1 + sum_n X_ng`, shares
/// proportional to `X_ng exp(psi(shape_g) - ln rate_g)`.
#[test]
fn a_summed_letter_may_select_by_index_data() {
    check(&Case {
        name: "selected",
        program: "axis grp[g]\naxis part[p]\naxis obs[n]\ndata k[p] : index grp\ndata x[n, p] : nonnegative\n\
            data y[n] : count\na[g] ~ Gamma(2, rate = 1)\ny[n] ~ Poisson(sum[p](x[n, p] * a[k[p]]))\n",
        files: &[
            ("k.csv", "k\n0\n1\n0\n"),
            ("x.csv", "1,2,0.5\n0.5,0,1\n2,1,1\n"),
            ("y.csv", "y\n3\n1\n4\n"),
        ],
        arguments: &["--data", "k=k.csv", "--data", "x=x.csv", "--data", "y=y.csv"],
        found: &[("a.shape", &[6.987_725, 5.012_275]), ("a.rate", &[7.0, 4.0])],
        elbo: None,
    });
}

/// The diagonal of `i != j` is no entry: that `k[i]` and `k[j]` are equal there says nothing. Its cells were looked at.
///
/// The fixed point of `shape_i = 2 + sum_j (y_ij + y_ji)`, `rate_i = 1 + 2 sum_(j != i) shape_j / rate_j`.
#[test]
fn index_data_may_agree_where_no_entry_is() {
    let program = "axis node[i, j]\naxis team[a]\ndata k[i] : index team\ndata y[i, j] : count, i != j\n\
        w[a] ~ Gamma(2, rate = 1)\ny[i, j] ~ Poisson(w[k[i]] * w[k[j]])\n";
    let found: &[(&str, &[f64])] =
        &[("w.shape", &[8.0, 9.0, 7.0]), ("w.rate", &[6.274_519, 5.623_874, 6.750_637])];
    check(&Case {
        name: "teams",
        program,
        files: &[("k.csv", "k\n0\n1\n2\n"), ("y.csv", "NA,1,2\n3,NA,1\n0,2,NA\n")],
        arguments: &["--data", "k=k.csv", "--data", "y=y.csv"],
        found,
        elbo: None,
    });
    let directory = scratch("by_hand_teams_equal");
    fs::write(directory.join("own.cavi"), program).unwrap();
    fs::write(directory.join("k.csv"), "k\n0\n1\n1\n").unwrap();
    fs::write(directory.join("y.csv"), "NA,1,2\n3,NA,1\n0,2,NA\n").unwrap();
    let output =
        cavi(&directory, &["fit", "own.cavi", "--data", "k=k.csv", "--data", "y=y.csv", "--out", "o"]);
    let told = text(&output.stderr);
    assert!(output.status.code() == Some(1) && told.contains("E0716"), "{told}");
}

/// Pages whose lines were false off a restriction, or were taken for false.
#[test]
fn pages_say_where_their_squares_hold() {
    let restricted = "axis node[i, j]\ndata y[i, j] : real, i != j\nb[i] ~ Normal(0, sd = 1)\nc[i] ~ Normal(0, sd = 1)\n\
        y[i, j] ~ Normal([i < j] * b[i] + b[j] * c[i], sd = 1)\n";
    let even = "axis obs[n]\ndata y[n] : real\ndata x[n] : real\nm ~ Normal(0, sd = 10)\n\
        y[n] ~ Normal(m, prec = x[n]^2)\n";
    let logs = "axis obs[n]\ndata y[n] : real\ndata x[n] : positive\nm ~ Normal(0, sd = 10)\n\
        y[n] ~ Normal(m, prec = log(x[n])^2)\n";
    let teams = "axis node[i, j]\naxis team[a]\ndata k[i] : index team\ndata y[i, j] : count, i != j\n\
        w[a] ~ Gamma(2, rate = 1)\ny[i, j] ~ Poisson(w[k[i]] * w[k[j]])\n";
    // Two elements of a joint Normal that meet once, in one order.
    let players = "axis player[i, j]\ndata x[i, j] : real, i < j\ns[i] ~ Normal(0, sd = 1)\n\
        x[i, j] ~ Normal(s[i] - s[j], sd = 1)\nposterior { q(s[:i]) }\n";
    let walk = "axis time[t]\ndata prev[t] : index time\ndata y[t] : real\nf[t] ~ Normal(0, sd = 1)\n\
        y[t] ~ Normal(f[t] - 0.8 * f[prev[t]], sd = 1)\nposterior { q(f[:t]) }\n";
    let programs = [
        ("restricted", restricted),
        ("even", even),
        ("logs", logs),
        ("teams", teams),
        ("players", players),
        ("walk", walk),
    ];
    for (name, program) in programs {
        let directory = scratch(&format!("pages_{name}"));
        fs::write(directory.join("own.cavi"), program).unwrap();
        let output = cavi(&directory, &["derive", "own.cavi", "--verify"]);
        let page = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
        assert!(!page.contains(" 0 of them were evaluated"), "{name}: {page}");
        if name == "restricted" {
            let line = page.lines().find(|line| line.contains("for i != j") && !line.contains("sum"));
            assert!(line.is_some(), "{page}");
        }
    }
}

/// A group without positions has no probabilities, and their sum is 0: with 1 in its place `lam` had the rate 3, not 2.
#[test]
fn a_group_without_positions_is_refused_where_its_probabilities_are_summed() {
    let directory = scratch("by_hand_no_position");
    let program = "axis view[m]\naxis feature[j] in view[m]\ndata x[m, j] : real, absent = NA\ndata t[m] : count\n\
        lam ~ Gamma(2, rate = 1)\nth[m, :j] ~ Dirichlet(1)\nmu ~ Normal(0, sd = 1)\nx[m, j] ~ Normal(mu, sd = 1)\n\
        t[m] ~ Poisson(lam * sum[j](th[m, j]))\n";
    fs::write(directory.join("own.cavi"), program).unwrap();
    fs::write(directory.join("t.csv"), "view,t\nA,4\nB,0\n").unwrap();
    let fit = |x: &str| {
        fs::write(directory.join("x.csv"), x).unwrap();
        cavi(
            &directory,
            &["fit", "own.cavi", "--data", "x=x.csv", "--data", "t=t.csv", "--out", "o", "--quiet"],
        )
    };
    let refused = fit("view,feature,x\nA,1,1\nA,2,3\n");
    let told = text(&refused.stderr);
    assert!(refused.status.code() == Some(1) && told.contains("E0717"), "{told}");
    assert_eq!(fit("view,feature,x\nA,1,1\nB,2,3\n").status.code(), Some(0));
    let rate = cavi_files::read_npy(&directory.join("o/posterior/lam.rate.npy")).unwrap().values;
    assert!((rate[0] - 3.0).abs() < 1e-12, "{rate:?}");
}

/// `log B(1, n + 1) = -log(n + 1)` is the bound of no success in n trials under a flat prior, for any n; a difference of log Gammas of 1e12
/// was off by 2e-3. The quantile is `1 - (1 - q)^(1 / (n + 1))`.
#[test]
fn a_beta_of_very_many_trials_keeps_its_digits() {
    check(&Case {
        name: "many_trials",
        program: "data y : count\ndata n : count\np ~ Beta(1, 1)\ny ~ Binomial(n, p)\n",
        files: &[("y.csv", "y\n0\n"), ("n.csv", "n\n1000000000000\n")],
        arguments: &["--data", "y=y.csv", "--data", "n=n.csv"],
        found: &[("p.b", &[1e12 + 1.0])],
        elbo: Some(-27.631_021_115_929_547),
    });
}
