"""`ackclock gym`."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from cyclopts import Parameter

from ackclock.base.files import BadInput
from ackclock.base.operating_system import cores

EXAMPLE = "ackclock gym bench aurora --envs 64 --threads 1 2"


def command(
    action: Literal["bench"],
    networks: str = "dumbbell",
    /,
    *,
    envs: int = 64,
    threads: Annotated[list[int] | None, Parameter(consume_multiple=True)] = None,
    like: str | None = None,
    decisions: int = 50_000,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> None:
    """Measure the speed of learning environments.

    Decisions a second of the environments of `ackclock.gym`.

    Parameters
    ----------
    action
        bench: measure the speed.
    networks
        Networks by name (dumbbell, aurora, shared), or a scenario with policies, with or without [space].
    envs
        Environments that step together.
    threads
        Numbers of threads. Default: 1 and the number of CPUs.
    like
        What is observed and done: dumbbell, aurora, orca or mvfst. Default: as the networks.
    decisions
        Decisions of each measurement.
    as_json
        Print the measurements as JSON.

    """
    from ackclock.gym import CONVENTIONS, VectorEnv
    from ackclock.gym.speed import measure

    del action  # there is one
    numbers = threads or sorted({1, min(cores(), max(envs, 1))})
    if decisions < 1 or any(n < 1 for n in numbers):
        raise BadInput("--decisions and --threads: must be whole numbers of at least 1")
    if (most := max(numbers)) > max(envs, 1):
        raise BadInput(f"--threads: {most} threads have nothing to do with {envs} environments (--envs)")
    convention = like or (networks if networks in CONVENTIONS else "dumbbell")
    speeds = [measure(VectorEnv(networks, envs, convention=convention, threads=n), n, decisions) for n in numbers]
    if as_json:
        print(json.dumps([speed.to_dict() for speed in speeds]))
        return
    for speed in speeds:
        what = "1 thread" if speed.threads == 1 else f"{speed.threads} threads"
        rates = f"{speed.per_s:,.0f} decisions a second, {speed.per_cpu_s:,.0f} a CPU second"
        faster = speed.per_s / speeds[0].per_s
        print(f"{what}: {rates}, {speed.packets_each:.1f} packets each, {faster:.2f} times the first")
