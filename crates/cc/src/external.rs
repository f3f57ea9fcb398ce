//! Controllers outside the registry, for example in Python. Each call of an event method of [`Controller`] reaches them as
//! an [`Event`], and they answer with a [`Decision`].

use crate::controller::Controller;
use crate::events::{
    Ack, Congestion, Delivered, EcnResponse, Lost, PathHint, Restart, Sent, Timeout, TransmitStart,
};
use crate::flow::{FlowInfo, Signals};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use units::{Rate, Segments, Span, Time};

/// Passes the table of events to the macro `$use`: the variant of [`Event`], and the method of [`Controller`] that it stands
/// for.
macro_rules! events {
    ($use:ident) => {
        $use! {
            Open = on_open(now: Time);
            Handshake = on_handshake(now: Time, rtt: Span);
            Ack = on_ack(ack: &Ack);
            Lost = on_lost(lost: &Lost);
            Delivered = on_delivered(delivered: &Delivered);
            Sent = on_sent(sent: &Sent);
            Congestion = on_congestion(event: &Congestion);
            Timeout = on_rto(event: &Timeout);
            RecoveryExit = on_recovery_exit(now: Time);
            Undo = on_undo(now: Time);
            Restart = on_restart(event: &Restart);
            TransmitStart = on_transmit_start(event: &TransmitStart);
            Timer = on_timer(now: Time);
            Hint = on_hint(now: Time, hint: &PathHint);
            SetWindow = set_window(cwnd: Segments);
            SetThreshold = set_ssthresh(ssthresh: Segments);
        }
    };
}

/// Defines [`Event`].
macro_rules! event_type {
    ($($event:ident = $method:ident($($argument:ident: $($copied:ident)? $(&$borrowed:ident)?),+);)+) => {
        /// A call of an event method of [`Controller`].
        #[derive(Clone, Copy, Debug)]
        pub enum Event<'a> {
            $(#[doc = concat!("[`Controller::", stringify!($method), "`].")]
            $event($($($copied)? $(&'a $borrowed)?),+),)+
        }

        impl Event<'_> {
            /// The names of the methods.
            pub const METHODS: &'static [&'static str] = &[$(stringify!($method)),+];

            /// The place of its method in [`Event::METHODS`].
            pub fn index(&self) -> usize {
                enum Place { $($event),+ }
                match self { $(Event::$event(..) => Place::$event as usize),+ }
            }
        }
    };
}
events!(event_type);

impl Event<'_> {
    /// When it happens; `None` for a call that sets a window.
    fn now(&self) -> Option<Time> {
        match *self {
            Event::Open(now) | Event::Handshake(now, _) | Event::RecoveryExit(now) => Some(now),
            Event::Undo(now) | Event::Timer(now) | Event::Hint(now, _) => Some(now),
            Event::Ack(event) => Some(event.now),
            Event::Lost(event) => Some(event.now),
            Event::Delivered(event) => Some(event.now),
            Event::Sent(event) => Some(event.now),
            Event::Congestion(event) => Some(event.now),
            Event::Timeout(event) => Some(event.now),
            Event::Restart(event) => Some(event.now),
            Event::TransmitStart(event) => Some(event.now),
            Event::SetWindow(_) | Event::SetThreshold(_) => None,
        }
    }
}

/// The answers of an external controller: one field for each method of [`Controller`] that the transport reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// [`Controller::cwnd`].
    pub cwnd: Segments,
    /// [`Controller::ssthresh`].
    pub ssthresh: Segments,
    /// [`Controller::pacing`].
    pub pacing: Option<Rate>,
    /// [`Controller::send_quantum`].
    pub send_quantum: u32,
    /// [`Controller::wake_at`]. A time that has passed, or for which the timer was called, counts as `Time::NEVER`.
    pub wake_at: Time,
    /// [`Controller::fine_timeout`].
    pub fine_timeout: Option<Span>,
    /// [`Controller::ecn_response`].
    pub ecn_response: EcnResponse,
    /// [`Controller::owns_window`].
    pub owns_window: bool,
    /// [`Controller::limits_application`].
    pub limits_application: bool,
}

