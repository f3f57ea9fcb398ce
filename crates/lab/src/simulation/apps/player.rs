//! A player of adaptive streaming: asks for chunks of media, keeps them in a buffer, shows them.
//!
//! The next chunk is asked for when one is complete and a chunk fits into the buffer. Times are whole picoseconds, so that
//! startup, playback and stalls add up to the time exactly.

use super::abr::{Abr, AbrAlgorithm, Download, Estimator, View};
use cc::detmath;
use engine::Stream;
use units::{Rate, Span, Time};

/// The sizes of chunks.
#[derive(Clone, Debug)]
pub enum ChunkSizes {
    /// Each has the size of its rate.
    Constant,
    /// Each has the size of its rate times a log-normal factor of mean 1, which all its qualities share.
    Varied {
        /// The standard deviation of the factor's logarithm.
        sigma: f64,
        /// The random stream of the factors.
        stream: Stream,
    },
    /// Bytes: a row for each chunk, a column for each rate. After the last row the first one follows.
    Table(Vec<Vec<u64>>),
}

/// The settings of a player.
#[derive(Clone, Debug)]
pub struct PlayerConfig {
    /// The rates, rising.
    pub ladder: Vec<Rate>,
    /// Media in a chunk.
    pub chunk: Span,
    /// Media in all; the last chunk is a whole one.
    pub length: Span,
    /// The largest amount of media in the buffer, at least two chunks.
    pub buffer: Span,
    /// Playback begins with this much media.
    pub start: Span,
    /// Playback goes on after a stall with this much media.
    pub resume: Span,
    /// How qualities are chosen.
    pub algorithm: AbrAlgorithm,
    /// Throughput asks for no chunk that the buffer may not last for.
    pub guard: bool,
    /// The sizes of chunks.
    pub sizes: ChunkSizes,
}

/// What a player does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayerAction {
    /// It asks for a chunk.
    Ask {
        /// The number of the chunk, from 0.
        chunk: u64,
        /// The index of its rate.
        quality: usize,
        /// Its size, bytes.
        bytes: u64,
    },
    /// Its timer is to fire at a time; [`Time::NEVER`] while a chunk is under way.
    Wait(Time),
    /// It has all chunks. Playback may go on.
    Ended,
}

/// A chunk, complete.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChunkRecord {
    /// The index of its rate.
    pub quality: usize,
    /// Its size, bytes.
    pub bytes: u64,
    /// When it was asked for.
    pub asked: Time,
    /// When its first byte came.
    pub first_byte: Time,
    /// When its last byte came.
    pub end: Time,
    /// Media in the buffer when it was asked for.
    pub buffer_before: Span,
    /// Media in the buffer with it.
    pub buffer_after: Span,
    /// The throughput that was expected when it was asked for, bit/s; none of the first chunk.
    pub estimate_bps: Option<f64>,
}

/// What a player has achieved up to a time. `startup_s`, `played_s` and `stall_s` add up to the time since its start until all
/// media has been shown.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoFigures {
    /// From the start to the first picture, s; up to now if there was none.
    pub startup_s: f64,
    /// Whether there was a first picture.
    pub began: bool,
    /// Interruptions of playback.
    pub stalls: u64,
    /// Their duration, s.
    pub stall_s: f64,
    /// Media shown, s.
    pub played_s: f64,
    /// Stalls in playback and stalls; none before playback.
    pub rebuffer_ratio: Option<f64>,
    /// Chunks that are complete.
    pub chunks: u64,
    /// Mean of their rates in the ladder, bit/s; none without a chunk.
    pub mean_bitrate_bps: Option<f64>,
    /// Chunks with another quality than the chunk before.
    pub switches: u64,
    /// Mean difference between the rates of a chunk and of the chunk before, bit/s (Yin et al., SIGCOMM 2015, section 3.1); none
    /// with fewer than two chunks.
    pub mean_change_bps: Option<f64>,
    /// Per chunk: rates, less their changes, less `stall_s` times the highest rate of the ladder, Mb/s (the objective of the same
    /// paper); none without a chunk.
    pub qoe: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlaybackState {
    /// Before the start.
    Idle,
    /// Before the first picture.
    Starting,
    Playing,
    Stalled,
    /// All media has been shown.
    Finished,
}

/// The buffer and the clock of the playback.
#[derive(Clone, Copy, Debug)]
struct Playback {
    state: PlaybackState,
    buffer: Span,
    updated: Time,
    /// No chunk will come.
    complete: bool,
    startup: Span,
    played: Span,
    stalled: Span,
    stalls: u64,
}

