//! The functions of `include/ackclock_network.h`, which describes them; those of controllers are in `controllers.rs`.

mod controllers;

use facade::network::{Network, NetworkError, Port, Progress, Sample};
use facade::{CarriedFiles, DropReason, Ecn, FileAccess, Recording, Scenario, ScenarioText, Span, Time};
use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

const MAJOR: u32 = 1;
const MINOR: u32 = 0;

const OK: c_int = 0;
const ENDED: c_int = 1;
const NOTHING: c_int = 2;
const BAD_INPUT: c_int = -1;
const PAST: c_int = -2;
const MEMORY: c_int = -3;
const CONTROLLER: c_int = -4;
const PANIC: c_int = -5;

const NEVER: u64 = u64::MAX;
const WHOLE_PACKETS: u32 = u32::MAX;
const RECORD_FINGERPRINT: u64 = 1;

/// `ackclock_network`.
pub struct Handle {
    network: Network,
    error: CString,
    json: CString,
    panicked: bool,
}

/// `ackclock_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Options {
    size: u64,
    seed: u64,
    header: u32,
    mtu: u32,
    flows: *const c_char,
    set: *const c_char,
    folder: *const c_char,
    recording: u64,
}

/// `ackclock_datagram`.
#[repr(C)]
pub struct Datagram {
    size: u64,
    port: u32,
    length: u32,
    number: u64,
    sent_ns: u64,
    arrived_ns: u64,
    bytes: *const u8,
    ecn: u8,
    reserved: [u8; 7],
}

/// `ackclock_stack_sample`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StackSample {
    size: u64,
    delivered_bytes: u64,
    cwnd_bytes: u64,
    ssthresh_bytes: u64,
    in_flight_bytes: u64,
    pacing_bps: u64,
    srtt_ns: u64,
    lost_packets: u64,
    state: *const c_char,
}

/// `ackclock_counts`.
#[repr(C)]
pub struct Counts {
    size: u64,
    sent: u64,
    sent_bytes: u64,
    accepted: u64,
    too_long: u64,
    received: u64,
    received_bytes: u64,
    duplicates: u64,
    marked: u64,
    dropped: u64,
}

/// A structure of which the caller's version may be older, and so shorter. All bits zero are a value of it.
trait Structure: Sized {}
impl Structure for Options {}
impl Structure for Datagram {}
impl Structure for StackSample {}
impl Structure for Counts {}

/// The bytes of a structure of the caller that this library uses, if it has at least those of version 1.0. A later version
/// compares with the sizes of 1.0, which are then less than those of its own structures.
fn usable<T: Structure>(size: u64) -> Option<usize> {
    let size = usize::try_from(size).ok()?;
    (size >= size_of::<T>()).then_some(size_of::<T>())
}

/// Reads the part of a structure that the caller has; the rest is zero.
///
/// # Safety
/// `from` is not null, and points to as many readable bytes as its first member says.
unsafe fn read<T: Structure>(from: *const T) -> Option<T> {
    // SAFETY: the caller has set `size`, the first member.
    let size = usable::<T>(unsafe { from.cast::<u64>().read_unaligned() })?;
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: `size` bytes can be read, and `value` has at least as many; zero is a value of every member.
    unsafe {
        std::ptr::copy_nonoverlapping(from.cast::<u8>(), value.as_mut_ptr().cast::<u8>(), size);
        Some(value.assume_init())
    }
}

/// Writes the part of a structure that the caller has, but for its size.
///
/// # Safety
/// `to` is not null, and points to as many writable bytes as its first member says.
unsafe fn write<T: Structure>(to: *mut T, value: &T) -> Option<()> {
    const FIRST: usize = size_of::<u64>();
    // SAFETY: the caller has set `size`, the first member.
    let size = usable::<T>(unsafe { to.cast::<u64>().read_unaligned() })?;
    // SAFETY: both have at least `size` bytes, and do not overlap.
    unsafe {
        let (from, to) = (std::ptr::from_ref(value).cast::<u8>().add(FIRST), to.cast::<u8>().add(FIRST));
        std::ptr::copy_nonoverlapping(from, to, size - FIRST);
    }
    Some(())
}

