//! What an array looks like along each of its dimensions: the effects of rows and of columns, without any model.
//!
//! Each dimension has one margin: its positions, or where these have fewer than two observed entries on average (pupils
//! in schools) the groups that they are in. A dimension of which neither holds has none. The two dimensions of `i < j` share one margin: a pair
//! has no order, and each entry counts at both of its positions, so that `prod_d a_d` has the factors of both.
//!
//! - **Counts.** An entry is expected to be `m prod_d a_d`, with a factor for its position in each margin. They are those of
//!   iterated proportional fitting, `a_d = (R + 1/2) / (E + 1/2)`, where `R` is what was counted there and `E` what is expected by all other
//!   factors. In a complete table of rows and columns without the halves, that is row total x column total / total. Factors of pairs depend on
//!   each other, and go half of the way, on the scale of logs, at a time.
//! - **Numbers.** An entry is expected to be `m + sum_d e_d`, each effect the mean of what the others leave, with one
//!   further entry of 0: `e_d = sum residuals / (n + 1)`.
//! - **0 or 1.** The log odds of 1 are `l + sum_d (l_d - l)`, `l_d` those of the position, of `(ones + 1/2) / (n + 1)`.
//!
//! # Source
//! Knight, Ruiz and Uçar, A symmetry preserving algorithm for matrix scaling, 2014, has the square root for pairs.
//! Deming and Stephan, On a least squares adjustment of a sampled frequency table when the expected marginal totals are known, 1940; half a
//! unit is the prior of Jeffreys, in the estimator of Krichevsky and Trofimov, The performance of universal encoding, 1981.

use cavi_algebra::{ArrayId, Symbols};
use cavi_executor::{Bound, BoundArray};

use super::unflat;
use crate::bind::Existing;
use crate::prepare::EntryAxis;
use crate::rank::pair;
use crate::rows::RowWeights;

/// Cells beyond this are not gone through one by one.
const CELLS: usize = 1 << 24;
/// At most so many rounds of proportional fitting, or of conjugate gradients.
const ROUNDS: usize = 50;
/// Rounds of proportional fitting end when no factor changes by more, relatively.
const CHANGE: f64 = 1e-9;
/// Conjugate gradients end when their residual is less, relatively.
const PRECISION: f64 = 1e-9;

/// An array and its margins.
pub(super) struct Margins<'a> {
    existing: Existing,
    data: &'a BoundArray,
    shape: Vec<usize>,
    margins: Vec<Margin>,
    /// Of rows of weight, how often each observed entry counts, in the order of [`Margins::visit`].
    weights: Option<Vec<f64>>,
    /// For each position of each margin how many positions it stands for, each with an effect of its own: a row of weight m is m rows.
    copies: Effects,
}

/// A margin.
struct Margin {
    /// The dimensions that it is of: one, or both of a pair without an order.
    sides: Vec<Side>,
    size: usize,
}

/// A dimension of a margin: which of the positions of the margin each of its positions belongs to.
struct Side {
    dimension: usize,
    /// `None` where each is its own.
    of: Option<Vec<u32>>,
}

/// A number for each position of each margin.
pub(super) type Effects = Vec<Vec<f64>>;

impl Margin {
    /// The positions that an entry has: one, or both of a pair.
    fn at(&self, place: &[usize]) -> impl Iterator<Item = usize> {
        self.sides.iter().map(|side| {
            let own = place[side.dimension];
            side.of.as_ref().map_or(own, |of| of[own] as usize)
        })
    }

    /// Adds to the positions that an entry has.
    fn add(&self, to: &mut [f64], place: &[usize], value: f64) {
        self.at(place).for_each(|position| to[position] += value);
    }

    /// The sum of the numbers at the positions that an entry has.
    fn sum(&self, numbers: &[f64], place: &[usize]) -> f64 {
        self.at(place).map(|position| numbers[position]).sum()
    }

    /// Their product.
    fn product(&self, numbers: &[f64], place: &[usize]) -> f64 {
        self.at(place).map(|position| numbers[position]).product()
    }

    /// Whether it is of this dimension alone.
    fn is_of(&self, dimension: usize) -> bool {
        matches!(self.sides.as_slice(), [side] if side.dimension == dimension)
    }
}

