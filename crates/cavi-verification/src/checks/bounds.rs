//! Inequalities of bounds: by their sign at many points, and equal at the stated optimum.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::page::{INEQUALITIES, Page};
use crate::read::Tree;
use crate::rows::{Row, at_row, free_names};
use crate::tally::{Tally, deviation};
use crate::value::Reader;

impl Page<'_> {
    /// An inequality by its sign, and where it is said to be tight.
    pub(crate) fn check_bounds(&self, rng: &mut ChaCha8Rng, tally: &mut Tally) -> Result<(), String> {
        let bounds: Vec<&Row> = self.rows.iter().filter(|row| row.section == "Bounds").collect();
        for (number, row) in bounds.iter().enumerate().filter(|(_, row)| INEQUALITIES.contains(&row.sign)) {
            let names = free_names(row);
            let [argument, auxiliary] = names.as_slice() else {
                return Err(at_row(row, &format!("its names are {names:?}")));
            };
            let optimum = bounds.get(number + 1).filter(|own| own.sign == "=");
            let optimum = optimum.ok_or_else(|| at_row(row, "where it is tight is not printed"))?;
            let mut largest = 0.0_f64;
            for _ in 0..50 {
                let mut reader = self.reader();
                reader.defined.clear();
                let shares = row.shown.contains("sum[");
                let mut draw = || -> Vec<f64> { (0..3).map(|_| rng.random_range(0.05..3.0)).collect() };
                let (values, mut own) = (draw(), draw());
                if shares {
                    let total: f64 = own.iter().sum();
                    own.iter_mut().for_each(|share| *share /= total);
                }
                reader.free.insert(argument.clone(), values);
                reader.free.insert(auxiliary.clone(), own);
                let value = |reader: &Reader<'_>, tree| {
                    reader.value(tree, &mut Vec::new()).map_err(|own| at_row(row, &own))
                };
                let difference = value(&reader, &row.left)? - value(&reader, &row.right)?;
                if !(if row.sign == ">=" { difference >= -1e-12 } else { difference <= 1e-12 }) {
                    return Err(at_row(row, &format!("left less right is {difference}")));
                }
                let mut best = Vec::new();
                for category in 0..3 {
                    let mut letters: Vec<(String, usize)> = Vec::new();
                    if let Tree::Name(_, subscripts) = &optimum.left
                        && let [Tree::Name(letter, _)] = subscripts.as_slice()
                    {
                        letters.push((letter.clone(), category));
                    }
                    best.push(
                        reader.value(&optimum.right, &mut letters).map_err(|own| at_row(optimum, &own))?,
                    );
                }
                if matches!(optimum.left, Tree::Power(..)) {
                    best.iter_mut().for_each(|square| *square = square.sqrt());
                }
                reader.free.insert(auxiliary.clone(), best);
                let (left, right) = (value(&reader, &row.left)?, value(&reader, &row.right)?);
                let own = deviation(left, right, 1.0);
                largest = largest.max(own);
                if own > 1e-12 {
                    return Err(at_row(row, &format!("at {} it is {left} against {right}", optimum.shown)));
                }
            }
            tally.row(row);
            tally.equal(optimum, largest);
        }
        Ok(())
    }
}
