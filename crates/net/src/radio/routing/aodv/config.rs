//! AODV's constants: those of RFC 3561, and ns-2's.

use units::Span;

/// AODV's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct AodvConfig {
    /// ns-2's reading: the parity of a sequence number says whether a route is valid, rings start from the last distance,
    /// the time to wait follows the last discoveries, and whoever has a route replies.
    pub ns2: bool,
    /// How long a route holds after its last use.
    pub active_route: Span,
    /// How long a destination's own reply holds.
    pub my_route: Span,
    /// How long the path back to a requester holds, and its request is remembered.
    pub reverse_route: Span,
    /// What a node is thought to take for a packet.
    pub node_traversal: Span,
    /// Hops across the network.
    pub net_diameter: u8,
    /// The rings of a request: the first, the step, and the last before the whole network is asked.
    pub ttl_start: u8,
    /// See `ttl_start`.
    pub ttl_increment: u8,
    /// See `ttl_start`.
    pub ttl_threshold: u8,
    /// How often the whole network is asked again.
    pub retries: u32,
    /// Requests a second that a node may send; zero: as many as it likes.
    pub rate_limit: u32,
    /// The longest wait for a reply; after the last attempt, no request for so long.
    pub max_wait: Span,
    /// Time between hellos; none: broken links are told by the MAC alone.
    pub hello: Option<Span>,
    /// Hellos that may be missing.
    pub allowed_hello_loss: u32,
    /// Whether the MAC tells of broken links.
    pub link_layer_detection: bool,
    /// Whether a node nearer to the destination than to the source looks for another path itself.
    pub local_repair: bool,
    /// How many packets may wait for a route, and for how long.
    pub buffer: usize,
    /// See `buffer`.
    pub buffer_time: Span,
    /// Broadcasts are delayed by up to this much.
    pub jitter: Span,
    /// Between packets that were waiting for a route.
    pub release_gap: Span,
    /// Bytes of a request and of a reply; an error has 4 and 8 for each destination.
    pub request_bytes: u32,
    /// See `request_bytes`.
    pub reply_bytes: u32,
    /// Added to routing messages and to the packets of UDP.
    pub ip_header: u32,
}

impl AodvConfig {
    /// As ns-2.35 has it.
    pub fn ns2() -> AodvConfig {
        let s = |s: u64| Span::from_ms(1000 * s);
        AodvConfig {
            ns2: true,
            active_route: s(10),
            my_route: s(10),
            reverse_route: s(6),
            node_traversal: Span::from_ms(30),
            net_diameter: 30,
            ttl_start: 5,
            ttl_increment: 2,
            ttl_threshold: 7,
            retries: 3,
            rate_limit: 0,
            max_wait: s(10),
            hello: None,
            allowed_hello_loss: 3,
            link_layer_detection: true,
            local_repair: true,
            buffer: 64,
            buffer_time: s(30),
            jitter: Span::from_ms(10),
            release_gap: Span::from_ms(10),
            request_bytes: 28,
            reply_bytes: 24,
            ip_header: 20,
        }
    }

    /// As RFC 3561 has it.
    pub fn rfc() -> AodvConfig {
        AodvConfig {
            ns2: false,
            active_route: Span::from_ms(3000),
            my_route: Span::from_ms(6000),
            reverse_route: Span::from_ms(5600),
            node_traversal: Span::from_ms(40),
            net_diameter: 35,
            ttl_start: 1,
            retries: 2,
            rate_limit: 10,
            allowed_hello_loss: 2,
            request_bytes: 24,
            reply_bytes: 20,
            ..AodvConfig::ns2()
        }
    }
}
