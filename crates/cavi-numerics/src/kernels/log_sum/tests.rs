//! The pass against its formula, over random patterns, and against itself on other threads.

use std::borrow::Cow;

use super::*;
use crate::instruction_set::available;
use crate::kernels::by_rows;
use crate::kernels::pattern::Tile;
use crate::special::ln;

/// A small generator of numbers that only need to be different.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }

    fn unit(&mut self) -> f64 {
        (self.below(1 << 20) as f64 + 0.5) / (1u64 << 20) as f64
    }

    fn units(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.unit()).collect()
    }
}

#[derive(Clone)]
struct Case {
    pattern: Pattern<'static>,
    factors: Vec<(Vec<f64>, usize)>,
    length: usize,
    weights: Vec<f64>,
    addends: Option<Vec<f64>>,
    offsets: Option<Vec<f64>>,
}

#[derive(Clone, Debug, PartialEq)]
struct Result {
    accumulators: Vec<Option<Vec<f64>>>,
    ratios: Vec<f64>,
    sums: Vec<f64>,
    totals: Totals,
}

/// How the entries of a case are visited.
#[derive(Clone, Copy, PartialEq)]
enum Visited {
    AsTheyAre,
    ByRows,
    /// For factors of this many values a row.
    OnGrid(usize),
    /// The same, put in the order of the visits.
    InStrips(usize),
    /// By matrix products.
    Filled,
}

fn case(numbers: &mut Numbers, entries: usize, sizes: &[usize], length: usize, visited: Visited) -> Case {
    let columns: Vec<Vec<u32>> =
        sizes.iter().map(|size| (0..entries).map(|_| numbers.below(*size) as u32).collect()).collect();
    case_of(numbers, columns, sizes, length, visited)
}

/// Entries at most of the places of a grid: the last row and column have one, and the tenth row is full.
fn filled_case(numbers: &mut Numbers, [rows, width]: [usize; 2], length: usize) -> Case {
    let tenths = 6 + numbers.below(5);
    let places = (0..rows * width).filter(|place| {
        let is_last = *place + 1 == rows * width;
        numbers.below(10) < tenths || is_last || place / width == 9
    });
    let columns = places.map(|place| ((place / width) as u32, (place % width) as u32)).unzip();
    let case = case_of(numbers, vec![columns.0, columns.1], &[rows, width], length, Visited::Filled);
    assert!(case.pattern.is_filled() || case.pattern.len() < rows * width / 2);
    case
}

fn case_of(
    numbers: &mut Numbers,
    mut columns: Vec<Vec<u32>>,
    sizes: &[usize],
    length: usize,
    visited: Visited,
) -> Case {
    let entries = columns[0].len();
    if visited != Visited::AsTheyAre {
        let order = by_rows(&columns.iter().map(Vec::as_slice).collect::<Vec<_>>());
        columns =
            columns.iter().map(|own| order.iter().map(|entry| own[*entry as usize]).collect()).collect();
    }
    let padding = match numbers.below(4) {
        3 => length.next_multiple_of(8) - length,
        few => few,
    };
    let factors =
        sizes.iter().map(|size| (numbers.units(size * (length + padding)), length + padding)).collect();
    let weights = (0..entries).map(|_| numbers.below(4) as f64).collect();
    let has = numbers.below(4);
    let columns = columns.into_iter().map(Cow::Owned).collect();
    Case {
        pattern: match visited {
            Visited::AsTheyAre | Visited::ByRows => Pattern::new(columns),
            Visited::OnGrid(row_length) => Pattern::on_grid(columns, row_length),
            Visited::Filled => Pattern::filled(columns).unwrap_or_else(Pattern::new),
            Visited::InStrips(row_length) => {
                let by_rows = Pattern::on_grid(columns, row_length);
                let (pattern, order) = by_rows.in_strips().expect("a grid in the order of rows");
                assert!(pattern.in_strips().is_none());
                for mode in 0..pattern.modes() {
                    let moved = order.iter().map(|entry| by_rows.column(mode)[*entry as usize]);
                    assert!(
                        moved.eq(pattern.indices(mode).iter().copied()),
                        "an entry keeps its coordinates"
                    );
                }
                let places: Vec<f64> = (0..order.len()).map(|place| place as f64).collect();
                let moved = pattern.by_strips(&places).expect("a pattern in strips");
                for (entry, place) in order.iter().enumerate() {
                    assert_eq!(
                        (*place as usize, moved[entry]),
                        (pattern.place_by_rows(entry), f64::from(*place))
                    );
                    for mode in 0..pattern.modes() {
                        assert_eq!(pattern.index(mode, entry), by_rows.index(mode, *place as usize));
                    }
                }
                pattern
            }
        },
        factors,
        length,
        weights,
        addends: (has & 1 == 1).then(|| numbers.units(entries)),
        offsets: (has & 2 == 2).then(|| numbers.units(entries)),
    }
}

