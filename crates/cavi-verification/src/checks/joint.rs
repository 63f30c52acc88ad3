//! Lines of the log joint: equal to the log-density of their statement, written a second time.

use crate::page::Page;
use crate::rows::at_row;
use crate::tally::{Tally, deviation};

impl Page<'_> {
    /// `log p(x) = ...` at values, to 1e-11.
    pub(crate) fn check_log_joint(&self, tally: &mut Tally) -> Result<(), String> {
        for row in self.rows.iter().filter(|row| ["Log joint", "Objective"].contains(&row.section.as_str())) {
            let Some(statement) = self.statement(&row.left) else { continue };
            let found = self.reader().value(&row.right, &mut Vec::new()).map_err(|own| at_row(row, &own))?;
            let stated = self.density(statement, &self.alternatives[0]);
            let size =
                self.reader().summed_size(&row.right, &mut Vec::new()).map_err(|own| at_row(row, &own))?;
            // The density itself is a sum of logarithms, which have the digits of 1.
            let own = deviation(found, stated, size.max(1.0));
            if own.is_nan() {
                continue;
            }
            if own > 1e-11 {
                return Err(at_row(row, &format!("{found} is printed, {stated} is the density")));
            }
            tally.equal(row, own);
        }
        Ok(())
    }
}
