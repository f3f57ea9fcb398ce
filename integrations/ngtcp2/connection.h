/* A connection of ngtcp2 0.12 with TLS 1.3 by GnuTLS: settings, callbacks and a certificate. The source is the client and the
 * destination the server; the random numbers that ngtcp2 draws come from the seed. */
#ifndef CONNECTION_H
#define CONNECTION_H

#include <arpa/inet.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEVER UINT64_MAX
#define PLENTY ((uint64_t)1 << 40) /* of flow control */
#define CIPHERS "NORMAL:-VERS-ALL:+VERS-TLS1.3:-GROUP-ALL:+GROUP-X25519:%DISABLE_TLS13_COMPAT_MODE"
enum { LARGEST = 1452, WRITE = 1 << 16 }; /* bytes of a datagram; bytes of a write if nothing else is said */

/* What the application does, and with which controller. */
typedef struct {
    uint64_t seed, start, stop, bytes; /* bytes: NEVER without end */
    uint64_t (*writes)[2];             /* time and bytes; NULL: all data is there at the start */
    size_t count, write_bytes, largest; /* largest: bytes of a datagram */
    ngtcp2_cc_algo algorithm;
} use;

typedef struct {
    int end; /* 0: source, 1: destination */
    const use *use;
    ngtcp2_conn *conn;
    ngtcp2_crypto_conn_ref ref;
    ngtcp2_path path;
    int64_t stream;
    uint64_t written, delivered, random, now;
    int app_limited;
} peer;

static void fail(const peer *p, const char *call, int code) {
    fprintf(stderr, "end %d at %.6f s: %s: %s\n", p->end, (double)p->now / 1e9, call, ngtcp2_strerror(code));
    exit(1);
}

static void fill(peer *p, uint8_t *bytes, size_t length) {
    while (length--) {
        p->random = p->random * 6364136223846793005u + 1442695040888963407u;
        *bytes++ = (uint8_t)(p->random >> 56);
    }
}

static void on_rand(uint8_t *bytes, size_t length, const ngtcp2_rand_ctx *context) {
    fill(context->native_handle, bytes, length);
}

static int on_new_cid(ngtcp2_conn *conn, ngtcp2_cid *cid, uint8_t *token, size_t length, void *p) {
    (void)conn;
    cid->datalen = length;
    fill(p, cid->data, length);
    fill(p, token, NGTCP2_STATELESS_RESET_TOKENLEN);
    return 0;
}

static int on_data(ngtcp2_conn *conn, uint32_t flags, int64_t stream, uint64_t offset, const uint8_t *data, size_t length,
                   void *p, void *of_stream) {
    (void)conn, (void)flags, (void)stream, (void)offset, (void)data, (void)of_stream;
    ((peer *)p)->delivered += length;
    return 0;
}

static int on_handshake(ngtcp2_conn *conn, void *p) {
    peer *client = p;
    return client->end == 0 ? ngtcp2_conn_open_uni_stream(conn, &client->stream, NULL) : 0;
}

static ngtcp2_conn *connection_of(ngtcp2_crypto_conn_ref *ref) { return ((peer *)ref->user_data)->conn; }

/* A certificate of fixed size: signatures of Ed25519 have 64 bytes. */
static gnutls_certificate_credentials_t credentials(void) {
    static gnutls_certificate_credentials_t made;
    if (made) return made;
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t certificate;
    gnutls_x509_privkey_init(&key);
    gnutls_x509_privkey_generate(key, GNUTLS_PK_EDDSA_ED25519, 256, 0);
    gnutls_x509_crt_init(&certificate);
    gnutls_x509_crt_set_version(certificate, 3);
    gnutls_x509_crt_set_serial(certificate, "\1", 1);
    gnutls_x509_crt_set_activation_time(certificate, 1600000000);
    gnutls_x509_crt_set_expiration_time(certificate, 1900000000);
    gnutls_x509_crt_set_dn(certificate, "CN=localhost", NULL);
    gnutls_x509_crt_set_key(certificate, key);
    gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA512, 0);
    gnutls_certificate_allocate_credentials(&made);
    if (gnutls_certificate_set_x509_key(made, &certificate, 1, key)) exit(2);
    return made;
}

