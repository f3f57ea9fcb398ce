//! `[[change]]`: what changes in the middle of a run. The keys of `set` are those of `--set`: the scenario is read with them,
//! and what differs from the scenario before must be something that can change.

use super::assign::assign;
use super::document::{TomlItem, TomlValue};
use super::key::key_parts;
use super::links::{arrival_queues, scheduled_queues};
use super::model::{Action, Change, Direction, Duplex, Flow, FlowKind, PacketSelection, Scenario};
use super::reading::{Reading, Result, all};
use super::table::{NamedTable, TableReader};
use crate::error::{Origin, ScenarioError, nearest};
use cc::Signals;
use params::Form::{Any, Integer, Quantity, Switch, Text, Word};
use params::{Table, Unit, Values, key};
use std::collections::BTreeSet;
use units::{Span, Time};

/// What can change, for messages.
const CHANGEABLE: &str = "what can: rate, delay, queue and loss of a link or of its back; start, stop, udp.rate, udp.schedule, tcp.receive_window, tcp.congestion_control, app.rate, app.think and app.max of a flow";

/// The actions of a change at a link (`do`).
const ACTIONS: [&str; 4] = ["drop_next", "keep_next", "unmark_next", "blackout"];

/// What changes during the run.
pub(super) static CHANGE: Table = Table::new(
    "change",
    "`[[change]]`",
    &[&[
        key("name", Text, "`change0`, `change1`, ...", "name of the change"),
        key("at", Quantity(Unit::Time, "8s"), "", "its time; it comes before all else at that time"),
        key(
            "set",
            Any("{ \"link.bottleneck.rate\" = \"5Mbps\", \"flow.f.tcp.congestion_control\" = \"bbr\" }"),
            "nothing",
            "keys as for `--set`, and their values from then on: rate, delay, queue and loss of a link; start, stop, `udp.rate`, `tcp.receive_window`, `tcp.congestion_control`, `app.rate`, `app.think` and `app.max` of a flow",
        ),
        key("order", Switch, "true", "packets keep their order when a delay changes"),
        key(
            "do",
            Word(&ACTIONS),
            "nothing",
            "an action at a link: drop the next packets; keep the next packets that it would drop; leave the next packets unmarked that it would mark; drop all that arrives for a time",
        ),
        key("link", Text, "needed with `do`", "name of the link, or a direction as `a->b`"),
        key("back", Switch, "false", "the action is at the reverse direction of the link"),
        key("flow", Text, "every flow", "the action means packets of this flow"),
        key(
            "packet",
            Integer(0, u32::MAX as u64),
            "any",
            "the action means packets with this number, as in the packet log",
        ),
        key(
            "count",
            Integer(1, 1_000_000),
            "1",
            "number of packets that an action drops, keeps or leaves unmarked",
        ),
        key("duration", Quantity(Unit::Time, "200ms"), "needed with `blackout`", "length of a blackout"),
    ]],
);

/// The tables of a scenario in which something can change.
const CHANGING_TABLES: [&str; 4] = ["link", "flow", "tcp", "quic"];

impl Scenario {
    /// This scenario without its changes from `at` on: the run is built for them, so that it can be copied at that time and
    /// changed ([`crate::Run::adopt`]).
    pub fn unchanged_from(&self, at: Time) -> Scenario {
        let mut scenario = self.clone();
        scenario.changes.retain(|change| change.at < at);
        scenario
    }

