/* Records what a process asks of the files below one folder, for `disk.py` to say what a power cut would leave of it.

   Loaded before a program (LD_PRELOAD) with POWER_ROOT, the folder, and POWER_LOG, the file to append to. Each call that
   succeeds is one record, `struct head` and then path, second path and data; a lock over call and record makes the order
   of the records the order of the calls, in all threads and processes. A sync is two records, begun and done, SYNC_US
   apart: what is written in between is not in it. Nothing is really synced. Paths are taken as they are given: absolute,
   without links. */

#include "power.h"

#include <sys/mman.h>

/* `offset` below zero: at the file's own place, which moves on. */
static ssize_t write_parts(int descriptor, const struct iovec *parts, int count, off_t offset)
{
    char path[PATH_MAX];
    int own = offset < 0;
    if (!*path_of(descriptor, path))
        return own ? syscall(SYS_writev, descriptor, parts, count) : syscall(SYS_pwritev, descriptor, parts, count, offset, 0);
    lock();
    ssize_t done = own ? syscall(SYS_writev, descriptor, parts, count) : syscall(SYS_pwritev, descriptor, parts, count, offset, 0);
    int failed = errno;
    if (done > 0) {
        if (own)
            offset = lseek(descriptor, 0, SEEK_CUR) - done;
        int synced = (fcntl(descriptor, F_GETFL) & O_DSYNC) != 0;
        put(WRITE, inode_of(descriptor), offset, done, synced, path, "", parts, count);
    }
    unlock();
    errno = failed;
    return done;
}

ssize_t write(int descriptor, const void *data, size_t size)
{
    struct iovec one = {(void *)data, size};
    return write_parts(descriptor, &one, 1, -1);
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset)
{
    struct iovec one = {(void *)data, size};
    return write_parts(descriptor, &one, 1, offset);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) { return write_parts(descriptor, parts, count, -1); }

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset)
{
    return write_parts(descriptor, parts, count, offset);
}

int ftruncate(int descriptor, off_t size)
{
    char path[PATH_MAX];
    if (!*path_of(descriptor, path))
        return syscall(SYS_ftruncate, descriptor, size);
    lock();
    int result = syscall(SYS_ftruncate, descriptor, size);
    if (!result)
        put(TRUNCATE, inode_of(descriptor), 0, size, 0, path, "", NULL, 0);
    unlock();
    return result;
}

int truncate(const char *path, off_t size)
{
    int descriptor = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
        return -1;
    int result = ftruncate(descriptor, size);
    close(descriptor);
    return result;
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (!(flags & (O_CREAT | O_TRUNC)) || !is_below(path))
        return syscall(SYS_openat, folder, path, flags, mode);
    lock();
    int is_new = faccessat(folder, path, F_OK, 0) != 0;
    int descriptor = syscall(SYS_openat, folder, path, flags, mode);
    int failed = errno;
    if (descriptor >= 0 && is_new)
        put(MADE, inode_of(descriptor), 0, 0, 0, path, "", NULL, 0);
    else if (descriptor >= 0 && flags & O_TRUNC)
        put(TRUNCATE, inode_of(descriptor), 0, 0, 0, path, "", NULL, 0);
    unlock();
    errno = failed;
    return descriptor;
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return openat(AT_FDCWD, path, flags, mode);
}

static int change_name(enum kind kind, const char *path, const char *target, mode_t mode, int flags)
{
    int ours = is_below(path);
    if (ours)
        lock();
    int result = kind == RENAME ? syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, target, 0)
                 : kind == UNLINK ? syscall(SYS_unlinkat, AT_FDCWD, path, flags)
                                  : syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    int failed = errno;
    if (ours) {
        if (!result)
            put(kind, 0, 0, 0, 0, path, target, NULL, 0);
        unlock();
    }
    errno = failed;
    return result;
}

int rename(const char *path, const char *target) { return change_name(RENAME, path, target, 0, 0); }
int unlink(const char *path) { return change_name(UNLINK, path, "", 0, 0); }
int rmdir(const char *path) { return change_name(UNLINK, path, "", 0, AT_REMOVEDIR); }
int mkdir(const char *path, mode_t mode) { return change_name(MKDIR, path, "", mode, 0); }

static void put_sync(enum kind kind, int descriptor, const char *path)
{
    lock();
    put(kind, inode_of(descriptor), 0, 0, 0, path, "", NULL, 0);
    unlock();
}

int fsync(int descriptor)
{
    char path[PATH_MAX];
    if (!*path_of(descriptor, path))
        return syscall(SYS_fsync, descriptor);
    put_sync(SYNC_BEGIN, descriptor, path);
    usleep(SYNC_US);
    put_sync(SYNC_END, descriptor, path);
    return 0;
}

int fdatasync(int descriptor) { return fsync(descriptor); }

int msync(void *start, size_t length, int flags)
{
    (void)start, (void)length, (void)flags;
    fail("msync is not recorded");
    return -1;
}

int posix_fallocate(int descriptor, off_t offset, off_t length)
{
    struct stat file;
    if (fstat(descriptor, &file))
        return errno;
    return file.st_size < offset + length && ftruncate(descriptor, offset + length) ? errno : 0;
}

void *mmap(void *start, size_t length, int protection, int flags, int descriptor, off_t offset)
{
    char path[PATH_MAX];
    char *mapped = (char *)syscall(SYS_mmap, start, length, protection, flags, descriptor, offset);
    if (mapped != MAP_FAILED && flags & MAP_SHARED && protection & PROT_WRITE && *path_of(descriptor, path)) {
        lock();
        watch_map(mapped, length, descriptor, offset, path);
        unlock();
    }
    return mapped;
}

int munmap(void *start, size_t length)
{
    if (log_file >= 0) {
        lock();
        leave_map(start);
        unlock();
    }
    return syscall(SYS_munmap, start, length);
}

void *mmap64(void *, size_t, int, int, int, off_t) __attribute__((alias("mmap")));
int posix_fallocate64(int, off_t, off_t) __attribute__((alias("posix_fallocate")));
int open64(const char *, int, ...) __attribute__((alias("open")));
int openat64(int, const char *, int, ...) __attribute__((alias("openat")));
ssize_t pwrite64(int, const void *, size_t, off_t) __attribute__((alias("pwrite")));
ssize_t pwritev64(int, const struct iovec *, int, off_t) __attribute__((alias("pwritev")));
int ftruncate64(int, off_t) __attribute__((alias("ftruncate")));
int truncate64(const char *, off_t) __attribute__((alias("truncate")));
