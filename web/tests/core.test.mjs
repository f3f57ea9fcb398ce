// The simulator as WebAssembly gives the bits of the native one. `node --test web/tests/core.test.mjs`
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { test } from "node:test";
import { Instance, wasm } from "./instance.mjs";

const root = new URL("../../", import.meta.url).pathname;
const read = (path) => fs.readFileSync(root + path, "utf8");

// The native simulator: the last line that a Python script prints, as JSON.
function native(script, ...values) {
    const python = process.env.ACKCLOCK_PYTHON ?? `${root}.venv/bin/python`;
    return JSON.parse(execFileSync(python, ["-c", script, ...values], { cwd: root, maxBuffer: 1 << 28 }).toString());
}

// FNV-1a of an outcome, but for what the run cost.
function fnv(outcome) {
    let hash = 0xcbf29ce484222325n;
    for (const byte of new TextEncoder().encode(outcome.split(',"engine"')[0]))
        hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
    return hash.toString(16).padStart(16, "0");
}

test("the recorded fingerprints", () => {
    const folder = "crates/lab/tests/fingerprints";
    const lines = read(`${folder}/list.txt`).trim().split("\n");
    assert.ok(lines.length >= 200);
    const instance = new Instance(wasm);
    const changed = [];
    for (const line of lines) {
        const [name, point] = line.split(" ");
        const request = { file: name, text: read(`${folder}/${name}.toml`), point: Number(point), fingerprint: true };
        const outcome = instance.run(request);
        instance.exports.fingerprint();
        const found = `${name} ${point} ${instance.answer.slice(0, 24)} ${fnv(outcome)}`;
        if (found !== line) changed.push([line, found]);
    }
    assert.deepEqual(changed, []);
});

const SCENARIOS = ["dumbbell", "bufferbloat", "bbr_cubic", "l4s", "cellular", "iridium", "manet", "rcp"];
const OUTCOME = `
import hashlib, json, sys
from ackclock import Scenario
answer = {}
for name in sys.argv[1:]:
    run = Scenario.load(f"scenarios/{name}.toml", ["duration=20s", "warmup=0s"]).run(trace="ack", packets=True, fingerprint=True)
    times = run.trace["time_s"].to_numpy().astype("<f8")
    digest = hashlib.sha256(times.tobytes()).hexdigest()
    answer[name] = [run.json.split(',"engine"')[0], run.fingerprint, len(run.trace), len(run.packets), digest]
print(json.dumps(answer))
`;

test("outcomes, logs and fingerprints of the shipped scenarios", async () => {
    const expected = native(OUTCOME, ...SCENARIOS);
    const instance = new Instance(wasm);
    const folder = `${root}scenarios/traces/`;
    const files = Object.fromEntries(
        fs.readdirSync(folder).map((name) => [`traces/${name}`, { base64: fs.readFileSync(folder + name).toString("base64") }]),
    );
    assert.equal(instance.call("files", files), 0);
    for (const name of SCENARIOS) {
        const text = read(`scenarios/${name}.toml`);
        const request = { file: `${name}.toml`, text, set: ["duration=20s", "warmup=0s"], trace: "ack", packets: true, fingerprint: true };
        const outcome = instance.run(request);
        const times = instance.column(0, Float64Array);
        const digest = await crypto.subtle.digest("SHA-256", times.buffer);
        const hash = Buffer.from(digest).toString("hex");
        const packets = instance.exports.column_length(10);
        instance.exports.fingerprint();
        const found = [outcome.split(',"engine"')[0], instance.answer, times.length, packets, hash];
        assert.deepEqual(found, expected[name], name);
    }
});

test("the engine is that of the Python package", () => {
    const instance = new Instance(wasm);
    instance.exports.catalog();
    const catalog = JSON.parse(instance.answer);
    assert.equal(catalog.engine, native("import ackclock, json; from ackclock import _core; print(json.dumps(_core.ENGINE))"));
    assert.ok(catalog.lists.controllers.length > 20);
});

