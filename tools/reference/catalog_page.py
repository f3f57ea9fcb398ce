"""The page docs/models.md: every command, network, controller, queue and substrate. `make reference` writes it."""

from __future__ import annotations

from importlib import import_module

from ackclock.apps.catalog import entries
from ackclock.apps.reach.substrates import SUBSTRATES
from ackclock.base import shipped
from ackclock.cli.app import GROUPS
from ackclock.scenario import Scenario

HEAD = (
    "# What is there\n\nEvery command, network, controller, queue and substrate of this version. `ackclock list "
    "controllers`, `list queues`, `list keys` and others show the parameters of each with units, defaults and sources. "
    "What a model was compared with, and what it lacks: [trust](trust.md)."
)


def page() -> str:
    """The page as Markdown."""
    parts = [HEAD, "## Commands", _commands(), "## Substrates", _substrates()]
    parts += ["## Networks", "A name is what a command takes: `ackclock run @cellular`.", _networks()]
    parts += ["## Controllers", _models("controllers", by="family")]
    parts += ["## Loss recoveries of TCP", _models("recoveries"), "## Queue disciplines", _models("queues")]
    parts += ["## Losses, delays and other impairments of links", _models("losses")]
    parts += ["## Suites", _models("suites"), "## Papers", _models("papers")]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _commands() -> str:
    rows = []
    for group, names in GROUPS.items():
        for name in names:
            command = import_module(f"ackclock.cli.{name.replace('-', '_')}").command
            rows.append([group, f"[`{name}`](reference/commands.md#{name})", (command.__doc__ or "").split("\n")[0]])
    return _table(["", "command", "what it does"], rows)


def _substrates() -> str:
    rows = [[f"`--on {name}`", substrate.title] for name, substrate in SUBSTRATES.items()]
    return _table(["substrate", "what runs"], rows)


def _networks() -> str:
    names = {name: path for name, path in shipped.scenarios().items() if not name.startswith("failures/")}
    rows = [[f"`@{name}`", Scenario.load(path).title] for name, path in names.items()]
    return _table(["network", "what it is"], rows)


def _models(kind: str, by: str | None = None) -> str:
    rows = []
    for entry in entries(kind):
        cells = [f"`{entry['name']}`", entry["summary"], entry["source"] or ""]
        rows.append([entry[by], *cells] if by else cells)
    return _table([by, "name", "what it is", "source"] if by else ["name", "what it is", "source"], rows)
