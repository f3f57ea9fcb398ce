//! Stacks in any language: a program that answers over its standard input and output (docs/stacks.md has the frames).

use super::case::{Case, StackEnds};
use crate::network::{Datagram, Endpoint, Sample, StackError, Transmitter};
use net::Ecn;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use units::{Span, Time};

/// Version of the protocol.
const PROTOCOL: u32 = 1;
/// A program that does not answer for so long has failed.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of the longest body of a frame.
const LONGEST: usize = 64 << 20;
/// Lines of standard error that a failure shows.
const LINES: usize = 20;
/// Bytes of a line of standard error that are kept.
const LINE: usize = 400;

/// A program that plays one end of a flow or both.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program and its arguments; no shell reads them.
    pub command: Vec<String>,
    /// The folder in which it runs.
    pub folder: Option<PathBuf>,
}

impl Program {
    /// A command with its arguments.
    pub fn new(command: impl IntoIterator<Item = impl Into<String>>) -> Program {
        Program { command: command.into_iter().map(Into::into).collect(), folder: None }
    }

    /// One process that plays both ends of a case's flow.
    pub fn both(&self, case: &Case) -> Result<StackEnds, StackError> {
        Ok(StackEnds::Both(Box::new(PipeEndpoint::start(self, "both", case)?)))
    }

    /// A process of this program for the source, and one of `destination`.
    pub fn each(&self, destination: &Program, case: &Case) -> Result<StackEnds, StackError> {
        let source = PipeEndpoint::start(self, "source", case)?;
        let destination = PipeEndpoint::start(destination, "destination", case)?;
        Ok(StackEnds::Each([Box::new(source), Box::new(destination)]))
    }
}

/// What the host tells a program at the start.
#[derive(Serialize)]
struct Open<'a> {
    protocol: u32,
    role: &'a str,
    seed: u64,
    control: &'a str,
    situation: &'a str,
    flow: &'a str,
    duration_ns: u64,
    header: u32,
    mtu: u32,
    write_bytes: usize,
    application: Value,
}

/// A process of a program, at the ports of one flow.
pub struct PipeEndpoint {
    process: Process,
    role: &'static str,
    /// What the program receives in the next step: end, ECN, bytes.
    inbox: Vec<u8>,
    received: u16,
    /// Parts of what it receives that fill the count of a frame.
    full: Vec<Vec<u8>>,
    timer: Option<Time>,
    samples: [Sample; 2],
    finished: bool,
    states: Vec<String>,
}

/// The process with its pipes, and the threads that watch it.
struct Process {
    child: Child,
    to: BufWriter<ChildStdin>,
    from: BufReader<ChildStdout>,
    watch: Arc<Watch>,
    /// Reads standard error, which a process that the program has left can hold open.
    errors: Option<JoinHandle<()>>,
    guard: Option<JoinHandle<()>>,
    /// Body of the last frame.
    body: Vec<u8>,
}

/// What the watching threads and the host share.
#[derive(Default)]
struct Watch {
    /// Counts each question and each answer: odd while an answer is awaited.
    turn: AtomicU64,
    ended: AtomicBool,
    timed_out: AtomicBool,
    /// Standard error has ended.
    read: AtomicBool,
    errors: Mutex<VecDeque<String>>,
}

impl PipeEndpoint {
    /// Starts the program for a case. `role` is `source`, `destination` or `both`.
    pub fn start(program: &Program, role: &'static str, case: &Case) -> Result<PipeEndpoint, StackError> {
        let mut process = Process::start(program)?;
        let application = &case.application;
        let open = Open {
            protocol: PROTOCOL,
            role,
            seed: case.seed,
            control: &case.controller,
            situation: case.situation,
            flow: &case.flow,
            duration_ns: case.duration.ns(),
            header: case.header,
            mtu: case.mtu,
            write_bytes: case.write_bytes,
            application: json!({
                "start_ns": application.start.ns(),
                "stop_ns": application.stop.map(Time::ns),
                "bytes": application.bytes,
                "writes": application.writes.iter().map(|(at, bytes)| (at.ns(), *bytes)).collect::<Vec<_>>(),
            }),
        };
        let body = serde_json::to_vec(&open)?;
        process.ask(b'O', &body)?;
        process.answer(b'R')?;
        let ready: Value = serde_json::from_slice(&process.body)
            .map_err(|error| process.failure(&format!("its frame R is not JSON: {error}")))?;
        if let Some(message) = ready.get("error").and_then(Value::as_str) {
            return Err(process.failure(&format!("it refuses: {message}")));
        }
        let states = ready.get("states").and_then(Value::as_array).cloned().unwrap_or_default();
        let states = states.iter().map(|state| state.as_str().unwrap_or_default().into()).collect();
        Ok(PipeEndpoint {
            process,
            role,
            inbox: Vec::new(),
            received: 0,
            full: Vec::new(),
            timer: None,
            samples: Default::default(),
            finished: false,
            states,
        })
    }

