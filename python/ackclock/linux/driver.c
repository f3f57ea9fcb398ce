/* Drives congestion control modules of Linux with the events of ackclock.h. The order of the calls within an ACK is
   that of tcp_ack(): in_ack_event, pkts_acked (both at the event on_sample), then undo, ssthresh and set_state, then cong_avoid or
   cong_control (on_ack). Times are those of the simulation in picoseconds. */
#include "kshim.h"
#include "driver.h"

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

enum { MOST_PARAMETERS = 256 };
static struct { const char *file, *name; void *at; unsigned size; } params[MOST_PARAMETERS];
static int param_count;
void kshim_param(const char *file, const char *name, void *at, unsigned size) {
  if (param_count == MOST_PARAMETERS) return;
  params[param_count].file = file; params[param_count].name = name; params[param_count].at = at; params[param_count++].size = size;
}
static s64 param_value(int i) {
  return params[i].size == 1 ? *(u8 *)params[i].at : params[i].size == 2 ? *(u16 *)params[i].at : params[i].size == 4 ? *(s32 *)params[i].at : *(s64 *)params[i].at;
}
static void set_param(int i, s64 value) {
  if (params[i].size == 1) *(u8 *)params[i].at = value; else if (params[i].size == 2) *(u16 *)params[i].at = value; else if (params[i].size == 4) *(u32 *)params[i].at = value; else *(u64 *)params[i].at = value;
}
/* Looks up the parameters of a module, once. */
static void look_up(struct kernel_module *module) {
  if (module->count >= 0) return;
  module->count = 0;
  for (int i = 0; i < param_count && module->count < MOST_PARAMETERS_OF_ONE; i++)
    if (strstr(params[i].file, module->file)) module->places[module->count++] = i;
}

/* What a module computes from its parameters when it is loaded; it is loaded again after they change. */
static struct { const char *file; kshim_init *init; } inits[64];
static int init_count;
void kshim_module(const char *file, kshim_init *init) { if (init_count < 64) inits[init_count].file = file, inits[init_count++].init = init; }
static void load_module(const char *file) { for (int i = 0; i < init_count; i++) if (strstr(inits[i].file, file)) inits[i].init(); }

enum { EPOCH_S = 1000 }; /* the clock of the kernel is not zero when a flow starts */

typedef struct kflow {
  struct tcp_sock tp;
  u64 random[4];
  s64 parameters[MOST_PARAMETERS_OF_ONE];
  const struct kernel_module *module;
  bool opened, reduce_now;
  u64 una, top;
  u64 total; /* segments delivered, the SYN as one */
  u32 mark;
} kflow;

/* The parameters of a flow, before each call: those of two flows can differ. */
static void apply(kflow *f) {
  const struct kernel_module *module = f->module;
  bool changed = false;
  for (int n = 0; n < module->count; n++)
    if (param_value(module->places[n]) != f->parameters[n]) set_param(module->places[n], f->parameters[n]), changed = true;
  if (changed) load_module(module->file);
}

#define SK(f) ((struct sock *)&(f)->tp)
#define OPS(f) ((f)->tp.inet_conn.icsk_ca_ops)

