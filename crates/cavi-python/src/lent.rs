//! Arrays of NumPy that a fit reads where they are: the one place of this crate that asks for the reader's trust.
//!
//! An array in C order is read in the memory of the caller while it is held here, so that a fit to it takes no memory for the data. The
//! caller does not change the array meanwhile, as for any library that works without the interpreter's lock.

#![allow(unsafe_code)]

use std::any::Any;
use std::sync::Arc;

use cavi_numerics::Numbers;
use numpy::{PyArrayDyn, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// The numbers of an array in C order of its dimensions: where they are, if they lie in this order; else a copy.
pub fn numbers(array: &PyReadonlyArrayDyn<'_, f64>) -> Numbers<f64> {
    // An array that is contiguous in another order than that of C would be read transposed.
    match array.as_slice() {
        Ok(values) if array.is_c_contiguous() => {
            let held: Py<PyArrayDyn<f64>> = (**array).clone().unbind();
            let owner: Arc<dyn Any + Send + Sync> = Arc::new(held);
            // SAFETY: NumPy keeps the memory of an array that is referred to where it is, and does not resize it; `as_slice` has seen that
            // the numbers are aligned and as many. That nobody writes to them is what the module says of the caller.
            unsafe { Numbers::lent(values.as_ptr(), values.len(), owner) }
        }
        Ok(_) | Err(_) => array.as_array().iter().copied().collect::<Vec<f64>>().into(),
    }
}
