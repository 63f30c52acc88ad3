//! Checks that need the values of data and constants: missing entries where none are allowed, and parameters outside
//! of their domain.

use cavi_algebra::evaluate::{Assignment, for_each_value};
use cavi_algebra::{
    Array, ArrayId, ArrayKind, Expression, Function, LetterId, Subscript, Sum, Support, Symbols,
};
use cavi_derivation::{in_words, shares_by_value};
use cavi_executor::{Bound, BoundArray, BoundAxis};
use cavi_families::{DataKind, Domain, Slices, Spelling};
use cavi_model::{ArgumentSpec, Model, Statement};

use super::axes::Axes;
use super::data_error::DataError;
use super::defined::Uses;
use super::known::{Known, free_letters};
use super::matrices::{inverted, wrong_matrix};
use super::place::Target;
use crate::rows::Entries;

/// Parameters with more elements than this are not checked one by one.
const MANY: usize = 5_000_000;

/// Index data with entries that point into an axis without a position: all of them are missing, and none can have a value.
pub(super) fn into_nothing(symbols: &Symbols, axes: &Axes, arrays: &[Option<BoundArray>]) -> Vec<DataError> {
    let ids = (0..symbols.arrays.len()).map(ArrayId::from);
    let wrong = ids.filter_map(|id| {
        let array = symbols.array(id);
        let Support::Index(axis) = array.support else { return None };
        let is_bound = array.kind == ArrayKind::Data && arrays[id.index()].is_some();
        let entries = Target::new(symbols, axes, id).existing().unwrap_or(usize::MAX);
        if !is_bound || entries == 0 || axes.bound[axis.index()].size > 0 {
            return None;
        }
        let axis = &symbols.axis(axis).name;
        let message =
            format!("`{}` has entries, and axis `{axis}`, of which they are positions, is empty", array.name);
        Some(
            DataError::new(message)
                .help(format!("`--set {axis}=SIZE`, or `--labels {axis}=FILE`, gives it positions")),
        )
    });
    wrong.collect()
}

/// Data whose missing entries are latent: they stand on a right-hand side, and have a statement of their own with a family
/// that has a q. An error for the others that stand on a right-hand side.
///
/// Where all that is missing is what a restriction leaves out (the diagonal of `i != j`), the array has all of its entries. What it lacks
/// counts as observed to be 0 from here on, as a sum over a whole axis reads it.
pub(super) fn missing_on_the_right(
    model: &Model,
    arrays: &mut [Option<BoundArray>],
    axes: &[BoundAxis],
    at: &dyn Fn(ArrayId, &[usize]) -> String,
    problems: &mut Vec<DataError>,
) -> Vec<ArrayId> {
    let mut read: Vec<ArrayId> = Vec::new();
    for statement in &model.statements {
        for argument in statement.arguments.iter().flatten() {
            argument.value.visit_values(&mut |id, _| {
                if !read.contains(&id) {
                    read.push(id);
                }
            });
        }
    }
    read.sort();
    let mut latent = Vec::new();
    for id in read {
        let array = model.symbols.array(id);
        let missing = arrays[id.index()].as_ref().is_some_and(BoundArray::has_missing);
        if array.kind != ArrayKind::Data || !missing {
            continue;
        }
        let name = &array.name;
        let sizes: Vec<usize> = array
            .letters
            .iter()
            .map(|letter| axes[model.symbols.letter(*letter).axis.index()].size)
            .collect();
        let first = arrays[id.index()].as_ref().and_then(|bound| first_missing(array, bound, &sizes));
        if array.restriction.is_some() && first.is_none() {
            match &mut arrays[id.index()] {
                Some(BoundArray::Dense { observed, .. }) => *observed = None,
                Some(BoundArray::Sparse { unlisted_zero, .. }) => *unlisted_zero = true,
                None => {}
            }
            continue;
        }
        let place = first.map_or_else(String::new, |first| format!(" (the first is {})", at(id, &first)));
        match model.statement_of(id) {
            // What a restriction leaves out is read as 0, which no other family has.
            Some(statement)
                if array.restriction.is_some()
                    && statement.family.latent().is_some_and(|support| support != Support::Real) =>
            {
                let message = format!(
                    "`{name}` has missing entries{place}, stands on a right-hand side, and has entries that do not exist by its restriction"
                );
                let fill = format!("fill the missing entries of `{name}`, or leave out the rows of the data that read them");
                problems.push(DataError::new(message).possible("missing entries of real data under a Normal").help(fill));
            }
            Some(statement) if statement.family.latent().is_some() => latent.push(id),
            Some(statement) => problems.push(DataError::new(format!(
                "`{name}` has missing entries{place} and stands on a right-hand side, and {} has no q for them",
                statement.family.name()
            ))),
            None => problems.push(
                DataError::new(format!("`{name}` has missing entries{place} and stands on a right-hand side"))
                    .help(match array.support {
                        Support::Index(_) => format!(
                            "give `{name}` a statement of its own, or leave the lines without a label out of all data; for a label that is `NA` write another word"
                        ),
                        _ => format!("give `{name}` a statement of its own, or fill its missing entries"),
                    }),
            ),
        }
    }
    latent
}

