//! Modules that are no controllers, and controllers that fail: each is one line, and ends.

extern crate ackclock_foreign as foreign;

use cc::{Controller, ExternalFactory, ParamValue};
use std::sync::Arc;

/// A controller in the text form of WebAssembly: what its functions do, and what else the module has.
struct Text {
    describe: &'static str,
    memory: &'static str,
    more: &'static str,
    on_ack: &'static str,
    state_size: &'static str,
    globals: &'static str,
}

const MINE: Text = Text {
    describe: "abi = '1.0'\\0asummary = 'mine'\\0a",
    memory: r#"(memory (export "memory") 1)"#,
    more: "",
    on_ack: "i32.const 0",
    state_size: "i64.const 16",
    globals: "",
};

impl Text {
    fn module(&self) -> Vec<u8> {
        let Text { describe, memory, more, on_ack, state_size, globals } = self;
        let text = format!(
            r#"(module {memory} {globals}
            (data (i32.const 16) "mine,other\00") (data (i32.const 64) "{describe}\00")
            (func (export "ackclock_controllers") (result i32) i32.const 16)
            (func (export "mine_describe") (result i32) i32.const 64)
            (func (export "mine_state_size") (result i64) {state_size})
            (func (export "mine_open") (param i32 i32 i32 i32) (result i32) i32.const 0)
            (func $on_ack (export "mine_on_ack") (param i32 i32 i32) (result i32) {on_ack})
            (func (export "mine_on_congestion") (param i32 i32 i32) (result i32) i32.const 0)
            (func (export "mine_on_rto") (param i32 i32 i32) (result i32) i32.const 0)
            (func (export "mine_set_window") (param i32 f64 i32) (result i32) i32.const 0)
            {more})"#
        );
        wat::parse_str(&text).unwrap_or_else(|error| panic!("{text}\n{error}"))
    }
}

fn refused(module: &[u8]) -> String {
    let message = foreign::load_module(module, "mine.wasm", None, &[]).expect_err("it is refused");
    assert!(!message.contains('\n'), "{message}");
    message
}

/// What a controller says after its first ACK; empty if it did not fail.
fn failure(text: &Text) -> String {
    let named = foreign::load_module(&text.module(), "mine.wasm", None, &[]).expect("it is a controller");
    failure_of(&*named.factory)
}

fn failure_of(factory: &dyn ExternalFactory) -> String {
    let mut controller = factory.make(&cc::testing::linux_flow(10.0, f64::INFINITY));
    controller.on_ack(&cc::testing::ack(2));
    let message = controller.failure().map_or(String::new(), |failure| failure.message.clone());
    assert!(!message.contains('\n'), "{message}");
    message
}

#[test]
fn a_small_controller_is_loaded() {
    assert_eq!(failure(&MINE), "");
    // A helper with the ending of a function of a controller is none of it.
    let more = r#"(func (export "log_error") (param i32) (result i32) i32.const 0)"#;
    assert_eq!(failure(&Text { more, ..MINE }), "");
}

