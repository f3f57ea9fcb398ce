//! Channel access (EDCA) by renewal of the backoff: one decision for each access, no event for a slot.
//!
//! All contenders with one AIFSN share a count of idle slots. The key of a contender is that count plus its backoff, so a
//! busy channel changes no contender; the contenders of a class are in a heap. The times of one class lie on a grid of
//! slots, so that equal times are equal integers.

use super::phy::{SIFS, SLOT};
use crate::transmission::Access;
use params::Form::{Integer, Range};
use params::{Mistake, Unit};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{Span, Time};

/// The access parameters of a category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Category {
    /// Number of slots after SIFS.
    pub aifsn: u32,
    /// Smallest and largest contention window, `2^k - 1`.
    pub cw_min: u32,
    /// The largest one.
    pub cw_max: u32,
    /// How long a device may send after one access; zero: one PPDU.
    pub txop: Span,
}

impl Category {
    /// The default parameters of an access category: of a station, or of an access point.
    pub const fn of(access: Access, access_point: bool) -> Category {
        let (aifsn, cw_min, cw_max, txop) = match (access, access_point) {
            (Access::Background, _) => (7, 15, 1023, 0),
            (Access::BestEffort, false) => (3, 15, 1023, 0),
            (Access::BestEffort, true) => (3, 15, 63, 0),
            (Access::Video, false) => (2, 7, 15, 3008),
            (Access::Video, true) => (1, 7, 15, 3008),
            (Access::Voice, false) => (2, 3, 7, 1504),
            (Access::Voice, true) => (1, 3, 7, 1504),
        };
        Category { aifsn, cw_min, cw_max, txop: Span::from_ps(txop * 1_000_000) }
    }
}

params::options! {
    /// Parameters of an access category that replace the default ones, for access point and stations.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CategoryOptions {
        aifsn: Option<u32> = Integer(1, 15), ["the standard's"], "slots of idle channel after SIFS before the backoff";
        cw_min: Option<u32> = Integer(0, 32_767), ["the standard's"], "smallest contention window, slots; 2^k - 1";
        cw_max: Option<u32> = Integer(0, 32_767), ["the standard's"], "largest contention window, slots; 2^k - 1";
        txop: Option<Span> = Range(Unit::Time, "3.008ms", "0ms", "8.16ms"), ["the standard's"],
            "most time for one transmission; 0: the longest PPDU";
    }
}

impl CategoryOptions {
    /// The category with these parameters.
    pub fn applied_to(&self, category: Category) -> Category {
        Category {
            aifsn: self.aifsn.unwrap_or(category.aifsn),
            cw_min: self.cw_min.unwrap_or(category.cw_min),
            cw_max: self.cw_max.unwrap_or(category.cw_max),
            txop: self.txop.unwrap_or(category.txop),
        }
    }

    /// Checks the parameters of access category `access`.
    pub fn check(&self, access: Access) -> Result<(), Mistake> {
        for (key, window) in [("cw_min", self.cw_min), ("cw_max", self.cw_max)] {
            if let Some(window) = window.filter(|window| !(window + 1).is_power_of_two()) {
                return Err((key, format!("must be a power of two minus one, such as 15, not {window}")));
            }
        }
        for access_point in [false, true] {
            let Category { cw_min, cw_max, .. } = self.applied_to(Category::of(access, access_point));
            if cw_min > cw_max {
                let key = if self.cw_max.is_some() { "cw_max" } else { "cw_min" };
                return Err((key, format!("the smallest window, {cw_min}, is above the largest, {cw_max}")));
            }
        }
        Ok(())
    }
}

/// The contenders with one AIFSN.
#[derive(Clone, Debug)]
struct Class {
    aifs: Span,
    /// Idle slots counted until the last transmission.
    passed: u64,
    /// Keys of those with a packet.
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

/// A device in one category.
#[derive(Clone, Debug)]
struct Contender {
    class: usize,
    category: Category,
    cw: u32,
    failures: u32,
    key: u64,
    waits: bool,
}

/// All contenders of a channel.
#[derive(Clone, Debug, Default)]
pub struct Contenders {
    classes: Vec<Class>,
    list: Vec<Contender>,
    /// When the channel became or becomes idle.
    idle_from: Time,
    /// A contender whose backoff had ended when its packet arrived at an idle channel; it transmits at once.
    immediate: Vec<(Time, u32)>,
    /// The slots that the last [`Contenders::begin`] counted, by class.
    counted: Vec<u64>,
}

impl Contenders {
    /// Adds a contender and returns its number.
    pub fn add(&mut self, category: Category) -> u32 {
        let aifs = SIFS + Span::from_ps(category.aifsn as u64 * SLOT.ps());
        let place = self.classes.iter().position(|class| class.aifs == aifs);
        let class = place.unwrap_or_else(|| {
            self.classes.push(Class { aifs, passed: 0, heap: BinaryHeap::new() });
            self.classes.len() - 1
        });
        let cw = category.cw_min;
        self.list.push(Contender { class, category, cw, failures: 0, key: 0, waits: false });
        self.list.len() as u32 - 1
    }

