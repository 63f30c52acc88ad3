//! Contractions run in a part of their output, or where a part of what they read has changed.
//!
//! In come regions: boxes in the arrays that a contraction reads and writes. They bound the values of its letters, and the kernel
//! runs over these alone. What it costs to do so is counted in the same way, so that the run can choose the cheaper of two ways.

use cavi_numerics::Threads;
use cavi_numerics::kernels::contract::{Letters, Operand, Operands, Output, Step, contract};
use smallvec::SmallVec;

use super::region::{Inverses, Region, Values};
use crate::plan::prepared::{Prepared, Reach, reaches, steps, strides};
use crate::plan::tensor::{Index, Maps};

/// The values of some letters, ascending, by letter.
pub type Bounded = SmallVec<[(usize, Values); 4]>;

/// An operand as it is read: its values, or those of a region alone.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'r> {
    pub values: &'r [f64],
    pub region: Option<&'r Region>,
}

impl Prepared {
    /// Adds the part of the contraction in which the output lies in a region, to an array of the region alone. Operands may
    /// stand there with the part that is read alone.
    pub fn run_region(
        &self,
        seen: &[Seen],
        (maps, inverses): (&Maps, &mut Inverses),
        region: &Region,
        out: &mut [f64],
        threads: &Threads,
    ) {
        let bounded = self.bounded(&[(&self.output, region)], maps, inverses);
        self.run_bounded((1.0, seen), maps, &bounded, Some(region), out, threads);
    }

    /// For each operand, the part of it that is read where the output lies in a region, or more.
    pub fn needed(&self, region: &Region, maps: &Maps, inverses: &mut Inverses) -> Operands<Region> {
        let bounded = self.bounded(&[(&self.output, region)], maps, inverses);
        let values = |index: &Index| match index.map {
            None => values_of(&bounded, index.letter).cloned(),
            Some(_) => None,
        };
        self.arrays.iter().map(|(dims, _)| Region(dims.iter().map(values).collect())).collect()
    }

    /// What it takes to run it where the output lies in a region, in products.
    pub fn cost_in(&self, region: &Region, maps: &Maps, inverses: &mut Inverses) -> usize {
        self.cost(&self.bounded(&[(&self.output, region)], maps, inverses))
    }

    /// What it takes to run it where these operands lie in regions, in products; `None` if the tables that say where that is
    /// are not kept.
    pub fn cost_at(
        &self,
        at: &[(usize, &Region)],
        maps: &Maps,
        inverses: &mut Inverses,
    ) -> Option<(usize, Bounded)> {
        for (operand, _) in at {
            let mut tables =
                self.arrays[*operand].0.iter().filter_map(|index| Some((index.letter, index.map?)));
            if tables.any(|(letter, map)| maps.table(map).len() < self.sizes[letter]) {
                return None;
            }
        }
        let regions: Operands<(&[Index], &Region)> =
            at.iter().map(|(operand, region)| (self.arrays[*operand].0.as_slice(), *region)).collect();
        let bounded = self.bounded(&regions, maps, inverses);
        Some((self.cost(&bounded), bounded))
    }

    fn cost(&self, bounded: &Bounded) -> usize {
        let size =
            |(letter, size): (usize, &usize)| values_of(bounded, letter).map_or(*size, |own| own.len());
        self.sizes.iter().enumerate().map(size).product()
    }

    /// The values of the letters that regions bound, ascending.
    fn bounded(&self, regions: &[(&[Index], &Region)], maps: &Maps, inverses: &mut Inverses) -> Bounded {
        let mut bounded = Bounded::new();
        for (dims, region) in regions {
            for (index, own) in dims.iter().zip(&region.0) {
                let Some(own) = own else { continue };
                let mut letters = inverses.letters(*index, own, maps);
                letters.retain(|value| (*value as usize) < self.sizes[index.letter]);
                match bounded.iter_mut().find(|(letter, _)| *letter == index.letter) {
                    Some((_, known)) => known.retain(|value| letters.binary_search(value).is_ok()),
                    None => bounded.push((index.letter, letters)),
                }
            }
        }
        bounded.sort_unstable_by_key(|(letter, _)| *letter);
        bounded
    }

