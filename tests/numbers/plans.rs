//! Which plan is made for which data, and that its results are those of the interpreter.
//!
//! The plans of some programs are held as snapshots. To accept a change, read it and run
//! `INSTA_UPDATE=always cargo test -p cavi-tests --test plans`.

use cavi_algebra::AxisId;
use cavi_executor::plan::tensor::{Along, Contraction, Elementwise, Node, NodeId, Operation};
use cavi_executor::plan::{plan, verify};
use cavi_executor::{Bound, BoundArray, BoundAxis, Executor, Parameters, Plan, Precision, start};
use cavi_tests::support::{Program, Shape, bound_of, compile, programs, random_bound, runs_agree};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// A program with data of these sizes, and its start.
fn bound(text: &str, sizes: &[usize], data: &[(&str, BoundArray)]) -> (Program, Bound, Parameters) {
    let program = compile("planned", text).unwrap_or_else(|problem| panic!("{problem}"));
    let sizes: Vec<BoundAxis> = sizes.iter().map(|size| BoundAxis::plain(*size)).collect();
    let bound = bound_of(&program, &sizes, data);
    let from = start(&program.equations, &bound, 1);
    (program, bound, from)
}

fn executor<'a>((program, bound, from): &'a (Program, Bound, Parameters)) -> Executor<'a> {
    Executor::new(&program.equations, bound, from.clone(), 1)
        .unwrap_or_else(|unplanned| panic!("{}", unplanned.0))
}

/// The plan of a program for data of these sizes has each of the texts, and its sweeps are those of the interpreter.
fn check(text: &str, sizes: &[usize], data: &[(&str, BoundArray)], expected: &[&str]) -> String {
    let ready = bound(text, sizes, data);
    let plan = executor(&ready).plan_text();
    for expected in expected {
        assert!(plan.contains(expected), "no `{expected}` in\n{plan}");
    }
    let (program, bound, from) = ready;
    if let Err(problem) = runs_agree(&program, &bound, &program.schedule(), &from, 3, 1e-12) {
        panic!("{problem}\n{plan}");
    }
    plan
}

fn counts(size: usize) -> Vec<f64> {
    (0..size).map(|place| (place * 7919 % 23 % 5) as f64).collect()
}

/// The places of which `keeps` is true, as a list.
fn listed(rows: usize, columns: usize, keeps: impl Fn(usize) -> bool) -> BoundArray {
    let places: Vec<usize> = (0..rows * columns).filter(|place| keeps(*place)).collect();
    let column = |number: fn(usize, usize) -> usize| {
        places.iter().map(|place| number(*place, columns) as u32).collect::<Vec<u32>>()
    };
    BoundArray::Sparse {
        indices: vec![
            column(|place, columns| place / columns).into(),
            column(|place, columns| place % columns).into(),
        ],
        values: places.iter().map(|place| 1.0 + (place % 4) as f64).collect(),
        observed: None,
        unlisted_zero: true,
    }
}

const PRODUCTS: &str = "matrix products and quotients, block by block";

/// Two factors of `x`, and a rate.
fn factors(rate: &str) -> String {
    format!(
        "axis row[i]\naxis column[j]\naxis part[k]\ndata x[i, j] : count, absent = 0\n\
         w[i, k] ~ Gamma(0.7, rate = 1)\nh[k, j] ~ Gamma(0.6, rate = 2)\nb[i] ~ Gamma(2, rate = 3)\n\
         x[i, j] ~ Poisson({rate})\n"
    )
}

#[test]
fn entries_that_fill_their_rows_and_columns_run_as_products() {
    let (rows, columns, parts) = (70, 130, 9);
    let sizes = [rows, columns, parts];
    let full = || BoundArray::full(counts(rows * columns));
    let plain = "sum[k](w[i, k] * h[k, j])";
    check(&factors(plain), &sizes, &[("x", full())], &[PRODUCTS, "100 % of the places filled"]);
    // The factor of the columns first: the rows come first all the same.
    let turned = "b[i] * sum[k](h[k, j] * w[i, k])";
    check(&factors(turned), &sizes, &[("x", full())], &[PRODUCTS]);
    let most = || listed(rows, columns, |place| place * 31 % 10 < 7 || place / columns == 4);
    check(&factors(plain), &sizes, &[("x", most())], &[PRODUCTS, "70 % of the places filled"]);
    let with_background = "0.1 * b[i] + sum[k](w[i, k] * h[k, j])";
    for data in [full(), most()] {
        check(&factors(with_background), &sizes, &[("x", data)], &[PRODUCTS]);
    }
}

