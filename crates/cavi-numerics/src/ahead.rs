//! Pages that are read soon, asked for before they are read.
//!
//! Who reads a mapped file waits for every page that is not in memory, and once more for each that is there and not yet mapped into the process.
//! Asked for beforehand, pages come and are mapped while others are worked on, so that a pass takes the time of the disk or of the computation,
//! whichever is longer, and not of both.

#![allow(unsafe_code)]

#[cfg(unix)]
use rustix::mm::Advice;

/// Asks the system for the pages that these numbers lie in, and does not wait. They are those of a mapped file, or in memory, where this does nothing.
pub(crate) fn ask_for<T>(numbers: &[T]) {
    #[cfg(unix)]
    advise(numbers, Advice::WillNeed);
    #[cfg(not(unix))]
    let _ = numbers;
}

/// Waits until the pages that these numbers lie in are there, and maps them into the process: who reads them then waits for none.
/// Where the system cannot, each is mapped when it is read.
pub(crate) fn wait_for<T>(numbers: &[T]) {
    #[cfg(target_os = "linux")]
    advise(numbers, Advice::LinuxPopulateRead);
    #[cfg(not(target_os = "linux"))]
    let _ = numbers;
}

#[cfg(unix)]
fn advise<T>(numbers: &[T], advice: Advice) {
    if numbers.is_empty() {
        return;
    }
    let first = numbers.as_ptr().addr();
    let start = first - first % rustix::param::page_size();
    let length = first + size_of_val(numbers) - start;
    let pages = numbers.as_ptr().with_addr(start).cast_mut().cast();
    // SAFETY: pages of this process, whose numbers stay as they are under this advice.
    // A system that does not take it reads the pages all the same, when they are needed.
    let _ = unsafe { rustix::mm::madvise(pages, length, advice) };
}
