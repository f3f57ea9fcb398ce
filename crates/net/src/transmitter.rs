//! Transmitters whose rate changes: by a schedule, by a trace of delivery opportunities, or by a token bucket.

use params::{Form, Key, Mistake, Values, key};
use std::fmt;
use std::sync::Arc;
use units::{PS_PER_S, Rate, Span, Time};

/// A far time for what is never transmitted.
const FAR: Time = Time::from_ps(u64::MAX / 4);

/// The transmitter of a scheduled link.
#[derive(Clone, Debug)]
pub enum Transmitter {
    /// A constant rate.
    Constant(Rate),
    /// A rate that is constant between given times.
    Steps(RateSteps),
    /// A rate that changes of the scenario set: the rates with their times, the first one at zero. Each packet leaves at the
    /// rate at which it began.
    Changing(Vec<(Time, Rate)>),
    /// Delivery opportunities at given times.
    Trace(TraceCursor),
    /// A constant rate behind a token bucket.
    Shaper(Rate, TokenBucket),
    /// A direction of a medium, which decides when packets leave.
    Medium(MediumDirection),
}

/// A direction of a medium.
#[derive(Clone, Copy, Debug)]
pub struct MediumDirection {
    /// The number of the medium.
    pub medium: u32,
    /// The number, on the medium, of the direction of the first access category.
    pub first: u32,
}

impl Transmitter {
    /// The earliest time from `now` on at which a transmission can start.
    #[inline]
    pub fn ready_at(&self, now: Time) -> Time {
        if let Transmitter::Trace(cursor) = self { cursor.ready_at(now) } else { now }
    }

    /// Transmits `bytes` from `now` on, when the transmitter is ready. Returns the time at which the last bit has left.
    pub fn transmit(&mut self, now: Time, bytes: u32) -> Time {
        match self {
            Transmitter::Constant(rate) => now + rate.time_for(bytes as u64),
            Transmitter::Steps(steps) => steps.finish(now, bytes).unwrap_or(FAR),
            Transmitter::Changing(rates) => now + rate_at(rates, now).time_for(bytes as u64),
            Transmitter::Trace(cursor) => cursor.transmit(now, bytes),
            Transmitter::Shaper(rate, bucket) => bucket.wait(now, bytes) + rate.time_for(bytes as u64),
            Transmitter::Medium(..) => FAR, // the medium transmits
        }
    }

    /// The bits that it could have sent until `end`.
    pub fn offered(&self, end: Time) -> f64 {
        match self {
            Transmitter::Constant(rate) => rate.bps() as f64 * end.seconds(),
            Transmitter::Steps(steps) => steps.bits(end),
            Transmitter::Changing(rates) => RateSteps { steps: rates.clone(), period: Span::ZERO }.bits(end),
            Transmitter::Trace(cursor) => cursor.trace.bits(end),
            Transmitter::Shaper(line, bucket) => bucket.offered(*line, end),
            Transmitter::Medium(..) => 0.0, // it is busy by its part of the medium
        }
    }

    /// Ends the warm-up at `at`, when `remaining` bits of the packet in transmission have not left: what
    /// [`Transmitter::offered`] counts from then on begins with the tokens that there are.
    pub(crate) fn end_warmup(&mut self, at: Time, remaining: f64) {
        if let Transmitter::Shaper(line, bucket) = self {
            bucket.end_warmup(*line, at, remaining);
        }
    }

