//! The languages of controllers outside the registry: the keys that name their files.

use std::path::PathBuf;

/// The language of a controller in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A class in Python: `python = "FILE.py:CLASS"`.
    Python,
    /// A native library with the functions of ackclock.h: `library = "FILE.so:NAME"`.
    Library,
    /// A WebAssembly module with the same functions: `wasm = "FILE.wasm:NAME"`.
    Wasm,
    /// A class in JavaScript, in a sandbox: `javascript = "FILE.js:CLASS"`, or a page that was saved from the laboratory.
    JavaScript,
}

impl Language {
    /// All languages.
    pub const ALL: [Language; 4] =
        [Language::Python, Language::Library, Language::Wasm, Language::JavaScript];

    /// The key whose value is FILE:NAME.
    pub const fn key(self) -> &'static str {
        match self {
            Language::Python => "python",
            Language::Library => "library",
            Language::Wasm => "wasm",
            Language::JavaScript => "javascript",
        }
    }

    /// The language of a key.
    pub fn of_key(key: &str) -> Option<Language> {
        Language::ALL.into_iter().find(|language| language.key() == key)
    }

    /// Whether a controller sees nothing but its events, and ends: any scenario may name it.
    pub const fn is_sandboxed(self) -> bool {
        matches!(self, Language::Wasm | Language::JavaScript)
    }

    /// Whether its controllers share an interpreter, so that runs in parallel need a process each.
    pub const fn needs_processes(self) -> bool {
        matches!(self, Language::Python)
    }

    /// The file of a value, and the name in it. `None` if the value has no name and needs one.
    pub(crate) fn split(self, value: &str) -> Option<(&str, Option<&str>)> {
        let named = value.rsplit_once(':').filter(|(file, name)| !file.is_empty() && !name.is_empty());
        match named {
            // The colon of a drive is none before a name.
            Some((file, name)) if self == Language::Python || is_name(name) => Some((file, Some(name))),
            _ if self == Language::Python || value.is_empty() || value.ends_with(':') => None,
            _ => Some((value, None)),
        }
    }

    /// The path of the file of a value whose path is `path`.
    pub(crate) fn file_of(self, path: PathBuf) -> PathBuf {
        let text = path.to_string_lossy();
        match self.split(&text) {
            Some((file, Some(_))) => PathBuf::from(file),
            _ => path,
        }
    }

    /// An example of a value.
    pub(crate) const fn example(self) -> &'static str {
        match self {
            Language::Python => "mine.py:Mine",
            Language::Library => "libmine.so:mine",
            Language::Wasm => "mine.wasm:mine",
            Language::JavaScript => "mine.js:Mine",
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_names() {
        assert_eq!(Language::Python.split("a.py:A"), Some(("a.py", Some("A"))));
        assert_eq!(Language::Python.split("a.py"), None);
        assert_eq!(Language::Wasm.split("a.wasm:reno"), Some(("a.wasm", Some("reno"))));
        assert_eq!(Language::Wasm.split("a.wasm"), Some(("a.wasm", None)));
        assert_eq!(Language::Wasm.split("C:\\a.wasm"), Some(("C:\\a.wasm", None)));
        assert_eq!((Language::Library.split(""), Language::Wasm.split("a.wasm:")), (None, None));
    }
}
