//! A file as bytes, and bytes as text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

use crate::error::{FileError, quote};
use crate::format::{self, Packing};
use crate::memory;

/// The bytes of a file as they are: of a regular file, or of a pipe, whose end is waited for.
///
/// # Errors
/// Besides those of the system: a directory, a device, which need not end, and what memory does not hold.
pub(crate) fn load(path: &Path) -> Result<Vec<u8>, FileError> {
    let path = format::file_of_lines(path).unwrap_or(path);
    if format::is_standard_input(path) {
        return standard_input();
    }
    let metadata = std::fs::metadata(path).map_err(|error| refused(&error))?;
    check_kind(&metadata)?;
    if !metadata.is_file() {
        return pipe(path);
    }
    let stated = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
    memory_for(stated, "a file")?;
    of_open(path, stated)
}

/// A file that is opened to be mapped: none that is a directory, a device or a pipe.
pub(crate) fn open_to_map(path: &Path) -> Result<std::fs::File, FileError> {
    let metadata = std::fs::metadata(path).map_err(|error| refused(&error))?;
    check_kind(&metadata)?;
    if !metadata.is_file() {
        return Err(FileError::new("a pipe", "a file, since packed data are mapped"));
    }
    std::fs::File::open(path).map_err(|error| refused(&error))
}

/// The bytes of a pipe. They can be read once, and are kept for who asks again.
fn pipe(path: &Path) -> Result<Vec<u8>, FileError> {
    static PIPES: Mutex<BTreeMap<PathBuf, Vec<u8>>> = Mutex::new(BTreeMap::new());
    let mut pipes = PIPES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bytes) = pipes.get(path) {
        return Ok(bytes.clone());
    }
    let bytes = of_open(path, 0)?;
    pipes.insert(path.to_owned(), bytes.clone());
    Ok(bytes)
}

fn of_open(path: &Path, stated: usize) -> Result<Vec<u8>, FileError> {
    let mut file = std::fs::File::open(path).map_err(|error| refused(&error))?;
    gather(&mut file, stated, memory::left()).map_err(|stop| match stop {
        Stop::Full(read) => too_much("a file of which", read, "read"),
        Stop::System(error, _) => refused(&error),
    })
}

/// Refuses a directory, and devices: what is read of them need not end.
fn check_kind(metadata: &std::fs::Metadata) -> Result<(), FileError> {
    let kind = metadata.file_type();
    #[cfg(unix)]
    let is_device = {
        use std::os::unix::fs::FileTypeExt;
        kind.is_char_device() || kind.is_block_device() || kind.is_socket()
    };
    #[cfg(not(unix))]
    let is_device = false;
    match () {
        () if kind.is_dir() => Err(FileError::new("a directory", "a readable file")),
        () if is_device => Err(FileError::new("a device", "a file, or a pipe, that ends")),
        () => Ok(()),
    }
}

/// What takes less than so many bytes is not worth a look at the memory of the machine.
const SMALL: usize = 1 << 24;

/// Refuses what takes more bytes than memory has left; `what` is its subject, `a header`.
pub(crate) fn memory_for(bytes: usize, what: &str) -> Result<(), FileError> {
    if bytes < SMALL && memory::limit().is_none() || memory::left().is_none_or(|left| bytes <= left) {
        return Ok(());
    }
    Err(FileError::new(format!("{what} of {}", memory::text(bytes)), "what memory holds")
        .with_help(memory::left_in_words()))
}

/// Why reading stopped before the end, with the bytes that were read.
enum Stop {
    /// There is no memory for more.
    Full(usize),
    /// The system, or the decoder, says why.
    System(std::io::Error, Vec<u8>),
}

/// All that a reader gives, but no more bytes than `most`. Memory grows with what is really there.
fn gather(reader: &mut impl Read, stated: usize, most: Option<usize>) -> Result<Vec<u8>, Stop> {
    const FIRST: usize = 1 << 16;
    let most = most.unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    // One byte more than a file states shows that it ends there.
    let mut wanted = stated.saturating_add(1).max(FIRST);
    loop {
        let room = most.saturating_sub(bytes.len());
        let step = wanted.min(room.saturating_add(1));
        bytes.try_reserve_exact(step).map_err(|_| Stop::Full(bytes.len()))?;
        match reader.take(step as u64).read_to_end(&mut bytes) {
            Ok(_) if bytes.len() > most => return Err(Stop::Full(bytes.len())),
            Ok(read) if read < step => return Ok(bytes),
            Ok(_) => wanted = bytes.len(),
            Err(error) => return Err(Stop::System(error, bytes)),
        }
    }
}

