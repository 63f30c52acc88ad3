//! Sweeps written by hand for one model each, against which the executor is timed.
//!
//! Factors lie rows by `k` (whatever the program says), the accumulators beside them; a pass by intrinsics, then the update
//! of a factor in blocks of rows that stay in the cache.

use cavi_numerics::special::{digamma, digamma_into, exp, exp_in_place};

use crate::by_hand::{Background, Three, Two, three, two};
use crate::workload::{Kind, Sparse};

/// The entries in the order in which a pass visits them, cut at rows into one part a thread.
pub struct Entries {
    columns: Vec<Vec<u32>>,
    weights: Vec<f64>,
    parts: Vec<usize>,
}

impl Entries {
    /// In order of the rows, or in strips of columns for factors of `length` values a row.
    pub fn new(data: &Sparse, threads: usize, strip_length: Option<usize>) -> Entries {
        let entries = data.values.len();
        let rows = &data.columns[0];
        let mut parts: Vec<usize> = (0..=threads).map(|part| entries * part / threads).collect();
        for bound in &mut parts[1..threads] {
            let row = rows[*bound];
            *bound = rows.partition_point(|index| *index < row);
        }
        let mut order: Vec<u32> = Vec::with_capacity(entries);
        for part in parts.windows(2) {
            let range = part[0]..part[1];
            match strip_length {
                None => order.extend(range.map(|entry| entry as u32)),
                Some(length) => {
                    let strip = (STRIP_BYTES / (8 * length)).max(1) as u32;
                    let mut own: Vec<u32> = range.map(|entry| entry as u32).collect();
                    own.sort_by_key(|entry| data.columns[1][*entry as usize] / strip);
                    order.extend(own);
                }
            }
        }
        let permuted = |column: &Vec<u32>| order.iter().map(|entry| column[*entry as usize]).collect();
        let columns = data.columns.iter().map(permuted).collect();
        let weights = order.iter().map(|entry| data.values[*entry as usize]).collect();
        Entries { columns, weights, parts }
    }
}

/// Of the second factor's rows, as many bytes are visited again and again.
const STRIP_BYTES: usize = 400_000;

/// One factor: rows by `k`.
pub struct Factor {
    length: usize,
    /// Shapes or concentrations.
    pub shape: Vec<f64>,
    /// `exp E log`.
    value: Vec<f64>,
    accumulator: Vec<f64>,
    /// The sum of the means over the rows, each times its weight.
    means: Vec<f64>,
}

/// The rows that an update treats together.
const BLOCK: usize = 64;

impl Factor {
    /// Gamma factors from their shapes and rates, rows by `k`.
    fn gamma(length: usize, shape: Vec<f64>, rate: &[f64], weights: Option<&[f64]>) -> Factor {
        let mut value = vec![0.0; shape.len()];
        digamma_into(&shape, &mut value);
        exp_in_place(&mut value);
        value.iter_mut().zip(rate).for_each(|(value, rate)| *value /= rate);
        let mut means = vec![0.0; length];
        for (place, (shape, rate)) in shape.iter().zip(rate).enumerate() {
            means[place % length] += weights.map_or(1.0, |weights| weights[place / length]) * shape / rate;
        }
        Factor { length, accumulator: vec![0.0; shape.len()], shape, value, means }
    }

    /// A factor whose value the next update sets.
    fn of_shapes(length: usize, shape: Vec<f64>) -> Factor {
        let (value, accumulator) = (vec![0.0; shape.len()], vec![0.0; shape.len()]);
        Factor { length, shape, value, accumulator, means: vec![0.0; length] }
    }

    /// Runs `task(first row, shapes, values, accumulators)` on blocks of rows; each thread adds up the vectors that its tasks fill.
    fn blocks(
        &mut self,
        threads: usize,
        task: impl Fn(usize, &mut [f64], &mut [f64], &mut [f64], &mut [f64]) + Sync,
    ) -> Vec<f64> {
        let length = self.length;
        let rows = self.shape.len() / length;
        let share = rows.div_ceil(threads) * length;
        let run = |first: usize, shape: &mut [f64], value: &mut [f64], accumulator: &mut [f64]| {
            let mut sum = vec![0.0; length];
            let size = BLOCK * length;
            let blocks = shape
                .chunks_mut(size)
                .zip(value.chunks_mut(size))
                .zip(accumulator.chunks_mut(size))
                .enumerate();
            for (block, ((shape, value), accumulator)) in blocks {
                task(first + block * BLOCK, shape, value, accumulator, &mut sum);
            }
            sum
        };
        if threads == 1 {
            return run(0, &mut self.shape, &mut self.value, &mut self.accumulator);
        }
        let parts = self
            .shape
            .chunks_mut(share)
            .zip(self.value.chunks_mut(share))
            .zip(self.accumulator.chunks_mut(share))
            .enumerate();
        std::thread::scope(|scope| {
            let run = &run;
            let handles: Vec<_> = parts
                .map(|(part, ((shape, value), accumulator))| {
                    scope.spawn(move || run(part * share / length, shape, value, accumulator))
                })
                .collect();
            let mut sum = vec![0.0; length];
            for handle in handles {
                let own = handle.join().expect("an update does not panic");
                sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
            }
            sum
        })
    }

