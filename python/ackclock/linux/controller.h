/* The functions of ackclock.h for one module: include it with NAME, its text NAME_TEXT, and FILE_TEXT, NEEDS, STATE defined. */
#include "driver.h"
#define JOINED_(a, b) a##_##b
#define JOINED(a, b) JOINED_(a, b)
#define FUNCTION(name) JOINED(NAME, name)

static struct kernel_module module = {NAME_TEXT, FILE_TEXT, NEEDS, STATE, -1, {0}};

ACKCLOCK_EXPORT const char *FUNCTION(describe)(void) { return kernel_describe(&module); }
ACKCLOCK_EXPORT uint64_t FUNCTION(state_size)(void) { return kernel_state_size(); }
ACKCLOCK_EXPORT int32_t FUNCTION(open)(void *s, const ackclock_flow_info *flow, const double *parameters, ackclock_decision *d) {
  return kernel_open(s, &module, flow, parameters, d);
}
#define EVENT(name, type) ACKCLOCK_EXPORT int32_t FUNCTION(name)(void *s, type event, ackclock_decision *d) { return JOINED(kernel, name)(s, event, d); }
EVENT(on_handshake, const ackclock_handshake *)
EVENT(on_sample, const ackclock_sample *)
EVENT(on_ack, const ackclock_ack *)
EVENT(on_congestion, const ackclock_congestion *)
EVENT(on_rto, const ackclock_timeout *)
EVENT(on_recovery_exit, int64_t)
EVENT(on_undo, int64_t)
EVENT(on_restart, const ackclock_restart *)
EVENT(on_transmit_start, const ackclock_transmit_start *)
EVENT(set_window, double)
EVENT(set_ssthresh, double)
ACKCLOCK_EXPORT void FUNCTION(close)(void *s) { kernel_close(s); }
