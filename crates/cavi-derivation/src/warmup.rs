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

/// `p E log x` to `p log (E x^p)^(1/p)` where p is a whole number, not 0, and the family answers that moment, else to `p log E x`. With
/// p = -1 this is `log E 1/x`: under an InverseGamma of shape a and scale b it is `log a/b`, the mode of 1/x under a shape that is
/// greater by 1, as for a Gamma. (`E 1/x` is finite where `E x` need not be.)
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
        let whole = power != 0.0 && power != 1.0 && power.abs() < 64.0 && power.fract() == 0.0;
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

    /// Its values as an array of their own. Of `a[h[n]]`, which data or a class choose, that is the array of `a`, over a new letter g,
    /// and it is read at `h[n]`: the rows that read one constant have one shape.
    pub fn over(self, model: &Model) -> Option<Over> {
        let mut symbols = model.symbols.clone();
        let mut value = self.value(model)?.clone();
        let mut chosen: Vec<(LetterId, Subscript)> = Vec::new();
        open(&mut symbols, &mut value, &mut chosen);
        let letters = to_sum(&mut symbols.clone(), &value).free_letters(&symbols);
        let is_ancestor = |letter: &LetterId| {
            letters.iter().any(|other| other != letter && symbols.lineage(*other).contains(letter))
        };
        let letters: Vec<LetterId> = letters.iter().copied().filter(|letter| !is_ancestor(letter)).collect();
        let subscript = |letter: &LetterId| match chosen.iter().find(|(own, _)| own == letter) {
            Some((_, subscript)) => subscript.clone(),
            None => Subscript::Letter(*letter),
        };
        let subscripts = letters.iter().map(subscript).collect();
        Some(Over { symbols, value, letters, subscripts })
    }
}

/// A shape as an array: its value in terms of letters, and the subscripts at which the statement reads it.
#[derive(Clone, Debug)]
pub struct Over {
    /// Those of the program, with letters for what is chosen.
    pub symbols: Symbols,
    /// The shape.
    pub value: Expression,
    /// The letters of that, none of them an ancestor of another.
    pub letters: Vec<LetterId>,
    /// For each of them, what stands at its place in the statement.
    pub subscripts: Vec<Subscript>,
}

/// Replaces the subscripts that are chosen, in values, by new letters, each choice by one.
fn open(symbols: &mut Symbols, value: &mut Expression, chosen: &mut Vec<(LetterId, Subscript)>) {
    match value {
        Expression::Number(_) | Expression::Indicator(..) | Expression::Position(_) => {}
        Expression::Value(_, subscripts) => {
            for subscript in subscripts {
                let Subscript::Index(index, _) = subscript else { continue };
                let Support::Index(axis) = symbols.array(*index).support else { continue };
                let known = chosen.iter().find(|(_, own)| own == subscript).map(|(letter, _)| *letter);
                let letter = known.unwrap_or_else(|| symbols.fresh_on(axis));
                let own = std::mem::replace(subscript, Subscript::Letter(letter));
                if known.is_none() {
                    chosen.push((letter, own));
                }
            }
        }
        Expression::Sum(_, body) | Expression::Apply(_, body) | Expression::OfMatrix(_, body, ..) => {
            open(symbols, body, chosen);
        }
        Expression::Add(parts) | Expression::Multiply(parts) => {
            parts.iter_mut().for_each(|part| open(symbols, part, chosen));
        }
        Expression::Power(base, exponent) => {
            open(symbols, base, chosen);
            open(symbols, exponent, chosen);
        }
    }
}

/// The shapes and concentrations that are constants. What chooses among them need not be one.
pub fn shapes(model: &Model) -> Vec<Shape> {
    let constant = |value: &Expression| {
        let mut constant = true;
        value.visit_values(&mut |array, _| {
            let array = model.symbols.array(array);
            constant &= array.kind == ArrayKind::Constant || matches!(array.support, Support::Index(_));
        });
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
        let Over { symbols, letters, subscripts, .. } = shape.over(&free)?;
        free.symbols = symbols;
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
