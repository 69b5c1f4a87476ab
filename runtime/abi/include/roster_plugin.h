/* The contract between Roster and its plugins, ABI major 1. Generated from the crate roster-abi by its tests: do not
 * edit. The guide is docs/plugins.md.
 *
 * A plugin exports the constant arp_plugin_manifest and the function arp_plugin_entry_v1 and resolves nothing from the
 * host. No memory changes owner: whoever is handed a slice copies what it keeps. Text is UTF-8 with a length. A struct
 * that can grow begins with its size; fields a reader does not know are ignored, fields that are missing count as zero.
 */
#ifndef ROSTER_PLUGIN_H
#define ROSTER_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A different major is refused. */
#define ARP_ABI_MAJOR 1
/* Grows when something is added; a plugin says the least it needs. */
#define ARP_ABI_MINOR 0
/* First eight bytes of a manifest: 1ARPLGP1 in memory. */
#define ARP_MAGIC UINT64_C(0x3150474C50524131)
/* call may block: run it on the plugin's own pool. */
#define ARP_MF_BLOCKING 1u
/* call may be entered by several threads at once. */
#define ARP_MF_CONCURRENT 2u
/* Built with panic=abort: refused in process. */
#define ARP_MF_PANIC_ABORT 4u
/* The author asks for process isolation. */
#define ARP_MF_WANTS_PROCESS 8u
/* An unknown flag in the upper half means: refuse. */
#define ARP_MF_CRITICAL 0xFFFF0000u
/* call: accepted, one completion comes. As a completion's status: good. */
#define ARP_OK 0
/* The input or the configuration is not what was asked for. */
#define ARP_E_INVALID (-1)
/* No such component, method, thread or key. */
#define ARP_E_NOT_FOUND (-2)
/* The plugin panicked. */
#define ARP_E_PANIC (-3)
/* The call was cancelled. */
#define ARP_E_CANCELLED (-4)
/* No room now; try again (emit: wait for writable). */
#define ARP_E_BUSY (-5)
/* Anything else that failed. */
#define ARP_E_INTERNAL (-6)
/* Known, but not offered here. */
#define ARP_E_UNSUPPORTED (-7)
/* The call's id is unknown or already completed. */
#define ARP_E_NO_SUCH_CALL (-8)
/* The plugin gave the call up without an answer. */
#define ARP_E_DROPPED (-9)
/* More than the limit. */
#define ARP_E_TOO_LARGE (-10)
/* Not granted by the operator. */
#define ARP_E_DENIED (-11)
/* The deadline passed. */
#define ARP_E_DEADLINE (-12)
/* Payload: UTF-8 JSON. */
#define ARP_ENC_JSON 1u
/* Payload: bytes. */
#define ARP_ENC_BYTES 2u
/* Payload: 32-bit floats, little endian. */
#define ARP_ENC_F32LE 3u
/* emit: how far the call is; lossy, the newest wins. */
#define ARP_EV_PROGRESS 1u
/* emit: a piece of the answer; lossless and in order. */
#define ARP_EV_CHUNK 2u
/* arp_out.write: the answer, JSON. */
#define ARP_OUT_VALUE 0u
/* arp_out.write: why there is none, JSON {"code","message","retryable","details"}. */
#define ARP_OUT_ERROR 1u
/* arp_call.flags: the caller wants CHUNK events. */
#define ARP_CALL_WANTS_CHUNKS 1u
/* log: something failed. */
#define ARP_LOG_ERROR 1u
/* log: something is odd. */
#define ARP_LOG_WARN 2u
/* log: worth knowing. */
#define ARP_LOG_INFO 3u
/* log: for the plugin's author. */
#define ARP_LOG_DEBUG 4u
/* log: everything. */
#define ARP_LOG_TRACE 5u
/* cancel and cancelled: whoever asked has left. */
#define ARP_CANCEL_CALLER 1u
/* cancel and cancelled: the deadline passed. */
#define ARP_CANCEL_DEADLINE 2u
/* cancel and cancelled: the plugin is being replaced or the runtime stops. */
#define ARP_CANCEL_SHUTDOWN 3u

/* Borrowed bytes, valid until the function that carried them returns. ptr may be anything when len is 0. */
typedef struct arp_slice {
  /* The first byte. */
  const uint8_t *ptr;
  /* How many. */
  size_t len;
} arp_slice;

/* Borrowed bytes and what they are. */
typedef struct arp_payload {
  /* ENC_*. */
  uint32_t encoding;
  /* Zero. */
  uint32_t reserved;
  /* The bytes. */
  arp_slice data;
} arp_payload;

/* What a library says about itself, read from the file before it is opened: no pointers, no relocations.
 * Exported as the constant arp_plugin_manifest. The first 32 bytes never change in any major version. */
