//! The scenario format (TOML): a model, and one reader for each table.
//!
//! `document` keeps the place of every value, `table` reads typed values and finds unknown keys, the readers of the
//! tables fill the types of `model`. `reading` collects the mistakes and the advice of all of them.

mod app;
mod app_model;
pub(crate) mod assign;
mod assignment;
mod attach;
mod cbrgen;
mod cellular;
mod change;
mod control;
pub(crate) mod count;
mod delay;
mod describe;
pub(crate) mod document;
mod dumbbell;
mod extends;
mod external;
mod flows;
mod har;
pub(crate) mod key;
mod language;
mod links;
mod log_options;
mod loss;
mod media;
mod mention;
mod messages;
mod model;
pub(crate) mod movement;
#[cfg(not(feature = "satellites"))]
pub(crate) mod no_tle;
mod nodes;
#[cfg(feature = "quic")]
mod over_quic;
pub(crate) mod overrides;
mod page;
pub(crate) mod paths;
mod queue;
#[cfg(feature = "quic")]
mod quic;
mod radio;
mod radio_traffic;
mod rate;
mod rate_json;
mod rate_log;
mod read;
pub(crate) mod reading;
mod router;
mod satellites;
mod short;
mod sizes;
mod start;
pub(crate) mod table;
mod tables;
mod tcp;
#[cfg(feature = "satellites")]
pub(crate) mod tle;
#[cfg(not(feature = "satellites"))]
pub(crate) use no_tle as tle;
mod top;
mod topologies;
mod traffic;
mod transports;
mod udp;
mod wifi;
mod wifi_model;
pub(crate) mod written;

pub(crate) use app::APPLICATIONS;
pub use app_model::{
    AbrKind, Adapt, Amount, App, FramesApp, Late, Layer, OnOffApp, PageApp, Protocol, RateApp,
    RequestOptions, RequestsApp, Streams, VideoApp,
};
pub use assignment::{Assignment, Literal, split_assignment};
pub use cbrgen::cbrgen;
pub use control::{ExternalLoader, controller, controllers, set_external_loader};
pub(crate) use describe::describe_direction;
pub use describe::{DirectionDescription, FlowDescription, LinkDescription, NetworkDescription};
pub use dumbbell::dumbbell;
pub use key::{key_parts, key_text};
pub use language::Language;
pub use mention::{Mention, MentionPlace};
pub use model::{
    Action, Arrivals, Change, CommonOptions, CongestionControl, Direction, Duplex, Ends, ExternalSource,
    Flow, FlowKind, Mobility, PacketSelection, Prepared, PreparedLink, QuicFlow, RadioNetwork, RateVariation,
    Satellites, Scenario, TcpFlow, Traffic,
};
pub use net::impairment::Loss;
pub use net::qdisc::Queue;
pub use overrides::ScenarioText;
pub use page::{Page, PageObject};
pub use sizes::{SizeDistribution, SizeTable, TruncatedPareto};
/// For fuzzing.
pub(crate) fn rate_rows(keys: &str, text: &str) -> Option<Vec<(f64, f64)>> {
    rate_log::rows_with(keys, text)
}
pub(crate) use tables::{keys_of, rates, tables};
pub(crate) use top::SEED;
pub use wifi_model::{Wifi, WifiQueue};
pub use written::Document;
