"""The built-in spaces as data for the page of the laboratory, which has no QUIC."""

from __future__ import annotations

import json
import tomllib
from typing import Any

from ackclock.search.evaluate import Evaluator
from ackclock.search.lattice import Axis
from ackclock.search.search import Search, built_in
from ackclock.search.space import losses_of
from ackclock.toml_text import document_text


def tables() -> list[dict[str, Any]]:
    """Every built-in space that the page can search."""
    searches = [Search.load(name) for name in built_in()]
    return [_table(one) for one in searches if not any(role.quic for role in one.objective.roles)]


def _table(search: Search) -> dict[str, Any]:
    space, objective = search.space, search.objective
    impairments = {name: [losses_of(link), losses_of(link, back=True)] for name, link in space.links.items()}
    resolved = space.scenario(space.simplest()).resolved
    links = {
        one["given"]: {"rate_bps": one["rate_bps"], "delay_s": one["delay_s"], "impairments": impairments[one["given"]]}
        for one in resolved["links"][::2]
    }
    names = [one["given"] for one in resolved["links"]]
    paths = [[names[at] for at in flow["path"]] for flow in resolved["flows"] if flow["name"] in space.tested]
    return {
        "name": search.source.file,
        "question": search.source.text.partition("\n")[0].removeprefix("# "),
        "text": document_text(tomllib.loads(space.source.text)),
        "axes": [_axis(one) for one in space.axes],
        "perturbations": [
            {"name": p.name, "kind": p.kind, "at": p.at, "flow": p.flow, "least": p.least, "count": p.count,
             "axes": [_axis(one) for one in p.axes]}
            for p in space.perturbations
        ],
        "limits": {"cross": space.limits.cross, "no_loss_before": space.limits.no_loss_before,
                   "queue": space.limits.queue},
        "tested": space.tested,
        "bottleneck": space.bottleneck,
        "link": Evaluator(space, objective, search.seeds).link,
        "start_s": space.start_s,
        "duration_s": space.duration_s,
        "links": links,
        "paths": paths,
        "queue_limit": space.links[space.bottleneck].get("queue", {}).get("limit"),
        "control": objective.tested.label,
        "seeds": search.seeds,
        "objective": {"text": objective.text, "form": objective.form, "metric": objective.metric,
                      "against": [role.label for role in objective.roles[1:]], "comparison": objective.comparison,
                      "bound": objective.bound},
    }  # fmt: skip


def _axis(one: Axis) -> dict[str, Any]:
    values = [one.written(index) for index in range(len(one.values))]
    return {"key": one.key, "values": values, "simplest": one.simplest, "ordered": one.ordered}


def page_table() -> str:
    """The table as text, with one line for each axis."""
    return json.dumps(tables(), indent=1).replace("\n     ", " ").replace("\n    ]", "]") + "\n"
