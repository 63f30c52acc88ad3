//! A file in HDF5 as groups, arrays of numbers and lists of text, none of which takes more memory than the bytes of the file
//! account for.

use std::fmt::Display;
use std::path::Path;

use hdf5_pure::{
    AttrValue, DType, Dataset, Datatype, DatatypeByteOrder, Error, File, FormatError, Group,
    VlenStringReadOptions,
};

use crate::error::{FileError, quote};
use crate::read::bytes;

/// So many numbers are read at a time.
const BLOCK: usize = if cfg!(fuzzing) { 1 << 4 } else { 1 << 18 };
/// Deflate makes of one byte at most so many, and no filter of the format more.
const MOST_INFLATED: u64 = 1032;
/// So many bytes may be declared by the smallest of files: arrays that nobody wrote to are filled with zeros.
const ALWAYS: u64 = 1 << 24;
/// Groups within groups beyond this depth are not listed.
const DEEPEST: usize = 16;
/// So many arrays are listed, of so many groups.
const MOST_LISTED: usize = 1000;

/// An open file.
pub(super) struct Store {
    file: File,
    bytes: u64,
}

/// What stands at a path.
pub(super) enum Node {
    Group(Group),
    Dataset(Box<Dataset>),
    Nothing,
}

impl Store {
    pub(super) fn open(path: &Path, bytes: u64) -> Result<Store, FileError> {
        let file = File::open_streaming(path).map_err(|error| no_file(&error))?;
        Store { file, bytes }.complete()
    }

    pub(super) fn of_bytes(bytes: Vec<u8>) -> Result<Store, FileError> {
        let length = bytes.len() as u64;
        if bytes.is_empty() {
            return Err(FileError::new("an empty file", "data"));
        }
        let file = File::from_bytes(bytes).map_err(|error| no_file(&error))?;
        Store { file, bytes: length }.complete()
    }

    /// Refuses a file that is shorter than its head says.
    fn complete(self) -> Result<Store, FileError> {
        let stated = self.file.superblock().eof_address;
        if self.bytes < stated {
            return Err(FileError::new(
                format!("an HDF5 file that breaks off (after {} of {stated} bytes)", self.bytes),
                "a complete HDF5 file",
            ));
        }
        Ok(self)
    }

    /// What stands at a path.
    pub(super) fn node(&self, path: &str) -> Result<Node, FileError> {
        match self.file.dataset(path) {
            Ok(dataset) => Ok(Node::Dataset(Box::new(dataset))),
            Err(Error::NotADataset(_)) => {
                self.file.group(path).map(Node::Group).map_err(|error| damaged(path, &error))
            }
            Err(Error::NotAGroup(_) | Error::Format(FormatError::PathNotFound(_))) => Ok(Node::Nothing),
            Err(error) => Err(damaged(path, &error)),
        }
    }

    /// Whether something stands at a path.
    pub(super) fn has(&self, path: &str) -> Result<bool, FileError> {
        Ok(!matches!(self.node(path)?, Node::Nothing))
    }

    /// The names of the groups and of the arrays in a group.
    pub(super) fn names(&self, group: &Group, path: &str) -> Result<Vec<String>, FileError> {
        let wrong = |error: Error| damaged(path, &error);
        let mut names = group.groups().map_err(wrong)?;
        names.extend(group.datasets().map_err(wrong)?);
        names.sort();
        Ok(names)
    }

    /// The names of what stands at the top.
    pub(super) fn top(&self) -> Result<Vec<String>, FileError> {
        self.names(&self.file.root(), "/")
    }

    /// The dataset at a path.
    pub(super) fn dataset(&self, path: &str) -> Result<Box<Dataset>, FileError> {
        match self.node(path)? {
            Node::Dataset(dataset) => Ok(dataset),
            Node::Group(_) => Err(FileError::new(format!("a group at {}", quoted(path)), "an array")),
            Node::Nothing => Err(FileError::new(format!("nothing at {}", quoted(path)), "an array")),
        }
    }

    /// An attribute of a group or an array, if it is text.
    pub(super) fn text_attribute(&self, path: &str, name: &str) -> Result<Option<String>, FileError> {
        Ok(self.attribute(path, name)?.and_then(|value| value.as_str().map(str::to_owned)))
    }

