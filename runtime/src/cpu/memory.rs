//! Memory aligned for vectors, kept until its owner goes.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::sync::atomic::{AtomicU8, Ordering};

/// Alignment in bytes: a cache line.
pub const ALIGN: usize = 64;

/// Bytes of a large page. Memory of several asks for them: walking the tables of small ones
/// costs more than what is read, above all on a virtual machine.
const LARGE_PAGE: usize = 2 << 20;

/// What memory holds before it is written.
static UNWRITTEN: AtomicU8 = AtomicU8::new(0);

/// From now on memory is full of ones before each use, new or kept: no number as a float, -1
/// as an integer. For tests: results that depend on what nobody wrote are wrong then.
pub fn spoil() {
    UNWRITTEN.store(0xff, Ordering::Relaxed);
}

/// Bytes, zeroed unless spoiled, at a multiple of [`ALIGN`]; at least one line, so that a pointer to an
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
        unsafe { pointer.write_bytes(UNWRITTEN.load(Ordering::Relaxed), size) };
        Memory { pointer, layout }
    }

    pub fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    pub fn len(&self) -> usize {
        self.layout.size()
    }

    /// At least `bytes` of it, for a new use: what it held is lost.
    pub fn take(&mut self, bytes: usize) -> *mut u8 {
        if bytes > self.len() {
            *self = Memory::new(bytes);
        } else {
            self.renew(bytes);
        }
        self.pointer
    }

    /// Begins a new use of its first bytes, by whom holds all of it.
    pub fn renew(&self, bytes: usize) {
        let unwritten = UNWRITTEN.load(Ordering::Relaxed);
        if unwritten != 0 {
            // SAFETY: they are its own.
            unsafe { self.pointer.write_bytes(unwritten, bytes.min(self.len())) };
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