/// The position in each dimension of a cell in C order.
fn position(cell: usize, sizes: &[usize]) -> Vec<usize> {
    let after = |dimension: usize| sizes[dimension + 1..].iter().product::<usize>().max(1);
    (0..sizes.len()).map(|dimension| cell / after(dimension) % sizes[dimension].max(1)).collect()
}

/// The first entry that exists and was not observed; for a sparse array the first that is listed and missing, else the first that is
/// not listed.
fn first_missing(array: &Array, bound: &BoundArray, sizes: &[usize]) -> Option<Vec<usize>> {
    let cells: usize = sizes.iter().product();
    let coordinates = |cell: usize| position(cell, sizes);
    match bound {
        BoundArray::Dense { observed, .. } => {
            let missing = observed.as_ref()?.iter().enumerate().filter(|(_, seen)| !**seen);
            missing.map(|(cell, _)| coordinates(cell)).find(|own| array.has_entry(own))
        }
        BoundArray::Sparse { indices, observed, unlisted_zero, .. } => {
            let listed = |entry: usize| -> Vec<usize> {
                indices.iter().map(|column| column[entry] as usize).collect()
            };
            if let Some(entry) = observed.as_ref().and_then(|seen| seen.iter().position(|seen| !seen)) {
                return Some(listed(entry));
            }
            let count = indices.first().map_or(0, |column| column.len());
            let known: std::collections::BTreeSet<Vec<usize>> = (0..count).map(listed).collect();
            let is_missing = |own: &Vec<usize>| array.has_entry(own) && !known.contains(own);
            (!unlisted_zero).then(|| (0..cells).map(coordinates).find(is_missing)).flatten()
        }
    }
}

/// Data under a family on the open unit interval have to lie strictly between 0 and 1.
pub(super) fn strictly_inside(model: &Model, bound: &Bound, problems: &mut Vec<DataError>) {
    let inside = |statement: &&Statement| statement.observed && statement.family.data() == DataKind::Inside;
    for statement in model.statements.iter().filter(inside) {
        let Some(entries) = Entries::of_statement(model, bound, statement) else { continue };
        let mut edge = None;
        entries.each(&mut |_, value, _| {
            edge = edge.or((value <= 0.0 || value >= 1.0).then_some(value));
        });
        let found = match edge {
            Some(value) => value.to_string(),
            None if entries.has_unlisted() => "an unlisted 0".to_owned(),
            None => continue,
        };
        let (name, family) = (&model.symbols.array(statement.target).name, statement.family.name());
        problems.push(
            DataError::new(format!(
                "`{name}` holds {found}, and {family} has a density strictly between 0 and 1 only"
            ))
            .help("declare those entries missing, or move them inside by half a unit of the measurement"),
        );
    }
}

/// A slice under one distribution is observed as a whole.
pub(super) fn whole_slices(
    model: &Model,
    arrays: &[Option<BoundArray>],
    axes: &[BoundAxis],
    at: &dyn Fn(ArrayId, &[usize]) -> String,
    problems: &mut Vec<DataError>,
) {
    for statement in model.statements.iter().filter(|statement| statement.observed) {
        let array = model.symbols.array(statement.target);
        let Some(bound) = arrays[statement.target.index()].as_ref().filter(|bound| bound.has_missing())
        else {
            continue;
        };
        if statement.family.slices() == Slices::None {
            continue;
        }
        let family = statement.family.name();
        if statement.family.data() == DataKind::Counts {
            problems.push(
                DataError::new(format!(
                    "`{}` has missing entries, and a row under {family} has none",
                    array.name
                ))
                .help("write `absent = 0`, or a Poisson for each entry"),
            );
        } else if let Some(problem) = partly_missing(model, statement, bound, axes, at) {
            problems.push(problem);
        }
    }
}

