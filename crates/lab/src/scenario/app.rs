//! Reads `app` of a flow: what the application does.

use super::app_model::*;
use super::document::TomlValue;
use super::model::FlowKind;
use super::page::{Page, PageObject};
use super::reading::Result;
use super::sizes::{SizeDistribution, SizeTable};
use super::table::TableReader;
use params::Form::{
    self, AtLeast, Bytes, File, Integer, List, Number, Quantity, Range, Row, Switch, Tables, Word,
};
use params::{Key, Model, Table, Unit, Value, Values, key, model};
use std::sync::Arc;
use units::{Rate, Span};

// ---- keys ---------------------------------------------------------------------------------------------------

const RATE_FORM: Form = Form::rate("3Mbps");
const RATE_STEP: Form = Row(
    &[Quantity(Unit::Time, "30s"), Range(Unit::Rate, "1Mbps", "0bps", "8000Gbps")],
    "[\"30s\", \"2Mbps\"]",
);
const OPENS: Key = key(
    "opens",
    Word(&["to", "from"]),
    "\"to\"",
    "end that opens the connection: `\"to\"`, the client, or `\"from\"`, the sender of the data",
);
const REQUEST: Key = key(
    "request",
    Bytes(1, 60_000),
    "\"300B\"",
    "payload of a request, which is one packet without congestion control",
);
const TIMEOUT: Key = key(
    "request_timeout",
    Range(Unit::Time, "1s", "1ms", "1000s"),
    "\"1s\"",
    "a request that has not reached the server is repeated then, after twice the time again, at most 6 times",
);
const CERTIFICATE: Key = key(
    "certificate_size",
    Bytes(1, 1_000_000),
    "\"3000B\"",
    "bytes of the first message of a connection with `tls`",
);
const TLS: Key = key(
    "tls",
    Switch,
    "false",
    "TCP: a request of 300 bytes and a message of `certificate_size` before the first request; QUIC has its own handshake",
);
const TLS_ON: Key = key(
    "tls",
    Switch,
    "true",
    "TCP: a request of 300 bytes and a message of `certificate_size` before the first request; QUIC has its own handshake",
);
const LATE: Key = key(
    "late",
    Word(&["keep", "drop", "cancel", "stop"]),
    "\"keep\"",
    "what happens to a frame that cannot be in time: `keep`: it is sent; `drop`: if none of it has left at its capture, plus the deadline, less the delay of the path, it and the rest of its group are not written; `cancel` (QUIC): also if parts have left: its stream is reset; `stop` (QUIC): the receiver asks for the reset when it is late",
);
const GROUP: Key = key("group", Integer(0, 100_000), "0", "frames of a group; 0: all frames are alike");
const KEY_RATIO: Key = key(
    "key_ratio",
    Number(1.0, 1000.0),
    "5",
    "how many times as large as the others the first frame of a group is; the mean does not change",
);

