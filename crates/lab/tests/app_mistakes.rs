//! Mistakes in `app` are told with file, line and key, and with what to write instead.

use ackclock_lab::Scenario;

/// What is told of a flow of this transport with these lines, which begin at line 9.
fn told(transport: &str, lines: &str) -> String {
    let text = format!(
        "duration = \"100s\"\n[[link]]\nends = [\"a\", \"b\"]\nrate = \"80Mbps\"\ndelay = \"5ms\"\n\
         [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n{transport}\n{lines}\n"
    );
    let file = std::env::temp_dir().join("s.toml");
    match Scenario::parse(&file.to_string_lossy(), &text, &[]) {
        Ok(_) => "nothing".into(),
        Err(error) => error.to_string().rsplit_once("s.toml").expect("the file").1.into(),
    }
}

const TCP: &str = "tcp = {}";
const QUIC: &str = "quic = {}";
const UDP: &str = "udp = { rate = \"1Mbps\" }";

/// Transport, lines, and what is told: the line, the key, and words of the message.
const MISTAKES: &[(&str, &str, &str, &[&str])] = &[
    (TCP, "app = \"1Mbps\"\nbytes = \"1MB\"", ":11: flow.f.app", &["one of bytes, writes and app"]),
    (
        TCP,
        "writes = [[\"0s\", \"1kB\"]]\napp = \"1Mbps\"",
        ":12: flow.f.app",
        &["one of bytes, writes and app"],
    ),
    (UDP, "app = \"1Mbps\"", ":11: flow.f.app", &["is for tcp and quic", "a rate or a schedule"]),
    (TCP, "app = \"1Mps\"", ":11: flow.f.app", &["1Mps"]),
    (TCP, "app = { rate = \"1Mbps\" }", ":11: flow.f.app.kind", &["is missing"]),
    (
        TCP,
        "app = { kind = \"request\", response = \"1kB\" }",
        ":11: flow.f.app.kind",
        &["did you mean \"requests\"?"],
    ),
    (
        TCP,
        "app = { kind = \"rate\", rate = \"1Mbps\", ladder = [] }",
        ":11: flow.f.app.ladder",
        &["is for kind = \"video\""],
    ),
    (
        TCP,
        "app = { kind = \"rate\", rate = \"1Mbps\", evry = \"1s\" }",
        ":11: flow.f.app.evry",
        &["did you mean \"every\"?"],
    ),
    (TCP, "app = \"0bps\"", ":11: flow.f.app", &["must be more than zero"]),
    (TCP, "app = { kind = \"rate\", rate = \"0bps\" }", ":11: flow.f.app.rate", &["must be more than zero"]),
    (
        TCP,
        "app = { kind = \"rate\", schedule = [[\"0s\", \"0bps\"]] }",
        ":11: flow.f.app.schedule",
        &["must be more than zero"],
    ),
    (TCP, "app = { kind = \"rate\" }", ":11: flow.f.app.rate", &["is missing", "or a schedule"]),
    (
        TCP,
        "app = { kind = \"rate\", rate = \"1bps\", every = \"2s\" }",
        ":11: flow.f.app.every",
        &["less than a byte", "write a longer time"],
    ),
    (
        TCP,
        "app = { kind = \"rate\", rate = \"1Mbps\", late = \"drop\" }",
        ":11: flow.f.app.most",
        &["is missing", "most = \"100kB\""],
    ),
    (
        TCP,
        "app = { kind = \"rate\", rate = \"1Mbps\", most = \"1kB\" }",
        ":11: flow.f.app.most",
        &["no effect", "leave it out"],
    ),
    (
        TCP,
        "app = { kind = \"on_off\", on = \"1s\", size = \"1kB\", off = \"1s\" }",
        ":11: flow.f.app.size",
        &["either on or size"],
    ),
    (TCP, "app = { kind = \"on_off\", off = \"1s\" }", ":11: flow.f.app.on", &["is missing", "on = \"2s\""]),
    (
        TCP,
        "app = { kind = \"on_off\", size = \"1kB\", rate = \"1Mbps\", off = \"1s\" }",
        ":11: flow.f.app.rate",
        &["leave it out"],
    ),
    (
        TCP,
        "app = { kind = \"on_off\", on = \"1s\", off = \"0s\" }",
        ":11: flow.f.app.off",
        &["must be more than zero"],
    ),
    (
        TCP,
        "app = { kind = \"requests\" }",
        ":11: flow.f.app.response",
        &["is missing", "response = \"20kB\""],
    ),
    (
        TCP,
        "app = { kind = \"requests\", response = \"web_serch\" }",
        ":11: flow.f.app.response",
        &["did you mean \"web_search\"?"],
    ),
    (
        TCP,
        "app = { kind = \"requests\", response = \"zzz\" }",
        ":11: flow.f.app.response",
        &["the names are web_search"],
    ),
    (
        TCP,
        "app = { kind = \"requests\", response = \"1kB\", random = true }",
        ":11: flow.f.app.random",
        &["leave it out, or write a time"],
    ),
    (TCP, "app = { kind = \"page\" }", ":11: flow.f.app.page", &["is missing", "page = \"median\""]),
    (
        TCP,
        "app = { kind = \"page\", page = \"small\", har = \"x.har\" }",
        ":11: flow.f.app.har",
        &["one of page, objects and har"],
    ),
    (
        TCP,
        "app = { kind = \"page\", objects = [[\"1kB\"], [\"1kB\", 1]] }",
        ":11: flow.f.app.objects",
        &["object 1", "an object before it"],
    ),
    (
        TCP,
        "app = { kind = \"page\", objects = [[\"1kB\"], [\"1kB\", 7]] }",
        ":11: flow.f.app.objects",
        &["object 1", "an object before it"],
    ),
    (
        TCP,
        "app = { kind = \"page\", page = \"small\", protocol = \"http3\" }",
        ":11: flow.f.app.protocol",
        &["needs quic", "write quic = {}"],
    ),
    (
        QUIC,
        "app = { kind = \"page\", page = \"small\", protocol = \"http1\" }",
        ":11: flow.f.app.protocol",
        &["is for tcp", "\"http3\""],
    ),
    (
        TCP,
        "app = { kind = \"page\", page = \"small\", connections = 3 }",
        ":11: flow.f.app.connections",
        &["is for protocol = \"http1\""],
    ),
    (
        TCP,
        "app = { kind = \"video\", ladder = [\"2Mbps\", \"1Mbps\"] }",
        ":11: flow.f.app.ladder",
        &["more than the rate before it"],
    ),
    (TCP, "app = { kind = \"video\", ladder = [] }", ":11: flow.f.app.ladder", &["1 to 30 rates"]),
    (
        TCP,
        "app = { kind = \"video\", ladder = [\"1Mbps\"], buffer = \"7s\" }",
        ":11: flow.f.app.buffer",
        &["at least two chunks, 8s"],
    ),
    (
        TCP,
        "app = { kind = \"video\", ladder = [\"1Mbps\"], algorithm = \"fixed\" }",
        ":11: flow.f.app.rate",
        &["is missing", "rates of the ladder"],
    ),
    (
        TCP,
        "app = { kind = \"video\", ladder = [\"1Mbps\"], algorithm = \"fixed\", rate = \"2Mbps\" }",
        ":11: flow.f.app.rate",
        &["is not in the ladder"],
    ),
    (
        TCP,
        "app = { kind = \"video\", ladder = [\"1Mbps\"], sizes = \"two.csv\", length = \"8s\" }",
        ":11: flow.f.app.sizes",
        &["two.csv:1: has 2 sizes; the ladder has 1"],
    ),
    (
        TCP,
        "app = { kind = \"video\", ladder = [\"1Mbps\", \"2Mbps\"], sizes = \"two.csv\", length = \"40s\" }",
        ":11: flow.f.app.sizes",
        &["the video has 10 chunks; the file has 2"],
    ),
    (
        TCP,
        "app = { kind = \"frames\" }",
        ":11: flow.f.app.rate",
        &["is missing", "write a value such as \"1.5Mbps\""],
    ),
    (
        TCP,
        "app = { kind = \"rate\", rate = \"1Mbps\", group = 30 }",
        ":11: flow.f.app.group",
        &["is for kind = \"frames\""],
    ),
    (
        TCP,
        "app = { kind = \"frames\", rate = \"1Mbps\", audio = \"24kbps\" }",
        ":11: flow.f.app.audio",
        &["needs quic", "write a udp flow beside it"],
    ),
    (
        TCP,
        "app = { kind = \"frames\", rate = \"1Mbps\", streams = \"group\" }",
        ":11: flow.f.app.streams",
        &["needs quic"],
    ),
    (
        TCP,
        "app = { kind = \"frames\", rate = \"1Mbps\", late = \"cancel\" }",
        ":11: flow.f.app.late",
        &["need quic", "\"keep\" or \"drop\""],
    ),
    (
        QUIC,
        "app = { kind = \"frames\", rate = \"1Mbps\", late = \"stop\", streams = \"one\" }",
        ":11: flow.f.app.streams",
        &["\"group\" or a \"frame\""],
    ),
    (
        TCP,
        "app = { kind = \"frames\", rate = \"1Mbps\", max = \"3Mbps\" }",
        ":11: flow.f.app.max",
        &["adapt = \"off\""],
    ),
    (
        TCP,
        "app = { kind = \"frames\", rate = \"9Mbps\", adapt = \"backlog\" }",
        ":11: flow.f.app.rate",
        &["from min", "to max"],
    ),
    (
        TCP,
        "app = { kind = \"frames\", frames = \"two.csv\" }",
        ":11: flow.f.app.frames",
        &["two.csv:1: must be one size"],
    ),
    (
        TCP,
        "app = { kind = \"frames\", layers = [{ rate = \"1Mbps\", late = \"stop\" }] }",
        ":11: flow.f.app.layers[0].late",
        &["need quic"],
    ),
    (
        TCP,
        "app = { kind = \"rate\", rate = \"1Gbps\", every = \"10us\" }",
        ":11: flow.f.app",
        &["about 10000000 messages are too many", "write a longer every"],
    ),
    (
        "tcp = { short_segments = false }",
        "app = \"1Mbps\"",
        ":11: flow.f.app",
        &["short_segments = false", "leave it out"],
    ),
];

#[test]
fn mistakes_in_applications_are_told_with_their_remedy() {
    std::fs::write(std::env::temp_dir().join("two.csv"), "1000,2000\n1000,2000\n").unwrap();
    let mut wrong = Vec::new();
    for (transport, lines, place, words) in MISTAKES {
        if *transport == QUIC && cfg!(not(feature = "quic")) {
            continue;
        }
        let message = told(transport, lines);
        if !message.starts_with(&format!("{place}:")) || !words.iter().all(|word| message.contains(word)) {
            wrong.push(format!("{lines}\n  told {message}\n  expected {place} {words:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_page_has_at_most_two_thousand_objects() {
    let objects = |count: usize| {
        vec!["[\"1kB\"]".to_string(); 1]
            .into_iter()
            .chain(vec!["[\"1kB\", 0]".into(); count - 1])
            .collect::<Vec<_>>()
            .join(", ")
    };
    let app = |count| format!("app = {{ kind = \"page\", objects = [{}] }}", objects(count));
    assert_eq!(told(TCP, &app(2_000)), "nothing");
    let message = told(TCP, &app(2_001));
    assert!(message.starts_with(":11: flow.f.app.objects: 2001 objects are too many"), "{message}");
}
