"""Ackclock: a laboratory for congestion control.

>>> import ackclock
>>> result = ackclock.Scenario.load("scenarios/dumbbell.toml").run(trace="changes")  # doctest: +SKIP
>>> result.flows.select("name", "goodput_bps")  # doctest: +SKIP
"""

from typing import TYPE_CHECKING

from ackclock.base.lazy import on_first_use

if TYPE_CHECKING:
    from ackclock._core import ControllerError, ScenarioError, StackFailure, __version__
    from ackclock.base.files import BadInput
    from ackclock.controller import Controller
    from ackclock.foreign import ForeignController, include, native, wasm
    from ackclock.network import Endpoint, Network
    from ackclock.result import Result
    from ackclock.scenario import Scenario
    from ackclock.study import Study

__all__ = [
    "BadInput",
    "Controller",
    "ControllerError",
    "Endpoint",
    "ForeignController",
    "Network",
    "Result",
    "Scenario",
    "ScenarioError",
    "StackFailure",
    "Study",
    "__version__",
    "include",
    "native",
    "wasm",
]

__getattr__ = on_first_use(
    __name__,
    {
        "BadInput": "ackclock.base.files",
        "Controller": "ackclock.controller",
        "ControllerError": "ackclock._core",
        "Endpoint": "ackclock.network",
        "ForeignController": "ackclock.foreign",
        "Network": "ackclock.network",
        "Result": "ackclock.result",
        "Scenario": "ackclock.scenario",
        "ScenarioError": "ackclock._core",
        "StackFailure": "ackclock._core",
        "Study": "ackclock.study",
        "__version__": "ackclock._core",
        "include": "ackclock.foreign",
        "native": "ackclock.foreign",
        "wasm": "ackclock.foreign",
    },
)
