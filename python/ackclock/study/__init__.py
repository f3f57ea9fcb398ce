"""Studies: many runs of one scenario, kept in a store that survives crashes, and read as tables and figures."""

from ackclock.study.plan import Run, StudyPlan
from ackclock.study.store import Store
from ackclock.study.stored_run import run_of, scenario_of, study_of
from ackclock.study.study import Study
from ackclock.study.sweep import Summary, Until, sweep, sweep_variants

__all__ = [
    "Run",
    "Store",
    "Study",
    "StudyPlan",
    "Summary",
    "Until",
    "run_of",
    "scenario_of",
    "study_of",
    "sweep",
    "sweep_variants",
]
