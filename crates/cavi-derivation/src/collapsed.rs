//! Allocations that leave their own shares out: the rule `collapsed`.
//!
//! # The rule
//! An allocation is fed back to itself: what it adds to the statistics of its factors raises their means, and these raise it.
//! Under mean field the allocation of a word of a short text confirms itself in this way. A collapsed Gibbs sampler leaves
//! each unit out of the counts that it is drawn from, and so does CVB0. Here that is a rule of allocations, of any program.
//!
//! Let `log sum_c f_c` be a site, `f_c = prod_i f_ci` a product of factors, and `m_ci` their means, as under
//! [`with_means`]. The shares of the categories are
//!
//! ```text
//! phi0_c = prod_i m_ci / sum_b prod_i m_bi .
//! ```
//!
//! Let `x` be the element of a block that a factor is the mean of, and `N` its mass, the natural parameter of `log x`: the shape
//! of a Gamma, a concentration of a Dirichlet, a parameter of a Beta. It is the sum of what the prior contributes, `P`, and of
//! expected counts, `p w phi_c` for every entry of weight `w` and every category c whose factor is `x^p`. What one unit of this
//! entry adds to it is `u = sum_b p phi0_b` over the categories b whose factor is the same `x` (a factor that several categories
//! share is fed by all of them). Without that unit, but never without the prior, the mass is `max(N - u, P)`, and the mean of `x` is
//! `m max(N - u, P) / N`, where its rate has nothing to do with the allocation. Where the mean is the mass over the total `T` of
//! the masses of a slice, `T = sum_v N_v`, the unit leaves the total as well. The allocation is
//!
//! ```text
//! phi_c  proportional to  prod_i m_ci (max(N_ci - u_ci, P_ci) / N_ci) / (max(T_ci - t_ci, Q_ci) / T_ci)
//! ```
//!
//! with `t = sum_b p phi0_b` over the categories whose factor is any element of the slice, and `Q` the prior's part of the total.
//! A factor without a mass (a constant, data, a Gaussian component, a point, a variable that no sweep updates) is taken as it
//! is. An entry of a weight below 1 holds no whole unit: what is left out is then `min(w, 1)` of it. A row of multiplicity
//! stands for as many equal rows, each of which leaves its own unit out.
//!
//! The power p may be data, if the mean is a mass over a total. Under `x ~ Bernoulli(a[z])` with `a ~ Beta`, whose masses are `a` and `b`, a
//! category has the factors `a^x (1 - a)^(1 - x)`: the unit adds x phi0 to the one mass, (1 - x) phi0 to the other, and phi0 to the total.
//! Left out of all three it leaves the means `(a - phi0) / (a + b - phi0)` at x = 1 and `(b - phi0) / (a + b - phi0)` at x = 0. So it is of
//! each of several items, `x[u, j] ~ Bernoulli(a[z[u], j])`, whose logs the category sums: the unit is left out of the masses of each `a[k, j]`. A
//! variable with a rate to which the entry adds as well, as a Gamma under `x ~ Poisson(l[z])`, is taken as it is.
//!
//! Every quotient is between `2^-52` and 1 ([`Function::LogLeft`]), so that no category loses its share for good, and the quotient
//! 0 / 0 cannot occur: where all masses were at the floor, the allocation would be phi0. The floor P matters: the shares phi0 are not those
//! that were counted at the last update, so that `N - u` can lie below what the prior contributes, which no counts of others
//! can do. A document of a few words meets this at every sweep.
//!
//! No ascent of the bound is claimed. With all of its counts integrated out exactly this would be the zeroth-order collapsed
//! variational inference of the source; the difference is that the own share is worked out anew from the means instead of being kept
//! from the last sweep, so that no array of entries by categories is stored.
//!
//! # Source
//! Asuncion, Welling, Smyth and Teh, On smoothing and inference for topic models (2009), section 3.4.

