//! Entry points of the fuzz targets; ordinary tests replay their corpora.

use crate::{Recording, Run, Scenario, Settings};
use units::Span;

/// Parses any text as a scenario; if it is one, builds it and runs a little of it.
pub fn scenario(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(mut scenario) = Scenario::parse("fuzz.toml", text, &[]) else { return };
    scenario.duration = scenario.duration.min(Span::from_ms(2_000));
    if scenario.flows.len() > 50 {
        return;
    }
    let settings = Settings { seed: Some(1), recording: Recording { audit: true, ..Recording::default() } };
    if let Ok(mut run) = Run::new(&scenario, settings) {
        run.advance(20_000);
        run.outcome();
    }
}
