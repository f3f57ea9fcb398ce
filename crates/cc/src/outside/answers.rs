//! The answers of a controller outside Rust: what they are, and how they are read.

use super::fields::{External, Field};
use crate::controller::Controller;
use crate::events::EcnResponse;
use crate::signals::Signals;
#[cfg(doc)]
use crate::{Ack, FlowInfo};
use units::{Rate, Segments, Span, Time};

/// Defines [`Decision`].
macro_rules! define_decision {
    ([] { $($(#[$required_doc:meta])+ $required:ident: $required_type:ty => $required_name:ident,)+ }
        { $($(#[$doc:meta])+ $answer:ident: $type:ty = $default:expr => $name:ident,)+ }
    ) => {
        /// The answers of an external controller: one field for each method of [`Controller`] that the transport reads.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Decision {
            $($(#[$required_doc])+ pub $required: $required_type,)+
            $($(#[$doc])+ pub $answer: $type,)+
        }

        impl Default for Decision {
            /// A window of one segment without a threshold; otherwise the default answers of [`Controller`].
            fn default() -> Decision {
                Decision { cwnd: 1.0, ssthresh: Segments::INFINITY, $($answer: $default,)+ }
            }
        }

        impl Decision {
            /// The answers of a controller.
            pub fn of(controller: &(impl Controller + ?Sized)) -> Decision {
                Decision { $($required: controller.$required(),)+ $($answer: controller.$answer(),)+ }
            }
        }
    };
}
crate::controller_answers!(define_decision);

/// The signal without which the answer of this name is not read.
const fn needed(answer: &str) -> Signals {
    match answer.as_bytes() {
        b"pacing_bps" | b"send_quantum" => Signals::PACING,
        b"wake_at_s" => Signals::TIMER,
        b"fine_timeout_s" => Signals::FINE_CLOCK,
        _ => Signals::NONE,
    }
}

/// A type of an answer.
trait Answered: External {
    /// The values that are accepted, in words.
    const EXPECTED: &'static str;
    /// The answer of a number: of times seconds, of a word its place; `None` if the controller has none. Returns `None` if it is
    /// not accepted.
    fn from_number(number: Option<f64>) -> Option<Self>;
    /// The answer of eight bytes ([`External::word`]); of times picoseconds, negative for none. Returns `None` if it is not
    /// accepted.
    fn answered(word: u64) -> Option<Self> {
        Self::from_word(word)
    }
    /// The eight bytes of the answer.
    fn answer_word(self) -> u64 {
        self.word()
    }
}

impl Answered for Segments {
    const EXPECTED: &'static str = "a number from 1 on";
    fn from_number(number: Option<f64>) -> Option<Segments> {
        number.filter(|number| *number >= 1.0)
    }
    fn answered(word: u64) -> Option<Segments> {
        Segments::from_number(Some(f64::from_bits(word)))
    }
}

impl Answered for Option<Rate> {
    const EXPECTED: &'static str = "a rate from 1 on, or none";
    fn from_number(number: Option<f64>) -> Option<Option<Rate>> {
        let Some(bps) = number else { return Some(None) };
        (1.0..1e15).contains(&bps).then(|| Some(Rate::from_bps(bps as u64)))
    }
    fn answered(word: u64) -> Option<Option<Rate>> {
        <Option<Rate>>::from_number(Some(f64::from_bits(word)).filter(|bps| !bps.is_nan()))
    }
}

impl Answered for u32 {
    const EXPECTED: &'static str = "a whole number from 1 on";
    fn from_number(number: Option<f64>) -> Option<u32> {
        let number = number.unwrap_or(1.0);
        (number >= 1.0 && number.fract() == 0.0).then_some(number as u32)
    }
    fn answered(word: u64) -> Option<u32> {
        u32::from_word(word).filter(|number| *number >= 1)
    }
}

impl Answered for Option<Span> {
    const EXPECTED: &'static str = "a number, or none";
    fn from_number(number: Option<f64>) -> Option<Option<Span>> {
        Some(number.filter(|seconds| seconds.is_finite()).map(|seconds| Span::from_seconds(seconds.max(0.0))))
    }
}

impl Answered for Time {
    const EXPECTED: &'static str = <Option<Span>>::EXPECTED;
    fn from_number(number: Option<f64>) -> Option<Time> {
        <Option<Span>>::from_number(number).map(|span| span.map_or(Time::NEVER, |span| Time::ZERO + span))
    }
    fn answered(word: u64) -> Option<Time> {
        <Option<Time>>::from_word(word).map(|time| time.unwrap_or(Time::NEVER))
    }
    fn answer_word(self) -> u64 {
        Some(self).filter(|time| *time < Time::NEVER).word()
    }
}

impl Answered for bool {
    const EXPECTED: &'static str = "true or false";
    fn from_number(number: Option<f64>) -> Option<bool> {
        Some(number == Some(1.0))
    }
}

impl Answered for EcnResponse {
    const EXPECTED: &'static str = "reduce, confirm or ignore";
    fn from_number(number: Option<f64>) -> Option<EcnResponse> {
        match number {
            Some(1.0) => Some(EcnResponse::CwrOnly),
            Some(2.0) => Some(EcnResponse::NoCwr),
            _ => Some(EcnResponse::Reduce),
        }
    }
}

/// An answer of a controller outside Rust.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Its name, kind and meaning.
    pub field: Field,
    /// The signal without which it is not read.
    pub needs: Signals,
    /// The values that are accepted, in words.
    pub expected: &'static str,
    /// Whether a controller must have it.
    pub required: bool,
}

/// Defines the list of the answers and how they are read.
macro_rules! define_answers {
    ([] { $($(#[doc = $required_doc:literal])+ $required:ident: $required_type:ty => $required_name:ident,)+ }
        { $($(#[doc = $doc:literal])+ $answer:ident: $type:ty = $default:expr => $name:ident,)+ }
    ) => {
        impl Answer {
            /// Every answer, in the order of [`Controller`].
            pub const ALL: &'static [Answer] = &[
                $(Answer::new::<$required_type>(stringify!($required_name), concat!($($required_doc),+), true),)+
                $(Answer::new::<$type>(stringify!($name), concat!($($doc),+), false),)+
            ];
        }

        impl Decision {
            /// Reads the answers of a controller that requires the signals `needs`: `number` gives that of an answer, times in
            /// seconds, of a word its place, `None` if there is none. A number that is not accepted is the error that `wrong`
            /// makes from its place and the values that are accepted.
            pub fn read<E>(
                needs: Signals,
                mut number: impl FnMut(usize) -> Result<Option<f64>, E>,
                wrong: impl Fn(usize, &'static str) -> E,
            ) -> Result<Decision, E> {
                let mut decision = Decision::default();
                let mut places = 0..Answer::ALL.len();
                $(read_answer!(decision, $required: $required_type, $required_name, needs, places, number, wrong);)+
                if decision.cwnd.is_infinite() {
                    return Err(wrong(0, "finite"));
                }
                $(read_answer!(decision, $answer: $type, $name, needs, places, number, wrong);)+
                Ok(decision)
            }

            /// Reads the answers of a controller that requires the signals `needs` from eight bytes each ([`External::word`]), in
            /// the order of [`Answer::ALL`]: those that are not as they were `before`, which is updated. The error is the place of an answer that is
            /// not accepted, and the values that are.
            #[inline]
            pub fn read_words(
                &mut self,
                needs: Signals,
                before: &mut [u64; Answer::ALL.len()],
                words: &[u64; Answer::ALL.len()],
            ) -> Result<(), (usize, &'static str)> {
                if f64::from_bits(words[0]).is_infinite() {
                    return Err((0, "finite"));
                }
                let mut place = 0;
                $(read_word!(self, $required: $required_type, $required_name, needs, place, before, words);)+
                $(read_word!(self, $answer: $type, $name, needs, place, before, words);)+
                let _ = place;
                Ok(())
            }

            /// The eight bytes of the answers, in the order of [`Answer::ALL`].
            pub fn words(&self) -> [u64; Answer::ALL.len()] {
                [$(self.$required.answer_word(),)+ $(self.$answer.answer_word(),)+]
            }

            /// The numbers of the answers ([`External::number`]), in the order of [`Answer::ALL`].
            pub fn numbers(&self) -> [f64; Answer::ALL.len()] {
                [$(self.$required.number(),)+ $(self.$answer.number(),)+]
            }
        }
    };
}

/// Reads one answer.
macro_rules! read_answer {
    ($decision:ident, $answer:ident: $type:ty, $name:ident, $needs:ident, $places:ident, $number:ident, $wrong:ident) => {
        if let Some(place) = $places.next().filter(|_| $needs.has(const { needed(stringify!($name)) })) {
            $decision.$answer =
                <$type>::from_number($number(place)?).ok_or_else(|| $wrong(place, <$type>::EXPECTED))?;
        }
    };
}

/// Reads the eight bytes of one answer, if they changed.
macro_rules! read_word {
    ($decision:ident, $answer:ident: $type:ty, $name:ident, $needs:ident, $place:ident, $before:ident, $words:ident) => {
        if $words[$place] != $before[$place] && $needs.has(const { needed(stringify!($name)) }) {
            $decision.$answer =
                <$type>::answered($words[$place]).ok_or(($place, <$type as Answered>::EXPECTED))?;
            $before[$place] = $words[$place];
        }
        $place += 1;
    };
}
crate::controller_answers!(define_answers);

impl Answer {
    const fn new<T: Answered>(name: &'static str, doc: &'static str, required: bool) -> Answer {
        let field = Field { name, exact: None, kind: T::KIND, optional: T::OPTIONAL, doc };
        Answer { field, needs: needed(name), expected: T::EXPECTED, required }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_need_a_signal() {
        let with = Answer::ALL.iter().filter(|answer| answer.needs != Signals::NONE);
        let names: Vec<&str> = with.map(|answer| answer.field.name).collect();
        assert_eq!(names, ["pacing_bps", "send_quantum", "wake_at_s", "fine_timeout_s"]);
    }
}
