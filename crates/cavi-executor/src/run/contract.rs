//! Contractions run by their kernel: whole, for some rows of the output, or for some rows of what they read.
//!
//! In come values and a contraction that the plan has [`Prepared`]; the sums are added to the output. A product with an infinite
//! factor and one that is exactly 0 is 0 in the guarded ways, which are taken where the plain ones gave no number.

use std::collections::BTreeMap;
use std::ops::Range;

use cavi_numerics::Threads;
use cavi_numerics::kernels::contract::{Letters, Operand, Operands, Output, Step, contract};
use smallvec::SmallVec;

use super::buffers::Array;
use crate::plan::prepared::{Prepared, Reach, steps};
use crate::plan::tensor::{Index, Maps, NodeId};

/// How some rows of a contraction are added.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// Whether the output has these rows alone.
    pub out_in_rows: bool,
    /// Whether a product with a factor that is exactly 0 is 0, whatever the others are.
    pub guarded: bool,
}

impl Prepared {
    /// Adds the contraction to `out`.
    pub fn run(&self, values: &[Array], maps: &Maps, out: &mut [f64], threads: &Threads) {
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

    /// Adds the part of the contraction in which the first dimension of the output has values of this range. `out` begins
    /// there.
    pub fn run_rows(
        &self,
        values: &[Array],
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
    pub fn run_guarded(&self, values: &[Array], maps: &Maps, out: &mut [f64]) {
        let operands: Operands<Operand> = self
            .operands
            .iter()
            .map(|(node, reach)| Operand { values: &values[node.index()], steps: steps(reach, maps) })
            .collect();
        let output = Output { values: out, steps: steps(&self.reach, maps) };
        contract_guarded(&self.sizes, self.coefficient, &operands, output);
    }

    /// Adds the part of the contraction in which a dimension has the values of a range: those of a letter, or the entries that a
    /// sorted table puts there. Operands in `rows` stand there with those rows alone; so does the output of a way that says so.
    #[expect(clippy::too_many_arguments, reason = "one call of a kernel with all that it reads")]
    pub fn run_some(
        &self,
        (along, range): (Index, Range<usize>),
        values: &[Array],
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
