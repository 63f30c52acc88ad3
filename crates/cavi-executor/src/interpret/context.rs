//! What is fixed during a run: equations, data, layouts, and the places of latents and statistics.

use std::borrow::Cow;

use cavi_algebra::evaluate::{Accumulator, Assignment, Environment};
use cavi_algebra::{
    Addend, ArrayId, Block, BlockId, Elementary, Equations, LetterId, Mode, SiteId, Statistic, Symbols,
};
use cavi_families::observed::at_value;
use cavi_families::{Expectation, Extent, Posterior};

use super::infinite::{Common, Whole};
use crate::data::Bound;
use crate::layout::Layout;
use crate::layout::is_one_vector;
use crate::trouble::Trouble;

/// The fixed part of a run.
pub struct Context<'a> {
    pub equations: &'a Equations,
    pub bound: &'a Bound,
    /// One for each block.
    pub places: Vec<Place>,
    /// For each latent, where its elements are.
    homes: Vec<Option<Home>>,
    /// For each array its shape.
    shapes: Vec<Vec<usize>>,
    /// The coefficients of each block, and those of its prior.
    coefficients: Vec<(Vec<Whole>, Vec<Whole>)>,
    /// For each addend of each site its log weight.
    log_weights: Vec<Vec<Whole>>,
    /// The same without what its allocations leave out.
    allocated: Vec<Vec<Whole>>,
}

/// A block, its layout and its family.
pub struct Place {
    pub layout: Layout,
    pub family: &'static dyn Posterior,
    pub statistics: Vec<Expectation>,
    pub expectations: Vec<Expectation>,
    /// Whether the block is stored as values, one column a member.
    pub values: bool,
    /// The number of elements of each member in one copy.
    pub widths: Vec<usize>,
    /// Where the elements of each member begin in a vector column. Zeros, but where a family of one vector holds several
    /// variables beside each other.
    offsets: Vec<usize>,
    /// The rows in the order in which copies that meet are updated: lexicographic in the subscripts that the first
    /// member declares.
    pub order: Vec<usize>,
    /// Of a partly observed array, for each row its value where that was observed.
    pub observed: Option<Vec<Option<Vec<f64>>>>,
    /// The same by element: for each row the value of each element that was observed, or is held.
    pub elements: Option<Vec<Vec<Option<f64>>>>,
}

/// Where a latent is: its block, its number in it, and which of its dimensions are plates and slices of the block.
struct Home {
    block: BlockId,
    member: usize,
    plates: Vec<usize>,
    slices: Vec<usize>,
}

