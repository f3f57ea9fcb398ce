"""Links: a scenario, its files and its seed in the fragment of the laboratory's address (`lab.html#s=...`)."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import PurePosixPath
from typing import Any, TypedDict

from ackclock.base.files import BadInput

PREFIX = "#s="
PREFIXES = (PREFIX, "#compare=")
"""What the content of a link follows: in the laboratory, and in its page Compare."""
PAGE = "lab.html"
LARGEST = 1_000_000
"""Bytes of a link's content."""


class Shared(TypedDict, total=False):
    """The content of a link, version 1; `web/src/share/link.ts` reads and writes the same."""

    v: int
    text: str
    set: list[str]
    seed: int
    files: dict[str, dict[str, str]]
    engine: str


def is_link(text: str) -> bool:
    """Whether a text is a link and not the name of a file."""
    return any(prefix in text for prefix in PREFIXES)


def pack(shared: Shared) -> str:
    """The link of a content."""
    text = json.dumps(shared, ensure_ascii=False, separators=(",", ":")).encode()
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = deflate.compress(text) + deflate.flush()
    return f"{PAGE}{PREFIX}{base64.urlsafe_b64encode(packed).decode('ascii').rstrip('=')}"


def unpack(link: str) -> Shared:
    """The content of a link. Raises BadInput."""
    packed = next((link.partition(prefix)[2] for prefix in PREFIXES if prefix in link), "")
    try:
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        data = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        text = inflate.decompress(data, LARGEST + 1)
        if len(text) > LARGEST:
            raise BadInput(f"the link holds more than {LARGEST:,} bytes")
        if not inflate.eof:
            raise BadInput("the link is damaged: it was cut; copy it again")
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()  # JSON can have surrogates, UTF-8 cannot
    except (zlib.error, ValueError, RecursionError):
        raise BadInput("the link is damaged: it may have been cut; copy it again") from None
    return check(value)


def check(value: Any) -> Shared:
    """The value as the content of a link. Raises BadInput."""
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        raise BadInput("the link holds no scenario")
    if value.get("v") != 1 or isinstance(value["v"], bool):
        raise BadInput(f"the link is of version {value.get('v')!r:.20}; this program reads version 1")
    if value.get("controller"):
        raise BadInput("the link holds a controller in JavaScript, which only the page can run; open the link there")
    shared: Shared = {"v": 1, "text": value["text"]}
    overrides, seed, files = value.get("set", []), value.get("seed"), value.get("files", {})
    if not isinstance(overrides, list) or not all(isinstance(entry, str) for entry in overrides):
        raise BadInput("set in the link is not a list of KEY=VALUE")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63):
        raise BadInput("seed in the link is not a whole number from 0 to 2^63 - 1")
    if not isinstance(files, dict) or not all(_is_file(name, content) for name, content in files.items()):
        raise BadInput("files in the link are damaged, or one is outside the scenario's folder")
    if overrides:
        shared["set"] = overrides
    if seed is not None:
        shared["seed"] = seed
    if files:
        shared["files"] = files
    return shared


def _is_file(name: str, content: Any) -> bool:
    path = PurePosixPath(name)
    inside = bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\0" not in name
    return inside and isinstance(content, dict) and isinstance(content.get("base64", content.get("text")), str)


def contents(shared: Shared) -> dict[str, bytes]:
    """The files of a link by name. Raises BadInput if one is damaged."""
    files = {}
    for name, content in shared.get("files", {}).items():
        packed = content.get("base64")
        try:
            files[name] = content["text"].encode() if packed is None else base64.b64decode(packed, validate=True)
        except ValueError:  # not base64, or letters that base64 has not
            raise BadInput(f"the file {name} in the link is damaged") from None
    return files
