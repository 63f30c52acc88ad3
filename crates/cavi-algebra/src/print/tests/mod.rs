//! Printed equations of hand-built derivations.

mod gfa;
mod helper;
mod hpf;
mod lda;
mod mixture;
mod pieces;