    /// The update of a Gamma factor: `shape = prior + counts`, `rate = 1 + weight_row * others`.
    fn update_gamma(&mut self, prior: f64, others: &[f64], weights: Option<&[f64]>, threads: usize) {
        let length = self.length;
        let inverse: Vec<f64> = others.iter().map(|other| 1.0 / (1.0 + other)).collect();
        self.means = self.blocks(threads, |first, shape, value, accumulator, means| {
            settle(prior, shape, value, accumulator);
            digamma_into(shape, value);
            exp_in_place(value);
            let rows = shape.chunks(length).zip(value.chunks_mut(length)).enumerate();
            for (row, (shape, value)) in rows {
                match weights {
                    None => {
                        for k in 0..length {
                            value[k] *= inverse[k];
                            means[k] += shape[k] * inverse[k];
                        }
                    }
                    Some(weights) => {
                        let weight = weights[first + row];
                        for k in 0..length {
                            let inverse = 1.0 / (1.0 + weight * others[k]);
                            value[k] *= inverse;
                            means[k] += weight * shape[k] * inverse;
                        }
                    }
                }
            }
        });
    }

    /// The update of simplexes over `k`, one a row.
    fn update_rows(&mut self, prior: f64, threads: usize) {
        let length = self.length;
        self.blocks(threads, |_, shape, value, accumulator, _| {
            settle(prior, shape, value, accumulator);
            digamma_into(shape, value);
            for (shape, value) in shape.chunks(length).zip(value.chunks_mut(length)) {
                let of_total = digamma(shape.iter().sum());
                value.iter_mut().for_each(|value| *value -= of_total);
            }
            exp_in_place(value);
        });
    }

    /// The update of simplexes over the rows, one for each `k`.
    fn update_columns(&mut self, prior: f64, threads: usize) {
        let length = self.length;
        let mut totals = self.blocks(threads, |_, shape, value, accumulator, totals| {
            settle(prior, shape, value, accumulator);
            for shape in shape.chunks(length) {
                totals.iter_mut().zip(shape).for_each(|(total, shape)| *total += shape);
            }
        });
        totals.iter_mut().for_each(|total| *total = digamma(*total));
        self.blocks(threads, |_, shape, value, _, _| {
            digamma_into(shape, value);
            for value in value.chunks_mut(length) {
                value.iter_mut().zip(&totals).for_each(|(value, total)| *value -= total);
            }
            exp_in_place(value);
        });
    }
}

/// `shape = prior + value * accumulator`, and the accumulator cleared.
fn settle(prior: f64, shape: &mut [f64], value: &[f64], accumulator: &mut [f64]) {
    for ((shape, value), accumulator) in shape.iter_mut().zip(value).zip(accumulator) {
        *shape = prior + value * *accumulator;
        *accumulator = 0.0;
    }
}

/// The strengths of a background.
struct Strength {
    profile: Vec<f64>,
    shape: Vec<f64>,
    value: Vec<f64>,
    counts: Vec<f64>,
}

/// A model's state.
pub struct Hand {
    kind: Kind,
    entries: Entries,
    threads: usize,
    /// The factors, one a mode.
    pub factors: Vec<Factor>,
    /// Copies of the accumulators of all factors but the first, for all threads but the first.
    copies: Vec<Vec<Vec<f64>>>,
    strength: Option<Strength>,
    exposure: Option<Vec<f64>>,
    /// The sum of weight times log partition at the last pass that took it.
    pub total: f64,
}

/// What one pass takes.
#[derive(Clone, Copy)]
struct Wanted {
    accumulators: [bool; 3],
    strength: bool,
    total: bool,
}

const PRIOR: f64 = 0.3;
const SIMPLEX_PRIOR: f64 = 0.1;

/// Where a model begins: for each factor its shapes and rates (none for a simplex), rows by `k`; those of the strengths.
pub struct Start {
    /// The factors.
    pub factors: Vec<(Vec<f64>, Option<Vec<f64>>)>,
    /// The strengths of a background.
    pub strength: Option<(Vec<f64>, Vec<f64>)>,
}

