"""`ackclock why`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ackclock.apps.traces import is_recording
from ackclock.apps.why import budget, explain
from ackclock.apps.why import counterfactual as prove
from ackclock.base.files import BadInput
from ackclock.base.link import is_link
from ackclock.base.text import advise, say
from ackclock.base.units import seconds
from ackclock.cli import guard
from ackclock.cli.options import AllowCode, File, Overrides, Seed, TimeLimit
from ackclock.scenario import Scenario

EXAMPLE = "ackclock why @dumbbell --at 8s --flow cubic --cut"


def command(
    file: File,
    /,
    *,
    at: str | None = None,
    flow: str | None = None,
    message: str | None = None,
    cut: bool = False,
    counterfactual: bool = False,
    run: str | None = None,
    seed: Seed = None,
    set_: Overrides = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    time_limit: TimeLimit = None,
    allow_code: AllowCode = False,
) -> int:
    """Explain the last change of a window before a time.

    It shows the event, the ACK or loss, the packet, the rule and the queue. If the window has not changed for longer
    than a round trip, it says what limits the flow. Of a capture or a qlog of another program it shows the packets that
    prove the cause, or what cannot be told.

    Parameters
    ----------
    file
        Scenario file (TOML), @NAME for a shipped scenario, a link, or the folder of a study with --run. File and seed
        reproduce the run exactly. Or a capture (pcap, pcapng) or qlog of another program.
    at
        Simulated time, such as 3.21s. Needed without --message.
    flow
        Flow whose window is explained. Default: the flow whose window changed last; of a recording the number of the
        flow, and by default that with the most data.
    message
        Say where the time of a message of an application went: FLOW:NUMBER, such as call:213 (`ackclock run --messages`
        lists them). The parts add up to its time.
    cut
        Explain the last reduction of the window instead of the last change.
    counterfactual
        Run the scenario once more without the drop or the mark that caused the change, and say what it changes.
    run
        Identity of a run of the study, or its begin (`ackclock results STUDY --runs` lists them).
    seed
        Seed of all random streams, instead of the file's.
    set_
        Replace one value first: KEY=VALUE. May be repeated.
    as_json
        Print one JSON object and nothing else.
    time_limit
        Longest time of the command's runs with a controller in Python, such as 60s. 0: no limit. Default: 10 minutes.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder, and stored runs to name
        code.

    """
    if not is_link(str(file)) and not str(file).startswith("@") and is_recording(file):
        _refuse(file, counterfactual=counterfactual, run=run, seed=seed, set_=set_, message=message)
        return _recorded(file, seconds(_needed(at), "--at"), flow, cut=cut, as_json=as_json)
    if run is not None or (not is_link(str(file)) and file.is_dir()):
        if seed is not None or set_:
            raise BadInput("--run: a run of a study has its seed and its values; omit --seed and --set")
        scenario, seed = _stored(file, run, allow_code=allow_code)
    else:
        scenario = Scenario.load(file, set_ or (), allow_code=allow_code)
        advise(scenario.advice)
    if scenario.is_study:
        raise BadInput(
            f"{scenario.file}: sweep: the file is a study of many runs; select a run of its results with --run, or "
            "remove sweep and select one with --set and --seed"
        )
    if message is not None:
        for name, value in {"at": at, "flow": flow, "cut": cut, "counterfactual": counterfactual}.items():
            if value not in (None, False):
                raise BadInput(f"--{name}: has no meaning with --message; leave it out")
        with guard.time_limit(time_limit):
            told = budget(scenario, message, seed=seed)
        print(json.dumps(asdict(told), allow_nan=False)) if as_json else say("\n".join(told.sentences()))
        return 0
    at_s = seconds(_needed(at), "--at")
    with guard.time_limit(time_limit):
        explanation = explain(scenario, at_s, flow=flow, seed=seed, cut=cut)
        without = prove(scenario, explanation, at_s, seed=seed) if counterfactual else None
    if as_json:
        said = asdict(explanation)
        if without is not None:
            said["counterfactual"] = {key: value for key, value in vars(without).items() if key != "scenario"}
        print(json.dumps(said, allow_nan=False))
    else:
        say("\n".join(explanation.sentences()))
        if without is not None:
            say(f"  {without.sentence}")
    return 0


def _needed(at: str | None) -> str:
    """The time of the question. Raises BadInput without."""
    if at is None:
        raise BadInput("--at: is missing; write a time such as --at 8s, or --message FLOW:NUMBER")
    return at


def _stored(folder: Path, run: str | None, *, allow_code: bool) -> tuple[Scenario, int]:
    """The scenario and the seed of a run of a study. Raises BadInput."""
    if run is None:
        raise BadInput(
            f"{folder}: is a folder; select a run of the study with --run (ackclock results {folder} --runs lists them)"
        )
    from ackclock.study import Store, scenario_of

    with Store.open(folder) as store:
        return scenario_of(store, run, allow_code=allow_code)


def _refuse(file: Path, **options: object) -> None:
    """Raise BadInput for an option that a recording has no use for."""
    for name, value in options.items():
        if value not in (None, False, ()):
            raise BadInput(f"{file}: is a recording, so --{name.rstrip('_')} has no meaning")


def _recorded(file: Path, at_s: float, flow: str | None, *, cut: bool, as_json: bool) -> int:
    """Explain an event of a recording."""
    from ackclock.apps.traces import Options, read_flow
    from ackclock.apps.traces.cause import cause, sentences

    number = None if flow is None else flow.removeprefix("#")
    if number is not None and not number.isdecimal():
        raise BadInput(f"--flow {flow}: flows of a recording have numbers; ackclock read {file} lists them")
    answer = cause(read_flow(file, Options(None if number is None else int(number))), at_s, cut=cut)
    if as_json:
        print(json.dumps(answer, allow_nan=False))
    else:
        say("\n".join(sentences(answer)))
    return 0
