/* Congestion controllers in C, as a native library or as WebAssembly. Made by `make reference` from the tables of the crate cc.
   Licence: Apache-2.0 OR MIT.

   Every field has eight bytes at a multiple of eight, little-endian, so a struct is the same in both. `size` is the
   number of bytes that the caller has filled in: a later version adds fields at the end. Windows are in segments,
   times in picoseconds of simulated time.

   A function keeps no pointer to its arguments, calls nothing of the program, starts no threads and reads no clock. */
#ifndef ACKCLOCK_H
#define ACKCLOCK_H

#include <stdint.h>

#define ACKCLOCK_ABI_MAJOR 1
#define ACKCLOCK_ABI_MINOR 1

/* Before each function of a controller: it is visible outside the library or the module. */
#if defined(_WIN32)
#define ACKCLOCK_EXPORT __declspec(dllexport)
#else
#define ACKCLOCK_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { ACKCLOCK_PHASE_OPEN, ACKCLOCK_PHASE_CWR, ACKCLOCK_PHASE_RECOVERY, ACKCLOCK_PHASE_LOSS };
enum { ACKCLOCK_CAUSE_FAST_RETRANSMIT, ACKCLOCK_CAUSE_ECN, ACKCLOCK_CAUSE_CONTROLLER };
enum { ACKCLOCK_KIND_HANDOFF_BEGINS, ACKCLOCK_KIND_HANDOFF_ENDS, ACKCLOCK_KIND_ROUTER_RATE, ACKCLOCK_KIND_ROUTER_FEEDBACK };
enum { ACKCLOCK_ECN_RESPONSE_REDUCE, ACKCLOCK_ECN_RESPONSE_CONFIRM, ACKCLOCK_ECN_RESPONSE_IGNORE };

/* The properties of a flow at the creation of its controller. */
typedef struct ackclock_flow_info {
  uint64_t size;
  /* Payload of a segment, bytes. A rate is a window times this size over the round-trip time. */
  uint64_t packet;
  /* The window before the first ACK, segments. */
  double initial_window;
  /* Slow-start threshold at the start, segments; may be infinite. */
  double initial_ssthresh;
  /* Upper bound of the window, segments; infinite for no bound. */
  double max_window;
  /* Whether the transport retransmits by the controller's fine-grained clock. The controller then inflates its
     own window by the duplicate ACKs. */
  uint64_t fine_clock;
  /* An ECN echo reduces the window less than a loss does (RFC 8511). */
  uint64_t abe;
  /* A number that is derived from the run's seed and unique to the flow, for an algorithm with random numbers. */
  uint64_t seed;
  /* Links of the path to the receiver; 0 if they are not known (satellites, radio, sockets, the kernel). */
  uint64_t hops;
  /* The profile grows windows by the segments acknowledged and keeps them whole (linux); otherwise by ACKs
     (ns2). */
  uint64_t counts_segments;
  /* Reductions truncate the window. */
  uint64_t integer_windows;
  /* A repeated timeout of one segment reduces the threshold again (ns2). */
  uint64_t reduce_on_every_timeout;
  /* Where a controller has a variant of Linux and one of an RFC, the one that follows the profile is that of
     the RFC (QUIC). */
  uint64_t rfc_variants;
} ackclock_flow_info;

/* The end of the handshake. */
typedef struct ackclock_handshake {
  uint64_t size;
  /* When. Picoseconds. */
  int64_t now_ps;
  /* Its round-trip time, none if its packets were sent again; for a controller that takes over, the smallest
     one of the connection. Picoseconds. -1: none. */
  int64_t rtt_ps;
} ackclock_handshake;

/* The measurements of one acknowledgement, before the sender draws conclusions from it. */
typedef struct ackclock_sample {
  uint64_t size;
  /* When the ACK arrived. Picoseconds. */
  int64_t now_ps;
  /* Segments that the cumulative ACK newly acknowledges; zero for a duplicate ACK. */
  uint64_t newly_acked;
  /* Segments that it newly reports as delivered, cumulatively or by SACK. */
  uint64_t newly_delivered;
  /* Its round-trip sample; none if it gives none. Picoseconds. -1: none. */
  int64_t rtt_ps;
  /* It carries an ECN echo. */
  uint64_t ece;
  /* Number of the highest segment acknowledged. */
  uint64_t acked_through;
  /* Number of the next segment to send. */
  uint64_t next;
  /* Segments in flight, before this ACK marks segments as lost. */
  double in_flight;
  /* The same before this ACK. */
  double prior_in_flight;
  /* Segments delivered since the newest segment that this ACK delivers was sent (only with signal `rate`;
     recovery `rack`, QUIC). UINT64_MAX: none. */
  uint64_t since_sent;
  /* Segments outstanding that were reported by SACK, with those of this ACK (recovery `rack`). */
  uint64_t sacked;
  /* The recovery phase before this ACK. ACKCLOCK_PHASE_... */
  uint64_t phase;
  /* Segments were reported or repeated before this ACK, without a reduction: the state Disorder of Linux
     (recovery `rack`). */
  uint64_t disorder;
  /* Marked packets that it reports, as `Ack.ce`. */
  uint64_t ce;
} ackclock_sample;

