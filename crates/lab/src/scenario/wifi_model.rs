//! The types of Wi-Fi after reading.

use net::wifi::{Access, Category, CategoryOptions, ChannelOptions, DirectionOptions, Phy};
use units::Span;

impl Wifi {
    /// The physical layer of a direction.
    pub fn phy_of(&self, direction: &DirectionOptions) -> Phy {
        direction.streams.map_or_else(|| self.phy.clone(), |streams| self.phy.with_streams(streams))
    }

    /// The parameters of an access category, of the access point or of a station.
    pub fn category(&self, access: Access, access_point: bool) -> Category {
        let standard = Category::of(access, access_point);
        let options = self.edca.iter().find(|(of, _)| *of == access);
        options.map_or(standard, |(_, options)| options.applied_to(standard))
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
