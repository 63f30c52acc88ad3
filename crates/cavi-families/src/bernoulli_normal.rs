//! The Bernoulli-Normal family, a joint factor of q for a weight and its switch (spike and slab): `s ~ Bernoulli(p)`,
//! `w | s ~ Normal(m_s, v_s)`.
//!
//! Statistics `s w, s w^2, s, w, w^2`. With `c` their coefficients, given `s` the weight has precision and linear coefficient
//!
//! ```text
//! 1 / v_s = -2 (c_5 + s c_2),   m_s / v_s = c_4 + s c_1
//! log p - log(1 - p) = c_3 + (m_1^2 / v_1 + log v_1) / 2 - (m_0^2 / v_0 + log v_0) / 2
//! ```
//!
//! No base; entropy `H(p) + p log(2 pi e v_1) / 2 + (1 - p) log(2 pi e v_0) / 2`.
//!
//! # Source
//! Titsias and Lazaro-Gredilla, Spike and slab variational inference for multi-task and multiple kernel learning, NeurIPS
//! 24 (2011), section 3.

use std::f64::consts::PI;

use cavi_algebra::{Elementary, Function, Statistic, Support};
use cavi_numerics::special::{ln, log1p, logistic};
use rand::{Rng, RngCore};
use rand_distr::StandardNormal;

use crate::categorical::require_probability;
use crate::family::Extent;
use crate::posterior::{
    Batch, Descriptor, Expectation, Improper, Posterior, require_finite, require_positive,
};
use crate::standard::Formulas;
use crate::standard::build::{apply, eta, log, minus, number, over, parameter, product, sum, times};

/// Bernoulli-Normal as a factor of q over two variables, the weight first.
pub struct BernoulliNormalPosterior;

/// `w^weight s^switch`, with `s^2 = s`.
fn monomial(weight: i32, switch: i32) -> Statistic {
    let powers = [(0, weight), (1, switch)].into_iter().filter(|(_, power)| *power != 0);
    Statistic(powers.map(|(member, power)| (member, Elementary::Power(power))).collect())
}

/// The covariance of two members.
fn covariance(left: u8, right: u8) -> Statistic {
    Statistic(vec![(left, Elementary::Centred), (right, Elementary::Centred)])
}

/// One row.
struct Row {
    prob: f64,
    mean: [f64; 2],
    var: [f64; 2],
}

impl Row {
    fn of(descriptors: &[impl AsRef<[f64]>], row: usize) -> Row {
        let at = |which: usize| descriptors[which].as_ref()[row];
        Row { prob: at(0), mean: [at(1), at(3)], var: [at(2), at(4)] }
    }

    /// `(m^2 / v + log v) / 2`, the log-normaliser of `w | s` but for a constant.
    fn log_mass(&self, s: usize) -> f64 {
        0.5 * (self.mean[s] * self.mean[s] / self.var[s] + ln(self.var[s]))
    }

    fn square(&self, s: usize) -> f64 {
        self.mean[s] * self.mean[s] + self.var[s]
    }

    /// The average over `s`.
    fn mixed(&self, value: impl Fn(usize) -> f64) -> f64 {
        (1.0 - self.prob) * value(0) + self.prob * value(1)
    }
}

