//! A controller of this program in a scenario of the laboratory (docs/rust.md).

use ackclock::{Ack, Congestion, Controller, FlowInfo, Run, Scenario, Settings, Timeout, Window};

#[derive(Clone, Debug)]
struct Aimd {
    window: Window,
    decrease: f64,
}

impl Controller for Aimd {
    fn on_ack(&mut self, ack: &Ack) {
        if self.window.on_ack(ack) {
            self.window.grow(ack);
        }
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.window.reduce(event.window, self.decrease);
    }
    fn on_rto(&mut self, event: &Timeout) {
        self.window.timeout(event, 0.5);
    }
    ackclock::impl_window_accessors!(window);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string("scenarios/dumbbell.toml")?;
    let scenario = Scenario::parse("dumbbell.toml", &text, &[])?
        .with_controller("reno", |flow: &FlowInfo| Aimd { window: Window::new(flow), decrease: 0.7 })?;
    let mut run = Run::new(&scenario, Settings::default())?;
    run.finish();
    for flow in &run.outcome().flows {
        println!("{}: {:.2} Mb/s", flow.name, flow.goodput_bps / 1e6);
    }
    Ok(())
}