    /// Adds `share` times the part in which some letters have some of their values. Operands, and the output with `region`, may
    /// stand there with a region alone.
    pub fn run_bounded(
        &self,
        (share, seen): (f64, &[Seen]),
        maps: &Maps,
        bounded: &Bounded,
        region: Option<&Region>,
        out: &mut [f64],
        threads: &Threads,
    ) {
        let mut sizes = self.sizes.clone();
        bounded.iter().for_each(|(letter, values)| sizes[*letter] = values.len());
        if sizes.contains(&0) {
            return;
        }
        let reached = |reach: &[Reach], array: (&[Index], &[usize]), region: Option<&Region>| {
            let Some(region) = region else {
                let added = bounded.iter().map(|(letter, values)| {
                    let taken = match &reach[*letter] {
                        Reach::Stride(stride) => Taken::new(values, *stride, |value| value as usize),
                        Reach::Table(map, scale) => {
                            let table = maps.table(*map);
                            Taken::new(values, *scale, |value| table[value as usize] as usize)
                        }
                        Reach::Joined(table) => Taken::new(values, 1, |value| table[value as usize] as usize),
                    };
                    (*letter, taken)
                });
                return (None, added.collect::<Letters<_>>());
            };
            let (dims, shape) = array;
            let shape = region.shape(shape);
            let strides = strides(&shape);
            let place = |letter: usize, value: u32| -> usize {
                let each = dims.iter().zip(&region.0).zip(&strides).map(|((index, own), stride)| {
                    if index.letter != letter {
                        return 0;
                    }
                    let value = index.map.map_or(value, |map| maps.table(map)[value as usize]);
                    let place = match own {
                        Some(own) => own.binary_search(&value).expect("a value of the region"),
                        None => value as usize,
                    };
                    place * stride
                });
                each.sum()
            };
            // Where the region has the values of a letter, the letter counts them.
            let counted = |letter: usize, values: &[u32]| -> Option<Taken> {
                let mut own = (0..dims.len()).filter(|dim| dims[*dim].letter == letter);
                let Some(dim) = own.next() else { return Some(Taken::Run(0, 0)) };
                let alone = own.next().is_none() && dims[dim].map.is_none();
                (alone && region.0[dim].as_deref() == Some(values)).then_some(Taken::Run(0, strides[dim]))
            };
            let added = bounded.iter().map(|(letter, values)| {
                let counted = counted(*letter, values);
                (*letter, counted.unwrap_or_else(|| Taken::new(values, 1, |value| place(*letter, value))))
            });
            (Some(reaches(dims, &shape, &self.sizes, maps)), added.collect())
        };
        let own: Letters<_> = (self.operands.iter().zip(&self.arrays).zip(seen))
            .map(|(((_, reach), (dims, shape)), seen)| reached(reach, (dims, shape), seen.region))
            .chain([reached(&self.reach, (&self.output, &self.shape), region)])
            .collect();
        let wholes = self.operands.iter().map(|(_, reach)| reach).chain([&self.reach]);
        let mut placed = own
            .iter()
            .zip(wholes)
            .map(|((alone, added), whole)| taken(alone.as_ref().unwrap_or(whole), added, maps));
        let operands: Operands<Operand> = seen
            .iter()
            .zip(&mut placed)
            .map(|(seen, (offset, steps))| Operand { values: &seen.values[offset..], steps })
            .collect();
        let (offset, steps) = placed.next().expect("the output stands behind the operands");
        let output = Output { values: &mut out[offset..], steps };
        contract(&sizes, share * self.coefficient, &operands, output, threads);
    }
}

/// The values of a letter, where it is bounded.
fn values_of(bounded: &Bounded, letter: usize) -> Option<&Values> {
    bounded.iter().find(|(own, _)| *own == letter).map(|(_, values)| values)
}

/// What some values of a letter add to an offset: that of the first, and each beyond it.
#[derive(Debug)]
enum Taken {
    /// A stride.
    Run(usize, usize),
    /// Table and scale.
    Each(Values, usize),
}

impl Taken {
    fn new(values: &[u32], scale: usize, place: impl Fn(u32) -> usize) -> Taken {
        let first = place(values[0]);
        let each = values.get(1).map_or(0, |second| place(*second).wrapping_sub(first));
        if scale == 0 {
            return Taken::Run(0, 0);
        }
        let even =
            |(number, value): (usize, &u32)| place(*value) == first.wrapping_add(number.wrapping_mul(each));
        if each <= usize::MAX / 2 && values.iter().enumerate().all(even) {
            return Taken::Run(first * scale, each * scale);
        }
        let narrow = |value: &u32| u32::try_from(place(*value)).expect("a part of fewer than 2^32 values");
        Taken::Each(values.iter().map(narrow).collect(), scale)
    }
}

