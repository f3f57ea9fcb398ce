//! Controllers of this crate as a native library or a WebAssembly module with the functions of `ackclock.h`.
//!
//! `cargo build --release [--target wasm32-unknown-unknown]`; a controller of your own is one more line: its name and its type.

ackclock_cc::export_controllers!(
    reno: ackclock_cc::Reno,
    cubic: ackclock_cc::Cubic,
    bbr: ackclock_cc::Bbr,
    bbr3: ackclock_cc::Bbr3,
    vegas: ackclock_cc::Vegas,
    vivace: ackclock_cc::Vivace,
    copa: ackclock_cc::Copa,
    dctcp: ackclock_cc::Dctcp,
    hybla: ackclock_cc::Hybla,
);
