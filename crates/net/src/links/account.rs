//! Counters of links over the whole run and over its warm-up. A link counts a packet when it accepts it, before the
//! departure and the arrival. The functions here subtract what happens after the end of the warm-up or of the run.

use super::Links;
use crate::link::{Beyond, IngressState, LinkAccount};
use crate::sojourn::Sojourns;
use crate::tap::DropReason;
use crate::transmitter::Transmitter;
use std::collections::BTreeMap;
use units::{Span, Time};

/// The sum of waiting times of link `id` has passed 2^64 ps: counts that in `carries`, [`Links::waited_carries`].
#[cold]
#[inline(never)]
pub(crate) fn carry_waited(carries: &mut BTreeMap<u32, u64>, id: u32) {
    *carries.entry(id).or_default() += 1;
}

impl Links {
    /// Records waiting times, for [`LinkAccount::p95_sojourn_s`]. Call it after adding the links and after
    /// [`Links::set_warmup`].
    pub fn record_sojourns(&mut self) {
        let from = if self.beyond.is_empty() { Time::ZERO } else { self.border };
        self.sojourns = Some(Box::new(Sojourns::new(from)));
        self.simple_until = Time::ZERO;
        for service in self.ingress.iter_mut().filter_map(|ingress| ingress.service.as_mut()) {
            service.scheduler.record_sojourns(from);
        }
    }

    /// Counts a transmission that ends after the warm-up or after the run, or any if waiting times are recorded.
    #[cold]
    pub(crate) fn transmit_late(&mut self, id: u32, now: Time, start: Time, depart: Time) {
        self.count_late(id, depart.since(start), |end| depart.since(start.max(end)));
        let waited = |end: Time| if now <= end { start.min(end).since(now) } else { Span::ZERO };
        let whole = waited(self.horizon);
        self.add_waited(id, whole);
        if start > self.horizon {
            self.unsent.entry(id).or_default().add(whole);
        }
        if let Some(beyond) = self.beyond.get_mut(id as usize) {
            let early = waited(self.border);
            beyond.waited += (whole - early).ps() as u128;
            if now > self.border {
                beyond.accepted += 1;
            } else if start > self.border {
                beyond.unsent.add(early);
            }
        }
        if let Some(sojourns) = &mut self.sojourns
            && start <= self.horizon
        {
            sojourns.record(id, now, start);
        }
    }

    /// Counts the transmission of a packet that ends after the warm-up or after the run, and that keeps the transmitter busy
    /// for `busy`. `after` gives the part of `busy` after a time.
    #[cold]
    pub(crate) fn count_late(&mut self, id: u32, busy: Span, after: impl Fn(Time) -> Span) {
        let later = after(self.horizon);
        let link = &mut self.states[id as usize];
        link.busy = link.busy + (busy - later);
        if let Some(beyond) = self.beyond.get_mut(id as usize) {
            beyond.busy = beyond.busy + (after(self.border) - later);
        }
    }

    /// Adds to the sum of waiting times of link `id`.
    #[inline(always)] // or a packet pays a call for it
    pub(crate) fn add_waited(&mut self, id: u32, time: Span) {
        if self.states[id as usize].add_waited(time) {
            carry_waited(&mut self.waited_carries, id);
        }
    }

    /// The sum of waiting times of link `id` up to the horizon, ps.
    fn waited(&self, id: u32) -> u128 {
        let carries = self.waited_carries.get(&id).copied().unwrap_or_default();
        (u128::from(carries) << 64) + u128::from(self.states[id as usize].waited)
    }

    /// Counts the waiting time of a packet of a scheduled link.
    #[inline]
    pub(crate) fn count_sojourn(&mut self, id: u32, now: Time, start: Time) {
        self.add_waited(id, start.since(now));
        if let Some(sojourns) = &mut self.sojourns {
            sojourns.record(id, now, start);
        }
    }

    /// Link `id` has used its medium for a span that begins at `now`.
    pub(crate) fn count_usage(&mut self, id: u32, now: Time, used: Span) {
        let end = now + used;
        if end <= self.border {
            let link = &mut self.states[id as usize];
            link.busy = link.busy + used;
        } else {
            self.count_late(id, used, |from| end.since(from.max(now).min(end)));
        }
    }

    /// Counts an arrival, at the end of link `id` in front of a fused link, that is after the end of the warm-up or
    /// of the run. Returns whether it is after the end of the run.
    #[cold]
    pub(crate) fn arrives_late(&mut self, id: u32, arrival: Time) -> bool {
        if arrival <= self.horizon {
            self.beyond[id as usize].delivered += 1;
        }
        arrival > self.horizon
    }

    /// Whether everything up to `at` belongs to the part of the run that is counted now: the warm-up, or the rest.
    #[inline]
    pub fn is_counted_now(&self, at: Time) -> bool {
        at <= self.border
    }

    /// Sets the end of the warm-up, so that [`crate::Network::account`] is valid at that time too. Call it after adding the
    /// links.
    pub fn set_warmup(&mut self, at: Time) {
        (self.border, self.simple_until) = (at, at);
        self.beyond = vec![Beyond::default(); self.states.len()];
    }

