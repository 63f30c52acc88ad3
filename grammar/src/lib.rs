//! Is this well-formed text?
