"""Satellites without traffic: paths, delays, hand-offs, positions and maps (docs/satellites.md)."""

from ackclock.apps.satellites.view import SatelliteView

__all__ = ["SatelliteView"]
