//! Which chunks of a contraction run in parallel.
//!
//! Best is a letter whose chunks write to disjoint parts of the output. Otherwise each chunk of the largest letter has an
//! output of its own, and these are added in order, if they take little memory. Chunks follow from sizes and steps
//! alone, so the bits do not depend on the threads.

use std::ops::Range;

use smallvec::SmallVec;

use super::problem::Problem;
use super::{Letters, Step, nest, product};
use crate::{InstructionSet, Scratch, Threads, facts};

/// Products that are worth a task.
const TASK: usize = 1 << 16;
/// The most chunks with disjoint outputs.
const MOST_DISJOINT: usize = 16;
/// The most chunks with an output of their own.
const MOST_PRIVATE: usize = 8;
/// Outputs of chunks may take this many values whatever the output's size, and this many times its size.
const FREE_VALUES: usize = 1 << 16;
const TIMES_OUTPUT: usize = 4;

/// The chunks of a letter.
type Ranges = SmallVec<[Range<usize>; MOST_DISJOINT]>;

/// Runs the contraction.
///
/// # Safety
/// The offsets of the problem lie inside its arrays, and nobody else uses the output meanwhile.
pub(super) unsafe fn run(set: InstructionSet, problem: &Problem, threads: &Threads) {
    let tasks = (problem.work() / TASK).max(1);
    if tasks > 1 {
        if let Some((letter, ranges)) = disjoint(problem, tasks) {
            // SAFETY: by `disjoint`, no two ranges write to the same place.
            threads.for_each(ranges.len(), |task| unsafe {
                serial(set, &problem.part(letter, ranges[task].clone()));
            });
            return;
        }
        if let Some((letter, ranges, length)) = private(problem, tasks) {
            let mut copies = Scratch::any(ranges.len() * length);
            threads.for_each_chunk(&mut copies, length, |task, copy| {
                copy.fill(0.0);
                let mut part = problem.part(letter, ranges[task].clone());
                // The output's own offset within the chunk's first value stays, so that copies can be added whole.
                let shift = (part.out as usize - problem.out as usize) / size_of::<f64>();
                part.out = copy.as_mut_ptr().wrapping_add(shift);
                // SAFETY: the copy is as long as the output in use.
                unsafe { serial(set, &part) };
            });
            // SAFETY: all offsets up to the largest lie inside the output.
            let out = unsafe { std::slice::from_raw_parts_mut(problem.out, length) };
            for copy in copies.chunks_exact(length) {
                for (out, value) in out.iter_mut().zip(copy) {
                    *out += value;
                }
            }
            return;
        }
    }
    // SAFETY: the caller's promise.
    unsafe { serial(set, problem) };
}

/// Into how many tasks [`run`] would cut the contraction, and the values that they keep apart and add in the end.
pub(super) fn tasks(problem: &Problem) -> (usize, usize) {
    let tasks = (problem.work() / TASK).max(1);
    if tasks == 1 {
        return (1, 0);
    }
    if let Some((_, ranges)) = disjoint(problem, tasks) {
        return (ranges.len(), 0);
    }
    private(problem, tasks).map_or((1, 0), |(_, ranges, length)| (ranges.len(), ranges.len() * length))
}

/// # Safety
/// As [`run`].
unsafe fn serial(set: InstructionSet, problem: &Problem) {
    // SAFETY: the caller's promise.
    unsafe {
        if !product::run(set, problem) {
            nest::run(set, problem);
        }
    }
}

fn even(size: usize, count: usize) -> Ranges {
    (0..count).map(|index| size * index / count..size * (index + 1) / count).collect()
}

/// A letter and ranges of its values that write to disjoint parts of the output.
fn disjoint(problem: &Problem, tasks: usize) -> Option<(usize, Ranges)> {
    // If, from the smallest stride upwards, each stride exceeds the reach of all before it, an offset determines every
    // letter's contribution.
    let mut letters: Letters<(usize, usize, usize)> = Letters::new();
    for (letter, (step, size)) in problem.steps.iter().zip(&problem.sizes).enumerate() {
        if !step.is_constant() {
            let stride = match step {
                Step::Stride(stride) => *stride,
                Step::Table { scale, .. } => *scale,
            };
            letters.push((stride, step.most(*size)?, letter));
        }
    }
    letters.sort_unstable();
    let mut reach = 0;
    for (stride, most, _) in &letters {
        if *stride <= reach {
            return None;
        }
        reach += most;
    }
    let is_worth_it = |letter: usize| problem.sizes[letter] >= 8;
    let most = |letter: usize| problem.sizes[letter].min(MOST_DISJOINT).min(tasks);
    // The largest strides last in `letters`: of equals, the outermost is taken.
    let (_, _, letter) = letters
        .into_iter()
        .filter(|(_, _, letter)| is_worth_it(*letter) && is_sorted(problem, *letter))
        .max_by_key(|(stride, _, letter)| {
            (*stride > 1 || problem.sizes[*letter] >= 512, most(*letter), *stride)
        })?;
    // A short letter would be cut into very small chunks. It is better to cut a long sum, if its partial sums take
    // little memory.
    let is_short = problem.sizes[letter] < 128;
    if is_short
        && let Some((longer, _, _)) = private(problem, tasks)
        && problem.steps[longer].is_constant()
        && problem.sizes[longer] >= 4 * problem.sizes[letter]
    {
        return None;
    }
    let mut ranges = even(problem.sizes[letter], most(letter));
    if let Step::Table { table, .. } = &problem.steps[letter] {
        let table = &table[..problem.sizes[letter]];
        let mut start = 0;
        for range in &mut ranges {
            let end = range.end.max(start);
            // All entries with the value of the last one belong together.
            let end = if end == 0 { 0 } else { table.partition_point(|value| *value <= table[end - 1]) };
            *range = start..end.max(start);
            start = range.end;
        }
        ranges.retain(|range| range.start < range.end);
    }
    (ranges.len() > 1).then_some((letter, ranges))
}

fn is_sorted(problem: &Problem, letter: usize) -> bool {
    match &problem.steps[letter] {
        Step::Stride(_) => true,
        Step::Table { table, .. } => facts::are_sorted(&table[..problem.sizes[letter]]),
    }
}

/// The largest letter, its ranges, and the length of the output in use.
fn private(problem: &Problem, tasks: usize) -> Option<(usize, Ranges, usize)> {
    let mut length = 1;
    for (step, size) in problem.steps.iter().zip(&problem.sizes) {
        length += step.most(*size)?;
    }
    let letter = (0..problem.sizes.len()).max_by_key(|letter| problem.sizes[*letter])?;
    let copies = TIMES_OUTPUT.max(FREE_VALUES / length);
    let count = tasks.min(MOST_PRIVATE).min(copies).min(problem.sizes[letter]);
    let is_cheap = length.saturating_mul(8) <= problem.work() / count.max(1);
    (count > 1 && is_cheap).then(|| (letter, even(problem.sizes[letter], count), length))
}
