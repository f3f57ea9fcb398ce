//! Classes in JavaScript, as the laboratory's page has them, without a browser: an interpreter of the language (QuickJS) that is
//! a WebAssembly module itself runs on the same machine, with the same bounds of time and memory. It has no clock, no random
//! numbers but a fixed beginning, and no files.

use crate::interpreter::{Compiled, Limits};
use crate::names::{check_probes, one_line};
use crate::wasm::{FUEL, FUEL_BEFORE, Machine, Module, Trap, Value};
use cc::{
    AnyController, CachedExternal, Decision, Event, ExternalController, ExternalFactory, Failure, FlowInfo,
    NumberLayout, NumberRecord, ParamValue, Signals,
};
use serde::Deserialize;
use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use units::Segments;
use wasmi::{Caller, Config, Engine, Error, Linker};

/// Bytes that JavaScript may allocate for a flow.
const MEMORY: u32 = 12 << 20;
/// Bytes of the stack of JavaScript.
const STACK: u32 = 256 << 10;

/// The interpreter of JavaScript, and the text that calls a class: what the page runs (web/src/core/sandbox.ts).
#[derive(Clone)]
pub struct Sandbox {
    interpreter: Compiled,
    bridge: Arc<str>,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sandbox")
    }
}

impl Sandbox {
    /// The sandbox of an interpreter (WebAssembly) and a bridge (JavaScript). Fails with a message.
    pub fn new(interpreter: &[u8], bridge: &str) -> Result<Sandbox, String> {
        static ENGINE: OnceLock<Engine> = OnceLock::new();
        let engine = ENGINE.get_or_init(|| {
            let mut config = Config::default();
            config.consume_fuel(true).set_max_recursion_depth(20_000).set_max_stack_height(4 << 20);
            Engine::new(&config)
        });
        Ok(Sandbox { interpreter: Compiled::trusted(engine, interpreter, imports)?, bridge: bridge.into() })
    }
}

/// What the interpreter imports: a clock that stands still, random numbers that are zero, and nothing else.
fn imports(linker: &mut Linker<Limits>) -> Result<(), Error> {
    const NO_SYSTEM: i32 = 52;
    let wasi = "wasi_snapshot_preview1";
    linker.func_wrap(wasi, "clock_time_get", |mut caller: Caller<'_, Limits>, _: i32, _: i64, at: i32| {
        write(&mut caller, at, &[0; 8])
    })?;
    linker.func_wrap(wasi, "random_get", |mut caller: Caller<'_, Limits>, at: i32, size: i32| {
        write(&mut caller, at, &vec![0; usize::try_from(size).unwrap_or(0).min(1 << 16)])
    })?;
    linker.func_wrap(wasi, "fd_close", |_: i32| NO_SYSTEM)?;
    linker.func_wrap(wasi, "fd_fdstat_get", |_: i32, _: i32| NO_SYSTEM)?;
    linker.func_wrap(wasi, "fd_seek", |_: i32, _: i64, _: i32, _: i32| NO_SYSTEM)?;
    linker.func_wrap(wasi, "fd_write", |_: i32, _: i32, _: i32, _: i32| NO_SYSTEM)?;
    linker.func_wrap("env", "host_get_timezone_offset", |_: i32, _: i32| 0i32)?;
    linker.func_wrap("env", "host_interrupt", || 0i32)?;
    linker.func_wrap("env", "host_promise_rejection", |_: i32, _: i32, _: i32| {})?;
    linker.func_wrap("env", "host_module_normalize", |_: i32, _: i32| 0i32)?;
    linker.func_wrap("env", "host_module_load", |_: i32, _: i32| 0i32)?;
    linker.func_wrap("env", "host_call", |_: i32, _: i32, _: i32, _: i32, _: i32| 0i32)?;
    Ok(())
}

/// Writes bytes into the memory of the interpreter; the number of the error of WASI.
fn write(caller: &mut Caller<'_, Limits>, at: i32, bytes: &[u8]) -> i32 {
    let memory = caller.get_export("memory").and_then(|memory| memory.into_memory());
    let written = memory.map(|memory| memory.write(caller, at.cast_unsigned() as usize, bytes));
    if matches!(written, Some(Ok(()))) { 0 } else { 28 }
}

/// What the bridge says of a class.
#[derive(Clone, Debug, Deserialize)]
struct Class {
    name: String,
    #[serde(default)]
    probes: Vec<String>,
    #[serde(default)]
    needs: Vec<String>,
    initial_window: Option<f64>,
    /// The methods whose events are passed.
    #[serde(default)]
    methods: Vec<String>,
}

