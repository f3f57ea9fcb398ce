//! What a controller says of itself: the text of `NAME_describe`, TOML.

use crate::names::{check_names, check_probes, one_line};
use cc::{ParamValue, Signals};
use params::nearest;
use serde::Deserialize;
use units::Segments;

/// What a controller says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// What it is.
    pub summary: String,
    /// The signals that it requires.
    pub needs: Signals,
    /// The names of its internal values.
    pub probes: Vec<String>,
    /// The initial window that it specifies, segments; none: that of the transport.
    pub initial_window: Option<Segments>,
    /// Where its state is.
    pub state: State,
    /// Its parameters, in the order in which `open` gets them.
    pub parameters: Vec<Parameter>,
}

/// Where the state of a controller is.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// All of it in the block of `state_size` bytes, which can be copied and moved.
    #[default]
    Block,
    /// Elsewhere too: memory that it allocates.
    Instance,
}

/// A parameter of a controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value if a scenario has none.
    pub default: ParamValue,
    /// The least and the greatest number.
    pub range: Option<[f64; 2]>,
    /// The words that it can be.
    pub words: Vec<String>,
    /// What it means.
    pub about: String,
}

/// The text as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    abi: String,
    summary: String,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    probes: Vec<String>,
    initial_window: Option<f64>,
    #[serde(default)]
    state: State,
    #[serde(default)]
    parameters: Vec<ParameterText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ParameterText {
    name: String,
    default: Value,
    range: Option<[f64; 2]>,
    #[serde(default)]
    words: Vec<String>,
    #[serde(default)]
    about: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Switch(bool),
    Number(f64),
    Word(String),
}

/// Most internal values, and most parameters, of a controller.
const MOST_NAMES: usize = 64;

impl Description {
    /// Reads the text that `NAME_describe` returns. Fails with a message of one line without the name of the file.
    pub fn read(text: &str) -> Result<Description, String> {
        let read: Text = toml::from_str(text).map_err(|error| {
            let line =
                error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            format!("describe, line {line}: {}", one_line(error.message()))
        })?;
        let line_of =
            |key: &str| 1 + text.lines().position(|line| line.trim_start().starts_with(key)).unwrap_or(0);
        let refuse =
            |key: &str, message: String| format!("describe, line {}: {key}: {message}", line_of(key));
        check_version(&read.abi)?;
        if read.summary.is_empty() || read.summary.contains(char::is_control) {
            return Err(refuse("summary", "must be a text of one line".into()));
        }
        let mut needs = Signals::NONE;
        for name in &read.needs {
            let wrong = |message: String| refuse("needs", one_line(message.trim_start_matches("needs: ")));
            needs = needs.and(Signals::from_name(name).map_err(wrong)?);
        }
        if let Some(window) = read.initial_window.filter(|window| !(1.0..=1e6).contains(window)) {
            return Err(refuse("initial_window", format!("is {window}, not a number from 1 to 1000000")));
        }
        check_probes(&read.probes, MOST_NAMES).map_err(|message| refuse("probes", message))?;
        check_names(read.parameters.iter().map(|parameter| &parameter.name), MOST_NAMES)
            .map_err(|message| refuse("parameters", message))?;
        let parameters = read.parameters.into_iter().map(|parameter| {
            let name = parameter.name.clone();
            let parameter = Parameter {
                name: parameter.name,
                default: match parameter.default {
                    Value::Switch(on) => ParamValue::Switch(on),
                    Value::Number(number) => ParamValue::Number(number),
                    Value::Word(word) => ParamValue::Word(word),
                },
                range: parameter.range,
                words: parameter.words,
                about: parameter.about,
            };
            parameter
                .number(&parameter.default)
                .map_err(|message| refuse("parameters", format!("{name}: default {message}")))?;
            Ok(parameter)
        });
        Ok(Description {
            summary: read.summary,
            needs,
            parameters: parameters.collect::<Result<_, String>>()?,
            probes: read.probes,
            initial_window: read.initial_window,
            state: read.state,
        })
    }

    /// The numbers that `open` gets, for the parameters of a scenario. Fails with a message of one line about one of them.
    pub fn numbers(&self, controller: &str, values: &[(String, ParamValue)]) -> Result<Vec<f64>, String> {
        let known = || self.parameters.iter().map(|parameter| parameter.name.as_str());
        if let Some((name, _)) = values.iter().find(|(name, _)| !known().any(|known| known == name)) {
            let remark =
                if self.parameters.is_empty() { "it has none".into() } else { nearest(name, known()) };
            return Err(format!("{controller} has no parameter {name}; {remark}"));
        }
        let number = |parameter: &Parameter| {
            let value = values.iter().find(|(name, _)| *name == parameter.name);
            let number = parameter.number(value.map_or(&parameter.default, |(_, value)| value));
            number.map_err(|message| format!("{}: {message}", parameter.name))
        };
        self.parameters.iter().map(number).collect()
    }
}

