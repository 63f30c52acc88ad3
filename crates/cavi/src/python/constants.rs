//! The constants of a program whose values it states, and those that the derivation computes from them.

use cavi_algebra::{
    ArrayId, ArrayKind, Equations, Expression, LetterId, MatrixFunction, Sum, Symbols, rules,
};

use super::sums::{Refusal, Writer, name, number};

/// A function of the sizes and of what is given of the constants: all constants, each behind those that it reads.
pub fn constants(equations: &Equations) -> Result<String, Refusal> {
    let mut out = "\n\ndef constants_of(size, given):\n    constants = dict(given)\n".to_owned();
    let mut left: Vec<ArrayId> = equations
        .symbols
        .arrays
        .iter()
        .enumerate()
        .filter(|(_, array)| array.kind == ArrayKind::Constant)
        .map(|(index, _)| ArrayId::from(index))
        .collect();
    while !left.is_empty() {
        let (ready, later): (Vec<ArrayId>, Vec<ArrayId>) =
            left.iter().partition(|own| !reads_any(&equations.symbols, **own, &left));
        for own in &ready {
            out += &line(equations, *own)?;
        }
        if ready.is_empty() {
            return Err("its constants are defined by each other".to_owned());
        }
        left = later;
    }
    Ok(out + "    return constants\n")
}

/// Whether the value of a constant reads one of these.
fn reads_any(symbols: &Symbols, own: ArrayId, others: &[ArrayId]) -> bool {
    let mut reads = false;
    if let Some(value) = &symbols.array(own).value {
        value.visit_values(&mut |array, _| reads |= others.contains(&array));
    }
    reads
}

/// The line of one constant: what was given of it, else its value.
fn line(equations: &Equations, own: ArrayId) -> Result<String, Refusal> {
    let array = equations.symbols.array(own);
    let constant = name(array);
    let cannot = |why: &str| format!("the constant `{}` {why}", array.name);
    let shape = Writer::new(equations).shape(&array.letters);
    let code = match &array.value {
        None => {
            return Ok(format!("    constants[\"{constant}\"] = filled(given, \"{constant}\", {shape})\n"));
        }
        Some(Expression::Number(value)) => number(*value),
        Some(Expression::OfMatrix(MatrixFunction::Inverse, matrix, row, column))
            if array.letters.ends_with(&[*row, *column]) =>
        {
            format!(
                "np.linalg.inv({})",
                computed(equations, matrix, &array.letters).map_err(|why| cannot(&why))?
            )
        }
        Some(value) => computed(equations, value, &array.letters).map_err(|why| cannot(&why))?,
    };
    Ok(format!("    constants[\"{constant}\"] = filled(given, \"{constant}\", {shape}, lambda: {code})\n"))
}

/// An expression of constants and numbers as an array over these letters.
fn computed(equations: &Equations, value: &Expression, letters: &[LetterId]) -> Result<String, Refusal> {
    let mut reads_data = false;
    value.visit_values(&mut |array, _| {
        reads_data |= equations.symbols.array(array).kind != ArrayKind::Constant
    });
    if reads_data {
        return Err("is computed from data".to_owned());
    }
    if !is_sum_of_products(value) {
        return Err("is made from a covariance function or from a factor of a matrix".to_owned());
    }
    let mut own = equations.clone();
    let sum: Sum = rules::to_sum(&mut own.symbols, value);
    Writer::new(&own).sum(&sum, letters)
}

/// Whether neither positions of a process nor functions of matrices stand in it.
fn is_sum_of_products(value: &Expression) -> bool {
    match value {
        Expression::Number(_) | Expression::Value(..) | Expression::Indicator(..) => true,
        Expression::Position(_) | Expression::OfMatrix(..) => false,
        Expression::Sum(_, body) | Expression::Apply(_, body) => is_sum_of_products(body),
        Expression::Add(parts) | Expression::Multiply(parts) => parts.iter().all(is_sum_of_products),
        Expression::Power(base, exponent) => is_sum_of_products(base) && is_sum_of_products(exponent),
    }
}
