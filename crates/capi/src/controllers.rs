//! The functions of `include/ackclock_controllers.h`, which describes them: controllers of Ackclock in a transport stack.

use cc::{
    Answer, AnyController, Controller, Decision, Event, FlowInfo, FromWords, ParamValue, Params, Segments,
    Signals, Time,
};
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

const OK: c_int = 0;
const BAD_INPUT: c_int = -1;
const PANIC: c_int = -5;

/// `ackclock_controller`.
pub struct ControllerHandle {
    controller: AnyController,
    needs: CString,
}

/// The controller that a text names, such as `cubic` or `cubic: beta = 0.8, fast_convergence = false`.
fn named(text: &str, flow: &FlowInfo) -> Result<AnyController, String> {
    let (name, values) = text.split_once(':').unwrap_or((text, ""));
    let name = name.trim();
    let Some(registration) = AnyController::registration(name) else {
        let names = cc::CONTROLLERS.iter().map(|registration| registration.descriptor.name);
        return Err(format!("no controller is called \"{name}\"; {}", params::nearest(name, names)));
    };
    let mut given = Vec::new();
    for entry in values.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let Some((key, value)) = entry.split_once('=') else {
            return Err(format!("\"{entry}\" is not NAME = VALUE"));
        };
        let value = match value.trim() {
            "true" => ParamValue::Switch(true),
            "false" => ParamValue::Switch(false),
            word => word
                .parse()
                .map_or_else(|_| ParamValue::Word(word.trim_matches('"').into()), ParamValue::Number),
        };
        given.push((key.trim().to_string(), value));
    }
    let keys = registration.descriptor.params;
    let params = Params::new(keys, given.iter().map(|(key, value)| (key.as_str(), value.clone())));
    let params = params.and_then(|params| registration.check(&params).map(|()| params));
    let params = params.map_err(|error| {
        let reason =
            error.reason.unwrap_or_else(|| params::nearest(&error.name, keys.iter().map(|key| key.name)));
        format!("{name}: {}: {reason}", error.name)
    })?;
    Ok(registration.create(&params, flow))
}

/// The words of a struct that begins with its size.
///
/// # Safety
/// `at` leads to as many bytes as its first word says.
unsafe fn words<'a>(at: *const u64) -> Option<&'a [u64]> {
    if at.is_null() {
        return None;
    }
    // SAFETY: as above; more than a kilobyte is no struct of the header.
    unsafe {
        let size = *at;
        (8..=1024).contains(&size).then(|| std::slice::from_raw_parts(at, (size / 8) as usize))?.get(1..)
    }
}

/// Writes the answers into a struct that begins with its size.
///
/// # Safety
/// `decision` leads to as many bytes as its first word says.
unsafe fn answer(controller: &AnyController, decision: *mut u64) -> c_int {
    // SAFETY: as above.
    let Some(room) = (unsafe { words(decision) }).map(<[u64]>::len) else { return BAD_INPUT };
    let answers = Decision::of(controller).words();
    let count = room.min(Answer::ALL.len());
    // SAFETY: the struct has room for so many words after its size.
    unsafe { std::slice::from_raw_parts_mut(decision.add(1), count) }.copy_from_slice(&answers[..count]);
    OK
}

/// # Safety
/// `text` leads to a text that ends with a zero byte, `flow` to an `ackclock_flow_info`, `decision` to an `ackclock_decision`;
/// `message` is null or has room for `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ackclock_controller_open(
    text: *const c_char,
    flow: *const u64,
    decision: *mut u64,
    message: *mut c_char,
    room: usize,
) -> *mut ControllerHandle {
    let opened = catch_unwind(|| {
        if text.is_null() {
            return Err("the name of the controller is NULL".to_string());
        }
        // SAFETY: the text ends with a zero byte.
        let text = unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| "the name is not UTF-8")?;
        // SAFETY: the struct begins with its size.
        let flow = unsafe { words(flow) }
            .and_then(FlowInfo::from_words)
            .ok_or("the flow has an impossible value")?;
        let controller = named(text, &flow)?;
        let needs = controller.needs();
        let needed = Signals::named().filter(|(_, signal)| needs.has(*signal)).map(|(name, _)| name);
        let needs = CString::new(needed.collect::<Vec<_>>().join(",")).unwrap_or_default();
        Ok(ControllerHandle { controller, needs })
    });
    let refused = match opened.unwrap_or_else(|_| Err("a fault of the library; please report it".into())) {
        Ok(handle) => {
            // SAFETY: the struct begins with its size.
            if unsafe { answer(&handle.controller, decision) } == OK {
                return Box::into_raw(Box::new(handle));
            }
            "the struct of the answers has no size".to_string()
        }
        Err(refused) => refused,
    };
    if !message.is_null() && room > 0 {
        let bytes = &refused.as_bytes()[..refused.len().min(room - 1)];
        // SAFETY: there is room for the bytes and the zero byte after them.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), message.cast(), bytes.len());
            *message.add(bytes.len()) = 0;
        }
    }
    std::ptr::null_mut()
}

