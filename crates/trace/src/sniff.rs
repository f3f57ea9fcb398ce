//! What a file is, by its beginning.

use crate::json::{self, Value};

/// The beginning of a file by which it is recognised, bytes.
pub const RECOGNISED_BYTES: usize = 4096;

/// A kind of file of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A capture of packets: pcap.
    Pcap,
    /// A capture of packets: pcapng.
    Pcapng,
    /// A qlog.
    Qlog,
    /// A result of iperf3.
    Iperf3,
    /// A data file of Flent.
    Flent,
    /// A result of irtt.
    Irtt,
    /// The output of `ss -ti`, repeated.
    Ss,
    /// The text of the tracepoint `tcp:tcp_probe`.
    TcpProbe,
    /// The output of ping.
    Ping,
    /// A Parquet table.
    Parquet,
    /// An SQLite database.
    Sqlite,
    /// A ZIP archive.
    Zip,
    /// Data compressed with gzip.
    Gzip,
    /// Data compressed with zstd.
    Zstd,
    /// A script of packetdrill.
    Packetdrill,
    /// A Tcl script.
    Tcl,
    /// A graph in GML form.
    Gml,
    /// Orbital elements in OMM form.
    Omm,
    /// The log of a browser's network stack.
    Netlog,
    /// Requests that a browser recorded.
    Har,
    /// The text that tcpdump prints.
    TcpdumpText,
    /// A profile of perf.
    Perf,
    /// XML.
    Xml,
    /// A page.
    Html,
    /// A WebAssembly module.
    WebAssembly,
    /// A picture.
    Picture,
    /// JSON of a kind that is not known.
    Json,
}

impl Kind {
    /// What it is, with an article.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Pcap => "a packet capture (pcap)",
            Kind::Pcapng => "a packet capture (pcapng)",
            Kind::Qlog => "a qlog",
            Kind::Iperf3 => "a result of iperf3 (JSON)",
            Kind::Flent => "a data file of Flent (JSON)",
            Kind::Irtt => "a result of irtt (JSON)",
            Kind::Ss => "the output of ss",
            Kind::TcpProbe => "a trace of tcp:tcp_probe",
            Kind::Ping => "the output of ping",
            Kind::Parquet => "a Parquet table",
            Kind::Sqlite => "an SQLite database, such as the store of a study",
            Kind::Zip => "a ZIP archive",
            Kind::Gzip => "a file compressed with gzip",
            Kind::Zstd => "a file compressed with zstd",
            Kind::Packetdrill => "a script of packetdrill",
            Kind::Tcl => "a Tcl script of ns-2",
            Kind::Gml => "a graph in GML form",
            Kind::Omm => "orbital elements in OMM form",
            Kind::Netlog => "a netlog of Chromium (JSON)",
            Kind::Har => "a HAR file of a browser (JSON)",
            Kind::TcpdumpText => "the text that tcpdump prints",
            Kind::Perf => "a profile of perf",
            Kind::Xml => "XML",
            Kind::Html => "an HTML page",
            Kind::WebAssembly => "a WebAssembly module",
            Kind::Picture => "a picture",
            Kind::Json => "JSON",
        }
    }

    /// What can be done with it here.
    pub fn remedy(self) -> &'static str {
        match self {
            Kind::Pcap | Kind::Pcapng | Kind::Qlog => "ackclock read, view, why and model read it",
            Kind::Iperf3 | Kind::Flent | Kind::Irtt | Kind::Ss | Kind::TcpProbe | Kind::Ping => {
                "ackclock read and view show its series"
            }
            Kind::Parquet => "ackclock plot and view read those of ackclock run",
            Kind::Sqlite => "give its folder to ackclock results",
            Kind::Zip => "unpack it",
            Kind::Gzip | Kind::Zstd => {
                "unpack it; ackclock read reads captures and logs that are compressed with gzip"
            }
            Kind::Packetdrill => {
                "it is not run here; ackclock replay reads recorded exchanges (docs/replay.md)"
            }
            Kind::Tcl => "it is not run here; write the network as a scenario (docs/scenarios.md)",
            Kind::Gml => "write its edges as links of a scenario (docs/scenarios.md)",
            Kind::Omm => "it is not read here; use two-line elements (TLE)",
            Kind::Netlog => "it is not read here; a qlog of the server has the sender's state",
            Kind::Har => "it is not read here; it has times of requests and no packets",
            Kind::TcpdumpText => "it is not read here; record with tcpdump -w FILE",
            Kind::WebAssembly => "a controller: --control FILE.wasm",
            Kind::Perf | Kind::Xml | Kind::Html | Kind::Picture | Kind::Json => "it is not read here",
        }
    }

    /// Whether it is a recording that `ackclock read` reads.
    pub fn is_recording(self) -> bool {
        matches!(
            self,
            Kind::Pcap
                | Kind::Pcapng
                | Kind::Qlog
                | Kind::Iperf3
                | Kind::Flent
                | Kind::Irtt
                | Kind::Ss
                | Kind::TcpProbe
                | Kind::Ping
        )
    }

    /// Whether it has packets or the events of a sender.
    pub fn has_packets(self) -> bool {
        matches!(self, Kind::Pcap | Kind::Pcapng | Kind::Qlog)
    }
}

