//! Two network namespaces, joined by TUN devices, and the programs in them.
//!
//! A chain of processes holds them: this program, a process that creates the namespaces, and the first process of a PID
//! namespace, which opens the devices and starts the programs. Each asks the kernel for SIGKILL when its parent ends, and
//! with the first process of a PID namespace everything in it ends. No namespace and no device has a name outside, so
//! nothing remains after the end of this program, however it ends.

use crate::error::{Error, failed};
use crate::sys::{self, ProgramOutput};
use crate::tun;
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, send, sendmsg, socket, socketpair,
    sockopt,
};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::thread::{CapabilitySet, capabilities, configure_capability_in_ambient_set, set_capabilities};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// An end of the emulated path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The node that the scenario's first flow starts at.
    From = 0,
    /// The node that it goes to.
    To = 1,
}

impl Side {
    /// Both ends.
    pub const BOTH: [Side; 2] = [Side::From, Side::To];

    /// The address of this end.
    pub const fn address(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, 0, self as u8 + 1)
    }

    /// The end with this number.
    pub(crate) const fn other(self) -> Side {
        match self {
            Side::From => Side::To,
            Side::To => Side::From,
        }
    }
}

/// A program to run at an end.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program and its arguments.
    pub arguments: Vec<String>,
    /// The complete environment; the addresses of the two ends are added.
    pub environment: Vec<(String, String)>,
}

/// A socket to create at an end.
pub(crate) struct SocketRequest {
    pub side: Side,
    /// The kernel's congestion control algorithm.
    pub control: Option<String>,
}

/// What the namespaces contain.
pub(crate) struct NamespacePlan {
    /// Largest packet of the path, bytes.
    pub mtu: u32,
    /// The programs at the two ends. All programs end with that at `from`.
    pub commands: [Option<Command>; 2],
    /// The TCP sockets that the caller receives.
    pub sockets: Vec<SocketRequest>,
    /// The value of `net.ipv4.tcp_ecn`, if not the default.
    pub ecn: Option<bool>,
    /// Where the programs write.
    pub output: ProgramOutput,
}

/// What happened to the programs.
#[derive(Debug)]
pub(crate) enum Notice {
    /// The program at `from` starts now.
    Started,
    /// The program at `from` has ended with this status.
    Ended(i32),
    /// The program at `to` has ended with this status.
    OtherEnded(i32),
    /// A program could not be started.
    NotStarted(String),
}

/// The namespaces; dropping it ends everything in them.
pub(crate) struct Namespaces {
    holder: i32,
    /// The first process of the PID namespace (pidfd).
    first: Option<OwnedFd>,
    control: OwnedFd,
    /// The devices at the two ends.
    pub tuns: [OwnedFd; 2],
    /// Their statistics.
    statistics: [File; 2],
    /// The sockets that the plan asks for.
    pub sockets: Vec<OwnedFd>,
}

/// Longest message between the processes, bytes.
const MESSAGE: usize = 1024;

/// Most descriptors in one message.
const DESCRIPTORS: usize = 8;

/// The programs prepared for `exec`.
type Prepared = [Option<(Vec<CString>, Vec<CString>)>; 2];

impl Namespaces {
    /// Creates the namespaces. Fails if this machine does not allow it.
    pub fn create(plan: &NamespacePlan) -> Result<Namespaces, Error> {
        let prepared = prepare(plan)?;
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
            .map_err(|e| failed("socketpair")(e.into()))?;
        let parent = rustix::process::getpid().as_raw_nonzero().get();
        let Some(holder) = sys::fork().map_err(failed("fork"))? else {
            drop(ours);
            in_child(theirs.as_fd(), || hold(plan, &prepared, parent, theirs.as_fd()));
        };
        drop(theirs);
        let mut started = Started { holder, first: None, control: Some(ours) };
        let mut ready = None;
        // The two processes report in any order.
        loop {
            let (text, mut descriptors) = started.receive()?;
            let (kind, rest) = text.split_at(1);
            match kind {
                "p" => started.first = descriptors.pop(),
                "r" => ready = Some(descriptors),
                "u" => return Err(Error::Unavailable(rest.into())),
                _ => return Err(Error::Failed(rest.into())),
            }
            if started.first.is_some()
                && let Some(descriptors) = ready.take()
            {
                return started.finish(descriptors);
            }
        }
    }

    /// Lets the programs start.
    pub fn start(&self) -> Result<(), Error> {
        send(&self.control, b"g", SendFlags::NOSIGNAL).map_err(|e| failed("namespaces")(e.into()))?;
        Ok(())
    }

