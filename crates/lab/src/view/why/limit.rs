//! What limits a flow while its window does not change.

use super::explanation::FlowLimit;
use crate::simulation::{FlowBounds, WindowLog};
use transport::{SendLimit, Trigger};
use units::significant;

/// What limits the flow at `at_s`, whose window last changed in row `change` and whose last row is `last`; `None` if that
/// is less than a round trip ago. `exact`: the bounds are those of that time.
pub(super) fn of(
    log: &WindowLog,
    change: usize,
    last: usize,
    at_s: f64,
    bounds: &FlowBounds,
    exact: bool,
) -> Option<FlowLimit> {
    let unchanged_s = at_s - log.time_s[change];
    let flow = log.flow[last];
    let rtt = (0..=last).rev().find(|row| log.flow[*row] == flow && !log.rtt_s[*row].is_nan());
    let rtt = rtt.map_or(0.0, |row| log.rtt_s[row]);
    if unchanged_s <= rtt {
        return None;
    }
    let (kind, words) = kind(log, last, at_s, rtt, bounds, exact);
    // A window that grows once per round trip is unchanged for about one.
    (kind != "window" || unchanged_s > 2.0 * rtt).then_some(FlowLimit { kind, unchanged_s, words })
}

fn kind(
    log: &WindowLog,
    last: usize,
    at_s: f64,
    rtt: f64,
    bounds: &FlowBounds,
    exact: bool,
) -> (&'static str, String) {
    let (cwnd, in_flight) = (log.cwnd[last], log.in_flight[last]);
    let flight = format!("{} of {} segments in flight", significant(in_flight, 6), significant(cwnd, 6));
    if let Some(done) = bounds.completed.map(|at| at.seconds()).filter(|done| *done <= at_s) {
        return ("complete", format!("all data was acknowledged at {done:.6} s"));
    }
    if log.ack[last] < 0 {
        return ("handshake", "no packet is acknowledged yet".into());
    }
    let acks = |row: &usize| {
        log.flow[*row] == log.flow[last]
            && matches!(Trigger::ALL[log.event[*row] as usize], Trigger::Ack | Trigger::DupAck)
    };
    let since = (0..=last).rev().find(acks).map_or(0.0, |row| log.time_s[row]);
    if in_flight > 0.0 && at_s - since > 2.0 * rtt {
        let flight = significant(in_flight, 6);
        return (
            "no_acks",
            format!("no ACK has arrived since {since:.6} s, with {flight} segments in flight"),
        );
    }
    let phase = cc::Phase::ALL[log.phase[last] as usize];
    if matches!(phase, cc::Phase::Recovery | cc::Phase::Cwr) {
        let what = if phase == cc::Phase::Cwr { "a reduction after an ECN echo" } else { "fast recovery" };
        return ("recovery", format!("{what} is under way, in which the window does not grow"));
    }
    let unused = if bounds.validated { "; a window that is not used does not grow" } else { "" };
    let window = bounds.receive_window;
    // From the trace alone, data and pacing are not known.
    let used = in_flight + 1.0 > cwnd.min(window);
    let by = match exact {
        true => Some(bounds.limited_by),
        false if used && window <= cwnd => Some(SendLimit::ReceiveWindow),
        false => used.then_some(SendLimit::CongestionWindow),
    };
    match by {
        Some(SendLimit::Application) => {
            let waits = bounds.application.as_ref().map_or(String::new(), |waits| format!(": {waits}"));
            ("application", format!("the application has no data to send{waits} ({flight}){unused}"))
        }
        Some(SendLimit::HostQueue) => {
            ("host_queue", format!("what is in the queue of its host bounds it ({flight}){unused}"))
        }
        Some(SendLimit::Pacing) => ("pacing", format!("pacing bounds it ({flight}){unused}")),
        Some(SendLimit::ReceiveWindow) => {
            let window = significant(window, 6);
            (
                "receive_window",
                format!("the receive window of {window} segments bounds it ({flight}){unused}"),
            )
        }
        Some(SendLimit::Handshake) => ("handshake", "the SYN is not acknowledged yet".into()),
        Some(SendLimit::CongestionWindow) => match bounds.max_cwnd.filter(|max_cwnd| cwnd >= *max_cwnd) {
            Some(max_cwnd) => {
                ("max_cwnd", format!("max_cwnd bounds it to {} segments", significant(max_cwnd, 6)))
            }
            None => (
                "window",
                format!("the window is used ({flight}), and {} does not change it", bounds.control),
            ),
        },
        None => ("other", format!("the window is not used ({flight}){unused}")),
    }
}
