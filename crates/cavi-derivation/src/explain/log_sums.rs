//! What to write in place of a sum whose log has no bound.

use cavi_algebra::rules::{complements, to_sum};
use cavi_algebra::{ArrayKind, Atom, Expression, Factor, LetterId, Subscript, Sum, Support, Symbols, Term};
use cavi_families::{Domain, Family, Slices, families, fits_a_log};
use cavi_model::{ArgumentSpec, Model, Statement, text_of};
use cavi_syntax::Diagnostic;

use super::families_with_log;
use crate::bounds::sign::sign_unknown;
use crate::joint::with_ancestors;

/// The error about a chance `a / (a + b)` of latents: its log odds are a difference, for which there is a bound.
pub fn quotient(model: &Model, statement: &Statement) -> Option<Diagnostic> {
    let symbols = &model.symbols;
    let (place, argument) = chance(statement)?;
    let Expression::Multiply(parts) = &argument.value else { return None };
    let (above, below): (Vec<&Expression>, Vec<&Expression>) =
        parts.iter().partition(|part| !matches!(part, Expression::Power(..)));
    let [Expression::Power(base, exponent)] = below.as_slice() else { return None };
    let (Expression::Add(addends), Expression::Number(power)) = (&**base, &**exponent) else { return None };
    let ([one, other], [above]) = (addends.as_slice(), above.as_slice()) else { return None };
    let rest = match () {
        () if *power == -1.0 && *above == one => other,
        () if *power == -1.0 && *above == other => one,
        () => return None,
    };
    let spelled = statement.family.parameters()[place].spellings.iter().find(|own| own.name == "logit")?;
    let real =
        families().iter().find(|own| own.latent() == Some(Support::Real) && own.slices() == Slices::None)?;
    let mut priors: Vec<String> = Vec::new();
    argument.value.visit_values(&mut |array, _| {
        if symbols.array(array).kind == ArrayKind::Latent
            && !matches!(symbols.array(array).support, Support::Index(_))
        {
            let letters = letters_text(symbols, &with_ancestors(symbols, &symbols.array(array).letters));
            let text = format!("`{}{letters} ~ {}(0, sd = 1)`", symbols.array(array).name, real.name());
            if !priors.contains(&text) {
                priors.push(text);
            }
        }
    });
    let [above, rest] = [*above, rest].map(|own| text_of(symbols, own));
    let below = addends.iter().map(|own| text_of(symbols, own)).collect::<Vec<_>>().join(" + ");
    let quotient = format!("{above} / ({below})");
    Some(
        Diagnostic::error(
            "E0703",
            format!("`{quotient}` divides by a sum of latents, whose log has no bound from this side"),
        )
        .at(argument.span, "a quotient of latents")
        .possible(format!(
            "a chance by its log odds, which take a sum of products of latents under {}",
            real.name()
        ))
        .help(format!(
            "write `{} = {above} - {rest}`, the logs of what stands here, with {}",
            spelled.name,
            priors.join(" and ")
        )),
    )
}

/// The argument that is a chance, and which parameter it is.
fn chance(statement: &Statement) -> Option<(usize, &ArgumentSpec)> {
    let parameters = statement.family.parameters().iter().zip(&statement.arguments).enumerate();
    parameters.into_iter().find_map(|(place, (parameter, argument))| {
        let argument = argument.as_ref()?;
        (parameter.spellings[argument.spelling].domain == Domain::Unit).then_some((place, argument))
    })
}

