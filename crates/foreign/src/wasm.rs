//! Controllers in WebAssembly, on any machine that runs modules: the interpreter of this crate, or a browser.

use crate::controller::{DecisionRecord, EventArgument, Factory, FlowState, Named, RECORD};
use crate::describe::{Declaration, Description, Shape, State};
use crate::names::{choose, function, needed, of_file};
use crate::{MOST_STATE, MOST_TEXT};
use cc::{Answer, Event, ParamValue};
use std::cell::RefCell;
use std::fmt::{self, Debug};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use crate::controller::Trap;

/// Most bytes of a module.
pub const MOST_BYTES: usize = 4 << 20;
/// Most bytes of the memory of an instance.
pub const MOST_MEMORY: u64 = 16 << 20;
/// Most instructions of a call.
pub const FUEL: u64 = 50_000_000;
/// Most instructions of the calls before a run: the start of an instance, and `describe`.
pub const FUEL_BEFORE: u64 = 500_000_000;
/// Most instances of a module that keeps state outside the block, at a time: each flow has its own.
pub const MOST_INSTANCES: u64 = 10_000;
/// Bytes of a page of memory.
const PAGE: u32 = 65_536;
/// The name under which a module exports its memory.
pub const MEMORY: &str = "memory";

/// An argument of a function.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// An address.
    Address(u32),
    /// A whole number of eight bytes.
    Whole(i64),
    /// A double.
    Number(f64),
}

/// A module that is compiled and permitted: it has no imports, and its memory and tables are within the limits.
pub trait Module: Debug + Send + Sync {
    /// The names of its exported functions.
    fn functions(&self) -> &[String];
    /// Whether a function has another type than `ackclock.h` gives one of its name.
    fn is_mistyped(&self, _function: &str) -> bool {
        false
    }
    /// A new instance, whose `_initialize` was called.
    fn start(&self) -> Result<Box<dyn Machine>, Trap>;
}

/// An instance of a module.
pub trait Machine: Debug + Send {
    /// Calls the function with this place in [`Module::functions`], with at most `fuel` instructions. Returns its result, 0 if it
    /// has none.
    fn call(&mut self, function: usize, arguments: &[Value], fuel: u64) -> Result<i64, Trap>;
    /// Copies bytes of its memory.
    fn read(&mut self, address: u32, out: &mut [u8]) -> Result<(), Trap>;
    /// Copies bytes into its memory.
    fn write(&mut self, address: u32, bytes: &[u8]) -> Result<(), Trap>;
    /// Copies bytes to several addresses of its memory.
    fn write_all(&mut self, parts: [(u32, &[u8]); 3]) -> Result<(), Trap> {
        parts.into_iter().try_for_each(|(address, bytes)| self.write(address, bytes))
    }
    /// Copies bytes of several addresses of its memory.
    fn read_all(&mut self, parts: [(u32, &mut [u8]); 2]) -> Result<(), Trap> {
        parts.into_iter().try_for_each(|(address, out)| self.read(address, out))
    }
    /// Adds pages to its memory. Returns their address.
    fn grow(&mut self, pages: u32) -> Result<u32, Trap>;
    /// A second instance in the state of this one. Fails with the reason.
    fn copy(&mut self) -> Result<Box<dyn Machine>, String>;
}

/// Places of the functions of a controller in the list of its module.
#[derive(Debug)]
struct Places {
    open: usize,
    events: [Option<usize>; Event::METHODS.len()],
    probe: Option<usize>,
    error: Option<usize>,
}

/// What the controllers of all flows share.
struct Shared {
    module: Arc<dyn Module>,
    places: Places,
    state_size: usize,
    /// Different for each content and name.
    number: u64,
    /// Instances of their own that are there now.
    instances: Arc<AtomicU64>,
}

impl Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "module {}", self.number)
    }
}

/// An instance with the room in it for what passes: the answers, the struct of an event, the state of a flow.
#[derive(Debug)]
struct Running {
    machine: Box<dyn Machine>,
    /// Address of the room.
    room: u32,
}

