//! One file for each controller.
//!
//! To add one, write a file beside `reno.rs`, and add its module, its type and its registration here.

mod bbr;
mod bbr3;
mod bic;
mod bic_awi;
mod bic_dpe;
mod c4;
mod ca_artt;
mod cdg;
mod compound;
mod copa;
mod cubic;
mod cubic_linux;
mod dctcp;
mod enhanced_rcp;
mod handoff_bic;
mod hstcp;
mod htcp;
mod hybla;
mod illinois;
mod ledbat;
mod ledbat_pp;
mod linux;
mod lp;
mod nv;
mod prague;
mod rcp;
mod rcp_plus;
mod reno;
mod sarbe;
mod scalable;
mod swift;
mod timely;
mod vegas;
mod veno;
mod vivace;
mod westwood;
mod westwood_plus;
mod xcp;
mod yeah;

pub use bbr::Bbr;
pub use bbr3::Bbr3;
pub use bic::Bic;
pub use bic_awi::BicAwi;
pub use bic_dpe::BicDpe;
pub use c4::C4;
pub use ca_artt::CaArtt;
pub use cdg::Cdg;
pub use compound::Compound;
pub use copa::Copa;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use enhanced_rcp::EnhancedRcp;
pub use hstcp::Hstcp;
pub use htcp::Htcp;
pub use hybla::Hybla;
pub use illinois::Illinois;
pub use ledbat::Ledbat;
pub use ledbat_pp::LedbatPp;
pub use lp::Lp;
pub use nv::Nv;
pub use prague::Prague;
pub use rcp::Rcp;
pub use rcp_plus::RcpPlus;
pub use reno::Reno;
pub use sarbe::Sarbe;
pub use scalable::Scalable;
pub use swift::Swift;
pub use timely::Timely;
pub use vegas::Vegas;
pub use veno::Veno;
pub use vivace::Vivace;
pub use westwood::Westwood;
pub use westwood_plus::WestwoodPlus;
pub use xcp::Xcp;
pub use yeah::Yeah;

crate::dispatch::register! {
    Reno,
    Vegas in Box,
    Veno,
    Cubic,
    Bbr in Box,
    Bbr3 in Box,
    C4 in Box,
    Dctcp,
    Prague,
    Westwood,
    WestwoodPlus,
    CaArtt in Box,
    Sarbe in Box,
    Bic,
    BicAwi in Box,
    BicDpe in Box,
    Hybla,
    Hstcp,
    Scalable,
    Illinois,
    Htcp in Box,
    Yeah,
    Compound,
    Copa in Box,
    Vivace in Box,
    Cdg,
    Nv in Box,
    Swift,
    Timely,
    Lp,
    Ledbat,
    LedbatPp in Box,
    Rcp,
    Xcp,
    RcpPlus,
    EnhancedRcp in Box,
}

const _: () = assert!(size_of::<AnyController>() <= 208, "a large controller is not in a box");
