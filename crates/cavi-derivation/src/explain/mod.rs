//! The errors about a missing closed form: which statement, which monomial, what the family has, what is left over,
//! and what would compile.

use cavi_algebra::{
    ArrayId, Atom, Block, BlockId, Elementary, LetterId, Mode, StatementId, Statistic, Subscript, Sum,
    Support, Symbols, Term, dedup,
};
use cavi_families::{
    Family, Posterior, families, fits_a_log, joins, posterior, posteriors, recognise, recognise_joint,
};
use cavi_model::{Model, Statement};
use cavi_syntax::Diagnostic;

mod log_sums;
mod repair;
mod simplex;

pub use log_sums::{as_share, quotient, without_negative_addend};
pub use repair::{Complaint, suggest};
pub use simplex::not_on_simplex;

use crate::absent::number_of;
use crate::blocks::Draft;
use crate::bounds::sign::Sign;
use crate::derive::Derivation;
use crate::expect::Leftover;
use crate::joint::with_ancestors;

/// The families whose latents have such a support, as a list.
pub fn families_on(fits: impl Fn(Support) -> bool) -> String {
    list(families().iter().copied().filter(|family| family.latent().is_some_and(&fits)))
}

/// The families whose latents have such a support, and whose logarithm has an expectation, as a list.
pub fn families_with_log(fits: impl Fn(Support) -> bool) -> String {
    let fitting = families().iter().copied().filter(|family| family.latent().is_some_and(&fits));
    list(fitting.filter(|family| fits_a_log(*family)))
}

fn list(families: impl Iterator<Item = &'static dyn Family>) -> String {
    let names: Vec<&str> = families.map(|family| family.name()).collect();
    names.join(", ")
}

/// The name of the prior of points that adds nothing.
pub fn flat() -> &'static str {
    let flat = families().iter().find(|family| family.only_point() && family.parameters().is_empty());
    flat.expect("a prior without parameters is registered").name()
}

fn names(symbols: &Symbols, draft: &Draft) -> String {
    draft.members.iter().map(|member| symbols.array(*member).name.as_str()).collect::<Vec<_>>().join(", ")
}

/// A statistic of a block as text: `x^2`, `log x`.
fn statistic_text(symbols: &Symbols, draft: &Draft, statistic: &Statistic) -> String {
    let part = |(member, elementary): &(u8, Elementary)| {
        let name = &symbols.array(draft.members[usize::from(*member)]).name;
        match elementary {
            Elementary::Power(1) => name.clone(),
            Elementary::Power(-1) => format!("1/{name}"),
            Elementary::Power(power) => format!("{name}^{power}"),
            Elementary::Log => format!("log {name}"),
            Elementary::LogComplement => format!("log(1 - {name})"),
            Elementary::Indicator => format!("[{name} = class]"),
            Elementary::LogDeterminant => format!("logdet {name}"),
            Elementary::Contracted(_) => name.clone(),
            Elementary::Centred => format!("({name} - E {name})"),
            Elementary::Mass | Elementary::MassOfComplement => {
                unreachable!("no density has a natural parameter of q")
            }
        }
    };
    let parts: Vec<String> = statistic.0.iter().map(part).collect();
    // A quadratic form of a vector in a matrix.
    let linear =
        |elementary: &Elementary| matches!(elementary, Elementary::Power(1) | Elementary::Contracted(_));
    if let [(one, first), (other, second), rest @ ..] = statistic.0.as_slice()
        && linear(first)
        && linear(second)
        && one == other
        && draft.slices.get(usize::from(*one)).is_some_and(|letters| letters.len() == 1)
    {
        let (vector, matrix) = (&parts[0], &parts[2..]);
        return match rest {
            [] => format!("{vector} {vector}'"),
            _ => format!("{vector}' {} {vector}", matrix.join(" ")),
        };
    }
    parts.join(" ")
}

fn family_statistics(symbols: &Symbols, draft: &Draft, family: &dyn Posterior) -> String {
    let statistics = family.statistics();
    let texts: Vec<String> =
        statistics.iter().map(|own| statistic_text(symbols, draft, &own.statistic)).collect();
    texts.join(", ")
}

