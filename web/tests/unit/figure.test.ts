import { describe, expect, it } from 'vitest';
import { csv } from '../../src/share/csv';
import { fileName, marks, svg, table, type Figure } from '../../src/share/figure';
import { panels, type Curve, type PanelData } from '../../src/state/panels';
import { theme } from '../../src/state/theme.svelte';
import { finish, lab, scenario } from './node';

const curve = (label: string, x: number[], y: number[], more: Partial<Curve> = {}): Curve => ({ label, flow: 0, kind: 'step', role: 'rtt', x: Float64Array.from(x), y: Float64Array.from(y), ...more });
const figure = (panel: Partial<PanelData>, more: Partial<Figure> = {}): Figure => ({ panel: { id: 'rtt', title: 'Round-trip time', unit: 'ms', curves: [], ticks: new Float64Array(0), top: null, ...panel }, from: 0, to: 10, title: '', flows: ['f'], ...more });
const core = lab();
const { outcome } = finish(core, { text: scenario('dumbbell'), set: ['duration=20s'] });
const drawn = panels(core.curves(0, 20, 800), { link: outcome.links.findIndex((l) => l.name === 'r1->r2'), hidden: new Set(), inFlight: true, internals: ['w_max'] });
const flows = outcome.flows.map((flow) => flow.name);

describe('a chart as SVG', () => {
  it('has title, axes, units and a legend of every panel, and numbers alone in its paths', () => {
    expect(drawn.map((panel) => panel.id)).toEqual(['cwnd', 'rtt', 'queue', 'goodput', 'internal:w_max']);
    for (const panel of drawn) {
      const text = svg({ panel, from: 0, to: 20, title: 'Three <flows> & "one" link', flows });
      expect(text).toContain('>time (s)</text>');
      expect(text).toContain(`>${panel.title}${panel.unit ? ` (${panel.unit})` : ''}</text>`);
      expect(text).toContain('Three &lt;flows&gt; &amp; &quot;one&quot; link');
      for (const c of panel.curves) expect(text).toContain(`>${(c.role === 'internal' ? flows[c.flow!]! : c.label).replace('>', '&gt;')}</text>`);
      expect(text).not.toMatch(/NaN|Infinity|undefined|null|href|<script|var\(/);
    }
    expect(svg({ panel: drawn[0]!, from: 0, to: 20, title: '', flows })).toContain('>ssthresh</text>');
    expect(svg({ panel: drawn[2]!, from: 0, to: 20, title: '', flows })).toContain('>packet dropped</text>');
  });
  it('draws steps, and nothing where a curve has no value', () => {
    const text = svg(figure({ curves: [curve('f', [0, 2, 4, 6, 10], [10, 20, NaN, 5, 5])], top: 30 }));
    // 710 px for 10 s and 300 px for 30 ms; the curve ends at 4 s and begins anew at 6 s.
    expect(text).toContain('d="M70 234H212V134H354M496 284H780V284"');
  });
  it('has the light colours in the dark theme', () => {
    const light = svg({ panel: drawn[1]!, from: 0, to: 20, title: '', flows });
    theme.dark = true;
    expect(svg({ panel: drawn[1]!, from: 0, to: 20, title: '', flows })).toBe(light);
    theme.dark = false;
  });
  it('says which curve is of which run', () => {
    const text = svg(figure({ curves: [curve('f', [0, 1], [1, 2]), curve('f', [0, 1], [1, 2], { run: 1 })] }, { runs: ['A', 'B'] }));
    expect([text.includes('>f, A</text>'), text.includes('>f, B</text>'), text.includes('stroke-dasharray="7 4"')]).toEqual([true, true, true]);
  });
  it('has round marks on its axes', () => {
    expect(marks(0, 60, 8)).toEqual([0, 10, 20, 30, 40, 50, 60]);
    expect(marks(1.003, 1.0041, 5)).toEqual([1.003, 1.0035, 1.004]);
    expect(marks(-0.2, 0.9, 5)).toEqual([0, 0.5]);
    expect(marks(0, 0, 5).every(Number.isFinite)).toBe(true);
  });
});
describe('a chart as CSV', () => {
  const lines = (of: Figure): string[] => table(of).trim().split('\n');
  it('has SI units and a row for each point in view', () => {
    expect(lines(figure({ curves: [curve('a', [0, 5, 11], [40.1, 0.3, 9]), curve('b', [1], [NaN], { flow: 1 })] }))).toEqual(['series,quantity,time_s,value_s', 'a,rtt,0,0.0401', 'a,rtt,5,0.0003', 'b,rtt,1,']);
    expect(lines(figure({ unit: 'Mb/s', curves: [curve('a', [1], [9.61], { role: 'goodput' })] }))).toEqual(['series,quantity,time_s,value_bps', 'a,goodput,1,9610000']);
    expect(lines(figure({ unit: 'packets', curves: [curve('l', [1], [3], { role: 'queue' })], ticks: Float64Array.of(2, 20) }))).toEqual(['series,quantity,time_s,value_packets', 'l,queue,1,3', 'packet dropped,drop,2,']);
    expect(lines(figure({ unit: '%', curves: [curve('l', [1], [35], { role: 'use' })] }))).toEqual(['series,quantity,time_s,value_fraction', 'l,use,1,0.35']);
  });
  it('has every point of a run', () => {
    const rows = lines({ panel: drawn[0]!, from: 0, to: 20, title: '', flows });
    expect(rows).toHaveLength(1 + drawn[0]!.curves.reduce((sum, c) => sum + c.x.length, 0));
    expect(new Set(rows.slice(1).map((row) => row.split(',')[1]))).toEqual(new Set(['cwnd', 'ssthresh', 'in_flight']));
    expect(lines({ panel: drawn[4]!, from: 0, to: 20, title: '', flows })[1]).toMatch(/^cubic,w_max,/);
  });
  it('has no formula', () => {
    expect(csv(['a'], [['=1+1'], ['x,"y"'], [-1], [null], [{ b: 1 }]])).toBe('a\n\'=1+1\n"x,""y"""\n-1\n\n"{""b"":1}"\n');
  });
});
it('names its file after the scenario and the chart', () => {
  expect(fileName('dumbbell', drawn[0]!, '.svg')).toBe('dumbbell-cwnd.svg');
  expect(fileName('', figure({ id: 'internal:w max/../x' }).panel, '.csv')).toBe('scenario-w-max-..-x.csv');
});
