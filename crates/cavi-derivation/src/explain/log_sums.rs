//! What to write in place of a sum whose log has no bound.

use cavi_algebra::rules::{complements, to_sum};
use cavi_algebra::{
    ArrayId, ArrayKind, Atom, Expression, Factor, Function, LetterId, Subscript, Sum, Support, Symbols, Term,
};
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
    let logs = log_of(symbols, above).zip(log_of(symbols, rest));
    // The latents whose logs stand in their place have other priors.
    let mut priors: Vec<String> = Vec::new();
    logs.iter().flat_map(|(above, rest)| above.renamed.iter().chain(&rest.renamed)).for_each(|array| {
        let letters = letters_text(symbols, &with_ancestors(symbols, &symbols.array(*array).letters));
        let text = format!("`{}{letters} ~ {}(0, sd = 1)`", symbols.array(*array).name, real.name());
        if !priors.contains(&text) {
            priors.push(text);
        }
    });
    let help = match logs {
        Some((above, rest)) => {
            let odds: Vec<Expression> =
                above.addends.into_iter().chain(rest.addends.into_iter().map(negated)).collect();
            let odds = match <[Expression; 1]>::try_from(odds) {
                Ok([only]) => only,
                Err(several) => Expression::Add(several),
            };
            let odds = format!("`{} = {}`", spelled.name, text_of(symbols, &odds));
            match priors.is_empty() {
                true => format!("write {odds}, the same chance by its log odds"),
                false => format!("write {odds}, the logs of what stands here, with {}", priors.join(" and ")),
            }
        }
        None => format!("write `{} = ...`, with the log odds as a sum of products", spelled.name),
    };
    let [above] = [*above].map(|own| text_of(symbols, own));
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
        .help(help),
    )
}

/// A logarithm as a sum, and the latents that stand in it in the place of their logs.
#[derive(Default)]
struct LogSum {
    addends: Vec<Expression>,
    renamed: Vec<ArrayId>,
}

/// The logarithm of a product of exponentials, numbers and elements: `log(exp(b x) a) = b x + log a`, where a latent `a` is written for its own
/// log. `None` of sums and other functions.
fn log_of(symbols: &Symbols, value: &Expression) -> Option<LogSum> {
    let of = |addend: Expression| Some(LogSum { addends: vec![addend], ..LogSum::default() });
    match value {
        Expression::Number(1.0) => Some(LogSum::default()),
        Expression::Number(number) if *number > 0.0 => {
            of(Expression::Apply(Function::Log, Box::new(value.clone())))
        }
        Expression::Value(array, _) if symbols.array(*array).kind == ArrayKind::Latent => {
            Some(LogSum { addends: vec![value.clone()], renamed: vec![*array] })
        }
        Expression::Value(..) => of(Expression::Apply(Function::Log, Box::new(value.clone()))),
        Expression::Apply(Function::Exp, exponent) => match &**exponent {
            Expression::Add(addends) => Some(LogSum { addends: addends.clone(), ..LogSum::default() }),
            exponent => of(exponent.clone()),
        },
        Expression::Multiply(parts) => parts.iter().try_fold(LogSum::default(), |mut all, part| {
            let own = log_of(symbols, part)?;
            all.addends.extend(own.addends);
            all.renamed.extend(own.renamed);
            Some(all)
        }),
        Expression::Power(base, exponent) if **exponent == Expression::Number(-1.0) => {
            let own = log_of(symbols, base)?;
            Some(LogSum { addends: own.addends.into_iter().map(negated).collect(), ..own })
        }
        _ => None,
    }
}

