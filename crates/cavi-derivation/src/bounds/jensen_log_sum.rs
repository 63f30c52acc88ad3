//! `log sum_c f_c >= sum_c phi_c (log f_c - log phi_c)` for `phi` on the simplex: Jensen's inequality for the concave
//! logarithm, tight at `phi_c` proportional to `f_c`; under q, at `phi_c` proportional to `exp E log f_c`.
//!
//! The categories of a sum are its addends, each with the values of its summed letters. The bound needs a coefficient
//! that cannot be negative.
//!
//! Under a selection the bound applies inside each component: `[z = m] log sum_c f_mc` is bounded with shares `phi_mc`. The
//! update of a latent that stands in an addend reads `E[z = m] phi_mc`; that of z the whole
//! `sum_c phi_mc (E log f_mc - log phi_mc)`, which is `log sum_c exp E log f_mc` at the optimum of the shares.
//!
//! # Source
//! Lee and Seung (2001), the auxiliary function of theorem 3; Cemgil (2009), section 3.1.

use cavi_algebra::canonical::canonical;
use cavi_algebra::rules::{complements, push_log_into_product, refresh};
use cavi_algebra::{
    Addend, ArrayId, ArrayKind, Atom, BoundWords, Coefficient, Factor, Function, Inequality, LetterId,
    Reference, Side, Site, SiteId, Subscript, Sum, Support, Symbols, Term,
};
use cavi_syntax::Diagnostic;

use super::lee_seung::LEE_SEUNG;
use super::sign::{Sign, sign_unknown};
use super::{Bound, Bounding, Replacement, shares};
use crate::blocks::Draft;
use crate::explain::{as_share, in_words, quotient, without_negative_addend};
use crate::logs::is_complement_of;

/// The bound of logs of sums.
pub struct JensenLogSum;

/// Its name.
pub const NAME: &str = "jensen_log_sum";

/// Allocations as latent counts, under q.
const CEMGIL: Reference = Reference(
    "@article{cemgil2009bayesian,
  author = {Cemgil, Ali Taylan},
  title = {Bayesian Inference for Nonnegative Matrix Factorisation Models},
  journal = {Computational Intelligence and Neuroscience},
  volume = {2009},
  note = {Article ID 785152},
  year = {2009}
}",
);

impl Bound for JensenLogSum {
    fn name(&self) -> &'static str {
        NAME
    }

    fn inequality(&self) -> Inequality {
        let log = |array: ArrayId| Sum::atom(shares::element(array)).apply(Function::Log);
        let gain = log(shares::NUMBERS).minus(log(shares::SHARES));
        let mut right = Term::atom(shares::element(shares::SHARES));
        right.factors.push(Factor::of(Atom::Group(Box::new(gain))));
        right.sums = vec![shares::CATEGORY];
        Inequality {
            symbols: shares::symbols("f", Support::Positive),
            left: shares::total().apply(Function::Log),
            side: Side::Below,
            right: Sum::term(right),
            argument: shares::NUMBERS,
            auxiliary: shares::SHARES,
            optimum: shares::proportional(),
        }
    }

    fn words(&self) -> BoundWords {
        BoundWords {
            of: "The bound of logs of sums, and its allocations",
            holds: "By Jensen's inequality the log of a sum is bounded below, for any probabilities of its addends:",
            equal: "with equality where these are proportional to the addends:",
            best: Some(
                "Under q the addends are random. The expected bound is largest where these probabilities, the allocations, are \
                 proportional to the exponential of the expected log:",
            ),
            step: "Jensen's inequality",
        }
    }

    fn references(&self) -> &'static [Reference] {
        &[LEE_SEUNG, CEMGIL]
    }

    /// A term that was reported as an error is left out. If the bound does not hold and the sum holds only points,
    /// its log stays as it is, since it is a number whose derivatives are known.
    fn replace(&self, at: &mut Bounding<'_, '_>, term: &Term) -> Option<Replacement> {
        let position = log_of_sum(at.drafts, term)?;
        let id = SiteId::from(at.sites.len());
        let (site, mut held) = match surrogate(at, id, term, position) {
            Ok(bounded) => bounded,
            Err(_) if is_number(&at.derivation.symbols, at.drafts, &term.factors[position]) => return None,
            // The logs of a chance and of what it leaves hold one mistake.
            Err(diagnostic) if at.derivation.diagnostics.iter().any(|own| is_the_same(own, &diagnostic)) => {
                return Some(Replacement { held: Vec::new(), tight: Vec::new() });
            }
            Err(diagnostic) => {
                at.derivation.complain(*diagnostic, None, Some(at.statement));
                return Some(Replacement { held: Vec::new(), tight: Vec::new() });
            }
        };
        let plates = site.plates.iter().map(|letter| Subscript::Letter(*letter)).collect();
        let mut partition = term.clone();
        partition.factors[position] = Factor::of(Atom::LogPartition { site: id, plates });
        // The update of what weighs the log reads the whole bound on it, not only what its addends have.
        if at.drafts.iter().flat_map(|draft| &draft.members).any(|member| site.weight.mentions(*member)) {
            held.push(partition.clone());
        }
        at.sites.push(site);
        Some(Replacement { held, tight: vec![partition] })
    }
}

