import { describe, expect, it } from 'vitest';
import { METRICS, changes, falseDiscovery, mean, pValue, tProbability, tQuantile } from '../../src/state/stats';

describe('statistics', () => {
  // Values of tables (and of scipy 1.15, which stats.py uses).
  it.each([[0.95, 1, 12.7062], [0.95, 4, 2.7764], [0.95, 9, 2.2622], [0.95, 29, 2.0452], [0.99, 7, 3.4995]])('t for %d at %i', (level, df, t) => { expect(tQuantile(level, df)).toBeCloseTo(t, 3); });
  it('give probabilities', () => { expect(tProbability(2.7764, 4)).toBeCloseTo(0.05, 4); expect(tProbability(0, 4)).toBe(1); });
  it('give intervals', () => {
    const e = mean([1, 2, 3, 4, 5]);
    expect([e.value, e.low, e.high].map((v) => Number(v!.toFixed(4)))).toEqual([3, 1.0368, 4.9632]);
    expect(mean([4]).low).toBeNull();
  });
  it('test pairs', () => { expect(pValue([1])).toBeNull(); expect(pValue([0, 0])).toBe(1); expect(pValue([2, 2])).toBe(0); expect(pValue([1, 2, 3, 4, 5])).toBeCloseTo(0.0132, 4); });
  it('correct for several tests', () => { expect(falseDiscovery([0.01, 0.04, 0.03, 0.5]).map((p) => Number(p.toFixed(4)))).toEqual([0.04, 0.0533, 0.0533, 0.5]); });
  it('judge as ackclock compare does', () => {
    const [goodput, rtt] = METRICS as unknown as [(typeof METRICS)[0], (typeof METRICS)[0]];
    const base = [10, 11, 12, 13], found = changes([
      { flow: 'f', metric: goodput, a: base, b: base.map((v, i) => v + 2 + 0.01 * i) }, { flow: 'f', metric: rtt, a: base, b: base.map((v, i) => v + 2 + 0.01 * i) },
      { flow: 'f', metric: goodput, a: base, b: base }, { flow: 'f', metric: goodput, a: base, b: base.map((v) => v * 1.001) },
    ]);
    expect(found.map((c) => c.verdict)).toEqual(['better', 'worse', 'same', 'same']);
  });
});
