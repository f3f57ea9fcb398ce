import { describe, expect, it } from 'vitest';
import { asFlights, last, nextHops, route, under } from '../../src/state/radio';
import { nextEvent } from '../../src/state/events';

// Two transmissions of nodes 0 and 1, and routes to node 2 that change at 3 s.
const data = Float64Array.from([1, 0, 1, 3, 5, 0.01, 2, 1, -1, 0, -1, 0.02, 0, 0, 2, 1, 0, 1, 2, 2, 3, 0, 2, 2, 4, 1, 2, -1]);
const air = { rows: 2, left_out: 0, routes: 4, steps: ['rts', 'cts', 'mac_ack', 'data'], data };

describe('a radio network at a time', () => {
  it('has the transmissions under way, and those of a node', () => {
    expect(under(air, 1.005, 0)).toEqual([{ start: 1, node: 0, to: 1, step: 'data', flow: 5, airtime: 0.01 }]);
    expect(under(air, 1.5, 0)).toEqual([]);
    expect(under(air, 2.01, 1.2)).toHaveLength(2);
    expect(last(air, 1, 5, 3).map((f) => f.step)).toEqual(['rts']);
    expect(last(air, 1, 1.9, 3)).toEqual([]);
  });
  it('has routes, as far as they go', () => {
    expect(route(nextHops(air, 1), 0, 2)).toEqual([0, 1, 2]);
    expect(route(nextHops(air, 3.5), 0, 2)).toEqual([0, 2]);
    expect(route(nextHops(air, 5), 1, 2)).toEqual([1]);
  });
  it('is stepped by transmission', async () => {
    const ask = async () => asFlights(air);
    expect(await nextEvent(0.99, 1, ask, 10)).toBe(1);
    expect(await nextEvent(1, 1, ask, 10)).toBe(1.01);
  });
});
