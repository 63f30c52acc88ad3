//! What of a program and its data lies in a range of an axis.

use std::ops::Range;

use cavi_algebra::{ArrayId, AxisId, Block, Equations, LetterId};
use cavi_families::Extent;
use cavi_numerics::{Number, Numbers};

use crate::data::{Bound, BoundArray, BoundAxis};
use crate::layout::Layout;
use crate::plan::tensor::{Along, Loop};
use crate::trouble::Trouble;

/// A range of the positions of an axis, and what lies in it: positions of axes that are ragged in it, entries of arrays along these.
pub struct Part<'b> {
    pub(super) equations: &'b Equations,
    whole: &'b Bound,
    /// For each axis that is cut, its positions here.
    axes: Vec<Option<Range<usize>>>,
    /// For each array along such an axis, the places of its entries here, ascending.
    pub(super) entries: Vec<Option<Entries>>,
}

/// The places of some entries of an array, ascending.
pub(super) enum Entries {
    /// These, one after another, of so many.
    Run(Range<usize>, usize),
    /// These of so many.
    Listed(Vec<u32>, usize),
}

impl Entries {
    /// The entries at these places; of those that follow each other no list is kept.
    fn new(places: Vec<u32>, size: usize) -> Entries {
        let first = places.first().map_or(0, |first| *first as usize);
        match places.last().is_none_or(|last| *last as usize + 1 - first == places.len()) {
            true => Entries::Run(first..first + places.len(), size),
            false => Entries::Listed(places, size),
        }
    }

    /// The bytes of the list.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Entries::Run(..) => 0,
            Entries::Listed(own, _) => own.len() * size_of::<u32>(),
        }
    }

    fn kept(&self) -> Kept<'_> {
        match self {
            Entries::Run(own, size) => Kept::Run(own.clone(), *size),
            Entries::Listed(own, size) => Kept::Listed(own, *size),
        }
    }

    /// Some of the values of all entries.
    fn taken<T: Copy, C: FromIterator<T>>(&self, values: &[T]) -> C {
        match self {
            Entries::Run(own, _) => values[own.clone()].iter().copied().collect(),
            Entries::Listed(own, _) => own.iter().map(|entry| values[*entry as usize]).collect(),
        }
    }

    /// Some of the numbers of all entries: those that follow each other in a mapped file stay there.
    fn part<T: Number>(&self, values: &Numbers<T>) -> Numbers<T> {
        match self {
            Entries::Run(own, _) => values.part(own.clone()),
            Entries::Listed(..) => self.taken(values),
        }
    }
}

/// Which values of a dimension are kept.
#[derive(Clone, Debug)]
pub(super) enum Kept<'p> {
    /// So many: all.
    All(usize),
    /// These of so many.
    Run(Range<usize>, usize),
    /// These of so many, ascending.
    Listed(&'p [u32], usize),
}

impl Kept<'_> {
    /// How many values are kept.
    pub fn len(&self) -> usize {
        match self {
            Kept::All(size) => *size,
            Kept::Run(own, _) => own.len(),
            Kept::Listed(own, _) => own.len(),
        }
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        match self {
            Kept::All(size) | Kept::Run(_, size) | Kept::Listed(_, size) => *size,
        }
    }

    /// Whether not all need be kept.
    pub fn is_cut(&self) -> bool {
        !matches!(self, Kept::All(_))
    }

    /// A value by its place among those that are kept.
    fn value(&self, place: usize) -> usize {
        match self {
            Kept::All(_) => place,
            Kept::Run(own, _) => own.start + place,
            Kept::Listed(own, _) => own[place] as usize,
        }
    }

    /// The place of a value among those that are kept.
    fn place(&self, value: usize) -> Option<usize> {
        match self {
            Kept::All(_) => Some(value),
            Kept::Run(own, _) => own.contains(&value).then(|| value - own.start),
            Kept::Listed(own, _) => own.binary_search(&(value as u32)).ok(),
        }
    }
}

/// Which values of an array in C order are kept: those at kept values of all its dimensions.
pub(super) struct Places<'p>(pub Vec<Kept<'p>>);

