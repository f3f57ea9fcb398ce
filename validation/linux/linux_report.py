"""Write docs/validation-linux.md: `python validation/linux/linux_report.py`."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from statistics import median

from agreement import (
    BBR_CAUSES,
    CAUSES,
    RECEIVER_CAUSES,
    Case,
    Exchange,
    Gains,
    bbr_agrees,
    bbr_gains,
    cases,
    exchanges,
    receivers,
)
from bbr_codel import closed, section

PAGE = Path(__file__).parents[2] / "docs" / "validation-linux.md"

INTRODUCTION = """# Agreement with Linux 6.18

The TCP sender and receiver of the profile `linux` beside recordings of Linux 6.18.44: which transmissions, counters, ACKs and loss events are equal, and the cause of each difference.

"""

METHOD = """
The recordings are in a clone of the repository. This command plays the random networks against our sender, and its last line is `496 of 496 equal`:

```sh
ackclock replay validation/linux/vectors.jsonl.gz --against validation/linux/vectors.jsonl.gz
```

## Method

A program owned the TUN device of a real sender and was its network and receiver. The kernel processed every ACK at a known time, and the state after it was read ([details](../validation/linux/README.md)). [`ackclock replay`](replay.md) plays the same exchanges against our sender. The tests run these comparisons without root; `make live` records the scripts again on a machine with root and compares.

- **Random networks**: one window of ten segments with losses, lost retransmissions and swapped arrivals. Every transmission and every counter after each ACK must be equal.
- **Scripts**: writes and ACKs at given times, one behaviour each.
- **Flows**: short random transfers, open loop.
- **Receiver**: segments that arrive at given times, and the ACKs of the kernel.
- **Closed loop**: link, receiver and sender are simulated for 12 to 60 s; totals and loss events are compared. A loss event is a transition to the states CWR, Recovery or Loss, with the window before and the threshold after it.

Timers of the kernel expire late by up to 12 %; in scripts and flows the replay holds our timers until then. Only recordings that the kernel itself repeats exactly are counted.
"""

CASES = "| case | exact on the kernel | goodput MB | retransmitted | timeouts | loss events | windows |\n|---|---|---|---|---|---|---|\n"
DIFFERENCES = "| recording | first difference | cause |\n|---|---|---|\n"


def line_summary(name: str, lines: list[Exchange]) -> str:
    """One line about a set of exchanges."""
    exact = [line for line in lines if line.exact]
    same, segments = sum(line.first is None for line in exact), sum(line.same_segments for line in exact)
    return f"| {name} | {len(exact)} | {same} ({100 * same / len(exact):.1f} %) | {segments} |\n"


def summary(found: list[Case]) -> str:
    """The line about closed-loop cases."""
    reno = [case for case in found if case.name.startswith("reno") and case.exact]
    cubic = [case for case in found if case.name.startswith("cubic")]
    return (
        f"Closed loop: {sum(case.exactly for case in reno)} of the {len(reno)} exact cases of Reno have equal loss "
        f"events, retransmissions and timeouts; {sum(case.exactly for case in cubic)} of {len(cubic)} cases of CUBIC "
        f"too, and {sum(case.agrees for case in cubic)} are within one segment of window, 2 or 3 % of retransmissions "
        "and 0.3 % of goodput (1 % with random losses)."
    )


def row(case: Case) -> str:
    """A row of the table."""
    kernel, ours = case.kernel, case.ours
    events = "equal" if case.equal_events else "within 1 segment" if case.near_events else "differ"
    count = f"{len(kernel['loss_events'])} / {len(ours['loss_events'])}"
    nearest = min(kernel["goodput_bytes"], key=lambda value: abs(value - ours["goodput_bytes"]))
    megabytes = f"{nearest / 1e6:.3f} / {ours['goodput_bytes'] / 1e6:.3f}"
    return (
        f"| {case.name} | {'yes' if case.exact else 'no'} | {megabytes} ({100 * case.goodput:+.2f} %) | "
        f"{kernel['retransmitted'][0]} / {ours['retransmitted']} | {kernel['timeouts'][0]} / {ours['timeouts']} | "
        f"{count} | {events} |\n"
    )


RECEIVER = """
## Receiver

The kernel is the receiver: a program that owned its TUN device was the sender and recorded every ACK. Equal means that every ACK leaves at the same event, or by a timer between the same events, with the same number, SACK and DSACK blocks, ECN echo and timestamp echo. The times of timers may differ. The window of the ACKs is recorded and is not compared, because ours advertises none.

