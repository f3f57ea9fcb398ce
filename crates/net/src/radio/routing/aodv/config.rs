//! AODV's constants: those of ns-2, and those of RFC 3561.

use params::Form::{AtLeast, Integer, Range, Switch};
use params::Unit::Time;
use units::Span;

params::options! {
    /// AODV's settings, under the profiles `ns2` and `std`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct AodvConfig {
        active_route: Span = Range(Time, "3s", "0s", "100000s"), ["\"10s\"", "\"3s\""],
            "lifetime of a route after its last use";
        my_route: Span = Range(Time, "6s", "0s", "100000s"), ["\"10s\"", "\"6s\""],
            "lifetime in a destination's own reply";
        reverse_route: Span = Range(Time, "6s", "0s", "100000s"), ["\"6s\"", "\"5.6s\""],
            "lifetime of the reverse route, and time for which a request is remembered";
        node_traversal: Span = Range(Time, "40ms", "0s", "100000s"), ["\"30ms\"", "\"40ms\""],
            "estimated time for one hop";
        max_wait: Span = Range(Time, "10s", "0s", "100000s"), ["\"10s\""], "longest wait for a reply";
        buffer_time: Span = Range(Time, "30s", "0s", "100000s"), ["\"30s\""],
            "time that a packet may wait for a route";
        jitter: Span = Range(Time, "10ms", "0s", "100000s"), ["\"10ms\""],
            "largest random delay of a broadcast";
        release_gap: Span = Range(Time, "10ms", "0s", "100000s"), ["\"10ms\""],
            "gap between packets that waited for a route";
        net_diameter: u8 = Integer(1, 200), ["30", "35"], "hops across the network";
        ttl_start: u8 = Integer(1, 200), ["5", "1"], "TTL of the first request";
        ttl_increment: u8 = Integer(1, 200), ["2"], "increment of the TTL";
        ttl_threshold: u8 = Integer(1, 200), ["7"], "largest TTL before the whole network is searched";
        retries: u32 = Integer(0, 100), ["3", "2"], "repetitions of a search of the whole network";
        rate_limit: u32 = Integer(0, 100_000), ["0", "10"], "requests a second of one node; 0 for no limit";
        buffer: usize = Integer(1, 1_000_000), ["64"], "packets that may wait for a route at a node";
        local_repair: bool = Switch, ["true"],
            "a node near the destination searches a new route when a link breaks";
        link_layer_detection: bool = Switch, ["true"], "the MAC reports broken links";
        hello: Option<Span> = AtLeast(Time, "1s", "10ms"), ["none"], "interval of hello messages";
        allowed_hello_loss: u32 = Integer(1, 100), ["3", "2"], "hello messages that may be missing";
    }
    with {
        /// Variant of ns-2: the parity of a sequence number indicates whether a route is valid, an expanding ring search
        /// starts from the last hop count, the wait depends on the last discoveries, and every node with a route replies.
        ns2: bool = |_| true;
        /// Bytes of a request and of a reply; an error has 4 and 8 for each destination.
        request_bytes: u32 = |_| 28;
        /// See `request_bytes`.
        reply_bytes: u32 = |_| 24;
        /// Added to routing messages and to the packets of UDP.
        ip_header: u32 = |_| 20;
    }
}

impl AodvConfig {
    /// The sizes and rules of ns-2 or of RFC 3561, with these settings.
    pub fn of_variant(self, ns2: bool) -> AodvConfig {
        let (request_bytes, reply_bytes) = if ns2 { (28, 24) } else { (24, 20) };
        AodvConfig { ns2, request_bytes, reply_bytes, ..self }
    }
}
