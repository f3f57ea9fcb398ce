//! Accounts: structs of counters, and what they counted between two times.

use units::Span;

/// A struct of counters; `&a - &b` is what `a` has counted after `b`.
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
                $name { $($field: $crate::counters::Subtract::subtract(self.$field, early.$field),)* }
            }
        }
    };
}

pub(crate) use counters;

/// A counter, or an array of counters.
pub(crate) trait Subtract {
    fn subtract(self, early: Self) -> Self;
}

impl Subtract for u64 {
    fn subtract(self, early: u64) -> u64 {
        self - early
    }
}

impl Subtract for Span {
    fn subtract(self, early: Span) -> Span {
        self - early
    }
}

impl<T: Subtract + Copy, const N: usize> Subtract for [T; N] {
    fn subtract(self, early: [T; N]) -> [T; N] {
        std::array::from_fn(|index| self[index].subtract(early[index]))
    }
}