/// Offsets in the room.
const DECISION: u32 = 0;
const STRUCT: u32 = DECISION + 8 * (1 + Answer::ALL.len() as u32);
/// After a struct and its parameters, at a multiple of 16.
const STATE: u32 = (STRUCT + 2 * 8 * RECORD as u32).next_multiple_of(16);

impl Shared {
    fn start(&self) -> Result<Running, Trap> {
        let mut machine = self.module.start()?;
        let pages = (STATE + self.state_size as u32).div_ceil(PAGE);
        // After `_initialize`, and above all memory that the module knows, so that nothing else uses it.
        let room = machine.grow(pages)?;
        Ok(Running { machine, room })
    }
}

/// The state of a flow.
enum FlowModule {
    /// In these bytes; whichever thread has a call runs it on its instance of the module.
    Block { shared: Arc<Shared>, state: Vec<u8> },
    /// In an instance of its own.
    Instance { shared: Arc<Shared>, running: RefCell<Running>, _count: Counted },
}

impl Debug for FlowModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FlowModule::Block { state, .. } => write!(f, "{} bytes", state.len()),
            FlowModule::Instance { running, .. } => write!(f, "{running:?}"),
        }
    }
}

/// One of the instances that are counted.
struct Counted(Arc<AtomicU64>);

