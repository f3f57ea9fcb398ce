"""Policy files from ONNX models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock.apps.policy.conventions import CONVENTIONS
from ackclock.apps.policy.files import Gru, Layer, Normalisation, outputs_of, policy_text, read_policy
from ackclock.base.files import BadInput, write_text

ACTIVATIONS = {"Relu": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid", "Elu": "elu"}
"""Operators of ONNX, and the activations of policy files."""
PASSED = {"Identity", "Flatten", "Cast", "Squeeze", "Unsqueeze", "Transpose", "Reshape", "Slice"}
"""Operators of ONNX that change no value of one observation. One that does makes a difference from the model."""
FLOATS = {1, 10, 11, 16}
"""Numbers of ONNX's floating-point types."""


def read_onnx(path: str | Path) -> list[Layer | Gru]:
    """The layers of a network: a chain of nodes from the input to the output, which may have recurrent ones (GRU).

    Raises BadInput for a model that a policy file cannot have.
    """
    return _read(path)[1]


def _read(path: str | Path) -> tuple[Any, list[Layer | Gru]]:
    """A model and its layers."""
    try:
        import onnx
        from onnx import numpy_helper
    except ImportError as error:
        raise BadInput('policy export needs onnx; install it with: pip install "ackclock[gym]"') from error
    try:
        model = onnx.load(str(path), load_external_data=False)
        graph = model.graph
        if any(one.data_location == onnx.TensorProto.EXTERNAL for one in graph.initializer):
            remedy = "export it with the weights inside (torch.onnx.export: external_data=False)"
            raise BadInput(f"has its weights in other files; {remedy}")
        constants = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
        for node in graph.node:
            if node.op_type == "Constant":
                constants[node.output[0]] = numpy_helper.to_array(onnx.helper.get_attribute_value(node.attribute[0]))
            elif node.op_type == "Identity" and node.input[0] in constants:
                constants[node.output[0]] = constants[node.input[0]]
        return model, _chain(graph, constants)
    except BadInput as error:
        raise BadInput(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None
    except Exception as error:  # protobuf and onnx raise errors of their own kinds
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadInput(f"{path}: is no ONNX model that can be read ({reason})") from None


def _passed(graph: Any) -> dict[str, str]:
    """The input of each operator that changes no value, by its output."""
    return {node.output[0]: node.input[0] for node in graph.node if node.op_type in PASSED}


def _origin(name: str, passed: Mapping[str, str]) -> str:
    """Where a value comes from, before the operators that do not change it."""
    while name in passed:
        name = passed[name]
    return name


def _states(graph: Any) -> dict[str, str]:
    """The inputs that are states of recurrent layers, and the outputs that are those after a decision."""
    states: dict[str, str] = {}
    passed = _passed(graph)
    inputs, outputs = ({one.name for one in values} for values in (graph.input, graph.output))
    for node in graph.node:
        if node.op_type != "GRU":
            continue
        before, after = _origin([*node.input, *[""] * 6][5], passed), [*node.output, "", ""][1]
        if before not in inputs or after not in outputs or before in states:
            remedy = "without them a model begins anew at each decision"
            raise BadInput(f"GRU: its state must be an input and an output of the model; {remedy}")
        states[before] = after
    return states


def _chain(graph: Any, constants: Mapping[str, NDArray[Any]]) -> list[Layer | Gru]:
    """The layers of a graph whose nodes follow each other."""
    states, passed = _states(graph), _passed(graph)
    inputs = [one.name for one in graph.input if one.name not in constants and one.name not in states]
    outputs = [one.name for one in graph.output if one.name not in states.values()]
    if len(inputs) != 1 or len(outputs) != 1:
        raise BadInput(f"has {len(inputs)} inputs and {len(outputs)} outputs; a policy has one of each")
    ready, layers = set(inputs), list[Layer | Gru]()
    for node in graph.node:
        if node.output and (node.output[0] in constants or _origin(node.output[0], passed) in states):
            continue
        following = [name for name in node.input if name in ready]
        gru = node.op_type == "GRU"
        if len(following) != 1 or (len(node.output) != 1 and not gru) or (gru and node.input[0] not in ready):
            raise BadInput(f"{node.op_type}: does not follow the node before it; a policy is a chain of layers")
        if gru:
            layers.append(_gru(node, constants))
        else:
            _add(layers, node, following[0], constants)
        ready = {name for name in node.output if name}
    if outputs[0] not in ready:
        raise BadInput(f"the output {outputs[0]} is not that of the last node; a policy is a chain of layers")
    if not layers:
        raise BadInput("has no dense layer (Gemm, or MatMul and Add) and no recurrent one (GRU)")
    return layers


def _gru(node: Any, constants: Mapping[str, NDArray[Any]]) -> Gru:
    """A recurrent layer of one direction."""
    options = {one.name: one for one in node.attribute}
    if not _whole(options, "linear_before_reset"):
        raise BadInput("GRU: linear_before_reset must be 1 (torch's, and Keras's reset_after)")
    usual = "activations" not in options or list(options["activations"].strings) == [b"Sigmoid", b"Tanh"]
    forward = "direction" not in options or options["direction"].s == b"forward"
    if not usual or not forward or "clip" in options or node.input[4]:
        raise BadInput("GRU: must have one direction, Sigmoid and Tanh, and neither clip nor lengths of sequences")
    weights, recurrent, bias = (constants.get(name) for name in node.input[1:4])
    if weights is None or recurrent is None or weights.ndim != 3 or (node.input[3] and bias is None):
        raise BadInput("GRU: its weights are no constants")
    rows = weights.shape[1]
    bias = np.zeros(2 * rows) if bias is None else bias.ravel()
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
    elif kind in {"Add", "LayerNormalization", *ACTIVATIONS}:
        raise BadInput(f"{kind}: must follow a dense layer (Gemm, or MatMul and Add)")
    elif kind not in PASSED:
        operators = ", ".join(["Gemm", "MatMul", "Add", "GRU", "LayerNormalization", *ACTIVATIONS])
        raise BadInput(f"the operator {kind} is not supported here; a policy has {operators}, in this order")


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


def export(model: Path, like: str, out: Path) -> None:
    """Write the policy file of an ONNX model. `like`: a convention by name, or a policy file. Raises BadInput."""
    if like in CONVENTIONS:
        convention = CONVENTIONS[like]
    elif Path(like).is_file():
        convention, _ = read_policy(like)
    else:
        raise BadInput(f"--like {like}: is no policy file and none of {', '.join(CONVENTIONS)}")
    graph, layers = _read(model)
    try:
        text = policy_text(convention, layers, {"model": model.name})
    except BadInput as error:
        raise BadInput(f"{model}: does not fit --like {like}: {str(error).removeprefix('policy: ')}") from None
    try:
        _compare(graph, text, len(convention.features) * convention.history)
    except BadInput as error:
        raise BadInput(f"{model}: {error}") from None
    except (ValueError, TypeError, IndexError, RuntimeError, NotImplementedError) as error:
        raise BadInput(f"{model}: onnx cannot run it to compare the policy file with it ({error})") from None
    write_text(out, text)


def _compare(model: Any, text: str, numbers: int) -> None:
    """Compare a policy file with its model over five decisions, each from `numbers` random numbers.

    Raises BadInput if they differ by more than the rounding of single precision.
    """
    import onnx
    from onnx.reference import ReferenceEvaluator

    graph = model.graph
    weights, states = {one.name for one in graph.initializer}, _states(graph)
    feeds: dict[str, NDArray[Any]] = {}
    for one in graph.input:
        if one.name not in weights:
            shape = [axis.dim_value or 1 for axis in one.type.tensor_type.shape.dim]
            if one.name not in states:
                observation, shape[-1] = one.name, numbers // int(np.prod(shape[:-1]))
            feeds[one.name] = np.zeros(shape, onnx.helper.tensor_dtype_to_np_dtype(one.type.tensor_type.elem_type))
    names, evaluator = [one.name for one in graph.output], ReferenceEvaluator(model)
    rows = np.random.default_rng(1).normal(0, 1, (5, numbers)).astype(np.float32)
    for number, (row, expected) in enumerate(zip(rows, outputs_of(text, rows), strict=True), 1):
        feeds[observation] = row.astype(feeds[observation].dtype).reshape(feeds[observation].shape)
        results = dict(zip(names, evaluator.run(names, feeds), strict=True))
        theirs = np.ravel(next(value for name, value in results.items() if name not in states.values()))
        if not np.allclose(theirs, expected, rtol=1e-4, atol=1e-4, equal_nan=True):
            raise BadInput(f"decision {number} of the policy file is {expected}, that of the model {theirs}")
        feeds |= {before: np.asarray(results[after]) for before, after in states.items()}
