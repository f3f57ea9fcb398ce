//! Controllers in other languages, for example Python. Each call of an event method of [`Controller`] reaches them as
//! an [`Event`], and they answer with a [`Decision`].

use super::answers::Decision;
use super::fields::{Argument, Field};
use crate::controller::Controller;
use crate::events::*;
use crate::signals::Signals;
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use units::{Rate, Segments, Span, Time};

/// The method of an event.
#[derive(Clone, Copy, Debug)]
pub struct EventMethod {
    /// Its name in Rust and Python.
    pub name: &'static str,
    /// When it is called.
    pub doc: &'static str,
    /// The name of its argument.
    pub argument: &'static str,
    /// The class of the argument outside Rust; empty for a plain number.
    pub class: &'static str,
    /// What the class is.
    pub about: &'static str,
    /// The fields of the class; for a number one without a name.
    pub fields: &'static [Field],
    /// Whether a controller must define the method.
    pub required: bool,
}

/// Defines [`Event`].
macro_rules! define_event {
    ([] $($(#[doc = $doc:literal])+ $event:ident: fn $method:ident(
        &mut $self:ident, $argument:ident: $($copied:ident)? $(&$borrowed:ident)?
    ) $(-> $required:ident)?;)+) => {
        /// A call of an event method of [`Controller`].
        #[derive(Clone, Copy, Debug)]
        pub enum Event<'a> {
            $(#[doc = concat!("[`Controller::", stringify!($method), "`].")]
            $event($($copied)? $(&'a $borrowed)?),)+
        }

        impl Event<'_> {
            /// The methods, in the order of [`Controller`].
            pub const METHODS: &'static [EventMethod] = &[$(EventMethod {
                name: stringify!($method),
                doc: concat!($($doc),+),
                argument: stringify!($argument),
                class: <$($copied)? $($borrowed)? as Argument>::CLASS,
                about: <$($copied)? $($borrowed)? as Argument>::DOC,
                fields: <$($copied)? $($borrowed)? as Argument>::FIELDS,
                required: is_required!($($required)?),
            }),+];

            /// The place of its method in [`Event::METHODS`].
            pub fn index(&self) -> usize {
                enum Place { $($event),+ }
                match self { $(Event::$event(..) => Place::$event as usize),+ }
            }
            /// When it happens; `None` for a call that sets a window.
            pub fn now(&self) -> Option<Time> {
                match self { $(Event::$event(argument) => argument.now()),+ }
            }
            /// Writes the numbers of its argument ([`Argument::numbers`]).
            pub fn numbers(&self, out: &mut [f64]) {
                match self { $(Event::$event(argument) => argument.numbers(out)),+ }
            }
            /// Writes the eight bytes of each field of its argument ([`Argument::words`]).
            #[inline]
            pub fn words(&self, out: &mut [u64]) {
                match self { $(Event::$event(argument) => argument.words(out)),+ }
            }
            /// Calls the method of a controller.
            pub fn call(&self, controller: &mut impl Controller) {
                match *self { $(Event::$event(argument) => controller.$method(argument)),+ }
            }
        }
    };
}

/// Whether a controller must define the method.
macro_rules! is_required {
    () => {
        false
    };
    (required) => {
        true
    };
}
crate::controller_events!(define_event);

/// A controller in another language.
pub trait ExternalController: Debug + Send {
    /// Its name in outcomes.
    fn name(&self) -> &str;
    /// The signals that it requires.
    fn needs(&self) -> Signals;
    /// Processes an event and updates its answers. After an error it receives no more events, and the run ends soon.
    fn on_event(&mut self, event: Event<'_>, decision: &mut Decision) -> Result<(), Failure>;
    /// [`Controller::probe`].
    fn probe(&self, _out: &mut [f64]) {}
    /// A second controller in the state of this one, which shares nothing with it. Fails with the reason if the controller
    /// cannot be copied.
    fn fork(&self) -> Result<Box<dyn ExternalController>, Failure> {
        Err(Failure::new(format!("{} cannot be copied", self.name()), Arc::new(())))
    }
}

/// Takes the place of a controller that could not be created or copied; it receives no events.
#[derive(Debug)]
struct Absent {
    name: String,
    needs: Signals,
}

impl ExternalController for Absent {
    fn name(&self) -> &str {
        &self.name
    }
    fn needs(&self) -> Signals {
        self.needs
    }
    fn on_event(&mut self, _: Event<'_>, _: &mut Decision) -> Result<(), Failure> {
        Ok(())
    }
}

/// The error of an external controller.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Simulated time of the error; [`CachedExternal`] sets it.
    pub at: Time,
    /// The error message for the author of the controller.
    pub message: String,
    /// The original error value, for a caller that knows its type.
    pub error: Arc<dyn Any + Send + Sync>,
}

