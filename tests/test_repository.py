"""What a project on a public forge has: workflows, forms, metadata, and the address that a release needs."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

SCHEMAS = {
    "vendor.github-workflows": (".github/workflows/*.yml",),
    "vendor.github-issue-forms": (".github/ISSUE_TEMPLATE/[!c]*.yml",),
    "vendor.github-issue-config": (".github/ISSUE_TEMPLATE/config.yml",),
    "vendor.dependabot": (".github/dependabot.yml",),
    "vendor.citation-file-format": ("CITATION.cff",),
}
ADDRESS = "https://forge.example/people/ackclock"


def files(root: Path, patterns: tuple[str, ...]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(root.glob(pattern))]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_of_the_forge_have_the_form_of_their_schema(root: Path, schema: str) -> None:
    paths = files(root, SCHEMAS[schema])
    assert paths
    program = Path(sys.executable).parent / "check-jsonschema"
    command = [str(program), "--builtin-schema", schema, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ci_is_the_script_that_the_repository_has(root: Path) -> None:
    workflow = yaml.safe_load((root / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    steps = [step.get("run", "") for step in workflow["jobs"]["test"]["steps"]]
    assert any(step.endswith(".ci/run") for step in steps)
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    for path in files(root, (".github/workflows/*.yml",)):
        used = set(re.findall(r"\bmake ([a-z-]+)", path.read_text(encoding="utf-8")))
        assert used <= targets, path


def test_one_version_and_one_licence(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cargo = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
    citation = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    assert project["version"] == cargo["version"] == citation["version"]
    assert project["license"] == cargo["license"] == " OR ".join(citation["license"])
    assert f"version = {{{project['version']}}}" in (root / "docs/cite.md").read_text(encoding="utf-8")
    assert "<" not in project["requires-python"]


def test_links_of_the_first_files_lead_to_files(root: Path) -> None:
    for name in (
        "README.md",
        "CHANGELOG.md",
        "SUPPORT.md",
        "SECURITY.md",
        "CONTRIBUTING.md",
        ".github/PULL_REQUEST_TEMPLATE.md",
    ):
        text = (root / name).read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text):
            assert ((root / name).parent / target).exists(), (name, target)


def test_the_readme_is_short(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    words = re.sub(r"```.*?```", "", text, flags=re.S).split()
    assert len(words) <= 650


def test_no_file_names_an_address_that_does_not_exist(root: Path) -> None:
    """Until the owner writes it, no file of the forge has an address of the repository."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    assert ("urls" in project) == ("repository-code" in citation)


def test_the_address_is_written_where_one_stands(root: Path, tmp_path: Path) -> None:
    names = ("pyproject.toml", "CITATION.cff", "mkdocs.yml", "README.md")
    for name in names:
        shutil.copy(root / name, tmp_path / name)
    module: dict[str, Any] = runpy.run_path(str(root / "tools/address.py"))
    module["write"](tmp_path, ADDRESS)
    first = {name: (tmp_path / name).read_text(encoding="utf-8") for name in names}
    assert tomllib.loads(first["pyproject.toml"])["project"]["urls"]["Source"] == ADDRESS
    assert yaml.safe_load(first["CITATION.cff"])["repository-code"] == ADDRESS
    assert f"]({ADDRESS}/blob/main/docs/platforms.md)" in first["README.md"]
    assert f"]({ADDRESS}/raw/main/docs/figures/dumbbell.png)" in first["README.md"]
    assert not re.findall(r"\]\((?!https?:|#)", first["README.md"])
    module["write"](tmp_path, ADDRESS + "-2")
    module["write"](tmp_path, ADDRESS)
    assert {name: (tmp_path / name).read_text(encoding="utf-8") for name in names} == first


def test_a_wrong_address_is_refused(root: Path) -> None:
    command = [sys.executable, str(root / "tools/address.py"), "ackclock"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: write the address")
