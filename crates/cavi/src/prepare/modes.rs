//! Refuses points whose mode has an infinite density on the boundary, by the values of constants and data.
//!
//! The derivation checks the values in the text. Values of `--set` and of files are checked here, before the fit.

use cavi_algebra::evaluate::{Assignment, evaluate, for_each_value};
use cavi_algebra::rules::divide;
use cavi_algebra::{ArrayId, Atom, Block, Elementary, Equations, Statistic, Sum, Support, Symbols};
use cavi_model::Model;
use cavi_syntax::Diagnostic;

use super::Problem;
use crate::bind::Binding;
use crate::bind::known::Known;

/// An error for each point without `clamp` whose prior has somewhere a negative coefficient of a log.
pub(super) fn check(problem: &Problem) -> Vec<Diagnostic> {
    let Problem { model, equations, binding, .. } = problem;
    let points = equations.blocks.iter().filter(|block| block.is_point() && !block.clamp);
    points.filter_map(|block| infinite(model, equations, binding, block)).collect()
}

/// What the own statements of a point contribute to each of its statistics, of one row each: weights change no sign.
fn own(symbols: &mut Symbols, block: &Block) -> Vec<(Statistic, Sum)> {
    if let Some(ascent) = &block.ascent {
        return ascent.own.iter().map(|own| (own.statistic.clone(), own.coefficient.clone())).collect();
    }
    let pairs = block.natural.iter().zip(&block.prior);
    pairs
        .map(|(natural, prior)| (natural.statistic.clone(), divide(symbols, prior, &block.multiplicity)))
        .collect()
}

fn infinite(model: &Model, equations: &Equations, binding: &Binding, block: &Block) -> Option<Diagnostic> {
    // A term in 1 / x keeps the density from being infinite at 0.
    let inverse = |member: u8| Statistic(vec![(member, Elementary::Power(-1))]);
    let mut symbols = equations.symbols.clone();
    let own = own(&mut symbols, block);
    let is_there = |statistic: &Statistic| {
        let all = block.natural.iter().map(|natural| (&natural.statistic, &natural.coefficient));
        let mut all = own.iter().map(|(other, sum)| (other, sum)).chain(all);
        all.any(|(other, sum)| other == statistic && !sum.is_zero())
    };
    let symbols = &symbols;
    let known = Known::new(symbols, &binding.bound.axes, &binding.bound.arrays);
    for (statistic, prior) in &own {
        let mut constants = Vec::new();
        if !of_a_log(statistic) || prior.is_zero() || !reads_constants(prior, &mut constants) {
            continue;
        }
        let member = statistic.0[0].0;
        if is_there(&inverse(member)) {
            continue;
        }
        let mut letters = prior.free_letters(symbols);
        letters.sort_by_key(|letter| symbols.lineage(*letter).len());
        let mut negative: Option<f64> = None;
        for_each_value(symbols, &known, &letters, &mut Assignment::new(), &mut |assignment| {
            let value = evaluate(symbols, prior, &known, assignment);
            if value < 0.0 {
                negative.get_or_insert(value);
            }
        });
        let Some(value) = negative else { continue };
        let array = block.members[usize::from(member)];
        let name = &symbols.array(array).name;
        let named: Vec<&str> = constants.iter().map(|array| symbols.array(*array).name.as_str()).collect();
        let named = crate::bind::list(&named);
        let statement = model.statement_of(array)?;
        let message =
            format!("the mode of `{name}` lies at 0, where its density is infinite by the value of {named}");
        // What climbs is never clamped.
        let otherwise = match block.ascent {
            Some(_) if symbols.array(array).support == Support::Nonnegative => {
                format!("or write `{}(nonnegative)` in place of the prior", cavi_derivation::flat())
            }
            Some(_) => format!("or drop `point` where `{name}` has a factor of q"),
            None => format!("drop `point`, or write `point {name} clamp` (no ascent is claimed then)"),
        };
        let help = format!("give {named} a value of at least 1, {otherwise}");
        return Some(
            Diagnostic::error("E0713", message)
                .at(statement.span, format!("its log has the coefficient {value}, and `{name}` is a point"))
                .possible("a prior whose coefficient of the log is 0 or more: a shape or concentration of at least 1")
                .help(help),
        );
    }
    None
}

fn of_a_log(statistic: &Statistic) -> bool {
    matches!(statistic.0.as_slice(), [(_, Elementary::Log | Elementary::LogComplement)])
}

/// Whether a sum is made of constants and data alone; gathers them.
pub(crate) fn reads_constants(sum: &Sum, found: &mut Vec<ArrayId>) -> bool {
    sum.terms.iter().flat_map(|term| &term.factors).all(|factor| match &factor.atom {
        Atom::Value(array, _) => {
            if !found.contains(array) {
                found.push(*array);
            }
            true
        }
        Atom::Equal(..) | Atom::Different(..) | Atom::Less(..) => true,
        Atom::Group(_) | Atom::Apply(..) => {
            factor.atom.nested().into_iter().all(|inner| reads_constants(inner, found))
        }
        Atom::Moment(_)
        | Atom::Allocation { .. }
        | Atom::LogPartition { .. }
        | Atom::Auxiliary { .. }
        | Atom::Observed(..)
        | Atom::ExpectedSquare(_) => false,
    })
}
