/** The simulator as WebAssembly gives the bits of the native one. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Controllers } from '../../src/core/controllers';
import { EXAMPLES } from '../../src/core/example';
import type { Lab } from '../../src/core/lab';
import type { RunRequest } from '../../src/core/types';
import { finish, lab, root, scenario } from './node';

const repository = join(root, '..'), MINUTES = 60_000;
const read = (path: string): string => readFileSync(join(repository, path), 'utf8');
/** The native simulator: the last line that a Python script prints, as JSON. */
function native<T>(script: string, ...values: string[]): T {
  const python = process.env.ACKCLOCK_PYTHON ?? join(repository, '.venv/bin/python');
  return JSON.parse(execFileSync(python, ['-c', script, ...values], { cwd: repository, maxBuffer: 1 << 28 }).toString()) as T;
}
/** Runs to the end. The outcome as text, but for what the run cost. */
function outcome(core: Lab, request: Partial<RunRequest> & { text: string; point?: number }): string {
  core.open({ file: 'scenario.toml', set: [], trace: 'off', packets: false, fingerprint: true, ...request });
  while (!core.advance(1e15));
  return core.outcomeText().split(',"engine"')[0]!;
}
/** FNV-1a, 64 bits. */
function fnv(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, '0');
}

it('gives the recorded fingerprints', () => {
  const folder = 'crates/lab/tests/fingerprints', lines = read(`${folder}/list.txt`).trim().split('\n'), core = lab();
  core.files(Object.fromEntries(readdirSync(join(repository, folder, 'policies')).map((name) => [`policies/${name}`, { text: read(`${folder}/policies/${name}`) }])));
  expect(lines.filter((line) => !line.startsWith('quic')).length).toBe(256);
  const changed: string[] = [];
  for (const line of lines) {
    const [name, point] = line.split(' ');
    if (name!.startsWith('quic')) {
      // The core for browsers has no QUIC stack.
      expect(() => outcome(core, { file: name!, text: read(`${folder}/${name}.toml`), point: Number(point) })).toThrow('QUIC is not part of this build');
      continue;
    }
    const found = outcome(core, { file: name!, text: read(`${folder}/${name}.toml`), point: Number(point) });
    const own = `${name} ${point} ${core.fingerprint().slice(0, 24)} ${fnv(found)}`;
    if (own !== line) changed.push(`${line} / ${own}`);
  }
  expect(changed).toEqual([]);
}, 10 * MINUTES);

const SCENARIOS = ['dumbbell', 'bufferbloat', 'bbr_cubic', 'l4s', 'cellular', 'iridium', 'manet', 'rcp'];
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
it('gives the outcomes, logs and fingerprints of the shipped scenarios', () => {
  const expected = native<Record<string, unknown[]>>(OUTCOME, ...SCENARIOS), core = lab(), folder = join(repository, 'scenarios/traces');
  core.files(Object.fromEntries(readdirSync(folder).map((name) => [`traces/${name}`, { base64: readFileSync(join(folder, name)).toString('base64') }])));
  for (const name of SCENARIOS) {
    const found = outcome(core, { file: `${name}.toml`, text: scenario(name), set: ['duration=20s', 'warmup=0s'], trace: 'ack', packets: true });
    const times = core.column(0), digest = createHash('sha256').update(times).digest('hex');
    expect([found, core.fingerprint(), times.length, core.column(10).length, digest], name).toEqual(expected[name]);
  }
}, 10 * MINUTES);

const SITUATIONS = `
import hashlib, json, sys
from pathlib import Path
import numpy as np
from ackclock import Scenario
from ackclock.apps.suite.scoreboard import unpack
answer = {}
for name in sys.argv[1:]:
    result = next(one for one in unpack(Path(f"validation/scoreboard/{name}.json.gz")) if one.metadata.on == "tcp")
    for situation, curves in result.curves.items():
        if not curves["scenario"]:
            continue
        run = Scenario.parse(curves["scenario"]).run(seed=1, trace="ack", fingerprint=True)
        trace = run.trace
        columns = ["time_s", "cwnd", "ssthresh", "in_flight", *trace.columns[12:]]
        bits = b"".join(trace[column].cast(float).fill_null(float("nan")).to_numpy().astype("<f8").tobytes() for column in columns)
        answer[f"{name} {situation}"] = [curves["scenario"], len(columns) - 4, run.fingerprint, hashlib.sha256(bits).hexdigest()]
print(json.dumps(answer))
`;
it('gives the traces of the situations of the suites, so that their verdicts are equal', () => {
  const expected = native<Record<string, [string, number, string, string]>>(SITUATIONS, 'bbr-draft', 'rfc9438', 'rfc9406', 'ratelimited'), core = lab();
  expect(Object.keys(expected).length).toBeGreaterThan(50);
  const changed = Object.entries(expected).filter(([, [text, internals, fingerprint, digest]]) => {
    outcome(core, { text, seed: 1, trace: 'ack' });
    const hash = createHash('sha256');
    // NaN has one form.
    const plain = (column: ArrayLike<number>): Float64Array => Float64Array.from(column, (value) => (Number.isNaN(value) ? NaN : value));
    for (const number of [0, 3, 4, 7, ...Array.from({ length: internals }, (_, place) => 100 + place)]) hash.update(new Uint8Array(plain(core.column(number)).buffer));
    return core.fingerprint() !== fingerprint || hash.digest('hex') !== digest;
  });
  expect(changed.map(([name]) => name)).toEqual([]);
}, 10 * MINUTES);

