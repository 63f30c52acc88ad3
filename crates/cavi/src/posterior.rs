//! What a fit writes: `posterior/VAR.PARAM.npy` and `axes/AXIS.txt`.
//!
//! A file holds one descriptor of one variable, in C order of the axes as they are declared; a variable over a ragged axis
//! has a file for each group. `columns` and `Column::files` say where each number of a file stands in the parameters of
//! a run, for writing here and for reading in [`crate::init`].

mod members;

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use cavi_algebra::contribution::{Place, places};
use cavi_algebra::{ArrayId, AxisId, Block, BlockId, Equations, LetterId, Mode, Support, Symbols};
use cavi_executor::layout::is_one_vector;
use cavi_executor::{Bound, Layout, Parameters};
use cavi_families::Extent;
use cavi_files::{FileError, write_labels, write_npy, write_npy_i64, write_text_atomically};

use crate::bind::Labels;
use crate::dimensions::Declared;
use crate::prepare::{EntryAxis, Problem};

/// Writes `posterior/`, `axes/`, and what belongs to them into a directory.
///
/// # Errors
/// If a file cannot be written, or two groups of a ragged axis would have one file.
pub fn write(problem: &Problem, parameters: &Parameters, directory: &Path) -> Result<(), FileError> {
    write_blocks(problem, parameters, directory, &|_| true)
}

/// As [`write()`], of some blocks alone.
///
/// # Errors
/// As there.
pub(crate) fn write_blocks(
    problem: &Problem,
    parameters: &Parameters,
    directory: &Path,
    wanted: &dyn Fn(BlockId) -> bool,
) -> Result<(), FileError> {
    let Problem { equations, binding, .. } = problem.as_given();
    let folder = directory.join("posterior");
    let write = &mut |name: String, shape: Vec<usize>, values: Vec<f64>| {
        write_npy(&folder.join(format!("{name}.npy")), &shape, &values)
    };
    for_each_file(equations, &binding.bound, &binding.labels, parameters, wanted, write)?;
    write_entries(equations, &binding.entries, wanted, directory)?;
    for own in &binding.standardised {
        let name = &equations.symbols.array(own.array).name;
        for (part, shape, values) in own.parts(problem.as_given()) {
            let folder = directory.join("standardised");
            write_npy(&folder.join(format!("{name}.{part}.npy")), &shape, values)?;
            for (group, shape, values) in by_group(problem, own.array, &shape, values) {
                write_npy(
                    &folder.join(format!("{name}.{part}")).join(format!("{group}.npy")),
                    &shape,
                    &values,
                )?;
            }
        }
    }
    for own in &binding.words {
        let file = match &own.group {
            None => format!("{}.csv", own.name),
            Some(group) => {
                let group: Vec<String> = group.iter().map(|label| safe(label)).collect();
                format!("{}/{}.csv", own.name, group.join("/"))
            }
        };
        write_text_atomically(&directory.join("vocabulary").join(file), &own.csv())?;
    }
    write_axes(&equations.symbols, &binding.bound, &binding.labels, &binding.entries, directory)
}

/// The parts of an array over a ragged axis, flattened in this shape, that belong to its groups: the file of each, its shape and its values. Nothing
/// where no dimension of that shape is ragged.
fn by_group(
    problem: &Problem,
    array: ArrayId,
    shape: &[usize],
    values: &[f64],
) -> Vec<(String, Vec<usize>, Vec<f64>)> {
    let given = problem.as_given();
    let Problem { equations, binding, .. } = given;
    let symbols = &equations.symbols;
    let axes = Declared::of(given, array).into_iter().map(|own| own.axis());
    let ragged = axes.enumerate().zip(shape).find_map(|((dimension, axis), size)| {
        let starts = binding.bound.axes[axis.index()].starts.as_ref()?;
        Some((dimension, symbols.axis(axis).parent?, starts)).filter(|_| *size == binding.bound.size(axis))
    });
    let Some((dimension, parent, starts)) = ragged else { return Vec::new() };
    let after: usize = shape[dimension + 1..].iter().product();
    let of = |(position, ends): (usize, &[usize])| {
        let path = binding.labels.path(symbols, &binding.bound, parent, position);
        let path: Vec<String> = path.iter().map(|label| safe(label)).collect();
        let rows = values.chunks((shape[dimension] * after).max(1));
        let own = rows.flat_map(|row| &row[ends[0] * after..ends[1] * after]).copied().collect();
        let mut shape = shape.to_vec();
        shape[dimension] = ends[1] - ends[0];
        (path.join("/"), shape, own)
    };
    starts.windows(2).enumerate().map(of).collect()
}

