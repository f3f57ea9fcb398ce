"""Learning environments and policies."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test

from ackclock import ControllerError, Scenario
from ackclock.apps.search import Search
from ackclock.base.files import BadInput
from ackclock.gym import CONVENTIONS, VectorEnv, log, make, parallel_env
from conftest import Command

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


def trajectory(env: VectorEnv, steps: int, seed: int = 3, pause_s: float = 0.0) -> list[bytes]:
    """Observations and rewards of random actions."""
    rng = np.random.default_rng(7)
    rows = [env.reset(seed=seed)[0].tobytes()]
    for _ in range(steps):
        time.sleep(pause_s)
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


def test_threads_that_sleep_or_that_a_fork_has_lost_change_nothing() -> None:
    one, env = trajectory(make("aurora", 6, threads=1, horizon=30), 20), make("aurora", 6, threads=3, horizon=30)
    slow = trajectory(env, 20, pause_s=0.002)
    assert slow == one
    child = os.fork()
    if child == 0:
        os._exit(0 if trajectory(env, 20) == one else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert trajectory(env, 20) == one


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


def test_threads_of_python_share_an_environment_with_a_rival_in_python(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text((ROOT / "examples/reno.py").read_text())
    rival = '{ python = "mine.py:Reno" }'
    path = tmp_path / "rival.toml"
    path.write_text(TWO_FLOWS.replace('congestion_control = "cubic"', f"congestion_control = {rival}"))
    env = make(path, 8, threads=2, horizon=10_000)
    env.reset(seed=1)
    threads = [threading.Thread(target=env.step, args=(np.zeros((8, 1)),), daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_a_flow_whose_controller_is_replaced_is_refused(tmp_path: Path) -> None:
    change = '\nchange = [{ at = "5s", set = { "flow.one.tcp.congestion_control" = "cubic" } }]\n'
    (tmp_path / "changed.toml").write_text(TWO_FLOWS.replace("\nflow = [", change + "flow = ["))
    with pytest.raises(BadInput, match='flow "one": a change of the scenario replaces its controller'):
        make(tmp_path / "changed.toml").reset(seed=1)


def test_two_environments_without_a_seed_differ() -> None:
    first, second = make("aurora", 1), make("aurora", 1)
    assert first.reset()[0].tobytes() + second.reset()[0].tobytes()
    assert first.batch.capacity[0, 0] != second.batch.capacity[0, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reward": "max(throughput, 1, loss)"}, "max needs two arguments"),
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
        ({"reward": "throughput +"}, "is no formula"),
        ({"reward": "__import__('os')"}, "is not permitted|there is no function"),
        ({"reward": "rtt.real"}, 'no value "rtt.real"'),
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


def test_the_speed_of_an_environment_is_measured(ackclock: Command) -> None:
    done = ackclock("gym", "bench", "shared", "--envs", "4", "--threads", "1", "2", "--decisions", "40", "--json")
    one, two = json.loads(done.stdout)
    assert (one["threads"], two["threads"], one["decisions"], two["decisions"]) == (1, 2, 40, 40)
    assert one["packets"] == two["packets"] > 0  # the same runs
    assert "decisions a second" in ackclock("gym", "bench", "--envs", "1", "--decisions", "1").stdout
    for words, message in (
        (["none"], "none is no file and none of aurora, dumbbell, shared"),
        (["--decisions", "0"], "must be whole numbers of at least 1"),
        (["--like", "x"], 'convention: there is no "x"'),
        (["--envs", "2", "--threads", "3"], "3 threads have nothing to do with 2 environments"),
        (["--envs", "0"], "num_envs: 0 is not a positive number"),
    ):
        done = ackclock("gym", "bench", *words)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