static void at(kflow *f, s64 now_ps) {
  u64 ns = (u64)now_ps / 1000 + (u64)EPOCH_S * NSEC_PER_SEC;
  kshim_ns = ns;
  kshim_jiffies = ns / (NSEC_PER_SEC / HZ);
  f->tp.tcp_clock_cache = ns;
  f->tp.tcp_mstamp = ns / 1000;
  kshim_random = f->random;
  apply(f);
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

static void raise(kflow *f, enum tcp_ca_event e) { if (OPS(f)->cwnd_event) OPS(f)->cwnd_event(SK(f), e); }

static void reduction(kflow *f) {
  struct tcp_sock *tp = &f->tp;
  tp->snd_cwnd_cnt = 0;
  tp->prior_cwnd = tp->snd_cwnd;
  tp->snd_ssthresh = OPS(f)->ssthresh(SK(f));
}

/* The module asks for a reduction: the transport begins it after this ACK (kflow_congestion). */
void tcp_enter_cwr(struct sock *sk) {
  kflow *f = (kflow *)sk;
  f->reduce_now = f->tp.inet_conn.icsk_ca_state < TCP_CA_CWR;
}

static void set_state(kflow *f, u8 to) { if (f->tp.inet_conn.icsk_ca_state != to) tcp_set_ca_state(SK(f), to); }

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

static void answer(kflow *f, ackclock_decision *d) {
  struct tcp_sock *tp = &f->tp;
  struct sock *sk = SK(f);
  d->cwnd = tp->snd_cwnd ? tp->snd_cwnd : 1;
  d->ssthresh = tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH ? __builtin_inf() : tp->snd_ssthresh ? tp->snd_ssthresh : 1;
  d->reduce_now = f->reduce_now;
  d->owns_window = OPS(f)->cong_control != NULL;
  if (!OPS(f)->cong_control) return; /* the rate of others is the transport's */
  bool paced = sk->sk_pacing_status != SK_PACING_NONE && sk->sk_pacing_rate != ~0UL && sk->sk_pacing_rate;
  d->pacing_bps = paced ? (double)(s64)sk->sk_pacing_rate * 8 : __builtin_nan("");
  d->send_quantum = burst(f);
  d->limits_application = tp->app_limited != 0;
}

static s64 whole(double segments) { return __builtin_isinf(segments) ? -1 : (s64)segments; }

uint64_t kernel_state_size(void) { return sizeof(kflow); }

int32_t kernel_open(void *state, struct kernel_module *module, const ackclock_flow_info *flow, const double *parameters,
                   ackclock_decision *d) {
  kflow *f = state;
  if (!tcp_ca_find("reno")) tcp_register_congestion_control(&tcp_reno);
  struct tcp_congestion_ops *ops = tcp_ca_find(module->name);
  if (!ops) return 1;
  f->module = module;
  look_up(module);
  for (int n = 0; n < module->count; n++) f->parameters[n] = (s64)parameters[n];
  seeded(f->random, flow->seed);
  s64 ssthresh = whole(flow->initial_ssthresh), most = whole(flow->max_window);
  f->tp.mss_cache = flow->packet;
  f->tp.snd_cwnd = flow->initial_window;
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
  answer(f, d);
  return 0;
}

void kernel_close(void *state) { kflow *f = state; if (f->opened) tcp_cleanup_congestion_control(SK(f)); }

/* The SYN is delivered. */
int32_t kernel_on_handshake(void *state, const ackclock_handshake *event, ackclock_decision *d) {
  kflow *f = state;
  at(f, event->now_ps);
  f->total = f->tp.delivered = 1;
  rtt_sample(f, event->rtt_ps < 0 ? -1 : event->rtt_ps / 1000000);
  open_module(f);
  answer(f, d);
  return 0;
}

/* The measurements of an ACK, before anything follows from them: the first two calls of tcp_ack(). */
int32_t kernel_on_sample(void *state, const ackclock_sample *sample, ackclock_decision *d) {
  kflow *f = state;
  struct tcp_sock *tp = &f->tp;
  at(f, sample->now_ps);
  open_module(f);
  f->una = sample->acked_through + 1;
  f->top = sample->next;
  counts(f, f->una, f->top, (s64)sample->in_flight);
  u32 before = tp->delivered;
  tp->delivered = f->total + sample->newly_delivered;
  if (sample->ece) tp->delivered_ce += tp->delivered - before;
  /* An ACK for new data without SACK blocks or an echo takes the fast path. Blocks are there while segments are reported. */
  bool slow = !sample->newly_acked || sample->ece || sample->sacked;
  if (OPS(f)->in_ack_event) OPS(f)->in_ack_event(SK(f), (slow ? CA_ACK_SLOWPATH : CA_ACK_WIN_UPDATE) | (sample->ece ? CA_ACK_ECE : 0));
  s64 rtt = sample->rtt_ps < 0 ? -1 : sample->rtt_ps / 1000000;
  if (rtt >= 0) minmax_running_min(&tp->rtt_min, 300 * HZ, tcp_jiffies32, rtt ? rtt : 1);
  if (OPS(f)->pkts_acked) {
    u32 since_sent = sample->since_sent == UINT64_MAX ? tp->packets_out : sample->since_sent;
    struct ack_sample measured = {.pkts_acked = sample->newly_acked, .rtt_us = rtt, .in_flight = since_sent * tp->mss_cache};
    OPS(f)->pkts_acked(SK(f), &measured);
  }
  answer(f, d);
  return 0;
}

int32_t kernel_on_congestion(void *state, const ackclock_congestion *event, ackclock_decision *d) {
  kflow *f = state;
  struct tcp_sock *tp = &f->tp;
  f->reduce_now = false;
  at(f, event->now_ps);
  open_module(f);
  reduction(f);
  tcp_set_ca_state(SK(f), event->cause != ACKCLOCK_CAUSE_FAST_RETRANSMIT ? TCP_CA_CWR : TCP_CA_Recovery);
  /* A transport that reduces over a round trip sets the window back, and then for each ACK. */
  if (!OPS(f)->cong_control) tp->snd_cwnd = max(1u, tp->snd_ssthresh);
  answer(f, d);
  return 0;
}

int32_t kernel_on_rto(void *state, const ackclock_timeout *event, ackclock_decision *d) {
  kflow *f = state;
  struct tcp_sock *tp = &f->tp;
  at(f, event->now_ps);
  open_module(f);
  u8 ca = tp->inet_conn.icsk_ca_state;
  if (ca <= TCP_CA_Disorder || (f->mark && f->una >= f->mark) || (ca == TCP_CA_Loss && !event->repeated)) {
    tp->prior_cwnd = tp->snd_cwnd;
    tp->snd_ssthresh = OPS(f)->ssthresh(SK(f));
    raise(f, CA_EVENT_LOSS);
  }
  tp->snd_cwnd_cnt = 0;
  tcp_set_ca_state(SK(f), TCP_CA_Loss);
  f->mark = f->top;
  tp->snd_cwnd = 1;
  answer(f, d);
  return 0;
}

int32_t kernel_on_recovery_exit(void *state, int64_t now_ps, ackclock_decision *d) {
  kflow *f = state;
  at(f, now_ps);
  if (f->opened && !OPS(f)->cong_control) raise(f, CA_EVENT_COMPLETE_CWR);
  answer(f, d);
  return 0;
}

int32_t kernel_on_undo(void *state, int64_t now_ps, ackclock_decision *d) {
  kflow *f = state;
  at(f, now_ps);
  if (f->opened) f->tp.snd_cwnd = OPS(f)->undo_cwnd(SK(f));
  answer(f, d);
  return 0;
}

int32_t kernel_on_restart(void *state, const ackclock_restart *event, ackclock_decision *d) {
  kflow *f = state;
  at(f, event->now_ps);
  if (f->opened) raise(f, CA_EVENT_CWND_RESTART);
  f->tp.snd_cwnd = event->window;
  answer(f, d);
  return 0;
}

int32_t kernel_on_transmit_start(void *state, const ackclock_transmit_start *event, ackclock_decision *d) {
  kflow *f = state;
  at(f, event->now_ps);
  f->tp.lsndtime = (kshim_ns - event->idle_ps / 1000) / (NSEC_PER_SEC / HZ);
  f->tp.app_limited = event->app_limited;
  if (f->opened) raise(f, CA_EVENT_TX_START);
  f->tp.app_limited = 0;
  answer(f, d);
  return 0;
}

/* A fraction of a segment is kept for the transport. */
int32_t kernel_set_window(void *state, double cwnd, ackclock_decision *d) {
  kflow *f = state;
  apply(f);
  f->tp.snd_cwnd = cwnd;
  answer(f, d);
  d->cwnd = cwnd;
  return 0;
}

int32_t kernel_set_ssthresh(void *state, double ssthresh, ackclock_decision *d) {
  kflow *f = state;
  apply(f);
  f->tp.snd_ssthresh = __builtin_isinf(ssthresh) ? TCP_INFINITE_SSTHRESH : (u32)ssthresh;
  answer(f, d);
  d->ssthresh = ssthresh;
  return 0;
}

/* The ACK after its conclusions. */
int32_t kernel_on_ack(void *state, const ackclock_ack *ack, ackclock_decision *d) {
  kflow *f = state;
  struct tcp_sock *tp = &f->tp;
  f->reduce_now = false;
  f->total = ack->delivered_total;
  at(f, ack->now_ps);
  open_module(f);
  s64 rtt = ack->rtt_ps < 0 ? -1 : ack->rtt_ps / 1000000;
  f->una = ack->acked_through + 1;
  f->top = ack->next;
  counts(f, f->una, f->top, (s64)ack->in_flight);
  tp->sacked_out = ack->sacked;
  tp->lost_out = ack->lost_out;
  tp->retrans_out = ack->retransmitted_out;
  if (!OPS(f)->cong_control) SK(f)->sk_pacing_status = ack->paced ? SK_PACING_NEEDED : SK_PACING_NONE;
  if (ack->srtt_ps >= 0) tp->srtt_us = ack->srtt_ps / 125000; /* in eighths of a microsecond */
  tp->delivered = ack->delivered_total;
  tp->lost = ack->lost_total;
  if (ack->newly_delivered) tp->delivered_mstamp = tp->tcp_mstamp;
  tp->is_cwnd_limited = ack->window_limited;
  tp->app_limited = 0;
  if (ack->receiver_time_ps >= 0) {
    tp->rx_opt.saw_tstamp = 1;
    tp->rx_opt.rcv_tsval = ack->receiver_time_ps / 1000000000 + 7777;
    tp->rx_opt.rcv_tsecr = (u32)((tp->tcp_mstamp - (rtt < 0 ? (tp->srtt_us >> 3) : rtt)) / 1000);
  }
  set_state(f, ack->phase == ACKCLOCK_PHASE_OPEN ? (ack->disorder ? TCP_CA_Disorder : TCP_CA_Open) : ack->phase + 1);
  if (OPS(f)->cong_control) {
    struct rate_sample rs = {
      .prior_delivered = ack->prior_delivered == UINT64_MAX ? 0 : ack->prior_delivered,
      .delivered = ack->delivered == UINT64_MAX ? -1 : (s64)ack->delivered,
      .interval_us = ack->interval_ps < 0 ? -1 : ack->interval_ps / 1000000, .rtt_us = rtt, .losses = ack->newly_lost,
      .acked_sacked = ack->newly_delivered, .prior_in_flight = ack->prior_in_flight, .is_app_limited = ack->app_limited,
      .prior_mstamp = 1,
    };
#if KERNEL >= 610
    OPS(f)->cong_control(SK(f), tp->snd_una, 0, &rs);
#else
    OPS(f)->cong_control(SK(f), &rs);
#endif
  } else {
    if (ack->may_grow) {
      OPS(f)->cong_avoid(SK(f), tp->snd_una, ack->newly_delivered);
      tp->snd_cwnd_stamp = tcp_jiffies32;
    }
    update_pacing(f);
  }
  answer(f, d);
  return 0;
}

static char *written(char *to, const char *text) { while (*text) *to++ = *text++; return to; }
static char *number(char *to, s64 value) {
  char digits[24];
  int n = 0;
  if (value < 0) *to++ = '-', value = -value;
  do digits[n++] = '0' + value % 10; while (value /= 10);
  while (n) *to++ = digits[--n];
  return to;
}

const char *kernel_describe(struct kernel_module *module) {
  static char text[8192];
  char *to = written(text, "abi = '1.0'\nsummary = 'tcp_");
  to = written(to, module->name);
  to = written(to, " of Linux " KERNEL_NAME "'\nneeds = [");
  to = written(to, module->needs);
  to = written(to, "]\nstate = '");
  to = written(to, module->state);
  to = written(to, "'\nparameters = [\n");
  look_up(module);
  for (int n = 0; n < module->count && to < text + sizeof text - 256; n++) {
    int i = module->places[n];
    to = written(to, "  { name = '");
    to = written(to, params[i].name);
    to = written(to, "', default = ");
    to = number(to, param_value(i));
    to = written(to, ", about = 'parameter of the module' },\n");
  }
  to = written(to, "]\n");
  *to = 0;
  return text;
}
