//! NumPy arrays: `.npy`.
//!
//! The magic string, a version, the length of the header, the header, which is a Python dictionary with the keys
//! `descr`, `fortran_order` and `shape`, and then the entries.
//!
//! # Source
//! NumPy Enhancement Proposal 1, and `numpy/lib/_format_impl.py`.

use crate::error::{FileError, quote};

/// An array of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseArray {
    /// The length of each dimension; none for a single number.
    pub shape: Vec<usize>,
    /// The entries in C order.
    pub values: Vec<f64>,
}

/// An array whose entries are still bytes.
pub(crate) struct RawArray<'a> {
    pub(crate) shape: Vec<usize>,
    descr: String,
    fortran_order: bool,
    data: &'a [u8],
}

/// Reads an array of numbers.
pub(crate) fn read(bytes: &[u8]) -> Result<DenseArray, FileError> {
    raw(bytes)?.numbers()
}

/// Reads the header, and checks the length of what follows against it.
pub(crate) fn raw(bytes: &[u8]) -> Result<RawArray<'_>, FileError> {
    let Some(rest) = bytes.strip_prefix(b"\x93NUMPY") else {
        return Err(FileError::new(
            format!("{} at the start", quote(&bytes[..bytes.len().min(6)])),
            "the bytes `\\x93NUMPY` of an .npy file",
        ));
    };
    let ends = || FileError::new("the end of the file within the header", "a complete .npy file");
    let (length, rest) = match rest {
        [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        [0 | 4.., ..] => {
            return Err(FileError::new(
                format!("version {} of the .npy format", rest[0]),
                "version 1, 2 or 3",
            ));
        }
        _ => return Err(ends()),
    };
    let (header, data) = rest.split_at_checked(length).ok_or_else(ends)?;
    let (descr, fortran_order, shape) = header_of(header).ok_or_else(|| {
        FileError::new(
            format!("the header {}", quote(header)),
            "a dictionary with the keys `descr`, `fortran_order` and `shape`",
        )
    })?;
    let array = RawArray { shape, descr, fortran_order, data };
    array.check_length()?;
    Ok(array)
}

impl RawArray<'_> {
    /// The number of entries. It is checked not to overflow, and against the bytes that hold them.
    fn len(&self) -> usize {
        if self.shape.contains(&0) { 0 } else { self.shape.iter().product() }
    }

    /// Refuses a shape that the bytes after the header do not account for.
    fn check_length(&self) -> Result<(), FileError> {
        let size = match item_size(&self.descr) {
            Some(size) => size,
            None => {
                return Err(FileError::new(
                    format!("entries of type {}", quote(self.descr.as_bytes())),
                    "integers, booleans, or floats of 4 or 8 bytes",
                )
                .with_help("`array.astype('float64')` makes such of many others"));
            }
        };
        let claimed = if self.shape.contains(&0) {
            Some(0)
        } else {
            self.shape.iter().try_fold(size, |product, &length| product.checked_mul(length))
        };
        if claimed == Some(self.data.len()) {
            // Numbers become doubles; text has no more letters than bytes.
            let cells = self.data.len() / size.max(1);
            return super::bytes::memory_for(cells.saturating_mul(size_of::<f64>()), "an array");
        }
        Err(FileError::new(
            format!("{} bytes after the header", self.data.len()),
            match claimed {
                Some(claimed) => format!("{claimed} bytes, for the shape is {:?}", self.shape),
                None => format!("the bytes of an array of shape {:?}, which no memory can hold", self.shape),
            },
        ))
    }

    /// The text that a string array of no dimensions holds.
    pub(crate) fn text(&self) -> Option<String> {
        if self.shape.iter().any(|&length| length != 1) {
            return None;
        }
        let letters: Vec<u8> = match self.descr.as_bytes() {
            [b'|', b'S', ..] => self.data.to_vec(),
            // Four bytes a letter; the names of formats are ASCII.
            [b'<', b'U', ..] => self.data.chunks_exact(4).map(|letter| letter[0]).collect(),
            [b'>', b'U', ..] => self.data.chunks_exact(4).map(|letter| letter[3]).collect(),
            _ => return None,
        };
        String::from_utf8(letters).ok().map(|text| text.trim_end_matches('\0').to_owned())
    }

    /// The entries as numbers, in C order.
    pub(crate) fn numbers(&self) -> Result<DenseArray, FileError> {
        let values = self.decode()?;
        let values = if self.fortran_order { c_order(&self.shape, values) } else { values };
        Ok(DenseArray { shape: self.shape.clone(), values })
    }

    fn decode(&self) -> Result<Vec<f64>, FileError> {
        let (order, kind) = self.descr.split_at(1);
        let big = order == ">" || (order == "=" && cfg!(target_endian = "big"));
        macro_rules! decode {
            ($number:ty) => {
                self.entries(big, <$number>::from_le_bytes, <$number>::from_be_bytes, f64::from)
            };
        }
        // Beyond 2^53 not every integer is a double.
        const EXACT: u64 = 1 << 53;
        let values: Vec<f64> = match kind {
            "f8" => decode!(f64),
            "f4" => decode!(f32),
            "i4" => decode!(i32),
            "i2" => decode!(i16),
            "i1" => decode!(i8),
            "u4" => decode!(u32),
            "u2" => decode!(u16),
            "u1" => decode!(u8),
            "b1" => self.data.iter().map(|&byte| f64::from(u8::from(byte != 0))).collect(),
            "i8" => self.entries(big, i64::from_le_bytes, i64::from_be_bytes, |value| {
                if value.unsigned_abs() <= EXACT { value as f64 } else { f64::NAN }
            }),
            "u8" => self.entries(big, u64::from_le_bytes, u64::from_be_bytes, |value| {
                if value <= EXACT { value as f64 } else { f64::NAN }
            }),
            _ => {
                return Err(FileError::new(
                    format!("entries of type {}", quote(self.descr.as_bytes())),
                    "numbers",
                ));
            }
        };
        if matches!(kind, "i8" | "u8") && values.iter().any(|value| value.is_nan()) {
            return Err(FileError::new("an integer beyond 2^53", "integers that a double can hold"));
        }
        debug_assert_eq!(values.len(), self.len());
        Ok(values)
    }

    fn entries<const N: usize, T>(
        &self,
        big: bool,
        little_endian: fn([u8; N]) -> T,
        big_endian: fn([u8; N]) -> T,
        number: impl Fn(T) -> f64,
    ) -> Vec<f64> {
        let (chunks, _) = self.data.as_chunks::<N>();
        if big {
            chunks.iter().map(|chunk| number(big_endian(*chunk))).collect()
        } else {
            chunks.iter().map(|chunk| number(little_endian(*chunk))).collect()
        }
    }
}