use cavi_algebra::canonical::canonical;
use cavi_algebra::rules::{Substitution, multiply, refresh, rename_apart, substitute};
use cavi_algebra::{
    Addend, ArrayKind, Atom, Block, BlockId, Collapsed, Elementary, Equations, Factor, Function, LeftOut,
    LetterId, Mode, Moment, Natural, Part, Restriction, Site, SiteId, Statistic, Subscript, Sum, Support,
    Symbols, Term, dedup,
};
use cavi_families::posterior;

use crate::warmup::{expected_log, with_means};

/// The equations with allocations that leave their own shares out. The sites whose allocations are the shares come behind
/// those of the program. `updates` says which blocks a sweep updates: no other is fed. Points that climb take allocations as they are
/// at the last refresh, since these are no maximum of their objective.
pub fn with_collapsed(equations: &Equations, updates: &dyn Fn(BlockId) -> bool) -> Equations {
    let mut warm = with_means(equations);
    for number in 0..equations.sites.len() {
        let site = &equations.sites[number];
        let fed: Vec<Vec<Option<Fed>>> =
            site.addends.iter().map(|addend| Fed::all(equations, addend, updates)).collect();
        if fed.iter().flatten().all(Option::is_none) {
            continue;
        }
        let by_means = warm.sites[number].clone();
        let shares = SiteId::from(warm.sites.len());
        let mut own = Own { equations, symbols: &mut warm.symbols, site: &by_means, shares, fed: &fed };
        let collapsed = own.collapsed();
        warm.sites[number].collapsed = Some(collapsed);
        warm.sites.push(by_means);
    }
    if warm.sites.len() > equations.sites.len() {
        warm.blocks.iter_mut().filter_map(|block| block.ascent.as_mut()).for_each(|own| own.tight = None);
    }
    warm
}

/// The equations of sweeps under another rule of allocations, with the bound of the program: what it has of sites is evaluated at
/// the program's own, which come behind all others.
pub fn with_bound_of(equations: &Equations, mut warm: Equations) -> Equations {
    let first = warm.sites.len();
    for site in &equations.sites {
        let mut own = site.clone();
        let sums = own.addends.iter_mut().map(|addend| &mut addend.log_weight);
        sums.chain([&mut own.weight]).for_each(|sum| move_sites(sum, first));
        warm.sites.push(own);
    }
    warm.elbo.terms.iter_mut().for_each(|(_, sum)| move_sites(sum, first));
    warm
}

/// Adds a number to every site that a sum mentions.
fn move_sites(sum: &mut Sum, by: usize) {
    for atom in sum.terms.iter_mut().flat_map(|term| &mut term.factors).map(|factor| &mut factor.atom) {
        if let Atom::Allocation { site, .. } | Atom::LogPartition { site, .. } = atom {
            *site = SiteId::from(site.index() + by);
        }
        atom.nested_mut().into_iter().for_each(|inner| move_sites(inner, by));
    }
}

/// The blocks of which allocations leave their own shares out, if sweeps update all of them.
pub fn leaves_out(equations: &Equations) -> Vec<BlockId> {
    let addends = equations.sites.iter().flat_map(|site| &site.addends);
    let fed = addends.flat_map(|addend| Fed::all(equations, addend, &|_| true));
    dedup(fed.flatten().map(|fed| fed.moment.block).collect())
}

/// The mass that the terms of one log of an addend feed.
struct Fed<'a> {
    moment: &'a Moment,
    elementary: Elementary,
    /// The power p of the element: a number or data, with the masks that say where there is such a factor at all.
    power: Sum,
    /// Letters that are summed, each of which the copies of the element have: each of its values feeds another element.
    sums: &'a [LetterId],
}

