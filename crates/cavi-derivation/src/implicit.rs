//! Implicit factors: a categorical or a Bernoulli that is always at its optimum is an allocation.
//!
//! Where the log joint has `sum_c [z = c] l_c` for a copy of z, the optimal `q(z = c)` is proportional to `exp E
//! l_c`, and what it adds to the bound, its entropy included, is `log sum_c exp E l_c`: the log partition of a site
//! whose categories are the classes. For a binary s with the coefficient l these are s = 1 with `exp E l`, and s = 0
//! with 1. This is exact, and nothing of the factor is stored.
//!
//! A bound inside a component is optimised first: `l_c` has the log partition of its allocation, or its tangent where that
//! is tight. What other blocks read is `sum_c phi_c l_c`, both bounds held.

use cavi_algebra::canonical::canonical;
use cavi_algebra::rules::rename_apart;
use cavi_algebra::{
    Addend, ArrayId, Atom, BlockId, Elementary, Factor, LetterId, Mode, Site, SiteId, StatementId, Subscript,
    Sum, Symbols, Term,
};
use cavi_syntax::{Diagnostic, Span};

use crate::blocks::Draft;
use crate::bounds::{Bounded, of_log_sums};
use crate::conjugate::{opened, unify};
use crate::derive::Derivation;
use crate::joint::with_ancestors;
use crate::separate::{Element, elements, separate};

/// Turns implicit factors into sites, and takes their blocks off the list.
pub fn implicit_to_sites(derivation: &mut Derivation, drafts: &mut Vec<Draft>, bounded: &mut Bounded) {
    let implicit: Vec<Draft> = drafts.iter().filter(|draft| draft.mode == Mode::Implicit).cloned().collect();
    for draft in &implicit {
        if let Err(diagnostic) = to_site(derivation, draft, &implicit, bounded) {
            derivation.diagnostics.push(*diagnostic);
        }
    }
    drafts.retain(|draft| draft.mode != Mode::Implicit);
}

fn to_site(
    derivation: &mut Derivation,
    draft: &Draft,
    implicit: &[Draft],
    bounded: &mut Bounded,
) -> Result<(), Box<Diagnostic>> {
    let z = draft.members[0];
    let name = derivation.symbols.array(z).name.clone();
    let others: Vec<ArrayId> =
        implicit.iter().map(|other| other.members[0]).filter(|other| *other != z).collect();
    let place = Place {
        site: SiteId::from(bounded.sites.len()),
        plates: with_ancestors(&derivation.symbols, &draft.plates),
        classes: draft.classes.into_iter().collect(),
    };
    let refused = |span: Span, what: String| {
        let diagnostic = Diagnostic::error("E0794", format!("`{name}` cannot be implicit: {what}"))
            .at(span, "in this statement")
            .also(draft.span, "stated here")
            .possible("terms that hold one copy of it by its value, and no other implicit factor")
            .help(format!("leave `implicit {name}` out: the factor is then stored"));
        Box::new(diagnostic)
    };
    let symbols = &mut derivation.symbols;
    let weights = draft.multiplicities(derivation.model, symbols);
    // Bounds inside a component are weighed by its share.
    let sites = bounded.sites.iter_mut().map(|own| {
        let inside = own.addends.iter().any(|addend| addend.log_weight.mentions(z));
        (own.statement, &mut own.weight, inside)
    });
    let tangents =
        bounded.auxiliaries.iter_mut().map(|own| (own.statement, &mut own.weight, own.square.mentions(z)));
    for (statement, weight, inside) in sites.chain(tangents) {
        let span = derivation.model.statements[statement.index()].span;
        if inside {
            return Err(refused(
                span,
                "it stands inside a bound, whose optimum would depend on it".to_owned(),
            ));
        }
        *weight = weighed(symbols, draft, &place, weight).map_err(|what| refused(span, what))?;
    }
    let mut log_weight = Sum::zero();
    let mut home = None;
    for (number, statement) in bounded.statements.iter_mut().enumerate() {
        let stated = &derivation.model.statements[number];
        if stated.target == z {
            home = Some(number);
        }
        let error = |what| refused(stated.span, what);
        let (mut held, chosen) = apart(symbols, draft, &others, &place, &statement.held).map_err(error)?;
        held.terms.extend(chosen.into_iter().map(|own| place.shared(own)));
        statement.held = canonical(symbols, &held);
        let whole = statement.shared.as_ref().unwrap_or(&statement.tight);
        let (mut shared, chosen) = apart(symbols, draft, &others, &place, whole).map_err(error)?;
        if !chosen.is_empty() || stated.target == z {
            shared.terms.extend(chosen.into_iter().map(|own| place.shared(own)));
            statement.shared = Some(canonical(symbols, &shared));
        }
        let (tight, chosen) = apart(symbols, draft, &others, &place, &statement.tight).map_err(error)?;
        for coefficient in chosen {
            // Its weight is that of the rows.
            let mut share = coefficient;
            share.factors.extend(weights.iter().map(|atom| Factor { atom: atom.clone(), power: -1 }));
            log_weight = log_weight.plus(canonical(symbols, &Sum::term(share)));
        }
        statement.tight = canonical(symbols, &tight);
    }
    let weight =
        Term { factors: weights.iter().map(|atom| Factor::of(atom.clone())).collect(), ..Term::number(1.0) };
    let mut partition = weight.clone();
    partition.sums = place.plates.clone();
    partition
        .factors
        .push(Factor::of(Atom::LogPartition { site: place.site, plates: letters(&place.plates) }));
    let home = home.expect("every latent has a statement");
    bounded.statements[home].tight.terms.push(partition);
    let mut addends = vec![Addend { log_weight: canonical(symbols, &log_weight), letters: place.classes }];
    if draft.classes.is_none() {
        addends.push(Addend { letters: Vec::new(), log_weight: Sum::zero() });
    }
    bounded.sites.push(Site {
        bound: of_log_sums(),
        statement: StatementId::from(home),
        plates: place.plates,
        weight: Sum::term(weight),
        addends,
        collapsed: None,
    });
    Ok(())
}

