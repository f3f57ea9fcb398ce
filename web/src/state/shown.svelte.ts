/** What the laboratory shows: a run, or the recording of a real transfer. Only the last request counts. */
import type { Cause, TransferShown } from '../core/transfer';

class ShownTransfer {
  /** The recording; null: the page shows a run. */
  shown = $state.raw<TransferShown | null>(null);
  /** Part of the file that is read; null: none is being read. */
  part = $state<number | null>(null);
  /** The file that is read, for its other flows; null: the page holds the recording. */
  file = $state.raw<File | null>(null);
  cause = $state.raw<Cause | null>(null);
  note = $state('');
}
export const transfer = new ShownTransfer();
export const isTransfer = (): boolean => transfer.shown !== null || transfer.part !== null;
/** Forgets the recording. */
export function forgetTransfer(): void {
  Object.assign(transfer, { shown: null, file: null, cause: null, note: '', part: null });
}

let turn = 0;
/** Begins to show something else: what was asked for before is out of date. */
export const claim = (): number => ++turn;
export const isCurrent = (mine: number): boolean => mine === turn;
export const current = (): number => turn;