impl Counted {
    fn new(instances: &Arc<AtomicU64>) -> Result<Counted, Trap> {
        let counted = Counted(instances.clone());
        if instances.fetch_add(1, Ordering::Relaxed) >= MOST_INSTANCES {
            return Err(Trap::Other(format!("more than {MOST_INSTANCES} instances (state = \"instance\")")));
        }
        Ok(counted)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

thread_local! {
    /// The instances of this thread, the last used one first.
    static RUNNING: RefCell<Vec<(u64, Running)>> = const { RefCell::new(Vec::new()) };
}
/// Most instances that a thread keeps.
const KEPT: usize = 8;

/// Calls `with` with this thread's instance of a module. After a trap, the instance is dropped: where it stopped is part of no state.
fn on_thread<T>(shared: &Shared, with: impl FnOnce(&mut Running) -> Result<T, Trap>) -> Result<T, Trap> {
    RUNNING.with_borrow_mut(|running| {
        if running.first().is_none_or(|(number, _)| *number != shared.number) {
            match running.iter().position(|(number, _)| *number == shared.number) {
                Some(place) => running[..=place].rotate_right(1),
                None => {
                    running.truncate(KEPT - 1);
                    running.insert(0, (shared.number, shared.start()?));
                }
            }
        }
        let result = with(&mut running[0].1);
        if result.is_err() {
            running.remove(0);
        }
        result
    })
}

/// Loads the controller `name` of a module, or its first one, and checks its parameters. `hash` names its content. Fails with a
/// message of one line.
pub fn load(
    module: Arc<dyn Module>,
    file: &str,
    hash: &str,
    name: Option<&str>,
    parameters: &[(String, ParamValue)],
) -> Result<Named, String> {
    let place = |function: &str| module.functions().iter().position(|exported| exported == function);
    let mut machine = module.start().map_err(|trap| trap.message("the start", file))?;
    let mut text = |function: &str| -> Result<Option<String>, String> {
        let Some(place) = place(function) else { return Ok(None) };
        let text = machine.call(place, &[], FUEL_BEFORE).and_then(|at| text_at(&mut *machine, at));
        text.map(Some).map_err(|trap| trap.message(function, file))
    };
    let list = text(function::CONTROLLERS)?;
    let name = choose(file, name, list, |name| place(&format!("{name}_{}", function::DESCRIBE)).is_some())?;
    let described = text(&format!("{name}_{}", function::DESCRIBE))?.unwrap_or_default();
    let description = Description::read(&described).map_err(|message| of_file(file, &message))?;
    let own = |function: &str| place(&format!("{name}_{function}"));
    let functions =
        [function::DESCRIBE, function::STATE_SIZE, function::OPEN, function::PROBE, function::ERROR];
    for function in functions.into_iter().chain(Event::METHODS.iter().map(|method| method.name)) {
        if module.is_mistyped(&format!("{name}_{function}")) {
            return Err(format!(
                "{file}: the function {name}_{function} has another type than in ackclock.h"
            ));
        }
    }
    let required = |function: &str| {
        own(function).ok_or_else(|| format!("{file}: controller {name} has no {name}_{function}"))
    };
    let mut events = [None; Event::METHODS.len()];
    for (event, method) in events.iter_mut().zip(Event::METHODS) {
        *event = if needed(method) { Some(required(method.name)?) } else { own(method.name) };
    }
    let places = Places {
        open: required(function::OPEN)?,
        events,
        probe: own(function::PROBE),
        error: own(function::ERROR),
    };
    if places.probe.is_none() && !description.probes.is_empty() {
        return Err(format!(
            "{file}: controller {name} has no {name}_{}, but names in probes",
            function::PROBE
        ));
    }
    let size = machine.call(required(function::STATE_SIZE)?, &[], FUEL_BEFORE);
    let size = size.map_err(|trap| trap.message(function::STATE_SIZE, file))?.cast_unsigned();
    if size > MOST_STATE {
        return Err(format!("{file}: a state of {size} bytes; at most {MOST_STATE} are possible"));
    }
    let state_size = size as usize;
    let declaration = Arc::new(Declaration {
        parameters: description.numbers(&name, parameters)?,
        identity: format!("wasm {name} {hash}"),
        state_size,
        defined: std::array::from_fn(|method| Shape::of(method, events[method].is_some())),
        file: file.to_string(),
        description,
        name,
    });
    // Controllers of equal code share the instances of a thread.
    let key = blake3::hash(format!("{hash} {}", declaration.name).as_bytes());
    let number = u64::from_le_bytes(key.as_bytes()[..8].try_into().unwrap_or_default());
    let instances = Arc::default();
    let shared = Arc::new(Shared { module, places, state_size, number, instances });
    let kind = declaration.description.state;
    let state = Box::new(move || match kind {
        State::Block => Ok(FlowModule::Block { shared: shared.clone(), state: vec![0; shared.state_size] }),
        State::Instance => {
            let _count = Counted::new(&shared.instances)?;
            let running = RefCell::new(shared.start()?);
            Ok(FlowModule::Instance { shared: shared.clone(), running, _count })
        }
    });
    Ok(Named { factory: Arc::new(Factory { declaration: declaration.clone(), state }), declaration })
}

/// The text at an address, which ends with a zero byte.
pub(crate) fn text_at(machine: &mut dyn Machine, address: i64) -> Result<String, Trap> {
    let mut text = Vec::new();
    let mut address = u32::try_from(address).map_err(|_| "its text is not in its memory")?;
    while text.len() <= MOST_TEXT {
        // To the end of a line of 64 bytes, so that nothing is read beyond the end of memory.
        let mut part = [0; 64];
        let part = &mut part[..64 - (address % 64) as usize];
        machine.read(address, part)?;
        if let Some(end) = part.iter().position(|byte| *byte == 0) {
            text.extend_from_slice(&part[..end]);
            return String::from_utf8(text).map_err(|_| "its text is not UTF-8".into());
        }
        text.extend_from_slice(part);
        address = address.checked_add(part.len() as u32).ok_or("its text has no end")?;
    }
    Err(Trap::Other(format!("its text has no end within {MOST_TEXT} bytes")))
}

impl FlowModule {
    /// Calls a function on the state with the answers, which it changes.
    fn call(
        &mut self,
        function: usize,
        argument: EventArgument<'_>,
        parameters: Option<&[f64]>,
        decision: &mut DecisionRecord,
    ) -> Result<(), Trap> {
        match self {
            FlowModule::Block { shared, state } => on_thread(shared, |running| {
                running.pass(shared, function, argument, parameters, decision, state)
            }),
            FlowModule::Instance { shared, running, .. } => {
                running.get_mut().pass(shared, function, argument, parameters, decision, &mut [])
            }
        }
    }
}

impl Running {
    /// Calls a function on the state in the room; of a block it is `state`.
    fn pass(
        &mut self,
        shared: &Shared,
        function: usize,
        argument: EventArgument<'_>,
        parameters: Option<&[f64]>,
        decision: &mut DecisionRecord,
        state: &mut [u8],
    ) -> Result<(), Trap> {
        let Running { machine, room } = self;
        let (at_state, at_decision, at_struct) = (*room + STATE, *room + DECISION, *room + STRUCT);
        let (passed, words) = match argument {
            EventArgument::Struct(words) => (Value::Address(at_struct), words),
            EventArgument::Time(now) => (Value::Whole(now), &[][..]),
            EventArgument::Number(number) => (Value::Number(number), &[][..]),
        };
        let decision = bytemuck::cast_slice_mut(&mut decision[..]);
        machine.write_all([
            (at_decision, decision),
            (at_struct, bytemuck::cast_slice(words)),
            (at_state, state),
        ])?;
        let (state_value, answers) = (Value::Address(at_state), Value::Address(at_decision));
        let returned = match parameters {
            None => machine.call(function, &[state_value, passed, answers], FUEL)?,
            Some(parameters) => {
                let at = at_struct + 8 * RECORD as u32;
                machine.write(at, bytemuck::cast_slice(parameters))?;
                machine.call(function, &[state_value, passed, Value::Address(at), answers], FUEL)?
            }
        };
        let returned = returned as i32;
        if returned != 0 {
            let reason = shared.places.error.and_then(|error| {
                let at = machine.call(error, &[state_value], FUEL).ok()?;
                text_at(&mut **machine, at).ok()
            });
            return Err(Trap::Other(reason.unwrap_or_else(|| format!("returned {returned}"))));
        }
        machine.read_all([(at_decision, decision), (at_state, state)])
    }

    /// The internal values of the state in the room.
    fn probe(&mut self, place: usize, out: &mut [f64]) -> Result<(), Trap> {
        let (state, values) = (self.room + STATE, self.room + STRUCT);
        self.machine.call(place, &[Value::Address(state), Value::Address(values)], FUEL)?;
        self.machine.read(values, bytemuck::cast_slice_mut(out))
    }
}

impl FlowState for FlowModule {
    fn open(&mut self, flow: &[u64], parameters: &[f64], decision: &mut DecisionRecord) -> Result<(), Trap> {
        let open = self.shared().places.open;
        self.call(open, EventArgument::Struct(flow), Some(parameters), decision)
    }
    fn event(
        &mut self,
        method: usize,
        argument: EventArgument<'_>,
        decision: &mut DecisionRecord,
    ) -> Result<(), Trap> {
        let Some(function) = self.shared().places.events[method] else { return Ok(()) };
        self.call(function, argument, None, decision)
    }
    fn probe(&self, out: &mut [f64]) {
        let Some(probe) = self.shared().places.probe else { return };
        let written = match self {
            FlowModule::Block { shared, state } => on_thread(shared, |running| {
                running.machine.write(running.room + STATE, state)?;
                running.probe(probe, out)
            }),
            FlowModule::Instance { running, .. } => running.borrow_mut().probe(probe, out),
        };
        if written.is_err() {
            out.fill(f64::NAN);
        }
    }
    fn fork(&self) -> Result<FlowModule, String> {
        Ok(match self {
            FlowModule::Block { shared, state } => {
                FlowModule::Block { shared: shared.clone(), state: state.clone() }
            }
            FlowModule::Instance { shared, running, .. } => {
                let _count = Counted::new(&shared.instances).map_err(|trap| match trap {
                    Trap::Other(what) => what,
                    Trap::Fuel(_) => String::new(),
                })?;
                let mut running = running.borrow_mut();
                let (machine, room) = (running.machine.copy()?, running.room);
                FlowModule::Instance {
                    shared: shared.clone(),
                    running: RefCell::new(Running { machine, room }),
                    _count,
                }
            }
        })
    }
}

impl FlowModule {
    fn shared(&self) -> &Arc<Shared> {
        match self {
            FlowModule::Block { shared, .. } | FlowModule::Instance { shared, .. } => shared,
        }
    }
}
