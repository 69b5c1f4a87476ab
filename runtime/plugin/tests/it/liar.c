/* A plugin with a tool for each thing that can go wrong. Built by the tests with the system's C compiler; the macros
   choose what is wrong with the library itself. */
#define _GNU_SOURCE
#include "abi.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef ANSWER
#define ANSWER "v1"
#endif
#ifndef FLAGS
#define FLAGS 3
#endif
#ifndef MAJOR
#define MAJOR 1
#endif
#ifndef MINOR_MIN
#define MINOR_MIN 0
#endif
#ifndef HOST_SIZE
#define HOST_SIZE 64
#endif
#ifndef MANIFEST_SIZE
#define MANIFEST_SIZE 192
#endif
#ifndef MAGIC
#define MAGIC UINT64_C(0x3150474C50524131)
#endif

#ifndef NO_MANIFEST
const arp_manifest arp_plugin_manifest = {
    MAGIC, MANIFEST_SIZE, FLAGS, MAJOR, 0, MINOR_MIN, 64, sizeof(arp_plugin_api), HOST_SIZE,
    "com.example.liar", "1.0.0", "cc"};
#endif

typedef struct { const arp_host *host; char units[32]; int calls; int emitted, inside, peak; uint64_t pump_call; int pump_at; } instance;
static volatile int leave = 0;
static __thread int thread_local_data = 7;

static arp_slice text(const char *t) { arp_slice s = {(const uint8_t *)t, strlen(t)}; return s; }
static arp_payload json(const char *t) { arp_payload p = {1, 0, text(t)}; return p; }
static int is(arp_slice s, const char *t) { return s.len == strlen(t) && memcmp(s.ptr, t, s.len) == 0; }

#ifdef UNDEFINED
extern int nope_fn(void);
#endif

static int32_t create(const arp_host *host, arp_slice config, const arp_out *out, void **to) {
#ifdef CREATE_FAILS
  out->write(out->ctx, 1, text("{\"code\":\"no_station\",\"message\":\"the station does not answer\"}"));
  return -6;
#endif
#ifdef CREATE_HANGS
  for (;;) usleep(1000);
#endif
#ifdef CREATE_SEGV
  *(volatile int *)8 = 1;
#endif
  instance *self = calloc(1, sizeof *self);
  self->host = host;
  if (config.len && memmem(config.ptr, config.len, "imperial", 8)) strcpy(self->units, "imperial");
  else strcpy(self->units, "metric");
  thread_local_data++;
  *to = self;
  host->log(host->ctx, 0, 3, text("liar"), text("created"), text("{\"answer\":\"" ANSWER "\"}"));
  return 0;
}

#define TOOL(id) "{\"kind\":\"tool\",\"contract\":\"tool/1\",\"id\":\"" id "\",\"description\":\"" id "\",\"input_schema\":{\"type\":\"object\"}}"
static int32_t describe(void *self, const arp_out *out) {
  (void)self;
#ifdef DESCRIBE_BROKEN
  out->write(out->ctx, 0, text("{\"contributes\":[{"));
  return 0;
#endif
  out->write(out->ctx, 0, text(
      "{\"config_schema\":{\"type\":\"object\",\"properties\":{\"units\":{\"enum\":[\"metric\",\"imperial\"]}},"
      "\"additionalProperties\":false},\"contributes\":["));
  out->write(out->ctx, 0, text(TOOL("version")));
#ifdef BAD_SCHEMA
  out->write(out->ctx, 0, text(",{\"kind\":\"tool\",\"contract\":\"tool/1\",\"id\":\"odd\",\"input_schema\":{\"type\":\"objekt\"}}"));
#endif
#ifndef LESS
  static const char *tools[] = {"echo", "units", "fail", "progress", "chunks", "late", "never", "drop", "hang", "wait", "double", "bad_json",
      "null", "huge", "big", "segv", "abort", "exit", "overflow", "stdout", "chatty", "leak", "context", "spin_until_left",
      "slow", "ask", "stray_thread", "freeze", "emitted", "work", "peak", "pump", "wide", "too_wide"};
  for (size_t at = 0; at < sizeof tools / sizeof *tools; at++) {
    char one[512];
    snprintf(one, sizeof one, ",{\"kind\":\"tool\",\"contract\":\"tool/1\",\"id\":\"%s\",\"description\":\"%s\",\"input_schema\":{\"type\":\"object\"}%s}",
        tools[at], tools[at], strcmp(tools[at], "slow") == 0 ? ",\"idempotent\":true" : "");
    out->write(out->ctx, 0, text(one));
  }
  out->write(out->ctx, 0, text(",{\"kind\":\"tool\",\"contract\":\"tool/1\",\"id\":\"typed\",\"description\":\"typed\",\"input_schema\":{\"type\":\"object\"},\"output_schema\":{\"type\":\"string\"}}"));
#endif
  out->write(out->ctx, 0, text("]}"));
  return 0;
}

