//! Memory aligned for vectors, kept until its owner goes.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};

/// Alignment in bytes: a cache line.
pub const ALIGN: usize = 64;

/// Bytes of a large page. Memory of several asks for them: walking the tables of small ones
/// costs more than what is read, above all on a virtual machine.
const LARGE_PAGE: usize = 2 << 20;

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
        let align = if size >= LARGE_PAGE { LARGE_PAGE } else { ALIGN };
        let layout = Layout::from_size_align(size, align).expect("invariant: arrays are within limits");
        // SAFETY: the layout is not empty.
        let pointer = unsafe { alloc(layout) };
        if pointer.is_null() {
            handle_alloc_error(layout);
        }
        if size >= LARGE_PAGE {
            ask_for_large_pages(pointer, size);
        }
        // SAFETY: just allocated, and nobody else's.
        unsafe { pointer.write_bytes(0, size) };
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

/// A wish: what comes of it changes the time of runs only.
#[cfg(target_os = "linux")]
fn ask_for_large_pages(start: *mut u8, bytes: usize) {
    use std::ffi::{c_int, c_void};
    const MADV_HUGEPAGE: c_int = 14;
    unsafe extern "C" {
        fn madvise(start: *mut c_void, bytes: usize, advice: c_int) -> c_int;
    }
    // SAFETY: the advice changes no contents; whole pages within the memory, which starts at one.
    unsafe { madvise(start.cast(), bytes / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages(_start: *mut u8, _bytes: usize) {}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.pointer, self.layout) };
    }
}
