//! Contractions with their steps worked out, ready for the kernel.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use cavi_numerics::Threads;
use cavi_numerics::kernels::contract::{Letters, Operand, Operands, Output, Step, Work, contract, work};
use smallvec::SmallVec;

use super::region::{Inverses, Region, Values};
use crate::plan::tensor::{Access, Contraction, Index, MapId, Maps, Node, NodeId};

/// What a letter adds to an offset.
#[derive(Clone, Debug)]
enum Reach {
    /// A multiple of its value.
    Stride(usize),
    /// A table's entry, times a number.
    Table(MapId, usize),
    /// Several of these together.
    Joined(Vec<u32>),
}

/// A contraction ready to run.
#[derive(Clone, Debug)]
pub struct Prepared {
    coefficient: f64,
    sizes: Letters<usize>,
    operands: Vec<(NodeId, Letters<Reach>)>,
    /// For each operand, its dimensions and their sizes.
    arrays: Vec<(Vec<Index>, Vec<usize>)>,
    /// For each operand, and for the output behind them, its first dimension and how a row of it is reached: empty for a
    /// number.
    rows: Vec<Option<(Index, Letters<Reach>)>>,
    output: Vec<Index>,
    shape: Vec<usize>,
    reach: Letters<Reach>,
}

impl Prepared {
    /// Works out the steps.
    pub fn new(contraction: &Contraction, nodes: &[Node], shape: &[usize], maps: &Maps) -> Prepared {
        let sizes: Letters<usize> = contraction.sizes().collect();
        let operands = contraction
            .operands
            .iter()
            .map(|operand| {
                (operand.node, reaches(&operand.dims, &nodes[operand.node.index()].shape, &sizes, maps))
            })
            .collect();
        let reach = reaches(&contraction.output, shape, &sizes, maps);
        let in_rows = |dims: &[Index], shape: &[usize]| {
            let (first, others) = dims.split_first()?;
            Some((*first, reaches(others, &shape[1..], &sizes, maps)))
        };
        let rows = contraction
            .operands
            .iter()
            .map(|operand| in_rows(&operand.dims, &nodes[operand.node.index()].shape))
            .chain([in_rows(&contraction.output, shape)])
            .collect();
        let array = |operand: &Access| (operand.dims.clone(), nodes[operand.node.index()].shape.clone());
        Prepared {
            coefficient: contraction.coefficient,
            sizes,
            operands,
            arrays: contraction.operands.iter().map(array).collect(),
            rows,
            output: contraction.output.clone(),
            shape: shape.to_vec(),
            reach,
        }
    }

    /// The tables it reads.
    pub fn maps(&self) -> Vec<MapId> {
        let rows = self.rows.iter().flatten();
        let within = rows.clone().flat_map(|(_, reach)| reach);
        let own = self.operands.iter().flat_map(|(_, reach)| reach).chain(&self.reach).chain(within);
        let tables = own.filter_map(|reach| match reach {
            Reach::Table(map, _) => Some(*map),
            Reach::Stride(_) | Reach::Joined(_) => None,
        });
        // Along fixed letters the output is worked out anew.
        let along = rows.filter_map(|(index, _)| index.map);
        tables.chain(along).chain(self.output.iter().filter_map(|index| index.map)).collect()
    }

    /// Whether it adds a multiple of an array to one of the same shape, element by element.
    pub fn is_multiple(&self) -> bool {
        let [(_, reach)] = self.operands.as_slice() else { return false };
        let plain = |reach: &[Reach]| -> Option<Letters<usize>> {
            reach
                .iter()
                .map(|reach| match reach {
                    Reach::Stride(stride) => Some(*stride),
                    Reach::Table(..) | Reach::Joined(_) => None,
                })
                .collect()
        };
        let (from, to) = (plain(reach), plain(&self.reach));
        from.is_some() && from == to && self.sizes.as_slice() == self.shape
    }

    /// What it would do.
    pub fn work(&self, maps: &Maps) -> Work {
        let operands: Vec<(usize, Letters<Step>)> =
            self.operands.iter().map(|(node, reach)| (node.index(), steps(reach, maps))).collect();
        work(&self.sizes, &operands, steps(&self.reach, maps))
    }

