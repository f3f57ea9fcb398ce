//! What reading a recording costs, for benches/instructions.py: `reading_cost FILE table` makes the description of a file,
//! `reading_cost FILE rows` also records the rows of its first flow. Prints the number of packets; `time` as a third argument
//! also the rates.

#![allow(clippy::disallowed_types, reason = "a program that measures time")]

use ackclock_trace::{Reader, Settings};
use std::time::Instant;

const PIECE: usize = 1 << 20;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, what, ..] = &arguments[..] else {
        return Err("reading_cost FILE table|rows [time]".to_owned());
    };
    let bytes = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let chosen = (what == "rows").then_some((0, 0));
    let begin = Instant::now();
    let mut reader = Reader::new(Settings { chosen, ..Settings::default() });
    bytes.chunks(PIECE).try_for_each(|piece| reader.push(piece))?;
    reader.finish()?;
    let description = reader.description();
    let seconds = begin.elapsed().as_secs_f64();
    let packets: f64 = description
        .split_once("\"packets\":")
        .and_then(|(_, rest)| rest.split([',', '}']).next()?.parse().ok())
        .ok_or("the file is no capture")?;
    println!("{{\"packet_hops\": {packets}}}");
    if arguments.len() > 3 {
        let rate = bytes.len() as f64 / seconds / 1e6;
        eprintln!("{:.2} million packets a second, {rate:.0} MB/s", packets / seconds / 1e6);
    }
    Ok(())
}
