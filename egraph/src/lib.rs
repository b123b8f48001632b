//! The optimizer's e-graph. Nothing is here yet: no program is rewritten, and no claim is
//! used to rewrite one.
//!
//! What belongs here, and nowhere else: the node and its analysis (types, definedness, known
//! finite), the compilation of rules that arrive as core claims, extraction by a cost that
//! `runtime` supplies, and explanations that a checker can replay.
//!
//! * Invariants to keep: only a claim with a live `proved` verdict becomes a rewrite; classes
//!   of different shape or dtype are never merged; no rounding happens inside the graph.
//! * Must not know: syntax, the solver, files, or how claims are proved.