/// The most that may be inflated of a file: half of the memory that is left, for arrays are made of it, beside it.
pub(crate) fn budget() -> Option<usize> {
    memory::left().map(|left| left / 2)
}

/// What memory does not hold, of which so many bytes were read or inflated.
fn too_much(what: &str, bytes: usize, done: &str) -> FileError {
    FileError::new(format!("{what} {} were {done}, without an end", memory::text(bytes)), "what memory holds")
        .with_help(memory::left_in_words())
}

/// All that a decoder makes of compressed bytes, up to the [`budget`] less what was inflated `before`.
///
/// # Errors
/// `damaged`, by the decoder's error and what it had given; and what exceeds the budget.
pub(crate) fn inflate(
    decoder: &mut impl Read,
    before: usize,
    damaged: impl Fn(std::io::Error, &[u8]) -> FileError,
) -> Result<Vec<u8>, FileError> {
    let most = budget().map(|most| most.saturating_sub(before));
    gather(decoder, 0, most).map_err(|stop| match stop {
        Stop::Full(read) => inflated_too_much(before.saturating_add(read)),
        Stop::System(error, plain) => damaged(error, &plain),
    })
}

/// Why a file cannot be read, as the system says.
pub(crate) fn refused(error: &std::io::Error) -> FileError {
    let found = match error.kind() {
        ErrorKind::NotFound => "no such file".to_owned(),
        ErrorKind::PermissionDenied => "a file that may not be read".to_owned(),
        ErrorKind::IsADirectory => "a directory".to_owned(),
        ErrorKind::NotADirectory => "a file where a directory has to be".to_owned(),
        _ => format!("an error of the system, \"{error}\""),
    };
    FileError::new(found, "a readable file")
}

/// The bytes of the standard input. They can be read once, and are kept for who asks again.
fn standard_input() -> Result<Vec<u8>, FileError> {
    static INPUT: OnceLock<Result<Vec<u8>, FileError>> = OnceLock::new();
    let read = || {
        gather(&mut std::io::stdin().lock(), 0, memory::left()).map_err(|stop| match stop {
            Stop::Full(read) => too_much("an input of which", read, "read"),
            Stop::System(error, _) => refused(&error),
        })
    };
    INPUT.get_or_init(read).clone()
}

/// The bytes that a compressed file holds, or the bytes themselves. Memory grows with what is really decompressed, whatever
/// the file says of itself.
pub(crate) fn decompress(bytes: Vec<u8>, packing: Packing) -> Result<Vec<u8>, FileError> {
    if bytes.is_empty() {
        return Ok(bytes);
    }
    match packing {
        Packing::Plain => Ok(bytes),
        Packing::Gzip => gunzip(&bytes),
        Packing::Zstandard => unzstd(&bytes),
    }
}

fn gunzip(bytes: &[u8]) -> Result<Vec<u8>, FileError> {
    refuse_no_gzip(bytes)?;
    inflate(&mut MultiGzDecoder::new(bytes), 0, |error, plain| damaged_gzip(&error, plain.len()))
}

/// Refuses bytes that do not begin as a gzip file does.
pub(crate) fn refuse_no_gzip(bytes: &[u8]) -> Result<(), FileError> {
    match bytes.starts_with(&[0x1f, 0x8b]) {
        true => Ok(()),
        false => {
            Err(FileError::new("a file that is not compressed", "a gzip file, since its name ends in .gz"))
        }
    }
}

/// What the decoder says of a gzip file that is damaged after so many bytes of what it holds.
pub(crate) fn damaged_gzip(error: &std::io::Error, plain: usize) -> FileError {
    match error.kind() {
        ErrorKind::UnexpectedEof => FileError::new(
            format!("a gzip file that breaks off (after {plain} decompressed bytes)"),
            "a complete gzip file",
        ),
        _ => FileError::new(format!("a damaged gzip file ({error})"), "a gzip file"),
    }
}

