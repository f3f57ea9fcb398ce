//! Reads a whole scenario.

use super::assignment::Assignment;
use super::document::TomlItem;
use super::flows::{check_small_queues, read_flow};
use super::key::key_text;
use super::links::read_link;
use super::model::{Duplex, Flow, MOST_FLOWS, Prepared, RadioNetwork, Satellites, Scenario, Traffic};
use super::nodes::Nodes;
use super::overrides::ScenarioText;
use super::paths::Routers;
use super::table::TableReader;
use super::top::{SCENARIO, SEED, read_times};
use super::transports::Defaults;
use super::written::Document;
use super::{cellular, count, mistakes, topologies, traffic, wifi};
use crate::error::{ScenarioError, nearest};
use std::collections::BTreeSet;
use std::sync::Arc;
use units::Span;

type Result<T> = std::result::Result<T, ScenarioError>;

impl Scenario {
    /// Parses `text`, called `file` in messages, with `KEY=VALUE` assignments applied first.
    pub fn parse(file: &str, text: &str, assignments: &[String]) -> Result<Scenario> {
        let assignments: Vec<_> = assignments.iter().map(Assignment::from).collect();
        Scenario::from_text(&ScenarioText { file, text, ..ScenarioText::default() }, &assignments)
    }

    /// Parses a scenario with assignments of the user and the program applied.
    pub fn from_text(text: &ScenarioText<'_>, assignments: &[Assignment]) -> Result<Scenario> {
        Document::read(text, assignments)?.scenario()
    }

    /// Reads a scenario from a document. Its `sweep` is ignored. The error has all mistakes of the document.
    pub(crate) fn read(document: &TomlItem) -> Result<Scenario> {
        let document = &*count::written_out(document)?;
        Scenario::read_tables(document).map_err(|first| mistakes::all(document, first))
    }

    fn read_tables(document: &TomlItem) -> Result<Scenario> {
        let mut scenario = Scenario::read_unchanged(document)?;
        scenario.read_changes(document)?;
        Ok(scenario)
    }

    /// Reads everything but the changes.
    pub(super) fn read_unchanged(document: &TomlItem) -> Result<Scenario> {
        let top = TableReader::new("", document)?;
        let values = top.described(&SCENARIO, 0)?;
        if let Some(key) = ["extends", "set"].into_iter().find(|key| top.has(key)) {
            return Err(top.error(key, "is for the text of a file; it cannot be assigned"));
        }
        let (duration, warmup) = read_times(&top, &values)?;
        let radio = RadioNetwork::read(&top, duration)?;
        let (radio, generated) = radio.map_or((None, Vec::new()), |(r, flows)| (Some(Arc::new(r)), flows));
        let satellites = Satellites::read(&top, duration)?.map(Arc::new);
        let is_study = top.has("sweep");
        let defaults = Defaults::new(&top);
        let quic = defaults.check()?;

        let link_items = top.list("link")?;
        let mut links: Vec<Duplex> =
            link_items.iter().enumerate().map(|(i, item)| read_link(i, item)).collect::<Result<_>>()?;
        let wifi = wifi::read_all(top.list("wifi")?)?;
        wifi::resolve(link_items, &mut links, &wifi)?;
        let cell_items = top.list("cell")?;
        let cells = cellular::read_all(cell_items)?;
        cellular::resolve(link_items, &mut links, &cells, cell_items)?;
        links.extend(topologies::read_all(top.list("topology")?)?);
        let ecmp = values.read::<&str>("routing") == "ecmp";
        let only_links = satellites.is_none() && radio.is_none();
        if ecmp && !only_links {
            let message = "\"ecmp\" is for links; satellites and radio have their own routing";
            return Err(top.error("routing", message));
        }
        if links.is_empty() && only_links {
            return Err(top.missing("link", "name at least one [[link]]"));
        }
        let nodes = Nodes::new(&links, satellites.as_deref(), radio.as_deref());
        let flow_items = list_flows(&top)?;
        let mut flows: Vec<Flow> = flow_items
            .iter()
            .enumerate()
            .map(|(i, item)| read_flow(i, item, defaults, &nodes))
            .collect::<Result<_>>()?;
        flows.extend(generated);
        let traffic_items = top.list("traffic")?;
        let traffic: Vec<Traffic> = traffic_items
            .iter()
            .enumerate()
            .map(|(i, item)| Traffic::read(i, item, defaults, &nodes, duration))
            .collect::<Result<_>>()?;
        check_number_of_flows(&top, &flows, &traffic, duration)?;
        check_hosts((flow_items, &flows), (traffic_items, &traffic), &links, only_links)?;
        wifi::check_access(&wifi, &[("flow", flow_items), ("traffic", traffic_items)])?;
        check_names(link_items, &links, flow_items, &flows)?;
        traffic::check_names(traffic_items, &traffic, &flows)?;
        Routers::new(&links, radio.as_deref(), satellites.is_some()).check(
            flow_items,
            defaults.tcp,
            &flows,
        )?;
        if let Some(satellites) = &satellites {
            check_ground(link_items, &links, &satellites.system)?;
        }
        top.finish()?;
        Ok(Scenario {
            title: values.read("title"),
            duration,
            warmup,
            seed: values.read("seed"),
            links,
            flows,
            traffic,
            quic,
            delays: values.read("delays"),
            satellites,
            radio,
            wifi,
            cells,
            ecmp,
            is_study,
            changes: Vec::new(),
            prepared: Prepared::default(),
        })
    }

