//! Which user a slot serves first.

use super::config::CellOptions;

/// The scheduler of one channel, down or up.
#[derive(Clone, Debug)]
pub enum SlotScheduler {
    /// The largest rate over the average rate, which moves by `1 / window` in each slot.
    ProportionalFair { window: f64, decays: bool },
    /// In turns: the number of the user that comes first.
    RoundRobin(u32),
    /// The largest rate.
    LargestRate,
}

/// The average rate of a user, bytes a slot.
#[derive(Clone, Copy, Debug)]
pub struct Average {
    rate: f64,
    /// The slot after the last one that it takes into account.
    next: u64,
}

impl Default for Average {
    fn default() -> Average {
        Average { rate: 1e-6, next: 0 }
    }
}

impl SlotScheduler {
    pub fn new(options: &CellOptions) -> SlotScheduler {
        match options.scheduler {
            "round_robin" => SlotScheduler::RoundRobin(0),
            "max_ci" => SlotScheduler::LargestRate,
            _ => {
                let decays = options.idle == "decay";
                SlotScheduler::ProportionalFair { window: options.pf_window, decays }
            }
        }
    }

    /// The place of user `number` of `users` in the order of a slot, by its rate in it: the largest first. `slot` counts the slots
    /// in which the user can be served.
    pub fn metric(&self, slot: u64, number: u32, users: u32, rate: f64, average: &mut Average) -> f64 {
        match self {
            SlotScheduler::ProportionalFair { window, decays } => {
                let idle = slot.saturating_sub(average.next);
                if *decays && idle > 0 && average.next > 0 {
                    average.rate *= libm::pow(1.0 - 1.0 / window, idle as f64);
                }
                average.next = slot + 1;
                rate / average.rate
            }
            SlotScheduler::RoundRobin(first) => -(((number + users - first) % users) as f64),
            SlotScheduler::LargestRate => rate,
        }
    }

    /// User `number` got so many bytes in a slot in which it had data.
    pub fn served(&mut self, number: u32, users: u32, bytes: u32, average: &mut Average) {
        match self {
            SlotScheduler::ProportionalFair { window, .. } => {
                average.rate += (bytes as f64 - average.rate) / *window;
                average.rate = average.rate.max(1e-6);
            }
            SlotScheduler::RoundRobin(first) if bytes > 0 => *first = (number + 1) % users,
            _ => {}
        }
    }
}
