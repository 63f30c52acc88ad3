//! Along which axes rows run, which latents are their own, and whether rows are independent given what they share.
//!
//! Rows are independent given what they share if every statement that reads latents of rows reads those of one row: the row of
//! its left side, by its own letter (`theta[d, k]` in a statement of `n[d, v]`) or by one element of an index array
//! (`u[user[r], k]` in a statement of `y[r]`). A sum over rows, a slice along them, a latent that chooses among them, or two rows at
//! once (`u[i, k] * u[j, k]`) tie rows together: a new row would change the others.

use std::collections::{BTreeMap, BTreeSet};

use cavi_algebra::{ArrayId, ArrayKind, AxisId, Expression, LetterId, Subscript, Support};
use cavi_model::{Model, Statement};
use cavi_syntax::Diagnostic;

/// The axes of a program that rows run along.
pub(crate) struct RowAxes<'m> {
    pub model: &'m Model,
    pub axes: BTreeSet<AxisId>,
}

impl<'m> RowAxes<'m> {
    /// The axes of rows that are scored: see [`crate::heldout::rows`].
    ///
    /// # Errors
    /// Data whose rows and columns are of one axis.
    pub fn of(model: &'m Model) -> Result<RowAxes<'m>, Box<Diagnostic>> {
        let symbols = &model.symbols;
        let root = |letter: LetterId| {
            let lineage = symbols.lineage(letter);
            symbols.letter(lineage[lineage.len() - 1]).axis
        };
        let mut axes = BTreeSet::new();
        let mut later = BTreeSet::new();
        let observed = || model.statements.iter().filter(|statement| statement.observed);
        for statement in observed() {
            let letters = &symbols.array(statement.target).letters;
            axes.extend(letters.first().map(|letter| root(*letter)));
            later.extend(letters.iter().skip(1).map(|letter| root(*letter)));
        }
        let all = axes.clone();
        axes.retain(|axis| !later.contains(axis));
        if let (true, Some(axis)) = (axes.is_empty(), all.first()) {
            let name = &symbols.axis(*axis).name;
            let twice = observed().find(|statement| {
                symbols
                    .array(statement.target)
                    .letters
                    .iter()
                    .filter(|letter| root(**letter) == *axis)
                    .count()
                    > 1
            });
            let statement =
                twice.or_else(|| observed().next()).expect("an axis of data is that of a statement");
            let data = &symbols.array(statement.target).name;
            return Err(Diagnostic::error(
                "E0903",
                format!(
                    "`{data}` has no rows of its own: its rows and its columns are both of axis `{name}`"
                ),
            )
            .at(statement.span, "a new row would be a new column too")
            .possible("data whose first axis is no other axis of data, as documents by words")
            .help(format!(
                "to score entries of `{data}`, hold them out of the fit: `cavi fit ... --heldout {data}=0.1`"
            ))
            .into());
        }
        Ok(RowAxes { model, axes })
    }

    /// The axes of rows as [`RowAxes::of`] has them; of data whose rows and columns are of one axis this one.
    pub fn first_of_data(model: &'m Model) -> RowAxes<'m> {
        RowAxes::of(model).unwrap_or_else(|_| {
            let symbols = &model.symbols;
            let observed = model.statements.iter().filter(|statement| statement.observed);
            let first = observed.filter_map(|own| symbols.array(own.target).letters.first());
            let above = first.flat_map(|letter| symbols.lineage(*letter));
            RowAxes { model, axes: above.map(|letter| symbols.letter(letter).axis).collect() }
        })
    }

    /// Whether an axis is one of rows, or ragged in one.
    pub fn is_row(&self, axis: AxisId) -> bool {
        let parents = std::iter::successors(Some(axis), |axis| self.model.symbols.axis(*axis).parent);
        parents.into_iter().any(|axis| self.axes.contains(&axis))
    }

    /// Whether an array has a row axis.
    pub fn has_rows(&self, array: ArrayId) -> bool {
        let symbols = &self.model.symbols;
        symbols.array(array).letters.iter().any(|letter| self.is_row(symbols.letter(*letter).axis))
    }

    /// New rows along one axis. Where index data choose positions on it (`user[r]`), the rows of these data are new as well.
    pub fn along(model: &'m Model, axis: AxisId) -> RowAxes<'m> {
        let symbols = &model.symbols;
        let mut rows = RowAxes { model, axes: BTreeSet::from([axis]) };
        loop {
            let choosing = symbols.arrays.iter().filter(|array| array.kind == ArrayKind::Data);
            let mut found = BTreeSet::new();
            for array in choosing {
                let Support::Index(chosen) = array.support else { continue };
                let own = |letter: &&LetterId| {
                    array.letters.len() == 1 || symbols.letter(**letter).parent.is_some()
                };
                let along = array.letters.iter().rev().find(own).map(|letter| symbols.letter(*letter).axis);
                found.extend(along.filter(|along| rows.is_row(chosen) && !rows.is_row(*along)));
            }
            if found.is_empty() {
                return rows;
            }
            rows.axes.extend(found);
        }
    }

    /// The latents of rows.
    ///
    /// # Errors
    /// The first statement that ties rows together, with how.
    pub fn own_latents(&self) -> Result<BTreeSet<ArrayId>, Box<Diagnostic>> {
        let latent = |statement: &&Statement| !statement.observed && self.has_rows(statement.target);
        let own: BTreeSet<ArrayId> =
            self.model.statements.iter().filter(latent).map(|statement| statement.target).collect();
        self.model.statements.iter().try_for_each(|statement| self.refuse_tie(statement, &own))?;
        self.model.statements.iter().try_for_each(|statement| self.refuse_computed(statement))?;
        Ok(own)
    }

    /// Refuses a statement of rows that reads data which are computed from all rows, as `data base[j] = sum[n](x[n, j])`: from new rows they
    /// would be computed anew, and be others than those of the fit.
    fn refuse_computed(&self, statement: &Statement) -> Result<(), Box<Diagnostic>> {
        if !self.has_rows(statement.target) {
            return Ok(());
        }
        let symbols = &self.model.symbols;
        let name = &symbols.array(statement.target).name;
        let refused = |what: String| {
            let message = format!("{what}: from new rows it would be another number than in the fit");
            let diagnostic = Diagnostic::error("E0903", message)
                .at(statement.span, "reads what is computed from all rows")
                .possible("rows that are independent given what they share")
                .help("compute it beforehand, and bind it to a file; `center over` a letter of rows keeps the means of the fit");
            Err(Box::new(diagnostic))
        };
        let values = statement.arguments.iter().flatten().map(|argument| &argument.value);
        let own = symbols.array(statement.target).value.iter();
        let (mut waiting, mut seen) = (values.chain(own).collect::<Vec<_>>(), BTreeSet::new());
        while let Some(value) = waiting.pop() {
            if self.sums_rows(value) {
                return refused(format!("the statement of `{name}` sums data over rows"));
            }
            let mut read = Vec::new();
            value.visit_values(&mut |array, _| read.push(array));
            for array in read.into_iter().filter(|array| seen.insert(*array)) {
                let Some(value) = &symbols.array(array).value else { continue };
                let mut reads_rows = self.sums_rows(value);
                value.visit_values(&mut |other, _| reads_rows |= self.has_rows(other));
                if reads_rows && (!self.has_rows(array) || self.sums_rows(value)) {
                    let computed = &symbols.array(array).name;
                    return refused(format!(
                        "`{computed}` is computed from all rows, and the statement of `{name}` reads it"
                    ));
                }
                waiting.push(value);
            }
        }
        Ok(())
    }

    /// Whether an expression sums data over an axis of rows.
    fn sums_rows(&self, value: &Expression) -> bool {
        let symbols = &self.model.symbols;
        let all = |parts: &[Expression]| parts.iter().any(|part| self.sums_rows(part));
        match value {
            Expression::Number(_)
            | Expression::Value(..)
            | Expression::Indicator(..)
            | Expression::Position(_) => false,
            Expression::Sum(letters, body) => {
                let rows =
                    || letters.iter().filter(|letter| self.axes.contains(&symbols.letter(**letter).axis));
                let mut found = false;
                body.visit_values(&mut |array, subscripts| {
                    let mut read = Vec::new();
                    subscripts.iter().for_each(|own| own.letters(&mut read));
                    found |=
                        symbols.array(array).kind == ArrayKind::Data && rows().any(|row| read.contains(row));
                });
                found || self.sums_rows(body)
            }
            Expression::Add(parts) | Expression::Multiply(parts) => all(parts),
            Expression::Power(base, exponent) => self.sums_rows(base) || self.sums_rows(exponent),
            Expression::Apply(_, body) | Expression::OfMatrix(_, body, ..) => self.sums_rows(body),
        }
    }

    /// The data of rows: entries of theirs that are missing, and have a factor of q, are the rows' own as well.
    pub fn own_data(&self) -> impl Iterator<Item = ArrayId> {
        let symbols = &self.model.symbols;
        let arrays = (0..symbols.arrays.len()).map(ArrayId::from);
        arrays.filter(|id| symbols.array(*id).kind == ArrayKind::Data && self.has_rows(*id))
    }

    /// Refuses a statement that ties rows together.
    fn refuse_tie(&self, statement: &Statement, own: &BTreeSet<ArrayId>) -> Result<(), Box<Diagnostic>> {
        let symbols = &self.model.symbols;
        let name = &symbols.array(statement.target).name;
        let refused = |message: String, label: &str| {
            Err(Box::new(
                Diagnostic::error("E0903", message)
                    .at(statement.span, label)
                    .possible("rows that are independent given what they share"),
            ))
        };
        if statement.slices.iter().any(|letter| self.axes.contains(&symbols.letter(*letter).axis)) {
            let message =
                format!("`{name}` has one distribution over all rows, of which no new row has a part");
            return refused(message, "a slice along the rows");
        }
        let mut rows = RowsRead { rows: self, own, keys: BTreeMap::new(), is_any: false };
        statement.arguments.iter().flatten().for_each(|argument| rows.of_expression(&argument.value));
        let letters = &symbols.array(statement.target).letters;
        if !rows.is_any && !own.contains(&statement.target) {
            return Ok(());
        }
        letters.iter().for_each(|letter| rows.of_subscript(*letter, &Subscript::Letter(*letter)));
        let known: Vec<LetterId> = letters.iter().flat_map(|letter| symbols.lineage(*letter)).collect();
        for (axis, keys) in &rows.keys {
            let axis = &symbols.axis(*axis).name;
            let is_of_left = |key: &Subscript| {
                let mut letters = Vec::new();
                key.letters(&mut letters);
                !letters.is_empty() && letters.iter().all(|letter| known.contains(letter))
            };
            if keys.iter().any(|key| chooses(symbols, key)) {
                let message =
                    format!("a latent chooses among the rows of axis `{axis}` in the statement of `{name}`");
                return refused(message, "reads any of the rows");
            }
            if !keys.iter().all(is_of_left) {
                let message =
                    format!("the statement of `{name}` reads several rows of axis `{axis}` at once");
                return refused(message, "takes rows together that are not that of its left side");
            }
            if keys.len() > 1 {
                let message = format!("the statement of `{name}` ties two rows of axis `{axis}` together");
                return refused(message, "reads two rows");
            }
        }
        Ok(())
    }
}

/// Whether a latent stands in a subscript.
fn chooses(symbols: &cavi_algebra::Symbols, key: &Subscript) -> bool {
    match key {
        Subscript::Letter(_) => false,
        Subscript::Index(array, inner) => {
            symbols.array(*array).kind == ArrayKind::Latent || inner.iter().any(|own| chooses(symbols, own))
        }
    }
}

/// Which rows a statement reads.
struct RowsRead<'a, 'm> {
    rows: &'a RowAxes<'m>,
    own: &'a BTreeSet<ArrayId>,
    /// For each axis of rows the subscripts by which its rows are read, each that of the row itself.
    keys: BTreeMap<AxisId, BTreeSet<Subscript>>,
    /// Whether a latent of rows is read.
    is_any: bool,
}

impl RowsRead<'_, '_> {
    fn of_expression(&mut self, expression: &Expression) {
        let symbols = &self.rows.model.symbols;
        let mut found: Vec<(LetterId, Subscript)> = Vec::new();
        expression.visit_values(&mut |array, subscripts| {
            if self.own.contains(&array) {
                let letters = symbols.array(array).letters.iter().copied();
                found.extend(letters.zip(subscripts.iter().cloned()));
                self.is_any = true;
            }
        });
        found.iter().for_each(|(letter, subscript)| self.of_subscript(*letter, subscript));
    }

    /// A dimension of an array, by its letter, and what stands there.
    fn of_subscript(&mut self, letter: LetterId, subscript: &Subscript) {
        let symbols = &self.rows.model.symbols;
        let base = |letter: LetterId| {
            let lineage = symbols.lineage(letter);
            lineage.into_iter().find(|own| self.rows.axes.contains(&symbols.letter(*own).axis))
        };
        let Some(row) = base(letter) else { return };
        let key = match subscript {
            Subscript::Letter(own) => Subscript::Letter(base(*own).unwrap_or(*own)),
            Subscript::Index(..) => subscript.clone(),
        };
        self.keys.entry(symbols.letter(row).axis).or_default().insert(key);
    }
}
