import { describe, expect, it } from 'vitest';
import { Decimator } from '../../src/core/decimator';

const RANGE = { from: 10, to: 20, columns: 10 };
function thinned(points: readonly (readonly [number, number])[], steps = true): readonly [number, number][] {
  const found = new Decimator(RANGE, steps);
  for (const [at, value] of points) found.push(at, value);
  return found.finish();
}

describe('a step curve', () => {
  it('ends where its value ends, and goes on with the next value', () => {
    expect(thinned([[11, 5], [13, NaN], [16, 7]])).toEqual([[11, 5], [13, NaN], [16, 7], [20, 7]]);
    expect(thinned([[11, 5], [13, Infinity]])).toEqual([[11, 5], [13, NaN]]);
  });
  it('has one point for an end that is repeated, and none before the first value', () => {
    expect(thinned([[10, NaN], [11, Infinity], [12, 5], [13, NaN], [13, NaN], [14, -Infinity], [15, 6]])).toEqual([[12, 5], [13, NaN], [15, 6], [20, 6]]);
  });
  it('has the value before the interval unless that has ended', () => {
    expect(thinned([[5, 3], [12, NaN]])).toEqual([[10, 3], [12, NaN]]);
    expect(thinned([[5, 3], [8, NaN]])).toEqual([]);
    expect(thinned([[5, 3], [8, NaN], [12, 4]])).toEqual([[12, 4], [20, 4]]);
    expect(thinned([[5, 3], [21, NaN]])).toEqual([[10, 3], [20, 3]]);
  });
  it('keeps an end and the next value within one pixel column', () => {
    expect(thinned([[11, 5], [11.2, NaN], [11.4, 7]])).toEqual([[11, 5], [11.2, NaN], [11.4, 7], [20, 7]]);
  });
});
describe('a curve of samples', () => {
  it('leaves out what is no number', () => {
    expect(thinned([[11, 5], [13, NaN], [16, 7]], false)).toEqual([[11, 5], [16, 7]]);
  });
});