/// Which real constant or data would make all addends of a sum nonnegative if they were declared as shares from 0 to 1: what such a
/// share leaves, `1 - share`, is never negative.
pub fn as_share(symbols: &Symbols, inside: &Sum, addend: &Term) -> Option<String> {
    let is_fine = |changed: &mut Symbols| {
        let sum = complements(changed, inside);
        sum.terms.iter().all(|term| sign_unknown(changed, term).is_none())
    };
    addend.factors.iter().find_map(|factor| {
        let Factor { atom: Atom::Value(id, _), power: 1 } = factor else { return None };
        let array = symbols.array(*id);
        let may_be = array.kind != ArrayKind::Latent
            && matches!(array.support, Support::Real | Support::Nonnegative | Support::Positive)
            && !matches!(array.value, Some(Expression::Number(value)) if !(0.0..=1.0).contains(&value));
        let mut changed = symbols.clone();
        changed.arrays[id.index()].support = Support::Unit;
        (may_be && is_fine(&mut changed)).then(|| {
            let word = if array.kind == ArrayKind::Constant { "const" } else { "data" };
            let (name, letters) = (&array.name, letters_text(symbols, &array.letters));
            format!(
                "if `{name}` is a share, from 0 to 1, declare it so, `{word} {name}{letters} : unit`: what it leaves, \
                 `1 - {name}`, is then never negative"
            )
        })
    })
}

/// What to write in place of a sum with an addend that may be negative: a mixture where a share is taken off, else one
/// latent for the whole.
pub fn without_negative_addend(
    model: &Model,
    symbols: &Symbols,
    statement: &Statement,
    addend: &Term,
) -> String {
    let of_two = |support: Support| matches!(support, Support::Unit | Support::Binary);
    let mut share: Option<(Support, Vec<Subscript>, String)> = None;
    for argument in statement.arguments.iter().flatten() {
        argument.value.visit_values(&mut |id, subscripts| {
            let array = symbols.array(id);
            if array.kind == ArrayKind::Latent
                && of_two(array.support)
                && addend.mentions(id)
                && share.as_ref().is_none_or(|(support, ..)| *support == Support::Unit)
            {
                share = Some((array.support, subscripts.to_vec(), array.name.clone()));
            }
        });
    }
    // A difference that is written, not the complement of a chance.
    let written = |argument: &ArgumentSpec| {
        let value = to_sum(&mut symbols.clone(), &argument.value);
        value.terms.iter().any(|term| term.coefficient.0 < 0.0)
    };
    let taken_off = addend.coefficient.0 < 0.0 && statement.arguments.iter().flatten().any(written);
    let unit = chance(statement).is_some();
    let slot = log_argument(model, statement);
    match (share, slot) {
        (Some((support, subscripts, name)), Some((word, family))) if taken_off => {
            let binary = support == Support::Binary;
            if binary || unit && statement.family.parameters().len() == 1 {
                let mut letters = statement.plates.clone();
                if binary {
                    letters.clear();
                    subscripts.iter().for_each(|subscript| subscript.letters(&mut letters));
                }
                return mixture(symbols, statement, &letters, word, unit);
            }
            let (axis, letter) = part_axis(symbols);
            let value = free_name(symbols, &[&format!("{word}_of_part"), &format!("{word}_in_part")]);
            format!(
                "let each addend have a {word} of its own, which holds its share: `axis {axis}[{letter}] = 2`, \
                 `{value}[{letter}] ~ {}`, and `{word} = sum[{letter}]({value}[{letter}])`, of which `{name}` is a quotient",
                prior_text(family)
            )
        }
        (_, Some((word, family))) => {
            let plates = letters_text(symbols, &with_ancestors(symbols, &statement.plates));
            let own = free_name(symbols, &[&format!("{word}_of_{}", symbols.array(statement.target).name)]);
            let stays = if unit { "stays between 0 and 1" } else { "is never negative" };
            let fitting: &[Support] =
                if unit { &[Support::Unit] } else { &[Support::Positive, Support::Nonnegative] };
            format!(
                "put one latent in place of the whole expression, `{word} = {own}{plates}`, with a prior of its own that {stays}, as \
                 `{own}{plates} ~ {}`: {}",
                prior_text(family),
                families_with_log(|support| fitting.contains(&support))
            )
        }
        _ => "write sums of products of variables that are never negative".to_owned(),
    }
}

