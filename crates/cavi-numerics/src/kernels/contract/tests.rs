//! Contractions against the definition, over random sizes and steps, and against themselves on other threads.

use super::*;
use crate::instruction_set::available;

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

#[derive(Clone)]
enum Owned {
    Stride(usize),
    Table(Vec<u32>, usize),
}

impl Owned {
    fn view(&self) -> Step<'_> {
        match self {
            Self::Stride(stride) => Step::Stride(*stride),
            Self::Table(table, scale) => Step::Table { table, scale: *scale },
        }
    }
}

struct Random {
    values: Vec<f64>,
    steps: Vec<Owned>,
}

/// An array that depends on some of the letters, in some order, by strides or tables.
fn random(numbers: &mut Numbers, sizes: &[usize], tables: usize) -> Random {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, numbers.below(last + 1));
    }
    let mut steps = vec![Owned::Stride(0); sizes.len()];
    let mut length = 1;
    for letter in order {
        let size = sizes[letter];
        if size == 0 || numbers.below(3) == 0 {
            continue;
        }
        if numbers.below(6) < tables {
            let rows = 1 + numbers.below(size.min(40));
            let mut table: Vec<u32> = (0..size).map(|_| numbers.below(rows) as u32).collect();
            if numbers.below(2) == 0 {
                table.sort_unstable();
            }
            steps[letter] = Owned::Table(table, length);
            length *= rows;
        } else {
            steps[letter] = Owned::Stride(length);
            // Sometimes the next stride overlaps this letter's reach.
            length = if numbers.below(8) == 0 { length + size } else { length * size };
        }
    }
    let reach: usize = steps
        .iter()
        .zip(sizes)
        .filter(|(_, size)| **size > 0)
        .map(|(step, size)| step.view().most(*size).unwrap())
        .sum();
    let values =
        (0..reach + 1 + numbers.below(3)).map(|_| numbers.below(2000) as f64 / 1000.0 - 1.0).collect();
    Random { values, steps }
}

fn naive(sizes: &[usize], coefficient: f64, operands: &[Random], output: &mut Random) {
    if sizes.contains(&0) {
        return;
    }
    let mut values = vec![0; sizes.len()];
    loop {
        let offset = |steps: &[Owned]| steps.iter().zip(&values).map(|(s, v)| s.view().of(*v)).sum::<usize>();
        let product: f64 = operands.iter().map(|operand| operand.values[offset(&operand.steps)]).product();
        output.values[offset(&output.steps)] += coefficient * product;
        let Some(next) = (0..sizes.len()).rev().find(|letter| values[*letter] + 1 < sizes[*letter]) else {
            return;
        };
        values[next] += 1;
        values[next + 1..].fill(0);
    }
}

fn check(sizes: &[usize], operands: &[Random], output: &mut Random, threads: &[Threads]) {
    let start = output.values.clone();
    naive(sizes, -0.5, operands, output);
    let views =
        |steps: &[Owned]| -> Vec<String> { steps.iter().map(|s| format!("{:?}", s.view())).collect() };
    for set in available() {
        let mut first = None;
        for threads in threads {
            let mut values = start.clone();
            let arrays: Vec<Operand> = operands
                .iter()
                .map(|o| Operand { values: &o.values, steps: o.steps.iter().map(Owned::view).collect() })
                .collect();
            let steps = output.steps.iter().map(Owned::view).collect();
            contract_on(set, sizes, -0.5, &arrays, Output { values: &mut values, steps }, threads);
            let work: usize = sizes.iter().product();
            for (value, expected) in values.iter().zip(&output.values) {
                assert!(
                    (value - expected).abs() <= 1e-12 * (work as f64).max(10.0),
                    "{set:?} {sizes:?}: {value} for {expected}; output {:?}, operands {:?}",
                    views(&output.steps),
                    operands.iter().map(|o| views(&o.steps)).collect::<Vec<_>>()
                );
            }
            let first = first.get_or_insert_with(|| values.clone());
            assert!(*first == values, "{set:?} {sizes:?}: threads change the bits");
        }
    }
}

#[test]
fn is_its_definition() {
    let numbers = &mut Numbers(3);
    let threads = [Threads::one()];
    for round in 0..6000 {
        let letters = numbers.below(5);
        let most = [40, 40, 20, 12, 7][letters];
        let sizes: Vec<usize> =
            (0..letters).map(|_| if numbers.below(40) == 0 { 0 } else { 1 + numbers.below(most) }).collect();
        let tables = round % 3;
        let count = if round % 50 == 0 { 5 + numbers.below(6) } else { numbers.below(5) };
        let operands: Vec<Random> = (0..count).map(|_| random(numbers, &sizes, tables)).collect();
        let mut output = random(numbers, &sizes, tables);
        check(&sizes, &operands, &mut output, &threads);
    }
}

