//! CUBIC in the integer arithmetic of Linux: whole windows, time in jiffies, K in 1/1024 s by a table cube root. Written
//! from the behaviour of the kernel (docs/specs/linux-sender.md); it agrees with recordings of Linux 6.18
//! (docs/validation-linux.md).

use units::{Span, Time};

/// The constants of the curve of the window, of the clock and of the reductions.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    /// Jiffies per second.
    pub hz: u64,
    /// Part of the window that remains after a loss, in 1/1024.
    pub beta: u64,
    /// C in 1/1024 (segments/s^3), times ten.
    pub scale: u64,
    /// Release bandwidth to new flows.
    pub fast_convergence: bool,
    /// Never below Reno's window.
    pub reno_friendly: bool,
}

/// The state between two losses. Windows in segments, times in jiffies.
#[derive(Clone, Debug)]
pub struct CubicLinux {
    constants: Constants,
    /// Where the clock starts: the start of the connection.
    opened: Time,
    /// Start of the epoch; `None`: it starts with the next ACK in congestion avoidance.
    epoch: Option<u64>,
    last_max: u64,
    last_cwnd: u64,
    last_time: u64,
    origin: u64,
    k: u64,
    acked: u64,
    reno_window: u64,
    count: u64,
    delay_min: Option<Span>,
}

