//! Threads for the kernels: a pool of its own, never rayon's global one.

use std::ops::Range;

use rayon::prelude::*;
use smallvec::SmallVec;

/// A fixed number of threads, on which kernels run their chunks. The number never changes a result.
pub struct Threads {
    pool: Option<rayon::ThreadPool>,
    count: usize,
}

impl Threads {
    /// `count` threads; one means the caller's own thread, and so does a failure to start any.
    pub fn new(count: usize) -> Self {
        let pool = match count {
            0 | 1 => None,
            _ => rayon::ThreadPoolBuilder::new()
                .num_threads(count)
                .thread_name(|index| format!("kernel-{index}"))
                .build()
                .ok(),
        };
        let count = if pool.is_some() { count } else { 1 };
        Self { pool, count }
    }

    /// The caller's own thread.
    pub const fn one() -> Self {
        Self { pool: None, count: 1 }
    }

    /// How many threads there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Runs `task(0)`, ..., `task(tasks - 1)`, in any order.
    pub fn for_each(&self, tasks: usize, task: impl Fn(usize) + Sync + Send) {
        match &self.pool {
            Some(pool) if tasks > 1 => {
                pool.install(|| (0..tasks).into_par_iter().with_max_len(1).for_each(task));
            }
            _ => (0..tasks).for_each(task),
        }
    }

    /// `[task(0), ..., task(tasks - 1)]`, computed in any order.
    pub fn map<T: Send>(&self, tasks: usize, task: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
        match &self.pool {
            Some(pool) if tasks > 1 => {
                pool.install(|| (0..tasks).into_par_iter().with_max_len(1).map(task).collect())
            }
            _ => (0..tasks).map(task).collect(),
        }
    }

    /// Runs `task` on each item, in any order.
    pub fn for_each_item<T: Send>(&self, items: &mut [T], task: impl Fn(&mut T) + Sync + Send) {
        match &self.pool {
            Some(pool) if items.len() > 1 => {
                pool.install(|| items.par_iter_mut().with_max_len(1).for_each(task));
            }
            _ => items.iter_mut().for_each(task),
        }
    }

    /// Runs `task(index, chunk)` on each run of `length` values (the last may be shorter), in any order.
    pub fn for_each_chunk<T: Send>(
        &self,
        values: &mut [T],
        length: usize,
        task: impl Fn(usize, &mut [T]) + Sync + Send,
    ) {
        match &self.pool {
            Some(pool) if values.len() > length => pool.install(|| {
                values
                    .par_chunks_mut(length)
                    .with_max_len(1)
                    .enumerate()
                    .for_each(|(index, chunk)| task(index, chunk));
            }),
            _ => values.chunks_mut(length).enumerate().for_each(|(index, chunk)| task(index, chunk)),
        }
    }

    /// Runs `task(index, one, other)` on each run of so many values of both (the last may be shorter), in any order.
    pub fn for_each_chunk_of_two<T: Send, U: Send>(
        &self,
        (values, length): (&mut [T], usize),
        (others, others_length): (&mut [U], usize),
        task: impl Fn(usize, &mut [T], &mut [U]) + Sync + Send,
    ) {
        match &self.pool {
            Some(pool) if values.len() > length => pool.install(|| {
                values
                    .par_chunks_mut(length)
                    .with_max_len(1)
                    .zip(others.par_chunks_mut(others_length))
                    .enumerate()
                    .for_each(|(index, (chunk, other))| task(index, chunk, other));
            }),
            _ => {
                let others = others.chunks_mut(others_length);
                let chunks = values.chunks_mut(length).zip(others).enumerate();
                chunks.for_each(|(index, (chunk, other))| task(index, chunk, other));
            }
        }
    }

    /// Runs `task(part, values)` on each of `count` parts of all columns, in any order; a part of a column ends before
    /// `end(part, column)`, where the next begins.
    pub fn for_each_part<T: Send>(
        &self,
        columns: &mut [&mut [T]],
        count: usize,
        end: impl Fn(usize, usize) -> usize + Sync,
        task: impl Fn(usize, &mut [&mut [T]]) + Sync,
    ) {
        let columns = columns.iter_mut().map(|column| &mut **column).collect();
        match &self.pool {
            Some(pool) if count > 1 => pool.install(|| halves(columns, 0..count, &end, &task, true)),
            _ => halves(columns, 0..count, &end, &task, false),
        }
    }
}

/// The parts of all columns in a range, with which the columns begin: one half of them, and the other.
fn halves<T: Send>(
    mut columns: SmallVec<[&mut [T]; 6]>,
    parts: Range<usize>,
    end: &(impl Fn(usize, usize) -> usize + Sync),
    task: &(impl Fn(usize, &mut [&mut [T]]) + Sync),
    on_threads: bool,
) {
    if parts.len() <= 1 {
        return parts.for_each(|part| task(part, &mut columns));
    }
    let half = parts.start + parts.len() / 2;
    let (mut left, mut right) = (SmallVec::new(), SmallVec::new());
    for (number, column) in columns.into_iter().enumerate() {
        let start = if parts.start == 0 { 0 } else { end(parts.start - 1, number) };
        let (own, rest) = column.split_at_mut(end(half - 1, number) - start);
        left.push(own);
        right.push(rest);
    }
    let first = || halves(left, parts.start..half, end, task, on_threads);
    let second = || halves(right, half..parts.end, end, task, on_threads);
    if on_threads {
        rayon::join(first, second);
    } else {
        first();
        second();
    }
}

impl std::fmt::Debug for Threads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Threads").field("count", &self.count).finish()
    }
}

impl Default for Threads {
    fn default() -> Self {
        Self::one()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        for count in [0, 1, 3] {
            let threads = Threads::new(count);
            assert_eq!(threads.map(5, |index| index * index), [0, 1, 4, 9, 16]);
            let mut values = vec![0; 7];
            threads.for_each_chunk(&mut values, 3, |index, chunk| chunk.fill(index));
            assert_eq!(values, [0, 0, 0, 1, 1, 1, 2]);
            let mut others = vec![0; 3];
            threads.for_each_chunk_of_two((&mut values, 3), (&mut others, 1), |index, chunk, other| {
                chunk.fill(10 + index);
                other[0] = index;
            });
            let mut last = vec![0; 5];
            let columns = &mut [&mut values[..], &mut last];
            threads.for_each_part(
                columns,
                3,
                |part, column| [3 * part + 3, 2 * part + 2][column].min([7, 5][column]),
                |index, chunks| {
                    chunks[0].iter_mut().for_each(|value| *value += index);
                    chunks[1].fill(index);
                },
            );
            assert_eq!((&values, last), (&vec![10, 10, 10, 12, 12, 12, 14], vec![0, 0, 1, 1, 2]));
            threads.for_each_chunk(&mut values, 3, |index, chunk| chunk.iter_mut().for_each(|v| *v -= index));
            assert_eq!((values, others), (vec![10, 10, 10, 11, 11, 11, 12], vec![0, 1, 2]));
        }
    }
}
