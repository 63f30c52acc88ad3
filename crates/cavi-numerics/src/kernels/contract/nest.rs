//! A contraction as nested loops: the innermost over contiguous values where one letter allows it.
//!
//! The innermost letter is one in which every array has stride 0 or 1, the longest of them; along it the kernel is a sum
//! of products (the output stands still) or a multiple added to a row (the output moves). Where there is none, the
//! innermost loop adds up offsets, tables included. Outer loops run from large steps to small.

use super::problem::{Array, Problem};
use super::work::Work;
use super::{Letters, Operands, Step};
use crate::InstructionSet;
use crate::kernels::vector::{Portable, Vector};

/// The most operands that the loops are compiled for; further ones are multiplied one at a time.
const MOST: usize = 8;

/// Runs the contraction.
///
/// # Safety
/// As [`super::split::run`].
pub(super) unsafe fn run(set: InstructionSet, problem: &Problem) {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some((row, stride)) = transposed(problem) {
            return transpose(problem, row, stride);
        }
        match problem.operands.len() {
            0 => nest::<0>(set, problem),
            1 => nest::<1>(set, problem),
            2 => nest::<2>(set, problem),
            3 => nest::<3>(set, problem),
            4 => nest::<4>(set, problem),
            5..=MOST => nest::<MOST>(set, problem),
            _ => naive(problem),
        }
    }
}

/// For a matrix added to another of the opposite order: the letter along the rows of the output with its step in the
/// operand, and the other letter's step in the output. Each array has stride 1 in one of the two.
fn transposed(problem: &Problem) -> Option<((usize, usize), usize)> {
    let ([array], 2) = (problem.operands.as_slice(), problem.sizes.len()) else { return None };
    (0..2).find_map(|letter| {
        let (own, other) = (array.steps[letter].stride()?, problem.steps[1 - letter].stride()?);
        let is_row = problem.steps[letter] == Step::Stride(1) && array.steps[1 - letter] == Step::Stride(1);
        (is_row && own > 1 && other > 1).then_some(((letter, own), other))
    })
}

/// `out[i + stride j] += c A[j + step i]`, in squares whose lines of both arrays stay in the cache.
///
/// # Safety
/// As [`super::split::run`].
unsafe fn transpose(problem: &Problem, (letter, step): (usize, usize), stride: usize) {
    const SQUARE: usize = 16;
    let (rows, columns) = (problem.sizes[1 - letter], problem.sizes[letter]);
    let from = problem.operands[0].values;
    for row in (0..rows).step_by(SQUARE) {
        for column in (0..columns).step_by(SQUARE) {
            for j in row..rows.min(row + SQUARE) {
                for i in column..columns.min(column + SQUARE) {
                    // SAFETY: the offsets of these values of the letters.
                    unsafe {
                        *problem.out.add(i + stride * j) += problem.coefficient * *from.add(j + step * i)
                    };
                }
            }
        }
    }
}

/// What [`run`] would do, counted.
pub(super) fn work(problem: &Problem) -> Work {
    let all = problem.sizes.iter().map(|size| *size as f64).product::<f64>();
    let arrays = problem.operands.len();
    let one_by_one = |letter: Option<usize>| {
        let is_table = |step: &Step| step.stride().is_none();
        let is_moving = |step: &&Step| !step.is_constant();
        let steps = || letter.into_iter().flat_map(|letter| problem.all_steps(letter)).filter(is_moving);
        let looked_up = all * steps().filter(|step| is_table(step)).count() as f64;
        let gathered = all * steps().filter(|step| !is_table(step)).count() as f64;
        Work { calls: 1.0, rows: all, gathered, looked_up, ..Work::default() }
    };
    if let Some(((letter, _), _)) = transposed(problem) {
        return Work { rows: 0.0, ..one_by_one(Some(letter)) };
    }
    let Some(letter) = innermost(problem) else { return Work { calls: 1.0, ..Work::default() } };
    let moves = |steps: &[Step]| !steps[letter].is_constant();
    let moving = problem.operands.iter().filter(|array| moves(&array.steps)).count();
    if !is_contiguous(problem, letter) || moving > 3 {
        let rows = all / problem.sizes[letter] as f64 * (arrays + 1) as f64;
        return Work { rows, ..one_by_one(Some(letter)) };
    }
    let rows = all / problem.sizes[letter] as f64;
    let read = moving + usize::from(moves(&problem.steps));
    Work { calls: 1.0, rows: rows * (arrays + 1) as f64, values: all * read as f64, ..Work::default() }
}

/// One loop: its steps in each operand and in the output.
struct Level<'a, const N: usize> {
    size: usize,
    steps: [Step<'a>; N],
    out: Step<'a>,
}

