"""Writes the scripts that record_receiver.py plays: `python receiver_scripts.py > scripts.jsonl`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from random import Random
from typing import Any

Line = dict[str, Any]
MS = 1000


def burst(at: int, numbers: range | list[int], gap: int = 0, **keys: object) -> list[Line]:
    """Segments that arrive one after another."""
    return [{"t": at + gap * place, "do": "data", "seq": segment, **keys} for place, segment in enumerate(numbers)]


def script(category: str, number: int, events: list[Line], **options: object) -> Line:
    """A script from events whose segments are numbered; the form has bytes."""
    settings: Line = {"mss": 1448, "handshake_us": 20 * MS, "timestamps": 1, **options}
    if not settings["timestamps"] and "mss" not in options:
        settings["mss"] = 1460
    ordered = [dict(event) for event in sorted(events, key=lambda event: event["t"])]
    for event in ordered:
        if "seq" in event:
            event["seq"] *= settings["mss"]
    end = ordered[-1]["t"] + 300 * MS
    name = f"{category}-{number}"
    return {"id": name, "role": "receiver", "category": category, "options": settings, "events": ordered, "end": end}


def rounds(start: int, rtt: int, sizes: list[int], gap: int) -> list[Line]:
    """Round trips of a sender: so many segments each."""
    events, first = [], 0
    for number, size in enumerate(sizes):
        events += burst(start + number * rtt, range(first, first + size), gap)
        first += size
    return events


def in_order() -> Iterator[list[Line]]:
    """Steady arrivals, and rounds of a slow start."""
    for gap in (0, 120, 1200, 3000, 8000):
        yield burst(60 * MS, range(60), gap)
    for gap in (0, 120, 1200):
        yield rounds(60 * MS, 66 * MS, [10, 20, 40, 45], gap)


def delayed() -> Iterator[tuple[list[Line], int]]:
    """Odd numbers of segments, so that the timer of delayed ACKs expires; pauses between groups."""
    for handshake in (4, 20, 60, 120):
        for pause in (9, 30, 90, 150):
            first, at, events = 0, handshake * MS, []
            for size in [10, 20, 21, 1, 3, 1, 1, 2, 1, 5, 1, 1]:
                events += burst(at, range(first, first + size), 100)
                first, at = first + size, at + pause * MS + size * 100
            yield events, handshake


def idle() -> Iterator[tuple[list[Line], int]]:
    """A pause in the middle: ACKs are quick after it, or not."""
    for handshake in (12, 20, 90):
        for pause in (100, 180, 330, 600, 1300):
            at = handshake * MS
            events = burst(at, range(60), 100) + burst(at + 6 * MS + pause * MS, range(60, 100), 100)
            yield events, handshake


def holes(random: Random) -> Iterator[list[Line]]:
    """Some segments are missing and arrive a round trip later."""
    for size in (1, 2, 3, 5, 8):
        for warm in (0, 60):
            lost = sorted(random.sample(range(warm + 2, warm + 24), size))
            before = burst(20 * MS, range(warm), 60)
            rest = [segment for segment in range(warm, warm + 30) if segment not in lost]
            yield (
                before
                + burst(40 * MS, rest, 300)
                + burst(80 * MS, lost, 300)
                + burst(90 * MS, range(warm + 30, warm + 40), 100)
            )


def many_holes() -> Iterator[list[Line]]:
    """Every second or third segment is missing."""
    for step in (2, 3):
        for gap in (0, 60, 120, 1500):
            for warm in (0, 80):
                sent = range(warm, warm + 42)
                lost = [segment for segment in sent if segment % step == 1 and segment > warm + 4]
                arrived = [segment for segment in sent if segment not in lost]
                events = burst(20 * MS, range(warm), 60) + burst(60 * MS, arrived, gap)
                yield events + burst(160 * MS, lost, gap) + burst(240 * MS, range(warm + 42, warm + 60), 200)


def duplicates(random: Random) -> Iterator[list[Line]]:
    """Segments arrive twice: below the next byte, in blocks, the same one again, after other segments."""
    for warm in (4, 30, 80):
        base = burst(20 * MS, range(warm), 60)
        yield base + burst(60 * MS, [warm - 1], 0) + burst(62 * MS, range(warm, warm + 40), 200)
        yield base + burst(60 * MS, [warm - 3, warm - 2, warm - 1], 100) + burst(70 * MS, range(warm, warm + 9), 3000)
        yield base + burst(60 * MS, [warm + 2, warm + 3, warm + 2, warm + 3, warm + 3, warm], 300)
        beyond = [warm + place for place in (1, 2, 3, 5, 7, 9, 11, 2, 5, 7, 9, 11, 12, 13, 14, 13, 15)]
        yield base + burst(60 * MS, beyond, 50) + burst(90 * MS, [warm, warm + 4, warm + 4, warm + 6], 300)
        yield (
            base
            + burst(60 * MS, [*range(warm + 1, warm + 14), warm + 4, warm + 13, warm + 13, warm + 2], 40)
            + burst(90 * MS, [warm], 0)
        )
        repeated = [*range(warm, warm + 12), *random.sample(range(warm + 12), 8), *range(warm + 12, warm + 40)]
        yield base + burst(60 * MS, repeated, 400)


def reordering(random: Random) -> Iterator[list[Line]]:
    """Segments overtake each other by some places."""
    for distance in (1, 2, 3, 5, 9):
        for warm in (10, 60):
            for gap in (80, 2000):
                places = {segment: float(segment) for segment in range(warm, warm + 40)}
                for segment in random.sample(range(warm + 1, warm + 38), 5):
                    places[segment] += distance + 0.5
                order = sorted(places, key=places.__getitem__)
                events = burst(20 * MS, range(warm), 60)
                start = 60 * MS
                for place, segment in enumerate(order):
                    sent = (start + gap * (segment - warm)) // MS
                    events.append({"t": start + gap * place, "do": "data", "seq": segment, "sent_ms": sent})
                yield events


def compression(random: Random) -> Iterator[tuple[list[Line], int, int]]:
    """Bursts after a missing segment, for short and long round trips."""
    for handshake, stamps, gap in ((2, 1, 250), (8, 1, 300), (20, 1, 450), (60, 1, 450), (2, 0, 400), (20, 0, 450)):
        base = rounds(handshake * MS, handshake * MS + 5 * MS, [10, 20, 40, 20], 60)
        warm, later = 90, base[-1]["t"] + 30 * MS
        for size, pause in ((30, 0), (47, 0), (50, 0), (60, 0), (30, gap), (40, gap)):
            if pause == 0 and (handshake == 2 or not stamps):
                pause = 4 * gap  # the timer would expire within a burst
            missing = random.randrange(3)
            sent = [segment for segment in range(warm, warm + size) if segment != warm + missing]
            repaired = later + 40 * MS + size * pause
            events = base + burst(later, sent, pause)
            events += burst(repaired, [warm + missing, *range(warm + size, warm + size + 9)], 100)
            yield events, handshake, stamps


def ecn(random: Random) -> Iterator[list[Line]]:
    """Marks, CWR, and segments that are not ECN-capable."""
    for warm in (4, 60, 61):
        base = burst(20 * MS, range(warm), 60)
        at = 60 * MS
        mark = burst(at, [warm], 0, ecn="ce")
        reduced = burst(at + 24 * MS, [warm + 20], 0, cwr=1)
        yield (
            base
            + mark
            + burst(at + 200, range(warm + 1, warm + 20), 300)
            + reduced
            + burst(at + 25 * MS, range(warm + 21, warm + 40), 300)
        )
        yield (
            base
            + mark
            + burst(at + 200, range(warm + 1, warm + 20), 300)
            + burst(at + 24 * MS, [warm + 20], 0, cwr=1, ecn="ce")
            + burst(at + 25 * MS, range(warm + 21, warm + 40), 300)
        )
        yield (
            base
            + burst(at, range(warm, warm + 20), 300, ecn="ce")
            + burst(at + 24 * MS, range(warm + 20, warm + 40), 300, cwr=1)
        )
        yield (
            base
            + burst(at, [warm + 1], 0, ecn="ce")
            + burst(at + 200, range(warm + 2, warm + 12), 200)
            + burst(at + 20 * MS, [warm], 0, ecn="not")
            + burst(at + 21 * MS, range(warm + 12, warm + 30), 300)
        )
        yield (
            base
            + burst(at, range(warm, warm + 7), 300)
            + burst(at + 9 * MS, [warm + 7], 0, ecn="not")
            + burst(at + 10 * MS, range(warm + 8, warm + 30), 300)
        )
        events = burst(at, range(warm, warm + 60), 700)
        for event in events:
            choice = random.random()
            event.update({"ecn": "ce"} if choice < 0.15 else {"cwr": 1} if choice < 0.25 else {})
        yield base + events
        yield (
            base
            + burst(at, [warm - 1], 0, ecn="ce")
            + burst(at + 200, [warm - 1], 0, cwr=1)
            + burst(at + 1 * MS, range(warm, warm + 20), 300)
        )
        yield (
            base
            + burst(at, range(warm, warm + 5), 30 * MS, ecn="ce")
            + burst(at + 160 * MS, range(warm + 5, warm + 10), 30 * MS, cwr=1)
        )


def window_growth() -> Iterator[tuple[list[Line], int, int]]:
    """Slow starts of different rates; rates that change."""
    for handshake, gap in ((10, 60), (10, 500), (40, 120), (40, 1200), (100, 120)):
        for stamps in (1, 0):
            rtt = handshake * MS
            yield rounds(rtt, rtt + 40 * gap, [10, 20, 40, 40, 40], gap), handshake, stamps
    yield rounds(20 * MS, 24 * MS, [10, 10, 10, 10, 30, 10, 30, 40], 100), 20, 1
    yield rounds(20 * MS, 60 * MS, [3, 3, 3, 6, 12, 24, 40], 100), 20, 1


def small(random: Random) -> Iterator[tuple[list[Line], int]]:
    """Segments of one size, smaller or larger than usual."""
    for mss in (100, 300, 536, 1000, 4000, 8948):
        span = 6 if mss > 4000 else 14
        base = burst(20 * MS, range(span), 100)
        yield base + burst(50 * MS, range(span, 3 * span + 1), 300), mss
        lost = sorted(random.sample(range(span + 1, 2 * span), 2))
        sent = [segment for segment in range(span, 2 * span) if segment not in lost]
        yield (
            base
            + burst(50 * MS, sent, 100)
            + burst(90 * MS, lost, 100)
            + burst(95 * MS, range(2 * span, 3 * span), 100),
            mss,
        )


def unread() -> Iterator[list[Line]]:
    """The application does not read, or only sometimes."""
    for count, gap in ((20, 100), (50, 100), (100, 100)):
        yield burst(20 * MS, range(count), gap)
        later = burst(95 * MS, range(count, count + 20), gap)
        yield [*burst(20 * MS, range(count), gap), {"t": 90 * MS, "do": "read"}, *later]


def offload(random: Random) -> Iterator[list[Line]]:
    """Packets of several segments, as GRO hands them to the receiver."""
    for size in (2, 3, 10):
        yield burst(20 * MS, range(0, 12 * size, size), 800, segments=size)
        yield burst(20 * MS, range(60), 60) + burst(60 * MS, range(60, 60 + 6 * size, size), 800, segments=size)
        late = [60 + size * place for place in (1, 2, 3, 4, 6, 7)]
        yield (
            burst(20 * MS, range(60), 60)
            + burst(60 * MS, late, 200, segments=size)
            + burst(90 * MS, [60, 60 + 5 * size], 200, segments=size)
        )
        events, first = burst(20 * MS, range(40), 60), 40
        for place in range(25):
            count = random.choice((1, 1, 2, 5, size))
            events += burst(60 * MS + place * 700, [first], 0, segments=count)
            first += count
        yield events


def arrivals(random: Random) -> tuple[list[Line], Line]:
    """A random transfer over a network that loses, repeats and delays."""
    handshake = random.choice((6, 20, 20, 50, 110))
    gap = random.choice((0, 60, 120, 400, 1200))
    loss, late, copy = random.choice(
        ((0.02, 0, 0), (0.1, 0, 0), (0.3, 0, 0), (0, 0.1, 0), (0.05, 0.05, 0.02), (0.02, 0, 0.1))
    )
    stamps = int(random.random() < 0.7)
    options = {"handshake_us": handshake * MS, "timestamps": stamps, "sack": int(random.random() < 0.85)}
    marks = random.random() < 0.2
    options |= {"ecn": 1} if marks else {}
    events: list[Line] = []
    start, first = handshake * MS, 0
    for size in random.choice(([10, 20, 30], [10, 20, 40, 30], [1, 2, 4, 8, 16, 30], [10, 3, 1, 1, 12, 30])):
        spare = start + max(handshake * MS, size * gap + 3 * MS)
        for segment in range(first, first + size):
            at = start + gap * (segment - first)
            key: Line = {"ecn": "ce"} if marks and random.random() < 0.1 else {}
            key |= {"cwr": 1} if marks and random.random() < 0.05 else {}
            sent = (at - handshake * MS // 2) // MS
            choice = random.random()
            if choice < loss:
                again: Line = {"sent_ms": spare // MS} | ({"ecn": "not"} if marks else {})
                events += burst(spare + 150 * (segment - first), [segment], 0, **again)
            elif choice < loss + late:
                events += burst(at + max(gap, 60) * random.randint(1, 6) + 10, [segment], 0, sent_ms=sent, **key)
            else:
                events += burst(at, [segment], 0, sent_ms=sent, **key)
            if random.random() < copy:
                events += burst(at + max(gap, 60) * random.randint(1, 6) + 20, [segment], 0, sent_ms=sent)
        first += size
        start = spare + max(handshake * MS, size * 150) + random.choice((5, 5, 12, 70, 400)) * MS
    return events, options


def scripts() -> Iterator[Line]:
    """All scripts."""
    random = Random(65)
    for number, events in enumerate(in_order()):
        yield script("in_order", number, events, handshake_us=60 * MS)
    for number, (events, handshake) in enumerate(delayed()):
        yield script("delayed_ack", number, events, handshake_us=handshake * MS)
    for number, (events, handshake) in enumerate(idle()):
        yield script("idle", number, events, handshake_us=handshake * MS)
    for number, events in enumerate(holes(random)):
        yield script("holes", number, events, timestamps=number % 2)
    for number, events in enumerate(many_holes()):
        yield script("many_holes", number, events, timestamps=int(number % 3 > 0))
    for number, events in enumerate(duplicates(random)):
        yield script("duplicates", number, events, timestamps=number % 2)
    for number, events in enumerate(reordering(random)):
        yield script("reordering", number, events)
    for number, (events, handshake, stamps) in enumerate(compression(random)):
        yield script("compression", number, events, handshake_us=handshake * MS, timestamps=stamps)
    for number, events in enumerate(ecn(random)):
        yield script("ecn", number, events, ecn=1)
    for number, (events, handshake, stamps) in enumerate(window_growth()):
        yield script("window_growth", number, events, handshake_us=handshake * MS, timestamps=stamps)
    for number, (events, mss) in enumerate(small(random)):
        yield script("segment_size", number, events, mss=mss)
    for number, events in enumerate(holes(random)):
        yield script("no_sack", number, events, sack=0)
    for number, events in enumerate(unread()):
        yield script("not_read", number, events, reads=False)
    for number, events in enumerate(offload(random)):
        yield script("gro", number, events)
    for number in range(100):
        events, options = arrivals(random)
        yield script("random", number, events, **options)


def main() -> int:
    """Write all scripts to standard output."""
    for line in scripts():
        print(json.dumps(line, separators=(",", ":")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
