//! A packed file to what it holds: it is mapped, looked through once, and its numbers stay where they are.

use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use cavi_numerics::pages::{self, Pages};
use cavi_numerics::{MappedFile, Number, Numbers};
use serde_json::Value;

use super::{ALIGNMENT, Declared, MAGIC, Only, VERSION, checksum};
use crate::content::{Categories, Content, Coordinates, Dense, MISSING, Values};
use crate::error::{FileError, count, list, quote};
use crate::memory;
use crate::read::bytes::{open_to_map, refused};
use crate::read::texts::{TextOptions, TextReport, WordCount};
use crate::read::{Dimension, ReadOptions};

/// What a packed file says of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedSummary {
    /// Its name.
    pub name: String,
    /// The names and sizes of the axes that it runs along.
    pub axes: Vec<(String, usize)>,
    /// Whether its entries are listed.
    pub is_sparse: bool,
    /// How many values it has.
    pub values: usize,
    /// Of index data the axis that they point into.
    pub points_into: Option<String>,
}

/// Reads the array of a packed file that is named, else the one of the name that it is read for, else the only one.
///
/// # Errors
/// What is no packed file, or one of another version; one that was cut or damaged; an array that it does not have, or has over
/// other axes. Besides those of the system.
pub(crate) fn read(path: &Path, options: &ReadOptions<'_>) -> Result<Content, FileError> {
    let pack = Pack::open(path)?;
    let array = pack.find(options.column, options.name)?;
    pack.check_axes(array, options)?;
    if let Some(declared) = &options.declared {
        array.check(declared, options.dimensions)?;
    }
    pack.content(array)
}

/// What a packed file holds, by its header: each of its arrays, in order.
///
/// # Errors
/// As of a file that is read, but for damage in the arrays themselves.
pub fn summary(path: &Path) -> Result<Vec<PackedSummary>, FileError> {
    let pack = Pack::open(path)?;
    let size = |axis: &String| (axis.clone(), pack.axis(axis).map_or(0, |own| own.size));
    let of = |array: &Array| PackedSummary {
        name: array.name.clone(),
        axes: array.axes.iter().map(size).collect(),
        is_sparse: array.is_sparse,
        values: array.values.bytes.len() / size_of::<f64>(),
        points_into: array.points_into.clone(),
    };
    Ok(pack.arrays.iter().map(of).collect())
}

/// What a packed file begins and ends with: its header has a checksum of every section, so that these bytes tell two files apart without
/// their numbers. `None` of what cannot be read, or is no packed file.
pub fn identity(path: &Path) -> Option<Vec<u8>> {
    let mut file = open_to_map(path).ok()?;
    let mut own = vec![0; ALIGNMENT as usize];
    file.read_exact(&mut own).ok()?;
    let long = |at: usize| own[at..].first_chunk().map(|own| u64::from_le_bytes(*own));
    let (at, bytes, length) = (long(16)?, long(24)?, file.metadata().ok()?.len());
    if own[..8] != MAGIC || at.checked_add(bytes).is_none_or(|end| end > length) {
        return None;
    }
    file.seek(SeekFrom::Start(at)).ok()?;
    file.take(bytes).read_to_end(&mut own).ok()?;
    Some(own)
}

/// An axis of a packed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisOfPack {
    /// Its name.
    pub name: String,
    /// The number of its positions; of a ragged axis those of all groups.
    pub size: usize,
    /// The label of each position, if it has any; of a ragged axis those of one group after the other.
    pub labels: Option<Vec<String>>,
    /// Of a ragged axis the name of the axis that it is ragged in, and how many positions each group has.
    pub groups: Option<(String, Vec<u32>)>,
}

/// The axes of a packed file.
///
/// # Errors
/// As of a file that is read, but for damage in the arrays themselves.
pub fn axes(path: &Path) -> Result<Vec<AxisOfPack>, FileError> {
    let pack = Pack::open(path)?;
    let of = |axis: &Axis| {
        let groups = match &axis.groups {
            None => None,
            Some((parent, section)) => Some((parent.clone(), pack.groups(axis, parent, section)?)),
        };
        Ok(AxisOfPack { name: axis.name.clone(), size: axis.size, labels: pack.labels(axis)?, groups })
    };
    pack.axes.iter().map(of).collect()
}

