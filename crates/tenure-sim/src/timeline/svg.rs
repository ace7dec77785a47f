//! Draws a [`Timeline`](super::Timeline) as SVG.
