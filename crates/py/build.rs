//! Copies the scenarios, the examples and the papers to the output folder, from which maturin puts them into the wheel.

use std::path::Path;

/// Copies the files below `from`; files that Python generates are left out.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let path = entry?.path();
        let (Some(name), false) = (path.file_name(), path.ends_with("__pycache__")) else { continue };
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else {
            std::fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

fn main() {
    let output = std::env::var("OUT_DIR").unwrap_or_else(|e| panic!("OUT_DIR: {e}"));
    // The Python package has modules in a folder `papers`.
    for (folder, name) in [("scenarios", "scenarios"), ("examples", "examples"), ("papers", "paper_folders")]
    {
        let from = Path::new("../..").join(folder);
        let to = Path::new(&output).join(name);
        if to.exists() {
            std::fs::remove_dir_all(&to).unwrap_or_else(|e| panic!("{}: {e}", to.display()));
        }
        copy(&from, &to).unwrap_or_else(|e| panic!("{}: {e}", from.display()));
        println!("cargo::rerun-if-changed={}", from.display());
    }
}
