//! Options: a struct and its keys from one description.

/// A struct whose fields are the keys of a table. Each row is a field, in brackets its key if that has another name, its
/// type, the values that it takes, its default (or those under the profiles `ns2` and `linux`), and its meaning; after
/// `needs` what else a table must say for it to have an effect, after `else` the value without one, where the default is in words. After `with`
/// stand fields that are not keys of their own, each with a function of the values.
///
/// The struct has `KEYS`, `new` (from values) and `set` (one value).
#[macro_export]
macro_rules! options {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($field:ident $([$key:literal])?: $type:ty = $form:expr, [$($default:literal),+], $doc:literal
                $(, needs $needs:expr)? $(, else $absent:expr)?;)*
        }
        $(with { $($(#[$extra_meta:meta])* $extra:ident: $extra_type:ty = $extra_value:expr;)* })?
    ) => {
        $(#[$meta])*
        pub struct $name {
            $(#[doc = $doc] pub $field: $type,)*
            $($($(#[$extra_meta])* pub $extra: $extra_type,)*)?
        }

        impl $name {
            /// Its keys.
            pub const KEYS: &'static [$crate::Key] = &[$($crate::Key {
                name: $crate::options!(@name $field $($key)?),
                form: $form,
                defaults: $crate::options!(@defaults $($default),+),
                unit: "",
                doc: $doc,
                needs: $crate::options!(@needs $($needs)?),
            }),*];

            /// The options with these values.
            pub fn new(values: &$crate::Values) -> $name {
                $name {
                    $($field: $crate::options!(@read values, $crate::options!(@name $field $($key)?) $(, $absent)?),)*
                    $($($extra: {
                        let of: fn(&$crate::Values) -> $extra_type = $extra_value;
                        of(values)
                    },)*)?
                }
            }

            /// The options with the defaults of profile number `profile`.
            ///
            /// # Panics
            /// If a field after `with` needs the value of a key that is not one of `KEYS`.
            pub fn with_defaults(profile: usize) -> $name {
                $name::new(&$crate::Values::defaults($name::KEYS, profile))
            }

            /// Sets the option of `key`, if it is one of these; `value` was checked against its form.
            ///
            /// # Panics
            /// If the form of the key gives another type.
            pub fn set(&mut self, key: &str, value: &$crate::Value) {
                $(if key == $crate::options!(@name $field $($key)?) {
                    self.$field = $crate::FromValue::from_value(value)
                        .unwrap_or_else(|| panic!("{key} is {value:?}, read as another type"));
                    return;
                })*
            }
        }
    };
    (@needs) => { $crate::Needs::Nothing };
    (@needs $needs:expr) => { $needs };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $key:literal) => { $key };
    (@defaults $default:literal) => { [$default, $default] };
    (@defaults $ns2:literal, $linux:literal) => { [$ns2, $linux] };
    (@read $values:ident, $key:expr) => { $values.read($key) };
    (@read $values:ident, $key:expr, $absent:expr) => { $values.optional($key).unwrap_or($absent) };
}