impl Playback {
    fn new() -> Playback {
        Playback {
            state: PlaybackState::Idle,
            buffer: Span::ZERO,
            updated: Time::ZERO,
            complete: false,
            startup: Span::ZERO,
            played: Span::ZERO,
            stalled: Span::ZERO,
            stalls: 0,
        }
    }

    /// Shows media up to `now`. A buffer that is empty at `now` is no stall yet.
    fn advance(&mut self, now: Time) {
        let elapsed = now.since(self.updated);
        self.updated = self.updated.max(now);
        match self.state {
            PlaybackState::Idle | PlaybackState::Finished => {}
            PlaybackState::Starting => self.startup = self.startup + elapsed,
            PlaybackState::Stalled => self.stalled = self.stalled + elapsed,
            PlaybackState::Playing => {
                let shown = elapsed.min(self.buffer);
                self.played = self.played + shown;
                self.buffer = self.buffer - shown;
                if self.complete && self.buffer == Span::ZERO {
                    self.state = PlaybackState::Finished;
                } else if elapsed > shown {
                    self.state = PlaybackState::Stalled;
                    self.stalls += 1;
                    self.stalled = self.stalled + (elapsed - shown);
                }
            }
        }
    }
}

/// A chunk that is under way.
#[derive(Clone, Copy, Debug)]
struct Pending {
    quality: usize,
    bytes: u64,
    asked: Time,
    first_byte: Option<Time>,
    buffer: Span,
    estimate_bps: Option<f64>,
}

/// A player.
#[derive(Clone, Debug)]
pub struct Player {
    config: PlayerConfig,
    ladder_bps: Vec<f64>,
    /// Chunks in all.
    count: u64,
    abr: Abr,
    estimator: Estimator,
    playback: Playback,
    pending: Option<Pending>,
    /// When a chunk fits into the buffer, if the player waits for that.
    wake: Time,
    chunks: Vec<ChunkRecord>,
}

impl Player {
    /// A player that has not started.
    pub fn new(config: PlayerConfig) -> Player {
        let ladder_bps: Vec<f64> = config.ladder.iter().map(|rate| rate.bps() as f64).collect();
        let [chunk_s, limit_s] = [config.chunk, config.buffer].map(Span::seconds);
        Player {
            count: config.length.ps().div_ceil(config.chunk.ps()),
            abr: Abr::new(config.algorithm, &ladder_bps, chunk_s, limit_s, config.guard),
            estimator: Estimator::new(chunk_s),
            playback: Playback::new(),
            pending: None,
            wake: Time::NEVER,
            chunks: Vec::new(),
            ladder_bps,
            config,
        }
    }

    /// The viewer starts the player.
    pub fn start(&mut self, now: Time) -> PlayerAction {
        self.playback.updated = now;
        self.playback.state = PlaybackState::Starting;
        self.next(now)
    }

    /// The first byte of the chunk under way has come.
    pub fn on_first_byte(&mut self, now: Time) {
        if let Some(pending) = &mut self.pending {
            pending.first_byte.get_or_insert(now);
        }
    }

    /// The last byte of the chunk under way has come.
    pub fn on_chunk(&mut self, now: Time) -> PlayerAction {
        let Some(pending) = self.pending.take() else {
            return self.on_timer(now);
        };
        let first_byte = pending.first_byte.unwrap_or(now);
        let download = download(&pending, first_byte, now);
        self.estimator.push(&download);
        self.abr.on_chunk(&download);
        self.playback.advance(now);
        self.playback.buffer = self.playback.buffer + self.config.chunk;
        self.chunks.push(ChunkRecord {
            quality: pending.quality,
            bytes: pending.bytes,
            asked: pending.asked,
            first_byte,
            end: now,
            buffer_before: pending.buffer,
            buffer_after: self.playback.buffer,
            estimate_bps: pending.estimate_bps,
        });
        self.playback.complete = self.chunks.len() as u64 == self.count;
        self.begin_playback();
        self.next(now)
    }

    /// The timer fires.
    pub fn on_timer(&mut self, now: Time) -> PlayerAction {
        if self.pending.is_some() || now < self.wake && !self.playback.complete {
            return PlayerAction::Wait(self.wake);
        }
        self.playback.advance(now);
        self.next(now)
    }

    /// No chunk comes any more that was not asked for: what is in the buffer is shown.
    pub fn stop(&mut self, now: Time) {
        self.playback.advance(now);
        self.count = self.chunks.len() as u64 + u64::from(self.pending.is_some());
        self.playback.complete = self.pending.is_none();
        self.begin_playback();
    }

