"""Sources of four files that stand for a kernel: what `ackclock module` needs, without any line of Linux."""

from __future__ import annotations

from pathlib import Path


def tiny_kernel(folder: Path) -> Path:
    """Write sources that stand for those of a kernel, with a module `tcp_tiny.c`, into a folder."""
    (folder / "net/ipv4").mkdir(parents=True)
    (folder / "lib/math").mkdir(parents=True)
    (folder / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\n", encoding="utf-8")
    (folder / "lib/math/int_sqrt.c").write_text("#include <linux/kernel.h>\n", encoding="utf-8")
    (folder / "lib/win_minmax.c").write_text(
        "#include <linux/win_minmax.h>\n"
        "u32 minmax_running_min(struct minmax *m, u32 win, u32 t, u32 v) "
        "{ (void)win; m->s[0].t = t; return m->s[0].v = v; }\n",
        encoding="utf-8",
    )
    (folder / "net/ipv4/tcp_cong.c").write_text(
        """#include <net/tcp.h>
static struct tcp_congestion_ops *all[8];
int tcp_register_congestion_control(struct tcp_congestion_ops *ops) {
  for (int i = 0; i < 8; i++) {
    if (all[i] == ops) return -1;
    if (!all[i]) { all[i] = ops; return 0; }
  }
  return -1;
}
struct tcp_congestion_ops *tcp_ca_find(const char *name) {
  for (int i = 0; i < 8 && all[i]; i++) if (!strcmp(all[i]->name, name)) return all[i];
  return NULL;
}
void tcp_set_ca_state(struct sock *sk, const u8 state) { inet_csk(sk)->icsk_ca_state = state; }
void tcp_init_congestion_control(struct sock *sk) { (void)sk; }
void tcp_cleanup_congestion_control(struct sock *sk) { (void)sk; }
static u32 half(struct sock *sk) { return max(tcp_sk(sk)->snd_cwnd >> 1U, 2U); }
static u32 same(struct sock *sk) { return tcp_sk(sk)->snd_cwnd; }
static void grow(struct sock *sk, u32 ack, u32 acked) { (void)ack; tcp_sk(sk)->snd_cwnd += acked; }
struct tcp_congestion_ops tcp_reno = {
	.name = "reno", .ssthresh = half, .undo_cwnd = same, .cong_avoid = grow,
};
""",
        encoding="utf-8",
    )
    (folder / "net/ipv4/tcp_tiny.c").write_text(
        """#include <net/tcp.h>
#include <linux/module.h>
static int step = 1;
module_param(step, int, 0644);
static u32 half(struct sock *sk) { return max(tcp_sk(sk)->snd_cwnd >> 1U, 2U); }
static u32 same(struct sock *sk) { return tcp_sk(sk)->snd_cwnd; }
static void grow(struct sock *sk, u32 ack, u32 acked) { (void)ack; (void)acked; tcp_sk(sk)->snd_cwnd += step; }
static struct tcp_congestion_ops tcp_tiny = {
	.name = "tiny", .ssthresh = half, .undo_cwnd = same, .cong_avoid = grow,
};
static int __init tiny_register(void) { return tcp_register_congestion_control(&tcp_tiny); }
module_init(tiny_register);
""",
        encoding="utf-8",
    )
    return folder