impl<'a> Context<'a> {
    /// Lays out all blocks.
    pub fn new(equations: &'a Equations, bound: &'a Bound) -> Result<Context<'a>, Trouble> {
        let symbols = &equations.symbols;
        let mut homes: Vec<Option<Home>> = symbols.arrays.iter().map(|_| None).collect();
        let mut places = Vec::with_capacity(equations.blocks.len());
        for (index, block) in equations.blocks.iter().enumerate() {
            let id = BlockId::from(index);
            for (member, array) in block.members.iter().enumerate() {
                let Some((plates, slices)) = dimensions(symbols, block, member) else {
                    return Err(Trouble {
                        block: id,
                        copy: Vec::new(),
                        reason: format!(
                            "the dimensions of `{}` are not those of its block",
                            symbols.array(*array).name
                        ),
                    });
                };
                homes[array.index()] = Some(Home { block: id, member, plates, slices });
            }
            let first = homes[block.members[0].index()].as_ref().expect("it was placed above");
            places.push(Place::new(equations, bound, block, &first.plates));
        }
        let shapes =
            (0..symbols.arrays.len()).map(|index| bound.shape(symbols, ArrayId::from(index))).collect();
        let coefficients = equations.blocks.iter().map(|block| {
            let all = block.natural.iter().map(|own| {
                let common = Common::of(&own.statistic, block.is_point());
                Whole::of(equations, &own.coefficient, common)
            });
            let prior = block.prior.iter().map(|sum| Whole::of(equations, sum, Common::Log));
            (all.collect(), prior.collect())
        });
        let coefficients = coefficients.collect();
        let log_weight = |addend: &Addend| Whole::of(equations, &addend.log_weight, Common::Log);
        let log_weights =
            equations.sites.iter().map(|site| site.addends.iter().map(log_weight).collect()).collect();
        let allocated = equations.sites.iter().map(|site| match &site.collapsed {
            Some(own) => own.log_weights.iter().map(|own| Whole::of(equations, own, Common::Log)).collect(),
            None => site.addends.iter().map(log_weight).collect(),
        });
        let allocated = allocated.collect();
        let mut context =
            Context { equations, bound, places, homes, shapes, coefficients, log_weights, allocated };
        for id in (0..equations.blocks.len()).map(BlockId::from) {
            let elements = context.observed_elements(id);
            let whole = |row: &Vec<Option<f64>>| row.iter().copied().collect::<Option<Vec<f64>>>();
            context.places[id.index()].observed =
                elements.as_ref().map(|rows| rows.iter().map(whole).collect());
            context.places[id.index()].elements = elements;
        }
        Ok(context)
    }

    /// The names of the program.
    pub fn symbols(&self) -> &'a Symbols {
        &self.equations.symbols
    }

    /// A block and its place.
    pub fn block(&self, id: BlockId) -> (&'a Block, &Place) {
        (self.equations.block(id), &self.places[id.index()])
    }

    /// The coefficients of a block, all of them and those of its prior.
    pub fn coefficients(&self, id: BlockId) -> (&[Whole], &[Whole]) {
        let (all, prior) = &self.coefficients[id.index()];
        (all, prior)
    }

    /// The log weight of an addend of a site.
    pub fn log_weight(&self, site: SiteId, addend: usize) -> &Whole {
        &self.log_weights[site.index()][addend]
    }

    /// The log weight of an addend of a site, as its allocations take it.
    pub fn allocated(&self, site: SiteId, addend: usize) -> &Whole {
        &self.allocated[site.index()][addend]
    }

    /// Whether an array is latent.
    pub fn is_latent(&self, array: ArrayId) -> bool {
        self.homes[array.index()].is_some()
    }

    /// Where the element of a point stands: its block, its column and its place in that.
    pub fn element(&self, array: ArrayId, subscripts: &[usize]) -> (BlockId, usize, usize) {
        let home = self.homes[array.index()].as_ref().expect("only latents are points");
        let layout = &self.places[home.block.index()].layout;
        let pick = |dimensions: &[usize]| -> Vec<usize> {
            dimensions.iter().map(|dimension| subscripts[*dimension]).collect()
        };
        let row = flat(&layout.plates, &pick(&home.plates));
        let sizes = &layout.slices[home.member];
        let within = flat(sizes, &pick(&home.slices));
        (home.block, home.member, row * sizes.iter().product::<usize>() + within)
    }

    /// An element in C order of the declared dimensions.
    pub fn in_declared_order(&self, array: ArrayId, subscripts: &[usize]) -> usize {
        flat(&self.shapes[array.index()], subscripts)
    }

    /// An element of data or of a constant. What is not listed is 0.
    pub fn datum(&self, array: ArrayId, subscripts: &[usize]) -> f64 {
        self.bound.array(array).entry(&self.shapes[array.index()], subscripts).0
    }

    /// Whether an entry was observed.
    pub fn observed(&self, array: ArrayId, subscripts: &[usize]) -> bool {
        self.bound.array(array).entry(&self.shapes[array.index()], subscripts).1
    }

    /// Of the block of an array of data, or of a latent that is held, for each row what was observed of its elements.
    fn observed_elements(&self, id: BlockId) -> Option<Vec<Vec<Option<f64>>>> {
        let (block, place) = self.block(id);
        let [member] = block.members.as_slice() else { return None };
        self.bound.arrays.get(member.index())?.as_ref()?;
        let home = self.homes[member.index()].as_ref()?;
        let value = |row: usize| -> Vec<Option<f64>> {
            let plates = unflat(&place.layout.plates, row);
            let elements = (0..place.widths[0]).map(|element| {
                let slices = unflat(&place.layout.slices[0], element);
                let mut subscripts = vec![0; plates.len() + slices.len()];
                home.plates.iter().zip(&plates).for_each(|(dimension, at)| subscripts[*dimension] = *at);
                home.slices.iter().zip(&slices).for_each(|(dimension, at)| subscripts[*dimension] = *at);
                // What a restriction leaves out counts as observed to be 0, as sums read it.
                match self.symbols().array(*member).has_entry(&subscripts) {
                    true => self.observed(*member, &subscripts).then(|| self.datum(*member, &subscripts)),
                    false => Some(0.0),
                }
            });
            elements.collect()
        };
        Some((0..place.layout.rows).map(value).collect())
    }

    /// An assignment of the plate letters of a block to a row of it.
    pub fn row(&self, id: BlockId, row: usize, environment: &dyn Environment) -> Assignment {
        let (block, place) = self.block(id);
        let values = unflat(&place.layout.plates, row);
        assignment(self.symbols(), &block.plates, &values, environment)
    }

    /// An assignment of the letters that number the copies of a block to one of them.
    pub fn copy(&self, id: BlockId, copy: usize, environment: &dyn Environment) -> Assignment {
        let (block, place) = self.block(id);
        let symbols = self.symbols();
        assignment(symbols, &block.copies(symbols), &place.layout.positions(copy), environment)
    }

    /// Trouble with a copy.
    pub fn trouble(&self, id: BlockId, copy: usize, reason: String) -> Trouble {
        Trouble { block: id, copy: self.places[id.index()].layout.positions(copy), reason }
    }
}