    /// Notes what the changes need from the start of a run.
    pub(super) fn prepare(&mut self) {
        let prepared = &mut self.prepared;
        for action in self.changes.iter().flat_map(|change| &change.actions) {
            match action {
                Action::Rate(link, _) | Action::Queue(link, _) => {
                    prepared.links.entry(*link).or_default().served = true;
                }
                Action::Delay(link, _, ordered) => {
                    let link = prepared.links.entry(*link).or_default();
                    (link.served, link.delayed) = (true, true);
                    link.reorders |= !ordered;
                }
                Action::Losses(link, losses) => {
                    let before = &self.links[*link as usize / 2].directions[*link as usize % 2].losses;
                    // The order of the packets outlasts an impairment that keeps it.
                    let delays = before.iter().chain(losses).any(|loss| loss.permits().delay > Span::ZERO);
                    prepared.links.entry(*link).or_default().delayed |= delays;
                }
                Action::DropNext(link, ..)
                | Action::KeepNext(link, ..)
                | Action::UnmarkNext(link, ..)
                | Action::Blackout(link, _) => {
                    prepared.links.entry(*link).or_default();
                }
                Action::Control(flow, kind) => prepared.require(*flow, kind.needs()),
                Action::Schedule(..)
                | Action::Start(..)
                | Action::Stop(..)
                | Action::ReceiveWindow(..)
                | Action::App(..) => {}
            }
        }
    }

    /// Adds the changes, which are resolved in the order of time; `document` is that of the scenario with them.
    pub(super) fn add_changes(
        &mut self,
        reading: &Reading,
        document: &TomlItem,
        mut changes: Vec<Written<'_>>,
    ) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        changes.sort_by_key(|change| change.at);
        let mut document = document.clone();
        if let TomlValue::Table(entries) = &mut document.value {
            entries.retain(|(key, _)| key != "change" && key != "sweep");
        }
        let mut before = self.clone();
        for written in &changes {
            let (change, after) = written.resolve(reading, &mut document, &before)?;
            self.changes.push(change);
            before = after;
        }
        self.prepare();
        Ok(())
    }
}

/// Reads the tables of the changes of `scenario`, as they are written.
pub(super) fn read_changes<'a>(
    reading: &'a Reading,
    items: &'a [TomlItem],
    scenario: Result<&Scenario>,
    duration: Result<Span>,
) -> Result<Vec<Written<'a>>> {
    let mut names = BTreeSet::new();
    all(items.iter().enumerate().map(|(index, item)| {
        let NamedTable { reader, name } =
            TableReader::named(reading, "change", index, item, || format!("change{index}"))?;
        let written = Written::read(&reader, name.clone(), scenario, duration);
        if let Ok(name) = name
            && !names.insert(name.clone())
        {
            let message = format!("another change is called \"{name}\" too");
            return Err(reader.name_error(message));
        }
        written
    }))
}

/// A table as it is written.
pub(super) struct Written<'a> {
    name: String,
    at: Time,
    set: &'a [(String, TomlItem)],
    ordered: bool,
    does: Option<Action>,
    origin: &'a Origin,
}

