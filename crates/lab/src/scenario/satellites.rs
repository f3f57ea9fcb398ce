//! Reads `[constellation]` and `[[terminal]]`.

use super::document::TomlItem;
use super::links::check_queue;
use super::loss::read_losses;
use super::model::{Direction, RateVariation, Satellites};
use super::queue::read_queue;
use super::rate::{self, RateOfLink};
use super::reading::{Result, all, shared};
use super::table::TableReader;
use super::tle;
use net::HandoffLoss;
use net::qdisc::Queue;
use orbit::{Constellation, EarthModel, Rules, SatelliteSystem, SelectionRule, Terminal, Walker};
use params::Form::{
    self, Integer, LinkRate, Losses, Number, Quantity, QuantityOr, Queue as QueueForm, Range, Switch, Text,
    Word,
};
use params::{Key, Table, Unit, Values, key};
use std::collections::BTreeSet;
use std::sync::Arc;
use units::{Angle, Length, Limit, Rate, Span};

/// The satellites.
pub(super) static CONSTELLATION: Table = Table::new(
    "constellation",
    "`[constellation]`",
    &[&[
        key(
            "kind",
            Word(&["iridium", "walker", "tle"]),
            "",
            "Iridium, a Walker constellation, or two-line elements",
        ),
        key(
            "altitude",
            Range(Unit::Length, "780km", "100km", "100000km"),
            "\"780km\" (Iridium)",
            "altitude of the orbits",
        ),
        key(
            "inclination",
            Range(Unit::Angle, "86.4deg", "0deg", "180deg"),
            "\"86.4deg\" (Iridium)",
            "inclination of the orbits",
        ),
        key("planes", Integer(1, 1000), "6 (Iridium)", "number of planes"),
        key(
            "per_plane",
            Integer(1, 1000),
            "11 (Iridium)",
            "satellites in a plane; TLE: needed for inter-satellite links",
        ),
        key(
            "plane_spacing",
            Quantity(Unit::Angle, "31.6deg"),
            "\"31.6deg\" (Iridium), 360 over `planes`",
            "angle between two planes",
        ),
        key("phasing", Number(0.0, 1000.0), "0; Iridium's alternates", "Walker's phasing factor F"),
        key(
            "orbit",
            Word(&["circular", "j2"]),
            "\"circular\"",
            "circular orbits, or orbits with the drift of nodes by the Earth's oblateness (J2)",
        ),
        key("file", Text, "none; needed with `kind = \"tle\"`", "TLE: the file, relative to the scenario"),
        key(
            "elevation_mask",
            Range(Unit::Angle, "8.2deg", "0deg", "90deg"),
            "\"8.2deg\" (Iridium), \"25deg\"",
            "smallest elevation at which a terminal uses a satellite",
        ),
        key(
            "isl_latitude_limit",
            Range(Unit::Angle, "60deg", "0deg", "90deg"),
            "\"60deg\" (Iridium), \"90deg\"",
            "beyond this latitude satellites have no links to other planes",
        ),
        key("cross_seam", Switch, "false", "links between the first and the last plane"),
        key(
            "cross_seam_longitude",
            Range(Unit::Angle, "10deg", "0deg", "180deg"),
            "\"10deg\"",
            "largest difference of longitude of a link across the seam",
        ),
        key(
            "epoch",
            Quantity(Unit::Time, "600s"),
            "\"0s\"",
            "time of the constellation at the start of the run",
        ),
        key("isl", Form::Table("transmitter"), "25 Mb/s (Iridium)", "transmitters between satellites"),
        key("bent_pipe", Switch, "false", "no links between satellites: each path goes over one satellite"),
        key("up", Form::Table("transmitter"), "1.5 Mb/s (Iridium)", "transmitters of the terminals"),
        key(
            "down",
            Form::Table("transmitter"),
            "1.5 Mb/s (Iridium)",
            "transmitters of the satellites to terminals",
        ),
        key(
            "link_header",
            Integer(0, 1000),
            "16 (Iridium), 0",
            "bytes added to each packet on a satellite link",
        ),
        key(
            "recompute",
            QuantityOr(Unit::Time, "1s", &["change"]),
            "\"change\"",
            "interval at which paths are computed, besides every change of a link",
        ),
        key("handoff", Form::Table("handoff"), "ns-2's", "rules of hand-offs"),
    ]],
);

