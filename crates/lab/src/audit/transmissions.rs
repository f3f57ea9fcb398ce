//! Transmissions under audit: the rules of channel access, of block ACK windows, and of transport blocks.

use super::airtime::{BETWEEN_PPDUS, after_a_failure};
use super::media::{AccessRules, AuditedMedium, CellRules, EdcaRules};
use net::wifi::{Access, DeviceOwner};
use net::{Content, MpduResult, Transmission};
use std::collections::{BTreeMap, VecDeque};
use units::{Span, Time};

/// The last transmissions on a channel that began together.
#[derive(Clone)]
struct LastAccess {
    begin: Time,
    end: Time,
    /// Number of its transmissions, and whether the first one is marked as collided.
    transmissions: u32,
    collided: bool,
    /// Whether there was an answer.
    answered: bool,
    transmitter: DeviceOwner,
    /// When the TXOP of the transmitter began.
    txop_begin: Time,
}

/// The result of the check of an access.
struct AccessCheck {
    violation: Option<String>,
    /// Whether it is a later transmission of a TXOP.
    continues_txop: bool,
}

impl AccessCheck {
    /// A transmission that contended for the channel.
    fn first(violation: Option<String>) -> AccessCheck {
        AccessCheck { violation, continues_txop: false }
    }
}

impl LastAccess {
    /// An access with one transmission, whose TXOP begins with it.
    fn new(t: &Transmission, transmitter: DeviceOwner, collided: bool, answered: bool) -> LastAccess {
        let (begin, end) = (t.begin, t.end);
        LastAccess { begin, end, transmissions: 1, collided, answered, transmitter, txop_begin: begin }
    }

    /// When the TXOP began in which the same device transmits again; none if it does not.
    fn txop_of(&self, next: &LastAccess) -> Option<Time> {
        let goes_on =
            next.begin == self.end + BETWEEN_PPDUS && self.transmitter == next.transmitter && self.answered;
        goes_on.then_some(self.txop_begin)
    }
}

impl EdcaRules {
    /// The PPDU has the airtimes of its bytes, and no more bytes and packets than one can have; RTS and CTS come before it
    /// unless it is a later one of a TXOP. Returns a violation.
    fn duration(&self, t: &Transmission, later: bool) -> Option<String> {
        let Content::Ppdu { mcs, data, collided, ref mpdus, .. } = t.content else { return None };
        let (airtimes, used) = (&self.airtimes, t.end.since(t.begin));
        if mpdus.is_empty() {
            // An RTS that collided.
            return (!collided || data <= used).then(|| "a PPDU without data".into());
        }
        let bytes = airtimes.bytes(mpdus.iter().map(|mpdu| mpdu.bytes));
        if let Some(mpdu) = mpdus.iter().find(|mpdu| !airtimes.permits(mpdu.packets, mpdu.bytes)) {
            return Some(format!("an MPDU has {} packets in {} bytes", mpdu.packets, mpdu.bytes));
        }
        let several = mpdus.len() > 1;
        if several && bytes > airtimes.most_bytes() {
            return Some(format!("a PPDU has {bytes} bytes"));
        }
        if several && data > airtimes.longest {
            return Some(format!("a PPDU lasts {} us", data.ps() / 1_000_000));
        }
        let answered = mpdus.iter().any(|mpdu| mpdu.arrived);
        let answer = if answered { airtimes.answer(mcs) } else { Span::ZERO };
        let protected = bytes >= self.rts_threshold as u64 && !later;
        let protection = if protected { airtimes.protection(mcs) } else { Span::ZERO };
        (data != airtimes.data(mcs, bytes) || used != protection + data + answer)
            .then(|| format!("{bytes} bytes at MCS {mcs} last {} ps, and {} ps in all", data.ps(), used.ps()))
    }

    /// A transmission in a TXOP that began at `begin` ends in it. Returns a violation.
    fn within_txop(&self, t: &Transmission, begin: Time, access: Access) -> Option<String> {
        let over = t.end > begin + self.txop[access as usize];
        over.then(|| format!("its TXOP began at {} ps, and it ends at {} ps", begin.ps(), t.end.ps()))
    }
}

