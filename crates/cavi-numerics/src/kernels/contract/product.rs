//! Contractions that are matrix products: `C_mn += c sum_k A_mk B_kn`, inside loops over the other letters.
//!
//! Three letters take the roles m, n and k: the output depends on m and n and not on k, and no operand on both m and n.
//! Operands that depend on m form A, those on n form B; one that depends on k alone (a mask, a weight) joins the smaller
//! of them; the others are numbers inside the outer loops. Where A or B is a product of several operands it is
//! multiplied out, block by block, into scratch memory of at most half a megabyte.
//!
//! In `sum_k c_k x_ak x_bk` the letters a and b may be exchanged: each pair is summed once, and added at both its places.

use super::narrow::{self, Narrow};
use super::problem::{Array, Problem};
use super::work::Work;
use super::{Letters, Operands, Step, nest, quadratic};
use crate::{InstructionSet, Scratch};

/// Below this many products a matrix product costs more than it saves.
const SMALL: usize = 1 << 12;
/// Blocks of m (or n) and at least as many k where an operand is multiplied out, and the values that a block may have.
const BLOCK: usize = 1024;
const BLOCK_K: usize = 64;
const BLOCK_VALUES: usize = 1 << 14;

struct Roles {
    m: usize,
    n: usize,
    k: usize,
    left: Operands<usize>,
    right: Operands<usize>,
    numbers: Operands<usize>,
}

/// Runs the contraction if it is a matrix product.
///
/// # Safety
/// As [`super::split::run`].
pub(super) unsafe fn run(set: InstructionSet, problem: &Problem) -> bool {
    if let Some(own) = quadratic::find(problem) {
        // SAFETY: the caller's promise.
        unsafe { quadratic::run(set, problem, own) };
        return true;
    }
    let Some(roles) = roles(problem) else { return false };
    let letters = 0..problem.sizes.len();
    let outer: Letters<usize> =
        letters.filter(|letter| ![roles.m, roles.n, roles.k].contains(letter)).collect();
    let mut values = Letters::from_elem(0, outer.len());
    let twin = outer.iter().position(|letter| may_be_exchanged(problem, *letter, roles.n));
    let most = if twin.is_some() { problem.sizes[roles.m] * problem.sizes[roles.n] } else { 0 };
    let mut tile = Scratch::any(most);
    loop {
        let offset = |steps: &[Step]| {
            outer.iter().zip(&values).map(|(letter, v)| steps[*letter].of(*v)).sum::<usize>()
        };
        let at = |index: usize| {
            let operand = &problem.operands[index];
            operand.values.wrapping_add(offset(&operand.steps))
        };
        // SAFETY: the offsets lie inside the arrays.
        unsafe {
            let numbers = roles.numbers.iter().map(|index| *at(*index)).product::<f64>();
            let out = problem.out.add(offset(&problem.steps));
            let coefficient = problem.coefficient * numbers;
            match twin {
                None => product(set, problem, &roles, coefficient, &at, out),
                Some(twin) => {
                    // The values of n from that of its twin on.
                    let first = values[twin];
                    let part = problem.part(roles.n, first..problem.sizes[roles.n]);
                    let at = |index: usize| {
                        let operand = &part.operands[index];
                        operand.values.wrapping_add(offset(&operand.steps))
                    };
                    let [size_m, size_n] = [part.sizes[roles.m], part.sizes[roles.n]];
                    let tile = &mut tile[..size_m * size_n];
                    tile.fill(0.0);
                    let mut own = part.clone();
                    (own.steps[roles.m], own.steps[roles.n]) = (Step::Stride(size_n), Step::Stride(1));
                    product(set, &own, &roles, coefficient, &at, tile.as_mut_ptr());
                    let stride = |letter: usize| problem.steps[letter].stride().unwrap_or(0);
                    let strides = [roles.m, roles.n, outer[twin]].map(stride);
                    for (m, sums) in tile.chunks_exact(size_n).enumerate() {
                        for (n, sum) in sums.iter().enumerate() {
                            let out = out.add(m * strides[0]);
                            *out.add((first + n) * strides[1]) += sum;
                            if n > 0 {
                                *out.add(first * strides[1] + n * strides[2]) += sum;
                            }
                        }
                    }
                }
            }
        }
        let next = (0..outer.len()).rev().find(|index| values[*index] + 1 < problem.sizes[outer[*index]]);
        let Some(next) = next else { return true };
        values[next] += 1;
        values[next + 1..].fill(0);
    }
}

