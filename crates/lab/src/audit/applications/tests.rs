//! Every rule of applications can be broken: each test has a course of events that keeps the rules, and changes of it that break one.

use super::super::{AuditedLink, Auditor};
use super::*;
use AppEvent::{Progress, Request, Reset, Stop, Write};

const MS: u64 = 1_000_000_000;

fn ms(ms: u64) -> Time {
    Time::from_ps(ms * MS)
}

fn request(message: u32, bytes: u64) -> AppEvent {
    Request { connection: 0, message, bytes, object: None }
}

fn object(message: u32, bytes: u64, object: u32) -> AppEvent {
    Request { connection: 0, message, bytes, object: Some(object) }
}

fn write(message: u32, stream: u32, bytes: u64) -> AppEvent {
    Write { connection: 0, message, stream, bytes }
}

fn progress(stream: u32, bytes: u64) -> AppEvent {
    Progress { connection: 0, stream, bytes }
}

fn reset(stream: u32) -> AppEvent {
    Reset { connection: 0, stream }
}

/// A message that arrives wholly.
fn message(bytes: u64, [start, first, end]: [u64; 3], state: &'static str) -> AuditedMessage {
    let at = |at: u64| if at == u64::MAX { Time::NEVER } else { ms(at) };
    AuditedMessage { bytes, start: at(start), first: at(first), end: at(end), state, is_setup: false }
}

/// A message of which nothing arrives.
fn missing(bytes: u64, start: u64, state: &'static str) -> AuditedMessage {
    message(bytes, [start, u64::MAX, u64::MAX], state)
}

fn outcome(messages: &[AuditedMessage]) -> AuditedOutcome {
    let count =
        |states: &[&str]| messages.iter().filter(|message| states.contains(&message.state)).count() as u64;
    AuditedOutcome {
        messages: messages.to_vec(),
        counted: [Time::ZERO, ms(10_000)],
        counts: [messages.len() as u64, count(&["finished", "on_time", "late"]), count(&["unfinished"])],
        frames: Some(["on_time", "late", "cancelled", "dropped"].map(|state| count(&[state]))),
        playing: None,
    }
}

/// The rules that a course of events breaks, which ends with an outcome at 10 s.
fn broken(app: &AuditedApp, events: &[(u64, AppEvent)], outcome: &AuditedOutcome) -> Vec<&'static str> {
    let mut applications = Applications::default();
    applications.add(AuditedApp { flows: vec![0], ..app.clone() });
    for (at, event) in events {
        applications.push(ms(*at), 0, *event);
    }
    applications.close(0, ms(10_000), outcome);
    applications.take_violations().iter().map(|violation| violation.rule).collect()
}

/// Two responses of 1,000 and 500 bytes on one stream.
const RESPONSES: [(u64, AppEvent); 6] = [
    (0, Request { connection: 0, message: 0, bytes: 1000, object: None }),
    (50, Write { connection: 0, message: 0, stream: 0, bytes: 1000 }),
    (100, Progress { connection: 0, stream: 0, bytes: 1000 }),
    (100, Request { connection: 0, message: 1, bytes: 500, object: None }),
    (150, Write { connection: 0, message: 1, stream: 0, bytes: 500 }),
    (200, Progress { connection: 0, stream: 0, bytes: 1500 }),
];

fn responses() -> AuditedOutcome {
    outcome(&[message(1000, [0, 100, 100], "finished"), message(500, [100, 200, 200], "finished")])
}

fn asking() -> AuditedApp {
    AuditedApp { name: "f".into(), asks: true, outstanding: Some(1), ..AuditedApp::default() }
}

/// The events with another one at a place.
fn changed(events: &[(u64, AppEvent)], place: usize, event: (u64, AppEvent)) -> Vec<(u64, AppEvent)> {
    let mut events = events.to_vec();
    events[place] = event;
    events
}

