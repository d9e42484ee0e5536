//! Make captures: run a program, encode what it executes, write the folder.
