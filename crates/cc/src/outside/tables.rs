//! The interface of a controller as three tables: the events, the structs that they pass, and the answers. Made from
//! `controller.rs`, `events.rs`, `flow.rs` and `outside/derived.rs` by `make reference`; do not edit it.

/// Passes the events to the macro `$use`, after the tokens in brackets: the variant of [`crate::Event`], the method, and
/// `required` for a method that each controller defines.
#[doc(hidden)]
#[macro_export]
macro_rules! controller_events {
    ($use:ident $(, $($more:tt)*)?) => { $use! { [$($($more)*)?]
        /// Called before the first packet is sent.
        Open: fn on_open(&mut self, now: Time);
        /// Called when the handshake is complete (recovery `rack`, QUIC). A controller that takes over in the middle of a run gets
        /// it with the smallest round-trip time of the connection, after the window.
        Handshake: fn on_handshake(&mut self, event: &Handshake);
        /// Called with the measurements of an ACK before anything that follows from it: undo, end of recovery, reduction, and
        /// [`Controller::on_ack`] (only with [`Signals::SAMPLES`]). The modules of Linux process their samples here
        /// (`pkts_acked`). An ACK that arrives with nothing outstanding has none.
        Sample: fn on_sample(&mut self, sample: &Sample);
        /// Called for every ACK, also during recovery.
        Ack: fn on_ack(&mut self, ack: &Ack) -> required;
        /// Called for each segment that the sender marks as lost, before [`Controller::on_ack`] of the same ACK (only with
        /// [`Signals::LOSSES`]; recovery `rack`, QUIC).
        Lost: fn on_lost(&mut self, lost: &Lost);
        /// Called for each segment that an ACK newly reports as delivered, before [`Controller::on_ack`] of the same ACK
        /// (only with [`Signals::DELIVERIES`]; recovery `rack`, QUIC).
        Delivered: fn on_delivered(&mut self, delivered: &Delivered);
        /// Called at each transmission of a data segment, retransmissions included (only with [`Signals::SENT`]).
        Sent: fn on_sent(&mut self, sent: &Sent);
        /// Called on a loss or an ECN echo, at most once per window of data and cause: the window and the threshold must be
        /// reduced.
        Congestion: fn on_congestion(&mut self, event: &Congestion) -> required;
        /// Called at a retransmission timeout: the window restarts at one segment.
        Rto: fn on_rto(&mut self, event: &Timeout) -> required;
        /// Called when fast recovery ends, or when everything sent before an ECN echo reduced the window is acknowledged.
        RecoveryExit: fn on_recovery_exit(&mut self, now: Time);
        /// Called when the last reduction was spurious (recovery `rack`). The transport then restores the window and the
        /// threshold through [`Controller::set_window`] and [`Controller::set_ssthresh`].
        Undo: fn on_undo(&mut self, now: Time);
        /// Called when the connection was idle for longer than the retransmission timeout (RFC 5681 section 4.1): the window
        /// becomes that of the event, unless the controller defines the method (recovery `rack`).
        Restart: fn on_restart(&mut self, event: &Restart);
        /// Called before a transmission with nothing in flight (recovery `rack`, QUIC).
        TransmitStart: fn on_transmit_start(&mut self, event: &TransmitStart);
        /// Called at the time that [`Controller::wake_at`] returned.
        Timer: fn on_timer(&mut self, now: Time);
        /// Called with information from lower layers: hand-offs and router feedback.
        Hint: fn on_hint(&mut self, hint: &PathHint);
        /// Sets the window. The transport calls it when the connection opens, when a partial ACK deflates the window (RFC
        /// 6582), for every ACK of a proportional rate reduction (RFC 9937), when recovery ends, and when Tahoe restarts.
        SetWindow: fn set_window(&mut self, cwnd: Segments) -> required;
        /// Sets the slow-start threshold. The transport calls it when a reduction is undone and when the application did not
        /// use the window.
        SetSsthresh: fn set_ssthresh(&mut self, ssthresh: Segments) -> required;
    } };
}