impl Hand {
    /// Ready for its first sweep.
    pub fn new(kind: Kind, length: usize, start: &Start, entries: Entries, threads: usize) -> Hand {
        let rows = start.factors[0].0.len() / length;
        let exposure = (kind == Kind::Exposure).then(|| vec![2.0; rows]);
        let factors: Vec<Factor> = start
            .factors
            .iter()
            .enumerate()
            .map(|(mode, (shape, rate))| match rate {
                Some(rate) => {
                    let weights = if mode == 0 { exposure.as_deref() } else { None };
                    Factor::gamma(length, shape.clone(), rate, weights)
                }
                None => Factor::of_shapes(length, shape.clone()),
            })
            .collect();
        let strength = start.strength.as_ref().map(|(shape, rate)| Strength {
            profile: vec![0.1; factors[1].shape.len() / length],
            value: shape.iter().zip(rate).map(|(shape, rate)| exp(digamma(*shape)) / rate).collect(),
            shape: shape.clone(),
            counts: vec![0.0; rows],
        });
        let copies = (1..threads)
            .map(|_| factors[1..].iter().map(|factor| vec![0.0; factor.shape.len()]).collect())
            .collect();
        let mut hand = Hand { kind, entries, threads, factors, copies, strength, exposure, total: 0.0 };
        if kind == Kind::Lda {
            // With nothing accumulated and no prior the shapes must not change.
            let shapes: Vec<Vec<f64>> = hand.factors.iter().map(|factor| factor.shape.clone()).collect();
            for (factor, shape) in hand.factors.iter_mut().zip(shapes) {
                factor.accumulator = shape;
                factor.value.fill(1.0);
            }
            hand.factors[0].update_rows(0.0, threads);
            hand.factors[1].update_columns(0.0, threads);
        }
        hand.pass(hand.last());
        hand
    }

    /// What the pass at the end of a sweep takes: the bound, and what the next sweep begins with.
    fn last(&self) -> Wanted {
        let accumulators = match self.kind {
            Kind::Lda | Kind::NmfGroup => [true, true, false],
            Kind::Background => [false; 3],
            Kind::Nmf | Kind::Exposure | Kind::Tensor => [true, false, false],
        };
        Wanted { accumulators, strength: self.kind == Kind::Background, total: true }
    }

    /// One pass over the entries with all accumulators of the modes, for its rate alone.
    pub fn whole_pass(&mut self) -> f64 {
        let wanted = Wanted { accumulators: [true; 3], strength: true, total: true };
        let total = self.pass(wanted);
        self.clear();
        total
    }

    /// Forgets what was accumulated.
    fn clear(&mut self) {
        self.factors.iter_mut().for_each(|factor| factor.accumulator.fill(0.0));
        self.strength.iter_mut().for_each(|strength| strength.counts.fill(0.0));
    }

    /// A sweep, and the log partitions for the bound.
    pub fn sweep(&mut self) {
        let threads = self.threads;
        match self.kind {
            Kind::Lda => {
                self.factors[0].update_rows(SIMPLEX_PRIOR, threads);
                self.factors[1].update_columns(SIMPLEX_PRIOR, threads);
            }
            Kind::NmfGroup => {
                self.update(0);
                self.update(1);
            }
            Kind::Nmf | Kind::Exposure => {
                self.update(0);
                self.take(1);
                self.update(1);
            }
            Kind::Tensor => {
                self.update(0);
                self.take(1);
                self.update(1);
                self.take(2);
                self.update(2);
            }
            Kind::Background => {
                let strength = self.strength.as_mut().expect("a background has strengths");
                let rate = 1.0 + strength.profile.iter().sum::<f64>();
                let rows = strength.shape.iter_mut().zip(&mut strength.value).zip(&mut strength.counts);
                for ((shape, value), count) in rows {
                    *shape = PRIOR + *value * *count;
                    *value = exp(digamma(*shape)) / rate;
                    *count = 0.0;
                }
                self.take(0);
                self.update(0);
                self.take(1);
                self.update(1);
            }
        }
        self.pass(self.last());
    }

    /// A pass for the counts of one factor alone.
    fn take(&mut self, mode: usize) {
        let accumulators = [0, 1, 2].map(|other| other == mode);
        self.pass(Wanted { accumulators, strength: false, total: false });
    }

    /// Updates one Gamma factor.
    fn update(&mut self, mode: usize) {
        let length = self.factors[mode].length;
        let mut others = vec![1.0; length];
        for (_, factor) in self.factors.iter().enumerate().filter(|(other, _)| *other != mode) {
            others.iter_mut().zip(&factor.means).for_each(|(product, mean)| *product *= mean);
        }
        let weights = if mode == 0 { self.exposure.as_deref() } else { None };
        self.factors[mode].update_gamma(PRIOR, &others, weights, self.threads);
    }

