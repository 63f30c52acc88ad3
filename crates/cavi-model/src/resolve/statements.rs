//! `target ~ Family(arguments)`: the left side, the family, and whether they fit each other.

use cavi_algebra::{ArrayId, ArrayKind, LetterId, Restriction, Support};
use cavi_families::{DataKind, Family, Slices};
use cavi_syntax::ast::{self, ExpressionKind};
use cavi_syntax::{Diagnostic, Span};

use super::Resolver;
use super::axes::Written;
use super::places::{Bound, How};
use crate::model::{ArgumentSpec, Statement};

/// A `~` statement on its way to a resolved one.
#[derive(Clone, Debug)]
pub(super) struct Draft<'a> {
    pub ast: &'a ast::Distribution,
    pub span: Span,
    pub target: ArrayId,
    /// The letters of its left; `None` where the left has a mistake.
    pub bound: Option<Vec<Bound>>,
    pub family: FamilyState,
    /// It is being resolved. A request at this point comes from a cycle, which is reported elsewhere.
    pub begun: bool,
    pub statement: Option<Statement>,
}

/// The family of a statement, looked up once.
#[derive(Clone, Copy)]
pub(super) enum FamilyState {
    Waiting,
    Done(Option<&'static dyn Family>),
}

impl std::fmt::Debug for FamilyState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FamilyState::Waiting => f.write_str("Waiting"),
            FamilyState::Done(family) => {
                f.debug_tuple("Done").field(&family.map(|family| family.name())).finish()
            }
        }
    }
}

impl<'a> Draft<'a> {
    pub fn new(
        ast: &'a ast::Distribution,
        span: Span,
        target: ArrayId,
        bound: Option<Vec<Bound>>,
    ) -> Draft<'a> {
        Draft { ast, span, target, bound, family: FamilyState::Waiting, begun: false, statement: None }
    }
}

/// Whether the family's argument is the word for its support, as in `Flat(simplex)`.
pub(super) fn takes_support_word(family: &dyn Family) -> bool {
    family.slices() == Slices::Any && family.parameters().is_empty()
}

