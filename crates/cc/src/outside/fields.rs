//! The fields of events as they are outside Rust: in Python, in the page, in the reference.

use crate::events::*;
use crate::flow::FlowInfo;
use units::{Rate, Segments, Span, Time};

/// What a value is outside Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// A number that may have a fraction.
    Number,
    /// A whole number.
    Count,
    /// True or false.
    Flag,
    /// A time or a time span: seconds, or exactly in picoseconds.
    Time,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// A type that values have outside Rust.
pub trait External: Copy {
    /// Its kind.
    const KIND: ValueKind;
    /// Whether there can be no value.
    const OPTIONAL: bool = false;
    /// The type of a value for Python; of a time seconds.
    type Value;
    /// The type of an exact value: of a time picoseconds.
    type Exact;
    /// The value for Python.
    fn value(self) -> Self::Value;
    /// The exact value.
    fn exact(self) -> Self::Exact;
    /// The value as a number: of a time picoseconds, of a word its place, of a flag 0 or 1, NaN for none.
    fn number(self) -> f64;
    /// The value as eight bytes, as a struct of `ackclock.h` has it: a number as a double, a time in picoseconds, of a word its
    /// place, of a flag 0 or 1.
    fn word(self) -> u64;
    /// The value of eight bytes. `None` if there is no such value.
    fn from_word(word: u64) -> Option<Self>;
}

impl ValueKind {
    /// The eight bytes that stand for no value.
    pub const fn none(self) -> u64 {
        match self {
            ValueKind::Number => f64::NAN.to_bits(),
            _ => u64::MAX,
        }
    }
    /// Whether the eight bytes stand for no value.
    const fn is_none(self, word: u64) -> bool {
        match self {
            ValueKind::Number => f64::from_bits(word).is_nan(),
            ValueKind::Time => word >> 63 == 1,
            _ => word == u64::MAX,
        }
    }
}

/// Implements [`External`] for a type whose value is itself or follows from it.
macro_rules! external {
    ($($type:ty, $kind:expr, $value:ty = $to:expr, $exact:ty = $to_exact:expr, $number:expr, $word:expr, $from:expr;)+) => {$(
        impl External for $type {
            const KIND: ValueKind = $kind;
            type Value = $value;
            type Exact = $exact;
            fn value(self) -> $value {
                let to: fn($type) -> $value = $to;
                to(self)
            }
            fn exact(self) -> $exact {
                let to: fn($type) -> $exact = $to_exact;
                to(self)
            }
            fn number(self) -> f64 {
                let to: fn($type) -> f64 = $number;
                to(self)
            }
            #[inline]
            fn word(self) -> u64 {
                let to: fn($type) -> u64 = $word;
                to(self)
            }
            #[inline]
            fn from_word(word: u64) -> Option<$type> {
                let from: fn(u64) -> Option<$type> = $from;
                from(word)
            }
        }
    )+};
}
/// The number of a word's place among `all`.
fn place<T: Copy>(all: &[T], word: u64) -> Option<T> {
    all.get(usize::try_from(word).ok()?).copied()
}
external! {
    f64, ValueKind::Number, f64 = |x| x, f64 = |x| x, |x| x, f64::to_bits, |x| Some(f64::from_bits(x));
    u32, ValueKind::Count, u32 = |x| x, u32 = |x| x, f64::from, u64::from, |x| u32::try_from(x).ok();
    u64, ValueKind::Count, u64 = |x| x, u64 = |x| x, |x| x as f64, |x| x, Some;
    bool, ValueKind::Flag, bool = |x| x, bool = |x| x, |x| u8::from(x).into(), u64::from, |x| (x < 2).then_some(x == 1);
    Time, ValueKind::Time, f64 = Time::seconds, u64 = Time::ps, |x| x.ps() as f64, Time::ps, |x| Some(Time::from_ps(x));
    Span, ValueKind::Time, f64 = Span::seconds, u64 = Span::ps, |x| x.ps() as f64, Span::ps, |x| Some(Span::from_ps(x));
    Rate, ValueKind::Number, f64 = |x| x.bps() as f64, u64 = Rate::bps, |x| x.bps() as f64, |x| (x.bps() as f64).to_bits(),
        |x| Some(Rate::from_bps(f64::from_bits(x) as u64));
    Phase, ValueKind::Word(&[Phase::Open.name(), Phase::Cwr.name(), Phase::Recovery.name(), Phase::Loss.name()]), &'static str = Phase::name,
        &'static str = Phase::name, |x| (x as u8).into(), |x| x as u64, |x| place(&Phase::ALL, x);
    Cause, ValueKind::Word(&["fast_retransmit", "ecn", "controller"]), &'static str = word, &'static str = word, |x| (x as u8).into(),
        |x| x as u64, |x| place(&[Cause::FastRetransmit, Cause::Ecn, Cause::Controller], x);
    Hint, ValueKind::Word(&["handoff_begins", "handoff_ends", "router_rate", "router_feedback"]),
        &'static str = word, &'static str = word, |x| match x {
            Hint::HandoffBegins => 0.0,
            Hint::HandoffEnds => 1.0,
            Hint::RouterRate(_) => 2.0,
            Hint::RouterFeedback(_) => 3.0,
        }, |x| x.number() as u64, |x| place(&[Hint::HandoffBegins, Hint::HandoffEnds, Hint::RouterRate(Rate::from_bps(0)), Hint::RouterFeedback(0.0)], x);
    EcnResponse, ValueKind::Word(&["reduce", "confirm", "ignore"]), &'static str = word, &'static str = word,
        |x| (x as u8).into(), |x| x as u64, |x| place(&[EcnResponse::Reduce, EcnResponse::CwrOnly, EcnResponse::NoCwr], x);
}