impl<'a> Fed<'a> {
    /// What the terms of an addend feed: those of one log together, at the first of them. A variable of which one log stands in another way,
    /// beside another latent or under a sum over one element, is fed by none of them: which of its masses a unit adds to is not in the powers alone.
    fn all(
        equations: &Equations,
        addend: &'a Addend,
        updates: &dyn Fn(BlockId) -> bool,
    ) -> Vec<Option<Fed<'a>>> {
        let terms = &addend.log_weight.terms;
        let each: Vec<Option<Fed>> = terms.iter().map(|term| Fed::of(equations, term, updates)).collect();
        let blocks = terms.iter().zip(&each).filter(|(_, fed)| fed.is_none()).flat_map(|(term, _)| {
            term.factors.iter().filter_map(|factor| Some(expected_log(factor)?.0.block))
        });
        let apart: Vec<BlockId> = blocks.collect();
        let mut all: Vec<Option<Fed>> = Vec::new();
        for own in each {
            let own = own.filter(|fed| !apart.contains(&fed.moment.block));
            let same = own.as_ref().and_then(|own| {
                all.iter_mut()
                    .flatten()
                    .find(|other| (other.moment, other.elementary) == (own.moment, own.elementary))
            });
            match (same, own) {
                (Some(same), Some(own)) => {
                    same.power.terms.extend(own.power.terms);
                    all.push(None);
                }
                (_, own) => all.push(own),
            }
        }
        let has_data = |fed: &Fed| {
            let mut factors = fed.power.terms.iter().flat_map(|term| &term.factors);
            factors.any(|factor| !matches!(factor.atom, Atom::Observed(..)))
        };
        let over_total = |fed: &Fed| posterior(equations.block(fed.moment.block).family).mean_is_over_total();
        let by_rate: Vec<BlockId> = (all.iter().flatten())
            .filter(|fed| (has_data(fed) || !fed.sums.is_empty()) && !over_total(fed))
            .map(|fed| fed.moment.block)
            .collect();
        for own in &mut all {
            own.take_if(|fed| by_rate.contains(&fed.moment.block));
        }
        all
    }

    fn of(equations: &Equations, term: &'a Term, updates: &dyn Fn(BlockId) -> bool) -> Option<Fed<'a>> {
        let is_known = |factor: &&Factor| match &factor.atom {
            Atom::Observed(..) => true,
            Atom::Value(array, _) => equations.symbols.array(*array).kind != ArrayKind::Latent,
            _ => false,
        };
        let (known, factors): (Vec<&Factor>, Vec<&Factor>) = term.factors.iter().partition(is_known);
        let mut factors = factors.into_iter();
        let (moment, elementary) = expected_log(factors.next()?)?;
        let block = equations.block(moment.block);
        let family = posterior(block.family);
        let has_mass = family.expectation_of(&Statistic(vec![(0, mass_of(elementary))])).is_some();
        let moves = block.mode == Mode::Distribution && updates(moment.block);
        let is_of_copy = |letter: &LetterId| moment.plates.contains(&Subscript::Letter(*letter));
        let alone = factors.next().is_none() && term.sums.iter().all(is_of_copy) && block.members.len() == 1;
        let known = known.into_iter().cloned().collect();
        let power = Sum::term(Term { factors: known, ..Term::number(term.coefficient.0) });
        (has_mass && moves && alone).then_some(Fed { moment, elementary, power, sums: &term.sums })
    }

    /// The subscripts that say in which normaliser its mass stands: those of the copy, and the groups of ragged slices.
    fn copy(&self, equations: &Equations, symbols: &Symbols) -> Vec<Subscript> {
        let block = equations.block(self.moment.block);
        let ragged = |slot: &(&LetterId, &Subscript)| symbols.letter(*slot.0).parent.is_some();
        let slots = block.slices[0].iter().zip(&self.moment.slots).filter(ragged);
        let group = |slot: &Subscript| match slot {
            Subscript::Letter(letter) => symbols.letter(*letter).parent.map(Subscript::Letter),
            Subscript::Index(..) => None,
        };
        let groups = slots.filter_map(|(_, slot)| group(slot));
        self.moment.plates.iter().cloned().chain(groups).collect()
    }

    /// The subscripts of its element.
    fn element(&self) -> Vec<Subscript> {
        self.moment.plates.iter().chain(&self.moment.slots).cloned().collect()
    }
}

