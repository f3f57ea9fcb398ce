/* Plays the vectors of tests/vectors/network.toml through ackclock_network.h: lines on standard input, as tests/test_network.py
 * writes them, and lines on standard output. */
#include <ackclock_network.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[1 << 16], message[1024], flows[256];
static uint64_t sends[64][4];

int main(void) {
    size_t length;
    unsigned header, count;
    while (scanf("%zu %u %u %255s", &length, &header, &count, flows) == 4) {
        getchar(); /* the end of the line */
        if (length >= sizeof text || fread(text, 1, length, stdin) != length || count > 64) return 3;
        for (unsigned i = 0; i < count; i++)
            if (scanf("%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &sends[i][0], &sends[i][1], &sends[i][2], &sends[i][3]) != 4) return 3;
        ackclock_options options = {.size = sizeof options};
        options.header = header ? header : ACKCLOCK_WHOLE_PACKETS;
        options.flows = strcmp(flows, "-") ? flows : NULL;
        ackclock_network *network;
        if (ackclock_network_open(text, length, &options, &network, message, sizeof message)) return printf("%s\n", message), 2;
        ackclock_datagram datagram = {.size = sizeof datagram};
        unsigned place = 0;
        for (;;) {
            uint64_t next = ackclock_network_next(network);
            if (place < count && sends[place][0] < next) next = sends[place][0];
            int progress = ackclock_network_advance(network, next);
            while (ackclock_network_receive(network, &datagram) == ACKCLOCK_OK) {
                uint8_t expected = (uint8_t)((datagram.sent_ns / 1000) ^ datagram.length);
                for (uint32_t i = 0; i < datagram.length; i++)
                    if (datagram.bytes[i] != expected) return printf("other bytes arrive\n"), 2;
                printf("receive %" PRIu64 " %u %u %u %" PRIu64 " %" PRIu64 "\n", ackclock_network_now(network), datagram.port,
                       datagram.length, datagram.ecn, datagram.number, datagram.sent_ns);
            }
            if (progress == ACKCLOCK_ENDED) break;
            if (progress < 0) return printf("%s\n", ackclock_network_error(network)), 2;
            while (place < count && sends[place][0] == ackclock_network_now(network)) {
                static uint8_t bytes[1 << 16];
                memset(bytes, (uint8_t)((sends[place][0] / 1000) ^ sends[place][2]), sends[place][2]);
                if (ackclock_network_send(network, (uint32_t)sends[place][1], bytes, sends[place][2], (int)sends[place][3]))
                    return printf("%s\n", ackclock_network_error(network)), 2;
                place++;
            }
        }
        for (uint32_t port = 0, ended = 0; !ended; port++) {
            ackclock_counts counts = {.size = sizeof counts};
            ended = ackclock_network_counts(network, port, &counts) != ACKCLOCK_OK;
            if (!ended)
                printf("counts %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", port, counts.sent,
                       counts.received, counts.received_bytes, counts.marked, counts.dropped, counts.duplicates, counts.too_long);
        }
        printf("end %d\n", ackclock_network_send(network, 0, "", 0, 0));
        ackclock_network_close(network);
    }
    return 0;
}
