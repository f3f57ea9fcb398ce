"""Learning environments and policies."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import onnx
import pytest
from gymnasium.utils.env_checker import check_env
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from pettingzoo.test import parallel_api_test

from ackclock import ControllerError, Scenario
from ackclock.files import BadInput
from ackclock.gym import CONVENTIONS, Convention, Env, VectorEnv, log, make, parallel_env
from ackclock.gym.batch import episode_seed
from ackclock.policy import Gru, Layer, evaluate, read_onnx, write_policy
from ackclock.search import Search

ROOT = Path(__file__).parent.parent
TWO_FLOWS = """
duration = "20s"
tcp = { congestion_control = "policy" }
link = [
  { name = "b", ends = ["x", "y"], rate = "10Mbps", delay = "10ms", queue = { kind = "droptail", limit = "1bdp" } },
]
flow = [
  { name = "one", from = "x", to = "y" },
  { name = "two", from = "x", to = "y", start = "1s" },
  { name = "rival", from = "x", to = "y", start = "2s", tcp = { congestion_control = "cubic" } },
]
"""


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    path = tmp_path / "shared.toml"
    path.write_text(TWO_FLOWS)
    return path


def trajectory(env: VectorEnv, steps: int, seed: int = 3) -> list[bytes]:
    """Observations and rewards of random actions."""
    rng = np.random.default_rng(7)
    rows = [env.reset(seed=seed)[0].tobytes()]
    for _ in range(steps):
        observations, rewards, *_ = env.step(rng.uniform(-1, 1, (env.num_envs, 1)))
        rows += [observations.tobytes(), rewards.tobytes()]
    return rows


def steps(env: VectorEnv, count: int) -> None:
    """Some decisions without a change."""
    env.reset(seed=1)
    for _ in range(count):
        env.step(np.zeros((env.num_envs, 1)))


@pytest.mark.parametrize("name", CONVENTIONS)
def test_registered_environments_pass_the_checker(name: str) -> None:
    env = gymnasium.make(f"Ackclock/{name.capitalize()}-v0", horizon=20)
    check_env(env.unwrapped, skip_render_check=True)
    vector = gymnasium.make_vec(f"Ackclock/{name.capitalize()}-v0", num_envs=3, horizon=20)
    assert vector.reset(seed=1)[0].shape[0] == 3


def test_several_flows_pass_the_checker(shared: Path) -> None:
    env = parallel_env(shared, convention="orca", horizon=30)
    assert env.possible_agents == ["one", "two"]
    parallel_api_test(env, num_cycles=70)


def test_any_number_of_threads_gives_the_same_bytes() -> None:
    one, two, eight = [trajectory(make("aurora", 12, threads=n, horizon=30), 40) for n in (1, 2, 8)]
    assert one == two == eight


def test_an_environment_does_not_depend_on_the_others() -> None:
    few, many = make("aurora", 2, horizon=25), make("aurora", 5, horizon=25)
    few.reset(seed=4)
    many.reset(seed=4)
    for _ in range(60):
        action = np.full((5, 1), 0.5)
        first, rewards, *_ = few.step(action[:2])
        second, others, *_ = many.step(action)
        assert first.tobytes() == second[:2].tobytes()
        assert rewards.tobytes() == others[:2].tobytes()


def test_autoreset_modes() -> None:
    same, following, disabled = (
        make("aurora", 2, horizon=5, autoreset=mode) for mode in ("SameStep", "NextStep", "Disabled")
    )
    action = np.zeros((2, 1))
    for env in (same, following, disabled):
        env.reset(seed=1)
        for _ in range(4):
            env.step(action)
    at_end = [env.step(action) for env in (same, following, disabled)]
    assert all(step[3].all() for step in at_end)
    # The last observation of the episode: in `final_obs`, or as the observation itself.
    last = np.stack(list(at_end[0][4]["final_obs"]))
    assert last.tobytes() == at_end[1][0].tobytes() == at_end[2][0].tobytes()
    begun = following.step(action)
    assert begun[0].tobytes() == at_end[0][0].tobytes()
    assert not begun[1].any()
    assert not begun[3].any()
    disabled.reset(options={"reset_mask": np.array([True, False])})
    assert disabled.batch.steps.tolist() == [0, 5]


def test_several_flows_with_one_policy(shared: Path) -> None:
    env = VectorEnv(shared, 4, convention="orca", horizon=40, privileged=True, reward="mean(throughput)")
    assert (env.each, env.batch.agents) == (2, ["one", "two"])
    env.reset(seed=1)
    for _ in range(60):
        _, rewards, _, exhausted, info = env.step(np.zeros((4, 1)))
        assert rewards.shape == info["capacity"].shape == (4,)
        assert exhausted[0] == exhausted[1]
    with pytest.raises(BadInput, match="3 is no multiple of the 2 flows"):
        VectorEnv(shared, 3)


def test_a_copy_continues_as_the_original() -> None:
    env, copies = make("aurora", 1), make("aurora", 2)
    env.reset(seed=9)
    copies.reset(seed=1)
    for _ in range(20):
        env.step(np.ones((1, 1)))
    for index in range(2):
        copies.batch.copy(index, env.batch, 0)
    for step in range(30):
        original = env.step(np.full((1, 1), step % 3 - 1.0))[0]
        both = copies.step(np.full((2, 1), step % 3 - 1.0))[0]
        assert both[0].tobytes() == both[1].tobytes() == original[0].tobytes()


def test_rewards_are_names_expressions_or_functions() -> None:
    by_name = make("aurora", 1, threads=1)
    text = "0.001 * (10 * (delivered - 1) / max(duration, 0.001) - 1000 * rtt - 2000 * loss)"
    by_text = make("aurora", 1, reward=text)
    by_function = make("aurora", 1, reward=lambda m: 2 * m["loss"])
    for env in (by_name, by_text, by_function):
        env.reset(seed=2)
    for _ in range(20):
        steps = [env.step(np.ones((1, 1))) for env in (by_name, by_text, by_function)]
        assert steps[0][1] == pytest.approx(steps[1][1], abs=1e-12)
        assert steps[2][1] == 2 * steps[2][4]["loss"]


def test_a_reward_takes_measured_values_only() -> None:
    env = make("aurora", 2, reward="max(throughput, 1) + 2 ** 0.5 * mean(1)")
    env.reset(seed=1)
    _, rewards, *_ = env.step(np.zeros((2, 1)))
    assert rewards == pytest.approx(np.maximum(env.batch.columns["throughput"][:, 0], 1) + 2**0.5)


def test_agents_end_when_they_have_sent_everything() -> None:
    text = TWO_FLOWS.replace('to = "y" }', 'to = "y", bytes = "100kB" }', 1)
    env = parallel_env(Scenario.parse(text), convention="orca", horizon=10_000)
    env.reset(seed=1)
    ended_at: dict[str, tuple[int, bool]] = {}
    for step in range(2000):
        _, _, over, exhausted, _ = env.step(dict.fromkeys(env.agents, np.zeros(1)))
        ended_at |= {agent: (step, over[agent]) for agent in over if over[agent] or exhausted[agent]}
        if not env.agents:
            break
    assert ended_at["one"][1] is True
    assert ended_at["two"][1] is False
    assert ended_at["one"][0] < ended_at["two"][0]


def test_the_error_of_a_rival_in_python_is_raised(tmp_path: Path) -> None:
    text = """
