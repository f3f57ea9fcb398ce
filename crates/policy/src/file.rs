//! A policy file: what the policy observes, how often it decides, what an action means, and its network.
//!
//! The file is TOML: `format`, `features`, `history`, `[interval]` (`rtts`, `of`, `least`), `[action]` (`kind`, `scale`,
//! `limit`, `least`, `largest`), one `[[layer]]` for each layer (`weights`, `bias`; `normalisation`, `activation` of a dense
//! one, `recurrent`, `recurrent_bias` of one of kind `gru`), and `[record]`, which only people read. docs/gym.md describes it.

use super::action::{ActionKind, PolicyAction};
use super::feature::Feature;
use super::interval::Measured;
use super::keys::{number, refuse_unknown};
use super::network::{Activation, Dense, Gru, Layer, NeuralNetwork, Normalisation};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use toml::{Table, Value};

/// The value of `format`: files with another one are refused.
pub const FORMAT: &str = "ackclock policy 1";
/// Largest number of weights.
const LARGEST_NETWORK: usize = 1_000_000;
/// Largest number of intervals in an observation.
const LONGEST_HISTORY: i64 = 1000;

/// The shortest interval, s.
const SHORTEST_INTERVAL_S: f64 = 1e-3;

/// How long an interval is: `rtts` round-trip times, but at least `least` seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalLength {
    /// Round-trip times; 0 for a fixed length.
    pub rtts: f64,
    /// Whether the round-trip time is the mean one of the last interval, not the smallest one.
    pub of_mean: bool,
    /// The smallest length, s.
    pub least: f64,
}

/// A policy. Without layers it is one for an environment, which chooses its actions.
#[derive(Clone, PartialEq)]
pub struct PolicyFile {
    /// What is observed of an interval.
    pub features: Vec<Feature>,
    /// Intervals in an observation.
    pub history: usize,
    /// The length of an interval.
    pub length: IntervalLength,
    /// What an action does.
    pub action: PolicyAction,
    /// The network from the observation to the action.
    pub network: NeuralNetwork,
    /// The text of the file; the identity of the policy.
    text: Arc<str>,
}

/// The text, so that equal policies have equal output.
impl fmt::Debug for PolicyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plan({})", self.text)
    }
}

impl PolicyFile {
    /// Reads a policy file. Fails with the key and what is wrong with it.
    pub fn read(text: &str) -> Result<PolicyFile, String> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            let line =
                error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            format!("line {line}: {}", error.message())
        })?;
        let keys = ["format", "features", "history", "interval", "action", "layer", "record"];
        refuse_unknown(&table, &keys, "")?;
        match table.get("format").and_then(Value::as_str) {
            Some(FORMAT) => {}
            Some(other) => {
                return Err(format!("format: \"{other}\" is not \"{FORMAT}\", the one that is read here"));
            }
            None => return Err(format!("format: missing; a policy file begins with format = \"{FORMAT}\"")),
        }
        let features = read_features(&table)?;
        let history = table.get("history").map_or(Some(1), Value::as_integer);
        let history = history
            .filter(|n| (1..=LONGEST_HISTORY).contains(n))
            .ok_or_else(|| format!("history: must be an integer from 1 to {LONGEST_HISTORY}"))?;
        let file = PolicyFile {
            features,
            history: history as usize,
            length: read_length(sub_table(&table, "interval")?)?,
            action: PolicyAction::read(sub_table(&table, "action")?)?,
            network: read_network(&table)?,
            text: text.into(),
        };
        file.check_sizes()?;
        Ok(file)
    }

    /// Numbers in an observation.
    pub fn inputs(&self) -> usize {
        self.features.len() * self.history
    }

    /// Whether an environment chooses the actions.
    pub fn is_open(&self) -> bool {
        self.network.layers.is_empty()
    }

    fn check_sizes(&self) -> Result<(), String> {
        let mut width = self.inputs();
        for (number, layer) in self.network.layers.iter().enumerate() {
            let (weights, outputs, needed) = (layer.weights(), layer.width(), layer.expected_weights(width));
            if weights as u64 != needed {
                return Err(format!(
                    "layer {}: has {weights} weights for {outputs} outputs, but {width} inputs need {needed}",
                    number + 1,
                ));
            }
            width = outputs;
        }
        let outputs = self.action.kind.outputs();
        if !self.is_open() && width != outputs {
            let kind = self.action.kind.name();
            return Err(format!(
                "layer: the last one has {width} outputs, but the action {kind} needs {outputs}"
            ));
        }
        let weights: usize = self.network.layers.iter().map(Layer::weights).sum();
        if weights > LARGEST_NETWORK {
            return Err(format!("layer: {weights} weights, but at most {LARGEST_NETWORK} are read"));
        }
        Ok(())
    }

    /// The length of an interval after one with these values, s; `None` before the first round-trip sample.
    pub fn seconds(&self, last: &Measured) -> Option<f64> {
        let rtt = if self.length.of_mean && last.rtt > 0.0 { last.rtt } else { last.min_rtt };
        let measured = rtt > 0.0 || self.length.rtts == 0.0;
        measured.then(|| (self.length.rtts * rtt).max(self.length.least))
    }

    /// The observation: the features of the last `history` intervals, oldest first. Intervals before the first one are
    /// empty.
    pub fn observe(&self, intervals: &VecDeque<Measured>) -> Vec<f32> {
        let empty = Measured::default();
        let missing = self.history.saturating_sub(intervals.len());
        let latest = intervals.iter().skip(intervals.len().saturating_sub(self.history));
        let all = std::iter::repeat_n(&empty, missing).chain(latest);
        all.flat_map(|interval| self.features.iter().map(|feature| interval.feature(*feature))).collect()
    }
}

