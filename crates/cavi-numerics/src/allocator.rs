//! Large arrays that begin with a cache line.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::overflow;

/// The system's allocator, but blocks of a page or more begin with a cache line (those of a greater alignment than 16 as the
/// system has them), for a program's `#[global_allocator]`.
///
/// The system's own begin 16 bytes after a page, so that each vector of 64 bytes that a kernel reads or writes lies in two
/// lines: passes over sparse entries took a tenth to a fifth longer (`cargo bench -p cavi-numerics --bench passes`, the vectors
/// of AVX-512). Blocks beyond a limit of memory may lie in a file, see [`crate::overflow_to`].
#[derive(Clone, Copy, Debug, Default)]
pub struct CacheAligned;

/// The bytes of the blocks of a page or more that a process holds, and the most that it held at a time.
static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The most bytes that the heap of this process held at a time, in blocks of a page or more; `None` where the program has another
/// allocator than [`CacheAligned`]. Smaller blocks are not counted, so that they cost nothing: a fit's arrays are larger.
pub fn heap_peak() -> Option<usize> {
    Some(PEAK.load(Ordering::Relaxed)).filter(|peak| *peak > 0)
}

/// The bytes that the heap of this process holds now, counted as for [`heap_peak`], and `None` where that is.
pub fn heap_held() -> Option<usize> {
    heap_peak().map(|_| HELD.load(Ordering::Relaxed))
}

/// Counts a block that was made, if there is one.
fn count(block: *mut u8, bytes: usize) -> *mut u8 {
    if !block.is_null() {
        let held = HELD.fetch_add(bytes, Ordering::Relaxed) + bytes;
        PEAK.fetch_max(held, Ordering::Relaxed);
    }
    block
}

/// The bytes of a cache line.
const LINE: usize = 64;

/// The least size that begins with a line.
const LARGE: usize = 4096;

/// The alignment that every block of the system's allocator has. A larger one is left to the system.
const USUAL: usize = 16;

/// Whether this allocator made a block begin at a cache line. This follows from the layout, with which the block is
/// freed.
#[inline]
fn is_moved(layout: Layout) -> bool {
    layout.size() >= LARGE && layout.align() <= USUAL
}

/// The system's block for one of ours, which has room to be moved; `None` where that is no size of a block.
#[inline]
fn around(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(LINE)?, USUAL).ok()
}

/// The first line in a block of the system's, at least [`USUAL`] bytes after its beginning, which are remembered before it.
///
/// # Safety
/// The block is one of [`around`], or null, which stays null.
unsafe fn moved(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        return block;
    }
    let by = LINE - block as usize % LINE;
    // SAFETY: `USUAL <= by <= LINE`, as the block is aligned to the usual: the number before the line lies inside.
    unsafe {
        let line = block.add(by);
        line.sub(size_of::<usize>()).cast::<usize>().write(by);
        line
    }
}

/// By how much a block was [`moved`].
///
/// # Safety
/// It was.
unsafe fn distance(line: *mut u8) -> usize {
    // SAFETY: the caller's promise.
    unsafe { line.sub(size_of::<usize>()).cast::<usize>().read() }
}

/// A block of zeros in the file of [`crate::overflow_to`], if it goes there.
#[inline]
fn in_file(layout: Layout) -> Option<*mut u8> {
    let goes = overflow::takes(layout, HELD.load(Ordering::Relaxed));
    goes.then(|| overflow::block(layout.size())).filter(|block| !block.is_null())
}

