//! Diagnostics about a program that has equations: an improper posterior is an error; factors that need not be stored
//! and scales that only priors fix are notes.

use cavi_algebra::{ArrayId, ArrayKind, Atom, Equations, Expression, Factor, Mode, Sum, Support};
use cavi_families::{Family, Slices};
use cavi_model::{BlockKind, BlockSpec, Model, Statement};
use cavi_syntax::Diagnostic;

use crate::derive::attempt;
use crate::warmup;

/// Everything there is to say about a derived program.
pub fn advise(model: &Model, equations: &Equations) -> Vec<Diagnostic> {
    let mut diagnostics = improper(model, equations);
    if diagnostics.is_empty() {
        diagnostics.extend(touches_no_data(model));
        diagnostics.extend(could_be_implicit(model, equations));
        diagnostics.extend(free_scales(model, equations));
        diagnostics.extend(would_warm_up(model, equations));
        diagnostics.extend(kept_apart(model, equations));
    }
    diagnostics
}

/// A note for each pair of subscripts without a closed form where they are equal.
fn kept_apart(model: &Model, equations: &Equations) -> Vec<Diagnostic> {
    let mut notes = Vec::new();
    for (statement, own) in model.statements.iter().zip(&equations.statements) {
        for (left, right) in &own.apart {
            let text = |subscript| model.subscript_text(subscript);
            let (left, right) = (text(left), text(right));
            let data = &equations.symbols.array(own.target).name;
            notes.push(
                Diagnostic::note("N0704", format!("there is no closed form where `{left}` equals `{right}`"))
                    .at(statement.span, "in this statement")
                    .help(format!(
                        "nothing, if no entry of `{data}` has the two equal: a fit refuses data that do"
                    )),
            );
        }
    }
    notes
}

/// Whether the prior is a word for a support, with no density of its own.
pub fn is_flat(family: &dyn Family) -> bool {
    family.slices() == Slices::Any && family.parameters().is_empty()
}

/// The variables on the right of a statement, those in subscripts included.
fn parents(statement: &Statement) -> Vec<ArrayId> {
    let mut found = Vec::new();
    for argument in statement.arguments.iter().flatten() {
        argument.value.visit_values(&mut |array, _| found.push(array));
    }
    found
}

/// Whether data depend on a variable, through any statements.
fn reaches_data(model: &Model, variable: ArrayId) -> bool {
    let mut seen = vec![variable];
    let mut next = 0;
    while let Some(array) = seen.get(next).copied() {
        next += 1;
        for statement in model.statements.iter().filter(|statement| parents(statement).contains(&array)) {
            if statement.observed {
                return true;
            }
            if !seen.contains(&statement.target) {
                seen.push(statement.target);
            }
        }
    }
    false
}

/// A flat prior of a variable on which no data depend: its posterior is improper.
fn improper(model: &Model, equations: &Equations) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for statement in model.statements.iter().filter(|statement| is_flat(statement.family)) {
        let fixed = equations
            .block_of(statement.target)
            .is_some_and(|block| equations.block(block).mode == Mode::Fixed);
        if statement.observed || fixed || reaches_data(model, statement.target) {
            continue;
        }
        let name = &model.symbols.array(statement.target).name;
        let family = statement.family.name();
        diagnostics.push(
            Diagnostic::error(
                "E0714",
                format!(
                    "the posterior of `{name}` is improper: its prior is {family}, and no data depend on it"
                ),
            )
            .at(statement.span, "nothing else is known of it")
            .possible("a variable on the right of a statement that leads to data, or a proper prior")
            .help(format!("let data depend on `{name}`, give it a proper prior, or leave it out")),
        );
    }
    diagnostics
}