typedef struct arp_manifest {
  /* MAGIC. */
  uint64_t magic;
  /* Of this struct as the plugin knows it. */
  uint32_t struct_size;
  /* MF_*. */
  uint32_t flags;
  /* The major version the plugin was built for. */
  uint16_t abi_major;
  /* The minor version the plugin was built for. */
  uint16_t abi_minor;
  /* The least minor version it needs from a host. */
  uint16_t abi_minor_min;
  /* 64. */
  uint16_t pointer_bits;
  /* Size of the plugin's arp_plugin_api. */
  uint32_t plugin_api_size;
  /* The least size of arp_host it needs. */
  uint32_t host_size_min;
  /* Reverse-DNS id, zero-padded. */
  char id[64];
  /* Semantic version, zero-padded. */
  char version[32];
  /* rustc 1.95 sdk 1.0, zero-padded. */
  char toolchain[64];
} arp_manifest;

/* Where a synchronous answer is written, any number of times; the pieces are joined. */
typedef struct arp_out {
  /* Handed back to write. */
  void *ctx;
  /* kind is OUT_*. */
  void (*write)(void *ctx, uint32_t kind, arp_slice data);
} arp_out;

/* A call. Everything in it is borrowed until the function call returns; a plugin copies what it keeps. */
typedef struct arp_call {
  /* Of this struct as the host knows it. */
  uint32_t struct_size;
  /* CALL_*. */
  uint32_t flags;
  /* Never reused in the life of the host. */
  uint64_t id;
  /* Milliseconds from now; 0 = none. */
  uint64_t deadline_ms;
  /* get_forecast. */
  arp_slice component;
  /* invoke. */
  arp_slice method;
  /* The input. */
  arp_payload input;
  /* JSON: run, thread, resource, traceparent, tenant. */
  arp_slice context;
} arp_call;

/* What a plugin may ask of the host. Valid for the life of the process, from any thread; no pointer in it is
 * NULL. */
typedef struct arp_host {
  /* Of this struct as the host knows it. */
  uint32_t struct_size;
  /* ABI_MAJOR of the host. */
  uint16_t abi_major;
  /* ABI_MINOR of the host. */
  uint16_t abi_minor;
  /* Handed back to every function. */
  void *ctx;
  /* call is the call it belongs to or 0; level is LOG_*; fields_json is a JSON object or empty. */
  void (*log)(void *ctx, uint64_t call, uint32_t level, arp_slice target, arp_slice message, arp_slice fields_json);
  /* kind is EV_*. From a BLOCKING call a CHUNK waits for room; else E_BUSY, and writable comes later. */
  int32_t (*emit)(void *ctx, uint64_t call, uint32_t kind, const arp_payload *payload);
  /* Exactly once per accepted call, inside call or later, from any thread. E_TOO_LARGE: nothing was taken, the
   * call is still open. */
  int32_t (*complete)(void *ctx, uint64_t call, int32_t status, const arp_payload *payload);
  /* 0, or CANCEL_*; E_NO_SUCH_CALL for an id that is done. */
  int32_t (*cancelled)(void *ctx, uint64_t call);
  /* Asks a host service; req is chosen by the plugin and comes back in reply, exactly once if this gives OK.
   * call is the call it is asked for, or 0. Not before create returned: there is nobody to reply to. */
  int32_t (*request)(void *ctx, uint64_t call, uint64_t req, arp_slice service, const arp_payload *payload);
  /* Milliseconds since 1970-01-01T00:00:00Z. */
  uint64_t (*clock_unix_ms)(void *ctx);
} arp_host;

/* What a plugin offers: a static table, given by the entry function. Up to destroy everything is mandatory. */
typedef struct arp_plugin_api {
  /* Of this struct as the plugin knows it. */
  uint32_t struct_size;
  /* Zero. */
  uint32_t reserved;
  /* Makes an instance. On failure: a status below 0 and the error in out; then no destroy. */
  int32_t (*create)(const arp_host *host, arp_slice config_json, const arp_out *out, void **instance);
  /* What it contributes, JSON. instance is NULL when only static facts are asked for. */
  int32_t (*describe)(void *instance, const arp_out *out);
  /* OK: accepted, one completion comes. Below 0: refused, none comes. */
  int32_t (*call)(void *instance, const arp_call *call);
  /* Frees the instance; no call is in flight, nothing of the plugin runs after it. */
  void (*destroy)(void *instance);
  /* Nobody waits for this call any more; reason is CANCEL_*. */
  void (*cancel)(void *instance, uint64_t call, uint32_t reason);
  /* There is room for chunks of this call again. */
  void (*writable)(void *instance, uint64_t call);
  /* The answer to request. */
  void (*reply)(void *instance, uint64_t req, int32_t status, const arp_payload *payload);
  /* Stop and join own threads, flush; returns within timeout_ms. */
  int32_t (*quiesce)(void *instance, uint32_t timeout_ms);
  /* OK, or a status and the error in out. */
  int32_t (*health)(void *instance, const arp_out *out);
} arp_plugin_api;

