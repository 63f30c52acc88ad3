//! Data written in a test.

use cavi_executor::{Bound, BoundArray, BoundAxis, Parameters};

use super::Program;

/// Axes of these sizes and arrays of these values; constants have the values of the text.
pub fn bound_of(program: &Program, sizes: &[BoundAxis], values: &[(&str, BoundArray)]) -> Bound {
    let symbols = &program.model.symbols;
    let mut arrays: Vec<Option<BoundArray>> = vec![None; symbols.arrays.len()];
    for (index, array) in symbols.arrays.iter().enumerate() {
        if let Some(cavi_algebra::Expression::Number(value)) = &array.value {
            arrays[index] = Some(BoundArray::full(vec![*value]));
        }
    }
    for (name, value) in values {
        arrays[symbols.find(name).expect("an array of the program").index()] = Some(value.clone());
    }
    Bound { axes: sizes.to_vec(), arrays, ..Bound::default() }
}

/// A column of the block of a variable.
pub fn column<'a>(program: &Program, parameters: &'a Parameters, name: &str, which: usize) -> &'a [f64] {
    let array = program.equations.symbols.find(name).expect("a variable");
    let block = program.equations.block_of(array).expect("its block");
    &parameters.blocks[block.index()][which]
}
