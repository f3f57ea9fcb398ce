//! Reads `[[wifi]]`, the basic service sets, and `rate = { kind = "wifi", ... }` of links.

use super::document::{TomlItem, TomlValue};
use super::media::{MediumWords, medium_of, read_variation};
use super::model::{Duplex, RateVariation};
use super::table::TableReader;
use super::wifi_model::{Wifi, WifiQueue};
use crate::error::{ScenarioError, nearest};
use crate::schema::{EDCA_CATEGORY, WIFI_RATE};
use net::qdisc::Queue;
use net::qdisc::scheduled::FQ_CODEL;
use net::wifi::{Access, CategoryOptions, ChannelOptions, DirectionOptions, Phy, RateControl, Standard};
use params::Value;
use units::{Limit, Rate, Span};

type Result<T> = std::result::Result<T, ScenarioError>;

const WORDS: MediumWords =
    MediumWords { kind: "wifi", link: "Wi-Fi", table: "[[wifi]]", station: "the access point" };

/// Bytes that encryption adds to an MPDU (CCMP: header and integrity code).
const ENCRYPTION: u32 = 16;

/// The default queue of a Wi-Fi link: FQ-CoDel with mac80211's values.
pub(super) fn default_queue() -> Queue {
    let values = [
        ("limit", Value::Limit(Limit::Packets(8192))),
        ("flows", Value::Integer(4096)),
        ("quantum", Value::Integer(300)),
        ("memory", Value::Integer(16_000_000)),
        ("target", Value::Time(Span::from_ms(20))),
    ];
    Queue::with(&FQ_CODEL, &values).unwrap_or_else(|_| unreachable!("the values go together"))
}

