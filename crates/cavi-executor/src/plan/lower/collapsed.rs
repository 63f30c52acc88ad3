//! Allocations that leave their own shares out: those that one pass over the entries gives, and what it reads.

use cavi_algebra::{
    ArrayKind, Atom, Collapsed, Factor, LeftOut, LetterId, Site, SiteId, Subscript, Sum, Term,
};
use cavi_numerics::kernels::log_sum::MOST_MODES_COLLAPSED;

use super::{Dim, Lowering, Unplanned};
use crate::plan::columns::Columns;
use crate::plan::site::{OwnPlan, TotalPlan, mode};

impl<'a> Lowering<'a, '_> {
    /// Whether the pass of a site, which has one where it leaves nothing out, knows how to leave these shares out: each mode
    /// reads the share of its category alone, and numbers that are the same for all of its rows.
    pub(super) fn is_left_out_by_pass(&self, site: &Site, collapsed: &Collapsed) -> bool {
        let ([addend], [left_out]) = (site.addends.as_slice(), collapsed.left_out.as_slice()) else {
            return false;
        };
        let letters = addend.letters.as_slice();
        let terms = || addend.log_weight.terms.iter().zip(left_out);
        let modes = || terms().filter(|(term, _)| self.has_letters(&Sum::term((*term).clone()), letters));
        let is_plain = |(term, own): (&Term, &Option<LeftOut>)| {
            own.as_ref().is_none_or(|own| {
                let of_category = |sum: &Sum| self.is_of_letters(sum, letters);
                let total = own.total.as_ref();
                term.coefficient.0 == 1.0
                    && term.sums.is_empty()
                    && is_own_share(&own.part.share, collapsed.shares, site)
                    && of_category(&own.part.prior)
                    && total.is_none_or(|total| {
                        is_own_share(&total.share, collapsed.shares, site)
                            && of_category(&total.mass)
                            && of_category(&total.prior)
                    })
            })
        };
        !letters.is_empty()
            && letters.iter().all(|letter| self.symbols.letter(*letter).parent.is_none())
            && (1..=MOST_MODES_COLLAPSED).contains(&modes().count())
            && modes().all(|(term, own)| is_plain((term, own)) && !self.reads_sparse_data(term))
    }

    /// Whether a sum depends on one of these letters.
    fn has_letters(&self, sum: &Sum, letters: &[LetterId]) -> bool {
        sum.free_letters(&self.symbols).iter().any(|letter| letters.contains(letter))
    }

    /// Whether a sum depends on none but these letters.
    fn is_of_letters(&self, sum: &Sum, letters: &[LetterId]) -> bool {
        sum.free_letters(&self.symbols).iter().all(|letter| letters.contains(letter))
    }

    /// Whether the value of sparse data stands in a term: a pass may list its categories by it.
    fn reads_sparse_data(&self, term: &Term) -> bool {
        fn any(sum: &Sum, test: &dyn Fn(&Factor) -> bool) -> bool {
            sum.terms
                .iter()
                .flat_map(|term| &term.factors)
                .any(|factor| test(factor) || factor.atom.nested().into_iter().any(|inner| any(inner, test)))
        }
        let is_sparse = |factor: &Factor| match &factor.atom {
            Atom::Value(array, _) => {
                self.symbols.array(*array).kind != ArrayKind::Latent && self.is_sparse(*array)
            }
            _ => false,
        };
        any(&Sum::term(term.clone()), &is_sparse)
    }

    /// What the pass of a site reads of a mode besides its means.
    pub(in crate::plan) fn plan_own(
        &mut self,
        left_out: &LeftOut,
        letters: &[LetterId],
        columns: &Columns,
    ) -> Result<OwnPlan, Unplanned> {
        let domain: Vec<Dim> = letters.iter().map(|letter| Dim::Letter(*letter)).collect();
        let [mass] = left_out.part.mass.terms.as_slice() else {
            return Err(Unplanned("a mass that is no number of one variable".to_owned()));
        };
        let mass = mode(self, usize::MAX, None, mass, letters, columns)?.log_factor;
        let prior = self.sum(&left_out.part.prior, &domain, None)?;
        let total = match &left_out.total {
            None => None,
            Some(total) => Some(TotalPlan {
                mass: self.sum(&total.mass, &domain, None)?,
                prior: self.sum(&total.prior, &domain, None)?,
            }),
        };
        Ok(OwnPlan { mass, prior, total })
    }
}

/// Whether a sum is the share of the category itself.
fn is_own_share(sum: &Sum, shares: SiteId, site: &Site) -> bool {
    let [Term { sums, factors, coefficient }] = sum.terms.as_slice() else { return false };
    let same = |subscripts: &[Subscript], letters: &[LetterId]| {
        subscripts.iter().eq(letters
            .iter()
            .map(|letter| Subscript::Letter(*letter))
            .collect::<Vec<_>>()
            .iter())
    };
    let [Factor { atom: Atom::Allocation { site: of, addend: 0, plates, categories }, power: 1 }] =
        factors.as_slice()
    else {
        return false;
    };
    sums.is_empty()
        && coefficient.0 == 1.0
        && *of == shares
        && same(plates, &site.plates)
        && same(categories, &site.addends[0].letters)
}
