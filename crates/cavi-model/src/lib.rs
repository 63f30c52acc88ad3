//! What is meant: names, plates, supports, the factor graph?
