use super::*;

mod reference;

const LADDER_BPS: [u64; 6] = [300_000, 750_000, 1_200_000, 1_850_000, 2_850_000, 4_300_000];

fn config(algorithm: AbrAlgorithm, chunks: u64) -> PlayerConfig {
    let chunk = Span::from_ms(4000);
    PlayerConfig {
        ladder: LADDER_BPS.map(Rate::from_bps).to_vec(),
        chunk,
        length: chunk * chunks,
        buffer: Span::from_ms(25_000),
        start: chunk,
        resume: chunk,
        algorithm,
        guard: true,
        sizes: ChunkSizes::Constant,
    }
}

/// A part of a network's time.
#[derive(Clone, Copy, Debug)]
struct Phase {
    duration_s: f64,
    rate_bps: f64,
    latency_s: f64,
}

fn phase(duration_s: f64, rate_bps: f64, latency_s: f64) -> Phase {
    Phase { duration_s, rate_bps, latency_s }
}

/// An ideal network: phases that follow each other for ever, and what is left of the present one.
struct Network {
    phases: Vec<Phase>,
    place: usize,
    left_s: f64,
}

impl Network {
    fn new(phases: Vec<Phase>) -> Network {
        Network { left_s: phases[0].duration_s, place: 0, phases }
    }

    fn next_phase(&mut self) {
        self.place = (self.place + 1) % self.phases.len();
        self.left_s = self.phases[self.place].duration_s;
    }

    fn spend(&mut self, mut time_s: f64) {
        while time_s > self.left_s {
            time_s -= self.left_s;
            self.next_phase();
        }
        self.left_s -= time_s;
    }

    /// Spends an amount, which phases have at their speeds per second; how long it takes, s.
    fn consume(&mut self, mut amount: f64, speed: impl Fn(Phase) -> f64) -> f64 {
        let mut total_s = 0.0;
        loop {
            let speed = speed(self.phases[self.place]);
            if amount <= self.left_s * speed {
                self.left_s -= amount / speed;
                return total_s + amount / speed;
            }
            total_s += self.left_s;
            amount -= self.left_s * speed;
            self.next_phase();
        }
    }

    /// The wait for the first byte, and the time from it to the last one, s.
    fn fetch(&mut self, bytes: u64) -> (f64, f64) {
        let latency_s = self.consume(1.0, |phase| 1.0 / phase.latency_s.max(1e-300));
        (latency_s, self.consume(8.0 * bytes as f64, |phase| phase.rate_bps))
    }
}

/// Checks what holds at all times.
fn check(player: &Player, now: Time) {
    let mut playback = player.playback;
    playback.advance(now);
    assert!(playback.buffer <= player.config.buffer, "{:?}", playback.buffer);
    let media = player.config.chunk * player.chunks.len() as u64;
    assert_eq!(playback.played + playback.buffer, media);
    let time = playback.startup + playback.played + playback.stalled;
    if playback.state != PlaybackState::Finished {
        assert_eq!(Time::ZERO + time, now);
    }
    assert!(Time::ZERO + time <= now);
}

/// Plays over a network to the last chunk; when that was.
fn play(player: &mut Player, phases: Vec<Phase>) -> Time {
    let mut network = Network::new(phases);
    let mut now = Time::ZERO;
    let mut action = player.start(now);
    loop {
        check(player, now);
        match action {
            PlayerAction::Ask { chunk, quality, bytes } => {
                assert_eq!(chunk, player.chunks().len() as u64);
                assert!(quality < LADDER_BPS.len());
                let (latency_s, transfer_s) = network.fetch(bytes);
                now += Span::from_seconds(latency_s);
                player.on_first_byte(now);
                assert_eq!(player.on_timer(now), PlayerAction::Wait(Time::NEVER));
                check(player, now);
                now += Span::from_seconds(transfer_s);
                action = player.on_chunk(now);
            }
            PlayerAction::Wait(until) => {
                assert!(until > now);
                let half = now + until.since(now).part(0.5);
                assert_eq!(player.on_timer(half), PlayerAction::Wait(until));
                network.spend(until.since(now).seconds());
                now = until;
                action = player.on_timer(now);
            }
            PlayerAction::Ended => return now,
        }
    }
}

