//! The machine that runs modules here: wasmi, with bounded time and memory, without imports, and with one NaN.

use crate::controller::Named;
use crate::names::one_line;
use crate::wasm::{self, FUEL_BEFORE, MEMORY, MOST_BYTES, MOST_MEMORY, Machine, Module, Trap, Value};
use cc::ParamValue;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use wasmi::errors::{MemoryError, TableError};
use wasmi::{
    Config, EnforcedLimits, Engine, Error, ExternType, Func, FuncType, Global, Linker, Memory, Mutability,
    ResourceLimiter, Store, TrapCode, TypedFunc, Val, ValType,
};
use wasmi_core::LimiterError;

/// Most entries of a table.
const MOST_ENTRIES: usize = 10_000;
/// Most bytes of the memory of all instances of a controller that is loaded once, that is of one table of a run.
const MOST_IN_ALL: u64 = 2 << 30;
/// Most bytes of the memory of all instances of a process; with more of it a run fails.
const MOST_IN_PROCESS: u64 = 8 << 30;

/// Loads the controller `name` of a module, or its first one, and checks its parameters. `file` is its name in messages. Fails with
/// a message of one line.
pub fn load_module(
    content: &[u8],
    file: &str,
    name: Option<&str>,
    parameters: &[(String, ParamValue)],
) -> Result<Named, String> {
    let hash = blake3::hash(content);
    wasm::load(Arc::new(compiled(content, file, hash)?), file, &hash.to_hex(), name, parameters)
}

/// What a module has, for its author.
#[derive(Clone, Debug)]
pub struct ModuleFacts {
    /// The names of its exported functions.
    pub functions: Vec<String>,
    /// Bytes of its memory at the start.
    pub memory: u64,
    /// Whether it looks at the bits of numbers: those of NaN differ between machines.
    pub reads_bits: bool,
}

/// What the module of a file has. Runs nothing of it. Fails with a message of one line.
pub fn module_facts(content: &[u8], file: &str) -> Result<ModuleFacts, String> {
    let module = compiled(content, file, blake3::hash(content))?;
    let memory = module.0.memory_pages * 65_536;
    Ok(ModuleFacts { functions: module.0.functions.clone(), memory, reads_bits: reads_bits(content) })
}

/// The module of a content, compiled once as long as it is used.
fn compiled(content: &[u8], file: &str, hash: blake3::Hash) -> Result<Compiled, String> {
    static COMPILED: Mutex<Option<BTreeMap<[u8; 32], Compiled>>> = Mutex::new(None);
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let compiled = compiled.get_or_insert_default();
    if let Some(Compiled(parts, _)) = compiled.get(hash.as_bytes()) {
        return Ok(Compiled(parts.clone(), Arc::default()));
    }
    let module = Compiled::new(content, file)?;
    if compiled.len() >= 64 {
        compiled.clear();
    }
    compiled.insert(*hash.as_bytes(), module.clone());
    Ok(module)
}

/// The engine of all modules.
fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| {
        let mut config = Config::default();
        config
            .consume_fuel(true)
            .enforced_limits(EnforcedLimits::strict())
            .ignore_custom_sections(true)
            .wasm_multi_memory(false)
            .wasm_tail_call(false)
            .wasm_custom_page_sizes(false)
            .wasm_wide_arithmetic(false);
        Engine::new(&config)
    })
}

/// A module that is compiled.
#[derive(Clone)]
pub(crate) struct Compiled(Arc<Parts>, Arc<AtomicU64>);

/// What it consists of.
struct Parts {
    engine: &'static Engine,
    /// What it imports; nothing, if it is a controller.
    imports: fn(&mut Linker<Limits>) -> Result<(), Error>,
    module: wasmi::Module,
    functions: Vec<String>,
    /// Those whose type is not that of a function of this name in `ackclock.h`.
    mistyped: Vec<String>,
    memory_pages: u64,
    /// Why an instance cannot be copied.
    hidden: Option<String>,
    /// The names of the exported globals that change.
    globals: Vec<String>,
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "module of {} functions", self.0.functions.len())
    }
}

