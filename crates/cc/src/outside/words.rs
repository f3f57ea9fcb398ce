//! The structs of `ackclock.h` read back: for controllers of this crate that other programs call.

use super::fields::{Argument, External};
use crate::events::*;
use crate::flow::{Arithmetic, FlowInfo, Growth};
use units::{Rate, Segments, Span, Time};

/// A struct of an event that can be read from its eight-byte fields.
pub trait FromWords: Argument + Sized {
    /// The struct whose fields these are ([`Argument::words`]); fields that are missing at the end, which a program for an earlier
    /// interface does not know, are zero. `None` if a value is impossible.
    fn from_words(words: &[u64]) -> Option<Self>;
}

/// Most fields of a struct.
const FIELDS: usize = 64;

/// The struct from its fields; those that exist in Rust only follow from the derived ones.
macro_rules! build {
    (Ack, $derived:expr, $($field:ident: $value:expr,)+) => {{
        let (rate, sender, ce) = measured($derived)?;
        let ack = Ack { $($field: $value,)+ rate, sender, ce };
        Ack { ce: marks(ack.ece, ack.ce, ack.newly_delivered), ..ack }
    }};
    (Sample, $derived:expr, $($field:ident: $value:expr,)+) => {{
        let sample = Sample { $($field: $value,)+ };
        Sample { ce: marks(sample.ece, sample.ce, sample.newly_delivered), ..sample }
    }};
    (FlowInfo, $derived:expr, $($field:ident: $value:expr,)+) => {
        FlowInfo { $($field: $value,)+ arithmetic: arithmetic($derived)? }
    };
    (PathHint, $derived:expr, now: $now:expr, kind: $kind:expr,) => {
        PathHint { now: $now, kind: with_amount($kind, $derived) }
    };
    ($struct:ident, $derived:expr, $($field:ident: $value:expr,)+) => {
        $struct { $($field: $value,)+ }
    };
}

