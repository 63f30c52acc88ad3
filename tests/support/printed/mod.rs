//! Formulas as derivations print them: read back from the text, and evaluated as a reader would.

mod read;
mod rows;
mod value;

pub use read::{Range, Relation, Tree, read, read_conditions};
pub use rows::{Row, at_row, defined, free_letters, free_names, letters_in, of_one_copy, rows, unassigned};
pub use value::{Defined, Reader};
