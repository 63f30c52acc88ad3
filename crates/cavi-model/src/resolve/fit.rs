//! `fit { }` and `report { }`.

use cavi_algebra::{ArrayId, ArrayKind, AxisId, Support};
use cavi_syntax::ast::{self, ExpressionKind, FitItem, Program, ReportItem, StatementKind};
use cavi_syntax::{Diagnostic, Span, nearest};

use super::names::join;
use super::{FitAndReport, Named, Resolver};
use crate::model::{Batch, FitSpec, Model, ReportSpec, ScheduleItem, ScheduleKind};

/// How many levels of brackets a schedule may have.
const DEEPEST: usize = 64;

/// The variable of a name in a schedule, for a model that is resolved.
pub(super) fn updatable(model: &Model, name: &ast::Name) -> Result<ArrayId, Box<Diagnostic>> {
    let names = || {
        model.symbols.arrays.iter().enumerate().filter(|(index, array)| {
            array.kind == ArrayKind::Latent && model.statement_of(ArrayId::from(*index)).is_some()
        })
    };
    match model.symbols.find(&name.text) {
        Some(id) if model.statement_of(id).is_some() => Ok(id),
        found => {
            Err(not_updatable(name, found.is_some(), names().map(|(_, array)| array.name.as_str()).collect()))
        }
    }
}

fn not_updatable(name: &ast::Name, exists: bool, names: Vec<&str>) -> Box<Diagnostic> {
    let message = if exists {
        format!("`{}` is no variable that a sweep updates", name.text)
    } else {
        format!("there is no variable `{}`", name.text)
    };
    let near = nearest(&name.text, names.iter().copied()).map(str::to_owned);
    let diagnostic = Diagnostic::error("E0609", message)
        .at(name.span, "expected a latent variable")
        .possible(format!("latents: {}", join(names)));
    Box::new(match near {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic.help("a schedule names latents; data and constants are not updated"),
    })
}

