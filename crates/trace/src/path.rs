//! The path of a recorded flow: rate, base round-trip time, buffer, losses, other traffic (`docs/model.md`).
//!
//! Input is a recording with packets at the sender. Rates are on the wire: headers count. Every value has an interval; what the
//! recording does not show is not there.

use crate::json::Writer;
use crate::record::{Event, Recording};

/// Fewer queued samples than this do not show the rate.
const MIN_QUEUED: usize = 60;
/// The spread of own rates (interquartile range over median) below which they are those of the link.
const STEADY: f64 = 0.03;
/// The part of the largest queueing delay from which on a queue counts as full.
const FULL: f64 = 0.85;
/// The part of it below which a loss had no queue.
const EMPTY: f64 = 0.15;
/// The pause before an ACK of one segment from which on it counts as delayed, ns.
const DELAYED_ACK: u64 = 10_000_000;
const OTHERS: f64 = 1.05;
const VARIES: f64 = 1.15;
const DRAWS: usize = 200;

/// What the estimators need besides the rows.
#[derive(Clone, Copy, Debug)]
pub struct Basis {
    /// Payload of a full segment, bytes.
    pub payload: f64,
    /// Headers of a packet, bytes.
    pub headers: f64,
    /// The clock's resolution, seconds.
    pub tick_s: f64,
    /// Round-trip time of the handshake, seconds.
    pub handshake_s: Option<f64>,
}

/// A value with a 95 % interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// How the rate is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateKind {
    /// One rate.
    Constant,
    /// Steps over time.
    Varies,
    /// The queue was hardly ever seen: the rate is at least this.
    #[default]
    AtLeast,
}

/// A policer: a token bucket that predicts the losses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Policer {
    /// Bit/s on the wire.
    pub rate_bps: f64,
    /// Bytes.
    pub burst: f64,
    /// Hits less false alarms (Youden's index).
    pub youden: f64,
    /// The part of the losses that it predicts.
    pub hits: f64,
    /// The part of the other packets that it predicts as losses.
    pub alarms: f64,
}

/// The path of a recording.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// How the rate is known.
    pub kind: RateKind,
    /// Bit/s on the wire.
    pub rate_bps: Interval,
    /// Own rates' spread.
    pub spread: f64,
    /// Seconds and bit/s, if the rate varies.
    pub steps: Vec<(f64, f64)>,
    /// Lowest round-trip time, seconds.
    pub base_s: Interval,
    /// The empty path was seen.
    pub base_seen: bool,
    /// Samples of full segments.
    pub samples: usize,
    /// Part of them that met a queue.
    pub busy: f64,
    /// The largest queueing delay (99.9 %), seconds.
    pub queue_s: f64,
    /// The limit of the queue, packets with that in transmission; with `buffer_at_least` it was not reached.
    pub buffer_packets: f64,
    /// See `buffer_packets`.
    pub buffer_at_least: bool,
    /// Packets sent and packets lost.
    pub sent: u64,
    /// See `sent`.
    pub lost: u64,
    /// Part of the losses with a full queue, and part of all samples with one.
    pub full: f64,
    /// See `full`.
    pub all_full: f64,
    /// Part of the losses without a queue.
    pub empty: f64,
    /// The probability of losses that are not those of a full queue.
    pub loss: Interval,
    /// Part of the rate that others took, seen in windows; `None`: no window shows it.
    pub others: Option<f64>,
    /// What others took: seconds, bit/s.
    pub others_steps: Vec<(f64, f64)>,
    /// A policer, if a token bucket predicts the losses.
    pub policer: Option<Policer>,
    /// ECN echoes.
    pub marks: u64,
    /// Queueing delay at the lowest decile of losses, and their count, for explanations.
    pub loss_queue_s: f64,
}

#[derive(Clone, Copy)]
struct Sample {
    at: f64,
    sent: f64,
    rtt: f64,
    rate: f64,
}

/// The value at a part of the sorted values.
pub fn quantile(sorted: &[f64], part: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let place = part * (sorted.len() - 1) as f64;
    let low = place.floor() as usize;
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + (sorted[high] - sorted[low]) * (place - low as f64)
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    quantile(&sorted(values), 0.5)
}