    /// The packets that the devices have dropped before this program could read them.
    pub fn dropped(&self) -> Result<u64, Error> {
        let mut dropped = 0;
        for statistics in &self.statistics {
            dropped += tun::dropped(statistics).map_err(failed("the statistics of a device"))?;
        }
        Ok(dropped)
    }

    /// Becomes readable when there is a notice.
    pub fn control(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// The next notice; call it when there is one.
    pub fn notice(&self) -> Result<Notice, Error> {
        let (text, _) = receive(self.control.as_fd())?;
        let (kind, rest) = text.split_at(1);
        Ok(match kind {
            "s" => Notice::Started,
            "x" => Notice::Ended(rest.parse().unwrap_or(1)),
            "o" => Notice::OtherEnded(rest.parse().unwrap_or(1)),
            _ => Notice::NotStarted(rest.into()),
        })
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        end(self.holder, self.first.as_ref());
    }
}

/// Ends the processes and waits until they are gone.
fn end(holder: i32, first: Option<&OwnedFd>) {
    // With the first process of its PID namespace all others end; the holder returns when they have ended. That process is
    // a child of the holder, so its number may belong to another process by now: the descriptor cannot. The holder is our
    // child: its process number is not used again before it is waited for.
    match first {
        Some(first) => drop(pidfd_send_signal(first, Signal::KILL)),
        None => sys::kill(holder),
    }
    let _ = sys::wait(holder);
    sys::take_terminal();
}

/// Processes that are about to report that they are ready.
struct Started {
    holder: i32,
    first: Option<OwnedFd>,
    control: Option<OwnedFd>,
}

impl Started {
    fn receive(&self) -> Result<(String, Vec<OwnedFd>), Error> {
        let Some(control) = &self.control else { return Err(Error::Interrupted) };
        receive(control.as_fd())
    }

    fn finish(mut self, descriptors: Vec<OwnedFd>) -> Result<Namespaces, Error> {
        let mut descriptors = descriptors.into_iter();
        let mut pair = || Some([descriptors.next()?, descriptors.next()?]);
        let (Some(tuns), Some(statistics), Some(control)) = (pair(), pair(), self.control.take()) else {
            return Err(Error::Failed("the namespaces sent no devices".into()));
        };
        Ok(Namespaces {
            holder: self.holder,
            first: self.first.take(),
            control,
            tuns,
            statistics: statistics.map(File::from),
            sockets: descriptors.collect(),
        })
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if self.control.is_some() {
            end(self.holder, self.first.as_ref());
        }
    }
}

fn receive(control: BorrowedFd<'_>) -> Result<(String, Vec<OwnedFd>), Error> {
    let mut text = [0; MESSAGE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        match recvmsg(control, &mut [IoSliceMut::new(&mut text)], &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            other => break other.map_err(|e| failed("namespaces")(e.into()))?,
        }
    };
    if received.bytes == 0 {
        return Err(Error::Failed("the namespaces ended unexpectedly".into()));
    }
    let descriptors = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    Ok((String::from_utf8_lossy(&text[..received.bytes]).into_owned(), descriptors.flatten().collect()))
}

fn prepare(plan: &NamespacePlan) -> Result<Prepared, Error> {
    let mut prepared = [None, None];
    for side in Side::BOTH {
        let Some(command) = &plan.commands[side as usize] else { continue };
        if command.arguments.is_empty() {
            return Err(Error::Input(format!(
                "the command at {} is empty: give a program and its arguments",
                side.address()
            )));
        }
        let addresses = [
            ("ACKCLOCK_LOCAL".to_string(), side.address().to_string()),
            ("ACKCLOCK_REMOTE".to_string(), side.other().address().to_string()),
        ];
        let environment = command.environment.iter().chain(&addresses);
        let terminated = |text: String| {
            CString::new(text).map_err(|_| Error::Input("a command or a variable has a zero byte".into()))
        };
        let arguments: Result<Vec<_>, _> = command.arguments.iter().cloned().map(terminated).collect();
        let environment: Result<Vec<_>, _> =
            environment.map(|(name, value)| terminated(format!("{name}={value}"))).collect();
        prepared[side as usize] = Some((arguments?, environment?));
    }
    Ok(prepared)
}

/// Sends a message to the program; if the program has ended, this process ends too.
fn report(control: BorrowedFd<'_>, kind: char, text: &str) {
    let mut message = format!("{kind}{text}");
    let whole = (0..=MESSAGE).rev().find(|length| message.is_char_boundary(*length));
    message.truncate(whole.unwrap_or_default());
    if send(control, message.as_bytes(), SendFlags::NOSIGNAL).is_err() {
        sys::exit(1);
    }
}

/// Sends a message with descriptors to the program.
fn send_descriptors(
    control: BorrowedFd<'_>,
    text: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    sendmsg(control, &[IoSlice::new(text)], &mut ancillary, SendFlags::NOSIGNAL).map(drop)
}

/// Does the work of a child process and ends it, also after a panic: it must not return into the code of its parent.
fn in_child(control: BorrowedFd<'_>, work: impl FnOnce()) -> ! {
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        report(control, 'f', "internal error in a process of the namespaces; please report it");
    }
    sys::exit(1)
}

