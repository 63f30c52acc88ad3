//! Collects the names: axes, letters, data, constants, definitions and the left sides of statements.

use cavi_algebra::{Absent, Array, ArrayId, ArrayKind, Axis, AxisId, Expression, Letter, LetterId, Support};
use cavi_syntax::ast::{self, HeadKind, Program, StatementKind, Unread};
use cavi_syntax::{Diagnostic, Span};

use super::axes::{Shape, Written};
use super::places::Bound;
use super::statements::Draft;
use super::{Facts, Named, Resolver};
use crate::model::DefinitionAsWritten;

/// `NAME[...] = expr`: a macro.
#[derive(Clone, Debug)]
pub(super) struct Definition<'a> {
    pub name: ast::Name,
    pub value: &'a ast::Expression,
    /// Its subscripts; `None` where they have a mistake.
    pub shape: Option<Shape>,
    /// The letters of its left.
    pub bound: Vec<Bound>,
    /// Its value, over the letters of its shape.
    pub state: State,
    /// The number of parts of its value.
    pub size: usize,
    /// Something reads it.
    pub used: bool,
}

impl Definition<'_> {
    /// What it stands for; `None` where it has a mistake.
    pub fn resolved(&self, written: Option<DefinitionAsWritten>) -> Option<crate::model::Definition> {
        let State::Done(Some(value)) = &self.state else { return None };
        let slots = self.shape.as_ref()?.slots.iter().filter(|slot| !slot.ancestor);
        Some(crate::model::Definition {
            name: self.name.text.clone(),
            letters: slots.map(|slot| slot.letter).collect(),
            value: value.clone(),
            written,
            span: self.name.span,
        })
    }
}

/// The state of something that is resolved on demand.
#[derive(Clone, Debug)]
pub(super) enum State {
    Waiting,
    /// It is being resolved. A request at this point comes from a cycle, which is reported elsewhere.
    Underway,
    Done(Option<Expression>),
}

impl<'a> Resolver<'a> {
    /// Collects every declaration of the program.
    pub fn declare(&mut self, program: &'a Program) {
        self.expect_names(&program.unread);
        self.declare_axes(program);
        self.declare_heads(&program.unread);
        for statement in &program.statements {
            match &statement.kind {
                StatementKind::Data(data) => self.declare_data(data),
                StatementKind::Const(constant) => self.declare_constant(constant),
                StatementKind::Model(_)
                | StatementKind::Axis(_)
                | StatementKind::Distribution(_)
                | StatementKind::Definition { .. }
                | StatementKind::Posterior(_)
                | StatementKind::Init(_)
                | StatementKind::Fit(_)
                | StatementKind::Report(_)
                | StatementKind::Notation(_) => {}
            }
        }
        for statement in &program.statements {
            match &statement.kind {
                StatementKind::Distribution(distribution) => {
                    self.declare_statement(distribution, statement.span)
                }
                StatementKind::Definition { target, value } => self.declare_definition(target, value),
                StatementKind::Model(_)
                | StatementKind::Axis(_)
                | StatementKind::Data(_)
                | StatementKind::Const(_)
                | StatementKind::Posterior(_)
                | StatementKind::Init(_)
                | StatementKind::Fit(_)
                | StatementKind::Report(_)
                | StatementKind::Notation(_) => {}
            }
        }
        self.warn_of_case();
    }

    /// If a line that could not be parsed may declare a name, uses of that name are not reported as undeclared.
    fn expect_names(&mut self, unread: &Unread) {
        let lefts = unread.heads.iter().filter(|head| head.kind == HeadKind::Left);
        for name in unread.names.iter().chain(lefts.map(|head| &head.name.text)) {
            self.reported.insert(name.clone());
            self.reported.insert(format!("letter {name}"));
        }
    }

    /// Declares the data and constants of lines that could not be parsed: their names, and their letters where these
    /// are known.
    fn declare_heads(&mut self, unread: &Unread) {
        for head in &unread.heads {
            let kind = match head.kind {
                HeadKind::Data => ArrayKind::Data,
                HeadKind::Const => ArrayKind::Constant,
                HeadKind::Axis | HeadKind::Left => continue,
            };
            if self.taken(&head.name) {
                continue;
            }
            let known = |letter: &ast::Name| self.letters.contains_key(&letter.text);
            let letters = head.letters.as_ref().filter(|letters| letters.iter().all(known));
            let shape = letters.and_then(|letters| self.declared_shape(&head.name, letters));
            self.add_array(&head.name, kind, shape.map(|(shape, _)| shape));
        }
    }

