//! The signals that a controller can require.

/// A set of signals that a controller requires from the transport or the routers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals(u16);

impl Signals {
    /// Acknowledgements only.
    pub const NONE: Signals = Signals(0);
    /// Delivery-rate samples.
    pub const RATE: Signals = Signals(1);
    /// The receiver's timestamps.
    pub const RECEIVER_TIME: Signals = Signals(2);
    /// A fine-grained clock per segment that can cause a retransmission before the third duplicate ACK (Vegas).
    pub const FINE_CLOCK: Signals = Signals(4);
    /// Pacing at the rate of [`crate::Controller::pacing`].
    pub const PACING: Signals = Signals(8);
    /// A timer at the time of [`crate::Controller::wake_at`].
    pub const TIMER: Signals = Signals(16);
    /// Rates granted by the routers of the path: a [`crate::Hint::RouterRate`] with every ACK that carries one.
    pub const ROUTER_RATE: Signals = Signals(32);
    /// Rate changes from the routers of the path: a [`crate::Hint::RouterFeedback`] with every ACK that carries
    /// one.
    pub const ROUTER_FEEDBACK: Signals = Signals(64);

    /// Counts of delivered and lost segments ([`crate::Ack::delivered_total`]), which recovery `rack` keeps.
    pub const SEGMENT_COUNTS: Signals = Signals(128);
    /// ECN, with an echo in each ACK of exactly the segments that it acknowledges (RFC 8257 section 3.2).
    pub const ECN_PER_PACKET: Signals = Signals(256);
    /// Segments that carry the L4S identifier ECT(1) (RFC 9331).
    pub const L4S: Signals = Signals(512);
    /// A call of [`crate::Controller::on_lost`] for each segment that is marked as lost.
    pub const LOSSES: Signals = Signals(1024);
    /// A call of [`crate::Controller::on_sent`] for each transmission.
    pub const SENT: Signals = Signals(2048);

    /// A call of [`crate::Controller::on_delivered`] for each delivered segment; includes [`Signals::RATE`].
    pub const DELIVERIES: Signals = Signals(4096 | Signals::RATE.0);

    /// A call of [`crate::Controller::on_sample`] for each ACK.
    pub const SAMPLES: Signals = Signals(8192);

    /// The signal with this name outside Rust. Fails with a message that lists the names.
    pub fn from_name(name: &str) -> Result<Signals, String> {
        let row = TABLE.iter().find(|row| row.name == name);
        row.map(|row| row.outside).ok_or_else(|| {
            let all: Vec<&str> = Signals::named().map(|(name, _)| name).collect();
            format!("needs: \"{name}\" is not one of {}", all.join(", "))
        })
    }

    /// The names of the signals outside Rust, with what each name stands for.
    pub fn named() -> impl Iterator<Item = (&'static str, Signals)> {
        TABLE.iter().map(|row| (row.name, row.outside))
    }

    /// What a controller that needs this set misses where `provided` is provided: words after its name, those of `words` (with
    /// a remedy) before the general ones. `None` if it misses nothing. Every transport asks this, so that a signal that it
    /// does not know is refused.
    pub fn missing(
        self,
        provided: Signals,
        words: impl IntoIterator<Item = (Signals, &'static str)>,
    ) -> Option<&'static str> {
        let lacking = self.0 & !provided.0;
        let mut texts = words.into_iter().chain(TABLE.iter().map(|row| (row.signal, row.lacked)));
        let unnamed = "needs a signal that is not provided here";
        (lacking != 0)
            .then(|| texts.find(|(signal, _)| signal.0 & lacking != 0).map_or(unnamed, |(_, text)| text))
    }

    /// Whether this set contains every signal of `other`.
    pub const fn has(self, other: Signals) -> bool {
        self.0 & other.0 == other.0
    }
    /// The union of both sets.
    pub const fn and(self, other: Signals) -> Signals {
        Signals(self.0 | other.0)
    }
}

/// What a transport with the options `O` provides.
#[derive(Debug)]
pub struct Provision<O: 'static> {
    /// The signals that it provides with every option.
    pub always: Signals,
    /// The others.
    pub rules: &'static [SignalRule<O>],
}

