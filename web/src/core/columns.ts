/** Columns of a recording: what `python/ackclock/apps/view/columns.py` writes. */
import { inflateSync } from 'fflate';
import { fromBase64 } from '../share/base64';

/** `planes` bytes a row, the lowest byte of every row first. With a scale: differences of whole numbers, the sign in the lowest bit. */
export interface Column {
  rows: number;
  planes: number;
  scale?: number;
  data: string;
  missing?: string;
}

export function column(packed: Column): Float64Array {
  const { rows, planes, scale } = packed,
    data = inflateSync(fromBase64(packed.data));
  if (data.length !== rows * planes) throw new Error('the recording is damaged: a column has another length');
  const out = scale === undefined ? floats(data, rows, planes) : numbers(data, rows, planes, scale);
  if (packed.missing) {
    const bits = inflateSync(fromBase64(packed.missing));
    for (let i = 0; i < rows; i++) if ((bits[i >> 3]! >> (i & 7)) & 1) out[i] = NaN;
  }
  return out;
}
function numbers(data: Uint8Array, rows: number, planes: number, scale: number): Float64Array {
  const out = new Float64Array(rows);
  let sum = 0;
  for (let i = 0; i < rows; i++) {
    let step = 0;
    for (let p = planes - 1; p >= 0; p--) step = step * 256 + data[p * rows + i]!;
    sum += step % 2 ? -(step + 1) / 2 : step / 2;
    out[i] = sum / scale;
  }
  return out;
}
/** The bits of each float, exclusive or those of the one before. */
function floats(data: Uint8Array, rows: number, planes: number): Float64Array {
  const out = new Float64Array(rows),
    bytes = new Uint8Array(out.buffer);
  for (let p = 0; p < planes; p++) {
    let last = 0;
    for (let i = 0; i < rows; i++) bytes[i * 8 + p] = last ^= data[p * rows + i]!;
  }
  return out;
}
/** A column of small numbers, in less memory. */
export const small = (packed: Column): Uint8Array => Uint8Array.from(column(packed));
export const middle = (packed: Column): Uint32Array => Uint32Array.from(column(packed));