/// The mass that stands beside an expected log in the density.
fn mass_of(log: Elementary) -> Elementary {
    if log == Elementary::LogComplement { Elementary::MassOfComplement } else { Elementary::Mass }
}

/// What a site leaves out.
struct Own<'a, 's> {
    equations: &'a Equations,
    symbols: &'s mut Symbols,
    /// By means.
    site: &'a Site,
    shares: SiteId,
    /// For each addend and each term of its log weight.
    fed: &'a [Vec<Option<Fed<'a>>>],
}

/// Where a factor stands among the copies of its block; `None` where it does not count.
type Places<'a> = dyn Fn(&Fed, &Equations, &Symbols) -> Option<Vec<Subscript>> + 'a;

impl Own<'_, '_> {
    fn collapsed(&mut self) -> Collapsed {
        let mut left_out = Vec::new();
        let mut log_weights = Vec::new();
        for (addend, fed) in self.site.addends.iter().zip(self.fed) {
            let own: Vec<Option<LeftOut>> =
                fed.iter().map(|fed| fed.as_ref().map(|fed| self.left_out(addend, fed))).collect();
            let mut log_weight = addend.log_weight.clone();
            for (fed, own) in fed.iter().zip(&own) {
                if let (Some(fed), Some(LeftOut { part, total, .. })) = (fed, own) {
                    let rest = self.log_left(part);
                    let total = total.as_ref().map_or_else(Sum::zero, |total| self.log_left(total));
                    let mut rest = multiply(self.symbols, &rest.minus(total), &fed.power);
                    rest.terms.iter_mut().for_each(|term| term.sums.extend(fed.sums));
                    log_weight = log_weight.plus(rest);
                }
            }
            left_out.push(own);
            log_weights.push(log_weight);
        }
        Collapsed { shares: self.shares, left_out, log_weights, unit: self.unit() }
    }

    fn left_out(&mut self, addend: &Addend, fed: &Fed) -> LeftOut {
        let block = self.equations.block(fed.moment.block);
        let elements = fed.element();
        let share = self.share(fed.moment, &elements, &|other, _, _| {
            (other.elementary == fed.elementary).then(|| other.element())
        });
        let mass = Moment { statistic: Statistic(vec![(0, mass_of(fed.elementary))]), ..fed.moment.clone() };
        let prior = natural_of(block, fed.elementary).map_or_else(Sum::zero, |(place, natural)| {
            self.at(block, &natural.slots, fed.moment, &block.prior[place], Slots::Given)
        });
        let part = Part { share, mass: Sum::atom(Atom::Moment(mass)), prior };
        let over_total = posterior(block.family).mean_is_over_total();
        let total = over_total.then(|| self.total(block, fed)).flatten();
        let power = canonical(self.symbols, &fed.power);
        // What all categories share cancels.
        let cancels = |own: &Part| {
            let mut letters = own.share.free_letters(self.symbols);
            letters.extend(own.mass.free_letters(self.symbols));
            self.site.addends.len() == 1 && !letters.iter().any(|letter| addend.letters.contains(letter))
        };
        LeftOut { power, part, total: total.filter(|own| !cancels(own)) }
    }

