//! The worlds of all protocols, compiled into this crate: programs and tests that play them link to
//! that, in builds that share what is generic (those with debug assertions), instead of compiling
//! them again. Unit tests play few, and an optimized program compiles its own anyway.

use crate::shrink::{SmallFailure, shrink};
use crate::sweep::{CountsOf, Outcome, Sweep};
use crate::violation::Violation;

macro_rules! compile {
    ($($module:ident $name:ident $about:literal;)+) => {
        $(const _: () = {
            use crate::$module::Worlds;
            #[used]
            static RUN: fn(&Sweep<Worlds>) -> Outcome<CountsOf<Worlds>> = Sweep::run;
            #[used]
            static SHRINK: fn(&Worlds, u64, Violation, u64) -> SmallFailure = shrink;
        };)+
    };
}
crate::protocols!(compile);
