//! Threads that do a step of each entry of a list together, and wait for the next step in between. A process that forks between
//! two steps goes on with one thread; the copy of one that forks during a step, from another thread, has a step that never ends.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// How often a thread looks for a next step before it sleeps, if each thread can have a core: about half a millisecond. Python
/// needs 0.05 ms between two steps, and more with a policy; a thread that sleeps takes 0.05 ms to begin.
const SPINS: u32 = 20_000;

/// The list, and the threads beside the one that calls [`Workers::step`].
pub(crate) struct Workers<T> {
    shared: Arc<Shared<T>>,
    threads: Vec<JoinHandle<()>>,
    /// One step at a time.
    stepping: Mutex<()>,
}

struct Shared<T> {
    entries: Vec<Entry<T>>,
    /// Does the step of an entry; never panics.
    work: fn(&mut T),
    /// Number of the present step.
    step: AtomicU64,
    /// Entries whose step is not done.
    left: AtomicUsize,
    stop: AtomicBool,
    /// [`SPINS`], or 0 with more threads than cores.
    spins: u32,
}

struct Entry<T> {
    /// Whether its step is due.
    due: AtomicBool,
    value: Mutex<T>,
}

impl<T: Send + 'static> Workers<T> {
    /// Starts the threads, `threads` with the one that calls. Fails if the system does not permit that many.
    pub(crate) fn new(
        entries: impl Iterator<Item = T>,
        threads: usize,
        work: fn(&mut T),
    ) -> std::io::Result<Workers<T>> {
        let entry = |value| Entry { due: AtomicBool::new(false), value: Mutex::new(value) };
        let entries: Vec<_> = entries.map(entry).collect();
        let threads = threads.clamp(1, entries.len().max(1));
        let (step, left, stop) = (AtomicU64::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let spins = if threads <= cores { SPINS } else { 0 };
        let shared = Arc::new(Shared { entries, work, step, left, stop, spins });
        let mut workers = Workers { shared, threads: Vec::new(), stepping: Mutex::new(()) };
        for thread in 1..threads {
            let shared = workers.shared.clone();
            workers.threads.push(Builder::new().spawn(move || shared.serve(thread, threads))?);
        }
        Ok(workers)
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.shared.entries.len()
    }

    /// Entry `index`; `None` if there is none.
    pub(crate) fn entry(&self, index: usize) -> Option<&Mutex<T>> {
        self.shared.entries.get(index).map(|entry| &entry.value)
    }

    /// Does a step of all entries; `prepare` comes before, with their numbers.
    pub(crate) fn step(&self, mut prepare: impl FnMut(usize, &mut T)) {
        let _stepping = self.stepping.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = &*self.shared;
        shared.left.store(self.len(), Ordering::Relaxed);
        for (index, entry) in shared.entries.iter().enumerate() {
            prepare(index, &mut entry.lock());
            entry.due.store(true, Ordering::Release);
        }
        shared.step.fetch_add(1, Ordering::Release);
        self.threads.iter().for_each(|thread| thread.thread().unpark());
        shared.run_due_entries(0, self.threads.len() + 1);
        let mut spins = 0;
        while shared.left.load(Ordering::Acquire) > 0 {
            shared.pause(&mut spins, std::thread::yield_now);
        }
    }
}

/// Ends the threads. It does not wait for them: after a fork they are not there.
impl<T> Drop for Workers<T> {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.threads.iter().for_each(|thread| thread.thread().unpark());
    }
}

impl<T> Entry<T> {
    fn lock(&self) -> MutexGuard<'_, T> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Shared<T> {
    /// What thread `thread` of `threads` does until `stop` is set.
    fn serve(&self, thread: usize, threads: usize) {
        let mut done = 0;
        loop {
            let mut spins = 0;
            while self.step.load(Ordering::Acquire) == done {
                if self.stop.load(Ordering::Relaxed) {
                    return;
                }
                self.pause(&mut spins, std::thread::park);
            }
            done = self.step.load(Ordering::Acquire);
            self.run_due_entries(thread, threads);
        }
    }

    /// Does steps that are due, at first those of a part of the list, whose memory the core of this thread may still have.
    fn run_due_entries(&self, thread: usize, threads: usize) {
        let count = self.entries.len();
        let begin = thread * count / threads;
        for index in (begin..count).chain(0..begin) {
            let entry = &self.entries[index];
            if entry.due.load(Ordering::Relaxed) && entry.due.swap(false, Ordering::Acquire) {
                (self.work)(&mut entry.lock());
                self.left.fetch_sub(1, Ordering::Release);
            }
        }
    }

    /// Waits: a little the first [`Shared::spins`] times, and by `sleep` after them.
    fn pause(&self, spins: &mut u32, sleep: fn()) {
        if *spins < self.spins {
            *spins += 1;
            spin_loop();
        } else {
            sleep();
        }
    }
}
