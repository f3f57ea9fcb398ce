# %% [markdown]
# # Page loads over Wi-Fi: does the server's controller matter?
#
# Many visitors of a web site are on Wi-Fi, some beside a download of their own, some far from
# the access point. Would their pages be complete earlier if the server had BBR in place of
# CUBIC? The page here is the median of the HTTP Archive: 71 objects with 2.65 MB, over HTTP/2.

# %%
from ackclock import Scenario, stats
from ackclock.draw.style import COLOURS, panels

TEXT = """
title    = "A page over 802.11n"
duration = "40s"

[[wifi]]
name     = "home"
ap       = "ap"
standard = "n"
width    = "20MHz"
streams  = 1

[[link]]
name  = "line"
ends  = ["server", "ap"]
rate  = "200Mbps"
delay = "15ms"
queue = { kind = "droptail", limit = "1000p" }

[[link]]
name = "phone"
ends = ["ap", "phone"]
rate = { kind = "wifi", medium = "home", snr = 32 }

[[link]]
name = "laptop"
ends = ["ap", "laptop"]
rate = { kind = "wifi", medium = "home", snr = 36 }

[[flow]]
name = "page"
from = "server"
to   = "phone"
start_jitter = "100ms"
app  = { kind = "page", page = "median", repeat = "2s" }

[[flow]]
name = "download"
from = "server"
to   = "laptop"
start_jitter = "1s"
tcp  = { congestion_control = "cubic" }
"""
CONTROLLERS = ("cubic", "bbr", "bbr3")

# %% [markdown]
# ## One run
#
# The browser asks for an object when the object that names it is complete and 20 ms have
# passed; after a page is complete it waits 2 s and loads it again over the same connection.
# Beside it a laptop downloads.

# %%
result = Scenario.parse(TEXT, ["tcp.congestion_control=cubic"]).run(trace="ack", packets=True)
page = result.outcome["flows"][0]["app"]
print(f"{page['pages']} pages, median {page['p50_page_s']:.2f} s")
print(f"{page['messages']} objects, 95 % within {page['p95_s']:.2f} s")
result.plot(["goodput", "queue"])

# %% [markdown]
# ## Three controllers, four homes
#
# The first home has the page alone; in the second the laptop downloads. In the third it does,
# and the access point has one queue of 1,000 packets in place of FQ-CoDel for each station. In
# the fourth the phone is far away, with a signal 6 dB above the noise. Four seeds each: the
# mean over seeds of the median page, with its 95 % interval.

# %%
ALONE = ["flow.download.start=39s"]
HOMES = {
    "alone": ALONE,
    "a download": [],
    "one queue": ['wifi.home.ap_queue={ kind = "shared", limit = "1000p" }'],
    "far away": [*ALONE, "link.phone.rate.snr=6"],
}
loads: dict[tuple[str, str], list[float]] = {}
print("home       controller   page load")
for home, settings in HOMES.items():
    for control in CONTROLLERS:
        scenario = Scenario.parse(TEXT, [*settings, f"tcp.congestion_control={control}"])
        apps = [scenario.run(seed=seed).outcome["flows"][0]["app"] for seed in range(1, 5)]
        loads[home, control] = [app["p50_page_s"] for app in apps]
        e = stats.mean(loads[home, control])
        print(f"{home:10} {control:10} {e.value:6.2f} s [{e.low:.2f}, {e.high:.2f}]")

# %%
figure, (axes,) = panels(1, height=2.6, width=5.6)
for number, control in enumerate(CONTROLLERS):
    for place, home in enumerate(HOMES):
        at = [place + 0.2 * (number - 1)] * len(loads[home, control])
        label = control if place == 0 else None
        marks = {"color": COLOURS[number], "markersize": 5, "label": label}
        axes.plot(at, loads[home, control], "os^"[number], **marks)
axes.set_xticks(range(len(HOMES)), list(HOMES), fontsize=8)
axes.set_ylim(bottom=0)
axes.set_ylabel("median page load, s")
axes.legend(frameon=False, fontsize=8)
figure

# %% [markdown]
# ## What follows
#
# Alone, a page is complete a tenth of a second earlier with BBR, which fills no queue of its
# own. What the home does is larger. A download beside the page nearly doubles its time, an
# access point with one queue for all doubles it again, and a weak signal costs most of all.
# With one queue the intervals of the controllers overlap: more seeds would be needed to say
# more than that all are slow.
#
# So the answer is: a little, and the visitor's access point decides the rest. Other pages:
# `page = "heavy"`, a list of objects, or what your browser has recorded (`har = "page.har"`);
# [applications](../../docs/applications.md) has the keys.
