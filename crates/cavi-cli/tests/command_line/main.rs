//! The command line as a person or a script meets it: each test starts the `cavi` binary in a directory of its own.

mod common;
mod data;

mod asking;
mod batch;
mod calibrate;
mod check_fit;
mod commands;
mod comparison;
mod damaged;
mod explain;
mod explained;
mod export;
mod fixed;
mod found;
mod held_out_parts;
mod heldout;
mod large_texts;
mod memory;
mod mistakes;
mod multiplicity;
mod options;
mod packed;
mod plots;
mod project;
mod replacing;
mod report;
mod resume;
mod shards;
mod shells;
mod simulate;
mod terminal;
mod test_files;
mod texts;
mod uncertain;
mod watch;
