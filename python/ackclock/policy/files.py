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
from ackclock.text import shown

ACTIVATIONS = {"Relu": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid", "Elu": "elu"}
"""Operators of ONNX, and the activations of policy files."""
PASSED = {"Identity", "Flatten", "Cast", "Squeeze"}
"""Operators of ONNX that change no value of one observation."""
FLOATS = {1, 10, 11, 16}
"""Numbers of ONNX's floating-point types."""


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


def write_policy(
    path: str | Path, convention: Convention, layers: Sequence[Layer], record: Mapping[str, Any] | None = None
) -> None:
    """Write a policy file; `record` says how it was trained. Raises BadInput for weights that are not finite."""
    write_text(Path(path), policy_text(convention, layers, record))


def policy_text(convention: Convention, layers: Sequence[Layer], record: Mapping[str, Any] | None = None) -> str:
    """The text of a policy file. Raises BadInput for weights that are not finite or do not fit, and for bad names."""
    head = convention.table | ({"record": dict(record)} if record else {})
    text = tomli_w.dumps(head)
    for number, layer in enumerate(layers, 1):
        text += f'\n[[layer]]\nactivation = "{layer.activation}"\n'
        text += "".join(
            f"{key} = {_plain(values, number)}\n"
            for key, values in {"weights": layer.weights, "bias": layer.bias}.items()
        )
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


def read_onnx(path: str | Path) -> list[Layer]:
    """The layers of a feed-forward network: a chain of nodes from the input to the output.

    Raises BadInput for a model that a policy file cannot have.
    """
    try:
        import onnx
        from onnx import numpy_helper
    except ImportError as error:
        raise BadInput('policy export needs onnx; install it with: pip install "ackclock[gym]"') from error
    try:
        graph = onnx.load(str(path), load_external_data=False).graph
        if any(one.data_location == onnx.TensorProto.EXTERNAL for one in graph.initializer):
            raise BadInput(f"{path}: has its weights in other files; export it with the weights inside")
        constants = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
        for node in graph.node:
            if node.op_type == "Constant":
                constants[node.output[0]] = numpy_helper.to_array(onnx.helper.get_attribute_value(node.attribute[0]))
            elif node.op_type == "Identity" and node.input[0] in constants:
                constants[node.output[0]] = constants[node.input[0]]
        return _chain(graph, constants)
    except BadInput as error:
        raise BadInput(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None
    except Exception as error:  # protobuf and onnx raise errors of their own kinds
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadInput(f"{path}: is no ONNX model that can be read ({reason})") from None


def _chain(graph: Any, constants: Mapping[str, NDArray[Any]]) -> list[Layer]:
    """The layers of a graph whose nodes follow each other."""
    inputs = [one.name for one in graph.input if one.name not in constants]
    if len(inputs) != 1 or len(graph.output) != 1:
        raise BadInput(f"has {len(inputs)} inputs and {len(graph.output)} outputs; a policy has one of each")
    value, layers = inputs[0], list[Layer]()
    for node in graph.node:
        if node.output and node.output[0] in constants:
            continue
        if value not in node.input or len(node.output) != 1:
            raise BadInput(f"{node.op_type}: does not follow the node before it; a policy is a chain of layers")
        _add(layers, node, value, constants)
        value = node.output[0]
    if value != graph.output[0].name:
        raise BadInput(f"the output {graph.output[0].name} is not that of the last node; a policy is a chain of layers")
    if not layers:
        raise BadInput("has no dense layer (Gemm, or MatMul and Add)")
    return layers


def _add(layers: list[Layer], node: Any, value: str, constants: Mapping[str, NDArray[Any]]) -> None:
    """Add one node of a graph, whose input is `value`, to the layers."""
    kind = node.op_type
    options = {one.name: one for one in node.attribute}
    others = [name for name in node.input if name != value]
    if any(name not in constants for name in others):
        raise BadInput(f"{kind}: has an input that is no constant; a policy is a chain of layers")
    tensors = [constants[name] for name in others]
    if any(not np.issubdtype(tensor.dtype, np.floating) for tensor in tensors) and kind not in PASSED:
        raise BadInput(f"{kind}: its constants are not floating-point numbers")
    plain = layers and layers[-1].activation == "linear" and (kind in ACTIVATIONS or not layers[-1].normalisation)
    if kind == "Gemm":
        factors = [options[name].f for name in ("alpha", "beta") if name in options]
        if node.input[0] != value or any(factor != 1 for factor in factors) or _whole(options, "transA"):
            raise BadInput("Gemm: alpha and beta must be 1, transA 0, and the weights the second input")
        weights = _matrix(tensors[0], kind)
        weights = weights if _whole(options, "transB") else weights.T
        layers.append(Layer(weights.copy(), _bias(tensors[1:], len(weights))))
    elif kind == "MatMul" and node.input[0] == value:
        weights = _matrix(tensors[0], kind).T
        layers.append(Layer(weights.copy(), _bias([], len(weights))))
    elif kind == "Add" and tensors and plain:
        layers[-1].bias = layers[-1].bias + _bias(tensors, len(layers[-1].bias))
    elif kind == "LayerNormalization" and plain:
        layers[-1].normalisation = _normalisation(tensors, options, len(layers[-1].bias))
    elif kind in ACTIVATIONS and plain:
        if "alpha" in options and options["alpha"].f != 1:
            raise BadInput(f"{kind}: a policy file has alpha = 1")
        layers[-1].activation = ACTIVATIONS[kind]
    elif kind == "Cast" and options["to"].i not in FLOATS:
        raise BadInput("Cast: to a type that is not a floating-point one")
    elif kind not in PASSED:
        known = ", ".join(["Gemm", "MatMul", "Add", "LayerNormalization", *ACTIVATIONS])
        raise BadInput(f"the operator {kind} is not supported here; a policy has {known}, in this order")


def _normalisation(tensors: Sequence[NDArray[Any]], options: Mapping[str, Any], outputs: int) -> Normalisation:
    """Layer normalisation over the outputs of a layer."""
    if "axis" in options and options["axis"].i not in {-1, 1}:
        raise BadInput("LayerNormalization: a policy file has axis -1")
    shift = _bias(tensors[1:], outputs)
    return Normalisation(_bias(tensors[:1], outputs), shift, options["epsilon"].f if "epsilon" in options else 1e-5)


def _whole(options: Mapping[str, Any], name: str) -> int:
    return int(options[name].i) if name in options else 0


def _matrix(tensor: NDArray[Any], kind: str) -> NDArray[np.float32]:
    if tensor.ndim != 2:
        raise BadInput(f"{kind}: its weights have {tensor.ndim} dimensions, not 2")
    return tensor.astype(np.float32)


def _bias(tensors: Sequence[NDArray[Any]], outputs: int) -> NDArray[np.float32]:
    """The bias of a layer; zeros without one."""
    if not tensors:
        return np.zeros(outputs, np.float32)
    if tensors[0].size not in {1, outputs}:
        raise BadInput(f"a bias has {tensors[0].size} numbers for {outputs} outputs")
    return np.broadcast_to(tensors[0].ravel(), outputs).astype(np.float32)


def read_policy(path: str | Path) -> tuple[Convention, dict[str, Any]]:
    """The convention of a policy file, and the file as a table. Raises BadInput with the place."""
    try:
        text = Path(path).read_text()
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
        bounds=(action.get("least", 2.0), action.get("largest", 1e7)),
        rtts=interval.get("rtts", 1.0),
        of=interval.get("of", "smallest"),
        least_s=interval.get("least", 0.01),
    )
    return convention, table


def evaluate(path: str | Path, observations: NDArray[np.float32]) -> NDArray[np.float32]:
    """The outputs of a policy's network for observations of shape (n, numbers), as the controller computes them.

    Raises BadInput.
    """
    _, table = read_policy(path)
    if not table.get("layer"):
        raise BadInput(f"{path}: has no [[layer]]; an environment chooses its actions")
    flat = np.ascontiguousarray(observations, np.float32)
    try:
        outputs = _core.evaluate_policy(Path(path).read_text(), flat.ravel())
    except ValueError as error:
        raise BadInput(f"{path}: {error}") from None
    return np.array(outputs, np.float32).reshape(len(flat), -1)


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
    if isinstance(record, dict):
        lines += [shown(f"record     {key}: {value}") for key, value in record.items()]
    return "\n".join(lines)


def export(model: Path, like: str, out: Path) -> None:
    """Write the policy file of an ONNX model. `like`: a convention by name, or a policy file. Raises BadInput."""
    if like in CONVENTIONS:
        convention = CONVENTIONS[like]
    elif Path(like).is_file():
        convention, _ = read_policy(like)
    else:
        raise BadInput(f"--like {like}: is no policy file and none of {', '.join(CONVENTIONS)}")
    layers = read_onnx(model)
    try:
        text = policy_text(convention, layers, {"model": model.name})
    except BadInput as error:
        raise BadInput(f"{model}: does not fit --like {like}: {str(error).removeprefix('policy: ')}") from None
    write_text(out, text)
