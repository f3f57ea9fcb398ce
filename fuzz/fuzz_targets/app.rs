#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| lab::fuzzing::app(data));