/// The table `key`, empty if it is missing.
fn sub_table<'a>(table: &'a Table, key: &str) -> Result<Option<&'a Table>, String> {
    table.get(key).map(|value| value.as_table().ok_or_else(|| format!("{key}: must be a table"))).transpose()
}

fn read_features(table: &Table) -> Result<Vec<Feature>, String> {
    let names = table.get("features").and_then(Value::as_array).filter(|names| !names.is_empty());
    let names = names.ok_or("features: must be a list of names, such as [\"latency_ratio\"]")?;
    let feature = |name: &Value| {
        let name = name.as_str().unwrap_or_default();
        Feature::ALL.iter().copied().find(|feature| feature.name() == name).ok_or_else(|| {
            let all: Vec<&str> = Feature::ALL.iter().map(|feature| feature.name()).collect();
            format!("features: there is no feature \"{name}\"; there are {}", all.join(", "))
        })
    };
    names.iter().map(feature).collect()
}

fn read_length(table: Option<&Table>) -> Result<IntervalLength, String> {
    let empty = Table::new();
    let table = table.unwrap_or(&empty);
    refuse_unknown(table, &["rtts", "of", "least"], "interval.")?;
    let of_mean = match table.get("of").map_or(Some("smallest"), Value::as_str) {
        Some("smallest") => false,
        Some("mean") => true,
        _ => return Err("interval.of: must be \"smallest\" or \"mean\"".into()),
    };
    let rtts = number(table, "interval", "rtts", 1.0, 0.0..=100.0)?;
    let least = number(table, "interval", "least", 0.01, 0.0..=100.0)?;
    if rtts == 0.0 && least == 0.0 {
        return Err("interval: rtts and least are both 0; one of them must give a length".into());
    }
    // Shorter intervals would cost more than the packets in them.
    Ok(IntervalLength { rtts, of_mean, least: least.max(SHORTEST_INTERVAL_S) })
}

fn read_network(table: &Table) -> Result<NeuralNetwork, String> {
    let Some(layers) = table.get("layer") else { return Ok(NeuralNetwork::default()) };
    let layers = layers.as_array().ok_or("layer: must be a list of tables")?;
    let layers = layers.iter().enumerate().map(|(number, layer)| {
        let place = format!("layer {}", number + 1);
        let layer = layer.as_table().ok_or_else(|| format!("{place}: must be a table"))?;
        match layer.get("kind").map_or(Some("dense"), Value::as_str).unwrap_or("no string") {
            "dense" if layer.contains_key("recurrent") => {
                Err(format!("{place}: recurrent weights need kind = \"gru\""))
            }
            "dense" => read_dense(layer, &place).map(Layer::Dense),
            "gru" => read_gru(layer, &place).map(Layer::Gru),
            other => Err(format!("{place}: there is no kind \"{other}\"; there are dense, gru")),
        }
    });
    Ok(NeuralNetwork { layers: layers.collect::<Result<_, String>>()? })
}

