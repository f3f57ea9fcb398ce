"""Write the address of the repository where one stands: `python tools/address.py https://github.com/OWNER/ackclock`.

The project's URLs in pyproject.toml, CITATION.cff, mkdocs.yml, and the links of README.md, which PyPI shows without the
repository. It can be repeated with another address.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

FORM = re.compile(r"https://[\w.-]+/[\w.-]+/[\w.-]+")
BEGIN, END = "# The address of the repository (tools/address.py).\n", "# End of the address.\n"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(((?:https://[^)]*?/(?:blob|raw)/main/)?)(?!https?:|#)([\w./#-]+)\)")
"""A link or a picture of README.md to a file, with or without an address before."""


def with_part(text: str, part: str, before: str) -> str:
    """The text with `part` between its marks, which stand before the line `before` unless they stand elsewhere."""
    text = re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}\n?", "", text, flags=re.DOTALL)
    if text.count(f"\n{before}") != 1:
        raise ValueError(f"the line {before} is not there once")
    return text.replace(f"\n{before}", f"\n{BEGIN}{part}{END}\n{before}", 1)


def urls(address: str) -> str:
    """The table of pyproject.toml."""
    places = {
        "Documentation": "/tree/main/docs",
        "Changelog": "/blob/main/CHANGELOG.md",
        "Issues": "/issues",
        "Source": "",
    }
    return "[project.urls]\n" + "".join(f'{name} = "{address}{place}"\n' for name, place in places.items())


def readme(text: str, address: str) -> str:
    """README.md with links that work outside the repository."""

    def follow(link: re.Match[str]) -> str:
        kind = "raw" if link[1] else "blob"
        return f"{link[1]}[{link[2]}]({address}/{kind}/main/{link[4]})"

    return LINK.sub(follow, text)


def write(root: Path, address: str) -> None:
    """Write the address into the files of a repository."""
    changes: dict[str, Callable[[str], str]] = {
        "pyproject.toml": lambda text: with_part(text, urls(address), "[project.scripts]"),
        "CITATION.cff": lambda text: with_part(text, f'repository-code: "{address}"\n', "license:"),
        "mkdocs.yml": lambda text: with_part(text, f"repo_url: {address}\n", "docs_dir: docs"),
        "README.md": lambda text: readme(text, address),
    }
    texts = {root / name: change((root / name).read_text(encoding="utf-8")) for name, change in changes.items()}
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not FORM.fullmatch(sys.argv[1]):
        print("error: write the address of the repository, such as https://github.com/OWNER/ackclock", file=sys.stderr)
        sys.exit(2)
    write(Path(__file__).parents[1], sys.argv[1])
