"""Metrics of runs: what each says, its unit, which direction is better, its bounds, and how it is computed."""

from ackclock.metrics.numbers import metric_of, numbers
from ackclock.metrics.registry import ALIASES, METRICS, Metric, Row, bounds
from ackclock.metrics.selection import RunMetric, check_name, metric

__all__ = [
    "ALIASES",
    "METRICS",
    "Metric",
    "Row",
    "RunMetric",
    "bounds",
    "check_name",
    "metric",
    "metric_of",
    "numbers",
]