impl Places<'_> {
    /// Whether not all need be kept.
    pub fn is_cut(&self) -> bool {
        self.0.iter().any(Kept::is_cut)
    }

    /// How many values are kept.
    pub fn len(&self) -> usize {
        self.0.iter().map(Kept::len).product()
    }

    /// The values that are kept where these follow each other: all, or a range of the first dimension and all of the others.
    pub fn run(&self) -> Option<Range<usize>> {
        let (first, others) = self.0.split_first()?;
        if others.iter().any(Kept::is_cut) {
            return None;
        }
        let each: usize = others.iter().map(Kept::size).product();
        match first {
            Kept::All(size) => Some(0..size * each),
            Kept::Run(own, _) => Some(own.start * each..own.end * each),
            Kept::Listed(..) => None,
        }
    }

    /// Where runs of one length begin that are kept.
    fn runs(&self) -> (Vec<usize>, usize) {
        let cut = self.0.iter().rposition(Kept::is_cut).map_or(0, |place| place + 1);
        let length = self.0[cut..].iter().map(Kept::size).product();
        let mut starts = vec![0];
        for own in &self.0[..cut] {
            let all = |start: &usize| {
                let start = start * own.size();
                (0..own.len()).map(move |place| start + own.value(place))
            };
            starts = starts.iter().flat_map(all).collect();
        }
        starts.iter_mut().for_each(|start| *start *= length);
        (starts, length)
    }

    /// The values that are kept.
    pub fn taken<T: Copy>(&self, values: &[T]) -> Vec<T> {
        if !self.is_cut() || values.is_empty() {
            return values.to_vec();
        }
        if let Some(run) = self.run() {
            return values[run].to_vec();
        }
        let (starts, length) = self.runs();
        let mut out = Vec::with_capacity(starts.len() * length);
        starts.iter().for_each(|start| out.extend_from_slice(&values[*start..start + length]));
        out
    }

    /// Puts those that are kept where they were.
    pub fn put<T: Copy>(&self, own: &[T], values: &mut [T]) {
        let (starts, length) = self.runs();
        for (own, start) in own.chunks_exact(length.max(1)).zip(starts) {
            values[start..start + length].copy_from_slice(own);
        }
    }

    /// The places of those that are kept.
    pub fn places(&self) -> Vec<u32> {
        let (starts, length) = self.runs();
        starts.iter().flat_map(|start| (*start..start + length).map(|place| place as u32)).collect()
    }

    /// The place among those that are kept of a value that was at another; `None` if it is not kept.
    pub fn place(&self, value: usize) -> Option<usize> {
        let (mut rest, mut place, mut stride) = (value, 0, 1);
        for own in self.0.iter().rev() {
            place += stride * own.place(rest % own.size().max(1))?;
            stride *= own.len();
            rest /= own.size().max(1);
        }
        Some(place)
    }
}

