//! Native libraries: their functions are called as they are. The user permits it for each file.
#![allow(unsafe_code, reason = "functions of a library are called through pointers")]

use crate::controller::{DecisionRecord, EventArgument, Factory, FlowState, Named, Trap};
use crate::describe::{Declaration, Description, Shape, State};
use crate::names::{choose, function, needed, of_file, one_line, shown};
use crate::{MOST_STATE, MOST_TEXT};
use cc::{Event, ParamValue};
use libloading::Library;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

type OnStruct = unsafe extern "C" fn(*mut c_void, *const u64, *mut u64) -> i32;
type OnTime = unsafe extern "C" fn(*mut c_void, i64, *mut u64) -> i32;
type OnNumber = unsafe extern "C" fn(*mut c_void, f64, *mut u64) -> i32;
type Open = unsafe extern "C" fn(*mut c_void, *const u64, *const f64, *mut u64) -> i32;

/// The function of an event.
#[derive(Clone, Copy)]
enum OnEvent {
    Struct(OnStruct),
    Time(OnTime),
    Number(OnNumber),
}

/// The functions of one controller of a library. The library stays loaded until the process ends.
#[derive(Clone, Copy)]
struct Functions {
    open: Open,
    events: [Option<OnEvent>; Event::METHODS.len()],
    probe: Option<unsafe extern "C" fn(*const c_void, *mut f64)>,
    fork: Option<unsafe extern "C" fn(*mut c_void, *const c_void) -> i32>,
    close: Option<unsafe extern "C" fn(*mut c_void)>,
    error: Option<unsafe extern "C" fn(*const c_void) -> *const c_char>,
    /// Whether the block is the whole state.
    is_block: bool,
}

/// Sixteen bytes of a state, which are aligned to sixteen.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Aligned(#[allow(dead_code, reason = "functions of the library read it")] [u8; 16]);

/// The state of a flow: a block, and the functions on it.
struct Block {
    functions: Functions,
    file: Arc<str>,
    block: Box<[Aligned]>,
    /// Whether `open` ended well, so that `close` is called.
    is_open: bool,
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of {}", 16 * self.block.len(), self.file)
    }
}

/// Loads the controller `name` of the library `path`, or its first one, and checks its parameters. This runs code of the library.
/// Fails with a message of one line.
pub fn load_library(
    path: &Path,
    name: Option<&str>,
    parameters: &[(String, ParamValue)],
) -> Result<Named, String> {
    let file = shown(path);
    let Opened { library, hash } = opened(path)?;
    let name = chosen(library, &file, name)?;
    let named = Symbols { library, file: &file, name: &name };
    // SAFETY: the functions have the types of ackclock.h, which the file promises by its names; it was permitted to run.
    let (description, state_size, functions) = unsafe {
        let describe: unsafe extern "C" fn() -> *const c_char = named.required(function::DESCRIBE)?;
        let size: unsafe extern "C" fn() -> u64 = named.required(function::STATE_SIZE)?;
        let text = text_at(describe()).map_err(|message| format!("{file}: describe: {message}"))?;
        let description = Description::read(&text).map_err(|message| of_file(&file, &message))?;
        let functions = named.functions(description.state == State::Block)?;
        (description, size(), functions)
    };
    if state_size > MOST_STATE {
        return Err(format!("{file}: a state of {state_size} bytes; at most {MOST_STATE} are possible"));
    }
    if functions.probe.is_none() && !description.probes.is_empty() {
        return Err(format!("{file}: controller {name} has no {name}_probe, but names in probes"));
    }
    let declaration = Arc::new(Declaration {
        parameters: description.numbers(&name, parameters)?,
        identity: format!("library {name} {}", hash.to_hex()),
        state_size: state_size as usize,
        defined: std::array::from_fn(|method| Shape::of(method, functions.events[method].is_some())),
        description,
        file: file.clone(),
        name,
    });
    let blocks = declaration.state_size.div_ceil(16).max(1);
    let shown: Arc<str> = file.into();
    let state = move || {
        let block = vec![Aligned([0; 16]); blocks].into_boxed_slice();
        Ok(Block { functions, file: shown.clone(), block, is_open: false })
    };
    let factory = Arc::new(Factory { declaration: declaration.clone(), state: Box::new(state) });
    Ok(Named { declaration, factory })
}

/// A library that is loaded, and the hash of its file.
#[derive(Clone, Copy)]
struct Opened {
    library: &'static Library,
    hash: blake3::Hash,
}

