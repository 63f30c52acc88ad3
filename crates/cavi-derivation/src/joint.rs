//! The log joint: each statement's log-density as a sum of products, summed over its plates.
//!
//! Selection comes first: `f(x | theta_z) = prod_c f(x | theta_c)^[z = c]`. Missing entries, rows of weight and
//! restrictions are factors of their terms.

use cavi_algebra::canonical::canonical;
use cavi_algebra::rules::{
    coincidences, distribute, multiply, power, replace_index, sum_simplex_over, to_sum,
};
use cavi_algebra::{
    Array, ArrayId, ArrayKind, Atom, AxisId, Expression, Factor, Function, LetterId, Restriction, Subscript,
    Sum, Support, Symbols, Term, dedup,
};
use cavi_families::matrix::{inverse_of_diagonal, log_determinant, over, size};
use cavi_families::{Argument, Extent, Target};
use cavi_model::{ArgumentSpec, Model, Statement, text_of};
use cavi_syntax::Diagnostic;

use crate::absent::{with_indicators, without_absent};
use crate::blocks::Draft;
use crate::derive::Derivation;
use crate::division::{divides_by_zero, zero_divisor};
use crate::explain::{families_on, latent_of_each_addend, not_on_simplex};
use crate::shares::sums_to_one;

/// The log-density of every statement, in the order of the statements, and the ragged axes over a group of which it sums probabilities to 1.
pub fn joint(derivation: &mut Derivation, drafts: &[Draft]) -> Vec<(Sum, Vec<AxisId>)> {
    let model = derivation.model;
    let each = model.statements.iter().map(|statement| {
        let mut filled = Vec::new();
        (log_density(derivation, drafts, statement, &mut filled), filled)
    });
    each.collect()
}

