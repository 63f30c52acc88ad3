//! The equations of warm-ups: the program's own with other allocations, or with prior shapes that can move.
//!
//! # Means
//! The optimal allocation of `log sum_c f_c` is proportional to `exp E log f_c`. For a Gamma or a Dirichlet component of
//! small concentration a this is near `exp(-1 / a)`, far below its mean, and cuts it off before it can grow. Under
//! `warmup means` allocations and implicit factors are proportional to `E f_c` instead, and nothing else changes. With
//! hyper-parameters that are fixed, the means then move as the points of EM do under priors whose shapes and concentrations
//! are greater by 1: `(a + counts) / rate` is the mean of one and the mode of the other.
//!
//! # Shapes Under `warmup shapes` some prior shapes and concentrations are greater at first. They become points that
//! no sweep updates; the caller sets their values before each sweep.

use cavi_algebra::rules::to_sum;
use cavi_algebra::{
    Absent, Array, ArrayId, ArrayKind, Atom, BlockId, Elementary, Equations, Expression, Factor, Function,
    LetterId, Moment, Statistic, Subscript, Sum, Support, Symbols, Term,
};
use cavi_families::posterior;
use cavi_model::{BlockKind, BlockSpec, Model, Statement};

use crate::advice::is_flat;
use crate::derive::attempt;

/// The equations with `log E f` in the place of `E log f` in all allocations and implicit factors, factor by factor of f.
pub fn with_means(equations: &Equations) -> Equations {
    let mut warm = equations.clone();
    for addend in warm.sites.iter_mut().flat_map(|site| &mut site.addends) {
        addend.log_weight.terms.iter_mut().for_each(|term| of_mean(equations, term));
    }
    warm
}

/// The blocks whose expected logs stand in allocations or implicit factors: those that [`with_means`] reads otherwise.
pub fn allocated(equations: &Equations) -> Vec<BlockId> {
    let terms =
        equations.sites.iter().flat_map(|site| &site.addends).flat_map(|addend| &addend.log_weight.terms);
    let moments = terms.flat_map(|term| &term.factors).filter_map(expected_log);
    moments.map(|(moment, _)| moment.block).collect()
}

/// An expected log of a variable or of its complement.
pub(crate) fn expected_log(factor: &Factor) -> Option<(&Moment, Elementary)> {
    match (&factor.atom, factor.power) {
        (Atom::Moment(moment), 1) => match moment.statistic.0.as_slice() {
            [(_, log @ (Elementary::Log | Elementary::LogComplement))] => Some((moment, *log)),
            _ => None,
        },
        _ => None,
    }
}

/// `p E log x` to `p log (E x^p)^(1/p)` where p is a positive integer and the family answers that moment, else to
/// `p log E x`.
fn of_mean(equations: &Equations, term: &mut Term) {
    let alone =
        term.factors.iter().all(|own| expected_log(own).is_some() || matches!(own.atom, Atom::Observed(..)));
    let power = if alone { term.coefficient.0 } else { 1.0 };
    for factor in &mut term.factors {
        let Some((moment, log)) = expected_log(factor) else { continue };
        let member = moment.statistic.0[0].0;
        let of_power = |power: i32| Moment {
            statistic: Statistic(vec![(member, Elementary::Power(power))]),
            ..moment.clone()
        };
        let family = posterior(equations.block(moment.block).family);
        let answers =
            |moment: &Moment| family.expectations().iter().any(|own| own.statistic == moment.statistic);
        let whole = power > 1.0 && power < 64.0 && power.fract() == 0.0;
        let raised = Some(of_power(power as i32)).filter(|moment| whole && answers(moment));
        let mean = Sum::atom(Atom::Moment(of_power(1)));
        let mean = match (log, raised) {
            (Elementary::LogComplement, _) => Sum::number(1.0).plus(mean.scaled(-1.0)),
            (_, Some(raised)) => {
                let root = Sum::number(1.0 / power);
                Sum::atom(Atom::Apply(Function::Power, vec![Sum::atom(Atom::Moment(raised)), root]))
            }
            (_, None) => mean,
        };
        factor.atom = Atom::Apply(Function::Log, vec![mean]);
    }
}

