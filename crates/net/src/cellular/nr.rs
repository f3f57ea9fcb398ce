//! Transport block sizes of NR (3GPP TS 38.214, section 5.1.3.2).

use super::modulation::Coding;

/// Table 5.1.3.2-1: the sizes up to 3824 bits.
#[rustfmt::skip]
const SMALL: [u32; 93] = [
    24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152, 160, 168, 176, 184, 192, 208, 224, 240,
    256, 272, 288, 304, 320, 336, 352, 368, 384, 408, 432, 456, 480, 504, 528, 552, 576, 608, 640, 672, 704, 736, 768,
    808, 848, 888, 928, 984, 1032, 1064, 1128, 1160, 1192, 1224, 1256, 1288, 1320, 1352, 1416, 1480, 1544, 1608, 1672,
    1736, 1800, 1864, 1928, 2024, 2088, 2152, 2216, 2280, 2408, 2472, 2536, 2600, 2664, 2728, 2792, 2856, 2976, 3104,
    3240, 3368, 3496, 3624, 3752, 3824,
];

/// Resource elements of reference signals in a block.
const REFERENCE: u32 = 12;
/// The most resource elements of a block that count.
const MOST_ELEMENTS: u32 = 156;

/// Bits of a transport block of `blocks` resource blocks of `symbols` symbols on `layers` layers.
pub fn nr_bits(coding: Coding, blocks: u32, layers: u32, symbols: u32) -> u32 {
    let Coding { bits, rate } = coding;
    let elements = (12 * symbols - REFERENCE).min(MOST_ELEMENTS) * blocks;
    let info = elements as f64 * rate * (bits * layers) as f64;
    if info <= 3824.0 {
        let step = 1 << ((info as u32).max(1).ilog2().saturating_sub(6)).max(3);
        let least = (info as u32 / step * step).max(24);
        return SMALL[SMALL.partition_point(|size| *size < least)];
    }
    let info = info - 24.0;
    let step = (1u64 << ((info as u64).ilog2() - 5)) as f64;
    let rounded = (step * (info / step + 0.5).floor()).max(3840.0) as u64 + 24;
    let code_block = match rate {
        rate if rate <= 0.25 => 3816,
        _ if rounded - 24 > 8424 => 8424,
        _ => rounded,
    };
    let parts = 8 * rounded.div_ceil(code_block);
    (parts * rounded.div_ceil(parts) - 24) as u32
}
