//! Data far from 0 are fitted from an origin near them.
//!
//! # Derivation
//! In a joint factor of a mean and its precision, `-tau (x - mu)^2 / 2` is linear in `tau`, `tau mu` and `tau mu^2`. The
//! coefficient of `tau` holds `sum x^2 / 2`, and the rate is that less `kappa E[mu]^2 / 2`: of data `r` standard deviations
//! away from 0 the difference keeps a share of `r^2 eps` of noise. So do the products of two residuals in a density with a full
//! matrix. The density moves with its target, `p(x + c | mu + c) = p(x | mu)`, and a shift has the Jacobian 1: in
//! `x = c + x'`, `mu = c + mu'` the bound is the same number and q the same distribution, and nothing large is squared.
//!
//! Where no square is multiplied out, the update of one addend of a mean still takes the others off the data, `sum tau x - sum tau mu`, and
//! of data `r` standard deviations away from 0 the difference keeps a share of `r eps` of noise: much later, but in the same way.
//!
//! A chain begins at data, goes on through one addend of the mean of each statement to a latent, and ends at a latent whose
//! mean has none. All its members are written `c + member'` wherever they stand, which is right for every program; along the
//! chain the `c` cancel, and the mean of the last becomes `mean - c`. The array `c` has those dimensions of the data that
//! every member of the chain shares, and is the average of the data there; only there where it is large.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use cavi_algebra::evaluate::{Assignment, for_each_value};
use cavi_algebra::{
    Absent, Array, ArrayId, ArrayKind, Block, Equations, Expression, LetterId, Mode, Subscript, Support,
};
use cavi_executor::{BoundArray, Layout, Parameters};
use cavi_families::{Extent, Location};
use cavi_model::{Model, Statement};

use super::{Problem, Shifted, derive_alike};
use crate::bind::known::Known;
use crate::bind::{Binding, Existing};
use crate::posterior::layouts;
use crate::rows::{Entries, Groups, Moments, change_observed};
use crate::start::Given;

/// An average further away from 0 than this many standard deviations is an origin: of the 16 digits 6 would be lost.
const FAR: f64 = 1e3;

/// The same where no residual is squared before it is taken: an update of one addend of a mean takes the others off the data one by one,
/// `sum tau x - sum tau mu`, and of the 16 digits 7 would be lost.
const FAR_ONCE: f64 = 1e7;

/// What the means of a variable gain on the way back.
#[derive(Clone, Debug)]
pub(super) struct Shift {
    block: usize,
    column: usize,
    /// As the column is laid out.
    by: Vec<f64>,
}

/// Variables that move together, each with the dimension that every dimension of the origin is for it.
struct Chain {
    members: Vec<(ArrayId, Vec<usize>)>,
    values: Vec<f64>,
}

/// The problem about an origin near its data and by how much each mean moved, if these are so far from 0 that digits would be lost.
pub(super) fn restate(problem: &Problem) -> Option<Shifted> {
    let Problem { model, equations, binding, .. } = problem;
    let chains = chains(model, equations, binding);
    if chains.is_empty() {
        return None;
    }
    let (mut restated, mut moved) = (model.clone(), binding.clone());
    let mut by = Vec::new();
    for chain in &chains {
        let (data, dimensions) = &chain.members[0];
        let letters = restated.symbols.array(*data).letters.clone();
        let letters = dimensions.iter().map(|dimension| letters[*dimension]).collect();
        let name = format!("origin of {}", restated.symbols.array(*data).name);
        let origin = constant(&mut restated, &mut moved, *data, name, letters, chain.values.clone());
        move_data(&restated, &mut moved, chain);
        chain.restate(&mut restated, origin);
        chain.evaluate_known(&mut restated, &mut moved);
        for (member, dimensions) in &chain.members[1..] {
            by.push(shift(equations, binding, *member, dimensions, &chain.values)?);
        }
    }
    let derived = derive_alike(&restated, equations)?;
    // A shift is one of a mean, and where the mean lies follows from the family.
    let families =
        |equations: &Equations| -> Vec<_> { equations.blocks.iter().map(|block| block.family).collect() };
    if families(&derived) != families(equations) {
        return None;
    }
    Some((problem.with(restated, derived, moved), by))
}

impl Shift {
    /// Takes the origin off parameters that are given.
    pub(super) fn off(&self, given: &mut Given) {
        if let Some(Some(columns)) = given.blocks.get_mut(self.block) {
            columns[self.column].iter_mut().zip(&self.by).for_each(|(own, by)| *own -= by);
        }
    }

    /// Adds the origin to parameters of a run.
    pub(super) fn back(&self, parameters: &mut Parameters) {
        let column = &mut parameters.blocks[self.block][self.column];
        column.iter_mut().zip(&self.by).for_each(|(own, by)| *own += by);
    }
}