typedef struct { instance *self; uint64_t id; int what; } later;
static void *thread(void *raw) {
  later *job = raw;
  const arp_host *host = job->self->host;
  if (job->what == 0) { usleep(20000); arp_payload p = json("\"late\""); host->complete(host->ctx, job->id, 0, &p); }
  if (job->what == 1) for (;;) { usleep(10000); arp_payload p = json("\"stray\""); host->complete(host->ctx, job->id, 0, &p); if (thread_local_data > 1000000) break; }
  free(job);
  return NULL;
}
static void spawn(instance *self, uint64_t id, int what) {
  later *job = malloc(sizeof *job);
  job->self = self; job->id = id; job->what = what;
  pthread_t t;
  pthread_create(&t, NULL, thread, job);
  pthread_detach(t);
}
/* Says pieces until the host has no room; goes on in `writable`. */
static void pump(instance *self) {
  const arp_host *host = self->host;
  char t[32];
  while (self->pump_at < 200) {
    snprintf(t, sizeof t, "%d", self->pump_at);
    arp_payload p = json(t);
    if (host->emit(host->ctx, self->pump_call, 2, &p) < 0) return;
    self->pump_at++;
  }
  arp_payload p = json("200");
  host->complete(host->ctx, self->pump_call, 0, &p);
}
static int deep(int n) { volatile char hole[4096]; hole[0] = (char)n; return deep(n + 1) + hole[0]; }

