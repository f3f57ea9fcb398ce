"""Scenarios drawn from the scenario schema, so that every table, key and model occurs.

    python tests/generator.py [COUNT]

prints how often each model and table occurred in the scenarios that ran.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import tomli_w

from ackclock import Scenario, ScenarioError, _core
from ackclock.base.assignment import key_text
from ackclock.base.models import definition, models, schema
from ackclock.result import Result

FILE = Path(__file__).parents[1] / "scenarios" / "generated.toml"
"""The name of generated scenarios: the files that they name are beside it."""
DEFINITIONS: dict[str, Any] = schema("scenario")["$defs"]
REQUIRED = {table["name"]: {key["name"] for key in table["params"] if not key["default"]} for table in models("keys")}
SHARED = ("wifi", "cellular")
"""Kinds of rates of links that share a medium, which has a table of its own."""
MODELS = {definition(form) for kind in ("queue", "loss", "router") for form in DEFINITIONS[kind]["anyOf"]}
"""Queue disciplines, impairments and routers: tables whose `kind` is their name."""
Document = dict[str, Any]

CODE = {"python", "library", "wasm", "javascript"}
"""Keys that name the file of a controller."""


class Generator:
    """The scenario with a number: wired (with TCP, QUIC and UDP flows), of satellites, or of radio nodes."""

    CHANGED = 0.5
    """Part of the scenarios that change during the run."""
    APPLICATIONS = 0.3
    """Part of the TCP and QUIC flows that have an application."""
    OPTIONAL = 2.5
    """Mean number of optional keys in a table."""
    PARTS: ClassVar = {"congestion_control": 0.8, "recovery": 0.5, "mobility": 1, "area": 1}
    """Part of the tables that have a key, where it differs."""
    LEFT_OUT = frozenset(
        {"fit", "python", "library", "wasm", "javascript", "extends", "set", "sweep", "count", "har", "frames"}
    )
    """Keys that name or change files, axes of studies, the number for which a table stands (`change` has its own)."""

    def __init__(self, number: int) -> None:
        self.random = random.Random(number)
        self.nodes = [f"n{i}" for i in range(self.random.randrange(2, 6))]
        self.flows = self.random.randrange(1, 5)

    def choice(self, *values: Any) -> Any:
        return self.random.choice(values)

    def likely(self, part: float) -> bool:
        return self.random.random() < part

    def document(self) -> Document:
        """The scenario. Most of them can be run."""
        build = self.random.choices((self.wired, self.satellites, self.radio), [8, 1, 1])[0]
        document: Document = {"duration": self.choice("200ms", "1s", "2500ms")} | build()
        if self.likely(0.2):
            document["warmup"] = self.choice("100ms", "190ms", "5s")
        if self.likely(0.2):
            document["delays"] = True
        if self.likely(0.1):
            document["title"] = self.choice("[/] oops", "a\x1b[31mb", "$x", "")
        for table in ("tcp", "quic"):
            if self.likely(0.1):
                document[table] = self.table(table)
        if "wifi" not in document:
            for table in (*document.get("flow", []), *document.get("traffic", [])):
                table.pop("access", None)
        if self.likely(self.CHANGED):
            document["change"] = [self.change(document, number) for number in range(self.random.randrange(1, 6))]
        return document

    def change(self, document: Document, number: int) -> Document:
        """A change of a link, of a flow, or an action at a link."""
        change: Document = {"name": f"c{number}", "at": f"{self.random.randrange(1, 900)}ms"}
        links = [link.get("name", "->".join(link["ends"])) for link in document.get("link", [])]
        if links and self.likely(0.3):
            action = self.choice("drop_next", "keep_next", "unmark_next", "blackout")
            change |= {"do": action, "link": self.choice(*links), "back": self.choice(True, False)}
            change |= {"duration": "20ms"} if action == "blackout" else {"count": self.choice(1, 5)}
        if not links or self.likely(0.5):
            flow: Document = self.choice(*document["flow"])
            keys = [("stop", self.choice("900ms", "2s")), ("start", self.choice("900ms", "1s"))]
            if "udp" in flow:
                keys += 3 * [("udp.rate", self.choice("0bps", "100kbps", "5Mbps"))]
            elif isinstance(flow.get("app"), dict):
                keys += 3 * [
                    {"rate": ("app.rate", "2Mbps"), "requests": ("app.think", "7ms")}.get(
                        flow["app"]["kind"], ("app.max", "4Mbps")
                    )
                ]
            elif "quic" not in flow:
                keys += 2 * [("tcp.congestion_control", self.controller(DEFINITIONS["controller"]["anyOf"]))]
                keys += 2 * [("tcp.receive_window", self.choice(1, 5, 40, 500))]
            key, value = self.choice(*keys)
            return change | {"set": {key_text(("flow", flow["name"], *key.split("."))): value}}
        key = self.choice("rate", "delay", "queue", "loss")
        value = self.choice("100kbps", "2Mbps", "30Mbps")
        if key != "rate":
            value = self.value("link", key, DEFINITIONS["link"]["properties"][key])
        path = ("link", self.choice(*links), *self.choice((), ("back",)), key)
        return change | {"set": {key_text(path): value}, "order": self.choice(True, False)}

    def wired(self) -> Document:
        """Nodes in a line with some more links between them, flows, sometimes traffic."""
        pairs = [*itertools.pairwise(self.nodes), *(self.ends() for _ in range(self.random.randrange(3)))]
        document: Document = {
            "link": [self.link() | {"ends": list(pair)} for pair in pairs],
            "flow": [self.flow(i) for i in range(self.flows)],
        }
        if self.likely(0.2):
            document["traffic"] = [self.traffic()]
        if self.likely(0.03):
            self.add_routers(document)
        if self.likely(0.15):
            self.add_wifi(document)
        elif self.likely(0.15):
            self.add_cell(document)
        if self.likely(0.1):
            document["topology"] = [
                self.table("topology") | {"kind": "leaf_spine", "leaves": 2, "spines": 2, "hosts": 2}
            ]
            document["routing"] = self.choice("ecmp", "shortest")
        return document

    def traffic(self) -> Document:
        """A source of flows: bursts, or a load with a published distribution of sizes or a mean size."""
        traffic = self.table("traffic")
        left_out: set[str] = {"load", "sizes"} if "pattern" in traffic else set()
        if "pattern" in traffic or "sizes" in traffic:
            left_out |= {"size", "shape", "largest"}
        needed = {"load", "size"} - left_out
        properties = DEFINITIONS["traffic"]["properties"]
        drawn = {key: self.value("traffic", key, properties[key]) for key in sorted(needed)}
        return drawn | {key: value for key, value in traffic.items() if key not in left_out}

    def link(self) -> Document:
        """A link with a delay, which only links of a medium can do without, and without a medium."""
        link = {"delay": self.value("link", "delay", {})} | self.table("link")
        for table in (link, link.get("back", {})):
            if isinstance(table.get("rate"), dict) and table["rate"].get("kind") in SHARED:
                table["rate"] = "2Mbps"
        return link

    def add_routers(self, document: Document) -> None:
        """Routers with feedback on all links, and a flow that needs them."""
        kind = self.choice("rcp", "xcp")
        for link in document["link"]:
            ends = link["ends"]
            link.clear()
            link |= {"ends": ends, "rate": "2Mbps", "delay": "10ms", "router": {"kind": kind}}
        document["flow"][0] |= {"from": self.nodes[0], "to": self.nodes[-1], "tcp": {"congestion_control": kind}}
        for other in ("quic", "udp"):
            document["flow"][0].pop(other, None)

    def add_wifi(self, document: Document) -> None:
        """One node becomes an access point, and one or two of its links Wi-Fi links."""
        point = self.choice(*self.nodes)
        own = [link for link in document["link"] if point in link["ends"]]
        for link in own[: self.choice(1, 2)]:
            link["rate"] = self.table("wifi") | {"medium": "w"}
            link.get("back", {}).pop("rate", None)
            for table in (link, link.get("back", {})):
                table.pop("shaper", None)
        document["wifi"] = [self.table("wifi_set") | {"name": "w", "ap": point}]
        for flow in document["flow"]:
            if self.likely(0.3):
                flow["access"] = self.choice("bk", "be", "vi", "vo")

    def add_cell(self, document: Document) -> None:
        """One node becomes a base station, and one or two of its links links of its cell."""
        station = self.choice(*self.nodes)
        served = [link for link in document["link"] if station in link["ends"]]
        for link in served[: self.choice(1, 2)]:
            link["rate"] = self.table("cellular") | {"medium": "c"}
            if link["ends"][0] != station:
                for key in ("drx", "handover"):
                    link["rate"].pop(key, None)
            link.get("back", {}).pop("rate", None)
            for table in (link, link.get("back", {})):
                table.pop("shaper", None)
        cell = self.table("cell") | {"name": "c", "station": station, "kind": self.choice("lte", "nr")}
        document["cell"] = [cell]

    def satellites(self) -> Document:
        """Two terminals and a constellation."""
        self.nodes = ["n0", "n1"]
        return {
            "constellation": self.table("constellation"),
            "terminal": [self.table("terminal") | {"name": name} for name in self.nodes],
            "flow": [self.flow(i) for i in range(self.flows)],
        }

    def radio(self) -> Document:
        """A few nodes near each other."""
        radio = self.table("radio") | {"nodes": len(self.nodes)}
        return {"radio": radio, "flow": [self.flow(i) for i in range(self.flows)]}

    def named(self, name: str) -> str:
        """A name, now and then with signs that have a meaning in keys, in TOML or in HTML."""
        return name + self.choice(*SIGNS) if self.likely(0.15) else name

    def ends(self) -> list[str]:
        return self.random.sample(self.nodes, 2)

    def flow(self, number: int) -> Document:
        """A TCP, QUIC or UDP flow, mostly from the first node to the last."""
        flow = self.table("flow") | {"name": self.named(f"f{number}"), "from": self.nodes[0], "to": self.nodes[-1]}
        for other in ("tcp", "quic", "udp"):
            flow.pop(other, None)
        if self.likely(0.4):
            flow["from"], flow["to"] = self.ends()
        transport: str | None = self.random.choices(("tcp", "quic", "udp", None), [5, 3, 2, 1])[0]
        if transport is not None:
            flow[transport] = self.table(transport)
        if transport != "udp":
            flow.pop("app", None)
            if self.likely(self.APPLICATIONS):
                for other in ("bytes", "writes"):
                    flow.pop(other, None)
                flow["app"] = self.application(quic=transport == "quic")
        return flow

    def application(self, *, quic: bool) -> Any:
        """A rate, or an application of any kind whose keys mostly fit together and to the transport."""
        kind = self.choice(None, "rate", "on_off", "requests", "page", "video", "frames", "frames")
        if kind is None:
            return self.choice("3Mbps", "100kbps", "20Mbps")
        app = self.table(kind) | {"kind": kind}
        match kind:
            case "rate":
                app.setdefault("rate", "1Mbps")
                if app.get("late") == "drop":
                    app["most"] = self.choice("1B", "5kB", "100kB")
                else:
                    app.pop("most", None)
            case "on_off":
                if self.likely(0.5):
                    app["size"] = app.pop("size", "20kB")
                    for other in ("on", "rate"):
                        app.pop(other, None)
                else:
                    app["on"] = self.choice("1ms", "100ms", "1s")
                    app.pop("size", None)
            case "requests" if "think" not in app:
                app.pop("random", None)
            case "page":
                self.fit_page(app, quic=quic)
            case "video":
                self.fit_video(app)
            case "frames":
                self.fit_frames(app, quic=quic)
        return app

    def fit_page(self, app: Document, *, quic: bool) -> None:
        """One source of objects, and a protocol of the transport."""
        for other in ("page", "objects"):
            app.pop(other, None)
        if self.likely(0.5):
            app["page"] = self.choice("small", "small", "median")
        else:
            count = self.random.randrange(1, 20)
            parents = [[], *([self.random.randrange(number)] for number in range(1, count))]
            app["objects"] = [[self.choice("1B", "300B", "3kB", "40kB"), *parent] for parent in parents]
        protocol = self.choice("http3", None) if quic else self.choice("http1", "http2", None)
        app.pop("protocol", None)
        if protocol is not None:
            app["protocol"] = protocol
        if protocol != "http1":
            app.pop("connections", None)

    def fit_video(self, app: Document) -> None:
        """A buffer of at least two chunks, and a rate for the algorithm that needs one."""
        app["ladder"] = ["300kbps", "750kbps", "1.2Mbps", "4.3Mbps"][: self.random.randrange(1, 5)]
        app["chunk"] = self.choice("100ms", "400ms", "1s")
        app["buffer"] = self.choice("2s", "5s", "25s")
        for threshold in ("start", "resume"):
            if threshold in app:
                app[threshold] = self.choice("0s", "1s", "2s")
        if "length" in app:
            app["length"] = self.choice("1s", "10s")
        for other in ("rate", "sizes"):
            app.pop(other, None)
        if app.get("algorithm") == "fixed":
            app["rate"] = app["ladder"][0]

    def fit_frames(self, app: Document, *, quic: bool) -> None:
        """One video stream that may adapt, or several; streams, resets and audio over QUIC alone."""
        streams = self.choice("one", "group", "group", "frame") if quic else "one"
        app.pop("streams", None)
        if quic:
            app["streams"] = streams
        else:
            app.pop("audio", None)
        resets = streams != "one"

        def late(table: Document) -> None:
            if not resets and table.get("late") in {"cancel", "stop"}:
                table["late"] = "drop"

        if self.likely(0.25):
            app["layers"] = [self.table("app_layer") for _ in range(self.random.randrange(1, 4))]
            for layer in app["layers"]:
                layer["rate"] = self.choice("100kbps", "1Mbps", "3Mbps")
                late(layer)
            for other in ("rate", "group", "key_ratio", "late", "adapt", "min", "max", "reaction", "share"):
                app.pop(other, None)
            return
        app.pop("layers", None)
        app["rate"] = self.choice("200kbps", "1Mbps", "3Mbps")
        late(app)
        for bound in ("min", "max"):
            app.pop(bound, None)
        if app.get("adapt", "off") == "off":
            app.pop("reaction", None)
        elif self.likely(0.5):
            app |= {"min": "100kbps", "max": "5Mbps"}
        if app.get("adapt") != "controller":
            app.pop("share", None)

    def table(self, name: str) -> Document:
        """A table of the schema: its required keys, and some of the others."""
        properties = {key: form for key, form in DEFINITIONS[name]["properties"].items() if key not in self.LEFT_OUT}
        part = min(0.5, self.OPTIONAL / len(properties))
        table: Document = {
            key: self.value(name, key, form)
            for key, form in properties.items()
            if key in REQUIRED[name] or self.likely(self.PARTS.get(key, part))
        }
        if name in {*MODELS, *SHARED}:
            table["kind"] = name
        return table

    def value(self, table: str, key: str, form: dict[str, Any]) -> Any:
        """A value of a key: one of `special`, or any that the schema permits."""
        special = self.special(table, key)
        return self.drawn(form) if special is None else special

    def special(self, table: str, key: str) -> Any:
        """A value of a key that must fit the rest of the scenario, or whose size decides how long the run takes."""
        match table, key:
            case ("scripted", "flow"):
                return self.choice("f0", "f0", "f0", "nobody")
            case ("scripted", "packets" | "acks"):
                return [1, 3, 4]
            case ("blackout" | "stall", "times"):
                return [["100ms", "150ms"], ["300ms", self.choice("310ms", "900ms")]]
            case ("wifi", "rate_control"):
                mcs = self.random.randrange(12)
                return self.choice("minstrel", "ideal", {"kind": "fixed", "mcs": mcs})
            case ("wifi" | "cellular", "snr"):
                return self.choice(self.random.randrange(-5, 30), [["0s", 20], ["300ms", 3]])
            case ("cell", "blocks"):
                return self.choice(6, 25, 50, 100, [["0s", 25], ["200ms", 50]])
            case ("cell", "tdd"):
                return self.choice("DDDSU", "DU", "UDSD")
            case ("cell", "width"):
                return self.choice("5MHz", "10MHz", "20MHz", "100MHz")
            case ("wifi_set", "ap_queue"):
                return {"kind": "shared", "limit": "200p"}
            case ("wifi_set", "rts_threshold"):
                return self.choice("none", "0B", "3000B")
            case ("trace", "file"):
                return self.choice("traces/two-steps.down", "traces/cellular.down.gz")
            case ("file", "file"):
                return "traces/steps.csv"
            case ("constellation", "file"):
                return "iridium-66.tle"
            case ("constellation", "kind"):
                return self.choice("iridium", "iridium", "iridium", "walker", "tle")
            case ("constellation", "planes" | "per_plane"):
                return self.choice(1, 6, 11)
            case ("constellation", "recompute") | ("handoff", "check"):
                return self.choice("1s", "10s")
            case ("mobility", "kind"):
                return self.choice("static", "random_waypoint")
            case ("mobility", "positions"):
                return [[40 * i, 0] for i in range(len(self.nodes))]
            case ("mobility", "max_speed"):
                return "10mps"
            case ("radio", "area"):
                return ["200m", "200m"]
            case ("radio_traffic", "connections"):
                return self.choice(1, 5)
            case ("mac", "rate" | "basic_rate"):
                return self.choice("1Mbps", "2Mbps", "11Mbps")
            case ("traffic", "from" | "to"):
                return self.choice(self.nodes[0], self.nodes[-1], self.nodes)
            case ("pattern", "incast"):
                return self.choice(1, 3, 20)
            case ("pattern", "every"):
                return self.choice("100ms", "300ms")
            case ("flow", "app"):
                return "1Mbps"
            case ("requests", "response") | ("on_off", "size"):
                published = self.choice("web_search", "rpc", "web_server", "cache_follower")
                return self.choice("1B", "300B", "20kB", ["3kB", "50kB"], published)
            case ("requests", "outstanding" | "connections"):
                return self.choice(1, 2, 5)
            case ("page", "connections"):
                return self.choice(1, 2, 6)
            case ("rate", "every"):
                return self.choice("1ms", "10ms", "33ms", "1s")
            case ("rate", "schedule"):
                return [["0s", "1Mbps"], ["100ms", self.choice("0bps", "10Mbps")]]
            case (_, "request_timeout"):
                return self.choice("10ms", "300ms", "1s")
            case ("video", "variation"):
                return self.choice(0.1, 0.5, 2)
            case ("traffic", "sizes"):
                return self.choice("web_search", "hadoop", "storage", "rpc", "web_server")
            case ("link", "name"):
                return self.named(f"link{self.random.randrange(10**6)}")
            case ("link" | "back" | "transmitter", "rate") if self.likely(0.6):
                rates = ("100kbps", "1Mbps", "3.7Mbps", "10Mbps", "0bps", "1Gbps")
                return self.random.choices(rates, [20, 90, 90, 90, 1, 20])[0]
            case ("random_steps", "min" | "max"):
                return {"min": "1Mbps", "max": "9Mbps"}[key]
            case ("random_steps", "interval"):
                return "100ms"
            case ("link" | "back" | "transmitter", "delay"):
                times = ("0s", "1us", "3ms", "20ms", "250ms", "-1s")
                return self.random.choices(times, [20, 20, 90, 90, 30, 1])[0]
            case (_, "limit"):
                return self.choice("1p", "5p", "50p", "3000B", "20kB", "1bdp")
            case (_, "mss" | "packet"):
                return self.choice(40, 100, 536, 1000, 1460, 9000)
            case (_, "max_datagram_size"):
                return self.choice(1200, 1472, 9000, 65_527)
        return None

    def drawn(self, form: dict[str, Any]) -> Any:
        """A value that the schema permits; text with a unit is an example of the schema, scaled."""
        match form:
            case {"$ref": _}:
                return self.model(definition(form))
            case {"anyOf": forms}:
                return self.drawn(self.random.choice(forms))
            case {"enum": words}:
                return self.random.choice(words)
            case {"const": word}:
                return word
            case {"type": "boolean"}:
                return self.choice(True, False)
            case {"type": "number" | "integer" as kind, "minimum": low, "maximum": high}:
                return self.number(float(low), float(high), whole=kind == "integer")
            case {"type": "array", "items": items}:
                return [self.drawn(items) for _ in range(self.random.randrange(3))]
            case {"type": "array", "examples": [text]}:
                return self.scaled(json.loads(text), 0.1)
            case {"examples": examples}:
                return self.quantity(self.random.choice(examples), self.choice(0, 0.1, 0.5, 1, 1, 1, 1, 2, 10))
        return "x"

    def model(self, name: str) -> Any:
        """A table, or one of several models: a queue, a loss, a controller."""
        form = DEFINITIONS[name]
        if name == "controller":
            return self.controller(form["anyOf"])
        return self.drawn(form) if "anyOf" in form else self.table(name)

    def controller(self, forms: list[dict[str, Any]]) -> Any:
        """The name of a controller, or a table with parameters."""
        names, *tables = (form for form in forms if not CODE & form.get("properties", {}).keys())
        if self.likely(0.6):
            return self.random.choice(names["enum"])
        properties: dict[str, Any] = self.random.choice(tables)["properties"]
        part = min(0.5, 1.5 / len(properties))
        return {
            key: self.drawn(form)
            for key, form in properties.items()
            if key == "kind" or (key not in self.LEFT_OUT and self.likely(part))
        }

    def number(self, low: float, high: float, *, whole: bool) -> float | int:
        """A number in a range: sometimes an end of it, mostly between 0.01 and 10,000."""
        first, last = max(low, min(0.01, high)), min(high, max(1e4, low))
        between = first * (last / first) ** self.random.random() if first > 0 else self.random.uniform(low, last)
        number = self.random.choices((low, high, between), [1, 1, 8])[0]
        return round(number) if whole else number

    def quantity(self, example: str, factor: float) -> str:
        """Text with a unit, scaled; other text as it is."""
        match = re.fullmatch(r"([\d.]+)([a-zA-Z]+)", example)
        if match is None:
            return example
        number = float(match[1]) * factor
        return f"{number:.10g}{match[2]}" if match[2] != "p" else f"{round(number)}p"

    def scaled(self, value: Any, factor: float) -> Any:
        """An example of the schema with its times scaled."""
        if isinstance(value, list):
            return [self.scaled(item, factor) for item in value]
        return self.quantity(value, factor) if isinstance(value, str) and re.fullmatch(r"[\d.]+s", value) else value


def elements(value: Any, place: str = "") -> Iterator[str]:
    """The tables, models, controllers and recoveries of a scenario, as `place name`."""
    if isinstance(value, list):
        for item in value:
            yield from elements(item, place)
    elif isinstance(value, dict):
        yield f"{place} {value['kind']}".strip() if "kind" in value else place
        for key, item in value.items():
            yield from elements(item, key)
    elif place in {"congestion_control", "recovery"}:
        yield f"{place} {value}"


SIGNS = ('"', "'", "\\", "=", ".", "#", " ", "ü", "[", "]", "{", "<b>", "&", "%", "=1 # ", '".x="y', "\u202e")
"""What names can hold."""
INDEX = re.compile(r"\[(\d+)\]")
"""The place of a table in an array, in a key."""
PLAIN = {"rate": "2Mbps", "delay": "10ms", "from": "n0", "to": "n1"}
"""Values of required keys that are seldom refused."""


def repaired(generator: Generator, document: Document, error: ScenarioError) -> bool:
    """Change what an error names, such as `link[0].queue.target`; returns whether something changed.

    A key that is missing is drawn; a required key gets a plain value; any other key or table is removed.
    """
    path = [part for name in _core.key_parts(error.key) for part in INDEX.sub(r"\n\1", name).split("\n")]
    steps: list[tuple[Any, Any]] = []
    at: Any = document
    for step in path:
        index: Any = step
        if isinstance(at, list):
            names = [item.get("name") if isinstance(item, dict) else None for item in at]
            index = int(step) if step.isdecimal() else names.index(step) if step in names else len(at)
        if index not in at if isinstance(at, dict) else not isinstance(at, list) or index >= len(at):
            break
        steps.append((at, index))
        at = at[index]
    if error.message.startswith("is missing") and len(steps) == len(path) - 1 and isinstance(at, dict):
        table = at["kind"] if at.get("kind") in DEFINITIONS else path[-2] if len(path) > 1 else "scenario"
        form = DEFINITIONS.get(table, {}).get("properties", {}).get(path[-1])
        if form is not None and path[-1] not in {"link", "flow"}:
            at[path[-1]] = generator.value(table, path[-1], form)
            return True
    for container, index in reversed(steps):
        if index in PLAIN and container[index] != PLAIN[index]:
            container[index] = PLAIN[index]
            return True
        if index not in {*PLAIN, "duration", "link", "flow", "kind", "ends", 0}:
            del container[index]
            return True
    return False


@dataclass(frozen=True)
class Attempt:
    """A generated scenario: what was refused until it ran, and its result; none if it never ran."""

    document: Document
    refusals: list[ScenarioError]
    scenario: Scenario | None = None
    result: Result | None = None


def run(number: int) -> Attempt:
    """Run the scenario with a number, with auditor and captures; errors that refuse it are repaired one by one."""
    generator = Generator(number)
    document = generator.document()
    refusals: list[ScenarioError] = []
    for _ in range(40):
        try:
            scenario = Scenario.parse(tomli_w.dumps(document), file=str(FILE))
            captures = [] if "radio" in document else [""]  # the first node with a link
            result = scenario.run(seed=number, audit=True, captures=captures)
            return Attempt(document, refusals, scenario, result)
        except ScenarioError as error:
            refusals.append(error)
            if not repaired(generator, document, error):
                break
    return Attempt(document, refusals)


def expected() -> set[str]:
    """The elements that must occur: every model of the catalog, QUIC, UDP, traffic, satellites and radio networks."""
    rates = ("trace", "steps", "random_steps", "file", "request_grant", *SHARED)
    return {
        *(f"queue {model['name']}" for model in models("queues")),
        *(f"loss {model['name']}" for model in models("losses")),
        *(f"recovery {model['name']}" for model in models("recoveries")),
        *(f"congestion_control {model['name']}" for model in models("controllers")),
        *(f"rate {kind}" for kind in rates),
        *(f"router {definition(form)}" for form in DEFINITIONS["router"]["anyOf"]),
        *(
            *(f"app {kind}" for kind in ("rate", "on_off", "requests", "page", "video", "frames")),
            "layers",
            "change",
            "wifi",
            "cell lte",
            "topology leaf_spine",
            "quic",
            "udp",
            "traffic",
            "shaper",
            "back",
            "constellation iridium",
            "radio",
            "terminal",
        ),
    }


def main() -> int:
    """Print the table of occurrences; 1 if an element does not occur."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    ran = 0
    counts: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for number in range(count):
        attempt = run(number)
        if attempt.result is None:
            refused.update(f"{error.key}: {error.message}"[:100] for error in attempt.refusals[-1:])
        else:
            ran += 1
            counts.update(set(elements(attempt.document)))
    print(f"{ran} of {count} scenarios ran\n")
    print("| element | scenarios |\n|---|---|")
    for name, n in sorted(counts.items()):
        print(f"| {name or 'scenario'} | {n} |")
    print("\nnever ran:", *(f"  {n} x {reason}" for reason, n in refused.most_common(15)), sep="\n")
    missing = expected() - counts.keys()
    print("missing:", ", ".join(sorted(missing)) or "nothing")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
