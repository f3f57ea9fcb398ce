//! The description of an impairment, and an impairment that a scenario gives a link.

use super::Impairment;
use engine::Stream;
use params::{Form, Key, Mistake, Model, Unit, Values, key};
use std::fmt;
use units::{Span, Time};

/// A kind of impairment: its keys, and how one is built from their values.
#[derive(Debug)]
pub struct Kind {
    /// Its keys.
    pub model: Model,
    /// Checks values that depend on each other.
    pub check: fn(&mut Values) -> Result<(), Mistake>,
    /// Builds the impairment of a link; none if it concerns a flow that does not exist.
    pub build: fn(&Values, &BuildContext<'_>) -> Option<Impairment>,
    /// What it does, in diagrams.
    pub label: fn(&Values) -> String,
    /// The name of its stream of random numbers; empty for none.
    pub stream: &'static str,
    /// What it permits on a link, for the auditor.
    pub permits: fn(&Values) -> Permits,
    /// It loses packets at random after the queue.
    pub is_random_loss: bool,
    /// It can begin and end during a run.
    pub can_change: bool,
}

impl Kind {
    /// What most kinds have in common.
    pub const PLAIN: Kind = Kind {
        model: params::model!("loss", "", "", "", []),
        check: |_| Ok(()),
        build: |_, _| None,
        label: |_| String::new(),
        stream: "",
        permits: |_| Permits::NOTHING,
        is_random_loss: false,
        can_change: true,
    };

    /// Its name in scenarios.
    pub fn name(&self) -> &'static str {
        self.model.table.name
    }
}

/// No loss.
pub(super) const NONE: Kind =
    Kind { model: params::model!("loss", "none", "no loss", "", []), ..Kind::PLAIN };

/// What an impairment permits on a link.
#[derive(Clone, Copy, Debug)]
pub struct Permits {
    /// Delay besides that of the link.
    pub delay: Span,
    /// Time in which the transmitter pauses.
    pub pause: Span,
    /// Copies of packets.
    pub copies: bool,
}

impl Permits {
    /// Nothing that a link without impairments does not do.
    pub const NOTHING: Permits = Permits { delay: Span::ZERO, pause: Span::ZERO, copies: false };
}

/// What an impairment is built with.
pub struct BuildContext<'a> {
    /// The number of a flow, and how many segments come before its data.
    pub flow: &'a dyn Fn(&str) -> Option<(u32, u32)>,
    /// The stream of random numbers of the impairment.
    pub stream: &'a dyn Fn() -> Stream,
}

/// The key of a probability per packet.
pub(super) const RATE: Key = key("rate", Form::Number(0.0, 1.0), "", "probability per packet");

/// The key of intervals.
pub(super) const TIMES: Key = key(
    "times",
    Form::List(
        &Form::Row(
            &[Form::Quantity(Unit::Time, "8s"), Form::Quantity(Unit::Time, "10s")],
            "[\"8s\", \"10s\"]",
        ),
        "[[\"8s\", \"10s\"]]",
    ),
    "",
    "begin and end of each",
);

/// The intervals of [`TIMES`].
pub(super) fn intervals(values: &Values) -> Vec<(Time, Time)> {
    let times: Vec<(Span, Span)> = values.read("times");
    times.into_iter().map(|(begin, end)| (Time::ZERO + begin, Time::ZERO + end)).collect()
}

/// Fails if an interval ends before it begins.
pub(super) fn check_times(values: &mut Values) -> Result<(), Mistake> {
    match intervals(values).iter().any(|(begin, end)| begin >= end) {
        true => Err(("times", "the end must be later than the begin".into())),
        false => Ok(()),
    }
}

/// An impairment of a link: a kind with its values.
#[derive(Clone)]
pub struct Loss {
    pub(super) kind: &'static Kind,
    pub(super) values: Values,
}

impl Loss {
    /// An impairment with these values. Fails if they do not go together.
    pub fn new(kind: &'static Kind, mut values: Values) -> Result<Loss, Mistake> {
        (kind.check)(&mut values)?;
        Ok(Loss { kind, values })
    }

    /// Its kind.
    pub fn kind(&self) -> &'static Kind {
        self.kind
    }

    /// What it does, in diagrams.
    pub fn label(&self) -> String {
        (self.kind.label)(&self.values)
    }

    /// The impairment of a link; none if it concerns a flow that does not exist.
    pub fn build(&self, context: &BuildContext<'_>) -> Option<Impairment> {
        (self.kind.build)(&self.values, context)
    }

    /// What it permits on a link.
    pub fn permits(&self) -> Permits {
        (self.kind.permits)(&self.values)
    }

    /// The flow whose packets it concerns, if it names one.
    pub fn flow(&self) -> Option<String> {
        self.values.optional("flow")
    }

    /// Whether it loses packets at random.
    pub fn loses_at_random(&self) -> bool {
        self.kind.is_random_loss && self.values.optional("rate") != Some(0.0)
    }
}

impl PartialEq for Loss {
    fn eq(&self, other: &Loss) -> bool {
        self.kind.name() == other.kind.name() && self.values == other.values
    }
}

/// What decides results; it is part of the identity of a run.
impl fmt::Debug for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.kind.name(), self.values)
    }
}