/// One of several words.
fn word<T: Copy>(
    table: &TableReader<'_>,
    key: &'static str,
    known: &[(T, &'static str)],
    default: T,
) -> Result<T> {
    let Some(text) = table.text(key)? else { return Ok(default) };
    known.iter().find(|(_, name)| *name == text).map(|(value, _)| *value).ok_or_else(|| {
        let names = known.iter().map(|(_, name)| *name);
        table.error(key, format!("unknown word \"{text}\"; {}", nearest(text, names)))
    })
}

/// Reads `access`, the access category of a flow, of traffic or of a link.
pub(super) fn read_access(table: &TableReader<'_>) -> Result<Option<Access>> {
    let read = |_| word(table, "access", Access::ALL, Access::BestEffort);
    table.text("access")?.map(read).transpose()
}

/// Fails if flows or traffic, with the keys of their lists, have access categories where no basic service set is.
pub(super) fn check_access(sets: &[Wifi], lists: &[(&str, &[TomlItem])]) -> Result<()> {
    for (key, items) in lists.iter().filter(|_| sets.is_empty()) {
        for (index, item) in items.iter().enumerate() {
            let table = TableReader::new(format!("{key}[{index}]"), item)?;
            if table.get("access").is_some() {
                return Err(table.error("access", "has no effect without [[wifi]]; leave it out"));
            }
        }
    }
    Ok(())
}

/// Reads the table of a rate with kind "wifi".
pub(super) fn read_rate(table: &TableReader<'_>) -> Result<DirectionOptions> {
    let mut direction = DirectionOptions::new(&table.values(&WIFI_RATE.table, 0)?);
    direction.check().map_err(|mistake| table.mistake(mistake))?;
    direction.variation = read_variation(table)?;
    direction.rate_control = match table.get("rate_control").map(|item| &item.value) {
        Some(TomlValue::Table(_)) => {
            let Some(fixed) = table.table("rate_control")? else {
                return Err(table.missing("rate_control", ""));
            };
            word(&fixed, "kind", &[((), "fixed")], ())?;
            let mcs = fixed.need("mcs", fixed.integer("mcs", 0, 11)?, "such as mcs = 7")?;
            fixed.finish()?;
            RateControl::Fixed(mcs as u8)
        }
        _ => {
            let controls = [(RateControl::Minstrel, "minstrel"), (RateControl::Ideal, "ideal")];
            word(table, "rate_control", &controls, RateControl::Minstrel)?
        }
    };
    Ok(direction)
}

/// Reads all `[[wifi]]` tables.
pub(super) fn read_all(items: &[TomlItem]) -> Result<Vec<Wifi>> {
    let mut sets: Vec<Wifi> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let table = TableReader::new(format!("wifi[{index}]"), item)?;
        let set = read_set(&table)?;
        if sets.iter().any(|other| other.name == set.name) {
            return Err(table.error("name", format!("another one is called \"{}\" too", set.name)));
        }
        if let Some(other) =
            sets.iter().find(|other| other.channel == set.channel && other.options != set.options)
        {
            let message = format!(
                "shares channel \"{}\" with \"{}\", so eifs, bar, retry_limit, rts_threshold and charge must be equal",
                set.channel, other.name
            );
            return Err(table.error("channel", message));
        }
        table.finish()?;
        sets.push(set);
    }
    Ok(sets)
}

fn read_set(table: &TableReader<'_>) -> Result<Wifi> {
    let name = table.need("name", table.text("name")?, "such as name = \"home\"")?.to_string();
    let ap = table.need("ap", table.text("ap")?, "the node of the access point, such as ap = \"ap\"")?;
    let standard = word(table, "standard", Standard::ALL, Standard::Ac)?;
    let default_width = if standard == Standard::N { 20 } else { 80 };
    let widths = [(20, "20MHz"), (40, "40MHz"), (80, "80MHz"), (160, "160MHz")];
    let width = word(table, "width", &widths, default_width)?;
    let streams = table.integer("streams", 1, 8)?.unwrap_or(2) as u32;
    let guard: Span = table.quantity("guard", "0.8us")?.unwrap_or(Span::from_ps(800_000));
    let guards = standard.guards();
    if !guards.iter().any(|tenths| Span::from_ps(tenths * 100_000) == guard) {
        let all: Vec<String> = guards.iter().map(|tenths| format!("{}us", *tenths as f64 / 10.0)).collect();
        return Err(table.error("guard", format!("must be {} with this standard", all.join(" or "))));
    }
    if standard == Standard::N && streams > 4 {
        return Err(table.error("streams", "must be from 1 to 4 with standard = \"n\""));
    }
    let mut phy =
        Phy::new(standard, width, streams, guard).map_err(|message| table.error("width", message))?;
    phy.control = word(table, "control_rate", &[(6, "6Mbps"), (12, "12Mbps"), (24, "24Mbps")], phy.control)?;
    let most = if standard == Standard::Ax { 256 } else { 64 };
    phy.window = table.integer("window", 1, most)?.map_or(phy.window, |window| window as u32);
    phy.security = if table.switch("security")?.unwrap_or(false) { ENCRYPTION } else { 0 };
    phy.amsdu = table.integer("amsdu", 1, 8)?.unwrap_or(1) as u32;
    let longest: Option<Span> = table.quantity("max_ppdu", "5.484ms")?;
    if let Some(longest) = longest {
        if !(Span::from_ps(100_000_000)..=phy.longest).contains(&longest) {
            return Err(table.error("max_ppdu", "must be from 0.1ms to 5.484ms"));
        }
        phy.longest = longest;
    }
    let rts_threshold = match table.get("rts_threshold").map(|item| &item.value) {
        Some(TomlValue::Text(text)) if text == "none" => u32::MAX,
        _ => table.bytes("rts_threshold", 0, 6_500_631)?.map_or(u32::MAX, |bytes| bytes as u32),
    };
    let options = ChannelOptions {
        eifs: table.switch("eifs")?.unwrap_or(true),
        request: table.switch("bar")?.unwrap_or(false),
        retry_limit: table.integer("retry_limit", 0, 255)?.unwrap_or(7) as u32,
        rts_threshold,
        charge_both: word(table, "charge", &[(false, "down"), (true, "both")], false)?,
    };
    let channel = table.text("channel")?.map_or(format!("of {name}"), str::to_string);
    let (queue, edca) = (read_queue(table)?, read_edca(table)?);
    Ok(Wifi { ap: ap.to_string(), phy, channel, options, queue, edca, name })
}

/// Reads `edca`: parameters of access categories.
fn read_edca(table: &TableReader<'_>) -> Result<Vec<(Access, CategoryOptions)>> {
    let Some(edca) = table.table("edca")? else { return Ok(Vec::new()) };
    let mut categories = Vec::new();
    for (access, name) in Access::ALL {
        if let Some(category) = edca.table(name)? {
            let options = CategoryOptions::new(&category.values(&EDCA_CATEGORY, 0)?);
            options.check(*access).map_err(|mistake| category.mistake(mistake))?;
            categories.push((*access, options));
        }
    }
    edca.finish()?;
    Ok(categories)
}

fn read_queue(table: &TableReader<'_>) -> Result<WifiQueue> {
    let quantum: Span = table.quantity("quantum", "256us")?.unwrap_or(Span::from_ps(256_000_000));
    if !(Span::from_ps(1_000_000)..=Span::from_ms(100)).contains(&quantum) {
        return Err(table.error("quantum", "must be from 1us to 100ms"));
    }
    let airtime = word(table, "scheduler", &[(true, "airtime"), (false, "round_robin")], true)?;
    if !airtime && table.get("quantum").is_some() {
        return Err(table.error("quantum", "has no effect with scheduler = \"round_robin\"; leave it out"));
    }
    let Some(queue) = table.table("ap_queue")? else {
        return Ok(if airtime { WifiQueue::Airtime(quantum) } else { WifiQueue::RoundRobin });
    };
    let shared = word(&queue, "kind", &[(false, "per_station"), (true, "shared")], false)?;
    let limit: Option<Limit> = queue.quantity("limit", "1000p")?;
    queue.finish()?;
    if let Some(key) = ["scheduler", "quantum"].into_iter().find(|key| shared && table.get(key).is_some()) {
        return Err(table.error(key, "has no effect with a shared queue; leave it out"));
    }
    match (shared, limit) {
        (true, None) => Ok(WifiQueue::Shared(1000)),
        (true, Some(Limit::Packets(limit))) if limit > 0 => Ok(WifiQueue::Shared(limit)),
        (true, _) => Err(table.error("ap_queue", "its limit must be a number of packets, such as \"1000p\"")),
        (false, Some(_)) => {
            Err(table.error("ap_queue", "only a shared queue has a limit; give the links' queues one"))
        }
        (false, None) => Ok(if airtime { WifiQueue::Airtime(quantum) } else { WifiQueue::RoundRobin }),
    }
}

/// Another set of the channel whose access point is an end of a link of `set`: the node would be one device with two queues.
fn second_role<'a>(sets: &'a [Wifi], set: &Wifi, ends: &[String; 2]) -> Option<&'a Wifi> {
    sets.iter()
        .find(|other| other.name != set.name && other.channel == set.channel && ends.contains(&other.ap))
}

