//! `posterior { }` and `init { }`.

use cavi_algebra::{ArrayId, ArrayKind, LetterId, Support};
use cavi_families::Slices;
use cavi_syntax::ast::{self, ExpressionKind, InitItem, PosteriorItem, Program, StatementKind};
use cavi_syntax::{Diagnostic, Span};

use super::names::join;
use super::places::{Bound, How, START, Scope};
use super::statements::{FamilyState, takes_support_word};
use super::{Named, Resolver};
use crate::model::{BlockKind, BlockSpec, InitSpec, Start};

/// Starts that are computed from data.
const STARTS: &[&str] = &["pca", "kmeans"];

/// One subscript of a reference as it is written, next to the slot it fills.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subscripted {
    /// The letter of the declaration.
    own: LetterId,
    /// The letter as written here.
    named: LetterId,
    /// Written with a colon here.
    slice: bool,
    /// Only the ancestor of a ragged letter.
    ancestor: bool,
}

/// A member of a block.
struct Member {
    id: ArrayId,
    slices: Vec<LetterId>,
    /// The letters of the plates: as written, and the member's own.
    plates: Vec<(LetterId, LetterId)>,
    span: Span,
}

impl Resolver<'_> {
    /// Resolves the blocks `posterior` and `init`.
    pub fn resolve_blocks(
        &mut self,
        program: &Program,
    ) -> (Vec<BlockSpec>, Vec<Vec<Vec<LetterId>>>, Vec<InitSpec>) {
        let mut blocks = Vec::new();
        let mut plates = Vec::new();
        let mut init: Vec<InitSpec> = Vec::new();
        let mut seen: Vec<(ArrayId, BlockKind, Span)> = Vec::new();
        for statement in &program.statements {
            match &statement.kind {
                StatementKind::Posterior(block) => {
                    for item in &block.items {
                        for (spec, letters) in self.posterior_item(&item.kind, item.span, &mut seen) {
                            blocks.push(spec);
                            plates.push(letters);
                        }
                    }
                }
                StatementKind::Init(block) => {
                    for item in &block.items {
                        let Some(spec) = self.init_item(&item.kind, item.span) else { continue };
                        if let Some(before) = init.iter().find(|before| before.target == spec.target) {
                            let (name, first) = (self.symbols.array(spec.target).name.clone(), before.span);
                            self.report(
                                Diagnostic::error("E0608", format!("`{name}` has two starts"))
                                    .at(item.span, "the second")
                                    .also(first, "the first")
                                    .help("keep one line"),
                            );
                            continue;
                        }
                        init.push(spec);
                    }
                }
                StatementKind::Model(_)
                | StatementKind::Axis(_)
                | StatementKind::Data(_)
                | StatementKind::Const(_)
                | StatementKind::Distribution(_)
                | StatementKind::Definition { .. }
                | StatementKind::Fit(_)
                | StatementKind::Report(_)
                | StatementKind::Notation(_) => {}
            }
        }
        self.check_points(&seen);
        (blocks, plates, init)
    }

    /// Some priors are for points.
    fn check_points(&mut self, seen: &[(ArrayId, BlockKind, Span)]) {
        for index in 0..self.drafts.len() {
            let draft = &self.drafts[index];
            let FamilyState::Done(Some(family)) = draft.family else { continue };
            let id = draft.target;
            if !family.only_point() || self.symbols.array(id).kind == ArrayKind::Data {
                continue;
            }
            let block = seen.iter().find(|(other, _, _)| *other == id);
            if block.is_some_and(|(_, kind, _)| matches!(kind, BlockKind::Point | BlockKind::Fixed)) {
                continue;
            }
            let (name, resolved, family) = (&self.symbols.array(id).name, &family, &draft.ast.family);
            if self.reported.contains(name) || self.shapes[id.index()].is_none() {
                // A line of `posterior` that could not be parsed or understood may be about this variable.
                continue;
            }
            let (what, why, help) = if takes_support_word(*resolved) {
                (
                    "which is no distribution",
                    "improper: only a point, or what is fixed, may have it",
                    "give it a proper prior",
                )
            } else {
                (
                    "and is not declared a point",
                    "a prior for points: no factor of q has it",
                    "for a distribution of known covariance take `MultivariateNormal(0, cov = S)`",
                )
            };
            let mut diagnostic =
                Diagnostic::error("E0606", format!("`{name}` is under `{}`, {what}", family.text))
                    .at(family.span, why)
                    .help(format!("write `point {name}` in `posterior`, or {help}"));
            if let Some((_, _, span)) = block {
                diagnostic = diagnostic.also(*span, "neither `point` nor `fixed`");
            }
            self.report(diagnostic);
        }
    }

    fn posterior_item(
        &mut self,
        item: &PosteriorItem,
        span: Span,
        seen: &mut Vec<(ArrayId, BlockKind, Span)>,
    ) -> Vec<(BlockSpec, Vec<Vec<LetterId>>)> {
        let single = |references: &[ast::Reference]| -> Vec<Vec<ast::Reference>> {
            references.iter().map(|reference| vec![reference.clone()]).collect()
        };
        let (kind, groups, by, clamp) = match item {
            PosteriorItem::Joint(members) => (BlockKind::Joint, vec![members.clone()], None, false),
            PosteriorItem::Point { blocks, by, clamp } => {
                let by = by.as_ref().map(|by| (by.text.clone(), by.span));
                (BlockKind::Point, blocks.clone(), by, clamp.is_some())
            }
            PosteriorItem::Fixed(members) => (BlockKind::Fixed, single(members), None, false),
            PosteriorItem::Implicit(members) => (BlockKind::Implicit, single(members), None, false),
        };
        let mut out = Vec::new();
        for group in groups {
            let members: Vec<Option<Member>> =
                group.iter().map(|reference| self.member(reference, kind, seen)).collect();
            let Some(members) = members.into_iter().collect::<Option<Vec<Member>>>() else { continue };
            if kind == BlockKind::Joint && !self.same_plates(&members) {
                continue;
            }
            let first: Vec<LetterId> = members[0].plates.iter().map(|(named, _)| *named).collect();
            let plates = members
                .iter()
                .map(|member| {
                    let position = |named: LetterId| first.iter().position(|other| *other == named);
                    let mut plates = member.plates.clone();
                    plates.sort_by_key(|(named, _)| position(*named).unwrap_or(usize::MAX));
                    plates.into_iter().map(|(_, own)| own).collect()
                })
                .collect();
            let place = match (&kind, group.as_slice()) {
                (BlockKind::Joint, _) => span,
                (_, [first, .., last]) => first.span.to(last.span),
                (_, [only]) => only.span,
                (_, []) => span,
            };
            let spec = BlockSpec {
                members: members.iter().map(|member| member.id).collect(),
                slices: members.iter().map(|member| member.slices.clone()).collect(),
                kind,
                by: by.clone(),
                clamp,
                span: place,
            };
            out.push((spec, plates));
        }
        out
    }

    /// The variable of a line of `posterior`.
    fn member(
        &mut self,
        reference: &ast::Reference,
        kind: BlockKind,
        seen: &mut Vec<(ArrayId, BlockKind, Span)>,
    ) -> Option<Member> {
        let id = self.latent(reference, kind)?;
        let written = self.check_written(reference, id, true)?;
        if let Some((_, before, place)) = seen.iter().find(|(other, _, _)| *other == id) {
            let message = if *before == kind {
                format!("`{}` stands in two blocks of q", reference.name.text)
            } else {
                format!("`{}` is both `{}` and `{}`", reference.name.text, word(*before), word(kind))
            };
            let place = *place;
            self.report(
                Diagnostic::error("E0605", message)
                    .at(reference.span, "the second time")
                    .also(place, "the first time")
                    .possible("every variable has one factor of q")
                    .help("keep one of the lines"),
            );
            return None;
        }
        seen.push((id, kind, reference.span));
        if kind == BlockKind::Implicit
            && let Some(support) = self.support(id)
            && !matches!(support, Support::Index(_) | Support::Binary)
        {
            self.report(
                Diagnostic::error(
                    "E0607",
                    format!("`implicit` for `{}`, which is no category", reference.name.text),
                )
                .at(reference.span, "not a Categorical or Bernoulli latent")
                .possible("an implicit factor is a categorical or binary allocation")
                .help(format!("drop the line, or write `point {}`", reference.name.text)),
            );
            return None;
        }
        let dimensions = written.iter().filter(|subscript| !subscript.ancestor);
        let slices =
            dimensions.clone().filter(|subscript| subscript.slice).map(|subscript| subscript.own).collect();
        let plates = dimensions
            .filter(|subscript| !subscript.slice)
            .map(|subscript| (subscript.named, subscript.own))
            .collect();
        Some(Member { id, slices, plates, span: reference.span })
    }

    /// All members of a joint block have the same free letters.
    fn same_plates(&mut self, members: &[Member]) -> bool {
        let letters = |member: &Member| {
            let mut named: Vec<LetterId> = member.plates.iter().map(|(named, _)| *named).collect();
            named.sort();
            named
        };
        let names = |resolver: &Self, member: &Member| {
            let names: Vec<String> =
                member.plates.iter().map(|(named, _)| resolver.symbols.letter(*named).name.clone()).collect();
            if names.is_empty() { "no letter".to_owned() } else { names.join(", ") }
        };
        let Some(other) = members.iter().find(|member| letters(member) != letters(&members[0])) else {
            return true;
        };
        let first = &members[0];
        let message = format!(
            "the members of `q(...)` are not alike: `{}` has {} and `{}` has {}",
            self.symbols.array(first.id).name,
            names(self, first),
            self.symbols.array(other.id).name,
            names(self, other)
        );
        let (first_span, other_span) = (first.span, other.span);
        let alone: Vec<String> = members.iter().map(|member| self.block_of_its_own(member)).collect();
        self.report(
            Diagnostic::error("E0603", message)
                .at(other_span, "other free letters")
                .also(first_span, "than here")
                .possible(
                    "all members of a block have the same free letters: one factor for each value of them",
                )
                .help(format!("give each variable a block of its own: {}", alone.join(", "))),
        );
        false
    }

    /// `` `q(a[u, k])` ``, with the slices of its statement, and those of the line where it is real: others have no factor.
    fn block_of_its_own(&self, member: &Member) -> String {
        let array = self.symbols.array(member.id);
        let slots = self.shapes[member.id.index()].as_ref().map_or(&[][..], |shape| &shape.slots);
        let letters = slots.iter().map(|slot| {
            let asked = array.support == Support::Real && member.slices.contains(&slot.letter);
            let colon = if slot.slice || asked { ":" } else { "" };
            format!("{colon}{}", self.symbols.letter(slot.letter).name)
        });
        let letters = letters.collect::<Vec<_>>().join(", ");
        let brackets = if letters.is_empty() { letters } else { format!("[{letters}]") };
        format!("`q({}{brackets})`", array.name)
    }

    /// Reports a variable of a block that does not exist.
    fn no_latent(&mut self, name: &ast::Name) {
        self.reported.insert(name.text.clone());
        let arrays = self.symbols.arrays.iter().filter(|array| array.kind == ArrayKind::Latent);
        let latents: Vec<&str> = arrays.map(|array| array.name.as_str()).collect();
        let near = cavi_syntax::nearest(&name.text, latents.iter().copied());
        let help = near.map_or_else(
            || "name a latent of the program, or delete the line".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        let diagnostic = Diagnostic::error("E0201", format!("`{}` is not declared", name.text))
            .at(name.span, "no latent has this name")
            .possible(format!("latents: {}", join(latents)))
            .help(help);
        self.report(diagnostic);
    }

    /// The variable that a line of `posterior` or `init` is about.
    fn latent(&mut self, reference: &ast::Reference, kind: BlockKind) -> Option<ArrayId> {
        let name = &reference.name.text;
        let known = self.names.contains_key(name) || self.letters.contains_key(name);
        if !known && !self.reported.contains(name) {
            self.no_latent(&reference.name);
            return None;
        }
        let named = self.look_up(&reference.name)?;
        let found = match named {
            Named::Array(id) => {
                let latent = self.symbols.array(id).kind == ArrayKind::Latent;
                let facts = &self.facts[id.index()];
                if latent || (facts.draft.is_some() && facts.read) {
                    return Some(id);
                }
                match (self.symbols.array(id).kind, facts.draft.is_some()) {
                    (ArrayKind::Constant, _) => "a constant",
                    (_, true) => "observed",
                    (_, false) => "data",
                }
            }
            Named::Axis(_) => "an axis",
            Named::Definition(_) => "a deterministic name",
        };
        let help = match (named, kind) {
            (Named::Definition(_), _) => "name the latents that it is made of".to_owned(),
            (Named::Array(_), BlockKind::Point) if found == "a constant" => {
                format!(
                    "to estimate it drop `const {name}` and write `{name} ~ Flat(nonnegative)` or another prior"
                )
            }
            _ => "drop it: only latent variables have a factor of q".to_owned(),
        };
        self.report(
            Diagnostic::error("E0602", format!("`{name}` is {found}, and has no factor of q"))
                .at(reference.span, "expected a latent variable")
                .help(help),
        );
        None
    }

    /// The subscripts of a reference that must repeat a declaration; left out they are those of the declaration.
    /// Only where a factor of q is stated must a slice have its colon.
    pub fn check_written(
        &mut self,
        reference: &ast::Reference,
        id: ArrayId,
        colons: bool,
    ) -> Option<Vec<Subscripted>> {
        let shape = self.shapes[id.index()].clone()?;
        let name = &reference.name.text;
        let spelled = self.spell(name, &shape);
        let Some(subscripts) = &reference.subscripts else {
            let own = shape.slots.iter().map(|slot| Subscripted {
                own: slot.letter,
                named: self.named(slot.letter),
                slice: slot.slice,
                ancestor: slot.ancestor,
            });
            return Some(own.collect());
        };
        if subscripts.len() != shape.slots.len() {
            let message =
                format!("`{name}` has {} subscripts, and {} are found", shape.slots.len(), subscripts.len());
            self.report(
                Diagnostic::error("E0301", message)
                    .at(reference.span, format!("expected `{spelled}`"))
                    .help("write them as on the left of its statement, or leave them out"),
            );
            return None;
        }
        let mut out = Vec::new();
        for (position, (subscript, slot)) in subscripts.iter().zip(&shape.slots).enumerate() {
            let (named, span, slice) = match subscript {
                ast::Subscript::Slice(letter) => (self.letter(letter)?, letter.span, true),
                ast::Subscript::Reference(inner) => {
                    let (named, span) = self.left_letter(inner, name)?;
                    (named, span, false)
                }
            };
            let letter_name = self.symbols.letter(named).name.clone();
            let axis = self.symbols.letter(named).axis;
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
                        .at(span, format!("expected a letter of axis `{wanted}`"))
                        .possible(letters)
                        .help(format!("the order is `{spelled}`")),
                );
                return None;
            }
            if slice && slot.ancestor {
                self.report(
                    Diagnostic::error(
                        "E0405",
                        format!("`:{letter_name}` is a slice, and a later letter is ragged in it"),
                    )
                    .at(span, "a vector over this axis has no fixed subscript for the next")
                    .help(format!("write `{letter_name}` without the colon")),
                );
                return None;
            }
            if colons && slot.slice && !slice {
                let message = format!("`{letter_name}` is a slice of `{name}`, and stands without its colon");
                self.report(
                    Diagnostic::error("E0604", message)
                        .at(span, "one vector over this letter, by its statement")
                        .also(self.array_spans[id.index()], "declared here")
                        .help(format!("write `:{letter_name}`, or leave the subscripts out")),
                );
                return None;
            }
            if out.iter().any(|other: &Subscripted| other.named == named) {
                self.report(
                    Diagnostic::error(
                        "E0310",
                        format!("the letter `{letter_name}` stands twice in `{name}`"),
                    )
                    .at(span, "the second time")
                    .help(format!("the declaration is `{spelled}`")),
                );
                return None;
            }
            out.push(Subscripted {
                own: slot.letter,
                named,
                slice: slice || (!colons && slot.slice),
                ancestor: slot.ancestor,
            });
        }
        Some(out)
    }

    /// The declared letter that a letter is a copy of.
    fn named(&self, letter: LetterId) -> LetterId {
        self.letters.get(&self.symbols.letter(letter).name).copied().unwrap_or(letter)
    }

    fn init_item(&mut self, item: &InitItem, span: Span) -> Option<InitSpec> {
        let target = match item {
            InitItem::Value { target, .. } => target,
            InitItem::Draw(distribution) => &distribution.target,
        };
        let id = self.latent(target, BlockKind::Fixed)?;
        let (bound, left) = self.init_letters(target, id)?;
        let start = match item {
            InitItem::Value { value, .. } => self.init_value(id, value, bound)?,
            InitItem::Draw(distribution) => {
                let family = self.family(distribution, false)?;
                if family.latent().is_none() || family.only_point() {
                    self.report(
                        Diagnostic::error(
                            "E0509",
                            format!("a start cannot be drawn from `{}`", distribution.family.text),
                        )
                        .at(distribution.family.span, "no family of a factor of q")
                        .help(if family.has_kernel() {
                            "leave it out: without a line here the start is a draw from the process"
                        } else {
                            "draw from a prior: `w ~ Gamma(1, rate = 1)`"
                        }),
                    );
                    return None;
                }
                let (slices, help) = match family.slices() {
                    Slices::One => (1, "one slice on the left; mark the letter of the vector, `:k`"),
                    Slices::Two => (2, "two slices on the left; mark the letters of the matrix, `:i, :j`"),
                    Slices::None | Slices::Any => (left.len(), ""),
                };
                if left.len() != slices {
                    let (what, help) = help.split_once("; ").expect("a family of slices says how many");
                    let message = format!("`{}` needs {what}", distribution.family.text);
                    self.report(
                        Diagnostic::error("E0401", message)
                            .at(target.span, "no letter here has a colon")
                            .help(help),
                    );
                    return None;
                }
                // A scalar family draws the elements of a slice one by one: its letter is then an ordinary one.
                let slices = if family.slices() == Slices::None { &[][..] } else { &left[..] };
                let arguments = self.arguments(
                    &distribution.family,
                    family,
                    &distribution.arguments,
                    bound,
                    slices,
                    false,
                )?;
                Start::Draw { family, arguments }
            }
        };
        Some(InitSpec { target: id, start, span })
    }

    /// The letters that a start may use, and the slices on its left.
    fn init_letters(&mut self, target: &ast::Reference, id: ArrayId) -> Option<(Vec<Bound>, Vec<LetterId>)> {
        let shape = self.shapes[id.index()].clone()?;
        // By element, `theta[d, k] = ...`, is as good as by slice here.
        let mut relaxed = shape.clone();
        relaxed.slots.iter_mut().for_each(|slot| slot.slice &= target.subscripts.is_none());
        self.shapes[id.index()] = Some(relaxed);
        let written = self.check_written(target, id, false);
        self.shapes[id.index()] = Some(shape);
        let mut bound = Vec::new();
        let mut left = Vec::new();
        for subscript in written? {
            let how = if subscript.slice { How::LeftSlice } else { How::Left };
            bound.push(Bound { named: subscript.named, actual: subscript.own, how, span: target.span });
            if subscript.slice {
                left.push(subscript.own);
            }
        }
        Some((bound, left))
    }

    /// The other starts that a variable may have, for a message: one from `data`, if that has values of its support,
    /// or a draw.
    fn other_starts(&self, id: ArrayId, data: &str) -> String {
        let array = self.symbols.array(id);
        let from_data = match array.support {
            Support::Real => format!("`pca({data})`, "),
            Support::Positive | Support::Nonnegative => format!("`kmeans({data})`, "),
            _ => String::new(),
        };
        let own = self.facts[id.index()].draft.map(|draft| self.drafts[draft].family);
        let family = match own {
            Some(FamilyState::Done(Some(family))) if !family.only_point() => family.name(),
            _ if array.support == Support::Real => "Normal",
            _ => "Gamma",
        };
        format!("write {from_data}an expression of constants, or a draw `{} ~ {family}(...)`", array.name)
    }

    fn init_value(&mut self, id: ArrayId, value: &ast::Expression, bound: Vec<Bound>) -> Option<Start> {
        if let ExpressionKind::Call(name, arguments) = &value.kind
            && let [argument] = arguments.as_slice()
            && argument.name.is_none()
            && let ExpressionKind::Reference(reference) = &argument.value.kind
            && let Some(Named::Array(data)) = self.names.get(&reference.name.text).copied()
            && self.symbols.array(data).kind == ArrayKind::Data
        {
            if STARTS.contains(&name.text.as_str()) {
                if reference.subscripts.is_some() {
                    self.check_written(reference, data, false)?;
                }
                self.facts[data.index()].used = true;
                return Some(Start::FromData { method: name.text.clone(), data });
            }
            if reference.subscripts.is_none() && !self.symbols.array(data).letters.is_empty() {
                let near = cavi_syntax::nearest(&name.text, STARTS.iter().copied());
                let help = near.map_or_else(
                    || self.other_starts(id, &reference.name.text),
                    |near| format!("did you mean `{near}`?"),
                );
                self.report(
                    Diagnostic::error("E0608", format!("there is no start `{}` from data", name.text))
                        .at(name.span, "unknown start")
                        .possible(format!("starts from data: {}", STARTS.join(", ")))
                        .help(help),
                );
                return None;
            }
        }
        let mut scope = Scope::new(bound, "the start");
        scope.known_only = Some(START);
        self.expression(&mut scope, value).map(Start::Value)
    }
}

/// The word of a line of `posterior`.
fn word(kind: BlockKind) -> &'static str {
    match kind {
        BlockKind::Joint => "q(...)",
        BlockKind::Point => "point",
        BlockKind::Fixed => "fixed",
        BlockKind::Implicit => "implicit",
    }
}
