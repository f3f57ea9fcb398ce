//! Removal of the warm-up from the outcome of a run.
//!
//! The outcome at the end of the warm-up is subtracted from that of the whole run: counters directly; means are
//! converted to sums, subtracted and divided again.

use crate::simulation::media_outcome::{
    CellLinkOutcome, CellOutcome, GrantsOutcome, WifiLinkOutcome, WifiOutcome,
};
use crate::simulation::outcome::{FlowOutcome, LinkOutcome, Outcome, RadioOutcome, compared_goodputs, jain};

impl Outcome {
    /// This outcome without `beginning`, the outcome at the end of the warm-up. Smallest round-trip time and delay,
    /// final windows and completion time remain those of the whole run.
    pub(crate) fn without(mut self, beginning: &Outcome) -> Outcome {
        let cut = Cut { whole: self.duration_s, warmup: beginning.duration_s };
        for (flow, early) in self.flows.iter_mut().zip(&beginning.flows) {
            cut.flow(flow, early);
        }
        for (link, early) in self.links.iter_mut().zip(&beginning.links) {
            cut.link(link, early);
        }
        if let (Some(radio), Some(early)) = (&mut self.radio, &beginning.radio) {
            radio.without(early);
        }
        let late_s = cut.whole - cut.warmup;
        for (channel, early) in self.wifi.iter_mut().zip(&beginning.wifi) {
            let name = std::mem::take(&mut channel.channel);
            *channel = WifiOutcome::new(name, &channel.account - &early.account, late_s);
        }
        for (cell, early) in self.cell.iter_mut().zip(&beginning.cell) {
            let name = std::mem::take(&mut cell.name);
            *cell = CellOutcome::new(name, cell.shares, &cell.account - &early.account, late_s);
        }
        self.fairness.jain = jain(&compared_goodputs(&self.flows));
        self.warmup_s = Some(cut.warmup);
        self
    }
}

impl RadioOutcome {
    fn without(&mut self, early: &RadioOutcome) {
        // Packets that were in the radio network at the end of the warm-up can still arrive.
        let ended = early.received_packets + early.dropped_packets.values().sum::<u64>();
        let waiting = early.offered_packets - ended;
        let hops = |r: &RadioOutcome| (r.mean_hops, r.received_packets);
        self.mean_hops = late_mean(hops(self), hops(early));
        for (all, early) in [
            (&mut self.offered_packets, early.offered_packets),
            (&mut self.received_packets, early.received_packets),
            (&mut self.routing_packets, early.routing_packets),
        ] {
            *all -= early;
        }
        for (all, early) in
            [(&mut self.mac_drops, &early.mac_drops), (&mut self.dropped_packets, &early.dropped_packets)]
        {
            for (name, count) in all {
                *count -= early.get(name).copied().unwrap_or(0);
            }
        }
        let over = |a: u64, b: u64| (b > 0).then(|| a as f64 / b as f64);
        self.delivery_ratio = over(self.received_packets, self.offered_packets + waiting);
        self.routing_load = over(self.routing_packets, self.received_packets);
    }
}

/// Mean over the samples after the warm-up, from mean and count of all samples and of those in the warm-up.
fn late_mean(all: (Option<f64>, u64), early: (Option<f64>, u64)) -> Option<f64> {
    let sum = |(mean, n): (Option<f64>, u64)| mean.unwrap_or(0.0) * n as f64;
    (all.1 > early.1).then(|| (sum(all) - sum(early)) / (all.1 - early.1) as f64)
}

struct Cut {
    whole: f64,
    warmup: f64,
}

impl Cut {
    /// A time average after the warm-up.
    fn over_time(&self, all: f64, early: f64) -> f64 {
        (all * self.whole - early * self.warmup) / (self.whole - self.warmup)
    }

