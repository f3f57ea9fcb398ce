//! Two ends over a pipe in memory.

mod common;

use common::{Path, Pipe};
use quic::Config;

#[test]
fn an_endless_flow_fills_the_path() {
    let pipe = Pipe::endless("reno", &Config::default(), Path::default(), 8);
    let goodput = pipe.delivered() as f64 * 8.0 / 8.0;
    let stats = pipe.stats();

    assert!(goodput > 18.5e6 && goodput < 20e6);
}
