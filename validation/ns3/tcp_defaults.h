// The TCP of the recorders: that of Linux's defaults where ns-3 has them, with an ACK for each segment.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"

static const uint32_t kSegment = 1448;

// `control`: the congestion controller, without ns3::.
static void SetTcpDefaults(const std::string& control) {
    using namespace ns3;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + control)));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TypeId::LookupByName("ns3::TcpPrrRecovery")));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 25));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 25));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(1)));
}