/// The process that creates the namespaces and waits for the first process in them.
fn hold(plan: &NamespacePlan, prepared: &Prepared, parent: i32, control: BorrowedFd<'_>) -> ! {
    sys::ignore_signals(true);
    if let Err(error) = isolate() {
        report(
            control,
            'u',
            &format!(
                "cannot create network namespaces: {error}; run it as root, or allow user namespaces (sysctl \
                 user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns; \
                 in a container its seccomp profile)"
            ),
        );
        sys::exit(1);
    }
    // New credentials clear the request, so it comes after the namespaces.
    if !sys::die_with_parent(parent) {
        sys::exit(1);
    }
    match sys::fork() {
        Ok(None) => in_child(control, || first_process(plan, prepared, control)),
        Ok(Some(first)) => {
            // Until this process waits, the number is that of its child.
            let opened =
                Pid::from_raw(first).ok_or(Errno::SRCH).and_then(|id| pidfd_open(id, PidfdFlags::empty()));
            match opened {
                Ok(opened) => {
                    if send_descriptors(control, b"p", &[opened.as_fd()]).is_err() {
                        sys::exit(1);
                    }
                    let _ = sys::wait(first);
                    sys::exit(0)
                }
                Err(error) => {
                    report(control, 'u', &format!("pidfd_open: {error}; it needs Linux 5.3 or later"));
                    sys::exit(1)
                }
            }
        }
        Err(error) => {
            report(control, 'f', &format!("fork: {error}"));
            sys::exit(1)
        }
    }
}

/// Creates the namespaces of this process; in a user namespace if this user may not create them otherwise.
fn isolate() -> io::Result<()> {
    let flags = libc::CLONE_NEWNET | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWUTS;
    let Err(error) = sys::unshare(flags) else { return Ok(()) };
    if error.kind() != io::ErrorKind::PermissionDenied {
        return Err(error);
    }
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    sys::unshare(flags | libc::CLONE_NEWUSER)?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    // The programs may configure the namespace's network and send ICMP.
    let inherited = CapabilitySet::NET_ADMIN | CapabilitySet::NET_RAW;
    let mut sets = capabilities(None)?;
    sets.inheritable |= inherited;
    set_capabilities(None, sets)?;
    for capability in [CapabilitySet::NET_ADMIN, CapabilitySet::NET_RAW] {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// The first process of the PID namespace: opens the devices, starts the programs, collects their status.
fn first_process(plan: &NamespacePlan, prepared: &Prepared, control: BorrowedFd<'_>) -> ! {
    if !sys::die_with_parent(0) {
        sys::exit(1);
    }
    // Best effort: without a /proc of its own, `ps` shows the processes outside.
    let _ = mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE);
    let _ = mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None);
    let networks = match open_ends(plan, control) {
        Ok(networks) => networks,
        Err((kind, text)) => {
            report(control, kind, &text);
            sys::exit(1)
        }
    };
    let mut go = [0; 1];
    if !matches!(rustix::io::read(control, &mut go), Ok(1)) {
        sys::exit(0);
    }
    let mut children = [None, None];
    for side in [Side::To, Side::From] {
        if let Some(program) = &prepared[side as usize] {
            if side == Side::From {
                report(control, 's', "");
            }
            children[side as usize] = Some(start(plan, program, networks[side as usize].as_fd(), control));
            if side == Side::To && prepared[0].is_some() {
                await_listener(networks[1].as_fd());
            }
        }
    }
    if children == [None, None] {
        let _ = rustix::io::read(control, &mut go); // until the program closes it
        sys::exit(0);
    }
    while let Ok((ended, status)) = sys::wait(-1) {
        if Some(ended) == children[0] {
            report(control, 'x', &status.to_string());
        } else if Some(ended) == children[1] {
            report(control, 'o', &status.to_string());
        }
    }
    let _ = rustix::io::read(control, &mut go);
    sys::exit(0)
}

