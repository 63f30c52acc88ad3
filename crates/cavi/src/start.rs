//! The start of a run: random, then what the program's `init` block says, then the parameters that are given.
//!
//! What `init` says is worked out in the coordinates in which the data were given. Where the run has moved its means to an origin near the
//! data, the values of a line are moved with them afterwards: a line may read an array that stays where it was.

use cavi_algebra::evaluate::{Assignment, evaluate, for_each_value};
use cavi_algebra::rules::to_sum;
use cavi_algebra::{ArrayId, Block, BlockId, Equations, Expression, LetterId, Mode, Support, Symbols};
use cavi_executor::{Layout, Parameters, normalise, simplexes};
use cavi_families::{Improper, views, views_mut};
use cavi_model::{InitSpec, Model, Start as Line, Statement};
use cavi_syntax::Diagnostic;

use crate::bind::Binding;
use crate::bind::known::Known;
use crate::means::transposed;
use crate::prepare::Problem;
use crate::prepare::prior::prior_alone;
use crate::streams::{self, Stream};
use crate::stuck::Stuck;

mod from_data;
mod scale;

/// Parameters that the user gives for some of the blocks, all descriptors filled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// One for each block; `None` for one that starts as usual.
    pub blocks: Vec<Option<Vec<Vec<f64>>>>,
}

impl Given {
    /// What is given of latents that are `fixed`: every run holds it, the others of a fit as its first.
    pub(crate) fn of_fixed(&self, equations: &Equations) -> Given {
        let own = self.blocks.iter().zip(&equations.blocks);
        let held = own.map(|(columns, block)| columns.clone().filter(|_| block.mode == Mode::Fixed));
        Given { blocks: held.collect() }
    }

    /// Whether a latent that is `fixed` is among what is given.
    pub(crate) fn has_fixed(&self, equations: &Equations) -> bool {
        self.of_fixed(equations).blocks.iter().any(Option::is_some)
    }
}

/// A start and what there is to say about it.
#[derive(Clone, Debug)]
pub struct Start {
    /// Every block's descriptors.
    pub parameters: Parameters,
    /// A symmetric start, a zero where it stays.
    pub warnings: Vec<Diagnostic>,
}

/// The start of a seed, in the coordinates of the run; what `given` holds is in these too.
///
/// # Errors
/// If a line of the `init` block gives values outside of the support.
pub fn start(problem: &Problem, given: Option<&Given>, seed: u64) -> Result<Start, Vec<Diagnostic>> {
    let order = crate::schedule::of_program(&problem.model, &problem.equations).schedule.blocks().to_vec();
    start_by(problem, given, seed, &order)
}

/// The same where the first sweep comes to the blocks in this order.
///
/// # Errors
/// As [`start`].
pub(crate) fn start_by(
    problem: &Problem,
    given: Option<&Given>,
    seed: u64,
    order: &[BlockId],
) -> Result<Start, Vec<Diagnostic>> {
    let Problem { model, equations, binding, .. } = problem;
    let mut parameters = cavi_executor::start(equations, &binding.bound, seed);
    let spreads = scale::to_data(problem, &mut parameters);
    let mut chosen = vec![false; equations.blocks.len()];
    if !model.init.is_empty() {
        let mut in_data = parameters.clone();
        problem.way_back(&mut in_data);
        chosen = in_given_coordinates(problem.as_given(), seed, &mut in_data)?;
        let lines = in_data.blocks.into_iter().zip(&chosen);
        let lines = lines.map(|(columns, chosen)| Some(columns).filter(|_| *chosen)).collect();
        for (own, line) in parameters.blocks.iter_mut().zip(problem.to_run(Given { blocks: lines }).blocks) {
            *own = line.unwrap_or_else(|| std::mem::take(own));
        }
        // A draw has the variance that it is documented to have; of other lines only the means are said.
        let is_draw = |block: usize| {
            let draws = model.init.iter().filter(|line| matches!(line.start, Line::Draw { .. }));
            draws.filter_map(|line| equations.block_of(line.target)).any(|own| own.index() == block)
        };
        for spread in spreads.iter().filter(|own| chosen[own.block] && !is_draw(own.block)) {
            if equations.blocks[spread.block].members.len() == 1 {
                spread.apply(&mut parameters);
            }
        }
    }
    let of_lines = chosen.clone();
    if let Some(given) = given {
        for (index, columns) in given.blocks.iter().enumerate() {
            if let Some(columns) = columns {
                parameters.blocks[index].clone_from(columns);
                // What there is to say about it was said when it was read.
                chosen[index] = false;
            }
        }
    }
    let mut warnings = Vec::new();
    if chosen.iter().any(|chosen| *chosen) {
        let Parameters { blocks } = &parameters;
        let all: Vec<Option<&[Vec<f64>]>> = blocks.iter().map(|columns| Some(columns.as_slice())).collect();
        let lost = &lost_blocks(problem, order);
        let (bound, labels) = (&binding.bound, &binding.labels);
        let stuck = Stuck { equations, bound, labels, parameters: &all, lost };
        warnings.extend(stuck.symmetric().into_iter().map(|found| {
            Diagnostic::warning("W0802", found.message)
                .at(model.axis_spans[found.axis.index()], "its positions will stay alike in every sweep")
                .help("start from values that differ, or leave the start to Cavi")
        }));
        let own = |id: &BlockId| chosen[id.index()];
        warnings.extend(stuck.zeros(&own).into_iter().map(|(variable, message)| {
            Diagnostic::warning("W0803", message)
                .at(model.array_spans[variable.index()], "a multiplicative update never leaves zero")
                .help("start from positive values, unless these entries are meant to be zero")
        }));
    }
    warnings.extend(at_random(problem, &of_lines, given));
    Ok(Start { parameters, warnings })
}