/// The samples of full segments that were sent once, in the order of the ACKs.
fn samples(recording: &Recording, basis: &Basis) -> Vec<Sample> {
    let factor = (basis.payload + basis.headers) / basis.payload;
    let acks = || recording.rows.iter().filter(|row| row.event == Event::Ack && row.bytes > 0);
    let segments = acks().map(|row| f64::from(row.bytes)).sum::<f64>() / basis.payload;
    // An ACK of one segment that comes late among ACKs of several was delayed by the receiver, not by a queue.
    let delays_acks = segments >= 1.5 * acks().count() as f64;
    let mut last_ack = 0;
    let rows = recording.rows.iter();
    rows.filter(|row| {
        let alone = f64::from(row.bytes) <= basis.payload && row.at.saturating_sub(last_ack) > DELAYED_ACK;
        if row.event == Event::Ack && row.bytes > 0 {
            last_ack = row.at;
        }
        !(delays_acks && alone && row.event == Event::Ack)
            && row.rtt_s > 0.0
            && f64::from(row.sample_bytes) >= 0.9 * basis.payload
            && row.delivery_bps.is_finite()
    })
    .map(|row| Sample {
        at: row.at as f64 / 1e9,
        sent: row.sent_at as f64 / 1e9,
        rtt: row.rtt_s,
        rate: row.delivery_bps * factor,
    })
    .collect()
}

/// The path of a recording. Fails with what is missing.
pub fn estimate(recording: &Recording, basis: &Basis) -> Result<Path, String> {
    let samples = samples(recording, basis);
    if samples.len() < 20 {
        return Err(format!("{} round-trip times of full segments; a path needs 20", samples.len()));
    }
    let mut path = Path { samples: samples.len(), ..Path::default() };
    base(&mut path, &samples, basis);
    let wire = (basis.payload + basis.headers) * 8.0;
    let fast = quantile(&sorted(samples.iter().map(|s| s.rate)), 0.95);
    let base = path.base_s.value;
    let threshold = (2.0 * wire / fast).max(0.01 * base).max(3e-4).max(3.0 * basis.tick_s);
    let queued: Vec<Sample> = samples.iter().copied().filter(|s| s.rtt - base > threshold).collect();
    path.busy = queued.len() as f64 / samples.len() as f64;
    rate(&mut path, recording, &samples, &queued, basis, threshold);
    losses(&mut path, recording, &samples, basis);
    if path.lost >= 15 && path.full < 0.5 {
        path.policer = policer(recording, basis);
    }
    path.marks = recording.rows.last().map_or(0, |row| u64::from(row.marks));
    Ok(path)
}

fn base(path: &mut Path, samples: &[Sample], basis: &Basis) {
    let lowest = samples.iter().map(|s| s.rtt).fold(f64::INFINITY, f64::min);
    let low = (lowest - basis.tick_s).max(basis.handshake_s.unwrap_or(0.0).min(lowest));
    path.base_s = Interval { value: lowest, low, high: lowest };
    let near = lowest * 1.01 + 2.0 * basis.tick_s.max(1e-4);
    // Visits of the empty path, each more than a round trip after the one before.
    let mut visits = 0;
    let mut last = f64::NEG_INFINITY;
    for sample in samples.iter().filter(|s| s.rtt <= near) {
        if sample.at - last > 2.0 * lowest {
            visits += 1;
        }
        last = sample.at;
    }
    let first = samples.first().map_or(f64::INFINITY, |s| s.rtt);
    let at_start = first <= near
        || samples.iter().take(3).any(|s| s.rtt <= near)
        || basis.handshake_s.is_some_and(|handshake| lowest <= 1.05 * handshake + 1e-3);
    path.base_seen = at_start || visits >= 2;
}