/* One acknowledgement. */
typedef struct ackclock_ack {
  uint64_t size;
  /* When it arrived. Picoseconds. */
  int64_t now_ps;
  /* Number of segments that the cumulative ACK newly acknowledges; zero for a duplicate ACK. */
  uint64_t newly_acked;
  /* Number of segments that this ACK newly reports as delivered, cumulatively or by SACK. Recoveries without a
     scoreboard of segments (all but `rack`) count cumulative ACKs only. */
  uint64_t newly_delivered;
  /* Number of segments that the sender marked as lost while it processed this ACK (recovery `rack`, QUIC). */
  uint64_t newly_lost;
  /* Number of segments delivered since the start, with this ACK (recovery `rack`, QUIC). */
  uint64_t delivered_total;
  /* Number of segments marked as lost since the start; a lost retransmission counts again (recovery `rack`,
     QUIC). */
  uint64_t lost_total;
  /* Number of duplicate ACKs in a row: with this one, or before this one if it acknowledges new data. */
  uint64_t dupacks;
  /* Number of the highest segment acknowledged. */
  uint64_t acked_through;
  /* Number of the next segment to send. */
  uint64_t next;
  /* Segments in flight after this ACK, before the sender transmits in response: with a recovery that uses SACK
     the estimate of RFC 6675 ("pipe"), otherwise the segments outstanding. */
  double in_flight;
  /* The same before this ACK. */
  double prior_in_flight;
  /* Round-trip sample from the newest segment acknowledged, without ambiguity from retransmissions (Karn's
     algorithm); none if this ACK gives no sample. Picoseconds. -1: none. */
  int64_t rtt_ps;
  /* The receiver's timestamp of this ACK (only with signal `receiver_time`). Picoseconds. -1: none. */
  int64_t receiver_time_ps;
  /* The ACK carries an ECN echo (RFC 3168), or reports marked packets (`ce`). */
  uint64_t ece;
  /* The recovery phase before or after this ACK; `recovery` if the window must not grow. ACKCLOCK_PHASE_... */
  uint64_t phase;
  /* Whether the transport permits the window to grow on this ACK. */
  uint64_t may_grow;
  /* Whether the transport paces the packets of this flow. */
  uint64_t paced;
  /* Time until the pacer permits the next packet. Picoseconds. */
  int64_t pacing_wait_ps;
  /* Whether the window limited what the sender had in flight. */
  uint64_t window_limited;
  /* The delivery-rate sample (only with signal `rate`): segments delivered in its interval. UINT64_MAX: none. */
  uint64_t delivered;
  /* The longer of its sending and its acknowledging interval; none if it is shorter than the smallest round-
     trip time. Picoseconds. -1: none. */
  int64_t interval_ps;
  /* The application had too little data at some time in the interval. */
  uint64_t app_limited;
  /* Segments delivered in total when the segment of the sample was sent. UINT64_MAX: none. */
  uint64_t prior_delivered;
  /* Segments in flight when that segment was sent, with it. UINT64_MAX: none. */
  uint64_t tx_in_flight;
  /* Segments marked as lost since that segment was sent. UINT64_MAX: none. */
  uint64_t lost;
  /* The time in which the segments of the sample were sent. Picoseconds. -1: none. */
  int64_t send_interval_ps;
  /* The time in which they were acknowledged. Picoseconds. -1: none. */
  int64_t ack_interval_ps;
  /* The segment of the sample was sent more than once. */
  uint64_t retransmission;
  /* Smoothed round-trip time of the retransmission timer (recovery `rack`, QUIC). Picoseconds. -1: none. */
  int64_t srtt_ps;
  /* Smallest round-trip time, with recovery `rack` of the last 300 s, over QUIC of the connection. Picoseconds.
     -1: none. */
  int64_t min_rtt_ps;
  /* Segments outstanding that were reported by SACK, or counted by duplicate ACKs (recovery `rack`). */
  uint64_t sacked;
  /* Segments outstanding that are marked as lost (recovery `rack`). */
  uint64_t lost_out;
  /* Retransmissions in flight (recovery `rack`). */
  uint64_t retransmitted_out;
  /* Segments delivered with an ECN mark since the start (recovery `rack`: segments that ACKs with an echo
     delivered; QUIC: the receiver's count). */
  uint64_t ce_total;
  /* Segments are reported or repeated, without a reduction: the state Disorder of Linux (recovery `rack`). */
  uint64_t disorder;
  /* Marked packets that the ACK reports: with accurate feedback the new CE packets of the receiver's counter
     (RFC 9768); otherwise the segments that an ACK with an echo newly delivers; over QUIC the new marks of the
     frame's count, at most `newly_delivered`. */
  uint64_t ce;
} ackclock_ack;

