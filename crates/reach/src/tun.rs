//! The TUN device at one end of the emulated path.

use crate::sys::{Setting, configure, open_tun};
use rustix::net::{AddressFamily, SocketType, socket};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// Name of the device in both namespaces.
const NAME: &str = "path0";

/// Packets that wait between the kernel and this program: more than any emulated queue, so that none is lost there. In a user
/// namespace the kernel keeps its default of 500, 60 ms at 100 Mb/s.
const QUEUE: u32 = 20_000;

/// Creates the device in the present network namespace, with the address 10.77.0.`host`, and enables the loopback device.
/// Without a header in front of its packets (`IFF_VNET_HDR`) a TUN device offers no segmentation or receive offload: every
/// packet is one of the path. It ends with the last copy of its descriptor.
pub(crate) fn create(address: [u8; 4], mtu: u32) -> io::Result<OwnedFd> {
    let tun = open_tun(NAME)?;
    let any = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let set = |name, setting| configure(any.as_fd(), name, setting);
    set(NAME, Setting::Mtu(mtu))?;
    let _ = set(NAME, Setting::QueueLength(QUEUE));
    set(NAME, Setting::Address(address))?;
    set(NAME, Setting::Mask([255, 255, 255, 0]))?;
    // IPv6 has no place in the path: do not let it send router solicitations.
    let _ = std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
    set(NAME, Setting::Up)?;
    set("lo", Setting::Up)?;
    Ok(tun)
}

/// The statistics of the devices of the present network namespace: an open file stays one of that namespace.
pub(crate) fn statistics() -> io::Result<File> {
    File::open("/proc/thread-self/net/dev")
}

/// The packets that the kernel has dropped before this program could read them from the device (`tx_dropped`).
pub(crate) fn dropped(statistics: &File) -> io::Result<u64> {
    let mut text = vec![0; 1 << 14];
    let bytes = statistics.read_at(&mut text, 0)?;
    count_dropped(&String::from_utf8_lossy(&text[..bytes]))
        .ok_or_else(|| io::Error::other(format!("/proc/net/dev has no {NAME}")))
}

fn count_dropped(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(NAME)?.strip_prefix(':'))?;
    // Eight numbers about receiving, then bytes, packets, errors and drops of sending.
    line.split_whitespace().nth(11)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drops_are_those_of_sending() {
        let text = "Inter-|   Receive  |  Transmit\n face |bytes ...\n    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n \
                    path0: 100 2 3 4 5 6 7 8 900 10 11 42 13 14 15 16\n";
        assert_eq!(count_dropped(text), Some(42));
        assert_eq!(count_dropped("lo: 1"), None);
    }
}