fn read_dense(layer: &Table, place: &str) -> Result<Dense, String> {
    let keys = ["kind", "weights", "bias", "normalisation", "activation"];
    refuse_unknown(layer, &keys, &format!("{place}: "))?;
    let name = layer.get("activation").map_or(Some("linear"), Value::as_str).unwrap_or_default();
    let activation = Activation::NAMED.iter().find(|(other, _)| *other == name);
    let activation = activation.map(|(_, activation)| *activation).ok_or_else(|| {
        let all = Activation::NAMED.map(|(name, _)| name).join(", ");
        format!("{place}: there is no activation \"{name}\"; there are {all}")
    })?;
    let (weights, bias) = (numbers(layer, place, "weights")?, numbers(layer, place, "bias")?);
    let normalisation = read_normalisation(layer, place, bias.len())?;
    Ok(Dense { weights, bias, normalisation, activation })
}

fn read_gru(layer: &Table, place: &str) -> Result<Gru, String> {
    let keys = ["kind", "weights", "bias", "recurrent", "recurrent_bias"];
    refuse_unknown(layer, &keys, &format!("{place}: "))?;
    let read = |key| numbers(layer, place, key);
    let gru = Gru {
        weights: read("weights")?,
        bias: read("bias")?,
        recurrent: read("recurrent")?,
        recurrent_bias: read("recurrent_bias")?,
    };
    let (rows, units) = (gru.bias.len(), gru.bias.len() / 3);
    if rows % 3 != 0
        || gru.recurrent_bias.len() != rows
        || gru.recurrent.len() as u64 != rows as u64 * units as u64
    {
        let (biases, recurrent) = (gru.recurrent_bias.len(), gru.recurrent.len());
        return Err(format!(
            "{place}: a gru of n units has 3 n numbers in bias and in recurrent_bias, and 3 n n in recurrent; here are \
             {rows}, {biases} and {recurrent}"
        ));
    }
    Ok(gru)
}

fn read_normalisation(layer: &Table, place: &str, outputs: usize) -> Result<Option<Normalisation>, String> {
    let place = format!("{place}: normalisation");
    let Some(value) = layer.get("normalisation") else { return Ok(None) };
    let table = value.as_table().ok_or_else(|| format!("{place} must be a table"))?;
    refuse_unknown(table, &["scale", "shift", "epsilon"], &format!("{place}."))?;
    let (scale, shift) = (numbers(table, &place, "scale")?, numbers(table, &place, "shift")?);
    if scale.len() != outputs || shift.len() != outputs {
        let (scale, shift) = (scale.len(), shift.len());
        return Err(format!("{place} has {scale} and {shift} numbers for {outputs} outputs"));
    }
    let epsilon = number(table, &place, "epsilon", 1e-5, 1e-12..=1.0)? as f32;
    Ok(Some(Normalisation { scale, shift, epsilon }))
}

fn numbers(layer: &Table, place: &str, key: &str) -> Result<Vec<f32>, String> {
    let list = layer.get(key).and_then(Value::as_array).filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| format!("{place}: {key} must be a list of numbers"))?;
    let single = |value: &Value| match value {
        Value::Float(n) => Some(*n as f32).filter(|n| n.is_finite()),
        Value::Integer(n) => Some(*n as f32),
        _ => None,
    };
    let read = |(index, value)| {
        single(value).ok_or_else(|| format!("{place}: {key}[{index}] is not a finite number"))
    };
    list.iter().enumerate().map(read).collect()
}

/// The kinds of actions with their texts, for lists.
pub fn action_kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    ActionKind::ALL.iter().map(|kind| (kind.name(), kind.doc()))
}
