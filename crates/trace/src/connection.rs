//! TCP connections of a capture.

use crate::board::{Context, Place};
use crate::half::{Feedback, Half};
use crate::limits::Shares;
use crate::record::Recording;
use crate::tcp::{ACK, AE, CWR, ECE, End, FIN, RST, SYN, Segment};
use std::collections::{BTreeMap, VecDeque};

/// Connections that are read at most; more are counted. One takes about 2.7 kB, so they take 500 MB, and 330 MB in a page.
pub const MAX_CONNECTIONS: usize = if cfg!(target_arch = "wasm32") { 120_000 } else { 180_000 };
const DUPLICATE_WITHIN: u64 = 1_000_000;
const REMEMBERED: usize = 8;

/// A TCP connection.
pub struct Connection {
    /// The ends; the first one sent the first packet.
    pub ends: [End; 2],
    /// IPv6.
    pub v6: bool,
    /// Data from the first end to the second, and the other way.
    pub halves: [Half; 2],
    /// The first packet, ns.
    pub first: u64,
    /// The last packet, ns.
    pub last: u64,
    /// Both ends sent the timestamps option.
    pub timestamps: bool,
    /// Both ends permit SACK.
    pub sack: bool,
    /// The SYN offers accurate ECN.
    pub accurate: bool,
    /// The time from SYN to SYN-ACK and from there to the ACK, ns.
    pub handshake: [u64; 2],
    syn_at: u64,
    syn_ack_at: u64,
    closed: bool,
}

/// The direction of which rows are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The number of the connection, from 0.
    pub connection: usize,
    /// 0: from its first end.
    pub direction: usize,
}

/// All connections of a capture.
pub struct Connections {
    index: BTreeMap<(End, End), usize>,
    /// In the order of their first packets.
    pub list: Vec<Connection>,
    /// Packets of connections beyond the limit.
    pub left_out: u64,
    /// Packets that the capture has twice.
    pub duplicates: u64,
    chosen: Option<Chosen>,
    /// Rows of the chosen direction.
    pub recording: Recording,
    /// The time of the file's first packet, ns.
    pub origin: u64,
    /// The clock's resolution, ns.
    pub tick: u64,
    /// The data sender's end of the capture is elsewhere: reasons are not told apart.
    pub place: Option<Place>,
    last: Option<((End, End), usize)>,
    remembered: [Option<Segment>; REMEMBERED],
    next_remembered: usize,
    /// More than one interface was seen, so packets may be there twice.
    pub interfaces: bool,
}

impl Connections {
    /// None yet; rows of `chosen` are recorded.
    pub fn new(chosen: Option<Chosen>) -> Connections {
        Connections {
            index: BTreeMap::new(),
            list: Vec::new(),
            left_out: 0,
            duplicates: 0,
            chosen,
            recording: Recording::default(),
            origin: 0,
            tick: 1,
            place: None,
            last: None,
            remembered: [None; REMEMBERED],
            next_remembered: 0,
            interfaces: false,
        }
    }

    /// Takes the next segment of the capture.
    pub fn segment(&mut self, segment: &Segment) {
        let twice = self.interfaces && self.is_duplicate(segment);
        self.remembered[self.next_remembered] = Some(*segment);
        self.next_remembered = (self.next_remembered + 1) % REMEMBERED;
        if twice {
            self.duplicates += 1;
            return;
        }
        let key = if segment.source <= segment.destination {
            (segment.source, segment.destination)
        } else {
            (segment.destination, segment.source)
        };
        let number = match self.last {
            Some((last, number)) if last == key => Some(number),
            _ => self.index.get(&key).copied(),
        };
        let first_syn = segment.has(SYN) && !segment.has(ACK);
        let number = match number {
            Some(number) if !(first_syn && self.list[number].closed) => number,
            _ => {
                if self.list.len() >= MAX_CONNECTIONS {
                    self.left_out += 1;
                    return;
                }
                self.list.push(Connection::new(segment));
                self.index.insert(key, self.list.len() - 1);
                self.list.len() - 1
            }
        };
        self.last = Some((key, number));
        let direction = usize::from(self.list[number].ends[0] != segment.source);
        let accurate = self.list[number].accurate;
        let context = Context { origin: self.origin, tick: self.tick, place: self.place, accurate };
        let chosen = |direction| self.chosen == Some(Chosen { connection: number, direction });
        let recorded = [chosen(direction), chosen(1 - direction)];
        self.list[number].segment(segment, direction, context, &mut self.recording, recorded);
    }

