//! Controllers from outside: WebAssembly modules and native libraries with the functions of `ackclock.h`.
//!
//! A controller has a state of some bytes, and a function for each event that it processes. Every field of an event and of the
//! answers has eight bytes ([`cc::External::word`]), so the same record serves a native library, a module, and the page.
//!
//! - `describe.rs`: what a controller says of itself. `controller.rs`: how its functions are called and its answers read.
//! - `native.rs`: libraries, which run as they are. `wasm.rs`: modules, on any [`wasm::Machine`]; `interpreter.rs`: the one that
//!   runs here, which bounds time and memory.

pub mod check;
mod controller;
mod describe;
#[cfg(feature = "interpreter")]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "interpreter")]
mod interpreter;
#[cfg(feature = "interpreter")]
pub mod javascript;
mod loaders;
mod names;
#[cfg(feature = "library")]
mod native;
pub mod wasm;

pub use controller::Named;
pub use describe::{Declaration, Description, Parameter, Shape, State};
#[cfg(feature = "interpreter")]
pub use interpreter::{ModuleFacts, load_module, module_facts};
pub use loaders::file_of;
#[cfg(feature = "library")]
pub use loaders::load_native;
#[cfg(feature = "interpreter")]
pub use loaders::load_wasm;
#[cfg(all(feature = "interpreter", feature = "library"))]
pub use loaders::set_loaders;
pub use names::shown;
#[cfg(feature = "library")]
pub use native::load_library;

/// The version of the interface: a field or a function more at an end is a minor version, any other change a major one.
pub const VERSION: (u32, u32) = (1, 1);
/// Most bytes of the state of a flow.
pub const MOST_STATE: u64 = 1 << 20;
/// Most bytes of the text that describes a controller.
pub(crate) const MOST_TEXT: usize = 64 << 10;
