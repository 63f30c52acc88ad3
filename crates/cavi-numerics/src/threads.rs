//! Threads for the kernels: a pool of its own, never rayon's global one.

use rayon::prelude::*;

/// A fixed number of threads that kernels run their chunks on. How many there are never changes a result.
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
    pub fn for_each_item<T: Send>(&self, items: Vec<T>, task: impl Fn(T) + Sync + Send) {
        match &self.pool {
            Some(pool) if items.len() > 1 => {
                pool.install(|| items.into_par_iter().with_max_len(1).for_each(task));
            }
            _ => items.into_iter().for_each(task),
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
        }
    }
}
