/** Reads a recording of a real transfer from a file, piece by piece, and makes the file of a page that holds it. */
import { Gunzip, deflateSync } from 'fflate';
import { toBase64 } from '../share/base64';
import type { Column } from './columns';
import { Refused, type Lab } from './lab';
import { Transfer, type TransferFile, type TransferFlow, type TransferRead } from './transfer';
import type { Shape } from './types';

/** Part of the file that is read, from 0 to 1. Rejects if the reading is no longer wanted. */
type Told = (part: number, shape: Shape) => Promise<void>;
/** A compressed file that expands further is not read. */
const MOST_EXPANSION = 200,
  FREE_OUTPUT = 2 ** 30,
  /** Bytes that are unpacked at once: of a damaged file so many are lost at most. */
  PIECE = 4096;
/** Characters that the columns of a saved page may take. */
const MOST_TEXT = 24e6,
  MOST_CAUSES = 500;
const EMPTY: Shape = {
  duration_s: 1,
  flows: [],
  flow_ends: [],
  links: [],
  link_ends: [],
  internals: [],
  positions: [],
};

/** Pushes the bytes of a file through the core, unpacked if gzip packed it. */
async function push(lab: Lab, file: File, told: (bytes: number) => Promise<void>): Promise<string> {
  const source = file.stream().getReader();
  let unpack: Gunzip | null = null,
    seen = 0,
    total = 0,
    ended = false;
  for (;;) {
    const { done, value } = await source.read();
    await told(seen + (value?.length ?? 0));
    if (done) return unpack && !ended && total ? 'the gzip data is cut off' : '';
    if (seen === 0 && value[0] === 0x1f && value[1] === 0x8b)
      unpack = new Gunzip((bytes, last) => {
        total += bytes.length;
        ended = last;
        if (total > FREE_OUTPUT && total > MOST_EXPANSION * (seen + value.length))
          throw new Refused({ message: `the file expands more than ${MOST_EXPANSION} times; unpack it first` });
        lab.tracePush(bytes);
      });
    if (unpack) {
      try {
        for (let at = 0; at < value.length; at += PIECE) unpack.push(value.subarray(at, at + PIECE));
      } catch (error) {
        if (error instanceof Refused) throw error;
        return `the gzip data is damaged before byte ${seen + value.length}; the rest is not read`;
      }
    } else lab.tracePush(value);
    seen += value.length;
  }
}
async function pass(
  lab: Lab,
  file: File,
  flow: { flow: number; direction: number } | null,
  told: Told,
  part: [number, number],
): Promise<TransferRead> {
  lab.traceOpen(flow);
  const damage = await push(lab, file, (seen) =>
    told(part[0] + ((part[1] - part[0]) * seen) / Math.max(1, file.size), EMPTY),
  );
  const read = lab.traceFinish();
  if (damage) read.about.missing.push(damage);
  return read;
}
/** The flow with the most data. */
function largest(flows: TransferFlow[]): number {
  const size = (f: TransferFlow): number => f.sent_bytes ?? f.sent_packets ?? f.samples ?? 0;
  return flows.reduce((best, flow, i) => (size(flow) > size(flows[best]!) ? i : best), 0);
}

/** The recording of a file with the rows of a flow, by default that with the most data. */
export async function read(lab: Lab, file: File, flow: number | undefined, told: Told): Promise<Transfer> {
  try {
    const first = await pass(lab, file, null, told, [0, 0.5]),
      { flows, kind, missing } = first.about;
    if (!flows.length)
      throw new Refused({
        message: `is ${kind} without data of a flow${missing.length ? `: ${missing.slice(0, 3).join('; ')}` : ''}`,
      });
    const number = flow ?? largest(flows),
      chosen = flows[number]!;
    const second = await pass(lab, file, { flow: chosen.flow - 1, direction: chosen.direction ?? 0 }, told, [0.5, 1]);
    const columns = Object.fromEntries(second.columns.map((name, i) => [name, lab.traceColumn(i)]));
    if (!second.rows) throw new Refused({ message: `#${chosen.flow} has no rows` });
    const { about, codes, segment_bytes } = second;
    const reductions = lab.traceReductions().length;
    return new Transfer({ file: file.name, about, codes, flow: number, segment_bytes, reductions }, columns);
  } catch (error) {
    if (error instanceof Refused) throw new Refused({ message: `${file.name} ${error.message}` });
    throw error;
  }
}

/** The bits of each float, exclusive or those of the one before, in planes (`columns.ts` reads them). */
function packed(values: Float64Array): Column {
  const rows = values.length,
    bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
    planes = new Uint8Array(rows * 8);
  for (let p = 0; p < 8; p++)
    for (let i = 0; i < rows; i++) planes[p * rows + i] = bytes[i * 8 + p]! ^ (i ? bytes[(i - 1) * 8 + p]! : 0);
  return { rows, planes: 8, data: toBase64(deflateSync(planes)) };
}
/** What a page may hold of a flow: without addresses, names, titles and identifiers, unless they are asked for. */
function withoutNames(flow: TransferFlow): TransferFlow {
  const shared = { ...flow };
  delete shared.ends;
  delete shared.names;
  delete shared.name;
  delete shared.title;
  return shared;
}
/** The recording as the file of a page. Raises Refused if it is too long for a page. */
export function anonymous(lab: Lab | null, transfer: Transfer, addresses: boolean): TransferFile {
  const { about } = transfer.about,
    columns = Object.fromEntries(Object.entries(transfer.columns).map(([name, values]) => [name, packed(values)]));
  if (Object.values(columns).reduce((sum, c) => sum + c.data.length, 0) > MOST_TEXT)
    throw new Refused({
      message: `The rows of this flow take more than ${MOST_TEXT / 1e6} MB: too many for a page. Send the file itself; the page reads it.`,
    });
  const causes =
    transfer.causes ?? [...(lab?.traceReductions().slice(0, MOST_CAUSES) ?? [])].map((at) => lab!.traceWhy(at, true));
  return {
    ...transfer.about,
    v: 1,
    // The name of a file can be an identifier, names of fields are the words of the file.
    ...(addresses
      ? {}
      : {
          file: `a recording (${about.kind.replace(/^(a|the) /, '')})`,
          about: { ...about, flows: about.flows.map(withoutNames), unknown_fields: '' },
        }),
    columns,
    causes: [...causes],
  };
}
