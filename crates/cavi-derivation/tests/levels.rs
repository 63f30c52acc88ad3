//! The numbers that may be added to variables without data noticing, against what can be read off the programs.

use cavi_algebra::Equations;
use cavi_derivation::derive;

/// What is derived of a program.
fn equations(text: &str) -> Equations {
    let (program, diagnostics) = cavi_syntax::parse(text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let (model, diagnostics) = cavi_model::resolve(&program);
    let model = model.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let (equations, diagnostics) = derive(&model);
    equations.unwrap_or_else(|| panic!("{text}{diagnostics:?}"))
}

/// The shifts of a program, each with the names of its variables.
fn shifts(text: &str) -> Vec<Vec<(String, f64)>> {
    let equations = equations(text);
    let name = |(array, share): &(_, f64)| (equations.symbols.array(*array).name.clone(), *share);
    equations.shifts.iter().map(|own| own.moves.iter().map(name).collect()).collect()
}

const HEAD: &str = "axis line[n]\naxis group[g]\naxis house[h]\ndata y[n] : real\ndata c[n] : binary\ndata x[n] : real\ndata p[n] : index group\n\
    data o[n] : index group\ndata r[n] : index house\na[g] ~ Normal(0, sd = 5)\n";

fn check(rest: &str, expected: &[&[(&str, f64)]]) {
    // Data that no statement reads are left out.
    let head: Vec<&str> = HEAD
        .split_inclusive('\n')
        .filter(|line| {
            let name = line.strip_prefix("data ").map(|own| &own[..1]);
            name.is_none_or(|own| rest.contains(&format!("{own}[")))
        })
        .filter(|line| *line != "axis house[h]\n" || rest.contains("[h]"))
        .collect();
    let found = shifts(&format!("{}{rest}", head.concat()));
    let expected: Vec<Vec<(String, f64)>> = expected
        .iter()
        .map(|own| own.iter().map(|(name, share)| ((*name).to_owned(), *share)).collect())
        .collect();
    assert_eq!(found, expected, "{rest}");
}

#[test]
fn differences_have_no_level() {
    check("y[n] ~ Normal(a[p[n]] - a[o[n]], sd = 1)\n", &[&[("a", 1.0)]]);
    check("c[n] ~ Bernoulli(logit = a[p[n]] - a[o[n]])\n", &[&[("a", 1.0)]]);
    // Through another latent, whose own statement stays as it is.
    check("d[n] ~ Normal(a[p[n]] - a[o[n]], sd = 1)\ny[n] ~ Normal(d[n], sd = 1)\n", &[&[("a", 1.0)]]);
    // A slope meets a number of its own in every line.
    check("y[n] ~ Normal(x[n] * (a[p[n]] - a[o[n]]), sd = 1)\n", &[&[("a", 1.0)]]);
}

#[test]
fn what_is_added_to_one_is_taken_from_others() {
    check("m ~ Normal(0, sd = 1)\ny[n] ~ Normal(m + a[p[n]], sd = 1)\n", &[&[("a", 1.0), ("m", -1.0)]]);
    check("m ~ Normal(0, sd = 1)\ny[n] ~ Normal(2 * m + a[p[n]], sd = 1)\n", &[&[("a", 1.0), ("m", -0.5)]]);
    check(
        "b[h] ~ Normal(0, sd = 1)\ny[n] ~ Normal(b[r[n]] - a[p[n]], sd = 1)\n",
        &[&[("a", 1.0), ("b", 1.0)]],
    );
    // Of the three pairs two say all.
    check(
        "b[h] ~ Normal(0, sd = 1)\nm ~ Normal(0, sd = 1)\ny[n] ~ Normal(m + a[p[n]] + b[r[n]], sd = 1)\n",
        &[&[("a", 1.0), ("b", -1.0)], &[("a", 1.0), ("m", -1.0)]],
    );
    // What is added to the first counts for the two others together.
    check(
        "b[h] ~ Normal(0, sd = 1)\nm ~ Normal(0, sd = 1)\ny[n] ~ Normal(m + a[p[n]] + b[r[n]], sd = 1)\n\
         data z[h] : real\nz[h] ~ Normal(b[h] - m, sd = 1)\n",
        &[&[("a", 1.0), ("b", -0.5), ("m", -0.5)]],
    );
    // A vector with one factor for all of its elements moves like others.
    check(
        "m ~ Normal(0, sd = 1)\ny[n] ~ Normal(m + a[p[n]], sd = 1)\nposterior {\n  q(a[:g])\n}\n",
        &[&[("a", 1.0), ("m", -1.0)]],
    );
}

#[test]
fn a_level_may_stand_above_or_beside_groups() {
    let ragged = |rest: &str, expected: &[&[(&str, f64)]]| {
        let head = "axis school[s]\naxis class[c] in school[s]\ndata y[s, c] : real, absent = NA\nmu ~ Normal(0, sd = 10)\n\
            u[s] ~ Normal(0, sd = 2)\n";
        let found = shifts(&format!("{head}{rest}"));
        let expected: Vec<Vec<(String, f64)>> = expected
            .iter()
            .map(|own| own.iter().map(|(name, share)| ((*name).to_owned(), *share)).collect())
            .collect();
        assert_eq!(found, expected, "{rest}");
    };
    ragged("y[s, c] ~ Normal(mu + u[s], sd = 1)\n", &[&[("mu", 1.0), ("u", -1.0)]]);
    ragged(
        "v[s, c] ~ Normal(0, sd = 1)\ny[s, c] ~ Normal(mu + u[s] + v[s, c], sd = 1)\n",
        &[&[("mu", 1.0), ("u", -1.0)], &[("mu", 1.0), ("v", -1.0)], &[("u", 1.0), ("v", -1.0)]],
    );
}

/// The shifts of a program with one number for each position of some axes: the names of its variables, and of the axes.
fn along(text: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let equations = equations(text);
    let symbols = &equations.symbols;
    let found = equations.shifts.iter().map(|own| {
        let moves = own.moves.iter().map(|(array, share)| format!("{share} {}", symbols.array(*array).name));
        (moves.collect(), own.along.iter().map(|axis| symbols.axis(*axis).name.clone()).collect())
    });
    found.collect()
}

fn check_along(text: &str, expected: &[(&[&str], &[&str])]) {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let expected: Vec<(Vec<String>, Vec<String>)> =
        expected.iter().map(|(moves, axes)| (owned(moves), owned(axes))).collect();
    assert_eq!(along(text), expected, "{text}");
}

#[test]
fn positions_may_have_levels_of_their_own() {
    let each = |rest: &str, expected: &[(&[&str], &[&str])]| {
        let head = "axis line[n]\naxis group[g]\naxis item[j]\ndata y[n, j] : real\ndata p[n] : index group\ndata o[n] : index group\n\
            d[g, j] ~ Normal(0, sd = 5)\n";
        check_along(&format!("{head}{rest}"), expected);
    };
    each("y[n, j] ~ Normal(d[p[n], j] - d[o[n], j], sd = 1)\n", &[(&["1 d"], &["item"])]);
    each(
        "m[j] ~ Normal(0, sd = 1)\ny[n, j] ~ Normal(m[j] + d[p[n], j] + d[o[n], j], sd = 1)\n",
        &[(&["1 d", "-2 m"], &["item"])],
    );
    // One number for all items.
    each(
        "m ~ Normal(0, sd = 1)\ny[n, j] ~ Normal(m + d[p[n], j] + d[o[n], j], sd = 1)\n",
        &[(&["1 d", "-2 m"], &[])],
    );
    // A vector over items.
    each(
        "m[j] ~ Normal(0, sd = 1)\ny[n, j] ~ Normal(m[j] + d[p[n], j] + d[o[n], j], sd = 1)\nposterior {\n  q(d[g, :j])\n}\n",
        &[(&["1 d", "-2 m"], &["item"])],
    );
}

/// Effects of rows, of columns and of both: of the sum of two over both axes, every cell has a level of its own.
#[test]
fn what_two_axes_share_has_a_level_for_each_pair() {
    let head = "axis row[i]\naxis column[j]\naxis time[t]\ndata y[i, j, t] : real\nm ~ Normal(0, sd = 1)\nu[i] ~ Normal(0, sd = 1)\n\
        v[j] ~ Normal(0, sd = 1)\nw[i, j] ~ Normal(0, sd = 1)\nx[i, j, t] ~ Normal(0, sd = 1)\n";
    check_along(
        &format!("{head}y[i, j, t] ~ Normal(m + u[i] + v[j] + w[i, j] + x[i, j, t], sd = 1)\n"),
        &[
            (&["1 m", "-1 u"], &[]),
            (&["1 m", "-1 v"], &[]),
            (&["1 m", "-1 w"], &[]),
            (&["1 m", "-1 x"], &[]),
            (&["1 u", "-1 w"], &["row"]),
            (&["1 u", "-1 x"], &["row"]),
            (&["1 v", "-1 w"], &["column"]),
            (&["1 v", "-1 x"], &["column"]),
            (&["1 w", "-1 x"], &["row", "column"]),
        ],
    );
}

/// A school's level and those of its classes: one number for each school. Where two variables are over classes, one for each class.
#[test]
fn groups_have_levels_among_those_that_count_through_them() {
    let head = "axis school[s]\naxis class[c] in school[s]\ndata y[s, c] : real, absent = NA\nu[s] ~ Normal(0, sd = 2)\n\
        v[s, c] ~ Normal(0, sd = 1)\n";
    check_along(
        &format!("{head}y[s, c] ~ Normal(u[s] + v[s, c], sd = 1)\n"),
        &[(&["1 u", "-1 v"], &["school"])],
    );
    check_along(
        &format!("{head}w[s, c] ~ Normal(0, sd = 1)\ny[s, c] ~ Normal(u[s] + v[s, c] - w[s, c], sd = 1)\n"),
        &[(&["1 u", "-1 v"], &["school"]), (&["1 u", "1 w"], &["school"]), (&["1 v", "1 w"], &["class"])],
    );
}

#[test]
fn a_mean_moves_with_those_that_it_is_the_mean_of() {
    check(
        "m ~ Normal(0, sd = 9)\nb[h] ~ Normal(m, sd = 1)\nk ~ Normal(0, sd = 9)\ny[n] ~ Normal(k + b[r[n]] + a[p[n]] * x[n], sd = 1)\n",
        &[&[("b", 1.0), ("k", -1.0)], &[("m", 1.0), ("b", 1.0), ("k", -1.0)]],
    );
    check(
        "m ~ Normal(0, sd = 9)\nb[h] ~ Normal(m, sd = 1)\ndata t[n] : index house\ny[n] ~ Normal(b[r[n]] - b[t[n]] + a[p[n]], sd = 1)\n",
        &[&[("b", 1.0)], &[("m", 1.0), ("b", 1.0)]],
    );
}

#[test]
fn what_data_see_has_its_level() {
    check("y[n] ~ Normal(a[p[n]], sd = 1)\n", &[]);
    check("y[n] ~ Normal(x[n] * a[p[n]], sd = 1)\n", &[]);
    check("y[n] ~ Normal(2 * a[p[n]] - a[o[n]], sd = 1)\n", &[]);
    check("b ~ Normal(0, sd = 1)\ny[n] ~ Normal(b * x[n] + a[p[n]], sd = 1)\n", &[]);
    // The mean of a prior, whose level that of the others has.
    check(
        "m ~ Normal(0, sd = 1)\nb[h] ~ Normal(m, sd = 1)\ny[n] ~ Normal(b[r[n]] + a[p[n]], sd = 1)\n",
        &[&[("a", 1.0), ("b", -1.0)], &[("a", 1.0), ("m", -1.0), ("b", -1.0)]],
    );
    check("m ~ Normal(0, sd = 1)\nb[h] ~ Normal(m, sd = 1)\ny[n] ~ Normal(b[r[n]] * a[p[n]], sd = 1)\n", &[]);
}
