/** Transmissions and routes of a radio network at a time. Pure. */
import { FLIGHT, type Flights, type Transmissions } from '../core/types';

export interface Frame {
  start: number;
  node: number;
  to: number;
  step: string;
  flow: number;
  airtime: number;
}
const WIDTH = 6,
  ROUTE = 4;

export function frame(of: Transmissions, row: number): Frame {
  const [start, node, to, step, flow, airtime] = of.data.subarray(WIDTH * row, WIDTH * (row + 1)) as unknown as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return { start, node, to, step: of.steps[step] ?? '', flow, airtime };
}
/** The transmissions that are under way at a time, or ended at most `after` seconds before it. */
export function under(of: Transmissions, at: number, after: number): Frame[] {
  const found: Frame[] = [];
  for (let row = 0; row < of.rows && of.data[WIDTH * row]! <= at; row++) {
    const one = frame(of, row);
    if (one.start + one.airtime >= at - after) found.push(one);
  }
  return found;
}
/** The last transmissions of a node before a time, the newest first. */
export function last(of: Transmissions, node: number, at: number, most: number): Frame[] {
  const found: Frame[] = [];
  for (let row = of.rows - 1; row >= 0 && found.length < most; row--)
    if (of.data[WIDTH * row]! <= at && of.data[WIDTH * row + 1] === node) found.push(frame(of, row));
  return found;
}
/** Transmissions as packets on links, for steps by event. */
export function asFlights(of: Transmissions): Flights {
  const data = new Float64Array(of.rows * FLIGHT.width).fill(NaN);
  for (let row = 0; row < of.rows; row++) {
    const one = frame(of, row);
    data[row * FLIGHT.width + FLIGHT.start] = one.start;
    data[row * FLIGHT.width + FLIGHT.arrive] = one.start + one.airtime;
  }
  return { rows: of.rows, left_out: of.left_out, data };
}
/** The next hops of all nodes at a time: `${node}>${destination}`. */
export function nextHops(of: Transmissions, at: number): Map<string, number> {
  const hops = new Map<string, number>(),
    begin = WIDTH * of.rows;
  for (let i = 0; i < of.routes; i++) {
    const [time, node, to, next] = of.data.subarray(begin + ROUTE * i, begin + ROUTE * (i + 1)) as unknown as [
      number,
      number,
      number,
      number,
    ];
    if (time > at) break;
    if (next < 0) hops.delete(`${node}>${to}`);
    else hops.set(`${node}>${to}`, next);
  }
  return hops;
}
/** The nodes of a route, both ends included; as far as it goes if a node has no route. */
export function route(hops: ReadonlyMap<string, number>, from: number, to: number): number[] {
  const path = [from];
  for (let node = from; node !== to;) {
    const next = hops.get(`${node}>${to}`);
    if (next === undefined || path.includes(next)) break;
    path.push(next);
    node = next;
  }
  return path;
}
