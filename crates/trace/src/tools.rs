//! Samples in JSON: iperf3, Flent, irtt.

use crate::json::Value;
use crate::sniff::Kind;
use crate::text::{Sample, Samples};

/// The largest file of these tools, bytes.
pub const MAX_FILE: usize = 64 << 20;

/// The samples of a parsed file.
pub fn samples(kind: Kind, file: &Value) -> Samples {
    let mut samples = Samples::default();
    match kind {
        Kind::Iperf3 => iperf3(file, &mut samples),
        Kind::Flent => flent(file, &mut samples),
        _ => irtt(file, &mut samples),
    }
    samples
}

fn number(value: &Value) -> f64 {
    value.number().unwrap_or(f64::NAN)
}

fn iperf3(file: &Value, samples: &mut Samples) {
    let control = file.get("end").any(&["sender_tcp_congestion", "receiver_tcp_congestion"]);
    samples.control = control.text().map(|name| name.chars().take(40).collect());
    let mss = file.get("start").get("tcp_mss_default").number().or(file.get("start").get("tcp_mss").number());
    let mss = mss.filter(|mss| *mss > 0.0).unwrap_or(1448.0);
    for interval in file.get("intervals").items() {
        let streams = interval.get("streams").items();
        let streams = if streams.is_empty() { std::slice::from_ref(interval.get("sum")) } else { streams };
        for (index, stream) in streams.iter().enumerate() {
            if samples.flows.len() <= index && index < 4096 {
                samples.flows.push(format!("stream {}", index + 1));
            }
            samples.push(Sample {
                time_s: number(stream.get("start")),
                flow: index as u32,
                delivery_bps: number(stream.get("bits_per_second")),
                cwnd: number(stream.get("snd_cwnd")) / mss,
                window_bytes: number(stream.get("snd_wnd")),
                rtt_s: number(stream.get("rtt")) / 1e6,
                again: number(stream.get("retransmits")),
                ..Sample::default()
            });
        }
    }
}

/// Series by name over `x_values`; the name says what they are.
fn flent(file: &Value, samples: &mut Samples) {
    let times: Vec<f64> = file.get("x_values").items().iter().map(number).collect();
    for (name, series) in file.get("results").pairs() {
        if samples.flows.len() >= 4096 {
            break;
        }
        samples.flows.push(name.chars().take(80).collect());
        let flow = samples.flows.len() as u32 - 1;
        let lower = name.to_ascii_lowercase();
        for (time, value) in times.iter().zip(series.items()) {
            let value = number(value);
            if value.is_nan() {
                continue;
            }
            let mut sample = Sample { time_s: *time, flow, ..Sample::default() };
            match () {
                () if lower.contains("tcp_cwnd") => sample.cwnd = value,
                () if lower.contains("pacing_rate") => sample.pacing_bps = value * 1e6,
                () if lower.contains("ping") || lower.contains("rtt") => sample.rtt_s = value / 1e3,
                () if lower.contains("tcp") || lower.contains("udp") || lower.contains("load") => {
                    sample.delivery_bps = value * 1e6;
                }
                () => continue,
            }
            samples.push(sample);
        }
    }
}

fn irtt(file: &Value, samples: &mut Samples) {
    samples.flows.push("irtt".to_owned());
    let mut first = f64::NAN;
    for trip in file.get("round_trips").items() {
        let sent = number(trip.get("timestamps").get("client").get("send").get("wall"));
        let sent = if sent.is_nan() {
            number(trip.get("timestamps").get("client").get("send").get("mono"))
        } else {
            sent
        };
        let rtt = number(trip.get("delay").get("rtt"));
        if first.is_nan() {
            first = sent;
        }
        if rtt.is_nan() {
            samples.unanswered += 1;
        } else {
            let sample = Sample { time_s: (sent - first) / 1e9, rtt_s: rtt / 1e9, ..Sample::default() };
            samples.push(sample);
        }
    }
}
