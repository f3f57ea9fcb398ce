//! UDP sources: constant bit rate, changed by a schedule that can repeat.

use crate::blocks::AckOptions;
use crate::context::{FlowContext, FlowTimer};
use engine::Stream;
use net::{Packet, PacketKind};
use units::{PS_PER_S, Rate, Span, Time};

/// Sends packets of one size at a constant rate.
#[derive(Clone, Debug)]
pub struct UdpSource {
    flow: u32,
    route: u32,
    size: u32,
    /// The rate from each time after `from` on, sorted by time.
    schedule: Vec<(Span, Rate)>,
    from: Time,
    /// The schedule begins again after every period.
    period: Option<Span>,
    stop: Time,
    sent: u64,
    started: bool,
    /// The relative jitter of the gaps, and its random stream.
    jitter: Option<(f64, Stream)>,
}

impl UdpSource {
    /// Creates a source. `schedule` gives the rate from each time of the run on; with rate zero it sends nothing.
    pub fn new(flow: u32, route: u32, size: u32, schedule: Vec<(Span, Rate)>, stop: Time) -> UdpSource {
        UdpSource {
            flow,
            route,
            size,
            schedule,
            from: Time::ZERO,
            period: None,
            stop,
            sent: 0,
            started: false,
            jitter: None,
        }
    }

    /// The schedule begins at `from`, and again after every period, which is more than zero.
    pub fn repeating(self, from: Time, period: Span) -> UdpSource {
        UdpSource { from, period: Some(period), ..self }
    }

    /// Adds uniform jitter: every gap is up to `part` of itself longer or shorter. ns-2's CBR with `random_` has 0.5.
    pub fn with_jitter(self, part: f64, stream: Stream) -> UdpSource {
        UdpSource { jitter: Some((part, stream)), ..self }
    }

    /// From now on the source follows `schedule`, whose times are those of the run. The next packet leaves as long after now
    /// as its bits take at the new rate.
    pub fn change_schedule<W: FlowContext>(&mut self, context: &mut W, schedule: Vec<(Span, Rate)>) {
        self.schedule = schedule;
        self.resume(context);
    }

    /// The source stops at `stop`.
    pub fn change_stop<W: FlowContext>(&mut self, context: &mut W, stop: Time) {
        let stopped = context.timer(FlowTimer::Application) == Time::NEVER;
        self.stop = stop;
        if stopped {
            self.resume(context);
        }
    }

    /// Sets the timer of the next packet of a source that has started, after a change.
    fn resume<W: FlowContext>(&mut self, context: &mut W) {
        if self.started {
            let next = self.after_gap(context.now());
            let next = if next < self.stop { next } else { Time::NEVER };
            context.set_timer(FlowTimer::Application, next);
        }
    }

    /// Packets sent so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends a packet if it is due, and sets the timer for the next one.
    pub fn on_timer<W: FlowContext>(&mut self, context: &mut W) {
        let now = context.now();
        self.started = true;
        if now >= self.stop {
            return;
        }
        let (rate, change) = self.rate_at(now);
        let next = if rate.bps() == 0 {
            change
        } else {
            // Packet numbers wrap around at 2^32.
            let packet =
                Packet::new(PacketKind::Udp, self.flow, self.route, self.sent as u32, self.size, now);
            self.sent += 1;
            context.send(packet, &AckOptions::NONE);
            let next = self.after_gap(now);
            match &mut self.jitter {
                Some((part, stream)) if next != Time::NEVER => {
                    let factor = 1.0 + *part * (2.0 * stream.uniform() - 1.0);
                    now + Span::from_ps((next.since(now).ps() as f64 * factor) as u64)
                }
                _ => next,
            }
        };
        if next < self.stop {
            context.set_timer(FlowTimer::Application, next);
        }
    }

    /// The rate at a time, and the time of its next change; a source that repeats is not asked before its first period.
    fn rate_at(&self, at: Time) -> (Rate, Time) {
        let (since, begin, end) = match self.period {
            None => (at.since(self.from), self.from, Time::NEVER),
            Some(period) => {
                let since = at.since(self.from).ps();
                let within = since % period.ps();
                let begin = self.from + Span::from_ps(since - within);
                (Span::from_ps(within), begin, begin + period)
            }
        };
        let step = self.schedule.partition_point(|(from, _)| *from <= since);
        let rate = step.checked_sub(1).map_or(Rate::from_bps(0), |i| self.schedule[i].1);
        (rate, self.schedule.get(step).map_or(end, |(from, _)| begin + *from))
    }