/// A packed file whose header was read.
struct Pack {
    file: Arc<MappedFile>,
    axes: Vec<Axis>,
    arrays: Vec<Array>,
}

struct Axis {
    name: String,
    size: usize,
    labels: Option<Section>,
    /// Of a ragged axis the one that it is ragged in, and the sizes of its groups.
    groups: Option<(String, Section)>,
}

struct Array {
    name: String,
    axes: Vec<String>,
    is_sparse: bool,
    points_into: Option<String>,
    /// What an entry that is not listed is; `None` where the file does not say so.
    unlisted: Option<String>,
    /// Which entries there are; `None` where all are, or the file does not say so.
    only: Option<String>,
    /// Of counts of words in texts, by which options these were read.
    texts: Option<TextOptions>,
    indices: Vec<Section>,
    values: Section,
}

/// Some bytes of the file, all of which are there.
struct Section {
    bytes: Range<usize>,
    sum: u32,
}

/// What is found of a section that is gone through: its checksum, and what is known of its numbers.
struct Looked<'a, T: Number> {
    section: &'a Section,
    sum: flate2::Crc,
    facts: T::Facts,
}

impl<'a, T: Number> Looked<'a, T> {
    fn new(section: &'a Section) -> Looked<'a, T> {
        Looked { section, sum: flate2::Crc::new(), facts: T::Facts::default() }
    }

    /// Takes these of its numbers in, each once and in order.
    fn see(&mut self, file: &[u8], numbers: &[T], range: Range<usize>) {
        let place = |entry: usize| self.section.bytes.start + entry * size_of::<T>();
        self.sum.update(&file[place(range.start)..place(range.end)]);
        T::see(&mut self.facts, &numbers[range]);
    }

    /// The numbers with what is known of them, if they are those that were written.
    fn finish(self, numbers: Numbers<T>, what: &dyn Fn() -> String) -> Result<Numbers<T>, FileError> {
        match self.sum.sum() == self.section.sum {
            true => Ok(numbers.with_facts(self.facts)),
            false => Err(damaged(&what())),
        }
    }
}

/// Whether an entry stands after the one before it, by its positions in these columns, the first before the others.
fn stands_after(columns: &[&[u32]], entry: usize) -> bool {
    let apart = columns.iter().find(|column| column[entry - 1] != column[entry]);
    apart.is_some_and(|column| column[entry - 1] < column[entry])
}

impl Array {
    /// Refuses an array that was packed under another declaration: entries that were not kept would be others here.
    fn check(&self, declared: &Declared, dimensions: &[Dimension<'_>]) -> Result<(), FileError> {
        let name = quote(self.name.as_bytes());
        let anew = "packed data keep what the declaration of the program says of which they were packed; pack them anew for this one";
        let own = |unlisted: &str| match unlisted {
            "0" => "an entry that is not listed is 0 (`absent = 0`)",
            _ => "an entry that is not listed is missing (`absent = NA`)",
        };
        if let Some(unlisted) =
            self.unlisted.as_deref().filter(|own| self.is_sparse && *own != declared.unlisted())
        {
            return Err(FileError::new(
                format!("{name} packed where {}", own(unlisted)),
                format!("data where {}", own(declared.unlisted())),
            )
            .with_help(anew));
        }
        let only = declared.only.map(Only::text);
        if let Some(packed) = self.only.as_ref().filter(|own| Some(*own) != only.as_ref()) {
            let shown = |text: &str| {
                let mut words = text.split(' ');
                let mut next = || words.next().unwrap_or_default();
                let (one, sign, other) = (next(), next(), next());
                let of = |place: &str| {
                    let own = place.parse::<usize>().ok().and_then(|place| dimensions.get(place));
                    own.map_or(place, |own| own.letter.unwrap_or(own.axis)).to_owned()
                };
                format!("the entries with {} {sign} {} alone", of(one), of(other))
            };
            let expected = only.as_deref().map_or_else(|| "all entries".to_owned(), shown);
            return Err(
                FileError::new(format!("{name} packed of {}", shown(packed)), expected).with_help(anew)
            );
        }
        Ok(())
    }
}

impl Pack {
    fn open(path: &Path) -> Result<Pack, FileError> {
        let file = open_to_map(path)?;
        let length = file.metadata().map_err(|error| refused(&error))?.len();
        if length < ALIGNMENT {
            return Err(no_pack());
        }
        let room = memory::room_for_files().map_or(u64::MAX, |room| room as u64);
        let file = MappedFile::beyond(&file, room).map_err(|error| {
            let found =
                format!("a file of {} that cannot be mapped, \"{error}\"", memory::text(length as usize));
            FileError::new(found, "room for it in the address space of the process").with_help(
                "`ulimit -v unlimited` lifts a limit on it; `--memory-limit` does not count mapped data",
            )
        })?;
        let bytes = file.bytes();
        let word = |at: usize| bytes[at..].first_chunk().map_or(0, |own| u32::from_le_bytes(*own));
        let long = |at: usize| bytes[at..].first_chunk().map_or(0, |own| u64::from_le_bytes(*own));
        if bytes[..8] != MAGIC {
            return Err(no_pack());
        }
        if word(8) != VERSION {
            return Err(FileError::new(
                format!("packed data of version {}", word(8)),
                format!("packed data of version {VERSION}, which this program reads"),
            )
            .with_help("pack the data anew: `cavi pack MODEL --data ... --out FILE`"));
        }
        if word(40) != checksum(&bytes[..40]) {
            return Err(damaged("its first bytes"));
        }
        if long(32) != length {
            return Err(FileError::new(
                format!("packed data of {length} bytes that had {} when they were written", long(32)),
                "the whole file",
            )
            .with_help("a copy may have broken off; copy the file again, or pack the data anew"));
        }
        let header = section_of(long(16), long(24), bytes.len()).map(|range| &bytes[range]);
        let header =
            header.filter(|header| checksum(header) == word(12)).ok_or_else(|| damaged("its header"))?;
        let header: Value = serde_json::from_slice(header).map_err(|_| damaged("its header"))?;
        let (axes, arrays) = tables(&header, bytes.len()).ok_or_else(|| damaged("its header"))?;
        Ok(Pack { file: Arc::new(file), axes, arrays })
    }