impl<'a> Written<'a> {
    fn read(
        reader: &TableReader<'a>,
        name: Result<String>,
        scenario: Result<&Scenario>,
        duration: Result<Span>,
    ) -> Result<Written<'a>> {
        let values = reader.values(&CHANGE, 0);
        let set = match reader.get("set") {
            None => Ok(&[][..]),
            Some(TomlItem { value: TomlValue::Table(entries), .. }) => Ok(&entries[..]),
            Some(_) => {
                let message = "must be a table, such as { \"link.bottleneck.rate\" = \"5Mbps\" }";
                Err(reader.error("set", message))
            }
        };
        let (values, duration) = (values?, duration?);
        let at: Span = values.read("at");
        if at == Span::ZERO || at >= duration {
            let message = format!("must be after the start and before the end, {duration}");
            return Err(reader.error("at", message));
        }
        let at = Time::ZERO + at;
        let does = read_action(reader, &values, scenario?, at)?;
        let set = set?;
        if set.is_empty() && does.is_none() {
            return Err(reader.missing("set", "name what changes, or an action with do = \"drop_next\""));
        }
        Ok(Written { name: name?, at, set, ordered: values.read("order"), does, origin: reader.origin() })
    }

    /// The change, and the scenario after it. `document` becomes that of this scenario.
    fn resolve(
        &self,
        reading: &Reading,
        document: &mut TomlItem,
        before: &Scenario,
    ) -> Result<(Change, Scenario)> {
        let whole = document.clone();
        let within = |error: ScenarioError| ScenarioError {
            key: format!("change.{}.set.{}", self.name, error.key),
            ..error
        };
        let refuse = |error| reading.report(within(error));
        for (key, item) in self.set {
            let table = key_parts(key).ok().and_then(|parts| parts.into_iter().next()).unwrap_or_default();
            if !CHANGING_TABLES.contains(&&*table) {
                let message = format!("cannot change during a run; {CHANGEABLE}");
                return Err(refuse(ScenarioError::new(&item.origin, key, message)));
            }
            assign(document, key, item.clone()).map_err(refuse)?;
        }
        let after = reading.nested(within, |inner| Scenario::read_unchanged(inner, document))?;
        let mut actions = self.actions(before, &after).map_err(|message| {
            // The first key alone with which something differs that cannot change, if there is one.
            let alone = self.set.iter().find_map(|(key, item)| {
                let mut document = whole.clone();
                assign(&mut document, key, item.clone()).ok()?;
                let after = Scenario::read_unchanged(&Reading::default(), &document).ok()?;
                let message = self.actions(before, &after).err()?;
                Some(within(ScenarioError::new(&item.origin, key, message)))
            });
            let whole = || ScenarioError::new(self.origin, &format!("change.{}", self.name), message);
            reading.report(alone.unwrap_or_else(whole))
        })?;
        actions.extend(self.does.clone());
        Ok((Change { name: self.name.clone(), at: self.at, actions }, after))
    }

    /// What differs. Fails with a message if something differs that cannot change.
    fn actions(&self, before: &Scenario, after: &Scenario) -> Result<Vec<Action>, String> {
        let mut actions = Vec::new();
        let mut rest = after.clone();
        for (index, (link, old)) in rest.links.iter_mut().zip(&before.links).enumerate() {
            for (side, (new, old)) in link.directions.iter_mut().zip(&old.directions).enumerate() {
                let number = 2 * index as u32 + side as u32;
                actions.extend(direction_actions(number, old, new, self.ordered)?);
                (new.rate, new.delay) = (old.rate, old.delay);
                (new.queue, new.losses) = (old.queue.clone(), old.losses.clone());
            }
        }
        for (index, (flow, old)) in rest.flows.iter_mut().zip(&before.flows).enumerate() {
            actions.extend(flow_actions(index, old, flow, self.at)?);
            (flow.start, flow.stop, flow.kind) = (old.start, old.stop, old.kind.clone());
            flow.app = old.app.clone();
        }
        let of = |scenario: &Scenario| {
            let Scenario { duration, warmup, seed, links, flows, traffic, delays, satellites, radio, .. } =
                scenario;
            format!(
                "{duration:?}{warmup:?}{seed}{links:?}{flows:?}{traffic:?}{delays}{satellites:?}{radio:?}"
            )
        };
        if of(&rest) != of(before) {
            return Err(format!("cannot change during a run; {CHANGEABLE}"));
        }
        Ok(actions)
    }
}

/// What differs between two states of a direction.
fn direction_actions(
    link: u32,
    old: &Direction,
    new: &Direction,
    ordered: bool,
) -> Result<Vec<Action>, String> {
    let mut actions = Vec::new();
    if format!("{:?}", old.variation) != format!("{:?}", new.variation) {
        return Err("a rate that varies cannot begin or end during a run; change it to another rate".into());
    }
    if old.has_medium() && old.queue != new.queue {
        return Err("the queue of a link of a medium (Wi-Fi, cell, grants) cannot change during a run".into());
    }
    if old.rate != new.rate {
        if old.variation.is_some() {
            return Err("this rate varies by itself, so it cannot change".into());
        }
        actions.push(Action::Rate(link, new.rate));
    }
    if old.delay != new.delay {
        actions.push(Action::Delay(link, new.delay, ordered));
    }
    if old.queue != new.queue {
        actions.push(Action::Queue(link, new.queue.clone()));
    }
    if !actions.is_empty() && (old.queue.needs_constant_rate() || new.queue.needs_constant_rate()) {
        return Err(format!(
            "{} decide at arrival: rate, delay and queue of their link cannot change; use {}",
            arrival_queues(" and "),
            scheduled_queues()
        ));
    }
    if !actions.is_empty() && old.router.is_some() {
        return Err("a link with a router cannot change".into());
    }
    if old.losses != new.losses {
        if !old.losses.iter().chain(&new.losses).all(|loss| loss.kind().can_change) {
            return Err(
                "duplicates and stalls cannot begin or end during a run; all other impairments can".into()
            );
        }
        actions.push(Action::Losses(link, new.losses.clone()));
    }
    Ok(actions)
}

