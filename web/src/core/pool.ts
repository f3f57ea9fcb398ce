/** Runs over several workers: one instance each, the next request to whoever is free. */
import { Client } from './client';
import { Failed } from './lab';
import type { Files, Outcome, RunRequest } from './types';
import { wasm } from './wasm';

export class Pool {
  #clients: Client[] = [];
  #ended = false;
  constructor(
    private readonly files: Files = {},
    private readonly workers = Math.max(1, Math.min(8, navigator.hardwareConcurrency || 2)),
  ) {}
  async #open(): Promise<void> {
    const bytes = await wasm();
    this.#clients = Array.from({ length: this.workers }, () => new Client(bytes));
    await Promise.all(
      this.#clients.map(async (client) => {
        await client.ready;
        await client.call('files', this.files);
      }),
    );
  }
  /** The outcome of each request, in their order; `done` is called after each. The first error ends all. */
  async run(requests: readonly RunRequest[], done: (finished: number) => void): Promise<Outcome[]> {
    await this.#open();
    const results: Outcome[] = new Array(requests.length);
    let next = 0,
      finished = 0;
    await Promise.all(
      this.#clients.map(async (client) => {
        while (next < requests.length && !this.#ended) {
          const i = next++;
          const { outcome } = await client.call('run', requests[i]!);
          if (!outcome) throw new Failed('the run was stopped');
          results[i] = outcome;
          done(++finished);
        }
      }),
    );
    if (this.#ended) throw new Failed('stopped');
    return results;
  }
  end(): void {
    this.#ended = true;
    this.#clients.forEach((c) => c.end());
    this.#clients = [];
  }
}