    fn axis(&self, name: &str) -> Option<&Axis> {
        self.axes.iter().find(|own| own.name == name)
    }

    fn find(&self, named: Option<&str>, name: &str) -> Result<&Array, FileError> {
        let wanted = named.unwrap_or(name);
        let found = self.arrays.iter().find(|own| own.name == wanted);
        let only = match self.arrays.as_slice() {
            [only] if wanted.is_empty() => Some(only),
            _ => None,
        };
        found.or(only).ok_or_else(|| {
            let names: Vec<&str> = self.arrays.iter().map(|own| own.name.as_str()).collect();
            let error = FileError::new(
                format!("packed data of {}", list(&names)),
                match wanted {
                    "" => "the name of one of them".to_owned(),
                    wanted => format!("an array {}", quote(wanted.as_bytes())),
                },
            );
            match names.first() {
                Some(first) => {
                    error.with_help(format!("`--data NAME=FILE:{first}` reads {}", quote(first.as_bytes())))
                }
                None => error,
            }
        })
    }

    /// Refuses an array that runs along other axes.
    fn check_axes(&self, array: &Array, options: &ReadOptions<'_>) -> Result<(), FileError> {
        let expected: Vec<&str> = options.dimensions.iter().map(|own| own.axis).collect();
        if array.axes == expected {
            return Ok(());
        }
        let name = quote(array.name.as_bytes());
        let error = FileError::new(format!("{name} packed over {}", by(&array.axes)), by(&expected));
        let turned = array.axes.iter().rev().eq(&expected);
        Err(error.with_help(match (turned && expected.len() > 1, options.is_turned) {
            (true, true) => "leave out `--transpose NAME`: it is packed in the order of the axes of the program",
            (true, false) => "`--transpose NAME` reads it the other way round",
            (false, _) => "packed data keep the names of the axes of the program that they were packed for; pack them anew for this one",
        }))
    }

