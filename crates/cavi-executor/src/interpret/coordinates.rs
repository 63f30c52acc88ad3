//! The whole line for a point on a part of it, as the definitions have it, element by element and slice by slice.
//!
//! In come the elements of a member of a block, in C order of its plates and slices; out go numbers without bounds, and back. A
//! positive number moves in `log x`, one between 0 and 1 in `log(x / (1 - x))`, a slice on a simplex in `log w`, of which a
//! constant of the slice is no matter, and a slice d that the matrix W whitens in `delta = W d`.

use std::collections::BTreeMap;

use cavi_algebra::{BlockId, LetterId, Support};
use cavi_numerics::special::{exp, ln, logistic};

use super::context::{Context, unflat};
use super::state::parent;

/// In what a number moves.
#[derive(Clone, Copy)]
pub enum Line {
    Itself,
    Log,
    LogOdds,
}

/// In what the elements of a member move.
pub enum Coordinates {
    /// Each element by itself.
    Alone(Line),
    /// The elements of each slice sum to 1.
    Simplexes(Vec<Vec<usize>>),
    /// The elements of each slice, and the rows of its matrix.
    Whitened(Vec<(Vec<usize>, Vec<Vec<f64>>)>),
}

impl Line {
    /// That of a number on this support.
    pub fn of(support: Support) -> Line {
        match support {
            Support::Positive | Support::Nonnegative => Line::Log,
            Support::Unit => Line::LogOdds,
            Support::Real
            | Support::Count
            | Support::Binary
            | Support::Simplex
            | Support::Index(_)
            | Support::Multiplicity
            | Support::PositiveDefinite => Line::Itself,
        }
    }

    /// The coordinate of a number.
    pub fn there(self, x: f64) -> f64 {
        match self {
            Line::Itself => x,
            Line::Log => ln(x),
            Line::LogOdds => ln(x) - ln(1.0 - x),
        }
    }

    /// The number of a coordinate.
    pub fn back(self, u: f64) -> f64 {
        match self {
            Line::Itself => u,
            Line::Log => exp(u),
            Line::LogOdds => logistic(u),
        }
    }

    /// The derivative in the coordinate, from that in the number; 0 on the boundary, which no step leaves.
    pub fn slope(self, x: f64, slope: f64) -> f64 {
        let by = match self {
            Line::Itself => 1.0,
            Line::Log => x,
            Line::LogOdds => x * (1.0 - x),
        };
        if by == 0.0 { 0.0 } else { slope * by }
    }

    /// The length of a first step from a coordinate: a change of a log is a relative one already.
    pub fn step(self, u: f64) -> f64 {
        match self {
            Line::Itself => u.abs().max(1.0),
            Line::Log | Line::LogOdds => 1.0,
        }
    }
}

impl Coordinates {
    /// Those of each member of a block.
    pub fn of_block(context: &Context, id: BlockId) -> Vec<Coordinates> {
        let (block, place) = context.block(id);
        let members = block.members.iter().enumerate().zip(&place.layout.slices);
        let coordinates = members.map(|((number, member), sizes)| {
            let letters = block.letters_of(number);
            let sizes: Vec<usize> = place.layout.plates.iter().chain(sizes).copied().collect();
            let symbols = context.symbols();
            if let Some(matrix) = context.equations.whitening_of(*member) {
                let own = &symbols.array(matrix).letters;
                let row = own[own.len() - 2];
                let along =
                    letters.iter().position(|letter| *letter == row).expect("a letter of the variable");
                let whitened = slices_along(context, &letters, &sizes, along).into_iter().map(|slice| {
                    let positions = unflat(&sizes, slice[0]);
                    let plates: Vec<usize> = own[..own.len() - 2]
                        .iter()
                        .map(|own| letters.iter().position(|letter| letter == own))
                        .map(|place| positions[place.expect("a letter of the variable")])
                        .collect();
                    let element =
                        |i: usize, j: usize| context.datum(matrix, &[plates.as_slice(), &[i, j]].concat());
                    let n = slice.len();
                    (slice, (0..n).map(|i| (0..n).map(|j| element(i, j)).collect()).collect())
                });
                return Coordinates::Whitened(whitened.collect());
            }
            let support = symbols.array(*member).support;
            let of_slices = symbols.slices(*member);
            match letters.iter().position(|letter| of_slices.contains(letter)) {
                Some(along) if support == Support::Simplex => {
                    Coordinates::Simplexes(slices_along(context, &letters, &sizes, along))
                }
                _ => Coordinates::Alone(Line::of(support)),
            }
        });
        coordinates.collect()
    }