impl Place {
    fn new(equations: &Equations, bound: &Bound, block: &Block, first_plates: &[usize]) -> Place {
        let missing = |array: ArrayId| bound.array(array).has_missing();
        let layout = Layout::new(equations, bound, block, &missing);
        let family = cavi_families::posterior(block.family);
        let statistics = family.statistics();
        let expectations = family.expectations();
        // A fixed variable without a distribution keeps values.
        let values = block.mode == Mode::Point || family.only_point();
        let widths: Vec<usize> = layout.slices.iter().map(|sizes| sizes.iter().product()).collect();
        let offsets = if is_one_vector(block) { layout.offsets() } else { vec![0; widths.len()] };
        let mut order: Vec<usize> = (0..layout.rows).collect();
        let mut plates: Vec<usize> = (0..first_plates.len()).collect();
        plates.sort_by_key(|plate| first_plates[*plate]);
        order.sort_by_key(|row| {
            let values = unflat(&layout.plates, *row);
            plates.iter().map(|plate| values[*plate]).collect::<Vec<usize>>()
        });
        let (observed, elements) = (None, None);
        Place { layout, family, statistics, expectations, values, widths, offsets, order, observed, elements }
    }

    /// The value of a row of a partly observed array that was observed.
    pub fn observed_value(&self, row: usize) -> Option<&[f64]> {
        self.observed.as_ref()?[row].as_deref()
    }

    /// Which elements of a row are held and at which values, where it is some of them.
    pub fn part(&self, row: usize) -> Option<(Vec<bool>, Vec<f64>)> {
        let own = self.elements.as_ref()?.get(row)?;
        let held: Vec<bool> = own.iter().map(Option::is_some).collect();
        (held.contains(&true) && held.contains(&false) && self.family.holds_elements())
            .then(|| (held, own.iter().map(|value| value.unwrap_or(0.0)).collect()))
    }

    /// The value that an element of a row has, if it was observed or is held.
    pub fn element(&self, element: usize) -> Option<f64> {
        let width = self.widths[0].max(1);
        self.elements.as_ref()?[element / width][element % width]
    }

    /// `sum_i c_i t_i(x)` at an observed value, from the coefficients of its own statements, base taken off: what the bound takes
    /// from a prior that its family pairs with the entropy.
    pub fn prior_at(&self, prior: &[Vec<f64>], value: &[f64]) -> f64 {
        let mut total = Accumulator::default();
        for ((own, base), prior) in self.statistics.iter().zip(&self.layout.base).zip(prior) {
            let mut statistic = vec![0.0; prior.len()];
            at_value(&own.statistic, value, &mut statistic);
            for (prior, statistic) in prior.iter().zip(statistic) {
                // 0 ln 0 is 0.
                if prior + base != 0.0 {
                    total.add((prior + base) * statistic);
                }
            }
        }
        total.total()
    }

    /// Whether several variables stand beside each other in one vector.
    fn one_vector(&self) -> bool {
        self.widths.len() > 1 && self.family.one_vector()
    }

