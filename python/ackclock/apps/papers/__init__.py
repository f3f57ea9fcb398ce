"""Papers as experiments: a folder of studies, published numbers, claims and figures becomes a page of verdicts."""

from ackclock.apps.papers.folder import Paper, comparison_folder, find, known
from ackclock.apps.papers.reproduce import index, reproduce

__all__ = ["Paper", "comparison_folder", "find", "index", "known", "reproduce"]
