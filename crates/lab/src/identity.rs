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
        let functions = functions();
        format!("{}+{}.{}", env!("CARGO_PKG_VERSION"), env!("ACKCLOCK_SOURCES"), &functions[..6])
    });
    &ENGINE
}

/// A hash of the results of [`FUNCTIONS`] at 256 arguments within their domains, and of the positions of a satellite by SGP4.
fn functions() -> String {
    let mut hasher = blake3::Hasher::new();
    let mut note = |result: f64| {
        // The bits of a NaN are the compiler's.
        let bits = if result.is_nan() { 0 } else { result.to_bits() };
        hasher.update(&bits.to_le_bytes());
    };
    for step in 1..=256 {
        // Up to 1 for inverse functions; the others take a wider argument too.
        let x = f64::from(step) / 256.0;
        for function in FUNCTIONS {
            note(function(x));
            note(function(x * 37.0));
        }
        for function in FUNCTIONS_OF_TWO {
            note(function(x, 1.7 - x));
            note(function(x * 37.0, 1.7 - 3.0 * x));
        }
    }
    #[cfg(feature = "satellites")]
    {
        let day = units::Span::from_ms(86_400_000);
        let motions = crate::scenario::tle::read(crate::scenario::tle::VANGUARD, units::Span::ZERO, day);
        for minute in 0..1440 {
            let position = motions.as_ref().map(|motions| motions[0].at(60.0 * f64::from(minute)));
            note(position.map_or(f64::NAN, |position| position.x + 2.0 * position.y + 3.0 * position.z));
        }
    }
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    /// The value of the pinned versions in Cargo.lock; another one changes recorded results too.
    #[test]
    fn functions_have_the_recorded_bits() {
        let engine = super::engine();
        assert!(engine.ends_with(".ae770f"), "{engine}");
    }

    /// Every function of `libm` that the sources call is in the list.
    #[test]
    fn every_function_is_in_the_hash() {
        let list = include_str!("identity.rs");
        let mut files = Vec::new();
        for name in ["cc", "policy", "net", "orbit", "transport", "lab"] {
            let mut folders = vec![std::path::PathBuf::from(format!("../{name}/src"))];
            while let Some(folder) = folders.pop() {
                for entry in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
                    if entry.is_dir() { folders.push(entry) } else { files.push(entry) }
                }
            }
        }
        for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "rs")) {
            let text = std::fs::read_to_string(file).unwrap();
            for (place, _) in text.match_indices("libm::") {
                let name: String =
                    text[place + 6..].chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
                assert!(
                    name.is_empty() || list.contains(&format!("libm::{name}")),
                    "{}: libm::{name} is not in the identity of the engine",
                    file.display()
                );
            }
        }
    }
}
