/* Congestion controllers of Ackclock in picoquic. Licence: Apache-2.0 OR MIT.

   A segment is `send_mtu` bytes of the path. Only the packets of the application space are passed on, as those of the
   handshake say little about the path. Time counts from the creation of the path. */
#include "ackclock_cc.h"
#include "ackclock_controllers.h"
#include "cc_common.h"
#include "picoquic_internal.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 200       /* longest text of a controller */
#define ALGORITHMS 64  /* most texts */
#define MIN_WINDOW 2.0 /* segments (RFC 9002 section 7.2) */
#define NONE UINT64_MAX

typedef struct {
  picoquic_congestion_algorithm_t algorithm; /* first: a connection has a pointer to it */
  char name[sizeof "ackclock_" + TEXT];
} entry;

typedef struct {
  ackclock_controller *controller;
  ackclock_decision decision;
  uint64_t packet;     /* bytes of a segment when the controller was opened */
  uint64_t epoch;      /* microseconds: when the path was made */
  uint64_t seen;       /* bytes of the path's deliveries that are in `delivered` */
  double delivered;    /* segments */
  uint64_t reported;   /* of these, what the controller knows */
  uint64_t lost, lost_reported;
  int64_t rtt_ps;      /* of the ACK that is being processed; -1: none */
  uint64_t last_lost;  /* packet number */
  uint64_t phase;
  uint64_t recover;    /* the first packet number after the last reduction */
  uint64_t repeats;    /* losses of that reduction that were not spurious */
  double prior_cwnd, prior_ssthresh; /* before that reduction */
  unsigned losses : 1, samples : 1, open : 1, sampled : 1, blocked : 1, echo : 1, failed : 1;
} flow;

static int64_t ps(const flow *f, uint64_t us) { return us > f->epoch ? (int64_t)(us - f->epoch) * 1000000 : 0; }
static double segments(const picoquic_path_t *path, uint64_t bytes) { return (double)bytes / (double)path->send_mtu; }
static uint64_t whole(const picoquic_path_t *path, uint64_t bytes) { return (uint64_t)(segments(path, bytes) + 0.5); }
static uint64_t next(picoquic_path_t *path) { return picoquic_cc_get_sequence_number(path->cnx, path); }
static uint64_t acked(picoquic_path_t *path) {
  uint64_t number = picoquic_cc_get_ack_number(path->cnx, path);
  return number == UINT64_MAX ? 0 : number;
}
/* Segments delivered, with those of the ACK that is being processed. */
static double delivered(const flow *f, const picoquic_path_t *path) {
  return f->delivered + (path->delivered > f->seen ? segments(path, path->delivered - f->seen) : 0.0);
}

static void check(flow *f, picoquic_path_t *path, int result) {
  if (result == 0 || f->failed) return;
  f->failed = 1;
  picoquic_log_app_message(path->cnx, "Ackclock's controller refused an event: %d", result);
#ifdef ACKCLOCK_ABORT
  abort();
#endif
}
/* Passes an event, and stores the answers. */
#define PASS(f, path, event, ...) check(f, path, ackclock_controller_##event((f)->controller, __VA_ARGS__, &(f)->decision))

static void apply(flow *f, picoquic_path_t *path) {
  const ackclock_decision *d = &f->decision;
  double cwnd = fmin(fmax(floor(d->cwnd), MIN_WINDOW), 1e9);
  path->cwin = (uint64_t)cwnd * path->send_mtu;
  if (isnan(d->pacing_bps) || d->pacing_bps <= 0) {
    picoquic_update_pacing_data(path, d->cwnd < d->ssthresh);
  } else { /* a bucket of one packet would lose what is late by a microsecond */
    uint64_t quantum = d->send_quantum < 2 ? 2 : d->send_quantum;
    double bytes = d->pacing_bps / 8.0 / (double)f->packet * (double)path->send_mtu;
    picoquic_update_pacing_rate(path, bytes, quantum * path->send_mtu);
  }
  path->is_ssthresh_initialized = isfinite(d->ssthresh) != 0;
  path->is_cc_data_updated = 1;
}

