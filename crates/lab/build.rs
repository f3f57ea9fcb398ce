//! Hashes the sources of the engine into its version, so that a result of one build is not used for another build.
//!
//! The hash covers every crate of the workspace with its manifest and build script, and the lock file with the
//! versions of all dependencies. A file that cannot be read stops the build.

use std::path::{Path, PathBuf};

/// Adds the files below `folder` that can change results.
fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let path = entry.unwrap_or_else(|e| panic!("{}: {e}", folder.display())).path();
        if path.is_dir() {
            collect(&path, into);
        } else {
            into.push(path);
        }
    }
}

/// The folders of the workspace's crates, beside this one.
fn crates() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("..").unwrap_or_else(|e| panic!("the folder of the crates: {e}"));
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|e| e.path()).filter(|path| path.join("Cargo.toml").is_file()).collect();
    files.sort();
    files
}

fn main() {
    // Of a published crate the exact requirements name the sources of the others.
    if !Path::new("../units/Cargo.toml").is_file() {
        println!("cargo::rustc-env=ACKCLOCK_SOURCES=release");
        println!("cargo::rustc-env=ACKCLOCK_CRATES=");
        return;
    }
    let mut files = Vec::new();
    let mut names = Vec::new();
    for folder in crates() {
        collect(&folder.join("src"), &mut files);
        files.push(folder.join("Cargo.toml"));
        files.extend(Some(folder.join("build.rs")).filter(|path| path.is_file()));
        println!("cargo::rerun-if-changed={}", folder.join("src").display());
        names.push(folder.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned()));
    }
    // An installed source distribution contains the workspace files too.
    for name in ["Cargo.toml", "Cargo.lock"] {
        files.push(Path::new("../..").join(name));
    }
    files.sort();
    let mut hasher = blake3::Hasher::new();
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        hasher.update(file.to_string_lossy().as_bytes());
        hasher.update(&std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display())));
    }
    println!("cargo::rustc-env=ACKCLOCK_SOURCES={}", &hasher.finalize().to_hex()[..12]);
    println!("cargo::rustc-env=ACKCLOCK_CRATES={}", names.join(" "));
}
