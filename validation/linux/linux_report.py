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
from bbr_codel import section

PAGE = Path(__file__).parents[2] / "docs" / "validation-linux.md"

INTRODUCTION = """# Agreement with Linux 6.18

A real sender of Linux 6.18.44 was recorded event by event: the receiver and the network were a program that owned the sender's TUN device, so that every ACK was processed at a known time and the state after it could be read (validation/linux/README.md). `ackclock replay` plays the same exchanges against the sender of this simulator, profile `linux`. The tests run these comparisons without root; `make live` records the scripts again on a machine with root and compares.

- **Random networks**: one window of ten segments with losses, lost retransmissions and swapped arrivals. Every transmission and every counter after each ACK must be equal.
- **Scripts**: writes and ACKs at given times, one behaviour each. **Flows**: short random transfers, open loop. Timers of the kernel expire late by up to 12 %; the replay holds our timers until then. Only recordings that the kernel itself repeats exactly are counted.
- **Receiver**: segments that arrive at given times, and the ACKs of the kernel.
- **Closed loop**: link, receiver and sender are simulated for 12 to 60 s; totals and loss events are compared. A loss event is a transition to the states CWR, Recovery or Loss, with the window before and the threshold after it.
"""


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

The kernel as receiver: a program that owned the TUN device was the sender, and wrote down every ACK. Equal means that every ACK leaves at the same event, or by a timer between the same events, with the same number, SACK and DSACK blocks, ECN echo and timestamp echo. The times of timers may differ as those of the sender do. The window that ACKs advertise is in the recordings and is not compared: ours advertises none.
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
    text = f"{RECEIVER}\n{receiver_summary(lines)}\n\n| category | scripts | exact on the kernel | equal |\n|---|---|---|---|\n"
    for category in dict.fromkeys(line.category for line in lines):
        members = [line for line in lines if line.category == category]
        exact = [line for line in members if line.exact]
        text += f"| {category} | {len(members)} | {len(exact)} | {sum(line.first is None for line in exact)} |\n"
    text += "\n"
    for line in lines:
        if line.exact and line.first:
            text += f"- **{line.name}**: {line.first.place}. Cause: {RECEIVER_CAUSES.get(line.name, 'not found')}.\n"
    return text


def exceptions(lines: list[Exchange], found: list[Case]) -> str:
    """The list of all differences with their causes."""
    text = ""
    for line in lines:
        if line.exact and line.first:
            text += f"- **{line.name}**: {line.first}. Cause: {CAUSES.get(line.name, 'not found')}.\n"
    for case in found:
        if not (case.exactly if case.name.startswith("reno") else case.agrees):
            text += f"- **{case.name}**: cause: {CAUSES.get(case.name, 'not found')}.\n"
    return text


GAINS = """
Parts of the time at each pacing gain, in percent, kernel / mean of 30 seeds. The kernel's gain was read after the first ACK of data and every eighth one after it; ours is read in the same way. The difference is the largest one over the gains; the column after it counts the seeds within 5 points.

| case | 0.34 | 0.75 | 1.00 | 1.25 | 2.89 | difference of the median seed, points | seeds within 5 |
|---|---|---|---|---|---|---|---|
"""

BBR_REMARKS = """
In ten cases Startup ends at the same recorded ACK as in the kernel. In bbr-losses and bbr-stall a segment is lost in Startup. The kernel's pacing timers expire late, so up to three segments fewer are in flight, a round begins before recovery starts and not after it, and Startup ends one round (0.3 s) earlier than ours.
"""


def gains(found: list[Gains]) -> str:
    """The table of pacing gains with the causes of differences."""
    text = GAINS
    for case in found:
        columns = []
        for gain in ("0.34", "0.75", "1.00", "1.25", "2.89"):
            ours = sum(seed.get(gain, 0) for seed in case.seeds) / len(case.seeds)
            columns.append(f"{100 * case.kernel.get(gain, 0):.1f} / {100 * ours:.1f}")
        within = sum(difference <= 5 for difference in case.differences)
        text += f"| {case.name} | {' | '.join(columns)} | {median(case.differences):.1f} | {within} of 30 |\n"
    text += f"\n{sum(case.agree for case in found)} of {len(found)} cases are within 5 points in the median seed.\n"
    for case in found:
        if not case.agree:
            text += f"\n- **{case.name}**: cause: {BBR_CAUSES.get(case.name, 'not found')}."
    return text + "\n" + BBR_REMARKS


def main() -> int:
    """Compare everything and write the page."""
    sets = {name: list(exchanges(name)) for name in ("vectors", "scripts", "flows")}
    found = list(cases())
    names = {"vectors": "random networks", "scripts": "scripts", "flows": "flows"}
    text = (
        INTRODUCTION + "\n| recordings | exact on the kernel | equal in all | equal in segments |\n|---|---|---|---|\n"
    )
    text += "".join(line_summary(names[name], lines) for name, lines in sets.items())
    text += f"\n{summary(found)}\n\n## Scripts by category\n\n| category | scripts | equal |\n|---|---|---|\n"
    scripts = [line for line in sets["scripts"] if line.exact]
    equal = Counter(line.category for line in scripts if line.first is None)
    for category, count in sorted(Counter(line.category for line in scripts).items()):
        text += f"| {category} | {count} | {equal[category]} |\n"
    text += "\n## Closed loop, kernel / ours\n\nThe goodput is that of the nearest of three repeats of the kernel.\n\n"
    text += "| case | exact on the kernel | goodput MB | retransmitted | timeouts | loss events | windows |\n"
    text += "|---|---|---|---|---|---|---|\n" + "".join(map(row, found))
    bbr = list(cases(("bbr",)))
    text += f"\n## BBR version 1, kernel / ours\n\n{sum(map(bbr_agrees, bbr))} of {len(bbr)} cases are within 2 % of "
    text += "goodput and 20 % of retransmissions. The kernel draws the phases of its cycle at random.\n\n"
    text += "| case | exact on the kernel | goodput MB | retransmitted | timeouts | loss events | windows |\n"
    text += "|---|---|---|---|---|---|---|\n" + "".join(map(row, bbr))
    text += gains(list(bbr_gains()))
    text += "\n" + section()
    text += receiver_section(list(receivers()))
    text += "\n## Exceptions of the sender\n\n" + exceptions([line for lines in sets.values() for line in lines], found)
    PAGE.write_text(text)
    print(summary(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
