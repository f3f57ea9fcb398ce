//! The controller of a flow: a registered one with its parameters, or one from a file.

use super::document::{self, TomlItem, TomlValue};
use super::language::Language;
use super::model::{CongestionControl, ExternalSource};
use super::reading::{Result, all};
use super::table::TableReader;
use crate::error::{ErrorKind, Source, nearest};
use crate::files::FileAccess;
use cc::{AnyController, Controller, ExternalFactory, FlowInfo, Params, Registration, Signals};
use params::Form;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use units::{Rate, Segments, Span};

/// What the key `congestion_control` of a transport says.
pub(super) const CONTROLLER: &str = "the controller: a name, a table with `kind` and its parameters (`ackclock list controllers`), or a table with `python = \"FILE.py:CLASS\"`, `wasm = \"FILE.wasm:NAME\"`, `javascript = \"FILE.js:CLASS\"` or `library = \"FILE.so:NAME\"`";

/// Every registered controller, in the order of lists.
pub fn controllers() -> impl Iterator<Item = &'static Registration<AnyController>> + Clone {
    static POLICY: Registration<AnyController> = policy::REGISTRATION;
    cc::CONTROLLERS.iter().chain([&POLICY])
}

/// The registered controller `name`; `None` if no controller has this name.
pub fn controller(name: &str) -> Option<&'static Registration<AnyController>> {
    controllers().find(|registration| registration.descriptor.name == name)
}

impl CongestionControl {
    /// A registered controller with its defaults.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn with_defaults(name: &'static str) -> CongestionControl {
        let params = controller(name).and_then(|c| Params::new(c.descriptor.params, []).ok());
        CongestionControl::Registered(
            name,
            params.unwrap_or_else(|| panic!("no controller is called {name}")),
        )
    }

    /// Whether it is not one of the registered controllers.
    pub(crate) fn is_external(&self) -> bool {
        !matches!(self, CongestionControl::Registered(..))
    }

    /// Its name in outcomes.
    pub fn name(&self) -> &str {
        match self {
            CongestionControl::Registered(name, _) => name,
            CongestionControl::ExternalController(factory) => factory.name(),
            CongestionControl::ExternalSource(source) => source.label(),
        }
    }

    /// The named internals that it reports to the trace.
    pub(crate) fn probes(&self) -> Vec<String> {
        match self {
            CongestionControl::Registered(name, _) => {
                let probes = controller(name).map_or(&[][..], |c| c.descriptor.probes);
                probes.iter().map(|name| (*name).into()).collect()
            }
            CongestionControl::ExternalController(factory) => factory.probes().to_vec(),
            CongestionControl::ExternalSource(_) => Vec::new(),
        }
    }

    /// The signals that it requires; none for code that has not been loaded.
    pub(crate) fn needs(&self, flow: &FlowInfo) -> Signals {
        match self {
            CongestionControl::Registered(..) => self.make(flow).needs(),
            CongestionControl::ExternalController(factory) => factory.needs(),
            CongestionControl::ExternalSource(_) => Signals::NONE,
        }
    }

    /// Whether its controllers set the window in recovery, after idle times and when it is unused too.
    pub(crate) fn owns_window(&self, flow: &FlowInfo) -> bool {
        matches!(self, CongestionControl::Registered(..)) && self.make(flow).owns_window()
    }

    /// The value of its parameter `name`, one of several words, if it has that parameter.
    pub(crate) fn word(&self, name: &str) -> Option<&str> {
        let CongestionControl::Registered(control, params) = self else { return None };
        choice_of(&controller(control)?.descriptor, params, name)
    }

    /// The initial window that its controllers specify, segments.
    pub(crate) fn initial_window(&self, flow: &FlowInfo) -> Option<Segments> {
        match self {
            CongestionControl::Registered(..) => self.make(flow).initial_window(),
            CongestionControl::ExternalController(factory) => factory.initial_window(),
            CongestionControl::ExternalSource(_) => None,
        }
    }

    /// Creates a controller. The code of an external one must be loaded ([`super::Scenario::loaded`]).
    pub fn make(&self, flow: &FlowInfo) -> AnyController {
        match self {
            CongestionControl::Registered(name, params) => controller(name)
                .unwrap_or_else(|| unreachable!("the scenario names registered controllers only"))
                .create(params, flow),
            CongestionControl::ExternalController(factory) => factory.make(flow),
            CongestionControl::ExternalSource(_) => unreachable!("a run begins with Scenario::loaded"),
        }
    }
}