impl Case {
    fn start(&self, wanted: usize) -> Vec<Option<Vec<f64>>> {
        let accumulator = |i: usize| (wanted >> i & 1 == 1).then(|| vec![0.25; self.factors[i].0.len()]);
        (0..self.factors.len()).map(accumulator).collect()
    }

    fn run(&self, set: InstructionSet, wanted: usize, threads: &Threads) -> Result {
        self.run_stored(&self.doubles(), set, wanted, threads)
    }

    fn doubles(&self) -> Vec<Factor<'_>> {
        let double = |(values, stride)| Factor { values: Values::Double(values), stride };
        self.factors.iter().map(|(values, stride)| double((values.as_slice(), *stride))).collect()
    }

    fn singles(&self) -> Vec<Vec<f32>> {
        self.factors.iter().map(|(values, _)| values.iter().map(|value| *value as f32).collect()).collect()
    }

    fn stored<'v>(&self, singles: &'v [Vec<f32>]) -> Vec<Factor<'v>> {
        let single = |(values, (_, stride)): (&'v Vec<f32>, &(Vec<f64>, usize))| Factor {
            values: Values::Single(values),
            stride: *stride,
        };
        singles.iter().zip(&self.factors).map(single).collect()
    }

    fn run_stored(
        &self,
        factors: &[Factor],
        set: InstructionSet,
        wanted: usize,
        threads: &Threads,
    ) -> Result {
        let entries = self.pattern.len();
        let mut accumulators = self.start(wanted);
        let (mut ratios, mut sums) = (vec![-1.0; entries], vec![-1.0; entries]);
        let input = LogSum {
            pattern: &self.pattern,
            factors,
            length: self.length,
            weights: &self.weights,
            addends: self.addends.as_deref(),
            offsets: self.offsets.as_deref(),
            ratios: None,
            least: LEAST,
            own: None,
        };
        let outputs = Outputs {
            accumulators: accumulators.iter_mut().map(Option::as_deref_mut).collect(),
            ratios: Some(&mut ratios),
            sums: Some(&mut sums),
            total: true,
        };
        let mut scratch = Scratch { copies: vec![f64::NAN; 3], ..Scratch::default() };
        let totals = log_sum_on(set, &input, outputs, &mut scratch, threads);
        Result { accumulators, ratios, sums, totals }
    }

    /// The same in two steps: ratios and total from the sums of an earlier pass, then the accumulators.
    fn run_from(&self, sums: &[f64], set: InstructionSet, wanted: usize, threads: &Threads) -> Result {
        let mut ratios = vec![-1.0; self.pattern.len()];
        let (addends, offsets) = (self.addends.as_deref(), self.offsets.as_deref());
        let known = Known { sums, weights: &self.weights, addends, offsets, least: LEAST };
        let totals = super::ratios(&known, true, &mut ratios, threads);
        let mut accumulators = self.start(wanted);
        let input = LogSum {
            pattern: &self.pattern,
            factors: &self.doubles(),
            length: self.length,
            weights: &self.weights,
            addends,
            offsets,
            ratios: Some(&ratios),
            least: LEAST,
            own: None,
        };
        let outputs = Outputs {
            accumulators: accumulators.iter_mut().map(Option::as_deref_mut).collect(),
            ..Outputs::default()
        };
        let nothing = log_sum_on(set, &input, outputs, &mut Scratch::default(), threads);
        assert_eq!(nothing, Totals::default());
        Result { accumulators, ratios, sums: sums.to_vec(), totals }
    }

    fn naive(&self, wanted: usize) -> Result {
        let entries = self.pattern.len();
        let mut result = Result {
            accumulators: self.start(wanted),
            ratios: vec![0.0; entries],
            sums: vec![0.0; entries],
            totals: Totals::default(),
        };
        let modes = self.factors.len();
        for e in 0..entries {
            let at = |i: usize, k: usize| self.pattern.index(i, e) * self.factors[i].1 + k;
            let product = |k: usize, without: usize| -> f64 {
                (0..modes).filter(|i| *i != without).map(|i| self.factors[i].0[at(i, k)]).product()
            };
            result.sums[e] = (0..self.length).map(|k| product(k, modes)).sum::<f64>();
            let s = self.addends.as_ref().map_or(0.0, |c| c[e]) + result.sums[e];
            if self.weights[e] == 0.0 {
                continue;
            }
            if !(LEAST..f64::INFINITY).contains(&s) {
                result.totals.rare.push(e);
                continue;
            }
            result.ratios[e] = self.weights[e] / s;
            for (i, accumulator) in result.accumulators.iter_mut().enumerate() {
                for k in 0..self.length {
                    if let Some(accumulator) = accumulator {
                        accumulator[at(i, k)] += result.ratios[e] * product(k, i);
                    }
                }
            }
            result.totals.total += self.weights[e] * (ln(s) + self.offsets.as_ref().map_or(0.0, |o| o[e]));
        }
        result
    }
}