    /// The part after `at` of the time `busy` for which a packet of `bytes` counts, by the bits that leave after `at`. It is
    /// the last packet that was transmitted, and its last bit leaves at `depart`.
    pub(crate) fn busy_after(&self, at: Time, depart: Time, bytes: u32, busy: Span) -> Span {
        if at >= depart {
            return Span::ZERO;
        }
        // In bits times picoseconds per second.
        let left = depart.since(at).ps() as u128;
        let bits = match self {
            _ if depart >= FAR => return busy, // it is never transmitted
            Transmitter::Constant(_) | Transmitter::Medium(..) => return depart.since(at).min(busy),
            // A change begins between two packets, so a packet has one rate.
            Transmitter::Changing(rates) => match rate_at(rates, at) {
                rate if rate.time_for(bytes as u64) == busy => return depart.since(at).min(busy),
                rate => rate.bps() as u128 * left,
            },
            Transmitter::Steps(steps) => steps.total(depart) - steps.total(at),
            Transmitter::Trace(cursor) => 8 * cursor.bytes_after(at) as u128 * PS_PER_S as u128,
            Transmitter::Shaper(line, _) => line.bps() as u128 * left,
        };
        let whole = 8 * bytes as u128 * PS_PER_S as u128;
        Span::from_ps((busy.ps() as u128 * bits.min(whole) / whole) as u64)
    }

    /// Whether it counts as busy by the time of its transmissions, not by its bits.
    pub fn constant(&self) -> bool {
        matches!(self, Transmitter::Constant(_) | Transmitter::Medium(..))
    }
}

/// The rate at a time, of rates with the times from which they hold; the first one is at zero.
fn rate_at(rates: &[(Time, Rate)], at: Time) -> Rate {
    rates[rates.partition_point(|(from, _)| *from <= at).saturating_sub(1)].1
}

/// A value that changes at given times.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps<T> {
    /// Times from the start of the run (or of the period), increasing from zero, with the value from there on.
    pub steps: Vec<(Time, T)>,
    /// After this time the steps start again; none if it is zero.
    pub period: Span,
}

/// A rate that changes at given times.
pub type RateSteps = Steps<Rate>;

impl<T: Copy> Steps<T> {
    /// The value at `at`, and the time until which it holds.
    pub fn at(&self, at: Time) -> (T, Time) {
        let period = self.period.ps();
        let begin = at.ps().checked_div(period).map_or(0, |round| round * period);
        let within = Time::from_ps(at.ps() - begin);
        let next = self.steps.partition_point(|(from, _)| *from <= within);
        let value = self.steps[next.saturating_sub(1)].1;
        let until = match self.steps.get(next) {
            Some((from, _)) => Time::from_ps(begin + from.ps()),
            None if period > 0 => Time::from_ps(begin + period),
            None => Time::NEVER,
        };
        (value, until)
    }
}

impl Steps<Rate> {
    /// The time at which the last bit of `bytes` leaves if the first one leaves at `start`; none if it never does.
    pub fn finish(&self, start: Time, bytes: u32) -> Option<Time> {
        // In bits times picoseconds per second, which no division rounds.
        let mut left = bytes as u128 * 8 * PS_PER_S as u128;
        let mut at = start;
        let (rate, until) = self.at(at);
        let whole = rate.bps() as u128 * until.since(at).ps() as u128;
        if until != Time::NEVER && left <= whole {
            return Some(at + Span::from_ps(left.div_ceil(rate.bps() as u128) as u64)); // most packets
        }
        let in_period = if self.period > Span::ZERO { self.units(Time::ZERO + self.period) } else { 0 };
        if let Some(periods) = left.checked_div(in_period).filter(|periods| *periods > 1) {
            // Whole periods at once.
            left -= (periods - 1) * in_period;
            at += Span::from_ps(u64::try_from((periods - 1) * self.period.ps() as u128).ok()?);
        }
        let mut silent = 0;
        loop {
            let (rate, until) = self.at(at);
            let bps = rate.bps() as u128;
            let needed = if bps > 0 { left.div_ceil(bps) } else { u128::MAX };
            let available = if until == Time::NEVER { u128::MAX } else { until.since(at).ps() as u128 };
            if needed <= available {
                return (needed < u64::MAX as u128).then(|| at + Span::from_ps(needed as u64));
            }
            if until == Time::NEVER || until > FAR {
                return None;
            }
            silent = if bps > 0 { 0 } else { silent + 1 };
            if silent > self.steps.len() {
                return None; // a period without a rate
            }
            left -= bps * available;
            at = until;
        }
    }

