"""BBR version 1 in Python, bit-identical to the registered `bbr`; docs/python-controllers.md explains the interface.

The algorithm is that of crates/cc/src/bbr. Windows are in segments, rates in segments a second; times are whole numbers
of picoseconds, because differences of seconds would lose bits.

ackclock run scenarios/bbr_cubic.toml --set 'flow.bbr.tcp.congestion_control={ python = "examples/bbr.py:Bbr" }'
"""

import math
from collections import deque

from ackclock import Controller

STARTUP, DRAIN, PROBE_BW, PROBE_RTT = range(4)
HIGH_GAIN, DRAIN_GAIN = 739 / 256, 88 / 256  # 2/ln(2) and its inverse, as in Linux
CYCLE = (1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
BANDWIDTH_ROUNDS = 10  # the largest delivery rate of so many round trips
AGGREGATION_ROUNDS, AGGREGATION_S = 5, 0.1
PROBE_RTT_PS = 200 * 10**9
MIN_WINDOW = 4.0
PACING_MARGIN = 0.99
QUANTA = 3.0  # segments that the two hosts may hold back, in quanta
BURSTS_PER_SECOND, LARGEST_BURST_BITS, MOST_AT_ONCE, TWO_AT_ONCE = 1024.0, 65_215.0 * 8.0, 127.0, 1.2e6
REPAIR = ("recovery", "loss")


def seconds(ps):
    return ps / 1e12


class Random:
    """xoshiro256++ (Blackman and Vigna), with splitmix64 of the seed as its first state."""

    MASK = 2**64 - 1

    def __init__(self, seed):
        self.state = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) & self.MASK
            z = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & self.MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & self.MASK
            self.state.append(z ^ (z >> 31))

    def rotate(self, x, bits):
        return ((x << bits) | (x >> (64 - bits))) & self.MASK

    def next(self):
        a, b, c, d = self.state
        result = (self.rotate((a + d) & self.MASK, 23) + a) & self.MASK
        c, d = c ^ a, d ^ b
        self.state = [a ^ d, b ^ c, c ^ ((b << 17) & self.MASK), self.rotate(d, 45)]
        return result


class LongTerm:
    """Long-term bandwidth sampling: finds a policer, and the rate that it lets through."""

    FEWEST_ROUNDS, MOST_ROUNDS, ROUNDS_IN_USE = 4, 16, 48
    LOSS_RATIO = 50 / 256
    NEAR, NEAR_BPS = 1 / 8, 4000.0

    def __init__(self, segment_bits):
        self.segment_bits = segment_bits
        self.rounds = 0
        self.began = (0, 0, 0)  # delivered, lost, whole milliseconds
        self.delivered_ps = 0
        self.reset()

    def reset(self):
        self.rate, self.in_use, self.sampling, self.timeouts = 0.0, False, False, 0

    def on_rto(self):
        self.timeouts = min(self.timeouts + 1, 255)

    def update(self, ack, round_start, probing):
        """Process an ACK with a rate sample; true if the path is to be probed anew."""
        expired = self.timeouts > 0 and self.after_timeouts(ack, probing)
        if ack.newly_delivered > 0:
            self.delivered_ps = ack.now_ps
        if self.in_use:
            return (probing and round_start and self.expires()) or expired
        if self.sampling or ack.newly_lost > 0:
            self.sample(
                self.totals(ack.delivered_total, ack.lost_total), ack.app_limited, round_start, ack.newly_lost > 0
            )
        return expired

    def totals(self, delivered, lost):
        return delivered, lost, self.delivered_ps // 10**9

    def after_timeouts(self, ack, probing):
        """Count each timeout since the last ACK as the start of a round with a loss."""
        totals = self.totals(ack.delivered_total - ack.newly_delivered, ack.lost_total - ack.newly_lost)
        expired = False
        count, self.timeouts = self.timeouts, 0
        for _ in range(count):
            if self.in_use:
                expired |= probing and self.expires()
            else:
                self.sample(totals, False, True, True)
        return expired

    def expires(self):
        self.rounds += 1
        expired = self.rounds >= self.ROUNDS_IN_USE
        if expired:
            self.reset()
        return expired

    def sample(self, totals, app_limited, round_start, losses):
        if not self.sampling:
            if not losses:
                return
            self.began, self.rounds, self.sampling = totals, 0, True
        if app_limited:
            self.reset()
            return
        self.rounds += round_start
        if self.rounds < self.FEWEST_ROUNDS:
            return
        if self.rounds > self.MOST_ROUNDS:  # losses are too far apart
            self.reset()
            return
        delivered, lost, ms = (now - before for now, before in zip(totals, self.began, strict=True))
        if losses and delivered > 0 and lost >= self.LOSS_RATIO * delivered and ms > 0:
            self.end_interval(totals, 1000.0 * delivered / ms)

    def end_interval(self, totals, rate):
        before, apart = self.rate, abs(rate - self.rate)
        self.rate, self.began, self.rounds = rate, totals, 0
        if before > 0.0 and (apart <= self.NEAR * before or apart * self.segment_bits <= self.NEAR_BPS):
            self.rate, self.in_use = (rate + before) / 2.0, True


