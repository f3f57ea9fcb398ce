"""Maps of the satellites: coastlines, satellites, their links, terminals and the path between them."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ackclock.apps.satellites.view import SatelliteView
from ackclock.base.text import drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SEA, LAND, LINK, PATH, SATELLITE = "#f4f7fa", "#d9d6cb", "#9fb3c8", "#D55E00", "#33506b"
Lines = list[NDArray[np.float64]]


@cache
def coastlines() -> Lines:
    """Outlines of the land: arrays of (longitude, latitude), degrees (Natural Earth, 1:110 million).

    A polygon that crosses longitude 180 degrees is returned once for each side of the map and extends beyond it.
    """
    topology = json.loads((files("ackclock.apps.satellites") / "data" / "land-110m.json").read_text(encoding="utf-8"))
    scale, shift = (np.array(topology["transform"][key]) for key in ("scale", "translate"))
    arcs = [np.cumsum(arc, axis=0) * scale + shift for arc in topology["arcs"]]
    rings = []
    for polygon in topology["objects"]["land"]["geometries"][0]["arcs"]:
        for ring in polygon:
            parts = [arcs[i] if i >= 0 else arcs[~i][::-1] for i in ring]
            rings += _unrolled(np.concatenate([parts[0], *(part[1:] for part in parts[1:])]))
    return rings


def _unrolled(ring: NDArray[np.float64]) -> Lines:
    lon = np.unwrap(ring[:, 0], period=360)
    whole = np.column_stack([lon, ring[:, 1]])
    if abs(lon[-1] - lon[0]) > 180:  # the ring encloses a pole: close it at the pole
        pole = 90.0 if ring[:, 1].mean() > 0 else -90.0
        whole = np.vstack([whole, [lon[-1], pole], [lon[0], pole]])
    beyond = [shift for shift in (-360, 360) if lon.min() + shift < 180 and lon.max() + shift > -180]
    return [whole, *(whole + np.array([shift, 0.0]) for shift in beyond)]


def _unit(lat: float, lon: float) -> NDArray[np.float64]:
    phi, theta = np.radians(lat), np.radians(lon)
    return np.array([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)])


def _flat(points: NDArray[np.float64]) -> Lines:
    """Points on the unit sphere as lines of (longitude, latitude), split where they cross longitude 180 degrees."""
    lat = np.degrees(np.arcsin(np.clip(points[:, 2], -1, 1)))
    lon = np.degrees(np.arctan2(points[:, 1], points[:, 0]))
    cuts = np.flatnonzero(np.abs(np.diff(lon)) > 180) + 1
    return [line for line in np.split(np.column_stack([lon, lat]), cuts) if len(line) > 1]


def great_circle(a: tuple[float, float], b: tuple[float, float]) -> Lines:
    """The great circle between two points (latitude, longitude), as lines on the map."""
    p, q = _unit(*a), _unit(*b)
    angle = float(np.arccos(np.clip(p @ q, -1, 1)))
    parts = np.linspace(0, 1, max(2, int(angle / 0.03)))[:, None]
    if angle < 1e-9:
        return []
    return _flat((np.sin((1 - parts) * angle) * p + np.sin(parts * angle) * q) / np.sin(angle))


def _circle(place: tuple[float, float], radius: float) -> Lines:
    lat, lon = place
    centre = _unit(lat, lon)
    side = np.cross(centre, [0.0, 0.0, 1.0] if abs(lat) < 89 else [1.0, 0.0, 0.0])
    side /= np.linalg.norm(side)
    turn = np.linspace(0, 2 * np.pi, 181)[:, None]
    rim = np.cos(turn) * side + np.sin(turn) * np.cross(centre, side)
    return _flat(np.cos(np.radians(radius)) * centre + np.sin(np.radians(radius)) * rim)


def _base(axes: Axes) -> None:
    from matplotlib.collections import PolyCollection

    axes.set_facecolor(SEA)
    axes.add_collection(PolyCollection(coastlines(), facecolor=LAND, edgecolor="#b9b5a6", linewidth=0.4))
    axes.set(xlim=(-180, 180), ylim=(-90, 90), aspect="equal", xlabel="longitude (°)", ylabel="latitude (°)")
    axes.set_xticks(range(-180, 181, 60))
    axes.set_yticks(range(-90, 91, 30))
    axes.grid(color="white", linewidth=0.5)
    axes.spines[:].set_color("#b9b5a6")


def _draw(axes: Axes, seen: dict[str, Any]) -> list[Any]:
    """Draw the moving parts. Returns their artists, which the caller removes before the next frame."""
    from matplotlib.collections import LineCollection

    places = [(lat, lon) for _, lat, lon, _ in seen["satellites"]] + [(lat, lon) for _, lat, lon in seen["terminals"]]
    count = len(seen["satellites"])
    crowded = count > 300
    path = seen["path"]
    on_path = set(pairwise(path))
    links = [line for a, b in seen["links"] for line in great_circle(places[a], places[b])]
    way = [line for a, b in on_path for line in great_circle(places[a], places[b])]
    served = [s for s in path if s < count][:: max(1, len([s for s in path if s < count]) - 1)]
    rims = [line for s in served for line in _circle(places[s], seen["footprint"])]
    artists: list[Any] = [
        axes.add_collection(LineCollection(links, colors=LINK, linewidths=0.3 if crowded else 0.7, zorder=2)),
        axes.add_collection(LineCollection(rims, colors=PATH, linewidths=0.8, linestyles=":", zorder=3)),
        axes.add_collection(LineCollection(way, colors=PATH, linewidths=2.2, zorder=4)),
    ]
    satellites = np.array(places[:count])
    artists += axes.plot(
        *satellites[:, ::-1].T, "o", color=SATELLITE, markersize=1.5 if crowded else 4, zorder=3, linestyle="none"
    )
    for s in (s for s in path if s < count):
        artists += axes.plot(*places[s][::-1], "o", color=PATH, markersize=6, zorder=5)
        artists.append(_label(axes, seen["satellites"][s][0], places[s], above=True))
    for name, lat, lon in seen["terminals"]:
        artists += axes.plot(lon, lat, "^", color="black", markersize=7, zorder=6)
        artists.append(_label(axes, name, (lat, lon), above=False))
    return artists


def _label(axes: Axes, name: str, place: tuple[float, float], *, above: bool) -> Any:
    lat, lon = place
    across = "right" if lon > 150 else "left"
    return axes.annotate(
        name,
        (lon, lat),
        xytext=(-5 if across == "right" else 5, 5 if above else -11),
        textcoords="offset points",
        ha=across,
        fontsize=8,
        fontweight="normal" if above else "bold",
        zorder=7,
        bbox={"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.8},
    )


def _title(seen: dict[str, Any]) -> str:
    at = f"t = {seen['time_s']:g} s"
    if seen["delay_s"] is not None:
        return f"{at}; one-way propagation delay {1e3 * seen['delay_s']:.2f} ms over {len(seen['path']) - 1} links"
    return at if not seen["path"] and len(seen["terminals"]) < 2 else f"{at}; no path"


def _figure() -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.9), layout="constrained")
    axes = figure.subplots()
    _base(axes)
    return figure, axes


def draw(satellites: SatelliteView, at_s: float) -> Figure:
    """Draw a map at one time: satellites (dots), links that are up, terminals (triangles), path between the ends.

    Dotted circles show the coverage of the first and the last satellite of the path.
    """
    figure, axes = _figure()
    seen = satellites.snapshot(at_s)
    _draw(axes, seen)
    axes.set_title(drawn(_title(seen)), fontsize=11)
    return figure
