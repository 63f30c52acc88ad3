//! Repairs that compile: each is made in a copy of the model, derived, and suggested only if the mistake is gone.

use cavi_algebra::{
    Array, ArrayId, ArrayKind, Axis, AxisId, Expression, Letter, LetterId, Restriction, StatementId,
    Subscript, Support, Symbols,
};
use cavi_families::{Domain, Extent, Family, Slices, families};
use cavi_model::{ArgumentSpec, BlockKind, BlockSpec, Model, text_of};
use cavi_syntax::Diagnostic;

use super::listed;
use super::log_sums::free_name;
use crate::absent::number_of;
use crate::blocks::Draft;
use crate::derive::attempt;
use crate::joint::with_ancestors;

/// The subject of an error: the block without an update, if there is one, and the statement that prevents it.
#[derive(Clone, Debug)]
pub struct Complaint {
    /// Which diagnostic it explains.
    pub diagnostic: usize,
    /// The block.
    pub draft: Option<Draft>,
    /// The statement.
    pub statement: Option<StatementId>,
}

/// The most repairs that one message lists.
const MOST: usize = 3;

/// Puts the repairs that compile into the help of the errors they repair.
pub fn suggest(model: &Model, diagnostics: &mut [Diagnostic], complaints: &[Complaint]) {
    let errors: Vec<(usize, Key)> = (0..diagnostics.len())
        .filter(|index| diagnostics[*index].is_error())
        .map(|index| (index, key(&diagnostics[index])))
        .collect();
    for complaint in complaints {
        let allowed: Vec<&Key> =
            errors.iter().filter(|(index, _)| *index != complaint.diagnostic).map(|(_, key)| key).collect();
        let compiles = |changed: &Model| {
            let (_, found, _) = attempt(changed);
            found.iter().filter(|found| found.is_error()).all(|found| allowed.contains(&&key(found)))
        };
        let repairs = repairs(model, complaint, &compiles);
        let diagnostic = &mut diagnostics[complaint.diagnostic];
        if let Some(more) = repairs.more {
            diagnostic.help =
                Some(diagnostic.help.take().map_or(more.clone(), |help| format!("{help}; or {more}")));
        }
        if repairs.texts.is_empty() {
            continue;
        }
        diagnostic.help = Some(repairs.texts.into_iter().take(MOST).collect::<Vec<_>>().join("; or "));
        for data in repairs.missing {
            let name = &model.symbols.array(data).name;
            let members = complaint.draft.iter().flat_map(|draft| &draft.members);
            let variable = members
                .map(|member| model.symbols.array(*member).name.as_str())
                .collect::<Vec<_>>()
                .join(", ");
            let why = format!(
                "`{name}` has `absent = NA`: over the observed entries alone `{variable}` does not sum to 1, so a term linear in it stays"
            );
            diagnostic.secondary.push((model.array_spans[data.index()], why));
        }
    }
}