#[test]
fn few_entries_run_one_by_one() {
    let (rows, columns) = (70, 130);
    let few = listed(rows, columns, |place| place * 31 % 10 < 2);
    let text = factors("sum[k](w[i, k] * h[k, j])");
    let plan = check(
        &text,
        &[rows, columns, 3],
        &[("x", few)],
        &["fused sampled contraction", "% of the places filled"],
    );
    assert!(!plan.contains(PRODUCTS), "{plan}");
}

/// Rows that are gathered often are padded to whole lines: as values and as exponentials, arranged anew for it or for the
/// other order of letters, and where entries are treated in log space.
#[test]
fn rows_that_are_gathered_often_are_padded() {
    let (rows, columns, parts) = (70, 60, 11);
    let some = || listed(rows, columns, |place| place * 7919 % 1009 % 10 < 4);
    let profile = |place: usize| if place % columns % 20 < 2 { 1e-280 } else { 0.5 + (place % 7) as f64 };
    let profiles = BoundArray::full((0..parts * columns).map(profile).collect());
    let axes = "axis row[i]\naxis column[j]\naxis part[k]\ndata x[i, j] : count, absent = 0\n";
    let gamma = |name: &str| format!("{name} ~ Gamma(0.7, rate = 1)\n");
    let point = |name: &str| format!("{name} ~ Flat(nonnegative)\n");
    for statement in [&gamma, &point] as [&dyn Fn(&str) -> String; 2] {
        for own in ["h[k, j]", "h[j, k]"] {
            for (given, data) in [("", vec![]), ("data f[k, j] : positive\n", vec![("f", profiles.clone())])]
            {
                let product = if data.is_empty() { "" } else { " * f[k, j]" };
                let posterior = match statement("w").contains("Flat") {
                    true => format!("posterior {{\n  point w[i, k]\n  point {own}\n}}\n"),
                    false => String::new(),
                };
                let text = format!(
                    "{axes}{given}{}{}x[i, j] ~ Poisson(sum[k](w[i, k] * {own}{product}))\n{posterior}",
                    statement("w[i, k]"),
                    statement(own)
                );
                let data = [vec![("x", some())], data].concat();
                check(&text, &[rows, columns, parts], &data, &["60 x 11 in rows of 16"]);
            }
        }
    }
}

#[test]
fn entries_out_of_order_are_put_in_order() {
    let (rows, columns) = (40, 50);
    let text = "axis row[i]\naxis time[t]\naxis column[j]\naxis part[k]\ndata x[t, i, j] : count\n\
                w[i, k] ~ Gamma(0.7, rate = 1)\nh[t, j, k] ~ Gamma(0.6, rate = 2)\n\
                x[t, i, j] ~ Poisson(sum[k](w[i, k] * h[t, j, k]))\n";
    let data = BoundArray::full(counts(3 * rows * columns));
    check(text, &[rows, 3, columns, 4], &[("x", data)], &[PRODUCTS]);
}

