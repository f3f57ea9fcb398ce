//! Transmissions under audit: the rules of channel access, of block ACK windows, and of transport blocks.

use super::media::{Access, AuditedMedium};
use net::{Content, MpduResult, Transmission};
use std::collections::{BTreeMap, VecDeque};
use units::{Span, Time};

/// The access to a channel that is in progress or was the last one.
#[derive(Clone)]
struct LastAccess {
    begin: Time,
    end: Time,
    /// Number of its transmissions, and whether one of them says that it is alone.
    transmissions: u32,
    alone: bool,
}

/// The MPDUs of a link: the next number, and the attempts of those that have not arrived.
#[derive(Clone, Default)]
struct Agreement {
    next: u32,
    missing: BTreeMap<u32, u32>,
}

impl Agreement {
    /// A PPDU with these MPDUs, in the order of their numbers, is sent. Returns what is wrong with it.
    fn sent(&mut self, mpdus: &[MpduResult], alone: bool, (window, attempts): (u32, u32)) -> Option<String> {
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
            if mpdu.arrived && !alone {
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

/// A transport block that has not arrived.
#[derive(Clone)]
struct OpenBlock {
    attempt: u32,
    begin: Time,
    width: u32,
}

/// What the auditor knows of transmissions.
#[derive(Clone, Default)]
pub(super) struct Transmissions {
    channels: BTreeMap<u32, LastAccess>,
    agreements: BTreeMap<u32, Agreement>,
    /// Of each channel of a cell: the present slot, and the resource blocks in use.
    slots: BTreeMap<u32, (Time, u32)>,
    /// By link and begin of the first attempt.
    blocks: BTreeMap<(u32, Time), OpenBlock>,
    /// The begins of the blocks of a link whose results the transmitter does not have.
    processes: BTreeMap<u32, VecDeque<Time>>,
}

impl Transmissions {
    /// A transmission on `medium`. Returns what is wrong with it.
    pub(super) fn transmission(&mut self, medium: &AuditedMedium, t: &Transmission) -> Option<String> {
        match (&medium.access, &t.content) {
            (
                Access::Contention { aifs, window, attempts, longest },
                Content::Ppdu { .. } | Content::Request { .. },
            ) => {
                let (alone, mpdus, data) = match &t.content {
                    Content::Ppdu { alone, mpdus, data, .. } => (*alone, mpdus.as_slice(), *data),
                    Content::Request { alone } => (*alone, [].as_slice(), Span::ZERO),
                    Content::Block { .. } => return None,
                };
                if mpdus.len() > 1 && data > *longest {
                    return Some(format!("a PPDU lasts {} us", data.ps() / 1_000_000));
                }
                let sent = self.agreements.entry(t.link.0).or_default();
                let wrong = sent.sent(mpdus, alone, (*window, *attempts));
                self.access(medium.number, t, alone, *aifs).or(wrong)
            }
            (Access::Slots(rules), Content::Block { width, attempt, first, arrived, .. }) => {
                let open = OpenBlock { attempt: *attempt, begin: t.begin, width: *width };
                let wrong = self.slot(medium, rules, t, *width);
                wrong.or_else(|| self.block((t.link.0, *first), open, *arrived, rules, medium.slot))
            }
            (Access::Free, _) => None,
            _ => Some("a transmission of another kind of medium".into()),
        }
    }

    /// Accesses do not overlap and follow each other after AIFS; those that begin together collide.
    fn access(&mut self, channel: u32, t: &Transmission, alone: bool, aifs: Span) -> Option<String> {
        let access = LastAccess { begin: t.begin, end: t.end, transmissions: 1, alone };
        let Some(last) = self.channels.get_mut(&channel) else {
            self.channels.insert(channel, access);
            return None;
        };
        if t.begin == last.begin {
            last.end = last.end.max(t.end);
            last.transmissions += 1;
            let hidden = alone || last.alone;
            return hidden.then(|| "a collision that one of its transmissions does not report".into());
        }
        let LastAccess { end, transmissions, alone, .. } = std::mem::replace(last, access);
        if t.begin < end + aifs {
            let early = (end + aifs).since(t.begin).ps();
            return Some(format!("it begins {early} ps before AIFS is over"));
        }
        (transmissions == 1 && !alone).then(|| "a collision of one transmission".into())
    }

    /// Blocks begin at slots, take at most the resource blocks of the cell, and none is sent in an interruption.
    fn slot(
        &mut self,
        medium: &AuditedMedium,
        rules: &super::media::SlotRules,
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
        let all = rules.blocks.iter().rev().find(|(from, _)| *from <= t.begin).map_or(0, |(_, all)| *all);
        let slot = self.slots.entry(medium.number).or_insert((t.begin, 0));
        if slot.0 != t.begin {
            *slot = (t.begin, 0);
        }
        slot.1 += width;
        (width == 0 || slot.1 > all).then(|| format!("{} of {all} resource blocks are in use", slot.1))
    }

    /// Attempts of a block follow each other after the round trip of HARQ, at most so many, in so many processes.
    fn block(
        &mut self,
        id: (u32, Time),
        block: OpenBlock,
        arrived: bool,
        rules: &super::media::SlotRules,
        slot: Span,
    ) -> Option<String> {
        let round_trip = slot * rules.harq_rtt;
        let OpenBlock { attempt, begin, width } = block;
        let wrong = match self.blocks.get(&id) {
            None if attempt == 1 && id.1 == begin => None,
            Some(last)
                if attempt == last.attempt + 1 && begin >= last.begin + round_trip && width <= last.width =>
            {
                None
            }
            _ => Some(format!("attempt {attempt} of the block of {} s does not follow", id.1.seconds())),
        };
        if arrived || attempt >= rules.attempts {
            self.blocks.remove(&id);
        } else {
            self.blocks.insert(id, block);
        }
        let open = self.processes.entry(id.0).or_default();
        while open.front().is_some_and(|sent| *sent + round_trip <= begin) {
            open.pop_front();
        }
        open.push_back(begin);
        let many = open.len() as u32 > rules.processes;
        wrong
            .or((attempt > rules.attempts).then(|| format!("attempt {attempt} of {}", rules.attempts)))
            .or(many.then(|| format!("{} blocks without a result", open.len())))
    }
}

#[cfg(test)]
mod tests {
    use super::super::media::SlotRules;
    use super::*;
    use net::LinkId;
    use units::Rate;

    const US: u64 = 1_000_000;

    fn medium(access: Access, slot: Span) -> AuditedMedium {
        AuditedMedium { number: 0, peak: Rate::from_bps(1), slot, ahead: Span::ZERO, access }
    }

    /// What is wrong with the last of some PPDUs on links: link, begin and end (us), alone, MPDUs (number, attempt, arrived).
    fn on_channel(ppdus: &[(u32, u64, u64, bool, &[(u32, u32, bool)])]) -> Option<String> {
        let (aifs, longest) = (Span::from_ps(43 * US), Span::from_ms(5));
        let medium = medium(Access::Contention { aifs, window: 4, attempts: 2, longest }, Span::ZERO);
        let mut transmissions = Transmissions::default();
        let mut last = None;
        for (link, begin, end, alone, mpdus) in ppdus {
            assert_eq!(last, None);
            let result = |(number, attempt, arrived): &(u32, u32, bool)| MpduResult {
                number: *number,
                attempt: *attempt,
                arrived: *arrived,
            };
            let mpdus: Vec<MpduResult> = mpdus.iter().map(result).collect();
            let [begin, end] = [begin, end].map(|us| Time::from_ps(us * US));
            let content = Content::Ppdu { mcs: 0, data: end.since(begin), alone: *alone, mpdus };
            let link = LinkId(*link);
            last = transmissions.transmission(&medium, &Transmission { link, begin, end, content });
        }
        last
    }

    #[test]
    fn accesses_and_windows_are_checked() {
        let first = (0, 100, 200, true, &[(0, 1, true), (1, 1, false)][..]);
        assert_eq!(on_channel(&[first, (0, 243, 300, true, &[(1, 2, true), (2, 1, true)])]), None);
        let wrong =
            |second: (u32, u64, u64, bool, &[(u32, u32, bool)])| on_channel(&[first, second]).unwrap();
        assert!(wrong((0, 242, 300, true, &[(1, 2, true)])).contains("before AIFS"));
        assert!(wrong((1, 100, 150, true, &[(0, 1, true)])).contains("does not report"));
        assert!(wrong((0, 243, 300, true, &[(0, 2, true)])).contains("neither new nor missing"));
        assert!(wrong((0, 243, 300, true, &[(1, 1, true)])).contains("attempt"));
        assert!(wrong((0, 243, 300, true, &[(1, 2, true), (3, 1, true)])).contains("neither new"));
        let window = [(1, 2, false), (2, 1, true), (3, 1, true), (4, 1, true), (5, 1, true)];
        assert!(wrong((0, 243, 300, true, &window)).contains("beyond the window"));
        assert!(wrong((0, 243, 9000, true, &[(1, 2, true), (2, 1, true)])).contains("lasts"));
        let collided = (0, 243, 300, false, &[(1, 2, true)][..]);
        assert!(wrong(collided).contains("in a collision"));
        let of_one = (0, 243, 300, false, &[(1, 2, false)][..]);
        let next = (0, 400, 500, true, &[(2, 1, true)][..]);
        assert!(on_channel(&[first, of_one, next]).unwrap().contains("collision of one"));
    }

    /// What is wrong with the last of some blocks of link 0: slot, width, attempt, slot of the first attempt, arrived.
    fn in_cell(blocks: &[(u64, u32, u32, u64, bool)]) -> Option<String> {
        let rules = SlotRules {
            blocks: vec![(Time::ZERO, 50), (Time::from_ps(20_000 * US), 25)],
            harq_rtt: 8,
            attempts: 2,
            processes: 2,
            interruptions: vec![(Time::from_ps(30_000 * US), Time::from_ps(35_000 * US))],
        };
        let medium = medium(Access::Slots(rules), Span::from_ms(1));
        let mut transmissions = Transmissions::default();
        let mut last = None;
        for (slot, width, attempt, first, arrived) in blocks {
            assert_eq!(last, None);
            let at = |slot: u64| Time::from_ps(slot * 1000 * US);
            let (first, width, attempt, arrived) = (at(*first), *width, *attempt, *arrived);
            let content = Content::Block { width, all: 50, attempt, first, parts: 1, arrived };
            let (begin, end) = (at(*slot), at(slot + 1));
            last =
                transmissions.transmission(&medium, &Transmission { link: LinkId(0), begin, end, content });
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
        assert!(wrong(&[(0, 9, 1, 0, true), (1, 9, 1, 1, true), (2, 9, 1, 2, true)]).contains("3 blocks"));
    }
}
