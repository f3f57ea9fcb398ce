//! Files of other programs: what they are, for messages.

/// What a file is, by its beginning: "a packet capture (pcap)", and how it is converted. None if it is not recognised.
pub fn foreign_kind(content: &[u8]) -> Option<&'static str> {
    const MAGIC: [(&[u8], &str); 9] = [
        (b"\xd4\xc3\xb2\xa1", "a packet capture (pcap)"),
        (b"\xa1\xb2\xc3\xd4", "a packet capture (pcap)"),
        (b"\x4d\x3c\xb2\xa1", "a packet capture (pcap)"),
        (b"\xa1\xb2\x3c\x4d", "a packet capture (pcap)"),
        (b"\x0a\x0d\x0d\x0a", "a packet capture (pcapng)"),
        (b"PAR1", "a Parquet table"),
        (b"SQLite format 3\0", "an SQLite database, such as the store of a study"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1f\x8b", "a file compressed with gzip"),
    ];
    if let Some((_, kind)) = MAGIC.iter().find(|(magic, _)| content.starts_with(magic)) {
        return Some(kind);
    }
    let text = String::from_utf8_lossy(&content[..content.len().min(4096)]);
    let text = text.trim_start_matches(['\u{feff}', '\u{1e}']).trim_start();
    let has = |words: &[&str]| words.iter().all(|word| text.contains(word));
    if text.starts_with(['{', '[']) {
        // A table of TOML begins with a name in brackets.
        let json = text.starts_with('{')
            || text.trim_start_matches(['[', ' ', '\n', '\r', '\t']).starts_with(['{', '"', '-', ']'])
            || text.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
        return match () {
            _ if !json => None,
            _ if has(&["MEAN_MOTION"]) => {
                Some("orbital elements in OMM form (JSON); use two-line elements (TLE)")
            }
            _ if has(&["\"qlog_"]) || has(&["\"file_schema\""]) => Some("a qlog"),
            _ if has(&["\"intervals\""]) || has(&["iperf"]) => Some("a result of iperf3 (JSON)"),
            _ if has(&["\"metadata\"", "\"BATCH_"]) || has(&["\"raw_values\""]) => {
                Some("a data file of Flent (JSON)")
            }
            _ => Some("JSON"),
        };
    }
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    match () {
        _ if text.starts_with("<?xml") || text.starts_with("<ndm") => match has(&["MEAN_MOTION"]) {
            true => Some("orbital elements in OMM form (XML); use two-line elements (TLE)"),
            false => Some("XML"),
        },
        _ if text.starts_with("OBJECT_NAME,") && has(&["MEAN_MOTION"]) => {
            Some("orbital elements in OMM form (CSV); use two-line elements (TLE)")
        }
        _ if has(&["socket(...", "= 3"])
            || lines().any(|line| line.starts_with("+0 >") || line.starts_with("+0 <")) =>
        {
            Some("a script of packetdrill")
        }
        // A movement, which is read, can begin like a script.
        _ if !text.contains("setdest")
            && lines().any(|line| line.starts_with("set ns ") || line.ends_with("[new Simulator]")) =>
        {
            Some("a Tcl script of ns-2")
        }
        _ if lines().any(|line| line == "graph [") => Some("a graph in GML form"),
        _ if text.starts_with("PING ") => Some("the output of ping"),
        _ if text.starts_with("<!DOCTYPE html") || text.starts_with("<html") => Some("an HTML page"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_recognised() {
        for (content, kind) in [
            (&b"\xd4\xc3\xb2\xa1\x02\0\x04\0"[..], "pcap"),
            (b"\x0a\x0d\x0d\x0a\x1c\0\0\0", "pcapng"),
            (b"\x1e{\"qlog_version\":\"0.3\"}", "a qlog"),
            (b"{\n \"start\": {}, \"intervals\": []}", "iperf3"),
            (b"[{\"OBJECT_NAME\":\"X\",\"MEAN_MOTION\":15.2}]", "OMM"),
            (b"// own script\n 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n", "packetdrill"),
            (b"graph [\n label \"three\"\n", "GML"),
            (b"set ns [new Simulator]\n", "ns-2"),
            (b"PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.", "ping"),
        ] {
            assert!(foreign_kind(content).is_some_and(|said| said.contains(kind)), "{kind}");
        }
        for ours in [
            "duration = \"1s\"\n",
            "[[link]]\nends = [\"a\"]",
            "[tcp]\nmss = 3",
            "12\n13\n",
            "time_s,bps\n0,1",
            "",
        ] {
            assert_eq!(foreign_kind(ours.as_bytes()), None, "{ours}");
        }
    }
}
