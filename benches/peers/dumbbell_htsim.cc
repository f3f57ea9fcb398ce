// The speed benchmark in htsim: `dumbbell_htsim n=100 dur=100 mbps=100`, one JSON line.
// N sources and sinks on links of their own (1 Gb/s, 10 ms), a bottleneck (10 ms) where 750 packets may wait, htsim's
// NewReno, packets of 1,000 bytes, starts spread over 100 ms, no logger. `count=1` counts the packet-hops at every link
// as well.

#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

static uint64_t g_counted = 0;

// A pipe that counts the packets that a link has sent.
class CountingPipe : public Pipe {
public:
    using Pipe::Pipe;
    void receivePacket(Packet& packet) override {
        ++g_counted;
        Pipe::receivePacket(packet);
    }
};

// CPU time of this process so far, user and system, in seconds.
static double CpuSeconds() {
    rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1e-6 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

// One direction of a link: a queue that a packet leaves when it is sent, and the propagation delay.
struct Link {
    std::unique_ptr<Queue> queue;
    std::unique_ptr<Pipe> pipe;

    Link(EventList& events, double bps, mem_b bytes, bool count)
        : queue(new Queue(linkspeed_bps(bps), bytes, events, nullptr)),
          pipe(count ? new CountingPipe(timeFromMs(10), events) : new Pipe(timeFromMs(10), events)) {}

    void AppendTo(Route& route) const {
        route.push_back(queue.get());
        route.push_back(pipe.get());
    }
};

struct Flow {
    TcpSrc source;
    TcpSink sink;
    Link first, last, back, home;
    Route out, in;

    Flow(EventList& events, bool count)
        : source(nullptr, nullptr, events),
          first(events, 1e9, mem_b(1) << 40, count),
          last(events, 1e9, mem_b(1) << 40, count),
          back(events, 1e9, mem_b(1) << 40, count),
          home(events, 1e9, mem_b(1) << 40, count) {}
};

int main(int argc, char** argv) {
    const int packet = 1000;   // bytes, of which 960 are data in the other simulators
    const int data = 960;
    std::map<std::string, double> keys = {{"n", 100}, {"dur", 100}, {"mbps", 100}, {"count", 0}};
    for (int i = 1; i < argc; ++i) {
        std::string argument = argv[i];
        size_t equals = argument.find('=');
        std::string key = argument.substr(0, equals);
        if (equals == std::string::npos || !keys.count(key)) {
            std::fprintf(stderr, "error: unknown argument %s; write n=, dur=, mbps= or count=\n", argv[i]);
            return 2;
        }
        keys[key] = std::stod(argument.substr(equals + 1));
    }
    const int flows = int(keys["n"]);
    const double seconds = keys["dur"];
    const bool count = keys["count"] != 0;

    std::cout.setstate(std::ios::failbit);   // htsim prints a line at each timeout
    Packet::set_packet_size(packet);
    EventList& events = EventList::getTheEventList();
    events.setEndtime(timeFromSec(seconds));
    TcpRtxTimerScanner timers(timeFromMs(10), events);

    // The queue holds the packet in transmission as well: 751 let 750 wait.
    Link forward(events, 1e6 * keys["mbps"], 751 * packet, count);
    Link backward(events, 1e6 * keys["mbps"], mem_b(1) << 40, count);
    const int window = std::max(4, 2 * 750 * 2 / flows);   // packets
    std::vector<std::unique_ptr<Flow>> all;
    for (int i = 0; i < flows; ++i) {
        all.emplace_back(new Flow(events, count));
        Flow& flow = *all.back();
        flow.first.AppendTo(flow.out);
        forward.AppendTo(flow.out);
        flow.last.AppendTo(flow.out);
        flow.out.push_back(&flow.sink);
        flow.back.AppendTo(flow.in);
        backward.AppendTo(flow.in);
        flow.home.AppendTo(flow.in);
        flow.in.push_back(&flow.source);
        flow.source.set_cwnd(2 * packet);
        flow.source.set_ssthresh(window * packet);
        flow.source._maxcwnd = window * packet;
        timers.registerTcp(flow.source);
        flow.source.connect(flow.out, flow.in, flow.sink, timeFromSec(0.1 * i / flows));
    }

    const double begin = CpuSeconds();
    while (events.doNextEvent()) {}
    const double cpu = CpuSeconds() - begin;

    uint64_t hops = 0, acked = 0;
    for (auto& flow : all) {
        // A packet sent crosses its access link; if it is not dropped, two more, and its ACK three. Every arrival is
        // acknowledged. The handshake has two packets.
        uint64_t arrived = flow->sink._packets / packet;
        hops += flow->source._packets_sent / packet + 5 * arrived + 6;
        acked += flow->source._last_acked / packet;
    }
    std::string also = count ? ", \"counted\": " + std::to_string(g_counted) : "";
    std::printf("{\"packet_hops\": %llu%s, \"cpu_s\": %.6f, \"goodput_bps\": %.1f}\n",
                static_cast<unsigned long long>(hops), also.c_str(), cpu, acked * data * 8.0 / seconds);
}
