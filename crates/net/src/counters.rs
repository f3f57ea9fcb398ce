//! Accounts: structs of counters, and what they counted between two times.

use units::Span;

/// A struct of counters; `&a - &b` is what `a` has counted after `b`, `&a + &b` what both have. Each field is a
/// [`Counter`](crate::counters::Counter), perhaps an account itself.
#[macro_export]
macro_rules! counters {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $crate::counters::Counter for $name {
            fn subtract(&self, early: &$name) -> $name {
                $name { $($field: $crate::counters::Counter::subtract(&self.$field, &early.$field),)* }
            }
            fn add(&self, other: &$name) -> $name {
                $name { $($field: $crate::counters::Counter::add(&self.$field, &other.$field),)* }
            }
        }

        impl std::ops::Sub<&$name> for &$name {
            type Output = $name;
            /// What it has done after `early`.
            fn sub(self, early: &$name) -> $name {
                $crate::counters::Counter::subtract(self, early)
            }
        }

        impl std::ops::Add<&$name> for &$name {
            type Output = $name;
            fn add(self, other: &$name) -> $name {
                $crate::counters::Counter::add(self, other)
            }
        }
    };
}

pub use counters;

/// What is counted up to a time: a number, a list of counters, or an account.
pub trait Counter {
    /// What was counted after `early`.
    fn subtract(&self, early: &Self) -> Self;
    /// What both have counted.
    fn add(&self, other: &Self) -> Self;
}

/// Numbers and times.
macro_rules! number {
    ($($type:ty),*) => {
        $(impl Counter for $type {
            fn subtract(&self, early: &$type) -> $type {
                *self - *early
            }
            fn add(&self, other: &$type) -> $type {
                *self + *other
            }
        })*
    };
}

number!(u64, f64, Span);

impl<T: Counter, const N: usize> Counter for [T; N] {
    fn subtract(&self, early: &[T; N]) -> [T; N] {
        std::array::from_fn(|index| self[index].subtract(&early[index]))
    }
    fn add(&self, other: &[T; N]) -> [T; N] {
        std::array::from_fn(|index| self[index].add(&other[index]))
    }
}

/// Counters of the same things at both times.
impl<T: Counter> Counter for Vec<T> {
    fn subtract(&self, early: &Vec<T>) -> Vec<T> {
        debug_assert_eq!(self.len(), early.len(), "the accounts are of different things");
        self.iter().zip(early).map(|(all, early)| all.subtract(early)).collect()
    }
    fn add(&self, other: &Vec<T>) -> Vec<T> {
        debug_assert_eq!(self.len(), other.len(), "the accounts are of different things");
        self.iter().zip(other).map(|(one, other)| one.add(other)).collect()
    }
}

/// What may be absent; nothing was counted where it is.
impl<T: Counter + Clone> Counter for Option<T> {
    fn subtract(&self, early: &Option<T>) -> Option<T> {
        match (self, early) {
            (Some(all), Some(early)) => Some(all.subtract(early)),
            (all, _) => all.clone(),
        }
    }
    fn add(&self, other: &Option<T>) -> Option<T> {
        match (self, other) {
            (Some(one), Some(other)) => Some(one.add(other)),
            (one, other) => one.clone().or_else(|| other.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    counters! {
        /// Of a test.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Account {
            /// A number.
            packets: u64,
            /// Several times.
            times: [Span; 2],
            /// Parts.
            parts: Vec<Option<Part>>,
        }
    }

    counters! {
        /// Of a part.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Part {
            /// A sum.
            sum: f64,
        }
    }

    #[test]
    fn the_difference_is_that_of_every_field() {
        let account = |n: u64, sum| Account {
            packets: n,
            times: [Span::from_ms(n), Span::ZERO],
            parts: vec![Some(Part { sum }), None],
        };
        let (whole, early) = (account(5, 2.5), account(2, 1.0));
        assert_eq!(&whole - &early, account(3, 1.5));
        assert_eq!(&(&whole - &early) + &early, whole);
        let absent = Account { parts: vec![None, None], ..account(0, 0.0) };
        assert_eq!((&whole - &absent).parts, whole.parts);
    }
}
