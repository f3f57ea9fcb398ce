"""Policy files: export, reading, evaluation, and the controller that follows them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from ackclock import Scenario
from ackclock.apps.policy import Gru, Layer, evaluate, export, read_onnx, write_policy
from ackclock.base.files import BadInput
from ackclock.gym import CONVENTIONS, Convention, Env, VectorEnv, log
from ackclock.gym.batch import episode_seed
from conftest import Command


def model(path: Path, layers: list[tuple[NDArray[Any], NDArray[Any], str]], inputs: int) -> None:
    """A feed-forward network as ONNX, in both forms of a dense layer."""
    nodes, constants, value = [], [], "x"
    for number, (weights, bias, activation) in enumerate(layers):
        w, b = f"w{number}", f"b{number}"
        constants += [
            numpy_helper.from_array(weights.T.copy() if number % 2 else weights, w),
            numpy_helper.from_array(bias, b),
        ]
        if number % 2:
            nodes += [
                helper.make_node("MatMul", [value, w], [f"m{number}"]),
                helper.make_node("Add", [f"m{number}", b], [f"y{number}"]),
            ]
        else:
            nodes.append(helper.make_node("Gemm", [value, w, b], [f"y{number}"], transB=1))
        value = f"y{number}"
        if activation.startswith("LN"):
            scale, shift = np.linspace(0.5, 2, len(bias), dtype=np.float32), bias / 3
            constants += [numpy_helper.from_array(scale, f"s{number}"), numpy_helper.from_array(shift, f"h{number}")]
            nodes.append(helper.make_node("LayerNormalization", [value, f"s{number}", f"h{number}"], [f"n{number}"]))
            value, activation = f"n{number}", activation.removeprefix("LN")
        if activation:
            nodes.append(helper.make_node(activation, [value], [f"a{number}"]))
            value = f"a{number}"
    outputs = [helper.make_tensor_value_info(value, TensorProto.FLOAT, [None, len(layers[-1][1])])]
    graph = helper.make_graph(
        nodes, "policy", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, inputs])], outputs, constants
    )
    onnx.save(helper.make_model(graph), str(path))


def random_layers(inputs: int, activations: list[str]) -> list[tuple[NDArray[Any], NDArray[Any], str]]:
    rng = np.random.default_rng(1)
    widths = [inputs, *(16 for _ in activations[1:]), 1]
    sizes = zip(widths[1:], widths[:-1], activations, strict=True)
    return [
        (rng.normal(0, 0.5, (o, i)).astype(np.float32), rng.normal(0, 0.5, o).astype(np.float32), a)
        for o, i, a in sizes
    ]


def test_an_exported_model_is_a_controller(ackclock: Command, tmp_path: Path) -> None:
    inputs = 3 * 10
    layers = random_layers(inputs, ["Tanh", "LNElu", "Relu", "LNSigmoid", ""])
    model(tmp_path / "m.onnx", layers, inputs)
    done = ackclock("policy", "export", tmp_path / "m.onnx", "--like", "aurora", "--out", tmp_path / "m.policy")
    assert done.returncode == 0, done.stderr
    assert "30 -> 16 -> 16 -> 16 -> 16 -> 1" in ackclock("policy", "check", tmp_path / "m.policy").stdout
    for read, (weights, bias, _) in zip(read_onnx(tmp_path / "m.onnx"), layers, strict=True):
        assert np.array_equal(read.weights, weights)
        assert np.array_equal(read.bias, bias)
    observations = np.random.default_rng(2).normal(0, 1, (100, inputs)).astype(np.float32)
    [expected] = ReferenceEvaluator(str(tmp_path / "m.onnx")).run(None, {"x": observations})
    assert np.allclose(evaluate(tmp_path / "m.policy", observations), expected, atol=2e-6)
    control = f'flow.bulk.tcp.congestion_control={{ kind = "policy", file = "{tmp_path / "m.policy"}" }}'
    done = ackclock("run", "@bufferbloat", "--set", control, "--set", "duration=10s", "--json")
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    assert outcome["flows"][0]["control"] == "policy"
    assert outcome["flows"][0]["goodput_bps"] > 0


UNITS = 8


def recurrent_model(path: Path, inputs: int, linear_before_reset: int = 1) -> None:
    """Gemm and Tanh, a GRU whose state goes in and out, as torch exports it, and Gemm."""
    rng = np.random.default_rng(3)
    shapes = {
        "w0": (UNITS, inputs),
        "b0": (UNITS,),
        "gw": (1, 3 * UNITS, UNITS),
        "gr": (1, 3 * UNITS, UNITS),
        "gb": (1, 6 * UNITS),
        "w1": (1, UNITS),
        "b1": (1,),
    }
    constants = [numpy_helper.from_array(rng.normal(0, 0.7, s).astype(np.float32), n) for n, s in shapes.items()]
    constants += [numpy_helper.from_array(np.array([axis]), f"axis{axis}") for axis in (0, 1)]
    gru: dict[str, Any] = {"hidden_size": UNITS, "linear_before_reset": linear_before_reset}
    nodes = [
        helper.make_node("Gemm", ["x", "w0", "b0"], ["y0"], transB=1),
        helper.make_node("Tanh", ["y0"], ["a0"]),
        helper.make_node("Unsqueeze", ["a0", "axis0"], ["u0"]),
        helper.make_node("GRU", ["u0", "gw", "gr", "gb", "", "h"], ["g0", "hn"], **gru),
        helper.make_node("Squeeze", ["g0", "axis1"], ["s0"]),
        helper.make_node("Squeeze", ["s0", "axis0"], ["s1"]),
        helper.make_node("Gemm", ["s1", "w1", "b1"], ["y"], transB=1),
    ]
    value = helper.make_tensor_value_info
    state = [value(name, TensorProto.FLOAT, [1, 1, UNITS]) for name in ("h", "hn")]
    graph = helper.make_graph(
        nodes,
        "policy",
        [value("x", TensorProto.FLOAT, [1, inputs]), state[0]],
        [value("y", TensorProto.FLOAT, [1, 1]), state[1]],
        constants,
    )
    onnx.save(helper.make_model(graph), str(path))


def test_a_recurrent_model_keeps_its_state(ackclock: Command, tmp_path: Path) -> None:
    recurrent_model(tmp_path / "m.onnx", 30)
    done = ackclock("policy", "export", tmp_path / "m.onnx", "--like", "aurora", "--out", tmp_path / "m.policy")
    assert done.returncode == 0, done.stderr
    assert "30 -> 8 -> 8 (gru) -> 1, 632 weights" in ackclock("policy", "check", tmp_path / "m.policy").stdout
    observations = np.random.default_rng(2).normal(0, 1, (50, 30)).astype(np.float32)
    reference, expected = ReferenceEvaluator(str(tmp_path / "m.onnx")), []
    state: Any = np.zeros((1, 1, UNITS), np.float32)
    for row in observations:
        output, state = reference.run(None, {"x": row[None], "h": state})
        expected.append(np.ravel(output))
    computed = evaluate(tmp_path / "m.policy", observations)
    assert np.allclose(computed, np.array(expected), atol=2e-6)
    again = evaluate(tmp_path / "m.policy", observations[20:])
    assert not np.allclose(computed[20], again[0], atol=1e-3)  # the state of the first twenty decisions
    control = f'flow.bulk.tcp.congestion_control={{ kind = "policy", file = "{tmp_path / "m.policy"}" }}'
    done = ackclock("run", "@bufferbloat", "--set", control, "--set", "duration=10s", "--json")
    assert json.loads(done.stdout)["flows"][0]["goodput_bps"] > 0
    done = ackclock("run", "@bufferbloat", "--set", control, "--on", "quic", "--set", "duration=10s", "--json")
    assert json.loads(done.stdout)["flows"][0]["goodput_bps"] > 0, done.stderr


def test_a_recurrent_model_of_the_present_exporter_of_torch_is_read(tmp_path: Path) -> None:
    """Slice takes the whole state; Transpose and Reshape remove the axis of directions."""
    recurrent_model(tmp_path / "plain.onnx", 30)
    assert ackclock_export(tmp_path / "plain.onnx", tmp_path / "plain.policy") == ""
    model = onnx.load(tmp_path / "plain.onnx")
    nodes, constants = list(model.graph.node), model.graph.initializer
    gru, squeeze = (next(n for n in nodes if n.op_type == kind) for kind in ("GRU", "Squeeze"))
    for name, values in {"zero": [0], "one": [1], "shape": [1, 1, UNITS]}.items():
        constants.append(numpy_helper.from_array(np.array(values), name))
    gru.input[5] = "whole"
    place = nodes.index(squeeze)
    nodes[place : place + 1] = [
        helper.make_node("Transpose", [gru.output[0]], ["t0"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["t0", "shape"], [squeeze.output[0]]),
    ]
    nodes.insert(nodes.index(gru), helper.make_node("Slice", ["h", "zero", "one", "zero"], ["whole"]))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    onnx.save(model, tmp_path / "torch.onnx")
    assert ackclock_export(tmp_path / "torch.onnx", tmp_path / "torch.policy") == ""
    texts = [(tmp_path / f"{name}.policy").read_text() for name in ("plain", "torch")]
    assert texts[0].replace("plain.onnx", "torch.onnx") == texts[1]
    # Half of the state is another model.
    constants.append(numpy_helper.from_array(np.array([0.5], np.float32), "half"))
    nodes.insert(nodes.index(gru), helper.make_node("Mul", ["whole", "half"], ["smaller"]))
    gru.input[5] = "smaller"
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    onnx.save(model, tmp_path / "half.onnx")
    assert "its state must be an input" in ackclock_export(tmp_path / "half.onnx", tmp_path / "half.policy")


def ackclock_export(model: Path, out: Path) -> str:
    """Exports a model like `aurora`; returns what is wrong with it."""
    try:
        export(model, "aurora", out)
    except BadInput as error:
        return str(error)
    return ""


def test_recurrent_models_that_a_policy_cannot_follow_are_refused(ackclock: Command, tmp_path: Path) -> None:
    recurrent_model(tmp_path / "before.onnx", 30, linear_before_reset=0)
    recurrent_model(tmp_path / "right.onnx", 30)
    right = onnx.load(tmp_path / "right.onnx")

    def changed(name: str, change: Callable[[Any], object]) -> None:
        graph = onnx.GraphProto()
        graph.CopyFrom(right.graph)
        change(graph)
        onnx.save(helper.make_model(graph), tmp_path / f"{name}.onnx")

    changed("forgets", lambda graph: graph.output.pop())
    changed("other", lambda graph: graph.node[3].input.__setitem__(5, "u0"))
    changed("usual", lambda g: g.node[3].attribute.append(helper.make_attribute("activations", ["Sigmoid", "Tanh"])))
    changed("unusual", lambda g: g.node[3].attribute.append(helper.make_attribute("activations", ["Tanh", "Tanh"])))
    changed("after", lambda graph: graph.node.insert(6, helper.make_node("Tanh", ["s1"], ["s2"])))
    state = "its state must be an input and an output of the model"
    for name, message in (
        ("before", "linear_before_reset must be 1"),
        ("forgets", state),
        ("other", state),
        ("usual", ""),
        ("unusual", "GRU: must have one direction, Sigmoid and Tanh"),
        ("after", "Tanh: must follow a dense layer"),
    ):
        out = tmp_path / f"{name}.policy"
        done = ackclock("policy", "export", tmp_path / f"{name}.onnx", "--like", "aurora", "--out", out)
        assert (done.returncode, out.exists()) == ((2, False) if message else (0, True)), done.stderr
        assert message in done.stderr


def test_a_policy_file_that_differs_from_its_model_is_refused(ackclock: Command, tmp_path: Path) -> None:
    """An observation of two axes whose numbers change their places before the first layer."""
    weights = np.random.default_rng(5).normal(0, 1, (30, 1)).astype(np.float32)
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1, 3]),
        helper.make_node("Flatten", ["t"], ["f"]),
        helper.make_node("MatMul", ["f", "w"], ["y"]),
    ]
    value = helper.make_tensor_value_info
    [before], [after] = ([value(n, TensorProto.FLOAT, s)] for n, s in (("x", [1, 2, 5, 3]), ("y", [1, 1])))
    graph = helper.make_graph(nodes, "policy", [before], [after], [numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    done = ackclock("policy", "export", tmp_path / "m.onnx", "--like", "aurora", "--out", tmp_path / "m.policy")
    assert (done.returncode, (tmp_path / "m.policy").exists()) == (2, False)
    assert "decision 1 of the policy file is" in done.stderr


def test_a_recurrent_layer_of_another_size_is_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    weights = {"weights": (6, 30), "bias": (6,), "recurrent": (6, 2), "recurrent_bias": (6,)}
    last = Layer(np.ones((1, 2), np.float32), np.zeros(1, np.float32))
    for key, shape, message in (
        (None, (), ""),
        ("weights", (6, 29), "layer 1: has 186 weights for 2 outputs, but 30 inputs need 192"),
        ("recurrent", (6, 3), "a gru of n units has 3 n numbers in bias"),
        ("recurrent_bias", (5,), "here are 6, 5 and 12"),
    ):
        shapes = weights | ({key: shape} if key else {})
        layer = Gru(**{name: rng.normal(0, 1, s).astype(np.float32) for name, s in shapes.items()})
        with pytest.raises(BadInput, match=message) if key else nullcontext():
            write_policy(tmp_path / "gru.policy", CONVENTIONS["aurora"], [layer, last])


def test_models_that_cannot_be_policies_are_refused(ackclock: Command, tmp_path: Path) -> None:
    inputs = 30
    model(tmp_path / "gelu.onnx", random_layers(inputs, ["Softplus", ""]), inputs)
    model(tmp_path / "narrow.onnx", random_layers(7, ["Tanh", ""]), 7)
    infinite = random_layers(inputs, ["Tanh", ""])
    infinite[0][0][0, 0] = np.inf
    model(tmp_path / "infinite.onnx", infinite, inputs)
    (tmp_path / "text.onnx").write_text("no model")
    right = onnx.load(tmp_path / "narrow.onnx")
    right.graph.node[0].attribute.append(helper.make_attribute("alpha", 0.5))
    onnx.save(right, tmp_path / "alpha.onnx")
    right.graph.node[0].attribute.pop()
    right.graph.node.insert(1, helper.make_node("Tanh", ["x"], ["unused"]))
    onnx.save(right, tmp_path / "branch.onnx")
    onnx.save(
        onnx.load(tmp_path / "narrow.onnx"), tmp_path / "outside.onnx", save_as_external_data=True, size_threshold=0
    )
    for name, message in [
        ("alpha", "Gemm: alpha and beta must be 1"),
        ("branch", "Tanh: does not follow the node before it; a policy is a chain of layers"),
        (
            "outside",
            "has its weights in other files; export it with the weights inside (torch",
        ),
        (
            "gelu",
            "the operator Softplus is not supported here; a policy has Gemm, MatMul, Add, GRU, LayerNormalization",
        ),
        ("narrow", "does not fit --like aurora: layer 1: has 112 weights for 16 outputs, but 30 inputs need 480"),
        ("infinite", "layer 1: a weight is not finite"),
        ("text", "is no ONNX model that can be read"),
    ]:
        out = tmp_path / f"{name}.policy"
        done = ackclock("policy", "export", tmp_path / f"{name}.onnx", "--like", "aurora", "--out", out)
        assert (done.returncode, out.exists()) == (2, False), done.stderr
        assert message in done.stderr
        assert done.stderr.count("\n") == 1


def test_policy_files_with_mistakes_are_refused(ackclock: Command, tmp_path: Path) -> None:
    path = tmp_path / "mine.policy"
    write_policy(path, CONVENTIONS["aurora"], [Layer(np.ones((1, 30), np.float32), np.zeros(1, np.float32))])
    right = path.read_text()
    control = f'flow.bulk.tcp.congestion_control={{ kind = "policy", file = "{path}" }}'
    for old, new, message in [
        ("policy 1", "policy 9", 'format: "ackclock policy 9" is not "ackclock policy 1"'),
        ("latency_ratio", "latencyratio", 'there is no feature "latencyratio"'),
        ("1.0, 1.0]", "1.0, nan]", "weights[29] is not a finite number"),
    ]:
        path.write_text(right.replace(old, new, 1))
        for command in (["policy", "check", path], ["run", "@bufferbloat", "--set", control]):
            done = ackclock(*command)
            assert done.returncode == 2, done.stderr
            assert message in done.stderr
            assert str(path) in done.stderr
    missing = ackclock("run", "@bufferbloat", "--set", control.replace("mine.policy", "none.policy"))
    assert missing.returncode == 2
    assert "none.policy" in missing.stderr


FEATURES = ("queue_ratio", "throughput_ratio", "loss")
CONVENTIONS_OF_POLICIES = {
    "alone": Convention(FEATURES, 3, scale=0.25),
    "window of cubic": Convention(FEATURES, 3, "cwnd_pow2", scale=0.1, controller="cubic", rtts=0.0, least_s=0.05),
    "window of bbr": Convention(FEATURES, 3, "cwnd_pow2", scale=0.01, controller="bbr"),
    "parameter of copa": Convention(FEATURES, 3, "parameter", controller="copa", parameter="delta"),
}


@pytest.mark.parametrize("name", CONVENTIONS_OF_POLICIES)
def test_a_run_of_a_policy_equals_its_environment(tmp_path: Path, name: str) -> None:
    """The controller that reads a file decides as an environment does whose actions come from the same network."""
    convention = CONVENTIONS_OF_POLICIES[name]
    rng = np.random.default_rng(5)
    first, second = rng.normal(0, 0.4, (8, 9)).astype(np.float32), rng.normal(0, 0.4, (1, 8)).astype(np.float32)
    bias = np.array([0.3], np.float32)
    path = tmp_path / "mine.policy"
    write_policy(path, convention, [Layer(first, np.zeros(8, np.float32), "relu"), Layer(second, bias)])
    text = f"""