    /// The chunks so far.
    pub fn chunks(&self) -> &[ChunkRecord] {
        &self.chunks
    }

    /// Media in the buffer at `now`, at least the time of the last event.
    #[cfg(test)]
    pub fn buffer(&self, now: Time) -> Span {
        let mut playback = self.playback;
        playback.advance(now);
        playback.buffer
    }

    /// Plays if it does not and the buffer is long enough, or cannot become longer.
    fn begin_playback(&mut self) {
        let needed = match self.playback.state {
            PlaybackState::Starting => self.config.start,
            PlaybackState::Stalled => self.config.resume,
            _ => return,
        };
        let buffer = self.playback.buffer;
        let full = buffer + self.config.chunk > self.config.buffer;
        if buffer >= needed || full || self.playback.complete {
            self.playback.state = PlaybackState::Playing;
        }
    }

    /// Asks for a chunk if one is left and fits into the buffer.
    fn next(&mut self, now: Time) -> PlayerAction {
        if self.playback.complete {
            return PlayerAction::Ended;
        }
        let excess = (self.playback.buffer + self.config.chunk) - self.config.buffer;
        if excess > Span::ZERO {
            self.wake = now + excess;
            return PlayerAction::Wait(self.wake);
        }
        self.wake = Time::NEVER;
        self.ask(now)
    }

    fn ask(&mut self, now: Time) -> PlayerAction {
        let chunk = self.chunks.len() as u64;
        let buffer = self.playback.buffer;
        let estimate = self.estimator.estimate();
        let quality = self.abr.choose(&View {
            ladder_bps: &self.ladder_bps,
            chunk_s: self.config.chunk.seconds(),
            buffer_s: buffer.seconds(),
            previous: self.chunks.last().map(|record| record.quality),
            estimate,
        });
        let bytes = self.bytes(chunk, quality);
        let estimate_bps = estimate.map(|estimate| estimate.rate_bps);
        self.pending = Some(Pending { quality, bytes, asked: now, first_byte: None, buffer, estimate_bps });
        PlayerAction::Ask { chunk, quality, bytes }
    }

    /// The size of the next chunk, at least a byte.
    fn bytes(&mut self, chunk: u64, quality: usize) -> u64 {
        let mean = self.ladder_bps[quality] * self.config.chunk.seconds() / 8.0;
        let bytes = match &mut self.config.sizes {
            ChunkSizes::Constant => (mean + 0.5) as u64,
            ChunkSizes::Varied { sigma, stream } => {
                let exponent = *sigma * net::normal(stream) - 0.5 * *sigma * *sigma;
                (mean * detmath::exp(exponent) + 0.5) as u64
            }
            ChunkSizes::Table(rows) => rows[(chunk % rows.len() as u64) as usize][quality],
        };
        bytes.max(1)
    }

    /// What the player has achieved up to `now`, at least the time of the last event.
    pub fn figures(&self, now: Time) -> VideoFigures {
        let mut playback = self.playback;
        playback.advance(now);
        let [startup_s, played_s, stall_s] =
            [playback.startup, playback.played, playback.stalled].map(Span::seconds);
        let rates: Vec<f64> = self.chunks.iter().map(|record| self.ladder_bps[record.quality]).collect();
        let changes: f64 = rates.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum();
        let total: f64 = rates.iter().sum();
        let mean = |sum: f64, count: usize| (count > 0).then(|| sum / count as f64);
        let penalty_bps = self.ladder_bps[self.ladder_bps.len() - 1];
        VideoFigures {
            startup_s,
            began: !matches!(playback.state, PlaybackState::Idle | PlaybackState::Starting),
            stalls: playback.stalls,
            stall_s,
            played_s,
            rebuffer_ratio: (played_s + stall_s > 0.0).then(|| stall_s / (stall_s + played_s)),
            chunks: rates.len() as u64,
            mean_bitrate_bps: mean(total, rates.len()),
            switches: rates.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64,
            mean_change_bps: mean(changes, rates.len().saturating_sub(1)),
            qoe: mean((total - changes - penalty_bps * stall_s) / 1e6, rates.len()),
        }
    }
}

/// The download of a chunk. Where first and last byte come together, all the time counts as transfer.
fn download(pending: &Pending, first_byte: Time, end: Time) -> Download {
    let first_byte = if first_byte < end { first_byte } else { pending.asked };
    Download {
        bits: 8.0 * pending.bytes as f64,
        latency_s: first_byte.since(pending.asked).seconds(),
        transfer_s: end.since(first_byte).max(Span::from_ps(1)).seconds(),
    }
}

#[cfg(test)]
mod tests;