    /// One step: what has arrived goes to the program, and what it sends into the network.
    fn step(
        &mut self,
        now: Time,
        (received, inbox): (u16, &[u8]),
        out: &mut Transmitter<'_>,
    ) -> Result<(), StackError> {
        let mut body = Vec::with_capacity(10 + inbox.len());
        body.extend(now.ns().to_le_bytes());
        body.extend(received.to_le_bytes());
        body.extend(inbox);
        self.process.ask(b'S', &body)?;
        self.process.answer(b'D')?;
        let body = std::mem::take(&mut self.process.body);
        let done = self.done(&body, out);
        self.process.body = body;
        done.map_err(|message| match message {
            Unusable::Frame(message) => self.process.failure(message),
            Unusable::Stack(error) => error,
        })
    }

    fn done(&mut self, body: &[u8], out: &mut Transmitter<'_>) -> Result<(), Unusable> {
        let mut reader = FrameReader(body);
        let timer = reader.u64()?;
        self.timer = (timer != u64::MAX).then(|| Time::from_ns(timer));
        for _ in 0..reader.u16()? {
            let (end, ecn, length) = (reader.u8()?, reader.u8()?, reader.u32()?);
            let bytes = reader.bytes(length as usize)?;
            let port = out.port_of(self.end(end)?);
            out.send_from(port, bytes, Ecn::from_bits(ecn)).map_err(Unusable::Stack)?;
        }
        for _ in 0..reader.u8()? {
            let (end, field, value) = (reader.u8()?, reader.u8()?, f64::from_le_bytes(reader.array()?));
            let place = self.end(end)?;
            let whole = Some(value.max(0.0) as u64);
            let sample = &mut self.samples[place];
            match field {
                0 => sample.delivered_bytes = whole,
                1 => sample.cwnd_bytes = whole,
                2 => sample.ssthresh_bytes = whole,
                3 => sample.in_flight_bytes = whole,
                4 => sample.pacing_bps = whole,
                5 => sample.srtt = Some(Span::from_ns(value.max(0.0) as u64)),
                6 => sample.lost_packets = whole,
                7 => sample.app_limited = Some(value != 0.0),
                8 => sample.state = self.states.get(value as usize).map(|state| Cow::Owned(state.clone())),
                _ => return Err(Unusable::Frame("its frame D has a sample with a field above 8")),
            }
        }
        if let [ended] = reader.0 {
            self.finished = *ended != 0;
            reader.0 = &[];
        }
        if !reader.0.is_empty() {
            return Err(Unusable::Frame("its frame D is longer than what it says"));
        }
        for place in 0..2 {
            if !self.samples[place].is_empty() {
                let port = out.port_of(place);
                out.record(port, &self.samples[place]).map_err(Unusable::Stack)?;
            }
        }
        Ok(())
    }

    /// The place of an end that the program names, which is one that it plays.
    fn end(&self, end: u8) -> Result<usize, Unusable> {
        match (self.role, end) {
            ("both", 0 | 1) | ("source", 0) | ("destination", 1) => Ok(end as usize),
            _ => Err(Unusable::Frame("its frame D names an end that it does not play")),
        }
    }
}

/// Why an answer is not usable.
enum Unusable {
    /// It is not a frame as it should be.
    Frame(&'static str),
    /// The network refuses it.
    Stack(StackError),
}

impl Endpoint for PipeEndpoint {
    fn receive(&mut self, _: Time, datagram: &Datagram<'_>) -> Result<(), StackError> {
        if self.received == u16::MAX {
            self.full.push(std::mem::take(&mut self.inbox));
            self.received = 0;
        }
        let end = datagram.port.number() % 2;
        self.inbox.extend([end as u8, datagram.ecn.bits()]);
        self.inbox.extend((datagram.bytes.len() as u32).to_le_bytes());
        self.inbox.extend(datagram.bytes);
        self.received += 1;
        Ok(())
    }