/// What identifies the code of the name in a file.
pub type Identify = fn(&Path, &str) -> Result<String, String>;

/// The functions that load controllers of one language. Each returns an error message on failure.
#[derive(Clone, Copy, Debug)]
pub struct ExternalLoader {
    /// Checks the file and the name in it as far as this runs no code of it, and returns what identifies the code. `None`: the name
    /// and a hash of the file.
    pub identify: Option<Identify>,
    /// Loads the file and returns a factory for its controller.
    pub load: fn(&ExternalSource) -> Result<Arc<dyn ExternalFactory>, String>,
}

static LOADERS: [OnceLock<ExternalLoader>; Language::ALL.len()] =
    [const { OnceLock::new() }; Language::ALL.len()];

/// Sets the loader of controllers of a language, once for the process. The program that can run them calls it.
pub fn set_external_loader(language: Language, loader: ExternalLoader) {
    LOADERS[language as usize].get_or_init(|| loader);
}

/// The loader of controllers of a language. Fails with a message if this program has none.
pub(super) fn loader(language: Language) -> Result<ExternalLoader, String> {
    let missing = || match language {
        Language::Python => "a controller in Python needs the Python package `ackclock`".to_string(),
        other => format!("this program runs no controller of the kind {}", other.key()),
    };
    LOADERS[language as usize].get().copied().ok_or_else(missing)
}

/// `congestion_control = "vegas"`, `{ kind = "vegas", alpha = 1 }` or `{ python = "file.py:Class", gain = 2 }`, or with the key
/// of another language.
pub(crate) fn read(layer: &TableReader<'_>) -> Result<Option<CongestionControl>> {
    let Some(item) = layer.get("congestion_control") else { return Ok(None) };
    if let TomlValue::Text(name) = &item.value {
        return registered(layer, "congestion_control", name, Vec::new()).map(Some);
    }
    let Some(table) = layer.table("congestion_control")? else { return Ok(None) };
    let TomlValue::Table(entries) = &item.value else { unreachable!("read as a table") };
    let mut external = None;
    for language in Language::ALL {
        let Some(value) = table.text(language.key())? else { continue };
        if let Some((other, _)) = external {
            let (other, key) = (Language::key(other), language.key());
            return Err(table.error(key, format!("{other} names a controller already; keep one of both")));
        }
        external = Some((language, value));
    }
    match external {
        Some((language, value)) => read_external(&table, entries, language, value).map(Some),
        None => read_registered(&table, entries).map(Some),
    }
}

fn read_registered(table: &TableReader<'_>, entries: &[(String, TomlItem)]) -> Result<CongestionControl> {
    let name = table.need("kind", table.text("kind")?, "name the controller, such as kind = \"vegas\"")?;
    let fit = read_fit(table).and_then(|fit| arguments(table, &fit));
    let written = arguments(table, entries);
    let mut values = fit?;
    values.extend(written?.into_iter().filter(|(key, _)| key != "kind" && key != "fit"));
    read_files(table, name, &mut values)?;
    registered(table, "kind", name, values)
}

/// Puts the content of a file in place of its name.
fn read_files(table: &TableReader<'_>, name: &str, values: &mut [(String, cc::ParamValue)]) -> Result<()> {
    let Some(controller) = controller(name) else { return Ok(()) };
    for param in controller.descriptor.params.iter().filter(|param| param.form == Form::File) {
        let Some((path, text)) = table.file(param.name)? else { continue };
        let content = controller
            .read_file(&text)
            .map_err(|message| table.error(param.name, format!("{}: {message}", path.display())))?;
        for (_, value) in values.iter_mut().filter(|(key, _)| key == param.name) {
            *value = cc::ParamValue::File(content.clone());
        }
    }
    Ok(())
}