/// The rate at which the most bytes came, of the gaps between ACKs while the queue was not empty: the highest mode of a histogram
/// of logarithms with windows of +-2 % that has 40 % of the weight of the heaviest. With its part of the weight.
fn mode(rates: &mut [(f64, f64)]) -> Option<(f64, f64)> {
    if rates.len() < 30 {
        return None;
    }
    rates.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut sums = Vec::with_capacity(rates.len() + 1);
    sums.push(0.0);
    for (_, weight) in rates.iter() {
        sums.push(sums[sums.len() - 1] + weight);
    }
    let total = sums[rates.len()];
    let mut masses = Vec::with_capacity(rates.len());
    let mut high = 0;
    for (low, (rate, _)) in rates.iter().enumerate() {
        while high < rates.len() && rates[high].0 <= rate * 1.04 {
            high += 1;
        }
        masses.push((sums[high] - sums[low], low, high));
    }
    let heaviest = masses.iter().map(|mass| mass.0).fold(0.0, f64::max);
    // The highest window with 40 % of the heaviest, moved to the heaviest within 4 % of it.
    let top = masses.iter().rposition(|mass| mass.0 >= 0.4 * heaviest)?;
    let from = rates[masses[top].1].0 / 1.04;
    let begin = rates.partition_point(|(rate, _)| *rate < from);
    let best = (begin..=top).max_by(|a, b| masses[*a].0.total_cmp(&masses[*b].0))?;
    let (mass, low, high) = masses[best];
    let within = &rates[low..high];
    let weight: f64 = within.iter().map(|rate| rate.1).sum();
    let mean = within.iter().map(|rate| rate.0 * rate.1).sum::<f64>() / weight;
    Some((mean, mass / total))
}

/// Bit/s on the wire between successive ACKs that deliver data while the queue is longer than `threshold`, with their bytes and
/// times.
fn gaps(
    recording: &Recording,
    samples: &[Sample],
    basis: &Basis,
    base: f64,
    threshold: f64,
) -> Vec<(f64, f64, f64)> {
    let factor = (basis.payload + basis.headers) / basis.payload;
    let mut rates = Vec::new();
    let mut before: Option<f64> = None;
    let mut next = 0;
    for row in recording.rows.iter().filter(|row| row.event == Event::Ack && row.bytes > 0) {
        let at = row.at as f64 / 1e9;
        while next + 1 < samples.len() && samples[next].at < at {
            next += 1;
        }
        let bytes = f64::from(row.bytes);
        let busy = samples.get(next).is_some_and(|s| s.rtt - base > threshold);
        if let Some(before) = before
            && busy
            && at > before
            && at - before > 20.0 * basis.tick_s
            && bytes >= 0.9 * basis.payload
            && bytes <= 6.0 * basis.payload
        {
            rates.push((bytes * 8.0 * factor / (at - before), bytes, at));
        }
        before = Some(at);
    }
    rates
}

fn rate(
    path: &mut Path,
    recording: &Recording,
    samples: &[Sample],
    queued: &[Sample],
    basis: &Basis,
    threshold: f64,
) {
    let base = path.base_s.value;
    if queued.len() < MIN_QUEUED {
        path.kind = RateKind::AtLeast;
        let fastest = quantile(&sorted(samples.iter().map(|s| s.rate)), 0.999);
        path.rate_bps = Interval { value: fastest, low: fastest, high: f64::INFINITY };
        path.spread = f64::NAN;
        return;
    }
    let own = sorted(queued.iter().map(|s| s.rate));
    let middle = quantile(&own, 0.5);
    path.spread = (quantile(&own, 0.75) - quantile(&own, 0.25)) / middle;
    let gaps = gaps(recording, samples, basis, base, threshold);
    let mut rates: Vec<(f64, f64)> = gaps.iter().map(|gap| (gap.0, gap.1)).collect();
    let link = mode(&mut rates).filter(|(_, mass)| *mass >= 0.10).map(|(rate, _)| rate);
    let constant = if path.spread <= STEADY { middle } else { link.unwrap_or(middle) };
    path.kind = RateKind::Constant;
    path.rate_bps = bootstrap(queued, base, |s| s.rate, constant / middle);
    windows(path, samples, &gaps, base, threshold, constant);
}

