//! Plays the situations and judges: runs of stack and reference, tests, and the checks of what differs.

use super::record::{AdapterAudit, RunRecord};
use super::reference::{Reference, Variant};
use super::report::{Curve, MetricReport, Report, SituationReport, Standing};
use super::situations::{Metric, SITUATIONS, Situation};
use super::statistics::{Comparison, Verdict, compare, judge, mean};
use super::{ConformError, Conformance, VERSION};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use units::Span;

/// The first of the fresh seeds, and their number.
const FRESH: (u64, u64) = (1_000_001, 10);
/// Seeds with which the size of the application's writes is tried.
const WRITE_SEEDS: usize = 3;
/// A bulk flow whose application limits it for more of the time is not judged.
const MOST_APP_LIMITED: f64 = 0.01;
/// A bulk flow whose mean datagram is less of the largest is not judged.
const LEAST_DATAGRAM: f64 = 0.97;

/// Runs the stack in a situation: with a seed, its name of the controller, and the size of the application's writes.
pub(super) type RunStack<'a> =
    dyn Fn(&'static Situation, u64, &str, usize) -> Result<RunRecord, ConformError> + Sync + 'a;

/// A comparison under way.
pub(super) struct Judge<'a> {
    options: &'a Conformance,
    stack: &'a RunStack<'a>,
    reference: Reference,
    situations: Vec<&'static Situation>,
    progress: &'a (dyn Fn(usize, usize) + Sync),
    stop: &'a AtomicBool,
    /// Held by a run of a stack that runs alone.
    exclusive: Mutex<()>,
}

/// The runs of a situation with some seeds.
struct Runs {
    stack: Vec<RunRecord>,
    /// Of each variant of the reference.
    reference: Vec<Vec<RunRecord>>,
}

