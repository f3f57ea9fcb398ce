//! The types of an application after reading.

use super::page::Page;
use super::sizes::SizeDistribution;
use std::sync::Arc;
use units::{Rate, Span};

/// What the application of a flow does.
#[derive(Clone, Debug, PartialEq)]
pub enum App {
    /// It writes at a rate.
    Rate(RateApp),
    /// It writes in periods.
    OnOff(OnOffApp),
    /// Its client asks for responses.
    Requests(RequestsApp),
    /// Its client loads pages.
    Page(PageApp),
    /// Its client plays a video with adaptive streaming.
    Video(VideoApp),
    /// It sends media frames.
    Frames(FramesApp),
}

/// What requests and connections have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestOptions {
    /// Payload of a request, bytes.
    pub request: u32,
    /// When a request that has not reached the server is repeated.
    pub timeout: Span,
    /// The client opens the connection, and not the sender of the data.
    pub client_opens: bool,
    /// Bytes of the certificate in the first exchange of a connection; `None` without such an exchange.
    pub certificate: Option<u64>,
}

/// An application that writes at a rate.
#[derive(Clone, Debug, PartialEq)]
pub struct RateApp {
    /// Times since the start, and the rate from then on.
    pub schedule: Vec<(Span, Rate)>,
    /// Time from write to write.
    pub every: Span,
    /// The most bytes that wait; `None` for no bound.
    pub most: Option<u64>,
}

/// An application that writes in periods.
#[derive(Clone, Debug, PartialEq)]
pub struct OnOffApp {
    /// What it writes in a period.
    pub amount: Amount,
    /// Time between periods.
    pub off: Span,
    /// The times are exponential with these means.
    pub random: bool,
    /// It starts with a period, and not with a pause.
    pub start_on: bool,
}

/// What an application writes in a period.
#[derive(Clone, Debug, PartialEq)]
pub enum Amount {
    /// Data for so long, at a rate, or as fast as the transport takes it.
    Time(Span, Option<Rate>),
    /// So many bytes.
    Size(SizeDistribution),
}

/// An application whose client asks for responses.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestsApp {
    /// Sizes of the responses.
    pub response: SizeDistribution,
    /// Time from the end of a response to the next request.
    pub think: Span,
    /// The time is exponential with this mean.
    pub random: bool,
    /// Time from the arrival of a request to the response at the server.
    pub service: Span,
    /// Requests under way at once.
    pub outstanding: u32,
    /// How many requests of each connection; `None` for no end.
    pub requests: Option<u64>,
    /// Connections, each of which has loops of its own.
    pub connections: u32,
    /// Requests and connections.
    pub common: RequestOptions,
}

/// How the objects of a page are transported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1: an object at a time on each of several connections.
    Http1,
    /// HTTP/2: all objects on one TCP connection.
    Http2,
    /// HTTP/3: all objects on one QUIC connection, each on a stream of its own.
    Http3,
}

/// An application whose client loads pages.
#[derive(Clone, Debug, PartialEq)]
pub struct PageApp {
    /// What a page consists of.
    pub page: Arc<Page>,
    /// How it is transported.
    pub protocol: Protocol,
    /// The most connections.
    pub connections: u32,
    /// Time from the end of a page to the next one; `None` for one page.
    pub repeat: Option<Span>,
    /// Requests and connections.
    pub common: RequestOptions,
}

/// How a player chooses the rate of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbrKind {
    /// By throughput until the buffer exceeds 10 s, then by BOLA.
    Dynamic,
    /// By throughput.
    Throughput,
    /// By the buffer (Spiteri et al. 2016).
    Bola,
    /// By the buffer, linear (Huang et al. 2014).
    Bba,
    /// By prediction over five chunks (Yin et al. 2015).
    Mpc,
    /// One rate.
    Fixed,
}

