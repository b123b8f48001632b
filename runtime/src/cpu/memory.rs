//! Memory aligned for vectors, kept until its owner goes.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

/// Alignment in bytes: a cache line.
pub const ALIGN: usize = 64;

/// Zeroed bytes at a multiple of [`ALIGN`]; at least one line, so that a pointer to an
/// empty array can be read from.
pub struct Memory {
    pointer: *mut u8,
    layout: Layout,
}

// SAFETY: it owns its bytes.
unsafe impl Send for Memory {}
// SAFETY: shared, it gives only its address and size.
unsafe impl Sync for Memory {}

impl Memory {
    pub fn new(bytes: usize) -> Memory {
        let size = bytes.max(1).next_multiple_of(ALIGN);
        let layout = Layout::from_size_align(size, ALIGN).expect("invariant: arrays are within limits");
        // SAFETY: the layout is not empty.
        let pointer = unsafe { alloc_zeroed(layout) };
        if pointer.is_null() {
            handle_alloc_error(layout);
        }
        Memory { pointer, layout }
    }

    pub fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    pub fn len(&self) -> usize {
        self.layout.size()
    }

    /// Makes it hold at least `bytes`; what it held is lost where it grows.
    pub fn grow(&mut self, bytes: usize) {
        if bytes > self.len() {
            *self = Memory::new(bytes);
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.pointer, self.layout) };
    }
}
