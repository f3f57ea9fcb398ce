//! Request and grant: the upstream of cable (DOCSIS) and of passive optical networks. The unit of work is an interval in which
//! something waits or is granted. docs/cable.md has the model and what it leaves out.

use crate::counters::counters;
use crate::qdisc::scheduled::Waiting;
use crate::turn::{Queues, Released, Turn};
use params::Form::{Bytes, Range, Word};
use params::{Mistake, Model, Unit};
use std::collections::VecDeque;
use units::{PS_PER_S, Rate, Span, Time};

params::options! {
    /// A direction whose transmitter sends what it was granted.
    #[derive(Clone, Debug, PartialEq)]
    pub struct GrantOptions {
        rate: Rate = params::Form::rate("20Mbps"), [""], "sustained rate: that of a token bucket over the grants";
        channel: Rate = params::Form::rate("100Mbps"), [""], "rate at which granted bytes leave";
        profile: &'static str = Word(&["docsis31", "docsis_ll", "gpon", "gpon_fixed"]), ["\"docsis31\""],
            "interval and delay: 2 ms and 4 ms, 1 ms and 2 ms, 1 ms and 1.5 ms, 0.125 ms and 0 ms";
        interval: Option<Span> = Range(Unit::Time, "2ms", "1us", "1s"), ["by `profile`"],
            "time between two grants";
        grant_delay: Option<Span> = Range(Unit::Time, "4ms", "0s", "1s"), ["by `profile`"],
            "time from a request to the first interval that can serve it";
        burst: u64 = Bytes(0, 1 << 40), ["\"0B\""], "bytes of the bucket besides those of an interval";
        unsolicited: u64 = Bytes(0, 1 << 40), ["\"0B\""],
            "bytes that are granted in every interval without a request, and lost if they are not used";
    }
}

/// A rate by requests and grants.
pub const REQUEST_GRANT: Model = params::model!(
    "rate",
    "request_grant",
    "bytes are requested and leave in granted intervals: the upstream of cable and of passive optical networks",
    "",
    [GrantOptions::KEYS]
);

impl GrantOptions {
    /// Checks that the keys go together.
    pub fn check(&self) -> Result<(), Mistake> {
        if self.rate > self.channel {
            return Err((
                "rate",
                format!("{} is above the rate of the channel, {}", self.rate, self.channel),
            ));
        }
        let interval = self.times().0;
        if self.channel.bytes_in(interval) == 0 {
            let message = format!("the channel carries less than a byte in {interval}; make it longer");
            return Err(("interval", message));
        }
        Ok(())
    }

    /// By how much grants can be ahead of the sustained rate: an interval, a byte and the burst.
    pub fn ahead(&self) -> Span {
        self.times().0 + self.rate.time_for(self.burst + 1)
    }

    fn times(&self) -> (Span, Span) {
        let us = |us: u64| Span::from_ps(us * 1_000_000);
        let (interval, delay) = match self.profile {
            "docsis_ll" => (us(1000), us(2000)),
            "gpon" => (us(1000), us(1500)),
            "gpon_fixed" => (us(125), us(0)),
            _ => (us(2000), us(4000)),
        };
        (self.interval.unwrap_or(interval), self.grant_delay.unwrap_or(delay))
    }
}

counters! {
    /// What a direction with grants has done.
    #[derive(Clone, Debug, Default)]
    pub struct GrantAccount {
        /// Intervals in which bytes left.
        grants: u64,
        /// Bytes that left in them.
        bytes: u64,
        /// Requests.
        requests: u64,
        /// Bytes that left without a request.
        unsolicited: u64,
        /// Bytes that were granted on request and for which there was no packet.
        unused: u64,
    }
}

/// Bits times picoseconds per second of a byte: tokens are counted in this unit.
const BYTE: u128 = 8 * PS_PER_S as u128;

/// The transmitter of one direction.
#[derive(Clone, Debug)]
pub struct Grants {
    link: u32,
    options: GrantOptions,
    interval: Span,
    delay: Span,
    tokens: u128,
    /// The last interval, and the next one in which something can be done.
    last: Option<u64>,
    next: Option<u64>,
    /// Requests that are not granted yet: the intervals from which they are, and their bytes.
    requests: VecDeque<(u64, u64)>,
    /// Bytes that are granted and have not left.
    granted: u64,
    /// The packet that has left in part, and the bytes that have not.
    partial: Option<(Waiting, u64)>,
    account: GrantAccount,
}

