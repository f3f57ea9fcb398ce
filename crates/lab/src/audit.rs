//! The auditor: checks a run from its packet events, sharing no code with the network.
//!
//! It knows the links' rates, delays and limits from the scenario and holds every packet to them: nothing
//! vanishes, nothing arrives before light could, no link sends faster than its rate, no queue holds more than
//! its limit, cumulative ACKs do not go back, no sender has more in flight than its window.

use net::{Kind, LinkId, NodeId, PacketEvent, PacketStep};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use units::{Limit, PS_PER_S, Rate, Span, Time};

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When.
    pub at: Time,
    /// Which rule: conservation, causality, link rate, queue bound, cumulative ack, window.
    pub rule: &'static str,
    /// What happened.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:.9} s: {}", self.rule, self.at.seconds(), self.what)
    }
}

/// What the auditor knows of a link.
#[derive(Clone, Debug)]
pub struct AuditedLink {
    /// Its name.
    pub name: String,
    /// Where it ends.
    pub to: NodeId,
    /// Where it begins.
    pub from: NodeId,
    /// Bits per second.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// Limit of its queue in packets or bytes.
    pub limit: Option<Limit>,
}

/// A packet as the auditor tells it from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Id {
    flow: u32,
    seq: u32,
    kind: Kind,
    size: u32,
    sent: Time,
}

#[derive(Default)]
struct Book {
    /// Accepted packets that have not arrived: what, when it departs, lost or not.
    under_way: VecDeque<(Id, Time, bool)>,
    /// Start of transmission and size of what may still wait.
    waiting: VecDeque<(Time, u32)>,
    last_depart: Time,
    /// Waiting for the departure that belongs to the last acceptance.
    accepted: Option<(Id, Time)>,
    /// Total of accepted packets, of arrivals and of losses.
    totals: (u64, u64, u64),
}

#[derive(Default)]
struct FlowBook {
    last_ack: u32,
}

/// Watches one run.
pub struct Auditor {
    links: Vec<AuditedLink>,
    books: Vec<Book>,
    flows: BTreeMap<(u32, u8), FlowBook>,
    /// Packets that arrived at a node at this instant and must go on or be there: (node, packet).
    at_node: Option<(Time, NodeId, Id)>,
    destinations: BTreeMap<(u32, bool), NodeId>,
    violations: Vec<Violation>,
    count: u64,
}

const MOST: usize = 20;

impl Auditor {
    /// `destinations` says where data (`false`) and ACKs (`true`) of each flow are going.
    pub fn new(
        links: Vec<AuditedLink>,
        destinations: impl IntoIterator<Item = ((u32, bool), NodeId)>,
    ) -> Auditor {
        let books = links.iter().map(|_| Book::default()).collect();
        Auditor {
            links,
            books,
            flows: BTreeMap::new(),
            at_node: None,
            destinations: destinations.into_iter().collect(),
            violations: Vec::new(),
            count: 0,
        }
    }

    fn complain(&mut self, at: Time, rule: &'static str, what: String) {
        self.count += 1;
        if self.violations.len() < MOST {
            self.violations.push(Violation { at, rule, what });
        }
    }

    /// A step of a packet.
    pub fn packet(&mut self, event: &PacketEvent) {
        let p = &event.packet;
        let id = Id { flow: p.flow, seq: p.seq, kind: p.kind, size: p.size, sent: p.sent };
        let link = event.link.0 as usize;
        match event.step {
            PacketStep::Enqueue => self.enqueue(event.at, link, id),
            PacketStep::Depart => self.depart(event.at, link, id),
            PacketStep::Drop(net::Reason::Loss) => self.lose(event.at, link, id),
            PacketStep::Drop(_) => self.came(event.at, link, id),
            PacketStep::Deliver => self.deliver(event.at, event.link, id),
        }
    }

    /// A packet comes to a link: from its source, or because it has just arrived at that link's node.
    fn came(&mut self, at: Time, link: usize, id: Id) {
        match self.at_node.take() {
            Some((when, node, other)) if other == id && when == at && node == self.links[link].from => {}
            other => {
                self.at_node = other;
                if id.sent != at {
                    let name = self.links[link].name.clone();
                    self.complain(at, "causality", format!("{id:?} at {name} out of nowhere"));
                }
                if id.kind == Kind::Ack {
                    let book = self.flows.entry((id.flow, 1)).or_default();
                    let last = book.last_ack;
                    book.last_ack = last.max(id.seq);
                    if id.seq < last {
                        self.complain(
                            at,
                            "cumulative ack",
                            format!("flow {} acknowledges {} after {last}", id.flow, id.seq),
                        );
                    }
                }
            }
        }
    }