/// The library of a path, loaded once and never closed.
fn opened(path: &Path) -> Result<Opened, String> {
    static OPENED: Mutex<Option<BTreeMap<PathBuf, Opened>>> = Mutex::new(None);
    let shown = path.display();
    let whole = path.canonicalize().map_err(|_| format!("{shown}: no such file"))?;
    if !whole.is_file() {
        return Err(format!("{shown}: not a regular file"));
    }
    check_machine(&whole)?;
    let content = std::fs::read(&whole).map_err(|error| format!("{shown}: {error}"))?;
    let hash = blake3::hash(&content);
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let opened = opened.get_or_insert_default();
    match opened.get(&whole) {
        Some(known) if known.hash == hash => return Ok(*known),
        Some(_) => return Err(format!("{shown} has changed since it was loaded: start the program again")),
        None => {}
    }
    // SAFETY: loading runs the initialisers of the file, which the user permitted.
    let loaded = unsafe { Library::new(&whole) };
    let library = loaded.map_err(|error| format!("{shown}: {}", one_line(&error.to_string())))?;
    let loaded = Opened { library: Box::leak(Box::new(library)), hash };
    opened.insert(whole, loaded);
    Ok(loaded)
}

/// Checks that a file is a library of this machine, by its first bytes.
fn check_machine(path: &Path) -> Result<(), String> {
    use std::io::Read;
    let name = shown(path);
    let mut head = [0; 20];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    if read.is_err() || !head.starts_with(b"\x7fELF") {
        return Err(format!("{name} is not a library of this machine (no ELF file)"));
    }
    let machine = |code: u16| match code {
        3 => "i386".to_string(),
        40 => "arm".into(),
        62 => "x86-64".into(),
        183 => "aarch64".into(),
        243 => "riscv64".into(),
        other => format!("machine {other}"),
    };
    let ours = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
    let theirs = u16::from_le_bytes([head[18], head[19]]);
    if theirs == ours {
        return Ok(());
    }
    Err(format!("{name} is not a library of this machine ({}; this is {})", machine(theirs), machine(ours)))
}

/// The text of a pointer.
///
/// # Safety
/// The pointer is null or leads to a text that ends with a zero byte.
unsafe fn text_at(pointer: *const c_char) -> Result<String, String> {
    if pointer.is_null() {
        return Err("no text".into());
    }
    // SAFETY: as above.
    let bytes = unsafe { CStr::from_ptr(pointer) }.to_bytes();
    if bytes.len() > MOST_TEXT {
        return Err(format!("a text of {} bytes; at most {MOST_TEXT} are possible", bytes.len()));
    }
    String::from_utf8(bytes.to_vec()).map_err(|_| "not UTF-8 text".into())
}

/// The name of the controller: that which is asked for, or the first one of the file.
fn chosen(library: &'static Library, file: &str, name: Option<&str>) -> Result<String, String> {
    // SAFETY: the function has the type of ackclock.h.
    let names = unsafe {
        let names = library.get::<unsafe extern "C" fn() -> *const c_char>(function::CONTROLLERS.as_bytes());
        names.ok().map(|names| text_at(names())).transpose()
    };
    choose(
        file,
        name,
        names.map_err(|message| format!("{file}: {}: {message}", function::CONTROLLERS))?,
        |name| {
            // SAFETY: the symbol is only looked up.
            unsafe { library.get::<*const c_void>(format!("{name}_{}", function::DESCRIBE).as_bytes()) }
                .is_ok()
        },
    )
}

/// The symbols of one controller.
struct Symbols<'a> {
    library: &'static Library,
    file: &'a str,
    name: &'a str,
}