/// The MPDUs of a link: the next number, and the attempts of those that have not arrived.
#[derive(Clone, Default)]
struct Agreement {
    next: u32,
    missing: BTreeMap<u32, u32>,
}

impl Agreement {
    /// Adds the MPDUs of a PPDU, in the order of their numbers. Returns a violation.
    fn add(&mut self, mpdus: &[MpduResult], collided: bool, window: u32, attempts: u32) -> Option<String> {
        for (place, mpdu) in mpdus.iter().enumerate() {
            let number = mpdu.number;
            if place > 0 && mpdus[place - 1].number >= number {
                return Some(format!("MPDU {number} is out of order"));
            }
            if number == self.next {
                self.next += 1;
                self.missing.insert(number, 0);
            }
            let Some(before) = self.missing.get_mut(&number) else {
                return Some(format!("MPDU {number} is neither new nor missing"));
            };
            *before += 1;
            if *before != mpdu.attempt || mpdu.attempt > attempts {
                return Some(format!("attempt {} of MPDU {number} of {attempts} is {before}", mpdu.attempt));
            }
            if mpdu.arrived && collided {
                return Some(format!("MPDU {number} arrives in a collision"));
            }
        }
        let oldest = self.missing.first_key_value().map_or(0, |(number, _)| *number);
        let last = mpdus.last().map_or(0, |mpdu| mpdu.number);
        for mpdu in mpdus.iter().filter(|mpdu| mpdu.arrived || mpdu.attempt == attempts) {
            self.missing.remove(&mpdu.number);
        }
        (last >= oldest + window).then(|| format!("MPDU {last} is beyond the window from {oldest} on"))
    }
}

/// A transport block that has not arrived: its last attempt.
#[derive(Clone)]
struct OpenBlock {
    attempt: u32,
    begin: Time,
    width: u32,
}

/// The transport blocks of a link.
#[derive(Clone, Default)]
struct Blocks {
    /// Blocks that are to be sent again, by the begin of their first attempt.
    open: BTreeMap<Time, OpenBlock>,
    /// Begins of the last attempts of the others, while they occupy a HARQ process.
    last: VecDeque<Time>,
    /// The last handover.
    handover: Option<Time>,
}

impl Blocks {
    /// Adds an attempt of the block that was first sent at `first`. Returns a violation.
    fn add(
        &mut self,
        first: Time,
        block: OpenBlock,
        arrived: bool,
        rules: &CellRules,
        slot: Span,
    ) -> Option<String> {
        let round_trip = slot * rules.harq_rtt;
        let OpenBlock { attempt, begin, width } = block;
        let handover = rules.interruptions.iter().rev().map(|(from, _)| *from).find(|from| *from <= begin);
        if self.handover != handover {
            self.handover = handover;
            self.open.clear();
            self.last.clear();
        }
        let follows = match self.open.remove(&first) {
            None => attempt == 1 && first == begin,
            Some(last) => {
                attempt == last.attempt + 1 && begin >= last.begin + round_trip && width <= last.width
            }
        };
        while self.last.front().is_some_and(|sent| *sent + round_trip <= begin) {
            self.last.pop_front();
        }
        if arrived || attempt >= rules.attempts {
            self.last.push_back(begin);
        } else {
            self.open.insert(first, block);
        }
        let processes = (self.open.len() + self.last.len()) as u32;
        if !follows || attempt > rules.attempts {
            return Some(format!("attempt {attempt} of the block of {} s does not follow", first.seconds()));
        }
        (processes > rules.processes).then(|| format!("{processes} HARQ processes are in use"))
    }
}

/// The transmissions so far, as far as the next ones depend on them.
#[derive(Clone, Default)]
pub(super) struct Transmissions {
    channels: BTreeMap<u32, LastAccess>,
    /// By link and access category.
    agreements: BTreeMap<(u32, Access), Agreement>,
    /// Of each channel of a cell: the present slot, and the resource blocks in use.
    slots: BTreeMap<u32, (Time, u32)>,
    /// By link.
    blocks: BTreeMap<u32, Blocks>,
}