#[test]
fn what_is_no_controller_is_refused_in_one_line() {
    let of = |text: &Text| refused(&text.module());
    assert_eq!(refused(b"\x7fELF"), "mine.wasm is not a WebAssembly module: magic header not detected");
    assert!(
        refused(b"\0asm\x01\0\0\0\x05")
            .starts_with("mine.wasm is not a WebAssembly module that can run here: ")
    );
    assert_eq!(
        refused(&wat::parse_str(r#"(module (import "wasi_snapshot_preview1" "fd_write" (func)))"#).unwrap()),
        "mine.wasm imports wasi_snapshot_preview1.fd_write: build it without the standard library \
         (docs/native-controllers.md)"
    );
    assert_eq!(
        refused(&wat::parse_str("(module)").unwrap()),
        "mine.wasm does not export its memory as \"memory\""
    );
    assert_eq!(
        of(&Text { memory: r#"(memory (export "memory") 528)"#, ..MINE }),
        "mine.wasm asks for 33 MiB; at most 16 MiB are possible"
    );
    let describe = "abi = '1.3'\\0asummary = 'mine'\\0a";
    assert_eq!(
        of(&Text { describe, ..MINE }),
        "mine.wasm needs interface 1.3; this program has 1.1 (rebuild it with ackclock.h of this version)"
    );
    let describe = "abi = '1.0'\\0asummary = 'mine'\\0aneeds = ['rat']\\0a";
    assert!(of(&Text { describe, ..MINE }).starts_with("mine.wasm: describe, line 3: needs: \"rat\" is not"));
    assert_eq!(
        of(&Text { describe: "\\ff\\fe", ..MINE }),
        "mine_describe of mine.wasm: its text is not UTF-8"
    );
    let describe = "abi = '1.0'\\0asummary = 'mine'\\0aprobes = ['x']\\0a";
    assert_eq!(
        of(&Text { describe, ..MINE }),
        "mine.wasm: controller mine has no mine_probe, but names in probes"
    );
    assert_eq!(
        of(&Text { state_size: "i64.const 1048577", ..MINE }),
        "mine.wasm: a state of 1048577 bytes; at most 1048576 are possible"
    );
    let wrong = r#"(func (export "mine_on_lost") (param i32) (result i32) i32.const 0)"#;
    assert_eq!(
        of(&Text { more: wrong, ..MINE }),
        "mine.wasm: the function mine_on_lost has another type than in ackclock.h"
    );
    let describe = "abi = '1.0'\\0asummary = 'mine'\\0aprobes = ['rtt_s']\\0a";
    assert!(of(&Text { describe, ..MINE }).contains("probes: rtt_s is a column that the trace has already"));
    let start = Text { more: "(func $start unreachable) (start $start)", ..MINE };
    assert_eq!(of(&start), "the start of mine.wasm: unreachable");
    let looping = Text { more: "(func $start (loop (br 0))) (start $start)", ..MINE };
    assert_eq!(of(&looping), "the start of mine.wasm did not end within 500,000,000 instructions");
}

#[test]
fn limits_are_those_of_the_specification() {
    let of =
        |text: &Text| foreign::load_module(&text.module(), "mine.wasm", None, &[]).err().unwrap_or_default();
    assert!(of(&Text { more: "(table 10001 funcref)", ..MINE }).starts_with("the start of mine.wasm: "));
    assert_eq!(of(&Text { more: "(table 10000 funcref)", ..MINE }), "");
    let globals = "(global (mut i32) (i32.const 0))".repeat(1001);
    let many = Text { globals: Box::leak(globals.into_boxed_str()), ..MINE };
    assert!(of(&many).contains("can run here"), "{}", of(&many));
    let mut large = MINE.module();
    // A custom section of 4 MiB.
    large.extend([0, 0x84, 0x80, 0x80, 0x02, 3, b'a', b'b', b'c']);
    large.resize(large.len() + (4 << 20), 0);
    assert!(refused(&large).starts_with("mine.wasm has 4194"));
}

#[test]
fn a_name_that_a_file_does_not_have_is_refused_with_those_that_it_has() {
    let load =
        |name| foreign::load_module(&MINE.module(), "mine.wasm", Some(name), &[]).expect_err("it is refused");
    assert_eq!(load("mone"), "mine.wasm has no controller mone; it has mine, other; did you mean \"mine\"?");
    assert_eq!(load("bbr"), "mine.wasm has no controller bbr; it has mine, other");
}

#[test]
fn a_controller_that_fails_says_how() {
    let of = |on_ack| failure(&Text { on_ack, ..MINE });
    assert_eq!(of("unreachable"), "on_ack of mine.wasm: unreachable");
    assert_eq!(
        of("(loop (br 0)) i32.const 0"),
        "on_ack of mine.wasm did not end within 50,000,000 instructions"
    );
    assert_eq!(
        of("(i32.store (i32.const -4) (i32.const 1)) i32.const 0"),
        "on_ack of mine.wasm: out of bounds memory access"
    );
    assert_eq!(of("(i32.div_u (i32.const 1) (i32.const 0))"), "on_ack of mine.wasm: integer divide by zero");
    assert_eq!(
        of("(call $on_ack (local.get 0) (local.get 1) (local.get 2))"),
        "on_ack of mine.wasm: call stack exhausted"
    );
    assert_eq!(of("i32.const 7"), "on_ack of mine.wasm: returned 7");
    // Memory that is refused is an answer of the machine, not an end.
    assert_eq!(of("(drop (memory.grow (i32.const 60000))) i32.const 0"), "");
}

#[test]
fn answers_out_of_range_are_refused() {
    let cwnd = |value: &str| {
        let on_ack = format!("(f64.store offset=8 (local.get 2) (f64.const {value})) i32.const 0");
        failure(&Text { on_ack: Box::leak(on_ack.into_boxed_str()), ..MINE })
    };
    assert_eq!(cwnd("nan"), "cwnd is nan after on_ack, not a number from 1 on");
    assert_eq!(cwnd("0"), "cwnd is 0 after on_ack, not a number from 1 on");
    assert_eq!(cwnd("-1"), "cwnd is -1 after on_ack, not a number from 1 on");
    assert_eq!(cwnd("inf"), "cwnd is inf after on_ack, not finite");
    assert_eq!(cwnd("1e300"), "");
    let other = |offset: usize, value: &str| {
        let on_ack = format!("(i64.store offset={offset} (local.get 2) (i64.const {value})) i32.const 0");
        let describe = "abi = '1.0'\\0asummary = 'mine'\\0aneeds = ['pacing', 'timer']\\0a";
        failure(&Text { on_ack: Box::leak(on_ack.into_boxed_str()), describe, ..MINE })
    };
    for (place, answer) in cc::Answer::ALL.iter().enumerate().skip(2) {
        let message = other(8 * (1 + place), "0x3ff0000000000001");
        let accepted = matches!(answer.field.kind, cc::ValueKind::Time | cc::ValueKind::Number);
        let read = answer.needs == cc::Signals::NONE || accepted || answer.field.name == "send_quantum";
        assert_eq!(message.is_empty(), accepted || !read, "{}: {message}", answer.field.name);
        assert!(message.is_empty() || message.contains(answer.expected), "{message}");
    }
}

#[test]
fn memory_that_is_not_given_back_ends_the_run_of_its_owner_only() {
    // Each flow has an instance of its own of 16 MiB, and 2 GiB are there for all.
    let describe = "abi = '1.0'\\0asummary = 'mine'\\0astate = 'instance'\\0a";
    let large = Text { describe, memory: r#"(memory (export "memory") 256)"#, ..MINE };
    let named = foreign::load_module(&large.module(), "mine.wasm", None, &[]).unwrap();
    let flow = cc::testing::linux_flow(10.0, f64::INFINITY);
    let flows: Vec<_> = (0..140).map(|_| named.factory.make(&flow)).collect();
    let failed = flows.iter().filter(|flow| flow.failure().is_some()).count();
    assert!((8..40).contains(&failed), "{failed}");
    drop(flows);
    assert_eq!(failure_of(&*named.factory), "");
}

#[test]
fn an_instance_whose_state_is_hidden_is_not_copied() {
    let describe = "abi = '1.0'\\0asummary = 'mine'\\0astate = 'instance'\\0a";
    let copied = |globals| {
        let named =
            foreign::load_module(&Text { describe, globals, ..MINE }.module(), "mine.wasm", None, &[])
                .unwrap();
        let controller = named.factory.make(&cc::testing::linux_flow(10.0, f64::INFINITY));
        controller.clone().failure().map_or(String::new(), |failure| failure.message.clone())
    };
    let pointer = "(global (mut i32) (i32.const 0))";
    assert_eq!(copied(pointer), "");
    assert_eq!(
        copied("(global (mut i32) (i32.const 0)) (global (export \"x\") (mut i64) (i64.const 0))"),
        ""
    );
    assert_eq!(
        copied("(global (mut i32) (i32.const 0)) (global (mut i64) (i64.const 0))"),
        "mine.wasm has 1 globals that change and are not exported"
    );
}

#[test]
fn a_state_outside_the_block_is_a_failed_check() {
    let on_ack = "(f64.store (i32.const 8) (f64.add (f64.load (i32.const 8)) (f64.const 1)))
        (f64.store offset=8 (local.get 2) (f64.add (f64.const 1) (f64.load (i32.const 8)))) i32.const 0";
    let named = foreign::load_module(&Text { on_ack, ..MINE }.module(), "mine.wasm", None, &[]).unwrap();
    let checked = foreign::check::check(&*named.factory);
    let apart = checked.iter().find(|checked| checked.property.starts_with("keeps the state")).unwrap();
    assert!(
        apart.failure.as_deref().is_some_and(|failure| failure.contains("state = \"instance\"")),
        "{apart:?}"
    );
}

#[test]
fn equal_modules_are_equal_factories() {
    let load = |values: &[(String, ParamValue)]| {
        let describe = "abi = '1.0'\\0asummary = 'mine'\\0aparameters = [{ name = 'a', default = 1 }]\\0a";
        let named =
            foreign::load_module(&Text { describe, ..MINE }.module(), "mine.wasm", None, values).unwrap();
        let factory: Arc<dyn ExternalFactory> = named.factory;
        format!("{factory:?}")
    };
    let two = [("a".to_string(), ParamValue::Number(2.0))];
    assert_eq!(load(&[]), load(&[("a".to_string(), ParamValue::Number(1.0))]));
    assert_ne!(load(&[]), load(&two));
}

/// Modules with some bytes changed, cut or repeated: `ACKCLOCK_MUTATIONS` of them (nightly: 1,000,000).
#[test]
fn mutated_modules_do_no_harm() {
    let count = std::env::var("ACKCLOCK_MUTATIONS").map_or(3000, |count| count.parse().unwrap());
    let growing = "(f64.store offset=8 (local.get 2) (f64.add (f64.load offset=8 (local.get 2)) (f64.const 1))) i32.const 0";
    let instance = "abi = '1.0'\\0asummary = 'mine'\\0astate = 'instance'\\0a";
    let originals = [
        MINE.module(),
        Text { on_ack: growing, ..MINE }.module(),
        Text { describe: instance, on_ack: growing, ..MINE }.module(),
        include_bytes!("../../../web/src/core/mine.wasm").to_vec(),
    ];
    let mut draw = 1u64;
    let mut below = |bound: usize| {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (draw >> 33) as usize % bound
    };
    let mut loaded = 0;
    for number in 0..count {
        let mut module = originals[number % originals.len()].clone();
        for _ in 0..=below(2) {
            let at = below(module.len());
            match below(6) {
                0 => drop(module.remove(at)),
                1 => module.insert(at, below(256) as u8),
                2 => module.truncate(at.max(1)),
                3 => module[at] ^= 1 << below(8),
                4 => module[at] = [0, 1, 0x7f, 0x80, 0xff][below(5)],
                _ => module[at] = below(256) as u8,
            }
        }
        loaded += usize::from(foreign::fuzzing::module(&module));
    }
    assert!(loaded * 50 > count, "{loaded} of {count} were controllers");
    println!("{loaded} of {count} mutated modules were controllers");
}
