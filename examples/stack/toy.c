/* Two ends of a toy transport over a simulated network: the whole of what a stack in C needs.
 *
 * cc -o toy toy.c $(pkg-config --cflags --libs ackclock) && ./toy scenario.toml [SEED]
 */
#include <ackclock_network.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "toy.h"

typedef struct {
    ackclock_network *network;
    uint32_t port;
} end;

static void send_from(void *to, const uint8_t *bytes, uint32_t length) {
    end *from = to;
    ackclock_network_send(from->network, from->port, bytes, length, 0);
}

static toy_source source;
static toy_destination destination;

int main(int argc, char **argv) {
    static char text[1 << 16], message[1024];
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (!file) return fprintf(stderr, "usage: toy SCENARIO [SEED]\n"), 2;
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);

    ackclock_options options = {.size = sizeof options, .recording = ACKCLOCK_RECORD_FINGERPRINT};
    options.seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    ackclock_network *network;
    if (ackclock_network_open(text, length, &options, &network, message, sizeof message))
        return fprintf(stderr, "toy: %s\n", message), 2;

    end from = {network, 0}, to = {network, 1};
    ackclock_datagram datagram = {.size = sizeof datagram};
    uint64_t now = 0, timer = 0;
    for (;;) {
        int progress = ackclock_network_advance(network, now), acknowledged = 0;
        while (ackclock_network_receive(network, &datagram) == ACKCLOCK_OK)
            if (datagram.port == from.port) {
                toy_source_receive(&source, datagram.bytes);
                acknowledged = 1;
            } else
                toy_destination_receive(&destination, datagram.bytes);
        if (progress != ACKCLOCK_OK) break;
        if (acknowledged || timer <= now) {
            toy_source_poll(&source, now, &from, send_from);
            timer = toy_source_timer(&source);
        }
        toy_destination_poll(&destination, &to, send_from);
        uint64_t next = ackclock_network_next(network);
        if (timer < next) next = timer;
        now = next > now ? next : now + 1;
    }

    char hex[65];
    ackclock_counts counts = {.size = sizeof counts};
    ackclock_network_counts(network, from.port, &counts);
    ackclock_network_fingerprint(network, hex);
    printf("{\"delivered_bytes\": %" PRIu64 ", \"goodput_bps\": %.0f, \"dropped\": %" PRIu64 ", \"fingerprint\": \"%s\"}\n",
           destination.delivered_bytes, destination.delivered_bytes * 8e9 / ackclock_network_end(network), counts.dropped, hex);
    ackclock_network_close(network);
    return 0;
}
