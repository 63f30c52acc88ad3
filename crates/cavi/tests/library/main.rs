//! The library from outside: files bind, functions of the language have the values of other implementations, and a client gets from a text
//! to arrays.

mod binding;
mod journey;
mod kernels;
mod memory;
mod psis;