/// Whether two complaints are about the signs in one statement.
fn is_the_same(one: &Diagnostic, other: &Diagnostic) -> bool {
    let place = |own: &Diagnostic| own.primary.as_ref().map(|(span, _)| *span);
    one.code == "E0704" && other.code == "E0704" && place(one) == place(other)
}

/// Whether the latents in a log are points that may follow a gradient, and its argument was meant to be positive: it may be a
/// difference, but no addend is a product that has either sign.
fn is_number(symbols: &Symbols, drafts: &[Draft], log: &Factor) -> bool {
    let either = |addend: &Term| {
        matches!(sign_unknown(symbols, addend), Some(Sign::Unknown(_)))
            || even_power(symbols, addend).is_some()
    };
    let inner = || log.atom.nested().into_iter();
    if inner().flat_map(|sum| &sum.terms).any(either) || !inner().all(|sum| differences_hold(symbols, sum)) {
        return false;
    }
    let mut inside =
        drafts.iter().filter(|draft| draft.members.iter().any(|member| log.atom.mentions(*member)));
    inside.all(|draft| !draft.is_random() && draft.by.is_none() && !draft.clamp)
}

/// Whether what is subtracted in a sum is a share of what it is subtracted from, by its form: it has all its factors, and
/// others between 0 and 1. Each is judged alone, and numbers and constants are taken as given.
fn differences_hold(symbols: &Symbols, sum: &Sum) -> bool {
    let of_latents = |term: &Term| -> Vec<Factor> {
        let constant = |factor: &&Factor| match &factor.atom {
            Atom::Value(array, _) => symbols.array(*array).kind == ArrayKind::Constant,
            _ => false,
        };
        term.factors.iter().filter(|factor| !constant(factor)).cloned().collect()
    };
    let share = |factor: &Factor| match &factor.atom {
        Atom::Value(array, _) => factor.power > 0 && symbols.array(*array).is_share(),
        _ => true,
    };
    let (taken, whole): (Vec<&Term>, Vec<&Term>) =
        sum.terms.iter().partition(|term| matches!(sign_unknown(symbols, term), Some(Sign::Negative)));
    taken.into_iter().all(|taken| {
        whole.iter().any(|whole| {
            // Each sum has letters of its own.
            let summed = !taken.sums.is_empty() && !whole.sums.is_empty();
            let alike = |one: &Factor, other: &Factor| match (&one.atom, &other.atom) {
                (Atom::Value(one, _), Atom::Value(other, _)) if summed => one == other,
                (one, other) => one == other,
            };
            let mut rest = of_latents(taken);
            let within = of_latents(whole).into_iter().all(|factor| {
                let place = rest.iter().position(|own| alike(own, &factor) && own.power >= factor.power);
                if let Some(place) = place {
                    rest[place].power -= factor.power;
                }
                place.is_some()
            });
            within && rest.iter().filter(|own| own.power != 0).all(share)
        })
    })
}

/// The position of a log of a sum that holds a latent. A power of such a log is no concave function of the sum, and has no bound.
fn log_of_sum(drafts: &[Draft], term: &Term) -> Option<usize> {
    term.factors.iter().position(|factor| match &factor.atom {
        _ if factor.power != 1 => false,
        Atom::Apply(Function::Log, inner) => {
            let single = match inner[0].terms.as_slice() {
                [only] => only.sums.is_empty(),
                _ => false,
            };
            let complement = is_complement_of(&inner[0]).is_some();
            !single
                && !complement
                && drafts.iter().flat_map(|draft| &draft.members).any(|id| inner[0].mentions(*id))
        }
        Atom::Value(..)
        | Atom::Moment(_)
        | Atom::Allocation { .. }
        | Atom::LogPartition { .. }
        | Atom::Auxiliary { .. }
        | Atom::Group(_)
        | Atom::Apply(..)
        | Atom::ExpectedSquare(_)
        | Atom::Observed(..)
        | Atom::Equal(..)
        | Atom::Different(..)
        | Atom::Less(..) => false,
    })
}