/// The values that a matrix product works in besides its operands, blocks of packed rows aside: what a cache holds.
pub(super) fn desk(problem: &Problem) -> usize {
    if let Some(own) = quadratic::find(problem) {
        return quadratic::desk(problem, &own);
    }
    let Some(roles) = roles(problem) else { return 0 };
    let mut outer = (0..problem.sizes.len()).filter(|own| ![roles.m, roles.n, roles.k].contains(own));
    let has_twin = outer.any(|letter| may_be_exchanged(problem, letter, roles.n));
    if has_twin { problem.sizes[roles.m] * problem.sizes[roles.n] } else { 0 }
}

fn roles(problem: &Problem) -> Option<Roles> {
    let letters: Letters<usize> = (0..problem.sizes.len())
        .filter(|letter| problem.all_steps(*letter).all(|step| step.stride().is_some()))
        .collect();
    let mut best: Option<(usize, Roles)> = None;
    for &k in letters.iter().filter(|k| problem.steps[**k].is_constant()) {
        for &m in letters.iter().filter(|m| !problem.steps[**m].is_constant()) {
            for &n in letters.iter().filter(|n| !problem.steps[**n].is_constant() && **n != m) {
                let [sizes_m, sizes_n, sizes_k] = [m, n, k].map(|letter| problem.sizes[letter]);
                let work = sizes_m.saturating_mul(sizes_n).saturating_mul(sizes_k);
                if work < SMALL || sizes_m.min(sizes_n).min(sizes_k) < 4 {
                    continue;
                }
                if best.as_ref().is_some_and(|(most, _)| *most >= work) {
                    continue;
                }
                if let Some(roles) = assign(problem, m, n, k) {
                    best = Some((work, roles));
                }
            }
        }
    }
    best.map(|(_, roles)| roles)
}

/// Whether two letters of the output go to strides, and the product is the same with their values exchanged.
fn may_be_exchanged(problem: &Problem, a: usize, b: usize) -> bool {
    let is_plain = |letter: usize| problem.all_steps(letter).all(|step| step.stride().is_some());
    let is_output = |letter: usize| !problem.steps[letter].is_constant();
    if problem.sizes[a] != problem.sizes[b] || ![a, b].into_iter().all(|own| is_plain(own) && is_output(own))
    {
        return false;
    }
    let exchanged = |letter: usize| match letter {
        letter if letter == a => b,
        letter if letter == b => a,
        letter => letter,
    };
    let is_same = |one: &Array, other: &Array| {
        let mut letters = 0..problem.sizes.len();
        one.values == other.values
            && letters.all(|letter| one.steps[letter] == other.steps[exchanged(letter)])
    };
    let mut left: Operands<usize> = (0..problem.operands.len()).collect();
    problem.operands.iter().all(|operand| {
        let found = left.iter().position(|other| is_same(operand, &problem.operands[*other]));
        found.map(|place| left.swap_remove(place)).is_some()
    })
}

fn assign(problem: &Problem, m: usize, n: usize, k: usize) -> Option<Roles> {
    let stride = |letter: usize| problem.steps[letter].stride().unwrap_or(0);
    let do_not_overlap =
        stride(m) >= stride(n) * problem.sizes[n] || stride(n) >= stride(m) * problem.sizes[m];
    if !do_not_overlap {
        return None;
    }
    let mut roles =
        Roles { m, n, k, left: Operands::new(), right: Operands::new(), numbers: Operands::new() };
    for (index, operand) in problem.operands.iter().enumerate() {
        let depends = |letter: usize| !operand.steps[letter].is_constant();
        match (depends(m), depends(n), depends(k)) {
            (true, true, _) => return None,
            (true, false, _) => roles.left.push(index),
            (false, true, _) => roles.right.push(index),
            (false, false, true) if problem.sizes[m] <= problem.sizes[n] => roles.left.push(index),
            (false, false, true) => roles.right.push(index),
            (false, false, false) => roles.numbers.push(index),
        }
    }
    let has = |side: &[usize], letter: usize| {
        side.iter().any(|index| !problem.operands[*index].steps[letter].is_constant())
    };
    let is_product =
        has(&roles.left, m) && has(&roles.left, k) && has(&roles.right, n) && has(&roles.right, k);
    is_product.then_some(roles)
}

