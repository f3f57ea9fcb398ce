//! The files that a scenario names: which it may name, and where they are.

use crate::error::nearest;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Maximum size of a file after decompression, bytes.
const LARGEST: u64 = 1 << 30;

/// What a scenario's text may name: files, base files (`extends`) and code (controllers in Python).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FileAccess {
    /// Files of the disk; base files and code in the folder of the text's file or below it.
    #[default]
    Folder,
    /// Files, base files and code of the disk (`--allow-code`).
    Anywhere,
    /// Files of the disk; base files in the folder of the text's file or below it; no code.
    NoCode,
    /// The files that come with the text, and no code: a link, the page of a browser.
    Carried(CarriedFiles),
}

impl FileAccess {
    /// Why a text may not name any code, if so.
    pub(crate) fn code_refusal(&self) -> Option<&'static str> {
        match self {
            FileAccess::Folder | FileAccess::Anywhere => None,
            FileAccess::NoCode => Some(
                "names a controller in Python or a library; give --allow-code if you trust where it comes from",
            ),
            FileAccess::Carried(_) => Some(
                "a link or a page has no controller in Python and no library; run the scenario from a file",
            ),
        }
    }

    /// Checks that a text in the file `file` may name `path` as its base file or as code. A missing file passes: the
    /// error is that of reading it.
    pub(crate) fn check_inside(&self, file: &str, path: &Path) -> Result<(), String> {
        if matches!(self, FileAccess::Anywhere | FileAccess::Carried(_)) {
            return Ok(());
        }
        let folder = match Path::new(file).parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let (Ok(folder), Ok(resolved)) = (folder.canonicalize(), path.canonicalize()) else { return Ok(()) };
        if resolved.starts_with(&folder) {
            return Ok(());
        }
        Err(format!(
            "{} is outside the folder {}; move it there, or give --allow-code if you trust it",
            path.display(),
            folder.display()
        ))
    }

    /// Reads a file as it is.
    pub(crate) fn read_bytes(&self, path: &Path, largest: u64) -> Result<Vec<u8>, String> {
        let bytes = match self {
            FileAccess::Carried(files) => files.read(path)?,
            _ => read_from_disk(path, largest)?,
        };
        if bytes.len() as u64 > largest {
            return Err(format!("{}: more than {largest} bytes", path.display()));
        }
        Ok(bytes)
    }

    /// Reads a text file, and decompresses it if it is compressed with gzip.
    pub(crate) fn read_text(&self, path: &Path) -> Result<String, String> {
        self.read_text_of(path, &[])
    }

    /// The same, of files of other programs those of the permitted kinds.
    pub(crate) fn read_text_of(&self, path: &Path, permitted: &[trace::Kind]) -> Result<String, String> {
        let mut bytes = match self {
            FileAccess::Carried(files) => files.read(path)?,
            _ => read_from_disk(path, LARGEST)?,
        };
        if bytes.starts_with(&[0x1f, 0x8b]) {
            bytes = read_limited(flate2::read::MultiGzDecoder::new(&bytes[..]), path, LARGEST)?;
        }
        let text = String::from_utf8(bytes).map_err(|error| match trace::sniff(error.as_bytes()) {
            Some(kind) => other_kind(path, kind),
            None => format!("{}: not a UTF-8 text file", path.display()),
        })?;
        let text = text.strip_prefix('\u{feff}').map(String::from).unwrap_or(text);
        match trace::sniff(text.as_bytes()) {
            Some(kind) if !permitted.contains(&kind) => Err(other_kind(path, kind)),
            _ => Ok(text),
        }
    }
}

/// The message for a file of another program.
fn other_kind(path: &Path, kind: trace::Kind) -> String {
    format!("{}: is {}; {}", path.display(), kind.words(), kind.remedy())
}

/// The folder of the scenarios that come with the program.
static SHIPPED: OnceLock<PathBuf> = OnceLock::new();