static void reduce(flow *f, picoquic_path_t *path, uint64_t cause, uint64_t number, const picoquic_per_ack_state_t *event,
                   uint64_t now) {
  int loss = cause == ACKCLOCK_CAUSE_FAST_RETRANSMIT;
  if (number < f->recover) { /* sent before the last reduction: part of it */
    if (loss && f->phase == ACKCLOCK_PHASE_CWR) f->phase = ACKCLOCK_PHASE_RECOVERY;
    f->repeats += loss;
    return;
  }
  f->recover = next(path);
  f->repeats = loss;
  f->prior_cwnd = f->decision.cwnd;
  f->prior_ssthresh = f->decision.ssthresh;
  f->phase = loss ? ACKCLOCK_PHASE_RECOVERY : ACKCLOCK_PHASE_CWR;
  PASS(f, path, on_congestion, &(ackclock_congestion){
    .size = sizeof(ackclock_congestion), .now_ps = ps(f, now), .cause = cause, .window = fmax(f->decision.cwnd, 1.0),
    .in_flight = segments(path, path->bytes_in_transit), .segment_sent_ps = loss ? ps(f, event->lost_packet_sent_time) : -1,
  });
}

static void on_loss(flow *f, picoquic_path_t *path, const picoquic_per_ack_state_t *event, int timeout, uint64_t now) {
  uint64_t number = event->lost_packet_number;
  f->lost++;
  if (f->losses) {
    uint64_t lost = whole(path, event->nb_bytes_lost_since_packet_sent);
    PASS(f, path, on_lost, &(ackclock_lost){
      .size = sizeof(ackclock_lost), .now_ps = ps(f, now), .seq = number,
      .tx_in_flight = whole(path, event->inflight_prior + event->nb_bytes_newly_lost), .lost = lost ? lost : 1,
      .delivered_total = (uint64_t)delivered(f, path), .app_limited = event->is_app_limited,
      .starts_range = number != f->last_lost + 1,
    });
  }
  f->last_lost = number;
  if (!timeout) {
    reduce(f, path, ACKCLOCK_CAUSE_FAST_RETRANSMIT, number, event, now);
  } else if (number < f->recover) {
    f->repeats++;
  } else {
    uint64_t repeated = f->phase == ACKCLOCK_PHASE_LOSS;
    f->repeats = 1;
    if (!repeated) {
      f->prior_cwnd = f->decision.cwnd;
      f->prior_ssthresh = f->decision.ssthresh;
    }
    f->recover = next(path);
    f->phase = ACKCLOCK_PHASE_LOSS;
    PASS(f, path, on_rto, &(ackclock_timeout){
      .size = sizeof(ackclock_timeout), .now_ps = ps(f, now), .window = fmax(f->decision.cwnd, 1.0), .repeated = repeated,
    });
    if (!f->decision.owns_window && f->decision.cwnd < MIN_WINDOW) PASS(f, path, set_window, MIN_WINDOW);
  }
}

/* A packet that was called lost has arrived. If all of the last reduction have, the reduction is undone. */
static void on_spurious(flow *f, picoquic_path_t *path, uint64_t number, uint64_t now) {
  int reduced = f->phase == ACKCLOCK_PHASE_RECOVERY || f->phase == ACKCLOCK_PHASE_LOSS;
  if (!reduced || number >= f->recover || f->repeats == 0 || --f->repeats > 0) return;
  f->phase = ACKCLOCK_PHASE_OPEN;
  PASS(f, path, on_undo, ps(f, now));
  if (!f->decision.owns_window) PASS(f, path, set_window, fmax(f->decision.cwnd, f->prior_cwnd));
  if (f->prior_ssthresh > f->decision.ssthresh) PASS(f, path, set_ssthresh, f->prior_ssthresh);
}