fn partly_missing(
    model: &Model,
    statement: &Statement,
    bound: &BoundArray,
    axes: &[BoundAxis],
    at: &dyn Fn(ArrayId, &[usize]) -> String,
) -> Option<DataError> {
    let array = model.symbols.array(statement.target);
    let sizes: Vec<usize> =
        array.letters.iter().map(|letter| axes[model.symbols.letter(*letter).axis.index()].size).collect();
    let key = |coordinate: &dyn Fn(usize) -> usize| -> Vec<usize> {
        (0..sizes.len()).filter(|dimension| !array.slice[*dimension]).map(coordinate).collect()
    };
    let width: usize =
        sizes.iter().zip(&array.slice).filter(|(_, slice)| **slice).map(|(size, _)| size).product();
    let mut seen: std::collections::BTreeMap<Vec<usize>, usize> = std::collections::BTreeMap::new();
    match bound {
        BoundArray::Dense { values, observed } => {
            for cell in
                (0..values.len()).filter(|cell| observed.as_ref().is_none_or(|observed| observed[*cell]))
            {
                let coordinate = |dimension: usize| {
                    let after: usize = sizes[dimension + 1..].iter().product();
                    cell / after.max(1) % sizes[dimension].max(1)
                };
                *seen.entry(key(&coordinate)).or_default() += 1;
            }
        }
        BoundArray::Sparse { indices, values, observed, unlisted_zero } => {
            let is_seen = |entry: usize| observed.as_ref().is_none_or(|observed| observed[entry]);
            let key_of = |entry: usize| key(&|dimension| indices[dimension][entry] as usize);
            if *unlisted_zero {
                // What is not listed is observed: all of a slice that has no missing entry.
                for entry in (0..values.len()).filter(|entry| !is_seen(*entry)) {
                    let observed = seen.entry(key_of(entry)).or_insert(width);
                    *observed -= 1;
                }
                seen.retain(|_, observed| *observed > 0);
            } else {
                for entry in (0..values.len()).filter(|entry| is_seen(*entry)) {
                    *seen.entry(key_of(entry)).or_default() += 1;
                }
            }
        }
    }
    let (partly, count) = seen.iter().find(|(_, count)| **count != width)?;
    let mut own = partly.iter();
    let whole =
        array.slice.iter().map(|slice| if *slice { 0 } else { own.next().copied().unwrap_or_default() });
    let whole: Vec<usize> = whole.collect();
    Some(
        DataError::new(format!(
            "`{}` has {} of {width} entries missing in a slice (that of {}), and a slice under {} is observed as a whole or not at all",
            array.name,
            width - count,
            at(statement.target, &whole),
            statement.family.name()
        ))
        .help("make the rest of the slice missing too, or write a Normal for each entry"),
    )
}

/// Parameters of constants and data alone lie in their domain, but for statements in which something has no value at all. Says
/// which arrays are outside.
pub(super) fn domains(uses: &Uses<'_>, undefined: &[usize], problems: &mut Vec<DataError>) -> Vec<ArrayId> {
    let (model, known) = (uses.model, uses.known);
    let mut refused = Vec::new();
    for (number, statement) in model.statements.iter().enumerate() {
        if undefined.contains(&number) {
            continue;
        }
        let parameters = statement.family.parameters().iter();
        for (parameter, argument) in parameters.zip(&statement.arguments) {
            let Some(argument) = argument else { continue };
            let spelling = parameter.spellings[argument.spelling];
            // What is wrong with a covariance has shown when it was factorised.
            if spelling.domain == Domain::Covariance {
                continue;
            }
            let looked_at = match known.knows(&argument.value) {
                true => vec![(spelling.name.to_owned(), argument.value.clone())],
                false => known_parts(model, known, spelling, &argument.value),
            };
            for (name, value) in looked_at {
                let own = ArgumentSpec { value, ..argument.clone() };
                let (name, own) = match inverted(&model.symbols, &own) {
                    Some(matrix) => (format!("matrix whose inverse is the {name}"), matrix),
                    None => (name, own),
                };
                if let Some(problem) = outside(uses, statement, &name, spelling.domain, &own) {
                    problems.push(problem);
                    if let Expression::Value(id, _) = own.value {
                        refused.push(id);
                    }
                    break;
                }
            }
        }
    }
    refused
}