fn log_density(
    derivation: &mut Derivation,
    drafts: &[Draft],
    statement: &Statement,
    filled: &mut Vec<AxisId>,
) -> Sum {
    let apart = derivation.kept_apart(statement);
    let parameters = statement.family.parameters();
    let mut arguments = match arguments(&mut derivation.symbols, statement) {
        Ok(arguments) => arguments,
        Err(diagnostic) => {
            derivation.diagnostics.push(*diagnostic);
            return Sum::zero();
        }
    };
    let symbols = &mut derivation.symbols;
    if derivation.by_value {
        // Of vectors and numbers; matrices are read by their form.
        for argument in arguments.iter_mut().flatten().filter(|own| own.letters.len() < 2) {
            let value = with_indicators(symbols, &argument.value);
            argument.value = coincidences(symbols, &value);
        }
    }

    // Selections, innermost first: by letters of the statement for the whole density, by summed letters where they stand.
    let mut selections: Vec<(Subscript, LetterId)> = Vec::new();
    let mut inside: Option<(ArrayId, LetterId)> = None;
    while let Some((index, subscripts)) =
        arguments.iter().flatten().find_map(|argument| innermost_selection(symbols, &argument.value))
    {
        let mut letters = Vec::new();
        subscripts.iter().for_each(|subscript| subscript.letters(&mut letters));
        let chosen: Vec<LetterId> = selections.iter().map(|(_, letter)| *letter).collect();
        let plates = with_ancestors(symbols, &statement.plates);
        if let Some(bound) =
            letters.iter().find(|letter| !plates.contains(letter) && !chosen.contains(letter))
        {
            inside = inside.or(Some((index, *bound)));
            for argument in arguments.iter_mut().flatten() {
                select_inside(symbols, &mut argument.value, index, &subscripts);
            }
            continue;
        }
        let Support::Index(axis) = symbols.array(index).support else {
            unreachable!("only index variables stand in subscripts")
        };
        let class = symbols.fresh_on(axis);
        for argument in arguments.iter_mut().flatten() {
            replace_index(&mut argument.value, index, &subscripts, class);
        }
        selections.push((Subscript::Index(index, subscripts), class));
    }

    for (argument, spec) in arguments.iter().flatten().zip(statement.arguments.iter().flatten()) {
        let [row, column] = argument.letters[..] else { continue };
        let matrices = whole_matrices(&argument.value, row, column);
        symbols.symmetric.extend(matrices);
        if log_determinant(symbols, &argument.value, row, column).is_none() {
            let family = statement.family.name();
            let spelling = |(parameter, own): (&cavi_families::Parameter, &Option<ArgumentSpec>)| {
                own.as_ref()
                    .filter(|own| own.span == spec.span)
                    .map(|own| parameter.spellings[own.spelling].name)
            };
            let what = parameters.iter().zip(&statement.arguments).find_map(spelling).unwrap_or("matrix");
            let alone = match &spec.value {
                Expression::Add(parts) => parts.iter().find_map(|part| match part {
                    Expression::Value(array, _) if symbols.array(*array).kind == ArrayKind::Latent => {
                        Some(&symbols.array(*array).name)
                    }
                    _ => None,
                }),
                _ => None,
            };
            let help = match alone {
                Some(name) => format!("keep one term: `{what} = {name}`"),
                None => "write it as one of these".to_owned(),
            };
            derivation.diagnostics.push(
                Diagnostic::error("E0703", format!("the {what} of this {family} has no log-determinant in closed form"))
                    .at(spec.span, "neither one array times a factor nor diagonal")
                    .possible(format!(
                        "a constant matrix or a latent under {}, each times a factor that is no matrix; or a diagonal matrix",
                        families_on(|support| support == Support::PositiveDefinite)
                    ))
                    .help(help),
            );
            return Sum::zero();
        }
    }

    if statement.family.needs_simplex() {
        let vector = arguments.iter().flatten().zip(parameters).find(|(_, own)| own.extent == Extent::Vector);
        if let Some((argument, _)) = vector
            && !is_simplex(symbols, drafts, argument)
        {
            let diagnostic = not_on_simplex(derivation.model, symbols, statement, &argument.letters);
            derivation.diagnostics.push(diagnostic);
            return Sum::zero();
        }
    }

    let target = target_of(derivation.model, symbols, statement);
    let density = statement.family.log_density(symbols, &target, &arguments);
    if let Some((index, bound)) = inside
        && selects_in_log(&density, index)
    {
        let name = symbols.array(index).name.clone();
        let letter = symbols.letter(bound).name.clone();
        let help = latent_of_each_addend(derivation.model, statement, index);
        derivation.diagnostics.push(
            Diagnostic::error("E0701", format!("`{name}` selects under the summed letter `{letter}`, inside a log"))
                .at(statement.span, "in this statement")
                .possible("a selection in the log of a sum may use the letters on the left only; in a mean or in log odds, any")
                .help(help),
        );
        return Sum::zero();
    }
    let density = where_observed(symbols, drafts, statement, &target, density);
    let mut weight = Sum::number(1.0);
    let apart = apart.into_iter().map(|(left, right)| Atom::Different(left, right));
    for guard in guards(symbols, statement, &target).into_iter().chain(apart) {
        weight = multiply(symbols, &weight, &Sum::atom(guard));
    }
    for (index, class) in &selections {
        weight =
            multiply(symbols, &weight, &Sum::atom(Atom::Equal(index.clone(), Subscript::Letter(*class))));
    }
    let density = multiply(symbols, &weight, &density);
    let mut sums = with_ancestors(symbols, &statement.plates);
    sums.extend(selections.iter().map(|(_, class)| *class));
    let terms = density
        .terms
        .into_iter()
        .map(|term| Term { sums: sums.iter().copied().chain(term.sums).collect(), ..term });
    let density = canonical(symbols, &Sum { terms: terms.collect() });
    let density = sum_simplex_over(symbols, &density, filled);
    let density = canonical(symbols, &density);
    if divides_by_zero(&density) {
        let family = statement.family.name();
        derivation.diagnostics.push(
            Diagnostic::error("E0706", format!("the density of this {family} divides by 0"))
                .at(statement.span, "whatever the values of the names in it")
                .help("write parameters that are not 0 by their form: no difference of equal parts, no product with 0"),
        );
        return Sum::zero();
    }
    if derivation.by_value { without_absent(symbols, &density) } else { density }
}

