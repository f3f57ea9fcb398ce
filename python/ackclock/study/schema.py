"""Columns of outcomes as a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ackclock.models import drop_reasons

if TYPE_CHECKING:
    import polars as pl


def outcome_schema() -> pl.Schema:
    """Columns made from outcomes (docs/outcome.md): one row a run, flows and links as lists."""
    import polars as pl

    number, count, text = pl.Float64, pl.Int64, pl.String
    numbers = (
        *("goodput_bps", "throughput_bps", "mean_cwnd", "mean_ssthresh", "final_cwnd", "final_ssthresh"),
        *("mean_rtt_s", "min_rtt_s", "mean_delay_s", "mean_gap_s", "jitter1_s", "jitter2_s"),
        *("delivery_ratio", "completion_s"),
        *("base_delay_s", "min_delay_s", "p50_delay_s", "p95_delay_s", "p99_delay_s"),
    )
    counts = (
        *("delivered_bytes", "sent_packets", "acked_packets", "retransmitted_packets"),
        *("timeouts", "window_cuts"),
    )
    flow = dict.fromkeys(("name", "kind", "control", "recovery"), text)
    link = {"name": text, "delivered_packets": count, "marked_packets": count}
    link_numbers = ("utilisation", "mean_queue_packets", "mean_sojourn_s")
    drops = pl.Struct(dict.fromkeys(drop_reasons(), count))
    handoff = pl.Struct({"terminal": text, "time_s": number, "from": text, "to": text})
    mac = dict.fromkeys(("retry", "collision", "busy", "duplicate"), count)
    fates = ("queue", "retry", "arp", "route", "broken", "buffer", "timeout", "ttl", "loop")
    radio = pl.Struct(
        dict.fromkeys(("offered_packets", "received_packets", "routing_packets"), count)
        | dict.fromkeys(("delivery_ratio", "routing_load", "mean_hops"), number)
        | {"mac_drops": pl.Struct(mac), "dropped_packets": pl.Struct(dict.fromkeys(fates, count))}
    )
    columns: dict[str, Any] = {
        "title": text,
        "seed": count,
        "duration_s": number,
        "warmup_s": number,
        "version": text,
        "flows": pl.List(pl.Struct(flow | dict.fromkeys(numbers, number) | dict.fromkeys(counts, count))),
        "links": pl.List(pl.Struct(link | {"dropped_packets": drops} | dict.fromkeys(link_numbers, number))),
        "radio": radio,
        "satellite": pl.Struct({"handoffs": pl.List(handoff)}),
        "fairness": pl.Struct({"jain": number}),
        "engine": pl.Struct({"events": count, "packet_hops": count, "cpu_s": number, "wall_s": number}),
    }
    return pl.Schema(columns)
