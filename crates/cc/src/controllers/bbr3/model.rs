//! The model of the path: bandwidth, round-trip time, bounds of the segments in flight, rounds.

use crate::controllers::bbr::common::MIN_WINDOW;
use crate::{Ack, Lost, RateSample};
use std::collections::VecDeque;
use units::{Span, Time};

/// Growth of the bandwidth in a round below which the path counts as full, and the number of such rounds.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
const MIN_RTT_WINDOW: Span = Span::from_ms(10_000);
/// Runs of lost segments in a round after which Startup ends.
const STARTUP_RANGES: u32 = 6;
const AGGREGATION_ROUNDS: u64 = 10;

/// The constants in which variants differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    pub drain_gain: f64,
    pub down_gain: f64,
    pub loss_threshold: f64,
    pub beta: f64,
    pub headroom: f64,
    pub probe_rtt_interval: Span,
}

/// The estimates. Rates are in segments/s, windows in segments.
#[derive(Clone, Debug)]
pub(super) struct Model {
    constants: Constants,
    pub initial_window: f64,
    /// The largest rates of the last and of the current probing cycle.
    slots: [f64; 2],
    /// The rate in use: the largest one, below the short-term bound.
    pub bandwidth: f64,
    pub bandwidth_shortterm: f64,
    pub inflight_shortterm: f64,
    pub longterm: f64,
    pub min_rtt: Option<Span>,
    min_rtt_at: Time,
    probe_rtt_min: Option<Span>,
    pub probe_rtt_at: Time,
    pub probe_rtt_expired: bool,
    pub full: bool,
    pub full_now: bool,
    pub full_bandwidth: f64,
    pub full_rounds: u32,
    pub rounds: u64,
    pub round_start: bool,
    next_round: u64,
    /// Segments delivered so far.
    pub delivered: u64,
    loss_round_start: bool,
    next_loss_round: u64,
    pub loss_in_round: bool,
    loss_ranges: u32,
    recovery_round: Option<u64>,
    pub bandwidth_latest: f64,
    pub inflight_latest: f64,
    epoch_began: Time,
    epoch_acked: f64,
    extra: VecDeque<(u64, f64)>,
}

impl Model {
    pub fn new(constants: Constants, initial_window: f64) -> Model {
        Model {
            constants,
            initial_window,
            slots: [0.0; 2],
            bandwidth: 0.0,
            bandwidth_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            longterm: f64::INFINITY,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            probe_rtt_min: None,
            probe_rtt_at: Time::ZERO,
            probe_rtt_expired: false,
            full: false,
            full_now: false,
            full_bandwidth: 0.0,
            full_rounds: 0,
            rounds: 0,
            round_start: false,
            next_round: 0,
            delivered: 0,
            loss_round_start: false,
            next_loss_round: 0,
            loss_in_round: false,
            loss_ranges: 0,
            recovery_round: None,
            bandwidth_latest: 0.0,
            inflight_latest: 0.0,
            epoch_began: Time::ZERO,
            epoch_acked: 0.0,
            extra: VecDeque::new(),
        }
    }

    pub fn begin(&mut self, now: Time) {
        (self.min_rtt_at, self.probe_rtt_at, self.epoch_began) = (now, now, now);
    }

    #[cfg(test)]
    pub fn set_path(&mut self, rate: f64, rtt: Span) {
        (self.slots[1], self.bandwidth, self.min_rtt) = (rate, rate, Some(rtt));
    }

    // ---- windows ------------------------------------------------------------------------------------------

    pub fn max_bandwidth(&self) -> f64 {
        self.slots[0].max(self.slots[1])
    }

    /// `gain` bandwidth-delay products at the rate in use.
    pub fn bdp(&self, gain: f64) -> f64 {
        self.bdp_of(self.bandwidth, gain)
    }

