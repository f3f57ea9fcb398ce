//! One controller of a flow: its state and the record of its answers, whatever runs its functions.

use crate::describe::{Declaration, Shape};
use crate::names::{function, one_line};
use cc::{
    Answer, AnyController, Argument, CachedExternal, Decision, Event, ExternalController, ExternalFactory,
};
use cc::{Failure, FlowInfo, Signals, ValueKind};
use std::fmt::{self, Debug};
use std::sync::Arc;
use units::Segments;

/// Answers of a controller.
const ANSWERS: usize = Answer::ALL.len();
/// `ackclock_decision`: its size, then the answers.
pub(crate) type DecisionRecord = [u64; 1 + ANSWERS];
/// A struct of an event: its size, then its fields.
pub(crate) const RECORD: usize = 64;
const _: () = {
    assert!(FlowInfo::FIELDS.len() < RECORD);
    let mut at = 0;
    while at < Event::METHODS.len() {
        assert!(Event::METHODS[at].fields.len() < RECORD);
        at += 1;
    }
};

/// The second argument of an event's function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EventArgument<'a> {
    /// A pointer to this struct.
    Struct(&'a [u64]),
    /// Picoseconds.
    Time(i64),
    /// Segments.
    Number(f64),
}

/// Why a function of a controller did not end well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trap {
    /// It used this many instructions.
    Fuel(u64),
    /// What happened.
    Other(String),
}

impl Trap {
    /// The message on a function of a file.
    pub(crate) fn message(&self, function: &str, file: &str) -> String {
        match self {
            Trap::Fuel(limit) => {
                format!("{function} of {file} did not end within {} instructions", grouped(*limit))
            }
            Trap::Other(what) => format!("{function} of {file}: {}", one_line(what)),
        }
    }
}

impl<T: Into<String>> From<T> for Trap {
    fn from(what: T) -> Trap {
        Trap::Other(what.into())
    }
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The state of a flow, and what runs the functions on it.
pub(crate) trait FlowState: Debug + Send + Sized + 'static {
    /// Calls `open`.
    fn open(&mut self, flow: &[u64], parameters: &[f64], decision: &mut DecisionRecord) -> Result<(), Trap>;
    /// Calls the function of event method `method`, which is defined.
    fn event(
        &mut self,
        method: usize,
        argument: EventArgument<'_>,
        decision: &mut DecisionRecord,
    ) -> Result<(), Trap>;
    /// Calls `probe`, which exists if there are internal values.
    fn probe(&self, out: &mut [f64]);
    /// A copy of the state. Fails with the reason.
    fn fork(&self) -> Result<Self, String>;
}

/// A controller that is loaded: its declaration, and how the state of a flow is made.
pub(crate) struct Factory<S> {
    pub(crate) declaration: Arc<Declaration>,
    /// What the state of a flow is made of.
    pub(crate) state: Box<dyn Fn() -> Result<S, Trap> + Send + Sync>,
}

/// A controller that is loaded, with what it says of itself.
#[derive(Clone, Debug)]
pub struct Named {
    /// What it says of itself.
    pub declaration: Arc<Declaration>,
    /// Creates it for a flow.
    pub factory: Arc<dyn ExternalFactory>,
}

/// The identity: two factories with equal output give equal runs.
impl<S> Debug for Factory<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.declaration.identity, self.declaration.parameters)
    }
}

impl<S: FlowState> ExternalFactory for Factory<S> {
    fn name(&self) -> &str {
        &self.declaration.name
    }
    fn probes(&self) -> &[String] {
        &self.declaration.description.probes
    }
    fn needs(&self) -> Signals {
        self.declaration.description.needs
    }
    fn initial_window(&self) -> Option<Segments> {
        self.declaration.description.initial_window
    }
    fn make(&self, flow: &FlowInfo) -> AnyController {
        let mut record = Box::new([0; RECORD]);
        record[0] = 8 * (1 + FlowInfo::FIELDS.len() as u64);
        flow.words(&mut record[1..]);
        let first =
            Decision { cwnd: flow.initial_window, ssthresh: flow.initial_ssthresh, ..Decision::default() };
        let mut decision = record_of(&first);
        let opened = (self.state)().and_then(|mut state| {
            let flow = &record[..=FlowInfo::FIELDS.len()];
            state.open(flow, &self.declaration.parameters, &mut decision).map(|()| state)
        });
        let declaration = self.declaration.clone();
        match opened {
            Ok(state) => {
                let mut answers = Decision::default();
                let before = answers.words();
                let mut controller = ForeignController { declaration, state, decision, before, record };
                let read = controller.answered(function::OPEN, &mut answers);
                CachedExternal::new(Box::new(controller), read.map(|()| answers)).into()
            }
            Err(trap) => {
                let failure = failure(trap.message(function::OPEN, &declaration.file));
                CachedExternal::failed(declaration.name.clone(), declaration.description.needs, failure)
                    .into()
            }
        }
    }
}

