"""Learning environments: congestion control as Gymnasium's `Env` and `VectorEnv`, and PettingZoo's `ParallelEnv`.

`make("aurora", num_envs=64)` gives a vector environment; `gymnasium.make("Ackclock/Aurora-v0")` a single one. Needs
`pip install "ackclock[gym]"`. docs/gym.md describes networks, observations, actions, rewards and seeds.
"""

from ackclock.base.files import BadInput

try:
    import gymnasium
except ImportError as error:  # the extra is not installed
    raise BadInput('ackclock.gym needs gymnasium; install it with: pip install "ackclock[gym]"') from error

from ackclock.apps.policy.conventions import AURORA, CONVENTIONS, MVFST, ORCA, REWARDS, Columns, Convention
from ackclock.gym.datasets import Episode, log, write_minari
from ackclock.gym.environments import Env, VectorEnv, make
from ackclock.gym.parallel import parallel_env

__all__ = [
    "AURORA",
    "CONVENTIONS",
    "MVFST",
    "ORCA",
    "REWARDS",
    "Columns",
    "Convention",
    "Env",
    "Episode",
    "VectorEnv",
    "log",
    "make",
    "parallel_env",
    "write_minari",
]

for name in CONVENTIONS:
    gymnasium.register(
        id=f"Ackclock/{name.capitalize()}-v0",
        entry_point="ackclock.gym:Env",
        vector_entry_point="ackclock.gym:VectorEnv",
        kwargs={"networks": "aurora" if name == "aurora" else "dumbbell", "convention": name},
        disable_env_checker=True,
    )
