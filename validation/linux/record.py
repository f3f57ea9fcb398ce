#!/usr/bin/env python3
"""Plays scripts to the TCP sender of this machine's kernel and writes down what it does. Needs root.

    unshare -n python3 record.py < scripts.jsonl > answers.jsonl

One process owns the sending socket and the TUN device behind which it plays the receiver, so the kernel has processed an
ACK when the write of it returns. Times in microseconds from the SYN, data in bytes from the first byte. An answer:
{"in": index of the input or -1 for a timer, "t": [time, time], "sent": [[first, end, flags]], "info": {what changed}}.
"""

import ctypes, fcntl, json, os, select, socket, struct, subprocess, sys, time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
TCP_INFO, TCP_CONGESTION, SO_SNDBUFFORCE, SO_MAX_PACING_RATE = 11, 13, 32, 47
INFO = struct.Struct("<8B24I4Q6I4Q2I2Q6I")


# positions in v: 0..7 bytes, 8..31 u32, 32..35 u64, 36..41 u32, 42..45 u64, 46..47 u32, 48..49 u64, 50..55 u32
def snapshot(sock):
    raw = sock.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 512)
    v = INFO.unpack_from(raw)
    rto_n = struct.unpack_from("<H", raw, INFO.size)[0] if len(raw) >= INFO.size + 2 else 0
    ssth = v[25]
    return (v[26], -1 if ssth >= 0x7FFFFFFF else ssth, v[1], v[12], v[13], v[14], v[15], v[31], v[23], v[8],
            v[46], v[47], v[39], v[28], v[51], v[50], v[7] & 1, v[4], rto_n), (-1 if v[32] >= 1 << 62 else v[32], v[24], v[42])


FIELDS = ("cwnd ssthresh ca_state packets_out sacked_out lost_out retrans_out total_retrans srtt_us rto_us "
          "delivered delivered_ce min_rtt_us reordering reord_seen dsack_dups app_limited backoff total_rto").split()


