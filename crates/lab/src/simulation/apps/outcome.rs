//! What the outcome says of an application.

use super::core::{Message, MessageState};
use super::freezes::Freezes;
use super::player::ChunkRecord;
use super::sketch::{Sketch, UNFINISHED, quantile};
use super::{Application, Kind, SETUP_REQUEST};
use crate::audit::{AuditedMessage, AuditedOutcome, AuditedPlaying};
use crate::simulation::ideal::IdealPath;
use serde::Serialize;
use units::{Span, Time};

/// What an application has done. Messages that start in the warm-up or the cooldown do not count.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppOutcome {
    /// `rate`, `on_off`, `requests`, `page`, `video` or `frames`.
    pub kind: &'static str,
    /// Messages: writes, periods, responses, objects, chunks, frames.
    pub messages: u64,
    /// Messages whose last byte has arrived.
    pub finished: u64,
    /// Messages that were under way at the end, or whose requests had no answer.
    pub unfinished: u64,
    /// Requests and opening packets that were sent again.
    pub requests_repeated: u64,
    /// Mean time from the start of a message to its last byte at the client, of those finished, seconds.
    pub mean_s: Option<f64>,
    /// Quantiles of it by rank, of all messages: those without an end are longer than all others, so a quantile that falls on
    /// one is null; also with fewer than 2, 20, 100 messages. Seconds.
    pub p50_s: Option<f64>,
    /// The same at 95 %.
    pub p95_s: Option<f64>,
    /// The same at 99 %.
    pub p99_s: Option<f64>,
    /// Mean of the time over that on the empty path without windows; null if the path changes.
    pub mean_slowdown: Option<f64>,
    /// Quantiles of it, as of the time.
    pub p50_slowdown: Option<f64>,
    /// The same at 95 %.
    pub p95_slowdown: Option<f64>,
    /// The same at 99 %.
    pub p99_slowdown: Option<f64>,
    /// The messages by size.
    pub bins: Vec<SizeBin>,
    /// Counts of times by buckets of 1/64 of their value, to be added to those of other flows: number of the bucket, count. The
    /// bucket null has the messages without an end.
    pub sketch: Vec<(Option<u32>, u64)>,
    /// The same of slowdowns.
    pub slowdown_sketch: Vec<(Option<u32>, u64)>,
    /// Requests: responses a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_s: Option<f64>,
    /// Page.
    #[serde(flatten)]
    pub page: Option<PageOutcome>,
    /// Video.
    #[serde(flatten)]
    pub video: Option<VideoOutcome>,
    /// Frames.
    #[serde(flatten)]
    pub frames: Option<FramesOutcome>,
}

/// Messages up to a size.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeBin {
    /// The largest size; null for no bound.
    pub up_to_bytes: Option<u64>,
    /// How many.
    pub messages: u64,
    /// Quantiles of their slowdowns.
    pub p50_slowdown: Option<f64>,
    /// The same at 95 %.
    pub p95_slowdown: Option<f64>,
    /// The same at 99 %.
    pub p99_slowdown: Option<f64>,
    /// 95 % quantile of their times, seconds.
    pub p95_s: Option<f64>,
    /// Counts of their slowdowns by buckets, as those of all messages.
    pub slowdown_sketch: Vec<(Option<u32>, u64)>,
}

/// What the loading of pages has done.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageOutcome {
    /// Pages that began.
    pub pages: u64,
    /// Median of their load times, seconds.
    pub p50_page_s: Option<f64>,
    /// 95 % quantile of their load times, seconds.
    pub p95_page_s: Option<f64>,
    /// Mean arrival of a byte after the start of its page, by whole objects, seconds.
    pub byte_index_s: Option<f64>,
}

/// What a player has shown, in the whole run also with a warm-up.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VideoOutcome {
    /// From the start of the player to its first picture; null if it has none, seconds.
    pub startup_s: Option<f64>,
    /// How often playing stopped for want of data.
    pub stalls: u64,
    /// For how long, seconds.
    pub stall_s: f64,
    /// Stalls over stalls and playing; null before playing.
    pub rebuffer_ratio: Option<f64>,
    /// Mean rate of the chunks in the video, bit/s.
    pub mean_bitrate_bps: Option<f64>,
    /// Changes of the rate from chunk to chunk.
    pub switches: u64,
    /// Mean of their sizes over all pairs of chunks, bit/s.
    pub mean_change_bps: Option<f64>,
    /// Quality of experience of a chunk: its rate in Mb/s, less the change to it, less the stall times the largest rate of the
    /// ladder, in the mean (Yin et al. 2015).
    pub qoe: Option<f64>,
    /// Chunks that arrived.
    pub chunks: u64,
    /// Each chunk.
    pub chunk_log: Vec<ChunkRow>,
}

