"""Errors in the input of a user that the package itself raises, in the form of the core's."""

from __future__ import annotations

from ackclock._core import ScenarioError


def refused(place: str, message: str) -> ScenarioError:
    """Create a ScenarioError from a place and a message."""
    error = ScenarioError(f"{place}: {message}")
    error.file, error.line, error.key, error.message = place, None, "", message
    error.others, error.unmet_need = [], False
    return error


def utf8(*texts: str) -> None:
    """Raise ScenarioError if one of these texts, which may contain file names, is not UTF-8."""
    for text in texts:
        if not text.isascii() and text.encode("utf-8", "replace").decode() != text:
            raise refused(ascii(text), "not UTF-8: rename the file")
