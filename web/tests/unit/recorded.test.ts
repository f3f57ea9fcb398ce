import { deflateSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { type Column, column } from '../../src/core/columns';
import { Recorded, type Recording } from '../../src/core/recorded';
import { FLIGHT } from '../../src/core/types';
import { toBase64 } from '../../src/share/base64';
import { finish, lab, scenario } from './node';

const TIMES: Column = { rows: 4, scale: 1e12, planes: 7, data: 'Y2D6x8TA8J+BgcF4AgODmhwDw9cjDAzZexgYZMQA' };
/** The bits of floats, as python/ackclock/apps/view/columns.py packs what is not a multiple of anything. */
function packed(values: ArrayLike<number>): Column {
  const rows = values.length, bytes = new Uint8Array(Float64Array.from(values).buffer), planes = new Uint8Array(rows * 8);
  for (let p = 0; p < 8; p++) for (let i = 0; i < rows; i++) planes[p * rows + i] = bytes[i * 8 + p]! ^ (i ? bytes[(i - 1) * 8 + p]! : 0);
  return { rows, planes: 8, data: toBase64(deflateSync(planes)) };
}
/** A run of the core, and the recording of the same run. */
function both(text: string, set: string[]) {
  const core = lab();
  const shape = core.open({ file: 'scenario.toml', text, set, trace: 'ack', packets: true, fingerprint: true });
  while (!core.advance(1e6));
  const outcome = core.outcome(), codes = core.catalog().codes as Record<string, string[]>;
  const numbers = (n: number): Column => packed(core.column(n)), middle = (n: number): Column => packed(core.column32(n)), small = (n: number): Column => packed(core.column8(n));
  const whole = (n: number): Column => packed(Array.from(new BigInt64Array(core.column(n).buffer), Number));
  const recording: Recording = {
    v: 1, trace: 'ack', notes: [], codes: { packet_event: codes.packet_event!, reason: codes.reason!, kind: codes.kind! },
    about: {
      version: '', engine: '', title: '', file: '', seed: 1, duration_s: shape.duration_s, shared: { v: 1, text }, geometry: null, python: [], flows: shape.flows, flow_ends: shape.flow_ends,
      segment_bytes: shape.flows.map(() => 1000), links: shape.links, outcome, fingerprint: '',
    },
    windows: { time_s: numbers(0), flow: middle(1), cwnd: numbers(3), ssthresh: numbers(4), ack: whole(5), rtt_s: numbers(6), in_flight: numbers(7) },
    internals: Object.fromEntries(shape.internals.map((name, i) => [name, numbers(100 + i)])),
    packets: { time_s: numbers(10), link: middle(11), event: small(12), reason: small(13), flow: middle(14), kind: small(15), seq: whole(16) },
  };
  return { core, shape, recorded: new Recorded(recording) };
}
const rows = (found: { rows: number; data: Float64Array }): string[] =>
  Array.from({ length: found.rows }, (_, i) => Array.from(found.data.subarray(i * FLIGHT.width, (i + 1) * FLIGHT.width)).join()).sort();

describe('a recorded run', () => {
  it('has the columns that Python packs', () => {
    // ackclock.view.columns.pack of [0, nan, -3, 1e6], [0.1, 0.1, inf], and times
    expect([...column({ rows: 4, missing: 'YwIA', scale: 1, planes: 3, data: 'Y2BgbWNgYGgBYjkA' })]).toEqual([0, NaN, -3, 1e6]);
    expect([...column({ rows: 3, planes: 8, data: 'm8UwaybDTGS0k8HTnsEBAA==' })]).toEqual([0.1, 0.1, Infinity]);
    expect([...column(TIMES)]).toEqual([0, 1e-12, 4000, 7200.000000000001]);
    const values = [0.1, -0, Infinity, 5e-324, NaN];
    expect([...column(packed(values))]).toEqual(values);
  });
  for (const [name, set] of [['dumbbell_ns2', ['duration=20s']], ['asymmetric', ['duration=20s']], ['bufferbloat', ['duration=8s', 'warmup=0s']], ['iridium', ['duration=30s']]] as const) {
    it(`shows ${name} as the core does`, () => {
      const { core, shape, recorded } = both(scenario(name), [...set]);
      const { positions, ...rest } = shape;
      expect(recorded.shape()).toEqual(rest);
      expect(positions.length).toBeGreaterThan(1);
      for (const [from, to, px] of [[0, shape.duration_s, 900], [2, 3.5, 300], [4.001, 4.002, 1000]] as const) {
        const a = core.curves(from, to, px), b = recorded.curves(from, to, px);
        expect(b.series.map((s) => [s.panel, s.flow, s.link, s.name])).toEqual(a.series.map((s) => [s.panel, s.flow, s.link, s.name]));
        for (const [i, s] of a.series.entries()) {
          if (s.panel === 'goodput') continue; // below: the payload of a segment is not the same for all flows here
          const t = b.series[i]!;
          expect(Array.from(b.data.subarray(t.start, t.start + 2 * t.points)), `${s.panel} ${s.name}`).toEqual(Array.from(a.data.subarray(s.start, s.start + 2 * s.points)));
        }
        expect(rows(recorded.flights(from, from + 0.2))).toEqual(rows(core.flights(from, from + 0.2)));
      }
    });
  }
  it('computes the goodput of the core', () => {
    const { core, recorded, shape } = both(scenario('dumbbell_ns2'), ['duration=10s']);
    const of = (c: ReturnType<typeof core.curves>): number[][] => c.series.filter((s) => s.panel === 'goodput').map((s) => [...c.data.subarray(s.start + s.points, s.start + 2 * s.points)]);
    const a = of(core.curves(0, shape.duration_s, 800)), b = of(recorded.curves(0, shape.duration_s, 800));
    expect(b.length).toBe(3);
    a.forEach((values, f) => values.forEach((v, i) => expect(b[f]![i]! / v || 1).toBeCloseTo(1, 9)));
  });
  it('is refused where it is damaged', () => {
    expect(() => column({ rows: 3, planes: 8, data: packed([1, 2]).data })).toThrow('damaged');
    expect(() => new Recorded({ v: 2 } as Recording)).toThrow('version 2');
    expect(finish(lab(), { text: scenario('dumbbell'), set: ['duration=1s'] }).fingerprint).toMatch(/^[0-9a-f]{64}$/);
  });
});
