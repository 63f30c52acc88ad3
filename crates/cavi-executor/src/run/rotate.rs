//! The best coordinates for vectors that all other statements read only through inner products.
//!
//! # Derivation
//! Let the left vectors become `R^-1 x` and the right ones `R' x`. With `T` for either matrix and `S = sum E[x x']` over the
//! vectors with one prior precision p, the bound changes by
//!
//! ```text
//! F(R) = sum over groups (-1/2) sum_k p_k (T S T' - S)_kk  +  (n_right - n_left) log |det R|
//! ```
//!
//! where n counts vectors. Where `p_k` is one variable with a factor of its own, that follows at its optimum: with the
//! natural parameters eta there, the coefficient of `p_k` is `eta_k - (T S T' - S)_kk / 2`, and the bound holds its
//! log-normaliser A at that, whose derivative is `E[p_k]`. So every group has a slope `q_k`, the derivative of F by
//! `(T S T')_kk`: `-p_k / 2`, or `-E[p_k] / 2`. With `B = R^-1` and `Q` the diagonal matrix of slopes, the derivative by R is
//! `2 S R Q` on the right, `-2 B' Q (B S B')` on the left (since `dB = -B dR B`), and `R^-T` of the determinant.
//! F is raised by L-BFGS from the identity; no data are read.
//!
//! # Source
//! Virtanen, Klami and Kaski (2011), Bayesian CCA via group sparsity, section 4.1.

use std::collections::BTreeMap;
use std::sync::Arc;

use cavi_algebra::{BlockId, Elementary, Equations, LetterId, Rotated, Rotation, Statistic};
use cavi_families::{Improper, views, views_mut};
use cavi_numerics::Scratch;
use cavi_numerics::lbfgs::maximise;
use cavi_numerics::linalg::{lu_inverse, multiply, transpose};

use super::Executor;
use super::state::{family, trouble};
use crate::data::Bound;
use crate::layout::{Layout, Parameters, value_of};
use crate::plan::tensor::NodeId;
use crate::trouble::Trouble;

/// The most steps of L-BFGS.
const STEPS: usize = 100;
/// An evaluation multiplies matrices for every group, and a sweep for every vector: with more groups than this, a group must have
/// [`VECTORS_EACH`] vectors on average.
const MANY_GROUPS: usize = 8;
/// See [`MANY_GROUPS`].
const VECTORS_EACH: usize = 16;

/// Vectors with one prior precision.
struct Group {
    is_left: bool,
    precision: Precision,
    /// `sum E[x x']`.
    moments: Vec<f64>,
}

enum Precision {
    /// These numbers.
    Known(Vec<f64>),
    /// These copies of a block whose optimum follows: its place among the followers, and the copy of each element.
    Follows(usize, Vec<usize>),
}

/// A block whose copies follow at their optimum.
struct Follower {
    id: BlockId,
    /// Its natural parameters, a column a statistic; and which of these is that of `x`.
    natural: Vec<Vec<f64>>,
    place: usize,
}

/// What is run and where its copies are, of all positions.
#[derive(Clone, Copy)]
pub(crate) struct Space<'a> {
    pub equations: &'a Equations,
    pub bound: &'a Bound,
    pub layouts: &'a [Arc<Layout>],
}

