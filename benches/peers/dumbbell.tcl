# The speed benchmark in ns-2: `ns dumbbell.tcl n=100 dur=100 mbps=100 scheduler=Calendar`, one JSON line. Calendar is
# ns-2's default; which scheduler is the fastest depends on the number of flows.
# N sources and sinks on links of their own (1 Gb/s, 10 ms), a bottleneck (10 ms) where 750 packets may wait, NewReno,
# 960 + 40 bytes, starts spread over 100 ms; every packet header but the needed ones removed, no trace.
# `count=1` counts the packet-hops at every link as well.
array set P {n 100 dur 100 mbps 100 scheduler Calendar count 0}
foreach a $argv { set kv [split $a =]; set P([lindex $kv 0]) [lindex $kv 1] }
remove-all-packet-headers
add-packet-header IP TCP Flags

# CPU time of this process so far, in clock ticks: user and system (fields 14 and 15, after the name in brackets).
proc ticks {} {
    set f [open "/proc/[pid]/stat"]; set line [read $f]; close $f
    set rest [string range $line [expr {[string last ")" $line] + 2}] end]
    return [expr {[lindex $rest 11] + [lindex $rest 12]}]
}

Agent/TCP set packetSize_ 960
Agent/TCP set window_ [expr {max(4, 2*750*2/$P(n))}]
set ns [new Simulator]
# Routes by hand: ns-2 needs 40 s to compute those of 1,000 flows.
$ns rtproto Manual
$ns use-scheduler $P(scheduler)

# A link of 10 ms with room for `limit` packets from a to b, over which a reaches every node that has no other route.
set monitors {}
proc connect {a b mbps limit} {
    global ns P monitors
    $ns duplex-link $a $b ${mbps}Mb 10ms DropTail
    $ns queue-limit $a $b $limit; $ns queue-limit $b $a 100000000
    [$a get-module Manual] add-route-to-adj-node -default $b
    if {$P(count)} { lappend monitors [$ns monitor-queue $a $b ""] [$ns monitor-queue $b $a ""] }
}
set r1 [$ns node]; set r2 [$ns node]
# ns-2's limit counts the packet in transmission: 751 lets 750 wait.
connect $r1 $r2 $P(mbps) 751
[$r2 get-module Manual] add-route-to-adj-node -default $r1
for {set i 0} {$i < $P(n)} {incr i} {
    set s [$ns node]; set d [$ns node]
    foreach {host router} [list $s $r1 $d $r2] {
        connect $host $router 1000 100000000
        [$router get-module Manual] add-route-to-adj-node $host
    }
    set tcp($i) [new Agent/TCP/Newreno]; set sink($i) [new Agent/TCPSink]
    $ns attach-agent $s $tcp($i); $ns attach-agent $d $sink($i); $ns connect $tcp($i) $sink($i)
    set ftp [new Application/FTP]; $ftp attach-agent $tcp($i)
    $ns at [expr {0.1*$i/$P(n)}] "$ftp start"
}
# A part of the set-up is at the start of the run: the clock begins after that.
$ns at 0.0 { set begin [ticks] }
$ns at $P(dur) {
    set cpu [expr {([ticks] - $begin)/100.0}]
    set sent 0; set acks 0; set acked 0
    for {set i 0} {$i < $P(n)} {incr i} {
        incr sent [$tcp($i) set ndatapack_]; incr acks [$tcp($i) set nackpack_]; incr acked [$tcp($i) set ack_]
    }
    # A packet sent crosses its access link; if it is not dropped, two more, and its ACK three. Every arrival is
    # acknowledged, so arrivals are ACKs (but for those in flight at the end, some hundreds in a million).
    set counted 0
    foreach monitor $monitors { incr counted [$monitor set pdepartures_] }
    set also [expr {$P(count) ? ", \"counted\": $counted" : ""}]
    puts "{\"packet_hops\": [expr {$sent + 5*$acks}]$also, \"cpu_s\": $cpu, \"goodput_bps\": [expr {$acked*960*8.0/$P(dur)}]}"
    exit 0
}
$ns run
