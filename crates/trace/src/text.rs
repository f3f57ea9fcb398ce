//! Samples in text: `ss -ti` repeated, the tracepoint `tcp:tcp_probe`, ping.

use crate::sniff::Kind;

/// The longest line that is read, bytes.
pub const MAX_LINE: usize = 1 << 16;
const MAX_SAMPLES: usize = 2_000_000;

/// A sample of a log; a value that the line lacks is NaN.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Seconds; NaN: the log has no times.
    pub time_s: f64,
    /// The number of the flow in [`Samples::flows`].
    pub flow: u32,
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Slow-start threshold, segments.
    pub ssthresh: f64,
    /// Segments in flight.
    pub in_flight: f64,
    /// Round-trip time, seconds; of `ss` and tcp_probe it is smoothed.
    pub rtt_s: f64,
    /// Lowest round-trip time, seconds.
    pub min_rtt_s: f64,
    /// Bit/s.
    pub delivery_bps: f64,
    /// Bit/s.
    pub pacing_bps: f64,
    /// Segments sent again so far.
    pub again: f64,
    /// Segments that count as lost.
    pub lost: f64,
    /// Bytes that the receiver permits.
    pub window_bytes: f64,
    /// 1: limited by the application, 0: not.
    pub app_limited: f64,
}

impl Default for Sample {
    fn default() -> Sample {
        let none = f64::NAN;
        Sample {
            time_s: none,
            flow: 0,
            cwnd: none,
            ssthresh: none,
            in_flight: none,
            rtt_s: none,
            min_rtt_s: none,
            delivery_bps: none,
            pacing_bps: none,
            again: none,
            lost: none,
            window_bytes: none,
            app_limited: none,
        }
    }
}

/// Samples of a log.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// In the order of the file.
    pub rows: Vec<Sample>,
    /// Names of the flows or series.
    pub flows: Vec<String>,
    /// Probes without an answer (ping).
    pub unanswered: u64,
    /// Lines that were not understood.
    pub skipped: u64,
    /// Rows beyond the limit.
    pub left_out: u64,
    /// The name of the congestion control, if the log says it.
    pub control: Option<String>,
}

impl Samples {
    fn flow(&mut self, name: &str) -> u32 {
        let name: String = name.chars().take(80).collect();
        if let Some(number) = self.flows.iter().position(|flow| *flow == name) {
            return number as u32;
        }
        if self.flows.len() < 4096 {
            self.flows.push(name);
        }
        self.flows.len() as u32 - 1
    }

    /// The file has ended: times count from the first sample.
    pub fn shift(&mut self) {
        let first = self
            .rows
            .iter()
            .map(|row| row.time_s)
            .filter(|time| time.is_finite())
            .fold(f64::INFINITY, f64::min);
        if first.is_finite() {
            self.rows.iter_mut().for_each(|row| row.time_s -= first);
        }
    }

    /// Appends a sample, or counts it.
    pub fn push(&mut self, sample: Sample) {
        if self.rows.len() < MAX_SAMPLES { self.rows.push(sample) } else { self.left_out += 1 }
    }
}

/// A log in lines that is being read.
pub struct Lines {
    kind: Kind,
    line: Vec<u8>,
    /// What was read.
    pub samples: Samples,
    time: f64,
    every: Option<f64>,
    blocks: u64,
    flow: Option<u32>,
    /// The first flow.
    heading: String,
    /// Blocks have headings.
    headings: bool,
}

impl Lines {
    /// `every`: seconds between the blocks of an `ss` log without times.
    pub fn new(kind: Kind, every: Option<f64>) -> Lines {
        Lines {
            kind,
            line: Vec::new(),
            samples: Samples::default(),
            time: f64::NAN,
            every,
            blocks: 0,
            flow: None,
            heading: String::new(),
            headings: false,
        }
    }

