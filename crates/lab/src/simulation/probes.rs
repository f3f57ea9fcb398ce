//! The internal values of controllers, as columns of the window trace.

use cc::Controller;
use std::collections::BTreeMap;
use transport::WindowRow;

/// A column of the window trace that the sender fills: whether either end is in a hand-off.
pub(crate) const HANDOFF: &str = "handoff";

/// Which columns a flow's controller fills, and the values of the last row that was read.
#[derive(Clone, Default)]
pub(crate) struct Probes {
    /// Names of the columns.
    pub names: Vec<String>,
    /// For each flow the columns of its controller's values.
    flows: Vec<Vec<usize>>,
    /// Whether the last value of a flow is [`HANDOFF`], which the sender fills.
    handoff: bool,
    /// The values, in the order of the flow's columns.
    pub values: Vec<f64>,
    /// For flows whose controller has changed: the place of each of its values among those of the first controller.
    changed: BTreeMap<u32, Vec<Option<usize>>>,
}

impl Probes {
    /// `flows` has the names of the values of each flow's controller; the last name can be [`HANDOFF`].
    pub fn new(flows: &[Vec<String>]) -> Probes {
        let mut names: Vec<String> = Vec::new();
        let mut column = |name: &String| {
            names.iter().position(|n| n == name).unwrap_or_else(|| {
                names.push(name.clone());
                names.len() - 1
            })
        };
        let columns = flows.iter().map(|flow| flow.iter().map(&mut column).collect()).collect();
        Probes {
            flows: columns,
            names,
            handoff: flows.iter().any(|flow| flow.last().is_some_and(|name| name == HANDOFF)),
            values: vec![f64::NAN; flows.iter().map(Vec::len).max().unwrap_or(0)],
            changed: BTreeMap::new(),
        }
    }

    /// The columns of a flow; none in a run without a window trace.
    pub fn columns(&self, flow: u32) -> &[usize] {
        self.flows.get(flow as usize).map_or(&[], Vec::as_slice)
    }

    /// Reads the values of a row's controller.
    pub fn read(&mut self, row: &WindowRow) {
        if self.names.is_empty() {
            return;
        }
        let values = &mut self.values[..self.flows[row.flow as usize].len()];
        values.fill(f64::NAN);
        let values = match values.split_last_mut() {
            Some((last, rest)) if self.handoff => {
                *last = row.under_handoff as u8 as f64;
                rest
            }
            _ => values,
        };
        let Some(places) = self.changed.get(&row.flow) else { return row.controller.probe(values) };
        let mut present = vec![f64::NAN; places.len()];
        row.controller.probe(&mut present);
        for (place, value) in places.iter().zip(present) {
            if let Some(place) = place {
                values[*place] = value;
            }
        }
    }

    /// The controller of `flow` is another one from now on, with the values `names`. Those that the first controller had too
    /// are recorded.
    pub fn change(&mut self, flow: u32, names: &[String]) {
        let columns = self.columns(flow);
        let place = |name: &String| columns.iter().position(|column| self.names[*column] == *name);
        let places = names.iter().map(place).collect();
        self.changed.insert(flow, places);
    }
}
