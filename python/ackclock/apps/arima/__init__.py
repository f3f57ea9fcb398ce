"""ARIMA models of round-trip times (docs/specs/ca-artt.md section 5): series, candidates, diagnostics, plots."""

from importlib.util import find_spec

from ackclock.base.files import BadInput

if find_spec("statsmodels") is None:
    raise BadInput('ackclock.apps.arima needs statsmodels; install it with: pip install "ackclock[arima]"')

from ackclock.apps.arima.identify import Candidate, Identification, identify
from ackclock.apps.arima.series import read_series, simulated, synthetic

__all__ = ["Candidate", "Identification", "identify", "read_series", "simulated", "synthetic"]