/* The first notification of an ACK: what it says before any loss that follows from it. */
static void on_sample(flow *f, picoquic_path_t *path, uint64_t now) {
  if (f->phase != ACKCLOCK_PHASE_OPEN && acked(path) >= f->recover) {
    int timeout = f->phase == ACKCLOCK_PHASE_LOSS;
    f->phase = ACKCLOCK_PHASE_OPEN;
    if (!timeout) PASS(f, path, on_recovery_exit, ps(f, now));
  }
  if (f->sampled || !f->samples) return;
  f->sampled = 1;
  uint64_t newly = (uint64_t)delivered(f, path) - f->reported;
  double in_flight = segments(path, path->bytes_in_transit);
  PASS(f, path, on_sample, &(ackclock_sample){
    .size = sizeof(ackclock_sample), .now_ps = ps(f, now), .newly_acked = newly, .newly_delivered = newly,
    .rtt_ps = f->rtt_ps, .ece = f->echo, .acked_through = acked(path), .next = next(path), .in_flight = in_flight,
    .prior_in_flight = in_flight + (double)newly, .since_sent = NONE, .phase = f->phase,
  });
}

static void on_ack(flow *f, picoquic_path_t *path, const picoquic_per_ack_state_t *event, uint64_t now) {
  on_sample(f, path, now);
  f->delivered = delivered(f, path);
  f->seen = path->delivered;
  uint64_t total = (uint64_t)f->delivered, newly = total - f->reported, newly_lost = f->lost - f->lost_reported;
  f->reported = total;
  f->lost_reported = f->lost;
  if (f->echo && f->decision.ecn_response == ACKCLOCK_ECN_RESPONSE_REDUCE)
    reduce(f, path, ACKCLOCK_CAUSE_ECN, acked(path), event, now);
  double in_flight = segments(path, path->bytes_in_transit);
  /* At picoquic's pacing rate, a window in a round trip, a sender uses its window and never reaches it. */
  int used = isnan(f->decision.pacing_bps) && path->last_time_acked_data_frame_sent > path->last_sender_limited_time;
  int64_t wait_ns = path->pacing.packet_time_nanosec - path->pacing.bucket_nanosec;
  wait_ns -= (int64_t)(now - path->pacing.evaluation_time) * 1000;
  ackclock_ack ack = {
    .size = sizeof ack, .now_ps = ps(f, now), .newly_acked = newly, .newly_delivered = newly, .newly_lost = newly_lost,
    .delivered_total = total, .lost_total = f->lost, .acked_through = acked(path), .next = next(path),
    .in_flight = in_flight, .prior_in_flight = in_flight + (double)(newly + newly_lost), .rtt_ps = f->rtt_ps,
    .receiver_time_ps = -1, .ece = f->echo, .phase = f->phase,
    .may_grow = newly > 0 && !f->echo && (f->phase == ACKCLOCK_PHASE_OPEN || f->phase == ACKCLOCK_PHASE_LOSS),
    .paced = 1, .pacing_wait_ps = wait_ns > 0 ? wait_ns * 1000 : 0,
    .window_limited = used || f->blocked || event->is_cwnd_limited,
    .delivered = NONE, .interval_ps = -1, .prior_delivered = NONE, .tx_in_flight = NONE, .lost = NONE,
    .send_interval_ps = -1, .ack_interval_ps = -1, .srtt_ps = (int64_t)path->smoothed_rtt * 1000000,
    .min_rtt_ps = (int64_t)path->rtt_min * 1000000, .ce_total = path->ecn_ce_total_remote,
  };
  /* picoquic has estimated the rate at this ACK: the longer of its two intervals follows from it. */
  uint64_t bytes = event->nb_bytes_delivered_since_packet_sent;
  int estimated = path->delivered_last == path->delivered && path->bandwidth_estimate > 0;
  if (estimated && bytes > 0 && bytes <= path->delivered && event->send_delay <= now - f->epoch) {
    double prior = fmax(f->delivered - segments(path, bytes), 0.0);
    uint64_t lost = event->nb_bytes_lost_since_packet_sent;
    ack.prior_delivered = (uint64_t)prior;
    ack.delivered = total - ack.prior_delivered;
    ack.interval_ps = (int64_t)((double)bytes / (double)path->bandwidth_estimate * 1e12);
    ack.send_interval_ps = (int64_t)event->send_delay * 1000000;
    ack.ack_interval_ps = ack.interval_ps; /* if it is the shorter one, at most so long: picoquic does not say */
    ack.app_limited = event->is_app_limited;
    ack.tx_in_flight = whole(path, event->inflight_prior) + 1;
    ack.lost = lost <= path->total_bytes_lost ? whole(path, lost) : 0; /* spurious losses are taken off the total */
  }
  PASS(f, path, on_ack, &ack);
  if (f->decision.limits_application) path->delivered_limited_index = path->delivered + path->bytes_in_transit + 1;
  if (f->decision.reduce_now && f->phase == ACKCLOCK_PHASE_OPEN)
    reduce(f, path, ACKCLOCK_CAUSE_CONTROLLER, acked(path), event, now);
  f->rtt_ps = -1;
  f->sampled = f->blocked = f->echo = 0;
}