from ackclock import Controller


class Bad(Controller):
    def on_ack(self, ack):
        raise ValueError("no")
"""
    (tmp_path / "bad.py").write_text(text)
    path = tmp_path / "with_rival.toml"
    path.write_text(TWO_FLOWS.replace('congestion_control = "cubic"', 'congestion_control = { python = "bad.py:Bad" }'))
    env = VectorEnv(path, convention="orca")
    env.reset(seed=1)
    with pytest.raises(ControllerError, match="no"):
        steps(env, 500)


def test_two_environments_without_a_seed_differ() -> None:
    first, second = make("aurora", 1), make("aurora", 1)
    assert first.reset()[0].tobytes() + second.reset()[0].tobytes()
    assert first.batch.capacity[0, 0] != second.batch.capacity[0, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reward": "max(throughput, 1, loss)"}, "max takes 2 of them, not 3"),
        ({"reward": "9**9**9 * loss"}, "reward: is not finite"),
        ({"reward": "log"}, 'there is no reward and no value "log"'),
        ({"reward": 3}, "reward: 3 is no name, no expression and no function"),
        ({"horizon": 0}, "horizon: 0 is not a whole number from 1 on"),
        ({"num_envs": 0}, "num_envs: 0 is not a positive number"),
        ({"threads": -1}, "threads: -1 is not a positive number"),
        ({"first_rate": (1,)}, "first_rate: .* is no pair of positive numbers"),
        ({"autoreset": "never"}, "autoreset: there is no mode 'never'; there are NextStep"),
        ({"networks": "nowhere"}, "networks: nowhere is no file and none of aurora, dumbbell, shared"),
        ({"reward": "throughputs"}, 'there is no reward and no value "throughputs"; there are the rewards aurora'),
        ({"reward": "throughput +"}, "is no reward and no expression"),
        ({"reward": "__import__('os')"}, "is not permitted|there is no function"),
        ({"reward": "rtt.real"}, '"rtt.real" is not permitted'),
        ({"convention": "auror"}, 'convention: there is no "auror"; there are dumbbell, aurora, orca, mvfst'),
        ({"horizn": 3}, "horizn: an environment has no such option"),
        ({"features": ["rttt"]}, 'there is no feature "rttt"'),
        ({"action": "rate"}, '"rate" is not one of rate_delta'),
        ({"agents": ["h"]}, 'there is no flow "h"; there are f'),
        ({"overrides": ["flow.f.tcp.congestion_control=cubic"]}, 'no flow has congestion_control = "policy"'),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], message: str) -> None:
    chosen: dict[str, Any] = {"networks": "dumbbell", "num_envs": 1} | options
    with pytest.raises(BadInput, match=message):
        steps(VectorEnv(**chosen), 1)


def test_actions_outside_their_space() -> None:
    env = make("orca", 1)
    env.reset(seed=1)
    env.step(np.array([[9.0]]))
    assert env.batch.clipped == 1
    with pytest.raises(BadInput, match="action: is not finite"):
        env.step(np.array([[np.nan]]))
    strict = make("orca", 1, strict=True)
    strict.reset(seed=1)
    with pytest.raises(BadInput, match="is not in the action space"):
        strict.step(np.array([[9.0]], np.float32))


def test_failures_of_a_search_are_a_curriculum(tmp_path: Path) -> None:
    space = ROOT / "python/ackclock/gym/spaces/aurora.toml"
    options = ["duration=5s"]
    search = Search.load(
        str(space), control="policy", objective="utilisation <= 0.9", budget=32, overrides=options
    ).run(tmp_path / "search")
    env = make("aurora", 4, horizon=5, overrides=options)
    assert env.curriculum(search, part=1.0) > 0
    worst = {failure.genome for failure in search.map.failures(search.tried)}
    rates = {search.space.rate_bps(genome, search.space.bottleneck) / 12_000 for genome in worst}
    env.reset(seed=1)
    assert set(env.batch.capacity.ravel()) <= rates


def test_decisions_of_classical_controllers_are_recorded(shared: Path) -> None:
    recorded = log(
        shared, ["cubic", "bbr"], episodes=2, horizon=60, convention="orca", features=("cwnd", "last_action"), history=1
    )
    assert [(one.controller, one.flow) for one in recorded[:2]] == [("cubic", "one"), ("cubic", "two")]
    assert len(recorded) == 8
    for one in recorded:
        assert one.observations.shape == (len(one.actions) + 1, 2)
        assert len(one.rewards) == len(one.actions)
    # An action is what the controller did to its window: 2^a, within -2 and 2.
    windows = recorded[0].observations[:, 0]
    acts = np.flatnonzero((windows[1:-1] > 0) & (np.abs(recorded[0].actions[1:]) < 2))
    ratio = windows[2:][acts] / windows[1:-1][acts]
    assert np.allclose(np.exp2(recorded[0].actions[1:][acts]), ratio, rtol=1e-5)
    assert len(acts) > 30
    with pytest.raises(BadInput, match="a registered controller can be recorded"):
        log(shared, [f"{ROOT / 'examples/reno.py'}:Reno"])


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


def run_command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / ".venv/bin/ackclock", *words], capture_output=True, text=True, check=False, cwd=ROOT, timeout=120
    )


def test_an_exported_model_is_a_controller(tmp_path: Path) -> None:
    inputs = 3 * 10
    layers = random_layers(inputs, ["Tanh", "LNElu", "Relu", "LNSigmoid", ""])
    model(tmp_path / "m.onnx", layers, inputs)
    done = run_command("policy", "export", tmp_path / "m.onnx", "--like", "aurora", "--out", tmp_path / "m.policy")
    assert done.returncode == 0, done.stderr
    assert "30 -> 16 -> 16 -> 16 -> 16 -> 1" in run_command("policy", "check", tmp_path / "m.policy").stdout
    for read, (weights, bias, _) in zip(read_onnx(tmp_path / "m.onnx"), layers, strict=True):
        assert np.array_equal(read.weights, weights)
        assert np.array_equal(read.bias, bias)
    observations = np.random.default_rng(2).normal(0, 1, (100, inputs)).astype(np.float32)
    [expected] = ReferenceEvaluator(str(tmp_path / "m.onnx")).run(None, {"x": observations})
    assert np.allclose(evaluate(tmp_path / "m.policy", observations), expected, atol=2e-6)
    control = f'flow.bulk.tcp.congestion_control={{ kind = "policy", file = "{tmp_path / "m.policy"}" }}'
    done = run_command("run", "@bufferbloat", "--set", control, "--set", "duration=10s", "--json")
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


def test_a_recurrent_model_keeps_its_state(tmp_path: Path) -> None:
    recurrent_model(tmp_path / "m.onnx", 30)
    done = run_command("policy", "export", tmp_path / "m.onnx", "--like", "aurora", "--out", tmp_path / "m.policy")
    assert done.returncode == 0, done.stderr
    assert "30 -> 8 -> 8 (gru) -> 1, 632 weights" in run_command("policy", "check", tmp_path / "m.policy").stdout
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
    done = run_command("run", "@bufferbloat", "--set", control, "--set", "duration=10s", "--json")
    assert json.loads(done.stdout)["flows"][0]["goodput_bps"] > 0
    done = run_command("run", "@bufferbloat", "--set", control, "--on", "quic", "--set", "duration=10s", "--json")
    assert json.loads(done.stdout)["flows"][0]["goodput_bps"] > 0, done.stderr


def test_recurrent_models_that_a_policy_cannot_follow_are_refused(tmp_path: Path) -> None:
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
        done = run_command("policy", "export", tmp_path / f"{name}.onnx", "--like", "aurora", "--out", out)
        assert (done.returncode, out.exists()) == ((2, False) if message else (0, True)), done.stderr
        assert message in done.stderr


def test_a_policy_file_that_differs_from_its_model_is_refused(tmp_path: Path) -> None:
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
    done = run_command("policy", "export", tmp_path / "m.onnx", "--like", "aurora", "--out", tmp_path / "m.policy")
    assert (done.returncode, (tmp_path / "m.policy").exists()) == (2, False)
    assert "decision 1 of the policy file is" in done.stderr


def test_the_speed_of_an_environment_is_measured() -> None:
    done = run_command("gym", "bench", "shared", "--envs", "4", "--threads", "1", "2", "--decisions", "40", "--json")
    one, two = json.loads(done.stdout)
    assert (one["threads"], two["threads"], one["decisions"], two["decisions"]) == (1, 2, 40, 40)
    assert one["packets"] == two["packets"] > 0  # the same runs
    assert "decisions a second" in run_command("gym", "bench", "--envs", "1", "--decisions", "1").stdout
    for words, message in (
        (["none"], "none is no file and none of aurora, dumbbell, shared"),
        (["--decisions", "0"], "must be whole numbers of at least 1"),
        (["--like", "x"], 'convention: there is no "x"'),
        (["--envs", "2", "--threads", "3"], "3 threads have nothing to do with 2 environments"),
        (["--envs", "0"], "num_envs: 0 is not a positive number"),
    ):
        done = run_command("gym", "bench", *words)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr


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


def test_models_that_cannot_be_policies_are_refused(tmp_path: Path) -> None:
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
        ("outside", "has its weights in other files; export it with the weights inside"),
        (
            "gelu",
            "the operator Softplus is not supported here; a policy has Gemm, MatMul, Add, GRU, LayerNormalization",
        ),
        ("narrow", "does not fit --like aurora: layer 1: has 112 weights for 16 outputs, but 30 inputs need 480"),
        ("infinite", "layer 1: a weight is not finite"),
        ("text", "is no ONNX model that can be read"),
    ]:
        out = tmp_path / f"{name}.policy"
        done = run_command("policy", "export", tmp_path / f"{name}.onnx", "--like", "aurora", "--out", out)
        assert (done.returncode, out.exists()) == (2, False), done.stderr
        assert message in done.stderr
        assert done.stderr.count("\n") == 1


def test_policy_files_with_mistakes_are_refused(tmp_path: Path) -> None:
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
            done = run_command(*command)
            assert done.returncode == 2, done.stderr
            assert message in done.stderr
            assert str(path) in done.stderr
    missing = run_command("run", "@bufferbloat", "--set", control.replace("mine.policy", "none.policy"))
    assert missing.returncode == 2
    assert "none.policy" in missing.stderr


def test_a_run_of_a_policy_equals_its_environment(tmp_path: Path) -> None:
    """The controller that reads a file decides as an environment does whose actions come from the same network."""
    convention = Convention(features=("queue_ratio", "throughput_ratio", "loss"), history=3, scale=0.25)
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
    over = False
    while not over:
        action = ordered(second, bias, np.maximum(ordered(first, np.zeros(8, np.float32), observation), 0))
        if env.vector.batch.columns["acks"][0, 0] > 0:  # otherwise the action has no effect
            actions.append(float(action[0]))
        observation, _, _, over, _ = env.step(action)
    result = plain.run(seed=episode_seed(1, 0, 0), trace="ack")
    rows = result.trace.filter(result.trace["rate"].is_not_null())["action"].to_list()
    distinct = [action for action, before in zip(rows[1:], rows, strict=False) if action != before]
    assert len(actions) > 500
    assert distinct == [a for a, before in zip(actions, [0.0, *actions], strict=False) if a != before][: len(distinct)]
    assert len(distinct) > 400


def ordered(
    weights: NDArray[np.float32], bias: NDArray[np.float32], inputs: NDArray[np.float32]
) -> NDArray[np.float32]:
    """A dense layer, summed from the bias on in the order of the inputs."""
    sums = bias.copy()
    for index, value in enumerate(inputs):
        sums = sums + weights[:, index] * value
    return sums
