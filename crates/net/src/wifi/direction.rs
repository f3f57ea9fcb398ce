//! One direction of a link on a channel: its block ACK agreement, its rates, its signal, and the content of its PPDUs.

use super::account::DirectionAccount;
use super::block_ack::{BlockAck, Mpdu};
use super::config::DirectionOptions;
use super::errors::error_probability;
use super::phy::{Phy, amsdu, appended};
use super::ppdu::{Ppdu, Room};
use super::rates::Rates;
use crate::ids::LinkId;
use crate::qdisc::scheduled::Waiting;
use crate::transmission::MpduResult;
use crate::turn::{Queues, Released};
use engine::Stream;
use units::Time;

/// The streams of random numbers of a direction.
#[derive(Clone, Debug)]
pub struct DirectionStreams {
    /// Of errors of MPDUs.
    pub errors: Stream,
    /// Of the samples of Minstrel.
    pub rates: Stream,
}

/// Where a direction is on its channel.
#[derive(Clone, Copy, Debug)]
pub struct DirectionPlace {
    /// Its link.
    pub link: LinkId,
    /// The place of its access category among those of the link.
    pub place: usize,
    /// The number of the device that transmits.
    pub device: u32,
    /// The number of its signal.
    pub signal: usize,
}

/// A direction: a link and what is between its queue and its far end.
#[derive(Clone, Debug)]
pub(crate) struct ChannelDirection {
    pub link: u32,
    /// The place of its access category among those of the link.
    pub place: usize,
    pub device: u32,
    pub station: u32,
    pub phy: Phy,
    /// The number of its signal on the channel.
    pub signal: usize,
    /// The SNR of the present PPDU, dB.
    snr: f64,
    errors: Option<f64>,
    /// Error probability by MCS: (bytes, probability) of the last size of an MPDU.
    memo: [(u32, f64); 12],
    rates: Rates,
    stream: Stream,
    pub block_ack: BlockAck,
    /// The packet that did not fit in the last PPDU.
    pub held: Option<Waiting>,
    pub account: DirectionAccount,
    /// The direction back: its airtime counts for this station too.
    pub back: Option<u32>,
}

impl ChannelDirection {
    /// A direction at a place on a channel, with its station of the device, whose MPDUs have so many attempts.
    pub fn new(
        place: DirectionPlace,
        station: u32,
        options: &DirectionOptions,
        phy: Phy,
        attempts: u32,
        streams: DirectionStreams,
    ) -> ChannelDirection {
        let DirectionPlace { link, place, device, signal } = place;
        ChannelDirection {
            link: link.0,
            place,
            device,
            station,
            rates: Rates::new(options.rate_control, &phy, streams.rates),
            block_ack: BlockAck::new(phy.window, attempts),
            phy,
            signal,
            snr: 0.0,
            errors: options.errors,
            memo: [(0, 0.0); 12],
            stream: streams.errors,
            held: None,
            account: DirectionAccount::default(),
            back: None,
        }
    }

    /// Whether it has something to send.
    pub fn has_data(&self, queues: &dyn Queues) -> bool {
        self.block_ack.has_retransmission() || self.has_new(queues)
    }

    /// Whether it has something to send that is within the block ACK window.
    pub fn is_ready(&self, queues: &dyn Queues) -> bool {
        self.block_ack.has_retransmission() || self.has_new(queues) && self.block_ack.has_room(None)
    }

    fn has_new(&self, queues: &dyn Queues) -> bool {
        self.held.is_some() || queues.waits(self.link, self.place)
    }

    /// The MCS of a PPDU that begins at `now`, with an SNR of `snr` dB.
    pub fn choose_rate(&mut self, now: Time, snr: f64) -> u8 {
        if snr != self.snr {
            (self.snr, self.memo) = (snr, [(0, 0.0); 12]);
        }
        self.rates.choose(now, &self.phy, snr)
    }