fn are_close(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            a.to_bits() == b.to_bits()
                || (a.is_nan() && b.is_nan())
                || (a - b).abs() <= 1e-11 * (1.0 + b.abs())
        })
}

/// Factors in single precision give what doubles of the same values give, to the bit where both are visited entry by entry.
fn check_single(case: &Case, wanted: usize, threads: &[Threads]) {
    if case.factors.len() != 2 || case.pattern.is_filled() {
        return;
    }
    let singles = case.singles();
    let factors = case.stored(&singles);
    let rounded: Vec<Vec<f64>> =
        singles.iter().map(|values| values.iter().map(|value| f64::from(*value)).collect()).collect();
    let doubles: Vec<Factor> = rounded
        .iter()
        .zip(&factors)
        .map(|(values, own)| Factor { values: Values::Double(values), ..*own })
        .collect();
    for set in available() {
        let result = case.run_stored(&factors, set, wanted, &threads[0]);
        let expected = case.run_stored(&doubles, set, wanted, &threads[0]);
        assert_eq!(format!("{result:?}"), format!("{expected:?}"), "{set:?}");
        for threads in &threads[1..] {
            let again = case.run_stored(&factors, set, wanted, threads);
            assert!(format!("{again:?}") == format!("{result:?}"), "threads change the bits");
        }
    }
}

/// Band after band, the counts of the first mode have the bits that they have when all are taken.
fn check_rows(case: &Case, threads: &Threads) {
    if !case.pattern.stands_in_rows() {
        return;
    }
    let (values, stride) = (&case.factors[0].0, case.factors[0].1);
    let rows = case.pattern.size(0);
    for set in available() {
        let whole = case.run(set, 1, threads);
        let mut own = case.start(1)[0].clone().expect("the first is wanted");
        for each in [1, 3, rows.max(1)] {
            own.fill(0.25);
            let mut rare = 0;
            for start in (0..rows).step_by(each) {
                let band = start..rows.min(start + each);
                let place = start * stride..band.end * stride;
                let mut factors = case.doubles();
                factors[0].values = Values::Double(&values[place.clone()]);
                let input = LogSum {
                    pattern: &case.pattern,
                    factors: &factors,
                    length: case.length,
                    weights: &case.weights,
                    addends: case.addends.as_deref(),
                    offsets: None,
                    ratios: None,
                    least: LEAST,
                    own: None,
                };
                rare += usize::from(!rows::log_sum_rows_on(set, &input, band, &mut own[place]));
            }
            assert_eq!(rare == 0, whole.totals.rare.is_empty());
            let whole = whole.accumulators[0].as_ref().expect("the first was wanted");
            assert!(own.iter().zip(whole).all(|(own, whole)| own.to_bits() == whole.to_bits()), "{set:?}");
        }
    }
}

