# Family s: TCP flows between two terminals over Iridium, built by formula (docs/specs/iridium.md).
# usage: ns fam_s_sat.tcl key=value ...; bare=1 removes the packet headers that are not needed (measurements of speed); ONE Simulator per process: TCP/Linux keeps global state.
# Prints one JSON line at the end. trace=FILE writes every packet event of the satellite links (a FIFO will do).
array set P {
  cc linux:bic  n 3  dur 300  start 1.0  seed 1
  lat1 37.9 lon1 -122.3  lat2 42.3 lon2 -71.1
  bare 0 scheduler Calendar
  up 1.5Mb down 1.5Mb isl 25Mb  qlen 50  pkt 1448 win 30000  trace none
}
foreach a $argv { set i [string first = $a]; set k [string range $a 0 [expr $i-1]]
  if {$i < 1 || ![info exists P($k)]} { puts stderr "bad argument $a"; exit 2 }
  set P($k) [string range $a [expr $i+1] end] }

if {$P(bare)} { remove-all-packet-headers; add-packet-header IP TCP Flags LL Mac Sat }
set ns [new Simulator]
if {$P(scheduler) != "Calendar"} { $ns use-scheduler $P(scheduler) }
HandoffManager/Term set elevation_mask_ 8.2
HandoffManager/Term set term_handoff_int_ 10
HandoffManager/Sat set sat_handoff_int_ 10
HandoffManager/Sat set latitude_threshold_ 60
HandoffManager/Sat set longitude_threshold_ 10
HandoffManager set handoff_randomization_ 0
SatRouteObject set metric_delay_ true
SatRouteObject set data_driven_computation_ 0
ns-random $P(seed)
Agent set ttl_ 32
if {$P(trace) != "none"} { set tf [open $P(trace) w]; $ns trace-all $tf }
$ns node-config -satNodeType polar -llType LL/Sat -ifqType Queue/DropTail -ifqLen $P(qlen) \
  -macType Mac/Sat -phyType Phy/Sat -channelType Channel/Sat -downlinkBW $P(down) -wiredRouting OFF
# Six planes of eleven; odd planes are half a place ahead; angles in hundredths of a degree.
for {set p 0} {$p < 6} {incr p} {
  for {set k 0} {$k < 11} {incr k} {
    set s($p,$k) [$ns node]
    set al [format %.2f [expr 360.0*$k/11 + ($p%2 ? 180.0/11 : 0)]]
    $s($p,$k) set-position 780 86.4 [format %.1f [expr 31.6*$p]] $al [expr $p+1]
  }
  for {set k 0} {$k < 11} {incr k} { $s($p,$k) set_next $s($p,[expr ($k+10)%11]) }
}
foreach p {0 1 2 3 4 5} { for {set k 0} {$k < 11} {incr k} {
  $ns add-isl intraplane $s($p,$k) $s($p,[expr ($k+1)%11]) $P(isl) Queue/DropTail $P(qlen) } }
foreach p {0 1 2 3 4} { for {set k 0} {$k < 11} {incr k} {
  $ns add-isl interplane $s($p,$k) $s([expr $p+1],$k) $P(isl) Queue/DropTail $P(qlen) } }
$ns node-config -satNodeType terminal
set tA [$ns node]; $tA set-position $P(lat1) $P(lon1)
set tB [$ns node]; $tB set-position $P(lat2) $P(lon2)
foreach t [list $tA $tB] {
  $t add-gsl polar LL/Sat Queue/DropTail $P(qlen) Mac/Sat $P(up) Phy/Sat \
    [$s(0,0) set downlink_] [$s(0,0) set uplink_] }
if {$P(trace) != "none"} { $ns trace-all-satlinks $tf }
[new SatRouteObject] compute_routes

for {set f 0} {$f < $P(n)} {incr f} {
  set linux [string match linux:* $P(cc)]
  set tcp($f) [new Agent/TCP/[expr {$linux ? "Linux" : $P(cc)}]]
  set sink($f) [new Agent/TCPSink/Sack1]
  $tcp($f) set fid_ [expr $f+1]
  $tcp($f) set packetSize_ $P(pkt); $tcp($f) set window_ $P(win)
  $tcp($f) set timestamps_ true; $sink($f) set ts_echo_rfc1323_ true
  $ns attach-agent $tA $tcp($f); $ns attach-agent $tB $sink($f); $ns connect $tcp($f) $sink($f)
  set ftp($f) [new Application/FTP]; $ftp($f) attach-agent $tcp($f)
  if {$linux} { $ns at 0 "$tcp($f) select_ca [string range $P(cc) 6 end]" }
  $ns at $P(start) "$ftp($f) start"
}
$ns at $P(dur) {
  if {$P(trace) != "none"} { $ns flush-trace; close $tf }
  set flows {}
  for {set f 0} {$f < $P(n)} {incr f} {
    lappend flows [format {{"acked_pkts": %d, "data_pkts": %d, "rtx_pkts": %d, "cuts": %d}} \
      [$tcp($f) set ack_] [$tcp($f) set ndatapack_] [$tcp($f) set nrexmitpack_] [$tcp($f) set ncwndcuts_]]
  }
  puts "{\"family\": \"s_sat\", \"flows\": \[[join $flows {, }]\]}"
  exit 0
}
$ns run
