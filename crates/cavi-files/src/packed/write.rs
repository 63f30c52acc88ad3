//! Arrays to a packed file, section after section: nothing but a buffer is held.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use cavi_numerics::Numbers;
use serde_json::{Value, json};

use super::{ALIGNMENT, Declared, MAGIC, Only, VERSION, checksum};
use crate::error::FileError;
use crate::read::texts::TextOptions;
use crate::write::atomically;

/// An axis that packed arrays run along, or point into.
#[derive(Clone, Debug)]
pub struct PackedAxis<'a> {
    /// Its name.
    pub name: &'a str,
    /// The number of its positions.
    pub size: usize,
    /// The label of each position, if it has any; of a ragged axis those of one group after the other.
    pub labels: Option<&'a [String]>,
    /// Of a ragged axis the name of the axis that it is ragged in, and how many positions each group has, in the order of that axis.
    pub groups: Option<(&'a str, Vec<u32>)>,
}

/// An array to be packed.
#[derive(Clone, Debug)]
pub struct PackedArray<'a> {
    /// Its name.
    pub name: &'a str,
    /// The names of the axes that it runs along, in order.
    pub axes: Vec<&'a str>,
    /// Of index data, the axis that its values are positions of.
    pub points_into: Option<&'a str>,
    /// What the program that it was read for declares of its entries.
    pub declared: Declared,
    /// Of counts of words in texts, by which options the texts were read.
    pub texts: Option<&'a TextOptions>,
    /// Of a sparse array the positions of its entries, a column for each axis; `None` of a dense one.
    pub indices: Option<&'a [Numbers<u32>]>,
    /// Its values.
    pub entries: PackedEntries<'a>,
}

/// The values of an array, one an entry.
#[derive(Clone, Copy, Debug)]
pub struct PackedEntries<'a> {
    /// The values; of an entry that is missing anything.
    pub values: &'a [f64],
    /// Which are observed; `None` where all are.
    pub observed: Option<&'a [bool]>,
}

/// Writes a packed file beside its final name, and renames it once it is whole and on the disk. Directories on the way to it
/// are made. Returns its bytes.
///
/// # Errors
/// Those of the system; labels and names of more than 4 GB.
pub fn write_packed(
    path: &Path,
    axes: &[PackedAxis<'_>],
    arrays: &[PackedArray<'_>],
) -> Result<u64, FileError> {
    let mut bytes = 0;
    atomically(path, |file| {
        let mut sections = Sections { file, at: 0 };
        sections.file.write_all(&[0; ALIGNMENT as usize])?;
        sections.at = ALIGNMENT;
        let axes = axes.iter().map(|own| sections.axis(own)).collect::<io::Result<Vec<Value>>>()?;
        let arrays = arrays.iter().map(|own| sections.array(own)).collect::<io::Result<Vec<Value>>>()?;
        let header = json!({ "axes": axes, "arrays": arrays }).to_string();
        let at = sections.at;
        bytes = at + header.len() as u64;
        file.write_all(header.as_bytes())?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&preamble(header.as_bytes(), at, bytes))?;
        file.flush()?;
        file.get_ref().sync_all()
    })?;
    Ok(bytes)
}

/// What stands before the sections.
fn preamble(header: &[u8], at: u64, bytes: u64) -> Vec<u8> {
    let mut own = MAGIC.to_vec();
    own.extend(VERSION.to_le_bytes());
    own.extend(checksum(header).to_le_bytes());
    [at, header.len() as u64, bytes].iter().for_each(|number| own.extend(number.to_le_bytes()));
    own.extend(checksum(&own).to_le_bytes());
    own.resize(ALIGNMENT as usize, 0);
    own
}

/// What writes sections, and where the next one begins.
struct Sections<'f> {
    file: &'f mut BufWriter<File>,
    at: u64,
}

impl Sections<'_> {
    fn axis(&mut self, axis: &PackedAxis<'_>) -> io::Result<Value> {
        let labels = match axis.labels {
            None => Value::Null,
            Some(labels) => {
                let lengths: io::Result<Vec<u32>> = labels
                    .iter()
                    .map(|label| u32::try_from(label.len()).map_err(|_| io::ErrorKind::FileTooLarge.into()))
                    .collect();
                let lengths = lengths?;
                self.section(labels.iter().zip(&lengths), |(label, length), bytes| {
                    bytes.extend(length.to_le_bytes());
                    bytes.extend(label.as_bytes());
                })?
            }
        };
        let Some((parent, sizes)) = &axis.groups else {
            return Ok(json!({ "name": axis.name, "size": axis.size, "labels": labels }));
        };
        let groups = self.section(sizes.iter(), |size, bytes| bytes.extend(size.to_le_bytes()))?;
        Ok(json!({ "name": axis.name, "size": axis.size, "labels": labels, "in": parent, "groups": groups }))
    }

    fn array(&mut self, array: &PackedArray<'_>) -> io::Result<Value> {
        let PackedEntries { values, observed } = array.entries;
        let columns = array.indices.unwrap_or_default();
        let indices: io::Result<Vec<Value>> = columns
            .iter()
            .map(|column| self.section(column.iter(), |place, bytes| bytes.extend(place.to_le_bytes())))
            .collect();
        let indices = indices?;
        let seen = |entry: usize| observed.is_none_or(|observed| observed[entry]);
        let own = values.iter().enumerate().map(|(entry, value)| if seen(entry) { *value } else { f64::NAN });
        let values = self.section(own, |value, bytes| bytes.extend(value.to_le_bytes()))?;
        let form = if array.indices.is_some() { "sparse" } else { "dense" };
        Ok(json!({
            "name": array.name,
            "axes": array.axes,
            "form": form,
            "points_into": array.points_into,
            "unlisted": array.indices.map(|_| array.declared.unlisted()),
            "only": array.declared.only.map(Only::text),
            "texts": array.texts.map(TextOptions::to_json),
            "indices": indices,
            "values": values,
        }))
    }

    /// Writes what items are as bytes, a buffer at a time, and zeros up to where the next section begins.
    fn section<T>(
        &mut self,
        items: impl Iterator<Item = T>,
        mut put: impl FnMut(T, &mut Vec<u8>),
    ) -> io::Result<Value> {
        const BUFFER: usize = 1 << 16;
        let (at, mut sum) = (self.at, flate2::Crc::new());
        let mut buffer = Vec::with_capacity(BUFFER + 64);
        let mut drain = |buffer: &mut Vec<u8>, file: &mut BufWriter<File>| {
            sum.update(buffer);
            self.at += buffer.len() as u64;
            file.write_all(buffer)?;
            buffer.clear();
            io::Result::Ok(())
        };
        for item in items {
            put(item, &mut buffer);
            if buffer.len() >= BUFFER {
                drain(&mut buffer, self.file)?;
            }
        }
        drain(&mut buffer, self.file)?;
        let bytes = self.at - at;
        let blank = self.at.next_multiple_of(ALIGNMENT) - self.at;
        self.file.write_all(&[0; ALIGNMENT as usize][..blank as usize])?;
        self.at += blank;
        Ok(json!({ "at": at, "bytes": bytes, "crc32": sum.sum() }))
    }
}
