/** The core in a worker, as promises. */
import LabWorker from './worker?worker&inline';
import { Failed, Refused } from './lab';
import type { CallName, Calls, Reply } from './protocol';
import type { Catalog, Shape } from './types';

export type Progress = (now: number, bytes: number, shape: Shape) => void;
interface Waiting {
  resolve: (answer: never) => void;
  reject: (error: Error) => void;
  progress?: Progress;
}

export class Client {
  #worker: Worker;
  #waiting = new Map<number, Waiting>();
  #last = 0;
  /** The catalog, once the core is compiled. */
  readonly ready: Promise<Catalog>;

  constructor(wasm: ArrayBuffer) {
    this.#worker = new LabWorker();
    this.#worker.onmessage = (event: MessageEvent<Reply>) => this.#receive(event.data);
    this.#worker.onerror = (event) => this.#abandon(new Failed(event.message || 'the worker stopped'));
    this.ready = this.call('begin', { wasm });
    this.ready.catch(() => undefined);
  }
  #receive(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id);
    if (!waiting) return;
    if (reply.kind === 'progress') return waiting.progress?.(reply.now, reply.bytes, reply.shape);
    this.#waiting.delete(reply.id);
    if (reply.kind === 'done') waiting.resolve(reply.answer as never);
    else waiting.reject(reply.kind === 'refused' ? new Refused(reply.problem) : new Failed(reply.message));
  }
  call<K extends CallName>(call: K, request: Calls[K]['request'], progress?: Progress): Promise<Calls[K]['answer']> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (answer: never) => void, reject, progress });
      this.#worker.postMessage({ id, call, request });
    });
  }
  #abandon(error: Error): void {
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
  /** Ends the worker, also inside a call that does not return. */
  end(): void {
    this.#worker.terminate();
    this.#abandon(new Failed('stopped'));
  }
}