impl<'b> Part<'b> {
    /// What lies in a range of the positions of an axis.
    pub fn new(equations: &'b Equations, whole: &'b Bound, axis: AxisId, range: Range<usize>) -> Part<'b> {
        let mut part = Part::outline(equations, whole, axis, range);
        part.entries = (0..whole.arrays.len()).map(|array| part.entries_of(ArrayId::from(array))).collect();
        part
    }

    /// The same without the entries of arrays: where the parameters of the range are, and no data of it.
    pub fn outline(
        equations: &'b Equations,
        whole: &'b Bound,
        axis: AxisId,
        range: Range<usize>,
    ) -> Part<'b> {
        let symbols = &equations.symbols;
        let mut axes: Vec<Option<Range<usize>>> = vec![None; symbols.axes.len()];
        axes[axis.index()] = Some(range);
        // An axis may stand before the one that it is ragged in.
        for _ in 0..symbols.axes.len() {
            for (index, own) in symbols.axes.iter().enumerate() {
                let above = own.parent.and_then(|parent| axes[parent.index()].clone());
                if let (None, Some(above), Some(starts)) = (&axes[index], above, &whole.axes[index].starts) {
                    axes[index] = Some(starts[above.start]..starts[above.end]);
                }
            }
        }
        Part { equations, whole, axes, entries: (0..whole.arrays.len()).map(|_| None).collect() }
    }

    fn entries_of(&self, id: ArrayId) -> Option<Entries> {
        let letters = &self.equations.symbols.array(id).letters;
        let own: Vec<Kept> = letters.iter().map(|letter| self.of_letter(*letter)).collect();
        if !own.iter().any(Kept::is_cut) {
            return None;
        }
        match self.whole.arrays[id.index()].as_ref()? {
            BoundArray::Dense { values, .. } => {
                let own = Places(own);
                let run = own.run().map(|run| Entries::Run(run, values.len()));
                Some(run.unwrap_or_else(|| Entries::new(own.places(), values.len())))
            }
            BoundArray::Sparse { indices, values, .. } => {
                let columns = || indices.iter().zip(&own);
                let is_here =
                    |entry: usize| columns().all(|(column, own)| own.place(column[entry] as usize).is_some());
                let here = (0..values.len()).filter(|entry| is_here(*entry));
                // Entries lie in the order of their rows: those of a range of rows follow each other.
                match &own[..] {
                    [Kept::Run(rows, _), others @ ..] if !others.iter().any(Kept::is_cut) => {
                        let bound = |row: usize| indices[0].partition_point(|own| (*own as usize) < row);
                        Some(Entries::Run(bound(rows.start)..bound(rows.end), values.len()))
                    }
                    _ => Some(Entries::new(here.map(|entry| entry as u32).collect(), values.len())),
                }
            }
        }
    }

    /// What is kept of the positions of an axis.
    pub(super) fn of_axis(&self, axis: AxisId) -> Kept<'static> {
        let size = self.whole.size(axis);
        self.axes[axis.index()].clone().map_or(Kept::All(size), |own| Kept::Run(own, size))
    }

    /// What is kept of the values of a letter.
    pub(super) fn of_letter(&self, letter: LetterId) -> Kept<'static> {
        self.of_axis(self.equations.symbols.letter(letter).axis)
    }

    /// What is kept of the values of a loop.
    pub(super) fn of_loop(&self, own: Loop) -> Kept<'_> {
        match own.along {
            Along::Axis(axis) => self.of_axis(axis),
            Along::Entries(array) => match &self.entries[array.index()] {
                Some(entries) => entries.kept(),
                None => Kept::All(own.size),
            },
            Along::Pairs(_) | Along::Plain => Kept::All(own.size),
        }
    }

    /// What is kept of an array over some loops.
    pub(super) fn of_loops(&self, loops: &[Loop]) -> Places<'_> {
        Places(loops.iter().map(|own| self.of_loop(*own)).collect())
    }

    /// What is kept of a column of a block's parameters.
    pub(super) fn column(&self, block: &Block, layout: &Layout, number: usize) -> Places<'static> {
        let letters = |letters: &[LetterId]| letters.iter().map(|own| self.of_letter(*own)).collect();
        let mut kept: Vec<Kept> = letters(&block.plates);
        let width = if block.is_point() {
            layout.slices[number].iter().product()
        } else {
            match crate::layout::extent(cavi_families::posterior(block.family), number) {
                Extent::Scalar => 1,
                Extent::Vector => layout.n,
                Extent::Pairs => layout.n * layout.n,
                Extent::Matrix => {
                    kept = letters(&layout.group_letters);
                    layout.n * layout.n
                }
            }
        };
        kept.push(Kept::All(width));
        Places(kept)
    }

    /// The data of the part.
    pub fn bound(&self) -> Bound {
        let axes = (0..self.whole.axes.len()).map(|axis| self.axis(AxisId::from(axis)));
        let arrays = self.whole.arrays.iter().enumerate();
        let arrays = arrays.map(|(id, array)| array.as_ref().map(|array| self.array(id, array)));
        Bound { axes: axes.collect(), arrays: arrays.collect(), whole: self.whole.whole.clone() }
    }

    fn axis(&self, id: AxisId) -> BoundAxis {
        let whole = &self.whole.axes[id.index()];
        let Some(own) = &self.axes[id.index()] else { return whole.clone() };
        let parent = self.equations.symbols.axis(id).parent;
        let above = parent.and_then(|parent| self.axes[parent.index()].clone());
        // Groups that are cut themselves keep those that are here.
        let starts = whole.starts.as_ref().map(|starts| {
            let groups = above.clone().unwrap_or(0..starts.len() - 1);
            let within = starts[groups.start..=groups.end].iter();
            within.map(|start| start.clamp(&own.start, &own.end) - own.start).collect()
        });
        let first = above.map_or(0, |above| above.start);
        let parent = whole.parent.as_ref();
        let parent = parent.map(|parent| parent[own.clone()].iter().map(|group| group - first).collect());
        BoundAxis { size: own.len(), starts, parent }
    }

    fn array(&self, id: usize, whole: &BoundArray) -> BoundArray {
        let Some(entries) = &self.entries[id] else { return whole.clone() };
        let seen = |observed: &Option<Vec<bool>>| observed.as_ref().map(|own| entries.taken(own));
        match whole {
            BoundArray::Dense { values, observed } => {
                BoundArray::Dense { values: entries.part(values), observed: seen(observed) }
            }
            BoundArray::Sparse { indices, values, observed, unlisted_zero } => {
                let letters = &self.equations.symbols.array(ArrayId::from(id)).letters;
                let column = |(column, letter): (&Numbers<u32>, &LetterId)| -> Numbers<u32> {
                    let (own, column) = (self.of_letter(*letter), entries.part(column));
                    let place = |position: &u32| {
                        let place = own.place(*position as usize);
                        place.expect("the entries are those of the part") as u32
                    };
                    match &own {
                        Kept::All(_) => column,
                        Kept::Run(run, _) if run.start == 0 => column,
                        Kept::Run(..) | Kept::Listed(..) => column.iter().map(place).collect(),
                    }
                };
                BoundArray::Sparse {
                    indices: indices.iter().zip(letters).map(column).collect(),
                    values: entries.part(values),
                    observed: seen(observed),
                    unlisted_zero: *unlisted_zero,
                }
            }
        }
    }

    /// What went wrong here, at its copy of the whole.
    pub fn of_whole(&self, trouble: Trouble) -> Trouble {
        let letters = self.equations.block(trouble.block).copies(&self.equations.symbols);
        let copy = trouble.copy.iter().zip(letters.iter().map(Some).chain(std::iter::repeat(None)));
        let position = |(position, letter): (&usize, Option<&LetterId>)| {
            let own = letter
                .and_then(|letter| self.axes[self.equations.symbols.letter(*letter).axis.index()].as_ref());
            own.map_or(*position, |own| own.start + position)
        };
        Trouble { copy: copy.map(position).collect(), ..trouble }
    }
}