impl Failure {
    /// An error with its message.
    pub fn new(message: String, error: Arc<dyn Any + Send + Sync>) -> Failure {
        Failure { at: Time::ZERO, message, error }
    }
}

/// An external controller with a copy of its answers. The transport reads the window many times per ACK; the copy makes
/// that as cheap as for a registered controller.
#[derive(Debug)]
pub struct CachedExternal {
    decision: Decision,
    now: Time,
    /// When the controller's timer was last called.
    woken: Option<Time>,
    failure: Option<Failure>,
    inner: Box<dyn ExternalController>,
}

/// A copy that could not be made has the reason as its failure.
impl Clone for CachedExternal {
    fn clone(&self) -> CachedExternal {
        let (inner, failure) = match self.inner.fork() {
            Ok(inner) => (inner, self.failure.clone()),
            Err(failure) => {
                let stand_in = Absent { name: self.inner.name().into(), needs: self.inner.needs() };
                (Box::new(stand_in) as Box<dyn ExternalController>, Some(Failure { at: self.now, ..failure }))
            }
        };
        CachedExternal { decision: self.decision, now: self.now, woken: self.woken, failure, inner }
    }
}

impl CachedExternal {
    /// Wraps a controller with its answers before the first event, or with the error of its creation.
    pub fn new(inner: Box<dyn ExternalController>, first: Result<Decision, Failure>) -> CachedExternal {
        let (decision, failure) = match first {
            Ok(decision) => (decision, None),
            Err(failure) => (Decision::default(), Some(failure)),
        };
        CachedExternal { decision, now: Time::ZERO, woken: None, failure, inner }
    }

    /// A controller that could not be created, with the reason.
    pub fn failed(name: String, needs: Signals, failure: Failure) -> CachedExternal {
        CachedExternal::new(Box::new(Absent { name, needs }), Err(failure))
    }

    /// Its name in outcomes.
    pub fn name(&self) -> &str {
        self.inner.name()
    }

    /// The error that stopped the controller.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    #[cold]
    fn pass_event(&mut self, event: Event<'_>) {
        if self.failure.is_some() {
            return;
        }
        self.now = event.now().unwrap_or(self.now);
        if let Event::Timer(now) = event {
            self.woken = Some(now);
        }
        let result = self.inner.on_event(event, &mut self.decision);
        self.failure = result.err().map(|failure| Failure { at: self.now, ..failure });
        let wake_at = self.decision.wake_at;
        if wake_at < self.now || Some(wake_at) == self.woken {
            self.decision.wake_at = Time::NEVER; // it has passed, or the timer was called for it
        }
    }
}

/// Passes each call of an event method on.
macro_rules! pass_events {
    ([] $($(#[$doc:meta])+ $event:ident: fn $method:ident(
        &mut $self:ident, $argument:ident: $($copied:ident)? $(&$borrowed:ident)?
    ) $(-> $required:ident)?;)+) => {
        $(fn $method(&mut $self, $argument: $($copied)? $(&$borrowed)?) {
            $self.pass_event(Event::$event($argument));
        })+
    };
}

