//! Expectations in the bound: within 4 standard errors of the average over draws, or a lower bound of it.

use cavi_algebra::{Array, ArrayKind, Support};
use rand_chacha::ChaCha8Rng;

use crate::page::Page;
use crate::read::Tree;
use crate::rows::{Row, at_row};
use crate::tally::Tally;

/// Standard errors.
const ERRORS: f64 = 4.0;
/// A line that is farther from its average is averaged again over so many times as many draws, since with many lines one is far by
/// chance.
const AGAIN: usize = 16;

/// A class that is met in none of so many draws has a probability of less than this number of them, but for one time in 20.
const OF_THREE: f64 = 3.0;

/// The average of a density over draws.
#[derive(Clone, Copy, Default)]
struct Average {
    mean: f64,
    /// The standard error.
    error: f64,
}

impl Average {
    fn slack(&self) -> f64 {
        ERRORS * self.error + 1e-9 * self.mean.abs().max(1.0)
    }

    /// Whether `printed` is the average, or not above it.
    fn allows(&self, sign: &str, printed: f64) -> bool {
        match sign {
            // Of a positive count at a rate of 0 both are infinite.
            "=" | ">=" if self.mean.is_infinite() => printed == self.mean,
            "=" => (printed - self.mean).abs() <= self.slack(),
            ">=" => printed - self.mean <= self.slack(),
            _ => false,
        }
    }
}

impl Page<'_> {
    /// `E[log p(x)] = ...` and `>=`, by draws.
    pub(crate) fn check_elbo(
        &self,
        draws: usize,
        rng: &mut ChaCha8Rng,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let rows: Vec<(&Row, usize)> = self
            .rows
            .iter()
            .filter(|row| row.section == "Evidence lower bound")
            .filter_map(|row| match &row.left {
                Tree::Call(name, inside) if name == "E" => Some((row, self.statement(&inside[0])?)),
                _ => None,
            })
            .collect();
        let printed =
            |row: &Row| self.reader().value(&row.right, &mut Vec::new()).map_err(|own| at_row(row, &own));
        let printed = rows.iter().map(|(row, _)| printed(row)).collect::<Result<Vec<f64>, String>>()?;
        let statements: Vec<usize> = rows.iter().map(|(_, statement)| *statement).collect();
        let mut averages = self.averages(&statements, draws, rng)?;
        let allowed =
            |averages: &[Average], place: usize| averages[place].allows(rows[place].0.sign, printed[place]);
        let far: Vec<usize> = (0..rows.len()).filter(|place| !allowed(&averages, *place)).collect();
        let of_far: Vec<usize> = far.iter().map(|place| statements[*place]).collect();
        let again = if far.is_empty() { Vec::new() } else { self.averages(&of_far, AGAIN * draws, rng)? };
        far.iter().zip(again).for_each(|(place, own)| averages[*place] = own);
        for (place, (row, _)) in rows.iter().enumerate() {
            let (Average { mean, error }, printed) = (averages[place], printed[place]);
            if !allowed(&averages, place) {
                return Err(at_row(row, &format!("{printed} is printed, the average is {mean} +- {error}")));
            }
            if row.sign == ">=" && mean - printed > averages[place].slack() {
                tally.strict += 1;
            }
            tally.row(row);
            if row.sign == "=" && error > 0.0 {
                tally.errors = tally.errors.max((printed - mean).abs() / error);
            }
        }
        Ok(())
    }

    /// The averages of the log-densities of statements over draws (Welford 1962). One that is infinite at a draw is infinite.
    fn averages(
        &self,
        statements: &[usize],
        draws: usize,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<Average>, String> {
        let mut sums = vec![(0.0_f64, 0.0_f64); statements.len()];
        let mut largest = vec![0.0_f64; statements.len()];
        let implicit = self.implicit_shares()?;
        for count in 1..=draws {
            let latents = self.draw(&implicit, rng);
            for ((statement, (mean, squares)), largest) in statements.iter().zip(&mut sums).zip(&mut largest)
            {
                let value = self.density(*statement, &latents);
                *largest = largest.max(value.abs());
                if value.is_infinite() || mean.is_infinite() {
                    (*mean, *squares) = (if value.is_infinite() { value } else { *mean }, 0.0);
                    continue;
                }
                let step = value - *mean;
                *mean += step / count as f64;
                *squares += step * (value - *mean);
            }
        }
        // Draws say nothing of a class that none of them has.
        let unmet = if self.has_classes() { OF_THREE / ERRORS / draws as f64 } else { 0.0 };
        let error = |squares: f64, largest: f64| {
            (squares / draws as f64 / (draws - 1) as f64).sqrt().max(unmet * largest)
        };
        let averages = sums.into_iter().zip(largest);
        let average = |((mean, squares), largest)| Average { mean, error: error(squares, largest) };
        Ok(averages.map(average).collect())
    }

    /// Whether some latent has classes, of which one may be too rare for any draw.
    fn has_classes(&self) -> bool {
        let discrete = |own: &Array| {
            own.kind == ArrayKind::Latent && matches!(own.support, Support::Binary | Support::Index(_))
        };
        self.symbols().arrays.iter().any(discrete)
    }
}
