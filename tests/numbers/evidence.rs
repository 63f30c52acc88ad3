//! The bound is never above the log evidence. Tiny cases of every kind of model: discrete latents are enumerated and
//! the others integrated by the trapezoid rule, with densities that are written a second time (`support/density.rs`).
//!
//! Positive variables are integrated over their logarithm, probabilities over their log odds: the integrands are smooth and
//! fall to 0 at both ends, where the rule converges faster than any power of the step. Half of the points give the error.

use cavi_algebra::{ArrayId, ArrayKind, Support};
use cavi_executor::{Bound, BoundArray, BoundAxis, Executor, start};
use cavi_tests::support::{Program, World, bound_of, compile, log_joint};

/// A case: a program, the sizes of its axes, its data (NaN where missing), and where each of its latents is integrated.
struct Case<'a> {
    text: &'a str,
    sizes: &'a [usize],
    data: &'a [(&'a str, &'a [f64])],
    /// The range of each element of a latent, in the coordinate that runs over the whole line.
    over: &'a [(&'a str, f64, f64)],
    /// The number of points of each coordinate, odd.
    points: usize,
    /// Whether the bound is the evidence: one block, or blocks that are independent given the data.
    exact: bool,
}

/// A coordinate of the integral.
enum Coordinate {
    /// A value of an index or binary element.
    Discrete { array: ArrayId, place: usize, values: usize },
    /// A number on the line that gives an element, or the two elements of a slice on the simplex.
    Line { array: ArrayId, place: usize, low: f64, high: f64 },
}

/// Sums of exponentials, of all points and of every second one.
struct Total {
    largest: f64,
    all: f64,
    half: f64,
}

impl Total {
    fn add(&mut self, log: f64, in_half: bool) {
        if log > self.largest {
            let scale = (self.largest - log).exp();
            (self.all, self.half, self.largest) = (self.all * scale, self.half * scale, log);
        }
        let value = (log - self.largest).exp();
        self.all += value;
        if in_half {
            self.half += value;
        }
    }
}

fn bound(program: &Program, case: &Case) -> Bound {
    let axes: Vec<BoundAxis> = case.sizes.iter().map(|size| BoundAxis::plain(*size)).collect();
    let values: Vec<(&str, BoundArray)> = case
        .data
        .iter()
        .map(|(name, values)| {
            let seen: Vec<bool> = values.iter().map(|value| !value.is_nan()).collect();
            let filled = values.iter().map(|value| if value.is_nan() { 0.0 } else { *value }).collect();
            let observed = seen.contains(&false).then_some(seen);
            (*name, BoundArray::Dense { values: filled, observed })
        })
        .collect();
    bound_of(program, &axes, &values)
}

fn coordinates(program: &Program, bound: &Bound, case: &Case) -> Vec<Coordinate> {
    let symbols = &program.equations.symbols;
    let mut found = Vec::new();
    for (index, own) in symbols.arrays.iter().enumerate().filter(|(_, own)| own.kind == ArrayKind::Latent) {
        let array = ArrayId::from(index);
        let shape = bound.shape(symbols, array);
        let size: usize = shape.iter().product();
        let missing = |place: &usize| match &bound.arrays[index] {
            Some(BoundArray::Dense { observed, .. }) => observed.as_ref().is_some_and(|seen| !seen[*place]),
            _ => true,
        };
        let range = case.over.iter().find(|(name, _, _)| *name == own.name);
        for place in (0..size).filter(missing) {
            match own.support {
                Support::Index(axis) => {
                    found.push(Coordinate::Discrete { array, place, values: bound.axes[axis.index()].size });
                }
                Support::Binary => found.push(Coordinate::Discrete { array, place, values: 2 }),
                Support::Simplex if place % 2 == 1 => {}
                _ => {
                    let (_, low, high) = *range.unwrap_or_else(|| panic!("a range for `{}`", own.name));
                    found.push(Coordinate::Line { array, place, low, high });
                }
            }
        }
    }
    found
}

