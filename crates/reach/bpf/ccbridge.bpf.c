// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// A congestion control algorithm for Linux TCP that takes its decisions from user space. Every ACK, every request for a
// threshold, every change of state and every undo is written to a ring buffer; the window, the threshold and the pacing rate
// are read from a map, together with the answers to a loss and to an ECN echo, which the kernel needs at once.
//
// This file and its object may be used under GPL-2.0-only or under the MIT licence (LICENSE-MIT), at your choice. The kernel
// offers some functions to programs with a GPL-compatible licence only, "Dual MIT/GPL" among them.
//
// Built by `make bpf`: clang -O2 -g -target bpf -c ccbridge.bpf.c -o ccbridge.bpf.o

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u16 __sum16;
typedef _Bool bool;

enum { BPF_MAP_TYPE_HASH_ = 1, BPF_MAP_TYPE_ARRAY_ = 2, BPF_MAP_TYPE_SK_STORAGE_ = 24, BPF_MAP_TYPE_RINGBUF_ = 27 };
#define BPF_F_NO_PREALLOC 1
#define BPF_SK_STORAGE_GET_F_CREATE 1

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

// The members of kernel types that are used. Their offsets come from the running kernel's BTF at load time.
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sock {
	unsigned long sk_pacing_rate;
	__u32 sk_pacing_status;
};
struct inet_connection_sock {
	__u8 icsk_ca_state : 5;
};
struct tcp_options_received {
	__u32 rcv_tsval;
};
struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 mss_cache, snd_cwnd, snd_ssthresh, snd_una, snd_nxt, packets_out, sacked_out, lost_out, retrans_out, lost, delivered,
		delivered_ce, prior_cwnd, data_segs_out;
	struct tcp_options_received rx_opt;
};
struct rate_sample {
	__u32 prior_delivered;
	__s32 delivered;
	long interval_us;
	long rtt_us;
	int losses;
	__u32 acked_sacked, prior_in_flight;
	bool is_app_limited;
};
struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *);
	void (*set_state)(struct sock *, __u8);
	void (*in_ack_event)(struct sock *, __u32);
	__u32 (*min_tso_segs)(struct sock *);
	void (*cong_control)(struct sock *, __u32, int, const struct rate_sample *);
	__u32 (*undo_cwnd)(struct sock *);
	char name[16];
	__u32 flags;
	void (*init)(struct sock *);
	void (*release)(struct sock *);
};
#pragma clang attribute pop

char _license[] SEC("license") = "Dual MIT/GPL";

// CA_ACK_ECE of enum tcp_ca_ack_event_flags.
#define ACK_HAS_ECE (1 << 2)
// FLAG_ECE of net/ipv4/tcp_input.c, in the flags of cong_control.
#define FLAG_ECE 0x40
// SK_PACING_NEEDED of enum sk_pacing: TCP's own timer paces.
#define PACING_NEEDED 1

enum event_kind { EVENT_OPEN = 1, EVENT_ACK = 2, EVENT_SSTHRESH = 3, EVENT_STATE = 4, EVENT_UNDO = 5, EVENT_CLOSE = 6 };

// As `Event` of bridge/messages.rs.
struct event {
	__u64 time_ns;
	__u64 flow;
	__u64 sequence; // number of the event of this flow
	__u32 kind;
	__u32 value; // EVENT_ACK: whether the ACK has an ECN echo; EVENT_STATE: the new state
	__u32 snd_una, snd_nxt;
	__u32 in_flight, sacked_out, lost_out;
	__u32 delivered, lost, mss, state, receiver_tsval;
	__s32 rate_delivered, rtt_us;
	__u32 losses, acked_sacked, interval_us, prior_delivered, prior_in_flight;
	__u32 app_limited;
	__u32 sent; // data segments so far, retransmissions included
	__u32 padding;
};

// As `Decision` of bridge/messages.rs.
struct decision {
	__u64 sequence; // of the event that it follows
	__u32 cwnd, ssthresh;
	__u32 loss_cwnd, loss_ssthresh;
	__u32 echo_cwnd, echo_ssthresh;
	__u64 pacing; // bytes per second; 0: none
};

struct flow_state {
	__u64 flow;
	__u64 sequence; // of the last event
	__u64 reduced; // of the last request for a threshold
	__u32 echo; // the present ACK has an ECN echo
	__u32 padding;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF_);
	__uint(max_entries, 1 << 22);
} events SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_HASH_);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, struct decision);
} decisions SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE_);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow_state);
} flows SEC(".maps");
// 0: events that found no place in the ring buffer; 1: flows so far.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

static __always_inline __u64 count(__u32 which)
{
	__u64 *counter = bpf_map_lookup_elem(&counters, &which);
	return counter ? __sync_fetch_and_add(counter, 1) + 1 : 0;
}

static __always_inline struct flow_state *state_of(struct sock *sk)
{
	return bpf_sk_storage_get(&flows, sk, 0, 0);
}

