// One TCP flow of ns-3 over one link with random losses: its goodput and its mean window. ns3_runs.py calls it.
//
//   tcp --control=TcpIllinois --rate=10e6 --delay=0.025 --queue=41 --loss=0.001 --time=100 --warmup=20 --seed=1

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include "tcp_defaults.h"

#include <iostream>

using namespace ns3;

static double g_window = 0;     // segments
static double g_since = 0;      // when it became so
static double g_sum = 0;        // segments times seconds after the warm-up
static double g_warmup = 0;
static uint64_t g_bytes = 0;    // that arrived after the warm-up

static void Window(uint32_t, uint32_t bytes) {
    double now = Simulator::Now().GetSeconds();
    if (now > g_warmup) g_sum += g_window * (now - std::max(g_since, g_warmup));
    g_window = double(bytes) / kSegment;
    g_since = now;
}

static void Arrived(Ptr<const Packet> packet, const Address&) {
    if (Simulator::Now().GetSeconds() >= g_warmup) g_bytes += packet->GetSize();
}

static void Trace() {
    Config::ConnectWithoutContext("/NodeList/0/$ns3::TcpL4Protocol/SocketList/0/CongestionWindow", MakeCallback(&Window));
}

int main(int argc, char** argv) {
    std::string control = "TcpNewReno";
    double rate = 10e6, delay = 0.025, loss = 1e-3, time = 100;
    uint32_t queue = 41, seed = 1;
    CommandLine arguments;
    arguments.AddValue("control", "congestion controller, without ns3::", control);
    arguments.AddValue("rate", "bit/s", rate);
    arguments.AddValue("delay", "one way, s", delay);
    arguments.AddValue("queue", "packets", queue);
    arguments.AddValue("loss", "part of the packets in the direction of the data", loss);
    arguments.AddValue("time", "s", time);
    arguments.AddValue("warmup", "s", g_warmup);
    arguments.AddValue("seed", "", seed);
    arguments.Parse(argc, argv);

    RngSeedManager::SetRun(seed);
    SetTcpDefaults(control);

    NodeContainer nodes(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(rate))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, queue)));
    NetDeviceContainer devices = link.Install(nodes);
    InternetStackHelper stack;
    stack.Install(nodes);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    TrafficControlHelper none;
    none.Uninstall(devices);
    if (loss > 0) {
        Ptr<RateErrorModel> errors = CreateObject<RateErrorModel>();
        errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        errors->SetRate(loss);
        errors->AssignStreams(seed);
        devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(errors));
    }

    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
    ApplicationContainer receiver = sink.Install(nodes.Get(1));
    receiver.Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&Arrived));
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(1), 5000));
    ApplicationContainer sender = source.Install(nodes.Get(0));
    sender.Start(Seconds(0));
    Simulator::Schedule(NanoSeconds(1), &Trace);
    Simulator::Stop(Seconds(time));
    Simulator::Run();
    Window(0, 0);
    double measured = time - g_warmup;
    std::cout << "{\"goodput_bps\": " << 8.0 * g_bytes / measured << ", \"mean_cwnd\": " << g_sum / measured
              << "}" << std::endl;
    Simulator::Destroy();
}
