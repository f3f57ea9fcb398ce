/** Messages between page and worker. Every answer carries the id of its request; progress carries the id of its run. */
import type {
  Catalog,
  Checked,
  Curves,
  Ended,
  FileKind,
  Files,
  Flights,
  Messages,
  Places,
  PageClass,
  Problem,
  RadioPlaces,
  RunRequest,
  Satellites,
  ScenarioRequest,
  Shape,
  Transmissions,
  Why,
} from './types';

import type { Cause, TransferFile, TransferShown } from './transfer';

export interface Calls {
  begin: { request: { wasm: ArrayBuffer }; answer: Catalog };
  files: { request: Files; answer: null };
  check: { request: ScenarioRequest; answer: Checked };
  run: { request: RunRequest; answer: Ended };
  stop: { request: null; answer: null };
  curves: { request: { from: number; to: number; px: number }; answer: Curves };
  flights: { request: { from: number; to: number }; answer: Flights };
  /** The messages of applications of the run so far. */
  messages: { request: null; answer: Messages };
  transmissions: { request: { from: number; to: number }; answer: Transmissions };
  why: { request: { at_s: number; flow?: string; cut: boolean }; answer: Why };
  satellites: { request: ScenarioRequest & { from?: string; to?: string; until_s: number }; answer: Satellites };
  places: { request: { at: number }; answer: Places };
  radio: { request: ScenarioRequest; answer: RadioPlaces };
  /** A recorded run in place of one of the core: the text of its JSON. Null: none. */
  record: { request: string | null; answer: Shape | null };
  kind: { request: Uint8Array; answer: FileKind | null };
  /** A recording of a real transfer: a file, with the place in `about.flows` of its flow, or the text of a `TransferFile`. */
  transfer: {
    request: { file: File; flow?: number } | { text: string };
    answer: { shown: TransferShown; shape: Shape };
  };
  cause: { request: { at_s: number; cut: boolean }; answer: Cause };
  /** The recording as a file, without addresses unless they are asked for. */
  transfer_file: { request: { addresses: boolean }; answer: TransferFile };
  controller: { request: { code: string; confirmed: true } | null; answer: PageClass | null };
}
export type CallName = keyof Calls;
export type Request = { [K in CallName]: { id: number; call: K; request: Calls[K]['request'] } }[CallName];
export type Reply =
  | { id: number; kind: 'done'; answer: unknown }
  | { id: number; kind: 'refused'; problem: Problem }
  | { id: number; kind: 'failed'; message: string }
  | { id: number; kind: 'progress'; now: number; bytes: number; shape: Shape };