/// An interpreter that has loaded a class, with the addresses of what is called.
struct Loaded {
    machine: Box<dyn Machine>,
    places: Arc<Places>,
    /// Address of the record of numbers.
    record: u32,
    /// The function of the bridge that passes an event, and that which tells a failure.
    pass: u32,
    failure: u32,
    undefined: u32,
    /// Addresses of the numbers of the kinds of calls, in a row.
    kinds: u32,
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interpreter of JavaScript")
    }
}

/// Declares the functions of the interpreter that are called.
macro_rules! interpreter_functions {
    ($($name:ident),+) => {
        /// Places of the functions of the interpreter.
        struct Places { $($name: usize,)+ }

        impl Places {
            fn new(functions: &[String]) -> Result<Places, String> {
                let place = |name: &str| {
                    let place = functions.iter().position(|known| known == name);
                    place.ok_or_else(|| format!("the interpreter has no function {name}"))
                };
                Ok(Places { $($name: place(stringify!($name))?,)+ })
            }
        }
    };
}
interpreter_functions!(
    qjs_init,
    qjs_set_memory_limit,
    qjs_set_max_stack_size,
    qjs_eval,
    qjs_call,
    qjs_get_string,
    qjs_get_bool,
    qjs_is_exception,
    qjs_get_exception,
    qjs_get_prop_string,
    qjs_get_array_buffer,
    qjs_free_value,
    qjs_new_number,
    qjs_new_string,
    qjs_get_undefined,
    wasm_malloc,
    wasm_free
);

impl Loaded {
    fn call(&mut self, function: usize, arguments: &[u32], fuel: u64) -> Result<u32, Trap> {
        let arguments: Vec<Value> = arguments.iter().map(|address| Value::Address(*address)).collect();
        Ok(self.machine.call(function, &arguments, fuel)? as u32)
    }

    /// The address of a text in the memory, with a zero byte at its end.
    fn text(&mut self, text: &str) -> Result<u32, Trap> {
        let malloc = self.places.wasm_malloc;
        let at = self.call(malloc, &[text.len() as u32 + 1], FUEL_BEFORE)?;
        self.machine.write(at, text.as_bytes())?;
        self.machine.write(at + text.len() as u32, &[0])?;
        Ok(at)
    }

    /// The text of a value, at most 64 kB.
    fn read_text(&mut self, value: u32) -> Result<String, Trap> {
        let at = self.call(self.places.qjs_get_string, &[value], FUEL)?;
        crate::wasm::text_at(&mut *self.machine, i64::from(at))
    }

    /// A value, unless it is an exception.
    fn value(&mut self, value: u32) -> Result<u32, Trap> {
        if self.call(self.places.qjs_is_exception, &[value], FUEL)? == 0 {
            return Ok(value);
        }
        let exception = self.call(self.places.qjs_get_exception, &[], FUEL)?;
        let text = self.read_text(exception)?;
        Err(Trap::Other(text))
    }

    /// The value of a program.
    fn eval(&mut self, code: &str, file: &str) -> Result<u32, Trap> {
        let (program, name) = (self.text(code)?, self.text(file)?);
        let value = self.call(self.places.qjs_eval, &[program, code.len() as u32, name, 0], FUEL_BEFORE)?;
        let value = self.value(value)?;
        self.call(self.places.wasm_free, &[program], FUEL)?;
        self.call(self.places.wasm_free, &[name], FUEL)?;
        Ok(value)
    }

    /// A property of a value.
    fn property(&mut self, of: u32, name: &str) -> Result<u32, Trap> {
        let name = self.text(name)?;
        let value = self.call(self.places.qjs_get_prop_string, &[of, name], FUEL)?;
        self.call(self.places.wasm_free, &[name], FUEL)?;
        self.value(value)
    }

    /// An interpreter with the bridge.
    fn new(sandbox: &Sandbox) -> Result<Loaded, Trap> {
        let machine = sandbox.interpreter.start()?;
        let places = Arc::new(Places::new(sandbox.interpreter.functions())?);
        let mut loaded = Loaded { machine, places, record: 0, pass: 0, failure: 0, undefined: 0, kinds: 0 };
        if loaded.call(loaded.places.qjs_init, &[], FUEL_BEFORE)? != 0 {
            return Err("the interpreter does not start".into());
        }
        loaded.call(loaded.places.qjs_set_memory_limit, &[MEMORY], FUEL)?;
        loaded.call(loaded.places.qjs_set_max_stack_size, &[STACK], FUEL)?;
        let bridge = sandbox.bridge.clone();
        let size = NumberLayout::NUMBERS;
        loaded.eval(&bridge, "bridge")?;
        let entry = loaded.eval(&format!("ackclock.room({size}); ackclock"), "bridge")?;
        loaded.pass = loaded.property(entry, "pass")?;
        loaded.failure = loaded.property(entry, "failure")?;
        loaded.undefined = loaded.call(loaded.places.qjs_get_undefined, &[], FUEL)?;
        let buffer = loaded.property(entry, "record")?;
        let length = loaded.call(loaded.places.wasm_malloc, &[8], FUEL)?;
        loaded.record = loaded.call(loaded.places.qjs_get_array_buffer, &[buffer, length], FUEL)?;
        let kinds = Event::METHODS.len() as u32 + 1;
        loaded.kinds = loaded.call(loaded.places.wasm_malloc, &[4 * kinds], FUEL)?;
        for kind in 0..kinds {
            let number =
                loaded.machine.call(loaded.places.qjs_new_number, &[Value::Number(kind.into())], FUEL)?
                    as u32;
            loaded.machine.write(loaded.kinds + 4 * kind, &number.to_le_bytes())?;
        }
        Ok(loaded)
    }

