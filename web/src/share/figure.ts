/** A chart as a file: SVG of its curves in light colours, PNG of the same, CSV in SI units. */
import { BAR, hueOf, isFilled, isOwn, isWeak, layer, pattern, reach, shape } from '../state/marks';
import type { Curve, PanelData } from '../state/panels';
import { colour } from '../state/theme.svelte';
import { digits } from '../state/units';
import { csv } from './csv';

export interface Figure {
  panel: PanelData;
  from: number;
  to: number;
  /** Of the scenario. */
  title: string;
  /** Names of the flows, for curves that are named after a variable. */
  flows: readonly string[];
  /** What the first and the second run are, if there are two. */
  runs?: readonly [string, string] | undefined;
}
const WIDTH = 800,
  LEFT = 70,
  RIGHT = 20,
  TALL = 300,
  LINE = 20;
/** The mean width of a letter of 12 px, with some room: text is not measured here. */
const LETTER = 7;
const INK = '#17202b',
  SOFT = '#4d5968',
  RULE = '#e2e6eb',
  BAD = '#b3261e';
const DOT = 2.6;

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
const stroke = (curve: Curve): string => {
  const hue = hueOf(curve);
  return hue === null ? SOFT : colour(hue, false);
};
/** The name of a curve: of its flow, or of its link. */
function called(curve: Curve, { flows, runs }: Figure): string {
  const name = curve.role === 'internal' && curve.flow !== null ? (flows[curve.flow] ?? curve.label) : curve.label;
  return runs ? `${name}, ${runs[curve.run ?? 0]}` : name;
}
const place = (x: number): string => String(Math.round(x * 10) / 10);

