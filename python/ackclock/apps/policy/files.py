"""Policy files: writing, reading and evaluating them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray

from ackclock import _core
from ackclock.apps.policy.conventions import ACTIONS, Convention
from ackclock.base.files import BadInput, write_text
from ackclock.base.text import shown


@dataclass
class Normalisation:
    """Layer normalisation: `(x - mean(x)) / sqrt(var(x) + epsilon) * scale + shift`; scale, shift: (outputs,)."""

    scale: NDArray[np.float32]
    shift: NDArray[np.float32]
    epsilon: float = 1e-5


@dataclass
class Layer:
    """A dense layer: `outputs = activation(normalisation(weights @ inputs + bias))`; weights: (outputs, inputs)."""

    weights: NDArray[np.float32]
    bias: NDArray[np.float32]
    activation: str = "linear"
    normalisation: Normalisation | None = None


@dataclass
class Gru:
    """A gated recurrent unit of n units: update gate, reset gate and candidate below each other, as in ONNX (z, r, h).

    torch's `weight_ih_l0`, `bias_ih_l0`, `weight_hh_l0` and `bias_hh_l0` have the reset gate first: swap the two gates.
    weights: (3 n, inputs); bias, recurrent_bias: (3 n,); recurrent: (3 n, n).
    """

    weights: NDArray[np.float32]
    bias: NDArray[np.float32]
    recurrent: NDArray[np.float32]
    recurrent_bias: NDArray[np.float32]


def write_policy(
    path: str | Path, convention: Convention, layers: Sequence[Layer | Gru], record: Mapping[str, Any] | None = None
) -> None:
    """Write a policy file; `record` says how it was trained. Raises BadInput for weights that are not finite."""
    write_text(Path(path), policy_text(convention, layers, record))


def policy_text(convention: Convention, layers: Sequence[Layer | Gru], record: Mapping[str, Any] | None = None) -> str:
    """The text of a policy file. Raises BadInput for weights that are not finite or do not fit, and for bad names."""
    head = convention.table | ({"record": dict(record)} if record else {})
    text = tomli_w.dumps(head)
    for number, layer in enumerate(layers, 1):
        if isinstance(layer, Gru):
            text += '\n[[layer]]\nkind = "gru"\n'
            text += "".join(f"{key} = {_plain(values, number)}\n" for key, values in vars(layer).items())
            continue
        text += f'\n[[layer]]\nactivation = "{layer.activation}"\n'
        text += f"weights = {_plain(layer.weights, number)}\nbias = {_plain(layer.bias, number)}\n"
        if normal := layer.normalisation:
            scale, shift = _plain(normal.scale, number), _plain(normal.shift, number)
            text += f"normalisation = {{ scale = {scale}, shift = {shift}, epsilon = {normal.epsilon!r} }}\n"
    try:
        _core.check_policy(text)
    except ValueError as error:
        raise BadInput(f"policy: {error}") from None
    return text


def _plain(numbers: NDArray[np.float32], layer: int) -> str:
    """A list in one line (tomli_w needs many), with the shortest decimals of the single-precision numbers."""
    with np.errstate(over="ignore"):
        single = np.asarray(numbers, np.float32).ravel()
    if not np.isfinite(single).all():
        raise BadInput(f"layer {layer}: a weight is not finite")
    return f"[{', '.join(np.format_float_positional(n, unique=True, trim='0') for n in single)}]"


def read_policy(path: str | Path) -> tuple[Convention, dict[str, Any]]:
    """The convention of a policy file, and the file as a table. Raises BadInput with the place."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        _core.check_policy(text)
    except (UnicodeDecodeError, ValueError) as error:
        raise BadInput(f"{path}: {error}") from None
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: {error}; write TOML 1.0") from None
    interval, action = table.get("interval", {}), table["action"]
    convention = Convention(
        features=table["features"],
        history=table.get("history", 1),
        action=action["kind"],
        scale=action.get("scale"),
        limit=action.get("limit"),
        bounds=(action.get("least"), action.get("largest")),
        controller=action.get("controller"),
        parameter=action.get("parameter"),
        rtts=interval.get("rtts", 1.0),
        of=interval.get("of", "smallest"),
        least_s=interval.get("least", 0.01),
    )
    return convention, table


def evaluate(path: str | Path, observations: NDArray[np.float32]) -> NDArray[np.float32]:
    """The outputs of a policy's network for observations of shape (n, numbers), as the controller computes them.

    Recurrent layers take them as those of one flow, in their order. Raises BadInput.
    """
    _, table = read_policy(path)
    if not table.get("layer"):
        raise BadInput(f"{path}: has no [[layer]]; an environment chooses its actions")
    try:
        return outputs_of(Path(path).read_text(encoding="utf-8"), observations)
    except ValueError as error:
        raise BadInput(f"{path}: {error}") from None


def outputs_of(text: str, observations: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same for the text of a policy file. Raises ValueError."""
    rows = np.ascontiguousarray(observations, np.float32)
    return np.array(_core.evaluate_policy(text, rows.ravel()), np.float32).reshape(len(rows), -1)


def _effect(convention: Convention) -> str:
    """What an action does."""
    if convention.parameter is not None:
        return f"{convention.parameter} of {convention.controller} is scale a"
    between = "" if convention.controller is None else f"; {convention.controller} decides between the actions"
    return dict(ACTIONS)[convention.action] + between


def described(path: str | Path) -> str:
    """What a policy file observes, does and contains, in lines. Raises BadInput."""
    convention, table = read_policy(path)
    layers = table.get("layer", [])
    gru = [len(layer["bias"]) // 3 if layer.get("kind") == "gru" else None for layer in layers]
    sizes = [f"{units} (gru)" if units else len(layer["bias"]) for units, layer in zip(gru, layers, strict=True)]
    weights = sum(len(layer["weights"]) + len(layer.get("recurrent", [])) for layer in layers)
    length = f"{convention.rtts:g} x the {convention.of} round-trip time, at least {convention.least_s:g} s"
    network = " -> ".join(map(str, [len(convention.features) * convention.history, *sizes]))
    lines = [
        f"observes   {', '.join(convention.features)}; the last {convention.history} intervals",
        f"interval   {length if convention.rtts else f'{convention.least_s:g} s'}",
        f"action     {convention.action}: {_effect(convention)}",
        f"network    {network}, {weights:,} weights"
        if layers
        else "network    none: an environment chooses the actions",
    ]
    record = table.get("record", {})
    if isinstance(record, dict):
        lines += [shown(f"record     {key}: {value}") for key, value in record.items()]
    return "\n".join(lines)
