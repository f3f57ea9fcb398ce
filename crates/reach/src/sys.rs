//! System calls that have no safe wrapper: fork, exec, TUN devices, priorities. The only unsafe code of the crate besides
//! the loader of the kernel bridge.
#![allow(unsafe_code, reason = "each block calls libc with arguments that it owns; see the comments")]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Result of a call that returns -1 on failure.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Splits this process. Returns the child's number in the parent, `None` in the child. The child has one thread: it must
/// not use locks that another thread may have held (standard output, the environment) and must end with [`exit`].
pub(crate) fn fork() -> io::Result<Option<i32>> {
    // SAFETY: no arguments; what the child may do is stated above and holds for the callers in namespaces.rs.
    let child = checked(unsafe { libc::fork() })?;
    Ok((child != 0).then_some(child))
}

/// Ends this process at once, without the exit handlers of its parent's libraries.
pub(crate) fn exit(status: i32) -> ! {
    // SAFETY: no arguments that point anywhere; does not return.
    unsafe { libc::_exit(status) }
}

/// Asks for SIGKILL when the thread that created this process ends. Returns false if that parent is not `parent` any more;
/// zero stands for a parent outside the PID namespace.
pub(crate) fn die_with_parent(parent: i32) -> bool {
    // SAFETY: plain numbers.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong, 0, 0, 0) == 0
            && libc::getppid() == parent
    }
}

/// Creates namespaces for this process (`CLONE_NEW...` flags). The process must have one thread.
pub(crate) fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: a plain number; only processes that `fork` made call it.
    checked(unsafe { libc::unshare(flags) }).map(drop)
}

