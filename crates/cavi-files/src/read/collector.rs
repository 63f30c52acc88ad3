//! Columns of text to categories.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::content::{Categories, MISSING};

/// Gathers a column of text, borrowing the distinct entries from the text that is read.
#[derive(Default)]
pub(crate) struct Collector<'a> {
    codes: Vec<u32>,
    names: Vec<Cow<'a, str>>,
    code_of: HashMap<Cow<'a, str>, u32, BuildHasherDefault<ShortTextHasher>>,
}

impl<'a> Collector<'a> {
    /// One row more.
    pub(crate) fn push(&mut self, name: Cow<'a, str>) {
        // Long tables are often sorted, so that an entry repeats the one before it.
        if let Some(&last) = self.codes.last()
            && self.names.get(last as usize) == Some(&name)
        {
            self.codes.push(last);
            return;
        }
        // Beyond 2^32 - 1 distinct entries, which take tens of gigabytes of text, the rest counts as missing.
        let next = u32::try_from(self.names.len()).unwrap_or(MISSING);
        let code = *self.code_of.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        });
        self.codes.push(code);
    }

    /// One row more, which is missing.
    pub(crate) fn push_missing(&mut self) {
        self.codes.push(MISSING);
    }

    pub(crate) fn finish(self) -> Categories {
        Categories { names: self.names.into_iter().map(Cow::into_owned).collect(), codes: self.codes }
    }
}

/// A hash of short texts that takes eight bytes at a time. The order of labels never depends on it.
#[derive(Default)]
pub(super) struct ShortTextHasher(u64);

impl Hasher for ShortTextHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        for word in words.iter().chain([&last]) {
            // An odd multiplier without pattern (2^64 over the golden ratio) carries low bits up, and the shift carries
            // high bits down.
            self.0 = (self.0 ^ u64::from_le_bytes(*word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.0 ^= self.0 >> 29;
        }
    }

    fn finish(&self) -> u64 {
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}