/// A file name of more bytes than this is none on common file systems.
const LONGEST_NAME: usize = 255;

/// Refuses, before a fit, what could not be written after it: labels of groups that make no file name, or one for two groups.
///
/// # Errors
/// The first file without a name of its own.
pub fn check_names(problem: &Problem, directory: &Path) -> Result<(), FileError> {
    let Problem { equations, binding, .. } = problem.as_given();
    let (symbols, bound, labels) = (&equations.symbols, &binding.bound, &binding.labels);
    let fits = |key: &str, suffix: &str| {
        let name = format!("{key}.{suffix}");
        let long = name.split('/').find(|part| part.len() > LONGEST_NAME).map(str::len);
        long.map_or(Ok(()), |length| {
            let found = format!(
                "a file name of {length} bytes, from the labels of a group or the name of a variable"
            );
            Err(FileError::new(found, format!("at most {LONGEST_NAME}")).in_file(&directory.join(name)))
        })
    };
    let layouts = layouts(equations, bound);
    for column in columns(equations) {
        for file in column.files(equations, bound, &layouts, labels) {
            fits(&file.key, "npy")?;
        }
    }
    for (index, axis) in symbols.axes.iter().enumerate() {
        fits(&axis.name, "txt")?;
        if axis.parent.is_some() && !binding.entries.iter().any(|own| own.axis.index() == index) {
            for name in group_files(symbols, bound, labels, AxisId::from(index), directory)? {
                fits(&name, "txt")?;
            }
        }
    }
    Ok(())
}

/// The file names of the groups of a ragged axis, without their suffix.
fn group_files(
    symbols: &Symbols,
    bound: &Bound,
    labels: &Labels,
    axis: AxisId,
    directory: &Path,
) -> Result<Vec<String>, FileError> {
    let own = symbols.axis(axis);
    let Some(parent) = own.parent else { return Ok(Vec::new()) };
    let mut seen = HashSet::new();
    let name = |group| {
        let name = group_path(symbols, bound, labels, parent, group);
        if seen.insert(name.clone()) {
            return Ok(name);
        }
        let found = format!("two groups of `{}` with the file name `{name}`", own.name);
        let path = directory.join(&own.name).join(format!("{name}.txt"));
        Err(FileError::new(found, "names of their own for the groups").in_file(&path))
    };
    (0..bound.size(parent)).map(name).collect()
}

/// Writes `posterior/VAR.index.npy` for variables that live at listed entries: the positions of each entry on the axes of
/// the variable, in their declared order.
///
/// # Errors
/// If a file cannot be written.
fn write_entries(
    equations: &Equations,
    entries: &[EntryAxis],
    wanted: &dyn Fn(BlockId) -> bool,
    directory: &Path,
) -> Result<(), FileError> {
    for own in entries {
        for (variable, order) in &own.latents {
            let id = equations.block_of(*variable);
            if id.is_none_or(|id| equations.block(id).mode == Mode::Implicit || !wanted(id)) {
                continue;
            }
            let count = own.columns[0].len();
            let position = |entry: usize, coordinate: &usize| i64::from(own.columns[*coordinate][entry]);
            let values: Vec<i64> = (0..count)
                .flat_map(|entry| order.iter().map(move |coordinate| position(entry, coordinate)))
                .collect();
            let name = &equations.symbols.array(*variable).name;
            let path = directory.join("posterior").join(format!("{name}.index.npy"));
            write_npy_i64(&path, &[count, order.len()], &values)?;
        }
    }
    Ok(())
}