/// A matrix in memory: where it begins, and its strides along m or n and along k.
#[derive(Clone, Copy)]
pub(super) struct Matrix {
    pub values: *const f64,
    pub stride: usize,
    pub stride_k: usize,
}

/// # Safety
/// As [`super::split::run`], at the outer letters' values that `at` and `out` stand for.
unsafe fn product<'a>(
    set: InstructionSet,
    problem: &Problem<'a>,
    roles: &Roles,
    coefficient: f64,
    at: &dyn Fn(usize) -> *const f64,
    out: *mut f64,
) {
    let Roles { m, n, k, ref left, ref right, .. } = *roles;
    let stride = |step: &Step<'a>| step.stride().expect("the roles m, n and k go to strides");
    let (stride_m, stride_n) = (stride(&problem.steps[m]), stride(&problem.steps[n]));
    let block = |side: &[usize], letter: usize| {
        if side.len() > 1 { problem.sizes[letter].min(BLOCK) } else { problem.sizes[letter] }
    };
    let (block_m, block_n) = (block(left, m), block(right, n));
    let is_multiplied = left.len() > 1 || right.len() > 1;
    let block_k = match is_multiplied {
        true => problem.sizes[k].min((BLOCK_VALUES / block_m.max(block_n)).max(BLOCK_K)),
        false => problem.sizes[k],
    };
    // What is multiplied out of a side.
    let room = |side: &[usize], block: usize| if side.len() > 1 { block * block_k } else { 0 };
    let mut left_scratch = Scratch::any(room(left, block_m));
    let mut right_scratch = Scratch::any(room(right, block_n));
    for m_start in (0..problem.sizes[m]).step_by(block_m) {
        let m_count = block_m.min(problem.sizes[m] - m_start);
        for k_start in (0..problem.sizes[k]).step_by(block_k) {
            let k_count = block_k.min(problem.sizes[k] - k_start);
            let side = |side: &[usize], letter: usize, start: usize, count: usize, scratch: &mut [f64]| {
                let arrays: Operands<Array> = side
                    .iter()
                    .map(|index| {
                        let steps = &problem.operands[*index].steps;
                        let steps = Letters::from_slice(&[steps[letter], steps[k]]);
                        let offset = stride(&steps[0]) * start + stride(&steps[1]) * k_start;
                        Array { values: at(*index).wrapping_add(offset), steps }
                    })
                    .collect();
                if let [array] = &arrays[..] {
                    let steps = &array.steps;
                    return Matrix {
                        values: array.values,
                        stride: stride(&steps[0]),
                        stride_k: stride(&steps[1]),
                    };
                }
                let scratch = &mut scratch[..count * k_count];
                scratch.fill(0.0);
                // Whichever way the first operand runs contiguously, the product does.
                let is_k_inner = !matches!(arrays[0].steps[0], Step::Stride(1));
                let (stride, stride_k) = if is_k_inner { (k_count, 1) } else { (1, count) };
                let part = Problem {
                    sizes: Letters::from_slice(&[count, k_count]),
                    coefficient: 1.0,
                    operands: arrays,
                    out: scratch.as_mut_ptr(),
                    steps: Letters::from_slice(&[Step::Stride(stride), Step::Stride(stride_k)]),
                };
                // SAFETY: offsets inside blocks of the operands; the scratch has room for the block.
                unsafe { nest::run(set, &part) };
                Matrix { values: scratch.as_ptr(), stride, stride_k }
            };
            let a = side(left, m, m_start, m_count, &mut left_scratch);
            for n_start in (0..problem.sizes[n]).step_by(block_n) {
                let n_count = block_n.min(problem.sizes[n] - n_start);
                let b = side(right, n, n_start, n_count, &mut right_scratch);
                let out = out.wrapping_add(stride_m * m_start + stride_n * n_start);
                // SAFETY: the blocks lie inside the arrays; no two elements of the output's block share a place.
                unsafe {
                    let sizes = [m_count, n_count, k_count];
                    multiply(set, sizes, coefficient, a, b, out, [stride_m, stride_n]);
                }
            }
        }
    }
}

