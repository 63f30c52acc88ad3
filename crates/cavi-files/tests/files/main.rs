//! Files as text or as NumPy wrote them, and what is read from them and written to them.

mod common;
mod hdf5;
mod numpy;
mod packed;
mod parquet;
mod properties;
mod sqlite;
mod tables;
mod text_formats;
mod texts;
mod writing;
