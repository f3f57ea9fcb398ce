//! Channel quality indicators, modulation and coding schemes, and the signal that they need.

use super::config::CellOptions;

/// Bits of a symbol, and code rate times 1024: a row of the tables of the standard.
type Entry = (u32, f64);

/// The coding of an MCS.
#[derive(Clone, Copy, Debug)]
pub struct Coding {
    /// Bits of a symbol.
    pub bits: u32,
    /// Code rate.
    pub rate: f64,
}

/// CQI 1 to 15 up to 64-QAM (3GPP TS 36.213, table 7.2.3-1).
const CQI_64QAM: [Entry; 15] = [
    (2, 78.0),
    (2, 120.0),
    (2, 193.0),
    (2, 308.0),
    (2, 449.0),
    (2, 602.0),
    (4, 378.0),
    (4, 490.0),
    (4, 616.0),
    (6, 466.0),
    (6, 567.0),
    (6, 666.0),
    (6, 772.0),
    (6, 873.0),
    (6, 948.0),
];

/// CQI 1 to 15 up to 256-QAM (3GPP TS 38.214, table 5.2.2.1-3).
const CQI_256QAM: [Entry; 15] = [
    (2, 78.0),
    (2, 193.0),
    (2, 449.0),
    (4, 378.0),
    (4, 490.0),
    (4, 616.0),
    (6, 466.0),
    (6, 567.0),
    (6, 666.0),
    (6, 772.0),
    (6, 873.0),
    (8, 711.0),
    (8, 797.0),
    (8, 885.0),
    (8, 948.0),
];

/// Code rates of the MCS up to 64-QAM by bits of a symbol (3GPP TS 38.214, table 5.1.3.1-1).
const MCS_64QAM: [(u32, &[f64]); 3] = [
    (2, &[120.0, 157.0, 193.0, 251.0, 308.0, 379.0, 449.0, 526.0, 602.0, 679.0]),
    (4, &[340.0, 378.0, 434.0, 490.0, 553.0, 616.0, 658.0]),
    (6, &[438.0, 466.0, 517.0, 567.0, 616.0, 666.0, 719.0, 772.0, 822.0, 873.0, 910.0, 948.0]),
];

/// The same up to 256-QAM (table 5.1.3.1-2).
const MCS_256QAM: [(u32, &[f64]); 4] = [
    (2, &[120.0, 193.0, 308.0, 449.0, 602.0]),
    (4, &[378.0, 434.0, 490.0, 553.0, 616.0, 658.0]),
    (6, &[466.0, 517.0, 567.0, 616.0, 666.0, 719.0, 772.0, 822.0, 873.0]),
    (8, &[682.5, 711.0, 754.0, 797.0, 841.0, 885.0, 916.5, 948.0]),
];

/// The SNR at which a tenth of the transport blocks fail, dB, for each CQI up to 64-QAM (white noise; from link-level curves
/// in common use).
const THRESHOLDS: [f64; 15] =
    [-6.94, -5.15, -3.18, -1.25, 0.76, 2.70, 4.69, 6.53, 8.57, 10.37, 12.29, 14.17, 15.89, 17.81, 19.83];

/// The bit error rate of the rule with a gap.
const BIT_ERRORS: f64 = 5e-5;
/// Slope of the logistic curve of block errors, 1/dB.
const STEEPNESS: f64 = 3.0;

/// Bits that a symbol carries.
fn efficiency((bits, rate): Entry) -> f64 {
    bits as f64 * rate / 1024.0
}

/// The SNR that capacity needs for an efficiency, dB.
fn shannon(efficiency: f64) -> f64 {
    10.0 * libm::log10(libm::exp2(efficiency) - 1.0)
}

