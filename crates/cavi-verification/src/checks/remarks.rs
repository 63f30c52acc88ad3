//! Remarks: the mean that a factor comes to is the ratio of its parameters, with the constants of its statement at 0.

use cavi_algebra::Atom;
use cavi_executor::BoundArray;
use rand_chacha::ChaCha8Rng;

use crate::page::Page;
use crate::read::Tree;
use crate::rows::{Row, at_row, free_names};
use crate::tally::{Tally, deviation};
use crate::value::Reader;

impl Page<'_> {
    /// printed, where the constants are 0.
    pub(crate) fn check_remarks(&self, rng: &mut ChaCha8Rng, tally: &mut Tally) -> Result<(), String> {
        for row in self.rows.iter().filter(|row| row.section == "Remarks") {
            let name = match &row.left {
                Tree::Call(_, inside) => match inside.first() {
                    Some(Tree::Name(name, _)) => name,
                    _ => return Err(at_row(row, "it is about no variable")),
                },
                _ => return Err(at_row(row, "it is about no expectation")),
            };
            let id = self.symbols().find(name).and_then(|array| self.subject.equations.block_of(array));
            let id = id.ok_or_else(|| at_row(row, "no factor of q has it"))?;
            let mut bound = self.bound.clone();
            let prior = self.subject.equations.block(id).prior.iter();
            let stated = free_names(row);
            for factor in prior.flat_map(|sum| &sum.terms).flat_map(|term| &term.factors) {
                if let Atom::Value(constant, _) = &factor.atom
                    && let Some(BoundArray::Dense { values, .. }) = &mut bound.arrays[constant.index()]
                {
                    // Both sides would be 0, or no number, whatever they are.
                    if stated.contains(&self.symbols().array(*constant).name) {
                        return Err(at_row(row, "it holds a constant that is taken for 0"));
                    }
                    values.fill(0.0);
                }
            }
            let about = format!("q({name}");
            let of_update = |own: &&Row| own.section == "Updates" && own.about.starts_with(&about);
            let parameters =
                self.rows.iter().filter(of_update).filter(|own| matches!(own.left, Tree::Name(..)));
            let parameters: Vec<&Row> = parameters.collect();
            let Some(mut letters) = self.letters_of_copy(id, rng) else { continue };
            let mut reader = Reader::new(self.subject, &bound, self.alternatives);
            reader.defined.clone_from(&self.defined);
            reader.functions.clone_from(&self.functions);
            let mut value =
                |own: &Row| reader.value(&own.right, &mut letters).map_err(|problem| at_row(own, &problem));
            let [above, below] = parameters[..] else {
                return Err(at_row(row, &format!("{} parameters are printed", parameters.len())));
            };
            let (ratio, printed) = (value(above)? / value(below)?, value(row)?);
            // Where the sums are empty the parameters are both 0, and nothing is claimed.
            if ratio.is_nan() && row.shown.contains("sum[") {
                continue;
            }
            let own = deviation(printed, ratio, printed.abs());
            if own > 1e-12 {
                return Err(at_row(row, &format!("{printed} is printed, the parameters give {ratio}")));
            }
            tally.equal(row, own);
        }
        Ok(())
    }
}
