//! Which vector instructions the loops use, decided once at run time.

use std::sync::OnceLock;

/// The instruction sets that the kernels are compiled for. Results are the same bits on the same instruction set.
///
/// Element-wise functions ([`crate::special`]) even agree between [`Avx2`](InstructionSet::Avx2) and
/// [`Avx512`](InstructionSet::Avx512), since both round once in a multiply-add; sums may differ in their last digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstructionSet {
    /// What the compiler assumes of every machine of this architecture.
    Portable,
    /// x86-64 with AVX2 and FMA: four doubles at a time.
    Avx2,
    /// x86-64 with AVX-512 (F, DQ and VL): eight doubles at a time.
    Avx512,
}

static USED: OnceLock<InstructionSet> = OnceLock::new();

/// The instruction set that is used: the widest that this machine has, unless it was limited before the first use.
pub fn instruction_set() -> InstructionSet {
    *USED.get_or_init(detect)
}

impl InstructionSet {
    /// The widest that this machine has.
    pub fn of_machine() -> InstructionSet {
        detect()
    }

    /// Uses no wider one than this from here on, so that the bits are those of other machines. Whether that is so: after the first use it is
    /// too late for a narrower one.
    pub fn limit(self) -> bool {
        instruction_set_at_most(self) <= self
    }
}

fn instruction_set_at_most(limit: InstructionSet) -> InstructionSet {
    *USED.get_or_init(|| detect().min(limit))
}

#[cfg(target_arch = "x86_64")]
fn detect() -> InstructionSet {
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    match (avx2, avx512) {
        (true, true) => InstructionSet::Avx512,
        (true, false) => InstructionSet::Avx2,
        (false, _) => InstructionSet::Portable,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> InstructionSet {
    InstructionSet::Portable
}

/// The sets this machine can run, for tests that compare them.
#[cfg(test)]
pub(crate) fn available() -> Vec<InstructionSet> {
    [InstructionSet::Portable, InstructionSet::Avx2, InstructionSet::Avx512]
        .into_iter()
        .filter(|set| *set <= instruction_set())
        .collect()
}

/// Whether a fused multiply-add is one instruction where nothing has been detected.
pub(crate) const PORTABLE_FMA: bool = cfg!(target_arch = "aarch64");

/// Compiles one `#[inline(always)]` body, generic over `const FMA: bool`, for each instruction set.
///
/// `dispatch!(fn name(a: A) -> R = body)` defines `name(set, a)`, which runs `body::<FMA>(a)` with the vectors of
/// `set`. The compiler vectorises each copy on its own; the arithmetic is that of the source in all of them.
macro_rules! dispatch {
    (fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $body:ident) => {
        #[inline]
        #[allow(unsafe_code)]
        fn $name(set: $crate::InstructionSet, $($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
                fn avx512($($argument: $type),*) $(-> $result)? {
                    $body::<true>($($argument),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($argument: $type),*) $(-> $result)? {
                    $body::<true>($($argument),*)
                }
                debug_assert!(set <= $crate::instruction_set());
                match set {
                    // SAFETY: `instruction_set` found these features on this machine.
                    $crate::InstructionSet::Avx512 => return unsafe { avx512($($argument),*) },
                    // SAFETY: as above.
                    $crate::InstructionSet::Avx2 => return unsafe { avx2($($argument),*) },
                    $crate::InstructionSet::Portable => {}
                }
            }
            let _ = set;
            $body::<{ $crate::instruction_set::PORTABLE_FMA }>($($argument),*)
        }
    };
}
pub(crate) use dispatch;

/// `a b + c`, rounded once if `FMA`.
#[inline(always)]
pub(crate) fn fma<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}