/// The kinds of applications.
pub(crate) static APPLICATIONS: [Model; 6] = [
    model!(
        "app",
        "rate",
        "writes at a rate: a sensor, a constant stream",
        "",
        [&[
            key(
                "rate",
                Range(Unit::Rate, "1Mbps", "0bps", "8000Gbps"),
                "needed without `schedule`",
                "rate of the payload"
            ),
            key(
                "schedule",
                List(&RATE_STEP, "[[\"0s\", \"1Mbps\"], [\"30s\", \"2Mbps\"]]"),
                "none",
                "times since the start, and the rates from then on"
            ),
            key("every", Range(Unit::Time, "10ms", "1us", "10s"), "\"10ms\"", "time from write to write"),
            key(
                "late",
                Word(&["keep", "drop"]),
                "\"keep\"",
                "what happens to writes that wait: they are sent, or the oldest are dropped when more than `most` bytes wait"
            ),
            key(
                "most",
                AtLeast(Unit::Size, "100kB", "1B"),
                "needed with `late = \"drop\"`",
                "the most bytes that wait"
            ),
        ]]
    ),
    model!(
        "app",
        "on_off",
        "writes in periods with pauses",
        "RFC 8868 section 5.1 (short TCP flows)",
        [&[
            key("on", AtLeast(Unit::Time, "2s", "1us"), "needed without `size`", "length of a period"),
            key("off", Quantity(Unit::Time, "10s"), "", "time between periods"),
            key("rate", RATE_FORM, "as fast as the transport", "rate of the payload in a period of `on`"),
            key("size", Form::Sizes, "none", "bytes of a period, in place of `on`"),
            key("random", Switch, "false", "the times are exponential with these means"),
            key("start_on", Switch, "true", "it starts with a period"),
        ]]
    ),
    model!(
        "app",
        "requests",
        "a client that asks for responses, in closed loops",
        "",
        [&[
            key("response", Form::Sizes, "", "sizes of the responses"),
            REQUEST,
            key(
                "think",
                Quantity(Unit::Time, "200ms"),
                "\"0s\"",
                "time from the end of a response to the next request"
            ),
            key("random", Switch, "false", "the time is exponential with this mean"),
            key(
                "service",
                Quantity(Unit::Time, "30ms"),
                "\"0s\"",
                "time from the arrival of a request to its response at the server"
            ),
            key("outstanding", Integer(1, 1000), "1", "requests under way at once"),
            key(
                "connections",
                Integer(1, 10_000),
                "1",
                "connections, each with loops of its own: flows `NAME/0`, `NAME/1`, ..."
            ),
            key("requests", Integer(1, 1 << 40), "no end", "how many requests of each connection"),
            TLS,
            CERTIFICATE,
            TIMEOUT,
            OPENS,
        ]]
    ),
    model!(
        "app",
        "page",
        "a client that loads pages of objects",
        "",
        [&[
            key(
                "page",
                Word(&["small", "median", "heavy"]),
                "none",
                "a page that is built in: 12 objects with 250 kB, 71 with 2,652 kB, 150 with 8 MB"
            ),
            key(
                "objects",
                List(&Form::Any("[\"30kB\", 0]"), "[[\"30kB\"], [\"20kB\", 0]]"),
                "none",
                "size of each object, and the number of the object from which it is known (from 0); the first has none"
            ),
            key("har", File, "none", "a page as a browser has recorded it (HTTP archive)"),
            key(
                "protocol",
                Word(&["http1", "http2", "http3"]),
                "`http2` over TCP, `http3` over QUIC",
                "how objects are transported"
            ),
            key(
                "connections",
                Integer(1, 100),
                "6",
                "most connections of `http1`: flows `NAME/0`, `NAME/1`, ..."
            ),
            key(
                "parse",
                Quantity(Unit::Time, "20ms"),
                "\"20ms\"",
                "time from the end of an object to the requests for those that it names"
            ),
            key(
                "repeat",
                Quantity(Unit::Time, "5s"),
                "one page",
                "time from the end of a page to the next one"
            ),
            REQUEST,
            TLS_ON,
            CERTIFICATE,
            TIMEOUT,
            OPENS,
        ]]
    ),
    model!(
        "app",
        "video",
        "a player of a video with adaptive streaming",
        "Spiteri, Sitaraman, Sparacio 2018 (dynamic)",
        [&[
            key(
                "ladder",
                List(&RATE_FORM, "[\"300kbps\", \"750kbps\", \"1.2Mbps\"]"),
                "",
                "rates that the video is there in, rising"
            ),
            key("chunk", Range(Unit::Time, "4s", "100ms", "60s"), "\"4s\"", "playing time of a chunk"),
            key("length", AtLeast(Unit::Time, "600s", "1s"), "\"600s\"", "playing time of the video"),
            key(
                "buffer",
                AtLeast(Unit::Time, "25s", "1s"),
                "\"25s\"",
                "most playing time in the buffer, at least two chunks"
            ),
            key(
                "start",
                Quantity(Unit::Time, "4s"),
                "a chunk",
                "playing time in the buffer at which playing begins"
            ),
            key(
                "resume",
                Quantity(Unit::Time, "4s"),
                "a chunk",
                "playing time in the buffer at which playing begins again after a stall"
            ),
            key(
                "algorithm",
                Word(&["dynamic", "throughput", "bola", "bba", "mpc", "fixed"]),
                "\"dynamic\"",
                "how the rate of a chunk is chosen"
            ),
            key("rate", RATE_FORM, "needed with `fixed`", "the rate of `fixed`, one of the ladder"),
            key("variation", Number(0.0, 2.0), "0", "sigma of the log-normal sizes of chunks"),
            key(
                "sizes",
                File,
                "none",
                "sizes of the chunks, bytes: a row for each chunk, a column for each rate (CSV)"
            ),
            key(
                "guard",
                Switch,
                "true",
                "no chunk is chosen that the buffer cannot pay for (`throughput`, `dynamic`)"
            ),
            REQUEST,
            TLS,
            CERTIFICATE,
            TIMEOUT,
            OPENS,
        ]]
    ),
    model!(
        "app",
        "frames",
        "media frames with deadlines",
        "RFC 8593 (encoder)",
        [&[
            key(
                "rate",
                RATE_FORM,
                "needed without `layers` and `frames`",
                "rate of the video, at the start if it adapts"
            ),
            key("min", RATE_FORM, "\"150kbps\"", "least rate, with `adapt`"),
            key("max", RATE_FORM, "\"3Mbps\"", "largest rate, with `adapt`"),
            key("fps", Integer(1, 240), "30", "frames a second"),
            GROUP,
            KEY_RATIO,
            key(
                "size_deviation",
                Number(0.0, 1.0),
                "0",
                "standard deviation of the sizes, as a part of the mean (Laplace)"
            ),
            key("frames", File, "none", "sizes of frames, bytes, one a line, repeated"),
            key(
                "deadline",
                AtLeast(Unit::Time, "150ms", "1ms"),
                "\"150ms\"",
                "time from the capture of a frame to its last byte at the receiver"
            ),
            key(
                "streams",
                Word(&["one", "group", "frame"]),
                "`group` over QUIC, `one` over TCP",
                "what has a stream of its own"
            ),
            LATE,
            key("key_on_cancel", Switch, "false", "a new group begins after one was dropped or cancelled"),
            key(
                "audio",
                Range(Unit::Rate, "24kbps", "2kbps", "400kbps"),
                "none",
                "rate of the audio: a QUIC datagram each 20 ms"
            ),
            key("layers", Tables("app_layer"), "none", "several video streams in place of one"),
            key(
                "adapt",
                Word(&["off", "controller", "backlog"]),
                "\"off\"",
                "how the rate follows the network: by what the congestion controller permits, or by what waits unsent"
            ),
            key(
                "reaction",
                Quantity(Unit::Time, "200ms"),
                "\"200ms\"",
                "time in which the encoder follows a new rate"
            ),
            key(
                "share",
                Number(0.1, 1.0),
                "0.85",
                "part of what the controller permits, with `adapt = \"controller\"`"
            ),
        ]]
    ),
];