/// Gives the answers of the last decision.
macro_rules! decided_answers {
    ([] { $($(#[$required_doc:meta])+ $required:ident: $required_type:ty => $required_name:ident,)+ }
        { $($(#[$doc:meta])+ $answer:ident: $type:ty = $default:expr => $name:ident,)+ }
    ) => {
        $(fn $required(&self) -> $required_type {
            self.decision.$required
        })+
        $(fn $answer(&self) -> $type {
            self.decision.$answer
        })+
    };
}

impl Controller for CachedExternal {
    crate::controller_events!(pass_events);
    crate::controller_answers!(decided_answers);

    fn needs(&self) -> Signals {
        self.inner.needs()
    }
    fn probe(&self, out: &mut [f64]) {
        self.inner.probe(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Hint;
    use crate::testing::{ack, congestion, timeout};

    /// Notes the methods of its events; the event `fails` is an error.
    #[derive(Debug, Default)]
    struct Noted {
        methods: Arc<std::sync::Mutex<Vec<&'static str>>>,
        wake_at: Option<Time>,
        fails: &'static str,
    }

    impl ExternalController for Noted {
        fn name(&self) -> &str {
            "noted"
        }
        fn needs(&self) -> Signals {
            Signals::TIMER
        }
        fn on_event(&mut self, event: Event<'_>, decision: &mut Decision) -> Result<(), Failure> {
            let method = Event::METHODS[event.index()].name;
            self.methods.lock().unwrap().push(method);
            decision.wake_at = self.wake_at.unwrap_or(Time::NEVER);
            decision.cwnd += 1.0;
            if method == self.fails { Err(Failure::new("no".into(), Arc::new(()))) } else { Ok(()) }
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn every_event_method_arrives_as_its_event() {
        let noted = Noted::default();
        let methods = noted.methods.clone();
        let mut c = CachedExternal::new(Box::new(noted), Ok(Decision::default()));
        let now = at(5);
        c.on_open(now);
        c.on_handshake(&Handshake { now, rtt: Some(Span::from_ms(1)) });
        c.on_sample(&Sample::of(&ack(1)));
        c.on_ack(&ack(1));
        c.on_lost(&Lost {
            now,
            seq: 1,
            tx_in_flight: 1,
            lost: 1,
            delivered_total: 1,
            app_limited: false,
            starts_range: true,
        });
        c.on_delivered(&Delivered { now, seq: 1, sent: at(1), rtt: Span::from_ms(4) });
        c.on_sent(&Sent { now, seq: 1, in_flight: 1, retransmission: false });
        c.on_congestion(&congestion(4.0));
        c.on_rto(&timeout(4.0, false));
        c.on_recovery_exit(now);
        c.on_undo(now);
        c.on_restart(&Restart { now, idle: Span::ZERO, window: 1.0 });
        c.on_transmit_start(&TransmitStart { now, idle: Span::ZERO, app_limited: false });
        c.on_timer(now);
        c.on_hint(&PathHint { now, kind: Hint::HandoffEnds });
        c.set_window(1.0);
        c.set_ssthresh(1.0);
        assert_eq!(
            *methods.lock().unwrap(),
            Event::METHODS.iter().map(|method| method.name).collect::<Vec<_>>()
        );
        assert_eq!(c.cwnd(), 1.0 + Event::METHODS.len() as f64);
    }

    #[test]
    fn after_an_error_no_event_arrives() {
        let noted = Noted { fails: "on_undo", ..Noted::default() };
        let methods = noted.methods.clone();
        let mut c = CachedExternal::new(Box::new(noted), Ok(Decision::default()));
        c.on_open(at(1));
        c.on_undo(at(2));
        c.on_timer(at(3));
        assert_eq!(*methods.lock().unwrap(), ["on_open", "on_undo"]);
        assert_eq!(c.failure().map(|failure| failure.at), Some(at(2)));
        let failed = CachedExternal::new(
            Box::new(Noted::default()),
            Err(Failure::new("no object".into(), Arc::new(()))),
        );
        assert_eq!((failed.cwnd(), failed.failure().unwrap().message.as_str()), (1.0, "no object"));
    }

    #[test]
    fn an_event_at_the_time_of_the_timer_does_not_cancel_it() {
        let noted = Noted { wake_at: Some(at(10)), ..Noted::default() };
        let mut c = CachedExternal::new(Box::new(noted), Ok(Decision::default()));
        c.on_open(at(1));
        assert_eq!(c.wake_at(), at(10));
        c.on_recovery_exit(at(10));
        assert_eq!(c.wake_at(), at(10));
        c.on_timer(at(10));
        assert_eq!(c.wake_at(), Time::NEVER, "the timer was called");
        c.on_recovery_exit(at(11));
        assert_eq!(c.wake_at(), Time::NEVER, "the time has passed");
    }
}