/// What tells two errors apart: not their help, which is written last.
type Key = (&'static str, String);

fn key(diagnostic: &Diagnostic) -> Key {
    (diagnostic.code, diagnostic.message.clone())
}

/// What was found to compile.
#[derive(Default)]
struct Repairs {
    texts: Vec<String>,
    /// One that stands behind what the message says without repairs.
    more: Option<String>,
    /// Data whose missing entries are the cause.
    missing: Vec<ArrayId>,
}

fn repairs(model: &Model, complaint: &Complaint, compiles: &dyn Fn(&Model) -> bool) -> Repairs {
    let mut found = Repairs::default();
    if let Some(statement) = complaint.statement {
        for data in data_of(model, statement) {
            declared(model, data, compiles, &mut found);
        }
    }
    match (&complaint.draft, complaint.statement) {
        (Some(draft), statement) => {
            if let [only] = draft.members.as_slice() {
                if !found.missing.is_empty() {
                    by_entry(model, *only, compiles, &mut found);
                }
                if let Some(statement) = statement {
                    spelled(model, *only, statement, compiles, &mut found);
                }
                priors(model, &[*only], None, compiles, &mut found);
                if let (Some(statement), true) = (statement, found.texts.is_empty()) {
                    unwrapped(model, *only, statement, compiles, &mut found);
                }
                point(model, draft, *only, compiles, &mut found);
            }
            apart(model, draft, compiles, &mut found);
            scaled_precision(model, draft, compiles, &mut found);
            if let ([only], true) = (draft.members.as_slice(), found.texts.is_empty()) {
                chosen(model, *only, compiles, &mut found);
            }
            if let ([only], true) = (draft.members.as_slice(), found.texts.is_empty()) {
                by_entry(model, *only, compiles, &mut found);
                constant(model, *only, compiles, &mut found);
            }
        }
        (None, Some(statement)) => {
            let mut real = Vec::new();
            visit(model, statement, &mut |array| {
                let own = model.symbols.array(array);
                if own.kind == ArrayKind::Latent && own.support == Support::Real && !real.contains(&array) {
                    real.push(array);
                }
            });
            if real.is_empty() {
                points(model, statement, compiles, &mut found);
            } else {
                on_the_real_line(model, statement, compiles, &mut found);
                priors(model, &real, Some(Support::Positive), compiles, &mut found);
            }
        }
        (None, None) => {}
    }
    found
}

fn visit(model: &Model, statement: StatementId, seen: &mut dyn FnMut(ArrayId)) {
    for argument in model.statements[statement.index()].arguments.iter().flatten() {
        argument.value.visit_values(&mut |array, _| seen(array));
    }
}

/// The data of a statement, on either side.
fn data_of(model: &Model, statement: StatementId) -> Vec<ArrayId> {
    let mut found = vec![model.statements[statement.index()].target];
    visit(model, statement, &mut |array| {
        if !found.contains(&array) {
            found.push(array);
        }
    });
    found.retain(|array| model.symbols.array(*array).kind == ArrayKind::Data);
    found
}

/// Another declaration of data: all entries observed, none of them negative, or none where two letters of one axis agree.
fn declared(model: &Model, data: ArrayId, compiles: &dyn Fn(&Model) -> bool, found: &mut Repairs) {
    let array = model.symbols.array(data);
    let name = &array.name;
    if array.absent.missing {
        let mut changed = model.clone();
        let absent = &mut changed.symbols.arrays[data.index()].absent;
        (absent.missing, absent.zero) = (false, true);
        if compiles(&changed) {
            found.texts.push(format!(
                "declare `{name}` with `absent = 0`, if an entry that is not listed was observed to be 0"
            ));
            found.missing.push(data);
        }
    }
    for (number, left) in array.letters.iter().enumerate() {
        let axis = |letter: &LetterId| model.symbols.letter(*letter).axis;
        let other = array.letters[number + 1..].iter().find(|own| axis(own) == axis(left));
        let (Some(right), None) = (other, &array.restriction) else { continue };
        let mut changed = model.clone();
        changed.symbols.arrays[data.index()].restriction = Some(Restriction::Different(*left, *right));
        if compiles(&changed) {
            let (left, right) = (&model.symbols.letter(*left).name, &model.symbols.letter(*right).name);
            found.texts.push(format!(
                "declare `{name}` with `{left} != {right}` (or `{left} < {right}`), if it has no entries where the two agree"
            ));
        }
    }
    if array.support == Support::Real && array.value.is_none() {
        let mut changed = model.clone();
        changed.symbols.arrays[data.index()].support = Support::Nonnegative;
        if compiles(&changed) {
            found.texts.push(format!("declare `{name}` as `nonnegative`, if no entry of it is below 0"));
        }
    }
}

/// The parameter given under another of its names: a precision for a deviation.
fn spelled(
    model: &Model,
    variable: ArrayId,
    statement: StatementId,
    compiles: &dyn Fn(&Model) -> bool,
    found: &mut Repairs,
) {
    let own = &model.statements[statement.index()];
    let name = &model.symbols.array(variable).name;
    for (place, (argument, parameter)) in own.arguments.iter().zip(own.family.parameters()).enumerate() {
        let Some(argument) = argument else { continue };
        // The name is then that of another quantity, so that only a bare variable can be changed in this way.
        if !matches!(&argument.value, Expression::Value(array, _) if *array == variable) {
            continue;
        }
        for (spelling, other) in parameter.spellings.iter().enumerate() {
            if spelling == argument.spelling {
                continue;
            }
            let mut changed = model.clone();
            if let Some(argument) = &mut changed.statements[statement.index()].arguments[place] {
                argument.spelling = spelling;
            }
            if compiles(&changed) {
                let now = parameter.spellings[argument.spelling].name;
                found.texts.push(format!(
                    "write `{} = {name}` in place of `{now} = {name}`, so that `{name}` is the `{}`",
                    other.name, other.name
                ));
                return;
            }
        }
    }
}

/// The whole of an argument under a spelling that takes any number, as the log odds of a chance.
fn on_the_real_line(
    model: &Model,
    statement: StatementId,
    compiles: &dyn Fn(&Model) -> bool,
    found: &mut Repairs,
) {
    let own = &model.statements[statement.index()];
    for (place, (argument, parameter)) in own.arguments.iter().zip(own.family.parameters()).enumerate() {
        let Some(argument) = argument else { continue };
        let now = &parameter.spellings[argument.spelling];
        for (spelling, other) in parameter.spellings.iter().enumerate() {
            if other.domain != Domain::Real || now.domain == Domain::Real {
                continue;
            }
            let mut changed = model.clone();
            if let Some(argument) = &mut changed.statements[statement.index()].arguments[place] {
                argument.spelling = spelling;
            }
            if compiles(&changed) {
                found.texts.push(format!(
                    "write `{} = {}`, which may be any number, in place of `{}`, which is {}",
                    other.name,
                    text_of(&model.symbols, &argument.value),
                    now.name,
                    now.domain.expected()
                ));
            }
        }
    }
}

/// Whether a prior on `new` may take the place of one on `old`.
fn may_replace(old: Support, new: Support) -> bool {
    let positive = |support| matches!(support, Support::Positive | Support::Nonnegative);
    positive(old) && positive(new) || old == new
}

/// The family as a prior with unremarkable constants, if the statement can have it.
fn with_prior(model: &Model, variable: ArrayId, family: &'static dyn Family) -> Option<Model> {
    let mut changed = model.clone();
    let statement = changed.statements.iter_mut().find(|statement| statement.target == variable)?;
    let slices = match family.slices() {
        Slices::None => 0,
        Slices::One => 1,
        Slices::Two => 2,
        Slices::Any => return None,
    };
    if statement.slices.len() != slices {
        return None;
    }
    let argument = |parameter: &cavi_families::Parameter| {
        let number = match parameter.spellings[0].domain {
            Domain::Unit => 0.3,
            Domain::Count => 3.0,
            Domain::DegreesOfFreedom => return None,
            Domain::Real | Domain::Positive | Domain::Nonnegative => 2.7,
            Domain::Simplex | Domain::PositiveDefinite | Domain::Covariance => return None,
        };
        let letters = match parameter.extent {
            Extent::Scalar => Vec::new(),
            Extent::Vector => vec![*statement.slices.first()?],
            Extent::Matrix | Extent::Pairs => return None,
        };
        Some(ArgumentSpec {
            spelling: 0,
            value: Expression::Number(number),
            letters,
            inverse: None,
            span: statement.span,
        })
    };
    let arguments: Option<Vec<ArgumentSpec>> = family.parameters().iter().map(argument).collect();
    statement.arguments = arguments?.into_iter().map(Some).collect();
    statement.family = family;
    changed.symbols.arrays[variable.index()].support = family.latent()?;
    Some(changed)
}

/// `Gamma(shape, rate)`
fn signature(family: &dyn Family) -> String {
    let names: Vec<&str> = family.parameters().iter().map(|parameter| parameter.spellings[0].name).collect();
    format!("{}({})", family.name(), names.join(", "))
}

/// Other priors for some variables, on their support or on `support`.
fn priors(
    model: &Model,
    variables: &[ArrayId],
    support: Option<Support>,
    compiles: &dyn Fn(&Model) -> bool,
    found: &mut Repairs,
) {
    let fitting: Vec<String> = families()
        .iter()
        .filter(|family| {
            let allowed = |variable: &ArrayId| {
                let own = model.symbols.array(*variable).support;
                family.latent().is_some_and(|latent| may_replace(support.unwrap_or(own), latent))
            };
            let stated = model.statement_of(variables[0]).map(|statement| statement.family.name());
            variables.iter().all(allowed) && stated != Some(family.name())
        })
        .filter(|family| {
            let changed = variables
                .iter()
                .try_fold(model.clone(), |model, variable| with_prior(&model, *variable, **family));
            changed.is_some_and(|changed| compiles(&changed))
        })
        .map(|family| signature(*family))
        .collect();
    if fitting.is_empty() {
        return;
    }
    let names: Vec<String> =
        variables.iter().map(|variable| format!("`{}`", model.symbols.array(*variable).name)).collect();
    let what = if variables.len() == 1 { "a prior that fits" } else { "priors that fit" };
    found.texts.push(format!("give {} {what}: {}", names.join(", "), listed(&fitting, "or")));
}

/// A function of the variable replaced by the variable itself, under a prior on positive numbers.
fn unwrapped(
    model: &Model,
    variable: ArrayId,
    statement: StatementId,
    compiles: &dyn Fn(&Model) -> bool,
    found: &mut Repairs,
) {
    let mut changed = model.clone();
    let mut function = None;
    for argument in changed.statements[statement.index()].arguments.iter_mut().flatten() {
        unwrap(&mut argument.value, variable, &mut function);
    }
    let Some(function) = function else { return };
    let name = &model.symbols.array(variable).name;
    let stated = model.statement_of(variable).map(|statement| statement.family.name());
    if let Some(prior) = stated
        && model.symbols.array(variable).support.is_nonnegative()
        && compiles(&changed)
    {
        found
            .texts
            .push(format!("write `{name}` in place of `{function}({name})`: its prior, {prior}, then fits"));
        return;
    }
    let mut inner = Repairs::default();
    priors(&changed, &[variable], Some(Support::Positive), compiles, &mut inner);
    for text in inner.texts {
        found.texts.push(format!("write `{name}` in place of `{function}({name})`, and {text}"));
    }
}

fn unwrap(expression: &mut Expression, variable: ArrayId, function: &mut Option<&'static str>) {
    if let Expression::Apply(own, inner) = expression
        && matches!(&**inner, Expression::Value(array, _) if *array == variable)
    {
        *function = Some(own.name());
        *expression = (**inner).clone();
        return;
    }
    match expression {
        Expression::Number(_)
        | Expression::Value(..)
        | Expression::Indicator(..)
        | Expression::Position(_) => {}
        Expression::Sum(_, body) | Expression::Apply(_, body) | Expression::OfMatrix(_, body, ..) => {
            unwrap(body, variable, function)
        }
        Expression::Add(parts) | Expression::Multiply(parts) => {
            parts.iter_mut().for_each(|part| unwrap(part, variable, function));
        }
        Expression::Power(base, exponent) => {
            unwrap(base, variable, function);
            unwrap(exponent, variable, function);
        }
    }
}

/// A point in place of a distribution.
fn point(
    model: &Model,
    draft: &Draft,
    variable: ArrayId,
    compiles: &dyn Fn(&Model) -> bool,
    found: &mut Repairs,
) {
    if !draft.is_random() {
        return;
    }
    let mut changed = model.clone();
    match changed.blocks.iter_mut().find(|spec| spec.members == [variable]) {
        Some(spec) => spec.kind = BlockKind::Point,
        None => {
            changed.blocks.push(BlockSpec {
                members: vec![variable],
                slices: draft.slices.clone(),
                kind: BlockKind::Point,
                by: None,
                clamp: false,
                span: draft.span,
            });
            changed.block_plates.push(draft.member_plates.clone());
        }
    }
    if compiles(&changed) {
        let name = &model.symbols.array(variable).name;
        found.texts.push(format!("make `{name}` a point: `posterior {{ point {name} }}`"));
    }
}

/// Points in place of the latents of a statement: the log of their sum is then a number.
fn points(model: &Model, statement: StatementId, compiles: &dyn Fn(&Model) -> bool, found: &mut Repairs) {
    let mut latents = Vec::new();
    visit(model, statement, &mut |array| {
        let free = model.blocks.iter().all(|spec| !spec.members.contains(&array));
        if model.symbols.array(array).kind == ArrayKind::Latent && free && !latents.contains(&array) {
            latents.push(array);
        }
    });
    let mut changed = model.clone();
    for array in &latents {
        let slices = model.symbols.slices(*array);
        let letters = model.symbols.array(*array).letters.iter().copied();
        changed.block_plates.push(vec![letters.filter(|letter| !slices.contains(letter)).collect()]);
        changed.blocks.push(BlockSpec {
            members: vec![*array],
            slices: vec![slices],
            kind: BlockKind::Point,
            by: None,
            clamp: false,
            span: model.array_spans[array.index()],
        });
    }
    if !latents.is_empty() && compiles(&changed) {
        let names: Vec<String> =
            latents.iter().map(|array| model.symbols.array(*array).name.clone()).collect();
        let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let what = if names.len() == 1 { "a point" } else { "points" };
        found.more = Some(format!(
            "make {} {what}: `posterior {{ point {} }}`",
            listed(&quoted, "and"),
            names.join(", ")
        ));
    }
}

/// Numbers of their own in place of a slice on the simplex: they need not sum to 1.
fn by_entry(model: &Model, variable: ArrayId, compiles: &dyn Fn(&Model) -> bool, found: &mut Repairs) {
    let own = model.symbols.array(variable);
    let Some(stated) = model.statement_of(variable).filter(|_| own.support == Support::Simplex) else {
        return;
    };
    let mut changed = model.clone();
    changed.symbols.arrays[variable.index()].slice = vec![false; own.letters.len()];
    for statement in changed.statements.iter_mut().filter(|statement| statement.target == variable) {
        statement.slices = Vec::new();
        statement.plates = own.letters.clone();
    }
    let positive = families().iter().filter(|family| family.latent() == Some(Support::Positive));
    let fits = |family: &&&'static dyn Family| {
        with_prior(&changed, variable, **family).is_some_and(|changed| compiles(&changed))
    };
    let Some(family) = positive.filter(|family| family.slices() == Slices::None).find(fits) else { return };
    let first = stated.arguments.first().and_then(|argument| match &argument.as_ref()?.value {
        Expression::Number(value) => Some(*value),
        Expression::Value(array, _) => number_of(&model.symbols, *array),
        _ => None,
    });
    let argument = |(place, parameter): (usize, &cavi_families::Parameter)| {
        let value = if place == 0 { first.unwrap_or(1.0) } else { 1.0 };
        match parameter.positional {
            true => format!("{value}"),
            false => format!("{} = {value}", parameter.spellings[0].name),
        }
    };
    let arguments: Vec<String> = family.parameters().iter().enumerate().map(argument).collect();
    let letters = with_ancestors(&model.symbols, &own.letters);
    let letters: Vec<&str> =
        letters.iter().map(|letter| model.symbols.letter(*letter).name.as_str()).collect();
    found.texts.push(format!(
        "write `{}[{}] ~ {}({})`, which need not sum to 1",
        own.name,
        letters.join(", "),
        family.name(),
        arguments.join(", ")
    ));
}

