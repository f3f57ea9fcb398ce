//! Outcomes of Wi-Fi channels, of cells, and of their links.

use net::GrantAccount;
use net::cellular::{ATTEMPTS, CellAccount, SCHEMES, UserAccount};
use net::wifi::{AGGREGATION_CLASSES, Access, ChannelAccount, DirectionAccount};
use serde::Serialize;

/// A mean; none of nothing.
fn ratio(above: f64, below: u64) -> Option<f64> {
    (below > 0).then(|| above / below as f64)
}

/// A Wi-Fi channel.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WifiOutcome {
    /// Its name.
    pub channel: String,
    /// Time in which it was busy, over duration.
    pub busy: f64,
    /// Number of channel accesses.
    pub accesses: u64,
    /// Accesses in which several devices transmitted, over all; null if there was none.
    pub collision_rate: Option<f64>,
}

impl WifiOutcome {
    /// What a channel has done in `duration_s`.
    pub(crate) fn new(channel: String, account: &ChannelAccount, duration_s: f64) -> WifiOutcome {
        WifiOutcome {
            channel,
            busy: account.busy.seconds() / duration_s,
            accesses: account.accesses,
            collision_rate: ratio(account.collisions as f64, account.accesses),
        }
    }
}

/// One direction of a Wi-Fi link.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WifiLinkOutcome {
    /// Airtime of its transmissions, answers included, over duration.
    pub airtime_share: f64,
    /// PPDUs that it sent, repetitions included.
    pub ppdus: u64,
    /// MPDUs in them.
    pub mpdus: u64,
    /// MPDUs of a PPDU; null if there was none.
    pub mean_aggregation: Option<f64>,
    /// PPDUs with 1, 2, 3 to 4, 5 to 8, ..., 129 to 256 MPDUs.
    pub aggregation: [u64; AGGREGATION_CLASSES],
    /// MPDUs that failed over MPDUs sent; null if there was none.
    pub retry_rate: Option<f64>,
    /// Packets that were lost after their last attempt; they are in `dropped_packets.retry` too.
    pub retry_drops: u64,
    /// PPDUs that collided.
    pub collisions: u64,
    /// MPDUs by MCS, from 0.
    pub mcs: [u64; 12],
    /// Mean time from the begin of the contention to the transmission, of a TXOP to its first, seconds; null if there was none.
    pub mean_access_delay_s: Option<f64>,
    /// The same by access category, if flows of several cross the link.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<WifiCategoryOutcome>,
}

/// The packets of an access category in one direction of a Wi-Fi link; the keys are those of all its packets.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WifiCategoryOutcome {
    /// `bk`, `be`, `vi` or `vo`.
    pub access: &'static str,
    /// Airtime of its transmissions, answers included, over duration.
    pub airtime_share: f64,
    /// PPDUs that it sent, repetitions included.
    pub ppdus: u64,
    /// MPDUs in them.
    pub mpdus: u64,
    /// MPDUs of a PPDU; null if there was none.
    pub mean_aggregation: Option<f64>,
    /// MPDUs that failed over MPDUs sent; null if there was none.
    pub retry_rate: Option<f64>,
    /// Packets that were lost after their last attempt.
    pub retry_drops: u64,
    /// PPDUs that collided.
    pub collisions: u64,
    /// MPDUs by MCS, from 0.
    pub mcs: [u64; 12],
    /// Mean time from the begin of the contention to the transmission, of a TXOP to its first, seconds; null if there was none.
    pub mean_access_delay_s: Option<f64>,
}

impl WifiCategoryOutcome {
    fn new((access, account): &(Access, DirectionAccount), duration_s: f64) -> WifiCategoryOutcome {
        let all = WifiLinkOutcome::new(vec![(*access, account.clone())], duration_s);
        WifiCategoryOutcome {
            access: access.name(),
            airtime_share: all.airtime_share,
            ppdus: all.ppdus,
            mpdus: all.mpdus,
            mean_aggregation: all.mean_aggregation,
            retry_rate: all.retry_rate,
            retry_drops: all.retry_drops,
            collisions: all.collisions,
            mcs: all.mcs,
            mean_access_delay_s: all.mean_access_delay_s,
        }
    }
}

