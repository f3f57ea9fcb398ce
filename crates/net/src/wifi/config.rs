//! The options of channels and of the directions of Wi-Fi links.

use super::rates::RateControl;
use crate::signal::{Schedule, Variation, steps};
use crate::transmission::Access;
use crate::transmitter::Steps;
use params::Form::{Integer, Number, OrSteps, Text, Word};
use params::Mistake;

/// The options of a channel that all its devices share.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelOptions {
    /// After a collision everyone waits EIFS, not AIFS.
    pub eifs: bool,
    /// A missing block ACK is requested in an access of its own before the data are sent again.
    pub request: bool,
    /// Repetitions of an MPDU.
    pub retry_limit: u32,
    /// Data of at least so many bytes are sent after RTS and CTS.
    pub rts_threshold: u32,
    /// A station also pays for what it sends upstream (airtime scheduler).
    pub charge_both: bool,
}

params::options! {
    /// One direction of a Wi-Fi link.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DirectionOptions {
        medium: Option<String> = Text, ["in `back` that of the link"], "name of the `[[wifi]]`";
        snr: Schedule<f64> = OrSteps(&Number(-20.0, 80.0), "[[\"0s\", 35], [\"10s\", 12]]"), ["40"],
            "mean signal-to-noise ratio at the receiver, dB: a number, or times with the number from there on";
        streams: Option<u32> = Integer(1, 8), ["those of the `[[wifi]]`"], "spatial streams of the station";
        errors: Option<f64> = Number(0.0, 1.0), ["by SNR"],
            "error probability of each MPDU, in place of that by SNR";
        weight: f64 = Number(0.01, 100.0), ["1"], "share of the station in the airtime scheduler";
        access: Access = Word(Access::NAMES), ["\"be\""],
            "access category of the packets of this direction whose flow has none: background, best effort, video, voice";
    }
    with {
        /// How the MCS is chosen.
        rate_control: RateControl = |_| RateControl::Minstrel;
        /// How the signal varies around its mean.
        variation: Variation = |_| Variation::default();
    }
}

impl DirectionOptions {
    /// Checks the values.
    pub fn check(&self) -> Result<(), Mistake> {
        steps("snr", &self.snr).map(|_| ())
    }

    /// The mean SNR over time.
    pub(super) fn mean_snr(&self) -> Steps<f64> {
        steps("snr", &self.snr).unwrap_or_else(|(_, message)| panic!("snr was checked: {message}"))
    }
}