/// Mean and covariance are put together before the mask is summed over them, one of each two equal elements alone; and the
/// sum runs over the ones, or is all less the zeros, where these are few.
#[test]
fn masked_second_moments_are_one_sum() {
    let (rows, columns, parts) = (40, 50, 5);
    let text = "axis row[n]\naxis column[j]\naxis part[k]\ndata x[n, j] : real, absent = NA\n\
                z[n, k] ~ Normal(0, sd = 1)\nw[j, k] ~ Normal(0, sd = 1)\ntau ~ Gamma(1, rate = 1)\n\
                x[n, j] ~ Normal(sum[k](w[j, k] * z[n, k]), prec = tau)\n\
                posterior {\n  q(z[n, :k])\n  q(w[j, :k])\n}\n";
    let pairs = parts * (parts + 1) / 2;
    let products = format!("{:.1} kflops", (pairs * rows * columns * 2) as f64 / 1e3);
    let is_seen: [fn(usize) -> bool; 3] = [
        |place| place % 7 != 3,
        |place| place % 9 == 3 || place / 50 % 8 == 1,
        |place| place * 31 % 100 < 50,
    ];
    for (number, is_seen) in is_seen.into_iter().enumerate() {
        let values: Vec<f64> = counts(rows * columns).iter().map(|count| count - 2.0).collect();
        let observed: Vec<bool> = (0..values.len()).map(is_seen).collect();
        let values = values.iter().zip(&observed).map(|(value, seen)| if *seen { *value } else { 0.0 });
        let data = BoundArray::Dense { values: values.collect(), observed: Some(observed.clone()) };
        let plan = check(text, &[rows, columns, parts], &[("x", data)], &["pairs of the symmetric step"]);
        let of_pairs = |line: &&str| line.contains(&format!(" x {pairs} "));
        let sums = |line: &&str| of_pairs(line) && line.contains("places visited");
        let large = |line: &&str| line.contains("dense contraction of steps") && line.contains(&products);
        // For z, for w, and of the covariances of one of them for tau.
        let expected = if number < 2 { [3, 0] } else { [0, 3] };
        assert_eq!(
            [plan.lines().filter(sums).count(), plan.lines().filter(large).count()],
            expected,
            "{plan}"
        );
    }
}

/// Squares of many entries, some of them missing, are opened where the Gram matrices of what is observed are there anyway:
/// precisions are made of them if the factors have one q over what is summed. No array of residuals is left then.
#[test]
fn squares_of_masked_entries_are_opened_for_joint_factors() {
    let (rows, columns, parts) = (400, 340, 3);
    let values: Vec<f64> = counts(rows * columns).iter().map(|count| count - 2.0).collect();
    let observed: Vec<bool> = (0..values.len()).map(|place| place % 7 != 3).collect();
    let residuals = |posterior: &str, offset: f64| {
        let text = format!(
            "axis row[n]\naxis column[j]\naxis part[k]\ndata x[n, j] : real, absent = NA\n\
             z[n, k] ~ Normal(0, sd = 1)\nw[j, k] ~ Normal(0, sd = 1)\ntau ~ Gamma(1, rate = 1)\n\
             x[n, j] ~ Normal(sum[k](w[j, k] * z[n, k]), prec = tau)\nposterior {{\n{posterior}}}\n"
        );
        let values = values.iter().map(|value| value + offset).collect();
        let data = BoundArray::Dense { values, observed: Some(observed.clone()) };
        let plan = executor(&bound(&text, &[rows, columns, parts], &[("x", data)])).plan_text();
        let is_residual = |line: &&str| {
            line.contains(&format!(" {rows} x {columns} "))
                && line.contains("reduction of steps")
                && line.contains("dense contraction of steps")
        };
        plan.lines().filter(is_residual).count()
    };
    let joint = "  q(z[n, :k])\n  q(w[j, :k])\n";
    assert_eq!(residuals(joint, 0.0), 0);
    assert!(residuals("  q(w[j, :k])\n", 0.0) > 0);
    // Far from 0 the sums lose digits in their difference.
    assert!(residuals(joint, 20.0) > 0);
}

