//! Lower bounds, which stand in the place of terms without a closed form. One bound a file; each is tight at the
//! optimum of its auxiliary quantities.
//!
//! A bound adds an auxiliary variable for each copy of what it bounds, one of two kinds that the equations know: shares over
//! categories ([`Site`]), or the root of an expected square ([`Auxiliary`]). With it held, the terms are products of statistics;
//! at its optimum they are what the evidence lower bound is evaluated from.

mod jaakkola_jordan;
mod jensen_log_sum;
#[cfg(test)]
mod laws;
mod lee_seung;
mod shares;
pub mod sign;

use cavi_algebra::canonical::canonical;
use cavi_algebra::{
    ArrayId, Atom, Auxiliary, BoundId, BoundWords, Factor, Inequality, Reference, Site, StatedBound,
    StatementId, Statistic, Sum, Symbols, Term,
};
use cavi_model::BlockSpec;

use crate::blocks::Draft;
use crate::derive::Derivation;
use crate::logs::logs_of_products_apart;
use crate::separate::Element;
use sign::Sign;

/// Every bound. A term is offered to them in this order, and the first that bounds it does.
pub fn bounds() -> &'static [&'static dyn Bound] {
    &[&jensen_log_sum::JensenLogSum, &jaakkola_jordan::JaakkolaJordan, &lee_seung::LeeSeung]
}

/// A bound, tight at the optimum of its auxiliary variable. It is put in the place of every term that needs it
/// ([`Bound::replace`]), or of the terms of a block that asks for it by its name, `point w by NAME` ([`Bound::serves`],
/// [`Bound::split`]).
pub trait Bound: Sync {
    /// Its name, in programs and derivations.
    fn name(&self) -> &'static str;

    /// What it states.
    fn inequality(&self) -> Inequality;

    /// The same in words.
    fn words(&self) -> BoundWords;

    /// Where it comes from, for those who cite it.
    fn references(&self) -> &'static [Reference];

    /// What stands in the place of a term of a log-density, if the term needs this bound and has it.
    fn replace(&self, _at: &mut Bounding<'_, '_>, _term: &Term) -> Option<Replacement> {
        None
    }

    /// The blocks that may ask for it.
    fn serves(&self) -> Option<Serves> {
        None
    }

    /// Why a product of elements of a block that asks for it has no such bound: what may be negative of what is taken off with it.
    fn refuses(&self, _symbols: &Symbols, _term: &Term, _found: &[Element]) -> Option<Sign> {
        None
    }

    /// For a block that asks for it, a product of its elements as a sum of statistics of one element each, everything else at
    /// its old value. `None` where the product needs no bound.
    fn split<'e>(&self, _term: &Term, _found: &'e [Element]) -> Option<Vec<Part<'e>>> {
        None
    }

    /// Whether a point that asks for it keeps its zeros ([`StatedBound::keeps_zeros`]).
    fn keeps_zeros(&self) -> bool {
        false
    }
}

/// The place of a term: what a bound reads, and where it puts its auxiliary variables.
pub struct Bounding<'d, 'm> {
    /// The derivation so far.
    pub derivation: &'d mut Derivation<'m>,
    /// The blocks.
    pub drafts: &'d [Draft],
    /// The statement of the term.
    pub statement: StatementId,
    /// The bound itself.
    pub bound: BoundId,
    /// The sites so far.
    pub sites: &'d mut Vec<Site>,
    /// The tangents so far.
    pub auxiliaries: &'d mut Vec<Auxiliary>,
}

/// What a bound puts in the place of a term.
pub struct Replacement {
    /// As in [`BoundedStatement::held`].
    pub held: Vec<Term>,
    /// As in [`BoundedStatement::tight`].
    pub tight: Vec<Term>,
}

/// The blocks that may ask for a bound.
pub struct Serves {
    /// Whether a block may.
    pub block: fn(&Symbols, &BlockSpec) -> bool,
    /// Which may, in words.
    pub blocks: &'static str,
}

/// A statistic of one element, and the rest of the term that it is multiplied by.
pub struct Part<'e> {
    /// The element.
    pub element: &'e Element,
    /// The statistic.
    pub statistic: Statistic,
    /// The rest of the term.
    pub rest: Term,
}

/// The bound of an id.
pub fn bound_of(id: BoundId) -> &'static dyn Bound {
    bounds()[id.index()]
}

/// The bound that blocks ask for by a name, with the blocks that may.
pub fn asked_for(name: &str) -> Option<(BoundId, Serves)> {
    ids().find(|id| bound_of(*id).name() == name).and_then(|id| Some((id, bound_of(id).serves()?)))
}

/// The bound of the log of a sum.
pub fn of_log_sums() -> BoundId {
    ids().find(|id| bound_of(*id).name() == jensen_log_sum::NAME).expect("it is in the list")
}

/// All bounds as derivations show them.
pub fn stated() -> Vec<StatedBound> {
    let stated = |bound: &&dyn Bound| StatedBound {
        name: bound.name(),
        inequality: bound.inequality(),
        words: bound.words(),
        keeps_zeros: bound.keeps_zeros(),
        references: bound.references(),
    };
    bounds().iter().map(stated).collect()
}

fn ids() -> impl Iterator<Item = BoundId> {
    (0..bounds().len()).map(BoundId::from)
}

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
    /// Where the statement holds an implicit factor: the same with the shares of that factor in it, so that it is this
    /// statement's own. In `tight` it stands in the log partition of the factor, with what other statements add to that.
    pub shared: Option<Sum>,
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

/// Bounds every term that needs it.
pub fn bound(derivation: &mut Derivation, drafts: &[Draft], log_densities: &[Sum]) -> Bounded {
    let mut bounded = Bounded::default();
    for (index, log_density) in log_densities.iter().enumerate() {
        let statement = StatementId::from(index);
        let (mut held, mut tight) = (Sum::zero(), Sum::zero());
        for term in &log_density.terms {
            for term in logs_of_products_apart(&mut derivation.symbols, term) {
                let replaced = ids().find_map(|bound| {
                    let (sites, auxiliaries) = (&mut bounded.sites, &mut bounded.auxiliaries);
                    let mut at = Bounding { derivation, drafts, statement, bound, sites, auxiliaries };
                    bound_of(bound).replace(&mut at, &term)
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
        let stated = log_density.clone();
        bounded.statements.push(BoundedStatement { stated, held, tight, shared: None });
    }
    bounded
}