/// A video stream of a call.
pub(super) static LAYER: Table = Table::new(
    "app_layer",
    "`layers` of `app = { kind = \"frames\", ... }`",
    &[&[
        key("rate", RATE_FORM, "", "rate of the video"),
        GROUP,
        KEY_RATIO,
        key("priority", Integer(0, 255), "0", "streams with a higher one are sent first"),
        LATE,
    ]],
);

// ---- reading ------------------------------------------------------------------------------------------------

/// Reads `app` of a flow of this transport, if it has one.
pub(super) fn read_app(flow: &TableReader<'_>, transport: Option<&FlowKind>) -> Result<Option<App>> {
    let Some(item) = flow.get("app") else { return Ok(None) };
    if let TomlValue::Text(_) | TomlValue::Integer(_) | TomlValue::Float(_) = item.value {
        let rate: Rate = flow.read(&PLAIN_RATE)?;
        return Ok(Some(App::Rate(RateApp {
            schedule: vec![(Span::ZERO, rate)],
            every: Span::from_ms(10),
            most: None,
        })));
    }
    let Some(table) = flow.table("app")? else { return Ok(None) };
    let model = table.kind("application", APPLICATIONS.iter(), |model| model)?;
    refuse_keys_of_other_kinds(&table, model)?;
    let values = table.values(&model.table, 0)?;
    let reader = AppReader { table: &table, values: &values, transport };
    let app = match model.table.name {
        "rate" => reader.rate().map(App::Rate),
        "on_off" => reader.on_off().map(App::OnOff),
        "requests" => reader.requests().map(App::Requests),
        "page" => reader.page().map(App::Page),
        "video" => reader.video().map(App::Video),
        _ => reader.frames().map(App::Frames),
    };
    app.map(Some)
}