#[test]
fn bytes_arrive_once_and_in_order() {
    let broken = |events: &[(u64, AppEvent)]| broken(&asking(), events, &responses());
    assert_eq!(broken(&RESPONSES), [""; 0]);
    // More arrives than was written, or what arrives goes back.
    assert_eq!(broken(&changed(&RESPONSES, 2, (100, progress(0, 1001))))[0], "message bytes");
    assert_eq!(broken(&[&RESPONSES[..], &[(201, progress(0, 1499))]].concat()), ["message bytes"]);
    // More is written than the message has, or on two streams, or the end never arrives.
    assert_eq!(broken(&changed(&RESPONSES, 4, (150, write(1, 0, 501))))[0], "message bytes");
    let split =
        [&RESPONSES[..4], &[(150, write(1, 0, 250)), (150, write(1, 1, 250))], &RESPONSES[5..]].concat();
    assert_eq!(broken(&split)[0], "message bytes");
    assert_eq!(broken(&RESPONSES[..5])[0], "message bytes");
    // A message of which the application knows nothing.
    assert!(broken(&[&RESPONSES[..], &[(300, write(2, 0, 1))]].concat()).contains(&"message bytes"));
}

#[test]
fn what_arrives_over_tcp_is_what_segments_have_delivered() {
    let app = AuditedApp {
        flows: vec![7],
        tcp: Some(AuditedTcp { syn: true, header: 52 }),
        ..AuditedApp::default()
    };
    let run = |segments: &[(u32, u32)], told: u64| {
        let mut applications = Applications::default();
        applications.add(app.clone());
        segments.iter().for_each(|(seq, size)| applications.data_arrived(7, *seq, *size));
        for event in [write(0, 0, 1548), progress(0, told)] {
            applications.push(ms(1), 0, event);
        }
        applications.process(ms(2));
        applications.take_violations().len()
    };
    // SYN, a full segment and a short one; the full one is missing, comes twice, or last.
    let [syn, full, short] = [(0, 60), (1, 1500), (2, 152)];
    assert_eq!(run(&[syn, full, short], 1548), 0);
    assert_eq!(run(&[syn, short, full, full], 1548), 0);
    assert_eq!(run(&[syn, short], 0), 0);
    assert_eq!(run(&[syn, short], 100), 1);
    assert_eq!(run(&[syn, full, short], 1448), 1);
}

#[test]
fn requests_come_before_responses() {
    let broken_by = |app: &AuditedApp, events: &[(u64, AppEvent)]| broken(app, events, &responses());
    // A response that nobody asked for; a request at another time than the message says, or for other bytes.
    let unasked = [&RESPONSES[..3], &RESPONSES[4..]].concat();
    assert!(broken_by(&asking(), &unasked).contains(&"request"));
    assert_eq!(broken_by(&asking(), &changed(&RESPONSES, 3, (101, request(1, 500)))), ["request"]);
    assert!(broken_by(&asking(), &changed(&RESPONSES, 3, (100, request(1, 501)))).contains(&"request"));
    // A repeated request is no other one.
    assert_eq!(broken_by(&asking(), &[&RESPONSES[..], &[(300, request(1, 500))]].concat()), [""; 0]);
    // A second request while one is under way.
    assert_eq!(broken_by(&asking(), &changed(&RESPONSES, 3, (99, request(1, 500))))[0], "request");
    let early = [RESPONSES[0], RESPONSES[3], RESPONSES[1], RESPONSES[2], RESPONSES[4], RESPONSES[5]];
    let two = AuditedApp { outstanding: Some(2), ..asking() };
    assert_eq!(broken_by(&asking(), &early), ["outstanding"]);
    assert_eq!(broken_by(&two, &early), [""; 0]);
    // The responses begin after the arrival of the requests, and the service at the server.
    let served = AuditedApp { requests_seen: true, service: Span::from_ms(10), flows: vec![0], ..asking() };
    let seen = |first: u64| {
        let mut applications = Applications::default();
        applications.add(served.clone());
        applications.request_arrived(ms(first), 0, 0);
        applications.request_arrived(ms(140), 0, 1);
        RESPONSES.iter().for_each(|(at, event)| applications.push(ms(*at), 0, *event));
        applications.close(0, ms(10_000), &responses());
        applications.take_violations().len()
    };
    assert_eq!([seen(40), seen(41), seen(50)], [0, 1, 1]);
}