impl WifiLinkOutcome {
    /// What a direction has done in `duration_s`, in each of its access categories.
    pub(crate) fn new(accounts: Vec<(Access, DirectionAccount)>, duration_s: f64) -> WifiLinkOutcome {
        let account = accounts.iter().fold(DirectionAccount::default(), |sum, (_, account)| &sum + account);
        let several = accounts.iter().filter(|_| accounts.len() > 1);
        let categories = several.map(|account| WifiCategoryOutcome::new(account, duration_s)).collect();
        WifiLinkOutcome {
            airtime_share: account.airtime.seconds() / duration_s,
            ppdus: account.ppdus,
            mpdus: account.mpdus,
            mean_aggregation: ratio(account.mpdus as f64, account.ppdus),
            aggregation: account.aggregation,
            retry_rate: ratio(account.failed as f64, account.mpdus),
            retry_drops: account.given_up,
            collisions: account.collisions,
            mcs: account.mcs,
            mean_access_delay_s: ratio(account.access_delay.seconds(), account.accesses),
            categories,
        }
    }
}

/// A cell of a mobile network.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellOutcome {
    /// Its name.
    pub name: String,
    /// Resource blocks used over those that there were, down and up, 0 to 1.
    pub block_use: [f64; 2],
    /// Slots in which something was sent.
    pub slots: u64,
}

impl CellOutcome {
    /// What a cell has done in `duration_s`. `shares`: the parts of all slots that are for the downlink and for the uplink.
    pub(crate) fn new(name: String, shares: [f64; 2], account: &CellAccount, duration_s: f64) -> CellOutcome {
        let used = |channel: usize| account.used[channel].seconds() / (shares[channel] * duration_s);
        CellOutcome { name, block_use: [used(0), used(1)], slots: account.slots }
    }
}

/// One direction of a link of a cell.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellLinkOutcome {
    /// Resource blocks that it used, repetitions included, in whole slots of the cell over all slots of its direction, 0 to 1.
    pub block_share: f64,
    /// Transport blocks, without repetitions.
    pub blocks: u64,
    /// Those whose first attempt failed, over all; null if there was none.
    pub block_error_rate: Option<f64>,
    /// Transport blocks that arrived in attempt 1 to 8, and those that were given up.
    pub attempts: [u64; ATTEMPTS],
    /// Transport blocks by MCS, from 0.
    pub mcs: [u64; SCHEMES],
    /// Mean CQI by which blocks were sent; null if there was none.
    pub mean_cqi: Option<f64>,
    /// Mean time that a complete packet waits behind an unfinished one, seconds; null without packets.
    pub mean_order_wait_s: Option<f64>,
    /// Packets that were lost after their last attempt or at a handover; they are in `dropped_packets.rlc` and
    /// `dropped_packets.handover` too.
    pub lost_packets: u64,
    /// Scheduling requests; uplink.
    pub requests: u64,
    /// Mean time from the need of a request to the transmission that it brings, seconds; null without one.
    pub mean_grant_wait_s: Option<f64>,
    /// Handovers.
    pub handovers: u64,
}

impl CellLinkOutcome {
    /// What a direction, for which `share` of the slots are, has done in `duration_s`.
    pub(crate) fn new(account: &UserAccount, share: f64, duration_s: f64) -> CellLinkOutcome {
        CellLinkOutcome {
            block_share: account.used.seconds() / (share * duration_s),
            blocks: account.blocks,
            block_error_rate: ratio(account.first_failures as f64, account.blocks),
            attempts: account.attempts,
            mcs: account.mcs,
            mean_cqi: ratio(account.cqi as f64, account.blocks),
            mean_order_wait_s: ratio(account.held_back.seconds(), account.delivered + account.lost),
            lost_packets: account.lost,
            requests: account.requests,
            mean_grant_wait_s: ratio(account.grant_wait.seconds(), account.requests),
            handovers: account.handovers,
        }
    }
}

/// A direction that sends what it was granted.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GrantsOutcome {
    /// Requests.
    pub requests: u64,
    /// Intervals in which bytes left.
    pub grants: u64,
    /// Mean number of bytes that left in them; null if there was none.
    pub mean_grant_bytes: Option<f64>,
    /// Bytes that left without a request.
    pub unsolicited_bytes: u64,
    /// Bytes that were granted on request and for which there was no packet any more.
    pub unused_bytes: u64,
}

impl GrantsOutcome {
    /// What a direction has done.
    pub(crate) fn new(account: &GrantAccount) -> GrantsOutcome {
        GrantsOutcome {
            requests: account.requests,
            grants: account.grants,
            mean_grant_bytes: ratio(account.bytes as f64, account.grants),
            unsolicited_bytes: account.unsolicited,
            unused_bytes: account.unused,
        }
    }
}