    /// The statistic as the family names it.
    fn named<'a>(&self, statistic: &'a Statistic) -> Cow<'a, Statistic> {
        if !self.one_vector() {
            return Cow::Borrowed(statistic);
        }
        Cow::Owned(statistic.of_one_vector())
    }

    /// Which statistic of the family this is.
    pub fn statistic(&self, statistic: &Statistic) -> Option<usize> {
        let named = self.named(statistic);
        self.statistics.iter().position(|own| own.statistic == *named)
    }

    /// The elements that the slots of a statistic name, one for each elementary function of a sliced variable.
    pub fn elements(&self, statistic: &Statistic, slots: &[usize]) -> Vec<usize> {
        let mut rest = slots;
        let mut elements = Vec::new();
        for (member, elementary) in &statistic.0 {
            let member = usize::from(*member);
            let sizes = self.layout.slices[member].as_slice();
            let width = elementary.slots(sizes.len());
            let (own, others) = rest.split_at(width.min(rest.len()));
            match *elementary {
                Elementary::Indicator | Elementary::Contracted(_) | Elementary::LogDeterminant => {
                    elements.extend(own);
                }
                Elementary::Power(_)
                | Elementary::Log
                | Elementary::LogComplement
                | Elementary::Centred
                | Elementary::Mass
                | Elementary::MassOfComplement => {
                    // A number in a vector of several variables is an element of it.
                    if !own.is_empty() || self.one_vector() {
                        elements.push(self.offsets[member] + flat(sizes, own));
                    }
                }
            }
            rest = others;
        }
        elements
    }

    /// The elements that place `position` of a one-row column of this statistic stands for; the inverse of
    /// [`Place::within`].
    pub fn elements_at(&self, own: &Expectation, position: usize) -> Vec<usize> {
        match own.extent {
            Extent::Scalar => Vec::new(),
            Extent::Vector => vec![position],
            Extent::Matrix | Extent::Pairs if own.statistic.0.len() == 1 => vec![position],
            Extent::Matrix | Extent::Pairs => vec![position / self.layout.n, position % self.layout.n],
        }
    }

    /// The place of elements in a one-row column.
    pub fn within(&self, extent: Extent, elements: &[usize]) -> usize {
        match (extent, elements) {
            (Extent::Scalar, _) => 0,
            (Extent::Matrix | Extent::Pairs, [row, column, ..]) => row * self.layout.n + column,
            (Extent::Vector | Extent::Matrix | Extent::Pairs, elements) => elements[0],
        }
    }

    /// The length of a one-row column.
    pub fn length(&self, extent: Extent) -> usize {
        match extent {
            Extent::Scalar => 1,
            Extent::Vector => self.layout.n,
            Extent::Matrix | Extent::Pairs => self.layout.n * self.layout.n,
        }
    }

    /// Where a row (of a matrix column: its group) stands in a column.
    pub fn span(&self, extent: Extent, row: usize) -> std::ops::Range<usize> {
        let number = match extent {
            Extent::Scalar | Extent::Vector | Extent::Pairs => row,
            Extent::Matrix => self.layout.batch().group_of(row),
        };
        let length = self.length(extent);
        number * length..(number + 1) * length
    }

    /// The extents of the columns that describe the block.
    pub fn extents(&self) -> Vec<Extent> {
        self.family.descriptors().iter().map(|own| own.extent).collect()
    }

    /// The lengths of the columns that are stored for the block.
    pub fn column_lengths(&self) -> Vec<usize> {
        if self.values {
            return self.widths.iter().map(|width| self.layout.rows * width).collect();
        }
        let batch = self.layout.batch();
        self.extents().into_iter().map(|extent| batch.len(extent)).collect()
    }

    /// `E t` of a row under a distribution, from the expectations that the family answers.
    pub fn expectation(
        &self,
        columns: &[Vec<f64>],
        statistic: &Statistic,
        row: usize,
        elements: &[usize],
    ) -> f64 {
        let named = self.named(statistic);
        let answer = |wanted: &[(u8, Elementary)], elements: &[usize]| -> Option<f64> {
            let which = self.expectations.iter().position(|own| own.statistic.0 == wanted)?;
            let extent = self.expectations[which].extent;
            if extent == Extent::Vector && elements.iter().any(|own| *own != elements[0]) {
                // A vector of variances: different elements are independent.
                return Some(0.0);
            }
            Some(columns[which][self.span(extent, row)][self.within(extent, elements)])
        };
        let power = |member: u8, power: i32| [(member, Elementary::Power(power))];
        let pair = |member: u8, elementary: Elementary| [(member, elementary), (member, elementary)];
        let half = elements.len().div_ceil(2);
        let (left, right) = (&elements[..half], &elements[elements.len() - half..]);
        let named = named.0.as_slice();
        let derived = match *named {
            // E x_k x_l = E x_k E x_l + Cov_kl. It goes before a direct answer, since a matrix column is shared by the
            // rows of a group, and only their covariance is.
            [(member, Elementary::Power(1)), (other, Elementary::Power(1))] if member == other => {
                let mean = |elements| answer(&power(member, 1), elements);
                let covariance = answer(&pair(member, Elementary::Centred), elements);
                mean(left).zip(mean(right)).zip(covariance).map(|((left, right), both)| left * right + both)
            }
            // E x^2 = (E x)^2 + Var
            [(member, Elementary::Power(2))] if answer(named, elements).is_none() => {
                let twice = [elements, elements].concat();
                let mean = answer(&power(member, 1), elements);
                let variance = answer(&pair(member, Elementary::Centred), &twice);
                mean.zip(variance).map(|(mean, variance)| mean * mean + variance)
            }
            // Var = E x^2 - (E x)^2
            [(member, Elementary::Centred), (other, Elementary::Centred)]
                if member == other && answer(named, elements).is_none() =>
            {
                if left == right {
                    let mean = answer(&power(member, 1), left);
                    let square = answer(&power(member, 2), left);
                    mean.zip(square).map(|(mean, square)| square - mean * mean)
                } else {
                    None
                }
            }
            // An index variable has one value.
            [(member, Elementary::Indicator), (other, Elementary::Indicator)] if member == other => {
                if left == right { answer(&[(member, Elementary::Indicator)], left) } else { Some(0.0) }
            }
            _ => None,
        };
        derived.or_else(|| answer(named, elements)).unwrap_or_else(|| {
            let family = self.family.name();
            unreachable!(
                "the derivation asks only for expectations that the family answers: {family}, {named:?}"
            )
        })
    }
}