/// The chains of a program whose data are far from 0; no two share a variable.
fn chains(model: &Model, equations: &Equations, binding: &Binding) -> Vec<Chain> {
    let mut chains: Vec<Chain> = Vec::new();
    for statement in model.statements.iter().filter(|own| own.observed) {
        let limit = if squares(equations, statement) { FAR } else { FAR_ONCE };
        let Some(members) = members(model, equations, statement) else { continue };
        let taken = |array: &ArrayId| {
            chains.iter().flat_map(|chain| &chain.members).any(|(member, _)| member == array)
        };
        let stays = |member: &ArrayId| binding.fixed.contains(member);
        if members.iter().any(|(member, _)| taken(member) || stays(member)) {
            continue;
        }
        let own = (statement, members[0].1.as_slice());
        let Some(values) = far(model, binding, own, limit) else { continue };
        chains.push(Chain { members, values });
    }
    chains
}

/// Whether the updates hold products of residuals multiplied out: under a full matrix, or where a latent mean and its
/// precision have one factor.
fn squares(equations: &Equations, statement: &Statement) -> bool {
    let joint = |array: ArrayId| {
        let Some(block) = equations.block_of(array) else { return false };
        let family = cavi_families::posterior(equations.block(block).family);
        let supports = family.joint();
        supports.contains(&Support::Real)
            && supports.iter().any(|own| matches!(own, Support::Positive | Support::PositiveDefinite))
    };
    let mut found = !statement.slices.is_empty();
    for argument in statement.arguments.iter().flatten() {
        argument.value.visit_values(&mut |array, _| found |= joint(array));
    }
    found
}

/// The chain from the target of a statement on; `None` where it ends at variables that do not move with their mean.
fn members(
    model: &Model,
    equations: &Equations,
    statement: &Statement,
) -> Option<Vec<(ArrayId, Vec<usize>)>> {
    let (mut statement, mut chain) = (statement, Vec::<(ArrayId, Vec<usize>)>::new());
    let target = model.symbols.array(statement.target);
    if equations.block_of(statement.target).is_some() || target.support != Support::Real {
        return None;
    }
    chain.push((statement.target, (0..target.letters.len()).collect()));
    loop {
        let parameter = match statement.family.location() {
            Location::None => return None,
            Location::Anywhere => break,
            Location::Parameter(parameter) => parameter,
        };
        let mean = &statement.arguments[parameter].as_ref()?.value;
        let addends =
            if let Expression::Add(parts) = mean { parts.as_slice() } else { std::slice::from_ref(mean) };
        let letters = model.target_letters(statement);
        let (_, dimensions) = &chain[chain.len() - 1];
        // The addend that shares most dimensions, of several the one with the fewest: an intercept rather than effects of groups.
        let rank = |(array, places): &(ArrayId, Vec<Option<usize>>)| {
            (places.iter().flatten().count(), Reverse(model.symbols.array(*array).letters.len()))
        };
        let mut next: Option<(ArrayId, Vec<Option<usize>>)> = None;
        for addend in addends {
            let Expression::Value(array, subscripts) = addend else { continue };
            if !can_move(model, equations, *array) || chain.iter().any(|(member, _)| member == array) {
                continue;
            }
            let place = |dimension: &usize| {
                subscripts.iter().position(|own| *own == Subscript::Letter(letters[*dimension]))
            };
            let places: Vec<Option<usize>> = dimensions.iter().map(place).collect();
            let own = (*array, places);
            if next.as_ref().is_none_or(|known| rank(&own) > rank(known)) {
                next = Some(own);
            }
        }
        let Some((array, places)) = next else { break };
        for (_, own) in &mut chain {
            let mut shared = places.iter();
            own.retain(|_| shared.next().is_some_and(Option::is_some));
        }
        chain.push((array, places.into_iter().flatten().collect()));
        statement = model.statement_of(array)?;
    }
    (chain.len() > 1).then_some(chain)
}

/// Whether a variable has means that a shift can be added to.
fn can_move(model: &Model, equations: &Equations, array: ArrayId) -> bool {
    let own = model.symbols.array(array);
    let Some(block) = equations.block_of(array).filter(|_| own.support == Support::Real) else {
        return false;
    };
    let block = equations.block(block);
    let ragged = block.ragged_slice(&equations.symbols).is_some();
    let moves = match block.mode {
        Mode::Distribution | Mode::Fixed => mean_column(block).is_some(),
        Mode::Point => true,
        Mode::Implicit => false,
    };
    own.kind == ArrayKind::Latent && moves && !ragged
}

