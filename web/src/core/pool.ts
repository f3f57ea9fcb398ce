/** Runs over several workers: one instance each, the next request to whoever is free. */
import { Client } from './client';
import { Failed } from './lab';
import type { Files, Outcome, PageClass, RunRequest } from './types';
import { wasm } from './wasm';

export class Pool {
  #clients: Client[] = [];
  #opened: Promise<PageClass | null> | null = null;
  #ended = false;
  /** `code`: a controller of the page, which the user has confirmed. */
  constructor(private readonly files: Files = {}, private readonly code: string | null = null, private readonly workers = Math.max(1, Math.min(8, navigator.hardwareConcurrency || 2))) {}
  /** Starts the workers. The class of the page's controller, if there is one. */
  open(): Promise<PageClass | null> {
    return (this.#opened ??= (async () => {
      const bytes = await wasm();
      this.#clients = Array.from({ length: this.workers }, () => new Client(bytes));
      const [first] = await Promise.all(this.#clients.map(async (client) => {
        await client.ready;
        await client.call('files', this.files);
        return client.call('controller', this.code === null ? null : { code: this.code, confirmed: true });
      }));
      return first ?? null;
    })());
  }
  /** The outcome of each request, or the error that ended it, in their order; `done` is called after each. An error in what the user gave ends all. */
  async each(requests: readonly RunRequest[], done: (finished: number) => void = () => undefined): Promise<(Outcome | Failed)[]> {
    await this.open();
    const results: (Outcome | Failed)[] = new Array(requests.length);
    let next = 0, finished = 0;
    await Promise.all(this.#clients.map(async (client) => {
      while (next < requests.length && !this.#ended) {
        const i = next++;
        try { results[i] = (await client.call('run', requests[i]!)).outcome ?? new Failed('the run was stopped'); }
        catch (error) { if (!(error instanceof Failed) || this.#ended) throw error; results[i] = error; }
        done(++finished);
      }
    }));
    if (this.#ended) throw new Failed('stopped');
    return results;
  }
  /** The outcomes; the first error ends all. */
  async run(requests: readonly RunRequest[], done: (finished: number) => void): Promise<Outcome[]> {
    return (await this.each(requests, done)).map((result) => { if (result instanceof Failed) throw result; return result; });
  }
  end(): void { this.#ended = true; this.#clients.forEach((c) => c.end()); this.#clients = []; }
}
