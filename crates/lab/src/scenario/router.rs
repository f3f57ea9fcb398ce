//! Reads the router in front of a link.

use super::table::TableReader;
use crate::error::{ScenarioError, nearest};
use net::{QuickStartConfig, RcpConfig, RouterConfig, XcpConfig};
use units::Span;

type Result<T> = std::result::Result<T, ScenarioError>;

/// Reads the key `router` of a direction of a link.
pub(crate) fn read_router(reader: &TableReader<'_>) -> Result<Option<RouterConfig>> {
    let Some(router) = reader.table("router")? else { return Ok(None) };
    let kind = router.need("kind", router.text("kind")?, "such as kind = \"rcp\"")?;
    if kind == "xcp" {
        let usual = XcpConfig::default();
        let config = XcpConfig {
            alpha: router.number("alpha", 0.0, 10.0)?.unwrap_or(usual.alpha),
            beta: router.number("beta", 0.0, 10.0)?.unwrap_or(usual.beta),
            gamma: router.number("gamma", 0.0, 1.0)?.unwrap_or(usual.gamma),
        };
        router.finish()?;
        return Ok(Some(RouterConfig::Xcp(config)));
    }
    if kind == "quick_start" {
        let usual = QuickStartConfig::default();
        let config = QuickStartConfig {
            threshold: router.number("threshold", 0.0, 1.0)?.unwrap_or(usual.threshold),
            window: router.quantity("window", "200ms")?.unwrap_or(usual.window),
        };
        if config.window < Span::from_ms(1) {
            return Err(router.error("window", "must be at least 1 ms"));
        }
        router.finish()?;
        return Ok(Some(RouterConfig::QuickStart(config)));
    }
    if kind != "rcp" {
        let known = ["rcp", "xcp", "quick_start"];
        return Err(router.error("kind", format!("unknown router \"{kind}\"; {}", nearest(kind, known))));
    }
    let usual = RcpConfig::default();
    let period: Span = router.quantity("period", "10ms")?.unwrap_or(usual.period);
    if period < Span::from_ms(1) || period > Span::from_ms(200) {
        return Err(router.error("period", "must be from 1 to 200 ms"));
    }
    let config = RcpConfig {
        alpha: router.number("alpha", 0.0, 10.0)?.unwrap_or(usual.alpha),
        beta: router.number("beta", 0.0, 10.0)?.unwrap_or(usual.beta),
        gamma: router.number("gamma", 0.01, 1.0)?.unwrap_or(usual.gamma),
        initial: router.number("initial", 1e-6, 1.0)?.unwrap_or(usual.initial),
        period,
    };
    router.finish()?;
    Ok(Some(RouterConfig::Rcp(config)))
}
