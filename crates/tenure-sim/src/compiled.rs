//! Compiles the worlds of all protocols into this crate. In builds with shared generics (those with
//! debug assertions) programs and tests link to this code, instead of compiling it again. Unit
//! tests play few worlds, and an optimized program compiles its own copy anyway.

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
