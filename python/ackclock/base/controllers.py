"""How a controller that is written in Python is loaded and checked. `ackclock.controller` has its interface."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ackclock.base.files import BadInput
from ackclock.base.models import interface
from ackclock.base.text import say
from ackclock.controller import Controller

if TYPE_CHECKING:
    import ast

RESERVED = {
    *("time_s", "flow", "event", "cwnd", "ssthresh", "ack", "rtt_s", "in_flight", "phase", "cause"),
    *("pacing_bps", "app_limited", "handoff"),
}
"""Columns of every window trace."""

_modules: dict[str, ModuleType] = {}
_failed: dict[str, str] = {}
_loading: list[str] = []
"""The files that are being run for their controllers."""


process = 0
"""The process that runs simulations."""
on_load: Callable[[str], object] | None = None
"""Function that is called with a message before a file is run for the first time; None for no message."""
announced: set[str] = set()
"""What `announce` has said in this command."""


def announce(what: str) -> None:
    """Say on standard error that a file is run, once per command, also if several processes run it."""
    if what not in announced:
        announced.add(what)
        say(f"ackclock: {what}", error=True)


@contextmanager
def one_process() -> Iterator[None]:
    """Let a run come back in this process only: copies of it, which a controller can make (fork), end with the run."""
    global process
    process = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != process:
            os._exit(0)


def identify(path: str, name: str) -> str:
    """The identity of class `name` in file `path`: its name and a hash of the file (not of the modules it imports).

    The file is not run. Raises ValueError with a one-line message if it cannot be read or is not Python.
    """
    import ast
    import difflib

    text = _read(path)
    if Path(path).suffix in {".js", ".mjs", ".ts", ".html"}:
        raise ValueError(f"{path} is no Python: a table names a controller in JavaScript with the key javascript")
    tree = _parsed(text, path)
    classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    if name in classes:
        methods = [node.name for node in classes[name].body if isinstance(node, ast.FunctionDef)]
        used = {node.attr for node in ast.walk(classes[name]) if isinstance(node, ast.Attribute)}
        _check_spelling(name, methods, used)
    elif name not in text.decode("utf-8", "replace") and difflib.get_close_matches(name, classes, 1):
        raise _no_class(path, name, list(classes))
    return _identity(text, name)


def _parsed(text: bytes, path: str) -> ast.Module:
    """The syntax of a file, which is not run. Raises ValueError with its place if it is not Python."""
    import ast

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as an invalid escape: the run says so
            return ast.parse(text, path)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(_format_error(error, path)) from None


def classes_in(path: str) -> list[str]:
    """The controllers of a file in its order: classes on its first level that have `on_ack`, or inherit it in the file.

    The file is not run. Raises ValueError with a one-line message if it cannot be read, is not Python, or has none.
    """
    import ast

    classes = [node for node in _parsed(_read(path), path).body if isinstance(node, ast.ClassDef)]
    bases = {node.name: {base.id for base in node.bases if isinstance(base, ast.Name)} for node in classes}
    methods = {node.name: {part.name for part in node.body if isinstance(part, ast.FunctionDef)} for node in classes}
    able = {name for name in methods if "on_ack" in methods[name]}
    while heirs := {name for name in bases if name not in able and bases[name] & able}:
        able |= heirs
    if not able:
        raise ValueError(f"{path} has no controller: no class with the method on_ack")
    return [name for name in methods if name in able]


def short_names(controls: Sequence[str]) -> dict[str, str]:
    """The names of controllers for a figure: those in files have no folder, unless two would have one name."""
    short = {}
    for control in controls:
        file, colon, cls = control.rpartition(":")
        short[control] = f"{Path(file).name}:{cls}" if colon and not control.startswith("{") else control
    twice = {name for name, count in Counter(short.values()).items() if count > 1}
    return {control: control if name in twice else name for control, name in short.items()}


def _no_class(path: str, name: str, classes: Sequence[str]) -> ValueError:
    """The error about a class that a file does not have."""
    import difflib

    near = difflib.get_close_matches(name, classes, 1)
    remark = f"; did you mean {near[0]}?" if near else f"; it has {', '.join(classes)}" if classes else ""
    return ValueError(f"{path} has no class {name}{remark}")


def _check_spelling(name: str, methods: Sequence[str], used: set[str]) -> None:
    """Check that no method of class `name` is a misspelt event. `used` are the attributes that its code reads.

    Raises ValueError for a method that nothing calls, if its name is near to that of an event that the class lacks.
    """
    import difflib

    events = [event for event in vars(Controller) if event.startswith(("on_", "set_"))]
    lacking = [event for event in events if event not in methods]
    for method in methods:
        near = difflib.get_close_matches(method, lacking, 1, 0.75)
        if method.startswith(("on_", "set_")) and method not in {*events, *used} and near:
            raise ValueError(f"{name} has a method {method}, which nothing calls; did you mean {near[0]}?")


def _identity(text: bytes, name: str) -> str:
    return f"{name} {hashlib.blake2b(text, digest_size=16).hexdigest()}"


def _read(path: str) -> bytes:
    try:
        if Path(path).exists() and not Path(path).is_file():  # a pipe or a device may never end
            raise ValueError(f"{path}: not a regular file")
        return Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None


def load(path: str, name: str, parameters: Sequence[str]) -> tuple[type, str]:
    """Run the file `path`, once per process, and check that its class `name` accepts these parameters.

    Returns the class and its identity. Raises ValueError with a one-line message.
    """
    text = _read(path)
    identity = _identity(text, name)
    key = f"{Path(path).resolve()} {identity}"
    if key in _failed:
        raise ValueError(_failed[key])
    module = _modules.get(key)
    if module is None:
        if on_load is not None:
            on_load(f"runs {path} (class {name})")
        module = ModuleType(Path(path).stem)
        module.__file__ = path
        # Dataclasses and pickles look modules up by name.
        sys.modules[f"ackclock.base.controllers:{key}"] = module
        module.__name__ = f"ackclock.base.controllers:{key}"
        _loading.append(path)
        try:
            exec(compile(text, path, "exec"), module.__dict__)
        except BadInput as error:
            _failed[key] = str(error)
            raise ValueError(_failed[key]) from None
        except (Exception, SystemExit) as error:
            _failed[key] = _format_error(error, path)
            raise ValueError(_failed[key]) from None
        finally:
            _loading.pop()
        _modules[key] = module
    cls = getattr(module, name, None)
    if not isinstance(cls, type):
        raise _no_class(
            path, name, [n for n, c in vars(module).items() if isinstance(c, type) and hasattr(c, "on_ack")]
        )
    check(cls, parameters)
    return cls, identity


def sandbox() -> tuple[bytes, str]:
    """The interpreter of JavaScript (WebAssembly), and the program in it that calls a class. Raises ValueError."""
    folder = Path(__file__).parent.parent / "web"
    try:
        return (folder / "quickjs.wasm").read_bytes(), (folder / "sandbox.js").read_text(encoding="utf-8")
    except OSError:
        raise ValueError("this installation has no interpreter of JavaScript: build it with make page") from None


def loads_library(path: str) -> None:
    """Say that a native library is loaded, before it is: code of it runs, and a crash of it ends the process."""
    import faulthandler

    what = f"runs {path} (native code)"
    if on_load is not None and threading.current_thread() is threading.main_thread():
        on_load(what)  # which may go on in a copy of this process
    elif on_load is not None:
        announce(what)
    if sys.__stderr__ is not None and not faulthandler.is_enabled():
        faulthandler.enable()


def file_of(controller: type) -> tuple[Path, str]:
    """The file of a controller, and the name of the class in it: another process loads it from there.

    Raises ValueError if it is no controller, or if no file has a class of this name, as in a notebook.
    """
    import inspect

    check(controller)
    try:
        file = Path(inspect.getsourcefile(controller) or "").resolve()
    except (OSError, TypeError):
        file = Path()
    name = controller.__qualname__
    if not file.is_file() or "." in name:
        raise ValueError(f"{name}: a study runs it in other processes: define the class in a file, at its top level")
    return file, name


def refuse_while_loading() -> None:
    """Raise BadInput if a file is being run for its controller: a run that it begins would begin in each process."""
    if _loading:
        raise BadInput(
            f"{_loading[-1]}: runs a scenario while its controller is loaded; put what it runs under "
            'if __name__ == "__main__":'
        )


def _beside(folders: Collection[Path]) -> dict[str, Path]:
    module_files = {
        name: getattr(module, "__file__", None) for name, module in sys.modules.items() if name != "__main__"
    }
    files = {name: Path(file) for name, file in module_files.items() if file and file.endswith(".py")}
    return {name: file for name, file in files.items() if file.is_absolute() and file.parent in folders}


def modules_in(folders: Collection[Path]) -> list[Path]:
    """The files of the modules that were imported from these folders (absolute paths), sorted."""
    return sorted(set(_beside(folders).values()))


def forget(folders: Collection[Path]) -> None:
    """Make the next run load its controllers again, and the modules that they import from these folders."""
    import importlib

    for name in _beside(folders):
        del sys.modules[name]
    importlib.invalidate_caches()
    _modules.clear()
    _failed.clear()


def check(cls: type, parameters: Sequence[str] = ()) -> None:
    """Check that a class is a controller that takes these parameters. Raises ValueError."""
    import difflib
    import inspect

    if not isinstance(cls, type):
        what = f"an instance of {type(cls).__name__}" if hasattr(cls, "on_ack") else repr(cls)
        raise ValueError(f"a controller is a class, not {what:.60}; give the class itself")
    functions = {n: f for n, f in vars(cls).items() if inspect.isfunction(f)}
    _check_spelling(cls.__name__, list(functions), {n for f in functions.values() for n in f.__code__.co_names})
    required = [method["name"] for method in interface()["methods"] if method["required"]]
    missing = [name for name in required if not callable(getattr(cls, name, None))]
    if missing:
        raise ValueError(f"{cls.__name__} has no {', '.join(missing)}; derive it from ackclock.Controller")
    for attribute in ("needs", "probes"):
        words = getattr(cls, attribute, ())
        if not isinstance(words, tuple | list) or not all(isinstance(word, str) for word in words):
            raise ValueError(f"{cls.__name__}.{attribute} must be a tuple of strings, such as ({'timer'!r},)")
        taken = sorted(set(words) & RESERVED) if attribute == "probes" else []
        if taken or len(set(words)) < len(words):
            twice = ", ".join(taken) or "a name twice"
            raise ValueError(f"{cls.__name__}.probes has {twice}: columns that the trace has already")
    try:
        signature = inspect.signature(cls)
    except ValueError:
        return
    every = list(signature.parameters.values())
    names = set(parameters)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    for p in every[1:]:
        if p.default is p.empty and p.kind in (*positional, p.KEYWORD_ONLY) and p.name not in names:
            raise ValueError(f"{cls.__name__} needs the parameter {p.name}")
    if any(p.kind is p.VAR_KEYWORD for p in every):
        return
    accepted = [p.name for p in every[1:] if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for name in parameters:
        if name not in accepted:
            near = difflib.get_close_matches(name, accepted, 1)
            listed = f"it has {', '.join(accepted)}" if accepted else "it has none"
            remark = f"did you mean {near[0]}?" if near else listed
            raise ValueError(f"{cls.__name__} has no parameter {name}; {remark}")


def _format_error(error: BaseException, path: str) -> str:
    """An error in the file `path` as one line, with its place."""
    line = getattr(error, "lineno", None) or _last_line(error, path)
    return f"{path}{f':{line}' if line else ''}: {type(error).__name__}: {error}"


def _last_line(error: BaseException, path: str) -> int | None:
    """The line of the file at which an error occurred."""
    line, at = None, error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == path:
            line = at.tb_lineno
        at = at.tb_next
    return line