    fn content(&self, array: &Array) -> Result<Content, FileError> {
        let damaged_here = || damaged(&format!("the header of {}", quote(array.name.as_bytes())));
        let axes: Option<Vec<&Axis>> = array.axes.iter().map(|own| self.axis(own)).collect();
        let axes = axes.ok_or_else(damaged_here)?;
        let values: Numbers<f64> = self.numbers(array, "values", &array.values)?;
        let shape: Vec<usize> = axes.iter().map(|axis| axis.size).collect();
        // Those of a ragged axis are told apart by their groups alone ([`axes`]).
        let labels: Vec<Option<Vec<String>>> = axes
            .iter()
            .map(|axis| if axis.groups.is_some() { Ok(None) } else { self.labels(axis) })
            .collect::<Result<_, _>>()?;
        if !array.is_sparse {
            let cells = shape.iter().try_fold(1_usize, |cells, size| cells.checked_mul(*size));
            if cells != Some(values.len()) {
                return Err(damaged_here());
            }
            let values = match self.value_labels(array, &values)? {
                Some(names) => Values::Text(Categories { names, codes: values.iter().map(code).collect() }),
                None => Values::Numbers(values),
            };
            return Ok(Content::Dense(Dense::new(shape, values, labels)));
        }
        if array.indices.len() != axes.len() {
            return Err(damaged_here());
        }
        let (indices, ascends) = self.positions(array, &axes, values.len())?;
        let labels = if labels.iter().any(Option::is_some) { labels } else { Vec::new() };
        let value_labels = self.value_labels(array, &values)?;
        let texts = match (&array.texts, indices.as_slice()) {
            (Some(options), [_, words]) => {
                let mut counts = vec![WordCount::default(); shape[1]];
                for (word, value) in words.iter().zip(values.iter()) {
                    counts[*word as usize].documents += 1;
                    counts[*word as usize].count += value.max(0.0) as u64;
                }
                Some(Box::new(TextReport::of_packed(counts, options.clone())))
            }
            _ => None,
        };
        Ok(Content::Coordinates(Coordinates {
            shape,
            shape_is_exact: true,
            indices,
            ascends,
            values,
            labels,
            value_labels,
            texts,
            lines: None,
        }))
    }

    /// The labels that the values of index data are the positions of, if there are labels.
    fn value_labels(&self, array: &Array, values: &[f64]) -> Result<Option<Vec<String>>, FileError> {
        let target =
            array.points_into.as_deref().and_then(|own| self.axis(own)).filter(|own| own.groups.is_none());
        let Some(names) = target.map(|own| self.labels(own)).transpose()?.flatten() else { return Ok(None) };
        let is_known = |value: &f64| code(value) == MISSING || (code(value) as usize) < names.len();
        let is_position = |value: &f64| value.is_nan() || *value >= 0.0 && value.fract() == 0.0;
        if !values.iter().all(|value| is_position(value) && is_known(value)) {
            return Err(damaged(&format!("the values of {}", quote(array.name.as_bytes()))));
        }
        Ok(Some(names))
    }

    /// The numbers of a section, which stay in the mapped file.
    fn numbers<T: Number>(
        &self,
        array: &Array,
        what: &str,
        section: &Section,
    ) -> Result<Numbers<T>, FileError> {
        let what = || format!("the {what} of {}", quote(array.name.as_bytes()));
        let numbers: Numbers<T> = self.mapped(section, &what)?;
        let mut looked = Looked::new(section);
        pages::in_parts(numbers.len(), &[&numbers], |range| looked.see(self.file.bytes(), &numbers, range));
        looked.finish(numbers, &what)
    }