/// The place of positions in C order.
pub fn flat(sizes: &[usize], positions: &[usize]) -> usize {
    debug_assert_eq!(sizes.len(), positions.len(), "an element has one subscript for each dimension");
    sizes.iter().zip(positions).fold(0, |place, (size, position)| place * size + position)
}

/// The positions of a place in C order.
pub fn unflat(sizes: &[usize], place: usize) -> Vec<usize> {
    let mut rest = place;
    let mut positions = vec![0; sizes.len()];
    for (position, size) in positions.iter_mut().zip(sizes).rev() {
        *position = rest % size.max(&1);
        rest /= size.max(&1);
    }
    positions
}

/// Letters assigned to positions, in a fresh assignment.
pub fn assignment(
    symbols: &Symbols,
    letters: &[LetterId],
    positions: &[usize],
    environment: &dyn Environment,
) -> Assignment {
    let mut assignment = Assignment::new();
    for (letter, position) in letters.iter().zip(positions) {
        assignment.assign(symbols, environment, *letter, *position);
    }
    assignment
}

/// `log sum_c exp(x_c)`, minus infinity for none.
pub fn log_sum_exp(values: &[f64]) -> f64 {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !largest.is_finite() {
        return largest;
    }
    let sum: Accumulator = values.iter().map(|value| cavi_numerics::special::exp(value - largest)).collect();
    largest + cavi_numerics::special::ln(sum.total())
}

/// Which dimensions of a member are the plates and the slices of its block, in the block's order.
fn dimensions(symbols: &Symbols, block: &Block, member: usize) -> Option<(Vec<usize>, Vec<usize>)> {
    let letters = &symbols.array(block.members[member]).letters;
    let place = |own: &LetterId| letters.iter().position(|letter| letter == own);
    let all = |own: &[LetterId]| own.iter().map(place).collect::<Option<Vec<usize>>>();
    let (plates, slices) = (all(&block.member_plates[member])?, all(&block.slices[member])?);
    (plates.len() + slices.len() == letters.len()).then_some((plates, slices))
}