    /// The mean rate from the start until `end`, or over one period.
    pub fn mean(&self, end: Time) -> Rate {
        let end = if self.period > Span::ZERO { Time::ZERO + self.period } else { end };
        Rate::from_bps((self.units(end) / end.ps().max(1) as u128) as u64)
    }

    /// The bits that it sends from the start until `end`.
    fn bits(&self, end: Time) -> f64 {
        self.total(end) as f64 / PS_PER_S as f64
    }

    /// The same in bits times picoseconds per second.
    fn total(&self, end: Time) -> u128 {
        let whole = end.ps().checked_div(self.period.ps()).unwrap_or(0);
        let rest = Time::from_ps(end.ps() - whole * self.period.ps());
        whole as u128 * self.units(Time::ZERO + self.period) + self.units(rest)
    }

    /// The same within the first period.
    fn units(&self, end: Time) -> u128 {
        let ends = self.steps.iter().skip(1).map(|step| step.0).chain([Time::NEVER]);
        let each = self.steps.iter().zip(ends).map(|((from, rate), until)| {
            let from = (*from).min(end);
            rate.bps() as u128 * until.min(end).since(from).ps() as u128
        });
        each.sum()
    }
}

/// The times at which a link can deliver a unit of bytes (the format of Mahimahi).
#[derive(Clone, PartialEq)]
pub struct DeliveryTrace {
    /// Times of the opportunities, ms, not decreasing. The last one is the period.
    times: Vec<u32>,
    /// Bytes that one opportunity delivers.
    unit: u32,
    /// Whether the trace starts again after its last time.
    repeat: bool,
}

/// Prints a hash of the times: a trace can have millions, and the text identifies runs.
impl fmt::Debug for DeliveryTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step =
            |hash: u64, time: &u32| (hash ^ *time as u64).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        let hash = self.times.iter().fold(0xcbf2_9ce4_8422_2325, step);
        let DeliveryTrace { times, unit, repeat } = self;
        write!(f, "DeliveryTrace({} times, {hash:016x}, {unit} B, repeat {repeat})", times.len())
    }
}

impl DeliveryTrace {
    /// Parses a trace: one whole number in a line, ms, not decreasing. Fails with the number of the line and the reason.
    pub fn parse(text: &str, unit: u32, repeat: bool) -> Result<DeliveryTrace, String> {
        let mut times: Vec<u32> = Vec::with_capacity(text.len() / 7);
        let (mut number, mut digits, mut last) = (0u32, 0, 0);
        let ended = (!text.ends_with('\n')).then_some(b'\n');
        for byte in text.bytes().chain(ended) {
            match byte {
                b'0'..=b'9' if digits < 9 => {
                    number = 10 * number + (byte - b'0') as u32;
                    digits += 1;
                }
                b'\n' if digits > 0 && number >= last => {
                    times.push(number);
                    (last, number, digits) = (number, 0, 0);
                }
                b'\r' => {}
                _ => return Err(misplaced(text, times.len(), last)),
            }
        }
        match times.last() {
            None | Some(0) => Err("ends at 0 ms; the last time is the period".into()),
            Some(_) => Ok(DeliveryTrace { times, unit, repeat }),
        }
    }

    /// The mean rate over one period.
    pub fn mean(&self) -> Rate {
        let last = self.times[self.times.len() - 1] as u64;
        Rate::from_bps(self.times.len() as u64 * self.unit as u64 * 8 * 1000 / last)
    }

    /// The bits that it delivers until `end`.
    fn bits(&self, end: Time) -> f64 {
        let next = self.first_from(0, Time::from_ps(end.ps() + 1));
        let count = if self.repeat { next } else { next.min(self.times.len() as u64) };
        count as f64 * self.unit as f64 * 8.0
    }

    /// The time of opportunity `index`.
    fn time(&self, index: u64) -> Option<Time> {
        let count = self.times.len() as u64;
        if index >= count && !self.repeat {
            return None;
        }
        let period = self.times[count as usize - 1] as u64;
        let ms = index / count * period + self.times[(index % count) as usize] as u64;
        Some(Time::ZERO + Span::from_ms(ms))
    }