/// A chunk of a video.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChunkRow {
    /// When it was asked for, seconds since the start of the run.
    pub asked_s: f64,
    /// When it was complete.
    pub end_s: f64,
    /// Its rate in the ladder, bit/s.
    pub bitrate_bps: f64,
    /// Playing time in the buffer when it was complete, seconds.
    pub buffer_s: f64,
    /// The estimate of the throughput when it was asked for; null before the first.
    pub estimate_bps: Option<f64>,
}

/// What became of media frames.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FramesOutcome {
    /// Frames whose last byte arrived before their deadline.
    pub on_time: u64,
    /// Frames whose last byte arrived after it.
    pub late: u64,
    /// Frames whose stream was reset.
    pub cancelled: u64,
    /// Frames that were not written.
    pub dropped: u64,
    /// Quantiles of the delay of frames from capture to the last byte; frames that did not arrive are later than all others.
    pub p50_frame_s: Option<f64>,
    /// The same at 95 %.
    pub p95_frame_s: Option<f64>,
    /// The same at 99 %.
    pub p99_frame_s: Option<f64>,
    /// Gaps between frames that are shown of at least three times the mean gap, and 150 ms more than it.
    pub freezes: u64,
    /// Their sum, seconds.
    pub freeze_s: f64,
    /// Mean rate of the encoders, bit/s.
    pub encoder_bps: f64,
    /// Audio packets sent; absent without audio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio_sent: Option<u64>,
    /// Those that did not arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio_lost: Option<u64>,
    /// Quantiles of 20 ms and the delay of an audio packet; lost ones are later than all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_mouth_to_ear_s: Option<f64>,
    /// The same at 99 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_mouth_to_ear_s: Option<f64>,
}

/// A message of an application, for tables.
#[derive(Clone, Debug, Serialize)]
pub struct MessageRow {
    /// Its number in the application.
    pub number: u32,
    /// Index of its connection.
    pub connection: u32,
    /// Its size.
    pub bytes: u64,
    /// When it was asked for, captured or written, seconds since the start of the run, as all times.
    pub start_s: f64,
    /// When its first byte reached the receiving application.
    pub first_s: Option<f64>,
    /// When its last byte did.
    pub end_s: Option<f64>,
    /// The least time from start to end; none if the path changes.
    pub ideal_s: Option<f64>,
    /// `finished`, `unfinished`, `cancelled`, `dropped`; of frames `on_time`, `late` in place of `finished`.
    pub state: &'static str,
}

/// What figures of an application need besides its messages.
#[derive(Clone, Debug, Serialize)]
pub struct AppRow {
    /// The name of the flow that has it.
    pub name: String,
    /// The number of its first flow, and how many flows it has: one for each connection.
    pub flow: u32,
    /// How many.
    pub connections: u32,
    /// `rate`, `on_off`, `requests`, `page`, `video` or `frames`.
    pub kind: &'static str,
    /// Frames: the time from capture to the last byte that is in time, seconds.
    pub deadline_s: Option<f64>,
    /// Page: its objects. As many messages, one after the other, are one page.
    pub objects: Option<u32>,
}

/// What the outcome needs besides the application.
pub struct AppFacts {
    /// The part of the run whose messages count: from its first time to before its second.
    pub counted: [Time; 2],
    /// The end of the run so far.
    pub end: Time,
    /// Something changes during the run: there is no ideal time.
    pub changes: bool,
}

/// Upper bounds of the sizes of the bins, bytes.
const BINS: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// The part of a mouth-to-ear delay that the encoder takes.
const AUDIO_PACKET_S: f64 = 0.02;

