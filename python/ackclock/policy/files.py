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
PASSED = {"Identity", "Flatten", "Cast", "Squeeze", "Unsqueeze", "Transpose"}
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


@dataclass
class Gru:
    """A gated recurrent unit of n units, as torch's: update gate, reset gate and candidate below each other.

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


def read_onnx(path: str | Path) -> list[Layer | Gru]:
    """The layers of a network: a chain of nodes from the input to the output, which may have recurrent ones (GRU).

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


def _chain(graph: Any, constants: Mapping[str, NDArray[Any]]) -> list[Layer | Gru]:
    """The layers of a graph whose nodes follow each other."""
    recurrent = [node for node in graph.node if node.op_type == "GRU"]
    first = {name for node in recurrent for name in node.input[5:6]}
    """What recurrent layers begin with, and what they end with: inputs and outputs of their own in some models."""
    last = {name for node in recurrent for name in node.output[1:2]}
    inputs = [one.name for one in graph.input if one.name not in constants and one.name not in first]
    outputs = [one.name for one in graph.output if len(graph.output) == 1 or one.name not in last]
    if len(inputs) != 1 or len(outputs) != 1:
        raise BadInput(f"has {len(inputs)} inputs and {len(outputs)} outputs; a policy has one of each")
    value, layers = set(inputs), list[Layer | Gru]()
    for node in graph.node:
        if node.output and node.output[0] in constants:
            continue
        following = [name for name in node.input if name in value]
        if len(following) != 1 or (len(node.output) != 1 and node not in recurrent):
            raise BadInput(f"{node.op_type}: does not follow the node before it; a policy is a chain of layers")
        if node in recurrent:
            layers.append(_gru(node, constants))
        else:
            _add(layers, node, following[0], constants)
        value = {name for name in node.output if name}
    if not value & set(outputs):
        raise BadInput(f"the output {outputs[0]} is not that of the last node; a policy is a chain of layers")
    if not layers:
        raise BadInput("has no dense layer (Gemm, or MatMul and Add) and no recurrent one (GRU)")
    return layers


def _gru(node: Any, constants: Mapping[str, NDArray[Any]]) -> Gru:
    """A recurrent layer of one direction."""
    options = {one.name: one for one in node.attribute}
    if not _whole(options, "linear_before_reset"):
        raise BadInput("GRU: linear_before_reset must be 1 (torch's, and Keras's reset_after)")
    if options.keys() & {"activations", "clip"} or ("direction" in options and options["direction"].s != b"forward"):
        raise BadInput("GRU: a policy has one direction, the usual activations and no clip")
    tensors = [constants.get(name) for name in node.input[1:6]]
    weights, recurrent = tensors[0], tensors[1]
    if weights is None or recurrent is None or weights.ndim != 3 or (node.input[3:4] and tensors[2] is None):
        raise BadInput("GRU: its weights are no constants")
    if any(node.input[4:5]) or (len(tensors) > 4 and tensors[4] is not None and tensors[4].any()):
        raise BadInput("GRU: a policy has no lengths of sequences, and begins with zeros")
    rows = weights.shape[1]
    bias = np.zeros(2 * rows) if len(tensors) < 3 or tensors[2] is None else tensors[2].ravel()
    single = [part.astype(np.float32) for part in (weights[0], bias[:rows], recurrent[0], bias[rows:])]
    return Gru(*single)


def _add(layers: list[Layer | Gru], node: Any, value: str, constants: Mapping[str, NDArray[Any]]) -> None:
    """Add one node of a graph, whose input is `value`, to the layers."""
    kind = node.op_type
    options = {one.name: one for one in node.attribute}
    others = [name for name in node.input if name != value]
    if any(name not in constants for name in others):
        raise BadInput(f"{kind}: has an input that is no constant; a policy is a chain of layers")
    tensors = [constants[name] for name in others]
    if any(not np.issubdtype(tensor.dtype, np.floating) for tensor in tensors) and kind not in PASSED:
        raise BadInput(f"{kind}: its constants are not floating-point numbers")
    before = layers[-1] if layers and isinstance(layers[-1], Layer) else None
    plain = before and before.activation == "linear" and (kind in ACTIVATIONS or not before.normalisation)
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
    elif kind == "Add" and tensors and before and plain:
        before.bias = before.bias + _bias(tensors, len(before.bias))
    elif kind == "LayerNormalization" and before and plain:
        before.normalisation = _normalisation(tensors, options, len(before.bias))
    elif kind in ACTIVATIONS and before and plain:
        if "alpha" in options and options["alpha"].f != 1:
            raise BadInput(f"{kind}: a policy file has alpha = 1")
        before.activation = ACTIVATIONS[kind]
    elif kind == "Transpose" and ("perm" not in options or options["perm"].ints[-1] != len(options["perm"].ints) - 1):
        raise BadInput("Transpose: moves the numbers of an observation; its last axis must stay the last")
    elif kind == "Cast" and options["to"].i not in FLOATS:
        raise BadInput("Cast: to a type that is not a floating-point one")
    elif kind not in PASSED:
        known = ", ".join(["Gemm", "MatMul", "Add", "GRU", "LayerNormalization", *ACTIVATIONS])
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

    Recurrent layers take them as those of one flow, in their order. Raises BadInput.
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
    gru = [len(layer["bias"]) // 3 if layer.get("kind") == "gru" else None for layer in layers]
    sizes = [f"{units} (gru)" if units else len(layer["bias"]) for units, layer in zip(gru, layers, strict=True)]
    weights = sum(len(layer["weights"]) + len(layer.get("recurrent", [])) for layer in layers)
    length = f"{convention.rtts:g} x the {convention.of} round-trip time, at least {convention.least_s:g} s"
    network = " -> ".join(map(str, [len(convention.features) * convention.history, *sizes]))
    lines = [
        f"observes   {', '.join(convention.features)}; the last {convention.history} intervals",
        f"interval   {length if convention.rtts else f'{convention.least_s:g} s'}",
        f"action     {convention.action}: {dict(ACTIONS)[convention.action]}",
        f"network    {network}, {weights:,} weights"
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
