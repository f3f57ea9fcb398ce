//! The types of Wi-Fi after reading.

use net::wifi::{Access, Category, CategoryOptions, ChannelOptions, Phy, RateControl};
use units::Span;

/// A direction of a Wi-Fi link.
#[derive(Clone, Debug, PartialEq)]
pub struct WifiRate {
    /// The name of its basic service set.
    pub medium: String,
    /// Signal-to-noise ratio, dB.
    pub snr: f64,
    /// A fixed error probability of an MPDU instead of that by SNR.
    pub errors: Option<f64>,
    /// Spatial streams, if not as many as the basic service set has.
    pub streams: Option<u32>,
    /// How the MCS is chosen.
    pub control: RateControl,
    /// Weight of the station in the airtime scheduler.
    pub weight: f64,
    /// Access category of its packets.
    pub access: Access,
}

impl Wifi {
    /// The parameters of an access category, of the access point or of a station.
    pub fn category(&self, access: Access, access_point: bool) -> Category {
        let standard = access.category(access_point);
        let options = self.edca.iter().find(|(of, _)| *of == access);
        options.map_or(standard, |(_, options)| options.applied_to(standard))
    }
}

impl WifiRate {
    /// The physical layer of the direction within a basic service set.
    pub fn phy(&self, set: &Wifi) -> Phy {
        self.streams.map_or_else(|| set.phy.clone(), |streams| set.phy.with_streams(streams))
    }
}

/// A basic service set.
#[derive(Clone, Debug, PartialEq)]
pub struct Wifi {
    /// Its name.
    pub name: String,
    /// The node of its access point.
    pub ap: String,
    /// Its physical layer.
    pub phy: Phy,
    /// The name of its channel; sets with one name share it.
    pub channel: String,
    /// Options that all sets of a channel have in common.
    pub options: ChannelOptions,
    /// The queues of the access point.
    pub queue: WifiQueue,
    /// Parameters of access categories that are not the standard's.
    pub edca: Vec<(Access, CategoryOptions)>,
}

/// The queues of an access point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WifiQueue {
    /// A queue for each station; equal airtime, with this quantum.
    Airtime(Span),
    /// A queue for each station; one PPDU each.
    RoundRobin,
    /// One queue for all, of so many packets.
    Shared(u64),
}
