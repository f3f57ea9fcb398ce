//! What a recording says first: a sentence on what limited a transfer.

use crate::board::Place;
use crate::limits::{Limit, Shares};

/// The smallest part of the time of a second limit that the sentence names.
const NAMED: f64 = 0.05;
/// The mean round-trip time over the lowest one from which on packets waited in a queue.
const QUEUED: f64 = 1.3;

/// A value with an SI prefix and three significant digits, such as `3.98 Mb/s`.
pub fn quantity(value: f64, unit: &str) -> String {
    let rounded = value.abs() * 1.0001;
    let prefixes = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n")];
    let (factor, prefix) = prefixes
        .into_iter()
        .find(|(factor, _)| rounded >= *factor)
        .unwrap_or(if value == 0.0 { (1.0, "") } else { (1e-9, "n") });
    let scaled = value / factor;
    let places = if scaled.abs() >= 99.95 {
        0
    } else if scaled.abs() >= 9.995 {
        1
    } else {
        2
    };
    let text = format!("{scaled:.places$}");
    let text = if places > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {prefix}{unit}")
}

fn percent(part: f64) -> String {
    format!("{:.0} %", 100.0 * part)
}

/// What is known of the transfer besides the shares.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Where the capture was taken; [`Place::Sender`] of a qlog.
    pub place: Place,
    /// The largest receive window, bytes; zero: not known.
    pub window: u64,
    /// The lowest round-trip time, ns; zero: not known.
    pub min_rtt: u64,
    /// The mean round-trip time, ns; zero: not known.
    pub mean_rtt: u64,
}

/// What limited the transfer for the largest part of its time, and what follows from it.
pub fn sentence(shares: Option<&Shares>, transfer: Transfer) -> String {
    let total = shares.map_or(0, |shares| shares.iter().sum::<u64>());
    let Some(shares) = shares.filter(|_| total > 0) else {
        return match transfer.place {
            Place::Sender => "The file does not show what limited the sender.".to_owned(),
            place => {
                let at = if place == Place::Unknown {
                    "an unknown place"
                } else {
                    &format!("the {}", place.name())
                };
                format!(
                    "The capture was taken at {at}: only a capture at the sender shows what limited it (--at \
                     sender, if it was there)."
                )
            }
        };
    };
    let mut order = Limit::ALL;
    order.sort_by_key(|limit| std::cmp::Reverse(shares[*limit as usize]));
    let part = |limit: Limit| shares[limit as usize] as f64 / total as f64;
    let [first, second, ..] = order;
    let words = first.words();
    let mut text = match first {
        Limit::Unknown => {
            return format!(
                "For {} of the time the file does not show what limited the sender.",
                percent(part(first))
            );
        }
        Limit::Recovery | Limit::Idle => {
            format!("{words} took {} of the time of this transfer", percent(part(first)))
        }
        _ => format!("{words} limited this transfer for {} of its time", percent(part(first))),
    };
    text[..1].make_ascii_uppercase();
    if first == Limit::ReceiveWindow && transfer.window > 0 && transfer.min_rtt > 0 {
        let rtt = transfer.min_rtt as f64 / 1e9;
        let rate = transfer.window as f64 * 8.0 / rtt;
        return format!(
            "{text}: {} in each round trip of {} are at most {}, whatever the congestion control does.",
            quantity(transfer.window as f64, "B"),
            quantity(rtt, "s"),
            quantity(rate, "b/s")
        );
    }
    let queue = queue(first, transfer);
    if part(second) >= NAMED && second == Limit::Unknown {
        format!("{text}; for {} the file does not show it.{queue}", percent(part(second)))
    } else if part(second) >= NAMED {
        format!("{text}, {} for {}.{queue}", second.words(), percent(part(second)))
    } else {
        format!("{text}.{queue}")
    }
}

/// What a window that limits the sender means for the path: where packets wait, more of it makes the queue longer.
fn queue(first: Limit, transfer: Transfer) -> String {
    let (least, mean) = (transfer.min_rtt as f64 / 1e9, transfer.mean_rtt as f64 / 1e9);
    if first != Limit::CongestionWindow || least == 0.0 || mean < QUEUED * least {
        return String::new();
    }
    format!(
        " Round trips took {} at least and {} in the mean: packets waited in a queue, and a larger window would have made \
         it longer.",
        quantity(least, "s"),
        quantity(mean, "s")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_digits() {
        for (value, text) in [
            (0.0, "0 b/s"),
            (999.96, "1 kb/s"),
            (2_430_000.0, "2.43 Mb/s"),
            (65_536.0, "65.5 kb/s"),
            (0.21, "210 mb/s"),
            (123_456_789.0, "123 Mb/s"),
        ] {
            assert_eq!(quantity(value, "b/s"), text);
        }
    }

    #[test]
    fn the_largest_share_is_named_with_what_follows() {
        let mut shares: Shares = Default::default();
        shares[Limit::ReceiveWindow as usize] = 71;
        shares[Limit::CongestionWindow as usize] = 29;
        let transfer =
            Transfer { place: Place::Sender, window: 64_000, min_rtt: 210_000_000, mean_rtt: 220_000_000 };
        assert_eq!(
            sentence(Some(&shares), transfer),
            "The receiver's window limited this transfer for 71 % of its time: 64 kB in each round trip of 210 ms \
             are at most 2.44 Mb/s, whatever the congestion control does."
        );
        shares[Limit::ReceiveWindow as usize] = 0;
        assert_eq!(
            sentence(Some(&shares), transfer),
            "The congestion window limited this transfer for 100 % of its time."
        );
        let queued = sentence(Some(&shares), Transfer { mean_rtt: 400_000_000, ..transfer });
        assert!(queued.ends_with("Round trips took 210 ms at least and 400 ms in the mean: packets waited in a queue, and a larger window would have made it longer."), "{queued}");
        let nothing = sentence(None, Transfer { place: Place::Receiver, ..transfer });
        assert!(nothing.starts_with("The capture was taken at the receiver"), "{nothing}");
    }
}
