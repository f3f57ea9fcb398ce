//! Reads `[[wifi]]`, the basic service sets, and `rate = { kind = "wifi", ... }` of links.

use super::document::{TomlItem, TomlValue};
use super::key::key_text;
use super::media::{Medium, MediumWords, SIGNAL_KEYS, medium_of, read_variation};
use super::model::{Duplex, RateVariation};
use super::reading::{Reading, Result, all};
use super::table::TableReader;
use super::wifi_model::{Wifi, WifiQueue};
use net::qdisc::Queue;
use net::qdisc::scheduled::FQ_CODEL;
use net::wifi::{Access, CategoryOptions, ChannelOptions, DirectionOptions, Phy, RateControl, Standard};
use params::Form::{BytesOr, Integer, Quantity, Range, Switch, Text, Word};
use params::{Form, Key, Model, Table, Unit, Value, Values, key};
use units::{Limit, Rate, Span};

const WORDS: MediumWords =
    MediumWords { kind: "wifi", link: "Wi-Fi", table: "[[wifi]]", station: "the access point" };

/// A rate that a Wi-Fi channel decides.
pub(super) static WIFI_RATE: Model = params::model!(
    "rate",
    "wifi",
    "the transmitter is a Wi-Fi channel that several links share",
    "",
    [DirectionOptions::KEYS, CONTROL_KEYS, SIGNAL_KEYS]
);

const CONTROL_KEYS: &[Key] = &[key(
    "rate_control",
    Form::WordOrTable(&["minstrel", "ideal"], "fixed_rate"),
    "\"minstrel\"",
    "`\"minstrel\"`, `\"ideal\"` (the MCS with the largest throughput at the SNR), or `{ kind = \"fixed\", mcs = 7 }`",
)];

/// A fixed MCS in place of rate control.
pub(super) static FIXED_RATE: Table = Table::new(
    "fixed_rate",
    "`rate_control` of a Wi-Fi rate",
    &[&[
        key("kind", Word(&["fixed"]), "\"fixed\"", "one MCS for all packets"),
        key("mcs", Integer(0, 11), "", "the MCS"),
    ]],
);

/// A basic service set.
pub(super) static WIFI: Table = Table::new(
    "wifi_set",
    "`[[wifi]]`: a basic service set",
    &[&[
        key("name", Text, "", "name for `medium` of links"),
        key("ap", Text, "", "node of the access point"),
        key("standard", Word(Standard::NAMES), "\"ac\"", "802.11n, ac or ax"),
        key("width", Word(&["20MHz", "40MHz", "80MHz", "160MHz"]), "80 MHz; n: 20 MHz", "channel width"),
        key("streams", Integer(1, 8), "2", "spatial streams"),
        key(
            "guard",
            Quantity(Unit::Time, "0.8us"),
            "\"0.8us\"",
            "guard interval: 0.4 or 0.8 us; ax: 0.8, 1.6 or 3.2 us",
        ),
        key("channel", Text, "its own", "sets with the same text share the channel, and all hear all"),
        key(
            "scheduler",
            Word(&["airtime", "round_robin"]),
            "\"airtime\"",
            "which station the access point serves next",
        ),
        key(
            "ap_queue",
            Form::Table("ap_queue"),
            "{ kind = \"per_station\" }",
            "one queue for each station, the queues of the links, or one for all",
        ),
        key(
            "quantum",
            Range(Unit::Time, "256us", "1us", "100ms"),
            "\"256us\"",
            "airtime of a station in a round",
        ),
        key("charge", Word(&["down", "both"]), "\"down\"", "whether a station also pays for what it sends"),
        key("window", Integer(1, 256), "64; ax: 256", "block ACK window; 1: no aggregation"),
        key("amsdu", Integer(1, 8), "1", "packets that share an MPDU (A-MSDU)"),
        key("security", Switch, "false", "encryption: 16 bytes more in each MPDU"),
        key(
            "max_ppdu",
            Range(Unit::Time, "5.484ms", "0.1ms", "5.484ms"),
            "\"5.484ms\"",
            "longest transmission of data",
        ),
        key(
            "control_rate",
            Word(&["6Mbps", "12Mbps", "24Mbps"]),
            "\"24Mbps\"",
            "largest rate of control frames",
        ),
        key(
            "rts_threshold",
            BytesOr(0, 6_500_631, &["none"]),
            "\"none\"",
            "bytes of data from which RTS and CTS come before them",
        ),
        key("edca", Form::Table("edca"), "the standard's", "access parameters by category"),
        key("eifs", Switch, "true", "after a collision everyone waits EIFS; otherwise AIFS, as in ns-3"),
        key("bar", Switch, "false", "a missing block ACK is requested in an access of its own, as in ns-3"),
        key("retry_limit", Integer(0, 255), "7", "repetitions of an MPDU; then it is lost"),
    ]],
);

