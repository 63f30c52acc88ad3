//! Diagnostics about a program that has equations: an improper posterior is an error; factors that need not be stored
//! and scales that only priors fix are notes.

use std::collections::{BTreeMap, BTreeSet};

use cavi_algebra::{
    ArrayId, ArrayKind, Atom, Equations, Expression, Factor, Function, Mode, Sum, Support, Term,
};
use cavi_families::{Family, Slices};
use cavi_model::{BlockKind, BlockSpec, Model, Statement};
use cavi_syntax::Diagnostic;

use crate::derive::attempt;
use crate::lost_starts::lost_starts;
use crate::order::parents;
use crate::switching::switching;
use crate::warmup;

/// Everything there is to say about a derived program.
pub fn advise(model: &Model, equations: &Equations) -> Vec<Diagnostic> {
    let mut diagnostics = improper(model, equations);
    if diagnostics.is_empty() {
        diagnostics.extend(touches_no_data(model));
        diagnostics.extend(switching(model));
        diagnostics.extend(lost_starts(model, equations));
        diagnostics.extend(could_be_implicit(model, equations));
        diagnostics.extend(free_scales(model, equations));
        diagnostics.extend(free_levels(model, equations));
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

/// The variables on which data depend, through any statements: those on the right of a statement of data, and on the right of the
/// statement of such a variable.
fn reaching_data(model: &Model) -> BTreeSet<ArrayId> {
    let mut above: BTreeMap<ArrayId, Vec<ArrayId>> = BTreeMap::new();
    let mut next = Vec::new();
    for statement in &model.statements {
        if statement.observed {
            next.extend(parents(statement));
        } else {
            above.entry(statement.target).or_default().extend(parents(statement));
        }
    }
    let mut reaching = BTreeSet::new();
    while let Some(array) = next.pop() {
        if reaching.insert(array) {
            next.extend(above.get(&array).into_iter().flatten());
        }
    }
    reaching
}

/// A flat prior of a variable on which no data depend: its posterior is improper.
fn improper(model: &Model, equations: &Equations) -> Vec<Diagnostic> {
    let reaching = reaching_data(model);
    let mut diagnostics = Vec::new();
    for statement in model.statements.iter().filter(|statement| is_flat(statement.family)) {
        let fixed = equations
            .block_of(statement.target)
            .is_some_and(|block| equations.block(block).mode == Mode::Fixed);
        if statement.observed || fixed || reaching.contains(&statement.target) {
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
    let reaching = reaching_data(model);
    let fixed = model.blocks.iter().filter(|spec| spec.kind == BlockKind::Fixed);
    let held: BTreeSet<ArrayId> = fixed.flat_map(|spec| &spec.members).copied().collect();
    let alone = |statement: &&Statement| {
        !statement.observed && !held.contains(&statement.target) && !reaching.contains(&statement.target)
    };
    let read: BTreeSet<ArrayId> = model.statements.iter().flat_map(parents).collect();
    let places = model.statements.iter().enumerate().filter(|(_, own)| alone(own));
    let places: BTreeMap<ArrayId, usize> = places.map(|(place, own)| (own.target, place)).collect();
    let mut warnings = Vec::new();
    for statement in model.statements.iter().filter(alone) {
        if read.contains(&statement.target) {
            continue;
        }
        let name = &model.symbols.array(statement.target).name;
        // What leads to it alone, however far up.
        let mut above = vec![statement.target];
        let mut seen = BTreeSet::from([statement.target]);
        let mut next = 0;
        while let Some(array) = above.get(next).copied() {
            next += 1;
            let read = places.get(&array).map(|place| parents(&model.statements[*place])).unwrap_or_default();
            let own = read.into_iter().filter(|own| places.contains_key(own));
            let mut new: Vec<ArrayId> = own.filter(|own| seen.insert(*own)).collect();
            new.sort_by_key(|own| places[own]);
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
    let places = places_of_powers(equations);
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
            places
                .get(array)
                .is_some_and(|read| read.iter().any(|own| equations.statements[*own].target != *array))
        })
        .collect();
    let mut grouped: Vec<ArrayId> = Vec::new();
    let mut diagnostics = Vec::new();
    for (number, first) in candidates.iter().enumerate() {
        if grouped.contains(first) {
            continue;
        }
        let others = candidates[number + 1..].iter();
        let others = others.filter(|other| together(equations, &places, *first, **other));
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
        // Where one prior alone has no unknowns, it has the scale that the others are learned beside.
        let has_no_unknowns = |array: &&ArrayId| {
            let statement = model.statement_of(**array).filter(|own| !is_flat(own.family));
            statement.is_some_and(|own| {
                let mut reads = false;
                for argument in own.arguments.iter().flatten() {
                    argument.value.visit_values(&mut |read, _| {
                        reads |= model.symbols.array(read).kind == ArrayKind::Latent;
                    });
                }
                !reads
            })
        };
        let fixed: Vec<&str> = group
            .iter()
            .filter(has_no_unknowns)
            .map(|array| model.symbols.array(*array).name.as_str())
            .collect();
        let mut diagnostic = Diagnostic::note(
            "N0702",
            format!("only their priors fix the scales of {names}"),
        )
        .at(model.array_spans[group[0].index()], "times a number")
        .help(match fixed.as_slice() {
            [name] => format!(
                "read their product; the prior of `{name}`, which has no unknowns, sets the scales, and sweeps find them slowly"
            ),
            _ => "read their product, or give one of them a scale that is fixed, such as a slice on the simplex"
                .to_owned(),
        });
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

/// A note for each variable of which data see differences alone. (That of `mu + a[g]` only the sum is seen is what such a program says, and no note.)
fn free_levels(model: &Model, equations: &Equations) -> Vec<Diagnostic> {
    let alone = equations.shifts.iter().filter_map(|shift| match shift.moves[..] {
        [(array, _)] => {
            let statement = model.statement_of(array).filter(|own| !is_flat(own.family))?;
            Some((statement, &shift.along))
        }
        _ => None,
    });
    alone
        .map(|(statement, along)| {
            let name = &model.symbols.array(statement.target).name;
            let axes: Vec<&str> = along.iter().map(|axis| model.symbols.axis(*axis).name.as_str()).collect();
            let (each, which) = match axes.as_slice() {
                [] => (String::new(), "all of them".to_owned()),
                _ => {
                    let axes = axes.join(" and ");
                    (format!(" for each {axes}"), format!("those of one {axes}"))
                }
            };
            Diagnostic::note("N0706", format!("only its prior fixes the level of `{name}`{each}"))
                .at(
                    statement.span,
                    format!("the same number added to {which} leaves the rest of the model as it is"),
                )
                .help(format!(
                    "read differences of `{name}`; one update after another takes many sweeps to the level: \
                     `fit {{ accelerate = auto }}` moves all of them at once"
                ))
        })
        .collect()
}

/// For each variable the statements in some term of which it stands with a power other than 0.
fn places_of_powers(equations: &Equations) -> BTreeMap<ArrayId, BTreeSet<usize>> {
    fn gather(sum: &Sum, found: &mut BTreeSet<ArrayId>) {
        for term in &sum.terms {
            let mut powers: BTreeMap<ArrayId, i32> = BTreeMap::new();
            for factor in &term.factors {
                if let Atom::Value(array, _) = &factor.atom {
                    *powers.entry(*array).or_default() += factor.power;
                }
                factor.atom.nested().into_iter().for_each(|inner| gather(inner, found));
            }
            found.extend(powers.into_iter().filter(|(_, power)| *power != 0).map(|(array, _)| array));
        }
    }
    let mut places: BTreeMap<ArrayId, BTreeSet<usize>> = BTreeMap::new();
    for (place, statement) in equations.statements.iter().enumerate() {
        let mut found = BTreeSet::new();
        gather(&statement.log_density, &mut found);
        found.into_iter().for_each(|array| _ = places.entry(array).or_default().insert(place));
    }
    places
}

/// Whether two variables stand in every term of every statement but their own with the same power, and in some: then the statements
/// in which they stand are the same.
fn together(
    equations: &Equations,
    places: &BTreeMap<ArrayId, BTreeSet<usize>>,
    a: ArrayId,
    b: ArrayId,
) -> bool {
    let (Some(of_a), Some(of_b)) = (places.get(&a), places.get(&b)) else { return false };
    let is_other = |place: &&usize| ![a, b].contains(&equations.statements[**place].target);
    if !of_a.iter().filter(is_other).eq(of_b.iter().filter(is_other)) {
        return false;
    }
    let mut met = false;
    let alike = of_a
        .iter()
        .filter(is_other)
        .all(|place| balanced(&equations.statements[*place].log_density, a, b, &mut met));
    alike && met
}

/// Whether a sum stays what it is where one variable is multiplied and the other divided by a number. Logarithms of products came apart:
/// `x log a + x log b` stays too, as what stands before the logarithm of the one stands before that of the other.
fn balanced(sum: &Sum, a: ArrayId, b: ArrayId, met: &mut bool) -> bool {
    let mut logs: [BTreeMap<Term, f64>; 2] = [BTreeMap::new(), BTreeMap::new()];
    let terms_are = sum.terms.iter().all(|term| {
        let power = |array: ArrayId| power_in(term, array);
        *met |= power(a) != 0;
        power(a) == power(b)
            && term.factors.iter().enumerate().all(|(place, factor)| {
                let Some(product) = product_under_log(factor) else {
                    return factor.atom.nested().into_iter().all(|inner| balanced(inner, a, b, met));
                };
                for (logs, array) in logs.iter_mut().zip([a, b]) {
                    let power = power_in(product, array);
                    if power != 0 {
                        *met = true;
                        let mut before = term.clone();
                        before.factors.remove(place);
                        let coefficient = std::mem::replace(&mut before.coefficient.0, 1.0);
                        *logs.entry(before).or_default() += coefficient * f64::from(power);
                    }
                }
                true
            })
    });
    terms_are && logs[0] == logs[1]
}

/// The power of a variable in a term.
fn power_in(term: &Term, array: ArrayId) -> i32 {
    let own = |factor: &&Factor| matches!(&factor.atom, Atom::Value(id, _) if *id == array);
    term.factors.iter().filter(own).map(|factor| factor.power).sum()
}

/// The product that a factor is the logarithm of.
fn product_under_log(factor: &Factor) -> Option<&Term> {
    match (&factor.atom, factor.power) {
        (Atom::Apply(Function::Log, arguments), 1) => match arguments.as_slice() {
            [Sum { terms }] if terms.len() == 1 && terms[0].sums.is_empty() => terms.first(),
            _ => None,
        },
        _ => None,
    }
}
