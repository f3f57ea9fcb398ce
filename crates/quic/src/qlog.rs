//! A qlog of one end (draft-ietf-quic-qlog-main-schema and -quic-events, version 0.3), as JSON text sequences: the format of
//! files `.sqlog`, which qvis opens. Times are milliseconds since the start of the run.

use crate::config::Config;
use crate::frames::{AckFrame, Frame, Space};
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use units::{Rate, Span, Time};

/// The recovery metrics of a sender; bytes, and `None` for what has no value yet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Metrics {
    pub min_rtt: Option<Span>,
    pub smoothed_rtt: Option<Span>,
    pub latest_rtt: Option<Span>,
    pub pto_count: u64,
    pub congestion_window: u64,
    pub bytes_in_flight: u64,
    pub packets_in_flight: u64,
    pub ssthresh: Option<u64>,
    pub pacing_rate: Option<Rate>,
}

/// The events of one end, in memory.
#[derive(Debug)]
struct Log {
    text: String,
    metrics: Option<Metrics>,
    state: Option<&'static str>,
}

/// The qlog of one end. Its connection, its packet keys and its controller share it.
#[derive(Clone, Debug)]
pub(crate) struct Qlog(Arc<Mutex<Log>>);

/// A text in JSON.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\0'..='\x1f' => write!(out, "\\u{:04x}", letter as u32).expect(INFALLIBLE),
            _ => out.push(letter),
        }
    }
    out.push('"');
    out
}

const INFALLIBLE: &str = "a String takes all text";

/// Picoseconds as milliseconds with the resolution of nanoseconds.
fn milliseconds(ps: u64) -> String {
    let ns = ps / 1000;
    format!("{}.{:06}", ns / 1_000_000, ns % 1_000_000)
}

fn span(value: Option<Span>) -> Option<String> {
    value.map(|span| milliseconds(span.ps()))
}

impl Log {
    /// Writes an event; `data` is the inside of a JSON object.
    fn event(&mut self, now: Time, name: &str, data: &str) {
        let time = milliseconds(now.ps());
        writeln!(self.text, "\x1e{{\"time\":{time},\"name\":\"{name}\",\"data\":{{{data}}}}}")
            .expect(INFALLIBLE);
    }
}

impl Qlog {
    /// A log with its header. `client`: that of the end that opens the connection.
    pub fn new(title: &str, client: bool, config: &Config) -> Qlog {
        let (title, role) = (quoted(title), if client { "client" } else { "server" });
        let text = format!(
            "\x1e{{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"title\":{title},\"trace\":{{\
             \"vantage_point\":{{\"type\":\"{role}\"}},\"title\":{title},\
             \"common_fields\":{{\"protocol_type\":[\"QUIC\"],\"reference_time\":0,\"time_format\":\"relative\"}}}}}}\n"
        );
        let mut log = Log { text, metrics: None, state: None };
        if client {
            let parameters = format!(
                "\"reordering_threshold\":{},\"time_threshold\":{},\"timer_granularity\":1,\"initial_rtt\":333,\
                 \"max_datagram_size\":{},\"initial_congestion_window\":{},\"minimum_congestion_window\":{},\
                 \"persistent_congestion_threshold\":3",
                config.packet_threshold,
                config.time_threshold,
                config.packet,
                (config.initial_window * config.packet as f64) as u64,
                2 * config.packet,
            );
            log.event(Time::ZERO, "recovery:parameters_set", &parameters);
        }
        Qlog(Arc::new(Mutex::new(log)))
    }

    fn log(&self) -> std::sync::MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The text since the last call.
    pub fn take(&self) -> String {
        std::mem::take(&mut self.log().text)
    }

    /// A packet of `size` bytes was sent or received. `frames`: their JSON, separated by commas.
    pub fn packet(&self, now: Time, sent: bool, space: Space, number: u64, size: usize, frames: &str) {
        let name = if sent { "transport:packet_sent" } else { "transport:packet_received" };
        let header = header(space, number);
        let data = format!("{header},\"raw\":{{\"length\":{size}}},\"frames\":[{frames}]");
        self.log().event(now, name, &data);
    }