fn check_case(case: &Case, wanted: usize, threads: &[Threads]) {
    check_single(case, wanted, threads);
    check_rows(case, &threads[0]);
    let expected = case.naive(wanted);
    for set in available() {
        let result = case.run(set, wanted, &threads[0]);
        let from_sums = case.run_from(&result.sums, set, wanted, &threads[0]);
        let context = format!("{set:?}, {} modes, K = {}", case.factors.len(), case.length);
        for result in [&result, &from_sums] {
            assert_eq!(result.totals.rare, expected.totals.rare, "{context}");
            assert!(are_close(&result.sums, &expected.sums), "{context}");
            assert!(are_close(&result.ratios, &expected.ratios), "{context}");
            let scale = 1.0 + case.weights.iter().sum::<f64>();
            assert!((result.totals.total - expected.totals.total).abs() <= 1e-11 * scale, "{context}");
            for (result, expected) in result.accumulators.iter().zip(&expected.accumulators) {
                match (result, expected) {
                    (Some(result), Some(expected)) => assert!(are_close(result, expected), "{context}"),
                    (result, expected) => assert_eq!(result, expected),
                }
            }
        }
        for threads in &threads[1..] {
            let again = format!("{:?}", case.run(set, wanted, threads));
            assert!(again == format!("{result:?}"), "{context}: threads change the bits");
            let again = format!("{:?}", case.run_from(&result.sums, set, wanted, threads));
            assert!(again == format!("{from_sums:?}"), "{context}: threads change the bits");
        }
    }
}

#[test]
fn is_its_formula() {
    let numbers = &mut Numbers(7);
    let threads = [Threads::new(1), Threads::new(2), Threads::new(5)];
    for entries in [0, 1, 5, 300] {
        for sizes in [&[7][..], &[9, 4], &[3, 50], &[4, 3, 5], &[3, 2, 2, 3], &[2, 3, 2, 2, 2]] {
            for length in [0, 1, 2, 3, 4, 8, 9, 17, 32] {
                let visited = if numbers.below(3) > 0 { Visited::ByRows } else { Visited::AsTheyAre };
                let wanted = numbers.below(1 << sizes.len());
                let case = case(numbers, entries, sizes, length, visited);
                check_case(&case, wanted, &threads);
                check_case(&case, (1 << sizes.len()) - 1, &threads[..1]);
            }
        }
    }
}

#[test]
fn several_chunks_are_one() {
    let numbers = &mut Numbers(8);
    let threads = [Threads::new(1), Threads::new(2), Threads::new(3)];
    let (plain, by_rows) = (Visited::AsTheyAre, Visited::ByRows);
    for (visited, sizes) in
        [(by_rows, &[200, 30][..]), (plain, &[20, 30]), (by_rows, &[50, 20, 9]), (plain, &[9])]
    {
        let case = case(numbers, 9000, sizes, 5, visited);
        assert_eq!(case.pattern.chunks().len(), 5);
        assert_eq!(case.pattern.is_disjoint(), visited == by_rows);
        check_case(&case, (1 << sizes.len()) - 1, &threads);
    }
}

/// Wide and narrow strips, rows and columns without an entry, a row of most entries, three modes and more.
#[test]
fn a_grid_is_one_chunk() {
    let numbers = &mut Numbers(10);
    let threads = [Threads::new(1), Threads::new(2), Threads::new(3)];
    for (entries, row_length, sizes) in [
        (9_000, 5, &[200, 300][..]),
        (20_000, 25_000, &[300, 40]),
        (20_000, 25_000, &[3, 40]),
        (9_000, 1_000, &[50, 400, 9]),
        (9_000, 1_000, &[50, 40, 9, 3]),
        (9_000, 50_000, &[50, 4, 9, 3, 2]),
    ] {
        // More modes than a kernel is compiled for stay in the order of rows.
        let in_strips = (sizes.len() < 5).then_some(Visited::InStrips(row_length));
        for visited in std::iter::once(Visited::OnGrid(row_length)).chain(in_strips) {
            let case = case(numbers, entries, sizes, 5, visited);
            assert!(case.pattern.has_grid() && case.pattern.is_disjoint(), "{sizes:?}");
            for wanted in [1, 2, (1 << sizes.len()) - 1] {
                check_case(&case, wanted, &threads);
            }
        }
    }
}

/// Rows in slabs: of entries in the order of rows, in strips, and of those that fill a matrix.
#[test]
fn slabs_are_one_chunk() {
    let numbers = &mut Numbers(29);
    let threads = [Threads::new(1), Threads::new(2), Threads::new(3)];
    let grids = [Visited::OnGrid(9_000), Visited::InStrips(9_000)]
        .map(|own| case(numbers, 40_000, &[2_000, 60], 5, own));
    let filled = filled_case(numbers, [700, 130], 8);
    for case in grids.into_iter().chain([filled]) {
        let pattern = case.pattern.in_slabs(2);
        let grid = pattern.grid().expect("a grid");
        assert!((0..2).all(|slab| !grid.runs_of(Tile { chunk: 0, slab, strip: 0 }).1.is_empty()));
        check_case(&Case { pattern: pattern.clone(), ..case }, 3, &threads);
    }
}