impl Compiled {
    /// Compiles a module, and checks that it has no imports and is within the limits. Fails with a message of one line.
    fn new(content: &[u8], file: &str) -> Result<Compiled, String> {
        if !content.starts_with(b"\0asm") {
            return Err(format!("{file} is not a WebAssembly module: magic header not detected"));
        }
        if content.len() > MOST_BYTES {
            return Err(format!("{file} has {} bytes; at most {MOST_BYTES} are possible", content.len()));
        }
        let module = wasmi::Module::new(engine(), content).map_err(|error| {
            format!("{file} is not a WebAssembly module that can run here: {}", one_line(&error.to_string()))
        })?;
        if let Some(import) = module.imports().next() {
            let name = one_line(&format!("{}.{}", import.module(), import.name()));
            return Err(format!(
                "{file} imports {name}: build it without the standard library (docs/native-controllers.md)"
            ));
        }
        let (mut functions, mut mistyped) = (Vec::new(), Vec::new());
        let mut globals = Vec::new();
        let mut memory = None;
        for export in module.exports() {
            match export.ty() {
                ExternType::Func(of) => {
                    if !has_type(export.name(), of) {
                        mistyped.push(export.name().to_string());
                    }
                    functions.push(export.name().to_string());
                }
                ExternType::Memory(of) if export.name() == MEMORY => memory = Some(of.minimum()),
                ExternType::Global(of) if of.mutability() == Mutability::Var => {
                    globals.push(export.name().to_string())
                }
                _ => {}
            }
        }
        let Some(memory_pages) = memory else {
            return Err(format!("{file} does not export its memory as \"{MEMORY}\""));
        };
        if memory_pages.saturating_mul(65_536) > MOST_MEMORY {
            let asked = memory_pages.div_ceil(16);
            return Err(format!(
                "{file} asks for {asked} MiB; at most {} MiB are possible",
                MOST_MEMORY >> 20
            ));
        }
        let hidden = hidden_globals(content).filter(|count| *count > 0);
        let hidden =
            hidden.map(|count| format!("{file} has {count} globals that change and are not exported"));
        let (engine, imports) = (engine(), nothing as fn(&mut _) -> _);
        Ok(Compiled(
            Arc::new(Parts { engine, imports, module, functions, mistyped, memory_pages, hidden, globals }),
            Arc::default(),
        ))
    }

    /// Compiles a module of this program, with what it imports. Fails with a message.
    pub(crate) fn trusted(
        engine: &'static Engine,
        content: &[u8],
        imports: fn(&mut Linker<Limits>) -> Result<(), Error>,
    ) -> Result<Compiled, String> {
        let module = wasmi::Module::new(engine, content).map_err(|error| one_line(&error.to_string()))?;
        let named = |wanted: fn(&ExternType) -> bool| {
            module
                .exports()
                .filter(move |export| wanted(export.ty()))
                .map(|export| export.name().to_string())
                .collect()
        };
        let functions = named(|of| matches!(of, ExternType::Func(_)));
        let globals = named(|of| matches!(of, ExternType::Global(of) if of.mutability() == Mutability::Var));
        let hidden = hidden_globals(content).filter(|count| *count > 0);
        let hidden = hidden.map(|count| format!("{count} globals that change and are not exported"));
        Ok(Compiled(
            Arc::new(Parts {
                engine,
                imports,
                module,
                functions,
                mistyped: Vec::new(),
                memory_pages: 0,
                hidden,
                globals,
            }),
            Arc::default(),
        ))
    }
}

