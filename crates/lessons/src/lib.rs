//! The lessons: parameters in, a measured report out