    /// The first opportunity from `from` on that is at `at` or later.
    fn first_from(&self, from: u64, at: Time) -> u64 {
        if self.time(from).is_none_or(|time| time >= at) {
            return from;
        }
        let (count, ms) = (self.times.len() as u64, at.ps().div_ceil(PS_PER_S / 1000));
        let period = self.times[count as usize - 1] as u64;
        // An opportunity at the end of one period precedes those at the start of the next one.
        let round = if self.repeat { ms.saturating_sub(1) / period } else { 0 };
        let within = ms - round * period;
        let index = round * count + self.times.partition_point(|time| (*time as u64) < within) as u64;
        index.max(from)
    }
}

/// The message about line `index` of a trace, from 0, after a line with time `last`.
#[cold]
fn misplaced(text: &str, index: usize, last: u32) -> String {
    let line = text.lines().nth(index).unwrap_or_default().trim_end();
    match line.parse::<u32>() {
        Ok(time) if time < last => {
            format!("line {}: {time} is before the time of the line above it", index + 1)
        }
        _ => format!("line {}: \"{line}\" is not a whole number of milliseconds", index + 1),
    }
}

/// The position of a link in its trace.
#[derive(Clone, Debug)]
pub struct TraceCursor {
    trace: Arc<DeliveryTrace>,
    /// The opportunity in use, and the bytes that it has left.
    index: u64,
    left: u32,
}

impl TraceCursor {
    /// At the start of a trace.
    pub fn new(trace: Arc<DeliveryTrace>) -> TraceCursor {
        TraceCursor { left: trace.unit, index: 0, trace }
    }

    /// The opportunity for a byte that is sent at `now` or later, and the bytes that it has left.
    fn next(&self, now: Time) -> (u64, u32) {
        let used = self.left == 0 || self.trace.time(self.index).is_none_or(|time| time < now);
        if used {
            (self.trace.first_from(self.index + (self.left == 0) as u64, now), self.trace.unit)
        } else {
            (self.index, self.left)
        }
    }

    fn ready_at(&self, now: Time) -> Time {
        self.trace.time(self.next(now).0).unwrap_or(FAR).max(now)
    }

    /// The bytes that the opportunities after `at` deliver up to the one in use.
    fn bytes_after(&self, at: Time) -> u64 {
        let first = self.trace.first_from(0, Time::from_ps(at.ps() + 1));
        let opportunities = (self.index + 1).saturating_sub(first);
        (opportunities * self.trace.unit as u64).saturating_sub(self.left as u64)
    }

    fn transmit(&mut self, now: Time, bytes: u32) -> Time {
        let mut bytes = bytes;
        let mut at = now;
        loop {
            (self.index, self.left) = self.next(at);
            let Some(time) = self.trace.time(self.index) else { return FAR };
            let sent = bytes.min(self.left);
            (bytes, self.left) = (bytes - sent, self.left - sent);
            at = time;
            if bytes == 0 {
                return at;
            }
        }
    }
}

/// A token bucket: tokens in bytes, filled at a rate up to a burst.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    rate: Rate,
    /// The time for which the bucket must fill to be full.
    depth: Span,
    /// The time at which it was or will be empty, if nothing more is taken.
    empty_at: i128,
    /// The time from which on the bits that it can let pass are counted, those before, and the time, in seconds, that the
    /// tokens there were took to fill: [`TokenBucket::offered`].
    counted: (Time, f64, f64),
}