def csum(b):
    if len(b) & 1:
        b += b"\0"
    s = sum(struct.unpack("!%dH" % (len(b) // 2), b))
    while s >> 16:
        s = (s & 0xFFFF) + (s >> 16)
    return ~s & 0xFFFF

SRC, DST, SPORT = "10.9.0.1", "10.9.0.2", 8080
US = 1000
# "assert" inputs only look; "expect" ones are for a checker
KEEP = "cwnd ssthresh ca_state packets_out sacked_out lost_out retrans_out total_retrans reordering reord_seen dsack_dups backoff total_rto srtt_us rto_us min_rtt_us app_limited".split()


class Wire:
    def __init__(self):
        open("/proc/sys/net/ipv6/conf/default/disable_ipv6", "w").write("1")
        self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self.fd, TUNSETIFF, struct.pack("16sH", b"tun0", IFF_TUN | IFF_NO_PI))
        for cmd in ("ip addr add %s/24 dev tun0" % SRC, "ip link set tun0 up mtu 1500 txqueuelen 10000" + ("" if os.environ.get("GSO") else " gso_max_segs 1")):
            subprocess.run(cmd.split(), check=True)
        ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)
        self.port = 20000


def play(w, case):
    o = case["options"]
    for k, v in o.get("sysctl", {}).items():
        open("/proc/sys/" + k.replace(".", "/"), "w").write(str(v))
    w.port += 1
    port = w.port
    ls = socket.socket()
    ls.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    ls.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, o.get("cc", "cubic").encode())
    ls.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 16 << 20)
    if o.get("max_pacing"):
        ls.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, o["max_pacing"])
    ls.bind((SRC, SPORT))
    ls.listen(8)
    ts_on, sack_on, ecn, wscale = o.get("timestamps", 0), o.get("sack", 1), o.get("ecn", 0), o.get("wscale", 10)
    mss = o["mss"]
    peer_isn = 0x5000
    state = dict(isn=None, last_ts=0)

    def inject(flags, seq, ack, win, opts=b""):
        opts += b"\1" * (-len(opts) % 4)
        tcp = struct.pack("!HHIIBBHHH", port, SPORT, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, ((5 + len(opts) // 4) << 4) | (flags >> 8 & 1), flags & 255, win, 0, 0) + opts
        ps = socket.inet_aton(DST) + socket.inet_aton(SRC) + struct.pack("!BBH", 0, 6, len(tcp))
        tcp = tcp[:16] + struct.pack("!H", csum(ps + tcp)) + tcp[18:]
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0, socket.inet_aton(DST), socket.inet_aton(SRC))
        os.write(w.fd, ip[:10] + struct.pack("!H", csum(ip)) + ip[12:] + tcp)

    def drain():
        out = []
        while True:
            try:
                b = os.read(w.fd, 70000)
            except BlockingIOError:
                return out
            if b[0] >> 4 != 4 or b[9] != 6:
                continue
            sp, dp, seq, ack, off, fl = struct.unpack_from("!HHIIBB", b, 20)
            if dp != port:
                continue
            hl, i = 20 + (off >> 4) * 4, 40
            n, ts = struct.unpack_from("!H", b, 2)[0] - hl, 0
            while i < hl and b[i]:
                if b[i] == 1:
                    i += 1
                    continue
                if b[i] == 8:
                    ts = struct.unpack_from("!I", b, i + 2)[0]
                i += b[i + 1]
            if fl & 2:
                state["isn"] = seq
            state["last_ts"] = ts
            if n:
                s = (seq - state["isn"] - 1) & 0xFFFFFFFF
                sent_ts.append((s, s + n, ts))
                out.append([s, s + n, ("r" if s < state.get("high", 0) else "") + ("c" if fl & 0x80 else "")])
                state["high"] = max(state.get("high", 0), s + n)

    def tsopt(t, ecr):
        return struct.pack("!BBBBII", 1, 1, 8, 10, (5000 + t // 1000) & 0xFFFFFFFF, ecr) if ts_on else b""

    sent_ts = []
    t0 = time.monotonic_ns()
    now = lambda: (time.monotonic_ns() - t0) // US
    opts = struct.pack("!BBH", 2, 4, mss + (12 if ts_on else 0)) + (b"\4\2" if sack_on else b"") + (struct.pack("!BBII", 8, 10, 5000, 0) if ts_on else b"") + (struct.pack("!BBBB", 1, 3, 3, wscale) if wscale is not None else b"")
    inject(2 | (0xC0 if ecn else 0), peer_isn, 0, o.get("syn_win", 65535), opts)
    drain()
    if state["isn"] is None:
        raise SystemExit("no SYN-ACK")
    obs, sock, lates = [], None, []
    rtt = o["handshake_us"]

    def wait(t):
        while True:
            d = t - now()
            if d <= 0:
                return
            r, _, _ = select.select([w.fd], [], [], max(d - 40, 0) / 1e6)
            if r:
                at = now()
                got = drain()
                if got and sock:
                    obs.append(dict(t=min(at, t), **{"in": -1}, sent=got, info=look()))

    def look():
        s, _ = snapshot(sock)
        d = dict(zip(FIELDS, s))
        return {k: d[k] for k in KEEP}

    wait(rtt)
    inject(0x10, peer_isn + 1, state["isn"] + 1, o.get("win", 60000), tsopt(rtt, state["last_ts"]))
    drain()
    ls.setblocking(False)
    sock, _ = ls.accept()
    ls.close()
    sock.setblocking(False)
    if o.get("nodelay"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    start = look()
    for k, e in enumerate(case["events"]):
        if e["do"] == "expect":
            continue
        wait(e["t"])
        got = drain()
        if got:
            obs.append(dict(t=e["t"], **{"in": -1}, sent=got, info=look()))
        lates.append(now() - e["t"])
        if e["do"] == "write":
            sock.send(b"\0" * e["bytes"])
        elif e["do"] == "ack":
            x = b""
            if ts_on:
                # the echo: of the newest segment ending at the ACK or before it, unless the case names a segment ("of": [seq, nth transmission])
                ecr = 0
                if "of" in e:
                    hits = [ts for a, b, ts in sent_ts if a == e["of"][0]]
                    ecr = hits[e["of"][1]]
                else:
                    hits = [ts for a, b, ts in sent_ts if b == e["ack"]]
                    ecr = hits[0] if hits else state.get("ecr", state["last_ts"])
                state["ecr"] = ecr
                x = tsopt(e["t"], ecr)
            bl = e.get("sack", [])
            if bl:
                base = state["isn"] + 1
                x += struct.pack("!BBBB", 1, 1, 5, 2 + 8 * len(bl)) + b"".join(struct.pack("!II", (a + base) & 0xFFFFFFFF, (b + base) & 0xFFFFFFFF) for a, b in bl)
            inject(0x10 | (0x40 if e.get("ece") else 0), peer_isn + 1, state["isn"] + 1 + e["ack"], e.get("win", o.get("win", 60000)), x)
        got = drain()
        obs.append(dict(t=e["t"], **{"in": k}, sent=got, info=look()))
    wait(case.get("end", (case["events"][-1]["t"] if case["events"] else rtt) + 500000))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
    drain()
    lates.sort()
    prev, answers = start, []
    for x in obs:
        changed = {k: v for k, v in x["info"].items() if v != prev.get(k)}
        answers.append({"in": x["in"], "t": [x["t"], x["t"]], "sent": x["sent"], "info": changed})
        prev = x["info"]
    return {**case, "start": start, "answers": answers, "kernel": os.uname().release}


if __name__ == "__main__":
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(51))
    except OSError:
        pass
    w = Wire()
    for line in sys.stdin:
        if line.strip():
            print(json.dumps(play(w, json.loads(line)), separators=(",", ":")), flush=True)