/// Opens the devices and sockets of both ends and sends them to the program. Returns the network namespaces.
fn open_ends(plan: &NamespacePlan, control: BorrowedFd<'_>) -> Result<[File; 2], (char, String)> {
    let mut descriptors = Vec::new();
    let mut networks = Vec::new();
    let mut statistics = Vec::new();
    let mut sockets = Vec::new();
    for side in Side::BOTH {
        if side == Side::To {
            sys::unshare(libc::CLONE_NEWNET)
                .map_err(|e| ('f', format!("the second network namespace: {e}")))?;
        }
        let tun = tun::create(side.address().octets(), plan.mtu).map_err(|e| {
            ('u', format!(
                "cannot create a TUN device: {e}; load the module with `modprobe tun`, and in a container pass /dev/net/tun"
            ))
        })?;
        descriptors.push(tun);
        let opened = tun::statistics().map_err(|e| ('f', format!("the statistics of a device: {e}")))?;
        statistics.push(OwnedFd::from(opened));
        if let Some(ecn) = plan.ecn {
            let _ = std::fs::write("/proc/sys/net/ipv4/tcp_ecn", if ecn { "1" } else { "0" });
        }
        for request in plan.sockets.iter().filter(|request| request.side == side) {
            sockets.push(tcp_socket(request)?);
        }
        networks.push(File::open("/proc/self/ns/net").map_err(|e| ('f', format!("/proc/self/ns/net: {e}")))?);
    }
    descriptors.extend(statistics);
    descriptors.extend(sockets);
    let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
    send_descriptors(control, b"r", &borrowed).map_err(|e| ('f', format!("sending the devices: {e}")))?;
    <[File; 2]>::try_from(networks).map_err(|_| ('f', "two network namespaces are needed".into()))
}

fn tcp_socket(request: &SocketRequest) -> Result<OwnedFd, (char, String)> {
    let new =
        socket(AddressFamily::INET, SocketType::STREAM, None).map_err(|e| ('f', format!("socket: {e}")))?;
    if let Some(name) = &request.control {
        sockopt::set_tcp_congestion(&new, name).map_err(|e| {
            let available = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
            let available = available.unwrap_or_default();
            ('u', format!(
                "the kernel refuses the algorithm {name}: {e}; it has: {}. Load others as root with `modprobe tcp_{name}`",
                available.trim()
            ))
        })?;
    }
    Ok(new)
}

/// Starts a program in a network namespace. Returns its number.
fn start(
    plan: &NamespacePlan,
    (arguments, environment): &(Vec<CString>, Vec<CString>),
    network: BorrowedFd<'_>,
    control: BorrowedFd<'_>,
) -> i32 {
    match sys::fork() {
        Ok(Some(child)) => child,
        Ok(None) => in_child(control, || {
            sys::redirect(plan.output);
            let error = match sys::enter_network(network) {
                Ok(()) => {
                    sys::ignore_signals(false);
                    sys::exec(arguments, environment)
                }
                Err(error) => error,
            };
            report(control, 'n', &format!("{}: {error}", arguments[0].to_string_lossy()));
            sys::exit(127)
        }),
        Err(error) => {
            report(control, 'n', &format!("fork: {error}"));
            sys::exit(1)
        }
    }
}

/// Waits up to a second until a program listens in this namespace: a server should be ready before its client starts.
fn await_listener(network: BorrowedFd<'_>) {
    if sys::enter_network(network).is_err() {
        return;
    }
    let bound = |file: &str, state: &str| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines().skip(1).any(|line| line.split_whitespace().nth(3) == Some(state))
    };
    for _ in 0..100 {
        // State 0A is LISTEN; 07 is that of an unconnected UDP socket.
        if bound("/proc/self/net/tcp", "0A")
            || bound("/proc/self/net/tcp6", "0A")
            || bound("/proc/self/net/udp", "07")
        {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (OwnedFd, OwnedFd) {
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap()
    }

    #[test]
    fn a_long_message_ends_between_two_characters() {
        let (ours, theirs) = pair();
        report(theirs.as_fd(), 'n', &"é".repeat(600));
        let (text, _) = receive(ours.as_fd()).unwrap();
        assert_eq!(text, format!("n{}", "é".repeat(511)));
    }

    #[test]
    fn a_panic_ends_the_child() {
        let (ours, theirs) = pair();
        let Some(child) = sys::fork().unwrap() else {
            in_child(theirs.as_fd(), || std::panic::resume_unwind(Box::new("no hook")));
        };
        assert_eq!(sys::wait(child).unwrap(), (child, 1));
        let (text, _) = receive(ours.as_fd()).unwrap();
        assert!(text.starts_with("finternal error"), "{text}");
    }

    #[test]
    fn a_program_is_needed() {
        let command = Command { arguments: Vec::new(), environment: Vec::new() };
        let plan = NamespacePlan {
            mtu: 1500,
            commands: [Some(command), None],
            sockets: Vec::new(),
            ecn: None,
            output: ProgramOutput::Own,
        };
        assert!(matches!(Namespaces::create(&plan), Err(Error::Input(text)) if text.contains("is empty")));
    }
}
