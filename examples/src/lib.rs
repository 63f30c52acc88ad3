//! Which programs and data come built in?
