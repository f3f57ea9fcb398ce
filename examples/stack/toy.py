"""A toy transport in Python: a window of 20 datagrams of 1,200 bytes, each acknowledged.

A datagram without acknowledgement for 200 ms is sent again and halves the window, which then grows by one for each
window that is acknowledged. The same as toy.h, packet by packet.
"""

WINDOW, BYTES, ACK, TIMEOUT_NS = 20, 1200, 40, 200_000_000
NAME, VERSION, CONTROLLERS = "toy", "1", {"toy": "reno"}


class Source:
    """The end that sends."""

    def __init__(self):
        self.sent_ns = {}  # of each datagram without acknowledgement, when it was last sent
        self.next, self.window, self.grown = 0, WINDOW, 0

    def receive(self, now_ns, datagram):
        """An acknowledgement."""
        if self.sent_ns.pop(int.from_bytes(datagram[1][:8], "little"), None) is None:
            return
        self.grown += 1
        if self.grown >= self.window:
            self.grown = 0
            self.window = min(self.window + 1, WINDOW)

    def poll(self, now_ns):
        """What is sent again, then what the window permits."""
        late = [number for number, at in self.sent_ns.items() if at + TIMEOUT_NS <= now_ns]
        if late:
            self.window = max(self.window // 2, 1)
        while len(self.sent_ns) < self.window:
            self.sent_ns[self.next] = now_ns
            late.append(self.next)
            self.next += 1
        for number in late:
            self.sent_ns[number] = now_ns
            yield number.to_bytes(8, "little") + bytes(BYTES - 8)

    def timer(self):
        """When the first datagram without acknowledgement is sent again."""
        return min(self.sent_ns.values()) + TIMEOUT_NS if self.sent_ns else None


class Destination:
    """The end that receives and acknowledges."""

    def __init__(self):
        self.seen, self.pending = set(), []

    def receive(self, now_ns, datagram):
        """Data."""
        number = datagram[1][:8]
        self.seen.add(number)
        self.pending.append(number)

    def poll(self, now_ns):
        """The acknowledgements."""
        numbers, self.pending = self.pending, []
        return [number + bytes(ACK - 8) for number in numbers]

    def timer(self):
        """It has none."""

    def sample(self):
        """What the application has received."""
        return {"delivered_bytes": BYTES * len(self.seen)}


def Toy(case):
    """The ends of a flow: `ackclock conform toy.py:Toy`."""
    return Source(), Destination()


if __name__ == "__main__":
    import sys

    import ackclock

    network = ackclock.Network(sys.argv[1], record=["fingerprint"])
    destination = Destination()
    network.drive({0: Source(), 1: destination})
    delivered = BYTES * len(destination.seen)
    print(f"{delivered * 8e3 / network.end_ns:.3f} Mb/s, {network.counts(0)['dropped']['queue']} drops")
    print(network.fingerprint())