/// The word of the argument that holds latents, and a family that may take its place.
fn log_argument(model: &Model, statement: &Statement) -> Option<(&'static str, &'static dyn Family)> {
    let parameters = statement.family.parameters().iter().zip(&statement.arguments);
    let (word, unit) = parameters.into_iter().find_map(|(parameter, argument)| {
        let argument = argument.as_ref()?;
        let spelling = &parameter.spellings[argument.spelling];
        let mut latent = false;
        argument.value.visit_values(&mut |id, _| latent |= model.symbols.array(id).kind == ArrayKind::Latent);
        let fits = matches!(spelling.domain, Domain::Unit | Domain::Positive | Domain::Nonnegative);
        (latent && fits).then_some((spelling.name, spelling.domain == Domain::Unit))
    })?;
    let support = if unit { Support::Unit } else { Support::Positive };
    let fits = |own: &&&'static dyn Family| {
        own.latent() == Some(support) && own.slices() == Slices::None && fits_a_log(**own)
    };
    Some((word, *families().iter().find(fits)?))
}

/// The name and the letter of an axis of two parts.
fn part_axis(symbols: &Symbols) -> (String, String) {
    (free_name(symbols, &["part", "branch"]), free_name(symbols, &["c", "c2"]))
}

/// `axis part[c] = 2`, `share[:c] ~ Dirichlet(1)`
fn slice_of_two(symbols: &Symbols) -> String {
    let simplex = super::families_on(|support| support == Support::Simplex);
    let ((axis, letter), share) = (part_axis(symbols), free_name(symbols, &["share", "weight"]));
    format!("axis {axis}[{letter}] = 2`, `{share}[:{letter}] ~ {simplex}(1)")
}

/// Each copy draws one of two values.
fn mixture(symbols: &Symbols, statement: &Statement, letters: &[LetterId], word: &str, unit: bool) -> String {
    let classes = super::families_on(|support| matches!(support, Support::Index(_)));
    let support = if unit { Support::Unit } else { Support::Positive };
    let prior = families()
        .iter()
        .find(|own| own.latent() == Some(support) && own.slices() == Slices::None && fits_a_log(**own));
    let plates = letters_text(symbols, &with_ancestors(symbols, letters));
    let others = statement.plates.iter().filter(|own| !letters.contains(own));
    let others: String = others.map(|own| format!(", {}", symbols.letter(*own).name)).collect();
    let target = &symbols.array(statement.target).name;
    let chosen = free_name(symbols, &[&format!("part_of_{target}"), "chosen_part"]);
    let value = free_name(symbols, &[&format!("{word}_of_part"), &format!("{word}_in_part")]);
    let (letter, share) = (free_name(symbols, &["c", "c2"]), free_name(symbols, &["share", "weight"]));
    format!(
        "a weighted mean is a mixture, of which each copy draws one part: `{}`, `{chosen}{plates} ~ {classes}({share})`, \
         `{value}[{letter}{others}] ~ {}`, and `{word} = {value}[{chosen}{plates}{others}]` in place of the sum",
        slice_of_two(symbols),
        prior.map_or_else(String::new, |own| prior_text(*own)),
    )
}

/// A family with 1 for each parameter.
fn prior_text(family: &dyn Family) -> String {
    let arguments: Vec<String> = (family.parameters().iter())
        .map(|parameter| match parameter.positional {
            true => "1".to_owned(),
            false => format!("{} = 1", parameter.spellings[0].name),
        })
        .collect();
    format!("{}({})", family.name(), arguments.join(", "))
}

fn letters_text(symbols: &Symbols, letters: &[LetterId]) -> String {
    let names: Vec<&str> = letters.iter().map(|letter| symbols.letter(*letter).name.as_str()).collect();
    if names.is_empty() { String::new() } else { format!("[{}]", names.join(", ")) }
}

/// The first of these names that no array, axis or letter has, else the first with a number.
pub fn free_name(symbols: &Symbols, wishes: &[&str]) -> String {
    let taken = |name: &str| {
        symbols.arrays.iter().any(|own| own.name == name)
            || symbols.axes.iter().any(|own| own.name == name)
            || symbols.letters.iter().any(|own| own.name == name)
    };
    let numbered = (1..).map(|number| format!("{}{number}", wishes[0]));
    let mut all = wishes.iter().map(|own| (*own).to_owned()).chain(numbered);
    all.find(|name| !taken(name)).expect("there are more numbers than names")
}
