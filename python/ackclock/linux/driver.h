/* A congestion control module of Linux as a controller of ackclock.h: what the functions of each module call. */
#ifndef DRIVER_H
#define DRIVER_H
#include "ackclock.h"

enum { MOST_PARAMETERS_OF_ONE = 32 };

struct kernel_module {
  const char *name;  /* of its operations, such as "cubic" */
  const char *file;  /* its source, such as "tcp_cubic.c" */
  const char *needs; /* signals, as in a list of TOML */
  const char *state; /* "block", or "instance" if it allocates */
  int count;         /* of its parameters, -1 before they are looked up */
  int places[MOST_PARAMETERS_OF_ONE];
};

uint64_t kernel_state_size(void);
const char *kernel_describe(struct kernel_module *);
int32_t kernel_open(void *, struct kernel_module *, const ackclock_flow_info *, const double *, ackclock_decision *);
int32_t kernel_on_handshake(void *, const ackclock_handshake *, ackclock_decision *);
int32_t kernel_on_sample(void *, const ackclock_sample *, ackclock_decision *);
int32_t kernel_on_ack(void *, const ackclock_ack *, ackclock_decision *);
int32_t kernel_on_congestion(void *, const ackclock_congestion *, ackclock_decision *);
int32_t kernel_on_rto(void *, const ackclock_timeout *, ackclock_decision *);
int32_t kernel_on_recovery_exit(void *, int64_t, ackclock_decision *);
int32_t kernel_on_undo(void *, int64_t, ackclock_decision *);
int32_t kernel_on_restart(void *, const ackclock_restart *, ackclock_decision *);
int32_t kernel_on_transmit_start(void *, const ackclock_transmit_start *, ackclock_decision *);
int32_t kernel_set_window(void *, double, ackclock_decision *);
int32_t kernel_set_ssthresh(void *, double, ackclock_decision *);
void kernel_close(void *);
#endif
