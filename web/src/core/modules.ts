/**
 * Controllers in WebAssembly: the core loads them (crates/web/src/modules.rs), the browser runs them. A module has no imports, so
 * it sees what the core writes into its memory and nothing else. The worker ends one that does not end.
 */
const PAGE = 65_536;
const MOST_PAGES = 256;
/** Room for what passes, beyond the module's own memory. */
const MORE_PAGES = 32;
const MOST_ENTRIES = 10_000;
const MOST_GLOBALS = 1000;
const MOST_INSTANCES = 10_000;

/** A module that is too large, or no module; the message completes "FILE ...". */
class Unfit extends Error {}

/** Reads numbers of a module. */
class Reader {
  constructor(
    readonly bytes: Uint8Array,
    public at = 0,
  ) {}
  byte(): number {
    if (this.at >= this.bytes.length)
      throw new Unfit('is not a WebAssembly module that can run here: it ends too early');
    return this.bytes[this.at++]!;
  }
  number(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
    throw new Unfit('is not a WebAssembly module that can run here: a number is too long');
  }
}
const encoded = (value: number): number[] => {
  const out: number[] = [];
  do {
    const rest = Math.floor(value / 128);
    out.push((value % 128) + (rest ? 128 : 0));
    value = rest;
  } while (value);
  return out;
};

