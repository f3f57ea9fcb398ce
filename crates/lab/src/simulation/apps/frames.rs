//! Media frames over a reliable transport: an encoder, deadlines, groups that are dropped or cancelled, audio.

use super::adapt::{Backlog, Bounds, Permission, permitted_target};
use super::core::{Action, Core, MessageState, Timer};
use super::encoder::{Encoder, EncoderConfig, FrameSizes, list_rate_bps};
use super::outgoing::Pending;
use crate::scenario::{Adapt, FramesApp, Late, Layer, Streams};
use engine::Stream;
use std::collections::BTreeSet;
use units::{Rate, Span, Time};

/// What the sender of an application knows of its transport.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderView {
    /// The congestion window, bytes.
    pub window: f64,
    /// The smoothed round-trip time, if there is one.
    pub smoothed_rtt: Option<Span>,
    /// The pacing rate of the controller, if it sets one.
    pub pacing: Option<Rate>,
    /// Bytes that the transport has taken and not sent.
    pub unsent: u64,
}

/// A frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Index of its video stream.
    pub track: u32,
    /// Number of its group in the video stream.
    pub group: u64,
    pub stream: u32,
}

/// A video stream.
#[derive(Clone, Debug)]
struct Track {
    encoder: Encoder,
    late: Late,
    priority: u8,
    /// The number of the present group.
    group: u64,
    /// Frames of a group, at least 1, and those of the present one so far.
    group_size: u32,
    in_group: u32,
    /// The stream of the present group.
    stream: u32,
    /// The present group was dropped or cancelled: the state of the rest of its frames.
    ended: Option<MessageState>,
}

/// The sending of media frames.
#[derive(Clone, Debug)]
pub struct Frames {
    options: FramesApp,
    tracks: Vec<Track>,
    /// Of each message; all are frames.
    pub frames: Vec<Frame>,
    start: Time,
    /// The delay of a full packet over the empty path, or the least delay of a frame so far.
    base_delay: Option<Span>,
    backlog: Option<Backlog>,
    /// Streams that the sender has reset, and those of which the receiver reads nothing more: nothing of a stream that is both is
    /// reported.
    resets: BTreeSet<u32>,
    stops: BTreeSet<u32>,
    /// When each audio packet was received; [`Time::NEVER`] before.
    pub audio: Vec<Time>,
}

/// Time from audio packet to audio packet.
pub const AUDIO_EVERY: Span = Span::from_ps(20_000_000_000);

impl Frames {
    /// `sizes` draws the deviations of frame sizes; `base_delay` is the delay of a full packet over the empty path, if it is known.
    pub fn new(options: &FramesApp, sizes: impl Fn(usize) -> Stream, base_delay: Option<Span>) -> Frames {
        let track = |(number, layer): (usize, &Layer)| Track {
            encoder: encoder(options, layer, sizes(number)),
            late: layer.late,
            priority: layer.priority,
            group: 0,
            group_size: layer.group.max(1),
            in_group: 0,
            stream: 0,
            ended: None,
        };
        let rate = options.layers[0].rate.bps() as f64;
        Frames {
            tracks: options.layers.iter().enumerate().map(track).collect(),
            options: options.clone(),
            frames: Vec::new(),
            start: Time::ZERO,
            base_delay,
            backlog: (options.adapt == Adapt::Backlog).then(|| Backlog::new(rate, bounds(options))),
            resets: BTreeSet::new(),
            stops: BTreeSet::new(),
            audio: Vec::new(),
        }
    }

    /// The rates of the layers, and the largest rate, are those of `options` from now on.
    pub fn change(&mut self, now: Time, options: &FramesApp) {
        for (track, layer) in self.tracks.iter_mut().zip(&options.layers) {
            match options.adapt {
                Adapt::Off => track.encoder.change_rate(now, layer.rate.bps() as f64),
                _ => track.encoder.change_bounds(now, bounds(options)),
            }
        }
        if let Some(backlog) = &mut self.backlog {
            backlog.change_bounds(bounds(options));
        }
        self.options.bounds[1] = options.bounds[1];
    }

    /// Whether the sender must be asked before a frame is captured.
    pub fn needs_view(&self) -> bool {
        self.options.adapt != Adapt::Off
    }

    pub fn start(&mut self, core: &mut Core, now: Time, view: &SenderView) {
        self.start = now;
        core.open(now, 0);
        if self.options.audio.is_some() {
            self.send_audio(core, now);
        }
        for track in 0..self.tracks.len() as u32 {
            self.capture(core, now, track, view);
        }
    }