impl Application {
    /// The name of its kind.
    pub fn kind_name(&self) -> &'static str {
        match &self.kind {
            Kind::Rate(_) => "rate",
            Kind::OnOff(_) => "on_off",
            Kind::Requests(_) => "requests",
            Kind::Page(_) => "page",
            Kind::Video(_) => "video",
            Kind::Frames(_) => "frames",
        }
    }

    /// The least time of a message from its start to its last byte at the client, seconds.
    fn ideal(&self, message: &Message, path: &IdealPath) -> f64 {
        let asks = matches!(self.kind, Kind::Requests(_) | Kind::Page(_) | Kind::Video(_));
        let request =
            asks.then_some(if message.is_setup { SETUP_REQUEST } else { self.core.options.request });
        let service = match &self.kind {
            Kind::Requests(requests) => requests.service(),
            _ => Span::ZERO,
        };
        (path.message(message.bytes, request) + service).seconds()
    }

    /// The state of a message in words.
    fn state(&self, message: &Message) -> &'static str {
        match (message.state, &self.kind) {
            (MessageState::Finished, Kind::Frames(frames)) => {
                if message.end.since(message.start) <= frames.deadline() { "on_time" } else { "late" }
            }
            (MessageState::Finished, _) => "finished",
            (MessageState::Unfinished, _) => "unfinished",
            (MessageState::Cancelled, _) => "cancelled",
            (MessageState::Dropped, _) => "dropped",
        }
    }

    /// What figures need of it; `name` is that of its first flow.
    pub fn row(&self, name: &str) -> AppRow {
        let connections = self.core.connections.len() as u32;
        // The flows of several connections are `NAME/0`, `NAME/1`, ...
        let name = if connections > 1 { name.strip_suffix("/0").unwrap_or(name) } else { name };
        AppRow {
            name: name.into(),
            flow: self.flow(0),
            connections,
            kind: self.kind_name(),
            deadline_s: match &self.kind {
                Kind::Frames(frames) => Some(frames.deadline().seconds()),
                _ => None,
            },
            objects: match &self.kind {
                Kind::Page(loader) => Some(loader.objects()),
                _ => None,
            },
        }
    }

    /// All messages.
    pub fn message_rows(&self) -> impl Iterator<Item = MessageRow> {
        let at = |time: Time| (time < Time::NEVER).then(|| time.seconds());
        let messages = self.core.messages.iter().enumerate().filter(|(_, message)| !message.is_setup);
        messages.map(move |(number, message)| MessageRow {
            number: number as u32,
            connection: message.connection,
            bytes: message.bytes,
            start_s: message.start.seconds(),
            first_s: at(message.first),
            end_s: at(message.end),
            ideal_s: self.ideal.as_ref().map(|path| self.ideal(message, path)),
            state: self.state(message),
        })
    }

    /// What it has done, for the auditor.
    pub fn audited(&self, facts: &AppFacts) -> AuditedOutcome {
        let message = |message: &Message| AuditedMessage {
            bytes: message.bytes,
            start: message.start,
            first: message.first,
            end: message.end,
            state: self.state(message),
            is_setup: message.is_setup,
        };
        let outcome = self.outcome(facts);
        let frames = outcome.frames.as_ref();
        let playing = match &self.kind {
            Kind::Video(video) => {
                let figures = video.player.figures(facts.end);
                Some(AuditedPlaying {
                    startup_s: figures.startup_s + video.opening.seconds(),
                    played_s: figures.played_s,
                    stall_s: figures.stall_s,
                    stalls: figures.stalls,
                })
            }
            _ => None,
        };
        AuditedOutcome {
            messages: self.core.messages.iter().map(message).collect(),
            counted: facts.counted,
            counts: [outcome.messages, outcome.finished, outcome.unfinished],
            frames: frames.map(|frames| [frames.on_time, frames.late, frames.cancelled, frames.dropped]),
            playing,
        }
    }

    /// What it has done.
    pub fn outcome(&self, facts: &AppFacts) -> AppOutcome {
        let counts = |start: Time| (facts.counted[0]..facts.counted[1]).contains(&start);
        let counted: Vec<&Message> =
            self.core.messages.iter().filter(|message| !message.is_setup && counts(message.start)).collect();
        let time = |message: &Message| match message.state {
            MessageState::Finished => message.end.since(message.start).seconds(),
            _ => f64::INFINITY,
        };
        let times: Vec<f64> = counted.iter().map(|message| time(message)).collect();
        let slowdown = |path: &IdealPath, message: &&Message| time(message) / self.ideal(message, path);
        let slowdowns: Vec<f64> = self
            .ideal
            .as_ref()
            .filter(|_| !facts.changes)
            .map(|path| counted.iter().map(|message| slowdown(path, message)).collect())
            .unwrap_or_default();
        let unfinished = counted.iter().filter(|message| message.state == MessageState::Unfinished);
        let seconds = facts.counted[1].min(facts.end).since(facts.counted[0]).seconds();
        let finished = times.iter().filter(|time| time.is_finite()).count();
        let (of_times, of_slowdowns) = (Quantiles::of(&times), Quantiles::of(&slowdowns));
        AppOutcome {
            kind: self.kind_name(),
            messages: counted.len() as u64,
            finished: finished as u64,
            unfinished: unfinished.count() as u64,
            requests_repeated: self.core.requests_repeated,
            mean_s: of_times.mean(),
            p50_s: of_times.at(0.5),
            p95_s: of_times.at(0.95),
            p99_s: of_times.at(0.99),
            mean_slowdown: of_slowdowns.mean(),
            p50_slowdown: of_slowdowns.at(0.5),
            p95_slowdown: of_slowdowns.at(0.95),
            p99_slowdown: of_slowdowns.at(0.99),
            bins: bins(&counted, &times, &slowdowns),
            sketch: buckets(&times),
            slowdown_sketch: buckets(&slowdowns),
            requests_per_s: matches!(self.kind, Kind::Requests(_)).then(|| finished as f64 / seconds),
            page: self.page_outcome(&counts),
            video: self.video_outcome(facts.end),
            frames: self.frames_outcome(&counts, &times, seconds),
        }
    }

    fn page_outcome(&self, counts: &impl Fn(Time) -> bool) -> Option<PageOutcome> {
        let Kind::Page(loader) = &self.kind else { return None };
        let pages: Vec<_> = loader.pages.iter().filter(|page| counts(page.start)).collect();
        let load = |page: &&super::page::PageLoad| match page.end {
            Time::NEVER => f64::INFINITY,
            end => end.since(page.start).seconds(),
        };
        let loads: Vec<f64> = pages.iter().map(load).collect();
        let whole = pages.iter().filter(|page| page.end < Time::NEVER);
        let indices: Vec<f64> = whole.map(|page| page.byte_seconds / loader.bytes() as f64).collect();
        let loads = Quantiles::of(&loads);
        Some(PageOutcome {
            pages: pages.len() as u64,
            p50_page_s: loads.median(),
            p95_page_s: loads.at(0.95),
            byte_index_s: Quantiles::of(&indices).mean(),
        })
    }

    fn video_outcome(&self, end: Time) -> Option<VideoOutcome> {
        let Kind::Video(video) = &self.kind else { return None };
        let figures = video.player.figures(end);
        let row = |chunk: &ChunkRecord| ChunkRow {
            asked_s: chunk.asked.seconds(),
            end_s: chunk.end.seconds(),
            bitrate_bps: video.ladder[chunk.quality].bps() as f64,
            buffer_s: chunk.buffer_after.seconds(),
            estimate_bps: chunk.estimate_bps,
        };
        Some(VideoOutcome {
            startup_s: figures.began.then(|| figures.startup_s + video.opening.seconds()),
            stalls: figures.stalls,
            stall_s: figures.stall_s,
            rebuffer_ratio: figures.rebuffer_ratio,
            mean_bitrate_bps: figures.mean_bitrate_bps,
            switches: figures.switches,
            mean_change_bps: figures.mean_change_bps,
            qoe: figures.qoe,
            chunks: figures.chunks,
            chunk_log: video.player.chunks().iter().map(row).collect(),
        })
    }

    fn frames_outcome(
        &self,
        counts: &impl Fn(Time) -> bool,
        times: &[f64],
        seconds: f64,
    ) -> Option<FramesOutcome> {
        let Kind::Frames(frames) = &self.kind else { return None };
        let counted = || self.core.messages.iter().filter(|message| counts(message.start));
        let states = |state: &str| counted().filter(|message| self.state(message) == state).count() as u64;
        // A frame is shown if it is on time and no earlier frame of its group is missing; of the first video stream.
        let (mut shown, mut broken) = (Freezes::default(), None);
        let mut last = Time::ZERO;
        for (frame, message) in
            frames.frames.iter().zip(&self.core.messages).filter(|(frame, _)| frame.track == 0)
        {
            if self.state(message) != "on_time" {
                broken = Some(frame.group);
            }
            let is_shown =
                self.state(message) == "on_time" && (!frames.has_groups(0) || broken != Some(frame.group));
            if is_shown && counts(message.start) {
                // A frame that arrives before an earlier one is shown after it.
                last = last.max(message.end);
                shown.on_shown(last);
            }
        }
        let audio: Vec<f64> = (0..frames.audio.len())
            .filter(|number| counts(frames.audio_captured(*number)))
            .map(|number| match frames.audio[number] {
                Time::NEVER => f64::INFINITY,
                arrival => AUDIO_PACKET_S + arrival.since(frames.audio_captured(number)).seconds(),
            })
            .collect();
        let heard = Quantiles::of(&audio);
        let has_audio = !frames.audio.is_empty();
        let bytes: u64 = counted().map(|message| message.bytes).sum();
        let delays = Quantiles::of(times);
        Some(FramesOutcome {
            on_time: states("on_time"),
            late: states("late"),
            cancelled: states("cancelled"),
            dropped: states("dropped"),
            p50_frame_s: delays.at(0.5),
            p95_frame_s: delays.at(0.95),
            p99_frame_s: delays.at(0.99),
            freezes: shown.count(),
            freeze_s: shown.total().seconds(),
            encoder_bps: 8.0 * bytes as f64 / seconds,
            audio_sent: has_audio.then_some(audio.len() as u64),
            audio_lost: has_audio.then(|| audio.iter().filter(|delay| delay.is_infinite()).count() as u64),
            p95_mouth_to_ear_s: heard.at(0.95).filter(|_| has_audio),
            p99_mouth_to_ear_s: heard.at(0.99).filter(|_| has_audio),
        })
    }
}

