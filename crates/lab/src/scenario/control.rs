//! The controller of a flow: a registered one with its parameters, or one from a file.

use super::advice;
use super::document::{self as value, Item, Value};
use super::model::{Control, GuestSource};
use super::table::Reader;
use crate::error::{ScenarioError, nearest};
use cc::{AnyController, CONTROLLERS, Controller, FlowInfo, GuestLaw, Hosted, Params, Signals};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use units::{Rate, Span};

type Result<T> = std::result::Result<T, ScenarioError>;

impl Control {
    /// A registered controller with its defaults.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn usual(name: &'static str) -> Control {
        let descriptor = CONTROLLERS.iter().find(|d| d.name == name);
        let params = descriptor.and_then(|d| Params::new(d.params, []).ok());
        Control::Registered(name, params.unwrap_or_else(|| panic!("no controller is called {name}")))
    }

    /// Its name in outcomes.
    pub fn name(&self) -> &str {
        match self {
            Control::Registered(name, _) => name,
            Control::Guest(law) => law.name(),
            Control::Source(source) => &source.class,
        }
    }

    /// The named internals that it reports to the trace.
    pub(crate) fn probes(&self) -> Vec<String> {
        match self {
            Control::Registered(name, _) => {
                let found = CONTROLLERS.iter().find(|d| d.name == *name);
                found.map_or(Vec::new(), |d| d.probes.iter().map(|name| (*name).into()).collect())
            }
            Control::Guest(law) => law.probes().to_vec(),
            Control::Source(_) => Vec::new(),
        }
    }

    /// The signals that it cannot do without; none are known of code that has not been run.
    pub(crate) fn needs(&self, flow: &FlowInfo) -> Signals {
        match self {
            Control::Registered(..) => self.make(flow).needs(),
            Control::Guest(law) => law.needs(),
            Control::Source(_) => Signals::NONE,
        }
    }

    /// A fresh controller.
    pub(crate) fn make(&self, flow: &FlowInfo) -> AnyController {
        match self {
            Control::Registered(name, params) => AnyController::new(name, params, flow)
                .unwrap_or_else(|| unreachable!("the scenario names registered controllers only")),
            Control::Guest(law) => AnyController::Guest(Hosted::new(law.make(flow))),
            Control::Source(_) => unreachable!("a run begins with Scenario::loaded"),
        }
    }
}

/// How guests are found; what is wrong with one otherwise.
#[derive(Clone, Copy, Debug)]
pub struct GuestLoader {
    /// Reads the file and says which code a class in it is, without running any.
    pub identify: fn(&Path, &str) -> std::result::Result<String, String>,
    /// Runs the file and takes the class.
    pub load: fn(&GuestSource) -> std::result::Result<Arc<dyn GuestLaw>, String>,
}

pub(super) const NO_LOADER: &str = "controllers in Python run in the Python package `ackclock`";

pub(super) static LOADER: OnceLock<GuestLoader> = OnceLock::new();

/// Says who loads guests, once for the process: the language that they are written in.
pub fn set_guest_loader(loader: GuestLoader) {
    LOADER.get_or_init(|| loader);
}

/// `control = "vegas"`, `control = { kind = "vegas", alpha = 1 }` or `control = { python = "file.py:Class", gain = 2 }`.
pub(crate) fn read(layer: &Reader<'_>) -> Result<Option<Control>> {
    let Some(item) = layer.get("control") else { return Ok(None) };
    let Value::Text(name) = &item.value else {
        let table = Reader::new(layer.path("control"), item)?;
        let Value::Table(entries) = &item.value else { unreachable!("read as a table") };
        return if let Some(source) = table.text("python")? {
            read_guest(&table, item, entries, source).map(Some)
        } else {
            read_registered(&table, item, entries).map(Some)
        };
    };
    registered(name, Vec::new(), &|key, message| {
        layer.error(if key.is_empty() { "control" } else { key }, message)
    })
    .map(Some)
}

fn read_registered(table: &Reader<'_>, item: &Item, entries: &[(String, Item)]) -> Result<Control> {
    let name = table.need("kind", table.text("kind")?, "name the controller, such as kind = \"vegas\"")?;
    let fitted = table.text("fit")?.map(|file| read_fit(table, item, file)).transpose()?;
    let mut values = arguments(table, &fitted.unwrap_or_default())?;
    values.extend(arguments(table, entries)?.into_iter().filter(|(key, _)| key != "kind" && key != "fit"));
    registered(name, values, &|key, message| table.error(if key.is_empty() { "kind" } else { key }, message))
}

