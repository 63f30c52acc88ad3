//! Expected squares that are written out: equal to the average of the square.

use crate::page::Page;
use crate::read::{Range, Tree};
use crate::rows::{Row, at_row, free_letters};
use crate::tally::{Tally, deviation};

impl Page<'_> {
    /// The expectation of each square, at all its positions.
    pub(crate) fn check_squares(&self, tally: &mut Tally) -> Result<(), String> {
        let rows: Vec<&Row> = self.rows.iter().filter(|row| row.section == "Expected squares").collect();
        for row in &rows {
            let (reader, mut at) = (self.reader(), Vec::new());
            let mut letters = Vec::new();
            free_letters(&row.left, &mut Vec::new(), &mut letters);
            for side in row.conditions.iter().flat_map(|own| own.sides()) {
                free_letters(&Tree::Name(String::new(), vec![side.clone()]), &mut Vec::new(), &mut letters);
            }
            let letters = letters.into_iter().filter(|own| reader.letter(own).is_some()).collect();
            let range = Range { letters, conditions: row.conditions.clone() };
            let (mut worst, mut largest, mut evaluated) = (String::new(), 0.0_f64, false);
            let each = reader.each(&range, Some(&row.left), &mut at, &mut |at| {
                let (left, right) = (reader.value(&row.left, at)?, reader.value(&row.right, at)?);
                let own = deviation(left, right, reader.summed_size(&row.right, at)?);
                largest = largest.max(own);
                evaluated |= !own.is_nan();
                if own > 1e-10 {
                    worst = format!("{left} is the average, {right} is printed");
                }
                Ok(())
            });
            each.map_err(|own| at_row(row, &own))?;
            if !worst.is_empty() {
                return Err(at_row(row, &worst));
            }
            if evaluated {
                tally.equal(row, largest);
            }
        }
        Ok(())
    }
}