/// The site of a log of a sum, and with its allocation held `sum_c phi_c log f_c`; or why it has no bound.
fn surrogate(
    at: &mut Bounding<'_, '_>,
    id: SiteId,
    term: &Term,
    position: usize,
) -> Result<(Site, Vec<Term>), Box<Diagnostic>> {
    let Bounding { derivation, drafts, statement, bound, .. } = at;
    let span = derivation.model.statements[statement.index()].span;
    let mut rest = term.clone();
    let log = rest.factors.remove(position);
    let Atom::Apply(Function::Log, inner) = &log.atom else { unreachable!("the caller found a log here") };
    let own = &derivation.model.statements[statement.index()];
    let log_text = in_words(&derivation.symbols, Term::atom(log.atom.clone()));
    let inside = complements(&mut derivation.symbols, &inner[0]);
    for addend in &inside.terms {
        let symbols = &derivation.symbols;
        let (culprit, how) = match (sign_unknown(symbols, addend), even_power(symbols, addend)) {
            (Some(culprit), _) => (culprit, "may be negative"),
            (None, Some(culprit)) => (culprit, "holds a square"),
            (None, None) => continue,
        };
        if let Some(diagnostic) = quotient(derivation.model, own) {
            return Err(Box::new(diagnostic));
        }
        // Written as a difference, or a factor that may have either sign.
        let why = match culprit {
            Sign::Negative => "it is a difference".to_owned(),
            Sign::Unknown(culprit) => culprit,
        };
        let diagnostic = Diagnostic::error(
            "E0704",
            format!("{log_text} is no statistic of any family, and the log of a sum has a bound only if no addend is negative"),
        )
        .at(span, format!("{} {how}: {why}", in_words(&derivation.symbols, addend.clone())))
        .possible("sums of products of variables, data and constants that cannot be negative")
        .help(
            as_share(symbols, &inner[0], addend)
                .unwrap_or_else(|| without_negative_addend(derivation.model, symbols, own, addend)),
        );
        return Err(Box::new(diagnostic));
    }
    if let Some(culprit) = sign_unknown(&derivation.symbols, &rest) {
        if let Some(diagnostic) = quotient(derivation.model, own) {
            return Err(Box::new(diagnostic));
        }
        let coefficient = in_words(&derivation.symbols, Term { sums: Vec::new(), ..rest.clone() });
        let why = match culprit {
            Sign::Negative => String::new(),
            Sign::Unknown(culprit) => format!(" ({culprit})"),
        };
        let diagnostic = Diagnostic::error(
            "E0703",
            format!("{log_text} has the coefficient {coefficient}, which may be negative{why}: its bound holds from the other side"),
        )
        .at(span, "in this statement")
        .possible("a coefficient that cannot be negative: a count, a shape, a weight")
        .help(format!(
            "the log of one latent is a statistic: put a latent with a prior of its own in place of the sum in \
             {log_text}, or write a product there"
        ));
        return Err(Box::new(diagnostic));
    }
    // A block that both weighs the log and stands in it has no closed form: its update would need the bound in both
    // roles at once.
    let both = drafts.iter().find(|draft| {
        let mut members = draft.members.iter();
        members.clone().any(|member| rest.mentions(*member)) && members.any(|own| inner[0].mentions(*own))
    });
    if let Some(draft) = both {
        let name = derivation.symbols.array(draft.members[0]).name.clone();
        let diagnostic = Diagnostic::error(
            "E0705",
            format!("{log_text} is weighed by the block of `{name}`, which stands in it as well"),
        )
        .at(span, "in this statement")
        .possible("the log of a sum whose coefficient shares no block with the sum")
        .help("give what weighs it a block of its own in `posterior`, or make it data");
        return Err(Box::new(diagnostic));
    }
    let mut addends = Vec::new();
    let mut surrogate = Vec::new();
    let plates: Vec<LetterId> = rest.sums.clone();
    for (number, addend) in inside.terms.iter().enumerate() {
        let addend = refresh(&mut derivation.symbols, addend);
        let product = Term { sums: Vec::new(), ..addend.clone() };
        let log_weight = push_log_into_product(&derivation.symbols, &Sum::term(product));
        let log_weight = canonical(&mut derivation.symbols, &log_weight);
        let subscripts =
            |letters: &[LetterId]| letters.iter().map(|letter| Subscript::Letter(*letter)).collect();
        for part in &log_weight.terms {
            // Logs of constants and data are statistics of no block, so that they stand only in the log partition.
            let latent = drafts.iter().flat_map(|draft| &draft.members).any(|member| part.mentions(*member));
            if !latent {
                continue;
            }
            let allocation = Atom::Allocation {
                site: id,
                addend: number,
                plates: subscripts(&plates),
                categories: subscripts(&addend.sums),
            };
            let mut factors = rest.factors.clone();
            factors.push(Factor::of(allocation));
            factors.extend(part.factors.iter().cloned());
            surrogate.push(Term {
                sums: rest.sums.iter().chain(&addend.sums).chain(&part.sums).copied().collect(),
                factors,
                coefficient: Coefficient(rest.coefficient.0 * part.coefficient.0),
            });
        }
        addends.push(Addend { letters: addend.sums.clone(), log_weight });
    }
    let weight = Sum::term(Term { sums: Vec::new(), ..rest });
    Ok((Site { bound: *bound, statement: *statement, plates, weight, addends, collapsed: None }, surrogate))
}

/// An even power of a variable that may be negative: its log is that of an absolute value.
fn even_power(symbols: &Symbols, term: &Term) -> Option<Sign> {
    term.factors.iter().filter(|factor| factor.power % 2 == 0).find_map(|factor| match &factor.atom {
        Atom::Value(array, _) => {
            let array = symbols.array(*array);
            let real = array.kind == ArrayKind::Latent && !array.support.is_nonnegative();
            real.then(|| {
                Sign::Unknown(format!(
                    "`{0}` is a real number, and the log of `{0}^2` has no slope at 0",
                    array.name
                ))
            })
        }
        _ => None,
    })
}
