//! The entry point of the fuzz target; a test passes mutated modules to it.

use crate::{check, load_module};
use cc::{Controller, ExternalFactory};
use std::sync::Arc;

/// Loads any bytes as a module and, if it is a controller, passes events to it and to a copy. Nothing of it panics, and each
/// message has one line. Returns whether it was loaded.
pub fn module(content: &[u8]) -> bool {
    let loaded = load_module(content, "mine.wasm", None, &[]);
    let named = match loaded {
        Ok(named) => named,
        Err(message) => {
            assert!(!message.contains('\n') && !message.is_empty() && message.len() < 1000, "{message:?}");
            return false;
        }
    };
    let factory: Arc<dyn ExternalFactory> = named.factory;
    let controller = check::exercise(&*factory);
    if let Some(failure) = controller.failure() {
        assert!(!failure.message.contains('\n') && failure.message.len() < 1000, "{:?}", failure.message);
    }
    assert!(controller.cwnd() >= 1.0 && controller.cwnd().is_finite());
    true
}
