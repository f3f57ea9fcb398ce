"""Compare goodput, mean queue and drops of three congestion control algorithms on the same network."""

from ackclock import Scenario

NETWORK = {
    "duration": "30s",
    "tcp": {"profile": "ns2", "recovery": "sack", "receive_window": 1000},
    "link": [
        {
            "name": "bottleneck",
            "ends": ["a", "b"],
            "rate": "10Mbps",
            "delay": "20ms",
            "queue": {"kind": "droptail", "limit": "1bdp"},
        }
    ],
    "flow": [{"name": "f", "from": "a", "to": "b"}],
}

print(f"{'controller':12} {'goodput':>12} {'mean queue':>12} {'drops':>7}")
for controller in ("reno", "vegas", "cubic"):
    result = Scenario.build(NETWORK, [f"flow.f.tcp.congestion_control={controller}"]).run()
    flow, link = result.outcome["flows"][0], result.outcome["links"][0]
    print(
        f"{controller:12} {flow['goodput_bps'] / 1e6:7.2f} Mb/s {link['mean_queue_packets']:10.1f} p"
        f" {link['dropped_packets']['queue']:7d}"
    )
