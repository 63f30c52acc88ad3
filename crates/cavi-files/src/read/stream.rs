//! A text that is read block by block, as often as somebody goes through it: no more of it than a block is in memory.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::bytes;
use crate::error::FileError;
use crate::format::Packing;

/// About so many bytes are read at a time.
const BLOCK: usize = if cfg!(fuzzing) { 1 << 6 } else { 1 << 18 };

/// Where a text comes from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// It is in memory.
    Memory(&'a str),
    /// It is a regular file, which is opened anew each time.
    File(&'a Path, Packing),
}

impl<'a> Source<'a> {
    /// Begins to read it.
    pub(crate) fn open(self) -> Result<Stream<'a>, FileError> {
        match self {
            Source::Memory(text) => Ok(Stream { text: Cow::Borrowed(text), blocks: None }),
            Source::File(path, packing) => {
                Ok(Stream { text: Cow::Borrowed(""), blocks: Some(Blocks::open(path, packing)?) })
            }
        }
    }

    /// Its beginning: at least so many lines that are not empty, or all of it.
    pub(crate) fn beginning(self, lines: usize) -> Result<Cow<'a, str>, FileError> {
        let mut stream = self.open()?;
        while stream.text.lines().filter(|line| !line.is_empty()).take(lines).count() < lines {
            if !stream.more(0)? {
                break;
            }
        }
        Ok(stream.text)
    }
}

/// Where bytes come from.
#[derive(Clone, Copy)]
pub(crate) enum Bytes<'a> {
    /// They are in memory.
    Memory(&'a [u8]),
    /// They are those of a regular file.
    File(&'a Path, Packing),
}

/// Whether a file can be read so: it is a regular one, and its decoder works block by block.
pub(crate) fn suits(path: &Path, packing: Packing) -> bool {
    packing != Packing::Zstandard && path.is_file()
}

/// Whether a file has no bytes.
///
/// # Errors
/// A file that is to be a gzip file, and does not begin as one.
pub(crate) fn is_empty(path: &Path, packing: Packing) -> Result<bool, FileError> {
    let mut first = Vec::new();
    let file = File::open(path).map_err(|error| bytes::refused(&error))?;
    file.take(2).read_to_end(&mut first).map_err(|error| bytes::refused(&error))?;
    if packing == Packing::Gzip && !first.is_empty() {
        bytes::refuse_no_gzip(&first)?;
    }
    Ok(first.is_empty())
}

/// A text that is being read.
pub(crate) struct Stream<'a> {
    /// What is in memory of it: whole lines.
    pub(crate) text: Cow<'a, str>,
    /// What follows; nothing of a text in memory.
    blocks: Option<Blocks>,
}

impl Stream<'_> {
    /// Forgets so many bytes of the beginning, and reads a block more of whole lines; `false` at the end.
    pub(crate) fn more(&mut self, forget: usize) -> Result<bool, FileError> {
        let Some(blocks) = &mut self.blocks else { return Ok(false) };
        let text = self.text.to_mut();
        text.drain(..forget);
        // As much as is there already, so that a record of any length is gone through a few times at most.
        blocks.read_to(text, BLOCK.max(text.len()))
    }

    /// Whether there is nothing after what is in memory.
    pub(crate) fn is_last(&self) -> bool {
        self.blocks.is_none()
    }

    /// Of a compressed file, how many bytes were inflated so far.
    pub(crate) fn inflated(&self) -> Option<usize> {
        let blocks = self.blocks.as_ref()?;
        (blocks.packing != Packing::Plain).then(|| blocks.before + blocks.rest.len())
    }
}

/// The blocks of a file.
pub(crate) struct Blocks {
    reader: Box<dyn Read>,
    packing: Packing,
    /// The bytes of a file that is not compressed.
    length: Option<usize>,
    /// What was read, and is not yet part of the text: less than a line.
    rest: Vec<u8>,
    /// The bytes before that, and the ends of lines among them.
    before: usize,
    lines: usize,
}