fn qualities(player: &Player) -> String {
    player.chunks().iter().map(|record| record.quality.to_string()).collect()
}

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= 1e-9 * expected.abs().max(1.0)
}

/// A player of so many chunks that has played over `phases`, with its figures when all media was shown.
fn played(algorithm: AbrAlgorithm, chunks: u64, phases: &[Phase]) -> (Player, VideoFigures) {
    let mut player = Player::new(config(algorithm, chunks));
    let end = play(&mut player, phases.to_vec());
    let figures = player.figures(end + player.buffer(end) + Span::from_ms(1));
    assert!(near(figures.played_s, 4.0 * chunks as f64));
    (player, figures)
}

#[test]
fn vectors_of_the_specification() {
    let steady = [phase(1000.0, 2e6, 0.05)];
    let (player, figures) = played(AbrAlgorithm::Throughput, 12, &steady);
    assert_eq!(qualities(&player), "022222222222");
    assert!(near(figures.startup_s, 0.65) && near(figures.mean_bitrate_bps.unwrap(), 1.125e6));
    assert_eq!((figures.stalls, figures.switches, figures.chunks), (0, 1, 12));
    // (12 x 1.125 - 0.9)/12; no stall.
    assert!(near(figures.qoe.unwrap(), 1.05) && near(figures.mean_change_bps.unwrap(), 0.9e6 / 11.0));

    let (player, figures) = played(AbrAlgorithm::Bola, 40, &steady);
    assert_eq!((&qualities(&player)[..15], figures.switches), ("000014234234234", 36));
    let (player, figures) = played(AbrAlgorithm::Dynamic, 40, &steady);
    assert_eq!(&qualities(&player)[..15], "022222222342342");
    assert!(near(figures.mean_bitrate_bps.unwrap(), 1.7775e6));

    let steps = [phase(20.0, 4e6, 0.05), phase(20.0, 0.5e6, 0.05)];
    let (player, figures) = played(AbrAlgorithm::Throughput, 40, &steps);
    assert_eq!((&qualities(&player)[..14], figures.stalls, figures.switches), ("04444444200001", 1, 14));
    assert!(near(figures.stall_s, 2.5) && near(figures.rebuffer_ratio.unwrap(), 1.0 / 65.0));

    // Below the lowest rate: 1 - C/r0.
    let (_, figures) = played(AbrAlgorithm::Throughput, 200, &[phase(1000.0, 0.2e6, 0.0)]);
    assert!((figures.rebuffer_ratio.unwrap() - 1.0 / 3.0).abs() < 0.004);
}

/// The networks of the reference table: ten phases from a linear congruential generator.
fn numbered_network(number: u64) -> Vec<Phase> {
    let mut state = number;
    let mut draw = |most: u64| {
        state = (state * 1_103_515_245 + 12_345) % (1 << 31);
        (state >> 8) % most
    };
    let unit_bps = if number % 2 == 1 { 100_000.0 } else { 30_000.0 };
    (0..10)
        .map(|_| {
            let duration_s = (2 + draw(15)) as f64;
            let rate_bps = (2 + draw(60)) as f64 * unit_bps;
            phase(duration_s, rate_bps, (5 + draw(150)) as f64 / 1e3)
        })
        .collect()
}

#[test]
fn decisions_are_those_of_the_reference_player() {
    for (network, name, expected, startup_s, stalls, stall_s) in reference::PLAYS {
        let algorithm = match name {
            "throughput" | "unguarded" => AbrAlgorithm::Throughput,
            "bola" => AbrAlgorithm::Bola,
            "dynamic" => AbrAlgorithm::Dynamic,
            "bba" => AbrAlgorithm::Bba,
            "mpc" => AbrAlgorithm::Mpc { robust: false },
            _ => AbrAlgorithm::Mpc { robust: true },
        };
        let settings = PlayerConfig { guard: name != "unguarded", ..config(algorithm, 60) };
        let mut player = Player::new(settings);
        let end = play(&mut player, numbered_network(network));
        let figures = player.figures(end);
        assert_eq!(qualities(&player), expected, "network {network}, {name}");
        assert!(near(figures.startup_s, startup_s) && figures.stalls == stalls, "network {network}, {name}");
        assert!((figures.stall_s - stall_s).abs() < 1e-8, "network {network}, {name}: {}", figures.stall_s);
    }
}