/// `app` as a rate.
const PLAIN_RATE: Key = key("app", RATE_FORM, "none", "rate of the application");

/// Reports keys that only another kind of application has.
fn refuse_keys_of_other_kinds(table: &TableReader<'_>, model: &'static Model) -> Result<()> {
    let mut fits = Ok(());
    for name in table.keys().filter(|name| *name != "kind" && model.table.key(name).is_none()) {
        if let Some(other) = APPLICATIONS.iter().find(|other| other.table.key(name).is_some()) {
            fits = Err(table.error(name, format!("is for kind = \"{}\"", other.table.name)));
        }
    }
    fits
}

struct AppReader<'a, 'b> {
    table: &'a TableReader<'b>,
    values: &'a Values,
    transport: Option<&'a FlowKind>,
}

impl AppReader<'_, '_> {
    fn is_quic(&self) -> bool {
        matches!(self.transport, Some(FlowKind::Quic(_)))
    }

    fn common(&self) -> RequestOptions {
        let tls = self.values.read::<bool>("tls") && !self.is_quic();
        RequestOptions {
            request: self.values.read("request"),
            timeout: self.values.read("request_timeout"),
            client_opens: self.values.read::<&str>("opens") == "to",
            certificate: tls.then(|| self.values.read("certificate_size")),
        }
    }

    fn sizes(&self, name: &'static str, key: &'static Key) -> Result<Option<SizeDistribution>> {
        Ok(match self.table.value(key)? {
            None => None,
            Some(Value::Integer(bytes)) => Some(SizeDistribution::Fixed(bytes as f64)),
            Some(Value::List(pair)) => match pair[..] {
                [Value::Integer(smallest), Value::Integer(largest)] => {
                    Some(SizeDistribution::Uniform(smallest, largest))
                }
                _ => None,
            },
            Some(_) => SizeTable::read(self.table, name)?.map(SizeDistribution::Table),
        })
    }

    fn rate(&self) -> Result<RateApp> {
        let (table, values) = (self.table, self.values);
        let rate: Option<Rate> = values.optional("rate");
        let steps: Vec<(Span, Rate)> = values.optional("schedule").unwrap_or_default();
        if let Some(before) = steps.windows(2).position(|pair| pair[0].0 >= pair[1].0) {
            return Err(table.element_error("schedule", before + 1, "steps must come in the order of time"));
        }
        let plain = rate.filter(|_| steps.first().is_none_or(|first| first.0 > Span::ZERO));
        let schedule: Vec<_> = plain.map(|rate| (Span::ZERO, rate)).into_iter().chain(steps).collect();
        let every: Span = values.read("every");
        let Some(most) = schedule.iter().map(|(_, rate)| rate.bps()).max() else {
            return Err(table.missing("rate", "write a rate such as \"1Mbps\", or a schedule"));
        };
        if most == 0 {
            let key = if table.has("rate") { "rate" } else { "schedule" };
            return Err(table.error(key, "must be more than zero"));
        }
        if every > Span::from_ms(1000) && (most as f64) * every.seconds() < 8.0 {
            return Err(table
                .error("every", "is less than a byte at this rate; write a longer time or a larger rate"));
        }
        let drops = values.read::<&str>("late") == "drop";
        let most: Option<u64> = values.optional("most");
        if drops && most.is_none() {
            return Err(table.missing("most", "write the most bytes that wait, such as most = \"100kB\""));
        }
        if !drops && most.is_some() {
            return Err(table.error("most", "has no effect with late = \"keep\"; leave it out"));
        }
        Ok(RateApp { schedule, every, most })
    }