/// The registered controller `name`; `refuse` makes an error about a parameter, or about the name if that is empty.
fn registered(
    name: &str,
    values: Vec<(String, cc::Value)>,
    refuse: &dyn Fn(&str, String) -> ScenarioError,
) -> Result<Control> {
    let Some(descriptor) = CONTROLLERS.iter().find(|d| d.name == name) else {
        let remark = nearest(name, CONTROLLERS.iter().map(|d| d.name));
        return Err(refuse("", format!("unknown controller \"{name}\"; {remark}")));
    };
    let values = values
        .into_iter()
        .map(|(key, value)| {
            let unit = descriptor.params.iter().find(|param| param.name == key).map_or("", |p| p.unit);
            let value = without_unit(unit, value, |advice| advice::give(refuse(&key, advice)))
                .map_err(|message| refuse(&key, message))?;
            Ok((key, value))
        })
        .collect::<Result<Vec<_>>>()?;
    let values = values.iter().map(|(key, value)| (key.as_str(), value.clone()));
    let params = Params::new(descriptor.params, values)
        .and_then(|params| AnyController::check(name, &params).map(|()| params))
        .map_err(|error| {
            let unknown = || {
                let known = descriptor.params.iter().map(|p| p.name);
                format!("{name} has no such parameter; {}", nearest(&error.name, known))
            };
            refuse(&error.name, error.reason.clone().unwrap_or_else(unknown))
        })?;
    Ok(Control::Registered(descriptor.name, params))
}

/// The value of a parameter with a unit as the number that the controller takes: "500ms" as 0.5. A number is in the unit
/// already, and `advise` says so.
fn without_unit(
    unit: &str,
    value: cc::Value,
    advise: impl FnOnce(String),
) -> std::result::Result<cc::Value, String> {
    let example = match unit {
        "s" => "500ms",
        "bit/s" => "5Mbps",
        _ => return Ok(value),
    };
    match &value {
        cc::Value::Number(number) => {
            // A number that no text gives back exactly stays as it is.
            if let Some(better) = spelled(*number, unit) {
                advise(format!("{number} has no unit and is taken in {unit}: write \"{better}\""));
            }
            Ok(value)
        }
        cc::Value::Word(text) => {
            let number = parsed(text, unit);
            number.map(cc::Value::Number).map_err(|error| format!("{error}; write it like \"{example}\""))
        }
        cc::Value::Switch(_) => Ok(value),
    }
}

/// The number that a text with a unit gives a parameter in s or bit/s.
fn parsed(text: &str, unit: &str) -> std::result::Result<f64, String> {
    if unit == "s" {
        text.parse().map(Span::seconds).map_err(|error| error.to_string())
    } else {
        text.parse().map(|rate: Rate| rate.bps() as f64).map_err(|error| error.to_string())
    }
}

/// The shortest text with a unit that gives this number.
fn spelled(number: f64, unit: &str) -> Option<String> {
    let units: &[(f64, &str)] = if unit == "s" {
        &[(1.0, "s")]
    } else {
        &[(1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps"), (1.0, "bps")]
    };
    let texts = units.iter().filter(|(size, _)| number >= *size || *size == 1.0);
    let texts = texts.map(|(size, unit)| format!("{}{unit}", number / size));
    texts.filter(|text| parsed(text, unit) == Ok(number)).min_by_key(String::len)
}

fn read_guest(table: &Reader<'_>, item: &Item, entries: &[(String, Item)], source: &str) -> Result<Control> {
    let refuse = |message: String| table.error("python", message);
    let Some((file, class)) =
        source.rsplit_once(':').filter(|(file, class)| !file.is_empty() && !class.is_empty())
    else {
        return Err(refuse(format!("\"{source}\" is not FILE:CLASS, such as \"mine.py:Mine\"")));
    };
    let Some(loader) = LOADER.get() else { return Err(refuse(NO_LOADER.into())) };
    let mut arguments = arguments(table, entries)?;
    arguments.retain(|(key, _)| key != "python");
    let path = table.beside(item, file);
    value::check_inside(&item.origin, &path).map_err(refuse)?;
    let identity = (loader.identify)(&path, class).map_err(refuse)?;
    let (origin, key) = (item.origin.clone(), table.path("python"));
    let class = class.into();
    Ok(Control::Source(Arc::new(GuestSource { path, class, arguments, identity, origin, key })))
}

/// The entries of a table as parameters.
fn arguments(table: &Reader<'_>, entries: &[(String, Item)]) -> Result<Vec<(String, cc::Value)>> {
    let value = |(key, entry): &(String, Item)| {
        let value = match &entry.value {
            Value::Integer(n) => cc::Value::Number(*n as f64),
            Value::Float(n) => cc::Value::Number(*n),
            Value::Switch(on) => cc::Value::Switch(*on),
            Value::Text(word) => cc::Value::Word(word.clone()),
            other => return Err(table.error(key, format!("must not be {}", other.kind()))),
        };
        Ok((key.clone(), value))
    };
    entries.iter().map(value).collect()
}

/// The parameters in a file of their own (`ackclock identify --fit`), named from the folder of the scenario.
fn read_fit(table: &Reader<'_>, item: &Item, file: &str) -> Result<Vec<(String, Item)>> {
    let path = table.beside(item, file);
    let text = value::read_file(&path).map_err(|message| table.error("fit", message))?;
    match value::parse(&path.to_string_lossy(), &text)?.value {
        Value::Table(entries) => Ok(entries),
        _ => unreachable!("a TOML document is a table"),
    }
}