    /// The end of a PPDU at `end`: errors, repetitions, release. Returns how many MPDUs arrived; appends the result of each to
    /// `results`, if there is one.
    pub fn settle(
        &mut self,
        ppdu: Ppdu,
        alone: bool,
        end: Time,
        released: &mut Vec<(u32, Time, Released)>,
        mut results: Option<&mut Vec<MpduResult>>,
    ) -> u32 {
        let sent = ppdu.mpdus.len() as u32;
        let (errors, snr, mcs) = (self.errors, self.snr, ppdu.mcs);
        let (memo, stream) = (&mut self.memo, &mut self.stream);
        let mut packets = Vec::new();
        let good = self.block_ack.settle(
            ppdu.mpdus,
            |mpdu| {
                let arrived = alone && survives(memo, stream, errors, snr, mcs, mpdu.bytes);
                if let Some(results) = &mut results {
                    results.push(MpduResult {
                        number: mpdu.number,
                        attempt: mpdu.attempts,
                        bytes: mpdu.bytes,
                        packets: mpdu.packets(),
                        arrived,
                    });
                }
                arrived
            },
            &mut packets,
        );
        self.rates.report(ppdu.mcs, sent, good);
        self.account.failed += (sent - good) as u64;
        for packet in packets {
            self.account.given_up += u64::from(packet.lost.is_some());
            self.account.delivered += u64::from(packet.lost.is_none());
            released.push((self.link, end, packet));
        }
        good
    }

    /// The MPDUs of a PPDU that begins now and has this room, with their bytes and the number of packets that were not sent
    /// before.
    pub fn fill(&mut self, room: &Room, queues: &mut dyn Queues) -> (Vec<Mpdu>, u32, usize) {
        let mut mpdus: Vec<Mpdu> = Vec::new();
        let (mut bytes, mut fresh) = (0, 0);
        while (mpdus.len() as u32) < self.phy.window {
            let longer = |phy: &Phy, mpdu: u32| if phy.window == 1 { mpdu } else { appended(bytes, mpdu) };
            let compulsory = mpdus.is_empty() && room.first;
            let fits = |phy: &Phy, mpdu: u32| compulsory || room.fits(phy, longer(phy, mpdu));
            if let Some(repeated) = self.block_ack.first_retransmission() {
                if !fits(&self.phy, repeated.bytes) {
                    break;
                }
                bytes = longer(&self.phy, repeated.bytes);
                mpdus.extend(self.block_ack.take_retransmission());
                continue;
            }
            let oldest = mpdus.first().map(|mpdu| mpdu.number);
            if !self.block_ack.has_room(oldest) {
                break;
            }
            let Some(packet) = self.next_packet(queues) else { break };
            let mut size = self.phy.mpdu(packet.packet.size);
            if !fits(&self.phy, size) {
                self.held = Some(packet);
                break;
            }
            let mut others = Vec::new();
            let mut body = amsdu(0, packet.packet.size);
            while (others.len() as u32) + 1 < self.phy.amsdu
                && let Some(other) = self.next_packet(queues)
            {
                let larger = amsdu(body, other.packet.size);
                let mpdu = self.phy.amsdu_mpdu(larger);
                if mpdu > self.phy.longest_mpdu() || !room.fits(&self.phy, longer(&self.phy, mpdu)) {
                    self.held = Some(other);
                    break;
                }
                (body, size) = (larger, mpdu);
                others.push(other);
            }
            fresh += 1 + others.len();
            bytes = longer(&self.phy, size);
            mpdus.push(self.block_ack.number(packet, others, size));
        }
        (mpdus, bytes, fresh)
    }

    /// Takes the next packet that was not sent before.
    fn next_packet(&mut self, queues: &mut dyn Queues) -> Option<Waiting> {
        self.held.take().or_else(|| queues.next_of(self.link, self.place))
    }
}

/// Draws whether an MPDU of `bytes` bytes arrives, with error probability `errors`, or that of an MCS at an SNR.
fn survives(
    memo: &mut [(u32, f64); 12],
    stream: &mut Stream,
    errors: Option<f64>,
    snr: f64,
    mcs: u8,
    bytes: u32,
) -> bool {
    let p = errors.unwrap_or_else(|| {
        let memo = &mut memo[mcs as usize];
        if memo.0 != bytes {
            *memo = (bytes, error_probability(snr, mcs, bytes));
        }
        memo.1
    });
    // Below the resolution of a draw there are no errors.
    p < f64::EPSILON / 2.0 || stream.uniform() >= p
}