/// What can be judged of a parameter that holds latents, with its name in words: of an array that a latent index selects from
/// all that could be selected, and of a product with positive latents what is left without them: its sign is that of the
/// product, and as a matrix it is positive definite where the product is.
fn known_parts(
    model: &Model,
    known: &Known<'_>,
    spelling: Spelling,
    value: &Expression,
) -> Vec<(String, Expression)> {
    if let Some(all) = all_selected(model, value)
        && known.knows(&all)
    {
        return vec![(spelling.name.to_owned(), all)];
    }
    if !matches!(spelling.domain, Domain::Positive | Domain::Nonnegative | Domain::PositiveDefinite) {
        return Vec::new();
    }
    // Of a sum that has to be positive an addend may be 0; a rate of counts is bounded addend by addend.
    let mut addends = Vec::new();
    match spelling.domain {
        Domain::Nonnegative => addends_of(value, &mut addends),
        _ => addends.push(value),
    }
    let signs = addends.into_iter().filter_map(|addend| without_positive(model, addend));
    let judged = signs.filter(|own| known.knows(own) && !matches!(own, Expression::Number(_)));
    judged.map(|own| (format!("{} without its latents", spelling.name), own)).collect()
}

/// The element of an array with the letters that the array declares in place of latent indices; `None` for other expressions,
/// and where a letter would stand twice.
fn all_selected(model: &Model, value: &Expression) -> Option<Expression> {
    let Expression::Value(id, subscripts) = value else { return None };
    let array = model.symbols.array(*id);
    let own = subscripts.iter().zip(&array.letters).map(|(subscript, declared)| match subscript {
        Subscript::Letter(own) => *own,
        Subscript::Index(..) => *declared,
    });
    let letters: Vec<LetterId> = own.collect();
    let distinct = letters.iter().enumerate().all(|(place, letter)| !letters[..place].contains(letter));
    let selects = subscripts.iter().any(|own| matches!(own, Subscript::Index(..)));
    let all = || Expression::Value(*id, letters.iter().map(|letter| Subscript::Letter(*letter)).collect());
    (array.kind != ArrayKind::Latent && selects && distinct && letters.len() == array.letters.len()).then(all)
}

/// The addends of an expression, those under a sum included.
fn addends_of<'a>(value: &'a Expression, into: &mut Vec<&'a Expression>) {
    match value {
        Expression::Add(parts) => parts.iter().for_each(|part| addends_of(part, into)),
        Expression::Sum(_, body) => addends_of(body, into),
        other => into.push(other),
    }
}

/// A product with 1 for each latent that is never negative; `None` where another latent stands in it, or a sum.
fn without_positive(model: &Model, value: &Expression) -> Option<Expression> {
    let mut holds_latent = false;
    value.visit_values(&mut |id, _| holds_latent |= model.symbols.array(id).kind == ArrayKind::Latent);
    if !holds_latent {
        return Some(value.clone());
    }
    match value {
        Expression::Value(id, _) => {
            let array = model.symbols.array(*id);
            let positive = matches!(
                array.support,
                Support::Positive | Support::Nonnegative | Support::Unit | Support::Simplex
            );
            match array.kind {
                ArrayKind::Latent => positive.then_some(Expression::Number(1.0)),
                ArrayKind::Data | ArrayKind::Constant => all_selected(model, value),
            }
        }
        Expression::Apply(Function::Exp | Function::Softplus, _) => Some(Expression::Number(1.0)),
        Expression::Power(base, exponent) => match (without_positive(model, base), &**exponent) {
            (_, Expression::Number(even)) if even % 2.0 == 0.0 => Some(Expression::Number(1.0)),
            // Of what is 1 any power is.
            (Some(one @ Expression::Number(_)), _) => Some(one),
            _ => None,
        },
        Expression::Multiply(factors) => {
            let factors: Option<Vec<Expression>> =
                factors.iter().map(|own| without_positive(model, own)).collect();
            let mut factors = factors?;
            factors.retain(|own| !matches!(own, Expression::Number(one) if *one == 1.0));
            match factors.len() {
                0 => Some(Expression::Number(1.0)),
                1 => factors.pop(),
                _ => Some(Expression::Multiply(factors)),
            }
        }
        _ => None,
    }
}

