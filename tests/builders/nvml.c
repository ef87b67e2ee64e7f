/* Answers like NVIDIA's driver library for 8 GPUs, so that the real binding can be used where there is none.
 * GPU 5 is split by MIG, GPU 6 is virtual, and the GPUs named in the file $NVML_LOST (one digit each) are lost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int status;
typedef struct { int index; int instance; } device;
typedef struct { unsigned int gpu, memory; } utilization;
typedef struct { unsigned long long total, free, used; } memory_v1;
typedef struct { unsigned int version; unsigned long long total, reserved, free, used; } memory_v2;
typedef struct { unsigned int pid; unsigned long long used; unsigned int gi, ci; } process;

enum { OK = 0, INVALID = 2, UNSUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, LOST = 15 };
enum { GPUS = 8, SPLIT = 5, VIRTUAL = 6 };
#define MIB (1ull << 20)

static device gpus[GPUS], instances[2];

static int lost(const device *d) {
    const char *path = getenv("NVML_LOST");
    FILE *file = path ? fopen(path, "r") : NULL;
    int c, found = 0;
    if (!file) return 0;
    while ((c = fgetc(file)) != EOF) found |= c == '0' + d->index;
    fclose(file);
    return found;
}

status nvmlInitWithFlags(unsigned int flags) {
    (void)flags;
    for (int i = 0; i < GPUS; i++) { gpus[i].index = i; gpus[i].instance = -1; }
    for (int i = 0; i < 2; i++) { instances[i].index = SPLIT; instances[i].instance = i; }
    return getenv("NVML_BROKEN") ? 9 : OK;
}
status nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
status nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(status s) { return s == LOST ? "GPU is lost" : "error"; }
status nvmlDeviceGetCount_v2(unsigned int *n) { *n = GPUS; return OK; }
status nvmlDeviceGetHandleByIndex_v2(unsigned int i, device **d) {
    if (i >= GPUS) return INVALID;
    *d = &gpus[i];
    return OK;
}
status nvmlDeviceGetUtilizationRates(device *d, utilization *u) {
    if (lost(d)) return LOST;
    if (d->index == SPLIT) return UNSUPPORTED;
    u->gpu = 10 * d->index;
    u->memory = 1;
    return OK;
}
status nvmlDeviceGetMemoryInfo(device *d, memory_v1 *m) {
    if (lost(d)) return LOST;
    m->used = (1000 + d->index) * MIB;
    return OK;
}
status nvmlDeviceGetMemoryInfo_v2(device *d, memory_v2 *m) {
    if (lost(d)) return LOST;
    if (d->index == VIRTUAL) return UNSUPPORTED;
    m->used = (2000 + d->index) * MIB;
    return OK;
}
status nvmlDeviceGetPowerUsage(device *d, unsigned int *milliwatts) {
    if (lost(d)) return LOST;
    if (d->index == VIRTUAL) return UNSUPPORTED;
    *milliwatts = 300400 + 1000 * d->index;
    return OK;
}
status nvmlDeviceGetUUID(device *d, char *uuid, unsigned int length) {
    if (lost(d)) return LOST;
    snprintf(uuid, length, "GPU-%d", d->index);
    return OK;
}
status nvmlDeviceGetMigMode(device *d, unsigned int *current, unsigned int *pending) {
    if (d->index == VIRTUAL) return UNSUPPORTED;
    *current = *pending = d->index == SPLIT;
    return OK;
}
status nvmlDeviceGetMaxMigDeviceCount(device *d, unsigned int *n) { (void)d; *n = 7; return OK; }
status nvmlDeviceGetMigDeviceHandleByIndex(device *d, unsigned int i, device **instance) {
    (void)d;
    if (i >= 2) return NOT_FOUND;
    *instance = &instances[i];
    return OK;
}

static status give(unsigned int *n, process *list, const process *from, unsigned int have) {
    unsigned int room = *n;
    *n = have;
    if (have > room) return TOO_SMALL;
    memcpy(list, from, have * sizeof(process));
    return OK;
}
status nvmlDeviceGetComputeRunningProcesses_v3(device *d, unsigned int *n, process *list) {
    const process train = {4000 + d->index, 500 * MIB, 0, 0}, unknown = {9, ~0ull, 0, 0};
    const process both[2] = {train, unknown};
    const process on_instance = {5000, (100 + d->instance) * MIB, 1, 0};
    if (lost(d)) return LOST;
    if (d->index == VIRTUAL) return UNSUPPORTED;
    if (d->index == SPLIT) return d->instance < 0 ? give(n, list, NULL, 0) : give(n, list, &on_instance, 1);
    return give(n, list, both, d->index == 1 ? 2 : 1);
}
status nvmlDeviceGetGraphicsRunningProcesses_v3(device *d, unsigned int *n, process *list) {
    const process same = {4000, 500 * MIB, 0, 0};
    if (d->index == VIRTUAL) return UNSUPPORTED;
    return give(n, list, &same, d->index == 0);
}
status nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length) {
    if (pid == 9) return NOT_FOUND;
    snprintf(name, length, "ray::train %u", pid);
    return OK;
}
