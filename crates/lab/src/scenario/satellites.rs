//! Reads `[constellation]` and `[[terminal]]`.

use super::document::{TomlItem, TomlValue};
use super::links::check_queue;
use super::loss::read_losses;
use super::model::{Direction, RateVariation, Satellites};
use super::queue::read_queue;
use super::table::TableReader;
use super::tle;
use crate::error::{ScenarioError, nearest};
use net::HandoffLoss;
use net::qdisc::Queue;
use orbit::{Constellation, Rule, Rules, SatelliteSystem, Terminal, Walker};
use std::collections::BTreeSet;
use std::sync::Arc;
use units::{Angle, Length, Limit, Rate, Span};

type Result<T> = std::result::Result<T, ScenarioError>;

const KINDS: [&str; 3] = ["iridium", "walker", "tle"];

const MOST: u64 = 100_000;

impl Satellites {
    /// Reads the satellites of a scenario, if it has any. `until` is the end of the tables of two-line elements.
    pub(crate) fn read(top: &TableReader<'_>, until: Span) -> Result<Option<Satellites>> {
        let terminals = top.list("terminal")?;
        let Some(table) = top.table("constellation")? else {
            if terminals.is_some() {
                return Err(top.error("terminal", "needs a [constellation]"));
            }
            return Ok(None);
        };
        let kind = table.need("kind", table.text("kind")?, "such as kind = \"iridium\"")?;
        if !KINDS.contains(&kind) {
            let message = format!("unknown constellation \"{kind}\"; {}", nearest(kind, KINDS));
            return Err(table.error("kind", message));
        }
        let degrees = |key: &'static str, most: f64, default: f64| -> Result<f64> {
            let angle: Option<Angle> = table.quantity(key, "60deg")?;
            match angle.map(Angle::degrees) {
                Some(angle) if angle > most => {
                    Err(table.error(key, format!("must be at most {most} degrees")))
                }
                angle => Ok(angle.unwrap_or(default)),
            }
        };
        let iridium = kind == "iridium";
        let mask = degrees("elevation_mask", 90.0, if iridium { 8.2 } else { 25.0 })?;
        let isl_latitude = degrees("isl_latitude_limit", 90.0, if iridium { 60.0 } else { 90.0 })?;
        let cross_seam_longitude = degrees("cross_seam_longitude", 180.0, 10.0)?;
        let cross_seam = table.switch("cross_seam")?.unwrap_or(false);
        let epoch: Span = table.quantity("epoch", "600s")?.unwrap_or(Span::ZERO);
        let mut constellation = if kind == "tle" {
            read_tle(&table, epoch, until, cross_seam)?
        } else {
            Constellation::walker(&read_walker(&table, iridium)?, cross_seam)
        };
        // Bent-pipe: each path goes over one satellite.
        let bent_pipe = table.switch("bent_pipe")?.unwrap_or(false);
        if bent_pipe {
            constellation.isls.clear();
        }
        let transmitter =
            |key: &'static str, rate: u64| read_transmitter(&table, key, iridium.then_some(rate));
        let (up, down) = (transmitter("up", 1_500_000)?, transmitter("down", 1_500_000)?);
        let isl = if bent_pipe { up.clone() } else { transmitter("isl", 25_000_000)? };
        let header = table.integer("link_header", 0, 1000)?.unwrap_or(if iridium { 16 } else { 0 }) as u32;
        let recompute = read_recompute(&table)?;
        let handoff = read_handoff(&table)?;
        table.finish()?;
        let terminals = read_terminals(top, terminals.unwrap_or(&[]), &constellation)?;
        Ok(Some(Satellites {
            system: Arc::new(SatelliteSystem { constellation, terminals, epoch: epoch.seconds() }),
            rules: Rules {
                mask,
                isl_latitude,
                cross_seam_longitude,
                rule: handoff.rule,
                check: handoff.check,
                jitter: handoff.jitter,
            },
            isl,
            up,
            down,
            header,
            loss: handoff.loss,
            pause: handoff.pause,
            guard_before: handoff.guard_before,
            guard_after: handoff.guard_after,
            recompute,
        }))
    }
}