"""


def receiver_summary(lines: list[Exchange]) -> str:
    """The line about the receiver."""
    exact = [line for line in lines if line.exact]
    equal = sum(line.first is None for line in exact)
    return (
        f"Receiver: {len(lines)} scripts, {len(exact)} that the kernel answers in the same way in three of three repeats; "
        f"{equal} of them ({100 * equal / len(exact):.1f} %) are equal event by event."
    )


def receiver_section(lines: list[Exchange]) -> str:
    """The part of the page about the receiver."""
    text = "| category | scripts | exact on the kernel | equal |\n|---|---|---|---|\n"
    for category in dict.fromkeys(line.category for line in lines):
        members = [line for line in lines if line.category == category]
        exact = [line for line in members if line.exact]
        text += f"| {category} | {len(members)} | {len(exact)} | {sum(line.first is None for line in exact)} |\n"
    different = [
        (line.name, line.first.place, RECEIVER_CAUSES.get(line.name, "not found"))
        for line in lines
        if line.exact and line.first
    ]
    table = closed("Scripts of the receiver by category", text)
    return RECEIVER + table + "\n" + closed("Differences of the receiver and their causes", differences(different))


def differences(rows: list[tuple[str, str, str]]) -> str:
    """The table of recordings, their first differences and the causes; a cause that comes again names the first."""
    text = DIFFERENCES
    first: dict[str, str] = {}
    for name, difference, cause in rows:
        again = first.setdefault(cause, name)
        text += f"| {name} | {difference} | {cause if again == name else f'as {again}'} |\n"
    return text


def cause(name: str) -> str:
    """The cause of a difference of the sender, with the text of a recording that it refers to."""
    text = CAUSES.get(name, "not found")
    return CAUSES.get(text.removeprefix("as "), text)


def exceptions(lines: list[Exchange], found: list[Case]) -> str:
    """The table of all differences of the sender with their causes."""
    rows = [(line.name, str(line.first), cause(line.name)) for line in lines if line.exact and line.first]
    for case in found:
        if not (case.exactly if case.name.startswith("reno") else case.agrees):
            rows.append((case.name, "", cause(case.name)))
    return differences(rows)


GAINS = """
The parts of the time at each pacing gain are compared with 30 seeds of ours. The kernel's gain was read after the first ACK of data and every eighth one after it, and ours is read in the same way. The difference of a seed is the largest one over the gains.

"""

GAINS_TABLE = """| case | 0.34 | 0.75 | 1.00 | 1.25 | 2.89 | difference of the median seed, points | seeds within 5 |
|---|---|---|---|---|---|---|---|
"""

BBR_REMARKS = """
In ten cases Startup ends at the same recorded ACK as in the kernel. In bbr-losses and bbr-stall a segment is lost in Startup. The kernel's pacing timers expire late, so up to three segments fewer are in flight, a round begins before recovery starts and not after it, and Startup ends one round (0.3 s) earlier than ours.
"""


def gains(found: list[Gains]) -> str:
    """The table of pacing gains with the causes of differences."""
    table = GAINS_TABLE
    for case in found:
        columns = []
        for gain in ("0.34", "0.75", "1.00", "1.25", "2.89"):
            ours = sum(seed.get(gain, 0) for seed in case.seeds) / len(case.seeds)
            columns.append(f"{100 * case.kernel.get(gain, 0):.1f} / {100 * ours:.1f}")
        within = sum(difference <= 5 for difference in case.differences)
        table += f"| {case.name} | {' | '.join(columns)} | {median(case.differences):.1f} | {within} of 30 |\n"
    text = GAINS + closed("Parts of the time at each pacing gain, percent, kernel / mean of 30 seeds", table)
    text += f"\n{sum(case.agree for case in found)} of {len(found)} cases are within 5 points in the median seed.\n"
    for case in found:
        if not case.agree:
            text += f"\n- **{case.name}**: cause: {BBR_CAUSES.get(case.name, 'not found')}."
    return text + "\n" + BBR_REMARKS


def main() -> int:
    """Compare everything and write the page."""
    sets = {name: list(exchanges(name)) for name in ("vectors", "scripts", "flows")}
    found = list(cases())
    received = list(receivers())
    names = {"vectors": "random networks", "scripts": "scripts", "flows": "flows"}
    text = INTRODUCTION + "| recordings | exact on the kernel | equal in all | equal in segments |\n|---|---|---|---|\n"
    text += "".join(line_summary(names[name], lines) for name, lines in sets.items())
    text += f"\n{summary(found)}\n\n{receiver_summary(received)}\n{METHOD}\n## Sender\n\n"
    scripts = [line for line in sets["scripts"] if line.exact]
    equal = Counter(line.category for line in scripts if line.first is None)
    table = "| category | scripts | equal |\n|---|---|---|\n"
    for category, count in sorted(Counter(line.category for line in scripts).items()):
        table += f"| {category} | {count} | {equal[category]} |\n"
    text += closed("Scripts by category", table) + "\n"
    text += "In the closed loop the goodput is that of the nearest of three repeats of the kernel.\n\n"
    text += closed("Closed loop with Reno and CUBIC, kernel / ours", CASES + "".join(map(row, found))) + "\n"
    every = [line for lines in sets.values() for line in lines]
    text += closed("Differences of the sender and their causes", exceptions(every, found))
    bbr = list(cases(("bbr",)))
    text += f"\n## BBR version 1\n\n{sum(map(bbr_agrees, bbr))} of {len(bbr)} cases are within 2 % of "
    text += "goodput and 20 % of retransmissions. The kernel draws the phases of its cycle at random.\n\n"
    text += closed("Closed loop with BBR version 1, kernel / ours", CASES + "".join(map(row, bbr)))
    text += gains(list(bbr_gains())) + "\n" + section() + receiver_section(received)
    PAGE.write_text(text)
    print(summary(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
