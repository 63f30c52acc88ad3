//! A narrower instruction set than the machine has: alone in its process, since it is chosen once.

use cavi_numerics::{InstructionSet, instruction_set, reduce};

#[test]
fn a_narrower_instruction_set_is_used_if_it_is_chosen_first() {
    assert!(InstructionSet::Portable.limit());
    assert_eq!(instruction_set(), InstructionSet::Portable);
    assert_eq!(reduce::sum(&[1.0; 100]), 100.0);
    // It is used from here on.
    assert!(InstructionSet::Avx512.limit());
    assert_eq!(instruction_set(), InstructionSet::Portable);
}