// The system is asked for ordinary blocks and not for aligned ones. Aligned blocks cannot be had cleared, nor grown
// in place, and the system leaves holes between them: a fit took 50 MB more.
//
// SAFETY: a block is one of the system's, or its line and what follows, of the size that was asked for; which of the two
// follows from size and alignment alone.
unsafe impl GlobalAlloc for CacheAligned {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if let Some(block) = in_file(layout) {
            return block;
        }
        // SAFETY: the caller's promise; a block around is not empty.
        unsafe {
            match around(layout.size()).filter(|_| is_moved(layout)) {
                Some(around) => count(moved(System.alloc(around)), layout.size()),
                None => System.alloc(layout),
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if let Some(zeros) = in_file(layout) {
            return zeros;
        }
        // SAFETY: as above; what is remembered stands before the line.
        unsafe {
            match around(layout.size()).filter(|_| is_moved(layout)) {
                Some(around) => count(moved(System.alloc_zeroed(around)), layout.size()),
                None => System.alloc_zeroed(layout),
            }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if overflow::has(block, layout) {
            return overflow::free(block, layout.size());
        }
        // SAFETY: the block came from the same layout.
        unsafe {
            match around(layout.size()).filter(|_| is_moved(layout)) {
                Some(around) => {
                    HELD.fetch_sub(layout.size(), Ordering::Relaxed);
                    System.dealloc(block.sub(distance(block)), around);
                }
                None => System.dealloc(block, layout),
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size is one of a layout.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let is_near_file =
            overflow::has(block, layout) || overflow::takes(wanted, HELD.load(Ordering::Relaxed));
        match [layout, wanted].map(|own| around(own.size()).filter(|_| is_moved(own) && !is_near_file)) {
            // SAFETY: the block came from this layout.
            [None, None] if !is_near_file => unsafe { System.realloc(block, layout, size) },
            // SAFETY: the block around came from this layout; what it held lies where it did in the new one, which has room for
            // the smaller size after either line.
            [Some(old), Some(new)] => unsafe {
                let before = distance(block);
                let grown = System.realloc(block.sub(before), old, new.size());
                if grown.is_null() {
                    return grown;
                }
                let now = LINE - grown as usize % LINE;
                if now != before {
                    grown.add(now).copy_from(grown.add(before), layout.size().min(size));
                }
                HELD.fetch_sub(layout.size(), Ordering::Relaxed);
                count(moved(grown), size)
            },
            // SAFETY: both blocks hold the smaller size; the old one came from its layout.
            _ => unsafe {
                let other = self.alloc(wanted);
                if !other.is_null() {
                    other.copy_from_nonoverlapping(block, layout.size().min(size));
                    self.dealloc(block, layout);
                }
                other
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_the_most_that_large_blocks_held_at_a_time() {
        let layout = Layout::from_size_align(1 << 30, 8).expect("a layout");
        // SAFETY: the block is freed with its layout; nothing reads or writes it.
        unsafe {
            let block = CacheAligned.alloc_zeroed(layout);
            CacheAligned.dealloc(block, layout);
        }
        let peak = heap_peak().expect("a block was made");
        assert!((1 << 30..1 << 31).contains(&peak), "{peak}");
        assert!(HELD.load(Ordering::Relaxed) < 1 << 30);
    }

    #[test]
    fn large_blocks_begin_with_a_line_and_keep_what_they_hold_when_they_grow_and_shrink() {
        let mut layout = Layout::from_size_align(100, 8).expect("a layout");
        // SAFETY: the layout is that of the block all the time, and every byte has been written before it is read.
        unsafe {
            let mut block = CacheAligned.alloc(layout);
            (0..100).for_each(|at| block.add(at).write(at as u8));
            for size in [LARGE - 1, LARGE, LARGE + 1, 1 << 20, 1 << 26, 3 * LARGE, LARGE, 300, 100] {
                block = CacheAligned.realloc(block, layout, size);
                layout = Layout::from_size_align(size, 8).expect("a layout");
                assert!((0..100).all(|at| block.add(at).read() == at as u8));
                assert!(size < LARGE || (block as usize).is_multiple_of(LINE), "{size} bytes");
            }
            CacheAligned.dealloc(block, layout);
            let large = Layout::from_size_align(3 * LARGE, 16).expect("a layout");
            let zeros = CacheAligned.alloc_zeroed(large);
            assert!(
                (zeros as usize).is_multiple_of(LINE) && (0..3 * LARGE).all(|at| zeros.add(at).read() == 0)
            );
            CacheAligned.dealloc(zeros, large);
        }
    }
}