    pub fn send_audio(&mut self, core: &mut Core, now: Time) {
        let Some(rate) = self.options.audio.filter(|_| !core.stopped) else { return };
        let bytes = (rate.bps() / 400) as u32;
        let number = self.audio.len() as u32;
        self.audio.push(Time::NEVER);
        core.actions.push_back(Action::Datagram { connection: 0, number, bytes });
        core.at(now + AUDIO_EVERY, Timer::Audio);
    }

    /// When audio packet `number` was captured.
    pub fn audio_captured(&self, number: usize) -> Time {
        self.start + Span::from_ps(AUDIO_EVERY.ps() * number as u64)
    }

    pub fn audio_arrived(&mut self, now: Time, number: u32) {
        if let Some(arrival) = self.audio.get_mut(number as usize) {
            *arrival = now.min(*arrival);
        }
    }

    /// Asks an encoder that adapts for the rate that the network permits.
    fn adapt(&mut self, core: &Core, now: Time, view: &SenderView) {
        let audio = self.options.audio.map_or(0.0, |rate| rate.bps() as f64);
        let target = match (self.options.adapt, &mut self.backlog) {
            (Adapt::Controller, _) => {
                let pacing_bps = view.pacing.map(|rate| rate.bps() as f64);
                let permission =
                    Permission { window_bytes: view.window, srtt: view.smoothed_rtt, pacing_bps };
                permitted_target(permission, self.options.share, audio, bounds(&self.options))
            }
            (_, Some(backlog)) => {
                Some(backlog.target_bps(now, core.connections[0].out.bytes() + view.unsent))
            }
            (_, None) => None,
        };
        if let Some(target) = target {
            self.tracks[0].encoder.request(now, target);
        }
    }

    /// The next frame of a track is captured.
    pub fn capture(&mut self, core: &mut Core, now: Time, number: u32, view: &SenderView) {
        if core.stopped {
            return;
        }
        self.adapt(core, now, view);
        let track = &mut self.tracks[number as usize];
        if track.ended.is_some() && self.options.key_on_cancel {
            track.encoder.begin_group();
        }
        let frame = track.encoder.frame();
        if frame.key {
            (track.group, track.in_group, track.ended) = (frame.group, 0, None);
        }
        track.in_group += 1;
        let bytes = frame.bytes;
        core.at(self.start + track.encoder.next_at(), Timer::Capture(number));
        let message = core.push(now, 0, bytes);
        let new_stream = match self.options.streams {
            Streams::One => false,
            Streams::Group => frame.key,
            Streams::Frame => true,
        };
        if new_stream {
            track.stream = core.new_stream(0);
        }
        let stream = track.stream;
        self.frames.push(Frame { track: number, group: track.group, stream });
        if let Some(state) = track.ended {
            core.messages[message as usize].state = state;
            return;
        }
        let finishes = match self.options.streams {
            Streams::One => false,
            Streams::Group => track.in_group == track.group_size,
            Streams::Frame => true,
        };
        if matches!(track.late, Late::Drop | Late::Cancel) {
            let leave = self.options.deadline - self.base_delay.unwrap_or(Span::ZERO);
            core.at(now + leave, Timer::Leave(message));
        }
        let priority = track.priority;
        core.send(0, Pending { message, stream, left: bytes, priority, finishes });
    }

    /// The last moment at which a frame can leave and be in time.
    pub fn on_leave(&mut self, core: &mut Core, message: u32) {
        let frame = self.frames[message as usize];
        let Some(left) = core.connections[0].out.left(message) else { return };
        let bytes = core.messages[message as usize].bytes;
        match self.tracks[frame.track as usize].late {
            Late::Drop if left == bytes => self.end_group(core, message, MessageState::Dropped),
            Late::Cancel => self.cancel(core, message),
            _ => {}
        }
    }

    /// A frame, and with it the rest of its group, is given up: what waits is not sent, what follows is not written.
    fn end_group(&mut self, core: &mut Core, message: u32, state: MessageState) {
        let Frames { frames, tracks, options, .. } = self;
        let of = frames[message as usize];
        let same = |frame: &Frame| frame.track == of.track && frame.group == of.group;
        let Core { connections, messages, actions, .. } = core;
        connections[0].out.remove(|pending| {
            let removed = pending.message >= message && same(&frames[pending.message as usize]);
            if removed {
                messages[pending.message as usize].state = state;
            }
            removed
        });
        let track = &mut tracks[of.track as usize];
        if track.group == of.group {
            track.ended = Some(state);
        }
        actions.push_back(Action::Data(0)); // what waits has changed
        let stream = of.stream;
        let open = state == MessageState::Dropped && options.streams == Streams::Group;
        if open && !connections[0].out.finish(stream) {
            actions.push_back(Action::Finish { connection: 0, stream });
        }
    }