const MAGIC: [(&[u8], Kind); 18] = [
    (b"\xd4\xc3\xb2\xa1", Kind::Pcap),
    (b"\xa1\xb2\xc3\xd4", Kind::Pcap),
    (b"\x4d\x3c\xb2\xa1", Kind::Pcap),
    (b"\xa1\xb2\x3c\x4d", Kind::Pcap),
    (b"\x34\xcd\xb2\xa1", Kind::Pcap),
    (b"\xa1\xb2\xcd\x34", Kind::Pcap),
    (b"\x0a\x0d\x0d\x0a", Kind::Pcapng),
    (b"PAR1", Kind::Parquet),
    (b"SQLite format 3\0", Kind::Sqlite),
    (b"PK\x03\x04", Kind::Zip),
    (b"\x1f\x8b", Kind::Gzip),
    (b"\x28\xb5\x2f\xfd", Kind::Zstd),
    (b"\0asm", Kind::WebAssembly),
    (b"PERFILE2", Kind::Perf),
    (b"\x89PNG", Kind::Picture),
    (b"\xff\xd8\xff", Kind::Picture),
    (b"GIF8", Kind::Picture),
    (b"%PDF", Kind::Picture),
];

/// The kind of a file that begins with `content`; `None`: it is not recognised.
pub fn sniff(content: &[u8]) -> Option<Kind> {
    if let Some((_, kind)) = MAGIC.iter().find(|(magic, _)| content.starts_with(magic)) {
        return Some(*kind);
    }
    let text = String::from_utf8_lossy(&content[..content.len().min(RECOGNISED_BYTES)]);
    let text = text.trim_start_matches(['\u{feff}', '\u{1e}']).trim_start();
    if text.starts_with(['{', '[']) {
        return of_json(text);
    }
    of_text(text)
}

fn of_json(text: &str) -> Option<Kind> {
    let has = |words: &[&str]| words.iter().all(|word| text.contains(word));
    // A table of TOML begins with a name in brackets.
    let json = text.starts_with('{')
        || text.trim_start_matches(['[', ' ', '\n', '\r', '\t']).starts_with(['{', '"', '-', ']'])
        || text.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    if !json {
        return None;
    }
    let top = json::read(text.as_bytes()).0;
    let key = |name: &str| top.get(name) != &Value::Null;
    Some(match () {
        () if has(&["MEAN_MOTION"]) => Kind::Omm,
        () if has(&["\"qlog_"]) || has(&["\"file_schema\""]) || has(&["\"vantage_point\""]) => Kind::Qlog,
        () if has(&["\"logEventTypes\""]) || has(&["\"logCaptureMode\""]) => Kind::Netlog,
        () if has(&["\"creator\"", "\"log\""]) => Kind::Har,
        () if has(&["\"metadata\"", "\"BATCH_"])
            || has(&["\"raw_values\""])
            || key("x_values") && key("results") =>
        {
            Kind::Flent
        }
        () if key("round_trips") || key("config") && has(&["irtt"]) || has(&["\"round_trips\""]) => {
            Kind::Irtt
        }
        () if has(&["\"intervals\""]) || has(&["iperf"]) => Kind::Iperf3,
        () => Kind::Json,
    })
}

fn of_text(text: &str) -> Option<Kind> {
    let has = |words: &[&str]| words.iter().all(|word| text.contains(word));
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    match () {
        () if text.starts_with("<?xml") || text.starts_with("<ndm") => {
            Some(if has(&["MEAN_MOTION"]) { Kind::Omm } else { Kind::Xml })
        }
        () if text.starts_with("OBJECT_NAME,") && has(&["MEAN_MOTION"]) => Some(Kind::Omm),
        () if has(&["socket(...", "= 3"])
            || lines().any(|line| line.starts_with("+0 >") || line.starts_with("+0 <")) =>
        {
            Some(Kind::Packetdrill)
        }
        // A movement, which is read, can begin like a script.
        () if !text.contains("setdest")
            && lines().any(|line| line.starts_with("set ns ") || line.ends_with("[new Simulator]")) =>
        {
            Some(Kind::Tcl)
        }
        () if lines().any(|line| line == "graph [") => Some(Kind::Gml),
        () if text.starts_with("PING ") || text.starts_with("[") && has(&["icmp_seq"]) => Some(Kind::Ping),
        () if has(&["icmp_seq="]) && has(&["time="]) => Some(Kind::Ping),
        () if has(&["tcp_probe:"]) || has(&["snd_cwnd=", "srtt="]) => Some(Kind::TcpProbe),
        () if has(&["cwnd:"]) && (has(&["rtt:"]) || has(&["ESTAB"])) => Some(Kind::Ss),
        () if text.starts_with("<!DOCTYPE html") || text.starts_with("<html") => Some(Kind::Html),
        () if lines().take(3).any(|line| line.contains(" IP ") && line.contains("Flags [")) => {
            Some(Kind::TcpdumpText)
        }
        () => None,
    }
}
