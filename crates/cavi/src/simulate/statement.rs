//! The draw of one statement, given everything that its parameters read.
//!
//! A copy of `x[n, :k] ~ F(a, b)` is drawn for each value of the plates: its parameters are evaluated as the program writes them, brought to
//! the spellings of the density (`sd = s` to `prec = s^-2`), and handed to the family. Entries that do not exist, since a restriction of the
//! array leaves them out or their positions lie in two groups of a ragged axis, are NaN.

use cavi_algebra::evaluate::{Assignment, Environment, for_each_value};
use cavi_algebra::{Array, ArrayId, ArrayKind, Atom, LetterId, Sum, Support, Symbols};
use cavi_executor::{Bound, BoundArray};
use cavi_families::draws::Value;
use cavi_families::{Domain, Extent, Rewrite};
use cavi_model::{ArgumentSpec, Model, Statement};
use cavi_syntax::Diagnostic;
use rand::RngCore;

use crate::bind::known::Known;
use crate::bind::{Existing, Labels, misfit};
use crate::heldout::unflat;

/// A statement that is drawn.
pub(super) struct Drawing<'a> {
    pub model: &'a Model,
    pub bound: &'a Bound,
    pub statement: &'a Statement,
    /// The total of a row of counts by the place of its first element, where the statement does not say it.
    pub total: &'a dyn Fn(usize) -> f64,
    /// The data that a fit saw of it: what lies where it saw none may have no draw, and is left missing.
    pub seen: Option<&'a BoundArray>,
    pub labels: &'a Labels,
}

/// The elements of a variable, and how many of them have no draw where no data were seen, with the reason of the first.
pub(super) struct Drawn {
    pub values: Vec<f64>,
    pub left_out: Option<(usize, String)>,
}

/// A parameter that stands under another name than the density reads.
struct Rewritten {
    symbols: Symbols,
    value: Sum,
}

