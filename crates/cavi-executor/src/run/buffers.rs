//! The arrays of a run, and their memory.
//!
//! Data are borrowed, and what all shards of a process have in common is lent to each ([`super::common`]); everything else is owned here
//! and by no one else: a node's values are taken out to be worked out anew in their own memory, and put back. Kernels read them through
//! this one list, so that they may as well stand on another device.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use cavi_numerics::Scratch;

/// The values of a node.
#[derive(Clone, Debug)]
pub enum Array<'a> {
    /// Of the data.
    Given(&'a [f64]),
    /// Of this run alone.
    Own(Vec<f64>),
    /// Of all shards of a process, which hold them once.
    Lent(Arc<Vec<f64>>),
}

impl Array<'_> {
    /// The memory of the values, where nobody else reads it; else none.
    fn into_memory(self) -> Vec<f64> {
        match self {
            Array::Given(_) => Vec::new(),
            Array::Own(values) => values,
            Array::Lent(values) => Arc::try_unwrap(values).unwrap_or_default(),
        }
    }
}

impl Default for Array<'_> {
    fn default() -> Self {
        Array::Given(&[])
    }
}

impl<'a> From<Cow<'a, [f64]>> for Array<'a> {
    fn from(values: Cow<'a, [f64]>) -> Array<'a> {
        match values {
            Cow::Borrowed(values) => Array::Given(values),
            Cow::Owned(values) => Array::Own(values),
        }
    }
}

impl FromIterator<f64> for Array<'_> {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Array::Own(values.into_iter().collect())
    }
}

impl Deref for Array<'_> {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        match self {
            Array::Given(values) => values,
            Array::Own(values) => values,
            Array::Lent(values) => values,
        }
    }
}

impl AsRef<[f64]> for Array<'_> {
    fn as_ref(&self) -> &[f64] {
        self
    }
}

/// The values of each node; of one that has not been worked out, or has been forgotten, none.
pub struct Buffers<'a>(Vec<Array<'a>>);

impl<'a> Buffers<'a> {
    /// These arrays.
    pub fn new(arrays: Vec<Cow<'a, [f64]>>) -> Buffers<'a> {
        Buffers(arrays.into_iter().map(Array::from).collect())
    }

    /// Takes the values of a node out.
    pub fn take(&mut self, node: usize) -> Vec<f64> {
        match std::mem::take(&mut self.0[node]) {
            Array::Given(values) => values.to_vec(),
            Array::Own(values) => values,
            Array::Lent(values) => Arc::try_unwrap(values).unwrap_or_else(|values| values.to_vec()),
        }
    }

    /// Takes the memory of a node's values out, for others; there is none where somebody else reads them.
    pub fn memory(&mut self, node: usize) -> Vec<f64> {
        std::mem::take(&mut self.0[node]).into_memory()
    }

    /// Puts values of a node in.
    pub fn put(&mut self, node: usize, values: Vec<f64>) {
        self.0[node] = Array::Own(values);
    }

    /// The same of values that may be lent.
    pub fn set(&mut self, node: usize, values: Array<'a>) {
        self.0[node] = values;
    }

    /// The values of a node that are lent to this run.
    pub fn lent(&self, node: usize) -> Option<&Arc<Vec<f64>>> {
        match &self.0[node] {
            Array::Lent(values) => Some(values),
            Array::Given(_) | Array::Own(_) => None,
        }
    }

    /// Gives the values of a node, or their memory, to another.
    pub fn hand_over(&mut self, from: usize, to: usize) {
        self.0[to] = std::mem::take(&mut self.0[from]);
    }

    /// Forgets the values of a node; their memory is for others.
    pub fn give_back(&mut self, node: usize) {
        Scratch::keep(self.memory(node));
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<'a> Deref for Buffers<'a> {
    type Target = [Array<'a>];

    fn deref(&self) -> &[Array<'a>] {
        &self.0
    }
}