/// The word of a value.
fn word<T: External>(value: T) -> &'static str {
    match T::KIND {
        ValueKind::Word(words) => words[value.number() as usize],
        _ => unreachable!("the type is one of words"),
    }
}

impl<T: External> External for Option<T> {
    const KIND: ValueKind = T::KIND;
    const OPTIONAL: bool = true;
    type Value = Option<T::Value>;
    type Exact = Option<T::Exact>;
    fn value(self) -> Self::Value {
        self.map(T::value)
    }
    fn exact(self) -> Self::Exact {
        self.map(T::exact)
    }
    fn number(self) -> f64 {
        self.map_or(f64::NAN, T::number)
    }
    #[inline]
    fn word(self) -> u64 {
        self.map_or(T::KIND.none(), T::word)
    }
    #[inline]
    fn from_word(word: u64) -> Option<Option<T>> {
        if T::KIND.is_none(word) { Some(None) } else { T::from_word(word).map(Some) }
    }
}

/// A value outside Rust.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name in Python; of a time that in seconds.
    pub name: &'static str,
    /// Of a time the name in picoseconds.
    pub exact: Option<&'static str>,
    /// What it is.
    pub kind: ValueKind,
    /// Whether there can be no value.
    pub optional: bool,
    /// What it means.
    pub doc: &'static str,
}

/// The argument of an event's method.
pub trait Argument {
    /// The name of its class outside Rust; empty for a plain number.
    const CLASS: &'static str;
    /// What it is.
    const DOC: &'static str;
    /// Its fields; one without a name for a plain number.
    const FIELDS: &'static [Field];
    /// When the event happens; `None` for a call that sets a window.
    fn now(&self) -> Option<Time>;
    /// Writes the numbers of the fields ([`External::number`]), in their order; the rest of `out` stays as it is.
    fn numbers(&self, out: &mut [f64]);
    /// Writes the eight bytes of each field ([`External::word`]), in their order; the rest of `out` stays as it is.
    fn words(&self, out: &mut [u64]);
}

/// A field without a name.
const fn plain<T: External>() -> Field {
    Field { name: "", exact: None, kind: T::KIND, optional: T::OPTIONAL, doc: "" }
}

/// Without a second name, `None`.
macro_rules! second {
    () => {
        None
    };
    ($name:ident) => {
        Some(stringify!($name))
    };
}

/// The time of an event; a flow has none.
macro_rules! moment {
    (FlowInfo, $flow:ident) => {
        None
    };
    ($struct:ident, $event:ident) => {
        Some($event.now)
    };
}

/// Implements [`Argument`] for the structs.
macro_rules! describe_structs {
    ($($(#[doc = $about:literal])+ $struct:ident {
        $($(#[doc = $doc:literal])+ $field:ident: $type:ty => $name:ident $($exact:ident)?,)+
    } {
        $($(#[doc = $derived_doc:literal])+ $derived:ident(): $derived_type:ty => $derived_name:ident $($derived_exact:ident)?,)*
    })+) => {$(
        impl Argument for $struct {
            const CLASS: &'static str = stringify!($struct);
            const DOC: &'static str = concat!($($about),+);
            const FIELDS: &'static [Field] = &[
                $(Field {
                    name: stringify!($name),
                    exact: second!($($exact)?),
                    kind: <$type as External>::KIND,
                    optional: <$type as External>::OPTIONAL,
                    doc: concat!($($doc),+),
                },)+
                $(Field {
                    name: stringify!($derived_name),
                    exact: second!($($derived_exact)?),
                    kind: <$derived_type as External>::KIND,
                    optional: <$derived_type as External>::OPTIONAL,
                    doc: concat!($($derived_doc),+),
                },)*
            ];
            fn now(&self) -> Option<Time> {
                moment!($struct, self)
            }
            fn numbers(&self, out: &mut [f64]) {
                let numbers = [$(self.$field.number(),)+ $(self.$derived().number(),)*];
                out[..numbers.len()].copy_from_slice(&numbers);
            }
            #[inline]
            fn words(&self, out: &mut [u64]) {
                let out = &mut out[..Self::FIELDS.len()];
                let mut at = 0;
                $(out[at] = self.$field.word(); at += 1;)+
                $(out[at] = self.$derived().word(); at += 1;)*
                let _ = at;
            }
        }
    )+};
}
crate::event_structs!(describe_structs);

impl Argument for Time {
    const CLASS: &'static str = "";
    const DOC: &'static str = "";
    const FIELDS: &'static [Field] = &[plain::<Time>()];
    fn now(&self) -> Option<Time> {
        Some(*self)
    }
    fn numbers(&self, out: &mut [f64]) {
        out[0] = self.number();
    }
    fn words(&self, out: &mut [u64]) {
        out[0] = self.word();
    }
}

impl Argument for Segments {
    const CLASS: &'static str = "";
    const DOC: &'static str = "";
    const FIELDS: &'static [Field] = &[plain::<Segments>()];
    fn now(&self) -> Option<Time> {
        None
    }
    fn numbers(&self, out: &mut [f64]) {
        out[0] = *self;
    }
    fn words(&self, out: &mut [u64]) {
        out[0] = self.word();
    }
}
