//! The packets on the links in an interval.

mod common;

use ackclock_lab::{Recording, Study};
use std::sync::atomic::{AtomicUsize, Ordering};
use units::Time;

#[test]
fn packets_of_an_interval_do_not_depend_on_where_the_log_is_read() {
    let compared = AtomicUsize::new(0);
    common::each_fingerprint_scenario(|name, point, text| {
        let scenario = Study::parse(name, text, &[]).unwrap().scenario(point).unwrap();
        let end = scenario.duration.seconds();
        let whole = Recording { packets: true, ..Recording::default() };
        // A log of an interval is read from its first row on, that of a run from a row before the interval.
        let part = Recording { packets_within: Some((Time::ZERO, Time::NEVER)), ..whole };
        let [whole, part] = [whole, part].map(|recording| common::finished(&scenario, recording));
        for at in [0.1, 0.37, 0.62, 0.97].map(|share| share * end) {
            let [late, every] = [&whole, &part].map(|run| run.flights(at, at + 0.02 * end));
            assert_eq!(late.left_out, every.left_out, "{name} {point} {at}");
            assert_eq!(format!("{:?}", late.rows), format!("{:?}", every.rows), "{name} {point} {at}");
            compared.fetch_add(late.rows.len(), Ordering::Relaxed);
        }
    });
    assert!(compared.into_inner() > 1_000_000);
}
