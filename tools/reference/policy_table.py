"""The features, actions and measured values of policies as tables of a page."""

from __future__ import annotations

from ackclock.apps.policy.conventions import ACTIONS, FEATURES, MEASURED, TUNABLE

BEGIN, END = "<!-- begin of features -->\n", "<!-- end of features -->\n"


def table() -> str:
    """The tables as Markdown."""
    lines = ["| feature | unit | meaning |", "|---|---|---|"]
    lines += [f"| `{name}` | {unit} | {text} |" for name, unit, _, _, text in FEATURES]
    lines += ["", "| action | effect |", "|---|---|"]
    lines += [f"| `{name}` | {text} |" for name, text in ACTIONS]
    each = [f"{', '.join(f'`{name}`' for name in names)} of `{controller}`" for controller, names in TUNABLE]
    lines += ["", f"An action of kind `parameter` sets one of {'; '.join(each)}."]
    values = [f"`{name}`" + (f" ({unit})" if unit else "") for name, unit in MEASURED]
    lines += ["", f"Measured values of an interval: {', '.join(values)}.", ""]
    return "\n".join(lines)


def with_table(page: str) -> str:
    """A page with the tables between its marks."""
    head, rest = page.split(BEGIN)
    return head + BEGIN + "\n" + table() + "\n" + END + rest.split(END)[1]