    /// An attribute of a group or an array, if it is a list of texts.
    pub(super) fn texts_attribute(&self, path: &str, name: &str) -> Result<Vec<String>, FileError> {
        let value = self.attribute(path, name)?;
        Ok(value.and_then(|value| value.as_strings().map(<[String]>::to_vec)).unwrap_or_default())
    }

    /// An attribute of a group or an array, if it is a list of whole numbers.
    pub(super) fn whole_attribute(&self, path: &str, name: &str) -> Result<Option<Vec<u64>>, FileError> {
        fn whole<T: Copy + TryInto<u64>>(values: &[T]) -> Option<Vec<u64>> {
            values.iter().map(|value| (*value).try_into().ok()).collect()
        }
        Ok(match self.attribute(path, name)? {
            Some(AttrValue::I32Array(values)) => whole(&values),
            Some(AttrValue::I64Array(values)) => whole(&values),
            Some(AttrValue::U32Array(values)) => whole(&values),
            Some(AttrValue::U64Array(values)) => whole(&values),
            _ => None,
        })
    }

    fn attribute(&self, path: &str, name: &str) -> Result<Option<AttrValue>, FileError> {
        let mut all = match self.node(path)? {
            Node::Group(group) => group.attrs(),
            Node::Dataset(dataset) => dataset.attrs(),
            Node::Nothing => return Ok(None),
        }
        .map_err(|error| damaged(path, &error))?;
        Ok(all.remove(name))
    }

    /// The shape of an array, if the bytes of the file can hold so much.
    pub(super) fn shape(&self, dataset: &Dataset, path: &str) -> Result<Vec<usize>, FileError> {
        let wrong = |error: Error| damaged(path, &error);
        let shape = dataset.shape().map_err(wrong)?;
        let size = dataset.element_size().map_err(wrong)?;
        self.check_size(&shape, size, path)?;
        if let Some(chunk) = dataset.chunk_shape().map_err(wrong)? {
            self.check_size(&chunk, size, path)?;
            let inflated = chunk.iter().fold(size, |bytes, length| bytes.saturating_mul(*length));
            let inflated = usize::try_from(inflated).unwrap_or(usize::MAX);
            bytes::memory_for(inflated, &format!("an array {} in chunks", quoted(path)))?;
        }
        Ok(shape.iter().map(|length| *length as usize).collect())
    }

    fn check_size(&self, shape: &[u64], size: u64, path: &str) -> Result<(), FileError> {
        let bytes = shape.iter().try_fold(size, |bytes, length| bytes.checked_mul(*length));
        let most = self.bytes.saturating_mul(MOST_INFLATED).saturating_add(ALWAYS);
        match bytes {
            Some(bytes) if bytes <= most && shape.iter().all(|length| *length <= 1 << 48) => Ok(()),
            Some(_) | None => Err(FileError::new(
                format!("an array {} of shape {shape:?} in a file of {} bytes", quoted(path), self.bytes),
                "an array that the bytes of the file can hold",
            )),
        }
    }

    /// The shape of an array of numbers, and the numbers in C order.
    pub(super) fn numbers(&self, dataset: &Dataset, path: &str) -> Result<(Vec<usize>, Vec<f64>), FileError> {
        let shape = self.shape(dataset, path)?;
        let wrong = |error: Error| damaged(path, &error);
        let values = match dataset.dtype().map_err(wrong)? {
            // Truth is stored so, and other names for whole numbers.
            DType::Enum(_) => {
                let decode = whole_numbers(&dataset.datatype().map_err(wrong)?).ok_or_else(|| {
                    FileError::new(
                        format!("an array {} of names for what is no whole number", quoted(path)),
                        "numbers",
                    )
                })?;
                self.blocks(dataset, path, &shape, |from, rows| {
                    Ok(decode.of(&dataset.read_raw_rows(from, rows)?))
                })?
            }
            own if is_whole(&own) || matches!(own, DType::F32 | DType::F64) => {
                self.blocks(dataset, path, &shape, |from, rows| dataset.read_f64_rows(from, rows))?
            }
            other => {
                return Err(FileError::new(format!("an array {} of type {other}", quoted(path)), "numbers"));
            }
        };
        Ok((shape, values))
    }

