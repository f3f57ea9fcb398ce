//! Why: the cause of an event of a recording, with the packets that prove it, or what cannot be told (`docs/traces.md`).

use crate::json::Writer;
use crate::limits::{Limit, Round};
use crate::path::{Path, RateKind};
use crate::reasons::{Evidence, MIN_RTO, Reason};
use crate::record::{Event, Phase, Recording, Reduction, Resend};
use crate::{Kind, Place};

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The time of the event, ns since the first packet.
    pub at: u64,
    /// The rule's letter.
    pub letter: String,
    /// One clause.
    pub what: String,
    /// Times, numbers and counts, each of which is in the file.
    pub evidence: Vec<String>,
    /// What else it could be.
    pub otherwise: Vec<String>,
    /// Why it cannot be told.
    pub unknown: Option<String>,
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Nanoseconds since the first packet.
    pub at: u64,
    /// The last reduction instead of the last event.
    pub reduction: bool,
}

/// What the file is, as far as an answer depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The kind of file.
    pub kind: Kind,
    /// Where it was taken.
    pub place: Place,
    /// Payload of a full segment, bytes.
    pub segment: f64,
}

fn seconds(at: u64) -> String {
    format!("{:.6} s", at as f64 / 1e9)
}

fn span(time: u64) -> String {
    let ms = time as f64 / 1e6;
    if ms >= 1000.0 { format!("{:.3} s", ms / 1e3) } else { format!("{ms:.3} ms") }
}