duration = "20s"
link = [
  {{ name = "b", ends = ["x", "y"], rate = "10Mbps", delay = "10ms", queue = {{ kind = "droptail", limit = "1bdp" }} }},
]
flow = [{{ name = "f", from = "x", to = "y", tcp = {{ congestion_control = {{ kind = "policy", file = "{path}" }} }} }}]
"""
    plain = Scenario.parse(text)
    env = Env(plain, convention=convention, agents=["f"], horizon=10_000)
    observation, _ = env.reset(seed=1)
    actions: list[float] = []
    windows: list[float] = []
    over = False
    while not over:
        action = ordered(second, bias, np.maximum(ordered(first, np.zeros(8, np.float32), observation), 0))
        if env.vector.batch.columns["acks"][0, 0] > 0:  # otherwise the action has no effect
            actions.append(float(action[0]))
        observation, _, _, over, info = env.step(action)
        windows.append(info["cwnd"])
    result = plain.run(seed=episode_seed(1, 0, 0), trace="ack")
    rows = result.trace.filter(result.trace["rtt"].is_not_null())["action"].to_list()
    distinct = [action for action, before in zip(rows[1:], rows, strict=False) if action != before]
    assert len(actions) > 300
    expected = [a for a, before in zip(actions, [0.0, *actions], strict=False) if a != before]
    if convention.controller is None:
        assert distinct == expected[: len(distinct)]
    # While the sender repairs losses, an action does not change the window of another controller.
    later = iter(expected)
    assert all(action in later for action in distinct)
    assert len(distinct) > 200
    assert np.ptp(windows) > 5


def test_an_action_sets_a_parameter() -> None:
    """Copa keeps a queue of about 1/delta segments."""
    queues = []
    for delta in (0.05, 0.5):
        options: dict[str, Any] = {"action": "parameter", "controller": "copa", "parameter": "delta"}
        env = Env("dumbbell", overrides=["duration=60s"], horizon=10_000, **options)
        assert env.action_space == gymnasium.spaces.Box(0.001, 10.0, (1,))
        env.reset(seed=1)
        backlog = []
        for _ in range(300):
            _, _, _, _, info = env.step(np.array([delta]))
            backlog.append(info["throughput"] * (info["rtt"] - info["min_rtt"]))
        queues.append(np.mean(backlog[100:]))
    assert queues[0] > 3 * queues[1] > 0


LOSSY = """
duration = "40s"
link = [
  { ends = ["x", "y"], rate = "2Mbps", delay = "20ms", queue = { kind = "droptail", limit = "1bdp" }, loss = LOSS },
]
flow = [{ name = "f", from = "x", to = "y", tcp = { congestion_control = CONTROL, timestamps = true } }]
"""
LOSS = '{ kind = "bernoulli", rate = 0.04 }'


def policy_file(folder: Path, convention: Convention, action: float) -> str:
    """The table of a policy whose action is always the same."""
    nothing = np.zeros((1, len(convention.features) * convention.history), np.float32)
    write_policy(folder / "same.policy", convention, [Layer(nothing, np.array([action], np.float32))])
    return f'{{ kind = "policy", file = "{folder / "same.policy"}" }}'


@pytest.mark.parametrize(
    "controller", ["reno", "cubic", "bbr", "bbr3", "vegas", "copa", "lp", "swift", "nv", "timely", "ledbat", "illinois"]
)
def test_actions_that_change_nothing_leave_a_controller_as_it_is(tmp_path: Path, controller: str) -> None:
    """Also beside timeouts and windows of one segment."""
    convention = Convention(FEATURES, 3, "cwnd_pow2", controller=controller, rtts=0.0, least_s=0.05)
    table = policy_file(tmp_path, convention, 0.0)
    text = LOSSY.replace("LOSS", LOSS)
    [alone], [between] = (
        Scenario.parse(text.replace("CONTROL", control)).run().outcome["flows"]
        for control in (f'"{controller}"', table)
    )
    assert {**alone, "control": "policy"} == between


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"controller": "none"}, 'action.controller: "none" is not one of reno, '),
        ({"controller": "policy"}, 'action.controller: "policy" is not one of reno, '),
        ({"action": "rate_delta", "controller": "cubic"}, "rate_delta sets a rate, and so would the controller"),
        ({"parameter": "beta"}, 'action.parameter: an action cwnd_pow2 sets none; write kind = "parameter"'),
        ({"controller": 5}, "controller: 5 is no name"),
        ({"bounds": (3,)}, "bounds: (3,) is no pair of numbers"),
        ({"first_rate": (0.5, 1.0)}, "first_rate: an action cwnd_pow2 sets no rate; write first_rate=None"),
        (
            {"action": "parameter", "controller": "cubic", "parameter": "beta", "limit": 0.05},
            "action.limit: no action of at most 0.05 gives a value from 0.1 to 0.99 with scale 1",
        ),
        ({"action": "parameter", "controller": None}, "action.controller: missing"),
        ({"action": "parameter", "controller": "cubic"}, "action.parameter: missing; name one of c, beta"),
        ({"action": "parameter", "controller": "cubic", "parameter": "hz"}, '"hz" is not one of c, beta'),
        ({"action": "parameter", "controller": "reno", "parameter": "x"}, "reno has none that can change in a run"),
        (
            {"action": "parameter", "controller": "cubic", "parameter": "beta", "bounds": (0.5, 2.0)},
            "action.largest: must be a number from 0.5 to 0.99",
        ),
        ({"controller": "dctcp"}, "dctcp needs marks per packet: write ecn = true"),
    ],
)
def test_actions_that_cannot_be_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=re.escape(message)):
        VectorEnv("dumbbell", convention="orca", **changes).reset(seed=1)


def test_actions_that_set_a_parameter_are_not_recorded() -> None:
    with pytest.raises(BadInput, match="an action that sets a parameter cannot be recorded"):
        log("dumbbell", ["cubic"], action="parameter", parameter="beta")


def ordered(
    weights: NDArray[np.float32], bias: NDArray[np.float32], inputs: NDArray[np.float32]
) -> NDArray[np.float32]:
    """A dense layer, summed from the bias on in the order of the inputs."""
    sums = bias.copy()
    for index, value in enumerate(inputs):
        sums = sums + weights[:, index] * value
    return sums