    fn poll(&mut self, now: Time, out: &mut Transmitter<'_>) -> Result<(), StackError> {
        for inbox in std::mem::take(&mut self.full) {
            self.step(now, (u16::MAX, &inbox), out)?;
        }
        let (received, mut inbox) = (std::mem::take(&mut self.received), std::mem::take(&mut self.inbox));
        self.step(now, (received, &inbox), out)?;
        inbox.clear();
        self.inbox = inbox; // its memory serves the next step
        Ok(())
    }

    fn timer(&mut self) -> Option<Time> {
        self.timer
    }

    fn finished(&self) -> bool {
        self.finished
    }
}

impl Drop for PipeEndpoint {
    fn drop(&mut self) {
        // The program may write its frame F; nobody waits for it.
        self.process.ask(b'E', &[]).ok();
    }
}

impl Process {
    fn start(program: &Program) -> Result<Process, StackError> {
        let Some((name, arguments)) = program.command.split_first() else {
            return Err("the command of the stack is empty".into());
        };
        let mut command = Command::new(name);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(folder) = &program.folder {
            command.current_dir(folder);
        }
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(|error| format!("{name} cannot be started: {error}"))?;
        let (Some(to), Some(from), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(format!("{name} has no pipes").into());
        };
        let watch = Arc::new(Watch::default());
        let reader = {
            let watch = watch.clone();
            std::thread::spawn(move || {
                keep_last_lines(errors, &watch.errors);
                watch.read.store(true, Ordering::Relaxed);
            })
        };
        let guard = {
            let (watch, group) = (watch.clone(), child.id());
            std::thread::spawn(move || guard(&watch, group))
        };
        Ok(Process {
            child,
            to: BufWriter::with_capacity(1 << 16, to),
            from: BufReader::with_capacity(1 << 16, from),
            watch,
            errors: Some(reader),
            guard: Some(guard),
            body: Vec::new(),
        })
    }

    /// Writes a frame, after which the program has to answer.
    fn ask(&mut self, kind: u8, body: &[u8]) -> Result<(), StackError> {
        self.watch.turn.fetch_add(1, Ordering::Relaxed);
        let mut write = || {
            self.to.write_all(&(body.len() as u32).to_le_bytes())?;
            self.to.write_all(&[kind])?;
            self.to.write_all(body)?;
            self.to.flush()
        };
        write().map_err(|_| self.failure(""))
    }

