/* Drives one congestion control module of Linux with the events of a simulated sender. The order of the calls within an ACK is
   that of tcp_ack(): in_ack_event, pkts_acked (both at the event on_sample), then undo, ssthresh and set_state, then cong_avoid or
   cong_control (on_ack). Times are those of the simulation in picoseconds. */
#include "kshim.h"

unsigned long kshim_jiffies;
u64 kshim_ns;
u64 *kshim_random;
struct net init_net = {.ipv4 = {.sysctl_tcp_pacing_ss_ratio = 200, .sysctl_tcp_pacing_ca_ratio = 120}};

static u64 rotated(u64 x, int k) { return (x << k) | (x >> (64 - k)); }

/* xoshiro256++, as the controllers of the simulator draw. */
u32 get_random_u32(void) {
  u64 *s = kshim_random, result = rotated(s[0] + s[3], 23) + s[0], t = s[1] << 17;
  s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotated(s[3], 45);
  return (u32)(result >> 32);
}

/* The state from a seed, by splitmix64. */
static void seeded(u64 *state, u64 seed) {
  for (int i = 0; i < 4; i++) {
    u64 z = (seed += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    state[i] = z ^ (z >> 31);
  }
}

static struct { const char *file, *name; void *at; unsigned size; } params[256];
static int param_count;
void kshim_param(const char *file, const char *name, void *at, unsigned size) {
  if (param_count < 256) params[param_count].file = file, params[param_count].name = name, params[param_count].at = at, params[param_count++].size = size;
}
int kflow_set_param(const char *file, const char *name, long value) {
  for (int i = 0; i < param_count; i++)
    if (strstr(params[i].file, file) && !strcmp(params[i].name, name)) {
      if (params[i].size == 1) *(u8 *)params[i].at = value; else if (params[i].size == 4) *(u32 *)params[i].at = value; else *(u64 *)params[i].at = value;
      return 0;
    }
  return -1;
}
static int registered;
static void register_reno(void) { if (!registered++) tcp_register_congestion_control(&tcp_reno); }

enum { EPOCH_S = 1000 }; /* the clock of the kernel is not zero when a flow starts */

typedef struct kflow {
  struct tcp_sock tp;
  u64 random[4];
  s64 io[40];
  bool opened;
  u64 una, top;
  u32 mark;
} kflow;

#define SK(f) ((struct sock *)&(f)->tp)
#define OPS(f) ((f)->tp.inet_conn.icsk_ca_ops)

static void at(kflow *f, s64 now_ps) {
  u64 ns = (u64)now_ps / 1000 + (u64)EPOCH_S * NSEC_PER_SEC;
  kshim_ns = ns;
  kshim_jiffies = ns / (NSEC_PER_SEC / HZ);
  f->tp.tcp_clock_cache = ns;
  f->tp.tcp_mstamp = ns / 1000;
  kshim_random = f->random;
}

static void counts(kflow *f, u64 una, u64 next, s64 in_flight) {
  struct tcp_sock *tp = &f->tp;
  u32 out = next - una;
  tp->snd_una = (u32)una * tp->mss_cache + 1;
  tp->snd_nxt = (u32)next * tp->mss_cache + 1;
  tp->packets_out = out;
  tp->lost_out = 0;
  tp->sacked_out = out > in_flight ? out - in_flight : 0;
  tp->retrans_out = in_flight > out ? in_flight - out : 0;
}

static void event(kflow *f, enum tcp_ca_event e) { if (OPS(f)->cwnd_event) OPS(f)->cwnd_event(SK(f), e); }

static void reduction(kflow *f) {
  struct tcp_sock *tp = &f->tp;
  tp->snd_cwnd_cnt = 0;
  tp->prior_cwnd = tp->snd_cwnd;
  tp->snd_ssthresh = OPS(f)->ssthresh(SK(f));
}

/* The module asks for a reduction: the transport begins it after this ACK (kflow_congestion). */
void tcp_enter_cwr(struct sock *sk) {
  kflow *f = (kflow *)sk;
  f->io[6] = f->tp.inet_conn.icsk_ca_state < TCP_CA_CWR;
}

static void state(kflow *f, u8 to) { if (f->tp.inet_conn.icsk_ca_state != to) tcp_set_ca_state(SK(f), to); }

static void open_module(kflow *f) {
  if (!f->opened) { f->opened = true; tcp_init_congestion_control(SK(f)); }
}

/* The round-trip time of the handshake, the first sample. */
static void rtt_sample(kflow *f, s64 us) {
  if (us < 0) return;
  f->tp.srtt_us = (us ? us : 1) << 3;
  minmax_running_min(&f->tp.rtt_min, 300 * HZ, tcp_jiffies32, us ? us : 1);
}

/* The pacing rate of a flow without one of its module, bytes a second: twice the window a round trip in the first half of slow
   start, then 1.2 times. HyStart reads it. */
static void update_pacing(kflow *f) {
  const struct tcp_sock *tp = &f->tp;
  if (!tp->srtt_us) return;
  u64 percent = 2 * tp->snd_cwnd < tp->snd_ssthresh ? 200 : 120;
  u64 bytes = (u64)max(tp->snd_cwnd, tp->packets_out) * tp->mss_cache;
  SK(f)->sk_pacing_rate = bytes * percent * (8 * USEC_PER_SEC / 100) / tp->srtt_us;
}

/* Segments that leave at once: those of a millisecond, and 64 kB less a half for each 512 us of the smallest round-trip time. */
static u64 burst(kflow *f) {
  const struct tcp_sock *tp = &f->tp;
  u32 halvings = tcp_min_rtt(tp) / 512;
  u64 bytes = SK(f)->sk_pacing_rate / 1024 + (halvings < 17 ? 65536 >> halvings : 0);
  u32 least = OPS(f)->min_tso_segs && f->opened ? OPS(f)->min_tso_segs(SK(f)) : 2;
  return max_t(u64, min_t(u64, bytes, 65535 - MAX_TCP_HEADER) / tp->mss_cache, least);
}

/* io: answers 0 cwnd, 1 ssthresh (-1 infinite), 2 pacing bits/s (0 none), 3 send_quantum, 4 owns_window, 5 limits_application,
   6 reduce_now */
static void answer(kflow *f) {
  struct tcp_sock *tp = &f->tp;
  struct sock *sk = SK(f);
  f->io[0] = tp->snd_cwnd ? tp->snd_cwnd : 1;
  f->io[1] = tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH ? -1 : (s64)tp->snd_ssthresh;
  bool paced = sk->sk_pacing_status != SK_PACING_NONE && sk->sk_pacing_rate != ~0UL;
  f->io[2] = paced ? (s64)(sk->sk_pacing_rate * 8) : 0;
  f->io[3] = burst(f);
  f->io[4] = OPS(f)->cong_control != NULL;
  f->io[5] = tp->app_limited != 0;
}

void *kflow_open(const char *name, u32 mss, u32 window, s64 ssthresh, s64 most, u64 seed) {
  register_reno();
  struct tcp_congestion_ops *ops = tcp_ca_find(name);
  if (!ops) return NULL;
  kflow *f = calloc(1, sizeof *f);
  seeded(f->random, seed);
  f->tp.mss_cache = mss;
  f->tp.snd_cwnd = window;
  f->tp.snd_ssthresh = ssthresh < 0 ? TCP_INFINITE_SSTHRESH : ssthresh;
  f->tp.snd_cwnd_clamp = most < 0 ? ~0u : most;
  f->tp.is_cwnd_limited = 1;
  f->tp.ecn_flags = TCP_ECN_OK;
  f->tp.inet_conn.icsk_ca_ops = ops;
  struct sock *sk = SK(f);
  sk->sk_state = TCP_ESTABLISHED;
  sk->sk_pacing_rate = sk->sk_max_pacing_rate = ~0UL;
  sk->sk_pacing_shift = 10;
  sk->sk_gso_max_size = 65536;
  f->tp.rtt_min.s[0].v = f->tp.rtt_min.s[1].v = f->tp.rtt_min.s[2].v = ~0u;
  at(f, 0);
  answer(f);
  return f;
}
void kflow_close(kflow *f) { if (f->opened) tcp_cleanup_congestion_control(SK(f)); free(f); }
s64 *kflow_io(kflow *f) { return f->io; }
u32 kflow_state(kflow *f) { return f->tp.inet_conn.icsk_ca_state; }

/* The SYN is delivered. */
void kflow_handshake(kflow *f, s64 now, s64 rtt_ps) { at(f, now); f->tp.delivered = 1; rtt_sample(f, rtt_ps / 1000000); open_module(f); answer(f); }

/* The measurements of an ACK, before anything follows from them: the first two calls of tcp_ack(). io in: 8 now, 9 newly_acked,
   10 delivered, 11 rtt_ps (-1), 12 ece, 13 acked_through, 14 next, 15 in_flight, 16 delivered since the newest segment was sent
   (-1), 17 segments delivered in total, 18 segments reported by SACK. */
void kflow_sample(kflow *f) {
  struct tcp_sock *tp = &f->tp;
  s64 *a = f->io;
  at(f, a[8]);
  open_module(f);
  f->una = a[13] + 1;
  f->top = a[14];
  counts(f, f->una, f->top, a[15]);
  u32 before = tp->delivered;
  tp->delivered = a[17];
  if (a[12]) tp->delivered_ce += tp->delivered - before;
  /* An ACK for new data without SACK blocks or an echo takes the fast path. Blocks are there while segments are reported. */
  bool slow = !a[9] || a[12] || a[18];
  if (OPS(f)->in_ack_event) OPS(f)->in_ack_event(SK(f), (slow ? CA_ACK_SLOWPATH : CA_ACK_WIN_UPDATE) | (a[12] ? CA_ACK_ECE : 0));
  s64 rtt = a[11] < 0 ? -1 : a[11] / 1000000;
  if (rtt >= 0) minmax_running_min(&tp->rtt_min, 300 * HZ, tcp_jiffies32, rtt ? rtt : 1);
  if (OPS(f)->pkts_acked) {
    struct ack_sample sample = {.pkts_acked = a[9], .rtt_us = rtt, .in_flight = (a[16] < 0 ? tp->packets_out : (u32)a[16]) * tp->mss_cache};
    OPS(f)->pkts_acked(SK(f), &sample);
  }
}

void kflow_congestion(kflow *f, s64 now, int ecn) {
  struct tcp_sock *tp = &f->tp;
  f->io[6] = 0;
  at(f, now); open_module(f);
  reduction(f);
  tcp_set_ca_state(SK(f), ecn ? TCP_CA_CWR : TCP_CA_Recovery);
  /* A transport that reduces over a round trip sets the window back, and then for each ACK. */
  if (!OPS(f)->cong_control) tp->snd_cwnd = max(1u, tp->snd_ssthresh);
  answer(f);
}

void kflow_rto(kflow *f, s64 now, int repeated) {
  struct tcp_sock *tp = &f->tp;
  at(f, now); open_module(f);
  if (tp->inet_conn.icsk_ca_state <= TCP_CA_Disorder || (f->mark && f->una >= f->mark) || (tp->inet_conn.icsk_ca_state == TCP_CA_Loss && !repeated)) {
    tp->prior_cwnd = tp->snd_cwnd;
    tp->snd_ssthresh = OPS(f)->ssthresh(SK(f));
    event(f, CA_EVENT_LOSS);
  }
  tp->snd_cwnd_cnt = 0;
  tcp_set_ca_state(SK(f), TCP_CA_Loss);
  f->mark = f->top;
  tp->snd_cwnd = 1;
  answer(f);
}

void kflow_recovery_exit(kflow *f, s64 now) { at(f, now); if (f->opened && !OPS(f)->cong_control) event(f, CA_EVENT_COMPLETE_CWR); answer(f); }
void kflow_undo(kflow *f, s64 now) { at(f, now); if (f->opened) f->tp.snd_cwnd = OPS(f)->undo_cwnd(SK(f)); answer(f); }
void kflow_restart(kflow *f, s64 now, s64 window) { at(f, now); if (f->opened) event(f, CA_EVENT_CWND_RESTART); f->tp.snd_cwnd = window; answer(f); }
void kflow_transmit_start(kflow *f, s64 now, s64 idle_ps, int app_limited) {
  at(f, now);
  f->tp.lsndtime = (kshim_ns - idle_ps / 1000) / (NSEC_PER_SEC / HZ);
  f->tp.app_limited = app_limited;
  if (f->opened) event(f, CA_EVENT_TX_START);
  f->tp.app_limited = 0;
  answer(f);
}
void kflow_set(kflow *f, s64 cwnd, s64 ssthresh) {
  if (cwnd >= 0) f->tp.snd_cwnd = cwnd;
  if (ssthresh >= 0) f->tp.snd_ssthresh = ssthresh; else if (ssthresh == -1) f->tp.snd_ssthresh = TCP_INFINITE_SSTHRESH;
  answer(f);
}

/* The ACK after its conclusions. io in: 8 now, 10 delivered, 11 newly_lost, 12 delivered_total, 13 lost_total, 14 acked_through,
   15 next, 16 in_flight, 17 prior_in_flight, 18 rtt_ps (-1), 20 phase, 21 may_grow, 22 window_limited, 23 rate.delivered (-1),
   24 rate.interval_ps (-1), 25 rate.prior_delivered, 26 app_limited, 27 receiver_time_ps (-1), 28 disorder, 29 sacked, 30 lost,
   31 retransmitted, 32 srtt_ps (-1), 33 paced. */
void kflow_ack(kflow *f) {
  struct tcp_sock *tp = &f->tp;
  s64 *a = f->io;
  a[6] = 0;
  at(f, a[8]);
  open_module(f);
  s64 rtt = a[18] < 0 ? -1 : a[18] / 1000000;
  f->una = a[14] + 1;
  f->top = a[15];
  counts(f, f->una, f->top, a[16]);
  tp->sacked_out = a[29];
  tp->lost_out = a[30];
  tp->retrans_out = a[31];
  if (!OPS(f)->cong_control) SK(f)->sk_pacing_status = a[33] ? SK_PACING_NEEDED : SK_PACING_NONE;
  if (a[32] >= 0) tp->srtt_us = a[32] / 125000; /* in eighths of a microsecond */
  tp->delivered = a[12];
  tp->lost = a[13];
  if (a[10]) tp->delivered_mstamp = tp->tcp_mstamp;
  tp->is_cwnd_limited = a[22];
  tp->app_limited = 0;
  if (a[27] >= 0) {
    tp->rx_opt.saw_tstamp = 1;
    tp->rx_opt.rcv_tsval = a[27] / 1000000000 + 7777;
    tp->rx_opt.rcv_tsecr = (u32)((tp->tcp_mstamp - (rtt < 0 ? (tp->srtt_us >> 3) : rtt)) / 1000);
  }
  u8 to = a[20] == 0 ? (a[28] ? TCP_CA_Disorder : TCP_CA_Open) : a[20] + 1;
  state(f, to);
  if (OPS(f)->cong_control) {
    struct rate_sample rs = {
      .prior_delivered = a[25], .delivered = a[23], .interval_us = a[24] < 0 ? -1 : a[24] / 1000000, .rtt_us = rtt, .losses = a[11],
      .acked_sacked = a[10], .prior_in_flight = a[17], .is_app_limited = a[26], .prior_mstamp = 1,
    };
    OPS(f)->cong_control(SK(f), tp->snd_una, 0, &rs);
  } else {
    if (a[21]) {
      OPS(f)->cong_avoid(SK(f), tp->snd_una, a[10]);
      tp->snd_cwnd_stamp = tcp_jiffies32;
    }
    update_pacing(f);
  }
  answer(f);
}