#[test]
fn threads_do_not_change_the_bits() {
    let numbers = &mut Numbers(4);
    let threads = [Threads::new(1), Threads::new(2), Threads::new(5)];
    for round in 0..60 {
        let letters = 1 + numbers.below(3);
        let least = [150_000, 400, 50][letters - 1];
        let sizes: Vec<usize> = (0..letters).map(|_| least + numbers.below(least / 4)).collect();
        let count = numbers.below(4);
        let operands: Vec<Random> = (0..count).map(|_| random(numbers, &sizes, round % 3)).collect();
        let mut output = random(numbers, &sizes, round % 3);
        check(&sizes, &operands, &mut output, &threads);
    }
}

/// `out[m, k, l] += sum_n A[n, k] B[n, l] mask[n, m]` and kin: matrix products with a third operand.
#[test]
fn products_of_three() {
    let numbers = &mut Numbers(5);
    let threads = [Threads::new(1), Threads::new(3)];
    let (m, n, k, l) = (6, 150, 20, 24);
    // Letters m, n, k, l.
    let strides = |s: [usize; 4]| s.map(Owned::Stride).to_vec();
    for mask in [[0, 1, 0, 0], [n, 1, 0, 0], [1, m, 0, 0], [0, k, 1, 0]] {
        let mut array = |steps: [usize; 4]| Random {
            values: (0..20_000).map(|_| numbers.below(1000) as f64 / 500.0 - 1.0).collect(),
            steps: strides(steps),
        };
        let operands = [array([0, k, 1, 0]), array([0, l, 0, 1]), array(mask)];
        let mut output = array([k * l, 0, l, 1]);
        check(&[m, n, k, l], &operands, &mut output, &threads);
    }
}

/// `out[c, i, j] += sum_n R[n, c] X[n, i] X[n, j]`, of which half is summed, and with two arrays instead of one, of which all is.
#[test]
fn squares_of_one_array() {
    let numbers = &mut Numbers(7);
    let mut array =
        |count: usize| -> Vec<f64> { (0..count).map(|_| numbers.below(1000) as f64 / 500.0 - 1.0).collect() };
    for (n, c, size) in [(300, 6, 13), (4000, 20, 10), (50, 4, 40), (900, 1, 17)] {
        let (r, x, y, start) = (array(n * c), array(n * size), array(n * size), array(c * size * size));
        for (left, right) in [(&x, &x), (&x, &y)] {
            let mut expected = start.clone();
            for (place, expected) in expected.iter_mut().enumerate() {
                let (own, i, j) = (place / (size * size), place / size % size, place % size);
                let product = |row: usize| r[row * c + own] * left[row * size + i] * right[row * size + j];
                *expected += 2.0 * (0..n).map(product).sum::<f64>();
            }
            for set in available() {
                let mut first = None;
                for threads in [Threads::one(), Threads::new(3)] {
                    let mut values = start.clone();
                    // Letters c, i, j, n.
                    let operand = |values, steps: [usize; 4]| Operand {
                        values,
                        steps: steps.map(Step::Stride).as_slice().into(),
                    };
                    let operands = [
                        operand(&left[..], [0, 1, 0, size]),
                        operand(&right[..], [0, 0, 1, size]),
                        operand(&r[..], [1, 0, 0, c]),
                    ];
                    let steps = [size * size, size, 1, 0].map(Step::Stride).as_slice().into();
                    let output = Output { values: &mut values, steps };
                    contract_on(set, &[c, size, size, n], 2.0, &operands, output, &threads);
                    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * n as f64;
                    assert!(values.iter().zip(&expected).all(close), "{set:?} {n} {c} {size}");
                    let first = first.get_or_insert_with(|| values.clone());
                    assert!(*first == values, "{set:?} {n} {c} {size}: threads change the bits");
                }
            }
        }
    }
}

/// `out[i, j] += sum_k W[i, k] S[k, j]` with few `j`: `W` along `k` and along `i`, over several blocks of both, tiles that are
/// not full, and columns past the last whole vector.
#[test]
fn narrow_products() {
    let numbers = &mut Numbers(6);
    let threads = [Threads::new(1), Threads::new(3)];
    for [i, j, k] in [
        [50, 15, 70],
        [2060, 5, 40],
        [530, 33, 30],
        [9, 16, 1100],
        [700, 32, 9],
        [4, 4, 2050],
        [13, 17, 1030],
    ] {
        for (wide, narrow, out) in [
            ([k, 0, 1], [0, 1, j], [j, 1, 0]),
            ([1, 0, i], [0, 1, j], [j, 1, 0]),
            ([k, 0, 1], [0, k, 1], [1, i, 0]),
            ([1, 0, i + 3], [0, k, 1], [1, i, 0]),
        ] {
            let mut array = |steps: [usize; 3]| Random {
                values: (0..(i + 3) * (k + 3).max(j) + j * k)
                    .map(|_| numbers.below(1000) as f64 / 500.0 - 1.0)
                    .collect(),
                steps: steps.map(Owned::Stride).to_vec(),
            };
            let operands = [array(wide), array(narrow)];
            check(&[i, j, k], &operands, &mut array(out), &threads);
        }
    }
}