it('has the engine of the Python package', () => {
  const catalog = lab().catalog();
  expect(catalog.engine).toBe(native('import ackclock, json; from ackclock import _core; print(json.dumps(_core.ENGINE))'));
  expect(catalog.lists.controllers!.length).toBeGreaterThan(20);
});

it('has curves that keep the extremes, and all packets on links', () => {
  const core = lab(), text = scenario('dumbbell');
  const run = JSON.parse(`${outcome(core, { text, set: ['duration=10s'], trace: 'ack', packets: true })}}`) as { flows: { goodput_bps: number }[] };
  const { series, data } = core.curves(2, 8, 300), time = core.column(0), flow = core.column32(1), cwnd = core.column(3);
  for (const s of series.filter((one) => one.panel === 'cwnd')) {
    const at = data.subarray(s.start, s.start + s.points), value = data.subarray(s.start + s.points, s.start + 2 * s.points);
    const rows = [...time.keys()].filter((i) => flow[i] === s.flow && time[i]! >= 2 && time[i]! <= 8);
    expect(s.points).toBeLessThanOrEqual(4 * 300 + 2);
    expect(at.every((t, i) => t >= 2 && t <= 8 && (i === 0 || t >= at[i - 1]!))).toBe(true);
    expect(Math.max(...value)).toBe(Math.max(...rows.map((i) => cwnd[i]!), value[0]!));
  }
  // The goodput of the whole run, from the curve and from the outcome.
  const all = core.curves(0, 10, 300), whole = all.series.find((s) => s.panel === 'goodput' && s.flow === 0)!;
  const bins = all.data.subarray(whole.start + whole.points, whole.start + 2 * whole.points - 1);
  const mean = bins.reduce((sum, x) => sum + x, 0) / bins.length;
  expect(Math.abs(mean / run.flows[0]!.goodput_bps - 1)).toBeLessThan(0.05);
  const { rows, left_out: leftOut } = core.flights(0, 10), events = core.column8(12), reasons = core.column8(13);
  const accepted = events.filter((e) => e === 0).length, before = [...events.keys()].filter((i) => events[i] === 1 && reasons[i] === 0).length;
  expect(rows + leftOut).toBe(accepted + before);
});

it('records the packets of an interval alone, and runs in steps', () => {
  const request = { text: scenario('dumbbell'), set: ['duration=10s'], trace: 'ack' as const, packets: true };
  const whole = lab(), part = lab(), expected = outcome(whole, request);
  part.open({ file: 'scenario.toml', fingerprint: false, ...request, packets_from: 3, packets_until: 4 });
  for (let at = 0.5; !part.advanceTo(at); at += 0.5) expect(part.now()).toBeLessThanOrEqual(at);
  expect(part.outcomeText().split(',"engine"')[0]).toBe(expected);
  expect(part.column(10)).toEqual(whole.column(10).filter((t) => t >= 3 && t <= 4));
});

it('ends a run whose controller sets no window', () => {
  const core = lab((_, kind, at, memory) => { new Float64Array(memory.buffer, at, 2).set([kind === 0 ? 2 : NaN, 64]); return false; });
  expect(() => outcome(core, { text: scenario('dumbbell'), controllers: { reno: { name: 'Broken' } } })).toThrow(/cwnd is NaN/);
});

const CLASS = `
import contextlib, json, os, sys, tempfile
from ackclock import Scenario
from ackclock.cli.app import main
with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
    os.chdir(folder)
    assert main(["new", "mine", "--python"]) == 0
    own = f'flow.reno.tcp.congestion_control={{ python = "{folder}/mine.py:Mine" }}'
    run = Scenario.load(sys.argv[1], [own]).run(fingerprint=True)
    os.chdir("/")
print(json.dumps(run.fingerprint))
`;
it('the short example of the page has the bits of the class of ackclock new --python', () => {
  const controllers = new Controllers(), core = lab(controllers.passEvent);
  controllers.use('Mine', new Function(`${EXAMPLES.short.code}; return Mine`)());
  const { fingerprint } = finish(core, { text: scenario('dumbbell'), controllers: { reno: { name: 'Mine' } } });
  expect(controllers.failure).toBe('');
  expect(fingerprint).toBe(native<string>(CLASS, join(repository, 'scenarios/dumbbell.toml')));
}, MINUTES);
