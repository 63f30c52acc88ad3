//! Steps of an update: each is worth what the one before it is, as one copy moves; `>=` at the held allocations.

use cavi_algebra::print::Format;
use cavi_algebra::{BlockId, Natural, SiteId};
use cavi_families::posterior;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::page::{ALTERNATIVES, Gain, Page, unflat, written_positions};
use crate::read::{Range, Tree};
use crate::rows::{Row, at_row, letters_in, of_one_copy, rows, unassigned};
use crate::tally::Tally;
use crate::value::Copy;

/// A difference of two densities keeps no digits below this share of them, in units of the slack.
const ROUNDING: f64 = 1e-4;

impl Page<'_> {
    /// The steps of each block, as one copy moves.
    pub(crate) fn check_steps(&self, rng: &mut ChaCha8Rng, tally: &mut Tally) -> Result<(), String> {
        for index in 0..self.subject.equations.blocks.len() {
            self.check_block(BlockId::from(index), rng, tally)?;
        }
        Ok(())
    }

    fn check_block(&self, id: BlockId, rng: &mut ChaCha8Rng, tally: &mut Tally) -> Result<(), String> {
        let rows = rows(&self.derivation.printed_steps(id, Format::Text), self.symbols())?;
        let block = self.subject.equations.block(id);
        let symbols = self.symbols();
        let member = block.members[0];
        let shape = self.bound.shape(symbols, member);
        let size: usize = shape.iter().product();
        if size == 0 {
            return Ok(());
        }
        // An entry that does not exist has no factor.
        let exists = |place: &usize| symbols.array(member).has_entry(&unflat(&shape, *place));
        let first = rng.random_range(0..size);
        let Some(place) = (first..size).chain(0..first).find(exists) else { return Ok(()) };
        let element = unflat(&shape, place);
        let reader = self.reader();
        let copy = reader.copy_of(member, &element).ok_or("a member has a copy")?;
        // Where one copy has the last alternative.
        let mut moved = self.alternatives[0].clone();
        for own in &block.members {
            let shape = self.bound.shape(symbols, *own);
            let values = moved[own.index()].as_mut().expect("a latent has values");
            for (place, value) in values.iter_mut().enumerate() {
                if reader.copy_of(*own, &unflat(&shape, place)).as_ref() == Some(&copy) {
                    let last = self.alternatives[ALTERNATIVES][own.index()].as_ref();
                    *value = last.expect("as the first has")[place];
                }
            }
        }
        let gain = |row: &Row, letters: &mut Vec<(String, usize)>| -> Gain {
            let value = |moves: bool, letters: &mut Vec<(String, usize)>| {
                let mut reader = self.reader();
                reader.mass = true;
                let mut held = self.reader();
                held.mass = true;
                reader.held = Some(Box::new(held));
                reader.moved = moves.then(|| copy.clone());
                let value = reader.value(&row.right, letters).map_err(|own| at_row(row, &own))?;
                let size = reader.summed_size(&row.right, letters).map_err(|own| at_row(row, &own))?;
                Ok::<_, String>((value, if size.is_finite() { size } else { value.abs() }))
            };
            let (before, after) = (value(false, letters)?, value(true, letters)?);
            Ok((after.0 - before.0, before.1.max(after.1)))
        };
        let mut last: Vec<(usize, f64)> = Vec::new();
        let mut bounded: Vec<usize> = Vec::new();
        let mut scale = 0.0_f64;
        let mut letters: Vec<(String, usize)> = Vec::new();
        let mut of_copy = None;
        for row in &rows {
            if let Some((factor, subscripts)) = of_one_copy(&row.left, &symbols.array(member).name) {
                let positions = written_positions(self, member, &element);
                let own: Vec<(String, usize)> = letters_in(subscripts).into_iter().zip(positions).collect();
                let plates = own.iter().zip(subscripts).filter(|(_, own)| !matches!(own, Tree::Slice(_)));
                letters = plates.map(|(letter, _)| letter.clone()).collect();
                self.check_copy(id, row, &last, scale, tally, &|row| gain(row, &mut own.clone()))?;
                let weights = factor.iter().map(|own| self.reader().value(own, &mut letters.clone()));
                let weight = weights.product::<Result<f64, String>>().map_err(|own| at_row(row, &own))?;
                of_copy = Some((gain(row, &mut own.clone())?, weight));
            }
            let Some(statement) = self.statement(&row.left) else { continue };
            let (own, size) = gain(row, &mut Vec::new())?;
            let (to, from) =
                (self.density(statement, &moved), self.density(statement, &self.alternatives[0]));
            let density = to - from;
            // Terms are compared on their own scale, as far as their difference has digits.
            let lost = if density.is_finite() { ROUNDING * to.abs().max(from.abs()) } else { 0.0 };
            scale = scale.max(size).max(lost);
            let slack = 1e-9 * scale;
            let before =
                last.iter().rev().find(|(known, _)| *known == statement).map_or(density, |own| own.1);
            let holds = match row.sign {
                "=" => (own - before).abs() <= slack,
                // Of one bound the steps are worth the same.
                ">=" if bounded.contains(&statement) => (own - before).abs() <= slack,
                ">=" => own <= before + slack,
                _ => false,
            };
            // What a draw does not allow.
            let impossible = !before.is_finite() || !own.is_finite();
            if !holds && !impossible {
                return Err(at_row(row, &format!("it gains {own}, the step before {before}")));
            }
            last.push((statement, own));
            if row.sign == ">=" {
                bounded.push(statement);
            }
            let own = if row.sign == "=" && !impossible { (own - before).abs() / scale } else { 0.0 };
            tally.equal(row, own);
        }
        let natural: Vec<&Row> = rows.iter().filter(|row| is_natural(row)).collect();
        match of_copy {
            Some(((gained, size), weight)) if !self.moves_as_one(id) => {
                self.check_natural(id, &natural, (&copy, weight), &letters, (gained, size.max(scale)), tally)
            }
            _ => Ok(()),
        }
    }

    /// `eta(log w[i]) = ...`: natural parameters, and what the base measure of the family adds to them, are what multiplies the
    /// statistics of a copy. As the copy moves, `log q` gains as much as the statistics do, times these, and what stands on the
    /// right of `m[i] * log q(w[i])` as much as `m[i]` times that.
    fn check_natural(
        &self,
        id: BlockId,
        rows: &[&Row],
        (copy, weight): (&Copy, f64),
        letters: &[(String, usize)],
        (gained, size): (f64, f64),
        tally: &mut Tally,
    ) -> Result<(), String> {
        let reader = |moves: bool| {
            let mut reader = self.reader();
            reader.mass = true;
            let mut held = self.reader();
            held.mass = true;
            reader.held = Some(Box::new(held));
            reader.moved = moves.then(|| copy.clone());
            reader
        };
        let (before, after) = (reader(false), reader(true));
        let (mut total, mut size) = (0.0, size);
        for (row, base) in rows.iter().zip(self.base(id)) {
            let Tree::Call(_, statistic) = &row.left else { continue };
            let mut at = letters.to_vec();
            let range = Range { letters: unassigned(&row.left, &at), conditions: Vec::new() };
            let each = before.each(&range, Some(&row.left), &mut at, &mut |at| {
                let coefficient = before.value(&row.right, at)? + base;
                let (new, old) = (after.value(&statistic[0], at)?, before.value(&statistic[0], at)?);
                total += coefficient * (new - old);
                size = size.max((coefficient * new).abs()).max((coefficient * old).abs());
                Ok(())
            });
            each.map_err(|own| at_row(row, &own))?;
        }
        let Some(last) = rows.last() else { return Ok(()) };
        total *= weight;
        let finite = total.is_finite() && gained.is_finite();
        if finite && (total - gained).abs() > 1e-9 * size {
            return Err(at_row(last, &format!("the statistics gain {total}, log q gains {gained}")));
        }
        rows.iter()
            .for_each(|row| tally.equal(row, if finite { (total - gained).abs() / size } else { 0.0 }));
        Ok(())
    }

    /// What the base measure adds to each natural parameter of a block; a point has none.
    fn base(&self, id: BlockId) -> Vec<f64> {
        let block = self.subject.equations.block(id);
        let family = posterior(block.family);
        let letter = block.slices.first().and_then(|slice| slice.first());
        let length = letter.map_or(0, |letter| self.bound.size_of(self.symbols(), *letter)) as f64;
        let (base, per_element) = (family.base(), family.base_per_element());
        let of = |natural: &Natural| match family.place_of(&natural.statistic) {
            Some(place) if !block.is_point() => base[place] + length * per_element[place],
            _ => 0.0,
        };
        block.natural.iter().map(of).collect()
    }

    /// Whether more moves than one copy: the copies of all groups of a ragged slice move together, and implicit factors are no
    /// values.
    fn moves_as_one(&self, id: BlockId) -> bool {
        let sites = (0..self.subject.equations.sites.len()).map(SiteId::from);
        let mut implicit = sites.map(|site| self.subject.equations.implicit(site));
        self.subject.equations.block(id).ragged_slice(self.symbols()).is_some()
            || implicit.any(|own| own.is_some())
    }

    /// `log q(w) = ... + const`: as a function of one copy it is worth the steps of all statements together; a bound that is
    /// asked for is worth no more, and touches where the copy is.
    fn check_copy(
        &self,
        id: BlockId,
        row: &Row,
        last: &[(usize, f64)],
        scale: f64,
        tally: &mut Tally,
        gain: &dyn Fn(&Row) -> Gain,
    ) -> Result<(), String> {
        if self.moves_as_one(id) {
            return Ok(());
        }
        let mut newest: Vec<(usize, f64)> = Vec::new();
        for (statement, own) in last {
            newest.retain(|(known, _)| known != statement);
            newest.push((*statement, *own));
        }
        let before: f64 = newest.iter().map(|(_, own)| own).sum();
        let (own, size) = gain(row)?;
        let slack = 1e-9 * scale.max(size);
        let holds = match row.sign {
            "=" => (own - before).abs() <= slack,
            _ => own <= before + slack,
        };
        if !holds && before.is_finite() && own.is_finite() {
            return Err(at_row(row, &format!("it gains {own}, the steps before {before}")));
        }
        let finite = row.sign == "=" && before.is_finite() && own.is_finite();
        tally.equal(row, if finite { (own - before).abs() / scale.max(size) } else { 0.0 });
        Ok(())
    }
}

/// Whether a row states a natural parameter.
fn is_natural(row: &Row) -> bool {
    const OTHERS: [&str; 11] =
        ["E", "Var", "Cov", "H", "A", "B", "G", "log_normaliser", "log", "q", "objective"];
    row.section == "Update"
        && row.sign == "="
        && matches!(&row.left, Tree::Call(name, inside) if inside.len() == 1 && !OTHERS.contains(&name.as_str()))
}
