import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from './node';

const unlzma = new Function(`${readFileSync(join(root, 'boot.js'), 'utf8')}; return unlzma`)() as (src: Uint8Array, size: number) => Uint8Array;
const PACK = `import lzma, sys
kind = {"id": lzma.FILTER_LZMA1, "preset": 9, "lc": 4, "lp": 0, "pb": 0}
sys.stdout.buffer.write(lzma.compress(sys.stdin.buffer.read(), lzma.FORMAT_RAW, filters=[kind]))`;
const pack = (bytes: Uint8Array): Uint8Array => execFileSync(process.env.PYTHON ?? 'python3', ['-c', PACK], { input: bytes, maxBuffer: 1 << 28 });

describe('the boot script', () => {
  it('unpacks what liblzma packs', () => {
    // Noise, runs, distances of all sizes, text: each of the kinds of symbols occurs.
    let seed = 1;
    const noise = Uint8Array.from({ length: 300_000 }, () => { seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0; return seed >>> 24; });
    const text = new TextEncoder().encode(readFileSync(join(root, 'boot.js'), 'utf8').repeat(3));
    const far = new Uint8Array([...noise.slice(0, 70_000), ...text, ...new Uint8Array(9000), ...noise.slice(100, 69_000), ...text.map((b, i) => (i % 7 ? b : b ^ 1)), 65]);
    for (const bytes of [noise, text, far, new Uint8Array(1), new Uint8Array(100_000).fill(7)]) expect(Buffer.compare(unlzma(pack(bytes), bytes.length), bytes)).toBe(0);
  });
});
