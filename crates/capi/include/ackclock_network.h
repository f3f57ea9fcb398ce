/* ackclock_network.h: a simulated network in virtual time, for transport stacks.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * A scenario (docs/scenario.md) describes links, queues, losses and other flows. The flows that a program attaches have
 * their two ends in the program: it sends datagrams at ports and receives what has crossed the network. Times are whole
 * nanoseconds since the start. No clock is read; two runs with equal calls are equal.
 *
 * The loop of a program, with the ends that it plays:
 *
 *     for (;;) {
 *         int progress = ackclock_network_advance(network, now);
 *         while (ackclock_network_receive(network, &datagram) == ACKCLOCK_OK) { hand it to the end at datagram.port }
 *         if (progress != ACKCLOCK_OK) break;
 *         process the timers of each end that are due at `now`, and send what the ends have to send
 *         now = the least of ackclock_network_next(network) and the timers of the ends, at least now + 1
 *     }
 *
 * Ownership: the library owns everything that it returns; the caller frees nothing but the network, with `close`.
 * Threads: a network belongs to one thread at a time; networks are independent of each other.
 * Errors: a negative value; ackclock_network_error() has the message. Nothing is written to standard error.
 * Versions: MINOR grows with functions and with fields at the end of structures, MAJOR with any other change. `size` is the
 * caller's sizeof of the structure: a newer library reads and writes only that much.
 */
#ifndef ACKCLOCK_NETWORK_H
#define ACKCLOCK_NETWORK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ACKCLOCK_NETWORK_MAJOR 1
#define ACKCLOCK_NETWORK_MINOR 0

/* No time, and of a sample: not known. */
#define ACKCLOCK_NEVER UINT64_MAX

typedef struct ackclock_network ackclock_network;

enum {
    ACKCLOCK_OK = 0,
    ACKCLOCK_ENDED = 1,       /* advance: the scenario has ended */
    ACKCLOCK_NOTHING = 2,     /* receive: nothing has arrived */
    ACKCLOCK_BAD_INPUT = -1,  /* scenario, options, port, length, NULL; send after the end */
    ACKCLOCK_PAST = -2,       /* advance: the time is before the present */
    ACKCLOCK_MEMORY = -3,     /* the memory does not suffice */
    ACKCLOCK_CONTROLLER = -4, /* the controller of a simulated flow has failed */
    ACKCLOCK_PANIC = -5       /* a fault of the library; afterwards only error and close work */
};

/* What is recorded (ackclock_options.recording): */
#define ACKCLOCK_RECORD_FINGERPRINT 1u /* ackclock_network_fingerprint */

/* Zero means the default of each member but `size`; `ackclock_options options = {sizeof options};` is enough. */
typedef struct {
    uint64_t size;      /* sizeof(ackclock_options) */
    uint64_t seed;      /* 0: that of the scenario */
    uint32_t header;    /* bytes on the wire besides the datagram; 0: 28, UDP over IPv4; ACKCLOCK_WHOLE_PACKETS: none */
    uint32_t mtu;       /* largest datagram on the wire, with the header; 0: 1,500 */
    const char *flows;  /* names of the attached flows, "f,g"; "tested*": all that start with it; NULL: the first flow */
    const char *set;    /* assignments, a line each, "link.bottleneck.rate=5Mbps\nduration=10s"; NULL: none */
    const char *folder; /* of the files that the scenario names; NULL: it may name none */
    uint64_t recording; /* ACKCLOCK_RECORD_FINGERPRINT, or 0: nothing, which is fastest */
} ackclock_options;

#define ACKCLOCK_WHOLE_PACKETS UINT32_MAX

typedef struct {
    uint64_t size;        /* sizeof(ackclock_datagram), set by the caller */
    uint32_t port;        /* the port that it has reached */
    uint32_t length;      /* bytes */
    uint64_t number;      /* among those that the other end has sent, from 0; a copy has the number of the original */
    uint64_t sent_ns;     /* when it was sent */
    uint64_t arrived_ns;  /* when it has arrived, rounded up */
    const uint8_t *bytes; /* valid until the next call with this network */
    uint8_t ecn;          /* the ECN field of the IP header: 0 not ECT, 1 ECT(1), 2 ECT(0), 3 CE */
    uint8_t reserved[7];
} ackclock_datagram;

