"""ARIMA models of round-trip times (docs/specs/ca-artt.md section 5): series, candidates, diagnostics, plots."""

from ackclock.arima.identify import Candidate, Identification, identify
from ackclock.arima.series import read_series, simulated, synthetic

__all__ = ["Candidate", "Identification", "identify", "read_series", "simulated", "synthetic"]
