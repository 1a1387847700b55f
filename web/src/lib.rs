//! The page and the worker in which the engine runs.