/** About `count` round numbers between two values. */
export function marks(low: number, high: number, count: number): number[] {
  const raw = (high - low) / count,
    size = 10 ** Math.floor(Math.log10(raw)),
    step = [1, 2, 5, 10].find((s) => s * size >= raw * 0.999)! * size;
  const first = Math.ceil(low / step - 1e-9),
    last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

const ticksIn = ({ panel, from, to }: Figure): number[] =>
  Array.from(panel.ticks).filter((at) => at >= from && at <= to);

interface Entry {
  text: string;
  mark: string;
}
const line = (colours: string, dashes: number[], width: number): string =>
  `<path d="M0 -4h26" fill="none" stroke="${colours}" stroke-width="${width}"${dashes.length ? ` stroke-dasharray="${dashes.join(' ')}"` : ''}/>`;
const opacity = (curve: Curve): number => (hueOf(curve) === null ? 0.45 : 1);
/** Marks of a curve in one path. */
const drawn = (curve: Curve, path: string): string =>
  `<path d="${path}" ${isFilled(curve.mark) ? `fill="${stroke(curve)}"` : `fill="none" stroke="${stroke(curve)}" stroke-width="1.4"`}/>`;
function legend(figure: Figure): Entry[] {
  const { panel } = figure,
    entries: Entry[] = panel.curves
      .filter((c) => !isWeak(c) || c.role === 'estimate')
      .map((c) => ({
        text: called(c, figure),
        mark:
          c.kind === 'marks'
            ? drawn(c, shape(c.mark, 13, -4, 4.5))
            : c.kind === 'bars'
              ? `<rect y="-9" width="26" height="9" fill="${stroke(c)}" opacity="${opacity(c)}"/>`
              : c.kind === 'dots'
                ? `<rect x="9" y="-8" width="8" height="8" fill="${stroke(c)}"/>`
                : line(stroke(c), pattern(c), isWeak(c) ? 1 : 2),
      }));
  if (panel.curves.some((c) => c.role === 'ssthresh')) entries.push({ text: 'ssthresh', mark: line(SOFT, [2, 3], 1) });
  if (panel.curves.some((c) => c.role === 'in_flight')) entries.push({ text: 'in flight', mark: line(SOFT, [], 1) });
  if (panel.band)
    entries.push({
      text: '10 % to 90 % of all flows, median',
      mark: `<rect y="-9" width="26" height="10" fill="${SOFT}" opacity="0.22"/>${line(SOFT, [], 1.6)}`,
    });
  if (ticksIn(figure).length)
    entries.push({ text: 'packet dropped', mark: `<path d="M13 -9v9" stroke="${BAD}" stroke-width="1.2"/>` });
  return entries;
}

export function svg(figure: Figure): string {
  const { panel, from, to, title } = figure;
  const wide = WIDTH - LEFT - RIGHT;
  const top = 34 + (title ? LINE : 0);
  let low: number | null = null,
    high: number | null = null;
  for (const c of panel.curves.filter((c) => !isOwn(c)))
    for (const v of c.y) {
      if (!Number.isFinite(v)) continue;
      low = low === null || v < low ? v : low;
      high = high === null || v > high ? v : high;
    }
  const [least, most] = reach(panel, low, high);
  const x = (at: number): number => LEFT + ((at - from) / (to - from || 1)) * wide;
  const y = (value: number): number =>
    top + (panel.down ? 0 : TALL) + (panel.down ? 1 : -1) * ((value - least) / (most - least || 1)) * TALL;
  /** The steps of a curve; it begins anew after a value that is not a number. */
  const steps = (c: Curve): string => {
    let d = '',
      drawn = false;
    c.x.forEach((at, i) => {
      const value = c.y[i]!;
      if (!Number.isFinite(value)) {
        if (drawn) d += `H${place(x(at))}`;
        drawn = false;
      } else if (drawn && c.kind === 'line') d += `L${place(x(at))} ${place(y(value))}`;
      else {
        d += drawn ? `H${place(x(at))}V${place(y(value))}` : `M${place(x(at))} ${place(y(value))}`;
        drawn = true;
      }
    });
    return d;
  };
  const parts: string[] = [];
  for (const at of marks(least, most, 5))
    parts.push(
      `<path d="M${LEFT} ${place(y(at))}h${wide}" stroke="${RULE}"/>`,
      `<text x="${LEFT - 8}" y="${place(y(at) + 4)}" text-anchor="end" fill="${SOFT}">${digits(at, 6)}</text>`,
    );
  for (const at of marks(from, to, 8))
    parts.push(
      `<path d="M${place(x(at))} ${top}v${TALL}" stroke="${RULE}"/>`,
      `<text x="${place(x(at))}" y="${top + TALL + 18}" text-anchor="middle" fill="${SOFT}">${digits(at, 9)}</text>`,
    );
  parts.push('<g clip-path="url(#area)" fill="none" stroke-linejoin="round">');
  if (panel.band) {
    const { low: lower, middle, high: upper } = panel.band;
    const edge = (c: Curve): string[] =>
      Array.from(c.x, (at, i) => [
        ...(i ? [`${place(x(at))} ${place(y(c.y[i - 1]!))}`] : []),
        `${place(x(at))} ${place(y(c.y[i]!))}`,
      ]).flat();
    parts.push(
      `<path d="M${[...edge(upper), ...edge(lower).reverse()].join('L')}Z" fill="${SOFT}" opacity="0.22"/>`,
      `<path d="${steps(middle)}" stroke="${SOFT}" stroke-width="1.6"/>`,
    );
  }
  for (const c of panel.curves.filter(isOwn)) {
    const inside = Array.from(c.x, (at, i) => i).filter((i) => c.x[i]! <= to && (c.to ?? c.x)[i]! >= from);
    if (c.kind === 'marks')
      parts.push(drawn(c, inside.map((i) => shape(c.mark, x(c.x[i]!), y(c.y[i]!), 2.6)).join('')));
    else {
      const high = Math.max(1, Math.abs(y(BAR) - y(0)));
      const bars = inside.map((i) => {
        const wide = Math.max(0.5, x(c.to![i]!) - x(c.x[i]!));
        return `M${place(x(c.x[i]!))} ${place(y(c.y[i]!) - high / 2)}h${place(wide)}v${place(high)}h${place(-wide)}z`;
      });
      parts.push(`<path d="${bars.join('')}" fill="${stroke(c)}" opacity="${opacity(c)}"/>`);
    }
  }
  for (const c of panel.curves.filter((c) => c.kind !== 'dots' && !isOwn(c))) {
    const dashes = pattern(c);
    parts.push(
      `<path d="${steps(c)}" stroke="${stroke(c)}" stroke-width="${isWeak(c) ? 1 : 1.5}"${isWeak(c) ? ' opacity="0.75"' : ''}${dashes.length ? ` stroke-dasharray="${dashes.join(' ')}"` : ''}/>`,
    );
  }
  const dotted = panel.curves.filter((c) => c.kind === 'dots'),
    layers = dotted.flatMap(() => dotted.map(() => ''));
  dotted.forEach((c, i) =>
    c.x.forEach((at, k) => {
      const value = c.y[k]!;
      if (!Number.isFinite(value) || at < from || at > to) return;
      const of = layer(i, Math.floor(x(at) / (2 * DOT)), dotted.length);
      layers[of * dotted.length + i] += `M${place(x(at) - DOT / 2)} ${place(y(value))}h${DOT}`;
    }),
  );
  layers.forEach((d, i) => {
    if (d) parts.push(`<path d="${d}" stroke="${stroke(dotted[i % dotted.length]!)}" stroke-width="${DOT}"/>`);
  });
  const ticks = ticksIn(figure).map((at) => `M${place(x(at))} ${top + TALL}v-9`);
  if (ticks.length) parts.push(`<path d="${ticks.join('')}" stroke="${BAD}"/>`);
  parts.push('</g>', `<path d="M${LEFT} ${top}v${TALL}h${wide}" fill="none" stroke="${SOFT}"/>`);
  const unit = panel.unit ? ` (${panel.unit})` : '';
  parts.push(
    `<text x="${LEFT + wide / 2}" y="${top + TALL + 38}" text-anchor="middle" fill="${INK}">time (s)</text>`,
    `<text transform="translate(16 ${top + TALL / 2}) rotate(-90)" text-anchor="middle" fill="${INK}">${escaped(panel.title + unit)}</text>`,
    `<text x="${LEFT}" y="24" font-size="15" font-weight="600" fill="${INK}">${escaped(panel.title)}</text>`,
  );
  if (title) parts.push(`<text x="${LEFT}" y="44" fill="${SOFT}">${escaped(title)}</text>`);
  let left = LEFT,
    row = top + TALL + 62;
  for (const { text, mark } of legend(figure)) {
    const room = 34 + LETTER * text.length + 18;
    if (left > LEFT && left + room > WIDTH) {
      left = LEFT;
      row += LINE;
    }
    parts.push(
      `<g transform="translate(${left} ${row})">${mark}<text x="34" fill="${INK}">${escaped(text)}</text></g>`,
    );
    left += room;
  }
  const height = row + 16;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, 'DejaVu Sans', sans-serif" font-size="12">
<title>${escaped(title ? `${panel.title}: ${title}` : panel.title)}</title>
<clipPath id="area"><rect x="${LEFT}" y="${top}" width="${wide}" height="${TALL}"/></clipPath>
<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>
${parts.join('\n')}
</svg>
`;
}

/** The picture of an SVG with twice its size in pixels. */
export async function png(text: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = 2 * image.width;
  canvas.height = 2 * image.height;
  canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, failed) =>
    canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error('the browser made no PNG'))), 'image/png'),
  );
}

/** Units of the screen in SI units. */
const SI: Record<string, { unit: string; factor: number }> = {
  ms: { unit: 's', factor: 1e-3 },
  'Mb/s': { unit: 'bps', factor: 1e6 },
  '%': { unit: 'fraction', factor: 1e-2 },
};
/** The curves as they are drawn, a row for each point. */
export function table(figure: Figure): string {
  const { panel, from, to } = figure,
    { unit, factor } = SI[panel.unit] ?? { unit: panel.unit, factor: 1 };
  const ends = panel.curves.some((c) => c.to);
  const si = (v: number): number | null => (Number.isFinite(v) ? Number((v * factor).toPrecision(12)) : null);
  const rows = (series: string, quantity: string, c: Curve): unknown[][] =>
    Array.from(c.x, (at, i) => ({ at, i, value: si(c.y[i]!) }))
      .filter(({ at }) => at >= from && at <= to)
      .map(({ at, value, i }) => [series, quantity, at, value, ...(ends ? [c.to?.[i] ?? null] : [])]);
  const curves = panel.curves.flatMap((c) => rows(called(c, figure), c.role === 'internal' ? panel.title : c.role, c));
  const band = panel.band
    ? [
        ...rows('all flows', 'percentile 10', panel.band.low),
        ...rows('all flows', 'percentile 50', panel.band.middle),
        ...rows('all flows', 'percentile 90', panel.band.high),
      ]
    : [];
  const drops = ticksIn(figure).map((at) => ['packet dropped', 'drop', at, null]);
  const head = unit ? `value_${unit.replaceAll(/\W+/g, '_')}` : 'value';
  return csv(['series', 'quantity', 'time_s', head, ...(ends ? ['end_s'] : [])], [...curves, ...band, ...drops]);
}

/** The name of a file: of the scenario and the chart. */
export const fileName = (scenario: string, panel: PanelData, ending: string): string =>
  `${scenario || 'scenario'}-${panel.id.replace('internal:', '')}`.replaceAll(/[^\w.-]+/g, '-') + ending;
