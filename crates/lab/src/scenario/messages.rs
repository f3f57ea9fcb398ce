//! The messages that the applications of a scenario are expected to have: a run keeps each of them.

use super::app_model::{Amount, App, PageApp};
use super::model::{Duplex, Flow};
use super::paths::{PathNodes, lay_out};
use super::reading::Result;
use super::table::NamedTable;
use units::{Span, Time};

/// The most messages of a run.
const MOST_MESSAGES: f64 = 1e6;

/// What a path permits at most: its round-trip time, and the bytes that it delivers.
#[derive(Clone, Copy, Debug)]
struct PathBounds {
    round_trip_s: f64,
    bytes_per_s: f64,
    /// What a packet has besides its data, bytes.
    header: f64,
}

impl PathBounds {
    const NONE: PathBounds = PathBounds { round_trip_s: 0.0, bytes_per_s: f64::INFINITY, header: 0.0 };
}

/// Reports applications that have too many messages together in a run of `duration`, at the table of the one with the most.
/// `links` are the links of a network without satellites and radio; otherwise only what needs no path is counted.
pub(super) fn check_messages(
    tables: &[Result<NamedTable<'_>>],
    flows: &[Flow],
    links: Option<&[Duplex]>,
    duration: Span,
) -> Result<()> {
    let mut expected: Vec<(usize, f64)> = flows
        .iter()
        .enumerate()
        .filter_map(|(number, flow)| Some((number, flow.expected_messages(duration, PathBounds::NONE)?)))
        .collect();
    let sum = |expected: &[(usize, f64)]| expected.iter().map(|(_, messages)| messages).sum::<f64>();
    if sum(&expected) <= MOST_MESSAGES {
        return Ok(());
    }
    // Where a loop takes no time of its own, the path decides how often it comes round.
    for (number, messages) in &mut expected {
        let bounds = links.and_then(|links| bounds(links, &flows[*number], duration));
        *messages = match bounds {
            Some(bounds) => flows[*number].expected_messages(duration, bounds).unwrap_or(0.0),
            None if messages.is_finite() => *messages,
            None => 0.0,
        };
    }
    let all = sum(&expected);
    let most = expected.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let (Some((number, _)), true) = (most, all > MOST_MESSAGES) else { return Ok(()) };
    let (Some(Ok(table)), Some(app)) = (tables.get(*number), flows[*number].app.as_deref()) else {
        return Ok(());
    };
    let remedy = match app {
        App::Rate(_) => "write a longer every",
        App::OnOff(_) => "write a longer off, or a smaller rate",
        App::Requests(_) => "write a longer think, or fewer requests, connections or outstanding",
        App::Page(_) => "write a longer repeat, or a page with fewer objects",
        App::Video(_) => "write a longer chunk",
        App::Frames(_) => "write a smaller fps",
    };
    let message = format!(
        "about {all:.0} messages are too many; a run has at most {MOST_MESSAGES:.0}: {remedy}, or a shorter duration"
    );
    Err(table.reader.error("app", message))
}

/// The bounds of the path of a flow; none if it has no path.
fn bounds(links: &[Duplex], flow: &Flow, duration: Span) -> Option<PathBounds> {
    let (topology, nodes) = lay_out(links, &[]);
    let (from, to) = (nodes.of(&flow.from), nodes.of(&flow.to));
    let nodes = PathNodes { topology: &topology, radio: 0..0, terminals: 0..0, ecmp: None };
    let paths = nodes.paths(&[(from, to), (to, from)])?;
    let direction = |link: &net::LinkId| &links[link.0 as usize / 2].directions[link.0 as usize % 2];
    let round_trip_s =
        paths.iter().flat_map(|path| path.links()).map(|link| direction(link).delay.seconds()).sum();
    let rates = paths[0].links().map(|link| direction(link).mean_rate(Time::ZERO + duration).bps());
    let header = f64::from(flow.kind.header());
    Some(PathBounds { round_trip_s, bytes_per_s: rates.min()? as f64 / 8.0, header })
}

impl Flow {
    /// The messages of its application in a run of `duration`, about; none without an application.
    fn expected_messages(&self, duration: Span, path: PathBounds) -> Option<f64> {
        let until = self.stop.map_or(duration, |stop| stop.min(duration));
        self.app.as_ref().map(|app| app.expected_messages((until - self.start).seconds(), path))
    }
}

impl App {
    /// The messages in `seconds`, about.
    fn expected_messages(&self, seconds: f64, path: PathBounds) -> f64 {
        match self {
            App::Rate(rate) => {
                let every = rate.every.seconds();
                let steps = rate.schedule.iter().enumerate().map(|(step, (at, rate_of_step))| {
                    let next = rate.schedule.get(step + 1).map_or(seconds, |(at, _)| at.seconds());
                    let time = (next.min(seconds) - at.seconds()).max(0.0);
                    // A write without a byte is none.
                    (time / every).min(time * rate_of_step.bps() as f64 / 8.0)
                });
                steps.sum()
            }
            App::OnOff(periods) => {
                let off = periods.off.seconds();
                match &periods.amount {
                    Amount::Size(_) => seconds / off,
                    Amount::Time(on, None) => seconds / (on.seconds() + off),
                    Amount::Time(on, Some(rate)) => {
                        let on = on.seconds();
                        let writes = (on / 0.01 + 1.0).min(on * rate.bps() as f64 / 8.0 + 1.0);
                        seconds / (on + off) * writes
                    }
                }
            }
            App::Requests(requests) => {
                let bytes = requests.response.mean() + path.header;
                let own = requests.think.seconds() + requests.service.seconds();
                let turn = own + path.round_trip_s + bytes / path.bytes_per_s;
                let most = requests.requests.map_or(f64::INFINITY, |most| most as f64);
                let turns = (seconds / turn * f64::from(requests.outstanding)).min(most);
                (turns * f64::from(requests.connections)).min(seconds * path.bytes_per_s / bytes)
            }
            App::Page(page) => {
                let objects = page.page.objects().len() as f64;
                let Some(repeat) = page.repeat else { return objects };
                let load =
                    page.longest_chain_s(path.round_trip_s) + page.page.bytes() as f64 / path.bytes_per_s;
                // The first page is there at any rate.
                objects * (1.0 + seconds / (load + repeat.seconds()))
            }
            App::Video(video) => {
                let chunk = video.chunk.seconds();
                let buffered = video.buffer.seconds();
                ((seconds + buffered) / chunk).min((video.length.seconds() / chunk).ceil())
            }
            App::Frames(frames) => seconds * f64::from(frames.fps) * frames.layers.len() as f64,
        }
    }
}

impl PageApp {
    /// The longest chain of objects that are known one from the other: for each a round trip, and the time until it is asked for.
    fn longest_chain_s(&self, round_trip_s: f64) -> f64 {
        let objects = self.page.objects();
        let mut ends = Vec::with_capacity(objects.len());
        for object in objects {
            let before: f64 = object.parent.map_or(0.0, |parent| ends[parent as usize]);
            ends.push(before + object.parse.seconds() + round_trip_s);
        }
        ends.into_iter().fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn told(app: &str) -> Result<(), String> {
        let text = format!(
            "duration = \"100s\"\n[[link]]\nends = [\"a\", \"b\"]\nrate = \"80Mbps\"\ndelay = \"5ms\"\n\
             [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\napp = {app}\n"
        );
        Scenario::parse("s", &text, &[]).map(|_| ()).map_err(|error| error.to_string())
    }

    #[test]
    fn too_many_messages_are_told() {
        // 100 s of 10 ms for each request; 10^7 bytes a second.
        for (app, about) in [
            ("{ kind = \"rate\", rate = \"8Mbps\", every = \"99us\" }", "1010101"),
            ("{ kind = \"rate\", rate = \"1Mbps\", every = \"1us\" }", "12500000"),
            ("{ kind = \"on_off\", size = \"1B\", off = \"50us\" }", "2000000"),
            ("{ kind = \"on_off\", on = \"10us\", off = \"10us\" }", "5000000"),
            ("{ kind = \"requests\", response = \"1B\", outstanding = 150 }", "1499205"),
            ("{ kind = \"requests\", response = \"200B\", outstanding = 1000 }", "3968254"),
            (
                "{ kind = \"page\", objects = [[\"1B\"]], repeat = \"0s\", connections = 1, protocol = \"http1\" }",
                "",
            ),
            ("{ kind = \"requests\", response = \"1kB\", outstanding = 1000 }", ""),
            ("{ kind = \"requests\", response = \"1B\", outstanding = 150, requests = 900000 }", ""),
            (
                "{ kind = \"requests\", response = \"1B\", think = \"20ms\", connections = 10, outstanding = 40 }",
                "1333098",
            ),
            ("{ kind = \"frames\", rate = \"1Mbps\", fps = 240 }", ""),
            ("{ kind = \"rate\", rate = \"8bps\", every = \"1us\" }", ""),
        ] {
            match told(app) {
                Ok(()) => assert_eq!(about, "", "{app}"),
                Err(error) => {
                    assert!(!about.is_empty(), "{app}: {error}");
                    let start = format!("s:10: flow.f.app: about {about} messages are too many; ");
                    assert!(error.starts_with(&start), "{app}: {error}");
                }
            }
        }
    }
}