/// The parameters of a statement as its density reads them, under their first spellings.
pub fn arguments(
    symbols: &mut Symbols,
    statement: &Statement,
) -> Result<Vec<Option<Argument>>, Box<Diagnostic>> {
    let mut canonicals: Vec<Sum> = Vec::new();
    let mut arguments: Vec<Option<Argument>> = Vec::new();
    for (parameter, argument) in statement.family.parameters().iter().zip(&statement.arguments) {
        let Some(argument) = argument else {
            canonicals.push(Sum::zero());
            arguments.push(None);
            continue;
        };
        let spelling = &parameter.spellings[argument.spelling];
        let written = argument.inverse.as_ref().unwrap_or(&argument.value);
        let divisor = zero_divisor(symbols, written);
        let mut value = to_sum(symbols, written);
        if let Some(rewrite) = spelling.rewrite {
            value = rewrite(symbols, &value, &canonicals);
        }
        let mut value = canonical(symbols, &value);
        if argument.letters.len() < 2 {
            value = coincidences(symbols, &value);
        }
        if let ([row, column], true, None) =
            (&argument.letters[..], spelling.read_as.is_some(), &argument.inverse)
        {
            match inverse_of_diagonal(symbols, &value, *row, *column) {
                Some(inverse) => value = canonical(symbols, &inverse),
                None => {
                    let what = format!("the {} of this {}", spelling.name, statement.family.name());
                    return Err(Box::new(
                        Diagnostic::error("E0703", format!("{what} has no inverse in closed form"))
                            .at(argument.span, "a latent stands in it")
                            .possible(
                                "a matrix of constants, times a factor that is no matrix; or a diagonal one",
                            )
                            .help(other_spelling(statement, parameter)),
                    ));
                }
            }
        }
        if divisor.is_some() || divides_by_zero(&value) {
            let (parameter, family) = (spelling.name, statement.family.name());
            let message = match divisor {
                Some(Expression::Number(_)) => "a division by 0".to_owned(),
                Some(divisor) => format!("`{}` is 0, and is divided by", text_of(symbols, divisor)),
                None => format!("the {parameter} of this {family} is 0, and its density divides by it"),
            };
            return Err(Box::new(
                Diagnostic::error("E0706", message)
                    .at(argument.span, "divides by 0, whatever the values of the names in it")
                    .help("write what is not 0 by its form: no difference of equal parts, no product with 0"),
            ));
        }
        canonicals.push(value.clone());
        arguments.push(Some(Argument { value, letters: argument.letters.clone() }));
    }
    Ok(arguments)
}

/// The arrays of a matrix that hold both of its letters, in terms that are not diagonal by their form: what is bound to them is
/// checked to be symmetric.
fn whole_matrices(matrix: &Sum, row: LetterId, column: LetterId) -> Vec<ArrayId> {
    let (row, column) = (Subscript::Letter(row), Subscript::Letter(column));
    let ties = |factor: &Factor| match &factor.atom {
        Atom::Equal(left, right) => [left, right] == [&row, &column] || [left, right] == [&column, &row],
        _ => false,
    };
    let whole = matrix.terms.iter().filter(|term| !term.factors.iter().any(ties));
    let array = |factor: &Factor| match &factor.atom {
        Atom::Value(array, subscripts) => match &subscripts[..] {
            [.., first, second]
                if [first, second] == [&row, &column] || [first, second] == [&column, &row] =>
            {
                Some(*array)
            }
            _ => None,
        },
        _ => None,
    };
    whole.flat_map(|term| &term.factors).filter_map(array).collect()
}

/// The left of a statement, in its own letters.
pub fn target_of(model: &Model, symbols: &Symbols, statement: &Statement) -> Target {
    let index = match symbols.array(statement.target).support {
        Support::Index(_) => Some(Subscript::Index(statement.target, model.element(statement.target))),
        Support::Real
        | Support::Positive
        | Support::Nonnegative
        | Support::Unit
        | Support::Count
        | Support::Binary
        | Support::Simplex
        | Support::Multiplicity
        | Support::PositiveDefinite => None,
    };
    let subscripts = model.target_letters(statement).into_iter().map(Subscript::Letter).collect();
    Target {
        value: Sum::atom(Atom::Value(statement.target, subscripts)),
        slices: statement.slices.clone(),
        index,
    }
}

/// The letters with their ancestors, outermost first, each once.
pub fn with_ancestors(symbols: &Symbols, letters: &[LetterId]) -> Vec<LetterId> {
    dedup(letters.iter().flat_map(|letter| symbols.lineage(*letter).into_iter().rev()).collect())
}