    fn flow(&self, flow: &mut FlowOutcome, early: &FlowOutcome) {
        let rate = |all: u64, early: u64| (all - early) as f64 * 8.0 / (self.whole - self.warmup);
        flow.goodput_bps = rate(flow.delivered_bytes, early.delivered_bytes);
        flow.throughput_bps = rate(flow.wire_bytes, early.wire_bytes);
        let time_mean =
            |all: Option<f64>, early: Option<f64>| all.map(|all| self.over_time(all, early.unwrap_or(0.0)));
        flow.mean_cwnd = time_mean(flow.mean_cwnd, early.mean_cwnd);
        flow.mean_ssthresh = time_mean(flow.mean_ssthresh, early.mean_ssthresh);

        flow.mean_rtt_s =
            late_mean((flow.mean_rtt_s, flow.rtt_samples), (early.mean_rtt_s, early.rtt_samples));
        let counted = |of: fn(&FlowOutcome) -> Option<f64>, less: u64| {
            late_mean(
                (of(flow), flow.arrived_packets.saturating_sub(less)),
                (of(early), early.arrived_packets.saturating_sub(less)),
            )
        };
        let delay = counted(|f| f.mean_delay_s, 0);
        let jitters = [counted(|f| f.jitter1_s, 0), counted(|f| f.jitter2_s, 0)];
        let gap = counted(|f| f.mean_gap_s, 1); // n arrivals have n - 1 gaps
        flow.mean_delay_s = delay;
        let least = [flow.min_delay_s, early.min_delay_s].into_iter().flatten().reduce(f64::min);
        flow.delays.drain(..early.delays.len());
        flow.rank_delays();
        flow.min_delay_s = least;
        [flow.jitter1_s, flow.jitter2_s] = jitters;
        flow.mean_gap_s = gap;
        for (all, early) in flow.limited_s.iter_mut().zip(early.limited_s) {
            *all -= early;
        }
        flow.delivered_bytes -= early.delivered_bytes;
        flow.active_s -= early.active_s;
        flow.sent_packets -= early.sent_packets;
        // What was sent in the warm-up and arrived after it is not part of what was sent after it.
        let [arrived, carried] = flow.distinct_packets;
        flow.distinct_packets = [arrived - early.distinct_packets[0] - carried, 0];
        flow.set_delivery_ratio();
        let less = |all: &mut Option<u64>, early: Option<u64>| {
            *all = all.map(|all| all - early.unwrap_or(0));
        };
        less(&mut flow.acked_packets, early.acked_packets);
        less(&mut flow.retransmitted_packets, early.retransmitted_packets);
        less(&mut flow.timeouts, early.timeouts);
        less(&mut flow.window_cuts, early.window_cuts);
        less(&mut flow.persistent_congestion, early.persistent_congestion);
        less(&mut flow.ce_marks, early.ce_marks);
    }

    fn link(&self, link: &mut LinkOutcome, early: &LinkOutcome) {
        if let (Some(wifi), Some(early)) = (&mut link.wifi, &early.wifi) {
            let both = wifi.accounts.iter().zip(&early.accounts);
            let late = both.map(|((access, all), (_, early))| (*access, all - early)).collect();
            **wifi = WifiLinkOutcome::new(late, self.whole - self.warmup);
        }
        if let (Some(cell), Some(early)) = (&mut link.cell, &early.cell) {
            let late = &cell.account - &early.account;
            **cell = CellLinkOutcome::new(late, cell.share, self.whole - self.warmup);
        }
        if let (Some(grants), Some(early)) = (&mut link.grants, &early.grants) {
            **grants = GrantsOutcome::new(&grants.account - &early.account);
        }
        if let (Some(low), Some(early)) = (&mut link.low_latency, &early.low_latency) {
            low.mean_sojourn_s =
                late_mean((low.mean_sojourn_s, low.sent_packets), (early.mean_sojourn_s, early.sent_packets));
            low.sent_packets -= early.sent_packets;
            low.marked_packets -= early.marked_packets;
        }
        link.mean_sojourn_s = late_mean(
            (link.mean_sojourn_s, link.transmitted_packets),
            (early.mean_sojourn_s, early.transmitted_packets),
        );
        link.transmitted_packets -= early.transmitted_packets;
        link.delivered_packets -= early.delivered_packets;
        link.marked_packets -= early.marked_packets;
        link.dropped_packets = link.dropped_packets.without(early.dropped_packets);
        link.set_drop_rate();
        let late = Cut { whole: link.offered_s, warmup: early.offered_s };
        link.utilisation = if link.offered_s > early.offered_s {
            late.over_time(link.utilisation, early.utilisation).clamp(0.0, 1.0) // both are rounded
        } else {
            0.0
        };
        link.mean_queue_packets = self.over_time(link.mean_queue_packets, early.mean_queue_packets);
    }
}
