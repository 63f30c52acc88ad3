//! Tests that give text and compare text or numbers.

pub mod corpus;
pub mod support;
