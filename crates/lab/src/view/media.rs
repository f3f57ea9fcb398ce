//! Curves of Wi-Fi channels and cells: the part of the time, or of the resource blocks, that each link uses, and how much
//! each transmission carries.

use super::series::{Curves, Series};
use crate::simulation::decimator::Range;
use crate::simulation::overview::{LinkUse, MediumUse, Overview};
use crate::simulation::{Shape, TransmissionLog};
use std::collections::BTreeMap;
use units::{Span, Time};

/// Bins of the use in the interval shown.
const BINS: usize = 120;

/// Adds the curves of the links that share a medium, from the transmissions of the interval.
pub(super) fn from_log(curves: &mut Curves, shape: &Shape, log: &TransmissionLog, range: Range) {
    let mut uses: BTreeMap<u32, LinkUse> = BTreeMap::new();
    let bins = Range { columns: BINS, ..range };
    for row in log.first_row(Time::ZERO + Span::from_seconds(range.from.max(0.0)))..log.link.len() {
        let (begin, end) = (log.begin[row].seconds(), log.end[row].seconds());
        if begin >= range.to {
            break;
        }
        if end > range.from {
            let link_use = uses.entry(log.link[row]).or_insert_with(|| LinkUse::new(range));
            let (share, packets) = (log.share[row], log.packets[row]);
            link_use.add(bins, &MediumUse { begin, end, share, packets });
        }
    }
    add(curves, shape, uses, bins);
}

/// Adds the same curves from those of the whole run.
pub(super) fn from_overview(curves: &mut Curves, shape: &Shape, overview: &Overview, range: Range) {
    let whole = overview.range;
    let bins = Range { columns: BINS.min(whole.columns), ..range };
    let column = (whole.to - whole.from) / whole.columns as f64;
    let part = |of_run: &LinkUse| {
        let mut link_use = LinkUse { packets: of_run.packets.thinned(range), ..LinkUse::new(range) };
        for (place, used) in of_run.used.iter().enumerate().filter(|(_, used)| **used > 0.0) {
            let begin = whole.from + place as f64 * column;
            let end = begin + column;
            if begin < range.to && end > range.from {
                link_use.add(bins, &MediumUse { begin, end, share: used / column, packets: 0 });
            }
        }
        link_use
    };
    let uses = overview.uses.iter().map(|(link, of_run)| (*link, part(of_run))).collect();
    add(curves, shape, uses, bins);
}

/// Adds the curves of each link: its part of the time of its channel, and the packets of its transmissions.
fn add(curves: &mut Curves, shape: &Shape, uses: BTreeMap<u32, LinkUse>, bins: Range) {
    let Shape { links: names, channels, .. } = shape;
    let width = (bins.to - bins.from) / bins.columns as f64;
    for (link, link_use) in uses {
        let Some((channel, share)) = channels[link as usize] else { continue };
        let point =
            |(bin, used): (usize, &f64)| (bins.from + bin as f64 * width, 100.0 * used / (share * width));
        let mut points: Vec<(f64, f64)> = link_use.used.iter().enumerate().map(point).collect();
        points.extend(points.last().map(|(at, value)| (at + width, *value)));
        for (panel, unit, points) in [("use", "%", points), ("packets", "packets", link_use.packets.finish())]
        {
            let series = Series::new(panel, unit, &names[link as usize]);
            curves.add(Series { link: Some(link), channel: Some(channel), ..series }, &points);
        }
    }
}