    /// Reads the next bytes.
    pub fn push(&mut self, chunk: &[u8]) {
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() < MAX_LINE {
                self.line.extend_from_slice(&part[..part.len().min(MAX_LINE)]);
            }
            if part.ends_with(b"\n") {
                self.take();
            }
        }
    }

    /// The log has ended.
    pub fn finish(&mut self) {
        self.take();
    }

    fn take(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        match self.kind {
            Kind::Ss => self.ss(text),
            Kind::TcpProbe => self.probe(text),
            _ => self.ping(text),
        }
    }

    fn ss(&mut self, line: &str) {
        let (stamp, rest) = leading_time(line);
        if let Some(time) = stamp {
            self.time = time;
            if rest.is_empty() {
                return;
            }
        }
        if rest.starts_with("State ") || rest.starts_with("Netid ") {
            self.headings = true;
            self.next_block();
            return;
        }
        if !rest.contains("cwnd:") {
            // The line with the addresses: state, queues, local and peer address.
            let words: Vec<&str> = rest.split_whitespace().filter(|word| word.contains(':')).collect();
            if words.len() >= 2 {
                let name = format!("{} -> {}", words[0], words[1]);
                if self.heading.is_empty() {
                    self.heading.clone_from(&name);
                }
                // Without headings a block begins with the first flow.
                if name == self.heading && !self.headings {
                    self.next_block();
                }
                self.flow = Some(self.samples.flow(&name));
            } else if stamp.is_none() {
                self.samples.skipped += 1;
            }
            return;
        }
        let flow = match self.flow {
            Some(flow) => flow,
            None => self.samples.flow("flow"),
        };
        let mut sample = Sample { flow, ..Sample::default() };
        sample.time_s = match self.every {
            _ if !self.time.is_nan() => self.time,
            Some(every) => self.blocks.saturating_sub(1) as f64 * every,
            None => f64::NAN,
        };
        let mut words = rest.split_whitespace().peekable();
        let mut unacked = f64::NAN;
        let (mut lost, mut retrans, mut sacked) = (0.0, 0.0, 0.0);
        while let Some(word) = words.next() {
            let (key, value) = word.split_once(':').unwrap_or((word, ""));
            let number = || value.parse::<f64>().ok().filter(|n| n.is_finite()).unwrap_or(f64::NAN);
            match key {
                "rtt" => {
                    sample.rtt_s =
                        value.split('/').next().and_then(|v| v.parse().ok()).unwrap_or(f64::NAN) / 1e3
                }
                "minrtt" => sample.min_rtt_s = number() / 1e3,
                "cwnd" => sample.cwnd = number(),
                "ssthresh" => sample.ssthresh = number(),
                "unacked" => unacked = number(),
                "lost" => lost = number(),
                "sacked" => sacked = number(),
                "retrans" => {
                    let (now, total) = value.split_once('/').unwrap_or(("0", value));
                    retrans = now.parse().unwrap_or(0.0);
                    sample.again = total.parse().unwrap_or(f64::NAN);
                }
                "snd_wnd" => sample.window_bytes = number(),
                "pacing_rate" => {
                    sample.pacing_bps = words.peek().and_then(|word| rate(word)).unwrap_or(f64::NAN)
                }
                "delivery_rate" => {
                    sample.delivery_bps = words.peek().and_then(|word| rate(word)).unwrap_or(f64::NAN)
                }
                "app_limited" => sample.app_limited = 1.0,
                "cubic" | "reno" | "bbr" | "bbr2" | "bbr3" | "dctcp" | "vegas" | "westwood" | "illinois" => {
                    self.samples.control = Some(key.to_owned());
                }
                _ => {}
            }
        }
        sample.lost = lost;
        // Of `unacked` those are not in flight that are SACKed or lost, unless they were sent again.
        sample.in_flight = unacked - sacked - lost + retrans;
        self.samples.push(sample);
    }

    fn next_block(&mut self) {
        self.blocks += 1;
    }

    /// `<task>-<pid> [cpu] flags time: tcp_probe: family=... src=... dest=... snd_cwnd=... srtt=...`
    fn probe(&mut self, line: &str) {
        let Some((before, fields)) = line.split_once("tcp_probe:") else {
            self.samples.skipped += 1;
            return;
        };
        let time = before.split_whitespace().last().map(|word| word.trim_end_matches(':'));
        let field = |name: &str| {
            fields.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
        };
        let number = |name: &str| field(name).and_then(integer).unwrap_or(f64::NAN);
        let name = format!("{} -> {}", field("src").unwrap_or("?"), field("dest").unwrap_or("?"));
        let threshold = number("ssthresh");
        let sample = Sample {
            time_s: time.and_then(|word| word.parse().ok()).unwrap_or(f64::NAN),
            flow: self.samples.flow(&name),
            cwnd: number("snd_cwnd"),
            // The largest integer stands for none.
            ssthresh: if threshold < 2_147_483_647.0 { threshold } else { f64::NAN },
            rtt_s: number("srtt") / 1e6,
            window_bytes: number("snd_wnd"),
            ..Sample::default()
        };
        self.samples.push(sample);
    }

    /// `[time] 64 bytes from HOST: icmp_seq=1 ttl=64 time=12.3 ms`
    fn ping(&mut self, line: &str) {
        let value = |name: &str| {
            let rest = &line[line.find(name)? + name.len()..];
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            rest[..end].parse::<f64>().ok()
        };
        let stamp =
            line.strip_prefix('[').and_then(|rest| rest.split_once(']')).and_then(|s| s.0.parse().ok());
        let sequence = value("icmp_seq=").or(value("seq="));
        match (sequence, value("time=")) {
            (Some(sequence), Some(ms)) => {
                let flow = self.samples.flow("ping");
                // Without a time the probes are a second apart, as ping sends them.
                let time_s = stamp.unwrap_or(sequence * self.every.unwrap_or(1.0));
                self.samples.push(Sample { time_s, flow, rtt_s: ms / 1e3, ..Sample::default() });
            }
            (Some(_), None) => self.samples.unanswered += 1,
            _ => {
                if let Some(sent) = value("packets transmitted, ")
                    && let Some(all) =
                        line.split_whitespace().next().and_then(|word| word.parse::<f64>().ok())
                {
                    self.samples.unanswered = (all - sent).max(0.0) as u64;
                }
            }
        }
    }
}