    fn on_off(&self) -> Result<OnOffApp> {
        static SIZE: Key = key("size", Form::Sizes, "none", "");
        let (table, values) = (self.table, self.values);
        let size = self.sizes("size", &SIZE)?;
        let on: Option<Span> = values.optional("on");
        let amount = match (on, size) {
            (Some(_), Some(_)) => return Err(table.error("size", "a period has either on or size")),
            (None, None) => {
                return Err(
                    table.missing("on", "write the length of a period, such as on = \"2s\", or its size")
                );
            }
            (Some(on), None) => Amount::Time(on, values.optional("rate")),
            (None, Some(_)) if table.has("rate") => {
                return Err(table.error("rate", "is for periods with on; leave it out with size"));
            }
            (None, Some(size)) => Amount::Size(size),
        };
        let off: Span = values.read("off");
        if off == Span::ZERO {
            return Err(table.error("off", "must be more than zero"));
        }
        Ok(OnOffApp { amount, off, random: values.read("random"), start_on: values.read("start_on") })
    }

    fn requests(&self) -> Result<RequestsApp> {
        static RESPONSE: Key = key("response", Form::Sizes, "", "");
        let values = self.values;
        let response = self.sizes("response", &RESPONSE)?;
        let think: Span = values.read("think");
        let random: bool = values.read("random");
        if random && think == Span::ZERO {
            return Err(self
                .table
                .error("random", "has no effect without think; leave it out, or write a time"));
        }
        Ok(RequestsApp {
            response: self.table.need("response", response, "such as response = \"20kB\"")?,
            think,
            random,
            service: values.read("service"),
            outstanding: values.read("outstanding"),
            requests: values.optional("requests"),
            connections: values.read("connections"),
            common: self.common(),
        })
    }

    fn page(&self) -> Result<PageApp> {
        let (table, values) = (self.table, self.values);
        let sources: Vec<&str> =
            ["page", "objects", "har"].into_iter().filter(|key| table.has(key)).collect();
        let parse: Span = values.read("parse");
        let page = match sources[..] {
            ["page"] => Page::builtin(values.read("page"))
                .map_err(|message| table.error("page", message))?
                .with_parse(parse),
            ["objects"] => read_objects(table, parse)?,
            ["har"] => {
                if table.has("parse") {
                    return Err(
                        table.error("parse", "has no effect with har, which has the times; leave it out")
                    );
                }
                let Some((path, text)) = table.file_of("har", &[trace::Kind::Har, trace::Kind::Json])? else {
                    return Err(table.missing("har", ""));
                };
                Page::from_har(&text)
                    .map_err(|message| table.error("har", format!("{}: {message}", path.display())))?
            }
            [] => return Err(table.missing("page", "write page = \"median\", or objects, or har")),
            [_, other, ..] => return Err(table.error(other, "a page has one of page, objects and har")),
            [_] => unreachable!("one of three keys"),
        };
        let protocol = match values.optional::<&str>("protocol") {
            Some("http1") => Protocol::Http1,
            Some("http3") => Protocol::Http3,
            Some(_) => Protocol::Http2,
            None if self.is_quic() => Protocol::Http3,
            None => Protocol::Http2,
        };
        match (protocol, self.is_quic()) {
            (Protocol::Http3, false) => {
                return Err(table.error("protocol", "http3 needs quic; write quic = {} in the flow"));
            }
            (Protocol::Http1 | Protocol::Http2, true) => {
                return Err(table.error("protocol", "is for tcp; over quic it is \"http3\""));
            }
            _ => {}
        }
        if protocol != Protocol::Http1 && table.has("connections") {
            return Err(table.error("connections", "is for protocol = \"http1\"; the others have one"));
        }
        Ok(PageApp {
            page: Arc::new(page),
            protocol,
            connections: if protocol == Protocol::Http1 { values.read("connections") } else { 1 },
            repeat: values.optional("repeat"),
            common: self.common(),
        })
    }

