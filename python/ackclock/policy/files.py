"""Policy files: writing them, and reading networks from ONNX."""

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
from ackclock.files import BadInput, write_text
from ackclock.policy.conventions import ACTIONS, CONVENTIONS, Convention

ACTIVATIONS = {"Relu": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid", "Elu": "elu"}
"""Operators of ONNX, and the activations of policy files."""
PASSED = {"Identity", "Flatten", "Cast", "Squeeze"}
"""Operators of ONNX that change no value of one observation."""


@dataclass
class Layer:
    """A dense layer: `outputs = activation(weights @ inputs + bias)`; weights have the shape (outputs, inputs)."""

    weights: NDArray[np.float32]
    bias: NDArray[np.float32]
    activation: str = "linear"


def write_policy(
    path: str | Path, convention: Convention, layers: Sequence[Layer], record: Mapping[str, Any] | None = None
) -> None:
    """Write a policy file; `record` says how it was trained. Raises BadInput for weights that are not finite."""
    write_text(Path(path), policy_text(convention, layers, record))


def policy_text(convention: Convention, layers: Sequence[Layer], record: Mapping[str, Any] | None = None) -> str:
    """The text of a policy file. Raises BadInput for weights that are not finite."""
    head = convention.table | ({"record": dict(record)} if record else {})
    text = tomli_w.dumps(head)
    for number, layer in enumerate(layers, 1):
        if not (np.isfinite(layer.weights).all() and np.isfinite(layer.bias).all()):
            raise BadInput(f"layer {number}: a weight is not finite")
        # One line for all weights: tomli_w writes one for each.
        numbers = {"weights": _plain(layer.weights.ravel()), "bias": _plain(layer.bias)}
        text += f'\n[[layer]]\nactivation = "{layer.activation}"\n'
        text += "".join(f"{key} = [{', '.join(values)}]\n" for key, values in numbers.items())
    return text


def _plain(numbers: NDArray[np.float32]) -> list[str]:
    """The shortest decimals that give the same single-precision numbers."""
    texts = (np.format_float_positional(n, unique=True, trim="0") for n in numbers.astype(np.float32))
    return list(texts)


def read_onnx(path: str | Path) -> list[Layer]:
    """The layers of a feed-forward network. Raises BadInput for an operator that a policy file cannot have."""
    try:
        import onnx
        from onnx import numpy_helper
    except ImportError as error:
        raise BadInput('policy export needs onnx; install it with: pip install "ackclock[gym]"') from error
    try:
        graph = onnx.load(str(path), load_external_data=False).graph
        constants = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    except Exception as error:  # protobuf and onnx raise errors of their own kinds
        raise BadInput(f"{path}: is no ONNX model that can be read ({error})") from None
    constants |= {
        node.output[0]: numpy_helper.to_array(node.attribute[0].t) for node in graph.node if node.op_type == "Constant"
    }
    layers: list[Layer] = []
    for node in graph.node:
        _add(layers, node, constants, str(path))
    if not layers:
        raise BadInput(f"{path}: has no dense layer (Gemm, or MatMul and Add)")
    return layers


def _add(layers: list[Layer], node: Any, constants: Mapping[str, NDArray[Any]], path: str) -> None:
    """Add one node of a graph to the layers."""
    kind = node.op_type
    given = [constants[name] for name in node.input if name in constants]
    if kind == "Gemm":
        of = {one.name: one for one in node.attribute}
        weights = given[0] if "transB" in of and of["transB"].i else given[0].T
        bias = given[1] if len(given) > 1 else np.zeros(len(weights))
        layers.append(Layer(np.asarray(weights, np.float32), np.asarray(bias, np.float32)))
    elif kind == "MatMul" and given:
        layers.append(Layer(np.asarray(given[0].T, np.float32), np.zeros(given[0].shape[1], np.float32)))
    elif kind == "Add" and given and layers and layers[-1].activation == "linear":
        layers[-1].bias = np.asarray(layers[-1].bias + given[0].ravel(), np.float32)
    elif kind in ACTIVATIONS and layers and layers[-1].activation == "linear":
        if any(one.name == "alpha" and one.f != 1 for one in node.attribute):
            raise BadInput(f"{path}: {kind} with alpha; a policy file has alpha = 1")
        layers[-1].activation = ACTIVATIONS[kind]
    elif kind not in PASSED | {"Constant"}:
        known = ", ".join(["Gemm", "MatMul", "Add", *ACTIVATIONS])
        raise BadInput(f"{path}: the operator {kind} is not supported here; a policy has {known}")


def read_policy(path: str | Path) -> tuple[Convention, dict[str, Any]]:
    """The convention of a policy file, and the file as a table. Raises BadInput with the place."""
    try:
        text = Path(path).read_text()
        _core.check_policy(text)
    except (UnicodeDecodeError, ValueError) as error:
        raise BadInput(f"{path}: {error}") from None
    table = tomllib.loads(text)
    interval, action = table.get("interval", {}), table["action"]
    convention = Convention(
        features=table["features"],
        history=table.get("history", 1),
        action=action["kind"],
        scale=action.get("scale"),
        limit=action.get("limit"),
        bounds=(action.get("least", 2.0), action.get("largest", 1e7)),
        rtts=interval.get("rtts", 1.0),
        of=interval.get("of", "smallest"),
        least_s=interval.get("least", 0.01),
    )
    return convention, table


def described(path: str | Path) -> str:
    """What a policy file observes, does and contains, in lines. Raises BadInput."""
    convention, table = read_policy(path)
    layers = table.get("layer", [])
    sizes = [len(layer["bias"]) for layer in layers]
    length = f"{convention.rtts:g} x the {convention.of} round-trip time, at least {convention.least_s:g} s"
    network = " -> ".join(map(str, [len(convention.features) * convention.history, *sizes]))
    lines = [
        f"observes   {', '.join(convention.features)}; the last {convention.history} intervals",
        f"interval   {length if convention.rtts else f'{convention.least_s:g} s'}",
        f"action     {convention.action}: {dict(ACTIONS)[convention.action]}",
        f"network    {network}, {sum(len(layer['weights']) for layer in layers):,} weights"
        if layers
        else "network    none: an environment chooses the actions",
    ]
    record = table.get("record", {})
    lines += [f"record     {key}: {value}" for key, value in record.items()] if isinstance(record, dict) else []
    return "\n".join(lines)


def export(model: Path, like: str, out: Path) -> None:
    """Write the policy file of an ONNX model. `like`: a convention by name, or a policy file. Raises BadInput."""
    if like in CONVENTIONS:
        convention = CONVENTIONS[like]
    elif Path(like).is_file():
        convention, _ = read_policy(like)
    else:
        raise BadInput(f"--like {like}: is no policy file and none of {', '.join(CONVENTIONS)}")
    text = policy_text(convention, read_onnx(model), {"model": model.name})
    try:
        _core.check_policy(text)
    except ValueError as error:
        raise BadInput(f"{model}: does not fit --like {like}: {error}") from None
    write_text(out, text)
