//! A hint to the memory system; it has no effect on results.

/// Asks for every cache line of `item`.
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch_item<T>(item: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start: *const i8 = core::ptr::from_ref(item).cast();
        let mut offset = 0;
        while offset < size_of::<T>() {
            // SAFETY: a prefetch reads nothing and cannot fault; the address lies within a live item.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(offset)) }
            offset += 64;
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = item;
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
