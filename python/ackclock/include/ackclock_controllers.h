/* Congestion controllers of Ackclock in a transport stack. Made by `make reference` from the tables of the crate cc.
   Licence: Apache-2.0 OR MIT.

   A stack opens a controller for each flow, passes its events, and takes the window, the pacing rate and the rest from
   the answers: `on_open`, `on_handshake`, then `on_sent` for each packet, and for each acknowledgement `on_delivered`,
   `on_sample`, `on_lost`, then `on_undo`, `on_recovery_exit` or `on_congestion`, at last `on_ack`; those of a signal only
   if the controller needs it. After `on_undo` the stack sets the window and the threshold of before the reduction.

   The stack fills in `size` of each struct, and sets what it does not have to none (ackclock.h has the value). An
   `ackclock_ack` has at least now_ps, newly_acked, newly_delivered, acked_through, next, in_flight, prior_in_flight,
   rtt_ps, phase, may_grow and window_limited; with the signal `rate` also delivered_total, lost_total, and all fields of
   the sample or none. `window_limited` is 0 while the application or the pacer, not the window, limits what is in flight.
   Times count from the start of the flow or of the program: a 64-bit number holds 106 days.

   Each function returns 0, or a negative number: -1 for a struct without its size, or a value that its field cannot
   have. A controller belongs to one thread at a time. */
#ifndef ACKCLOCK_CONTROLLERS_H
#define ACKCLOCK_CONTROLLERS_H

#include <stddef.h>
#include "ackclock.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ackclock_controller ackclock_controller;

/* Opens a controller: its name, or with parameters `cubic: beta = 0.8, hystart = false`. NULL with a message (at most `room`
   bytes) if there is no such controller, or for a wrong value. The answers are those before the first event. */
ackclock_controller *ackclock_controller_open(const char *name, const ackclock_flow_info *flow, ackclock_decision *decision,
                                              char *message, size_t room);
/* The signals that it requires (docs/controller-interface.md), separated by commas. */
const char *ackclock_controller_needs(const ackclock_controller *controller);
/* The initial window that the algorithm specifies, segments; NaN: that of the stack. */
double ackclock_controller_initial_window(const ackclock_controller *controller);
void ackclock_controller_close(ackclock_controller *controller);


/* Called before the first packet is sent. */
int ackclock_controller_on_open(ackclock_controller *controller, int64_t now_ps,
                                ackclock_decision *decision);
/* Called when the handshake is complete (recovery `rack`, QUIC). A controller that takes over in the middle of
   a run gets it with the smallest round-trip time of the connection, after the window. */
int ackclock_controller_on_handshake(ackclock_controller *controller, const ackclock_handshake *event,
                                     ackclock_decision *decision);
/* Called with the measurements of an ACK before anything that follows from it: undo, end of recovery,
   reduction, and `on_ack` (only with signal `samples`). The modules of Linux process their samples here
   (`pkts_acked`). An ACK that arrives with nothing outstanding has none. */
int ackclock_controller_on_sample(ackclock_controller *controller, const ackclock_sample *event,
                                  ackclock_decision *decision);
/* Called for every ACK, also during recovery. */
int ackclock_controller_on_ack(ackclock_controller *controller, const ackclock_ack *event,
                               ackclock_decision *decision);
/* Called for each segment that the sender marks as lost, before `on_ack` of the same ACK (only with signal
   `losses`; recovery `rack`, QUIC). */
int ackclock_controller_on_lost(ackclock_controller *controller, const ackclock_lost *event,
                                ackclock_decision *decision);
/* Called for each segment that an ACK newly reports as delivered, before `on_ack` of the same ACK (only with
   signal `deliveries`; recovery `rack`, QUIC). */
int ackclock_controller_on_delivered(ackclock_controller *controller, const ackclock_delivered *event,
                                     ackclock_decision *decision);
/* Called at each transmission of a data segment, retransmissions included (only with signal `sent`). */
int ackclock_controller_on_sent(ackclock_controller *controller, const ackclock_sent *event,
                                ackclock_decision *decision);
/* Called on a loss or an ECN echo, at most once per window of data and cause: the window and the threshold must
   be reduced. */
int ackclock_controller_on_congestion(ackclock_controller *controller, const ackclock_congestion *event,
                                      ackclock_decision *decision);
/* Called at a retransmission timeout: the window restarts at one segment. */
int ackclock_controller_on_rto(ackclock_controller *controller, const ackclock_timeout *event,
                               ackclock_decision *decision);
/* Called when fast recovery ends, or when everything sent before an ECN echo reduced the window is
   acknowledged. */
int ackclock_controller_on_recovery_exit(ackclock_controller *controller, int64_t now_ps,
                                         ackclock_decision *decision);
/* Called when the last reduction was spurious (recovery `rack`). The transport then restores the window and the
   threshold through `set_window` and `set_ssthresh`. */
int ackclock_controller_on_undo(ackclock_controller *controller, int64_t now_ps,
                                ackclock_decision *decision);
/* Called when the connection was idle for longer than the retransmission timeout (RFC 5681 section 4.1): the
   window becomes that of the event, unless the controller defines the method (recovery `rack`). */
int ackclock_controller_on_restart(ackclock_controller *controller, const ackclock_restart *event,
                                   ackclock_decision *decision);
/* Called before a transmission with nothing in flight (recovery `rack`, QUIC). */
int ackclock_controller_on_transmit_start(ackclock_controller *controller, const ackclock_transmit_start *event,
                                          ackclock_decision *decision);
/* Called at the time that `wake_at_s` returned. */
int ackclock_controller_on_timer(ackclock_controller *controller, int64_t now_ps,
                                 ackclock_decision *decision);
/* Called with information from lower layers: hand-offs and router feedback. */
int ackclock_controller_on_hint(ackclock_controller *controller, const ackclock_path_hint *event,
                                ackclock_decision *decision);
/* Sets the window. The transport calls it when the connection opens, when a partial ACK deflates the window
   (RFC 6582), for every ACK of a proportional rate reduction (RFC 9937), when recovery ends, and when Tahoe
   restarts. */
int ackclock_controller_set_window(ackclock_controller *controller, double segments,
                                   ackclock_decision *decision);
/* Sets the slow-start threshold. The transport calls it when a reduction is undone and when the application did
   not use the window. */
int ackclock_controller_set_ssthresh(ackclock_controller *controller, double segments,
                                     ackclock_decision *decision);

#ifdef __cplusplus
}
#endif
#endif
