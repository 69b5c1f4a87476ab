/* my-plugin: what it adds to an agent, in one sentence. */
#include "roster_plugin.h"

#include <stdio.h>
#include <string.h>

/* What the plugin says of itself: its configuration's schema, and its components. */
static const char DESCRIPTION[] =
    "{\"config_schema\":{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false},"
    "\"contributes\":[{\"kind\":\"tool\",\"contract\":\"tool/1\",\"id\":\"now\","
    "\"description\":\"Tells the seconds since 1970.\","
    "\"input_schema\":{\"type\":\"object\",\"properties\":{}},"
    "\"idempotent\":true}]}";

static arp_slice slice(const char *text) {
  arp_slice slice = {(const uint8_t *)text, strlen(text)};
  return slice;
}

/* Slices have a length and no zero at their end. */
static int is(arp_slice slice, const char *text) {
  return slice.len == strlen(text) && memcmp(slice.ptr, text, slice.len) == 0;
}

/* Ends a call: exactly once for each call that was accepted, here or later, from any thread. */
static void complete(const arp_host *host, uint64_t call, int32_t status, const char *json) {
  arp_payload payload = {ARP_ENC_JSON, 0, {NULL, 0}};
  payload.data = slice(json);
  host->complete(host->ctx, call, status, &payload);
}

/* `config` is JSON that fits the schema above. This instance is the host's table, which lives as long as the process;
 * a plugin that keeps more allocates a struct here and frees it in destroy. */
static int32_t create(const arp_host *host, arp_slice config, const arp_out *out, void **instance) {
  (void)config;
  (void)out;
  memcpy(instance, &host, sizeof host);
  return ARP_OK;
}

static int32_t describe(void *instance, const arp_out *out) {
  (void)instance;
  out->write(out->ctx, ARP_OUT_VALUE, slice(DESCRIPTION));
  return ARP_OK;
}

/* `call->input.data` is the arguments' JSON; it and everything else in `call` is gone when this function returns. */
static int32_t call(void *instance, const arp_call *call) {
  const arp_host *host = (const arp_host *)instance;
  if (is(call->component, "now") && is(call->method, "invoke")) {
    char json[64];
    snprintf(json, sizeof json, "{\"seconds\":%llu}", (unsigned long long)(host->clock_unix_ms(host->ctx) / 1000));
    complete(host, call->id, ARP_OK, json);
  } else {
    complete(host, call->id, ARP_E_NOT_FOUND, "{\"code\":\"not_found\",\"message\":\"no such component or method\"}");
  }
  return ARP_OK;
}

static void destroy(void *instance) { (void)instance; }

static const arp_plugin_api API = {
    sizeof(arp_plugin_api), 0, create, describe, call, destroy, NULL, NULL, NULL, NULL, NULL,
};

/* ARP_MF_CONCURRENT: several threads may be in `call` at once. A plugin that waits in `call` adds ARP_MF_BLOCKING. */
const arp_manifest arp_plugin_manifest = {
    ARP_MAGIC,
    sizeof(arp_manifest),
    ARP_MF_CONCURRENT,
    ARP_ABI_MAJOR,
    ARP_ABI_MINOR,
    0, /* the least minor version it needs of a host */
    64,
    sizeof(arp_plugin_api),
    sizeof(arp_host),
    "com.example.my-plugin",
    "0.1.0",
    "C11",
};

const arp_plugin_api *arp_plugin_entry_v1(const arp_host *host) {
  (void)host;
  return &API;
}
