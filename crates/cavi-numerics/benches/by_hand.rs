//! Fused passes over sparse entries, each written by hand for one shape, as one would write them for a single model.
//!
//! Four entries of a row at a time, the row of the first factor shared between them; logarithms over a buffer; vectors of
//! eight (AVX-512) or four doubles (AVX2 and FMA), chosen at run time. Benches include this file by its path.

#![allow(unsafe_code)]

use cavi_numerics::{InstructionSet, instruction_set, special};

/// Two modes: `s = sum_k a b (+ strength profile)`, `r = weight / s`, `ga += r b`, `gb += r a`.
pub struct Two<'a> {
    /// The number of values of `k`.
    pub length: usize,
    /// The row of each entry.
    pub rows: &'a [u32],
    /// The column of each entry.
    pub columns: &'a [u32],
    /// The weight of each entry.
    pub weights: &'a [f64],
    /// Rows by `k`.
    pub a: &'a [f64],
    /// Columns by `k`.
    pub b: &'a [f64],
    /// The row that `ga` and the background's counts begin with.
    pub first_row: usize,
    /// Added to, where wanted.
    pub ga: Option<&'a mut [f64]>,
    /// Added to, where wanted.
    pub gb: Option<&'a mut [f64]>,
    /// What is added to each partition.
    pub background: Option<Background<'a>>,
    /// Whether the sum of weight times logarithm is wanted.
    pub total: bool,
}

/// An additive background of rank one.
pub struct Background<'a> {
    /// One number a row.
    pub strength: &'a [f64],
    /// One number a column.
    pub profile: &'a [f64],
    /// For each row, the sum of `r profile`, added to, where wanted.
    pub counts: Option<&'a mut [f64]>,
}

/// Three modes: `s = sum_k a b c`, `r = weight / s`, `ga += r b c` and so on.
pub struct Three<'a> {
    /// The number of values of `k`.
    pub length: usize,
    /// The rows of each entry in the three factors.
    pub columns: [&'a [u32]; 3],
    /// The weight of each entry.
    pub weights: &'a [f64],
    /// Rows by `k`, three times.
    pub factors: [&'a [f64]; 3],
    /// The row that the first accumulator begins with.
    pub first_row: usize,
    /// Added to, where wanted.
    pub accumulators: [Option<&'a mut [f64]>; 3],
    /// Whether the sum of weight times logarithm is wanted.
    pub total: bool,
}

/// Whether this machine has the instructions.
pub fn is_available() -> bool {
    instruction_set() != InstructionSet::Portable
}

/// Runs a pass over two modes: the sum of weight times logarithm, or 0. NaN where [`is_available`] says no.
pub fn two(mut pass: Two) -> f64 {
    let entries = pass.rows.len();
    assert!(entries == pass.columns.len() && entries == pass.weights.len(), "one of each an entry");
    let rows = pass.rows.iter().max().map_or(0, |row| *row as usize + 1);
    let columns = pass.columns.iter().max().map_or(0, |column| *column as usize + 1);
    let own = rows.saturating_sub(pass.first_row);
    assert!(pass.rows.iter().all(|row| *row as usize >= pass.first_row), "rows begin with the first");
    assert!(
        pass.a.len() >= rows * pass.length && pass.b.len() >= columns * pass.length,
        "rows of the factors"
    );
    assert!(pass.ga.as_ref().is_none_or(|ga| ga.len() >= own * pass.length), "rows of the first accumulator");
    assert!(
        pass.gb.as_ref().is_none_or(|gb| gb.len() >= columns * pass.length),
        "rows of the second accumulator"
    );
    if let Some(background) = &pass.background {
        assert!(background.strength.len() >= rows && background.profile.len() >= columns, "the background");
        assert!(
            background.counts.as_ref().is_none_or(|counts| counts.len() >= own),
            "counts of the background"
        );
    }
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: the instructions were detected; the slices were checked above.
        match instruction_set() {
            InstructionSet::Avx512 => return unsafe { x86::avx512::two(&mut pass) },
            InstructionSet::Avx2 => return unsafe { x86::avx2::two(&mut pass) },
            InstructionSet::Portable => {}
        }
    }
    let _ = &mut pass;
    f64::NAN
}

/// Runs a pass over three modes: the sum of weight times logarithm, or 0. NaN where [`is_available`] says no.
pub fn three(mut pass: Three) -> f64 {
    for mode in 0..3 {
        let column = pass.columns[mode];
        assert_eq!(column.len(), pass.weights.len(), "one of each an entry");
        let rows = column.iter().max().map_or(0, |row| *row as usize + 1);
        let first = if mode == 0 { pass.first_row } else { 0 };
        assert!(column.iter().all(|row| *row as usize >= first), "rows begin with the first");
        assert!(pass.factors[mode].len() >= rows * pass.length, "rows of a factor");
        let needed = rows.saturating_sub(first) * pass.length;
        assert!(
            pass.accumulators[mode].as_ref().is_none_or(|own| own.len() >= needed),
            "rows of an accumulator"
        );
    }
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: the instructions were detected; the slices were checked above.
        match instruction_set() {
            InstructionSet::Avx512 => return unsafe { x86::avx512::three(&mut pass) },
            InstructionSet::Avx2 => return unsafe { x86::avx2::three(&mut pass) },
            InstructionSet::Portable => {}
        }
    }
    let _ = &mut pass;
    f64::NAN
}

