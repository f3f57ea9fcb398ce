//! A client that asks for responses in closed loops.

use super::core::{Core, Timer, exponential};
use crate::scenario::RequestsApp;
use engine::Stream;
use units::{Span, Time};

/// The loops of a connection.
#[derive(Clone, Debug)]
pub struct Requests {
    options: RequestsApp,
    sizes: Stream,
    think: Stream,
    asked: u64,
}

impl Requests {
    pub fn new(options: &RequestsApp, sizes: Stream, think: Stream) -> Requests {
        Requests { options: options.clone(), sizes, think, asked: 0 }
    }

    pub fn start(&mut self, core: &mut Core, now: Time) {
        core.open(now, 0);
    }

    pub fn on_ready(&mut self, core: &mut Core, now: Time) {
        for _ in 0..self.options.outstanding {
            self.ask(core, now);
        }
    }

    /// The next request, unless it was the last one.
    pub fn ask(&mut self, core: &mut Core, now: Time) {
        if core.stopped || self.options.requests.is_some_and(|most| self.asked >= most) {
            return;
        }
        self.asked += 1;
        let bytes = self.options.response.pick(self.sizes.uniform());
        core.ask(now, 0, bytes);
    }

    /// The time from the arrival of a request to its response.
    pub fn service(&self) -> Span {
        self.options.service
    }

    pub fn change_think(&mut self, think: Span) {
        self.options.think = think;
    }

    pub fn on_end(&mut self, core: &mut Core, now: Time) {
        let mean = self.options.think;
        let think = if self.options.random { exponential(&mut self.think, mean) } else { mean };
        if think == Span::ZERO {
            self.ask(core, now);
        } else {
            core.at(now + think, Timer::Think(0));
        }
    }
}