fn integrate(
    program: &Program,
    world: &mut World,
    coordinates: &[Coordinate],
    points: usize,
    log_weight: f64,
    in_half: bool,
    total: &mut Total,
) {
    let Some((first, rest)) = coordinates.split_first() else {
        total.add(log_joint(&program.model, world) + log_weight, in_half);
        return;
    };
    let set = |world: &mut World, array: ArrayId, place: usize, value: f64| {
        world.latents[array.index()].as_mut().expect("every latent has values")[place] = value;
    };
    match first {
        Coordinate::Discrete { array, place, values } => {
            for value in 0..*values {
                set(world, *array, *place, value as f64);
                integrate(program, world, rest, points, log_weight, in_half, total);
            }
        }
        Coordinate::Line { array, place, low, high } => {
            let step = (high - low) / (points - 1) as f64;
            let support = program.equations.symbols.array(*array).support;
            for point in 0..points {
                let u = low + step * point as f64;
                let odds = |u: f64| 1.0 / (1.0 + (-u).exp());
                let log_change = match support {
                    Support::Real => {
                        set(world, *array, *place, u);
                        0.0
                    }
                    Support::Unit | Support::Simplex => {
                        set(world, *array, *place, odds(u));
                        if support == Support::Simplex {
                            set(world, *array, *place + 1, odds(-u));
                        }
                        odds(u).ln() + odds(-u).ln()
                    }
                    _ => {
                        set(world, *array, *place, u.exp());
                        u
                    }
                };
                let own = log_weight + step.ln() + log_change;
                integrate(program, world, rest, points, own, in_half && point % 2 == 0, total);
            }
        }
    }
}

/// The log evidence, and how far half of the points are off.
fn evidence(program: &Program, bound: &Bound, case: &Case) -> (f64, f64) {
    let (symbols, model) = (&program.equations.symbols, &program.model.symbols);
    let coordinates = coordinates(program, bound, case);
    let lines = coordinates.iter().filter(|own| matches!(own, Coordinate::Line { .. })).count();
    let mut world = World::new(model, bound);
    world.latents = symbols
        .arrays
        .iter()
        .enumerate()
        .map(|(index, own)| {
            let size = bound.shape(symbols, ArrayId::from(index)).iter().product();
            let values = match &bound.arrays[index] {
                Some(BoundArray::Dense { values, .. }) => values.to_vec(),
                _ => vec![0.0; size],
            };
            (own.kind == ArrayKind::Latent).then_some(values)
        })
        .collect();
    let mut total = Total { largest: f64::NEG_INFINITY, all: 0.0, half: 0.0 };
    integrate(program, &mut world, &coordinates, case.points, 0.0, true, &mut total);
    let all = total.largest + total.all.ln();
    let half = total.largest + total.half.ln() + lines as f64 * 2.0_f64.ln();
    (all, (all - half).abs())
}

