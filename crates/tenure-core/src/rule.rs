//! Rules of a protocol by name, each of which can be broken where that is the experiment.

#[cfg(tenure_planted)]
use core::sync::atomic::Ordering;

/// Counted from one; zero while all rules are in force.
#[cfg(tenure_planted)]
#[expect(clippy::disallowed_types, reason = "which rule is broken is no state of a core")]
type Number = core::sync::atomic::AtomicU8;

/// A rule that can be broken, as those who break it see it.
#[cfg(tenure_planted)]
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    /// Its name.
    pub name: &'static str,
    /// Where it comes from: a section of the paper, an erratum, a ruling, or an extension.
    pub source: &'static str,
    /// The properties of the made-up world that are meant to notice when it is broken: the sentence
    /// that it is there for, or what must hold for it.
    pub meant: &'static [&'static str],
    /// Whether a story written for it notices, because a random search does not, or not soon.
    pub by_hand: bool,
    pub(crate) number: u8,
    pub(crate) module: &'static Module,
}

/// Which rule of a module is broken.
#[cfg(tenure_planted)]
#[derive(Debug)]
pub(crate) struct Module(Number);

/// A rule is broken as long as this lives.
#[cfg(tenure_planted)]
#[derive(Debug)]
pub struct Broken(&'static Module);

#[cfg(tenure_planted)]
impl Planted {
    /// Breaks it, for all threads, until what is returned is dropped.
    #[must_use]
    pub fn break_it(&self) -> Broken {
        self.module.0.store(self.number, Ordering::Relaxed);
        Broken(self.module)
    }
}

#[cfg(tenure_planted)]
impl Module {
    pub(crate) const fn new() -> Self {
        Self(Number::new(0))
    }

    pub(crate) fn keeps(&self, number: u8) -> bool {
        self.0.load(Ordering::Relaxed) != number
    }
}

#[cfg(tenure_planted)]
impl Drop for Broken {
    fn drop(&mut self) {
        self.0.0.store(0, Ordering::Relaxed);
    }
}

/// Each rule in one row: what it says, its name, where it comes from, the properties that are meant
/// to notice when it is broken, and whether a story written by hand notices.
macro_rules! rules {
    ($(
        $(#[doc = $says:literal])+
        $name:ident: $source:literal, [$($meant:ident),*] $(, $by:ident $hand:ident)?;
    )+) => {
        /// One rule of the protocol: an erratum, a ruling on what the paper leaves open, or one of
        /// our extensions.
        ///
        /// In a build with `--cfg tenure_planted`, and only there, one rule at a time can be
        /// broken, to prove that the checkers notice. In every other build `ruling` is the
        /// constant `true`.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        #[cfg_attr(
            not(tenure_planted),
            expect(unreachable_pub, reason = "public where it can be broken")
        )]
        pub enum Rule {
            $($(#[doc = $says])+ #[doc = concat!(" (", $source, ")")] $name,)+
        }

        /// Whether `rule` is in force.
        #[cfg(not(tenure_planted))]
        #[inline(always)]
        pub(crate) const fn ruling(_rule: Rule) -> bool {
            true
        }

        #[cfg(tenure_planted)]
        static MODULE: crate::rule::Module = crate::rule::Module::new();

        /// Every rule, in the order of the protocol.
        #[cfg(tenure_planted)]
        pub const RULES: &[crate::rule::Planted] = &[$(
            crate::rule::Planted {
                name: stringify!($name),
                source: $source,
                meant: &[$($meant),*],
                by_hand: !stringify!($($by $hand)?).is_empty(),
                number: Rule::$name as u8 + 1,
                module: &MODULE,
            },
        )+];

        /// Whether `rule` is in force.
        #[cfg(tenure_planted)]
        pub(crate) fn ruling(rule: Rule) -> bool {
            MODULE.keeps(rule as u8 + 1)
        }

        #[cfg(tenure_planted)]
        impl Rule {
            /// Its row.
            #[must_use]
            pub const fn row(self) -> &'static crate::rule::Planted {
                &RULES[self as usize]
            }
        }
    };
}

pub(crate) use rules;
