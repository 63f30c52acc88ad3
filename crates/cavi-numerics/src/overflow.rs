//! Large blocks beyond a limit of memory, in a file on disk.
//!
//! A fit holds the parameters of q of every row, and sums of their size. Where these do not fit into memory beside what the process may
//! take, [`overflow_to`] gives the allocator a file: from then on a block that would bring the heap above the limit lies in a map of this file.
//! It is memory as any other to whoever reads and writes it, and its numbers are the same; the pages are those of the operating system,
//! which writes them out and takes them back when memory is short. Passes go over rows in their order, so that pages come and go in that order.
//!
//! **Where a block lies.** The file is mapped once, as a whole, over addresses of its size. A block takes the first hole that has room for it, in
//! units of [`UNIT`] bytes, and the file is told to reserve the room on disk before the block is given: a disk that is full refuses the block, which then is
//! one of the heap, instead of ending the process at a later write. A block that is freed gives its room on disk back, so that the bytes of a hole
//! are zero.

#![allow(unsafe_code)]

use std::alloc::Layout;
use std::fs::File;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The least block that may lie in the file. Smaller ones are few bytes of a heap that is short of memory.
pub(crate) const LEAST: usize = 1 << 18;

/// The unit of rooms: a number of pages on every machine.
const UNIT: usize = 1 << 16;

/// So many holes are known at a time. One more, which takes as many blocks freed between others that are held, is lost until the process ends.
const HOLES: usize = 1 << 12;

/// The addresses that the file is mapped to; empty before there is one.
static START: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);

/// The heap holds at most so many bytes before blocks go to the file.
static ABOVE: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The bytes of the blocks in the file, and the most that there were at a time.
static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The file and its holes.
static ROOMS: Mutex<Rooms> = Mutex::new(Rooms { file: None, holes: [(0, 0); HOLES], count: 0 });

struct Rooms {
    file: Option<File>,
    /// Where holes begin and end, in order, no two of which touch.
    holes: [(usize, usize); HOLES],
    count: usize,
}

impl Rooms {
    /// Takes the first hole with room for so many bytes.
    fn take(&mut self, bytes: usize) -> Option<usize> {
        let place = self.holes[..self.count].iter().position(|(start, end)| end - start >= bytes)?;
        let hole = &mut self.holes[place];
        let at = hole.0;
        hole.0 += bytes;
        if hole.0 == hole.1 {
            self.holes.copy_within(place + 1..self.count, place);
            self.count -= 1;
        }
        Some(at)
    }

    /// Gives bytes back.
    fn give(&mut self, start: usize, end: usize) {
        let place = self.holes[..self.count].partition_point(|own| own.0 < start);
        let before = place.checked_sub(1).filter(|own| self.holes[*own].1 == start);
        let after = Some(place).filter(|own| *own < self.count && self.holes[*own].0 == end);
        match (before, after) {
            (Some(before), Some(after)) => {
                self.holes[before].1 = self.holes[after].1;
                self.holes.copy_within(after + 1..self.count, after);
                self.count -= 1;
            }
            (Some(before), None) => self.holes[before].1 = end,
            (None, Some(after)) => self.holes[after].0 = start,
            (None, None) if self.count < HOLES => {
                self.holes.copy_within(place..self.count, place + 1);
                self.holes[place] = (start, end);
                self.count += 1;
            }
            (None, None) => {}
        }
    }
}

/// From here on blocks that would bring the heap above so many bytes lie in this file, which has `room` bytes at most. The file is empty, open for
/// reading and writing, and nobody else's; it stays open until the process ends.
///
/// # Errors
/// On a file system that cannot reserve room for a file, on a system without maps of that size, and for a second file.
pub fn overflow_to(file: File, room: usize, above: usize) -> io::Result<()> {
    let mut rooms = lock();
    if rooms.file.is_some() {
        return Err(io::Error::other("the process has a file for its arrays"));
    }
    let room = room / UNIT * UNIT;
    if room == 0 {
        return Err(io::ErrorKind::StorageFull.into());
    }
    file.set_len(room as u64)?;
    reserve(&file, 0, UNIT)?;
    release(&file, 0, UNIT)?;
    // SAFETY: nobody else has the file, which is never cut: the map is memory of this process alone. It is never taken away.
    let start =
        std::mem::ManuallyDrop::new(unsafe { memmap2::MmapMut::map_mut(&file) }?).as_mut_ptr() as usize;
    rooms.file = Some(file);
    rooms.holes[0] = (0, room);
    rooms.count = 1;
    ABOVE.store(above, Ordering::Relaxed);
    END.store(start + room, Ordering::Relaxed);
    START.store(start, Ordering::Release);
    Ok(())
}

/// The most bytes of blocks that lay in the file at a time; `None` where there is no file.
pub fn overflow_peak() -> Option<usize> {
    (START.load(Ordering::Relaxed) > 0).then(|| PEAK.load(Ordering::Relaxed))
}

/// The bytes that the file has room for beside those of its blocks; `None` where there is none.
pub fn overflow_left() -> Option<usize> {
    let room = END.load(Ordering::Relaxed) - START.load(Ordering::Relaxed);
    (room > 0).then(|| room.saturating_sub(HELD.load(Ordering::Relaxed)))
}

/// Whether a block of so many bytes beside so many in the heap goes to the file.
#[inline]
pub(crate) fn takes(layout: Layout, held: usize) -> bool {
    layout.size() >= LEAST
        && held.saturating_add(layout.size()) > ABOVE.load(Ordering::Relaxed)
        && layout.align() <= UNIT
}