    /// Adds the contraction to `out`.
    pub fn run(&self, values: &[Cow<[f64]>], maps: &Maps, out: &mut [f64], threads: &Threads) {
        if self.is_multiple() {
            const CHUNK: usize = 1 << 14;
            let from = &values[self.operands[0].0.index()];
            threads.for_each_chunk(out, CHUNK, |index, out| self.add_multiple(&from[index * CHUNK..], out));
            return;
        }
        let operands: Operands<Operand> = self
            .operands
            .iter()
            .map(|(node, reach)| Operand { values: &values[node.index()], steps: steps(reach, maps) })
            .collect();
        let output = Output { values: out, steps: steps(&self.reach, maps) };
        contract(&self.sizes, self.coefficient, &operands, output, threads);
    }

    fn add_multiple(&self, from: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(from).for_each(|(out, value)| *out += self.coefficient * value);
    }

    /// Whether each value of the first dimension of the output can be computed by itself, at no more than its share of the
    /// cost: nothing is summed.
    pub fn is_by_rows(&self) -> bool {
        let summed = |letter: usize| self.output.iter().all(|index| index.letter != letter);
        let Some((first, others)) = self.output.split_first() else { return false };
        let alone = first.map.is_none() && others.iter().all(|other| other.letter != first.letter);
        alone && !(0..self.sizes.len()).any(summed)
    }

    /// Adds the part of the contraction in which the first dimension of the output has values of this range. `out` begins
    /// there.
    pub fn run_rows(
        &self,
        values: &[Cow<[f64]>],
        maps: &Maps,
        range: Range<usize>,
        out: &mut [f64],
        guarded: bool,
    ) {
        if self.is_multiple() && !guarded {
            let each = out.len() / range.len().max(1);
            let from = &values[self.operands[0].0.index()];
            return self.add_multiple(&from[range.start * each..], out);
        }
        let letter = self.output[0].letter;
        let mut sizes = self.sizes.clone();
        sizes[letter] = range.len();
        let operands: Operands<Operand> = self
            .operands
            .iter()
            .map(|(node, reach)| {
                let mut steps = steps(reach, maps);
                let offset = match steps[letter] {
                    Step::Stride(stride) => stride * range.start,
                    Step::Table { table, scale } => {
                        steps[letter] = Step::Table { table: &table[range.start..], scale };
                        0
                    }
                };
                Operand { values: &values[node.index()][offset..], steps }
            })
            .collect();
        let output = Output { values: out, steps: steps(&self.reach, maps) };
        match guarded {
            false => contract(&sizes, self.coefficient, &operands, output, &Threads::one()),
            true => contract_guarded(&sizes, self.coefficient, &operands, output),
        }
    }

    /// Adds the contraction to `out` product by product; one with a factor that is exactly 0 is 0, whatever the others are.
    pub fn run_guarded(&self, values: &[Cow<[f64]>], maps: &Maps, out: &mut [f64]) {
        let operands: Operands<Operand> = self
            .operands
            .iter()
            .map(|(node, reach)| Operand { values: &values[node.index()], steps: steps(reach, maps) })
            .collect();
        let output = Output { values: out, steps: steps(&self.reach, maps) };
        contract_guarded(&self.sizes, self.coefficient, &operands, output);
    }

    /// Whether it reads a node that is worked out a few rows at a time.
    pub fn streams(&self, streamed: &[bool]) -> bool {
        self.operands.iter().any(|(node, _)| streamed[node.index()])
    }

    /// The nodes it reads.
    pub fn reads(&self) -> impl Iterator<Item = NodeId> {
        self.operands.iter().map(|(node, _)| *node)
    }

    /// The first dimension of the output.
    pub fn output_rows(&self) -> Index {
        self.output[0]
    }