/// For each block whether nothing reads its start where the first sweep comes to the blocks in this order.
pub(crate) fn lost_blocks(problem: &Problem, order: &[BlockId]) -> Vec<bool> {
    let Problem { model, equations, .. } = problem;
    let lost = |index| cavi_derivation::start_is_lost(model, equations, order, BlockId::from(index));
    (0..equations.blocks.len()).map(lost).collect()
}

/// Puts what the lines of `init` say into parameters in the coordinates of the data, and says for each block whether a line starts it.
fn in_given_coordinates(
    problem: &Problem,
    seed: u64,
    parameters: &mut Parameters,
) -> Result<Vec<bool>, Vec<Diagnostic>> {
    let Problem { model, equations, binding, .. } = problem;
    let mut chosen = vec![false; equations.blocks.len()];
    let mut diagnostics = Vec::new();
    for (number, line) in model.init.iter().enumerate() {
        let context = Context { model, equations, binding, line };
        match context.apply(seed, streams::INIT.at(number), parameters) {
            Ok(block) => chosen[block.index()] = true,
            Err(diagnostic) => diagnostics.push(*diagnostic),
        }
    }
    if diagnostics.is_empty() { Ok(chosen) } else { Err(diagnostics) }
}

/// A warning for each latent that is `fixed` and to which nothing gives values: what it is held at are random numbers.
fn at_random(problem: &Problem, chosen: &[bool], given: Option<&Given>) -> Vec<Diagnostic> {
    let Problem { model, equations, binding, .. } = problem;
    let is_given = |index: usize| given.is_some_and(|own| own.blocks.get(index).is_some_and(Option::is_some));
    let blocks = equations.blocks.iter().enumerate();
    let alone = blocks.filter(|(index, block)| {
        let held = block.members.iter().any(|own| binding.fixed.contains(own));
        block.mode == Mode::Fixed && !held && !chosen[*index] && !is_given(*index)
    });
    let warn = |(_, block): (usize, &Block)| {
        let member = block.members[0];
        let name = &equations.symbols.array(member).name;
        Diagnostic::warning(
            "W0811",
            format!("`{name}` is `fixed`, and nothing gives it values: it is held at random numbers"),
        )
        .at(model.array_spans[member.index()], "keeps a random start, another one in each run")
        .help(format!(
            "give its values by `init {{ {name} = ... }}`, `--init DIR` or `--fix {name}=FILE`; or leave `fixed {name}` out"
        ))
    };
    alone.map(warn).collect()
}

/// What to do with a line that nothing needs.
const LEAVE_OUT: &str = "leave the line out";

/// One line of the `init` block.
struct Context<'a> {
    model: &'a Model,
    equations: &'a Equations,
    binding: &'a Binding,
    line: &'a InitSpec,
}