#[test]
fn times_add_up_over_random_networks_and_settings() {
    let algorithms = [
        AbrAlgorithm::Throughput,
        AbrAlgorithm::Bola,
        AbrAlgorithm::Dynamic,
        AbrAlgorithm::Bba,
        AbrAlgorithm::Mpc { robust: true },
        AbrAlgorithm::Fixed { quality: 4 },
    ];
    let mut stream = Stream::new(1, "test", "player");
    for run in 0..300 {
        let phases = (0..5)
            .map(|_| {
                phase(0.5 + 30.0 * stream.uniform(), 1e5 + 6e6 * stream.uniform(), 0.2 * stream.uniform())
            })
            .collect();
        let mut draw = |least_ms: u64, most_ms: u64| {
            Span::from_ms(least_ms + ((most_ms - least_ms) as f64 * stream.uniform()) as u64)
        };
        let chunk = draw(500, 6000);
        let settings = PlayerConfig {
            chunk,
            length: draw(1, 200_000),
            buffer: chunk * 2 + draw(0, 30_000),
            // More than the buffer holds is no deadlock.
            start: draw(0, 50_000),
            resume: draw(0, 50_000),
            sizes: ChunkSizes::Varied { sigma: 0.3, stream: Stream::new(run, "app", "sizes") },
            ..config(algorithms[run as usize % algorithms.len()], 1)
        };
        let mut player = Player::new(settings);
        let end = play(&mut player, phases);
        let finished = end + player.buffer(end);
        check(&player, finished);
        let figures = player.figures(finished + Span::from_ms(5000));
        let sum = figures.startup_s + figures.played_s + figures.stall_s;
        assert!(figures.began && near(sum, finished.seconds()), "{sum} {finished:?}");
        assert_eq!(figures.chunks * player.config.chunk.ps(), Span::from_seconds(figures.played_s).ps());
    }
}

#[test]
fn playback_begins_with_what_was_set_and_stalls_count_once() {
    let ms = |ms| Time::ZERO + Span::from_ms(ms);
    let wait_for_two = PlayerConfig {
        start: Span::from_ms(8000),
        resume: Span::from_ms(8000),
        ..config(AbrAlgorithm::Fixed { quality: 0 }, 5)
    };
    let mut player = Player::new(wait_for_two);
    assert_eq!(player.start(ms(1000)), PlayerAction::Ask { chunk: 0, quality: 0, bytes: 150_000 });
    assert_eq!(player.figures(ms(1500)).startup_s, 0.5);
    player.on_chunk(ms(2000));
    assert!(!player.figures(ms(3000)).began);
    player.on_chunk(ms(3000)); // plays from 3 to 11 s
    assert_eq!(player.buffer(ms(5000)), Span::from_ms(6000));
    assert_eq!((player.figures(ms(11_000)).stalls, player.figures(ms(11_001)).stalls), (0, 1));
    player.on_chunk(ms(12_000)); // 4 s are too little to go on
    player.on_chunk(ms(14_000)); // plays from 14 to 22 s
    let figures = player.figures(ms(20_000));
    let seconds = (figures.startup_s, figures.stall_s, figures.played_s, figures.stalls);
    assert_eq!(seconds, (2.0, 3.0, 14.0, 1));
    // The last chunk comes when the buffer is empty: no stall. The viewer waits for no more.
    assert_eq!(player.on_chunk(ms(22_000)), PlayerAction::Ended);
    assert_eq!(player.on_timer(ms(30_000)), PlayerAction::Ended);
    let figures = player.figures(ms(60_000));
    assert_eq!((figures.stalls, figures.played_s, figures.stall_s), (1, 20.0, 3.0));
    assert_eq!(figures.rebuffer_ratio, Some(3.0 / 23.0));
    // Five chunks of 0.3 Mb/s, and a penalty of 4.3 Mb/s for each second of stall.
    assert!(near(figures.qoe.unwrap(), (5.0 * 0.3 - 4.3 * 3.0) / 5.0));
    assert_eq!(figures.mean_change_bps, Some(0.0));
}

