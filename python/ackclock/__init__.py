"""Ackclock: a laboratory for congestion control.

>>> import ackclock
>>> result = ackclock.Scenario.load("scenarios/dumbbell.toml").run(trace="changes")  # doctest: +SKIP
>>> result.flows.select("name", "goodput_bps")  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ackclock._core import ControllerError, ScenarioError, __version__
    from ackclock.controller import Controller
    from ackclock.experiment import Scenario
    from ackclock.result import Result
    from ackclock.study import Study

__all__ = ["Controller", "ControllerError", "Result", "Scenario", "ScenarioError", "Study", "__version__"]

_MODULES = {
    "Controller": "controller",
    "ControllerError": "_core",
    "Result": "result",
    "Scenario": "experiment",
    "ScenarioError": "_core",
    "Study": "study",
    "__version__": "_core",
}


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that `ackclock --version` and commands start quickly."""
    if name not in _MODULES:
        raise AttributeError(f"module 'ackclock' has no attribute {name!r}")
    value: object = getattr(import_module(f"ackclock.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