/// The layout of every block.
pub(crate) fn layouts(equations: &Equations, bound: &Bound) -> Vec<Layout> {
    let missing = |array: ArrayId| bound.array(array).has_missing();
    equations.blocks.iter().map(|block| Layout::new(equations, bound, block, &missing)).collect()
}

/// A descriptor of a variable, or of one group of it, by the name of its file.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedArray {
    /// `VAR.PARAM`, or `VAR.PARAM/GROUP`.
    pub name: String,
    /// The length of each dimension, in the declared order of the axes.
    pub shape: Vec<usize>,
    /// The numbers in C order.
    pub values: Vec<f64>,
}

/// All descriptors of all stored factors of q.
pub fn arrays(problem: &Problem, parameters: &Parameters) -> Vec<NamedArray> {
    arrays_of(problem, parameters, &|_| true)
}

/// The descriptors of some of the blocks.
pub(crate) fn arrays_of(
    problem: &Problem,
    parameters: &Parameters,
    wanted: &dyn Fn(BlockId) -> bool,
) -> Vec<NamedArray> {
    let Problem { equations, binding, .. } = problem.as_given();
    let mut arrays = Vec::new();
    let mut keep = |name, shape, values| {
        arrays.push(NamedArray { name, shape, values });
        Ok::<(), std::convert::Infallible>(())
    };
    for_each_file(equations, &binding.bound, &binding.labels, parameters, wanted, &mut keep)
        .unwrap_or_else(|never| match never {});
    arrays
}

/// Calls a function with name, shape and values of each file of `posterior/`.
fn for_each_file<E>(
    equations: &Equations,
    bound: &Bound,
    labels: &Labels,
    parameters: &Parameters,
    wanted: &dyn Fn(BlockId) -> bool,
    write: &mut dyn FnMut(String, Vec<usize>, Vec<f64>) -> Result<(), E>,
) -> Result<(), E> {
    let layouts = layouts(equations, bound);
    for column in columns(equations).into_iter().filter(|column| wanted(column.block)) {
        let values = &parameters.blocks[column.block.index()][column.column];
        for file in column.files(equations, bound, &layouts, labels) {
            let values = file.gather(values);
            write(file.key, file.shape, values)?;
        }
    }
    for column in members::means(equations).into_iter().filter(|column| wanted(column.block)) {
        let layout = &layouts[column.block.index()];
        let own = crate::means::of_member(equations, parameters, (column.block, layout), column.member);
        let Some((values, _)) = own else { continue };
        for file in column.files(equations, bound, &layouts, labels) {
            let values = file.gather(&values);
            write(file.key, file.shape, values)?;
        }
    }
    Ok(())
}

/// Writes `axes/`: the labels of every axis, or 0-based numbers. Listed entries are no axis of the program's.
///
/// # Errors
/// If a file cannot be written, or two groups of a ragged axis would have one file.
pub(crate) fn write_axes(
    symbols: &Symbols,
    bound: &Bound,
    labels: &Labels,
    entries: &[EntryAxis],
    directory: &Path,
) -> Result<(), FileError> {
    let directory = directory.join("axes");
    for (index, axis) in symbols.axes.iter().enumerate() {
        let id = AxisId::from(index);
        if entries.iter().any(|own| own.axis == id) {
            continue;
        }
        let own = &bound.axes[index];
        let label = |position: usize| labels.label(bound, id, position).into_owned();
        let Some(starts) = own.starts.as_ref().filter(|_| axis.parent.is_some()) else {
            let all: Vec<String> = (0..own.size).map(label).collect();
            write_labels(&directory.join(format!("{}.txt", axis.name)), &all)?;
            continue;
        };
        let names = group_files(symbols, bound, labels, id, &directory)?;
        for (name, range) in names.iter().zip(starts.windows(2)) {
            let path = directory.join(&axis.name).join(format!("{name}.txt"));
            let all: Vec<String> = (range[0]..range[1]).map(label).collect();
            write_labels(&path, &all)?;
        }
    }
    Ok(())
}