impl Posterior for BernoulliNormalPosterior {
    fn name(&self) -> &'static str {
        "Bernoulli-Normal"
    }

    fn symbols(&self) -> &'static [&'static [&'static str]] {
        &[&["v0", "m0", "v1", "m1", "rho"]]
    }

    fn lives_on(&self, _support: Support) -> bool {
        false
    }

    fn joint(&self) -> &'static [Support] {
        &[Support::Real, Support::Binary]
    }

    fn member_of(&self, descriptor: usize) -> usize {
        [1, 0, 0, 0, 0][descriptor]
    }

    fn statistics(&self) -> Vec<Expectation> {
        [(1, 1), (2, 1), (0, 1), (1, 0), (2, 0)]
            .into_iter()
            .map(|(weight, switch)| Expectation {
                statistic: monomial(weight, switch),
                extent: Extent::Scalar,
            })
            .collect()
    }

    fn descriptors(&self) -> &'static [Descriptor] {
        &[
            Descriptor { name: "prob", extent: Extent::Scalar, defining: true },
            Descriptor { name: "mean0", extent: Extent::Scalar, defining: true },
            Descriptor { name: "var0", extent: Extent::Scalar, defining: true },
            Descriptor { name: "mean1", extent: Extent::Scalar, defining: true },
            Descriptor { name: "var1", extent: Extent::Scalar, defining: true },
        ]
    }

    fn expectations(&self) -> Vec<Expectation> {
        let mut expectations = self.statistics();
        expectations.extend(
            [covariance(0, 0), covariance(1, 1), covariance(0, 1)]
                .into_iter()
                .map(|statistic| Expectation { statistic, extent: Extent::Scalar }),
        );
        expectations
    }

    fn paired(&self) -> bool {
        false
    }

    fn formulas(&self) -> Formulas {
        let (mean0, var0, mean1, var1, prob) =
            (|| parameter(1), || parameter(0), || parameter(3), || parameter(2), || parameter(4));
        let off = || sum([number(1.0), minus(prob())]);
        let mass = |mean: &dyn Fn() -> _, var: &dyn Fn() -> _| {
            times(0.5, sum([over(product([mean(), mean()]), var()), log(var())]))
        };
        let square0 = || sum([var0(), product([mean0(), mean0()])]);
        let square1 = || sum([var1(), product([mean1(), mean1()])]);
        Formulas {
            parameters: vec![
                ("var0", over(number(1.0), times(-2.0, eta(4)))),
                ("mean0", product([var0(), eta(3)])),
                ("var1", over(number(1.0), times(-2.0, sum([eta(4), eta(1)])))),
                ("mean1", product([var1(), sum([eta(3), eta(0)])])),
                (
                    "prob",
                    apply(Function::Logistic, sum([eta(2), mass(&mean1, &var1), minus(mass(&mean0, &var0))])),
                ),
            ],
            expectations: vec![
                (monomial(0, 1), prob()),
                (monomial(1, 1), product([prob(), mean1()])),
                (monomial(2, 1), product([prob(), square1()])),
                (monomial(1, 0), sum([product([off(), mean0()]), product([prob(), mean1()])])),
                (monomial(2, 0), sum([product([off(), square0()]), product([prob(), square1()])])),
            ],
            entropy: Some(sum([
                times(0.5, product([off(), log(var0())])),
                times(0.5, product([prob(), log(var1())])),
                number(0.5),
                number(0.5 * (2.0 * PI).ln()),
                minus(product([prob(), log(prob())])),
                minus(product([off(), log(off())])),
            ])),
            ..Formulas::default()
        }
    }

    fn describe(
        &self,
        batch: &Batch,
        natural: &[&[f64]],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        for row in 0..batch.rows {
            let at = |which: usize| natural[which][row];
            for (s, column, name) in [
                (0.0, 1, "precision of the weight switched off"),
                (1.0, 3, "precision of the weight switched on"),
            ] {
                let precision = -2.0 * (at(4) + s * at(1));
                require_positive(row, name, precision)?;
                descriptors[column][row] = (at(3) + s * at(0)) / precision;
                descriptors[column + 1][row] = 1.0 / precision;
            }
            let own = Row::of(descriptors, row);
            let log_odds = at(2) + own.log_mass(1) - own.log_mass(0);
            if log_odds.is_nan() {
                return Err(Improper { row, reason: "the log odds are not a number".to_owned() });
            }
            descriptors[0][row] = logistic(log_odds);
        }
        self.complete(batch, descriptors)
    }

    fn complete(&self, batch: &Batch, descriptors: &mut [&mut [f64]]) -> Result<(), Improper> {
        for row in 0..batch.rows {
            require_probability(row, descriptors[0][row])?;
            for (column, mean, var) in [(1, "mean0", "var0"), (3, "mean1", "var1")] {
                require_finite(row, mean, descriptors[column][row])?;
                require_positive(row, var, descriptors[column + 1][row])?;
            }
        }
        Ok(())
    }

    fn natural(&self, batch: &Batch, descriptors: &[&[f64]], natural: &mut [&mut [f64]]) {
        for row in 0..batch.rows {
            let own = Row::of(descriptors, row);
            let linear = |s: usize| own.mean[s] / own.var[s];
            let square = |s: usize| -0.5 / own.var[s];
            natural[0][row] = linear(1) - linear(0);
            natural[1][row] = square(1) - square(0);
            natural[2][row] = ln(own.prob) - log1p(-own.prob) - own.log_mass(1) + own.log_mass(0);
            natural[3][row] = linear(0);
            natural[4][row] = square(0);
        }
    }

    fn expect(&self, batch: &Batch, descriptors: &[&[f64]], which: usize, out: &mut [f64]) {
        for row in 0..batch.rows {
            let own = Row::of(descriptors, row);
            let (prob, step) = (own.prob, own.mean[1] - own.mean[0]);
            out[row] = match which {
                0 => prob * own.mean[1],
                1 => prob * own.square(1),
                2 => prob,
                3 => own.mixed(|s| own.mean[s]),
                4 => own.mixed(|s| own.square(s)),
                5 => own.mixed(|s| own.var[s]) + prob * (1.0 - prob) * step * step,
                6 => prob * (1.0 - prob),
                _ => prob * (1.0 - prob) * step,
            };
        }
    }

    fn entropy(&self, batch: &Batch, descriptors: &[&[f64]], out: &mut [f64]) {
        for row in 0..batch.rows {
            let own = Row::of(descriptors, row);
            let yes = if own.prob > 0.0 { own.prob * ln(own.prob) } else { 0.0 };
            let no = if own.prob < 1.0 { (1.0 - own.prob) * log1p(-own.prob) } else { 0.0 };
            out[row] = own.mixed(|s| 0.5 * ln(own.var[s])) + 0.5 * (1.0 + ln(2.0 * PI)) - yes - no;
        }
    }

    fn mode(&self, _batch: &Batch, _coefficients: &[&[f64]], _value: &mut [f64]) -> Result<(), Improper> {
        Err(Improper { row: 0, reason: "a joint factor of two variables is no point".to_owned() })
    }

    fn sample(&self, batch: &Batch, descriptors: &[&[f64]], rng: &mut dyn RngCore, out: &mut [f64]) {
        // The weight and its switch, one after the other.
        for row in 0..batch.rows {
            let own = Row::of(descriptors, row);
            let switch = usize::from(rng.random::<f64>() < own.prob);
            let unit: f64 = rng.sample(StandardNormal);
            out[2 * row] = own.mean[switch] + own.var[switch].sqrt() * unit;
            out[2 * row + 1] = switch as f64;
        }
    }

    fn start(&self, batch: &Batch, rng: &mut dyn RngCore, descriptors: &mut [&mut [f64]]) {
        for row in 0..batch.rows {
            let weight: f64 = rng.sample(StandardNormal);
            descriptors[0][row] = 0.25 + 0.5 * rng.random::<f64>();
            for (column, value) in [(1, weight), (2, 1.0), (3, weight), (4, 1.0)] {
                descriptors[column][row] = value;
            }
        }
    }

    fn start_at(
        &self,
        batch: &Batch,
        centre: &[f64],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        for row in 0..batch.rows {
            for (column, value) in [(0, centre[row]), (1, 0.0), (2, 1.0), (3, 0.0), (4, 1.0)] {
                descriptors[column][row] = value;
            }
        }
        self.complete(batch, descriptors)
    }
}
