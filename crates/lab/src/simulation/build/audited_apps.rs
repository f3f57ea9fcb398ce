//! What the auditor is to know of the applications.

use super::flows::Flows;
use super::plan::{BuildPlan, Layout};
use crate::audit::{AuditedApp, AuditedHop, AuditedObject, AuditedPath, AuditedPlayer, AuditedTcp, Auditor};
use crate::scenario::paths::FlowPath;
use crate::scenario::{App, Flow, FlowKind, PageApp, Protocol, VideoApp};
use units::Span;

/// Tells the auditor of every application, in their order.
pub(super) fn add(plan: &BuildPlan<'_>, layout: &Layout<'_>, flows: &Flows, auditor: &mut Auditor) {
    for (index, app) in flows.apps.apps.iter().enumerate() {
        let first = app.flow(0);
        let flow = &plan.scenario.flows[plan.numbered[first as usize]];
        let Some(options) = flow.app.as_deref() else { continue };
        let numbers = (0..flows.apps.places.len() as u32)
            .filter(|flow| flows.apps.place(*flow).is_some_and(|place| place.app as usize == index));
        let paths = [0, 1].map(|back| &layout.paths[2 * first as usize + back]);
        let wired = !paths.iter().any(|path| path.has_radio());
        auditor.add_application(AuditedApp {
            flows: numbers.collect(),
            start: flows.schedules[first as usize].start,
            stop: Some(flows.schedules[first as usize].stop),
            requests_seen: wired,
            tcp: tcp(flow).filter(|_| wired),
            path: path(plan, flow, paths, auditor),
            ..audited(flow, options)
        });
    }
}

/// What the options of an application say.
pub(in crate::simulation) fn audited(flow: &Flow, app: &App) -> AuditedApp {
    let mut audited = AuditedApp { name: flow.name.clone(), ..AuditedApp::default() };
    let common = match app {
        App::Rate(_) => None,
        App::OnOff(_) => {
            audited.ends_with_period = true;
            None
        }
        App::Requests(requests) => {
            (audited.service, audited.outstanding) = (requests.service, Some(requests.outstanding));
            Some(&requests.common)
        }
        App::Page(page) => {
            audited.outstanding = (page.protocol == Protocol::Http1).then_some(1);
            audited.page = Some(objects(page));
            Some(&page.common)
        }
        App::Video(video) => {
            (audited.outstanding, audited.player) = (Some(1), Some(player(video)));
            Some(&video.common)
        }
        App::Frames(frames) => {
            audited.deadline = Some(frames.deadline);
            None
        }
    };
    if let Some(common) = common {
        (audited.asks, audited.request) = (true, [common.request, 300]);
    }
    audited
}

fn objects(page: &PageApp) -> (Vec<AuditedObject>, Option<Span>) {
    let objects = page.page.objects().iter();
    let audited = objects.map(|object| AuditedObject {
        bytes: object.bytes,
        parent: object.parent,
        parse: object.parse,
    });
    (audited.collect(), page.repeat)
}

fn player(video: &VideoApp) -> AuditedPlayer {
    AuditedPlayer {
        chunk: video.chunk,
        chunks: video.length.ps().div_ceil(video.chunk.ps()),
        buffer: video.buffer,
        thresholds: video.thresholds,
    }
}

fn tcp(flow: &Flow) -> Option<AuditedTcp> {
    match &flow.kind {
        FlowKind::Tcp(tcp) => Some(AuditedTcp { syn: tcp.options.syn, header: tcp.options.header }),
        _ => None,
    }
}

/// The empty path of a flow, if it is over links of constant rates and nothing changes it.
fn path(plan: &BuildPlan<'_>, flow: &Flow, paths: [&FlowPath; 2], auditor: &Auditor) -> Option<AuditedPath> {
    if !plan.scenario.changes.is_empty() || !paths.iter().all(|path| path.is_wired()) {
        return None;
    }
    let [links, back] = paths.map(|path| {
        let links = path.links().map(|link| auditor.link(link.0));
        let constant = |link: &crate::audit::AuditedLink| !link.varies && link.medium.is_none();
        links
            .map(|link| constant(link).then_some((link.rate, link.delay.0, link.header)))
            .collect::<Option<Vec<AuditedHop>>>()
    });
    Some(AuditedPath {
        links: links?,
        back: back?,
        segment: flow.kind.segment(),
        header: flow.kind.header(),
        full: matches!(flow.kind, FlowKind::Tcp(_)),
    })
}