    /// A list of whole numbers.
    pub(super) fn whole(&self, path: &str) -> Result<Vec<i64>, FileError> {
        self.list(path, |dataset, from, rows| dataset.read_i64_rows(from, rows))
    }

    /// A list of positions; one that is none becomes the greatest number, which no matrix has a place for.
    pub(super) fn positions(&self, path: &str) -> Result<Vec<u32>, FileError> {
        self.list(path, |dataset, from, rows| {
            let own = dataset.read_i64_rows(from, rows)?;
            Ok(own.into_iter().map(|position| u32::try_from(position).unwrap_or(u32::MAX)).collect())
        })
    }

    fn list<T>(
        &self,
        path: &str,
        read: impl Fn(&Dataset, u64, u64) -> Result<Vec<T>, Error>,
    ) -> Result<Vec<T>, FileError> {
        let dataset = self.dataset(path)?;
        let shape = self.shape(&dataset, path)?;
        if shape.len() != 1 {
            return Err(FileError::new(
                format!("{} of {} dimensions", quoted(path), shape.len()),
                "a list of whole numbers",
            ));
        }
        self.blocks(&dataset, path, &shape, |from, rows| read(&dataset, from, rows))
    }

    /// All of an array, some rows at a time, so that only a part of it is held twice. Rows are those of whole chunks.
    fn blocks<T>(
        &self,
        dataset: &Dataset,
        path: &str,
        shape: &[usize],
        read: impl Fn(u64, u64) -> Result<Vec<T>, Error>,
    ) -> Result<Vec<T>, FileError> {
        let wrong = |error: Error| damaged(path, &error);
        let cells: usize = shape.iter().product();
        bytes::memory_for(cells.saturating_mul(size_of::<T>()), &format!("an array {}", quoted(path)))?;
        let rows = shape.first().copied().unwrap_or(1);
        let chunk = dataset.chunk_shape().map_err(wrong)?;
        let chunk = chunk.and_then(|own| own.first().copied()).unwrap_or(1).max(1) as usize;
        let width = (cells / rows.max(1)).max(1);
        let step = (BLOCK / width).max(1).div_ceil(chunk) * chunk;
        let mut values = Vec::new();
        for start in (0..rows).step_by(step) {
            let own = read(start as u64, step.min(rows - start) as u64).map_err(wrong)?;
            if start == 0 {
                values.reserve_exact(cells);
            }
            values.extend(own);
        }
        if values.len() != cells {
            return Err(damaged(path, &format!("{} values for {cells} cells", values.len())));
        }
        Ok(values)
    }

    /// A list of texts.
    pub(super) fn texts(&self, path: &str) -> Result<Vec<String>, FileError> {
        let dataset = self.dataset(path)?;
        let shape = self.shape(&dataset, path)?;
        let wrong = |error: Error| damaged(path, &error);
        if shape.len() != 1 {
            let found = format!("{} of {} dimensions", quoted(path), shape.len());
            return Err(FileError::new(found, "a list of texts"));
        }
        let texts = match dataset.dtype().map_err(wrong)? {
            DType::VariableLengthString => {
                let most = usize::try_from(self.bytes.saturating_mul(MOST_INFLATED)).unwrap_or(usize::MAX);
                let most = bytes::budget().map_or(most, |budget| most.min(budget));
                let options =
                    VlenStringReadOptions::new().with_max_elements(shape[0]).with_max_payload_bytes(most);
                dataset.read_vlen_strings(options).map_err(wrong)?
            }
            DType::String => dataset.read_string().map_err(wrong)?,
            own if is_whole(&own) => self.whole(path)?.iter().map(i64::to_string).collect(),
            other => {
                return Err(FileError::new(format!("{} of type {other}", quoted(path)), "a list of texts"));
            }
        };
        // What is no UTF-8 is replaced by this character, so that different texts become one.
        match texts.iter().position(|text| text.contains('\u{FFFD}')) {
            None => Ok(texts),
            Some(place) => Err(FileError::new(
                format!("bytes that are not UTF-8 in text {place} of {}", quoted(path)),
                "text in UTF-8",
            )),
        }
    }

    /// Whether an array is one of whole numbers.
    pub(super) fn is_whole(&self, dataset: &Dataset, path: &str) -> Result<bool, FileError> {
        Ok(is_whole(&dataset.dtype().map_err(|error| damaged(path, &error))?))
    }