impl Drawing<'_> {
    /// The elements of the variable in C order of its dimensions; NaN where there is none.
    ///
    /// # Errors
    /// A parameter without a value or outside of its domain, a family without draws, and a draw outside of the type of the data, at the statement.
    pub fn draw(&self, rng: &mut dyn RngCore) -> Result<Drawn, Box<Diagnostic>> {
        let Drawing { model, bound, statement, .. } = self;
        let symbols = &model.symbols;
        let known = Known::new(symbols, &bound.axes, &bound.arrays);
        let shape = bound.shape(symbols, statement.target);
        let existing = Existing::of(symbols, &bound.axes, self.array());
        let nowhere = |cell: usize| existing.has_gaps() && !existing.is_there(&unflat(&shape, cell));
        // What no statement draws is no number; of entries that do not exist nothing is read but that it is one.
        let mut drawn: Vec<f64> =
            (0..shape.iter().product()).map(|cell| if nowhere(cell) { 0.0 } else { f64::NAN }).collect();
        let rewritten = self.rewritten();
        let mut failure = None;
        let mut left_out: Option<(usize, String)> = None;
        for_each_value(symbols, &known, &statement.plates, &mut Assignment::new(), &mut |assignment| {
            if failure.is_some() {
                return;
            }
            let Err(error) = self.copy(&known, &rewritten, (&shape, &existing), assignment, rng, &mut drawn)
            else {
                return;
            };
            let cells = self.cells(&known, (&shape, &existing), assignment);
            let has_data =
                |cell: &usize| self.seen.is_none_or(|seen| seen.entry(&shape, &unflat(&shape, *cell)).1);
            match cells.iter().any(has_data) {
                true => failure = Some(error),
                false => left_out.get_or_insert((0, error.message.clone())).0 += cells.len(),
            }
        });
        failure.map_or(Ok(Drawn { values: drawn, left_out }), Err)
    }

    fn array(&self) -> &Array {
        self.model.symbols.array(self.statement.target)
    }

    fn error(&self, message: String) -> Box<Diagnostic> {
        Box::new(Diagnostic::error("E0906", message).at(self.statement.span, "this is drawn"))
    }

    /// Draws one copy.
    fn copy(
        &self,
        known: &Known<'_>,
        rewritten: &[Option<Rewritten>],
        places: (&[usize], &Existing),
        assignment: &mut Assignment,
        rng: &mut dyn RngCore,
        drawn: &mut [f64],
    ) -> Result<(), Box<Diagnostic>> {
        let cells = self.cells(known, places, assignment);
        let Some(first) = cells.first().copied() else { return Ok(()) };
        let parameters = self.parameters(known, rewritten, first, assignment)?;
        let values: Vec<Option<Value<'_>>> = parameters
            .iter()
            .zip(self.statement.family.parameters().iter().zip(&self.statement.arguments))
            .map(|(elements, (parameter, argument))| {
                let spelling = argument.as_ref().map_or(0, |argument| argument.spelling);
                let read_as = parameter.spellings[spelling].read_as;
                elements.as_ref().map(|elements| Value { elements, read_as })
            })
            .collect();
        let mut out = vec![0.0; cells.len()];
        let array = self.array();
        let refuse = |reason: String| {
            let error = self.error(format!("`{}` cannot be drawn: {reason}", self.place(assignment)));
            Box::new(error.help(format!(
                "give `{}` a prior that has draws, or draw from a fit, which has its value: `cavi simulate DIR`",
                array.name
            )))
        };
        self.statement.family.draw(&values, rng, &mut out).map_err(refuse)?;
        let declared = if array.kind == ArrayKind::Data { array.support } else { Support::Real };
        for (cell, value) in cells.into_iter().zip(out) {
            if let Some(expected) = misfit(declared, value) {
                let family = self.statement.family.name();
                let what = if array.kind == ArrayKind::Data { ", which is declared so," } else { "" };
                let error = self.error(format!(
                    "a draw of `{}`{what} is {value}, and must be {expected}: {family} has draws that are not",
                    array.name
                ));
                return Err(Box::new(
                    error.help("declare a type that holds all draws of the family, or take another family"),
                ));
            }
            drawn[cell] = value;
        }
        Ok(())
    }

    /// The places of the elements of a copy, those that exist.
    fn cells(
        &self,
        known: &Known<'_>,
        (shape, existing): (&[usize], &Existing),
        assignment: &mut Assignment,
    ) -> Vec<usize> {
        let letters = self.model.target_letters(self.statement);
        let mut cells = Vec::new();
        for_each_value(&self.model.symbols, known, &self.statement.slices, assignment, &mut |assignment| {
            let at = |letter: &LetterId| assignment.get(*letter).expect("a letter of the left has a value");
            let place: Vec<usize> = letters.iter().map(at).collect();
            if existing.is_there(&place) {
                cells.push(shape.iter().zip(&place).fold(0, |cell, (size, position)| cell * size + position));
            }
        });
        cells
    }

    /// The numbers of each parameter under its first spelling; of a matrix as it is given.
    fn parameters(
        &self,
        known: &Known<'_>,
        rewritten: &[Option<Rewritten>],
        first: usize,
        assignment: &Assignment,
    ) -> Result<Vec<Option<Vec<f64>>>, Box<Diagnostic>> {
        let statement = self.statement;
        let size = statement
            .slices
            .first()
            .map_or(1, |letter| positions(known, &self.model.symbols, *letter, assignment).len());
        let mut parameters: Vec<Option<Vec<f64>>> = Vec::new();
        for (place, (parameter, argument)) in
            statement.family.parameters().iter().zip(&statement.arguments).enumerate()
        {
            let Some(argument) = argument else {
                let total = statement.family.draws_total() == Some(place);
                parameters.push(total.then(|| vec![(self.total)(first)]));
                continue;
            };
            // What places a kernel is part of the kernel.
            if statement.family.has_kernel() && parameter.extent == Extent::Scalar {
                parameters.push(None);
                continue;
            }
            let spelling = &parameter.spellings[argument.spelling];
            let mut elements = self.elements(known, argument, assignment)?;
            if let Some(wrong) = elements.iter().find(|value| !spelling.domain.holds(**value, size)) {
                return Err(self.outside(assignment, spelling.name, spelling.domain, *wrong));
            }
            if let Some(own) = &rewritten[place] {
                elements = elements.iter().map(|value| own.value(&parameters, *value)).collect();
            }
            parameters.push(Some(elements));
        }
        Ok(parameters)
    }

    /// The copy that is drawn, by its labels: `x[:, f2]`.
    fn place(&self, assignment: &Assignment) -> String {
        let symbols = &self.model.symbols;
        let label = |letter: &LetterId| match assignment.get(*letter) {
            Some(position) if !self.statement.slices.contains(letter) => {
                self.labels.path(symbols, self.bound, symbols.letter(*letter).axis, position).join(", ")
            }
            _ => ":".to_owned(),
        };
        let labels: Vec<String> = self.model.target_letters(self.statement).iter().map(label).collect();
        match labels.is_empty() {
            true => self.array().name.clone(),
            false => format!("{}[{}]", self.array().name, labels.join(", ")),
        }
    }

    fn outside(
        &self,
        assignment: &Assignment,
        parameter: &str,
        domain: Domain,
        value: f64,
    ) -> Box<Diagnostic> {
        let error = self.error(format!(
            "`{}` cannot be drawn: the {parameter} of its {} is {value}, and must be {}",
            self.place(assignment),
            self.statement.family.name(),
            domain.expected()
        ));
        match value == 0.0 || !value.is_finite() {
            true => Box::new(error.help(
                "what it reads has a distribution so vague that its draws leave the range of numbers: give the constants of that \
                 prior other values, `--set NAME=VALUE`",
            )),
            false => error,
        }
    }

    /// The numbers of a parameter as the program writes it.
    fn elements(
        &self,
        known: &Known<'_>,
        argument: &ArgumentSpec,
        assignment: &Assignment,
    ) -> Result<Vec<f64>, Box<Diagnostic>> {
        let symbols = &self.model.symbols;
        let mut assignment = assignment.clone();
        let along: Vec<Vec<usize>> =
            argument.letters.iter().map(|letter| positions(known, symbols, *letter, &assignment)).collect();
        let count: usize = along.iter().map(Vec::len).product();
        let mut elements = Vec::with_capacity(count);
        for element in 0..count {
            let mut rest = element;
            for (letter, positions) in argument.letters.iter().zip(&along).rev() {
                assignment.assign(symbols, known, *letter, positions[rest % positions.len()]);
                rest /= positions.len();
            }
            let value = known.value_of(&argument.value, &mut assignment);
            elements.push(value.ok_or_else(|| {
                let name = self.place(&assignment);
                self.error(format!("`{name}` cannot be drawn: it reads an entry of the data that is missing"))
            })?);
        }
        Ok(elements)
    }

    /// For each parameter under another name how the density's own comes of it.
    fn rewritten(&self) -> Vec<Option<Rewritten>> {
        let parameters = self.statement.family.parameters();
        let each = parameters.iter().zip(&self.statement.arguments).enumerate();
        each.map(|(place, (parameter, argument))| {
            let spelling = &parameter.spellings[argument.as_ref()?.spelling];
            spelling.rewrite.map(|rewrite| Rewritten::new(place, rewrite))
        })
        .collect()
    }
}

