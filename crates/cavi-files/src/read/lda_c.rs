//! Blei's LDA-C: `.ldac`.
//!
//! A document a line, `N id:count id:count ...`, where N is the number of pairs and ids count from 0.
//!
//! # Source
//! Blei: LDA-C, <https://github.com/blei-lab/lda-c>, readme.txt.

use super::number::{number, whole};
use super::steady;
use super::stream::Bytes;
use super::words::Words;
use crate::content::{Documents, Lines};
use crate::error::{FileError, count, quote};

pub(crate) fn read(bytes: Bytes<'_>) -> Result<Documents, FileError> {
    let mut words = Words::new(bytes)?;
    let mut documents =
        Documents { offsets: vec![0], ids: Vec::new(), counts: Vec::new(), lines: Lines::new(1) };
    let mut empty_line = None;
    loop {
        let line = words.line;
        match (words.word(), empty_line) {
            (None, _) => empty_line = empty_line.or(Some(line)),
            // Empty lines may end the file; a document without words is the line `0`.
            (Some(_), Some(empty)) => {
                return Err(
                    FileError::new("an empty line", "`N id:count ...`, or `0` for no words").at_line(empty)
                );
            }
            (Some(first), None) => {
                let stated = whole(first).ok_or_else(|| {
                    FileError::new(quote(first), "the number of pairs `id:count` on this line")
                });
                let own = stated.and_then(|stated| document(stated, &mut words, &mut documents));
                own.map_err(|error| error.at_line(line))?;
                documents.offsets.push(documents.ids.len());
                documents.lines.push(line);
            }
        }
        if !words.next_line()? {
            return Ok(documents);
        }
    }
}

fn document(stated: u64, words: &mut Words<'_>, documents: &mut Documents) -> Result<(), FileError> {
    let mut pairs = 0;
    while let Some(word) = words.word() {
        let (id, value) = pair(word).ok_or_else(|| {
            FileError::new(quote(word), "a pair `id:count` with an id from 0 to 4294967294")
        })?;
        steady::push(&mut documents.ids, id);
        steady::push(&mut documents.counts, value);
        pairs += 1;
    }
    if stated != pairs as u64 {
        return Err(FileError::new(count(pairs, "pair"), format!("{stated}, as the line says at its start")));
    }
    Ok(())
}

fn pair(word: &[u8]) -> Option<(u32, f64)> {
    let colon = word.iter().position(|&byte| byte == b':')?;
    let id = whole(&word[..colon]).and_then(|id| u32::try_from(id).ok()).filter(|&id| id < u32::MAX)?;
    Some((id, number(&word[colon + 1..])?))
}
