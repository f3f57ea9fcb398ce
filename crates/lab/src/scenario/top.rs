//! The top level of a scenario.

use super::reading::Result;
use super::table::TableReader;
use params::Form::{self, Any, AtLeast, Integer, Quantity, Switch, Tables, Text, Word};
use params::{Key, Table, Unit, key};
use units::Span;

/// A scenario.
pub(super) static SCENARIO: Table = Table::new(
    "scenario",
    "top level",
    &[&[
        key("title", Text, "\"\"", "the question that the scenario examines"),
        DURATION,
        SEED,
        WARMUP,
        COOLDOWN,
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

const DURATION: Key = key("duration", AtLeast(Unit::Time, "60s", "1ps"), "", "simulated time");

const WARMUP: Key =
    key("warmup", Quantity(Unit::Time, "5s"), "\"0s\"", "beginning of the run that the outcome excludes");

const COOLDOWN: Key = key(
    "cooldown",
    Quantity(Unit::Time, "5s"),
    "\"0s\"",
    "end of the run: messages of applications that start in it do not count",
);

/// The seed of all random streams.
pub(crate) const SEED: Key =
    key("seed", Integer(0, i64::MAX as u64), "1", "seed of all random streams; `--seed` replaces it");

/// The times of a scenario.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub duration: Span,
    /// Shorter than the duration.
    pub warmup: Span,
    /// Shorter than the rest.
    pub cooldown: Span,
}

impl Times {
    /// Reads the duration and the warm-up.
    pub fn read(top: &TableReader<'_>) -> Result<Times> {
        let (duration, warmup) = (top.read(&DURATION), top.read(&WARMUP));
        let cooldown = top.read(&COOLDOWN);
        let (duration, warmup, cooldown): (Span, Span, Span) = (duration?, warmup?, cooldown?);
        if warmup < duration {
            if cooldown >= duration - warmup {
                let rest = duration - warmup;
                return Err(
                    top.error(COOLDOWN.name, format!("must be shorter than the rest of the run, {rest}"))
                );
            }
            return Ok(Times { duration, warmup, cooldown });
        }
        if top.is_assigned(DURATION.name) {
            let message = format!(
                "{duration} must be longer than the warm-up, {warmup}; set that too: --set warmup=..."
            );
            return Err(top.error(DURATION.name, message));
        }
        Err(top.error(WARMUP.name, format!("must be shorter than the duration, {duration}")))
    }
}
