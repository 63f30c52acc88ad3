//! Parts of arrays: what changed, and what is worked out.

use std::collections::BTreeMap;
use std::ops::Range;

use cavi_numerics::Scratch;
use cavi_numerics::kernels::contract::Letters;
use smallvec::SmallVec;

use crate::plan::tensor::{Contraction, Index, MapId, Maps};

/// Values of a letter, ascending; more than these few are on the heap.
pub type Values = SmallVec<[u32; 4]>;

/// The values of each dimension; `None` for all of them.
pub type Bounds = SmallVec<[Option<Values>; 4]>;

/// A box in an array: for each dimension its values there, ascending; `None` for all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region(pub Bounds);

impl Region {
    /// All of an array of this many dimensions.
    pub fn all(rank: usize) -> Region {
        Region(Bounds::from_elem(None, rank))
    }

    /// Whether it is all there is.
    pub fn is_all(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// The least box around both.
    pub fn join(&mut self, other: &Region) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            join(own, other.as_deref());
        }
    }

    /// Leaves out bounds that hold for every value.
    fn simplify(&mut self, shape: &[usize]) {
        for (own, size) in self.0.iter_mut().zip(shape) {
            if own.as_ref().is_some_and(|values| values.len() == *size) {
                *own = None;
            }
        }
    }

    /// The shape of an array of the region alone.
    pub fn shape(&self, whole: &[usize]) -> Letters<usize> {
        self.0.iter().zip(whole).map(|(own, size)| own.as_ref().map_or(*size, |own| own.len())).collect()
    }

    /// Where the region stands in an array of this shape, in C order.
    pub fn runs(&self, shape: &[usize]) -> Runs {
        let last = self.0.iter().rposition(Option::is_some).map_or(0, |place| place + 1);
        let length = shape[last..].iter().product();
        let mut starts: Scratch<usize> = Scratch::of(&[0]);
        for (own, size) in self.0[..last].iter().zip(shape) {
            let mut next = Scratch::with_room(starts.len() * own.as_ref().map_or(*size, |own| own.len()));
            for start in starts.iter() {
                match own {
                    Some(values) => values.iter().for_each(|value| next.push(start * size + *value as usize)),
                    None => (start * size..(start + 1) * size).for_each(|place| next.push(place)),
                }
            }
            starts = next;
        }
        starts.iter_mut().for_each(|start| *start *= length);
        Runs { starts, length }
    }
}

/// Where a region stands in an array: runs of one length.
pub struct Runs {
    starts: Scratch<usize>,
    length: usize,
}

impl Runs {
    /// The runs, in order.
    pub fn iter(&self) -> impl Iterator<Item = Range<usize>> {
        self.starts.iter().map(|start| *start..start + self.length)
    }

    /// The values in all runs.
    pub fn values(&self) -> usize {
        self.starts.len() * self.length
    }
}

/// The values of the region, from an array.
pub fn gathered(runs: &Runs, values: &[f64]) -> Scratch {
    let mut out = Scratch::zeros(runs.values());
    for (out, run) in out.chunks_exact_mut(runs.length.max(1)).zip(runs.iter()) {
        out.copy_from_slice(&values[run]);
    }
    out
}

/// Puts the values of the region into an array.
pub fn scatter(runs: &Runs, own: &[f64], values: &mut [f64]) {
    for (own, run) in own.chunks_exact(runs.length.max(1)).zip(runs.iter()) {
        values[run].copy_from_slice(own);
    }
}

fn join(own: &mut Option<Values>, other: Option<&[u32]>) {
    match (own.as_mut(), other) {
        (Some(values), Some(others)) if **values != *others => {
            values.extend_from_slice(others);
            values.sort_unstable();
            values.dedup();
        }
        (Some(_), Some(_)) => {}
        _ => *own = None,
    }
}

/// For tables, which places have a value.
#[derive(Clone, Debug, Default)]
pub struct Inverses(BTreeMap<MapId, Inverse>);

/// The places of value `v` are those of `order` from `starts[v]` to `starts[v + 1]`.
#[derive(Clone, Debug)]
struct Inverse {
    starts: Vec<u32>,
    order: Vec<u32>,
}

impl Inverses {
    /// The values of a letter, ascending, at which an index has one of these values.
    pub fn letters(&mut self, index: Index, values: &[u32], maps: &Maps) -> Values {
        let Some(map) = index.map else { return values.into() };
        let inverse = self.0.entry(map).or_insert_with(|| {
            let table = maps.table(map);
            let mut starts = vec![0; maps.range(map) + 1];
            table.iter().for_each(|value| starts[*value as usize + 1] += 1);
            (1..starts.len()).for_each(|place| starts[place] += starts[place - 1]);
            let mut order: Vec<u32> = (0..table.len() as u32).collect();
            order.sort_by_key(|place| table[*place as usize]);
            Inverse { starts, order }
        });
        let own = |value: &u32| {
            let value = *value as usize;
            &inverse.order[inverse.starts[value] as usize..inverse.starts[value + 1] as usize]
        };
        let mut letters: Values = values.iter().flat_map(own).copied().collect();
        if !letters.is_sorted() {
            letters.sort_unstable();
        }
        letters
    }
}