impl Rewritten {
    /// In symbols: the parameters before it, and it itself, as constants.
    fn new(place: usize, rewrite: Rewrite) -> Rewritten {
        let mut symbols = Symbols::default();
        let atoms: Vec<Sum> = (0..=place)
            .map(|own| {
                let array =
                    Array { kind: ArrayKind::Constant, ..Array::latent("", Vec::new(), Support::Real) };
                symbols.arrays.push(array);
                Sum::atom(Atom::Value(ArrayId::from(own), Vec::new()))
            })
            .collect();
        let value = rewrite(&mut symbols, &atoms[place], &atoms[..place]);
        Rewritten { symbols, value }
    }

    /// In numbers.
    fn value(&self, before: &[Option<Vec<f64>>], value: f64) -> f64 {
        let number = |own: Option<&Vec<f64>>| own.map(|own| BoundArray::full(own.clone()));
        let mut arrays: Vec<Option<BoundArray>> = before.iter().map(|own| number(own.as_ref())).collect();
        arrays.push(number(Some(&vec![value])));
        let known = Known::new(&self.symbols, &[], &arrays);
        known.value_of_sum(&self.value, &mut Assignment::new()).unwrap_or(f64::NAN)
    }
}

/// The positions that a letter takes, given those of its ancestors.
fn positions(known: &Known<'_>, symbols: &Symbols, letter: LetterId, assignment: &Assignment) -> Vec<usize> {
    let own = symbols.letter(letter);
    let group = own.parent.and_then(|parent| assignment.get(parent));
    known.positions(own.axis, group).collect()
}
