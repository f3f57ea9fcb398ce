//! Thins a curve to the first, least, greatest and last value of each of a number of columns.

/// The interval shown, and the number of pixel columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub from: f64,
    pub to: f64,
    pub columns: usize,
}

impl Range {
    /// The column of a time in the interval.
    pub fn column(self, at: f64) -> usize {
        let part = (at - self.from) / (self.to - self.from);
        ((part * self.columns as f64) as usize).min(self.columns - 1)
    }
}

/// Thins a curve whose points come in the order of time.
#[derive(Clone, Debug)]
pub(crate) struct Decimator {
    range: Range,
    /// Whether the value holds until the next point, so that the one before the interval counts.
    steps: bool,
    column: usize,
    /// First, least, greatest and last point of the present column.
    bucket: Option<[(f64, f64); 4]>,
    before: Option<f64>,
    points: Vec<(f64, f64)>,
}

impl Decimator {
    pub fn new(range: Range, steps: bool) -> Decimator {
        Decimator { range, steps, column: 0, bucket: None, before: None, points: Vec::new() }
    }

    /// Adds a point. A value that is not finite is no point; in a curve of steps it ends the value before it.
    pub fn push(&mut self, at: f64, value: f64) {
        if at > self.range.to || (!value.is_finite() && !self.steps) {
            return;
        }
        if at < self.range.from {
            self.before = Some(value).filter(|value| value.is_finite());
            return;
        }
        if let Some(value) = self.before.take().filter(|_| self.steps) {
            self.points.push((self.range.from, value));
        }
        if !value.is_finite() {
            self.flush();
            if self.points.last().is_some_and(|last| last.1.is_finite()) {
                self.points.push((at, f64::NAN));
            }
            return;
        }
        let column = self.range.column(at);
        let point = (at, value);
        match &mut self.bucket {
            Some(bucket) if self.column == column => {
                if value < bucket[1].1 {
                    bucket[1] = point;
                }
                if value > bucket[2].1 {
                    bucket[2] = point;
                }
                bucket[3] = point;
            }
            _ => {
                self.flush();
                (self.column, self.bucket) = (column, Some([point; 4]));
            }
        }
    }

    fn flush(&mut self) {
        if let Some(bucket) = self.bucket.take() {
            ordered(bucket).for_each(|point| self.add(point));
        }
    }

    fn add(&mut self, point: (f64, f64)) {
        if self.points.last() != Some(&point) {
            self.points.push(point);
        }
    }

    /// Number of points so far.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// The points so far, those of the present column included.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.points.iter().copied().chain(self.bucket.into_iter().flat_map(ordered))
    }

    /// The same curve thinned to `range`.
    pub fn thinned(&self, range: Range) -> Decimator {
        let mut thinned = Decimator::new(range, self.steps);
        self.points().for_each(|(at, value)| thinned.push(at, value));
        thinned
    }

    pub fn finish(mut self) -> Vec<(f64, f64)> {
        self.flush();
        if let (Some(value), true) = (self.before, self.steps) {
            self.points.push((self.range.from, value)); // no change within the interval
        }
        if self.steps
            && let Some(&(at, value)) = self.points.last()
            && at < self.range.to
            && value.is_finite()
        {
            self.points.push((self.range.to, value));
        }
        self.points
    }
}

/// First, least, greatest and last point in the order of time.
fn ordered([first, least, greatest, last]: [(f64, f64); 4]) -> impl Iterator<Item = (f64, f64)> {
    let pair = if least.0 > greatest.0 { [greatest, least] } else { [least, greatest] };
    [first, pair[0], pair[1], last].into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thinned(range: Range, values: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
        let mut decimator = Decimator::new(range, true);
        values.for_each(|(at, value)| decimator.push(at, value));
        decimator.finish()
    }

    #[test]
    fn extremes_of_each_column_survive() {
        let range = Range { from: 2.0, to: 8.0, columns: 30 };
        let value = |i: u32| cc::detmath::cos(i as f64 * 0.7311) * i as f64;
        let all: Vec<(f64, f64)> = (0..100_000).map(|i| (i as f64 / 10_000.0, value(i))).collect();
        let points = thinned(range, all.iter().copied());
        assert!(points.len() <= 4 * 30 + 2, "{}", points.len());
        assert!(points.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        for column in 0..30 {
            let within = |points: &[(f64, f64)]| {
                let thinned = points.iter().filter(|point| {
                    (range.from..range.to).contains(&point.0) && range.column(point.0) == column
                });
                thinned.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), p| (a.min(p.1), b.max(p.1)))
            };
            // The point that holds from before the interval is an addition to the first column.
            let (thinned, expected) = (within(&points), within(&all));
            assert!(column == 0 || thinned == expected, "column {column}: {thinned:?} {expected:?}");
        }
    }

    #[test]
    fn a_value_holds_over_the_interval() {
        let range = Range { from: 2.0, to: 8.0, columns: 10 };
        assert_eq!(thinned(range, [(1.0, 5.0)].into_iter()), [(2.0, 5.0), (8.0, 5.0)]);
        assert_eq!(
            thinned(range, [(1.0, 5.0), (3.0, 7.0), (9.0, 9.0)].into_iter()),
            [(2.0, 5.0), (3.0, 7.0), (8.0, 7.0)]
        );
        assert!(thinned(range, std::iter::empty()).is_empty());
    }

    #[test]
    fn a_value_ends_where_there_is_none() {
        let range = Range { from: 2.0, to: 8.0, columns: 10 };
        let gap = |points: &[(f64, f64)]| {
            let points = thinned(range, points.iter().copied());
            points.into_iter().map(|(at, value)| (at, value.is_finite().then_some(value))).collect::<Vec<_>>()
        };
        let nan = f64::NAN;
        assert_eq!(
            gap(&[(3.0, 5.0), (4.0, nan), (4.5, nan), (5.0, 6.0)]),
            [(3.0, Some(5.0)), (4.0, None), (5.0, Some(6.0)), (8.0, Some(6.0))]
        );
        assert_eq!(gap(&[(1.0, 5.0), (4.0, f64::INFINITY)]), [(2.0, Some(5.0)), (4.0, None)]);
        assert_eq!(gap(&[(1.0, 5.0), (1.5, nan), (4.0, nan)]), []);
    }
}