/// A constant shape or concentration of a latent's prior: its statement, and which argument it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The number of the statement.
    pub statement: usize,
    /// The number of the argument.
    pub argument: usize,
}

impl Shape {
    /// What the program says.
    pub fn value(self, model: &Model) -> Option<&Expression> {
        model.statements[self.statement].arguments[self.argument].as_ref().map(|argument| &argument.value)
    }

    /// The letters of that, none of them an ancestor of another.
    pub fn letters(self, model: &Model) -> Vec<LetterId> {
        let Some(value) = self.value(model) else { return Vec::new() };
        let letters = to_sum(&mut model.symbols.clone(), value).free_letters(&model.symbols);
        let is_ancestor = |letter: &LetterId| {
            letters.iter().any(|other| other != letter && model.symbols.lineage(*other).contains(letter))
        };
        letters.iter().copied().filter(|letter| !is_ancestor(letter)).collect()
    }
}

/// The shapes and concentrations that are constants.
pub fn shapes(model: &Model) -> Vec<Shape> {
    let constant = |value: &Expression| {
        let mut constant = true;
        value
            .visit_values(&mut |array, _| constant &= model.symbols.array(array).kind == ArrayKind::Constant);
        constant
    };
    let mut found = Vec::new();
    for (number, statement) in model.statements.iter().enumerate().filter(|(_, own)| !own.observed) {
        let parameters = statement.family.parameters().iter().zip(&statement.arguments).enumerate();
        for (argument, (parameter, value)) in parameters {
            if parameter.shape && value.as_ref().is_some_and(|value| constant(&value.value)) {
                found.push(Shape { statement: number, argument });
            }
        }
    }
    found
}

/// The equations with these shapes as points. Their blocks come last, in this order, and the blocks before them are
/// those of the program.
pub fn with_free_shapes(model: &Model, shapes: &[Shape]) -> Option<Equations> {
    let mut free = model.clone();
    let flat = cavi_families::families().iter().copied().find(|family| is_flat(*family))?;
    for shape in shapes {
        let span = model.statements[shape.statement].span;
        let letters = shape.letters(model);
        let own = copies(&mut free.symbols, &letters);
        let array = ArrayId::from(free.symbols.arrays.len());
        free.symbols.arrays.push(Array {
            // No program can write such a name.
            name: format!("shape {array:?}"),
            kind: ArrayKind::Latent,
            letters: own.clone(),
            slice: vec![false; own.len()],
            written: Vec::new(),
            support: Support::Nonnegative,
            absent: Absent::default(),
            restriction: None,
            value: None,
            center: None,
            scale: None,
        });
        free.array_spans.push(span);
        let subscripts = letters.into_iter().map(Subscript::Letter).collect();
        let argument = free.statements[shape.statement].arguments[shape.argument].as_mut()?;
        argument.value = Expression::Value(array, subscripts);
        free.statements.push(Statement {
            target: array,
            plates: own.clone(),
            renamed: Vec::new(),
            slices: Vec::new(),
            family: flat,
            arguments: Vec::new(),
            observed: false,
            span,
        });
        free.blocks.push(BlockSpec {
            members: vec![array],
            slices: vec![Vec::new()],
            kind: BlockKind::Point,
            by: None,
            clamp: false,
            span,
        });
        free.block_plates.push(vec![own]);
    }
    attempt(&free).0
}

/// Letters over the same axes, letters of one parent again of one.
fn copies(symbols: &mut Symbols, letters: &[LetterId]) -> Vec<LetterId> {
    fn copy(symbols: &mut Symbols, letter: LetterId, done: &mut Vec<(LetterId, LetterId)>) -> LetterId {
        if let Some((_, copy)) = done.iter().find(|(of, _)| *of == letter) {
            return *copy;
        }
        let parent = symbols.letter(letter).parent.map(|parent| copy(symbols, parent, done));
        let own = symbols.fresh(letter, parent);
        done.push((letter, own));
        own
    }
    let mut done = Vec::new();
    letters.iter().map(|letter| copy(symbols, *letter, &mut done)).collect()
}
