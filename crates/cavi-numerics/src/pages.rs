//! Pages of mapped files: brought before they are read, and given back once they were.
//!
//! Who reads a mapped file waits for every page that is not in memory. Brought beforehand, pages come while others are worked on, so that a pass
//! takes the time of the disk or of the computation, whichever is longer, and not of both. Who goes from the beginning to the end need not ask: the
//! system reads ahead.
//!
//! Of a file that is larger than memory the system takes pages back all the time, and has to find out of each whether somebody still reads it.
//! Pages that the reader gives back himself, many at a time, are taken much faster; they stay in memory as long as there is room.

#![allow(unsafe_code)]

use std::ops::Range;
use std::sync::{PoisonError, RwLock};

#[cfg(target_os = "linux")]
use rustix::mm::Advice;

use crate::{Number, Numbers};

/// The addresses of the mapped files that are larger than memory.
static LARGE: RwLock<Vec<Range<usize>>> = RwLock::new(Vec::new());

/// From here on what was read of a mapped file at these addresses may be given back.
pub(crate) fn begin(addresses: Range<usize>) {
    LARGE.write().unwrap_or_else(PoisonError::into_inner).push(addresses);
}

/// From here on nothing at these addresses is given back: the file is no longer mapped there.
pub(crate) fn end(addresses: &Range<usize>) {
    LARGE.write().unwrap_or_else(PoisonError::into_inner).retain(|own| own != addresses);
}

/// Brings the pages that these numbers lie in, and returns when they are there. They are those of a mapped file, or in memory, where this does nothing.
///
/// They come as somebody who read them would have them, in large pages: asked for by `MADV_WILLNEED` they would be small ones.
#[cfg(target_os = "linux")]
pub(crate) fn bring<T>(numbers: &[T]) {
    if numbers.is_empty() {
        return;
    }
    let first = numbers.as_ptr().addr();
    let start = first - first % rustix::param::page_size();
    let length = first + size_of_val(numbers) - start;
    let pages = numbers.as_ptr().with_addr(start).cast_mut().cast();
    // SAFETY: pages of this process, whose numbers stay as they are under either advice.
    // A system that takes neither reads the pages all the same, when they are needed.
    let advise = |advice| unsafe { rustix::mm::madvise(pages, length, advice) };
    // Before Linux 5.14 there is the second alone.
    let _ = advise(Advice::LinuxPopulateRead).or_else(|_| advise(Advice::WillNeed));
}

/// Gives back the pages that hold nothing but these numbers, where they lie in a mapped file that is larger than memory. Whoever reads them again
/// finds what they were.
#[cfg(target_os = "linux")]
pub(crate) fn give_back<T>(numbers: &[T]) {
    let page = rustix::param::page_size();
    let start = numbers.as_ptr().addr().next_multiple_of(page);
    let end = numbers.as_ptr().addr() + size_of_val(numbers);
    let end = end - end % page;
    if start >= end {
        return;
    }
    let large = LARGE.read().unwrap_or_else(PoisonError::into_inner);
    if !large.iter().any(|own| own.start <= start && end <= own.end) {
        return;
    }
    let pages = numbers.as_ptr().with_addr(start).cast_mut().cast();
    // SAFETY: whole pages of a private map of a file that nobody writes to, which stays mapped while the lock is held (`end` waits for it):
    // they are read from the file again, with the same bytes. Where the system does not take the advice, they stay.
    let _ = unsafe { rustix::mm::madvise(pages, end - start, Advice::LinuxDontNeed) };
}

/// Elsewhere pages come when they are needed.
#[cfg(not(target_os = "linux"))]
pub(crate) fn bring<T>(_: &[T]) {}

/// Elsewhere the system takes pages back when it needs them.
#[cfg(not(target_os = "linux"))]
pub(crate) fn give_back<T>(_: &[T]) {}

/// So many entries are gone through at a time.
const PART: usize = 1 << 20;

/// Calls `see` with one range of so many entries after another, in order. The pages of each range are given back in all lists of which the entries are read.
pub fn in_parts(entries: usize, lists: &[&dyn Pages], mut see: impl FnMut(Range<usize>)) {
    for first in (0..entries).step_by(PART) {
        let part = first..(first + PART).min(entries);
        see(part.clone());
        lists.iter().for_each(|own| own.give_back(part.clone()));
    }
}

/// A list that may lie in a mapped file.
pub trait Pages {
    /// Gives the pages of these entries back.
    fn give_back(&self, entries: Range<usize>);
}

impl<T: Number> Pages for Numbers<T> {
    fn give_back(&self, entries: Range<usize>) {
        give_back(&self[entries]);
    }
}