/// The registered controller that the key `name_key` of a table calls `name`, with parameters of that table.
fn registered(
    table: &TableReader<'_>,
    name_key: &str,
    name: &str,
    values: Vec<(String, cc::ParamValue)>,
) -> Result<CongestionControl> {
    let Some(registration) = controller(name) else {
        let remark = nearest(name, controllers().map(|controller| controller.descriptor.name));
        return Err(table.error(name_key, format!("unknown controller \"{name}\"; {remark}")));
    };
    let descriptor = &registration.descriptor;
    let refuse = |error: cc::ParamError| {
        let unknown = || {
            let names = descriptor.params.iter().map(|p| p.name);
            format!("{name} has no such parameter; {}", nearest(&error.name, names))
        };
        let key = if error.name.is_empty() { name_key } else { &error.name };
        table.error(key, error.reason.clone().unwrap_or_else(unknown))
    };
    let values = all(values.into_iter().map(|(key, value)| {
        let unit = descriptor.params.iter().find(|param| param.name == key).map_or("", |p| p.unit);
        let value = without_unit(unit, value, |advice| table.advise(&key, advice))
            .map_err(|message| table.error(&key, message))?;
        Params::new(descriptor.params, [(key.as_str(), value.clone())]).map_err(&refuse)?;
        Ok((key, value))
    }))?;
    let params =
        Params::new(descriptor.params, values.iter().map(|(key, value)| (key.as_str(), value.clone())))
            .and_then(|params| registration.check(&params).map(|()| params))
            .map_err(refuse)?;
    for (key, _) in &values {
        let Some(param) = descriptor.params.iter().find(|param| param.name == key) else { continue };
        let written = |name: &str| choice_of(descriptor, &params, name).unwrap_or_default().to_string();
        if let Some(unmet) = param.needs.unmet(&written) {
            return Err(table.error(key, unmet.message()));
        }
    }
    Ok(CongestionControl::Registered(descriptor.name, params))
}

/// The value of the parameter `name`, one of several words, if the controller has that parameter.
fn choice_of<'a>(descriptor: &cc::Descriptor, params: &'a Params, name: &str) -> Option<&'a str> {
    descriptor.params.iter().any(|param| param.name == name).then(|| params.choice(name))
}

/// Converts the value of a parameter with a unit into the number for the controller: "500ms" becomes 0.5. A number
/// already has that unit, and `advise` receives a hint to write the unit.
fn without_unit(
    unit: &str,
    value: cc::ParamValue,
    advise: impl FnOnce(String),
) -> Result<cc::ParamValue, String> {
    let example = match unit {
        "s" => "500ms",
        "bit/s" => "5Mbps",
        _ => return Ok(value),
    };
    match &value {
        cc::ParamValue::Number(number) => {
            // A number that no text gives back exactly stays as it is.
            if let Some(better) = format_with_unit(*number, unit) {
                advise(format!("{number} has no unit and is taken in {unit}: write \"{better}\""));
            }
            Ok(value)
        }
        cc::ParamValue::Word(text) => {
            let number = parsed(text, unit);
            number
                .map(cc::ParamValue::Number)
                .map_err(|error| format!("{error}; write it like \"{example}\""))
        }
        cc::ParamValue::Switch(_) | cc::ParamValue::File(_) => Ok(value),
    }
}

/// The number that a text with a unit gives a parameter in s or bit/s.
fn parsed(text: &str, unit: &str) -> Result<f64, String> {
    if unit == "s" {
        text.parse().map(Span::seconds).map_err(|error| error.to_string())
    } else {
        text.parse().map(|rate: Rate| rate.bps() as f64).map_err(|error| error.to_string())
    }
}

