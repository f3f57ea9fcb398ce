//! Without the feature `satellites` no file of two-line elements can be read.

use orbit::Motion;
use units::Span;

/// Fails with the feature that is missing.
pub(crate) fn read(_text: &str, _epoch: Span, _length: Span) -> Result<Vec<Motion>, String> {
    Err("two-line elements need a build with the feature `satellites`".into())
}
