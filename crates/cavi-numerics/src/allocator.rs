//! Large arrays that begin with a cache line.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, but blocks of a page or more begin with a cache line, for a program's `#[global_allocator]`.
///
/// The system's own begin 16 bytes after a page, so that each vector of 64 bytes that a kernel reads or writes lies in two
/// lines: passes over sparse entries took a tenth to a fifth longer (`cargo bench -p cavi-numerics --bench passes`, the vectors
/// of AVX-512).
#[derive(Clone, Copy, Debug, Default)]
pub struct CacheAligned;

/// The bytes of a cache line.
const LINE: usize = 64;

/// The least size that begins with a line.
const LARGE: usize = 4096;

/// What is asked of the system: a function of the size and alignment alone, as a block is given back by these.
#[inline]
fn aligned(layout: Layout) -> Layout {
    if layout.size() < LARGE { layout } else { layout.align_to(LINE).unwrap_or(layout) }
}

// SAFETY: the system's blocks, asked for and given back by the same layout, of at least the alignment that the caller wants.
unsafe impl GlobalAlloc for CacheAligned {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise; the size is the same.
        unsafe { System.alloc(aligned(layout)) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(aligned(layout)) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block came from the same layout.
        unsafe { System.dealloc(block, aligned(layout)) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size is one of a layout.
        let (old, new) =
            (aligned(layout), aligned(unsafe { Layout::from_size_align_unchecked(size, layout.align()) }));
        if old.align() == new.align() {
            // SAFETY: the block came from this layout.
            return unsafe { System.realloc(block, old, size) };
        }
        // SAFETY: both blocks hold the smaller size; the old one came from its layout.
        unsafe {
            let moved = System.alloc(new);
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                System.dealloc(block, old);
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_blocks_begin_with_a_line_and_keep_what_they_hold_when_they_grow_and_shrink() {
        let mut layout = Layout::from_size_align(100, 8).expect("a layout");
        // SAFETY: the layout is that of the block all the time, and every byte has been written before it is read.
        unsafe {
            let mut block = CacheAligned.alloc(layout);
            (0..100).for_each(|at| block.add(at).write(at as u8));
            for size in [LARGE - 1, LARGE, 1 << 20, LARGE, 300, 100] {
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
