/** The recording of a real transfer that the page shows: read from a file of the user, or held by the page itself. */
import { Gunzip } from 'fflate';
import { Failed, Refused } from '../core/lab';
import type { TransferFile } from '../core/transfer';
import { engine, leaveRecording, look, mark, run, start } from './run.svelte';
import { claim, forgetTransfer, isCurrent, isTransfer, transfer } from './shown.svelte';
import { moveTo, resetTime } from './time.svelte';

/** Bytes at the beginning of a file that say what it is. */
const HEAD_BYTES = 4096;

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What is wrong with a file that is no recording, in words; '' for a recording; null: it is not recognised. */
export async function kindOf(file: File): Promise<string | null> {
  if (!run.catalog) await start();
  let head = new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer());
  if (head[0] === 0x1f && head[1] === 0x8b) {
    const parts: Uint8Array[] = [];
    try {
      new Gunzip((bytes) => parts.push(bytes)).push(head);
    } catch {
      /* damaged: the packed bytes are looked at */
    }
    if (parts[0]?.length) head = new Uint8Array(parts[0]);
  }
  const kind = (await engine()?.call('kind', head)) ?? null;
  if (!kind) return null;
  return kind.recording ? '' : `${file.name} is ${kind.words}; ${kind.remedy}.`;
}

/** Reads a file and shows a flow, by default that with the most data. */
export async function openTransfer(file: File, flow?: number): Promise<void> {
  leaveRecording();
  run.failure = '';
  await showWith({ file, ...(flow === undefined ? {} : { flow }) }, file);
}
/** Shows the recording that the page holds. */
export const showHeld = (text: string): Promise<void> => showWith({ text }, null);

async function showWith(request: { file: File; flow?: number } | { text: string }, file: File | null): Promise<void> {
  const client = engine();
  if (!client) return;
  const mine = claim();
  transfer.part = 0;
  mark('running');
  try {
    const { shown, shape } = await client.call('transfer', request, (part) => {
      if (isCurrent(mine)) transfer.part = part;
    });
    if (!isCurrent(mine)) return;
    Object.assign(transfer, { shown, file, cause: null, note: '', part: null });
    Object.assign(run, { shape, outcome: null, curves: null, recordedRange: null, key: '', why: null });
    resetTime(shape.duration_s);
    moveTo(shape.duration_s); // the last reduction is that of the whole transfer
    await look();
    if (isCurrent(mine)) mark('ended');
  } catch (error) {
    if (!isCurrent(mine)) return;
    transfer.part = null;
    // Another flow of the same file, or another file that cannot be read: what is shown stays.
    run.failure = error instanceof Failed && error.message === 'stopped' ? '' : message(error);
    if (!transfer.shown) Object.assign(run, { shape: null, curves: null, outcome: null, key: '' });
    mark(transfer.shown ? 'ended' : 'error');
  }
}
/** Ends the reading of a file. */
export const stopReading = (): void => void engine()?.call('stop', null);
/** Back to the scenario; a reading ends. */
export function leaveTransfer(): void {
  if (!isTransfer()) return;
  claim();
  stopReading();
  forgetTransfer();
  Object.assign(run, { shape: null, curves: null, outcome: null, key: '', failure: '' });
  void engine()?.call('record', null);
}
/** The cause of the last event, or of the last reduction, up to a time. */
export async function explainTransfer(at_s: number, cut: boolean): Promise<void> {
  Object.assign(transfer, { cause: null, note: '' });
  try {
    transfer.cause = (await engine()?.call('cause', { at_s, cut })) ?? null;
  } catch (error) {
    transfer.note = error instanceof Refused || error instanceof Failed ? error.message : String(error);
  }
}
/** The recording as the file of a page. */
export const transferFile = async (addresses: boolean): Promise<TransferFile | undefined> =>
  engine()?.call('transfer_file', { addresses });
