# RED at a bottleneck: n flows, 10 ms access links of 100 Mb/s, ns-2's own time mean of the queue.
source [file join [file dirname [info script]] nsw_lib.tcl]
nsw_args [concat [nsw_tcp_defaults] {kinds newreno n 4 bw 2.5 delay 40.0 limit 50 dur 100 seed 1 start 0.1
  minth 5 maxth 15 linterm 10 wq 0.002 gentle 1 wait 1 qib 0 mps 1000 adaptive 0}]
nsw_apply
Queue/RED set thresh_ $P(minth); Queue/RED set maxthresh_ $P(maxth); Queue/RED set linterm_ $P(linterm)
Queue/RED set q_weight_ $P(wq); Queue/RED set gentle_ $P(gentle); Queue/RED set wait_ $P(wait)
Queue/RED set queue_in_bytes_ $P(qib); Queue/RED set bytes_ $P(qib)
Queue/RED set mean_pktsize_ $P(mps); Queue/RED set adaptive_ $P(adaptive); Queue/RED set setbit_ $P(ecn)
set ns [new Simulator]; nsw_seed $P(seed)
set r1 [$ns node]; set r2 [$ns node]
$ns duplex-link $r1 $r2 $P(bw)Mb $P(delay)ms RED
$ns queue-limit $r1 $r2 $P(limit); $ns queue-limit $r2 $r1 1000
for {set j 0} {$j < $P(n)} {incr j} {
  set s [$ns node]; set d [$ns node]
  $ns duplex-link $s $r1 100Mb 1ms DropTail; $ns duplex-link $r2 $d 100Mb 1ms DropTail
  foreach {a b} [list $s $r1 $r1 $s $r2 $d $d $r2] { $ns queue-limit $a $b 10000 }
  set f [nsw_flow $ns $s $d $P(kinds) f$j]
  nsw_start $ns $f [expr {$j*$P(start)}]
}
nsw_qmon $ns $r1 $r2 bneck
set integ [$QM(bneck) get-pkts-integrator]
$ns at 0.0 "nsw_sample $ns 1.0"
$ns at $P(dur) {
  set EXTRA(mean_queue) [expr {[$integ set sum_]/$P(dur)}]
  nsw_report r_red $P(dur); exit 0
}
$ns run
