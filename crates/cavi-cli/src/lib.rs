//! What does the terminal take and show?
