/* Transfers over a simulated link of picoquic, in virtual time: `transfer [KEY=VALUE ...] ALGORITHM[@OPTIONS] ...`. Each
   algorithm has a connection of its own, from the client to the server; all share the link. Prints a line of JSON for each.
   Licence: Apache-2.0 OR MIT. */
#include "ackclock_cc.h"
#include "picoquic_internal.h"
#include "picoquic_utils.h"
#include "tls_api.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES, RATE, DELAY, QUEUE, LOSS, MARK, OUTAGE, DETOUR, PAUSE, RESET, SEED, LIMIT, KEYS };
static const char *const names[KEYS] = {"mb", "mbps", "delay_ms", "queue_ms", "loss_percent", "mark_ms", "outage_ms", "detour",
                                         "pause_s", "reset_s", "seed", "limit_s"};
/* mark: with a longer queue ECN marks. outage: from 2 s on. detour: every so many packets one arrives 10 ms late. pause: after
   half of the bytes. reset: the controllers begin again at that time. */
static double value[KEYS] = {5, 10, 20, 40, 0, 0, 0, 0, 0, 0, 1, 200};

#define CONNECTIONS 8
#define BEGIN 1700000000000000 /* microseconds; not zero, as in a program with the clock of the machine */
typedef struct {
  const char *name;
  picoquic_cnx_t *connection;
  uint64_t left, arrived, done, resume, smallest; /* bytes and microseconds; `smallest` window */
} transfer;
static transfer transfers[CONNECTIONS];
static int count, unfinished;
static uint64_t now = BEGIN, longest_queue;

static int on_client(picoquic_cnx_t *connection, uint64_t stream, uint8_t *bytes, size_t length,
                     picoquic_call_back_event_t event, void *context, void *stream_context) {
  transfer *t = context;
  (void)connection, (void)stream, (void)stream_context;
  if (event == picoquic_callback_prepare_to_send) {
    if (value[PAUSE] > 0 && t->resume == 0 && (double)t->left < value[BYTES] * 5e5) {
      t->resume = now + (uint64_t)(value[PAUSE] * 1e6);
      picoquic_provide_stream_data_buffer(bytes, 0, 0, 0);
      return 0;
    }
    size_t size = length < t->left ? length : (size_t)t->left;
    uint8_t *room = picoquic_provide_stream_data_buffer(bytes, size, size == t->left, size < t->left);
    if (room == NULL) return -1;
    memset(room, 0, size);
    t->left -= size;
  }
  return 0;
}

static int on_server(picoquic_cnx_t *connection, uint64_t stream, uint8_t *bytes, size_t length,
                     picoquic_call_back_event_t event, void *context, void *stream_context) {
  (void)bytes, (void)context, (void)stream_context, (void)stream;
  if (event != picoquic_callback_stream_data && event != picoquic_callback_stream_fin) return 0;
  for (int i = 0; i < count; i++) {
    if (picoquic_compare_connection_id(&connection->initial_cnxid, &transfers[i].connection->initial_cnxid) != 0) continue;
    transfers[i].arrived += length;
    if (event == picoquic_callback_stream_fin) {
      transfers[i].done = now;
      unfinished--;
    }
  }
  return 0;
}

static void reset(picoquic_cnx_t *connection) {
  picoquic_per_ack_state_t event = {.pc = picoquic_packet_context_application};
  connection->congestion_alg->alg_notify(connection, connection->path[0], picoquic_congestion_notification_reset, &event, now);
}

static const picoquic_congestion_algorithm_t *algorithm(const char *name) {
  char message[300] = "not an algorithm of picoquic";
  const picoquic_congestion_algorithm_t *found = NULL;
  if (strncmp(name, "ackclock_", 9) == 0) {
    found = ackclock_picoquic_algorithm(name + 9, message, sizeof message);
  } else {
    found = picoquic_get_congestion_algorithm(name);
  }
  if (found == NULL) {
    fprintf(stderr, "%s: %s\n", name, message);
    exit(2);
  }
  return found;
}