    /// The streams of a frame and of the rest of its group are reset.
    fn cancel(&mut self, core: &mut Core, message: u32) {
        let of = self.frames[message as usize];
        let mut streams = vec![of.stream];
        for (number, frame) in self.frames.iter().enumerate().skip(message as usize) {
            let sent = core.messages[number];
            let waits = core.connections[0].out.left(number as u32) == Some(sent.bytes);
            if (frame.track, frame.group) == (of.track, of.group)
                && sent.state == MessageState::Unfinished
                && !waits
                && !streams.contains(&frame.stream)
            {
                streams.push(frame.stream);
            }
        }
        self.end_group(core, message, MessageState::Cancelled);
        core.messages[message as usize].state = MessageState::Cancelled;
        for stream in streams {
            core.actions.push_back(Action::Reset { connection: 0, stream });
            self.resets.insert(stream);
            if self.stops.contains(&stream) {
                self.on_reset(core, stream);
            }
        }
    }

    /// The request of the receiver for the reset of a stream has reached the sender, whose transport has reset it: what is left of
    /// the group is cancelled.
    pub fn on_stopped(&mut self, core: &mut Core, stream: u32) {
        let first = (0..self.frames.len()).find(|number| {
            self.frames[*number].stream == stream && core.messages[*number].state == MessageState::Unfinished
        });
        let last = || (0..self.frames.len()).rev().find(|number| self.frames[*number].stream == stream);
        if let Some(message) = first {
            self.cancel(core, message as u32);
        } else if let Some(of) = last().map(|last| self.frames[last]) {
            // All that was captured has arrived; what follows in the group is not written.
            let track = &mut self.tracks[of.track as usize];
            if track.group == of.group {
                track.ended = Some(MessageState::Cancelled);
            }
        }
    }

    /// The transport of the receiver has all of a stream.
    pub fn on_acknowledged(&mut self, core: &mut Core, stream: u32) {
        if self.stops.contains(&stream) {
            self.on_reset(core, stream);
        }
    }

    /// Bytes of a frame have reached the receiver.
    pub fn on_bytes(&mut self, core: &mut Core, now: Time, message: u32) {
        let frame = self.frames[message as usize];
        let sent = core.messages[message as usize];
        let age = now.since(sent.start);
        if sent.end < Time::NEVER && self.base_delay.is_none_or(|least| age < least) {
            self.base_delay = Some(age);
        }
        let stream = frame.stream;
        let stops = self.tracks[frame.track as usize].late == Late::Stop && age > self.options.deadline;
        if stops && self.stops.insert(stream) {
            core.actions.push_back(Action::StopSending { connection: 0, stream });
            if self.resets.contains(&stream) {
                self.on_reset(core, stream);
            }
        }
    }

    /// Nothing more of a stream arrives, because it was reset: what has not arrived is cancelled.
    pub fn on_reset(&mut self, core: &mut Core, stream: u32) {
        for (frame, message) in self.frames.iter().zip(&mut core.messages) {
            if frame.stream == stream && message.state == MessageState::Unfinished {
                message.state = MessageState::Cancelled;
            }
        }
    }

    /// The time from the capture of a frame to its last byte at the receiver that is in time.
    pub fn deadline(&self) -> Span {
        self.options.deadline
    }

    /// Whether the frames of a video stream are in groups, of which later ones need the earlier ones.
    pub fn has_groups(&self, track: u32) -> bool {
        self.options.layers[track as usize].group > 1
    }
}

/// The bounds of an encoder that adapts.
fn bounds(options: &FramesApp) -> Bounds {
    let [min_bps, max_bps] = options.bounds.map(|rate| rate.bps() as f64);
    Bounds { min_bps, max_bps }
}

/// The encoder of a video stream.
fn encoder(options: &FramesApp, layer: &Layer, noise: Stream) -> Encoder {
    let (sizes, rate_bps) = match &options.sizes {
        Some(list) => (FrameSizes::List(list.to_vec()), list_rate_bps(list, options.fps)),
        None if options.deviation > 0.0 => {
            (FrameSizes::Noisy { deviation: options.deviation, stream: noise }, layer.rate.bps() as f64)
        }
        None => (FrameSizes::Even, layer.rate.bps() as f64),
    };
    let Bounds { min_bps, max_bps } = match options.adapt {
        Adapt::Off => Bounds { min_bps: rate_bps, max_bps: rate_bps },
        _ => bounds(options),
    };
    Encoder::new(EncoderConfig {
        rate_bps,
        min_bps,
        max_bps,
        fps: options.fps,
        group: layer.group,
        key_ratio: layer.key_ratio,
        reaction: options.reaction,
        sizes,
    })
}
