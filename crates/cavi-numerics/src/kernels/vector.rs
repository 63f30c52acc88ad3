//! A few doubles at a time: one type an instruction set, for kernels whose speed the compiler's own vectors do not reach.

#![allow(unsafe_code)]

/// A register of [`LANES`](Vector::LANES) doubles.
///
/// Every method is compiled into its caller. Calling one outside a function compiled for the instruction set, on a
/// machine that lacks it, is undefined: that is why they are unsafe.
pub(super) trait Vector: Copy {
    const LANES: usize;

    /// The same value in each lane.
    unsafe fn splat(value: f64) -> Self;
    /// The values from `from` on.
    unsafe fn load(from: *const f64) -> Self;
    /// The `count < LANES` values from `from` on, then zeros.
    unsafe fn load_part(from: *const f64, count: usize) -> Self;
    /// The single-precision values from `from` on, as doubles: exact.
    unsafe fn load_single(from: *const f32) -> Self;
    /// The `count < LANES` single-precision values from `from` on as doubles, then zeros.
    unsafe fn load_single_part(from: *const f32, count: usize) -> Self;
    /// Writes all lanes from `to` on.
    unsafe fn store(self, to: *mut f64);
    /// Writes the first `count < LANES` lanes from `to` on.
    unsafe fn store_part(self, to: *mut f64, count: usize);
    /// `self * b`.
    unsafe fn times(self, b: Self) -> Self;
    /// `self + b`.
    unsafe fn plus(self, b: Self) -> Self;
    /// `self * b + c`, rounded once where the instruction set can.
    unsafe fn times_plus(self, b: Self, c: Self) -> Self;
    /// The greater of the two in each lane.
    unsafe fn max(self, b: Self) -> Self;
    /// `self / b` for `b` from 1e-250 to 1e300, to a unit in the last place.
    unsafe fn over(self, b: Self) -> Self;
    /// The sums over the lanes of four vectors.
    unsafe fn sums(vectors: [Self; 4]) -> [f64; 4];

    /// All lanes from `from` on if `FULL`, else the first `count < LANES`, then zeros.
    #[inline(always)]
    unsafe fn get<const FULL: bool>(from: *const f64, count: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::fetch::<f64, FULL>(from, count) }
    }

    /// [`get`](Vector::get) of values as they are stored.
    #[inline(always)]
    unsafe fn fetch<T: Stored, const FULL: bool>(from: *const T, count: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { if FULL { T::load(from) } else { T::load_part(from, count) } }
    }

    /// `store` if `FULL`, else `store_part`.
    #[inline(always)]
    unsafe fn put<const FULL: bool>(self, to: *mut f64, count: usize) {
        // SAFETY: the caller's promise.
        unsafe { if FULL { self.store(to) } else { self.store_part(to, count) } }
    }
}

/// A number as it lies in memory; arithmetic is in doubles.
pub(super) trait Stored: Copy {
    /// The values from `from` on, one a lane.
    unsafe fn load<V: Vector>(from: *const Self) -> V;
    /// The `count < LANES` values from `from` on, then zeros.
    unsafe fn load_part<V: Vector>(from: *const Self, count: usize) -> V;
}

// SAFETY (both): the caller's promise.
impl Stored for f64 {
    #[inline(always)]
    unsafe fn load<V: Vector>(from: *const f64) -> V {
        unsafe { V::load(from) }
    }

    #[inline(always)]
    unsafe fn load_part<V: Vector>(from: *const f64, count: usize) -> V {
        unsafe { V::load_part(from, count) }
    }
}

impl Stored for f32 {
    #[inline(always)]
    unsafe fn load<V: Vector>(from: *const f32) -> V {
        unsafe { V::load_single(from) }
    }

    #[inline(always)]
    unsafe fn load_part<V: Vector>(from: *const f32, count: usize) -> V {
        unsafe { V::load_single_part(from, count) }
    }
}

/// Prefetches the cache line of an address. The address need not be valid.
#[inline(always)]
pub(super) fn prefetch<T>(address: *const T) {
    // SAFETY: a prefetch reads nothing and every x86-64 has it.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    let _ = address;
}

/// Four doubles in whatever the compiler makes of them.
#[derive(Clone, Copy)]
pub(super) struct Portable([f64; 4]);

