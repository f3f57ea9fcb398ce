//! AODV's constants: those of RFC 3561, and ns-2's.

use units::Span;

/// AODV's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct AodvConfig {
    /// Variant of ns-2: the parity of a sequence number indicates whether a route is valid, an expanding ring search
    /// starts from the last hop count, the wait depends on the last discoveries, and every node with a route replies.
    pub ns2: bool,
    /// Lifetime of a route after its last use (ACTIVE_ROUTE_TIMEOUT).
    pub active_route: Span,
    /// Lifetime of a route in a reply of the destination (MY_ROUTE_TIMEOUT).
    pub my_route: Span,
    /// Lifetime of the reverse route to an originator, and of the entry that detects duplicates of its request.
    pub reverse_route: Span,
    /// Estimated time that a node needs for a packet (NODE_TRAVERSAL_TIME).
    pub node_traversal: Span,
    /// Maximum number of hops across the network (NET_DIAMETER).
    pub net_diameter: u8,
    /// The expanding ring search: the first TTL, the increment, and the last TTL before a network-wide request.
    pub ttl_start: u8,
    /// See `ttl_start`.
    pub ttl_increment: u8,
    /// See `ttl_start`.
    pub ttl_threshold: u8,
    /// Number of repetitions of a network-wide request (RREQ_RETRIES).
    pub retries: u32,
    /// Maximum number of requests that a node may send in a second (RREQ_RATELIMIT); zero means no limit.
    pub rate_limit: u32,
    /// Maximum wait for a reply. In ns-2, a node also sends no request for this time after the last attempt.
    pub max_wait: Span,
    /// Interval of hello messages; with `None`, only the MAC detects broken links.
    pub hello: Option<Span>,
    /// Number of consecutive hello messages that may be lost (ALLOWED_HELLO_LOSS).
    pub allowed_hello_loss: u32,
    /// Whether AODV uses the link failures that the MAC detects.
    pub link_layer_detection: bool,
    /// Whether a node that is nearer to the destination than to the source repairs a route itself.
    pub local_repair: bool,
    /// Maximum number of packets that wait for a route, and their maximum waiting time.
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
