//! Reads the objects of a page from a HAR file, as browsers save them (HTTP Archive 1.2, with Chromium's `_transferSize` and
//! `_initiator`). Addresses connect entries while a file is read; nothing of them is stored.

use super::page::{LARGEST_OBJECT, MOST_OBJECTS, Page, PageObject};
use super::rate_log;
use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use units::Span;

/// The largest file, bytes.
const LARGEST_FILE: usize = 10_000_000;
/// The longest time from the end of a parent to a request, s. Later requests are answers to the user, or polls.
const LONGEST_PARSE_S: f64 = 5.0;

/// An entry: a request and its response.
struct Entry {
    url: String,
    /// Addresses of what may have caused the request, the nearest first.
    initiators: Vec<String>,
    /// Begin of the request, s since 1970.
    start_s: f64,
    /// End of the response, s since 1970.
    end_s: f64,
    /// Size of the response, bytes.
    bytes: u64,
}

/// The objects of the page, parents first. Fails with a message that has the entry's number, from 1.
pub(super) fn objects(text: &str) -> Result<Vec<PageObject>, String> {
    if text.len() > LARGEST_FILE {
        return Err(format!("has {} bytes; a HAR file may have {LARGEST_FILE}", text.len()));
    }
    let har: Har = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| format!("is not a HAR file: {error}; save one in the network view of a browser"))?;
    let entries = har.log.entries.0?;
    if entries.is_empty() {
        return Err("has no entries; load the page while the network view of the browser is open".into());
    }
    let parents = parents(&entries);
    let order = parents_first(&parents)?;
    let mut index_of = vec![0; entries.len()];
    order.iter().enumerate().for_each(|(index, entry)| index_of[*entry] = index as u32);
    let begin_s = entries.iter().map(|entry| entry.start_s).fold(f64::INFINITY, f64::min);
    let object = |&entry: &usize| {
        let after_s = parents[entry].map_or(begin_s, |parent| entries[parent].end_s);
        let parse_s = (entries[entry].start_s - after_s).clamp(0.0, LONGEST_PARSE_S);
        PageObject {
            bytes: entries[entry].bytes,
            parent: parents[entry].map(|parent| index_of[parent]),
            // Seconds since 1970 in a `f64` are exact to a quarter of a microsecond.
            parse: Span::from_us((parse_s * 1e6).round() as u64),
        }
    };
    Ok(order.iter().map(object).collect())
}

/// The parent of each entry: the initiator, if it is an entry, or else the last entry that ended before this one began.
fn parents(entries: &[Entry]) -> Vec<Option<usize>> {
    let mut of_url: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, entry) in entries.iter().enumerate() {
        of_url.entry(&entry.url).or_default().push(index);
    }
    let initiator = |index: usize, url: &String| {
        // Of several entries with the address the last one before this entry, or else the first one after it. A document that
        // loads itself again does not wait for itself.
        let same = of_url.get(url.as_str())?;
        same.iter().rev().find(|other| **other < index).or(same.iter().find(|other| **other > index)).copied()
    };
    let ended_before = |entry: &Entry, index: usize| {
        let ended = entries
            .iter()
            .enumerate()
            .filter(|(other, before)| *other != index && before.end_s <= entry.start_s);
        ended.max_by(|(_, a), (_, b)| a.end_s.total_cmp(&b.end_s)).map(|(other, _)| other)
    };
    let parent = |(index, entry): (usize, &Entry)| {
        let named = entry.initiators.iter().find_map(|url| initiator(index, url));
        named.or_else(|| ended_before(entry, index))
    };
    entries.iter().enumerate().map(parent).collect()
}