impl<'a> Margins<'a> {
    /// The margins of an array; where a program was restated over listed entries, those of the axes that the entries have.
    ///
    /// # Errors
    /// In words, why it has none.
    pub fn of(
        symbols: &'a Symbols,
        bound: &'a Bound,
        entries: &[EntryAxis],
        id: ArrayId,
        weights: Option<Vec<f64>>,
    ) -> Result<Margins<'a>, &'static str> {
        let array = symbols.array(id);
        let shape = bound.shape(symbols, id);
        let existing = Existing::of(symbols, &bound.axes, array);
        let data = bound.array(id);
        let mut own = Margins { existing, data, shape, margins: Vec::new(), weights, copies: Vec::new() };
        own.refuse_too_many()?;
        let observed = own.count();
        // An entry of a pair counts at two positions.
        let is_dense = |size: usize, sides: usize| size > 1 && sides as f64 * observed >= 2.0 * size as f64;
        let restated = entries.iter().find(|own| own.data.iter().any(|member| member.array == id));
        if let Some(restated) = restated {
            for (number, column) in restated.columns.iter().enumerate() {
                let columns = match restated.pair {
                    Some([_, second]) if second == number => continue,
                    Some([first, second]) if first == number => vec![column, &restated.columns[second]],
                    Some(_) | None => vec![column],
                };
                let last = columns.iter().flat_map(|column| column.iter()).max();
                let size = last.map_or(0, |last| *last as usize + 1);
                if is_dense(size, columns.len()) {
                    let side = |column: &Vec<u32>| Side { dimension: 0, of: Some(column.clone()) };
                    own.margins.push(Margin { sides: columns.into_iter().map(side).collect(), size });
                }
            }
            return Ok(own);
        }
        for (dimension, letter) in array.letters.iter().enumerate() {
            let mut axis = symbols.letter(*letter).axis;
            let mut of: Option<Vec<u32>> = None;
            let of_pair = match pair(array) {
                Some((_, second)) if second == dimension => continue,
                Some((first, second)) if first == dimension => vec![first, second],
                Some(_) | None => vec![dimension],
            };
            if is_dense(bound.size(axis), of_pair.len()) {
                let sides = of_pair.into_iter().map(|dimension| Side { dimension, of: None }).collect();
                own.margins.push(Margin { sides, size: bound.size(axis) });
                continue;
            }
            // Both of a pair are in one group.
            loop {
                let size = bound.size(axis);
                if of.is_some() && is_dense(size, 1) {
                    own.margins.push(Margin { sides: vec![Side { dimension, of }], size });
                    break;
                }
                let (Some(parent), Some(parents)) =
                    (symbols.axis(axis).parent, &bound.axes[axis.index()].parent)
                else {
                    break;
                };
                let above = |position: usize| parents[position] as u32;
                of = Some(match of {
                    None => (0..size).map(above).collect(),
                    Some(of) => of.into_iter().map(|own| above(own as usize)).collect(),
                });
                axis = parent;
            }
        }
        Ok(own)
    }

    /// How many rows each row stands for, by multiplicities along one dimension, of a group that of its row that stands for the most; 1 where
    /// nothing is said.
    pub fn copied(mut self, rows: &RowWeights<'_>) -> Margins<'a> {
        let of = |margin: &Margin| {
            let mut copies = vec![None; margin.size];
            let side = &margin.sides[0];
            let along = rows.part(|own| !own.is_empty() && own.iter().all(|own| *own == side.dimension));
            for position in 0..self.shape.get(side.dimension).copied().unwrap_or(0) {
                let own =
                    side.of.as_ref().map_or(Some(position), |of| of.get(position).map(|own| *own as usize));
                if let Some(copies) = own.and_then(|own| copies.get_mut(own)) {
                    let rows = along.at(|_| position);
                    *copies = Some(copies.map_or(rows, |own: f64| own.max(rows)));
                }
            }
            copies.into_iter().map(|own: Option<f64>| own.unwrap_or(1.0)).collect()
        };
        self.copies = self.margins.iter().map(of).collect();
        self
    }

    /// How many positions a position of a margin stands for.
    fn copies(&self, margin: usize, position: usize) -> f64 {
        self.copies.get(margin).map_or(1.0, |own| own[position])
    }

    /// Whether entries that are not listed are observed zeros.
    fn has_zeros(&self) -> bool {
        matches!(self.data, BoundArray::Sparse { unlisted_zero: true, .. })
    }

    /// Whether each combination of positions is an entry that counts once.
    fn is_complete(&self) -> bool {
        !self.existing.has_gaps() && self.weights.is_none()
    }

    fn cells(&self) -> usize {
        self.shape.iter().copied().fold(1, usize::saturating_mul)
    }

    fn refuse_too_many(&self) -> Result<(), &'static str> {
        if self.has_zeros() && self.weights.is_some() {
            return Err("rows that have a multiplicity and zeros that no file lists have no totals here");
        }
        match self.has_zeros() && !self.is_complete() && self.cells() > CELLS {
            true => Err("it has too many entries to go through"),
            false => Ok(()),
        }
    }

