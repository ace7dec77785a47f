//! Directives of a script. `legend.md` describes each of them to its readers.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use tenure_core::NodeName;

use super::cast::KINDS;
use super::network::{Link, Mishap, Trap};

/// A line of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Directive {
    pub(super) deed: Deed,
    /// Only events are recorded, and how much went on besides.
    pub(super) quietly: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Deed {
    /// Begins the story with these settings.
    Cluster(Words),
    Start {
        nodes: Vec<String>,
        like: Character,
    },
    Campaign {
        node: String,
        priority: u8,
    },
    Resign {
        node: String,
    },
    Transfer {
        node: String,
        to: NodeName,
    },
    Verify {
        node: String,
        leader: String,
    },
    Observe {
        node: String,
        every: Duration,
    },
    Run(Duration),
    Deliver,
    Delay(Link, Duration),
    Cut(Link),
    Heal,
    Trap(Trap),
    Arrive,
    Crash {
        node: String,
    },
    Restart {
        node: String,
        from: Restart,
    },
    Disk {
        node: String,
        works: bool,
    },
    Standing,
}

/// How a node differs from others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Character {
    /// The name it goes by; its own when there is none.
    pub(super) name: Option<NodeName>,
    /// How fast its clock runs, in parts per billion of true time.
    pub(super) rate: u64,
}

/// State that a restarted node finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Restart {
    /// Its directory and its clock: only the process ended.
    SameBoot,
    /// Its directory, and a clock that began anew.
    OtherBoot,
    /// An empty directory.
    LostDisk,
}

/// The form of each directive, for errors.
const FORMS: [&str; 18] = [
    "cluster members=a,b,c [lease=2400ms] [drift=0.1] [refresh=100ms] [promise=SPAN] [delay=1ms]",
    "start NODE... [name=NAME] [rate=1.1]",
    "campaign NODE [priority=N]",
    "resign NODE",
    "transfer NODE to=NAME",
    "observe NODE every=SPAN",
    "verify NODE leader=NODE",
    "run SPAN",
    "deliver",
    "delay LINK SPAN",
    "cut LINK",
    "heal",
    "lose|hold|repeat KIND NODE>NODE",
    "arrive",
    "crash NODE",
    "restart NODE [same-boot|other-boot|lost-disk]",
    "disk NODE fails|works",
    "standing",
];

/// The form of the directive with this verb.
fn form(verb: &str) -> Option<&'static str> {
    let is_it = |form: &&str| form.split(' ').next().unwrap().split('|').any(|v| v == verb);
    FORMS.into_iter().find(is_it)
}

/// An error in a directive, with its form.
pub(super) fn explain(verb: &str, what: &str) -> String {
    format!("{what}; the form is: {}", form(verb).unwrap_or_default())
}

impl Directive {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut words = Words::split(text)?;
        let quietly = words.plain.last().is_some_and(|word| word == "quietly");
        if quietly {
            words.plain.pop();
        }
        if words.plain.is_empty() {
            return Err("there is no directive".into());
        }
        let verb = words.plain.remove(0);
        if form(&verb).is_none() {
            let forms = FORMS.join("\n  ");
            return Err(format!("there is no directive `{verb}`; there are:\n  {forms}"));
        }
        let deed = deed(&verb, &mut words)
            .and_then(|deed| words.finish().map(|()| deed))
            .map_err(|what| explain(&verb, &what))?;
        Ok(Self { deed, quietly })
    }
}

fn deed(verb: &str, words: &mut Words) -> Result<Deed, String> {
    Ok(match verb {
        "cluster" => Deed::Cluster(std::mem::take(words)),
        "start" => {
            let name = words.option("name")?;
            let rate = words.option::<Rate>("rate")?.map_or(BILLION, |Rate(rate)| rate);
            let nodes = words.rest("a node")?;
            if name.is_some() && nodes.len() > 1 {
                return Err("one name is for one node".into());
            }
            Deed::Start { nodes, like: Character { name, rate } }
        }
        "campaign" => {
            let priority = words.option("priority")?.unwrap_or(0);
            Deed::Campaign { node: words.next("a node")?, priority }
        }
        "resign" => Deed::Resign { node: words.next("a node")? },
        "transfer" => Deed::Transfer { node: words.next("a node")?, to: words.must("to")? },
        "observe" => {
            let Span(every) = words.must("every")?;
            Deed::Observe { node: words.next("a node")?, every }
        }
        "verify" => Deed::Verify { node: words.next("a node")?, leader: words.must("leader")? },
        "run" => Deed::Run(words.parsed::<Span>("a span")?.0),
        "deliver" => Deed::Deliver,
        "delay" => Deed::Delay(words.parsed("a link")?, words.parsed::<Span>("a span")?.0),
        "cut" => Deed::Cut(words.parsed("a link")?),
        "heal" => Deed::Heal,
        "lose" => Deed::Trap(trap(Mishap::Lost, words)?),
        "hold" => Deed::Trap(trap(Mishap::Held, words)?),
        "repeat" => Deed::Trap(trap(Mishap::Twice, words)?),
        "arrive" => Deed::Arrive,
        "crash" => Deed::Crash { node: words.next("a node")? },
        "restart" => Deed::Restart { node: words.next("a node")?, from: restart(words)? },
        "disk" => {
            let node = words.next("a node")?;
            let works = match words.next("`fails` or `works`")?.as_str() {
                "fails" => false,
                "works" => true,
                other => return Err(format!("a disk fails or works, not `{other}`")),
            };
            Deed::Disk { node, works }
        }
        "standing" => Deed::Standing,
        verb => unreachable!("{verb} has a form"),
    })
}

