/**
 * Controllers written in the page: a class for each flow, called inside the worker for each event of the core.
 * The core writes the fields of an event as numbers, times in picoseconds, and of a flow also the two halves of its seed;
 * the answers go back in the first places, then the probes. `make reference` writes the table of methods, fields and answers.
 */
import table from './interface.json';
import type { PassEvent } from './lab';
import type { PageClass } from './types';

/** A field of an event or an answer. A field without a name is an argument that is a number. */
interface Field {
  name: string;
  exact: string | null;
  kind: 'number' | 'count' | 'flag' | 'time' | 'word';
  words: string[];
  optional: boolean;
}
/** An answer: it is read with a signal only, if it has one. */
interface Answer extends Field {
  needs: string | null;
}
export const {
  flow: FLOW,
  methods: METHODS,
  answers: ANSWERS,
} = table as { flow: Field[]; methods: { name: string; required: boolean; fields: Field[] }[]; answers: Answer[] };

type PageController = Record<string, unknown>;
type PageControllerClass = {
  new (flow: object): PageController;
  name: string;
  needs?: unknown;
  probes?: unknown;
  initialWindow?: unknown;
  ecnResponse?: unknown;
};
const number = (v: unknown): number => (v === null || v === undefined ? NaN : Number(v));
const seconds = (ps: number): number => ps / 1e12;
export const camel = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The value of a field from its number. */
function valueOf({ kind, words, optional }: Field): (x: number) => unknown {
  const value =
    kind === 'time'
      ? seconds
      : kind === 'flag'
        ? (x: number) => x === 1
        : kind === 'word'
          ? (x: number) => words[x]
          : (x: number) => x;
  return optional ? (x) => (Number.isNaN(x) ? null : value(x)) : value;
}
/** The argument of a method: an object with a key for each field, or a number if its only field has no name. */
export function argumentOf(fields: Field[]): (e: Float64Array) => unknown {
  const values = fields.map(valueOf);
  if (fields[0]!.name === '') return (e) => values[0]!(e[0]!);
  const keys = fields.map((field) => camel(field.name)),
    exact = fields.map((field) => field.exact && camel(field.exact));
  return (e) => {
    const argument: Record<string, unknown> = {};
    for (let i = 0; i < keys.length; i++) {
      const x = e[i]!;
      argument[keys[i]!] = values[i]!(x);
      if (exact[i]) argument[exact[i]!] = Number.isNaN(x) ? null : x;
    }
    return argument;
  };
}
/**
 * The same for events, of which there are many: an object that holds a copy of the numbers, and computes a field when it is
 * read.
 */
export function eventOf(fields: Field[]): (e: Float64Array) => unknown {
  if (fields[0]!.name === '') return argumentOf(fields);
  class ControllerEvent {
    constructor(readonly numbers: Float64Array) {}
  }
  fields.forEach((field, i) => {
    const value = valueOf(field);
    const get = (key: string, of: (x: number) => unknown): void => {
      Object.defineProperty(ControllerEvent.prototype, camel(key), {
        enumerable: true,
        get(this: ControllerEvent) {
          return of(this.numbers[i]!);
        },
      });
    };
    get(field.name, value);
    if (field.exact) get(field.exact, (x) => (Number.isNaN(x) ? null : x));
  });
  const { length } = fields;
  return (e) => new ControllerEvent(e.slice(0, length));
}
/** The number of an answer; a word stands for its place in the list, and for the first if it is not there. */
function answerOf({ name, kind, words }: Field): (instance: PageController, of: PageControllerClass) => number {
  const key = camel(name);
  if (kind === 'flag') return (instance) => (instance[key] === true ? 1 : 0);
  if (kind === 'word')
    return (instance, of) =>
      Math.max(0, words.indexOf(String(instance[key] ?? (of as unknown as PageController)[key])));
  return (instance) => number(instance[key]);
}

/** The name of the last class of a program. Fails without one. */
export function lastClass(code: string): string {
  const names = [...code.matchAll(/^\s*class\s+([A-Za-z_$][\w$]*)/gm)].map((m) => m[1]!);
  if (!names.length) throw new Error('the code has no class');
  return names[names.length - 1]!;
}

