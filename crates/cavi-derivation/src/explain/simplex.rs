//! The error about probabilities that do not sum to 1 by their form, with what to write in their place.

use cavi_algebra::{ArrayId, ArrayKind, Function, LetterId, Subscript, Support, Symbols};
use cavi_families::{DataKind, Slices, families};
use cavi_model::{Model, Statement};
use cavi_syntax::Diagnostic;

use super::families_on;
use crate::joint::with_ancestors;

/// The error about a statement whose probabilities run over `letters` and do not sum to 1 along them.
pub fn not_on_simplex(
    model: &Model,
    symbols: &Symbols,
    statement: &Statement,
    letters: &[LetterId],
) -> Diagnostic {
    let family = statement.family.name();
    Diagnostic::error("E0702", format!("the probabilities of this {family} do not sum to 1 by their form"))
        .at(statement.span, "in this statement")
        .possible(
            "a slice on the simplex, data or constants whose values sum to 1, or a sum of products of these that sums to 1 \
             step by step",
        )
        .help(instead(model, symbols, statement, letters))
}

fn instead(model: &Model, symbols: &Symbols, statement: &Statement, letters: &[LetterId]) -> String {
    let outside = outside(symbols, statement);
    let is_softmax = statement.arguments.iter().flatten().any(|argument| {
        let mut found = false;
        argument.value.visit_functions(&mut |function| found |= function == Function::Exp);
        found
    });
    if outside.is_empty() {
        return "what is summed must weigh slices that sum to 1 with weights that sum to 1: the letter of each \
                `sum` is the slice of one factor, and the letter on the left that of the other"
            .to_owned();
    }
    if !is_softmax {
        let declared: Vec<String> =
            outside.iter().map(|own| on_simplex(model, *own, statement, letters)).collect();
        return format!(
            "give a prior on the simplex along the letter that sums to 1: {}",
            declared.join(" and ")
        );
    }
    if statement.observed {
        return by_counts(symbols, statement, &outside);
    }
    // A latent class takes probabilities that are slices themselves.
    let target = &symbols.array(statement.target).name;
    let mut around: Vec<LetterId> = Vec::new();
    for argument in statement.arguments.iter().flatten() {
        argument.value.visit_values(&mut |id, subscripts| {
            let own = symbols.array(id);
            if own.kind == ArrayKind::Latent {
                subscripts.iter().for_each(|subscript| subscript.letters(&mut around));
            }
        });
    }
    let plates: Vec<LetterId> =
        with_ancestors(symbols, &statement.plates).into_iter().filter(|own| around.contains(own)).collect();
    let name = |letter: &LetterId| symbols.letter(*letter).name.clone();
    let mut subscripts: Vec<String> = plates.iter().map(name).collect();
    let slice = letters.first().map_or("k".to_owned(), name);
    subscripts.push(format!(":{slice}"));
    let simplex = families_on(|support| support == Support::Simplex);
    let share = format!("share_of_{target}[{}]", subscripts.join(", "));
    let left = model.subscript_text(&Subscript::Index(statement.target, model.element(statement.target)));
    format!(
        "a softmax of latents has no bound where a latent class is drawn from it; let the probabilities be unknown themselves: \
         `{share} ~ {simplex}(1)` and `{left} ~ {}({share})`",
        statement.family.name()
    )
}

/// The latents among the arguments of a statement that are neither positions nor on the simplex.
fn outside(symbols: &Symbols, statement: &Statement) -> Vec<ArrayId> {
    let mut found: Vec<ArrayId> = Vec::new();
    for argument in statement.arguments.iter().flatten() {
        argument.value.visit_values(&mut |id, _| {
            let array = symbols.array(id);
            let fits = matches!(array.support, Support::Simplex | Support::Index(_));
            if array.kind == ArrayKind::Latent && !fits && !found.contains(&id) {
                found.push(id);
            }
        });
    }
    found
}

/// `truth[c, :e] ~ Dirichlet(1)`: the slice is the letter that the probabilities run over, else one that is summed.
fn on_simplex(model: &Model, array: ArrayId, statement: &Statement, letters: &[LetterId]) -> String {
    let symbols = &model.symbols;
    let mut place = None;
    for argument in statement.arguments.iter().flatten() {
        argument.value.visit_values(&mut |id, subscripts| {
            let along = |own: &Subscript| matches!(own, Subscript::Letter(letter) if letters.contains(letter));
            let summed =
                |own: &Subscript| matches!(own, Subscript::Letter(letter) if !statement.plates.contains(letter));
            if id == array && place.is_none() {
                place = subscripts.iter().position(along).or_else(|| subscripts.iter().rposition(summed));
            }
        });
    }
    let own = symbols.array(array);
    let place = place.unwrap_or(own.letters.len().saturating_sub(1));
    let texts: Vec<String> = (own.letters.iter().enumerate())
        .map(|(number, letter)| {
            let colon = if number == place { ":" } else { "" };
            format!("{colon}{}", symbols.letter(*letter).name)
        })
        .collect();
    let simplex = families_on(|support| support == Support::Simplex);
    format!("`{}[{}] ~ {simplex}(1)`", own.name, texts.join(", "))
}

/// Observed classes under a softmax have the maximiser of counts with a rate for each class.
fn by_counts(symbols: &Symbols, statement: &Statement, outside: &[ArrayId]) -> String {
    let counts = families().iter().find(|family| {
        family.data() == DataKind::Counts
            && family.slices() == Slices::None
            && matches!(family.parameters(), [only] if only.spellings[0].name == "rate")
    });
    let names: Vec<String> = outside.iter().map(|own| format!("`{}`", symbols.array(*own).name)).collect();
    let (target, counts) = (&symbols.array(statement.target).name, counts.map_or("counts", |own| own.name()));
    format!(
        "a softmax written out is a quotient of sums, for which there is no update; the same maximiser of {} has a {counts} \
         for each class: counts `c` of the classes, 1 for that of each `{target}` and 0 for the others, under \
         `{counts}(exp(a + e))` with `e` the exponent of the class, and for each copy of this statement an `a` of its own \
         with a flat prior, all as points",
        names.join(", ")
    )
}