fn trap(mishap: Mishap, words: &mut Words) -> Result<Trap, String> {
    let kind = words.next("a kind of message")?;
    if !KINDS.contains(&kind.as_str()) {
        return Err(format!("no message is a `{kind}`; there are {}", KINDS.join(", ")));
    }
    match words.parsed("a link")? {
        Link::OneWay(from, to) => Ok(Trap { mishap, kind, from, to }),
        Link::Both(..) | Link::All(_) => Err("a message goes one way, as in `a>b`".into()),
    }
}

fn restart(words: &mut Words) -> Result<Restart, String> {
    if words.plain.is_empty() {
        return Ok(Restart::SameBoot);
    }
    match words.next("a way")?.as_str() {
        "same-boot" => Ok(Restart::SameBoot),
        "other-boot" => Ok(Restart::OtherBoot),
        "lost-disk" => Ok(Restart::LostDisk),
        other => Err(format!("`{other}` is no way to restart")),
    }
}

/// The words of a directive that nobody has taken yet.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Words {
    plain: Vec<String>,
    options: BTreeMap<String, String>,
}

impl Words {
    fn split(text: &str) -> Result<Self, String> {
        let mut plain = Vec::new();
        let mut options = BTreeMap::new();
        for word in text.split_whitespace() {
            match word.split_once('=') {
                Some((key, value)) => {
                    if options.insert(key.to_owned(), value.to_owned()).is_some() {
                        return Err(format!("`{key}` is given twice"));
                    }
                }
                None => plain.push(word.to_owned()),
            }
        }
        Ok(Self { plain, options })
    }

    fn next(&mut self, what: &str) -> Result<String, String> {
        if self.plain.is_empty() {
            return Err(format!("{what} is missing"));
        }
        Ok(self.plain.remove(0))
    }

    fn rest(&mut self, what: &str) -> Result<Vec<String>, String> {
        let first = self.next(what)?;
        Ok([first].into_iter().chain(self.plain.drain(..)).collect())
    }

    fn parsed<T: FromStr<Err: ToString>>(&mut self, what: &str) -> Result<T, String> {
        let word = self.next(what)?;
        word.parse().map_err(|error: T::Err| format!("`{word}`: {}", error.to_string()))
    }

    /// Value of `key=`, if it is given.
    ///
    /// # Errors
    ///
    /// If the value cannot be read.
    pub(super) fn option<T: FromStr<Err: ToString>>(
        &mut self,
        key: &str,
    ) -> Result<Option<T>, String> {
        let Some(value) = self.options.remove(key) else { return Ok(None) };
        let parsed = value.parse();
        parsed.map(Some).map_err(|error: T::Err| format!("{key}={value}: {}", error.to_string()))
    }

    /// Value of `key=`, which must be given.
    ///
    /// # Errors
    ///
    /// If the value is missing or cannot be read.
    pub(super) fn must<T: FromStr<Err: ToString>>(&mut self, key: &str) -> Result<T, String> {
        self.option(key)?.ok_or_else(|| format!("`{key}=` is missing"))
    }

    /// Checks that no word is left.
    pub(super) fn finish(&self) -> Result<(), String> {
        let options = self.options.iter().map(|(key, value)| format!("{key}={value}"));
        match self.plain.iter().cloned().chain(options).next() {
            Some(word) => Err(format!("`{word}` is too much")),
            None => Ok(()),
        }
    }
}

const BILLION: u64 = 1_000_000_000;

/// A span of time as it is written: `300ms`, `2.4s`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span(pub(super) Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "a span is written as 300ms or 2.4s".to_owned();
        let (number, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
            (Some(number), _) => (number, 6),
            (None, Some(number)) => (number, 9),
            (None, None) => return Err(wrong()),
        };
        decimal(number, unit).map(|nanos| Self(Duration::from_nanos(nanos))).ok_or_else(wrong)
    }
}

/// The rate of a clock, true time being 1.
struct Rate(u64);

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rate = decimal(text, 9).filter(|rate| (BILLION / 2..=BILLION * 2).contains(rate));
        rate.map(Self).ok_or_else(|| "a clock's rate is from 0.5 to 2, as in 1.1".into())
    }
}

/// A decimal fraction times 10 to the power of `places`, if it has no more places than that.
fn decimal(text: &str, places: usize) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || whole.len() > 6 || !digits(whole) {
        return None;
    }
    if fraction.len() > places || !digits(fraction) {
        return None;
    }
    format!("{whole}{fraction:0<places$}").parse().ok()
}