/// The descriptor that is the mean of the real members.
fn mean_column(block: &Block) -> Option<usize> {
    let family = cavi_families::posterior(block.family);
    family.descriptors().iter().position(|own| own.defining && own.name == "mean")
}

/// The averages of data over all dimensions but these, where they are further from 0 than so many standard deviations, else 0; `None` where
/// none is. Zeros that are not listed stay as they are: none of them would be 0.
fn far(
    model: &Model,
    binding: &Binding,
    (statement, dimensions): (&Statement, &[usize]),
    limit: f64,
) -> Option<Vec<f64>> {
    let entries = Entries::of_statement(model, &binding.bound, statement)?;
    if matches!(entries.array, BoundArray::Sparse { unlisted_zero: true, .. }) {
        return None;
    }
    let Moments { weight, mut mean, deviation } = entries.moments(&Groups::along(&entries.shape, dimensions));
    for (group, mean) in mean.iter_mut().enumerate() {
        if !mean.is_finite() || mean.abs() <= limit * deviation[group] || weight[group] < 2.0 {
            *mean = 0.0;
        }
    }
    mean.iter().any(|own| *own != 0.0).then_some(mean)
}

/// From a cell of an array in C order to the cell of the array of some of its dimensions.
pub(crate) fn groups_of(shape: &[usize], dimensions: &[usize]) -> impl Fn(usize) -> usize + use<> {
    let strides: Vec<usize> =
        (0..shape.len()).map(|dimension| shape[dimension + 1..].iter().product()).collect();
    let parts: Vec<(usize, usize)> =
        dimensions.iter().map(|dimension| (strides[*dimension], shape[*dimension])).collect();
    move |cell| parts.iter().fold(0, |group, (stride, size)| group * size + cell / stride % size)
}

/// A new constant.
fn constant(
    model: &mut Model,
    binding: &mut Binding,
    like: ArrayId,
    name: String,
    letters: Vec<LetterId>,
    values: Vec<f64>,
) -> ArrayId {
    let id = ArrayId::from(model.symbols.arrays.len());
    model.symbols.arrays.push(Array {
        name,
        kind: ArrayKind::Constant,
        slice: vec![false; letters.len()],
        letters,
        written: Vec::new(),
        support: Support::Real,
        absent: Absent::default(),
        restriction: None,
        value: None,
        center: None,
        scale: None,
    });
    model.array_spans.push(model.array_spans[like.index()]);
    binding.bound.arrays.push(Some(BoundArray::full(values)));
    binding.listed.push(None);
    id
}

/// Takes the origin off the data. A cell without an entry stays 0, as long as nothing reads it: what stands on a right-hand side is `c + x'` there
/// too, and a sum over a whole axis reads the cell as 0.
fn move_data(model: &Model, binding: &mut Binding, chain: &Chain) {
    let (data, dimensions) = &chain.members[0];
    let shape = binding.bound.shape(&model.symbols, *data);
    let groups = Groups::along(&shape, dimensions);
    let mut is_read = false;
    for argument in model.statements.iter().flat_map(|own| own.arguments.iter().flatten()) {
        argument.value.visit_values(&mut |array, _| is_read |= array == *data);
    }
    let existing = match is_read {
        true => Existing::default(),
        false => Existing::of(&model.symbols, &binding.bound.axes, model.symbols.array(*data)),
    };
    if let Some(array) = &mut binding.bound.arrays[data.index()] {
        change_observed(array, &shape, &existing, &mut |place, value| {
            value - chain.values[groups.of(|dimension| place[dimension])]
        });
    }
}

impl Chain {
    /// Writes `c + member` for every member, and takes `c` off the means of their own statements.
    fn restate(&self, model: &mut Model, origin: ArrayId) {
        let places: BTreeMap<ArrayId, &[usize]> =
            self.members.iter().map(|(member, places)| (*member, places.as_slice())).collect();
        let with_origin = |array: ArrayId, subscripts: &[Subscript]| {
            let own = places.get(&array)?.iter().map(|place| subscripts[*place].clone()).collect();
            Some(Expression::Value(origin, own))
        };
        for number in 0..model.statements.len() {
            let letters = model.target_letters(&model.statements[number]);
            let statement = &mut model.statements[number];
            for argument in statement.arguments.iter_mut().flatten() {
                argument.value = added(&argument.value, &with_origin);
                argument.inverse = argument.inverse.as_ref().map(|own| added(own, &with_origin));
            }
            let target: Vec<Subscript> = letters.into_iter().map(Subscript::Letter).collect();
            if let (Some(own), Location::Parameter(parameter)) =
                (with_origin(statement.target, &target), statement.family.location())
                && let Some(mean) = &mut statement.arguments[parameter]
            {
                let less = Expression::Multiply(vec![Expression::Number(-1.0), own]);
                mean.value = Expression::Add(vec![mean.value.clone(), less]);
            }
        }
    }
}