    /// Loads a class of a program, the last one without a name.
    fn load(&mut self, code: &str, file: &str, name: Option<&str>) -> Result<Class, Trap> {
        let entry = self.eval("ackclock", "bridge")?;
        let load = self.property(entry, "load")?;
        let mut arguments = Vec::new();
        for text in [code, file, name.unwrap_or_default()] {
            let at = self.text(text)?;
            arguments.extend(
                self.call(self.places.qjs_new_string, &[at, text.len() as u32], FUEL_BEFORE)?.to_le_bytes(),
            );
        }
        let at = self.call(self.places.wasm_malloc, &[arguments.len() as u32], FUEL)?;
        self.machine.write(at, &arguments)?;
        let said = self.call(self.places.qjs_call, &[load, self.undefined, 3, at], FUEL_BEFORE)?;
        let said = self.value(said)?;
        let said = self.read_text(said)?;
        toml::from_str(&said).map_err(|error| Trap::Other(one_line(error.message())))
    }

    /// Passes a call to the controller: of this kind with the record, which gets its answers.
    fn pass(&mut self, kind: usize, record: &mut NumberRecord) -> Result<(), Trap> {
        self.machine.write(self.record, bytemuck::cast_slice(&record[..]))?;
        let arguments = [self.pass, self.undefined, 1, self.kinds + 4 * kind as u32];
        let value = self.call(self.places.qjs_call, &arguments, FUEL)?;
        let failed = self.call(self.places.qjs_get_bool, &[value], FUEL)?;
        self.call(self.places.qjs_free_value, &[value], FUEL)?;
        if failed != 0 {
            let text = self.call(self.places.qjs_call, &[self.failure, self.undefined, 0, 0], FUEL)?;
            return Err(Trap::Other(self.read_text(text)?));
        }
        self.machine.read(self.record, bytemuck::cast_slice_mut(&mut record[..]))
    }

    fn copy(&mut self) -> Result<Loaded, String> {
        let machine = self.machine.copy()?;
        Ok(Loaded { machine, places: self.places.clone(), ..*self })
    }
}

/// A class in JavaScript that is loaded.
struct ScriptFactory {
    file: String,
    class: Class,
    needs: Signals,
    identity: String,
    /// An interpreter with the class, of which each flow gets a copy.
    loaded: Mutex<Loaded>,
}

impl fmt::Debug for ScriptFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.identity)
    }
}

/// Loads the class `name` of a program in JavaScript, or its last one; `text` is the program, or a page that was saved from the
/// laboratory with a class. Fails with a message of one line.
pub fn load_class(
    sandbox: &Sandbox,
    text: &str,
    file: &str,
    name: Option<&str>,
    parameters: &[(String, ParamValue)],
) -> Result<Arc<dyn ExternalFactory>, String> {
    if let Some((parameter, _)) = parameters.first() {
        return Err(format!("{file}: a class in JavaScript has no parameters, such as {parameter}"));
    }
    let code = if is_page(text) { code_of_page(text, file)? } else { text.to_string() };
    let mut loaded = Loaded::new(sandbox).map_err(|trap| trap.message("the start of JavaScript", file))?;
    let class = loaded.load(&code, file, name).map_err(|trap| match trap {
        Trap::Fuel(_) => trap.message("the program", file),
        Trap::Other(what) => format!("{file}: {}", one_line(&what)),
    })?;
    let mut needs = Signals::NONE;
    for name in &class.needs {
        needs = needs.and(Signals::from_name(name).map_err(|message| format!("{file}: {message}"))?);
    }
    check_probes(&class.probes, NumberLayout::MOST_PROBES)
        .map_err(|message| format!("{file}: probes: {message}"))?;
    if let Some(window) = class.initial_window.filter(|window| !(1.0..=1e6).contains(window)) {
        return Err(format!("{file}: initialWindow is {window}, not a number from 1 to 1000000"));
    }
    let identity = format!("javascript {} {}", class.name, blake3::hash(code.as_bytes()).to_hex());
    Ok(Arc::new(ScriptFactory { file: file.to_string(), class, needs, identity, loaded: Mutex::new(loaded) }))
}

