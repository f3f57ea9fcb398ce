//! The cost of a call: `call_cost FILE COUNT` passes COUNT ACKs to the controller of a module or a library, or to the registered
//! Reno (`reno`). Prints the number as JSON; benches/instructions.py counts the instructions.

use cc::{AnyController, Controller};
use std::path::Path;

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("call_cost FILE COUNT")?;
    let count: u64 = arguments.next().and_then(|count| count.parse().ok()).ok_or("call_cost FILE COUNT")?;
    let flow = cc::testing::linux_flow(10.0, 100.0);
    let read = || std::fs::read(&file).map_err(|error| error.to_string());
    let named = match Path::new(&file).extension().and_then(|extension| extension.to_str()) {
        Some("wasm") => Some(ackclock_foreign::load_module(&read()?, &file, None, &[])?),
        Some(_) => Some(ackclock_foreign::load_library(Path::new(&file), None, &[])?),
        None => None,
    };
    let mut controller = match &named {
        Some(named) => named.factory.make(&flow),
        None => AnyController::with_defaults(&file, &flow).ok_or("no such controller")?,
    };
    let mut ack = cc::testing::ack(2);
    ack.window_limited = true;
    for number in 0..count {
        ack.now = cc::Time::from_ps(number * 1000);
        ack.next = number;
        controller.on_ack(&ack);
        if controller.cwnd() > 1000.0 {
            controller.set_window(100.0);
        }
    }
    if let Some(failure) = controller.failure() {
        return Err(failure.message.clone());
    }
    println!("{{\"packet_hops\": {count}, \"cwnd\": {}}}", controller.cwnd());
    Ok(())
}
