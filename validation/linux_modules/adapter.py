"""A module of Linux as a controller of the simulator."""

from __future__ import annotations

import ctypes
import math
from pathlib import Path
from typing import Any, ClassVar

import ackclock

_SIGNED, _UNSIGNED, _WORD, _POINTER = ctypes.c_int64, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_void_p
_FUNCTIONS: dict[str, list[Any]] = {
    "close": [],
    "handshake": [_SIGNED, _SIGNED],
    "sample": [],
    "congestion": [_SIGNED, ctypes.c_int],
    "rto": [_SIGNED, ctypes.c_int],
    "recovery_exit": [_SIGNED],
    "undo": [_SIGNED],
    "restart": [_SIGNED, _SIGNED],
    "transmit_start": [_SIGNED, _SIGNED, ctypes.c_int],
    "set": [_SIGNED, _SIGNED],
    "ack": [],
}
_PHASES = {"open": 0, "cwr": 1, "recovery": 2, "loss": 3}


def load(library: Path) -> ctypes.CDLL:
    """The library that `kernel.build` compiled, with the types of its functions."""
    lib = ctypes.CDLL(str(library))
    lib.kflow_open.argtypes = [ctypes.c_char_p, _WORD, _WORD, _SIGNED, _SIGNED, _UNSIGNED]
    lib.kflow_open.restype = _POINTER
    lib.kflow_io.argtypes, lib.kflow_io.restype = [_POINTER], _POINTER
    for name, arguments in _FUNCTIONS.items():
        getattr(lib, f"kflow_{name}").argtypes = [_POINTER, *arguments]
    return lib


def module(lib: ctypes.CDLL, name: str) -> type[ackclock.Controller]:
    """The class of a module, to be given to a scenario.

    For example `Scenario.build(..., controllers={"f": module(lib, "cubic")})`.
    """
    extra = {"bbr": ["pacing"], "lp": ["receiver_time"], "dctcp": ["ecn_per_packet"]}.get(name, [])
    paced = name == "bbr"

    class Module(ackclock.Controller):
        """Passes its events to the module. Times are exact, windows whole."""

        needs: ClassVar[tuple[str, ...]] = ("rate", "segment_counts", "samples", *extra)

        def __init__(self, flow: Any) -> None:
            super().__init__(flow)
            bounds = (_number(flow.initial_ssthresh), _number(flow.max_window))
            self.flow = lib.kflow_open(name.encode(), flow.packet, int(flow.initial_window), *bounds, flow.seed)
            if not self.flow:
                raise ValueError(f"the library has no module {name}")
            self.io = (_SIGNED * 40).from_address(lib.kflow_io(self.flow))
            self.owns_window = bool(self.io[4])
            self.total = 0

        def __del__(self) -> None:
            lib.kflow_close(self.flow)

        def take(self) -> None:
            """Takes over the answers of the module."""
            io = self.io
            self.cwnd = float(io[0])
            self.ssthresh = math.inf if io[1] < 0 else float(max(1, io[1]))
            self.reduce_now = bool(io[6])
            if paced:
                self.pacing_bps = float(io[2]) if io[2] else None
                self.send_quantum = int(io[3])
                self.limits_application = bool(io[5])

        def on_handshake(self, event: Any) -> None:
            lib.kflow_handshake(self.flow, event.now_ps, _optional(event.rtt_ps))
            self.total = 1  # the SYN
            self.take()

        def on_sample(self, sample: Any) -> None:
            self.io[8:19] = [
                sample.now_ps,
                sample.newly_acked,
                sample.newly_delivered,
                _optional(sample.rtt_ps),
                sample.ece,
                _signed(sample.acked_through),
                sample.next,
                int(sample.in_flight),
                _optional(sample.since_sent),
                self.total + sample.newly_delivered,
                sample.sacked,
            ]
            lib.kflow_sample(self.flow)
            self.take()

        def on_ack(self, ack: Any) -> None:
            self.total = ack.delivered_total
            self.io[8:34] = [
                ack.now_ps,
                ack.newly_acked,
                ack.newly_delivered,
                ack.newly_lost,
                ack.delivered_total,
                ack.lost_total,
                _signed(ack.acked_through),
                ack.next,
                int(ack.in_flight),
                int(ack.prior_in_flight),
                _optional(ack.rtt_ps),
                ack.ece,
                _PHASES[ack.phase],
                ack.may_grow,
                ack.window_limited,
                _optional(ack.delivered),
                _optional(ack.interval_ps),
                ack.prior_delivered or 0,
                ack.app_limited,
                _optional(ack.receiver_time_ps),
                ack.disorder,
                ack.sacked,
                ack.lost_out,
                ack.retransmitted_out,
                _optional(ack.srtt_ps),
                ack.paced,
            ]
            lib.kflow_ack(self.flow)
            self.take()

        def on_congestion(self, event: Any) -> None:
            lib.kflow_congestion(self.flow, event.now_ps, event.cause != "fast_retransmit")
            self.take()

        def on_rto(self, event: Any) -> None:
            lib.kflow_rto(self.flow, event.now_ps, event.repeated)
            self.take()

        def on_recovery_exit(self, now_s: float) -> None:
            lib.kflow_recovery_exit(self.flow, round(now_s * 1e12))
            self.take()

        def on_undo(self, now_s: float) -> None:
            lib.kflow_undo(self.flow, round(now_s * 1e12))
            self.take()

        def on_restart(self, event: Any) -> None:
            lib.kflow_restart(self.flow, event.now_ps, int(event.window))
            self.take()

        def on_transmit_start(self, event: Any) -> None:
            lib.kflow_transmit_start(self.flow, event.now_ps, event.idle_ps, event.app_limited)
            self.take()

        def set_window(self, cwnd: float) -> None:
            lib.kflow_set(self.flow, int(cwnd), -2)
            self.cwnd = cwnd

        def set_ssthresh(self, ssthresh: float) -> None:
            lib.kflow_set(self.flow, -2, _number(ssthresh))
            self.ssthresh = ssthresh

    Module.__name__ = f"Linux_{name}"
    return Module


def _number(segments: float) -> int:
    """A whole number of segments; -1 for no bound."""
    return -1 if math.isinf(segments) else int(segments)


def _optional(value: int | None) -> int:
    """A number, -1 for none."""
    return -1 if value is None else value


def _signed(number: int) -> int:
    """A segment number as a signed word: -1 before the first acknowledgement."""
    return number if number < 1 << 63 else -1