/// The transmitters of one kind.
pub(super) static TRANSMITTER: Table = Table::new(
    "transmitter",
    "`isl`, `up` and `down` of a constellation",
    &[&[
        RATE,
        key("shaper", Form::Table("shaper"), "none", "token bucket in front of the transmitter"),
        key("queue", QueueForm, "drop-tail of 49 packets", "queue discipline"),
        key("loss", Losses, "none", "losses besides the queue"),
    ]],
);

const RATE: Key =
    key("rate", LinkRate, "as `isl`, `up`, `down`", "transmission rate; a table for a rate that varies");

/// The rules of hand-offs.
pub(super) static HANDOFF: Table =
    Table::new("handoff", "`handoff` of a constellation", &[HandoffOptions::KEYS]);

params::options! {
    /// The rules of hand-offs of a constellation.
    pub struct HandoffOptions {
        rule: SelectionRule = Word(SelectionRule::NAMES), ["\"ns2\""],
            "the satellite that a terminal changes to: as in ns-2, or the highest; `\"every\"`: it uses all visible ones, and the shortest path decides";
        check: Span = Quantity(Unit::Time, "10s"), ["\"10s\""], "interval of the checks; 0 for the exact time";
        jitter: Span = Quantity(Unit::Time, "5s"), ["\"0s\""],
            "each check is moved by a random time up to this, earlier or later";
        loss: HandoffLoss = Word(HandoffLoss::NAMES), ["\"ns2\""], "packets that a hand-off loses";
        pause ["time"]: Span = Quantity(Unit::Time, "100ms"), ["\"0s\""], "pause of a terminal's links after a hand-off";
        guard_before: Span = Quantity(Unit::Time, "0.5s"), ["\"0.5s\""],
            "time by which a hand-off is announced to controllers";
        guard_after: Span = Quantity(Unit::Time, "0.5s"), ["\"0.5s\""], "time until it is over for controllers";
    }
}

/// A terminal on the ground.
pub(super) static TERMINAL: Table = Table::new(
    "terminal",
    "`[[terminal]]`",
    &[&[
        key("name", Text, "", "name of the node"),
        key("lat", Number(-90.0, 90.0), "", "latitude, degrees north; geodetic with `walker` and `tle`"),
        key("lon", Number(-360.0, 360.0), "", "longitude, degrees east"),
    ]],
);

const MOST: u64 = 100_000;

impl Satellites {
    /// Reads the satellites of a scenario, if it has any. `until` is the end of the tables of two-line elements.
    pub(crate) fn read(top: &TableReader<'_>, until: Result<Span>) -> Result<Option<Satellites>> {
        let terminals = top.list("terminal").and_then(|items| read_terminals(top, items));
        let Some(table) = top.table("constellation")? else {
            if top.has("terminal") {
                return Err(top.error("terminal", "needs a [constellation]"));
            }
            return Ok(None);
        };
        let values = table.values(&CONSTELLATION, 0);
        let iridium = shared(&values).map(|values| values.read::<&str>("kind") == "iridium");
        let transmitter = |key: &'static str, rate: u64| {
            let usual = iridium.map(|iridium| iridium.then_some(rate));
            read_transmitter(&table, key, usual)
        };
        let (up, down) = (transmitter("up", 1_500_000), transmitter("down", 1_500_000));
        let is_bent_pipe = values.as_ref().is_ok_and(|values| values.read("bent_pipe"));
        let isl = match is_bent_pipe {
            true => table.refuse(&["isl"], "bent_pipe = true").and(up.clone()),
            false => transmitter("isl", 25_000_000),
        };
        let handoff = read_handoff(&table);
        let (values, iridium) = (values?, iridium?);
        let constellation = read_constellation(&table, &values, until);
        let recompute: Option<Span> = values.optional("recompute");
        if recompute.is_some_and(|every| every < Span::from_ms(1)) {
            return Err(table.error("recompute", "must be at least 1 ms, or \"change\""));
        }
        let (constellation, handoff) = (constellation?, handoff?);
        let terminals = terminals?;
        check_terminals(top, &terminals, &constellation)?;
        let degrees = |key: &str, default: f64| values.optional::<Angle>(key).map_or(default, Angle::degrees);
        let epoch: Span = values.read("epoch");
        Ok(Some(Satellites {
            system: Arc::new(SatelliteSystem { constellation, terminals, epoch: epoch.seconds() }),
            rules: Rules {
                mask: degrees("elevation_mask", if iridium { 8.2 } else { 25.0 }),
                isl_latitude: degrees("isl_latitude_limit", if iridium { 60.0 } else { 90.0 }),
                cross_seam_longitude: values.read::<Angle>("cross_seam_longitude").degrees(),
                rule: handoff.rule,
                check: handoff.check,
                jitter: handoff.jitter,
            },
            isl: isl?,
            up: up?,
            down: down?,
            header: values.optional("link_header").unwrap_or(if iridium { 16 } else { 0 }),
            loss: handoff.loss,
            pause: handoff.pause,
            guard_before: handoff.guard_before,
            guard_after: handoff.guard_after,
            recompute,
        }))
    }
}

