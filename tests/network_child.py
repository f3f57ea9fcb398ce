"""A program of the pipe protocol that sends what it is told to and writes down what arrives."""

import json
import struct
import sys

NEVER = 2**64 - 1
target, flows, sends = sys.argv[1], sys.argv[2].split(","), json.loads(sys.argv[3])


def read() -> tuple[str, bytes]:
    length, kind = struct.unpack("<IB", sys.stdin.buffer.read(5))
    return chr(kind), sys.stdin.buffer.read(length)


def write(kind: str, body: bytes) -> None:
    sys.stdout.buffer.write(struct.pack("<IB", len(body), ord(kind)) + body)
    sys.stdout.buffer.flush()


case = json.loads(read()[1])
first = 2 * flows.index(case["flow"])
mine = [row for row in sends if row[1] // 2 * 2 == first]
write("R", b"{}")
with open(f"{target}.{case['flow']}", "w", encoding="utf-8") as file:
    while (frame := read())[0] == "S":
        now, count = struct.unpack_from("<QH", frame[1])
        at, out = 10, b""
        for _ in range(count):
            end, ecn, length = struct.unpack_from("<BBI", frame[1], at)
            print(now, first + end, length, ecn, file=file)
            at += 6 + length
        due = [row for row in mine if row[0] <= now]
        mine = mine[len(due) :]
        for sent, port, length, ecn in due:
            out += struct.pack("<BBI", port - first, ecn, length) + bytes([sent // 1000 & 255 ^ length & 255]) * length
        timer = mine[0][0] if mine else NEVER
        write("D", struct.pack("<QH", timer, len(due)) + out + b"\0")
        file.flush()
