//! Curves over an interval, as numbers for a drawing.

use serde::Serialize;

/// One curve.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// What it shows: `cwnd`, `ssthresh`, `in_flight`, `rtt`, `delay`, `goodput`, `internal`, `queue`, `drops`,
    /// `percentile`: of the windows of all flows; of the links that share a channel `use`, the part of it, and `packets`,
    /// those of each transmission.
    pub panel: &'static str,
    /// Number of the flow; none for a link.
    pub flow: Option<u32>,
    /// Number of the link; none for a flow.
    pub link: Option<u32>,
    /// Number of the channel that the link shares with others: of `use` and `packets`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<usize>,
    /// Name of the flow, of the link, or of the internal value.
    pub name: String,
    /// Unit of the values: `segments`, `s`, `bit/s`, `packets`, `%`, or empty.
    pub unit: &'static str,
    /// Where its times begin in [`Curves::data`]; the values follow the times.
    pub start: usize,
    /// Number of points.
    pub points: usize,
}

impl Series {
    /// A curve of no flow or link, without points.
    pub(super) fn new(panel: &'static str, unit: &'static str, name: &str) -> Series {
        Series { panel, flow: None, link: None, channel: None, name: name.into(), unit, start: 0, points: 0 }
    }
}

/// Curves over an interval, and their points.
#[derive(Clone, Debug, Default)]
pub struct Curves {
    /// The curves.
    pub series: Vec<Series>,
    /// For each curve its times (s), then its values.
    pub data: Vec<f64>,
}

impl Curves {
    pub(super) fn add(&mut self, mut series: Series, points: &[(f64, f64)]) {
        if points.is_empty() {
            return;
        }
        (series.start, series.points) = (self.data.len(), points.len());
        self.data.extend(points.iter().map(|point| point.0));
        self.data.extend(points.iter().map(|point| point.1));
        self.series.push(series);
    }

    pub(super) fn of_flow(
        &mut self,
        kind: (&'static str, &'static str),
        flow: u32,
        name: &str,
        points: &[(f64, f64)],
    ) {
        self.add(Series { flow: Some(flow), ..Series::new(kind.0, kind.1, name) }, points);
    }

    pub(super) fn of_link(
        &mut self,
        kind: (&'static str, &'static str),
        link: u32,
        name: &str,
        points: &[(f64, f64)],
    ) {
        self.add(Series { link: Some(link), ..Series::new(kind.0, kind.1, name) }, points);
    }
}
