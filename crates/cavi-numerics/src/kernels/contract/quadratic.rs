//! Quadratic forms and weighted second moments of the rows of one matrix, for many matrices or weights at once:
//!
//! ```text
//! out_mj  += c sum_ab X_ma X_mb L_jab = sum_{a <= b} (X_ma X_mb) c (L_jab + [a != b] L_jba)
//! out_jab += c sum_m  X_ma X_mb R_mj
//! ```
//!
//! Each pair `a <= b` is multiplied out once, for some rows at a time that stay in the cache, and is then a product of
//! matrices: data and output are read and written once, not once for every `a`.

use super::product::{Matrix, multiply};
use super::work::Work;
use super::{Letters, Step, problem::Problem};
use crate::{InstructionSet, Scratch};

/// Rows, and pairs, that are multiplied out together.
const ROWS: usize = 256;
const PAIRS: usize = 64;
/// As few rows, elements of a row, or matrices are done otherwise.
const FEW: [usize; 3] = [64, 4, 4];

/// Which of the two it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Forms,
    Moments,
}

/// The letters of the formula, and the operands by their places.
#[derive(Clone, Copy)]
pub(super) struct Quadratic {
    form: Form,
    m: usize,
    j: usize,
    a: usize,
    b: usize,
    rows: usize,
    other: usize,
}

/// The contraction as one of the two, if it is one.
pub(super) fn find(problem: &Problem) -> Option<Quadratic> {
    if problem.operands.len() != 3 || problem.sizes.len() != 4 {
        return None;
    }
    let is_plain = |letter: usize| problem.all_steps(letter).all(|step| step.stride().is_some());
    if !(0..4).all(is_plain) {
        return None;
    }
    let has = |operand: usize, letter: usize| !problem.operands[operand].steps[letter].is_constant();
    let in_output = |letter: usize| !problem.steps[letter].is_constant();
    for other in 0..3 {
        let [rows, twin] = [(other + 1) % 3, (other + 2) % 3];
        let letters =
            |operand: usize| (0..4).filter(|letter| has(operand, *letter)).collect::<Letters<usize>>();
        let ([one, two], [three, four]) = (&letters(rows)[..], &letters(twin)[..]) else { continue };
        // The letter that both have, and the one that each has alone.
        let shared = [one, two].into_iter().find(|letter| [three, four].contains(letter));
        let alone = |own: [&usize; 2]| own.into_iter().copied().find(|letter| Some(letter) != shared);
        let (Some(m), Some(a), Some(b)) = (shared.copied(), alone([one, two]), alone([three, four])) else {
            continue;
        };
        // The square of one element is read twice with the same letters.
        if a == b {
            continue;
        }
        let [of_rows, of_twin] = [rows, twin].map(|operand| &problem.operands[operand]);
        let is_same = of_rows.values == of_twin.values
            && of_rows.steps[m] == of_twin.steps[m]
            && of_rows.steps[a] == of_twin.steps[b]
            && problem.sizes[a] == problem.sizes[b];
        let j = (0..4).find(|letter| ![m, a, b].contains(letter))?;
        let own = [m, j, a, b].map(|letter| (has(other, letter), in_output(letter)));
        let form = match own {
            [(false, true), (true, true), (true, false), (true, false)] => Form::Forms,
            [(true, false), (true, true), (false, true), (false, true)] => Form::Moments,
            _ => continue,
        };
        let sizes = [m, a, j].map(|letter| problem.sizes[letter]);
        if is_same && sizes.iter().zip(FEW).all(|(size, few)| *size >= few) {
            return Some(Quadratic { form, m, j, a, b, rows, other });
        }
    }
    None
}

/// The values that it works in.
pub(super) fn desk(problem: &Problem, own: &Quadratic) -> usize {
    let [size_a, size_j] = [own.a, own.j].map(|letter| problem.sizes[letter]);
    let pairs = size_a * (size_a + 1) / 2;
    pairs * size_j + (size_a + PAIRS.min(pairs)) * ROWS
}

