//! The properties of the made-up world that notice when a rule of Nerio is broken.

pub(super) const ONE_LEADER: &str = "Leader Uniqueness";
pub(super) const GRANTS: &str = "A claim stands on grants of a quorum";
pub(super) const VALIDITY: &str = "Edict Validity";
pub(super) const EDICTS: &str = "Edict Ordering";
pub(super) const TIMESTAMPS: &str = "Quorum timestamps order leaderships";
pub(super) const FENCES: &str = "Fences strictly grow and are unique";
pub(super) const LASTS: &str = "A grant lasts (1 + ρ)δ from the arrival of its request";
pub(super) const QUARANTINES: &str = "A quarantine lasts (1 + ρ) times the longest lease";
pub(super) const STARTS: &str = "A start waits for what it lacks";
pub(super) const NAMED: &str =
    "An answer names memories that are written down, and no earlier ones";
pub(super) const MEMORIES: &str = "A memory that begins is written down, and reads the latest ones";
pub(super) const FOUNDED: &str = "A cluster is founded by all, and when nobody leads or remembers";
pub(super) const ORDERED: &str = "An order is told once, to the leadership that it names";
pub(super) const ONE_BOUND: &str = "A grantor writes one bound on fences at a time";
pub(super) const ANNOUNCED: &str = "A leader announces its fence at once";
pub(super) const SERVES: &str = "Every grantor serves in the end";
pub(super) const SAID: &str = "A grantor that cannot write says so";
pub(super) const SAID_STARTING: &str =
    "A grantor that starts with its memory does not say that it lost it";
pub(super) const BOUNDED: &str = "Memory is bounded";
pub(super) const ASKS: &str = "A candidate asks for what it may";
pub(super) const NAMES: &str = "A name that two incarnations use at once is reported";
pub(super) const WAITS: &str = "Waiting requests are handled in the common order";
pub(super) const YIELDS: &str = "A candidate yields when it cannot win, and to somebody above it";
pub(super) const READS: &str = "A fence read is answered with all that was seen";
pub(super) const LAPSE: &str = "A fence ends with the lapse of its leadership";
pub(super) const ANSWERED: &str = "A verification is answered";
pub(super) const VERIFICATION: &str = "Verification never over-reports";
pub(super) const PROMISES: &str = "A release comes after the claim and after every promise";
pub(super) const OWN_RELEASE: &str = "A release never shortens somebody else's lease";
pub(super) const DURABLE: &str = "Nothing is visible before it is durable";
pub(super) const DEAD: &str = "No grant to the dead";
pub(super) const OBSERVERS: &str = "Observers see what is";
pub(super) const HEARD: &str = "An observer reports what it heard, no more and no less";
pub(super) const LEAVES: &str = "A leader that must not release yet is reported as leaving";
pub(super) const WAITING: &str = "What a candidate says it waits for is so";
pub(super) const STABILITY: &str = "Leader Stability";
pub(super) const ELECTION: &str = "Eventual Election";
pub(super) const SUCCESSION: &str = "Prompt succession";