/// Passes the structs to the macro `$use`: fields, then methods that compute a field outside Rust. Each has its type and its
/// names outside Rust: one, or for times that in seconds and that in picoseconds.
#[doc(hidden)]
#[macro_export]
macro_rules! event_structs {
    ($use:ident) => {
        $use! {
            /// The properties of a flow at the creation of its controller.
            FlowInfo {
                /// Payload of a segment, bytes. A rate is a window times this size over the round-trip time.
                packet: u32 => packet,
                /// The window before the first ACK, segments.
                initial_window: Segments => initial_window,
                /// Slow-start threshold at the start, segments; may be infinite.
                initial_ssthresh: Segments => initial_ssthresh,
                /// Upper bound of the window, segments; infinite for no bound.
                max_window: Segments => max_window,
                /// Whether the transport retransmits by the controller's fine-grained clock. The controller then inflates its own
                /// window by the duplicate ACKs.
                fine_clock: bool => fine_clock,
                /// An ECN echo reduces the window less than a loss does (RFC 8511).
                abe: bool => abe,
                /// A number that is derived from the run's seed and unique to the flow, for an algorithm with random numbers.
                seed: u64 => seed,
                /// Links of the path to the receiver; 0 if they are not known (satellites, radio, sockets, the kernel).
                hops: u32 => hops,
            } {
                /// The profile grows windows by the segments acknowledged and keeps them whole (linux); otherwise by ACKs (ns2).
                counts_segments(): bool => counts_segments,
                /// Reductions truncate the window.
                integer_windows(): bool => integer_windows,
                /// A repeated timeout of one segment reduces the threshold again (ns2).
                reduce_on_every_timeout(): bool => reduce_on_every_timeout,
                /// Where a controller has a variant of Linux and one of an RFC, the one that follows the profile is that of the RFC (QUIC).
                rfc_variants(): bool => rfc_variants,
            }
            /// The end of the handshake.
            Handshake {
                /// When.
                now: Time => now_s now_ps,
                /// Its round-trip time, none if its packets were sent again; for a controller that takes over, the smallest one of
                /// the connection.
                rtt: Option<Span> => rtt_s rtt_ps,
            } {
            }
            /// The measurements of one acknowledgement, before the sender draws conclusions from it.
            Sample {
                /// When the ACK arrived.
                now: Time => now_s now_ps,
                /// Segments that the cumulative ACK newly acknowledges; zero for a duplicate ACK.
                newly_acked: u32 => newly_acked,
                /// Segments that it newly reports as delivered, cumulatively or by SACK.
                newly_delivered: u32 => newly_delivered,
                /// Its round-trip sample; none if it gives none.
                rtt: Option<Span> => rtt_s rtt_ps,
                /// It carries an ECN echo.
                ece: bool => ece,
                /// Number of the highest segment acknowledged.
                acked_through: u64 => acked_through,
                /// Number of the next segment to send.
                next: u64 => next,
                /// Segments in flight, before this ACK marks segments as lost.
                in_flight: Segments => in_flight,
                /// The same before this ACK.
                prior_in_flight: Segments => prior_in_flight,
                /// Segments delivered since the newest segment that this ACK delivers was sent (only with [`Signals::RATE`]; recovery
                /// `rack`, QUIC).
                since_sent: Option<u64> => since_sent,
                /// Segments outstanding that were reported by SACK, with those of this ACK (recovery `rack`).
                sacked: u32 => sacked,
                /// The recovery phase before this ACK.
                phase: Phase => phase,
                /// Segments were reported or repeated before this ACK, without a reduction: the state Disorder of Linux
                /// (recovery `rack`).
                disorder: bool => disorder,
                /// Marked packets that it reports, as [`Ack::ce`].
                ce: u32 => ce,
            } {
            }
            /// One acknowledgement.
            Ack {
                /// When it arrived.
                now: Time => now_s now_ps,
                /// Number of segments that the cumulative ACK newly acknowledges; zero for a duplicate ACK.
                newly_acked: u32 => newly_acked,
                /// Number of segments that this ACK newly reports as delivered, cumulatively or by SACK. Recoveries without a
                /// scoreboard of segments (all but `rack`) count cumulative ACKs only.
                newly_delivered: u32 => newly_delivered,
                /// Number of segments that the sender marked as lost while it processed this ACK (recovery `rack`, QUIC).
                newly_lost: u32 => newly_lost,
                /// Number of segments delivered since the start, with this ACK (recovery `rack`, QUIC).
                delivered_total: u64 => delivered_total,
                /// Number of segments marked as lost since the start; a lost retransmission counts again (recovery `rack`, QUIC).
                lost_total: u64 => lost_total,
                /// Number of duplicate ACKs in a row: with this one, or before this one if it acknowledges new data.
                dupacks: u32 => dupacks,
                /// Number of the highest segment acknowledged.
                acked_through: u64 => acked_through,
                /// Number of the next segment to send.
                next: u64 => next,
                /// Segments in flight after this ACK, before the sender transmits in response: with a recovery that uses SACK
                /// the estimate of RFC 6675 ("pipe"), otherwise the segments outstanding.
                in_flight: Segments => in_flight,
                /// The same before this ACK.
                prior_in_flight: Segments => prior_in_flight,
                /// Round-trip sample from the newest segment acknowledged, without ambiguity from retransmissions (Karn's
                /// algorithm); none if this ACK gives no sample.
                rtt: Option<Span> => rtt_s rtt_ps,
                /// The receiver's timestamp of this ACK (only with [`Signals::RECEIVER_TIME`]).
                receiver_time: Option<Time> => receiver_time_s receiver_time_ps,
                /// The ACK carries an ECN echo (RFC 3168), or reports marked packets (`ce`).
                ece: bool => ece,
                /// The recovery phase before or after this ACK; `recovery` if the window must not grow.
                phase: Phase => phase,
                /// Whether the transport permits the window to grow on this ACK.
                may_grow: bool => may_grow,
                /// Whether the transport paces the packets of this flow.
                paced: bool => paced,
                /// Time until the pacer permits the next packet.
                pacing_wait: Span => pacing_wait_s pacing_wait_ps,
                /// Whether the window limited what the sender had in flight.
                window_limited: bool => window_limited,
            } {
                /// The delivery-rate sample (only with [`Signals::RATE`]): segments delivered in its interval.
                delivered(): Option<u64> => delivered,
                /// The longer of its sending and its acknowledging interval; none if it is shorter than the smallest round-trip
                /// time.
                interval(): Option<Span> => interval_s interval_ps,
                /// The application had too little data at some time in the interval.
                app_limited(): bool => app_limited,
                /// Segments delivered in total when the segment of the sample was sent.
                prior_delivered(): Option<u64> => prior_delivered,
                /// Segments in flight when that segment was sent, with it.
                tx_in_flight(): Option<u32> => tx_in_flight,
                /// Segments marked as lost since that segment was sent.
                lost(): Option<u64> => lost,
                /// The time in which the segments of the sample were sent.
                send_interval(): Option<Span> => send_interval_s send_interval_ps,
                /// The time in which they were acknowledged.
                ack_interval(): Option<Span> => ack_interval_s ack_interval_ps,
                /// The segment of the sample was sent more than once.
                retransmission(): bool => retransmission,
                /// Smoothed round-trip time of the retransmission timer (recovery `rack`, QUIC).
                srtt(): Option<Span> => srtt_s srtt_ps,
                /// Smallest round-trip time, with recovery `rack` of the last 300 s, over QUIC of the connection.
                min_rtt(): Option<Span> => min_rtt_s min_rtt_ps,
                /// Segments outstanding that were reported by SACK, or counted by duplicate ACKs (recovery `rack`).
                sacked(): u32 => sacked,
                /// Segments outstanding that are marked as lost (recovery `rack`).
                lost_out(): u32 => lost_out,
                /// Retransmissions in flight (recovery `rack`).
                retransmitted_out(): u32 => retransmitted_out,
                /// Segments delivered with an ECN mark since the start (recovery `rack`: segments that ACKs with an echo delivered;
                /// QUIC: the receiver's count).
                ce_total(): u64 => ce_total,
                /// Segments are reported or repeated, without a reduction: the state Disorder of Linux (recovery `rack`).
                disorder(): bool => disorder,
                /// Marked packets that the ACK reports: with accurate feedback the new CE packets of the receiver's counter (RFC 9768);
                /// otherwise the segments that an ACK with an echo newly delivers; over QUIC the new marks of the frame's count, at most
                /// `newly_delivered`.
                ce(): u32 => ce,
            }
            /// A congestion event: at most one per window of data and cause.
            Congestion {
                /// When.
                now: Time => now_s now_ps,
                /// Why.
                cause: Cause => cause,
                /// The window to be reduced, segments; the profile defines how it is counted.
                window: Segments => window,
                /// Segments in flight, counted as in [`Ack::in_flight`].
                in_flight: Segments => in_flight,
                /// When the lost segment was last sent.
                segment_sent: Option<Time> => segment_sent_s segment_sent_ps,
                /// Whether the lost segment had been retransmitted before.
                retransmitted: bool => retransmitted,
                /// Duplicate ACKs so far.
                dupacks: u32 => dupacks,
            } {
            }
            /// A segment that the sender has given up.
            Lost {
                /// When.
                now: Time => now_s now_ps,
                /// Number of the segment.
                seq: u64 => seq,
                /// Segments in flight when it was last sent, with it.
                tx_in_flight: u32 => tx_in_flight,
                /// Segments marked as lost since it was last sent, with it.
                lost: u64 => lost,
                /// Segments delivered since the start.
                delivered_total: u64 => delivered_total,
                /// The application had too little data when it was last sent.
                app_limited: bool => app_limited,
                /// The segment before it was not marked at the same time: it starts a run of lost segments.
                starts_range: bool => starts_range,
            } {
            }
            /// A segment that an ACK newly reports as delivered, cumulatively or by SACK.
            Delivered {
                /// When its ACK arrived.
                now: Time => now_s now_ps,
                /// Number of the segment; of QUIC of the packet.
                seq: u64 => seq,
                /// When it was last sent.
                sent: Time => sent_s sent_ps,
                /// The time since then. If the segment was sent again, the ACK can be that of an earlier transmission.
                rtt: Span => rtt_s rtt_ps,
            } {
            }
            /// A data segment that the sender has transmitted.
            Sent {
                /// When.
                now: Time => now_s now_ps,
                /// Number of the segment.
                seq: u64 => seq,
                /// Segments in flight, with it, counted as in [`Ack::in_flight`] (which leaves out tail loss probes).
                in_flight: u32 => in_flight,
                /// Whether it was sent before.
                retransmission: bool => retransmission,
            } {
            }
            /// A retransmission timeout with data outstanding.
            Timeout {
                /// When.
                now: Time => now_s now_ps,
                /// The window that was in use, segments.
                window: Segments => window,
                /// The same segment timed out before, and nothing was acknowledged since.
                repeated: bool => repeated,
            } {
            }
            /// The first transmission after an idle period.
            Restart {
                /// When.
                now: Time => now_s now_ps,
                /// Time since the last transmission.
                idle: Span => idle_s idle_ps,
                /// The window that the transport profile sets, segments.
                window: Segments => window,
            } {
            }
            /// The first transmission after all data in flight was acknowledged.
            TransmitStart {
                /// When.
                now: Time => now_s now_ps,
                /// Time since the last transmission.
                idle: Span => idle_s idle_ps,
                /// Whether the application had too little to send before it.
                app_limited: bool => app_limited,
            } {
            }
            /// Information from lower layers.
            PathHint {
                /// When.
                now: Time => now_s now_ps,
                /// What.
                kind: Hint => kind,
            } {
                /// Of `router_rate` the rate in bits per second, of `router_feedback` the change in bytes per second.
                value(): Option<f64> => value,
            }
        }
    };
}

