//! Factors as arrays with subscripts: data, constants, points, expectations, masks, nested sums.

use std::borrow::Cow;

use cavi_algebra::rules::{has_either_sign, multiply};
use cavi_algebra::{
    ArrayId, ArrayKind, Atom, Block, BlockId, Elementary, Factor, Function, LetterId, Moment, Subscript, Sum,
    Symbols, Term,
};
use cavi_families::{Extent, posterior};
use cavi_numerics::Numbers;

use super::program::windows;
use super::scope::entry_of;
use super::{Dim, Lowering, Pending, Scope, Unplanned};
use crate::data::BoundArray;
use crate::layout::is_one_vector;
use crate::plan::tensor::{Allotted, Elementwise, Loop, MapId, NodeId, Operation, Part};

impl<'a> Lowering<'a, '_> {
    /// A factor as arrays with subscripts.
    pub(super) fn factor(
        &mut self,
        scope: &Scope,
        factor: &Factor,
        target: Option<BlockId>,
    ) -> Result<Vec<Pending>, Unplanned> {
        let (mut node, subscripts) = match &factor.atom {
            Atom::Value(array, subscripts) if self.symbols.array(*array).kind == ArrayKind::Latent => {
                let block = self.equations.block_of(*array).expect("every latent has a block");
                let block_data = self.equations.block(block);
                let member =
                    block_data.members.iter().position(|own| own == array).expect("it is in its block");
                let letters = self.symbols.array(*array).letters.clone();
                let ordered = block_data.plates.iter().chain(&block_data.slices[member]);
                let loops = ordered.clone().map(|letter| self.over_letter(*letter)).collect();
                let subscripts = ordered
                    .map(|letter| {
                        let place = letters
                            .iter()
                            .position(|own| own == letter)
                            .expect("a block's letters are its members'");
                        subscripts[place].clone()
                    })
                    .collect();
                let node = self.node(Operation::Point(block, member), loops, Vec::new);
                (self.as_held(node), subscripts)
            }
            Atom::Value(array, subscripts) => match self.on_entries(scope, *array, subscripts) {
                Some(found) => found,
                None => (self.dense(*array)?, subscripts.clone()),
            },
            Atom::Moment(moment) => {
                let (node, subscripts) = self.moment(moment)?;
                (self.as_held(node), subscripts)
            }
            Atom::Observed(array, subscripts) => match self.mask(scope, *array, subscripts)? {
                Some(found) => found,
                None => return Ok(Vec::new()),
            },
            Atom::Apply(Function::Power, arguments) if arguments[1].is_zero() => return Ok(Vec::new()),
            Atom::Auxiliary { id, plates } => self.auxiliary(*id, plates, target)?,
            Atom::Group(inner) => {
                let inner = (**inner).clone();
                let (node, subscripts) = self.inner(scope, &inner, target)?;
                if factor.power == 2 {
                    // Read twice rather than stored once more.
                    let once = Pending { node, subscripts: subscripts.clone() };
                    return Ok(vec![once, Pending { node, subscripts }]);
                }
                (node, subscripts)
            }
            Atom::Apply(function @ (Function::LogBesselK | Function::LogLeft), arguments) => {
                let (domain, subscripts) =
                    self.domain(scope, &arguments[0].clone().plus(arguments[1].clone()));
                let left = self.sum(&arguments[0], &domain, target)?;
                let right = self.sum(&arguments[1], &domain, target)?;
                let loops = self.loops(left);
                (self.node(Operation::Pair(*function, left, right), loops, Vec::new), subscripts)
            }
            Atom::Apply(Function::LogDeterminant, matrix) => self.log_determinant(&matrix[0])?,
            Atom::Apply(Function::LogMultivariateGamma, arguments) => {
                let (inner, subscripts) = self.inner(scope, &arguments[0], target)?;
                let size = self.count(&arguments[1])?;
                let loops = self.loops(inner);
                let map = Operation::Map(Elementwise::LogMultivariateGamma(size), inner);
                (self.node(map, loops, Vec::new), subscripts)
            }
            // The normaliser of a distribution over no category: it has one value, of density 1.
            Atom::Apply(Function::LogGamma, arguments) if self.is_over_nothing(&arguments[0]) => {
                let nothing = Operation::Static("no category".to_owned());
                (self.node(nothing, Vec::new(), || vec![0.0]), Vec::new())
            }
            Atom::Apply(Function::Log, arguments) if arguments.len() == 2 => {
                let (inner, subscripts) = self.inner(scope, &arguments[0], target)?;
                let loops = self.loops(inner);
                let map = Operation::Map(Elementwise::LogFloored, inner);
                (self.node(map, loops, Vec::new), subscripts)
            }
            Atom::Apply(Function::LogGamma, arguments) if self.has_empty_group(&arguments[0]) => {
                let (inner, subscripts) = self.inner(scope, &arguments[0], target)?;
                let loops = self.loops(inner);
                let map = Operation::Map(Elementwise::LogGammaOfGroup, inner);
                (self.node(map, loops, Vec::new), subscripts)
            }
            Atom::Apply(Function::Power, arguments) => {
                self.any_power(scope, &arguments[0], &arguments[1], target)?
            }
            Atom::Apply(function, arguments) => {
                let (inner, subscripts) = self.inner(scope, &arguments[0], target)?;
                let loops = self.loops(inner);
                (
                    self.node(Operation::Map(Elementwise::Function(*function), inner), loops, Vec::new),
                    subscripts,
                )
            }
            Atom::Allocation { site, addend, plates, categories } => {
                self.site(*site, Allotted::Shares(*addend), plates, categories, target)?
            }
            Atom::LogPartition { site, plates } => {
                self.site(*site, Allotted::Partition, plates, &[], target)?
            }
            Atom::ExpectedSquare(_) | Atom::Equal(..) | Atom::Different(..) | Atom::Less(..) => {
                return Err(Unplanned("a factor in a place where none is expected".to_owned()));
            }
        };
        node = self.power(node, factor.power);
        Ok(vec![Pending { node, subscripts }])
    }

    /// `x^p`: by multiplication where p is a whole number by its form, else `exp(p log x)` where x is not negative by its form. A negative x
    /// has powers where p turns out to be whole, so that each is worked out from both.
    fn any_power(
        &mut self,
        scope: &Scope,
        base: &Sum,
        exponent: &Sum,
        target: Option<BlockId>,
    ) -> Result<(NodeId, Vec<Subscript>), Unplanned> {
        let whole = number_of(&self.symbols, exponent)
            .filter(|own| own.fract() == 0.0 && own.abs() <= f64::from(i32::MAX));
        if let Some(whole) = whole {
            let (inner, subscripts) = self.inner(scope, base, target)?;
            return Ok((self.power(inner, whole as i32), subscripts));
        }
        if !has_either_sign(&self.symbols, base) {
            let log = base.clone().apply(Function::Log);
            let product = multiply(&mut self.symbols, exponent, &log);
            let (inner, subscripts) = self.inner(scope, &product, target)?;
            let loops = self.loops(inner);
            let map = Operation::Map(Elementwise::Function(Function::Exp), inner);
            return Ok((self.node(map, loops, Vec::new), subscripts));
        }
        let (domain, subscripts) = self.domain(scope, &base.clone().plus(exponent.clone()));
        let left = self.sum(base, &domain, target)?;
        let right = self.sum(exponent, &domain, target)?;
        let loops = self.loops(left);
        Ok((self.node(Operation::Pair(Function::Power, left, right), loops, Vec::new), subscripts))
    }

    /// A node, or its values at the last refresh where these are meant.
    fn as_held(&mut self, node: NodeId) -> NodeId {
        if !self.holding {
            return node;
        }
        let loops = self.loops(node);
        self.node(Operation::Held(node), loops, Vec::new)
    }

    /// The log-determinant of a matrix that is written as the sum of its elements over two letters.
    fn log_determinant(&mut self, sum: &Sum) -> Result<(NodeId, Vec<Subscript>), Unplanned> {
        let [term] = sum.terms.as_slice() else {
            return Err(Unplanned("a log-determinant of something that is no matrix".to_owned()));
        };
        let plates = term.free_letters(&self.symbols);
        let letters: Vec<LetterId> = plates.iter().chain(&term.sums).copied().collect();
        let elements = Term { sums: Vec::new(), ..term.clone() };
        let matrix = self.sum_over_letters(&Sum::term(elements), &letters)?;
        let loops = plates.iter().map(|letter| self.over_letter(*letter)).collect();
        let node = self.node(Operation::LogDeterminant(matrix), loops, Vec::new);
        Ok((node, plates.into_iter().map(Subscript::Letter).collect()))
    }

    /// Whether every term of a sum runs over an axis without a position.
    fn is_over_nothing(&self, sum: &Sum) -> bool {
        let is_empty = |letter: &LetterId| self.bound.size_of(&self.symbols, *letter) == 0;
        !sum.terms.is_empty() && sum.terms.iter().all(|term| term.sums.iter().any(is_empty))
    }

    /// Whether every term of a sum runs over a group of a ragged axis, and some group has no position.
    fn has_empty_group(&self, sum: &Sum) -> bool {
        let has_none = |letter: &LetterId| {
            let axis = &self.bound.axes[self.symbols.letter(*letter).axis.index()];
            axis.starts.iter().flat_map(|starts| starts.windows(2)).any(|pair| pair[0] == pair[1])
        };
        !sum.terms.is_empty() && sum.terms.iter().all(|term| term.sums.iter().any(has_none))
    }

    /// The value of a sum of sizes of axes.
    fn count(&self, sum: &Sum) -> Result<usize, Unplanned> {
        let mut total = 0.0;
        for term in &sum.terms {
            if !term.factors.is_empty() {
                return Err(Unplanned("a size that depends on data".to_owned()));
            }
            let sizes = term.sums.iter().map(|letter| self.bound.size_of(&self.symbols, *letter) as f64);
            total += term.coefficient.0 * sizes.product::<f64>();
        }
        Ok(total as usize)
    }

    pub(super) fn power(&mut self, node: NodeId, power: i32) -> NodeId {
        if power == 1 {
            return node;
        }
        let loops = self.loops(node);
        self.node(Operation::Map(Elementwise::Power(power), node), loops, Vec::new)
    }

    /// A nested sum as an array over its free letters: over the listed entries where the term runs over them and the sum
    /// has more than one of their letters.
    pub(super) fn inner(
        &mut self,
        scope: &Scope,
        sum: &Sum,
        target: Option<BlockId>,
    ) -> Result<(NodeId, Vec<Subscript>), Unplanned> {
        let (domain, subscripts) = self.domain(scope, sum);
        let node = self.sum(sum, &domain, target)?;
        let size = self.nodes[node.index()].len();
        // A function of what is streamed is streamed as well, and so are the residuals of squares that are not multiplied out.
        let streamed =
            self.streaming || !self.opens || matches!(self.nodes[node.index()].operation, Operation::Map(..));
        if size > self.limit && !streamed {
            return Err(Unplanned(format!(
                "an intermediate array would hold {size} values, more than the data and the parameters together"
            )));
        }
        Ok((node, subscripts))
    }

    /// The dimensions of a nested sum as an array, and how it is then read in the loop.
    fn domain(&self, scope: &Scope, sum: &Sum) -> (Vec<Dim>, Vec<Subscript>) {
        let mut letters = sum.free_letters(&self.symbols);
        let covered = letters.clone();
        letters.retain(|letter| {
            !covered.iter().any(|other| other != letter && self.symbols.lineage(*other).contains(letter))
        });
        let mut domain = Vec::new();
        let mut subscripts = Vec::new();
        for (_, array, coordinates) in &scope.pattern {
            let own: Vec<LetterId> =
                letters.iter().copied().filter(|letter| coordinates.contains(letter)).collect();
            // Shares stand at the listed entries, and nowhere else.
            let of_shares = sum.has_allocation()
                && !coordinates.is_empty()
                && coordinates
                    .iter()
                    .all(|own| covered.iter().any(|letter| self.symbols.lineage(*letter).contains(own)));
            if own.len() > 1 || of_shares {
                letters.retain(|letter| !own.contains(letter));
                domain.push(Dim::Entries(*array, coordinates.clone()));
                // The entry itself is found again by its letters.
                subscripts.push(entry_of(*array, coordinates));
            }
        }
        for letter in letters {
            domain.push(Dim::Letter(letter));
            subscripts.push(Subscript::Letter(letter));
        }
        (domain, subscripts)
    }

    /// The values of a sparse array at the entries that the loop runs over.
    pub(super) fn on_entries(
        &mut self,
        scope: &Scope,
        array: ArrayId,
        subscripts: &[Subscript],
    ) -> Option<(NodeId, Vec<Subscript>)> {
        let bound = self.bound;
        let BoundArray::Sparse { values, .. } = bound.array(array) else { return None };
        let (driver, coordinates, places) = covering(scope, subscripts)?;
        let is_itself = driver == array && places.iter().copied().eq(0..coordinates.len());
        let entry = entry_of(driver, coordinates);
        if is_itself {
            let label = Operation::Static(format!("{array:?}"));
            let entries = self.over_entries(driver);
            let node = self.given(label, vec![entries], || Cow::Borrowed(values.as_slice()));
            return Some((node, vec![entry]));
        }
        let value = |found: Option<usize>| found.map_or(0.0, |found| values[found]);
        let label = format!("{array:?} at the coordinates {places:?} of the entries of {driver:?}");
        Some((self.looked_up(array, (driver, &places), label, value), vec![entry]))
    }

    /// What is asked of a sparse array at the entries of another, whose coordinates in these places are its own.
    fn looked_up(
        &mut self,
        array: ArrayId,
        (driver, places): (ArrayId, &[usize]),
        label: String,
        asked: impl Fn(Option<usize>) -> f64,
    ) -> NodeId {
        let bound = self.bound;
        let entries = self.over_entries(driver);
        let columns: Vec<MapId> = places.iter().map(|place| self.coordinate(driver, *place)).collect();
        // Looked up coordinate by coordinate.
        let at = |entry: usize| {
            let wanted: Vec<usize> =
                columns.iter().map(|column| self.maps.table(*column)[entry] as usize).collect();
            asked(bound.array(array).listed(&wanted))
        };
        let filled: Vec<f64> = (0..entries.size).map(at).collect();
        self.node(Operation::Static(label), vec![entries], || filled)
    }

    /// An array with all its entries. A sparse one is filled out where that is no more than the limit.
    pub(super) fn dense(&mut self, array: ArrayId) -> Result<NodeId, Unplanned> {
        let loops = self.over_array(array);
        let shape = self.bound.shape(&self.symbols, array);
        let size: usize = shape.iter().product();
        let bound = self.bound;
        match bound.array(array) {
            BoundArray::Dense { values, .. } => {
                let label = Operation::Static(format!("{array:?}"));
                Ok(self.given(label, loops, || Cow::Borrowed(values.as_slice())))
            }
            BoundArray::Sparse { indices, values, .. } => {
                if size > self.limit {
                    let name = &self.symbols.array(array).name;
                    return Err(Unplanned(format!(
                        "`{name}` is sparse and would have to be filled out to {size} values; give it as a dense file if it is one"
                    )));
                }
                let filled = || fill_out(&shape, indices, values);
                Ok(self.node(Operation::Static(format!("{array:?} filled out")), loops, filled))
            }
        }
    }

    /// The mask of an array, unless the loop runs over its observed entries anyway.
    pub(super) fn mask(
        &mut self,
        scope: &Scope,
        array: ArrayId,
        subscripts: &[Subscript],
    ) -> Result<Option<(NodeId, Vec<Subscript>)>, Unplanned> {
        let ones =
            |observed: &[bool]| observed.iter().map(|seen| f64::from(u8::from(*seen))).collect::<Vec<f64>>();
        let bound = self.bound;
        match bound.array(array) {
            BoundArray::Dense { values, observed } => {
                let loops = self.over_array(array);
                let mask =
                    || observed.as_ref().map_or_else(|| vec![1.0; values.len()], |observed| ones(observed));
                let node = self.node(Operation::Static(format!("mask of {array:?}")), loops, mask);
                Ok(Some((node, subscripts.to_vec())))
            }
            BoundArray::Sparse { indices, values, observed, unlisted_zero } => {
                if let Some((driver, coordinates, places)) = covering(scope, subscripts) {
                    let entry = entry_of(driver, coordinates);
                    if driver == array && places.iter().copied().eq(0..coordinates.len()) {
                        let Some(observed) = observed else { return Ok(None) };
                        let loops = vec![self.over_entries(array)];
                        let label = Operation::Static(format!("mask of {array:?}"));
                        return Ok(Some((self.node(label, loops, || ones(observed)), vec![entry])));
                    }
                    let seen = |found: Option<usize>| {
                        let seen =
                            found.map_or(*unlisted_zero, |at| observed.as_ref().is_none_or(|own| own[at]));
                        f64::from(u8::from(seen))
                    };
                    let label = format!(
                        "mask of {array:?} at the coordinates {places:?} of the entries of {driver:?}"
                    );
                    return Ok(Some((self.looked_up(array, (driver, &places), label, seen), vec![entry])));
                }
                let loops = self.over_array(array);
                let shape = bound.shape(&self.symbols, array);
                let size: usize = shape.iter().product();
                if size > self.limit {
                    let name = &self.symbols.array(array).name;
                    return Err(Unplanned(format!(
                        "the mask of the sparse `{name}` would have to be filled out"
                    )));
                }
                let mask = || {
                    let seen: Vec<f64> =
                        observed.as_ref().map_or_else(|| vec![1.0; values.len()], |seen| ones(seen));
                    let mut full = fill_out(&shape, indices, &seen);
                    if *unlisted_zero {
                        let listed = fill_out(&shape, indices, &vec![1.0; values.len()]);
                        full.iter_mut().zip(listed).for_each(|(value, listed)| *value += 1.0 - listed);
                    }
                    full
                };
                let node = self.node(Operation::Static(format!("filled mask of {array:?}")), loops, mask);
                Ok(Some((node, subscripts.to_vec())))
            }
        }
    }

    /// An expectation as an array, its shared axes left out.
    pub(super) fn moment(&mut self, moment: &Moment) -> Result<(NodeId, Vec<Subscript>), Unplanned> {
        let block = self.equations.block(moment.block);
        let layout = &self.layouts[moment.block.index()];
        let family = posterior(block.family);
        let which = family
            .expectation_of(&moment.statistic)
            .ok_or_else(|| Unplanned("an expectation that its family does not answer".to_owned()))?;
        let extent = family.expectations()[which].extent;
        let (rows, mut subscripts) = match extent {
            Extent::Scalar | Extent::Vector | Extent::Pairs => (block.plates.clone(), moment.plates.clone()),
            Extent::Matrix => {
                let subscripts = layout
                    .group_letters
                    .iter()
                    .map(|letter| self.group_subscript(block, moment, *letter))
                    .collect();
                (layout.group_letters.clone(), subscripts)
            }
        };
        let slots = moment.statistic.0.iter().flat_map(|(member, elementary)| match elementary {
            Elementary::Indicator => block.classes.into_iter().collect(),
            own => {
                let letters = &block.slices[usize::from(*member)];
                letters[..own.slots(letters.len())].to_vec()
            }
        });
        let over = |letter: LetterId| self.over_letter(letter);
        let loops: Vec<Loop> = rows.iter().copied().chain(slots).map(over).collect();
        subscripts.extend(moment.slots.iter().cloned());
        let operation = Operation::Moment(moment.block, which);
        if !is_one_vector(block) {
            return Ok((self.node(operation, loops, Vec::new), subscripts));
        }
        let windows = windows(layout, &moment.statistic);
        let vectors = vec![Loop::plain(layout.n); windows.len()];
        let whole = rows.into_iter().map(over).chain(vectors).collect();
        let node = self.node(operation, whole, Vec::new);
        let part = Operation::Taken(Part { node, windows, crossed: false });
        Ok((self.node(part, loops, Vec::new), subscripts))
    }

    /// The value of a group letter (a plate letter of the block, or an ancestor of one) for the copy of a moment.
    pub(super) fn group_subscript(&self, block: &Block, moment: &Moment, letter: LetterId) -> Subscript {
        for (plate, subscript) in block.plates.iter().zip(&moment.plates) {
            let steps = self.symbols.lineage(*plate);
            if let Some(depth) = steps.iter().position(|step| *step == letter) {
                if let Subscript::Letter(own) = subscript {
                    return Subscript::Letter(self.symbols.lineage(*own)[depth]);
                }
                return subscript.clone();
            }
        }
        unreachable!("group letters are plate letters or their ancestors")
    }
}