/// Checks that counts of successes are at most their totals, and that no observed outcome has probability 0, as far
/// as totals and probabilities are known.
pub(super) fn possible(
    model: &Model,
    bound: &Bound,
    known: &Known<'_>,
    at: &dyn Fn(ArrayId, &[usize]) -> String,
    problems: &mut Vec<DataError>,
) {
    for statement in model.statements.iter().filter(|own| own.observed && own.slices.is_empty()) {
        let argument = |fits: &dyn Fn(&Spelling) -> bool| {
            let parameters = statement.family.parameters().iter().zip(&statement.arguments);
            let mut own = parameters.filter_map(|(parameter, argument)| {
                argument.as_ref().filter(|own| fits(&parameter.spellings[own.spelling]))
            });
            own.find(|own| known.knows(&own.value))
        };
        let total = argument(&|own| own.name == "total");
        let chance = argument(&|own| own.domain == Domain::Unit);
        let spellings = statement.family.parameters().iter().flat_map(|own| own.spellings);
        let trials = spellings.into_iter().any(|own| own.name == "total");
        if total.is_none() && chance.is_none() {
            continue;
        }
        let Some(entries) = Entries::of_statement(model, bound, statement) else { continue };
        let array = model.symbols.array(statement.target);
        let mut found: Option<DataError> = None;
        entries.each(&mut |positions, value, _| {
            if found.is_some() {
                return;
            }
            let mut assignment = Assignment::new();
            for (letter, position) in array.letters.iter().zip(positions) {
                assignment.assign(&model.symbols, known, *letter, *position);
            }
            let mut number = |own: Option<&ArgumentSpec>| known.value_of(&own?.value, &mut assignment);
            let place = || format!("`{}` is {value} ({})", array.name, at(statement.target, positions));
            let one = (!trials).then_some(1.0);
            if let Some(total) = number(total).filter(|total| value > *total) {
                let problem = DataError::new(format!("{}, more than its total {total}", place()));
                found =
                    Some(problem.possible("as many successes as trials, or fewer").help(
                        "mend the entry or its total, or declare the entry missing with `absent = NA`",
                    ));
            } else if value > 0.0 && number(chance) == Some(0.0) {
                let problem = DataError::new(format!("{}, and its probability there is 0", place()));
                found = Some(problem.possible("0 where nothing else can happen").help(
                    "mend the entry or the probability, or declare the entry missing with `absent = NA`",
                ));
            } else if let Some(total) = number(total).or(one).filter(|total| value < *total)
                && number(chance) == Some(1.0)
            {
                let problem = DataError::new(format!("{}, and its probability there is 1", place()));
                found = Some(problem.possible(format!("{total} where nothing else can happen")).help(
                    "mend the entry or the probability, or declare the entry missing with `absent = NA`",
                ));
            }
        });
        problems.extend(found);
    }
}

/// Checks that data and constants in probabilities that hold latents sum to 1, as those that stand alone do.
pub(super) fn shares(uses: &Uses<'_>, problems: &mut Vec<DataError>) {
    for statement in &uses.model.statements {
        let Some((symbols, conditions)) = shares_by_value(uses.model, statement) else { continue };
        let known = uses.known.with_symbols(&symbols);
        let problem = conditions.iter().find_map(|sum| wrong_total(uses, statement, &symbols, &known, sum));
        problems.extend(problem);
    }
}

