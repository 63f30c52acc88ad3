//! Every relation that a derivation prints is true, read back from the page itself.
//!
//! The rows of all formats and of `--explain` are parsed from their text and evaluated at random data, under a q that
//! gives each of two alternatives of every copy the same probability: an expectation is then a finite sum, and what a page
//! says of expectations must hold for this q as for any other. Left sides are the densities that are written a second time,
//! from the text of the programs (`tests/support/density.rs`).
//!
//! - Log joint: equal to 1e-11 of the scale of its terms.
//! - Inequalities of bounds: by their sign at many points, and equal at the stated optimum.
//! - Evidence lower bound: `=` within 4 standard errors of the average over draws, `>=` not above it by more.
//! - Standard form: parameters, expectations, entropies and log-normalisers are those that the family computes, in numbers,
//!   from the natural parameters that are printed.
//! - Remarks: the mean that a factor comes to is the ratio of its parameters, with the constants of its statement at 0.
//! - Steps of an update: each is worth what the one before is, as one copy moves; `>=` at the held allocations.

use std::sync::atomic::{AtomicUsize, Ordering};

use cavi_algebra::print::{Columns, Derivation, Format, Level, Notation, Run, Standard as _};
use cavi_algebra::{ArrayId, ArrayKind, Atom, BlockId, Mode, Statistic, Support};
use cavi_executor::{Bound, BoundArray, start};
use cavi_families::{Batch, Extent, posterior, views, views_mut};
use cavi_tests::support::{
    Defined, Program, Range, Reader, Row, Shape, Tree, World, alternatives, at_row, defined, free_letters,
    free_names, letters_in, log_density_of, of_one_copy, programs, random_bound, rows, unassigned,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Alternatives of a copy under q; one more is for the copy that moves.
const ALTERNATIVES: usize = 2;
/// Draws of an average.
const DRAWS: usize = 1500;
/// The signs of bounds.
const INEQUALITIES: [&str; 2] = [">=", "<="];
/// Standard errors.
const ERRORS: f64 = 4.0;

/// How many bounds were found to lie below what they bound by more than the error of the average: with `=` these rows would
/// be wrong, and this test would say so.
static STRICT: AtomicUsize = AtomicUsize::new(0);

type Latents = Vec<Option<Vec<f64>>>;
/// An implicit factor, with the probabilities of its classes at each position.
type Shares = (ArrayId, Vec<Vec<f64>>);
/// What a row gains as a copy moves, and the size of what is compared.
type Gain = Result<(f64, f64), String>;

/// Everything that the checks of one program share.
struct Page<'a> {
    program: &'a Program,
    bound: &'a Bound,
    alternatives: &'a [Latents],
    rows: Vec<Row>,
    defined: Vec<Defined>,
}

/// As in a program that says nothing of its symbols.
static NOTATION: Notation = Notation { chosen: Vec::new(), taken: Vec::new() };

/// As in a program that says nothing of its run.
static RUN: Run = Run {
    start: Vec::new(),
    restarts: None,
    warmup: Vec::new(),
    means: Vec::new(),
    left_out: false,
    stop: None,
    other_allocations: false,
    sweeps: None,
};

/// The derivation of a program, as a whole page.
pub fn derivation(program: &Program) -> Derivation<'_> {
    static STANDARD: std::sync::LazyLock<Box<dyn cavi_algebra::print::Standard + Send + Sync>> =
        std::sync::LazyLock::new(|| Box::new(cavi_families::standard()));
    Derivation {
        equations: &program.equations,
        program: &[],
        stated: &[],
        defined: &[],
        notation: &NOTATION,
        standard: &**STANDARD,
        run: &RUN,
        schedule: None,
        level: Level::default(),
        columns: Columns::One,
        about: &[],
    }
}