    /// Ends the warm-up. Call it after [`crate::Network::account`] for the warm-up.
    pub(crate) fn end_warmup(&mut self) {
        for (link, beyond) in self.states.iter().zip(&self.beyond) {
            let ingress = self.ingress.get_mut(link.ingress as usize);
            if let Some(service) = ingress.and_then(|ingress| ingress.service.as_mut()) {
                let remaining = beyond.busy.seconds() * service.nominal.bps() as f64;
                service.transmitter.end_warmup(self.border, remaining);
            }
        }
        self.border = self.horizon;
        if self.sojourns.is_none() {
            self.simple_until = self.horizon;
        }
        self.beyond = Vec::new();
    }

    /// The numbers of the links whose rate varies in itself or by changes, with the bits that they could have sent until `end`. A
    /// medium or a token bucket is not among them: what they could send depends on what was sent.
    pub fn varying(&self, end: Time) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.states.iter().enumerate().filter_map(move |(number, link)| {
            let transmitter = &self.ingress.get(link.ingress as usize)?.service.as_ref()?.transmitter;
            let varies = match transmitter {
                Transmitter::Steps(_) | Transmitter::Trace(_) => true,
                Transmitter::Changing(rates) => rates.len() > 1,
                _ => false,
            };
            varies.then(|| (number, transmitter.offered(end)))
        })
    }

    /// The account of every link over the first `duration` of the run, in the order of their numbers: the whole run or the
    /// warm-up. `in_flight` has for each link the packets on it, apart from those that wait in its queue.
    pub(crate) fn account(
        &self,
        mut in_flight: Vec<u64>,
        duration: Span,
    ) -> impl Iterator<Item = LinkAccount> + '_ {
        for (count, link) in in_flight.iter_mut().zip(&self.states) {
            *count += self.ingress.get(link.ingress as usize).map_or(0, IngressState::waiting);
        }
        let (seconds, end) = (duration.seconds(), Time::ZERO + duration);
        let (none, nothing) = (IngressState::default(), Beyond::default());
        let unsent_at_end = |number: usize| self.unsent.get(&(number as u32)).copied().unwrap_or_default();
        self.states.iter().zip(in_flight).enumerate().map(move |(number, (link, flying))| {
            let beyond = self.beyond.get(number).unwrap_or(&nothing);
            let accepted = link.accepted - beyond.accepted;
            let busy = link.busy - beyond.busy;
            let ingress = self.ingress.get(link.ingress as usize).unwrap_or(&none);
            let dropped = |after: bool| -> u64 {
                let reasons = DropReason::ALL.into_iter().filter(|reason| reason.after_queue() == after);
                reasons.map(|reason| ingress.drops[reason as usize]).sum()
            };
            // A varying transmitter counts as busy as long as the bits take at the nominal rate.
            let varying = ingress.service.as_ref().filter(|service| !service.transmitter.constant());
            let offered = varying.map_or(seconds, |s| s.transmitter.offered(end) / s.nominal.bps() as f64);
            let waiting = ingress.service.as_ref().map_or(0, |service| service.waited(end));
            let seconds_of = |ps: u128| ps as f64 / units::PS_PER_S as f64;
            let sum = self.waited(number as u32) - beyond.waited;
            let waited = seconds_of(sum + waiting);
            let unsent = match &ingress.service {
                Some(service) => service.unsent(),
                None if self.beyond.is_empty() => unsent_at_end(number),
                None => beyond.unsent,
            };
            let transmitted = accepted - unsent.packets;
            let sojourns = seconds_of(sum.saturating_sub(unsent.waited));
            let delivered = link.accepted - flying - dropped(true) - ingress.lost_later - beyond.delivered;
            // Before the border the transmission times of what waits are counted already.
            let counted = end < self.border;
            debug_assert!(
                counted || busy.seconds() <= offered * (1.0 + 1e-6) + 1e-9,
                "{number}: {busy:?} of {offered}"
            );
            let drops = std::array::from_fn(|reason| ingress.drops[reason] - beyond.dropped[reason]);
            let lost = dropped(true) - beyond.dropped.iter().sum::<u64>();
            LinkAccount {
                offered: accepted + dropped(false),
                accepted,
                transmitted,
                delivered,
                dropped: drops,
                in_flight: accepted - delivered - lost,
                marked: ingress.marked,
                // Transmission times are rounded to the picosecond.
                utilisation: if offered > 0.0 { (busy.seconds() / offered).min(1.0) } else { 0.0 },
                offered_s: offered,
                mean_queue_packets: if seconds > 0.0 { waited / seconds } else { 0.0 },
                low_latency: ingress.service.as_ref().and_then(|s| s.scheduler.low_latency()),
                p95_sojourn_s: self.sojourns.as_ref().and_then(|sojourns| sojourns.quantile(number, 0.95)),
                delays_s: self.sojourns.as_ref().and_then(|sojourns| sojourns.delays(number)),
                mean_sojourn_s: (transmitted > 0).then(|| sojourns / transmitted as f64),
            }
        })
    }
}