    /// The dimension along which a streamed operand is read in rows, and the number of rows.
    pub fn rows(&self, streamed: &[bool], maps: &Maps) -> Option<(Index, usize)> {
        let place = self.operands.iter().position(|(node, _)| streamed[node.index()])?;
        let (index, _) = self.rows[place].as_ref()?;
        Some((*index, index.map.map_or(self.sizes[index.letter], |map| maps.range(map))))
    }

    /// Adds the part of the contraction in which a dimension has the values of a range: those of a letter, or the entries that a
    /// sorted table puts there. Operands in `rows` stand there with those rows alone; so does the output of a way that says so.
    #[expect(clippy::too_many_arguments, reason = "one call of a kernel with all that it reads")]
    pub fn run_some(
        &self,
        (along, range): (Index, Range<usize>),
        values: &[Cow<[f64]>],
        rows: &BTreeMap<NodeId, Vec<f64>>,
        maps: &Maps,
        out: &mut [f64],
        way: Way,
        threads: &Threads,
    ) {
        // Rows run together where the letter counts them, and is looked up nowhere else in what is held in rows.
        let counted = |place: usize| match &self.rows[place] {
            Some((_, within)) => matches!(within[along.letter], Reach::Stride(_)),
            None => false,
        };
        let mut held = (0..self.operands.len()).filter(|place| rows.contains_key(&self.operands[*place].0));
        let together =
            along.map.is_none() && held.all(counted) && (!way.out_in_rows || counted(self.operands.len()));
        let parts: SmallVec<[(usize, Range<usize>); 8]> = match along.map {
            None if together => SmallVec::from_iter([(range.start, range.clone())]),
            None => range.clone().map(|row| (row, row..row + 1)).collect(),
            Some(map) => {
                let bound = |value: usize| maps.table(map).partition_point(|own| (*own as usize) < value);
                range.clone().map(|row| (row, bound(row)..bound(row + 1))).collect()
            }
        };
        for (row, letters) in parts {
            let mut sizes = self.sizes.clone();
            sizes[along.letter] = letters.len();
            if sizes.contains(&0) {
                continue;
            }
            // The steps of an operand (or, behind them, of the output), and where its values begin; `each` is the length of a
            // row of what is held in rows.
            let reached = |place: usize, each: Option<usize>| {
                let whole = self.operands.get(place).map_or(&self.reach, |(_, reach)| reach);
                let (mut steps, first) = match (&self.rows[place], each) {
                    (Some((_, within)), Some(each)) => (steps(within, maps), (row - range.start) * each),
                    _ => (steps(whole, maps), 0),
                };
                let own = &mut steps[along.letter];
                let (offset, step) = match *own {
                    Step::Stride(stride) => {
                        let rows = if together { each.unwrap_or(0) } else { 0 };
                        (stride * letters.start, Step::Stride(stride + rows))
                    }
                    Step::Table { table, scale } if letters.len() == 1 => {
                        (table[letters.start] as usize * scale, Step::Stride(0))
                    }
                    Step::Table { table, scale } => {
                        (0, Step::Table { table: &table[letters.clone()], scale })
                    }
                };
                *own = step;
                (first + offset, steps)
            };
            let mut operands = Operands::new();
            for (place, (node, _)) in self.operands.iter().enumerate() {
                let held = rows.get(node);
                let (start, steps) = reached(place, held.map(|held| held.len() / range.len()));
                let values: &[f64] = held.map_or(&values[node.index()], Vec::as_slice);
                operands.push(Operand { values: &values[start..], steps });
            }
            let each = way.out_in_rows.then_some(out.len() / range.len());
            let (start, steps) = reached(self.operands.len(), each);
            let output = Output { values: &mut out[start..], steps };
            if way.guarded {
                contract_guarded(&sizes, self.coefficient, &operands, output);
            } else {
                contract(&sizes, self.coefficient, &operands, output, threads);
            }
        }
    }

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

/// The values of some letters, ascending, by letter.
pub type Bounded = SmallVec<[(usize, Values); 4]>;

/// The values of a letter, where it is bounded.
fn values_of(bounded: &Bounded, letter: usize) -> Option<&Values> {
    bounded.iter().find(|(own, _)| *own == letter).map(|(_, values)| values)
}

/// An operand as it is read: its values, or those of a region alone.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'r> {
    pub values: &'r [f64],
    pub region: Option<&'r Region>,
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

/// How some rows of a contraction are added.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// Whether the output has these rows alone.
    pub out_in_rows: bool,
    /// Whether a product with a factor that is exactly 0 is 0, whatever the others are.
    pub guarded: bool,
}