impl Transmissions {
    /// Adds a transmission on `medium`. Returns a violation.
    pub(super) fn add(&mut self, medium: &AuditedMedium, t: &Transmission) -> Option<String> {
        match (&medium.rules, &t.content) {
            (AccessRules::Unchecked, _) => None,
            (AccessRules::Edca(rules), Content::BlockAckRequest { access, collided }) => {
                let transmitter = DeviceOwner { node: rules.node, access: *access };
                let access = LastAccess::new(t, transmitter, *collided, !*collided);
                self.access(medium.number, rules, t, access).violation
            }
            (AccessRules::Edca(rules), Content::Ppdu { access, collided, mpdus, .. }) => {
                let agreement = self.agreements.entry((t.link.0, *access)).or_default();
                let window = rules.airtimes.window as u32;
                let violation = agreement.add(mpdus, *collided, window, rules.attempts);
                let answered = mpdus.iter().any(|mpdu| mpdu.arrived);
                let transmitter = DeviceOwner { node: rules.node, access: *access };
                let access = LastAccess::new(t, transmitter, *collided, answered);
                let check = self.access(medium.number, rules, t, access);
                check.violation.or(violation).or(rules.duration(t, check.continues_txop))
            }
            (AccessRules::Cell(rules), Content::Block { width, attempt, first, arrived, .. }) => {
                let block = OpenBlock { attempt: *attempt, begin: t.begin, width: *width };
                let violation = self.slot(medium, rules, t, *width);
                let blocks = self.blocks.entry(t.link.0).or_default();
                violation.or(blocks.add(*first, block, *arrived, rules, medium.slot))
            }
            _ => Some("a transmission of another kind of medium".into()),
        }
    }

    /// Accesses do not overlap and follow each other after AIFS, or EIFS; those that begin together collide. A device with a
    /// TXOP transmits again after SIFS.
    fn access(
        &mut self,
        channel: u32,
        rules: &EdcaRules,
        t: &Transmission,
        mut this: LastAccess,
    ) -> AccessCheck {
        let access = this.transmitter.access;
        let Some(last) = self.channels.get_mut(&channel) else {
            self.channels.insert(channel, this);
            return AccessCheck::first(None);
        };
        let txop = last.txop_of(&this);
        this.txop_begin = txop.unwrap_or(this.begin);
        if t.begin == last.begin {
            last.end = last.end.max(t.end);
            last.transmissions += 1;
            last.answered |= this.answered;
            let unmarked = !this.collided || !last.collided;
            return AccessCheck::first(unmarked.then(|| "a collision that is not marked as one".into()));
        }
        let LastAccess { end, transmissions, collided, answered, .. } = std::mem::replace(last, this);
        if let Some(begin) = txop {
            return AccessCheck { violation: rules.within_txop(t, begin, access), continues_txop: true };
        }
        let longer = rules.eifs && !answered;
        let idle = end + if longer { after_a_failure() } else { Span::ZERO };
        let from = idle + rules.aifs[access as usize];
        if t.begin < from {
            let early = from.since(t.begin).ps();
            let name = if longer { "EIFS" } else { "AIFS" };
            return AccessCheck::first(Some(format!("it begins {early} ps before {name} is over")));
        }
        let alone = transmissions == 1 && collided;
        AccessCheck::first(alone.then(|| "a collision of one transmission".into()))
    }