class Bbr(Controller):
    """The rate follows the largest delivery rate, the window that rate times the smallest round-trip time."""

    needs = ("rate", "pacing", "segment_counts")
    probes = ("bandwidth", "min_rtt", "pacing_gain", "cwnd_gain", "mode", "lt_bandwidth")
    owns_window = True

    def __init__(self, flow, min_rtt_window=10.0, quantum=0.0, lt=True):
        self.mode = STARTUP
        self.window = self.initial = flow.initial_window
        self.ssthresh = math.inf
        self.max_window = flow.max_window
        self.segment_bits = flow.packet * 8.0
        self.pacing = 0.0
        self.pacing_gain = self.cwnd_gain = HIGH_GAIN
        self.rates = deque()  # (round, delivery rate), falling
        self.long_term = LongTerm(self.segment_bits) if lt else None
        self.rounds = self.next_round = 0
        self.round_start = False
        self.min_rtt_ps, self.min_rtt_at = None, 0
        self.min_rtt_window = int(min_rtt_window * 1e12 + 0.5)
        self.fixed_quantum = quantum
        self.seen_rtt = False
        self.probe_rtt_done, self.probe_rtt_round_done = None, False
        self.idle_restart = False
        self.prior_window = 0.0
        self.full_bandwidth, self.full_rounds, self.full = 0.0, 0, False
        self.phase, self.phase_began = 0, 0
        self.conserving = False
        self.last_phase = "open"
        self.extra, self.extra_rounds = [0.0, 0.0], 0
        self.epoch_began, self.epoch_acked = 0, 0.0
        self.random = Random(flow.seed)

    # ---- answers ----

    @property
    def cwnd(self):
        return max(math.floor(self.window), 1)

    @property
    def pacing_bps(self):
        bps = self.pacing * self.segment_bits
        return bps if bps >= 1.0 else None

    @property
    def send_quantum(self):
        return max(int(self.quantum()), 1)

    @property
    def limits_application(self):
        return self.mode == PROBE_RTT

    @property
    def bandwidth(self):
        return self.largest_rate() * self.segment_bits

    @property
    def min_rtt(self):
        return None if self.min_rtt_ps is None else seconds(self.min_rtt_ps)

    @property
    def lt_bandwidth(self):
        rate = self.policed()
        return None if rate is None else rate * self.segment_bits

    # ---- events ----

    def on_open(self, now_s):
        self.min_rtt_at = self.phase_began = self.epoch_began = round(now_s * 1e12)

    def on_handshake(self, event):
        self.min_rtt_ps, self.min_rtt_at = event.rtt_ps, event.now_ps
        self.first_pacing(event.rtt_s)

    def on_ack(self, ack):
        self.round_start = False
        self.update_bandwidth(ack)
        self.update_aggregation(ack)
        self.update_cycle(ack)
        self.check_full(ack)
        self.check_drain(ack)
        self.update_min_rtt(ack)
        self.update_gains()
        self.set_pacing(ack)
        self.update_window(ack)

    def on_congestion(self, event):
        self.save_window()

    def on_rto(self, event):
        self.save_window()
        self.last_phase = "loss"
        self.full_bandwidth = 0.0
        self.window = 1.0
        if self.long_term:
            self.long_term.on_rto()

    def on_undo(self, now_s):
        self.full_bandwidth, self.full_rounds = 0.0, 0
        if self.long_term:
            self.long_term.reset()

    def on_restart(self, event):
        pass  # the window stays

    def on_transmit_start(self, event):
        if not event.app_limited:
            return
        self.idle_restart = True
        self.epoch_began, self.epoch_acked = event.now_ps, 0.0
        if self.mode == PROBE_BW:  # after an idle time the pacing rate is the estimated rate: no burst
            self.pacing = self.rate() * PACING_MARGIN
        elif self.mode == PROBE_RTT and self.probe_rtt_done is not None and event.now_ps > self.probe_rtt_done:
            self.leave_probe_rtt(event.now_ps)

    def set_window(self, cwnd):
        self.window = cwnd
        if not self.seen_rtt:
            self.initial = cwnd

    def set_ssthresh(self, ssthresh):
        pass

    # ---- model ----

    def largest_rate(self):
        return self.rates[0][1] if self.rates else 0.0

    def policed(self):
        return self.long_term.rate if self.long_term and self.long_term.in_use else None

    def rate(self):
        """The rate to send at: the largest delivery rate, or that of a policer."""
        policed = self.policed()
        return self.largest_rate() if policed is None else policed

    def add_rate(self, rate):
        while self.rates and self.rates[-1][1] <= rate:
            self.rates.pop()
        self.rates.append((self.rounds, rate))
        while self.rounds - self.rates[0][0] >= BANDWIDTH_ROUNDS:
            self.rates.popleft()

    def update_bandwidth(self, ack):
        if ack.interval_ps is None:
            return
        if ack.prior_delivered >= self.next_round:
            self.next_round = ack.delivered_total
            self.rounds += 1
            self.round_start = True
            self.conserving = False
        if self.long_term and self.long_term.update(ack, self.round_start, self.mode == PROBE_BW):
            self.enter_probe_bw(ack.now_ps)
        rate = ack.delivered / ack.interval_s
        if not ack.app_limited or rate >= self.largest_rate():
            self.add_rate(rate)

    def update_aggregation(self, ack):
        """How much more was acknowledged in a short time than the estimated rate explains."""
        if ack.newly_delivered == 0:
            return
        if self.round_start:
            self.extra_rounds += 1
            if self.extra_rounds >= AGGREGATION_ROUNDS:
                self.extra_rounds = 0
                self.extra = [0.0, self.extra[0]]
        expected = self.rate() * seconds(ack.now_ps - self.epoch_began)
        if self.epoch_acked <= expected or self.epoch_acked + ack.newly_delivered >= 1 << 20:
            self.epoch_acked, self.epoch_began, expected = 0.0, ack.now_ps, 0.0
        self.epoch_acked += ack.newly_delivered
        self.extra[0] = max(self.extra[0], min(self.epoch_acked - expected, self.window))

    def bdp(self, rate, gain):
        return math.ceil(rate * seconds(self.min_rtt_ps) * gain - 1e-9)

    def quantum(self):
        """Segments that the host sends at once: those of 1/1024 s at the pacing rate."""
        if self.fixed_quantum > 0.0:
            return self.fixed_quantum
        least = 1.0 if self.pacing * self.segment_bits < TWO_AT_ONCE else 2.0
        most = min(math.floor(LARGEST_BURST_BITS / self.segment_bits), MOST_AT_ONCE)
        return max(min(math.floor(self.pacing / BURSTS_PER_SECOND), most), least)

    def budget(self, window):
        even = 2.0 * math.ceil((window + QUANTA * self.quantum()) / 2.0)
        return even + 2.0 if self.mode == PROBE_BW and self.phase == 0 else even

    def inflight(self, rate, gain):
        """The window that `gain` times the estimated rate needs."""
        return self.initial if self.min_rtt_ps is None else self.budget(self.bdp(rate, gain))

    def in_flight_at_departure(self, ack, in_flight):
        """Segments in flight when the next one may leave; whole ones are delivered until then."""
        delivered = math.floor(self.rate() * ack.pacing_wait_s)
        at_departure = in_flight + self.quantum() if self.pacing_gain > 1.0 else in_flight
        return max(at_departure - delivered, 0.0)

    # ---- states ----

    def update_cycle(self, ack):
        if self.mode != PROBE_BW:
            return
        rate = self.largest_rate()
        whole = self.min_rtt_ps is not None and ack.now_ps - self.phase_began > self.min_rtt_ps
        prior = self.in_flight_at_departure(ack, ack.prior_in_flight)
        if self.pacing_gain > 1.0:
            ends = whole and (ack.newly_lost > 0 or prior >= self.inflight(rate, self.pacing_gain))
        elif self.pacing_gain < 1.0:
            ends = whole or prior <= self.inflight(rate, 1.0)
        else:
            ends = whole
        if ends:
            self.next_phase(ack.now_ps)

    def next_phase(self, now_ps):
        self.phase = (self.phase + 1) % len(CYCLE)
        self.phase_began = now_ps

    def check_full(self, ack):
        if self.full or not self.round_start or ack.delivered is None or ack.app_limited:
            return
        rate = self.largest_rate()
        if rate >= 1.25 * self.full_bandwidth:
            self.full_bandwidth, self.full_rounds = rate, 0
            return
        self.full_rounds += 1
        self.full = self.full_rounds >= 3

    def check_drain(self, ack):
        rate = self.largest_rate()
        if self.mode == STARTUP and self.full:
            self.mode = DRAIN
            self.ssthresh = self.inflight(rate, 1.0)
        if self.mode == DRAIN and self.in_flight_at_departure(ack, ack.in_flight) <= self.inflight(rate, 1.0):
            self.enter_probe_bw(ack.now_ps)

    def enter_probe_bw(self, now_ps):
        self.mode = PROBE_BW
        # Any phase but that of 0.75, which would only drain what Drain has drained.
        self.phase = len(CYCLE) - 1 - self.random.next() % 7
        self.next_phase(now_ps)

    def update_min_rtt(self, ack):
        expired = self.min_rtt_ps is not None and ack.now_ps - self.min_rtt_at > self.min_rtt_window
        rtt = ack.rtt_ps
        if rtt is not None and (expired or self.min_rtt_ps is None or rtt < self.min_rtt_ps):
            self.min_rtt_ps, self.min_rtt_at = rtt, ack.now_ps
        if expired and not self.idle_restart and self.mode != PROBE_RTT:
            self.mode = PROBE_RTT
            self.save_window()
            self.probe_rtt_done = None
        if self.mode == PROBE_RTT:
            if self.probe_rtt_done is not None:
                self.probe_rtt_round_done |= self.round_start
                if self.probe_rtt_round_done and ack.now_ps > self.probe_rtt_done:
                    self.leave_probe_rtt(ack.now_ps)
            elif ack.in_flight <= MIN_WINDOW:
                self.probe_rtt_done = ack.now_ps + PROBE_RTT_PS
                self.probe_rtt_round_done = False
                self.next_round = ack.delivered_total
        if ack.newly_delivered > 0:
            self.idle_restart = False

    def leave_probe_rtt(self, now_ps):
        self.min_rtt_at = now_ps
        self.window = max(self.window, self.prior_window)
        if self.full:
            self.enter_probe_bw(now_ps)
        else:
            self.mode = STARTUP

    def update_gains(self):
        if self.mode == PROBE_BW:
            self.pacing_gain, self.cwnd_gain = (1.0 if self.policed() is not None else CYCLE[self.phase]), 2.0
        else:
            gains = {STARTUP: (HIGH_GAIN, HIGH_GAIN), DRAIN: (DRAIN_GAIN, HIGH_GAIN), PROBE_RTT: (1.0, 1.0)}
            self.pacing_gain, self.cwnd_gain = gains[self.mode]

    # ---- rate and window ----

    def first_pacing(self, rtt_s):
        self.seen_rtt = True
        self.pacing = HIGH_GAIN * self.window / rtt_s * PACING_MARGIN

    def set_pacing(self, ack):
        if not self.seen_rtt and ack.rtt_s is not None:
            self.first_pacing(ack.rtt_s)
        pacing = self.pacing_gain * self.rate() * PACING_MARGIN
        if self.full or pacing > self.pacing:
            self.pacing = pacing

    def save_window(self):
        if self.last_phase not in REPAIR and self.mode != PROBE_RTT:
            self.prior_window = self.window
        else:
            self.prior_window = max(self.prior_window, self.window)

    def conserve(self, ack):
        """The window in and after recovery; true if it is decided."""
        if ack.newly_lost > 0:
            self.window = max(self.window - ack.newly_lost, 1.0)
        before, now = self.last_phase, ack.phase
        if now == "recovery" and before != "recovery":
            self.conserving = True
            self.next_round = ack.delivered_total
            self.window = ack.in_flight + ack.newly_delivered
        elif before in REPAIR and now not in REPAIR:
            self.conserving = False
            self.window = max(self.window, self.prior_window)
        self.last_phase = now
        if self.conserving:
            self.window = max(self.window, ack.in_flight + ack.newly_delivered)
        return self.conserving

    def update_window(self, ack):
        if ack.newly_delivered > 0 and not self.conserve(ack):
            rate = self.rate()
            extra = min(max(self.extra), rate * AGGREGATION_S)
            if self.min_rtt_ps is None:
                target = self.initial
            else:
                target = self.budget(self.bdp(rate, self.cwnd_gain) + (math.floor(extra) if self.full else 0.0))
            if self.full:
                self.window = min(self.window + ack.newly_delivered, target)
            elif self.window < target or ack.delivered_total < int(self.initial):
                self.window += ack.newly_delivered
            self.window = max(self.window, MIN_WINDOW)
        if self.mode == PROBE_RTT:
            self.window = min(self.window, MIN_WINDOW)
        self.window = min(self.window, self.max_window)
