"""The toy transport as a program of the pipe protocol (docs/stacks.md): the frames, for a stack in any language.

With another stack, replace Source and Destination; everything else stays.
"""

import json
import struct
import sys

from toy import Destination, Source

NEVER = 2**64 - 1


def read():
    """The next frame: its type and its body."""
    length, kind = struct.unpack("<IB", sys.stdin.buffer.read(5))
    return chr(kind), sys.stdin.buffer.read(length)


def write(kind, body):
    """Write a frame."""
    sys.stdout.buffer.write(struct.pack("<IB", len(body), ord(kind)) + body)
    sys.stdout.buffer.flush()


def main():
    """Answer until the host ends the run."""
    _, body = read()
    case = json.loads(body)  # role, seed, control, application, duration_ns, ...
    roles = {"source": {0: Source}, "destination": {1: Destination}, "both": {0: Source, 1: Destination}}[case["role"]]
    ends = {end: make() for end, make in roles.items()}
    timers = dict.fromkeys(ends, 0)
    write("R", json.dumps({"name": "toy", "version": "1", "deterministic": True}).encode())
    while True:
        kind, body = read()
        if kind != "S":
            break
        now, count = struct.unpack_from("<QH", body)
        at, touched = 10, set()
        for _ in range(count):
            end, ecn, length = struct.unpack_from("<BBI", body, at)
            ends[end].receive(now, (end, body[at + 6 : at + 6 + length], ecn))
            touched.add(end)
            at += 6 + length
        datagrams = []
        for end, stack in ends.items():
            if end in touched or (timers[end] is not None and timers[end] <= now):
                datagrams += [struct.pack("<BBI", end, 0, len(data)) + data for data in stack.poll(now)]
                timers[end] = stack.timer()
        samples = [struct.pack("<BBd", 1, 0, ends[1].sample()["delivered_bytes"])] if 1 in ends else []
        timer = min((at for at in timers.values() if at is not None), default=NEVER)
        head = struct.pack("<QH", timer, len(datagrams))
        write("D", head + b"".join(datagrams) + bytes([len(samples)]) + b"".join(samples))
    write("F", json.dumps({"delivered_bytes": ends[1].sample()["delivered_bytes"] if 1 in ends else 0}).encode())


main()
