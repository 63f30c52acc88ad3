//! The mean of a variable under q: the value of a point, the probabilities of an index.

use cavi_algebra::{ArrayId, AxisId, BlockId, Elementary, Equations, LetterId, Mode, Statistic};
use cavi_executor::layout::is_one_vector;
use cavi_executor::{Bound, Layout, Parameters};
use cavi_families::{Extent, views};

/// The mean of a variable, in C order over its dimensions as declared; ragged ones are flattened. An index variable has
/// its classes as one more dimension, the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Mean {
    /// The axis of each dimension.
    pub axes: Vec<AxisId>,
    /// The size of each dimension.
    pub shape: Vec<usize>,
    /// The values.
    pub values: Vec<f64>,
}

/// The mean of a variable; `None` for one that is implicit, or whose factor has no mean of its own.
pub fn mean(equations: &Equations, bound: &Bound, parameters: &Parameters, array: ArrayId) -> Option<Mean> {
    let symbols = &equations.symbols;
    let id = equations.block_of(array)?;
    let block = equations.block(id);
    if block.mode == Mode::Implicit {
        return None;
    }
    let missing = |array: ArrayId| {
        bound.arrays[array.index()].as_ref().is_some_and(cavi_executor::BoundArray::has_missing)
    };
    let layout = Layout::new(equations, bound, block, &missing);
    let member = block.members.iter().position(|member| *member == array)?;
    let (values, width) = of_member(equations, parameters, (id, &layout), member)?;
    debug_assert_eq!(values.len(), layout.rows * width, "rows by slice");

    // From the order of the factor (plates, then slices) to that of the declaration.
    let declared = &symbols.array(array).letters;
    let mut from: Vec<LetterId> = block.letters_of(member);
    let mut to = declared.clone();
    if let Some(classes) = block.classes {
        from.push(classes);
        to.push(classes);
    }
    let sizes: Vec<usize> = from.iter().map(|letter| bound.size_of(symbols, *letter)).collect();
    let order: Vec<usize> =
        to.iter().map(|letter| from.iter().position(|other| other == letter)).collect::<Option<_>>()?;
    Some(Mean {
        axes: to.iter().map(|letter| symbols.letter(*letter).axis).collect(),
        shape: order.iter().map(|place| sizes[*place]).collect(),
        values: transposed(&values, &sizes, &order),
    })
}

/// The mean of a member of a block, rows by slice (or by class), and the length of a row; `None` where its factor has no mean of its own.
pub(crate) fn of_member(
    equations: &Equations,
    parameters: &Parameters,
    (id, layout): (BlockId, &Layout),
    member: usize,
) -> Option<(Vec<f64>, usize)> {
    let block = equations.block(id);
    let columns = &parameters.blocks[id.index()];
    let width: usize = layout.slices[member].iter().product();

    // Rows by slice (or by class), for this member alone.
    let family = cavi_families::posterior(block.family);
    let is_column_of_values = block.is_point() || family.only_point();
    let found = if is_column_of_values {
        (columns.get(member)?.clone(), width)
    } else if block.members.len() > 1 && !is_one_vector(block) {
        // A member of a joint factor: its mean is an expectation that the family answers.
        let wanted = Statistic(vec![(u8::try_from(member).ok()?, Elementary::Power(1))]);
        let which = family.expectations().iter().position(|own| own.statistic == wanted)?;
        let mut mean = vec![0.0; layout.rows * width];
        family.expect(&layout.batch(), &views(columns), which, &mut mean);
        (mean, width)
    } else {
        let descriptors = family.descriptors();
        let place = |name: &str| descriptors.iter().position(|descriptor| descriptor.name == name);
        let which = place("mean").or_else(|| place("prob"))?;
        let column = columns.get(which)?;
        match descriptors[which].extent {
            Extent::Scalar if block.members.len() == 1 => (column.clone(), 1),
            Extent::Pairs if block.members.len() == 1 => (column.clone(), width),
            Extent::Vector => {
                let offset = layout.offsets()[member];
                let width = if block.classes.is_some() { layout.n } else { width };
                let rows = column.chunks_exact(layout.n.max(1));
                (rows.flat_map(|row| row[offset..offset + width].iter().copied()).collect(), width)
            }
            Extent::Scalar | Extent::Matrix | Extent::Pairs => return None,
        }
    };
    Some(found)
}

/// The array with its dimensions in another order: dimension `i` of the result is dimension `order[i]` of the array.
pub fn transposed(values: &[f64], shape: &[usize], order: &[usize]) -> Vec<f64> {
    if order.iter().enumerate().all(|(place, from)| place == *from) {
        return values.to_vec();
    }
    let mut strides = vec![1; shape.len()];
    for place in (1..shape.len()).rev() {
        strides[place - 1] = strides[place] * shape[place];
    }
    let new_shape: Vec<usize> = order.iter().map(|from| shape[*from]).collect();
    let mut position = vec![0; order.len()];
    let mut out = Vec::with_capacity(values.len());
    for _ in 0..values.len() {
        let offset: usize = position.iter().zip(order).map(|(index, from)| index * strides[*from]).sum();
        out.push(values[offset]);
        for place in (0..position.len()).rev() {
            position[place] += 1;
            if position[place] < new_shape[place] {
                break;
            }
            position[place] = 0;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::transposed;

    #[test]
    fn dimensions_change_places() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(transposed(&values, &[2, 3], &[1, 0]), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(transposed(&values, &[2, 3], &[0, 1]), values);
        assert_eq!(transposed(&values, &[1, 2, 3], &[2, 0, 1]), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(transposed(&[7.0], &[], &[]), [7.0]);
    }
}
