//! The controller of a flow in real time.

use crate::error::Error;
use cc::{AnyController, CachedExternal, Controller, FlowInfo, Signals};
use lab::CongestionControl;

/// Creates it.
pub(crate) fn make(control: &CongestionControl, info: &FlowInfo) -> Result<AnyController, Error> {
    match control {
        CongestionControl::Registered(name, params) => AnyController::new(name, params, info)
            .ok_or_else(|| Error::Input(format!("there is no controller {name}"))),
        CongestionControl::ExternalController(factory) => {
            Ok(AnyController::ExternalController(CachedExternal::new(factory.make(info))))
        }
        CongestionControl::ExternalSource(_) => {
            Err(Error::Input("a controller from a file cannot run in real time yet".into()))
        }
    }
}

/// Whether a controller measures delays so closely that lateness of a packet time changes it.
pub(crate) fn measures_delay(controller: &AnyController) -> bool {
    controller.needs().has(Signals::FINE_CLOCK)
        || controller.needs().has(Signals::RECEIVER_TIME)
        || matches!(controller.name(), "vegas" | "veno" | "ca_artt")
}
