//! Coordinates in which a point may take any real value: it moves in `log x` where it is positive, in `log(x / (1 -
//! x))` where it is between 0 and 1, and in `log w`, up to a constant of the slice, on a simplex. A slice d whose
//! prior is a Normal of known covariance `C' C` moves in `delta = W d`, `W = C'^-1`, in which its prior is a standard
//! normal. The objective is that of the point itself, without a Jacobian, so its maximiser stays the same.

use std::iter::StepBy;
use std::ops::Range;

use cavi_algebra::{ArrayId, Block, Equations, LetterId, Support};
use cavi_families::Extent;
use cavi_numerics::Scratch;
use cavi_numerics::linalg::{multiply_lower, solve_lower, solve_upper};
use cavi_numerics::newton::Unit;
use cavi_numerics::special::{exp, ln, logistic};

use crate::data::{Bound, BoundArray};
use crate::layout::Layout;

/// Which function of the point moves.
#[derive(Clone, Copy, Debug)]
pub enum Coordinate {
    /// x
    Identity,
    /// log x
    Log,
    /// log(x / (1 - x))
    Logit,
}

impl Coordinate {
    /// The coordinate of a number on this support.
    pub fn of(support: Support) -> Coordinate {
        match support {
            Support::Positive | Support::Nonnegative => Coordinate::Log,
            Support::Unit => Coordinate::Logit,
            Support::Real
            | Support::Count
            | Support::Binary
            | Support::Simplex
            | Support::Index(_)
            | Support::Multiplicity
            | Support::PositiveDefinite => Coordinate::Identity,
        }
    }

    /// The coordinates of numbers.
    pub fn all(self, x: &[f64]) -> Scratch {
        let one = |x: &f64| match self {
            Coordinate::Identity => *x,
            Coordinate::Log => ln(*x),
            Coordinate::Logit => ln(*x) - ln(1.0 - x),
        };
        x.iter().map(one).collect()
    }

    /// The numbers of coordinates.
    pub fn back(self, u: &[f64]) -> Scratch {
        let one = |u: &f64| match self {
            Coordinate::Identity => *u,
            Coordinate::Log => exp(*u),
            Coordinate::Logit => logistic(*u),
        };
        u.iter().map(one).collect()
    }

    /// The first two derivatives in the coordinate, from those in x: `f' x'` and `f'' x'^2 + f' x''`.
    pub fn derivatives(self, x: f64, first: f64, second: f64) -> (f64, f64) {
        let (slope, bend) = match self {
            Coordinate::Identity => (1.0, 0.0),
            Coordinate::Log => (x, x),
            Coordinate::Logit => (x * (1.0 - x), x * (1.0 - x) * (1.0 - 2.0 * x)),
        };
        if slope == 0.0 {
            // On the boundary, which no step leaves.
            return (0.0, 0.0);
        }
        (first * slope, second * slope * slope + first * bend)
    }

    /// The scale of a coordinate, relative to which steps are measured. It is 1 for `log x`, since a change of a
    /// logarithm is relative already.
    pub fn unit(self, u: f64) -> Unit {
        match self {
            Coordinate::Identity => Unit { step: u.abs().max(1.0), change: u.abs() },
            Coordinate::Log | Coordinate::Logit => Unit { step: 1.0, change: 1.0 },
        }
    }
}

/// The elements of an array in C order, and where a slice on the simplex, or one that is whitened, runs through them.
#[derive(Clone, Debug)]
pub struct Coordinates<'a> {
    one: Coordinate,
    /// Where simplex slices begin along their dimension, and the end of the last, several over a ragged axis; and the stride
    /// of their elements.
    simplex: Option<(Vec<usize>, usize)>,
    whitened: Option<Whitened<'a>>,
}

/// Slices that move in coordinates in which their prior is standard normal.
#[derive(Clone, Debug)]
struct Whitened<'a> {
    /// The matrices W, lower triangular, one after another.
    matrices: &'a [f64],
    /// The length of a slice and the stride of its elements.
    slice: (usize, usize),
    /// The matrix of each slice.
    of: Vec<usize>,
}

