//! Streams and datagrams of applications.

mod common;

use ackclock_quic::{Config, Endpoint, ReceivedDatagram, StreamEvent, StreamProgress, WriteError};
use common::{Path, Pipe, Treatment, chance, controller};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use units::{Span, Time};

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_ms(n)
}

fn config() -> Config {
    Config { streams: Some(100), ..Config::default() }
}

/// A path that drops the sender's datagrams for which `drops` holds.
fn dropping(mut drops: impl FnMut(u64) -> bool + 'static) -> Path {
    let plan = move |n, _| Treatment { drop: drops(n), ..Treatment::default() };
    Path { plan: Box::new(plan), ..Path::default() }
}

fn pipe(name: &str, config: &Config, path: Path) -> Pipe {
    Pipe::new(config, controller(name, config, &[]), path)
}

/// What the sender's application has yet to write: stream, bytes, whether they are the last ones.
type Writes = Rc<RefCell<VecDeque<(u32, u64, bool)>>>;

/// Writes while there is room, and only as much; later writes of other streams if a stream is blocked.
fn write_late(end: &mut Endpoint, writes: &Writes) {
    let (mut writes, mut blocked, mut index) = (writes.borrow_mut(), Vec::new(), 0);
    while let Some((stream, bytes, last)) = writes.get_mut(index) {
        let room = end.write_room();
        if room == 0 {
            return;
        }
        let now = room.min(*bytes);
        let is_over = if blocked.contains(stream) {
            false
        } else {
            match end.write_stream(*stream, now, *last && now == *bytes) {
                Ok(taken) => {
                    *bytes -= taken;
                    if taken < now {
                        blocked.push(*stream);
                    }
                    *bytes == 0 && taken == now
                }
                Err(WriteError::Blocked) => {
                    blocked.push(*stream);
                    false
                }
                Err(WriteError::Closed) => true,
            }
        };
        if is_over {
            writes.remove(index);
        } else if blocked.contains(&writes[index].0) {
            index += 1;
        }
        assert!(end.unsent_bytes() <= 2 * 1472);
    }
}

/// What the receiver's application knows.
#[derive(Debug, Default)]
struct Seen {
    /// The last report of each stream, and when it came.
    streams: BTreeMap<u32, (StreamProgress, Time)>,
    datagrams: Vec<ReceivedDatagram>,
    reports: u64,
}

impl Seen {
    fn bytes(&self, stream: u32) -> u64 {
        self.streams.get(&stream).map_or(0, |(progress, _)| progress.bytes)
    }
    fn is_finished(&self, stream: u32) -> bool {
        self.streams.get(&stream).is_some_and(|(progress, _)| progress.finished)
    }
}

/// Gives the pipe an application that writes `writes` late and one that notes what arrives.
fn attach(pipe: &mut Pipe, writes: &Writes) -> Rc<RefCell<Seen>> {
    let (writes, seen) = (writes.clone(), Rc::new(RefCell::new(Seen::default())));
    pipe.writer = Some(Box::new(move |_, end| write_late(end, &writes)));
    let (notes, mut reports) = (seen.clone(), Vec::new());
    pipe.reader = Some(Box::new(move |now, end| {
        let mut notes = notes.borrow_mut();
        end.take_progress(&mut reports);
        assert!(reports.windows(2).all(|pair| pair[0].stream < pair[1].stream), "in order: {reports:?}");
        for report in reports.drain(..) {
            notes.reports += 1;
            if let Some((before, _)) = notes.streams.insert(report.stream, (report, now)) {
                assert!(report.bytes >= before.bytes, "{report:?} {before:?}");
                assert!(!before.finished && !before.reset, "the end is reported once: {report:?}");
            }
        }
        end.take_datagrams(&mut notes.datagrams);
        let sum: u64 = notes.streams.values().map(|(progress, _)| progress.bytes).sum();
        assert_eq!(end.delivered_bytes(), sum);
    }));
    seen
}