    /// Calls `body` with each observed entry that is listed (of a dense array with each), its value, and how often it counts.
    fn visit(&self, body: &mut dyn FnMut(&[usize], f64, f64)) {
        let mut number = 0;
        let mut weight = || {
            let own = self.weights.as_ref().map_or(1.0, |own| own[number]);
            number += 1;
            own
        };
        let seen = |observed: &Option<Vec<bool>>, at: usize| observed.as_ref().is_none_or(|own| own[at]);
        match self.data {
            BoundArray::Dense { values, observed } => {
                for (cell, value) in values.iter().enumerate().filter(|(cell, _)| seen(observed, *cell)) {
                    let place = unflat(&self.shape, cell);
                    if self.existing.is_there(&place) {
                        body(&place, *value, weight());
                    }
                }
            }
            BoundArray::Sparse { indices, values, observed, .. } => {
                let mut place = vec![0; indices.len()];
                for (entry, value) in values.iter().enumerate().filter(|(entry, _)| seen(observed, *entry)) {
                    place.iter_mut().zip(indices).for_each(|(own, column)| *own = column[entry] as usize);
                    body(&place, *value, weight());
                }
            }
        }
    }

    /// The same with all zeros that are not listed.
    fn visit_all(&self, body: &mut dyn FnMut(&[usize], f64, f64)) {
        if !self.has_zeros() {
            return self.visit(body);
        }
        for cell in 0..self.cells() {
            let place = unflat(&self.shape, cell);
            if let (value, true) = self.data.entry(&self.shape, &place)
                && self.existing.is_there(&place)
            {
                body(&place, value, 1.0);
            }
        }
    }

    /// How often observed entries count together.
    fn count(&self) -> f64 {
        self.exposures(&[]).1
    }

    /// For each position of each margin the sum of the products of all factors over its observed entries, and the sum over all. In a
    /// complete table of which zeros are not listed, `sum_ij a_i b_j = (sum_i a_i) (sum_j b_j)`, less the missing entries.
    fn exposures(&self, factors: &[Vec<f64>]) -> (Effects, f64) {
        let margins = &self.margins[..factors.len()];
        let product = |place: &[usize]| {
            margins.iter().zip(factors).map(|(margin, own)| margin.product(own, place)).product::<f64>()
        };
        let mut sums: Effects = margins.iter().map(|margin| vec![0.0; margin.size]).collect();
        let mut all = 0.0;
        if !(self.has_zeros() && self.is_complete()) {
            self.visit_all(&mut |place, _, weight| {
                let own = weight * product(place);
                all += own;
                margins.iter().zip(&mut sums).for_each(|(margin, sums)| margin.add(sums, place, own));
            });
            return (sums, all);
        }
        let along: Vec<Vec<f64>> = (0..self.shape.len())
            .map(|dimension| self.along(dimension, &margins.iter().zip(factors).collect::<Vec<_>>()))
            .collect();
        let totals: Vec<f64> = along.iter().map(|own| own.iter().sum()).collect();
        all = totals.iter().product();
        for (margin, sums) in margins.iter().zip(&mut sums) {
            // A complete table has no pairs.
            let own = margin.sides[0].dimension;
            let others = totals.iter().enumerate().filter(|(dimension, _)| *dimension != own);
            let others: f64 = others.map(|(_, total)| total).product();
            let mut place = vec![0; self.shape.len()];
            for (position, factor) in along[own].iter().enumerate() {
                place[own] = position;
                margin.add(sums, &place, factor * others);
            }
        }
        if let BoundArray::Sparse { indices, observed: Some(observed), .. } = self.data {
            let mut place = vec![0; indices.len()];
            for entry in (0..observed.len()).filter(|entry| !observed[*entry]) {
                place.iter_mut().zip(indices).for_each(|(own, column)| *own = column[entry] as usize);
                let own = product(&place);
                all -= own;
                margins.iter().zip(&mut sums).for_each(|(margin, sums)| margin.add(sums, &place, -own));
            }
        }
        (sums, all)
    }