impl Blocks {
    pub(crate) fn open(path: &Path, packing: Packing) -> Result<Blocks, FileError> {
        let file = File::open(path).map_err(|error| bytes::refused(&error))?;
        let stated = file.metadata().map_err(|error| bytes::refused(&error))?.len();
        let length = (packing == Packing::Plain).then(|| usize::try_from(stated).unwrap_or(usize::MAX));
        let reader: Box<dyn Read> = match packing {
            Packing::Plain | Packing::Zstandard => Box::new(file),
            Packing::Gzip => {
                if is_empty(path, packing)? {
                    return Err(FileError::new("an empty file", "data"));
                }
                Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, file)))
            }
        };
        Ok(Blocks { reader, packing, length, rest: Vec::new(), before: 0, lines: 0 })
    }

    /// How many bytes there are after those that were taken; `None` of a compressed file, which does not say.
    pub(crate) fn left(&self) -> Option<usize> {
        Some(self.length?.saturating_sub(self.before))
    }

    /// Adds a block of whole lines to some bytes; `false` at the end of the file.
    pub(crate) fn read_bytes_to(&mut self, bytes: &mut Vec<u8>) -> Result<bool, FileError> {
        let (end, _) = self.read(BLOCK)?;
        bytes.extend_from_slice(&self.rest[..end]);
        self.before += end;
        self.rest.drain(..end);
        Ok(end > 0)
    }

    /// Reads about so many bytes: where the last line of them ends, and whether the file ends there.
    fn read(&mut self, about: usize) -> Result<(usize, bool), FileError> {
        let mut wanted = about;
        let (mut ended, mut seen) = (false, 0);
        let end = loop {
            if self.rest.len() > BLOCK {
                self.make_room(wanted)?;
            }
            self.rest.reserve_exact(wanted);
            let read = self.reader.by_ref().take(wanted as u64).read_to_end(&mut self.rest);
            let read = read.map_err(|error| match self.packing {
                Packing::Gzip => bytes::damaged_gzip(&error, self.before + self.rest.len()),
                Packing::Plain | Packing::Zstandard => bytes::refused(&error),
            })?;
            ended |= read < wanted;
            let newline = self.rest[seen..].iter().rposition(|byte| *byte == b'\n');
            match newline {
                _ if ended => break self.rest.len(),
                Some(newline) => break seen + newline + 1,
                // A line that is longer than what was read.
                None => (seen, wanted) = (self.rest.len(), self.rest.len()),
            }
        };
        match self.before == 0 && self.rest.is_empty() {
            true => Err(FileError::new("an empty file", "data")),
            false => Ok((end, ended)),
        }
    }

    /// Adds about so many bytes of whole lines to a text; `false` at the end of the file.
    fn read_to(&mut self, text: &mut String, about: usize) -> Result<bool, FileError> {
        let (end, ended) = self.read(about)?;
        if self.before == 0 {
            bytes::refuse_utf16(&self.rest)?;
        }
        let own = &self.rest[..end];
        let own = if self.before == 0 { bytes::without_mark(own) } else { own };
        let skipped = self.before + end - own.len();
        let own = bytes::text_after(own, skipped, self.lines)?;
        // Ends of lines are carriage returns where there is no line feed.
        match self.before == 0 && ended && own.contains('\r') && !own.contains('\n') {
            true => text.push_str(&own.replace('\r', "\n")),
            false => text.push_str(own),
        }
        self.lines += own.bytes().filter(|byte| *byte == b'\n').count();
        self.before += end;
        self.rest.drain(..end);
        Ok(end > 0)
    }

    /// Refuses a line that memory does not hold.
    fn make_room(&self, wanted: usize) -> Result<(), FileError> {
        // Beside what is read stands the text that is made of it.
        bytes::memory_for(wanted.saturating_mul(3), "a line").map_err(|error| match self.packing {
            Packing::Plain => error,
            Packing::Gzip | Packing::Zstandard => bytes::inflated_too_much(self.before + self.rest.len()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<String, FileError> {
        let place = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(place.path(), bytes).unwrap();
        let mut stream = Source::File(place.path(), Packing::Plain).open()?;
        let mut all = String::new();
        let mut had = 0;
        while stream.more(had)? {
            assert!(stream.text.len() <= 2 * BLOCK || !stream.text[..stream.text.len() - 1].contains('\n'));
            had = stream.text.len();
            all += &stream.text;
        }
        Ok(all)
    }

    #[test]
    fn blocks_are_the_text() {
        let line = "a,b,é\r\n".repeat(1000);
        for text in
            ["x", "x\n", "\n\n", &line.repeat(100), &"long ".repeat(400_000), &line.replace('\n', "x")]
        {
            let expected = if text.contains('\n') { text.to_owned() } else { text.replace('\r', "\n") };
            assert_eq!(read(text.as_bytes()).unwrap(), expected);
            assert_eq!(read(&[b"\xef\xbb\xbf", text.as_bytes()].concat()).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_no_text_is_said_as_of_bytes_in_memory() {
        let good = "12345,é\n".repeat(100_000);
        for bad in [&b"ab\xffc\n"[..], b"a\0b", b"\xff\xfea\0"] {
            for before in ["", "\u{feff}", good.as_str()] {
                let all = [before.as_bytes(), bad].concat();
                assert_eq!(read(&all).unwrap_err(), bytes::text(&all).unwrap_err());
            }
        }
        assert_eq!(read(b"").unwrap_err().found, "an empty file");
    }
}