/// A precision of the mean that scales with the precision of a joint factor: such pairs have a family.
fn scaled_precision(model: &Model, draft: &Draft, compiles: &dyn Fn(&Model) -> bool, found: &mut Repairs) {
    let [mean, precision] = draft.members[..] else { return };
    let domain = match model.symbols.array(precision).support {
        Support::PositiveDefinite => Domain::PositiveDefinite,
        Support::Positive | Support::Nonnegative => Domain::Positive,
        _ => return,
    };
    let Some(place) = model.statements.iter().position(|statement| statement.target == mean) else { return };
    let mut changed = model.clone();
    let statement = &mut changed.statements[place];
    let (family, span) = (statement.family, statement.span);
    for (parameter, argument) in family.parameters().iter().zip(&mut statement.arguments) {
        let is_own = |own: &cavi_families::Spelling| own.domain == domain && own.read_as.is_none();
        let Some(spelling) = parameter.spellings.iter().take(1).position(is_own) else { continue };
        let Some(letters) = argument.as_ref().map(|argument| argument.letters.clone()) else { continue };
        let mut rows = letters.iter();
        let subscript = |letter: &LetterId| {
            let number = draft.member_plates[1].iter().position(|own| own == letter);
            let plate = number.and_then(|number| draft.member_plates[0].get(number));
            Subscript::Letter(*plate.or_else(|| rows.next()).unwrap_or(letter))
        };
        let subscripts = model.symbols.array(precision).letters.iter().map(subscript).collect();
        let value =
            Expression::Multiply(vec![Expression::Number(2.7), Expression::Value(precision, subscripts)]);
        *argument = Some(ArgumentSpec { spelling, value, letters, inverse: None, span });
        if compiles(&changed) {
            let (name, other) = (&model.symbols.array(mean).name, &model.symbols.array(precision).name);
            let plates: Vec<&str> =
                draft.member_plates[0].iter().map(|own| model.symbols.letter(*own).name.as_str()).collect();
            let brackets = if plates.is_empty() { String::new() } else { format!("[{}]", plates.join(", ")) };
            found.texts.push(format!(
                "let the precision of `{name}` scale with `{other}`, as in `{} = 0.1 * {other}{brackets}`",
                parameter.spellings[spelling].name
            ));
        }
        return;
    }
}

