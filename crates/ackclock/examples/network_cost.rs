//! What the network costs a stack, for benches/instructions.py: `network_cost toy SECONDS` sends datagrams and answers each of
//! them, `network_cost idle STEPS` advances a network in which nothing happens. Prints the number of datagrams or steps.

use ackclock::network::{Datagram, Driver, Endpoint, Network, StackError, Transmitter};
use ackclock::{Ecn, Scenario, Time};

const SCENARIO: &str = r#"
link = [{ ends = ["a", "b"], rate = "20Mbps", delay = "20ms", queue = { kind = "droptail", limit = "1bdp" } }]
flow = [{ name = "x", from = "a", to = "b" }]
"#;

/// Keeps datagrams in flight, or answers each that arrives.
struct End {
    room: usize,
    bytes: &'static [u8],
}

impl Endpoint for End {
    fn receive(&mut self, _: Time, _: &Datagram<'_>) -> Result<(), StackError> {
        self.room += 1;
        Ok(())
    }
    fn poll(&mut self, _: Time, out: &mut Transmitter<'_>) -> Result<(), StackError> {
        for _ in 0..std::mem::take(&mut self.room) {
            out.send(self.bytes, Ecn::NotEct)?;
        }
        Ok(())
    }
    fn timer(&mut self) -> Option<Time> {
        None
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, mode, amount] = &arguments[..] else {
        return Err("network_cost toy SECONDS, or idle STEPS".into());
    };
    let seconds = if mode == "toy" { amount.as_str() } else { "1000" };
    let scenario = Scenario::parse("cost.toml", &format!("duration = \"{seconds}s\"\n{SCENARIO}"), &[])?;
    let mut network = Network::open(&scenario).start()?;
    let [from, to] = network.ports_of("x").ok_or("no flow")?;
    let count = if mode == "toy" {
        let (mut source, mut destination) =
            (End { room: 60, bytes: &[0; 1200] }, End { room: 0, bytes: &[0; 40] });
        Driver::new(&mut network).endpoint([from], &mut source).endpoint([to], &mut destination).run()?;
        network.counts(from)?.sent + network.counts(to)?.sent
    } else {
        let steps = amount.parse()?;
        for step in 1..=steps {
            network.advance(Time::from_ns(1000 * step))?;
            std::hint::black_box(network.next());
        }
        steps
    };
    println!("{{\"packet_hops\": {count}}}");
    Ok(())
}