    /// The time of the packet after one at `now`: its bits are sent at the rates of the schedule in between.
    fn after_gap(&self, now: Time) -> Time {
        let mut left = self.size as u128 * 8 * PS_PER_S as u128; // bits, times picoseconds in a second
        let mut at = now;
        loop {
            let (rate, change) = self.rate_at(at);
            let rate = rate.bps() as u128;
            let sent = rate * change.since(at).ps() as u128;
            if sent >= left && rate > 0 {
                return at + Span::from_ps(left.div_ceil(rate).clamp(1, u64::MAX as u128) as u64);
            }
            if change == Time::NEVER {
                return Time::NEVER;
            }
            left -= sent;
            at = change;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_within_a_gap_is_not_overslept() {
        // 1,000 bytes at 1 kb/s take 8 s; after 1 s, 1 of 8 kbit is out and the rest leaves at 7 Mb/s.
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let schedule = vec![
            (Span::ZERO, Rate::from_bps(1_000)),
            (Span::from_ms(1_000), Rate::from_bps(7_000_000)),
            (Span::from_ms(2_000), Rate::from_bps(0)),
        ];
        let source = UdpSource::new(0, 0, 1000, schedule, Time::NEVER);
        assert_eq!(source.after_gap(at(0)), at(1_001));
        assert_eq!(source.after_gap(at(1_999)), Time::NEVER);
    }

    #[test]
    fn a_schedule_repeats_from_its_start() {
        // 30 ms at 800 kb/s of every 100 ms, from 250 ms on: three packets of 1,000 bytes in each period.
        use crate::recording::RecordingContext;
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let schedule = vec![(Span::ZERO, Rate::from_bps(800_000)), (Span::from_ms(30), Rate::from_bps(0))];
        let source = UdpSource::new(0, 0, 1000, schedule, at(460));
        let mut source = source.repeating(at(250), Span::from_ms(100));
        let mut context = RecordingContext::default();
        context.now = at(250);
        source.on_timer(&mut context);
        while let Some((_, when)) = context.take_timer() {
            context.now = when;
            source.on_timer(&mut context);
        }
        let sent: Vec<_> = context.sent.iter().map(|(packet, _)| packet.sent).collect();
        assert_eq!(sent, [250, 260, 270, 350, 360, 370, 450].map(at));
    }

    #[test]
    fn sends_at_its_rate_until_it_stops() {
        use crate::recording::RecordingContext;
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let schedule = vec![
            (Span::ZERO, Rate::from_bps(80_000)),
            (Span::from_ms(250), Rate::from_bps(0)),
            (Span::from_ms(500), Rate::from_bps(40_000)),
        ];
        let mut source = UdpSource::new(3, 7, 1000, schedule, at(800));
        let mut context = RecordingContext::default();
        source.on_timer(&mut context);
        while let Some((_, when)) = context.take_timer() {
            context.now = when;
            source.on_timer(&mut context);
        }
        // 100 ms apart; of the fourth packet half was due when the rate fell to zero.
        let sent: Vec<_> =
            context.sent.iter().map(|(packet, _)| (packet.sent, packet.seq, packet.size)).collect();
        assert_eq!(sent, [(at(0), 0, 1000), (at(100), 1, 1000), (at(200), 2, 1000), (at(600), 3, 1000)]);
        assert_eq!((source.sent(), context.sent[0].0.flow, context.sent[0].0.route), (4, 3, 7));
        let jittered = UdpSource::new(0, 0, 1000, vec![(Span::ZERO, Rate::from_bps(80_000))], at(10_000));
        let mut jittered = jittered.with_jitter(0.5, Stream::new(1, "gaps", "f"));
        let mut context = RecordingContext::default();
        jittered.on_timer(&mut context);
        while let Some((_, when)) = context.take_timer() {
            let gap = when.since(context.now);
            assert!(gap >= Span::from_ms(50) && gap <= Span::from_ms(150), "{gap}");
            context.now = when;
            jittered.on_timer(&mut context);
        }
        assert!((95..=105).contains(&jittered.sent()), "{}", jittered.sent());
    }
}
