//! What programs mean, and what is said about programs that mean nothing.

mod programs;
mod rejections;