impl TokenBucket {
    /// The keys of a token bucket.
    pub const KEYS: &'static [Key] = &[
        key("rate", Form::rate("1Mbps"), "", "rate of the tokens; a limit in `bdp` refers to it"),
        key(
            "burst",
            Form::Bytes(1500, u64::MAX >> 16),
            "",
            "largest number of tokens, at least a full packet of 1500 bytes",
        ),
    ];

    /// Fails if the bucket takes too long to fill.
    pub fn check(values: &mut Values) -> Result<(), Mistake> {
        let (rate, burst): (Rate, u64) = (values.read("rate"), values.read("burst"));
        match burst as f64 * 8.0 / rate.bps() as f64 > 1e6 {
            true => Err(("burst", "takes longer than 1000000 s at that rate".into())),
            false => Ok(()),
        }
    }

    /// A full bucket of `burst` bytes.
    pub fn new(rate: Rate, burst: u64) -> TokenBucket {
        let depth = rate.time_for(burst);
        let counted = (Time::ZERO, 0.0, depth.seconds());
        TokenBucket { rate, depth, empty_at: -(depth.ps() as i128), counted }
    }

    /// The bits that can pass until `end` onto a line of rate `line`: those for which there are tokens, and no more than
    /// the line carries. After the warm-up they are counted from the tokens that there were at its end.
    fn offered(&self, line: Rate, end: Time) -> f64 {
        let (from, before, saved) = self.counted;
        let passed = end.since(from).seconds();
        before + (self.rate.bps() as f64 * (passed + saved)).min(line.bps() as f64 * passed).max(0.0)
    }

    /// Ends the warm-up at `at`. `remaining` bits in transmission have taken their tokens and have not passed.
    fn end_warmup(&mut self, line: Rate, at: Time, remaining: f64) {
        let tokens = (at.ps() as i128 - self.filled(at)) as f64 / PS_PER_S as f64;
        self.counted = (at, self.offered(line, at), tokens + remaining / self.rate.bps() as f64);
    }

    /// The time at which the bucket was empty, given that it does not overflow before `now`.
    fn filled(&self, now: Time) -> i128 {
        self.empty_at.max(now.ps() as i128 - self.depth.ps() as i128)
    }

    /// Whole bytes for which there are tokens at `now`.
    pub(crate) fn tokens(&self, now: Time) -> u64 {
        let filling = (now.ps() as i128 - self.filled(now)).max(0) as u128;
        (filling * self.rate.bps() as u128 / (8 * units::PS_PER_S as u128)) as u64
    }

    /// Takes tokens for `bytes` at `now` if there are enough. Returns whether there are.
    pub fn police(&mut self, now: Time, bytes: u32) -> bool {
        let after = self.filled(now) + self.rate.time_for(bytes as u64).ps() as i128;
        let enough = after <= now.ps() as i128;
        if enough {
            self.empty_at = after;
        }
        enough
    }

    /// Takes tokens for `bytes`. Returns the time from `now` on at which there are enough.
    pub fn wait(&mut self, now: Time, bytes: u32) -> Time {
        let after = self.filled(now) + self.rate.time_for(bytes as u64).ps() as i128;
        self.empty_at = after;
        now.max(Time::from_ps(after.max(0) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_ms(n)
    }

    fn trace(text: &str) -> TraceCursor {
        TraceCursor::new(Arc::new(DeliveryTrace::parse(text, 1504, true).unwrap()))
    }

    /// Times, ms, at which packets leave a queue in front of a trace, given their arrivals and sizes.
    fn departures(packets: &[(u64, u32)]) -> Vec<u64> {
        let mut cursor = trace("0\n4\n4\n10\n");
        let mut free = Time::ZERO;
        let leave = |(arrival, size): &(u64, u32)| {
            let start = cursor.ready_at(free.max(ms(*arrival)));
            free = cursor.transmit(start, *size);
            free.ps() / 1_000_000_000
        };
        packets.iter().map(leave).collect()
    }

    #[test]
    fn a_trace_repeats_after_its_last_time() {
        let cursor = trace("0\n4\n4\n10\n");
        let times: Vec<_> = (0..10).map(|n| cursor.trace.time(n).unwrap()).collect();
        assert_eq!(times, [0, 4, 4, 10, 10, 14, 14, 20, 20, 24].map(ms));
        for (at, index) in [(0, 0), (1, 1), (4, 1), (5, 3), (10, 3), (11, 5), (20, 7), (21, 9)] {
            assert_eq!(cursor.trace.first_from(0, ms(at)), index, "{at}");
        }
        let once = DeliveryTrace::parse("1\n2\n", 1504, false).unwrap();
        assert_eq!((once.time(1), once.time(2), once.first_from(0, ms(3))), (Some(ms(2)), None, 2));
        assert_eq!([3, 4, 10, 14].map(|at| cursor.trace.bits(ms(at)) / 12032.0), [1.0, 3.0, 5.0, 7.0]);
        assert_eq!(once.bits(ms(9)), 2.0 * 12032.0);
        assert_eq!(cursor.trace.mean(), Rate::from_bps(4 * 1504 * 8 * 100));
    }

    #[test]
    fn packets_leave_with_their_last_byte() {
        assert_eq!(departures(&[(0, 1504), (0, 1504), (1, 1504), (5, 1504)]), [0, 4, 4, 10]);
        assert_eq!(departures(&[(0, 752), (0, 752), (0, 752)]), [0, 0, 4]);
        assert_eq!(departures(&[(0, 2000), (0, 1000)]), [4, 4]);
        assert_eq!(departures(&[(1, 100), (11, 100)]), [4, 14]);
        assert_eq!(departures(&[(10, 1504), (10, 1504), (10, 1504)]), [10, 10, 14]);
    }

    #[test]
    fn a_trace_that_cannot_be_is_refused() {
        for (text, expected) in [
            ("1\nx\n", "line 2: \"x\" is not a whole number of milliseconds"),
            ("5\n4\n", "line 2: 4 is before the time of the line above it"),
            ("", "line 1: \"\" is not a whole number of milliseconds"),
            ("0\n0\n", "ends at 0 ms; the last time is the period"),
        ] {
            assert_eq!(DeliveryTrace::parse(text, 1504, true).unwrap_err(), expected);
        }
    }

    #[test]
    fn a_transmission_goes_on_at_the_new_rate() {
        let steps = |list: &[(u64, u64)]| RateSteps {
            steps: list.iter().map(|(at, bps)| (ms(*at), Rate::from_bps(*bps))).collect(),
            period: Span::ZERO,
        };
        let halved = steps(&[(0, 8_000_000), (1, 4_000_000)]);
        assert_eq!(halved.finish(ms(0), 1000), Some(ms(1)));
        let half = Time::from_ps(500_000_000);
        assert_eq!(halved.finish(half, 1000), Some(ms(2)));
        let paused = steps(&[(0, 1_000_000), (1000, 0), (2000, 1_000_000)]);
        assert_eq!(
            paused.finish(Time::from_ps(999_500_000_000), 125),
            Some(Time::from_ps(2_000_500_000_000))
        );
        assert_eq!(steps(&[(0, 1_000_000), (1000, 0)]).finish(ms(1000), 1), None);
        let fast = RateSteps { period: Span::from_ps(1000), ..steps(&[(0, 1_000_000)]) };
        assert_eq!(fast.finish(ms(0), 125), Some(ms(1)));
        assert_eq!([500, 1000, 2500].map(|at| halved.bits(ms(at))), [2_004_000.0, 4_004_000.0, 10_004_000.0]);
        assert_eq!(RateSteps { period: Span::from_ms(4), ..halved }.bits(ms(10)), 52_000.0);
        let period = RateSteps { period: Span::from_ms(2000), ..steps(&[(0, 2_000_000), (1000, 0)]) };
        assert_eq!(period.finish(ms(1000), 125), Some(Time::from_ps(2_000_500_000_000)));
        assert_eq!(period.mean(Time::NEVER), Rate::from_bps(1_000_000));
        assert_eq!(RateSteps { period: Span::from_ms(2), ..steps(&[(0, 0)]) }.finish(ms(0), 1), None);
    }

    #[test]
    fn a_token_bucket_polices_and_shapes() {
        let bucket = || TokenBucket::new(Rate::from_bps(1_000_000), 3000);
        let mut policer = bucket();
        assert_eq!([0, 0, 0, 6, 12].map(|at| policer.police(ms(at), 1500)), [true, true, false, false, true]);
        let mut shaper = bucket();
        let mut at = ms(0);
        let times = [0; 4].map(|_| {
            at = shaper.wait(at, 1500);
            at
        });
        assert_eq!(times, [0, 0, 12, 24].map(ms));
    }

    #[test]
    fn a_transmission_counts_by_the_bits_that_have_left() {
        let busy = Span::from_ms(1000);
        let steps = vec![(ms(0), Rate::from_bps(8_000_000)), (ms(1), Rate::from_bps(4_000_000))];
        let mut halved = Transmitter::Steps(RateSteps { steps, period: Span::ZERO });
        let start = Time::from_ps(500_000_000);
        let depart = halved.transmit(start, 1000);
        assert_eq!(depart, ms(2));
        // Half of the bits leave in the first of three half milliseconds.
        let after = |transmitter: &Transmitter, at: Time, bytes: u32| {
            transmitter.busy_after(at, depart, bytes, busy).ps() / 1_000_000_000
        };
        assert_eq!([start, ms(1), ms(2)].map(|at| after(&halved, at, 1000)), [1000, 500, 0]);
        let constant = Transmitter::Constant(Rate::from_bps(8_000));
        assert_eq!(constant.busy_after(ms(1), ms(2), 1, Span::from_ms(5)), Span::from_ms(1));
        assert_eq!(constant.busy_after(ms(0), ms(9), 1, Span::from_ms(5)), Span::from_ms(5));
        // Opportunities at 0, 4, 4, 10 ms: 1,000 bytes use two thirds of the first, 3,000 the rest and more.
        let mut cursor = Transmitter::Trace(trace("0\n4\n4\n10\n"));
        assert_eq!(cursor.transmit(ms(0), 1000), ms(0));
        let depart = cursor.transmit(ms(0), 3000);
        assert_eq!(depart, ms(4));
        let left = 1000 * (3000 - 504) / 3000;
        let after = |at: u64| cursor.busy_after(ms(at), depart, 3000, busy).ps() / 1_000_000_000;
        assert_eq!([0, 3, 4].map(after), [left, left, 0]);
        // What is never transmitted does not count.
        let steps = vec![(ms(0), Rate::from_bps(0))];
        let mut silent = Transmitter::Steps(RateSteps { steps, period: Span::ZERO });
        let depart = silent.transmit(ms(0), 1000);
        assert_eq!(silent.busy_after(ms(5), depart, 1000, busy), busy);
    }

    #[test]
    fn a_shaper_offers_the_tokens_that_there_are() {
        let line = Rate::from_bps(10_000_000);
        let shaper = || Transmitter::Shaper(line, TokenBucket::new(Rate::from_bps(1_000_000), 125_000));
        // A full bucket and what is added: 1 Mbit and 1 Mb/s, on a line of 10 Mb/s.
        assert_eq!([50, 2000].map(|at| shaper().offered(ms(at))), [500_000.0, 3_000_000.0]);
        // Idle in the warm-up: the bucket is full at its end.
        let mut idle = shaper();
        let early = idle.offered(ms(2000));
        idle.end_warmup(ms(2000), 0.0);
        assert_eq!([2000, 3000].map(|at| idle.offered(ms(at)) - early), [0.0, 2_000_000.0]);
        // A packet of 250,000 bytes has taken tokens that come until 1 s, and leaves from 1 s to 1.2 s. At 0.5 s, all of
        // its bits are to leave; the tokens that come from then on are for it.
        let mut busy = shaper();
        assert_eq!(busy.transmit(ms(0), 250_000), ms(1200));
        let early = busy.offered(ms(500));
        busy.end_warmup(ms(500), 2_000_000.0);
        assert_eq!([1200, 2000].map(|at| busy.offered(ms(at)) - early), [2_200_000.0, 3_000_000.0]);
    }
}