test("errors have a file, a line and a key, and the instance goes on", () => {
    const instance = new Instance(wasm);
    const text = read("scenarios/dumbbell.toml");
    assert.equal(instance.call("check", { file: "x.toml", text: text.replace("duration", "duraton") }), 1);
    const error = JSON.parse(instance.answer);
    assert.equal(error.file, "x.toml");
    assert.ok(error.line > 0 && error.full.includes("duration"), error.full);
    assert.equal(instance.call("check", { file: "x.toml", text }), 0);
    assert.equal(JSON.parse(instance.answer).kind, "wired");
    assert.equal(instance.call("check", { file: "x.toml", text: 'extends = "no.toml"' }), 1);
    assert.match(JSON.parse(instance.answer).message, /no such file/);
});

test("curves keep the extremes, and packets on links are complete", () => {
    const instance = new Instance(wasm);
    const text = read("scenarios/dumbbell.toml");
    const outcome = JSON.parse(instance.run({ file: "d.toml", text, set: ["duration=10s"], trace: "ack", packets: true }));
    instance.exports.curves(2, 8, 300);
    const { series } = JSON.parse(instance.answer);
    const numbers = instance.data;
    const points = (s) => [numbers.slice(s.start, s.start + s.points), numbers.slice(s.start + s.points, s.start + 2 * s.points)];
    const [time, flow, cwnd] = [0, 1, 3].map((n) => instance.column(n, n === 1 ? Uint32Array : Float64Array));
    for (const s of series.filter((one) => one.panel === "cwnd")) {
        const rows = Array.from(time.keys()).filter((i) => flow[i] === s.flow && time[i] >= 2 && time[i] <= 8);
        const [at, value] = points(s);
        assert.ok(s.points <= 4 * 300 + 2);
        assert.ok(at.every((t, i) => t >= 2 && t <= 8 && (i === 0 || t >= at[i - 1])));
        assert.equal(Math.max(...value), Math.max(...rows.map((i) => cwnd[i]), value[0]));
    }
    // The goodput of the whole run, from the curve and from the outcome.
    instance.exports.curves(0, 10, 300);
    const whole = JSON.parse(instance.answer).series.find((s) => s.panel === "goodput" && s.flow === 0);
    const all = instance.data.slice(whole.start + whole.points, whole.start + 2 * whole.points - 1);
    const mean = all.reduce((sum, x) => sum + x, 0) / all.length;
    assert.ok(Math.abs(mean / outcome.flows[0].goodput_bps - 1) < 0.05, `${mean} ${outcome.flows[0].goodput_bps}`);
    instance.exports.flights(0, 10);
    const { rows, left_out: leftOut } = JSON.parse(instance.answer);
    const events = instance.column(12, Uint8Array);
    const accepted = events.filter((e) => e === 0).length;
    const reasons = instance.column(13, Uint8Array);
    const before = Array.from(events.keys()).filter((i) => events[i] === 1 && reasons[i] === 0).length;
    assert.equal(rows + leftOut, accepted + before);
});

test("packets of an interval alone, and a run in steps", () => {
    const request = { file: "d.toml", text: read("scenarios/dumbbell.toml"), set: ["duration=10s"], trace: "ack", packets: true };
    const whole = new Instance(wasm);
    const expected = whole.run(request);
    const times = whole.column(10, Float64Array);
    const part = new Instance(wasm);
    assert.equal(part.call("open", { ...request, packets_from: 3, packets_until: 4 }), 0);
    for (let at = 0.5; !part.exports.advance_to(at); at += 0.5) assert.ok(part.exports.now() <= at);
    part.exports.outcome();
    const cost = (text) => text.split(',"engine"')[0];
    assert.equal(cost(part.answer), cost(expected));
    assert.deepEqual(part.column(10, Float64Array), times.filter((t) => t >= 3 && t <= 4));
});


test("a controller of the page that fails ends its flow with a message", () => {
    const instance = new Instance(wasm);
    instance.tell = (number, kind, event) => {
        event[0] = kind === 0 ? 2 : Number.NaN;
        event[1] = 64;
        return 0;
    };
    const controllers = { reno: "Broken" };
    instance.run({ file: "d.toml", text: read("scenarios/dumbbell.toml"), controllers });
    assert.match(JSON.parse(instance.answer).failure, /cwnd is NaN/);
});