/// Whether a block lies in the file.
#[inline]
pub(crate) fn has(block: *mut u8, layout: Layout) -> bool {
    layout.size() >= LEAST
        && (START.load(Ordering::Acquire)..END.load(Ordering::Relaxed)).contains(&(block as usize))
}

/// A block of zeros in the file; null where the file or its disk has no room.
pub(crate) fn block(bytes: usize) -> *mut u8 {
    let Some(whole) = bytes.checked_next_multiple_of(UNIT) else { return std::ptr::null_mut() };
    let mut rooms = lock();
    let Some(at) = rooms.take(whole) else { return std::ptr::null_mut() };
    if rooms.file.as_ref().is_none_or(|file| reserve(file, at, whole).is_err()) {
        rooms.give(at, at + whole);
        return std::ptr::null_mut();
    }
    let held = HELD.fetch_add(whole, Ordering::Relaxed) + whole;
    PEAK.fetch_max(held, Ordering::Relaxed);
    std::ptr::with_exposed_provenance_mut(START.load(Ordering::Relaxed) + at)
}

/// Gives a block of the file back.
pub(crate) fn free(block: *mut u8, bytes: usize) {
    let whole = bytes.next_multiple_of(UNIT);
    let at = block as usize - START.load(Ordering::Relaxed);
    let mut rooms = lock();
    HELD.fetch_sub(whole, Ordering::Relaxed);
    // What cannot be cleared is not given again: a hole has zeros.
    if rooms.file.as_ref().is_some_and(|file| release(file, at, whole).is_ok()) {
        rooms.give(at, at + whole);
    }
}

fn lock() -> std::sync::MutexGuard<'static, Rooms> {
    ROOMS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Reserves room on disk.
#[cfg(target_os = "linux")]
fn reserve(file: &File, at: usize, bytes: usize) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    Ok(fallocate(file, FallocateFlags::KEEP_SIZE, at as u64, bytes as u64)?)
}

/// Gives room on disk back; what is read there is zero.
#[cfg(target_os = "linux")]
fn release(file: &File, at: usize, bytes: usize) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    Ok(fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at as u64, bytes as u64)?)
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &File, _: usize, _: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn release(_: &File, _: usize, _: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// A file without a name.
    fn nameless() -> File {
        let path = std::env::temp_dir().join(format!("cavi-overflow-{}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
        std::fs::remove_file(path).expect("it is there");
        file
    }

    #[test]
    fn blocks_take_the_first_hole_with_room_and_holes_that_touch_are_one() {
        let mut rooms = Rooms { file: None, holes: [(0, 0); HOLES], count: 1 };
        rooms.holes[0] = (0, 10);
        let taken = [3, 2, 4, 2, 1].map(|bytes| rooms.take(bytes));
        assert_eq!(taken, [Some(0), Some(3), Some(5), None, Some(9)]);
        assert_eq!(rooms.count, 0);
        rooms.give(5, 9);
        rooms.give(0, 3);
        assert_eq!(rooms.holes[..rooms.count], [(0, 3), (5, 9)]);
        assert_eq!(rooms.take(4), Some(5));
        rooms.give(5, 9);
        rooms.give(3, 5);
        rooms.give(9, 10);
        assert_eq!(rooms.holes[..rooms.count], [(0, 10)]);
    }

    #[test]
    fn holes_beyond_those_that_can_be_known_are_lost() {
        let mut rooms = Rooms { file: None, holes: [(0, 0); HOLES], count: 0 };
        (0..=HOLES).for_each(|own| rooms.give(2 * own, 2 * own + 1));
        assert_eq!((rooms.count, rooms.holes[HOLES - 1]), (HOLES, (2 * HOLES - 2, 2 * HOLES - 1)));
        rooms.give(1, 2);
        assert_eq!((rooms.count, rooms.holes[0]), (HOLES - 1, (0, 3)));
    }

    /// One test, since a process has one file.
    #[test]
    fn blocks_of_the_file_are_memory_begin_with_zeros_and_give_their_room_back() {
        let size = 3 * LEAST + 5;
        assert!(block(size).is_null() && overflow_left().is_none(), "there is no file yet");
        // No block of other tests goes there.
        overflow_to(nameless(), 64 * LEAST, usize::MAX).expect("the disk reserves room");
        assert!(overflow_to(nameless(), LEAST, 0).is_err());
        let layout = Layout::from_size_align(size, 8).expect("a layout");
        for _ in 0..100 {
            let blocks = [block(size), block(LEAST), block(size)];
            for own in blocks {
                assert!(!own.is_null() && has(own, layout) && own.addr().is_multiple_of(UNIT));
                // SAFETY: the block has so many bytes.
                let bytes = unsafe { std::slice::from_raw_parts_mut(own, LEAST) };
                assert!(bytes.iter().all(|byte| *byte == 0));
                bytes.fill(7);
            }
            blocks.into_iter().zip([size, LEAST, size]).for_each(|(own, bytes)| free(own, bytes));
        }
        assert_eq!(overflow_left(), Some(64 * LEAST));
        assert!(block(65 * LEAST).is_null(), "the file has no room for it");
        let most = 2 * size.next_multiple_of(UNIT) + LEAST;
        assert_eq!(overflow_peak(), Some(most));
        assert!(!has(std::ptr::null_mut(), layout));
    }
}