/// A program in JavaScript does not begin with an element.
fn is_page(text: &str) -> bool {
    text.trim_start().starts_with('<')
}

/// The program of the class in a page that was saved from the laboratory.
fn code_of_page(text: &str, file: &str) -> Result<String, String> {
    #[derive(Deserialize)]
    struct Shared {
        controller: Option<Code>,
    }
    #[derive(Deserialize)]
    struct Code {
        code: String,
    }
    let mark = "id=\"ackclock-scenario\">";
    let content = text.split_once(mark).and_then(|(_, rest)| rest.split_once("</script>"));
    let shared = content.and_then(|(json, _)| serde_json::from_str::<Shared>(json).ok());
    let controller = shared.and_then(|shared| shared.controller);
    controller.map(|controller| controller.code).ok_or_else(|| {
        format!(
            "{file} holds no controller: in the page, write one and choose its flows before Share saves it"
        )
    })
}

impl ExternalFactory for ScriptFactory {
    fn name(&self) -> &str {
        &self.class.name
    }
    fn probes(&self) -> &[String] {
        &self.class.probes
    }
    fn needs(&self) -> Signals {
        self.needs
    }
    fn initial_window(&self) -> Option<Segments> {
        self.class.initial_window
    }
    fn make(&self, flow: &FlowInfo) -> AnyController {
        let failed = |what: Failure| CachedExternal::failed(self.class.name.clone(), self.needs, what).into();
        let copied = self.loaded.lock().map_err(|_| "the interpreter failed".to_string());
        let loaded = match copied.and_then(|mut loaded| loaded.copy()) {
            Ok(loaded) => loaded,
            Err(message) => return failed(failure(format!("{}: {message}", self.file))),
        };
        let mut controller = ScriptController {
            file: self.file.clone(),
            class: self.class.clone(),
            needs: self.needs,
            loaded: RefCell::new(loaded),
            probes: vec![f64::NAN; self.class.probes.len()],
            passed: std::array::from_fn(|method| {
                self.class.methods.iter().any(|name| name == Event::METHODS[method].name)
            }),
        };
        let first = controller.pass(NumberLayout::NEW, "the constructor", NumberLayout::of_flow(flow));
        CachedExternal::new(Box::new(controller), first).into()
    }
}

fn failure(message: String) -> Failure {
    Failure::new(message, Arc::new(()))
}

/// One controller of a flow, in an interpreter of its own.
#[derive(Debug)]
struct ScriptController {
    file: String,
    class: Class,
    needs: Signals,
    loaded: RefCell<Loaded>,
    probes: Vec<f64>,
    /// Whether an event is passed.
    passed: [bool; Event::METHODS.len()],
}

impl ScriptController {
    /// Passes a call to the object, and reads its answers and internal values.
    fn pass(&mut self, kind: usize, method: &str, mut record: NumberRecord) -> Result<Decision, Failure> {
        let passed = self.loaded.get_mut().pass(kind, &mut record);
        passed.map_err(|trap| {
            failure(match trap {
                Trap::Fuel(_) => trap.message(method, &self.file),
                Trap::Other(what) => format!("{method} of {}: {}", self.file, one_line(&what)),
            })
        })?;
        self.probes
            .iter_mut()
            .zip(&record[NumberLayout::FIRST_PROBE..])
            .for_each(|(probe, value)| *probe = *value);
        NumberLayout::decision(&record, self.needs).map_err(failure)
    }
}

impl ExternalController for ScriptController {
    fn name(&self) -> &str {
        &self.class.name
    }
    fn needs(&self) -> Signals {
        self.needs
    }
    fn on_event(&mut self, event: Event<'_>, decision: &mut Decision) -> Result<(), Failure> {
        if !self.passed[event.index()] {
            return Ok(());
        }
        let (kind, record) = NumberLayout::of_event(&event);
        *decision = self.pass(kind, Event::METHODS[event.index()].name, record)?;
        Ok(())
    }
    fn probe(&self, out: &mut [f64]) {
        out.iter_mut().zip(&self.probes).for_each(|(out, probe)| *out = *probe);
    }
    fn fork(&self) -> Result<Box<dyn ExternalController>, Failure> {
        let loaded = self.loaded.borrow_mut().copy().map_err(failure)?;
        Ok(Box::new(ScriptController {
            file: self.file.clone(),
            class: self.class.clone(),
            needs: self.needs,
            loaded: RefCell::new(loaded),
            probes: self.probes.clone(),
            passed: self.passed,
        }))
    }
}
