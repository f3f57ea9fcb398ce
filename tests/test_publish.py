"""The published crates: what `cargo publish` would upload is enough for a program outside the repository."""

from __future__ import annotations

import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest

MANIFEST = """[package]
name = "outside"
version = "0.1.0"
edition = "2024"

[dependencies]
ackclock = {{ version = "={version}", default-features = false }}

[patch.crates-io]
{patches}
[workspace]
"""
PROGRAM = """use ackclock::{Ack, Congestion, Controller, FlowInfo, Run, Scenario, Settings, Timeout, Window};

#[derive(Clone, Debug)]
struct Mine(Window);

impl Controller for Mine {
    fn on_ack(&mut self, ack: &Ack) {
        if self.0.on_ack(ack) {
            self.0.grow(ack);
        }
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.0.reduce(event.window, 0.5);
    }
    fn on_rto(&mut self, event: &Timeout) {
        self.0.timeout(event, 0.5);
    }
    ackclock::impl_window_accessors!(0);
}

const SCENARIO: &str = r#"
duration = "10s"
link = [{ ends = ["a", "b"], rate = "10Mbps", delay = "20ms", queue = { kind = "droptail", limit = "1bdp" } }]
flow = [{ name = "f", from = "a", to = "b", tcp = { congestion_control = "reno" } }]
"#;

#[test]
fn a_controller_of_this_crate_does_what_reno_does() {
    let run = |scenario: Scenario| {
        let mut run = Run::new(&scenario, Settings::default()).unwrap();
        run.finish();
        run.outcome().flows[0].goodput_bps
    };
    let parse = || Scenario::parse("outside.toml", SCENARIO, &[]).unwrap();
    let mine = parse().with_controller("f", |flow: &FlowInfo| Mine(Window::new(flow))).unwrap();
    let reno = run(parse());
    assert!(reno > 8e6);
    assert_eq!(run(mine), reno);
}
"""


def _published(root: Path) -> list[str]:
    manifests = [tomllib.loads(path.read_text())["package"] for path in sorted(root.glob("crates/*/Cargo.toml"))]
    return [package["name"] for package in manifests if package.get("publish", True)]


def test_published_crates_say_what_they_are(root: Path) -> None:
    """A page of crates.io and of docs.rs needs the words; requirements between the crates are exact."""
    workspace = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]
    version = workspace["package"]["version"]
    published = _published(root)
    assert len(published) == 13
    for path in sorted(root.glob("crates/*/Cargo.toml")):
        manifest = tomllib.loads(path.read_text())
        package = manifest["package"]
        if package["name"] in published:
            assert {"description", "repository", "readme", "keywords", "categories"} <= set(package), path
            name = manifest.get("lib", {}).get("name", package["name"])
            assert name == package["name"].replace("-", "_")
    inner = {entry["package"]: entry for entry in workspace["dependencies"].values()}
    for name in set(published) - {"ackclock"}:
        assert inner[name]["version"] == f"={version}"


def test_the_rust_version_is_said(root: Path) -> None:
    version = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    for page in ("README.md", "docs/platforms.md"):
        assert f"Rust {version}" in (root / page).read_text(), page


def test_the_controller_of_the_guide_is_an_example(root: Path) -> None:
    """`cargo test` builds it."""
    example = (root / "crates" / "ackclock" / "examples" / "controller.rs").read_text().split("\n\n", 1)[1]
    assert f"```rust\n{example}```" in (root / "docs" / "rust.md").read_text()


@pytest.mark.nightly
def test_a_program_outside_the_repository(root: Path, tmp_path: Path) -> None:
    """The packaged files build without the workspace around them, and run a controller of the program."""
    private = [word for name in ("capi", "py", "web", "reach") for word in ("--exclude", f"ackclock-{name}")]
    package = ["cargo", "package", "--locked", "--quiet", "--no-verify", "--allow-dirty", "--workspace", *private]
    subprocess.run([*package, "--target-dir", str(tmp_path / "packages")], cwd=root, check=True)
    patches = ""
    for archive in sorted((tmp_path / "packages" / "package").glob("*.crate")):
        with tarfile.open(archive) as files:
            files.extractall(tmp_path, filter="data")
        patches += f'{archive.stem.rsplit("-", 1)[0]} = {{ path = "../{archive.stem}" }}\n'
    version = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    outside = tmp_path / "outside"
    (outside / "src").mkdir(parents=True)
    (outside / "Cargo.toml").write_text(MANIFEST.format(version=version, patches=patches))
    (outside / "src" / "lib.rs").write_text(PROGRAM)
    (outside / "Cargo.lock").write_bytes((root / "Cargo.lock").read_bytes())
    done = subprocess.run(["cargo", "test", "--quiet"], cwd=outside, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 passed" in done.stdout
