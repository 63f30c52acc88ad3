//! Standard form: parameters, expectations, entropies and log-normalisers are those that the family computes, in numbers,
//! from the natural parameters that are printed.

use std::collections::VecDeque;

use cavi_algebra::print::{Format, Formula, Standard as _};
use cavi_algebra::{BlockId, Elementary, Mode, Statistic};
use cavi_families::{Batch, Extent, posterior, views, views_mut};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::page::Page;
use crate::read::{Range, Tree, read};
use crate::rows::{Row, at_row, defined, letters_in, rows, unassigned};
use crate::tally::{Tally, deviation};
use crate::world::World;

/// How far apart the coefficients of a point may be for its mode to be compared to 1e-7.
const FAR: f64 = 1e8;

/// The largest of two lists of numbers, by absolute value: the scale of a vector or a matrix as a whole.
fn largest_of(printed: &[f64], numbers: &[f64]) -> f64 {
    let all = printed.iter().chain(numbers).map(|own| own.abs());
    all.filter(|own| own.is_finite()).fold(0.0, f64::max)
}

impl Page<'_> {
    /// The standard form of each block: what it says of the parameters, the expectations and the entropy of q is what the
    /// family computes from the natural parameters that are printed above it.
    pub(crate) fn check_standard(&self, rng: &mut ChaCha8Rng, tally: &mut Tally) -> Result<(), String> {
        for (index, block) in self.subject.equations.blocks.iter().enumerate() {
            if block.is_point() {
                self.check_mode(BlockId::from(index), rng, tally)?;
            } else if block.mode != Mode::Fixed {
                self.check_family(BlockId::from(index), rng, tally)?;
            }
        }
        Ok(())
    }

    /// The closed form of a point: what it says is the mode that the family computes from the coefficients that are printed, those of
    /// logs at least 0 where the program says `clamp`.
    fn check_mode(&self, id: BlockId, rng: &mut ChaCha8Rng, tally: &mut Tally) -> Result<(), String> {
        let block = self.subject.equations.block(id);
        // Groups of a slice sum to 1 each for itself.
        let family = posterior(block.family);
        let ragged = block.ragged_slice(self.symbols()).is_some();
        if block.ascent.is_some() || block.members.len() > 1 || ragged {
            return Ok(());
        }
        let rows = rows(&self.derivation.printed_steps(id, Format::Text), self.symbols())?;
        let rows = || rows.iter().filter(|row| row.section == "Update");
        // The matrix that it inverts, and the inverse, stand before the point.
        let stated: Vec<&Row> = rows()
            .filter(|row| matches!(row.left, Tree::Name(..)) && ["=", "∝"].contains(&row.sign))
            .collect();
        let Some((mode, matrices)) = stated.split_last() else { return Ok(()) };
        let Some(letters) = self.letters_of_copy(id, rng) else { return Ok(()) };
        let mut reader = self.reader();
        reader.defined.splice(0..0, matrices.iter().filter_map(|row| defined(row)));
        let values = |row: &Row| -> Result<Vec<f64>, String> {
            let mut at = letters.clone();
            let range = Range { letters: unassigned(&row.left, &at), conditions: Vec::new() };
            let mut found = Vec::new();
            let each = reader.each(&range, Some(&row.left), &mut at, &mut |at| {
                found.push(reader.value(&row.right, at)?);
                Ok(())
            });
            each.map_err(|own| at_row(row, &own)).map(|()| found)
        };
        let mut coefficients = Vec::new();
        for (row, own) in rows().filter(|row| matches!(row.left, Tree::Call(..))).zip(family.statistics()) {
            let mut column = values(row)?;
            let logs = [Elementary::Log, Elementary::LogComplement];
            let of_log = matches!(own.statistic.0.as_slice(), [(_, own)] if logs.contains(own));
            if block.clamp && of_log {
                column.iter_mut().for_each(|value| *value = value.max(0.0));
            }
            // Of data without a square or a rate the formula is 0/0, and the family has another.
            if !of_log && matrices.is_empty() && column.contains(&0.0) {
                return Ok(());
            }
            coefficients.push(column);
        }
        let mut printed = values(mode)?;
        if mode.sign == "∝" {
            let total: f64 = printed.iter().sum();
            printed.iter_mut().for_each(|value| *value /= total);
        }
        let lengths = coefficients.iter().zip(family.statistics()).map(|(own, stated)| match stated.extent {
            Extent::Scalar | Extent::Vector => own.len(),
            Extent::Matrix | Extent::Pairs => own.len().isqrt(),
        });
        let longest = lengths.max().unwrap_or(0);
        if coefficients.len() != family.statistics().len() || printed.len() != longest {
            return Ok(());
        }
        // A formula whose terms cancel keeps no digits where coefficients are too far apart; the family takes a form that does.
        let sizes = coefficients.iter().flatten().map(|value| value.abs()).filter(|size| *size > 0.0);
        let (least, most) =
            sizes.fold((f64::INFINITY, 0.0_f64), |(least, most), own| (least.min(own), most.max(own)));
        if most > FAR * least && matrices.is_empty() {
            return Ok(());
        }
        let mut value = vec![0.0; longest];
        // A few values of a latent may give no largest value.
        if family.mode(&Batch::of(1, longest), &views(&coefficients), &mut value).is_err() {
            return Ok(());
        }
        let mut largest = 0.0_f64;
        let whole = largest_of(&printed, &value);
        // 0/0 is 0 at a boundary.
        for (printed, number) in
            printed.iter().zip(&value).filter(|(printed, number)| !printed.is_nan() || **number != 0.0)
        {
            let own = deviation(*printed, *number, whole);
            largest = largest.max(own);
            if own > 1e-7 {
                return Err(at_row(mode, &format!("{printed} is printed, the family has {number}")));
            }
        }
        tally.equal(mode, largest);
        matrices.iter().for_each(|row| tally.row(row));
        Ok(())
    }

    fn check_family(&self, id: BlockId, rng: &mut ChaCha8Rng, tally: &mut Tally) -> Result<(), String> {
        let block = self.subject.equations.block(id);
        let rows = rows(&self.derivation.printed_steps(id, Format::Text), self.symbols())?;
        let rows: Vec<&Row> = rows.iter().filter(|row| row.section == "Update").collect();
        let family = posterior(block.family);
        // Several vectors beside each other are told in words.
        if block.members.len() > 1 && family.one_vector() {
            return Ok(());
        }
        let Some(letters) = self.letters_of_copy(id, rng) else { return Ok(()) };
        let mut reader = self.reader();
        for row in &rows {
            let own = defined(row).filter(|own| !own.name.starts_with("q("));
            reader.defined.splice(0..0, own);
        }
        let values = |row: &Row| -> Result<Vec<f64>, String> {
            let mut at = letters.clone();
            let slots = unassigned(&row.left, &at);
            let mut found = Vec::new();
            let range = Range { letters: slots, conditions: Vec::new() };
            // A parameter by its name, which leads to what defines it.
            let tree = match &row.left {
                Tree::Name(name, subscripts) => {
                    let letters = letters_in(subscripts).into_iter().map(|own| Tree::Name(own, Vec::new()));
                    Tree::Name(name.clone(), letters.collect())
                }
                _ => row.right.clone(),
            };
            reader
                .each(&range, Some(&row.left), &mut at, &mut |at| {
                    found.push(reader.value(&tree, at)?);
                    Ok(())
                })
                .map_err(|own| at_row(row, &own))?;
            Ok(found)
        };
        let added = |row: &Row| -> Result<f64, String> {
            let mut at = letters.clone();
            let range = Range { letters: unassigned(&row.left, &at), conditions: Vec::new() };
            let mut most = 0.0_f64;
            // What is stated as a whole matrix has no elements.
            if !matches!(&row.left, Tree::Name(_, subscripts) if subscripts.iter().any(|own| matches!(own, Tree::Slice(_))))
            {
                reader
                    .each(&range, Some(&row.left), &mut at, &mut |at| {
                        most = most.max(reader.summed_size(&row.right, at)?);
                        Ok(())
                    })
                    .map_err(|own| at_row(row, &own))?;
            }
            Ok(most)
        };
        let (natural_rows, rest): (Vec<&Row>, Vec<&Row>) =
            rows.into_iter().partition(|row| match &row.left {
                Tree::Call(name, _) => {
                    !["E", "Var", "Cov", "H", "A", "B", "G", "log_normaliser"].contains(&name.as_str())
                }
                _ => false,
            });
        let mut natural = Vec::new();
        for row in &natural_rows {
            natural.push(values(row)?);
        }
        let extents: Vec<Extent> = family.statistics().iter().map(|own| own.extent).collect();
        let n = extents
            .iter()
            .zip(&natural)
            .map(|(extent, own)| match extent {
                Extent::Scalar => 1,
                Extent::Vector => own.len(),
                Extent::Matrix | Extent::Pairs => own.len().isqrt(),
            })
            .max()
            .unwrap_or(1);
        if n == 0 {
            return Ok(());
        }
        let batch = Batch::of(1, n);
        let mut descriptors: Vec<Vec<f64>> =
            family.descriptors().iter().map(|own| vec![0.0; batch.len(own.extent)]).collect();
        // A few values of a latent may give no distribution.
        if family.describe(&batch, &views(&natural), &mut views_mut(&mut descriptors)).is_err() {
            return Ok(());
        }
        let expected = |which: usize| {
            let mut out = vec![0.0; batch.len(family.expectations()[which].extent)];
            family.expect(&batch, &views(&descriptors), which, &mut out);
            out
        };
        let stated = cavi_families::standard();
        let of = |all: Vec<(Statistic, Formula)>| all.into_iter().map(|(statistic, _)| statistic).collect();
        let mut statistics: VecDeque<Statistic> = of(stated.expectations(block.family));
        // Where a parameter is 0, the rows behind a sentence that says so hold in the place of those before.
        let zero_of = |row: &Row| -> Result<Option<(Tree, bool)>, String> {
            let name = row.lead.strip_prefix("Where ").and_then(|rest| rest.split_once(" is 0, these stand"));
            let Some((name, _)) = name else { return Ok(None) };
            let tree = read(name, self.symbols())?;
            let value = reader.value(&tree, &mut letters.clone()).map_err(|own| at_row(row, &own))?;
            Ok(Some((tree, value == 0.0)))
        };
        let zeros = rest.iter().map(|row| zero_of(row)).collect::<Result<Vec<_>, String>>()?;
        let at_limit = zeros.iter().flatten().any(|(_, is_zero)| *is_zero);
        let mut lead = "";
        // How many times what is added up is larger than what comes of it, of the parameters so far: so much of their digits is lost.
        let mut lost = 1.0_f64;
        for (row, zero) in rest.into_iter().zip(&zeros) {
            if let Some((tree, _)) = zero.as_ref().filter(|_| row.lead != lead) {
                let parameters = stated.standard(block.family);
                let is_own = |place: usize| matches!(tree, Tree::Name(name, _) if name.trim_end_matches("_q") == parameters[place].name);
                let limit = stated.limits(block.family).into_iter().find(|own| is_own(own.parameter));
                let limit = limit.ok_or_else(|| at_row(row, "the family has no such limit"))?;
                (lead, statistics) = (&row.lead, of(limit.expectations));
            }
            let skipped = match zero {
                Some((_, is_zero)) => !is_zero,
                None => {
                    at_limit
                        && (!matches!(row.left, Tree::Name(..))
                            || values(row)?.iter().any(|own| !own.is_finite()))
                }
            };
            let numbers = match &row.left {
                Tree::Call(name, _) if ["H", "A", "B", "G", "log_normaliser"].contains(&name.as_str()) => {
                    let mut out = [0.0];
                    family.entropy(&batch, &views(&descriptors), &mut out);
                    out.to_vec()
                }
                Tree::Call(..) | Tree::Probability(..) => match statistics.pop_front() {
                    Some(statistic) => {
                        let which = family.expectations().iter().position(|own| own.statistic == statistic);
                        expected(which.ok_or_else(|| at_row(row, "the family does not answer it"))?)
                    }
                    // The second moment that follows from a mean and a covariance.
                    None => {
                        let of = |statistic: &Statistic| family.expectation_of(statistic).map(&expected);
                        let mean = of(&Statistic::identity()).ok_or_else(|| at_row(row, "no mean"))?;
                        let spread =
                            of(&Statistic::covariance()).ok_or_else(|| at_row(row, "no covariance"))?;
                        let pairs = mean.iter().flat_map(|a| mean.iter().map(move |b| a * b));
                        pairs.zip(spread).map(|(square, spread)| square + spread).collect()
                    }
                },
                Tree::Name(name, _) => {
                    match family.descriptors().iter().position(|own| own.name == name.trim_end_matches("_q"))
                    {
                        Some(which) => descriptors[which].clone(),
                        None => continue,
                    }
                }
                _ => continue,
            };
            if skipped {
                continue;
            }
            let printed = values(row)?;
            if printed.len() != numbers.len() {
                return Err(at_row(
                    row,
                    &format!("{} numbers are printed of {}", printed.len(), numbers.len()),
                ));
            }
            let mut largest = 0.0_f64;
            let whole = largest_of(&printed, &numbers);
            let added = added(row)? * lost;
            if matches!(row.left, Tree::Name(..)) && added.is_finite() && whole > 0.0 {
                lost = lost.max(added / whole);
            }
            // Entropies and log-normalisers are sums of logarithms.
            let logs = ["H", "A", "B", "G", "log_normaliser"];
            let of_logs = matches!(&row.left, Tree::Call(name, _) if logs.contains(&name.as_str()));
            let whole = if of_logs { whole.max(1.0) } else { whole };
            // What a few values of a latent do not determine, as a covariance whose degrees of freedom are too few, is no number.
            for (printed, number) in printed.iter().zip(&numbers).filter(|(_, number)| number.is_finite()) {
                // A formula whose addends cancel has the digits of these.
                let own = deviation(*printed, *number, whole.max(1e-2 * added));
                largest = largest.max(own);
                if own > 1e-7 {
                    return Err(at_row(row, &format!("{printed} is printed, the family has {number}")));
                }
            }
            tally.equal(row, largest);
        }
        Ok(())
    }

    /// The letters of some copy of a block, by the names that they have in print.
    pub(crate) fn letters_of_copy(&self, id: BlockId, rng: &mut ChaCha8Rng) -> Option<Vec<(String, usize)>> {
        let symbols = self.symbols();
        let block = self.subject.equations.block(id);
        let mut world = World::new(&self.subject.model.symbols, self.bound).nowhere();
        world.resize(symbols.letters.len(), None);
        let world_of = World::new(symbols, self.bound);
        let mut all = Vec::new();
        world_of.each(&block.copies(symbols), &mut world, &mut |at| all.push(at.clone()));
        if all.is_empty() {
            return None;
        }
        let own = all.swap_remove(rng.random_range(0..all.len()));
        let named = symbols.letters.iter().zip(own);
        Some(named.filter_map(|(letter, place)| Some((letter.name.clone(), place?))).collect())
    }
}
