//! Parts of arrays: what changed, and what is worked out.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::plan::tensor::{Contraction, Index, MapId, Maps};

/// A box in an array: for each dimension its values there, ascending; `None` for all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region(pub Vec<Option<Vec<u32>>>);

impl Region {
    /// All of an array of this many dimensions.
    pub fn all(rank: usize) -> Region {
        Region(vec![None; rank])
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
    pub fn shape(&self, whole: &[usize]) -> Vec<usize> {
        self.0.iter().zip(whole).map(|(own, size)| own.as_ref().map_or(*size, Vec::len)).collect()
    }

    /// Where the region stands in an array of this shape, in C order.
    pub fn runs(&self, shape: &[usize]) -> Vec<Range<usize>> {
        let last = self.0.iter().rposition(Option::is_some).map_or(0, |place| place + 1);
        let inner: usize = shape[last..].iter().product();
        let starts = self.0[..last].iter().zip(shape).fold(vec![0], |starts, (own, size)| {
            let values = |start: usize| -> Box<dyn Iterator<Item = usize>> {
                match own {
                    Some(values) => Box::new(values.iter().map(move |value| start + *value as usize)),
                    None => Box::new(start..start + size),
                }
            };
            starts.into_iter().flat_map(|start: usize| values(start * size)).collect()
        });
        starts.into_iter().map(|start| start * inner..(start + 1) * inner).collect()
    }
}

/// The values of the region, from an array.
pub fn gathered(runs: &[Range<usize>], values: &[f64]) -> Vec<f64> {
    let mut out = Vec::with_capacity(runs.iter().map(Range::len).sum());
    runs.iter().for_each(|run| out.extend_from_slice(&values[run.clone()]));
    out
}

/// Puts the values of the region into an array.
pub fn scatter(runs: &[Range<usize>], own: &[f64], values: &mut [f64]) {
    let mut from = 0;
    for run in runs {
        values[run.clone()].copy_from_slice(&own[from..from + run.len()]);
        from += run.len();
    }
}

fn join(own: &mut Option<Vec<u32>>, other: Option<&[u32]>) {
    match (own.as_mut(), other) {
        (Some(values), Some(others)) if values != others => {
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
    pub fn letters(&mut self, index: Index, values: &[u32], maps: &Maps) -> Vec<u32> {
        let Some(map) = index.map else { return values.to_vec() };
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
        let mut letters: Vec<u32> = values.iter().flat_map(own).copied().collect();
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
    let mut letters: Option<Vec<Option<Vec<u32>>>> = None;
    for (operand, region) in contraction.operands.iter().zip(changed) {
        let Some(region) = region else { continue };
        let mut own: Vec<Option<Vec<u32>>> = vec![None; contraction.sizes.len()];
        for (index, values) in operand.dims.iter().zip(&region.0) {
            // A table that is not kept says nothing.
            let known = index.map.is_none_or(|map| maps.table(map).len() >= contraction.sizes[index.letter]);
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
        let mut values: Vec<u32> = values.iter().map(|value| maps.table(map)[*value as usize]).collect();
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
    use crate::plan::tensor::{Access, NodeId};

    #[test]
    fn runs_are_the_places_of_the_box() {
        let shape = [3, 2, 4];
        let region = Region(vec![Some(vec![0, 2]), None, Some(vec![1, 3])]);
        let mut inside = Vec::new();
        for place in 0..24_u32 {
            if [0, 2].contains(&(place / 8)) && [1, 3].contains(&(place % 4)) {
                inside.push(place as usize);
            }
        }
        let runs: Vec<usize> = region.runs(&shape).into_iter().flatten().collect();
        assert_eq!(runs, inside);
        assert_eq!(region.shape(&shape), [2, 2, 2]);
        assert_eq!(Region::all(3).runs(&shape), vec![Range { start: 0, end: 24 }]);
        let rows = Region(vec![Some(vec![1]), None, None]);
        assert_eq!(rows.runs(&shape), vec![Range { start: 8, end: 16 }]);
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
        let map = maps.named("d", 3, || vec![1, 0, 1, 2]);
        let through = Index { letter: 0, map: Some(map) };
        let contraction = Contraction {
            coefficient: 1.0,
            sizes: vec![4, 2],
            operands: vec![
                Access { node: NodeId(0), dims: vec![Index::letter(0)] },
                Access { node: NodeId(1), dims: vec![through, Index::letter(1)] },
            ],
            output: vec![through, Index::letter(1)],
        };
        let mut inverses = Inverses::default();
        let mut region = |a: Option<Vec<u32>>, b: Option<Vec<u32>>| {
            let changed = [a.map(|a| Region(vec![Some(a)])), b.map(|b| Region(vec![Some(b), None]))];
            follows(&contraction, &changed, &[3, 2], &maps, &mut inverses)
        };
        assert_eq!(region(None, None), None);
        assert_eq!(region(Some(vec![0, 2]), None), Some(Region(vec![Some(vec![1]), None])));
        assert_eq!(region(None, Some(vec![0])), Some(Region(vec![Some(vec![0]), None])));
        assert_eq!(region(Some(vec![3]), Some(vec![1])), Some(Region(vec![Some(vec![1, 2]), None])));
        assert_eq!(region(Some(vec![0, 1, 3]), None), Some(Region::all(2)));
        assert_eq!(inverses.letters(through, &[1, 2], &maps), [0, 2, 3]);
    }
}