/// An application whose client plays a video.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoApp {
    /// Rates that the video is there in, rising.
    pub ladder: Vec<Rate>,
    /// Playing time of a chunk.
    pub chunk: Span,
    /// Playing time of the video.
    pub length: Span,
    /// The most playing time in the buffer.
    pub buffer: Span,
    /// Playing time in the buffer at which playing begins, and begins again after a stall.
    pub thresholds: [Span; 2],
    /// How the rate of a chunk is chosen.
    pub algorithm: AbrKind,
    /// The rate of `fixed`: a place in the ladder.
    pub fixed: usize,
    /// Sigma of the log-normal sizes of chunks.
    pub variation: f64,
    /// Sizes of the chunks at each rate of the ladder, bytes.
    pub sizes: Option<Arc<Vec<Vec<u64>>>>,
    /// No chunk is chosen that the buffer cannot pay for.
    pub guard: bool,
    /// Requests and connections.
    pub common: RequestOptions,
}

/// What has a stream of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// The connection has one.
    One,
    /// A group of frames.
    Group,
    /// A frame.
    Frame,
}

/// What happens to a frame that cannot be in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// It is sent.
    Keep,
    /// It is not written if none of it has left.
    Drop,
    /// Its stream is reset.
    Cancel,
    /// The receiver asks for the reset of its stream when it is late.
    Stop,
}

/// How the rate of an encoder follows the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adapt {
    /// It does not.
    Off,
    /// A part of what the congestion controller permits.
    Controller,
    /// By what waits unsent.
    Backlog,
}

/// A video stream of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// The rate, at the start if it adapts.
    pub rate: Rate,
    /// Frames of a group; 0: all are alike, each a group of its own.
    pub group: u32,
    /// How many times as large as the others the first frame of a group is.
    pub key_ratio: f64,
    /// Streams with a higher one are sent first.
    pub priority: u8,
    /// What happens to late frames.
    pub late: Late,
}

/// An application that sends media frames.
#[derive(Clone, Debug, PartialEq)]
pub struct FramesApp {
    /// Its video streams.
    pub layers: Vec<Layer>,
    /// Bounds of the rate of an encoder that adapts.
    pub bounds: [Rate; 2],
    /// Frames a second.
    pub fps: u32,
    /// Standard deviation of the Laplace noise of sizes, as a part of the mean.
    pub deviation: f64,
    /// Sizes of frames in place of an encoder, bytes, repeated.
    pub sizes: Option<Arc<Vec<u64>>>,
    /// Time from the capture of a frame to its last byte at the receiver.
    pub deadline: Span,
    /// What has a stream of its own.
    pub streams: Streams,
    /// A new group begins after one is cancelled.
    pub key_on_cancel: bool,
    /// Rate of the audio, which goes in datagrams.
    pub audio: Option<Rate>,
    /// How the rate follows the network.
    pub adapt: Adapt,
    /// Time in which the encoder follows a new rate.
    pub reaction: Span,
    /// The part of what the controller permits.
    pub share: f64,
}

impl App {
    /// The number of its connections, each of which is a flow.
    pub fn connections(&self) -> u32 {
        match self {
            App::Requests(requests) => requests.connections,
            App::Page(page) => page.connections,
            _ => 1,
        }
    }

    /// Whether its connections serve one application, and not each one of its own.
    pub fn shares_connections(&self) -> bool {
        matches!(self, App::Page(_))
    }

