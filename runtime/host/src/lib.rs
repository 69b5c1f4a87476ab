//! The binary: command line, paths, configuration, assembly, shutdown.