/// As [`contract`], product by product; one with a factor that is exactly 0 is 0, whatever the others are.
fn contract_guarded(sizes: &[usize], coefficient: f64, operands: &[Operand], output: Output) {
    let offset = |steps: &[Step], at: &[usize]| -> usize {
        let each = steps.iter().zip(at).map(|(step, value)| match step {
            Step::Stride(stride) => stride * value,
            Step::Table { table, scale } => table[*value] as usize * scale,
        });
        each.sum()
    };
    if sizes.contains(&0) {
        return;
    }
    let mut at = Letters::from_elem(0, sizes.len());
    loop {
        let factors = || operands.iter().map(|operand| operand.values[offset(&operand.steps, &at)]);
        if factors().all(|factor| factor != 0.0) {
            output.values[offset(&output.steps, &at)] += coefficient * factors().product::<f64>();
        }
        let Some(next) = (0..at.len()).rev().find(|letter| at[*letter] + 1 < sizes[*letter]) else {
            return;
        };
        at[next] += 1;
        at[next + 1..].fill(0);
    }
}

/// The strides of an array in C order.
fn strides(shape: &[usize]) -> Letters<usize> {
    let mut strides = Letters::from_elem(1, shape.len());
    for place in (0..shape.len().saturating_sub(1)).rev() {
        strides[place] = strides[place + 1] * shape[place + 1];
    }
    strides
}

/// What each letter adds to the offset of an array in C order.
fn reaches(dims: &[Index], shape: &[usize], sizes: &[usize], maps: &Maps) -> Letters<Reach> {
    let strides = strides(shape);
    (0..sizes.len())
        .map(|letter| {
            let own: Letters<(Option<MapId>, usize)> = dims
                .iter()
                .zip(&strides)
                .filter(|(index, _)| index.letter == letter)
                .map(|(index, stride)| (index.map, *stride))
                .collect();
            match own.as_slice() {
                [(Some(map), stride)] => Reach::Table(*map, *stride),
                plain if plain.iter().all(|(map, _)| map.is_none()) => {
                    Reach::Stride(plain.iter().map(|(_, stride)| stride).sum())
                }
                // Too large to be kept: it is read in rows.
                _ if shape.iter().product::<usize>() > u32::MAX as usize => Reach::Joined(Vec::new()),
                several => Reach::Joined(
                    (0..sizes[letter])
                        .map(|value| {
                            let offset: usize = several
                                .iter()
                                .map(|(map, stride)| {
                                    map.map_or(value, |map| maps.table(map)[value] as usize) * stride
                                })
                                .sum();
                            u32::try_from(offset)
                                .expect("an array reached through several tables has fewer than 2^32 values")
                        })
                        .collect(),
                ),
            }
        })
        .collect()
}

fn steps<'a>(reach: &'a [Reach], maps: &'a Maps) -> Letters<Step<'a>> {
    reach
        .iter()
        .map(|reach| match reach {
            Reach::Stride(stride) => Step::Stride(*stride),
            Reach::Table(map, scale) => Step::Table { table: maps.table(*map), scale: *scale },
            Reach::Joined(table) => Step::Table { table, scale: 1 },
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::region::gathered;
    use super::*;
    use crate::plan::tensor::{Along, Loop, Operation};

    /// A region of the output has the values that the whole has there: letters at every other value, at one, through a table,
    /// on a diagonal.
    #[test]
    fn a_region_is_a_part_of_the_whole() {
        let mut maps = Maps::default();
        let group = maps.named("group", (Along::Plain, Loop::plain(3)), || vec![2, 0, 0, 1, 2]);
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
        let values: Vec<Cow<[f64]>> = nodes
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
