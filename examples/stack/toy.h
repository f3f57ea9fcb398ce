/* A toy transport for the examples: a window of 20 datagrams of 1,200 bytes, each acknowledged. A datagram without
 * acknowledgement for 200 ms is sent again and halves the window, which then grows by one for each window acknowledged. */
#ifndef TOY_H
#define TOY_H

#include <stdint.h>
#include <string.h>

enum { TOY_WINDOW = 20, TOY_BYTES = 1200, TOY_ACK = 40, TOY_MOST = 1 << 20 };
#define TOY_NEVER UINT64_MAX
#define TOY_TIMEOUT_NS 200000000u

typedef void toy_send(void *to, const uint8_t *bytes, uint32_t length);

typedef struct {
    uint64_t sent_ns[TOY_MOST]; /* of each datagram, when it was last sent; 0: acknowledged */
    uint64_t next, oldest;      /* the next number; every datagram before `oldest` is acknowledged */
    uint32_t in_flight, window, grown;
} toy_source;

typedef struct {
    uint8_t seen[TOY_MOST];
    uint64_t acks[TOY_MOST]; /* numbers to acknowledge */
    uint64_t pending, delivered_bytes;
} toy_destination;

static inline void toy_write(void *to, toy_send *send, uint64_t number, uint32_t length) {
    uint8_t bytes[TOY_BYTES] = {0};
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(number >> 8 * i);
    send(to, bytes, length);
}

static inline uint64_t toy_read(const uint8_t *bytes) {
    uint64_t number = 0;
    for (int i = 0; i < 8; i++) number |= (uint64_t)bytes[i] << 8 * i;
    return number;
}

static inline void toy_source_receive(toy_source *s, const uint8_t *bytes) {
    uint64_t number = toy_read(bytes);
    if (number >= s->next || !s->sent_ns[number]) return;
    s->sent_ns[number] = 0;
    s->in_flight--;
    while (s->oldest < s->next && !s->sent_ns[s->oldest]) s->oldest++;
    if (++s->grown >= s->window) {
        s->grown = 0;
        if (s->window < TOY_WINDOW) s->window++;
    }
}

static inline void toy_source_poll(toy_source *s, uint64_t now, void *to, toy_send *send) {
    int timed_out = 0;
    if (!s->window) s->window = TOY_WINDOW;
    for (uint64_t number = s->oldest; number < s->next; number++) {
        if (!s->sent_ns[number] || s->sent_ns[number] - 1 + TOY_TIMEOUT_NS > now) continue;
        timed_out = 1;
        s->sent_ns[number] = now + 1; /* plus one, so that zero means acknowledged */
        toy_write(to, send, number, TOY_BYTES);
    }
    if (timed_out && s->window > 1) s->window /= 2;
    while (s->in_flight < s->window && s->next < TOY_MOST) {
        s->sent_ns[s->next] = now + 1;
        toy_write(to, send, s->next++, TOY_BYTES);
        s->in_flight++;
    }
}

/* When the first datagram without acknowledgement is sent again. */
static inline uint64_t toy_source_timer(const toy_source *s) {
    uint64_t first = TOY_NEVER;
    for (uint64_t number = s->oldest; number < s->next; number++)
        if (s->sent_ns[number] && s->sent_ns[number] - 1 + TOY_TIMEOUT_NS < first)
            first = s->sent_ns[number] - 1 + TOY_TIMEOUT_NS;
    return first;
}

static inline void toy_destination_receive(toy_destination *d, const uint8_t *bytes) {
    uint64_t number = toy_read(bytes);
    if (number >= TOY_MOST || d->pending >= TOY_MOST) return;
    if (!d->seen[number]) d->delivered_bytes += TOY_BYTES;
    d->seen[number] = 1;
    d->acks[d->pending++] = number;
}

static inline void toy_destination_poll(toy_destination *d, void *to, toy_send *send) {
    for (uint64_t i = 0; i < d->pending; i++) toy_write(to, send, d->acks[i], TOY_ACK);
    d->pending = 0;
}

#endif
