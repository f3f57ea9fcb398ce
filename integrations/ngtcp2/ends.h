/* ngtcp2 at the ends of a flow in virtual time: the source writes one stream, the destination reads it. No clock is read. */
#ifndef ENDS_H
#define ENDS_H

#include "connection.h"

typedef void transmit(void *to, int end, const uint8_t *bytes, size_t length, int ecn);

/* A datagram has arrived. */
static void peer_receive(peer *p, uint64_t now, const uint8_t *bytes, size_t length, int ecn) {
    ngtcp2_pkt_info info = {(uint32_t)ecn};
    ngtcp2_pkt_hd first;
    p->now = now;
    if (!p->conn && ngtcp2_accept(&first, bytes, length)) return;
    if (!p->conn) peer_open(p, &first);
    int code = ngtcp2_conn_read_pkt(p->conn, &p->path, &info, bytes, length, now);
    if (code) fail(p, "read_pkt", code);
}

/* Bytes that the application has written until now, and whether these are all. */
static uint64_t written_until(const use *u, uint64_t now, int *all) {
    uint64_t sum = u->writes ? 0 : u->bytes;
    size_t n = 0;
    for (; n < u->count && u->writes[n][0] <= now; n++) sum += u->writes[n][1];
    *all = sum != NEVER && n == u->count;
    return u->stop <= now ? 0 : sum;
}

/* Processes what is due, and sends. */
static void peer_poll(peer *p, uint64_t now, void *to, transmit *send) {
    static uint8_t zeros[WRITE], datagram[LARGEST];
    p->now = now;
    if (!p->conn && p->end == 0) peer_open(p, NULL);
    if (!p->conn) return;
    int code = ngtcp2_conn_get_expiry(p->conn) <= now ? ngtcp2_conn_handle_expiry(p->conn, now) : 0, all = 0;
    if (code) fail(p, "handle_expiry", code);
    uint64_t due = p->end == 0 && p->stream >= 0 ? written_until(p->use, now, &all) : 0;
    size_t sent = 0, quantum = ngtcp2_conn_get_send_quantum(p->conn);
    while (sent < quantum) {
        uint64_t left = due > p->written ? due - p->written : 0;
        size_t most = p->use->write_bytes < sizeof zeros ? p->use->write_bytes : sizeof zeros;
        ngtcp2_vec data = {zeros, left < most ? left : most};
        ngtcp2_pkt_info info = {0};
        ngtcp2_ssize taken = -1;
        uint32_t flags = all && data.len == left ? NGTCP2_WRITE_STREAM_FLAG_FIN : NGTCP2_WRITE_STREAM_FLAG_NONE;
        ngtcp2_ssize length = ngtcp2_conn_writev_stream(p->conn, NULL, &info, datagram, p->use->largest, &taken, flags,
                                                        left ? p->stream : -1, left ? &data : NULL, left ? 1 : 0, now);
        if (length < 0) fail(p, "writev_stream", (int)length);
        if (taken > 0) p->written += (uint64_t)taken;
        p->app_limited = length == 0 && !left && p->stream >= 0 && ngtcp2_conn_get_cwnd_left(p->conn) > 0;
        if (!length) break;
        send(to, p->end, datagram, (size_t)length, (int)info.ecn);
        sent += (size_t)length;
    }
    ngtcp2_conn_update_pkt_tx_time(p->conn, now);
}

/* When to poll next: the start, the connection's timer or the next write. */
static uint64_t peer_timer(const peer *p) {
    if (!p->conn) return p->end == 0 ? p->use->start : NEVER;
    uint64_t timer = ngtcp2_conn_get_expiry(p->conn);
    for (size_t n = 0; p->end == 0 && n < p->use->count; n++)
        if (p->use->writes[n][0] > p->now && p->use->writes[n][0] < timer) timer = p->use->writes[n][0];
    return timer;
}

/* The algorithm of a name; -1 if there is none. */
static int algorithm_of(const char *name) {
    static const char *const names[] = {"reno", "cubic", "bbr", "bbr2"};
    static const int algorithms[] = {NGTCP2_CC_ALGO_RENO, NGTCP2_CC_ALGO_CUBIC, NGTCP2_CC_ALGO_BBR, NGTCP2_CC_ALGO_BBR2};
    for (int i = 0; i < 4; i++)
        if (!strcmp(name, names[i])) return algorithms[i];
    return -1;
}

#endif
