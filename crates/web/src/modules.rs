//! Controllers in WebAssembly inside the page: the browser's own machine runs them (web/src/core/modules.ts).

use cc::ExternalFactory;
use foreign::wasm::{self, Machine, Module, Trap, Value};
use lab::{ExternalLoader, ExternalSource, Language, set_external_loader};
use std::sync::Arc;

/// Lets scenarios name WebAssembly modules.
pub fn set_loader() {
    set_external_loader(Language::Wasm, ExternalLoader { identify: None, load });
}

fn load(source: &ExternalSource) -> Result<Arc<dyn ExternalFactory>, String> {
    let content = source.content.as_deref().unwrap_or_default();
    let file = foreign::file_of(source);
    if content.len() > wasm::MOST_BYTES {
        return Err(format!("{file} has {} bytes; at most {} are possible", content.len(), wasm::MOST_BYTES));
    }
    let number = page::compile(content).map_err(|what| format!("{file} {what}"))?;
    let functions = page::text().lines().map(str::to_string).collect();
    let module = PageModule { number, functions };
    let hash = blake3::hash(content).to_hex();
    Ok(wasm::load(Arc::new(module), &file, &hash, source.name.as_deref(), &source.arguments)?.factory)
}

/// A module that the page has compiled.
#[derive(Debug)]
struct PageModule {
    number: u32,
    functions: Vec<String>,
}

impl Module for PageModule {
    fn functions(&self) -> &[String] {
        &self.functions
    }
    fn start(&self) -> Result<Box<dyn Machine>, Trap> {
        Ok(Box::new(PageMachine(page::start(self.number)?)))
    }
}

/// An instance in the page.
#[derive(Debug)]
struct PageMachine(u32);

impl Machine for PageMachine {
    fn call(&mut self, function: usize, arguments: &[Value], _fuel: u64) -> Result<i64, Trap> {
        let mut words = [0u64; 8];
        for (pair, argument) in words.chunks_exact_mut(2).zip(arguments) {
            let (kind, bits) = match *argument {
                Value::Address(address) => (0, address.into()),
                Value::Whole(number) => (1, number.cast_unsigned()),
                Value::Number(number) => (2, number.to_bits()),
            };
            pair.copy_from_slice(&[kind, bits]);
        }
        page::call(self.0, function as u32, &mut words, arguments.len() as u32)?;
        Ok(words[0].cast_signed())
    }
    fn read(&mut self, address: u32, out: &mut [u8]) -> Result<(), Trap> {
        page::read(self.0, address, out)
    }
    fn write(&mut self, address: u32, bytes: &[u8]) -> Result<(), Trap> {
        page::write(self.0, address, bytes)
    }
    fn grow(&mut self, pages: u32) -> Result<u32, Trap> {
        page::grow(self.0, pages)
    }
    fn copy(&mut self) -> Result<Box<dyn Machine>, String> {
        Ok(Box::new(PageMachine(page::copy(self.0)?)))
    }
}

impl Drop for PageMachine {
    fn drop(&mut self) {
        page::release(self.0);
    }
}

/// What the page does. Outside a browser there is no page, so each call fails.
#[cfg(target_arch = "wasm32")]
mod page {
    use foreign::wasm::Trap;

    #[link(wasm_import_module = "page")]
    unsafe extern "C" {
        fn module_compile(at: *const u8, length: usize) -> i32;
        fn module_start(module: u32) -> i32;
        fn module_call(instance: u32, function: u32, words: *mut u64, count: u32) -> i32;
        fn module_read(instance: u32, address: u32, to: *mut u8, length: usize) -> i32;
        fn module_write(instance: u32, address: u32, from: *const u8, length: usize) -> i32;
        fn module_grow(instance: u32, pages: u32) -> i32;
        fn module_copy(instance: u32) -> i32;
        fn module_release(instance: u32);
        fn module_text(to: *mut u8, most: usize) -> usize;
    }

    /// The text of the last call: what failed, or the names of functions, one a line.
    pub fn text() -> String {
        let mut bytes = vec![0; 64 << 10];
        // SAFETY: the page writes at most so many bytes at this place, and returns their number.
        let length = unsafe { module_text(bytes.as_mut_ptr(), bytes.len()) };
        bytes.truncate(length);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The number that a call returned, or the text of what failed.
    fn checked(returned: i32) -> Result<u32, String> {
        u32::try_from(returned).map_err(|_| text())
    }

    pub fn compile(content: &[u8]) -> Result<u32, String> {
        // SAFETY: the page reads the slice during the call alone.
        checked(unsafe { module_compile(content.as_ptr(), content.len()) })
    }
    pub fn start(module: u32) -> Result<u32, Trap> {
        // SAFETY: numbers only.
        Ok(checked(unsafe { module_start(module) })?)
    }
    pub fn call(instance: u32, function: u32, words: &mut [u64; 8], count: u32) -> Result<(), Trap> {
        // SAFETY: the page reads and writes the array during the call alone.
        checked(unsafe { module_call(instance, function, words.as_mut_ptr(), count) })?;
        Ok(())
    }
    pub fn read(instance: u32, address: u32, out: &mut [u8]) -> Result<(), Trap> {
        // SAFETY: the page writes the slice during the call alone.
        checked(unsafe { module_read(instance, address, out.as_mut_ptr(), out.len()) })?;
        Ok(())
    }
    pub fn write(instance: u32, address: u32, bytes: &[u8]) -> Result<(), Trap> {
        // SAFETY: the page reads the slice during the call alone.
        checked(unsafe { module_write(instance, address, bytes.as_ptr(), bytes.len()) })?;
        Ok(())
    }
    pub fn grow(instance: u32, pages: u32) -> Result<u32, Trap> {
        // SAFETY: numbers only.
        Ok(checked(unsafe { module_grow(instance, pages) })?)
    }
    pub fn copy(instance: u32) -> Result<u32, String> {
        // SAFETY: numbers only.
        checked(unsafe { module_copy(instance) })
    }
    pub fn release(instance: u32) {
        // SAFETY: numbers only.
        unsafe { module_release(instance) }
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod page {
    use foreign::wasm::Trap;

    const NONE: &str = "needs a page";

    pub fn text() -> String {
        String::new()
    }
    pub fn compile(_: &[u8]) -> Result<u32, String> {
        Err(NONE.into())
    }
    pub fn start(_: u32) -> Result<u32, Trap> {
        Err(NONE.into())
    }
    pub fn call(_: u32, _: u32, _: &mut [u64; 8], _: u32) -> Result<(), Trap> {
        Err(NONE.into())
    }
    pub fn read(_: u32, _: u32, _: &mut [u8]) -> Result<(), Trap> {
        Err(NONE.into())
    }
    pub fn write(_: u32, _: u32, _: &[u8]) -> Result<(), Trap> {
        Err(NONE.into())
    }
    pub fn grow(_: u32, _: u32) -> Result<u32, Trap> {
        Err(NONE.into())
    }
    pub fn copy(_: u32) -> Result<u32, String> {
        Err(NONE.into())
    }
    pub fn release(_: u32) {}
}
