//! One stream of zeros.

use quinn_proto::{RecvStream, SendStream};

/// What the source writes.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// Writes as much as the stack takes of what is `unwritten`.
pub fn write(stream: &mut SendStream<'_>, unwritten: &mut u64) {
    while let size @ 1.. = (*unwritten).min(ZEROS.len() as u64) as usize
        && let Ok(bytes) = stream.write(&ZEROS[..size])
    {
        *unwritten -= bytes as u64;
    }
    if *unwritten == 0 {
        // It fails if the stream has ended before.
        let _ = stream.finish();
    }
}

/// Reads what has arrived in order. Returns whether the stream ends there.
pub fn read(stream: &mut RecvStream<'_>, delivered: &mut u64) -> bool {
    let Ok(mut chunks) = stream.read(true) else { return false };
    let ended = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => *delivered += chunk.bytes.len() as u64,
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    // Its result is whether there is something to transmit; the caller transmits in any case.
    let _ = chunks.finalize();
    ended
}
