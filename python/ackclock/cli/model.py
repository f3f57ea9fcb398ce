"""`ackclock model`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from ackclock.base.files import BadInput, check_targets, write_text
from ackclock.base.si import quantity
from ackclock.base.text import fail, say
from ackclock.cli.console import progress

if TYPE_CHECKING:
    from ackclock.apps.traces.model import Model

EXAMPLE = "ackclock model upload.pcapng --control cubic -o path.toml"
MARGIN = {"goodput_bps": 0.09, "rtt_p95_s": 0.30}
"""The largest errors of trusted models on networks that were held out (docs/model.md)."""


def command(
    file: Path,
    /,
    *,
    control: str | None = None,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    flow: int | None = None,
    at: Literal["sender"] | None = None,
    try_: Annotated[str | None, Parameter(name="--try")] = None,
    anyway: bool = False,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Make a scenario of the path of a capture or qlog.

    A check says whether it gives the same curves: it runs the recording's controller in the scenario with five seeds,
    and compares goodput, round-trip times and losses. Exit status 3 if the model is not trusted,
    or not enough for --try.

    Parameters
    ----------
    file
        Capture at the sender (pcap, pcapng), or qlog.
    control
        The controller of the recording, such as cubic. Needed if the file does not name it.
    out
        Write the scenario to this file (.toml).
    flow
        Number of the flow. Default: that with the most data.
    at
        Where a capture was taken, if its handshake does not show it.
    try_
        Controllers that the model is run with too, such as bbr3,reno.
    anyway
        With --try: run them although the model is not trusted for other controllers.
    as_json
        Print one JSON object and nothing else.

    """
    from ackclock.apps.traces import Options, read_flow
    from ackclock.apps.traces.model import make, predict

    if out is not None:
        if out.suffix != ".toml":
            raise BadInput(f"--out {out}: the name must end in .toml")
        check_targets([out])
    recorded = read_flow(file, Options(flow, at))
    name = control or str(recorded.flow.get("control") or "").lower().replace("newreno", "reno")
    if not name:
        raise BadInput(
            f"{file}: does not name its controller; write --control cubic (Linux's default) or another name; "
            f"ackclock identify {file} --controller compares some"
        )
    _check_control(name)
    others = [one.strip() for one in try_.split(",")] if try_ else []
    for other in others:
        _check_control(other)
    with progress("checking", quiet=as_json) as advance:
        model = make(recorded, name, advance)
    if out is not None:
        write_text(out, model.text)
    refused = bool(others) and model.level != "trusted" and not anyway
    predictions = predict(model, others) if others and not refused else {}
    if as_json:
        said = asdict(model)
        said["predictions"] = predictions
        print(json.dumps(said, allow_nan=False))
    else:
        _say(file, model, recorded.flow)
        for other, values in predictions.items():
            say(_prediction(model, other, values))
        if out is not None:
            say(f"written: {out}")
    if refused:
        fail(f"--try: the model is {model.level}: {'; '.join(model.reasons)}; --anyway runs it all the same", 0)
    return 3 if refused or model.level == "not trusted" else 0


def _check_control(name: str) -> None:
    from ackclock.base.models import models

    names = [entry["name"] for entry in models("controllers")]
    if name not in names:
        raise BadInput(f"--control {name}: there is no such controller; ackclock list controllers shows them")


def _say(file: Path, model: Model, flow: dict[str, Any]) -> None:
    path, best = model.path, model.best
    rate, low, high = path["rate_bps"]
    say(f"{file.name}, flow {model.flow}: {flow['duration_s']:.1f} s, {model.control}")
    if path["rate_kind"] == "at_least":
        say(f"rate    at least {quantity(rate, 'b/s', 4)}: the queue was hardly ever seen")
    elif path["rate_kind"] == "varies":
        say(f"rate    varies: {len(path['steps'])} steps around {quantity(rate, 'b/s', 4)}")
    else:
        say(f"rate    {quantity(rate, 'b/s', 4)}  [{quantity(low, 'b/s', 4)}, {quantity(high, 'b/s', 4)}]")
    base, least, _ = path["base_s"]
    bound = "" if path["base_seen"] else ", an upper bound"
    say(f"base    {base * 1e3:.2f} ms  [{least * 1e3:.2f}, {base * 1e3:.2f}]{bound}")
    product = rate * base / 8
    buffer = f"{path['buffer_packets']:.0f} packets = {path['queue_s'] * 1e3:.1f} ms"
    share = path["queue_s"] * rate / 8 / product
    if path["buffer_at_least"]:
        say(f"buffer  at least {buffer} ({share:.1f} BDP)")
    else:
        say(f"buffer  {buffer} ({share:.1f} BDP); {path['full']:.0%} of {path['lost']:,} losses when it was full")
    loss, _, most = path["loss"]
    say(f"losses  others: {loss:.3%}" if loss > 0 else f"losses  no others (at most {most:.3%})")
    if path["others"] and path["others"] >= 0.02:
        say(f"others  took {path['others']:.0%} of the rate")
    ratios = ", ".join(
        f"{label} {100 * (best.figures[name] / model.recorded[name] - 1):+.1f} %"
        for label, name in (("goodput", "goodput_bps"), ("RTT p50", "rtt_p50_s"), ("p95", "rtt_p95_s"))
    )
    say(f"check   {best.candidate.name}: {ratios}: {model.level}")
    rest = ", ".join(f"{one.candidate.name} {one.percent:.0f} %" for one in model.tried[1:])
    if rest:
        say(f"        others differ by: {rest}")
    for reason in model.reasons:
        say(f"        {reason}")


def _prediction(model: Model, other: str, values: dict[str, tuple[float, float, float]]) -> str:
    """One sentence about another controller, with the range over the seeds and the margin of the model."""
    recorded = model.recorded
    goodput, low, high = values["goodput_bps"]
    rtt, rtt_low, rtt_high = values["rtt_p95_s"]
    head = (
        f"{other}: {quantity(goodput, 'b/s')} [{quantity(low, 'b/s')}, {quantity(high, 'b/s')}] instead of "
        f"{quantity(recorded['goodput_bps'], 'b/s')} of {model.control}; 95 % of round trips below {rtt * 1e3:.1f} ms "
        f"[{rtt_low * 1e3:.1f}, {rtt_high * 1e3:.1f}] instead of {recorded['rtt_p95_s'] * 1e3:.1f} ms."
    )
    changes = [
        (name, words, values[key][0] / recorded[key] - 1.0, MARGIN[key])
        for name, words, key in (
            ("goodput", ("more goodput", "less goodput"), "goodput_bps"),
            (
                "95 % round-trip time",
                ("longer round-trip times (95 %)", "shorter round-trip times (95 %)"),
                "rtt_p95_s",
            ),
        )
    ]
    shown = [f"{abs(c):.0%} {words[c < 0]}" for _, words, c, margin in changes if abs(c) > margin]
    if not shown:
        margins = ", ".join(f"{name} {100 * margin:.0f} %" for name, _, _, margin in changes)
        return f"{head}\n  No difference that this recording could show (margins: {margins})."
    return f"{head}\n  {other} would have given {' and '.join(shown)}."
