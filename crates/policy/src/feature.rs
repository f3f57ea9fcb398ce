//! The features of an interval that a policy can observe.

/// Defines [`Feature`] with names, units, bounds and texts.
macro_rules! features {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $unit:literal, $least:expr, $largest:expr;)+) => {
        /// A feature of an interval. A sender sees all of them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Feature { $($(#[doc = $doc])+ $variant,)+ }

        impl Feature {
            /// All features.
            pub const ALL: &'static [Feature] = &[$(Feature::$variant),+];

            /// Its name in files.
            pub const fn name(self) -> &'static str { match self { $(Feature::$variant => $name),+ } }

            /// Its unit, or an empty string.
            pub const fn unit(self) -> &'static str { match self { $(Feature::$variant => $unit),+ } }

            /// Its smallest and largest value; what is outside is set to them.
            pub const fn bounds(self) -> (f32, f32) { match self { $(Feature::$variant => ($least, $largest)),+ } }

            /// What it is.
            pub const fn doc(self) -> &'static str { match self { $(Feature::$variant => concat!($($doc),+)),+ } }
        }
    };
}

features! {
    /// Mean of the second half of the round-trip samples less that of the first, over the length of the interval (Aurora's "sent latency inflation").
    LatencyInflation = "latency_inflation", "", -1.0, 10.0;
    /// Mean round-trip time over the smallest mean of an interval so far (Aurora); 1 without a sample.
    LatencyRatio = "latency_ratio", "", 1.0, 10_000.0;
    /// Segments sent over segments delivered less one (Aurora); 1 if nothing was delivered.
    SendRatio = "send_ratio", "", 0.0, 1000.0;
    /// Lost segments over lost and delivered ones.
    Loss = "loss", "", 0.0, 1.0;
    /// Part of the ACKs with an ECN echo.
    Marked = "marked", "", 0.0, 1.0;
    /// Part of the ACKs that came while the window limited the sender.
    Limited = "limited", "", 0.0, 1.0;
    /// Mean round-trip time over the smallest one, less 1.
    QueueRatio = "queue_ratio", "", 0.0, 1000.0;
    /// Throughput over the largest one of an interval so far.
    ThroughputRatio = "throughput_ratio", "", 0.0, 1.0;
    /// Window over the largest throughput times the smallest round-trip time.
    WindowRatio = "window_ratio", "", 0.0, 1000.0;
    /// Natural logarithm of one plus the segments in the queue: throughput times the excess of the mean round-trip time over
    /// the smallest one. Flows with equal queues have equal rates.
    LogBacklog = "log_backlog", "", 0.0, 30.0;
    /// The last action.
    LastAction = "last_action", "", -1e6, 1e6;
    /// Mean round-trip time; 0 without a sample.
    Rtt = "rtt", "s", 0.0, 1000.0;
    /// Smallest round-trip time so far.
    MinRtt = "min_rtt", "s", 0.0, 1000.0;
    /// Segments delivered a second.
    Throughput = "throughput", "segments/s", 0.0, 1e9;
    /// Segments sent a second, retransmissions included.
    SendRate = "send_rate", "segments/s", 0.0, 1e9;
    /// The congestion window.
    Cwnd = "cwnd", "segments", 0.0, 1e9;
    /// Segments in flight at the last ACK.
    InFlight = "in_flight", "segments", 0.0, 1e9;
    /// The pacing rate; 0 without pacing.
    Rate = "rate", "segments/s", 0.0, 1e9;
}
