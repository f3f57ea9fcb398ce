/* BBR of ngtcp2 behind a few functions: the packets of one flow in, window and pacing rate out. Times in nanoseconds, sizes
   in bytes. The calls within an ACK are in the order of ngtcp2_rtb_recv_ack: delivered packets, the rate sample, lost packets,
   the congestion event, the ACK. Built by ngtcp2_bbr.py with the sources of ngtcp2, which are not part of this project. */

#include <stdlib.h>

#include "ngtcp2_bbr.h"
#include "ngtcp2_conn_stat.h"
#include "ngtcp2_log.h"
#include "ngtcp2_pcg.h"
#include "ngtcp2_rst.h"
#include "ngtcp2_rtb.h"

typedef struct flow {
  ngtcp2_cc_bbr bbr;
  ngtcp2_conn_stat stat;
  ngtcp2_rst rst;
  ngtcp2_pcg32 random;
  ngtcp2_log log;
  ngtcp2_rtb_entry *packets;
  uint64_t room;
  uint64_t size;
  uint64_t *lost;
  uint64_t lost_count, lost_room;
  ngtcp2_cc_ack ack;
  int acking;
} flow;

void *flow_open(uint64_t size, uint64_t segments, uint64_t seed, uint64_t now) {
  flow *f = calloc(1, sizeof(*f));
  f->size = size;
  f->stat.min_rtt = UINT64_MAX;
  f->stat.smoothed_rtt = f->stat.initial_rtt = 333 * NGTCP2_MILLISECONDS;
  f->stat.first_rtt_sample_ts = UINT64_MAX;
  f->stat.max_tx_udp_payload_size = size;
  f->stat.cwnd = segments * size;
  f->stat.ssthresh = UINT64_MAX;
  f->stat.congestion_recovery_start_ts = UINT64_MAX;
  f->stat.send_quantum = 64 * 1024;
  ngtcp2_log_init(&f->log, NULL, NULL, NULL, NULL, now, NULL);
  ngtcp2_rst_init(&f->rst);
  ngtcp2_pcg32_init(&f->random, seed);
  ngtcp2_cc_bbr_init(&f->bbr, &f->log, &f->stat, &f->rst, now, &f->random);
  return f;
}

void flow_close(void *p) {
  flow *f = p;
  free(f->packets);
  free(f->lost);
  free(f);
}

static void cc_pkt(flow *f, uint64_t number, ngtcp2_cc_pkt *pkt) {
  ngtcp2_rtb_entry *e = &f->packets[number];
  *pkt = (ngtcp2_cc_pkt){
    .pkt_num = (int64_t)number, .pktlen = f->size, .pktns_id = NGTCP2_PKTNS_ID_APPLICATION, .sent_ts = e->ts,
    .lost = e->rst.lost, .tx_in_flight = e->rst.tx_in_flight, .is_app_limited = e->rst.is_app_limited,
  };
}

void flow_sent(void *p, uint64_t number, uint64_t now) {
  flow *f = p;
  ngtcp2_cc_pkt pkt;
  if (number >= f->room) {
    uint64_t room = number * 2 + 1024;
    f->packets = realloc(f->packets, room * sizeof(*f->packets));
    f->room = room;
  }
  f->packets[number] = (ngtcp2_rtb_entry){.ts = now, .pktlen = f->size};
  cc_pkt(f, number, &pkt);
  f->bbr.cc.on_pkt_sent(&f->bbr.cc, &f->stat, &pkt);
  f->stat.bytes_in_flight += f->size;
  ngtcp2_rst_on_pkt_sent(&f->rst, &f->packets[number], &f->stat);
  if (f->stat.bytes_in_flight + f->size > f->stat.cwnd) f->rst.is_cwnd_limited = 1; /* as ngtcp2_conn after its output */
}

static void begin(flow *f) {
  if (!f->acking) {
    f->acking = 1;
    f->lost_count = 0;
    f->ack = (ngtcp2_cc_ack){.largest_pkt_sent_ts = UINT64_MAX, .rtt = UINT64_MAX};
    ngtcp2_rst_reset_rate_sample(&f->rst, &f->stat);
  }
}

void flow_lost(void *p, uint64_t number) {
  flow *f = p;
  begin(f);
  if (f->lost_count == f->lost_room) {
    f->lost_room = 2 * f->lost_room + 64;
    f->lost = realloc(f->lost, f->lost_room * sizeof(*f->lost));
  }
  f->lost[f->lost_count++] = number;
}

void flow_delivered(void *p, uint64_t number, uint64_t now) {
  flow *f = p;
  ngtcp2_rtb_entry *e = &f->packets[number];
  begin(f);
  f->stat.bytes_in_flight -= f->size;
  f->ack.bytes_delivered += f->size;
  if (f->ack.pkt_delivered <= e->rst.delivered) f->ack.pkt_delivered = e->rst.delivered;
  if (f->ack.largest_pkt_sent_ts == UINT64_MAX || e->ts > f->ack.largest_pkt_sent_ts) f->ack.largest_pkt_sent_ts = e->ts;
  ngtcp2_rst_update_rate_sample(&f->rst, e, now);
}

void flow_ack(void *p, uint64_t now, uint64_t rtt) {
  flow *f = p;
  begin(f);
  if (rtt) {
    f->ack.rtt = rtt;
    f->stat.latest_rtt = rtt;
    if (f->stat.first_rtt_sample_ts == UINT64_MAX) {
      f->stat.first_rtt_sample_ts = now;
      f->stat.min_rtt = f->stat.smoothed_rtt = rtt;
    } else {
      if (rtt < f->stat.min_rtt) f->stat.min_rtt = rtt;
      f->stat.smoothed_rtt = (7 * f->stat.smoothed_rtt + rtt) / 8;
    }
  }
  if (f->ack.bytes_delivered) ngtcp2_rst_on_ack_recv(&f->rst, &f->stat);
  uint64_t latest = 0;
  for (uint64_t i = 0; i < f->lost_count; ++i) {
    ngtcp2_cc_pkt pkt;
    uint64_t number = f->lost[i];
    cc_pkt(f, number, &pkt);
    f->rst.lost += f->size;
    f->bbr.cc.on_pkt_lost(&f->bbr.cc, &f->stat, &pkt, now);
    f->stat.bytes_in_flight -= f->size;
    f->ack.bytes_lost += f->size;
    if (f->packets[number].ts > latest) latest = f->packets[number].ts;
  }
  if (f->lost_count) f->bbr.cc.congestion_event(&f->bbr.cc, &f->stat, latest, &f->ack, now);
  f->bbr.cc.on_ack_recv(&f->bbr.cc, &f->stat, &f->ack, now);
  f->acking = 0;
}

uint64_t flow_window(void *p) { return ((flow *)p)->stat.cwnd; }
/* 1/1024 nanoseconds for a byte; 0 before the first one. */
uint64_t flow_pacing(void *p) { return ((flow *)p)->stat.pacing_interval_m; }
int flow_state(void *p) { return (int)((flow *)p)->bbr.state; }
uint64_t flow_bandwidth(void *p) { return ((flow *)p)->bbr.max_bw; }
uint64_t flow_min_rtt(void *p) { return ((flow *)p)->bbr.min_rtt; }
uint64_t flow_longterm(void *p) { return ((flow *)p)->bbr.inflight_longterm; }
uint64_t flow_shortterm(void *p) { return ((flow *)p)->bbr.inflight_shortterm; }
uint64_t flow_bw(void *p) { return ((flow *)p)->bbr.bw; }
