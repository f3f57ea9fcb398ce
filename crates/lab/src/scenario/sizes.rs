//! Sizes of flows and of messages of applications: distributions that are published, from a file, or given by a formula.

use super::reading::Result as ReadResult;
use super::table::TableReader;
use crate::error::nearest;
use cc::detmath;
use std::sync::Arc;

/// A distribution of sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeDistribution {
    /// One size for all, bytes.
    Fixed(f64),
    /// Each whole number of bytes from the first to the second is equally likely.
    Uniform(u64, u64),
    /// The Pareto distribution between two bounds.
    Pareto(TruncatedPareto),
    /// A cumulative distribution in points.
    Table(SizeTable),
}

impl SizeDistribution {
    /// Its mean, bytes.
    pub fn mean(&self) -> f64 {
        match self {
            SizeDistribution::Fixed(size) => *size,
            SizeDistribution::Uniform(smallest, largest) => 0.5 * (*smallest as f64 + *largest as f64),
            SizeDistribution::Pareto(pareto) => pareto.mean,
            SizeDistribution::Table(table) => table.mean(),
        }
    }

    /// The size for a uniform number in [0, 1): at least one byte.
    pub fn pick(&self, uniform: f64) -> u64 {
        let size = match self {
            SizeDistribution::Fixed(size) => *size as u64,
            SizeDistribution::Uniform(smallest, largest) => {
                let count = largest.saturating_sub(*smallest).saturating_add(1);
                smallest.saturating_add((uniform * count as f64) as u64).min(*largest)
            }
            SizeDistribution::Pareto(pareto) => pareto.pick(uniform),
            SizeDistribution::Table(table) => table.pick(uniform),
        };
        size.max(1)
    }
}

/// x^y for x above zero.
fn power(x: f64, y: f64) -> f64 {
    detmath::exp(y * detmath::ln(x))
}

/// The Pareto distribution between two bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TruncatedPareto {
    /// Mean, bytes.
    mean: f64,
    /// Smallest size, bytes.
    smallest: f64,
    /// Largest size, bytes.
    largest: f64,
    shape: f64,
}

impl TruncatedPareto {
    /// The distribution with `shape` above 1, truncated at `largest`, with this mean, bytes; `None` if no smallest size
    /// gives this mean.
    pub fn new(mean: f64, shape: f64, largest: f64) -> Option<TruncatedPareto> {
        let with = |smallest: f64| TruncatedPareto { mean, smallest, largest, shape };
        let (mut low, mut high) = (1.0, mean);
        if mean >= largest || with(low).mean_of_distribution() > mean {
            return None;
        }
        // The mean increases with the smallest size. Because of the truncation the result is slightly above mean
        // (shape - 1) / shape.
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            if with(middle).mean_of_distribution() < mean { low = middle } else { high = middle }
        }
        Some(with(low))
    }

    /// The part of the untruncated distribution that is below the largest size.
    fn part_below_largest(&self) -> f64 {
        1.0 - power(self.smallest / self.largest, self.shape)
    }

    /// Mean of the truncated distribution.
    fn mean_of_distribution(&self) -> f64 {
        let (a, l, h) = (self.shape, self.smallest, self.largest);
        a / (a - 1.0) * l * (1.0 - power(l / h, a - 1.0)) / self.part_below_largest()
    }

    fn pick(&self, uniform: f64) -> u64 {
        (self.smallest * power(1.0 - uniform * self.part_below_largest(), -1.0 / self.shape)) as u64
    }
}

/// A cumulative distribution of sizes: points with straight lines between them.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeTable {
    points: Arc<[SizePoint]>,
}

/// A point of a cumulative distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SizePoint {
    bytes: f64,
    /// The part of all sizes that is at most `bytes`, from 0 to 1.
    share: f64,
}

/// The largest size of a file, bytes: whole numbers up to it are exact.
const LARGEST_SIZE: f64 = 1e15;
/// The most lines with points of a file.
const MOST_POINTS: usize = 100_000;
/// A last share that differs from 1 by no more than this is 1.
const SHARE_TOLERANCE: f64 = 1e-9;

