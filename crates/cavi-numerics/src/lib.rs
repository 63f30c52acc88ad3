//! What is the number, fast?
