import { describe, expect, it } from 'vitest';
import { MESSAGE } from '../../src/core/types';
import { svg, table } from '../../src/share/figure';
import { achieved, appOf, appPanels, column, cumulative } from '../../src/state/applications';
import { finish, lab } from './node';

const LINK = `duration = "8s"
[[link]]
ends = ["a", "b"]
rate = "6Mbps"
delay = "20ms"
queue = { kind = "droptail", limit = "2bdp" }
`;
const flow = (name: string, rest: string): string => `[[flow]]\nname = "${name}"\nfrom = "a"\nto = "b"\n${rest}\n`;
const text = LINK + flow('call', 'app = { kind = "frames", rate = "3Mbps", late = "drop" }') + flow('bulk', 'start = "2s"\nstop = "6s"') +
  flow('api', 'app = { kind = "requests", response = "10kB", think = "100ms" }') + flow('page', 'app = { kind = "page", page = "small", repeat = "1s" }') +
  flow('video', 'app = { kind = "video", ladder = ["300kbps", "1Mbps"], chunk = "1s", buffer = "5s" }');
const core = lab();
const shape = core.open({ file: 'scenario.toml', text, set: [], trace: 'ack', packets: true, rules: true, fingerprint: true });
const half = (core.advanceTo(3), core.messages());
while (!core.advance(1e6));
const outcome = core.outcome(), messages = core.messages(), applications = shape.applications!;
const shown = { applications, messages, outcome, hidden: new Set<number>(), from: 0, to: 8, now: 8 };
const panels = appPanels(shown), panel = (id: string) => panels.find((p) => p.id === id)!;
const app = (name: string) => appOf(outcome, applications.find((a) => a.name === name)!)!;

describe('messages', () => {
  it('are those of the run so far', () => {
    expect(applications.map((a) => [a.name, a.kind, a.connections])).toEqual([['call', 'frames', 1], ['api', 'requests', 1], ['page', 'page', 1], ['video', 'video', 1]]);
    expect(half.rows).toBeLessThan(messages.rows);
    expect(Math.max(...column(half, MESSAGE.start))).toBeLessThanOrEqual(3);
    expect(messages.total).toBe(messages.rows);
    for (let i = 0; i < messages.rows; i++) expect(column(messages, MESSAGE.end)[i]! <= column(messages, MESSAGE.start)[i]!).toBe(false);
  });
  it('are as many as the outcome counts', () => {
    for (const [n, a] of applications.entries()) expect(column(messages, MESSAGE.app).filter((v, i) => v === n && column(messages, MESSAGE.start)[i]! < 8).length).toBe(app(a.name).messages);
  });
  it('are none without applications', () => {
    const other = lab();
    finish(other, { text: LINK + flow('f', '') });
    expect(other.messages()).toMatchObject({ rows: 0, total: 0 });
  });
});
describe('panels', () => {
  it('has one of frames with states that add up, and a deadline', () => {
    const marks = panel('frames:call').curves, count = (label: RegExp) => marks.filter((c) => label.test(c.label)).reduce((n, c) => n + c.x.length, 0);
    expect(marks[0]).toMatchObject({ role: 'deadline', label: 'deadline 150 ms' });
    expect([count(/^on time/), count(/^late/), count(/^dropped/)]).toEqual([app('call').on_time, app('call').late, app('call').dropped]);
    expect(count(/^late/)).toBeGreaterThan(20);
  });
  it('draws the buffer of a player, which falls by a second a second', () => {
    const { x, y } = panel('buffer:video').curves[0]!;
    expect(Math.min(...y)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...y)).toBeLessThanOrEqual(5);
    for (let i = 1; i < x.length; i++) if (y[i]! < y[i - 1]!) expect(x[i]! - x[i - 1]!).toBeCloseTo(y[i - 1]! - y[i]!, 9);
    expect(panel('bitrate:video').curves.map((c) => c.label)).toEqual(['chunk that is fetched', 'estimate of the throughput']);
  });
  it('has a row for each object of a page, and the times of requests', () => {
    const [waits, receives] = panel('objects:page').curves;
    expect(panel('objects:page').top).toBe(12);
    expect(new Set(waits!.y).size).toBe(12);
    expect(receives!.x).toEqual(waits!.to);
    expect(panel('completion').curves.map((c) => c.label)).toEqual(['api']);
  });
  it('leaves out hidden flows and other times', () => {
    expect(appPanels({ ...shown, hidden: new Set([0]) }).some((p) => p.id === 'frames:call')).toBe(false);
    expect(appPanels({ ...shown, from: 3, to: 4 }).find((p) => p.id === 'frames:call')!.curves.slice(1).reduce((n, c) => n + c.x.length, 0)).toBeLessThan(32);
  });
  it('are saved as SVG and CSV', () => {
    for (const p of panels) {
      const figure = { panel: p, from: 0, to: 8, title: '', flows: [] };
      expect(svg(figure)).not.toMatch(/NaN|Infinity|undefined|null/);
      for (const c of p.curves) expect(svg(figure)).toContain(`>${c.label}</text>`);
      expect(table(figure).split('\n').length).toBeGreaterThan(p.curves.reduce((n, c) => n + c.x.length, 0));
    }
    expect(table({ panel: panel('objects:page'), from: 0, to: 8, title: '', flows: [] }).split('\n')[0]).toBe('series,quantity,time_s,value_number,end_s');
  });
});
describe('an outcome', () => {
  it('has shares of messages up to a time', () => {
    expect(cumulative([[64, 1], [128, 2], [null, 1]])).toEqual([[64e-12, 0.25], [128.5e-12, 0.75]]);
    const times = cumulative(app('api').sketch);
    expect(times.find(([, part]) => part >= 0.5)![0] / app('api').p50_s!).toBeCloseTo(1, 1);
  });
  it('says what came of each kind', () => {
    expect(achieved(app('call'))).toMatch(/^\d+(\.\d)? % on time, \d+ late, .*(freezes? of|no freeze)/);
    expect(achieved(app('api'))).toMatch(/requests\/s$/);
    expect(achieved(app('page'))).toMatch(/^\d pages?, loaded in/);
    expect(achieved(app('video'))).toMatch(/^plays after .*, .*stall.*, [\d.]+ Mb\/s$/);
  });
});