impl SizeTable {
    /// The names of the published distributions.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        PUBLISHED.iter().map(|(name, _)| *name)
    }

    /// The published distribution called `name`. Fails with a message that has the nearest name and the list.
    pub fn published(name: &str) -> Result<SizeTable, String> {
        match PUBLISHED.iter().find(|(known, _)| *known == name) {
            Some((_, points)) => {
                let points =
                    points.iter().map(|&(bytes, percent)| SizePoint { bytes, share: percent / 100.0 });
                Ok(SizeTable { points: points.collect() })
            }
            None => {
                let names = SizeTable::names().collect::<Vec<_>>().join(", ");
                let hint = match nearest(name, SizeTable::names()) {
                    hint if hint.starts_with("did you mean") => format!("{hint} The names are {names}"),
                    _ => format!("the names are {names}"),
                };
                Err(format!("there are no sizes \"{name}\"; {hint}; the name of a file ends in .csv"))
            }
        }
    }

    /// Reads lines `bytes,share` that rise from 0 or 1 byte with share 0 to share 1. Permitted besides: a header, empty lines,
    /// lines that begin with `#`, spaces or semicolons in place of commas. Fails with the line (from 1) and a message.
    pub fn parse(text: &str) -> Result<SizeTable, (usize, String)> {
        let mut points: Vec<SizePoint> = Vec::new();
        let mut number_of_last = 1;
        let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).peekable();
        lines.next_if(|(_, line)| is_header(line));
        for (number, line) in lines {
            let point = read_point(line).and_then(|point| check_next(points.last(), &point).map(|()| point));
            points.push(point.map_err(|message| (number, message))?);
            if points.len() > MOST_POINTS {
                return Err((number, format!("has more than {MOST_POINTS} points; leave some out")));
            }
            number_of_last = number;
        }
        match points.last_mut() {
            None => Err((1, "has no point; write lines bytes,share, such as 0,0 and 10000,1".into())),
            Some(last) if (last.share - 1.0).abs() > SHARE_TOLERANCE => {
                let message =
                    format!("the last share is {}; it must be 1, that of the largest size", last.share);
                Err((number_of_last, message))
            }
            Some(last) => {
                last.share = 1.0;
                Ok(SizeTable { points: points.into() })
            }
        }
    }

    /// Whether a value of a key for sizes names a file; other texts are names of distributions.
    pub(crate) fn is_file_name(value: &str) -> bool {
        value.ends_with(".csv")
    }

    /// Reads the distribution that `key` names, in a file or by its name; none if the table does not have the key.
    pub(super) fn read(reader: &TableReader<'_>, key: &'static str) -> ReadResult<Option<SizeTable>> {
        let Some(name) = reader.text(key)? else { return Ok(None) };
        if !SizeTable::is_file_name(name) {
            return SizeTable::published(name).map(Some).map_err(|message| reader.error(key, message));
        }
        let Some((path, text)) = reader.file(key)? else { return Ok(None) };
        let table = SizeTable::parse(&text);
        let refuse = |(line, message)| reader.error(key, format!("{}:{line}: {message}", path.display()));
        table.map(Some).map_err(refuse)
    }

    /// Its mean, bytes.
    pub fn mean(&self) -> f64 {
        self.points
            .windows(2)
            .map(|pair| 0.5 * (pair[0].bytes + pair[1].bytes) * (pair[1].share - pair[0].share))
            .sum()
    }

    /// The size for a uniform number in [0, 1): the nearest whole number of bytes, at least one.
    pub fn pick(&self, uniform: f64) -> u64 {
        let last = self.points.len() - 1;
        let place = self.points.partition_point(|point| point.share < uniform).clamp(1, last);
        let (from, to) = (self.points[place - 1], self.points[place]);
        let size = match to.share > from.share {
            true => from.bytes + (to.bytes - from.bytes) * (uniform - from.share) / (to.share - from.share),
            false => to.bytes,
        };
        (size.round() as u64).max(1)
    }
}

/// The two cells of a line.
fn cells(line: &str) -> Option<(&str, &str)> {
    let mut cells = line.split([',', ';', ' ', '\t']).map(str::trim).filter(|cell| !cell.is_empty());
    let pair = (cells.next()?, cells.next()?);
    cells.next().is_none().then_some(pair)
}

