//! Ratios and the total from sums over `k` that are known.

use std::sync::Mutex;

use super::Totals;
use crate::special::ln_into;
use crate::{Scratch, Threads};

/// Entries treated together.
const BLOCK: usize = 1 << 12;

/// The inputs of [`ratios`], with one number for each entry. The letters are those of [`LogSum`](super::LogSum).
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// `s_e - c_e`.
    pub sums: &'a [f64],
    /// `x_e`.
    pub weights: &'a [f64],
    /// `c_e`; 0 if absent.
    pub addends: Option<&'a [f64]>,
    /// `o_e`; 0 if absent.
    pub offsets: Option<&'a [f64]>,
    /// An entry whose `s_e` is less is left out.
    pub least: f64,
}

/// With `s_e = c_e + sums_e`: writes `r_e = x_e / s_e` (0 where the weight is 0 or the entry is left out) and returns the
/// entries left out and, where `wants_total`, the sum of `x_e (ln s_e + o_e)`. See the [module](super) for the letters.
///
/// # Panics
/// If the slices differ in length.
pub fn ratios(known: &Known, wants_total: bool, ratios: &mut [f64], threads: &Threads) -> Totals {
    let Known { sums, weights, addends, offsets, least } = *known;
    let entries = sums.len();
    let lengths =
        [Some(weights.len()), Some(ratios.len()), addends.map(<[f64]>::len), offsets.map(<[f64]>::len)];
    assert!(lengths.into_iter().flatten().all(|length| length == entries), "one number an entry");
    let mut totals = Scratch::zeros(entries.div_ceil(BLOCK));
    let rare = Mutex::new(Vec::new());
    threads.for_each_chunk_of_two((ratios, BLOCK), (&mut totals, 1), |block, ratios, total| {
        let first = block * BLOCK;
        let place = first..first + ratios.len();
        let mut partitions = [1.0; BLOCK];
        let partitions = &mut partitions[..ratios.len()];
        partitions.copy_from_slice(&sums[place.clone()]);
        if let Some(addends) = addends {
            partitions.iter_mut().zip(&addends[place.clone()]).for_each(|(sum, addend)| *sum += addend);
        }
        let weights = &weights[place.clone()];
        let mut all_common = true;
        for ((ratio, sum), weight) in ratios.iter_mut().zip(&*partitions).zip(weights) {
            *ratio = weight / sum;
            all_common &= (*weight != 0.0) & (*sum >= least) & (*sum < f64::INFINITY);
        }
        if !all_common {
            for (entry, ((ratio, sum), weight)) in
                ratios.iter_mut().zip(&mut *partitions).zip(weights).enumerate()
            {
                let is_common = (least..f64::INFINITY).contains(sum);
                if *weight != 0.0 && is_common {
                    continue;
                }
                if *weight != 0.0 {
                    rare.lock().expect("no task panics").push(first + entry);
                }
                (*ratio, *sum) = (0.0, 1.0);
            }
        }
        if !wants_total {
            return;
        }
        let mut logs = [0.0; BLOCK];
        let logs = &mut logs[..ratios.len()];
        ln_into(partitions, logs);
        if let Some(offsets) = offsets {
            logs.iter_mut().zip(&offsets[place]).for_each(|(log, offset)| *log += offset);
        }
        // What contributes nothing may have any offset.
        let terms = logs.iter_mut().zip(&*ratios).zip(weights);
        terms.for_each(|((log, ratio), weight)| *log = if *ratio == 0.0 { 0.0 } else { *weight * *log });
        total[0] = crate::reduce::sum(logs);
    });
    let mut rare = rare.into_inner().expect("no task panics");
    rare.sort_unstable();
    Totals { total: totals.iter().sum(), rare }
}
