// TCP over Wi-Fi in ns-3: a server behind a wire, an access point, stations with one flow each. wifi_runs.py calls it.
//
//   wifi --down=3 --up=1 --standard=ac --mcs=7 --slow=-1 --queue=500 --delay=0.01 --time=60 --warmup=10 --seed=1

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"

#include "tcp_defaults.h"

#include <iostream>
#include <sstream>
#include <vector>

using namespace ns3;

static double g_warmup = 0;

// The data transmissions of the access point and of the stations.
static uint64_t g_ppdus[2], g_mpdus[2];

static void Transmitted(int station, WifiConstPsduMap psdus, WifiTxVector, double) {
    if (Simulator::Now().GetSeconds() < g_warmup) return;
    for (auto& psdu : psdus) {
        if (!psdu.second->GetHeader(0).IsQosData()) continue;
        ++g_ppdus[station];
        g_mpdus[station] += psdu.second->GetNMpdus();
    }
}

// One flow: bytes that arrived after the warm-up, round-trip times that its sender measured.
struct Flow {
    uint64_t bytes = 0, samples = 0;
    double rtt = 0;
};
static std::vector<Flow> g_flows;

static void Arrived(uint32_t flow, Ptr<const Packet> packet, const Address&) {
    if (Simulator::Now().GetSeconds() >= g_warmup) g_flows[flow].bytes += packet->GetSize();
}

static void Measured(uint32_t flow, Time, Time rtt) {
    if (Simulator::Now().GetSeconds() < g_warmup) return;
    g_flows[flow].rtt += rtt.GetSeconds();
    ++g_flows[flow].samples;
}

static void Trace(uint32_t node, uint32_t socket, uint32_t flow) {
    std::ostringstream path;
    path << "/NodeList/" << node << "/$ns3::TcpL4Protocol/SocketList/" << socket << "/RTT";
    Config::ConnectWithoutContext(path.str(), MakeBoundCallback(&Measured, flow));
}

static void SetDefaults(const std::string& control, uint32_t queue) {
    SetTcpDefaults(control);
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, queue)));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(10)));
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", StringValue("4692480"));
}

// The devices of the access point (first) and of the stations; the last station sends at MCS `slow` if it is not negative.
static NetDeviceContainer Wifi(NodeContainer ap, NodeContainer stations, const std::string& standard, int mcs, int slow) {
    YansWifiChannelHelper channel = YansWifiChannelHelper::Default();
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.Set("ChannelSettings", StringValue("{0, 20, BAND_5GHZ, 0}"));
    WifiHelper wifi;
    wifi.SetStandard(standard == "n" ? WIFI_STANDARD_80211n : WIFI_STANDARD_80211ac);
    WifiMacHelper mac;
    Ssid ssid("lab");
    NetDeviceContainer devices, of_stations;
    auto rate = [&](int mcs) {
        std::string mode = (standard == "n" ? "HtMcs" : "VhtMcs") + std::to_string(mcs);
        wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue(mode), "ControlMode",
                                     StringValue("OfdmRate24Mbps"));
    };
    for (uint32_t i = 0; i < stations.GetN(); ++i) {
        rate(slow >= 0 && i + 1 == stations.GetN() ? slow : mcs);
        mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid), "BE_MaxAmpduSize", UintegerValue(65535));
        of_stations.Add(wifi.Install(phy, mac, stations.Get(i)));
    }
    rate(mcs);
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid), "BE_MaxAmpduSize", UintegerValue(65535));
    devices.Add(wifi.Install(phy, mac, ap));
    devices.Add(of_stations);
    MobilityHelper mobility;
    Ptr<ListPositionAllocator> positions = CreateObject<ListPositionAllocator>();
    positions->Add(Vector(0, 0, 0));
    for (uint32_t i = 0; i < stations.GetN(); ++i) {
        double angle = 2 * M_PI * i / stations.GetN();
        positions->Add(Vector(cos(angle), sin(angle), 0));
    }
    mobility.SetPositionAllocator(positions);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(ap);
    mobility.Install(stations);
    for (uint32_t i = 0; i < devices.GetN(); ++i)
        DynamicCast<WifiNetDevice>(devices.Get(i))->GetPhy()->TraceConnectWithoutContext(
            "PhyTxPsduBegin", MakeBoundCallback(&Transmitted, i == 0 ? 0 : 1));
    return devices;
}