/// Whether a function with the name of one of a controller has the type that `ackclock.h` gives it. Others may have any type.
fn has_type(name: &str, of: &FuncType) -> bool {
    use ValType::{F64, I32, I64};
    let ends = |function: &str| name.strip_suffix(function).is_some_and(|rest| rest.ends_with('_'));
    let event = || cc::Event::METHODS.iter().find(|method| ends(method.name));
    let (parameters, results): (&[ValType], &[ValType]) = match name {
        crate::names::function::CONTROLLERS => (&[], &[I32]),
        "_initialize" => (&[], &[]),
        _ if ends("describe") => (&[], &[I32]),
        _ if ends("state_size") => (&[], &[I64]),
        _ if ends("open") && !ends("on_open") => (&[I32, I32, I32, I32], &[I32]),
        _ if ends("probe") => (&[I32, I32], &[]),
        _ if ends("error") => (&[I32], &[I32]),
        _ => match event() {
            None => return true,
            Some(method) if !method.class.is_empty() => (&[I32, I32, I32], &[I32]),
            Some(method) if method.fields[0].kind == cc::ValueKind::Time => (&[I32, I64, I32], &[I32]),
            Some(_) => (&[I32, F64, I32], &[I32]),
        },
    };
    of.params() == parameters && of.results() == results
}

/// The number of globals that change, are not exported, and are not the stack pointer, which is the first one of type i32.
fn hidden_globals(content: &[u8]) -> Option<usize> {
    use wasmparser::{ExternalKind, Parser, Payload};
    let mut changing: Vec<(u32, bool)> = Vec::new();
    let mut exported = Vec::new();
    for payload in Parser::new(0).parse_all(content) {
        match payload.ok()? {
            Payload::GlobalSection(globals) => {
                for (index, global) in (0..).zip(globals) {
                    let of = global.ok()?.ty;
                    changing
                        .extend(of.mutable.then_some((index, of.content_type == wasmparser::ValType::I32)));
                }
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export.ok()?;
                    exported.extend((export.kind == ExternalKind::Global).then_some(export.index));
                }
            }
            _ => {}
        }
    }
    let pointer = changing.iter().find(|(_, is_whole)| *is_whole).map(|(index, _)| *index);
    let hidden = |(index, _): &&(u32, bool)| Some(*index) != pointer && !exported.contains(index);
    Some(changing.iter().filter(hidden).count())
}

/// Whether code of a module looks at the bits of numbers.
fn reads_bits(content: &[u8]) -> bool {
    use wasmparser::{Operator, Parser, Payload};
    let mut bodies = Parser::new(0).parse_all(content).filter_map(|payload| match payload {
        Ok(Payload::CodeSectionEntry(body)) => body.get_operators_reader().ok(),
        _ => None,
    });
    bodies.any(|operators| {
        operators
            .into_iter()
            .any(|operator| matches!(operator, Ok(Operator::I64ReinterpretF64 | Operator::I32ReinterpretF32)))
    })
}

impl Module for Compiled {
    fn functions(&self) -> &[String] {
        &self.0.functions
    }
    fn is_mistyped(&self, function: &str) -> bool {
        self.0.mistyped.iter().any(|name| name == function)
    }
    fn start(&self) -> Result<Box<dyn Machine>, Trap> {
        let mut instance = self.instance()?;
        if let Some(place) = self.0.functions.iter().position(|name| name == "_initialize") {
            instance.call(place, &[], FUEL_BEFORE)?;
        }
        Ok(Box::new(instance))
    }
}

impl Compiled {
    fn instance(&self) -> Result<Instance, Trap> {
        let mut store = Store::new(self.0.engine, Limits { bytes: 0, of_module: self.1.clone() });
        store.limiter(|limits| limits);
        store.set_fuel(FUEL_BEFORE).map_err(|error| trap(&error, FUEL_BEFORE))?;
        let mut linker = Linker::new(self.0.engine);
        (self.0.imports)(&mut linker).map_err(|error| trap(&error, FUEL_BEFORE))?;
        let made = linker.instantiate_and_start(&mut store, &self.0.module);
        let instance = made.map_err(|error| trap(&error, FUEL_BEFORE))?;
        let memory = instance.get_memory(&store, MEMORY).ok_or("no memory")?;
        let function = |name: &String| {
            let function = instance.get_func(&store, name).ok_or("a function is missing")?;
            Ok(Function::new(function, &store))
        };
        let functions = self.0.functions.iter().map(function).collect::<Result<_, Trap>>()?;
        let global = |name: &String| instance.get_global(&store, name).ok_or("a global is missing".into());
        let globals = self.0.globals.iter().map(global).collect::<Result<_, Trap>>()?;
        Ok(Instance { store, memory, functions, globals, module: self.clone() })
    }
}