/// What a job runs.
#[derive(Clone, Copy)]
enum Side<'a> {
    /// The stack, with its name of the controller and the size of the application's writes.
    Stack(&'a str, usize),
    /// A variant of a reference.
    Reference(&'a Reference, usize),
}

/// Bytes on the wire over payload without retransmissions, of the stack and of the variants.
struct Overheads {
    stack: f64,
    reference: Vec<f64>,
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl<'a> Judge<'a> {
    pub fn new(options: &'a Conformance, stack: &'a RunStack<'a>) -> Result<Judge<'a>, ConformError> {
        let bad = ConformError::BadInput;
        let reference = Reference::parse(&options.reference).map_err(bad)?;
        let mut situations = Vec::new();
        for name in &options.situations {
            let Some(situation) = Situation::named(name) else {
                let names = SITUATIONS.iter().map(|situation| situation.name).collect::<Vec<_>>().join(", ");
                return Err(bad(format!("there is no situation \"{name}\"; there are {names}")));
            };
            if !situation.ecn || options.ecn {
                situations.push(situation);
            }
        }
        if situations.is_empty() {
            return Err(bad("no situation is left; ecn needs a stack with ECN".into()));
        }
        if options.seeds < 3 {
            return Err(bad(format!("{} seeds are too few; use at least 3", options.seeds)));
        }
        if options.first_seed + options.seeds > FRESH.0 {
            return Err(bad(format!(
                "seeds from {} on are for the confirmation of differences; use smaller ones",
                FRESH.0
            )));
        }
        Ok(Judge {
            options,
            stack,
            reference,
            situations,
            progress: &|_, _| (),
            stop: &NEVER,
            exclusive: Mutex::new(()),
        })
    }

    /// Reports to `progress` the runs that are done and all that are planned, and ends soon after `stop` is set.
    pub fn watched(mut self, progress: &'a (dyn Fn(usize, usize) + Sync), stop: &'a AtomicBool) -> Self {
        (self.progress, self.stop) = (progress, stop);
        self
    }

    pub fn report(&self) -> Result<Report, ConformError> {
        let options = self.options;
        let seeds: Vec<u64> = (options.first_seed..options.first_seed + options.seeds).collect();
        let controller = (&self.reference, options.controller.as_str());
        let runs = self.runs(&self.situations, &seeds, controller, options.write_bytes)?;
        let overheads = Overheads::of(&self.situations, &runs);
        let mut situations: Vec<SituationReport> = self
            .situations
            .iter()
            .zip(&runs)
            .map(|(situation, runs)| situation_report(situation, runs, &overheads))
            .collect();
        judge(situations.iter_mut().flat_map(|s| &mut s.metrics).map(|metric| &mut metric.comparison));
        for metric in situations.iter_mut().flat_map(|situation| &mut situation.metrics) {
            metric.standing = match metric.comparison.verdict {
                Verdict::Agrees => Standing::Agrees,
                Verdict::Differs => Standing::Differs,
                Verdict::Undecided => Standing::Undecided,
                Verdict::NotCompared => Standing::NotCompared,
            };
        }
        for ((situation, runs), report) in self.situations.iter().zip(&runs).zip(&mut situations) {
            if report.metrics.iter().any(|metric| metric.standing == Standing::Differs) {
                self.check(situation, runs, &overheads, report)?;
            }
        }
        let variants = self.reference.variants().iter().map(Variant::name).collect();
        Ok(Report {
            form: 1,
            situations_version: VERSION,
            stack: options.name.clone(),
            version: options.version.clone(),
            controller: options.controller.clone(),
            reference: self.reference.to_string(),
            variants,
            engine: lab::engine().to_string(),
            seeds,
            fresh_seeds: (FRESH.0..FRESH.0 + FRESH.1).collect(),
            wire_over_payload: std::iter::once(overheads.stack).chain(overheads.reference).collect(),
            situations,
        })
    }

    /// Runs the stack and every variant of the reference in some situations.
    fn runs(
        &self,
        situations: &[&'static Situation],
        seeds: &[u64],
        (reference, controller): (&Reference, &str),
        write_bytes: usize,
    ) -> Result<Vec<Runs>, ConformError> {
        let mut jobs: Vec<(&'static Situation, u64, Side<'_>)> = Vec::new();
        let variants = reference.variants().len();
        for situation in situations {
            // The stack first: what fails, fails early.
            jobs.extend(seeds.iter().map(|seed| (*situation, *seed, Side::Stack(controller, write_bytes))));
            for variant in 0..variants {
                jobs.extend(
                    seeds.iter().map(|seed| (*situation, *seed, Side::Reference(reference, variant))),
                );
            }
        }
        let mut records = self.play(&jobs)?.into_iter();
        let mut take = || records.by_ref().take(seeds.len()).collect::<Vec<RunRecord>>();
        let each = situations.iter().map(|_| {
            let stack = take();
            Runs { stack, reference: (0..variants).map(|_| take()).collect() }
        });
        Ok(each.collect())
    }

    /// Runs jobs on several threads; the records in the order of the jobs.
    fn play(&self, jobs: &[(&'static Situation, u64, Side<'_>)]) -> Result<Vec<RunRecord>, ConformError> {
        let results: Mutex<Vec<Option<RunRecord>>> = Mutex::new(vec![None; jobs.len()]);
        // Of several failures the first job's is reported, whichever thread is faster.
        let (failed, next) = (Mutex::new(None::<(usize, ConformError)>), AtomicUsize::new(0));
        let work = || {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some((situation, seed, side)) = jobs.get(place).copied() else { return };
                if self.stop.load(Ordering::Relaxed) || lock(&failed).is_some() {
                    return;
                }
                match self.play_one(situation, seed, side) {
                    Ok(record) => lock(&results)[place] = Some(record),
                    Err(error) => {
                        let mut failed = lock(&failed);
                        if failed.as_ref().is_none_or(|(first, _)| place < *first) {
                            *failed = Some((place, error));
                        }
                    }
                }
                (self.progress)(place + 1, jobs.len());
            }
        };
        if self.options.threads == 1 {
            work();
        } else {
            std::thread::scope(|scope| {
                for _ in 0..self.options.threads.min(jobs.len()) {
                    scope.spawn(work);
                }
            });
        }
        if let Some((_, error)) = lock(&failed).take() {
            return Err(error);
        }
        let records: Option<Vec<RunRecord>> = lock(&results).drain(..).collect();
        records.ok_or(ConformError::Stopped)
    }

    fn play_one(
        &self,
        situation: &'static Situation,
        seed: u64,
        side: Side<'_>,
    ) -> Result<RunRecord, ConformError> {
        match side {
            Side::Reference(reference, variant) => simulated(situation, seed, reference.variants()[variant]),
            Side::Stack(controller, write_bytes) => {
                let _one_at_a_time = self.options.exclusive.then(|| lock(&self.exclusive));
                (self.stack)(situation, seed, controller, write_bytes)
            }
        }
    }

    /// Checks what differs in a situation before it is said.
    fn check(
        &self,
        situation: &'static Situation,
        runs: &Runs,
        overheads: &Overheads,
        report: &mut SituationReport,
    ) -> Result<(), ConformError> {
        let seeds: Vec<u64> = runs.stack.iter().map(|record| record.seed).collect();
        let further = FurtherRuns {
            fresh: self.fresh(situation)?,
            control: self.control(situation, &seeds)?,
            other_writes: if report.audit.is_some() && runs.stack[0].writes.is_empty() {
                self.other_writes(situation, &seeds)?
            } else {
                Vec::new()
            },
        };
        let limited = report.limited.clone();
        for metric in report.metrics.iter_mut().filter(|metric| metric.standing == Standing::Differs) {
            let mut checks = Checks { standing: Standing::Differs, said: Vec::new() };
            checks.fresh_seeds(metric.metric, &further.fresh, overheads);
            checks.add(
                "the references are two transports, simulated TCP and QUIC, and the stack is outside both",
                None,
            );
            match &further.control {
                Some(control) => checks.reno(metric.metric, runs, overheads, control),
                None if self.reference.controller == "reno" => checks.add(
                    "Reno is its own control: nothing tells the controller from loss recovery and pacing",
                    Some(Standing::Suspect),
                ),
                None => {
                    checks.add("the stack names no Reno of its own as a control", Some(Standing::Suspect))
                }
            }
            for (bytes, records) in &further.other_writes {
                checks.writes(metric.metric, (runs, overheads), *bytes, records);
            }
            if let Some(limited) = &limited {
                checks.add(limited, Some(Standing::ApplicationOrAdapter));
            }
            (metric.standing, metric.checks) = (checks.standing, checks.said);
        }
        report.divergence = divergence(runs, overheads);
        Ok(())
    }

    /// Runs with seeds that played no part so far.
    fn fresh(&self, situation: &'static Situation) -> Result<Runs, ConformError> {
        let seeds: Vec<u64> = (FRESH.0..FRESH.0 + FRESH.1).collect();
        let own = (&self.reference, self.options.controller.as_str());
        Ok(self.runs(&[situation], &seeds, own, self.options.write_bytes)?.remove(0))
    }

    /// Runs of the stack's Reno and of ours, if the stack has one and is not compared as Reno itself.
    fn control(&self, situation: &'static Situation, seeds: &[u64]) -> Result<Option<Control>, ConformError> {
        let is_reno = self.reference.controller == "reno";
        let Some(theirs) = self.options.reno.as_deref().filter(|_| !is_reno) else { return Ok(None) };
        let reno = Reference::parse("reno").map_err(ConformError::BadInput)?;
        let runs = self.runs(&[situation], seeds, (&reno, theirs), self.options.write_bytes)?.remove(0);
        let overheads = Overheads::of(&[situation], std::slice::from_ref(&runs));
        Ok(Some(Control { runs, overheads }))
    }

    /// Runs of the stack whose application writes half and twice as much at a time, with some of the seeds.
    fn other_writes(
        &self,
        situation: &'static Situation,
        seeds: &[u64],
    ) -> Result<Vec<(usize, Vec<RunRecord>)>, ConformError> {
        let controller = self.options.controller.as_str();
        let written = self.options.write_bytes;
        let sizes = [written / 2, written * 2];
        let each = sizes.into_iter().map(|bytes| {
            let few = seeds.iter().take(WRITE_SEEDS);
            let jobs: Vec<_> = few.map(|seed| (situation, *seed, Side::Stack(controller, bytes))).collect();
            Ok((bytes, self.play(&jobs)?))
        });
        each.collect()
    }
}

/// The runs with which a difference is checked.
struct FurtherRuns {
    fresh: Runs,
    control: Option<Control>,
    /// With other sizes of the application's writes.
    other_writes: Vec<(usize, Vec<RunRecord>)>,
}

/// The stack's Reno and ours.
struct Control {
    runs: Runs,
    overheads: Overheads,
}

/// What the checks of a metric leave to say.
struct Checks {
    standing: Standing,
    said: Vec<String>,
}

impl Checks {
    /// Adds a sentence, and perhaps what it limits the standing to.
    fn add(&mut self, sentence: &str, at_most: Option<Standing>) {
        self.said.push(sentence.into());
        if let Some(standing) = at_most {
            self.standing = worse(self.standing, standing);
        }
    }

    fn fresh_seeds(&mut self, metric: Metric, fresh: &Runs, overheads: &Overheads) {
        let mut again = vec![comparison(metric, fresh, overheads, base_rtt_s(fresh))];
        judge(&mut again);
        let count = fresh.stack.len();
        match again[0].verdict {
            Verdict::Differs => self.add(&format!("{count} fresh seeds say the same"), None),
            _ => self.add(&format!("{count} fresh seeds do not confirm it"), Some(Standing::Undecided)),
        }
    }

    fn reno(&mut self, metric: Metric, runs: &Runs, overheads: &Overheads, control: &Control) {
        let (words, excluded) = reno_check(metric, runs, overheads, &control.runs, &control.overheads);
        self.add(&words, excluded.then_some(Standing::NotTheController));
    }

    fn writes(
        &mut self,
        metric: Metric,
        (runs, overheads): (&Runs, &Overheads),
        bytes: usize,
        records: &[RunRecord],
    ) {
        let (part, least) = metric.margin(base_rtt_s(runs));
        let before = values(metric, &runs.stack[..records.len()], overheads.stack);
        let after = values(metric, records, overheads.stack);
        let (Some(before), Some(after)) = (mean(&before), mean(&after)) else { return };
        if (after - before).abs() > (part * before).max(least) {
            let sentence = format!("with writes of {bytes} bytes it is {:.3} times as large", after / before);
            self.add(&sentence, Some(Standing::ApplicationOrAdapter));
        } else {
            self.add(&format!("with writes of {bytes} bytes it stays within the margin"), None);
        }
    }
}

/// Runs a variant of a reference in a situation.
pub(super) fn simulated(
    situation: &'static Situation,
    seed: u64,
    variant: Variant<'_>,
) -> Result<RunRecord, ConformError> {
    let scenario = variant.scenario(situation, seed).map_err(|error| invalid(situation, error))?;
    RunRecord::of_simulation(situation, &scenario, seed).map_err(|error| invalid(situation, error))
}

/// An error of a situation with the values that the user has chosen.
pub(super) fn invalid(situation: &Situation, error: impl std::fmt::Display) -> ConformError {
    ConformError::BadInput(format!("{}: {error}", situation.name))
}

/// The standing that claims less.
fn worse(a: Standing, b: Standing) -> Standing {
    let rank = |standing: Standing| match standing {
        Standing::Differs => 0,
        Standing::Suspect => 1,
        Standing::NotTheController => 2,
        Standing::ApplicationOrAdapter => 3,
        Standing::Undecided | Standing::Agrees | Standing::NotCompared => 4,
    };
    if rank(b) > rank(a) { b } else { a }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Overheads {
    fn of(situations: &[&'static Situation], runs: &[Runs]) -> Overheads {
        let bulk = |place: usize| situations[place].step == Span::from_ms(100);
        let least = |records: &mut dyn Iterator<Item = &RunRecord>| {
            let ratios = records.filter_map(|record| record.value(Metric::WireOverPayload));
            let least = ratios.fold(f64::INFINITY, f64::min);
            if least.is_finite() { least } else { 1.0 }
        };
        let all = || runs.iter().enumerate().filter(|(place, _)| bulk(*place)).map(|(_, runs)| runs);
        let variants = runs.first().map_or(0, |runs| runs.reference.len());
        let reference =
            (0..variants).map(|variant| least(&mut all().flat_map(|runs| &runs.reference[variant])));
        Overheads { stack: least(&mut all().flat_map(|runs| &runs.stack)), reference: reference.collect() }
    }
}

/// The values of a metric of some runs, of those that have one. Goodputs are compared in bytes on the wire.
fn values(metric: Metric, records: &[RunRecord], overhead: f64) -> Vec<f64> {
    let factor = match metric {
        Metric::Goodput | Metric::GoodputFirst | Metric::GoodputSecond | Metric::GoodputThird => overhead,
        Metric::WireOverPayload => 1.0 / overhead,
        _ => 1.0,
    };
    records.iter().filter_map(|record| record.value(metric)).map(|value| value * factor).collect()
}

fn comparison(metric: Metric, runs: &Runs, overheads: &Overheads, rtt_s: f64) -> Comparison {
    let (part, least) = metric.margin(rtt_s);
    let references: Vec<Vec<f64>> = runs
        .reference
        .iter()
        .zip(&overheads.reference)
        .map(|(records, overhead)| values(metric, records, *overhead))
        .collect();
    compare(&values(metric, &runs.stack, overheads.stack), &references, part, least)
}

/// The base round-trip time: twice the delay of an empty path.
fn base_rtt_s(runs: &Runs) -> f64 {
    2.0 * runs.reference[0][0].delay_s[2].unwrap_or(0.02)
}

/// Whether the stack's Reno agrees with ours in a situation in which its controller does not, in words; and whether that
/// excludes the controller as the cause.
fn reno_check(
    metric: Metric,
    runs: &Runs,
    overheads: &Overheads,
    control: &Runs,
    own_overheads: &Overheads,
) -> (String, bool) {
    let rtt_s = base_rtt_s(runs);
    let mut own = vec![comparison(metric, control, own_overheads, rtt_s)];
    judge(&mut own);
    if own[0].verdict == Verdict::Agrees {
        return ("the stack's Reno agrees with ours in this situation".into(), false);
    }
    // Their controller over their Reno, beside ours over our Reno; of the control every variant is of one transport.
    let ratios = |a: Vec<f64>, b: Vec<f64>| -> Vec<f64> {
        a.iter().zip(&b).filter(|(_, b)| **b > 0.0).map(|(a, b)| a / b).collect()
    };
    let stack = ratios(
        values(metric, &runs.stack, overheads.stack),
        values(metric, &control.stack, own_overheads.stack),
    );
    let transports = control.reference.len().min(2);
    let reference: Vec<Vec<f64>> = (0..runs.reference.len())
        .map(|place| {
            let of_control = place % transports;
            ratios(
                values(metric, &runs.reference[place], overheads.reference[place]),
                values(metric, &control.reference[of_control], own_overheads.reference[of_control]),
            )
        })
        .collect();
    let (part, _) = metric.margin(rtt_s);
    let mut relative = vec![compare(&stack, &reference, part.max(0.05), 0.0)];
    judge(&mut relative);
    let verb = if own[0].verdict == Verdict::Differs { "differs from ours too" } else { "is undecided" };
    match relative[0].verdict {
        Verdict::Differs => (
            format!(
                "the stack's Reno {verb}; its controller over its Reno still differs from ours over ours"
            ),
            false,
        ),
        _ => (
            format!(
                "the stack's Reno {verb}, and its controller over its Reno does not differ from ours over ours"
            ),
            true,
        ),
    }
}

fn situation_report(situation: &Situation, runs: &Runs, overheads: &Overheads) -> SituationReport {
    let audit = runs.stack[0].audit.clone();
    let rtt_s = base_rtt_s(runs);
    let metrics = situation
        .metrics
        .iter()
        .map(|metric| MetricReport {
            metric: *metric,
            name: metric.words().into(),
            unit: metric.unit().into(),
            standing: Standing::NotCompared,
            comparison: comparison(*metric, runs, overheads, rtt_s),
            checks: Vec::new(),
        })
        .collect();
    SituationReport {
        name: situation.name.into(),
        title: situation.title().into(),
        scenario: situation.text().into(),
        assignments: assignments(situation, runs.stack[median(runs)].seed),
        metrics,
        divergence: None,
        curve: curve(runs, overheads),
        limited: audit.as_ref().and_then(|audit| limited(audit, runs)),
        audit,
    }
}

/// The assignments of a seed, as on a command line.
fn assignments(situation: &Situation, seed: u64) -> Vec<String> {
    let values = situation.of_seed(seed).unwrap_or_default();
    values.into_iter().map(|(key, ns)| format!("{}={ns}ns", key.join("."))).collect()
}

/// Whether adapter or application limits a bulk flow.
fn limited(audit: &AdapterAudit, runs: &Runs) -> Option<String> {
    let record = &runs.stack[0];
    if !record.writes.is_empty() || record.bytes.is_some() {
        return None;
    }
    if let Some(part) = audit.app_limited.filter(|part| *part > MOST_APP_LIMITED) {
        return Some(format!("the application limits the stack for {:.1} % of the time", 100.0 * part));
    }
    let filled = audit.mean_datagram / audit.largest_datagram.max(1.0);
    (filled < LEAST_DATAGRAM).then(|| {
        format!(
            "the mean datagram has {:.0} bytes, the largest {:.0}: the stack or its adapter does not fill datagrams",
            audit.mean_datagram, audit.largest_datagram
        )
    })
}

/// The run of the stack with the median goodput.
fn median(runs: &Runs) -> usize {
    let mut order: Vec<(f64, usize)> = runs
        .stack
        .iter()
        .enumerate()
        .map(|(place, record)| (record.value(Metric::Goodput).unwrap_or(0.0), place))
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    order[order.len() / 2].1
}

/// Points of the drawn curves.
const DRAWN: usize = 120;

fn curve(runs: &Runs, overheads: &Overheads) -> Curve {
    let place = median(runs);
    let stack = &runs.stack[place];
    let end = stack.step_s * stack.delivered[0].len() as f64;
    let step_s = end / DRAWN as f64;
    let rate = |record: &RunRecord, n: usize, overhead: f64| {
        let ends = [n, n + 1].map(|n| record.at(0, n as f64 * step_s).unwrap_or(0.0));
        (ends[1] - ends[0]) * 8.0 / step_s * overhead
    };
    let mut drawn =
        Curve { step_s, stack_bps: Vec::new(), low_bps: Vec::new(), high_bps: Vec::new(), seed: stack.seed };
    for n in 0..DRAWN {
        let references = || {
            let variants = runs.reference.iter().zip(&overheads.reference);
            variants
                .flat_map(|(records, overhead)| records.iter().map(move |record| rate(record, n, *overhead)))
        };
        drawn.stack_bps.push(rate(stack, n, overheads.stack).round());
        drawn.low_bps.push(references().fold(f64::INFINITY, f64::min).round());
        drawn.high_bps.push(references().fold(0.0, f64::max).round());
    }
    drawn
}

/// The first time at which the stack is outside what the references have delivered, for three bins, in a sentence.
fn divergence(runs: &Runs, overheads: &Overheads) -> Option<String> {
    let stack = &runs.stack[median(runs)];
    let bin = (2.0 * base_rtt_s(runs)).max(0.1);
    let (margin, _) = Metric::Goodput.margin(0.0);
    let end = stack.step_s * stack.delivered[0].len() as f64;
    let count = (end / bin).floor() as usize;
    let at = |n: usize| n as f64 * bin;
    let payload = |record: &RunRecord, time: f64, overhead: f64| record.at(0, time).unwrap_or(0.0) * overhead;
    let span = |from: f64, to: f64| {
        let mut ends = [f64::INFINITY, 0.0f64];
        for (records, overhead) in runs.reference.iter().zip(&overheads.reference) {
            for record in records {
                let bytes = payload(record, to, *overhead) - payload(record, from, *overhead);
                ends = [ends[0].min(bytes), ends[1].max(bytes)];
            }
        }
        ends
    };
    // What the first round trips differ by is no divergence: a hundredth of the whole transfer is.
    let least = 0.01 * span(0.0, end)[1];
    let outside = |n: usize| {
        let own = payload(stack, at(n), overheads.stack);
        let [low, high] = span(0.0, at(n));
        own < (1.0 - margin) * low - least || own > (1.0 + margin) * high + least
    };
    let first = (1..count.saturating_sub(2)).find(|n| outside(*n) && outside(n + 1) && outside(n + 2))?;
    // The bin in which its rate left the band.
    let leaves = (0..=first).rev().find(|n| {
        let own = payload(stack, at(n + 1), overheads.stack) - payload(stack, at(*n), overheads.stack);
        let [low, high] = span(at(*n), at(n + 1));
        own >= (1.0 - margin) * low && own <= (1.0 + margin) * high
    });
    let from = leaves.map_or(0, |n| n + 1).min(first);
    let (begin, stop) = (at(from), at((from + 3).min(count)));
    let megabits = |bytes: f64| bytes * 8e-6 / (stop - begin);
    let own = payload(stack, stop, overheads.stack) - payload(stack, begin, overheads.stack);
    let [low, high] = span(begin, stop);
    let [delivered_low, delivered_high] = span(0.0, at(first)).map(|bytes| bytes / 1e6);
    // Point n of a curve is at n + 1 steps.
    let points = (begin / stack.step_s).round() as usize;
    let drops = points.checked_sub(1).and_then(|place| stack.drops.get(place)).copied().unwrap_or(0);
    let mut sentence = format!(
        "at {:.2} s the stack had delivered {:.2} MB, the references {delivered_low:.2} to {delivered_high:.2}; from {begin:.2} s on it \
         delivered {:.1} Mb/s (references {:.1} to {:.1}); until then the bottleneck had dropped {drops} packets",
        at(first),
        payload(stack, at(first), overheads.stack) / 1e6,
        megabits(own),
        megabits(low),
        megabits(high)
    );
    if let Some((_, words)) = stack.said.iter().rev().find(|(time, _)| *time <= stop) {
        sentence += &format!("; the stack said: {words}");
    }
    Some(sentence)
}