int main(int argc, char **argv) {
  char certificate[1000], key[1000];
  picoquic_register_all_congestion_control_algorithms();
  for (int i = 1; i < argc; i++) {
    char *equals = strchr(argv[i], '=');
    int k = equals == NULL ? KEYS : 0;
    if (equals != NULL) *equals = 0;
    while (k < KEYS && strcmp(argv[i], names[k]) != 0) k++;
    if (equals != NULL) *equals = '=';
    if (k < KEYS) value[k] = atof(equals + 1);
    else if (count < CONNECTIONS) transfers[count++].name = argv[i];
  }
  const char *folder = getenv("PICOQUIC");
  if (count == 0 || folder == NULL) {
    fprintf(stderr, "PICOQUIC=FOLDER transfer [KEY=VALUE ...] ALGORITHM ...\n");
    return 2;
  }
  snprintf(certificate, sizeof certificate, "%s/certs/cert.pem", folder);
  snprintf(key, sizeof key, "%s/certs/key.pem", folder);
  uint64_t seed = (uint64_t)value[SEED], random = seed;
  picoquic_quic_t *ends[2];
  for (int i = 0; i < 2; i++)
    ends[i] = picoquic_create(CONNECTIONS, i ? certificate : NULL, i ? key : NULL, NULL, "transfer", i ? on_server : NULL,
                              NULL, NULL, NULL, NULL, now, &now, NULL, NULL, 0);
  if (ends[0] == NULL || ends[1] == NULL) return 2;
  picoquic_set_null_verifier(ends[0]);
  for (int i = 0; i < 2; i++) ends[i]->use_predictable_random = 1;
  picoquic_public_random_seed_64(seed, 1);
  struct sockaddr_in address[2] = {{.sin_family = AF_INET, .sin_port = htons(1000), .sin_addr.s_addr = htonl(0x0a000001)},
                                   {.sin_family = AF_INET, .sin_port = htons(2000), .sin_addr.s_addr = htonl(0x0a000002)}};
  for (int i = 0; i < count; i++) {
    transfer *t = &transfers[i];
    picoquic_connection_id_t id = {{1, (uint8_t)i, (uint8_t)seed, (uint8_t)(seed >> 8), 5, 6, 7, 8}, 8};
    t->left = (uint64_t)(value[BYTES] * 1e6);
    t->connection = picoquic_create_cnx(ends[0], id, picoquic_null_connection_id, (struct sockaddr *)&address[1], now, 0,
                                        "test.example.com", "transfer", 1);
    picoquic_set_callback(t->connection, on_client, t);
    char name[300];
    snprintf(name, sizeof name, "%s", t->name);
    char *options = strchr(name, '@');
    if (options != NULL) *options++ = 0;
    picoquic_set_congestion_algorithm_ex(t->connection, algorithm(name), options == NULL ? NULL : strchr(t->name, '@') + 1);
    if (picoquic_mark_active_stream(t->connection, 0, 1, NULL) != 0 || picoquic_start_client_cnx(t->connection) != 0) return 2;
    unfinished++;
  }
  /* Links to the server, to the client, and to the server again, longer, without a queue. */
  uint64_t delay = (uint64_t)(value[DELAY] * 1000), queue = (uint64_t)(value[QUEUE] * 1000);
  picoquictest_sim_link_t *links[3] = {picoquictest_sim_link_create(value[RATE] / 1000, delay, NULL, queue, now),
                                       picoquictest_sim_link_create(value[RATE] / 1000, delay, NULL, queue, now),
                                       picoquictest_sim_link_create(0, delay + 10000, NULL, 0, now)};
  uint64_t end = now + (uint64_t)(value[LIMIT] * 1e6), packets = 0, dropped = 0, marked = 0;
  while (unfinished > 0 && now < end) {
    uint64_t at = end;
    int what = -1;
    for (int i = 0; i < 3; i++) {
      uint64_t arrival = picoquictest_sim_link_next_arrival(links[i], at);
      if (arrival < at) at = arrival, what = i;
    }
    for (int i = 0; i < 2; i++) {
      uint64_t wake = picoquic_get_next_wake_time(ends[i], now);
      if (wake < at) at = wake, what = 3 + i;
    }
    for (int i = 0; i < count; i++)
      if (transfers[i].resume > now && transfers[i].resume <= at) at = transfers[i].resume, what = 5 + i;
    now = at > now ? at : now;
    if (what < 0) break;
    if (value[RESET] > 0 && now >= BEGIN + (uint64_t)(value[RESET] * 1e6)) {
      for (int i = 0; i < count; i++) reset(transfers[i].connection);
      value[RESET] = 0;
    }
    if (what >= 5) {
      picoquic_mark_active_stream(transfers[what - 5].connection, 0, 1, &transfers[what - 5]);
      continue;
    }
    if (what < 3) {
      int to = what != 1;
      picoquictest_sim_packet_t *packet = picoquictest_sim_link_dequeue(links[what], now);
      if (packet == NULL) continue;
      picoquic_cnx_t *connection = NULL;
      picoquic_incoming_packet_ex(ends[to], packet->bytes, packet->length, (struct sockaddr *)&address[!to],
                                  (struct sockaddr *)&address[to], 0, packet->ecn_mark, &connection, now);
      free(packet);
      continue;
    }
    for (int i = 0; i < count; i++) {
      uint64_t window = transfers[i].connection->path[0]->cwin;
      int less = transfers[i].smallest == 0 || window < transfers[i].smallest;
      if (transfers[i].done == 0 && less) transfers[i].smallest = window;
    }
    int from = what - 3, interface = 0;
    picoquictest_sim_packet_t *packet = picoquictest_sim_link_create_packet();
    picoquic_connection_id_t log_id;
    picoquic_cnx_t *connection = NULL;
    int failed = picoquic_prepare_next_packet_ex(ends[from], now, packet->bytes, sizeof packet->bytes, &packet->length,
                                                 &packet->addr_to, &packet->addr_from, &interface, &log_id, &connection, NULL);
    if (failed || packet->length == 0) {
      free(packet);
      continue;
    }
    if (connection != NULL) packet->ecn_mark = connection->congestion_alg->ecn_mark;
    uint64_t waiting = picoquictest_sim_link_queue_delay(links[from], now);
    if (from == 0) {
      packets++;
      if (waiting > longest_queue) longest_queue = waiting;
      if (value[MARK] > 0 && packet->ecn_mark != 0 && (double)waiting > value[MARK] * 1000) {
        packet->ecn_mark = PICOQUIC_ECN_CE;
        marked++;
      }
      double since = (double)(now - BEGIN) / 1000 - 2000;
      int out = since >= 0 && since < value[OUTAGE];
      int lost = value[LOSS] > 0 && (double)picoquic_test_uniform_random(&random, 1000000) < value[LOSS] * 10000;
      if (out || lost) {
        dropped++;
        free(packet);
        continue;
      }
    }
    int detour = from == 0 && value[DETOUR] > 0 && packets % (uint64_t)value[DETOUR] == 0;
    picoquictest_sim_link_submit(links[detour ? 2 : from], packet, now);
  }
  for (int i = 0; i < count; i++) {
    const transfer *t = &transfers[i];
    const picoquic_path_t *path = t->connection->path[0];
    uint64_t state, threshold;
    t->connection->congestion_alg->alg_observe(t->connection->path[0], &state, &threshold);
    double seconds = (double)((t->done > 0 ? t->done : now) - BEGIN) / 1e6;
    printf("{\"algorithm\": \"%s\", \"finished\": %s, \"seconds\": %.6f, \"goodput_mbps\": %.3f, ", t->name,
           t->done > 0 ? "true" : "false", seconds, (double)t->arrived * 8 / seconds / 1e6);
    printf("\"bytes\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"timer_losses\": %" PRIu64 ", ", t->arrived, path->nb_losses_found,
           path->nb_timer_losses);
    printf("\"spurious\": %" PRIu64 ", \"smallest_cwin\": %" PRIu64 ", \"pacing_mbps\": %.3f, ", path->nb_spurious,
           t->smallest, (double)path->pacing.rate * 8 / 1e6);
    printf("\"dropped\": %" PRIu64 ", \"marked\": %" PRIu64 ", \"packets\": %" PRIu64 ", \"srtt_ms\": %.3f, ",
           dropped + links[0]->packets_dropped, marked, packets, (double)path->smoothed_rtt / 1000);
    printf("\"longest_queue_ms\": %.3f, \"cwin\": %" PRIu64 ", \"threshold\": %" PRIu64 "}\n", (double)longest_queue / 1000,
           path->cwin, threshold);
  }
  picoquic_free(ends[0]);
  picoquic_free(ends[1]);
  for (int i = 0; i < 3; i++) picoquictest_sim_link_delete(links[i]);
  return unfinished > 0;
}