/// A compressed file that goes on when so many bytes of it were inflated, and memory holds no more.
pub(crate) fn inflated_too_much(bytes: usize) -> FileError {
    too_much("a compressed file of which", bytes, "inflated")
}

/// What starts a frame of Zstandard, and, but for its last four bits, a frame of other bytes between them (RFC 8878).
const ZSTANDARD: u32 = 0xfd2f_b528;
const SKIPPED: u32 = 0x184d_2a50;

fn unzstd(bytes: &[u8]) -> Result<Vec<u8>, FileError> {
    let magic = |bytes: &[u8]| bytes.first_chunk().map(|magic| u32::from_le_bytes(*magic));
    let damaged = |error: &dyn std::fmt::Display, decompressed: usize| {
        let found = format!("a damaged Zstandard file ({error}; after {decompressed} decompressed bytes)");
        FileError::new(found, "a complete Zstandard file")
    };
    let (mut rest, mut plain) = (bytes, Vec::new());
    while !rest.is_empty() {
        match magic(rest) {
            Some(ZSTANDARD) => {}
            Some(magic) if magic & 0xffff_fff0 == SKIPPED => {
                let length = rest.get(4..).and_then(|rest| rest.first_chunk());
                let length = length.map_or(usize::MAX, |length| u32::from_le_bytes(*length) as usize);
                rest = rest
                    .get(8..)
                    .and_then(|rest| rest.get(length..))
                    .ok_or_else(|| damaged(&"it breaks off", plain.len()))?;
                continue;
            }
            _ if rest.len() == bytes.len() => {
                return Err(FileError::new(
                    "a file that is not compressed",
                    "a Zstandard file, since its name ends in .zst",
                ));
            }
            _ => return Err(damaged(&"other bytes after its end", plain.len())),
        }
        let mut frame = StreamingDecoder::new(&mut rest).map_err(|error| damaged(&error, plain.len()))?;
        let before = plain.len();
        let own = inflate(&mut frame, before, |error, own| damaged(&error, before + own.len()))?;
        if plain.is_empty() {
            plain = own
        } else {
            plain.extend(own)
        }
        let frame = frame.into_frame_decoder();
        let stated = frame.get_checksum_from_data();
        if stated.is_some() && stated != frame.get_calculated_checksum() {
            return Err(damaged(&"its checksum is another", plain.len()));
        }
    }
    Ok(plain)
}

/// The text that the bytes are, without a byte order mark.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, FileError> {
    refuse_utf16(bytes)?;
    let mark = bytes.len() - without_mark(bytes).len();
    text_after(&bytes[mark..], mark, 0)
}

/// Refuses bytes that begin as text in UTF-16 does.
pub(crate) fn refuse_utf16(bytes: &[u8]) -> Result<(), FileError> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(FileError::new("text in UTF-16", "text in UTF-8")
            .with_help("`iconv -f UTF-16 -t UTF-8 FILE > NEW` makes it so"));
    }
    Ok(())
}

/// The text that some bytes of a file are, before which so many bytes and so many ends of lines stand.
pub(crate) fn text_after(bytes: &[u8], before: usize, lines: usize) -> Result<&str, FileError> {
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        return Err(FileError::new(format!("a NUL byte (byte {})", before + at), "text")
            .at_line(lines + line_at(bytes, at)));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let start = bytes[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let field = &bytes[start.max(at.saturating_sub(20))..at];
        let found =
            format!("byte {} (0x{:02x}), which is no UTF-8, after {}", before + at, bytes[at], quote(field));
        FileError::new(found, "text in UTF-8").at_line(lines + line_at(bytes, at)).with_help(
            "if it is Latin-1 or Windows-1252, `iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW` makes it so",
        )
    })
}

/// The text that the bytes are, its lines ended by line feeds also where they ended in carriage returns alone.
pub(crate) fn text_of_lines(bytes: &[u8]) -> Result<Cow<'_, str>, FileError> {
    let text = text(bytes)?;
    Ok(match text.contains('\r') && !text.contains('\n') {
        true => Cow::Owned(text.replace('\r', "\n")),
        false => Cow::Borrowed(text),
    })
}

/// The bytes after a byte order mark.
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// The line of a byte, counted from 1.
fn line_at(bytes: &[u8], at: usize) -> usize {
    1 + bytes[..at].iter().filter(|&&byte| byte == b'\n').count()
}