/// A side of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// The side with few rows (or columns), if there is one and the other side can be read where it stands.
fn narrow_side([m, n]: [usize; 2], [left_is_wide, right_is_wide]: [bool; 2]) -> Option<Side> {
    if n <= m && n <= narrow::MOST && left_is_wide {
        return Some(Side::Right);
    }
    (m <= narrow::MOST && right_is_wide).then_some(Side::Left)
}

/// What [`run`] would do, counted; `None` if the contraction is no matrix product.
pub(super) fn work(problem: &Problem) -> Option<Work> {
    if let Some(own) = quadratic::find(problem) {
        return Some(quadratic::work(problem, own));
    }
    let roles = roles(problem)?;
    let Roles { m, n, k, ref left, ref right, .. } = roles;
    let [size_m, size_n, size_k] = [m, n, k].map(|letter| problem.sizes[letter]);
    let letters = (0..problem.sizes.len()).filter(|letter| ![m, n, k].contains(letter));
    let outer: Letters<usize> = letters.collect();
    let is_twin = outer.iter().any(|letter| may_be_exchanged(problem, *letter, n));
    let count = outer.iter().map(|letter| problem.sizes[*letter] as f64).product::<f64>();
    let is_wide = |side: &[usize], letter: usize| match side {
        [only] => {
            let steps = &problem.operands[*only].steps;
            [letter, k].into_iter().any(|letter| steps[letter] == Step::Stride(1))
        }
        _ => true,
    };
    let multiplied = |side: &[usize], size: usize| match side.len() {
        0 | 1 => 0.0,
        several => count * (several * size * size_k) as f64,
    };
    let mut work = Work { calls: count, ..Work::default() };
    work.values = multiplied(left, size_m) + multiplied(right, size_n);
    let share = if is_twin { 0.5 } else { 1.0 };
    let lanes = |size: usize| size.next_multiple_of(8);
    let products = |[m, n]: [usize; 2]| share * count * (m * n * size_k) as f64;
    let narrow = narrow_side([size_m, size_n], [is_wide(left, m), is_wide(right, n)]);
    let of_narrow = match narrow {
        Some(Side::Right) => size_n,
        Some(Side::Left) => size_m,
        None => size_m + size_n,
    };
    work.copied = share * count * (size_m * size_n + of_narrow * size_k) as f64;
    match narrow {
        Some(Side::Right) => work.narrow = products([size_m, lanes(size_n)]),
        Some(Side::Left) => work.narrow = products([lanes(size_m), size_n]),
        None => work.packed = products([size_m, size_n]),
    }
    Some(work)
}

/// `out_mn += c sum_k a_mk b_kn`.
///
/// # Safety
/// The elements of these sizes lie inside the arrays; no two of the output share a place.
#[allow(clippy::too_many_arguments)] // the arguments of a matrix product
pub(super) unsafe fn multiply(
    set: InstructionSet,
    [m, n, k]: [usize; 3],
    coefficient: f64,
    a: Matrix,
    b: Matrix,
    out: *mut f64,
    [stride_m, stride_n]: [usize; 2],
) {
    let is_wide = |matrix: &Matrix| matrix.stride == 1 || matrix.stride_k == 1;
    let side = narrow_side([m, n], [is_wide(&a), is_wide(&b)]);
    let narrow = |wide: Matrix, narrow: Matrix, sizes: [usize; 2], out_strides: [usize; 2]| Narrow {
        sizes: [sizes[0], sizes[1], k],
        coefficient,
        wide: narrow::Matrix { values: wide.values, strides: [wide.stride, wide.stride_k] },
        narrow: narrow::Matrix { values: narrow.values, strides: [narrow.stride_k, narrow.stride] },
        out,
        out_strides,
    };
    // SAFETY: the caller's promise.
    unsafe {
        match side {
            Some(Side::Right) => {
                return narrow::run(set, &narrow(a, b, [m, n], [stride_m, stride_n]));
            }
            Some(Side::Left) => {
                return narrow::run(set, &narrow(b, a, [n, m], [stride_n, stride_m]));
            }
            None => {}
        }
        matrixmultiply::dgemm(
            m,
            k,
            n,
            coefficient,
            a.values,
            a.stride as isize,
            a.stride_k as isize,
            b.values,
            b.stride_k as isize,
            b.stride as isize,
            1.0,
            out,
            stride_m as isize,
            stride_n as isize,
        );
    }
}
