//! Values that have names in scenarios.

/// An enumeration whose values have names.
#[macro_export]
macro_rules! named_values {
    ($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$value_doc])* $value,)*
        }
        impl $name {
            /// All values with their names.
            pub const ALL: &[($name, &str)] = &[$(($name::$value, $word)),*];
            /// All names.
            pub const NAMES: &[&str] = &[$($word),*];
            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $($name::$value => $word,)* }
            }
        }
        impl $crate::FromValue for $name {
            fn from_value(value: &$crate::Value) -> Option<$name> {
                let $crate::Value::Word(word) = value else { return None };
                $name::ALL.iter().find(|(_, name)| name == word).map(|(value, _)| *value)
            }
        }
    };
}