/// Resolves the items of a schedule; mistakes go to `diagnostics`.
pub(super) fn schedule(
    items: &[ast::ScheduleItem],
    lookup: &dyn Fn(&ast::Name) -> Result<ArrayId, Box<Diagnostic>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<ScheduleItem> {
    level(items, lookup, diagnostics, 0)
}

fn level(
    items: &[ast::ScheduleItem],
    lookup: &dyn Fn(&ast::Name) -> Result<ArrayId, Box<Diagnostic>>,
    diagnostics: &mut Vec<Diagnostic>,
    depth: usize,
) -> Vec<ScheduleItem> {
    let mut out = Vec::new();
    for item in items {
        if depth >= DEEPEST {
            diagnostics
                .push(Diagnostic::error("E0609", "the schedule has too many brackets").at(item.span, "here"));
            break;
        }
        if item.repeat == 0 {
            diagnostics.push(
                Diagnostic::error("E0610", "`repeat 0` leaves the item out")
                    .at(item.span, "repeated 0 times")
                    .help("drop the item, or repeat it at least once"),
            );
        }
        let kind = match &item.kind {
            ast::ScheduleKind::Variable(name) => match lookup(name) {
                Ok(id) => ScheduleKind::Variable(id),
                Err(diagnostic) => {
                    diagnostics.push(*diagnostic);
                    continue;
                }
            },
            ast::ScheduleKind::Group(inner) => {
                ScheduleKind::Group(level(inner, lookup, diagnostics, depth + 1))
            }
            ast::ScheduleKind::Sequence(inner) => {
                ScheduleKind::Sequence(level(inner, lookup, diagnostics, depth + 1))
            }
        };
        out.push(ScheduleItem { kind, reset: item.reset, repeat: item.repeat, span: item.span });
    }
    out
}

impl Resolver<'_> {
    /// Resolves the blocks `fit` and `report`.
    pub fn resolve_fit(&mut self, program: &Program) -> FitAndReport {
        let mut fit = FitSpec::default();
        let mut report = Vec::new();
        let mut seen: Vec<(String, Span)> = Vec::new();
        for statement in &program.statements {
            match &statement.kind {
                StatementKind::Fit(block) => {
                    for item in &block.items {
                        self.fit_item(&item.kind, item.span, &mut fit, &mut seen);
                    }
                }
                StatementKind::Report(block) => {
                    for item in &block.items {
                        // Where a statement could not be read, what its variable holds is not known.
                        let is_known =
                            program.unread.is_empty() && !self.diagnostics.iter().any(Diagnostic::is_error);
                        report.extend(self.report_item(&item.kind, item.span, is_known));
                    }
                }
                StatementKind::Model(_)
                | StatementKind::Axis(_)
                | StatementKind::Data(_)
                | StatementKind::Const(_)
                | StatementKind::Distribution(_)
                | StatementKind::Definition { .. }
                | StatementKind::Posterior(_)
                | StatementKind::Init(_)
                | StatementKind::Notation(_) => {}
            }
        }
        (fit, report)
    }

    fn once(&mut self, what: &str, span: Span, seen: &mut Vec<(String, Span)>) -> bool {
        if let Some((_, before)) = seen.iter().find(|(name, _)| name == what) {
            let before = *before;
            self.report(
                Diagnostic::error("E0610", format!("`{what}` is given twice"))
                    .at(span, "the second time")
                    .also(before, "the first time")
                    .help("keep one line"),
            );
            return false;
        }
        seen.push((what.to_owned(), span));
        true
    }

    fn fit_item(&mut self, item: &FitItem, span: Span, fit: &mut FitSpec, seen: &mut Vec<(String, Span)>) {
        match item {
            FitItem::Sweep(items) => {
                if !self.once("sweep", span, seen) {
                    return;
                }
                let mut found = Vec::new();
                let reported = self.reported.clone();
                let lookup = |name: &ast::Name| self.variable_to_update(name);
                let resolved = schedule(items, &lookup, &mut found);
                // A name that is reported already needs no second message.
                found.retain(|diagnostic| {
                    !reported
                        .iter()
                        .any(|name| diagnostic.message == format!("there is no variable `{name}`"))
                });
                self.diagnostics.extend(found);
                fit.sweep = Some(resolved);
            }
            FitItem::Stop { quantity, tolerance, sweeps } => {
                if !self.once("stop", span, seen) {
                    return;
                }
                if quantity.text != "rel_elbo" {
                    self.report(
                        Diagnostic::error("E0610", format!("`{}` is no quantity to stop at", quantity.text))
                            .at(quantity.span, "unknown quantity")
                            .possible("`rel_elbo`, the relative change of the bound from sweep to sweep")
                            .help("write `stop when rel_elbo < 1e-6 for 3`"),
                    );
                } else if sweeps == &Some(0) {
                    self.report(
                        Diagnostic::error("E0610", "`for 0` sweeps is no condition")
                            .at(span, "expected 1 or more")
                            .help("write `stop when rel_elbo < 1e-6 for 3`"),
                    );
                } else {
                    fit.stop = Some((*tolerance, sweeps.unwrap_or(1)));
                }
            }
            FitItem::Setting { name, value } => {
                if self.once(&name.text, name.span, seen) {
                    self.setting(name, value, fit);
                }
            }
            FitItem::Batch { axis, shards } => {
                if self.once("batch", span, seen) && self.axis(axis).is_some() {
                    fit.batch = Some((Batch { axis: axis.text.clone(), shards: *shards }, axis.span));
                }
            }
            FitItem::Warmup(warmup) => {
                fit.warmup.extend(warmup.iter().map(|warmup| (warmup.clone(), span)));
            }
        }
    }

    fn setting(&mut self, name: &ast::Name, value: &ast::Expression, fit: &mut FitSpec) {
        const SETTINGS: &[&str] = &["restarts", "seed", "sweeps", "accelerate", "allocations"];
        let word = match &value.kind {
            ExpressionKind::Reference(reference) if reference.subscripts.is_none() => {
                reference.name.text.as_str()
            }
            _ => "",
        };
        if name.text == "allocations" {
            match ast::Allocations::of_word(word) {
                Some(rule) => fit.allocations = Some((rule, name.span.to(value.span))),
                None => {
                    let near = nearest(word, ast::Allocations::ALL.iter().map(|own| own.word()));
                    let write = near.unwrap_or(ast::Allocations::Collapsed.word());
                    self.report(
                        Diagnostic::error(
                            "E0610",
                            "`allocations` is none of `ordinary`, `means`, `collapsed`",
                        )
                        .at(value.span, "unknown word")
                        .help(format!("write `allocations = {write}`")),
                    );
                }
            }
            return;
        }
        if name.text == "accelerate" {
            match word {
                "auto" => fit.accelerate = true,
                "none" => fit.accelerate = false,
                _ => self.report(
                    Diagnostic::error("E0610", "`accelerate` is neither `auto` nor `none`")
                        .at(value.span, "unknown word")
                        .help("write `accelerate = auto`"),
                ),
            }
            return;
        }
        if !SETTINGS.contains(&name.text.as_str()) {
            let near = nearest(&name.text, SETTINGS.iter().copied());
            let diagnostic = Diagnostic::error("E0610", format!("there is no setting `{}`", name.text))
                .at(name.span, "unknown setting")
                .possible(
                    "`sweep`, `stop when`, `warmup`, `batch`, `restarts =`, `seed =`, `sweeps =`, `accelerate =`, `allocations =`",
                );
            self.report(match near {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                None => match elsewhere(&name.text) {
                    Some(here) => diagnostic.help(format!("write {here}")),
                    None => diagnostic.help("drop the line"),
                },
            });
            return;
        }
        let least = if name.text == "restarts" { 1.0 } else { 0.0 };
        let number = match &value.kind {
            ExpressionKind::Number(number, _)
                if *number >= least && number.fract() == 0.0 && *number < 2f64.powi(53) =>
            {
                *number as u64
            }
            _ => {
                self.report(
                    Diagnostic::error(
                        "E0610",
                        format!("`{}` is no whole number, {least} or greater", name.text),
                    )
                    .at(value.span, "expected a whole number")
                    .help(format!("write `{} = 10`", name.text)),
                );
                return;
            }
        };
        match name.text.as_str() {
            "restarts" => fit.restarts = Some(number),
            "seed" => fit.seed = Some(number),
            _ => fit.sweeps = Some(number),
        }
    }

    /// The variable of a name in the schedule of the program.
    fn variable_to_update(&self, name: &ast::Name) -> Result<ArrayId, Box<Diagnostic>> {
        let drafted = |id: &ArrayId| self.facts[id.index()].draft.is_some();
        match self.names.get(&name.text) {
            Some(Named::Array(id)) if drafted(id) => Ok(*id),
            found => {
                let latents = self.symbols.arrays.iter().zip(&self.facts);
                let names = latents
                    .filter(|(array, _)| array.kind == ArrayKind::Latent)
                    .map(|(array, _)| array.name.as_str());
                Err(not_updatable(name, found.is_some(), names.collect()))
            }
        }
    }

    /// A line of `report`; `is_known` says that the supports of all variables are.
    fn report_item(&mut self, item: &ReportItem, span: Span, is_known: bool) -> Option<ReportSpec> {
        match item {
            ReportItem::Top { count, axis, variable } => {
                let (axis, variable) = self.reported_along(axis, variable)?;
                Some(ReportSpec::Top { count: *count, axis, variable })
            }
            ReportItem::Bars { axis, variable } => {
                let (axis, variable) = self.reported_along(axis, variable)?;
                Some(ReportSpec::Bars { axis, variable })
            }
            ReportItem::Curve { axis, variable } => {
                let (axis, variable) = self.reported_along(axis, variable)?;
                Some(ReportSpec::Curve { axis, variable })
            }
            ReportItem::Intervals(variable) => self.reported_variable(variable).map(ReportSpec::Intervals),
            ReportItem::Compare { variable, with } => {
                let id = self.reported_variable(variable)?;
                let support = self.symbols.array(id).support;
                let has_classes = matches!(support, Support::Index(_) | Support::Simplex | Support::Binary);
                if is_known && !has_classes {
                    self.report(
                        Diagnostic::error(
                            "E0611",
                            format!("`{}` has no classes that could be compared", variable.name.text),
                        )
                        .at(variable.span, "expected a Categorical, Bernoulli or Dirichlet variable")
                        .possible(
                            "an index latent such as `z[n] ~ Categorical(pi)`, or probabilities of classes",
                        )
                        .help("take the line out, or name a variable that chooses classes"),
                    );
                    return None;
                }
                Some(ReportSpec::Compare { variable: id, with: with.clone() })
            }
            ReportItem::Heat(variable) => self.reported_variable(variable).map(ReportSpec::Heat),
            ReportItem::Image { axis, height, width } => {
                let axis = self.axis(axis)?;
                Some(ReportSpec::Image { axis, height: *height, width: *width })
            }
            ReportItem::Unknown(text) => {
                self.report(
                    Diagnostic::warning("W0601", format!("the report line `{text}` is not known"))
                        .at(span, "ignored")
                        .possible("`top 10 AXIS in VARIABLE`, `bars AXIS in VARIABLE`, `curve AXIS in VARIABLE`, `heat VARIABLE`, \
                             `intervals VARIABLE`, `image AXIS = 28 x 28`, `compare VARIABLE with FILE:COLUMN`"),
                );
                None
            }
        }
    }

    /// A variable that is shown along one of its axes.
    fn reported_along(&mut self, axis: &ast::Name, variable: &ast::Reference) -> Option<(AxisId, ArrayId)> {
        let axis_id = self.axis(axis);
        let id = self.reported_variable(variable)?;
        let axis_id = axis_id?;
        let shape = self.shapes[id.index()].clone()?;
        if shape.slots.iter().any(|slot| slot.axis == axis_id) {
            return Some((axis_id, id));
        }
        let spelled = self.spell(&variable.name.text, &shape);
        let axes: Vec<String> =
            shape.slots.iter().map(|slot| format!("`{}`", self.symbols.axis(slot.axis).name)).collect();
        self.report(
            Diagnostic::error(
                "E0611",
                format!("`{}` has no subscript over `{}`", variable.name.text, axis.text),
            )
            .at(axis.span, format!("`{spelled}`"))
            .help(if axes.is_empty() {
                "drop the line: the variable is one number".to_owned()
            } else {
                format!("list {}", axes.join(" or "))
            }),
        );
        None
    }

    fn reported_variable(&mut self, reference: &ast::Reference) -> Option<ArrayId> {
        let Named::Array(id) = self.look_up(&reference.name)? else {
            self.report(
                Diagnostic::error(
                    "E0611",
                    format!("`{}` is no variable with a posterior", reference.name.text),
                )
                .at(reference.span, "expected a latent variable")
                .help("name a variable that stands on the left of `~`"),
            );
            return None;
        };
        if self.facts[id.index()].draft.is_none() {
            let found = self.kind_in_words(id);
            self.report(
                Diagnostic::error(
                    "E0611",
                    format!("`{}` is {found}, and has no posterior", reference.name.text),
                )
                .at(reference.span, "expected a latent variable")
                .help("name a variable that stands on the left of `~`"),
            );
            return None;
        }
        self.check_written(reference, id, false)?;
        Some(id)
    }
}

/// What a setting of other programs is called here.
fn elsewhere(name: &str) -> Option<&'static str> {
    Some(match name {
        "iterations" | "iters" | "iter" | "max_iter" | "maxiter" | "n_iter" | "num_iters" | "steps"
        | "n_steps" | "epochs" | "max_iterations" => "`sweeps = 100`, at most so many sweeps",
        "tol" | "tolerance" | "eps" | "epsilon" | "rtol" | "tol_rel" => {
            "`stop when rel_elbo < 1e-6 for 3`, the relative change at which the fit stops"
        }
        "init" | "n_init" | "chains" | "runs" | "starts" | "n_starts" => {
            "`restarts = 10`, of which the best is kept"
        }
        "random_state" | "random_seed" | "rng" => "`seed = 1`",
        "burnin" | "burn_in" => "`warmup means 60`, in a program with allocations",
        "order" | "schedule" | "update" => "`sweep a, b`, the order of the updates",
        _ => return None,
    })
}
