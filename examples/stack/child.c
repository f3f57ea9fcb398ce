/* The toy transport as a program of the pipe protocol (docs/stacks.md): both ends in one process.
 *
 * cc -o child child.c && ackclock conform stack.toml
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "toy.h"

static uint8_t body[1 << 24], answer[1 << 24];
static size_t length, used;
static uint16_t datagrams;
static toy_source source;
static toy_destination destination;

static int read_frame(void) {
    uint8_t head[5];
    if (fread(head, 1, 5, stdin) != 5) return 0;
    length = head[0] | head[1] << 8 | head[2] << 16 | (size_t)head[3] << 24;
    if (length > sizeof body || fread(body, 1, length, stdin) != length) return 0;
    return head[4];
}

static void put(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) answer[used++] = (uint8_t)(value >> 8 * i);
}

static void write_frame(char kind) {
    uint8_t head[5] = {(uint8_t)used, (uint8_t)(used >> 8), (uint8_t)(used >> 16), (uint8_t)(used >> 24), (uint8_t)kind};
    fwrite(head, 1, 5, stdout);
    fwrite(answer, 1, used, stdout);
    fflush(stdout);
}

static void send_from(void *to, const uint8_t *bytes, uint32_t count) {
    put(*(uint8_t *)to, 1); /* the end */
    put(0, 1);              /* ECN */
    put(count, 4);
    memcpy(answer + used, bytes, count);
    used += count;
    datagrams++;
}

int main(void) {
    static uint8_t ends[2] = {0, 1};
    uint64_t timer = 0;
    if (read_frame() != 'O') return 1;
    used = (size_t)sprintf((char *)answer, "{\"name\": \"toy\", \"version\": \"1\"}");
    write_frame('R');
    while (read_frame() == 'S') {
        uint64_t now = toy_read(body);
        int acknowledged = 0;
        size_t at = 10;
        for (int n = body[8] | body[9] << 8; n > 0; n--) {
            uint32_t count = body[at + 2] | body[at + 3] << 8 | body[at + 4] << 16 | (uint32_t)body[at + 5] << 24;
            if (body[at] == 0) {
                toy_source_receive(&source, body + at + 6);
                acknowledged = 1;
            } else
                toy_destination_receive(&destination, body + at + 6);
            at += 6 + count;
        }
        used = 10; /* the timer and the number of datagrams come first */
        datagrams = 0;
        if (acknowledged || timer <= now) {
            toy_source_poll(&source, now, &ends[0], send_from);
            timer = toy_source_timer(&source);
        }
        toy_destination_poll(&destination, &ends[1], send_from);
        double delivered = (double)destination.delivered_bytes;
        uint64_t bits;
        memcpy(&bits, &delivered, sizeof bits);
        put(1, 1); /* one sample: of the destination, field 0, delivered bytes */
        put(1, 1);
        put(0, 1);
        put(bits, 8);
        size_t all = used;
        used = 0;
        put(timer, 8);
        put(datagrams, 2);
        used = all;
        write_frame('D');
    }
    used = (size_t)sprintf((char *)answer, "{\"delivered_bytes\": %" PRIu64 "}", destination.delivered_bytes);
    write_frame('F');
    return 0;
}
