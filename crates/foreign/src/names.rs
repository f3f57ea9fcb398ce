//! The names of functions and controllers in a file, and texts for messages.

use params::nearest;

/// The names of functions of a controller besides those of events.
pub(crate) mod function {
    /// The names of a file's controllers.
    pub const CONTROLLERS: &str = "ackclock_controllers";
    /// The TOML that describes a controller.
    pub const DESCRIBE: &str = "describe";
    /// The bytes of its state.
    pub const STATE_SIZE: &str = "state_size";
    /// Creates its state.
    pub const OPEN: &str = "open";
    /// Writes its internal values.
    pub const PROBE: &str = "probe";
    /// Copies its state; of a library.
    #[cfg(feature = "library")]
    pub const FORK: &str = "fork";
    /// Frees what its state holds; of a library.
    #[cfg(feature = "library")]
    pub const CLOSE: &str = "close";
    /// Why it failed.
    pub const ERROR: &str = "error";
}

/// The name of the controller of a file that is asked for, or else the first one of the list in the file.
pub(crate) fn choose(
    file: &str,
    name: Option<&str>,
    list: Option<String>,
    has: impl Fn(&str) -> bool,
) -> Result<String, String> {
    let names: Vec<&str> = list.iter().flat_map(|list| list.split(',')).map(str::trim).collect();
    match (name, names.first()) {
        (Some(name), _) if has(name) => Ok(name.to_string()),
        (Some(name), Some(_)) => {
            let has = one_line(&names.join(", "));
            let near = nearest(name, names.iter().copied());
            let remark = if near.starts_with("did you") { format!("; {near}") } else { String::new() };
            Err(format!("{file} has no controller {name}; it has {has}{remark}"))
        }
        (Some(name), None) => {
            Err(format!("{file} has no controller {name} (no {name}_{})", function::DESCRIBE))
        }
        (None, Some(first)) if has(first) => Ok((*first).to_string()),
        (None, Some(first)) => {
            Err(format!("{file}: controller {} has no function describe", one_line(first)))
        }
        (None, None) => Err(format!(
            "{file} has no list of its controllers ({}); write {file}:NAME",
            function::CONTROLLERS
        )),
    }
}

/// Whether a controller must have the function of a method. A threshold that is set is kept without one.
pub(crate) fn needed(method: &cc::EventMethod) -> bool {
    method.required && method.name != "set_ssthresh"
}

/// A message on a file; those on the version begin with a verb.
pub(crate) fn of_file(file: &str, message: &str) -> String {
    if message.starts_with("needs interface") {
        format!("{file} {message}")
    } else {
        format!("{file}: {message}")
    }
}

/// Columns of every window trace, which no internal value can have.
const RESERVED: [&str; 13] = [
    "time_s",
    "flow",
    "event",
    "cwnd",
    "ssthresh",
    "ack",
    "rtt_s",
    "in_flight",
    "phase",
    "cause",
    "pacing_bps",
    "app_limited",
    "handoff",
];

/// Checks names of internal values: each a name, once, and no column of every trace.
pub(crate) fn check_probes(probes: &[String], most: usize) -> Result<(), String> {
    check_names(probes.iter(), most)?;
    match probes.iter().find(|name| RESERVED.contains(&name.as_str())) {
        Some(name) => Err(format!("{name} is a column that the trace has already")),
        None => Ok(()),
    }
}

/// Checks names: at most so many, each a name and once.
pub(crate) fn check_names<'a>(
    names: impl Iterator<Item = &'a String> + Clone,
    most: usize,
) -> Result<(), String> {
    if names.clone().count() > most {
        return Err(format!("{} names; at most {most} are possible", names.count()));
    }
    for (place, name) in names.clone().enumerate() {
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(format!("\"{}\" is not a name of letters, digits and _", one_line(name)));
        }
        if names.clone().take(place).any(|earlier| earlier == name) {
            return Err(format!("{name} is there twice"));
        }
    }
    Ok(())
}

/// A text as one line of at most 200 characters.
pub(crate) fn one_line(text: &str) -> String {
    let line: String = text.chars().take(200).map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.trim().to_string()
}

/// The name of a file, for messages.
pub fn shown(path: &std::path::Path) -> String {
    one_line(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
}
