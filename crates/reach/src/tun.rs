//! The TUN device at one end of the emulated path.

use crate::sys::{Setting, configure, open_tun};
use rustix::net::{AddressFamily, SocketType, socket};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

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
