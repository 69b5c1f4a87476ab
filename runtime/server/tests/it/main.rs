//! The doors, through the routers without a socket; the last module through real sockets.

mod auth;
mod chat;
mod conversations;
mod double;
mod faults;
mod limits;
mod mastra;
mod openai;
mod pages;
mod sockets;
mod world;
