//! Hints to the memory system. They do not change results.

/// A vector smaller than this (bytes) uses pages of the default size.
const LARGE: usize = 4 << 20;

/// An empty vector with room for `capacity` items. For a large vector it requests huge pages: with 100,000 flows,
/// address translation would take most of the time.
pub fn large_vec<T>(capacity: usize) -> Vec<T> {
    let items: Vec<T> = Vec::with_capacity(capacity);
    if size_of::<T>() * capacity >= LARGE {
        advise_huge(&items);
    }
    items
}

/// A copy of `items`, as [`large_vec`] has it.
pub fn large_copy<T: Clone>(items: &[T]) -> Vec<T> {
    let mut copy = large_vec(items.len());
    copy.extend_from_slice(items);
    copy
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn advise_huge<T>(items: &Vec<T>) {
    use rustix::mm::{Advice, madvise};
    const PAGE: usize = 4096;
    let start = items.as_ptr() as usize;
    let end = (start + items.capacity() * size_of::<T>()) / PAGE * PAGE;
    let first = start.next_multiple_of(PAGE);
    // SAFETY: the range covers whole pages within the allocation of the vector; the advice does not change their
    // contents.
    let _ = unsafe { madvise(first as *mut _, end.saturating_sub(first), Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn advise_huge<T>(_items: &Vec<T>) {}

/// Prefetches the cache lines of the first `bytes` bytes of `item`, at most its size.
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch_item<T>(item: &T, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start: *const i8 = core::ptr::from_ref(item).cast();
        let mut offset = 0;
        while offset < bytes.min(size_of::<T>()) {
            // SAFETY: a prefetch reads nothing and cannot fault; the address lies within a live item.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(offset)) }
            offset += 64;
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (item, bytes);
}

/// Prefetches the cache line of `items[index]`. Does nothing if the index is out of range.
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        if let Some(item) = items.get(index) {
            // SAFETY: a prefetch reads nothing and cannot fault; the address is that of a live item.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(item).cast()) }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}