/// The longest scenario, bytes.
const LONGEST_SCENARIO: usize = 64 << 20;
/// No datagram has more bytes.
const LONGEST_DATAGRAM: usize = 65_535;

/// A string of the caller; `None` for NULL and for what is not UTF-8.
///
/// # Safety
/// NULL, or a string with a terminating zero that lives as long as the result is used.
unsafe fn string<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: it is a string with a terminating zero.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

fn code(error: &NetworkError) -> c_int {
    match error {
        NetworkError::Past { .. } => PAST,
        NetworkError::Memory(_) => MEMORY,
        NetworkError::Controller { .. } => CONTROLLER,
        _ => BAD_INPUT,
    }
}

/// What a function returns: a status, or a status with its message.
type Status = Result<c_int, (c_int, String)>;

fn refused(error: &NetworkError) -> (c_int, String) {
    (code(error), error.to_string())
}

fn bad_input<T>(message: &str) -> Result<T, (c_int, String)> {
    Err((BAD_INPUT, message.into()))
}

/// Calls `function` with the network; keeps the message of a failure; no panic leaves it.
///
/// # Safety
/// NULL, or a network that is open.
unsafe fn with(network: *mut Handle, function: impl FnOnce(&mut Handle) -> Status) -> c_int {
    // SAFETY: it is NULL, or a network that this thread alone uses.
    let Some(handle) = (unsafe { network.as_mut() }) else { return BAD_INPUT };
    if handle.panicked {
        return PANIC;
    }
    match catch_unwind(AssertUnwindSafe(|| function(handle))) {
        Ok(Ok(status)) => status,
        Ok(Err((status, message))) => {
            handle.error = c_string(&message);
            status
        }
        Err(_) => {
            handle.panicked = true;
            handle.error =
                c_string("a fault of the library; please report it with the scenario and the calls");
            PANIC
        }
    }
}

/// A fault is reported by [`PANIC`], not on standard error.
fn silence() {
    static SILENT: Once = Once::new();
    SILENT.call_once(|| std::panic::set_hook(Box::new(|_| ())));
}

fn open(scenario: &str, options: &Options) -> Result<Network, (c_int, String)> {
    // SAFETY: the members are NULL or strings, as the header demands.
    let [flows, set, folder] =
        [options.flows, options.set, options.folder].map(|text| unsafe { string(text) });
    for (text, pointer) in [(flows, options.flows), (set, options.set), (folder, options.folder)] {
        if text.is_none() && !pointer.is_null() {
            return bad_input("a string of the options is not UTF-8");
        }
    }
    let set: Vec<String> =
        set.unwrap_or_default().lines().filter(|line| !line.is_empty()).map(String::from).collect();
    let file = folder.map_or_else(|| "scenario.toml".into(), |folder| format!("{folder}/scenario.toml"));
    let access = match folder {
        Some(_) => FileAccess::NoCode,
        None => FileAccess::Carried(CarriedFiles::default()),
    };
    let text = ScenarioText { file: &file, text: scenario, set: &set, access, libraries: false };
    let scenario = Scenario::from_text(&text, &[]).map_err(|error| (BAD_INPUT, error.to_string()))?;
    let mut open = Network::open(&scenario).attach_list(flows.unwrap_or_default());
    open = match options.header {
        0 => open,
        WHOLE_PACKETS => open.header(0),
        header => open.header(header),
    };
    if options.mtu != 0 {
        open = open.mtu(options.mtu);
    }
    if options.seed != 0 {
        open = open.seed(options.seed);
    }
    if options.recording & !RECORD_FINGERPRINT != 0 {
        return bad_input("options.recording has a bit that this version does not know");
    }
    let fingerprint = options.recording & RECORD_FINGERPRINT != 0;
    open.record(Recording { fingerprint, ..Recording::default() }).start().map_err(|error| refused(&error))
}