/// Blocks of less than a row and more, one group of columns and several, entries that fill their rows and those that do not.
#[test]
fn products_are_one_chunk() {
    let numbers = &mut Numbers(11);
    let threads = [Threads::new(1), Threads::new(2), Threads::new(3)];
    for sizes in [[1, 1], [2, 7], [12, 64], [70, 130], [130, 65], [150, 520], [9_000, 3]] {
        for length in [0, 1, 8, 20] {
            let mut case = filled_case(numbers, sizes, length);
            let wanted = [1, 2, 3][numbers.below(3)];
            check_case(&case, wanted, &threads);
            // An entry whose sum is almost 0 is left out and changes no other entry. Nor do entries of weight 0.
            let (stride, rows) = (case.factors[0].1, sizes[0]);
            for (row, value) in [(1, 0.0), (3, 1e-260), (4, 1e307), (9, 1e-280)] {
                let own = (row * stride).min(rows * stride)..(row * stride + length).min(rows * stride);
                case.factors[0].0[own].fill(value);
            }
            check_case(&case, 3, &threads[..2]);
            // What is infinite is not multiplied by nothing.
            let last = stride * rows - stride;
            case.factors[0].0[last..last + length].fill(f64::INFINITY);
            check_case(&case, 3, &threads[..1]);
        }
    }
}

/// All places of a matrix without their columns have the bits that they have with them, sums outside of the range of doubles included.
#[test]
fn a_whole_matrix_needs_no_columns() {
    let numbers = &mut Numbers(23);
    let cases = [([5, 3], 4), ([70, 130], 9), ([300, 64], 16), ([1, 200], 8), ([900, 20], 5)];
    for ((sizes, length), rare) in cases.into_iter().flat_map(|own| [(own, 1e-260), (own, f64::INFINITY)]) {
        let places = (0..sizes[0] * sizes[1]).map(|place| place as u32);
        let columns = places.map(|place| (place / sizes[1] as u32, place % sizes[1] as u32)).unzip();
        let mut case = case_of(numbers, vec![columns.0, columns.1], &sizes, length, Visited::Filled);
        if sizes[0] > 4 {
            let stride = case.factors[0].1;
            case.factors[0].0[3 * stride..3 * stride + length].fill(rare);
        }
        let whole = Case { pattern: Pattern::whole(sizes), ..case.clone() };
        for mode in 0..2 {
            assert_eq!(whole.pattern.indices(mode), case.pattern.indices(mode));
            assert!(
                (0..whole.pattern.len())
                    .all(|own| whole.pattern.index(mode, own) == case.pattern.index(mode, own))
            );
        }
        assert_eq!(whole.pattern.chunks(), case.pattern.chunks());
        assert_eq!(whole.pattern.outline(), case.pattern.outline());
        for set in available() {
            for wanted in 0..4 {
                let of = |case: &Case| case.run(set, wanted, &Threads::new(2));
                assert_eq!(of(&whole), of(&case), "{sizes:?}");
            }
        }
    }
}

#[test]
fn a_grid_is_filled_by_one_entry_a_place() {
    let pattern = |columns: &[&[u32]]| {
        Pattern::filled(columns.iter().map(|own| Cow::Owned(own.to_vec())).collect()).is_ok()
    };
    let fills = pattern::fills_a_grid;
    let full: [&[u32]; 2] = [&[0, 0, 1, 1], &[0, 1, 0, 1]];
    assert!(pattern(&full) && fills(full));
    let out_of_order: [&[u32]; 2] = [&[1, 0, 1], &[1, 1, 0]];
    assert!(!pattern(&out_of_order) && fills(out_of_order));
    for columns in
        [[&[0, 0, 1, 1], &[0, 1, 1, 1]], [&[0, 1, 1, 0], &[0, 0, 1, 0]], [&[0, 0, 1, 4], &[0, 3, 0, 4]]]
    {
        let columns: [&[u32]; 2] = columns.map(|own: &[u32; 4]| &own[..]);
        assert!(!pattern(&columns) && !fills(columns), "{columns:?}");
    }
    assert!(!pattern(&[&[], &[]]) && !fills([&[], &[]]));
    assert!(!pattern(&[&[0, 1]]) && !pattern(&[&[0, 1], &[0, 0], &[0, 0]]));
}

