# Into how many ticks of its clock (rtt_, tcpTick_ 10 ms) ns-2's TCP turns a constant round-trip time, without and
# with timestamps. Windows of one packet, so that there is no queue and every packet is timed.
# usage: ns rtt_clock.tcl > rtt_clock.csv
set rtts {2.592 8 12 14.9 16 20.064 20.864 23 29.5 37}   ;# ms
set seeds {500 1000 1500 2000 2500}   ;# far apart: the first draws of small seeds are all nearly zero
set packets 200
Agent/TCP set window_ 1
Agent/TCP set packetSize_ 1000
set ns [new Simulator]
set on_wire [expr {(1040 + 40) * 8 / 100e6}]   ;# a packet and its ACK at 100 Mb/s, s

foreach ms $rtts {
    set rtt [expr {$ms / 1000.0}]
    set a [$ns node]; set b [$ns node]
    $ns duplex-link $a $b 100Mb [expr {($rtt - $on_wire) / 2}] DropTail
    set place 0
    foreach stamps {0 1} { foreach seed $seeds {
        set tcp [new Agent/TCP/Reno]; set sink [new Agent/TCPSink]; set ftp [new Application/FTP]
        $tcp set timestamps_ $stamps
        $ns attach-agent $a $tcp; $ns attach-agent $b $sink; $ns connect $tcp $sink; $ftp attach-agent $tcp
        # Ten senders share the link, a tenth of a round trip apart: none waits for another.
        set start [expr {$rtt / 10 * $place}]; incr place
        # A reset draws the phase of the clock anew; the run's own has been at time zero, from whatever seed.
        $ns at $start "$defaultRNG seed $seed; $tcp reset; $ftp start"
        # Round trip 0 is the SYN's; in the middle of round trip i + 1 rtt_ is what packet i took.
        for {set i 1} {$i <= $packets} {incr i} {
            $ns at [expr {$start + ($i + 1.5) * $rtt}] "incr count($ms,$seed,$stamps,\[$tcp set rtt_\])"
        }
    } }
}
$ns at 10 {
    puts "rtt_ms,seed,timestamps,ticks,count"
    foreach row [lsort -dictionary [array names count]] { puts "$row,$count($row)" }
    exit 0
}
$ns run
