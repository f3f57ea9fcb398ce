//! The top level of a scenario.

use super::table::TableReader;
use crate::error::ScenarioError;
use params::Form::{self, Any, AtLeast, Integer, Quantity, Switch, Tables, Text, Word};
use params::{Key, Table, Unit, Values, key};
use units::Span;

/// A scenario.
pub(super) static SCENARIO: Table = Table::new(
    "scenario",
    "top level",
    &[&[
        key("title", Text, "\"\"", "the question that the scenario examines"),
        key("duration", AtLeast(Unit::Time, "60s", "1ps"), "", "simulated time"),
        SEED,
        key("warmup", Quantity(Unit::Time, "5s"), "\"0s\"", "beginning of the run that the outcome excludes"),
        key("delays", Switch, "false", "the outcome has quantiles of the one-way delay and of waiting times"),
        key("extends", Text, "none", "base file, relative to this file; tables are merged key by key"),
        key(
            "set",
            Any("{ \"link.l.rate\" = \"1Mbps\" }"),
            "none",
            "values that replace those of the base file, as with `--set`: key and value",
        ),
        key(
            "sweep",
            Any("{ \"link.l.rate\" = [\"1Mbps\", \"2Mbps\"], seed = [1, 2] }"),
            "none",
            "axes of a study: key and values",
        ),
        key("link", Tables("link"), "none", "the links"),
        key("flow", Tables("flow"), "none", "the flows"),
        key("traffic", Tables("traffic"), "none", "generators of TCP or QUIC flows"),
        key("change", Tables("change"), "none", "what changes during the run"),
        key("tcp", Form::Table("tcp"), "profile `linux`", "options of every TCP flow"),
        key("quic", Form::Table("quic"), "none", "options of every QUIC flow"),
        key("constellation", Form::Table("constellation"), "none", "satellites"),
        key("terminal", Tables("terminal"), "none", "terminals of the satellites on the ground"),
        key("radio", Form::Table("radio"), "none", "a network of radio nodes"),
        key(
            "topology",
            Tables("topology"),
            "none",
            "leaf-spine and fat-tree networks, in place of many links",
        ),
        key(
            "routing",
            Word(&["shortest", "ecmp"]),
            "\"shortest\"",
            "`\"ecmp\"`: each flow takes one of all paths with the fewest links, by a hash of flow, node and seed",
        ),
        key("wifi", Tables("wifi_set"), "none", "basic service sets of Wi-Fi"),
        key("cell", Tables("cell"), "none", "cells of mobile networks"),
    ]],
);

/// The seed of all random streams.
pub(crate) const SEED: Key =
    key("seed", Integer(0, i64::MAX as u64), "1", "seed of all random streams; `--seed` replaces it");

/// The duration, and the warm-up, which is shorter.
pub(super) fn read_times(top: &TableReader<'_>, values: &Values) -> Result<(Span, Span), ScenarioError> {
    let (duration, warmup): (Span, Span) = (values.read("duration"), values.read("warmup"));
    if warmup >= duration {
        let assigned = top.error(
            "duration",
            format!("{duration} must be longer than the warm-up, {warmup}; set that too: --set warmup=..."),
        );
        if assigned.line.is_none() {
            return Err(assigned);
        }
        return Err(top.error("warmup", format!("must be shorter than the duration, {duration}")));
    }
    Ok((duration, warmup))
}
