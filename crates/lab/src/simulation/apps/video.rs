//! A client that plays a video with adaptive streaming.

use super::abr::AbrAlgorithm;
use super::core::{Core, Timer};
use super::player::{ChunkSizes, Player, PlayerAction, PlayerConfig};
use crate::scenario::{AbrKind, VideoApp};
use engine::Stream;
use units::{Rate, Span, Time};

/// The playing of a video.
#[derive(Clone, Debug)]
pub struct Video {
    pub player: Player,
    pub ladder: Vec<Rate>,
    /// When the application began.
    start: Time,
    /// How long its connection took to open.
    pub opening: Span,
    /// The message whose first byte has not arrived.
    awaited: Option<u32>,
}

impl Video {
    /// `sizes` draws the sizes of chunks.
    pub fn new(options: &VideoApp, sizes: Stream) -> Video {
        let algorithm = match options.algorithm {
            AbrKind::Dynamic => AbrAlgorithm::Dynamic,
            AbrKind::Throughput => AbrAlgorithm::Throughput,
            AbrKind::Bola => AbrAlgorithm::Bola,
            AbrKind::Bba => AbrAlgorithm::Bba,
            AbrKind::Mpc => AbrAlgorithm::Mpc { robust: false },
            AbrKind::Fixed => AbrAlgorithm::Fixed { quality: options.fixed },
        };
        let sizes = match &options.sizes {
            Some(table) => ChunkSizes::Table(table.to_vec()),
            None if options.variation > 0.0 => ChunkSizes::Varied { sigma: options.variation, stream: sizes },
            None => ChunkSizes::Constant,
        };
        let player = Player::new(PlayerConfig {
            ladder: options.ladder.clone(),
            chunk: options.chunk,
            length: options.length,
            buffer: options.buffer,
            start: options.thresholds[0],
            resume: options.thresholds[1],
            algorithm,
            guard: options.guard,
            sizes,
        });
        Video {
            player,
            ladder: options.ladder.clone(),
            start: Time::ZERO,
            opening: Span::ZERO,
            awaited: None,
        }
    }

    pub fn start(&mut self, core: &mut Core, now: Time) {
        self.start = now;
        core.open(now, 0);
    }

    pub fn on_ready(&mut self, core: &mut Core, now: Time) {
        self.opening = now.since(self.start);
        let next = self.player.start(now);
        self.follow(core, now, next);
    }

    fn follow(&mut self, core: &mut Core, now: Time, next: PlayerAction) {
        match next {
            PlayerAction::Ask { bytes, .. } if !core.stopped => self.awaited = Some(core.ask(now, 0, bytes)),
            PlayerAction::Wait(at) => core.at(at, Timer::Player),
            PlayerAction::Ask { .. } | PlayerAction::Ended => {}
        }
    }

    /// Bytes of a chunk have arrived.
    pub fn on_bytes(&mut self, now: Time, message: u32) {
        if self.awaited == Some(message) {
            self.awaited = None;
            self.player.on_first_byte(now);
        }
    }

    pub fn on_chunk(&mut self, core: &mut Core, now: Time, message: u32) {
        self.on_bytes(now, message);
        let next = self.player.on_chunk(now);
        self.follow(core, now, next);
    }

    /// The player asks for nothing more.
    pub fn stop(&mut self, now: Time) {
        self.player.stop(now);
    }

    pub fn on_timer(&mut self, core: &mut Core, now: Time) {
        let next = self.player.on_timer(now);
        self.follow(core, now, next);
    }
}
