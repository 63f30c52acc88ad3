//! Matrices that a density reads as a whole: their inverses and log-determinants are taken of one array.
//!
//! What is constant in a matrix parameter becomes a constant without a name of its own, its inverse where the density
//! reads that (`cov`, the scale of a Wishart). A factor that depends on neither letter of the matrix stays outside:
//! `(f M)^-1 = f^-1 M^-1`. A diagonal matrix `d_i [i = j]` needs none of this.

use cavi_algebra::{
    Absent, Array, ArrayId, ArrayKind, Comparison, Expression, Function, LetterId, MatrixFunction, Subscript,
    Support, Symbols,
};
use cavi_syntax::Span;

use super::arguments::free_letters;
use crate::model::{ArgumentSpec, InitSpec, Start, Statement};
use crate::print;

/// Names the inverses and the log-determinants of matrices wherever they stand: each is a constant without a name of its own.
pub fn name_matrix_functions(
    symbols: &mut Symbols,
    spans: &mut Vec<Span>,
    statements: &mut [Statement],
    init: &mut [InitSpec],
) {
    // Those that are named here are inverses and log-determinants themselves.
    for index in 0..symbols.arrays.len() {
        if let Some(mut value) = symbols.arrays[index].value.take() {
            let span = spans[index];
            let before = symbols.arrays.len();
            name_functions(symbols, &mut value);
            spans.resize(spans.len() + symbols.arrays.len() - before, span);
            symbols.arrays[index].value = Some(value);
        }
    }
    let mut name = |symbols: &mut Symbols, expression: &mut Expression, span: Span| {
        let before = symbols.arrays.len();
        name_functions(symbols, expression);
        spans.resize(spans.len() + symbols.arrays.len() - before, span);
    };
    for argument in statements.iter_mut().flat_map(|statement| statement.arguments.iter_mut().flatten()) {
        name(symbols, &mut argument.value, argument.span);
    }
    for line in init {
        match &mut line.start {
            Start::Value(value) => name(symbols, value, line.span),
            Start::Draw { arguments, .. } => {
                arguments.iter_mut().flatten().for_each(|own| name(symbols, &mut own.value, own.span));
            }
            Start::FromData { .. } => {}
        }
    }
}

fn name_functions(symbols: &mut Symbols, expression: &mut Expression) {
    match expression {
        Expression::Number(_)
        | Expression::Value(..)
        | Expression::Indicator(..)
        | Expression::Position(_)
        | Expression::OfMatrix(MatrixFunction::Whitening, ..) => {}
        Expression::Sum(_, body) => name_functions(symbols, body),
        Expression::Add(parts) | Expression::Multiply(parts) => {
            parts.iter_mut().for_each(|part| name_functions(symbols, part));
        }
        Expression::Power(base, exponent) => {
            name_functions(symbols, base);
            name_functions(symbols, exponent);
        }
        Expression::OfMatrix(MatrixFunction::Inverse, matrix, row, column) => {
            name_functions(symbols, matrix);
            let (array, subscripts) =
                constant(symbols, (**matrix).clone(), *row, *column).expect("what is inverted is known");
            *expression = inverse(symbols, array, subscripts, *row, *column);
        }
        Expression::Apply(function, argument) => {
            name_functions(symbols, argument);
            let (Function::LogDeterminant, Expression::Sum(letters, matrix)) = (*function, &**argument)
            else {
                return;
            };
            let (row, column) = (letters[0], letters[1]);
            let (array, subscripts) =
                constant(symbols, (**matrix).clone(), row, column).expect("what has a determinant is known");
            *expression = log_determinant(symbols, array, subscripts, row, column);
        }
    }
}

/// The letters of an array of a matrix, and its row and column among them.
fn letters_of(
    symbols: &Symbols,
    array: ArrayId,
    subscripts: &[Subscript],
    row: LetterId,
    column: LetterId,
) -> (Vec<LetterId>, usize, usize) {
    let at = |letter| {
        let place = subscripts.iter().position(|own| *own == Subscript::Letter(letter));
        place.expect("rows and columns are among the subscripts of the matrix")
    };
    (symbols.array(array).letters.clone(), at(row), at(column))
}