/// What multiplies every term of a statement: which entries are observed and exist, and how much a row weighs.
fn guards(symbols: &Symbols, statement: &Statement, target: &Target) -> Vec<Atom> {
    let array = symbols.array(statement.target);
    let mut guards = Vec::new();
    let Some(Atom::Value(_, subscripts)) = target.value.terms.first().map(|term| &term.factors[0].atom)
    else {
        unreachable!("the target is an element")
    };
    let latent = array.kind == ArrayKind::Latent;
    if statement.observed && !latent && array.absent.missing && !array.slice.iter().any(|slice| *slice) {
        guards.push(Atom::Observed(statement.target, subscripts.clone()));
    }
    // The restriction is stated in the declared letters; find them by position.
    let at = |letter: LetterId| {
        let position =
            array.letters.iter().position(|own| *own == letter).expect("the resolver checks the letters");
        subscripts[position].clone()
    };
    match array.restriction {
        Some(Restriction::Different(left, right)) => guards.push(Atom::Different(at(left), at(right))),
        Some(Restriction::Less(left, right)) => guards.push(Atom::Less(at(left), at(right))),
        None => {}
    }
    guards.extend(multiplicities_of(symbols, statement));
    guards
}

/// A slice is observed as a whole or not at all: its terms count where it is. A term along the slice has the mask of its
/// element; another one `sum_i [x_i observed] / n`, and so has `mu_i L_ij mu_j` of a joint factor of `mu` and `L`, which is one
/// statistic: nothing else may hold its letters.
fn where_observed(
    symbols: &mut Symbols,
    drafts: &[Draft],
    statement: &Statement,
    target: &Target,
    density: Sum,
) -> Sum {
    let array = symbols.array(statement.target);
    let masked = statement.observed && array.kind != ArrayKind::Latent && array.absent.missing;
    let ([slice], true) = (&target.slices[..], masked) else { return density };
    let Some(Atom::Value(array, subscripts)) = target.value.terms.first().map(|term| &term.factors[0].atom)
    else {
        unreachable!("the target is an element")
    };
    let mask = Sum::atom(Atom::Observed(*array, subscripts.clone()));
    let share = power(symbols, &size(*slice), -1);
    let whole = multiply(symbols, &over(&mask, &[*slice]), &share);
    let mut out = Sum::zero();
    for term in density.terms {
        let whole_pair = |draft: &Draft| {
            draft.members.len() > 1 && draft.members.iter().all(|member| term.mentions(*member))
        };
        let is_statistic = !term.mentions(statement.target) && drafts.iter().any(whole_pair);
        let along = term.sums.contains(slice) && !is_statistic;
        let term = Sum::term(term);
        out = out.plus(match along {
            true => distribute(symbols, &term.terms[0], &mask),
            false => multiply(symbols, &term, &whole),
        });
    }
    out
}

/// What to write in place of a matrix that has no inverse: another spelling, or a constant.
fn other_spelling(statement: &Statement, parameter: &cavi_families::Parameter) -> String {
    match parameter.spellings.iter().find(|spelling| spelling.read_as.is_none()) {
        Some(other) => format!("give the `{}` of this {} instead", other.name, statement.family.name()),
        None => "make it a constant".to_owned(),
    }
}

/// The multiplicities that weigh the rows of a statement: those whose letters stand on its left, as the text writes it. Of `data x[j, i]`,
/// `x[i, j] ~ ...` and `m[i, j]` it is `m[i, j]` with the letters of the text, `m[j, i]` with those that `x` is declared with.
pub fn multiplicities_of(symbols: &Symbols, statement: &Statement) -> Vec<Atom> {
    multiplicities_as_written(symbols, &statement.plates, &statement.renamed)
}

/// The same of any plates of such a statement, whose `renamed` these are: the multiplicities whose letters are among the plates and their
/// ancestors, since a ragged letter is always written with these.
pub(crate) fn multiplicities_as_written(
    symbols: &Symbols,
    plates: &[LetterId],
    renamed: &[(LetterId, LetterId)],
) -> Vec<Atom> {
    let written = |own: LetterId| {
        renamed.iter().find(|(declared, _)| *declared == own).map_or(own, |(_, written)| *written)
    };
    let plates = with_ancestors(symbols, plates);
    let weights = symbols.arrays.iter().enumerate().filter(|(_, own)| own.support == Support::Multiplicity);
    let atom = |(index, array): (usize, &Array)| {
        let subscripts = one_to_one(symbols, &array.letters, &plates, &written)?;
        Some(Atom::Value(ArrayId::from(index), subscripts.into_iter().map(Subscript::Letter).collect()))
    };
    weights.filter_map(atom).collect()
}

