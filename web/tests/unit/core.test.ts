import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Controllers, FLOW, METHODS, argumentOf, camel } from '../../src/core/controllers';
import { Failed, Refused } from '../../src/core/lab';
import { FLIGHT, type Flights } from '../../src/core/types';
import { at, hover, keys, place, values, type Schema } from '../../src/editor/complete';
import { nextEvent } from '../../src/state/events';
import { fallNear, panels, valueAt } from '../../src/state/panels';
import { EXAMPLES } from '../../src/core/example';
import { built } from '../../src/state/scenario.svelte';
import { parse } from '../../src/lessons/lesson';
import { example, finish, lab, root, scenario } from './node';

const dumbbell = scenario('dumbbell_ns2');
describe('the core', () => {
  it('gives the fingerprint of the command line', () => {
    expect(finish(lab(), { text: dumbbell, seed: 1 }).fingerprint).toMatch(/^14079351/);
  });
  it('runs every scenario of the page, with its files', () => {
    for (const s of built) {
      const core = lab();
      core.files(s.files);
      expect(core.check({ file: 'scenario.toml', text: s.text, set: [] }).duration_s, s.name).toBeGreaterThan(0);
      // A change of a scenario comes before the end.
      const short = s.text.includes('[[change]]') ? [] : [`duration=${s.text.includes('cbrgen') ? 10 : 1}s`];
      const set = [...short, 'warmup=0s'];
      core.open({ file: 'scenario.toml', text: s.text, set, trace: 'off', packets: false, fingerprint: true });
      while (!core.advance(1e6));
      expect(core.outcome().engine.events, s.name).toBeGreaterThan(0);
    }
  });
  it('names line and key of a mistake, and works on after it', () => {
    const core = lab();
    const text = dumbbell.replace('delay = "16ms"', 'delay = "16 parsecs"');
    const line = text.split('\n').findIndex((l) => l.includes('parsecs')) + 1;
    let problem: Refused | null = null;
    try { core.check({ file: 'scenario.toml', text, set: [] }); } catch (error) { problem = error as Refused; }
    expect(problem).toBeInstanceOf(Refused);
    expect(problem!.problem.line).toBe(line);
    expect(problem!.problem.key).toContain('delay');
    expect(core.check({ file: 'scenario.toml', text: dumbbell, set: [] }).network.links).toHaveLength(5);
    expect(() => core.check({ file: 'scenario.toml', text: 'extends = "no.toml"', set: [] })).toThrow(/no such file/);
  });
  it('explains the first fall of a window', () => {
    const core = lab();
    finish(core, { text: dumbbell });
    const why = core.why({ at_s: 2, flow: 'reno', cut: true });
    expect(why.cwnd[1]).toBeLessThan(why.cwnd[0]);
    expect(why.cause).toContain('dropped');
    expect(why.queue!.link).toBe('r1->r2');
  });
  it('has curves whose extremes are those of the columns', () => {
    const core = lab();
    const { outcome } = finish(core, { text: dumbbell });
    const flow = core.column32(1), cwnd = core.column(3);
    let most = 0;
    for (let i = 0; i < flow.length; i++) if (flow[i] === 0) most = Math.max(most, cwnd[i]!);
    const found = core.curves(0, outcome.duration_s, 300);
    const data = panels(found, { link: 6, hidden: new Set(), inFlight: false, internals: [] });
    expect(data.map((p) => p.id)).toEqual(['cwnd', 'rtt', 'queue', 'goodput']);
    const reno = data[0]!.curves.find((c) => c.role === 'cwnd' && c.label === 'reno')!;
    expect(Math.max(...reno.y)).toBe(most);
    const fall = fallNear(reno, reno.x[reno.y.indexOf(most)]!, 5)!;
    expect(valueAt(reno, fall)).toBeLessThan(most);
    expect(panels(found, { link: null, hidden: new Set([0, 1, 2]), inFlight: true, internals: [] })).toEqual([]);
  });
  it('draws who uses a Wi-Fi channel', () => {
    const core = lab();
    const text = scenario('wifi').replace('duration = "20s"', 'duration = "3s"');
    const { outcome } = finish(core, { text });
    const found = core.curves(0, outcome.duration_s, 300);
    const link = outcome.links.findIndex((l) => l.name === 'phone->ap');
    const drawn = (of: number | null) => panels(found, { link: of, hidden: new Set(), inFlight: false, internals: [] }).filter((p) => p.names !== undefined);
    const [use, packets] = drawn(link);
    expect([use!.id, packets!.id, packets!.curves.map((c) => c.label)]).toEqual(['use', 'packets', ['phone->ap']]);
    expect(use!.curves.map((c) => c.label)).toContain('ap->laptop');
    expect(new Set(use!.curves.map((c) => c.hue)).size).toBe(use!.curves.length);
    expect(Math.max(...use!.curves.flatMap((c) => [...c.y]))).toBeLessThanOrEqual(100);
    // A link with a transmitter of its own shows the first channel; a network without one has no such panel.
    expect(drawn(0)[0]!.id).toBe('use');
    finish(core, { text: dumbbell });
    expect(panels(core.curves(0, 5, 300), { link: 6, hidden: new Set(), inFlight: false, internals: [] }).map((p) => p.id)).not.toContain('use');
  });
  it('steps by event in both directions', async () => {
    const core = lab();
    const { outcome } = finish(core, { text: dumbbell });
    const ask = async (from: number, to: number): Promise<Flights> => core.flights(from, to);
    const next = await nextEvent(10, 1, ask, outcome.duration_s);
    expect(next).toBeGreaterThan(10);
    expect(next).toBeLessThan(10.01);
    expect(await nextEvent(next, -1, ask, outcome.duration_s)).toBeLessThanOrEqual(10);
    expect(await nextEvent(outcome.duration_s, 1, ask, outcome.duration_s)).toBe(outcome.duration_s);
    const found = core.flights(10, 10.05);
    for (let row = 0; row < found.rows; row++) expect(found.data[row * FLIGHT.width + FLIGHT.start]).toBeLessThanOrEqual(10.05);
  });
});
describe('the argument of an event', () => {
  it.each([...METHODS.map((m) => [m.name, m.fields] as const), ['flow', FLOW] as const])('has the fields of the table: %s', (_, fields) => {
    const record = Float64Array.from({ length: 41 }, (_, i) => i % 2), argument = argumentOf([...fields])(record);
    const value = ({ kind, words }: (typeof fields)[number], x: number): unknown => (kind === 'time' ? x / 1e12 : kind === 'flag' ? x === 1 : kind === 'word' ? words[x] : x);
    if (fields[0]!.name === '') { expect(argument).toBe(value(fields[0]!, record[0]!)); return; }
    const expected = fields.flatMap((f, i) => [[camel(f.name), value(f, record[i]!)], ...(f.exact ? [[camel(f.exact), record[i]]] : [])]);
    expect(argument).toEqual(Object.fromEntries(expected));
    const none = argumentOf([...fields])(new Float64Array(41).fill(NaN)) as Record<string, unknown>;
    for (const f of fields.filter((f) => f.optional)) expect(none[camel(f.name)]).toBeNull();
  });
});
describe('a controller of the page', () => {
  const load = (code: string): Controllers => { const c = new Controllers(); c.use('Own', new Function(`${code}; return Own`)()); return c; };
  it.each([['ns2'], ['linux']])('with the algorithm of Reno gives the bits of Reno, profile %s', (profile) => {
    const controllers = load(EXAMPLES.reno.code.replace(/class \w+/, 'class Own'));
    const set = [`tcp.profile=${profile}`];
    const own = lab(controllers.passEvent), rust = lab();
    const a = finish(own, { text: dumbbell, set, controllers: { reno: { name: 'page' } } }), b = finish(rust, { text: dumbbell, set });
    expect(controllers.failure).toBe('');
    expect(a.fingerprint).toBe(b.fingerprint);
    expect(own.column(3)).toEqual(rust.column(3));
  });
  it('that fails ends the run with its message', () => {
    const controllers = load('class Own { constructor(f) { this.cwnd = 2; this.ssthresh = 64; } onAck() { throw new Error("no idea"); } onCongestion() {} onRto() {} setWindow(w) { this.cwnd = w; } }');
    const core = lab(controllers.passEvent);
    expect(() => finish(core, { text: dumbbell, controllers: { reno: { name: 'page' } } })).toThrow(Failed);
    expect(controllers.failure).toContain('no idea');
  });
  it('has a pacing rate, a timer, signals, probes and an initial window', () => {
    const code = `class Own {
      static needs = ['pacing', 'timer', 'sent', 'rate'];
      static probes = ['ticks', 'sends', 'best'];
      static initialWindow = 3;
      constructor(flow) { this.cwnd = flow.initialWindow; this.ssthresh = 64; this.first = flow.initialWindow; this.ticks = 0; this.sends = 0; this.best = null; this.pacingBps = 2e6; this.wakeAtS = null; }
      onOpen(nowS) { this.wakeAtS = nowS + 0.5; }
      onTimer(nowS) { this.ticks++; this.wakeAtS = nowS + 0.5; }
      onSent(sent) { this.sends++; }
      onAck(ack) { this.cwnd = 40; if (ack.intervalS !== null) this.best = Math.max(this.best ?? 0, ack.delivered / ack.intervalS); }
      onCongestion() {} onRto() {} setWindow(w) { this.cwnd = w; }
    }`;
    const controllers = load(code), core = lab(controllers.passEvent);
    const own = controllers.use('Own', new Function(`${code}; return Own`)());
    expect(own).toEqual({ name: 'Own', probes: ['ticks', 'sends', 'best'], needs: ['pacing', 'timer', 'sent', 'rate'], initial_window: 3 });
    const { outcome } = finish(core, { text: dumbbell, set: ['duration=10s', 'flow.vegas.start=11s', 'flow.cubic.start=11s', 'tcp.recovery=rack', 'tcp.profile=linux'], controllers: { reno: own } });
    expect(controllers.failure).toBe('');
    const shape = core.open({ file: 'f', text: dumbbell, set: [], trace: 'ack', packets: false, fingerprint: false, controllers: { reno: own } });
    expect(shape.internals.slice(0, 3)).toEqual(['ticks', 'sends', 'best']);
    const reno = outcome.flows.find((f) => f.name === 'reno')!;
    // The rate that the class sets, and the rate that the core measures, are the rate of the flow.
    expect(reno.goodput_bps! / 2e6).toBeGreaterThan(0.9);
    expect(reno.goodput_bps!).toBeLessThanOrEqual(2e6);
  });
  it('can own its window, and has exact times, the handshake and the fields of rate samples', () => {
    const code = (owns: boolean): string => `class Own {
      static needs = ['rate'];
      static probes = ['sets', 'handshakes', 'wrong', 'samples'];
      constructor(flow) { this.cwnd = 20; this.ssthresh = 64; this.ownsWindow = ${owns}; this.sets = 0; this.handshakes = 0; this.wrong = flow.seedWords.length - 2; this.samples = 0; }
      onHandshake(event) { this.handshakes += event.rttPs / 1e12 === event.rttS && event.rttPs > 0; }
      onAck(ack) { this.wrong += ack.nowPs / 1e12 !== ack.nowS || (ack.rttPs !== null && ack.rttPs / 1e12 !== ack.rttS); this.samples += ack.delivered !== null && ack.deliveredTotal > ack.priorDelivered; }
      onCongestion() {} onRto() {} setWindow(w) { this.sets++; }
    }`;
    const last = (owns: boolean): number[] => {
      const controllers = load(code(owns)), core = lab(controllers.passEvent);
      const own = controllers.use('Own', new Function(`${code(owns)}; return Own`)());
      const request = { text: dumbbell, set: ['duration=10s', 'flow.vegas.start=11s', 'flow.cubic.start=11s', 'tcp.recovery=rack', 'tcp.profile=linux', 'link.bottleneck.queue.limit=5p'], controllers: { reno: own } };
      finish(core, request);
      expect(controllers.failure).toBe('');
      return [0, 1, 2, 3].map((probe) => core.column(100 + probe).at(-1)!);
    };
    const [sets, handshakes, wrong, samples] = last(true);
    expect([sets, handshakes, wrong]).toEqual([1, 1, 0]);
    expect(samples).toBeGreaterThan(100);
    expect(last(false)[0]).toBeGreaterThan(20);
  });
  it('refuses a signal that does not exist', () => {
    const core = lab(load(EXAMPLES.reno.code.replace(/class \w+/, 'class Own')).passEvent);
    expect(() => core.open({ file: 'f', text: dumbbell, set: [], trace: 'off', packets: false, fingerprint: false, controllers: { reno: { name: 'Own', needs: ['speed'] } } })).toThrow(/needs: "speed" is not one of rate/);
  });
  it('without its methods is refused', () => { expect(() => load('class Own {}')).toThrow('onAck'); });
});
describe('a record with bounded memory', () => {
  it('ends when it is full; another run records any other range', () => {
    const core = lab(), set = ['duration=400s'];
    const { fingerprint } = finish(core, { text: dumbbell, set, bounded: true });
    const part = core.recorded();
    expect(part.from_s).toBe(0);
    expect(part.to_s).toBeLessThan(200);
    expect(part.packet_events).toBeGreaterThan(5e6);
    expect(core.bytes).toBeLessThan(150e6);
    const whole = core.curves(0, 400, 500);
    const cwnd = whole.series.find((s) => s.panel === 'cwnd')!;
    expect(whole.data[cwnd.start + cwnd.points - 1]).toBe(400);
    expect(finish(core, { text: dumbbell, set, bounded: true, packets_from: 300, packets_until: 310 }).fingerprint).toBe(fingerprint);
    expect([core.recorded().from_s, core.recorded().to_s]).toEqual([300, 310]);
    expect(core.flights(305, 305.2).rows).toBeGreaterThan(10);
    expect(core.why({ at_s: 310, cut: true }).cause).toContain('dropped');
    expect(core.bytes).toBeLessThan(150e6);
  });
  it('is complete for every scenario of the lessons', () => {
    for (const file of readdirSync(join(root, 'lessons'))) {
      const lesson = parse(file, readFileSync(join(root, 'lessons', file), 'utf8')), core = lab();
      core.files(example);
      const { outcome } = finish(core, { text: lesson.scenario, bounded: true });
      expect(core.recorded().to_s, file).toBe(outcome.duration_s);
    }
  });
});
describe('a radio network', () => {
  it('has transmissions and routes', () => {
    const core = lab(), manet = built.find((s) => s.name === 'manet')!;
    core.files(manet.files);
    finish(core, { text: manet.text, set: ['duration=20s'], radio: true, bounded: true });
    const found = core.transmissions(10, 11);
    expect(found.rows).toBeGreaterThan(20);
    expect(found.routes).toBeGreaterThan(0);
    for (let row = 0; row < found.rows; row++) {
      const [start, node, to, step, , airtime] = found.data.subarray(6 * row, 6 * row + 6);
      expect(start! + airtime!).toBeGreaterThanOrEqual(10);
      expect(start).toBeLessThanOrEqual(11);
      expect(node).not.toBe(to);
      expect(found.steps[step!]).toBeDefined();
    }
    expect(found.data.length).toBe(6 * found.rows + 4 * found.routes);
  });
});
describe('completion', () => {
  const catalog = lab().catalog(), schema = catalog.schema as Schema;
  it('knows the keys of tables', () => {
    expect(keys(['link'], schema).map((k) => k.label)).toEqual(expect.arrayContaining(['rate', 'delay', 'queue', 'loss']));
    expect(keys(['link', 'queue'], schema).map((k) => k.label)).toEqual(expect.arrayContaining(['kind', 'limit']));
    expect(at(['flow', 'nothing'], schema)).toEqual([]);
  });
  it('knows the values', () => {
    expect(values(['tcp', 'congestion_control'], schema, catalog).map((v) => v.label)).toEqual(expect.arrayContaining(['"cubic"', '"bbr"']));
    expect(values(['link', 'queue', 'kind'], schema, catalog).map((v) => v.label)).toContain('"codel"');
  });
  it.each([
    ['[[link]]\nra', ['link'], null, 'ra'], ['[[link]]\nqueue = { ki', ['link', 'queue'], null, 'ki'], ['[[link]]\nqueue = { kind = "dr', ['link', 'queue', 'kind'], 'kind', '"dr'],
    ['[tcp]\ncongestion_control = "cu', ['tcp', 'congestion_control'], 'congestion_control', '"cu'], ['tit', [], null, 'tit'], ['[[link]]\nback = { queue = { kind = "a" }, ra', ['link', 'back'], null, 'ra'],
  ])('finds the place of %j', (text, path, key, word) => { expect(place(text, text.length)).toEqual({ path, key, word }); });
  it('explains a key', () => { expect(hover('[[link]]\ndelay = "1ms"', 11, schema)?.info).not.toBe(''); });
});
describe('layout', () => {
  it('puts sources left and sinks right', () => {
    const links: [string, string][] = [['r1', 'r2'], ['s1', 'r1'], ['s2', 'r1'], ['r2', 'd']];
    const positions = new Map(lab().layout(links, [['s1', 'd'], ['s2', 'd']]).map((p) => [p.node, p]));
    expect(['s1', 's2', 'r1', 'r2', 'd'].map((n) => positions.get(n)!.column)).toEqual([0, 0, 1, 2, 3]);
    expect(['s1', 's2'].map((n) => positions.get(n)!.row)).toEqual([0, 1]);
    expect(positions.get('s1')!.rows).toBe(2);
    expect(lab().check({ file: 'scenario.toml', text: dumbbell, set: [] }).positions.length).toBeGreaterThan(2);
  });
});