    /// The category of a contender.
    pub fn category(&self, who: u32) -> Category {
        self.list[who as usize].category
    }

    /// Whether the contender takes part in the contention.
    pub fn waits(&self, who: u32) -> bool {
        self.list[who as usize].waits
    }

    /// The channel is idle from `at` on.
    pub fn set_idle(&mut self, at: Time) {
        self.idle_from = at;
    }

    /// Idle slots of a class between the end of its AIFS and `now`.
    fn elapsed(&self, class: &Class, now: Time) -> u64 {
        let begin = self.idle_from + class.aifs;
        if now <= begin { 0 } else { now.since(begin).ps() / SLOT.ps() }
    }

    /// When the next transmission begins; `None` if nobody contends.
    pub fn next(&self) -> Option<Time> {
        let of_class = |class: &Class| {
            let Reverse((key, _)) = class.heap.peek()?;
            let slots = key.saturating_sub(class.passed);
            Some(self.idle_from + class.aifs + Span::from_ps(slots * SLOT.ps()))
        };
        let scheduled = self.classes.iter().filter_map(of_class).min();
        let immediate = self.immediate.iter().map(|(at, _)| *at).min();
        scheduled.into_iter().chain(immediate).min()
    }

    /// Who transmits at `now`, which [`Contenders::next`] has returned: all whose time is equal, by number. Everyone else
    /// has counted down.
    pub fn begin(&mut self, now: Time) -> Vec<u32> {
        let mut who: Vec<u32> = self.immediate.drain(..).map(|(_, contender)| contender).collect();
        let idle_from = self.idle_from;
        self.counted.clear();
        for class in &mut self.classes {
            let begin = idle_from + class.aifs;
            self.counted.push(0);
            if now < begin {
                continue;
            }
            let slots = now.since(begin).ps() / SLOT.ps();
            let on_grid = now.since(begin).ps().is_multiple_of(SLOT.ps());
            class.passed += slots;
            *self.counted.last_mut().expect("one for each class") = slots;
            while on_grid
                && let Some(Reverse((key, contender))) = class.heap.peek().copied()
                && key <= class.passed
            {
                class.heap.pop();
                who.push(contender);
            }
        }
        who.sort_unstable();
        for contender in &who {
            self.list[*contender as usize].waits = false;
        }
        who
    }

    /// Nobody has transmitted after the last [`Contenders::begin`]: the channel stays idle.
    pub fn cancel(&mut self) {
        for (class, slots) in self.classes.iter_mut().zip(&self.counted) {
            class.passed -= slots;
        }
    }

    /// When the channel became or becomes idle.
    pub fn idle_from(&self) -> Time {
        self.idle_from
    }

    /// A packet for a contender that does not contend yet arrives at `now`. `backoff` draws a number up to its argument.
    pub fn join(&mut self, who: u32, now: Time, backoff: impl FnOnce(u32) -> u32) {
        let contender = &self.list[who as usize];
        let class = &self.classes[contender.class];
        let ended = contender.key <= class.passed + self.elapsed(class, now);
        if now < self.idle_from {
            // The channel is busy: a backoff that has ended is drawn anew.
            if ended {
                self.draw(who, backoff);
            }
        } else if ended && now >= self.idle_from + class.aifs {
            self.list[who as usize].waits = true;
            return self.immediate.push((now, who));
        }
        self.enter(who);
    }

    /// Draws the backoff after a transmission; the count begins when the channel is idle.
    pub fn draw(&mut self, who: u32, backoff: impl FnOnce(u32) -> u32) {
        let contender = &mut self.list[who as usize];
        contender.key = self.classes[contender.class].passed + backoff(contender.cw) as u64;
    }

    /// The contender has a packet and counts down.
    pub fn enter(&mut self, who: u32) {
        let contender = &mut self.list[who as usize];
        contender.waits = true;
        let class = &mut self.classes[contender.class];
        contender.key = contender.key.max(class.passed);
        class.heap.push(Reverse((contender.key, who)));
    }

