//! Accounts: structs of counters, and what they counted between two times.

use units::Span;

/// A struct of counters; `&a - &b` is what `a` has counted after `b`, `&a + &b` what both have.
macro_rules! counters {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl std::ops::Sub<&$name> for &$name {
            type Output = $name;
            /// What it has done after `early`.
            fn sub(self, early: &$name) -> $name {
                $name { $($field: $crate::counters::Counter::subtract(self.$field, early.$field),)* }
            }
        }

        impl std::ops::Add<&$name> for &$name {
            type Output = $name;
            fn add(self, other: &$name) -> $name {
                $name { $($field: $crate::counters::Counter::add(self.$field, other.$field),)* }
            }
        }
    };
}

pub(crate) use counters;

/// A counter, or an array of counters.
pub(crate) trait Counter {
    fn subtract(self, early: Self) -> Self;
    fn add(self, other: Self) -> Self;
}

impl Counter for u64 {
    fn subtract(self, early: u64) -> u64 {
        self - early
    }
    fn add(self, other: u64) -> u64 {
        self + other
    }
}

impl Counter for Span {
    fn subtract(self, early: Span) -> Span {
        self - early
    }
    fn add(self, other: Span) -> Span {
        self + other
    }
}

impl<T: Counter + Copy, const N: usize> Counter for [T; N] {
    fn subtract(self, early: [T; N]) -> [T; N] {
        std::array::from_fn(|index| self[index].subtract(early[index]))
    }
    fn add(self, other: [T; N]) -> [T; N] {
        std::array::from_fn(|index| self[index].add(other[index]))
    }
}