/// The port with this number, if the network has it.
fn port_of(handle: &Handle, number: u32) -> Option<Port> {
    Some(Port::numbered(number)).filter(|port| !handle.network.flow_of(*port).is_empty())
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn ackclock_network_version() -> u32 {
    MAJOR << 16 | MINOR
}

/// See the header.
///
/// # Safety
/// The pointers are as the header demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ackclock_network_open(
    scenario: *const c_char,
    length: usize,
    options: *const Options,
    network: *mut *mut Handle,
    error: *mut c_char,
    room: usize,
) -> c_int {
    silence();
    if network.is_null() {
        return BAD_INPUT;
    }
    // SAFETY: the caller has given a place for the network.
    unsafe { network.write(std::ptr::null_mut()) };
    let opened = catch_unwind(|| {
        if scenario.is_null() {
            return bad_input("the scenario is NULL");
        }
        if length > LONGEST_SCENARIO {
            return bad_input("the scenario has more than 64 MiB");
        }
        // SAFETY: the caller has given `length` bytes.
        let bytes = unsafe { std::slice::from_raw_parts(scenario.cast::<u8>(), length) };
        let Ok(text) = std::str::from_utf8(bytes) else { return bad_input("the scenario is not UTF-8") };
        let none = Options {
            size: size_of::<Options>() as u64,
            seed: 0,
            header: 0,
            mtu: 0,
            flows: std::ptr::null(),
            set: std::ptr::null(),
            folder: std::ptr::null(),
            recording: 0,
        };
        // SAFETY: it is not NULL, and the caller has set its size.
        let options = if options.is_null() { Some(none) } else { unsafe { read(options) } };
        let Some(options) = options else { return bad_input("options.size is not sizeof(ackclock_options)") };
        open(text, &options)
    });
    let (status, message) = match opened {
        Ok(Ok(opened)) => {
            let handle = Handle {
                network: opened,
                error: CString::default(),
                json: CString::default(),
                panicked: false,
            };
            // SAFETY: as above.
            unsafe { network.write(Box::into_raw(Box::new(handle))) };
            return OK;
        }
        Ok(Err(failed)) => failed,
        Err(_) => (PANIC, "a fault of the library; please report it with the scenario".into()),
    };
    if !error.is_null() && room > 0 {
        let text = c_string(&message);
        let bytes = text.as_bytes();
        let count = bytes.len().min(room - 1);
        // SAFETY: `error` has room for `count` bytes and a zero.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), error.cast::<u8>(), count);
            error.add(count).write(0);
        }
    }
    status
}

/// See the header.
///
/// # Safety
/// The pointers are as the header demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ackclock_network_port(
    network: *const Handle,
    flow: *const c_char,
    end: c_int,
    port: *mut u32,
) -> c_int {
    // SAFETY: NULL or an open network; NULL or a string; NULL or a place for a number.
    unsafe {
        with(network.cast_mut(), |handle| {
            let Some(name) = string(flow).filter(|_| !port.is_null()) else {
                return bad_input("the flow or the place for the port is NULL");
            };
            let Some(ports) = handle.network.ports_of(name) else {
                return Err(refused(&NetworkError::NoFlow(name.into())));
            };
            let Some(place) = usize::try_from(end).ok().and_then(|end| ports.get(end)) else {
                return bad_input("an end is 0, the source, or 1, the destination");
            };
            port.write(place.number());
            Ok(OK)
        })
    }
}

/// A time of the network; never for NULL.
///
/// # Safety
/// NULL or an open network.
unsafe fn time(network: *const Handle, of: impl FnOnce(&Network) -> Time) -> u64 {
    // SAFETY: NULL or an open network.
    match unsafe { network.as_ref() } {
        Some(handle) if !handle.panicked => {
            catch_unwind(AssertUnwindSafe(|| of(&handle.network).ns())).unwrap_or(NEVER)
        }
        _ => NEVER,
    }
}

/// See the header.
///
/// # Safety
/// NULL or an open network.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ackclock_network_now(network: *const Handle) -> u64 {
    // SAFETY: as the header demands.
    unsafe { time(network, Network::now) }
}

/// See the header.
///
/// # Safety
/// NULL or an open network.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ackclock_network_next(network: *const Handle) -> u64 {
    // SAFETY: as the header demands.
    unsafe { time(network, Network::next) }
}