static int has(const char *needs, const char *signal) {
  size_t length = strlen(signal);
  for (const char *at = needs; (at = strstr(at, signal)) != NULL; at += length)
    if ((at == needs || at[-1] == ',') && (at[length] == ',' || at[length] == 0)) return 1;
  return 0;
}

static ackclock_controller *open_controller(const char *text, uint64_t packet, uint64_t seed, ackclock_decision *decision,
                                            char *message, size_t room) {
  ackclock_flow_info info = {
    .size = sizeof info, .packet = packet, .initial_window = (double)PICOQUIC_CWIN_INITIAL / (double)packet,
    .initial_ssthresh = INFINITY, .max_window = INFINITY, .seed = seed, .counts_segments = 1, .integer_windows = 1,
    .rfc_variants = 1,
  };
  decision->size = sizeof *decision;
  return ackclock_controller_open(text, &info, decision, message, room);
}

static void delete(picoquic_path_t *path) {
  flow *f = path->congestion_alg_state;
  if (f != NULL) ackclock_controller_close(f->controller);
  free(f);
  path->congestion_alg_state = NULL;
}

static void init(picoquic_path_t *path, const char *options, uint64_t now) {
  char text[2 * TEXT + 4], message[200] = "";
  const char *own = ((const entry *)path->cnx->congestion_alg)->name + strlen("ackclock_");
  int more = options != NULL && options[0] != 0;
  snprintf(text, sizeof text, "%s%s%s", own, !more ? "" : strchr(own, ':') ? ", " : ": ", more ? options : "");
  uint64_t seed = 0;
  memcpy(&seed, path->cnx->initial_cnxid.id, sizeof seed);
  flow *f = calloc(1, sizeof *f);
  path->congestion_alg_state = f;
  if (f == NULL) return;
  f->packet = path->send_mtu;
  f->epoch = now;
  f->seen = path->delivered;
  f->rtt_ps = -1;
  f->last_lost = NONE - 1;
  f->controller = open_controller(text, f->packet, seed + path->unique_path_id, &f->decision, message, sizeof message);
  if (f->controller == NULL) { /* a wrong option: the parameters of the text, which were checked */
    picoquic_log_app_message(path->cnx, "Options \"%s\" are not used: %s", options, message);
    f->controller = open_controller(own, f->packet, seed, &f->decision, message, sizeof message);
  }
  if (f->controller == NULL) {
    delete(path);
    return;
  }
  const char *needs = ackclock_controller_needs(f->controller);
  f->losses = has(needs, "losses") != 0;
  f->samples = has(needs, "samples") != 0;
  PASS(f, path, on_open, ps(f, now));
  apply(f, path);
}

