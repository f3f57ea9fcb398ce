//! The keys of satellites and their terminals.

use params::Form::{
    Integer, LinkRate, Losses, Number, Quantity, QuantityOr, Queue, Switch, Table, Text, Word,
};
use params::{Key, Unit, key};

pub(super) const CONSTELLATION: &[Key] = &[
    key(
        "kind",
        Word(&["iridium", "walker", "tle"]),
        "",
        "Iridium, a Walker constellation, or two-line elements",
    ),
    key("altitude", Quantity(Unit::Length, "780km"), "\"780km\" (Iridium)", "altitude of the orbits"),
    key(
        "inclination",
        Quantity(Unit::Angle, "86.4deg"),
        "\"86.4deg\" (Iridium)",
        "inclination of the orbits",
    ),
    key("planes", Integer(1, 1000), "6 (Iridium)", "number of planes"),
    key(
        "per_plane",
        Integer(1, 1000),
        "11 (Iridium)",
        "satellites in a plane; TLE: needed for inter-satellite links",
    ),
    key(
        "plane_spacing",
        Quantity(Unit::Angle, "31.6deg"),
        "\"31.6deg\" (Iridium), 360 over `planes`",
        "angle between two planes",
    ),
    key("phasing", Number(0.0, 1000.0), "0; Iridium's alternates", "Walker's phasing factor F"),
    key(
        "orbit",
        Word(&["circular", "j2"]),
        "\"circular\"",
        "circular orbits, or orbits with the drift of nodes by the Earth's oblateness (J2)",
    ),
    key("file", Text, "none; needed with `kind = \"tle\"`", "TLE: the file, relative to the scenario"),
    key(
        "elevation_mask",
        Quantity(Unit::Angle, "8.2deg"),
        "\"8.2deg\" (Iridium), \"25deg\"",
        "smallest elevation at which a terminal uses a satellite",
    ),
    key(
        "isl_latitude_limit",
        Quantity(Unit::Angle, "60deg"),
        "\"60deg\" (Iridium), \"90deg\"",
        "beyond this latitude satellites have no links to other planes",
    ),
    key("cross_seam", Switch, "false", "links between the first and the last plane"),
    key(
        "cross_seam_longitude",
        Quantity(Unit::Angle, "10deg"),
        "\"10deg\"",
        "largest difference of longitude of a link across the seam",
    ),
    key("epoch", Quantity(Unit::Time, "600s"), "\"0s\"", "time of the constellation at the start of the run"),
    key("isl", Table("transmitter"), "25 Mb/s (Iridium)", "transmitters between satellites"),
    key("bent_pipe", Switch, "false", "no links between satellites: each path goes over one satellite"),
    key("up", Table("transmitter"), "1.5 Mb/s (Iridium)", "transmitters of the terminals"),
    key("down", Table("transmitter"), "1.5 Mb/s (Iridium)", "transmitters of the satellites to terminals"),
    key("link_header", Integer(0, 1000), "16 (Iridium), 0", "bytes added to each packet on a satellite link"),
    key(
        "recompute",
        QuantityOr(Unit::Time, "1s", &["change"]),
        "\"change\"",
        "interval at which paths are computed, besides every change of a link",
    ),
    key("handoff", Table("handoff"), "ns-2's", "rules of hand-offs"),
];

pub(super) const TRANSMITTER: &[Key] = &[
    key("rate", LinkRate, "as `isl`, `up`, `down`", "transmission rate; a table for a rate that varies"),
    key("shaper", Table("shaper"), "none", "token bucket in front of the transmitter"),
    key("queue", Queue, "drop-tail of 49 packets", "queue discipline"),
    key("loss", Losses, "none", "losses besides the queue"),
];

pub(super) const HANDOFF: &[Key] = &[
    key(
        "rule",
        Word(&["ns2", "best", "every"]),
        "\"ns2\"",
        "the satellite that a terminal changes to: as in ns-2, or the highest; `\"every\"`: it uses all visible ones, and the shortest path decides",
    ),
    key("check", Quantity(Unit::Time, "10s"), "\"10s\"", "interval of the checks; 0 for the exact time"),
    key(
        "jitter",
        Quantity(Unit::Time, "5s"),
        "\"0s\"",
        "each check is moved by a random time up to this, earlier or later",
    ),
    key("loss", Word(&["ns2", "lossless", "drop_all_in_flight"]), "\"ns2\"", "packets that a hand-off loses"),
    key("time", Quantity(Unit::Time, "100ms"), "\"0s\"", "pause of a terminal's links after a hand-off"),
    key(
        "guard_before",
        Quantity(Unit::Time, "0.5s"),
        "\"0.5s\"",
        "time by which a hand-off is announced to controllers",
    ),
    key("guard_after", Quantity(Unit::Time, "0.5s"), "\"0.5s\"", "time until it is over for controllers"),
];

pub(super) const TERMINAL: &[Key] = &[
    key("name", Text, "", "name of the node"),
    key("lat", Number(-90.0, 90.0), "", "latitude, degrees north"),
    key("lon", Number(-360.0, 360.0), "", "longitude, degrees east"),
];