fn read_walker(table: &TableReader<'_>, iridium: bool) -> Result<Walker> {
    let preset = iridium.then(Walker::iridium);
    let whole = |key: &'static str, most: u64, default: Option<usize>| -> Result<usize> {
        let value = table.integer(key, 1, most)?.map(|n| n as usize).or(default);
        table.need(key, value, "a whole number, such as 72")
    };
    let altitude: Option<Length> = table.quantity("altitude", "780km")?;
    let inclination: Option<Angle> = table.quantity("inclination", "86.4deg")?;
    let plane_spacing: Option<Angle> = table.quantity("plane_spacing", "31.6deg")?;
    let planes = whole("planes", 1000, preset.as_ref().map(|k| k.planes))?;
    let per_plane = whole("per_plane", 1000, preset.as_ref().map(|k| k.per_plane))?;
    if (planes * per_plane) as u64 > MOST {
        return Err(table.error("planes", format!("more than {MOST} satellites")));
    }
    let altitude = altitude.map(Length::km).or(preset.as_ref().map(|k| k.altitude));
    let altitude = table.need("altitude", altitude, "such as altitude = \"550km\"")?;
    if !(100.0..=100_000.0).contains(&altitude) {
        return Err(table.error("altitude", "must be from 100 to 100,000 km"));
    }
    let inclination = inclination.map(Angle::degrees).or(preset.as_ref().map(|k| k.inclination));
    let inclination = table.need("inclination", inclination, "such as inclination = \"53deg\"")?;
    if inclination > 180.0 {
        return Err(table.error("inclination", "must be at most 180 degrees"));
    }
    let phasing = table.number("phasing", 0.0, 1000.0)?;
    let j2 = match table.text("orbit")? {
        None | Some("circular") => false,
        Some("j2") => true,
        Some(other) => {
            let message = format!("unknown orbit \"{other}\"; {}", nearest(other, ["circular", "j2"]));
            return Err(table.error("orbit", message));
        }
    };
    let spacing = plane_spacing.map(Angle::degrees).or(preset.as_ref().map(|k| k.plane_spacing));
    let defaults = preset.unwrap_or(Walker { alternate: false, rounded: false, ..Walker::iridium() });
    Ok(Walker {
        altitude,
        inclination,
        planes,
        per_plane,
        plane_spacing: spacing.unwrap_or(360.0 / planes as f64),
        phasing: match phasing {
            Some(f) => f / planes as f64,
            None if iridium => defaults.phasing,
            None => 0.0,
        },
        alternate: defaults.alternate && phasing.is_none(),
        rounded: defaults.rounded,
        j2,
    })
}

fn read_tle(table: &TableReader<'_>, epoch: Span, until: Span, cross_seam: bool) -> Result<Constellation> {
    let (_, text) = table.need("file", table.file("file")?, "a file of two-line elements")?;
    let per_plane = table.integer("per_plane", 1, 1000)?;
    let motions = tle::read(&text, epoch, until).map_err(|message| table.error("file", message))?;
    let count = motions.len();
    let Some(per_plane) = per_plane else {
        let mut apart = Constellation::grid(motions, count, None, false);
        apart.isls.clear(); // the file does not define neighbours
        return Ok(apart);
    };
    let per_plane = per_plane as usize;
    if !count.is_multiple_of(per_plane) {
        let message = format!("{count} satellites are not a multiple of {per_plane}");
        return Err(table.error("per_plane", message));
    }
    Ok(Constellation::grid(motions, per_plane, None, cross_seam))
}

fn read_transmitter(table: &TableReader<'_>, key: &'static str, rate: Option<u64>) -> Result<Direction> {
    let usual = Direction {
        rate: Rate::from_bps(rate.unwrap_or_default()),
        variation: None,
        delay: Span::ZERO,
        queue: Queue::droptail(Limit::Packets(49)),
        losses: Vec::new(),
        router: None,
    };
    let Some(inner) = table.table(key)? else {
        let example = "such as { rate = \"100Mbps\", queue = { kind = \"droptail\", limit = \"49p\" } }";
        table.need(key, rate, example)?;
        return Ok(usual);
    };
    let value = super::rate::read(&inner)?.or(rate.map(|rate| (Rate::from_bps(rate), None)));
    let (rate, variation) = inner.need("rate", value, "such as rate = \"25Mbps\"")?;
    if let Some(RateVariation::Wifi(_) | RateVariation::Cellular(_) | RateVariation::Grants(_)) = variation {
        return Err(inner.error(
            "rate",
            "a satellite link has no Wi-Fi, no cell and no grants; write a rate such as \"25Mbps\"",
        ));
    }
    let queue = read_queue(&inner)?.unwrap_or(usual.queue);
    let losses = read_losses(&inner)?.unwrap_or_default();
    if !losses.iter().all(|loss| loss.kind().is_random_loss) {
        return Err(inner.error(
            "loss",
            "only \"bernoulli\" and \"gilbert_elliott\" work here; the other kinds are for [[link]]",
        ));
    }
    let transmitter = Direction { rate, variation, queue, losses, ..usual };
    check_queue(&inner, &transmitter)?;
    inner.finish()?;
    Ok(transmitter)
}