/// The element of the inverse of a named matrix.
fn inverse(
    symbols: &mut Symbols,
    array: ArrayId,
    subscripts: Vec<Subscript>,
    row: LetterId,
    column: LetterId,
) -> Expression {
    let (letters, row, column) = letters_of(symbols, array, &subscripts, row, column);
    let element = Expression::Value(array, letters.iter().map(|own| Subscript::Letter(*own)).collect());
    let value =
        Expression::OfMatrix(MatrixFunction::Inverse, Box::new(element), letters[row], letters[column]);
    let name = format!("inverse({})", symbols.array(array).name);
    Expression::Value(hidden(symbols, name, letters, value), subscripts)
}

/// The log-determinant of a named matrix.
fn log_determinant(
    symbols: &mut Symbols,
    array: ArrayId,
    subscripts: Vec<Subscript>,
    row: LetterId,
    column: LetterId,
) -> Expression {
    let (letters, row, column) = letters_of(symbols, array, &subscripts, row, column);
    let element = Expression::Value(array, letters.iter().map(|own| Subscript::Letter(*own)).collect());
    let elements = Expression::Sum(vec![letters[row], letters[column]], Box::new(element));
    let value = Expression::Apply(Function::LogDeterminant, Box::new(elements));
    let name = format!("logdet({})", symbols.array(array).name);
    let kept: Vec<usize> = (0..letters.len()).filter(|place| ![row, column].contains(place)).collect();
    let own = kept.iter().map(|place| letters[*place]).collect();
    let subscripts = kept.iter().map(|place| subscripts[*place].clone()).collect();
    Expression::Value(hidden(symbols, name, own, value), subscripts)
}

/// Names the constant matrices among the arguments of statements and starts.
pub fn name_matrices(
    symbols: &mut Symbols,
    spans: &mut Vec<Span>,
    statements: &mut [Statement],
    init: &mut [InitSpec],
) {
    for statement in statements.iter_mut() {
        let before = symbols.arrays.len();
        let span = statement.span;
        name_whitening(symbols, statement);
        spans.resize(spans.len() + symbols.arrays.len() - before, span);
    }
    let stated = statements.iter_mut().map(|statement| (statement.family, &mut statement.arguments));
    let drawn = init.iter_mut().filter_map(|line| match &mut line.start {
        Start::Draw { family, arguments } => Some((*family, arguments)),
        Start::Value(_) | Start::FromData { .. } => None,
    });
    for (family, arguments) in stated.chain(drawn) {
        for (parameter, argument) in family.parameters().iter().zip(arguments) {
            let Some(argument) = argument else { continue };
            let before = symbols.arrays.len();
            let read_as = parameter.spellings[argument.spelling].read_as;
            name_matrix(symbols, read_as == Some(MatrixFunction::Inverse), argument);
            spans.resize(spans.len() + symbols.arrays.len() - before, argument.span);
        }
    }
}

/// The whitening matrix of a covariance, over what the covariance depends on: `C_d'^-1` for a variable d.
fn name_whitening(symbols: &mut Symbols, statement: &mut Statement) {
    let target = symbols.array(statement.target);
    let (name, own) = (format!("C_{}'^-1", target.name), target.letters.clone());
    for (parameter, argument) in statement.family.parameters().iter().zip(&mut statement.arguments) {
        let Some(argument) = argument else { continue };
        let spelling = parameter.spellings[argument.spelling];
        let ([row, column], Some(MatrixFunction::Whitening)) = (&argument.letters[..], spelling.read_as)
        else {
            continue;
        };
        let (row, column, free) = (*row, *column, free_letters(&argument.value));
        let reads = |letter: &LetterId| symbols.lineage(*letter).iter().any(|above| free.contains(above));
        let mut letters: Vec<LetterId> =
            own.iter().copied().filter(|letter| *letter != row && reads(letter)).collect();
        letters.extend([row, column]);
        let covariance = Box::new(argument.value.clone());
        let value = Expression::OfMatrix(MatrixFunction::Whitening, covariance, row, column);
        let subscripts = letters.iter().map(|letter| Subscript::Letter(*letter)).collect();
        argument.inverse = Some(Expression::Value(hidden(symbols, name.clone(), letters, value), subscripts));
    }
}