/// A frame in the qlog of a sender: the fields of the frame, as text.
fn sent_frames(qlog: &str, kind: &str) -> Vec<String> {
    let start = format!("{{\"frame_type\":\"{kind}\"");
    let frames = |line: &str| -> Vec<String> {
        let parts = line.split(&start).skip(1);
        parts.map(|part| part.split('}').next().unwrap_or("").to_string()).collect()
    };
    qlog.lines().filter(|line| line.contains("packet_sent")).flat_map(frames).collect()
}

/// A number in the fields of a frame.
fn field(frame: &str, name: &str) -> u64 {
    let text = frame.split(&format!("\"{name}\":")).nth(1).expect("the field");
    text.split(',').next().and_then(|text| text.parse().ok()).expect("a number")
}

/// The STREAM frames of a stream that left: offset and length.
fn data_frames(qlog: &str, stream: u64) -> Vec<(u64, u64)> {
    let frames = sent_frames(qlog, "stream");
    let of_stream = frames.iter().filter(|frame| field(frame, "stream_id") == 4 * stream + 2);
    of_stream.map(|frame| (field(frame, "offset"), field(frame, "length"))).collect()
}

/// An application that writes a stream as the single stream of a flow without applications is written.
fn write_as_single_stream(mut left: u64) -> impl FnMut(Time, &mut Endpoint) {
    let mut opened = false;
    move |_, end| {
        if !std::mem::replace(&mut opened, true) {
            assert_eq!(end.open_stream(), Some(0));
            end.end_streams();
            assert_eq!(end.open_stream(), None);
        }
        if end.write_room() > 0 && left > 0 {
            let bytes = left.min(end.write_batch());
            left -= end.write_stream(0, bytes, bytes == left).unwrap_or(0);
        }
    }
}

#[test]
fn one_stream_of_an_application_sends_what_a_flow_without_applications_sends() {
    for (name, receive_window) in [("cubic", 1 << 24), ("bbr", 1 << 24), ("reno", 30_000)] {
        let plain = Config { receive_window, ..Config::default() };
        let mut single = pipe(name, &plain, dropping(|n| n % 301 == 5));
        single.ends[0].write(3_000_000, true);
        let mut applied = pipe(name, &Config { streams: Some(100), ..plain }, dropping(|n| n % 301 == 5));
        applied.writer = Some(Box::new(write_as_single_stream(3_000_000)));
        for pipe in [&mut single, &mut applied] {
            pipe.open();
            pipe.run(ms(60_000));
        }
        assert_eq!((single.delivered(), applied.delivered()), (3_000_000, 3_000_000), "{name}");
        // The parameters have equal sizes, so all datagrams have.
        assert_eq!(single.log, applied.log, "{name}");
        assert!(single.ends[0].completed().is_some());
        assert_eq!(single.ends[0].completed(), applied.ends[0].completed(), "{name}");
    }
}