/// Latents from which no path of statements leads to data: their posterior is their prior. One warning for each path,
/// at its end, since the latents on the way would depend on data as soon as the last one did.
fn touches_no_data(model: &Model) -> Vec<Diagnostic> {
    let alone = |statement: &&Statement| {
        let held = model
            .blocks
            .iter()
            .any(|spec| spec.kind == BlockKind::Fixed && spec.members.contains(&statement.target));
        !statement.observed && !held && !reaches_data(model, statement.target)
    };
    let mut warnings = Vec::new();
    for statement in model.statements.iter().filter(alone) {
        let reader = model.statements.iter().find(|other| parents(other).contains(&statement.target));
        if reader.is_some() {
            continue;
        }
        let name = &model.symbols.array(statement.target).name;
        // What leads to it alone, however far up.
        let mut above = vec![statement.target];
        let mut next = 0;
        while let Some(array) = above.get(next).copied() {
            next += 1;
            let read = model.statement_of(array).map(parents).unwrap_or_default();
            let own = model.statements.iter().filter(alone).map(|other| other.target);
            let new: Vec<ArrayId> = own.filter(|own| read.contains(own) && !above.contains(own)).collect();
            above.extend(new);
        }
        let also: Vec<String> =
            above[1..].iter().map(|array| format!("`{}`", model.symbols.array(*array).name)).collect();
        let also = if also.is_empty() { String::new() } else { format!(", and with it {}", also.join(", ")) };
        warnings.push(
            Diagnostic::warning(
                "W0701",
                format!("`{name}` touches no data{also}: its posterior is its prior"),
            )
            .at(statement.span, "no path of statements leads from it to data")
            .help(format!("let a statement that leads to data read `{name}`, or delete this line")),
        );
    }
    warnings
}

/// A categorical with a factor for each entry of some data, which could be an allocation.
fn could_be_implicit(model: &Model, equations: &Equations) -> Vec<Diagnostic> {
    let symbols = &model.symbols;
    let axes = |array: ArrayId| -> Vec<_> {
        let letters = &symbols.array(array).letters;
        letters.iter().map(|letter| symbols.letter(*letter).axis).collect()
    };
    let mut diagnostics = Vec::new();
    for block in &equations.blocks {
        let [z] = block.members.as_slice() else { continue };
        let own = symbols.array(*z);
        let stored = block.mode == Mode::Distribution && own.kind == ArrayKind::Latent;
        if !stored || !matches!(own.support, Support::Index(_)) {
            continue;
        }
        let own_axes = axes(*z);
        let entries = (0..symbols.arrays.len()).map(ArrayId::from).find(|array| {
            let data = symbols.array(*array);
            data.kind == ArrayKind::Data
                && data.support != Support::Multiplicity
                && !data.letters.is_empty()
                && axes(*array).iter().all(|axis| own_axes.contains(axis))
        });
        let Some(entries) = entries else { continue };
        let mut changed = model.clone();
        changed.blocks.retain(|spec| spec.members != [*z]);
        let kept = |spec: &BlockSpec| spec.members != [*z];
        changed.block_plates = model
            .block_plates
            .iter()
            .zip(&model.blocks)
            .filter(|(_, spec)| kept(spec))
            .map(|(plates, _)| plates.clone())
            .collect();
        changed.blocks.push(BlockSpec {
            members: vec![*z],
            slices: block.slices.clone(),
            kind: BlockKind::Implicit,
            by: None,
            clamp: false,
            span: model.array_spans[z.index()],
        });
        changed.block_plates.push(vec![block.plates.clone()]);
        if attempt(&changed).0.is_none() {
            continue;
        }
        let (name, data) = (&own.name, &symbols.array(entries).name);
        diagnostics.push(
            Diagnostic::note("N0701", format!("`{name}` could be `implicit`: q stores a factor for each entry of `{data}`"))
                .at(model.array_spans[z.index()], "as large as the data, times the number of classes")
                .help(format!("write `posterior {{ implicit {name} }}`: the factor is then at its optimum whenever it is read, and never stored")),
        );
    }
    diagnostics
}

/// Below this value of a, `exp psi(a)` is so much smaller than a that allocations remove a component before it can
/// grow.
const SMALL_SHAPE: f64 = 0.6;