/// The listed entries that a loop runs over and that say where an element is: their array, its letters, and which coordinate of the entry
/// each subscript is. The letters do not say: where the array is read as `y[i, j]` and as `y[j, i]`, `x[i, j]` has other values at its entries.
fn covering<'s>(scope: &'s Scope, subscripts: &[Subscript]) -> Option<(ArrayId, &'s [LetterId], Vec<usize>)> {
    scope.pattern.iter().find_map(|(_, driver, coordinates)| {
        let place = |own: &Subscript| match own {
            Subscript::Letter(letter) => coordinates.iter().position(|known| known == letter),
            Subscript::Index(..) => None,
        };
        let places: Option<Vec<usize>> = subscripts.iter().map(place).collect();
        Some((*driver, coordinates.as_slice(), places?))
    })
}

/// The value of a sum of numbers and of constants that are numbers.
fn number_of(symbols: &Symbols, sum: &Sum) -> Option<f64> {
    let of_factor = |factor: &Factor| match &factor.atom {
        Atom::Value(array, _) => Some(symbols.array(*array).number()?.powi(factor.power)),
        _ => None,
    };
    let of_term = |term: &Term| {
        let product: Option<f64> = term.factors.iter().map(of_factor).product();
        product.filter(|_| term.sums.is_empty()).map(|own| own * term.coefficient.0)
    };
    sum.terms.iter().map(of_term).sum()
}

/// Listed values at their places among zeros.
fn fill_out(shape: &[usize], indices: &[Numbers<u32>], values: &[f64]) -> Vec<f64> {
    let mut full = vec![0.0; shape.iter().product()];
    for (entry, value) in values.iter().enumerate() {
        let place =
            shape.iter().zip(indices).fold(0, |place, (size, column)| place * size + column[entry] as usize);
        full[place] = *value;
    }
    full
}