/// Whether a line names columns.
fn is_header(line: &str) -> bool {
    cells(line).is_some_and(|(bytes, share)| bytes.parse::<f64>().is_err() && share.parse::<f64>().is_err())
}

fn read_point(line: &str) -> Result<SizePoint, String> {
    let (bytes, share) = cells(line).ok_or("must be bytes,share, such as 10000,0.15")?;
    let number = |text: &str, name: &str| {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| format!("{name} \"{text}\" is not a number; write a line such as 10000,0.15"))
    };
    let (bytes, share) = (number(bytes, "the size")?, number(share, "the share")?);
    if !(0.0..=LARGEST_SIZE).contains(&bytes) {
        return Err(format!("the size {bytes} is not from 0 to 10^15 bytes"));
    }
    if share > 1.0 + SHARE_TOLERANCE {
        return Err(format!("the share {share} is above 1; write parts of 1 (divide percent by 100)"));
    }
    if share < 0.0 {
        return Err(format!("the share {share} is below 0; shares rise from 0 to 1"));
    }
    Ok(SizePoint { bytes, share })
}

/// Checks that a point can follow the one before it, or begin the distribution.
fn check_next(before: Option<&SizePoint>, point: &SizePoint) -> Result<(), String> {
    match before {
        None if point.share != 0.0 || !(point.bytes == 0.0 || point.bytes == 1.0) => {
            Err(format!("the first point is {},{}; begin with 0,0 or 1,0", point.bytes, point.share))
        }
        Some(before) if point.bytes < before.bytes => Err(format!(
            "the size {} is below {}, that of the line before; sizes must rise",
            point.bytes, before.bytes
        )),
        Some(before) if point.share < before.share => Err(format!(
            "the share {} is below {}, that of the line before; shares are cumulative and must rise",
            point.share, before.share
        )),
        Some(before) if before == point => Err("repeats the line before; leave it out".into()),
        _ => Ok(()),
    }
}