/// `run(level, size, c, operands, out)`: the innermost loop over `size` contiguous values, and the loop around it.
type Inner<const N: usize> = unsafe fn(&Level<N>, usize, f64, &[*const f64; N], *mut f64);

/// # Safety
/// As [`super::split::run`].
unsafe fn nest<const N: usize>(set: InstructionSet, problem: &Problem) {
    static ONE: f64 = 1.0;
    let inner = innermost(problem);
    // The operands that depend on the innermost letter come first.
    let mut operands: Operands<&Array> = problem.operands.iter().collect();
    let varies = |array: &Array| inner.is_some_and(|letter| !array.steps[letter].is_constant());
    operands.sort_by_key(|array| !varies(array));
    let moving = operands.iter().filter(|array| varies(array)).count();
    // Positions without an operand read a one that stands still.
    let mut pointers = [std::ptr::from_ref(&ONE); N];
    for (pointer, array) in pointers.iter_mut().zip(&operands) {
        *pointer = array.values;
    }
    let level = |letter: usize| Level::<N> {
        size: problem.sizes[letter],
        steps: std::array::from_fn(|i| operands.get(i).map_or(Step::Stride(0), |array| array.steps[letter])),
        out: problem.steps[letter],
    };
    let mut levels: Letters<Level<N>> = outer(problem, inner).into_iter().map(level).collect();
    // SAFETY: the caller's promise.
    unsafe {
        let Some(letter) = inner else {
            let product = pointers.iter().map(|pointer| **pointer).product::<f64>();
            *problem.out += problem.coefficient * product;
            return;
        };
        let last = level(letter);
        if let Some(run) = contiguous::<N>(set, problem, letter, moving) {
            let once = Level { size: 1, steps: [Step::Stride(0); N], out: Step::Stride(0) };
            let around = levels.pop().unwrap_or(once);
            descend(&levels, &pointers, problem.out, &|pointers, out| {
                run(&around, last.size, problem.coefficient, pointers, out);
            });
            return;
        }
        descend(&levels, &pointers, problem.out, &|pointers, out| {
            let (moving, still) = pointers.split_at(moving);
            let coefficient = still.iter().fold(problem.coefficient, |product, pointer| product * **pointer);
            gather(&last, coefficient, moving, out);
        });
    }
}

/// The loops of `levels`.
///
/// # Safety
/// As [`super::split::run`], from these places on.
unsafe fn descend<const N: usize>(
    levels: &[Level<N>],
    pointers: &[*const f64; N],
    out: *mut f64,
    run: &impl Fn(&[*const f64; N], *mut f64),
) {
    let Some((level, levels)) = levels.split_first() else {
        run(pointers, out);
        return;
    };
    let mut next = [std::ptr::null(); N];
    for value in 0..level.size {
        for ((next, pointer), step) in next.iter_mut().zip(pointers).zip(&level.steps) {
            *next = pointer.wrapping_add(step.of(value));
        }
        let out = out.wrapping_add(level.out.of(value));
        if levels.is_empty() {
            run(&next, out);
        } else {
            // SAFETY: the caller's promise.
            unsafe { descend(levels, &next, out, run) };
        }
    }
}

fn is_contiguous(problem: &Problem, letter: usize) -> bool {
    problem.all_steps(letter).all(|step| step.is_constant() || *step == Step::Stride(1))
}

fn innermost(problem: &Problem) -> Option<usize> {
    (0..problem.sizes.len()).max_by_key(|letter| {
        let size = problem.sizes[*letter];
        let is_vector = is_contiguous(problem, *letter) && size >= 3;
        // Without vectors, a sum in a register and strides before tables.
        let is_strided = problem.all_steps(*letter).all(|step| step.stride().is_some());
        let is_sum = problem.steps[*letter].is_constant();
        (is_vector, is_vector || is_strided, is_vector || is_sum, size)
    })
}

/// The other letters, those with the largest steps first.
fn outer(problem: &Problem, inner: Option<usize>) -> Letters<usize> {
    let mut letters: Letters<usize> =
        (0..problem.sizes.len()).filter(|letter| Some(*letter) != inner).collect();
    letters.sort_by_key(|letter| {
        let reach = problem.all_steps(*letter).map(|step| match step {
            Step::Stride(stride) => *stride,
            Step::Table { .. } => 1 << 40,
        });
        std::cmp::Reverse(reach.fold(0, usize::saturating_add))
    });
    letters
}

/// The innermost loops, if all arrays are contiguous along the last and it is compiled for so many operands.
fn contiguous<const N: usize>(
    set: InstructionSet,
    problem: &Problem,
    letter: usize,
    moving: usize,
) -> Option<Inner<N>> {
    if !is_contiguous(problem, letter) {
        return None;
    }
    let is_sum = problem.steps[letter].is_constant();
    match moving {
        0 => Some(rows_of::<N, 0>(set, is_sum)),
        1 => Some(rows_of::<N, 1>(set, is_sum)),
        2 => Some(rows_of::<N, 2>(set, is_sum)),
        3 => Some(rows_of::<N, 3>(set, is_sum)),
        _ => None,
    }
}

