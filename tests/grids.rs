//! Data with enough entries for a grid of rows and columns: the executor agrees with the interpreter on any number of
//! threads, whichever index comes first, and whichever addends share the grid.

use cavi_executor::{Bound, BoundArray, BoundAxis, start};
use cavi_tests::support::{bound_of, compile, runs_agree};

const ROWS: usize = 150;
const COLUMNS: usize = 120;
const ENTRIES: usize = 9_000;

/// The declarations before the rate of `n[d, v]`.
const HEAD: &str = "axis doc[d]\naxis word[v]\naxis topic[k] = 3\naxis style[l] = 2\ndata n[d, v] : count, absent = 0\n\
    const g[v]\nw[d, k] ~ Gamma(0.7, rate = 1)\nh[k, v] ~ Gamma(0.6, rate = 2)\ns[d] ~ Gamma(1, rate = 3)\n\
    u[d, l] ~ Gamma(0.5, rate = 1)\nr[l, v] ~ Gamma(0.8, rate = 4)\nb[v] ~ Gamma(2, rate = 9)\nc[l] ~ Gamma(1, rate = 5)\n";

/// Counts at as many places of `rows x columns`, some of them 0.
fn data([rows, columns]: [usize; 2]) -> BoundArray {
    let listed: Vec<usize> = (0..ENTRIES).map(|entry| entry * 2 + (entry * entry) % 2).collect();
    assert!(listed.iter().all(|place| *place < rows * columns));
    BoundArray::Sparse {
        indices: vec![
            listed.iter().map(|place| (place / columns) as u32).collect(),
            listed.iter().map(|place| (place % columns) as u32).collect(),
        ],
        values: listed.iter().map(|place| ((place * 31) % 4) as f64).collect(),
        observed: None,
        unlisted_zero: true,
    }
}

fn check(rate: &str, unused: &[&str], sweep: &str, turned: bool) {
    let statement = |line: &&str| !unused.iter().any(|name| line.starts_with(&format!("{name}[")));
    let head: Vec<&str> = HEAD.lines().filter(statement).collect();
    let text = format!("{}\nn[d, v] ~ Poisson({rate})\nfit {{\n  sweep {sweep}\n}}\n", head.join("\n"));
    let text = if turned { text.replace("n[d, v]", "n[v, d]") } else { text };
    let program = compile("grid", &text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    let axes = [ROWS, COLUMNS, 3, 2].map(BoundAxis::plain);
    let sizes = if turned { [COLUMNS, ROWS] } else { [ROWS, COLUMNS] };
    let profile = BoundArray::full((0..COLUMNS).map(|word| 0.1 + 0.01 * word as f64).collect());
    let bound: Bound = bound_of(&program, &axes, &[("n", data(sizes)), ("g", profile)]);
    let from = start(&program.equations, &bound, 1);
    let schedule = program.schedule();
    runs_agree(&program, &bound, &schedule, &from, 3, 1e-11).unwrap_or_else(|why| panic!("{rate}: {why}"));
}

#[test]
fn one_addend() {
    for turned in [false, true] {
        check("sum[k](w[d, k] * h[k, v])", &["s", "u", "r", "b", "c"], "w, h", turned);
        check("sum[k](w[d, k] * h[k, v])", &["s", "u", "r", "b", "c"], "(w, h)", turned);
    }
}

#[test]
fn a_background() {
    for turned in [false, true] {
        check("s[d] * g[v] + sum[k](w[d, k] * h[k, v])", &["u", "r", "b", "c"], "s, w, h", turned);
        check("s[d] * b[v] + sum[k](w[d, k] * h[k, v])", &["u", "r", "c"], "h, b, (w, s)", turned);
    }
}

#[test]
fn two_factorisations_on_one_grid() {
    for turned in [false, true] {
        let rate = "0.1 + sum[k](w[d, k] * h[k, v]) + sum[l](u[d, l] * r[l, v])";
        check(rate, &["s", "b", "c"], "w, u, h, r", turned);
        check(rate, &["s", "b", "c"], "u, r, (w, h)", turned);
    }
}

#[test]
fn addends_of_other_modes() {
    for turned in [false, true] {
        let rate = "sum[k](w[d, k] * h[k, v]) + sum[l](c[l] * r[l, v]) + s[d]";
        check(rate, &["u", "b"], "w, c, h, s, r", turned);
    }
}
