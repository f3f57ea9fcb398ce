"""Write the tables of agreement into docs/validation.md, between their markers: `python validation/ns2/report.py`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import lossy
import radio
import red
import reference
import satellite
import sinks
from cases import Agreement, cases, compare

PAGE = Path(__file__).parents[2] / "docs" / "validation.md"
HEAD = (
    "| case | rows that agree | first difference | acked (ns-2) | repeated (ns-2) | timeouts (ns-2) | drops (ns-2) |\n"
    "|---|---|---|---|---|---|---|\n"
)


def line(found: Agreement) -> str:
    """One row of the table."""
    first = "none" if found.head == found.rows else f"row {found.head + 1}"
    totals = " | ".join(f"{ours} ({theirs})" for theirs, ours in found.totals.values())
    return f"| {found.case.name} | {found.same} of {found.rows} | {first} | {totals} |\n"


def sink_lines() -> list[str]:
    """The table of both sinks: rows that agree, and the totals of ours and of ns-2."""
    head = ["| case | rows that agree | acked (ns-2) | repeated (ns-2) | timeouts (ns-2) |", "|---|---|---|---|---|"]
    for case in sinks.CASES:
        found = sinks.compare(case)
        totals = " | ".join(f"{ours} ({theirs})" for theirs, ours in found.totals.values())
        head.append(f"| {case.name} | {found.same} of {found.rows} | {totals} |")
    return head


def put(page: str, name: str, lines: list[str]) -> str:
    """The page with a new table between the markers of that name."""
    text = "\n".join(lines) + "\n"
    pattern = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
    return re.sub(pattern, lambda m: m[1] + text + m[2], page, flags=re.DOTALL)


def main() -> int:
    """Compare everything; print a summary."""
    found = [compare(case) for case in cases()]
    exact = sum(a.exact for a in found)
    summary = f"**{exact} of {len(found)} cases agree in every row and every total.**\n\n"
    table = summary + HEAD + "".join(line(a) for a in found)
    page = PAGE.read_text()
    page = re.sub(r"(<!-- table -->\n).*?(<!-- end -->)", lambda m: m[1] + table + m[2], page, flags=re.DOTALL)
    page = put(page, "red", reference.markdown("setting", red.MEASURES, red.compared()))
    page = put(page, "lossy", reference.markdown("case", lossy.MEASURES, lossy.compared()))
    page = put(page, "satellite", reference.markdown("case", satellite.MEASURES, satellite.compared()))
    page = put(page, "radio", reference.markdown("case", radio.MEASURES, radio.compared(radio.CASES)))
    page = put(page, "sinks", sink_lines())
    PAGE.write_text(page)
    print(summary.strip().strip("*"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
