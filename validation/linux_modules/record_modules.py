"""Runs the congestion control modules of Linux in our simulator and writes down what they do.

`python validation/linux_modules/record_modules.py [MODULE...] [--kernel FOLDER|FILE]`. The sources come from the
Debian package linux-source-6.12 (installed, or downloaded by apt). Only numbers are written: `recorded.json.gz`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from kernel import HZ, MODULES, KernelError, build, unpack, version
from module_networks import Run, document, networks_of, play, seeds

RECORDED = Path(__file__).with_name("recorded.json.gz")


def runs(names: tuple[str, ...]) -> Iterator[tuple[str, str, int]]:
    """Each module, network and seed."""
    yield from ((name, network, seed) for name in names for network in networks_of(name) for seed in seeds(network))


def run_module(library: Path, name: str, network: str, seed: int) -> Run:
    """One run of a module of the WebAssembly module `library`."""
    return play(document(name, network), seed, control=f'{{ wasm = "{library}:{name}" }}')


def recorded() -> dict[str, Any]:
    """What is written down: `kernel`, `hz` and `runs`, by module, network and seed."""
    return dict(json.loads(gzip.decompress(RECORDED.read_bytes())))


def main() -> int:
    """Records, and reports the progress."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=("reno", *MODULES), metavar="MODULE")
    parser.add_argument("--kernel", type=Path, help="the folder of the sources, the package, or the archive in it")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.modules if name not in ("reno", *MODULES)]
    if unknown:
        print(f"record_modules.py: no module {unknown[0]}; there are reno, {', '.join(MODULES)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        try:
            folder = unpack(Path(temporary), arguments.kernel)
            library = build(folder, Path(temporary))
        except KernelError as error:
            print(f"record_modules.py: {error}", file=sys.stderr)
            return 2
        content = recorded() if RECORDED.exists() else {}
        content |= {"kernel": version(folder), "hz": HZ, "runs": content.get("runs", {})}
        with ProcessPoolExecutor() as pool:
            tasks = list(runs(tuple(arguments.modules)))
            results = [pool.submit(run_module, library, *task) for task in tasks]
            for task, result in zip(tasks, results, strict=True):
                content["runs"]["/".join(map(str, task))] = asdict(result.result())
                print(*task, flush=True)
    text = json.dumps(content, separators=(",", ":"), sort_keys=True)
    partial = RECORDED.with_suffix(".partial")
    partial.write_bytes(gzip.compress(text.encode(), mtime=0))
    partial.replace(RECORDED)
    return 0


if __name__ == "__main__":
    sys.exit(main())
