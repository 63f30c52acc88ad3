//! Numbers and texts as bytes, with a hash of all of them: little endian, lengths before lists, doubles bit by bit.

use std::io::{self, Write};

use crate::compile::{FNV_START, fnv1a};

/// Writes values one after another.
pub struct Encoder<W> {
    to: W,
    hash: u64,
}

impl<W: Write> Encoder<W> {
    pub fn new(to: W) -> Encoder<W> {
        Encoder { to, hash: FNV_START }
    }

    fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash = fnv1a(self.hash, bytes);
        self.to.write_all(bytes)
    }

    pub fn number(&mut self, value: u64) -> io::Result<()> {
        self.raw(&value.to_le_bytes())
    }

    pub fn double(&mut self, value: f64) -> io::Result<()> {
        self.number(value.to_bits())
    }

    pub fn optional(&mut self, value: Option<f64>) -> io::Result<()> {
        self.number(u64::from(value.is_some()))?;
        self.double(value.unwrap_or(0.0))
    }

    pub fn text(&mut self, text: &str) -> io::Result<()> {
        self.number(text.len() as u64)?;
        self.raw(text.as_bytes())
    }

    pub fn doubles(&mut self, values: &[f64]) -> io::Result<()> {
        self.number(values.len() as u64)?;
        values.iter().try_for_each(|value| self.double(*value))
    }

    pub fn columns(&mut self, columns: &[Vec<f64>]) -> io::Result<()> {
        self.number(columns.len() as u64)?;
        columns.iter().try_for_each(|column| self.doubles(column))
    }

    /// Writes the hash of everything before it, and gives back what was written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.write_all(&self.hash.to_le_bytes())?;
        Ok(self.to)
    }
}

/// Reads what an [`Encoder`] wrote; `None` where the bytes say something else.
pub struct Decoder<'b> {
    rest: &'b [u8],
}

/// The bytes of a number.
const NUMBER: usize = size_of::<u64>();

impl<'b> Decoder<'b> {
    /// `None` unless the bytes end with the hash of those before.
    pub fn new(bytes: &'b [u8]) -> Option<Decoder<'b>> {
        let (rest, hash) = bytes.split_last_chunk::<NUMBER>()?;
        (fnv1a(FNV_START, rest) == u64::from_le_bytes(*hash)).then_some(Decoder { rest })
    }

    fn raw(&mut self, length: usize) -> Option<&'b [u8]> {
        let (own, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(own)
    }

    pub fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.raw(NUMBER)?.try_into().ok()?))
    }

    pub fn double(&mut self) -> Option<f64> {
        Some(f64::from_bits(self.number()?))
    }

    pub fn optional(&mut self) -> Option<Option<f64>> {
        let is_some = self.flag()?;
        let value = self.double()?;
        Some(is_some.then_some(value))
    }

    pub fn flag(&mut self) -> Option<bool> {
        match self.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// The length of a list; never more than there are bytes left.
    pub fn length(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|length| *length <= self.rest.len())
    }

    pub fn text(&mut self) -> Option<&'b str> {
        let length = self.length()?;
        std::str::from_utf8(self.raw(length)?).ok()
    }

    pub fn doubles(&mut self) -> Option<Vec<f64>> {
        let length = self.length()?;
        let bytes = self.raw(length.checked_mul(NUMBER)?)?;
        let (numbers, _) = bytes.as_chunks::<NUMBER>();
        Some(numbers.iter().map(|own| f64::from_le_bytes(*own)).collect())
    }

    pub fn columns(&mut self) -> Option<Vec<Vec<f64>>> {
        (0..self.length()?).map(|_| self.doubles()).collect()
    }

    /// Whether all has been read.
    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_a_changed_byte_is_not() {
        let mut encoder = Encoder::new(Vec::new());
        encoder.number(7).unwrap();
        encoder.optional(Some(f64::NEG_INFINITY)).unwrap();
        encoder.text("λ").unwrap();
        encoder.columns(&[vec![0.1, -0.0], Vec::new()]).unwrap();
        let bytes = encoder.finish().unwrap();
        let mut decoder = Decoder::new(&bytes).expect("it is whole");
        assert_eq!((decoder.number(), decoder.optional()), (Some(7), Some(Some(f64::NEG_INFINITY))));
        assert_eq!(decoder.text(), Some("λ"));
        assert_eq!(decoder.columns(), Some(vec![vec![0.1, -0.0], Vec::new()]));
        assert!(decoder.is_at_end() && decoder.number().is_none());
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert!(Decoder::new(&damaged).is_none(), "byte {place}");
            assert!(Decoder::new(&bytes[..place]).is_none(), "cut at {place}");
        }
    }
}