/// The messages by size; without bins that have none.
fn bins(messages: &[&Message], times: &[f64], slowdowns: &[f64]) -> Vec<SizeBin> {
    let bin = |message: &&Message| BINS.iter().filter(|bound| message.bytes > **bound).count();
    let select = |values: &[f64], number: usize| -> Vec<f64> {
        let with_sizes = messages.iter().zip(values);
        with_sizes.filter(|(message, _)| bin(message) == number).map(|(_, value)| *value).collect()
    };
    let row = |number: usize| {
        let of_bin = select(slowdowns, number);
        let (times, slowdowns) = (Quantiles::of(&select(times, number)), Quantiles::of(&of_bin));
        SizeBin {
            up_to_bytes: BINS.get(number).copied(),
            messages: times.count(),
            p50_slowdown: slowdowns.at(0.5),
            p95_slowdown: slowdowns.at(0.95),
            p99_slowdown: slowdowns.at(0.99),
            p95_s: times.at(0.95),
            slowdown_sketch: buckets(&of_bin),
        }
    };
    (0..=BINS.len()).map(row).filter(|bin| bin.messages > 0).collect()
}

/// Times or slowdowns of which quantiles are asked for; infinite ones are of messages without an end.
struct Quantiles {
    sorted: Vec<f64>,
}

impl Quantiles {
    fn of(values: &[f64]) -> Quantiles {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Quantiles { sorted }
    }

    fn count(&self) -> u64 {
        self.sorted.len() as u64
    }

    /// The mean of the finite ones.
    fn mean(&self) -> Option<f64> {
        let finite = self.sorted.partition_point(|value| value.is_finite());
        (finite > 0).then(|| self.sorted[..finite].iter().sum::<f64>() / finite as f64)
    }

    /// The quantile by rank; null with too few values, and if it falls on an infinite one.
    fn at(&self, part: f64) -> Option<f64> {
        quantile(&self.sorted, part).filter(|value| value.is_finite())
    }

    /// The median of any number of values.
    fn median(&self) -> Option<f64> {
        self.at(0.5)
            .or_else(|| self.sorted.first().copied().filter(|first| self.count() == 1 && first.is_finite()))
    }
}

/// The counts of a sketch of values; null for the bucket of infinite ones.
fn buckets(values: &[f64]) -> Vec<(Option<u32>, u64)> {
    let sketch: Sketch = values.iter().copied().collect();
    sketch.pairs().map(|(bucket, count)| ((bucket != UNFINISHED).then_some(bucket as u32), count)).collect()
}