/// The queues of an access point.
pub(super) static AP_QUEUE: Table = Table::new(
    "ap_queue",
    "`ap_queue` of a basic service set",
    &[&[
        key(
            "kind",
            Word(&["per_station", "shared"]),
            "\"per_station\"",
            "one queue for each station, or one for all",
        ),
        key("limit", Quantity(Unit::Limit, "1000p"), "1,000 packets", "shared: packets that may wait"),
    ]],
);

/// The access categories of a basic service set.
pub(super) static EDCA: Table = Table::new(
    "edca",
    "`edca` of a basic service set",
    &[&[
        key("bk", Form::Table("edca_category"), "the standard's", "background"),
        key("be", Form::Table("edca_category"), "the standard's", "best effort"),
        key("vi", Form::Table("edca_category"), "the standard's", "video"),
        key("vo", Form::Table("edca_category"), "the standard's", "voice"),
    ]],
);

/// Parameters of an access category.
pub(super) static EDCA_CATEGORY: Table =
    Table::new("edca_category", "`bk`, `be`, `vi`, `vo` of `edca`", &[CategoryOptions::KEYS]);

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

/// Reports access categories of flows or traffic, with the key of their list, where no basic service set is.
pub(super) fn refuse_access(reading: &Reading, key: &str, items: &[TomlItem]) {
    for (index, item) in items.iter().enumerate() {
        let table = TableReader::new(reading, format!("{key}[{index}]"), item);
        if let Some(table) = table.ok().filter(|table| table.has("access")) {
            table.error("access", "has no effect without [[wifi]]; leave it out");
        }
    }
}

/// Reads the table of a rate with kind "wifi".
pub(super) fn read_rate(table: &TableReader<'_>) -> Result<DirectionOptions> {
    let values = table.values(&WIFI_RATE.table, 0);
    let (variation, fixed) = (read_variation(table), read_fixed(table));
    let values = values?;
    let mut direction = DirectionOptions::new(&values);
    direction.check().map_err(|mistake| table.mistake(mistake))?;
    direction.variation = variation?;
    direction.rate_control = match (fixed?, values.optional("rate_control")) {
        (Some(mcs), _) => RateControl::Fixed(mcs),
        (None, Some("ideal")) => RateControl::Ideal,
        (None, _) => RateControl::Minstrel,
    };
    Ok(direction)
}

/// The MCS of a fixed rate; none with rate control.
fn read_fixed(table: &TableReader<'_>) -> Result<Option<u8>> {
    match table.get("rate_control").map(|item| &item.value) {
        Some(TomlValue::Table(_)) => {
            let fixed = table.table("rate_control")?;
            fixed.map(|fixed| Ok(fixed.values(&FIXED_RATE, 0)?.read("mcs"))).transpose()
        }
        _ => Ok(None),
    }
}

/// Reads all `[[wifi]]` tables.
pub(super) fn read_all(reading: &Reading, items: &[TomlItem]) -> Result<Vec<Wifi>> {
    let mut sets: Vec<Wifi> = Vec::new();
    all(items.iter().enumerate().map(|(index, item)| {
        let table = TableReader::new(reading, format!("wifi[{index}]"), item)?;
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
        sets.push(set);
        Ok(())
    }))?;
    Ok(sets)
}

fn read_set(table: &TableReader<'_>) -> Result<Wifi> {
    let values = table.values(&WIFI, 0);
    let (queue, edca) = (read_queue(table), read_edca(table));
    let values = values?;
    let name: String = values.read("name");
    let channel = values.optional("channel").unwrap_or_else(|| format!("of {name}"));
    let options = ChannelOptions {
        eifs: values.read("eifs"),
        request: values.read("bar"),
        retry_limit: values.read("retry_limit"),
        rts_threshold: values.optional("rts_threshold").unwrap_or(u32::MAX),
        charge_both: values.read::<&str>("charge") == "both",
    };
    let phy = read_phy(table, &values);
    let queue = queue.and_then(|queue| queue_of(table, &values, queue));
    let (phy, queue, edca) = (phy?, queue?, edca?);
    Ok(Wifi { ap: values.read("ap"), phy, channel, options, queue, edca, name })
}

