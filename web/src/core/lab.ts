/** The C ABI of the core: JSON and columns of numbers in linear memory. One instance holds one run. */
import { Modules } from './modules';
import type { Cause, TransferRead } from './transfer';
import type {
  Catalog,
  Checked,
  Curves,
  FileKind,
  Files,
  Flights,
  Messages,
  NodePosition,
  Outcome,
  Places,
  Problem,
  RadioPlaces,
  Recorded,
  RunRequest,
  Satellites,
  ScenarioRequest,
  Shape,
  Transmissions,
  Why,
} from './types';

interface Exports {
  memory: WebAssembly.Memory;
  begin(): void;
  failed(): number;
  failed_length(): number;
  buffer(length: number): number;
  answer(): number;
  answer_length(): number;
  data(): number;
  data_length(): number;
  files(): number;
  check(): number;
  layout(): number;
  open(): number;
  why(): number;
  satellites(): number;
  advance(events: number): number;
  advance_to(seconds: number): number;
  now(): number;
  outcome(): void;
  fingerprint(): void;
  catalog(): void;
  column(number: number): number;
  column_length(number: number): number;
  curves(from: number, to: number, px: number): void;
  flights(from: number, to: number): void;
  places(seconds: number): void;
  radio(): number;
  messages(): void;
  recorded(): void;
  transmissions(from: number, to: number): void;
  trace_kind(): void;
  trace_open(): number;
  trace_push(): number;
  trace_finish(): number;
  trace_column(number: number): void;
  trace_reductions(): void;
  trace_why(seconds: number, reduction: number): number;
}
type Call = 'files' | 'check' | 'layout' | 'open' | 'why' | 'satellites' | 'radio' | 'trace_open';
/** Called by the core for each event of a controller of the page; `event` is its record in memory. True: it failed. */
export type PassEvent = (
  controller: number,
  kind: number,
  event: number,
  memory: { readonly buffer: ArrayBuffer },
) => boolean;

/** An error in what the user gave. */
export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(problem.full ?? problem.message);
  }
}
/** The core panicked or ran out of memory. The instance was replaced; its run is gone. */
export class Failed extends Error {}

export class Lab {
  #core: Exports;
  /** The files given last, which a new instance needs again. */
  #files: Files = {};
  constructor(
    private readonly module: WebAssembly.Module,
    private readonly passEvent: PassEvent = () => true,
    private readonly modules = new Modules(),
  ) {
    this.#core = this.#instance();
  }