/// The entries in their order, except that parents come before their children. Fails if an entry is its own ancestor.
fn parents_first(parents: &[Option<usize>]) -> Result<Vec<usize>, String> {
    let mut order = Vec::with_capacity(parents.len());
    let mut is_placed = vec![false; parents.len()];
    for entry in 0..parents.len() {
        // The entry and its ancestors that have no place yet, the youngest first.
        let mut line = Vec::new();
        let mut next = Some(entry);
        while let Some(ancestor) = next.filter(|ancestor| !is_placed[*ancestor]) {
            if line.len() == parents.len() {
                return Err(format!(
                    "entry {}: its initiators lead in a cycle; remove _initiator of one of them",
                    entry + 1
                ));
            }
            line.push(ancestor);
            next = parents[ancestor];
        }
        for ancestor in line.into_iter().rev() {
            is_placed[ancestor] = true;
            order.push(ancestor);
        }
    }
    Ok(order)
}

/// A file, of which all but the entries is skipped.
#[derive(serde::Deserialize)]
struct Har {
    log: Log,
}

#[derive(serde::Deserialize)]
struct Log {
    entries: Entries,
}

/// The entries, or what is wrong with one of them.
struct Entries(Result<Vec<Entry>, String>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Entries, D::Error> {
        struct OneByOne;
        impl<'de> Visitor<'de> for OneByOne {
            type Value = Entries;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an array of entries")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Entries, A::Error> {
                let mut entries = Ok(Vec::new());
                while let Some(value) = sequence.next_element::<Value>()? {
                    entries = entries.and_then(|entries| with_next(entries, &value));
                    if entries.is_err() {
                        while sequence.next_element::<IgnoredAny>()?.is_some() {}
                        break;
                    }
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_seq(OneByOne)
    }
}

/// The entries and one more.
fn with_next(mut entries: Vec<Entry>, value: &Value) -> Result<Vec<Entry>, String> {
    if entries.len() == MOST_OBJECTS {
        return Err(format!("has more than {MOST_OBJECTS} entries; a page has at most so many objects"));
    }
    let number = entries.len() + 1;
    entries.push(read_entry(value).map_err(|message| format!("entry {number}: {message}"))?);
    Ok(entries)
}

fn read_entry(value: &Value) -> Result<Entry, String> {
    let date = value["startedDateTime"].as_str().and_then(rate_log::date);
    let start_s =
        date.ok_or("startedDateTime must be a date with a time, such as \"2026-01-31T09:30:00.250Z\"")?;
    let time_ms = value["time"].as_f64().ok_or("time must be a number of milliseconds")?;
    if !(0.0..1e12).contains(&time_ms) {
        return Err(format!("time is {time_ms} ms; it must be 0 or more"));
    }
    let mut initiators = Vec::new();
    add_initiators(&value["_initiator"], &mut initiators);
    let url = without_fragment(value["request"]["url"].as_str().unwrap_or_default());
    let bytes = size(&value["response"])?;
    Ok(Entry { url, initiators, start_s, end_s: start_s + time_ms / 1e3, bytes })
}

/// The bytes of a response: at least one, also of one from a cache.
fn size(response: &Value) -> Result<u64, String> {
    // -1 stands for unknown.
    let known = |value: &Value| value.as_f64().filter(|bytes| *bytes >= 0.0);
    let headers = known(&response["headersSize"]).unwrap_or(0.0);
    let bytes = known(&response["_transferSize"])
        .or_else(|| known(&response["bodySize"]).map(|body| body + headers))
        .or_else(|| known(&response["content"]["size"]))
        .ok_or("its response has no size; write _transferSize, bodySize or content.size, bytes")?;
    if bytes > LARGEST_OBJECT as f64 {
        return Err(format!("its response has {bytes} bytes; at most 10^12 are possible"));
    }
    Ok((bytes as u64).max(1))
}

/// Adds the addresses of what caused a request: an address alone, that of a parser, or those of the scripts of a stack.
fn add_initiators(initiator: &Value, urls: &mut Vec<String>) {
    let mut add =
        |value: &Value| urls.extend(value.as_str().filter(|url| !url.is_empty()).map(without_fragment));
    add(initiator);
    add(&initiator["url"]);
    let mut stack = &initiator["stack"];
    while let Some(frames) = stack["callFrames"].as_array() {
        frames.iter().for_each(|frame| add(&frame["url"]));
        stack = &stack["parent"];
    }
}

fn without_fragment(url: &str) -> String {
    url.split('#').next().unwrap_or_default().into()
}

impl Page {
    /// The page that a HAR file (HTTP Archive 1.2) records, as if one server had all of it. An object's size is
    /// `_transferSize`, or else `bodySize` with the headers, or else `content.size`; its parent the entry that `_initiator`
    /// names, or else the last one that ended before it began; `parse` its start less the parent's end, from 0 to 5 s. Fails
    /// with a message that has the entry's number, from 1. No address is part of the page or of a message.
    pub fn from_har(text: &str) -> Result<Page, String> {
        Page::new(objects(text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::Page;
    use super::*;
    use proptest::prelude::*;

    /// An entry: address, begin in ms after 9:30, length in ms, and more keys.
    fn entry(url: &str, begin: u64, length: i64, more: &str) -> String {
        format!(
            r#"{{"startedDateTime": "2026-01-31T09:30:{:02}.{:03}Z", "time": {length}, "request": {{"url": "{url}"}}, {more}}}"#,
            begin / 1000,
            begin % 1000
        )
    }

    fn read(entries: &[String]) -> Result<Vec<(u64, Option<u32>, u64)>, String> {
        let page = Page::from_har(&format!(
            r#"{{"log": {{"version": "1.2", "entries": [{}]}}}}"#,
            entries.join(",")
        ))?;
        let row = |object: &PageObject| (object.bytes, object.parent, object.parse.ps() / 1_000_000_000);
        Ok(page.objects().iter().map(row).collect())
    }

    const SIZE: &str = r#""response": {"_transferSize": 1000}"#;

    fn started_by(url: &str) -> String {
        format!(r#""_initiator": {{"type": "parser", "url": "{url}"}}, {SIZE}"#)
    }

    #[test]
    fn initiators_are_parents() {
        let of_script = r#""_initiator": {"type": "script", "stack": {"callFrames": [{"url": "inline"}],
            "parent": {"callFrames": [{"url": "https://a/x.js"}]}}}, "response": {"bodySize": 500, "headersSize": 120}"#;
        let entries = [
            entry(
                "https://a/#top",
                0,
                100,
                r#""_initiator": {"type": "other"}, "response": {"_transferSize": 0}"#,
            ),
            entry("https://a/x.js", 50, 200, &started_by("https://a/")),
            entry("https://a/y.png", 300, 40, of_script),
            entry("https://a/z.css", 260, 10, &started_by("https://a/#here")),
            entry("https://a/late", 9_000, 10, &started_by("https://a/y.png")),
        ];
        let rows = [
            (1, None, 0),
            (1000, Some(0), 0),
            (620, Some(1), 50),
            (1000, Some(0), 160),
            (1000, Some(2), 5_000),
        ];
        assert_eq!(read(&entries).unwrap(), rows);
    }

    #[test]
    fn without_initiators_the_last_to_end_is_the_parent() {
        let content = r#""response": {"bodySize": -1, "headersSize": -1, "content": {"size": 77}}"#;
        let entries = [
            entry("u", 0, 100, content),
            entry("v", 110, 300, SIZE),
            entry(
                "w",
                120,
                30,
                r#""_initiator": "elsewhere", "response": {"bodySize": 5, "headersSize": -1}"#,
            ),
            entry("x", 150, 10, SIZE),
            entry("y", 500, 10, SIZE),
            entry("z", 20, 10, SIZE),
        ];
        let rows = [
            (77, None, 0),
            (1000, Some(0), 10),
            (5, Some(0), 20),
            (1000, Some(2), 0),
            (1000, Some(1), 90),
            (1000, None, 20),
        ];
        assert_eq!(read(&entries).unwrap(), rows);
    }

    #[test]
    fn parents_come_first_and_the_last_entry_of_an_address_counts() {
        // The second entry is started by the third, which comes later in the file.
        let entries = [
            entry("html", 0, 10, SIZE),
            entry("b", 30, 10, &started_by("a")),
            entry("a", 10, 10, &started_by("html")),
            entry("a", 50, 10, &started_by("html")),
            entry("c", 70, 10, &started_by("a")),
        ];
        let rows = [
            (1000, None, 0),
            (1000, Some(0), 0),
            (1000, Some(1), 10),
            (1000, Some(0), 40),
            (1000, Some(3), 10),
        ];
        assert_eq!(read(&entries).unwrap(), rows);
        // A document that loads itself again.
        assert_eq!(read(&[entry("a", 0, 10, &started_by("a"))]).unwrap(), [(1000, None, 0)]);
    }

    #[test]
    fn mistakes_have_the_number_of_the_entry() {
        let good = entry("a", 0, 10, SIZE);
        let second = |more: String| read(&[good.clone(), more, good.clone()]).unwrap_err();
        assert!(read(&[]).unwrap_err().starts_with("has no entries; load the page while"));
        assert_eq!(second(entry("b", 0, -5, SIZE)), "entry 2: time is -5 ms; it must be 0 or more");
        assert!(
            second(entry("b", 0, 5, r#""response": {"bodySize": -1}"#))
                .starts_with("entry 2: its response has no size")
        );
        assert!(
            second(entry("b", 0, 5, r#""response": {"bodySize": 1e13}"#))
                .starts_with("entry 2: its response has 1")
        );
        assert!(
            second(entry("b", 0, 5, SIZE).replace("2026-", "x"))
                .starts_with("entry 2: startedDateTime must be")
        );
        assert!(
            second(entry("b", 0, 5, SIZE).replace("\"time\": 5", "\"time\": \"5\""))
                .contains("entry 2: time must be a")
        );
        assert!(second("7".into()).starts_with("entry 2: startedDateTime"));
        let cycle = [
            entry("html", 0, 10, SIZE),
            entry("a", 20, 10, &started_by("b")),
            entry("b", 20, 10, &started_by("a")),
        ];
        assert!(read(&cycle).unwrap_err().starts_with("entry 2: its initiators lead in a cycle"));
        let many = vec![good; MOST_OBJECTS + 1];
        assert!(read(&many[1..]).is_ok_and(|rows| rows.len() == MOST_OBJECTS));
        assert!(read(&many).unwrap_err().starts_with("has more than 2000 entries"));
        for text in [
            "",
            "{}",
            "[]",
            r#"{"log": {"entries": 7}}"#,
            r#"{"log": {"entries": ["#,
            "\u{feff}{\"log\": {}}",
        ] {
            let error = Page::from_har(text).unwrap_err();
            assert!(
                error.starts_with("is not a HAR file: ") && error.contains("save one in"),
                "{text}: {error}"
            );
        }
        assert!(Page::from_har(&" ".repeat(LARGEST_FILE + 1)).unwrap_err().starts_with("has 10000001 bytes"));
        assert!(Page::from_har(&"[".repeat(1_000_000)).is_err());
    }

    #[test]
    fn no_address_is_part_of_a_message() {
        let secret = entry("https://secret/", 0, -5, r#""_initiator": "https://secret/", "response": {}"#);
        assert!(!read(&[secret]).unwrap_err().contains("secret"));
    }

    proptest! {
        /// Pieces of files in any order give a page or an error.
        #[test]
        fn any_text_gives_a_page_or_an_error(
            pieces in prop::collection::vec((0usize..6, 0u64..3_000, -3i64..3_000, 0usize..6), 0..40),
            cut in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let one = |&(url, begin, length, by): &(usize, u64, i64, usize)| {
                entry(&format!("u{url}"), begin, length, &started_by(&format!("u{by}")))
            };
            let list = pieces.iter().map(one).collect::<Vec<_>>().join(",");
            let text = format!(r#"{{"log": {{"entries": [{list}]}}}}"#);
            if let Ok(page) = Page::from_har(&text) {
                prop_assert_eq!(page.objects().len(), pieces.len());
            }
            let mut bytes = text.into_bytes();
            let place = cut.index(bytes.len());
            bytes[place] = byte;
            let _ = Page::from_har(&String::from_utf8_lossy(&bytes));
        }
    }
}
