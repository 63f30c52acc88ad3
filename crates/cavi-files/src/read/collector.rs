//! Columns of text to categories.

use std::hash::Hasher;

use hashbrown::HashTable;

use super::steady;
use crate::content::{Categories, MISSING};

/// Gathers a column of text. A distinct entry is held once.
#[derive(Default)]
pub(crate) struct Collector {
    codes: Vec<u32>,
    names: Vec<String>,
    /// The codes of the names, by the hash of the name: the names themselves are not held a second time.
    by_name: HashTable<u32>,
}

impl Collector {
    /// One row more.
    pub(crate) fn push(&mut self, name: &str) {
        // Long tables are often sorted, so that an entry repeats the one before it.
        let code = match self.codes.last() {
            Some(&last) if self.names.get(last as usize).is_some_and(|own| own == name) => last,
            Some(_) | None => self.code(name),
        };
        steady::push(&mut self.codes, code);
    }

    /// One row more, which is missing.
    pub(crate) fn push_missing(&mut self) {
        steady::push(&mut self.codes, MISSING);
    }

    /// The bytes of the codes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.codes.as_slice())
    }

    pub(crate) fn finish(self) -> Categories {
        Categories { names: steady::fitted(self.names), codes: steady::fitted(self.codes) }
    }

    /// The code of a name, which may be a new one. Beyond 2^32 - 1 distinct entries, which take tens of gigabytes of text, the rest counts
    /// as missing.
    fn code(&mut self, name: &str) -> u32 {
        let names = &self.names;
        if let Some(code) = self.by_name.find(hash(name), |code| names[*code as usize] == name) {
            return *code;
        }
        let code = u32::try_from(names.len()).unwrap_or(MISSING);
        if code != MISSING {
            self.by_name.insert_unique(hash(name), code, |code| hash(&names[*code as usize]));
            steady::push(&mut self.names, name.to_owned());
        }
        code
    }
}

#[inline]
fn hash(text: &str) -> u64 {
    let mut hasher = ShortTextHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
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
        let mixed = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // A table takes its place from the low bits, which the product leaves without those above them.
        mixed ^ (mixed >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_numbered_in_order_of_first_appearance() {
        let mut collector = Collector::default();
        let numbers: Vec<u32> = (0..5000_u32).map(|row| row * row % 1009).collect();
        for number in &numbers {
            collector.push(&format!("label {number}"));
        }
        collector.push_missing();
        collector.push("");
        let found = collector.finish();
        assert!(
            numbers.iter().enumerate().all(|(row, own)| found.get(row) == Some(&*format!("label {own}")))
        );
        assert_eq!((found.get(5000), found.get(5001)), (None, Some("")));
        let mut next = 0;
        for code in found.codes.into_iter().filter(|code| *code != MISSING) {
            assert!(code <= next, "{code} after {next}");
            next = next.max(code + 1);
        }
        assert_eq!(next as usize, found.names.len());
    }
}