    fn video(&self) -> Result<VideoApp> {
        let (table, values) = (self.table, self.values);
        let ladder: Vec<Rate> = values.read("ladder");
        if ladder.is_empty() || ladder.len() > 30 {
            return Err(table.error("ladder", "must have 1 to 30 rates"));
        }
        if let Some(before) = ladder.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(table.element_error("ladder", before + 1, "must be more than the rate before it"));
        }
        let (chunk, buffer): (Span, Span) = (values.read("chunk"), values.read("buffer"));
        if buffer < chunk + chunk {
            return Err(table.error("buffer", format!("must be at least two chunks, {}", chunk + chunk)));
        }
        let length: Span = values.read("length");
        if length < chunk {
            return Err(table.error("length", format!("must be at least one chunk, {chunk}")));
        }
        let mut thresholds = [chunk; 2];
        for (threshold, key) in thresholds.iter_mut().zip(["start", "resume"]) {
            *threshold = values.optional(key).unwrap_or(chunk);
            if *threshold > buffer {
                return Err(table.error(key, format!("must be at most the buffer, {buffer}")));
            }
        }
        let algorithm = match values.read::<&str>("algorithm") {
            "throughput" => AbrKind::Throughput,
            "bola" => AbrKind::Bola,
            "bba" => AbrKind::Bba,
            "mpc" => AbrKind::Mpc,
            "fixed" => AbrKind::Fixed,
            _ => AbrKind::Dynamic,
        };
        let rate: Option<Rate> = values.optional("rate");
        let fixed = match (algorithm, rate) {
            (AbrKind::Fixed, None) => {
                return Err(table.missing("rate", "write one of the rates of the ladder"));
            }
            (AbrKind::Fixed, Some(rate)) => ladder
                .iter()
                .position(|known| *known == rate)
                .ok_or_else(|| table.error("rate", format!("{rate} is not in the ladder")))?,
            (_, Some(_)) => return Err(table.error("rate", "is for algorithm = \"fixed\"; leave it out")),
            (_, None) => 0,
        };
        let variation: f64 = values.read("variation");
        let sizes = match table.has("sizes") {
            true if variation > 0.0 => {
                return Err(table.error("variation", "has no effect with sizes; leave it out"));
            }
            true => {
                let Some((path, text)) = table.file("sizes")? else { return Err(table.missing("sizes", "")) };
                let chunks = length.ps().div_ceil(chunk.ps()) as usize;
                let rows = chunk_sizes(&text, ladder.len(), chunks);
                Some(Arc::new(rows.map_err(|(line, message)| {
                    table.error("sizes", format!("{}:{line}: {message}", path.display()))
                })?))
            }
            false => None,
        };
        Ok(VideoApp {
            ladder,
            chunk,
            length,
            buffer,
            thresholds,
            algorithm,
            fixed,
            variation,
            sizes,
            guard: values.read("guard"),
            common: self.common(),
        })
    }

    fn layer(&self, reader: &TableReader<'_>, values: &Values, rate: Rate) -> Result<Layer> {
        let late = match values.read::<&str>("late") {
            "drop" => Late::Drop,
            "cancel" => Late::Cancel,
            "stop" => Late::Stop,
            _ => Late::Keep,
        };
        if matches!(late, Late::Cancel | Late::Stop) && !self.is_quic() {
            return Err(
                reader.error("late", "cancel and stop need quic; over tcp it is \"keep\" or \"drop\"")
            );
        }
        Ok(Layer {
            rate,
            group: values.read("group"),
            key_ratio: values.read("key_ratio"),
            priority: 0,
            late,
        })
    }

    fn frames(&self) -> Result<FramesApp> {
        let (table, values) = (self.table, self.values);
        let adapt = match values.read::<&str>("adapt") {
            "controller" => Adapt::Controller,
            "backlog" => Adapt::Backlog,
            _ => Adapt::Off,
        };
        if adapt == Adapt::Off {
            table.refuse(&["min", "max", "reaction"], "adapt = \"off\"")?;
        }
        if adapt != Adapt::Controller {
            table.refuse(&["share"], "another adapt than \"controller\"")?;
        }
        let layers = self.layers(adapt)?;
        let sizes = match table.file("frames")? {
            None => None,
            Some((path, text)) => {
                let sizes = frame_sizes(&text);
                Some(Arc::new(sizes.map_err(|(line, message)| {
                    table.error("frames", format!("{}:{line}: {message}", path.display()))
                })?))
            }
        };
        let streams = match values.optional::<&str>("streams") {
            Some("one") => Streams::One,
            Some("frame") => Streams::Frame,
            Some(_) => Streams::Group,
            None if self.is_quic() => Streams::Group,
            None => Streams::One,
        };
        if streams != Streams::One && !self.is_quic() {
            return Err(table.error("streams", "needs quic; a tcp flow has one stream"));
        }
        let resets = layers.iter().any(|layer| matches!(layer.late, Late::Cancel | Late::Stop));
        if streams == Streams::One && resets {
            return Err(table.error(
                "streams",
                "cancel and stop reset a stream: it must be of a \"group\" or a \"frame\"",
            ));
        }
        let audio: Option<Rate> = values.optional("audio");
        if audio.is_some() && !self.is_quic() {
            return Err(table.error("audio", "needs quic; write a udp flow beside it"));
        }
        let bounds: [Rate; 2] = [values.read("min"), values.read("max")];
        if adapt != Adapt::Off && !(bounds[0] <= layers[0].rate && layers[0].rate <= bounds[1]) {
            return Err(
                table.error("rate", format!("must be from min, {}, to max, {}", bounds[0], bounds[1]))
            );
        }
        Ok(FramesApp {
            layers,
            bounds,
            fps: values.read("fps"),
            deviation: values.read("size_deviation"),
            sizes,
            deadline: values.read("deadline"),
            streams,
            key_on_cancel: values.read("key_on_cancel"),
            audio,
            adapt,
            reaction: values.read("reaction"),
            share: values.read("share"),
        })
    }

    fn layers(&self, adapt: Adapt) -> Result<Vec<Layer>> {
        let (table, values) = (self.table, self.values);
        if !table.has("layers") {
            let rate: Option<Rate> = values.optional("rate");
            if table.has("frames") {
                table.refuse(
                    &["rate", "group", "key_ratio", "size_deviation"],
                    "frames, which has the sizes",
                )?;
                if adapt != Adapt::Off {
                    return Err(
                        table.error("adapt", "has no effect with frames, which has the sizes; leave it out")
                    );
                }
            }
            let rate = if table.has("frames") {
                Rate::from_bps(1)
            } else {
                table.need("rate", rate, "such as rate = \"1.5Mbps\"")?
            };
            return Ok(vec![self.layer(table, values, rate)?]);
        }
        table.refuse(&["rate", "group", "key_ratio", "late", "frames"], "layers, which has its own")?;
        if adapt != Adapt::Off {
            return Err(table.error("adapt", "is for one video stream; leave it out with layers"));
        }
        let mut layers = Vec::new();
        for (index, item) in table.list("layers")?.iter().enumerate() {
            let reader =
                TableReader::new(table.reading(), format!("{}[{index}]", table.path("layers")), item)?;
            let values = reader.values(&LAYER, 0)?;
            let layer = self.layer(&reader, &values, values.read("rate"))?;
            layers.push(Layer { priority: values.read("priority"), ..layer });
        }
        if layers.is_empty() || layers.len() > 8 {
            return Err(table.error("layers", "must have 1 to 8 video streams"));
        }
        Ok(layers)
    }
}