    /// The arrays of numbers of the file, with their shapes.
    pub(super) fn arrays(&self) -> Result<Vec<(String, Vec<usize>)>, FileError> {
        let mut found = Vec::new();
        // A group may hold itself, so that depth alone does not end the walk.
        let mut groups = 0;
        self.gather(&self.file.root(), "", DEEPEST, &mut groups, &mut found)?;
        Ok(found)
    }

    fn gather(
        &self,
        group: &Group,
        above: &str,
        depth: usize,
        groups: &mut usize,
        found: &mut Vec<(String, Vec<usize>)>,
    ) -> Result<(), FileError> {
        *groups += 1;
        if *groups > MOST_LISTED {
            return Ok(());
        }
        for name in self.names(group, above)? {
            let path = format!("{above}{name}");
            if found.len() >= MOST_LISTED || depth == 0 {
                return Ok(());
            }
            match self.node(&path)? {
                Node::Group(group) => self.gather(&group, &format!("{path}/"), depth - 1, groups, found)?,
                Node::Dataset(dataset) => {
                    let is_text = matches!(
                        dataset.dtype().map_err(|error| damaged(&path, &error))?,
                        DType::String | DType::VariableLengthString | DType::Compound(_) | DType::Other(_)
                    );
                    if !is_text {
                        found.push((path.clone(), self.shape(&dataset, &path)?));
                    }
                }
                Node::Nothing => {}
            }
        }
        Ok(())
    }
}

/// How whole numbers lie in bytes.
struct WholeNumbers {
    size: usize,
    is_signed: bool,
    is_big_endian: bool,
}

/// Whether a type is one of whole numbers.
fn is_whole(own: &DType) -> bool {
    matches!(
        own,
        DType::I8 | DType::I16 | DType::I32 | DType::I64 | DType::U8 | DType::U16 | DType::U32 | DType::U64
    )
}

/// How the numbers behind the names of an enumeration lie in bytes; `None` where they are none of the usual sizes.
fn whole_numbers(own: &Datatype) -> Option<WholeNumbers> {
    let Datatype::Enumeration { base_type, .. } = own else { return None };
    let Datatype::FixedPoint { size, byte_order, layout } = base_type.as_ref() else { return None };
    let size = *size as usize;
    let is_usual = (1..=8).contains(&size) && usize::from(layout.bit_precision) == 8 * size;
    let is_big_endian = match byte_order {
        DatatypeByteOrder::LittleEndian => false,
        DatatypeByteOrder::BigEndian => true,
        DatatypeByteOrder::Vax => return None,
    };
    is_usual.then_some(WholeNumbers { size, is_signed: layout.signed, is_big_endian })
}

impl WholeNumbers {
    /// The numbers that these bytes are.
    fn of(&self, bytes: &[u8]) -> Vec<f64> {
        let number = |own: &[u8]| {
            let mut all = [0; 8];
            all[..self.size].copy_from_slice(own);
            if self.is_big_endian {
                all[..self.size].reverse();
            }
            // The highest bit is carried down from the top.
            let shift = 64 - 8 * self.size as u32;
            match self.is_signed {
                true => ((i64::from_le_bytes(all) << shift) >> shift) as f64,
                false => u64::from_le_bytes(all) as f64,
            }
        };
        bytes.chunks_exact(self.size).map(number).collect()
    }
}

fn quoted(path: &str) -> String {
    quote(path.as_bytes())
}

/// A file that is none of HDF5, or whose first bytes are damaged.
fn no_file(error: &Error) -> FileError {
    match error {
        Error::Format(FormatError::SignatureNotFound) => {
            FileError::new("a file that is not in HDF5", "an HDF5 file, since its name ends so")
        }
        Error::Io(error) => FileError::new(format!("an error of the system, \"{error}\""), "a readable file"),
        other => damaged("/", other),
    }
}

/// Damage, or what the reader does not know, at a path.
fn damaged(path: &str, error: &dyn Display) -> FileError {
    let path = if path.is_empty() { "/" } else { path };
    FileError::new(format!("what cannot be read at {} ({error})", quoted(path)), "a complete HDF5 file")
}