/// A controller imports nothing.
fn nothing(_: &mut Linker<Limits>) -> Result<(), Error> {
    Ok(())
}

/// The limits of one instance, and its part of the memory of all.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    bytes: u64,
    /// Bytes of the instances of the same module.
    of_module: Arc<AtomicU64>,
}

/// Bytes of the memory of all instances.
static IN_ALL: AtomicU64 = AtomicU64::new(0);

impl Drop for Limits {
    fn drop(&mut self) {
        IN_ALL.fetch_sub(self.bytes, Ordering::Relaxed);
        self.of_module.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl ResourceLimiter for Limits {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _: Option<usize>,
    ) -> Result<bool, LimiterError> {
        let more = desired.saturating_sub(current) as u64;
        // The room for what passes is not the module's.
        if desired as u64 > MOST_MEMORY + (2 << 20) {
            return Ok(false);
        }
        let add = |to: &AtomicU64, most| {
            to.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |all| {
                Some(all + more).filter(|all| *all <= most)
            })
        };
        if add(&self.of_module, MOST_IN_ALL).is_err() {
            return Ok(false);
        }
        // What other runs of the process have is no answer to a module: the run fails.
        if add(&IN_ALL, MOST_IN_PROCESS).is_err() {
            self.of_module.fetch_sub(more, Ordering::Relaxed);
            return Err(LimiterError::ResourceLimiterDeniedAllocation);
        }
        self.bytes += more;
        Ok(true)
    }
    fn memory_grow_failed(&mut self, _: &MemoryError) -> Result<(), LimiterError> {
        Ok(())
    }
    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> Result<bool, LimiterError> {
        Ok(desired <= MOST_ENTRIES)
    }
    fn table_grow_failed(&mut self, _: &TableError) -> Result<(), LimiterError> {
        Ok(())
    }
    fn instances(&self) -> usize {
        1
    }
    fn tables(&self) -> usize {
        1
    }
    fn memories(&self) -> usize {
        1
    }
}

/// A function, with a faster way to call it where its type is that of an event.
enum Function {
    Struct(TypedFunc<(i32, i32, i32), i32>),
    Time(TypedFunc<(i32, i64, i32), i32>),
    Number(TypedFunc<(i32, f64, i32), i32>),
    Other(Func),
}

impl Function {
    fn new(function: Func, store: &Store<Limits>) -> Function {
        let of_struct = || function.typed(store).ok().map(Function::Struct);
        let of_time = || function.typed(store).ok().map(Function::Time);
        let of_number = || function.typed(store).ok().map(Function::Number);
        of_struct().or_else(of_time).or_else(of_number).unwrap_or(Function::Other(function))
    }
}

/// An instance of a module.
struct Instance {
    store: Store<Limits>,
    memory: Memory,
    functions: Vec<Function>,
    globals: Vec<Global>,
    module: Compiled,
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instance of a {:?}", self.module)
    }
}

