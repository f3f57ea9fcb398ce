//! The options of cells and of their links.

use crate::signal::{Schedule, Variation, steps};
use crate::transmitter::Steps;
use params::Form::{Bytes, Integer, List, Number, OrSteps, Quantity, Range, Text, Word};
use params::Mistake;
use params::Unit::Time as Seconds;
use units::{Rate, Span, Time};

params::options! {
    /// A cell of a mobile network.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CellOptions {
        name: String = Text, [""], "name for `medium` of links";
        station: String = Text, [""], "node of the base station";
        kind: &'static str = Word(&["lte", "nr"]), ["\"lte\""], "LTE (4G) or NR (5G)";
        width: Option<&'static str> = Word(&["1.4MHz", "3MHz", "5MHz", "10MHz", "15MHz", "20MHz", "40MHz", "50MHz", "60MHz", "80MHz", "100MHz", "200MHz", "400MHz"]),
            ["by `blocks`"], "width of the channel, in place of `blocks`";
        blocks: Option<Schedule<u32>> = OrSteps(&Integer(6, 275), "[[\"0s\", 50], [\"10s\", 100]]"), ["50"],
            "resource blocks: a number, or times with the number from there on, such as carriers that are added";
        mu: u32 = Integer(0, 3), ["1"], "NR: a slot lasts 1 ms / 2^mu; 0, 1 or 3";
        tdd: Option<String> = Text, ["none: both directions at all times"],
            "NR: the slots in order, such as \"DDDSU\": downlink, uplink, S is downlink with 10 of 14 symbols";
        scheduler: &'static str = Word(&["proportional_fair", "round_robin", "max_ci"]), ["\"proportional_fair\""],
            "which user a slot serves first: the largest rate over its average rate, in turns, or the largest rate";
        pf_window: f64 = Number(1.0, 1e6), ["100"], "slots over which the average rate of a user is taken";
        idle: &'static str = Word(&["freeze", "decay"]), ["\"freeze\""],
            "the average rate of a user without data stays, or decays";
        bler_target: f64 = Number(0.0, 0.9), ["0.1"],
            "part of the blocks whose first attempt fails: the MCS is chosen for it; 0: by the reported signal alone";
        harq_rtt: u64 = Integer(1, 64), ["8"], "slots from an attempt to the next one";
        attempts: u32 = Integer(1, 8), ["4"], "attempts of a transport block";
        rlc: &'static str = Word(&["am", "um"]), ["\"am\""],
            "after the last attempt: sent again, or lost";
        rlc_delay: Option<Span> = Range(Seconds, "30ms", "0s", "1s"), ["30ms; um: 35ms"],
            "time until then; um: until packets behind a lost one are released";
        cqi_period: Span = Range(Seconds, "5ms", "0s", "1s"), ["\"5ms\""], "interval of reports of the signal";
        cqi_delay: Span = Range(Seconds, "4ms", "0s", "1s"), ["\"4ms\""], "time until a report is used";
        cqi_map: &'static str = Word(&["awgn", "gap"]), ["\"awgn\""],
            "what is reported at an SNR: the rate with a tenth of errors, or that of a gap to capacity of 7.4 dB (ns-3)";
        table: Option<&'static str> = Word(&["64qam", "256qam"]), ["64qam; NR: 256qam"], "highest modulation";
        sr_period: Span = Range(Seconds, "10ms", "1us", "1s"), ["\"10ms\""],
            "interval of the scheduling requests of a terminal";
        first_grant: u64 = Bytes(1, 10_000), ["\"100B\""], "bytes that are granted for a scheduling request";
        decode: Span = Range(Seconds, "3ms", "0s", "1s"), ["\"3ms\""],
            "time from a request or a buffer report to the grant";
        prepare: Span = Range(Seconds, "3ms", "0s", "1s"), ["\"3ms\""], "time from a grant to its transmission";
    }
}

params::options! {
    /// Discontinuous reception: a terminal that sleeps between on-durations.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Drx {
        cycle: Span = Range(Seconds, "320ms", "1ms", "100s"), ["\"320ms\""], "interval of on-durations";
        on: Span = Range(Seconds, "10ms", "0s", "100s"), ["\"10ms\""], "an on-duration";
        inactivity: Span = Range(Seconds, "100ms", "0s", "100s"), ["\"100ms\""],
            "time after the last packet for which the terminal stays awake";
    }
}