/// `a, b or c`
fn listed(texts: &[String], word: &str) -> String {
    match texts {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} {word} {last}", rest.join(", ")),
    }
}

/// `` `log x`, `x` ``
fn statistics_text<'s>(
    symbols: &Symbols,
    draft: &Draft,
    statistics: impl IntoIterator<Item = &'s Statistic>,
) -> String {
    let texts: Vec<String> = statistics
        .into_iter()
        .map(|statistic| format!("`{}`", statistic_text(symbols, draft, statistic)))
        .collect();
    listed(&texts, "and")
}

fn is_sliced(draft: &Draft) -> bool {
    draft.slices.iter().any(|letters| !letters.is_empty())
}

fn supports(symbols: &Symbols, draft: &Draft) -> Vec<Support> {
    draft.members.iter().map(|member| symbols.array(*member).support).collect()
}

/// The families of q that a block with these members and slices may have; those for points only where it is one.
fn candidates(symbols: &Symbols, draft: &Draft) -> Vec<&'static dyn Posterior> {
    let supports = supports(symbols, draft);
    let fits = |family: &&'static dyn Posterior| match supports.as_slice() {
        [support] => family.lives_on(*support) && family.over_slice() == is_sliced(draft),
        several => joins(*family, several, is_sliced(draft)),
    };
    let allowed = |family: &&'static dyn Posterior| draft.mode == Mode::Point || !family.only_point();
    posteriors().iter().copied().filter(fits).filter(allowed).collect()
}

/// The families of q that a block may have, with their statistics.
fn choices(derivation: &Derivation, draft: &Draft) -> String {
    let texts: Vec<String> = candidates(&derivation.symbols, draft)
        .into_iter()
        .map(|family| {
            format!("{} has {}", family.name(), family_statistics(&derivation.symbols, draft, family))
        })
        .collect();
    match (texts.as_slice(), draft.members.len()) {
        ([], 1) => "no family of q has this support and these slices".to_owned(),
        ([], _) => "no joint family of q has members with these supports".to_owned(),
        (texts, _) => texts.join("; "),
    }
}

/// The factors without a closed form: functions or powers of sums that hold the block. A mistake is reported once for
/// a block, however many terms it appears in.
pub fn leftover(
    derivation: &Derivation,
    drafts: &[Draft],
    block: BlockId,
    leftovers: &[(StatementId, Box<Leftover>)],
) -> Diagnostic {
    let draft = &drafts[block.index()];
    let variable = names(&derivation.symbols, draft);
    let monomials: Vec<String> =
        dedup(leftovers.iter().map(|(_, own)| monomial(&derivation.symbols, own)).collect());
    let is = if monomials.len() == 1 { "is no sufficient statistic" } else { "are no sufficient statistics" };
    let mut diagnostic = Diagnostic::error(
        "E0710",
        format!("`{variable}` has no closed-form update: {} {is} of any family", listed(&monomials, "and")),
    );
    let statements = dedup(leftovers.iter().map(|(statement, _)| *statement).collect::<Vec<_>>());
    for (number, statement) in statements.into_iter().enumerate() {
        let span = derivation.model.statements[statement.index()].span;
        let own = leftovers.iter().filter(|(other, _)| *other == statement);
        let own = dedup(own.map(|(_, own)| monomial(&derivation.symbols, own)).collect());
        let text = format!("this statement contributes {}", listed(&own, "and"));
        diagnostic = if number == 0 { diagnostic.at(span, text) } else { diagnostic.also(span, text) };
    }
    if leftovers.iter().all(|(own, _)| derivation.model.statements[own.index()].span != draft.span) {
        diagnostic = diagnostic.also(draft.span, format!("`{variable}` is stated here"));
    }
    diagnostic.possible(format!("on this support: {}", choices(derivation, draft))).help(format!(
        "rewrite the statement as sums of products of `{variable}`, or make `{variable}` a constant or data"
    ))
}

/// The leftover monomial, as text.
fn monomial(symbols: &Symbols, leftover: &Leftover) -> String {
    let mut alone = leftover.term.clone();
    match alone.factors.get(leftover.position) {
        Some(factor) => {
            alone.factors = vec![factor.clone()];
            alone.sums.clear();
            alone.coefficient = cavi_algebra::Coefficient(1.0);
            in_words(symbols, alone)
        }
        None => "its monomial".to_owned(),
    }
}

