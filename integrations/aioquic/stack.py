"""aioquic at both ends of a flow.

`ackclock conform stack.py:Aioquic`, or `python stack.py SCENARIO CONTROLLER SEED KEY=VALUE...` for one run.
"""

import json
import math
import random
import sys
import types

import aioquic
from aioquic import tls
from aioquic.buffer import Buffer
from aioquic.quic import connection, events, packet
from aioquic_settings import configuration

import ackclock

NAME, VERSION, RENO = "aioquic", aioquic.__version__, "reno"
CONTROLLERS = {"reno": "reno", "cubic": "cubic:rfc9438"}
ADDRESSES = [("10.0.0.1", 4433), ("10.0.0.2", 4433)]


class Peer:
    """One end of a connection: the source is the client and writes, the destination is the server and reads."""

    def __init__(self, end, case):
        self.is_client = end == 0
        self.settings = configuration(case, self.is_client)
        self.other, self.case, self.quic = ADDRESSES[1 - end], case, None
        self.sender, self.stream, self.written, self.delivered, self.ended = None, None, 0, 0, False
        self.total = sum(size for _, size in case["writes"]) or case["bytes"] or math.inf
        self.now_ns = 0

    def receive(self, now_ns, datagram):
        """A datagram; the first one opens the connection of the server."""
        if self.quic is None:
            first = packet.pull_quic_header(Buffer(data=datagram[1]), host_cid_length=8)
            self.open(original_destination_connection_id=first.destination_cid)
        self.quic.receive_datagram(datagram[1], self.other, now_ns / 1e9)

    def open(self, **given):
        """Make the connection."""
        self.quic = connection.QuicConnection(configuration=self.settings, **given)
        self.recovery = self.quic._loss  # private, as the send buffer is; aioquic has no public way to see either

    def poll(self, now_ns):
        """What is due, then the application, then the datagrams that result."""
        self.now_ns, now = now_ns, now_ns / 1e9
        if self.quic is None and self.is_client:
            self.open()
            self.quic.connect(self.other, now=now)
        if self.quic is None:
            return []
        due = self.quic.get_timer()
        if due is not None and due <= now:
            self.quic.handle_timer(now)
        while (event := self.quic.next_event()) is not None:
            self.handle(event)
        if self.sender is not None:
            self.write()
        return [data for data, _ in self.quic.datagrams_to_send(now)]

    def handle(self, event):
        """An event of the connection."""
        if isinstance(event, events.StreamDataReceived):
            self.delivered += len(event.data)
            self.ended |= event.end_stream
        elif isinstance(event, events.HandshakeCompleted) and self.is_client:
            self.stream = self.quic.get_next_available_stream_id(is_unidirectional=True)
            self.quic.send_stream_data(self.stream, b"")
            self.sender = self.quic._streams[self.stream].sender
        elif isinstance(event, events.ConnectionTerminated):
            raise ConnectionError(f"the connection has ended, code {event.error_code}: {event.reason_phrase}")

    def write(self):
        """The application writes what is due, as long as less than two windows wait to be acknowledged."""
        case, due = self.case, self.total
        if case["writes"]:
            due = sum(size for at, size in case["writes"] if at <= self.now_ns)
        if case["stop_ns"] is not None and case["stop_ns"] <= self.now_ns:
            due = 0
        while self.written < due and len(self.sender._buffer) < 2 * self.recovery.congestion_window:
            size = min(case["write_bytes"], due - self.written)
            self.written += size
            self.quic.send_stream_data(self.stream, bytes(size), end_stream=self.written == self.total)

    def timer(self):
        """The connection's timer or the next write, ns; rounded up, so that it is due when it is polled."""
        timer = self.quic and self.quic.get_timer()
        times = [] if timer is None else [math.ceil(timer * 1e9)]
        if self.is_client:
            times += [at for at, _ in self.case["writes"] if at > self.now_ns][:1]
        return min(times, default=None)

    def sample(self):
        """What the connection says of itself."""
        if not self.is_client:
            return {"delivered_bytes": self.delivered}
        if self.quic is None:
            return {}
        recovery = self.recovery
        return {
            "cwnd_bytes": recovery.congestion_window,
            "ssthresh_bytes": recovery._cc.ssthresh,
            "in_flight_bytes": recovery.bytes_in_flight,
            "srtt_s": recovery._rtt_smoothed,
            "app_limited": self.sender is not None and self.sender.buffer_is_empty,
        }

    def finished(self):
        """Whether all bytes have been acknowledged, or received."""
        return self.ended or (self.sender is not None and self.sender.is_finished)


def Aioquic(case):
    """The ends of a flow. Random bytes come from the seed: these modules draw them from `os.urandom` alone."""
    generator = random.Random(case["seed"])
    connection.os = packet.os = tls.os = types.SimpleNamespace(urandom=generator.randbytes)
    return Peer(0, case), Peer(1, case)


def run(scenario, controller="reno", seed=1, overrides=()):
    """One run over the network of a scenario."""
    network = ackclock.Network(scenario, seed=seed, overrides=overrides, record=["fingerprint"])
    flow = vars(network.application(network.flows[0]))
    rest = {"controller": controller, "seed": seed, "header": 28, "mtu": 1500, "write_bytes": 1 << 16}
    source, destination = Aioquic(flow | rest)
    driven = network.drive({0: source, 1: destination})
    return {
        "goodput_mbps": round(destination.delivered * 8e3 / network.end_ns, 3),
        "delivered_bytes": destination.delivered,
        "dropped": sum(network.counts(0)["dropped"].values()),
        "steps": driven.steps,
        "finished": driven.finished,
        "fingerprint": network.fingerprint(),
    }


if __name__ == "__main__":
    scenario, controller, seed, *overrides = [*sys.argv[1:], *("scenario.toml", "reno", "1")[len(sys.argv) - 1 :]]
    print(json.dumps(run(scenario, controller, int(seed), overrides)))
