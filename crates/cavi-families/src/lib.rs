//! What does a distribution assume, and what does it answer?