    /// The coordinates of all elements.
    pub fn there(&self, x: &[f64]) -> Vec<f64> {
        match self {
            Coordinates::Alone(line) => x.iter().map(|x| line.there(*x)).collect(),
            Coordinates::Simplexes(_) => x.iter().map(|x| ln(*x)).collect(),
            // delta_i = sum_(j <= i) W_ij d_j
            Coordinates::Whitened(slices) => in_slices(x, slices, |matrix, d| {
                let row = |i: usize| (0..=i).map(|j| matrix[i][j] * d[j]).sum();
                (0..d.len()).map(row).collect()
            }),
        }
    }

    /// All elements, from their coordinates.
    pub fn back(&self, u: &[f64]) -> Vec<f64> {
        match self {
            Coordinates::Alone(line) => u.iter().map(|u| line.back(*u)).collect(),
            // w_v = exp u_v / sum exp u
            Coordinates::Simplexes(slices) => {
                let mut w = u.to_vec();
                for slice in slices {
                    let most = slice.iter().map(|at| u[*at]).fold(f64::NEG_INFINITY, f64::max);
                    let total: f64 = slice.iter().map(|at| exp(u[*at] - most)).sum();
                    slice.iter().for_each(|at| w[*at] = exp(u[*at] - most) / total);
                }
                w
            }
            // d_i = (delta_i - sum_(j < i) W_ij d_j) / W_ii
            Coordinates::Whitened(slices) => in_slices(u, slices, |matrix, delta| {
                let mut d: Vec<f64> = Vec::new();
                for i in 0..delta.len() {
                    let known: f64 = (0..i).map(|j| matrix[i][j] * d[j]).sum();
                    d.push((delta[i] - known) / matrix[i][i]);
                }
                d
            }),
        }
    }

    /// The gradient in the coordinates, from the one in the elements.
    pub fn gradient(&self, x: &[f64], gradient: &[f64]) -> Vec<f64> {
        match self {
            Coordinates::Alone(line) => x.iter().zip(gradient).map(|(x, own)| line.slope(*x, *own)).collect(),
            // w_v (g_v - sum w g)
            Coordinates::Simplexes(slices) => {
                let mut out = vec![0.0; x.len()];
                for slice in slices {
                    let inside = || slice.iter().filter(|at| x[**at] > 0.0);
                    let mean: f64 = inside().map(|at| x[*at] * gradient[*at]).sum();
                    inside().for_each(|at| out[*at] = x[*at] * (gradient[*at] - mean));
                }
                out
            }
            // The solution v of W' v = g: v_i = (g_i - sum_(j > i) W_ji v_j) / W_ii
            Coordinates::Whitened(slices) => in_slices(gradient, slices, |matrix, g| {
                let mut v = vec![0.0; g.len()];
                for i in (0..g.len()).rev() {
                    let known: f64 = (i + 1..g.len()).map(|j| matrix[j][i] * v[j]).sum();
                    v[i] = (g[i] - known) / matrix[i][i];
                }
                v
            }),
        }
    }
}

/// The elements that differ in the position along one dimension alone; over a ragged axis, those of one group.
fn slices_along(context: &Context, letters: &[LetterId], sizes: &[usize], along: usize) -> Vec<Vec<usize>> {
    let axis = context.symbols().letter(letters[along]).axis;
    let is_ragged = context.bound.axes[axis.index()].parent.is_some();
    let mut slices: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for element in 0..sizes.iter().product() {
        let mut others = unflat(sizes, element);
        let position = others[along];
        others[along] = if is_ragged { parent(context, axis, position) } else { 0 };
        slices.entry(others).or_default().push(element);
    }
    slices.into_values().collect()
}

/// The elements with each slice put through a function of its matrix.
fn in_slices(
    x: &[f64],
    slices: &[(Vec<usize>, Vec<Vec<f64>>)],
    function: impl Fn(&[Vec<f64>], &[f64]) -> Vec<f64>,
) -> Vec<f64> {
    let mut out = x.to_vec();
    for (slice, matrix) in slices {
        let own: Vec<f64> = slice.iter().map(|at| x[*at]).collect();
        slice.iter().zip(function(matrix, &own)).for_each(|(at, value)| out[*at] = value);
    }
    out
}