    /// Whether the same packet was there within a millisecond on another interface.
    fn is_duplicate(&self, segment: &Segment) -> bool {
        let same = |other: &Segment| {
            let numbers = |s: &Segment| (s.ip_id, s.seq, s.ack, s.flags, s.checksum, s.timestamps, s.length);
            numbers(other) == numbers(segment)
                && (other.source, other.destination) == (segment.source, segment.destination)
                && other.interface != segment.interface
                && segment.at.abs_diff(other.at) < DUPLICATE_WITHIN
                && (segment.ip_id != 0 || segment.timestamps.is_some() || segment.length == 0)
        };
        self.remembered.iter().flatten().any(same)
    }

    /// The file has ended: the shares of each direction that sent data. `[connection][direction]`.
    pub fn finish(&mut self) -> Vec<[Option<Shares>; 2]> {
        let (chosen, recording) = (self.chosen, &mut self.recording);
        let shares = |(number, connection): (usize, &mut Connection)| {
            [0, 1].map(|direction| {
                let board = connection.halves[direction].board.as_mut()?;
                let kept = chosen == Some(Chosen { connection: number, direction });
                let mut rounds = kept.then_some(&mut recording.rounds);
                Some(board.limits.finish(&mut rounds))
            })
        };
        self.list.iter_mut().enumerate().map(shares).collect()
    }
}
impl Connection {
    fn new(segment: &Segment) -> Connection {
        Connection {
            ends: [segment.source, segment.destination],
            v6: segment.v6,
            halves: Default::default(),
            first: segment.at,
            last: segment.at,
            timestamps: false,
            sack: false,
            accurate: false,
            handshake: [0; 2],
            syn_at: 0,
            syn_ack_at: 0,
            closed: false,
        }
    }

    /// Whether both SYNs were seen.
    pub fn has_handshake(&self) -> bool {
        self.halves[0].syn && self.halves[1].syn
    }

    /// The shift of the window field of an end; `None`: unknown.
    fn shift(&self, direction: usize) -> Option<u8> {
        self.has_handshake().then(|| {
            let both = self.halves[0].scale.is_some() && self.halves[1].scale.is_some();
            if both { self.halves[direction].scale.unwrap_or(0) } else { 0 }
        })
    }

    /// Bytes of a full segment of a direction, without options.
    pub fn segment_bytes(&self, direction: usize) -> u32 {
        let options = if self.timestamps { 12 } else { 0 };
        let half = &self.halves[direction];
        let voted = half.board.as_ref().map_or(0, |board| board.vote.0);
        // An end sends at most what the other one accepts.
        match self.halves[1 - direction].mss {
            0 if voted > 0 => voted,
            0 => 1448,
            mss => u32::from(mss).saturating_sub(options).max(1),
        }
    }

    /// Where the capture was taken for the data of a direction, and at which part of the round trip from the sender.
    pub fn place(&self, direction: usize) -> (Place, Option<f64>) {
        let [before, after] = self.handshake;
        let fraction = if before + after > 0 && self.syn_ack_at > 0 && after > 0 {
            // From the first end (which sent the SYN) the share of the round trip that lies beyond this place.
            let beyond = before as f64 / (before + after) as f64;
            if direction == 0 { beyond } else { 1.0 - beyond }
        } else {
            let half = &self.halves[direction];
            let beyond = half.totals.min_rtt as f64;
            if half.totals.min_rtt == 0 || half.echo == 0 {
                return (Place::Unknown, None);
            }
            beyond / (beyond + half.echo as f64)
        };
        let place = if fraction > 0.95 {
            Place::Sender
        } else if fraction < 0.05 {
            Place::Receiver
        } else {
            Place::Middle
        };
        (place, Some(fraction))
    }