/* A segment that the sender has given up. */
typedef struct ackclock_lost {
  uint64_t size;
  /* When. Picoseconds. */
  int64_t now_ps;
  /* Number of the segment. */
  uint64_t seq;
  /* Segments in flight when it was last sent, with it. */
  uint64_t tx_in_flight;
  /* Segments marked as lost since it was last sent, with it. */
  uint64_t lost;
  /* Segments delivered since the start. */
  uint64_t delivered_total;
  /* The application had too little data when it was last sent. */
  uint64_t app_limited;
  /* The segment before it was not marked at the same time: it starts a run of lost segments. */
  uint64_t starts_range;
} ackclock_lost;

/* A segment that an ACK newly reports as delivered, cumulatively or by SACK. */
typedef struct ackclock_delivered {
  uint64_t size;
  /* When its ACK arrived. Picoseconds. */
  int64_t now_ps;
  /* Number of the segment; of QUIC of the packet. */
  uint64_t seq;
  /* When it was last sent. Picoseconds. */
  int64_t sent_ps;
  /* The time since then. If the segment was sent again, the ACK can be that of an earlier transmission.
     Picoseconds. */
  int64_t rtt_ps;
} ackclock_delivered;

/* A data segment that the sender has transmitted. */
typedef struct ackclock_sent {
  uint64_t size;
  /* When. Picoseconds. */
  int64_t now_ps;
  /* Number of the segment. */
  uint64_t seq;
  /* Segments in flight, with it, counted as in `Ack.in_flight` (which leaves out tail loss probes). */
  uint64_t in_flight;
  /* Whether it was sent before. */
  uint64_t retransmission;
} ackclock_sent;

/* A congestion event: at most one per window of data and cause. */
typedef struct ackclock_congestion {
  uint64_t size;
  /* When. Picoseconds. */
  int64_t now_ps;
  /* Why. ACKCLOCK_CAUSE_... */
  uint64_t cause;
  /* The window to be reduced, segments; the profile defines how it is counted. */
  double window;
  /* Segments in flight, counted as in `Ack.in_flight`. */
  double in_flight;
  /* When the lost segment was last sent. Picoseconds. -1: none. */
  int64_t segment_sent_ps;
  /* Whether the lost segment had been retransmitted before. */
  uint64_t retransmitted;
  /* Duplicate ACKs so far. */
  uint64_t dupacks;
} ackclock_congestion;

/* A retransmission timeout with data outstanding. */
typedef struct ackclock_timeout {
  uint64_t size;
  /* When. Picoseconds. */
  int64_t now_ps;
  /* The window that was in use, segments. */
  double window;
  /* The same segment timed out before, and nothing was acknowledged since. */
  uint64_t repeated;
} ackclock_timeout;

/* The first transmission after an idle period. */
typedef struct ackclock_restart {
  uint64_t size;
  /* When. Picoseconds. */
  int64_t now_ps;
  /* Time since the last transmission. Picoseconds. */
  int64_t idle_ps;
  /* The window that the transport profile sets, segments. */
  double window;
} ackclock_restart;

/* The first transmission after all data in flight was acknowledged. */
typedef struct ackclock_transmit_start {
  uint64_t size;
  /* When. Picoseconds. */
  int64_t now_ps;
  /* Time since the last transmission. Picoseconds. */
  int64_t idle_ps;
  /* Whether the application had too little to send before it. */
  uint64_t app_limited;
} ackclock_transmit_start;

/* Information from lower layers. */
typedef struct ackclock_path_hint {
  uint64_t size;
  /* When. Picoseconds. */
  int64_t now_ps;
  /* What. ACKCLOCK_KIND_... */
  uint64_t kind;
  /* Of `router_rate` the rate in bits per second, of `router_feedback` the change in bytes per second. NaN:
     none. */
  double value;
} ackclock_path_hint;