/// Implements [`FromWords`] for the structs.
macro_rules! read_structs {
    ($($(#[doc = $about:literal])+ $struct:ident {
        $($(#[doc = $doc:literal])+ $field:ident: $type:ty => $name:ident $($exact:ident)?,)+
    } {
        $($(#[doc = $derived_doc:literal])+ $derived:ident(): $derived_type:ty => $derived_name:ident $($derived_exact:ident)?,)*
    })+) => {$(
        impl FromWords for $struct {
            fn from_words(words: &[u64]) -> Option<$struct> {
                const { assert!($struct::FIELDS.len() <= FIELDS) };
                let mut all = [0; FIELDS];
                let known = words.len().min($struct::FIELDS.len());
                all[..known].copy_from_slice(&words[..known]);
                let (plain, derived) = all.split_at(const { [$(stringify!($field)),+].len() });
                let mut plain = plain.iter();
                let mut next = || plain.next().copied().unwrap_or_default();
                let _ = derived;
                Some(build!($struct, derived, $($field: <$type>::from_word(next())?,)+))
            }
        }
    )+};
}
crate::event_structs!(read_structs);

/// Marked packets of an ACK. A stack that reports an echo without a count, as one for version 1.0 of the interface, has marked
/// all segments that the ACK delivers.
fn marks(ece: bool, ce: u32, delivered: u32) -> u32 {
    if ece && ce == 0 { delivered } else { ce }
}

/// The rate sample, the counts of a sender and the marked packets, from the derived fields of an ACK (`derived.rs`).
fn measured(derived: &[u64]) -> Option<(Option<RateSample>, SenderState, u32)> {
    let [
        delivered,
        interval,
        app_limited,
        prior_delivered,
        tx_in_flight,
        lost,
        send,
        ack,
        again,
        srtt,
        min_rtt,
        sacked,
        lost_out,
        retransmitted_out,
        ce_total,
        disorder,
        ce,
        ..,
    ] = *derived
    else {
        return None;
    };
    // A sample is whole: a stack that has only a part of it has none.
    let parts = [delivered, prior_delivered, tx_in_flight, lost];
    let rate = match Option::<u64>::from_word(delivered)? {
        _ if parts.contains(&u64::MAX) => None,
        None => None,
        Some(delivered) => Some(RateSample {
            delivered,
            interval: Option::<Span>::from_word(interval)?.unwrap_or(Span::ZERO),
            app_limited: bool::from_word(app_limited)?,
            prior_delivered,
            tx_in_flight: u32::from_word(tx_in_flight)?,
            lost,
            send_interval: Span::from_word(send)?,
            ack_interval: Span::from_word(ack)?,
            retransmission: bool::from_word(again)?,
        }),
    };
    let sender = SenderState {
        srtt: Option::from_word(srtt)?,
        min_rtt: Option::from_word(min_rtt)?,
        sacked: u32::from_word(sacked)?,
        lost_out: u32::from_word(lost_out)?,
        retransmitted_out: u32::from_word(retransmitted_out)?,
        ce_total,
        disorder: bool::from_word(disorder)?,
    };
    Some((rate, sender, u32::from_word(ce)?))
}

/// The arithmetic of a flow, from its derived fields (`derived.rs`).
fn arithmetic(derived: &[u64]) -> Option<Arithmetic> {
    let [counts_segments, integer_windows, every_timeout, rfc_variants, ..] = *derived else { return None };
    Some(Arithmetic {
        growth: if bool::from_word(counts_segments)? { Growth::Counted } else { Growth::PerAck },
        integer_windows: bool::from_word(integer_windows)?,
        reduce_on_every_timeout: bool::from_word(every_timeout)?,
        rfc_variants: bool::from_word(rfc_variants)?,
    })
}

/// A hint with its amount, the only derived field.
fn with_amount(kind: Hint, derived: &[u64]) -> Hint {
    let amount = derived.first().map_or(0.0, |word| f64::from_bits(*word));
    match kind {
        Hint::RouterRate(_) => Hint::RouterRate(Rate::from_bps(amount as u64)),
        Hint::RouterFeedback(_) => Hint::RouterFeedback(amount),
        plain => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, congestion};

    /// The fields of `event`, read back, are the same.
    fn read_back<T: FromWords>(event: &T) -> T {
        let mut words = [7; FIELDS];
        event.words(&mut words);
        let read = T::from_words(&words[..T::FIELDS.len()]).expect("every value is possible");
        let mut again = [7; FIELDS];
        read.words(&mut again);
        assert_eq!(words, again, "{}", T::CLASS);
        read
    }

    #[test]
    fn structs_are_read_back() {
        let rate = RateSample {
            delivered: 3,
            interval: Span::from_ms(4),
            app_limited: true,
            prior_delivered: 9,
            tx_in_flight: 5,
            lost: 2,
            send_interval: Span::from_ms(3),
            ack_interval: Span::from_ms(4),
            retransmission: true,
        };
        let sender = SenderState {
            srtt: Some(Span::from_ms(7)),
            min_rtt: Some(Span::from_ms(6)),
            sacked: 1,
            lost_out: 2,
            retransmitted_out: 3,
            ce_total: 4,
            disorder: true,
        };
        let full = Ack { rate: Some(rate), sender, ece: true, ce: 1, ..ack(2) };
        let read = read_back(&full);
        assert_eq!((read.rate, read.sender, read.ce), (Some(rate), sender, 1));
        assert_eq!(read_back(&ack(1)).rate, None);
        read_back(&Congestion { cause: Cause::Controller, ..congestion(7.5) });
        for kind in
            [Hint::HandoffEnds, Hint::RouterRate(Rate::from_bps(5_000_000)), Hint::RouterFeedback(-2.5)]
        {
            assert_eq!(read_back(&PathHint { now: Time::from_ps(5), kind }).kind, kind);
        }
    }

    #[test]
    fn a_struct_of_an_earlier_interface_is_shorter() {
        let mut words = [0; FIELDS];
        ack(2).words(&mut words);
        let read = Ack::from_words(&words[..3]).expect("zeros are possible");
        assert_eq!((read.newly_acked, read.next), (2, 0));
        // Version 1.0 has no `ce`: an echo stands for all segments.
        Ack { ece: true, ..ack(2) }.words(&mut words);
        let fields = Ack::FIELDS.len() - 1;
        assert_eq!(Ack::FIELDS[fields].name, "ce");
        assert_eq!(Ack::from_words(&words[..fields]).map(|ack| ack.ce), Some(2));
    }

    #[test]
    fn a_part_of_a_rate_sample_is_none() {
        let mut words = [0; FIELDS];
        Ack { rate: Some(RateSample::default()), ..ack(2) }.words(&mut words);
        let place = Ack::FIELDS.iter().position(|field| field.name == "tx_in_flight").expect("a field");
        words[place] = u64::MAX;
        assert_eq!(Ack::from_words(&words).expect("it is possible").rate, None);
    }

    #[test]
    fn impossible_values_are_refused() {
        let mut words = [0; FIELDS];
        ack(2).words(&mut words);
        words[1] = 1 << 40;
        assert!(Ack::from_words(&words).is_none());
    }
}
