/** Controllers to begin with. */
import example from 'virtual:example';
import { fromBase64 } from '../share/base64';

/** The class of `ackclock new --python`, with the values that it begins with. */
const SHORT = `// Grows by a segment a round trip, and halves at a loss.
class Mine {
  constructor(flow) {
    this.cwnd = flow.initialWindow; // segments
    this.ssthresh = flow.initialSsthresh;
  }
  onAck(ack) {
    if (!ack.mayGrow) return;
    const slowStart = this.cwnd < this.ssthresh;
    this.cwnd += ack.newlyDelivered / (slowStart ? 1 : this.cwnd);
  }
  onCongestion(event) {
    this.cwnd = this.ssthresh = Math.max(2, event.window / 2);
  }
  onRto(event) {
    this.onCongestion(event);
    this.cwnd = 1;
  }
  setWindow(cwnd) { this.cwnd = cwnd; }
}
`;
/** Reno (RFC 5681), which gives the bits of the registered Reno. */
const RENO = `// Reno (RFC 5681). The window is in segments; change it and run again.
class MyReno {
  constructor(flow) {
    this.flow = flow;
    this.cwnd = flow.initialWindow;
    this.ssthresh = flow.initialSsthresh;
    this.counter = 0;
  }
  onAck(ack) {
    const counts = this.flow.countsSegments; // the linux profile counts segments, ns2 counts ACKs
    if (!ack.mayGrow || (counts && !ack.windowLimited)) return;
    if (!counts) {
      this.move(this.cwnd + (this.cwnd < this.ssthresh ? 1 : 1 / this.cwnd));
      return;
    }
    let acked = ack.newlyDelivered;
    if (this.cwnd < this.ssthresh) {
      const before = this.cwnd;
      this.move(Math.min(before + acked, this.ssthresh));
      acked -= Math.max(this.cwnd - before, 0);
    }
    if (acked > 0) this.count(acked);
  }
  // One segment more for each window of acknowledged segments.
  count(acked) {
    const per = this.cwnd;
    if (this.counter >= per) {
      this.counter = 0;
      this.move(this.cwnd + 1);
    }
    this.counter += acked;
    if (this.counter >= per) {
      const whole = Math.floor(this.counter / per);
      this.counter -= whole * per;
      this.move(this.cwnd + whole);
    }
  }
  onCongestion(event) {
    this.reduce(event.window, this.flow.abe && event.cause === 'ecn' ? 0.8 : 0.5);
  }
  onRto(event) {
    if (!event.repeated || this.flow.reduceOnEveryTimeout) this.reduce(event.window, 0.5);
    this.cwnd = 1;
    this.counter = 0;
  }
  setWindow(cwnd) {
    this.move(cwnd);
  }
  move(cwnd) {
    this.cwnd = cwnd >= this.flow.maxWindow + 1 ? this.flow.maxWindow : cwnd;
  }
  reduce(used, keep) {
    const whole = this.flow.integerWindows || this.flow.countsSegments;
    const reduced = (whole ? Math.floor(used) : used) * keep;
    this.ssthresh = Math.max(Math.floor(reduced), 2);
    this.cwnd = this.flow.countsSegments ? this.ssthresh : Math.max(whole ? Math.floor(reduced) : reduced, 1);
    this.counter = 0;
  }
}
`;
/** The first is the one that the page begins with. */
export const EXAMPLES = {
  short: { name: 'Short example', code: SHORT },
  reno: { name: 'Reno, to the bit', code: RENO },
};
/** Reno in C (`ackclock new mine.c`), compiled by the command in its first lines. */
export const EXAMPLE_MODULE = {
  file: 'mine.wasm',
  source: example.source,
  bytes: fromBase64(example.module),
};