/// The part of the output of a contraction that follows from what changed in its operands: for each of them the region, if
/// it changed. `None` if nothing did.
///
/// An operand that changed where a letter has some values changes the products of these values of the letter, and these
/// are added where the output has them. What is summed over the letter changes all over.
pub fn follows(
    contraction: &Contraction,
    changed: &[Option<Region>],
    shape: &[usize],
    maps: &Maps,
    inverses: &mut Inverses,
) -> Option<Region> {
    let mut letters: Option<Letters<Option<Values>>> = None;
    for (operand, region) in contraction.operands.iter().zip(changed) {
        let Some(region) = region else { continue };
        let mut own: Letters<Option<Values>> = Letters::from_elem(None, contraction.letters.len());
        for (index, values) in operand.dims.iter().zip(&region.0) {
            // A table that is not kept says nothing.
            let known = index.map.is_none_or(|map| maps.table(map).len() >= contraction.size(index.letter));
            if let (Some(values), true, None) = (values, known, &own[index.letter]) {
                own[index.letter] = Some(inverses.letters(*index, values, maps));
            }
        }
        match &mut letters {
            None => letters = Some(own),
            Some(all) => all.iter_mut().zip(&own).for_each(|(all, own)| join(all, own.as_deref())),
        }
    }
    let letters = letters?;
    let dims = contraction.output.iter().map(|index| {
        let values = letters[index.letter].as_ref()?;
        let Some(map) = index.map else { return Some(values.clone()) };
        let mut values: Values = values.iter().map(|value| maps.table(map)[*value as usize]).collect();
        values.sort_unstable();
        values.dedup();
        Some(values)
    });
    let mut region = Region(dims.collect());
    region.simplify(shape);
    Some(region)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tensor::{Access, Along, Loop, NodeId};

    fn boxed(bounds: &[Option<&[u32]>]) -> Region {
        Region(bounds.iter().map(|own| own.map(Values::from)).collect())
    }

    #[test]
    fn runs_are_the_places_of_the_box() {
        let shape = [3, 2, 4];
        let region = boxed(&[Some(&[0, 2]), None, Some(&[1, 3])]);
        let mut inside = Vec::new();
        for place in 0..24_u32 {
            if [0, 2].contains(&(place / 8)) && [1, 3].contains(&(place % 4)) {
                inside.push(place as usize);
            }
        }
        let runs: Vec<usize> = region.runs(&shape).iter().flatten().collect();
        assert_eq!(runs, inside);
        assert_eq!(region.shape(&shape).as_slice(), [2, 2, 2]);
        let all = |region: &Region| region.runs(&shape).iter().collect::<Vec<_>>();
        assert_eq!(all(&Region::all(3)), [Range { start: 0, end: 24 }]);
        let rows = boxed(&[Some(&[1]), None, None]);
        assert_eq!(all(&rows), [Range { start: 8, end: 16 }]);
        let values: Vec<f64> = (0..24).map(f64::from).collect();
        let mut back = vec![0.0; 24];
        let own = gathered(&region.runs(&shape), &values);
        scatter(&region.runs(&shape), &own, &mut back);
        for place in 0..24 {
            assert_eq!(back[place], if inside.contains(&place) { values[place] } else { 0.0 });
        }
    }

    /// `out[d(t), k] += a[t] b[d(t), k]`: what follows from a change of `a` at some t, and of `b` at some d.
    #[test]
    fn changes_follow_through_tables() {
        let mut maps = Maps::default();
        let map = maps.named("d", (Along::Plain, Loop::plain(3)), || vec![1, 0, 1, 2].into());
        let through = Index { letter: 0, map: Some(map) };
        let contraction = Contraction {
            coefficient: 1.0,
            letters: [4, 2].map(Loop::plain).to_vec(),
            operands: vec![
                Access { node: NodeId(0), dims: vec![Index::letter(0)] },
                Access { node: NodeId(1), dims: vec![through, Index::letter(1)] },
            ],
            output: vec![through, Index::letter(1)],
        };
        let mut inverses = Inverses::default();
        let mut region = |a: Option<&[u32]>, b: Option<&[u32]>| {
            let changed = [a.map(|a| boxed(&[Some(a)])), b.map(|b| boxed(&[Some(b), None]))];
            follows(&contraction, &changed, &[3, 2], &maps, &mut inverses)
        };
        assert_eq!(region(None, None), None);
        assert_eq!(region(Some(&[0, 2]), None), Some(boxed(&[Some(&[1]), None])));
        assert_eq!(region(None, Some(&[0])), Some(boxed(&[Some(&[0]), None])));
        assert_eq!(region(Some(&[3]), Some(&[1])), Some(boxed(&[Some(&[1, 2]), None])));
        assert_eq!(region(Some(&[0, 1, 3]), None), Some(Region::all(2)));
        assert_eq!(inverses.letters(through, &[1, 2], &maps).as_slice(), [0, 2, 3]);
    }
}