    /// For each position of a dimension the product of the factors of its margins.
    fn along(&self, dimension: usize, factors: &[(&Margin, &Vec<f64>)]) -> Vec<f64> {
        let own = factors.iter().filter(|(margin, _)| margin.is_of(dimension));
        let mut product = vec![1.0; self.shape[dimension]];
        for (margin, factors) in own {
            let mut place = vec![0; self.shape.len()];
            for (position, product) in product.iter_mut().enumerate() {
                place[dimension] = position;
                *product *= margin.product(factors, &place);
            }
        }
        product
    }

    /// The sum of the values at each position of each margin, and of all.
    fn totals(&self) -> (Effects, f64) {
        let mut sums: Effects = self.margins.iter().map(|margin| vec![0.0; margin.size]).collect();
        let mut all = 0.0;
        self.visit(&mut |place, value, weight| {
            all += weight * value;
            let own = self.margins.iter().zip(&mut sums);
            own.for_each(|(margin, sums)| margin.add(sums, place, weight * value));
        });
        (sums, all)
    }
}

/// Rates of counts: a factor for each margin.
pub(super) struct Rates<'a> {
    margins: Margins<'a>,
    factors: Effects,
    mean: f64,
}

impl<'a> Rates<'a> {
    /// By proportional fitting.
    pub fn of(margins: Margins<'a>) -> Rates<'a> {
        let (counted, all) = margins.totals();
        let mut factors: Effects = margins.margins.iter().map(|margin| vec![1.0; margin.size]).collect();
        // Half a unit more, so that a rate is never 0.
        let mean_of = |exposure: f64| (all + 0.5) / exposure.max(f64::MIN_POSITIVE);
        let mut mean = mean_of(margins.count());
        for _ in 0..ROUNDS {
            let mut change: f64 = 0.0;
            for number in 0..factors.len() {
                let (sums, _) = margins.exposures(&factors);
                let is_pair = margins.margins[number].sides.len() > 1;
                let own = factors[number].iter_mut().zip(&sums[number]).zip(&counted[number]);
                for (position, ((factor, sum), counted)) in own.enumerate() {
                    let half = 0.5 * margins.copies(number, position);
                    // A position that stands for none and has nothing keeps the factor 1.
                    if half == 0.0 && *counted == 0.0 {
                        continue;
                    }
                    let next = (counted + half) / (mean * sum / *factor + half);
                    let next = if is_pair { (next * *factor).sqrt() } else { next };
                    change = change.max((next / *factor - 1.0).abs());
                    *factor = next;
                }
            }
            mean = mean_of(margins.exposures(&factors).1);
            if change < CHANGE {
                break;
            }
        }
        Rates { margins, factors, mean }
    }

    /// The rate of an entry.
    pub fn at(&self, place: &[usize]) -> f64 {
        let own = self.margins.margins.iter().zip(&self.factors);
        self.mean * own.map(|(margin, factors)| margin.product(factors, place)).product::<f64>()
    }

    /// The sum of the rates of all observed entries.
    pub fn total(&self) -> f64 {
        self.mean * self.margins.exposures(&self.factors).1
    }
}

/// Log odds of 1: those of all, and for each position of each margin by how much they differ.
pub(super) struct Odds<'a> {
    margins: Margins<'a>,
    differences: Effects,
    all: f64,
}

