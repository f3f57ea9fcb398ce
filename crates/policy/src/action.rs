//! What an action of a policy does to the window or the rate of a flow.

use super::keys::{number, refuse_unknown};
use cc::{AnyController, CONTROLLERS, detmath};
use params::Form;
use toml::{Table, Value};

/// The factors and steps of [`ActionKind::Discrete5`] (mvfst-rl).
const FIVE: [fn(f64) -> f64; 5] = [|w| w, |w| w / 2.0, |w| w - 10.0, |w| w + 10.0, |w| w * 2.0];

/// A kind of action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// `a` in any range: the rate is multiplied by `1 + scale a`, or divided by `1 - scale a` if `a` is negative (Aurora).
    RateDelta,
    /// `a` from -2 to 2: the window is multiplied by `2^(scale a)` (Orca).
    CwndPow2,
    /// One of five: the window stays, is halved, reduced by 10, increased by 10 or doubled (mvfst-rl).
    Discrete5,
    /// The window, segments, times `scale`.
    Cwnd,
    /// The rate, segments a second, times `scale`.
    Pacing,
    /// A parameter of the controller that decides between the actions, times `scale`.
    Parameter,
}

impl ActionKind {
    /// All kinds.
    pub const ALL: [ActionKind; 6] = [
        ActionKind::RateDelta,
        ActionKind::CwndPow2,
        ActionKind::Discrete5,
        ActionKind::Cwnd,
        ActionKind::Pacing,
        ActionKind::Parameter,
    ];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            ActionKind::RateDelta => "rate_delta",
            ActionKind::CwndPow2 => "cwnd_pow2",
            ActionKind::Discrete5 => "discrete5",
            ActionKind::Cwnd => "cwnd",
            ActionKind::Pacing => "pacing",
            ActionKind::Parameter => "parameter",
        }
    }

    /// What an action does.
    pub const fn doc(self) -> &'static str {
        match self {
            ActionKind::RateDelta => {
                "the rate times 1 + scale a, or over 1 - scale a if a is negative (Aurora)"
            }
            ActionKind::CwndPow2 => "the window times 2^(scale a) (Orca)",
            ActionKind::Discrete5 => {
                "the window stays, halves, falls by 10, grows by 10 or doubles (mvfst-rl)"
            }
            ActionKind::Cwnd => "the window is scale a, segments",
            ActionKind::Pacing => "the rate is scale a, segments a second",
            ActionKind::Parameter => "the parameter of the controller between the actions is scale a",
        }
    }

    /// Number of outputs of a network that chooses it.
    pub const fn outputs(self) -> usize {
        if matches!(self, ActionKind::Discrete5) { 5 } else { 1 }
    }

    /// Whether it sets a rate; otherwise a window.
    pub const fn paces(self) -> bool {
        matches!(self, ActionKind::RateDelta | ActionKind::Pacing)
    }

    /// The smallest and the largest action of this kind.
    pub const fn bounds(self) -> (f64, f64) {
        match self {
            ActionKind::RateDelta => (-1e6, 1e6),
            ActionKind::CwndPow2 => (-2.0, 2.0),
            ActionKind::Discrete5 => (0.0, 4.0),
            ActionKind::Cwnd | ActionKind::Pacing => (0.0, 1e9),
            ActionKind::Parameter => (f64::NEG_INFINITY, f64::INFINITY), // those of the parameter
        }
    }

    const fn scale(self) -> f64 {
        if matches!(self, ActionKind::RateDelta) { 0.025 } else { 1.0 }
    }
}

/// An action with its scale and the bounds of what it sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicyAction {
    /// What it does.
    pub kind: ActionKind,
    /// The factor of the action.
    pub scale: f64,
    /// The largest absolute value of the action.
    pub limit: f64,
    /// Bounds of the window (segments), the rate (segments a second) or the parameter.
    pub bounds: (f64, f64),
    /// The registered controller that decides between two actions, with its default parameters; `None`: nothing changes
    /// between them.
    pub controller: Option<&'static str>,
    /// The parameter of this controller that an action of kind [`ActionKind::Parameter`] sets.
    pub parameter: Option<&'static str>,
}