/// Allocations to components with small constant shapes or concentrations, in a program without a warm-up.
fn would_warm_up(model: &Model, equations: &Equations) -> Option<Diagnostic> {
    if !model.fit.warmup.is_empty() {
        return None;
    }
    let value = |expression: &Expression| match expression {
        Expression::Number(value) => Some(*value),
        Expression::Value(array, _) => match model.symbols.array(*array).value {
            Some(Expression::Number(value)) => Some(value),
            _ => None,
        },
        _ => None,
    };
    let allocated = warmup::allocated(equations);
    let (shape, small) = warmup::shapes(model).into_iter().find_map(|shape| {
        let small = shape.value(model).and_then(value).filter(|value| *value < SMALL_SHAPE)?;
        let block = equations.block_of(model.statements[shape.statement].target)?;
        allocated.contains(&block).then_some((shape, small))
    })?;
    let statement = &model.statements[shape.statement];
    let name = &model.symbols.array(statement.target).name;
    let word = statement.family.parameters()[shape.argument].spellings[0].name;
    Some(
        Diagnostic::note("N0703", format!("a warm-up would help: `{name}` has the {word} {small}, and sweeps from a random start cut off small components"))
            .at(statement.span, "its allocations are proportional to exp E log, not to the mean")
            .help("write `fit { warmup means 60 }`: the first 60 sweeps then allocate by means"),
    )
}

/// Variables of which one may be multiplied and the other divided by a number, and only their priors change.
fn free_scales(model: &Model, equations: &Equations) -> Vec<Diagnostic> {
    let candidates: Vec<ArrayId> = equations
        .blocks
        .iter()
        .flat_map(|block| &block.members)
        .copied()
        .filter(|array| {
            let own = model.symbols.array(*array);
            let scales = matches!(own.support, Support::Real | Support::Positive | Support::Nonnegative);
            scales && own.kind == ArrayKind::Latent
        })
        // A variable that no statement but its own reads has no scale to share.
        .filter(|array| {
            equations.statements.iter().any(|own| own.target != *array && own.log_density.mentions(*array))
        })
        .collect();
    let mut grouped: Vec<ArrayId> = Vec::new();
    let mut diagnostics = Vec::new();
    for (number, first) in candidates.iter().enumerate() {
        if grouped.contains(first) {
            continue;
        }
        let others = candidates[number + 1..].iter().filter(|other| together(equations, *first, **other));
        let group: Vec<ArrayId> = std::iter::once(first).chain(others).copied().collect();
        if group.len() < 2 {
            continue;
        }
        grouped.extend(&group);
        let proper = |array: &ArrayId| model.statement_of(*array).is_some_and(|own| !is_flat(own.family));
        if !group.iter().any(proper) {
            continue;
        }
        let names: Vec<String> =
            group.iter().map(|array| format!("`{}`", model.symbols.array(*array).name)).collect();
        let names = names.join(" and ");
        let mut diagnostic = Diagnostic::note(
            "N0702",
            format!("only their priors fix the scales of {names}"),
        )
        .at(model.array_spans[group[0].index()], "times a number")
        .help(
            "read their product, or give one of them a scale that is fixed, such as a slice on the simplex",
        );
        for other in &group[1..] {
            diagnostic = diagnostic.also(
                model.array_spans[other.index()],
                "divided by the same number: the rest of the model stays as it is",
            );
        }
        diagnostics.push(diagnostic);
    }
    diagnostics
}

/// Whether two variables stand in every term of every statement but their own with the same power, and in some.
fn together(equations: &Equations, a: ArrayId, b: ArrayId) -> bool {
    let mut met = false;
    let alike = equations.statements.iter().all(|statement| {
        let own = statement.target == a || statement.target == b;
        own || balanced(&statement.log_density, a, b, &mut met)
    });
    alike && met
}

fn balanced(sum: &Sum, a: ArrayId, b: ArrayId, met: &mut bool) -> bool {
    sum.terms.iter().all(|term| {
        let power = |array: ArrayId| -> i32 {
            let own = |factor: &&Factor| matches!(&factor.atom, Atom::Value(id, _) if *id == array);
            term.factors.iter().filter(own).map(|factor| factor.power).sum()
        };
        *met |= power(a) != 0;
        power(a) == power(b)
            && term
                .factors
                .iter()
                .all(|factor| factor.atom.nested().into_iter().all(|inner| balanced(inner, a, b, met)))
    })
}
