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
                $name { $($field: $crate::counters::Minus::minus(self.$field, early.$field),)* }
            }
        }
    };
}

pub(crate) use counters;

/// A counter, or an array of counters.
pub(crate) trait Minus {
    fn minus(self, early: Self) -> Self;
}

impl Minus for u64 {
    fn minus(self, early: u64) -> u64 {
        self - early
    }
}

impl Minus for Span {
    fn minus(self, early: Span) -> Span {
        self - early
    }
}

impl<T: Minus + Copy, const N: usize> Minus for [T; N] {
    fn minus(self, early: [T; N]) -> [T; N] {
        std::array::from_fn(|index| self[index].minus(early[index]))
    }
}
