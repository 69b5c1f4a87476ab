/* The contract as the design writes it, by hand: the tests' plugins are built against it, so that a slip in the Rust
   side's layout shows here. */
#ifndef ABI_H
#define ABI_H
#include <stddef.h>
#include <stdint.h>
typedef struct { const uint8_t *ptr; size_t len; } arp_slice;
typedef struct { uint32_t encoding, reserved; arp_slice data; } arp_payload;
typedef struct {
  uint64_t magic; uint32_t struct_size, flags;
  uint16_t abi_major, abi_minor, abi_minor_min, pointer_bits;
  uint32_t plugin_api_size, host_size_min;
  char id[64], version[32], toolchain[64];
} arp_manifest;
typedef struct { void *ctx; void (*write)(void *ctx, uint32_t kind, arp_slice data); } arp_out;
typedef struct {
  uint32_t struct_size, flags; uint64_t id, deadline_ms;
  arp_slice component, method; arp_payload input; arp_slice context;
} arp_call;
typedef struct {
  uint32_t struct_size; uint16_t abi_major, abi_minor; void *ctx;
  void (*log)(void *, uint64_t, uint32_t, arp_slice, arp_slice, arp_slice);
  int32_t (*emit)(void *, uint64_t, uint32_t, const arp_payload *);
  int32_t (*complete)(void *, uint64_t, int32_t, const arp_payload *);
  int32_t (*cancelled)(void *, uint64_t);
  int32_t (*request)(void *, uint64_t, uint64_t, arp_slice, const arp_payload *);
  uint64_t (*clock_unix_ms)(void *);
} arp_host;
typedef struct {
  uint32_t struct_size, reserved;
  int32_t (*create)(const arp_host *, arp_slice, const arp_out *, void **);
  int32_t (*describe)(void *, const arp_out *);
  int32_t (*call)(void *, const arp_call *);
  void (*destroy)(void *);
  void (*cancel)(void *, uint64_t, uint32_t);
  void (*writable)(void *, uint64_t);
  void (*reply)(void *, uint64_t, int32_t, const arp_payload *);
  int32_t (*quiesce)(void *, uint32_t);
  int32_t (*health)(void *, const arp_out *);
} arp_plugin_api;
#endif