/// The shortest text with a unit that gives this number.
fn format_with_unit(number: f64, unit: &str) -> Option<String> {
    let units: &[(f64, &str)] = if unit == "s" {
        &[(1.0, "s")]
    } else {
        &[(1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps"), (1.0, "bps")]
    };
    let texts = units.iter().filter(|(size, _)| number >= *size || *size == 1.0);
    let texts = texts.map(|(size, unit)| format!("{}{unit}", number / size));
    texts.filter(|text| parsed(text, unit) == Ok(number)).min_by_key(String::len)
}

fn read_external(
    table: &TableReader<'_>,
    entries: &[(String, TomlItem)],
    language: Language,
    value: &str,
) -> Result<CongestionControl> {
    let refuse_as = |kind, message: String| table.error_of_kind(kind, language.key(), message);
    let refuse = |message: String| refuse_as(ErrorKind::Other, message);
    // The place of the entry, which an assignment may have put into a table of a file, decides what it may name.
    let Some(TomlItem { origin, .. }) = table.get(language.key()) else { unreachable!("it has a text") };
    if let Some(message) = origin.access().code_refusal().filter(|_| !language.is_sandboxed()) {
        return Err(refuse_as(ErrorKind::Code, message.into()));
    }
    let Some((file, name)) = language.split(value) else {
        let (form, example) =
            (if language == Language::Python { "FILE:CLASS" } else { "FILE:NAME" }, language.example());
        return Err(refuse(format!("\"{value}\" is not {form}, such as \"{example}\"")));
    };
    let loader = loader(language).map_err(refuse)?;
    let mut arguments = arguments(table, entries)?;
    arguments.retain(|(key, _)| key != language.key());
    let path = origin.path(file);
    if language != Language::Python && !matches!(origin.access(), FileAccess::Carried(_)) && !path.exists() {
        return Err(refuse(format!("{}: no such file", path.display())));
    }
    let content = match language.is_sandboxed() {
        true => Some(origin.access().read_bytes(&path, LARGEST_CODE).map_err(refuse)?),
        false => {
            origin.check_inside(&path).map_err(refuse)?;
            None
        }
    };
    let identity = match (loader.identify, &content) {
        (Some(identify), _) => identify(&path, name.unwrap_or_default()).map_err(refuse)?,
        (None, Some(content)) => identity(language, name, content),
        (None, None) => {
            let content = origin.access().read_bytes(&path, LARGEST_LIBRARY).map_err(refuse)?;
            identity(language, name, &content)
        }
    };
    let (origin, key) = (origin.clone(), table.path(language.key()));
    Ok(CongestionControl::ExternalSource(Arc::new(ExternalSource {
        language,
        path,
        content: content.map(Arc::from),
        name: name.map(str::to_string),
        arguments,
        identity,
        origin,
        key,
    })))
}

/// Most bytes of the file of a sandboxed controller.
const LARGEST_CODE: u64 = 4 << 20;
/// Most bytes of a library.
const LARGEST_LIBRARY: u64 = 1 << 30;

/// What identifies the code of a file.
fn identity(language: Language, name: Option<&str>, content: &[u8]) -> String {
    format!("{} {} {}", language.key(), name.unwrap_or_default(), &blake3::hash(content).to_hex()[..32])
}

/// The entries of a table as parameters.
fn arguments(
    table: &TableReader<'_>,
    entries: &[(String, TomlItem)],
) -> Result<Vec<(String, cc::ParamValue)>> {
    let value = |(key, entry): &(String, TomlItem)| {
        let value = match &entry.value {
            TomlValue::Integer(n) => cc::ParamValue::Number(*n as f64),
            TomlValue::Float(n) => cc::ParamValue::Number(*n),
            TomlValue::Switch(on) => cc::ParamValue::Switch(*on),
            TomlValue::Text(word) => cc::ParamValue::Word(word.clone()),
            other => return Err(table.error(key, format!("must not be {}", other.kind()))),
        };
        Ok((key.clone(), value))
    };
    all(entries.iter().map(value))
}

/// The parameters in a file of their own (`ackclock identify --fit`), named from the folder of the scenario; none if
/// there is no such file.
fn read_fit(table: &TableReader<'_>) -> Result<Vec<(String, TomlItem)>> {
    let Some((path, text)) = table.file("fit")? else { return Ok(Vec::new()) };
    let source = Source { file: path.to_string_lossy().into_owned(), ..Source::default() };
    let parsed = document::parse(Arc::new(source), &text).map_err(|error| table.reading().report(error))?;
    match parsed.value {
        TomlValue::Table(entries) => Ok(entries),
        _ => unreachable!("a TOML document is a table"),
    }
}
