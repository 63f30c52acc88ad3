//! Implicit factors: a categorical that is always at its optimum is an allocation.
//!
//! Where the log joint has `sum_c [z = c] l_c` for a copy of z, the optimal `q(z = c)` is proportional to `exp E l_c`, and
//! what it adds to the bound, its entropy included, is `log sum_c exp E l_c`: the log partition of a site whose categories
//! are the classes. Nothing is given up, and nothing of z is stored.

use cavi_algebra::canonical::canonical;
use cavi_algebra::rules::rename_apart;
use cavi_algebra::{Addend, Atom, Factor, Function, Mode, Site, SiteId, StatementId, Subscript, Sum, Term};
use cavi_syntax::Diagnostic;

use crate::blocks::Draft;
use crate::bounds::Bounded;
use crate::conjugate::unify;
use crate::derive::Derivation;
use crate::joint::{multiplicities, with_ancestors};
use crate::separate::{elements, separate};

/// Turns implicit factors into sites, and takes their blocks off the list.
pub fn implicit_to_sites(derivation: &mut Derivation, drafts: &mut Vec<Draft>, bounded: &mut Bounded) {
    let implicit: Vec<Draft> = drafts.iter().filter(|draft| draft.mode == Mode::Implicit).cloned().collect();
    for draft in &implicit {
        to_site(derivation, draft, &implicit, bounded);
    }
    drafts.retain(|draft| draft.mode != Mode::Implicit);
}

fn to_site(derivation: &mut Derivation, draft: &Draft, implicit: &[Draft], bounded: &mut Bounded) {
    let z = draft.members[0];
    let name = derivation.symbols.array(z).name.clone();
    let Some(class) = draft.classes else {
        derivation.diagnostics.push(
            Diagnostic::error("E0794", format!("`{name}` has no classes to be implicit over"))
                .at(draft.span, "stated here")
                .possible("a latent whose value is a position on an axis")
                .help("leave the line out: the factor is then stored"),
        );
        return;
    };
    let id = SiteId::from(bounded.sites.len());
    let plates = with_ancestors(&derivation.symbols, &draft.plates);
    let weights = multiplicities(&derivation.symbols, &draft.plates);
    let letters = |letters: &[cavi_algebra::LetterId]| -> Vec<Subscript> {
        letters.iter().map(|letter| Subscript::Letter(*letter)).collect()
    };
    let mut log_weight = Sum::zero();
    let mut home = None;
    for (number, statement) in bounded.statements.iter_mut().enumerate() {
        if derivation.model.statements[number].target == z {
            home = Some(number);
        }
        let mut held = Sum::zero();
        for term in std::mem::take(&mut statement.held).terms {
            if !term.mentions(z) {
                held.terms.push(term);
                continue;
            }
            let span = derivation.model.statements[number].span;
            let refused = |what: String| {
                Diagnostic::error("E0794", format!("`{name}` cannot be implicit: {what}"))
                    .at(span, "in this statement")
                    .also(draft.span, "stated here")
                    .possible("terms that are logs of single factors: a class drawn from a slice, an entry drawn from another")
                    .help(format!("leave `implicit {name}` out: the factor is then stored"))
            };
            let other = implicit
                .iter()
                .flat_map(|other| &other.members)
                .find(|other| **other != z && term.mentions(**other));
            if let Some(other) = other {
                let other = &derivation.symbols.array(*other).name;
                derivation.diagnostics.push(refused(format!("a term holds the implicit `{other}` as well")));
                return;
            }
            let Ok(apart) = separate(&mut derivation.symbols, draft, &term) else {
                derivation
                    .diagnostics
                    .push(refused("a term holds it in another way than by its value".to_owned()));
                return;
            };
            for term in apart {
                // The summed letters of the term become those of the site.
                let mut target = plates.clone();
                target.push(class);
                let term = rename_apart(&mut derivation.symbols, &term, &target);
                let found = elements(&derivation.symbols, draft, &term).unwrap_or_default();
                let [element] = found.as_slice() else {
                    derivation.diagnostics.push(refused("a term holds two of its copies".to_owned()));
                    return;
                };
                let mut rest = term.clone();
                rest.factors.remove(element.position);
                let pairs = element.plates.iter().cloned().zip(draft.plates.iter().copied());
                let pairs = pairs.chain(element.slots.iter().cloned().zip([class])).collect();
                let rest = unify(&mut derivation.symbols, &rest, pairs);
                // Its weight is that of the rows.
                let inverse = weights.iter().map(|atom| Factor { atom: atom.clone(), power: -1 });
                let mut share = rest.clone();
                share.factors.extend(inverse);
                let share = canonical(&mut derivation.symbols, &Sum::term(share));
                if !share.terms.iter().all(is_log) {
                    derivation
                        .diagnostics
                        .push(refused("one of its terms is not the log of a single factor".to_owned()));
                    return;
                }
                log_weight = log_weight.plus(share);
                let allocation = Atom::Allocation {
                    site: id,
                    addend: 0,
                    plates: letters(&plates),
                    categories: letters(&[class]),
                };
                let mut allocated = rest;
                allocated.factors.push(Factor::of(allocation));
                allocated.sums = plates.iter().copied().chain([class]).chain(allocated.sums).collect();
                held.terms.push(allocated);
            }
        }
        statement.held = canonical(&mut derivation.symbols, &held);
        statement.tight.terms.retain(|term| !term.mentions(z));
    }
    let weight =
        Term { factors: weights.iter().map(|atom| Factor::of(atom.clone())).collect(), ..Term::number(1.0) };
    let mut partition = weight.clone();
    partition.sums = plates.clone();
    partition.factors.push(Factor::of(Atom::LogPartition { site: id, plates: letters(&plates) }));
    let home = home.expect("every latent has a statement");
    bounded.statements[home].tight.terms.push(partition);
    bounded.sites.push(Site {
        statement: StatementId::from(home),
        plates,
        weight: Sum::term(weight),
        addends: vec![Addend { letters: vec![class], log_weight }],
    });
}

/// Whether a term is a multiple of the log of one element, where its entry is observed.
fn is_log(term: &Term) -> bool {
    let mut logs = 0;
    term.sums.is_empty()
        && term.factors.iter().all(|factor| match &factor.atom {
            Atom::Apply(Function::Log, inner) => {
                logs += 1;
                factor.power == 1 && inner[0].terms.len() == 1
            }
            Atom::Observed(..) => true,
            Atom::Value(..)
            | Atom::Moment(_)
            | Atom::Allocation { .. }
            | Atom::LogPartition { .. }
            | Atom::Auxiliary { .. }
            | Atom::Group(_)
            | Atom::Apply(..)
            | Atom::ExpectedSquare(_)
            | Atom::Equal(..)
            | Atom::Different(..)
            | Atom::Less(..) => false,
        })
        && logs == 1
}
