"""Reference results of ns-3 for CoDel, FQ-CoDel, PIE and a plain FIFO.

    S ---(access, 100 Mb/s, 1 ms)--- R ---(bottleneck, 19 ms)--- D      (D -> R -> S: 100 Mb/s)

Round-trip propagation: 2 * (1 + 19) ms = 40 ms exactly.  The only queue disc of the network is the
one under test, on R's device of the bottleneck, whose device queue holds one packet.  Devices of
point-to-point links charge a PPP header of 2 bytes on every packet.

  case A   UDP, 1500 packets/s of 1000 bytes (IP), into 8 Mb/s, 60 s, CoDel
  case B   N CUBIC flows into 10 Mb/s, 60 s, four queue discs, RngRun 1..5

Each run has a process of its own (fork, one at a time), so that no state of ns-3 (random streams,
addresses, defaults) leaks from one to the next.  What happens per packet is counted in C++.

    venv/bin/python ns3_aqm.py [ns3_aqm.json]
"""

import json
import multiprocessing
import sys
from importlib.metadata import version

from ns import ns

DURATION = 60.0
WARM_UP = 10.0  # start of the "steady" window, a second view beside the whole run
ACCESS_MS, BOTTLENECK_MS = 1, 19
UDP_PAYLOAD, UDP_RATE = 972, 1500
BUFFER = 4_000_000
QUEUES = {
    "codel": ("ns3::CoDelQueueDisc", {"MaxSize": "1000p"}),
    "fq_codel": ("ns3::FqCoDelQueueDisc", {"MaxSize": "10240p", "UseEcn": "false"}),
    "pie": ("ns3::PieQueueDisc", {"MaxSize": "1000p", "UseEcn": "false"}),
    "fifo": ("ns3::FifoQueueDisc", {"MaxSize": "200p"}),
}

TCP = {
    "TcpL4Protocol": {"SocketType": "ns3::TcpCubic"},  # and RecoveryType: see RECOVERIES
    "TcpSocket": {"SegmentSize": 1448, "InitialCwnd": 10, "SndBufSize": BUFFER, "RcvBufSize": BUFFER, "DelAckCount": 2},
    "TcpSocketBase": {"Sack": "true", "Timestamp": "true"},
}
# ns-3's default recovery, and the one that sets the window to ssthresh at once (RFC 6675 with SACK).
RECOVERIES = ("ns3::TcpPrrRecovery", "ns3::TcpClassicRecovery")
# Types whose attributes are recorded with the values above in force (queue discs: with each run).
RECORDED = "TcpL4Protocol TcpSocket TcpSocketBase TcpCubic TcpPrrRecovery RttMeanDeviation PointToPointNetDevice"

PROBE = r"""
namespace probe {
using namespace ns3;
struct Sample { double at, sojourn; };
std::vector<Sample> sent;           // left the queue disc for the device
std::vector<uint64_t> resent;       // TCP retransmissions of each flow
std::vector<uint64_t> warm;         // bytes of each sink at the end of the warm-up
std::vector<Ptr<PacketSink>> sinks;
uint64_t timeouts = 0;

// SojournTime fires for every packet that leaves the internal queue, dropped afterwards or not;
// DropAfterDequeue then takes the latest sample away again.
void Left(Time t) { sent.push_back({Simulator::Now().GetSeconds(), t.GetSeconds()}); }
void DroppedAfter(Ptr<const QueueDiscItem>, const char*) { sent.pop_back(); }
void Resent(uint32_t flow, Ptr<const Packet>, const TcpHeader&, const Address&, const Address&,
            Ptr<const TcpSocketBase>) { ++resent[flow]; }
using State = TcpSocketState::TcpCongState_t;
void Congestion(State, State now) { timeouts += now == TcpSocketState::CA_LOSS; }
void WatchSockets() {  // every sender has opened its socket by then, none can have timed out yet
  Config::ConnectWithoutContextFailSafe("/NodeList/0/$ns3::TcpL4Protocol/SocketList/*/CongState",
                                        MakeCallback(&Congestion));
}
void Snapshot() { for (auto& s : sinks) warm.push_back(s->GetTotalRx()); }

bool watch(Ptr<QueueDisc> q, double warm_up) {
  Simulator::Schedule(Seconds(warm_up), &Snapshot);
  Simulator::Schedule(Seconds(1.0001), &WatchSockets);
  return q->TraceConnectWithoutContext("SojournTime", MakeCallback(&Left)) &&
         q->TraceConnectWithoutContext("DropAfterDequeue", MakeCallback(&DroppedAfter));
}
bool watch_sender(Ptr<Application> a) {
  resent.push_back(0);
  return a->TraceConnectWithoutContext("TcpRetransmission",
                                       MakeBoundCallback(&Resent, uint32_t(resent.size() - 1)));
}
void watch_sink(Ptr<Application> a) { sinks.push_back(DynamicCast<PacketSink>(a)); }
// Of the samples from `since` on: count, mean, p50, p95, p99, max (nearest rank; seconds).
std::vector<double> summary(double since) {
  std::vector<double> v, out;
  for (auto& s : sent) if (s.at >= since) v.push_back(s.sojourn);
  out = {double(v.size())};
  if (v.empty()) return out;
  std::sort(v.begin(), v.end());
  out.push_back(std::accumulate(v.begin(), v.end(), 0.0) / v.size());
  for (double p : {.5, .95, .99, 1.}) out.push_back(v[std::max(1L, long(std::ceil(p * v.size()))) - 1]);
  return out;
}
std::map<std::string, uint32_t> drops(Ptr<QueueDisc> q) {
  auto s = q->GetStats();
  std::map<std::string, uint32_t> all(s.nDroppedPacketsBeforeEnqueue.begin(), s.nDroppedPacketsBeforeEnqueue.end());
  for (auto& [reason, n] : s.nDroppedPacketsAfterDequeue) all[reason] += n;
  return all;
}
// "name=value" lines of the attributes a type itself declares: of `o`, or the initial values.
std::string attributes(std::string type, Ptr<Object> o) {
  TypeId t = TypeId::LookupByName(type);
  std::string out;
  for (std::size_t i = 0; i < t.GetAttributeN(); ++i) {
    auto a = t.GetAttribute(i);
    if (!a.accessor->HasGetter()) continue;
    auto v = a.initialValue->Copy();
    if (o) o->GetAttribute(a.name, *v);
    out += a.name + "=" + v->SerializeToString(a.checker) + "\n";
  }
  return out;
}
}
"""