/// A signal that a transport provides with some options or not at all.
#[derive(Debug)]
pub struct SignalRule<O> {
    /// The signal.
    pub signal: Signals,
    /// Whether it is provided.
    pub provided: fn(&O) -> bool,
    /// Whether a controller that asks for it runs without it.
    pub optional: bool,
    /// What the controller needs and why it is missing, after the controller's name; with a remedy if there is one.
    pub missing: &'static str,
}

impl<O> Provision<O> {
    /// The signals that are provided.
    pub fn provided(&self, options: &O) -> Signals {
        self.where_rule(|rule| (rule.provided)(options))
    }

    /// Why a controller that needs `needs` cannot run: the text after its name. `None` if it can.
    pub fn missing(&self, needs: Signals, options: &O) -> Option<&'static str> {
        let provided = self.where_rule(|rule| rule.optional || (rule.provided)(options));
        needs.missing(provided, self.rules.iter().map(|rule| (rule.signal, rule.missing)))
    }

    /// What a controller that needs `needs` does without although it runs: texts as of [`Provision::missing`].
    pub fn degraded(&self, needs: Signals, options: &O) -> Vec<&'static str> {
        let lacked = self.rules.iter().filter(|rule| rule.optional && !(rule.provided)(options));
        lacked.filter(|rule| needs.has(rule.signal)).map(|rule| rule.missing).collect()
    }

    fn where_rule(&self, holds: impl Fn(&SignalRule<O>) -> bool) -> Signals {
        let rules = self.rules.iter().filter(|rule| holds(rule));
        rules.fold(self.always, |signals, rule| signals.and(rule.signal))
    }
}

/// A signal.
struct Row {
    signal: Signals,
    /// Its name outside Rust.
    name: &'static str,
    /// What a controller outside Rust gets that names it: some signals are of use with others only.
    outside: Signals,
    /// What is said of it where it is not provided, after the name of the controller.
    lacked: &'static str,
}

impl Row {
    const fn new(signal: Signals, name: &'static str, lacked: &'static str) -> Row {
        Row { signal, name, outside: signal, lacked }
    }
    const fn with(self, other: Signals) -> Row {
        Row { outside: self.outside.and(other), ..self }
    }
}

/// Every signal.
const TABLE: &[Row] = &[
    Row::new(Signals::RATE, "rate", "needs samples of the delivery rate, which are not provided here"),
    Row::new(
        Signals::RECEIVER_TIME,
        "receiver_time",
        "needs the receiver's clock, which is not provided here",
    ),
    Row::new(
        Signals::FINE_CLOCK,
        "fine_clock",
        "needs a clock per segment that can cause a retransmission, which is not provided here",
    ),
    Row::new(Signals::PACING, "pacing", "needs pacing, which is not provided here"),
    Row::new(Signals::TIMER, "timer", "needs a timer, which is not provided here"),
    Row::new(
        Signals::ROUTER_RATE,
        "router_rate",
        "needs the rates that routers grant, which are not provided here",
    ),
    Row::new(
        Signals::ROUTER_FEEDBACK,
        "router_feedback",
        "needs the feedback of routers, which is not provided here",
    ),
    Row::new(
        Signals::ECN_PER_PACKET,
        "ecn_per_packet",
        "needs an ECN echo per packet, which is not provided here",
    ),
    Row::new(Signals::L4S, "l4s", "needs packets with ECT(1), which are not provided here"),
    Row::new(Signals::LOSSES, "losses", "needs each lost segment, which is not reported here")
        .with(Signals::SEGMENT_COUNTS)
        .with(Signals::RATE),
    Row::new(Signals::SENT, "sent", "needs each transmission, which is not reported here")
        .with(Signals::RATE),
    Row::new(Signals::DELIVERIES, "deliveries", "needs each delivered segment, which is not reported here")
        .with(Signals::SEGMENT_COUNTS),
    Row::new(
        Signals::SEGMENT_COUNTS,
        "segment_counts",
        "needs counts of delivered and lost segments, which are not provided here",
    ),
    Row::new(
        Signals::SAMPLES,
        "samples",
        "needs the measurements of an ACK before its conclusions, which are not provided here",
    ),
];