/* What a stack says of itself; ACKCLOCK_NEVER or NULL: not known. Begin with
 * ackclock_stack_sample sample = ACKCLOCK_SAMPLE_UNKNOWN; */
typedef struct {
    uint64_t size; /* sizeof(ackclock_stack_sample) */
    uint64_t delivered_bytes, cwnd_bytes, ssthresh_bytes, in_flight_bytes, pacing_bps, srtt_ns, lost_packets;
    const char *state;
} ackclock_stack_sample;

#define ACKCLOCK_SAMPLE_UNKNOWN                                                                                          \
    {sizeof(ackclock_stack_sample), ACKCLOCK_NEVER, ACKCLOCK_NEVER, ACKCLOCK_NEVER, ACKCLOCK_NEVER, ACKCLOCK_NEVER,            \
     ACKCLOCK_NEVER, ACKCLOCK_NEVER, NULL}

/* What was counted of the datagrams that a port has sent, after the warm-up if there is one. */
typedef struct {
    uint64_t size; /* sizeof(ackclock_counts), set by the caller */
    uint64_t sent, sent_bytes, accepted, too_long, received, received_bytes, duplicates, marked, dropped;
} ackclock_counts;

/* MAJOR << 16 | MINOR of the library. */
uint32_t ackclock_network_version(void);

/* Opens the network of a scenario, the text of a TOML file of `length` bytes. `options` may be NULL. On failure *network is
 * NULL, and `error`, of `room` bytes, has the message (it may be NULL if room is 0). */
int ackclock_network_open(const char *scenario, size_t length, const ackclock_options *options,
                          ackclock_network **network, char *error, size_t room);

/* The port of an end of an attached flow: end 0 is the source, `from`, and 1 the destination, `to`. Ports are numbered 2 k
 * and 2 k + 1 for the k-th attached flow in the order of the file. */
int ackclock_network_port(const ackclock_network *network, const char *flow, int end, uint32_t *port);

/* The present, the end of the scenario, and a time before which nothing arrives unless something is sent. */
uint64_t ackclock_network_now(const ackclock_network *network);
uint64_t ackclock_network_next(const ackclock_network *network);
uint64_t ackclock_network_end(const ackclock_network *network);

/* Processes everything up to `to_ns`, or to the end if it is earlier: ACKCLOCK_OK or ACKCLOCK_ENDED. */
int ackclock_network_advance(ackclock_network *network, uint64_t to_ns);

/* Sends a datagram from a port at the present time. A datagram above the MTU is dropped, as by a router. */
int ackclock_network_send(ackclock_network *network, uint32_t port, const void *bytes, size_t length, int ecn);

/* The next datagram that has arrived, in the order of time: ACKCLOCK_OK or ACKCLOCK_NOTHING. */
int ackclock_network_receive(ackclock_network *network, ackclock_datagram *datagram);

/* Records what the stack at a port says of itself now. */
int ackclock_network_record(ackclock_network *network, uint32_t port, const ackclock_stack_sample *sample);

/* What was counted of the datagrams that a port has sent. */
int ackclock_network_counts(const ackclock_network *network, uint32_t port, ackclock_counts *counts);

/* The outcome of the run as JSON (docs/outcome.md), with a terminating zero; advances to the end first. Valid until close. */
int ackclock_network_outcome(ackclock_network *network, const char **json, size_t *length);

/* A hash of every packet event so far in 64 hexadecimal digits, with a terminating zero. */
int ackclock_network_fingerprint(const ackclock_network *network, char hex[65]);

/* The message of the last call that failed, or "". Valid until the next call with this network. */
const char *ackclock_network_error(const ackclock_network *network);

/* Frees the network; NULL is allowed. */
void ackclock_network_close(ackclock_network *network);

#ifdef __cplusplus
}
#endif

#endif
