/** The packet event next to a moment. */
import { FLIGHT, type Flights } from '../core/types';

type Ask = (from: number, to: number) => Promise<Flights | null>;
/** Looks in ever wider ranges; gives the end of the run, or its start, if there is no further event. */
export async function nextEvent(at: number, direction: 1 | -1, ask: Ask, duration: number): Promise<number> {
  for (let reach = 0.02; ; reach *= 6) {
    const from = direction > 0 ? at : Math.max(0, at - reach),
      to = direction > 0 ? Math.min(duration, at + reach) : at;
    const found = await ask(from, to);
    if (!found) return at; // no packets are recorded
    let best = direction > 0 ? Infinity : -Infinity;
    for (let row = 0; row < (found?.rows ?? 0); row++) {
      for (const column of [FLIGHT.start, FLIGHT.depart, FLIGHT.arrive]) {
        const t = found!.data[row * FLIGHT.width + column]!;
        if (direction > 0 ? t > at + 1e-12 && t < best : t < at - 1e-12 && t > best) best = t;
      }
    }
    if (Number.isFinite(best) && best >= from && best <= to) return best;
    if (direction > 0 ? to >= duration : from <= 0) return direction > 0 ? duration : 0;
  }
}