fn read_recompute(table: &TableReader<'_>) -> Result<Option<Span>> {
    if table
        .get("recompute")
        .is_some_and(|item| matches!(&item.value, TomlValue::Text(word) if word == "change"))
    {
        return Ok(None);
    }
    let every: Option<Span> = table.quantity("recompute", "1s")?;
    match every {
        Some(every) if every < Span::from_ms(1) => {
            Err(table.error("recompute", "must be at least 1 ms, or \"change\""))
        }
        every => Ok(every),
    }
}

struct HandoffKeys {
    rule: Rule,
    check: Span,
    jitter: Span,
    loss: HandoffLoss,
    pause: Span,
    guard_before: Span,
    guard_after: Span,
}

fn read_handoff(table: &TableReader<'_>) -> Result<HandoffKeys> {
    let half = Span::from_ms(500);
    let mut keys = HandoffKeys {
        rule: Rule::Ns2,
        check: Span::from_ms(10_000),
        jitter: Span::ZERO,
        loss: HandoffLoss::Ns2,
        pause: Span::ZERO,
        guard_before: half,
        guard_after: half,
    };
    let Some(handoff) = table.table("handoff")? else { return Ok(keys) };
    keys.rule = match handoff.text("rule")? {
        None | Some("ns2") => Rule::Ns2,
        Some("best") => Rule::Best,
        Some("every") => Rule::Every,
        Some(other) => {
            return Err(handoff.error(
                "rule",
                format!("unknown rule \"{other}\"; {}", nearest(other, ["ns2", "best", "every"])),
            ));
        }
    };
    let losses = [
        ("ns2", HandoffLoss::Ns2),
        ("lossless", HandoffLoss::Lossless),
        ("drop_all_in_flight", HandoffLoss::InFlight),
    ];
    if let Some(word) = handoff.text("loss")? {
        let chosen = losses.iter().find(|(name, _)| *name == word).map(|(_, loss)| *loss);
        keys.loss = chosen.ok_or_else(|| {
            let names = losses.iter().map(|(name, _)| *name);
            handoff.error("loss", format!("unknown loss \"{word}\"; {}", nearest(word, names)))
        })?;
    }
    if keys.rule == Rule::Every {
        let without = ["time", "guard_before", "guard_after"];
        let value = without.into_iter().find(|key| handoff.keys().any(|name| name == *key));
        let in_flight = (keys.loss == HandoffLoss::InFlight).then_some("loss");
        if let Some(key) = value.or(in_flight) {
            return Err(handoff.error(key, "has no effect with rule = \"every\", which has no hand-offs"));
        }
    }
    keys.check = handoff.quantity("check", "10s")?.unwrap_or(keys.check);
    keys.jitter = handoff.quantity("jitter", "5s")?.unwrap_or(keys.jitter);
    keys.pause = handoff.quantity("time", "100ms")?.unwrap_or(keys.pause);
    keys.guard_before = handoff.quantity("guard_before", "0.5s")?.unwrap_or(half);
    keys.guard_after = handoff.quantity("guard_after", "0.5s")?.unwrap_or(half);
    if keys.check > Span::ZERO && keys.check < Span::from_ms(10) {
        return Err(handoff.error("check", "must be 0s (exact) or at least 10 ms"));
    }
    if keys.jitter > Span::ZERO && keys.jitter >= keys.check {
        return Err(handoff.error("jitter", "must be shorter than the time between checks"));
    }
    handoff.finish()?;
    Ok(keys)
}

fn read_terminals(
    top: &TableReader<'_>,
    items: &[TomlItem],
    constellation: &Constellation,
) -> Result<Vec<Terminal>> {
    let mut terminals = Vec::new();
    let mut names = BTreeSet::new();
    for (i, item) in items.iter().enumerate() {
        let reader = TableReader::new(format!("terminal[{i}]"), item)?;
        let name = reader.need("name", reader.text("name")?, "such as name = \"berkeley\"")?;
        if name.is_empty() || name.contains("->") || name.contains('*') {
            return Err(reader.error("name", "must not be empty, and without \"->\" and \"*\""));
        }
        if (0..constellation.len()).any(|s| constellation.name(s) == name) {
            return Err(reader.error("name", format!("a satellite is called \"{name}\" too")));
        }
        if !names.insert(name) {
            return Err(reader.error("name", format!("another terminal is called \"{name}\" too")));
        }
        let angle = |key: &'static str, most: f64| -> Result<f64> {
            let value = reader.number(key, -most, most)?;
            reader.need(key, value, "degrees, such as 37.9")
        };
        terminals.push(Terminal { name: name.into(), lat: angle("lat", 90.0)?, lon: angle("lon", 360.0)? });
        reader.finish()?;
    }
    if terminals.is_empty() {
        return Err(top.missing("terminal", "name at least one [[terminal]]"));
    }
    Ok(terminals)
}