impl Context<'_> {
    fn symbols(&self) -> &Symbols {
        &self.equations.symbols
    }

    /// Constants and data, for symbols that begin with those of the program.
    fn known<'b>(&'b self, symbols: &'b Symbols) -> Known<'b> {
        let bound = &self.binding.bound;
        Known::new(symbols, &bound.axes, &bound.arrays)
    }

    fn error(&self, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::error("E0802", message).at(self.line.span, "this start"))
    }

    fn error_with_help(&self, message: &str, help: &str) -> Box<Diagnostic> {
        Box::new(self.error(message).help(help))
    }

    /// Puts the values of the line into the parameters.
    fn apply(
        &self,
        seed: u64,
        stream: Stream,
        parameters: &mut Parameters,
    ) -> Result<BlockId, Box<Diagnostic>> {
        let name = &self.symbols().array(self.line.target).name;
        let id = self.equations.block_of(self.line.target).ok_or_else(|| {
            self.error_with_help(&format!("`{name}` has no factor of its own, and needs no start"), LEAVE_OUT)
        })?;
        if self.equations.block(id).mode == Mode::Implicit {
            let message = format!("`{name}` is implicit: it is always at its optimum, and has no start");
            return Err(self.error_with_help(&message, LEAVE_OUT));
        }
        let values = match &self.line.start {
            Line::Value(expression) => self.values(expression)?,
            Line::Draw { family, arguments } => {
                let own = self.model.statement_of(self.line.target);
                let own = own.ok_or_else(|| self.error(format!("`{name}` has no statement of its own")))?;
                let statement = Statement {
                    family: *family,
                    arguments: arguments.clone(),
                    observed: false,
                    span: self.line.span,
                    ..own.clone()
                };
                self.draw(statement, seed, stream)?
            }
            Line::FromData { method, data } => self.computed(method, *data, seed, parameters)?,
        };
        self.put(id, values, parameters)?;
        Ok(id)
    }

    /// The values of an expression at every position of the array, in C order of its dimensions.
    fn values(&self, expression: &Expression) -> Result<Vec<f64>, Box<Diagnostic>> {
        let mut symbols = self.symbols().clone();
        let sum = to_sum(&mut symbols, expression);
        let constants = self.known(&symbols);
        let letters = self.model.symbols.array(self.line.target).letters.clone();
        let mut values = Vec::new();
        for_each_value(&symbols, &constants, &letters, &mut Assignment::new(), &mut |assignment| {
            values.push(evaluate(&symbols, &sum, &constants, assignment));
        });
        match values.iter().find(|value| !value.is_finite()) {
            Some(value) => Err(self.error_with_help(
                &format!("the start has the value {value}; expected finite numbers"),
                "look for a division by 0, a log of 0 or a missing entry in what the line reads",
            )),
            None => Ok(values),
        }
    }

    /// One draw at every position of the array: the statement alone is a model whose posterior is its prior.
    fn draw(&self, statement: Statement, seed: u64, stream: Stream) -> Result<Vec<f64>, Box<Diagnostic>> {
        let target = statement.target;
        let no_draw = || {
            self.error_with_help("from this family no start can be drawn", "give values, or another family")
        };
        let equations = prior_alone(self.model, statement).ok_or_else(no_draw)?;
        let [block] = equations.blocks.as_slice() else { return Err(no_draw()) };
        let family = cavi_families::posterior(block.family);
        if family.only_point() {
            return Err(no_draw());
        }
        let layout = Layout::new(&equations, &self.binding.bound, block, &|_| false);
        let batch = layout.batch();

        let constants = self.known(&equations.symbols);
        let mut natural: Vec<Vec<f64>> = Vec::new();
        for (statistic, own) in family.statistics().iter().zip(&block.natural) {
            let length = batch.len(statistic.extent);
            let letters: Vec<LetterId> = match statistic.extent {
                cavi_families::Extent::Matrix => {
                    layout.group_letters.iter().chain(&own.slots).copied().collect()
                }
                _ => block.plates.iter().chain(&own.slots).copied().collect(),
            };
            let mut column = Vec::with_capacity(length);
            let mut assignment = Assignment::new();
            for_each_value(&equations.symbols, &constants, &letters, &mut assignment, &mut |assignment| {
                column.push(evaluate(&equations.symbols, &own.coefficient, &constants, assignment));
            });
            natural.push(column);
        }
        let columns = views(&natural);
        let count = family.descriptors().len();
        let mut descriptors: Vec<Vec<f64>> = (0..count)
            .map(|index| vec![0.0; batch.len(cavi_executor::layout::extent(family, index))])
            .collect();
        family
            .describe(&batch, &columns, &mut views_mut(&mut descriptors))
            .map_err(|improper| self.improper(&improper))?;
        let width = layout.width();
        let mut drawn = vec![0.0; layout.rows * width];
        let mut generator = stream.of(seed);
        family.sample(&batch, &views(&descriptors), &mut generator, &mut drawn);
        // From plates, then slices to the declared order.
        let from = block.letters_of(0);
        Ok(self.reordered(&drawn, &from, &self.model.symbols.array(target).letters))
    }

    fn reordered(&self, values: &[f64], from: &[LetterId], to: &[LetterId]) -> Vec<f64> {
        let sizes: Vec<usize> =
            from.iter().map(|letter| self.binding.bound.size_of(self.symbols(), *letter)).collect();
        let place = |letter: &LetterId| {
            from.iter().position(|other| other == letter).expect("both orders have the same letters")
        };
        let order: Vec<usize> = to.iter().map(place).collect();
        transposed(values, &sizes, &order)
    }

    /// Makes the values the mean of q.
    fn put(&self, id: BlockId, values: Vec<f64>, parameters: &mut Parameters) -> Result<(), Box<Diagnostic>> {
        let block = self.equations.block(id);
        let symbols = self.symbols();
        let bound = &self.binding.bound;
        let missing = |array: ArrayId| bound.array(array).has_missing();
        let layout = Layout::new(self.equations, bound, block, &missing);
        let array = symbols.array(self.line.target);
        let member =
            block.members.iter().position(|own| *own == self.line.target).expect("the block of the variable");
        let to = block.letters_of(member);
        let mut centre = self.reordered(&values, &array.letters, &to);
        let family = cavi_families::posterior(block.family);
        match Some(family).filter(|family| block.mode != Mode::Point && !family.only_point()) {
            Some(family) if block.members.len() > 1 => {
                // The other variables of the block keep their start.
                let is_mean = |which: &usize| {
                    let own = family.descriptors()[*which];
                    own.name == "mean"
                        && family.member_of(*which) == member
                        && layout.batch().len(own.extent) == centre.len()
                };
                let which = (0..family.descriptors().len()).find(is_mean).ok_or_else(|| {
                    self.error_with_help(
                        &format!("in its joint factor `{}` has no mean that a start could be", array.name),
                        "start another variable of the block, or give the block by `--init`",
                    )
                })?;
                let descriptors = &mut parameters.blocks[id.index()];
                descriptors[which] = centre;
                family
                    .complete(&layout.batch(), &mut views_mut(descriptors))
                    .map_err(|improper| self.improper(&improper))
            }
            Some(family) => {
                if block.classes.is_some() {
                    centre = one_hot(&centre, layout.n)
                        .ok_or_else(|| self.error("a class of the start does not exist"))?;
                }
                let batch = layout.batch();
                let descriptors = &mut parameters.blocks[id.index()];
                family
                    .start_at(&batch, &centre, &mut views_mut(descriptors))
                    .map_err(|improper| self.improper(&improper))
            }
            None => {
                if array.support == Support::Simplex && matches!(self.line.start, Line::Value(_)) {
                    // A vector of weights: what counts is their shares.
                    for slice in simplexes(self.equations, bound, block, &layout, member) {
                        normalise(&mut centre, slice);
                    }
                }
                let fits = |value: f64| match array.support {
                    Support::Real | Support::PositiveDefinite => value.is_finite(),
                    Support::Positive => value > 0.0 && value.is_finite(),
                    Support::Unit => (0.0..=1.0).contains(&value),
                    _ => value >= 0.0 && value.is_finite(),
                };
                if let Some(value) = centre.iter().find(|value| !fits(**value)) {
                    let message = format!(
                        "the start has the value {value}, outside of the support of `{}`",
                        array.name
                    );
                    return Err(self.error(message));
                }
                parameters.blocks[id.index()][member] = centre;
                Ok(())
            }
        }
    }

    fn improper(&self, improper: &Improper) -> Box<Diagnostic> {
        let name = &self.symbols().array(self.line.target).name;
        self.error_with_help(
            &format!("the start is no distribution: {}", improper.reason),
            &format!("write values that `{name}` can have by its prior, or leave the line out: Cavi then chooses a start"),
        )
    }
}

/// Classes to probabilities.
fn one_hot(classes: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut out = vec![0.0; classes.len() * n];
    for (row, class) in classes.iter().enumerate() {
        if class.fract() != 0.0 || *class < 0.0 || *class >= n as f64 {
            return None;
        }
        out[row * n + *class as usize] = 1.0;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_become_probabilities() {
        assert_eq!(one_hot(&[1.0, 0.0], 2), Some(vec![0.0, 1.0, 1.0, 0.0]));
        assert_eq!(one_hot(&[2.0], 2), None);
        assert_eq!(one_hot(&[0.5], 2), None);
    }
}