impl Whitened<'_> {
    /// Every slice put through a function of its matrix.
    fn each(&self, x: &[f64], function: fn(usize, &[f64], &mut [f64])) -> Scratch {
        let (length, stride) = self.slice;
        let mut out = Scratch::of(x);
        let mut own = Scratch::zeros(length);
        for (start, matrix) in starts(x.len(), length, stride).zip(&self.of) {
            let places = || (0..length).map(|i| start + i * stride);
            own.iter_mut().zip(places()).for_each(|(own, at)| *own = x[at]);
            let size = length * length;
            function(length, &self.matrices[matrix * size..(matrix + 1) * size], &mut own);
            own.iter().zip(places()).for_each(|(own, at)| out[at] = *own);
        }
        out
    }
}

impl<'a> Coordinates<'a> {
    /// The coordinates of an array with dimensions of these sizes, of which `slice` is that of a simplex, cut at `starts` where
    /// its axis is ragged.
    pub fn of(
        support: Support,
        sizes: &[usize],
        slice: Option<usize>,
        starts: Option<&[usize]>,
    ) -> Coordinates<'a> {
        let simplex = match (support, slice) {
            (Support::Simplex, Some(place)) => {
                let starts = starts.map_or_else(|| vec![0, sizes[place]], <[usize]>::to_vec);
                Some((starts, sizes[place + 1..].iter().product()))
            }
            _ => None,
        };
        Coordinates { one: Coordinate::of(support), simplex, whitened: None }
    }

    /// The coordinates of an array with these dimensions whose slices a matrix whitens. The letters of the matrix are some of
    /// the dimensions, in their order, then its row, which is the letter of the slice, and its column.
    fn whitened_by(
        equations: &Equations,
        bound: &'a Bound,
        whitening: ArrayId,
        letters: &[LetterId],
        sizes: &[usize],
    ) -> Coordinates<'a> {
        let BoundArray::Dense { values, .. } = bound.array(whitening) else {
            unreachable!("a matrix that is computed is dense")
        };
        let own = &equations.symbols.array(whitening).letters;
        let [plates @ .., row, _] = own.as_slice() else { unreachable!("a matrix has a row and a column") };
        let place = |letter: &LetterId| {
            letters.iter().position(|other| other == letter).expect("its letters are those of the variable")
        };
        let along = place(row);
        let stride_of = |place: usize| sizes[place + 1..].iter().product::<usize>();
        let slice = (sizes[along], stride_of(along));
        let matrix = |start: usize| {
            plates.iter().map(place).fold(0, |number, own| {
                number * sizes[own] + start / stride_of(own).max(1) % sizes[own].max(1)
            })
        };
        let of = starts(sizes.iter().product(), slice.0, slice.1).map(matrix).collect();
        let whitened = Whitened { matrices: values, slice, of };
        Coordinates { one: Coordinate::Identity, simplex: None, whitened: Some(whitened) }
    }

    /// The coordinates of the elements: of a whitened slice `W d`.
    pub fn all(&self, x: &[f64]) -> Scratch {
        if let Some(whitened) = &self.whitened {
            return whitened.each(x, multiply_lower);
        }
        if self.simplex.is_some() { Coordinate::Log.all(x) } else { self.one.all(x) }
    }

    /// The elements, from their coordinates: on a simplex `w_v = exp u_v / sum exp u`, of a whitened slice `W^-1 delta`.
    pub fn back(&self, u: &[f64]) -> Scratch {
        if let Some(whitened) = &self.whitened {
            return whitened.each(u, solve_lower);
        }
        let Some((starts, stride)) = &self.simplex else { return self.one.back(u) };
        let mut w = Scratch::of(u);
        for slice in slices(u.len(), starts, *stride) {
            let places = || slice.clone().step_by(*stride);
            let most = places().map(|at| u[at]).fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = places().map(|at| exp(u[at] - most)).sum();
            places().for_each(|at| w[at] = exp(u[at] - most) / total);
        }
        w
    }

    /// The gradient in the coordinates, from the one in the elements: on a simplex `w_v (g_v - sum w g)`, of a whitened slice
    /// `W'^-1 g`.
    pub fn gradient(&self, x: &[f64], gradient: &[f64]) -> Scratch {
        if let Some(whitened) = &self.whitened {
            return whitened.each(gradient, solve_upper);
        }
        let Some((starts, stride)) = &self.simplex else {
            let each = x.iter().zip(gradient);
            return each.map(|(x, own)| self.one.derivatives(*x, *own, 0.0).0).collect();
        };
        let mut out = Scratch::zeros(x.len());
        for slice in slices(x.len(), starts, *stride) {
            let places = || slice.clone().step_by(*stride).filter(|at| x[*at] > 0.0);
            let mean: f64 = places().map(|at| x[at] * gradient[at]).sum();
            places().for_each(|at| out[at] = x[at] * (gradient[at] - mean));
        }
        out
    }
}