impl<'a> Odds<'a> {
    /// By frequencies.
    pub fn of(margins: Margins<'a>) -> Odds<'a> {
        let ones: Effects = margins.margins.iter().map(|margin| vec![1.0; margin.size]).collect();
        let ((counted, all), (counts, count)) = (margins.totals(), margins.exposures(&ones));
        let log_odds = |ones: f64, count: f64, copies: f64| {
            let half = 0.5 * copies;
            cavi_numerics::special::ln((ones + half) / (count - ones + half).max(f64::MIN_POSITIVE))
        };
        let own = log_odds(all, count, 1.0);
        let differences = counted.iter().zip(&counts).enumerate().map(|(margin, (ones, counts))| {
            let pairs = ones.iter().zip(counts).enumerate();
            let of = |(position, (ones, count)): (usize, (&f64, &f64))| match margins.copies(margin, position)
            {
                // A position that stands for none and has nothing is like all.
                0.0 if *count == 0.0 => 0.0,
                copies => log_odds(*ones, *count, copies) - own,
            };
            pairs.map(of).collect()
        });
        Odds { differences: differences.collect(), all: own, margins }
    }

    /// The log odds of an entry.
    pub fn at(&self, place: &[usize]) -> f64 {
        let own = self.margins.margins.iter().zip(&self.differences);
        self.all + own.map(|(margin, differences)| margin.sum(differences, place)).sum::<f64>()
    }
}

/// Means and variances of numbers: effects of margins, and a variance for each position of the last dimension.
pub(super) struct Normals<'a> {
    margins: Margins<'a>,
    effects: Effects,
    mean: f64,
    /// The variances at each position of the last margin, if this is one of the last dimension; else one alone.
    variances: Vec<f64>,
}

impl<'a> Normals<'a> {
    /// By least squares, with one entry of 0 more for each effect. Residuals have the sum of their squares over `n` less the numbers that were
    /// fitted; a column has those of its own entries and, as if it had two entries more, those of all.
    ///
    /// # Errors
    /// In words, why there are none.
    pub fn of(margins: Margins<'a>) -> Result<Normals<'a>, &'static str> {
        if margins.has_zeros() && margins.cells() > CELLS {
            return Err("it has too many entries to go through");
        }
        let (mut sum, mut count) = (0.0, 0.0);
        let mut counts: Effects = margins.margins.iter().map(|margin| vec![0.0; margin.size]).collect();
        margins.visit_all(&mut |place, value, weight| {
            sum += weight * value;
            count += weight;
            margins.margins.iter().zip(&mut counts).for_each(|(own, counts)| own.add(counts, place, weight));
        });
        if count < 2.0 {
            return Err("it has fewer than two observed entries");
        }
        let mut own = Normals {
            effects: counts.iter().map(|own| vec![0.0; own.len()]).collect(),
            margins,
            mean: sum / count,
            variances: Vec::new(),
        };
        own.effects = own.least_squares(&counts);
        let last = own.by_column();
        let (mut squares, mut all) = (vec![0.0; last.map_or(1, |own| counts[own].len())], 0.0);
        own.margins.visit_all(&mut |place, value, weight| {
            let square = weight * (value - own.mean_at(place)).powi(2);
            squares[own.column(last, place)] += square;
            all += square;
        });
        let copies = |margin: usize, position: usize| own.margins.copies(margin, position);
        let fitted_of = |(margin, counts): (usize, &Vec<f64>)| {
            let each = counts.iter().enumerate().map(|(position, count)| {
                let copies = copies(margin, position);
                if count + copies > 0.0 { copies * count / (count + copies) } else { 0.0 }
            });
            each.sum::<f64>()
        };
        let fitted = 1.0 + counts.iter().enumerate().map(fitted_of).sum::<f64>();
        if count <= fitted || all == 0.0 {
            return Err("rows and columns leave nothing to explain");
        }
        let scale = count / (count - fitted);
        let common = all / (count - fitted);
        own.variances = match last {
            None => vec![common],
            Some(last) => {
                let of = |(squares, count): (&f64, &f64)| (squares * scale + 2.0 * common) / (count + 2.0);
                squares.iter().zip(&counts[last]).map(of).collect()
            }
        };
        Ok(own)
    }