impl Parameter {
    /// The number of a value: of a switch 0 or 1, of a word its place. Fails with a message.
    fn number(&self, value: &ParamValue) -> Result<f64, String> {
        let kind = |value: &ParamValue| match value {
            ParamValue::Number(_) => "a number",
            ParamValue::Switch(_) => "true or false",
            ParamValue::Word(_) => "a word",
            ParamValue::File(_) => "a file",
        };
        match value {
            _ if kind(value) != kind(&self.default) => {
                Err(format!("must be {}, not {}", kind(&self.default), kind(value)))
            }
            ParamValue::Number(number) => match self.range {
                Some([least, most]) if !(least..=most).contains(number) => {
                    Err(format!("must be from {least} to {most}, not {number}"))
                }
                _ => Ok(*number),
            },
            ParamValue::Switch(on) => Ok(u8::from(*on).into()),
            ParamValue::Word(word) => match self.words.iter().position(|known| known == word) {
                Some(place) => Ok(place as f64),
                None => Err(format!("\"{word}\" is not one of {}", self.words.join(", "))),
            },
            ParamValue::File(_) => Err("must not be a file".into()),
        }
    }
}

/// Checks the version of the interface that a controller was built for.
fn check_version(text: &str) -> Result<(), String> {
    let parts =
        text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let Some((major, minor)): Option<(u32, u32)> = parts else {
        return Err(format!("describe: abi: \"{}\" is not MAJOR.MINOR", one_line(text)));
    };
    let (ours, most) = crate::VERSION;
    if major != ours || minor > most {
        return Err(format!(
            "needs interface {major}.{minor}; this program has {ours}.{most} (rebuild it with ackclock.h of this version)"
        ));
    }
    Ok(())
}

/// How the function of an event method is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The controller does not have it.
    Missing,
    /// With a pointer to a struct of so many fields.
    Struct(usize),
    /// With a time.
    Time,
    /// With a number of segments.
    Number,
}

impl Shape {
    /// The shape of a method that a controller has or has not.
    pub(crate) fn of(method: usize, is_there: bool) -> Shape {
        let method = &cc::Event::METHODS[method];
        match method.fields[0].kind {
            _ if !is_there => Shape::Missing,
            _ if !method.class.is_empty() => Shape::Struct(method.fields.len()),
            cc::ValueKind::Time => Shape::Time,
            _ => Shape::Number,
        }
    }
}

/// A controller of a file: its description and how its functions are called.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// The file, as messages name it.
    pub file: String,
    /// Its name in the file.
    pub name: String,
    /// What it says of itself.
    pub description: Description,
    /// Bytes of the state of a flow.
    pub state_size: usize,
    /// How its event methods are called, in the order of [`cc::Event::METHODS`].
    pub defined: [Shape; cc::Event::METHODS.len()],
    /// The numbers of its parameters.
    pub parameters: Vec<f64>,
    /// Different for each content of the file.
    pub identity: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "abi = '1.0'\nsummary = 'Reno in C'\nneeds = ['rate', 'pacing']\nprobes = ['counter']\n\
        parameters = [\n  { name = 'gain', default = 1.5, range = [0.1, 10] },\n  { name = 'fast', default = true },\n  \
        { name = 'mode', default = 'auto', words = ['auto', 'slow'] },\n]\n";

    #[test]
    fn a_description_is_read() {
        let read = Description::read(TEXT).unwrap();
        assert!(read.needs.has(Signals::RATE.and(Signals::PACING)));
        let given =
            [("mode".to_string(), ParamValue::Word("slow".into())), ("gain".into(), ParamValue::Number(2.0))];
        assert_eq!(read.numbers("mine", &given), Ok(vec![2.0, 1.0, 1.0]));
        assert_eq!(read.numbers("mine", &[]), Ok(vec![1.5, 1.0, 0.0]));
    }

    #[test]
    fn parameters_are_checked() {
        let read = Description::read(TEXT).unwrap();
        let wrong = |name: &str, value| read.numbers("mine", &[(name.to_string(), value)]).unwrap_err();
        assert_eq!(
            wrong("gian", ParamValue::Number(1.0)),
            "mine has no parameter gian; did you mean \"gain\"?"
        );
        assert_eq!(wrong("gain", ParamValue::Number(11.0)), "gain: must be from 0.1 to 10, not 11");
        assert_eq!(wrong("fast", ParamValue::Number(1.0)), "fast: must be true or false, not a number");
        assert_eq!(wrong("mode", ParamValue::Word("x".into())), "mode: \"x\" is not one of auto, slow");
    }

    #[test]
    fn wrong_descriptions_have_a_place() {
        for (text, message) in [
            (TEXT.replace("'rate'", "'rat'"), "describe, line 3: needs: \"rat\" is not"),
            (TEXT.replace("1.0'", "1.3'"), "needs interface 1.3; this program has 1.1"),
            (TEXT.replace("1.0'", "2.0'"), "needs interface 2.0"),
            (TEXT.replace("['counter']", "['a', 'a']"), "describe, line 4: probes: a is there twice"),
            (
                TEXT.replace("1.5", "15"),
                "describe, line 5: parameters: gain: default must be from 0.1 to 10, not 15",
            ),
            (TEXT.replace("summary", "sumary"), "describe, line 2: unknown field `sumary`"),
            ("x".into(), "describe, line 1: "),
        ] {
            let error = Description::read(&text).unwrap_err();
            assert!(error.starts_with(message), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