impl<'a> Page<'a> {
    fn new(program: &'a Program, bound: &'a Bound, alternatives: &'a [Latents]) -> Result<Page<'a>, String> {
        let rows = rows(&derivation(program).printed(Format::Text))?;
        let symbols = &program.equations.symbols;
        let new = |row: &Row| match &row.left {
            Tree::Name(name, _) => symbols.find(name).is_none(),
            _ => true,
        };
        let mut shared = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            // Where both sides of a bound are equal follows it, in letters of its own.
            let follows =
                number.checked_sub(1).is_some_and(|before| INEQUALITIES.contains(&rows[before].sign));
            let implicit = row.sign == "∝" && row.section == "Updates" && new(row);
            let own = row.section == "Bounds" && !follows && !INEQUALITIES.contains(&row.sign);
            if own || implicit || matches!(row.left, Tree::Probability(..)) {
                shared.extend(defined(row));
            }
        }
        let defined = shared;
        Ok(Page { program, bound, alternatives, rows, defined })
    }

    fn reader(&self) -> Reader<'a> {
        let mut reader = Reader::new(self.program, self.bound, self.alternatives);
        reader.defined.clone_from(&self.defined);
        reader
    }

    fn symbols(&self) -> &'a cavi_algebra::Symbols {
        &self.program.equations.symbols
    }

    /// The number of the statement of a density: `log p(x | ...)`.
    fn statement(&self, tree: &Tree) -> Option<usize> {
        let Tree::Call(log, inside) = tree else { return None };
        let [Tree::Call(p, target)] = inside.as_slice() else { return None };
        let [Tree::Name(name, _)] = target.as_slice() else { return None };
        if log != "log" || p != "p" {
            return None;
        }
        let statements = &self.program.equations.statements;
        statements.iter().position(|own| self.symbols().array(own.target).name == *name)
    }

    /// The log-density of a statement at values of all latents.
    fn density(&self, statement: usize, latents: &Latents) -> f64 {
        let mut world = World::new(&self.program.model.symbols, self.bound);
        world.latents.clone_from(latents);
        log_density_of(&self.program.model, &world, statement)
    }

    /// `log p(x) = ...` at values.
    fn check_log_joint(&self) -> Result<usize, String> {
        let mut checked = 0;
        for row in self.rows.iter().filter(|row| ["Log joint", "Objective"].contains(&row.section.as_str())) {
            let Some(statement) = self.statement(&row.left) else { continue };
            let found = self.reader().value(&row.right, &mut Vec::new()).map_err(|own| at_row(row, &own))?;
            let stated = self.density(statement, &self.alternatives[0]);
            if !same(found, stated, 1e-11) {
                return Err(at_row(row, &format!("{found} is printed, {stated} is the density")));
            }
            checked += 1;
        }
        Ok(checked)
    }

    /// An inequality by its sign, and where it is said to be tight.
    fn check_bounds(&self, rng: &mut ChaCha8Rng) -> Result<usize, String> {
        let mut checked = 0;
        let bounds: Vec<&Row> = self.rows.iter().filter(|row| row.section == "Bounds").collect();
        for (number, row) in bounds.iter().enumerate().filter(|(_, row)| INEQUALITIES.contains(&row.sign)) {
            let names = free_names(row);
            let [argument, auxiliary] = names.as_slice() else {
                return Err(at_row(row, &format!("its names are {names:?}")));
            };
            let optimum = bounds.get(number + 1).filter(|own| own.sign == "=");
            let optimum = optimum.ok_or_else(|| at_row(row, "where it is tight is not printed"))?;
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
                if !same(left, right, 1e-12) {
                    return Err(at_row(row, &format!("at {} it is {left} against {right}", optimum.shown)));
                }
            }
            checked += 2;
        }
        Ok(checked)
    }

    /// `E[log p(x)] = ...` and `>=`, by draws.
    fn check_elbo(&self, rng: &mut ChaCha8Rng) -> Result<usize, String> {
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
        for count in 1..=DRAWS {
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
            let error = (squares / DRAWS as f64 / (DRAWS - 1) as f64).sqrt();
            let slack = ERRORS * error + 1e-9 * mean.abs().max(1.0);
            let holds = match row.sign {
                "=" => (printed - mean).abs() <= slack,
                ">=" => printed - mean <= slack,
                _ => false,
            };
            if row.sign == ">=" && mean - printed > slack {
                STRICT.fetch_add(1, Ordering::Relaxed);
            }
            if !holds {
                return Err(at_row(row, &format!("{printed} is printed, the average is {mean} +- {error}")));
            }
        }
        Ok(rows.len())
    }

    /// For each implicit factor the probabilities of its classes, by position.
    fn implicit_shares(&self) -> Result<Vec<Shares>, String> {
        let symbols = self.symbols();
        let mut all = Vec::new();
        for id in (0..symbols.arrays.len()).map(ArrayId::from) {
            let array = symbols.array(id);
            if array.kind != ArrayKind::Latent || self.program.equations.block_of(id).is_some() {
                continue;
            }
            let classes = match array.support {
                Support::Index(axis) => self.bound.axes[axis.index()].size,
                _ => 2,
            };
            let name = format!("q({})", array.name);
            let own = self.defined.iter().find(|own| own.name == name);
            let own = own.ok_or_else(|| format!("q({} = ...) is nowhere stated", array.name))?;
            let shape = self.bound.shape(symbols, id);
            let mut shares = Vec::new();
            for place in 0..shape.iter().product() {
                let positions = written_positions(self, id, &unflat(&shape, place));
                let mut row = Vec::new();
                if own.letters.len() == positions.len() {
                    let mut at = own.letters.iter().cloned().zip(positions.iter().copied()).collect();
                    let one = self.reader().value(&own.right, &mut at)?;
                    shares.push(vec![1.0 - one, one]);
                    continue;
                }
                for class in 0..classes {
                    let mut at: Vec<(String, usize)> =
                        own.letters.iter().cloned().zip(positions.iter().copied().chain([class])).collect();
                    row.push(self.reader().value(&own.right, &mut at)?);
                }
                shares.push(row);
            }
            all.push((id, shares));
        }
        Ok(all)
    }

    /// One choice of alternatives for all copies.
    fn draw(&self, implicit: &[Shares], rng: &mut ChaCha8Rng) -> Latents {
        let symbols = self.symbols();
        let reader = self.reader();
        let mut chosen = std::collections::BTreeMap::new();
        let mut latents = self.alternatives[0].clone();
        for id in (0..symbols.arrays.len()).map(ArrayId::from) {
            let Some(values) = latents[id.index()].as_mut() else { continue };
            let shape = self.bound.shape(symbols, id);
            let shares = implicit.iter().find(|(own, _)| *own == id).map(|(_, shares)| shares);
            for (place, value) in values.iter_mut().enumerate() {
                if let Some(shares) = shares {
                    let mut rest: f64 = rng.random();
                    let class = shares[place].iter().position(|share| {
                        rest -= share;
                        rest < 0.0
                    });
                    *value = class.unwrap_or(shares[place].len() - 1) as f64;
                    continue;
                }
                let Some(copy) = reader.copy_of(id, &unflat(&shape, place)) else { continue };
                if self.program.equations.blocks[copy.0].is_point() {
                    continue;
                }
                let own = *chosen.entry(copy).or_insert_with(|| rng.random_range(0..ALTERNATIVES));
                *value = self.alternatives[own][id.index()].as_ref().expect("as the first has")[place];
            }
        }
        latents
    }

    /// The steps of each block, as one copy moves.
    fn check_steps(&self, rng: &mut ChaCha8Rng) -> Result<usize, String> {
        let mut checked = 0;
        for index in 0..self.program.equations.blocks.len() {
            checked += self.check_block(BlockId::from(index), rng)?;
        }
        Ok(checked)
    }

    fn check_block(&self, id: BlockId, rng: &mut ChaCha8Rng) -> Result<usize, String> {
        let rows = rows(&derivation(self.program).printed_steps(id, Format::Text))?;
        let block = self.program.equations.block(id);
        let symbols = self.symbols();
        let member = block.members[0];
        let shape = self.bound.shape(symbols, member);
        let size: usize = shape.iter().product();
        if size == 0 {
            return Ok(0);
        }
        let element = unflat(&shape, rng.random_range(0..size));
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
                reader.value(&row.right, letters).map_err(|own| at_row(row, &own))
            };
            let (before, after) = (value(false, letters)?, value(true, letters)?);
            Ok((after - before, before.abs().max(after.abs()).max(1.0)))
        };
        let mut last: Vec<(usize, f64)> = Vec::new();
        let mut bounded: Vec<usize> = Vec::new();
        let mut scale = 1.0_f64;
        let mut checked = 0;
        for row in &rows {
            if let Some(subscripts) = of_one_copy(&row.left, &symbols.array(member).name) {
                checked += self.check_copy(id, row, &last, scale, &|row| {
                    let positions = written_positions(self, member, &element);
                    gain(row, &mut letters_in(subscripts).into_iter().zip(positions).collect())
                })?;
            }
            let Some(statement) = self.statement(&row.left) else { continue };
            let (own, size) = gain(row, &mut Vec::new())?;
            scale = scale.max(size);
            let slack = 1e-9 * scale;
            let density = self.density(statement, &moved) - self.density(statement, &self.alternatives[0]);
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
            checked += 1;
        }
        Ok(checked)
    }
}

