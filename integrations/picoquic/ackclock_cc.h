/* Congestion controllers of Ackclock in picoquic. Licence: Apache-2.0 OR MIT. */
#ifndef ACKCLOCK_CC_H
#define ACKCLOCK_CC_H

#include "picoquic.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The algorithm of a text such as `cubic` or `cubic: beta = 0.8`, with the name `ackclock_` and the text, for
   picoquic_set_congestion_algorithm and for the table of picoquic_register_congestion_control_algorithms. The option string
   of a connection, if there is one, has further parameters. NULL with a message (at most `room` bytes) for an unknown
   controller, a wrong value, a signal that picoquic does not have, or a 65th text. The same text gives the same algorithm.
   It is valid until the program ends. Call it from one thread. */
const picoquic_congestion_algorithm_t *ackclock_picoquic_algorithm(const char *text, char *message, size_t room);

#ifdef __cplusplus
}
#endif
#endif