/// The sum over the data that the update and the bound have in common is taken once.
#[test]
fn a_sum_of_the_update_and_the_bound_is_taken_once() {
    let (rows, columns, clusters) = (60, 3, 4);
    let text = "axis row[n]\naxis column[i, j]\naxis cluster[k]\ndata x[n, i] : real\ndata m0[i] : real\n\
                data V[i, j] : real\npi[:k] ~ Dirichlet(0.5)\nz[n] ~ Categorical(pi)\n\
                lam[k, :i, :j] ~ Wishart(5, V)\nmu[k, :i] ~ MultivariateNormal(m0[i], prec = lam[k])\n\
                x[n, :i] ~ MultivariateNormal(mu[z[n]], prec = lam[z[n]])\n\
                posterior {\n  q(mu[k, :i], lam[k, :i, :j])\n}\n";
    let values = counts(rows * columns).into_iter().enumerate();
    let values = values.map(|(place, own)| own + 0.1 * (place % 3) as f64);
    let scale = (0..columns * columns).map(|place| if place % (columns + 1) == 0 { 0.1 } else { 0.0 });
    let inverse = scale.clone().map(|value| 100.0 * value);
    let data = [
        ("x", values.collect()),
        ("m0", vec![0.0; columns]),
        ("V", scale.collect()),
        ("inverse(V)", inverse.collect::<Vec<f64>>()),
    ];
    let data = data.map(|(name, values)| (name, BoundArray::full(values)));
    let plan = check(text, &[rows, columns, clusters], &data, &[]);
    let shape = format!("{clusters} x {columns} x {columns} ");
    let over_data = |line: &&str| line.contains(&shape) && line.contains("product of steps");
    assert_eq!(plan.lines().filter(over_data).count(), 1, "{plan}");
}

/// What is added to each row of log weights alike is added up first.
#[test]
fn what_rows_have_in_common_is_added_up_first() {
    let (rows, clusters) = (1500, 4);
    let text = "axis row[n]\naxis cluster[k]\ndata x[n] : real\npi[:k] ~ Dirichlet(0.5)\nz[n] ~ Categorical(pi)\n\
                tau[k] ~ Gamma(2, rate = 1)\nmu[k] ~ Normal(0, sd = 3)\nx[n] ~ Normal(mu[z[n]], prec = tau[z[n]])\n";
    let values = counts(rows).into_iter().enumerate().map(|(place, own)| own + 0.1 * (place % 3) as f64);
    let plan = check(text, &[rows, clusters], &[("x", BoundArray::full(values.collect()))], &[]);
    // The log weights consist of what depends on the data, and one sum of all that does not.
    let weights =
        |line: &&str| line.contains(&format!(" {rows} x {clusters} ")) && line.contains("product of");
    let lines: Vec<&str> = plan.lines().filter(weights).collect();
    assert!(!lines.is_empty(), "{plan}");
    for line in lines {
        assert_eq!(line.matches("reduction of steps").count() + line.matches("fill").count(), 1, "{plan}");
    }
}

/// Programs whose plans for a handful of entries are held: passes over listed and dense entries, masks, mixtures, index data,
/// ragged axes, copies that move one after another, points that climb.
const HELD: [&str; 13] = [
    "gfa_masked",
    "gp_counts",
    "hpf",
    "lda",
    "lda_tokens",
    "mixture_normal",
    "mixture_normal_wishart",
    "network_directed",
    "nmf_background",
    "poisson_by_index",
    "ragged_regression",
    "regression_factorised",
    "shared_ridge",
];

fn hold(name: &str, shown: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots/plans");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, shown));
}

#[test]
fn plans_of_small_programs_are_as_before() {
    let programs = programs();
    for name in HELD {
        let program = programs.iter().find(|program| program.name == name);
        let program = program.unwrap_or_else(|| panic!("no program {name}"));
        let bound = random_bound(&program.model, Shape::small(true), &mut ChaCha8Rng::seed_from_u64(1));
        let plan = plan(&program.equations, &bound, Precision::Double);
        let plan = plan.unwrap_or_else(|unplanned| panic!("{name}: {}", unplanned.0));
        hold(name, &plan.text(&program.equations));
    }
}