/// `-value`, and `value` of `-value`.
fn negated(value: Expression) -> Expression {
    match value {
        Expression::Number(number) => Expression::Number(-number),
        Expression::Multiply(mut parts) => {
            match parts.first_mut() {
                Some(Expression::Number(-1.0)) => {
                    parts.remove(0);
                }
                Some(Expression::Number(number)) => *number = -*number,
                Some(first @ Expression::Multiply(_)) => *first = negated(first.clone()),
                _ => parts.insert(0, Expression::Number(-1.0)),
            }
            match <[Expression; 1]>::try_from(parts) {
                Ok([only]) => only,
                Err(parts) => Expression::Multiply(parts),
            }
        }
        value => Expression::Multiply(vec![Expression::Number(-1.0), value]),
    }
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
///
/// What is written has the subscripts of what it replaces: a share by group stays one by group, a switch of a group draws one
/// part for the group, and a part has the letters of the addends.
pub fn without_negative_addend(
    model: &Model,
    symbols: &Symbols,
    statement: &Statement,
    addend: &Term,
) -> String {
    let of_two = |support: Support| matches!(support, Support::Unit | Support::Binary);
    let mut share: Option<Element> = None;
    let is_binary = |own: &Element| symbols.array(own.0).support == Support::Binary;
    for argument in statement.arguments.iter().flatten() {
        argument.value.visit_values(&mut |id, subscripts| {
            let array = symbols.array(id);
            let binary = array.support == Support::Binary;
            if array.kind == ArrayKind::Latent
                && of_two(array.support)
                && (binary || addend.mentions(id))
                && share.as_ref().is_none_or(|own| binary && !is_binary(own))
            {
                share = Some((id, subscripts.to_vec()));
            }
        });
    }
    // A difference that is written, not the complement of a chance.
    let written = |argument: &ArgumentSpec| {
        let value = to_sum(&mut symbols.clone(), &argument.value);
        value.terms.iter().any(|term| term.coefficient.0 < 0.0)
    };
    let is_sum = |argument: &ArgumentSpec| matches!(argument.value, Expression::Add(_));
    let taken_off = addend.coefficient.0 < 0.0 && statement.arguments.iter().flatten().any(written);
    let unit = chance(statement).is_some();
    let slot = log_argument(model, statement);
    match (share, slot) {
        (Some(share), Some((word, _)))
            if is_binary(&share) && (taken_off || unit)
                || taken_off && unit && statement.family.parameters().len() == 1 =>
        {
            mixture(model, statement, &share, word, unit)
        }
        // `p * a + (1 - p) * b` of rates: what takes the share off is one of several addends, and has a factor beside it.
        (Some(share), Some((word, family)))
            if taken_off
                && !unit
                && addend.factors.len() > 1
                && statement.arguments.iter().flatten().any(is_sum) =>
        {
            let (axis, letter) = part_axis(symbols);
            let value = free_name(symbols, &[&format!("{word}_of_part"), &format!("{word}_in_part")]);
            let places = Places::of(symbols, &varying(symbols, statement, |_| true));
            format!(
                "let each addend have a {word} of its own, which holds its share: `axis {axis}[{letter}] = 2`, \
                 `{value}{} ~ {}`, and `{word} = sum[{letter}]({value}{})`, of which `{}` is a quotient",
                places.declared(symbols, &[&letter], &[]),
                prior_text(family),
                places.read(symbols, &[&letter], &[]),
                symbols.array(share.0).name,
            )
        }
        (_, Some((word, family))) => {
            let places = Places::of(symbols, &varying(symbols, statement, |_| true));
            let own = free_name(symbols, &[&format!("{word}_of_{}", symbols.array(statement.target).name)]);
            let (declared, read) = (places.declared(symbols, &[], &[]), places.read(symbols, &[], &[]));
            let stays = if unit { "stays between 0 and 1" } else { "is never negative" };
            let fitting: &[Support] =
                if unit { &[Support::Unit] } else { &[Support::Positive, Support::Nonnegative] };
            format!(
                "put one latent in place of the whole expression, `{word} = {own}{read}`, with a prior of its own that {stays}, as \
                 `{own}{declared} ~ {}`: {}",
                prior_text(family),
                families_with_log(|support| fitting.contains(&support))
            )
        }
        _ => "write sums of products of variables that are never negative".to_owned(),
    }
}

/// An array with the subscripts under which it is read.
type Element = (ArrayId, Vec<Subscript>);

/// The elements that an expression of a statement varies with: of latents, data and constants that are no indices and for which
/// `keep` holds.
fn varying(symbols: &Symbols, statement: &Statement, keep: impl Fn(ArrayId) -> bool) -> Vec<Element> {
    let mut found: Vec<Element> = Vec::new();
    let mut free = with_ancestors(symbols, &statement.plates);
    free.extend(&statement.slices);
    for argument in statement.arguments.iter().flatten() {
        argument.value.visit_values(&mut |id, subscripts| {
            let mut letters = Vec::new();
            subscripts.iter().for_each(|subscript| subscript.letters(&mut letters));
            // An index stands in the subscripts of what it chooses; what is summed over is gone from the sum.
            let index = matches!(symbols.array(id).support, Support::Index(_));
            let element = (id, subscripts.to_vec());
            if !index && keep(id) && letters.iter().all(|own| free.contains(own)) && !found.contains(&element)
            {
                found.push(element);
            }
        });
    }
    found
}

/// Subscripts, each with the letter that it has where the array is declared.
struct Places(Vec<(LetterId, Subscript)>);

impl Places {
    /// Those of all these elements. What follows from others, as `of[n]` beside `n`, is left out.
    fn of(symbols: &Symbols, elements: &[Element]) -> Self {
        let mut all: Vec<(LetterId, Subscript)> = Vec::new();
        for (id, subscripts) in elements {
            for (own, subscript) in symbols.array(*id).letters.iter().zip(subscripts) {
                let places = match subscript {
                    Subscript::Letter(letter) => (with_ancestors(symbols, &[*letter]).into_iter())
                        .map(|letter| (letter, Subscript::Letter(letter)))
                        .collect(),
                    Subscript::Index(..) => vec![(*own, subscript.clone())],
                };
                for (letter, subscript) in places {
                    // Two places on one axis have two of its letters.
                    let taken = |letter: LetterId| all.iter().any(|(own, _)| *own == letter);
                    let axis = symbols.axis(symbols.letter(letter).axis);
                    let mut letters = std::iter::once(letter).chain(axis.letters.iter().copied());
                    let known = all.iter().any(|(_, own)| *own == subscript);
                    if let Some(letter) = letters.find(|own| !taken(*own)).filter(|_| !known) {
                        all.push((letter, subscript));
                    }
                }
            }
        }
        let bare: Vec<LetterId> = (all.iter())
            .filter_map(|(_, subscript)| match subscript {
                Subscript::Letter(letter) => Some(*letter),
                Subscript::Index(..) => None,
            })
            .collect();
        all.retain(|(_, subscript)| {
            let mut letters = Vec::new();
            subscript.letters(&mut letters);
            matches!(subscript, Subscript::Letter(_)) || !letters.iter().all(|own| bare.contains(own))
        });
        Places(all)
    }

    /// The subscripts on the left of a statement, between those in front and those behind.
    fn declared(&self, symbols: &Symbols, before: &[&str], behind: &[&str]) -> String {
        let own = self.0.iter().map(|(letter, _)| symbols.letter(*letter).name.clone());
        bracketed(before, own.collect(), behind)
    }

    /// The subscripts on the right of a statement.
    fn read(&self, symbols: &Symbols, before: &[&str], behind: &[&str]) -> String {
        let own = self.0.iter().map(|(_, subscript)| match subscript {
            Subscript::Letter(letter) => symbols.letter(*letter).name.clone(),
            Subscript::Index(id, inner) => text_of(symbols, &Expression::Value(*id, inner.clone())),
        });
        bracketed(before, own.collect(), behind)
    }
}

fn bracketed(before: &[&str], own: Vec<String>, behind: &[&str]) -> String {
    let mut all: Vec<String> = before.iter().map(|own| (*own).to_owned()).collect();
    all.extend(own);
    all.extend(behind.iter().map(|own| (*own).to_owned()));
    if all.is_empty() { String::new() } else { format!("[{}]", all.join(", ")) }
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

/// Each copy draws one of two values: a copy of the switch where the share is binary, else an entry of the statement.
fn mixture(model: &Model, statement: &Statement, share: &Element, word: &str, unit: bool) -> String {
    let symbols = &model.symbols;
    let simplex = super::families_on(|support| support == Support::Simplex);
    let classes = super::families_on(|support| matches!(support, Support::Index(_)));
    let support = if unit { Support::Unit } else { Support::Positive };
    let prior = families()
        .iter()
        .find(|own| own.latent() == Some(support) && own.slices() == Slices::None && fits_a_log(**own));
    let (axis, letter) = part_axis(symbols);
    let slice = format!(":{letter}");
    let target = &symbols.array(statement.target).name;
    let chosen = free_name(symbols, &[&format!("part_of_{target}"), "chosen_part"]);
    let value = free_name(symbols, &[&format!("{word}_of_part"), &format!("{word}_in_part")]);
    let weight = free_name(symbols, &["share", "weight"]);
    // Who draws, and with which chances.
    let entries: Vec<LetterId> = with_ancestors(symbols, &statement.plates);
    let entries = Places(entries.into_iter().map(|own| (own, Subscript::Letter(own))).collect());
    let (drawn, chances) = if symbols.array(share.0).support == Support::Binary {
        (Places::of(symbols, std::slice::from_ref(share)), chance_of(model, share.0))
    } else {
        (entries, Places::of(symbols, std::slice::from_ref(share)))
    };
    let others = varying(symbols, statement, |id| {
        id != share.0 && symbols.array(id).kind == ArrayKind::Latent && !symbols.array(id).letters.is_empty()
    });
    let others = Places::of(symbols, &others);
    let read = if chances.0.is_empty() {
        weight.clone()
    } else {
        format!("{weight}{}", chances.read(symbols, &[], &[&slice]))
    };
    let selected = format!("{chosen}{}", drawn.read(symbols, &[], &[]));
    format!(
        "a weighted mean is a mixture, of which each copy draws one part: `axis {axis}[{letter}] = 2`, `{weight}{} ~ \
         {simplex}(1)`, `{chosen}{} ~ {classes}({read})`, `{value}{} ~ {}`, and `{word} = {value}{}` in place of the \
         expression",
        chances.declared(symbols, &[], &[&slice]),
        drawn.declared(symbols, &[], &[]),
        others.declared(symbols, &[&letter], &[]),
        prior.map_or_else(String::new, |own| prior_text(*own)),
        others.read(symbols, &[&selected], &[]),
    )
}

/// The subscripts of the latent that is the chance of a switch.
fn chance_of(model: &Model, switch: ArrayId) -> Places {
    let symbols = &model.symbols;
    let own = model.statements.iter().find(|own| own.target == switch);
    let element = own.and_then(chance).and_then(|(_, argument)| match &argument.value {
        Expression::Value(id, subscripts) if symbols.array(*id).kind == ArrayKind::Latent => {
            Some((*id, subscripts.clone()))
        }
        _ => None,
    });
    element.map_or(Places(Vec::new()), |own| Places::of(symbols, &[own]))
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
