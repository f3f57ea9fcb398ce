# %% [markdown]
# # Should we turn on BBR?
#
# A server that sends files can change its congestion controller with one line. What would BBR
# change for our users, and what for everybody else? Three questions, each with runs behind the
# answer: alone on our networks, beside CUBIC, and with a part of our servers changed.

# %%
import tempfile
from pathlib import Path

from ackclock import stats
from ackclock.apps.comparison import compare, draw
from ackclock.apps.trials import Trials
from ackclock.base.shipped import scenarios
from ackclock.draw.style import fitted
from ackclock.study import Study
from ackclock.study.executors import Local

FOLDER = Path(tempfile.mkdtemp())

# %% [markdown]
# ## Alone: goodput, delay, retransmissions
#
# Four networks: a cellular trace, a line with a long buffer, a pass of Starlink satellites, and
# a shallow buffer. BBR and CUBIC run with the same seeds. A ratio of 2 means that BBR has twice
# the value of CUBIC; the brackets are 95 % intervals.

# %%
SHALLOW = """
duration = "30s"
[[link]]
name  = "line"
ends  = ["server", "client"]
rate  = "50Mbps"
delay = "20ms"
queue = { kind = "droptail", limit = "0.25bdp" }
[[flow]]
name = "f"
from = "server"
to   = "client"
"""
(FOLDER / "shallow.toml").write_text(SHALLOW)
files = [scenarios()[name] for name in ("cellular", "bufferbloat", "starlink_pass")]
files.append(FOLDER / "shallow.toml")
trials = Trials(files, FOLDER / "alone", Local(), seeds=5, overrides=["duration=30s"])
comparison = compare(trials, ["bbr", "cubic"])
for row in comparison.rows:
    e = row.ratio
    times = "both 0, not"
    if e.low is not None:
        times = f"{e.value:.3g} [{e.low:.3g}, {e.high:.3g}] times"
    print(f"{row.network:14} {row.metric.name:16} {times} that of CUBIC: {row.verdict}")

# %%
figure = fitted(lambda: draw(comparison), None)
figure

# %% [markdown]
# ## Beside CUBIC: who gets the line?
#
# The users of a line share it with other servers. The depth of its buffer decides what BBR
# takes from CUBIC: much where the buffer is short, little where it is long.

# %%
SHARED = """
title    = "BBR beside CUBIC"
duration = "60s"
warmup   = "10s"
[[link]]
name  = "line"
ends  = ["server", "client"]
rate  = "50Mbps"
delay = "20ms"
queue = { kind = "droptail", limit = "1bdp" }
[[flow]]
name = "cubic"
from = "server"
to   = "client"
start_jitter = "1s"
[[flow]]
name = "bbr"
from = "server"
to   = "client"
start_jitter = "1s"
tcp  = { congestion_control = "bbr" }
[sweep]
seed = "1..4"
[sweep.buffer]
"0.5 BDP" = { "link.line.queue.limit" = "0.5bdp" }
"1 BDP"   = { "link.line.queue.limit" = "1bdp" }
"2 BDP"   = { "link.line.queue.limit" = "2bdp" }
"4 BDP"   = { "link.line.queue.limit" = "4bdp" }
"8 BDP"   = { "link.line.queue.limit" = "8bdp" }
"""
(FOLDER / "shared.toml").write_text(SHARED)
shared = Study.load(FOLDER / "shared.toml").run(FOLDER / "shared")
table = shared.table()
for (buffer,), rows in table.group_by(["buffer"], maintain_order=True):
    part = rows["bbr.goodput_bps"] / (rows["bbr.goodput_bps"] + rows["cubic.goodput_bps"])
    e = stats.within(part.to_list(), 0, 1)
    share, low, high = (100 * x for x in (e.value, e.low, e.high))
    print(f"{buffer:8} BBR has {share:.0f} % [{low:.0f}, {high:.0f}] of both goodputs")

# %% [markdown]
# ## A part of the servers: what do the others lose?
#
# Eight downloads share the line, with a buffer of one bandwidth-delay product. One of them uses
# BBR, then two, and so on. If a change is good for those who make it and bad for the others,
# both columns say so. Means over three seeds.

# %%
FLOWS = 8
ONE = '[[flow]]\nname = "f{}"\nfrom = "server"\nto = "client"\nstart_jitter = "1s"\n'
LIST = "".join(ONE.format(i) for i in range(FLOWS))
MANY = SHARED.partition("[[flow]]")[0] + LIST + '[sweep]\nseed = "1..3"\n[sweep.changed]\n'
for count in (0, 1, 2, 4, 8):
    changes = ", ".join(f'"flow.f{i}.tcp.congestion_control" = "bbr"' for i in range(count))
    MANY += f'"{count}" = {{ {changes} }}\n'
(FOLDER / "many.toml").write_text(MANY)
many = Study.load(FOLDER / "many.toml").run(FOLDER / "many").table()
print("changed   each with BBR   each with CUBIC   packets dropped")
for (changed,), rows in many.group_by(["changed"], maintain_order=True):
    count = int(changed)
    goodputs = [rows[f"f{i}.goodput_bps"].mean() / 1e6 for i in range(FLOWS)]
    bbr = f"{sum(goodputs[:count]) / count:5.1f} Mb/s" if count else "-"
    left = FLOWS - count
    cubic = f"{sum(goodputs[count:]) / left:5.1f} Mb/s" if left else "-"
    dropped = 100 * rows["server->client.drop_rate"].mean()
    print(f"{changed:>7}   {bbr:>13}   {cubic:>15}   {dropped:14.2f} %")

# %% [markdown]
# ## What follows
#
# BBR keeps queues short where it is alone, and pays with retransmissions where the buffer is
# shorter than what it holds in flight. Beside CUBIC the buffer decides who has the larger part.
# The same three questions for another controller, also one of your own, need one word changed:
# `bbr3`, or `mine.py:Mine`. The command line has the first one:
#
# ```sh
# ackclock compare --control bbr,cubic --on @cellular,@bufferbloat,@starlink_pass --plot bbr.svg
# ```
#
# How near the model is to the kernel's BBR:
# [queues, BBR and L4S](../../docs/validation-queues.md).