/// The number at the begin of one of the words of a key, such as "20MHz".
fn leading_number(word: &str) -> u32 {
    let digits = word.bytes().take_while(u8::is_ascii_digit);
    digits.fold(0, |number, digit| 10 * number + u32::from(digit - b'0'))
}

/// The physical layer of a basic service set.
fn read_phy(table: &TableReader<'_>, values: &Values) -> Result<Phy> {
    let standard: Standard = values.read("standard");
    let default_width = if standard == Standard::N { 20 } else { 80 };
    let width = values.optional("width").map_or(default_width, leading_number);
    let (streams, guard): (u32, Span) = (values.read("streams"), values.read("guard"));
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
    phy.control = leading_number(values.read("control_rate"));
    phy.window = values.optional("window").unwrap_or(phy.window);
    if standard != Standard::Ax && phy.window > 64 {
        return Err(table.error("window", format!("{} is not between 1 and 64", phy.window)));
    }
    phy.security = if values.read("security") { ENCRYPTION } else { 0 };
    phy.amsdu = values.read("amsdu");
    phy.longest = values.read("max_ppdu");
    Ok(phy)
}

/// Reads `edca`: parameters of access categories.
fn read_edca(table: &TableReader<'_>) -> Result<Vec<(Access, CategoryOptions)>> {
    let Some(edca) = table.table("edca")? else { return Ok(Vec::new()) };
    let values = edca.values(&EDCA, 0);
    let categories = all(Access::ALL.iter().map(|(access, name)| {
        let Some(category) = edca.table(name)? else { return Ok(None) };
        let options = CategoryOptions::new(&category.values(&EDCA_CATEGORY, 0)?);
        options.check(*access).map_err(|mistake| category.mistake(mistake))?;
        Ok(Some((*access, options)))
    }));
    values?;
    Ok(categories?.into_iter().flatten().collect())
}

/// The values of `ap_queue`, if the table has it.
fn read_queue(table: &TableReader<'_>) -> Result<Option<Values>> {
    table.table("ap_queue")?.map(|queue| queue.values(&AP_QUEUE, 0)).transpose()
}

/// The queues of an access point with the values of `ap_queue`.
fn queue_of(table: &TableReader<'_>, values: &Values, queue: Option<Values>) -> Result<WifiQueue> {
    let airtime = values.read::<&str>("scheduler") == "airtime";
    if !airtime {
        table.refuse(&["quantum"], "scheduler = \"round_robin\"")?;
    }
    let of_stations =
        if airtime { WifiQueue::Airtime(values.read("quantum")) } else { WifiQueue::RoundRobin };
    let Some(queue) = queue else { return Ok(of_stations) };
    let (shared, limit): (bool, Option<Limit>) =
        (queue.read::<&str>("kind") == "shared", queue.read("limit"));
    if shared {
        table.refuse(&["scheduler", "quantum"], "a shared queue")?;
    }
    match (shared, limit) {
        (true, None) => Ok(WifiQueue::Shared(1000)),
        (true, Some(Limit::Packets(limit))) if limit > 0 => Ok(WifiQueue::Shared(limit)),
        (true, _) => Err(table.error("ap_queue", "its limit must be a number of packets, such as \"1000p\"")),
        (false, Some(_)) => {
            Err(table.error("ap_queue", "only a shared queue has a limit; give the links' queues one"))
        }
        (false, None) => Ok(of_stations),
    }
}

/// Another set of the channel whose access point is an end of a link of `set`: the node would be one device with two queues.
fn second_role<'a>(sets: &'a [Wifi], set: &Wifi, ends: &[String; 2]) -> Option<&'a Wifi> {
    sets.iter()
        .find(|other| other.name != set.name && other.channel == set.channel && ends.contains(&other.ap))
}

/// Gives a Wi-Fi link the rates of its basic service set. Fails if the link does not fit.
pub(super) fn resolve(
    reading: &Reading,
    item: &TomlItem,
    link: &mut Duplex,
    sets: Result<&Vec<Wifi>>,
) -> Result<()> {
    if link.directions.iter().all(|direction| direction.wifi().is_none()) {
        return Ok(());
    }
    let sets = sets?;
    let media: Vec<Medium<'_>> =
        sets.iter().map(|set| Medium { name: &set.name, station: &set.ap }).collect();
    let reader = TableReader::new(reading, key_text(["link", &link.key()]), item)?;
    let number = medium_of(&reader, link, &WORDS, &media, |direction| {
        direction.wifi().map(|rate| rate.medium.clone().unwrap_or_default())
    })?;
    if let Some(number) = number {
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
