//! The files that a scenario names: from the disk, or from a function of the caller where there is no disk (a browser).

use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

/// Returns the bytes of a file, or an error message.
pub type FileReader = fn(&Path) -> Result<Vec<u8>, String>;

/// Maximum size of a file after decompression, bytes.
const LARGEST: u64 = 1 << 30;

static READER: OnceLock<FileReader> = OnceLock::new();

/// Sets the function that reads all files of this process. Later calls have no effect.
pub fn set_file_reader(reader: FileReader) {
    READER.get_or_init(|| reader);
}

/// Whether files are on a disk, and not from [`set_file_reader`].
pub(crate) fn on_disk() -> bool {
    READER.get().is_none()
}

/// Reads a regular file. Fails with a message.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    if let Some(reader) = READER.get() {
        return reader(path);
    }
    let failed = |e: std::io::Error| format!("{}: {e}", path.display());
    let about = std::fs::metadata(path).map_err(failed)?;
    if !about.is_file() {
        return Err(format!("{}: not a regular file", path.display()));
    }
    if about.len() > LARGEST {
        return Err(too_large(path));
    }
    std::fs::read(path).map_err(failed)
}

fn too_large(path: &Path) -> String {
    format!("{}: more than {LARGEST} bytes", path.display())
}

/// Reads a text file, and decompresses it if it is compressed with gzip.
pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    let mut bytes = read(path)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut text = Vec::new();
        let unpacked = flate2::read::MultiGzDecoder::new(&bytes[..]);
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        unpacked.take(LARGEST + 1).read_to_end(&mut text).map_err(failed)?;
        if text.len() as u64 > LARGEST {
            return Err(too_large(path));
        }
        bytes = text;
    }
    String::from_utf8(bytes).map_err(|_| format!("{}: not a UTF-8 text file", path.display()))
}