    /// The total of the masses in the normaliser of an element. `None` where a slice runs over groups that only data tell.
    fn total(&mut self, block: &Block, fed: &Fed) -> Option<Part> {
        let told = |(slice, slot): (&LetterId, &Subscript)| {
            self.symbols.letter(*slice).parent.is_none() || matches!(slot, Subscript::Letter(_))
        };
        let by_data = |letter: &LetterId| {
            let place = block.plates.iter().position(|plate| plate == letter);
            place.is_some_and(|place| matches!(fed.moment.plates[place], Subscript::Index(..)))
        };
        let ragged_in_data = block.slices[0].iter().filter_map(|slice| self.symbols.letter(*slice).parent);
        if !block.slices[0].iter().zip(&fed.moment.slots).all(told)
            || ragged_in_data.into_iter().any(|own| by_data(&own))
        {
            return None;
        }
        let copy = fed.copy(self.equations, self.symbols);
        let share =
            self.share(fed.moment, &copy, &|other, equations, symbols| Some(other.copy(equations, symbols)));
        let (mut mass, mut prior) = (Sum::zero(), Sum::zero());
        for elementary in [Elementary::Log, Elementary::LogComplement] {
            let Some((place, natural)) = natural_of(block, elementary) else { continue };
            let element = Moment {
                block: fed.moment.block,
                statistic: Statistic(vec![(0, mass_of(elementary))]),
                plates: block.plates.iter().copied().map(Subscript::Letter).collect(),
                slots: natural.slots.iter().copied().map(Subscript::Letter).collect(),
            };
            let element = Sum::atom(Atom::Moment(element));
            mass = mass.plus(self.at(block, &natural.slots, fed.moment, &element, Slots::Summed));
            prior =
                prior.plus(self.at(block, &natural.slots, fed.moment, &block.prior[place], Slots::Summed));
        }
        Some(Part { share, mass, prior })
    }

    /// `sum p phi0` over the categories whose factor is an element of the same block, at the same place: `places` says where a factor
    /// stands, if it counts at all.
    fn share(&mut self, moment: &Moment, at: &[Subscript], places: &Places) -> Sum {
        let mut share = Sum::zero();
        for (number, (addend, fed)) in self.site.addends.iter().zip(self.fed).enumerate() {
            for other in fed.iter().flatten().filter(|other| other.moment.block == moment.block) {
                let Some(place) = places(other, self.equations, self.symbols) else { continue };
                if at.iter().zip(&place).any(|(left, right)| self.are_apart(left, right)) {
                    continue;
                }
                let carried = place.iter().map(|own| Factor::of(Atom::Equal(own.clone(), own.clone())));
                let letters = |own: &[LetterId]| own.iter().copied().map(Subscript::Letter).collect();
                let allocation = Atom::Allocation {
                    site: self.shares,
                    addend: number,
                    plates: letters(&self.site.plates),
                    categories: letters(&addend.letters),
                };
                let carried: Vec<Factor> = carried.collect();
                for power in &other.power.terms {
                    let factors = carried.iter().chain(&power.factors).cloned();
                    let term = Term {
                        sums: addend.letters.iter().chain(other.sums).copied().collect(),
                        factors: factors.chain([Factor::of(allocation.clone())]).collect(),
                        ..Term::number(power.coefficient.0)
                    };
                    // The categories that are summed are others than the one that asks.
                    let mut term = refresh(self.symbols, &term);
                    for (factor, own) in term.factors.iter_mut().zip(at) {
                        if let Atom::Equal(left, _) = &mut factor.atom {
                            *left = own.clone();
                        }
                    }
                    share.terms.push(term);
                }
            }
        }
        canonical(self.symbols, &share)
    }

    /// Whether the data of the site have no entry where two subscripts, or ancestors of theirs, are equal.
    fn are_apart(&self, left: &Subscript, right: &Subscript) -> bool {
        let (Subscript::Letter(left), Subscript::Letter(right)) = (left, right) else { return false };
        let (left, right) = (self.symbols.lineage(*left), self.symbols.lineage(*right));
        let factors = self.site.weight.terms.iter().flat_map(|term| &term.factors);
        let mut arrays = factors.filter_map(|factor| match &factor.atom {
            Atom::Value(array, subscripts) | Atom::Observed(array, subscripts) => {
                Some((self.symbols.array(*array), subscripts))
            }
            _ => None,
        });
        arrays.any(|(array, subscripts)| {
            let Some(Restriction::Different(one, other) | Restriction::Less(one, other)) = array.restriction
            else {
                return false;
            };
            let at = |letter: LetterId| {
                let place = array.letters.iter().position(|own| *own == letter)?;
                match subscripts.get(place)? {
                    Subscript::Letter(letter) => Some(*letter),
                    Subscript::Index(..) => None,
                }
            };
            let (Some(one), Some(other)) = (at(one), at(other)) else { return false };
            left.contains(&one) && right.contains(&other) || left.contains(&other) && right.contains(&one)
        })
    }