/// The labels of a group, outermost first, as the path of a file.
pub(crate) fn group_path(
    symbols: &Symbols,
    bound: &Bound,
    labels: &Labels,
    axis: AxisId,
    position: usize,
) -> String {
    let path = labels.path(symbols, bound, axis, position);
    let safe: Vec<String> = path.iter().map(|label| safe(label)).collect();
    safe.join("/")
}

/// A label as a file name: characters that no file name may hold are written `%2F` and so on.
pub(crate) fn safe(label: &str) -> String {
    if matches!(label, "" | "." | "..") {
        return label.bytes().fold("%".to_owned(), |name, byte| format!("{name}{byte:02X}"));
    }
    let mut name = String::new();
    for character in label.chars() {
        match character {
            '/' | '\\' => name.push_str(&format!("%{:02X}", character as u32)),
            _ if character.is_control() => name.push_str(&format!("%{:02X}", character as u32)),
            _ => name.push(character),
        }
    }
    name
}

/// A descriptor of a variable: one column of the parameters, one or more files.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// The block.
    pub block: BlockId,
    /// The member of the block.
    pub member: usize,
    /// The variable.
    pub variable: ArrayId,
    /// PARAM.
    pub parameter: &'static str,
    /// Its place among the columns of the block.
    pub column: usize,
    /// Whether it defines q.
    pub defining: bool,
    /// Its shape; `None` for the values of a point.
    pub extent: Option<Extent>,
    /// Which part of the column it is, where several variables stand beside each other in one vector.
    pub part: Part,
}

/// A part of the column of a block whose variables stand beside each other in one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it.
    Whole,
    /// The elements of one member; of a matrix its diagonal.
    Member,
    /// The matrix over the elements of all members.
    AllMembers,
}

/// The descriptors of all stored blocks.
pub(crate) fn columns(equations: &Equations) -> Vec<Column> {
    let mut columns = Vec::new();
    for (index, block) in equations.blocks.iter().enumerate() {
        let id = BlockId::from(index);
        if block.mode == Mode::Implicit {
            continue;
        }
        match family(equations, id) {
            None => columns.extend(block.members.iter().enumerate().map(|(member, variable)| Column {
                block: id,
                member,
                variable: *variable,
                parameter: "value",
                column: member,
                defining: true,
                extent: None,
                part: Part::Whole,
            })),
            Some(family) if is_one_vector(block) => columns.extend(beside_each_other(id, block, family)),
            Some(family) => {
                columns.extend(family.descriptors().iter().enumerate().map(|(column, descriptor)| Column {
                    block: id,
                    member: family.member_of(column),
                    variable: block.members[family.member_of(column)],
                    parameter: descriptor.name,
                    column,
                    defining: descriptor.defining,
                    extent: Some(descriptor.extent),
                    part: Part::Whole,
                }));
            }
        }
    }
    columns
}

/// The descriptors of several variables in one vector: for each its mean and its variances, and of all together the
/// covariance.
fn beside_each_other(
    id: BlockId,
    block: &Block,
    family: &'static dyn cavi_families::Posterior,
) -> Vec<Column> {
    let mut columns = Vec::new();
    for (column, descriptor) in family.descriptors().iter().enumerate() {
        let matrix = descriptor.extent == Extent::Matrix;
        let own = |member: usize, parameter: &'static str, part: Part| Column {
            block: id,
            member,
            variable: block.members[member],
            parameter,
            column,
            defining: descriptor.defining && (!matrix || part == Part::AllMembers),
            extent: Some(descriptor.extent),
            part,
        };
        let name = if matrix { "var" } else { descriptor.name };
        columns.extend((0..block.members.len()).map(|member| own(member, name, Part::Member)));
        if matrix {
            columns.push(own(0, descriptor.name, Part::AllMembers));
        }
    }
    columns
}

/// The family that describes a block; `None` for one that is stored as values.
pub(crate) fn family(equations: &Equations, id: BlockId) -> Option<&'static dyn cavi_families::Posterior> {
    let block = equations.block(id);
    match block.mode {
        Mode::Point | Mode::Implicit => None,
        Mode::Distribution | Mode::Fixed => {
            Some(cavi_families::posterior(block.family)).filter(|family| !family.only_point())
        }
    }
}

