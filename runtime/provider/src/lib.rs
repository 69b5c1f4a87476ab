//! Model providers over HTTP, one dialect a folder, and the demo provider.