/// Runs it.
///
/// # Safety
/// As [`super::split::run`], of the problem in which it was found.
pub(super) unsafe fn run(set: InstructionSet, problem: &Problem, own: Quadratic) {
    let Quadratic { form, m, j, a, b, rows, other } = own;
    let stride = |step: &Step| step.stride().expect("all letters go to strides");
    let [rows, other] = [rows, other].map(|operand| &problem.operands[operand]);
    let of_rows = [m, a].map(|letter| stride(&rows.steps[letter]));
    let of_other = [m, j, a, b].map(|letter| stride(&other.steps[letter]));
    let of_out = [m, j, a, b].map(|letter| stride(&problem.steps[letter]));
    let [size_m, size_j, size_a] = [m, j, a].map(|letter| problem.sizes[letter]);
    let pairs = || (0..size_a).flat_map(|a| (a..size_a).map(move |b| [a, b]));
    let count_of_pairs = size_a * (size_a + 1) / 2;
    // Of forms the matrices, of moments the sums: pairs by j.
    let mut table = Scratch::zeros(count_of_pairs * size_j);
    if form == Form::Forms {
        for (own, [a, b]) in table.chunks_exact_mut(size_j).zip(pairs()) {
            for (j, value) in own.iter_mut().enumerate() {
                // SAFETY: elements of the operand.
                let at = |a: usize, b: usize| unsafe {
                    *other.values.add(j * of_other[1] + a * of_other[2] + b * of_other[3])
                };
                *value = problem.coefficient * if a == b { at(a, b) } else { at(a, b) + at(b, a) };
            }
        }
    }
    let most = PAIRS.min(count_of_pairs);
    let mut columns = Scratch::zeros(size_a * ROWS);
    let mut products = Scratch::zeros(most * ROWS);
    for first in (0..size_m).step_by(ROWS) {
        let count = ROWS.min(size_m - first);
        for row in 0..count {
            for a in 0..size_a {
                // SAFETY: an element of the rows.
                columns[a * ROWS + row] =
                    unsafe { *rows.values.add((first + row) * of_rows[0] + a * of_rows[1]) };
            }
        }
        let mut left_pairs = pairs();
        for start in (0..count_of_pairs).step_by(most) {
            let part = most.min(count_of_pairs - start);
            for (own, [a, b]) in products.chunks_exact_mut(ROWS).zip(left_pairs.by_ref().take(part)) {
                let [left, right] = [a, b].map(|place| &columns[place * ROWS..][..count]);
                own.iter_mut()
                    .zip(left.iter().zip(right))
                    .for_each(|(own, (left, right))| *own = left * right);
            }
            let table = table[start * size_j..].as_mut_ptr();
            // SAFETY: blocks of the arrays; no two elements of the output share a place.
            unsafe {
                match form {
                    Form::Forms => {
                        let left = Matrix { values: products.as_ptr(), stride: 1, stride_k: ROWS };
                        let right = Matrix { values: table, stride: 1, stride_k: size_j };
                        let out = problem.out.add(first * of_out[0]);
                        let sizes = [count, size_j, part];
                        multiply(set, sizes, 1.0, left, right, out, [of_out[0], of_out[1]]);
                    }
                    Form::Moments => {
                        let left = Matrix { values: products.as_ptr(), stride: ROWS, stride_k: 1 };
                        let values = other.values.add(first * of_other[0]);
                        let right = Matrix { values, stride: of_other[1], stride_k: of_other[0] };
                        let sizes = [part, size_j, count];
                        multiply(set, sizes, 1.0, left, right, table, [size_j, 1]);
                    }
                }
            }
        }
    }
    if form == Form::Moments {
        for (sums, [a, b]) in table.chunks_exact(size_j).zip(pairs()) {
            for (j, sum) in sums.iter().enumerate() {
                let add = |a: usize, b: usize| {
                    let place = j * of_out[1] + a * of_out[2] + b * of_out[3];
                    // SAFETY: an element of the output.
                    unsafe { *problem.out.add(place) += problem.coefficient * sum };
                };
                add(a, b);
                if a != b {
                    add(b, a);
                }
            }
        }
    }
}

/// What [`run`] does, counted.
pub(super) fn work(problem: &Problem, own: Quadratic) -> Work {
    let [m, j, a] = [own.m, own.j, own.a].map(|letter| problem.sizes[letter] as f64);
    let pairs = a * (a + 1.0) / 2.0;
    let blocks = (m / ROWS as f64).ceil() * (pairs / PAIRS as f64).ceil();
    let products = m * pairs;
    let is_narrow = problem.sizes[own.j] <= super::narrow::MOST;
    let padded = problem.sizes[own.j].next_multiple_of(8) as f64;
    let copied = match own.form {
        Form::Forms => m * j,
        Form::Moments => m * j * (pairs / PAIRS as f64).ceil(),
    };
    Work {
        calls: blocks,
        values: 3.0 * products,
        gathered: m * a,
        copied,
        narrow: if is_narrow { products * padded } else { 0.0 },
        packed: if is_narrow { 0.0 } else { products * j },
        ..Work::default()
    }
}