/// The default factors in place of a line of `posterior`.
fn apart(model: &Model, draft: &Draft, compiles: &dyn Fn(&Model) -> bool, found: &mut Repairs) {
    let line = model.blocks.iter().position(|spec| spec.span == draft.span && spec.kind == BlockKind::Joint);
    let Some(line) = line else { return };
    let mut changed = model.clone();
    changed.blocks.remove(line);
    changed.block_plates.remove(line);
    if compiles(&changed) {
        let names: Vec<&str> =
            draft.members.iter().map(|member| model.symbols.array(*member).name.as_str()).collect();
        found.texts.push(format!(
            "leave the line `q({})` out: each variable then has a factor of its own",
            names.join(", ")
        ));
    }
}

/// Two classes in place of a binary latent. Selection then gives each class a density of its own, so that the latent
/// stands in no log.
fn chosen(model: &Model, variable: ArrayId, compiles: &dyn Fn(&Model) -> bool, found: &mut Repairs) {
    let own = model.symbols.array(variable);
    if own.support != Support::Binary || own.kind != ArrayKind::Latent {
        return;
    }
    let (name, spec) = (own.name.clone(), own.clone());
    let chance = model
        .statements
        .iter()
        .find(|own| own.target == variable)
        .and_then(|own| own.arguments.iter().flatten().find(|argument| argument.letters.is_empty()));
    let symbols = &model.symbols;
    // A chance that is an element of a latent: the shares have its subscripts.
    let (within, at) = match chance.map(|own| &own.value) {
        Some(Expression::Value(array, subscripts)) if symbols.array(*array).kind == ArrayKind::Latent => {
            (with_ancestors(symbols, &symbols.array(*array).letters), subscripts.clone())
        }
        _ => (Vec::new(), Vec::new()),
    };
    let mut changed = model.clone();
    let (axis, class) =
        (AxisId::from(changed.symbols.axes.len()), LetterId::from(changed.symbols.letters.len()));
    let axis_name = free_name(symbols, &["class", "part"]);
    let letter_name = free_name(symbols, &["c", "c2"]);
    // The latent goes, so that its own name is free.
    let wishes: &[&str] = if name == "on" { &["is_on"] } else { &["on", "is_on"] };
    let (on_name, share_name) = (free_name(symbols, wishes), free_name(symbols, &["share", "weight"]));
    let class_name = free_name(symbols, &["class_of", "part_of"]);
    changed.symbols.letters.push(Letter { name: letter_name.clone(), axis, parent: None });
    let size = Some(Expression::Number(2.0));
    changed.symbols.axes.push(Axis { name: axis_name.clone(), parent: None, letters: vec![class], size });
    let on = ArrayId::from(changed.symbols.arrays.len());
    let share = ArrayId::from(changed.symbols.arrays.len() + 1);
    for (name, letters) in [(&on_name, Vec::new()), (&share_name, within.clone())] {
        changed.array_spans.push(model.array_spans[variable.index()]);
        changed.symbols.arrays.push(Array {
            name: name.clone(),
            kind: ArrayKind::Constant,
            slice: vec![false; letters.len() + 1],
            letters: letters.into_iter().chain([class]).collect(),
            written: Vec::new(),
            support: Support::Nonnegative,
            ..spec.clone()
        });
    }
    let family =
        |fits: &dyn Fn(Support) -> bool| families().iter().find(|own| own.latent().is_some_and(fits));
    let classes = family(&|support| matches!(support, Support::Index(_)));
    let simplex = family(&|support| support == Support::Simplex);
    let (Some(classes), Some(simplex)) = (classes, simplex) else { return };
    changed.symbols.arrays[variable.index()].support = Support::Index(axis);
    for statement in &mut changed.statements {
        for argument in statement.arguments.iter_mut().flatten() {
            select(&mut argument.value, variable, on);
        }
        if statement.target == variable {
            let subscripts = at.iter().cloned().chain([Subscript::Letter(class)]).collect();
            let argument = ArgumentSpec {
                spelling: 0,
                value: Expression::Value(share, subscripts),
                letters: vec![class],
                inverse: None,
                span: statement.span,
            };
            (statement.family, statement.arguments) = (*classes, vec![Some(argument)]);
        }
    }
    if compiles(&changed) {
        let letters = |own: &[LetterId]| -> Vec<String> {
            own.iter().map(|letter| symbols.letter(*letter).name.clone()).collect()
        };
        let element = |name: &str| {
            let letters = letters(&with_ancestors(symbols, &spec.letters));
            if letters.is_empty() { name.to_owned() } else { format!("{name}[{}]", letters.join(", ")) }
        };
        let slice = letters(&within).into_iter().chain([format!(":{letter_name}")]).collect::<Vec<_>>();
        let (of_class, shares, also) = match chance.map(|own| &own.value) {
            Some(value @ Expression::Value(array, _)) if !at.is_empty() => {
                let chance = text_of(symbols, value);
                let subscripts =
                    chance.split_once('[').map_or("", |(_, rest)| rest.strip_suffix(']').unwrap_or(rest));
                let chance = symbols.array(*array).name.clone();
                (
                    format!("{share_name}[{subscripts}, :{letter_name}]"),
                    slice.join(", "),
                    format!(", `{share_name}` in place of `{chance}`,"),
                )
            }
            _ => (share_name.clone(), slice.join(", "), ",".to_owned()),
        };
        // A chance by covariates has no place in the shares.
        let left_out = match chance.map(|own| &own.value) {
            Some(Expression::Value(..)) | None => String::new(),
            Some(value) if reads_latents(symbols, value) => {
                format!("; the class has one share for all, and `{}` cannot be kept", text_of(symbols, value))
            }
            _ => String::new(),
        };
        found.texts.push(format!(
            "let a class choose: `axis {axis_name}[{letter_name}] = 2`, `const {on_name}[{letter_name}]` (0 and 1, by `--set`), \
             `{share_name}[{shares}] ~ {}(1)`, `{} ~ {}({of_class})`{also} and `{on_name}[{}]` in place of `{}`: a log of \
             `{name}` is infinite where it is 0, and has no expectation{left_out}",
            simplex.name(),
            element(&class_name),
            classes.name(),
            element(&class_name),
            element(&name),
        ));
    }
}

