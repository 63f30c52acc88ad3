//! Formulas as derivations print them: read back from the text, and evaluated as a reader would.

mod read;
mod value;

pub use read::{Range, Relation, Tree, read, read_conditions};
pub use value::{Defined, Reader};