/// How many entries from `e` on, at most four, share its row.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn run_length(rows: &[u32], e: usize) -> usize {
    let end = rows.len().min(e + 4);
    rows[e..end].iter().position(|row| *row != rows[e]).unwrap_or(end - e)
}

/// The logarithms of a block of partitions, times their weights.
#[cfg(target_arch = "x86_64")]
fn log_block(sums: &[f64], logs: &mut [f64], weights: &[f64]) -> f64 {
    special::ln_into(sums, logs);
    logs.iter().zip(weights).map(|(log, weight)| log * weight).sum()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// `[sum t_0, ..., sum t_3]`.
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn sums(t: [__m256d; 4]) -> __m256d {
        let (ab, cd) = (_mm256_hadd_pd(t[0], t[1]), _mm256_hadd_pd(t[2], t[3]));
        let (x, y) = (_mm256_permute2f128_pd::<0x21>(ab, cd), _mm256_blend_pd::<0b1100>(ab, cd));
        _mm256_add_pd(x, y)
    }

    macro_rules! kernels {
        (
            $name:ident, $features:literal, $wide:ty, $lanes:literal,
            $load:ident, $store:ident, $fma:ident, $mul:ident, $set:ident, $halves:expr
        ) => {
            pub(super) mod $name {
                use std::arch::x86_64::*;

                use super::super::{Three, Two, log_block, run_length};
                use super::sums;

                const BLOCK: usize = 512;

                /// The two halves of a register, added.
                #[target_feature(enable = $features)]
                #[inline]
                fn halves(wide: $wide) -> __m256d {
                    let halves: fn($wide) -> __m256d = $halves;
                    halves(wide)
                }

                /// Where everything is, so that no store can be thought to change it.
                #[derive(Clone, Copy)]
                struct Places<const M: usize> {
                    length: usize,
                    indices: [*const u32; M],
                    weights: *const f64,
                    factors: [*const f64; M],
                    accumulators: [*mut f64; M],
                    first_row: usize,
                    strength: *const f64,
                    profile: *const f64,
                    counts: *mut f64,
                }

                fn place(own: &mut Option<&mut [f64]>) -> *mut f64 {
                    own.as_mut().map_or(std::ptr::null_mut(), |own| own.as_mut_ptr())
                }

                /// # Safety
                /// The features; indices inside the slices.
                #[target_feature(enable = $features)]
                pub(in super::super) unsafe fn two(pass: &mut Two) -> f64 {
                    let (mut strength, mut profile) = (std::ptr::null(), std::ptr::null());
                    let mut counts = std::ptr::null_mut();
                    if let Some(background) = &mut pass.background {
                        strength = background.strength.as_ptr();
                        profile = background.profile.as_ptr();
                        counts = place(&mut background.counts);
                    }
                    let places = Places::<2> {
                        length: pass.length,
                        indices: [pass.rows.as_ptr(), pass.columns.as_ptr()],
                        weights: pass.weights.as_ptr(),
                        factors: [pass.a.as_ptr(), pass.b.as_ptr()],
                        accumulators: [place(&mut pass.ga), place(&mut pass.gb)],
                        first_row: pass.first_row,
                        strength,
                        profile,
                        counts,
                    };
                    let wanted = places.accumulators.map(|own| !own.is_null());
                    // SAFETY: the caller's promise.
                    unsafe {
                        match (wanted, strength.is_null()) {
                            ([true, true], true) => run::<true, true, false>(pass, &places),
                            ([true, false], true) => run::<true, false, false>(pass, &places),
                            ([false, true], true) => run::<false, true, false>(pass, &places),
                            ([false, false], true) => run::<false, false, false>(pass, &places),
                            ([true, true], false) => run::<true, true, true>(pass, &places),
                            ([true, false], false) => run::<true, false, true>(pass, &places),
                            ([false, true], false) => run::<false, true, true>(pass, &places),
                            ([false, false], false) => run::<false, false, true>(pass, &places),
                        }
                    }
                }

                #[target_feature(enable = $features)]
                unsafe fn run<const ROWS: bool, const COLUMNS: bool, const BACK: bool>(
                    pass: &Two,
                    places: &Places<2>,
                ) -> f64 {
                    let (mut block, mut logs) = ([1.0; BLOCK], [0.0; BLOCK]);
                    let (mut e, mut first, mut total) = (0, 0, 0.0);
                    while e < pass.rows.len() {
                        let run = run_length(pass.rows, e);
                        let to = block[e - first..].first_chunk_mut::<4>().expect("room for four");
                        // SAFETY: the caller's promise; the entries share a row.
                        unsafe {
                            match run {
                                4 => group::<4, ROWS, COLUMNS, BACK>(places, e, to),
                                3 => group::<3, ROWS, COLUMNS, BACK>(places, e, to),
                                2 => group::<2, ROWS, COLUMNS, BACK>(places, e, to),
                                _ => group::<1, ROWS, COLUMNS, BACK>(places, e, to),
                            }
                        }
                        e += run;
                        if e - first > BLOCK - 4 || e == pass.rows.len() {
                            if pass.total {
                                let count = e - first;
                                total +=
                                    log_block(&block[..count], &mut logs[..count], &pass.weights[first..e]);
                            }
                            first = e;
                        }
                    }
                    total
                }

                #[target_feature(enable = $features)]
                #[inline]
                #[allow(clippy::needless_range_loop)] // n is the index of the formula
                unsafe fn group<const N: usize, const ROWS: bool, const COLUMNS: bool, const BACK: bool>(
                    p: &Places<2>,
                    e: usize,
                    out: &mut [f64; 4],
                ) {
                    // SAFETY: the caller's promise.
                    unsafe {
                        let length = p.length;
                        let (whole, quarter) = (length / $lanes * $lanes, length / 4 * 4);
                        let row = *p.indices[0].add(e) as usize;
                        let a = p.factors[0].add(row * length);
                        let ga = p.accumulators[0].wrapping_add((row - p.first_row) * length);
                        let (mut b, mut gb) = ([std::ptr::null(); N], [std::ptr::null_mut(); N]);
                        let mut profile = [0.0; N];
                        for n in 0..N {
                            let column = *p.indices[1].add(e + n) as usize;
                            b[n] = p.factors[1].add(column * length);
                            gb[n] = p.accumulators[1].wrapping_add(column * length);
                            if BACK {
                                profile[n] = *p.profile.add(column);
                            }
                        }
                        let mut s = [$set(0.0); N];
                        let mut k = 0;
                        while k < whole {
                            let a = $load(a.add(k));
                            for n in 0..N {
                                s[n] = $fma(a, $load(b[n].add(k)), s[n]);
                            }
                            k += $lanes;
                        }
                        let mut t = [_mm256_setzero_pd(); 4];
                        for n in 0..N {
                            t[n] = halves(s[n]);
                        }
                        while k < quarter {
                            let a = _mm256_loadu_pd(a.add(k));
                            for n in 0..N {
                                t[n] = _mm256_fmadd_pd(a, _mm256_loadu_pd(b[n].add(k)), t[n]);
                            }
                            k += 4;
                        }
                        _mm256_storeu_pd(out.as_mut_ptr(), sums(t));
                        while k < length {
                            for n in 0..N {
                                out[n] += *a.add(k) * *b[n].add(k);
                            }
                            k += 1;
                        }
                        if BACK {
                            let strength = *p.strength.add(row);
                            for n in 0..N {
                                out[n] += strength * profile[n];
                            }
                        }
                        let mut r = [0.0; N];
                        for n in 0..N {
                            r[n] = *p.weights.add(e + n) / out[n];
                        }
                        if BACK && !p.counts.is_null() {
                            for n in 0..N {
                                *p.counts.add(row - p.first_row) += r[n] * profile[n];
                            }
                        }
                        if !(ROWS || COLUMNS) {
                            return;
                        }
                        let mut k = 0;
                        let wide = r.map(|r| $set(r));
                        while k < whole {
                            let a = $load(a.add(k));
                            let mut g = $set(0.0);
                            if ROWS {
                                g = $load(ga.add(k));
                            }
                            for n in 0..N {
                                if ROWS {
                                    g = $fma(wide[n], $load(b[n].add(k)), g);
                                }
                                if COLUMNS {
                                    $store(gb[n].add(k), $fma(wide[n], a, $load(gb[n].add(k))));
                                }
                            }
                            if ROWS {
                                $store(ga.add(k), g);
                            }
                            k += $lanes;
                        }
                        let four = r.map(|r| _mm256_set1_pd(r));
                        while k < quarter {
                            let a = _mm256_loadu_pd(a.add(k));
                            let mut g = _mm256_setzero_pd();
                            if ROWS {
                                g = _mm256_loadu_pd(ga.add(k));
                            }
                            for n in 0..N {
                                if ROWS {
                                    g = _mm256_fmadd_pd(four[n], _mm256_loadu_pd(b[n].add(k)), g);
                                }
                                if COLUMNS {
                                    let to = gb[n].add(k);
                                    _mm256_storeu_pd(to, _mm256_fmadd_pd(four[n], a, _mm256_loadu_pd(to)));
                                }
                            }
                            if ROWS {
                                _mm256_storeu_pd(ga.add(k), g);
                            }
                            k += 4;
                        }
                        while k < length {
                            for n in 0..N {
                                if ROWS {
                                    *ga.add(k) += r[n] * *b[n].add(k);
                                }
                                if COLUMNS {
                                    *gb[n].add(k) += r[n] * *a.add(k);
                                }
                            }
                            k += 1;
                        }
                    }
                }

                /// # Safety
                /// The features; indices inside the slices.
                #[target_feature(enable = $features)]
                pub(in super::super) unsafe fn three(pass: &mut Three) -> f64 {
                    let places = Places::<3> {
                        length: pass.length,
                        indices: pass.columns.map(|column| column.as_ptr()),
                        weights: pass.weights.as_ptr(),
                        factors: pass.factors.map(|factor| factor.as_ptr()),
                        accumulators: [0, 1, 2].map(|mode| place(&mut pass.accumulators[mode])),
                        first_row: pass.first_row,
                        strength: std::ptr::null(),
                        profile: std::ptr::null(),
                        counts: std::ptr::null_mut(),
                    };
                    // SAFETY: the caller's promise.
                    unsafe {
                        match places.accumulators.map(|own| !own.is_null()) {
                            [true, true, true] => run_three::<true, true, true>(pass, &places),
                            [true, true, false] => run_three::<true, true, false>(pass, &places),
                            [true, false, true] => run_three::<true, false, true>(pass, &places),
                            [true, false, false] => run_three::<true, false, false>(pass, &places),
                            [false, true, true] => run_three::<false, true, true>(pass, &places),
                            [false, true, false] => run_three::<false, true, false>(pass, &places),
                            [false, false, true] => run_three::<false, false, true>(pass, &places),
                            [false, false, false] => run_three::<false, false, false>(pass, &places),
                        }
                    }
                }

                #[target_feature(enable = $features)]
                unsafe fn run_three<const A: bool, const B: bool, const C: bool>(
                    pass: &Three,
                    places: &Places<3>,
                ) -> f64 {
                    let (mut block, mut logs) = ([1.0; BLOCK], [0.0; BLOCK]);
                    let (mut e, mut first, mut total) = (0, 0, 0.0);
                    let rows = pass.columns[0];
                    while e < rows.len() {
                        let run = run_length(rows, e);
                        let to = block[e - first..].first_chunk_mut::<4>().expect("room for four");
                        // SAFETY: the caller's promise; the entries share a row.
                        unsafe {
                            match run {
                                4 => group_three::<4, A, B, C>(places, e, to),
                                3 => group_three::<3, A, B, C>(places, e, to),
                                2 => group_three::<2, A, B, C>(places, e, to),
                                _ => group_three::<1, A, B, C>(places, e, to),
                            }
                        }
                        e += run;
                        if e - first > BLOCK - 4 || e == rows.len() {
                            if pass.total {
                                let count = e - first;
                                total +=
                                    log_block(&block[..count], &mut logs[..count], &pass.weights[first..e]);
                            }
                            first = e;
                        }
                    }
                    total
                }

                #[target_feature(enable = $features)]
                #[inline]
                #[allow(clippy::needless_range_loop)] // n is the index of the formula
                unsafe fn group_three<const N: usize, const A: bool, const B: bool, const C: bool>(
                    p: &Places<3>,
                    e: usize,
                    out: &mut [f64; 4],
                ) {
                    // SAFETY: the caller's promise.
                    unsafe {
                        let length = p.length;
                        let (whole, quarter) = (length / $lanes * $lanes, length / 4 * 4);
                        let row = *p.indices[0].add(e) as usize;
                        let a = p.factors[0].add(row * length);
                        let ga = p.accumulators[0].wrapping_add((row - p.first_row) * length);
                        let (mut b, mut gb) = ([std::ptr::null(); N], [std::ptr::null_mut(); N]);
                        let (mut c, mut gc) = ([std::ptr::null(); N], [std::ptr::null_mut(); N]);
                        for n in 0..N {
                            let j = *p.indices[1].add(e + n) as usize * length;
                            let l = *p.indices[2].add(e + n) as usize * length;
                            (b[n], gb[n]) = (p.factors[1].add(j), p.accumulators[1].wrapping_add(j));
                            (c[n], gc[n]) = (p.factors[2].add(l), p.accumulators[2].wrapping_add(l));
                        }
                        let mut s = [$set(0.0); N];
                        let mut k = 0;
                        while k < whole {
                            let a = $load(a.add(k));
                            for n in 0..N {
                                s[n] = $fma(a, $mul($load(b[n].add(k)), $load(c[n].add(k))), s[n]);
                            }
                            k += $lanes;
                        }
                        let mut t = [_mm256_setzero_pd(); 4];
                        for n in 0..N {
                            t[n] = halves(s[n]);
                        }
                        while k < quarter {
                            let a = _mm256_loadu_pd(a.add(k));
                            for n in 0..N {
                                let bc =
                                    _mm256_mul_pd(_mm256_loadu_pd(b[n].add(k)), _mm256_loadu_pd(c[n].add(k)));
                                t[n] = _mm256_fmadd_pd(a, bc, t[n]);
                            }
                            k += 4;
                        }
                        _mm256_storeu_pd(out.as_mut_ptr(), sums(t));
                        while k < length {
                            for n in 0..N {
                                out[n] += *a.add(k) * *b[n].add(k) * *c[n].add(k);
                            }
                            k += 1;
                        }
                        if !(A || B || C) {
                            return;
                        }
                        let mut r = [0.0; N];
                        for n in 0..N {
                            r[n] = *p.weights.add(e + n) / out[n];
                        }
                        let mut k = 0;
                        let wide = r.map(|r| $set(r));
                        while k < whole {
                            let a = $load(a.add(k));
                            let mut g = $set(0.0);
                            if A {
                                g = $load(ga.add(k));
                            }
                            for n in 0..N {
                                let (b, c) = ($load(b[n].add(k)), $load(c[n].add(k)));
                                let ra = $mul(wide[n], a);
                                if A {
                                    g = $fma($mul(wide[n], b), c, g);
                                }
                                if B {
                                    $store(gb[n].add(k), $fma(ra, c, $load(gb[n].add(k))));
                                }
                                if C {
                                    $store(gc[n].add(k), $fma(ra, b, $load(gc[n].add(k))));
                                }
                            }
                            if A {
                                $store(ga.add(k), g);
                            }
                            k += $lanes;
                        }
                        let four = r.map(|r| _mm256_set1_pd(r));
                        while k < quarter {
                            let a = _mm256_loadu_pd(a.add(k));
                            let mut g = _mm256_setzero_pd();
                            if A {
                                g = _mm256_loadu_pd(ga.add(k));
                            }
                            for n in 0..N {
                                let (b, c) = (_mm256_loadu_pd(b[n].add(k)), _mm256_loadu_pd(c[n].add(k)));
                                let ra = _mm256_mul_pd(four[n], a);
                                if A {
                                    g = _mm256_fmadd_pd(_mm256_mul_pd(four[n], b), c, g);
                                }
                                if B {
                                    let to = gb[n].add(k);
                                    _mm256_storeu_pd(to, _mm256_fmadd_pd(ra, c, _mm256_loadu_pd(to)));
                                }
                                if C {
                                    let to = gc[n].add(k);
                                    _mm256_storeu_pd(to, _mm256_fmadd_pd(ra, b, _mm256_loadu_pd(to)));
                                }
                            }
                            if A {
                                _mm256_storeu_pd(ga.add(k), g);
                            }
                            k += 4;
                        }
                        while k < length {
                            for n in 0..N {
                                let (a, b, c) = (*a.add(k), *b[n].add(k), *c[n].add(k));
                                if A {
                                    *ga.add(k) += r[n] * b * c;
                                }
                                if B {
                                    *gb[n].add(k) += r[n] * a * c;
                                }
                                if C {
                                    *gc[n].add(k) += r[n] * a * b;
                                }
                            }
                            k += 1;
                        }
                    }
                }
            }
        };
    }

    kernels!(
        avx2,
        "avx2,fma",
        __m256d,
        4,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_fmadd_pd,
        _mm256_mul_pd,
        _mm256_set1_pd,
        |wide| wide
    );
    kernels!(
        avx512,
        "avx512f,avx512dq,avx512vl,avx2,fma",
        __m512d,
        8,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_fmadd_pd,
        _mm512_mul_pd,
        _mm512_set1_pd,
        |wide| _mm256_add_pd(_mm512_castpd512_pd256(wide), _mm512_extractf64x4_pd::<1>(wide))
    );
}
