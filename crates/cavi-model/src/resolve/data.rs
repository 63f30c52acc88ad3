//! The declarations of data and constants: types, options, values.

use cavi_algebra::{Absent, ArrayId, ArrayKind, Expression, LetterId, Restriction, Subscript, Support};
use cavi_families::{DataKind, Family, Slices, functions};
use cavi_syntax::ast::{self, DataOption, Program, StatementKind};
use cavi_syntax::{Diagnostic, Span, cut_off_by_name, nearest, print_expression, print_reference};

use super::axes::Shape;
use super::places::{Bound, CONSTANT, DERIVED, How, Scope};
use super::reads::visit_references;
use super::{Named, Resolver};

/// The words for types and what they mean.
const TYPES: &[(&str, Support)] = &[
    ("real", Support::Real),
    ("positive", Support::Positive),
    ("nonnegative", Support::Nonnegative),
    ("count", Support::Count),
    ("unit", Support::Unit),
    ("binary", Support::Binary),
    ("multiplicity", Support::Multiplicity),
];

/// A restriction that entries of an array have to meet, with the data that it comes from; `None` for the array's own.
type Needed = (Restriction, Option<ArrayId>);

impl Resolver<'_> {
    /// Reads the type of data or of a constant into its support.
    pub fn data_type(&mut self, id: ArrayId, data_type: Option<&ast::DataType>) {
        let facts = &mut self.facts[id.index()];
        let Some(data_type) = data_type else {
            facts.has_support = true;
            return;
        };
        facts.type_span = Some(data_type.word.span);
        let support = match &data_type.axis {
            Some(axis_name) => {
                let Some(axis) = self.axis(axis_name) else { return };
                if let Some(parent) = self.symbols.axis(axis).parent {
                    let parent = self.symbols.axis(parent).name.clone();
                    let message = format!(
                        "`{}` points into the ragged axis `{}`",
                        self.symbols.array(id).name,
                        axis_name.text
                    );
                    self.report(
                        Diagnostic::error("E0307", message)
                            .at(axis_name.span, format!("`{}` is ragged in `{parent}`", axis_name.text))
                            .possible("indexing into a ragged axis is outside the language for now")
                            .help("make the axis one of its own, without `in`"),
                    );
                    return;
                }
                Support::Index(axis)
            }
            None => match TYPES.iter().find(|(word, _)| *word == data_type.word.text) {
                Some((_, support)) => *support,
                None => {
                    self.unknown_type(&data_type.word);
                    return;
                }
            },
        };
        self.facts[id.index()].has_support = true;
        self.symbols.arrays[id.index()].support = support;
    }

    fn unknown_type(&mut self, word: &ast::Name) {
        let words = TYPES.iter().map(|(word, _)| *word).chain(["index"]);
        let possible = "types: real, positive, nonnegative, count, unit, binary, index AXIS, multiplicity";
        let help = if word.text == "index" {
            "name the axis that it points into: `index word`".to_owned()
        } else {
            match (nearest(&word.text, words), word.text.as_str()) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, "int" | "integer" | "natural" | "counts") => {
                    "whole numbers from 0 on are `count`".to_owned()
                }
                (None, "float" | "double" | "number" | "any") => "any number is `real`".to_owned(),
                (None, "bool" | "boolean") => "0 or 1 is `binary`".to_owned(),
                (
                    None,
                    "categorical" | "category" | "factor" | "label" | "string" | "str" | "text" | "char"
                    | "enum" | "class" | "id" | "ordinal",
                ) => "a class, a name or an id is a position on an axis: `index AXIS`".to_owned(),
                (None, "date" | "time" | "datetime") => {
                    "a number of days or years is `real`; a label of an axis may be a date".to_owned()
                }
                (None, "vector" | "matrix" | "array" | "tensor" | "list" | "row_vector" | "ndarray") => {
                    "an array has a letter for each dimension, and the type of its elements: `data x[n, j] : real`".to_owned()
                }
                (None, "simplex" | "proportion" | "probability" | "percent" | "fraction") => {
                    "a number from 0 to 1 is `unit`".to_owned()
                }
                (None, "time_series" | "missing" | "na") => "any number is `real`, with `absent = NA` where some are missing".to_owned(),
                (None, word) if cut_off_by_name(word).is_some() => {
                    cut_off_by_name(word).map_or_else(String::new, |cut| cut.advice("x"))
                }
                (None, _) => "any number is `real`, a class or a name is `index AXIS`".to_owned(),
            }
        };
        self.report(
            Diagnostic::error("E0210", format!("there is no type `{}`", word.text))
                .at(word.span, "unknown type")
                .possible(possible)
                .help(help),
        );
    }

    /// Reads what follows the commas of a data statement.
    pub fn data_options(&mut self, id: ArrayId, data: &ast::Data) {
        let mut before: Vec<(&str, String)> = Vec::new();
        for option in &data.options {
            let restriction = "a restriction of the entries";
            let (what, span, written) = match option {
                DataOption::Absent { span, .. } => ("`absent`", *span, String::new()),
                DataOption::Center(letter) => {
                    ("`center over`", letter.span, format!("center over {}", letter.text))
                }
                DataOption::Scale(letter) => {
                    ("`scale over`", letter.span, format!("scale over {}", letter.text))
                }
                DataOption::Different(letter, other) => {
                    (restriction, letter.span, format!("{} != {}", letter.text, other.text))
                }
                DataOption::Less(letter, other) => {
                    (restriction, letter.span, format!("{} < {}", letter.text, other.text))
                }
            };
            if let Some((_, first)) = before.iter().find(|(own, _)| *own == what) {
                let help = match first.as_str() {
                    "" => "`absent = 0, NA` says both".to_owned(),
                    first => format!("keep one of them: `{first}`"),
                };
                self.report(
                    Diagnostic::error("E0508", format!("{what} is given twice"))
                        .at(span, "the second time")
                        .help(help),
                );
            }
            before.push((what, written));
            match option {
                DataOption::Absent { zero, missing, span } => {
                    self.absent(id, *zero, *missing, *span);
                }
                DataOption::Center(letter) => {
                    if let Some(letter) = self.standardised_letter(id, letter, "center") {
                        self.symbols.arrays[id.index()].center = Some(letter);
                    }
                }
                DataOption::Scale(letter) => {
                    if let Some(letter) = self.standardised_letter(id, letter, "scale") {
                        self.symbols.arrays[id.index()].scale = Some(letter);
                    }
                }
                DataOption::Different(left, right) => {
                    if let Some((left, right)) = self.restricted_letters(id, left, right, "!=") {
                        self.symbols.arrays[id.index()].restriction =
                            Some(Restriction::Different(left, right));
                    }
                }
                DataOption::Less(left, right) => {
                    if let Some((left, right)) = self.restricted_letters(id, left, right, "<") {
                        self.symbols.arrays[id.index()].restriction = Some(Restriction::Less(left, right));
                    }
                }
            }
        }
    }

    fn absent(&mut self, id: ArrayId, zero: bool, missing: bool, span: Span) {
        let support = self.symbols.array(id).support;
        if zero && self.facts[id.index()].has_support {
            let reason = match support {
                Support::Positive => Some("0 is not positive"),
                Support::Index(_) => Some("an unlisted position is not the first one"),
                Support::Multiplicity => Some("an unlisted row would weigh nothing"),
                Support::Real
                | Support::Nonnegative
                | Support::Unit
                | Support::Count
                | Support::Binary
                | Support::Simplex
                | Support::PositiveDefinite => None,
            };
            if let Some(reason) = reason {
                let found = self.type_in_words(support);
                self.report(
                    Diagnostic::error("E0508", format!("`absent = 0` for data of type `{found}`"))
                        .at(span, reason)
                        .possible("`absent = 0` fits real, nonnegative, count, unit and binary data")
                        .help("write `absent = NA`: what is not listed was not observed"),
                );
                return;
            }
        }
        self.symbols.arrays[id.index()].absent = Absent { zero, missing, withheld: false };
    }

    /// A letter among the dimensions of an array, by the letter the declaration has.
    fn own_letter(
        &mut self,
        id: ArrayId,
        letter: &ast::Name,
        code: &'static str,
        what: &str,
    ) -> Option<LetterId> {
        let named = self.letter(letter)?;
        let shape = self.shapes[id.index()].clone()?;
        let name = self.symbols.array(id).name.clone();
        let text = self.symbols.letter(named).name.clone();
        let slot = shape.slots.iter().find(|slot| self.symbols.letter(slot.letter).name == text);
        match slot {
            Some(slot) if !slot.ancestor => Some(slot.letter),
            Some(_) | None => {
                let below = |above: LetterId| {
                    let own = shape.letters();
                    let below = own.iter().find(|letter| self.symbols.lineage(**letter).contains(&above));
                    below.map_or_else(String::new, |letter| self.symbols.letter(*letter).name.clone())
                };
                let why = match slot {
                    Some(slot) => {
                        format!("which in `{name}` only says the group of `{}`", below(slot.letter))
                    }
                    None => format!("which is no letter of `{name}`"),
                };
                let possible: Vec<String> =
                    shape.letters().iter().map(|letter| self.symbols.letter(*letter).name.clone()).collect();
                self.report(
                    Diagnostic::error(code, format!("{what} `{}`, {why}", letter.text))
                        .at(letter.span, format!("`{}` is {}", name, self.spell(&name, &shape)))
                        .possible(format!("letters: {}", possible.join(", ")))
                        .help(format!("write one of these in place of `{}`", letter.text)),
                );
                None
            }
        }
    }

    fn standardised_letter(&mut self, id: ArrayId, letter: &ast::Name, what: &str) -> Option<LetterId> {
        let support = self.symbols.array(id).support;
        if matches!(support, Support::Index(_) | Support::Multiplicity) {
            let found = self.type_in_words(support);
            self.report(
                Diagnostic::error(
                    "E0510",
                    format!("`{what} over {}` for data of type `{found}`", letter.text),
                )
                .at(letter.span, "these are no measurements")
                .help(format!("drop `{what} over {}`", letter.text)),
            );
            return None;
        }
        self.own_letter(id, letter, "E0510", &format!("`{what} over` names"))
    }

    fn restricted_letters(
        &mut self,
        id: ArrayId,
        left: &ast::Name,
        right: &ast::Name,
        sign: &str,
    ) -> Option<(LetterId, LetterId)> {
        let what = format!("`{} {sign} {}` names", left.text, right.text);
        let first = self.own_letter(id, left, "E0511", &what)?;
        let second = self.own_letter(id, right, "E0511", &what)?;
        let (one, other) = (self.symbols.letter(first).axis, self.symbols.letter(second).axis);
        if one != other || first == second {
            let (one, other) = (self.symbols.axis(one).name.clone(), self.symbols.axis(other).name.clone());
            let found = if first == second {
                "compares a letter with itself".to_owned()
            } else {
                format!("compares `{one}` with `{other}`")
            };
            self.report(
                Diagnostic::error("E0511", format!("`{} {sign} {}` {found}", left.text, right.text))
                    .at(left.span.to(right.span), "expected two letters of one axis")
                    .help("a square array has two letters of one axis: `axis node[i, j]`, `data a[i, j]`"),
            );
            return None;
        }
        Some((first, second))
    }

    /// The letters of a declaration as they are bound in its value.
    fn declared_letters(&self, shape: &Shape, span: Span) -> Vec<Bound> {
        let mut bound = Vec::new();
        for slot in &shape.slots {
            let name = &self.symbols.letter(slot.letter).name;
            let named = self.letters.get(name).copied().unwrap_or(slot.letter);
            bound.push(Bound { named, actual: slot.letter, how: How::Left, span });
        }
        bound
    }

    /// Resolves the value that the text gives to data or to a constant.
    pub fn resolve_value(&mut self, id: ArrayId) {
        let Some(value) = self.facts[id.index()].value.and_then(|index| self.values.get(index).copied())
        else {
            return;
        };
        let (kind, name) = (self.symbols.array(id).kind, self.symbols.array(id).name.clone());
        let shape = self.shapes[id.index()].clone();
        let span = self.array_spans[id.index()];
        let bound = shape.as_ref().map(|shape| self.declared_letters(shape, span)).unwrap_or_default();
        let mut scope = Scope::new(bound, format!("`{name}`"));
        scope.lenient = shape.is_none();
        let what = if kind == ArrayKind::Data { DERIVED } else { CONSTANT };
        scope.known_only = Some(what);
        let Some(resolved) = self.expression(&mut scope, value) else { return };
        self.check_constant(id, value, &resolved);
        self.symbols.arrays[id.index()].value = Some(resolved);
        self.inherit_restriction(id, value);
        self.known_number(&Expression::Value(id, Vec::new()));
    }

    /// Derived data exist where the data exist that they are computed from: what reads `n[v, c]` of `v < c` has the entries of
    /// `v < c`, unless the program restricts it by itself. Along a summed letter nothing is restricted. Of several restrictions an
    /// order is taken, which is the narrower one. Two orders that exclude each other, as in `x[i, j] + x[j, i]`, leave no entry: an error.
    fn inherit_restriction(&mut self, id: ArrayId, value: &ast::Expression) {
        let (kind, own) = (self.symbols.array(id).kind, self.symbols.array(id).restriction);
        if kind != ArrayKind::Data {
            return;
        }
        let needed = self.needed(id);
        let stated = own.map(|own| (own, None));
        let all: Vec<Needed> =
            stated.into_iter().chain(needed.iter().map(|own| (own.0, Some(own.1)))).collect();
        let turned = |one: Restriction, other: Restriction| match (one, other) {
            (Restriction::Less(left, right), Restriction::Less(first, second)) => {
                (left, right) == (second, first)
            }
            (Restriction::Less(..) | Restriction::Different(..), _) => false,
        };
        let pairs = (0..all.len()).flat_map(|other| (0..other).map(move |one| (one, other)));
        let excluded =
            pairs.map(|(one, other)| (all[one], all[other])).find(|(one, other)| turned(one.0, other.0));
        if let Some((one, other)) = excluded {
            self.no_entry_is_left(id, one, other, value.span);
        } else if own.is_none() {
            let order = needed.iter().rev().find(|own| matches!(own.0, Restriction::Less(..)));
            if let Some((restriction, _)) = order.or(needed.first()) {
                self.symbols.arrays[id.index()].restriction = Some(*restriction);
            }
        }
    }

    /// The restrictions of the data that the value of an array reads, in its own letters, with the data.
    fn needed(&self, id: ArrayId) -> Vec<(Restriction, ArrayId)> {
        fn gather(
            resolver: &Resolver<'_>,
            id: ArrayId,
            expression: &Expression,
            summed: &mut Vec<LetterId>,
            found: &mut Vec<(Restriction, ArrayId)>,
        ) {
            let array = resolver.symbols.array(id);
            let mut read = |read: ArrayId, subscripts: &[Subscript], summed: &[LetterId]| {
                let operand = resolver.symbols.array(read);
                let own = |letter: LetterId| {
                    let place = operand.letters.iter().position(|own| *own == letter)?;
                    match subscripts.get(place)? {
                        Subscript::Letter(letter)
                            if array.letters.contains(letter) && !summed.contains(letter) =>
                        {
                            Some(*letter)
                        }
                        Subscript::Letter(_) | Subscript::Index(..) => None,
                    }
                };
                let inherited = operand.restriction.and_then(|restriction| match restriction {
                    Restriction::Different(left, right) => {
                        own(left).zip(own(right)).map(|(left, right)| Restriction::Different(left, right))
                    }
                    Restriction::Less(left, right) => {
                        own(left).zip(own(right)).map(|(left, right)| Restriction::Less(left, right))
                    }
                });
                found.extend(inherited.map(|inherited| (inherited, read)));
            };
            match expression {
                Expression::Sum(letters, body) => {
                    let before = summed.len();
                    summed.extend(letters);
                    gather(resolver, id, body, summed, found);
                    summed.truncate(before);
                }
                Expression::Add(parts) | Expression::Multiply(parts) => {
                    parts.iter().for_each(|part| gather(resolver, id, part, summed, found));
                }
                Expression::Power(base, exponent) => {
                    gather(resolver, id, base, summed, found);
                    gather(resolver, id, exponent, summed, found);
                }
                Expression::Apply(_, body) => gather(resolver, id, body, summed, found),
                // A matrix goes over whole axes, as a sum does.
                Expression::OfMatrix(_, body, row, column) => {
                    let before = summed.len();
                    summed.extend([*row, *column]);
                    gather(resolver, id, body, summed, found);
                    summed.truncate(before);
                }
                Expression::Value(..) => {
                    expression.visit_values(&mut |own, subscripts| read(own, subscripts, summed));
                }
                Expression::Number(_) | Expression::Indicator(..) | Expression::Position(_) => {}
            }
        }
        let mut found = Vec::new();
        if let Some(value) = &self.symbols.array(id).value {
            gather(self, id, value, &mut Vec::new(), &mut found);
        }
        found
    }

    /// Two restrictions of the entries of derived data that no entry meets.
    fn no_entry_is_left(&mut self, id: ArrayId, one: Needed, other: Needed, span: Span) {
        let name = self.symbols.array(id).name.clone();
        let written = |own: Restriction| {
            let (left, sign, right) = own.parts();
            format!("`{} {sign} {}`", self.symbols.letter(left).name, self.symbols.letter(right).name)
        };
        let needs = |(restriction, read): Needed| match read {
            None => format!("`{name}` itself has {}", written(restriction)),
            Some(read) => {
                format!("what it reads of `{}` has {}", self.symbols.array(read).name, written(restriction))
            }
        };
        let read =
            [one.1, other.1].into_iter().flatten().next().map(|read| self.symbols.array(read).name.clone());
        let message = format!("no entry of `{name}` exists: {}, and {}", needs(one), needs(other));
        let read = read.unwrap_or_default();
        self.report(
            Diagnostic::error("E0524", message).at(span, "these are never there together").help(format!(
                "declare `{read}` without the restriction, with `absent = 0` if what its file leaves out is 0, or read it in one order alone"
            )),
        );
    }

    /// Resolves the sizes that the text gives to axes.
    pub fn resolve_sizes(&mut self, program: &Program) {
        for statement in &program.statements {
            let StatementKind::Axis(axis) = &statement.kind else { continue };
            let (Some(size), Some(Named::Axis(id))) = (&axis.size, self.names.get(&axis.name.text).copied())
            else {
                continue;
            };
            if self.axis_spans[id.index()] != axis.name.span {
                continue;
            }
            let mut scope = Scope::new(Vec::new(), "the size of an axis");
            scope.known_only = Some("the size of an axis");
            let Some(resolved) = self.expression(&mut scope, size) else { continue };
            if let Some(value) = self.known_number(&resolved)
                && !(value >= 0.0 && value.fract() == 0.0 && value <= 1e15)
            {
                self.report(
                    Diagnostic::error("E0314", format!("the size of axis `{}` is {value}", axis.name.text))
                        .at(size.span, "expected a whole number, 0 or more")
                        .help(format!(
                            "write a whole number, as in `axis {0}[{1}] = {2}`, or leave the size out and give it with `--set {0}={2}`",
                            axis.name.text,
                            self.letter_names(id).join(", "),
                            if (1.0..1e15).contains(&value) { value.floor() } else { 2.0 }
                        )),
                );
                continue;
            }
            self.symbols.axes[id.index()].size = Some(resolved);
        }
    }

    /// The value of a constant, which the text gives it or what is set in its place, must belong to the type that it declares.
    fn check_constant(&mut self, id: ArrayId, value: &ast::Expression, resolved: &Expression) {
        let array = self.symbols.array(id);
        if array.kind != ArrayKind::Constant
            || self.facts[id.index()].untyped
            || !self.facts[id.index()].has_support
        {
            return;
        }
        let (name, support) = (array.name.clone(), array.support);
        let number = match self.set.get(&name) {
            Some(given) => *given,
            None => self.known_number(resolved),
        };
        let Some(number) = number else { return };
        let fits = match support {
            Support::Real | Support::Simplex | Support::PositiveDefinite | Support::Index(_) => true,
            Support::Positive => number > 0.0,
            Support::Nonnegative | Support::Multiplicity => number >= 0.0,
            Support::Unit => (0.0..=1.0).contains(&number),
            Support::Count => number >= 0.0 && number.fract() == 0.0,
            Support::Binary => number == 0.0 || number == 1.0,
        };
        if !fits {
            let found = self.type_in_words(support);
            self.report(
                Diagnostic::error(
                    "E0513",
                    format!("the constant `{name}` is {number}, and its type is `{found}`"),
                )
                .at(value.span, format!("outside `{found}`"))
                .help(format!("give it a value inside `{found}`, or declare it `real`")),
            );
        }
    }

    /// The value of an expression, where the text gives it, or a number that is set in place of a constant.
    pub fn known_number(&mut self, expression: &Expression) -> Option<f64> {
        match expression {
            Expression::Number(value) => Some(*value),
            Expression::Value(id, _) => {
                let array = self.symbols.array(*id);
                if array.kind != ArrayKind::Constant {
                    return None;
                }
                if let Some(given) = self.set.get(&array.name) {
                    return *given;
                }
                if let Some(known) = self.known.get(id) {
                    return *known;
                }
                // Constants that are defined by each other are reported elsewhere; the recursion ends here.
                self.known.insert(*id, None);
                let value = self.symbols.array(*id).value.clone()?;
                let known = self.known_number(&value);
                self.known.insert(*id, known);
                known
            }
            Expression::Add(parts) => parts.iter().map(|part| self.known_number(part)).sum(),
            Expression::Multiply(parts) => parts.iter().map(|part| self.known_number(part)).product(),
            Expression::Power(base, exponent) => {
                Some(functions::power(self.known_number(base)?, self.known_number(exponent)?))
            }
            Expression::Apply(function, argument) => {
                Some(functions::apply(*function, &[self.known_number(argument)?]))
            }
            Expression::Indicator(..)
            | Expression::Sum(..)
            | Expression::Position(_)
            | Expression::OfMatrix(..) => None,
        }
    }

    /// Whether the data are of a type that the family describes.
    pub fn check_data_kind(&mut self, ast: &ast::Distribution, family: &dyn Family, id: ArrayId) -> bool {
        if !self.facts[id.index()].has_support {
            return false;
        }
        let array = self.symbols.array(id);
        let (name, support) = (array.name.clone(), array.support);
        let (centred, scaled, absent) = (array.center.is_some(), array.scale.is_some(), array.absent);
        let family_name = &ast.family.text;
        let index = matches!(support, Support::Index(_));
        let (fits, possible) = match family.data() {
            DataKind::Any => {
                (!index && support != Support::Multiplicity, "data of any type but index and multiplicity")
            }
            DataKind::Counts => (
                matches!(support, Support::Count | Support::Nonnegative),
                "data of type count or nonnegative",
            ),
            DataKind::Positive => (support == Support::Positive, "data of type positive"),
            DataKind::Nonnegative => (
                matches!(support, Support::Positive | Support::Nonnegative),
                "data of type positive or nonnegative",
            ),
            DataKind::Binary => {
                (matches!(support, Support::Binary | Support::Unit), "data of type binary or unit")
            }
            DataKind::Inside => (support == Support::Unit, "data of type unit, strictly between 0 and 1"),
            DataKind::Index => (index, "data of type `index AXIS`"),
            DataKind::None => (false, "no data: it is a prior"),
        };
        let type_span = self.facts[id.index()].type_span.unwrap_or(self.array_spans[id.index()]);
        let found = self.type_in_words(support);
        if !fits {
            let others: Vec<&str> = cavi_families::families()
                .iter()
                .filter(|other| describes(other.data(), support))
                .filter(|other| family.slices() == Slices::Any || other.slices() == family.slices())
                .map(|other| other.name())
                .collect();
            let help = if family.has_kernel() && describes(DataKind::Any, support) {
                self.process_of_its_own(ast)
            } else if others.is_empty() {
                "change the type of the data, if that is what they are".to_owned()
            } else if family.data() == DataKind::None {
                format!("use a family for `{found}`: {}", others.join(", "))
            } else {
                format!("declare the data so, or use a family for `{found}`: {}", others.join(", "))
            };
            self.report(
                Diagnostic::error(
                    "E0507",
                    format!("`{name}` is `{found}`, and stands under `{family_name}`"),
                )
                .at(ast.family.span, format!("describes {possible}"))
                .also(type_span, format!("`{name}` is declared here"))
                .help(help),
            );
            return false;
        }
        let bounded = !matches!(family.data(), DataKind::Any);
        if (centred || scaled) && bounded {
            let what = if centred { "centred" } else { "scaled" };
            let allowed = !centred && matches!(family.data(), DataKind::Positive | DataKind::Nonnegative);
            if !allowed {
                self.report(
                    Diagnostic::error(
                        "E0510",
                        format!("`{name}` is {what}, and stands under `{family_name}`"),
                    )
                    .at(ast.family.span, format!("describes {possible}, before and after"))
                    .also(self.array_spans[id.index()], format!("{what} here"))
                    .help("drop `center` and `scale`, or use a family for real numbers"),
                );
                return false;
            }
        }
        // A row of counts over a slice has no missing entry.
        if family.slices() == Slices::One && family.data() == DataKind::Counts && absent.missing {
            let diagnostic = Diagnostic::error(
                "E0508",
                format!("`{name}` may have missing entries, and a row under `{family_name}` has none"),
            )
            .at(ast.family.span, "a whole row is one observation")
            .also(self.array_spans[id.index()], "declared with `absent = NA` here")
            .help(match self.entry_by_entry(ast) {
                Some(written) => format!("write `absent = 0`; to keep missing entries write {written}"),
                None => "write `absent = 0`".to_owned(),
            });
            self.report(diagnostic);
            return false;
        }
        self.remark_on_type(ast, family, id, support);
        true
    }

    /// A process under a name of its own, and data about it.
    fn process_of_its_own(&self, ast: &ast::Distribution) -> String {
        let process = self.free_name(&["f", "process", "smooth"]);
        let subscripts = &print_reference(&ast.target)[ast.target.name.text.len()..];
        let plain = subscripts.replace(':', "");
        format!(
            "give the process a name of its own: `{process}{subscripts} ~ {}(...)`, `{}{plain} ~ Normal({process}{plain}, sd = 1)`, `posterior {{ point {process} }}`",
            ast.family.text, ast.target.name.text
        )
    }

    /// A Poisson for each entry in place of a row of counts: what its probabilities are made of need no longer sum to 1.
    pub fn entry_by_entry(&self, ast: &ast::Distribution) -> Option<String> {
        let target = print_reference(&ast.target).replace(':', "");
        let argument = ast.arguments.first()?;
        let spelled = |id: ArrayId| {
            let name = &self.symbols.array(id).name;
            self.shapes[id.index()].as_ref().map_or(name.clone(), |shape| self.spell(name, shape))
        };
        let mut priors: Vec<String> = Vec::new();
        let mut rate = print_expression(&argument.value).replace(':', "");
        visit_references(&argument.value, &mut |reference, _| {
            let Some(Named::Array(id)) = self.names.get(&reference.name.text).copied() else { return };
            let latent = self.symbols.array(id).kind == ArrayKind::Latent;
            if latent && self.symbols.array(id).support == Support::Simplex {
                if rate == reference.name.text {
                    rate = spelled(id);
                }
                let prior = format!("`{} ~ Gamma(1, rate = 1)`", spelled(id));
                if !priors.contains(&prior) {
                    priors.push(prior);
                }
            }
        });
        let with = if priors.is_empty() { String::new() } else { format!(" with {}", priors.join(" and ")) };
        Some(format!("`{target} ~ Poisson({rate})`{with}"))
    }

    /// A warning about counts under a family for real numbers, and a note about other numbers under a family for
    /// counts.
    fn remark_on_type(
        &mut self,
        ast: &ast::Distribution,
        family: &dyn Family,
        id: ArrayId,
        support: Support,
    ) {
        let name = self.symbols.array(id).name.clone();
        let family_name = &ast.family.text;
        match (family.data(), support) {
            (DataKind::Any, Support::Count) => self.report(
                Diagnostic::warning("W0501", format!("the count `{name}` stands under `{family_name}`"))
                    .at(ast.family.span, "gives mass to negative numbers and fractions")
                    .help("a family for counts fits better; declare the data `real` to silence this"),
            ),
            (DataKind::Counts, Support::Nonnegative) | (DataKind::Binary, Support::Unit) => {
                let found = self.type_in_words(support);
                self.report(
                    Diagnostic::note("N0501", format!("`{name}` is `{found}`: a quasi-likelihood"))
                        .at(ast.family.span, format!("`{family_name}` is used beyond its support"))
                        .possible("updates and bound are those of the density, continued to numbers between"),
                );
            }
            (
                DataKind::Any
                | DataKind::Counts
                | DataKind::Positive
                | DataKind::Nonnegative
                | DataKind::Binary
                | DataKind::Inside
                | DataKind::Index
                | DataKind::None,
                _,
            ) => {}
        }
    }
}

/// Whether data of this type fit a family of this kind without a warning or note.
fn describes(kind: DataKind, support: Support) -> bool {
    match kind {
        DataKind::Any => support == Support::Real,
        DataKind::Counts => matches!(support, Support::Count | Support::Nonnegative),
        DataKind::Positive => support == Support::Positive,
        DataKind::Nonnegative => matches!(support, Support::Positive | Support::Nonnegative),
        DataKind::Binary => matches!(support, Support::Binary | Support::Unit),
        DataKind::Inside => support == Support::Unit,
        DataKind::Index => matches!(support, Support::Index(_)),
        DataKind::None => false,
    }
}