/// The plans in which passes rewrite sums: pairs and masks, padded rows, what rows have in common.
#[test]
fn plans_that_passes_rewrite_are_as_before() {
    let (rows, columns, parts) = (40, 50, 5);
    let masked = "axis row[n]\naxis column[j]\naxis part[k]\ndata x[n, j] : real, absent = NA\n\
                  z[n, k] ~ Normal(0, sd = 1)\nw[j, k] ~ Normal(0, sd = 1)\ntau ~ Gamma(1, rate = 1)\n\
                  x[n, j] ~ Normal(sum[k](w[j, k] * z[n, k]), prec = tau)\n\
                  posterior {\n  q(z[n, :k])\n  q(w[j, :k])\n}\n";
    let values = counts(rows * columns).into_iter().map(|count| count - 2.0).collect();
    let observed = Some((0..rows * columns).map(|place| place % 7 != 3).collect());
    let data = BoundArray::Dense { values, observed };
    let ready = bound(masked, &[rows, columns, parts], &[("x", data)]);
    hold("masked_second_moments", &executor(&ready).plan_text());
    let few = listed(70, 60, |place| place * 7919 % 1009 % 10 < 4);
    let ready = bound(&factors("sum[k](w[i, k] * h[k, j])"), &[70, 60, 11], &[("x", few)]);
    hold("padded_rows", &executor(&ready).plan_text());
    let mixture = "axis row[n]\naxis cluster[k]\ndata x[n] : real\npi[:k] ~ Dirichlet(0.5)\n\
                   z[n] ~ Categorical(pi)\ntau[k] ~ Gamma(2, rate = 1)\nmu[k] ~ Normal(0, sd = 3)\n\
                   x[n] ~ Normal(mu[z[n]], prec = tau[z[n]])\n";
    let ready = bound(mixture, &[1500, 4], &[("x", BoundArray::full(counts(1500)))]);
    hold("rows_in_common", &executor(&ready).plan_text());
}

/// Each sum over an axis of the data is told, and an axis that cannot be cut says why.
#[test]
fn sums_over_axes_of_the_data_are_told() {
    let topics = "axis doc[d]\naxis word[v]\naxis topic[k]\ndata n[d, v] : count, absent = 0\n\
                  theta[d, :k] ~ Dirichlet(0.1)\nbeta[k, :v] ~ Dirichlet(0.1)\n\
                  n[d, :v] ~ Multinomial(p = sum[k](theta[d, k] * beta[k, v]))\n";
    let data = || listed(7, 6, |place| place % 3 != 0);
    check(
        topics,
        &[7, 6, 3],
        &[("n", data())],
        &[
            "axis word cannot be cut: `beta[k, :v]` is one vector over all of it",
            "expected counts of site 1, addend 1, factor 1 over entries of n",
            "are sums over it",
        ],
    );
    let refused = [
        // Copies meet in every entry.
        (
            "axis row[n]\naxis column[j]\ndata x[n, j] : real\ndata y[n] : real\nb[j] ~ Normal(0, sd = 1)\n\
             y[n] ~ Normal(sum[j](x[n, j] * b[j]), sd = 1)\n",
            vec![("x", BoundArray::full(counts(42))), ("y", BoundArray::full(counts(7)))],
            "axis column cannot be cut: copies of `b` move one after another along it",
            "axis row: ",
        ),
        (
            "axis row[n]\naxis column[j]\ndata g[n] : index column\ndata y[n] : real\nb[j] ~ Normal(0, sd = 1)\n\
             y[n] ~ Normal(b[g[n]], sd = 1)\n",
            vec![
                ("g", BoundArray::full(vec![0.0, 5.0, 2.0, 2.0, 1.0, 3.0, 4.0])),
                ("y", BoundArray::full(counts(7))),
            ],
            "axis row: ",
            "steps 1, 3, 12 are sums over it",
        ),
    ];
    for (text, data, one, other) in refused {
        check(text, &[7, 6], &data, &[one, other]);
    }
}

#[test]
fn no_plan_is_left_over() {
    let held = HELD.into_iter().chain(["masked_second_moments", "padded_rows", "rows_in_common"]);
    let held: Vec<String> = held.map(|name| format!("{name}.snap")).collect();
    let folder = cavi_tests::corpus::root().join("tests/snapshots/plans");
    for path in cavi_tests::corpus::files_below(&folder, "snap") {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        assert!(held.contains(&file), "{} belongs to no program", path.display());
    }
}

/// The plan of every program is whole, whatever the shape of its data.
#[test]
fn every_plan_is_whole() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for program in programs() {
        for sparse in [false, true] {
            for shape in [Shape::small(sparse), Shape { smallest: 0, largest: 1, ..Shape::small(sparse) }] {
                let bound = random_bound(&program.model, shape, &mut rng);
                let plan = plan(&program.equations, &bound, Precision::Single)
                    .unwrap_or_else(|unplanned| panic!("{}: {}", program.name, unplanned.0));
                if let Err(problem) = verify(&plan, &program.equations, &bound) {
                    panic!("{}: {problem}", program.name);
                }
            }
        }
    }
}