/// Where an array begins and its steps, some letters taken at some of their values.
fn taken<'a>(
    reach: &'a [Reach],
    letters: &'a [(usize, Taken)],
    maps: &'a Maps,
) -> (usize, Letters<Step<'a>>) {
    let mut steps = steps(reach, maps);
    let mut offset = 0;
    for (letter, taken) in letters {
        let (first, step) = match taken {
            Taken::Run(first, stride) => (*first, Step::Stride(*stride)),
            Taken::Each(table, scale) => (0, Step::Table { table, scale: *scale }),
        };
        offset += first;
        steps[*letter] = step;
    }
    (offset, steps)
}

#[cfg(test)]
mod tests {
    use crate::run::Array;

    use super::super::region::gathered;
    use super::*;
    use crate::plan::tensor::{Access, Along, Contraction, Loop, Node, NodeId, Operation};

    /// A region of the output has the values that the whole has there: letters at every other value, at one, through a table,
    /// on a diagonal.
    #[test]
    fn a_region_is_a_part_of_the_whole() {
        let mut maps = Maps::default();
        let group = maps.named("group", (Along::Plain, Loop::plain(3)), || vec![2, 0, 0, 1, 2].into());
        let through = |letter| Index { letter, map: Some(group) };
        let plain = Index::letter;
        let shapes = [vec![5, 4], vec![3, 4], vec![5, 5]];
        // Letters: t of 5 in groups, k of 4, s of 5.
        let cases: [(Vec<Access>, Vec<Index>, Vec<usize>); 4] = [
            (vec![access(0, &[plain(0), plain(1)])], vec![through(0), plain(1)], vec![3, 4]),
            (
                vec![access(0, &[plain(0), plain(1)]), access(1, &[through(2), plain(1)])],
                vec![plain(2), plain(0)],
                vec![5, 5],
            ),
            (
                vec![access(2, &[plain(0), plain(2)]), access(1, &[through(0), plain(1)])],
                vec![plain(1), through(0), plain(2)],
                vec![4, 3, 5],
            ),
            (
                vec![access(2, &[plain(0), plain(2)]), access(0, &[plain(2), plain(1)])],
                vec![plain(0), plain(1), plain(0)],
                vec![5, 4, 5],
            ),
        ];
        let nodes: Vec<Node> = shapes
            .iter()
            .map(|shape| {
                let loops: Vec<Loop> = shape.iter().copied().map(Loop::plain).collect();
                Node::new(Operation::Static(String::new()), &loops)
            })
            .collect();
        let values: Vec<Array> = nodes
            .iter()
            .map(|node| (0..node.len()).map(|place| ((place * 7 + 3) % 11) as f64 - 4.5).collect())
            .collect();
        let threads = Threads::one();
        for (operands, output, shape) in cases {
            let letters = [5, 4, 5].map(Loop::plain).to_vec();
            let contraction = Contraction { coefficient: 0.5, letters, operands, output };
            let prepared = Prepared::new(&contraction, &nodes, &shape, &maps);
            let mut whole = vec![0.0; shape.iter().product()];
            prepared.run(&values, &maps, &mut whole, &threads);
            assert!(whole.iter().any(|value| *value != 0.0));
            for which in 0..3_usize.pow(shape.len() as u32) {
                let bounds =
                    shape.iter().enumerate().map(|(dim, size)| match which / 3_usize.pow(dim as u32) % 3 {
                        0 => None,
                        1 => Some((0..*size as u32).step_by(2).collect()),
                        _ => Some(Values::from_elem(1, 1)),
                    });
                let region = Region(bounds.collect());
                let mut part = vec![0.0; region.shape(&shape).iter().product()];
                let tables = (&maps, &mut Inverses::default());
                let read = |node: NodeId| Seen { values: &values[node.index()], region: None };
                let seen: Vec<Seen> = prepared.reads().map(read).collect();
                prepared.run_region(&seen, tables, &region, &mut part, &threads);
                let wanted = gathered(&region.runs(&shape), &whole);
                for (own, wanted) in part.iter().zip(&*wanted) {
                    assert!((own - wanted).abs() < 1e-12, "{region:?}: {part:?}, wanted {wanted:?}");
                }
            }
        }
    }

    fn access(node: u32, dims: &[Index]) -> Access {
        Access { node: NodeId(node), dims: dims.to_vec() }
    }
}
