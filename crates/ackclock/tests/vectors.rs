//! The vectors that every language plays, `tests/vectors/network.toml`. A published crate has no such folder and skips them.

use ackclock::network::{Network, NetworkError, Port, Progress};
use ackclock::{Ecn, Scenario, Time};
use std::path::Path;

fn numbers(value: &toml::Value) -> Vec<Vec<u64>> {
    let row =
        |row: &toml::Value| row.as_array().unwrap().iter().map(|n| n.as_integer().unwrap() as u64).collect();
    value.as_array().unwrap().iter().map(row).collect()
}

/// Every byte of a datagram with this length that is sent at this time.
fn contents(sent_ns: u64, length: usize) -> u8 {
    (sent_ns / 1000) as u8 ^ length as u8
}

/// Plays one vector: what arrived in the form of the file, and when, ps.
fn play(network: &mut Network, send: &[Vec<u64>]) -> (Vec<Vec<u64>>, Vec<u64>) {
    let (mut received, mut arrived, mut place) = (Vec::new(), Vec::new(), 0);
    loop {
        let due = send.get(place).map_or(Time::NEVER, |row| Time::from_ns(row[0]));
        let progress = network.advance(network.next().min(due)).unwrap();
        let seen = network.now().ns();
        while let Some(d) = network.receive() {
            assert!(
                d.bytes.iter().all(|byte| *byte == contents(d.sent.ns(), d.bytes.len())),
                "other bytes arrive"
            );
            arrived.push(d.arrived.ps());
            let ecn = d.ecn.bits() as u64;
            received.push(vec![
                seen,
                d.port.number() as u64,
                d.bytes.len() as u64,
                ecn,
                d.number,
                d.sent.ns(),
            ]);
        }
        if progress == Progress::Ended {
            return (received, arrived);
        }
        while let Some(row) = send.get(place).filter(|row| row[0] == seen) {
            let port = Port::numbered(row[1] as u32);
            let bytes = vec![contents(row[0], row[2] as usize); row[2] as usize];
            network.send(port, &bytes, Ecn::from_bits(row[3] as u8)).unwrap();
            place += 1;
        }
    }
}

#[test]
fn datagrams_cross_the_network_as_the_vectors_say() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/network.toml");
    let Ok(text) = std::fs::read_to_string(&file) else { return };
    let document: toml::Table = text.parse().unwrap();
    let vectors = document["vector"].as_array().unwrap();
    assert!(vectors.len() >= 13);
    for vector in vectors {
        let name = vector["name"].as_str().unwrap();
        let scenario = Scenario::parse(name, vector["scenario"].as_str().unwrap(), &[]).unwrap();
        let mut open = Network::open(&scenario);
        for flow in
            vector.get("attach").map_or(String::new(), |v| v.as_str().unwrap().into()).split_terminator(',')
        {
            open = open.attach(flow);
        }
        let mut network =
            open.header(vector.get("header").map_or(28, |v| v.as_integer().unwrap() as u32)).start().unwrap();
        let (received, arrived) = play(&mut network, &numbers(&vector["send"]));
        assert_eq!(received, numbers(&vector["receive"]), "{name}");
        let expected: Vec<u64> =
            vector["arrived"].as_array().unwrap().iter().map(|n| n.as_integer().unwrap() as u64).collect();
        assert_eq!(arrived, expected, "{name}");
        for row in numbers(&vector["counts"]) {
            let c = network.counts(Port::numbered(row[0] as u32)).unwrap();
            let dropped: u64 = c.dropped.iter().sum();
            let counted =
                [row[0], c.sent, c.received, c.received_bytes, c.marked, dropped, c.duplicates, c.too_long];
            assert_eq!(counted[..], row[..], "{name}");
        }
    }
}

#[test]
fn errors_say_what_to_do() {
    let text = "duration = \"1s\"\nlink = [{ ends = [\"a\", \"b\"], rate = \"10Mbps\", delay = \"5ms\" }]\n\
                flow = [{ name = \"x\", from = \"a\", to = \"b\" }]\n";
    let scenario = Scenario::parse("test.toml", text, &[]).unwrap();
    let mut network = Network::open(&scenario).start().unwrap();
    let [source, _] = network.ports_of("x").unwrap();
    network.advance(Time::from_ns(1000)).unwrap();
    let past = network.advance(Time::from_ns(999)).unwrap_err();
    assert_eq!(past.to_string(), "999 ns is before the present, 1000 ns; time only goes on");
    assert!(matches!(network.advance(Time::from_ps(1_000_001)), Err(NetworkError::NotWhole(_))));
    let long = network.send(source, &[0; 65_508], Ecn::NotEct).unwrap_err();
    assert_eq!(
        long.to_string(),
        "a datagram of 65508 bytes is longer than an IP packet; at most 65507 bytes"
    );
    let mut other = Network::open(&scenario).attach("x").start().unwrap();
    assert!(matches!(other.counts(Port::numbered(2)), Err(NetworkError::NotAttached(_))));
    assert_eq!(network.advance(Time::NEVER), Ok(Progress::Ended));
    assert_eq!(network.send(source, &[0], Ecn::NotEct), Err(NetworkError::Ended));
    let unknown = Network::open(&scenario).attach("y").start().err().unwrap().to_string();
    assert!(unknown.contains("there is no flow \"y\""), "{unknown}");
    assert!(Network::open(&scenario).header(1501).start().is_err());
    assert_eq!(other.outcome().unwrap().substrate, "attached");
}
