//! Which updates raise the bound?
