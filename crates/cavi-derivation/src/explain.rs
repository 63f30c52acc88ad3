//! What the derivation says when there is no closed form: which statement, which monomial, what the family has, what is
//! left over, and what would compile.

use cavi_algebra::{Atom, Block, BlockId, Elementary, StatementId, Statistic, Sum, Support, Symbols};
use cavi_families::{Posterior, families, posterior, posteriors};
use cavi_syntax::{Diagnostic, Span};

use crate::blocks::Draft;
use crate::derive::Derivation;
use crate::expect::Leftover;

/// The families whose latents have such a support, as a list.
pub fn families_on(fits: impl Fn(Support) -> bool) -> String {
    let names: Vec<&str> = families()
        .iter()
        .filter(|family| family.latent().is_some_and(&fits))
        .map(|family| family.name())
        .collect();
    names.join(", ")
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
            Elementary::Centred => format!("({name} - E {name})"),
        }
    };
    statistic.0.iter().map(part).collect::<Vec<_>>().join(" ")
}

fn family_statistics(symbols: &Symbols, draft: &Draft, family: &dyn Posterior) -> String {
    let statistics = family.statistics();
    let texts: Vec<String> =
        statistics.iter().map(|own| statistic_text(symbols, draft, &own.statistic)).collect();
    texts.join(", ")
}

/// The families on the support of a block, with their statistics.
fn choices(derivation: &Derivation, draft: &Draft) -> String {
    let support = derivation.symbols.array(draft.members[0]).support;
    let sliced = draft.slices.iter().any(|letters| !letters.is_empty());
    let fitting =
        posteriors().iter().filter(|family| family.lives_on(support) && family.over_slice() == sliced);
    let texts: Vec<String> = fitting
        .map(|family| {
            format!("{} has {}", family.name(), family_statistics(&derivation.symbols, draft, *family))
        })
        .collect();
    texts.join("; ")
}

/// A factor in the way: a function or a power of a sum that holds the block.
pub fn leftover(
    derivation: &Derivation,
    drafts: &[Draft],
    block: BlockId,
    statement: StatementId,
    leftover: &Leftover,
) -> Diagnostic {
    let draft = &drafts[block.index()];
    let variable = names(&derivation.symbols, draft);
    let atom = leftover.term.factors.get(leftover.position).map(|factor| &factor.atom);
    let what = match atom {
        Some(Atom::Apply(function, _)) => {
            format!("`{}` of an expression that holds `{variable}`", function.name())
        }
        Some(Atom::Group(_)) => {
            let power = leftover.term.factors[leftover.position].power;
            format!("a sum that holds `{variable}` to the power {power}")
        }
        Some(Atom::Value(..)) => format!("a product that holds `{variable}` more than twice"),
        Some(_) | None => format!("a term in which `{variable}` stands in a way that no family has"),
    };
    let monomial = monomial(&derivation.symbols, leftover);
    let span = derivation.model.statements[statement.index()].span;
    Diagnostic::error(
        "E0710",
        format!("`{variable}` has no closed-form update: {monomial} is not a statistic of any family"),
    )
    .at(span, format!("this statement contributes {what}"))
    .also(draft.span, format!("`{variable}` is stated here"))
    .possible(format!("on this support: {}", choices(derivation, draft)))
    .help(format!(
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
            format!(
                "`{}`",
                cavi_algebra::print::text::sum(
                    cavi_algebra::print::Scope::before(symbols),
                    &Sum::term(alone)
                )
            )
        }
        None => "its monomial".to_owned(),
    }
}

/// The collected statistics belong to no family on the support.
pub fn no_family(
    derivation: &Derivation,
    drafts: &[Draft],
    block: BlockId,
    wanted: &[Statistic],
    places: &[(Statistic, StatementId)],
) -> Diagnostic {
    let draft = &drafts[block.index()];
    let variable = names(&derivation.symbols, draft);
    let symbols = &derivation.symbols;
    let support = symbols.array(draft.members[0]).support;
    let sliced = draft.slices.iter().any(|letters| !letters.is_empty());
    let fitting: Vec<&&dyn Posterior> = posteriors()
        .iter()
        .filter(|family| family.lives_on(support) && family.over_slice() == sliced)
        .collect();
    // What the family of the prior lacks: the statistics that the nearest family does not have.
    let own: Vec<&Statistic> = places
        .iter()
        .filter(|(_, statement)| {
            draft.members.contains(&derivation.model.statements[statement.index()].target)
        })
        .map(|(statistic, _)| statistic)
        .collect();
    let has = |family: &&&dyn Posterior, statistic: &Statistic| {
        family.statistics().iter().any(|own| own.statistic == *statistic)
    };
    let nearest = fitting
        .iter()
        .filter(|family| own.iter().all(|statistic| has(family, statistic)))
        .max_by_key(|family| wanted.iter().filter(|statistic| has(family, statistic)).count())
        .or_else(|| fitting.first());
    let left: Vec<&Statistic> =
        wanted.iter().filter(|statistic| !nearest.is_some_and(|family| has(family, statistic))).collect();
    let listed = |statistics: &[&Statistic]| {
        let texts: Vec<String> = statistics
            .iter()
            .map(|statistic| format!("`{}`", statistic_text(symbols, draft, statistic)))
            .collect();
        texts.join(", ")
    };
    let culprit = places.iter().find(|(statistic, statement)| {
        left.contains(&statistic) && derivation.model.statements[statement.index()].target != draft.members[0]
    });
    let span: Span = culprit
        .or(places.iter().find(|(statistic, _)| left.contains(&statistic)))
        .map_or(draft.span, |(_, statement)| derivation.model.statements[statement.index()].span);
    let message = match left.as_slice() {
        [] => format!("`{variable}` has no closed-form update on its support"),
        left => format!(
            "`{variable}` has no closed-form update: {} {} no statistic of {}",
            listed(left),
            if left.len() == 1 { "is" } else { "are" },
            nearest.map_or("any family on its support", |family| family.name()),
        ),
    };
    let wanted: Vec<&Statistic> = wanted.iter().collect();
    let mut diagnostic = Diagnostic::error("E0711", message)
        .at(span, format!("this statement contributes {}", listed(&left)))
        .possible(format!(
            "the log joint has {}; on this support: {}",
            listed(&wanted),
            choices(derivation, draft)
        ));
    if draft.span != span {
        diagnostic = diagnostic.also(draft.span, format!("`{variable}` is stated here"));
    }
    diagnostic.help(repairs(derivation, draft, &wanted))
}

