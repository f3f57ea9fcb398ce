"""The recording of a real transfer for the page: its description, the columns of a flow, causes of its reductions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ackclock import _core
from ackclock.apps.traces import Options, Recorded, read_flow
from ackclock.apps.traces.reading import anonymous
from ackclock.apps.view.columns import Column, pack
from ackclock.apps.view.recording import MOST_CAUSES, MOST_TEXT
from ackclock.base.files import BadInput

DRAWN = {
    "time_s": "time_s",
    "event": "event",
    "reason": "reason",
    "outstanding": "outstanding",
    "cwnd": "cwnd_bytes",
    "ssthresh": "ssthresh_bytes",
    "rtt_s": "rtt_s",
    "delivery_bps": "delivery_bps",
    "window_bytes": "window_bytes",
    "pacing_bps": "pacing_bps",
}
"""The columns that the page draws (`crates/web/src/traces.rs`), and those of the reader."""


def record_transfer(path: Path, options: Options, *, addresses: bool) -> dict[str, Any]:
    """The recording of a file for the page (`TransferFile` in `web/src/core/transfer.ts`).

    Without `addresses`, letters stand in place of addresses, and ports, names and titles are left out. Raises BadInput,
    OSError.
    """
    recorded = read_flow(path, options)
    columns = _samples(recorded) if recorded.about["form"] == "samples" else _rows(recorded)
    if sum(len(column["data"]) for column in columns.values()) > MOST_TEXT:
        raise BadInput(
            f"{path}: the rows of the flow take more than {MOST_TEXT // 10**6} MB, too many for a page; "
            "ackclock view opens the page, which reads the file itself: drop it there"
        )
    about = recorded.about
    place = about["flows"].index(recorded.flow)
    if not addresses:
        about = anonymous(about)
    reductions = recorded.reader.reductions()
    codes = _core.trace_codes()
    return {
        "transfer": {
            "v": 1,
            "file": path.name if addresses else recorded.heading,
            "about": about,
            "codes": {
                "event": codes["event"],
                "reason": codes["reason"],
                "words": codes["reason_words"],
                "letter": codes["reason_letter"],
                "limit": dict(zip(codes["limit"], codes["limit_label"], strict=True)),
            },
            "flow": place,
            "segment_bytes": recorded.segment_bytes,
            "columns": columns,
            "reductions": len(reductions),
            "causes": [json.loads(recorded.reader.why(at, True)) for at in reductions[:MOST_CAUSES]],
        }
    }


def _rows(recorded: Recorded) -> dict[str, Column]:
    import numpy as np

    columns = recorded.reader.rows()
    small = {"event", "reason"}
    return {
        name: pack(np.frombuffer(columns[source], np.uint8 if name in small else np.float64).astype(np.float64))
        for name, source in DRAWN.items()
    }


def _samples(recorded: Recorded) -> dict[str, Column]:
    """The samples of the flow as rows; windows in segments."""
    import numpy as np

    columns = {name: np.frombuffer(data, np.float64) for name, data in recorded.reader.samples().items()}
    chosen = columns["flow"] == recorded.flow["flow"] - 1
    rows = int(chosen.sum())
    event = float(_core.trace_codes()["event"].index("sample"))
    constant = {"event": event, "reason": 255.0, "outstanding": np.nan}
    return {
        name: pack(columns[name][chosen] if name in columns else np.full(rows, constant.get(name, np.nan)))
        for name in DRAWN
    }
