//! The simulator for browsers: a C ABI over one memory, without generated code.
//!
//! The page writes a request (UTF-8 JSON) where [`buffer`] says, calls a function, and reads the answer (UTF-8 JSON unless
//! stated otherwise) at [`answer`] and numbers (f64) at [`data`]. Both are valid until the next call. One instance holds
//! one run. A panic traps; [`failed`] then gives its message.
#![allow(unsafe_code, reason = "exported names and imports; no pointer is read here")]

mod controller;
mod modules;
mod places;
mod session;
mod traces;

use session::Session;
use std::cell::RefCell;
use std::sync::Mutex;

thread_local! {
    static SESSION: RefCell<Session> = RefCell::default();
}

fn with<T>(work: impl FnOnce(&mut Session) -> T) -> T {
    SESSION.with(|session| work(&mut session.borrow_mut()))
}

static FAILED: Mutex<String> = Mutex::new(String::new());

/// Prepares the instance: a panic keeps its message. Call it once.
#[unsafe(no_mangle)]
pub extern "C" fn begin() {
    modules::set_loader();
    std::panic::set_hook(Box::new(|info| {
        if let Ok(mut message) = FAILED.lock() {
            *message = info.to_string();
        }
    }));
}

/// Where the message of a panic is, after a trap.
#[unsafe(no_mangle)]
pub extern "C" fn failed() -> *const u8 {
    FAILED.lock().map_or(std::ptr::null(), |message| message.as_ptr())
}

/// Its length, bytes.
#[unsafe(no_mangle)]
pub extern "C" fn failed_length() -> usize {
    FAILED.lock().map_or(0, |message| message.len())
}

/// Memory for a request of `length` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn buffer(length: usize) -> *mut u8 {
    with(|s| s.buffer(length))
}

/// Where the last answer is.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    with(|s| s.answer.as_ptr())
}

/// Its length, bytes.
#[unsafe(no_mangle)]
pub extern "C" fn answer_length() -> usize {
    with(|s| s.answer.len())
}

