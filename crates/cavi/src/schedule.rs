//! From the items of a `sweep` line to the blocks that a run updates.

use cavi_algebra::{ArrayId, ArrayKind, BlockId, Equations, Mode};
use cavi_executor::{Item, Schedule, Step};
use cavi_model::{Model, ScheduleItem, ScheduleKind};
use cavi_syntax::{Diagnostic, Span};

use crate::prepare::Problem;

/// A schedule and what there is to say about it.
#[derive(Clone, Debug, Default)]
pub struct Resolved {
    /// The schedule.
    pub schedule: Schedule,
    /// About its items, with places in the text of the schedule.
    pub about_items: Vec<Diagnostic>,
    /// Warnings about blocks that the schedule leaves out, with places in the text of the program.
    pub about_program: Vec<Diagnostic>,
}

/// Reads a schedule given apart from the program (`--schedule`).
///
/// # Errors
/// What is wrong with it, with places in `text`.
pub fn parse(problem: &Problem, text: &str) -> Result<Resolved, Vec<Diagnostic>> {
    let Problem { model, equations, binding, .. } = problem;
    let items = cavi_syntax::parse_schedule(text)?;
    let mut items = cavi_model::resolve_schedule(model, &items)?;
    // Entries that are latent because they are held out stand in no text, and are updated first, as in the program's own sweep.
    let named = named(&items);
    let hidden = binding.withheld.iter().filter(|own| equations.block_of(**own).is_some());
    for member in hidden.filter(|own| !named.contains(own)).copied() {
        let span = Span { start: 0, end: text.len() };
        let kind = ScheduleKind::Variable(member);
        items.insert(0, ScheduleItem { kind, reset: false, repeat: 1, span });
    }
    let mut resolved = resolve(model, equations, &items);
    resolved.about_program.extend(cavi_derivation::lost_starts_by(
        model,
        equations,
        &resolved.schedule.blocks(),
    ));
    let failed = resolved.about_items.iter().any(Diagnostic::is_error);
    if failed { Err(resolved.about_items) } else { Ok(resolved) }
}

/// Codes of warnings about the sweep of a program, which say nothing of a fit that is given another.
pub const ABOUT_THE_SWEEP: [&str; 4] = ["W0602", "W0603", "W0604", "W0703"];

/// The variables that items name.
fn named(items: &[ScheduleItem]) -> Vec<ArrayId> {
    let of = |item: &ScheduleItem| match &item.kind {
        ScheduleKind::Variable(variable) => vec![*variable],
        ScheduleKind::Group(members) | ScheduleKind::Sequence(members) => named(members),
    };
    items.iter().flat_map(of).collect()
}

/// The schedule of a program (its `sweep` line, or the derived order) and what there is to say about it.
pub fn of_program(model: &Model, equations: &Equations) -> Resolved {
    match &model.fit.sweep {
        Some(items) => resolve(model, equations, items),
        None => Resolved { schedule: Schedule::of(equations), ..Resolved::default() },
    }
}

/// What there is to say about the program's own schedule.
pub fn check(model: &Model, equations: &Equations) -> Vec<Diagnostic> {
    let Resolved { about_items, about_program, .. } = of_program(model, equations);
    about_items.into_iter().chain(about_program).collect()
}

/// Variables to blocks. A block that is left out, or a group without a shared allocation, is warned about; a block that
/// is named twice is an error.
fn resolve(model: &Model, equations: &Equations, items: &[ScheduleItem]) -> Resolved {
    let mut resolver = Resolver { model, equations, named: Vec::new(), diagnostics: Vec::new() };
    let items = resolver.items(items);
    let about_program = resolver.left_out();
    Resolved { schedule: Schedule { items }, about_items: resolver.diagnostics, about_program }
}

struct Resolver<'a> {
    model: &'a Model,
    equations: &'a Equations,
    /// The blocks named so far, and where.
    named: Vec<(BlockId, Span)>,
    diagnostics: Vec<Diagnostic>,
}

