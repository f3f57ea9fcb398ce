//! Integers in bytes of a known order.

/// The order of the bytes of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The lowest byte first.
    Little,
    /// The highest byte first, as in headers on the network.
    Big,
}

macro_rules! integer {
    ($name:ident, $size:expr) => {
        /// The integer at a place; `None` beyond the end.
        #[inline]
        pub fn $name(self, bytes: &[u8], at: usize) -> Option<$name> {
            let word = bytes.get(at..)?.first_chunk::<$size>()?;
            Some(match self {
                Order::Little => $name::from_le_bytes(*word),
                Order::Big => $name::from_be_bytes(*word),
            })
        }
    };
}

impl Order {
    integer!(u16, 2);
    integer!(u32, 4);
    integer!(u64, 8);
}
