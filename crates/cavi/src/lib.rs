//! How do the stages connect?