impl Resolver<'_> {
    fn items(&mut self, items: &[ScheduleItem]) -> Vec<Item> {
        items.iter().filter_map(|item| self.item(item)).collect()
    }

    fn item(&mut self, item: &ScheduleItem) -> Option<Item> {
        let step = match &item.kind {
            ScheduleKind::Variable(variable) => {
                let block = self.variable(*variable, item.span)?;
                if item.reset {
                    self.resets(block, item.span);
                }
                Step::Block(block)
            }
            ScheduleKind::Group(members) => {
                let members = self.items(members);
                self.shares(&members, item.span);
                Step::Group(members)
            }
            ScheduleKind::Sequence(members) => Step::Sequence(self.items(members)),
        };
        if item.reset && !matches!(step, Step::Block(_)) {
            let blocks = Item { step: step.clone(), repeat: 1, reset: false }.blocks();
            blocks.into_iter().for_each(|block| self.resets(block, item.span));
        }
        Some(Item { step, repeat: item.repeat, reset: item.reset })
    }

    fn variable(&mut self, variable: ArrayId, span: Span) -> Option<BlockId> {
        let array = self.equations.symbols.array(variable);
        let name = &array.name;
        let Some(block) = self.equations.block_of(variable) else {
            // Data with a statement of their own have nothing to update without a missing entry. A latent without a block is an implicit
            // one that is worked out wherever it is read.
            if array.kind == ArrayKind::Latent {
                self.diagnostics.push(always_at_its_optimum(name, span));
            }
            return None;
        };
        if let Some((_, before)) = self.named.iter().find(|(named, _)| *named == block) {
            self.diagnostics.push(
                Diagnostic::error("E0612", format!("the block of `{name}` is named twice in one sweep"))
                    .at(span, "the second time")
                    .also(*before, "the first time")
                    .help(format!("name one variable of a block once; `{name} repeat 2` updates it twice")),
            );
            return None;
        }
        self.named.push((block, span));
        match self.equations.block(block).mode {
            Mode::Distribution | Mode::Point => Some(block),
            Mode::Fixed => {
                self.diagnostics.push(
                    Diagnostic::warning("W0602", format!("`{name}` is `fixed`, and no sweep updates it"))
                        .at(span, "does nothing")
                        .help("leave it out of the sweep, or drop its `fixed` line"),
                );
                None
            }
            Mode::Implicit => {
                self.diagnostics.push(always_at_its_optimum(name, span));
                None
            }
        }
    }

    /// Refuses the reset of a point whose own statement has no mode in closed form.
    fn resets(&mut self, id: BlockId, span: Span) {
        let block = self.equations.block(id);
        let Some(ascent) = block.ascent.as_ref().filter(|ascent| ascent.own_family.is_none()) else { return };
        let name = |member: &ArrayId| self.equations.symbols.array(*member).name.clone();
        let names: Vec<String> = block.members.iter().map(name).collect();
        let why = match names.as_slice() {
            [_] if ascent.own.is_empty() => "its own statement has no mode in closed form",
            [_] => "the mode of its own statement depends on other copies of it, or has no closed form",
            _ => "points that move together have no mode of their statements in closed form",
        };
        let names = names.join("`, `");
        self.diagnostics.push(
            Diagnostic::error("E0618", format!("`{names}` cannot be reset: {why}"))
                .at(span, "makes it the optimum of its own statement alone")
                .possible("a factor of q, or a point whose own statement has a mode in closed form, as a Normal, a Gamma or a Dirichlet have")
                .help("drop `reset`, and start it elsewhere (`init`, `restarts`)"),
        );
    }

    /// Warns of a group none of whose members reads an allocation.
    fn shares(&mut self, members: &[Item], span: Span) {
        let blocks = members.iter().flat_map(Item::blocks);
        let readers = blocks.filter(|block| self.equations.reads_held(*block)).count();
        if readers < 2 && members.len() > 1 {
            self.diagnostics.push(
                Diagnostic::warning("W0603", "the members of this group share no allocation")
                    .at(
                        span,
                        if readers == 0 { "none of them reads one" } else { "only one of them reads one" },
                    )
                    .help("write them one after another, without brackets: the result is the same"),
            );
        }
    }

    fn left_out(&self) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        for index in 0..self.equations.blocks.len() {
            let id = BlockId::from(index);
            let block = self.equations.block(id);
            let updated = matches!(block.mode, Mode::Distribution | Mode::Point);
            if !updated || self.named.iter().any(|(named, _)| *named == id) {
                continue;
            }
            let names: Vec<&str> = block
                .members
                .iter()
                .map(|member| self.equations.symbols.array(*member).name.as_str())
                .collect();
            // Data with latent entries need not be named where the file has none.
            if block
                .members
                .iter()
                .all(|member| self.equations.symbols.array(*member).kind == ArrayKind::Data)
            {
                continue;
            }
            let span = self.model.array_spans[block.members[0].index()];
            diagnostics.push(
                Diagnostic::warning(
                    "W0604",
                    format!("the sweep leaves out `{}`, which keeps its start", names.join(", ")),
                )
                .at(span, "never updated")
                .help(format!("add `{}` to the sweep, or say `fixed {}`", names[0], names[0])),
            );
        }
        diagnostics
    }
}

/// A sweep names an implicit variable.
fn always_at_its_optimum(name: &str, span: Span) -> Diagnostic {
    Diagnostic::warning("W0602", format!("`{name}` is `implicit`: it is always at its optimum"))
        .at(span, "does nothing")
        .help("leave it out of the sweep")
}