/// The objects that are written in a scenario.
fn read_objects(table: &TableReader<'_>, parse: Span) -> Result<Page> {
    static SIZE: Form = Bytes(1, 1_000_000_000);
    let mut objects = Vec::new();
    for (index, item) in table.list("objects")?.iter().enumerate() {
        let wrong =
            |message: &str| table.element_error("objects", index, format!("object {index}: {message}"));
        let form = "write its size and the number of its parent, such as [\"20kB\", 0]";
        let TomlValue::List(row) = &item.value else { return Err(wrong(form)) };
        let (size, parent) = match &row[..] {
            [size] => (size, None),
            [size, parent] => match parent.value {
                TomlValue::Integer(parent) if parent >= 0 && (parent as usize) < index => {
                    (size, Some(parent as u32))
                }
                _ => return Err(wrong("its parent must be the number of an object before it")),
            },
            _ => return Err(wrong(form)),
        };
        match SIZE.value(&super::table::raw(&size.value)) {
            Ok(Value::Integer(bytes)) => objects.push(PageObject {
                bytes,
                parent,
                parse: if parent.is_some() { parse } else { Span::ZERO },
            }),
            Ok(_) => return Err(wrong(form)),
            Err(error) => return Err(wrong(&error.message)),
        }
    }
    Page::new(objects).map_err(|message| table.error("objects", message))
}