/// The bytes of an entry of this type, if it can be read.
fn item_size(descr: &str) -> Option<usize> {
    let order = descr.get(..1)?;
    if !["<", ">", "|", "="].contains(&order) {
        return None;
    }
    match &descr[1..] {
        "f8" | "i8" | "u8" => Some(8),
        "f4" | "i4" | "u4" => Some(4),
        "i2" | "u2" => Some(2),
        "i1" | "u1" | "b1" => Some(1),
        // Strings occur as the names of formats in `.npz` files.
        text => {
            let (unit, letters) = match text.split_at_checked(1)? {
                ("S", letters) => (1usize, letters),
                ("U", letters) => (4, letters),
                _ => return None,
            };
            letters.parse::<usize>().ok()?.checked_mul(unit)
        }
    }
}

/// The entries in C order, given those in Fortran order.
fn c_order(shape: &[usize], values: Vec<f64>) -> Vec<f64> {
    if shape.len() < 2 || values.is_empty() {
        return values;
    }
    // In Fortran order the stride of a dimension is the product of the lengths before it.
    let strides: Vec<usize> = shape
        .iter()
        .scan(1, |stride, &length| {
            let own = *stride;
            *stride *= length;
            Some(own)
        })
        .collect();
    let mut index = vec![0; shape.len()];
    let mut place = 0;
    let mut ordered = Vec::with_capacity(values.len());
    while ordered.len() < values.len() {
        ordered.push(values[place]);
        // The last index runs fastest; one that is full goes back to 0 and moves the one before it.
        for dimension in (0..shape.len()).rev() {
            index[dimension] += 1;
            place += strides[dimension];
            if index[dimension] < shape[dimension] {
                break;
            }
            place -= strides[dimension] * shape[dimension];
            index[dimension] = 0;
        }
    }
    ordered
}

/// The keys `descr`, `fortran_order` and `shape` of a header.
fn header_of(header: &[u8]) -> Option<(String, bool, Vec<usize>)> {
    let mut literal = Literal { rest: std::str::from_utf8(header).ok()? };
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    literal.skip("{")?;
    while literal.skip("}").is_none() {
        let key = literal.string()?;
        literal.skip(":")?;
        match key.as_str() {
            "descr" => descr = Some(literal.descr()?),
            "fortran_order" => fortran_order = Some(literal.boolean()?),
            "shape" => shape = Some(literal.shape()?),
            _ => return None,
        }
        if literal.skip(",").is_none() && !literal.rest.trim_start().starts_with('}') {
            return None;
        }
    }
    literal.rest.trim().is_empty().then_some(())?;
    Some((descr?, fortran_order?, shape?))
}

/// The part of Python's literals that headers use.
struct Literal<'a> {
    rest: &'a str,
}

impl Literal<'_> {
    fn skip(&mut self, token: &str) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(token)?;
        Some(())
    }

    fn string(&mut self) -> Option<String> {
        let text = self.rest.trim_start();
        let mark = text.chars().next().filter(|mark| matches!(mark, '\'' | '"'))?;
        let (string, rest) = text[1..].split_once(mark)?;
        self.rest = rest;
        Some(string.to_owned())
    }

    /// The type of the entries; that of a structured array is kept as it stands, to be shown in a message.
    fn descr(&mut self) -> Option<String> {
        let text = self.rest.trim_start();
        if text.starts_with('[') {
            let end = text.find(']')?;
            self.rest = &text[end + 1..];
            return Some(text[..=end].to_owned());
        }
        self.string()
    }

    fn boolean(&mut self) -> Option<bool> {
        self.skip("True").map(|()| true).or_else(|| self.skip("False").map(|()| false))
    }

    fn shape(&mut self) -> Option<Vec<usize>> {
        let mut shape = Vec::new();
        self.skip("(")?;
        while self.skip(")").is_none() {
            let text = self.rest.trim_start();
            let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
            shape.push(text[..end].parse().ok()?);
            // Python 2 wrote `3L` for long integers.
            self.rest = text[end..].strip_prefix('L').unwrap_or(&text[end..]);
            if self.skip(",").is_none() && !self.rest.trim_start().starts_with(')') {
                return None;
            }
        }
        Some(shape)
    }
}