/// Windows of time: what the flow had of the link, and what the link had.
fn windows(
    path: &mut Path,
    samples: &[Sample],
    gaps: &[(f64, f64, f64)],
    base: f64,
    threshold: f64,
    constant: f64,
) {
    let width = (4.0 * base).max(0.25);
    let (mut clean, mut shares) = (Vec::new(), Vec::new());
    let begin = samples.first().map_or(0.0, |s| s.at);
    let end = samples.last().map_or(0.0, |s| s.at);
    let (mut first, mut gap) = (0, 0);
    let mut at = begin;
    while at < end {
        let until = at + width;
        let last = first + samples[first..].iter().take_while(|s| s.at < until).count();
        let inside = &samples[first..last];
        let last_gap = gap + gaps[gap..].iter().take_while(|g| g.2 < until).count();
        let queued: Vec<f64> = inside.iter().filter(|s| s.rtt - base > threshold).map(|s| s.rate).collect();
        if inside.len() >= 8 && queued.len() * 2 >= inside.len() {
            let own = median(queued.into_iter());
            let mut rates: Vec<(f64, f64)> = gaps[gap..last_gap].iter().map(|g| (g.0, g.1)).collect();
            let link = mode(&mut rates).filter(|(_, mass)| *mass >= 0.2).map_or(own, |(rate, _)| rate);
            if path.spread > STEADY && link / own > OTHERS {
                shares.push((at - begin, link.min(constant * OTHERS) - own, link));
            } else {
                clean.push((at - begin, own));
            }
        }
        first = last;
        gap = last_gap;
        // Windows without samples are passed over.
        let next = samples.get(first).map_or(end, |s| s.at);
        at = until + ((next - until) / width).floor().max(0.0) * width;
    }
    let rates = sorted(clean.iter().map(|window| window.1));
    let taken: f64 = shares.iter().map(|share| (share.1 / share.2).max(0.0)).sum();
    let count = clean.len() + shares.len();
    if count > 0 {
        path.others = Some(taken / count as f64);
    }
    if shares.len() * 20 > count {
        let mut steps: Vec<(f64, f64)> = clean.iter().map(|window| (window.0, 0.0)).collect();
        steps.extend(shares.iter().map(|share| (share.0, share.1.max(0.0))));
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        path.others_steps = steps;
    } else if rates.len() >= 4 && quantile(&rates, 0.95) / quantile(&rates, 0.05) > VARIES {
        path.kind = RateKind::Varies;
        let mut steps: Vec<(f64, f64)> = Vec::new();
        for (time, rate) in clean {
            if steps.last().is_none_or(|step| (rate / step.1 - 1.0).abs() > 0.05) {
                steps.push((if steps.is_empty() { 0.0 } else { time }, rate));
            }
        }
        path.steps = steps;
    }
}

/// Moving blocks of four round trips: the interval of a median, times `factor`.
fn bootstrap(samples: &[Sample], base: f64, value: fn(&Sample) -> f64, factor: f64) -> Interval {
    let middle = median(samples.iter().map(value)) * factor;
    let span = samples.last().map_or(0.0, |s| s.at) - samples.first().map_or(0.0, |s| s.at);
    let blocks = (span / (4.0 * base)).ceil().clamp(1.0, 2000.0) as usize;
    let length = samples.len().div_ceil(blocks).max(1);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut medians = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        let mut drawn = Vec::with_capacity(samples.len());
        while drawn.len() < samples.len().min(4000) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let begin = (state % (samples.len() - length + 1).max(1) as u64) as usize;
            drawn.extend(samples[begin..(begin + length).min(samples.len())].iter().map(value));
        }
        medians.push(median(drawn.into_iter()) * factor);
    }
    let medians = sorted(medians.into_iter());
    Interval { value: middle, low: quantile(&medians, 0.025), high: quantile(&medians, 0.975) }
}