#[test]
fn streams_that_are_interleaved_deliver_exact_bytes() {
    for drops in [false, true] {
        let mut pipe = pipe("cubic", &config(), dropping(move |n| drops && n % 41 == 3));
        let end = &mut pipe.ends[0];
        assert_eq!((end.open_stream(), end.open_stream()), (Some(0), Some(1)));
        assert_eq!(end.write_stream(0, 10, false), Err(WriteError::Blocked)); // before the handshake
        assert_eq!(end.write_stream(2, 10, false), Err(WriteError::Closed)); // never opened
        assert_eq!((end.write_room(), end.stream_written(0)), (0, Some(0)));
        let writes = Writes::default();
        for _ in 0..500 {
            writes.borrow_mut().extend([(0, 1000, false), (1, 700, false)]);
        }
        writes.borrow_mut().extend([(0, 1, true), (1, 0, true)]);
        let seen = attach(&mut pipe, &writes);
        pipe.open();
        pipe.run(ms(150));
        {
            let seen = seen.borrow();
            let (first, second) = (seen.bytes(0) as i64, seen.bytes(1) as i64);
            if !drops {
                assert!(first > 50_000 && (7 * first - 10 * second).abs() < 50_000, "{first} {second}");
            }
        }
        let sent = [0, 1].map(|stream| pipe.ends[0].stream_sent(stream).expect("it is open"));
        let written = [0, 1].map(|stream| pipe.ends[0].stream_written(stream).expect("it is open"));
        assert_eq!(sent.iter().sum::<u64>(), pipe.handle.lock().stream_sent());
        assert_eq!(written[0] + written[1] - sent[0] - sent[1], pipe.ends[0].unsent_bytes());
        pipe.run(ms(5000));
        assert!(pipe.ends[0].completed().is_none(), "there may be more streams");
        pipe.ends[0].end_streams();
        pipe.turn(0);
        assert_eq!(pipe.ends[0].completed(), Some(ms(5000)));
        let seen = seen.borrow();
        assert_eq!((seen.bytes(0), seen.bytes(1), pipe.delivered()), (500_001, 350_000, 850_001));
        assert!(seen.is_finished(0) && seen.is_finished(1));
        assert_eq!(pipe.handle.lock().stream_sent(), 850_001);
        assert_eq!(pipe.ends[0].stream_sent(0), None);
        let events = [(); 3].map(|()| pipe.ends[0].next_stream_event());
        assert!(
            events[2].is_none()
                && events[..2].iter().all(|e| matches!(e, Some(StreamEvent::Acknowledged { .. })))
        );
    }
}

/// Two streams of 200 packets in turn, of which datagrams are dropped at 100 ms; then stream 0 is reset.
fn reset_run(reset: bool) -> (Pipe, Rc<RefCell<Seen>>, Option<u64>) {
    let config = Config { qlog: Some("a run".into()), ..config() };
    let now = Rc::new(RefCell::new(Time::ZERO));
    let at = now.clone();
    let mut pipe = pipe("reno", &config, dropping(move |_| *at.borrow() == ms(100)));
    assert_eq!([0, 1].map(|_| pipe.ends[0].open_stream()), [Some(0), Some(1)]);
    let writes = Writes::default();
    for n in 0..200 {
        writes.borrow_mut().extend([(0, 1400, n == 199), (1, 1400, n == 199)]);
    }
    let seen = attach(&mut pipe, &writes);
    pipe.open();
    pipe.run(ms(100));
    *now.borrow_mut() = ms(100);
    pipe.run(ms(108));
    *now.borrow_mut() = ms(108);
    let sent = if reset { pipe.ends[0].reset_stream(0) } else { None };
    pipe.turn(0);
    (pipe, seen, sent)
}

#[test]
fn what_a_reset_stream_has_lost_is_not_sent_again() {
    // Without the reset the lost bytes are repeated.
    let (mut pipe, seen, _) = reset_run(false);
    pipe.run(ms(5000));
    assert_eq!((seen.borrow().bytes(0), seen.borrow().bytes(1)), (280_000, 280_000));
    assert!(pipe.stats().lost_packets > 2, "{:?}", pipe.stats());
    let frames = data_frames(&pipe.ends[0].take_qlog().expect("it is recorded"), 0);
    assert!(frames.iter().map(|(_, length)| length).sum::<u64>() > 280_000);

    let (mut pipe, seen, sent) = reset_run(true);
    let sent = sent.expect("it was open");
    let end = &mut pipe.ends[0];
    assert_eq!((end.reset_stream(0), end.stream_sent(0), end.set_priority(0, 1)), (None, None, false));
    assert_eq!(end.write_stream(0, 1, false), Err(WriteError::Closed));
    assert!(end.unsent_bytes() <= 2 * 1472, "what the stack had of it is dropped: {}", end.unsent_bytes());
    end.end_streams();
    pipe.turn(0);
    pipe.run(ms(5000));
    let seen = seen.borrow();
    assert_eq!((seen.bytes(1), seen.is_finished(1)), (280_000, true));
    let (progress, _) = seen.streams[&0];
    assert!(
        progress.reset && !progress.finished && progress.bytes < sent && sent < 280_000,
        "{progress:?} {sent}"
    );
    assert!(pipe.stats().lost_packets > 2);
    let qlog = pipe.ends[0].take_qlog().expect("it is recorded");
    let frames = data_frames(&qlog, 0);
    assert_eq!(frames.iter().map(|(_, length)| length).sum::<u64>(), sent, "each byte left once");
    assert_eq!(frames.iter().map(|(offset, length)| offset + length).max(), Some(sent));
    let resets = sent_frames(&qlog, "reset_stream");
    assert_eq!(resets.len(), 1);
    assert!(
        (sent..=sent + 2 * 1472).contains(&field(&format!("{},", resets[0]), "final_size")),
        "{resets:?}"
    );
    assert!(pipe.ends[0].completed().is_some(), "the reset is acknowledged, the other stream too");
    assert_eq!(pipe.handle.lock().stream_sent(), sent + 280_000);
    assert_eq!(pipe.ends[0].unsent_bytes(), 0);
}

