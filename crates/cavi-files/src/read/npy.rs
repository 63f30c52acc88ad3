//! NumPy arrays: `.npy`.
//!
//! The magic string, a version, the length of the header, the header, which is a Python dictionary with the keys
//! `descr`, `fortran_order` and `shape`, and then the entries.
//!
//! # Source
//! NumPy Enhancement Proposal 1, and `numpy/lib/_format_impl.py`.

use std::io::{ErrorKind, Read};
use std::ops::Range;

use crate::error::{FileError, quote};

/// An array of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseArray {
    /// The length of each dimension; none for a single number.
    pub shape: Vec<usize>,
    /// The entries in C order.
    pub values: Vec<f64>,
}

/// What the header says of the entries.
struct Header {
    shape: Vec<usize>,
    descr: String,
    fortran_order: bool,
}

/// An array whose entries are still bytes.
pub(crate) struct RawArray<'a> {
    header: Header,
    data: &'a [u8],
}

/// Reads an array of numbers.
pub(crate) fn read(bytes: &[u8]) -> Result<DenseArray, FileError> {
    raw(bytes)?.numbers()
}

/// Reads an array of numbers from a file of so many bytes, block by block: beside the array no more than a block is held.
pub(crate) fn read_file(mut file: impl Read, length: usize) -> Result<DenseArray, FileError> {
    const BLOCK: usize = if cfg!(fuzzing) { 1 << 6 } else { 1 << 20 };
    let refused = |error: std::io::Error| match error.kind() {
        ErrorKind::UnexpectedEof => {
            FileError::new("fewer bytes than the file had", "a file that does not change")
        }
        _ => super::bytes::refused(&error),
    };
    let mut head = Vec::new();
    file.by_ref().take(PREAMBLE as u64).read_to_end(&mut head).map_err(refused)?;
    let place = header_place(&head)?;
    if place.end > length {
        return Err(ends());
    }
    super::bytes::memory_for(place.len(), "a header")?;
    let missing = place.end.saturating_sub(head.len());
    file.by_ref().take(missing as u64).read_to_end(&mut head).map_err(refused)?;
    let header = Header::of(head.get(place.clone()).ok_or_else(ends)?)?;
    let mut left = length - place.end;
    header.check_length(left)?;
    let mut values = Vec::new();
    values
        .try_reserve_exact(header.len())
        .map_err(|_| FileError::new(format!("an array of shape {:?}", header.shape), "what memory holds"))?;
    // What was read beyond a short header belongs to the entries.
    let mut block = head.split_off(place.end);
    while left > 0 {
        let (had, size) = (block.len(), left.min(BLOCK));
        block.resize(size, 0);
        file.read_exact(&mut block[had.min(size)..]).map_err(refused)?;
        header.decode(&block, &mut values)?;
        left -= size;
        block.clear();
    }
    Ok(header.array(values))
}

/// The bytes before the header, at most.
const PREAMBLE: usize = 12;

fn ends() -> FileError {
    FileError::new("the end of the file within the header", "a complete .npy file")
}

/// Where the header stands, by the first [`PREAMBLE`] bytes.
fn header_place(bytes: &[u8]) -> Result<Range<usize>, FileError> {
    let Some(rest) = bytes.strip_prefix(b"\x93NUMPY") else {
        return Err(FileError::new(
            format!("{} at the start", quote(&bytes[..bytes.len().min(6)])),
            "the bytes `\\x93NUMPY` of an .npy file",
        ));
    };
    match rest {
        [1, _, a, b, ..] => Ok(10..10 + usize::from(u16::from_le_bytes([*a, *b]))),
        [2 | 3, _, a, b, c, d, ..] => Ok(12..12 + u32::from_le_bytes([*a, *b, *c, *d]) as usize),
        [0 | 4.., ..] => {
            Err(FileError::new(format!("version {} of the .npy format", rest[0]), "version 1, 2 or 3"))
        }
        _ => Err(ends()),
    }
}

/// Reads the header, and checks the length of what follows against it.
pub(crate) fn raw(bytes: &[u8]) -> Result<RawArray<'_>, FileError> {
    let place = header_place(bytes)?;
    let (head, data) = bytes.split_at_checked(place.end).ok_or_else(ends)?;
    let header = Header::of(&head[place])?;
    header.check_length(data.len())?;
    Ok(RawArray { header, data })
}

impl Header {
    fn of(header: &[u8]) -> Result<Header, FileError> {
        let (descr, fortran_order, shape) = header_of(header).ok_or_else(|| {
            FileError::new(
                format!("the header {}", quote(header)),
                "a dictionary with the keys `descr`, `fortran_order` and `shape`",
            )
        })?;
        Ok(Header { shape, descr, fortran_order })
    }

    /// The number of entries. It is checked not to overflow, and against the bytes that hold them.
    fn len(&self) -> usize {
        if self.shape.contains(&0) { 0 } else { self.shape.iter().product() }
    }

