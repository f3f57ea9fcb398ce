//! Threads that do a step of each entry of a list together, and wait for the next step in between.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// Looks for a next step before a thread sleeps, about 0.4 ms: Python needs 0.05 ms between two steps, and more with a policy.
/// A thread that sleeps takes 0.05 ms to begin.
const LOOKS: u32 = 20_000;

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
        let shared = Arc::new(Shared { entries, work, step, left, stop });
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

    /// Entry `index`, which has to exist.
    pub(crate) fn entry(&self, index: usize) -> MutexGuard<'_, T> {
        self.shared.entries[index].lock()
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
        shared.take(0, self.threads.len() + 1);
        let mut looks = 0;
        while shared.left.load(Ordering::Acquire) > 0 {
            pause(&mut looks, std::thread::yield_now);
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
    /// What thread `thread` of `threads` does until it is told to stop.
    fn serve(&self, thread: usize, threads: usize) {
        let mut done = 0;
        loop {
            let mut looks = 0;
            while self.step.load(Ordering::Acquire) == done {
                if self.stop.load(Ordering::Relaxed) {
                    return;
                }
                pause(&mut looks, std::thread::park);
            }
            done = self.step.load(Ordering::Acquire);
            self.take(thread, threads);
        }
    }

    /// Does steps that are due, at first those of a part of the list, whose memory the core of this thread may still have.
    fn take(&self, thread: usize, threads: usize) {
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
}

/// Waits a little at the first looks, and by `sleep` after them.
fn pause(looks: &mut u32, sleep: fn()) {
    if *looks < LOOKS {
        *looks += 1;
        spin_loop();
    } else {
        sleep();
    }
}
