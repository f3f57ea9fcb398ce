//! Controllers of Rust for programs that load `ackclock.h`: native libraries and WebAssembly modules.
//!
//! ```ignore
//! // Cargo.toml: crate-type = ["cdylib"]
//! ackclock_cc::export_controllers!(cubic: ackclock_cc::Cubic, mine: Mine);
//! ```
//! Each type is an [`Algorithm`] that can be cloned. The file has the functions of `ackclock.h` for each name; the first one is its
//! default. What a module of WebAssembly costs beside the controller is the part of the standard library that it uses.

use crate::controller::{Algorithm, Controller};
use crate::flow::{Arithmetic, FlowInfo, Growth};
use crate::outside::{Answer, Decision, Event, FromWords};
use crate::parameters::{Form, ParamValue, Params};
use crate::signals::Signals;
use std::ffi::CString;
use std::fmt::Write;
use units::{Segments, Time};

/// Words of the struct of answers.
pub const DECISION: usize = 1 + Answer::ALL.len();

/// The state of a flow: what lies in its block.
#[derive(Clone)]
pub struct Exported<C>(C);

/// The text of `NAME_describe`. A parameter that is the name of a file is missing.
pub fn describe<C: Algorithm + Clone>() -> CString {
    let about = C::DESCRIPTOR;
    let (needs, initial_window) = Params::new(about.params, []).map_or((Signals::NONE, None), |params| {
        let controller = C::new(&params, &example_flow());
        (controller.needs(), controller.initial_window())
    });
    let quoted = |text: &str| format!("'{}'", text.replace(['\'', '\n'], " "));
    let list = |names: &mut dyn Iterator<Item = &str>| names.map(quoted).collect::<Vec<_>>().join(", ");
    let mut needed = Signals::named().filter(|(_, signal)| needs.has(*signal)).map(|(name, _)| name);
    let mut text = format!(
        "abi = '1.0'\nsummary = {}\nneeds = [{}]\nprobes = [{}]\nstate = '{}'\n",
        quoted(about.summary),
        list(&mut needed),
        list(&mut about.probes.iter().copied()),
        // What owns memory elsewhere has something to drop.
        if std::mem::needs_drop::<C>() { "instance" } else { "block" },
    );
    if let Some(window) = initial_window {
        let _ = writeln!(text, "initial_window = {window:?}");
    }
    text += "parameters = [\n";
    for key in about.params {
        let bounds = match key.form {
            Form::Number(least, most) => format!("range = [{least:?}, {most:?}], "),
            Form::Word(words) => format!("words = [{}], ", list(&mut words.iter().copied())),
            Form::Switch => String::new(),
            _ => continue,
        };
        let (name, default, doc) = (key.name, key.defaults[0], quoted(key.doc));
        let _ = writeln!(text, "  {{ name = '{name}', default = {default}, {bounds}about = {doc} }},");
    }
    text += "]\n";
    CString::new(text).unwrap_or_default()
}

fn example_flow() -> FlowInfo {
    let arithmetic = Arithmetic {
        growth: Growth::Counted,
        integer_windows: true,
        reduce_on_every_timeout: false,
        rfc_variants: false,
    };
    FlowInfo {
        packet: 1448,
        initial_window: 10.0,
        initial_ssthresh: f64::INFINITY,
        max_window: f64::INFINITY,
        fine_clock: false,
        abe: false,
        seed: 1,
        hops: 0,
        arithmetic,
    }
}

/// The number of parameters that `open` gets.
pub fn parameter_count<C: Algorithm>() -> usize {
    C::DESCRIPTOR.params.iter().filter(|key| is_number(key.form)).count()
}

fn is_number(form: Form) -> bool {
    matches!(form, Form::Number(..) | Form::Word(_) | Form::Switch)
}