/// [`rows`] for an instruction set; `SUM` if the output stands still along the innermost loop.
fn rows_of<const N: usize, const G: usize>(set: InstructionSet, is_sum: bool) -> Inner<N> {
    #[cfg(target_arch = "x86_64")]
    {
        use crate::kernels::vector::{Avx2, Avx512};

        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
        unsafe fn avx512<const N: usize, const G: usize, const SUM: bool>(
            level: &Level<N>,
            size: usize,
            c: f64,
            operands: &[*const f64; N],
            out: *mut f64,
        ) {
            // SAFETY: compiled for these features; the caller's promise.
            unsafe { rows::<Avx512, N, G, SUM>(level, size, c, operands, out) }
        }
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2<const N: usize, const G: usize, const SUM: bool>(
            level: &Level<N>,
            size: usize,
            c: f64,
            operands: &[*const f64; N],
            out: *mut f64,
        ) {
            // SAFETY: as above.
            unsafe { rows::<Avx2, N, G, SUM>(level, size, c, operands, out) }
        }
        match (set, is_sum) {
            (InstructionSet::Avx512, true) => return avx512::<N, G, true>,
            (InstructionSet::Avx512, false) => return avx512::<N, G, false>,
            (InstructionSet::Avx2, true) => return avx2::<N, G, true>,
            (InstructionSet::Avx2, false) => return avx2::<N, G, false>,
            (InstructionSet::Portable, _) => {}
        }
    }
    let _ = set;
    if is_sum { rows::<Portable, N, G, true> } else { rows::<Portable, N, G, false> }
}

/// One loop around the innermost: for each of its values, [`sum`] or [`add`] along `size` values of the first `G`
/// operands; the others are numbers there. No intermediate value is kept in memory from one value to the next, so
/// that stores to scattered outputs need not wait for one another.
///
/// # Safety
/// The features of `V`; as [`super::split::run`], from these places on.
#[inline(always)]
unsafe fn rows<V: Vector, const N: usize, const G: usize, const SUM: bool>(
    level: &Level<N>,
    size: usize,
    c: f64,
    operands: &[*const f64; N],
    out: *mut f64,
) {
    let parts = |step: &Step| match *step {
        Step::Stride(stride) => (std::ptr::null(), stride),
        Step::Table { table, scale } => (table.as_ptr(), scale),
    };
    let offset = |(table, scale): (*const u32, usize), value: usize| {
        // SAFETY: tables are as long as their letter.
        if table.is_null() { value * scale } else { unsafe { *table.add(value) as usize * scale } }
    };
    let operands = *operands;
    let steps: [(*const u32, usize); N] = std::array::from_fn(|i| parts(&level.steps[i]));
    let out_step = parts(&level.out);
    for value in 0..level.size {
        // SAFETY: the caller's promise.
        unsafe {
            let mut c = c;
            let mut moving = [std::ptr::null(); G];
            for i in 0..N {
                let pointer = operands[i].add(offset(steps[i], value));
                if i < G {
                    moving[i] = pointer;
                } else {
                    c *= *pointer;
                }
            }
            let out = out.add(offset(out_step, value));
            if SUM {
                sum::<V, G>(size, c, &moving, out);
            } else {
                add::<V, G>(size, c, &moving, out);
            }
        }
    }
}

/// `prod_i A_i` at the lanes from `at` on.
///
/// # Safety
/// The features of `V`; the values are there.
#[inline(always)]
unsafe fn times<V: Vector, const N: usize, const FULL: bool>(
    operands: &[*const f64; N],
    at: usize,
    count: usize,
) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        let mut value = V::get::<FULL>(operands[0].add(at), count);
        for operand in &operands[1..] {
            value = value.times(V::get::<FULL>(operand.add(at), count));
        }
        value
    }
}

/// `out += c sum_v prod_i A_i[v]`, in four vectors of partial sums.
///
/// # Safety
/// As [`times`].
#[inline(always)]
unsafe fn sum<V: Vector, const N: usize>(size: usize, c: f64, operands: &[*const f64; N], out: *mut f64) {
    // SAFETY: the caller's promise.
    unsafe {
        if N == 0 {
            *out += c * size as f64;
            return;
        }
        let mut partial = [V::splat(0.0); 4];
        let mut at = 0;
        while at + 4 * V::LANES <= size {
            for (index, partial) in partial.iter_mut().enumerate() {
                *partial = next::<V, N, true>(operands, at + index * V::LANES, 0, *partial);
            }
            at += 4 * V::LANES;
        }
        let mut index = 0;
        while at + V::LANES <= size {
            partial[index] = next::<V, N, true>(operands, at, 0, partial[index]);
            index += 1;
            at += V::LANES;
        }
        if at < size {
            partial[3] = next::<V, N, false>(operands, at, size - at, partial[3]);
        }
        let [a, b, c_, d] = V::sums(partial);
        *out += c * ((a + b) + (c_ + d));
    }
}