static int32_t call(void *raw, const arp_call *c) {
  instance *self = raw;
  const arp_host *h = self->host;
  arp_slice what = c->component;
  __atomic_add_fetch(&self->calls, 1, __ATOMIC_RELAXED);
#define DONE(status, t) do { arp_payload p_ = json(t); h->complete(h->ctx, c->id, status, &p_); return 0; } while (0)
  if (is(what, "version")) DONE(0, "\"" ANSWER "\"");
  if (is(what, "echo") || is(what, "typed")) { h->complete(h->ctx, c->id, 0, &c->input); return 0; }
  if (is(what, "units")) { char t[64]; snprintf(t, sizeof t, "\"%s\"", self->units); DONE(0, t); }
  if (is(what, "fail")) DONE(-2, "{\"code\":\"city_unknown\",\"message\":\"there is no such city\"}");
  if (is(what, "context")) { arp_payload p = {1, 0, c->context}; h->complete(h->ctx, c->id, 0, &p); return 0; }
  if (is(what, "progress")) {
    for (int i = 0; i < 3; i++) { arp_payload p = json("{\"fraction\":0.5,\"message\":\"half\"}"); h->emit(h->ctx, c->id, 1, &p); }
    DONE(0, "\"done\"");
  }
  if (is(what, "chunks")) {
    char t[32];
    for (int i = 0; i < 200; i++) { snprintf(t, sizeof t, "%d", i); arp_payload p = json(t); if (h->emit(h->ctx, c->id, 2, &p) < 0) DONE(-4, "{}"); __atomic_add_fetch(&self->emitted, 1, __ATOMIC_SEQ_CST); }
    DONE(0, "200");
  }
  if (is(what, "emitted") || is(what, "peak")) {
    char t[32];
    snprintf(t, sizeof t, "%d", __atomic_load_n(is(what, "peak") ? &self->peak : &self->emitted, __ATOMIC_SEQ_CST));
    DONE(0, t);
  }
  if (is(what, "work")) {
    int now = __atomic_add_fetch(&self->inside, 1, __ATOMIC_SEQ_CST), most = __atomic_load_n(&self->peak, __ATOMIC_SEQ_CST);
    while (now > most && !__atomic_compare_exchange_n(&self->peak, &most, now, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
    usleep(3000);
    __atomic_sub_fetch(&self->inside, 1, __ATOMIC_SEQ_CST);
    DONE(0, "\"worked\"");
  }
  if (is(what, "pump")) { self->pump_call = c->id; self->pump_at = 0; pump(self); return 0; }
  if (is(what, "wide") || is(what, "too_wide")) {
    size_t n = is(what, "wide") ? 2u << 20 : 9u << 20;
    char *t = malloc(n), text_of_status[32];
    memset(t, 'x', n); t[0] = '"'; t[n - 1] = '"';
    arp_payload p = {1, 0, {(uint8_t *)t, n}};
    int32_t status = 0;
    for (int i = 0; i < 3 && status == 0; i++) status = h->emit(h->ctx, c->id, 2, &p);
    free(t);
    snprintf(text_of_status, sizeof text_of_status, "%d", status);
    DONE(0, text_of_status);
  }
  if (is(what, "freeze")) { raise(SIGSTOP); DONE(0, "\"thawed\""); }
  if (is(what, "late")) { spawn(self, c->id, 0); return 0; }
  if (is(what, "stray_thread")) { spawn(self, c->id, 1); DONE(0, "\"left one behind\""); }
  if (is(what, "never")) return 0;
  if (is(what, "drop")) return -9;
  if (is(what, "hang")) while (!leave) usleep(1000);
  if (is(what, "spin_until_left") || is(what, "wait")) { while (h->cancelled(h->ctx, c->id) == 0) usleep(500); DONE(-4, "{\"code\":\"cancelled\",\"message\":\"was told\"}"); }
  if (is(what, "slow")) { usleep(300000); DONE(0, "\"slow " ANSWER "\""); }
  if (is(what, "double")) { arp_payload a = json("\"first\""), b = json("\"second\""); h->complete(h->ctx, c->id, 0, &a); h->complete(h->ctx, c->id, 0, &b); return 0; }
  if (is(what, "bad_json")) DONE(0, "{\"half\":");
  if (is(what, "null")) { h->complete(h->ctx, c->id, 0, NULL); return 0; }
  if (is(what, "huge")) { size_t n = 9u << 20; char *t = malloc(n); memset(t, 'x', n); arp_payload p = {1, 0, {(uint8_t *)t, n}}; h->complete(h->ctx, c->id, 0, &p); free(t); return 0; }
  if (is(what, "big")) { size_t n = 1u << 20; char *t = malloc(n + 2); memset(t, 'x', n + 2); t[0] = '"'; t[n + 1] = '"'; arp_payload p = {1, 0, {(uint8_t *)t, n + 2}}; h->complete(h->ctx, c->id, 0, &p); free(t); return 0; }
  if (is(what, "segv")) *(volatile int *)8 = 1;
  if (is(what, "abort")) abort();
  if (is(what, "exit")) _exit(3);
  if (is(what, "overflow")) { char t[32]; snprintf(t, sizeof t, "%d", deep(0)); DONE(0, t); }
  if (is(what, "stdout")) { printf("this goes to stdout\n"); fflush(stdout); DONE(0, "\"printed\""); }
  if (is(what, "chatty")) { for (int i = 0; i < 1000; i++) h->log(h->ctx, c->id, 3, text("liar"), text("a line"), text("{}")); DONE(0, "\"said\""); }
  if (is(what, "leak")) { for (;;) { char *t = malloc(8u << 20); if (!t) abort(); memset(t, 1, 8u << 20); } }
  if (is(what, "ask")) {
    /* {"service":"…","input":…}: the service's name up to 31 letters, without escapes */
    char service[32] = {0}; const char *in = (const char *)c->input.data.ptr; size_t n = c->input.data.len;
    const char *s = memmem(in, n, "\"service\":\"", 11), *i = memmem(in, n, "\"input\":", 8);
    if (!s || !i) DONE(-1, "{}");
    s += 11; for (int k = 0; k < 31 && s[k] != '"'; k++) service[k] = s[k];
    i += 8; arp_payload p = {1, 0, {(const uint8_t *)i, n - (size_t)(i - in) - 1}};
    int32_t status = h->request(h->ctx, c->id, c->id, text(service), &p);
    if (status != 0) DONE(status, "{}");
    return 0;
  }
#ifdef UNDEFINED
  if (is(what, "undefined")) return nope_fn();
#endif
  return -2;
}
static void reply(void *raw, uint64_t req, int32_t status, const arp_payload *p) {
  instance *self = raw;
  self->host->complete(self->host->ctx, req, status, p);
}
static void writable(void *raw, uint64_t call) {
  instance *self = raw;
  if (call == self->pump_call) pump(self);
}
static void destroy(void *raw) { free(raw); }
static int32_t health(void *raw, const arp_out *out) {
  (void)raw; (void)out;
#ifdef UNHEALTHY
  out->write(out->ctx, 1, text("{\"code\":\"cold\",\"message\":\"no fuel\"}"));
  return -6;
#endif
  return 0;
}
static const arp_plugin_api api = {sizeof(arp_plugin_api), 0, create, describe, call, destroy, NULL, writable, reply, NULL, health};
#ifndef NO_ENTRY
const arp_plugin_api *arp_plugin_entry_v1(const arp_host *host) { (void)host; return &api; }
#else
const arp_plugin_api *unused(void) { return &api; }
#endif
