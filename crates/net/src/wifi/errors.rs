//! Errors of MPDUs by signal-to-noise ratio.

use libm::{exp, log, pow};

/// SNR for 10 % errors of 4,096 bytes by MCS, dB: the standard's sensitivity plus 86 dB.
const REQUIRED: [f64; 12] = [4.0, 7.0, 9.0, 12.0, 16.0, 20.0, 21.0, 22.0, 27.0, 29.0, 32.0, 34.0];
/// Steepness of the error curve, 1/dB.
const STEEPNESS: f64 = 2.0;
const REFERENCE_BYTES: f64 = 4096.0;
/// Shorter MPDUs count as this long: if bytes failed independently, an ACK would survive modulations far above the SNR.
const LEAST_BYTES: u32 = 512;

/// The probability that an MPDU of `bytes` fails at this SNR, dB: logistic, as if bytes failed independently.
pub fn error_probability(snr: f64, mcs: u8, bytes: u32) -> f64 {
    let x = STEEPNESS * (snr - REQUIRED[mcs as usize]) + log(9.0);
    let of_reference = 1.0 / (1.0 + exp(x.min(700.0)));
    1.0 - pow(1.0 - of_reference, bytes.max(LEAST_BYTES) as f64 / REFERENCE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_at_mcs_7() {
        let expected =
            [(18.0, 0.887), (20.0, 0.520), (21.0, 0.2015), (22.0, 0.0388), (23.0, 0.0056), (24.0, 0.0008)];
        for (snr, probability) in expected {
            let p = error_probability(snr, 7, 1538);
            assert!((p - probability).abs() < 6e-4, "{snr} dB: {p}");
        }
        assert!((error_probability(22.0, 7, 4096) - 0.1).abs() < 1e-12);
        assert!(error_probability(9.0, 8, 90) > 0.98, "an ACK does not survive 256-QAM at 9 dB");
    }
}