// Exchanges a packet with each station alone, so that both directions have a block ACK agreement before the flows begin: an
// access point of ns-3.37 whose request for one collides can stop sending until the end of the run.
static void SetUpBlockAckAgreements(Ptr<Node> server, NodeContainer stations, Ipv4InterfaceContainer at_stations) {
    for (uint32_t i = 0; i < stations.GetN(); ++i) {
        UdpEchoServerHelper(9).Install(stations.Get(i));
        UdpEchoClientHelper client(at_stations.GetAddress(1 + i), 9);
        client.SetAttribute("MaxPackets", UintegerValue(1));
        client.Install(server).Start(Seconds(0.3 + 0.03 * i));
    }
}

static void Print(double measured) {
    std::ostringstream goodput, rtt;
    for (size_t i = 0; i < g_flows.size(); ++i) {
        const char* comma = i ? ", " : "";
        goodput << comma << 8.0 * g_flows[i].bytes / measured;
        rtt << comma;
        if (g_flows[i].samples) rtt << g_flows[i].rtt / g_flows[i].samples;
        else rtt << "null";
    }
    std::cout << "{\"goodput_bps\": [" << goodput.str() << "], \"mean_rtt_s\": [" << rtt.str()
              << "], \"ap_aggregation\": " << double(g_mpdus[0]) / g_ppdus[0]
              << ", \"station_aggregation\": " << double(g_mpdus[1]) / g_ppdus[1] << "}" << std::endl;
}

int main(int argc, char** argv) {
    uint32_t down = 1, up = 0, queue = 500, seed = 1;
    int mcs = 7, slow = -1;
    std::string control = "TcpLinuxReno", standard = "ac";
    double delay = 0.01, time = 60;
    CommandLine arguments;
    arguments.AddValue("down", "stations with a download", down);
    arguments.AddValue("up", "stations with an upload", up);
    arguments.AddValue("control", "congestion controller, without ns3::", control);
    arguments.AddValue("standard", "n or ac", standard);
    arguments.AddValue("mcs", "", mcs);
    arguments.AddValue("slow", "MCS of the last station's transmissions, -1: as the others", slow);
    arguments.AddValue("queue", "packets, of each device", queue);
    arguments.AddValue("delay", "of the wire, one way, s", delay);
    arguments.AddValue("time", "s", time);
    arguments.AddValue("warmup", "s", g_warmup);
    arguments.AddValue("seed", "", seed);
    arguments.Parse(argc, argv);
    RngSeedManager::SetRun(seed);
    SetDefaults(control, queue);

    NodeContainer server(1), ap(1), stations(down + up);
    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    wire.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
    wire.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("10000p"));
    NetDeviceContainer wired = wire.Install(server.Get(0), ap.Get(0));
    NetDeviceContainer radios = Wifi(ap, stations, standard, mcs, slow);
    InternetStackHelper stack;
    stack.Install(server);
    stack.Install(ap);
    stack.Install(stations);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer at_server = addresses.Assign(wired);
    addresses.SetBase("10.0.1.0", "255.255.255.0");
    Ipv4InterfaceContainer at_stations = addresses.Assign(radios);
    TrafficControlHelper none;
    none.Uninstall(wired);
    none.Uninstall(radios);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    NeighborCacheHelper neighbours;
    neighbours.PopulateNeighborCache();

    SetUpBlockAckAgreements(server.Get(0), stations, at_stations);
    g_flows.resize(down + up);
    for (uint32_t i = 0; i < down + up; ++i) {
        bool is_down = i < down;
        Ptr<Node> from = is_down ? server.Get(0) : stations.Get(i), to = is_down ? stations.Get(i) : server.Get(0);
        Ipv4Address address = is_down ? at_stations.GetAddress(1 + i) : at_server.GetAddress(0);
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000 + i));
        sink.Install(to).Get(0)->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Arrived, i));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(address, 5000 + i));
        double start = 1 + 0.1 * i;
        source.Install(from).Start(Seconds(start));
        // Downloads' sockets are numbered in the order of their starts after the listening sockets of the uploads.
        uint32_t socket = is_down ? up + i : 0;
        Simulator::Schedule(Seconds(start) + NanoSeconds(1), &Trace, from->GetId(), socket, i);
    }
    Simulator::Stop(Seconds(time));
    Simulator::Run();
    Print(time - g_warmup);
    Simulator::Destroy();
}