/// What differs between two states of a flow.
fn flow_actions(index: usize, old: &Flow, new: &Flow, at: Time) -> Result<Vec<Action>, String> {
    let mut actions = Vec::new();
    let since = |span: Span| Time::ZERO + span;
    if old.start != new.start {
        if since(old.start) <= at || since(new.start) < at {
            return Err(format!(
                "the start of a flow can only change before the flow starts, to a time from {} on",
                at.since(Time::ZERO)
            ));
        }
        let follows = !old.writes.is_empty()
            || old.start_jitter > Span::ZERO
            || matches!(old.kind, FlowKind::Udp { period: Some(_), .. });
        if follows {
            return Err(
                "the start of a flow with writes, start_jitter or a periodic UDP source cannot change".into(),
            );
        }
        actions.push(Action::Start(index, since(new.start)));
    }
    if old.stop != new.stop {
        let stop = new.stop.map_or(Time::NEVER, since);
        if old.stop.is_some_and(|stop| since(stop) <= at) {
            return Err("the flow has stopped before the change".into());
        }
        if stop < at {
            return Err(format!("a flow can only stop from {} on", at.since(Time::ZERO)));
        }
        actions.push(Action::Stop(index, stop));
    }
    if old.app.is_some() && (old.start, old.stop) != (new.start, new.stop) {
        return Err("start and stop of a flow with an application cannot change".into());
    }
    match (&old.app, &new.app) {
        (old_app, new_app) if old_app == new_app => {}
        (Some(old_app), Some(new_app)) if new_app.with_changing_values_of(old_app) == **old_app => {
            actions.push(Action::App(index, new_app.clone()));
        }
        _ => return Err("of an application only rate, think and max can change during a run".into()),
    }
    match (&old.kind, &new.kind) {
        (FlowKind::Tcp(old_tcp), FlowKind::Tcp(tcp)) => {
            let mut rest = tcp.options.clone();
            let (now, then) = (&tcp.options, &old_tcp.options);
            // The controller and the receiver's window give the defaults of these, which apply at the start of a flow.
            (rest.window, rest.initial_window, rest.initial_ssthresh) =
                (then.window, then.initial_window, then.initial_ssthresh);
            let controller = format!("{:?}", old_tcp.control) != format!("{:?}", tcp.control);
            if rest != *then {
                return Err(match controller {
                    true => "this controller needs other options of TCP (such as ecn), which cannot change during a run".into(),
                    false => format!("these options of TCP cannot change during a run; {CHANGEABLE}"),
                });
            }
            if now.window != then.window {
                actions.push(Action::ReceiveWindow(index, now.window));
            }
            if controller {
                if let Some(conflict) = old.kind.recovery_conflict(&new.kind) {
                    return Err(conflict);
                }
                actions.push(Action::Control(index, new.kind.clone()));
            }
        }
        (
            FlowKind::Udp { packet, schedule, period, jitter },
            FlowKind::Udp { packet: size, schedule: next, period: cycle, jitter: random },
        ) => {
            let differs = schedule != next;
            if (packet, period, jitter) != (size, cycle, random) || period.is_some() && differs {
                return Err("of a UDP source only rate and schedule can change".into());
            }
            actions.extend(differs.then(|| Action::Schedule(index, next.clone())));
        }
        (FlowKind::Quic(_), FlowKind::Quic(_)) if format!("{:?}", old.kind) == format!("{:?}", new.kind) => {}
        (FlowKind::Quic(_), FlowKind::Quic(_)) => {
            return Err(
                "the options of a QUIC flow cannot change during a run; those of its links can".into()
            );
        }
        _ => return Err("the transport of a flow cannot change during a run".into()),
    }
    Ok(actions)
}

