//! pcap and pcapng: bytes are pushed in chunks of any size, packets come out.
//!
//! Formats: pcap of libpcap (both byte orders, microseconds and nanoseconds, versions 2.0 to 2.4, and the variant with records
//! of 24 bytes), pcapng (draft-ietf-opsawg-pcapng) with several sections and interfaces. Blocks without packets are skipped by
//! their length, so memory is bounded by [`LARGEST`].

use crate::bytes::Order;

/// The largest block or packet, bytes.
pub const LARGEST: usize = 1 << 18;
const MAX_INTERFACES: usize = 4096;
const MAX_NAMES: usize = 4096;

/// A packet of a capture, as it was on the link.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Nanoseconds since 1970, or since the clock's zero.
    pub at: u64,
    /// The link type (the numbers of tcpdump.org).
    pub link: u16,
    /// The number of the interface in its section.
    pub interface: u32,
    /// The captured bytes.
    pub data: &'a [u8],
    /// Bytes on the wire.
    pub wire: u32,
}

/// Why reading stopped before the end of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The byte of the file.
    pub offset: u64,
    /// What is wrong there.
    pub what: String,
}

#[derive(Clone, Copy)]
struct Interface {
    link: u16,
    resolution: Resolution,
    /// Seconds added to each time.
    offset: i64,
}

/// The unit of the timestamps of an interface.
#[derive(Clone, Copy)]
enum Resolution {
    /// 10^-n s.
    Decimal(u32),
    /// 2^-n s.
    Binary(u32),
}

impl Resolution {
    fn nanoseconds(self, raw: u64) -> u64 {
        match self {
            Resolution::Decimal(digits @ 0..=9) => raw.wrapping_mul(10u64.pow(9 - digits)),
            Resolution::Decimal(digits) => 10u64.checked_pow(digits - 9).map_or(0, |part| raw / part),
            Resolution::Binary(digits) => ((u128::from(raw) * 1_000_000_000) >> digits.min(127)) as u64,
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Unknown,
    Pcap { order: Order, nanoseconds: bool, link: u16, record: usize, minor: u16 },
    Pcapng { order: Order },
}

/// A capture file that is being read.
pub struct Container {
    pending: Vec<u8>,
    kind: Kind,
    interfaces: Vec<Interface>,
    /// Bytes to leave out at the begin of the next chunk.
    skip: u64,
    /// Bytes that came before `pending`.
    before: u64,
    /// Packets read.
    pub packets: u64,
    /// Packets that lack a time or an interface, and records that end too early.
    pub damaged: u64,
    /// Packets that the capturing program lost, by its own statistics.
    pub dropped: u64,
    /// Names of IPv4 addresses that the file gives.
    pub names: Vec<([u8; 4], String)>,
    /// The largest number of captured bytes of a packet that was cut off.
    pub snap: Option<u32>,
    /// Why reading stopped.
    pub stop: Option<Stop>,
}

impl Default for Container {
    fn default() -> Self {
        Container {
            pending: Vec::new(),
            kind: Kind::Unknown,
            interfaces: Vec::new(),
            skip: 0,
            before: 0,
            packets: 0,
            damaged: 0,
            dropped: 0,
            names: Vec::new(),
            snap: None,
            stop: None,
        }
    }
}

impl Container {
    /// The name of the format: `pcap` or `pcapng`.
    pub fn format(&self) -> &'static str {
        match self.kind {
            Kind::Unknown => "unknown",
            Kind::Pcap { .. } => "pcap",
            Kind::Pcapng { .. } => "pcapng",
        }
    }

    /// Reads the next bytes of the file and calls `each` with every packet that they complete.
    pub fn push(&mut self, chunk: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        if self.stop.is_some() {
            return;
        }
        let left_out = self.skip.min(chunk.len() as u64);
        self.skip -= left_out;
        self.before += left_out;
        let chunk = &chunk[left_out as usize..];
        if chunk.is_empty() {
            return;
        }
        if self.pending.is_empty() {
            let used = self.read(chunk, each);
            self.pending.extend_from_slice(chunk.get(used..).unwrap_or_default());
            self.skip += used.saturating_sub(chunk.len()) as u64;
            self.before += used.min(chunk.len()) as u64;
        } else {
            let mut bytes = std::mem::take(&mut self.pending);
            bytes.extend_from_slice(chunk);
            let used = self.read(&bytes, each);
            self.skip += used.saturating_sub(bytes.len()) as u64;
            self.before += used.min(bytes.len()) as u64;
            bytes.drain(..used.min(bytes.len()));
            self.pending = bytes;
        }
    }

    /// The file has ended. Bytes of an unfinished record are reported as a stop.
    pub fn finish(&mut self) {
        if self.stop.is_none() && (!self.pending.is_empty() || self.skip > 0) {
            self.stop = Some(Stop {
                offset: self.before,
                what: format!("the file ends within a record ({} bytes of it are there)", self.pending.len()),
            });
        }
    }

    fn stop(&mut self, offset: usize, what: String) {
        self.stop = Some(Stop { offset: self.before + offset as u64, what });
    }

    /// Reads whole records. Returns the bytes used; more than there are: the rest of a skipped block follows.
    fn read(&mut self, bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) -> usize {
        let mut at = 0;
        while self.stop.is_none() {
            let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) else { return at };
            let step = match self.kind {
                Kind::Unknown => self.begin(rest, at),
                Kind::Pcap { order, nanoseconds, link, record, minor } => {
                    let header = PcapHeader { order, nanoseconds, link, record, minor };
                    self.pcap(rest, at, header, each)
                }
                Kind::Pcapng { order } => self.pcapng(rest, at, order, each),
            };
            match step {
                Some(used) => at = at.saturating_add(used),
                None => return at,
            }
        }
        bytes.len()
    }