    /// A pass: accumulators, counts of the strengths and the total, as far as they are wanted.
    fn pass(&mut self, wanted: Wanted) -> f64 {
        let Hand { entries, factors, copies, strength, .. } = self;
        let length = factors[0].length;
        let modes = factors.len();
        let (mut values, mut accumulators) = (Vec::new(), Vec::new());
        for factor in factors.iter_mut() {
            values.push(&factor.value[..]);
            accumulators.push(&mut factor.accumulator[..]);
        }
        let values = &values;
        let (mut strengths, mut profile, mut counts) = (None, None, None);
        if let Some(strength) = strength {
            strengths = Some(&strength.value[..]);
            profile = Some(&strength.profile[..]);
            counts = Some(&mut strength.counts[..]);
        }
        let mut rest = accumulators.into_iter();
        let mut first = rest.next().expect("a first mode");
        let mut others: Vec<Vec<&mut [f64]>> = vec![rest.collect()];
        others.extend(copies.iter_mut().map(|copy| copy.iter_mut().map(|own| &mut own[..]).collect()));
        let bounds: Vec<usize> = entries.parts.clone();
        let mut first_row = 0;
        let total: f64 = std::thread::scope(|scope| {
            let mut handles = Vec::new();
            let mut own = 0.0;
            for (part, accumulators) in others.into_iter().enumerate().rev() {
                // The last part first, so that the first runs on this thread while the others run.
                let range = bounds[part]..bounds[part + 1];
                let columns: Vec<&[u32]> =
                    entries.columns.iter().map(|column| &column[range.clone()]).collect();
                let weights = &entries.weights[range];
                let begin = if part == 0 {
                    0
                } else {
                    columns[0].iter().min().map_or(first.len() / length, |row| *row as usize)
                };
                let (before, mine) = std::mem::take(&mut first).split_at_mut(begin * length);
                first = before;
                let mine_counts = counts.take().map(|all: &mut [f64]| {
                    let (before, mine) = all.split_at_mut(begin);
                    counts = Some(before);
                    mine
                });
                first_row = begin;
                let background = strengths.zip(profile).map(|(strength, profile)| Background {
                    strength,
                    profile,
                    counts: mine_counts.filter(|_| wanted.strength),
                });
                let run = move || {
                    let mut others = accumulators.into_iter().enumerate().map(|(mode, own)| {
                        if part > 0 && wanted.accumulators[mode + 1] {
                            own.fill(0.0);
                        }
                        wanted.accumulators[mode + 1].then_some(own)
                    });
                    let mine = wanted.accumulators[0].then_some(mine);
                    if modes == 2 {
                        two(Two {
                            length,
                            rows: columns[0],
                            columns: columns[1],
                            weights,
                            a: values[0],
                            b: values[1],
                            first_row: begin,
                            ga: mine,
                            gb: others.next().flatten(),
                            background,
                            total: wanted.total,
                        })
                    } else {
                        let (second, third) = (others.next().flatten(), others.next().flatten());
                        three(Three {
                            length,
                            columns: [columns[0], columns[1], columns[2]],
                            weights,
                            factors: [values[0], values[1], values[2]],
                            first_row: begin,
                            accumulators: [mine, second, third],
                            total: wanted.total,
                        })
                    }
                };
                if part == 0 {
                    own = run();
                } else {
                    handles.push(scope.spawn(run));
                }
            }
            own + handles.into_iter().map(|handle| handle.join().expect("a pass does not panic")).sum::<f64>()
        });
        let _ = first_row;
        for copy in copies {
            for (mode, copy) in copy.iter().enumerate().filter(|(mode, _)| wanted.accumulators[mode + 1]) {
                let share = copy.len().div_ceil(self.threads);
                std::thread::scope(|scope| {
                    for (to, from) in factors[mode + 1].accumulator.chunks_mut(share).zip(copy.chunks(share))
                    {
                        scope.spawn(move || to.iter_mut().zip(from).for_each(|(to, from)| *to += from));
                    }
                });
            }
        }
        if wanted.total {
            self.total = total;
        }
        total
    }

    /// The shapes of the strengths of a background.
    pub fn strengths(&self) -> Option<&[f64]> {
        self.strength.as_ref().map(|strength| &strength.shape[..])
    }
}

/// Entries in strips of columns, for the table of rates alone.
pub fn striped(data: &Sparse, length: usize) -> Sparse {
    let Entries { columns, weights, .. } = Entries::new(data, 1, Some(length));
    Sparse { columns, values: weights }
}