/// The first elements of the slices.
fn starts(elements: usize, length: usize, stride: usize) -> impl Iterator<Item = usize> {
    let block = (length * stride).max(1);
    (0..elements / block).flat_map(move |outer| (0..stride).map(move |inner| outer * block + inner))
}

/// The places of the elements of slices, each a range in steps of the stride.
fn slices(elements: usize, cuts: &[usize], stride: usize) -> impl Iterator<Item = Range<usize>> {
    let length = cuts.last().copied().unwrap_or(0);
    starts(elements, length, stride).flat_map(move |start| {
        cuts.windows(2).map(move |pair| start + pair[0] * stride..start + pair[1] * stride)
    })
}

/// The slices of a member of a block that sum to 1 each, as the places of their elements in a column of its values; none
/// where it is not on a simplex. The letter of a slice may be one of several that the member has in the block.
pub fn simplexes(
    equations: &Equations,
    bound: &Bound,
    block: &Block,
    layout: &Layout,
    member: usize,
) -> Vec<StepBy<Range<usize>>> {
    let coordinates = of_members(equations, bound, block, layout).swap_remove(member);
    let Some((cuts, stride)) = &coordinates.simplex else { return Vec::new() };
    let elements = layout.slices_of(member).len(Extent::Vector);
    slices(elements, cuts, *stride).map(|slice| slice.step_by(*stride)).collect()
}

/// Divides the values at these places by their sum, where that is positive.
pub fn normalise(values: &mut [f64], places: impl Iterator<Item = usize> + Clone) {
    let total: f64 = places.clone().map(|place| values[place]).sum();
    if total > 0.0 {
        places.for_each(|place| values[place] /= total);
    }
}

/// The coordinates of every member of a block that ascends.
pub fn of_members<'a>(
    equations: &Equations,
    bound: &'a Bound,
    block: &Block,
    layout: &Layout,
) -> Vec<Coordinates<'a>> {
    let members = block.members.iter().enumerate().zip(&layout.slices);
    members
        .map(|((number, member), sizes)| {
            let array = equations.symbols.array(*member);
            let letters = block.letters_of(number);
            let sizes: Vec<usize> = layout.plates.iter().chain(sizes).copied().collect();
            if let Some(whitening) = equations.whitening_of(*member) {
                return Coordinates::whitened_by(equations, bound, whitening, &letters, &sizes);
            }
            let own = equations.symbols.slices(*member);
            let slice = letters.iter().position(|letter| own.contains(letter));
            let axis = slice.map(|place| equations.symbols.letter(letters[place]).axis);
            let starts = axis.and_then(|axis| bound.axes[axis.index()].starts.as_deref());
            Coordinates::of(array.support, &sizes, slice, starts)
        })
        .collect()
}