#[test]
fn messages_take_at_least_the_ideal_time() {
    // 10 Mb/s and 20 ms, then 100 Mb/s and 1 ms.
    let hop = |mbps: u64, delay: u64| (Rate::from_bps(mbps * 1_000_000), Span::from_ms(delay), 0);
    let path = |full| AuditedPath {
        links: vec![hop(10, 20), hop(100, 1)],
        back: vec![hop(10, 20)],
        segment: 1448,
        header: 52,
        full,
    };
    assert_eq!(path(true).least_time(1548, None).ps(), 22_333_760_000);
    assert_eq!(path(true).least_time(300, Some(300)).ps(), 21_309_760_000 + 20_281_600_000);
    // Packets of any size: 1,652 bytes on the first link, 53 bytes on the second.
    assert_eq!(path(false).least_time(1548, None).ps(), 21_000_000_000 + 1_321_600_000 + 4_240_000);
    let app = |back_ms: u64| AuditedApp {
        path: Some(AuditedPath { back: vec![hop(10, back_ms)], ..path(true) }),
        ..asking()
    };
    assert_eq!(broken(&app(20), &RESPONSES, &responses()), [""; 0]);
    assert_eq!(broken(&app(80), &RESPONSES, &responses()), ["message time"; 2]);
    // First and last byte have the times of their arrivals; nothing is written before its message starts.
    let with = |times: [u64; 3]| outcome(&[message(1000, times, "finished"), responses().messages[1]]);
    assert_eq!(broken(&asking(), &RESPONSES, &with([0, 99, 100])), ["message time"]);
    assert_eq!(broken(&asking(), &RESPONSES, &with([0, 100, 101])), ["message time"]);
    assert_eq!(broken(&asking(), &RESPONSES, &with([0, 100, 99])), ["message time"]);
    let period = AuditedApp { asks: false, ends_with_period: true, ..asking() };
    assert_eq!(broken(&period, &RESPONSES, &with([0, 100, 101])), [""; 0]);
    assert_eq!(broken(&period, &RESPONSES, &with([51, 100, 100])), ["message time"]);
    let goes_on = outcome(&[responses().messages[0], message(500, [100, 200, u64::MAX], "unfinished")]);
    assert_eq!(broken(&period, &RESPONSES, &goes_on), [""; 0]);
    assert_eq!(broken(&asking(), &RESPONSES, &goes_on), ["message bytes"]);
}

#[test]
fn nothing_is_sent_after_a_reset() {
    let app = AuditedApp { name: "f".into(), deadline: Some(Span::from_ms(100)), ..AuditedApp::default() };
    // Frame 0 arrives; of frame 1 a part is sent, then its stream is reset.
    let events = [
        (0, write(0, 0, 1000)),
        (33, write(1, 0, 400)),
        (50, progress(0, 1000)),
        (133, reset(0)),
        (140, progress(0, 1200)),
    ];
    let frames =
        outcome(&[message(1000, [0, 50, 50], "on_time"), message(1000, [33, 140, u64::MAX], "cancelled")]);
    assert_eq!(broken(&app, &events, &frames), [""; 0]);
    assert_eq!(broken(&app, &[&events[..], &[(150, write(1, 0, 1))]].concat(), &frames), ["reset"]);
    assert_eq!(broken(&app, &[&events[..3], &events[4..]].concat(), &frames), ["frame state"]);
    // The client reads nothing of a stream that it has stopped.
    let stop = (136, Stop { connection: 0, stream: 0 });
    assert_eq!(broken(&app, &changed(&events, 3, stop), &frames), ["reset"]);
    let stopped = outcome(&[frames.messages[0], missing(1000, 33, "cancelled")]);
    assert_eq!(broken(&app, &changed(&events[..4], 3, stop), &stopped), [""; 0]);
}