    /// The file header. `None`: more bytes are needed.
    fn begin(&mut self, rest: &[u8], at: usize) -> Option<usize> {
        if rest.len() < 24 {
            return None;
        }
        let magic = Order::Little.u32(rest, 0)?;
        let (order, nanoseconds, record) = match magic {
            0x0a0d_0d0a => {
                self.kind = Kind::Pcapng { order: section_order(rest)? };
                return Some(0);
            }
            0xa1b2_c3d4 => (Order::Little, false, 16),
            0xd4c3_b2a1 => (Order::Big, false, 16),
            0xa1b2_3c4d => (Order::Little, true, 16),
            0x4d3c_b2a1 => (Order::Big, true, 16),
            0xa1b2_cd34 => (Order::Little, false, 24),
            0x34cd_b2a1 => (Order::Big, false, 24),
            _ => {
                self.stop(at, "it is no capture".to_owned());
                return Some(0);
            }
        };
        // The upper bits of the field of the link type say how long a frame check sequence is.
        let link = (order.u32(rest, 20)? & 0xffff) as u16;
        self.kind = Kind::Pcap { order, nanoseconds, link, record, minor: order.u16(rest, 6)? };
        Some(24)
    }

    fn pcap(
        &mut self,
        rest: &[u8],
        at: usize,
        header: PcapHeader,
        each: &mut dyn FnMut(Frame<'_>),
    ) -> Option<usize> {
        let order = header.order;
        if rest.len() < header.record {
            return None;
        }
        let (seconds, part) = (order.u32(rest, 0)?, order.u32(rest, 4)?);
        let (mut captured, mut wire) = (order.u32(rest, 8)?, order.u32(rest, 12)?);
        // libpcap before version 2.3 wrote both lengths in the other order; some writers of 2.3 did too.
        if header.minor < 3 || (header.minor == 3 && captured > wire) {
            std::mem::swap(&mut captured, &mut wire);
        }
        let length = captured as usize;
        if length > LARGEST {
            self.stop(at, format!("a packet of {length} bytes, more than {LARGEST}"));
            return Some(0);
        }
        let data = rest.get(header.record..header.record + length)?;
        let part = u64::from(part);
        let nanoseconds = if header.nanoseconds { part } else { part * 1000 };
        self.packet(
            Frame {
                at: u64::from(seconds) * 1_000_000_000 + nanoseconds,
                link: header.link,
                interface: 0,
                data,
                wire,
            },
            each,
        );
        Some(header.record + length)
    }

    fn pcapng(
        &mut self,
        rest: &[u8],
        at: usize,
        mut order: Order,
        each: &mut dyn FnMut(Frame<'_>),
    ) -> Option<usize> {
        const SECTION: u32 = 0x0a0d_0d0a;
        if rest.len() < 12 {
            return None;
        }
        let kind = order.u32(rest, 0)?;
        if kind == SECTION {
            order = section_order(rest)?;
            self.kind = Kind::Pcapng { order };
            self.interfaces.clear();
        }
        let length = order.u32(rest, 4)? as usize;
        if length < 12 || !length.is_multiple_of(4) {
            self.stop(at, format!("a block of {length} bytes"));
            return Some(0);
        }
        if !matches!(kind, 1..=6) {
            return Some(length);
        }
        if length > LARGEST {
            self.stop(at, format!("a block of {length} bytes, more than {LARGEST}"));
            return Some(0);
        }
        let body = rest.get(..length)?.get(8..length - 4)?;
        match kind {
            1 => self.interface(body, order),
            2 | 6 => self.enhanced(kind, body, order, each),
            3 => self.damaged += 1, // a simple packet block has no time
            4 => self.resolve(body, order),
            _ => self.statistics(body, order),
        }
        Some(length)
    }

    fn interface(&mut self, body: &[u8], order: Order) {
        let Some(link) = order.u16(body, 0) else { return };
        let mut interface = Interface { link, resolution: Resolution::Decimal(6), offset: 0 };
        for (code, value) in options(body.get(8..).unwrap_or_default(), order) {
            match (code, value) {
                (9, [digits]) if digits & 0x80 != 0 => {
                    interface.resolution = Resolution::Binary(u32::from(digits & 0x7f));
                }
                (9, [digits]) => interface.resolution = Resolution::Decimal(u32::from(*digits)),
                (14, value) if value.len() == 8 => interface.offset = order.u64(value, 0).unwrap_or(0) as i64,
                _ => {}
            }
        }
        if self.interfaces.len() < MAX_INTERFACES {
            self.interfaces.push(interface);
        }
    }

    fn enhanced(&mut self, kind: u32, body: &[u8], order: Order, each: &mut dyn FnMut(Frame<'_>)) {
        let packet = || {
            let number = if kind == 6 { order.u32(body, 0)? } else { u32::from(order.u16(body, 0)?) };
            let interface = self.interfaces.get(number as usize)?;
            let raw = u64::from(order.u32(body, 4)?) << 32 | u64::from(order.u32(body, 8)?);
            let (captured, wire) = (order.u32(body, 12)? as usize, order.u32(body, 16)?);
            let data = body.get(20..20usize.checked_add(captured)?)?;
            let since = (interface.offset as u64).wrapping_mul(1_000_000_000);
            let at = interface.resolution.nanoseconds(raw).wrapping_add(since);
            Some(Frame { at, link: interface.link, interface: number, data, wire })
        };
        match packet() {
            Some(frame) => self.packet(frame, each),
            None => self.damaged += 1,
        }
    }

    /// Names of addresses: records of type 1 (IPv4).
    fn resolve(&mut self, body: &[u8], order: Order) {
        for (kind, value) in options(body, order) {
            if kind == 1 && value.len() > 5 && self.names.len() < MAX_NAMES {
                let text = value[4..].split(|byte| *byte == 0).next().unwrap_or_default();
                let name = String::from_utf8_lossy(&text[..text.len().min(64)]).into_owned();
                self.names.push(([value[0], value[1], value[2], value[3]], name));
            }
        }
    }

    fn statistics(&mut self, body: &[u8], order: Order) {
        for (code, value) in options(body.get(12..).unwrap_or_default(), order) {
            if code == 5 && value.len() == 8 {
                self.dropped = self.dropped.saturating_add(order.u64(value, 0).unwrap_or(0));
            }
        }
    }

    fn packet(&mut self, frame: Frame<'_>, each: &mut dyn FnMut(Frame<'_>)) {
        self.packets += 1;
        if (frame.data.len() as u64) < u64::from(frame.wire) {
            self.snap = self.snap.max(Some(frame.data.len() as u32));
        }
        each(frame);
    }
}

#[derive(Clone, Copy)]
struct PcapHeader {
    order: Order,
    nanoseconds: bool,
    link: u16,
    /// Bytes of a record's header.
    record: usize,
    minor: u16,
}

/// The byte order of the section that begins here.
fn section_order(block: &[u8]) -> Option<Order> {
    Some(if *block.get(8..12)? == [0x1a, 0x2b, 0x3c, 0x4d] { Order::Big } else { Order::Little })
}

/// The options of a block, or the records of a name resolution block: code and value.
fn options(mut bytes: &[u8], order: Order) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (code, length) = (order.u16(bytes, 0)?, usize::from(order.u16(bytes, 2)?));
        if code == 0 {
            return None;
        }
        let value = bytes.get(4..4 + length)?;
        bytes = bytes.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        Some((code, value))
    })
}