/// The largest file of sizes, lines.
const MOST_LINES: usize = 1_000_000;

/// The numbers of the lines of a file: its line (from 1) and its fields.
fn numbers(text: &str) -> impl Iterator<Item = (usize, std::result::Result<Vec<u64>, String>)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).map(|(number, line)| {
        let field = |field: &str| match field.trim().parse::<u64>() {
            Ok(bytes) if (1..=1_000_000_000_000).contains(&bytes) => Ok(bytes),
            _ => Err(format!("\"{}\" is not a number of bytes", field.trim())),
        };
        (number, line.split(',').map(field).collect())
    })
}

/// The sizes of chunks in a file: a row for each chunk, a column for each of `rates` rates.
fn chunk_sizes(
    text: &str,
    rates: usize,
    chunks: usize,
) -> std::result::Result<Vec<Vec<u64>>, (usize, String)> {
    let mut rows = Vec::new();
    for (line, row) in numbers(text).take(MOST_LINES) {
        let row = row.map_err(|message| (line, message))?;
        if row.len() != rates {
            return Err((line, format!("has {} sizes; the ladder has {rates} rates", row.len())));
        }
        rows.push(row);
    }
    if rows.len() < chunks {
        return Err((rows.len(), format!("the video has {chunks} chunks; the file has {}", rows.len())));
    }
    Ok(rows)
}

/// The sizes of frames in a file, one a line.
fn frame_sizes(text: &str) -> std::result::Result<Vec<u64>, (usize, String)> {
    let mut sizes = Vec::new();
    for (line, row) in numbers(text).take(MOST_LINES) {
        match row.map_err(|message| (line, message))?[..] {
            [bytes] => sizes.push(bytes),
            _ => return Err((line, "must be one size, in bytes".into())),
        }
    }
    if sizes.is_empty() {
        return Err((1, "has no size; write one a line, in bytes".into()));
    }
    Ok(sizes)
}
