//! Sources of constant rates: writes at exact times whose sums are those of the rates, rounded down, so that nothing drifts.

use units::{PS_PER_S, Rate, Span};

/// The time between writes or frames: a number of picoseconds over a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    ps: u64,
    parts: u64,
}

impl Interval {
    /// A span, more than zero.
    pub fn new(every: Span) -> Interval {
        Interval { ps: every.ps(), parts: 1 }
    }

    /// A part of a second: `count` intervals take a second.
    pub fn per_second(count: u32) -> Interval {
        Interval { ps: PS_PER_S, parts: u64::from(count) }
    }

    /// What `count` intervals take, rounded down to a picosecond.
    pub fn times(self, count: u64) -> Span {
        let ps = u128::from(self.ps) * u128::from(count) / u128::from(self.parts);
        Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }
}

/// A write of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// When, since the start of the source.
    pub at: Span,
    /// How many bytes; it may be zero at a low rate.
    pub bytes: u64,
}

/// Writes at a rate that a schedule changes. The write at the beginning of an interval has the bytes of the interval.
#[derive(Clone, Debug)]
pub struct RateSource {
    every: Interval,
    /// The rate from each time since the start on, rising; before the first one it is zero.
    schedule: Vec<(Span, Rate)>,
    /// The number of the next write.
    next: u64,
    /// Steps of the schedule that have begun at the end of the last write's interval.
    step: usize,
    /// Bits up to the end of the last write's interval, times picoseconds in a second, times the parts of the interval.
    total: u128,
    /// Bytes written.
    written: u64,
}

impl RateSource {
    /// A source of one rate.
    #[cfg(test)]
    pub fn constant(rate: Rate, every: Interval) -> RateSource {
        RateSource::new(vec![(Span::ZERO, rate)], every)
    }

    /// A source with a schedule of rates.
    pub fn new(schedule: Vec<(Span, Rate)>, every: Interval) -> RateSource {
        RateSource { every, schedule, next: 0, step: 0, total: 0, written: 0 }
    }

    /// Bytes written so far.
    #[cfg(test)]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// When the next write is due, since the start.
    pub fn next_at(&self) -> Span {
        self.every.times(self.next)
    }

    /// Makes the next write.
    pub fn write(&mut self) -> Write {
        let at = self.next_at();
        let parts = u128::from(self.every.parts);
        // Times in picoseconds times `parts` are whole.
        let exact = |count: u64| u128::from(self.every.ps) * u128::from(count);
        let (mut from, end) = (exact(self.next), exact(self.next + 1));
        loop {
            let begins = self.schedule.get(self.step).map(|(begin, _)| u128::from(begin.ps()) * parts);
            let until = begins.map_or(end, |begin| begin.min(end));
            if until > from {
                let rate = self.step.checked_sub(1).map_or(0, |step| self.schedule[step].1.bps());
                self.total += u128::from(rate) * (until - from);
                from = until;
            }
            match begins {
                Some(begin) if begin <= end => self.step += 1,
                _ => break,
            }
        }
        self.next += 1;
        let total = (self.total / (8 * u128::from(PS_PER_S) * parts)) as u64;
        let bytes = total - self.written;
        self.written = total;
        Write { at, bytes }
    }

    /// From the next write on the rate is another one, without a schedule.
    pub fn change_rate(&mut self, rate: Rate) {
        self.schedule = vec![(Span::ZERO, rate)];
        self.step = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Stream;

    fn bytes(source: &mut RateSource, count: usize) -> Vec<u64> {
        (0..count).map(|_| source.write().bytes).collect()
    }

    #[test]
    fn thirty_writes_a_second_sum_to_the_rate() {
        let mut source = RateSource::constant(Rate::from_bps(1_000_000), Interval::per_second(30));
        let second = bytes(&mut source, 30);
        assert_eq!((&second[..4], source.written()), (&[4166, 4167, 4167, 4166][..], 125_000));
        assert_eq!(source.next_at(), Span::from_ms(1000));
        (0..29).for_each(|_| _ = source.write());
        assert_eq!(source.write(), Write { at: Span::from_ps(1_966_666_666_666), bytes: 4167 });
        assert_eq!(source.written(), 250_000);
    }

    #[test]
    fn sums_are_those_of_the_rate_rounded_down() {
        for (bps, every_us) in
            [(1, 10_000), (799, 10_000), (64_001, 3_333), (1_000_000_007, 7), (10_000_000_000, 1)]
        {
            let every = Span::from_us(every_us);
            let mut source = RateSource::constant(Rate::from_bps(bps), Interval::new(every));
            for count in 1..=2_000 {
                assert_eq!(source.write().at, every * (count - 1));
                assert_eq!(source.written(), Rate::from_bps(bps).bytes_in(every * count), "{bps} {count}");
            }
        }
    }

    #[test]
    fn a_schedule_changes_the_rate_within_an_interval() {
        // 1 Mb/s from 0, 2 Mb/s from 15 ms, nothing from 40 to 60 ms, then 8 kb/s: 10 ms have 1,250, 2,500, 0, 10 bytes.
        let schedule = [(0, 1_000_000), (15, 2_000_000), (40, 0), (60, 8_000)];
        let schedule = schedule.map(|(ms, bps)| (Span::from_ms(ms), Rate::from_bps(bps))).to_vec();
        let mut source = RateSource::new(schedule, Interval::new(Span::from_ms(10)));
        assert_eq!(bytes(&mut source, 8), [1250, 1875, 2500, 2500, 0, 0, 10, 10]);
        source.change_rate(Rate::from_bps(80_000));
        assert_eq!(bytes(&mut source, 2), [100, 100]);
    }

    #[test]
    fn a_schedule_has_the_sums_of_its_rates() {
        let mut stream = Stream::new(1, "test", "schedule");
        for _ in 0..100 {
            let mut draw = |most: u64| (most as f64 * stream.uniform()) as u64;
            let every = Interval { ps: 1 + draw(50_000_000_000), parts: 1 + draw(60) };
            let mut at = draw(2) * draw(3_000_000_000);
            let schedule: Vec<(Span, Rate)> = (0..20)
                .map(|_| {
                    let step = (Span::from_ps(at), Rate::from_bps(draw(100_000_000)));
                    at += draw(2) * draw(20_000_000_000);
                    step
                })
                .collect();
            let mut source = RateSource::new(schedule.clone(), every);
            for count in 1..=300_u64 {
                source.write();
                // Each step up to the end of the interval, in picoseconds times parts.
                let parts = u128::from(every.parts);
                let end = u128::from(every.ps) * u128::from(count);
                let clipped = |span: Span| (u128::from(span.ps()) * parts).min(end);
                let until = |i: usize| schedule.get(i + 1).map_or(end, |(begin, _)| clipped(*begin));
                let steps = schedule.iter().enumerate();
                let bits: u128 = steps
                    .map(|(i, (begin, rate))| u128::from(rate.bps()) * (until(i) - clipped(*begin)))
                    .sum();
                let expected = bits / (8 * u128::from(PS_PER_S) * parts);
                assert_eq!(u128::from(source.written()), expected, "{count} of {every:?}");
            }
        }
    }
}
