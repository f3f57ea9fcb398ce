//! Runs jobs on worker threads. Workers take jobs in order; results are collected in the order in which runs end.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "waiting for threads reads the clock; runs do not"
)]

use super::{Study, digest_of};
use crate::error::ScenarioError;
use crate::scenario::Scenario;
use crate::simulation::{Run, Settings};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use units::Time;

/// Events between two checks of the stop flag.
const CHUNK: u64 = 1 << 16;
/// The same for scenarios with controllers in Python, whose events are slow.
const FEW: u64 = 1 << 13;
/// Maximum number of results that wait for collection.
const ROOM: usize = 4096;
/// Time for which results accumulate before `collect` returns.
const GATHER: Duration = Duration::from_millis(50);

/// One run of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The point of the study.
    pub point: usize,
    /// The seed.
    pub seed: u64,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Done {
    /// Its index in the list of jobs.
    pub job: usize,
    /// The outcome as JSON, or the error message.
    pub outcome: Result<String, String>,
    /// CPU time of the whole run including set-up and outcome, seconds.
    pub cpu_s: f64,
}

/// Worker threads over a list of jobs.
pub struct Pool {
    results: Receiver<Done>,
    stop: Arc<AtomicBool>,
    workers: Vec<JoinHandle<()>>,
}

/// A run up to the first change of its scenario, which other runs with the same beginning continue: those of a study over
/// the time or the values of a change.
struct Beginning {
    /// The identity of scenario and seed, without the changes from the run's time on.
    identity: (blake3::Hash, u64),
    run: Run,
}

/// The most beginnings that a worker keeps, for as many seeds; with many flows fewer.
const MOST_BEGINNINGS: usize = 256;
/// Flows of all beginnings that a worker keeps: about 4 kB each.
const MOST_KEPT_FLOWS: usize = 25_600;

struct Work {
    study: Study,
    jobs: Vec<Job>,
    next: AtomicUsize,
    stop: Arc<AtomicBool>,
}

impl Pool {
    /// Starts `threads` workers.
    pub fn new(study: Study, jobs: Vec<Job>, threads: usize) -> Pool {
        let stop = Arc::new(AtomicBool::new(false));
        let work = Arc::new(Work { study, jobs, next: AtomicUsize::new(0), stop: stop.clone() });
        let (sender, results) = sync_channel(ROOM);
        let workers = (0..threads.max(1))
            .map(|_| {
                let (work, sender) = (work.clone(), sender.clone());
                std::thread::spawn(move || work.serve(&sender))
            })
            .collect();
        Pool { results, stop, workers }
    }

    /// Results since the last call; waits up to `timeout` for the first one and then a short time for more. `None`
    /// after the end of all jobs.
    pub fn collect(&self, timeout: Duration) -> Option<Vec<Done>> {
        let mut done = match self.results.recv_timeout(timeout) {
            Ok(first) => vec![first],
            Err(RecvTimeoutError::Timeout) => return Some(Vec::new()),
            Err(RecvTimeoutError::Disconnected) => return None,
        };
        // A wake-up for every run would cost as much as a short run, and a wait of fixed length more than a small study.
        let mut wait = GATHER / 32;
        while wait < GATHER && self.workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::sleep(wait);
            wait *= 2;
        }
        done.extend(self.results.try_iter());
        Some(done)
    }

    /// Cancels the jobs that have not ended. The results of the others can still be collected.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop();
        while self.collect(Duration::from_millis(10)).is_some() {} // a worker can be blocked on a full channel
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

impl Work {
    fn serve(&self, sender: &SyncSender<Done>) {
        let mut last: Option<(usize, Result<Scenario, String>)> = None;
        let mut beginnings = VecDeque::new();
        while !self.stop.load(Ordering::Relaxed) {
            let job = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(Job { point, seed }) = self.jobs.get(job).copied() else { return };
            let began = crate::clock::cpu_time();
            // The jobs of a point are consecutive: its scenario is read once.
            if last.as_ref().is_none_or(|(of, _)| *of != point) {
                last = Some((point, self.study.scenario(point).map_err(|error| error.to_string())));
            }
            let Some((_, scenario)) = &last else { continue };
            let Some(outcome) = scenario
                .as_ref()
                .map_or_else(|e| Some(Err(e.clone())), |s| self.run(s, seed, &mut beginnings))
            else {
                return;
            };
            let cpu_s = (crate::clock::cpu_time() - began) as f64 / 1e9;
            if sender.send(Done { job, outcome, cpu_s }).is_err() {
                return;
            }
        }
    }