/// The struct of answers.
fn record_of(answers: &Decision) -> DecisionRecord {
    let mut record = [8 * (1 + ANSWERS as u64); 1 + ANSWERS];
    record[1..].copy_from_slice(&answers.words());
    record
}

/// The answers of their struct.
#[inline]
fn answers_of(record: &DecisionRecord) -> &[u64; ANSWERS] {
    record.last_chunk().unwrap_or_else(|| unreachable!("its size and the answers"))
}

fn failure(message: String) -> Failure {
    Failure::new(message, Arc::new(()))
}

/// One controller of a flow.
#[derive(Debug)]
struct ForeignController<S> {
    declaration: Arc<Declaration>,
    state: S,
    /// The struct of the answers, which the controller changes.
    decision: DecisionRecord,
    /// The answers that were read last.
    before: [u64; ANSWERS],
    /// Room for the struct of an event.
    record: Box<[u64; RECORD]>,
}

impl<S: FlowState> ForeignController<S> {
    /// Reads the answers after `function`.
    #[inline]
    fn answered(&mut self, function: &str, answers: &mut Decision) -> Result<(), Failure> {
        let words = answers_of(&self.decision);
        let read = answers.read_words(self.declaration.description.needs, &mut self.before, words);
        read.map_err(|(place, expected)| refused(function, place, words[place], expected))
    }
}

/// The failure of an answer that is not accepted.
#[cold]
fn refused(function: &str, place: usize, word: u64, expected: &str) -> Failure {
    let field = &Answer::ALL[place].field;
    let value = match field.kind {
        ValueKind::Number => f64::from_bits(word).to_string().to_lowercase(),
        ValueKind::Time => word.cast_signed().to_string(),
        _ => word.to_string(),
    };
    failure(format!("{} is {value} after {function}, not {expected}", field.name))
}

impl<S: FlowState> ExternalController for ForeignController<S> {
    fn name(&self) -> &str {
        &self.declaration.name
    }
    fn needs(&self) -> Signals {
        self.declaration.description.needs
    }
    fn on_event(&mut self, event: Event<'_>, answers: &mut Decision) -> Result<(), Failure> {
        let event = match event {
            // The defaults of the trait and of the classes in Python.
            Event::Restart(restart) if self.declaration.defined[event.index()] == Shape::Missing => {
                Event::SetWindow(restart.window)
            }
            event => event,
        };
        let method = event.index();
        let argument = match self.declaration.defined[method] {
            Shape::Missing => {
                if let Event::SetSsthresh(ssthresh) = event {
                    answers.ssthresh = ssthresh;
                    self.decision[2] = ssthresh.to_bits();
                    self.before[1] = self.decision[2];
                }
                return Ok(());
            }
            Shape::Struct(count) => {
                self.record[0] = 8 * (1 + count as u64);
                event.words(&mut self.record[1..]);
                EventArgument::Struct(&self.record[..=count])
            }
            Shape::Time => {
                event.words(&mut self.record[1..]);
                EventArgument::Time(self.record[1].cast_signed())
            }
            Shape::Number => {
                event.words(&mut self.record[1..]);
                EventArgument::Number(f64::from_bits(self.record[1]))
            }
        };
        match self.state.event(method, argument, &mut self.decision) {
            Ok(()) => self.answered(Event::METHODS[method].name, answers),
            Err(trap) => Err(failure(trap.message(Event::METHODS[method].name, &self.declaration.file))),
        }
    }
    fn probe(&self, out: &mut [f64]) {
        if !self.declaration.description.probes.is_empty() {
            self.state.probe(out);
        }
    }
    fn fork(&self) -> Result<Box<dyn ExternalController>, Failure> {
        let state = self.state.fork().map_err(failure)?;
        let (declaration, record) = (self.declaration.clone(), self.record.clone());
        Ok(Box::new(ForeignController {
            declaration,
            state,
            decision: self.decision,
            before: self.before,
            record,
        }))
    }
}