/// Cube roots of 0 to 63, times 64.
const ROOTS: [u8; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173,
    176, 179, 181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221,
    222, 224, 225, 227, 229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

/// The cube root of `a` by a table of six bits and one Newton step; about 0.2 % off on average.
fn cube_root(a: u64) -> u64 {
    let bits = 64 - a.leading_zeros() as u64;
    if bits < 7 {
        return (ROOTS[a as usize] as u64 + 35) >> 6;
    }
    let third = ((bits * 84) >> 8) - 1;
    let x = ((ROOTS[(a >> (third * 3)) as usize] as u64 + 10) << third) >> 6;
    let x = 2 * x + a / (x * (x - 1));
    (x * 341) >> 10
}

impl CubicLinux {
    /// The state before the first loss.
    pub fn new(constants: Constants) -> CubicLinux {
        CubicLinux {
            constants,
            opened: Time::ZERO,
            epoch: None,
            last_max: 0,
            last_cwnd: 0,
            last_time: 0,
            origin: 0,
            k: 0,
            acked: 0,
            reno_window: 0,
            count: 0,
            delay_min: None,
        }
    }

    /// Sets the steepness of the curve, from now on around the same plateau, and the part of the window that remains after a
    /// loss, in the units of [`Constants`].
    pub fn tune(&mut self, scale: u64, beta: u64) {
        (self.constants.scale, self.constants.beta) = (scale, beta);
    }

    /// The connection opens: its clock starts.
    pub fn on_open(&mut self, now: Time) {
        self.opened = now;
    }

    fn jiffies(&self, now: Time) -> u64 {
        (now.since(self.opened).ps() as u128 * self.constants.hz as u128 / 1_000_000_000_000) as u64
    }

    /// Takes a round-trip sample, except in the first second of an epoch. Returns whether the sample counts.
    pub fn on_rtt(&mut self, now: Time, rtt: Span) -> bool {
        let counts = self.epoch.is_none_or(|epoch| self.jiffies(now) >= epoch + self.constants.hz);
        if counts {
            self.delay_min = Some(self.delay_min.map_or(rtt, |least| least.min(rtt)));
        }
        counts
    }

    /// The number of acknowledged segments after which the window `cwnd` grows by one. `acked` segments are newly
    /// acknowledged.
    pub fn segments_per_step(&mut self, now: Time, cwnd: u64, acked: u64) -> u64 {
        let now = self.jiffies(now);
        self.acked += acked;
        let fresh = self.epoch.is_some();
        if fresh && self.last_cwnd == cwnd && now - self.last_time <= self.constants.hz / 32 {
            return self.count;
        }
        if !(fresh && now == self.last_time) {
            (self.last_cwnd, self.last_time) = (cwnd, now);
            let epoch = *self.epoch.get_or_insert(now);
            if !fresh {
                (self.acked, self.reno_window) = (acked, cwnd);
                (self.k, self.origin) = if self.last_max <= cwnd {
                    (0, cwnd)
                } else {
                    (cube_root((1 << 40) / self.constants.scale * (self.last_max - cwnd)), self.last_max)
                };
            }
            self.count = self.by_curve(now - epoch, cwnd);
        }
        if self.constants.reno_friendly {
            let step = (cwnd * self.reno_step()) >> 3;
            if self.acked > step {
                let steps = (self.acked - 1) / step;
                self.acked -= steps * step;
                self.reno_window += steps;
            }
            if self.reno_window > cwnd {
                self.count = self.count.min(cwnd / (self.reno_window - cwnd));
            }
        }
        self.count = self.count.max(2);
        self.count
    }

    /// Eight times the round trips in which Reno with this beta grows by one segment.
    fn reno_step(&self) -> u64 {
        (8 * (1024 + self.constants.beta) / 3 / (1024 - self.constants.beta)).max(8)
    }

    /// `segments_per_step` by the cubic curve, `elapsed` jiffies after the start of the epoch.
    fn by_curve(&self, elapsed: u64, cwnd: u64) -> u64 {
        let delay = self.delay_min.map_or(0, |rtt| {
            (rtt.ps() as u128 * self.constants.hz as u128).div_ceil(1_000_000_000_000) as u64
        });
        let t = ((elapsed + delay) << 10) / self.constants.hz;
        let offset = t.abs_diff(self.k) as u128;
        let delta = ((self.constants.scale as u128 * offset * offset * offset) >> 40) as u64;
        let target =
            if t < self.k { self.origin.saturating_sub(delta) } else { self.origin.saturating_add(delta) };
        let count = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.last_max == 0 { count.min(20) } else { count }
    }

    /// A loss or an ECN echo at window `cwnd`: ends the epoch. Returns the new threshold. `beta` in 1/1024.
    pub fn reduce(&mut self, cwnd: u64, beta: u64) -> u64 {
        self.epoch = None;
        self.last_max = if cwnd < self.last_max && self.constants.fast_convergence {
            cwnd * (1024 + self.constants.beta) / 2048
        } else {
            cwnd
        };
        (cwnd * beta / 1024).max(2)
    }

    /// A recovery of Rapid Start ends: the window before the loss, segments, is that of which this one is the part beta.
    pub fn set_reached(&mut self, cwnd: u64) {
        (self.last_max, self.epoch) = (cwnd, None);
    }

    /// A retransmission timeout: the state starts anew.
    pub fn reset(&mut self) {
        *self = CubicLinux { opened: self.opened, ..CubicLinux::new(self.constants) };
    }

    /// Transmission starts again after `idle`: the epoch moves by the idle time.
    pub fn on_transmit_start(&mut self, now: Time, idle: Span) {
        let last_sent = Time::from_ps(now.ps().saturating_sub(idle.ps())).max(self.opened);
        let (now, last_sent) = (self.jiffies(now), self.jiffies(last_sent));
        let idle = now - last_sent;
        if let Some(epoch) = &mut self.epoch
            && idle > 0
        {
            *epoch = (*epoch + idle).min(now);
        }
    }

    /// W_max, the Reno-friendly window and K in seconds; NaN where there is none.
    pub fn probe(&self) -> [f64; 3] {
        let value_if = |condition: bool, value: f64| if condition { value } else { f64::NAN };
        [
            value_if(self.last_max > 0, self.last_max as f64),
            value_if(self.epoch.is_some(), self.reno_window as f64),
            value_if(self.epoch.is_some(), self.k as f64 / 1024.0),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constants(hz: u64) -> Constants {
        Constants { hz, beta: 717, scale: 410, fast_convergence: true, reno_friendly: true }
    }

    #[test]
    fn cube_roots_have_the_values_of_linux() {
        let roots: Vec<u64> = [8, 27, 1000, 1_000_000, 1_000_000_000].map(cube_root).to_vec();
        assert_eq!(roots, [2, 3, 10, 100, 1000]);
        assert_eq!(cube_root((1 << 40) / 410 * 30), 4316); // W_max 100 from 70: exact 4318.4
        assert_eq!((cube_root(0), cube_root(63), cube_root(64)), (0, 4, 4));
    }

    /// The window after each of the first `seconds` seconds from `cwnd`, one ACK per segment, 100 ms round-trip time.
    fn windows(mut cubic: CubicLinux, mut cwnd: u64, seconds: u64) -> Vec<u64> {
        let mut now = Time::ZERO + Span::from_ms(5000);
        cubic.delay_min = Some(Span::from_ms(100));
        let (end, mut counted, mut seen) = (now + Span::from_ms(1000 * seconds), 0, Vec::new());
        let mut next = now + Span::from_ms(1000);
        while now < end {
            now += Span::from_ps(100_000_000_000 / cwnd);
            if now >= next {
                seen.push(cwnd);
                next += Span::from_ms(1000);
            }
            let per = cubic.segments_per_step(now, cwnd, 1);
            counted += 1;
            if counted >= per {
                counted = 0;
                cwnd += 1;
            }
        }
        seen
    }

    #[test]
    fn windows_after_a_loss_have_the_values_of_linux() {
        for hz in [250, 1000] {
            let mut cubic = CubicLinux::new(constants(hz));
            assert_eq!(cubic.reduce(100, 717), 70);
            assert_eq!(windows(cubic, 70, 7), [87, 97, 100, 100, 100, 102, 109], "HZ {hz}");
        }
    }

    #[test]
    fn fast_convergence_remembers_less() {
        let mut cubic = CubicLinux::new(constants(1000));
        cubic.reduce(100, 717);
        assert_eq!((cubic.reduce(80, 717), cubic.last_max), (56, 68));
        let mut plain = CubicLinux::new(Constants { fast_convergence: false, ..constants(1000) });
        plain.reduce(100, 717);
        assert_eq!((plain.reduce(80, 870), plain.last_max), (67, 80));
        assert_eq!(plain.reduce(2, 717), 2);
        plain.reset();
        assert_eq!(plain.last_max, 0);
    }

    #[test]
    fn an_idle_time_moves_the_epoch() {
        let mut cubic = CubicLinux::new(constants(1000));
        cubic.reduce(100, 717);
        cubic.segments_per_step(Time::ZERO + Span::from_ms(1000), 70, 1);
        cubic.on_transmit_start(Time::ZERO + Span::from_ms(3000), Span::from_ms(500));
        assert_eq!(cubic.epoch, Some(1500));
        cubic.on_transmit_start(Time::ZERO + Span::from_ms(3000), Span::from_ms(5000));
        assert_eq!(cubic.epoch, Some(3000));
    }

    #[test]
    fn samples_of_the_first_second_of_an_epoch_do_not_count() {
        let mut cubic = CubicLinux::new(constants(1000));
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        cubic.on_rtt(at(10), Span::from_ms(50));
        cubic.segments_per_step(at(1000), 70, 1);
        assert!(!cubic.on_rtt(at(1999), Span::from_ms(40)));
        assert_eq!(cubic.delay_min, Some(Span::from_ms(50)));
        assert!(cubic.on_rtt(at(2000), Span::from_ms(40)));
        assert_eq!(cubic.delay_min, Some(Span::from_ms(40)));
    }
}
