/** How a curve is drawn, on the screen and in files. Pure. */
import type { Curve, PanelData } from './panels';
import { dash } from './theme.svelte';

/** The number of the colour of a curve; null for one without a flow. */
export const hueOf = (curve: Curve): number | null => curve.hue ?? curve.flow;
/** Thin and pale: what belongs to a window. */
export const isWeak = (curve: Curve): boolean => curve.role === 'ssthresh' || curve.role === 'in_flight';
export const pattern = (curve: Curve): number[] =>
  curve.run ? [7, 4] : curve.role === 'ssthresh' ? [2, 3] : dash(curve.flow ?? curve.hue ?? 0);
/** The ends of the vertical axis, from the least and the greatest value; null where there is none. */
export const reach = (data: PanelData, low: number | null, high: number | null): [number, number] => [
  Math.min(0, low ?? 0),
  data.top ?? ((high ?? 1) <= 0 ? 1 : high! * 1.08),
];
/** Dots of several curves: which one is on top changes from column to column, so that none hides another. */
export const layer = (curve: number, column: number, curves: number): number => (curve + column) % curves;
