//! A file as bytes, and bytes as text.

use std::borrow::Cow;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::OnceLock;

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

use crate::error::{FileError, quote};
use crate::format::{self, Packing};

/// The bytes of a file as they are.
pub(crate) fn load(path: &Path) -> Result<Vec<u8>, FileError> {
    let path = format::file_of_lines(path).unwrap_or(path);
    if format::is_standard_input(path) {
        return standard_input();
    }
    std::fs::read(path).map_err(|error| refused(&error))
}

/// Why a file cannot be read, as the system says.
pub(crate) fn refused(error: &std::io::Error) -> FileError {
    let found = match error.kind() {
        ErrorKind::NotFound => "no such file".to_owned(),
        ErrorKind::PermissionDenied => "a file that may not be read".to_owned(),
        ErrorKind::IsADirectory => "a directory".to_owned(),
        _ => format!("an error of the system, \"{error}\""),
    };
    FileError::new(found, "a readable file")
}

/// The bytes of the standard input. They can be read once, and are kept for who asks again.
fn standard_input() -> Result<Vec<u8>, FileError> {
    static INPUT: OnceLock<Result<Vec<u8>, FileError>> = OnceLock::new();
    let read = || {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(|error| refused(&error))?;
        Ok(bytes)
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
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Err(FileError::new(
            "a file that is not compressed",
            "a gzip file, since its name ends in .gz",
        ));
    }
    let mut plain = Vec::new();
    match MultiGzDecoder::new(bytes).read_to_end(&mut plain) {
        Ok(_) => Ok(plain),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(FileError::new(
            format!("a gzip file that breaks off (after {} decompressed bytes)", plain.len()),
            "a complete gzip file",
        )),
        Err(error) => Err(FileError::new(format!("a damaged gzip file ({error})"), "a gzip file")),
    }
}

/// What starts a frame of Zstandard, and, but for its last four bits, a frame of other bytes between them (RFC 8878).
const ZSTANDARD: u32 = 0xfd2f_b528;
const SKIPPED: u32 = 0x184d_2a50;

fn unzstd(bytes: &[u8]) -> Result<Vec<u8>, FileError> {
    let magic = |bytes: &[u8]| bytes.first_chunk().map(|magic| u32::from_le_bytes(*magic));
    let damaged = |error: &dyn std::fmt::Display, plain: &[u8]| {
        let found = format!("a damaged Zstandard file ({error}; after {} decompressed bytes)", plain.len());
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
                    .ok_or_else(|| damaged(&"it breaks off", &plain))?;
                continue;
            }
            _ if rest.len() == bytes.len() => {
                return Err(FileError::new(
                    "a file that is not compressed",
                    "a Zstandard file, since its name ends in .zst",
                ));
            }
            _ => return Err(damaged(&"other bytes after its end", &plain)),
        }
        let mut frame = StreamingDecoder::new(&mut rest).map_err(|error| damaged(&error, &plain))?;
        frame.read_to_end(&mut plain).map_err(|error| damaged(&error, &plain))?;
        let frame = frame.into_frame_decoder();
        let stated = frame.get_checksum_from_data();
        if stated.is_some() && stated != frame.get_calculated_checksum() {
            return Err(damaged(&"its checksum is another", &plain));
        }
    }
    Ok(plain)
}

/// The text that the bytes are, without a byte order mark.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, FileError> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(FileError::new("text in UTF-16", "text in UTF-8")
            .with_help("`iconv -f UTF-16 -t UTF-8 FILE > NEW` makes it so"));
    }
    let mark = bytes.len() - without_mark(bytes).len();
    let bytes = &bytes[mark..];
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        return Err(
            FileError::new(format!("a NUL byte (byte {})", mark + at), "text").at_line(line_at(bytes, at))
        );
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let start = bytes[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let field = &bytes[start.max(at.saturating_sub(20))..at];
        let found =
            format!("byte {} (0x{:02x}), which is no UTF-8, after {}", mark + at, bytes[at], quote(field));
        FileError::new(found, "text in UTF-8").at_line(line_at(bytes, at)).with_help(
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