    /// Reads the answer into `body`.
    fn answer(&mut self, kind: u8) -> Result<(), StackError> {
        let mut head = [0; 5];
        self.read(&mut head)?;
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        if head[4] != kind || length > LONGEST {
            let asked = char::from(kind);
            return Err(self.failure(&format!(
                "a frame {asked} was expected, and its answer begins with the bytes {head:02x?}; what the program prints belongs on standard error"
            )));
        }
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        body.resize(length, 0);
        let done = self.read(&mut body);
        self.body = body;
        done?;
        self.watch.turn.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn read(&mut self, into: &mut [u8]) -> Result<(), StackError> {
        let mut filled = 0;
        while filled < into.len() {
            if self.from.buffer().is_empty() && !self.is_readable() {
                return Err(self.failure(""));
            }
            match self.from.read(&mut into[filled..]) {
                Ok(0) | Err(_) => return Err(self.failure("")),
                Ok(count) => filled += count,
            }
        }
        Ok(())
    }

    /// Waits for standard output; false if the program has ended, or has not answered in time. A process that it has left can
    /// hold the pipe open.
    #[cfg(unix)]
    fn is_readable(&mut self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        loop {
            let mut watched = [PollFd::new(self.from.get_ref(), PollFlags::IN)];
            match poll(&mut watched, Some(&LOOK)) {
                Ok(1..) => return true,
                Ok(0) if self.watch.timed_out.load(Ordering::Relaxed) => return false,
                Ok(0) if self.child.try_wait().ok().flatten().is_some() => return false,
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    #[cfg(not(unix))]
    fn is_readable(&mut self) -> bool {
        true
    }

    /// The program has failed: how it ended, and the last lines that it wrote.
    fn failure(&mut self, what: &str) -> StackError {
        let timed_out = self.watch.timed_out.load(Ordering::Relaxed);
        self.end();
        let status = self.child.wait().ok();
        #[cfg(unix)]
        let signal = status.and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status));
        #[cfg(not(unix))]
        let signal: Option<i32> = None;
        let mut message = match (what, signal, status.and_then(|status| status.code())) {
            _ if timed_out => format!("no answer in {} s", PATIENCE.as_secs()),
            ("", Some(signal), _) => format!("signal {signal}"),
            ("", None, Some(code)) => format!("the program ended with status {code}"),
            ("", None, None) => "the program ended".into(),
            (what, ..) => what.into(),
        };
        let lines = self.watch.errors.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines.iter() {
            message += &format!("\n    {line}");
        }
        message.into()
    }

    /// Ends the program with all that it has started, and the threads.
    fn end(&mut self) {
        if self.watch.ended.swap(true, Ordering::Relaxed) {
            return;
        }
        // A program that ends by itself keeps its status, and what it does at its end.
        let patience = if self.watch.timed_out.load(Ordering::Relaxed) { 0 } else { 200 };
        for _ in 0..patience {
            if self.child.try_wait().ok().flatten().is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        kill(self.child.id());
        self.child.kill().ok();
        self.child.wait().ok();
        if let Some(guard) = self.guard.take() {
            guard.thread().unpark();
            guard.join().ok();
        }
        // Standard error ends with the program, unless a process that it has left holds it open.
        for _ in 0..40 {
            if self.watch.read.load(Ordering::Relaxed) {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        if self.watch.read.load(Ordering::Relaxed) {
            self.errors.take().map(JoinHandle::join);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads to the end, and keeps the last lines, of each the beginning.
fn keep_last_lines(errors: impl Read, lines: &Mutex<VecDeque<String>>) {
    let mut reader = BufReader::new(errors);
    let mut line: Vec<u8> = Vec::new();
    let keep = |line: &mut Vec<u8>| {
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(String::from_utf8_lossy(line).into_owned());
        line.clear();
    };
    while let Ok(bytes @ [_, ..]) = reader.fill_buf() {
        for byte in bytes {
            match byte {
                b'\n' => keep(&mut line),
                byte if line.len() < LINE => line.push(*byte),
                _ => {}
            }
        }
        let count = bytes.len();
        reader.consume(count);
    }
    if !line.is_empty() {
        keep(&mut line);
    }
}

/// Ends the group of processes of a program.
#[cfg(unix)]
fn kill(group: u32) {
    if let Some(group) = rustix::process::Pid::from_raw(group as i32) {
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
    }
}

#[cfg(not(unix))]
fn kill(_: u32) {}

/// Ends a program that has not answered for [`PATIENCE`].
fn guard(watch: &Watch, group: u32) {
    const LOOKS: u32 = 20;
    let (mut turn, mut looks) = (0, 0);
    while !watch.ended.load(Ordering::Relaxed) {
        std::thread::park_timeout(PATIENCE / LOOKS);
        let now = watch.turn.load(Ordering::Relaxed);
        looks = if now == turn && now % 2 == 1 { looks + 1 } else { 0 };
        turn = now;
        if looks >= LOOKS {
            watch.timed_out.store(true, Ordering::Relaxed);
            return kill(group);
        }
    }
}

/// Reads the values of a frame.
struct FrameReader<'a>(&'a [u8]);

impl<'a> FrameReader<'a> {
    fn bytes(&mut self, length: usize) -> Result<&'a [u8], Unusable> {
        let (bytes, rest) =
            self.0.split_at_checked(length).ok_or(Unusable::Frame("its frame D is cut off"))?;
        self.0 = rest;
        Ok(bytes)
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Unusable> {
        let bytes = self.bytes(N)?;
        Ok(std::array::from_fn(|place| bytes[place]))
    }
    fn u8(&mut self) -> Result<u8, Unusable> {
        self.array().map(u8::from_le_bytes)
    }
    fn u16(&mut self) -> Result<u16, Unusable> {
        self.array().map(u16::from_le_bytes)
    }
    fn u32(&mut self) -> Result<u32, Unusable> {
        self.array().map(u32::from_le_bytes)
    }
    fn u64(&mut self) -> Result<u64, Unusable> {
        self.array().map(u64::from_le_bytes)
    }
}