    /// Declares the axes, also those of which only the head could be read.
    fn declare_axes(&mut self, program: &'a Program) {
        for head in &program.unread.heads {
            if head.kind == HeadKind::Axis
                && let Some(letters) = &head.letters
                && !self.taken(&head.name)
            {
                self.declare_axis(&head.name, letters);
            }
        }
        let mut declared: Vec<(AxisId, &ast::Axis)> = Vec::new();
        for statement in &program.statements {
            let StatementKind::Axis(axis) = &statement.kind else { continue };
            if self.taken(&axis.name) {
                continue;
            }
            declared.push((self.declare_axis(&axis.name, &axis.letters), axis));
        }
        for (id, axis) in declared.iter().copied() {
            let Some((parent, _)) = &axis.parent else { continue };
            let Some(parent_id) = self.axis(parent) else { continue };
            let mut above = Some(parent_id);
            while let Some(current) = above {
                if current == id {
                    break;
                }
                above = self.symbols.axis(current).parent;
            }
            if above.is_some() {
                let message = format!("axis `{}` is ragged in itself", axis.name.text);
                self.report(
                    Diagnostic::error("E0213", message)
                        .at(parent.span, format!("`{}` is `{}` or ragged in it", parent.text, axis.name.text))
                        .help("one of the two axes must stand alone"),
                );
                continue;
            }
            self.symbols.axes[id.index()].parent = Some(parent_id);
        }
        // Parents come first, so that the letters of an ancestor already have their own parents.
        declared.sort_by_key(|(id, _)| self.depth(*id));
        for (id, axis) in declared {
            let (Some((_, letters)), Some(parent)) = (&axis.parent, self.symbols.axis(id).parent) else {
                continue;
            };
            let Some(letter) = self.parent_letter(parent, letters) else { continue };
            for own in self.symbols.axis(id).letters.clone() {
                self.symbols.letters[own.index()].parent = Some(letter);
            }
        }
    }

    fn declare_axis(&mut self, name: &ast::Name, letters: &[ast::Name]) -> AxisId {
        let id = AxisId::from(self.symbols.axes.len());
        self.symbols.axes.push(Axis {
            name: name.text.clone(),
            parent: None,
            letters: Vec::new(),
            size: None,
        });
        self.axis_spans.push(name.span);
        self.names.insert(name.text.clone(), Named::Axis(id));
        for letter in letters {
            self.declare_letter(id, letter);
        }
        id
    }

    fn depth(&self, axis: AxisId) -> usize {
        std::iter::successors(self.symbols.axis(axis).parent, |axis| self.symbols.axis(*axis).parent).count()
    }

    /// The letter after `in view`: the one written last, else the first of the axis. Ancestors may stand before it.
    fn parent_letter(&mut self, parent: AxisId, written: &[ast::Name]) -> Option<LetterId> {
        let first = self.symbols.axis(parent).letters.first().copied();
        let mut wanted = Some(parent);
        let mut letter = first;
        for (back, name) in written.iter().rev().enumerate() {
            let found = self.letter(name)?;
            let axis = self.symbols.letter(found).axis;
            if wanted != Some(axis) {
                let axis_name = self.symbols.axis(axis).name.clone();
                let parent_name = self.symbols.axis(parent).name.clone();
                let possible = self.letters_in_words(parent);
                self.report(
                    Diagnostic::error("E0302", format!("`{}` is a letter of `{axis_name}`", name.text))
                        .at(name.span, format!("expected a letter of `{parent_name}`"))
                        .possible(possible)
                        .help("the letter may be left out"),
                );
                return first;
            }
            if back == 0 {
                letter = Some(found);
            }
            wanted = self.symbols.axis(axis).parent;
        }
        letter
    }

    fn declare_letter(&mut self, axis: AxisId, name: &ast::Name) {
        if let Some(before) = self.letters.get(&name.text).copied() {
            let other = self.symbols.axis(self.symbols.letter(before).axis).name.clone();
            let span = self.letter_spans[before.index()];
            self.report(
                Diagnostic::error("E0203", format!("the letter `{}` is declared twice", name.text))
                    .at(name.span, "the second time")
                    .also(span, format!("a letter of `{other}` already"))
                    .help("a letter belongs to one axis: choose another"),
            );
            return;
        }
        let id = LetterId::from(self.symbols.letters.len());
        self.symbols.letters.push(Letter { name: name.text.clone(), axis, parent: None });
        self.letter_spans.push(name.span);
        self.letters.insert(name.text.clone(), id);
        self.symbols.axes[axis.index()].letters.push(id);
    }