/// One file of a column: a strided part of it.
#[derive(Clone, Debug)]
pub(crate) struct ColumnFile {
    /// `VAR.PARAM`, or `VAR.PARAM/GROUP`.
    pub key: String,
    /// The shape of the file.
    pub shape: Vec<usize>,
    /// The dimensions, one a letter; several slices are one dimension of the shape.
    pub dimensions: Vec<FileDimension>,
    /// Where the first number stands.
    pub base: usize,
}

/// A dimension of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileDimension {
    /// Its length; 1 where the descriptor is shared along it.
    pub length: usize,
    /// Its length where the descriptor is not shared.
    pub full: usize,
    /// By how much the place in the column grows along it.
    pub stride: usize,
    /// What it runs over.
    pub along: Along,
}

/// What a dimension of a file runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Along {
    /// An axis, of a ragged one the group of this parent.
    Axis(AxisId, Option<usize>),
    /// The elements of all members of a block, one after another.
    Members(BlockId),
}

/// What a dimension of a variable is in its block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    Plate(usize),
    Slice(usize),
}

impl Column {
    /// The files of a column: one, or one for each group of a ragged axis.
    pub fn files(
        &self,
        equations: &Equations,
        bound: &Bound,
        layouts: &[Layout],
        labels: &Labels,
    ) -> Vec<ColumnFile> {
        let symbols = &equations.symbols;
        let block = equations.block(self.block);
        let roles = roles(equations, self.block, self.member);
        let letter_of = |role: &Role| match role {
            Role::Plate(plate) => block.plates[*plate],
            Role::Slice(slice) => block.slices[self.member][*slice],
        };
        let letters: Vec<LetterId> = roles.iter().map(letter_of).collect();
        let inner = numbering(symbols, &letters);
        let name = |array: &ArrayId| symbols.array(*array).name.as_str();
        let key = match self.part {
            Part::AllMembers => block.members.iter().map(name).collect::<Vec<_>>().join("+"),
            Part::Whole | Part::Member => name(&self.variable).to_owned(),
        };
        let key = format!("{key}.{}", self.parameter);
        let mut files = Vec::new();
        for positions in
            combinations(&inner.iter().map(|letter| bound.size_of(symbols, *letter)).collect::<Vec<_>>())
        {
            let mut assigned: Vec<(LetterId, usize)> = Vec::new();
            let mut key = key.clone();
            for (letter, position) in inner.iter().zip(&positions) {
                assign(symbols, bound, *letter, *position, &mut assigned);
                let axis = symbols.letter(*letter).axis;
                key = format!("{key}/{}", group_path(symbols, bound, labels, axis, *position));
            }
            let letters: Vec<(Role, LetterId)> = roles.iter().map(|role| (*role, letter_of(role))).collect();
            files.push(self.file(equations, bound, &layouts[self.block.index()], key, &letters, &assigned));
        }
        files
    }