impl Resolver<'_> {
    /// The subscripts on the left of `~` and whether all of them are letters.
    pub fn left_subscripts(&mut self, target: &ast::Reference) -> (Vec<Written>, bool) {
        let mut written = Vec::new();
        let mut complete = true;
        for subscript in target.subscripts.iter().flatten() {
            let letter = match subscript {
                ast::Subscript::Slice(name) => {
                    self.letter_of(name, &target.name.text).map(|letter| (letter, name.span, true))
                }
                ast::Subscript::Reference(inner) => {
                    self.left_letter(inner, &target.name.text).map(|(letter, span)| (letter, span, false))
                }
            };
            match letter {
                Some((named, span, slice)) => written.push(Written { named, span, slice }),
                None => complete = false,
            }
        }
        (written, complete)
    }

    /// The left of a statement for data: letters of the declared axes, which stand for the declared letters.
    pub fn left_of_data(&mut self, target: &ast::Reference, id: ArrayId) -> Option<Vec<Bound>> {
        let (written, complete) = self.left_subscripts(target);
        let shape = self.shapes[id.index()].clone()?;
        if !complete {
            return None;
        }
        let name = &target.name.text;
        let spelled = self.spell(name, &shape);
        if written.len() != shape.slots.len() {
            let message = format!(
                "`{name}` is declared with {} subscript{}, and {} {} on the left",
                shape.slots.len(),
                if shape.slots.len() == 1 { "" } else { "s" },
                written.len(),
                if written.len() == 1 { "stands" } else { "stand" }
            );
            self.report(
                Diagnostic::error("E0301", message)
                    .at(target.span, format!("expected `{spelled}`"))
                    .also(self.array_spans[id.index()], "declared here")
                    .help("the left of `~` has all subscripts of the declaration"),
            );
            return None;
        }
        let mut bound: Vec<Bound> = Vec::new();
        let mut slice = Vec::new();
        for (position, (letter, slot)) in written.iter().zip(&shape.slots).enumerate() {
            let (axis, letter_name) = {
                let symbol = self.symbols.letter(letter.named);
                (symbol.axis, symbol.name.clone())
            };
            if axis != slot.axis {
                let (found, wanted) =
                    (self.symbols.axis(axis).name.clone(), self.symbols.axis(slot.axis).name.clone());
                let message = format!(
                    "subscript {} of `{name}` runs over `{wanted}`, and `{letter_name}` is a letter of `{found}`",
                    position + 1
                );
                let letters = self.letters_in_words(slot.axis);
                self.report(
                    Diagnostic::error("E0302", message)
                        .at(letter.span, format!("expected a letter of axis `{wanted}`"))
                        .also(self.array_spans[id.index()], "declared here")
                        .possible(letters)
                        .help(format!("the order is `{spelled}`")),
                );
                return None;
            }
            if let Some(before) = bound.iter().find(|bound| bound.named == letter.named) {
                let first = before.span;
                self.report(
                    Diagnostic::error(
                        "E0310",
                        format!("the letter `{letter_name}` stands twice in `{name}`"),
                    )
                    .at(letter.span, "the second time")
                    .also(first, "the first time")
                    .help(format!("use two letters of the axis: `{spelled}`")),
                );
                return None;
            }
            if letter.slice && slot.ancestor {
                self.report(
                    Diagnostic::error(
                        "E0405",
                        format!("`:{letter_name}` is a slice, and a later letter is ragged in it"),
                    )
                    .at(letter.span, "a vector over this axis has no fixed subscript for the next")
                    .help(format!("write `{letter_name}` without the colon")),
                );
                return None;
            }
            let how = if letter.slice { How::LeftSlice } else { How::Left };
            bound.push(Bound { named: letter.named, actual: slot.letter, how, span: letter.span });
            if !slot.ancestor {
                slice.push(letter.slice);
            }
        }
        if let Some(shape) = &mut self.shapes[id.index()] {
            shape.slots.iter_mut().zip(&written).for_each(|(slot, letter)| slot.slice = letter.slice);
        }
        self.symbols.arrays[id.index()].slice = slice;
        Some(bound)
    }

    /// Looks the families of all statements up, and gives the latents their supports. That of an index waits for the
    /// axis of its argument.
    pub fn resolve_families(&mut self) {
        for index in 0..self.drafts.len() {
            let draft = &self.drafts[index];
            let (ast, target) = (draft.ast, draft.target);
            let observed = self.symbols.array(target).kind == ArrayKind::Data;
            let family = self.family(ast, observed);
            self.drafts[index].family = FamilyState::Done(family);
            let Some(family) = family else { continue };
            if self.symbols.array(target).kind != ArrayKind::Latent {
                continue;
            }
            let support = if takes_support_word(family) {
                self.support_word(ast)
            } else {
                family.latent().filter(|support| !matches!(support, Support::Index(_)))
            };
            if let Some(support) = support {
                self.symbols.arrays[target.index()].support = support;
                self.facts[target.index()].has_support = true;
            }
        }
    }

    /// `Flat(simplex)`: the word in brackets.
    fn support_word(&mut self, ast: &ast::Distribution) -> Option<Support> {
        const WORDS: &[(&str, Support)] = &[
            ("real", Support::Real),
            ("nonnegative", Support::Nonnegative),
            ("positive", Support::Nonnegative),
            ("simplex", Support::Simplex),
        ];
        let family = &ast.family.text;
        let possible = "the word is `real`, `nonnegative` (or `positive`), or `simplex`";
        let word = match ast.arguments.as_slice() {
            [argument] if argument.name.is_none() => match &argument.value.kind {
                ExpressionKind::Reference(reference) if reference.subscripts.is_none() => {
                    Some(&reference.name)
                }
                _ => None,
            },
            _ => None,
        };
        let Some(word) = word else {
            let span = ast.arguments.first().map_or(ast.family.span, |argument| argument.value.span);
            self.report(
                Diagnostic::error("E0514", format!("`{family}` takes one word, the support"))
                    .at(span, "expected one word")
                    .possible(possible)
                    .help(format!("write `{family}(nonnegative)`")),
            );
            return None;
        };
        let found = WORDS.iter().find(|(name, _)| *name == word.text).map(|(_, support)| *support);
        if found.is_none() {
            let near = cavi_syntax::nearest(&word.text, WORDS.iter().map(|(name, _)| *name));
            let help = near.map_or_else(
                || format!("write `{family}(nonnegative)`"),
                |near| format!("did you mean `{near}`?"),
            );
            self.report(
                Diagnostic::error("E0514", format!("`{}` is no support", word.text))
                    .at(word.span, "unknown word")
                    .possible(possible)
                    .help(help),
            );
        }
        found
    }

    /// The support of an array; `None` where a mistake keeps it unknown.
    pub fn support(&mut self, id: ArrayId) -> Option<Support> {
        if !self.facts[id.index()].has_support
            && let Some(draft) = self.facts[id.index()].draft
        {
            self.resolve_draft(draft);
        }
        self.facts[id.index()].has_support.then(|| self.symbols.array(id).support)
    }

    /// Resolves a statement, unless that has been begun.
    pub fn resolve_draft(&mut self, index: usize) {
        if self.drafts[index].begun {
            return;
        }
        self.drafts[index].begun = true;
        let draft = &self.drafts[index];
        let (ast, target, span) = (draft.ast, draft.target, draft.span);
        let bound = draft.bound.clone();
        let FamilyState::Done(family) = draft.family else { return };
        let slices: Vec<&Bound> =
            bound.iter().flatten().filter(|bound| bound.how == How::LeftSlice).collect();
        let observed = self.symbols.array(target).kind == ArrayKind::Data;
        let Some(family) = family else {
            // The family is unknown. Mistakes inside its arguments are reported all the same.
            let left: Vec<LetterId> = slices.iter().map(|bound| bound.actual).collect();
            self.unknown_arguments(&ast.arguments, bound.unwrap_or_default(), &left);
            return;
        };
        let simplex = takes_support_word(family)
            && self.facts[target.index()].has_support
            && self.symbols.array(target).support == Support::Simplex;
        let fits = bound.is_some() && self.check_slices(ast, family, &slices, observed, simplex);
        let left: Vec<LetterId> = slices.iter().map(|bound| bound.actual).collect();
        let describes = if observed {
            self.check_data_kind(ast, family, target)
        } else {
            self.check_latent(ast, family, target)
        };
        let arguments = if takes_support_word(family) {
            if observed { None } else { self.facts[target.index()].has_support.then(Vec::new) }
        } else {
            self.arguments(
                &ast.family,
                family,
                &ast.arguments,
                bound.clone().unwrap_or_default(),
                &left,
                !fits,
            )
        };
        let class = arguments.as_ref().and_then(|arguments| class_letter(arguments));
        if let Some(letter) = class {
            self.settle_index(ast, family, target, letter, observed);
        }
        let whole = self.check_restricted_slice(ast, family, target, &left);
        let (Some(arguments), true, true, true) = (arguments, fits, describes, whole) else { return };
        let symbols = &self.symbols;
        // Ragged letters of one name are several, one for each ancestor.
        let renamed = bound
            .iter()
            .flatten()
            .filter(|own| symbols.letter(own.named).name != symbols.letter(own.actual).name);
        self.drafts[index].statement = Some(Statement {
            target,
            plates: symbols.copies(&symbols.plates(target), &left),
            renamed: renamed.map(|own| (own.actual, own.named)).collect(),
            slices: left,
            family,
            arguments,
            observed,
            span,
        });
    }

    /// A vector along a letter by which the entries are restricted lacks another element in each copy: it has no density of one length.
    fn check_restricted_slice(
        &mut self,
        ast: &ast::Distribution,
        family: &dyn Family,
        target: ArrayId,
        slices: &[LetterId],
    ) -> bool {
        let array = self.symbols.array(target);
        let Some((left, sign, right)) = array.restriction.map(Restriction::parts) else { return true };
        let Some(letter) = slices.iter().find(|own| [left, right].contains(own)) else { return true };
        let name = |own: LetterId| self.symbols.letter(own).name.clone();
        let (letter, restriction) = (name(*letter), format!("{} {sign} {}", name(left), name(right)));
        let array = array.name.clone();
        let counts = if family.data() == DataKind::Counts { self.entry_by_entry(ast) } else { None };
        let written = counts.unwrap_or_else(|| {
            format!("`{} ~ Normal(...)`", cavi_syntax::print_reference(&ast.target).replace(':', ""))
        });
        let help = format!("state the entries one by one, {written}, or drop `{restriction}`");
        let span = ast.target.span;
        self.report(
            Diagnostic::error(
                "E0525",
                format!(
                    "`{array}` has `{restriction}`, and stands under `{}` as a vector along `{letter}`",
                    ast.family.text
                ),
            )
            .at(span, "each of these vectors lacks other elements")
            .also(self.array_spans[target.index()], "restricted here")
            .possible(format!("`{}` describes whole vectors of one length", ast.family.text))
            .help(help),
        );
        false
    }

    /// The axis of an index: for a latent its support, for data it must be the declared one.
    fn settle_index(
        &mut self,
        ast: &ast::Distribution,
        family: &'static dyn Family,
        target: ArrayId,
        letter: LetterId,
        observed: bool,
    ) {
        let axis = self.symbols.letter(letter).axis;
        if !observed {
            if matches!(family.latent(), Some(Support::Index(_))) {
                self.symbols.arrays[target.index()].support = Support::Index(axis);
                self.facts[target.index()].has_support = true;
            }
            return;
        }
        if family.data() != DataKind::Index || !self.facts[target.index()].has_support {
            return;
        }
        if let Support::Index(declared) = self.symbols.array(target).support
            && declared != axis
        {
            let (found, wanted) =
                (self.symbols.axis(axis).name.clone(), self.symbols.axis(declared).name.clone());
            let message = format!(
                "`{}` is an index of `{wanted}`, and the probabilities run over `{found}`",
                ast.target.name.text
            );
            let place = ast.arguments.first().map_or(ast.family.span, |argument| argument.value.span);
            let mut diagnostic = Diagnostic::error("E0302", message)
                .at(place, format!("expected a vector over `{wanted}`"))
                .help(format!("use probabilities over `{wanted}`, or declare the data `index {found}`"));
            if let Some(span) = self.facts[target.index()].type_span {
                diagnostic = diagnostic.also(span, "declared here");
            }
            self.report(diagnostic);
        }
    }

    /// Whether the slices on the left are those that the family needs.
    fn check_slices(
        &mut self,
        ast: &ast::Distribution,
        family: &dyn Family,
        slices: &[&Bound],
        observed: bool,
        simplex: bool,
    ) -> bool {
        let (name, family_name) = (&ast.target.name.text, &ast.family.text);
        let wanted = match family.slices() {
            Slices::None => 0..=0,
            Slices::One => 1..=1,
            Slices::Two => 2..=2,
            Slices::Any if simplex => 1..=1,
            Slices::Any => 0..=1,
        };
        if wanted.contains(&slices.len()) {
            if let [row, column] = slices {
                let (row_axis, column_axis) =
                    (self.symbols.letter(row.named).axis, self.symbols.letter(column.named).axis);
                if row_axis != column_axis {
                    self.report(
                        Diagnostic::error("E0409", format!("the two slices of `{name}` run over two axes"))
                            .at(column.span, format!("axis `{}`", self.symbols.axis(column_axis).name))
                            .also(row.span, format!("axis `{}`", self.symbols.axis(row_axis).name))
                            .help("a symmetric matrix has two letters of one axis: `axis NAME[i, j]`"),
                    );
                    return false;
                }
            }
            return true;
        }
        let letters: Vec<String> =
            slices.iter().map(|bound| self.symbols.letter(bound.named).name.clone()).collect();
        let diagnostic = if slices.len() > *wanted.end() && *wanted.end() == 0 {
            let letter = &letters[0];
            let message =
                format!("`{family_name}` describes one number, and `{name}` has the slice `:{letter}`");
            let plain = ast.target.subscripts.iter().flatten().map(|subscript| match subscript {
                ast::Subscript::Slice(name) => name.text.clone(),
                ast::Subscript::Reference(inner) => inner.name.text.clone(),
            });
            let plain = format!("{name}[{}]", plain.collect::<Vec<_>>().join(", "));
            let colon = plain.replace(&format!("[{letter}]"), &format!("[:{letter}]"));
            let colon = colon.replace(&format!(" {letter}]"), &format!(" :{letter}]"));
            let colon = colon.replace(&format!("[{letter},"), &format!("[:{letter},"));
            let colon = colon.replace(&format!(" {letter},"), &format!(" :{letter},"));
            let help = if observed {
                format!("write `{plain} ~ {family_name}(...)`: one number for each `{letter}`")
            } else {
                format!(
                    "write `{plain} ~ {family_name}(...)`; for a joint factor of q over `{letter}` say `q({colon})` in `posterior`"
                )
            };
            Diagnostic::error("E0402", message)
                .at(slices[0].span, "a slice on the left of a scalar family")
                .help(help)
        } else if slices.len() > *wanted.end() {
            let message =
                format!("`{name}` has {} slices, and `{family_name}` takes {}", slices.len(), wanted.end());
            let (last, others) = slices.split_last().expect("there are too many");
            let kept = slices.len() - wanted.end();
            let mut number = 0;
            let repaired = ast.target.subscripts.iter().flatten().map(|subscript| match subscript {
                ast::Subscript::Slice(name) => {
                    number += 1;
                    if number > kept { format!(":{}", name.text) } else { name.text.clone() }
                }
                ast::Subscript::Reference(inner) => inner.name.text.clone(),
            });
            let repaired = format!("{name}[{}]", repaired.collect::<Vec<_>>().join(", "));
            let letter = self.symbols.letter(last.named).name.clone();
            let help = if *wanted.end() == 2 {
                format!("keep two colons, those of the rows and the columns: `{repaired}`")
            } else {
                let which = if simplex || family.latent() == Some(Support::Simplex) {
                    "along which it sums to 1"
                } else {
                    "of its vector"
                };
                let copies: Vec<String> = others
                    .iter()
                    .map(|bound| format!("`{}`", self.symbols.letter(bound.named).name))
                    .collect();
                format!(
                    "keep one colon, on the letter {which}: `{repaired}` is one vector over `{letter}` for each {}",
                    copies.join(" and ")
                )
            };
            let mut diagnostic = Diagnostic::error("E0403", message).at(last.span, "a slice").help(help);
            for other in others {
                diagnostic = diagnostic.also(other.span, "another slice");
            }
            diagnostic
        } else {
            let (count, example) = match wanted.start() {
                1 => ("one slice", "[..., :k]"),
                _ => ("two slices over one axis", "[..., :i, :j]"),
            };
            // Most arrays end with the letter of their vector.
            let written = ast.target.subscripts.iter().flatten().map(|subscript| match subscript {
                ast::Subscript::Slice(name) => format!(":{}", name.text),
                ast::Subscript::Reference(inner) => inner.name.text.clone(),
            });
            let mut written: Vec<String> = written.collect();
            let marked = match (written.last_mut(), *wanted.start()) {
                (Some(last), 1) => {
                    last.insert(0, ':');
                    Some(format!("{name}[{}]", written.join(", ")))
                }
                (Some(_), _) => self.matrix_on_the_left(&written).map(|all| format!("{name}[{all}]")),
                (None, _) => None,
            };
            let (possible, whose) = match wanted.start() {
                1 => (
                    "`:k` makes one vector over `k`; a bare `k` makes independent copies",
                    "letter of the vector",
                ),
                _ => (
                    "two slices make one matrix; bare letters make independent copies",
                    "letters of the matrix",
                ),
            };
            let what = if simplex { format!("`{family_name}(simplex)`") } else { format!("`{family_name}`") };
            let found = if slices.is_empty() { "none".to_owned() } else { slices.len().to_string() };
            let message = format!("{what} needs {count} on the left of `~`, and `{name}` has {found}");
            Diagnostic::error("E0401", message)
                .at(
                    ast.target.span,
                    if slices.is_empty() { "no letter here has a colon" } else { "one letter has a colon" },
                )
                .possible(possible)
                .help(format!(
                    "mark the {whose}: `{} ~ {family_name}(...)`",
                    marked.unwrap_or(format!("{name}{example}"))
                ))
        };
        self.report(diagnostic);
        false
    }

    /// Subscripts, the last of them with another of its axis, as the rows and the columns of a matrix.
    fn matrix_on_the_left(&self, written: &[String]) -> Option<String> {
        let bare = |text: &String| text.trim_start_matches(':').to_owned();
        let axis_of = |name: &str| self.letters.get(name).map(|letter| self.symbols.letter(*letter).axis);
        let (last, before) = written.split_last()?;
        let (last, axis) = (bare(last), axis_of(&bare(last))?);
        let (first, plates) = match before.split_last() {
            Some((first, plates)) if axis_of(&bare(first)) == Some(axis) => (bare(first), plates),
            _ => (last.clone(), before),
        };
        let second = if first == last {
            self.letter_names(axis).into_iter().find(|name| *name != first)?
        } else {
            last
        };
        let mut all: Vec<String> = plates.iter().map(bare).collect();
        all.extend([format!(":{first}"), format!(":{second}")]);
        Some(all.join(", "))
    }

    /// A latent needs a family that has a q.
    fn check_latent(&mut self, ast: &ast::Distribution, family: &dyn Family, target: ArrayId) -> bool {
        if family.latent().is_some() {
            return true;
        }
        let name = &self.symbols.array(target).name;
        let shape = self.shapes[target.index()].as_ref();
        let spelled = shape.map_or(name.clone(), |shape| self.spell(name, shape));
        let kind = match family.data() {
            DataKind::Counts => "count",
            DataKind::Binary => "binary",
            DataKind::Positive => "positive",
            DataKind::Nonnegative => "nonnegative",
            DataKind::Inside => "unit",
            DataKind::Index => "index AXIS",
            DataKind::Any | DataKind::None => "real",
        };
        let priors: Vec<&str> = cavi_families::families()
            .iter()
            .filter(|family| family.latent().is_some())
            .map(|family| family.name())
            .collect();
        let diagnostic = Diagnostic::error(
            "E0509",
            format!("`{name}` is not data, and `{}` describes only data", ast.family.text),
        )
        .at(ast.family.span, "no factor of q has this family")
        .possible(format!("priors: {}", priors.join(", ")))
        .help(format!("declare `data {spelled} : {kind}` if it is observed, or choose another prior"));
        self.report(diagnostic);
        false
    }
}

/// The letter of the first vector argument.
fn class_letter(arguments: &[Option<ArgumentSpec>]) -> Option<LetterId> {
    arguments.iter().flatten().find_map(|argument| match argument.letters[..] {
        [letter] => Some(letter),
        _ => None,
    })
}