/// Passes the answers to the macro `$use`, after the tokens in brackets: first those that a controller defines, then those with
/// a default. An answer has its type and its name outside Rust.
#[doc(hidden)]
#[macro_export]
macro_rules! controller_answers {
    ($use:ident $(, $($more:tt)*)?) => { $use! { [$($($more)*)?]
        {
            /// The congestion window, segments, at least 1; the fractional part is kept.
            cwnd: Segments => cwnd,
            /// The slow-start threshold, segments, at least 1; infinite until set.
            ssthresh: Segments => ssthresh,
        }
        {
            /// The pacing rate of the payload ([`FlowInfo::packet`]), bits per second; with [`Signals::ROUTER_RATE`] that of
            /// whole packets. None if ACKs clock the packets.
            pacing: Option<Rate> = None => pacing_bps,
            /// The segments that the pacer releases at once (draft-ietf-ccwg-bbr: C.send_quantum), at least one. The option
            /// `gso_max_segs` limits it; QUIC sends one by one.
            send_quantum: u32 = 1 => send_quantum,
            /// The time of the next call of [`Controller::on_timer`], in the future; never if there is none.
            wake_at: Time = Time::NEVER => wake_at_s,
            /// The age at which the first unacknowledged segment is lost if a duplicate ACK arrives (Vegas).
            fine_timeout: Option<Span> = None => fine_timeout_s,
            /// How the transport responds to an ECN echo: `reduce` (as to a loss, RFC 3168), `confirm` (the controller
            /// processes [`Ack::ece`]; CWR is sent once per window), `ignore` (the same without CWR).
            ecn_response: EcnResponse = EcnResponse::Reduce => ecn_response,
            /// Whether the controller sets its window also in recovery: then the transport does not reduce it ACK by ACK,
            /// restart it after an idle time or shrink it when it is unused (recovery `rack`, QUIC).
            owns_window: bool = false => owns_window,
            /// Whether rate samples must count as limited by the application now; read after every ACK (recovery `rack`,
            /// QUIC).
            limits_application: bool = false => limits_application,
            /// Whether the transport must begin a reduction now, as after an ECN echo, but for the cause `controller`; read after
            /// every ACK, and without effect during a reduction (recovery `rack`, QUIC). Linux: `tcp_enter_cwr`.
            reduce_now: bool = false => reduce_now,
        }
    } };
}