impl Vector for Portable {
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        Self([value; 4])
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller's promise; an array of doubles has their alignment.
        Self(unsafe { from.cast::<[f64; 4]>().read() })
    }

    #[inline(always)]
    unsafe fn load_part(from: *const f64, count: usize) -> Self {
        let mut lanes = [0.0; 4];
        // SAFETY: `count < 4` values are there.
        unsafe { std::ptr::copy_nonoverlapping(from, lanes.as_mut_ptr(), count) };
        Self(lanes)
    }

    #[inline(always)]
    unsafe fn load_single(from: *const f32) -> Self {
        // SAFETY: the caller's promise; an array of numbers has their alignment.
        Self(unsafe { from.cast::<[f32; 4]>().read() }.map(f64::from))
    }

    #[inline(always)]
    unsafe fn load_single_part(from: *const f32, count: usize) -> Self {
        let mut lanes = [0.0_f32; 4];
        // SAFETY: `count < 4` values are there.
        unsafe { std::ptr::copy_nonoverlapping(from, lanes.as_mut_ptr(), count) };
        Self(lanes.map(f64::from))
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[f64; 4]>().write(self.0) }
    }

    #[inline(always)]
    unsafe fn store_part(self, to: *mut f64, count: usize) {
        // SAFETY: `count < 4` values are there.
        unsafe { std::ptr::copy_nonoverlapping(self.0.as_ptr(), to, count) };
    }

    #[inline(always)]
    unsafe fn times(self, b: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane] * b.0[lane]))
    }

    #[inline(always)]
    unsafe fn plus(self, b: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane] + b.0[lane]))
    }

    #[inline(always)]
    unsafe fn times_plus(self, b: Self, c: Self) -> Self {
        use crate::instruction_set::{PORTABLE_FMA, fma};
        Self(std::array::from_fn(|lane| fma::<PORTABLE_FMA>(self.0[lane], b.0[lane], c.0[lane])))
    }

    #[inline(always)]
    unsafe fn max(self, b: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane].max(b.0[lane])))
    }

    #[inline(always)]
    unsafe fn over(self, b: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane] / b.0[lane]))
    }

    #[inline(always)]
    unsafe fn sums(vectors: [Self; 4]) -> [f64; 4] {
        vectors.map(|vector| (vector.0[0] + vector.0[2]) + (vector.0[1] + vector.0[3]))
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Vector;

    /// Four doubles; needs AVX2 and FMA.
    #[derive(Clone, Copy)]
    pub(in crate::kernels) struct Avx2(__m256d);

    /// Ones, then zeros: the mask of `count` lanes begins at `4 - count`.
    static MASKS: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];
    static SINGLE_MASKS: [i32; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

    // SAFETY (all methods): the caller promises the features and the memory.
    impl Vector for Avx2 {
        const LANES: usize = 4;

        #[inline(always)]
        unsafe fn splat(value: f64) -> Self {
            unsafe { Self(_mm256_set1_pd(value)) }
        }

        #[inline(always)]
        unsafe fn load(from: *const f64) -> Self {
            unsafe { Self(_mm256_loadu_pd(from)) }
        }

        #[inline(always)]
        unsafe fn load_part(from: *const f64, count: usize) -> Self {
            unsafe {
                let mask = _mm256_loadu_si256(MASKS.as_ptr().add(4 - count).cast());
                Self(_mm256_maskload_pd(from, mask))
            }
        }

        #[inline(always)]
        unsafe fn load_single(from: *const f32) -> Self {
            unsafe { Self(_mm256_cvtps_pd(_mm_loadu_ps(from))) }
        }

        #[inline(always)]
        unsafe fn load_single_part(from: *const f32, count: usize) -> Self {
            unsafe {
                let mask = _mm_loadu_si128(SINGLE_MASKS.as_ptr().add(4 - count).cast());
                Self(_mm256_cvtps_pd(_mm_maskload_ps(from, mask)))
            }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f64) {
            unsafe { _mm256_storeu_pd(to, self.0) }
        }

        /// Without a masked store, which some processors take a dozen steps for.
        #[inline(always)]
        unsafe fn store_part(self, to: *mut f64, count: usize) {
            unsafe {
                let low = _mm256_castpd256_pd128(self.0);
                match count {
                    0 => {}
                    1 => _mm_store_sd(to, low),
                    2 => _mm_storeu_pd(to, low),
                    _ => {
                        _mm_storeu_pd(to, low);
                        _mm_store_sd(to.add(2), _mm256_extractf128_pd::<1>(self.0));
                    }
                }
            }
        }

        #[inline(always)]
        unsafe fn times(self, b: Self) -> Self {
            unsafe { Self(_mm256_mul_pd(self.0, b.0)) }
        }

        #[inline(always)]
        unsafe fn plus(self, b: Self) -> Self {
            unsafe { Self(_mm256_add_pd(self.0, b.0)) }
        }

        #[inline(always)]
        unsafe fn times_plus(self, b: Self, c: Self) -> Self {
            unsafe { Self(_mm256_fmadd_pd(self.0, b.0, c.0)) }
        }

        #[inline(always)]
        unsafe fn max(self, b: Self) -> Self {
            unsafe { Self(_mm256_max_pd(self.0, b.0)) }
        }

        #[inline(always)]
        unsafe fn over(self, b: Self) -> Self {
            unsafe { Self(_mm256_div_pd(self.0, b.0)) }
        }

        #[inline(always)]
        unsafe fn sums(vectors: [Self; 4]) -> [f64; 4] {
            unsafe {
                let [a, b, c, d] = vectors;
                let ab = _mm256_hadd_pd(a.0, b.0);
                let cd = _mm256_hadd_pd(c.0, d.0);
                let crossed = _mm256_permute2f128_pd::<0x21>(ab, cd);
                let straight = _mm256_blend_pd::<0b1100>(ab, cd);
                let mut sums = [0.0; 4];
                _mm256_storeu_pd(sums.as_mut_ptr(), _mm256_add_pd(crossed, straight));
                sums
            }
        }
    }

    /// Eight doubles; needs AVX-512 F and DQ beside AVX2.
    #[derive(Clone, Copy)]
    pub(in crate::kernels) struct Avx512(__m512d);

    impl Avx512 {
        /// A method and no closure: a closure would be compiled without the features.
        ///
        /// # Safety
        /// The features.
        #[inline(always)]
        unsafe fn halves_added(self) -> Avx2 {
            unsafe {
                Avx2(_mm256_add_pd(_mm512_castpd512_pd256(self.0), _mm512_extractf64x4_pd::<1>(self.0)))
            }
        }
    }

    #[inline(always)]
    fn mask(count: usize) -> __mmask8 {
        (1u32 << count).wrapping_sub(1) as __mmask8
    }

    // SAFETY (all methods): the caller promises the features and the memory.
    impl Vector for Avx512 {
        const LANES: usize = 8;

        #[inline(always)]
        unsafe fn splat(value: f64) -> Self {
            unsafe { Self(_mm512_set1_pd(value)) }
        }

        #[inline(always)]
        unsafe fn load(from: *const f64) -> Self {
            unsafe { Self(_mm512_loadu_pd(from)) }
        }

        #[inline(always)]
        unsafe fn load_part(from: *const f64, count: usize) -> Self {
            unsafe { Self(_mm512_maskz_loadu_pd(mask(count), from)) }
        }

        #[inline(always)]
        unsafe fn load_single(from: *const f32) -> Self {
            unsafe { Self(_mm512_cvtps_pd(_mm256_loadu_ps(from))) }
        }

        #[inline(always)]
        unsafe fn load_single_part(from: *const f32, count: usize) -> Self {
            unsafe { Self(_mm512_cvtps_pd(_mm256_maskz_loadu_ps(mask(count), from))) }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f64) {
            unsafe { _mm512_storeu_pd(to, self.0) }
        }

        #[inline(always)]
        unsafe fn store_part(self, to: *mut f64, count: usize) {
            unsafe { _mm512_mask_storeu_pd(to, mask(count), self.0) }
        }

        #[inline(always)]
        unsafe fn times(self, b: Self) -> Self {
            unsafe { Self(_mm512_mul_pd(self.0, b.0)) }
        }

        #[inline(always)]
        unsafe fn plus(self, b: Self) -> Self {
            unsafe { Self(_mm512_add_pd(self.0, b.0)) }
        }

        #[inline(always)]
        unsafe fn times_plus(self, b: Self, c: Self) -> Self {
            unsafe { Self(_mm512_fmadd_pd(self.0, b.0, c.0)) }
        }

        #[inline(always)]
        unsafe fn max(self, b: Self) -> Self {
            unsafe { Self(_mm512_max_pd(self.0, b.0)) }
        }

        /// A division takes as long as eight products. With `r` the reciprocal to 14 bits, `r (2 - b r)` has 28, the quotient `q`
        /// by it has 28, and `q + (a - b q) r` all: the error of each step is the product of those before.
        #[inline(always)]
        unsafe fn over(self, b: Self) -> Self {
            unsafe {
                let rough = _mm512_rcp14_pd(b.0);
                let error = _mm512_fnmadd_pd(b.0, rough, _mm512_set1_pd(1.0));
                let reciprocal = _mm512_fmadd_pd(rough, error, rough);
                let quotient = _mm512_mul_pd(self.0, reciprocal);
                let rest = _mm512_fnmadd_pd(b.0, quotient, self.0);
                Self(_mm512_fmadd_pd(rest, reciprocal, quotient))
            }
        }

        #[inline(always)]
        unsafe fn sums(vectors: [Self; 4]) -> [f64; 4] {
            unsafe {
                let [a, b, c, d] = vectors;
                Avx2::sums([a.halves_added(), b.halves_added(), c.halves_added(), d.halves_added()])
            }
        }
    }
}