#[test]
#[should_panic(expected = "an operand's offsets lie inside it")]
fn offsets_are_checked() {
    let operand = Operand { values: &[1.0; 3], steps: [Step::Stride(1)].as_slice().into() };
    let output = Output { values: &mut [0.0], steps: [Step::Stride(0)].as_slice().into() };
    contract(&[4], 1.0, &[operand], output, &Threads::one());
}

/// Squares of single elements have the letters of a quadratic form, but are not one.
#[test]
fn squares_are_no_quadratic_forms() {
    let numbers = &mut Numbers(9);
    let sizes = [70, 5, 6, 4];
    let [m, j, a, x] = [0, 1, 2, 3];
    let forms: [[&[usize]; 3]; 4] = [
        [&[m, a], &[m, j, x], &[j, a, x]],
        [&[m, a], &[j, a, x], &[m, j]],
        [&[m, a], &[j, a, x], &[m, j, x]],
        [&[a, m], &[x, j, m], &[x, a, j]],
    ];
    for [rows, other, output] in forms {
        let [rows, other, mut output] = [rows, other, output].map(|letters| dense(numbers, &sizes, letters));
        let twin = Random { values: rows.values.clone(), steps: rows.steps.clone() };
        let start = output.values.clone();
        let operands = [rows, twin, other];
        naive(&sizes, -0.5, &operands, &mut output);
        let values = [&operands[0].values, &operands[0].values, &operands[2].values];
        let arrays: Vec<Operand> =
            values.iter().zip(&operands).map(|(values, own)| Operand { values, steps: steps(own) }).collect();
        for set in available() {
            let mut own = start.clone();
            let to = Output { values: &mut own, steps: steps(&output) };
            contract_on(set, &sizes, -0.5, &arrays, to, &Threads::one());
            let close = own.iter().zip(&output.values).all(|(own, wanted)| (own - wanted).abs() < 1e-10);
            assert!(close, "{set:?}");
        }
    }
}

/// An array of some of the letters, contiguous in this order.
fn dense(numbers: &mut Numbers, sizes: &[usize], letters: &[usize]) -> Random {
    let mut steps = vec![Owned::Stride(0); sizes.len()];
    let mut length = 1;
    for letter in letters.iter().rev() {
        steps[*letter] = Owned::Stride(length);
        length *= sizes[*letter];
    }
    Random { values: (0..length).map(|_| numbers.below(2000) as f64 / 1000.0 - 1.0).collect(), steps }
}

fn steps(own: &Random) -> Letters<Step<'_>> {
    own.steps.iter().map(Owned::view).collect()
}

/// Rows and pairs of more than one block, as few and as many matrices as a product pads or packs; matrices that are not
/// symmetric.
#[test]
fn quadratic_forms_and_second_moments_are_their_formulas() {
    let numbers = &mut Numbers(5);
    let threads = [Threads::new(1), Threads::new(3)];
    let [m, j, a, b] = [0, 1, 2, 3];
    let forms: [[&[usize]; 4]; 4] = [
        [&[m, a], &[m, b], &[j, a, b], &[m, j]],
        [&[a, m], &[b, m], &[b, j, a], &[j, m]],
        [&[a, m], &[b, m], &[m, j], &[j, a, b]],
        [&[m, a], &[m, b], &[j, m], &[a, j, b]],
    ];
    for [rows, count, size] in [[64, 4, 4], [300, 20, 10], [519, 40, 13], [70, 5, 12]] {
        let sizes = [rows, count, size, size];
        for [left, right, other, output] in forms {
            let arrays = [left, right, other, output].map(|letters| dense(numbers, &sizes, letters));
            let [left, mut right, other, mut output] = arrays;
            right.values.clone_from(&left.values);
            let start = output.values.clone();
            let mut wanted = Random { values: start.clone(), steps: output.steps.clone() };
            let operands = [left, right, other];
            naive(&sizes, -0.5, &operands, &mut wanted);
            // One array, read twice.
            let values = [&operands[0].values, &operands[0].values, &operands[2].values];
            let arrays: Vec<Operand> = values
                .iter()
                .zip(&operands)
                .map(|(values, own)| Operand { values, steps: steps(own) })
                .collect();
            let found = {
                let to = Output {
                    values: &mut output.values,
                    steps: wanted.steps.iter().map(Owned::view).collect(),
                };
                quadratic::find(&Problem::new(&sizes, 1.0, &arrays, to)).is_some()
            };
            assert!(found, "{sizes:?}");
            for set in available() {
                let mut first: Option<Vec<f64>> = None;
                for threads in &threads {
                    let mut values = start.clone();
                    let to = Output { values: &mut values, steps: steps(&wanted) };
                    contract_on(set, &sizes, -0.5, &arrays, to, threads);
                    let close =
                        values.iter().zip(&wanted.values).all(|(own, wanted)| (own - wanted).abs() < 1e-10);
                    assert!(close, "{set:?} {sizes:?}");
                    assert!(
                        first.get_or_insert_with(|| values.clone()) == &values,
                        "threads change the bits"
                    );
                }
            }
        }
    }
}
