// SPDX-License-Identifier: Apache-2.0
// A libhdfs whose files lie in the folder that FAKE_HDFS_ROOT names: as much as Arrow needs to list,
// read and write them. After as many reads as FAKE_HDFS_REPLACE says, the file that is read is given
// another date, as if it had been replaced.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  int kind;  // 'F' or 'D'
  char* name;
  time_t last_mod;
  int64_t size;
  short replication;
  int64_t block_size;
  char *owner, *group;
  short permissions;
  time_t last_access;
} hdfsFileInfo;

struct file {
  int descriptor;
  char path[4096];
};

static int reads;

static const char* Real(const char* path, char* out) {
  snprintf(out, 4096, "%s%s%s", getenv("FAKE_HDFS_ROOT"), path[0] == '/' ? "" : "/", path);
  return out;
}

void* hdfsNewBuilder(void) { return malloc(1); }
void hdfsBuilderSetNameNode(void* builder, const char* name) { (void)builder, (void)name; }
void hdfsBuilderSetNameNodePort(void* builder, uint16_t port) { (void)builder, (void)port; }
void hdfsBuilderSetUserName(void* builder, const char* name) { (void)builder, (void)name; }
void hdfsBuilderSetKerbTicketCachePath(void* builder, const char* path) {
  (void)builder, (void)path;
}
void hdfsBuilderSetForceNewInstance(void* builder) { (void)builder; }
int hdfsBuilderConfSetStr(void* builder, const char* key, const char* value) {
  return (void)builder, (void)key, (void)value, 0;
}
void* hdfsBuilderConnect(void* builder) { return builder; }
int hdfsDisconnect(void* system) { return (void)system, 0; }

char* hdfsGetWorkingDirectory(void* system, char* out, size_t size) {
  (void)system;
  snprintf(out, size, "hdfs://name:8020/user");
  return out;
}

static int Describe(const char* path, hdfsFileInfo* info, const char* name) {
  char real[4096];
  struct stat status;
  if (stat(Real(path, real), &status) != 0) return -1;
  memset(info, 0, sizeof(*info));
  info->kind = S_ISDIR(status.st_mode) ? 'D' : 'F';
  info->name = strdup(name);
  info->last_mod = status.st_mtime;
  info->size = status.st_size;
  info->owner = strdup("me");
  info->group = strdup("us");
  return 0;
}

hdfsFileInfo* hdfsGetPathInfo(void* system, const char* path) {
  hdfsFileInfo* info = malloc(sizeof(*info));
  (void)system;
  if (Describe(path, info, path) == 0) return info;
  free(info);
  return NULL;
}

hdfsFileInfo* hdfsListDirectory(void* system, const char* path, int* count) {
  char real[4096], name[8192], shown[8300];
  hdfsFileInfo* infos = calloc(1000, sizeof(*infos));
  DIR* folder = opendir(Real(path, real));
  (void)system;
  *count = 0;
  if (folder == NULL) return free(infos), NULL;
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    snprintf(name, sizeof(name), "%s%s%s", path, strcmp(path, "/") == 0 ? "" : "/", entry->d_name);
    snprintf(shown, sizeof(shown), "hdfs://name:8020%s", name);
    if (Describe(name, &infos[*count], shown) == 0) ++*count;
  }
  closedir(folder);
  errno = 0;
  return infos;
}

void hdfsFreeFileInfo(hdfsFileInfo* infos, int count) {
  if (infos == NULL) return;
  for (int i = 0; i < count; ++i) free(infos[i].name), free(infos[i].owner), free(infos[i].group);
  free(infos);
}

int hdfsExists(void* system, const char* path) {
  char real[4096];
  return (void)system, access(Real(path, real), F_OK);
}

struct file* hdfsOpenFile(void* system, const char* path, int flags, int buffer, short replication,
                          int32_t block) {
  struct stat status;
  struct file* file = malloc(sizeof(*file));
  (void)system, (void)buffer, (void)replication, (void)block;
  if ((flags & O_WRONLY) != 0) {
    flags |= O_CREAT | O_TRUNC;
    Real(path, file->path);
    for (char* slash = file->path; (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
      *slash = '\0';  // the folders are made, too
      mkdir(file->path, 0777);
    }
  }
  file->descriptor = open(Real(path, file->path), flags | O_CLOEXEC, 0666);
  if (file->descriptor >= 0 && fstat(file->descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
    return file;
  }
  if (file->descriptor >= 0) close(file->descriptor), errno = ENOENT;  // as Hadoop says of folders
  free(file);
  return NULL;
}

int32_t hdfsPread(void* system, struct file* file, int64_t offset, void* out, int32_t size) {
  const char* replace = getenv("FAKE_HDFS_REPLACE");
  (void)system;
  if (replace != NULL && __sync_add_and_fetch(&reads, 1) == atoi(replace)) {
    const struct timespec times[2] = {{1000000000, 0}, {1000000000, 0}};
    utimensat(AT_FDCWD, file->path, times, 0);
  }
  return (int32_t)pread(file->descriptor, out, (size_t)size, offset);
}

int hdfsCloseFile(void* system, struct file* file) {
  (void)system;
  const int result = close(file->descriptor);
  free(file);
  return result;
}

int32_t hdfsRead(void* system, struct file* file, void* out, int32_t size) {
  return (void)system, (int32_t)read(file->descriptor, out, (size_t)size);
}
int hdfsSeek(void* system, struct file* file, int64_t to) {
  return (void)system, lseek(file->descriptor, to, SEEK_SET) < 0 ? -1 : 0;
}
int64_t hdfsTell(void* system, struct file* file) {
  return (void)system, lseek(file->descriptor, 0, SEEK_CUR);
}

int32_t hdfsWrite(void* system, struct file* file, const void* bytes, int32_t size) {
  return (void)system, (int32_t)write(file->descriptor, bytes, (size_t)size);
}
int hdfsFlush(void* system, struct file* file) { return (void)system, (void)file, 0; }
int hdfsDelete(void* system, const char* path, int recursive) {
  char real[4096];
  return (void)system, (void)recursive, unlink(Real(path, real));
}
// Hadoop gives no file the name of another.
int hdfsRename(void* system, const char* from, const char* to) {
  char real_from[4096], real_to[4096];
  (void)system;
  return link(Real(from, real_from), Real(to, real_to)) != 0 ? -1 : unlink(real_from);
}
int hdfsCreateDirectory(void* system, const char* path) {
  char real[4096];
  (void)system;
  return mkdir(Real(path, real), 0777) == 0 || errno == EEXIST ? 0 : -1;
}

// What we do not call, and Arrow looks for.
int64_t hdfsGetCapacity(void) { return -1; }
int64_t hdfsGetUsed(void) { return -1; }
int hdfsChown(void) { return -1; }
int hdfsChmod(void) { return -1; }
