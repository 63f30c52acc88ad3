//! Which bytes are which arrays?