/// A term as the user reads it.
pub fn in_words(symbols: &Symbols, term: Term) -> String {
    let scope = cavi_algebra::print::Scope::before(symbols);
    format!("`{}`", cavi_algebra::print::text::sum(scope, &Sum::term(term)))
}

/// A bound that a block asks for, and that does not hold of one of its products.
pub fn bound_fails(
    derivation: &Derivation,
    draft: &Draft,
    bound: &str,
    term: &Term,
    sign: &Sign,
) -> Diagnostic {
    let variable = names(&derivation.symbols, draft);
    let why = match sign {
        Sign::Negative => String::new(),
        Sign::Unknown(why) => format!(": {why}"),
    };
    let product = in_words(&derivation.symbols, Term { sums: Vec::new(), ..term.clone() });
    Diagnostic::error("E0791", format!("`by {bound}` cannot serve `{variable}`: the log density has {product}, which may be positive{why}"))
        .at(draft.span, "asked for here")
        .possible("squares of sums of products that cannot be negative")
        .help("leave `by` out: the exact update is used; data that cannot be negative are declared `nonnegative`")
}

/// Points that are to be optimised together and cannot be.
pub fn no_gradient(derivation: &Derivation, draft: &Draft) -> Diagnostic {
    let variables = names(&derivation.symbols, draft);
    Diagnostic::error("E0715", format!("`{variables}` cannot be optimised together"))
        .at(draft.span, "stated here")
        .possible(
            "several points that are numbers or slices on a simplex, in functions that have derivatives",
        )
        .help("give each variable a line of its own: `point a, b` are two blocks, `point (a, b)` is one")
}

/// The collected statistics belong to no family on the support.
pub fn no_family(
    derivation: &Derivation,
    drafts: &[Draft],
    block: BlockId,
    wanted: &[Statistic],
    places: &[(Statistic, StatementId)],
) -> (Diagnostic, Option<StatementId>) {
    let draft = &drafts[block.index()];
    let symbols = &derivation.symbols;
    let variable = names(symbols, draft);
    let is_own = |statement: StatementId| {
        draft.members.contains(&derivation.model.statements[statement.index()].target)
    };
    let own: Vec<Statistic> = places
        .iter()
        .filter(|(statistic, statement)| is_own(*statement) && wanted.contains(statistic))
        .map(|(statistic, _)| statistic.clone())
        .collect();
    let own = dedup(own);
    // The factor that the prior alone would have.
    let prior = match supports(symbols, draft).as_slice() {
        [support] => recognise(*support, is_sliced(draft), draft.mode == Mode::Point, &own),
        several => recognise_joint(several, is_sliced(draft), &own),
    };
    let prior = prior.map(posterior);
    let stated: Vec<&str> = draft
        .members
        .iter()
        .filter_map(|member| derivation.model.statement_of(*member))
        .map(|statement| statement.family.name())
        .collect();
    let stated = dedup(stated).join(" and ");
    let has = |statistic: &Statistic| {
        prior.is_some_and(|family| family.statistics().iter().any(|own| own.statistic == *statistic))
    };
    let mut left: Vec<&Statistic> = wanted.iter().filter(|statistic| !has(statistic)).collect();
    if left.is_empty() {
        left = wanted.iter().collect();
    }
    let from_elsewhere =
        |(statistic, statement): &&(Statistic, StatementId)| left.contains(&statistic) && !is_own(*statement);
    let culprit = places.iter().find(from_elsewhere).map(|(_, statement)| *statement);
    let contributed = |statement: StatementId| {
        let own = places.iter().filter(|(_, other)| *other == statement).map(|(statistic, _)| statistic);
        statistics_text(symbols, draft, dedup(own.collect::<Vec<_>>()))
    };
    let is = if left.len() == 1 { "is no sufficient statistic" } else { "are no sufficient statistics" };
    let left = statistics_text(symbols, draft, left.iter().copied());
    let message = match prior {
        Some(_) => format!("`{variable}` has no closed-form update: {left} {is} of its prior, {stated}"),
        None if draft.members.len() > 1 => {
            format!("the joint factor q({variable}) has no closed form: no family of q has {left}")
        }
        None => format!("`{variable}` has no closed-form update: no family of q has {left}"),
    };
    let mut diagnostic = Diagnostic::error("E0711", message);
    let prior_text = |family: &dyn Posterior| {
        let has = family_statistics(symbols, draft, family);
        format!("its prior, {stated}, has {has}")
    };
    let prior_place = derivation.model.array_spans[draft.members[0].index()];
    diagnostic = match culprit {
        Some(statement) => {
            let span = derivation.model.statements[statement.index()].span;
            let diagnostic =
                diagnostic.at(span, format!("this statement contributes {}", contributed(statement)));
            match prior {
                Some(family) => diagnostic.also(prior_place, prior_text(family)),
                None => {
                    let first = &symbols.array(draft.members[0]).name;
                    diagnostic.also(prior_place, format!("`{first}` is stated here"))
                }
            }
        }
        None => {
            let all = statistics_text(symbols, draft, wanted);
            diagnostic.at(draft.span, format!("the log joint has {all}"))
        }
    };
    let diagnostic = diagnostic
        .possible(format!(
            "the log joint has {}; factors of q on this support: {}",
            statistics_text(symbols, draft, wanted),
            choices(derivation, draft)
        ))
        .help(format!(
            "give `{variable}` a prior that is conjugate to this statement, or make it a constant"
        ));
    (diagnostic, culprit)
}

