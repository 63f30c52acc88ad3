//! Bounds: what makes a term tractable by giving something up. One bound a file; each is tight at its optimum.

mod jaakkola_jordan;
mod jensen_log_sum;
pub mod lee_seung;

use cavi_algebra::canonical::canonical;
use cavi_algebra::{ArrayId, Atom, Auxiliary, Factor, Site, StatementId, Sum, Term};

use crate::blocks::Draft;
use crate::derive::Derivation;
pub use jensen_log_sum::is_complement_of;

/// The log joint with its logs of sums and its softplus terms bounded.
#[derive(Default)]
pub struct Bounded {
    /// One for each statement.
    pub statements: Vec<BoundedStatement>,
    /// The logs of sums. Their weights and log weights are not yet expectations.
    pub sites: Vec<Site>,
    /// The tangents. Their weights and squares are not yet expectations.
    pub auxiliaries: Vec<Auxiliary>,
}

/// A statement's log-density, as it was and twice bounded.
pub struct BoundedStatement {
    /// As it was.
    pub stated: Sum,
    /// With allocations and auxiliary variables held: what updates are collected from.
    pub held: Sum,
    /// With allocations and auxiliary variables at their optimum: what the bound is evaluated from.
    pub tight: Sum,
}

impl Bounded {
    /// The terms of a statement, allocations held, from which the update of a block is collected. Where the block weighs the
    /// log of a sum, the whole bound on the log stands for what its addends have.
    pub fn held_by<'b>(&'b self, draft: &'b Draft, statement: StatementId) -> impl Iterator<Item = &'b Term> {
        let of = |holds: &dyn Fn(ArrayId) -> bool| draft.members.iter().any(|member| holds(*member));
        self.statements[statement.index()].held.terms.iter().filter(move |term| {
            let addend = |factor: &Factor| match &factor.atom {
                Atom::Allocation { site, .. } => {
                    let weight = &self.sites[site.index()].weight;
                    of(&|member| weight.mentions(member))
                }
                _ => false,
            };
            of(&|member| term.mentions(member)) && !term.factors.iter().any(addend)
        })
    }

    /// The terms of a statement, allocations and auxiliary variables at their optimum, that depend on a block: they hold it,
    /// or the log partition of a site whose log weights do, or an auxiliary variable whose square does.
    pub fn tight_of<'b>(
        &'b self,
        draft: &'b Draft,
        statement: StatementId,
    ) -> impl Iterator<Item = &'b Term> {
        self.statements[statement.index()].tight.terms.iter().filter(|term| self.follows(draft, term))
    }

    fn follows(&self, draft: &Draft, term: &Term) -> bool {
        let held = |atom: &Atom| match atom {
            Atom::LogPartition { site, .. } => {
                let addends = &self.sites[site.index()].addends;
                addends.iter().flat_map(|own| &own.log_weight.terms).any(|own| self.follows(draft, own))
            }
            Atom::Auxiliary { id, .. } => {
                self.auxiliaries[id.index()].square.terms.iter().any(|own| self.follows(draft, own))
            }
            _ => atom.nested().into_iter().flat_map(|sum| &sum.terms).any(|own| self.follows(draft, own)),
        };
        draft.members.iter().any(|member| term.mentions(*member))
            || term.factors.iter().any(|factor| held(&factor.atom))
    }
}

/// What a bound puts in the place of a term.
struct Replacement {
    /// As in [`BoundedStatement::held`].
    held: Vec<Term>,
    /// As in [`BoundedStatement::tight`].
    tight: Vec<Term>,
}

/// Bounds every term that needs it.
pub fn bound(derivation: &mut Derivation, drafts: &[Draft], log_densities: &[Sum]) -> Bounded {
    let mut bounded = Bounded::default();
    for (index, log_density) in log_densities.iter().enumerate() {
        let statement = StatementId::from(index);
        let (mut held, mut tight) = (Sum::zero(), Sum::zero());
        for term in &log_density.terms {
            for term in jensen_log_sum::logs_of_products_apart(&mut derivation.symbols, term) {
                let replaced =
                    jensen_log_sum::replace(derivation, drafts, statement, &mut bounded.sites, &term)
                        .or_else(|| {
                            jaakkola_jordan::replace(
                                derivation,
                                drafts,
                                statement,
                                &mut bounded.auxiliaries,
                                &term,
                            )
                        });
                match replaced {
                    Some(replacement) => {
                        held.terms.extend(replacement.held);
                        tight.terms.extend(replacement.tight);
                    }
                    None => {
                        held.terms.push(term.clone());
                        tight.terms.push(term);
                    }
                }
            }
        }
        let held = canonical(&mut derivation.symbols, &held);
        let tight = canonical(&mut derivation.symbols, &tight);
        bounded.statements.push(BoundedStatement { stated: log_density.clone(), held, tight });
    }
    bounded
}
