//! Conformance suites, a scripted model server, fault injectors and temp projects; for tests only.