/// Published distributions: sizes in bytes, and the percentage of flows or messages that are not larger.
const PUBLISHED: [(&str, &[(f64, f64)]); 7] = [
    // Queries and background flows of a search cluster. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, in the points
    // that HPCC (SIGCOMM 2019) and others use.
    (
        "web_search",
        &[
            (0.0, 0.0),
            (10e3, 15.0),
            (20e3, 20.0),
            (30e3, 30.0),
            (50e3, 40.0),
            (80e3, 53.0),
            (200e3, 60.0),
            (1e6, 70.0),
            (2e6, 80.0),
            (5e6, 90.0),
            (10e6, 97.0),
            (30e6, 100.0),
        ],
    ),
    // Flows of a cluster for data mining. Greenberg et al., "VL2", SIGCOMM 2009.
    (
        "data_mining",
        &[
            (0.0, 0.0),
            (180.0, 10.0),
            (216.0, 20.0),
            (560.0, 30.0),
            (900.0, 40.0),
            (1100.0, 50.0),
            (1870.0, 60.0),
            (3160.0, 70.0),
            (10e3, 80.0),
            (400e3, 90.0),
            (3.16e6, 95.0),
            (100e6, 98.0),
            (1e9, 100.0),
        ],
    ),
    // Flows of Hadoop hosts. Roy et al., "Inside the Social Network's (Datacenter) Network", SIGCOMM 2015, in the points of HPCC.
    (
        "hadoop",
        &[
            (0.0, 0.0),
            (100.0, 1.0),
            (200.0, 2.0),
            (300.0, 5.0),
            (350.0, 15.0),
            (400.0, 20.0),
            (500.0, 30.0),
            (600.0, 40.0),
            (700.0, 50.0),
            (1e3, 60.0),
            (2e3, 67.0),
            (7e3, 70.0),
            (30e3, 72.0),
            (50e3, 82.0),
            (80e3, 87.0),
            (120e3, 90.0),
            (300e3, 95.0),
            (1e6, 97.5),
            (2e6, 99.0),
            (10e6, 100.0),
        ],
    ),
    // Flows of a distributed storage system. Alibaba 2019, in the points of HPCC (SIGCOMM 2019).
    (
        "storage",
        &[
            (0.0, 0.0),
            (4e3, 22.93),
            (8e3, 69.21),
            (16e3, 80.61),
            (32e3, 90.47),
            (64e3, 93.53),
            (128e3, 96.77),
            (256e3, 97.53),
            (2e6, 100.0),
        ],
    ),
    // Flows of cache followers. Roy et al., SIGCOMM 2015, in points thinned from those of Homa (SIGCOMM 2018).
    (
        "cache_follower",
        &[
            (0.0, 0.0),
            (68.0, 2.04),
            (340.0, 18.03),
            (490.0, 27.7),
            (707.0, 35.32),
            (1110.0, 39.96),
            (2450.0, 44.61),
            (10_000.0, 47.77),
            (36_101.0, 50.37),
            (102_060.0, 53.35),
            (169_860.0, 57.43),
            (260_573.0, 63.01),
            (391_670.0, 67.66),
            (588_724.0, 71.38),
            (1_385_457.0, 72.0),
            (1_681_372.0, 76.02),
            (2_125_366.0, 83.46),
            (2_329_467.0, 87.17),
            (2_553_169.0, 92.76),
            (2_827_011.0, 97.4),
            (3_837_698.0, 100.0),
        ],
    ),
    // Flows of web servers. Roy et al., SIGCOMM 2015, in points thinned from those of Homa (SIGCOMM 2018).
    (
        "web_server",
        &[
            (0.0, 0.0),
            (84.0, 6.1),
            (301.0, 21.5),
            (639.0, 24.07),
            (1000.0, 29.26),
            (2000.0, 40.93),
            (4000.0, 52.59),
            (10_000.0, 65.19),
            (30_000.0, 74.63),
            (100_000.0, 81.48),
            (200_000.0, 85.74),
            (300_000.0, 92.22),
            (442_606.0, 98.33),
            (1_000_000.0, 100.0),
        ],
    ),
    // Remote procedure calls of all applications of a Google data center, in points thinned from those of Homa (SIGCOMM 2018).
    (
        "rpc",
        &[
            (1.0, 0.0),
            (3.0, 46.1158),
            (7.0, 64.5622),
            (32.0, 73.7854),
            (64.0, 79.7358),
            (256.0, 85.6862),
            (512.0, 93.8681),
            (1024.0, 96.0995),
            (2048.0, 97.4011),
            (4096.0, 98.1449),
            (16_384.0, 99.5628),
            (65_536.0, 99.8069),
            (262_144.0, 99.955),
            (1_005_228.0, 99.9924),
            (12_158_197.0, 100.0),
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_of_picks(sizes: &SizeDistribution) -> f64 {
        let n = 1_000_000;
        (0..n).map(|i| sizes.pick((i as f64 + 0.5) / n as f64) as f64).sum::<f64>() / n as f64
    }

    #[test]
    fn published_sizes_have_their_means_and_points() {
        // Means by exact sums over the points.
        for (name, mean) in [
            ("web_search", 1_711_250),
            ("data_mining", 12_658_199),
            ("hadoop", 120_421),
            ("storage", 40_870),
            ("cache_follower", 693_997),
            ("web_server", 65_157),
            ("rpc", 1_332),
        ] {
            let table = SizeTable::published(name).unwrap();
            assert_eq!(table.mean().round() as u64, mean, "{name}");
            let points = &table.points;
            assert!(points.is_sorted_by(|a, b| a.bytes < b.bytes && a.share < b.share), "{name}");
            assert_eq!(points.last().unwrap().share, 1.0, "{name}");
            assert_eq!(table.pick(0.0), 1, "{name}");
            assert!(table.pick(1.0 - 1e-16) as f64 <= points.last().unwrap().bytes, "{name}");
            let ratio = mean_of_picks(&SizeDistribution::Table(table)) / mean as f64;
            assert!((ratio - 1.0).abs() < 1e-3, "{name}: {ratio}");
        }
        assert_eq!(SizeTable::names().count(), 7);
        let pick = |name| SizeTable::published(name).unwrap().pick(0.5);
        assert_eq!((pick("web_search"), pick("hadoop")), (73_077, 700));
    }

    #[test]
    fn sizes_have_the_mean_that_was_asked_for() {
        let sizes = SizeDistribution::Pareto(TruncatedPareto::new(30_000.0, 1.2, 1e7).unwrap());
        let mean = mean_of_picks(&sizes);
        assert!((mean / 30_000.0 - 1.0).abs() < 0.002, "{mean}");
        assert!(sizes.pick(0.0) >= 1 && sizes.pick(1.0 - 1e-16) <= 10_000_000);
        assert_eq!(TruncatedPareto::new(30_000.0, 1.2, 30_000.0), None);
        assert_eq!(SizeDistribution::Fixed(5000.0).pick(0.7), 5000);
        let uniform = SizeDistribution::Uniform(30_000, 50_000);
        assert_eq!((uniform.pick(0.0), uniform.pick(1.0 - 1e-16)), (30_000, 50_000));
        assert_eq!((uniform.mean(), mean_of_picks(&uniform).round()), (40_000.0, 40_000.0));
        assert_eq!(SizeDistribution::Uniform(0, u64::MAX).pick(0.0), 1);
    }

    #[test]
    fn a_file_has_points() {
        let table =
            SizeTable::parse("# of my servers\nbytes,share\n\n0, 0\n1000,0.5\n3000;0.5\n5000 1.0\n").unwrap();
        assert_eq!(table.mean(), 0.5 * 500.0 + 0.5 * 4000.0);
        let picks = [0.0, 0.25, 0.5, 0.75].map(|uniform| table.pick(uniform));
        assert_eq!(picks, [1, 500, 1000, 4000]);
        // A size that many flows have.
        let table = SizeTable::parse("1,0\n100,0\n100,1").unwrap();
        assert_eq!((table.mean(), table.pick(0.0), table.pick(0.4)), (100.0, 100, 100));
    }

    #[test]
    fn mistakes_of_a_file_have_their_line() {
        for (text, line, message) in [
            ("", 1, "has no point; write lines bytes,share"),
            ("bytes,share\n", 1, "has no point"),
            ("5,0\n10,1", 1, "the first point is 5,0; begin with 0,0 or 1,0"),
            ("0,0.1\n10,1", 1, "begin with 0,0 or 1,0"),
            ("0,0\n10,0.5", 2, "the last share is 0.5; it must be 1"),
            ("0,0\n\n10,50", 3, "the share 50 is above 1; write parts of 1 (divide percent by 100)"),
            ("0,0\n10,-1", 2, "the share -1 is below 0"),
            ("0,0\n10,0.5\n9,1", 3, "the size 9 is below 10, that of the line before"),
            ("0,0\n10,0.5\n11,0.4", 3, "the share 0.4 is below 0.5, that of the line before"),
            ("0,0\n10,0.5\n10,0.5\n11,1", 3, "repeats the line before"),
            ("0,0\n10,x", 2, "the share \"x\" is not a number"),
            ("0,0\n10kB,1", 2, "the size \"10kB\" is not a number"),
            ("0,0\n10,inf", 2, "the share \"inf\" is not a number"),
            ("0,0\n1e16,1", 2, "the size 10000000000000000 is not from 0 to 10^15 bytes"),
            ("0,0\n10", 2, "must be bytes,share, such as 10000,0.15"),
            ("0,0\n10,0.5,1", 2, "must be bytes,share"),
        ] {
            let error = SizeTable::parse(text).unwrap_err();
            assert!(error.0 == line && error.1.contains(message), "{text:?}: {error:?}");
        }
    }

    #[test]
    fn an_unknown_name_gets_the_list() {
        let near = SizeTable::published("web_serch").unwrap_err();
        assert!(
            near.starts_with("there are no sizes \"web_serch\"; did you mean \"web_search\"? "),
            "{near}"
        );
        let far = SizeTable::published("x").unwrap_err();
        for name in SizeTable::names() {
            assert!(near.contains(name) && far.contains(name));
        }
        assert!(far.ends_with("rpc; the name of a file ends in .csv"), "{far}");
    }
}
