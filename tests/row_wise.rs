//! Repeated updates row by row have the same bits as repeated updates of the whole block, and updates after the
//! entries were reordered have the same bits as before.

use cavi_algebra::BlockId;
use cavi_executor::plan::{Precision, plan};
use cavi_executor::{Bound, BoundArray, BoundAxis, Executor, Item, Parameters, start};
use cavi_tests::support::{Program, Shape, bound_of, compile, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn run<'a>(program: &'a Program, bound: &'a Bound, from: &Parameters, threads: usize) -> Executor<'a> {
    Executor::new(&program.equations, bound, from.clone(), threads)
        .unwrap_or_else(|unplanned| panic!("{}", unplanned.0))
}

/// The blocks whose rows can be updated each by itself.
fn by_rows(program: &Program, bound: &Bound) -> Vec<BlockId> {
    let plan = plan(&program.equations, bound, Precision::Double).unwrap_or_else(|own| panic!("{}", own.0));
    let rows = plan.row_wise.iter().enumerate().filter(|(_, own)| own.is_some());
    rows.map(|(block, _)| BlockId::from(block)).collect()
}

/// Five updates of a block as one item, and one after another, some sweeps long: the same bits, on one thread and two.
fn check(program: &Program, bound: &Bound, block: BlockId, reset: bool) {
    let from = start(&program.equations, bound, 7);
    let schedule = program.schedule();
    let mut expected: Option<Parameters> = None;
    for (together, threads) in [(false, 1), (true, 1), (true, 2)] {
        let mut executor = run(program, bound, &from, threads);
        for _ in 0..2 {
            let item = Item { reset, ..Item::block(block) };
            let items = match together {
                true => vec![item.repeated(5)],
                false => [vec![item], vec![Item::block(block); 4]].concat(),
            };
            for item in items.iter().chain(&schedule.items) {
                executor.item(item).unwrap_or_else(|trouble| panic!("{}: {trouble}", program.name));
            }
        }
        let own = executor.parameters();
        let expected = expected.get_or_insert_with(|| own.clone());
        let bits = |parameters: &Parameters| -> Vec<u64> {
            parameters.blocks.iter().flatten().flatten().map(|value| value.to_bits()).collect()
        };
        assert!(bits(own) == bits(expected), "{}: block {}, {threads} threads", program.name, block.0);
    }
}

#[test]
fn repetitions_row_by_row_are_repetitions() {
    let mut found = Vec::new();
    for program in programs() {
        for sparse in [false, true] {
            let mut rng = ChaCha8Rng::seed_from_u64(11);
            let bound = random_bound(&program.model, Shape::small(sparse), &mut rng);
            for block in by_rows(&program, &bound) {
                check(&program, &bound, block, false);
                check(&program, &bound, block, true);
                found.push(program.name.clone());
            }
        }
    }
    found.dedup();
    for expected in ["lda", "plsa"] {
        assert!(found.iter().any(|name| name == expected), "{found:?}");
    }
    assert!(found.len() >= 12, "{found:?}");
}

/// About a third of the places, as a list: enough for several chunks, on a grid.
fn listed(sizes: &[usize]) -> BoundArray {
    let places: usize = sizes.iter().product();
    let kept: Vec<usize> = (0..places).filter(|place| place * 7919 % 1009 % 3 == 0).collect();
    let column = |mode: usize| {
        let stride: usize = sizes[mode + 1..].iter().product();
        kept.iter().map(|place| (place / stride % sizes[mode]) as u32).collect()
    };
    BoundArray::Sparse {
        indices: (0..sizes.len()).map(column).collect(),
        values: kept.iter().map(|place| 1.0 + (place % 4) as f64).collect(),
        observed: None,
        unlisted_zero: true,
    }
}

/// A name, a program, the sizes of its axes, and the shapes of its data.
type Large = (&'static str, &'static str, &'static [usize], &'static [(&'static str, &'static [usize])]);

/// Programs whose rows are long: topics, rates with a background in two arrays that share their rows, a tensor, shares of the
/// greatest likelihood, and as many rows of points that they are updated in parts.
const LARGE: &[Large] = &[
    (
        "topics",
        "axis doc[d]\naxis word[v]\naxis topic[k]\ndata n[d, v] : count, absent = 0\n\
         theta[d, :k] ~ Dirichlet(0.3)\nbeta[k, :v] ~ Dirichlet(0.1)\n\
         n[d, :v] ~ Multinomial(p = sum[k](theta[d, k] * beta[k, v]))\n",
        &[150, 300, 9],
        &[("n", &[150, 300])],
    ),
    (
        "shares of the greatest likelihood",
        "axis doc[d]\naxis word[v]\naxis topic[k]\ndata n[d, v] : count, absent = 0\n\
         theta[d, :k] ~ Flat(simplex)\nbeta[k, :v] ~ Flat(simplex)\n\
         n[d, :v] ~ Multinomial(p = sum[k](theta[d, k] * beta[k, v]))\n\
         posterior {\n  point theta[d, :k]\n  point beta[k, :v]\n}\n",
        &[150, 300, 9],
        &[("n", &[150, 300])],
    ),
    (
        "rates in two arrays",
        "axis user[u]\naxis item[i]\naxis tag[t]\naxis taste[k]\n\
         data y[u, i] : count, absent = 0\ndata z[u, t] : count, absent = 0\n\
         w[u, k] ~ Gamma(0.3, rate = xi[u])\nxi[u] ~ Gamma(0.3, rate = 1)\n\
         h[i, k] ~ Gamma(0.3, rate = 1)\ng[t, k] ~ Gamma(0.3, rate = 1)\n\
         y[u, i] ~ Poisson(sum[k](w[u, k] * h[i, k]))\nz[u, t] ~ Poisson(sum[k](w[u, k] * g[t, k]))\n",
        &[160, 180, 90, 5],
        &[("y", &[160, 180]), ("z", &[160, 90])],
    ),
    (
        "points with exposures",
        "axis user[u]\naxis item[i]\naxis taste[k]\ndata y[u, i] : count, absent = 0\ne[u] ~ Gamma(2, rate = 2)\n\
         w[u, k] ~ Gamma(1.5, rate = 1)\nh[i, k] ~ Gamma(1.3, rate = 1)\n\
         y[u, i] ~ Poisson(e[u] * sum[k](w[u, k] * h[i, k]))\n\
         posterior {\n  point w[u, k]\n  point h[i, k]\n}\n",
        &[1300, 60, 9],
        &[("y", &[1300, 60])],
    ),
    (
        "a tensor",
        "axis a[i]\naxis b[j]\naxis c[l]\naxis part[k]\ndata y[i, j, l] : count, absent = 0\n\
         u[i, k] ~ Gamma(0.3, rate = 1)\nv[j, k] ~ Gamma(0.3, rate = 1)\nw[l, k] ~ Gamma(0.3, rate = 1)\n\
         y[i, j, l] ~ Poisson(sum[k](u[i, k] * v[j, k] * w[l, k]))\n",
        &[40, 50, 30, 6],
        &[("y", &[40, 50, 30])],
    ),
];

#[test]
fn rows_of_many_entries_keep_their_bits() {
    for (name, text, sizes, arrays) in LARGE {
        let program = compile(name, text).unwrap_or_else(|problem| panic!("{problem}"));
        let axes: Vec<BoundAxis> = sizes.iter().map(|size| BoundAxis::plain(*size)).collect();
        let data: Vec<(&str, BoundArray)> = arrays.iter().map(|(name, own)| (*name, listed(own))).collect();
        let bound = bound_of(&program, &axes, &data);
        let found = by_rows(&program, &bound);
        assert!(!found.is_empty(), "{name}");
        for block in found {
            check(&program, &bound, block, false);
            check(&program, &bound, block, true);
        }
    }
}

/// Rates whose profiles are given but for a factor, those of a few items next to nothing: their entries are summed in log space.
const GIVEN: Large = (
    "rates of given profiles",
    "axis user[u]\naxis item[i]\naxis taste[k]\ndata y[u, i] : count, absent = 0\ndata f[k, i] : positive\n\
     w[u, k] ~ Gamma(0.3, rate = 1)\nh[i, k] ~ Gamma(0.3, rate = 1)\n\
     y[u, i] ~ Poisson(sum[k](w[u, k] * h[i, k] * f[k, i]))\n",
    &[150, 300, 10],
    &[("y", &[150, 300])],
);

/// An executor puts the entries in order after a few passes; one for each update never does.
#[test]
fn entries_in_the_order_of_the_visits_keep_their_bits() {
    for (name, text, sizes, arrays) in LARGE.iter().chain([&GIVEN]) {
        let program = compile(name, text).unwrap_or_else(|problem| panic!("{problem}"));
        let axes: Vec<BoundAxis> = sizes.iter().map(|size| BoundAxis::plain(*size)).collect();
        let mut data: Vec<(&str, BoundArray)> =
            arrays.iter().map(|(name, own)| (*name, listed(own))).collect();
        if *name == GIVEN.0 {
            let profile = |place: usize| if place % 300 % 40 < 2 { 1e-280 } else { 0.5 + (place % 7) as f64 };
            data.push(("f", BoundArray::full((0..10 * 300).map(profile).collect())));
        }
        let bound = bound_of(&program, &axes, &data);
        let from = start(&program.equations, &bound, 3);
        let schedule = program.schedule();
        let items = || (0..4).flat_map(|_| &schedule.items);
        let bits = |executor: &mut Executor| -> Vec<u64> {
            let bound = executor.elbo();
            let values = executor.parameters().blocks.iter().flatten().flatten();
            values.chain([&bound]).map(|value| value.to_bits()).collect()
        };
        let mut parameters = from.clone();
        for item in items() {
            let mut executor = run(&program, &bound, &parameters, 1);
            executor.item(item).unwrap_or_else(|trouble| panic!("{name}: {trouble}"));
            parameters = executor.parameters().clone();
        }
        let expected = bits(&mut run(&program, &bound, &parameters, 1));
        for threads in [1, 2, 3] {
            let mut executor = run(&program, &bound, &from, threads);
            for item in items() {
                executor.item(item).unwrap_or_else(|trouble| panic!("{name}: {trouble}"));
            }
            assert!(bits(&mut executor) == expected, "{name}, {threads} threads");
        }
    }
}