/// Collects the expectations in a sum that its blocks' families do not answer.
pub fn unanswered(blocks: &[Block], sum: &Sum, out: &mut Vec<(usize, Statistic)>) {
    for factor in sum.terms.iter().flat_map(|term| &term.factors) {
        if let Atom::Moment(moment) = &factor.atom {
            let block = &blocks[moment.block.index()];
            let answered = answers(posterior(block.family), &moment.statistic);
            let entry = (moment.block.index(), moment.statistic.clone());
            if !answered && !out.contains(&entry) {
                out.push(entry);
            }
        }
        factor.atom.nested().into_iter().for_each(|inner| {
            // The sum inside of a square, before its expectation, is kept for printing only. It holds no expectation.
            unanswered(blocks, inner, out);
        });
    }
}

/// Whether a family answers an expectation: by itself, or as `E x y = E x E y + Cov(x, y)`.
fn answers(family: &dyn Posterior, statistic: &Statistic) -> bool {
    let direct = |wanted: &Statistic| family.expectation_of(wanted).is_some();
    let of_vector = if family.one_vector() { statistic.of_one_vector() } else { statistic.clone() };
    let second = of_vector == Statistic::square() || of_vector == Statistic::outer();
    direct(statistic) || (second && direct(&Statistic::identity()) && direct(&Statistic::covariance()))
}

/// A block's family does not answer an expectation that another update needs.
pub fn no_expectation(
    derivation: &Derivation,
    drafts: &[Draft],
    block: BlockId,
    blocks: &[Block],
    statistic: &Statistic,
) -> Diagnostic {
    let draft = &drafts[block.index()];
    let variable = names(&derivation.symbols, draft);
    let family = posterior(blocks[block.index()].family).name();
    let text = statistic_text(&derivation.symbols, draft, statistic);
    Diagnostic::error("E0712", format!("the expectation of `{text}` under q has no closed form"))
        .at(draft.span, format!("q(`{variable}`) is {family}"))
        .possible("expectations that the family of q answers: its statistics, its mean and variance")
        .help("write the model without this term".to_owned())
}

/// One line about a block: what `check` notes of the chosen factorisation.
pub fn describe_block(symbols: &Symbols, block: &Block) -> String {
    let members: Vec<String> = block
        .members
        .iter()
        .zip(&block.slices)
        .map(|(member, slices)| {
            let array = symbols.array(*member);
            let text = |letter: LetterId| {
                let name = &symbols.letter(letter).name;
                if slices.contains(&letter) { format!(":{name}") } else { name.clone() }
            };
            let lineage = |letter: &LetterId| symbols.lineage(*letter).into_iter().rev().map(text).collect();
            let dimensions: Vec<Vec<String>> = array.letters.iter().map(lineage).collect();
            let subscripts = symbols.written(*member, &dimensions);
            if subscripts.is_empty() {
                array.name.clone()
            } else {
                format!("{}[{}]", array.name, subscripts.join(", "))
            }
        })
        .collect();
    let family = posterior(block.family).name();
    let kind = match block.mode {
        Mode::Distribution => format!("q({}): {family}", members.join(", ")),
        Mode::Point => format!("point {}", members.join(", ")),
        Mode::Fixed => format!("fixed {}: {family}", members.join(", ")),
        Mode::Implicit => format!("implicit {}: {family}", members.join(", ")),
    };
    if block.in_order.is_empty() { kind } else { format!("{kind}, copies in order") }
}