#[test]
fn without_a_chunk_there_are_no_means() {
    let mut player = Player::new(config(AbrAlgorithm::Dynamic, 5));
    player.start(Time::ZERO);
    let figures = player.figures(Time::ZERO + Span::from_ms(700));
    assert_eq!((figures.startup_s, figures.rebuffer_ratio, figures.qoe), (0.7, None, None));
    assert_eq!((figures.mean_bitrate_bps, figures.mean_change_bps, figures.chunks), (None, None, 0));
}

#[test]
fn quality_of_experience_of_the_specification() {
    // 1.2, 1.85, 1.85 Mb/s with half a second of stall: 2.1 in all.
    let mut player = Player::new(config(AbrAlgorithm::Throughput, 3));
    player.playback.stalled = Span::from_ms(500);
    player.chunks = [2, 3, 3]
        .map(|quality| ChunkRecord {
            quality,
            bytes: 1,
            asked: Time::ZERO,
            first_byte: Time::ZERO,
            end: Time::ZERO,
            buffer_before: Span::ZERO,
            buffer_after: Span::ZERO,
            estimate_bps: None,
        })
        .to_vec();
    assert!(near(3.0 * player.figures(Time::ZERO).qoe.unwrap(), 2.1));
}

#[test]
fn sizes_come_from_a_table_or_vary_with_a_mean_of_one() {
    let fixed = AbrAlgorithm::Fixed { quality: 1 };
    let table = ChunkSizes::Table(vec![vec![1, 20, 3, 4, 5, 6], vec![1, 30, 3, 4, 5, 6]]);
    let mut player = Player::new(PlayerConfig { sizes: table, ..config(fixed, 3) });
    play(&mut player, vec![phase(1.0, 1e6, 0.01)]);
    assert_eq!(player.chunks().iter().map(|record| record.bytes).collect::<Vec<_>>(), [20, 30, 20]);

    let sizes = |quality| {
        let stream = Stream::new(1, "app", "video");
        let sizes = ChunkSizes::Varied { sigma: 0.5, stream };
        let mut player =
            Player::new(PlayerConfig { sizes, ..config(AbrAlgorithm::Fixed { quality }, 20_000) });
        play(&mut player, vec![phase(1000.0, 1e9, 0.01)]);
        player.chunks().iter().map(|record| record.bytes as f64).collect::<Vec<_>>()
    };
    let (low, high) = (sizes(0), sizes(4));
    let mean = low.iter().sum::<f64>() / low.len() as f64;
    assert!((mean / 150_000.0 - 1.0).abs() < 0.015, "{mean}");
    // The qualities of a chunk share its factor.
    assert!(low.iter().zip(&high).all(|(low, high)| (high / low - 9.5).abs() < 1e-3));
}

#[test]
fn records_have_the_buffer_and_the_estimate() {
    let (player, _) = played(AbrAlgorithm::Throughput, 12, &[phase(1000.0, 2e6, 0.05)]);
    let [first, second, .., last] = player.chunks() else { panic!("twelve chunks") };
    assert_eq!((first.estimate_bps, first.buffer_before), (None, Span::ZERO));
    assert_eq!((first.asked, first.end.seconds()), (Time::ZERO, 0.65));
    assert_eq!(first.buffer_after, Span::from_ms(4000));
    assert!(near(second.estimate_bps.unwrap(), 2e6));
    assert_eq!((second.asked, second.first_byte.seconds()), (first.end, 0.7));
    // A chunk of 1.2 Mb/s takes 2.45 s: 4 s in the buffer grow by 1.55 s each.
    assert_eq!(last.buffer_before, Span::from_ms(4000 + 10 * 1550));
    assert_eq!(last.end.since(last.asked), Span::from_ms(2450));
}
