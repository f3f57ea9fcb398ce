"""Record the scripts again on this machine's kernel and compare: `make live`. Needs root, `unshare` and a TUN device.

Prints, for the scripts that the stored kernel repeats exactly, how many this kernel answers in the same way as the
stored one, and how many of its answers our sender gives.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from agreement import HERE

from ackclock.replay.comparison import difference
from ackclock.replay.form import Line, read
from ackclock.replay.player import play

GROUPS = 6


def record(scripts: list[Line]) -> list[Line]:
    """The scripts with the answers of this kernel."""
    text = "".join(json.dumps(script) + "\n" for script in scripts)
    command = ["unshare", "-n", sys.executable, str(HERE / "record.py")]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"record.py failed: {done.stderr.strip().splitlines()[-1]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> int:
    """Record in groups, compare, print."""
    if os.geteuid() != 0 or not os.path.exists("/dev/net/tun"):
        raise SystemExit("make live needs root and /dev/net/tun")
    stored = [line for line in read(HERE / "scripts.jsonl.gz") if line["exact"]]
    with ThreadPoolExecutor(GROUPS) as pool:
        recorded = [line for group in pool.map(record, [stored[n::GROUPS] for n in range(GROUPS)]) for line in group]
    fresh = {line["id"]: line for line in recorded}
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
    print(f"{len(stored)} scripts: this kernel repeats {kernel} of the stored answers; ours equals it in {ours}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
