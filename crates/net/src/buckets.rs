//! Buckets of whole numbers whose width is 1/64 of their value. Counts in them give quantiles within 0.8 %.

/// Buckets for each doubling of the number.
const PER_DOUBLING: u64 = 1 << BITS;
const BITS: u32 = 6;

/// How many buckets there are.
pub const BUCKETS: usize = ((64 - BITS + 1) as usize) << BITS;

/// The bucket of a number. Numbers below 64 have buckets of their own.
pub fn bucket(number: u64) -> usize {
    if number < PER_DOUBLING {
        return number as usize;
    }
    let exponent = number.ilog2() - BITS;
    (((exponent + 1) as usize) << BITS) + ((number >> exponent) & (PER_DOUBLING - 1)) as usize
}

/// The middle of a bucket.
pub fn middle(bucket: usize) -> f64 {
    let (doubling, place) = ((bucket >> BITS) as u32, bucket as u64 & (PER_DOUBLING - 1));
    if doubling == 0 {
        return place as f64;
    }
    let width = (1u64 << (doubling - 1)) as f64;
    (PER_DOUBLING + place) as f64 * width + 0.5 * (width - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_in_the_bucket_around_it() {
        for number in (0..64).map(|bits| 1u64 << bits).flat_map(|n| [n - 1, n, n + n / 3, n + (n - 1)]) {
            let near = middle(bucket(number));
            assert!((near - number as f64).abs() <= number as f64 / 127.0, "{number} {near}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }
}
