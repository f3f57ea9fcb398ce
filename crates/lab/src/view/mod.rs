//! What drawings and explanations need: satellites over time, curves and packets of a run, causes of window changes.

mod curves;
mod datagrams;
mod flights;
mod media;
mod satellites;
mod series;
mod why;

pub use datagrams::{DatagramHistory, DatagramStep, datagram_history};
pub use flights::{Flights, LinkFate};
pub use satellites::{PathSample, SatelliteSnapshot, SatelliteView};
pub use series::{Curves, Series};
pub use why::{
    BudgetPart, Explanation, MessageBudget, Question, Unanswered, explain, message_budget, reductions,
};