/// Rows with 80 entries among 2,000 columns: where strips are wanted, eight threads have work, and no thread one chunk more than the others.
#[test]
fn many_threads_have_chunks_of_their_own() {
    let (rows, width) = (2000_u32, 2000_u32);
    let place = |entry: u32| (entry / 80, entry % 80 * 25 + (entry / 80) % 25);
    let columns: [Vec<u32>; 2] = [
        (0..rows * 80).map(|entry| place(entry).0).collect(),
        (0..rows * 80).map(|entry| place(entry).1).collect(),
    ];
    let chunks = |row_length: usize| {
        let pattern =
            Pattern::on_grid(columns.iter().map(|own| Cow::Borrowed(&own[..])).collect(), row_length);
        let grid = pattern.grid().expect("order and work");
        (grid.chunks(), grid.groups())
    };
    assert_eq!(chunks(50 * width as usize / 250), (8, 8), "sixteen strips of 400 KB are wanted");
    assert_eq!(
        chunks(8),
        (4, 4),
        "one strip, and no more than five groups for sixteen entries of a row in each"
    );
}

#[test]
fn no_grid_without_order_or_work() {
    let pattern =
        |columns: Vec<Vec<u32>>| Pattern::on_grid(columns.into_iter().map(Cow::Owned).collect(), 10);
    let (rising, constant): (Vec<u32>, Vec<u32>) = ((0..20_000).collect(), vec![0; 20_000]);
    let falling: Vec<u32> = rising.iter().rev().copied().collect();
    let rows: Vec<u32> = rising.iter().map(|entry| entry / 100).collect();
    assert!(pattern(vec![rows.clone(), rising.clone()]).has_grid());
    assert!(!pattern(vec![rows.clone(), falling]).has_grid(), "columns out of order");
    assert!(!pattern(vec![rows.clone(), constant.clone()]).has_grid(), "one column");
    assert!(!pattern(vec![constant, rising.clone()]).has_grid(), "one row");
    assert!(
        !pattern(vec![rising.clone(), rising]).has_grid(),
        "one entry a row: the grid would be larger than they"
    );
    assert!(!pattern(vec![rows]).has_grid(), "one mode");
    assert!(!pattern(vec![Vec::new(), Vec::new()]).has_grid());
}

#[test]
fn rare_sums_touch_nothing() {
    let numbers = &mut Numbers(9);
    for length in [1, 7, 16] {
        let mut case = case(numbers, 60, &[8, 9], length, Visited::ByRows);
        case.addends = None;
        for (row, value) in [(1, 0.0), (3, 1e-260), (4, f64::INFINITY), (6, f64::NAN)] {
            let stride = case.factors[0].1;
            case.factors[0].0[row * stride..row * stride + length].fill(value);
        }
        check_case(&case, 3, &[Threads::one()]);
    }
}

/// Rows of whole vectors, whatever numbers stand behind their own, have the bits of rows as long as they are.
#[test]
fn padding_changes_no_bit() {
    let numbers = &mut Numbers(31);
    for (entries, sizes, length) in [(900, [30, 40], 5), (6000, [60, 50], 20), (20_000, [90, 700], 11)] {
        let mut case = case(numbers, entries, &sizes, length, Visited::OnGrid(length));
        let own = |values: &[f64], stride: usize| -> Vec<f64> {
            values.chunks(stride).flat_map(|row| &row[..length]).copied().collect()
        };
        let with_stride = |case: &mut Case, strides: [usize; 2]| {
            for (factor, stride) in case.factors.iter_mut().zip(strides) {
                let mut values = Vec::new();
                for row in own(&factor.0, factor.1).chunks(length) {
                    values.extend_from_slice(row);
                    values.resize(values.len() + stride - length, 1e30);
                }
                *factor = (values, stride);
            }
        };
        let run = |case: &Case, set, wanted, single: bool| {
            if !single {
                return case.run(set, wanted, &Threads::new(2));
            }
            case.run_stored(&case.stored(&case.singles()), set, wanted, &Threads::new(2))
        };
        for (set, single) in available().into_iter().flat_map(|set| [(set, false), (set, true)]) {
            for wanted in 0..4 {
                let mut results = Vec::new();
                for strides in [[length; 2], [length, length.next_multiple_of(8)]] {
                    with_stride(&mut case, strides);
                    let mut result = run(&case, set, wanted, single);
                    for (accumulator, stride) in result.accumulators.iter_mut().zip(strides) {
                        *accumulator = accumulator.take().map(|values| own(&values, stride));
                    }
                    results.push(result);
                }
                assert_eq!(results[0], results[1], "{set:?}, {sizes:?}, {wanted}, single {single}");
            }
        }
    }
}