impl Page<'_> {
    /// The expectation of each square, at all its positions.
    fn check_squares(&self) -> Result<usize, String> {
        let rows: Vec<&Row> = self.rows.iter().filter(|row| row.section == "Expected squares").collect();
        for row in &rows {
            let (reader, mut at) = (self.reader(), Vec::new());
            let mut letters = Vec::new();
            free_letters(&row.left, &mut Vec::new(), &mut letters);
            let letters = letters.into_iter().filter(|own| reader.letter(own).is_some()).collect();
            let range = Range { letters, conditions: row.conditions.clone() };
            let mut worst = String::new();
            let each = reader.each(&range, Some(&row.left), &mut at, &mut |at| {
                let (left, right) = (reader.value(&row.left, at)?, reader.value(&row.right, at)?);
                if !same(left, right, 1e-10) {
                    worst = format!("{left} is the average, {right} is printed");
                }
                Ok(())
            });
            each.map_err(|own| at_row(row, &own))?;
            if !worst.is_empty() {
                return Err(at_row(row, &worst));
            }
        }
        Ok(rows.len())
    }

    /// The standard form of each block: what it says of the parameters, the expectations and the entropy of q is what the
    /// family computes from the natural parameters that are printed above it.
    fn check_standard(&self, rng: &mut ChaCha8Rng) -> Result<usize, String> {
        let mut checked = 0;
        for (index, block) in self.program.equations.blocks.iter().enumerate() {
            if !block.is_point() && block.mode != Mode::Fixed {
                checked += self.check_family(BlockId::from(index), rng)?;
            }
        }
        Ok(checked)
    }

    fn check_family(&self, id: BlockId, rng: &mut ChaCha8Rng) -> Result<usize, String> {
        let block = self.program.equations.block(id);
        let rows = rows(&derivation(self.program).printed_steps(id, Format::Text))?;
        let rows: Vec<&Row> = rows.iter().filter(|row| row.section == "Update").collect();
        let family = posterior(block.family);
        // Several vectors beside each other are told in words.
        if block.members.len() > 1 && family.one_vector() {
            return Ok(0);
        }
        let Some(letters) = self.letters_of_copy(id, rng) else { return Ok(0) };
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
        let (natural_rows, rest): (Vec<&Row>, Vec<&Row>) =
            rows.into_iter().partition(|row| match &row.left {
                Tree::Call(name, _) => {
                    !["E", "Var", "Cov", "H", "A", "log_normaliser"].contains(&name.as_str())
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
            return Ok(0);
        }
        let batch = Batch::of(1, n);
        let mut descriptors: Vec<Vec<f64>> =
            family.descriptors().iter().map(|own| vec![0.0; batch.len(own.extent)]).collect();
        // A few values of a latent may give no distribution.
        if family.describe(&batch, &views(&natural), &mut views_mut(&mut descriptors)).is_err() {
            return Ok(0);
        }
        let expected = |which: usize| {
            let mut out = vec![0.0; batch.len(family.expectations()[which].extent)];
            family.expect(&batch, &views(&descriptors), which, &mut out);
            out
        };
        let stated = cavi_families::standard();
        let mut statistics = stated.expectations(block.family).into_iter().map(|(statistic, _)| statistic);
        let mut checked = 0;
        for row in rest {
            let numbers = match &row.left {
                Tree::Call(name, _) if ["H", "A", "log_normaliser"].contains(&name.as_str()) => {
                    let mut out = [0.0];
                    family.entropy(&batch, &views(&descriptors), &mut out);
                    out.to_vec()
                }
                Tree::Call(..) | Tree::Probability(..) => match statistics.next() {
                    Some(statistic) => {
                        let which = family.expectations().iter().position(|own| own.statistic == statistic);
                        expected(which.ok_or_else(|| at_row(row, "the family does not answer it"))?)
                    }
                    // The second moment that follows from a mean and a covariance.
                    None => {
                        let of = |statistic: &Statistic| family.expectation_of(statistic).map(expected);
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
            let printed = values(row)?;
            if printed.len() != numbers.len() {
                return Err(at_row(
                    row,
                    &format!("{} numbers are printed of {}", printed.len(), numbers.len()),
                ));
            }
            for (printed, number) in printed.iter().zip(&numbers) {
                if !same(*printed, *number, 1e-7) {
                    return Err(at_row(row, &format!("{printed} is printed, the family has {number}")));
                }
            }
            checked += 1;
        }
        Ok(checked)
    }

    /// The letters of some copy of a block, by the names that they have in print.
    fn letters_of_copy(&self, id: BlockId, rng: &mut ChaCha8Rng) -> Option<Vec<(String, usize)>> {
        let symbols = self.symbols();
        let block = self.program.equations.block(id);
        let mut world = World::new(&self.program.model.symbols, self.bound).nowhere();
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

impl Page<'_> {
    /// `log q(w) = ... + const`: as a function of one copy it is worth the steps of all statements together; a bound that is
    /// asked for is worth no more, and touches where the copy is.
    fn check_copy(
        &self,
        id: BlockId,
        row: &Row,
        last: &[(usize, f64)],
        scale: f64,
        gain: &dyn Fn(&Row) -> Gain,
    ) -> Result<usize, String> {
        let block = self.program.equations.block(id);
        // The copies of all groups of a ragged slice move together; implicit factors are no values.
        let implicit = self.program.equations.sites.iter().enumerate();
        let implicit =
            implicit.map(|(site, _)| self.program.equations.implicit(site.into())).any(|own| own.is_some());
        if block.ragged_slice(self.symbols()).is_some() || implicit {
            return Ok(0);
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
        Ok(1)
    }
}

impl Page<'_> {
    /// `E[alpha[k]] = ...` with the constants of its own statement at 0: the ratio of its two standard parameters, as these are
    /// printed, where the constants are 0.
    fn check_remarks(&self, rng: &mut ChaCha8Rng) -> Result<usize, String> {
        let mut checked = 0;
        for row in self.rows.iter().filter(|row| row.section == "Remarks") {
            let name = match &row.left {
                Tree::Call(_, inside) => match inside.first() {
                    Some(Tree::Name(name, _)) => name,
                    _ => return Err(at_row(row, "it is about no variable")),
                },
                _ => return Err(at_row(row, "it is about no expectation")),
            };
            let id = self.symbols().find(name).and_then(|array| self.program.equations.block_of(array));
            let id = id.ok_or_else(|| at_row(row, "no factor of q has it"))?;
            let mut bound = self.bound.clone();
            let prior = self.program.equations.block(id).prior.iter();
            for factor in prior.flat_map(|sum| &sum.terms).flat_map(|term| &term.factors) {
                if let Atom::Value(constant, _) = &factor.atom
                    && let Some(BoundArray::Dense { values, .. }) = &mut bound.arrays[constant.index()]
                {
                    values.fill(0.0);
                }
            }
            let about = format!("q({name}");
            let stated = |own: &&Row| own.section == "Updates" && own.about.starts_with(&about);
            let parameters = self.rows.iter().filter(stated).filter(|own| matches!(own.left, Tree::Name(..)));
            let parameters: Vec<&Row> = parameters.collect();
            let Some(mut letters) = self.letters_of_copy(id, rng) else { continue };
            let mut reader = Reader::new(self.program, &bound, self.alternatives);
            reader.defined.clone_from(&self.defined);
            let mut value =
                |own: &Row| reader.value(&own.right, &mut letters).map_err(|problem| at_row(own, &problem));
            let [above, below] = parameters[..] else {
                return Err(at_row(row, &format!("{} parameters are printed", parameters.len())));
            };
            let (ratio, printed) = (value(above)? / value(below)?, value(row)?);
            if !same(printed, ratio, 1e-12) {
                return Err(at_row(row, &format!("{printed} is printed, the parameters give {ratio}")));
            }
            checked += 1;
        }
        Ok(checked)
    }
}

/// The positions of an element as its subscripts are written.
fn written_positions(page: &Page<'_>, id: ArrayId, positions: &[usize]) -> Vec<usize> {
    let symbols = page.symbols();
    let array = symbols.array(id);
    let lineages: Vec<Vec<(cavi_algebra::LetterId, usize)>> = array
        .letters
        .iter()
        .zip(positions)
        .map(|(letter, position)| {
            let mut own = vec![(*letter, *position)];
            let mut place = *position;
            let mut letter = *letter;
            while let Some(parent) = symbols.letter(letter).parent {
                let axis = &page.bound.axes[symbols.letter(letter).axis.index()];
                place = axis.parent.as_ref().expect("a ragged axis has parents")[place];
                letter = parent;
                own.push((letter, place));
            }
            own.reverse();
            own
        })
        .collect();
    symbols.written(id, &lineages).into_iter().map(|(_, position)| position).collect()
}

fn unflat(shape: &[usize], place: usize) -> Vec<usize> {
    let mut rest = place;
    let mut positions: Vec<usize> = shape
        .iter()
        .rev()
        .map(|size| {
            let own = rest % size;
            rest /= size;
            own
        })
        .collect();
    positions.reverse();
    positions
}

fn same(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0) || a.is_nan() && b.is_nan()
}

/// What a check of a page is called, and the check.
type Check = (&'static str, fn(&Page<'_>, &mut ChaCha8Rng) -> Result<usize, String>);

const CHECKS: [Check; 7] = [
    ("log joint", |page, _| page.check_log_joint()),
    ("bounds", |page, rng| page.check_bounds(rng)),
    ("evidence lower bound", |page, rng| page.check_elbo(rng)),
    ("steps", |page, rng| page.check_steps(rng)),
    ("expected squares", |page, _| page.check_squares()),
    ("standard form", |page, rng| page.check_standard(rng)),
    ("remarks", |page, rng| page.check_remarks(rng)),
];

#[test]
fn every_printed_relation_holds() {
    let (mut failed, mut counts) = (Vec::new(), [0; CHECKS.len()]);
    let mut printed = 0;
    for program in programs() {
        for seed in 0..2 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let shape = Shape { smallest: 2, largest: 2, ..Shape::small(seed % 2 == 1) };
            let bound = random_bound(&program.model, shape, &mut rng);
            let parameters = start(&program.equations, &bound, seed);
            let drawn = alternatives(&program, &bound, &parameters, ALTERNATIVES + 1, &mut rng);
            let page = match Page::new(&program, &bound, &drawn) {
                Ok(page) => page,
                Err(problem) => {
                    failed.push(format!("{}: {problem}", program.name));
                    break;
                }
            };
            printed += page.rows.len();
            for ((name, check), count) in CHECKS.iter().zip(&mut counts) {
                match check(&page, &mut rng) {
                    Ok(own) => *count += own,
                    Err(problem) => failed.push(format!("{} (seed {seed}), {name}: {problem}", program.name)),
                }
            }
        }
    }
    let strict = STRICT.load(Ordering::Relaxed);
    let total: usize = counts.iter().sum();
    eprintln!(
        "relations checked: {total} ({counts:?}), of them bounds below what they bound: {strict}; pages have {printed}"
    );
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed.join("\n"));
    assert!(strict > 30, "{strict} bounds are no equalities");
    assert!(counts.iter().all(|count| *count > 20), "{counts:?} relations");
}
