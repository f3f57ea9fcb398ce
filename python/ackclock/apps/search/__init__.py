"""Search for networks that break a controller (docs/search.md)."""

from ackclock.apps.search.findings import Failure
from ackclock.apps.search.search import Search

__all__ = ["Failure", "Search"]