    /// A packet is lost. `reordered`: by its number, not by its age.
    pub fn lost(&self, now: Time, number: u64, reordered: bool) {
        let trigger = if reordered { "reordering_threshold" } else { "time_threshold" };
        let data = format!("{},\"trigger\":\"{trigger}\"", header(Space::Data, number));
        self.log().event(now, "recovery:packet_lost", &data);
    }

    /// The probe timeout has expired.
    pub fn probe_timeout(&self, now: Time) {
        let data = "\"timer_type\":\"pto\",\"event_type\":\"expired\"";
        self.log().event(now, "recovery:loss_timer_updated", data);
    }

    /// The state of congestion control; writes an event if it is new.
    pub fn state(&self, now: Time, state: &'static str, trigger: Option<&str>) {
        let mut log = self.log();
        if log.state == Some(state) {
            return;
        }
        let mut data = log.state.map_or(String::new(), |old| format!("\"old\":\"{old}\","));
        write!(data, "\"new\":\"{state}\"").expect(INFALLIBLE);
        if let Some(trigger) = trigger {
            write!(data, ",\"trigger\":\"{trigger}\"").expect(INFALLIBLE);
        }
        log.state = Some(state);
        log.event(now, "recovery:congestion_state_updated", &data);
    }

    /// The metrics; writes an event with those that changed.
    pub fn metrics(&self, now: Time, new: Metrics) {
        let mut log = self.log();
        let old = log.metrics.replace(new);
        let text = |value: u64| Some(value.to_string());
        let fields = |m: &Metrics| {
            [
                ("min_rtt", span(m.min_rtt)),
                ("smoothed_rtt", span(m.smoothed_rtt)),
                ("latest_rtt", span(m.latest_rtt)),
                ("pto_count", text(m.pto_count)),
                ("congestion_window", text(m.congestion_window)),
                ("bytes_in_flight", text(m.bytes_in_flight)),
                ("packets_in_flight", text(m.packets_in_flight)),
                ("ssthresh", m.ssthresh.and_then(text)),
                ("pacing_rate", m.pacing_rate.and_then(|rate| text(rate.bps()))),
            ]
        };
        let before = old.map(|old| fields(&old));
        let mut data = String::new();
        for (index, (name, value)) in fields(&new).into_iter().enumerate() {
            let Some(value) = value else { continue };
            if before.as_ref().is_some_and(|before| before[index].1.as_ref() == Some(&value)) {
                continue;
            }
            let comma = if data.is_empty() { "" } else { "," };
            write!(data, "{comma}\"{name}\":{value}").expect(INFALLIBLE);
        }
        if !data.is_empty() {
            log.event(now, "recovery:metrics_updated", &data);
        }
    }
}

fn header(space: Space, number: u64) -> String {
    let kind = match space {
        Space::Initial => "initial",
        Space::Handshake => "handshake",
        Space::Data => "1RTT",
    };
    format!("\"header\":{{\"packet_type\":\"{kind}\",\"packet_number\":{number}}}")
}

