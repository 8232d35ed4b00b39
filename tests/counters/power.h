/* The record that `power.c` writes: one record a call, in order over all threads and processes. */

#ifndef POWER_H
#define POWER_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum kind { MADE = 1, WRITE, TRUNCATE, RENAME, UNLINK, MKDIR, SYNC_BEGIN, SYNC_END };
enum { SYNC_US = 3000, LOG_DESCRIPTOR = 700 };

struct head {
    uint32_t kind, thread;
    uint64_t time_ns, inode, offset, size; /* size: of data, or of the file after TRUNCATE */
    uint16_t path, target;                 /* lengths */
    uint32_t synced;                       /* 1: the call returned when the disk had it (O_DSYNC) */
};

static char root[PATH_MAX];
static int log_file = -1;
static pthread_mutex_t threads = PTHREAD_MUTEX_INITIALIZER;

static void fail(const char *why)
{
    dprintf(2, "power.c: %s: %s\n", why, strerror(errno));
    _exit(97);
}

__attribute__((constructor)) static void begin(void)
{
    const char *folder = getenv("POWER_ROOT"), *log = getenv("POWER_LOG");
    if (!folder || !log)
        return;
    snprintf(root, sizeof root, "%s/", folder);
    int opened = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (opened < 0 || (log_file = fcntl(opened, F_DUPFD_CLOEXEC, LOG_DESCRIPTOR)) < 0)
        fail("cannot open the log");
    close(opened);
}

static inline int is_below(const char *path)
{
    size_t length = strlen(root);
    return log_file >= 0 && (!strncmp(path, root, length) || (strlen(path) == length - 1 && !strncmp(path, root, length - 1)));
}

/* The path of an open file, empty when it is none of ours. */
static const char *path_of(int descriptor, char found[PATH_MAX])
{
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = log_file < 0 ? -1 : readlink(link, found, PATH_MAX - 1);
    found[length < 0 ? 0 : length] = 0;
    if (!is_below(found))
        found[0] = 0;
    return found;
}

static inline uint64_t inode_of(int descriptor)
{
    struct stat found;
    return fstat(descriptor, &found) ? 0 : found.st_ino;
}

/* One holder among the threads of all processes: the kernel lets go of a record lock when its process is killed. */
static inline void lock(void)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    pthread_mutex_lock(&threads);
    while (fcntl(log_file, F_SETLKW, &whole))
        if (errno != EINTR)
            fail("cannot lock the log");
}

static void unlock(void)
{
    struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    fcntl(log_file, F_SETLK, &whole);
    pthread_mutex_unlock(&threads);
}

static void put_record(enum kind kind, uint64_t inode, uint64_t offset, uint64_t size, int synced, const char *path,
                const char *target, const struct iovec *parts, int count)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct head head = {kind, (uint32_t)syscall(SYS_gettid), now.tv_sec * 1000000000ull + now.tv_nsec, inode, offset, size,
                        (uint16_t)strlen(path), (uint16_t)strlen(target), synced};
    size_t data = kind == WRITE ? size : 0, length = sizeof head + head.path + head.target;
    char *record = malloc(length + data), *at = record;
    if (!record)
        fail("no memory");
    at = mempcpy(mempcpy(mempcpy(at, &head, sizeof head), path, head.path), target, head.target);
    for (int part = 0; part < count && data; part++) {
        size_t some = parts[part].iov_len < data ? parts[part].iov_len : data;
        at = mempcpy(at, parts[part].iov_base, some);
        data -= some;
    }
    if (syscall(SYS_write, log_file, record, at - record) != at - record)
        fail("cannot write the log");
    free(record);
}

/* What is written through a writable map is found by comparing it with what it was, each time before a call is put down:
   between two calls of a process nobody can say when the disk took it. */

enum { MAPS = 16, PAGE = 4096 };

static struct map {
    char *start, *before;
    size_t length;
    uint64_t inode;
    off_t offset;
    char *path;
} maps[MAPS];

static void put_maps(void)
{
    for (struct map *map = maps; map < maps + MAPS; map++)
        for (size_t at = 0; map->start && at < map->length; at += PAGE) {
            size_t size = map->length - at < PAGE ? map->length - at : PAGE;
            if (!memcmp(map->start + at, map->before + at, size))
                continue;
            memcpy(map->before + at, map->start + at, size);
            struct iovec page = {map->before + at, size};
            put_record(WRITE, map->inode, map->offset + at, size, 0, map->path, "", &page, 1);
        }
}

static void put(enum kind kind, uint64_t inode, uint64_t offset, uint64_t size, int synced, const char *path,
                const char *target, const struct iovec *parts, int count)
{
    put_maps();
    put_record(kind, inode, offset, size, synced, path, target, parts, count);
}

static void watch_map(char *start, size_t length, int descriptor, off_t offset, const char *path)
{
    struct map *map = maps;
    while (map < maps + MAPS && map->start)
        map++;
    struct stat file;
    if (map == maps + MAPS || fstat(descriptor, &file))
        fail("a map too many");
    if (offset + (off_t)length > file.st_size)
        length = file.st_size > offset ? file.st_size - offset : 0; /* beyond it is nothing that a disk would get */
    *map = (struct map){start, malloc(length), length, file.st_ino, offset, strdup(path)};
    if (!map->before || !map->path)
        fail("no memory");
    for (size_t at = 0; at < length; at++)
        map->before[at] = ~start[at]; /* all of it is put down: who stored it may have been killed before he could */
}

static void leave_map(char *start)
{
    for (struct map *map = maps; map < maps + MAPS; map++)
        if (map->start == start && start) {
            put_maps();
            free(map->before);
            free(map->path);
            *map = (struct map){0};
        }
}

#endif