fn name_matrix(symbols: &mut Symbols, inverted: bool, argument: &mut ArgumentSpec) {
    let [row, column] = argument.letters[..] else { return };
    if argument.inverse.is_some() || is_diagonal(&argument.value, row, column) {
        return;
    }
    let parts = match &argument.value {
        Expression::Multiply(parts) => parts.clone(),
        other => vec![other.clone()],
    };
    let in_matrix = |part: &Expression| free_letters(part).iter().any(|own| [row, column].contains(own));
    let (matrix, factor): (Vec<Expression>, Vec<Expression>) = parts.into_iter().partition(in_matrix);
    let Some(matrix) = constant(symbols, product(matrix), row, column) else { return };
    let (array, subscripts) = matrix;
    if !inverted {
        argument.value = times(factor, Expression::Value(array, subscripts));
        return;
    }
    let named = |letter| subscripts.contains(&Subscript::Letter(letter));
    if !named(row) || !named(column) {
        return;
    }
    let inverse = inverse(symbols, array, subscripts, row, column);
    let minus = |part: Expression| Expression::Power(Box::new(part), Box::new(Expression::Number(-1.0)));
    argument.inverse = Some(times(factor.into_iter().map(minus).collect(), inverse));
}

/// A matrix of constants and data as an array with its subscripts; `None` where a latent stands in it.
fn constant(
    symbols: &mut Symbols,
    matrix: Expression,
    row: LetterId,
    column: LetterId,
) -> Option<(ArrayId, Vec<Subscript>)> {
    if let Expression::Value(array, subscripts) = &matrix {
        let known = symbols.array(*array).kind != ArrayKind::Latent;
        return known.then(|| (*array, subscripts.clone()));
    }
    let mut known = true;
    matrix.visit_values(&mut |array, _| known &= symbols.array(array).kind != ArrayKind::Latent);
    if !known {
        return None;
    }
    let free = free_letters(&matrix);
    let above = |letter: &LetterId| free.iter().any(|other| symbols.lineage(*other)[1..].contains(letter));
    let mut letters: Vec<LetterId> =
        free.iter().copied().filter(|own| ![row, column].contains(own) && !above(own)).collect();
    letters.extend([row, column]);
    let name = print::expression(symbols, &matrix);
    let subscripts = letters.iter().map(|letter| Subscript::Letter(*letter)).collect();
    Some((hidden(symbols, name, letters, matrix), subscripts))
}

/// A constant without a name of its own; one for equal values.
fn hidden(symbols: &mut Symbols, name: String, letters: Vec<LetterId>, value: Expression) -> ArrayId {
    let is_it = |array: &Array| array.name == name && array.letters == letters;
    if let Some(known) = symbols.arrays.iter().position(is_it) {
        return ArrayId::from(known);
    }
    symbols.arrays.push(Array {
        name,
        kind: ArrayKind::Constant,
        slice: vec![false; letters.len()],
        letters,
        written: Vec::new(),
        support: Support::Real,
        absent: Absent::default(),
        restriction: None,
        value: Some(value),
        center: None,
        scale: None,
    });
    ArrayId::from(symbols.arrays.len() - 1)
}

fn product(mut parts: Vec<Expression>) -> Expression {
    match parts.len() {
        1 => parts.remove(0),
        _ => Expression::Multiply(parts),
    }
}

fn times(mut factor: Vec<Expression>, element: Expression) -> Expression {
    factor.push(element);
    product(factor)
}

/// Whether a matrix is 0 off its diagonal by its form.
fn is_diagonal(matrix: &Expression, row: LetterId, column: LetterId) -> bool {
    match matrix {
        Expression::Indicator(Comparison::Equal, left, right) => {
            [*left, *right] == [row, column] || [*left, *right] == [column, row]
        }
        Expression::Add(parts) => parts.iter().all(|part| is_diagonal(part, row, column)),
        Expression::Multiply(parts) => parts.iter().any(|part| is_diagonal(part, row, column)),
        Expression::Number(_)
        | Expression::Value(..)
        | Expression::Indicator(..)
        | Expression::Sum(..)
        | Expression::Power(..)
        | Expression::Apply(..)
        | Expression::Position(_)
        | Expression::OfMatrix(..) => false,
    }
}
