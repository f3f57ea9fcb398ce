//! The controller of a flow: a registered one with its parameters, or a guest from a file.

use crate::advice;
use crate::error::{Origin, ScenarioError, nearest};
use crate::layout::Routers;
use crate::reader::Reader;
use crate::scenario::{Flow, FlowKind, Scenario};
use crate::tcp::TcpFlow;
use crate::value::{self, Item, Value};
use cc::{AnyController, CONTROLLERS, Controller, FlowInfo, GuestLaw, Hosted, Params, Signals};
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use units::{Rate, Span};

type Result<T> = std::result::Result<T, ScenarioError>;

/// The controller of a flow.
#[derive(Clone, Debug)]
pub enum Control {
    /// One of [`CONTROLLERS`], with its parameters.
    Registered(&'static str, Params),
    /// One from outside.
    Guest(Arc<dyn GuestLaw>),
    /// One from outside whose code has not been run: reading a scenario runs no code, a run does.
    Source(Arc<GuestSource>),
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

impl Scenario {
    /// Whether any flow's controller comes from outside the registry.
    pub fn has_guests(&self) -> bool {
        let guest = |tcp: &TcpFlow| matches!(tcp.control, Control::Guest(_) | Control::Source(_));
        let flows = self.flows.iter().any(|flow| matches!(&flow.kind, FlowKind::Tcp(tcp) if guest(tcp)));
        flows || self.traffic.iter().any(|source| guest(&source.tcp))
    }

    /// The scenario with the code of its controllers loaded, which runs it.
    pub(crate) fn loaded(&self) -> Result<Cow<'_, Scenario>> {
        let waits = |tcp: &TcpFlow| matches!(tcp.control, Control::Source(_));
        let flows = self.flows.iter().any(|flow| matches!(&flow.kind, FlowKind::Tcp(tcp) if waits(tcp)));
        if !flows && !self.traffic.iter().any(|table| waits(&table.tcp)) {
            return Ok(Cow::Borrowed(self));
        }
        let mut loaded = self.clone();
        for flow in &mut loaded.flows {
            let FlowKind::Tcp(tcp) = &flow.kind else { continue };
            let Control::Source(source) = &tcp.control else { continue };
            let source = source.clone();
            flow.kind = FlowKind::Tcp(Arc::new(load(tcp, &source)?));
            self.lacks(flow).map_or(Ok(()), |lacks| Err(source.refuse(lacks)))?;
        }
        for table in &mut loaded.traffic {
            let Control::Source(source) = &table.tcp.control else { continue };
            let source = source.clone();
            table.tcp = Arc::new(load(&table.tcp, &source)?);
            let lacks = table.tcp.lacks_option().or_else(|| table.lacks_routers());
            lacks.map_or(Ok(()), |lacks| Err(source.refuse(lacks)))?;
        }
        Ok(Cow::Owned(loaded))
    }

    /// What the controller of a flow needs and does not have.
    fn lacks(&self, flow: &Flow) -> Option<String> {
        let FlowKind::Tcp(tcp) = &flow.kind else { return None };
        let routers = Routers::new(&self.links, self.radio.as_deref(), self.satellites.is_some());
        tcp.lacks_option().or_else(|| routers.missing([flow]).map(|(_, lacks)| lacks))
    }

    /// Gives the TCP flow called `name` another controller.
    pub fn set_control(&mut self, name: &str, control: Control) -> Result<()> {
        let origin = Origin::Set(format!("flow.{name}").into());
        let key = format!("flow.{name}.tcp.control");
        let known: Vec<String> = self.flows.iter().map(|flow| flow.name.clone()).collect();
        let Some(index) = self.flows.iter().position(|flow| flow.name == name) else {
            let remark = nearest(name, known.iter().map(String::as_str));
            return Err(ScenarioError::new(&origin, &key, format!("there is no flow \"{name}\"; {remark}")));
        };
        let FlowKind::Tcp(tcp) = &self.flows[index].kind else {
            return Err(ScenarioError::new(&origin, &key, "a UDP flow has no controller"));
        };
        let mut changed = self.flows[index].clone();
        changed.kind = FlowKind::Tcp(Arc::new(TcpFlow { control, options: tcp.options.clone() }));
        if let Some(lacks) = self.lacks(&changed) {
            return Err(ScenarioError::new(&origin, &key, lacks));
        }
        self.flows[index] = changed;
        Ok(())
    }
}

/// The flow's TCP with the law in place of its source.
fn load(tcp: &TcpFlow, source: &GuestSource) -> Result<TcpFlow> {
    let law = LOADER.get().map_or_else(|| Err(NO_LOADER.into()), |loader| (loader.load)(source));
    let law = law.map_err(|message| source.refuse(message))?;
    Ok(TcpFlow { control: Control::Guest(law), options: tcp.options.clone() })
}

/// A controller written in another language: where it is, and what it is given.
#[derive(Clone)]
pub struct GuestSource {
    /// Its file.
    pub path: PathBuf,
    /// Its class in the file.
    pub class: String,
    /// Its parameters.
    pub arguments: Vec<(String, cc::Value)>,
    /// What decides which code it is: the class, and a hash of the file.
    identity: String,
    /// Where it is named, and by which key.
    origin: Origin,
    key: String,
}

impl GuestSource {
    fn refuse(&self, message: String) -> ScenarioError {
        ScenarioError::new(&self.origin, &self.key, message)
    }
}

/// What decides results: part of a run's identity.
impl fmt::Debug for GuestSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.identity, self.arguments)
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

const NO_LOADER: &str = "controllers in Python run in the Python package `ackclock`";

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
            let better =
                if unit == "s" { format!("{number}s") } else { Rate::from_bps(*number as u64).to_string() };
            advise(format!("{number} has no unit and is taken in {unit}: write \"{better}\""));
            Ok(value)
        }
        cc::Value::Word(text) => {
            let number = if unit == "s" {
                text.parse().map(Span::seconds).map_err(|error| error.to_string())
            } else {
                text.parse().map(|rate: Rate| rate.bps() as f64).map_err(|error| error.to_string())
            };
            number.map(cc::Value::Number).map_err(|error| format!("{error}; write it like \"{example}\""))
        }
        cc::Value::Switch(_) => Ok(value),
    }
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
