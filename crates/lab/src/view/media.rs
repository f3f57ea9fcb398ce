//! Curves of Wi-Fi channels and cells: the part of the time, or of the resource blocks, that each link uses, and how much
//! each transmission carries.

use super::series::{Curves, Series};
use crate::simulation::Run;
use crate::simulation::decimator::Range;
use crate::simulation::overview::LinkUse;
use units::{Span, Time};

/// Bins of the use in the interval shown.
const BINS: usize = 120;

/// Adds the curves of the links that share a medium, from the transmissions of the interval.
pub(super) fn from_log(curves: &mut Curves, run: &Run, range: Range) {
    let log = run.transmissions();
    let mut uses: Vec<Option<LinkUse>> = vec![None; run.link_names().len()];
    let bins = Range { columns: BINS, ..range };
    for row in log.first_row(Time::ZERO + Span::from_seconds(range.from.max(0.0)))..log.link.len() {
        let interval = (log.begin[row].seconds(), log.end[row].seconds());
        if interval.0 >= range.to {
            break;
        }
        if interval.1 > range.from {
            let link_use =
                uses[log.link[row] as usize].get_or_insert_with(|| LinkUse::new(log.link[row], range));
            link_use.add(bins, interval, log.share[row], log.packets[row]);
        }
    }
    uses.iter().flatten().for_each(|link_use| add(curves, run, link_use, bins));
}

/// Adds the same curves from those of the whole run.
pub(super) fn from_overview(curves: &mut Curves, run: &Run, whole: Range, uses: &[LinkUse], range: Range) {
    let bins = Range { columns: BINS.min(whole.columns), ..range };
    let column = (whole.to - whole.from) / whole.columns as f64;
    for of_run in uses {
        let mut link_use =
            LinkUse { packets: of_run.packets.thinned(range), ..LinkUse::new(of_run.link, range) };
        for (place, used) in of_run.used.iter().enumerate().filter(|(_, used)| **used > 0.0) {
            let begin = whole.from + place as f64 * column;
            if begin < range.to && begin + column > range.from {
                link_use.add(bins, (begin, begin + column), used / column, 0);
            }
        }
        add(curves, run, &link_use, bins);
    }
}

/// Adds the curves of a link: its part of the time of its channel, and the packets of its transmissions.
fn add(curves: &mut Curves, run: &Run, link_use: &LinkUse, bins: Range) {
    let (link, width) = (link_use.link, (bins.to - bins.from) / bins.columns as f64);
    let Some((channel, share)) = run.link_channels()[link as usize] else { return };
    let point = |(bin, used): (usize, &f64)| (bins.from + bin as f64 * width, 100.0 * used / (share * width));
    let mut points: Vec<(f64, f64)> = link_use.used.iter().enumerate().map(point).collect();
    points.extend(points.last().map(|(at, value)| (at + width, *value)));
    let name = &run.link_names()[link as usize];
    for (panel, unit, points) in
        [("use", "%", points), ("packets", "packets", link_use.packets.clone().finish())]
    {
        let of_link = Series { link: Some(link), channel: Some(channel), ..Series::new(panel, unit, name) };
        curves.add(of_link, &points);
    }
}