/// The threshold of an efficiency, dB: the distance to capacity is that of [`THRESHOLDS`], linear between them, and that of
/// the last one beyond.
fn threshold(of: f64) -> f64 {
    let efficiencies = CQI_64QAM.map(efficiency);
    let gap = |index: usize| THRESHOLDS[index] - shannon(efficiencies[index]);
    let next = efficiencies.partition_point(|efficiency| *efficiency < of - 1e-9);
    let gap = match next {
        0 => gap(0),
        next if next == efficiencies.len() => gap(next - 1),
        next => {
            let part = (of - efficiencies[next - 1]) / (efficiencies[next] - efficiencies[next - 1]);
            gap(next - 1) + part * (gap(next) - gap(next - 1))
        }
    };
    shannon(of) + gap
}

/// The error probability of a transport block at an SNR above or below its threshold, dB; `attempt` counts from 1, and each
/// adds its power to those before it (chase combining).
pub fn error_probability(above: f64, attempt: u32) -> f64 {
    let above = above + if attempt > 1 { 10.0 * libm::log10(attempt as f64) } else { 0.0 };
    1.0 / (1.0 + 9.0 * libm::exp((STEEPNESS * above).min(700.0)))
}

/// The CQI and MCS of a cell.
#[derive(Clone, Debug)]
pub struct Modulation {
    /// Of each MCS: bits of a symbol and code rate.
    mcs: Vec<Entry>,
    /// Of each CQI from 1 on: the SNR from which it is reported.
    reported: [f64; 15],
    /// Of each CQI: the SNR at which a tenth of the blocks fail.
    thresholds: [f64; 15],
    efficiencies: [f64; 15],
    /// Of each CQI: the highest MCS whose efficiency is not above it.
    mcs_by_cqi: [u8; 15],
}

impl Modulation {
    pub fn new(options: &CellOptions) -> Modulation {
        let high = options.has_256qam();
        let rows: &[(u32, &[f64])] = if high { &MCS_256QAM } else { &MCS_64QAM };
        let mcs: Vec<Entry> =
            rows.iter().flat_map(|(bits, rates)| rates.iter().map(|rate| (*bits, *rate))).collect();
        let efficiencies = if high { CQI_256QAM } else { CQI_64QAM }.map(efficiency);
        let thresholds = efficiencies.map(threshold);
        let gap = -libm::log(5.0 * BIT_ERRORS) / 1.5;
        let by_gap = |of: f64| 10.0 * libm::log10(gap * (libm::exp2(of) - 1.0));
        let reported = if options.cqi_map == "gap" { efficiencies.map(by_gap) } else { thresholds };
        let mcs_by_cqi = efficiencies
            .map(|limit| mcs.iter().rposition(|mcs| efficiency(*mcs) <= limit + 1e-9).unwrap_or(0) as u8);
        Modulation { mcs, reported, thresholds, efficiencies, mcs_by_cqi }
    }

    /// The CQI at an SNR, dB; 0: out of range.
    pub fn cqi(&self, snr: f64) -> usize {
        self.reported.partition_point(|from| *from <= snr + 1e-9)
    }

    /// The highest MCS whose efficiency is not above that of a CQI from 1 on.
    pub fn mcs_of(&self, cqi: usize) -> u8 {
        self.mcs_by_cqi[cqi - 1]
    }

    /// The lowest CQI whose efficiency is not below that of an MCS.
    pub fn cqi_of(&self, mcs: u8) -> usize {
        let least = efficiency(self.mcs[mcs as usize]) - 1e-9;
        self.efficiencies.partition_point(|efficiency| *efficiency < least).min(14) + 1
    }

    /// The SNR at which a tenth of the blocks fail, dB.
    pub fn threshold(&self, cqi: usize) -> f64 {
        self.thresholds[cqi - 1]
    }

    /// The coding of an MCS; none if there is no such MCS.
    pub fn coding(&self, mcs: u8) -> Option<Coding> {
        self.mcs.get(mcs as usize).map(|(bits, rate)| Coding { bits: *bits, rate: rate / 1024.0 })
    }
}