ns.cppyy.cppdef(PROBE)  # cling may print "Failed to materialize symbols ... g_timeInitHelper": harmless
probe = ns.cppyy.gbl.probe


def pairs(text):
    return dict(line.split("=", 1) for line in str(text).splitlines())


def network(queue, mbps):
    """Build S - R - D; return S, D, D's address and the queue disc."""
    nodes = ns.NodeContainer()
    nodes.Create(3)
    s, r, d = (nodes.Get(i) for i in range(3))
    def link(a, b, delay_ms):
        p2p = ns.PointToPointHelper()
        p2p.SetDeviceAttribute("DataRate", ns.StringValue("100Mbps"))
        p2p.SetChannelAttribute("Delay", ns.StringValue(f"{delay_ms}ms"))
        p2p.SetQueue("ns3::DropTailQueue", "MaxSize", ns.StringValue("100000p"))
        return p2p.Install(a, b)

    access, bottleneck = link(s, r, ACCESS_MS), link(r, d, BOTTLENECK_MS)
    port = bottleneck.Get(0)
    port.SetAttribute("DataRate", ns.StringValue(f"{mbps}Mbps"))
    port.GetQueue().SetAttribute("MaxSize", ns.StringValue("1p"))

    ns.InternetStackHelper().Install(nodes)
    kind, attributes = QUEUES[queue]
    control = ns.TrafficControlHelper()
    control.SetRootQueueDisc(kind)
    disc = control.Install(port).Get(0)  # before the addresses: those install the default disc
    for name, value in attributes.items():
        disc.SetAttribute(name, ns.StringValue(value))
    addresses = ns.Ipv4AddressHelper()
    addresses.SetBase(ns.Ipv4Address("10.0.1.0"), ns.Ipv4Mask("255.255.255.0"))
    addresses.Assign(access)
    addresses.NewNetwork()
    to_d = addresses.Assign(bottleneck).GetAddress(1)
    for device in (access.Get(0), access.Get(1), bottleneck.Get(1)):
        ns.TrafficControlHelper.Default().Uninstall(device)
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    return s, d, to_d, disc