#[test]
fn a_stream_that_the_receiver_stops_is_reset() {
    let mut pipe = pipe("reno", &config(), Path::default());
    assert_eq!([0, 1].map(|_| pipe.ends[0].open_stream()), [Some(0), Some(1)]);
    let writes = Writes::default();
    for n in 0..300 {
        writes.borrow_mut().extend([(0, 1400, n == 299), (1, 1400, n == 299)]);
    }
    let seen = attach(&mut pipe, &writes);
    pipe.open();
    assert!(!pipe.ends[1].stop_stream(0), "nothing has arrived");
    pipe.run(ms(100));
    let before = seen.borrow().bytes(0);
    assert!(before > 0);
    assert!(pipe.ends[1].stop_stream(0));
    assert!(!pipe.ends[1].stop_stream(0), "once");
    assert!(!pipe.ends[1].stop_stream(7), "no such stream");
    pipe.turn(1);
    pipe.run(ms(115));
    let event = pipe.ends[0].next_stream_event();
    let Some(StreamEvent::Stopped { stream: 0, sent }) = event else { panic!("{event:?}") };
    assert!(sent > before && sent < 420_000, "{sent} {before}");
    pipe.ends[0].end_streams();
    pipe.run(ms(5000));
    let seen = seen.borrow();
    assert_eq!((seen.bytes(0), seen.bytes(1), seen.is_finished(1)), (before, 420_000, true));
    assert_eq!(pipe.handle.lock().stream_sent(), sent + 420_000);
    assert!(pipe.ends[0].completed().is_some() && pipe.ends[0].unsent_bytes() == 0);
    assert_eq!(pipe.ends[0].next_stream_event(), Some(StreamEvent::Acknowledged { stream: 1 }));
    assert_eq!(pipe.handle.lock().in_flight().bytes, 0);
}

