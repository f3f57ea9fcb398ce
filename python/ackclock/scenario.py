"""Scenarios and their results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import _core
from ackclock._core import Facts, ScenarioError
from ackclock.base.assignment import Override, Overrides, listed
from ackclock.base.controllers import check, one_process, refuse_while_loading
from ackclock.base.refusal import refused, utf8
from ackclock.base.source import Source, read_source
from ackclock.foreign import ForeignController
from ackclock.result import Result, Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Controllers = Mapping[str, type | ForeignController]
"""Controllers by flow name: classes with the interface of ackclock.Controller, or those of `ackclock.native` and
`ackclock.wasm`."""

MOST_CAUSES = 100_000
"""Maximum number of reductions of windows that a run explains."""


class Scenario:
    """An experiment, read from a TOML file, a TOML text or a dictionary of the same structure.

    docs/scenarios.md describes the format. A scenario and a seed determine the result exactly, to the bit.
    """

    def __init__(
        self,
        parsed: _core.Scenario,
        source: Source,
        overrides: Sequence[Override] = (),
        controllers: Mapping[str, Any] | None = None,
    ) -> None:
        self._parsed = parsed
        self.source = source
        self._overrides = list(overrides)
        self._remarks: list[str] = []
        self._controllers = dict(controllers or {})
        self._over: str | None = None

    def __repr__(self) -> str:
        return f"<ackclock.Scenario {self.file}: {self.title or 'no title'}, {self.duration_s:g} s, seed {self.seed}>"

    @property
    def file(self) -> str:
        """The file in messages."""
        return self.source.file

    @property
    def core(self) -> _core.Scenario:
        """The scenario of the core, for other modules of the package."""
        return self._parsed

    @property
    def text(self) -> str:
        """The text, without the changes by `overrides`."""
        return self.source.text

    @classmethod
    def load(
        cls,
        path: str | Path,
        overrides: Overrides = (),
        *,
        controllers: Controllers | None = None,
        allow_code: bool = False,
    ) -> Scenario:
        """Read a file, or a shipped scenario such as `@dumbbell`.

        `overrides` are assignments such as `["link.bottleneck.rate=5Mbps"]`, or data,
        `{"link.bottleneck.rate": "5Mbps"}`.

        `controllers` maps flow names to controllers that replace those of the file: classes in Python, or those of
        `ackclock.native` and `ackclock.wasm`.
        `path` may also be a link (`lab.html#s=...`), which names no controller in Python and no file outside it.
        `allow_code` permits a file to name code and base files outside its own folder (docs/security.md).
        Raises ScenarioError (with file, line, key) if it cannot be run, OSError if it cannot be read, BadInput if no
        shipped scenario has the name, or if a link is damaged or names a controller in Python.
        """
        return cls.read(read_source(path, allow_code=allow_code), overrides, controllers=controllers)

    @classmethod
    def parse(
        cls,
        text: str,
        overrides: Overrides = (),
        *,
        file: str = "scenario",
        controllers: Controllers | None = None,
        allow_code: bool = False,
    ) -> Scenario:
        """Create a scenario from TOML text."""
        source = Source(file, text, "anywhere" if allow_code else "folder", libraries=allow_code)
        return cls.read(source, overrides, controllers=controllers)

    @classmethod
    def read(cls, source: Source, overrides: Overrides = (), *, controllers: Controllers | None = None) -> Scenario:
        """Create a scenario from its source, such as that of another scenario with other assignments."""
        entries = listed(overrides)
        utf8(*map(str, entries))
        classes: dict[str, Any] = {}
        for flow, controller in (controllers or {}).items():
            if isinstance(controller, ForeignController):
                classes[flow] = controller.core
                continue
            classes[flow] = controller
            try:
                check(controller)
            except ValueError as error:
                raise refused(f"controllers[{flow!r}]", str(error)) from None
        return cls(_core.parse(source, entries, classes), source, entries, classes)

    def facts(self) -> Facts:
        """What its file, its base files and the assignments say, as it was read; nothing is read again."""
        return self._parsed.facts()

    def with_overrides(self, more: Overrides) -> Scenario:
        """The scenario with more assignments, after those that it has. Its text is not read again."""
        entries = listed(more)
        utf8(*map(str, entries))
        parsed = self._parsed.assigned(entries, self._controllers)
        scenario = Scenario(parsed, self.source, [*self._overrides, *entries], self._controllers)
        return scenario if self._over is None else scenario.over(self._over)

    def over(self, transport: str) -> Scenario:
        """The scenario with its TCP flows over another transport, which is "quic".

        Controllers, packet sizes on the wire, windows and ECN stay; TCP options without counterpart are named in
        `advice`. UDP flows, and flows that are QUIC in the file, do not change. Links do not contain the conversion.
        Raises ScenarioError if a controller needs what QUIC does not provide, ValueError for another transport.
        """
        if transport != "quic":
            raise ValueError(f'the transport is "quic", not "{transport}"')
        parsed, remarks = self._parsed.over_quic()
        over = Scenario(parsed, self.source, self._overrides, self._controllers)
        over._remarks, over._over = remarks, transport
        return over

    @classmethod
    def build(
        cls, document: Mapping[str, Any], overrides: Overrides = (), *, controllers: Controllers | None = None
    ) -> Scenario:
        """Create a scenario from a dictionary of the same structure as the TOML file."""
        import tomli_w

        return cls.parse(tomli_w.dumps(document), overrides, file="dictionary", controllers=controllers)

    @property
    def overrides(self) -> list[Override]:
        """The changes to the text: KEY=VALUE, or `Assignment` for what the program assigned."""
        return list(self._overrides)

    @property
    def advice(self) -> list[str]:
        """Entries of the file that are accepted but should be written differently, each with its place."""
        return [*self._parsed.advice, *self._remarks]

    @property
    def title(self) -> str:
        """The title of the scenario."""
        return self._parsed.title

    @property
    def duration_s(self) -> float:
        """Simulated time, seconds."""
        return self._parsed.duration_s

    @property
    def seed(self) -> int:
        """The default seed, as given in the scenario."""
        return self._parsed.seed

    @property
    def is_study(self) -> bool:
        """Whether the scenario has a `sweep`."""
        return self._parsed.is_study

    @cached_property
    def network(self) -> dict[str, Any]:
        """The network of the scenario: links with rate, delay, queue and loss, flows, terminals, radio nodes."""
        parsed: dict[str, Any] = json.loads(self._parsed.network())
        return parsed

    @property
    def has_applications(self) -> bool:
        """Whether a flow has an application (`app`), so that a run has messages."""
        return any("app" in flow for flow in self.facts().document.get("flow", []))

    @property
    def resolved(self) -> dict[str, Any]:
        """What a run derives from the scenario: paths, empty-path round-trip times, queue limits, flows, traffic.

        Paths are lists of indices of `links`, which are directions; they are empty if a path changes during the run.
        """
        parsed: dict[str, Any] = json.loads(self._parsed.resolved())
        return parsed

    def run(
        self,
        *,
        seed: int | None = None,
        trace: Trace = "off",
        packets: bool = False,
        audit: bool = False,
        captures: Sequence[str] = (),
        fingerprint: bool = False,
        qlog: bool = False,
        messages: bool = False,
        causes: int = 0,
        until_s: float | None = None,
        threads: int = 1,
        progress: Callable[[float], object] | None = None,
    ) -> Result:
        """Run the scenario. The GIL is released; Ctrl-C raises KeyboardInterrupt within tens of milliseconds.

        `trace` is "changes" (a row per change of a window) or "ack" (a row per ACK); `packets` keeps every packet
        event; `captures` names nodes and links (`a->b`; `a-b` for both directions) at which packets are captured, ""
        meaning all hosts that send data (`Result.captures`); `qlog` keeps the qlogs of QUIC flows (`Result.qlogs`);
        `messages` keeps every message of applications (`Result.messages`);
        `causes` explains so many reductions of windows (`Result.causes`; needs `trace="ack"` and `packets`);
        `audit` checks the run and fills `Result.violations`; `until_s` ends the run soon after that time (its traces
        are valid, its outcome is not); `threads`: on at most so many threads, with equal results (docs/speed.md;
        `Result.one_thread` is the reason if it was one); `progress` is called with the completed fraction.
        Raises ScenarioError if a place does not exist, and ControllerError if a controller written in Python raises
        an exception; the error has `flow`, `time_s` and that exception as its cause.
        """
        refuse_while_loading()
        utf8(*captures)
        if threads < 1:
            raise refused("run", "threads: must be at least 1")
        if not 0 <= causes <= MOST_CAUSES:
            raise refused("run", f"causes: must be from 0 to {MOST_CAUSES}")
        if causes and not (packets and trace == "ack"):
            raise refused("run", 'causes: needs trace="ack" and packets=True')
        if len(set(captures)) < len(captures):
            raise refused("run", "captures: a place is given twice")
        try:
            with one_process():
                finished = _core.run(
                    self._parsed,
                    seed=seed,
                    trace=trace,
                    packets=packets,
                    audit=audit,
                    captures=list(captures),
                    fingerprint=fingerprint,
                    qlog=qlog,
                    messages=messages,
                    causes=causes,
                    until_s=until_s,
                    threads=threads,
                    progress=progress,
                )
        except ScenarioError:
            raise
        except ValueError as error:
            raise refused("run", str(error)) from None
        return Result(finished, list(captures))

    def plot(self) -> Figure:
        """Draw the network: nodes, links with rate, delay, queue and loss, flows."""
        from ackclock.draw import network, notebook

        notebook.show_figures()
        return network.draw(self)

    def _repr_html_(self) -> str:
        """The flows and a picture of the network."""
        from ackclock.draw import notebook

        return notebook.scenario_html(self.title, self.duration_s, self.seed, self)