params::options! {
    /// Handovers to another cell.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Handover {
        at: Vec<Span> = List(&Quantity(Seconds, "20s"), "[\"20s\"]"), [""], "their times";
        interruption: Span = Range(Seconds, "40ms", "0s", "10s"), ["\"40ms\""], "time without transmission";
        forwarding: Span = Range(Seconds, "10ms", "0s", "10s"), ["\"10ms\""],
            "additional delay of packets that arrive in the meantime over the old cell";
        mode: &'static str = Word(&["lossless", "seamless"]), ["\"lossless\""],
            "waiting packets go to the new cell, or are lost";
    }
}

params::options! {
    /// One direction of a link of a cell.
    #[derive(Clone, Debug, PartialEq)]
    pub struct UserOptions {
        medium: Option<String> = Text, ["in `back` that of the link"], "name of the `[[cell]]`";
        snr: Schedule<f64> = OrSteps(&Number(-50.0, 80.0), "[[\"0s\", 20], [\"10s\", 5]]"), ["15"],
            "mean signal-to-noise ratio at the receiver, dB: a number, or times with the number from there on";
        layers: u32 = Integer(1, 8), ["1"], "spatial layers";
        mcs: Option<u8> = Integer(0, 28), ["by the reported signal"], "the MCS of all blocks";
    }
    with {
        /// How the signal varies around its mean.
        variation: Variation = |_| Variation::default();
        /// Discontinuous reception of the terminal.
        drx: Option<Drx> = |_| None;
        /// Handovers of the terminal.
        handover: Option<Handover> = |_| None;
        /// Its rate with the cell to itself at the mean SNR; for descriptions.
        alone: Rate = |_| Rate::from_bps(0);
    }
}

/// Channel widths of LTE in MHz, with their resource blocks.
const LTE_WIDTHS: [(&str, u32); 6] =
    [("1.4MHz", 6), ("3MHz", 15), ("5MHz", 25), ("10MHz", 50), ("15MHz", 75), ("20MHz", 100)];
/// Channel widths of NR by mu (3GPP TS 38.101).
const NR_WIDTHS: [(u32, &str, u32); 10] = [
    (0, "20MHz", 106),
    (1, "20MHz", 51),
    (1, "40MHz", 106),
    (1, "60MHz", 162),
    (1, "80MHz", 217),
    (1, "100MHz", 273),
    (3, "50MHz", 32),
    (3, "100MHz", 66),
    (3, "200MHz", 132),
    (3, "400MHz", 264),
];

/// Symbols for data of a slot, and of a special slot's downlink.
const SYMBOLS: u32 = 12;
const SPECIAL_SYMBOLS: u32 = 8;

impl CellOptions {
    /// Whether it is a cell of NR.
    pub fn is_nr(&self) -> bool {
        self.kind == "nr"
    }

    /// Whether its highest modulation is 256-QAM.
    pub fn has_256qam(&self) -> bool {
        self.table.map_or(self.is_nr(), |table| table == "256qam")
    }

    /// The highest modulation and coding scheme.
    pub fn highest_mcs(&self) -> u8 {
        if self.has_256qam() { 27 } else { 28 }
    }

    /// The duration of a slot.
    pub fn slot(&self) -> Span {
        Span::from_ps(Span::from_ms(1).ps() >> if self.is_nr() { self.mu } else { 0 })
    }

    /// The resource blocks over time. Fails if the keys do not go together.
    pub fn resource_blocks(&self) -> Result<Steps<u32>, Mistake> {
        let Some(width) = self.width else {
            let steps = steps("blocks", self.blocks.as_deref().unwrap_or(&[(Span::ZERO, 50)]))?;
            return match steps.steps.iter().find(|(_, blocks)| !self.is_nr() && *blocks > 110) {
                Some((_, blocks)) => Err(("blocks", format!("LTE has at most 110, not {blocks}"))),
                None => Ok(steps),
            };
        };
        let widths: Vec<(&str, u32)> = match self.is_nr() {
            true => NR_WIDTHS.iter().filter(|row| row.0 == self.mu).map(|row| (row.1, row.2)).collect(),
            false => LTE_WIDTHS.to_vec(),
        };
        match widths.iter().find(|(name, _)| *name == width) {
            Some((_, blocks)) => Ok(Steps { steps: vec![(Time::ZERO, *blocks)], period: Span::ZERO }),
            None => {
                let names: Vec<&str> = widths.iter().map(|(name, _)| *name).collect();
                Err(("width", format!("there is no {width} here; there are {}", names.join(", "))))
            }
        }
    }

