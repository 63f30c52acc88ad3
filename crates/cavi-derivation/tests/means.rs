//! The factors in whose means together the bound is quadratic, against what can be read off the programs.

use cavi_derivation::derive;

fn check(rest: &str, expected: &[&[&str]]) {
    let head = "axis line[n]\naxis group[g]\naxis part[k] = 2\naxis item[j]\n";
    let text = format!("{head}{rest}");
    let (program, diagnostics) = cavi_syntax::parse(&text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let (model, diagnostics) = cavi_model::resolve(&program);
    let model = model.unwrap_or_else(|| panic!("{text}{diagnostics:?}"));
    let (equations, diagnostics) = derive(&model);
    let equations = equations.unwrap_or_else(|| panic!("{text}{diagnostics:?}"));
    let name = |block: &cavi_algebra::BlockId| {
        let members = &equations.block(*block).members;
        equations.symbols.array(members[0]).name.clone()
    };
    let found: Vec<Vec<String>> =
        equations.quadratic.iter().map(|set| set.iter().map(name).collect()).collect();
    assert_eq!(found, expected, "{rest}");
}

const SUM: &str = "data y[n] : real\ndata x[n] : real\ndata p[n] : index group\na[g] ~ Normal(0, sd = 5)\nb ~ Normal(0, sd = 1)\n";

#[test]
fn what_is_added_up_has_its_means_together() {
    check(&format!("{SUM}y[n] ~ Normal(a[p[n]] + b * x[n], sd = 1)\n"), &[&["a", "b"]]);
    // A precision that is learned is held.
    check(
        &format!("{SUM}t ~ Gamma(1, rate = 1)\ny[n] ~ Normal(a[p[n]] + b * x[n], prec = t)\n"),
        &[&["a", "b"]],
    );
    // The mean of a prior stands in no data.
    check(
        "data y[n] : real\ndata p[n] : index group\nm ~ Normal(0, sd = 9)\na[g] ~ Normal(m, sd = 5)\ny[n] ~ Normal(a[p[n]], sd = 1)\n",
        &[&["m", "a"]],
    );
    // Under a tangent, whose place is held.
    check(
        "data y[n] : binary\ndata p[n] : index group\ndata x[n] : real\na[g] ~ Normal(0, sd = 5)\nb ~ Normal(0, sd = 1)\n\
         y[n] ~ Bernoulli(logit = a[p[n]] + b * x[n])\n",
        &[&["a", "b"]],
    );
    check(
        &format!("{SUM}y[n] ~ Normal(a[p[n]] + b * x[n], sd = 1)\nposterior {{\n  point a, b\n}}\n"),
        &[&["a", "b"]],
    );
}

#[test]
fn one_of_two_that_are_multiplied_is_held() {
    check(
        "data y[n, j] : real\nz[n, k] ~ Normal(0, sd = 1)\nw[j, k] ~ Normal(0, sd = 1)\nm[j] ~ Normal(0, sd = 9)\n\
         y[n, j] ~ Normal(m[j] + sum[k](w[j, k] * z[n, k]), sd = 1)\n",
        &[&["z", "m"], &["w", "m"]],
    );
    // The copies over k of each are added up.
    check(
        "data y[n, j] : real\nz[n, k] ~ Normal(0, sd = 1)\nw[j, k] ~ Normal(0, sd = 1)\ny[n, j] ~ Normal(sum[k](w[j, k] * z[n, k]), sd = 1)\n",
        &[&["z"], &["w"]],
    );
}

#[test]
fn what_stands_by_itself_is_in_no_set() {
    check(
        "data y[n] : real\ndata p[n] : index group\na[g] ~ Normal(0, sd = 5)\ny[n] ~ Normal(a[p[n]], sd = 1)\n",
        &[],
    );
    // Classes choose one of several means, which are not added up.
    check(
        "data y[n] : real\na[k] ~ Normal(0, sd = 5)\np[:k] ~ Dirichlet(1)\nz[n] ~ Categorical(p)\ny[n] ~ Normal(a[z[n]], sd = 1)\n",
        &[],
    );
}