    fn enqueue(&mut self, at: Time, link: usize, id: Id) {
        self.came(at, link, id);
        let spec = &self.links[link];
        let book = &mut self.books[link];
        while book.waiting.front().is_some_and(|(start, _)| *start <= at) {
            book.waiting.pop_front();
        }
        // At one instant the departure may come first: that is the milder rule.
        let idle = book.last_depart <= at;
        let start = at.max(book.last_depart);
        let (packets, bytes) =
            (book.waiting.len() as u64, book.waiting.iter().map(|w| w.1 as u64).sum::<u64>());
        let over = match spec.limit {
            _ if idle => false,
            Some(Limit::Packets(limit)) => packets + 1 > limit,
            Some(Limit::Bytes(limit)) => bytes + id.size as u64 > limit,
            _ => false,
        };
        if !idle {
            book.waiting.push_back((start, id.size));
        }
        book.accepted = Some((id, at));
        book.totals.0 += 1;
        if over {
            let what =
                format!("{} holds {} packets, {} bytes", spec.name, packets + 1, bytes + id.size as u64);
            self.complain(at, "queue bound", what);
        }
    }

    fn depart(&mut self, at: Time, link: usize, id: Id) {
        let spec = &self.links[link];
        let book = &mut self.books[link];
        // In bits and picoseconds: the last bit cannot leave earlier than size / rate after the first.
        let taken = (id.size as u128 * 8 * PS_PER_S as u128) / spec.rate.bps() as u128;
        let (accepted, came) = book.accepted.take().unwrap_or((id, Time::NEVER));
        let start = came.max(book.last_depart);
        let early = (at.since(start).ps() as u128) < taken || at < start;
        let matches = accepted == id;
        book.last_depart = book.last_depart.max(at);
        book.under_way.push_back((id, at, false));
        if early {
            let what = format!("{} sends {} bytes in {} ps", spec.name, id.size, at.since(start).ps());
            self.complain(at, "link rate", what);
        }
        if !matches {
            self.complain(at, "conservation", format!("{id:?} departs without having been accepted"));
        }
    }

    fn lose(&mut self, at: Time, link: usize, id: Id) {
        let book = &mut self.books[link];
        match book.under_way.back_mut() {
            Some((last, _, lost)) if *last == id => {
                *lost = true;
                book.totals.2 += 1;
            }
            _ => self.complain(at, "conservation", format!("{id:?} is lost without having departed")),
        }
    }

    fn deliver(&mut self, at: Time, link: LinkId, id: Id) {
        let spec = self.links[link.0 as usize].clone();
        let book = &mut self.books[link.0 as usize];
        while book.under_way.front().is_some_and(|(_, _, lost)| *lost) {
            book.under_way.pop_front();
        }
        let first = book.under_way.pop_front();
        book.totals.1 += 1;
        match first {
            Some((expected, depart, _)) if expected == id => {
                if at < depart + spec.delay {
                    self.complain(
                        at,
                        "causality",
                        format!("{id:?} crosses {} in {} ps", spec.name, at.since(depart).ps()),
                    );
                }
            }
            other => self.complain(
                at,
                "conservation",
                format!("{id:?} arrives over {} in place of {other:?}", spec.name),
            ),
        }
        let there = self.destinations.get(&(id.flow, id.kind == Kind::Ack)) == Some(&spec.to);
        if let Some((when, _, stuck)) = self.at_node.take() {
            self.complain(when, "conservation", format!("{stuck:?} vanished between two links"));
        }
        if !there {
            self.at_node = Some((at, spec.to, id));
        }
    }

    /// A sender is about to send new data.
    pub fn sending(&mut self, at: Time, flow: u32, in_flight: u32, window: u32) {
        if in_flight > window {
            self.complain(
                at,
                "window",
                format!("flow {flow} has {in_flight} in flight with a window of {window}"),
            );
        }
    }

    /// Closes the books: what the network says of each link (accepted by the queue, delivered, lost, in flight)
    /// must be what was seen. The first violations, and how many there were.
    pub fn close(mut self, at: Time, accounts: &[net::LinkAccount]) -> (Vec<Violation>, u64) {
        for (link, account) in accounts.iter().enumerate() {
            let book = &mut self.books[link];
            let lost = book.totals.2;
            let (accepted, delivered) = (book.totals.0, book.totals.1);
            let refused: u64 =
                account.dropped.iter().sum::<u64>() - account.dropped[net::Reason::Loss as usize];
            let balanced = account.offered == accepted + refused
                && account.delivered == delivered
                && account.offered
                    == account.delivered + account.dropped.iter().sum::<u64>() + account.in_flight
                && account.dropped[net::Reason::Loss as usize] <= lost;
            if !balanced {
                let what = format!(
                    "{}: {account:?}, but {accepted} accepted, {delivered} arrived, {lost} lost",
                    self.links[link].name
                );
                self.complain(at, "conservation", what);
            }
        }
        (self.violations, self.count)
    }
}
