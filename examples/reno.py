"""Reno (RFC 5681) in Python, bit-identical to the registered `reno`; docs/python-controllers.md explains it.

ackclock run scenarios/dumbbell.toml --set 'flow.reno.tcp.congestion_control={ python = "examples/reno.py:Reno" }'
"""

import math

from ackclock import Controller


class Reno(Controller):
    """Slow start, then one segment per round trip; a loss reduces the window to `keep` times its value."""

    def __init__(self, flow, keep=0.5):
        super().__init__(flow)
        self.flow = flow
        self.keep = keep
        self.counter = 0.0

    def on_ack(self, ack):
        counts = self.flow.counts_segments  # the linux profile counts segments, ns2 counts ACKs
        if not ack.may_grow or (counts and not ack.window_limited):
            return
        if not counts:
            if self.cwnd < self.ssthresh:
                self.move(self.cwnd + 1.0)
            else:
                self.move(self.cwnd + 1.0 / self.cwnd)
            return
        acked = float(ack.newly_delivered)
        if self.cwnd < self.ssthresh:
            before = self.cwnd
            self.move(min(before + acked, self.ssthresh))
            acked -= max(self.cwnd - before, 0.0)
        if acked > 0.0:
            self.count(acked)

    def count(self, acked):
        """One segment more for each window of acknowledged segments."""
        per = self.cwnd
        if self.counter >= per:  # the window has become smaller than what was counted
            self.counter = 0.0
            self.move(self.cwnd + 1.0)
        self.counter += acked
        if self.counter >= per:
            whole = math.floor(self.counter / per)
            self.counter -= whole * per
            self.move(self.cwnd + whole)

    def on_congestion(self, event):
        # RFC 8511 (ABE): the factor is 0.8 for an ECN echo if `abe` is set.
        self.reduce(event.window, 0.8 if self.flow.abe and event.cause == "ecn" else self.keep)

    def on_rto(self, event):
        if not event.repeated or self.flow.reduce_on_every_timeout:
            self.reduce(event.window, self.keep)
        self.cwnd, self.counter = 1.0, 0.0

    def set_window(self, cwnd):
        self.move(cwnd)

    def move(self, cwnd):
        self.cwnd = self.flow.max_window if cwnd >= self.flow.max_window + 1.0 else cwnd

    def reduce(self, used, keep):
        whole = self.flow.integer_windows or self.flow.counts_segments
        reduced = (math.floor(used) if whole else used) * keep
        self.ssthresh = max(math.floor(reduced), 2.0)
        if self.flow.counts_segments:
            self.cwnd = self.ssthresh
        else:
            self.cwnd = max(math.floor(reduced) if whole else reduced, 1.0)
        self.counter = 0.0