/// `partial + prod_i A_i` at the lanes from `at` on.
///
/// # Safety
/// As [`times`].
#[inline(always)]
unsafe fn next<V: Vector, const N: usize, const FULL: bool>(
    operands: &[*const f64; N],
    at: usize,
    count: usize,
    partial: V,
) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        if N == 1 {
            return partial.plus(V::get::<FULL>(operands[0].add(at), count));
        }
        let mut value = V::get::<FULL>(operands[0].add(at), count);
        for operand in &operands[1..N - 1] {
            value = value.times(V::get::<FULL>(operand.add(at), count));
        }
        value.times_plus(V::get::<FULL>(operands[N - 1].add(at), count), partial)
    }
}

/// `out[v] += c prod_i A_i[v]`.
///
/// # Safety
/// As [`times`], and the output is there.
#[inline(always)]
unsafe fn add<V: Vector, const N: usize>(size: usize, c: f64, operands: &[*const f64; N], out: *mut f64) {
    // SAFETY: the caller's promise.
    unsafe {
        let c = V::splat(c);
        let mut at = 0;
        while at + V::LANES <= size {
            let to = out.add(at);
            let old = V::load(to);
            let new =
                if N == 0 { c.plus(old) } else { times::<V, N, true>(operands, at, 0).times_plus(c, old) };
            new.store(to);
            at += V::LANES;
        }
        if at < size {
            let (to, count) = (out.add(at), size - at);
            let old = V::load_part(to, count);
            let new = if N == 0 {
                c.plus(old)
            } else {
                times::<V, N, false>(operands, at, count).times_plus(c, old)
            };
            new.store_part(to, count);
        }
    }
}

/// The innermost loop over any steps: `moving` are the operands that depend on it, the first of the level's.
///
/// # Safety
/// As [`super::split::run`], from these places on.
unsafe fn gather<const N: usize>(level: &Level<N>, c: f64, moving: &[*const f64], out: *mut f64) {
    // SAFETY: the caller's promise.
    unsafe {
        match moving.len() {
            1 => gather_of::<N, 1>(level, c, moving, out),
            2 => gather_of::<N, 2>(level, c, moving, out),
            3 => gather_of::<N, 3>(level, c, moving, out),
            _ => gather_of::<N, 0>(level, c, moving, out),
        }
    }
}

/// [`gather`] for `G` operands, or any number if `G` is 0.
///
/// # Safety
/// As [`gather`].
#[inline(always)]
unsafe fn gather_of<const N: usize, const G: usize>(
    level: &Level<N>,
    c: f64,
    moving: &[*const f64],
    out: *mut f64,
) {
    let moving = if G == 0 { moving } else { &moving[..G] };
    let product = |value: usize| {
        let mut product = 1.0;
        for (pointer, step) in moving.iter().zip(&level.steps) {
            // SAFETY: the offset lies inside the operand.
            product *= unsafe { *pointer.add(step.of(value)) };
        }
        product
    };
    if level.out.is_constant() {
        let mut lanes = [0.0; 4];
        let whole = level.size / 4 * 4;
        for value in (0..whole).step_by(4) {
            for (lane, partial) in lanes.iter_mut().enumerate() {
                *partial += product(value + lane);
            }
        }
        for value in whole..level.size {
            lanes[value - whole] += product(value);
        }
        // SAFETY: the output is there.
        unsafe { *out += c * ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) };
        return;
    }
    for value in 0..level.size {
        // SAFETY: the offset lies inside the output.
        unsafe { *out.add(level.out.of(value)) += c * product(value) };
    }
}

/// The contraction by its definition, for more operands than the loops are compiled for.
///
/// # Safety
/// As [`super::split::run`].
unsafe fn naive(problem: &Problem) {
    let mut values = Letters::from_elem(0, problem.sizes.len());
    loop {
        let offset = |steps: &[Step]| steps.iter().zip(&values).map(|(step, v)| step.of(*v)).sum::<usize>();
        // SAFETY: the offsets lie inside the arrays.
        unsafe {
            let product = problem.operands.iter().map(|array| *array.values.add(offset(&array.steps)));
            *problem.out.add(offset(&problem.steps)) += problem.coefficient * product.product::<f64>();
        }
        let next = (0..values.len()).rev().find(|letter| values[*letter] + 1 < problem.sizes[*letter]);
        let Some(next) = next else { return };
        values[next] += 1;
        values[next + 1..].fill(0);
    }
}