  /** Another instance of the same core, with its own memory. */
  another(): Lab {
    return new Lab(this.module);
  }
  #instance(): Exports {
    const page = {
      pass_event: (controller: number, kind: number, event: number) =>
        this.passEvent(controller, kind, event, core.memory) ? 1 : 0,
      ...this.modules.imports(() => core.memory),
    };
    this.modules.begin();
    const core = new WebAssembly.Instance(this.module, { page }).exports as unknown as Exports;
    core.begin();
    return core;
  }
  #text(at: number, length: number): string {
    return new TextDecoder().decode(new Uint8Array(this.#core.memory.buffer, at, length));
  }
  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError || error instanceof RangeError)) throw error;
      let words = '';
      try {
        words = this.#text(this.#core.failed(), this.#core.failed_length());
      } catch {
        /* the memory is not readable */
      }
      this.reset();
      throw new Failed(
        words ||
          `the core stopped: ${error.message}. The run may need more memory than a page has; shorten it or use fewer flows`,
      );
    }
  }
  /** Replaces the instance and gives its memory back. */
  reset(): void {
    this.#core = this.#instance();
    if (Object.keys(this.#files).length) this.#call('files', this.#files);
  }
  #call(what: Call, request: unknown): number {
    this.#put(new TextEncoder().encode(JSON.stringify(request)));
    return this.#core[what]();
  }
  #put(bytes: Uint8Array): void {
    const at = this.#core.buffer(bytes.length);
    new Uint8Array(this.#core.memory.buffer, at, bytes.length).set(bytes);
  }
  #answer<T>(): T {
    return JSON.parse(this.#text(this.#core.answer(), this.#core.answer_length())) as T;
  }
  #data(): Float64Array {
    return new Float64Array(this.#core.memory.buffer, this.#core.data(), this.#core.data_length()).slice();
  }
  /** The answer with its numbers; a message in place of an answer is an error. */
  #withData<T extends { data: Float64Array }>(): T {
    const answer = this.#answer<T & { message?: string }>();
    if (answer.message !== undefined) throw new Refused({ message: answer.message });
    return { ...answer, data: this.#data() };
  }
  #ask<T>(what: Call, request: unknown): T {
    return this.#guard(() => {
      if (this.#call(what, request) !== 0) throw new Refused(this.#answer<Problem>());
      return this.#answer<T>();
    });
  }

  files(files: Files): void {
    this.#files = files;
    this.#guard(() => {
      if (this.#call('files', files) !== 0) throw new Refused(this.#answer<Problem>());
    });
  }
  check(request: ScenarioRequest): Checked {
    const checked = this.#ask<Omit<Checked, 'positions'>>('check', request),
      { links, flows } = checked.network;
    return {
      ...checked,
      positions:
        checked.kind !== 'wired'
          ? []
          : this.layout(
              links.map((l) => l.ends),
              flows.map((f) => [f.from, f.to]),
            ),
    };
  }
  open(request: RunRequest): Shape {
    const shape = this.#ask<Omit<Shape, 'positions'>>('open', request);
    return { ...shape, positions: this.layout(shape.link_ends, shape.flow_ends) };
  }
  /** Positions of nodes in a drawing; links and flows by the names of their ends. */
  layout(links: [string, string][], flows: [string, string][]): NodePosition[] {
    return this.#ask<[string, number, number, number][]>('layout', { links, flows }).map(
      ([node, column, row, rows]) => ({ node, column, row, rows }),
    );
  }
  why(request: { at_s: number; flow?: string; cut: boolean }): Why {
    return this.#ask('why', request);
  }
  satellites(request: unknown): Satellites {
    return this.#ask('satellites', request);
  }
  /** True at the end of the run. */
  advance(events: number): boolean {
    return this.#guard(() => this.#status(this.#core.advance(events)));
  }
  advanceTo(seconds: number): boolean {
    return this.#guard(() => this.#status(this.#core.advance_to(seconds)));
  }
  #status(code: number): boolean {
    if (code < 0) throw new Refused(this.#answer<Problem>());
    return code === 1;
  }
  now(): number {
    return this.#core.now();
  }
  outcome(): Outcome {
    return JSON.parse(this.outcomeText()) as Outcome;
  }
  /** The outcome as the core writes it. */
  outcomeText(): string {
    return this.#guard(() => {
      this.#core.outcome();
      const text = this.#text(this.#core.answer(), this.#core.answer_length());
      if (!text.includes('"failure":')) return text;
      const { failure, flow, at_s } = JSON.parse(text) as { failure?: string; flow?: string; at_s?: number };
      if (failure !== undefined) throw new Failed(`flow ${flow}, at ${at_s} s: ${failure}`);
      return text;
    });
  }
  fingerprint(): string {
    return this.#guard(() => {
      this.#core.fingerprint();
      return this.#text(this.#core.answer(), this.#core.answer_length());
    });
  }
  catalog(): Catalog {
    return this.#guard(() => {
      this.#core.catalog();
      return this.#answer<Catalog>();
    });
  }
  /** Of each of `px` columns the first, least, greatest and last value. */
  curves(from: number, to: number, px: number): Curves {
    return this.#guard(() => {
      this.#core.curves(from, to, px);
      return this.#withData<Curves>();
    });
  }
  flights(from: number, to: number): Flights {
    return this.#guard(() => {
      this.#core.flights(from, to);
      return this.#withData<Flights>();
    });
  }
  transmissions(from: number, to: number): Transmissions {
    return this.#guard(() => {
      this.#core.transmissions(from, to);
      return this.#withData<Transmissions>();
    });
  }
  messages(): Messages {
    return this.#guard(() => {
      this.#core.messages();
      return this.#withData<Messages>();
    });
  }
  recorded(): Recorded {
    return this.#guard(() => {
      this.#core.recorded();
      return this.#answer<Recorded>();
    });
  }
  places(seconds: number): Places {
    return this.#guard(() => {
      this.#core.places(seconds);
      return this.#withData<Places>();
    });
  }
  radio(request: ScenarioRequest): RadioPlaces {
    const answer = this.#ask<Omit<RadioPlaces, 'data'>>('radio', request);
    return { ...answer, data: this.#data() };
  }
  /** What the file is that begins with these bytes; null: it is not recognised. */
  traceKind(head: Uint8Array): FileKind | null {
    return this.#guard(() => {
      this.#put(head);
      this.#core.trace_kind();
      return this.#answer<FileKind | null>();
    });
  }
  /** Begins to read a recording of another program; rows are recorded of a flow that is named. */
  traceOpen(flow: { flow: number; direction: number } | null): void {
    this.#guard(() => {
      if (this.#call('trace_open', flow ?? {}) !== 0) throw new Refused(this.#answer<Problem>());
    });
  }
  tracePush(bytes: Uint8Array): void {
    this.#guard(() => {
      this.#put(bytes);
      if (this.#core.trace_push() !== 0) throw new Refused(this.#answer<Problem>());
    });
  }
  traceFinish(): TransferRead {
    return this.#guard(() => {
      if (this.#core.trace_finish() !== 0) throw new Refused(this.#answer<Problem>());
      return this.#answer<TransferRead>();
    });
  }
  traceColumn(number: number): Float64Array {
    return this.#guard(() => {
      this.#core.trace_column(number);
      return this.#data();
    });
  }
  traceReductions(): Float64Array {
    return this.#guard(() => {
      this.#core.trace_reductions();
      return this.#data();
    });
  }
  traceWhy(at_s: number, cut: boolean): Cause {
    return this.#guard(() => {
      if (this.#core.trace_why(at_s, cut ? 1 : 0) !== 0) throw new Refused(this.#answer<Problem>());
      return this.#answer<Cause>();
    });
  }
  /** Place and length of a column; memory may grow in the calls, and with it its buffer changes. */
  #place(number: number): [ArrayBuffer, number, number] {
    const at = this.#core.column(number),
      length = this.#core.column_length(number);
    return [this.#core.memory.buffer as ArrayBuffer, at, length];
  }
  /** A column of the trace as f64; copied. */
  column(number: number): Float64Array {
    return this.#guard(() => new Float64Array(...this.#place(number)).slice());
  }
  column32(number: number): Uint32Array {
    return this.#guard(() => new Uint32Array(...this.#place(number)).slice());
  }
  column8(number: number): Uint8Array {
    return this.#guard(() => new Uint8Array(...this.#place(number)).slice());
  }
  get bytes(): number {
    return this.#core.memory.buffer.byteLength;
  }
}
