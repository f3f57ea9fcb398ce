"""Recordings of other programs: captures, qlogs and logs, read into one record; causes; models of their paths."""

from ackclock.apps.traces.reading import Options, Recorded, describe, is_recording, read_flow

__all__ = ["Options", "Recorded", "describe", "is_recording", "read_flow"]