impl Default for Decision {
    /// A window of one segment without a threshold; otherwise the default answers of [`Controller`].
    fn default() -> Decision {
        Decision {
            cwnd: 1.0,
            ssthresh: f64::INFINITY,
            pacing: None,
            send_quantum: 1,
            wake_at: Time::NEVER,
            fine_timeout: None,
            ecn_response: EcnResponse::Reduce,
            owns_window: false,
            limits_application: false,
        }
    }
}

/// A controller that is not registered.
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

/// Takes the place of a controller that could not be copied; it receives no events.
#[derive(Debug)]
struct NotCopied {
    name: String,
    needs: Signals,
}

impl ExternalController for NotCopied {
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

/// Creates one external controller for each flow.
pub trait ExternalFactory: Debug + Send + Sync {
    /// Its name in outcomes. The `Debug` output is its identity: two factories with equal output give equal runs.
    fn name(&self) -> &str;
    /// The names of the internal values that its controllers write to the trace.
    fn probes(&self) -> &[String];
    /// The signals that its controllers require.
    fn needs(&self) -> Signals;
    /// The initial window that its controllers specify ([`Controller::initial_window`]).
    fn initial_window(&self) -> Option<Segments> {
        None
    }
    /// Creates a controller. If that fails, the controller's `failure` is set from the start.
    fn make(&self, flow: &FlowInfo) -> CachedExternal;
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
                let stand_in = NotCopied { name: self.inner.name().into(), needs: self.inner.needs() };
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

    /// Its name in outcomes.
    pub fn name(&self) -> &str {
        self.inner.name()
    }

    /// The error that stopped the controller.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    #[cold]
    fn pass(&mut self, event: Event<'_>) {
        if self.failure.is_some() {
            return;
        }
        self.now = event.now().unwrap_or(self.now);
        if let Event::Timer(now) = event {
            self.woken = Some(now);
        }
        let result = self.inner.on_event(event, &mut self.decision);
        self.failure = result.err().map(|failure| Failure { at: self.now, ..failure });
    }
}

/// Passes each call of an event method on.
macro_rules! event_methods {
    ($($event:ident = $method:ident($($argument:ident: $($copied:ident)? $(&$borrowed:ident)?),+);)+) => {
        $(fn $method(&mut self, $($argument: $($copied)? $(&$borrowed)?),+) {
            self.pass(Event::$event($($argument),+));
        })+
    };
}

impl Controller for CachedExternal {
    events!(event_methods);

    fn needs(&self) -> Signals {
        self.inner.needs()
    }
    fn ecn_response(&self) -> EcnResponse {
        self.decision.ecn_response
    }
    fn cwnd(&self) -> Segments {
        self.decision.cwnd
    }
    fn ssthresh(&self) -> Segments {
        self.decision.ssthresh
    }
    fn pacing(&self) -> Option<Rate> {
        self.decision.pacing
    }
    fn send_quantum(&self) -> u32 {
        self.decision.send_quantum
    }
    fn wake_at(&self) -> Time {
        let at = self.decision.wake_at;
        if at >= self.now && Some(at) != self.woken { at } else { Time::NEVER }
    }
    fn owns_window(&self) -> bool {
        self.decision.owns_window
    }
    fn limits_application(&self) -> bool {
        self.decision.limits_application
    }
    fn fine_timeout(&self) -> Option<Span> {
        self.decision.fine_timeout
    }
    fn probe(&self, out: &mut [f64]) {
        self.inner.probe(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            let method = Event::METHODS[event.index()];
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
        c.on_handshake(now, Span::from_ms(1));
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
        c.on_hint(now, &PathHint::HandoffEnds);
        c.set_window(1.0);
        c.set_ssthresh(1.0);
        assert_eq!(*methods.lock().unwrap(), Event::METHODS);
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
