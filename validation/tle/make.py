"""Write two-line elements of a synthetic Iridium, `scenarios/iridium-66.tle`: `python validation/tle/make.py`.

The orbits are those of the 66 satellites of docs/specs/iridium.md at an epoch, circular and without drag. Real elements
are valid for about a day and need network access. SGP4 includes the Earth's oblateness, so its positions deviate from
the circles by kilometres within minutes.
"""

from __future__ import annotations

import math
from pathlib import Path

TARGET = Path(__file__).parents[2] / "scenarios" / "iridium-66.tle"
YEAR, DAY = 26, 1.0
"""Epoch: the first of January 2026, 0 h UTC."""
MU, RADIUS_KM = 398_600.8, 6378.135 + 780
"""WGS 72, the constants of SGP4."""


def sidereal_degrees() -> float:
    """How far Greenwich has turned from the vernal equinox at the epoch (IAU 1982)."""
    days = 2_461_041.5 - 2_451_545.0
    t = days / 36_525
    seconds = 67_310.54841 + (876_600 * 3600 + 8_640_184.812866) * t + 0.093104 * t * t - 6.2e-6 * t**3
    return seconds / 240 % 360


def checked(line: str) -> str:
    """The line with its checksum: the sum of all digits, plus one for each minus sign."""
    total = sum(int(c) if c.isdigit() else c == "-" for c in line)
    return f"{line}{total % 10}"


def main() -> None:
    """Write all of them, plane by plane."""
    revolutions = 86_400 / (2 * math.pi * math.sqrt(RADIUS_KM**3 / MU))
    turned = sidereal_degrees()
    lines = []
    for i in range(66):
        plane, k = divmod(i, 11)
        node = (31.6 * plane + turned) % 360
        anomaly = (360 * k / 11 + (180 / 11 if plane % 2 else 0)) % 360
        number = 90_001 + i
        lines.append(f"p{plane}k{k}")
        lines.append(checked(f"1 {number:05d}U 26001A   {YEAR:02d}{DAY:012.8f}  .00000000  00000-0  00000-0 0  999"))
        lines.append(
            checked(f"2 {number:05d}  86.4000 {node:8.4f} 0000001   0.0000 {anomaly:8.4f} {revolutions:11.8f}    1")
        )
    TARGET.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
