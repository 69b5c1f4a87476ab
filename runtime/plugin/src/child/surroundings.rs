//! What the process does to itself before any code of the plugin runs: the channel out of reach, nothing on the standard
//! descriptors that could be mistaken for it, limits.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::fs::{Mode, OFlags};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::stdio::{dup2_stdin, dup2_stdout, stderr, stdin};

use crate::hello::Hello;

/// Takes the channel from descriptor 0: what a plugin prints goes to the log, what it reads is empty.
pub(super) fn take_channel() -> io::Result<UnixStream> {
    // A person at a terminal, or a pipe, is no runtime.
    let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(stdin())?.st_mode);
    if kind != rustix::fs::FileType::Socket {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let channel = fcntl_dupfd_cloexec(stdin(), 3)?;
    let null: OwnedFd = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    dup2_stdin(&null)?;
    dup2_stdout(stderr())?;
    Ok(UnixStream::from(channel))
}

/// Sets the limits: no core files, so many open files, so much more memory than the binary took to get here.
pub(super) fn limit(hello: &Hello) -> io::Result<()> {
    let set = |resource, wanted: u64| {
        let most = getrlimit(resource).maximum.map_or(wanted, |most| most.min(wanted));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
    };
    set(Resource::Core, 0)?;
    set(Resource::Nofile, hello.open_files)?;
    if let Some(taken) = address_space() {
        set(Resource::As, taken.saturating_add(hello.memory))?;
    }
    #[cfg(target_os = "linux")]
    rustix::thread::set_no_new_privs(true)?;
    Ok(())
}

/// Bytes of address space that are taken now, where the system tells.
fn address_space() -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "the system's own account of this process")]
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').next()?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