impl Machine for Instance {
    fn call(&mut self, function: usize, arguments: &[Value], fuel: u64) -> Result<i64, Trap> {
        let store = &mut self.store;
        let failed = |error: Error| trap(&error, fuel);
        store.set_fuel(fuel).map_err(failed)?;
        let whole = |address: u32| address.cast_signed();
        match (&self.functions[function], arguments) {
            (Function::Struct(call), [Value::Address(a), Value::Address(b), Value::Address(c)]) => {
                call.call(store, (whole(*a), whole(*b), whole(*c))).map(i64::from).map_err(failed)
            }
            (Function::Time(call), [Value::Address(a), Value::Whole(b), Value::Address(c)]) => {
                call.call(store, (whole(*a), *b, whole(*c))).map(i64::from).map_err(failed)
            }
            (Function::Number(call), [Value::Address(a), Value::Number(b), Value::Address(c)]) => {
                call.call(store, (whole(*a), *b, whole(*c))).map(i64::from).map_err(failed)
            }
            (Function::Other(function), arguments) => {
                let value = |value: &Value| match *value {
                    Value::Address(address) => Val::I32(whole(address)),
                    Value::Whole(number) => Val::I64(number),
                    Value::Number(number) => Val::F64(number.into()),
                };
                let arguments: Vec<Val> = arguments.iter().map(value).collect();
                let count = function.ty(&*store).results().len();
                let mut results = vec![Val::I32(0); count];
                function.call(store, &arguments, &mut results).map_err(failed)?;
                Ok(match results.first() {
                    Some(Val::I32(number)) => i64::from(number.cast_unsigned()),
                    Some(Val::I64(number)) => *number,
                    _ => 0,
                })
            }
            _ => Err("a function has another type than in ackclock.h".into()),
        }
    }
    fn read(&mut self, address: u32, out: &mut [u8]) -> Result<(), Trap> {
        self.memory.read(&self.store, address as usize, out).map_err(|_| OUTSIDE.into())
    }
    fn write(&mut self, address: u32, bytes: &[u8]) -> Result<(), Trap> {
        self.memory.write(&mut self.store, address as usize, bytes).map_err(|_| OUTSIDE.into())
    }
    fn write_all(&mut self, parts: [(u32, &[u8]); 3]) -> Result<(), Trap> {
        let memory = self.memory.data_mut(&mut self.store);
        for (address, bytes) in parts {
            let room = memory.get_mut(address as usize..).and_then(|memory| memory.get_mut(..bytes.len()));
            room.ok_or(OUTSIDE)?.copy_from_slice(bytes);
        }
        Ok(())
    }
    fn read_all(&mut self, parts: [(u32, &mut [u8]); 2]) -> Result<(), Trap> {
        let memory = self.memory.data(&self.store);
        for (address, out) in parts {
            let bytes = memory.get(address as usize..).and_then(|memory| memory.get(..out.len()));
            out.copy_from_slice(bytes.ok_or(OUTSIDE)?);
        }
        Ok(())
    }
    fn grow(&mut self, pages: u32) -> Result<u32, Trap> {
        let before = self.memory.grow(&mut self.store, pages.into());
        let before = before.map_err(|_| format!("more than {} MiB of memory in all", MOST_IN_ALL >> 20))?;
        u32::try_from(before * 65_536).map_err(|_| OUTSIDE.into())
    }
    fn copy(&mut self) -> Result<Box<dyn Machine>, String> {
        if let Some(hidden) = &self.module.0.hidden {
            return Err(hidden.clone());
        }
        let text = |trap: Trap| match trap {
            Trap::Other(what) => what,
            Trap::Fuel(_) => "its start does not end".into(),
        };
        let mut copy = self.module.instance().map_err(text)?;
        let more = self.memory.size(&self.store).saturating_sub(copy.memory.size(&copy.store));
        copy.grow(more as u32).map_err(text)?;
        let from = self.memory.data(&self.store);
        let to = copy.memory.data_mut(&mut copy.store);
        if to.len() != from.len() {
            return Err("its memory at the start differs from time to time".into());
        }
        to.copy_from_slice(from);
        for (to, from) in copy.globals.iter().zip(&self.globals) {
            let value = from.get(&self.store);
            to.set(&mut copy.store, value).map_err(|error| one_line(&error.to_string()))?;
        }
        Ok(Box::new(copy))
    }
}

const OUTSIDE: &str = "out of bounds memory access";

/// What stopped a call with this fuel.
fn trap(error: &Error, fuel: u64) -> Trap {
    match error.as_trap_code() {
        Some(TrapCode::OutOfFuel) => Trap::Fuel(fuel),
        Some(TrapCode::UnreachableCodeReached) => "unreachable".into(),
        Some(TrapCode::MemoryOutOfBounds) => OUTSIDE.into(),
        Some(TrapCode::IntegerDivisionByZero) => "integer divide by zero".into(),
        Some(TrapCode::StackOverflow) => "call stack exhausted".into(),
        _ => Trap::Other(one_line(&error.to_string())),
    }
}