/// For each letter of a multiplicity a plate over its axis, the one that is written as this letter where there is one. A plate stands for one
/// letter: `m[i, j]` weighs pairs, and a copy of `u[i]` is none. `None` where a letter is left without a plate.
fn one_to_one(
    symbols: &Symbols,
    letters: &[LetterId],
    plates: &[LetterId],
    written: &dyn Fn(LetterId) -> LetterId,
) -> Option<Vec<LetterId>> {
    let is_written_as = |plate: LetterId, own: LetterId| match written(plate) {
        same if same == plate => plate == own,
        // A ragged letter is one for each of its ancestors, all of one name.
        other => {
            let (other, own) = (symbols.letter(other), symbols.letter(own));
            (other.axis, &other.name) == (own.axis, &own.name)
        }
    };
    let named = |own: &LetterId| plates.iter().copied().find(|plate| is_written_as(*plate, *own));
    let mut found: Vec<Option<LetterId>> = letters.iter().map(named).collect();
    for (place, letter) in letters.iter().enumerate() {
        if found[place].is_none() {
            let axis = symbols.letter(*letter).axis;
            let free =
                |plate: &&LetterId| symbols.letter(**plate).axis == axis && !found.contains(&Some(**plate));
            found[place] = Some(*plates.iter().find(free)?);
        }
    }
    found.into_iter().collect()
}

/// An index latent that selects and whose own subscripts hold none. An index latent that stands only in an indicator
/// selects nothing.
pub fn innermost_selection(symbols: &Symbols, sum: &Sum) -> Option<(ArrayId, Vec<Subscript>)> {
    fn inside(symbols: &Symbols, subscript: &Subscript) -> Option<(ArrayId, Vec<Subscript>)> {
        let Subscript::Index(array, inner) = subscript else { return None };
        if let Some(found) = inner.iter().find_map(|inner| inside(symbols, inner)) {
            return Some(found);
        }
        (symbols.array(*array).kind == ArrayKind::Latent).then(|| (*array, inner.clone()))
    }
    let atoms = || sum.terms.iter().flat_map(|term| &term.factors).map(|factor| &factor.atom);
    atoms().find_map(|atom| match atom {
        Atom::Equal(..) => None,
        _ if !atom.nested().is_empty() => {
            atom.nested().into_iter().find_map(|sum| innermost_selection(symbols, sum))
        }
        _ => {
            let mut found = None;
            atom.visit_subscripts(&mut |subscript| {
                found = found.take().or_else(|| inside(symbols, subscript))
            });
            found
        }
    })
}

/// `f(e[z]) = sum_c [z = c] f(e[c])` in every product `f` that selects by `index[subscripts]`.
fn select_inside(symbols: &mut Symbols, sum: &mut Sum, index: ArrayId, subscripts: &[Subscript]) {
    let Support::Index(axis) = symbols.array(index).support else {
        unreachable!("only index variables stand in subscripts")
    };
    for term in &mut sum.terms {
        let mut own: Vec<usize> = Vec::new();
        for (position, factor) in term.factors.iter_mut().enumerate() {
            let mut nested = factor.atom.nested_mut();
            nested.iter_mut().for_each(|inner| select_inside(symbols, inner, index, subscripts));
            if nested.is_empty() && !matches!(factor.atom, Atom::Equal(..)) {
                own.push(position);
            }
        }
        let class = symbols.fresh_on(axis);
        let mut selected = Sum::term(Term {
            factors: own.iter().map(|at| term.factors[*at].clone()).collect(),
            ..Term::number(1.0)
        });
        replace_index(&mut selected, index, subscripts, class);
        let mut found = false;
        for (at, factor) in own.into_iter().zip(selected.terms.remove(0).factors) {
            found |= term.factors[at] != factor;
            term.factors[at] = factor;
        }
        if found {
            let chosen = Atom::Equal(Subscript::Index(index, subscripts.to_vec()), Subscript::Letter(class));
            term.factors.push(Factor::of(chosen));
            term.sums.push(class);
        }
    }
}

/// Whether an indicator of an index stands inside the log of a sum.
fn selects_in_log(sum: &Sum, index: ArrayId) -> bool {
    sum.terms.iter().flat_map(|term| &term.factors).any(|factor| match &factor.atom {
        Atom::Apply(Function::Log, inner) => inner.iter().any(|sum| sum.mentions(index)),
        atom => atom.nested().into_iter().any(|inner| selects_in_log(inner, index)),
    })
}

/// Whether `sum_v p_v` is 1 by the simplex rule; what follows from data and constants is checked when they are bound.
fn is_simplex(symbols: &mut Symbols, drafts: &[Draft], argument: &Argument) -> bool {
    let latent =
        drafts.iter().flat_map(|draft| &draft.members).any(|member| argument.value.mentions(*member));
    !latent || sums_to_one(symbols, argument).is_some()
}
