//! Pages that are read soon, asked for before they are read.
//!
//! Who reads a mapped file waits for every page that is not in memory. Asked for beforehand, pages come while others are worked on, so that a pass
//! takes the time of the disk or of the computation, whichever is longer, and not of both.

#![allow(unsafe_code)]

/// Asks the system for the pages that these numbers lie in. They are those of a mapped file, or in memory, where this does nothing.
#[cfg(unix)]
pub(crate) fn ask_for<T>(numbers: &[T]) {
    if numbers.is_empty() {
        return;
    }
    let first = numbers.as_ptr().addr();
    let start = first - first % rustix::param::page_size();
    let length = first + size_of_val(numbers) - start;
    let pages = numbers.as_ptr().with_addr(start).cast_mut().cast();
    // SAFETY: pages of this process, whose numbers stay as they are under this advice.
    // A system that does not take it reads the pages all the same, when they are needed.
    let _ = unsafe { rustix::mm::madvise(pages, length, rustix::mm::Advice::WillNeed) };
}

/// Elsewhere pages come when they are needed.
#[cfg(not(unix))]
pub(crate) fn ask_for<T>(_: &[T]) {}
