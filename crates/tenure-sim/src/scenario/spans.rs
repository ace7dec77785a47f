//! Claims with their backing as shapes.

use std::ops::Range;

use tenure_core::ElectionName;

use crate::timeline::{Span, SpanKind};

/// The shapes of a run.
#[derive(Debug, Default)]
pub struct Spans(Option<Vec<Span>>);

/// A shape with a holder.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    pub kind: SpanKind,
    pub lane: usize,
    pub election: &'a ElectionName,
}

impl Shape<'_> {
    fn is(&self, span: &Span) -> bool {
        let of = span.election.as_deref();
        span.lane == self.lane && span.kind == self.kind && of == Some(self.election.as_str())
    }
}

impl Spans {
    pub(super) fn keep(&mut self) {
        self.0 = Some(Vec::new());
    }

    pub(crate) fn take(&mut self) -> Vec<Span> {
        self.0.take().unwrap_or_default()
    }

    /// Whether shapes are kept.
    #[must_use]
    pub const fn are_kept(&self) -> bool {
        self.0.is_some()
    }

    /// Draws a span with its holder and its label. A span that continues is drawn once; a later
    /// grant cuts the earlier span short.
    pub fn add(
        &mut self,
        shape: Shape<'_>,
        span: Range<u64>,
        said: impl FnOnce() -> (String, String),
    ) {
        let Some(spans) = &mut self.0 else { return };
        let Range { start: from, end: until } = span;
        let (holder, label) = said();
        let holder = Some(holder);
        match spans.iter_mut().rev().find(|span| shape.is(span)) {
            Some(last) if last.holder == holder && last.label == label && last.until >= from => {
                last.until = until;
                return;
            }
            Some(last) if shape.kind == SpanKind::Grant => last.until = last.until.min(from),
            Some(_) | None => {}
        }
        let lane = shape.lane;
        let kind = shape.kind;
        let election = Some(shape.election.to_string());
        spans.push(Span { lane, kind, election, holder, from, until, label });
    }

    /// Draws a span without a holder.
    pub fn add_bare(&mut self, lane: usize, kind: SpanKind, from: u64, until: u64) {
        let Some(spans) = &mut self.0 else { return };
        let election = None;
        let holder = None;
        let label = String::new();
        spans.push(Span { lane, kind, election, holder, from, until, label });
    }

    /// Ends the last shape of its kind.
    pub fn cut(&mut self, shape: Shape<'_>, at: u64) {
        let Some(spans) = &mut self.0 else { return };
        if let Some(last) = spans.iter_mut().rev().find(|span| shape.is(span)) {
            last.until = last.until.min(at);
        }
    }
}