/// The first place where a sum that should be 1 is not.
fn wrong_total(
    uses: &Uses<'_>,
    statement: &Statement,
    symbols: &Symbols,
    known: &Known<'_>,
    sum: &Sum,
) -> Option<DataError> {
    let mut letters: Vec<LetterId> = sum.free_letters(symbols);
    let above: Vec<LetterId> =
        letters.iter().flat_map(|letter| symbols.lineage(*letter)[1..].to_vec()).collect();
    letters.retain(|letter| !above.contains(letter));
    let sizes = letters.iter().map(|letter| known.size(*letter));
    if sizes.fold(1usize, usize::saturating_mul) > MANY {
        return None;
    }
    let mut found = None;
    for_each_value(symbols, known, &letters, &mut Assignment::new(), &mut |assignment| {
        if found.is_some() {
            return;
        }
        let Some(total) = known.value_of_sum(sum, assignment) else { return };
        if (total - 1.0).abs() <= 1e-9 || !uses.is_read(statement, assignment) {
            return;
        }
        let place = |letter: &LetterId| {
            let position = assignment.get(*letter).unwrap_or(0);
            let letter = symbols.letter(*letter);
            format!("{} {position}", symbols.axis(letter.axis).name)
        };
        let places: Vec<String> = letters.iter().map(place).collect();
        let place = if places.is_empty() { String::new() } else { format!(" at {}", places.join(", ")) };
        let text =
            sum.terms.iter().map(|term| in_words(symbols, term.clone())).collect::<Vec<_>>().join(" + ");
        let (target, family) = (&symbols.array(statement.target).name, statement.family.name());
        found = Some(
            DataError::new(format!("in the statement `{target} ~ {family}(...)`: {text} is {total}{place}"))
                .possible("1, so that the probabilities sum to 1")
                .help("divide the entries by their sum, or state the part that is missing as an addend of its own"),
        );
    });
    found
}

fn outside(
    uses: &Uses<'_>,
    statement: &Statement,
    name: &str,
    domain: Domain,
    argument: &ArgumentSpec,
) -> Option<DataError> {
    let certain = domain == Domain::Unit && !statement.observed;
    let expected = match certain {
        true => "a number from 0 to 1, and less than 1: what is certain needs no statement",
        false => domain.expected(),
    };
    let size = statement.slices.first().map_or(1, |letter| uses.known.size(*letter));
    let fits = |value: f64| domain.holds(value, size) && !(certain && value == 1.0);
    let (symbols, known) = (&uses.model.symbols, uses.known);
    let mut letters: Vec<LetterId> = free_letters(&argument.value);
    // A ragged letter takes its ancestors along.
    let ancestors: Vec<LetterId> =
        letters.iter().flat_map(|letter| symbols.lineage(*letter)[1..].to_vec()).collect();
    let along: Vec<LetterId> = match domain {
        Domain::Simplex => {
            argument.letters.iter().copied().filter(|letter| letters.contains(letter)).collect()
        }
        Domain::PositiveDefinite => argument.letters.clone(),
        _ => Vec::new(),
    };
    letters.retain(|letter| !ancestors.contains(letter) && !along.contains(letter));
    let sizes = letters.iter().chain(&along).map(|letter| known.size(*letter));
    if sizes.fold(1usize, usize::saturating_mul) > MANY {
        return None;
    }
    let mut wrong: Option<String> = None;
    for_each_value(symbols, known, &letters, &mut Assignment::new(), &mut |assignment| {
        if wrong.is_some() {
            return;
        }
        if let ([row, column], Domain::PositiveDefinite) = (&argument.letters[..], domain) {
            wrong = wrong_matrix(&known.matrix(&argument.value, *row, *column, assignment));
            return;
        }
        let mut total = 0.0;
        let mut missing = false;
        for_each_value(symbols, known, &along, assignment, &mut |assignment| match known
            .value_of(&argument.value, assignment)
        {
            Some(value) if fits(value) => total += value,
            Some(value) => wrong = Some(format!("is {value}")),
            None => missing = true,
        });
        if domain == Domain::Simplex
            && wrong.is_none()
            && !missing
            && !along.is_empty()
            && (total - 1.0).abs() > 1e-9
        {
            wrong = Some(format!("sums to {total}"));
        }
        if wrong.is_some() && !uses.is_read(statement, assignment) {
            wrong = None;
        }
    });
    let found = wrong?;
    let source = match &argument.value {
        Expression::Value(id, _) => format!(" (`{}`)", symbols.array(*id).name),
        _ => String::new(),
    };
    let target = &symbols.array(statement.target).name;
    let family = statement.family.name();
    Some(
        DataError::new(format!("in the statement `{target} ~ {family}(...)`: the {name}{source} {found}"))
            .possible(expected),
    )
}