/// A point whose prior has an infinite density on the boundary, and no `clamp`.
pub fn infinite_mode(
    derivation: &Derivation,
    drafts: &[Draft],
    (block, member): (BlockId, u8),
    prior: &Sum,
) -> Diagnostic {
    let draft = &drafts[block.index()];
    let member = draft.members[usize::from(member)];
    let variable = &derivation.symbols.array(member).name;
    let text = cavi_algebra::print::text::sum(cavi_algebra::print::Scope::before(&derivation.symbols), prior);
    let statement = derivation.model.statement_of(member);
    let symbols = &derivation.symbols;
    let constants = (0..symbols.arrays.len()).map(ArrayId::from).filter(|array| prior.mentions(*array));
    let is_literal = |array: &ArrayId| symbols.array(*array).name.parse::<f64>().is_ok();
    let constants = constants.filter(|array| !is_literal(array));
    let named = |array| Some(format!("`{}` is {}", symbols.array(array).name, number_of(symbols, array)?));
    let values: Vec<String> = constants.filter_map(named).collect();
    let by = if values.is_empty() { String::new() } else { format!(": {}", values.join(", ")) };
    Diagnostic::error("E0713", format!("the mode of `{variable}` lies at 0, where its density is infinite"))
        .at(statement.map_or(draft.span, |statement| statement.span), format!("its prior has `{text}` times the log, which is negative{by}"))
        .also(draft.span, "a point takes the mode")
        .possible("a prior whose coefficient of the log is 0 or more: a shape or concentration of at least 1")
        .help(format!("raise the shape (concentration) to at least 1, drop the `point` line, or write `point {variable} clamp` (no ascent is claimed then)"))
}

/// A latent for each addend that a selection stands in, whose sum takes the place of theirs.
pub fn latent_of_each_addend(model: &Model, statement: &Statement, index: ArrayId) -> String {
    let symbols = &model.symbols;
    let mut selected = None;
    for argument in statement.arguments.iter().flatten() {
        argument.value.visit_values(&mut |array, subscripts| {
            if subscripts.iter().any(|own| matches!(own, Subscript::Index(own, _) if *own == index)) {
                selected = selected.take().or(Some((array, subscripts.to_vec())));
            }
        });
    }
    // A prior that has a mean of its own.
    let with_mean = families().iter().find_map(|family| {
        let positive = family.latent() == Some(Support::Positive);
        let [first, second] = family.parameters() else { return None };
        let mean = second.spellings.iter().find(|spelling| spelling.name == "mean")?;
        (positive && first.positional).then_some((family.name(), mean.name))
    });
    let (Some((array, subscripts)), Some((family, mean))) = (selected, with_mean) else {
        return "sum over the classes with weights".to_owned();
    };
    let mut letters = Vec::new();
    subscripts.iter().for_each(|subscript| subscript.letters(&mut letters));
    let letters = with_ancestors(symbols, &dedup(letters));
    let letters: Vec<&str> = letters.iter().map(|letter| symbols.letter(*letter).name.as_str()).collect();
    let texts: Vec<String> = subscripts.iter().map(|subscript| model.subscript_text(subscript)).collect();
    let chosen = format!("{}[{}]", symbols.array(array).name, texts.join(", "));
    let own =
        format!("{}_of_{}[{}]", symbols.array(array).name, symbols.array(index).name, letters.join(", "));
    format!(
        "give each addend a latent of its own, `{own} ~ {family}(2, {mean} = {chosen})`, and write `{own}` in place of `{chosen}` (this adds spread: the model is another one)"
    )
}
