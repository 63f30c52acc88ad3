//! Contractions with their steps worked out, ready for the kernel.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use cavi_numerics::Threads;
use cavi_numerics::kernels::contract::{Operand, Output, Step, contract};

use crate::plan::tensor::{Contraction, Index, MapId, Maps, Node, NodeId};

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
    sizes: Vec<usize>,
    operands: Vec<(NodeId, Vec<Reach>)>,
    /// For each operand, and for the output behind them, its first dimension and how a row of it is reached: empty for a
    /// number.
    rows: Vec<Option<(Index, Vec<Reach>)>>,
    output: Vec<Index>,
    shape: Vec<usize>,
    reach: Vec<Reach>,
}

impl Prepared {
    /// Works out the steps.
    pub fn new(contraction: &Contraction, nodes: &[Node], shape: &[usize], maps: &Maps) -> Prepared {
        let sizes = contraction.sizes.clone();
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
        Prepared {
            coefficient: contraction.coefficient,
            sizes,
            operands,
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
    fn is_multiple(&self) -> bool {
        let [(_, reach)] = self.operands.as_slice() else { return false };
        let plain = |reach: &[Reach]| -> Option<Vec<usize>> {
            reach
                .iter()
                .map(|reach| match reach {
                    Reach::Stride(stride) => Some(*stride),
                    Reach::Table(..) | Reach::Joined(_) => None,
                })
                .collect()
        };
        let (from, to) = (plain(reach), plain(&self.reach));
        from.is_some() && from == to && self.sizes == self.shape
    }

    /// Adds the contraction to `out`.
    pub fn run(&self, values: &[Cow<[f64]>], maps: &Maps, out: &mut [f64], threads: &Threads) {
        if self.is_multiple() {
            const CHUNK: usize = 1 << 14;
            let from = &values[self.operands[0].0.index()];
            threads.for_each_chunk(out, CHUNK, |index, out| self.add_multiple(&from[index * CHUNK..], out));
            return;
        }
        let operands: Vec<Operand> = self
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
        !self.output.is_empty() && self.can_fix(&[(0, 0)]) && !(0..self.sizes.len()).any(summed)
    }

    /// Adds the part of the contraction in which the first dimension of the output has values of this range. `out` begins
    /// there.
    pub fn run_rows(&self, values: &[Cow<[f64]>], maps: &Maps, range: Range<usize>, out: &mut [f64]) {
        if self.is_multiple() {
            let each = out.len() / range.len().max(1);
            let from = &values[self.operands[0].0.index()];
            return self.add_multiple(&from[range.start * each..], out);
        }
        let letter = self.output[0].letter;
        let mut sizes = self.sizes.clone();
        sizes[letter] = range.len();
        let operands: Vec<Operand> = self
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
        contract(&sizes, self.coefficient, &operands, output, &Threads::one());
    }

    /// Adds the contraction to `out` product by product; one with a factor that is exactly 0 is 0, whatever the others are.
    pub fn run_guarded(&self, values: &[Cow<[f64]>], maps: &Maps, out: &mut [f64]) {
        let operands: Vec<Operand> = self
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
        let parts: Vec<(usize, Range<usize>)> = match along.map {
            None if together => vec![(range.start, range.clone())],
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
            let mut operands = Vec::with_capacity(self.operands.len());
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

    /// Whether dimensions of the output can be held at one value: each is a letter of its own.
    pub fn can_fix(&self, dims: &[(usize, usize)]) -> bool {
        dims.iter().all(|(place, _)| {
            let index = self.output[*place];
            let alone = self.output.iter().filter(|other| other.letter == index.letter).count() == 1;
            index.map.is_none() && alone
        })
    }

    /// Adds the part of the contraction in which dimensions of the output have the given values; `out` has length 1 along
    /// them.
    pub fn run_fixed(
        &self,
        values: &[Cow<[f64]>],
        maps: &Maps,
        dims: &[(usize, usize)],
        out: &mut [f64],
        threads: &Threads,
    ) {
        let fixed: Vec<(usize, usize)> =
            dims.iter().map(|(place, value)| (self.output[*place].letter, *value)).collect();
        let mut sizes = self.sizes.clone();
        fixed.iter().for_each(|(letter, _)| sizes[*letter] = 1);
        if sizes.contains(&0) {
            return;
        }
        let mut shape = self.shape.clone();
        dims.iter().for_each(|(place, _)| shape[*place] = 1);
        let operands: Vec<Operand> = self
            .operands
            .iter()
            .map(|(node, reach)| {
                let mut steps = steps(reach, maps);
                let mut offset = 0;
                for (letter, value) in &fixed {
                    offset += match steps[*letter] {
                        Step::Stride(stride) => stride * value,
                        Step::Table { table, scale } => table[*value] as usize * scale,
                    };
                    steps[*letter] = Step::Stride(0);
                }
                Operand { values: &values[node.index()][offset..], steps }
            })
            .collect();
        let reach = reaches(&self.output, &shape, &self.sizes, maps);
        let mut own = steps(&reach, maps);
        fixed.iter().for_each(|(letter, _)| own[*letter] = Step::Stride(0));
        contract(&sizes, self.coefficient, &operands, Output { values: out, steps: own }, threads);
    }
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
    let mut at = vec![0; sizes.len()];
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

/// What each letter adds to the offset of an array in C order.
fn reaches(dims: &[Index], shape: &[usize], sizes: &[usize], maps: &Maps) -> Vec<Reach> {
    let mut strides = vec![1; shape.len()];
    for place in (0..shape.len().saturating_sub(1)).rev() {
        strides[place] = strides[place + 1] * shape[place + 1];
    }
    (0..sizes.len())
        .map(|letter| {
            let own: Vec<(Option<MapId>, usize)> = dims
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

fn steps<'a>(reach: &'a [Reach], maps: &'a Maps) -> Vec<Step<'a>> {
    reach
        .iter()
        .map(|reach| match reach {
            Reach::Stride(stride) => Step::Stride(*stride),
            Reach::Table(map, scale) => Step::Table { table: maps.table(*map), scale: *scale },
            Reach::Joined(table) => Step::Table { table, scale: 1 },
        })
        .collect()
}
