//! The library from outside: files bind, and functions of the language have the values of other implementations.

mod binding;
mod kernels;