fn losses(path: &mut Path, recording: &Recording, samples: &[Sample], basis: &Basis) {
    let packets = |bytes: f64| (bytes / basis.payload).ceil().max(1.0) as u64;
    let sent = |event| recording.rows.iter().filter(move |row| row.event == event && row.bytes > 0);
    path.sent =
        sent(Event::Sent).chain(sent(Event::SentAgain)).map(|row| packets(f64::from(row.bytes))).sum();
    let base = path.base_s.value;
    let mut by_sent: Vec<(f64, f64)> = samples.iter().map(|s| (s.sent, s.rtt - base)).collect();
    by_sent.sort_by(|a, b| a.0.total_cmp(&b.0));
    let queues = sorted(by_sent.iter().map(|s| s.1));
    path.queue_s = quantile(&queues, 0.999);
    let resends = recording.resends.iter().filter(|r| r.reason.is_retransmission() && r.needless.is_none());
    let mut at_loss = Vec::new();
    for resend in resends {
        let Some(before) = resend.evidence.before else { continue };
        let before = before as f64 / 1e9;
        path.lost += packets((resend.end - resend.start) as f64);
        at_loss.push(queue_near(&by_sent, before));
    }
    let lost_rows = recording.rows.iter().filter(|row| row.event == Event::Lost && row.sent_at > 0);
    for row in lost_rows {
        path.lost += 1;
        at_loss.push(queue_near(&by_sent, row.sent_at as f64 / 1e9));
    }
    let rate = if path.kind == RateKind::AtLeast { path.rate_bps.low } else { path.rate_bps.value };
    let bits = (basis.payload + basis.headers) * 8.0;
    path.buffer_packets = (path.queue_s * rate / bits).round().max(1.0);
    let part = |count: usize| count as f64 / at_loss.len().max(1) as f64;
    path.full = part(at_loss.iter().filter(|q| **q > FULL * path.queue_s).count());
    path.empty = part(at_loss.iter().filter(|q| **q < EMPTY * path.queue_s).count());
    let full_samples = queues.iter().filter(|q| **q > FULL * path.queue_s).count();
    path.all_full = full_samples as f64 / queues.len().max(1) as f64;
    path.loss_queue_s = median(at_loss.iter().copied());
    path.buffer_at_least =
        at_loss.is_empty() || path.full < 0.1 || (path.full < 0.9 && path.full < 3.0 * path.all_full);
    let elsewhere = path.lost as f64 * (1.0 - if path.buffer_at_least { 0.0 } else { path.full });
    path.loss = wilson(elsewhere, path.sent as f64);
}

/// The larger one of the queueing delays of the packets sent just before and just after.
fn queue_near(by_sent: &[(f64, f64)], at: f64) -> f64 {
    let place = by_sent.partition_point(|s| s.0 < at).clamp(1, by_sent.len().max(2) - 1);
    let after = by_sent.get(place).map_or(0.0, |s| s.1);
    by_sent[place - 1].1.max(after)
}

/// Wilson's interval of a proportion, 95 %.
fn wilson(count: f64, of: f64) -> Interval {
    if of <= 0.0 {
        return Interval::default();
    }
    let z = 1.96;
    let p = (count / of).min(1.0);
    let centre = (p + z * z / (2.0 * of)) / (1.0 + z * z / of);
    let half = z / (1.0 + z * z / of) * (p * (1.0 - p) / of + z * z / (4.0 * of * of)).sqrt();
    Interval { value: p, low: (centre - half).max(0.0), high: centre + half }
}

/// A token bucket over all transmissions: 51 rates by 24 bursts; the one that predicts the losses best, if it does.
fn policer(recording: &Recording, basis: &Basis) -> Option<Policer> {
    const MAX_PACKETS: usize = 60_000;
    let mut lost: Vec<(u64, u64)> = recording
        .resends
        .iter()
        .filter(|r| r.reason.is_retransmission() && r.needless.is_none())
        .filter_map(|r| Some((r.evidence.before?, r.start)))
        .collect();
    lost.sort_unstable();
    let sends: Vec<(f64, bool)> = recording
        .rows
        .iter()
        .filter(|row| matches!(row.event, Event::Sent | Event::SentAgain) && row.bytes > 0)
        .take(MAX_PACKETS)
        .map(|row| (row.at as f64 / 1e9, lost.binary_search(&(row.at, row.seq)).is_ok()))
        .collect();
    let begin = sends.iter().position(|send| send.1)?;
    let end = sends.iter().rposition(|send| send.1)?;
    let span = sends[end].0 - sends[begin].0;
    if span <= 1.0 {
        return None;
    }
    let size = basis.payload + basis.headers;
    let passed = sends[begin..end].iter().filter(|send| !send.1).count() as f64 * size * 8.0 / span;
    let count = sends.iter().filter(|send| send.1).count() as f64;
    let others = sends.len() as f64 - count;
    let smallest = 2.0 * size;
    let largest = (20.0 * size).max(passed / 8.0 * 0.6);
    let mut best = Policer::default();
    for step in 0..51 {
        let rate = passed * (0.85 + 0.5 * f64::from(step) / 50.0);
        for burst_step in 0..24 {
            let burst = smallest * libm::pow(largest / smallest, f64::from(burst_step) / 23.0);
            let (mut level, mut last, mut hits, mut alarms) = (burst, sends[0].0, 0.0, 0.0);
            for (at, lost) in &sends {
                level = burst.min(level + rate / 8.0 * (at - last));
                last = *at;
                let predicted = level < size;
                if *lost {
                    hits += f64::from(u8::from(predicted));
                    level = level.min(size / 2.0); // keeps the drift out
                } else {
                    alarms += f64::from(u8::from(predicted));
                    level = (level - size).max(0.0);
                }
            }
            let youden = hits / count - alarms / others;
            if youden > best.youden {
                best = Policer { rate_bps: rate, burst, youden, hits: hits / count, alarms: alarms / others };
            }
        }
    }
    (best.youden >= 0.85).then_some(best)
}

