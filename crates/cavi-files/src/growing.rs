//! A list of numbers that grows: in memory, or on disk once it is long.
//!
//! What is read to be packed may be larger than memory. Its lists then go to files beside the one that is written, which have no name any more
//! once they are open, and are mapped when they are whole: nobody else has them, and they end with who holds the numbers.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cavi_numerics::{MappedFile, Number, Numbers};

use crate::error::FileError;
use crate::read::steady;

/// So many numbers stay in memory before they are written.
const BLOCK: usize = if cfg!(fuzzing) { 1 << 3 } else { 1 << 16 };

/// A list that grows.
#[derive(Debug)]
pub struct Growing<T: Number> {
    /// Those that are in memory: the last ones of a list on disk.
    block: Vec<T>,
    file: Option<File>,
    /// How many are in the file.
    written: usize,
}

impl<T: Number> Growing<T> {
    /// An empty list, of about so many numbers: in memory, or in a file in a directory.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn new(directory: Option<&Path>, about: usize) -> Result<Growing<T>, FileError> {
        let file = directory.map(|directory| nameless(directory).map_err(|error| refused(&error, directory)));
        let room = if directory.is_some() { BLOCK.min(about) } else { about };
        Ok(Growing { block: Vec::with_capacity(room), file: file.transpose()?, written: 0 })
    }

    /// Adds a number.
    ///
    /// # Errors
    /// If the disk is full.
    #[inline]
    pub fn push(&mut self, number: T) -> Result<(), FileError> {
        if self.file.is_some() && self.block.len() >= BLOCK {
            self.write()?;
        }
        steady::push(&mut self.block, number);
        Ok(())
    }

    fn write(&mut self) -> Result<(), FileError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut bytes = Vec::with_capacity(size_of_val(self.block.as_slice()));
        self.block.iter().for_each(|number| number.put(&mut bytes));
        file.write_all(&bytes).map_err(|error| refused(&error, Path::new("")))?;
        self.written += self.block.len();
        self.block.clear();
        Ok(())
    }

    /// The numbers.
    ///
    /// # Errors
    /// If the file cannot be written or mapped.
    pub fn finish(mut self) -> Result<Numbers<T>, FileError> {
        if self.written == 0 {
            return Ok(steady::fitted(self.block).into());
        }
        self.write()?;
        let Some(file) = self.file else { return Ok(Numbers::default()) };
        let mapped = MappedFile::new(&file).map_err(|error| refused(&error, Path::new("")))?;
        let bytes = 0..self.written * size_of::<T>();
        Numbers::mapped(&Arc::new(mapped), bytes)
            .ok_or_else(|| refused(&io::ErrorKind::Unsupported.into(), Path::new("")))
    }
}

/// A new file that has no name any more, where the system allows that.
pub(crate) fn nameless(directory: &Path) -> io::Result<File> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let path = directory.join(format!(".cavi-{}-{number}.list", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    // A system that keeps the name of an open file keeps this one.
    let _ = std::fs::remove_file(&path);
    Ok(file)
}

fn refused(error: &io::Error, directory: &Path) -> FileError {
    FileError::new(format!("an error of the system, \"{error}\""), "room on disk for what is being packed")
        .in_file(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_on_disk_are_those_in_memory() {
        let directory = std::env::temp_dir();
        for length in [0, 5, BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
            let mut lists = [None, Some(directory.as_path())].map(|own| Growing::new(own, length).unwrap());
            for list in &mut lists {
                (0..length).for_each(|number| list.push(number as u32 * 7).unwrap());
            }
            let [own, mapped] = lists.map(|list| list.finish().unwrap());
            assert_eq!((own.is_mapped(), mapped.is_mapped()), (false, length > BLOCK));
            assert_eq!(own, mapped, "{length}");
        }
    }
}