/// Reads the satellites with their links among each other; `until` is the end of tables of two-line elements.
fn read_constellation(
    table: &TableReader<'_>,
    values: &Values,
    until: Result<Span>,
) -> Result<Constellation> {
    let kind: &str = values.read("kind");
    let mut constellation = if kind == "tle" {
        read_tle(table, values, until)?
    } else {
        Constellation::walker(&read_walker(table, values, kind == "iridium")?, values.read("cross_seam"))
    };
    // Each path goes over one satellite.
    if values.read("bent_pipe") {
        constellation.isls.clear();
    }
    Ok(constellation)
}

fn read_walker(table: &TableReader<'_>, values: &Values, iridium: bool) -> Result<Walker> {
    let fits = table.refuse(&["file"], if iridium { "kind = \"iridium\"" } else { "kind = \"walker\"" });
    let preset = iridium.then(Walker::iridium);
    let whole = |key: &'static str, default: Option<usize>| -> Result<usize> {
        table.need(key, values.optional(key).or(default), "a whole number, such as 72")
    };
    let planes = whole("planes", preset.as_ref().map(|k| k.planes));
    let per_plane = whole("per_plane", preset.as_ref().map(|k| k.per_plane));
    let altitude = values.optional("altitude").map(Length::km).or(preset.as_ref().map(|k| k.altitude));
    let altitude = table.need("altitude", altitude, "such as altitude = \"550km\"");
    let degrees = |key: &str| values.optional(key).map(Angle::degrees);
    let inclination = degrees("inclination").or(preset.as_ref().map(|k| k.inclination));
    let inclination = table.need("inclination", inclination, "such as inclination = \"53deg\"");
    let (planes, per_plane) = (planes?, per_plane?);
    if (planes * per_plane) as u64 > MOST {
        return Err(table.error("planes", format!("more than {MOST} satellites")));
    }
    fits?;
    let phasing: Option<f64> = values.optional("phasing");
    let spacing = degrees("plane_spacing").or(preset.as_ref().map(|k| k.plane_spacing));
    let defaults = preset.unwrap_or(Walker {
        earth: EarthModel::Wgs84,
        alternate: false,
        rounded: false,
        ..Walker::iridium()
    });
    Ok(Walker {
        earth: defaults.earth,
        altitude: altitude?,
        inclination: inclination?,
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
        j2: values.read::<&str>("orbit") == "j2",
    })
}

fn read_tle(table: &TableReader<'_>, values: &Values, until: Result<Span>) -> Result<Constellation> {
    let walker = ["altitude", "inclination", "planes", "plane_spacing", "phasing", "orbit"];
    let fits = table.refuse(&walker, "kind = \"tle\"");
    let (_, text) = table.need("file", table.file("file")?, "a file of two-line elements")?;
    fits?;
    let epoch: Span = values.read("epoch");
    let motions = tle::read(&text, epoch, until?).map_err(|message| table.error("file", message))?;
    let count = motions.len();
    let Some(per_plane) = values.optional::<usize>("per_plane") else {
        let mut apart = Constellation::grid(EarthModel::Wgs84, motions, count, None, false);
        apart.isls.clear(); // the file does not define neighbours
        return Ok(apart);
    };
    if !count.is_multiple_of(per_plane) {
        let message = format!("{count} satellites are not a multiple of {per_plane}");
        return Err(table.error("per_plane", message));
    }
    Ok(Constellation::grid(EarthModel::Wgs84, motions, per_plane, None, values.read("cross_seam")))
}