    /// Of the slots of a period, the symbols for data down and up.
    pub fn pattern(&self) -> Result<Vec<[u32; 2]>, Mistake> {
        let Some(tdd) = &self.tdd else { return Ok(vec![[SYMBOLS, SYMBOLS]]) };
        let slot = |letter| match letter {
            'D' => Some([SYMBOLS, 0]),
            'S' => Some([SPECIAL_SYMBOLS, 0]),
            'U' => Some([0, SYMBOLS]),
            _ => None,
        };
        let slots: Option<Vec<[u32; 2]>> = tdd.chars().map(slot).collect();
        let has =
            |channel: usize| slots.as_ref().is_some_and(|slots| slots.iter().any(|slot| slot[channel] > 0));
        if tdd.len() <= 80 && has(0) && has(1) {
            return Ok(slots.unwrap_or_default());
        }
        Err(("tdd", "must be up to 80 letters D, S and U, with a D or S and a U, such as \"DDDSU\"".into()))
    }

    /// Checks that the keys go together; `written` says which are in the file.
    pub fn check(&self, written: impl Fn(&str) -> bool) -> Result<(), Mistake> {
        if let Some(key) = ["mu", "tdd"].into_iter().find(|key| !self.is_nr() && written(key)) {
            return Err((key, "is for kind = \"nr\" alone; leave it out".into()));
        }
        if self.mu == 2 {
            return Err(("mu", "must be 0, 1 or 3".into()));
        }
        if !self.is_nr() && self.has_256qam() {
            return Err(("table", "LTE has \"64qam\" here".into()));
        }
        if written("width") && written("blocks") {
            return Err(("blocks", "is there beside width; leave one of them out".into()));
        }
        if let Some(key) = ["pf_window", "idle"]
            .into_iter()
            .find(|key| self.scheduler != "proportional_fair" && written(key))
        {
            return Err((key, "is for scheduler = \"proportional_fair\" alone; leave it out".into()));
        }
        self.resource_blocks()?;
        self.pattern().map(|_| ())
    }

    /// Time after the last attempt: until a block is sent again, or until packets behind a lost one are released.
    pub fn recovery_delay(&self) -> Span {
        self.rlc_delay.unwrap_or(Span::from_ms(if self.rlc == "um" { 35 } else { 30 }))
    }
}

impl UserOptions {
    /// Checks the values for a cell.
    pub fn check(&self, cell: &CellOptions) -> Result<(), Mistake> {
        steps("snr", &self.snr)?;
        if let Some(mcs) = self.mcs.filter(|mcs| *mcs > cell.highest_mcs()) {
            return Err((
                "mcs",
                format!("there is no MCS {mcs} here; the highest is {}", cell.highest_mcs()),
            ));
        }
        if !cell.is_nr() && self.layers > 4 {
            return Err(("layers", "LTE has at most 4".into()));
        }
        if let Some(handover) = &self.handover {
            let ordered = handover.at.windows(2).all(|two| two[0] + handover.interruption <= two[1]);
            if handover.at.is_empty() || !ordered {
                let message = "its times must increase by at least an interruption, and there must be one";
                return Err(("handover", message.into()));
            }
        }
        if self.drx.as_ref().is_some_and(|drx| drx.on > drx.cycle) {
            return Err(("drx", "an on-duration must not be longer than the cycle".into()));
        }
        Ok(())
    }

    /// The mean SNR over time.
    pub fn mean_snr(&self) -> Steps<f64> {
        steps("snr", &self.snr).unwrap_or_else(|(_, message)| panic!("snr was checked: {message}"))
    }
}
