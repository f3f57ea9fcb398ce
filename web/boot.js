/** Unpacks the simulator and the program, LZMA in base64, and runs the program as an inline module. */

/** Decodes `size` bytes of a raw LZMA stream with lc = 4, lp = 0, pb = 0 (the format of liblzma's FILTER_LZMA1). */
function unlzma(src, size) {
  const out = new Uint8Array(size);
  // Places of the probabilities; with pb = 0 there is one state of the position.
  const MATCH = 0, REP = 12, REP0 = 24, REP1 = 36, REP2 = 48, LONG = 60, SLOT = 72, SPECIAL = 328, ALIGN = 448, LENGTH = 464, REPLENGTH = 978, LITERAL = 1492;
  const p = new Uint16Array(LITERAL + (0x300 << 4)).fill(1024);
  let at = 5, range = 0xffffffff, code = ((src[1] << 24) | (src[2] << 16) | (src[3] << 8) | src[4]) >>> 0;
  const bit = (i) => {
    const bound = (range >>> 11) * p[i];
    let b;
    if (code < bound) { range = bound; p[i] += (2048 - p[i]) >>> 5; b = 0; } else { range -= bound; code -= bound; p[i] -= p[i] >>> 5; b = 1; }
    if (range < 0x1000000) { range = (range << 8) >>> 0; code = ((code << 8) | src[at++]) >>> 0; }
    return b;
  };
  const tree = (base, bits) => { let m = 1; for (let i = 0; i < bits; i++) m = (m << 1) | bit(base + m); return m - (1 << bits); };
  const reverse = (base, bits) => { let m = 1, v = 0; for (let i = 0; i < bits; i++) { const b = bit(base + m); m = (m << 1) | b; v |= b << i; } return v; };
  // Of each length coder: choice, choice 2, low (8), middle (8), high (256).
  const length = (base) => (bit(base) === 0 ? tree(base + 2, 3) : bit(base + 1) === 0 ? 8 + tree(base + 10, 3) : 16 + tree(base + 18, 8)) + 2;
  const distance = (state) => {
    const slot = tree(SLOT + (Math.min(state, 3) << 6), 6);
    if (slot < 4) return slot;
    const extra = (slot >> 1) - 1, base = (2 | (slot & 1)) << extra;
    if (slot < 14) return base + reverse(SPECIAL + base - slot - 1, extra);
    let direct = 0;
    for (let i = extra - 4; i > 0; i--) {
      range >>>= 1;
      const b = code >= range ? 1 : 0;
      if (b) code -= range;
      direct = (direct << 1) | b;
      if (range < 0x1000000) { range = (range << 8) >>> 0; code = ((code << 8) | src[at++]) >>> 0; }
    }
    return base + (direct << 4) + reverse(ALIGN, 4);
  };
  let n = 0, state = 0, r0 = 0, r1 = 0, r2 = 0, r3 = 0;
  while (n < size) {
    if (bit(MATCH + state) === 0) {
      const base = LITERAL + 0x300 * ((n ? out[n - 1] : 0) >> 4);
      let m = 1;
      if (state >= 7) {
        let other = out[n - r0 - 1];
        while (m < 0x100) {
          const expected = (other >> 7) & 1, b = bit(base + ((1 + expected) << 8) + m);
          other <<= 1;
          m = (m << 1) | b;
          if (expected !== b) break;
        }
      }
      while (m < 0x100) m = (m << 1) | bit(base + m);
      out[n++] = m;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let count;
    if (bit(REP + state) === 0) {
      r3 = r2; r2 = r1; r1 = r0;
      count = length(LENGTH);
      r0 = distance(count - 2);
      state = state < 7 ? 7 : 10;
    } else {
      if (bit(REP0 + state) === 0) {
        if (bit(LONG + state) === 0) { out[n] = out[n - r0 - 1]; n++; state = state < 7 ? 9 : 11; continue; }
      } else if (bit(REP1 + state) === 0) { const d = r1; r1 = r0; r0 = d;
      } else if (bit(REP2 + state) === 0) { const d = r2; r2 = r1; r1 = r0; r0 = d;
      } else { const d = r3; r3 = r2; r2 = r1; r1 = r0; r0 = d; }
      count = length(REPLENGTH);
      state = state < 7 ? 8 : 11;
    }
    for (const end = Math.min(size, n + count); n < end; n++) out[n] = out[n - r0 - 1];
  }
  return out;
}

/** Sizes of the simulator and of the program, then both. */
function boot(element) {
  const text = atob(element.textContent), packed = new Uint8Array(text.length);
  for (let i = 0; i < packed.length; i++) packed[i] = text.charCodeAt(i);
  const [core, program] = element.dataset.sizes.split(' ').map(Number), all = unlzma(packed, core + program);
  globalThis.ackclockCore = all.slice(0, core).buffer;
  const script = document.createElement('script');
  script.type = 'module';
  script.id = 'running';
  script.textContent = new TextDecoder().decode(all.subarray(core));
  document.body.append(script);
}