    fn file(
        &self,
        equations: &Equations,
        bound: &Bound,
        layout: &Layout,
        key: String,
        letters: &[(Role, LetterId)],
        assigned: &[(LetterId, usize)],
    ) -> ColumnFile {
        let symbols = &equations.symbols;
        let block = equations.block(self.block);
        let value =
            |letter: LetterId| assigned.iter().find(|(other, _)| *other == letter).map(|(_, value)| *value);
        let plate_strides = strides(&layout.plates);
        let slice_strides = strides(&layout.slices[self.member]);
        let group_strides = strides(&layout.group_sizes);
        let width = match self.extent {
            None => layout.slices[self.member].iter().product(),
            Some(Extent::Scalar) => 1,
            Some(Extent::Vector) => layout.n,
            Some(Extent::Matrix | Extent::Pairs) => layout.n * layout.n,
        };
        // A matrix over two slices has its rows and columns at their places among the dimensions; that over pairs of
        // positions of one slice comes last.
        // A vector over two slices has matrices over pairs of its elements.
        let is_matrix = symbols.array(self.variable).support == Support::PositiveDefinite;
        let in_place = self.extent == Some(Extent::Pairs) && is_matrix;
        let at_the_end = matches!(self.extent, Some(Extent::Matrix | Extent::Pairs)) && !in_place;
        let diagonal = self.extent == Some(Extent::Matrix) && self.part == Part::Member;
        let offset = if self.part == Part::Member { layout.offsets()[self.member] } else { 0 };
        let mut file = ColumnFile { key, shape: Vec::new(), dimensions: Vec::new(), base: 0 };
        file.base += if diagonal { offset * (layout.n + 1) } else { offset };
        if self.extent == Some(Extent::Matrix) {
            // Group letters that are ancestors have the value of the file.
            for (letter, stride) in layout.group_letters.iter().zip(&group_strides) {
                if let Some(value) = value(*letter) {
                    file.base += value * stride * width;
                }
            }
        }
        let range = |letter: LetterId| {
            let axis = symbols.letter(letter).axis;
            let group = symbols.letter(letter).parent.and_then(value);
            let (start, end) = match (&bound.axes[axis.index()].starts, group) {
                (Some(starts), Some(group)) => (starts[group], starts[group + 1]),
                _ => (0, bound.axes[axis.index()].size),
            };
            (axis, group, start, end - start)
        };
        for (role, letter) in letters {
            let (axis, group, start, full) = range(*letter);
            let stride = match (role, self.extent) {
                (Role::Plate(_), Some(Extent::Matrix)) => layout
                    .group_letters
                    .iter()
                    .position(|group| group == letter)
                    .map(|place| group_strides[place] * width),
                (Role::Plate(plate), None | Some(Extent::Scalar | Extent::Vector | Extent::Pairs)) => {
                    Some(plate_strides[*plate] * width)
                }
                (Role::Slice(slice), None | Some(Extent::Vector)) => Some(slice_strides[*slice]),
                (Role::Slice(slice), Some(Extent::Pairs)) if in_place => Some(slice_strides[*slice]),
                (Role::Slice(slice), Some(Extent::Matrix)) if diagonal => {
                    Some(slice_strides[*slice] * (layout.n + 1))
                }
                // A scalar a row; the slices of a matrix come last.
                (Role::Slice(_), Some(Extent::Scalar | Extent::Matrix | Extent::Pairs)) => continue,
            };
            // A variance has its full shape, however many rows share it.
            let length = if stride.is_some() || diagonal { full } else { 1 };
            let stride = stride.unwrap_or(0);
            file.base += start * stride;
            file.shape.push(length);
            file.dimensions.push(FileDimension { length, full, stride, along: Along::Axis(axis, group) });
        }
        match (self.extent, block.classes) {
            (Some(Extent::Vector), Some(classes)) => {
                let (axis, group, _, full) = range(classes);
                file.shape.push(full);
                let along = Along::Axis(axis, group);
                file.dimensions.push(FileDimension { length: full, full, stride: 1, along });
            }
            _ if self.part == Part::AllMembers && at_the_end => {
                for stride in [layout.n, 1] {
                    file.shape.push(layout.n);
                    let along = Along::Members(self.block);
                    let (length, full) = (layout.n, layout.n);
                    file.dimensions.push(FileDimension { length, full, stride, along });
                }
            }
            _ if at_the_end && !diagonal => {
                for unit in [layout.n, 1] {
                    file.shape.push(layout.n);
                    for (letter, stride) in block.slices[self.member].iter().zip(&slice_strides) {
                        let (axis, group, _, full) = range(*letter);
                        let stride = stride * unit;
                        let along = Along::Axis(axis, group);
                        file.dimensions.push(FileDimension { length: full, full, stride, along });
                    }
                }
            }
            _ => {}
        }
        file
    }
}

impl ColumnFile {
    /// The numbers of the file, from the column.
    pub fn gather(&self, column: &[f64]) -> Vec<f64> {
        let mut values = Vec::with_capacity(self.shape.iter().product());
        self.gather_into(column, &self.dimensions, self.base, &mut values);
        values
    }

    fn gather_into(&self, column: &[f64], dimensions: &[FileDimension], place: usize, values: &mut Vec<f64>) {
        let Some((first, rest)) = dimensions.split_first() else {
            values.push(column[place]);
            return;
        };
        for position in 0..first.length {
            self.gather_into(column, rest, place + position * first.stride, values);
        }
    }
}