/// Enters a network namespace.
pub(crate) fn enter_network(namespace: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the descriptor is open for the duration of the call.
    checked(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// Waits for a child (`-1`: any). Returns its number and its exit status, 128 + n for a signal n.
pub(crate) fn wait(child: i32) -> io::Result<(i32, i32)> {
    let mut status = 0;
    loop {
        // SAFETY: `status` lives through the call.
        match checked(unsafe { libc::waitpid(child, &mut status, 0) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(ended) if libc::WIFSIGNALED(status) => return Ok((ended, 128 + libc::WTERMSIG(status))),
            Ok(ended) => return Ok((ended, libc::WEXITSTATUS(status))),
        }
    }
}

/// Sends SIGKILL to a process.
pub(crate) fn kill(process: i32) {
    // SAFETY: plain numbers.
    unsafe { libc::kill(process, libc::SIGKILL) };
}

/// Ignores or restores (`ignored`) the signals that a terminal or a caller sends, and unblocks all signals.
pub(crate) fn ignore_signals(ignored: bool) {
    let action = if ignored { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: plain numbers and a signal set that lives through the call; no handler of ours is installed.
    unsafe {
        for signal in [
            libc::SIGINT,
            libc::SIGQUIT,
            libc::SIGTERM,
            libc::SIGHUP,
            libc::SIGTSTP,
            libc::SIGTTIN,
            libc::SIGTTOU,
        ] {
            libc::signal(signal, action);
        }
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

/// Replaces this process by a program, searched in PATH. Returns only on failure.
pub(crate) fn exec(arguments: &[CString], environment: &[CString]) -> io::Error {
    let pointers = |strings: &[CString]| -> Vec<*const libc::c_char> {
        strings.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    // SAFETY: both lists end with a null pointer and live through the call.
    unsafe { libc::execvpe(arguments[0], arguments.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error()
}

/// Where the programs at the ends write.
#[derive(Clone, Copy, Debug, Default)]
pub enum ProgramOutput {
    /// To standard output and standard error of this program.
    #[default]
    Own,
    /// To its standard error only.
    Error,
    /// Into an open file of this program, by its descriptor; their standard input is empty.
    File(RawFd),
}

/// Lets this process write where `output` says.
pub(crate) fn redirect(output: ProgramOutput) {
    // SAFETY: plain numbers, and a text that ends with a zero byte.
    unsafe {
        match output {
            ProgramOutput::Own => {}
            ProgramOutput::Error => drop(libc::dup2(2, 1)),
            ProgramOutput::File(file) => {
                libc::dup2(libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC), 0);
                libc::dup2(file, 1);
                libc::dup2(file, 2);
            }
        }
    }
}

/// Makes this process group the foreground of the terminal of standard input again, if that is one.
pub(crate) fn take_terminal() {
    // SAFETY: plain numbers; the old action of the signal is restored.
    unsafe {
        if libc::isatty(0) == 1 {
            let old = libc::signal(libc::SIGTTOU, libc::SIG_IGN);
            libc::tcsetpgrp(0, libc::getpgrp());
            libc::signal(libc::SIGTTOU, old);
        }
    }
}

/// Sets how late timers of this thread may be, ns. Returns the old value.
pub(crate) fn set_timer_slack(nanoseconds: u64) -> Option<u64> {
    // SAFETY: plain numbers.
    unsafe {
        let old = libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0);
        libc::prctl(libc::PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0);
        u64::try_from(old).ok()
    }
}

/// Makes this thread run before all ordinary ones, if this user may: the lowest real-time priority. Threads and processes
/// that it creates do not inherit it. Returns whether it did.
pub(crate) fn enter_real_time() -> bool {
    set_scheduler(libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, 1)
}

/// Makes this thread an ordinary one again.
pub(crate) fn leave_real_time() {
    set_scheduler(libc::SCHED_OTHER, 0);
}

/// Sets the policy and the priority of this thread; returns whether this user may. The function of musl does nothing, and
/// its `sched_param` has more fields than that of the kernel, which is one number.
fn set_scheduler(policy: libc::c_int, priority: libc::c_int) -> bool {
    // SAFETY: the priority lives through the call; zero is the calling thread.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) == 0 }
}

/// A request about the network device `name`.
fn request(name: &str) -> libc::ifreq {
    // SAFETY: zeros are a valid value of this C struct.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request
}

/// Opens a new TUN device `name` in the present network namespace: packets without a header before them.
pub(crate) fn open_tun(name: &str) -> io::Result<OwnedFd> {
    let mut request = request(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the path ends with zero, the descriptor is new and owned here, the request lives through the call.
    unsafe {
        let fd =
            checked(libc::open(c"/dev/net/tun".as_ptr(), libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC))?;
        let fd = OwnedFd::from_raw_fd(fd);
        checked(libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF, &mut request))?;
        Ok(fd)
    }
}

/// A setting of a network device.
pub(crate) enum Setting {
    /// Its IPv4 address.
    Address([u8; 4]),
    /// The mask of its IPv4 network.
    Mask([u8; 4]),
    /// Largest packet, bytes.
    Mtu(u32),
    /// Packets that wait in it.
    QueueLength(u32),
    /// It is in use.
    Up,
}

/// Changes a network device of the present network namespace; `socket` is any socket of that namespace.
pub(crate) fn configure(socket: BorrowedFd<'_>, name: &str, setting: Setting) -> io::Result<()> {
    let mut request = request(name);
    let code = match setting {
        Setting::Address(address) => {
            request.ifr_ifru.ifru_addr = internet_address(address);
            libc::SIOCSIFADDR
        }
        Setting::Mask(mask) => {
            request.ifr_ifru.ifru_addr = internet_address(mask);
            libc::SIOCSIFNETMASK
        }
        Setting::Mtu(bytes) => {
            request.ifr_ifru.ifru_mtu = bytes as libc::c_int;
            libc::SIOCSIFMTU
        }
        Setting::QueueLength(packets) => {
            request.ifr_ifru.ifru_mtu = packets as libc::c_int; // ifr_qlen, an int of the same union
            libc::SIOCSIFTXQLEN
        }
        Setting::Up => {
            request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
            libc::SIOCSIFFLAGS
        }
    };
    // SAFETY: the request lives through the call and has the member that the code asks for.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), code as _, &mut request) }).map(drop)
}

fn internet_address(address: [u8; 4]) -> libc::sockaddr {
    // SAFETY: zeros are a valid value of this C struct; both structs have the same size, and sockaddr the smaller alignment.
    unsafe {
        let mut internet: libc::sockaddr_in = std::mem::zeroed();
        internet.sin_family = libc::AF_INET as libc::sa_family_t;
        internet.sin_addr.s_addr = u32::from_ne_bytes(address);
        std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(internet)
    }
}

/// What the kernel reports about a TCP socket: the beginning of `struct tcp_info` (linux/tcp.h).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "the names are those of the kernel, without tcpi_")]
pub(crate) struct TcpInfo {
    pub state: u8,
    pub ca_state: u8,
    pub retransmits: u8,
    pub probes: u8,
    pub backoff: u8,
    pub options: u8,
    pub window_scales: u8,
    pub flags: u8,
    pub rto: u32,
    pub ato: u32,
    pub snd_mss: u32,
    pub rcv_mss: u32,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    pub fackets: u32,
    pub last_data_sent: u32,
    pub last_ack_sent: u32,
    pub last_data_recv: u32,
    pub last_ack_recv: u32,
    pub pmtu: u32,
    pub rcv_ssthresh: u32,
    pub rtt: u32,
    pub rttvar: u32,
    pub snd_ssthresh: u32,
    pub snd_cwnd: u32,
    pub advmss: u32,
    pub reordering: u32,
    pub rcv_rtt: u32,
    pub rcv_space: u32,
    pub total_retrans: u32,
    pub pacing_rate: u64,
    pub max_pacing_rate: u64,
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub segs_out: u32,
    pub segs_in: u32,
    pub notsent_bytes: u32,
    pub min_rtt: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,
    pub delivery_rate: u64,
    pub busy_time: u64,
    pub rwnd_limited: u64,
    pub sndbuf_limited: u64,
    pub delivered: u32,
    pub delivered_ce: u32,
}

/// The state of a TCP socket. An old kernel leaves the last members zero.
pub(crate) fn tcp_info(socket: BorrowedFd<'_>) -> io::Result<TcpInfo> {
    let mut info = TcpInfo::default();
    let mut length = size_of::<TcpInfo>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `info`, all of whose bit patterns are valid.
    checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &mut length,
        )
    })?;
    Ok(info)
}

/// Bounds the window that a TCP socket advertises, bytes.
pub(crate) fn clamp_window(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    let bytes = bytes as libc::c_int;
    // SAFETY: the kernel reads an int.
    checked(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_WINDOW_CLAMP,
            (&raw const bytes).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    })
    .map(drop)
}
