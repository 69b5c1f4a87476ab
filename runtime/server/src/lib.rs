//! HTTP: the gateway's doors, Studio and the Mastra REST.
