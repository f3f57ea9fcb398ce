//! A part of a run: a simulation with the events at some of the nodes.

use crate::simulation::border::Message;
use crate::simulation::event_loop::Simulation;
use net::cut::arrives_from;

pub(super) type Part = Simulation<false, false>;

/// Schedules the arrivals of packets from other parts.
pub(super) fn receive(part: &mut Part, messages: &mut Vec<Message>) {
    for mut message in messages.drain(..) {
        if let Some(options) = message.options {
            message.packet.options = part.ack_options.put(&options);
        }
        let Message { at, link, packet, .. } = message;
        let Part { network, event_queue, recorder, .. } = part;
        arrives_from(network, event_queue, recorder, link, at, &packet);
    }
}
