//! Short forms of values, which stand for tables: `queue = "codel"`, `loss = "0.3%"`.

use super::document::{TomlItem, TomlValue};
use net::impairment::KINDS;
use net::qdisc::disciplines;

/// Tables with a `loss` or a `queue` of their own: decibels, and parameters of controllers.
const OTHERS: [&str; 3] = ["blockage", "congestion_control", "control"];

/// Writes out the short forms in the value at a key, given by its names from the document down. What is none of them is left
/// to the reader, which says what is wrong.
pub(super) fn write_out_short_forms(path: &[&str], item: &mut TomlItem) {
    let is_other = |name: &&str| OTHERS.contains(name) || name.ends_with(".congestion_control");
    if path.iter().any(is_other) {
        return;
    }
    let key = path.last().copied().unwrap_or_default();
    write_out(key, item);
    match &mut item.value {
        TomlValue::List(items) => items.iter_mut().for_each(|item| write_out_short_forms(&[key, ""], item)),
        TomlValue::Table(entries) => {
            entries.iter_mut().for_each(|(name, item)| write_out_short_forms(&[key, name], item));
        }
        _ => {}
    }
}

/// Writes out the value of a key, if it is a short form.
fn write_out(key: &str, item: &mut TomlItem) {
    let named = |kind: &str| vec![("kind", TomlValue::Text(kind.into()))];
    let bernoulli = |rate: TomlValue| [named("bernoulli"), vec![("rate", rate)]].concat();
    let entries = match (key, &item.value) {
        ("queue", TomlValue::Text(name)) if disciplines().any(|one| one.model.table.name == name) => {
            named(name)
        }
        ("loss", TomlValue::Text(name)) if KINDS.iter().any(|kind| kind.model.table.name == name) => {
            named(name)
        }
        ("loss", TomlValue::Text(percent)) if percent.trim_end().ends_with('%') => {
            bernoulli(TomlValue::Text(percent.clone()))
        }
        ("loss", TomlValue::Float(_) | TomlValue::Integer(_)) => bernoulli(item.value.clone()),
        _ => return,
    };
    let origin = item.origin.clone();
    let entry = |(key, value): (&str, TomlValue)| (key.into(), TomlItem { value, origin: origin.clone() });
    item.value = TomlValue::Table(entries.into_iter().map(entry).collect());
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    #[test]
    fn short_forms_are_tables() {
        let read = |link: &str, set: &str| {
            let text = format!(
                "duration = \"1s\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"1Mbps\"\ndelay = \"1ms\"\n{link}\n\
                 [[flow]]\nfrom = \"a\"\nto = \"b\"\n"
            );
            let set: Vec<String> = set.split_terminator(';').map(String::from).collect();
            let scenario = Scenario::parse("s", &text, &set).map_err(|error| error.to_string());
            scenario.map(|scenario| format!("{:?}", scenario.links))
        };
        let long = "queue = { kind = \"codel\" }\nloss = { kind = \"bernoulli\", rate = 0.003 }";
        for (link, set) in [
            ("queue = \"codel\"\nloss = \"0.3%\"", ""),
            ("queue = \"codel\"\nloss = 0.003", ""),
            ("", "link.l.queue=codel;link.l.loss=0.3%"),
            ("loss = { kind = \"bernoulli\", rate = \"0.3%\" }", "link.l.queue=\"codel\""),
        ] {
            assert_eq!(read(link, set), read(long, ""), "{link}; {set}");
        }
        assert!(read("loss = \"none\"", "").is_ok());
        // A parameter of a controller.
        let vivace = "{ kind = \"vivace\", loss = 20 }";
        assert_eq!(read("", &format!("tcp.congestion_control={vivace}")).err(), None);
        let set = "tcp.congestion_control={ kind = \"vivace\" };tcp.congestion_control.loss=20";
        assert_eq!(read("", set).err(), None);
        let refused = |link: &str| read(link, "").unwrap_err();
        let limit = refused("queue = \"0.5bdp\"");
        assert!(limit.ends_with("write { kind = \"droptail\", limit = \"0.5bdp\" }"), "{limit}");
        assert!(refused("queue = \"cake\"").contains("unknown queue \"cake\""));
        assert!(refused("queue = \"droptail\"").contains("link.l.queue.limit: is missing"));
        assert!(refused("loss = \"x\"").contains("\"0.3%\""));
        assert!(refused("loss = \"130%\"").contains("1.3 is not between 0 and 1"));
    }
}
