//! The rule of allocations of a fit: what its sweeps are, and what there is to say about it.

use cavi_algebra::{ArrayId, BlockId, Equations};
use cavi_derivation::collapsed::{leaves_out, with_bound_of, with_collapsed};
use cavi_derivation::warmup::{allocated, with_means};
use cavi_executor::Schedule;
use cavi_model::Model;
use cavi_syntax::Diagnostic;
use cavi_syntax::ast::{Allocations, Warmup};

/// The equations of sweeps by this rule, in which points that the schedule resets are marked; `None` where these are the program's own.
/// Their bound is that of the program.
pub(crate) fn of_fit(equations: &Equations, rule: Allocations, schedule: &Schedule) -> Option<Equations> {
    let swept = match rule {
        Allocations::Ordinary => None,
        Allocations::Means => Some(with_means(equations)),
        Allocations::Collapsed => Some(collapsed(equations, schedule)),
    };
    let swept = swept.map(|swept| with_bound_of(equations, swept));
    let points = reset_points(equations, schedule);
    if points.is_empty() {
        return swept;
    }
    Some(with_resets(swept.unwrap_or_else(|| equations.clone()), &points))
}

/// The points that a schedule resets.
pub(crate) fn reset_points(equations: &Equations, schedule: &Schedule) -> Vec<BlockId> {
    let blocks = schedule.reset_blocks();
    blocks.into_iter().filter(|block| equations.block(*block).is_point()).collect()
}

/// The equations with these blocks marked as reset.
pub(crate) fn with_resets(mut equations: Equations, points: &[BlockId]) -> Equations {
    points.iter().for_each(|point| equations.blocks[point.index()].resets = true);
    equations
}

/// The equations of sweeps whose allocations leave their own shares out of what the schedule updates.
pub(crate) fn collapsed(equations: &Equations, schedule: &Schedule) -> Equations {
    let updated = schedule.blocks();
    with_collapsed(equations, &|block: BlockId| updated.contains(&block))
}

/// What is wrong with this rule in a program, if anything; `written` is what asks for it.
pub(crate) fn check(equations: &Equations, rule: Allocations, written: &str) -> Option<Diagnostic> {
    if rule == Allocations::Ordinary || !equations.sites.is_empty() {
        return None;
    }
    Some(
        Diagnostic::error(
            "E0613",
            format!("`{written}` is for programs with allocations, and this one has none"),
        )
        .possible("a sum of products inside a Poisson, a Multinomial or another log, or an implicit factor")
        .help("leave the line out"),
    )
}

/// Which rule a program uses where it is not the ordinary one, and what this does to it.
pub(crate) fn notes(model: &Model, equations: &Equations) -> Vec<Diagnostic> {
    let name = |array: &ArrayId| format!("`{}`", model.symbols.array(*array).name);
    let names = |blocks: &[BlockId]| {
        let members = blocks.iter().flat_map(|block| &equations.block(*block).members).map(name);
        cavi_algebra::dedup(members.collect::<Vec<String>>()).join(", ")
    };
    let left_out = leaves_out(equations);
    let sentence = |what: &str, rule: Allocations| {
        let how = match rule {
            Allocations::Ordinary => return None,
            Allocations::Means => "proportional to the addends' means".to_owned(),
            Allocations::Collapsed if left_out.is_empty() => {
                "proportional to the addends' means: no factor has counts of which a share could be left out"
                    .to_owned()
            }
            Allocations::Collapsed => {
                format!(
                    "proportional to the addends' means, each unit left out of the counts of {}",
                    names(&left_out)
                )
            }
        };
        let rest: Vec<BlockId> =
            allocated(equations).into_iter().filter(|block| !left_out.contains(block)).collect();
        let rest = match names(&rest) {
            rest if rest.is_empty() || rule != Allocations::Collapsed || left_out.is_empty() => String::new(),
            rest => format!("; taken as they are: {rest}"),
        };
        Some(Diagnostic::note("N0705", format!("{what} by `{}`: {how}{rest}", rule.word())))
    };
    let of_fit = model.fit.allocations.and_then(|(rule, span)| {
        let note = sentence("the sweeps of this fit allocate", rule)?;
        Some(
            note.at(span, "no ascent of the ELBO is claimed, and the fit stops when the means stop changing"),
        )
    });
    let of_warmups = model.fit.warmup.iter().filter(|(line, _)| matches!(line, Warmup::Collapsed(_)));
    let of_warmups = of_warmups.filter_map(|(_, span)| {
        let note = sentence("this warm-up allocates", Allocations::Collapsed)?;
        Some(note.at(*span, "no ascent of the ELBO is claimed before the sweeps of the fit"))
    });
    of_fit.into_iter().chain(of_warmups).collect()
}
