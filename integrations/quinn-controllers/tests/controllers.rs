//! Every controller of Ackclock either transfers data or is refused with a reason.

mod network;

use ackclock_cc::Controller as _;
use ackclock_quinn_controllers::{CONTROLLERS, Controller, Factory, ParamValue, Refused};
use network::run;
use std::sync::Arc;

/// Those that set a pacing rate, which quinn does not use.
const UNPACED: [&str; 7] = ["bbr", "bbr3", "c4", "copa", "vivace", "swift", "timely"];
/// Those that need what quinn does not give, and a word of the reason.
const REFUSED: [(&str, &str); 7] = [
    ("dctcp", "ECN mark"),
    ("prague", "ECN mark"),
    ("sarbe", "receiver's clock"),
    ("lp", "receiver's clock"),
    ("ledbat", "receiver's clock"),
    ("rcp", "routers grant"),
    ("xcp", "feedback of routers"),
];

#[test]
fn every_controller_transfers_data_or_is_refused() {
    let mut as_they_are = Vec::new();
    for registration in CONTROLLERS {
        let name = registration.descriptor.name;
        let expected = REFUSED.iter().find(|(refused, _)| *refused == name);
        let factory = match (Factory::new(name), expected) {
            (Ok(factory), None) => factory,
            (Err(Refused::Needs { reason, .. }), Some((_, word))) => {
                assert!(reason.contains(word) && !reason.contains('\n'), "{name} {reason}");
                continue;
            }
            (other, _) => panic!("{name}: {other:?}"),
        };
        assert_eq!(factory.is_unpaced(), UNPACED.contains(&name), "{name}");
        assert_eq!(factory.lacks().len(), factory.is_unpaced() as usize, "{name}: {:?}", factory.lacks());
        if !factory.is_unpaced() {
            as_they_are.push(name);
        }
        let measured = run(Arc::new(factory), 1, &[], Some(500_000)).unwrap();
        assert!(measured.finished, "{name}: {:.2} Mb/s", measured.goodput);
        let controller = measured.controller.into_any().downcast::<Controller>().unwrap();
        assert_eq!(controller.inspect(|controller| controller.name().to_string()), name);
        assert!(controller.inspect(|controller| controller.cwnd()) >= 1.0, "{name}");
    }
    println!("{} as they are: {}", as_they_are.len(), as_they_are.join(", "));
    assert_eq!((as_they_are.len(), CONTROLLERS.len()), (22, 36));
}

#[test]
fn parameters_decide_what_a_controller_needs() {
    let word = |word: &str| ParamValue::Word(word.into());
    assert!(!Factory::with("ledbat", [("delay", word("rtt"))]).unwrap().is_unpaced());
    let vegas = Factory::with("vegas", [("variant", word("brakmo"))]).unwrap();
    assert_eq!(vegas.lacks(), ["does not retransmit by its own clock: quinn alone detects losses"]);
}

#[test]
fn a_trained_policy_needs_a_timer() {
    let refused = Factory::registered(&ackclock_policy::REGISTRATION, []).unwrap_err();
    assert_eq!(refused.to_string(), "policy needs a timer, which quinn does not have for controllers");
}

#[test]
fn refusals_are_one_line() {
    let message = |result: Result<Factory, Refused>| result.unwrap_err().to_string();
    assert!(message(Factory::new("renno")).starts_with("there is no controller renno; known: reno, vegas, "));
    let number = ParamValue::Number;
    assert_eq!(message(Factory::with("cubic", [("bata", number(0.5))])), "cubic has no parameter bata");
    let beta = message(Factory::with("cubic", [("beta", number(2.0))]));
    assert_eq!(beta, "cubic: beta: 2 is not between 0.1 and 0.99");
    let dctcp = message(Factory::new("dctcp"));
    assert!(dctcp.starts_with("dctcp needs the number of packets with an ECN mark"), "{dctcp}");
}
