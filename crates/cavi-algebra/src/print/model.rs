//! The statements of a program in the notation of mathematics: `x_n ~ Normal(mu, prec = tau), for each n`.

use crate::expression::{Comparison, Expression, MatrixFunction, Subscript};
use std::sync::Arc;

use crate::symbols::{ArrayId, LetterId, Symbols};

use super::Scope;
use super::build::Builder;
use super::node::{Call, Node, Relation};
use super::number::Number;

/// A statement as the program has it, `target[...] ~ Family(arguments)`.
#[derive(Clone, Debug)]
pub struct Stated {
    /// The variable on the left.
    pub target: ArrayId,
    /// Its subscripts on the left, each with whether it is a slice.
    pub letters: Vec<(LetterId, bool)>,
    /// The family, as programs name it.
    pub family: &'static str,
    /// The arguments.
    pub arguments: Vec<StatedArgument>,
    /// A word that stands for the arguments: `Flat(simplex)`.
    pub word: Option<String>,
    /// The line of the program that it begins in, counted from 1.
    pub line: usize,
    /// What the names of its arguments stand for: those of the equations, and the deterministic names of the program.
    pub symbols: Arc<Symbols>,
}

/// A deterministic name of the program, `alpha[m, k] = exp(u[m] + v[k])`.
#[derive(Clone, Debug)]
pub struct Defined {
    /// Its array in `symbols`.
    pub target: ArrayId,
    /// What it stands for, over the letters of its array.
    pub value: Expression,
    /// The line of the program that it stands in, counted from 1.
    pub line: usize,
    /// What the names in its value stand for.
    pub symbols: Arc<Symbols>,
}

impl Defined {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.symbols.array(self.target).name
    }

    /// Left side, right side, and the letters that number its elements.
    pub(crate) fn nodes(&self, scope: Scope<'_>) -> (Node, Node, Vec<Node>) {
        let letters = &self.symbols.array(self.target).letters;
        let mut builder = Builder::new(Scope { symbols: &self.symbols, named: &[], ..scope }, letters);
        let subscripts: Vec<Subscript> = letters.iter().map(|letter| Subscript::Letter(*letter)).collect();
        let left = builder.element(self.target, &subscripts);
        let plates = builder.subscripts_of(letters);
        (left, builder.expression(&self.value), plates)
    }
}

/// An argument of a statement.
#[derive(Clone, Debug)]
pub struct StatedArgument {
    /// Its name, where programs must say it.
    pub name: Option<&'static str>,
    /// Its value.
    pub value: Expression,
    /// The letters that run through it where it is a vector or a matrix.
    pub letters: Vec<LetterId>,
    /// The symbol that stands for it, where its value is shown apart.
    pub symbol: Option<String>,
}

impl Stated {
    /// Left side, right side, and the letters that number its copies.
    pub(crate) fn nodes(&self, scope: Scope<'_>) -> (Node, Node, Vec<Node>) {
        let letters: Vec<LetterId> = self.letters.iter().map(|(letter, _)| *letter).collect();
        let scope = Scope { symbols: &self.symbols, named: &[], ..scope };
        let mut builder = Builder::new(scope, &letters);
        let left = builder.sliced(self.target, &self.letters);
        let those = |sliced: bool| -> Vec<LetterId> {
            let own = self.letters.iter().filter(|(_, slice)| *slice == sliced);
            own.map(|(letter, _)| *letter).collect()
        };
        let (plates, slices) = (those(false), those(true));
        let plates = builder.subscripts_of(&scope.symbols.copies(&plates, &slices));
        let mut arguments: Vec<Node> = self.word.iter().map(|word| Node::name(word)).collect();
        for argument in &self.arguments {
            let value = match &argument.symbol {
                Some(_) => Node::name(&scope.covariance(&self.symbols.array(self.target).name)),
                None => builder.vector(&argument.value, &argument.letters),
            };
            arguments.push(match argument.name {
                Some(name) => Node::call(Call::Argument(name), value),
                None => value,
            });
        }
        let right = Node::Call(Call::Family(self.family.to_owned()), arguments);
        (left, right, plates)
    }
}

impl Builder<'_> {
    /// The notation of a vector or matrix, whose letters stand as slices.
    fn vector(&mut self, value: &Expression, letters: &[LetterId]) -> Node {
        self.as_slices(letters, |builder| builder.expression(value))
    }

    /// The notation of an expression, as it is written.
    pub(crate) fn expression(&mut self, expression: &Expression) -> Node {
        match expression {
            Expression::Number(value) => Node::number(*value),
            Expression::Value(array, subscripts) => self.element(*array, subscripts),
            Expression::Indicator(comparison, left, right) => {
                let mut shown = |letter: &LetterId| {
                    self.subscripts_of(&[*letter]).pop().expect("a letter is shown as something")
                };
                let (left, right) = (shown(left), shown(right));
                Node::Indicator(Box::new(match comparison {
                    Comparison::Equal => Relation::Equal(left, right),
                    Comparison::Different => Relation::Different(left, right),
                    Comparison::Less => Relation::Less(left, right),
                }))
            }
            Expression::Sum(letters, body) => self.summed(letters, |builder| builder.expression(body)),
            Expression::Add(parts) => Node::add(parts.iter().map(|part| self.expression(part)).collect()),
            Expression::Multiply(parts) => {
                let (mut front, mut above, mut below) = (Number::one(), Vec::new(), Vec::new());
                for part in parts {
                    match part {
                        Expression::Number(value) if *value < 0.0 && front == Number::one() => {
                            front = Number::of(*value);
                        }
                        Expression::Power(base, exponent) if **exponent == Expression::Number(-1.0) => {
                            below.push(self.expression(base));
                        }
                        other => above.push(self.expression(other)),
                    }
                }
                let above = Node::times(above);
                if below.is_empty() && front == Number::one() {
                    above
                } else {
                    Node::product(front, vec![above], below)
                }
            }
            Expression::Power(base, exponent) => {
                let base = self.expression(base);
                match **exponent {
                    Expression::Number(-1.0) => Node::product(Number::one(), Vec::new(), vec![base]),
                    Expression::Number(1.0) => base,
                    _ => base.raised(self.expression(exponent)),
                }
            }
            Expression::Apply(function, inner) => {
                Node::call(Call::Function(*function), self.expression(inner))
            }
            Expression::Position(letter) => {
                self.subscripts_of(&[*letter]).pop().expect("a letter is shown as something")
            }
            Expression::OfMatrix(MatrixFunction::Inverse, matrix, ..) => {
                Node::call(Call::Inverse, self.expression(matrix))
            }
            Expression::OfMatrix(MatrixFunction::Whitening, ..) => {
                unreachable!("a whitening matrix is shown by its name")
            }
        }
    }
}

/// The letters of an array as its statement writes them: the plates and slices in the order of its dimensions.
pub fn letters_of(
    symbols: &Symbols,
    target: ArrayId,
    plates: &[LetterId],
    slices: &[LetterId],
) -> Vec<(LetterId, bool)> {
    let (mut plates, mut slices) = (plates.iter(), slices.iter());
    let array = symbols.array(target);
    let written = array.slice.iter().zip(&array.letters).map(|(slice, declared)| {
        let own = if *slice { slices.next() } else { plates.next() };
        (own.copied().unwrap_or(*declared), *slice)
    });
    written.collect()
}
