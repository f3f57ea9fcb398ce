/** A capture (pcap) of a transfer at its sender: 60 segments through a window of 10, of which one is lost and sent again by SACK. */
const SEGMENT = 1000, RTT_US = 40_000, SEGMENTS = 60, LOST = 25, WINDOW = 10;
const A = [192, 0, 2, 17], B = [198, 51, 100, 34];

function segment(fromSender, seq, ack, flags, payload, options = []) {
  const header = 20 + options.length, packet = new Uint8Array(20 + header + payload), view = new DataView(packet.buffer);
  packet[0] = 0x45; packet[8] = 64; packet[9] = 6;
  view.setUint16(2, packet.length);
  packet.set(fromSender ? A : B, 12);
  packet.set(fromSender ? B : A, 16);
  view.setUint16(20, fromSender ? 40000 : 443);
  view.setUint16(22, fromSender ? 443 : 40000);
  view.setUint32(24, seq);
  view.setUint32(28, ack);
  packet[32] = (header / 4) << 4; packet[33] = flags;
  view.setUint16(34, 65000);
  packet.set(options, 40);
  return packet;
}
const SYN = 2, ACK = 16, PSH = 8;
export function capture() {
  const packets = [], out = (at, ...of) => packets.push([at, segment(...of)]);
  const mss = [2, 4, SEGMENT >> 8, SEGMENT & 255], sackPermitted = [4, 2, 1, 1];
  out(0, true, 0, 0, SYN, 0, [...mss, ...sackPermitted]);
  out(RTT_US, false, 0, 1, SYN | ACK, 0, [...mss, ...sackPermitted]);
  out(RTT_US + 10, true, 1, 1, ACK, 0);
  // A window for each round trip, its packets 1 ms apart; ACKs come a round trip later.
  let at = RTT_US + 100, lostAt = 0;
  const seq = (k) => 1 + k * SEGMENT;
  for (let k = 0; k < SEGMENTS; k++) {
    const sent = at + Math.floor(k / WINDOW) * RTT_US + (k % WINDOW) * 1000;
    out(sent, true, seq(k), 1, k === SEGMENTS - 1 ? ACK | PSH : ACK, SEGMENT);
    if (k === LOST) { lostAt = sent; continue; }
    const back = sent + RTT_US - 200, hole = k > LOST && back < lostAt + 4000 + 2 * RTT_US;
    if (hole) out(back, false, 1, seq(LOST), ACK, 0, [1, 1, 5, 10, ...new Uint8Array(new Uint32Array([seq(LOST + 1), seq(k + 1)]).buffer).reduce((bytes, b, i) => { bytes[(i & 4) + 3 - (i & 3)] = b; return bytes; }, new Array(8))]);
    else out(back, false, 1, seq(k + 1), ACK, 0);
  }
  out(lostAt + RTT_US + 3500, true, seq(LOST), 1, ACK, SEGMENT);
  packets.sort((a, b) => a[0] - b[0]);
  const total = packets.reduce((sum, [, p]) => sum + 16 + p.length, 24), file = new Uint8Array(total), view = new DataView(file.buffer);
  view.setUint32(0, 0xa1b2c3d4, true); view.setUint16(4, 2, true); view.setUint16(6, 4, true);
  view.setUint32(16, 65535, true); view.setUint32(20, 101, true);
  let place = 24;
  for (const [time, p] of packets) {
    view.setUint32(place, Math.floor(time / 1e6), true);
    view.setUint32(place + 4, time % 1e6, true);
    view.setUint32(place + 8, p.length, true);
    view.setUint32(place + 12, p.length, true);
    file.set(p, place + 16);
    place += 16 + p.length;
  }
  return Buffer.from(file);
}