/** The module with a bound for its memory. Fails if it asks for more than is possible; what else is wrong the compiler says. */
export function bounded(bytes: Uint8Array): Uint8Array {
  if (bytes[0] !== 0 || bytes[1] !== 97 || bytes[2] !== 115 || bytes[3] !== 109)
    throw new Unfit('is not a WebAssembly module: magic header not detected');
  const parts: Uint8Array[] = [bytes.subarray(0, 8)];
  const reader = new Reader(bytes, 8);
  while (reader.at < bytes.length) {
    const begin = reader.at;
    const section = reader.byte();
    const length = reader.number();
    const content = reader.at;
    reader.at += length;
    if (reader.at > bytes.length) throw new Unfit('is not a WebAssembly module that can run here: it ends too early');
    const inside = new Reader(bytes.subarray(0, content + length), content);
    if (section === 4)
      for (let tables = inside.number(); tables > 0; tables--) {
        inside.byte();
        const limited = inside.byte() & 1;
        if (inside.number() > MOST_ENTRIES) throw new Unfit(`asks for a table of more than ${MOST_ENTRIES} entries`);
        if (limited) inside.number();
      }
    if (section === 6 && inside.number() > MOST_GLOBALS) throw new Unfit(`has more than ${MOST_GLOBALS} globals`);
    if (section !== 5) {
      parts.push(bytes.subarray(begin, reader.at));
      continue;
    }
    const memories = inside.number();
    if (memories !== 1) throw new Unfit(`has ${memories} memories, not one`);
    if (inside.byte() > 1) throw new Unfit('shares its memory or has one of 64 bits');
    const least = inside.number();
    if (least > MOST_PAGES)
      throw new Unfit(`asks for ${Math.ceil(least / 16)} MiB; at most ${MOST_PAGES / 16} MiB are possible`);
    const limits = [1, 1, ...encoded(least), ...encoded(MOST_PAGES + MORE_PAGES)];
    parts.push(Uint8Array.from([5, ...encoded(limits.length), ...limits]));
  }
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

type Export = (...values: (number | bigint)[]) => number | bigint | undefined;
interface Compiled {
  module: WebAssembly.Module;
  functions: string[];
  globals: string[];
}
interface Running {
  of: number;
  memory: WebAssembly.Memory;
  functions: Export[];
  globals: WebAssembly.Global[];
}

/** What a browser says of a trap, in the words of the core's interpreter. */
function told(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  if (/unreachable/i.test(text)) return 'unreachable';
  if (/out of bounds|out-of-bounds/i.test(text)) return 'out of bounds memory access';
  if (/divi(de|sion) by zero/i.test(text)) return 'integer divide by zero';
  if (/stack|recursion/i.test(text)) return 'call stack exhausted';
  return text.split('\n')[0]!.slice(0, 200);
}

export class Modules {
  #compiled: Compiled[] = [];
  #running = new Map<number, Running>();
  #last = 0;
  #text = '';

  /** Forgets all modules and instances: the core begins anew. */
  begin(): void {
    this.#compiled = [];
    this.#running.clear();
  }

  /** The imports of the core. Each returns a number from 0 on, or -1 with a text. */
  imports(memory: () => WebAssembly.Memory): Record<string, WebAssembly.ImportValue> {
    const bytes = (at: number, length: number): Uint8Array => new Uint8Array(memory().buffer, at >>> 0, length >>> 0);
    const tried =
      (work: (...numbers: number[]) => number): ((...numbers: number[]) => number) =>
      (...numbers) => {
        try {
          return work(...numbers.map((number) => number >>> 0));
        } catch (error) {
          this.#text = error instanceof Unfit ? error.message : told(error);
          return -1;
        }
      };
    const of = (instance: number): Running => {
      const running = this.#running.get(instance);
      if (!running) throw new Error('the instance is gone');
      return running;
    };
    return {
      module_compile: tried((at, length) => this.#compile(bytes(at, length).slice())),
      module_start: tried((module) => this.#start(module, true)),
      module_call: tried((instance, place, at, count) => {
        const view = new DataView(memory().buffer, at, 64);
        const values = Array.from({ length: count }, (_, i) => {
          const kind = view.getUint8(16 * i);
          if (kind === 0) return view.getInt32(16 * i + 8, true);
          return kind === 1 ? view.getBigInt64(16 * i + 8, true) : view.getFloat64(16 * i + 8, true);
        });
        const result = of(instance).functions[place]!(...values);
        const whole = typeof result === 'bigint' ? result : BigInt((result ?? 0) >>> 0);
        new DataView(memory().buffer, at, 8).setBigInt64(0, BigInt.asIntN(64, whole), true);
        return 0;
      }),
      module_read: tried((instance, address, at, length) => {
        bytes(at, length).set(new Uint8Array(of(instance).memory.buffer, address, length));
        return 0;
      }),
      module_write: tried((instance, address, at, length) => {
        new Uint8Array(of(instance).memory.buffer, address, length).set(bytes(at, length));
        return 0;
      }),
      module_grow: tried((instance, pages) => of(instance).memory.grow(pages) * PAGE),
      module_copy: tried((instance) => this.#copy(of(instance))),
      module_release: (instance: number) => void this.#running.delete(instance >>> 0),
      module_text: (at: number, most: number) => {
        const text = new TextEncoder().encode(this.#text).subarray(0, most >>> 0);
        bytes(at, text.length).set(text);
        return text.length;
      },
    };
  }

  #compile(content: Uint8Array): number {
    let module: WebAssembly.Module;
    try {
      module = new WebAssembly.Module(bounded(content) as BufferSource);
    } catch (error) {
      if (error instanceof Unfit) throw error;
      throw new Unfit(`is not a WebAssembly module that can run here: ${told(error)}`);
    }
    const [first] = WebAssembly.Module.imports(module);
    if (first)
      throw new Unfit(
        `imports ${first.module}.${first.name}: build it without the standard library (docs/native-controllers.md)`,
      );
    const exported = WebAssembly.Module.exports(module);
    if (!exported.some(({ kind, name }) => kind === 'memory' && name === 'memory'))
      throw new Unfit('does not export its memory as "memory"');
    const names = (wanted: string): string[] => exported.filter(({ kind }) => kind === wanted).map(({ name }) => name);
    const functions = names('function');
    this.#text = functions.join('\n');
    return this.#compiled.push({ module, functions, globals: names('global') }) - 1;
  }

  #start(number: number, initialize: boolean): number {
    const compiled = this.#compiled[number]!;
    if (this.#running.size >= MOST_INSTANCES) throw new Error(`more than ${MOST_INSTANCES} instances`);
    const { exports } = new WebAssembly.Instance(compiled.module);
    const functions = compiled.functions.map((name) => exports[name] as Export);
    if (initialize) (exports._initialize as Export | undefined)?.();
    const globals = compiled.globals.map((name) => exports[name] as WebAssembly.Global);
    this.#running.set(++this.#last, { of: number, memory: exports.memory as WebAssembly.Memory, functions, globals });
    return this.#last;
  }

  #copy(from: Running): number {
    const copy = this.#start(from.of, false);
    const to = this.#running.get(copy)!;
    const more = (from.memory.buffer.byteLength - to.memory.buffer.byteLength) / PAGE;
    if (more > 0) to.memory.grow(more);
    new Uint8Array(to.memory.buffer).set(new Uint8Array(from.memory.buffer));
    from.globals.forEach((global, i) => {
      try {
        to.globals[i]!.value = global.value as number;
      } catch {
        /* it does not change */
      }
    });
    return copy;
  }
}
