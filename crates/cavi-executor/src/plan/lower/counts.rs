//! Allocations in an update are replaced by expected counts, which the pass over the entries of a site computes.

use cavi_algebra::rules::{Substitution, substitute};
use cavi_algebra::{Atom, BlockId, Factor, Function, LetterId, Moment, Subscript, Sum, Term};

use super::{Dim, Lowering, Pending, Unplanned};
use crate::plan::site::{climbers, subscripts_of};
use crate::plan::tensor::Operation;

impl<'a> Lowering<'a, '_> {
    /// The expected counts that a term with an allocation stands for, and the number in front of them.
    pub(super) fn counts(
        &mut self,
        term: &Term,
        target: Option<BlockId>,
    ) -> Result<(Pending, f64), Unplanned> {
        let lost = || Unplanned("an allocation outside the update of a block".to_owned());
        let target = target.ok_or_else(lost)?;
        let (site_id, addend_id, plates, categories) = term
            .factors
            .iter()
            .find_map(|factor| match &factor.atom {
                Atom::Allocation { site, addend, plates, categories } => {
                    Some((*site, *addend, plates, categories))
                }
                _ => None,
            })
            .ok_or_else(lost)?;
        let equations = self.equations;
        let site = equations.site(site_id);
        let addend = &site.addends[addend_id];
        // The substitution from the site's letters to those of the term.
        let mut map = Substitution::new();
        for (letter, subscript) in site.plates.iter().zip(plates).chain(addend.letters.iter().zip(categories))
        {
            map.insert(*letter, subscript.clone());
        }
        let block = equations.block(target);
        let slots: Vec<LetterId> = block.slices.concat();
        let wanted: Vec<LetterId> = block.plates.iter().chain(&slots).copied().collect();
        for (number, log) in addend.log_weight.terms.iter().enumerate() {
            let Some(subscripts) = self.log_subscripts(target, log) else { continue };
            // Where does each subscript of the log term go?
            let probe = Term {
                factors: subscripts
                    .iter()
                    .map(|own| Factor::of(Atom::Equal(own.clone(), own.clone())))
                    .collect(),
                ..Term::number(1.0)
            };
            let moved = substitute(&mut self.symbols, &probe, &map);
            let moved: Vec<Subscript> = moved
                .factors
                .iter()
                .map(|factor| match &factor.atom {
                    Atom::Equal(left, _) => left.clone(),
                    _ => unreachable!("the probe holds equalities only"),
                })
                .collect();
            let matches = moved.iter().zip(&wanted).all(|(own, letter)| {
                let direct = *own == Subscript::Letter(*letter);
                direct
                    || term.factors.iter().any(|factor| match &factor.atom {
                        Atom::Equal(a, b) => {
                            (a == own && *b == Subscript::Letter(*letter))
                                || (b == own && *a == Subscript::Letter(*letter))
                        }
                        _ => false,
                    })
            });
            if matches {
                let loops = wanted.iter().map(|letter| self.over_letter(*letter)).collect();
                let node = self.node(Operation::Counts(site_id, addend_id, number), loops, Vec::new);
                let subscripts = wanted.iter().map(|letter| Subscript::Letter(*letter)).collect();
                return Ok((Pending { node, subscripts }, log.coefficient.0));
            }
        }
        Err(lost())
    }

    /// The expected counts, as the pass over a site gives them, that stand for the weight and the allocation in a term of the
    /// slope or the objective of a point that climbs, and what is left of the term: the other factors, and the sums over
    /// letters that these and the counts have. `None` where the rest has other letters of the site, so that its shares are
    /// wanted one by one.
    ///
    /// `sum_{e, c} w_e phi_ec g = sum_{r, c} N_rc g` for `N_rc = sum_{e in row r} w_e phi_ec`, if g depends on the entry by its
    /// row alone.
    pub(super) fn counts_of_rows(
        &mut self,
        term: &Term,
        domain: &[Dim],
        target: Option<BlockId>,
    ) -> Option<(Pending, Term)> {
        let target = target?;
        let allocations = |factor: &Factor| matches!(factor.atom, Atom::Allocation { .. });
        let place = term.factors.iter().position(allocations)?;
        let Atom::Allocation { site: id, addend: number, plates, categories } = &term.factors[place].atom
        else {
            return None;
        };
        if term.factors.iter().filter(|own| allocations(own)).count() > 1 || !self.by_pass(*id) {
            return None;
        }
        let equations = self.equations;
        let site = equations.site(*id);
        let addend = &site.addends[*number];
        let letter = |subscript: &Subscript| match subscript {
            Subscript::Letter(letter) if self.symbols.letter(*letter).parent.is_none() => Some(*letter),
            Subscript::Letter(_) | Subscript::Index(..) => None,
        };
        let of_site: Vec<LetterId> = plates.iter().chain(categories).map(letter).collect::<Option<_>>()?;
        let from = || site.plates.iter().chain(&addend.letters).copied();
        let map: Substitution = from().zip(plates.iter().chain(categories).cloned()).collect();
        // The weight, taken off.
        let [weight] = site.weight.terms.as_slice() else { return None };
        let weight = substitute(&mut self.symbols, weight, &map);
        let mut rest = term.clone();
        rest.factors.remove(place);
        rest.coefficient.0 /= weight.coefficient.0;
        for own in &weight.factors {
            if matches!(own.atom, Atom::Observed(array, _) if !self.bound.array(array).has_missing()) {
                continue;
            }
            let found = rest.factors.iter().position(|factor| factor == own)?;
            rest.factors.remove(found);
        }
        let mut wanted: Vec<LetterId> =
            rest.factors.iter().flat_map(|own| own.atom.free_letters(&self.symbols)).collect();
        for dim in domain {
            match dim {
                Dim::Letter(letter) => wanted.push(*letter),
                Dim::Entries(_, letters) => wanted.extend(letters),
            }
        }
        wanted.retain(|letter| of_site.contains(letter));
        let of_log = |log: &Term| -> Option<Vec<LetterId>> {
            if !climbers(self, log).contains(&target) {
                return None;
            }
            let own = subscripts_of(self, log);
            let letters = |subscript: &Subscript| match subscript {
                Subscript::Letter(letter) => Some(*letter),
                Subscript::Index(..) => None,
            };
            let own: Vec<LetterId> = own.iter().map(letters).collect::<Option<_>>()?;
            if !own.iter().any(|letter| addend.letters.contains(letter)) {
                return Some(own);
            }
            let rows = own.into_iter().filter(|letter| !addend.letters.contains(letter));
            Some(rows.chain(addend.letters.iter().copied()).collect())
        };
        let found = addend.log_weight.terms.iter().enumerate().find_map(|(log_number, log)| {
            let native = of_log(log)?;
            let moved = |own: &LetterId| of_site[from().position(|letter| letter == *own).expect("its own")];
            let letters: Vec<LetterId> = native.iter().map(moved).collect();
            wanted.iter().all(|letter| letters.contains(letter)).then_some((log_number, letters))
        });
        let (log_number, letters) = found?;
        rest.sums.retain(|letter| letters.contains(letter) || !of_site.contains(letter));
        let subscripts: Vec<Subscript> = letters.into_iter().map(Subscript::Letter).collect();
        let loops = self.loops_of(&subscripts);
        let node = self.node(Operation::Counts(*id, *number, log_number), loops, Vec::new);
        Some((Pending { node, subscripts }, rest))
    }

    /// The subscripts (plates, then slots) of the element of a block whose log a log term is.
    pub fn log_subscripts(&self, block: BlockId, log: &Term) -> Option<Vec<Subscript>> {
        // A mask in front of the log: planning has seen that no entry is missing.
        let factors: Vec<Factor> =
            log.factors.iter().filter(|factor| !matches!(factor.atom, Atom::Observed(..))).cloned().collect();
        match factors.as_slice() {
            [Factor { atom: Atom::Moment(moment), power: 1 }] if moment.block == block => {
                Some(moment.plates.iter().chain(&moment.slots).cloned().collect())
            }
            [Factor { atom: Atom::Apply(Function::Log, inner), power: 1 }]
                if of_mean(&inner[0]).is_some() =>
            {
                let moment = of_mean(&inner[0]).filter(|moment| moment.block == block)?;
                Some(moment.plates.iter().chain(&moment.slots).cloned().collect())
            }
            [Factor { atom: Atom::Apply(Function::Log, inner), power: 1 }] => {
                let [Term { factors, .. }] = inner[0].terms.as_slice() else { return None };
                let [Factor { atom: Atom::Value(array, subscripts), .. }] = factors.as_slice() else {
                    return None;
                };
                if self.equations.block_of(*array) != Some(block) {
                    return None;
                }
                let letters = &self.symbols.array(*array).letters;
                let own = self.equations.block(block);
                let ordered = own.plates.iter().chain(own.slices.iter().flatten());
                ordered
                    .map(|letter| {
                        letters.iter().position(|l| l == letter).map(|place| subscripts[place].clone())
                    })
                    .collect()
            }
            _ => None,
        }
    }
}

/// The expectation that an allocation by means takes the log of, alone or inside a root or a complement.
fn of_mean(sum: &Sum) -> Option<&Moment> {
    let mut found = sum.terms.iter().flat_map(|term| &term.factors).map(|factor| match &factor.atom {
        Atom::Moment(moment) => Some(moment),
        Atom::Apply(Function::Power, inner) => of_mean(&inner[0]),
        _ => None,
    });
    let only = found.next()??;
    found.next().is_none().then_some(only)
}