    /// The effects by conjugate gradients. With `A e` the sum of effects at each observed entry and `W` how often it counts, they solve
    ///
    /// ```text
    /// (A' W A + C) e = A' W (x - m)
    /// ```
    ///
    /// with the numbers C of positions that each stands for, 1 but for rows of weight, in units of the diagonal, `n + c`. Effects in turn, each given the others, would be slow, since those of two margins change places with each other
    /// without a change of their sums. One product with the matrix goes once through the entries.
    ///
    /// # Source
    /// Golub and Van Loan, Matrix Computations, 2013, algorithm 11.5.1.
    fn least_squares(&self, counts: &Effects) -> Effects {
        let zeros = || -> Effects { counts.iter().map(|own| vec![0.0; own.len()]).collect() };
        let copies = |margin: usize, position: usize| self.margins.copies(margin, position);
        let in_units = |own: &Effects| -> Effects {
            let of = |(margin, (own, counts)): (usize, (&Vec<f64>, &Vec<f64>))| {
                let each = own.iter().zip(counts).enumerate();
                let unit = |(position, (own, count)): (usize, (&f64, &f64))| {
                    let diagonal = count + copies(margin, position);
                    if diagonal > 0.0 { own / diagonal } else { 0.0 }
                };
                each.map(unit).collect()
            };
            own.iter().zip(counts).enumerate().map(of).collect()
        };
        let dot = |one: &Effects, other: &Effects| -> f64 {
            one.iter().flatten().zip(other.iter().flatten()).map(|(one, other)| one * other).sum()
        };
        let add = |to: &mut Effects, factor: f64, own: &Effects| {
            let pairs = to.iter_mut().flatten().zip(own.iter().flatten());
            pairs.for_each(|(to, own)| *to += factor * own);
        };
        let margins = &self.margins.margins;
        let sums = |of: &dyn Fn(&[usize], f64) -> f64| -> Effects {
            let mut found = zeros();
            self.margins.visit_all(&mut |place, value, weight| {
                let own = weight * of(place, value);
                margins.iter().zip(&mut found).for_each(|(margin, found)| margin.add(found, place, own));
            });
            found
        };
        let (mut effects, mut residual) = (zeros(), sums(&|_, value| value - self.mean));
        let mut direction = in_units(&residual);
        let mut square = dot(&residual, &direction);
        let end = square * PRECISION * PRECISION;
        for _ in 0..ROUNDS {
            if square <= end {
                break;
            }
            let mut product =
                sums(&|place, _| margins.iter().zip(&direction).map(|(own, of)| own.sum(of, place)).sum());
            for (margin, (product, direction)) in product.iter_mut().zip(&direction).enumerate() {
                let pairs = product.iter_mut().zip(direction).enumerate();
                pairs.for_each(|(position, (product, own))| *product += copies(margin, position) * own);
            }
            let step = square / dot(&direction, &product);
            add(&mut effects, step, &direction);
            add(&mut residual, -step, &product);
            let mut next = in_units(&residual);
            let left = dot(&residual, &next);
            add(&mut next, left / square, &direction);
            (direction, square) = (next, left);
        }
        effects
    }

    /// The margin of the last dimension, if the array has several.
    fn by_column(&self) -> Option<usize> {
        let last = self.margins.shape.len().checked_sub(1).filter(|last| *last > 0)?;
        self.margins.margins.iter().position(|own| own.is_of(last))
    }

    /// The position of an entry in the margin of columns, if there is one.
    fn column(&self, last: Option<usize>, place: &[usize]) -> usize {
        last.and_then(|last| self.margins.margins[last].at(place).next()).unwrap_or(0)
    }

    fn mean_at(&self, place: &[usize]) -> f64 {
        let own = self.margins.margins.iter().zip(&self.effects);
        self.mean + own.map(|(margin, effects)| margin.sum(effects, place)).sum::<f64>()
    }

    /// The mean and the variance of an entry.
    pub fn at(&self, place: &[usize]) -> (f64, f64) {
        (self.mean_at(place), self.variances[self.column(self.by_column(), place)])
    }
}

/// Frequencies of classes: of all, or for each position of the last dimension.
pub(super) struct Frequencies<'a> {
    margins: Margins<'a>,
    column: Option<usize>,
    /// For each column the probability of each class.
    shares: Vec<Vec<f64>>,
}