/// Fits from several starts; every bound on the way is at most the evidence.
fn check(case: &Case) {
    let program = compile("evidence", case.text).unwrap_or_else(|problem| panic!("{problem}"));
    let bound = bound(&program, case);
    let (evidence, error) = evidence(&program, &bound, case);
    let text = case.text;
    assert!(error < 0.03, "the integral {evidence} is off by {error}\n{text}");
    let mut best = f64::NEG_INFINITY;
    for seed in 0..3 {
        let from = start(&program.equations, &bound, seed);
        let mut executor =
            Executor::new(&program.equations, &bound, from, 1).unwrap_or_else(|own| panic!("{}", own.0));
        for _ in 0..60 {
            executor.sweep(&program.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
            let elbo = executor.elbo();
            assert!(elbo <= evidence + error + 1e-6, "the bound {elbo} is above {evidence}\n{text}");
            best = best.max(elbo);
        }
    }
    if std::env::var_os("CAVI_TRACE").is_some() {
        eprintln!("{best:>10.5} of {evidence:>10.5} +- {error:.0e}  {}", text.lines().last().unwrap_or(""));
    }
    let gap = evidence - best;
    assert!(!case.exact || gap <= error + 1e-6, "the bound {best} is not {evidence}\n{text}");
    // Further off than any mean field of so few variables is by itself.
    assert!(gap < 3.0, "the bound {best} is far below {evidence}\n{text}");
}

const NAN: f64 = f64::NAN;

#[test]
fn mixtures() {
    let z = "z[n] ~ Categorical(p)\n";
    let head = format!("axis item[n]\naxis class[c] = 2\naxis kind[v]\np[:c] ~ Dirichlet(1.3)\n{z}");
    let known =
        "axis item[n]\naxis class[c] = 2\naxis kind[i, j]\nconst half[c] = 0.5\nz[n] ~ Categorical(half)\n";
    check(&Case {
        text: &format!(
            "{known}data x[n] : real\ntau[c] ~ Gamma(4, rate = 4)\nm[c] ~ Normal(0, prec = tau[c])\n\
             x[n] ~ Normal(m[z[n]], prec = tau[z[n]])\nposterior {{\n  q(m[c], tau[c])\n}}\n"
        ),
        sizes: &[2, 2, 1],
        data: &[("half", &[0.5, 0.5]), ("x", &[-0.8, 1.4])],
        over: &[("m", -5.5, 5.5), ("tau", -3.5, 1.6)],
        points: 23,
        exact: false,
    });
    check(&Case {
        text: &format!(
            "{known}data x[n, i] : real\nlam[c, :i, :j] ~ Wishart(8, 0.125 * [i == j])\n\
             m[c, :i] ~ MultivariateNormal(0, prec = lam[c])\n\
             x[n, :i] ~ MultivariateNormal(m[z[n]], prec = lam[z[n]])\n\
             posterior {{\n  q(m[c, :i], lam[c, :i, :j])\n}}\n"
        ),
        sizes: &[2, 2, 1],
        data: &[("half", &[0.5, 0.5]), ("x", &[-0.8, 1.4])],
        over: &[("m", -5.5, 5.5), ("lam", -3.5, 1.6)],
        points: 23,
        exact: false,
    });
    check(&Case {
        text: &format!("{head}data x[n] : count\nr[c] ~ Gamma(1.2, rate = 0.6)\nx[n] ~ Poisson(r[z[n]])\n"),
        sizes: &[3, 2, 1],
        data: &[("x", &[0.0, 5.0, 1.0])],
        over: &[("r", -11.0, 4.0), ("p", -10.0, 10.0)],
        points: 49,
        exact: false,
    });
    check(&Case {
        text: &format!(
            "{head}data x[n, v] : count\nb[c, :v] ~ Dirichlet(0.8)\nx[n, :v] ~ Multinomial(p = b[z[n], v])\n"
        ),
        sizes: &[3, 2, 2],
        data: &[("x", &[3.0, 0.0, 1.0, 2.0, 0.0, 4.0])],
        over: &[("b", -18.0, 18.0), ("p", -12.0, 12.0)],
        points: 41,
        exact: false,
    });
    check(&Case {
        text: &format!("{head}data x[n] : binary\nb[c] ~ Beta(0.9, 1.4)\nx[n] ~ Bernoulli(b[z[n]])\n"),
        sizes: &[3, 2, 1],
        data: &[("x", &[1.0, 0.0, 1.0])],
        over: &[("b", -18.0, 14.0), ("p", -12.0, 12.0)],
        points: 41,
        exact: false,
    });
    check(&Case {
        text: &format!(
            "{known}data x[n, i] : count\nw[c, i] ~ Gamma(1.5, rate = 1)\nh ~ Gamma(1.5, rate = 1)\n\
             x[n, i] ~ Poisson(w[z[n], i] + h)\n"
        ),
        sizes: &[2, 2, 1],
        data: &[("half", &[0.5, 0.5]), ("x", &[1.0, 4.0])],
        over: &[("w", -9.0, 3.5), ("h", -9.0, 3.5)],
        points: 25,
        exact: false,
    });
}

#[test]
fn regressions() {
    let head = "axis item[n]\naxis cause[p]\ndata c[n, p] : real\n";
    let c: &[f64] = &[0.7, -1.1, 0.4];
    check(&Case {
        text: &format!(
            "{head}data y[n] : real\nw[p] ~ Normal(0, sd = 1.5)\ntau ~ Gamma(2, rate = 1)\n\
             y[n] ~ Normal(sum[p](c[n, p] * w[p]), prec = tau)\n"
        ),
        sizes: &[3, 1],
        data: &[("c", c), ("y", &[1.0, -0.6, 0.9])],
        over: &[("w", -9.0, 9.0), ("tau", -6.0, 3.5)],
        points: 61,
        exact: false,
    });
    check(&Case {
        text: &format!(
            "{head}data y[n] : real\nalpha[p] ~ Gamma(1.5, rate = 1)\nw[p] ~ Normal(0, prec = alpha[p])\n\
             tau ~ Gamma(2, rate = 1)\ny[n] ~ Normal(sum[p](c[n, p] * w[p]), prec = tau)\n"
        ),
        sizes: &[3, 1],
        data: &[("c", c), ("y", &[1.0, -0.6, 0.9])],
        over: &[("w", -12.0, 12.0), ("alpha", -9.0, 3.5), ("tau", -6.0, 3.5)],
        points: 51,
        exact: false,
    });
    check(&Case {
        text: &format!(
            "{head}data y[n] : binary\nw[p] ~ Normal(0, sd = 1.5)\nb ~ Normal(0, sd = 1)\n\
             y[n] ~ Bernoulli(logit = b + sum[p](c[n, p] * w[p]))\nposterior {{\n  q(w[:p], b)\n}}\n"
        ),
        sizes: &[3, 1],
        data: &[("c", c), ("y", &[1.0, 0.0, 1.0])],
        over: &[("w", -12.0, 12.0), ("b", -8.0, 8.0)],
        points: 101,
        exact: false,
    });
    // Errors of a Student t, as a scale mixture.
    check(&Case {
        text: &format!(
            "{head}data y[n] : real\nv[n] ~ Gamma(2, rate = 2)\nw[p] ~ Normal(0, sd = 1.5)\n\
             y[n] ~ Normal(sum[p](c[n, p] * w[p]), prec = v[n])\n"
        ),
        sizes: &[3, 1],
        data: &[("c", c), ("y", &[1.0, -0.6, 4.0])],
        over: &[("w", -7.0, 7.0), ("v", -7.0, 2.5)],
        points: 23,
        exact: false,
    });
    // A half-Cauchy scale, as a scale mixture of two inverse Gammas.
    check(&Case {
        text: "axis item[n]\ndata y[n] : real\nmix[n] ~ InverseGamma(0.5, 1)\nlocal[n] ~ InverseGamma(0.5, 1 / mix[n])\n\
               y[n] ~ Normal(0, var = local[n])\n",
        sizes: &[1],
        data: &[("y", &[1.7])],
        over: &[("local", -14.0, 30.0), ("mix", -16.0, 24.0)],
        points: 301,
        exact: false,
    });
    // A weight and its switch are joint: one cause is exact.
    check(&Case {
        text: &format!(
            "{head}data y[n] : real\ns[p] ~ Bernoulli(0.3)\nw[p] ~ Normal(0, sd = 1.5)\n\
             y[n] ~ Normal(sum[p](c[n, p] * s[p] * w[p]), prec = 1.3)\nposterior {{\n  q(s[p], w[p])\n}}\n"
        ),
        sizes: &[3, 1],
        data: &[("c", c), ("y", &[1.0, -0.6, 0.9])],
        over: &[("w", -12.0, 12.0)],
        points: 401,
        exact: true,
    });
    // All weights in one vector.
    check(&Case {
        text: &format!(
            "{head}data y[n] : real\nw[p] ~ Normal(0, sd = 1.5)\n\
             y[n] ~ Normal(sum[p](c[n, p] * w[p]), prec = 1.3)\nposterior {{\n  q(w[:p])\n}}\n"
        ),
        sizes: &[2, 2],
        data: &[("c", &[0.7, -1.1, 0.4, 0.9]), ("y", &[1.0, -0.6])],
        over: &[("w", -11.0, 11.0)],
        points: 201,
        exact: true,
    });
}

#[test]
fn hierarchies_and_factor_models() {
    // Two schools of the eight.
    check(&Case {
        text: "axis school[j]\ndata y[j] : real\ndata s[j] : positive\nm ~ Normal(0, sd = 2)\nt ~ Gamma(4, rate = 4)\n\
               theta[j] ~ Normal(m, prec = t)\ny[j] ~ Normal(theta[j], sd = s[j])\n",
        sizes: &[2],
        data: &[("y", &[2.8, 0.8]), ("s", &[1.5, 1.0])],
        over: &[("m", -6.0, 7.0), ("t", -3.5, 1.6), ("theta", -6.0, 7.0)],
        points: 23,
        exact: false,
    });
    let factors = "axis item[n]\naxis feature[j]\naxis factor[k] = 1\ndata x[n, j] : real, absent = NA\n\
                   z[n, k] ~ Normal(0, sd = 1)\nw[j, k] ~ Normal(0, sd = 1)\n";
    // Probabilistic principal components, with one noise; factor analysis, with one for each feature.
    for (psi, of, sizes, x) in [
        ("psi ~ Gamma(3, rate = 2)\n", "psi", [2, 1], [0.9, -1.2]),
        ("psi[j] ~ Gamma(3, rate = 2)\n", "psi[j]", [2, 1], [0.9, NAN]),
    ] {
        check(&Case {
            text: &format!("{factors}{psi}x[n, j] ~ Normal(sum[k](w[j, k] * z[n, k]), prec = {of})\n"),
            sizes: &[sizes[0], sizes[1], 1],
            data: &[("x", &x)],
            over: &[("z", -5.0, 5.0), ("w", -5.0, 5.0), ("psi", -4.0, 2.0)],
            points: 23,
            exact: false,
        });
    }
    // Views of different kinds share the score of an item.
    check(&Case {
        text: "axis item[n]\ndata x[n] : real\ndata y[n] : binary\nz[n] ~ Normal(0, sd = 1)\na ~ Normal(0, sd = 1)\n\
               b ~ Normal(0, sd = 1)\nx[n] ~ Normal(a * z[n], prec = 2)\ny[n] ~ Bernoulli(logit = b * z[n])\n",
        sizes: &[1],
        data: &[("x", &[1.1]), ("y", &[1.0])],
        over: &[("z", -6.5, 6.5), ("a", -6.5, 6.5), ("b", -6.5, 6.5)],
        points: 41,
        exact: false,
    });
    // Matrix factorisation of ratings.
    check(&Case {
        text: "axis user[u]\naxis film[i]\ndata r[u, i] : real, absent = NA\na[u] ~ Normal(0, sd = 1)\n\
               b[i] ~ Normal(0, sd = 1)\ntau ~ Gamma(3, rate = 2)\nr[u, i] ~ Normal(a[u] * b[i], prec = tau)\n",
        sizes: &[1, 2],
        data: &[("r", &[1.2, -0.4])],
        over: &[("a", -5.0, 5.0), ("b", -5.0, 5.0), ("tau", -4.0, 2.0)],
        points: 23,
        exact: false,
    });
    // Truncated factors under squared errors.
    check(&Case {
        text: "axis row[i]\naxis column[j]\ndata x[i, j] : real\nw[i] ~ Exponential(1)\nh[j] ~ HalfNormal(sd = 1)\n\
               x[i, j] ~ Normal(w[i] * h[j], prec = 2)\n",
        sizes: &[1, 2],
        data: &[("x", &[0.8, 1.3])],
        over: &[("w", -16.0, 3.5), ("h", -20.0, 2.0)],
        points: 61,
        exact: false,
    });
}

#[test]
fn counts() {
    // A sum of two products: the log-sum bound is not tight.
    check(&Case {
        text: "axis row[i]\naxis column[j]\naxis part[k] = 2\ndata y[i, j] : count\nw[i, k] ~ Gamma(1.5, rate = 1)\n\
               h[k, j] ~ Gamma(1.5, rate = 1)\ny[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))\n",
        sizes: &[1, 1, 2],
        data: &[("y", &[3.0])],
        over: &[("w", -7.0, 2.5), ("h", -7.0, 2.5)],
        points: 23,
        exact: false,
    });
    // A product of three, and a core between two.
    for rate in ["a[i] * b[j] * c[i, j]", "a[i] * c[i, j] * b[j] + 0.5"] {
        check(&Case {
            text: &format!(
                "axis row[i]\naxis column[j]\ndata y[i, j] : count\na[i] ~ Gamma(1.5, rate = 1)\n\
                 b[j] ~ Gamma(1.5, rate = 1)\nc[i, j] ~ Gamma(1.5, rate = 1)\ny[i, j] ~ Poisson({rate})\n"
            ),
            sizes: &[1, 1],
            data: &[("y", &[3.0])],
            over: &[("a", -9.0, 4.0), ("b", -9.0, 4.0), ("c", -9.0, 4.0)],
            points: 31,
            exact: false,
        });
    }
    // Links between the nodes of blocks.
    check(&Case {
        text: "axis node[i, o]\naxis block[a, b] = 2\ndata y[i, o] : binary, i < o\nconst half[a] = 0.5\nz[i] ~ Categorical(half)\n\
               r[a, b] ~ Beta(1.2, 1.5)\ny[i, o] ~ Bernoulli(r[z[i], z[o]])\n",
        sizes: &[3, 2],
        data: &[("half", &[0.5, 0.5]), ("y", &[0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])],
        over: &[("r", -8.0, 7.0)],
        points: 17,
        exact: false,
    });
    // Naive Bayes with a label missing.
    check(&Case {
        text: "axis item[n]\naxis class[c] = 2\ndata l[n] : index class, absent = NA\ndata x[n] : binary\n\
               p[:c] ~ Dirichlet(1.2)\nb[c] ~ Beta(1.2, 1.5)\nl[n] ~ Categorical(p)\nx[n] ~ Bernoulli(b[l[n]])\n",
        sizes: &[3, 2],
        data: &[("l", &[0.0, 1.0, NAN]), ("x", &[1.0, 0.0, 1.0])],
        over: &[("p", -12.0, 12.0), ("b", -14.0, 12.0)],
        points: 41,
        exact: false,
    });
    // A waiting time that was not recorded.
    check(&Case {
        text: "axis item[n]\ndata t[n] : positive, absent = NA\ndata y[n] : count\nb ~ Gamma(2, rate = 1)\nr ~ Gamma(2, rate = 1)\n\
               t[n] ~ Gamma(2, rate = b)\ny[n] ~ Poisson(r * t[n])\n",
        sizes: &[2],
        data: &[("t", &[1.3, NAN]), ("y", &[2.0, 1.0])],
        over: &[("b", -8.0, 3.5), ("r", -8.0, 3.5), ("t", -8.0, 5.5)],
        points: 41,
        exact: false,
    });
}

#[test]
fn selections_in_sums() {
    let known =
        "axis token[t]\naxis class[c] = 2\naxis text[d]\nconst half[c] = 0.5\nz[t] ~ Categorical(half)\n";
    // One token whose classes have known effects: one block.
    check(&Case {
        text: &format!("{known}const mu[c]\ndata y[d] : real\ny[d] ~ Normal(sum[t](mu[z[t]]), sd = 1)\n"),
        sizes: &[1, 2, 2],
        data: &[("half", &[0.5, 0.5]), ("mu", &[-0.4, 1.1]), ("y", &[0.3, 1.7])],
        over: &[],
        points: 3,
        exact: true,
    });
    // Several tokens, weighed by data, beside an intercept; then with log odds, where the bound is not tight.
    for likelihood in
        ["Normal(b + sum[t](x[d, t] * e[z[t]]), sd = 1)", "Bernoulli(logit = b + sum[t](x[d, t] * e[z[t]]))"]
    {
        let kind = if likelihood.starts_with('N') { "real" } else { "binary" };
        check(&Case {
            text: &format!(
                "{known}data x[d, t] : real\ndata y[d] : {kind}\nb ~ Normal(0, sd = 1)\ne[c] ~ Normal(0, sd = 1)\n\
                 y[d] ~ {likelihood}\n"
            ),
            sizes: &[3, 2, 2],
            data: &[("half", &[0.5, 0.5]), ("x", &[1.0, 0.5, -0.7, 0.2, 1.3, 0.4]), ("y", &[1.0, 0.0])],
            over: &[("b", -6.0, 6.0), ("e", -6.0, 6.0)],
            points: 25,
            exact: false,
        });
    }
    // A sum of products of selections, and of one with itself.
    check(&Case {
        text: &format!(
            "{known}data y[d] : real\ne[c] ~ Normal(0, sd = 1)\nu[c] ~ Normal(0, sd = 0.5)\n\
             y[d] ~ Normal(sum[t](e[z[t]] * u[z[t]] + e[z[t]]), sd = 1)\n"
        ),
        sizes: &[2, 2, 1],
        data: &[("half", &[0.5, 0.5]), ("y", &[1.4])],
        over: &[("e", -4.4, 4.4), ("u", -2.2, 2.2)],
        points: 25,
        exact: false,
    });
    // Nodes that are tied to themselves, by weights that are known.
    check(&Case {
        text: "axis node[i, o]\naxis block[a, b] = 2\ndata y[i, o] : real\nconst half[a] = 0.5\nconst m[a, b]\n\
               z[i] ~ Categorical(half)\ny[i, o] ~ Normal(m[z[i], z[o]], sd = 1)\n",
        sizes: &[2, 2],
        data: &[("half", &[0.5, 0.5]), ("m", &[0.2, -0.5, 1.0, 0.9]), ("y", &[0.4, -0.3, 1.2, 0.8])],
        over: &[],
        points: 3,
        exact: false,
    });
}