fn bytes(count: u64) -> String {
    let text = count.to_string();
    let mut out = String::new();
    for (place, digit) in text.chars().enumerate() {
        if place > 0 && (text.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Explains. `path`: the estimates, if there are any.
pub fn explain(
    recording: &Recording,
    path: Option<&Path>,
    source: Source,
    question: Question,
) -> Result<Answer, String> {
    let last = recording.rows.last().map_or(0, |row| row.at);
    let Some(first) = recording.rows.first() else {
        return Err("the flow has no rows".to_owned());
    };
    if question.at < first.at {
        return Err(format!("the flow begins at {}", seconds(first.at)));
    }
    let at = question.at.min(last);
    let before = |times: &[u64]| times.iter().rposition(|time| *time <= at);
    let reductions: Vec<u64> = recording.reductions.iter().map(|r| r.at).collect();
    if question.reduction {
        let Some(number) = before(&reductions) else {
            return Err(format!("nothing reduced what is in flight until {}", seconds(at)));
        };
        return Ok(reduction(recording, path, source, number));
    }
    if let Some(gap) = recording.rows.iter().rfind(|row| row.event == Event::Gap && row.at <= at)
        && at - gap.at < near(recording, at)
    {
        return Ok(Answer {
            at: gap.at,
            letter: "?".to_owned(),
            what: "the capture misses packets here".to_owned(),
            evidence: vec![format!(
                "{}: an ACK for byte {}, which the capture never saw",
                seconds(gap.at),
                bytes(gap.seq)
            )],
            unknown: Some("no cause is told across packets that are not in the file".to_owned()),
            ..Answer::default()
        });
    }
    let resends: Vec<u64> = recording.resends.iter().map(|r| r.evidence.at).collect();
    if let Some(number) = before(&resends)
        && at - resends[number] < near(recording, at)
    {
        return Ok(resent(recording, path, source, &recording.resends[number]));
    }
    if let Some((when, extent)) = recording.reordered.iter().rfind(|(when, _)| *when <= at)
        && at - when < near(recording, at)
    {
        return Ok(Answer {
            at: *when,
            letter: "N1".to_owned(),
            what: "the network changed the order of packets".to_owned(),
            evidence: vec![format!(
                "{}: a hole that SACK had shown for {} was filled although nothing was sent again",
                seconds(*when),
                span(*extent)
            )],
            ..Answer::default()
        });
    }
    if let Some(answer) = restart(recording, source, at) {
        return Ok(answer);
    }
    match recording.rounds.iter().rfind(|round| round.from <= at) {
        Some(round) => Ok(limited(recording, path, source, round, at)),
        None => Err("no data was sent until then".to_owned()),
    }
}

/// The transmission after a pause that is longer than a timeout, if it is the event before `at` (I1).
fn restart(recording: &Recording, source: Source, at: u64) -> Option<Answer> {
    if source.place != Place::Sender {
        return None;
    }
    let end = recording.rows.partition_point(|row| row.at <= at);
    let close = near(recording, at);
    let rows = &recording.rows[..end];
    let first = rows.iter().rposition(|row| {
        row.event == Event::Sent
            && row.outstanding <= u64::from(row.bytes)
            && at.saturating_sub(row.at) < close
    })?;
    let before = rows[..first].last()?;
    let pause = rows[first].at.saturating_sub(before.at);
    let rtt = rows[..first].iter().rfind(|row| row.rtt_s > 0.0)?.rtt_s;
    if (pause as f64) < (MIN_RTO as f64).max(3e9 * rtt) || before.outstanding > 0 {
        return None;
    }
    let largest =
        |rows: &[crate::record::Row]| rows.iter().map(|row| row.outstanding).max().unwrap_or(0) as f64;
    let burst = rows[first..].iter().take_while(|row| row.event == Event::Sent).count();
    Some(Answer {
        at: rows[first].at,
        letter: "I1".to_owned(),
        what: "the sender starts again after a pause of the application".to_owned(),
        evidence: vec![
            format!(
                "nothing was in flight from {} to {}: {}",
                seconds(before.at),
                seconds(rows[first].at),
                span(pause)
            ),
            format!(
                "{burst} segments were sent at once; before the pause at most {:.1} segments were in flight",
                largest(&rows[..first]) / source.segment
            ),
        ],
        otherwise: vec![],
        unknown: None,
    })
}

/// About a round trip.
fn near(recording: &Recording, at: u64) -> u64 {
    let rtt = recording.rows.iter().rfind(|row| row.at <= at && row.rtt_s > 0.0).map_or(0.1, |row| row.rtt_s);
    (rtt * 1e9) as u64 + 1_000_000
}

fn segment_text(resend: &Resend) -> String {
    format!("bytes {} to {}", bytes(resend.start), bytes(resend.end - 1))
}

fn resent(recording: &Recording, path: Option<&Path>, source: Source, resend: &Resend) -> Answer {
    let e = &resend.evidence;
    let mut answer = Answer {
        at: e.at,
        letter: resend.reason.letter().to_owned(),
        what: format!("{}: {}", segment_text(resend), resend.reason.words()),
        ..Answer::default()
    };
    answer.evidence = evidence(resend, e, source);
    match resend.reason {
        Reason::TailProbe if e.head => {
            answer.otherwise.push(
                "a retransmission timeout: with one segment in flight both come at about the same time"
                    .to_owned(),
            );
        }
        Reason::Unknown => {
            answer.unknown = Some(if e.before.is_none() {
                "the data had been acknowledged at this place before it was sent again".to_owned()
            } else {
                "no SACK above it, no duplicate ACKs, no later segment that arrived, and no silence as long as a timeout"
                    .to_owned()
            });
        }
        Reason::Upstream => {
            answer.unknown = Some(format!(
                "the capture was taken at the {}, where the sender's reason does not show; the segment was lost before this place",
                source.place.name()
            ));
        }
        _ => {}
    }
    if let Some((when, by_dsack)) = resend.needless {
        let proof = if by_dsack {
            "D-SACK reports it twice"
        } else {
            "the ACK echoes the timestamp of the first copy"
        };
        answer.evidence.push(format!(
            "{}: needless, {proof} (RFC {})",
            seconds(when),
            if by_dsack { 2883 } else { 3522 }
        ));
        answer.letter.push_str(if resend.reason == Reason::Timeout { " O2" } else { " U1" });
    } else if let Some(path) = path
        && let Some(before) = e.before
        && resend.reason.is_retransmission()
    {
        answer.evidence.extend(at_loss(recording, path, before));
    }
    answer
}

/// The queue when a lost packet was sent.
fn at_loss(recording: &Recording, path: &Path, sent: u64) -> Option<String> {
    let rows = || recording.rows.iter().filter(|row| row.sent_at > 0 && row.rtt_s > 0.0);
    let before = rows().filter(|row| row.sent_at <= sent).max_by_key(|row| row.sent_at);
    let after = rows().filter(|row| row.sent_at > sent).min_by_key(|row| row.sent_at);
    let queue = |row: Option<&crate::record::Row>| row.map_or(0.0, |row| row.rtt_s - path.base_s.value);
    let delay = queue(before).max(queue(after)).max(0.0);
    if path.queue_s <= 0.0 {
        return None;
    }
    let part = delay / path.queue_s;
    let text = format!(
        "the packet that was lost was sent at {}; packets sent beside it waited {:.1} ms, {:.0} % of the longest queue of the file ({:.1} ms)",
        seconds(sent),
        delay * 1e3,
        part * 100.0,
        path.queue_s * 1e3
    );
    Some(match part {
        0.85.. => format!("{text}: the queue was full (C1)"),
        ..0.15 => format!("{text}: lost without a queue (C2)"),
        _ => format!("{text}: neither a full nor an empty queue"),
    })
}

fn evidence(resend: &Resend, e: &Evidence, source: Source) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(before) = e.before {
        let times = if e.count > 1 { format!(", {} times so far", e.count) } else { String::new() };
        out.push(format!(
            "{}: sent before{times}; sent again at {}, {} later",
            seconds(before),
            seconds(e.at),
            span(e.at.saturating_sub(before))
        ));
    }
    match resend.reason {
        Reason::Sack => out.push(format!(
            "SACK reports {} bytes above it ({:.0} segments); the first such block since {}",
            bytes(e.sacked_above),
            e.sacked_above as f64 / source.segment,
            seconds(e.sack_since)
        )),
        Reason::DuplicateAcks => out.push(format!(
            "{} duplicate ACKs, the first at {}, the last at {}",
            e.duplicates,
            seconds(e.duplicate_times[0]),
            seconds(e.duplicate_times[1])
        )),
        Reason::TimeOrder | Reason::LostRetransmission => out.push(format!(
            "a segment sent at {}, {} after it, has arrived",
            seconds(e.newest),
            span(e.newest.saturating_sub(e.before.unwrap_or(0)))
        )),
        Reason::Timeout => {
            if (e.quiet as f64) < 0.85 * e.rto as f64 {
                let age = e.before.map_or(0, |before| e.at.saturating_sub(before));
                out.push(format!(
                    "nothing was delivered for {}; {} after its transmission; a timeout by RFC 6298 is {} (smoothed \
                     round-trip time {}): this sender's timer is shorter, or counts from the transmission",
                    span(e.quiet),
                    span(age),
                    span(e.rto),
                    span(e.srtt)
                ));
                out.push(format!("{} bytes in flight", bytes(e.outstanding)));
                return out;
            }
            let power = libm::log2(e.quiet as f64 / e.rto as f64).round().max(0.0);
            let text = format!(
                "nothing was delivered for {}; a timeout by RFC 6298 is {} (smoothed round-trip time {}, at least {})",
                span(e.quiet),
                span(e.rto),
                span(e.srtt),
                span(MIN_RTO)
            );
            out.push(if power >= 1.0 { format!("{text}, backed off {power:.0} times") } else { text });
        }
        Reason::TailProbe => out.push(format!(
            "the last segment sent, after {} of silence; two round-trip times are {} (RFC 8985 section 7)",
            span(e.quiet),
            span(2 * e.srtt)
        )),
        Reason::AfterTimeout => out.push("it was in flight when the timeout came".to_owned()),
        _ => {}
    }
    out.push(format!("{} bytes in flight", bytes(e.outstanding)));
    out
}

fn reduction(recording: &Recording, path: Option<&Path>, source: Source, number: usize) -> Answer {
    let reduction: &Reduction = &recording.reductions[number];
    if source.kind == Kind::Qlog {
        return of_qlog(recording, reduction);
    }
    let mut answer = match reduction.phase {
        Phase::Cwr => Answer {
            at: reduction.at,
            letter: "E1".to_owned(),
            what: "the receiver reported congestion marks (ECN), and the sender reduced its window"
                .to_owned(),
            evidence: vec![format!("{}: the sender set CWR", seconds(reduction.at))],
            ..Answer::default()
        },
        _ => match recording.resends.iter().find(|r| r.evidence.at == reduction.at) {
            Some(resend) => resent(recording, path, source, resend),
            None => Answer { at: reduction.at, ..Answer::default() },
        },
    };
    let flight = |bytes: u64| format!("{:.1} segments", bytes as f64 / source.segment);
    if reduction.after > 0 {
        answer.evidence.push(format!(
            "in flight: {} before, {} at the end of the recovery at {} (factor {:.3})",
            flight(reduction.before),
            flight(reduction.after),
            seconds(reduction.until),
            reduction.after as f64 / reduction.before.max(1) as f64
        ));
    } else {
        answer.evidence.push(format!(
            "in flight before: {}; the recovery does not end in the file",
            flight(reduction.before)
        ));
    }
    answer
}

fn of_qlog(recording: &Recording, reduction: &Reduction) -> Answer {
    let lost: Vec<_> = recording
        .rows
        .iter()
        .filter(|row| {
            row.event == Event::Lost && row.at <= reduction.at && reduction.at - row.at < 100_000_000
        })
        .collect();
    let mut answer = Answer {
        at: reduction.at,
        letter: if lost.is_empty() { "?".to_owned() } else { "L".to_owned() },
        what: "the sender entered recovery".to_owned(),
        evidence: vec![format!("{}: its state became {}", seconds(reduction.at), reduction.phase.name())],
        ..Answer::default()
    };
    match lost.last() {
        Some(row) => answer.evidence.push(format!(
            "{}: packet {} was declared lost ({} such packets within 100 ms)",
            seconds(row.at),
            row.seq,
            lost.len()
        )),
        None => {
            answer.unknown =
                Some("the file has no lost packet before it: a mark, or the log omits losses".to_owned())
        }
    }
    if reduction.before > 0 {
        answer.evidence.push(format!("window before: {} bytes", bytes(reduction.before)));
    }
    answer
}

fn limited(recording: &Recording, path: Option<&Path>, source: Source, round: &Round, at: u64) -> Answer {
    let mut answer = Answer { at: round.from, letter: round.limit.letter().to_owned(), ..Answer::default() };
    let flight = format!("{:.1} segments", round.largest as f64 / source.segment);
    answer.evidence.push(format!(
        "from {} to {}: at most {flight} in flight",
        seconds(round.from),
        seconds(round.until)
    ));
    if source.kind != Kind::Qlog && !matches!(source.place, Place::Sender) {
        answer.what = "what limits the sender".to_owned();
        answer.letter = "?".to_owned();
        answer.unknown = Some(format!(
            "the capture was taken at the {}; only one at the sender shows it",
            source.place.name()
        ));
        return answer;
    }
    let by_ack = format!("{:.0} % of {} segments were sent at an ACK", round.by_ack * 100.0, round.sends);
    answer.what = match round.limit {
        Limit::ReceiveWindow => "the receiver's window limits the sender".to_owned(),
        Limit::CongestionWindow => "the congestion window limits the sender".to_owned(),
        Limit::Pacing => "pacing limits the sender".to_owned(),
        Limit::Application => "the application limits the sender".to_owned(),
        Limit::Recovery => "the sender recovers from a loss".to_owned(),
        Limit::Idle => "nothing is in flight: the application has nothing to send".to_owned(),
        Limit::Unknown => "what limits the sender".to_owned(),
    };
    match round.limit {
        Limit::ReceiveWindow => {
            if let Some(window) = round.window {
                let of = format!(
                    "{} of the window of {} bytes are in flight",
                    bytes(round.largest),
                    bytes(window)
                );
                answer.evidence.push(of);
                if let Some(path) = path {
                    let rate = window as f64 * 8.0 / path.base_s.value / 1e6;
                    answer.evidence.push(format!(
                        "with a round-trip time of at least {:.1} ms this is at most {rate:.3} Mb/s, whatever the congestion control does",
                        path.base_s.value * 1e3
                    ));
                }
            }
        }
        Limit::CongestionWindow if source.kind != Kind::Qlog => answer.evidence.push(by_ack),
        Limit::Pacing if source.kind != Kind::Qlog => {
            answer.evidence.push(format!(
                "{by_ack}; the gaps between segments vary by {:.0} %",
                round.variation * 100.0
            ));
            answer.otherwise.push("an application that writes at a constant rate".to_owned());
        }
        Limit::Unknown => {
            answer.unknown = Some("sends follow neither ACKs nor an even spacing".to_owned());
        }
        _ => {}
    }
    if let Some(path) = path
        && path.kind != RateKind::AtLeast
    {
        let row = recording.rows.iter().rfind(|row| row.at <= at && row.rtt_s > 0.0);
        let queue = row.map_or(0.0, |row| row.rtt_s - path.base_s.value);
        if queue > 0.1 * path.queue_s && queue > 1e-3 {
            answer.evidence.push(format!(
                "packets wait {:.1} ms in a queue; the link sends {:.2} Mb/s (L6)",
                queue * 1e3,
                path.rate_bps.value / 1e6
            ));
        }
        if queue > path.base_s.value.max(0.1) {
            answer.evidence.push(format!(
                "that is {:.1} times the round-trip time of the empty path (bufferbloat, B1)",
                queue / path.base_s.value
            ));
        }
    }
    answer
}

impl Answer {
    /// As JSON.
    pub fn json(&self) -> String {
        let mut w = Writer::default();
        w.open('{');
        w.key("time_s").number(self.at as f64 / 1e9);
        w.key("letter").value(&self.letter);
        w.key("what").value(&self.what);
        for (name, lines) in [("evidence", &self.evidence), ("otherwise", &self.otherwise)] {
            w.key(name).open('[');
            for line in lines {
                w.value(line);
            }
            w.close(']');
        }
        w.key("unknown").maybe_text(self.unknown.as_deref());
        w.close('}');
        w.text
    }
}
