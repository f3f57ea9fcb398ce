//! The controller of a flow: a registered one with its parameters, or a guest from a file.

use crate::error::{Origin, ScenarioError, nearest};
use crate::reader::Reader;
use crate::scenario::{FlowKind, Scenario};
use crate::tcp::TcpFlow;
use crate::value::{self, Item, Value};
use cc::{AnyController, CONTROLLERS, Controller, FlowInfo, GuestLaw, Hosted, Params, Signals};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

type Result<T> = std::result::Result<T, ScenarioError>;

/// The controller of a flow.
#[derive(Clone, Debug)]
pub enum Control {
    /// One of [`CONTROLLERS`], with its parameters.
    Registered(&'static str, Params),
    /// One from outside.
    Guest(Arc<dyn GuestLaw>),
}

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
        }
    }

    /// The signals that it cannot do without.
    pub(crate) fn needs(&self, flow: &FlowInfo) -> Signals {
        match self {
            Control::Registered(..) => self.make(flow).needs(),
            Control::Guest(law) => law.needs(),
        }
    }

    /// A fresh controller.
    pub(crate) fn make(&self, flow: &FlowInfo) -> AnyController {
        match self {
            Control::Registered(name, params) => AnyController::new(name, params, flow)
                .unwrap_or_else(|| unreachable!("the scenario names registered controllers only")),
            Control::Guest(law) => AnyController::Guest(Hosted::new(law.make(flow))),
        }
    }
}

impl Scenario {
    /// Whether any flow's controller comes from outside the registry.
    pub fn has_guests(&self) -> bool {
        let guest = |tcp: &TcpFlow| matches!(tcp.control, Control::Guest(_));
        let flows = self.flows.iter().any(|flow| matches!(&flow.kind, FlowKind::Tcp(tcp) if guest(tcp)));
        flows || self.traffic.iter().any(|source| guest(&source.tcp))
    }

    /// Gives the TCP flow called `name` another controller.
    pub fn set_control(&mut self, name: &str, control: Control) -> Result<()> {
        let origin = Origin::Set(format!("flow.{name}").into());
        let key = format!("flow.{name}.tcp.control");
        let known: Vec<String> = self.flows.iter().map(|flow| flow.name.clone()).collect();
        let Some(flow) = self.flows.iter_mut().find(|flow| flow.name == name) else {
            let remark = nearest(name, known.iter().map(String::as_str));
            return Err(ScenarioError::new(&origin, &key, format!("there is no flow \"{name}\"; {remark}")));
        };
        let FlowKind::Tcp(tcp) = &mut flow.kind else {
            return Err(ScenarioError::new(&origin, &key, "a UDP flow has no controller"));
        };
        let changed = TcpFlow { control, options: tcp.options.clone() };
        let routers =
            || self.links.iter().flat_map(|link| &link.directions).filter_map(|d| d.router.as_ref());
        let lacks = changed.missing_option().or_else(|| changed.missing_router(routers));
        if let Some(lacks) = lacks {
            return Err(ScenarioError::new(
                &origin,
                &key,
                format!("{} needs {lacks}", changed.control.name()),
            ));
        }
        *tcp = Arc::new(changed);
        Ok(())
    }
}

/// A controller written in another language: where it is, and what it is given.
#[derive(Clone, Debug)]
pub struct GuestSource {
    /// Its file.
    pub path: PathBuf,
    /// Its class in the file.
    pub class: String,
    /// Its parameters.
    pub arguments: Vec<(String, cc::Value)>,
}

/// Finds a guest; what is wrong with it otherwise.
pub type GuestLoader = fn(&GuestSource) -> std::result::Result<Arc<dyn GuestLaw>, String>;

static LOADER: OnceLock<GuestLoader> = OnceLock::new();

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

fn read_guest(table: &Reader<'_>, item: &Item, entries: &[(String, Item)], source: &str) -> Result<Control> {
    let refuse = |message: String| table.error("python", message);
    let Some((file, class)) =
        source.rsplit_once(':').filter(|(file, class)| !file.is_empty() && !class.is_empty())
    else {
        return Err(refuse(format!("\"{source}\" is not FILE:CLASS, such as \"mine.py:Mine\"")));
    };
    let Some(loader) = LOADER.get() else {
        return Err(refuse("controllers in Python run in the Python package `ackclock`".into()));
    };
    let mut arguments = arguments(table, entries)?;
    arguments.retain(|(key, _)| key != "python");
    let source = GuestSource { path: table.beside(item, file), class: class.into(), arguments };
    loader(&source).map(Control::Guest).map_err(refuse)
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
