//! Rewrites before lowering: every term becomes a product of arrays.

use cavi_algebra::canonical::canonical;
use cavi_algebra::rules::{distribute, multiply};
use cavi_algebra::{
    ArrayId, ArrayKind, Atom, BlockId, Elementary, Equations, ExpectedSquare, Factor, Function, LetterId,
    Moment, Restriction, Statistic, Subscript, Sum, Term,
};
use cavi_families::posterior;

use super::Lowering;
use crate::data::BoundArray;
use crate::layout::is_one_vector;
use crate::plan::gather::{has_gathered, is_gathered, is_known_log};
use crate::plan::passes::places::is_below;

/// Squares over fewer entries stay squares.
const MANY: usize = 1 << 17;

/// Sparse data of so few cells may be filled out.
const FEW: usize = 1 << 16;

impl<'a> Lowering<'a, '_> {
    /// Rewrites that make every term a product of arrays: second moments split into means and covariances, `[a != b]` into
    /// `1 - [a = b]`, or into `[a < b] + [b < a]` where the rest may be infinite for equal letters, expected squares opened,
    /// masks without a missing entry dropped.
    pub(super) fn rewritten(&mut self, sum: &Sum) -> Sum {
        let mut queue: Vec<Term> = sum.terms.iter().rev().cloned().collect();
        let mut out = Sum::zero();
        'next: while let Some(mut term) = queue.pop() {
            // The counts of the pass include the weight of the site with its masks and restrictions, so that these
            // are taken out of a term with an allocation.
            if self.is_counted(&term) {
                out.terms.push(term);
                continue;
            }
            for position in 0..term.factors.len() {
                let factor = term.factors[position].clone();
                let without = || {
                    let mut rest = term.clone();
                    rest.factors.remove(position);
                    rest
                };
                match &factor.atom {
                    Atom::Moment(moment) => {
                        if let Some(split) = self.split_moment(moment) {
                            let rest = without();
                            let product = distribute(&mut self.symbols, &rest, &split);
                            queue.extend(canonical(&mut self.symbols, &product).terms.into_iter().rev());
                            continue 'next;
                        }
                    }
                    Atom::Equal(left, right) if self.never_equal(left, right) => continue 'next,
                    Atom::Different(left, right)
                        if self.never_equal(left, right) || self.lists_apart(&without(), left, right) =>
                    {
                        queue.push(without());
                        continue 'next;
                    }
                    // The difference of two infinities is no number, and 0 times one is 0.
                    Atom::Different(left, right) if self.has_pole(&without()) => {
                        let rest = without();
                        for (less, more) in [(right, left), (left, right)] {
                            let mut ordered = rest.clone();
                            ordered.factors.push(Factor::of(Atom::Less(less.clone(), more.clone())));
                            queue.extend(canonical(&mut self.symbols, &Sum::term(ordered)).terms);
                        }
                        continue 'next;
                    }
                    Atom::Different(left, right) => {
                        let rest = without();
                        let mut equal = rest.clone();
                        equal.factors.push(Factor::of(Atom::Equal(left.clone(), right.clone())));
                        let both = Sum::term(rest).minus(Sum::term(equal));
                        queue.extend(canonical(&mut self.symbols, &both).terms.into_iter().rev());
                        continue 'next;
                    }
                    Atom::ExpectedSquare(square) => {
                        let rest = without();
                        let opened = self.open_square(square, &rest);
                        let product = distribute(&mut self.symbols, &rest, &opened);
                        queue.extend(canonical(&mut self.symbols, &product).terms.into_iter().rev());
                        continue 'next;
                    }
                    Atom::Observed(array, _) if !self.bound.array(*array).has_missing() => {
                        term = without();
                        queue.push(term);
                        continue 'next;
                    }
                    // The whole coefficient of the log of a point stays in its brackets.
                    Atom::Group(_) if factor.power == 1 && is_gathered(self.equations, &term) => {}
                    Atom::Group(inner)
                        if factor.power == 1
                            && (self.whole || has_gathered(self.equations, &term))
                            && self.is_as_large_as_data(inner) => {}
                    Atom::Group(inner) if factor.power == 1 => {
                        let mut rest = without();
                        if has_gathered(self.equations, &term) {
                            floor_logs(self.equations, &mut rest);
                        }
                        let product = distribute(&mut self.symbols, &rest, inner);
                        queue.extend(canonical(&mut self.symbols, &product).terms.into_iter().rev());
                        continue 'next;
                    }
                    Atom::Group(inner) if factor.power == 2 && self.spread_out(inner, &term) => {
                        let rest = without();
                        let square = multiply(&mut self.symbols, inner, inner);
                        let product = distribute(&mut self.symbols, &rest, &square);
                        queue.extend(canonical(&mut self.symbols, &product).terms.into_iter().rev());
                        continue 'next;
                    }
                    Atom::Value(..)
                    | Atom::Allocation { .. }
                    | Atom::LogPartition { .. }
                    | Atom::Auxiliary { .. }
                    | Atom::Group(_)
                    | Atom::Apply(..)
                    | Atom::Observed(..)
                    | Atom::Equal(..)
                    | Atom::Less(..) => {}
                }
            }
            // Last, since what it leaves is not looked at again.
            if let Some(parts) = self.listed_apart(&term) {
                let (again, done) = parts;
                queue.extend(again.terms.into_iter().rev());
                out.terms.extend(done.terms);
                continue;
            }
            if let Some((rest, done)) = self.hidden_apart(&term) {
                queue.push(rest);
                out.terms.extend(done.terms);
                continue;
            }
            out.terms.push(term);
        }
        out
    }

    /// Whether a factor divides by data or constants, or is a function of them that is infinite at 0. Data that exist for
    /// different letters alone, and distances, are 0 where the letters are equal.
    pub(super) fn has_pole(&self, term: &Term) -> bool {
        let is_known = |factor: &Factor| matches!(&factor.atom, Atom::Value(array, _) if self.symbols.array(*array).kind != ArrayKind::Latent);
        let reads_known = |sum: &Sum| sum.terms.iter().flat_map(|term| &term.factors).any(is_known);
        // `x + 1` is not 0 for what is not negative.
        let away_from_0 = |sum: &Sum| {
            sum.terms.iter().all(|term| term.coefficient.0 > 0.0)
                && sum.terms.iter().any(|term| term.factors.is_empty() && term.sums.is_empty())
        };
        term.factors.iter().any(|factor| match &factor.atom {
            Atom::Value(..) => factor.power < 0 && is_known(factor),
            Atom::Group(inner) => {
                factor.power < 0 && reads_known(inner) || inner.terms.iter().any(|term| self.has_pole(term))
            }
            Atom::Apply(function, arguments) => {
                // Also of one that is not defined for numbers below 0, such as a root.
                let is_entire = matches!(
                    function,
                    Function::Exp
                        | Function::SinePi
                        | Function::Logistic
                        | Function::Softplus
                        | Function::EvenSoftplus
                        | Function::LogisticCurvature
                        | Function::Phi
                );
                let base = &arguments[0];
                let is_listing = arguments.get(1).is_some_and(Sum::is_zero);
                !is_entire && reads_known(base) && !away_from_0(base) && !is_listing
            }
            _ => false,
        })
    }

    /// Whether a term has a factor that is 0 wherever these two are equal: an array that lists no entry there, or its mask. What
    /// stands at the listed entries alone is not worked out elsewhere; of anything else 0 times what is infinite would be no number.
    fn lists_apart(&self, term: &Term, left: &Subscript, right: &Subscript) -> bool {
        let of_site =
            |factor: &Factor| matches!(factor.atom, Atom::Allocation { .. } | Atom::LogPartition { .. });
        let is_apart = |factor: &Factor| {
            let (array, subscripts) = match &factor.atom {
                Atom::Value(array, subscripts) if factor.power > 0 && self.is_sparse(*array) => {
                    (array, subscripts)
                }
                Atom::Observed(array, subscripts)
                    if matches!(
                        self.bound.array(*array),
                        BoundArray::Sparse { unlisted_zero: false, .. }
                    ) =>
                {
                    (array, subscripts)
                }
                _ => return false,
            };
            let stated = self.symbols.array(*array);
            let Some(Restriction::Different(one, other) | Restriction::Less(one, other)) = stated.restriction
            else {
                return false;
            };
            let at = |letter| {
                let place = stated.letters.iter().position(|own| *own == letter);
                place.and_then(|place| subscripts.get(place))
            };
            let pair = (at(one), at(other));
            pair == (Some(left), Some(right)) || pair == (Some(right), Some(left))
        };
        term.factors.iter().any(is_apart) && (term.factors.iter().any(of_site) || !self.has_pole(term))
    }

    /// Whether a sum of products of data has no more values than one of them, and is not a value for each of many entries of a
    /// sparse array.
    fn is_as_large_as_data(&self, sum: &Sum) -> bool {
        let letters = sum.free_letters(&self.symbols);
        let own = |factor: &Factor| {
            Term { factors: vec![factor.clone()], ..Term::number(1.0) }.free_letters(&self.symbols)
        };
        let factors = || sum.terms.iter().flat_map(|term| &term.factors);
        let few = |array: ArrayId| {
            let cells =
                self.bound.shape(&self.symbols, array).into_iter().fold(1_usize, usize::saturating_mul);
            cells <= FEW
        };
        let stays_sparse = |factor: &Factor| match &factor.atom {
            Atom::Value(array, _) | Atom::Observed(array, _) => {
                !self.is_sparse(*array)
                    || few(*array)
                    || !own(factor).iter().all(|letter| letters.contains(letter))
            }
            _ => false,
        };
        let holds_all = |factor: &Factor| {
            let own = own(factor);
            letters.iter().all(|letter| own.contains(letter))
        };
        factors().all(stays_sparse) && factors().any(holds_all)
    }

    /// `f(x)^p = f(0)^p + [listed] (f(x)^p - f(0)^p)` for a power of a function of a sparse element, or of a sum in brackets with one, so that only
    /// listed entries are visited. Powers other than 1 are taken apart where the array is too large to be filled out.
    fn listed_apart(&mut self, term: &Term) -> Option<(Sum, Sum)> {
        for position in 0..term.factors.len() {
            let Factor { atom, power } = term.factors[position].clone();
            let (function, argument) = match atom {
                Atom::Apply(function, mut arguments) if arguments.len() == 1 => {
                    (Some(function), arguments.remove(0))
                }
                Atom::Group(inner) if power < 0 => (None, *inner),
                _ => continue,
            };
            let Some((array, zero)) = self.unlisted(&argument, term) else { continue };
            let is_of_large = || match &array {
                Atom::Value(id, _) => self.cells(*id) > self.limit,
                _ => false,
            };
            if function.is_some_and(|own| !finite_at(own, &zero)) || power != 1 && !is_of_large() {
                continue;
            }
            let mut raised = |inner: Sum| -> Sum {
                let atom = match function {
                    Some(function) => Atom::Apply(function, vec![inner]),
                    None => Atom::Group(Box::new(inner)),
                };
                let first = canonical(&mut self.symbols, &Sum::atom(atom.clone()));
                match first.as_number() {
                    Some(value) => Sum::number(value.powi(power)),
                    None if power == 1 => first,
                    None => Sum::term(Term { factors: vec![Factor { atom, power }], ..Term::number(1.0) }),
                }
            };
            let (of_listed, of_zero) = (raised(argument), raised(zero));
            if of_zero.as_number().is_some_and(|value| !value.is_finite()) {
                continue;
            }
            let mut rest = term.clone();
            rest.factors.remove(position);
            let at_zero = distribute(&mut self.symbols, &rest, &of_zero);
            let at_zero = canonical(&mut self.symbols, &at_zero);
            let listed = Sum::atom(Atom::Apply(Function::Power, vec![Sum::atom(array), Sum::zero()]));
            let mut done = Sum::zero();
            for (inner, sign) in [(of_listed, 1.0), (of_zero, -1.0)] {
                let inside = multiply(&mut self.symbols, &listed, &inner);
                let product = distribute(&mut self.symbols, &rest, &inside);
                done.terms.extend(product.scaled(sign).terms);
            }
            return Some((at_zero, done));
        }
        None
    }

    /// `[observed] = 1 - [listed] + [listed] [observed]` for a sparse array whose unlisted entries are observed zeros, too large to
    /// be filled out: what is not observed is listed, so that all entries are summed as if nothing were missing, and the listed
    /// ones put right. None where the term visits the listed entries alone. The first of the two is looked at again.
    fn hidden_apart(&mut self, term: &Term) -> Option<(Term, Sum)> {
        let is_large = |array: ArrayId| self.cells(array) > self.limit;
        let position = term.factors.iter().position(|factor| match &factor.atom {
            Atom::Observed(array, _) => {
                matches!(self.bound.array(*array), BoundArray::Sparse { unlisted_zero: true, .. })
                    && is_large(*array)
            }
            _ => false,
        })?;
        let Atom::Observed(array, subscripts) = &term.factors[position].atom else { return None };
        let element = Atom::Value(*array, subscripts.clone());
        let is_value = |factor: &Factor| factor.atom == element && factor.power > 0;
        let is_zeroth = |factor: &Factor| {
            matches!(factor.atom, Atom::Apply(Function::Power, _)) && is_listed(factor, &element)
        };
        if term.factors.iter().any(|factor| is_value(factor) || is_zeroth(factor)) {
            return None;
        }
        let listed = Sum::atom(Atom::Apply(Function::Power, vec![Sum::atom(element), Sum::zero()]));
        let mut rest = term.clone();
        rest.factors.remove(position);
        let masked = distribute(&mut self.symbols, term, &listed);
        let unmasked = distribute(&mut self.symbols, &rest, &listed);
        Some((rest, masked.minus(unmasked)))
    }

    /// `E[x_k x_l] = E x_k E x_l + Cov_kl` where the family does not store the product.
    pub(super) fn split_moment(&self, moment: &Moment) -> Option<Sum> {
        let family = posterior(self.equations.block(moment.block).family);
        if family.expectation_of(&moment.statistic).is_some() {
            return None;
        }
        let block = self.equations.block(moment.block);
        let members: Vec<u8> = match moment.statistic.0.as_slice() {
            [(left, Elementary::Power(1)), (right, Elementary::Power(1))] => vec![*left, *right],
            [(member, Elementary::Power(2))] => vec![*member, *member],
            _ => return None,
        };
        if !is_one_vector(block) && members != [0, 0] {
            return None;
        }
        let outer = moment.statistic.0.len() == 2;
        let half = if outer { block.slices[usize::from(members[0])].len() } else { 0 };
        let mean = |member: u8, slots: &[Subscript]| {
            Factor::of(Atom::Moment(Moment {
                statistic: Statistic(vec![(member, Elementary::Power(1))]),
                slots: slots.to_vec(),
                ..moment.clone()
            }))
        };
        let means = Term {
            factors: vec![mean(members[0], &moment.slots[..half]), mean(members[1], &moment.slots[half..])],
            ..Term::number(1.0)
        };
        let centred = members.iter().map(|member| (*member, Elementary::Centred)).collect();
        let covariance = Moment { statistic: Statistic(centred), ..moment.clone() };
        Some(Sum::term(means).plus(Sum::atom(Atom::Moment(covariance))))
    }

    /// Whether two index data have no position at which they are equal.
    fn never_equal(&self, left: &Subscript, right: &Subscript) -> bool {
        let (Subscript::Index(left, at), Subscript::Index(right, other)) = (left, right) else {
            return false;
        };
        let given = |array: ArrayId| self.symbols.array(array).kind != ArrayKind::Latent;
        if at != other || !given(*left) || !given(*right) {
            return false;
        }
        match (self.bound.array(*left), self.bound.array(*right)) {
            (
                BoundArray::Dense { values: left, observed: None },
                BoundArray::Dense { values: right, observed: None },
            ) => left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left != right),
            _ => false,
        }
    }

    /// `mean^2 + spread`, the square opened where its domain is not that of listed or dense data.
    pub(super) fn open_square(&mut self, square: &ExpectedSquare, rest: &Term) -> Sum {
        let mean = if self.spread_out(&square.mean, rest) {
            multiply(&mut self.symbols, &square.mean, &square.mean)
        } else {
            cavi_algebra::rules::power(&mut self.symbols, &square.mean, 2)
        };
        mean.plus(square.spread.clone())
    }

    /// Whether a square is multiplied out since its residuals would fill more than the data do: a sparse array of more than a few cells stands among its
    /// addends whose unlisted entries are zeros, or its domain is beyond the limit; and no other factor of the term restricts it to listed entries. Or
    /// since that is faster. Such a sum is watched: where it loses its digits, a run goes on with residuals. These are filled out where there is
    /// room for the sparse array, and beyond the limit worked out a few rows at a time.
    pub(super) fn spread_out(&self, sum: &Sum, rest: &Term) -> bool {
        let listed = rest.factors.iter().find_map(|factor| match &factor.atom {
            Atom::Observed(array, _) => match self.bound.array(*array) {
                BoundArray::Sparse { unlisted_zero: false, values, .. } => Some(values.len()),
                _ => None,
            },
            _ => None,
        });
        let size = self.size_of_domain(sum);
        let watched = |entries: usize| self.opened_here.set(self.opened_here.get().max(entries));
        if !self.streaming && self.follows_shared(sum) {
            watched(listed.unwrap_or(size));
            return true;
        }
        if listed.is_some() {
            return false;
        }
        let sparse =
            sum.terms.iter().flat_map(|term| &term.factors).filter_map(|factor| match &factor.atom {
                Atom::Value(array, _) if self.is_sparse(*array) => Some(self.cells(*array)),
                _ => None,
            });
        let sparse = sparse.max();
        if self.streaming {
            return sparse.is_some();
        }
        if !self.opens {
            return sparse.is_some_and(|cells| cells.max(size) > self.limit);
        }
        // Few residuals cost nothing, and a sum of few squares is too short to be watched.
        if sparse.is_some_and(|cells| cells.max(size) > FEW) || size > self.limit {
            watched(size);
            return true;
        }
        size >= MANY && self.opens_well(sum, rest, size)
    }

    /// How many entries an array would have if all were listed.
    pub(super) fn cells(&self, array: ArrayId) -> usize {
        self.bound.shape(&self.symbols, array).into_iter().fold(1_usize, usize::saturating_mul)
    }

    /// How many values a sum has over its letters.
    fn size_of_domain(&self, sum: &Sum) -> usize {
        let letters: Vec<LetterId> = sum.free_letters(&self.symbols);
        let innermost = letters.iter().filter(|letter| {
            !letters.iter().any(|other| other != *letter && self.symbols.lineage(*other).contains(letter))
        });
        innermost
            .map(|letter| self.bound.size_of(&self.symbols, *letter))
            .fold(1_usize, |product, size| product.saturating_mul(size))
    }

    /// Whether a square over so many entries of dense data is better opened: `sum (x - t)^2 = sum x^2 - 2 sum x t + sum t^2` needs
    /// no array of residuals where `t` sums over products, because `x` times a factor is wanted for the updates anyway and
    /// the last term is one of Gram matrices. Where entries are missing, each row and column has a Gram matrix of its own,
    /// which is there only if a precision is made of it: that of a factor with one q over the letters summed, of the only
    /// product. The data must be nearly centred, so that the difference of the sums keeps its digits; where a run finds that it
    /// does not, it goes back to residuals.
    fn opens_well(&self, sum: &Sum, rest: &Term, size: usize) -> bool {
        let masked = rest.factors.iter().any(
            |factor| matches!(&factor.atom, Atom::Observed(array, _) if self.bound.array(*array).has_missing()),
        );
        let products: Vec<&Term> = sum.terms.iter().filter(|term| !term.sums.is_empty()).collect();
        let is_one_precision = || matches!(products.as_slice(), [product] if self.has_joint_factors(product));
        let data: Vec<ArrayId> = sum
            .terms
            .iter()
            .flat_map(|term| &term.factors)
            .filter_map(|factor| match &factor.atom {
                Atom::Value(array, _) if self.symbols.array(*array).kind == ArrayKind::Data => Some(*array),
                _ => None,
            })
            .collect();
        let opens = !products.is_empty()
            && (!masked || is_one_precision())
            && !data.is_empty()
            && data.iter().all(|array| self.is_nearly_centred(*array));
        if opens {
            self.opened_here.set(self.opened_here.get().max(size));
        }
        opens
    }

    /// Whether residuals along the axis of which each shard keeps its sums would follow from what all shards share: opened, the sums
    /// of what belongs to positions stand apart from it.
    fn follows_shared(&self, sum: &Sum) -> bool {
        let Some(axis) = self.cut else { return false };
        let is_along = |letter: &LetterId| is_below(&self.symbols, *letter, axis);
        let is_local = |block: BlockId| self.equations.block(block).plates.iter().any(is_along);
        let is_own = |factor: &Factor| match &factor.atom {
            Atom::Value(array, _) => self.equations.block_of(*array).is_none_or(is_local),
            Atom::Moment(moment) => is_local(moment.block),
            Atom::Observed(..) => true,
            _ => false,
        };
        sum.free_letters(&self.symbols).iter().any(is_along)
            && sum.terms.iter().flat_map(|term| &term.factors).any(|factor| !is_own(factor))
    }

    /// Whether each latent of a sum of products has one q over the letters summed: `sum_k E z_nk E w_jk` with `q(z_n)`, `q(w_j)`.
    fn has_joint_factors(&self, product: &Term) -> bool {
        let is_summed = |subscript: &Subscript| {
            let mut letters = Vec::new();
            subscript.letters(&mut letters);
            letters.iter().any(|letter| product.sums.contains(letter))
        };
        let is_latent = |factor: &Factor| matches!(&factor.atom, Atom::Moment(_));
        product.factors.iter().any(is_latent)
            && product.factors.iter().all(|factor| match &factor.atom {
                Atom::Moment(moment) => !moment.plates.iter().any(is_summed),
                Atom::Value(array, _) => self.symbols.array(*array).kind != ArrayKind::Latent,
                _ => false,
            })
    }

    /// Whether the mean of what is observed is within four standard deviations of 0.
    fn is_nearly_centred(&self, array: ArrayId) -> bool {
        let BoundArray::Dense { values, observed } = self.bound.array(array) else { return false };
        let is_seen = |place: &usize| observed.as_ref().is_none_or(|observed| observed[*place]);
        let seen = || (0..values.len()).filter(is_seen).map(|place| values[place]);
        let mean = seen().sum::<f64>() / seen().count().max(1) as f64;
        let squares: f64 = seen().map(|value| value * value).sum();
        let spread: f64 = seen().map(|value| (value - mean) * (value - mean)).sum();
        squares <= 16.0 * spread
    }

    pub(super) fn is_sparse(&self, array: ArrayId) -> bool {
        self.symbols.array(array).kind != ArrayKind::Latent
            && matches!(self.bound.array(array), BoundArray::Sparse { .. })
    }

    /// A sparse array with zeros unlisted whose element (all its letters free) stands in the sum, with the sum where the
    /// element is 0. None where the term is restricted to its listed entries already.
    pub(super) fn unlisted(&mut self, sum: &Sum, term: &Term) -> Option<(Atom, Sum)> {
        let element = sum
            .terms
            .iter()
            .flat_map(|term| term.factors.iter().map(move |factor| (term, factor)))
            .find(|(inner, factor)| match &factor.atom {
                Atom::Value(array, subscripts) => {
                    let mut letters = Vec::new();
                    subscripts.iter().for_each(|subscript| subscript.letters(&mut letters));
                    self.symbols.array(*array).kind != ArrayKind::Latent
                        && matches!(self.bound.array(*array), BoundArray::Sparse { unlisted_zero: true, .. })
                        && !letters.iter().any(|letter| inner.sums.contains(letter))
                }
                _ => false,
            })?;
        let atom = element.1.atom.clone();
        let restricted = term.factors.iter().any(|factor| factor.atom == atom || is_listed(factor, &atom));
        if restricted {
            return None;
        }
        let zero = Sum {
            terms: sum
                .terms
                .iter()
                .filter(|term| !term.factors.iter().any(|factor| factor.atom == atom))
                .cloned()
                .collect(),
        };
        Some((atom, zero))
    }
}