impl Executor<'_> {
    /// Moves vectors and the precisions of their priors to where the bound is higher by as much as is returned; 0 where nothing
    /// moves. `blocks` are those that may move.
    ///
    /// # Errors
    /// If a precision has no update.
    pub fn rotate(&mut self, rotation: &Rotation, blocks: &[BlockId]) -> Result<f64, Trouble> {
        let may_move = |block: BlockId| blocks.contains(&block) && !self.is_observed(block);
        let Some(followers) = self.space().followers(rotation, &may_move) else { return Ok(0.0) };
        if let Err(trouble) = self.reach_optimum(&followers) {
            self.undo();
            return Err(trouble);
        }
        let known = self.space().known(rotation, &followers);
        let equations = self.equations();
        let mut pairs = |block| self.prior(block, place_of_pairs(equations, block)).unwrap_or_default();
        let known = known.into_iter().map(|block| (block, pairs(block))).collect();
        let work = &self.state.work;
        let space = Space { equations: work.equations, bound: work.bound, layouts: &work.plan.layouts };
        let mut moved = Vec::new();
        let all = (&mut self.state.parameters, &mut moved);
        let outcome = space.rotate(rotation, (&followers, &known), all);
        moved.into_iter().for_each(|block| self.state.touch(block));
        if outcome.is_err() {
            self.undo();
        }
        outcome
    }

    fn space(&self) -> Space<'_> {
        let work = &self.state.work;
        Space { equations: work.equations, bound: work.bound, layouts: &work.plan.layouts }
    }

    /// Updates all copies of some blocks, one block after another.
    ///
    /// # Errors
    /// If one has no update.
    pub(crate) fn reach_optimum(&mut self, blocks: &[BlockId]) -> Result<(), Trouble> {
        blocks.iter().try_for_each(|id| {
            self.refresh(&[*id])?;
            self.update(*id)
        })
    }

    /// A natural parameter of all copies of a block, allocations and auxiliary variables held.
    pub fn natural(&mut self, id: BlockId, place: usize) -> Vec<f64> {
        self.values_of(self.state.work.plan.blocks[id.index()].natural[place])
    }

    /// What its own statements contribute to a natural parameter of a block, of all of its copies. None for a point about which they say
    /// nothing, and for one that neither resets nor has a level that only priors fix.
    pub fn prior(&mut self, id: BlockId, place: usize) -> Option<Vec<f64>> {
        let node = *self.state.work.plan.blocks[id.index()].prior.get(place)?;
        Some(self.values_of(node))
    }

    pub(crate) fn values_of(&mut self, node: NodeId) -> Vec<f64> {
        self.state.evaluate(node);
        let values = self.state.values[node.index()].to_vec();
        self.state.forget(&[node]);
        values
    }
}

/// Which natural parameter of a vector is the coefficient of `x x'`.
pub(crate) fn place_of_pairs(equations: &Equations, id: BlockId) -> usize {
    family(equations, id).place_of(&Statistic::outer()).expect("a vector has pairs")
}

