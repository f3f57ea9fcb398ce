//! Reads a whole scenario.

use super::assignment::Assignment;
use super::change::read_changes;
use super::count::WrittenOut;
use super::document::TomlItem;
use super::flows::{read_flow, small_queues_refusal};
use super::key::key_text;
use super::links::{link_table, read_ends, read_link};
use super::messages::check_messages;
use super::model::{
    Duplex, Flow, FlowKind, MOST_FLOWS, Prepared, RadioNetwork, Satellites, Scenario, Traffic,
};
use super::nodes::Nodes;
use super::overrides::ScenarioText;
use super::paths::Routers;
use super::reading::{Reading, Result, all, shared};
use super::table::{NamedTable, TableReader};
use super::top::{SCENARIO, SEED, Times};
use super::transports::Defaults;
use super::wifi_model::Wifi;
use super::written::Document;
use super::{cellular, start, topologies, traffic, wifi};
use crate::error::{ScenarioError, nearest};
use net::cellular::CellOptions;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::slice;
use std::sync::Arc;
use units::Span;

impl Scenario {
    /// Parses `text`, called `file` in messages, with `KEY=VALUE` assignments applied first.
    pub fn parse(file: &str, text: &str, assignments: &[String]) -> Result<Scenario, ScenarioError> {
        let assignments: Vec<_> = assignments.iter().map(Assignment::from).collect();
        Scenario::from_text(&ScenarioText { file, text, ..ScenarioText::default() }, &assignments)
    }

    /// Parses a scenario with assignments of the user and the program applied.
    pub fn from_text(text: &ScenarioText<'_>, assignments: &[Assignment]) -> Result<Scenario, ScenarioError> {
        Document::read(text, assignments)?.scenario()
    }

    /// Reads a scenario from a document. Its `sweep` is ignored. The error has all mistakes of the document.
    pub(crate) fn read(document: &TomlItem) -> Result<Scenario, ScenarioError> {
        let (scenario, advice) = Reading::of(|reading| {
            let WrittenOut { document, counted } = WrittenOut::new(reading, document);
            let tables = Tables::new(reading, &document, counted)?;
            let scenario = tables.read();
            let changes = read_changes(reading, tables.list("change"), shared(&scenario), tables.duration());
            let mut scenario = scenario?;
            scenario.add_changes(reading, &document, changes?)?;
            Ok(scenario)
        })?;
        Ok(Scenario { advice: advice.into_lines(), ..scenario })
    }

    /// Reads everything but the changes of a document in which each table stands for one.
    pub(super) fn read_unchanged(reading: &Reading, document: &TomlItem) -> Result<Scenario> {
        Tables::new(reading, document, Ok(()))?.read()
    }

    /// Reads only the satellites of `text`, for `until` from the start, and the seed. The rest of the file is
    /// ignored.
    pub fn parse_satellites(
        text: &ScenarioText<'_>,
        assignments: &[Assignment],
        until: Span,
    ) -> Result<(Satellites, u64), ScenarioError> {
        let document = Document::read(text, assignments)?;
        let read = Reading::of(|reading| {
            let top = TableReader::new(reading, "", &document.root)?;
            let seed = top.read(&SEED);
            let satellites = Satellites::read(&top, Ok(until))?;
            let satellites =
                top.need("constellation", satellites, "write constellation = { kind = \"iridium\" }");
            Ok((satellites?, seed?))
        });
        read.map(|(read, _)| read)
    }
}

/// The tables of a document.
struct Tables<'a> {
    reading: &'a Reading,
    top: TableReader<'a>,
    defaults: Defaults<'a>,
    times: Result<Times>,
    /// Whether each table stands for as many as its count says.
    counted: Result<()>,
}