/// Gives the Wi-Fi links the rates of their basic service sets. Fails if a link does not fit.
pub(super) fn resolve(items: &[TomlItem], links: &mut [Duplex], sets: &[Wifi]) -> Result<()> {
    let media: Vec<(&str, &str)> = sets.iter().map(|set| (set.name.as_str(), set.ap.as_str())).collect();
    for (item, link) in items.iter().zip(links) {
        let reader = TableReader::new(format!("link.{}", link.key()), item)?;
        let number = medium_of(&reader, link, &WORDS, &media, |direction| {
            direction.wifi().map(|rate| rate.medium.clone().unwrap_or_default())
        })?;
        let Some(number) = number else { continue };
        let (set, medium) = (&sets[number], &sets[number].name);
        if let Some(other) = second_role(sets, set, &link.ends) {
            let message = format!(
                "\"{}\" is the access point of \"{}\" on the same channel and has a part in \"{medium}\"; give the sets \
                 two channels, or two nodes",
                other.ap, other.name
            );
            return Err(reader.error("ends", message));
        }
        let ends = link.ends.clone();
        for (direction, from) in link.directions.iter_mut().zip(&ends) {
            let shared = matches!(set.queue, WifiQueue::Shared(_)) && *from == set.ap;
            let queue_of_file = direction.queue != default_queue();
            if shared && queue_of_file {
                let message = format!(
                    "the access point of \"{medium}\" has one shared queue; leave the queue of the link out"
                );
                return Err(reader.error("queue", message));
            }
            if let (true, WifiQueue::Shared(limit)) = (shared, &set.queue) {
                let limit = Limit::Packets(*limit);
                direction.queue = Queue::droptail(limit);
            }
            let Some(RateVariation::Wifi(rate)) = &mut direction.variation else { continue };
            rate.medium = Some(medium.clone());
            direction.rate = peak_rate(&reader, &set.phy_of(rate), rate.rate_control)?;
        }
    }
    Ok(())
}

/// The largest rate at which a direction transmits.
fn peak_rate(reader: &TableReader<'_>, phy: &Phy, control: RateControl) -> Result<Rate> {
    let highest = phy.rates().max_by(|a, b| phy.rate_bps(*a).total_cmp(&phy.rate_bps(*b)));
    let mcs = match control {
        RateControl::Fixed(mcs) => mcs,
        RateControl::Ideal | RateControl::Minstrel => highest.unwrap_or(0),
    };
    if phy.bits(mcs).is_none() {
        let all: Vec<String> = phy.rates().map(|mcs| mcs.to_string()).collect();
        let message = format!(
            "there is no MCS {mcs} with this standard, width and streams; there are {}",
            all.join(", ")
        );
        return Err(reader.error("rate", message));
    }
    Ok(Rate::from_bps(phy.rate_bps(mcs) as u64))
}