#if defined(_WIN32)
#define ARP_EXPORT __declspec(dllexport)
#else
#define ARP_EXPORT __attribute__((visibility("default")))
#endif

/* What a plugin exports. The manifest is read from the file, before anything of it runs. */
ARP_EXPORT extern const arp_manifest arp_plugin_manifest;
/* Gives a static table; does no work, starts no thread, may be called repeatedly. */
ARP_EXPORT const arp_plugin_api *arp_plugin_entry_v1(const arp_host *host);

#ifdef __cplusplus
}
#define ARP_ASSERT(what) static_assert(what, #what)
#else
#define ARP_ASSERT(what) _Static_assert(what, #what)
#endif

ARP_ASSERT(sizeof(arp_slice) == 16);
ARP_ASSERT(offsetof(arp_slice, ptr) == 0);
ARP_ASSERT(offsetof(arp_slice, len) == 8);
ARP_ASSERT(sizeof(arp_payload) == 24);
ARP_ASSERT(offsetof(arp_payload, encoding) == 0);
ARP_ASSERT(offsetof(arp_payload, reserved) == 4);
ARP_ASSERT(offsetof(arp_payload, data) == 8);
ARP_ASSERT(sizeof(arp_manifest) == 192);
ARP_ASSERT(offsetof(arp_manifest, magic) == 0);
ARP_ASSERT(offsetof(arp_manifest, struct_size) == 8);
ARP_ASSERT(offsetof(arp_manifest, flags) == 12);
ARP_ASSERT(offsetof(arp_manifest, abi_major) == 16);
ARP_ASSERT(offsetof(arp_manifest, abi_minor) == 18);
ARP_ASSERT(offsetof(arp_manifest, abi_minor_min) == 20);
ARP_ASSERT(offsetof(arp_manifest, pointer_bits) == 22);
ARP_ASSERT(offsetof(arp_manifest, plugin_api_size) == 24);
ARP_ASSERT(offsetof(arp_manifest, host_size_min) == 28);
ARP_ASSERT(offsetof(arp_manifest, id) == 32);
ARP_ASSERT(offsetof(arp_manifest, version) == 96);
ARP_ASSERT(offsetof(arp_manifest, toolchain) == 128);
ARP_ASSERT(sizeof(arp_out) == 16);
ARP_ASSERT(offsetof(arp_out, ctx) == 0);
ARP_ASSERT(offsetof(arp_out, write) == 8);
ARP_ASSERT(sizeof(arp_call) == 96);
ARP_ASSERT(offsetof(arp_call, struct_size) == 0);
ARP_ASSERT(offsetof(arp_call, flags) == 4);
ARP_ASSERT(offsetof(arp_call, id) == 8);
ARP_ASSERT(offsetof(arp_call, deadline_ms) == 16);
ARP_ASSERT(offsetof(arp_call, component) == 24);
ARP_ASSERT(offsetof(arp_call, method) == 40);
ARP_ASSERT(offsetof(arp_call, input) == 56);
ARP_ASSERT(offsetof(arp_call, context) == 80);
ARP_ASSERT(sizeof(arp_host) == 64);
ARP_ASSERT(offsetof(arp_host, struct_size) == 0);
ARP_ASSERT(offsetof(arp_host, abi_major) == 4);
ARP_ASSERT(offsetof(arp_host, abi_minor) == 6);
ARP_ASSERT(offsetof(arp_host, ctx) == 8);
ARP_ASSERT(offsetof(arp_host, log) == 16);
ARP_ASSERT(offsetof(arp_host, emit) == 24);
ARP_ASSERT(offsetof(arp_host, complete) == 32);
ARP_ASSERT(offsetof(arp_host, cancelled) == 40);
ARP_ASSERT(offsetof(arp_host, request) == 48);
ARP_ASSERT(offsetof(arp_host, clock_unix_ms) == 56);
ARP_ASSERT(sizeof(arp_plugin_api) == 80);
ARP_ASSERT(offsetof(arp_plugin_api, struct_size) == 0);
ARP_ASSERT(offsetof(arp_plugin_api, reserved) == 4);
ARP_ASSERT(offsetof(arp_plugin_api, create) == 8);
ARP_ASSERT(offsetof(arp_plugin_api, describe) == 16);
ARP_ASSERT(offsetof(arp_plugin_api, call) == 24);
ARP_ASSERT(offsetof(arp_plugin_api, destroy) == 32);
ARP_ASSERT(offsetof(arp_plugin_api, cancel) == 40);
ARP_ASSERT(offsetof(arp_plugin_api, writable) == 48);
ARP_ASSERT(offsetof(arp_plugin_api, reply) == 56);
ARP_ASSERT(offsetof(arp_plugin_api, quiesce) == 64);
ARP_ASSERT(offsetof(arp_plugin_api, health) == 72);
#undef ARP_ASSERT

#endif
