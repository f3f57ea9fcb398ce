// PragueCC of udp_prague behind a few functions, with the clock of the simulator. Times in microseconds, sizes in bytes. Built by
// udp_prague.py with the sources of udp_prague, which are not part of this project.

#include <cstddef>

using std::size_t; // the header takes it for granted

#include "prague_cc.h"

struct Flow : PragueCC {
    time_tp now = 1;
    Flow(size_tp size, count_tp window, rate_tp rate) : PragueCC(size, 0, 0, rate, window) {}
    time_tp Now() override { return now; }
};

extern "C" {
void* flow_open(uint64_t size, uint64_t window, uint64_t rate) { return new Flow(size, count_tp(window), rate); }
void flow_close(void* p) { delete static_cast<Flow*>(p); }

void flow_ack(void* p, uint64_t now, uint64_t rtt, uint64_t received, uint64_t marked, uint64_t lost, uint64_t sent) {
    Flow& f = *static_cast<Flow*>(p);
    f.now = time_tp(now) + 1;
    if (rtt) f.PacketReceived(f.now, f.now - time_tp(rtt));
    count_tp in_flight;
    f.ACKReceived(count_tp(received), count_tp(marked), count_tp(lost), count_tp(sent), false, in_flight);
}

uint64_t flow_rate(void* p, uint64_t now) {
    Flow& f = *static_cast<Flow*>(p);
    rate_tp rate;
    count_tp window, burst;
    size_tp size;
    f.now = time_tp(now) + 1;
    f.GetCCInfo(rate, window, burst, size);
    return rate;
}
uint64_t flow_window(void* p) { return uint64_t(static_cast<Flow*>(p)->GetStatePtr()->m_packet_window); }
uint64_t flow_alpha(void* p) { return uint64_t(static_cast<Flow*>(p)->GetStatePtr()->m_alpha); }
}