static gnutls_session_t tls_session(peer *p) {
    static const gnutls_datum_t alpn = {(unsigned char *)"bytes", 5};
    gnutls_session_t tls;
    gnutls_init(&tls, (p->end ? GNUTLS_SERVER : GNUTLS_CLIENT) | GNUTLS_NO_END_OF_EARLY_DATA | GNUTLS_NO_TICKETS);
    if (gnutls_priority_set_direct(tls, CIPHERS, NULL)) exit(2);
    gnutls_credentials_set(tls, GNUTLS_CRD_CERTIFICATE, credentials());
    gnutls_alpn_set_protocols(tls, &alpn, 1, 0);
    if (p->end ? ngtcp2_crypto_gnutls_configure_server_session(tls) : ngtcp2_crypto_gnutls_configure_client_session(tls))
        exit(2);
    p->ref = (ngtcp2_crypto_conn_ref){connection_of, p};
    gnutls_session_set_ptr(tls, &p->ref);
    return tls;
}

/* Makes the connection: of the client, or of the server for the first datagram. */
static void peer_open(peer *p, const ngtcp2_pkt_hd *first) {
    static struct sockaddr_in addresses[2] = {{.sin_family = AF_INET, .sin_port = 1}, {.sin_family = AF_INET, .sin_port = 2}};
    static const ngtcp2_callbacks callbacks = {
        .client_initial = ngtcp2_crypto_client_initial_cb,
        .recv_client_initial = ngtcp2_crypto_recv_client_initial_cb,
        .recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb,
        .encrypt = ngtcp2_crypto_encrypt_cb,
        .decrypt = ngtcp2_crypto_decrypt_cb,
        .hp_mask = ngtcp2_crypto_hp_mask_cb,
        .recv_retry = ngtcp2_crypto_recv_retry_cb,
        .update_key = ngtcp2_crypto_update_key_cb,
        .delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb,
        .delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb,
        .get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb,
        .version_negotiation = ngtcp2_crypto_version_negotiation_cb,
        .rand = on_rand,
        .get_new_connection_id = on_new_cid,
        .recv_stream_data = on_data,
        .handshake_completed = on_handshake,
    };
    ngtcp2_settings settings;
    ngtcp2_settings_default(&settings);
    settings.cc_algo = p->use->algorithm;
    settings.initial_ts = p->now;
    settings.rand_ctx.native_handle = p;
    settings.max_tx_udp_payload_size = p->use->largest;
    settings.no_tx_udp_payload_size_shaping = 1;
    settings.handshake_timeout = NEVER;
    ngtcp2_transport_params given;
    ngtcp2_transport_params_default(&given);
    given.initial_max_data = given.initial_max_stream_data_uni = PLENTY;
    given.initial_max_streams_uni = 1;
    for (int i = 0; i < 2; i++) {
        ngtcp2_addr *at = i == p->end ? &p->path.local : &p->path.remote;
        *at = (ngtcp2_addr){(ngtcp2_sockaddr *)&addresses[i], sizeof addresses[i]};
    }
    p->random = 2 * p->use->seed + (uint64_t)p->end;
    p->stream = -1;
    ngtcp2_cid own = {.datalen = 8}, other = {.datalen = 16};
    fill(p, own.data, own.datalen);
    fill(p, other.data, other.datalen);
    int code;
    if (first) {
        given.original_dcid = first->dcid;
        code = ngtcp2_conn_server_new(&p->conn, &first->scid, &own, &p->path, first->version, &callbacks, &settings, &given,
                                      NULL, p);
    } else
        code = ngtcp2_conn_client_new(&p->conn, &other, &own, &p->path, NGTCP2_PROTO_VER_V1, &callbacks, &settings, &given,
                                      NULL, p);
    if (code) fail(p, "new", code);
    ngtcp2_conn_set_tls_native_handle(p->conn, tls_session(p));
}

#endif
