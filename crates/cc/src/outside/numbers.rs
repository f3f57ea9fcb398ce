//! The record of numbers that passes to classes in JavaScript: an event's fields, then in the same places the answers and the
//! internal values. Times are in picoseconds.

use super::answers::{Answer, Decision};
use super::external::Event;
use super::fields::Argument;
use crate::flow::FlowInfo;
use crate::signals::Signals;

/// The record of one event.
pub type NumberRecord = [f64; NumberLayout::NUMBERS];

/// The places of a record.
#[derive(Clone, Copy, Debug)]
pub struct NumberLayout;

impl NumberLayout {
    /// The place of the first internal value.
    pub const FIRST_PROBE: usize = Answer::ALL.len();
    /// Most internal values.
    pub const MOST_PROBES: usize = 32;
    /// Numbers of a record.
    pub const NUMBERS: usize = NumberLayout::FIRST_PROBE + NumberLayout::MOST_PROBES;
    /// The kind of the call that creates a controller. That of an event is one more than [`Event::index`].
    pub const NEW: usize = 0;

    /// The record of a flow: its fields, then the halves of its seed.
    pub fn of_flow(flow: &FlowInfo) -> NumberRecord {
        let mut record = [0.0; NumberLayout::NUMBERS];
        flow.numbers(&mut record);
        record[FlowInfo::FIELDS.len()] = (flow.seed >> 32) as f64;
        record[FlowInfo::FIELDS.len() + 1] = (flow.seed & 0xffff_ffff) as f64;
        record
    }

    /// The kind and the record of an event.
    pub fn of_event(event: &Event<'_>) -> (usize, NumberRecord) {
        let mut record = [0.0; NumberLayout::NUMBERS];
        event.numbers(&mut record);
        (event.index() + 1, record)
    }

    /// The answers in the first places of a record; NaN stands for none. Fails with a message.
    pub fn decision(record: &NumberRecord, needs: Signals) -> Result<Decision, String> {
        Decision::read(
            needs,
            |place| Ok(Some(record[place]).filter(|number| !number.is_nan())),
            |place, expected| {
                format!("{} is {}, not {expected}", camel_case(Answer::ALL[place].field.name), record[place])
            },
        )
    }
}

/// Every record has room for its fields, that of a flow for the halves of its seed too.
const _: () = {
    assert!(FlowInfo::FIELDS.len() + 2 <= NumberLayout::NUMBERS);
    let mut at = 0;
    while at < Event::METHODS.len() {
        assert!(Event::METHODS[at].fields.len() <= NumberLayout::NUMBERS);
        at += 1;
    }
};

/// A name as it is in JavaScript.
fn camel_case(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |text, part| {
        text + &part.chars().take(1).flat_map(char::to_uppercase).collect::<String>()
            + part.get(1..).unwrap_or_default()
    })
}