    fn segment(
        &mut self,
        segment: &Segment,
        direction: usize,
        context: Context,
        recording: &mut Recording,
        recorded: [bool; 2],
    ) {
        self.last = self.last.max(segment.at);
        self.handshake(segment, direction);
        let (mine, theirs) = (direction, 1 - direction);
        let mss = self.segment_bytes(mine);
        let shift = self.shift(direction);
        let window = match (segment.has(SYN), shift) {
            (true, _) => Some(u64::from(segment.window)),
            (false, Some(shift)) => Some(u64::from(segment.window) << shift),
            // Zero is zero in any unit.
            (false, None) => (segment.window == 0).then_some(0),
        };
        let span = u64::from(segment.length) + u64::from(segment.has(SYN)) + u64::from(segment.has(FIN));
        if segment.has(RST) || segment.has(FIN) {
            self.closed = true;
        }
        if span > 0 && !segment.has(RST) {
            self.echo(segment, direction);
            let sack = self.sack;
            let output = recorded[0].then_some(&mut *recording);
            let again = self.halves[mine].send(segment, span, mss, sack, context, output);
            self.halves[mine].totals.handshake_again += u64::from(again);
        }
        if segment.has(ACK) {
            let feedback =
                Feedback { segment, window, scale_known: shift.is_some(), accurate: self.accurate };
            let output = recorded[1].then_some(&mut *recording);
            let mss = self.segment_bytes(theirs);
            self.halves[theirs].acked(&feedback, mss, context, output);
        }
        if self.timestamps
            && let Some((value, _)) = segment.timestamps
        {
            let stamps = &mut self.halves[direction].stamps;
            if stamps.back().is_none_or(|(last, _)| *last != value) {
                if stamps.len() >= 64 {
                    stamps.pop_front();
                }
                stamps.push_back((value, segment.at));
            }
        }
        if segment.has(RST) {
            for half in &mut self.halves {
                half.stamps = VecDeque::new();
            }
        }
    }

    fn handshake(&mut self, segment: &Segment, direction: usize) {
        if segment.has(SYN) {
            let half = &mut self.halves[direction];
            half.syn = true;
            half.scale = segment.scale;
            half.mss = segment.mss;
            self.timestamps = segment.timestamps.is_some() && (self.timestamps || !segment.has(ACK));
            self.sack = segment.sack_permitted && (self.sack || !segment.has(ACK));
            if segment.has(ACK) {
                // RFC 9768 section 3.1.2: the answers that accept accurate ECN.
                let ace = segment.flags >> 6 & 7;
                self.accurate &= matches!(ace, 2 | 3 | 4 | 6);
                if self.syn_at > 0 && self.syn_ack_at == 0 {
                    self.handshake[0] = segment.at.saturating_sub(self.syn_at);
                    self.syn_ack_at = segment.at;
                }
            } else {
                self.accurate = segment.flags & (AE | CWR | ECE) == AE | CWR | ECE;
                // Of a SYN that was sent again the time to the SYN-ACK is ambiguous: none is taken.
                self.syn_at = if self.syn_at == 0 { segment.at.max(1) } else { u64::MAX };
            }
        } else if self.syn_ack_at > 0 && self.handshake[1] == 0 && direction == 0 {
            self.handshake[1] = segment.at.saturating_sub(self.syn_ack_at).max(1);
        } else if !self.has_handshake() {
            // The middle of a connection: options tell what was negotiated.
            self.timestamps |= segment.timestamps.is_some();
            self.sack |= segment.sacks > 0;
        }
        if self.syn_at == u64::MAX {
            self.handshake = [0; 2];
        }
    }

    /// The time from an ACK of the other end to the first data that echoes it.
    fn echo(&mut self, segment: &Segment, direction: usize) {
        // The place is known by the handshake.
        if self.handshake[1] > 0 {
            return;
        }
        let Some((_, echo)) = segment.timestamps else { return };
        let seen = self.halves[1 - direction].stamps.iter().find(|(value, _)| *value == echo);
        if let Some((_, at)) = seen {
            let time = segment.at.saturating_sub(*at).max(1);
            let half = &mut self.halves[direction];
            half.echo = if half.echo == 0 { time } else { half.echo.min(time) };
        }
    }
}