#[test]
fn frames_have_one_state() {
    let app = AuditedApp { name: "f".into(), deadline: Some(Span::from_ms(100)), ..AuditedApp::default() };
    let events = [
        (0, write(0, 0, 1000)),
        (50, progress(0, 1000)),
        (66, write(2, 0, 1000)),
        (167, progress(0, 2000)),
        (100, write(3, 0, 500)),
    ];
    let frames = [
        message(1000, [0, 50, 50], "on_time"),
        missing(1000, 33, "dropped"),
        message(1000, [66, 167, 167], "late"),
        missing(1000, 100, "unfinished"),
    ];
    assert_eq!(broken(&app, &events, &outcome(&frames)), [""; 0]);
    let with = |number: usize, frame: AuditedMessage| {
        let mut frames = frames;
        frames[number] = frame;
        broken(&app, &events, &outcome(&frames))
    };
    assert_eq!(with(0, message(1000, [0, 50, 50], "late")), ["frame state"]);
    assert_eq!(with(2, message(1000, [66, 167, 167], "on_time")), ["frame state"]);
    assert_eq!(with(2, message(1000, [67, 167, 167], "late")), ["message time", "frame state"]);
    assert_eq!(with(0, message(1000, [0, 50, 50], "finished"))[0], "frame state");
    assert_eq!(with(1, missing(1000, 33, "on_time"))[0], "message bytes");
    assert_eq!(with(3, missing(1000, 100, "dropped")), ["frame state"]);
    assert_eq!(with(0, message(1000, [0, 50, 50], "unfinished"))[0], "message bytes");
    // The sum.
    let counted = |change: &dyn Fn(&mut AuditedOutcome)| {
        let mut outcome = outcome(&frames);
        change(&mut outcome);
        broken(&app, &events, &outcome)
    };
    assert_eq!(counted(&|outcome| outcome.frames = Some([2, 1, 0, 1])), ["message counts"; 2]);
    assert_eq!(counted(&|outcome| outcome.frames = Some([1, 0, 1, 1])), ["message counts"]);
    assert_eq!(counted(&|outcome| outcome.counts = [4, 3, 1]), ["message counts"]);
    assert_eq!(counted(&|outcome| outcome.counted[0] = ms(1)).len(), 3);
}

#[test]
fn objects_are_asked_for_after_their_parents() {
    let known = |bytes: u64, parent: Option<u32>| AuditedObject {
        bytes,
        parent,
        parse: parent.map_or(Span::ZERO, |_| Span::from_ms(20)),
    };
    let objects = vec![known(1000, None), known(500, Some(0))];
    let app = |repeat: Option<u64>| AuditedApp {
        page: Some((objects.clone(), repeat.map(Span::from_ms))),
        outstanding: None,
        ..asking()
    };
    let page = |begin: u64, first: u32, written: u64| {
        let at = |after: u64, event| (begin + after, event);
        [
            at(0, object(first, 1000, 0)),
            at(40, write(first, 0, 1000)),
            at(60, progress(0, written + 1000)),
            at(80, object(first + 1, 500, 1)),
            at(120, write(first + 1, 0, 500)),
            at(150, progress(0, written + 1500)),
        ]
    };
    let loaded = |begin: u64| {
        let at = |times: [u64; 3]| times.map(|time| begin + time);
        [message(1000, at([0, 60, 60]), "finished"), message(500, at([80, 150, 150]), "finished")]
    };
    let once = page(0, 0, 0);
    assert_eq!(broken(&app(None), &once, &outcome(&loaded(0))), [""; 0]);
    let twice = [once, page(250, 2, 1500)].concat();
    let both = outcome(&[loaded(0), loaded(250)].concat());
    assert_eq!(broken(&app(Some(100)), &twice, &both), [""; 0]);
    // The next page comes too soon, or is not to come.
    assert_eq!(broken(&app(Some(101)), &twice, &both), ["page"]);
    assert_eq!(broken(&app(None), &twice, &both), ["page"]);
    // Before the parent has arrived, or is parsed; twice; of another size; not in the page.
    let rules = |event: (u64, AppEvent)| broken(&app(None), &changed(&once, 3, event), &outcome(&loaded(0)));
    assert!(rules((79, object(1, 500, 1))).contains(&"page"));
    let sooner = [once[0], (10, object(1, 500, 1)), once[1], once[2], once[4], once[5]];
    assert!(broken(&app(None), &sooner, &outcome(&loaded(0))).contains(&"page"));
    assert!(rules((80, object(1, 1000, 0))).contains(&"page"));
    assert!(rules((80, object(1, 501, 1))).contains(&"page"));
    assert!(rules((80, object(1, 500, 2))).contains(&"page"));
}

