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

    /// The names that external controllers use.
    pub const NAMED: [(&'static str, Signals); 14] = [
        ("rate", Signals::RATE),
        ("receiver_time", Signals::RECEIVER_TIME),
        ("fine_clock", Signals::FINE_CLOCK),
        ("pacing", Signals::PACING),
        ("timer", Signals::TIMER),
        ("router_rate", Signals::ROUTER_RATE),
        ("router_feedback", Signals::ROUTER_FEEDBACK),
        ("ecn_per_packet", Signals::ECN_PER_PACKET),
        ("l4s", Signals::L4S),
        ("losses", Signals::SEGMENT_COUNTS.and(Signals::RATE).and(Signals::LOSSES)),
        ("sent", Signals::SENT.and(Signals::RATE)),
        ("deliveries", Signals::SEGMENT_COUNTS.and(Signals::DELIVERIES)),
        ("segment_counts", Signals::SEGMENT_COUNTS),
        ("samples", Signals::SAMPLES),
    ];

    /// The signal with this name. Fails with a message that lists the names.
    pub fn from_name(name: &str) -> Result<Signals, String> {
        let named = Self::NAMED.iter().find(|(known, _)| *known == name);
        named.map(|(_, signal)| *signal).ok_or_else(|| {
            let all = Self::NAMED.map(|(name, _)| name).join(", ");
            format!("needs: \"{name}\" is not one of {all}")
        })
    }

    /// What is said of a signal that is not provided, after the name of the controller.
    const LACKED: [(Signals, &'static str); 14] = [
        (Signals::RATE, "needs samples of the delivery rate, which are not provided here"),
        (Signals::RECEIVER_TIME, "needs the receiver's clock, which is not provided here"),
        (
            Signals::FINE_CLOCK,
            "needs a clock per segment that can cause a retransmission, which is not provided here",
        ),
        (Signals::PACING, "needs pacing, which is not provided here"),
        (Signals::TIMER, "needs a timer, which is not provided here"),
        (Signals::ROUTER_RATE, "needs the rates that routers grant, which are not provided here"),
        (Signals::ROUTER_FEEDBACK, "needs the feedback of routers, which is not provided here"),
        (Signals::SEGMENT_COUNTS, "needs counts of delivered and lost segments, which are not provided here"),
        (Signals::ECN_PER_PACKET, "needs an ECN echo per packet, which is not provided here"),
        (Signals::L4S, "needs packets with ECT(1), which are not provided here"),
        (Signals::LOSSES, "needs each lost segment, which is not reported here"),
        (Signals::SENT, "needs each transmission, which is not reported here"),
        (Signals::DELIVERIES, "needs each delivered segment, which is not reported here"),
        (
            Signals::SAMPLES,
            "needs the measurements of an ACK before its conclusions, which are not provided here",
        ),
    ];

    /// What a controller that needs this set misses where `provided` is provided: words after its name, those of `words` (with
    /// a remedy) before the general ones. `None` if it misses nothing. Every transport asks this, so that a signal that it
    /// does not know is refused.
    pub fn missing(
        self,
        provided: Signals,
        words: impl IntoIterator<Item = (Signals, &'static str)>,
    ) -> Option<&'static str> {
        let lacking = self.0 & !provided.0;
        let mut texts = words.into_iter().chain(Signals::LACKED);
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