static __always_inline void emit(struct sock *sk, struct flow_state *flow, __u32 kind, __u32 value,
				 const struct rate_sample *rate)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (flow)
		flow->sequence++; // also for an event that is lost
	if (!e) {
		count(0);
		return;
	}
	__builtin_memset(e, 0, sizeof(*e));
	e->time_ns = bpf_ktime_get_ns();
	e->flow = flow ? flow->flow : 0;
	e->sequence = flow ? flow->sequence : 0;
	e->kind = kind;
	e->value = value;
	e->snd_una = tp->snd_una;
	e->snd_nxt = tp->snd_nxt;
	e->in_flight = tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
	e->sacked_out = tp->sacked_out;
	e->lost_out = tp->lost_out;
	e->delivered = tp->delivered;
	e->lost = tp->lost;
	e->mss = tp->mss_cache;
	e->state = tp->inet_conn.icsk_ca_state;
	e->receiver_tsval = tp->rx_opt.rcv_tsval;
	e->sent = tp->data_segs_out;
	e->rtt_us = -1;
	if (rate) {
		e->rate_delivered = rate->delivered;
		e->rtt_us = rate->rtt_us;
		e->losses = rate->losses;
		e->acked_sacked = rate->acked_sacked;
		e->interval_us = rate->interval_us > 0 ? rate->interval_us : 0;
		e->prior_delivered = rate->prior_delivered;
		e->prior_in_flight = rate->prior_in_flight;
		e->app_limited = rate->is_app_limited;
	}
	bpf_ringbuf_submit(e, 0);
}

// Takes over the last decision, unless it follows an event before the last reduction: its window would undo the reduction.
static __always_inline void apply(struct sock *sk, struct flow_state *flow)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u64 key = flow->flow;
	struct decision *d = bpf_map_lookup_elem(&decisions, &key);

	if (!d || !d->cwnd || d->sequence <= flow->reduced)
		return;
	tp->snd_cwnd = d->cwnd;
	if (d->ssthresh)
		tp->snd_ssthresh = d->ssthresh;
	if (d->pacing)
		sk->sk_pacing_rate = d->pacing;
}

SEC("struct_ops")
void BPF_PROG(bridge_init, struct sock *sk)
{
	struct flow_state *flow = bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!flow)
		return;
	flow->flow = count(1);
	sk->sk_pacing_status = PACING_NEEDED;
	sk->sk_pacing_rate = ~0UL;
	emit(sk, flow, EVENT_OPEN, 0, 0);
}

SEC("struct_ops")
void BPF_PROG(bridge_release, struct sock *sk)
{
	emit(sk, state_of(sk), EVENT_CLOSE, 0, 0);
}

SEC("struct_ops")
__u32 BPF_PROG(bridge_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow_state *flow = state_of(sk);
	__u32 answer = tp->snd_cwnd >> 1;

	emit(sk, flow, EVENT_SSTHRESH, 0, 0);
	if (answer < 2)
		answer = 2;
	if (flow) {
		__u64 key = flow->flow;
		struct decision *d = bpf_map_lookup_elem(&decisions, &key);
		// The controller learns of the reduction from the change of state that follows.
		flow->reduced = flow->sequence;
		if (d) {
			__u32 cwnd = flow->echo ? d->echo_cwnd : d->loss_cwnd;
			__u32 ssthresh = flow->echo ? d->echo_ssthresh : d->loss_ssthresh;
			if (ssthresh)
				answer = ssthresh;
			if (cwnd)
				tp->snd_cwnd = cwnd;
		}
	}
	return answer;
}

SEC("struct_ops")
__u32 BPF_PROG(bridge_undo, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	emit(sk, state_of(sk), EVENT_UNDO, 0, 0);
	return tp->snd_cwnd > tp->prior_cwnd ? tp->snd_cwnd : tp->prior_cwnd;
}

SEC("struct_ops")
void BPF_PROG(bridge_state, struct sock *sk, __u8 state)
{
	emit(sk, state_of(sk), EVENT_STATE, state, 0);
}

SEC("struct_ops")
void BPF_PROG(bridge_in_ack, struct sock *sk, __u32 flags)
{
	struct flow_state *flow = state_of(sk);

	if (flow)
		flow->echo = (flags & ACK_HAS_ECE) != 0;
}

SEC("struct_ops")
void BPF_PROG(bridge_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rate)
{
	struct flow_state *flow = state_of(sk);

	if (!flow)
		return;
	apply(sk, flow);
	emit(sk, flow, EVENT_ACK, (flag & FLAG_ECE) != 0, rate);
}

SEC("struct_ops")
__u32 BPF_PROG(bridge_min_tso, struct sock *sk)
{
	struct flow_state *flow = state_of(sk);

	// Called before data is sent: the decision about the last ACK may have arrived meanwhile.
	if (flow)
		apply(sk, flow);
	return 1;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops bridge = {
	.init = (void *)bridge_init,
	.release = (void *)bridge_release,
	.ssthresh = (void *)bridge_ssthresh,
	.undo_cwnd = (void *)bridge_undo,
	.set_state = (void *)bridge_state,
	.in_ack_event = (void *)bridge_in_ack,
	.cong_control = (void *)bridge_control,
	.min_tso_segs = (void *)bridge_min_tso,
	.name = "ackclock", // replaced by a name of its own for each load
};