/// Means, masses, priors and totals of a pass that leaves shares out.
struct OwnCase {
    means: Vec<Vec<f64>>,
    masses: Vec<Vec<f64>>,
    priors: Vec<Vec<f64>>,
    /// Totals and what of them stays; empty for means that are over none.
    totals: Vec<[Vec<f64>; 2]>,
    /// For each mode what a unit adds to its means, where that is the same for all rows.
    scales: Vec<Option<Vec<f64>>>,
}

impl OwnCase {
    /// With modes whose units add the same to the means of all rows, or without.
    fn new(
        numbers: &mut Numbers,
        sizes: &[usize],
        length: usize,
        least_total: f64,
        by_category: bool,
    ) -> OwnCase {
        let mut each = |size: usize, least: f64| -> Vec<f64> {
            numbers.units(size * length).into_iter().map(|own| least + own).collect()
        };
        let priors: Vec<Vec<f64>> = sizes.iter().map(|_| each(1, 0.01)).collect();
        let totals = |numbers: &mut Numbers| {
            let own = |numbers: &mut Numbers, least: f64| -> Vec<f64> {
                numbers.units(length).into_iter().map(|own| least + own).collect()
            };
            [own(numbers, least_total), own(numbers, 0.1)]
        };
        let means = sizes.iter().map(|size| each(*size, 0.0)).collect();
        let masses: Vec<Vec<f64>> = sizes.iter().map(|size| each(*size, 0.3)).collect();
        let mut means: Vec<Vec<f64>> = means;
        let scale = |mode: usize| (by_category && mode != 2).then(|| each(1, 0.2));
        let scales: Vec<Option<Vec<f64>>> = (0..sizes.len()).map(scale).collect();
        for (mode, scales) in scales.iter().enumerate() {
            let Some(scales) = scales else { continue };
            for (means, masses) in means[mode].chunks_mut(length).zip(masses[mode].chunks(length)) {
                for (k, mean) in means.iter_mut().enumerate() {
                    *mean = masses[k].max(priors[mode][k]) * scales[k];
                }
            }
        }
        let totals = (0..sizes.len())
            .map(|mode| if mode % 2 == 1 { totals(numbers) } else { [Vec::new(), Vec::new()] })
            .collect();
        OwnCase { means, masses, priors, totals, scales }
    }

