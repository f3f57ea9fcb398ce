/** How a curve is drawn, on the screen and in files. Pure. */
import type { Curve, PanelData } from './panels';
import { dash } from './theme.svelte';

/** The number of the colour of a curve; null for one without a flow. */
export const hueOf = (curve: Curve): number | null => curve.hue ?? curve.flow;
/** Thin and pale: what belongs to a window, and the estimate of a player. */
export const isWeak = (curve: Curve): boolean => ['ssthresh', 'in_flight', 'estimate'].includes(curve.role);
export const pattern = (curve: Curve): number[] =>
  curve.run
    ? [7, 4]
    : curve.role === 'ssthresh' || curve.role === 'estimate'
      ? [2, 3]
      : curve.role === 'deadline'
        ? [6, 4]
        : dash(curve.flow ?? curve.hue ?? 0);
/** The ends of the vertical axis, from the least and the greatest value; null where there is none. */
export const reach = (data: PanelData, low: number | null, high: number | null): [number, number] => [
  Math.min(0, low ?? 0),
  data.top ?? ((high ?? 1) <= 0 ? 1 : high! * 1.08),
];
/** Dots of several curves: which one is on top changes from column to column, so that none hides another. */
export const layer = (curve: number, column: number, curves: number): number => (curve + column) % curves;
/** Points with a shape, and bars, are drawn in a layer of their own. */
export const isOwn = (curve: Curve): boolean => curve.kind === 'marks' || curve.kind === 'bars';
/** The height of a bar, in rows. */
export const BAR = 0.7;
/** The path of a mark about a point, for SVG and canvas; `size`: half of its width. */
export function shape(mark: Curve['mark'], x: number, y: number, size: number): string {
  const place = (v: number): string => String(Math.round(v * 10) / 10);
  const at = (dx: number, dy: number): string => `${place(x + dx * size)} ${place(y + dy * size)}`;
  switch (mark) {
    case 'triangle':
      return `M${at(-1.1, 0.9)}L${at(0, -1.1)}L${at(1.1, 0.9)}Z`;
    case 'cross':
      return `M${at(-1, -1)}L${at(1, 1)}M${at(-1, 1)}L${at(1, -1)}`;
    case 'ring':
      return `M${at(0, -1)}L${at(1, 0)}L${at(0, 1)}L${at(-1, 0)}Z`;
    default:
      return `M${at(-0.7, -0.7)}H${place(x + 0.7 * size)}V${place(y + 0.7 * size)}H${place(x - 0.7 * size)}Z`;
  }
}
/** A mark that is filled, not drawn as a line. */
export const isFilled = (mark: Curve['mark']): boolean => mark !== 'cross' && mark !== 'ring';