/// The number of a direction: of a link by its name, which is its forward direction, or by the nodes `a->b`.
fn direction_of(scenario: &Scenario, link: &str) -> Result<u32, String> {
    let links = || scenario.links.iter().zip(0u32..);
    let named = links().find(|(duplex, _)| duplex.name.as_deref() == Some(link)).map(|(_, index)| 2 * index);
    let between = || {
        links().find_map(|(duplex, index)| {
            let [a, b] = &duplex.ends;
            let side = [format!("{a}->{b}"), format!("{b}->{a}")].iter().position(|ends| ends == link)?;
            Some(2 * index + side as u32)
        })
    };
    named.or_else(between).ok_or_else(|| {
        let names: Vec<String> = scenario.links.iter().map(Duplex::key).collect();
        format!("there is no link \"{link}\"; {}", nearest(link, names.iter().map(String::as_str)))
    })
}

/// Reads `do` with its keys.
fn read_action(
    reader: &TableReader<'_>,
    values: &Values,
    scenario: &Scenario,
    at: Time,
) -> Result<Option<Action>> {
    let Some(does) = values.optional::<&str>("do") else {
        let stray =
            ["link", "back", "flow", "packet", "count", "duration"].into_iter().find(|key| reader.has(key));
        return match stray {
            Some(key) => {
                let actions = ACTIONS.map(|action| format!("\"{action}\"")).join(", ");
                Err(reader.error(key, format!("needs an action; do is one of {actions}")))
            }
            None => Ok(None),
        };
    };
    let link: String = reader.need("link", values.read("link"), "name the link of the action")?;
    let forward = direction_of(scenario, &link).map_err(|message| reader.error("link", message))?;
    let number = forward ^ u32::from(values.read::<bool>("back"));
    let index = |name: String| {
        scenario.flows.iter().position(|flow| flow.name == name).ok_or_else(|| {
            let remark = nearest(&name, scenario.flows.iter().map(|flow| flow.name.as_str()));
            reader.error("flow", format!("there is no flow \"{name}\"; {remark}"))
        })
    };
    let flow = values.optional("flow").map(index).transpose()?;
    let unused: &[&str] = if does == "blackout" { &["flow", "packet", "count"] } else { &["duration"] };
    if let Some(key) = unused.iter().find(|key| reader.has(key)) {
        return Err(reader.error(key, format!("do = \"{does}\" has no {key}")));
    }
    let selection = PacketSelection { flow, packet: values.read("packet"), count: values.read("count") };
    Ok(Some(match does {
        "drop_next" => Action::DropNext(number, selection),
        "keep_next" => Action::KeepNext(number, selection),
        "unmark_next" => Action::UnmarkNext(number, selection),
        _ => {
            let duration: Option<Span> = values.read("duration");
            let duration = reader.need("duration", duration, "such as duration = \"200ms\"")?;
            Action::Blackout(number, at + duration)
        }
    }))
}

impl FlowKind {
    /// Why a flow of this kind cannot take over the controller of `other`, if it cannot: with recovery `reno` Vegas
    /// retransmits by a clock of its own, which cannot begin or end during a run.
    pub(super) fn recovery_conflict(&self, other: &FlowKind) -> Option<String> {
        let FlowKind::Tcp(tcp) = self else { return None };
        let by_clock = |kind: &FlowKind| kind.needs().has(Signals::FINE_CLOCK);
        let conflict = tcp.options.recovery == transport::Recovery::Reno && by_clock(self) != by_clock(other);
        conflict.then(|| "with recovery = \"reno\" a controller with a fine clock (vegas, ca_artt) cannot begin or end during a run; use another recovery".into())
    }

    /// The signals that its controller requires; none for UDP, and for code that is not loaded.
    fn needs(&self) -> Signals {
        match self {
            FlowKind::Tcp(tcp) => tcp.control.needs(&tcp.flow_info(0, 0)),
            FlowKind::Quic(_) | FlowKind::Udp { .. } | FlowKind::Attached(_) => Signals::NONE,
        }
    }
}
