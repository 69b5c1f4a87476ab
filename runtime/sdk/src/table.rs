//! The host's table of functions behind safe methods. One of the places with `unsafe`.

use std::ffi::c_void;

use roster_abi::c::{Host, Payload, Slice};
use roster_abi::code;

/// The table a host gave. It and what it points to live as long as the process (contract, lifecycle).
#[derive(Clone, Copy)]
pub(crate) struct Table(&'static Host);

/// The same host, not one that looks alike.
impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

// SAFETY: the contract lets every function of the table be called from any thread, and it is never written.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Table {
    /// Takes the table; `None` when it is absent or smaller than what this crate was built for.
    ///
    /// # Safety
    /// `host` is NULL or points to a table of at least `struct_size` bytes that is never freed or written.
    pub(crate) unsafe fn new(host: *const Host) -> Option<Self> {
        if host.is_null() {
            return None;
        }
        // SAFETY: not NULL; the size is the first field of every version.
        let size = unsafe { (&raw const (*host).struct_size).read() };
        // SAFETY: the table is as long as this struct and lives for ever.
        (size as usize >= size_of::<Host>()).then(|| Self(unsafe { &*host }))
    }

    /// The table itself.
    pub(crate) fn raw(self) -> &'static Host {
        self.0
    }

    fn ctx(self) -> *mut c_void {
        self.0.ctx
    }

    pub(crate) fn log(self, call: u64, level: u32, target: &str, message: &str, fields: &str) {
        let (target, message) = (Slice::of(target.as_bytes()), Slice::of(message.as_bytes()));
        // SAFETY: the slices live until the function returns; the host copies.
        unsafe { (self.0.log)(self.ctx(), call, level, target, message, Slice::of(fields.as_bytes())) }
    }

    pub(crate) fn emit(self, call: u64, kind: u32, json: &[u8]) -> i32 {
        let payload = Payload::of(code::ENC_JSON, json);
        // SAFETY: the payload lives until the function returns; the host copies.
        unsafe { (self.0.emit)(self.ctx(), call, kind, &raw const payload) }
    }

    pub(crate) fn complete(self, call: u64, status: i32, encoding: u32, bytes: &[u8]) -> i32 {
        let payload = Payload::of(encoding, bytes);
        // SAFETY: the payload lives until the function returns; the host copies.
        unsafe { (self.0.complete)(self.ctx(), call, status, &raw const payload) }
    }

    /// 0, a reason, or an error when the call is done.
    pub(crate) fn cancelled(self, call: u64) -> i32 {
        // SAFETY: takes numbers only.
        unsafe { (self.0.cancelled)(self.ctx(), call) }
    }

    pub(crate) fn request(self, call: u64, req: u64, service: &str, json: &[u8]) -> i32 {
        let payload = Payload::of(code::ENC_JSON, json);
        // SAFETY: service and payload live until the function returns; the host copies.
        unsafe { (self.0.request)(self.ctx(), call, req, Slice::of(service.as_bytes()), &raw const payload) }
    }

    pub(crate) fn clock_unix_ms(self) -> u64 {
        // SAFETY: takes nothing.
        unsafe { (self.0.clock_unix_ms)(self.ctx()) }
    }
}
