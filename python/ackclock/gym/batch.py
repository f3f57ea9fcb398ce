"""Many runs whose policies wait for actions, and the networks of their episodes."""

from __future__ import annotations

import hashlib
import math
import random
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ackclock import _core
from ackclock.apps.policy.conventions import MEASURED, PACKET_BYTES, Columns, Convention, columns
from ackclock.apps.search.explore import decode
from ackclock.apps.search.space import Genome, Space, read_space
from ackclock.base.assignment import Assignment, control_table
from ackclock.base.files import BadInput
from ackclock.base.operating_system import cores
from ackclock.base.source import Source, read_source
from ackclock.scenario import Scenario

if TYPE_CHECKING:
    from ackclock.apps.search.search import Search

ATTEMPTS = 100
"""Networks that are drawn for an episode before it is given up."""
OUT_OF_TIME, WAITS, COMPLETED, NOT_BEGUN = np.uint8(0), np.uint8(1), np.uint8(2), np.uint8(255)
"""States of a network."""
MOST_AGENTS = 1_000_000
"""Most agents of all environments: each has about 10 kB."""
SPACES = Path(__file__).parent / "spaces"


def episode_seed(seed: int, environment: int, episode: int) -> int:
    """The seed of an episode: equal for every number of threads and environments."""
    digest = hashlib.blake2b(f"episode {seed}/{environment}/{episode}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


class Networks:
    """The networks of episodes: those of a space (`[space]`, as for `ackclock search`), or one scenario."""

    def __init__(
        self, networks: str | Path | Scenario, overrides: tuple[str, ...] = (), teacher: str | None = None
    ) -> None:
        """`networks`: a name in `spaces`, a file with or without `[space]`, or a scenario.

        `teacher`: the controller that the flows with a policy get instead. Raises BadInput and ScenarioError.
        """
        self._teacher = teacher
        self._space: Space | None = None
        self._scenario: Scenario | None = None
        self._elites: list[tuple[Space, Genome]] = []
        self._elite_part = 0.0
        if isinstance(networks, Scenario):
            if overrides:
                raise BadInput("overrides: a Scenario has its own; use scenario.with_overrides([...])")
            self._scenario = networks
            return
        shipped = SPACES / f"{networks}.toml"
        try:
            source = read_source(shipped if shipped.is_file() else networks)
        except FileNotFoundError:
            names = ", ".join(sorted(path.stem for path in SPACES.glob("*.toml")))
            raise BadInput(f"networks: {networks} is no file and none of {names}") from None
        if has_space(source):
            self._space, _ = read_space(source, overrides)
        else:
            self._scenario = Scenario.read(source, overrides)

    def add(self, search: Search, part: float, agents: Sequence[str]) -> int:
        """Take the failures of a search as networks of a part of the episodes. Returns their number.

        Raises BadInput if it has no failure, or if its networks have no policy in one of the flows `agents`.
        """
        failures = search.map.failures(search.tried)
        if not failures:
            raise BadInput("the search has no failure; without one there is nothing to add")
        if not 0 < part <= 1:
            raise BadInput(f"part: {part} is not above 0 and at most 1")
        policies = policies_of(search.space.scenario(failures[0].genome))
        if missing := [name for name in agents if name not in policies]:
            remedy = 'search a space whose flows have these names and congestion_control = "policy"'
            raise BadInput(f"the networks of the search have no policy in flow {missing[0]}; {remedy}")
        self._elites = [(search.space, failure.genome) for failure in failures]
        self._elite_part = part
        return len(failures)

    def names(self) -> list[str]:
        """The flows whose controller is a policy."""
        return policies_of(self._scenario or self._draw(random.Random(0))[0])

    def taught(self, scenario: Scenario, names: Sequence[str]) -> Scenario:
        """A network whose flows `names` have the teacher."""
        if self._teacher is None:
            return scenario
        control, place = control_table(self._teacher), f"teacher {self._teacher}"
        keys = [("flow", name, "tcp", "congestion_control") for name in names]
        return scenario.with_overrides([Assignment(key, control, place, of_text=False) for key in keys])

    def _draw(self, rng: random.Random) -> tuple[Scenario, float | None]:
        """A network, and the rate of its bottleneck in packets a second if it is known."""
        if self._elites and rng.random() < self._elite_part:
            return _network(*rng.choice(self._elites))
        if self._scenario is not None:
            return self._scenario, None
        assert self._space is not None
        for _ in range(ATTEMPTS):
            genome = decode(self._space, [rng.random() for _ in range(self._space.dimensions)])
            if not self._space.excess(genome):
                return _network(self._space, genome)
        raise BadInput(
            f"{self._space.source.file}: {ATTEMPTS} networks of the space exceed its limits; make it narrower"
        )

    def episode(self, seed: int, first_rate: tuple[float, float] | None) -> tuple[Scenario, float | None, float]:
        """The network of an episode, its first rate and that of its bottleneck (nan: not known), packets a second."""
        rng = random.Random(seed)
        scenario, rate = self._draw(rng)
        part = None if first_rate is None else rng.uniform(*first_rate)
        return scenario, None if part is None or rate is None else part * rate, math.nan if rate is None else rate


def _network(space: Space, genome: Genome) -> tuple[Scenario, float]:
    """A network of a space, and the rate of its bottleneck, packets a second."""
    return space.scenario(genome), space.rate_bps(genome, space.bottleneck) / (8 * PACKET_BYTES)


def policies_of(scenario: Scenario) -> list[str]:
    """The flows of a scenario whose controller is a policy."""
    flows: list[dict[str, Any]] = scenario.network["flows"]
    return [flow["name"] for flow in flows if flow["label"].split(",")[0] == "policy"]


def has_space(source: Source) -> bool:
    """Whether a scenario file has a table `[space]`."""
    try:
        return "space" in tomllib.loads(source.text)
    except tomllib.TOMLDecodeError:
        return False  # the reader of scenarios says what is wrong


class Batch:
    """Networks that step together. Arrays have the axes (networks, agents, values)."""

    def __init__(
        self,
        networks: Networks,
        convention: Convention,
        count: int,
        agents: list[str],
        threads: int | None,
        observes: bool = False,
    ) -> None:
        """`observes`: the flows keep their controllers, whose decisions become the actions. Raises BadInput."""
        self._observes = observes
        self.networks, self.convention, self.count, self.agents = networks, convention, count, agents
        if not self.agents:
            raise BadInput('no flow has congestion_control = "policy"; an environment needs one that waits for actions')
        if not isinstance(count, int) or count < 1:
            raise BadInput(f"num_envs: {count!r} is not a positive number of environments")
        if count * len(self.agents) > MOST_AGENTS:
            raise BadInput(f"num_envs: {count:,} environments have more than {MOST_AGENTS:,} agents")
        if threads is not None and (not isinstance(threads, int) or threads < 1):
            raise BadInput(f"threads: {threads!r} is not a positive number")
        # A thread pays for itself with a few networks.
        threads = threads or max(1, min(count // 8, cores()))
        try:
            self._core = _core.Environments(convention.text, self.agents, count, threads)
        except ValueError as error:
            raise BadInput(f"environment: {error}") from None
        shape = (count, len(self.agents))
        self.observations: NDArray[np.float32] = np.zeros((*shape, self._core.inputs), np.float32)
        self.measured: NDArray[np.float64] = np.zeros((*shape, len(MEASURED)))
        self.active: NDArray[np.uint8] = np.zeros(shape, np.uint8)
        """1 for a flow that had an interval, 0 for one that has not begun or has ended."""
        self._state: NDArray[np.uint8] = np.full(count, NOT_BEGUN)
        self.steps: NDArray[np.int64] = np.zeros(count, np.int64)
        self.episodes: NDArray[np.int64] = np.zeros(count, np.int64)
        self.capacity: NDArray[np.float64] = np.full(shape, np.nan)
        """The rate of the bottleneck, packets a second, where the space says it; no sender sees it."""
        self.fair_share = self.capacity / len(self.agents)
        """The same over the number of agents."""
        of = columns(self.measured)
        self.columns: Columns = {**of, "capacity": self.capacity, "fair_share": self.fair_share}
        """What the agents measured in the last interval, by name: views, which show the next interval after a step."""
        self.clipped = 0
        """Actions outside their bounds so far; they are set to the bounds."""
        self._reward = convention.reward_function
        self._bounds = self.action[1]
        self._seed = 0

    @property
    def bounds(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The smallest and largest values of an observation."""
        low, high = np.array(self._core.bounds, np.float32).T
        return low.copy(), high.copy()

    @property
    def action(self) -> tuple[str, tuple[float, float]]:
        """The kind of the actions and their bounds."""
        return self._core.action

    def seed(self, seed: int) -> None:
        """The next episodes are the first ones of this seed."""
        self._seed = seed
        self.episodes[:] = 0

    def begin(self, index: int) -> None:
        """Begin the next episode of an environment. Raises BadInput if no network gives a decision."""
        for _ in range(ATTEMPTS):
            seed = episode_seed(self._seed, index, int(self.episodes[index]))
            self.episodes[index] += 1
            scenario, first, self.capacity[index] = self.networks.episode(seed, self.convention.first_rate)
            self.fair_share[index] = self.capacity[index] / len(self.agents)
            scenario = self.networks.taught(scenario, self.agents)
            try:
                waits = self._core.begin(index, scenario._parsed, seed, first, self._observes)
            except ValueError as error:
                raise BadInput(str(error)) from None
            for _ in range(self.convention.warm_up):
                waits = waits and self._core.stay(index)
            if waits:
                self.steps[index] = 0
                return
        raise BadInput(f"{ATTEMPTS} networks ended before the first decision; give them more time (duration)")

    def show(self) -> None:
        """Update the arrays."""
        self._core.show(self.observations, self.measured, self.active, self._state)

    def step(self, actions: NDArray[Any]) -> NDArray[np.float64]:
        """Take actions of shape (networks, agents). Returns the rewards, of the same shape.

        The reward of a flow that does not run is 0. Raises BadInput if an action or a reward is not finite.
        """
        low, high = self._bounds
        if (self._state == NOT_BEGUN).any():
            raise BadInput("step: the environment has no episode; call reset first")
        if np.iscomplexobj(actions):
            raise BadInput("action: is complex")
        actions = np.ascontiguousarray(actions, np.float64)
        if not np.isfinite(actions).all():
            raise BadInput("action: is not finite")
        self.clipped += int(((actions < low) | (actions > high)).sum())
        self._core.step(actions.ravel())
        self.steps += 1
        self.show()
        rewards = np.asarray(self._reward(self.columns), np.float64)
        if rewards.shape != self.active.shape:
            raise BadInput(f"reward: has the shape {rewards.shape}, not {self.active.shape} (networks, agents)")
        rewards = np.where(self.active, rewards, 0.0)
        if not np.isfinite(rewards).all():
            remedy = "write max(throughput, 1) or max(rtt, 0.001), or take networks of a space, whose rate is known"
            raise BadInput(f"reward: is not finite; {remedy}")
        return rewards

    @property
    def terminated(self) -> NDArray[np.bool_]:
        """In which networks all agents have sent everything that they had to send."""
        return np.asarray(self._state == COMPLETED)

    @property
    def truncated(self) -> NDArray[np.bool_]:
        """Which other episodes have reached the horizon, or the end of their scenario."""
        out_of_time = (self._state == OUT_OF_TIME) | (self.steps >= self.convention.horizon)
        return np.asarray(out_of_time & ~self.terminated)

    def copy(self, to: int, other: Batch, index: int) -> None:
        """Network `to` continues as a copy of network `index` of `other`. Raises BadInput if it cannot be copied."""
        for name, place, of in (("to", to, self), ("index", index, other)):
            if not 0 <= place < of.count:
                raise BadInput(f"copy: {name} is {place}; there are the networks 0 to {of.count - 1}")
        try:
            self._core.copy(to, other._core, index)
        except NotImplementedError as reason:
            raise BadInput(f"{reason}") from None
        except ValueError as error:
            raise BadInput(f"copy: {error}") from None
        for mine, theirs in ((self.steps, other.steps), (self.capacity, other.capacity)):
            mine[to] = theirs[index]
        self.fair_share[to] = other.fair_share[index]