/// See the header.
///
/// # Safety
/// NULL or an open network.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ackclock_network_end(network: *const Handle) -> u64 {
    // SAFETY: as the header demands.
    unsafe { time(network, Network::end) }
}

/// See the header.
///
/// # Safety
/// NULL or an open network.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ackclock_network_advance(network: *mut Handle, to_ns: u64) -> c_int {
    // SAFETY: as the header demands.
    unsafe {
        with(network, |handle| match handle.network.advance(Time::from_ns(to_ns)) {
            Ok(Progress::Running) => Ok(OK),
            Ok(Progress::Ended) => Ok(ENDED),
            Err(error) => Err(refused(&error)),
        })
    }
}

/// See the header.
///
/// # Safety
/// The pointers are as the header demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ackclock_network_send(
    network: *mut Handle,
    port: u32,
    bytes: *const u8,
    length: usize,
    ecn: c_int,
) -> c_int {
    // SAFETY: NULL or an open network; `bytes` has `length` bytes.
    unsafe {
        with(network, |handle| {
            let ecn = match u8::try_from(ecn) {
                Ok(bits @ 0..=3) => Ecn::from_bits(bits),
                _ => return bad_input("the ECN field is 0, 1, 2 or 3"),
            };
            let Some(port) = port_of(handle, port) else {
                return bad_input("there is no such port; ask ackclock_network_port");
            };
            let bytes = match (bytes.is_null(), length) {
                (_, 0) => &[][..],
                (true, _) => return bad_input("the datagram is NULL"),
                (false, length) if length > LONGEST_DATAGRAM => {
                    let error = NetworkError::TooLong { bytes: length, most: LONGEST_DATAGRAM };
                    return Err(refused(&error));
                }
                (false, length) => std::slice::from_raw_parts(bytes, length),
            };
            handle.network.send(port, bytes, ecn).map_err(|error| refused(&error))?;
            Ok(OK)
        })
    }
}

/// See the header.
///
/// # Safety
/// The pointers are as the header demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ackclock_network_receive(network: *mut Handle, datagram: *mut Datagram) -> c_int {
    // SAFETY: NULL or an open network; NULL or a datagram whose size is set.
    unsafe {
        with(network, |handle| {
            if datagram.is_null() {
                return bad_input("the datagram is NULL");
            }
            if usable::<Datagram>(datagram.cast::<u64>().read_unaligned()).is_none() {
                return bad_input("datagram.size is not sizeof(ackclock_datagram)");
            }
            let Some(next) = handle.network.receive() else { return Ok(NOTHING) };
            let value = Datagram {
                size: 0,
                port: next.port.number(),
                length: next.bytes.len() as u32,
                number: next.number,
                sent_ns: next.sent.ns(),
                arrived_ns: next.arrived.ns(),
                bytes: next.bytes.as_ptr(),
                ecn: next.ecn.bits(),
                reserved: [0; 7],
            };
            write(datagram, &value);
            Ok(OK)
        })
    }
}

/// See the header.
///
/// # Safety
/// The pointers are as the header demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ackclock_network_record(
    network: *mut Handle,
    port: u32,
    sample: *const StackSample,
) -> c_int {
    // SAFETY: NULL or an open network; NULL or a sample whose size is set.
    unsafe {
        with(network, |handle| {
            let Some(port) = port_of(handle, port) else {
                return bad_input("there is no such port; ask ackclock_network_port");
            };
            let Some(value) = (if sample.is_null() { None } else { read(sample) }) else {
                return bad_input("the sample is NULL, or sample.size is not sizeof(ackclock_stack_sample)");
            };
            let number = |value: u64| (value != NEVER).then_some(value);
            let state = string(value.state).map(|state| Cow::Owned(state.to_string()));
            let sample = Sample {
                delivered_bytes: number(value.delivered_bytes),
                cwnd_bytes: number(value.cwnd_bytes),
                ssthresh_bytes: number(value.ssthresh_bytes),
                in_flight_bytes: number(value.in_flight_bytes),
                pacing_bps: number(value.pacing_bps),
                srtt: number(value.srtt_ns).map(Span::from_ns),
                lost_packets: number(value.lost_packets),
                app_limited: None,
                state,
            };
            handle.network.record(port, &sample).map_err(|error| refused(&error))?;
            Ok(OK)
        })
    }
}