static void notify(picoquic_cnx_t *cnx, picoquic_path_t *path, picoquic_congestion_notification_t notification,
                   picoquic_per_ack_state_t *event, uint64_t now) {
  flow *f = path->congestion_alg_state;
  if (f == NULL) return;
  if (notification == picoquic_congestion_notification_reset) {
    delete(path);
    init(path, cnx->congestion_alg_option_string, now);
    return;
  }
  if (event == NULL) return;
  if (event->pc != picoquic_packet_context_application) {
    f->seen = path->delivered;
    return;
  }
  if (f->decision.wake_at_ps >= 0 && ps(f, now) >= f->decision.wake_at_ps) PASS(f, path, on_timer, ps(f, now));
  switch (notification) {
  case picoquic_congestion_notification_rtt_measurement:
    f->rtt_ps = (int64_t)event->rtt_measurement * 1000000;
    if (!f->open) {
      f->open = 1;
      PASS(f, path, on_handshake, &(ackclock_handshake){
        .size = sizeof(ackclock_handshake), .now_ps = ps(f, now), .rtt_ps = (int64_t)path->rtt_min * 1000000});
    }
    on_sample(f, path, now);
    break;
  case picoquic_congestion_notification_acknowledgement: on_ack(f, path, event, now); break;
  case picoquic_congestion_notification_repeat: on_loss(f, path, event, 0, now); break;
  case picoquic_congestion_notification_timeout: on_loss(f, path, event, 1, now); break;
  case picoquic_congestion_notification_spurious_repeat: on_spurious(f, path, event->lost_packet_number, now); break;
  case picoquic_congestion_notification_ecn_ec: f->echo = 1; return; /* the ACK that has it is processed next */
  case picoquic_congestion_notification_cwin_blocked: f->blocked = 1; return;
  case picoquic_congestion_notification_restart_from_idle:
    PASS(f, path, on_transmit_start, &(ackclock_transmit_start){
      .size = sizeof(ackclock_transmit_start), .now_ps = ps(f, now),
      .idle_ps = (int64_t)(now - path->last_sent_time) * 1000000, .app_limited = event->is_app_limited});
    break;
  default: return;
  }
  apply(f, path);
}

static void observe(picoquic_path_t *path, uint64_t *state, uint64_t *threshold) {
  const flow *f = path->congestion_alg_state;
  *state = f == NULL ? 0 : f->phase;
  *threshold = f == NULL || isinf(f->decision.ssthresh) ? 0 : (uint64_t)(f->decision.ssthresh * (double)path->send_mtu);
}

const picoquic_congestion_algorithm_t *ackclock_picoquic_algorithm(const char *text, char *message, size_t room) {
  static entry entries[ALGORITHMS];
  static size_t count;
  static const char *const missing[] = {"receiver_time", "fine_clock", "router_rate", "router_feedback", "ecn_per_packet",
                                        "l4s", "sent", "deliveries"};
  for (size_t i = 0; i < count; i++)
    if (strcmp(entries[i].name + strlen("ackclock_"), text) == 0) return &entries[i].algorithm;
  if (count == ALGORITHMS || strlen(text) >= TEXT) {
    snprintf(message, room, count == ALGORITHMS ? "too many controllers" : "the text of the controller is too long");
    return NULL;
  }
  ackclock_decision decision;
  ackclock_controller *controller = open_controller(text, PICOQUIC_INITIAL_MTU_IPV4, 0, &decision, message, room);
  if (controller == NULL) return NULL;
  const char *lacks = NULL;
  for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
    if (has(ackclock_controller_needs(controller), missing[i])) lacks = missing[i];
  if (lacks != NULL) snprintf(message, room, "%s needs the signal %s, which picoquic does not have", text, lacks);
  ackclock_controller_close(controller);
  if (lacks != NULL) return NULL;
  entry *e = &entries[count];
  snprintf(e->name, sizeof e->name, "ackclock_%s", text);
  e->algorithm = (picoquic_congestion_algorithm_t){
    .congestion_algorithm_id = e->name, .congestion_algorithm_number = (uint8_t)(64 + count), .ecn_mark = PICOQUIC_ECN_ECT_0,
    .alg_init = init, .alg_notify = notify, .alg_delete = delete, .alg_observe = observe,
  };
  count++;
  return &e->algorithm;
}