/// # Safety
/// `controller` was opened and not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ackclock_controller_needs(controller: *const ControllerHandle) -> *const c_char {
    // SAFETY: as above.
    unsafe { controller.as_ref() }.map_or(c"".as_ptr(), |handle| handle.needs.as_ptr())
}

/// # Safety
/// `controller` was opened and not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ackclock_controller_initial_window(controller: *const ControllerHandle) -> f64 {
    // SAFETY: as above.
    let handle = unsafe { controller.as_ref() };
    handle.and_then(|handle| handle.controller.initial_window()).unwrap_or(f64::NAN)
}

/// # Safety
/// `controller` is null, or was opened and not closed; it is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ackclock_controller_close(controller: *mut ControllerHandle) {
    if !controller.is_null() {
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(controller) });
    }
}

/// Passes an event, and writes the answers.
///
/// # Safety
/// `controller` was opened and not closed; `decision` leads to an `ackclock_decision`.
unsafe fn pass(controller: *mut ControllerHandle, event: Option<Event<'_>>, decision: *mut u64) -> c_int {
    // SAFETY: as above.
    let (Some(handle), Some(event)) = (unsafe { controller.as_mut() }, event) else { return BAD_INPUT };
    match catch_unwind(AssertUnwindSafe(|| event.call(&mut handle.controller))) {
        // SAFETY: as above.
        Ok(()) => unsafe { answer(&handle.controller, decision) },
        Err(_) => PANIC,
    }
}

/// Defines the functions of events with a struct.
macro_rules! on_structs {
    ($($function:ident $event:ident $struct:ident,)+) => {$(
        /// # Safety
        /// `controller` was opened and not closed; `event` and `decision` lead to structs that begin with their size.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $function(controller: *mut ControllerHandle, event: *const u64, decision: *mut u64) -> c_int {
            // SAFETY: as above.
            unsafe {
                let read = words(event).and_then(cc::$struct::from_words);
                pass(controller, read.as_ref().map(Event::$event), decision)
            }
        }
    )+};
}
on_structs! {
    ackclock_controller_on_handshake Handshake Handshake,
    ackclock_controller_on_sample Sample Sample,
    ackclock_controller_on_ack Ack Ack,
    ackclock_controller_on_lost Lost Lost,
    ackclock_controller_on_delivered Delivered Delivered,
    ackclock_controller_on_sent Sent Sent,
    ackclock_controller_on_congestion Congestion Congestion,
    ackclock_controller_on_rto Rto Timeout,
    ackclock_controller_on_restart Restart Restart,
    ackclock_controller_on_transmit_start TransmitStart TransmitStart,
    ackclock_controller_on_hint Hint PathHint,
}

/// Defines the functions of events with a time.
macro_rules! on_times {
    ($($function:ident $event:ident,)+) => {$(
        /// # Safety
        /// `controller` was opened and not closed; `decision` leads to a struct that begins with its size.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $function(controller: *mut ControllerHandle, now_ps: i64, decision: *mut u64) -> c_int {
            let now = Time::from_ps(now_ps.max(0).cast_unsigned());
            // SAFETY: as above.
            unsafe { pass(controller, Some(Event::$event(now)), decision) }
        }
    )+};
}
on_times! {
    ackclock_controller_on_open Open,
    ackclock_controller_on_recovery_exit RecoveryExit,
    ackclock_controller_on_undo Undo,
    ackclock_controller_on_timer Timer,
}

/// Defines the functions that set a number of segments.
macro_rules! sets {
    ($($function:ident $event:ident,)+) => {$(
        /// # Safety
        /// `controller` was opened and not closed; `decision` leads to a struct that begins with its size.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $function(controller: *mut ControllerHandle, segments: f64, decision: *mut u64) -> c_int {
            let segments: Segments = if segments >= 1.0 { segments } else { 1.0 };
            // SAFETY: as above.
            unsafe { pass(controller, Some(Event::$event(segments)), decision) }
        }
    )+};
}
sets! {
    ackclock_controller_set_window SetWindow,
    ackclock_controller_set_ssthresh SetSsthresh,
}

/// Every event has a function: one more in the table does not compile here.
const _: () = assert!(Event::METHODS.len() == 17);
