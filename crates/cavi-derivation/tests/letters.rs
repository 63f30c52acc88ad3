//! Every letter in an equation has a value: it is summed, or one of the equation's own.

use cavi_algebra::{Equations, LetterId, Subscript, Sum, Symbols, Term};
use cavi_derivation::derive;

fn equations(text: &str) -> Equations {
    let (tree, diagnostics) = cavi_syntax::parse(text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let (model, diagnostics) = cavi_model::resolve(&tree);
    let model = model.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let (equations, diagnostics) = derive(&model);
    equations.unwrap_or_else(|| panic!("{diagnostics:?}"))
}

/// Letters in a sum that neither it nor what stands around it gives a value.
fn loose<'s>(symbols: &Symbols, sum: &'s Sum, known: &[LetterId]) -> Vec<(LetterId, &'s Term)> {
    let mut found = Vec::new();
    for term in &sum.terms {
        let mut known = known.to_vec();
        known.extend(term.sums.iter().flat_map(|letter| symbols.lineage(*letter)));
        for factor in &term.factors {
            let nested = factor.atom.nested();
            if nested.is_empty() {
                let mut letters = Vec::new();
                factor.atom.visit_subscripts(&mut |own: &Subscript| own.letters(&mut letters));
                let here = letters.into_iter().filter(|letter| !known.contains(letter));
                found.extend(here.map(|letter| (letter, term)));
            }
            found.extend(nested.into_iter().flat_map(|inner| loose(symbols, inner, &known)));
        }
    }
    found
}

fn check(text: &str) {
    let equations = equations(text);
    let symbols = &equations.symbols;
    for (statement, sum) in &equations.elbo.terms {
        for term in &sum.terms {
            let alone = Sum::term(term.clone());
            let found = loose(symbols, &alone, &[]);
            assert!(found.is_empty(), "{text}\nin the bound of {statement:?}: {:?}", found[0]);
        }
    }
}

const PARENTS: &str = "axis doc[d, e]\naxis token[t, s] in doc[d]\naxis topic[k] = 2\ndata x[d, t] : real\n\
                       data link[d, e] : real, absent = NA\npi[:k] ~ Dirichlet(1)\nz[d, t] ~ Categorical(pi)\n\
                       a[k] ~ Normal(0, sd = 1)\nb[k] ~ Normal(0, sd = 1)\nx[d, t] ~ Normal(a[z[d, t]], sd = 1)\n";

#[test]
fn two_sums_over_groups_that_may_be_one() {
    check(&format!("{PARENTS}link[d, e] ~ Normal(sum[t](a[z[d, t]]) * sum[s](b[z[e, s]]), sd = 1)\n"));
    check(&format!("{PARENTS}link[d, e] ~ Normal(sum[t](a[z[d, t]]) - sum[s](a[z[e, s]]), sd = 1)\n"));
}