    /// The run of a scenario, up to its first change if an earlier run had the same beginning.
    fn begin(
        &self,
        scenario: &Scenario,
        seed: u64,
        beginnings: &mut VecDeque<Beginning>,
    ) -> Result<Run, ScenarioError> {
        let settings = Settings { seed: Some(seed), ..Settings::default() };
        let Some(first) = scenario.changes.first().filter(|_| !scenario.has_external()) else {
            return Run::stoppable(scenario, settings, &self.stop);
        };
        let at = first.at;
        let plain = scenario.unchanged_from(at);
        let identity = (digest_of(&plain), seed);
        let same = |known: &Beginning| known.identity == identity && known.run.now() < at;
        let place = beginnings.iter().position(same);
        let mut beginning = match place.and_then(|place| beginnings.remove(place)) {
            Some(beginning) => beginning,
            None => Beginning { identity, run: Run::stoppable(&plain, settings, &self.stop)? },
        };
        while !self.stop.load(Ordering::Relaxed)
            && !beginning.run.advance_within(CHUNK, Time::from_ps(at.ps() - 1))
        {}
        let branch = beginning.run.fork();
        let Ok(mut run) = branch else { return Run::stoppable(scenario, settings, &self.stop) };
        if run.adopt(scenario).is_err() {
            return Run::stoppable(scenario, settings, &self.stop);
        }
        beginnings.push_back(beginning);
        let limit = (MOST_KEPT_FLOWS / scenario.flows.len().max(1)).clamp(1, MOST_BEGINNINGS);
        while beginnings.len() > limit {
            beginnings.pop_front();
        }
        Ok(run)
    }

    /// Runs a scenario to its end; `None` if it was stopped.
    fn run(
        &self,
        scenario: &Scenario,
        seed: u64,
        beginnings: &mut VecDeque<Beginning>,
    ) -> Option<Result<String, String>> {
        let attempt = catch_unwind(AssertUnwindSafe(|| {
            let mut run = match self.begin(scenario, seed, beginnings) {
                Ok(run) => run,
                Err(error) => return Some(Err(error.to_string())),
            };
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            let chunk = if run.has_external() { FEW } else { CHUNK };
            while !run.advance(chunk) {
                if self.stop.load(Ordering::Relaxed) {
                    return None;
                }
                if run.failure().is_some() {
                    break;
                }
                if let Err(message) = run.check_memory() {
                    return Some(Err(message));
                }
            }
            if let Some((flow, failure)) = run.failure() {
                let (at, message) = (failure.at.seconds(), failure.message.trim_end());
                return Some(Err(format!("flow {flow}: its controller failed at {at} s\n{message}")));
            }
            Some(Ok(run.outcome().to_json()))
        }));
        attempt
            .unwrap_or_else(|_| Some(Err("internal error in the simulation core; please report it".into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study() -> Study {
        let text = "duration = \"1s\"\nsweep = { seed = \"1..20\", \"link.a->b.rate\" = [\"1Mbps\", \"2Mbps\"] }\n\
            [[link]]\nends = [\"a\", \"b\"]\nrate = \"1Mbps\"\ndelay = \"1ms\"\n\
            loss = { kind = \"bernoulli\", rate = 0.01 }\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n";
        Study::parse("s", text, &[]).unwrap()
    }

    fn all(threads: usize) -> Vec<String> {
        let jobs = (0..2).flat_map(|point| (1..=20).map(move |seed| Job { point, seed })).collect();
        let pool = Pool::new(study(), jobs, threads);
        let mut results = vec![None; 40];
        while let Some(done) = pool.collect(Duration::from_millis(50)) {
            for d in done {
                let outcome = d.outcome.unwrap();
                // Costs differ from run to run; the rest does not.
                assert!(
                    results[d.job].replace(outcome.split("\"engine\"").next().unwrap().to_string()).is_none()
                );
            }
        }
        results.into_iter().map(Option::unwrap).collect()
    }

    #[test]
    fn every_job_runs_once_and_one_thread_or_three_give_the_same() {
        assert_eq!(all(1), all(3));
    }

    #[test]
    fn stops_at_once_even_when_nobody_collects() {
        let jobs = (0..100_000).map(|seed| Job { point: 0, seed }).collect();
        drop(Pool::new(study(), jobs, 2));
    }
}