impl Symbols<'_> {
    /// # Safety
    /// The function has type `T`.
    unsafe fn optional<T: Copy>(&self, function: &str) -> Option<T> {
        // SAFETY: as above; the library is never closed.
        unsafe { self.library.get::<T>(format!("{}_{function}", self.name).as_bytes()) }
            .ok()
            .map(|symbol| *symbol)
    }

    /// # Safety
    /// The function has type `T`.
    unsafe fn required<T: Copy>(&self, function: &str) -> Result<T, String> {
        // SAFETY: as above.
        unsafe { self.optional(function) }
            .ok_or_else(|| format!("{}: controller {} has no {}_{function}", self.file, self.name, self.name))
    }

    /// # Safety
    /// The functions have the types of ackclock.h.
    unsafe fn functions(&self, is_block: bool) -> Result<Functions, String> {
        let mut events = [None; Event::METHODS.len()];
        for (event, method) in events.iter_mut().zip(Event::METHODS) {
            // SAFETY: the type follows from the argument of the method, as in ackclock.h.
            *event = unsafe {
                match method.fields[0].kind {
                    _ if !method.class.is_empty() => self.optional(method.name).map(OnEvent::Struct),
                    cc::ValueKind::Time => self.optional(method.name).map(OnEvent::Time),
                    _ => self.optional(method.name).map(OnEvent::Number),
                }
            };
            if event.is_none() && needed(method) {
                let (file, name, function) = (self.file, self.name, method.name);
                return Err(format!("{file}: controller {name} has no {name}_{function}"));
            }
        }
        // SAFETY: as above.
        unsafe {
            Ok(Functions {
                open: self.required(function::OPEN)?,
                events,
                probe: self.optional(function::PROBE),
                fork: self.optional(function::FORK),
                close: self.optional(function::CLOSE),
                error: self.optional(function::ERROR),
                is_block,
            })
        }
    }
}

impl Block {
    fn pointer(&mut self) -> *mut c_void {
        self.block.as_mut_ptr().cast()
    }

    /// The result of a function.
    fn result(&self, returned: i32) -> Result<(), Trap> {
        if returned == 0 {
            return Ok(());
        }
        let reason = self.functions.error.and_then(|error| {
            // SAFETY: the block is the state of this controller, and the text ends with a zero byte.
            unsafe { text_at(error(self.block.as_ptr().cast())) }.ok()
        });
        Err(Trap::Other(reason.unwrap_or_else(|| format!("returned {returned}"))))
    }
}

impl FlowState for Block {
    fn open(&mut self, flow: &[u64], parameters: &[f64], decision: &mut DecisionRecord) -> Result<(), Trap> {
        // SAFETY: the block has the bytes that the controller asked for, zeroed and aligned to 16; the structs have the
        // layout of ackclock.h, and the parameters their declared number.
        let returned = unsafe {
            (self.functions.open)(self.pointer(), flow.as_ptr(), parameters.as_ptr(), decision.as_mut_ptr())
        };
        self.is_open = returned == 0;
        self.result(returned)
    }
    #[inline]
    fn event(
        &mut self,
        method: usize,
        argument: EventArgument<'_>,
        decision: &mut DecisionRecord,
    ) -> Result<(), Trap> {
        let state = self.pointer();
        // SAFETY: as in `open`; the type of each function follows from its method.
        let returned = unsafe {
            match (self.functions.events[method], argument) {
                (Some(OnEvent::Struct(call)), EventArgument::Struct(words)) => {
                    call(state, words.as_ptr(), decision.as_mut_ptr())
                }
                (Some(OnEvent::Time(call)), EventArgument::Time(now)) => {
                    call(state, now, decision.as_mut_ptr())
                }
                (Some(OnEvent::Number(call)), EventArgument::Number(number)) => {
                    call(state, number, decision.as_mut_ptr())
                }
                _ => unreachable!("the method is defined, and its kind decides both"),
            }
        };
        if returned == 0 { Ok(()) } else { self.result(returned) }
    }
    fn probe(&self, out: &mut [f64]) {
        if let Some(probe) = self.functions.probe {
            // SAFETY: `out` has a place for each declared value.
            unsafe { probe(self.block.as_ptr().cast(), out.as_mut_ptr()) };
        }
    }
    fn fork(&self) -> Result<Block, String> {
        let mut copy = Block { block: self.block.clone(), file: self.file.clone(), ..*self };
        match self.functions.fork {
            Some(fork) => {
                copy.is_open = false;
                copy.block.fill(Aligned([0; 16]));
                // SAFETY: both blocks have the size of the state.
                let returned = unsafe { fork(copy.pointer(), self.block.as_ptr().cast()) };
                if returned != 0 {
                    return Err(format!("fork of {} returned {returned}", self.file));
                }
                copy.is_open = self.is_open;
                Ok(copy)
            }
            None if self.functions.is_block => Ok(copy),
            None => {
                copy.is_open = false;
                Err(format!("{} keeps state outside its block and has no function fork", self.file))
            }
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(close) = self.functions.close.filter(|_| self.is_open) {
            // SAFETY: the state was opened, and nothing uses it afterwards.
            unsafe { close(self.pointer()) };
        }
    }
}
