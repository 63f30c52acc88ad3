//! The letters of a site's domain at its entries.

use cavi_algebra::{ArrayId, LetterId, Subscript};

use crate::data::BoundArray;
use crate::plan::lower::{Dim, Lowering, Unplanned};

/// The letters of the domain at every entry, worked out on demand.
pub struct Columns {
    domain: Vec<Dim>,
    sizes: Vec<usize>,
    pub(super) entries: usize,
}

impl Columns {
    /// Those of a domain with so many entries.
    pub(super) fn of(lowering: &mut Lowering, domain: &[Dim], entries: usize) -> Columns {
        let sizes = domain.iter().map(|dim| lowering.over(dim).size).collect();
        Columns { domain: domain.to_vec(), sizes, entries }
    }

    /// The coordinate that a subscript is, where the domain is the listed entries of a sparse array alone.
    pub(super) fn coordinate(&self, lowering: &Lowering, subscript: &Subscript) -> Option<(ArrayId, usize)> {
        let [Dim::Entries(array, letters)] = self.domain.as_slice() else { return None };
        let sparse = matches!(lowering.bound.array(*array), BoundArray::Sparse { .. });
        let Subscript::Letter(letter) = subscript else { return None };
        let column = letters.iter().position(|own| own == letter)?;
        sparse.then_some((*array, column))
    }

    /// How many entries one value of a letter lasts, and how many values it has, where the domain is all values of its letters and the
    /// subscript is one of them.
    pub(super) fn counted(&self, subscript: &Subscript) -> Option<(usize, usize)> {
        let Subscript::Letter(letter) = subscript else { return None };
        let is_plain = self.domain.iter().all(|dim| matches!(dim, Dim::Letter(_)));
        let is_it = |dim: &Dim| matches!(dim, Dim::Letter(own) if own == letter);
        let place = self.domain.iter().position(is_it).filter(|_| is_plain && self.entries > 0)?;
        Some((self.sizes[place + 1..].iter().product(), self.sizes[place]))
    }

    /// The value of a letter of the domain, or of an ancestor of one, at every entry.
    pub(super) fn letter(&self, lowering: &Lowering, letter: LetterId) -> Option<Vec<u32>> {
        for (place, dim) in self.domain.iter().enumerate() {
            let inner: usize = self.sizes[place + 1..].iter().product::<usize>().max(1);
            let size = self.sizes[place].max(1);
            let positions = (0..self.entries).map(|entry| (entry / inner) % size);
            let own: Vec<LetterId> = match dim {
                Dim::Letter(own) => vec![*own],
                Dim::Entries(_, letters) => letters.clone(),
            };
            for (column, own) in own.into_iter().enumerate() {
                let lineage = lowering.symbols.lineage(own);
                let Some(depth) = lineage.iter().position(|step| *step == letter) else { continue };
                let mut values: Vec<u32> = match dim {
                    Dim::Letter(_) => positions.map(|position| position as u32).collect(),
                    Dim::Entries(array, _) => match lowering.bound.array(*array) {
                        BoundArray::Sparse { indices, .. } => {
                            positions.map(|position| indices[column][position]).collect()
                        }
                        BoundArray::Dense { .. } => {
                            let shape = lowering.bound.shape(&lowering.symbols, *array);
                            let stride: usize = shape[column + 1..].iter().product::<usize>().max(1);
                            positions
                                .map(|position| ((position / stride) % shape[column].max(1)) as u32)
                                .collect()
                        }
                    },
                };
                for step in &lineage[..depth] {
                    let axis = lowering.symbols.letter(*step).axis;
                    if let Some(parent) = &lowering.bound.axes[axis.index()].parent {
                        values.iter_mut().for_each(|value| *value = parent[*value as usize] as u32);
                    }
                }
                return Some(values);
            }
        }
        None
    }

    /// The value of a subscript at every entry.
    pub(super) fn values(&self, lowering: &Lowering, subscript: &Subscript) -> Result<Vec<u32>, Unplanned> {
        match subscript {
            Subscript::Letter(letter) => self.letter(lowering, *letter).ok_or_else(|| {
                Unplanned(format!(
                    "the letter `{}` has no value at an entry",
                    lowering.symbols.letter(*letter).name
                ))
            }),
            Subscript::Index(array, inner) => {
                if let [Dim::Entries(own, letters)] = self.domain.as_slice()
                    && own == array
                    && letters.iter().map(|own| Subscript::Letter(*own)).eq(inner.iter().cloned())
                {
                    let (BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. }) =
                        lowering.bound.array(*array);
                    return Ok(values.iter().map(|value| *value as u32).collect());
                }
                let columns: Vec<Vec<u32>> =
                    inner.iter().map(|own| self.values(lowering, own)).collect::<Result<_, _>>()?;
                let shape = lowering.bound.shape(&lowering.symbols, *array);
                let bound = lowering.bound.array(*array);
                let mut place = vec![0; inner.len()];
                // 0 where none is listed, which a mask leaves out.
                let at = |entry: usize| {
                    place.iter_mut().zip(&columns).for_each(|(own, column)| *own = column[entry] as usize);
                    bound.entry(&shape, &place).0 as u32
                };
                Ok((0..self.entries).map(at).collect())
            }
        }
    }
}