#[test]
fn startup_playing_and_stalls_are_the_time() {
    // Chunks of 1 s, at most 2 s in the buffer: the first arrives at 0.5 s, the second at 1 s, the third at 5 s.
    let player = AuditedPlayer {
        chunk: Span::from_ms(1000),
        chunks: 9,
        buffer: Span::from_ms(2000),
        thresholds: [Span::from_ms(1000); 2],
    };
    let app = AuditedApp { player: Some(player), ..asking() };
    let events: Vec<(u64, AppEvent)> = [(0, 500), (500, 1000), (1000, 5000)]
        .iter()
        .enumerate()
        .flat_map(|(number, (asked, arrived))| {
            let number = number as u32;
            [
                (*asked, request(number, 1000)),
                (asked + 40, write(number, 0, 1000)),
                (*arrived, progress(0, 1000 * (u64::from(number) + 1))),
            ]
        })
        .collect();
    let chunk = |start: u64, end: u64| message(1000, [start, end, end], "finished");
    let playing = |[startup_s, played_s, stall_s]: [f64; 3], stalls| AuditedOutcome {
        playing: Some(AuditedPlaying { startup_s, played_s, stall_s, stalls }),
        ..outcome(&[chunk(0, 500), chunk(500, 1000), chunk(1000, 5000)])
    };
    let broken_by = |app: &AuditedApp, outcome: &AuditedOutcome| broken(app, &events, outcome);
    // It plays from 0.5 to 2.5 s and from 5 to 6 s.
    assert_eq!(broken_by(&app, &playing([0.5, 3.0, 6.5], 2)), [""; 0]);
    assert_eq!(broken_by(&app, &playing([0.5, 3.1, 6.4], 2)), ["player"]);
    assert_eq!(broken_by(&app, &playing([0.4, 3.0, 6.5], 2)), ["player"]);
    assert_eq!(broken_by(&app, &playing([0.5, 3.0, 6.5], 1)), ["player"]);
    // More media than the buffer takes.
    let small = AuditedPlayer { buffer: Span::from_ms(1400), ..player };
    assert_eq!(
        broken_by(&AuditedApp { player: Some(small), ..app.clone() }, &playing([0.5, 3.0, 6.5], 2)),
        ["player"]
    );
    // With three chunks in all the video is over at 6 s.
    let short = AuditedApp { player: Some(AuditedPlayer { chunks: 3, ..player }), ..app };
    assert_eq!(broken_by(&short, &playing([0.5, 3.0, 2.5], 1)), [""; 0]);
    assert_eq!(broken_by(&short, &playing([0.5, 3.0, 6.5], 1)), ["player"]);
}

#[test]
fn the_auditor_passes_packets_and_events_on() {
    use net::{LinkId, NodeId, Packet, PacketEvent, PacketKind, PacketStep};
    // A link of 8 Mb/s (1 ms for 1,000 bytes) and 5 ms each way.
    let link = |from: u32, to: u32| AuditedLink {
        name: format!("{from}->{to}"),
        from: from..from + 1,
        to: to..to + 1,
        rate: Rate::from_bps(8_000_000),
        delay: (Span::from_ms(5), Span::from_ms(5)),
        ..AuditedLink::default()
    };
    let run = |written_at: u64, told_at: u64| {
        let mut auditor = Auditor::new(vec![link(0, 1), link(1, 0)], &[[NodeId(0), NodeId(1)]], &[9]);
        auditor.add_application(AuditedApp {
            flows: vec![0],
            requests_seen: true,
            tcp: Some(AuditedTcp { syn: false, header: 0 }),
            ..asking()
        });
        let mut events: Vec<(u64, AppEvent)> =
            vec![(0, request(0, 1000)), (written_at, write(0, 0, 1000)), (told_at, progress(0, 1000))];
        let packets: Vec<PacketEvent> = [(0, 1, PacketKind::Request), (6, 0, PacketKind::Data)]
            .into_iter()
            .flat_map(|(sent, link, kind)| {
                let packet = Packet::new(kind, 0, 0, 0, 1000, ms(sent));
                let steps = [(0, PacketStep::Enqueue), (1, PacketStep::Depart), (6, PacketStep::Deliver)];
                steps.map(|(at, step)| PacketEvent {
                    at: ms(sent + at),
                    link: LinkId(link),
                    step,
                    packet,
                    node: None,
                })
            })
            .collect();
        for packet in packets {
            while events.first().is_some_and(|(at, _)| ms(*at) <= packet.at) {
                let (at, event) = events.remove(0);
                auditor.application(ms(at), 0, event);
            }
            auditor.packet(&packet);
        }
        events.into_iter().for_each(|(at, event)| auditor.application(ms(at), 0, event));
        let outcome = outcome(&[message(1000, [0, told_at, told_at], "finished")]);
        auditor.close_application(0, ms(20), &outcome);
        auditor.close(ms(20), &[]).0.into_iter().map(|violation| violation.rule).collect::<Vec<_>>()
    };
    assert_eq!(run(6, 12), [""; 0]);
    assert_eq!(run(5, 12), ["request"]);
    assert_eq!(run(6, 11), ["message bytes"]);
}
