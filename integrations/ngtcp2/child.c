/* ngtcp2 as a program of the pipe protocol (docs/stacks.md): both ends, or one. */
#include "ends.h"

static uint8_t body[1 << 24], answer[1 << 24];
static size_t used;
static unsigned datagrams, samples;

static uint64_t get(const uint8_t *bytes, int count) {
    uint64_t value = 0;
    for (int i = 0; i < count; i++) value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

static void put(uint64_t value, int count) {
    for (int i = 0; i < count; i++) answer[used++] = (uint8_t)(value >> 8 * i);
}

static int read_frame(void) {
    uint8_t head[5];
    if (fread(head, 1, 5, stdin) != 5) return 0;
    size_t length = get(head, 4);
    if (length >= sizeof body || fread(body, 1, length, stdin) != length) return 0;
    body[length] = 0; /* ends a text */
    return head[4];
}

static void write_frame(char kind) {
    size_t length = used;
    used = 0;
    fwrite(&(uint8_t[5]){(uint8_t)length, (uint8_t)(length >> 8), (uint8_t)(length >> 16), (uint8_t)(length >> 24),
                         (uint8_t)kind},
           1, 5, stdout);
    fwrite(answer, 1, length, stdout);
    fflush(stdout);
}

static void write_text(char kind, const char *format, const char *text, uint64_t number) {
    used = (size_t)snprintf((char *)answer, sizeof answer, format, text, (unsigned long long)number);
    write_frame(kind);
}

static void send_from(void *to, int end, const uint8_t *bytes, size_t length, int ecn) {
    (void)to;
    put((uint64_t)end, 1);
    put((uint64_t)ecn, 1);
    put(length, 4);
    memcpy(answer + used, bytes, length);
    used += length;
    datagrams++;
}

static void sample(int end, int field, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put((uint64_t)end, 1);
    put((uint64_t)field, 1);
    put(bits, 8);
    samples++;
}

static void samples_of(const peer *p) {
    ngtcp2_conn_stat stat;
    if (p->end == 1) sample(1, 0, (double)p->delivered);
    if (p->end == 1 || !p->conn) return;
    ngtcp2_conn_get_conn_stat(p->conn, &stat);
    sample(0, 1, (double)stat.cwnd);
    sample(0, 2, (double)stat.ssthresh);
    sample(0, 3, (double)stat.bytes_in_flight);
    if (stat.pacing_rate > 0) sample(0, 4, stat.pacing_rate * 8e9);
    sample(0, 5, (double)stat.smoothed_rtt);
    sample(0, 7, p->app_limited);
}

/* The text after "key": in the frame O. In a string of JSON a quotation mark has a backslash before it. */
static const char *value_of(const char *key) {
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr((char *)body, quoted);
    return at ? at + strlen(quoted) : "null";
}

static uint64_t number_of(const char *key, uint64_t otherwise) {
    const char *at = value_of(key);
    return *at >= '0' && *at <= '9' ? strtoull(at, NULL, 10) : otherwise;
}

/* [[time, bytes], ...] */
static void read_writes(use *u) {
    const char *at = value_of("writes");
    for (at += *at == '['; *at == '['; at += *at == ',') {
        u->writes = realloc(u->writes, (u->count + 1) * sizeof *u->writes);
        u->writes[u->count][0] = strtoull(at + 1, (char **)&at, 10);
        u->writes[u->count++][1] = strtoull(at + 1, (char **)&at, 10);
        at++;
    }
}

int main(void) {
    use use = {0};
    char control[16] = "", role[16] = "";
    if (read_frame() != 'O') return 1;
    sscanf(value_of("control"), "\"%15[^\"]", control);
    sscanf(value_of("role"), "\"%15[^\"]", role);
    int algorithm = algorithm_of(control), first = !strcmp(role, "destination"), last = strcmp(role, "source") != 0;
    if (algorithm < 0) return write_text('R', "{\"error\": \"no controller %s; reno, cubic, bbr, bbr2\"}", control, 0), 1;
    use.algorithm = (ngtcp2_cc_algo)algorithm;
    use.seed = number_of("seed", 1);
    use.start = number_of("start_ns", 0);
    use.stop = number_of("stop_ns", NEVER);
    use.bytes = number_of("bytes", NEVER);
    use.write_bytes = number_of("write_bytes", WRITE);
    use.largest = number_of("mtu", 1500) - number_of("header", 28);
    if (use.largest > LARGEST) use.largest = LARGEST;
    read_writes(&use);
    peer ends[2] = {{.end = 0, .use = &use}, {.end = 1, .use = &use}};
    write_text('R', "{\"name\": \"ngtcp2\", \"version\": \"%s\", \"deterministic\": true}", ngtcp2_version(0)->version_str, 0);

    while (read_frame() == 'S') {
        uint64_t now = get(body, 8), timer = NEVER;
        int touched[2] = {0};
        const uint8_t *at = body + 10;
        for (uint64_t n = get(body + 8, 2); n > 0; n--) {
            size_t length = get(at + 2, 4);
            peer_receive(&ends[at[0]], now, at + 6, length, at[1]);
            touched[at[0]] = 1;
            at += 6 + length;
        }
        used = 10; /* the timer and the number of datagrams come first */
        datagrams = samples = 0;
        for (int end = first; end <= last; end++) {
            if (touched[end] || peer_timer(&ends[end]) <= now) peer_poll(&ends[end], now, NULL, send_from);
            if (peer_timer(&ends[end]) < timer) timer = peer_timer(&ends[end]);
        }
        size_t count = used++;
        for (int end = first; end <= last; end++) samples_of(&ends[end]);
        answer[count] = (uint8_t)samples;
        size_t all = used;
        used = 0;
        put(timer, 8);
        put(datagrams, 2);
        used = all;
        write_frame('D');
    }
    write_text('F', "{\"notes\": \"%s\", \"delivered_bytes\": %llu}", "", ends[1].delivered);
    return 0;
}
