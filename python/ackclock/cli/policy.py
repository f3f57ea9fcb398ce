"""`ackclock policy`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from ackclock.base.files import BadInput

EXAMPLE = "ackclock policy export model.onnx --like aurora --out mine.policy; ackclock policy check mine.policy"


def command(
    action: Literal["check", "export"],
    file: Path,
    /,
    *,
    like: str | None = None,
    out: Path | None = None,
) -> None:
    """Check a policy file, or write one from an ONNX model.

    A policy is a controller: `kind = "policy"` with `file`.

    Parameters
    ----------
    action
        check: say what a policy file observes, does and contains. export: write a policy file.
    file
        The policy file, or the ONNX model (Gemm, MatMul, Add, GRU, LayerNormalization, Relu, Tanh, Sigmoid, Elu).
    like
        What the exported policy observes and does: dumbbell, aurora, orca, mvfst, or a policy file.
    out
        The policy file to write.

    """
    from ackclock.apps import policy

    if action == "check":
        if like is not None or out is not None:
            raise BadInput("policy check has no --like and no --out; it only reads a policy file")
        print(policy.described(file))
        return
    if like is None or out is None:
        missing = "--like" if like is None else "--out"
        raise BadInput(f"policy export needs {missing}; such as: {EXAMPLE.partition(';')[0]}")
    policy.export(file, like, out)
    print(f"written: {out}", file=sys.stderr)