/// The controller of a flow, from the words of its struct and the numbers of its parameters. `None` if a value is impossible.
pub fn open<C: Algorithm + Clone>(
    flow: &[u64],
    numbers: &[f64],
    decision: &mut [u64; DECISION],
) -> Option<Exported<C>> {
    let flow = FlowInfo::from_words(flow.get(1..)?)?;
    let keys = C::DESCRIPTOR.params.iter().filter(|key| is_number(key.form));
    let value = |form: Form, number: f64| match form {
        Form::Switch => ParamValue::Switch(number == 1.0),
        Form::Word(words) => ParamValue::Word(words.get(number as usize).copied().unwrap_or_default().into()),
        _ => ParamValue::Number(number),
    };
    let values = keys.zip(numbers).map(|(key, number)| (key.name, value(key.form, *number)));
    let params = Params::new(C::DESCRIPTOR.params, values).ok()?;
    C::check(&params).ok()?;
    let exported = Exported(C::new(&params, &flow));
    exported.answer(decision);
    Some(exported)
}

impl<C: Controller> Exported<C> {
    fn answer(&self, decision: &mut [u64; DECISION]) {
        decision[1..].copy_from_slice(&Decision::of(&self.0).words());
    }

    fn event(&mut self, event: Event<'_>, decision: &mut [u64; DECISION]) -> i32 {
        event.call(&mut self.0);
        self.answer(decision);
        0
    }

    /// Processes an event with a struct; 1 if a value of it is impossible.
    pub fn on_struct<T: FromWords>(
        &mut self,
        words: &[u64],
        event: fn(&T) -> Event<'_>,
        decision: &mut [u64; DECISION],
    ) -> i32 {
        match words.get(1..).and_then(T::from_words) {
            Some(read) => self.event(event(&read), decision),
            None => 1,
        }
    }

    /// Processes an event with a time, ps.
    pub fn on_time(
        &mut self,
        now: i64,
        event: fn(Time) -> Event<'static>,
        decision: &mut [u64; DECISION],
    ) -> i32 {
        self.event(event(Time::from_ps(now.max(0).cast_unsigned())), decision)
    }

    /// Processes an event with a number of segments.
    pub fn on_number(
        &mut self,
        number: Segments,
        event: fn(Segments) -> Event<'static>,
        decision: &mut [u64; DECISION],
    ) -> i32 {
        self.event(event(number), decision)
    }

    /// The internal values.
    pub fn probe(&self, out: &mut [f64]) {
        self.0.probe(out);
    }
}