impl PolicyAction {
    /// Reads the table `[action]`. Fails with the key and what is wrong with it.
    pub(super) fn read(table: Option<&Table>) -> Result<PolicyAction, String> {
        let all = || ActionKind::ALL.map(ActionKind::name).join(", ");
        let Some(table) = table else { return Err(format!("action: missing; its kind is one of {}", all())) };
        let keys = ["kind", "scale", "limit", "least", "largest", "controller", "parameter"];
        refuse_unknown(table, &keys, "action.")?;
        let name = table.get("kind").and_then(Value::as_str).unwrap_or_default();
        let kind = ActionKind::ALL.into_iter().find(|kind| kind.name() == name);
        let kind = kind.ok_or_else(|| format!("action.kind: \"{name}\" is not one of {}", all()))?;
        let scale = number(table, "action", "scale", kind.scale(), 1e-9..=1e9)?;
        let unlimited = if kind == ActionKind::Parameter { f64::INFINITY } else { 1e9 };
        let limit = number(table, "action", "limit", unlimited, 1e-9..=1e9)?;
        if table.contains_key("parameter") && kind != ActionKind::Parameter {
            let written = kind.name();
            return Err(format!(
                "action.parameter: an action {written} sets none; write kind = \"parameter\""
            ));
        }
        let controller = read_controller(table, kind)?;
        let parameter = read_parameter(table, kind, controller)?;
        let (lowest, (least, largest)) = match parameter {
            Some((_, bounds)) => (bounds.0, bounds),
            None => (1.0, (2.0, 1e7)),
        };
        let highest = if parameter.is_some() { largest } else { 1e9 };
        let least = number(table, "action", "least", least, lowest..=highest)?;
        let largest = number(table, "action", "largest", largest.max(least), least..=highest)?;
        if kind == ActionKind::Discrete5 && limit < 4.0 {
            return Err(
                "action.limit: an action of discrete5 is the number of a change, 0 to 4; leave it out".into(),
            );
        }
        let parameter = parameter.map(|(name, _)| name);
        let action = PolicyAction { kind, scale, limit, bounds: (least, largest), controller, parameter };
        let (lowest, highest) = action.range();
        if lowest as f32 >= highest as f32 {
            return Err(format!(
                "action.limit: no action of at most {limit} gives a value from {least} to {largest} with scale {scale}"
            ));
        }
        Ok(action)
    }

    /// The smallest and the largest action; what is outside is set to them.
    pub fn range(&self) -> (f64, f64) {
        let (least, largest) = match self.kind {
            ActionKind::Parameter => (self.bounds.0 / self.scale, self.bounds.1 / self.scale),
            kind => kind.bounds(),
        };
        (least.max(-self.limit), largest.min(self.limit))
    }

    /// The window, rate or parameter after the action `a` on `value`.
    pub fn apply(&self, value: f64, a: f64) -> f64 {
        let (least, largest) = self.range();
        let a = a.clamp(least, largest);
        let scaled = self.scale * a;
        let next = match self.kind {
            ActionKind::RateDelta if scaled >= 0.0 => value * (1.0 + scaled),
            ActionKind::RateDelta => value / (1.0 - scaled),
            ActionKind::CwndPow2 => value * detmath::exp(scaled * std::f64::consts::LN_2),
            ActionKind::Discrete5 => FIVE[a as usize](value),
            ActionKind::Cwnd | ActionKind::Pacing | ActionKind::Parameter => scaled,
        };
        // A window that the controller between the actions has made smaller stays.
        let between_actions = self.controller.is_some() && self.parameter.is_none();
        let least = if between_actions { self.bounds.0.min(value) } else { self.bounds.0 };
        next.clamp(least, self.bounds.1)
    }

    /// The action that turns the window or rate `value` into `next`, within the bounds of actions; [`PolicyAction::apply`] is the
    /// inverse. Of five changes, the nearest one.
    pub fn between(&self, value: f64, next: f64) -> f64 {
        let (least, largest) = self.range();
        let ratio = next / value.max(f64::MIN_POSITIVE);
        let a = match self.kind {
            ActionKind::RateDelta if ratio >= 1.0 => (ratio - 1.0) / self.scale,
            ActionKind::RateDelta => (1.0 - 1.0 / ratio.max(1e-9)) / self.scale,
            ActionKind::CwndPow2 => detmath::ln(ratio.max(1e-9)) / (std::f64::consts::LN_2 * self.scale),
            ActionKind::Discrete5 => {
                let distance = |a: &f64| (self.apply(value, *a) - next).abs();
                let all = (0..FIVE.len()).map(|a| a as f64);
                all.min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0.0)
            }
            ActionKind::Cwnd | ActionKind::Pacing | ActionKind::Parameter => next / self.scale,
        };
        a.clamp(least, largest)
    }

    /// The action that the outputs of a network choose: the output, or the number of the largest one. `None` if an output is
    /// not finite.
    pub fn chosen(&self, outputs: &[f32]) -> Option<f64> {
        if outputs.iter().any(|output| !output.is_finite()) {
            return None;
        }
        if self.kind != ActionKind::Discrete5 {
            return Some(f64::from(outputs[0]));
        }
        let largest = outputs.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)));
        largest.map(|(index, _)| index as f64)
    }
}