    pub fn bdp_of(&self, bandwidth: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.initial_window, |rtt| gain * bandwidth * rtt.seconds())
    }

    /// The long-term bound less the part for other flows.
    pub fn with_headroom(&self) -> f64 {
        if self.longterm == f64::INFINITY {
            return f64::INFINITY;
        }
        (self.longterm - (self.constants.headroom * self.longterm).max(1.0)).max(MIN_WINDOW)
    }

    /// Whether the loss of `lost` segments of `sent` in flight shows that too much was in flight.
    pub fn too_high(&self, lost: f64, sent: f64) -> bool {
        lost > self.constants.loss_threshold * sent
    }

    /// The number in flight at which the loss of `lost` segments of `sent` crossed the threshold.
    pub fn crossing(&self, sent: f64, lost: f64) -> f64 {
        let (threshold, before, lost_before) = (self.constants.loss_threshold, sent - 1.0, lost - 1.0);
        before + (threshold * before - lost_before) / (1.0 - threshold)
    }

    /// Segments acknowledged in bursts beyond the rate.
    pub fn extra_acked(&self) -> f64 {
        self.extra.iter().map(|(_, extra)| *extra).fold(0.0, f64::max)
    }

    // ---- events -------------------------------------------------------------------------------------------

    pub fn start_round(&mut self, delivered: u64) {
        self.next_round = delivered;
    }

    pub fn forget_round(&mut self) {
        (self.loss_in_round, self.bandwidth_latest, self.inflight_latest) = (false, 0.0, 0.0);
    }

    pub fn reset_short_term(&mut self) {
        (self.bandwidth_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }

    /// Looks anew for a full path, from `rate` on.
    pub fn restart_full(&mut self, rate: f64) {
        (self.full_bandwidth, self.full_rounds, self.full_now) = (rate, 0, false);
    }

    /// A probing cycle has ended: the rates of the one before it are forgotten.
    pub fn advance_bandwidth(&mut self) {
        self.slots = [self.slots[1], 0.0];
    }

    pub fn restart_aggregation(&mut self, now: Time) {
        (self.epoch_began, self.epoch_acked) = (now, 0.0);
    }

    pub fn count_loss(&mut self, lost: &Lost) {
        if !self.loss_in_round {
            self.next_loss_round = lost.delivered_total;
        }
        self.loss_in_round = true;
        self.loss_ranges += lost.starts_range as u32;
    }

    /// Processes the sample of an ACK. `probing`: losses are expected. Returns the rate, and whether segments were lost in
    /// the loss round that may have ended.
    pub fn update(&mut self, ack: &Ack, sample: &RateSample, probing: bool, cwnd: f64) -> (f64, bool) {
        let interval = sample.interval.seconds();
        let rate = if interval > 0.0 { sample.delivered as f64 / interval } else { 0.0 };
        self.delivered = ack.delivered_total;
        self.bandwidth_latest = self.bandwidth_latest.max(rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered as f64);
        self.loss_round_start = sample.prior_delivered >= self.next_loss_round;
        if self.loss_round_start {
            self.next_loss_round = ack.delivered_total;
        }
        self.round_start = sample.prior_delivered >= self.next_round;
        if self.round_start {
            self.next_round = ack.delivered_total;
            self.rounds += 1;
        }
        if rate > 0.0 && (rate >= self.max_bandwidth() || !sample.app_limited) {
            self.slots[1] = self.slots[1].max(rate);
        }
        let had_loss = self.loss_in_round;
        if self.loss_round_start {
            if !probing && had_loss {
                self.lower_short_term(cwnd);
            }
            self.loss_in_round = false;
        }
        self.update_aggregation(ack, cwnd);
        self.check_full(sample, rate);
        (rate, had_loss)
    }

    fn lower_short_term(&mut self, cwnd: f64) {
        let beta = self.constants.beta;
        let bandwidth = if self.bandwidth_shortterm.is_finite() {
            self.bandwidth_shortterm
        } else {
            self.max_bandwidth()
        };
        let inflight = if self.inflight_shortterm.is_finite() { self.inflight_shortterm } else { cwnd };
        self.bandwidth_shortterm = self.bandwidth_latest.max(beta * bandwidth);
        self.inflight_shortterm = self.inflight_latest.max(beta * inflight);
    }

    fn update_aggregation(&mut self, ack: &Ack, cwnd: f64) {
        let mut expected = self.bandwidth * ack.now.since(self.epoch_began).seconds();
        if self.epoch_acked <= expected {
            (self.epoch_acked, self.epoch_began, expected) = (0.0, ack.now, 0.0);
        }
        self.epoch_acked += ack.newly_delivered as f64;
        let extra = (self.epoch_acked - expected).min(cwnd);
        if let Some((_, largest)) = self.extra.back_mut().filter(|(round, _)| *round == self.rounds) {
            *largest = largest.max(extra);
            return;
        }
        let rounds = if self.full { AGGREGATION_ROUNDS } else { 1 };
        while self.extra.front().is_some_and(|(round, _)| self.rounds - round > rounds) {
            self.extra.pop_front();
        }
        self.extra.push_back((self.rounds, extra));
    }

    fn check_full(&mut self, sample: &RateSample, rate: f64) {
        if self.full_now || !self.round_start || sample.app_limited {
            return;
        }
        if rate >= FULL_GROWTH * self.full_bandwidth {
            return self.restart_full(rate);
        }
        self.full_rounds += 1;
        self.full_now = self.full_rounds >= FULL_ROUNDS;
        self.full |= self.full_now;
    }

    /// Whether losses end Startup: in the second loss round of a recovery, with several runs of lost segments and too many
    /// of them.
    pub fn lossy_startup(&mut self, sample: &RateSample, had_loss: bool) -> bool {
        if !self.loss_round_start {
            return false;
        }
        let lossy = had_loss
            && self.recovery_round.is_some_and(|began| self.rounds > began)
            && self.loss_ranges >= STARTUP_RANGES
            && self.too_high(sample.lost as f64, sample.tx_in_flight as f64);
        self.recovery_round = had_loss.then(|| self.recovery_round.unwrap_or(self.rounds));
        self.loss_ranges = 0;
        lossy
    }

    pub fn update_min_rtt(&mut self, now: Time, rtt: Option<Span>) {
        self.probe_rtt_expired = now > self.probe_rtt_at + self.constants.probe_rtt_interval;
        if let Some(rtt) = rtt
            && (self.probe_rtt_expired || self.probe_rtt_min.is_none_or(|least| rtt < least))
        {
            (self.probe_rtt_min, self.probe_rtt_at) = (Some(rtt), now);
        }
        let expired = now > self.min_rtt_at + MIN_RTT_WINDOW;
        let Some(least) = self.probe_rtt_min else { return };
        if expired || self.min_rtt.is_none_or(|known| least < known) {
            (self.min_rtt, self.min_rtt_at) = (Some(least), self.probe_rtt_at);
        }
    }

    /// Ends the processing of a sample.
    pub fn advance(&mut self, sample: &RateSample, rate: f64) {
        if self.loss_round_start {
            (self.bandwidth_latest, self.inflight_latest) = (rate, sample.delivered as f64);
        }
        self.bandwidth = self.max_bandwidth().min(self.bandwidth_shortterm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> Model {
        let constants = Constants {
            drain_gain: 0.5,
            down_gain: 0.9,
            loss_threshold: 0.02,
            beta: 0.7,
            headroom: 0.15,
            probe_rtt_interval: Span::from_ms(5000),
        };
        Model::new(constants, 10.0)
    }

    #[test]
    fn bounds_have_the_values_of_the_reference() {
        let mut m = model();
        assert_eq!(m.with_headroom(), f64::INFINITY);
        for (longterm, expected) in [(100.0, 85.0), (4.0, 4.0)] {
            m.longterm = longterm;
            assert_eq!(m.with_headroom(), expected);
        }
        assert!(m.too_high(3.0, 100.0) && !m.too_high(2.0, 100.0));
        assert!((m.crossing(100.0, 3.0) - 98.97959).abs() < 1e-5);
    }

    #[test]
    fn losses_lower_the_short_term_bounds() {
        let mut m = model();
        m.slots[1] = 100.0;
        (m.bandwidth_latest, m.inflight_latest) = (60.0, 50.0);
        m.lower_short_term(120.0);
        assert_eq!((m.bandwidth_shortterm, m.inflight_shortterm), (70.0, 84.0));
        (m.bandwidth_latest, m.inflight_latest) = (80.0, 50.0);
        m.lower_short_term(120.0);
        assert!((m.bandwidth_shortterm - 80.0).abs() < 1e-9 && (m.inflight_shortterm - 58.8).abs() < 1e-9);
    }

    #[test]
    fn the_path_is_full_after_three_rounds_without_growth() {
        let mut m = model();
        m.round_start = true;
        let sample = RateSample::default();
        let full: Vec<bool> = [10.0, 20.0, 30.0, 36.0, 37.0, 37.0]
            .into_iter()
            .map(|rate| {
                m.check_full(&sample, rate);
                m.full
            })
            .collect();
        assert_eq!(full, [false, false, false, false, false, true]);
    }

    #[test]
    fn the_smallest_round_trip_time_is_measured_again() {
        let mut m = model();
        let at = |s: u64| Time::ZERO + Span::from_ms(1000 * s);
        m.update_min_rtt(at(1), Some(Span::from_ms(40)));
        m.update_min_rtt(at(2), Some(Span::from_ms(50)));
        assert_eq!((m.min_rtt, m.probe_rtt_expired), (Some(Span::from_ms(40)), false));
        m.update_min_rtt(at(7), Some(Span::from_ms(50)));
        assert!(m.probe_rtt_expired && m.min_rtt == Some(Span::from_ms(40)));
        m.update_min_rtt(at(12), Some(Span::from_ms(60)));
        assert_eq!(m.min_rtt, Some(Span::from_ms(50)));
    }
}
