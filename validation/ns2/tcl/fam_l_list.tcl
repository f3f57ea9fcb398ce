# One flow over a link of 10 Mb/s and 10 ms that drops listed packets (positions of the data packets by arrival, from 0, the
# SYN included). sink=plain attaches Agent/TCPSink to the sender, which then gets no SACK blocks; sink=sack Agent/TCPSink/Sack1.
# log=<raw variable log>
source [file join [file dirname [info script]] nsw_lib.tcl]
nsw_args [concat [nsw_tcp_defaults] {tcp sack1 sink plain dur 50 drops "" log ""}]
nsw_apply
set ns [new Simulator]
set a [$ns node]; set b [$ns node]
$ns duplex-link $a $b 10Mb 10ms DropTail
$ns queue-limit $a $b 50; $ns queue-limit $b $a 50
set f [nsw_flow $ns $a $b $P(tcp) main]
if {$P(sink) == "plain"} {
  $ns detach-agent $b $F($f,sink)
  set F($f,sink) [new Agent/TCPSink]
  $ns attach-agent $b $F($f,sink)
  $ns connect $F($f,tcp) $F($f,sink)
}
set em [new ErrorModel/List]
if {$P(drops) != ""} { $em droplist [split $P(drops) ,] }
$em drop-target [new Agent/Null]
$ns lossmodel $em $a $b
nsw_start $ns $f 0.0
nsw_varlog $f $P(log)
$ns at 0.0 "nsw_sample $ns 0.01"
$ns at $P(dur) { nsw_report l_list $P(dur); exit 0 }
$ns run