impl Grants {
    /// The transmitter of link `link`.
    pub fn new(link: u32, options: GrantOptions) -> Grants {
        let (interval, delay) = options.times();
        let mut grants = Grants {
            link,
            options,
            interval,
            delay,
            tokens: 0,
            last: None,
            next: None,
            requests: VecDeque::new(),
            granted: 0,
            partial: None,
            account: GrantAccount::default(),
        };
        grants.tokens = grants.filled() + grants.options.burst as u128 * BYTE;
        grants
    }

    /// Tokens of one interval.
    fn filled(&self) -> u128 {
        self.options.rate.bps() as u128 * self.interval.ps() as u128
    }

    /// The most tokens; nearly a byte more than those of an interval and the burst, so that no fraction is lost.
    fn depth(&self) -> u128 {
        self.filled() + (self.options.burst as u128 + 1) * BYTE - 1
    }

    /// What it has done, with the number of its link.
    pub fn account(&self) -> (u32, &GrantAccount) {
        (self.link, &self.account)
    }

    /// Packets that have left the queue and not the transmitter.
    pub(crate) fn outstanding(&self) -> (u32, u64) {
        (self.link, u64::from(self.partial.is_some()))
    }

    /// A packet waits since `now`.
    pub(crate) fn arrived(&mut self, now: Time) {
        let first = now.ps().div_ceil(self.interval.ps()).max(self.last.map_or(0, |last| last + 1));
        self.next = Some(self.next.map_or(first, |next| next.min(first)));
    }

    /// When the next interval in which something can be done begins.
    pub(crate) fn next_interval(&self) -> Option<Time> {
        self.next.map(|interval| Time::ZERO + self.interval * interval)
    }

    /// The interval that begins at `now`: what was granted leaves, and what is new is requested.
    pub(crate) fn serve(&mut self, now: Time, queues: &mut dyn Queues, turn: &mut Turn) {
        let interval = now.ps() / self.interval.ps();
        let passed = interval - self.last.unwrap_or(0);
        self.last = Some(interval);
        self.tokens = (self.tokens + self.filled() * passed as u128).min(self.depth());
        while let Some((_, bytes)) = self.requests.front().filter(|(from, _)| *from <= interval) {
            self.granted += bytes;
            self.requests.pop_front();
        }
        let waiting = self.waiting(queues);
        let room = ((self.tokens / BYTE) as u64).min(self.carried(interval));
        let free = self.options.unsolicited.min(room).min(waiting);
        let used = self.granted.min(room - free).min(waiting - free);
        let sent = free + used - self.send(now, free + used, queues, turn);
        self.tokens -= sent as u128 * BYTE;
        self.granted -= sent.saturating_sub(free);
        if sent > 0 {
            self.account.grants += 1;
            self.account.bytes += sent;
            self.account.unsolicited += free.min(sent);
            turn.usage.push((self.link, self.options.rate.time_for(sent)));
        }
        let waiting = self.waiting(queues);
        if waiting == 0 {
            self.account.unused += std::mem::take(&mut self.granted); // a grant without data is lost
        }
        let requested = self.granted + self.requests.iter().map(|(_, bytes)| bytes).sum::<u64>();
        if waiting > requested {
            self.account.requests += 1;
            let from = interval + self.delay.ps().div_ceil(self.interval.ps()).max(1);
            self.requests.push_back((from, waiting - requested));
        }
        self.next = self.following(interval + 1, waiting);
    }

    /// Bytes that the channel carries in an interval.
    fn carried(&self, interval: u64) -> u64 {
        let until = |intervals: u64| self.options.channel.bytes_in(self.interval * intervals);
        until(interval + 1) - until(interval)
    }

    /// Bytes that wait: in the queue, and of the packet that has left in part.
    fn waiting(&self, queues: &dyn Queues) -> u64 {
        queues.bytes(self.link) + self.partial.as_ref().map_or(0, |(_, left)| *left)
    }

    /// Sends `bytes` from `now` on. Returns those for which there was no packet.
    fn send(&mut self, now: Time, bytes: u64, queues: &mut dyn Queues, turn: &mut Turn) -> u64 {
        let mut left = bytes;
        while left > 0 {
            let (packet, unsent) = match self.partial.take() {
                Some(partial) => partial,
                None => match queues.next(self.link) {
                    Some(packet) => (packet, packet.packet.size as u64),
                    None => break,
                },
            };
            let part = unsent.min(left);
            left -= part;
            if part < unsent {
                self.partial = Some((packet, unsent - part));
                break;
            }
            let end = now + self.options.channel.time_for(bytes - left);
            turn.released.push((self.link, end, Released { packet, lost: None }));
        }
        left
    }