    /// The counts of every mode.
    fn naive(&self, case: &Case) -> Vec<Vec<f64>> {
        let length = case.length;
        let mut counts: Vec<Vec<f64>> = self.means.iter().map(|own| vec![0.0; own.len()]).collect();
        for (e, weight) in case.weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            let at = |i: usize, k: usize| case.pattern.index(i, e) * length + k;
            let first: Vec<f64> = (0..length)
                .map(|k| (0..self.means.len()).map(|i| self.means[i][at(i, k)]).product())
                .collect();
            let sum: f64 = first.iter().sum();
            let left = |share: f64, mass: f64, prior: f64| (1.0 - share / mass).max(prior / mass.max(prior));
            let second: Vec<f64> = (0..length)
                .map(|k| {
                    let share = weight.min(1.0) * first[k] / sum;
                    let of_mode = |i: usize| {
                        let own = left(share, self.masses[i][at(i, k)], self.priors[i][k]);
                        let [totals, kept] = &self.totals[i];
                        if totals.is_empty() { own } else { own / left(share, totals[k], kept[k]) }
                    };
                    first[k] * (0..self.means.len()).map(of_mode).product::<f64>()
                })
                .collect();
            let sum: f64 = second.iter().sum();
            for (i, counts) in counts.iter_mut().enumerate() {
                (0..length).for_each(|k| counts[at(i, k)] += weight * second[k] / sum);
            }
        }
        counts
    }

    fn run(&self, case: &Case, set: InstructionSet, threads: usize) -> Vec<Vec<f64>> {
        let (length, width) = (case.length, width_of(case.length));
        let padded = |values: &[f64]| -> Vec<f64> {
            values.iter().copied().chain(std::iter::repeat(0.0)).take(width).collect()
        };
        let rows = |i: usize| -> Vec<f64> {
            let each = self.means[i].chunks(length).zip(self.masses[i].chunks(length));
            each.flat_map(|(means, masses)| {
                let masses = masses.iter().zip(&self.priors[i]).map(|(own, prior)| own.max(*prior));
                let scales: Vec<f64> = means.iter().zip(masses).map(|(mean, mass)| mean / mass).collect();
                let by_row = if self.scales[i].is_none() { padded(&scales) } else { Vec::new() };
                [padded(means), by_row].concat()
            })
            .collect()
        };
        let modes = self.means.len();
        let values: Vec<Vec<f64>> = (0..modes).map(rows).collect();
        let priors: Vec<Vec<f64>> = self.priors.iter().map(|own| padded(own)).collect();
        let scales: Vec<Vec<f64>> =
            self.scales.iter().map(|own| own.as_ref().map_or(Vec::new(), |own| padded(own))).collect();
        let stride = |i: usize| if scales[i].is_empty() { 2 * width } else { width };
        let total = |[totals, kept]: &[Vec<f64>; 2]| -> Vec<f64> {
            if totals.is_empty() {
                return Vec::new();
            }
            let inverse: Vec<f64> = totals.iter().zip(kept).map(|(own, kept)| 1.0 / own.max(*kept)).collect();
            let most: Vec<f64> = inverse.iter().zip(kept).map(|(own, kept)| 1.0 - kept * own).collect();
            [padded(&inverse), padded(&most)].concat()
        };
        let totals: Vec<Vec<f64>> = self.totals.iter().map(total).collect();
        let factors: Vec<Factor> = values
            .iter()
            .enumerate()
            .map(|(i, own)| Factor { values: Values::Double(own), stride: stride(i) })
            .collect();
        let input = LogSum {
            pattern: &case.pattern,
            factors: &factors,
            length,
            weights: &case.weights,
            addends: None,
            offsets: None,
            ratios: None,
            least: LEAST,
            own: Some(Own {
                width,
                priors: &priors.iter().map(Vec::as_slice).collect::<Vec<_>>(),
                scales: &scales.iter().map(Vec::as_slice).collect::<Vec<_>>(),
                totals: &totals.iter().map(Vec::as_slice).collect::<Vec<_>>(),
            }),
        };
        let mut sums: Vec<Vec<f64>> = values.iter().map(|own| vec![0.0; own.len()]).collect();
        let accumulators = sums.iter_mut().map(|own| Some(own.as_mut_slice())).collect();
        let outputs = Outputs { accumulators, ..Outputs::default() };
        let totals = log_sum_on(set, &input, outputs, &mut Scratch::default(), &Threads::new(threads));
        assert!(totals.rare.is_empty());
        let short = |(i, own): (usize, &Vec<f64>)| {
            own.chunks(stride(i)).flat_map(|row| row[..length].to_vec()).collect()
        };
        sums.iter().enumerate().map(short).collect()
    }
}

#[test]
fn shares_are_left_out_as_the_formula_says() {
    let mut numbers = Numbers(77);
    for number in 0..24 {
        let (sizes, row_length): (&[usize], usize) = match number / 4 % 3 {
            0 => (&[200, 300], 5),
            1 => (&[50, 400, 9], 1_000),
            _ => (&[50, 40, 9, 3], 1_000),
        };
        let (visited, entries) = match number % 4 {
            0 => (Visited::AsTheyAre, [3, 700, 9_000][number % 3]),
            1 => (Visited::ByRows, [3, 700, 9_000][number % 3]),
            2 => (Visited::OnGrid(row_length), 9_000),
            _ => (Visited::InStrips(row_length), 9_000),
        };
        let length = 1 + number * 3 % 21;
        let mut case = case(&mut numbers, entries, sizes, length, visited);
        assert_eq!(case.pattern.has_grid(), number % 4 > 1, "{sizes:?}");
        let value = |numbers: &mut Numbers| [0.0, 0.3, 1.0, 4.0][numbers.below(4)];
        case.weights.iter_mut().for_each(|own| *own = value(&mut numbers));
        // Totals of which a unit is a large part, and a small one.
        let own = OwnCase::new(&mut numbers, sizes, length, [0.2, 500.0][number % 2], number % 3 > 0);
        let expected = own.naive(&case);
        for set in available() {
            let found = own.run(&case, set, 1);
            for (found, expected) in found.iter().zip(&expected) {
                let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-11 * b.abs().max(1e-3);
                assert!(found.iter().zip(expected).all(near), "{number} {set:?}");
            }
            for threads in [2, 3] {
                assert_eq!(own.run(&case, set, threads), found, "{number} {set:?}, {threads} threads");
            }
        }
    }
}