/// Priors and factorisations that would take the collected statistics.
fn repairs(derivation: &Derivation, draft: &Draft, wanted: &[&Statistic]) -> String {
    let variable = names(&derivation.symbols, draft);
    let sliced = draft.slices.iter().any(|letters| !letters.is_empty());
    // Families whose statistics hold what the other statements contribute.
    let fits: Vec<&str> = posteriors()
        .iter()
        .filter(|family| !family.only_point() && family.over_slice() == sliced)
        .filter(|family| {
            let statistics = family.statistics();
            wanted.iter().all(|wanted| statistics.iter().any(|own| own.statistic == **wanted))
        })
        .map(|family| family.name())
        .collect();
    if fits.is_empty() {
        format!("give `{variable}` a prior that is conjugate to this statement, or make it a constant")
    } else {
        format!("give `{variable}` a prior whose update has these statistics: {}", fits.join(", "))
    }
}

/// Collects the expectations in a sum that its blocks' families do not answer.
pub fn unanswered(blocks: &[Block], sum: &Sum, out: &mut Vec<(usize, Statistic)>) {
    for factor in sum.terms.iter().flat_map(|term| &term.factors) {
        if let Atom::Moment(moment) = &factor.atom {
            let block = &blocks[moment.block.index()];
            let answered = posterior(block.family).is_some_and(|family| answers(family, &moment.statistic));
            let entry = (moment.block.index(), moment.statistic.clone());
            if !answered && !out.contains(&entry) {
                out.push(entry);
            }
        }
        factor.atom.nested().into_iter().for_each(|inner| {
            // The inside of a square before its expectation is for showing only; it holds no expectation.
            unanswered(blocks, inner, out);
        });
    }
}

/// Whether a family answers an expectation: by itself, or as `E x y = E x E y + Cov(x, y)`.
fn answers(family: &dyn Posterior, statistic: &Statistic) -> bool {
    let direct = |wanted: &Statistic| family.expectations().iter().any(|own| own.statistic == *wanted);
    let second = *statistic == Statistic::square() || *statistic == Statistic::outer();
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
    let family = blocks[block.index()].family;
    let text = statistic_text(&derivation.symbols, draft, statistic);
    Diagnostic::error("E0712", format!("the expectation of `{text}` under q has no closed form"))
        .at(draft.span, format!("q(`{variable}`) is {family}"))
        .possible("expectations that the family of q answers: its statistics, its mean and variance")
        .help(format!("make `{variable}` a point (`posterior {{ point {variable} }}`), or write the model without this term"))
}

/// One line about a block: what `check` notes of the chosen factorisation.
pub fn describe_block(symbols: &Symbols, block: &Block) -> String {
    let members: Vec<String> = block
        .members
        .iter()
        .zip(&block.slices)
        .map(|(member, slices)| {
            let array = symbols.array(*member);
            let mut subscripts: Vec<String> = Vec::new();
            for letter in &array.letters {
                for step in symbols.lineage(*letter).into_iter().rev() {
                    let name = &symbols.letter(step).name;
                    let text = if slices.contains(&step) { format!(":{name}") } else { name.clone() };
                    if !subscripts.contains(&text) {
                        subscripts.push(text);
                    }
                }
            }
            if subscripts.is_empty() {
                array.name.clone()
            } else {
                format!("{}[{}]", array.name, subscripts.join(", "))
            }
        })
        .collect();
    let kind = match block.mode {
        cavi_algebra::Mode::Distribution => format!("q({}): {}", members.join(", "), block.family),
        cavi_algebra::Mode::Point => format!("point {}", members.join(", ")),
        cavi_algebra::Mode::Fixed => format!("fixed {}: {}", members.join(", "), block.family),
        cavi_algebra::Mode::Implicit => format!("implicit {}: {}", members.join(", "), block.family),
    };
    if block.in_order.is_empty() { kind } else { format!("{kind}, copies in order") }
}