/* The answers of a controller, as it gave them last: a function changes what it wants to change. */
typedef struct ackclock_decision {
  uint64_t size;
  /* The congestion window, segments, at least 1; the fractional part is kept. */
  double cwnd;
  /* The slow-start threshold, segments, at least 1; infinite until set. */
  double ssthresh;
  /* The pacing rate of the payload (`FlowInfo.packet`), bits per second; with signal `router_rate` that of
     whole packets. None if ACKs clock the packets. NaN: none. */
  double pacing_bps;
  /* The segments that the pacer releases at once (draft-ietf-ccwg-bbr: C.send_quantum), at least one. The
     option `gso_max_segs` limits it; QUIC sends one by one. */
  uint64_t send_quantum;
  /* The time of the next call of `on_timer`, in the future; never if there is none. Picoseconds. -1: none. */
  int64_t wake_at_ps;
  /* The age at which the first unacknowledged segment is lost if a duplicate ACK arrives (Vegas). Picoseconds.
     -1: none. */
  int64_t fine_timeout_ps;
  /* How the transport responds to an ECN echo: `reduce` (as to a loss, RFC 3168), `confirm` (the controller
     processes `Ack.ece`; CWR is sent once per window), `ignore` (the same without CWR).
     ACKCLOCK_ECN_RESPONSE_... */
  uint64_t ecn_response;
  /* Whether the controller sets its window also in recovery: then the transport does not reduce it ACK by ACK,
     restart it after an idle time or shrink it when it is unused (recovery `rack`, QUIC). */
  uint64_t owns_window;
  /* Whether rate samples must count as limited by the application now; read after every ACK (recovery `rack`,
     QUIC). */
  uint64_t limits_application;
  /* Whether the transport must begin a reduction now, as after an ECN echo, but for the cause `controller`;
     read after every ACK, and without effect during a reduction (recovery `rack`, QUIC). Linux:
     `tcp_enter_cwr`. */
  uint64_t reduce_now;
} ackclock_decision;

/* The functions of a controller NAME. Those with a star may be missing. Each returns 0, or another number if it failed.
   `state` is zeroed and aligned to 16 before `open`.

   const char *ackclock_controllers(void); -- names, separated by commas; the first is the default

   const char *NAME_describe(void);        -- TOML: abi, summary, needs, probes, parameters, initial_window, state
   uint64_t NAME_state_size(void);         -- bytes of the state of a flow, at most 1 MiB
   int32_t NAME_open(void *state, const ackclock_flow_info *flow, const double *parameters, ackclock_decision *decision);
   int32_t NAME_on_open(void *state, int64_t now_ps, ackclock_decision *decision); -- *
   int32_t NAME_on_handshake(void *state, const ackclock_handshake *event, ackclock_decision *decision); -- *
   int32_t NAME_on_sample(void *state, const ackclock_sample *sample, ackclock_decision *decision); -- *
   int32_t NAME_on_ack(void *state, const ackclock_ack *ack, ackclock_decision *decision);
   int32_t NAME_on_lost(void *state, const ackclock_lost *lost, ackclock_decision *decision); -- *
   int32_t NAME_on_delivered(void *state, const ackclock_delivered *delivered, ackclock_decision *decision); -- *
   int32_t NAME_on_sent(void *state, const ackclock_sent *sent, ackclock_decision *decision); -- *
   int32_t NAME_on_congestion(void *state, const ackclock_congestion *event, ackclock_decision *decision);
   int32_t NAME_on_rto(void *state, const ackclock_timeout *event, ackclock_decision *decision);
   int32_t NAME_on_recovery_exit(void *state, int64_t now_ps, ackclock_decision *decision); -- *
   int32_t NAME_on_undo(void *state, int64_t now_ps, ackclock_decision *decision); -- *
   int32_t NAME_on_restart(void *state, const ackclock_restart *event, ackclock_decision *decision); -- *
   int32_t NAME_on_transmit_start(void *state, const ackclock_transmit_start *event, ackclock_decision *decision); -- *
   int32_t NAME_on_timer(void *state, int64_t now_ps, ackclock_decision *decision); -- *
   int32_t NAME_on_hint(void *state, const ackclock_path_hint *hint, ackclock_decision *decision); -- *
   int32_t NAME_set_window(void *state, double cwnd, ackclock_decision *decision);
   int32_t NAME_set_ssthresh(void *state, double ssthresh, ackclock_decision *decision); -- *
   void NAME_probe(const void *state, double *values);   -- with probes
   int32_t NAME_fork(void *to, const void *from);        -- *; without it the bytes of the state are copied
   void NAME_close(void *state);                         -- *
   const char *NAME_error(const void *state);            -- *; the reason of a result other than 0
*/

#ifdef __cplusplus
}
#endif
#endif
