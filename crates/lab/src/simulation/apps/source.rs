//! Applications that write of their own accord: at a rate, or in periods.

use super::core::{Core, Timer, exponential};
use super::outgoing::Pending;
use super::sources::{Interval, RateSource};
use crate::scenario::{Amount, OnOffApp, RateApp};
use engine::Stream;
use units::{Rate, Span, Time};

/// An application that writes at a rate.
#[derive(Clone, Debug)]
pub struct RateWriter {
    source: RateSource,
    most: Option<u64>,
    start: Time,
}

impl RateWriter {
    pub fn new(options: &RateApp) -> RateWriter {
        let source = RateSource::new(options.schedule.clone(), Interval::new(options.every));
        RateWriter { source, most: options.most, start: Time::ZERO }
    }

    pub fn start(&mut self, core: &mut Core, now: Time) {
        self.start = now;
        core.open(now, 0);
        self.write(core, now);
    }

    /// The next write: what the rate gives in the interval after it.
    pub fn write(&mut self, core: &mut Core, now: Time) {
        let bytes = self.source.write().bytes;
        if bytes > 0 {
            core.write(now, 0, 0, bytes);
            if let Some(most) = self.most {
                core.drop_oldest(0, most);
            }
        }
        core.at(self.start + self.source.next_at(), Timer::Source);
    }

    /// The rate is another one from the next write on.
    pub fn change_rate(&mut self, rate: Rate) {
        self.source.change_rate(rate);
    }
}

/// An application that writes in periods.
#[derive(Clone, Debug)]
pub struct PeriodWriter {
    options: OnOffApp,
    times: Stream,
    sizes: Stream,
    /// The message of the present period, if it has no size, and what of its connection was written before it.
    endless: Option<u32>,
    is_on: bool,
    /// The end of the present period or pause.
    until: Time,
    /// With a rate: when the period began, and its writes.
    began: Time,
    source: Option<RateSource>,
}

/// Time from write to write in a period with a rate.
const WRITE_EVERY: Span = Span::from_ps(10_000_000_000);

impl PeriodWriter {
    pub fn new(options: &OnOffApp, times: Stream, sizes: Stream) -> PeriodWriter {
        PeriodWriter {
            options: options.clone(),
            times,
            sizes,
            endless: None,
            is_on: false,
            until: Time::ZERO,
            began: Time::ZERO,
            source: None,
        }
    }

    pub fn start(&mut self, core: &mut Core, now: Time) {
        core.open(now, 0);
        if self.options.start_on {
            self.begin(core, now);
        } else {
            self.pause(core, now);
        }
    }

    fn draw(&mut self, mean: Span) -> Span {
        if self.options.random { exponential(&mut self.times, mean) } else { mean }
    }

    fn pause(&mut self, core: &mut Core, now: Time) {
        self.is_on = false;
        let off = self.draw(self.options.off);
        self.until = now + off;
        core.at(self.until, Timer::Source);
    }

    fn begin(&mut self, core: &mut Core, now: Time) {
        self.is_on = true;
        self.began = now;
        match &self.options.amount {
            Amount::Size(sizes) => {
                let bytes = sizes.pick(self.sizes.uniform());
                core.write(now, 0, 0, bytes);
                // The pause begins when the period is written: the transport may still have data of it.
                self.pause(core, now);
            }
            Amount::Time(on, rate) => {
                let (on, rate) = (*on, *rate);
                let on = self.draw(on);
                self.until = now + on;
                if let Some(rate) = rate {
                    // The last write may belong to less than an interval.
                    let schedule = vec![(Span::ZERO, rate), (on, Rate::from_bps(0))];
                    self.source = Some(RateSource::new(schedule, Interval::new(WRITE_EVERY)));
                    self.write(core, now);
                } else {
                    let message = core.push(now, 0, 0);
                    self.endless = Some(message);
                    core.send(
                        0,
                        Pending { message, stream: 0, left: u64::MAX, priority: 0, finishes: false },
                    );
                    core.at(self.until, Timer::Source);
                }
            }
        }
    }

    /// The next write of a period with a rate.
    fn write(&mut self, core: &mut Core, now: Time) {
        let Some(source) = &mut self.source else { return };
        let bytes = source.write().bytes;
        let next = self.began + source.next_at();
        if bytes > 0 {
            core.write(now, 0, 0, bytes);
        }
        core.at(next.min(self.until), Timer::Source);
    }

    pub fn on_timer(&mut self, core: &mut Core, now: Time) {
        if self.is_on && now < self.until {
            return self.write(core, now);
        }
        if self.is_on {
            self.end_endless(core, now);
            self.pause(core, now);
        } else {
            self.begin(core, now);
        }
    }

    /// A period of a transport's own rate ends.
    pub fn end_endless(&mut self, core: &mut Core, now: Time) {
        if let Some(message) = self.endless.take() {
            core.end_endless(now, message);
        }
    }
}