/// Where the numbers of the last answer are.
#[unsafe(no_mangle)]
pub extern "C" fn data() -> *const f64 {
    with(|s| s.data.as_ptr())
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn data_length() -> usize {
    with(|s| s.data.len())
}

/// Sets the files that scenarios may name: `{"name": {"text": "..."}}` or `{"name": {"base64": "..."}}`. 0, or 1 with an
/// error.
#[unsafe(no_mangle)]
pub extern "C" fn files() -> i32 {
    with(Session::files)
}

/// Reads the scenario of the request alone. 0 with its description, or 1 with an error.
#[unsafe(no_mangle)]
pub extern "C" fn check() -> i32 {
    with(Session::check)
}

/// Computes the positions of nodes in a drawing of the request's `links` and `flows`. 0, or 1 with an error.
#[unsafe(no_mangle)]
pub extern "C" fn layout() -> i32 {
    with(Session::layout)
}

/// Builds a run from the request. 0 with its flows and links, or 1 with an error.
#[unsafe(no_mangle)]
pub extern "C" fn open() -> i32 {
    with(Session::open)
}

/// Processes up to `events` events. 1 at the end of the run.
#[unsafe(no_mangle)]
pub extern "C" fn advance(events: f64) -> i32 {
    with(|s| s.advance(events as u64))
}

/// Processes all events up to a simulated time. 1 at the end of the run.
#[unsafe(no_mangle)]
pub extern "C" fn advance_to(seconds: f64) -> i32 {
    with(|s| s.advance_to(seconds))
}

/// Simulated seconds so far.
#[unsafe(no_mangle)]
pub extern "C" fn now() -> f64 {
    with(|s| s.now())
}

/// The outcome, after the end of the run.
#[unsafe(no_mangle)]
pub extern "C" fn outcome() {
    with(Session::outcome);
}

/// The fingerprint as text; empty if the run records none.
#[unsafe(no_mangle)]
pub extern "C" fn fingerprint() {
    with(Session::fingerprint);
}

/// Where column `number` of the logs is (`Session::column`).
#[unsafe(no_mangle)]
pub extern "C" fn column(number: u32) -> *const u8 {
    with(|s| s.column(number).0)
}

/// How many items it has.
#[unsafe(no_mangle)]
pub extern "C" fn column_length(number: u32) -> usize {
    with(|s| s.column(number).1)
}

/// The curves of an interval for a number of pixel columns.
#[unsafe(no_mangle)]
pub extern "C" fn curves(from: f64, to: f64, columns: f64) {
    with(|s| s.curves(from, to, columns as usize));
}

/// The packets on the links in an interval.
#[unsafe(no_mangle)]
pub extern "C" fn flights(from: f64, to: f64) {
    with(|s| s.flights(from, to));
}

/// The messages of applications so far (`Session::messages`).
#[unsafe(no_mangle)]
pub extern "C" fn messages() {
    with(Session::messages);
}

/// The interval whose rows are recorded, and the number of rows of the whole run.
#[unsafe(no_mangle)]
pub extern "C" fn recorded() {
    with(Session::recorded);
}

/// The transmissions and routes of a radio network in an interval (`Session::transmissions`).
#[unsafe(no_mangle)]
pub extern "C" fn transmissions(from: f64, to: f64) {
    with(|s| s.transmissions(from, to));
}

/// Explains the last change of a window up to a time. 0 with the explanation, or 1 with a message.
#[unsafe(no_mangle)]
pub extern "C" fn why() -> i32 {
    with(Session::why)
}

/// Controllers, recoveries, queues and losses with their parameters, the codes of the logs, and the schema of scenarios.
#[unsafe(no_mangle)]
pub extern "C" fn catalog() {
    with(Session::catalog);
}

/// Runs the speed benchmark's dumbbell; its cost is the answer.
#[unsafe(no_mangle)]
pub extern "C" fn bench(flows: u32, seconds: f64, rate_bps: f64) {
    with(|s| s.bench(flows, seconds, rate_bps as u64));
}

/// Computes the satellites of the request's scenario. 0 with their names and hand-offs, or 1 with an error.
#[unsafe(no_mangle)]
pub extern "C" fn satellites() -> i32 {
    with(Session::satellites)
}

/// The positions of satellites and terminals at a time, the links that are up and the path.
#[unsafe(no_mangle)]
pub extern "C" fn places(seconds: f64) {
    with(|s| s.places(seconds));
}

/// The positions of the radio nodes of the request's scenario from the start to the end, in equal steps. 0, or 1 with an
/// error.
#[unsafe(no_mangle)]
pub extern "C" fn radio() -> i32 {
    with(Session::radio)
}

/// What the file is that begins with the request's bytes: `null`, or whether it is a recording, and what can be done with
/// it.
#[unsafe(no_mangle)]
pub extern "C" fn trace_kind() {
    with(Session::trace_kind);
}

/// Begins to read a recording of another program; the request may name a flow. 0, or 1 with an error.
#[unsafe(no_mangle)]
pub extern "C" fn trace_open() -> i32 {
    with(Session::trace_open)
}

/// Reads the request's bytes as the next ones of the recording. 0, or 1 with an error.
#[unsafe(no_mangle)]
pub extern "C" fn trace_push() -> i32 {
    with(Session::trace_push)
}

/// The recording has ended. 0 with its description, or 1 with an error.
#[unsafe(no_mangle)]
pub extern "C" fn trace_finish() -> i32 {
    with(Session::trace_finish)
}

/// A column of the recording's rows, by its number, as data.
#[unsafe(no_mangle)]
pub extern "C" fn trace_column(number: u32) {
    with(|s| s.trace_column(number as usize));
}

/// The times of the recording's reductions, seconds, as data.
#[unsafe(no_mangle)]
pub extern "C" fn trace_reductions() {
    with(Session::trace_reductions);
}

/// The cause of the recording's last event up to a time; `reduction` 1: of its last reduction. 0, or 1 with a message.
#[unsafe(no_mangle)]
pub extern "C" fn trace_why(seconds: f64, reduction: u32) -> i32 {
    with(|s| s.trace_why(seconds, reduction != 0))
}
