//! A client that may publish only questions changes no state of others (A6). Any stranger may be
//! such a client.

use std::time::Duration;

use tenure_core::End;
use tenure_core::allcall::{Ask, Body, Config, Event, Packet, Part, Round};

use crate::stage::{Stage, X, config, ms, name};

/// A question of a stranger, under the name of another participant.
fn forged(stage: &Stage, as_who: usize, round: u64) -> Packet {
    let mut header = stage.stranger("nobody", as_who as u64);
    header.sender = stage.who(as_who);
    header.rank = stage.nodes[as_who].core.rank();
    // No participant takes part in this election, so none answers.
    let elections = vec![name("elsewhere")];
    let part = Part { number: 0, of: 1 };
    Packet { header, body: Body::Ask(Ask { round: Round(round), part, elections }) }
}

/// A stranger publishes questions in the names of the participants, with high round numbers.
#[test]
fn forged_question_makes_no_call_late() {
    let mut stage = Stage::led(2);
    for beat in 0..120 {
        for (to, as_who) in [(0, 1), (1, 0)] {
            let packet = forged(&stage, as_who, u64::MAX - 1_000 + beat);
            stage.deliver(to, packet);
        }
        stage.pass(ms(500));
    }
    assert_eq!(stage.overlap(), Duration::ZERO);
}

/// Many strangers ask questions while the leader's clock steps. The leader still gets the answers
/// that show its wrong clock.
#[test]
fn forged_questions_displace_no_answers() {
    let mut stage = Stage::led(3);
    for slot in 0..600 {
        if slot == 150 {
            stage.nodes[0].ahead = 60_000;
        }
        for node in 0..3 {
            for asker in 0..32 {
                let mut header = stage.stranger(&format!("a{asker}"), 1);
                header.sender.incarnation = asker;
                let (round, elections) = (Round(slot + 1), vec![name(X)]);
                let body = Body::Ask(Ask { round, part: Part { number: 0, of: 1 }, elections });
                stage.deliver(node, Packet { header, body });
            }
        }
        stage.pass(ms(100));
    }
    assert_eq!(stage.overlap(), Duration::ZERO);
}

/// An observer with another heartbeat runs before the others start.
#[test]
fn observer_times_stop_no_newcomer() {
    let other = Config { heartbeat: ms(500), ..config(2) };
    let mut stage = Stage::with(vec![config(0), config(1), other]);
    stage.join(2);
    stage.observe(2, X);
    stage.pass(ms(15_000));
    [0, 1].into_iter().for_each(|node| stage.contend(node));
    stage.pass(ms(30_000));
    let refused = |event: &Event| matches!(event, Event::Ended(End::Refused { .. }));
    assert_eq!(stage.told(0, refused), 0);
    assert_eq!(stage.leaders(X), [0]);
}