    /// Blocks begin at slots, take at most the resource blocks of the cell, and none is sent in an interruption.
    fn slot(
        &mut self,
        medium: &AuditedMedium,
        rules: &CellRules,
        t: &Transmission,
        width: u32,
    ) -> Option<String> {
        if !t.begin.ps().is_multiple_of(medium.slot.ps()) || t.end != t.begin + medium.slot {
            return Some(format!("a block lasts from {} to {} ps", t.begin.ps(), t.end.ps()));
        }
        if let Some((from, _)) = rules.interruptions.iter().find(|(from, to)| (*from..*to).contains(&t.begin))
        {
            return Some(format!("a block is sent after the handover at {} s", from.seconds()));
        }
        let place = (t.begin.ps() / medium.slot.ps()) as usize % rules.pattern.len();
        if !rules.pattern[place] {
            return Some(format!("slot {place} of the period is for the other direction"));
        }
        let all = rules.blocks.iter().rev().find(|(from, _)| *from <= t.begin).map_or(0, |(_, all)| *all);
        let slot = self.slots.entry(medium.number).or_insert((t.begin, 0));
        if slot.0 != t.begin {
            *slot = (t.begin, 0);
        }
        slot.1 += width;
        (width == 0 || slot.1 > all).then(|| format!("{} of {all} resource blocks are in use", slot.1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::airtime::Airtimes;
    use super::*;
    use net::LinkId;
    use net::wifi::{Phy, Standard};
    use units::Rate;

    const US: u64 = 1_000_000;

    fn medium(rules: AccessRules, slot: Span) -> AuditedMedium {
        AuditedMedium { number: 0, peak: Some(Rate::from_bps(1)), slot, ahead: Span::ZERO, rules }
    }

    /// A PPDU: link, time after the one before (us; none: they begin together), by how much it is too long (us), whether it is
    /// alone, MPDUs (number, attempt, arrived).
    type TestPpdu = (u32, Option<u64>, u64, bool, &'static [(u32, u32, bool)]);

    /// The violation of the last of some PPDUs of 802.11ac at MCS 0: 1,538 bytes in 1,944 us, and an answer in 84 us.
    fn on_channel(ppdus: &[TestPpdu], txop: u64) -> Option<String> {
        let airtimes = {
            let mut phy = Phy::new(Standard::Ac, 20, 1, Span::from_ps(800_000)).unwrap();
            (phy.window, phy.longest) = (4, Span::from_ms(7));
            Airtimes::new(&phy)
        };
        let rules = EdcaRules {
            node: 0,
            aifs: [Span::from_ps(43 * US); 4],
            txop: [Span::from_ps(txop * US); 4],
            airtimes: airtimes.clone(),
            attempts: 2,
            rts_threshold: u32::MAX,
            eifs: true,
        };
        let medium = medium(AccessRules::Edca(rules), Span::ZERO);
        let mut transmissions = Transmissions::default();
        let (mut last, mut begin, mut end) = (None, Time::ZERO, Time::ZERO);
        for (link, gap, excess, alone, mpdus) in ppdus {
            assert_eq!(last, None);
            let result = |(number, attempt, arrived): &(u32, u32, bool)| MpduResult {
                number: *number,
                attempt: *attempt,
                bytes: 1538,
                packets: 1,
                arrived: *arrived,
            };
            let mpdus: Vec<MpduResult> = mpdus.iter().map(result).collect();
            begin = gap.map_or(begin, |gap| end + Span::from_ps(gap * US));
            let data = airtimes.data(0, airtimes.bytes(mpdus.iter().map(|mpdu| mpdu.bytes)));
            let answered = mpdus.iter().any(|mpdu| mpdu.arrived);
            let answer = if answered { airtimes.answer(0) } else { Span::ZERO };
            end = begin + data + answer + Span::from_ps(excess * US);
            let access = Access::BestEffort;
            let content = Content::Ppdu { access, mcs: 0, data, collided: !*alone, mpdus };
            let link = LinkId(*link);
            last = transmissions.add(&medium, &Transmission { link, begin, end, content });
        }
        last
    }

    #[test]
    fn accesses_and_windows_are_checked() {
        let first = (0, Some(100), 0, true, &[(0, 1, true), (1, 1, false)][..]);
        let good = (0, Some(43), 0, true, &[(1, 2, true), (2, 1, true)][..]);
        assert_eq!(on_channel(&[first, good], 0), None);
        let wrong = |second: TestPpdu| on_channel(&[first, second], 0).unwrap();
        assert!(wrong((0, Some(42), 0, true, &[(1, 2, true)])).contains("before AIFS"));
        assert!(wrong((1, None, 0, true, &[(0, 1, true)])).contains("not marked"));
        assert!(wrong((0, Some(43), 0, true, &[(0, 2, true)])).contains("neither new nor missing"));
        assert!(wrong((0, Some(43), 0, true, &[(1, 1, true)])).contains("attempt"));
        assert!(wrong((0, Some(43), 0, true, &[(1, 2, true), (3, 1, true)])).contains("neither new"));
        const WINDOW: [(u32, u32, bool); 5] =
            [(1, 2, false), (2, 1, true), (3, 1, true), (4, 1, true), (5, 1, true)];
        assert!(wrong((0, Some(43), 0, true, &WINDOW)).contains("beyond the window"));
        assert!(wrong((0, Some(43), 0, true, &WINDOW[..4])).contains("lasts 7"));
        assert!(wrong((0, Some(43), 1, true, &[(1, 2, true), (2, 1, true)])).contains("in all"));
        let collided = (0, Some(43), 0, false, &[(1, 2, true)][..]);
        assert!(wrong(collided).contains("in a collision"));
        let of_one = (0, Some(43), 0, false, &[(1, 2, false)][..]);
        let next = (0, Some(200), 0, true, &[(2, 1, true)][..]);
        assert!(on_channel(&[first, of_one, next], 0).unwrap().contains("collision of one"));
        let lost = (0, Some(43), 0, true, &[(1, 2, false)][..]);
        let early = (0, Some(102), 0, true, &[(2, 1, true)][..]);
        assert!(on_channel(&[first, lost, early], 0).unwrap().contains("before EIFS"));
        // In a TXOP a device goes on after SIFS.
        let second = (0, Some(16), 0, true, &[(1, 2, true)][..]);
        assert!(wrong(second).contains("TXOP"));
        assert_eq!(on_channel(&[first, second], 6_000), None);
    }

    /// The violation of the last of some blocks of link 0: slot, width, attempt, slot of the first attempt, arrived.
    fn in_cell(blocks: &[(u64, u32, u32, u64, bool)]) -> Option<String> {
        let rules = CellRules {
            blocks: vec![(Time::ZERO, 50), (Time::from_ps(20_000 * US), 25)],
            pattern: [vec![true; 39], vec![false]].concat(),
            harq_rtt: 8,
            attempts: 2,
            processes: 2,
            interruptions: vec![(Time::from_ps(30_000 * US), Time::from_ps(35_000 * US))],
        };
        let medium = medium(AccessRules::Cell(rules), Span::from_ms(1));
        let mut transmissions = Transmissions::default();
        let mut last = None;
        for (slot, width, attempt, first, arrived) in blocks {
            assert_eq!(last, None);
            let at = |slot: u64| Time::from_ps(slot * 1000 * US);
            let (first, width, attempt, arrived) = (at(*first), *width, *attempt, *arrived);
            let content = Content::Block { mcs: 0, width, all: 50, attempt, first, parts: 1, arrived };
            let (begin, end) = (at(*slot), at(slot + 1));
            last = transmissions.add(&medium, &Transmission { link: LinkId(0), begin, end, content });
        }
        last
    }

    #[test]
    fn blocks_are_checked() {
        assert_eq!(in_cell(&[(0, 50, 1, 0, false), (8, 50, 2, 0, true), (9, 50, 1, 9, true)]), None);
        let wrong = |blocks: &[(u64, u32, u32, u64, bool)]| in_cell(blocks).unwrap();
        assert!(wrong(&[(0, 51, 1, 0, false)]).contains("51 of 50"));
        assert!(wrong(&[(20, 26, 1, 20, false)]).contains("26 of 25"));
        assert!(wrong(&[(0, 50, 1, 0, false), (7, 50, 2, 0, true)]).contains("does not follow"));
        assert!(wrong(&[(0, 50, 1, 0, true), (8, 50, 2, 0, true)]).contains("does not follow"));
        assert!(
            wrong(&[(0, 50, 1, 0, false), (8, 50, 2, 0, false), (16, 50, 3, 0, false)]).contains("follow")
        );
        assert!(wrong(&[(31, 50, 1, 31, true)]).contains("handover"));
        assert!(wrong(&[(39, 9, 1, 39, true)]).contains("other direction"));
        assert!(wrong(&[(0, 9, 1, 0, true), (1, 9, 1, 1, true), (2, 9, 1, 2, true)]).contains("3 HARQ"));
        // A block that waits for its repetition occupies its process; a handover ends all of them.
        let waits = [(0, 9, 1, 0, false), (7, 9, 1, 7, false), (9, 9, 1, 9, true)];
        assert!(wrong(&waits).contains("3 HARQ"));
        assert_eq!(in_cell(&[(28, 9, 1, 28, false), (29, 9, 1, 29, false), (35, 9, 1, 35, true)]), None);
    }
}
