//! Lines of words parted by blanks, as in Matrix Market, FROSTT and LDA-C.

/// A reader of words, line by line.
pub(crate) struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The line of the next word, counted from 1.
    pub(crate) line: usize,
}

impl<'a> Words<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Words<'a> {
        Words { bytes, at: 0, line: 1 }
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next word of this line; `None` at its end.
    #[inline]
    pub(crate) fn word(&mut self) -> Option<&'a [u8]> {
        let mut start = self.at;
        while start < self.bytes.len() && is_blank(self.bytes[start]) {
            start += 1;
        }
        let mut end = start;
        while end < self.bytes.len() && self.bytes[end] != b'\n' && !is_blank(self.bytes[end]) {
            end += 1;
        }
        self.at = end;
        (end > start).then(|| &self.bytes[start..end])
    }

    /// Goes to the start of the next line, whatever is left on this one; `false` at the end of the file.
    #[inline]
    pub(crate) fn next_line(&mut self) -> bool {
        while self.at < self.bytes.len() {
            self.at += 1;
            if self.bytes[self.at - 1] == b'\n' {
                self.line += 1;
                return self.at < self.bytes.len();
            }
        }
        false
    }

    /// Goes to the next line with a word that does not start with `comment`, this line included, and takes that word.
    #[inline]
    pub(crate) fn first_word(&mut self, comment: u8) -> Option<&'a [u8]> {
        loop {
            match self.word() {
                Some(word) if word[0] != comment => return Some(word),
                _ if self.next_line() => {}
                _ => return None,
            }
        }
    }

    /// How many words are left on this line.
    pub(crate) fn count(&mut self) -> usize {
        std::iter::from_fn(|| self.word()).count()
    }
}

#[inline]
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}