/// Appends a frame to the frames of a packet.
pub(crate) fn write_frame(out: &mut String, frame: &Frame) {
    if !out.is_empty() {
        out.push(',');
    }
    out.push_str("{\"frame_type\":");
    let streams = |bidirectional: bool| if bidirectional { "bidirectional" } else { "unidirectional" };
    match frame {
        Frame::Padding { length } => write!(out, "\"padding\",\"payload_length\":{length}"),
        Frame::Ping => write!(out, "\"ping\""),
        Frame::Ack(ack) => {
            write_ack(out, ack);
            Ok(())
        }
        Frame::ResetStream { id, error, final_size } => {
            write!(
                out,
                "\"reset_stream\",\"stream_id\":{id},\"error_code\":{error},\"final_size\":{final_size}"
            )
        }
        Frame::StopSending { id, error } => {
            write!(out, "\"stop_sending\",\"stream_id\":{id},\"error_code\":{error}")
        }
        Frame::Crypto { offset, length } => write!(out, "\"crypto\",\"offset\":{offset},\"length\":{length}"),
        Frame::NewToken => write!(out, "\"new_token\",\"token\":{{}}"),
        Frame::Stream { id, offset, length, fin } => {
            write!(out, "\"stream\",\"stream_id\":{id},\"offset\":{offset},\"length\":{length},\"fin\":{fin}")
        }
        Frame::MaxData(maximum) => write!(out, "\"max_data\",\"maximum\":{maximum}"),
        Frame::MaxStreamData { id, maximum } => {
            write!(out, "\"max_stream_data\",\"stream_id\":{id},\"maximum\":{maximum}")
        }
        Frame::MaxStreams { bidirectional, maximum } => {
            let kind = streams(*bidirectional);
            write!(out, "\"max_streams\",\"stream_type\":\"{kind}\",\"maximum\":{maximum}")
        }
        Frame::DataBlocked(limit) => write!(out, "\"data_blocked\",\"limit\":{limit}"),
        Frame::StreamDataBlocked { id, limit } => {
            write!(out, "\"stream_data_blocked\",\"stream_id\":{id},\"limit\":{limit}")
        }
        Frame::StreamsBlocked { bidirectional, limit } => {
            write!(
                out,
                "\"streams_blocked\",\"stream_type\":\"{}\",\"limit\":{limit}",
                streams(*bidirectional)
            )
        }
        Frame::NewConnectionId { sequence, retire_prior_to, id } => {
            let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
            let numbers = format!("\"sequence_number\":{sequence},\"retire_prior_to\":{retire_prior_to}");
            write!(out, "\"new_connection_id\",{numbers},\"connection_id\":\"{id}\"")
        }
        Frame::RetireConnectionId(sequence) => {
            write!(out, "\"retire_connection_id\",\"sequence_number\":{sequence}")
        }
        Frame::PathChallenge => write!(out, "\"path_challenge\""),
        Frame::PathResponse => write!(out, "\"path_response\""),
        Frame::ConnectionClose { application, error } => {
            let space = if *application { "application" } else { "transport" };
            write!(out, "\"connection_close\",\"error_space\":\"{space}\",\"error_code\":{error}")
        }
        Frame::HandshakeDone => write!(out, "\"handshake_done\""),
        Frame::Datagram { length } => write!(out, "\"datagram\",\"length\":{length}"),
        // Version 0.3 has no names for the frames of the ACK frequency extension.
        Frame::ImmediateAck => write!(out, "\"unknown\",\"raw_frame_type\":31"),
        Frame::AckFrequency => write!(out, "\"unknown\",\"raw_frame_type\":175"),
    }
    .expect(INFALLIBLE);
    out.push('}');
}

/// The delay field in units of 2^3 microseconds (RFC 9000 section 18.2, the default).
const DELAY_UNIT_PS: u64 = 8_000_000;

fn write_ack(out: &mut String, ack: &AckFrame) {
    let delay = milliseconds(ack.delay.saturating_mul(DELAY_UNIT_PS));
    let ranges: Vec<String> = ack.ranges.iter().rev().map(|(low, high)| format!("[{low},{high}]")).collect();
    write!(out, "\"ack\",\"ack_delay\":{delay},\"acked_ranges\":[{}]", ranges.join(",")).expect(INFALLIBLE);
    if let Some(counts) = ack.ecn {
        write!(out, ",\"ect0\":{},\"ect1\":{},\"ce\":{}", counts.ect0, counts.ect1, counts.ce)
            .expect(INFALLIBLE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_separate_and_metrics_are_written_when_they_change() {
        let qlog = Qlog::new("a \"title\"\n", true, &Config::default());
        let metrics = Metrics { congestion_window: 14_720, ..Metrics::default() };
        let at = Time::ZERO + Span::from_ms(2500);
        qlog.metrics(at, metrics);
        qlog.metrics(at, metrics);
        qlog.metrics(at, Metrics { ssthresh: Some(7360), ..metrics });
        qlog.state(at, "slow_start", None);
        qlog.state(at, "slow_start", None);
        qlog.state(at, "recovery", Some("ecn"));
        let text = qlog.take();
        let records: Vec<&str> = text.split('\x1e').skip(1).collect();
        assert_eq!(records.len(), 6, "{text}");
        assert!(records[0].contains(r#""title":"a \"title\"\u000a""#));
        assert!(records[1].contains(r#""initial_congestion_window":14720"#));
        assert!(records[2].starts_with(r#"{"time":2500.000000,"name":"recovery:metrics_updated""#));
        assert!(records[3].ends_with("\"data\":{\"ssthresh\":7360}}\n"));
        assert!(records[5].contains(r#""old":"slow_start","new":"recovery","trigger":"ecn""#));
        assert_eq!(qlog.take(), "");
    }
}
