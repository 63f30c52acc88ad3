//! The arrays of a run, and their memory.
//!
//! Data are borrowed; everything else is owned here and by no one else: a node's values are taken out to be worked out anew in
//! their own memory, and put back. Kernels read them through this one list, so that they may as well stand on another device.

use std::borrow::Cow;
use std::ops::Deref;

use cavi_numerics::Scratch;

/// The values of each node; of one that has not been worked out, or has been forgotten, none.
pub struct Buffers<'a>(Vec<Cow<'a, [f64]>>);

impl<'a> Buffers<'a> {
    /// These arrays.
    pub fn new(arrays: Vec<Cow<'a, [f64]>>) -> Buffers<'a> {
        Buffers(arrays)
    }

    /// Takes the values of a node out.
    pub fn take(&mut self, node: usize) -> Vec<f64> {
        std::mem::take(&mut self.0[node]).into_owned()
    }

    /// Puts values of a node in.
    pub fn put(&mut self, node: usize, values: Vec<f64>) {
        self.0[node] = Cow::Owned(values);
    }

    /// Gives the values of a node, or their memory, to another.
    pub fn hand_over(&mut self, from: usize, to: usize) {
        self.0[to] = std::mem::take(&mut self.0[from]);
    }

    /// Forgets the values of a node; their memory is for others.
    pub fn give_back(&mut self, node: usize) {
        if let Cow::Owned(values) = std::mem::take(&mut self.0[node]) {
            Scratch::keep(values);
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<'a> Deref for Buffers<'a> {
    type Target = [Cow<'a, [f64]>];

    fn deref(&self) -> &[Cow<'a, [f64]>] {
        &self.0
    }
}
