# %% [markdown]
# # Would BBR have helped on this path?
#
# A colleague complains of a slow upload and sends a capture. What limited it? Would another
# controller have been faster? The capture is the only thing we have: this page reads it,
# makes a scenario of its path, checks the scenario, and answers.
#
# Here the capture is that of a simulated upload, so that the page can be run, and so that the
# answer can be compared with the truth in the end. With your own capture, begin at "Read it":
# `tcpdump -s 128 -w upload.pcap` on the machine that sends makes one.

# %%
import tempfile
from pathlib import Path

from ackclock import Scenario
from ackclock.cli.app import main

FOLDER = Path(tempfile.mkdtemp())
TRUTH = """
title    = "The colleague's line, which nobody knows"
duration = "20s"

[[link]]
ends  = ["host", "modem"]
rate  = "1Gbps"
delay = "0.2ms"

[[link]]
ends  = ["modem", "server"]
rate  = "20Mbps"
delay = "15ms"
queue = { kind = "droptail", limit = "200p" }

[[flow]]
name = "upload"
from = "host"
to   = "server"
tcp  = { congestion_control = "cubic" }
"""
capture = FOLDER / "upload.pcapng"
truth = Scenario.parse(TRUTH).run(captures=["host"])
capture.write_bytes(truth.captures["host"])

# %% [markdown]
# ## Read it
#
# `ackclock read upload.pcapng` says what limited the transfer, in shares of its time.
# `--plot` draws the curves; `ackclock view upload.pcapng` opens the same in the page.

# %%
main(["read", str(capture)])

# %% [markdown]
# ## Why did it lose packets?
#
# The last reduction, with the packets that prove its cause.

# %%
main(["why", str(capture), "--at", "19s", "--cut"])

# %% [markdown]
# ## A scenario of the path, and its check
#
# `ackclock model` estimates the rate, the base round-trip time and the buffer, and runs the
# controller of the capture in candidates of the path. Only a candidate that gives the same
# curves is trusted, and only then `--try` says what another controller would have had.

# %%
path = FOLDER / "path.toml"
main(["model", str(capture), "--control", "cubic", "--out", str(path), "--try", "bbr3,reno"])

# %% [markdown]
# ## The curves of both
#
# The scenario is an ordinary one: here the two controllers run in it, one after the other.

# %%
model = Scenario.load(path, ['flow.flow.tcp.congestion_control="bbr3"'])
model.run(trace="ack", packets=True).plot(["cwnd", "rtt"])

# %% [markdown]
# ## Was the answer right?
#
# Nobody can run another controller in the past. Here the truth is known: the same upload with
# BBRv3 over the line itself.

# %%
inside = model.run().outcome["flows"][0]
really = (
    Scenario.parse(TRUTH, ['flow.upload.tcp.congestion_control="bbr3"'])
    .run()
    .outcome["flows"][0]
)
for name, unit, factor in (("goodput_bps", "Mb/s", 1e-6), ("mean_rtt_s", "ms", 1e3)):
    predicted, true = inside[name] * factor, really[name] * factor
    head = f"{name:12} predicted {predicted:6.2f} {unit}"
    print(f"{head}, in truth {true:6.2f} {unit}: {predicted / true - 1:+.1%}")

# %% [markdown]
# ## What follows
#
# The upload was not slow because of CUBIC: it had the whole line, and a queue that delays
# everybody else. BBRv3 would have sent as much with a fraction of the delay. If the check
# fails, `model` says why and answers nothing: a capture in which the queue was never full
# does not show its length, and traffic of others makes the rate a guess
# ([levels](../../docs/model.md)).