    /// Reads only the satellites of `text`, for `until` from the start, and the seed. The rest of the file is
    /// ignored.
    pub fn parse_satellites(
        text: &ScenarioText<'_>,
        assignments: &[Assignment],
        until: Span,
    ) -> Result<(Satellites, u64)> {
        let document = Document::read(text, assignments)?;
        let top = TableReader::new("", &document.root)?;
        let seed = top.read(&SEED)?;
        let satellites = Satellites::read(&top, until)?;
        Ok((top.need("constellation", satellites, "write constellation = { kind = \"iridium\" }")?, seed))
    }
}

/// The `[[flow]]` tables.
fn list_flows<'a>(top: &TableReader<'a>) -> Result<&'a [TomlItem]> {
    let items = top.list("flow")?;
    if items.len() > MOST_FLOWS {
        return Err(top.error("flow", format!("{} flows; at most {MOST_FLOWS} are possible", items.len())));
    }
    Ok(items)
}

/// Fails if the hosts of flows or traffic cannot have the small queues of their senders.
fn check_hosts(
    (flow_items, flows): (&[TomlItem], &[Flow]),
    (traffic_items, traffic): (&[TomlItem], &[Traffic]),
    links: &[Duplex],
    only_links: bool,
) -> Result<()> {
    for (item, flow) in flow_items.iter().zip(flows).filter(|(_, flow)| flow.kind.limits_local()) {
        let (place, nodes) = (key_text(["flow", &flow.name]), std::slice::from_ref(&flow.from));
        check_small_queues((place, item), nodes, links, only_links)?;
    }
    for (item, source) in traffic_items.iter().zip(traffic).filter(|(_, one)| one.kind.limits_local()) {
        let place = format!("traffic.{}", source.name);
        check_small_queues((place, item), &source.ends[0], links, only_links)?;
    }
    Ok(())
}

/// Checks that there is a flow, and that all tables together have at most the maximum number of flows.
fn check_number_of_flows(
    top: &TableReader<'_>,
    flows: &[Flow],
    traffic: &[Traffic],
    duration: Span,
) -> Result<()> {
    let drawn: f64 = traffic.iter().map(|table| table.expected(duration)).sum();
    let all = flows.len() as f64 + drawn;
    if all > MOST_FLOWS as f64 {
        let message = format!("all tables together have about {all:.0} flows; the maximum is {MOST_FLOWS}");
        return Err(top.error("traffic", message));
    }
    if flows.is_empty() && top.table("radio")?.is_some_and(|radio| radio.has("traffic")) {
        let message =
            "no generated flow starts within the duration; use another seed, more nodes or a longer duration";
        return Err(top.error("radio", message));
    }
    if flows.is_empty() && traffic.is_empty() {
        return Err(top.missing("flow", "name at least one [[flow]]"));
    }
    Ok(())
}

/// Checks that names are unique and that losses name existing flows.
fn check_names(
    link_items: &[TomlItem],
    links: &[Duplex],
    flow_items: &[TomlItem],
    flows: &[Flow],
) -> Result<()> {
    let mut seen = BTreeSet::new();
    for (item, flow) in flow_items.iter().zip(flows) {
        if !seen.insert(flow.name.as_str()) {
            let message = format!("another flow is called \"{}\" too", flow.name);
            return Err(ScenarioError::new(&item.origin, &key_text(["flow", &flow.name, "name"]), message));
        }
    }
    let mut named = BTreeSet::new();
    for (item, link) in link_items.iter().zip(links) {
        let reader = TableReader::new("link", item)?;
        if let Some(name) = reader.text("name")?
            && !named.insert(name)
        {
            return Err(reader.error("name", format!("another link is called \"{name}\" too")));
        }
        let losses = link.directions.iter().flat_map(|direction| &direction.losses);
        for loss in losses {
            let Some(flow) = loss.flow() else { continue };
            if !seen.contains(flow.as_str()) {
                let path = key_text(["link", &link.key()]);
                let message =
                    format!("names the flow \"{flow}\", which does not exist; {}", nearest(&flow, seen));
                return Err(TableReader::new(path, item)?.error("loss", message));
            }
        }
    }
    Ok(())
}

/// Checks that no link ends at a satellite.
fn check_ground(link_items: &[TomlItem], links: &[Duplex], system: &orbit::SatelliteSystem) -> Result<()> {
    let satellites = (0..system.constellation.len()).map(|s| system.constellation.name(s));
    let taken: BTreeSet<&str> = satellites.chain(["*", "seam"]).collect();
    for (item, link) in link_items.iter().zip(links) {
        if let Some(name) = link.ends.iter().find(|name| taken.contains(name.as_str())) {
            let reader = TableReader::new("link", item)?;
            let message = format!(
                "\"{name}\" is the name of a satellite; a link must end at a terminal or another node"
            );
            return Err(reader.error("ends", message));
        }
    }
    Ok(())
}