/// Sets the folder of the scenarios that come with the program, once for the process: `@NAME` is `NAME.toml` in it.
pub fn set_shipped(folder: PathBuf) {
    SHIPPED.get_or_init(|| folder);
}

/// The file of the scenario `@name` that comes with the program. Fails with a message.
pub(crate) fn shipped_path(name: &str) -> Result<PathBuf, String> {
    let plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    let folder = SHIPPED.get().ok_or("this program comes without scenarios of its own")?;
    let path = folder.join(format!("{name}.toml"));
    if plain(name.strip_prefix("failures/").unwrap_or(name)) && path.is_file() {
        return Ok(path);
    }
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".toml")?.to_string()))
        .collect();
    names.sort_unstable();
    Err(format!("there is no shipped scenario @{name}; {}", nearest(name, names.iter().map(String::as_str))))
}

/// Files that come with a text, by their paths relative to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarriedFiles(Arc<BTreeMap<String, Vec<u8>>>);

impl CarriedFiles {
    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        let missing = || format!("{}: no such file comes with the scenario", path.display());
        normal_name(path).and_then(|name| self.0.get(&name).cloned()).ok_or_else(missing)
    }
}

impl FromIterator<(String, Vec<u8>)> for CarriedFiles {
    /// Files whose names are absolute or lead out of the folder are left out.
    fn from_iter<T: IntoIterator<Item = (String, Vec<u8>)>>(files: T) -> CarriedFiles {
        let named = |(name, content): (String, Vec<u8>)| Some((normal_name(Path::new(&name))?, content));
        CarriedFiles(Arc::new(files.into_iter().filter_map(named).collect()))
    }
}

/// A relative path without `.` and `..`; `None` if it is absolute or leads out of its folder.
fn normal_name(path: &Path) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

/// Reads a regular file. Fails with a message.
fn read_from_disk(path: &Path, largest: u64) -> Result<Vec<u8>, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", path.display());
    let file = open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(format!("{}: not a regular file", path.display()));
    }
    read_limited(file, path, largest)
}

/// Opens a file for reading. Opening a named pipe returns at once, also if nothing writes to it.
fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    options.open(path)
}

/// Reads to the end. Fails with a message if there are more than `largest` bytes.
fn read_limited(source: impl Read, path: &Path, largest: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = source.take(largest + 1).read_to_end(&mut bytes);
    let size = read.map_err(|e| format!("{}: {e}", path.display()))?;
    if size as u64 > largest {
        return Err(format!("{}: more than {largest} bytes", path.display()));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carried_files_have_relative_names() {
        let names = ["./a/b.txt", "c/../d", "/etc/passwd", "../e", "f/../../g"];
        let files: CarriedFiles = names.map(|name| (name.to_string(), name.into())).into_iter().collect();
        assert_eq!(files.0.keys().collect::<Vec<_>>(), ["a/b.txt", "d"]);
        let access = FileAccess::Carried(files);
        assert_eq!(access.read_text(Path::new("a/./b.txt")).as_deref(), Ok("./a/b.txt"));
        for path in ["/etc/passwd", "../e", "Cargo.toml", "a", ""] {
            assert!(access.read_text(Path::new(path)).is_err_and(|e| e.contains("no such file")), "{path}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn only_regular_files_are_read() {
        for path in ["/dev/zero", "/", "/proc/self/fd"] {
            let error = read_from_disk(Path::new(path), LARGEST).unwrap_err();
            assert!(error.ends_with("not a regular file"), "{error}");
        }
        // A file of /proc has the size 0 and content all the same.
        assert!(!read_from_disk(Path::new("/proc/self/status"), LARGEST).unwrap().is_empty());
    }

    #[test]
    fn no_more_than_the_limit_is_read() {
        let read = read_limited(std::io::repeat(0), Path::new("endless"), 1000);
        assert_eq!(read, Err("endless: more than 1000 bytes".into()));
        assert_eq!(read_limited(&[0; 9][..], Path::new("whole"), 9), Ok(vec![0; 9]));
    }
}
