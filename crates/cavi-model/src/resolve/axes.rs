//! Subscripts typed by their axes.

use cavi_algebra::{ArrayId, ArrayKind, AxisId, LetterId, Subscript, Support};
use cavi_syntax::{Diagnostic, Span, ast, print_reference};

use super::places::{Bound, How, PLACES, Scope};
use super::{Named, Resolver};

/// The subscripts of an array as they are written, ancestors of ragged letters included.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    pub slots: Vec<Slot>,
}

/// One written subscript.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The axis it runs over.
    pub axis: AxisId,
    /// The letter of the declaration.
    pub letter: LetterId,
    /// Whether it is written only as the ancestor of a ragged letter, and is no dimension of its own.
    pub ancestor: bool,
    /// For a ragged letter, the slot of its parent.
    pub parent: Option<usize>,
    /// Whether the declaration binds it as a slice.
    pub slice: bool,
}

impl Shape {
    /// For each slot the dimension whose letter it belongs to, and how many steps above that it stands; empty where every
    /// ancestor stands right before a letter ragged in it.
    pub fn written(&self) -> Vec<(usize, usize)> {
        let mut places = vec![None; self.slots.len()];
        let dimensions = (0..self.slots.len()).filter(|slot| !self.slots[*slot].ancestor);
        for (dimension, slot) in dimensions.enumerate() {
            let lineage = std::iter::successors(Some(slot), |slot| self.slots[*slot].parent);
            for (depth, slot) in lineage.enumerate() {
                places[slot] = places[slot].or(Some((dimension, depth)));
            }
        }
        let apart = |slot: usize| self.slots[slot].ancestor && self.slots[slot + 1].parent != Some(slot);
        if !(0..self.slots.len()).any(apart) {
            return Vec::new();
        }
        places.into_iter().map(|place| place.expect("an ancestor is that of some letter")).collect()
    }

    /// The letters of the dimensions.
    pub fn letters(&self) -> Vec<LetterId> {
        self.slots.iter().filter(|slot| !slot.ancestor).map(|slot| slot.letter).collect()
    }

    /// For each dimension, whether it is a slice.
    pub fn slices(&self) -> Vec<bool> {
        self.slots.iter().filter(|slot| !slot.ancestor).map(|slot| slot.slice).collect()
    }
}

/// A subscript over another axis: which, where, and what was found.
type Mistaken = (usize, Span, String);

/// A letter as a declaration writes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub named: LetterId,
    pub span: Span,
    pub slice: bool,
}