impl Space<'_> {
    /// The precisions that follow; `None` where the vectors do not move.
    pub fn followers(&self, rotation: &Rotation, may_move: &dyn Fn(BlockId) -> bool) -> Option<Vec<BlockId>> {
        let sides = || rotation.left.iter().chain(&rotation.right);
        let n = self.layouts[rotation.left[0].block.index()].n;
        if !sides().all(|own| may_move(own.block)) || n == 0 {
            return None;
        }
        let mut followers: Vec<BlockId> = Vec::new();
        for own in sides() {
            if let Some((id, _)) = &own.precision
                && may_move(*id)
                && !followers.contains(id)
            {
                followers.push(*id);
            }
        }
        Some(followers)
    }

    /// The blocks whose priors have precisions that do not follow.
    pub fn known(&self, rotation: &Rotation, followers: &[BlockId]) -> Vec<BlockId> {
        let sides = rotation.left.iter().chain(&rotation.right);
        let follows = |own: &Rotated| own.precision.as_ref().is_some_and(|(id, _)| followers.contains(id));
        sides.filter(|own| !follows(own)).map(|own| own.block).collect()
    }

    /// Moves the vectors, and the precisions that follow, which are at their optimum. `known` are the coefficients of `x x'` in the priors
    /// of the others. By how much the bound is higher; which blocks have moved.
    ///
    /// # Errors
    /// If a precision has no update.
    pub fn rotate(
        self,
        rotation: &Rotation,
        (followers, known): (&[BlockId], &BTreeMap<BlockId, Vec<f64>>),
        (parameters, touched): (&mut Parameters, &mut Vec<BlockId>),
    ) -> Result<f64, Trouble> {
        let n = self.layouts[rotation.left[0].block.index()].n;
        let followers: Vec<Follower> = followers.iter().map(|id| self.follower(*id, parameters)).collect();
        let mut groups = Vec::new();
        let (mut number, mut vectors) = (0.0, 0);
        for (is_left, own) in
            rotation.left.iter().map(|own| (true, own)).chain(rotation.right.iter().map(|own| (false, own)))
        {
            let rows = self.layouts[own.block.index()].rows;
            number += if is_left { -(rows as f64) } else { rows as f64 };
            vectors += rows;
            groups.extend(self.groups((own, is_left), &followers, known, parameters));
        }
        if groups.len() > MANY_GROUPS && VECTORS_EACH * groups.len() > vectors {
            return Ok(0.0);
        }
        let objective = Objective { n, number, groups: &groups, space: self, followers: &followers };
        let identity: Vec<f64> = (0..n * n).map(|at| f64::from(u8::from(at % (n + 1) == 0))).collect();
        let mut evaluate = |matrix: &[f64]| {
            let (value, gradient) = objective.value_and_gradient(matrix);
            Ok::<_, Trouble>((value, Scratch::of(&gradient)))
        };
        let found = maximise(&identity, STEPS, &mut evaluate)?;
        let gain = found.value - objective.value_and_gradient(&identity).0;
        let (Some(inverse), true) = (lu_inverse(n, &found.at), gain > 0.0 && gain.is_finite()) else {
            return Ok(0.0);
        };
        let moved = objective.natural(&found.at, &inverse.0);
        let transposed = transpose(n, &found.at);
        for (own, matrix) in rotation
            .left
            .iter()
            .map(|own| (own, &inverse.0))
            .chain(rotation.right.iter().map(|own| (own, &transposed)))
        {
            let batch = self.layouts[own.block.index()].batch();
            let block = &mut parameters.blocks[own.block.index()];
            family(self.equations, own.block).transform(&batch, matrix, &mut views_mut(block));
            touched.push(own.block);
        }
        for (follower, natural) in followers.iter().zip(moved) {
            let layout = &self.layouts[follower.id.index()];
            let columns = views(&natural);
            let block = &mut parameters.blocks[follower.id.index()];
            let family = family(self.equations, follower.id);
            let outcome = family.describe(&layout.batch(), &columns, &mut views_mut(block));
            outcome.map_err(|Improper { row, reason }| trouble(follower.id, layout, row, reason))?;
            touched.push(follower.id);
        }
        Ok(gain)
    }

    /// A block that follows, with its natural parameters.
    fn follower(&self, id: BlockId, parameters: &Parameters) -> Follower {
        let (family, batch) = (family(self.equations, id), self.layouts[id.index()].batch());
        let statistics = family.statistics();
        let mut natural: Vec<Vec<f64>> =
            statistics.iter().map(|own| vec![0.0; batch.len(own.extent)]).collect();
        let descriptors = views(&parameters.blocks[id.index()]);
        family.natural(&batch, &descriptors, &mut views_mut(&mut natural));
        let place = statistics.iter().position(|own| own.statistic == Statistic::of(Elementary::Power(1)));
        Follower { id, natural, place: place.expect("a precision has the statistic x") }
    }

    /// The vectors of a block by their prior precisions.
    fn groups(
        &self,
        (own, is_left): (&Rotated, bool),
        followers: &[Follower],
        known: &BTreeMap<BlockId, Vec<f64>>,
        parameters: &Parameters,
    ) -> Vec<Group> {
        let id = own.block;
        let layout = &self.layouts[id.index()];
        let (n, batch) = (layout.n, layout.batch());
        let follower = own.precision.as_ref().and_then(|(block, letters)| {
            Some((followers.iter().position(|known| known.id == *block)?, *block, letters))
        });
        let known: &[f64] = known.get(&id).map_or(&[], Vec::as_slice);
        let (symbols, block) = (&self.equations.symbols, self.equations.block(id));
        let slice = block.slices[0][0];
        // The copy of the precision that the element `k` of a row has.
        let copy = |positions: &[usize], k: usize, precision: BlockId, letters: &[LetterId]| -> usize {
            let sizes = &self.layouts[precision.index()].plates;
            letters.iter().zip(sizes).fold(0, |copy, (letter, size)| {
                let at = if *letter == slice {
                    k
                } else {
                    value_of(symbols, self.bound, *letter, &block.plates, positions)
                };
                copy * size + at
            })
        };
        let [means, covariances] = parameters.blocks[id.index()].as_slice() else {
            unreachable!("a vector has a mean and a covariance")
        };
        let mut groups: Vec<Group> = Vec::new();
        let mut places: BTreeMap<Vec<u64>, usize> = BTreeMap::new();
        // Rows that share a covariance have it once, as often as there are of them.
        let mut shared: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for row in 0..layout.rows {
            let positions = layout.positions(row);
            let diagonal = || {
                let matrix = &known[batch.matrix(batch.group_of(row))];
                matrix.iter().step_by(n + 1).map(|own| -2.0 * own)
            };
            // The first element tells rows with the same copies.
            let key: Vec<u64> = match follower {
                Some((_, precision, letters)) => vec![copy(&positions, 0, precision, letters) as u64],
                None => diagonal().map(f64::to_bits).collect(),
            };
            let place = *places.entry(key).or_insert_with(|| {
                let precision = match follower {
                    Some((place, precision, letters)) => Precision::Follows(
                        place,
                        (0..n).map(|k| copy(&positions, k, precision, letters)).collect(),
                    ),
                    None => Precision::Known(diagonal().collect()),
                };
                groups.push(Group { is_left, precision, moments: vec![0.0; n * n] });
                groups.len() - 1
            });
            *shared.entry((place, batch.group_of(row))).or_default() += 1.0;
            let mean = &means[batch.row(row)];
            for (own, out) in mean.iter().zip(groups[place].moments.chunks_exact_mut(n)) {
                out.iter_mut().zip(mean).for_each(|(out, other)| *out += own * other);
            }
        }
        for ((place, group), times) in shared {
            let covariance = &covariances[batch.matrix(group)];
            groups[place].moments.iter_mut().zip(covariance).for_each(|(out, own)| *out += times * own);
        }
        groups
    }
}

