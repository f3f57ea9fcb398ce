import { deflateSync, strToU8 } from 'fflate';
import { describe, expect, it } from 'vitest';
import { toUrl } from '../../src/share/base64';
import { BadLink, LARGEST, LONGEST_LINK, type Shared, pack, unpack } from '../../src/share/link';
import { inScript } from '../../src/share/files';
import { built } from '../../src/state/scenario.svelte';

/** Numbers that look random and are always the same. */
function draws(seed: number): () => number { let s = seed; return () => (s = (s * 1103515245 + 12345) % 2147483648) / 2147483648; }
const raw = (value: unknown): string => toUrl(deflateSync(strToU8(JSON.stringify(value))));

describe('links', () => {
  it('give back what they hold', () => {
    const draw = draws(7);
    for (let i = 0; i < 200; i++) {
      const text = Array.from({ length: Math.floor(draw() * 400) }, () => String.fromCodePoint(Math.floor(draw() * 0x2fff) + 1)).join('').replace(/[\ud800-\udfff]/g, '');
      const shared: Shared = { v: 1, text, set: [`a=${draw()}`], seed: Math.floor(draw() * 2 ** 53), files: { 'x.gz': { base64: 'AAEC' } }, controller: { code: text, flows: { f: 'page' } }, view: { page: 'compare', from: draw(), to: 1 + draw() }, engine: 'e' };
      expect(unpack(pack(shared))).toEqual(shared);
    }
  });
  it('to the scenarios of the repository are short', () => {
    for (const s of built) if (!Object.keys(s.files).length) expect(pack({ v: 1, text: s.text, seed: 1 }).length).toBeLessThan(800);
    expect(built.length).toBeGreaterThan(10);
    expect(pack({ v: 1, text: built.find((s) => s.name === 'cellular')!.text, files: built.find((s) => s.name === 'cellular')!.files }).length).toBeGreaterThan(LONGEST_LINK);
  });
  it('that are damaged are refused, whatever the damage', () => {
    const whole = pack({ v: 1, text: built[0]!.text, seed: 3 }), draw = draws(11);
    for (let i = 0; i < 2000; i++) {
      const letters = [...whole.slice(0, Math.floor(draw() * whole.length))];
      for (let k = Math.floor(draw() * 4); k > 0 && letters.length; k--) letters[Math.floor(draw() * letters.length)] = 'Az09-_!%'[Math.floor(draw() * 8)]!;
      expect(() => unpack(letters.join(''))).toThrow(BadLink);
    }
  });
  it('that the command line wrote are read', () => { expect(unpack('q1YqU7Iy1FEqSa0oUbJSKsksyUlVsFWIUTq8MkZJSUepOBUoHK2UaGuoFAvipaYoWZnXAgA')).toEqual({ v: 1, text: 'title = "é"', set: ['a=1'], seed: 7 }); });
  it('that are only noise are refused', () => {
    const draw = draws(3);
    for (let i = 0; i < 2000; i++) expect(() => unpack(toUrl(Uint8Array.from({ length: Math.floor(draw() * 200) }, () => draw() * 256)))).toThrow(BadLink);
  });
  it.each([
    [null], [[]], ['x'], [{}], [{ v: 2, text: '' }], [{ v: 1 }], [{ v: 1, text: 1 }], [{ v: 1, text: '', set: 'a' }], [{ v: 1, text: '', seed: -1 }], [{ v: 1, text: '', seed: 1.5 }], [{ v: 1, text: '', seed: 2 ** 53 }],
    [{ v: 1, text: '', files: { a: {} } }], [{ v: 1, text: '', controller: { code: '' } }], [{ v: 1, text: '', engine: 1 }],
  ])('with the content %j are refused', (value) => { expect(() => unpack(raw(value))).toThrow(BadLink); });
  it('are not inflated without bound', () => { expect(() => unpack(raw({ v: 1, text: 'x'.repeat(LARGEST * 4) }))).toThrow('more than'); });
  it('drop what a view cannot be', () => { expect(unpack(raw({ v: 1, text: '', view: { page: 'x', from: -1, to: 'y', at: 2 } })).view).toEqual({ at: 2 }); });
  it('inside a page cannot end their element', () => { expect(inScript({ v: 1, text: '</script><script>alert(1)' })).not.toContain('<'); });
});
