//! Factors of a pass in single precision ([`Precision::Single`](crate::plan::Precision)).
//!
//! With rows `G_i[row] = 2^(e_i[row]) G'_i[row]` of the only addend, and primes for what the pass makes of `G'`:
//!
//! ```text
//! s_e   = 2^(sum_i e_i[row_i(e)]) s'_e
//! N[row] = G_i[row] acc_i[row] = (2^(-e_i[row]) G_i[row]) acc'_i[row]
//! sum_e w_e log s_e = sum_e w_e log s'_e + log 2 sum_i sum_row e_i[row] W_i[row]
//! ```
//!
//! with `W_i[row]` the sum of the weights of the entries in this row. Powers of two round nothing.

use cavi_numerics::kernels::log_sum::{
    Factor, LEAST, Values, least_of_narrow, least_of_scaled, narrow, narrow_rows, power_of_two,
};
use smallvec::SmallVec;

use super::pass::CHUNK;
use super::site_state::SiteState;
use super::state::State;
use crate::plan::precision::Stored;
use crate::plan::site::{AddendPlan, ModePlan, SitePlan};

/// One a mode; more than these few are listed on the heap.
pub(super) type Factors<'v> = SmallVec<[Factor<'v>; 4]>;

/// A mode's factor in single precision.
#[derive(Default)]
pub struct Narrow {
    /// Of the factor that was converted.
    stamp: Option<u64>,
    values: Vec<f32>,
    /// Whether the values are of ordinary size, or scaled.
    fits: bool,
    /// One a row, of scaled rows.
    exponents: Vec<i32>,
    /// The weights of the entries in each scaled row, and the stamp of the weights.
    weights: Vec<f64>,
    weights_stamp: Option<u64>,
}

impl State<'_> {
    /// Brings the copies in single precision up to date with the factors.
    pub(super) fn narrow(&mut self, plan: &SitePlan, state: &mut SiteState) {
        let mut narrowed = std::mem::take(&mut state.narrow);
        narrowed.resize_with(plan.addends.len(), Vec::new);
        for (addend, own) in plan.addends.iter().zip(&mut narrowed) {
            if addend.stored == Stored::Double {
                continue;
            }
            own.resize_with(addend.modes.len(), Narrow::default);
            for (mode, own) in addend.modes.iter().zip(own) {
                let stamp = self.newest(mode.factor);
                if own.stamp == Some(stamp) {
                    continue;
                }
                let factor = self.factor(mode.factor);
                own.stamp = Some(stamp);
                own.values.resize(factor.len(), 0.0);
                let rows = [addend.categories, addend.row_length(mode)];
                own.fits = match addend.stored {
                    Stored::Scaled => {
                        own.exponents.resize(mode.rows, 0);
                        narrow_rows(factor, rows, &mut own.values, &mut own.exponents, &self.work.threads);
                        true
                    }
                    Stored::Plain | Stored::Double => {
                        narrow(factor, rows, &mut own.values, &self.work.threads)
                    }
                };
            }
        }
        state.narrow = narrowed;
    }

    /// The factors of an addend's modes, as the kernel reads them.
    pub(super) fn factors<'v>(&'v self, addend: &AddendPlan, narrow: &'v [Narrow]) -> Factors<'v> {
        let single = is_single(narrow);
        let factor = |(place, mode): (usize, &ModePlan)| {
            let values = match single {
                true => Values::Single(&narrow[place].values),
                false => Values::Double(self.factor(mode.factor)),
            };
            Factor { values, stride: addend.row_length(mode) }
        };
        addend.modes.iter().enumerate().map(factor).collect()
    }

    /// Counts of a mode: what the pass accumulated times the factor, whose scaled rows the pass has seen.
    pub(super) fn times_factor(
        &self,
        own: &mut [f64],
        factor: &[f64],
        length: usize,
        narrow: Option<&Narrow>,
    ) {
        let exponents = narrow.map_or(&[][..], |narrow| &narrow.exponents);
        if exponents.is_empty() {
            self.work.threads.for_each_chunk(own, CHUNK, |chunk, own| {
                let factor = &factor[chunk * CHUNK..];
                own.iter_mut().zip(factor).for_each(|(count, factor)| *count *= factor);
            });
            return;
        }
        let rows = (CHUNK / length.max(1)).max(1);
        self.work.threads.for_each_chunk(own, rows * length.max(1), |chunk, own| {
            let factor = factor[chunk * rows * length..].chunks_exact(length);
            let exponents = &exponents[chunk * rows..];
            for ((own, factor), exponent) in own.chunks_exact_mut(length).zip(factor).zip(exponents) {
                let scale = power_of_two(-exponent);
                own.iter_mut().zip(factor).for_each(|(count, factor)| *count *= factor * scale);
            }
        });
    }

    /// What the scales of rows add to the total: `log 2 sum_i sum_row e_i[row] W_i[row]`, the entries in `rare` left out.
    pub(super) fn scale_total(
        &self,
        plan: &SitePlan,
        main: usize,
        rare: &[usize],
        state: &mut SiteState,
    ) -> f64 {
        if plan.addends[main].stored != Stored::Scaled {
            return 0.0;
        }
        let mut narrowed = std::mem::take(&mut state.narrow);
        let weights = self.weights(plan, &state.weights);
        let stamp = Some(self.stamps.nodes[plan.weight.index()]);
        let mut total = 0.0;
        for (mode, own) in narrowed[main].iter_mut().enumerate() {
            if own.weights_stamp != stamp {
                own.weights.clear();
                own.weights.resize(own.exponents.len(), 0.0);
                let rows = state.pattern(main).indices(mode);
                rows.iter().zip(weights).for_each(|(row, weight)| own.weights[*row as usize] += weight);
                own.weights_stamp = stamp;
            }
            let each = own.weights.iter().zip(&own.exponents);
            let terms: Vec<f64> = each.map(|(weight, exponent)| weight * f64::from(*exponent)).collect();
            total += cavi_numerics::reduce::sum(&terms);
            for entry in rare {
                total -= weights[*entry] * f64::from(own.exponents[state.pattern(main).index(mode, *entry)]);
            }
        }
        state.narrow = narrowed;
        total * std::f64::consts::LN_2
    }
}

/// Whether a pass reads the copies.
fn is_single(narrow: &[Narrow]) -> bool {
    !narrow.is_empty() && narrow.iter().all(|own| own.fits)
}

/// The least sum over categories that a pass treats itself.
pub(super) fn least(plan: &SitePlan, narrow: &[Vec<Narrow>]) -> f64 {
    let single = plan.addends.iter().zip(narrow).filter(|(_, narrow)| is_single(narrow));
    single.fold(LEAST, |least, (addend, _)| {
        let (length, modes) = (addend.categories, addend.modes.len());
        least.max(match addend.stored {
            Stored::Scaled => least_of_scaled(length, modes),
            Stored::Plain | Stored::Double => least_of_narrow(length, modes),
        })
    })
}
