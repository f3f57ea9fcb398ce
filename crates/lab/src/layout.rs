//! Where nodes and links lie, and what the paths of flows must have.

use crate::error::ScenarioError;
use crate::scenario::{Duplex, Flow, FlowKind};
use crate::value::Item;
use net::{NodeId, RouterConfig, Topology};
use std::collections::BTreeMap;

/// The radio nodes, then others in the order in which links name them, and the links between them.
pub(crate) fn lay_out<'a>(
    links: &'a [Duplex],
    airborne: &'a [String],
) -> (Topology, BTreeMap<&'a str, NodeId>) {
    let mut topology = Topology::default();
    let mut nodes: BTreeMap<&str, NodeId> = BTreeMap::new();
    for name in airborne {
        nodes.insert(name, topology.add_node(name));
    }
    for link in links {
        let ends =
            link.ends.each_ref().map(|name| *nodes.entry(name).or_insert_with(|| topology.add_node(name)));
        topology.add_link(ends[0], ends[1], link.directions[0].delay);
        topology.add_link(ends[1], ends[0], link.directions[1].delay);
    }
    (topology, nodes)
}

/// Who listens to routers needs one on the way of its data. A way that is not by wire alone may have any router.
pub(crate) fn check_routers(
    top: &Item,
    flow_items: &[Item],
    links: &[Duplex],
    flows: &[Flow],
) -> Result<(), ScenarioError> {
    let directions: Vec<_> = links.iter().flat_map(|link| &link.directions).collect();
    let mut layout = None;
    for (number, flow) in flows.iter().enumerate() {
        let FlowKind::Tcp(tcp) = &flow.kind else { continue };
        if tcp.missing_router(std::iter::empty).is_none() {
            continue;
        }
        let (topology, nodes) = layout.get_or_insert_with(|| lay_out(links, &[]));
        let ends = nodes.get(flow.from.as_str()).zip(nodes.get(flow.to.as_str()));
        let route = ends.and_then(|(from, to)| topology.routes(&[(*from, *to)]).ok()?.pop());
        let on_way: Vec<&RouterConfig> = match route {
            Some(route) => {
                route.iter().filter_map(|link| directions[link.0 as usize].router.as_ref()).collect()
            }
            None => directions.iter().filter_map(|direction| direction.router.as_ref()).collect(),
        };
        let Some(lacks) = tcp.missing_router(|| on_way.iter().copied()) else { continue };
        // Generated flows stand in no table of their own.
        let origin = flow_items.get(number).map_or(&top.origin, |item| &item.origin);
        let key = format!("flow.{}.tcp.control", flow.name);
        let message = format!("{} needs routers {lacks}", tcp.control.name());
        return Err(ScenarioError::new(origin, &key, message));
    }
    Ok(())
}
