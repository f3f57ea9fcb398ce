//! Hints to the memory system; none has an effect on results.

/// Below this size (bytes) pages of the usual size serve.
const LARGE: usize = 4 << 20;

/// An empty vector with room for `capacity` items. A large one asks for huge pages: with 100,000 flows most of
/// the time would go into address translation.
pub fn large_vec<T>(capacity: usize) -> Vec<T> {
    let items: Vec<T> = Vec::with_capacity(capacity);
    if size_of::<T>() * capacity >= LARGE {
        advise_huge(&items);
    }
    items
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn advise_huge<T>(items: &Vec<T>) {
    use rustix::mm::{Advice, madvise};
    const PAGE: usize = 4096;
    let start = items.as_ptr() as usize;
    let end = (start + items.capacity() * size_of::<T>()) / PAGE * PAGE;
    let first = start.next_multiple_of(PAGE);
    // SAFETY: the whole pages within the vector's own allocation; the advice changes no contents.
    let _ = unsafe { madvise(first as *mut _, end.saturating_sub(first), Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn advise_huge<T>(_items: &Vec<T>) {}

/// Asks for the cache lines of the first `bytes` of `item`, at most all of it.
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

/// Asks for the cache line of `items[index]`, and says nothing where there is no such item.
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
