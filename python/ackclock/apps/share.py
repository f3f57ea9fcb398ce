"""Links to scenarios: `lab.html#s=...` opens one in the laboratory's page, and every command takes one."""

from __future__ import annotations

import base64
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from ackclock import _core
from ackclock.base.files import BadInput
from ackclock.base.languages import LANGUAGES, UNGUARDED, parted
from ackclock.base.link import PAGE, Shared, pack
from ackclock.base.source import Source
from ackclock.scenario import Scenario

LONGEST = 8_000
"""Characters of a link that chat programs and mail keep whole."""


def link(scenario: Scenario, *, seed: int | None = None) -> str:
    """A link that opens a scenario in the laboratory's page: `lab.html#s=...`. Raises BadInput as `content`."""
    return pack(content(scenario, seed=seed))


def content(scenario: Scenario, *, seed: int | None = None) -> Shared:
    """The content of a link to a scenario, read as the page will read it. Raises BadInput if it cannot be."""
    shared = written(scenario, seed)
    try:
        Scenario.read(Source.of_link(shared))
    except _core.ScenarioError as error:
        raise BadInput(f"a link cannot hold this scenario: {error}") from None
    shared["engine"] = _core.ENGINE
    return shared


def written(scenario: Scenario, seed: int | None = None) -> Shared:
    """The content of a link, unread, with the files that the scenario, its base files and its assignments name.

    Raises BadInput if a link cannot hold one, OSError.
    """
    if scenario.source.link is not None:
        shared = scenario.source.link.copy()
        if "seed" in shared:
            shared["seed"] = scenario.seed
    else:
        shared = {"v": 1, "text": scenario.text}
    if scenario.overrides:
        shared["set"] = [*shared.get("set", []), *map(str, scenario.overrides)]
    if seed is not None:
        shared["seed"] = seed
    if scenario.source.link is None and (files := _files(scenario)):
        shared["files"] = files
    return shared


def _files(scenario: Scenario) -> dict[str, dict[str, str]]:
    """The files that a link must hold, by their names relative to the folder of the scenario.

    Raises BadInput if a link cannot hold one, OSError.
    """
    folders = {Path(scenario.file): PurePosixPath()}
    mentions = scenario.facts().mentions
    files: dict[str, Path] = {}
    for mention in mentions:
        if mention.file is not None:
            name = folders[Path(mention.file)] / _file_of(mention)
            files[
                _inside(f"{mention.file}: {mention.key} = {mention.value!r}", mention.key, name, "the scenario's")
            ] = mention.path
            if mention.key == "extends":
                folders[mention.path] = name.parent
    contents = {name: _packed(disk) for name, disk in sorted(files.items())}
    for mention in mentions:
        if mention.assignment is not None:
            entry = f"--set {scenario.overrides[mention.assignment]}"
            value = _inside(entry, mention.key, PurePosixPath(_file_of(mention)), "the current")
            if contents.setdefault(value, content := _packed(mention.path)) != content:
                raise BadInput(f"--set names another {value} than the scenario; a link holds one file of a name")
    return contents


def _file_of(mention: _core.Mention) -> str:
    """The file that an entry of a scenario names, as it is written."""
    return parted(mention.value, mention.key)[0] if mention.key in LANGUAGES else mention.value


def _inside(entry: str, key: str, name: PurePosixPath, folder: str) -> str:
    """The name of a file that a link can hold. Raises BadInput if it cannot."""
    if key in UNGUARDED:
        what = "a controller written in Python" if key == "python" else "a native library"
        raise BadInput(f"{entry}: a link cannot hold {what}")
    if name.is_absolute() or ".." in name.parts:
        raise BadInput(f"{entry} is outside {folder} folder; a link holds files inside it")
    return str(name)


def _packed(file: Path) -> dict[str, str]:
    return {"base64": base64.b64encode(file.read_bytes()).decode("ascii")}


def at_site(link: str, address: str) -> str:
    """A link to the laboratory below an address; the link itself if the address is empty. Raises BadInput."""
    if not address:
        return link
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.query or parts.fragment:
        raise BadInput(f"{address}: must be the address of a folder or page, such as https://example.org/ackclock")
    if parts.path.endswith(".html"):
        return address + link.removeprefix(PAGE)
    return f"{address.rstrip('/')}/{link}"
