//! QUIC flows over every kind of network: audited, and the same twice.
#![cfg(feature = "quic")]

use lab::{FlowOutcome, Outcome, Recording, Run, Scenario, Settings};

fn audited(text: &str) -> (Outcome, String) {
    let scenario = Scenario::parse("test.toml", text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let recording = Recording { audit: true, fingerprint: true, ..Recording::default() };
    let once = |recording| {
        let mut run = Run::new(&scenario, Settings { recording, ..Settings::default() }).unwrap();
        run.finish();
        let (violations, count) = run.audit();
        assert_eq!(count, 0, "{violations:#?}\n{text}");
        (run.outcome(), run.fingerprint())
    };
    let (found, again) = (once(recording), once(recording));
    assert_eq!(found.1, again.1, "two runs of a scenario differ");
    let plain = once(Recording::default()).0;
    assert_eq!(format!("{:?}", plain.flows), format!("{:?}", found.0.flows), "watching changes the run");
    found
}

fn wired(queue: &str, flows: &str) -> String {
    format!(
        "duration = \"8s\"\n[[link]]\nname = \"x\"\nends = [\"s\", \"d\"]\nrate = \"20Mbps\"\ndelay = \"10ms\"\n{queue}\n{flows}"
    )
}

fn quic(name: &str, options: &str) -> String {
    format!("[[flow]]\nname = \"{name}\"\nfrom = \"s\"\nto = \"d\"\nquic = {{ {options} }}\n")
}

const DROPTAIL: &str = "queue = { kind = \"droptail\", limit = \"40p\" }";

fn flow(text: &str) -> FlowOutcome {
    audited(text).0.flows.remove(0)
}

#[test]
fn reno_on_quic_uses_the_link_as_on_tcp() {
    let found = flow(&wired(DROPTAIL, &quic("q", "congestion_control = \"reno\"")));
    println!("{found:#?}");
    assert_eq!((found.kind, found.transport, found.control.as_deref()), ("quic", Some("quic"), Some("reno")));
    assert!((18.5e6..19.5e6).contains(&found.goodput_bps), "{}", found.goodput_bps);
    let tcp = "[[flow]]\nname = \"q\"\nfrom = \"s\"\nto = \"d\"\ntcp = { congestion_control = \"reno\" }\n";
    let tcp = flow(&wired(DROPTAIL, tcp));
    println!("{tcp:#?}");
    let ratio = found.mean_cwnd.unwrap() / tcp.mean_cwnd.unwrap();
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
    assert_eq!(found.window_cuts, tcp.window_cuts);
}