/** Kind 1 of an event is the first method, kind 0 creates the object. */
const methods = METHODS.map(({ name, fields }) => ({ name: camel(name), argument: eventOf(fields) }));
const flowOf = argumentOf(FLOW);
const answers = ANSWERS.map(answerOf);
const RESPONSES = ANSWERS.find((answer) => answer.name === 'ecn_response')!.words;

export class Controllers {
  #class: PageControllerClass | null = null;
  #probes: string[] = [];
  /** The places of the answers that the core reads: those without a signal, and those of the signals that the class needs. */
  #read: number[] = [];
  #controllers = new Map<number, PageController>();
  /** What a class raised, with its place; empty if nothing failed. */
  failure = '';
  /** Forget the controllers of the run before. */
  begin(): void {
    this.#controllers.clear();
    this.failure = '';
  }

  /** Runs the code and takes its class. Called only after the user has confirmed code that came in a link. */
  load(code: string | null): PageClass | null {
    this.#class = null;
    if (code === null) return null;
    const scope = self as unknown as { ackclockClass?: unknown; importScripts(url: string): void };
    const name = lastClass(code);
    delete scope.ackclockClass;
    const url = URL.createObjectURL(
      new Blob([`(() => { 'use strict';\n${code}\nself.ackclockClass = ${name}; })();`], { type: 'text/javascript' }),
    );
    try {
      scope.importScripts(url);
    } finally {
      URL.revokeObjectURL(url);
    }
    return this.use(name, scope.ackclockClass);
  }
  /** Takes a class; gives what the core must know of it. */
  use(name: string, loaded: unknown): PageClass {
    if (typeof loaded !== 'function') throw new Error(`${name} is not a class`);
    for (const method of METHODS.filter((m) => m.required).map((m) => camel(m.name)))
      if (typeof loaded.prototype?.[method] !== 'function') throw new Error(`${name} has no method ${method}`);
    const members = loaded as PageControllerClass;
    const words = (key: 'needs' | 'probes'): string[] => {
      const list = members[key] ?? [];
      if (!Array.isArray(list) || !list.every((word) => typeof word === 'string'))
        throw new Error(`${name}.${key} is not a list of names`);
      return list as string[];
    };
    if (members.ecnResponse !== undefined && !RESPONSES.includes(String(members.ecnResponse)))
      throw new Error(`${name}.ecnResponse is not one of ${RESPONSES.join(', ')}`);
    this.#class = members;
    this.#probes = [...words('probes')];
    const needs = words('needs');
    this.#read = ANSWERS.flatMap((answer, i) => (!answer.needs || needs.includes(answer.needs) ? [i] : []));
    const initial = members.initialWindow;
    return {
      name,
      probes: this.#probes,
      needs: words('needs'),
      ...(initial === undefined || initial === null ? {} : { initial_window: Number(initial) }),
    };
  }

  /** The import `page.pass_event` of the core. */
  readonly passEvent: PassEvent = (controller, kind, at, memory) => {
    try {
      const e = new Float64Array(memory.buffer, at),
        of = this.#class;
      if (!of) throw new Error('there is no controller in the page');
      let instance = this.#controllers.get(controller);
      if (kind === 0) {
        instance = new of({ ...(flowOf(e) as object), seedWords: [e[FLOW.length]!, e[FLOW.length + 1]!] });
        this.#controllers.set(controller, instance);
      } else {
        if (!instance) throw new Error('an event came before the flow began');
        this.#deliver(instance, methods[kind - 1]!, e);
      }
      for (const i of this.#read) e[i] = answers[i]!(instance, of);
      if (!(e[0]! >= 1 && e[1]! >= 1))
        throw new Error(`cwnd is ${String(instance.cwnd)}, ssthresh is ${String(instance.ssthresh)}`);
      const probes = this.#probes;
      for (let i = 0; i < probes.length; i++) e[answers.length + i] = number(instance[probes[i]!]);
      return false;
    } catch (error) {
      this.failure ||= `the controller failed: ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`;
      return true;
    }
  };
  #deliver(instance: PageController, { name, argument }: (typeof methods)[number], e: Float64Array): void {
    const members = instance as { [method: string]: (event: unknown) => void };
    if (members[name]) members[name](argument(e));
    else if (name === 'onRestart') members.setWindow!((argument(e) as { window: number }).window);
    else if (name === 'setSsthresh') instance.ssthresh = argument(e);
  }
}