    /// The shape that plain letters give; `None` where one has a mistake.
    fn declared_shape(&mut self, name: &ast::Name, letters: &[ast::Name]) -> Option<(Shape, Vec<Bound>)> {
        let written: Vec<Option<Written>> = letters
            .iter()
            .map(|letter| {
                let named = self.letter(letter)?;
                Some(Written { named, span: letter.span, slice: false })
            })
            .collect();
        let written: Vec<Written> = written.into_iter().collect::<Option<_>>()?;
        self.shape_of(&name.text, &written)
    }

    /// Adds an array, whatever its shape.
    pub fn add_array(&mut self, name: &ast::Name, kind: ArrayKind, shape: Option<Shape>) -> ArrayId {
        let id = ArrayId::from(self.symbols.arrays.len());
        let letters = shape.as_ref().map(Shape::letters).unwrap_or_default();
        let slice = shape.as_ref().map(Shape::slices).unwrap_or_default();
        self.symbols.arrays.push(Array {
            name: name.text.clone(),
            kind,
            letters,
            slice,
            written: shape.as_ref().map(Shape::written).unwrap_or_default(),
            support: Support::Real,
            absent: Absent::default(),
            restriction: None,
            value: None,
            center: None,
            scale: None,
        });
        self.shapes.push(shape);
        self.facts.push(Facts::default());
        self.array_spans.push(name.span);
        self.names.insert(name.text.clone(), Named::Array(id));
        id
    }

    fn declare_data(&mut self, data: &'a ast::Data) {
        if self.taken(&data.name) {
            return;
        }
        let shape = self.declared_shape(&data.name, &data.letters);
        let id = self.add_array(&data.name, ArrayKind::Data, shape.map(|(shape, _)| shape));
        self.data_type(id, data.data_type.as_ref());
        self.data_options(id, data);
        self.given_value(id, data.value.as_ref());
    }

    fn given_value(&mut self, id: ArrayId, value: Option<&'a ast::Expression>) {
        self.facts[id.index()].value = value.map(|value| {
            self.values.push(value);
            self.values.len() - 1
        });
    }

    fn declare_constant(&mut self, constant: &'a ast::Const) {
        if self.taken(&constant.name) {
            return;
        }
        let shape = self.declared_shape(&constant.name, &constant.letters);
        let id = self.add_array(&constant.name, ArrayKind::Constant, shape.map(|(shape, _)| shape));
        self.facts[id.index()].untyped = constant.data_type.is_none();
        self.data_type(id, constant.data_type.as_ref());
        self.given_value(id, constant.value.as_ref());
    }

    /// The left of a definition: plain letters.
    fn declare_definition(&mut self, target: &'a ast::Reference, value: &'a ast::Expression) {
        if self.taken(&target.name) {
            return;
        }
        let mut written = Some(Vec::new());
        for subscript in target.subscripts.iter().flatten() {
            let letter = match subscript {
                ast::Subscript::Slice(name) => {
                    self.report(
                        Diagnostic::error(
                            "E0404",
                            format!("`:{}` stands on the left of a definition", name.text),
                        )
                        .at(name.span, "a deterministic name is defined by element")
                        .help(format!("write `{}` without the colon", name.text)),
                    );
                    None
                }
                ast::Subscript::Reference(inner) => self.left_letter(inner, &target.name.text),
            };
            match (letter, &mut written) {
                (Some((named, span)), Some(written)) => written.push(Written { named, span, slice: false }),
                (_, written) => *written = None,
            }
        }
        let shaped = written.and_then(|written| self.shape_of(&target.name.text, &written));
        let (shape, bound) = shaped.map_or((None, Vec::new()), |(shape, bound)| (Some(shape), bound));
        self.names.insert(target.name.text.clone(), Named::Definition(self.definitions.len()));
        self.definitions.push(Definition {
            name: target.name.clone(),
            value,
            shape,
            bound,
            state: State::Waiting,
            size: 0,
            used: false,
        });
    }