    /// The positions of an array along each of its axes, so many of each, and whether entries ascend by them.
    ///
    /// All columns are gone through side by side, so that each comes from the disk once.
    fn positions(
        &self,
        array: &Array,
        axes: &[&Axis],
        entries: usize,
    ) -> Result<(Vec<Numbers<u32>>, bool), FileError> {
        let name = quote(array.name.as_bytes());
        let what = |axis: &Axis| format!("the positions along {} of {name}", quote(axis.name.as_bytes()));
        let mut columns: Vec<Numbers<u32>> = Vec::with_capacity(axes.len());
        for (section, axis) in array.indices.iter().zip(axes) {
            columns.push(self.mapped(section, &|| what(axis))?);
        }
        let is_damaged = || damaged(&format!("the header of {name}"));
        if columns.iter().any(|own| own.len() != entries) {
            return Err(is_damaged());
        }
        let mut looked: Vec<Looked<u32>> = array.indices.iter().map(Looked::new).collect();
        let (mut ascends, mut is_within) = (true, true);
        let lists: Vec<&dyn Pages> = columns.iter().map(|own| own as &dyn Pages).collect();
        pages::in_parts(entries, &lists, |range| {
            for ((column, looked), axis) in columns.iter().zip(&mut looked).zip(axes) {
                looked.see(self.file.bytes(), column, range.clone());
                is_within &=
                    column[range.clone()].iter().fold(true, |all, own| all & ((*own as usize) < axis.size));
            }
            let slices: Vec<&[u32]> = columns.iter().map(Numbers::as_slice).collect();
            ascends = ascends && (range.start.max(1)..range.end).all(|entry| stands_after(&slices, entry));
        });
        if ascends && let [first, _, ..] = columns.as_slice() {
            looked[1].facts.sorted_after(first);
        }
        let checked = columns.into_iter().zip(looked).zip(axes);
        let checked: Result<Vec<_>, _> =
            checked.map(|((column, looked), axis)| looked.finish(column, &|| what(axis))).collect();
        let checked = checked?;
        if is_within { Ok((checked, ascends)) } else { Err(is_damaged()) }
    }

    /// The numbers of a section, of which nothing was read yet.
    fn mapped<T: Number>(
        &self,
        section: &Section,
        what: &dyn Fn() -> String,
    ) -> Result<Numbers<T>, FileError> {
        if cfg!(target_endian = "big") {
            return Err(FileError::new(
                "packed data on a machine whose numbers begin with their highest byte",
                "data in another format",
            ));
        }
        Numbers::mapped(&self.file, section.bytes.clone()).ok_or_else(|| damaged(&what()))
    }

    /// The bytes of a section, which are those that were written.
    fn checked(&self, section: &Section, what: &dyn Fn() -> String) -> Result<&[u8], FileError> {
        let bytes = &self.file.bytes()[section.bytes.clone()];
        if checksum(bytes) == section.sum { Ok(bytes) } else { Err(damaged(&what())) }
    }

    /// How many positions each group of a ragged axis has: as many groups as the axis above has positions, and as many positions as the axis itself.
    fn groups(&self, axis: &Axis, parent: &str, section: &Section) -> Result<Vec<u32>, FileError> {
        let what = || format!("the groups of {}", quote(axis.name.as_bytes()));
        let (sizes, rest) = self.checked(section, &what)?.as_chunks::<4>();
        let sizes: Vec<u32> = sizes.iter().map(|own| u32::from_le_bytes(*own)).collect();
        let is_whole = rest.is_empty()
            && self.axis(parent).is_some_and(|own| own.size == sizes.len())
            && sizes.iter().map(|own| *own as usize).sum::<usize>() == axis.size;
        if is_whole { Ok(sizes) } else { Err(damaged(&what())) }
    }

