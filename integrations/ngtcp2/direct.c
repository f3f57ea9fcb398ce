/* ngtcp2 over the network of a scenario, in one process: direct SCENARIO [CONTROLLER] [SEED] [SET]
 *
 * Writes without end, whatever the scenario says of the application. SET: assignments, a line each. */
#include <ackclock_network.h>
#include <inttypes.h>

#include "ends.h"

static void send_from(void *to, int end, const uint8_t *bytes, size_t length, int ecn) {
    ackclock_network_send(to, (uint32_t)end, bytes, length, ecn);
}

static void record(ackclock_network *network, const peer *p) {
    ackclock_stack_sample sample;
    memset(&sample, 0xff, sizeof sample); /* not known */
    sample.size = sizeof sample;
    sample.state = NULL;
    if (p->end == 1)
        sample.delivered_bytes = p->delivered;
    else if (p->conn) {
        ngtcp2_conn_stat stat;
        ngtcp2_conn_get_conn_stat(p->conn, &stat);
        sample.cwnd_bytes = stat.cwnd;
        sample.ssthresh_bytes = stat.ssthresh;
        sample.in_flight_bytes = stat.bytes_in_flight;
        sample.srtt_ns = stat.smoothed_rtt;
        if (stat.pacing_rate > 0) sample.pacing_bps = (uint64_t)(stat.pacing_rate * 8e9);
    }
    ackclock_network_record(network, (uint32_t)p->end, &sample);
}

int main(int argc, char **argv) {
    static char text[1 << 16], message[1024];
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    int algorithm = algorithm_of(argc > 2 ? argv[2] : "reno");
    if (!file || algorithm < 0) return fprintf(stderr, "usage: direct SCENARIO [reno|cubic|bbr|bbr2] [SEED] [SET]\n"), 2;
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);

    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    ackclock_options options = {.size = sizeof options, .seed = seed, .recording = ACKCLOCK_RECORD_FINGERPRINT};
    options.set = argc > 4 ? argv[4] : NULL;
    ackclock_network *network;
    if (ackclock_network_open(text, length, &options, &network, message, sizeof message))
        return fprintf(stderr, "direct: %s\n", message), 2;

    use use = {.seed = seed, .stop = NEVER, .bytes = NEVER, .write_bytes = WRITE, .largest = LARGEST};
    use.algorithm = (ngtcp2_cc_algo)algorithm;
    peer ends[2] = {{.end = 0, .use = &use}, {.end = 1, .use = &use}};
    ackclock_datagram datagram = {.size = sizeof datagram};
    uint64_t now = 0, steps = 0;
    for (;; steps++) {
        int progress = ackclock_network_advance(network, now), touched[2] = {0};
        while (ackclock_network_receive(network, &datagram) == ACKCLOCK_OK) {
            peer_receive(&ends[datagram.port], now, datagram.bytes, datagram.length, datagram.ecn);
            touched[datagram.port] = 1;
        }
        if (progress != ACKCLOCK_OK) break;
        uint64_t next = NEVER;
        for (int i = 0; i < 2; i++) {
            if (touched[i] || peer_timer(&ends[i]) <= now) {
                peer_poll(&ends[i], now, network, send_from);
                record(network, &ends[i]);
            }
            if (peer_timer(&ends[i]) < next) next = peer_timer(&ends[i]);
        }
        if (ackclock_network_next(network) < next) next = ackclock_network_next(network);
        now = next > now ? next : now + 1;
    }

    char hex[65];
    ackclock_counts counts = {.size = sizeof counts};
    ackclock_network_counts(network, 0, &counts);
    ackclock_network_fingerprint(network, hex);
    printf("{\"goodput_mbps\": %.3f, \"delivered_bytes\": %" PRIu64 ", \"dropped\": %" PRIu64 ", \"steps\": %" PRIu64
           ", \"fingerprint\": \"%s\"}\n",
           (double)ends[1].delivered * 8e3 / (double)ackclock_network_end(network), ends[1].delivered, counts.dropped, steps,
           hex);
    ackclock_network_close(network);
    return 0;
}