/// Reads the transmitter of `key`; `rate` is that of a constellation that has one.
fn read_transmitter(
    table: &TableReader<'_>,
    key: &'static str,
    rate: Result<Option<u64>>,
) -> Result<Direction> {
    let usual = Direction {
        rate: Rate::from_bps(rate.ok().flatten().unwrap_or_default()),
        variation: None,
        delay: Span::ZERO,
        queue: Queue::droptail(Limit::Packets(49)),
        losses: Vec::new(),
        router: None,
    };
    let Some(inner) = table.table(key)? else {
        let example = "such as { rate = \"100Mbps\", queue = { kind = \"droptail\", limit = \"49p\" } }";
        return table.need(key, rate?, example).map(|_| usual);
    };
    let values = inner.values(&TRANSMITTER, 0);
    let written = rate::read(&inner, &RATE);
    let (queue, losses) = (read_queue(&inner), read_losses(&inner, "loss"));
    values?;
    let usual_rate = rate?.map(|rate| RateOfLink::constant(Rate::from_bps(rate)));
    let rate = inner.need("rate", written?.or(usual_rate), "such as rate = \"25Mbps\"");
    let (queue, losses) = (queue?.unwrap_or(usual.queue), losses?.unwrap_or_default());
    let RateOfLink { mean, variation } = rate?;
    if let Some(RateVariation::Wifi(_) | RateVariation::Cellular(_) | RateVariation::Grants(_)) = variation {
        return Err(inner.error(
            "rate",
            "a satellite link has no Wi-Fi, no cell and no grants; write a rate such as \"25Mbps\"",
        ));
    }
    if !losses.iter().all(|loss| loss.kind().is_random_loss) {
        return Err(inner.error(
            "loss",
            "only \"bernoulli\" and \"gilbert_elliott\" work here; the other kinds are for [[link]]",
        ));
    }
    let transmitter = Direction { rate: mean, variation, queue, losses, ..usual };
    check_queue(&inner, &transmitter)?;
    Ok(transmitter)
}

fn read_handoff(table: &TableReader<'_>) -> Result<HandoffOptions> {
    let Some(handoff) = table.table("handoff")? else { return Ok(HandoffOptions::with_defaults(0)) };
    let options = HandoffOptions::new(&handoff.values(&HANDOFF, 0)?);
    let mut fits = Ok(());
    if options.rule == SelectionRule::Every {
        let reason = "rule = \"every\", which has no hand-offs";
        fits = handoff.refuse(&["time", "guard_before", "guard_after"], reason);
        if options.loss == HandoffLoss::InFlight {
            fits = handoff.refuse(&["loss"], reason).and(fits);
        }
    }
    if options.check > Span::ZERO && options.check < Span::from_ms(10) {
        return Err(handoff.error("check", "must be 0s (exact) or at least 10 ms"));
    }
    if options.jitter > Span::ZERO && options.jitter >= options.check {
        return Err(handoff.error("jitter", "must be shorter than the time between checks"));
    }
    fits.map(|()| options)
}

/// Reads the terminals, in the order of their tables.
fn read_terminals(top: &TableReader<'_>, items: &[TomlItem]) -> Result<Vec<Terminal>> {
    let mut names = BTreeSet::new();
    all(items.iter().enumerate().map(|(index, item)| {
        let reader = TableReader::new(top.reading(), terminal(index), item)?;
        let values = reader.values(&TERMINAL, 0)?;
        let name: String = values.read("name");
        if name.is_empty() || name.contains("->") || name.contains('*') {
            return Err(reader.error("name", "must not be empty, and without \"->\" and \"*\""));
        }
        if !names.insert(name.clone()) {
            return Err(reader.error("name", format!("another terminal is called \"{name}\" too")));
        }
        Ok(Terminal { name, lat: values.read("lat"), lon: values.read("lon") })
    }))
}

/// Fails if there is no terminal, or if one has the name of a satellite.
fn check_terminals(
    top: &TableReader<'_>,
    terminals: &[Terminal],
    constellation: &Constellation,
) -> Result<()> {
    if terminals.is_empty() {
        return Err(top.missing("terminal", "name at least one [[terminal]]"));
    }
    let satellites: BTreeSet<&str> = (0..constellation.len()).map(|s| constellation.name(s)).collect();
    all(terminals.iter().zip(top.list("terminal")?).enumerate().map(|(index, (place, item))| {
        if !satellites.contains(place.name.as_str()) {
            return Ok(());
        }
        let message = format!("a satellite is called \"{}\" too", place.name);
        Err(TableReader::new(top.reading(), terminal(index), item)?.error("name", message))
    }))
    .map(|_| ())
}

/// The name of a terminal in messages.
fn terminal(index: usize) -> String {
    format!("terminal[{index}]")
}
