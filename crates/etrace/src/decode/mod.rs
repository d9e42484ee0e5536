//! The decoder: packets and the program to what ran.