/// Writes the functions of `ackclock.h` for controllers: `export_controllers!(name: Type, ...)`, once in a library of crate type
/// `cdylib`. Each type is an [`Algorithm`](crate::Algorithm) that can be cloned; its name begins the names of its functions.
#[macro_export]
macro_rules! export_controllers {
    ($($name:ident: $type:ty),+ $(,)?) => {
        /// The names of the controllers.
        #[unsafe(no_mangle)]
        pub extern "C" fn ackclock_controllers() -> *const ::core::ffi::c_char {
            const NAMES: &str = concat!($(stringify!($name), ","),+, "\0");
            static LIST: ::std::sync::OnceLock<::std::ffi::CString> = ::std::sync::OnceLock::new();
            LIST.get_or_init(|| {
                ::std::ffi::CString::new(NAMES.trim_end_matches(['\0', ','])).unwrap_or_default()
            })
            .as_ptr()
        }
        $($crate::export_controllers!(@functions $name $type);)+
    };
    (@functions $name:ident $type:ty) => {
        const _: () = {
            use $crate::export::{DECISION, Exported};
            use ::core::ffi::{c_char, c_void};
            type State = Exported<$type>;

            #[unsafe(export_name = concat!(stringify!($name), "_describe"))]
            extern "C" fn describe() -> *const c_char {
                static TEXT: ::std::sync::OnceLock<::std::ffi::CString> = ::std::sync::OnceLock::new();
                TEXT.get_or_init(|| $crate::export::describe::<$type>()).as_ptr()
            }
            #[unsafe(export_name = concat!(stringify!($name), "_state_size"))]
            extern "C" fn state_size() -> u64 {
                const { assert!(::core::mem::align_of::<State>() <= 16) };
                ::core::mem::size_of::<State>() as u64
            }
            // SAFETY of all functions: the caller keeps the contract of ackclock.h: a block of `state_size` bytes, aligned to 16,
            // structs that begin with their size in bytes, and answers with room for those of this version.
            unsafe fn words<'a>(at: *const u64) -> &'a [u64] {
                unsafe { ::core::slice::from_raw_parts(at, (*at / 8).min(128) as usize) }
            }
            unsafe fn state<'a>(at: *mut c_void) -> &'a mut State {
                unsafe { &mut *at.cast::<State>() }
            }
            unsafe fn answers<'a>(at: *mut u64) -> Option<&'a mut [u64; DECISION]> {
                unsafe { (*at / 8 >= DECISION as u64).then(|| &mut *at.cast::<[u64; DECISION]>()) }
            }
            #[unsafe(export_name = concat!(stringify!($name), "_open"))]
            unsafe extern "C" fn open(at: *mut c_void, flow: *const u64, numbers: *const f64, out: *mut u64) -> i32 {
                let count = $crate::export::parameter_count::<$type>();
                let (flow, Some(out)) = (unsafe { (words(flow), answers(out)) }) else { return 1 };
                let numbers = if count == 0 { &[] } else { unsafe { ::core::slice::from_raw_parts(numbers, count) } };
                match $crate::export::open::<$type>(flow, numbers, out) {
                    Some(exported) => {
                        unsafe { at.cast::<State>().write(exported) };
                        0
                    }
                    None => 1,
                }
            }
            #[unsafe(export_name = concat!(stringify!($name), "_fork"))]
            unsafe extern "C" fn fork(to: *mut c_void, from: *const c_void) -> i32 {
                unsafe { to.cast::<State>().write((*from.cast::<State>()).clone()) };
                0
            }
            #[unsafe(export_name = concat!(stringify!($name), "_close"))]
            unsafe extern "C" fn close(at: *mut c_void) {
                unsafe { at.cast::<State>().drop_in_place() };
            }
            #[unsafe(export_name = concat!(stringify!($name), "_probe"))]
            unsafe extern "C" fn probe(at: *const c_void, out: *mut f64) {
                let count = <$type as $crate::Algorithm>::DESCRIPTOR.probes.len();
                if count > 0 {
                    unsafe { (*at.cast::<State>()).probe(::core::slice::from_raw_parts_mut(out, count)) };
                }
            }
            $crate::export_controllers!(@structs $name
                on_handshake Handshake, on_sample Sample, on_ack Ack, on_lost Lost, on_delivered Delivered, on_sent Sent,
                on_congestion Congestion, on_rto Rto, on_restart Restart, on_transmit_start TransmitStart, on_hint Hint);
            $crate::export_controllers!(@plain $name i64 on_time on_open Open, on_recovery_exit RecoveryExit, on_undo Undo, on_timer Timer);
            $crate::export_controllers!(@plain $name f64 on_number set_window SetWindow, set_ssthresh SetSsthresh);
        };
    };
    (@structs $name:ident $($function:ident $event:ident),+) => {$(
        #[unsafe(export_name = concat!(stringify!($name), "_", stringify!($function)))]
        unsafe extern "C" fn $function(at: *mut c_void, event: *const u64, out: *mut u64) -> i32 {
            let Some(out) = (unsafe { answers(out) }) else { return 1 };
            unsafe { state(at).on_struct(words(event), |event| $crate::Event::$event(event), out) }
        }
    )+};
    (@plain $name:ident $type:ident $call:ident $($function:ident $event:ident),+) => {$(
        #[unsafe(export_name = concat!(stringify!($name), "_", stringify!($function)))]
        unsafe extern "C" fn $function(at: *mut c_void, value: $type, out: *mut u64) -> i32 {
            let Some(out) = (unsafe { answers(out) }) else { return 1 };
            unsafe { state(at).$call(value, |value| $crate::Event::$event(value), out) }
        }
    )+};
}