/// F, the change of the bound.
struct Objective<'a> {
    n: usize,
    /// How many more vectors are right than left.
    number: f64,
    groups: &'a [Group],
    space: Space<'a>,
    followers: &'a [Follower],
}

impl Objective<'_> {
    /// `T S T'` of a group.
    fn moments(&self, group: &Group, matrix: &[f64], inverse: &[f64]) -> Vec<f64> {
        let n = self.n;
        if group.is_left {
            let half = multiply(n, inverse, false, &group.moments, false);
            return multiply(n, &half, false, inverse, true);
        }
        let half = multiply(n, matrix, true, &group.moments, false);
        multiply(n, &half, false, matrix, false)
    }

    /// The natural parameters of the followers, for groups with these moments.
    fn following(&self, moments: &[Vec<f64>]) -> Vec<Vec<Vec<f64>>> {
        let mut all: Vec<Vec<Vec<f64>>> = self.followers.iter().map(|own| own.natural.clone()).collect();
        for (group, moments) in self.groups.iter().zip(moments) {
            let Precision::Follows(place, copies) = &group.precision else { continue };
            let column = &mut all[*place][self.followers[*place].place];
            for (k, copy) in copies.iter().enumerate() {
                let at = k * (self.n + 1);
                column[*copy] -= 0.5 * (moments[at] - group.moments[at]);
            }
        }
        all
    }

    /// The natural parameters of the followers at a matrix.
    fn natural(&self, matrix: &[f64], inverse: &[f64]) -> Vec<Vec<Vec<f64>>> {
        let moments: Vec<Vec<f64>> =
            self.groups.iter().map(|group| self.moments(group, matrix, inverse)).collect();
        self.following(&moments)
    }

    /// F and its derivatives by the elements of R; no number where R is singular, or a precision would be improper.
    fn value_and_gradient(&self, matrix: &[f64]) -> (f64, Vec<f64>) {
        let n = self.n;
        let nothing = || (f64::NAN, vec![0.0; n * n]);
        let Some((inverse, log_determinant)) = lu_inverse(n, matrix) else { return nothing() };
        let moments: Vec<Vec<f64>> =
            self.groups.iter().map(|group| self.moments(group, matrix, &inverse)).collect();
        let mut value = self.number * log_determinant;
        let mut expected = Vec::new();
        for (follower, natural) in self.followers.iter().zip(self.following(&moments)) {
            let Some((normaliser, mean)) = self.at(follower, &natural) else { return nothing() };
            value += normaliser;
            expected.push(mean);
        }
        let mut gradient = transpose(n, &inverse);
        gradient.iter_mut().for_each(|own| *own *= self.number);
        for (group, moments) in self.groups.iter().zip(&moments) {
            let slopes: Vec<f64> = match &group.precision {
                Precision::Known(precision) => {
                    let parts = precision.iter().zip(moments.iter().step_by(n + 1));
                    value -= 0.5 * parts.map(|(own, moment)| own * moment).sum::<f64>();
                    precision.iter().map(|own| -0.5 * own).collect()
                }
                Precision::Follows(place, copies) => {
                    copies.iter().map(|copy| -0.5 * expected[*place][*copy]).collect()
                }
            };
            if group.is_left {
                let weighted: Vec<f64> = (0..n * n).map(|at| -2.0 * slopes[at / n] * moments[at]).collect();
                let part = multiply(n, &inverse, true, &weighted, false);
                gradient.iter_mut().zip(part).for_each(|(out, own)| *out += own);
            } else {
                let part = multiply(n, &group.moments, false, matrix, false);
                for (at, (out, own)) in gradient.iter_mut().zip(part).enumerate() {
                    *out += 2.0 * slopes[at % n] * own;
                }
            }
        }
        (value, gradient)
    }

    /// The log-normalisers of all copies at natural parameters, and `E[x]` of each; `None` where one has no distribution.
    fn at(&self, follower: &Follower, natural: &[Vec<f64>]) -> Option<(f64, Vec<f64>)> {
        let family = family(self.space.equations, follower.id);
        let batch = self.space.layouts[follower.id.index()].batch();
        let columns = views(natural);
        let mut descriptors: Vec<Vec<f64>> =
            family.descriptors().iter().map(|own| vec![0.0; batch.len(own.extent)]).collect();
        family.describe(&batch, &columns, &mut views_mut(&mut descriptors)).ok()?;
        let descriptors = views(&descriptors);
        let mut normalisers = vec![0.0; batch.rows];
        family.entropy(&batch, &descriptors, &mut normalisers);
        let mut mean = Vec::new();
        for (place, (own, column)) in family.statistics().iter().zip(natural).enumerate() {
            let is_mean = place == follower.place;
            if family.paired() && !is_mean {
                continue;
            }
            let mut expected = vec![0.0; batch.rows];
            let which = family.expectation_of(&own.statistic)?;
            family.expect(&batch, &descriptors, which, &mut expected);
            if !family.paired() {
                // The entropy is A less eta E[t].
                let products = column.iter().zip(&expected);
                normalisers.iter_mut().zip(products).for_each(|(out, (eta, own))| *out += eta * own);
            }
            if is_mean {
                mean = expected;
            }
        }
        Some((cavi_numerics::reduce::sum(&normalisers), mean))
    }
}
