/** Runs over several workers: one instance each, the next request to whoever is free. */
import { Client } from './client';
import type { Files, Outcome, RunRequest } from './types';
import { wasm } from './wasm';

export class Pool {
  #clients: Client[] = [];
  #ended = false;
  constructor(private readonly workers = Math.max(1, Math.min(8, navigator.hardwareConcurrency || 2))) {}
  /** The outcomes in the order of the requests; `done` is called after each. The first error ends all. */
  async run(requests: readonly RunRequest[], files: Files, done: (finished: number) => void): Promise<Outcome[]> {
    const outcomes: Outcome[] = new Array(requests.length);
    let next = 0, finished = 0;
    const work = async (client: Client): Promise<void> => {
      await client.ready;
      await client.call('files', files);
      while (next < requests.length && !this.#ended) {
        const i = next++;
        const ended = await client.call('run', requests[i]!);
        if (!ended.outcome) throw new Error('the run was stopped');
        outcomes[i] = ended.outcome;
        done(++finished);
      }
    };
    const bytes = await wasm();
    this.#clients = Array.from({ length: Math.min(this.workers, requests.length) }, () => new Client(bytes));
    try { await Promise.all(this.#clients.map(work)); } finally { this.end(); }
    return outcomes;
  }
  end(): void { this.#ended = true; this.#clients.forEach((c) => c.end()); this.#clients = []; }
}
