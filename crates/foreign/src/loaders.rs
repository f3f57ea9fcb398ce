//! The loaders of scenarios.

use crate::names::shown;
use lab::ExternalSource;
#[cfg(any(feature = "interpreter", feature = "library"))]
use {cc::ExternalFactory, lab::ExternalLoader, lab::Language, std::sync::Arc};

/// Lets scenarios name WebAssembly modules and native libraries, once for the process. A library still needs the permission of
/// whoever reads the scenario ([`lab::ScenarioText`]).
#[cfg(all(feature = "interpreter", feature = "library"))]
pub fn set_loaders() {
    lab::set_external_loader(Language::Wasm, ExternalLoader { identify: None, load: load_wasm });
    lab::set_external_loader(Language::Library, ExternalLoader { identify: None, load: load_native });
}

/// Loads the WebAssembly module that a scenario names. Fails with a message of one line.
#[cfg(feature = "interpreter")]
pub fn load_wasm(source: &ExternalSource) -> Result<Arc<dyn ExternalFactory>, String> {
    let content = source.content.as_deref().unwrap_or_default();
    let named = crate::load_module(content, &file_of(source), source.name.as_deref(), &source.arguments)?;
    Ok(named.factory)
}

/// Loads the native library that a scenario names. Fails with a message of one line.
#[cfg(feature = "library")]
pub fn load_native(source: &ExternalSource) -> Result<Arc<dyn ExternalFactory>, String> {
    Ok(crate::load_library(&source.path, source.name.as_deref(), &source.arguments)?.factory)
}

/// The name of a source's file, for messages.
pub fn file_of(source: &ExternalSource) -> String {
    shown(&source.path)
}
