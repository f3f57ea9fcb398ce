//! The reference: a controller of the laboratory, named exactly.

use super::situations::{Situation, assign};
use crate::{Assignment, Scenario, ScenarioError};
use lab::Literal;
use std::fmt;

/// A controller with its parameters, and the networks' transports in which it is run.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Its name in the laboratory.
    pub controller: String,
    /// Its parameters.
    pub params: Vec<(String, String)>,
    /// What its document leaves open, each a list of parameters: every one is run.
    variants: Vec<Vec<(String, String)>>,
}

/// Name, variant, controller and parameters.
type Named = (&'static str, &'static str, &'static str, &'static [(&'static str, &'static str)]);

/// What a name of a variant stands for.
const VARIANTS: [Named; 4] = [
    ("cubic", "rfc9438", "cubic", &[("arithmetic", "rfc9438")]),
    ("cubic", "linux", "cubic", &[("arithmetic", "linux")]),
    ("bbr", "v1", "bbr", &[]),
    ("bbr", "v3", "bbr3", &[]),
];

impl Reference {
    /// Reads `NAME[:VARIANT][,parameter=value]...`: `reno`, `cubic:rfc9438`, `bbr:v1`, `bbr3,initial_window=10`. `cubic` alone is
    /// `cubic:rfc9438`, as a stack that follows the RFC has it; `cubic:linux` is that of the kernel. What ends slow start is
    /// left open by the documents: without `slow_start` both the standard one and HyStart++ are run, and the region of
    /// agreement spans them. The message of an error names what there is.
    pub fn parse(text: &str) -> Result<Reference, String> {
        let mut parts = text.split(',').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let (base, variant) = name.split_once(':').unwrap_or((name, ""));
        let variant = if (base, variant) == ("cubic", "") { "rfc9438" } else { variant };
        let (controller, params) = match VARIANTS.iter().find(|known| (known.0, known.1) == (base, variant)) {
            Some((_, _, controller, params)) => (*controller, *params),
            None if variant.is_empty() => (base, &[][..]),
            None => {
                let of_base = VARIANTS.iter().filter(|known| known.0 == base).map(|known| known.1);
                let listed = of_base.collect::<Vec<_>>().join(", ");
                let listed = if listed.is_empty() { "none".into() } else { listed };
                return Err(format!("{base} has no variant \"{variant}\"; variants of {base}: {listed}"));
            }
        };
        let Some(descriptor) = crate::controllers().find(|known| known.name == controller) else {
            let names = crate::controllers().map(|known| known.name).collect::<Vec<_>>().join(", ");
            return Err(format!("there is no controller \"{controller}\" to refer to; there are {names}"));
        };
        let mut all: Vec<(String, String)> =
            params.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        for part in parts {
            let Some((key, value)) = part.split_once('=') else {
                return Err(format!("\"{part}\" is not PARAMETER=VALUE"));
            };
            all.push((key.trim().into(), value.trim().into()));
        }
        let open = descriptor.params.iter().any(|key| key.name == "slow_start")
            && all.iter().all(|(key, _)| key != "slow_start");
        let ends = |kind: &str| vec![("slow_start".to_string(), kind.to_string())];
        let variants = if open { vec![ends("standard"), ends("hystart_pp")] } else { vec![Vec::new()] };
        let reference = Reference { controller: controller.into(), params: all, variants };
        // A wrong parameter is an error before the first run.
        let situation = &super::SITUATIONS[0];
        for variant in reference.variants() {
            situation.scenario(1, vec![variant.assignment("stack")]).map_err(|error| error.to_string())?;
        }
        Ok(reference)
    }

    /// Every run of the reference: its variants over simulated TCP and over QUIC.
    pub(super) fn variants(&self) -> Vec<Variant<'_>> {
        let each = self.variants.iter();
        each.flat_map(|open| [false, true].map(|over_quic| Variant { reference: self, open, over_quic }))
            .collect()
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.controller)?;
        self.params.iter().try_for_each(|(key, value)| write!(f, ", {key} = {value}"))
    }
}

/// One of the runs of a reference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variant<'a> {
    reference: &'a Reference,
    open: &'a [(String, String)],
    over_quic: bool,
}

impl Variant<'_> {
    /// Its name: "TCP, slow_start = standard".
    pub fn name(&self) -> String {
        let transport = if self.over_quic { "QUIC" } else { "TCP" };
        let open = self.open.iter().map(|(key, value)| format!(", {key} = {value}"));
        std::iter::once(transport.to_string()).chain(open).collect()
    }

    fn assignment(&self, flow: &str) -> Assignment {
        let value = |text: &str| match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(whole), _) => Literal::Integer(whole),
            (_, Ok(number)) => Literal::Float(number),
            _ if matches!(text, "true" | "false") => Literal::Switch(text == "true"),
            _ => Literal::Text(text.into()),
        };
        let params = self.reference.params.iter().chain(self.open);
        let params = params.map(|(key, text)| (key.clone(), value(text)));
        let kind = ("kind".to_string(), Literal::Text(self.reference.controller.clone()));
        let table = Literal::Table(std::iter::once(kind).chain(params).collect());
        assign(&["flow", flow, "tcp", "congestion_control"], table)
    }

    /// The scenario of a situation in which the stack's flows have the reference.
    pub fn scenario(&self, situation: &Situation, seed: u64) -> Result<Scenario, ScenarioError> {
        let controls = situation.flows.iter().map(|flow| self.assignment(flow)).collect();
        let scenario = situation.scenario(seed, controls)?;
        if !self.over_quic {
            return Ok(scenario);
        }
        // The rival of the stack stays what it is.
        let rivals: Vec<_> = scenario.flows.iter().skip(situation.flows.len()).cloned().collect();
        let (mut over, _) = scenario.over_quic()?;
        over.flows.truncate(situation.flows.len());
        over.flows.extend(rivals);
        Ok(over)
    }
}
