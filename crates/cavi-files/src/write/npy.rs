//! NumPy arrays: `.npy` version 1.0, little-endian, in C order, byte for byte as NumPy writes them.

use std::io::{self, Write};
use std::path::Path;

use super::atomically;
use crate::error::FileError;

/// Writes an array of float64. Directories on the way to the file are made.
///
/// # Panics
/// If the shape does not have as many entries as there are values.
pub fn write_npy(path: &Path, shape: &[usize], values: &[f64]) -> Result<(), FileError> {
    assert_eq!(shape.iter().product::<usize>(), values.len(), "shape {shape:?} does not fit the values");
    atomically(path, |file| write(file, "<f8", shape, values.iter().map(|value| value.to_le_bytes())))
}

/// Writes an array of int64. Directories on the way to the file are made.
///
/// # Panics
/// If the shape does not have as many entries as there are values.
pub fn write_npy_i64(path: &Path, shape: &[usize], values: &[i64]) -> Result<(), FileError> {
    assert_eq!(shape.iter().product::<usize>(), values.len(), "shape {shape:?} does not fit the values");
    atomically(path, |file| write(file, "<i8", shape, values.iter().map(|value| value.to_le_bytes())))
}

fn write(
    file: &mut impl Write,
    descr: &str,
    shape: &[usize],
    entries: impl Iterator<Item = [u8; 8]>,
) -> io::Result<()> {
    file.write_all(&header(descr, shape))?;
    for entry in entries {
        file.write_all(&entry)?;
    }
    Ok(())
}

/// Everything before the entries: a multiple of 64 bytes, of which NumPy leaves enough blank for the first length to
/// grow to 21 digits.
fn header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let lengths = match shape {
        [length] => format!("{length},"),
        _ => shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
    };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({lengths}), }}");
    if let Some(first) = shape.first() {
        text.extend(std::iter::repeat_n(' ', 21usize.saturating_sub(first.to_string().len())));
    }
    // Six bytes of magic string, two of version, two of length, and the line feed at the end. NumPy always adds blanks,
    // a whole 64 of them where the header would fit without.
    let length = 10 + text.len() + 1;
    text.extend(std::iter::repeat_n(' ', 64 - length % 64));
    text.push('\n');
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    // The header of an array of up to 32 dimensions is shorter than 2^16 bytes.
    header.extend_from_slice(&(text.len() as u16).to_le_bytes());
    header.extend_from_slice(text.as_bytes());
    header
}