/// A time at the begin of a line of an `ss` log: `Time: SECONDS`, `ts` (`Nov 29 07:00:01` or `07:00:01.5`), or `date` of its own.
fn leading_time(line: &str) -> (Option<f64>, &str) {
    if let Some(rest) = line.strip_prefix("Time:") {
        let rest = rest.trim();
        let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        return (word.parse().ok(), after.trim());
    }
    for word in line.split_whitespace().take(4) {
        let at = word.as_ptr() as usize - line.as_ptr() as usize + word.len();
        let parts: Vec<&str> = word.split(':').collect();
        if let [hours, minutes, seconds] = parts[..]
            && let (Ok(h), Ok(m), Ok(s)) =
                (hours.parse::<u32>(), minutes.parse::<u32>(), seconds.parse::<f64>())
        {
            let rest = line[at..].trim();
            // Of the line of `date` the rest is the year.
            let is_date = rest.split_whitespace().all(|word| word.len() <= 5) && !rest.contains(':');
            return (Some(f64::from(h) * 3600.0 + f64::from(m) * 60.0 + s), if is_date { "" } else { rest });
        }
        if let Ok(seconds) = word.parse::<f64>()
            && seconds > 1e8
        {
            return (Some(seconds), line[at..].trim());
        }
    }
    (None, line)
}

/// A rate of `ss`, such as 12.5Mbps.
fn rate(word: &str) -> Option<f64> {
    let digits = word.trim_end_matches(char::is_alphabetic);
    let unit = match &word[digits.len()..] {
        "Gbps" => 1e9,
        "Mbps" => 1e6,
        "Kbps" | "kbps" => 1e3,
        "bps" => 1.0,
        _ => return None,
    };
    digits.parse::<f64>().ok().map(|number| number * unit)
}

/// An integer, also in hexadecimal.
fn integer(text: &str) -> Option<f64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|number| number as f64),
        None => text.parse().ok(),
    }
}