def run(case):
    """One simulation in a fresh process; returns its row of the JSON."""
    ns.RngSeedManager.SetSeed(1)
    ns.RngSeedManager.SetRun(case["run"])
    for kind, values in TCP.items():
        for name, value in values.items():
            ns.Config.SetDefault(f"ns3::{kind}::{name}", ns.StringValue(str(value)))
    ns.Config.SetDefault("ns3::TcpL4Protocol::RecoveryType", ns.StringValue(case["recovery"]))
    if case["case"] == "defaults":
        nothing = ns.cppyy.gbl.ns3.Ptr["ns3::Object"]()
        return {t: pairs(probe.attributes("ns3::" + t, nothing)) for t in RECORDED.split()}

    s, d, address, disc = network(case["queue"], case["mbps"])
    watched = probe.watch(disc, WARM_UP)
    udp = case["case"] == "A"
    kind = "ns3::UdpSocketFactory" if udp else "ns3::TcpSocketFactory"
    jitter = ns.CreateObject[ns.UniformRandomVariable]()
    starts = []
    for flow in range(case["flows"]):
        at, anywhere = (ns.InetSocketAddress(a, 5000 + flow).ConvertTo() for a in (address, ns.Ipv4Address.GetAny()))
        sink = ns.PacketSinkHelper(kind, anywhere).Install(d)
        source = (ns.OnOffHelper if udp else ns.BulkSendHelper)(kind, at)
        if udp:
            source.SetConstantRate(ns.DataRate(UDP_RATE * UDP_PAYLOAD * 8), UDP_PAYLOAD)
        else:
            source.SetAttribute("SendSize", ns.UintegerValue(1448))
        starts.append(0.0 if udp else float(jitter.GetValue(0.0, 1.0)))
        apps = source.Install(s)
        apps.Start(ns.Seconds(starts[-1]))
        apps.Stop(ns.Seconds(DURATION))
        watched &= udp or probe.watch_sender(apps.Get(0))
        probe.watch_sink(sink.Get(0))
    assert watched, "a trace source is missing"
    ns.Simulator.Stop(ns.Seconds(DURATION))
    ns.Simulator.Run()
    return case | result(disc, case) | {"starts_s": starts}


def summary(values):
    count, *times = values
    return {"packets": int(count)} | {f"{k}_ms": 1e3 * t for k, t in zip(("mean", "p50", "p95", "p99", "max"), times)}


def result(disc, case):
    total = [int(k.GetTotalRx()) for k in probe.sinks]
    late = [b - int(a) for a, b in zip(probe.warm, total, strict=True)]
    stats = disc.GetStats()
    jain = lambda x: sum(x) ** 2 / (len(x) * sum(v * v for v in x))
    return {
        "goodput_mbps": 8e-6 * sum(total) / DURATION,
        "goodput_steady_mbps": 8e-6 * sum(late) / (DURATION - WARM_UP),
        "flow_bytes": total, "flow_steady_bytes": late,
        "jain": jain(total), "jain_steady": jain(late),
        "sojourn": summary(probe.summary(0.0)), "sojourn_steady": summary(probe.summary(WARM_UP)),
        "queue_received_packets": int(stats.nTotalReceivedPackets),
        "queue_sent_packets": int(stats.nTotalSentPackets),
        "queue_left_at_end_packets": int(disc.GetNPackets()),
        "drops": int(stats.nTotalDroppedPackets),
        "drops_by_reason": {str(reason): int(n) for reason, n in probe.drops(disc)},
        "fq_queues_used": int(disc.GetNQueueDiscClasses()),
        "retransmissions": [int(n) for n in probe.resent],
        "timeouts": int(probe.timeouts),
        "queue_attributes": pairs(probe.attributes(QUEUES[case["queue"]][0], disc)),
    }  # fmt: skip


def main(path):
    cases = [{"case": "A", "queue": "codel", "flows": 1, "mbps": 8, "run": 1, "recovery": RECOVERIES[0]}]
    cases += [
        {"case": "B", "queue": queue, "flows": flows, "mbps": 10, "run": number, "recovery": recovery}
        for recovery in RECOVERIES for flows in (1, 10) for queue in QUEUES for number in range(1, 6)
    ]  # fmt: skip
    document = {
        "ns3": version("ns3"), "duration_s": DURATION, "warm_up_s": WARM_UP,
        "access_one_way_ms": ACCESS_MS, "bottleneck_one_way_ms": BOTTLENECK_MS,
        "queues": QUEUES, "tcp": TCP, "udp": {"payload_bytes": UDP_PAYLOAD, "packets_per_s": UDP_RATE},
    }  # fmt: skip
    context = multiprocessing.get_context("fork")
    with context.Pool(1, maxtasksperchild=1) as pool:
        document["types_with_overrides"] = pool.apply(run, (cases[0] | {"case": "defaults"},))
        document["runs"] = []
        for row in pool.imap(run, cases, chunksize=1):
            document["runs"].append(row)
            print(*list(row.values())[:6], row["goodput_mbps"], row["sojourn"]["mean_ms"], row["drops"], flush=True)
    with open(path, "w") as out:
        json.dump(document, out, indent=1)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "ns3_aqm.json")
