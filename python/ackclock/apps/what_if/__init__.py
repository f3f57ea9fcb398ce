"""What happens if something changes during a run (docs/what-if.md): runs that are advanced, copied and changed."""

from ackclock.apps.what_if.world import (
    Difference,
    Row,
    Tree,
    WhatIf,
    World,
    branch,
    changed,
    first_difference,
    rows,
    what_if,
)

__all__ = [
    "Difference",
    "Row",
    "Tree",
    "WhatIf",
    "World",
    "branch",
    "changed",
    "first_difference",
    "rows",
    "what_if",
]