    fn labels(&self, axis: &Axis) -> Result<Option<Vec<String>>, FileError> {
        let Some(section) = &axis.labels else { return Ok(None) };
        let what = || format!("the labels of {}", quote(axis.name.as_bytes()));
        let mut rest = self.checked(section, &what)?;
        let mut labels = Vec::with_capacity(axis.size.min(rest.len() / 4));
        while let Some((length, after)) = rest.split_first_chunk() {
            let (label, after) = after
                .split_at_checked(u32::from_le_bytes(*length) as usize)
                .ok_or_else(|| damaged(&what()))?;
            labels.push(std::str::from_utf8(label).map_err(|_| damaged(&what()))?.to_owned());
            rest = after;
        }
        if labels.len() == axis.size && rest.is_empty() { Ok(Some(labels)) } else { Err(damaged(&what())) }
    }
}

/// The position that a value of index data is.
fn code(value: &f64) -> u32 {
    if value.is_nan() { MISSING } else { value.min(f64::from(MISSING - 1)) as u32 }
}

/// The axes and arrays of a header; `None` where it is no such header.
fn tables(header: &Value, length: usize) -> Option<(Vec<Axis>, Vec<Array>)> {
    let section = |own: &Value| {
        let number = |name: &str| own.get(name)?.as_u64();
        let bytes = section_of(number("at")?, number("bytes")?, length)?;
        Some(Section { bytes, sum: u32::try_from(number("crc32")?).ok()? })
    };
    let text = |own: &Value, name: &str| Some(own.get(name)?.as_str()?.to_owned());
    let optional = |own: &Value| match own {
        Value::Null => Some(None),
        own => section(own).map(Some),
    };
    let axis = |own: &Value| {
        let size = usize::try_from(own.get("size")?.as_u64()?).ok()?;
        let groups = match own.get("in") {
            None => None,
            Some(parent) => Some((parent.as_str()?.to_owned(), section(own.get("groups")?)?)),
        };
        Some(Axis { name: text(own, "name")?, size, labels: optional(own.get("labels")?)?, groups })
    };
    let array = |own: &Value| {
        let axes: Option<Vec<String>> =
            own.get("axes")?.as_array()?.iter().map(|axis| axis.as_str().map(str::to_owned)).collect();
        let is_sparse = match own.get("form")?.as_str()? {
            "sparse" => true,
            "dense" => false,
            _ => return None,
        };
        Some(Array {
            name: text(own, "name")?,
            axes: axes?,
            is_sparse,
            points_into: text(own, "points_into"),
            unlisted: text(own, "unlisted"),
            only: text(own, "only"),
            texts: own.get("texts").and_then(TextOptions::of_json),
            indices: own.get("indices")?.as_array()?.iter().map(section).collect::<Option<_>>()?,
            values: section(own.get("values")?)?,
        })
    };
    let axes = header.get("axes")?.as_array()?.iter().map(axis).collect::<Option<_>>()?;
    let arrays = header.get("arrays")?.as_array()?.iter().map(array).collect::<Option<_>>()?;
    Some((axes, arrays))
}

/// So many bytes from one on, if a file of this length has them.
fn section_of(at: u64, bytes: u64, length: usize) -> Option<Range<usize>> {
    let at = usize::try_from(at).ok()?;
    let end = at.checked_add(usize::try_from(bytes).ok()?)?;
    (end <= length).then_some(at..end)
}

fn no_pack() -> FileError {
    FileError::new("a file that is no packed data", "packed data, as `cavi pack` writes them")
}

fn damaged(what: &str) -> FileError {
    FileError::new(format!("packed data that are damaged ({what})"), "the bytes that `cavi pack` wrote")
        .with_help("copy the file again, or pack the data anew")
}

/// `doc` by `word`, in words.
fn by<T: AsRef<str>>(axes: &[T]) -> String {
    match axes {
        [] => "no axis".to_owned(),
        axes => {
            let names: Vec<String> = axes.iter().map(|own| quote(own.as_ref().as_bytes())).collect();
            format!("{}, {}", count(axes.len(), "dimension"), names.join(" by "))
        }
    }
}
