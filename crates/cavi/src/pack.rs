//! Data of a program in one packed file, which later runs map instead of reading ([`cavi_files::write_packed`] has the layout).

use std::path::Path;

use cavi_algebra::Support;
use cavi_executor::BoundArray;
use cavi_files::{FileError, PACKED_SUFFIX, PackedArray, PackedAxis, PackedEntries, write_packed};

use crate::bind::{DataError, Inputs, ToPack, declared, to_pack};
use crate::compile::Compiled;
use crate::error::Error;

/// What was packed.
#[derive(Clone, Debug)]
pub struct Packed {
    /// The names of the arrays.
    pub names: Vec<String>,
    /// What was understood of each array, a line each: axes with sizes and labels, entries, what they come to.
    pub read: Vec<String>,
    /// What is most likely a mistake.
    pub warnings: Vec<String>,
    /// The bytes of the file.
    pub bytes: u64,
}

/// Reads the data that are given for a program, and writes them to a file whose name ends in `.cavi-data`. They are what the files hold, at
/// the positions of the program's axes: nothing is standardised or held out, and constants are not among them. The file takes the
/// place of one that has its name as a whole.
///
/// # Errors
/// [`Error::Usage`] for another name, and without data; everything that is wrong with the data; those of the system.
pub fn pack(compiled: &Compiled, inputs: &Inputs, out: &Path) -> Result<Packed, Error> {
    if !out.to_string_lossy().to_ascii_lowercase().ends_with(PACKED_SUFFIX) {
        let message =
            format!("packed data are read by the name of their file, and `{}` has another", out.display());
        return Err(Error::Usage(vec![
            DataError::new(message).possible(format!("a name that ends in {PACKED_SUFFIX}")),
        ]));
    }
    if inputs.data.is_empty() {
        let names = compiled.required_data();
        let name = names.first().copied().unwrap_or("NAME");
        return Err(Error::Usage(vec![
            DataError::new("there are no data to be packed").help(format!("--data {name}=FILE")),
        ]));
    }
    // What is larger than memory is listed beside the file that is written.
    let directory = match out.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(directory).map_err(|error| {
        Error::File(
            FileError::new(format!("an error of the system, \"{error}\""), "a directory").in_file(directory),
        )
    })?;
    let inputs = &Inputs { spill: Some(directory.to_owned()), ..inputs.clone() };
    let symbols = &compiled.model.symbols;
    let ToPack { axes, arrays, texts, read, warnings } =
        crate::stack::with_room(|| to_pack(&compiled.model, inputs))?;
    let mut used: Vec<usize> = Vec::new();
    let mut packed = Vec::new();
    for (id, bound) in &arrays {
        let array = symbols.array(*id);
        let along: Vec<usize> =
            array.letters.iter().map(|letter| symbols.letter(*letter).axis.index()).collect();
        let into = match array.support {
            Support::Index(axis) => Some(axis.index()),
            _ => None,
        };
        used.extend(along.iter().chain(&into));
        let name = |axis: usize| symbols.axes[axis].name.as_str();
        let (values, observed, indices) = match bound {
            BoundArray::Dense { values, observed } => (values, observed, None),
            BoundArray::Sparse { indices, values, observed, .. } => {
                (values, observed, Some(indices.as_slice()))
            }
        };
        packed.push(PackedArray {
            name: &array.name,
            axes: along.into_iter().map(name).collect(),
            points_into: into.map(name),
            declared: declared(array, &array.letters),
            texts: texts.get(id),
            indices,
            entries: PackedEntries { values, observed: observed.as_deref() },
        });
    }
    // Those that an axis is ragged in say what its groups are.
    let mut above = 0;
    while let Some(own) = used.get(above) {
        used.extend(symbols.axes[*own].parent.map(|parent| parent.index()));
        above += 1;
    }
    used.sort_unstable();
    used.dedup();
    let axes: Vec<PackedAxis<'_>> = used
        .into_iter()
        .map(|axis| {
            let (bound, labels) = &axes[axis];
            let own = &symbols.axes[axis];
            let groups = own.parent.zip(bound.starts.as_ref()).map(|(parent, starts)| {
                let sizes = starts.windows(2).map(|ends| (ends[1] - ends[0]) as u32).collect();
                (symbols.axis(parent).name.as_str(), sizes)
            });
            PackedAxis { name: &own.name, size: bound.size, labels: labels.as_deref(), groups }
        })
        .collect();
    let bytes = write_packed(out, &axes, &packed).map_err(Error::File)?;
    let names = packed.iter().map(|own| own.name.to_owned()).collect();
    Ok(Packed { names, read, warnings, bytes })
}
