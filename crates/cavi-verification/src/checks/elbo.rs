//! Expectations in the bound: within 4 standard errors of the average over draws, or a lower bound of it.

use rand_chacha::ChaCha8Rng;

use crate::page::Page;
use crate::read::Tree;
use crate::rows::{Row, at_row};
use crate::tally::Tally;

/// Standard errors.
const ERRORS: f64 = 4.0;

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
        let mut averages = vec![(0.0_f64, 0.0_f64); rows.len()];
        let implicit = self.implicit_shares()?;
        for count in 1..=draws {
            let latents = self.draw(&implicit, rng);
            for ((_, statement), (mean, squares)) in rows.iter().zip(&mut averages) {
                let value = self.density(*statement, &latents);
                let step = value - *mean;
                *mean += step / count as f64;
                *squares += step * (value - *mean);
            }
        }
        for ((row, _), (mean, squares)) in rows.iter().zip(averages) {
            let printed =
                self.reader().value(&row.right, &mut Vec::new()).map_err(|own| at_row(row, &own))?;
            let error = (squares / draws as f64 / (draws - 1) as f64).sqrt();
            let slack = ERRORS * error + 1e-9 * mean.abs().max(1.0);
            let holds = match row.sign {
                "=" => (printed - mean).abs() <= slack,
                ">=" => printed - mean <= slack,
                _ => false,
            };
            if row.sign == ">=" && mean - printed > slack {
                tally.strict += 1;
            }
            if !holds {
                return Err(at_row(row, &format!("{printed} is printed, the average is {mean} +- {error}")));
            }
            tally.row(row);
            if row.sign == "=" && error > 0.0 {
                tally.errors = tally.errors.max((printed - mean).abs() / error);
            }
        }
        Ok(())
    }
}