#[test]
fn datagrams_arrive_with_number_and_size_and_are_not_repeated() {
    let config = Config { qlog: Some("a run".into()), ..config() };
    let dropped = Rc::new(RefCell::new(false));
    let drops = dropped.clone();
    let mut pipe = pipe("reno", &config, dropping(move |_| *drops.borrow()));
    let seen = attach(&mut pipe, &Writes::default());
    assert!(!pipe.ends[0].send_datagram(0, 60), "before the handshake");
    assert_eq!(pipe.ends[0].max_datagram_bytes(), None);
    pipe.open();
    pipe.run(ms(100));
    let largest = pipe.ends[0].max_datagram_bytes().expect("connected");
    assert!((1400..1472).contains(&largest), "{largest}");
    let end = &mut pipe.ends[0];
    assert_eq!([3, largest + 1].map(|bytes| end.send_datagram(1, bytes)), [false, false]);
    for (number, bytes) in [(7, 4), (u32::MAX, 60), (9, largest)] {
        assert!(pipe.ends[0].send_datagram(number, bytes));
    }
    pipe.turn(0);
    pipe.run(ms(200));
    *dropped.borrow_mut() = true;
    assert!(pipe.ends[0].send_datagram(10, 100));
    pipe.turn(0);
    *dropped.borrow_mut() = false;
    pipe.run(ms(300));
    for number in 11..20 {
        assert!(pipe.ends[0].send_datagram(number, 100));
        pipe.turn(0);
    }
    pipe.run(ms(3000));
    let numbers: Vec<u32> = seen.borrow().datagrams.iter().map(|datagram| datagram.number).collect();
    assert_eq!(numbers, [7, u32::MAX, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
    let sizes: Vec<usize> = seen.borrow().datagrams.iter().take(4).map(|datagram| datagram.bytes).collect();
    assert_eq!(sizes, [4, 60, largest, 100]);
    assert_eq!(sent_frames(&pipe.ends[0].take_qlog().expect("it is recorded"), "datagram").len(), 13);
    assert_eq!((pipe.delivered(), pipe.handle.lock().stream_sent()), (0, 0));
}

#[test]
fn datagrams_leave_before_data_of_streams() {
    let config = Config { qlog: Some("a run".into()), ..config() };
    let mut pipe = pipe("reno", &config, Path::default());
    pipe.ends[0].open_stream();
    let writes = Writes::default();
    writes.borrow_mut().push_back((0, 3_000_000, true));
    let seen = attach(&mut pipe, &writes);
    pipe.open();
    pipe.run(ms(500));
    assert!(pipe.ends[0].take_qlog().is_some());
    assert!(pipe.ends[0].send_datagram(1, 60));
    pipe.turn(0);
    pipe.run(ms(1500));
    assert_eq!(seen.borrow().datagrams, [ReceivedDatagram { number: 1, bytes: 60 }]);
    let qlog = pipe.ends[0].take_qlog().expect("it is recorded");
    let first = qlog.lines().find(|line| line.contains("packet_sent")).expect("a packet left");
    let places = ["datagram", "stream"].map(|kind| first.find(&format!("{{\"frame_type\":\"{kind}\"")));
    assert!(places[0].is_some() && places[0] < places[1], "{first}");
}

#[test]
fn the_number_of_streams_is_not_bounded() {
    // Each is opened when the one before is acknowledged; far more than may be open at a time.
    let mut pipe =
        pipe("reno", &Config { streams: Some(2), ..Config::default() }, dropping(|n| n % 50 == 20));
    let seen = attach(&mut pipe, &Writes::default());
    let opened = Rc::new(RefCell::new(0));
    let count = opened.clone();
    pipe.writer = Some(Box::new(move |_, end| {
        let mut count = count.borrow_mut();
        if *count == 0 {
            assert_eq!(end.open_stream(), Some(0));
            *count = 1;
        }
        while let Some(event) = end.next_stream_event() {
            assert_eq!(event, StreamEvent::Acknowledged { stream: *count - 1 });
            if *count == 300 {
                end.end_streams();
                return;
            }
            assert_eq!(end.open_stream(), Some(*count));
            *count += 1;
        }
        let stream = *count - 1;
        if end.write_room() > 0 && end.stream_written(stream) == Some(0) {
            let bytes = 100 + u64::from(stream);
            assert!(matches!(end.write_stream(stream, bytes, true), Ok(n) if n == bytes) || bytes == 0);
        }
    }));
    pipe.open();
    pipe.run(ms(120_000));
    let total = (0..300).map(|stream| 100 + stream).sum::<u64>();
    assert_eq!((*opened.borrow(), pipe.delivered(), pipe.handle.lock().stream_sent()), (300, total, total));
    assert!((0..300).all(|stream| seen.borrow().is_finished(stream)));
    assert!(pipe.ends[0].completed().is_some());
}

#[test]
fn streams_wait_for_the_receiver_s_permission() {
    // All are opened before the handshake; four may be open at a time.
    let mut pipe =
        pipe("cubic", &Config { streams: Some(4), ..Config::default() }, dropping(|n| n % 23 == 9));
    let writes = Writes::default();
    for stream in 0..300 {
        assert_eq!(pipe.ends[0].open_stream(), Some(stream));
        writes.borrow_mut().push_back((stream, 3000, true));
    }
    // These are reset before they are opened.
    assert_eq!((pipe.ends[0].reset_stream(3), pipe.ends[0].reset_stream(299)), (Some(0), Some(0)));
    pipe.ends[0].end_streams();
    let seen = attach(&mut pipe, &writes);
    pipe.open();
    pipe.run(ms(60_000));
    let seen = seen.borrow();
    assert_eq!((seen.streams.len(), pipe.delivered()), (300, 298 * 3000));
    for (stream, (progress, _)) in &seen.streams {
        let expected = if [3, 299].contains(stream) { (0, false, true) } else { (3000, true, false) };
        assert_eq!((progress.bytes, progress.finished, progress.reset), expected, "{stream}");
    }
    assert!(pipe.ends[0].completed().is_some());
}

#[test]
fn the_stack_sends_streams_of_a_higher_priority_first() {
    let config = Config { qlog: Some("a run".into()), ..config() };
    let mut pipe = pipe("reno", &config, Path::default());
    assert_eq!([0; 4].map(|_| pipe.ends[0].open_stream()), [Some(0), Some(1), Some(2), Some(3)]);
    assert!(pipe.ends[0].set_priority(2, 5) && !pipe.ends[0].set_priority(4, 5));
    let mut step = 0;
    pipe.writer = Some(Box::new(move |_, end| {
        if end.write_room() > 0 && step == 0 {
            step = 1;
            assert!(end.set_priority(3, 1));
            for stream in 0..4 {
                assert_eq!(end.write_stream(stream, 1000, true), Ok(1000));
            }
        }
    }));
    pipe.open();
    pipe.run(ms(200));
    let qlog = pipe.ends[0].take_qlog().expect("it is recorded");
    let frames = sent_frames(&qlog, "stream");
    let mut order: Vec<u64> = frames.iter().map(|frame| (field(frame, "stream_id") - 2) / 4).collect();
    order.dedup();
    assert_eq!(order[..2], [2, 3], "{order:?}");
    assert_eq!(pipe.delivered(), 4000);
}

#[test]
fn writing_late_does_not_make_a_flow_limited_by_its_application() {
    for name in ["bbr", "reno"] {
        let endless = Pipe::endless(name, &Config::default(), Path::default(), 5);
        let mut late = pipe(name, &config(), Path::default());
        late.ends[0].open_stream();
        let writes = Writes::default();
        writes.borrow_mut().push_back((0, u64::MAX / 2, true));
        attach(&mut late, &writes);
        late.open();
        late.run(ms(5000));
        let (late_bytes, bytes) = (late.delivered() as f64, endless.delivered() as f64);
        assert!((late_bytes / bytes - 1.0).abs() < 0.01, "{name} {late_bytes} {bytes}");
        assert_ne!(late.handle.lock().app_limited(), Some(true), "{name}");
        // Nothing more to write, but the stream goes on.
        writes.borrow_mut().clear();
        late.run(ms(6000));
        writes.borrow_mut().push_back((0, 3000, true));
        late.turn(0);
        late.run(ms(6015));
        assert_ne!(late.handle.lock().app_limited(), Some(false), "{name}");
    }
}

#[test]
fn without_the_setting_there_are_no_streams() {
    let mut pipe = Pipe::endless("reno", &Config::default(), Path::default(), 1);
    let (mut reports, mut datagrams) = (Vec::new(), Vec::new());
    let [sender, receiver] = &mut pipe.ends;
    assert_eq!((sender.open_stream(), sender.write_room()), (None, 0));
    assert_eq!(sender.write_stream(0, 10, true), Err(WriteError::Closed));
    assert_eq!((sender.reset_stream(0), sender.next_stream_event()), (None, None));
    assert!(!sender.send_datagram(0, 100) && !sender.set_priority(0, 1) && !receiver.stop_stream(0));
    receiver.take_progress(&mut reports);
    receiver.take_datagrams(&mut datagrams);
    assert!(reports.is_empty() && datagrams.is_empty());
    let invalid = Config { streams: Some(0), ..Config::default() };
    assert_eq!(invalid.check().map_err(|error| error.field), Err("streams"));
    assert!(Config { streams: Some(65_536), ..Config::default() }.check().is_ok());
}

/// A step of a random application.
#[derive(Clone, Copy, Debug)]
enum Step {
    Open,
    Write { stream: u32, bytes: u64, last: bool },
    Reset(u32),
    Stop(u32),
    Priority(u32, i32),
    Datagram(usize),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let stream = 0..8_u32;
    prop_oneof![
        2 => Just(Step::Open),
        6 => (stream.clone(), 0..20_000_u64, prop::bool::weighted(0.2))
            .prop_map(|(stream, bytes, last)| Step::Write { stream, bytes, last }),
        1 => stream.clone().prop_map(Step::Reset),
        1 => stream.clone().prop_map(Step::Stop),
        1 => (stream, -2..3).prop_map(|(stream, priority)| Step::Priority(stream, priority)),
        1 => (4..1400_usize).prop_map(Step::Datagram),
        4 => (0..60_u64).prop_map(Step::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_applications_end_with_exact_counts(
        steps in prop::collection::vec(step(), 1..80),
        streams in 1..12_u32,
        (seed, loss) in (any::<u64>(), 0..300_u64),
        window in prop::sample::select(vec![8_000_u64, 1 << 24]),
    ) {
        let config = Config { streams: Some(streams), receive_window: window, ..Config::default() };
        let mut pipe = pipe("cubic", &config, dropping(move |n| chance(seed, n, 0) < loss));
        let writes = Writes::default();
        let seen = attach(&mut pipe, &writes);
        let (mut count, mut datagrams, mut ends) = (0, 0, BTreeMap::<u32, (u64, bool)>::new());
        let (mut reset, mut stopped) = (Vec::new(), Vec::new());
        pipe.open();
        for step in steps {
            match step {
                Step::Open => {
                    prop_assert_eq!(pipe.ends[0].open_stream(), Some(count));
                    ends.insert(count, (0, false));
                    count += 1;
                }
                Step::Write { stream, bytes, last } => {
                    if let Some((total, finished @ false)) = ends.get_mut(&stream) {
                        *total += bytes;
                        *finished = last;
                        writes.borrow_mut().push_back((stream, bytes, last));
                    }
                }
                Step::Reset(stream) => reset.extend(pipe.ends[0].reset_stream(stream).map(|_| stream)),
                Step::Stop(stream) => {
                    stopped.extend(pipe.ends[1].stop_stream(stream).then_some(stream));
                    pipe.turn(1);
                }
                Step::Priority(stream, priority) => drop(pipe.ends[0].set_priority(stream, priority)),
                Step::Datagram(bytes) => datagrams += pipe.ends[0].send_datagram(datagrams, bytes) as u32,
                Step::Wait(time) => {
                    let until = pipe.now() + Span::from_ms(time);
                    pipe.run(until);
                }
            }
            pipe.turn(0);
        }
        for (stream, (_, finished)) in &ends {
            if !finished {
                writes.borrow_mut().push_back((*stream, 0, true));
            }
        }
        pipe.ends[0].end_streams();
        pipe.turn(0);
        let until = pipe.now() + Span::from_ms(400_000);
        pipe.run(until);
        prop_assert_eq!(pipe.ends[0].connection_error(), None);
        prop_assert!(pipe.ends[0].completed().is_some());
        prop_assert_eq!((writes.borrow().len(), pipe.ends[0].unsent_bytes()), (0, 0));
        let seen = seen.borrow();
        for (stream, (total, _)) in ends {
            let progress = seen.streams.get(&stream).map(|(progress, _)| *progress);
            if let Some(progress) = progress.filter(|progress| progress.finished) {
                prop_assert_eq!((progress.bytes, progress.reset), (total, false));
            } else {
                prop_assert!(reset.contains(&stream) || stopped.contains(&stream), "{} {:?}", stream, progress);
                prop_assert!(progress.is_none_or(|progress| progress.bytes <= total));
            }
        }
        prop_assert!(seen.datagrams.len() <= datagrams as usize);
        prop_assert_eq!(pipe.handle.lock().in_flight().bytes, 0);
    }
}