    /// A transmission was answered.
    pub fn succeeded(&mut self, who: u32) {
        let contender = &mut self.list[who as usize];
        (contender.cw, contender.failures) = (contender.category.cw_min, 0);
    }

    /// A transmission had no answer; after more than `limit` in a row the window begins again.
    pub fn failed(&mut self, who: u32, limit: u32) {
        let contender = &mut self.list[who as usize];
        contender.failures += 1;
        contender.cw = (2 * contender.cw + 1).min(contender.category.cw_max);
        if contender.failures > limit {
            (contender.cw, contender.failures) = (contender.category.cw_min, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Stream;

    fn us(us: u64) -> Time {
        Time::from_ps(us * 1_000_000)
    }

    fn category(aifsn: u32) -> Category {
        Category { aifsn, ..Category::of(Access::BestEffort, false) }
    }

    #[test]
    fn ties_are_equal_times() {
        // a: AIFSN 3, 4 slots; b: 3, 2; v: 2, 6. b alone at 61 us; then b draws 2 and all three transmit 61 us later.
        let mut contenders = Contenders::default();
        let [a, b, v] = [3, 3, 2].map(|aifsn| contenders.add(category(aifsn)));
        for (who, slots) in [(a, 4), (b, 2), (v, 6)] {
            contenders.draw(who, |_| slots);
            contenders.enter(who);
        }
        assert_eq!(contenders.next(), Some(us(61)));
        assert_eq!(contenders.begin(us(61)), [b]);
        contenders.set_idle(us(1000));
        contenders.draw(b, |_| 2);
        contenders.enter(b);
        assert_eq!(contenders.next(), Some(us(1061)));
        assert_eq!(contenders.begin(us(1061)), [a, b, v]);
    }

    #[test]
    fn a_packet_at_an_idle_channel() {
        let mut contenders = Contenders::default();
        let who = contenders.add(category(3));
        contenders.set_idle(us(100));
        contenders.draw(who, |_| 2); // the backoff after its last transmission ends at 100 + 43 + 18 us
        let mut late = contenders.clone();
        contenders.join(who, us(120), |_| unreachable!());
        assert_eq!(contenders.next(), Some(us(161)), "the rest of the backoff");
        late.join(who, us(200), |_| unreachable!());
        assert_eq!(late.next(), Some(us(200)), "at once");
        assert_eq!(late.begin(us(200)), [who]);
        // During a transmission of others the backoff is drawn.
        late.set_idle(us(500));
        late.join(who, us(300), |_| 3);
        assert_eq!(late.next(), Some(us(500 + 43 + 27)));
    }

    /// A slow model that counts slot by slot has the same times and transmitters, for four categories and eight devices.
    #[test]
    fn accesses_equal_those_of_a_count_slot_by_slot() {
        let mut contenders = Contenders::default();
        let categories: Vec<Category> = (0..8).map(|n| Category::of(Access::ALL[n % 4].0, n < 4)).collect();
        let mut stream = Stream::new(1, "test", "edca");
        let mut backoffs: Vec<u64> = Vec::new();
        for category in &categories {
            let who = contenders.add(*category);
            let slots = (stream.uniform() * 16.0) as u32;
            backoffs.push(slots as u64);
            contenders.draw(who, |_| slots);
            contenders.enter(who);
        }
        let mut idle = 0_u64; // us
        for _ in 0..10_000 {
            // In steps of 1 us: a device transmits when its AIFS and its slots have passed.
            let times: Vec<u64> =
                (0..8).map(|n| 16 + 9 * (categories[n].aifsn as u64 + backoffs[n])).collect();
            let first = *times.iter().min().unwrap();
            let expected: Vec<u32> = (0..8).filter(|n| times[*n as usize] == first).collect();
            for n in 0..8 {
                let aifs = 16 + 9 * categories[n].aifsn as u64;
                backoffs[n] -= first.saturating_sub(aifs) / 9 * u64::from(times[n] != first);
            }
            let now = us(idle + first);
            assert_eq!(contenders.next(), Some(now));
            let transmitting = contenders.begin(now);
            assert_eq!(transmitting, expected);
            idle += first + 300;
            contenders.set_idle(us(idle));
            for device in transmitting {
                let slots = (stream.uniform() * 16.0) as u32;
                backoffs[device as usize] = slots as u64;
                contenders.draw(device, |_| slots);
                contenders.enter(device);
            }
        }
    }
}