/// Whether an expression reads a latent.
fn reads_latents(symbols: &Symbols, value: &Expression) -> bool {
    let mut found = false;
    value.visit_values(&mut |array, _| found |= symbols.array(array).kind == ArrayKind::Latent);
    found
}

/// `on[s[n]]` in place of `s[n]`.
fn select(expression: &mut Expression, variable: ArrayId, on: ArrayId) {
    match expression {
        Expression::Value(array, subscripts) if *array == variable => {
            let index = Subscript::Index(variable, std::mem::take(subscripts));
            (*array, *subscripts) = (on, vec![index]);
        }
        Expression::Number(_)
        | Expression::Value(..)
        | Expression::Indicator(..)
        | Expression::Position(_) => {}
        Expression::Sum(_, body) | Expression::Apply(_, body) | Expression::OfMatrix(_, body, ..) => {
            select(body, variable, on);
        }
        Expression::Add(parts) | Expression::Multiply(parts) => {
            parts.iter_mut().for_each(|part| select(part, variable, on));
        }
        Expression::Power(base, exponent) => {
            select(base, variable, on);
            select(exponent, variable, on);
        }
    }
}

/// A constant in place of a latent.
fn constant(model: &Model, variable: ArrayId, compiles: &dyn Fn(&Model) -> bool, found: &mut Repairs) {
    let mut changed = model.clone();
    let array = &mut changed.symbols.arrays[variable.index()];
    if array.slice.contains(&true) || matches!(array.support, Support::Index(_)) {
        return;
    }
    array.kind = ArrayKind::Constant;
    let name = array.name.clone();
    changed.statements.retain(|statement| statement.target != variable);
    if let Some(line) = changed.blocks.iter().position(|spec| spec.members.contains(&variable)) {
        changed.blocks.remove(line);
        changed.block_plates.remove(line);
    }
    if compiles(&changed) {
        found.texts.push(format!(
            "make `{name}` a constant: `const {name}`, with its value from the text or `--set`"
        ));
    }
}
