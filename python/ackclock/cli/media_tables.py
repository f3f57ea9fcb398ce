"""Tables of what Wi-Fi channels, cells and grants did in a run."""

from __future__ import annotations

from typing import Any

from ackclock.base.plain_console import PlainConsole
from ackclock.cli.tables import milliseconds, number, table_of


def print_media(console: PlainConsole, outcome: dict[str, Any], most: int | None) -> None:
    """Print the tables of an outcome, each with at most `most` links."""
    for key, title, heads, row in _TABLES:
        links = [link for link in outcome["links"] if _has_sent(link, key)]
        if links:
            table = table_of(title, ("link",), heads)
            for link in links[:most]:
                table.add_row(link["name"], *row(link[key]))
                for category in link[key].get("categories", ()):
                    table.add_row(f"  {category['access']}", *row(category))
            console.print(table)
    for channel in outcome.get("wifi", ()):
        rate = channel["collision_rate"] or 0.0
        console.print(f"channel {channel['channel']}: busy {channel['busy']:.1%}, collisions {rate:.1%}")
    for cell in outcome.get("cell", ()):
        down, up = cell["block_use"]
        console.print(f"cell {cell['name']}: {down:.1%} of the resource blocks down, {up:.1%} up")


def _has_sent(link: dict[str, Any], key: str) -> bool:
    return key in link and (key != "cell" or link[key]["blocks"] > 0)


def _most_used(counts: list[int]) -> str:
    used = [(count, number) for number, count in enumerate(counts) if count]
    return str(max(used)[1]) if used else "-"


def _part(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _wifi(wifi: dict[str, Any]) -> list[str]:
    return [
        f"{wifi['airtime_share']:.1%}",
        f"{wifi['ppdus']:,}",
        number(wifi["mean_aggregation"]),
        _part(wifi["retry_rate"]),
        f"{wifi['retry_drops']:,}",
        _most_used(wifi["mcs"]),
        milliseconds(wifi["mean_access_delay_s"]),
    ]


def _cell(cell: dict[str, Any]) -> list[str]:
    return [
        f"{cell['block_share']:.1%}",
        f"{cell['blocks']:,}",
        _part(cell["block_error_rate"]),
        f"{cell['attempts'][-1]:,}",
        number(cell["mean_cqi"]),
        milliseconds(cell["mean_order_wait_s"]),
        milliseconds(cell["mean_grant_wait_s"]),
    ]


def _grants(grants: dict[str, Any]) -> list[str]:
    return [
        f"{grants['requests']:,}",
        f"{grants['grants']:,}",
        number(grants["mean_grant_bytes"], ",.0f"),
        f"{grants['unsolicited_bytes']:,}",
    ]


_TABLES = (
    (
        "wifi",
        "Wi-Fi",
        ("airtime", "PPDUs", "packets\nin one", "sent\nagain", "given\nup", "MCS", "access\ndelay"),
        _wifi,
    ),
    (
        "cell",
        "Cells",
        ("blocks\nused", "transport\nblocks", "errors", "given\nup", "CQI", "wait for\norder", "wait for\na grant"),
        _cell,
    ),
    ("grants", "Grants", ("requests", "grants", "bytes\nin one", "unsolicited\nbytes"), _grants),
)
