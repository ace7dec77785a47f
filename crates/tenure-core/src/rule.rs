//! Rules of a protocol by name, each of which can be broken where that is the experiment.

/// Which rule is broken.
#[cfg(tenure_planted)]
#[expect(clippy::disallowed_types, reason = "which rule is broken is no state of a core")]
pub(crate) type Number = core::sync::atomic::AtomicU8;

/// Each rule in one place: what it says, its name, and where it comes from.
macro_rules! rules {
    ($($(#[doc = $says:literal])+ $name:ident: $source:literal,)+) => {
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

        #[cfg(tenure_planted)]
        impl Rule {
            /// Every rule, in the order of the protocol.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Where it comes from: a section of the paper, an erratum, or an extension with its
            /// number.
            #[must_use]
            pub const fn source(self) -> &'static str {
                match self {
                    $(Self::$name => $source,)+
                }
            }
        }

        /// Whether `rule` is in force.
        #[cfg(not(tenure_planted))]
        #[inline(always)]
        pub(crate) const fn ruling(_rule: Rule) -> bool {
            true
        }

        /// The rule that is broken, counted from one; zero while all are in force.
        #[cfg(tenure_planted)]
        static BROKEN: crate::rule::Number = crate::rule::Number::new(0);

        #[cfg(tenure_planted)]
        const fn number(rule: Rule) -> u8 {
            rule as u8 + 1
        }

        #[cfg(tenure_planted)]
        pub(crate) fn ruling(rule: Rule) -> bool {
            BROKEN.load(core::sync::atomic::Ordering::Relaxed) != number(rule)
        }

        /// Whether `rule` is in force.
        #[cfg(tenure_planted)]
        #[must_use]
        pub fn in_force(rule: Rule) -> bool {
            ruling(rule)
        }

        /// Breaks one rule, for all threads, and mends it when dropped.
        #[cfg(tenure_planted)]
        #[must_use]
        pub fn break_rule(rule: Rule) -> Broken {
            BROKEN.store(number(rule), core::sync::atomic::Ordering::Relaxed);
            Broken(())
        }

        /// A rule is broken as long as this lives.
        #[cfg(tenure_planted)]
        #[derive(Debug)]
        pub struct Broken(());

        #[cfg(tenure_planted)]
        impl Drop for Broken {
            fn drop(&mut self) {
                BROKEN.store(0, core::sync::atomic::Ordering::Relaxed);
            }
        }
    };
}

pub(crate) use rules;