impl<'a> Tables<'a> {
    fn new(reading: &'a Reading, document: &'a TomlItem, counted: Result<()>) -> Result<Tables<'a>> {
        let top = TableReader::new(reading, "", document)?;
        let (defaults, times) = (Defaults::new(&top), Times::read(&top));
        Ok(Tables { reading, top, defaults, times, counted })
    }

    fn duration(&self) -> Result<Span> {
        self.times.map(|times| times.duration)
    }

    /// The tables of the array `key`; none if it is no array.
    fn list(&self, key: &'static str) -> &'a [TomlItem] {
        self.top.list(key).unwrap_or_default()
    }

    /// Whether the array `key` is one without tables, or is left out.
    fn has_none(&self, key: &'static str) -> bool {
        self.top.list(key).is_ok_and(<[TomlItem]>::is_empty)
    }

    /// The tables of the array `key` with their names, by default from their number.
    fn named(&self, key: &'static str, default: impl Fn(usize) -> String) -> Vec<Result<NamedTable<'a>>> {
        let items = self.list(key).iter().enumerate();
        items.map(|(i, item)| TableReader::named(self.reading, key, i, item, || default(i))).collect()
    }

    /// Reads everything but the changes.
    fn read(&self) -> Result<Scenario> {
        let top = &self.top;
        let values = top.described(&SCENARIO, 0);
        for key in ["extends", "set"].into_iter().filter(|key| top.has(key)) {
            top.error(key, "is for the text of a file; it cannot be assigned");
        }
        let radio = Radio::read(top, self.defaults, self.duration());
        let satellites = Satellites::read(top, self.duration()).map(|satellites| satellites.map(Arc::new));
        let quic = self.defaults.check();
        let network = Network::read(self);
        let only_links = match (&satellites, &radio.network) {
            (Ok(satellites), Ok(radio)) => Ok(satellites.is_none() && radio.is_none()),
            (Err(reported), _) | (_, Err(reported)) => Err(*reported),
        };
        let ecmp = shared(&values).map(|values| values.read::<&str>("routing") == "ecmp");
        if let (Ok(true), Ok(false)) = (ecmp, only_links) {
            top.error("routing", "\"ecmp\" is for links; satellites and radio have their own routing");
        }
        let nodes = self.nodes(&network, only_links, &satellites, &radio.network);
        let nodes = shared(&nodes);
        let flow_tables = self.named("flow", |index| format!("flow{index}"));
        let flows = self.read_flows(&flow_tables, nodes)?;
        let traffic_tables = self.named("traffic", |index| format!("traffic{index}-"));
        let read_source = |table| Traffic::read(shared(table)?, self.defaults, nodes, self.duration());
        let traffic: Vec<Result<Traffic>> = traffic_tables.iter().map(read_source).collect();
        self.check_names(&network, (&flow_tables, &flows), &traffic_tables, &radio.flows);
        if let Ok(Some(satellites)) = &satellites {
            network.check_ground(&satellites.system);
        }
        let links = all(network.links.into_iter());
        for (table, flow) in flow_tables.iter().zip(&flows) {
            if let (Ok(table), Ok(flow)) = (table, flow) {
                check_host(&table.reader, &flow.kind, slice::from_ref(&flow.from), &links, only_links);
            }
        }
        for (table, source) in traffic_tables.iter().zip(&traffic) {
            if let (Ok(table), Ok(source)) = (table, source) {
                check_host(&table.reader, &source.kind, &source.ends[0], &links, only_links);
            }
        }
        let unknown = top.finish();
        if self.has_none("wifi") && unknown.and(shared(&links).map(|_| ())).is_ok() {
            wifi::refuse_access(self.reading, "flow", self.list("flow"));
            wifi::refuse_access(self.reading, "traffic", self.list("traffic"));
        }
        start::check_flows(&flow_tables, &flows)?;
        let (mut flows, traffic) = (all(flows.into_iter())?, all(traffic.into_iter())?);
        flows.extend(radio.flows?);
        if self.has_none("link") {
            nodes?; // without a network a flow is not what is missing
        }
        self.check_number_of_flows(&flows, &traffic)?;
        let (links, radio, satellites) = (links?, radio.network?, satellites?);
        let is_plain = radio.is_none() && satellites.is_none();
        check_messages(&flow_tables, &flows, is_plain.then_some(&links[..]), self.duration()?)?;
        let routers = Routers::new(&links, radio.as_deref(), satellites.is_some());
        routers.check(self.reading, self.list("flow"), self.defaults.tcp, &flows);
        if self.list("change").is_empty() {
            routers.advise_accurate_ecn(self.reading, self.list("flow"), &flows);
        }
        unknown.and(self.reading.check())?;
        let (values, times) = (values?, self.times?);
        let flows = flows.into_iter().flat_map(Flow::into_connections).collect();
        Ok(Scenario {
            title: values.read("title"),
            duration: times.duration,
            warmup: times.warmup,
            cooldown: times.cooldown,
            seed: values.read("seed"),
            links,
            flows,
            traffic,
            quic: quic?,
            delays: values.read("delays"),
            satellites,
            radio,
            wifi: network.wifi?,
            cells: network.cells?,
            ecmp: ecmp?,
            is_study: top.has("sweep"),
            changes: Vec::new(),
            prepared: Prepared::default(),
            advice: Vec::new(),
        })
    }

    /// The nodes of the network.
    fn nodes(
        &self,
        network: &Network<'_>,
        only_links: Result<bool>,
        satellites: &Result<Option<Arc<Satellites>>>,
        radio: &Result<Option<Arc<RadioNetwork>>>,
    ) -> Result<Nodes> {
        let ends = network.ends()?;
        if only_links? && ends.is_empty() && self.has_none("link") {
            return Err(self.top.missing("link", "name at least one [[link]]"));
        }
        self.top.list("link").and(self.counted)?;
        Ok(Nodes::new(&ends, shared(satellites)?.as_deref(), shared(radio)?.as_deref()))
    }

    /// Reads the flows of `tables`.
    fn read_flows(
        &self,
        tables: &[Result<NamedTable<'_>>],
        nodes: Result<&Nodes>,
    ) -> Result<Vec<Result<Flow>>> {
        let count = tables.len();
        if count > MOST_FLOWS {
            return Err(self.top.error("flow", format!("{count} flows; at most {MOST_FLOWS} are possible")));
        }
        Ok(tables.iter().map(|table| read_flow(shared(table)?, self.defaults, nodes)).collect())
    }

    /// Checks that there is a flow, and that all tables together have at most the maximum number of flows.
    fn check_number_of_flows(&self, flows: &[Flow], traffic: &[Traffic]) -> Result<()> {
        let (top, duration) = (&self.top, self.duration()?);
        let drawn: f64 = traffic.iter().map(|table| table.expected(duration)).sum();
        let all = flows.iter().map(|flow| f64::from(flow.connections())).sum::<f64>() + drawn;
        if all > MOST_FLOWS as f64 {
            let message =
                format!("all tables together have about {all:.0} flows; the maximum is {MOST_FLOWS}");
            return Err(top.error("traffic", message));
        }
        if !flows.is_empty() || !self.has_none("flow") || !self.has_none("traffic") {
            return Ok(());
        }
        if top.table("radio")?.is_some_and(|radio| radio.has("traffic")) {
            let message = "no generated flow starts within the duration; use another seed, more nodes or a longer duration";
            return Err(top.error("radio", message));
        }
        Err(top.missing("flow", "name at least one [[flow]]"))
    }

    /// Reports names that are not unique, and losses that name no flow. `generated` are the flows of the radio network.
    fn check_names(
        &self,
        network: &Network<'_>,
        (flow_tables, read): (&[Result<NamedTable<'_>>], &[Result<Flow>]),
        traffic_tables: &[Result<NamedTable<'_>>],
        generated: &Result<Vec<Flow>>,
    ) {
        let mut flows = BTreeSet::new();
        for table in flow_tables.iter().flatten() {
            if let Some(name) = table.known_name()
                && !flows.insert(name)
            {
                table.reader.name_error(format!("another flow is called \"{name}\" too"));
            }
        }
        // The flows of a table whose application has several connections have their numbers.
        let mut connections = BTreeSet::new();
        for (table, flow) in flow_tables.iter().zip(read) {
            let Ok(table) = table else { continue };
            let Some(name) = table.known_name() else { continue };
            let count = flow.as_ref().map_or(1, Flow::connections);
            let numbered =
                (0..count).map(|number| if count == 1 { name.into() } else { format!("{name}/{number}") });
            for connection in numbered {
                if let Some(taken) = connections.replace(connection).filter(|_| count > 1) {
                    table.reader.name_error(format!("another flow is called \"{taken}\" too"));
                }
            }
        }
        network.check_names();
        let generated = generated.iter().flatten().map(|flow| flow.name.as_str());
        let is_named = |table: &Result<NamedTable<'_>>| table.as_ref().is_ok_and(|table| table.name.is_ok());
        let are_known = self.counted.and(self.top.list("flow")).is_ok() && flow_tables.iter().all(is_named);
        // That there is no flow at all is a mistake without them.
        if are_known && (!flows.is_empty() || !traffic_tables.is_empty() || generated.clone().count() > 0) {
            network.check_losses(&connections.iter().map(String::as_str).collect());
        }
        let named = flow_tables.iter().flatten().filter_map(NamedTable::known_name);
        traffic::check_names(traffic_tables, &named.chain(generated).collect::<Vec<_>>());
    }
}

/// Reports a host of a flow or of traffic that cannot have the small queues of its senders, at `nodes`.
fn check_host(
    reader: &TableReader<'_>,
    kind: &FlowKind,
    nodes: &[String],
    links: &Result<Vec<Duplex>>,
    only_links: Result<bool>,
) {
    if let (true, Ok(links), Ok(only_links)) = (kind.limits_local(), links, only_links)
        && let Some(message) = small_queues_refusal(nodes, links, only_links)
    {
        reader.error("tcp", message);
    }
}

/// The links of a document, and the media on which they transmit.
struct Network<'a> {
    reading: &'a Reading,
    items: &'a [TomlItem],
    tables: Vec<Result<TableReader<'a>>>,
    /// Those of `tables`, then those of topologies, with the rates of their media.
    links: Vec<Result<Duplex>>,
    wifi: Result<Vec<Wifi>>,
    cells: Result<Vec<CellOptions>>,
}

impl<'a> Network<'a> {
    fn read(tables: &Tables<'a>) -> Network<'a> {
        let (reading, top) = (tables.reading, &tables.top);
        let items = tables.list("link");
        let tables_of_links: Vec<Result<TableReader<'a>>> =
            items.iter().enumerate().map(|(index, item)| link_table(reading, index, item)).collect();
        let mut links: Vec<Result<Duplex>> =
            tables_of_links.iter().map(|table| read_link(shared(table)?)).collect();
        let wifi = top.list("wifi").and_then(|items| wifi::read_all(reading, items));
        let cells = top.list("cell").and_then(|items| cellular::read_all(reading, items));
        // The name of a cell can be the mistake, which the first of its links tells.
        let (mut used, mut known_cells) = (Vec::new(), shared(&cells));
        for (item, read) in items.iter().zip(&mut links) {
            let Ok(link) = read else { continue };
            let of_cell = cellular::resolve(reading, item, link, known_cells);
            known_cells = known_cells.and_then(|cells| of_cell.map(|_| cells));
            let of_wifi = wifi::resolve(reading, item, link, shared(&wifi));
            match of_wifi.and(of_cell) {
                Ok(cell) => used.extend(cell),
                Err(reported) => *read = Err(reported),
            }
        }
        if let (Ok(cells), true) = (&cells, links.iter().all(Result::is_ok)) {
            cellular::refuse_unused(reading, tables.list("cell"), cells, &used);
        }
        match top.list("topology").and_then(|items| topologies::read_all(reading, items)) {
            Ok(topologies) => links.extend(topologies.into_iter().map(Ok)),
            Err(reported) => links.push(Err(reported)),
        }
        Network { reading, items, tables: tables_of_links, links, wifi, cells }
    }

    /// The nodes at the ends of all links. Those of a link that cannot be read otherwise are known too.
    fn ends<'s>(&'s self) -> Result<Vec<Cow<'s, [String; 2]>>> {
        let ends = |(index, link): (usize, &'s Result<Duplex>)| match (shared(link), self.tables.get(index)) {
            (Ok(link), _) => Ok(Cow::Borrowed(&link.ends)),
            (Err(_), Some(Ok(table))) => read_ends(table).map(Cow::Owned),
            (Err(reported), _) => Err(reported),
        };
        all(self.links.iter().enumerate().map(ends))
    }

    /// The links that can be read, each with its table as it is written.
    fn written(&self) -> impl Iterator<Item = (&'a TomlItem, &Duplex)> {
        self.items.iter().zip(&self.links).filter_map(|(item, link)| Some((item, link.as_ref().ok()?)))
    }

    /// Reports a mistake in `key` of a link that `path` names.
    fn refuse(&self, path: &str, item: &TomlItem, key: &str, message: String) {
        if let Ok(table) = TableReader::new(self.reading, path, item) {
            table.error(key, message);
        }
    }

    /// Reports names that are not unique.
    fn check_names(&self) {
        let mut names = BTreeSet::new();
        for (item, name) in self.items.iter().filter_map(|item| Some((item, item.name()?))) {
            if !names.insert(name) {
                self.refuse("link", item, "name", format!("another link is called \"{name}\" too"));
            }
        }
    }

    /// Reports losses that name none of `flows`.
    fn check_losses(&self, flows: &BTreeSet<&str>) {
        for (item, link) in self.written() {
            let losses = link.directions.iter().flat_map(|direction| &direction.losses);
            for flow in losses.filter_map(|loss| loss.flow()).filter(|flow| !flows.contains(flow.as_str())) {
                let remark = nearest(&flow, flows.iter().copied());
                let message = format!("names the flow \"{flow}\", which does not exist; {remark}");
                self.refuse(&key_text(["link", &link.key()]), item, "loss", message);
            }
        }
    }

    /// Reports links that end at a satellite.
    fn check_ground(&self, system: &orbit::SatelliteSystem) {
        let satellites = (0..system.constellation.len()).map(|s| system.constellation.name(s));
        let satellites: BTreeSet<&str> = satellites.chain(["*", "seam"]).collect();
        for (item, link) in self.written() {
            if let Some(name) = link.ends.iter().find(|name| satellites.contains(name.as_str())) {
                let message = format!(
                    "\"{name}\" is the name of a satellite; a link must end at a terminal or another node"
                );
                self.refuse("link", item, "ends", message);
            }
        }
    }
}

/// The radio network of a scenario, and the flows that it generates.
struct Radio {
    network: Result<Option<Arc<RadioNetwork>>>,
    flows: Result<Vec<Flow>>,
}

impl Radio {
    fn read(top: &TableReader<'_>, defaults: Defaults<'_>, duration: Result<Span>) -> Radio {
        match RadioNetwork::read(top, defaults, duration) {
            Ok(Some((network, flows))) => Radio { network: Ok(Some(Arc::new(network))), flows: Ok(flows) },
            Ok(None) => Radio { network: Ok(None), flows: Ok(Vec::new()) },
            Err(reported) => Radio { network: Err(reported), flows: Err(reported) },
        }
    }
}
