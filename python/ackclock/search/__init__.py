"""Search for networks that break a controller (docs/search.md)."""

from ackclock.search.findings import Failure
from ackclock.search.search import Search

__all__ = ["Failure", "Search"]
