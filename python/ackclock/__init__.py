"""Ackclock: a laboratory for congestion control.

>>> import ackclock
>>> result = ackclock.Scenario.load("scenarios/dumbbell.toml").run(trace="changes")  # doctest: +SKIP
>>> result.flows.select("name", "goodput_bps")  # doctest: +SKIP
"""

from ackclock._core import ControllerError, ScenarioError, __version__
from ackclock.control import Controller
from ackclock.experiment import Result, Scenario

__all__ = ["Controller", "ControllerError", "Result", "Scenario", "ScenarioError", "__version__"]
