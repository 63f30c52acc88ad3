//! Why the lines of the algorithm raise the bound, and which do not.

use crate::equations::{Block, Mode};

use super::derivation::Derivation;
use super::document::{Item, words};
use super::sweep::{SweepItem, SweepStep};

impl Derivation<'_> {
    /// A sentence for each kind of line that the algorithm has, then the exceptions.
    pub(super) fn why_it_rises(&self) -> Vec<Item> {
        let items = self.items();
        if items.is_empty() {
            return Vec::new();
        }
        let what = self.objective();
        let mut lines = self.of_updates(what);
        if let Some(held) = self.refreshed().filter(|_| !self.run.other_allocations) {
            lines.push(format!(
                "For given factors the {what} is largest at the optimum of the {held}, so that setting these cannot lower it."
            ));
            if items.iter().any(has_group) {
                lines.push(format!(
                    "With the {held} held, each update raises the {what} at these values, which is a bound as well; the next \
                     optimum of the {held} can only add to it."
                ));
            }
        }
        lines.extend(self.exceptions(&items, what));
        let shown = lines.into_iter().map(|line| vec![words(line)]).collect();
        vec![Item::Heading("Ascent"), Item::List(shown)]
    }

    /// One sentence for each way in which blocks are updated.
    fn of_updates(&self, what: &str) -> Vec<String> {
        let updated = |block: &&Block| matches!(block.mode, Mode::Distribution | Mode::Point);
        let blocks: Vec<_> = self.equations.blocks.iter().filter(updated).collect();
        let closed = |block: &&&Block| block.ascent.is_none() && block.by.is_none();
        let mut lines = Vec::new();
        let held = match self.refreshed() {
            Some(held) => format!("the others and the {held} held"),
            None => "the others held".to_owned(),
        };
        if blocks.iter().filter(closed).any(|block| block.mode == Mode::Distribution) {
            lines.push(format!(
                "The update of a factor of q is the maximum of the {what} over this factor, {held}: what is maximised cannot \
                 fall."
            ));
        }
        if blocks.iter().filter(closed).any(|block| block.is_point() && !block.clamp) {
            let free = if blocks.iter().any(|block| block.clamp) { " that is not clamped" } else { "" };
            lines.push(format!("The update of a point{free} is the maximum of the {what} over it, {held}."));
        }
        if blocks.iter().any(|block| !block.in_order.is_empty()) {
            lines.push(
                "Where factors are updated one after another, each of these updates is such a maximum; all at once they would \
                 not be."
                    .to_owned(),
            );
        }
        if blocks.iter().any(|block| block.by.is_some()) {
            lines.push(format!(
                "An update by a bound on squares maximises a function that is nowhere above the {what} and equals it at the \
                 values before: new {what} >= bound at the new values >= bound at the old values = old {what}."
            ));
        }
        if blocks.iter().any(|block| block.ascent.is_some()) {
            lines.push(format!("A step on derivatives is taken only if the {what} does not fall."));
        }
        lines
    }

    /// What may lower the bound, by design.
    pub(super) fn exceptions(&self, items: &[SweepItem], what: &str) -> Vec<String> {
        let mut lines = Vec::new();
        if self.run.other_allocations {
            lines.push(format!(
                "Exception: the sweeps take other allocations than those at which the {what} is largest, so that it may fall; \
                 they stop when the means stop changing."
            ));
        } else if !self.run.warmup.is_empty() {
            lines.push(format!(
                "Exception: the sweeps of the warm-up serve to find a start and may lower the {what}; what is said here holds \
                 after them."
            ));
        }
        if items.iter().any(has_reset) {
            lines.push(format!("Exception: a factor that is first made the optimum of its own statement alone (reset) may lower the {what}."));
        }
        let clamped = |block: &Block| block.clamp;
        if self.equations.blocks.iter().any(clamped) {
            lines.push(format!(
                "Exception: a mode on the boundary, where the density is infinite, is taken as the boundary (clamp); of such an update no \
                 rise of the {what} is claimed."
            ));
        }
        lines
    }
}

fn has_group(item: &SweepItem) -> bool {
    match &item.step {
        SweepStep::Block(_) => false,
        SweepStep::Group(_) => true,
        SweepStep::Sequence(items) => items.iter().any(has_group),
    }
}

fn has_reset(item: &SweepItem) -> bool {
    let inside = match &item.step {
        SweepStep::Block(_) => false,
        SweepStep::Group(items) | SweepStep::Sequence(items) => items.iter().any(has_reset),
    };
    item.reset || inside
}