/// What a careless pass might do to a plan is found. Two axes have one size, so that it would run and give numbers.
#[test]
fn a_broken_plan_is_found() {
    let text = "axis row[n]\naxis column[j]\naxis part[k]\ndata x[n, j] : real, absent = NA\n\
                z[n, k] ~ Normal(0, sd = 1)\nw[j, k] ~ Normal(0, sd = 1)\ntau ~ Gamma(1, rate = 1)\n\
                x[n, j] ~ Normal(sum[k](w[j, k] * z[n, k]), prec = tau)\n\
                posterior {\n  q(z[n, :k])\n  q(w[j, :k])\n}\n";
    let values = counts(40 * 40).into_iter().map(|count| count - 2.0).collect();
    let data =
        BoundArray::Dense { values, observed: Some((0..40 * 40).map(|place| place % 7 != 3).collect()) };
    let (program, bound, _) = bound(text, &[40, 40, 3], &[("x", data)]);
    let whole = plan(&program.equations, &bound, Precision::Double).expect("a plan");
    verify(&whole, &program.equations, &bound).expect("it is whole as it comes");
    let axis = |name: &str| {
        let place = program.equations.symbols.axes.iter().position(|axis| axis.name == name);
        Along::Axis(AxisId::from(place.expect("an axis")))
    };
    let (row, column) = (axis("row"), axis("column"));
    let over_rows = |part: &Contraction| {
        !part.operands.is_empty()
            && !part.output.is_empty()
            && part.letters.iter().any(|own| own.along == row)
    };
    let contraction = |plan: &Plan| {
        let is_sum = |node: &Node| matches!(&node.operation, Operation::Contractions(parts) if parts.iter().any(over_rows));
        plan.nodes.iter().position(is_sum).expect("a contraction")
    };
    let parts = |plan: &mut Plan, at: usize, change: &dyn Fn(&mut Contraction)| {
        let Operation::Contractions(parts) = &mut plan.nodes[at].operation else { panic!("a contraction") };
        change(parts.iter_mut().find(|part| over_rows(part)).expect("over rows"));
    };
    type Break<'a> = (&'a str, &'a dyn Fn(&mut Plan));
    let broken: [Break; 11] = [
        ("sizes of", &|plan| plan.nodes[0].dims.push(row)),
        ("values are given where", &|plan| plan.statics[0] = Vec::new().into()),
        ("positions of", &|plan| {
            let at = contraction(plan);
            plan.nodes[at].shape[0] += 1;
        }),
        ("where there are", &|plan| {
            let at = contraction(plan);
            parts(plan, at, &|part| {
                part.letters.iter_mut().filter(|own| own.along == row).for_each(|own| own.along = column);
            });
        }),
        ("subscripts for", &|plan| {
            let at = contraction(plan);
            parts(plan, at, &|part| part.output.clear());
        }),
        ("is none of", &|plan| {
            let at = contraction(plan);
            parts(plan, at, &|part| part.letters.clear());
        }),
        ("which is none", &|plan| {
            let at = contraction(plan);
            parts(plan, at, &|part| part.operands[0].node = NodeId(1 << 20));
        }),
        ("follows from itself", &|plan| {
            let own = plan.elbo[0];
            plan.nodes[own.index()].operation = Operation::Map(Elementwise::Power(2), own);
        }),
        ("is read by nothing", &|plan| {
            plan.elbo.pop();
        }),
        ("natural parameters of", &|plan| {
            let mut block = (*plan.blocks[0]).clone();
            block.natural.push(block.natural[0]);
            plan.blocks[0] = block.into();
        }),
        ("bound: step", &|plan| plan.elbo.push(plan.blocks[0].natural[0])),
    ];
    for (expected, break_it) in broken {
        let mut plan = whole.clone();
        break_it(&mut plan);
        let problem = verify(&plan, &program.equations, &bound).expect_err(expected);
        assert!(problem.contains(expected), "{problem}, and not `{expected}`");
    }
}
