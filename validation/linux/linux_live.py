"""Record the scripts again on this machine's kernel and compare: `make live`. Needs root, `unshare` and a TUN device.

Prints, for the scripts of the sender and of the receiver that the stored kernel repeats exactly, how many this kernel
answers in the same way as the stored one, and how many of its answers ours gives.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from agreement import HERE

from ackclock.apps.replay.comparison import difference
from ackclock.apps.replay.form import Line, read
from ackclock.apps.replay.player import play

GROUPS = 6


def record(program: str, scripts: list[Line]) -> list[Line]:
    """The scripts with the answers of this kernel."""
    text = "".join(json.dumps(script) + "\n" for script in scripts)
    command = ["unshare", "-n", sys.executable, str(HERE / program)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{program} failed: {done.stderr.strip().splitlines()[-1]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def compare(program: str, stored: list[Line], ends: str) -> None:
    """Record in groups, compare, print."""
    with ThreadPoolExecutor(GROUPS) as pool:
        groups = pool.map(partial(record, program), [stored[n::GROUPS] for n in range(GROUPS)])
        fresh = {line["id"]: line for group in groups for line in group}
    kernel = ours = 0
    for line in stored:
        now = fresh[line["id"]]
        changed, ours_differs = difference(line, now), difference(now, play(now, guided=True))
        kernel += changed is None
        ours += ours_differs is None
        if changed:
            print(f"{line['id']}: this kernel, now: {changed}")
        elif ours_differs:
            print(f"{line['id']}: ours: {ours_differs}")
    print(
        f"{len(stored)} scripts of a {ends}: this kernel repeats {kernel} of the stored answers; ours equals it in "
        f"{ours}"
    )


def main() -> int:
    """Compare both ends."""
    if os.geteuid() != 0 or not os.path.exists("/dev/net/tun"):
        raise SystemExit("make live needs root and /dev/net/tun")
    for program, name, ends in (("record.py", "scripts", "sender"), ("record_receiver.py", "receiver", "receiver")):
        compare(program, [line for line in read(HERE / f"{name}.jsonl.gz") if line["exact"]], ends)
    return 0


if __name__ == "__main__":
    sys.exit(main())