impl Interval {
    fn write(&self, w: &mut Writer) {
        w.open('[').number(self.value).number(self.low).number(self.high).close(']');
    }
}

impl Path {
    /// As JSON.
    pub fn json(&self) -> String {
        let mut w = Writer::default();
        w.open('{');
        w.key("rate_kind").value(match self.kind {
            RateKind::Constant => "constant",
            RateKind::Varies => "varies",
            RateKind::AtLeast => "at_least",
        });
        self.rate_bps.write(w.key("rate_bps"));
        w.key("spread").number(self.spread);
        for (name, steps) in [("steps", &self.steps), ("others_steps", &self.others_steps)] {
            w.key(name).open('[');
            for (time, rate) in steps {
                w.open('[').number(*time).number(*rate).close(']');
            }
            w.close(']');
        }
        self.base_s.write(w.key("base_s"));
        w.key("base_seen").boolean(self.base_seen);
        w.key("samples").number(self.samples as f64);
        w.key("busy").number(self.busy);
        w.key("queue_s").number(self.queue_s);
        w.key("buffer_packets").number(self.buffer_packets);
        w.key("buffer_at_least").boolean(self.buffer_at_least);
        w.key("sent").number(self.sent as f64);
        w.key("lost").number(self.lost as f64);
        w.key("full").number(self.full);
        w.key("all_full").number(self.all_full);
        w.key("empty").number(self.empty);
        w.key("loss_queue_s").number(self.loss_queue_s);
        self.loss.write(w.key("loss"));
        w.key("others").maybe(self.others);
        w.key("marks").number(self.marks as f64);
        w.key("policer");
        match &self.policer {
            None => {
                w.number(f64::NAN);
            }
            Some(policer) => {
                w.open('{');
                w.key("rate_bps").number(policer.rate_bps);
                w.key("burst_bytes").number(policer.burst);
                w.key("youden").number(policer.youden);
                w.key("hits").number(policer.hits);
                w.key("alarms").number(policer.alarms);
                w.close('}');
            }
        }
        w.close('}');
        w.text
    }
}

/// Goodput, quantiles of the round-trip time and losses of a recording: what the check of a model compares.
pub fn figures(recording: &Recording, basis: &Basis) -> String {
    let rtts = sorted(recording.rows.iter().map(|row| row.rtt_s));
    let rows = &recording.rows;
    let first = rows.iter().find(|row| row.event == Event::Sent && row.bytes > 0).map_or(0, |row| row.at);
    let last = rows.last().map_or(0, |row| row.at);
    let delivered = rows.last().map_or(0, |row| row.delivered);
    let seconds = last.saturating_sub(first) as f64 / 1e9;
    let samples = samples(recording, basis);
    let mut path = Path::default();
    if !samples.is_empty() {
        base(&mut path, &samples, basis);
        losses(&mut path, recording, &samples, basis);
    }
    let mut w = Writer::default();
    w.open('{');
    w.key("seconds").number(seconds);
    w.key("goodput_bps").number(delivered as f64 * 8.0 / seconds);
    w.key("rtt_p50_s").number(quantile(&rtts, 0.5));
    w.key("rtt_p93_s").number(quantile(&rtts, 0.93));
    w.key("rtt_p95_s").number(quantile(&rtts, 0.95));
    w.key("rtt_p97_s").number(quantile(&rtts, 0.97));
    w.key("sent").number(path.sent as f64);
    w.key("lost").number(path.lost as f64);
    w.key("lost_without_queue").number(path.lost as f64 * path.empty);
    w.key("lost_at_full").number(path.lost as f64 * path.full);
    w.close('}');
    w.text
}
