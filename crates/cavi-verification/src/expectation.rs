//! Expectations: averages over all alternatives of the copies that a formula reads.
//!
//! # Method
//! Copies are independent under q, and each has as many alternatives as there are. A formula of few copies is averaged over all choices
//! for them, `2^n` for n copies. One of more copies, such as the square of a sum over the core of a Tucker decomposition, is taken
//! apart first, which changes no value:
//!
//! - the expectation of a sum is the sum of the expectations,
//! - `(sum_i a_i)^2 = sum_i a_i^2 + 2 sum_(i < j) a_i a_j`,
//! - the expectation of a product of factors that share no copy is the product of their expectations.

use std::collections::BTreeMap;

use crate::read::{Range, Tree};
use crate::value::{At, Copy, Reader};

/// Formulas of more copies are taken apart where that is possible.
const FEW: usize = 8;
/// No formula is averaged over the choices for more copies.
const MOST: usize = 16;

/// A factor where letters have positions; the first says whether it stands below the line.
type Place<'t> = (bool, &'t Tree, At);

impl Reader<'_> {
    /// The average over all alternatives of the copies in it.
    pub(crate) fn expectation(&self, inside: &Tree, at: &mut At) -> Result<f64, String> {
        if self.mass {
            return self.value(inside, at);
        }
        if self.averaged.borrow().is_some() {
            return Err("an expectation inside another".to_owned());
        }
        let result = self.mean(inside, at);
        *self.averaged.borrow_mut() = None;
        result
    }

    fn mean(&self, tree: &Tree, at: &mut At) -> Result<f64, String> {
        let limit = if self.comes_apart(tree) { FEW } else { MOST };
        if let Some((mean, _)) = self.over_choices(&[(false, tree, at.clone())], limit)? {
            return Ok(mean);
        }
        match tree {
            Tree::Add(addends) => {
                let mut total = 0.0;
                for own in addends {
                    total += self.mean(own, at)?;
                }
                Ok(total)
            }
            Tree::Negated(inner) => Ok(-self.mean(inner, at)?),
            Tree::Sum(range, body) => {
                let mut total = 0.0;
                self.each(range, Some(body), at, &mut |at| {
                    total += self.mean(body, at)?;
                    *self.averaged.borrow_mut() = None;
                    Ok(())
                })?;
                Ok(total)
            }
            Tree::Product(factors) => {
                let places = factors.iter().map(|(below, own)| (*below, own, at.clone())).collect();
                self.mean_of_product(places)
            }
            Tree::Power(base, _) => {
                let mut addends = Vec::new();
                self.addends(base, 1.0, at, &mut addends)?;
                let mut total = 0.0;
                for (place, (sign, own, at)) in addends.iter().enumerate() {
                    for (other_place, (other_sign, other, other_at)) in addends[place..].iter().enumerate() {
                        let factors = [(own, at), (other, other_at)];
                        let factors = factors.into_iter().flat_map(|(own, at)| opened(own, at)).collect();
                        let twice = if other_place == 0 { 1.0 } else { 2.0 };
                        total += twice * sign * other_sign * self.mean_of_product(factors)?;
                    }
                }
                Ok(total)
            }
            _ => Err("an expectation of too many copies".to_owned()),
        }
    }

    /// Whether `mean` knows how to take a formula apart.
    fn comes_apart(&self, tree: &Tree) -> bool {
        match tree {
            Tree::Add(_) | Tree::Negated(_) | Tree::Product(_) => true,
            Tree::Sum(range, _) => self.is_fixed(range),
            Tree::Power(base, exponent) => {
                **exponent == Tree::Number(2.0) && matches!(&**base, Tree::Add(_) | Tree::Sum(..))
            }
            _ => false,
        }
    }

    /// Whether no latent stands in the conditions of a sum.
    fn is_fixed(&self, range: &Range) -> bool {
        range.conditions.iter().flat_map(|own| own.sides()).all(|side| self.is_given(side))
    }

    /// Whether a subscript is a letter, a number, or an element of something else than a latent.
    fn is_given(&self, tree: &Tree) -> bool {
        match tree {
            Tree::Name(name, subscripts) => {
                !self.is_latent(name) && subscripts.iter().all(|own| self.is_given(own))
            }
            Tree::Number(_) => true,
            _ => false,
        }
    }

    /// The addends of a sum, sums in it opened: each with its sign and where its letters are.
    fn addends<'t>(
        &self,
        tree: &'t Tree,
        sign: f64,
        at: &mut At,
        out: &mut Vec<(f64, &'t Tree, At)>,
    ) -> Result<(), String> {
        match tree {
            Tree::Add(all) => all.iter().try_for_each(|own| self.addends(own, sign, at, out)),
            Tree::Negated(inner) => self.addends(inner, -sign, at, out),
            Tree::Sum(range, body) if self.is_fixed(range) => {
                // The letters are bound again for each addend.
                self.each(range, Some(body), at, &mut |at| self.addends(body, sign, at, out))
            }
            other => {
                out.push((sign, other, at.clone()));
                Ok(())
            }
        }
    }

    /// The expectation of a product, factor by factor where these share no copy.
    fn mean_of_product(&self, factors: Vec<Place<'_>>) -> Result<f64, String> {
        let mut groups: Vec<(Vec<Copy>, Vec<Place<'_>>)> = Vec::new();
        for factor in factors {
            let copies = match self.over_choices(std::slice::from_ref(&factor), MOST)? {
                Some((_, copies)) => copies,
                None => return Err("too many copies in one factor of an expectation".to_owned()),
            };
            let shares = |own: &(Vec<Copy>, Vec<Place<'_>>)| own.0.iter().any(|copy| copies.contains(copy));
            let (joined, apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(shares);
            groups = apart;
            let mut whole = (copies, vec![factor]);
            for (copies, factors) in joined {
                whole.0.extend(copies);
                whole.1.extend(factors);
            }
            groups.push(whole);
        }
        let mut product = 1.0;
        for (_, factors) in groups {
            let Some((mean, _)) = self.over_choices(&factors, MOST)? else {
                return Err("too many copies in a product of an expectation".to_owned());
            };
            product *= mean;
        }
        Ok(product)
    }

    /// The average of a product over all choices for the copies that it reads, and these copies; `None` where they are more than a
    /// limit.
    fn over_choices(&self, factors: &[Place<'_>], limit: usize) -> Result<Option<(f64, Vec<Copy>)>, String> {
        *self.averaged.borrow_mut() = Some(BTreeMap::new());
        let count = self.alternatives.len() - 1;
        let mut places = factors.to_vec();
        loop {
            let copies: Vec<Copy> =
                self.averaged.borrow().as_ref().map(|own| own.keys().cloned().collect()).unwrap_or_default();
            if copies.len() > limit {
                *self.averaged.borrow_mut() = None;
                return Ok(None);
            }
            let all = count.pow(copies.len() as u32);
            let mut total = 0.0;
            for number in 0..all {
                let mut rest = number;
                if let Some(averaged) = &mut *self.averaged.borrow_mut() {
                    for copy in &copies {
                        averaged.insert(copy.clone(), rest % count);
                        rest /= count;
                    }
                }
                total += self.product(&mut places)?;
            }
            // A choice that another choice led to is averaged over as well.
            if self.averaged.borrow().as_ref().map_or(0, BTreeMap::len) == copies.len() {
                *self.averaged.borrow_mut() = None;
                return Ok(Some((total / all as f64, copies)));
            }
        }
    }

    fn product(&self, factors: &mut [Place<'_>]) -> Result<f64, String> {
        let (mut product, mut zero) = (1.0, false);
        for (below, factor, at) in factors {
            let value = self.value(factor, at)?;
            zero |= !*below && value == 0.0;
            product *= if *below { 1.0 / value } else { value };
        }
        // `0 log 0` is 0.
        Ok(if zero { 0.0 } else { product })
    }
}

/// The factors of a product, or the formula itself.
fn opened<'t>(tree: &'t Tree, at: &At) -> Vec<Place<'t>> {
    match tree {
        Tree::Product(factors) => factors.iter().map(|(below, own)| (*below, own, at.clone())).collect(),
        other => vec![(false, other, at.clone())],
    }
}
