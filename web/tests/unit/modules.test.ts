/** Controllers in WebAssembly inside the page: the bits of the registered ones, and modules that are refused. */
import { describe, expect, it } from 'vitest';
import { bounded } from '../../src/core/modules';
import { example, finish, lab, scenario } from './node';

const NETWORK = `duration = "20s"
tcp = { profile = "linux" }
link = [{ name = "l", ends = ["a", "b"], rate = "10Mbps", delay = "20ms", queue = { kind = "droptail", limit = "60kB" }, loss = { kind = "bernoulli", rate = 0.001 } }]
flow = [{ name = "f", from = "a", to = "b" }, { name = "g", from = "a", to = "b", start = "3s" }]
`;
const bytes = (base64: string): Uint8Array => Uint8Array.from(Buffer.from(base64, 'base64'));
const mine = bytes(example['mine.wasm'].base64);
/** A module of sections: their number and content. */
const sections = (...list: [number, ...number[]][]): Uint8Array =>
  Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0, ...list.flatMap(([id, ...content]) => [id, content.length, ...content])]);
const run = (module: Uint8Array, set: string[] = ['flow.f.tcp.congestion_control={wasm="x.wasm"}']) => {
  const core = lab();
  core.files({ 'x.wasm': { base64: Buffer.from(module).toString('base64') } });
  return finish(core, { text: NETWORK, set });
};

describe('a module in the page', () => {
  it('gives the bits of the registered controller', () => {
    const reno = 'tcp.congestion_control="reno"';
    const both = ['flow.f.tcp.congestion_control={wasm="x.wasm"}', 'flow.g.tcp.congestion_control={wasm="x.wasm:mine"}'];
    const registered = finish(lab(), { text: NETWORK, set: [reno] });
    expect(registered.outcome.flows.map((flow) => flow.goodput_bps)).not.toContain(0);
    for (const set of [[reno, both[0]!], both]) expect(run(mine, set).fingerprint).toBe(registered.fingerprint);
  });
  it('has parameters, which are checked', () => {
    const set = (value: string): string[] => [`flow.f.tcp.congestion_control={wasm="x.wasm", ${value}}`];
    expect(run(mine, set('beta = 0.8')).fingerprint).not.toBe(run(mine, set('beta = 0.5')).fingerprint);
    expect(() => run(mine, set('beta = 2'))).toThrow('beta: must be from 0.1 to 0.9, not 2');
    expect(() => run(mine, set('bta = 0.5'))).toThrow('mine has no parameter bta; did you mean "beta"?');
  });
  it.each([
    [Uint8Array.from([1, 2, 3, 4]), 'x.wasm is not a WebAssembly module: magic header not detected'],
    [mine.subarray(0, 100), 'x.wasm is not a WebAssembly module that can run here'],
    [sections([5, 1, 0, 0x90, 4]), 'x.wasm asks for 33 MiB; at most 16 MiB are possible'],
    [sections([4, 1, 0x70, 0, 0xff, 0xff, 3]), 'x.wasm asks for a table of more than 10000 entries'],
    [sections([6, 0xc0, 0x84, 0x3d]), 'x.wasm has more than 1000 globals'],
    [sections([1, 1, 0x60, 0, 0], [2, 1, 1, 97, 1, 98, 0, 0]), 'x.wasm imports a.b: build it without'],
    [sections([1, 1, 0x60, 0, 0]), 'x.wasm does not export its memory'],
  ])('is refused in one line', (module, message) => {
    let said = '';
    try {
      run(module);
    } catch (error) {
      said = (error as Error).message;
    }
    expect(said).toContain(message);
    expect(said).not.toContain('\n');
  });
  it('can grow its memory to a limit only', () => {
    const limited = WebAssembly.Module.exports(new WebAssembly.Module(bounded(mine) as BufferSource));
    expect(limited.map(({ name }) => name)).toContain('memory');
    const { memory } = new WebAssembly.Instance(new WebAssembly.Module(bounded(mine) as BufferSource)).exports as { memory: WebAssembly.Memory };
    expect(() => memory.grow(300)).toThrow();
  });
  it('is part of a scenario that a link holds', () => {
    const core = lab();
    core.files(example);
    const checked = core.check({ file: 'scenario.toml', text: scenario('dumbbell'), set: ['tcp.congestion_control={wasm="mine.wasm"}'] });
    expect(checked.network.flows.length).toBeGreaterThan(0);
  });
});
