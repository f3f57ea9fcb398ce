//! Mobility: the positions of nodes as pure functions of time (docs/specs/manet.md section 1).

use engine::Stream;
use units::{PS_PER_S, Span, Time};

const SECONDS_PER_PS: f64 = 1.0 / PS_PER_S as f64;

/// A straight segment of a trajectory, which begins at time `from`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Leg {
    from: Time,
    /// Place at that moment, m.
    at: [f64; 2],
    /// m/s.
    velocity: [f64; 2],
}

/// A node's path over the plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    legs: Vec<Leg>,
}

impl Trajectory {
    /// A node that stays at `place` (m) until the first call of [`Trajectory::go`].
    pub fn new(place: [f64; 2]) -> Trajectory {
        Trajectory { legs: vec![Leg { from: Time::ZERO, at: place, velocity: [0.0; 2] }] }
    }

    /// At time `when`, the node starts to move from its position at that time to `goal` (m) at `speed` (m/s). It stops
    /// at `goal`. With speed zero, it stops at time `when`. `when` must not be before that of an earlier call. Returns
    /// the time of arrival.
    pub fn go(&mut self, when: Time, goal: [f64; 2], speed: f64) -> Time {
        let at = self.at(when);
        while self.legs.last().is_some_and(|leg| leg.from >= when) {
            self.legs.pop();
        }
        let path = [goal[0] - at[0], goal[1] - at[1]];
        let length = (path[0] * path[0] + path[1] * path[1]).sqrt();
        if speed <= 0.0 || length == 0.0 {
            self.legs.push(Leg { from: when, at, velocity: [0.0; 2] });
            return when;
        }
        self.legs.push(Leg { from: when, at, velocity: path.map(|w| w / length * speed) });
        let arrival = when + Span::from_ps((length / speed * PS_PER_S as f64) as u64);
        self.legs.push(Leg { from: arrival, at: goal, velocity: [0.0; 2] });
        arrival
    }

    /// Place at a moment, m.
    pub fn at(&self, when: Time) -> [f64; 2] {
        let leg = self.legs.partition_point(|leg| leg.from <= when).saturating_sub(1);
        self.legs[leg].place(when)
    }

    /// The highest speed on the path, m/s.
    pub fn top_speed(&self) -> f64 {
        let squares = self.legs.iter().map(|l| l.velocity[0] * l.velocity[0] + l.velocity[1] * l.velocity[1]);
        squares.fold(0.0, f64::max).sqrt()
    }
}

impl Leg {
    #[inline]
    fn place(&self, when: Time) -> [f64; 2] {
        // The conversion from a signed integer is one instruction, and the range of a signed integer is sufficient.
        let t = when.since(self.from).ps() as i64 as f64 * SECONDS_PER_PS;
        [self.at[0] + self.velocity[0] * t, self.at[1] + self.velocity[1] * t]
    }
}

/// A trajectory that is read in the order of time. It gives the positions of [`Trajectory::at`] without a search.
#[derive(Clone, Debug)]
pub(super) struct TrajectoryCursor {
    /// The current leg and its end. They are cached because most reads need only the current leg.
    present: Leg,
    until: Time,
    next: usize,
    trajectory: Trajectory,
}

impl TrajectoryCursor {
    pub fn new(trajectory: Trajectory) -> TrajectoryCursor {
        let present = trajectory.legs[0];
        let mut walker = TrajectoryCursor { present, until: Time::ZERO, next: 0, trajectory };
        walker.turn(Time::ZERO);
        walker
    }
    #[inline]
    pub fn at(&mut self, when: Time) -> [f64; 2] {
        if when >= self.until {
            self.turn(when);
        }
        self.present.place(when)
    }
    #[cold]
    fn turn(&mut self, when: Time) {
        let legs = &self.trajectory.legs;
        while let Some(leg) = legs.get(self.next).filter(|leg| leg.from <= when) {
            self.present = *leg;
            self.next += 1;
        }
        self.until = legs.get(self.next).map_or(Time::NEVER, |leg| leg.from);
    }
    pub fn top_speed(&self) -> f64 {
        self.trajectory.top_speed()
    }
}

/// How nodes start under random waypoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// From the stationary distribution: a run looks the same at its beginning and at its end.
    #[default]
    Steady,
    /// As in ns-2's `setdest` (version 1): the positions are uniform, and every node pauses first.
    Cmu,
}

/// Random waypoint: a node moves straight to a uniform random point at a uniform random speed, pauses, and repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct RandomWaypoint {
    /// The rectangle, m.
    pub area: [f64; 2],
    /// Least and greatest speed, m/s; the least above zero.
    pub speed: [f64; 2],
    /// Rest at every goal.
    pub pause: Span,
    /// How it starts.
    pub start: Start,
}

impl RandomWaypoint {
    /// Mean time from one waypoint to the next including the pause, and the part of it in which the node moves, s.
    pub fn mean_trip(&self) -> (f64, f64) {
        let [slow, fast] = self.speed;
        let inverse = if fast > slow { libm::log(fast / slow) / (fast - slow) } else { 1.0 / slow };
        let moving = mean_distance(self.area) * inverse;
        (moving + self.pause.seconds(), moving)
    }