    /// The rate that a connection offers in the mean, bit/s, where `ideal` is the least time from a request to the last byte of
    /// so many bytes; `None` if the network alone decides, or if the path changes.
    pub(crate) fn offered_bps(&self, ideal: impl Fn(u64, u32) -> Option<Span>) -> Option<f64> {
        let bps = |rate: &Rate| rate.bps() as f64;
        match self {
            App::Rate(rate) => rate.schedule.iter().map(|(_, rate)| bps(rate)).reduce(f64::max),
            App::OnOff(OnOffApp { amount: Amount::Time(on, Some(rate)), off, .. }) => {
                Some(bps(rate) * on.seconds() / (*on + *off).seconds())
            }
            App::OnOff(OnOffApp { amount: Amount::Size(sizes), off, .. }) => {
                Some(8.0 * sizes.mean() / off.seconds())
            }
            App::Requests(requests) => {
                let mean = requests.response.mean();
                let loop_s = ideal(mean as u64, requests.common.request)? + requests.service + requests.think;
                Some(f64::from(requests.outstanding) * 8.0 * mean / loop_s.seconds())
            }
            App::Video(video) => video.ladder.last().map(bps),
            App::Frames(frames) if frames.sizes.is_some() => None,
            App::Frames(frames) => {
                let largest = if frames.adapt == Adapt::Off { None } else { Some(bps(&frames.bounds[1])) };
                let video =
                    largest.unwrap_or_else(|| frames.layers.iter().map(|layer| bps(&layer.rate)).sum());
                Some(video + frames.audio.as_ref().map_or(0.0, bps))
            }
            App::OnOff(_) | App::Page(_) => None,
        }
    }

    /// This application with those values of `other` that can change during a run.
    pub(super) fn with_changing_values_of(&self, other: &App) -> App {
        let mut with = self.clone();
        match (&mut with, other) {
            (App::Rate(rate), App::Rate(other)) if other.schedule.len() == 1 && rate.schedule.len() == 1 => {
                rate.schedule.clone_from(&other.schedule);
            }
            (App::Requests(requests), App::Requests(other)) => requests.think = other.think,
            (App::Frames(frames), App::Frames(other)) if frames.layers.len() == other.layers.len() => {
                frames.bounds[1] = other.bounds[1];
                if frames.adapt == Adapt::Off {
                    frames
                        .layers
                        .iter_mut()
                        .zip(&other.layers)
                        .for_each(|(layer, other)| layer.rate = other.rate);
                }
            }
            _ => {}
        }
        with
    }

    /// This application over QUIC: TCP's set-up of connections is not there, and messages have streams.
    #[cfg(feature = "quic")]
    pub(super) fn over_quic(&self) -> App {
        let mut over = self.clone();
        match &mut over {
            App::Rate(_) | App::OnOff(_) => {}
            App::Requests(requests) => requests.common.certificate = None,
            App::Page(page) => {
                (page.protocol, page.connections, page.common.certificate) = (Protocol::Http3, 1, None);
            }
            App::Video(video) => video.common.certificate = None,
            App::Frames(frames) => frames.streams = Streams::Group,
        }
        over
    }

    /// The most streams that are open at a time over QUIC.
    pub(crate) fn open_streams(&self) -> u32 {
        const FEW: u32 = 100;
        match self {
            App::Requests(requests) => (2 * requests.outstanding).max(FEW),
            App::Page(page) => (2 * page.page.objects().len() as u32).max(FEW),
            App::Rate(_) | App::OnOff(_) | App::Video(_) => FEW,
            App::Frames(frames) => 10 * frames.fps.max(FEW),
        }
    }

    /// Whether it draws random numbers.
    pub(crate) fn draws(&self) -> bool {
        let varies = |sizes: &SizeDistribution| !matches!(sizes, SizeDistribution::Fixed(_));
        match self {
            App::Rate(_) | App::Page(_) => false,
            App::OnOff(on_off) => {
                on_off.random || matches!(&on_off.amount, Amount::Size(sizes) if varies(sizes))
            }
            App::Requests(requests) => requests.random || varies(&requests.response),
            App::Video(video) => video.variation > 0.0,
            App::Frames(frames) => frames.deviation > 0.0,
        }
    }

    /// The name of its kind.
    pub fn name(&self) -> &'static str {
        match self {
            App::Rate(_) => "rate",
            App::OnOff(_) => "on_off",
            App::Requests(_) => "requests",
            App::Page(_) => "page",
            App::Video(_) => "video",
            App::Frames(_) => "frames",
        }
    }
}
