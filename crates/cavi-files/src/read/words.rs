//! Lines of words parted by blanks, as in Matrix Market, FROSTT and LDA-C.

use std::borrow::Cow;

use super::bytes::without_mark;
use super::stream::{Blocks, Bytes};
use crate::error::FileError;

/// A reader of words, line by line.
pub(crate) struct Words<'a> {
    /// What is in memory of the file: whole lines.
    bytes: Cow<'a, [u8]>,
    /// What follows.
    blocks: Option<Blocks>,
    at: usize,
    /// The line of the next word, counted from 1.
    pub(crate) line: usize,
}

impl<'a> Words<'a> {
    pub(crate) fn new(bytes: Bytes<'a>) -> Result<Words<'a>, FileError> {
        match bytes {
            Bytes::Memory(bytes) => {
                Ok(Words { bytes: Cow::Borrowed(without_mark(bytes)), blocks: None, at: 0, line: 1 })
            }
            Bytes::File(path, packing) => {
                let mut blocks = Blocks::open(path, packing)?;
                let mut bytes = Vec::new();
                blocks.read_bytes_to(&mut bytes)?;
                let mark = bytes.len() - without_mark(&bytes).len();
                Ok(Words { bytes: Cow::Owned(bytes), blocks: Some(blocks), at: mark, line: 1 })
            }
        }
    }

    /// How many bytes are left; `None` where nobody knows.
    pub(crate) fn left(&self) -> Option<usize> {
        let own = self.bytes.len() - self.at;
        match &self.blocks {
            None => Some(own),
            Some(blocks) => Some(own + blocks.left()?),
        }
    }

    /// The next word of this line; `None` at its end.
    #[inline]
    pub(crate) fn word(&mut self) -> Option<&[u8]> {
        let bytes: &[u8] = &self.bytes;
        let mut start = self.at;
        while start < bytes.len() && is_blank(bytes[start]) {
            start += 1;
        }
        let mut end = start;
        while end < bytes.len() && bytes[end] != b'\n' && !is_blank(bytes[end]) {
            end += 1;
        }
        self.at = end;
        (end > start).then(|| &bytes[start..end])
    }

    /// Goes to the start of the next line, whatever is left on this one; `false` at the end of the file.
    #[inline]
    pub(crate) fn next_line(&mut self) -> Result<bool, FileError> {
        let rest = &self.bytes[self.at..];
        match rest.iter().position(|byte| *byte == b'\n') {
            Some(newline) => {
                self.at += newline + 1;
                self.line += 1;
            }
            None => self.at = self.bytes.len(),
        }
        if self.at < self.bytes.len() { Ok(true) } else { self.refill() }
    }

    /// Reads on, behind what is in memory.
    fn refill(&mut self) -> Result<bool, FileError> {
        let Some(blocks) = &mut self.blocks else { return Ok(false) };
        let bytes = self.bytes.to_mut();
        bytes.clear();
        self.at = 0;
        blocks.read_bytes_to(bytes)
    }

    /// Goes to the next line with a word that does not start with `comment`, this line included, and stands before that word; `false`
    /// at the end of the file.
    #[inline]
    pub(crate) fn seek(&mut self, comment: u8) -> Result<bool, FileError> {
        loop {
            while self.bytes.get(self.at).is_some_and(|byte| is_blank(*byte)) {
                self.at += 1;
            }
            match self.bytes.get(self.at).copied() {
                Some(byte) if byte != b'\n' && byte != comment => return Ok(true),
                _ if self.next_line()? => {}
                _ => return Ok(false),
            }
        }
    }

    /// How many words are left on this line.
    pub(crate) fn count(&mut self) -> usize {
        let mut count = 0;
        while self.word().is_some() {
            count += 1;
        }
        count
    }
}

#[inline]
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}
