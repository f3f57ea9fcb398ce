/** Numbers for people: SI units, three or four digits, a minus sign that is one. */
export const DASH = '–';
const sign = (text: string): string => text.replace('-', '−');
export function digits(value: number, most = 3): string {
  if (!Number.isFinite(value)) return value === Infinity ? '∞' : DASH;
  const size = Math.abs(value);
  if (size >= 10 ** most) return sign(Math.round(value).toLocaleString('en').replaceAll(',', ' '));
  return sign(String(Number(value.toPrecision(most))));
}
export function rate(bps: number | null | undefined): string {
  if (bps == null || !Number.isFinite(bps)) return DASH;
  for (const [size, unit] of [
    [1e9, 'Gb/s'],
    [1e6, 'Mb/s'],
    [1e3, 'kb/s'],
  ] as const)
    if (Math.abs(bps) >= size) return `${digits(bps / size)} ${unit}`;
  return `${digits(bps)} b/s`;
}
export function duration(seconds: number | null | undefined): string {
  if (seconds == null || !Number.isFinite(seconds)) return DASH;
  const size = Math.abs(seconds);
  if (size === 0) return '0 s';
  if (size < 1e-3) return `${digits(seconds * 1e6)} µs`;
  if (size < 1) return `${digits(seconds * 1e3, size < 0.1 ? 3 : 4)} ms`;
  return `${digits(seconds, 4)} s`;
}
export const count = (value: number | null | undefined): string =>
  value == null ? DASH : digits(value, 1 + Math.floor(Math.log10(Math.max(1, Math.abs(value)))));
export const percent = (part: number | null | undefined): string => (part == null ? DASH : `${digits(part * 100)} %`);
export const bytes = (n: number): string =>
  n >= 1e6 ? `${digits(n / 1e6)} MB` : n >= 1e3 ? `${digits(n / 1e3)} kB` : `${n} B`;