    /// Refuses a shape that this many bytes after the header do not account for.
    fn check_length(&self, bytes: usize) -> Result<(), FileError> {
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
        if claimed == Some(bytes) {
            // Numbers become doubles; text has no more letters than bytes.
            let cells = bytes / size.max(1);
            return super::bytes::memory_for(cells.saturating_mul(size_of::<f64>()), "an array");
        }
        Err(FileError::new(
            format!("{bytes} bytes after the header"),
            match claimed {
                Some(claimed) => format!("{claimed} bytes, for the shape is {:?}", self.shape),
                None => format!("the bytes of an array of shape {:?}, which no memory can hold", self.shape),
            },
        ))
    }

    /// The array of these entries, which stand as in the file.
    fn array(self, values: Vec<f64>) -> DenseArray {
        debug_assert_eq!(values.len(), self.len());
        let values = if self.fortran_order { c_order(&self.shape, values) } else { values };
        DenseArray { shape: self.shape, values }
    }

    /// Decodes whole entries, and puts them behind the values.
    fn decode(&self, data: &[u8], values: &mut Vec<f64>) -> Result<(), FileError> {
        let (order, kind) = self.descr.split_at(1);
        let big = order == ">" || (order == "=" && cfg!(target_endian = "big"));
        let from = values.len();
        macro_rules! decode {
            ($number:ty) => {
                entries(data, big, <$number>::from_le_bytes, <$number>::from_be_bytes, f64::from, values)
            };
        }
        // Beyond 2^53 not every integer is a double.
        const EXACT: u64 = 1 << 53;
        match kind {
            "f8" => decode!(f64),
            "f4" => decode!(f32),
            "i4" => decode!(i32),
            "i2" => decode!(i16),
            "i1" => decode!(i8),
            "u4" => decode!(u32),
            "u2" => decode!(u16),
            "u1" => decode!(u8),
            "b1" => values.extend(data.iter().map(|&byte| f64::from(u8::from(byte != 0)))),
            "i8" => {
                let number = |value: i64| if value.unsigned_abs() <= EXACT { value as f64 } else { f64::NAN };
                entries(data, big, i64::from_le_bytes, i64::from_be_bytes, number, values);
            }
            "u8" => {
                let number = |value: u64| if value <= EXACT { value as f64 } else { f64::NAN };
                entries(data, big, u64::from_le_bytes, u64::from_be_bytes, number, values);
            }
            _ => {
                return Err(FileError::new(
                    format!("entries of type {}", quote(self.descr.as_bytes())),
                    "numbers",
                ));
            }
        }
        if matches!(kind, "i8" | "u8") && values[from..].iter().any(|value| value.is_nan()) {
            return Err(FileError::new("an integer beyond 2^53", "integers that a double can hold"));
        }
        Ok(())
    }
}

fn entries<const N: usize, T>(
    data: &[u8],
    big: bool,
    little_endian: fn([u8; N]) -> T,
    big_endian: fn([u8; N]) -> T,
    number: impl Fn(T) -> f64,
    values: &mut Vec<f64>,
) {
    let (chunks, _) = data.as_chunks::<N>();
    if big {
        values.extend(chunks.iter().map(|chunk| number(big_endian(*chunk))));
    } else {
        values.extend(chunks.iter().map(|chunk| number(little_endian(*chunk))));
    }
}

impl RawArray<'_> {
    /// The length of each dimension.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.header.shape
    }

    /// The text that a string array of no dimensions holds.
    pub(crate) fn text(&self) -> Option<String> {
        if self.header.shape.iter().any(|&length| length != 1) {
            return None;
        }
        let letters: Vec<u8> = match self.header.descr.as_bytes() {
            [b'|', b'S', ..] => self.data.to_vec(),
            // Four bytes a letter; the names of formats are ASCII.
            [b'<', b'U', ..] => self.data.chunks_exact(4).map(|letter| letter[0]).collect(),
            [b'>', b'U', ..] => self.data.chunks_exact(4).map(|letter| letter[3]).collect(),
            _ => return None,
        };
        String::from_utf8(letters).ok().map(|text| text.trim_end_matches('\0').to_owned())
    }

    /// Shows each entry of a list as a number.
    pub(crate) fn each(&self, mut show: impl FnMut(f64) -> Result<(), FileError>) -> Result<(), FileError> {
        const ENTRIES: usize = if cfg!(fuzzing) { 5 } else { 8192 };
        let size = item_size(&self.header.descr).unwrap_or(1).max(1);
        let mut values = Vec::with_capacity(ENTRIES);
        for block in self.data.chunks(ENTRIES * size) {
            values.clear();
            self.header.decode(block, &mut values)?;
            values.iter().try_for_each(|value| show(*value))?;
        }
        Ok(())
    }

    /// The entries as numbers, in C order.
    pub(crate) fn numbers(self) -> Result<DenseArray, FileError> {
        let mut values = Vec::with_capacity(self.header.len());
        self.header.decode(self.data, &mut values)?;
        Ok(self.header.array(values))
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