/// The key `controller`: the registered controller between the actions.
fn read_controller(table: &Table, kind: ActionKind) -> Result<Option<&'static str>, String> {
    let Some(value) = table.get("controller") else { return Ok(None) };
    if kind.paces() {
        return Err(format!("action.controller: {} sets a rate, and so would the controller", kind.name()));
    }
    let name =
        value.as_str().ok_or("action.controller: must be the name of a controller, such as \"cubic\"")?;
    let controller = AnyController::registration(name).ok_or_else(|| {
        let all: Vec<&str> = CONTROLLERS.iter().map(|controller| controller.descriptor.name).collect();
        format!("action.controller: \"{name}\" is not one of {}", all.join(", "))
    })?;
    Ok(Some(controller.descriptor.name))
}

/// The name of a parameter, and its bounds.
type Bounded = (&'static str, (f64, f64));

/// The key `parameter`, which actions of kind [`ActionKind::Parameter`] have.
fn read_parameter(
    table: &Table,
    kind: ActionKind,
    controller: Option<&'static str>,
) -> Result<Option<Bounded>, String> {
    if kind != ActionKind::Parameter {
        return Ok(None);
    }
    let controller = controller
        .ok_or("action.controller: missing; an action of kind parameter sets one of its parameters")?;
    let registration = AnyController::registration(controller);
    let tunable = registration.map_or(&[][..], |registration| registration.tunable);
    if tunable.is_empty() {
        return Err(format!("action.parameter: {controller} has none that can change in a run"));
    }
    let all = tunable.join(", ");
    let name = table.get("parameter").and_then(Value::as_str).ok_or_else(|| {
        format!(
            "action.parameter: missing; name one of {all}, those of {controller} that can change in a run"
        )
    })?;
    let declared = registration.map_or(&[][..], |registration| registration.descriptor.params);
    let parameter = declared.iter().find(|param| param.name == name && tunable.contains(&name));
    match parameter.map(|param| (param.name, param.form)) {
        Some((name, Form::Number(min, max))) => Ok(Some((name, (min, max)))),
        _ => Err(format!(
            "action.parameter: \"{name}\" is not one of {all}, those of {controller} that can change in a run"
        )),
    }
}

/// The controllers with parameters that an action can set, with the names of these.
pub fn tunable_parameters() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let all = CONTROLLERS.iter().map(|controller| (controller.descriptor.name, controller.tunable));
    all.filter(|(_, names)| !names.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_change_windows_and_rates() {
        let of = |kind: ActionKind| PolicyAction {
            kind,
            scale: kind.scale(),
            limit: 1e9,
            bounds: (2.0, 1000.0),
            controller: None,
            parameter: None,
        };
        assert!((of(ActionKind::RateDelta).apply(100.0, 4.0) - 110.0).abs() < 1e-12);
        assert!((of(ActionKind::RateDelta).apply(110.0, -4.0) - 100.0).abs() < 1e-12);
        assert_eq!(of(ActionKind::RateDelta).apply(100.0, 1e12), 1000.0);
        assert_eq!(of(ActionKind::CwndPow2).apply(100.0, 1.0), 200.0);
        assert_eq!(of(ActionKind::CwndPow2).apply(100.0, -9.0), 25.0);
        let windows: Vec<f64> = (0..5).map(|a| of(ActionKind::Discrete5).apply(100.0, a as f64)).collect();
        assert_eq!(windows, [100.0, 50.0, 90.0, 110.0, 200.0]);
        assert_eq!(of(ActionKind::Discrete5).chosen(&[0.5, 3.0, 3.0, -1.0, 0.0]), Some(1.0));
        assert_eq!(of(ActionKind::Cwnd).chosen(&[f32::NAN]), None);
        assert_eq!(of(ActionKind::Pacing).apply(5.0, 1.0), 2.0);
    }

    #[test]
    fn an_action_follows_from_what_it_did() {
        for kind in ActionKind::ALL {
            let action = PolicyAction {
                kind,
                scale: kind.scale(),
                limit: 1e9,
                bounds: (2.0, 1000.0),
                controller: None,
                parameter: None,
            };
            for a in [0.0, 1.0, 2.0] {
                let next = action.apply(100.0, a);
                let repeated = action.apply(100.0, action.between(100.0, next));
                assert!((repeated - next).abs() < 1e-9, "{}: {a}", kind.name());
            }
        }
    }

    #[test]
    fn tunable_parameters_are_declared_numbers() {
        let mut count = 0;
        for (controller, names) in tunable_parameters() {
            for name in names {
                let text =
                    format!("kind = \"parameter\"\ncontroller = \"{controller}\"\nparameter = \"{name}\"");
                let table: Table = text.parse().expect("valid TOML");
                assert_eq!(PolicyAction::read(Some(&table)).map(|action| action.parameter), Ok(Some(*name)));
                count += 1;
            }
        }
        assert!(count > 15, "{count}");
    }
}