    /// One node's path until `horizon`.
    pub fn trajectory(&self, stream: &mut Stream, horizon: Time) -> Trajectory {
        let [slow, fast] = self.speed;
        let (mut path, mut free) = match self.start {
            Start::Cmu => (Trajectory::new(self.point(stream)), Time::ZERO + self.pause),
            Start::Steady => self.steady(stream),
        };
        while free < horizon {
            let goal = self.point(stream);
            let speed = slow + (fast - slow) * stream.uniform();
            free = path.go(free, goal, speed) + self.pause.max(Span::from_ps(1));
        }
        path
    }

    fn point(&self, stream: &mut Stream) -> [f64; 2] {
        self.area.map(|side| side * stream.uniform())
    }

    /// A start from the stationary distribution, and when the node is free to choose its next goal.
    fn steady(&self, stream: &mut Stream) -> (Trajectory, Time) {
        let [slow, fast] = self.speed;
        let ratio = libm::log(fast / slow);
        let (trip, moving) = self.mean_trip();
        let pause = self.pause.seconds();
        if stream.uniform() < 1.0 - moving / trip {
            let rest = Span::from_seconds(pause * stream.uniform());
            return (Trajectory::new(self.point(stream)), Time::ZERO + rest);
        }
        // The probability of a leg is proportional to its length, and that of a speed to the travel time at that speed.
        let diagonal = (self.area[0] * self.area[0] + self.area[1] * self.area[1]).sqrt();
        let (from, to) = loop {
            let (a, b) = (self.point(stream), self.point(stream));
            let length = ((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])).sqrt();
            if stream.uniform() * diagonal < length {
                break (a, b);
            }
        };
        let part = stream.uniform();
        let speed = slow * libm::exp(ratio * stream.uniform());
        let mut path =
            Trajectory::new([from[0] + part * (to[0] - from[0]), from[1] + part * (to[1] - from[1])]);
        let free = path.go(Time::ZERO, to, speed) + self.pause.max(Span::from_ps(1));
        (path, free)
    }
}

/// Mean distance of two uniform points in a rectangle (Ghosh 1951), m.
fn mean_distance([a, b]: [f64; 2]) -> f64 {
    let d = (a * a + b * b).sqrt();
    let arc = |x: f64, y: f64| y * y / x * libm::log((x + d) / y);
    let cubes = a * a * a / (b * b) + b * b * b / (a * a);
    (cubes + d * (3.0 - a * a / (b * b) - b * b / (a * a)) + 2.5 * (arc(a, b) + arc(b, a))) / 15.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_distance_in_the_unit_square_is_known() {
        assert!((mean_distance([1.0, 1.0]) - 0.521_405).abs() < 1e-6);
        assert!((mean_distance([600.0, 600.0]) - 600.0 * 0.521_405).abs() < 1e-3);
    }

    #[test]
    fn a_movement_can_be_cut_short() {
        let s = |s: f64| Time::ZERO + Span::from_seconds(s);
        let mut path = Trajectory::new([0.0, 0.0]);
        assert_eq!(path.go(s(1.0), [10.0, 0.0], 1.0), s(11.0));
        assert_eq!(path.at(s(0.5)), [0.0, 0.0]);
        assert!((path.at(s(3.0))[0] - 2.0).abs() < 1e-9);
        assert_eq!(path.at(s(20.0)), [10.0, 0.0]);
        path.go(s(6.0), [5.0, 5.0], 5.0);
        assert!((path.at(s(6.5))[1] - 2.5).abs() < 1e-9);
        assert_eq!(path.at(s(8.0)), [5.0, 5.0]);
        let mut walker = TrajectoryCursor::new(path.clone());
        for k in 0..100 {
            assert_eq!(walker.at(s(k as f64 * 0.1)), path.at(s(k as f64 * 0.1)));
        }
    }

    /// The stationary mean speed of docs/specs/manet.md section 1, at the beginning and at the end.
    #[test]
    fn a_steady_start_is_steady() {
        let model = RandomWaypoint {
            area: [600.0, 600.0],
            speed: [1.0, 10.0],
            pause: Span::ZERO,
            start: Start::Steady,
        };
        let mut stream = Stream::new(1, "mobility", "test");
        let end = Time::ZERO + Span::from_seconds(300.0);
        let paths: Vec<Trajectory> = (0..4000).map(|_| model.trajectory(&mut stream, end)).collect();
        for at in [1.0, 299.0] {
            let (a, b) = (Time::ZERO + Span::from_seconds(at), Time::ZERO + Span::from_seconds(at + 0.01));
            let speed = |w: &Trajectory| {
                let (p, q) = (w.at(a), w.at(b));
                ((p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1])).sqrt() / 0.01
            };
            let mean = paths.iter().map(speed).sum::<f64>() / paths.len() as f64;
            // Its standard error is 0.04 m/s.
            assert!((mean - 3.9087).abs() < 0.13, "{mean} m/s at {at} s");
        }
    }
}