/// The site that an implicit factor becomes.
struct Place {
    site: SiteId,
    plates: Vec<LetterId>,
    /// The letter of its categories; none for a binary factor.
    classes: Vec<LetterId>,
}

impl Place {
    /// The share of a class of a copy; of a binary factor that of 1.
    fn share(&self, plates: &[Subscript], classes: &[Subscript]) -> Atom {
        Atom::Allocation { site: self.site, addend: 0, plates: plates.to_vec(), categories: classes.to_vec() }
    }

    /// The coefficient of a class times its share, over all copies and classes.
    fn shared(&self, mut coefficient: Term) -> Term {
        coefficient.factors.push(Factor::of(self.share(&letters(&self.plates), &letters(&self.classes))));
        let own = self.plates.iter().chain(&self.classes).copied();
        coefficient.sums = own.chain(coefficient.sums).collect();
        coefficient
    }
}

fn letters(letters: &[LetterId]) -> Vec<Subscript> {
    letters.iter().map(|letter| Subscript::Letter(*letter)).collect()
}

/// Splits a sum into the terms without the factor, and the coefficients of a class at the letters of the site.
fn apart(
    symbols: &mut Symbols,
    draft: &Draft,
    others: &[ArrayId],
    place: &Place,
    sum: &Sum,
) -> Result<(Sum, Vec<Term>), String> {
    let z = draft.members[0];
    let (mut without, mut chosen) = (Sum::zero(), Vec::new());
    let by_value = "a term holds it in another way than by its value";
    for term in &sum.terms {
        if !term.mentions(z) {
            without.terms.push(term.clone());
            continue;
        }
        if let Some(other) = others.iter().find(|other| term.mentions(**other)) {
            return Err(format!("a term holds the implicit `{}` as well", symbols.array(*other).name));
        }
        let open = opened(symbols, draft, BlockId(0), term, true).map_err(|_| by_value.to_owned())?;
        for term in open.terms {
            if !term.mentions(z) {
                without.terms.push(term);
                continue;
            }
            for term in separate(symbols, draft, &term).map_err(|_| by_value.to_owned())? {
                // The summed letters of the term become those of the site.
                let target: Vec<LetterId> = place.plates.iter().chain(&place.classes).copied().collect();
                let term = rename_apart(symbols, &term, &target);
                let (element, rest) = element(symbols, draft, &term)?;
                let pairs = element.plates.into_iter().zip(draft.plates.iter().copied());
                let pairs = pairs.chain(element.slots.into_iter().zip(place.classes.iter().copied()));
                chosen.push(unify(symbols, &rest, pairs.collect()));
            }
        }
    }
    Ok((without, chosen))
}

/// The one element of the factor in a term, and the rest of the term.
fn element(symbols: &Symbols, draft: &Draft, term: &Term) -> Result<(Element, Term), String> {
    let mut found = elements(symbols, draft, term)
        .map_err(|_| "a term holds it in another way than by its value".to_owned())?;
    let Some(element) = found.pop().filter(|_| found.is_empty()) else {
        return Err(
            "a term holds two of its copies, neither of which has an optimum without the other".to_owned()
        );
    };
    if !matches!(element.elementary, Elementary::Indicator | Elementary::Power(1)) {
        return Err("a term holds it in another way than by its value".to_owned());
    }
    let mut rest = term.clone();
    rest.factors.remove(element.position);
    Ok((element, rest))
}

/// The weight of a bound with the share of the class in the place of the factor.
fn weighed(symbols: &Symbols, draft: &Draft, place: &Place, weight: &Sum) -> Result<Sum, String> {
    let mut out = Sum::zero();
    for term in &weight.terms {
        if !term.mentions(draft.members[0]) {
            out.terms.push(term.clone());
            continue;
        }
        let (element, mut rest) = element(symbols, draft, term)?;
        rest.factors.push(Factor::of(place.share(&element.plates, &element.slots)));
        out.terms.push(rest);
    }
    Ok(out)
}