/// For each dimension of a variable, as declared, what it is in its block.
pub(crate) fn roles(equations: &Equations, id: BlockId, member: usize) -> Vec<Role> {
    let block = equations.block(id);
    let found = places(&equations.symbols, block, member).into_iter();
    found
        .map(|place| match place {
            Place::Plate(plate) => Role::Plate(plate),
            Place::Slot(slice) => Role::Slice(slice),
        })
        .collect()
}

/// The strides of C order.
fn strides(sizes: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; sizes.len()];
    for place in (1..sizes.len()).rev() {
        strides[place - 1] = strides[place] * sizes[place];
    }
    strides
}

/// All combinations of positions, the last fastest; one empty combination of nothing.
fn combinations(sizes: &[usize]) -> Vec<Vec<usize>> {
    sizes.iter().fold(vec![Vec::new()], |before, size| {
        before
            .iter()
            .flat_map(|combination| (0..*size).map(|position| [combination.as_slice(), &[position]].concat()))
            .collect()
    })
}

/// Gives a letter a value, and its ancestors those that it determines.
fn assign(
    symbols: &Symbols,
    bound: &Bound,
    letter: LetterId,
    position: usize,
    assigned: &mut Vec<(LetterId, usize)>,
) {
    let mut position = position;
    for letter in symbols.lineage(letter) {
        assigned.push((letter, position));
        if let Some(parent) = &bound.axes[symbols.letter(letter).axis.index()].parent {
            position = parent[position];
        }
    }
}

/// The letters whose positions number the files of an array: parents of its ragged letters that no other one determines.
pub(crate) fn numbering(symbols: &Symbols, letters: &[LetterId]) -> Vec<LetterId> {
    let parents: Vec<LetterId> = letters.iter().filter_map(|letter| symbols.letter(*letter).parent).collect();
    let parents = cavi_algebra::dedup(parents);
    let is_above =
        |letter: &LetterId| parents.iter().any(|other| symbols.lineage(*other)[1..].contains(letter));
    parents.iter().copied().filter(|letter| !is_above(letter)).collect()
}

/// The files of an array with these letters: of each the labels of its group as a path, empty where no letter is ragged, and the positions
/// along each letter.
pub(crate) fn groups_of(
    symbols: &Symbols,
    bound: &Bound,
    labels: &Labels,
    letters: &[LetterId],
) -> Vec<(String, Vec<Range<usize>>)> {
    let inner = numbering(symbols, letters);
    let sizes: Vec<usize> = inner.iter().map(|letter| bound.size_of(symbols, *letter)).collect();
    let of_group = |positions: Vec<usize>| {
        let mut assigned = Vec::new();
        let mut path = Vec::new();
        for (letter, position) in inner.iter().zip(positions) {
            assign(symbols, bound, *letter, position, &mut assigned);
            path.push(group_path(symbols, bound, labels, symbols.letter(*letter).axis, position));
        }
        let range = |letter: &LetterId| {
            let own = symbols.letter(*letter);
            let axis = &bound.axes[own.axis.index()];
            let group = assigned.iter().find(|(other, _)| Some(*other) == own.parent);
            match (&axis.starts, group) {
                (Some(starts), Some((_, group))) => starts[*group]..starts[*group + 1],
                _ => 0..axis.size,
            }
        };
        (path.join("/"), letters.iter().map(range).collect())
    };
    combinations(&sizes).into_iter().map(of_group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_become_file_names() {
        assert_eq!(safe("rna"), "rna");
        assert_eq!(safe("a/b\\c"), "a%2Fb%5Cc");
        assert_eq!(safe(".."), "%2E2E");
        assert_eq!(safe(""), "%");
        assert_eq!(safe("50 % é"), "50 % é");
    }

    #[test]
    fn combinations_run_in_c_order() {
        assert_eq!(combinations(&[2, 2]), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(combinations(&[]), [Vec::<usize>::new()]);
        assert!(combinations(&[3, 0]).is_empty());
    }
}