impl<'a> Frequencies<'a> {
    /// The share of each class, with half a unit more for each; in a column with as many units more, as they fall in all columns.
    pub fn of(margins: Margins<'a>, classes: usize) -> Frequencies<'a> {
        let last = margins.shape.len().saturating_sub(1);
        let column = margins.margins.iter().position(|own| last > 0 && own.is_of(last));
        let size = column.map_or(0, |column| margins.margins[column].size);
        let mut counts = vec![vec![0.0; classes]; size];
        let mut all = vec![0.0; classes];
        margins.visit(&mut |place, value, weight| {
            let class = (value as usize).min(classes.saturating_sub(1));
            all[class] += weight;
            if let Some(column) = column {
                margins.margins[column].at(place).for_each(|position| counts[position][class] += weight);
            }
        });
        let half = 0.5 * classes as f64;
        let total: f64 = all.iter().sum();
        let common: Vec<f64> = all.iter().map(|own| (own + 0.5) / (total + half)).collect();
        let own = |counts: Vec<f64>| {
            let total: f64 = counts.iter().sum();
            counts.iter().zip(&common).map(|(own, common)| (own + half * common) / (total + half)).collect()
        };
        let shares = match column {
            None => vec![common],
            Some(_) => counts.into_iter().map(own).collect(),
        };
        Frequencies { margins, column, shares }
    }

    /// The probability of a class at an entry.
    pub fn at(&self, place: &[usize], class: usize) -> f64 {
        let own = self.column.and_then(|column| self.margins.margins[column].at(place).next()).unwrap_or(0);
        self.shares[own].get(class).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use cavi_executor::BoundAxis;

    use super::*;

    fn table<'a>(symbols: &'a Symbols, bound: &'a Bound) -> Margins<'a> {
        Margins::of(symbols, bound, &[], symbols.find("x").unwrap(), None).unwrap()
    }

    fn model_of(text: &str) -> cavi_model::Model {
        cavi_model::resolve(&cavi_syntax::parse(text).0).0.expect("a program that resolves")
    }

    const COUNTS: &str = "axis row[i]\naxis column[j]\ndata x[i, j] : count, absent = 0\nm ~ Gamma(1, rate = 1)\nx[i, j] ~ Poisson(m)\n";

    #[test]
    fn counts_are_expected_by_their_row_and_column() {
        let model = model_of(COUNTS);
        let axes = vec![BoundAxis::plain(3), BoundAxis::plain(2)];
        let rows = [[4000.0, 6000.0], [8000.0, 2000.0], [1000.0, 9000.0]];
        let dense = BoundArray::full(rows.concat());
        let listed = BoundArray::Sparse {
            indices: vec![vec![0, 0, 1, 1, 2, 2].into(), vec![0, 1, 0, 1, 0, 1].into()],
            values: rows.concat().into(),
            observed: None,
            unlisted_zero: true,
        };
        for data in [dense, listed] {
            let id = model.symbols.find("x").unwrap();
            let mut arrays = vec![None; model.symbols.arrays.len()];
            arrays[id.index()] = Some(data);
            let bound = Bound { axes: axes.clone(), arrays, ..Bound::default() };
            let rates = Rates::of(table(&model.symbols, &bound));
            // Row total 10000, column total 13000 of 30000: but for the halves.
            assert!((rates.at(&[0, 0]) / (10000.0 * 13000.0 / 30000.0) - 1.0).abs() < 2e-4);
            assert!((rates.total() - 30000.5).abs() < 1e-6);
        }
    }

    /// A pair has no order: each node has one effect, and `(A' A + I) e = A' (x - m)` with `A' A = 2 I + J` for the six pairs of four nodes. The residuals
    /// `r` add up to 0, so that `e = r / 3`. Counts of rank one, `100 a_i a_j`, have their factors again.
    #[test]
    fn pairs_have_an_effect_for_each_node() {
        let text = "axis node[i, j]\ndata x[i, j] : real, i < j\nm ~ Normal(0, sd = 1)\nx[i, j] ~ Normal(m, sd = 1)\n";
        let bound = |model: &cavi_model::Model, value: &dyn Fn(usize, usize) -> f64| {
            let id = model.symbols.find("x").unwrap();
            let mut arrays = vec![None; model.symbols.arrays.len()];
            arrays[id.index()] =
                Some(BoundArray::full((0..16).map(|cell| value(cell / 4, cell % 4)).collect()));
            Bound { axes: vec![BoundAxis::plain(4)], arrays, ..Bound::default() }
        };
        let value =
            |i: usize, j: usize| [[0.0, 1.0, 3.0, 2.0], [0.0, 0.0, 5.0, 4.0], [0.0, 0.0, 0.0, 9.0]][i][j];
        let model = model_of(text);
        let data = bound(&model, &|i, j| if i < j { value(i, j) } else { 0.0 });
        let normals = Normals::of(table(&model.symbols, &data)).unwrap();
        // The mean is 4, and the residuals of the nodes are 6 - 12, 10 - 12, 17 - 12 and 15 - 12.
        let (mean, variance) = normals.at(&[0, 2]);
        assert!((mean - (4.0 + (-6.0 + 5.0) / 3.0)).abs() < 1e-9, "{mean}");
        assert_eq!(normals.at(&[0, 1]).1, variance);
        let counts = COUNTS
            .replace("axis row[i]\naxis column[j]", "axis node[i, j]")
            .replace(", absent = 0", ", i < j");
        let model = model_of(&counts);
        let rates = |order: [usize; 4]| {
            let value = |i: usize, j: usize| 1e5 * ((order[i] + 1) * (order[j] + 1)) as f64;
            let data = bound(&model, &|i, j| if i < j { value(i, j) } else { 0.0 });
            let rates = Rates::of(table(&model.symbols, &data));
            let place = |node: usize| order.iter().position(|own| *own == node).unwrap();
            let (one, two) = (place(1), place(3));
            rates.at(&[one.min(two), one.max(two)])
        };
        assert!((rates([0, 1, 2, 3]) / 8e5 - 1.0).abs() < 1e-4, "{}", rates([0, 1, 2, 3]));
        assert!((rates([3, 0, 2, 1]) / rates([0, 1, 2, 3]) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn missing_entries_of_counts_are_no_zeros() {
        let model = model_of(COUNTS);
        let id = model.symbols.find("x").unwrap();
        let mut arrays = vec![None; model.symbols.arrays.len()];
        // Rank one, 100 x (1, 2, 3) by (1, 2, 4), with one entry hidden.
        let values = vec![1e5, 2e5, 4e5, 2e5, 4e5, 8e5, 3e5, 6e5, 0.0];
        let columns = [[0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2, 0, 1, 2, 0, 1, 2]];
        let indices = columns.iter().map(|column| column.iter().copied().collect()).collect();
        let observed = Some((0..9).map(|entry| entry != 8).collect());
        arrays[id.index()] =
            Some(BoundArray::Sparse { indices, values: values.into(), observed, unlisted_zero: true });
        let bound =
            Bound { axes: vec![BoundAxis::plain(3), BoundAxis::plain(3)], arrays, ..Bound::default() };
        let rates = Rates::of(table(&model.symbols, &bound));
        assert!((rates.at(&[2, 2]) / 1.2e6 - 1.0).abs() < 1e-4, "{}", rates.at(&[2, 2]));
    }

    #[test]
    fn numbers_are_expected_by_the_sum_of_effects() {
        let model = model_of(
            "axis row[i]\naxis column[j]\ndata x[i, j] : real\nm ~ Normal(0, sd = 1)\nx[i, j] ~ Normal(m, sd = 1)\n",
        );
        let id = model.symbols.find("x").unwrap();
        let (rows, columns) = (200, 100);
        let effect = |own: usize| (own as f64 * 0.7).sin();
        let noise = |cell: usize| 0.1 * ((cell * 7919 % 1000) as f64 / 500.0 - 1.0);
        let value =
            |cell: usize| 5.0 + effect(cell / columns) + 2.0 * effect(cell % columns + 3) + noise(cell);
        let mut arrays = vec![None; model.symbols.arrays.len()];
        arrays[id.index()] = Some(BoundArray::full((0..rows * columns).map(value).collect()));
        let bound = Bound {
            axes: vec![BoundAxis::plain(rows), BoundAxis::plain(columns)],
            arrays,
            ..Bound::default()
        };
        let normals = Normals::of(table(&model.symbols, &bound)).unwrap();
        let (mean, variance) = normals.at(&[10, 20]);
        assert!((mean - (5.0 + effect(10) + 2.0 * effect(23))).abs() < 0.05, "{mean}");
        // The variance of a uniform number from -0.1 to 0.1.
        assert!((variance / (0.01 / 3.0) - 1.0).abs() < 0.2, "{variance}");
    }
}