impl Resolver<'_> {
    /// The letter of a ragged axis that runs inside `parent`: the declared one where it does, else one of its own.
    pub fn inside(&mut self, letter: LetterId, parent: LetterId) -> LetterId {
        if self.symbols.letter(letter).parent == Some(parent) {
            return letter;
        }
        if let Some(known) = self.ragged.get(&(letter, parent)) {
            return *known;
        }
        let fresh = self.symbols.fresh(letter, Some(parent));
        self.ragged.insert((letter, parent), fresh);
        fresh
    }

    /// The shape of a declaration or of the left of a latent's statement, with each letter inside its ancestors.
    pub fn shape_of(&mut self, what: &str, written: &[Written]) -> Option<(Shape, Vec<Bound>)> {
        let mut shape = Shape::default();
        let mut bound: Vec<Bound> = Vec::new();
        for (position, letter) in written.iter().enumerate() {
            let name = self.symbols.letter(letter.named).name.clone();
            if let Some(before) = bound.iter().find(|bound| bound.named == letter.named) {
                let (first, axis) = (before.span, self.symbols.letter(letter.named).axis);
                let message = format!("the letter `{name}` stands twice in `{what}`");
                let axis_name = &self.symbols.axis(axis).name;
                let help =
                    format!("give the axis a second letter, `axis {axis_name}[{name}, ...]`, and use both");
                self.report(
                    Diagnostic::error("E0310", message)
                        .at(letter.span, "the second time")
                        .also(first, "the first time")
                        .help(help),
                );
                return None;
            }
            let axis = self.symbols.letter(letter.named).axis;
            let mut slot =
                Slot { axis, letter: letter.named, ancestor: false, parent: None, slice: letter.slice };
            if let Some(parent_axis) = self.symbols.axis(axis).parent {
                let Some(parent) = shape.slots.iter().rposition(|slot| slot.axis == parent_axis) else {
                    self.ancestor_is_missing(what, written, position, parent_axis);
                    return None;
                };
                if shape.slots[parent].slice {
                    let above = self.symbols.letter(shape.slots[parent].letter).name.clone();
                    let message = format!("`:{above}` is a slice, and `{name}` is ragged in it");
                    self.report(
                        Diagnostic::error("E0405", message)
                            .at(
                                written[parent].span,
                                "a vector over this axis has no fixed subscript for the next",
                            )
                            .also(letter.span, format!("`{name}` runs inside `{above}`"))
                            .help(format!("write `{above}` without the colon")),
                    );
                    return None;
                }
                slot.letter = self.inside(letter.named, shape.slots[parent].letter);
                slot.parent = Some(parent);
                shape.slots[parent].ancestor = true;
            }
            let how = if letter.slice { How::LeftSlice } else { How::Left };
            bound.push(Bound { named: letter.named, actual: slot.letter, how, span: letter.span });
            shape.slots.push(slot);
        }
        Some((shape, bound))
    }

    fn ancestor_is_missing(&mut self, what: &str, written: &[Written], position: usize, parent: AxisId) {
        let name = self.symbols.letter(written[position].named).name.clone();
        let axis = self.symbols.letter(written[position].named).axis;
        let axis_name = self.symbols.axis(axis).name.clone();
        let parent_name = self.symbols.axis(parent).name.clone();
        let repaired = self.with_ancestors(what, written, position);
        let later =
            written.iter().skip(position).find(|other| self.symbols.letter(other.named).axis == parent);
        let diagnostic = match later {
            Some(other) => {
                let other_name = self.symbols.letter(other.named).name.clone();
                Diagnostic::error(
                    "E0306",
                    format!("`{name}` is ragged in `{other_name}`, which stands after it"),
                )
                .at(written[position].span, format!("axis `{axis_name}` is ragged in `{parent_name}`"))
                .also(other.span, "this belongs before it")
                .help(format!("write the ancestors first: `{repaired}`"))
            }
            None => Diagnostic::error("E0305", format!("`{name}` stands in `{what}` without its ancestor"))
                .at(written[position].span, format!("axis `{axis_name}` is ragged in `{parent_name}`"))
                .possible(format!(
                    "a letter of `{axis_name}` is written with all its ancestors, outermost first"
                ))
                .help(format!("write `{repaired}`")),
        };
        self.report(diagnostic);
    }

    /// A left with the ancestors of the letter at `position` before it: those that stand later move up, the others are
    /// added.
    fn with_ancestors(&self, what: &str, written: &[Written], position: usize) -> String {
        let axis_of = |letter: &Written| self.symbols.letter(letter.named).axis;
        let text = |letter: &Written| {
            let name = &self.symbols.letter(letter.named).name;
            if letter.slice { format!(":{name}") } else { name.clone() }
        };
        let axis = axis_of(&written[position]);
        let above: Vec<AxisId> =
            std::iter::successors(self.symbols.axis(axis).parent, |axis| self.symbols.axis(*axis).parent)
                .collect();
        let is_above = |letter: &&Written| above.contains(&axis_of(letter));
        let mut letters: Vec<String> =
            written[..position].iter().filter(|own| !is_above(own)).map(text).collect();
        for ancestor in above.iter().rev() {
            let own = written.iter().find(|own| axis_of(own) == *ancestor);
            let first = || self.letter_names(*ancestor).first().cloned().unwrap_or_default();
            letters.push(own.map_or_else(first, |own| self.symbols.letter(own.named).name.clone()));
        }
        letters.extend(written[position..].iter().filter(|own| !is_above(own)).map(text));
        format!("{what}[{}]", letters.join(", "))
    }

    /// The first letters of the ancestors of an axis, outermost first.
    pub fn ancestors(&self, axis: AxisId) -> Vec<String> {
        let mut names = Vec::new();
        let mut current = self.symbols.axis(axis).parent;
        while let Some(parent) = current {
            names.push(self.letter_names(parent).first().cloned().unwrap_or_default());
            current = self.symbols.axis(parent).parent;
        }
        names.reverse();
        names
    }

    /// Which letters an axis has, as a sentence.
    pub fn letters_in_words(&self, axis: AxisId) -> String {
        let (name, letters) = (&self.symbols.axis(axis).name, self.letter_names(axis));
        format!("`{name}` has the letter{} {}", if letters.len() == 1 { "" } else { "s" }, letters.join(", "))
    }

    /// The letters of an axis by name.
    pub fn letter_names(&self, axis: AxisId) -> Vec<String> {
        self.symbols
            .axis(axis)
            .letters
            .iter()
            .map(|letter| self.symbols.letter(*letter).name.clone())
            .collect()
    }

    /// An array as its declaration writes it: `w[m, j, k]`.
    pub fn spell(&self, name: &str, shape: &Shape) -> String {
        if shape.slots.is_empty() {
            return name.to_owned();
        }
        let letters: Vec<&str> =
            shape.slots.iter().map(|slot| self.symbols.letter(slot.letter).name.as_str()).collect();
        format!("{name}[{}]", letters.join(", "))
    }

    /// Resolves the subscripts of a reference against the shape of what it names: one for each written slot.
    pub fn subscripts(
        &mut self,
        scope: &mut Scope,
        reference: &ast::Reference,
        shape: &Shape,
    ) -> Option<Vec<Subscript>> {
        let empty = Vec::new();
        let written = reference.subscripts.as_ref().unwrap_or(&empty);
        let open = self.open_slots(scope, reference, shape, written.len())?;
        let mut out: Vec<Option<Subscript>> = Vec::with_capacity(shape.slots.len());
        let mut given = written.iter();
        let mut wrong: Vec<Mistaken> = Vec::new();
        let mut ordinal = 0;
        let misplaced = !written.is_empty() && self.is_misplaced(written, shape, &open);
        for (position, slot) in shape.slots.iter().enumerate() {
            let parent = slot.parent.and_then(|parent| out[parent].clone());
            let resolved = if open.contains(&position) {
                ordinal += 1;
                if misplaced {
                    None
                } else {
                    self.open_slice(scope, reference, slot, parent.as_ref(), ordinal - 1)
                }
            } else {
                match given.next() {
                    Some(ast::Subscript::Slice(name)) => {
                        ordinal += 1;
                        let own = scope.slices.get(ordinal - 1).copied();
                        // In `S[:l, i]` the slice `i` of the left stands in the other subscript, and `:l` is not another letter for it.
                        let own = own.filter(|own| !self.names_elsewhere(scope, written, name, *own));
                        self.written_slice(scope, name, slot, parent.as_ref(), own, position, &mut wrong)
                    }
                    Some(ast::Subscript::Reference(inner)) => {
                        self.subscript(scope, inner, slot, position, &mut wrong)
                    }
                    None => None,
                }
            };
            out.push(resolved);
        }
        if !wrong.is_empty() {
            self.wrong_axis(reference, shape, &wrong);
            return None;
        }
        let out: Vec<Subscript> = out.into_iter().collect::<Option<_>>()?;
        self.check_ancestors(scope, reference, shape, &out)?;
        Some(out)
    }

    /// The subscripts without those of ancestors: one for each dimension.
    pub fn fold(shape: &Shape, subscripts: Vec<Subscript>) -> Vec<Subscript> {
        let slots = shape.slots.iter().zip(subscripts);
        slots.filter(|(slot, _)| !slot.ancestor).map(|(_, subscript)| subscript).collect()
    }

    /// The slots without a subscript, which are slices of a vector or a matrix; an error if there are too few or too
    /// many subscripts.
    fn open_slots(
        &mut self,
        scope: &Scope,
        reference: &ast::Reference,
        shape: &Shape,
        given: usize,
    ) -> Option<Vec<usize>> {
        let wanted = shape.slots.len();
        if given == wanted {
            return Some(Vec::new());
        }
        if given < wanted && (wanted - given == scope.capacity || scope.lenient) {
            let missing = wanted - given;
            let own: Vec<usize> = (0..wanted).filter(|slot| shape.slots[*slot].slice).collect();
            return Some(if own.len() == missing { own } else { (given..wanted).collect() });
        }
        let name = &reference.name.text;
        let spelled = self.spell(name, shape);
        let count = |n: usize| match n {
            0 => "no subscript".to_owned(),
            1 => "1 subscript".to_owned(),
            n => format!("{n} subscripts"),
        };
        let message = format!(
            "`{name}` has {}, and {} found",
            count(wanted),
            match given {
                0 => "none is".to_owned(),
                1 => "1 is".to_owned(),
                n => format!("{n} are"),
            }
        );
        let ragged = shape.slots.iter().filter(|slot| slot.ancestor).count();
        let mut diagnostic = Diagnostic::error("E0301", message)
            .at(reference.span, format!("expected `{spelled}`"))
            .possible(self.describe_shape(shape));
        if ragged > 0 && given == wanted - ragged {
            diagnostic = diagnostic.help(format!(
                "a letter of a ragged axis is written with all its ancestors, outermost first: `{spelled}`"
            ));
        } else if given > wanted {
            diagnostic = diagnostic.help(format!(
                "write `{spelled}`, or give `{name}` more letters where it is declared or stated"
            ));
        } else {
            diagnostic =
                diagnostic.help(format!("write `{spelled}`, each letter bound on the left or summed"));
        }
        self.report(diagnostic);
        None
    }

    fn describe_shape(&self, shape: &Shape) -> String {
        if shape.slots.is_empty() {
            return "it is one number, without subscripts".to_owned();
        }
        let axes: Vec<String> = shape
            .slots
            .iter()
            .map(|slot| {
                format!(
                    "`{}` ({})",
                    self.symbols.axis(slot.axis).name,
                    self.letter_names(slot.axis).join(", ")
                )
            })
            .collect();
        format!("its subscripts run over {}", axes.join(", "))
    }

    /// One subscript that is no slice: a letter where there is one of that name, else an element of an index array.
    fn subscript(
        &mut self,
        scope: &mut Scope,
        inner: &ast::Reference,
        slot: &Slot,
        position: usize,
        wrong: &mut Vec<Mistaken>,
    ) -> Option<Subscript> {
        let name = &inner.name;
        if inner.subscripts.is_none()
            && let Some(letter) = self.letters.get(&name.text).copied()
        {
            let axis = self.symbols.letter(letter).axis;
            if axis != slot.axis {
                let found = format!("`{}` is a letter of `{}`", name.text, self.symbols.axis(axis).name);
                wrong.push((position, inner.span, found));
                return None;
            }
            return self.bound_letter(scope, letter, name.span).map(Subscript::Letter);
        }
        self.index(scope, inner, slot.axis, position, wrong)
    }

    /// An element of an index array as a subscript.
    fn index(
        &mut self,
        scope: &mut Scope,
        inner: &ast::Reference,
        wanted: AxisId,
        position: usize,
        wrong: &mut Vec<Mistaken>,
    ) -> Option<Subscript> {
        let name = &inner.name;
        let id = match self.look_up_subscript(inner, wanted)? {
            Named::Array(id) => id,
            Named::Axis(_) | Named::Definition(_) => {
                self.no_index(inner, "names no index");
                return None;
            }
        };
        self.facts[id.index()].used = true;
        self.facts[id.index()].read = true;
        let axis = match self.support(id)? {
            Support::Index(axis) => axis,
            Support::Real
            | Support::Positive
            | Support::Nonnegative
            | Support::Unit
            | Support::Count
            | Support::Binary
            | Support::Simplex
            | Support::Multiplicity
            | Support::PositiveDefinite => {
                self.no_position(inner, id, wanted);
                return None;
            }
        };
        if axis != wanted {
            let found = format!("`{}` is an index of `{}`", name.text, self.symbols.axis(axis).name);
            wrong.push((position, inner.span, found));
            return None;
        }
        if let Some(parent) = self.symbols.axis(axis).parent {
            let (axis, parent) =
                (self.symbols.axis(axis).name.clone(), self.symbols.axis(parent).name.clone());
            self.report(
                Diagnostic::error("E0307", format!("`{}` points into the ragged axis `{axis}`", name.text))
                    .at(inner.span, format!("`{axis}` is ragged in `{parent}`"))
                    .possible("indexing into a ragged axis is outside the language for now")
                    .help(format!(
                        "use letters of `{axis}` with their ancestors, or make it an axis of its own"
                    )),
            );
            return None;
        }
        let shape = self.shapes[id.index()].clone()?;
        self.check_latent_allowed(scope, id, inner.span)?;
        let (capacity, slices) = (std::mem::take(&mut scope.capacity), std::mem::take(&mut scope.slices));
        let subscripts = self.subscripts(scope, inner, &shape);
        (scope.capacity, scope.slices) = (capacity, slices);
        Some(Subscript::Index(id, Self::fold(&shape, subscripts?)))
    }

    /// The letter that a used letter stands for; an error if nothing binds it.
    pub fn bound_letter(&mut self, scope: &mut Scope, letter: LetterId, span: Span) -> Option<LetterId> {
        if let Some(bound) = scope.find(letter) {
            return Some(bound.actual);
        }
        if scope.lenient {
            return None;
        }
        // The column of a matrix over one slice is the other letter of its axis.
        if scope.capacity == 2
            && let [row] = scope.slices[..]
            && self.symbols.letter(row).axis == self.symbols.letter(letter).axis
        {
            let actual = match self.symbols.letter(row).parent {
                Some(parent) => self.inside(letter, parent),
                None => letter,
            };
            scope.bound.push(Bound { named: letter, actual, how: How::Own, span });
            scope.slices.push(actual);
            return Some(actual);
        }
        let name = self.symbols.letter(letter).name.clone();
        let axis = self.symbols.letter(letter).axis;
        let others: Vec<String> = self.letters_bound(scope, axis);
        let mut diagnostic = Diagnostic::error("E0303", format!("the letter `{name}` is not bound"))
            .at(span, "neither on the left, nor summed");
        if !others.is_empty() {
            diagnostic = diagnostic.possible(format!(
                "letters of `{}` bound here: {}",
                self.symbols.axis(axis).name,
                others.join(", ")
            ));
        }
        let slice = scope.bound.iter().find(|bound| bound.how == How::LeftSlice).map(|bound| bound.named);
        let help = if let (PLACES, Some(slice)) = (scope.what.as_str(), slice) {
            self.places_along(slice)
        } else if scope.capacity == 1 && scope.slices.is_empty() {
            format!("for the vector over `{name}` write `:{name}`; for a sum `sum[{name}](...)`")
        } else {
            match self.index_of(axis) {
                Some(index) => format!(
                    "select by the index, `{index}` in place of `{name}`; or sum over it, `sum[{name}](...)`"
                ),
                None => format!("sum over it, `sum[{name}](...)`, or let the left depend on it"),
            }
        };
        self.report(diagnostic.help(help));
        // Each letter is reported once in an expression.
        scope.bound.push(Bound { named: letter, actual: letter, how: How::Unbound, span });
        Some(letter)
    }

    /// What to give a process as its places along a slice: what is declared along its axis alone and not modelled, or data
    /// of their own.
    pub(super) fn places_along(&self, slice: LetterId) -> String {
        let letter = &self.symbols.letter(slice).name;
        let axis = self.symbols.letter(slice).axis;
        let declared = (0..self.symbols.arrays.len()).find(|index| {
            let (array, facts) = (&self.symbols.arrays[*index], &self.facts[*index]);
            let along = match array.letters[..] {
                [only] => self.symbols.letter(only).axis == axis,
                _ => false,
            };
            let number = matches!(array.support, Support::Real | Support::Positive | Support::Nonnegative);
            along && number && array.kind != ArrayKind::Latent && facts.draft.is_none()
        });
        match declared {
            Some(index) => {
                let name = &self.symbols.arrays[index].name;
                format!("the places run along the slice: write `at = {name}[{letter}]`")
            }
            None => {
                let name = self.free_name(&["t", "place", "position"]);
                format!(
                    "the places run along the slice: declare `data {name}[{letter}] : real`, and write `at = {name}[{letter}]`"
                )
            }
        }
    }

    /// An index of an axis, as it is declared.
    fn index_of(&mut self, axis: AxisId) -> Option<String> {
        let mut all = (0..self.symbols.arrays.len()).map(ArrayId::from);
        let found = all.find(|id| self.support(*id) == Some(Support::Index(axis)))?.index();
        let shape = self.shapes[found].as_ref()?;
        Some(self.spell(&self.symbols.arrays[found].name, shape))
    }

    fn letters_bound(&self, scope: &Scope, axis: AxisId) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for bound in &scope.bound {
            let letter = self.symbols.letter(bound.named);
            if letter.axis == axis && !names.contains(&letter.name) {
                names.push(letter.name.clone());
            }
        }
        names
    }

    /// `:k` as it is written on the right; `own` is the slice of the left that it may be another letter for.
    #[expect(clippy::too_many_arguments, reason = "a subscript, its place, and where its mistakes go")]
    fn written_slice(
        &mut self,
        scope: &mut Scope,
        name: &ast::Name,
        slot: &Slot,
        parent: Option<&Subscript>,
        own: Option<LetterId>,
        position: usize,
        wrong: &mut Vec<Mistaken>,
    ) -> Option<Subscript> {
        let letter = self.letter(name)?;
        let axis = self.symbols.letter(letter).axis;
        if axis != slot.axis {
            let found = format!("`{}` is a letter of `{}`", name.text, self.symbols.axis(axis).name);
            wrong.push((position, name.span, found));
            return None;
        }
        if let Some(bound) = scope.find(letter) {
            return match bound.how {
                How::LeftSlice | How::Own => Some(Subscript::Letter(bound.actual)),
                How::Unbound => None,
                How::Left | How::Sum => {
                    let (first, how) = (bound.span, bound.how);
                    let place = if how == How::Sum { "summed here" } else { "on the left" };
                    let message = format!("`:{0}` is a slice here, and `{0}` is bound already", name.text);
                    self.report(
                        Diagnostic::error("E0304", message)
                            .at(name.span, "a slice over a letter that has a value")
                            .also(first, place)
                            .help(format!(
                                "write `{}` for the element, or slice over another letter",
                                name.text
                            )),
                    );
                    None
                }
            };
        }
        if scope.lenient {
            return None;
        }
        match own {
            // Another letter for the slice of the left.
            Some(actual) if self.symbols.letter(actual).axis == axis => {
                scope.bound.push(Bound { named: letter, actual, how: How::Own, span: name.span });
                Some(Subscript::Letter(actual))
            }
            Some(_) | None if scope.slices.len() < scope.capacity => {
                let actual = self.own_slice(scope, letter, parent)?;
                scope.bound.push(Bound { named: letter, actual, how: How::Own, span: name.span });
                scope.slices.push(actual);
                Some(Subscript::Letter(actual))
            }
            Some(_) | None => {
                self.no_room_for_slice(scope, &name.text, name.span);
                None
            }
        }
    }

    fn no_room_for_slice(&mut self, scope: &Scope, letter: &str, span: Span) {
        let size = match scope.capacity {
            0 => "one number",
            1 => "one vector",
            _ => "one matrix",
        };
        let message = format!("`:{letter}` is a slice where {} is {size}", scope.what);
        let help = match scope.capacity {
            0 => {
                format!("write an element, with `{letter}` bound on the left or summed: `sum[{letter}](...)`")
            }
            _ => format!("write `{letter}` for an element, bound on the left or summed"),
        };
        self.report(Diagnostic::error("E0404", message).at(span, "no slice can stand here").help(help));
    }

    /// The letter of the argument's own slice, inside the parent that stands before it.
    fn own_slice(&mut self, scope: &Scope, letter: LetterId, parent: Option<&Subscript>) -> Option<LetterId> {
        let inside = match (self.symbols.axis(self.symbols.letter(letter).axis).parent, parent) {
            (None, _) => None,
            (Some(_), Some(Subscript::Letter(parent))) => Some(*parent),
            (Some(_), Some(Subscript::Index(..)) | None) => return None,
        };
        let actual = match inside {
            Some(parent) => self.inside(letter, parent),
            None => letter,
        };
        Some(if scope.holds(actual) { self.symbols.fresh(letter, inside) } else { actual })
    }

    /// Whether a letter that is written stands where another axis is expected.
    fn is_misplaced(&self, written: &[ast::Subscript], shape: &Shape, open: &[usize]) -> bool {
        let places = (0..shape.slots.len()).filter(|position| !open.contains(position));
        places.zip(written).any(|(position, subscript)| match subscript {
            ast::Subscript::Reference(inner) if inner.subscripts.is_none() => {
                let letter = self.letters.get(&inner.name.text);
                letter.is_some_and(|letter| self.symbols.letter(*letter).axis != shape.slots[position].axis)
            }
            _ => false,
        })
    }

    /// A slot without a subscript, in a bare name: it is the slice of the left side, or a slice of the argument's
    /// own.
    fn open_slice(
        &mut self,
        scope: &mut Scope,
        reference: &ast::Reference,
        slot: &Slot,
        parent: Option<&Subscript>,
        ordinal: usize,
    ) -> Option<Subscript> {
        if scope.lenient {
            return None;
        }
        if let Some(actual) = scope.slices.get(ordinal).copied() {
            let axis = self.symbols.letter(actual).axis;
            if axis == slot.axis {
                return Some(Subscript::Letter(actual));
            }
            let (found, wanted) =
                (self.symbols.axis(slot.axis).name.clone(), self.symbols.axis(axis).name.clone());
            let name = &reference.name.text;
            self.report(
                Diagnostic::error(
                    "E0302",
                    format!("`{name}` runs over `{found}`, and the slice over `{wanted}`"),
                )
                .at(reference.span, format!("expected a vector over axis `{wanted}`"))
                .help(format!("write its subscripts, with the slice over `{wanted}` where it belongs")),
            );
            return None;
        }
        // A letter of the axis that is not used yet. A matrix takes a second letter for its columns.
        let mut letters = self.symbols.axis(slot.axis).letters.clone();
        letters.sort_by_key(|letter| *letter != slot.letter);
        let free = letters.into_iter().find(|letter| !scope.holds(*letter) && scope.find(*letter).is_none());
        let letter = free.unwrap_or(slot.letter);
        let actual = self.own_slice(scope, letter, parent)?;
        scope.bound.push(Bound { named: letter, actual, how: How::Own, span: reference.span });
        scope.slices.push(actual);
        Some(Subscript::Letter(actual))
    }

    /// All subscripts of a reference that run over another axis are reported in one message.
    fn wrong_axis(&mut self, reference: &ast::Reference, shape: &Shape, wrong: &[Mistaken]) {
        let name = &reference.name.text;
        let (position, span, found) = &wrong[0];
        let axis = self.symbols.axis(shape.slots[*position].axis).name.clone();
        let number = if shape.slots.len() == 1 {
            "the subscript".to_owned()
        } else {
            format!("subscript {}", position + 1)
        };
        let mut diagnostic =
            Diagnostic::error("E0302", format!("{number} of `{name}` runs over `{axis}`, and {found}"))
                .at(*span, format!("expected a letter or an index of axis `{axis}`"));
        let indices = self.index_arrays(shape.slots[*position].axis);
        let mut possible = self.letters_in_words(shape.slots[*position].axis);
        if !indices.is_empty() {
            possible.push_str(&format!("; indices of `{axis}`: {}", indices.join(", ")));
        }
        for (_, span, found) in &wrong[1..] {
            diagnostic = diagnostic.also(*span, found.clone());
        }
        let spelled = self.spell(name, shape);
        let given = reference.subscripts.as_ref().map_or(0, Vec::len);
        let help = if given < shape.slots.len() {
            format!("a subscript is missing: write `{spelled}`")
        } else {
            format!("the order is `{spelled}`")
        };
        self.report(diagnostic.possible(possible).help(help));
    }

    fn index_arrays(&self, axis: AxisId) -> Vec<String> {
        let arrays = self.symbols.arrays.iter().zip(&self.facts);
        arrays
            .filter(|(array, facts)| facts.has_support && array.support == Support::Index(axis))
            .map(|(array, _)| array.name.clone())
            .collect()
    }

    /// A ragged letter must run inside the ancestors written before it.
    fn check_ancestors(
        &mut self,
        scope: &Scope,
        reference: &ast::Reference,
        shape: &Shape,
        out: &[Subscript],
    ) -> Option<()> {
        for (position, slot) in shape.slots.iter().enumerate() {
            let Some(parent) = slot.parent else { continue };
            match (&out[parent], &out[position]) {
                (Subscript::Letter(above), Subscript::Letter(letter)) => {
                    let actual = self.symbols.letter(*letter).parent;
                    if actual == Some(*above) {
                        continue;
                    }
                    let letter_name = self.symbols.letter(*letter).name.clone();
                    let above_name = self.symbols.letter(*above).name.clone();
                    let inside = actual.map_or_else(String::new, |id| self.symbols.letter(id).name.clone());
                    let message = format!(
                        "`{letter_name}` runs inside `{inside}` here, and stands after `{above_name}`"
                    );
                    let repaired = print_reference(reference).replacen(
                        &format!("{above_name}, "),
                        &format!("{inside}, "),
                        1,
                    );
                    let summed = scope.bound.iter().any(|own| own.actual == *above && own.how == How::Sum);
                    let drop =
                        if summed { format!(" and drop `{above_name}` from the sum") } else { String::new() };
                    let help = if inside.is_empty() {
                        format!("bind a letter inside `{above_name}`")
                    } else {
                        format!("write `{repaired}`{drop}")
                    };
                    self.report(
                        Diagnostic::error("E0306", message)
                            .at(reference.span, format!("`{letter_name}` is bound together with `{inside}`"))
                            .help(help),
                    );
                    return None;
                }
                (Subscript::Index(..), _) => {
                    let axis = self.symbols.axis(slot.axis).name.clone();
                    let message = format!("an ancestor of the ragged axis `{axis}` is an index here");
                    self.report(
                        Diagnostic::error("E0307", message)
                            .at(reference.span, format!("`{axis}` would have another length for each entry"))
                            .possible("indexing into a ragged axis is outside the language for now")
                            .help("use letters of the ragged axis and its ancestors"),
                    );
                    return None;
                }
                (Subscript::Letter(_), Subscript::Index(..)) => {}
            }
        }
        Some(())
    }
}
