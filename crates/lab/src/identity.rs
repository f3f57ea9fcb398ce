//! The identity of the engine: its version, a hash of its sources, and a hash of the mathematical functions that it calls.
//!
//! A program that depends on the published crates resolves its own version of `libm`, and a compiler may build it for another
//! machine. Other bits of a function then are another engine.

use std::sync::LazyLock;

/// The functions of `libm` that the engine calls.
const FUNCTIONS: [fn(f64) -> f64; 13] = [
    libm::acos,
    libm::asin,
    libm::cbrt,
    libm::cos,
    libm::exp,
    libm::exp2,
    libm::j0,
    libm::log,
    libm::log10,
    libm::log2,
    libm::round,
    libm::sin,
    |x| libm::sincos(x).0 + 2.0 * libm::sincos(x).1,
];
/// Those of two arguments.
const FUNCTIONS_OF_TWO: [fn(f64, f64) -> f64; 2] = [libm::atan2, libm::pow];

/// The version with a hash of the engine's sources and of its mathematical functions: part of every run's identity.
/// Installations with equal text compute the same bits.
pub fn engine() -> &'static str {
    static ENGINE: LazyLock<String> = LazyLock::new(|| {
        let mut hasher = functions();
        satellites(&mut hasher);
        let functions = hasher.finalize().to_hex();
        format!("{}+{}.{}", env!("CARGO_PKG_VERSION"), env!("ACKCLOCK_SOURCES"), &functions[..6])
    });
    &ENGINE
}

/// Adds a number. The bits of a NaN are the compiler's.
fn add(hasher: &mut blake3::Hasher, number: f64) {
    let bits = if number.is_nan() { 0 } else { number.to_bits() };
    hasher.update(&bits.to_le_bytes());
}

/// A hash of the results of [`FUNCTIONS`] and [`FUNCTIONS_OF_TWO`] at 256 arguments and at 37 times these (NaN outside a domain).
fn functions() -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new();
    for step in 1..=256 {
        let x = f64::from(step) / 256.0;
        for function in FUNCTIONS {
            add(&mut hasher, function(x));
            add(&mut hasher, function(x * 37.0));
        }
        for function in FUNCTIONS_OF_TWO {
            add(&mut hasher, function(x, 1.7 - x));
            add(&mut hasher, function(x * 37.0, 1.7 - 3.0 * x));
        }
    }
    hasher
}

/// Adds the positions of a satellite by SGP4. They are those of `libm`, unless another crate of the program asks `num-traits` for
/// the functions of the system, as the tests of this crate do.
#[cfg(feature = "satellites")]
fn satellites(hasher: &mut blake3::Hasher) {
    use crate::scenario::tle::{VANGUARD, read};
    let motions = read(VANGUARD, units::Span::ZERO, units::Span::from_ms(3_600_000));
    for minute in 0..60 {
        let position = motions.as_ref().map(|motions| motions[0].at(60.0 * f64::from(minute)));
        add(hasher, position.map_or(f64::NAN, |position| position.x + 2.0 * position.y + 3.0 * position.z));
    }
}

#[cfg(not(feature = "satellites"))]
fn satellites(_: &mut blake3::Hasher) {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    /// The value of the pinned version in Cargo.lock; another one changes recorded results too.
    #[test]
    fn functions_have_the_recorded_bits() {
        let functions = super::functions().finalize().to_hex();
        assert_eq!(&functions[..6], "97e8b7");
    }

    /// The functions that a text names after `libm::`, also in braces.
    fn functions_of(text: &str) -> BTreeSet<String> {
        let word =
            |text: &str| text.trim().chars().take_while(|c| c.is_ascii_alphanumeric()).collect::<String>();
        let after = |rest: &str| match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or_default().split(',').map(word).collect(),
            None => vec![word(rest)],
        };
        let names = text.match_indices("libm::").flat_map(|(at, prefix)| after(&text[at + prefix.len()..]));
        names.filter(|name| !name.is_empty()).collect()
    }

    /// Every function of `libm` that a crate calls is in the list.
    #[test]
    fn every_function_is_in_the_hash() {
        let list = include_str!("identity.rs").split("#[cfg(test)]").next().unwrap();
        let listed = functions_of(list);
        assert!(listed.len() > 12, "{listed:?}");
        let crates = std::fs::read_dir("..").unwrap().map(|entry| entry.unwrap().path().join("src"));
        let mut folders: Vec<PathBuf> = crates.filter(|folder| folder.is_dir()).collect();
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("identity.rs") {
                    let missing = &functions_of(&std::fs::read_to_string(&path).unwrap()) - &listed;
                    assert!(
                        missing.is_empty(),
                        "{}: {missing:?} of libm are not in the hash",
                        path.display()
                    );
                }
            }
        }
    }
}