/// Gives the logs that may be infinite a floor, for a coefficient that is multiplied out: `log 0 - log 0` must be 0
/// there. An impossible unit then costs 708 nats instead of infinitely many, and its q is still 0.
fn floor_logs(equations: &Equations, term: &mut Term) {
    for factor in term.factors.iter_mut().filter(|factor| is_known_log(equations, factor)) {
        if let Atom::Apply(Function::Log, inner) = &mut factor.atom {
            inner.push(Sum::number(f64::MIN_POSITIVE));
        }
    }
}

fn is_listed(factor: &Factor, atom: &Atom) -> bool {
    match (&factor.atom, atom) {
        (Atom::Apply(Function::Power, arguments), atom) if arguments.len() == 2 && arguments[1].is_zero() => {
            arguments[0]
                .terms
                .first()
                .is_some_and(|term| term.factors.first().is_some_and(|own| own.atom == *atom))
        }
        (Atom::Observed(array, subscripts), Atom::Value(own, other)) => array == own && subscripts == other,
        _ => false,
    }
}

/// Whether a function of what is left where an entry is not listed is a finite number. What is subtracted may leave nothing of it, as trials less
/// successes where no trial is listed.
fn finite_at(function: Function, zero: &Sum) -> bool {
    let has_pole = matches!(function, Function::Log | Function::LogGamma | Function::Digamma);
    let may_be_none = || zero.is_zero() || zero.terms.iter().any(|term| term.coefficient.0 < 0.0);
    !(has_pole && may_be_none())
}
