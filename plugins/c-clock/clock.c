/* clock:now, the moment by the host's clock: a whole plugin in plain C11, against roster_plugin.h alone.
 *
 * It shows what every plugin owes: a manifest that can be read from the file, a table of functions, and exactly one
 * completion for each call it accepted. It never blocks, so the host calls it right on its own threads. */
#include "roster_plugin.h"

#include <stdio.h>
#include <string.h>

static const char DESCRIPTION[] =
    "{\"config_schema\":{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false},"
    "\"contributes\":[{\"kind\":\"tool\",\"contract\":\"tool/1\",\"id\":\"now\","
    "\"description\":\"Tells the date and the time now, in UTC.\","
    "\"input_schema\":{\"type\":\"object\",\"properties\":{}},"
    "\"output_schema\":{\"type\":\"object\",\"required\":[\"utc\",\"unix_ms\"],"
    "\"properties\":{\"utc\":{\"type\":\"string\"},\"unix_ms\":{\"type\":\"integer\"}}},"
    "\"idempotent\":true}]}";

/* Text as a slice; the host copies what it keeps. */
static arp_slice slice(const char *text) {
  arp_slice slice = {(const uint8_t *)text, strlen(text)};
  return slice;
}

static int is(arp_slice slice, const char *text) {
  return slice.len == strlen(text) && memcmp(slice.ptr, text, slice.len) == 0;
}

/* Completes a call with JSON; after this the call is over. */
static void complete(const arp_host *host, uint64_t call, int32_t status, const char *json) {
  arp_payload payload = {ARP_ENC_JSON, 0, {NULL, 0}};
  payload.data = slice(json);
  host->complete(host->ctx, call, status, &payload);
}

/* Days since 1970-01-01 as year, month and day, by shifting the year's begin to March: the leap day is then its last. */
static void civil(int64_t days, int *year, int *month, int *day) {
  int64_t shifted = days + 719468;
  int64_t era = shifted / 146097;
  int64_t of_era = shifted - era * 146097;
  int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  int64_t from_march = (5 * of_year + 2) / 153;
  *day = (int)(of_year - (153 * from_march + 2) / 5 + 1);
  *month = (int)(from_march < 10 ? from_march + 3 : from_march - 9);
  *year = (int)(year_of_era + era * 400 + (*month <= 2));
}

static void now(const arp_host *host, uint64_t call) {
  uint64_t unix_ms = host->clock_unix_ms(host->ctx);
  uint64_t seconds = unix_ms / 1000;
  int of_day = (int)(seconds % 86400);
  int year, month, day;
  char json[128];
  civil((int64_t)(seconds / 86400), &year, &month, &day);
  snprintf(json, sizeof json, "{\"utc\":\"%04d-%02d-%02dT%02d:%02d:%02dZ\",\"unix_ms\":%llu}", year, month, day,
           of_day / 3600, of_day / 60 % 60, of_day % 60, (unsigned long long)unix_ms);
  complete(host, call, ARP_OK, json);
}

/* The plugin keeps nothing but its host, which lives as long as the process: the instance is the host's table. */
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

static int32_t call(void *instance, const arp_call *call) {
  const arp_host *host = (const arp_host *)instance;
  if (is(call->component, "now") && is(call->method, "invoke")) {
    now(host, call->id);
  } else {
    complete(host, call->id, ARP_E_NOT_FOUND, "{\"code\":\"not_found\",\"message\":\"no such component or method\"}");
  }
  return ARP_OK;
}

static void destroy(void *instance) { (void)instance; }

static const arp_plugin_api API = {
    sizeof(arp_plugin_api), 0, create, describe, call, destroy, NULL, NULL, NULL, NULL, NULL,
};

const arp_manifest arp_plugin_manifest = {
    ARP_MAGIC,
    sizeof(arp_manifest),
    ARP_MF_CONCURRENT,
    ARP_ABI_MAJOR,
    ARP_ABI_MINOR,
    0, /* the least minor version of the host */
    64,
    sizeof(arp_plugin_api),
    sizeof(arp_host),
    "dev.roster.clock",
    "1.0.0",
    "C11",
};

const arp_plugin_api *arp_plugin_entry_v1(const arp_host *host) {
  (void)host;
  return &API;
}