    /// A subscript on a left: it must be a letter.
    pub fn left_letter(&mut self, inner: &ast::Reference, target: &str) -> Option<(LetterId, Span)> {
        let named = self.names.get(&inner.name.text).copied();
        let known = named.is_some() && !self.letters.contains_key(&inner.name.text);
        if inner.subscripts.is_some() || known {
            let diagnostic =
                Diagnostic::error("E0309", format!("a subscript of `{target}` on the left is no letter"));
            if let (Some(Named::Axis(axis)), None) = (named, &inner.subscripts) {
                let name = &inner.name.text;
                let letters = self.letter_names(axis);
                let (are, here) = match letters.as_slice() {
                    [only] => (format!("its letter is `{only}`"), format!("write `{only}` here")),
                    several => (
                        format!("its letters are `{}`", several.join("`, `")),
                        "write one of its letters here".to_owned(),
                    ),
                };
                self.report(
                    diagnostic
                        .at(inner.span, "an axis")
                        .possible(format!("`{name}` is the axis, {are}"))
                        .help(here),
                );
                return None;
            }
            self.report(
                diagnostic
                    .at(inner.span, "an element of an array")
                    .possible("the left of a statement has letters and slices")
                    .help("write a letter here, and the index on the right: `x[n] ~ Normal(mu[z[n]], ...)`"),
            );
            return None;
        }
        self.letter_of(&inner.name, target).map(|letter| (letter, inner.name.span))
    }

    /// Declares the left of a `~` statement: a latent of its own, or data declared elsewhere.
    fn declare_statement(&mut self, distribution: &'a ast::Distribution, span: Span) {
        let name = &distribution.target.name;
        let draft = self.drafts.len();
        match self.names.get(&name.text).copied() {
            None => {
                let (written, complete) = self.left_subscripts(&distribution.target);
                let shaped = complete.then(|| self.shape_of(&name.text, &written)).flatten();
                let (shape, bound) = shaped.map_or((None, None), |(shape, bound)| (Some(shape), Some(bound)));
                let id = self.add_array(name, ArrayKind::Latent, shape);
                self.facts[id.index()].used = true;
                self.facts[id.index()].draft = Some(draft);
                self.drafts.push(Draft::new(distribution, span, id, bound));
            }
            Some(Named::Array(id)) if self.facts[id.index()].draft.is_some() => {
                let before = self.facts[id.index()].draft.map_or(span, |index| self.drafts[index].span);
                self.report(
                    Diagnostic::error("E0207", format!("`{}` has two `~` statements", name.text))
                        .at(name.span, "the second")
                        .also(before, "the first")
                        .possible("every latent and every data array has one `~` at most")
                        .help("delete one of them, or give the second variable a name of its own"),
                );
            }
            Some(Named::Array(id)) if self.symbols.array(id).kind == ArrayKind::Constant => {
                let before = self.array_spans[id.index()];
                self.report(
                    Diagnostic::error(
                        "E0206",
                        format!("the constant `{}` stands on the left of `~`", name.text),
                    )
                    .at(name.span, "a constant has no distribution")
                    .also(before, "declared here")
                    .help("drop the `const` line for an unknown, or declare it `data` if it is observed"),
                );
            }
            Some(Named::Array(id)) => {
                let bound = self.left_of_data(&distribution.target, id);
                self.facts[id.index()].used = true;
                self.facts[id.index()].draft = Some(draft);
                self.drafts.push(Draft::new(distribution, span, id, bound));
            }
            Some(Named::Axis(_) | Named::Definition(_)) => {
                self.taken(name);
            }
        }
    }

    /// Warns of axes, or latents, that differ only in case.
    fn warn_of_case(&mut self) {
        let axes: Vec<(String, Span)> = self
            .symbols
            .axes
            .iter()
            .zip(&self.axis_spans)
            .map(|(axis, span)| (axis.name.clone(), *span))
            .collect();
        let latents: Vec<(String, Span)> = self
            .symbols
            .arrays
            .iter()
            .zip(&self.array_spans)
            .filter(|(array, _)| array.kind == ArrayKind::Latent)
            .map(|(array, span)| (array.name.clone(), *span))
            .collect();
        for (kind, names) in [("axes", axes), ("latents", latents)] {
            for (index, (name, span)) in names.iter().enumerate() {
                let folded = name.to_lowercase();
                let Some((other, before)) =
                    names[..index].iter().find(|(other, _)| other.to_lowercase() == folded)
                else {
                    continue;
                };
                let message = format!("the {kind} `{other}` and `{name}` differ only in case");
                self.report(
                    Diagnostic::warning("W0201", message)
                        .at(*span, "becomes a file name")
                        .also(*before, "so does this")
                        .help("rename one: some file systems cannot tell them apart"),
                );
            }
        }
    }
}
