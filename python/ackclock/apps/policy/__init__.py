"""Policies: what they observe and do (`Convention`), and their files. docs/policies.md."""

from ackclock.apps.policy.conventions import AURORA, CONVENTIONS, MVFST, ORCA, REWARDS, Columns, Convention
from ackclock.apps.policy.files import Gru, Layer, Normalisation, described, evaluate, write_policy
from ackclock.apps.policy.from_onnx import export, read_onnx

__all__ = [
    "AURORA",
    "CONVENTIONS",
    "MVFST",
    "ORCA",
    "REWARDS",
    "Columns",
    "Convention",
    "Gru",
    "Layer",
    "Normalisation",
    "described",
    "evaluate",
    "export",
    "read_onnx",
    "write_policy",
]