    /// A sum over the plates and slots of a block, at an element; its slots given, or summed.
    fn at(&mut self, block: &Block, slots: &[LetterId], moment: &Moment, sum: &Sum, how: Slots) -> Sum {
        let mut map: Substitution = block.plates.iter().copied().zip(moment.plates.iter().cloned()).collect();
        let mut out = Sum::zero();
        for (slot, to) in slots.iter().zip(&moment.slots) {
            match (how, to, self.symbols.letter(*slot).parent) {
                (Slots::Given, ..) => {
                    map.insert(*slot, to.clone());
                }
                (Slots::Summed, Subscript::Letter(to), Some(parent)) => {
                    if let Some(group) = self.symbols.letter(*to).parent {
                        map.insert(parent, Subscript::Letter(group));
                    }
                }
                (Slots::Summed, ..) => {}
            }
        }
        let mut taken: Vec<LetterId> = Vec::new();
        moment.plates.iter().chain(&moment.slots).for_each(|own| own.letters(&mut taken));
        let taken: Vec<LetterId> = taken.into_iter().flat_map(|own| self.symbols.lineage(own)).collect();
        for term in &sum.terms {
            let mut term = term.clone();
            if how == Slots::Summed {
                term.sums = slots.iter().copied().chain(term.sums).collect();
            }
            let term = rename_apart(self.symbols, &term, &taken);
            out.terms.push(substitute(self.symbols, &term, &map));
        }
        canonical(self.symbols, &out)
    }

    /// `log max(1 - m u / N, P / N)` with m of a unit in the entry.
    fn log_left(&mut self, part: &Part) -> Sum {
        let inverse = Sum::atom(Atom::Group(Box::new(part.mass.clone())));
        let mut inverse = inverse;
        inverse.terms[0].factors[0].power = -1;
        let unit = self.unit();
        let unit = multiply(self.symbols, &unit, &part.share);
        let taken = multiply(self.symbols, &unit, &inverse);
        let kept = multiply(self.symbols, &part.prior, &inverse);
        Sum::atom(Atom::Apply(Function::LogLeft, vec![taken, kept]))
    }

    /// `min(w, 1)`, where the weight w need not be a whole number.
    fn unit(&self) -> Sum {
        let whole = |factor: &Factor| match &factor.atom {
            Atom::Value(array, _) => {
                let array = self.symbols.array(*array);
                array.kind == ArrayKind::Data && array.support == Support::Count && factor.power > 0
            }
            Atom::Observed(..) => true,
            _ => false,
        };
        match self.site.weight.terms.as_slice() {
            [only] if only.coefficient.0 == 1.0 && only.sums.is_empty() && only.factors.iter().all(whole) => {
                Sum::number(1.0)
            }
            _ => Sum::atom(Atom::Apply(Function::AtMostOne, vec![self.site.weight.clone()])),
        }
    }
}

/// What becomes of the slots of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slots {
    /// They are those of the element.
    Given,
    /// They are summed.
    Summed,
}

/// The coefficient of the log of an element among those of its block, with its place.
fn natural_of(block: &Block, log: Elementary) -> Option<(usize, &Natural)> {
    block.natural.iter().enumerate().find(|(_, own)| own.statistic == Statistic(vec![(0, log)]))
}
