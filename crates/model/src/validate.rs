//! What can be wrong with a profile whatever the machine (rules V0, V4-V16 of the specification).