/// See the header.
///
/// # Safety
/// The pointers are as the header demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ackclock_network_counts(
    network: *const Handle,
    port: u32,
    counts: *mut Counts,
) -> c_int {
    // SAFETY: NULL or an open network; NULL or counts whose size is set.
    unsafe {
        with(network.cast_mut(), |handle| {
            let Some(port) = port_of(handle, port) else {
                return bad_input("there is no such port; ask ackclock_network_port");
            };
            let counted = handle.network.counts(port).map_err(|error| refused(&error))?;
            let dropped: [u64; DropReason::ALL.len()] = counted.dropped;
            let value = Counts {
                size: 0,
                sent: counted.sent,
                sent_bytes: counted.sent_bytes,
                accepted: counted.accepted,
                too_long: counted.too_long,
                received: counted.received,
                received_bytes: counted.received_bytes,
                duplicates: counted.duplicates,
                marked: counted.marked,
                dropped: dropped.iter().sum(),
            };
            match counts.is_null() || write(counts, &value).is_none() {
                true => bad_input("the counts are NULL, or counts.size is not sizeof(ackclock_counts)"),
                false => Ok(OK),
            }
        })
    }
}

/// See the header.
///
/// # Safety
/// The pointers are as the header demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ackclock_network_outcome(
    network: *mut Handle,
    json: *mut *const c_char,
    length: *mut usize,
) -> c_int {
    // SAFETY: NULL or an open network; NULL or places for the results.
    unsafe {
        with(network, |handle| {
            if json.is_null() {
                return bad_input("the place for the outcome is NULL");
            }
            if handle.json.is_empty() {
                let outcome = handle.network.outcome().map_err(|error| refused(&error))?;
                handle.json = c_string(&outcome.to_json());
            }
            json.write(handle.json.as_ptr());
            if !length.is_null() {
                length.write(handle.json.as_bytes().len());
            }
            Ok(OK)
        })
    }
}

/// See the header.
///
/// # Safety
/// The pointers are as the header demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ackclock_network_fingerprint(network: *const Handle, hex: *mut c_char) -> c_int {
    // SAFETY: NULL or an open network; NULL or room for 65 characters.
    unsafe {
        with(network.cast_mut(), |handle| {
            let Some(text) = handle.network.fingerprint().filter(|_| !hex.is_null()) else {
                return bad_input(
                    "no fingerprint is recorded; open with recording = ACKCLOCK_RECORD_FINGERPRINT",
                );
            };
            let text = c_string(&text);
            std::ptr::copy_nonoverlapping(text.as_ptr(), hex, text.as_bytes_with_nul().len().min(65));
            Ok(OK)
        })
    }
}

/// See the header.
///
/// # Safety
/// NULL or an open network.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ackclock_network_error(network: *const Handle) -> *const c_char {
    // SAFETY: NULL or an open network.
    unsafe { network.as_ref() }.map_or(c"".as_ptr(), |handle| handle.error.as_ptr())
}

/// See the header.
///
/// # Safety
/// NULL or an open network, which is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ackclock_network_close(network: *mut Handle) {
    if !network.is_null() {
        // SAFETY: `open` has made it with `Box::into_raw`, and it is closed once.
        let handle = unsafe { Box::from_raw(network) };
        // A fault while it is freed is not the caller's.
        catch_unwind(AssertUnwindSafe(|| drop(handle))).ok();
    }
}

// The header has the same layout: tests/test_network.py compares these with the C compiler's.
const _: () = {
    assert!(size_of::<Options>() == 56 || size_of::<usize>() != 8);
    assert!(size_of::<Datagram>() == 56 || size_of::<usize>() != 8);
    assert!(size_of::<StackSample>() == 72 || size_of::<usize>() != 8);
    assert!(size_of::<Counts>() == 80);
};
