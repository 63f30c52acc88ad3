//! What is an equation, and when are two of them equal?