    /// The first interval from `interval` on in which something can be done, with `waiting` bytes.
    fn following(&self, interval: u64, waiting: u64) -> Option<u64> {
        let granted = self.requests.front().map(|(from, _)| (*from).max(interval));
        match waiting > 0 && (self.granted > 0 || self.options.unsolicited > 0) {
            true => Some(interval),
            false => granted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::testing::PlainQueues;
    use params::Values;

    fn options(profile: &'static str) -> GrantOptions {
        let mut values = Values::defaults(GrantOptions::KEYS, 0);
        values.set("rate", params::Value::Rate(Rate::from_bps(20_000_000)));
        values.set("channel", params::Value::Rate(Rate::from_bps(100_000_000)));
        GrantOptions { profile, ..GrantOptions::new(&values) }
    }

    /// Times at which packets of `size` bytes, which arrive at these times, have left, us.
    fn departures(options: GrantOptions, size: u32, arrivals: &[u64]) -> Vec<u64> {
        let (mut grants, mut queues) = (Grants::new(0, options), PlainQueues(vec![VecDeque::new()]));
        let mut arrivals = arrivals.iter().map(|us| Time::from_ps(us * 1_000_000)).peekable();
        let mut ends = Vec::new();
        loop {
            let next = grants.next_interval();
            if let Some(arrived) = arrivals.next_if(|at| next.is_none_or(|next| *at <= next)) {
                queues.push(0, 0, size, arrived);
                grants.arrived(arrived);
            } else if let Some(next) = next {
                let mut turn = Turn::default();
                grants.serve(next, &mut queues, &mut turn);
                ends.extend(turn.released.iter().map(|(_, end, _)| end.ps() / 1_000_000));
            } else {
                return ends;
            }
        }
    }

    #[test]
    fn grants_are_those_of_the_reference() {
        assert_eq!(departures(options("docsis31"), 1500, &[0, 500, 1900]), [4120, 6120, 6240]);
        let twelve: Vec<u64> = (0..12).map(|k| k * 100).collect();
        assert_eq!(
            departures(options("docsis31"), 1500, &twelve),
            [4120, 6120, 6240, 6360, 8080, 8200, 8320, 10_040, 10_160, 10_280, 10_400, 12_120]
        );
        let unsolicited = GrantOptions { unsolicited: 250, ..options("docsis_ll") };
        assert_eq!(departures(unsolicited, 200, &[500]), [1016]);
        assert_eq!(departures(options("gpon"), 125, &[500]), [3010]);
    }

    #[test]
    fn a_grant_without_data_is_lost() {
        // The unsolicited bytes are a part of what was requested: the next packet asks again.
        let options = GrantOptions { unsolicited: 400, ..options("docsis_ll") };
        let ends = departures(options, 1000, &[0, 100_000, 200_500]);
        assert_eq!(ends, [2016, 102_016, 203_016]);
    }

    #[test]
    fn slow_rates_leave_no_byte_behind() {
        for (rate, profile) in [(50_000, "gpon_fixed"), (100_000, "gpon_fixed"), (1_000_000, "docsis31")] {
            let options = GrantOptions { rate: Rate::from_bps(rate), ..options(profile) };
            let ends = departures(options, 100, &[0; 500]);
            assert_eq!(ends.len(), 500);
            let measured = 500.0 * 800.0 / (*ends.last().unwrap() as f64 / 1e6);
            assert!((measured / rate as f64 - 1.0).abs() < 0.01, "{measured} is not {rate}");
        }
    }

    #[test]
    fn a_lone_packet_waits_for_its_grant() {
        let arrivals: Vec<u64> = (0..1000).map(|k| k * 100_000 + 2 * k).collect();
        let ends = departures(options("docsis31"), 100, &arrivals);
        let wait = ends.iter().zip(&arrivals).map(|(end, at)| end - at - 8).sum::<u64>() as f64 / 1000.0;
        assert!((wait / 5000.0 - 1.0).abs() < 0.01, "grant_delay + interval / 2: {wait} us");
    }
}
