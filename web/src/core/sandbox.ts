/**
 * Classes of the page outside a browser (crates/foreign/src/javascript.rs): the program that runs them there. It has one
 * controller, whose events pass through `record`.
 */
import { Controllers, METHODS, camel, lastClass } from './controllers';

/** Methods that a class need not have, and that have an effect all the same. */
const DEFAULTS = ['on_restart', 'set_ssthresh'];

const controllers = new Controllers();
let record = new ArrayBuffer(0);

const ackclock = {
  /** The record of an event. */
  get record(): ArrayBuffer {
    return record;
  },
  /** Makes room for so many numbers. */
  room(numbers: number): void {
    record = new ArrayBuffer(8 * numbers);
  },
  /** Runs a program and takes its class, the last one without a name. Tells name, probes, needs, initial window and methods as TOML. */
  load(code: string, file: string, name: string): string {
    const wanted = name || lastClass(code);
    const known = `typeof ${wanted} === 'undefined' ? undefined : ${wanted}`;
    const found: unknown = new Function(`'use strict';\n${code}\nreturn ${known};`)();
    if (found === undefined) throw new Error(`${file} has no class ${wanted}`);
    const about = controllers.use(wanted, found);
    const prototype = (found as { prototype: Record<string, unknown> }).prototype;
    // The core does without a class for these, or the page's controllers have a default.
    const passed = METHODS.filter(({ name }) => camel(name) in prototype || DEFAULTS.includes(name));
    return Object.entries({ ...about, methods: passed.map(({ name }) => name) })
      .map(([key, value]) => `${key} = ${JSON.stringify(value)}`)
      .join('\n');
  },
  /** Passes a call of this kind with the record; true if it failed. */
  pass: (kind: number): boolean => controllers.passEvent(0, kind, 0, { buffer: record }),
  failure: (): string => controllers.failure.replace(/^the controller failed: /, ''),
};
(globalThis as unknown as { ackclock: typeof ackclock }).ackclock = ackclock;
