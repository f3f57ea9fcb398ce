/// <reference lib="webworker" />
/** One worker, one instance of the core, one run. */
import { Failed, Lab, Refused } from './lab';
import { Controllers } from './controllers';
import { Recorded, type Recording } from './recorded';
import { anonymous, read } from './reading';
import { Transfer, type Cause, type TransferFile } from './transfer';
import type { CallName, Calls, Reply, Request } from './protocol';
import type { Ended, RunRequest } from './types';

declare const self: DedicatedWorkerGlobalScope;
/** Milliseconds of computing between two looks at the messages. */
const SLICE = 25;
/** Bytes of memory at which a run is ended: the page stays usable. */
const MOST_BYTES = 1e9;
/** An instance with more memory than this is replaced before a run: its memory never shrinks. */
const KEPT_BYTES = 160e6;

const controllers = new Controllers();
let lab: Lab | undefined;
let recorded: Recorded | Transfer | null = null;
/** The instance that has read the recording of a real transfer. */
let reader: Lab | null = null;
let turn = 0;
const say = (reply: Reply, transfer: Transferable[] = []): void => self.postMessage(reply, transfer);
/** Lets messages in, without the 4 ms of setTimeout. */
const breathe = (): Promise<void> =>
  new Promise((done) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      done();
    };
    channel.port2.postMessage(0);
  });

function started(): Lab {
  if (!lab) throw new Failed('the core is not loaded');
  return lab;
}

async function run(id: number, request: RunRequest): Promise<Ended> {
  const core = started(),
    mine = ++turn,
    began = performance.now();
  if (core.bytes > KEPT_BYTES) core.reset();
  recorded = reader = null;
  controllers.begin();
  const shape = core.open(request);
  const until = request.until_s ?? Infinity;
  let told = 0,
    chunk = 4096,
    ended = false,
    cutShort: string | null = null;
  while (!ended) {
    const before = performance.now();
    try {
      ended = core.advance(chunk);
    } catch (error) {
      throw controllers.failure ? new Failed(controllers.failure) : error;
    }
    if (controllers.failure) throw new Failed(controllers.failure);
    const spent = performance.now() - before;
    if (spent < SLICE / 2) chunk = Math.min(chunk * 2, 1 << 20);
    else if (spent > SLICE * 1.5) chunk = Math.max(chunk >> 1, 256);
    if (performance.now() - told < SLICE) continue;
    told = performance.now();
    const now = core.now();
    say({ id, kind: 'progress', now, bytes: core.bytes, shape });
    await breathe();
    if (mine !== turn) {
      cutShort = 'stopped';
      break;
    }
    if (now > until) {
      cutShort = 'until';
      break;
    }
    if (core.bytes > MOST_BYTES)
      throw new Failed(
        `the run was ended at ${now.toPrecision(4)} s of ${shape.duration_s} s: it needs more than ${MOST_BYTES / 1e9} GB of memory. Use fewer flows or lower rates, or compute it with \`ackclock run\``,
      );
  }
  const now = core.now();
  return {
    shape,
    recorded: core.recorded(),
    outcome: ended ? core.outcome() : null,
    fingerprint: ended && request.fingerprint ? core.fingerprint() : '',
    ms: performance.now() - began,
    bytes: core.bytes,
    now_s: now,
    cut_short: cutShort,
  };
}

function reading(): Lab {
  if (!reader) throw new Failed('no recording is open');
  return reader;
}
function causeOf(request: { at_s: number; cut: boolean }): Cause {
  if (!(recorded instanceof Transfer)) throw new Failed('no recording is open');
  return recorded.causes ? recorded.why(request) : reading().traceWhy(request.at_s, request.cut);
}

type Handlers = {
  [K in CallName]: (request: Calls[K]['request'], id: number) => Calls[K]['answer'] | Promise<Calls[K]['answer']>;
};
const handlers: Handlers = {
  begin: async ({ wasm }) => {
    lab = new Lab(await WebAssembly.compile(wasm), controllers.passEvent);
    return lab.catalog();
  },
  files: (files) => {
    started().files(files);
    return null;
  },
  check: (request) => started().check(request),
  run: (request, id) => run(id, request),
  stop: () => {
    turn++;
    return null;
  },
  curves: ({ from, to, px }) => (recorded ?? started()).curves(from, to, px),
  flights: ({ from, to }) => (recorded ?? started()).flights(from, to),
  messages: () => started().messages(),
  transmissions: ({ from, to }) => started().transmissions(from, to),
  why: (request) => (recorded instanceof Recorded ? recorded : started()).why(request),
  satellites: (request) => started().satellites(request),
  places: ({ at }) => started().places(at),
  radio: (request) => started().radio(request),
  record: (text) => {
    const run = text === null ? null : new Recorded(JSON.parse(text) as Recording),
      shape = run?.shape();
    recorded = run;
    reader = null;
    return shape ? { ...shape, positions: started().layout(shape.link_ends, shape.flow_ends) } : null;
  },
  kind: (head) => started().traceKind(head),
  transfer: async (request, id) => {
    const mine = ++turn;
    if ('text' in request) {
      const held = Transfer.of((JSON.parse(request.text) as { transfer: TransferFile }).transfer);
      recorded = held;
      return { shown: held.about, shape: held.shape() };
    }
    // Each reading has an instance of its own: the recording that is shown keeps its causes until another one is read.
    const own = started().another();
    let told = performance.now();
    const transfer = await read(own, request.file, request.flow, async (part, shape) => {
      if (performance.now() - told >= SLICE) {
        told = performance.now();
        say({ id, kind: 'progress', now: part, bytes: own.bytes, shape });
        await breathe();
      }
      if (mine !== turn) throw new Failed('stopped');
    });
    if (mine !== turn) throw new Failed('stopped');
    reader = own;
    recorded = transfer;
    return { shown: transfer.about, shape: transfer.shape() };
  },
  cause: (request) => causeOf(request),
  transfer_file: ({ addresses }) => {
    if (!(recorded instanceof Transfer)) throw new Failed('no recording is open');
    return anonymous(reader, recorded, addresses);
  },
  controller: (request) => controllers.load(request?.code ?? null),
};

self.onmessage = async (event: MessageEvent<Request>) => {
  const { id, call, request } = event.data;
  try {
    const answer = await (handlers[call] as (request: unknown, id: number) => unknown)(request, id);
    // Numbers are given to the page, not copied.
    const data = (answer as { data?: unknown } | null)?.data;
    say({ id, kind: 'done', answer }, data instanceof Float64Array ? [data.buffer] : []);
  } catch (error) {
    if (error instanceof Refused) say({ id, kind: 'refused', problem: error.problem });
    else say({ id, kind: 'failed', message: error instanceof Error ? error.message : String(error) });
  }
};
