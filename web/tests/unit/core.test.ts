import { describe, expect, it } from 'vitest';
import { Controllers } from '../../src/core/controllers';
import { Failed, Refused } from '../../src/core/lab';
import { FLIGHT, type Flights } from '../../src/core/types';
import { at, hover, keys, place, values, type Schema } from '../../src/editor/complete';
import { nextEvent } from '../../src/state/events';
import { layout } from '../../src/state/layout';
import { fallNear, panels, valueAt } from '../../src/state/panels';
import { EXAMPLE } from '../../src/core/example';
import { built } from '../../src/state/scenario.svelte';
import { finish, lab, scenario } from './node';

const dumbbell = scenario('dumbbell');
describe('the core', () => {
  it('gives the fingerprint of the command line', () => {
    expect(finish(lab(), { text: dumbbell, seed: 1 }).fingerprint).toMatch(/^c769901f/);
  });
  it('runs every scenario of the page, with its files', () => {
    for (const s of built) {
      const core = lab();
      core.files(s.files);
      expect(core.check({ file: 'scenario.toml', text: s.text, set: [] }).duration_s, s.name).toBeGreaterThan(0);
      core.open({ file: 'scenario.toml', text: s.text, set: [`duration=${s.text.includes('cbrgen') ? 10 : 1}s`, 'warmup=0s'], trace: 'off', packets: false, fingerprint: true });
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
describe('a controller of the page', () => {
  const load = (code: string): Controllers => { const c = new Controllers(); c.use('Own', new Function(`${code}; return Own`)()); return c; };
  it.each([['ns2'], ['linux']])('with the law of Reno gives the bits of Reno, profile %s', (profile) => {
    const controllers = load(EXAMPLE.replace(/class \w+/, 'class Own'));
    const set = [`tcp.profile=${profile}`];
    const own = lab(controllers.tell), rust = lab();
    const a = finish(own, { text: dumbbell, set, controllers: { reno: 'page' } }), b = finish(rust, { text: dumbbell, set });
    expect(controllers.failure).toBe('');
    expect(a.fingerprint).toBe(b.fingerprint);
    expect(own.column(3)).toEqual(rust.column(3));
  });
  it('that fails ends the run with its message', () => {
    const controllers = load('class Own { constructor(f) { this.cwnd = 2; this.ssthresh = 64; } onAck() { throw new Error("no idea"); } onCongestion() {} onRto() {} setWindow(w) { this.cwnd = w; } }');
    const core = lab(controllers.tell);
    expect(() => finish(core, { text: dumbbell, controllers: { reno: 'page' } })).toThrow(Failed);
    expect(controllers.failure).toContain('no idea');
  });
  it('without its methods is refused', () => { expect(() => load('class Own {}')).toThrow('onAck'); });
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
  it('puts sources left and sinks right, whatever the order', () => {
    const links: [string, string][] = [['r1', 'r2'], ['s1', 'r1'], ['s2', 'r1'], ['r2', 'd']];
    const places = layout(links, [['s1', 'd'], ['s2', 'd']]);
    expect(places.get('s1')![0]).toBe(0);
    expect(places.get('d')![0]).toBe(1);
    expect(places.get('r1')![0]).toBeLessThan(places.get('r2')![0]);
    expect(places.get('s1')![1]).not.toBe(places.get('s2')![1]);
    expect(layout(links, [])).toBeInstanceOf(Map);
  });
});