impl Chain {
    /// Makes one number of `mean - c` where the mean is known: multiplied out, both would be squared.
    fn evaluate_known(&self, model: &mut Model, binding: &mut Binding) {
        for number in 0..model.statements.len() {
            let statement = &model.statements[number];
            let (target, Location::Parameter(parameter)) = (statement.target, statement.family.location())
            else {
                continue;
            };
            let Some(mean) = &statement.arguments[parameter] else { continue };
            let mut is_known = self.members.iter().any(|(member, _)| *member == target);
            let mut used: Vec<LetterId> = Vec::new();
            mean.value.visit_values(&mut |array, subscripts| {
                is_known &= binding.bound.arrays[array.index()].is_some();
                subscripts.iter().for_each(|subscript| subscript.letters(&mut used));
            });
            if !is_known {
                continue;
            }
            let letters: Vec<LetterId> =
                model.target_letters(statement).into_iter().filter(|letter| used.contains(letter)).collect();
            let known = Known::new(&model.symbols, &binding.bound.axes, &binding.bound.arrays);
            let mut values = Vec::new();
            for_each_value(&model.symbols, &known, &letters, &mut Assignment::new(), &mut |assignment| {
                values.push(known.value_of(&mean.value, assignment).unwrap_or(f64::NAN));
            });
            let name = format!("mean of {}", model.symbols.array(target).name);
            let subscripts = letters.iter().map(|letter| Subscript::Letter(*letter)).collect();
            let array = constant(model, binding, target, name, letters, values);
            if let Some(mean) = &mut model.statements[number].arguments[parameter] {
                mean.value = Expression::Value(array, subscripts);
            }
        }
    }
}

/// An expression in which elements of some arrays gain what `with` says.
fn added(expression: &Expression, with: &dyn Fn(ArrayId, &[Subscript]) -> Option<Expression>) -> Expression {
    let boxed = |inner: &Expression| Box::new(added(inner, with));
    let all = |parts: &[Expression]| parts.iter().map(|part| added(part, with)).collect();
    match expression {
        Expression::Number(_) | Expression::Indicator(..) | Expression::Position(_) => expression.clone(),
        Expression::Sum(letters, body) => Expression::Sum(letters.clone(), boxed(body)),
        Expression::Add(parts) => Expression::Add(all(parts)),
        Expression::Multiply(parts) => Expression::Multiply(all(parts)),
        Expression::Power(base, exponent) => Expression::Power(boxed(base), boxed(exponent)),
        Expression::Apply(function, body) => Expression::Apply(*function, boxed(body)),
        Expression::OfMatrix(function, body, row, column) => {
            Expression::OfMatrix(*function, boxed(body), *row, *column)
        }
        Expression::Value(array, subscripts) => match with(*array, subscripts) {
            Some(own) => Expression::Add(vec![expression.clone(), own]),
            None => expression.clone(),
        },
    }
}

/// How the means of a member lie in its block, and what each gains.
fn shift(
    equations: &Equations,
    binding: &Binding,
    array: ArrayId,
    places: &[usize],
    values: &[f64],
) -> Option<Shift> {
    let symbols = &equations.symbols;
    let id = equations.block_of(array)?;
    let block = equations.block(id);
    let layout: &Layout = &layouts(equations, &binding.bound)[id.index()];
    let member = block.members.iter().position(|own| *own == array)?;
    let declared = &symbols.array(array).letters;
    // Rows by slice, as for the means that are shown.
    let order = block.letters_of(member);
    let sizes: Vec<usize> = order.iter().map(|letter| binding.bound.size_of(symbols, *letter)).collect();
    let at: Vec<usize> = places
        .iter()
        .map(|place| order.iter().position(|letter| *letter == declared[*place]))
        .collect::<Option<_>>()?;
    let group = groups_of(&sizes, &at);
    let width: usize = layout.slices[member].iter().product();
    if block.is_point() {
        let by = (0..layout.rows * width).map(|cell| values[group(cell)]).collect();
        return Some(Shift { block: id.index(), column: member, by });
    }
    let column = mean_column(block)?;
    let (stride, offset) = match cavi_families::posterior(block.family).descriptors()[column].extent {
        Extent::Scalar => (1, 0),
        Extent::Vector => (layout.n, layout.offsets()[member]),
        Extent::Matrix | Extent::Pairs => return None,
    };
    let mut by = vec![0.0; layout.rows * stride];
    for row in 0..layout.rows {
        for place in 0..width {
            by[row * stride + offset + place] = values[group(row * width + place)];
        }
    }
    Some(Shift { block: id.index(), column, by })
}
